/* An integer that is not exact is NaN (integers.h), as what is computed of it is; what decides by it would hide that, and NaN
 * may be what a model gives. So the array looks at the integers themselves, and an output says so (decision 093). */
#include "frontend/build/build.h"
#include "frontend/passes/integers.h"

#include <math.h>

/* 1 where an element is NaN, else 0: one number. */
static tg_value *has_nan(tg_build *b, tg_value *x) {
  tg_value *is_number = tg_build_binary(b, TG_OP_EQUAL, x, x);
  tg_value *each = tg_build_where(b, is_number, tg_build_number(b, 0), tg_build_number(b, 1));
  tg_value *any = tg_build_reduce(b, TG_OP_REDUCE_MAX, each, (1u << x->rank) - 1);
  return x->rank ? tg_build_reshape(b, any, 0, NULL) : any;
}

/* An output whose elements can be NaN in place of what they are; a bool as a float, which who reads it takes for one. */
static int find_output(const tg_graph *graph, const bool *floats) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < graph->output_count; i++) {
      const tg_value *y = graph->outputs[i];
      if (tg_is_constant(y) || graph->known_outputs[i] || !tg_value_elements(y)) continue;
      if (pass || floats[i]) return i;
    }
  return -1;
}

static bool stands_in(tg_value *const *values, int count, const tg_value *value) {
  for (int i = 0; i < count; i++)
    if (values[i] == value) return true;
  return false;
}

/* The largest of 1 for each value that holds NaN, else 0; NULL of none. */
static tg_value *any_nan(tg_build *b, tg_value *const *values, int count) {
  tg_value *any = NULL;
  for (int i = 0; i < count; i++) {
    if (stands_in(values, i, values[i]) || !tg_value_elements(values[i])) continue;
    tg_value *flag = has_nan(b, values[i]);
    any = any ? tg_build_binary(b, TG_OP_MAX, any, flag) : flag;
  }
  return any;
}

/* `decided` and the outputs of floats of integers that are looked at: all that may hold what a guard let go. */
static tg_value **reached(tg_graph *graph, const bool *floats, tg_value *const *decided, int count,
                          int *out_count) {
  tg_value **values = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)(count + graph->output_count) + 1);
  *out_count = count;
  for (int i = 0; i < count; i++) values[i] = decided[i];
  for (int i = 0; i < graph->output_count; i++)
    if (graph->guarded_outputs[i] && floats[i]) values[(*out_count)++] = graph->outputs[i];
  return values;
}

void tg_integers_show(tg_graph *graph, const tg_guards *guards, tg_value *const *decided, int count) {
  bool trains = graph->carry_count > 0;
  int output = find_output(graph, guards->floats), reached_count = 0;
  if (output < 0 || (trains && !count)) return;
  tg_value **all = reached(graph, guards->floats, decided, count, &reached_count);
  for (int i = 0; !trains && i < graph->output_count; i++) graph->guarded_outputs[i] &= !guards->floats[i];
  tg_build b = {.graph = graph, .name = "exact", .forward = -1, .keep_formats = true};
  tg_value *lost = trains ? any_nan(&b, decided, count) : NULL, *y = graph->outputs[output];
  if (!trains && reached_count && guards->count) {
    lost = any_nan(&b, all, reached_count);
    tg_value *passed = any_nan(&b, guards->values, (int)guards->count);
    lost = lost && passed ? tg_build_binary(&b, TG_OP_MIN, lost, passed) : NULL;
  }
  if (!lost) return;
  tg_dtype dtype = tg_dtype_is_float(y->dtype) ? y->dtype : TG_F32;
  double mark = trains || !guards->floats[output] ? (double)NAN : (double)tg_inexact_mark(dtype);
  tg_value *none = tg_build_binary(&b, TG_OP_EQUAL, lost, tg_build_number(&b, 0));
  tg_value *shown = tg_build_where(&b, none, tg_build_cast(&b, y, TG_F32), tg_build_number(&b, mark));
  tg_graph_set_output(graph, output, tg_build_cast(&b, shown, dtype));
  graph->guarded_outputs[output] = true;
}
