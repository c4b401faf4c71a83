/* The table for people and for spreadsheets. */
#include "runtime/sweep/sweep.h"

#include <math.h>
#include <string.h>

static double number(const json_t *row, const char *key) {
  const json_t *value = json_object_get(row, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text(const json_t *row, const char *key) {
  return json_string_value(json_object_get(row, key));
}

static void cell(FILE *out, const char *format, double value, int width) {
  if (isnan(value))
    fprintf(out, "%*s", width, "-");
  else
    fprintf(out, format, width, value);
}

void tg_sweep_print(const json_t *rows, FILE *out) {
  size_t i;
  json_t *row;
  bool rounds = false;
  json_array_foreach((json_t *)(uintptr_t)rows, i, row) rounds |=
      json_object_get(row, "cycles_over_fp32") != NULL;
  fprintf(out, "  %-20s %-7s %12s %12s %8s %14s %12s %12s%s\n", "policy", "accum", "cycles", "samples/s",
          "speed-up", "device bytes", "J/sample", "rms error", rounds ? " over fp32" : "");
  const char *array = NULL;
  bool several = tg_sweep_has_arrays(rows);
  json_array_foreach(rows, i, row) {
    if (several && (!array || strcmp(array, text(row, "array")) != 0))
      fprintf(out, "%s\n", array = text(row, "array"));
    fprintf(out, "%c%c%-20s %-7s ", json_is_true(json_object_get(row, "pareto")) ? '*' : ' ',
            json_is_true(json_object_get(row, "pareto_energy")) ? '+' : ' ', text(row, "policy"),
            text(row, "tiling_accum"));
    if (text(row, "refused")) {
      fprintf(out, "%s\n", text(row, "refused"));
      continue;
    }
    cell(out, "%*.0f", number(row, "cycles"), 12);
    cell(out, " %*.4g", number(row, "samples_per_second"), 12);
    cell(out, " %*.2f", number(row, "speedup_over_mp0"), 8);
    cell(out, " %*.0f", number(row, "peak_device_bytes"), 14);
    cell(out, " %*.4g", number(row, "joules_per_sample"), 12);
    cell(out, " %*.3g", tg_sweep_error(row), 12);
    if (json_object_get(row, "cycles_over_fp32")) cell(out, " %*.3f", number(row, "cycles_over_fp32"), 9);
    fputc('\n', out);
  }
  fputs("* no other row is at once as fast and as accurate, and better in one of the two\n"
        "+ no other row takes at once as little energy and is as accurate, and better in one of the two\n",
        out);
  if (rounds) fputs("over fp32: cycles of the row over those of its policy with --tiling-accum fp32\n", out);
}

static void print_beyond(const json_t *beyond, FILE *out) {
  if (beyond) fprintf(out, "  %-28s %8.0f  %s\n", "", number(beyond, "batch"), text(beyond, "refused"));
}

void tg_sweep_print_batches(const json_t *rows, FILE *out) {
  fprintf(out, "  %-20s %-7s %8s %12s %12s %8s %14s %12s\n", "policy", "accum", "batch", "cycles",
          "samples/s", "speed-up", "device bytes", "J/sample");
  size_t i;
  json_t *row;
  const char *array = NULL;
  bool several = tg_sweep_has_arrays(rows);
  json_array_foreach(rows, i, row) {
    if (several && (!array || strcmp(array, text(row, "array")) != 0))
      fprintf(out, "%s\n", array = text(row, "array"));
    fprintf(out, "%c %-20s %-7s ", json_is_true(json_object_get(row, "largest")) ? '>' : ' ',
            text(row, "policy"), text(row, "tiling_accum"));
    cell(out, "%*.0f", number(row, "batch"), 8);
    if (text(row, "refused")) {
      fprintf(out, "  %s\n", text(row, "refused"));
      continue;
    }
    cell(out, " %*.0f", number(row, "cycles"), 12);
    cell(out, " %*.4g", number(row, "samples_per_second"), 12);
    cell(out, " %*.2f", number(row, "speedup_over_mp0"), 8);
    cell(out, " %*.0f", number(row, "peak_device_bytes"), 14);
    cell(out, " %*.4g", number(row, "joules_per_sample"), 12);
    fputc('\n', out);
    print_beyond(json_object_get(row, "beyond"), out);
  }
  fputs("> the largest batch that fits, or that was to be tried; speed-ups are of samples a second, over mp0 "
        "with a batch of 1\n",
        out);
}

static void csv_number(FILE *out, double value) {
  fputc(',', out);
  if (!isnan(value)) fprintf(out, "%.9g", value);
}

/* In quotes, of which one in the text is two. */
static void csv_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

void tg_sweep_write_csv(const json_t *rows, FILE *out) {
  bool batches = json_object_get(json_array_get(rows, 0), "batch");
  fprintf(out,
          "policy,tiling_accum,cycles,samples_per_second,speedup_over_mp0,mac_utilization,peak_device_bytes,"
          "rms_error,pareto,array,joules_per_sample,pareto_energy%s\n",
          batches ? ",batch,largest" : "");
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    static const char *const keys[] = {"cycles", "samples_per_second", "speedup_over_mp0", "mac_utilization",
                                       "peak_device_bytes"};
    fprintf(out, "%s,%s", text(row, "policy"), text(row, "tiling_accum"));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) csv_number(out, number(row, keys[k]));
    csv_number(out, tg_sweep_error(row));
    fprintf(out, ",%d,", json_is_true(json_object_get(row, "pareto")));
    csv_text(out, text(row, "array"));
    csv_number(out, number(row, "joules_per_sample"));
    fprintf(out, ",%d", json_is_true(json_object_get(row, "pareto_energy")));
    if (batches) {
      csv_number(out, number(row, "batch"));
      fprintf(out, ",%d", json_is_true(json_object_get(row, "largest")));
    }
    fputc('\n', out);
  }
}
