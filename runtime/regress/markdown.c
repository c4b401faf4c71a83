/* A summary for a pull request: what failed, what moved and why. */
#include "runtime/regress/movement.h"
#include "runtime/regress/outputs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 200, MOST_LOG_LINES = 12 };

/* Text that is only text: no markup, one line. */
static void put(FILE *out, const char *text) {
  for (; *text; text++) {
    if (strchr("\\`*_[]|#~$", *text)) fputc('\\', out);
    if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '>')
      fputs("&gt;", out);
    else if (*text == '&')
      fputs("&amp;", out);
    else
      fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
  }
}

static void put_findings(FILE *out, const tg_verdict *v, bool failures) {
  bool any = false;
  tg_arena arena = {0};
  for (size_t i = 0; i < v->count; i++) {
    if (v->findings[i].failure != failures || (!failures && !strcmp(v->findings[i].kind, "baseline")))
      continue;
    fprintf(out, "%s%s", any ? "; " : "", tg_finding_head(&arena, &v->findings[i]));
    put(out, v->findings[i].text);
    any = true;
  }
  tg_arena_release(&arena);
}

static const char *last_lines(const char *log) {
  const char *at = log + strlen(log);
  for (int lines = 0; at > log && lines <= MOST_LOG_LINES; lines += *at == '\n')
    if (*--at == '\n' && lines == MOST_LOG_LINES) return at + 1;
  return at;
}

/* Lines of a block of code that the text cannot end. */
static void put_log(FILE *out, const char *log) {
  fputs("\n<details><summary>log</summary>\n\n", out);
  for (const char *line = last_lines(log); *line;) {
    int n = (int)strcspn(line, "\n");
    fputs("    ", out);
    for (int i = 0; i < n; i++) fputc((unsigned char)line[i] < ' ' ? ' ' : line[i], out);
    fputc('\n', out);
    line += n + (line[n] == '\n');
  }
  fputs("\n</details>\n\n", out);
}

static void put_failed(FILE *out, const tg_regression *r) {
  fputs("\n### Failed\n\n", out);
  for (size_t i = 0; i < r->count; i++) {
    size_t index = r->wanted[i];
    const tg_verdict *v = &r->verdicts[index];
    if (!v->failed) continue;
    fputs("- **", out);
    put(out, r->suite->cases[index].id);
    fputs("** ", out);
    put_findings(out, v, true);
    fputc('\n', out);
    if (v->broken) put_log(out, r->results[index].log);
  }
}

static void put_expected(FILE *out, const tg_regression *r) {
  fputs("\n### Failed as expected\n\n", out);
  for (size_t i = 0; i < r->count; i++) {
    size_t index = r->wanted[i];
    const tg_verdict *v = &r->verdicts[index];
    if (!v->expected) continue;
    fputs("- **", out);
    put(out, r->suite->cases[index].id);
    fputs("** ", out);
    put_findings(out, v, false);
    fputc('\n', out);
  }
}

static void put_moved(FILE *out, const tg_regression *r) {
  fputs("\n### Moved within bounds\n\n", out);
  for (size_t i = 0; i < r->count; i++) {
    size_t index = r->wanted[i];
    const tg_verdict *v = &r->verdicts[index];
    if (v->failed || v->expected || !v->moved) continue;
    fputs("- **", out);
    put(out, r->suite->cases[index].id);
    fputs("** ", out);
    put_findings(out, v, false);
    fputc('\n', out);
  }
}

static void put_moved_number(FILE *out, const json_t *before, const json_t *now) {
  if (!json_is_integer(now)) {
    fputs(" - |", out);
    return;
  }
  fprintf(out, " %" JSON_INTEGER_FORMAT, json_integer_value(now));
  tg_arena arena = {0};
  if (json_is_integer(before) && json_integer_value(before) != json_integer_value(now))
    fprintf(out, " (%s)", tg_moved_text(&arena, json_integer_value(before), json_integer_value(now)));
  fputs(" |", out);
  tg_arena_release(&arena);
}

static void put_error(FILE *out, const json_t *run) {
  const json_t *loss = json_object_get(run, "loss");
  if (json_is_object(loss)) {
    const json_t *mean = json_object_get(loss, "mean_last_20");
    if (json_is_number(mean))
      fprintf(out, " loss %.3g |", json_number_value(mean));
    else
      fputs(" loss not finite |", out);
    return;
  }
  const json_t *golden = json_object_get(run, "error_vs_golden"),
               *errors = json_is_object(golden) ? golden : json_object_get(run, "error_vs_fp32");
  double worst = -1;
  bool finite = true;
  const char *output;
  json_t *measures;
  json_object_foreach((json_t *)(uintptr_t)errors, output, measures) {
    const json_t *value = json_object_get(measures, "max_abs");
    finite &= json_is_number(value);
    worst = fmax(worst, json_number_value(value));
  }
  if (worst < 0)
    fputs(" - |", out);
  else if (!finite)
    fputs(" not finite |", out);
  else
    fprintf(out, " %.3g |", worst);
}

static void put_table(FILE *out, const tg_regression *r) {
  fputs("\n| case | | cycles | device bytes | largest error, or loss |\n|---|---|---:|---:|---:|\n", out);
  size_t rows = 0;
  for (size_t i = 0; i < r->count && rows < MOST_ROWS; i++, rows++) {
    size_t index = r->wanted[i];
    const json_t *run = r->results[index].run,
                 *entry = tg_baseline_entry(r->baseline, r->suite->cases[index].id);
    fputs("| ", out);
    put(out, r->suite->cases[index].id);
    fprintf(out, " | %s |", tg_verdict_name(&r->verdicts[index]));
    put_moved_number(out, json_object_get(entry, "cycles"), json_object_get(run, "cycles"));
    put_moved_number(out, json_object_get(entry, "device_bytes"), json_object_get(run, "peak_device_bytes"));
    put_error(out, run);
    fputc('\n', out);
  }
  if (rows < r->count) fprintf(out, "\nand %zu cases more, in the other outputs.\n", r->count - rows);
}

void tg_regression_markdown(const tg_regression *r, FILE *out) {
  tg_arena arena = {0};
  tg_regression_counts n = tg_regression_count(r);
  fputs("## ", out);
  put(out, r->suite->name);
  fprintf(out, "%s%s: %s\n", r->shard ? ", shard " : "", r->shard ? r->shard : "",
          tg_regression_summary(&arena, r));
  size_t quiet = 0;
  for (size_t i = 0; i < r->count; i++)
    quiet += r->verdicts[r->wanted[i]].moved && !r->verdicts[r->wanted[i]].failed &&
             !r->verdicts[r->wanted[i]].expected;
  if (n.failed) put_failed(out, r);
  if (n.expected) put_expected(out, r);
  if (quiet) put_moved(out, r);
  if (!n.moved && !n.failed) fputs("\nNothing moved.\n", out);
  put_table(out, r);
  tg_arena_release(&arena);
}
