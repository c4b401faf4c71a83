/* The explanation as text. */
#include "runtime/fp/explain.h"

#include <stdio.h>
#include <string.h>

static const char *text(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static void print_brief(const char *label, const json_t *number, FILE *out) {
  if (json_is_null(number))
    fprintf(out, "  %-12s none\n", label);
  else
    fprintf(out, "  %-12s %s  %s\n", label, text(number, "bits"), text(number, "shortest"));
}

static void print_operands(const json_t *format, FILE *out) {
  const json_t *operands = json_object_get(format, "operands");
  for (size_t i = 0; i < json_array_size(operands); i++) {
    const json_t *o = json_array_get(operands, i);
    fprintf(out, "  %-12s %s  %s%s\n", i ? "" : "operands", text(o, "bits"), text(o, "shortest"),
            json_is_true(json_object_get(o, "rounded")) ? "  (rounded)" : "");
  }
  if (text(format, "exact")) fprintf(out, "  %-12s %s\n", "exactly", text(format, "exact"));
}

static void print_rounding(const json_t *format, FILE *out) {
  const json_t *rounding = json_object_get(format, "rounding"), *flags = json_object_get(format, "flags");
  const json_t *error = json_object_get(rounding, "error_ulp"),
               *candidates = json_object_get(rounding, "candidates"), *ulp = json_object_get(format, "ulp");
  const char *direction = text(rounding, "direction");
  bool exact = !strcmp(direction, "exact");
  if (json_is_object(ulp))
    fprintf(out, "  %-12s 2^%d = %.8g\n", "ulp",
            (int)json_integer_value(json_object_get(ulp, "power_of_two")),
            json_real_value(json_object_get(ulp, "value")));
  print_brief("below", json_object_get(format, "below"), out);
  print_brief("above", json_object_get(format, "above"), out);
  if (exact && !json_array_size(flags)) {
    fprintf(out, "  %-12s exact\n", "rounding");
    return;
  }
  fprintf(out, "  %-12s %s%s", "rounding", direction,
          json_is_true(json_object_get(rounding, "tie")) ? ", a tie to even" : "");
  if (!exact && json_is_real(error)) fprintf(out, ", error %+.6g ulp", json_real_value(error));
  for (size_t i = 0; i < json_array_size(flags); i++)
    fprintf(out, "%s%s", i ? ", " : "; ", json_string_value(json_array_get(flags, i)));
  fputc('\n', out);
  if (!exact)
    fprintf(out, "  %-12s %s  %s, or %s  %s\n", "candidates", text(json_array_get(candidates, 0), "bits"),
            text(json_array_get(candidates, 0), "shortest"), text(json_array_get(candidates, 1), "bits"),
            text(json_array_get(candidates, 1), "shortest"));
}

static void print_stochastic(const json_t *stochastic, FILE *out) {
  if (!stochastic) return;
  const json_t *near = json_object_get(stochastic, "towards_zero"),
               *away = json_object_get(stochastic, "away"), *drawn = json_object_get(stochastic, "drawn"),
               *result = json_object_get(drawn, "result");
  int r = (int)json_integer_value(json_object_get(stochastic, "away_of_65536"));
  fprintf(out, "  %-12s of fp32 %s: ", "stochastic", text(stochastic, "fp32"));
  if (r)
    fprintf(out, "%s  %s with probability %d/65536, %s  %s with %d/65536\n", text(near, "bits"),
            text(near, "shortest"), 65536 - r, text(away, "bits"), text(away, "shortest"), r);
  else
    fprintf(out, "%s  %s always\n", text(near, "bits"), text(near, "shortest"));
  if (drawn)
    fprintf(out, "  %-12s key %s, r %d: %s  %s\n", "drawn", text(drawn, "key"),
            (int)json_integer_value(json_object_get(drawn, "r")), text(result, "bits"),
            text(result, "shortest"));
}

static void print_format(const char *name, const json_t *format, FILE *out) {
  fprintf(out, "%s  %s  %s  %s|%s|%s  %s\n", name, text(format, "bits"), text(format, "shortest"),
          text(format, "sign"), text(format, "exponent"), text(format, "fraction"), text(format, "class"));
  print_operands(format, out);
  fprintf(out, "  %-12s %s\n", text(format, "exact") ? "result" : "exactly", text(format, "decimal"));
  print_rounding(format, out);
  const json_t *twice = json_object_get(format, "rounded_twice"),
               *accumulator = json_object_get(format, "fp32_accumulator");
  if (twice) print_brief("by way of fp32", twice, out);
  if (accumulator) print_brief("fp32 acc.", accumulator, out);
  print_stochastic(json_object_get(format, "stochastic"), out);
}

void tg_fp_print(const json_t *object, FILE *out) {
  const json_t *operands = json_object_get(object, "operands");
  const char *operation = text(object, "operation"), *name;
  json_t *format;
  if (strcmp(operation, "value")) fprintf(out, "%s", operation);
  for (size_t i = 0; i < json_array_size(operands); i++)
    fprintf(out, "%s%s", i || strcmp(operation, "value") ? " " : "",
            json_string_value(json_array_get(operands, i)));
  fputc('\n', out);
  json_object_foreach(json_object_get(object, "formats"), name, format) print_format(name, format, out);
}
