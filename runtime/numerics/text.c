#include "runtime/numerics/numerics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12 };

static double number(const json_t *row, const char *key) {
  const json_t *value = json_object_get(row, key);
  return json_is_number(value) ? json_number_value(value) : INFINITY;
}

static const char *text(const json_t *row, const char *key) {
  const char *value = json_string_value(json_object_get(row, key));
  return value ? value : "";
}

static const char *name_of(const json_t *row) {
  return *text(row, "node") ? text(row, "node") : text(row, "tensor");
}

/* The error that an operator adds, over the size of its result. */
static double share(const json_t *row) {
  double added = number(row, "added_rms"), total = number(row, "total_rms"),
         relative = number(row, "relative");
  if (!isfinite(added)) return INFINITY;
  return total > 0 ? added / total * relative : 0;
}

static int by_share(const void *left, const void *right) {
  double a = share(*(json_t *const *)left), b = share(*(json_t *const *)right);
  return (a < b) - (a > b);
}

static void print_row(const json_t *row, FILE *out) {
  long long inf = (long long)(number(row, "overflows") + number(row, "nans"));
  fprintf(out, "  %-26.26s %-16.16s %-5s %9.3g %9.3g %7lld %9lld %9.3g %9.3g %9.3g %5.1f\n", name_of(row),
          text(row, "op"), text(row, "format"), number(row, "least"), number(row, "most"), inf,
          (long long)number(row, "subnormals"), number(row, "added_rms"), number(row, "passed_rms"),
          number(row, "relative"), number(row, "right_bits"));
  if (*text(row, "hint"))
    fprintf(out, "    %s%s%s%s\n", text(row, "hint"), *text(row, "rule") ? " (" : "", text(row, "rule"),
            *text(row, "rule") ? ")" : "");
}

void tg_numerics_print(const json_t *object, bool verbose, FILE *out) {
  const json_t *rows = json_object_get(object, "results"), *first = json_object_get(object, "first_broken");
  size_t count = json_array_size(rows), shown = 0;
  json_t **sorted = calloc(count + 1, sizeof *sorted);
  if (!sorted) tg_die("out of memory");
  for (size_t i = 0; i < count; i++) sorted[i] = json_array_get(rows, i);
  if (!verbose) qsort(sorted, count, sizeof(json_t *), by_share);
  fprintf(out, "%s, %s: errors against FP32 by operator%s\n", text(object, "model"),
          text(json_object_get(object, "precision"), "policy"), verbose ? "" : ", those that add most first");
  fprintf(out, "  %-26s %-16s %-5s %9s %9s %7s %9s %9s %9s %9s %5s\n", "operator", "", "", "least", "most",
          "inf,nan", "subnormal", "adds", "passes on", "relative", "bits");
  for (size_t i = 0; i < count && (verbose || (shown < SHOWN && share(sorted[i]) > 0)); i++, shown++)
    print_row(sorted[i], out);
  if (!shown) fputs("  no operator adds an error: all is FP32\n", out);
  if (shown < count && shown == SHOWN)
    fprintf(out, "  ... of %zu (-v lists all, in the order of the model)\n", count);
  if (json_is_object(first))
    fprintf(out, "first beyond %g: %s (%s), tensor %s\n", number(object, "bound"), name_of(first),
            text(first, "op"), text(first, "tensor"));
  else
    fprintf(out, "no result is beyond a relative error of %g\n", number(object, "bound"));
  free(sorted);
}
