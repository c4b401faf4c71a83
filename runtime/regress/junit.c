/* JUnit XML: a suite, a case a test. */
#include "runtime/regress/outputs.h"

#include <string.h>

/* Length of the UTF-8 sequence at `s` that XML 1.0 may hold; 0: none. */
static size_t xml_character(const char *s) {
  const unsigned char *u = (const unsigned char *)s;
  if (u[0] < 0x80) return u[0] >= 0x20 || u[0] == '\t' || u[0] == '\n' || u[0] == '\r';
  size_t length = u[0] >= 0xf0 && u[0] < 0xf5   ? 4
                  : u[0] >= 0xe0 && u[0] < 0xf0 ? 3
                  : u[0] >= 0xc2 && u[0] < 0xe0 ? 2
                                                : 0;
  uint32_t code = length == 4 ? u[0] & 7u : length == 3 ? u[0] & 15u : u[0] & 31u;
  for (size_t i = 1; i < length; i++) {
    if ((u[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (u[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || code == 0xfffe ||
      code == 0xffff)
    return 0;
  return length;
}

/* Text of elements and of attributes in double quotes; what XML cannot hold becomes '?'. */
static void put(FILE *out, const char *text) {
  while (*text) {
    size_t length = xml_character(text);
    if (!length)
      fputc('?', out);
    else if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '>')
      fputs("&gt;", out);
    else if (*text == '"')
      fputs("&quot;", out);
    else if (*text == '\n' || *text == '\r' || *text == '\t')
      fprintf(out, "&#%d;", *text);
    else
      fwrite(text, 1, length, out);
    text += length ? length : 1;
  }
}

/* Text of elements keeps its lines. */
static void put_lines(FILE *out, const char *text) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    char line[1024];
    for (size_t at = 0; at < n;) {
      size_t part = n - at < sizeof line - 1 ? n - at : sizeof line - 1;
      while (part > 1 && at + part < n && ((unsigned char)text[at + part] & 0xc0) == 0x80)
        part--; /* between characters */
      memcpy(line, text + at, part);
      line[part] = 0;
      put(out, line);
      at += part;
    }
    text += n;
    if (*text == '\n') fputc(*text++, out);
  }
}

static void attribute(FILE *out, const char *name, const char *value) {
  fprintf(out, " %s=\"", name);
  put(out, value);
  fputc('"', out);
}

static void put_failures(FILE *out, const tg_verdict *v, const tg_result *result) {
  const char *element = v->broken ? "error" : "failure", *message = "", *kind = "";
  tg_arena arena = {0};
  for (size_t i = 0; i < v->count; i++) {
    if (!v->findings[i].failure) continue;
    if (!*kind) kind = v->findings[i].kind;
    message = tg_arena_printf(&arena, "%s%s%s", message, *message ? "; " : "", v->findings[i].text);
  }
  fprintf(out, "      <%s", element);
  attribute(out, "type", kind);
  attribute(out, "message", message);
  fputc('>', out);
  for (size_t i = 0; i < v->count; i++)
    if (v->findings[i].failure) {
      put(out, v->findings[i].kind);
      fputs(": ", out);
      put_lines(out, v->findings[i].text);
      fputc('\n', out);
    }
  put_lines(out, result->log);
  fprintf(out, "</%s>\n", element);
  tg_arena_release(&arena);
}

static void put_notes(FILE *out, const tg_verdict *v) {
  bool any = false;
  for (size_t i = 0; i < v->count; i++) {
    if (v->findings[i].failure) continue;
    fputs(any ? "\n" : "      <system-out>", out);
    any = true;
    put(out, v->findings[i].kind);
    fputs(": ", out);
    put_lines(out, v->findings[i].text);
  }
  if (any) fputs("</system-out>\n", out);
}

static void put_case(FILE *out, const tg_regression *r, size_t index) {
  const tg_case *c = &r->suite->cases[index];
  const tg_verdict *v = &r->verdicts[index];
  tg_arena arena = {0};
  fputs("    <testcase", out);
  attribute(out, "classname", tg_arena_printf(&arena, "%s.%s", r->suite->name, c->model->name));
  attribute(out, "name", tg_arena_printf(&arena, "%s/%s", c->flags, c->engine));
  if (r->timings) fprintf(out, " time=\"%.3f\"", r->results[index].seconds);
  fputs(v->count ? ">\n" : "/>\n", out);
  if (v->failed) put_failures(out, v, &r->results[index]);
  if (v->expected) {
    fputs("      <skipped", out);
    attribute(out, "message",
              tg_arena_printf(&arena, "expected failure: %s", c->bounds.of[TG_BOUND_expected_failure].text));
    fputs("/>\n", out);
  }
  put_notes(out, v);
  if (v->count) fputs("    </testcase>\n", out);
  tg_arena_release(&arena);
}

void tg_regression_junit(const tg_regression *r, FILE *out) {
  size_t failures = 0, errors = 0, expected = tg_regression_count(r).expected;
  for (size_t i = 0; i < r->count; i++) {
    const tg_verdict *v = &r->verdicts[r->wanted[i]];
    errors += v->broken;
    failures += v->failed && !v->broken;
  }
  fprintf(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" "
          "errors=\"%zu\">\n"
          "  <testsuite",
          r->count, failures, errors);
  attribute(out, "name", r->suite->name);
  fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", r->count, failures,
          errors, expected);
  for (size_t i = 0; i < r->count; i++) put_case(out, r, r->wanted[i]);
  fputs("  </testsuite>\n</testsuites>\n", out);
}
