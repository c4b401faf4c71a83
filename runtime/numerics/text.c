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

/* Rows of one tensor, of which there are several where policies are compared. */
typedef struct group {
  json_t *const *rows;
  size_t count, place; /* in the order of the model */
} group;

static double worst_share(const group *g) {
  double worst = 0;
  for (size_t i = 0; i < g->count; i++) worst = fmax(worst, share(g->rows[i]));
  return worst;
}

static int by_share(const void *left, const void *right) {
  const group *x = left, *y = right;
  double a = worst_share(x), b = worst_share(y);
  return a != b ? (a < b) - (a > b) : (x->place > y->place) - (x->place < y->place);
}

static bool are_alike(const json_t *left, const json_t *right) {
  return *text(left, "policy") && strcmp(text(left, "policy"), text(right, "policy")) != 0 &&
         !strcmp(text(left, "tensor"), text(right, "tensor")) && !strcmp(text(left, "op"), text(right, "op"));
}

static bool hint_alike(const json_t *left, const json_t *right) {
  return !strcmp(text(left, "hint"), text(right, "hint")) && !strcmp(text(left, "rule"), text(right, "rule"));
}

/* The hints of a tensor, each once, after the policies that it is for. */
static void print_hints(const group *g, FILE *out) {
  for (size_t i = 0; i < g->count; i++) {
    const json_t *row = g->rows[i];
    size_t before = 0;
    while (before < i && !hint_alike(g->rows[before], row)) before++;
    if (before < i || !*text(row, "hint")) continue;
    const char *rule = text(row, "rule"), *between = "";
    fputs("    ", out);
    for (size_t k = i; *text(row, "policy") && k < g->count; k++)
      if (hint_alike(g->rows[k], row))
        fprintf(out, "%s%s", between, text(g->rows[k], "policy")), between = ", ";
    fprintf(out, "%s%s%s%s%s\n", *between ? ": " : "", text(row, "hint"), *rule ? " (" : "", rule,
            *rule ? ")" : "");
  }
}

/* `first`: of its group, which is named there. */
static void print_row(const json_t *row, bool first, FILE *out) {
  long long inf = (long long)(number(row, "overflows") + number(row, "nans"));
  fprintf(out, "  %-26.26s %-16.16s ", first ? name_of(row) : "", first ? text(row, "op") : "");
  if (*text(row, "policy")) fprintf(out, "%-18s ", text(row, "policy"));
  fprintf(out, "%-5s %9.3g %9.3g %7lld %9lld %9.3g %9.3g %9.3g %5.1f\n", text(row, "format"),
          number(row, "least"), number(row, "most"), inf, (long long)number(row, "subnormals"),
          number(row, "added_rms"), number(row, "passed_rms"), number(row, "relative"),
          number(row, "right_bits"));
}

static void print_first(const json_t *object, double bound, FILE *out) {
  const json_t *first = json_object_get(object, "first_broken");
  if (*text(object, "policy")) fprintf(out, "%s: ", text(object, "policy"));
  if (json_is_object(first))
    fprintf(out, "first beyond %g: %s (%s), tensor %s\n", bound, name_of(first), text(first, "op"),
            text(first, "tensor"));
  else
    fprintf(out, "no result is beyond a relative error of %g\n", bound);
}

static void print_head(const json_t *object, bool several, bool verbose, FILE *out) {
  fprintf(out, "%s", text(object, "model"));
  if (!several) fprintf(out, ", %s", text(json_object_get(object, "precision"), "policy"));
  fprintf(out, ": errors against FP32 by operator%s%s\n", several ? " and policy" : "",
          verbose ? "" : ", those that add most first");
  fprintf(out, "  %-26s %-16s ", "operator", "");
  if (several) fprintf(out, "%-18s ", "policy");
  fprintf(out, "%-5s %9s %9s %7s %9s %9s %9s %9s %5s\n", "", "least", "most", "inf,nan", "subnormal", "adds",
          "passes on", "relative", "bits");
}

static size_t find_groups(json_t *const *rows, size_t count, group *groups) {
  size_t found = 0;
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && are_alike(rows[i], rows[end]); end++) {
    }
    groups[found] = (group){&rows[i], end - i, found};
    found++;
  }
  return found;
}

void tg_numerics_print(const json_t *object, bool verbose, FILE *out) {
  const json_t *all = json_object_get(object, "results"), *policies = json_object_get(object, "policies");
  size_t count = json_array_size(all), shown = 0;
  json_t **rows = calloc(count + 1, sizeof *rows);
  group *groups = calloc(count + 1, sizeof *groups);
  if (!rows || !groups) tg_die("out of memory");
  for (size_t i = 0; i < count; i++) rows[i] = json_array_get(all, i);
  size_t group_count = find_groups(rows, count, groups);
  if (!verbose) qsort(groups, group_count, sizeof *groups, by_share);
  print_head(object, policies != NULL, verbose, out);
  for (; shown < group_count && (verbose || (shown < SHOWN && worst_share(&groups[shown]) > 0)); shown++) {
    for (size_t i = 0; i < groups[shown].count; i++) print_row(groups[shown].rows[i], !i, out);
    print_hints(&groups[shown], out);
  }
  if (!shown) fputs("  no operator adds an error: all is FP32\n", out);
  if (shown < group_count && shown == SHOWN)
    fprintf(out, "  ... of %zu (-v lists all, in the order of the model)\n", group_count);
  if (!policies) print_first(object, number(object, "bound"), out);
  for (size_t i = 0; i < json_array_size(policies); i++)
    print_first(json_array_get(policies, i), number(object, "bound"), out);
  free(groups);
  free(rows);
}
