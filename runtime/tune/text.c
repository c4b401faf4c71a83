/* The report for people. */
#include "runtime/tune/tune.h"

#include <math.h>
#include <string.h>

static const char *text(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "-";
}

static void cell(FILE *out, const char *format, const json_t *value, int width) {
  if (json_is_number(value))
    fprintf(out, format, width, json_number_value(value));
  else
    fprintf(out, "%*s", width, "-");
}

static void print_point(const json_t *p, FILE *out) {
  fprintf(out, "  %-18s ", text(p, "name"));
  cell(out, "%*.0f", json_object_get(p, "cycles"), 12);
  cell(out, " %*.2f", json_object_get(p, "speedup_over_mp0"), 9);
  cell(out, " %*.3g", json_object_get(p, "error"), 11);
  fprintf(out, "  %s\n", json_is_true(json_object_get(p, "met")) ? "meets it" : "");
}

/* What the chosen format does on this operator alone. */
static const json_t *alone_of(const json_t *op) {
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(op, "alone"), i,
                     row) if (!strcmp(text(row, "format"), text(op, "format"))) return row;
  return NULL;
}

static void print_operators(const json_t *report, FILE *out) {
  fprintf(out, "\n  %-28s %-20s %-20s %13s %12s\n", "node", "operator", "format", "alone saves",
          "alone errs");
  size_t i;
  json_t *op;
  json_array_foreach(json_object_get(report, "operators"), i, op) {
    const json_t *alone = alone_of(op);
    bool policy = !strncmp(text(op, "format"), "as in ", 6); /* of a policy only: what it asks says more */
    fprintf(out, "  %-28s %-20s %-20s ", text(op, "node"), text(op, "operator"),
            text(op, policy ? "rule" : "format"));
    cell(out, "%*.0f", json_object_get(alone, "cycles_saved"), 13);
    cell(out, " %*.3g", json_object_get(alone, "error"), 12);
    fputc('\n', out);
  }
}

void tg_tune_print(const json_t *report, FILE *out) {
  fprintf(out, "%s error at most %g: %s after %lld runs%s\n", text(report, "metric"),
          json_number_value(json_object_get(report, "max_error")),
          json_is_true(json_object_get(report, "met")) ? "met" : "missed",
          (long long)json_integer_value(json_object_get(report, "runs")),
          json_is_true(json_object_get(report, "complete")) ? "" : ", as many as allowed");
  if (!json_integer_value(json_object_get(report, "products")))
    fputs("the model has no matrix product or convolution: only what is loaded and stored can be narrower\n",
          out);
  fprintf(out, "  %-18s %12s %9s %11s\n", "", "cycles", "speed-up", "error");
  print_point(json_object_get(report, "mp0"), out);
  size_t i;
  json_t *row;
  json_array_foreach(json_object_get(report, "compared"), i, row) print_point(row, out);
  if (!json_is_true(json_object_get(report, "met"))) return;
  print_point(json_object_get(report, "tuned"), out);
  print_operators(report, out);
}
