/* What decides by an integer that is NaN where it is not exact (integers.h) would hide that: the array looks whether there was
 * one, and an output says so. */
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
static int find_output(const tg_graph *graph) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < graph->output_count; i++) {
      const tg_value *y = graph->outputs[i];
      if (tg_is_constant(y) || graph->known_outputs[i] || !tg_value_elements(y)) continue;
      if (pass || tg_dtype_is_float(y->dtype)) return i;
    }
  return -1;
}

static bool stands_in(tg_value *const *values, int count, const tg_value *value) {
  for (int i = 0; i < count; i++)
    if (values[i] == value) return true;
  return false;
}

void tg_integers_show(tg_graph *graph, tg_value *const *decided, int count) {
  int output = count ? find_output(graph) : -1;
  if (output < 0) return;
  tg_build b = {.graph = graph, .name = "exact", .forward = -1, .keep_formats = true};
  tg_value *any = NULL, *y = graph->outputs[output];
  tg_dtype dtype = tg_dtype_is_float(y->dtype) ? y->dtype : TG_F32;
  for (int i = 0; i < count; i++) {
    if (stands_in(decided, i, decided[i]) || !tg_value_elements(decided[i])) continue;
    tg_value *flag = has_nan(&b, decided[i]);
    any = any ? tg_build_binary(&b, TG_OP_MAX, any, flag) : flag;
  }
  if (!any) return;
  tg_value *none = tg_build_binary(&b, TG_OP_EQUAL, any, tg_build_number(&b, 0));
  tg_value *shown = tg_build_where(&b, none, tg_build_cast(&b, y, TG_F32), tg_build_number(&b, NAN));
  tg_graph_set_output(graph, output, tg_build_cast(&b, shown, dtype));
  graph->guarded_outputs[output] = true;
}
