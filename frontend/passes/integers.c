/* Intervals forwards, then blame backwards: where a result may pass what fp32 holds exactly, the inputs and
 * conversions of floats that it is computed of are held to smaller numbers, until it may not. */
#include "frontend/passes/integers.h"

#include "frontend/passes/passes.h"

#include <math.h>
#include <string.h>

#define EXACT 0x1p24 /* all integers up to this magnitude are fp32 numbers */

typedef struct analysis {
  const tg_graph *graph;
  tg_integers *known;
  bool *blamed; /* by value->index */
  tg_diag *diag;
} analysis;

tg_range tg_range_of_dtype(tg_dtype dtype) {
  double span = ldexp(1, tg_dtype_bits(dtype));
  switch (dtype) {
  case TG_BOOL: return (tg_range){0, 1, false};
  case TG_U2:
  case TG_U4:
  case TG_U8:
  case TG_U16: return (tg_range){0, span - 1, false};
  case TG_U32:
  case TG_U64: return (tg_range){0, span, false}; /* as fp32 rounds the largest one */
  case TG_I2:
  case TG_I4:
  case TG_I8:
  case TG_I16: return (tg_range){-span / 2, span / 2 - 1, false};
  default: return (tg_range){-span / 2, span / 2, false};
  }
}

static bool holds(tg_range outer, tg_range inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

static bool counts(const tg_value *value) {
  return value && (tg_dtype_is_integer(value->dtype) || value->dtype == TG_BOOL);
}

static tg_range of(const analysis *a, const tg_value *value) { return a->known->ranges[value->index]; }

static tg_status fail(const analysis *a, const tg_node *node, const char *what) {
  return tg_fail(a->diag, TG_INVALID, "node \"%s\" (%s): %s", node->name, tg_op_get(node->op)->name, what);
}

/* --- values that no node computes --- */

static tg_range of_constant(const tg_value *value) {
  tg_range range = {INFINITY, -INFINITY, false};
  int64_t count = value->elided ? 0 : tg_value_elements(value);
  for (int64_t i = 0; i < count; i++) {
    double x = (double)tg_load_i64(value->data, value->dtype, (size_t)i);
    if (x < range.low) range.low = x;
    if (x > range.high) range.high = x;
  }
  return count ? range : (tg_range){0, 0, false};
}

static bool is_fp32(const tg_value *constant, int64_t *out_inexact) {
  int64_t count = constant->elided ? 0 : tg_value_elements(constant);
  for (int64_t i = 0; i < count; i++) {
    *out_inexact = tg_load_i64(constant->data, constant->dtype, (size_t)i);
    float rounded = (float)*out_inexact;
    if (rounded >= 0x1p63f || (int64_t)rounded != *out_inexact) return false;
  }
  return true;
}

/* Below `limit` in magnitude, and in the type. */
static tg_range limited(tg_dtype dtype, double limit, bool guarded) {
  tg_range range = tg_range_of_dtype(dtype);
  return (tg_range){fmax(range.low, 1 - limit), fmin(range.high, limit - 1), guarded};
}

static void begin(const analysis *a) {
  for (int i = 0; i < a->graph->value_count; i++) {
    const tg_value *value = a->graph->values[i];
    if (!counts(value)) {
      if (!value->producer) a->known->ranges[i] = tg_range_of_given_floats(value);
      continue;
    }
    if (value->kind == TG_VALUE_CONSTANT) a->known->ranges[i] = of_constant(value);
    if (value->kind == TG_VALUE_INPUT && value->dtype != TG_BOOL) a->known->limits[i] = EXACT;
  }
}

/* --- nodes --- */

/* Of floats, without their fractions: 0 where they are no numbers, ends of the type where they pass it. */
static tg_range of_floats(tg_range x, tg_dtype dtype) {
  tg_range type = tg_range_of_dtype(dtype),
           whole = {trunc(fmin(x.low, 0)), trunc(fmax(x.high, 0)), x.guarded};
  if (holds(type, whole) || tg_dtype_size(dtype) <= 2) return holds(type, whole) ? whole : type;
  return (tg_range){fmax(whole.low, type.low), fmin(whole.high, type.high), x.guarded};
}

static tg_range of_cast(const analysis *a, const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  if (counts(x)) return of(a, x);
  tg_range range = of_floats(of(a, x), y->dtype), fits = limited(y->dtype, a->known->limits[y->index], true);
  return a->known->limits[y->index] <= 0 || holds(fits, range) ? range : fits;
}

/* One operation on integers that FP32 holds, of which nothing but a float is made, rounds the exact result once. */
static bool rounds_once(const tg_node *node) {
  const tg_value *y = tg_out(node);
  if ((node->op != TG_OP_ADD && node->op != TG_OP_SUB && node->op != TG_OP_MUL) || y->output_count)
    return false;
  for (const tg_use *use = y->uses; use; use = use->next)
    if (use->node->op != TG_OP_CAST || tg_out(use->node)->dtype != TG_F32) return false;
  return true;
}

/* Before the type's size has its say. */
static tg_status computed(const analysis *a, const tg_node *node, tg_range *out) {
  tg_range x = counts(tg_in(node, 0)) ? of(a, tg_in(node, 0)) : (tg_range){0};
  switch (node->op) {
  case TG_OP_CAST: *out = of_cast(a, node); return TG_OK;
  case TG_OP_NEG: *out = (tg_range){-x.high, -x.low, x.guarded}; return TG_OK;
  case TG_OP_ABS: {
    double most = fmax(fabs(x.low), fabs(x.high));
    *out = (tg_range){x.low <= 0 && x.high >= 0 ? 0 : fmin(fabs(x.low), fabs(x.high)), most, x.guarded};
    return TG_OK;
  }
  case TG_OP_SIGN: *out = (tg_range){-1, 1, x.guarded}; return TG_OK;
  case TG_OP_REMAINDER: {
    tg_range y = of(a, tg_in(node, 1));
    double most = fmin(fmax(fabs(x.low), fabs(x.high)), fmax(fabs(y.low), fabs(y.high)));
    *out = (tg_range){x.low < 0 ? -most : 0, x.high > 0 ? most : 0, x.guarded || y.guarded};
    return TG_OK;
  }
  case TG_OP_DIV: {
    tg_range y = of(a, tg_in(node, 1));
    double most = fmax(fabs(x.low), fabs(x.high));
    *out = (tg_range){x.low < 0 || y.low < 0 ? -most : 0, most, x.guarded || y.guarded};
    return TG_OK;
  }
  case TG_OP_ADD:
  case TG_OP_SUM:
  case TG_OP_SUB:
  case TG_OP_MUL:
  case TG_OP_MAX:
  case TG_OP_MIN:
  case TG_OP_WHERE: *out = tg_range_of_operands(node, a->known->ranges); return TG_OK;
  default:
    if (tg_op_is(node->op, TG_IS_REDUCE) && node->op != TG_OP_REDUCE_MEAN)
      *out = tg_range_reduced(node, x);
    else if (tg_op_is(node->op, TG_IS_MOVE))
      *out = tg_range_of_operands(node, a->known->ranges);
    else
      return fail(a, node, "does not compute with integers of a run");
    return TG_OK;
  }
}

static bool only_moves(const tg_node *node) {
  switch (node->op) {
  case TG_OP_CAST:
  case TG_OP_NEG:
  case TG_OP_ABS:
  case TG_OP_SIGN:
  case TG_OP_MAX:
  case TG_OP_MIN:
  case TG_OP_WHERE:
  case TG_OP_REDUCE_MAX:
  case TG_OP_REDUCE_MIN: return true;
  default: return tg_op_is(node->op, TG_IS_MOVE);
  }
}

/* A type of at most 16 bits wraps, and so does a Cast to a narrower one; an unsigned one of more bits that falls
 * below 0 would wrap to what fp32 does not hold. */
static tg_status result(const analysis *a, const tg_node *node, tg_range *out, bool *out_over) {
  tg_dtype dtype = tg_out(node)->dtype;
  tg_range whole = tg_range_of_dtype(dtype);
  a->known->wraps[tg_out(node)->index] = false;
  if (dtype == TG_BOOL) return *out = whole, TG_OK;
  if (computed(a, node, out)) return TG_INVALID;
  bool rounds = rounds_once(node) && holds(whole, *out);
  *out_over = !only_moves(node) && !rounds && (out->low < -EXACT || out->high > EXACT);
  if (*out_over || holds(whole, *out)) return TG_OK;
  a->known->wraps[tg_out(node)->index] = true;
  bool is_unsigned = dtype == TG_U32 || dtype == TG_U64;
  *out = is_unsigned ? (tg_range){0, fmin(fmax(out->high, 0), whole.high), true}
                     : (tg_range){whole.low, whole.high, out->guarded};
  return TG_OK;
}

static bool compares(const tg_node *node) {
  return tg_op_is(node->op, TG_IS_COMPARE) || (node->op == TG_OP_CAST && tg_out(node)->dtype == TG_BOOL);
}

/* NaN stands for what is not exact: a decision, a row by that number, or an integer made of such a float would hide it. */
static bool decides(const tg_node *node, int operand) {
  if (tg_op_is(node->op, TG_IS_COMPARE)) return !tg_range_is_nan_test(node);
  if (operand == tg_op_index_operand(node->op)) return true;
  if (node->op != TG_OP_CAST || !counts(tg_out(node))) return false;
  return tg_out(node)->dtype == TG_BOOL || !counts(tg_in(node, 0));
}

bool tg_integers_decide(const tg_integers *known, const tg_node *node, int operand) {
  const tg_value *x = tg_in(node, operand);
  return x && known->ranges[x->index].guarded && decides(node, operand);
}

static tg_status check_operands(const analysis *a, const tg_node *node) {
  int index = tg_op_index_operand(node->op);
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    int64_t inexact;
    if (a->graph->carry_count && compares(node) && tg_integers_decide(a->known, node, i))
      return fail(a, node,
                  "decides by integers computed of floats, which may pass 2^24: the array does not hold such "
                  "exactly");
    if (!x || !tg_dtype_is_integer(x->dtype)) continue;
    if (i != index && node->op != TG_OP_CAST && tg_is_constant(x) && !is_fp32(x, &inexact))
      return tg_fail(a->diag, TG_INVALID,
                     "node \"%s\" (%s): constant \"%s\" holds %lld, which is no number of FP32: the array "
                     "does not compute with it exactly",
                     node->name, tg_op_get(node->op)->name, x->name, (long long)inexact);
  }
  if (node->op == TG_OP_PAD && tg_dtype_is_integer(tg_out(node)->dtype)) {
    double fill = tg_attr_float(node, TG_ATTR_VALUE);
    if ((double)(float)fill != fill)
      return tg_fail(
          a->diag, TG_INVALID,
          "node \"%s\" (Pad): its constant_value %.0f is no number of FP32: the array does not compute with "
          "it exactly",
          node->name, fill);
  }
  if (index < 0 || !tg_op_is(node->op, TG_IS_DEVICE | TG_IS_MOVE | TG_IS_INTERNAL)) return TG_OK;
  int axis = node->op == TG_OP_GATHER ? (int)tg_attr_int(node, TG_ATTR_AXIS) : 0;
  if ((double)tg_in(node, 0)->dims[axis].size <= EXACT || tg_gather_is_slices(node)) return TG_OK;
  return fail(a, node, "chooses among more than 2^24 rows, whose numbers the array does not hold exactly");
}

/* --- the way forwards and the way back --- */

/* The first node whose result may not be exact, NULL if there is none; all such results are blamed. */
static tg_status forwards(const analysis *a, const tg_node **out_over) {
  *out_over = NULL;
  for (int i = 0; i < a->graph->value_count; i++) {
    const tg_value *value = a->graph->values[i];
    a->blamed[i] = false;
    if (value->kind == TG_VALUE_INPUT && counts(value))
      a->known->ranges[i] = value->dtype == TG_BOOL ? tg_range_of_dtype(TG_BOOL)
                                                    : limited(value->dtype, a->known->limits[i], false);
  }
  TG_FOR_NODES(a->graph, node) {
    tg_range range;
    bool over = false;
    if (check_operands(a, node)) return TG_INVALID;
    if (!counts(tg_out(node)))
      range = tg_range_of_floats(node, a->known->ranges);
    else if (result(a, node, &range, &over))
      return TG_INVALID;
    for (int i = 0; i < node->output_count; i++) {
      a->known->ranges[node->outputs[i]->index] = range;
      a->blamed[node->outputs[i]->index] = over;
    }
    if (over && !*out_over) *out_over = node;
  }
  return TG_OK;
}

/* Halves a limit that is blamed; false: there is nothing to halve. */
static bool tighten(const analysis *a, const tg_value *value) {
  double *limit = &a->known->limits[value->index];
  if (!a->blamed[value->index] || (*limit > 0 && *limit <= 2)) return false;
  *limit = *limit > 0 ? *limit / 2 : EXACT;
  return true;
}

static bool backwards(const analysis *a) {
  bool any = false;
  for (const tg_node *node = a->graph->last; node; node = node->previous) {
    bool blamed = false;
    int index = tg_op_index_operand(node->op);
    for (int i = 0; i < node->output_count; i++) blamed |= a->blamed[node->outputs[i]->index];
    if (!blamed) continue;
    if (node->op == TG_OP_CAST && !counts(tg_in(node, 0))) {
      any |= tighten(a, tg_out(node));
      continue;
    }
    for (int i = node->op == TG_OP_WHERE; i < node->input_count; i++)
      if (i != index && counts(tg_in(node, i)) && tg_in(node, i)->dtype != TG_BOOL)
        a->blamed[tg_in(node, i)->index] = true;
  }
  for (int i = 0; i < a->graph->input_count; i++) any |= tighten(a, a->graph->inputs[i]);
  return any;
}

/* Limits that were halved may have been halved too far: back up by what is left between, to 1/64. */
static tg_status widen(const analysis *a) {
  size_t count = (size_t)a->graph->value_count;
  double *fits = TG_NEW_ARRAY(a->graph->arena, double, count + 1), *limits = a->known->limits;
  const tg_node *over = NULL;
  memcpy(fits, limits, count * sizeof *fits);
  for (int parts = 2; parts <= 64; parts *= 2) {
    for (size_t i = 0; i < count; i++)
      if (fits[i] > 0 && fits[i] < EXACT) limits[i] = fmin(floor(fits[i] * (1 + 1.0 / parts)), EXACT);
    if (forwards(a, &over)) return TG_INVALID;
    if (!over) memcpy(fits, limits, count * sizeof *fits);
  }
  memcpy(limits, fits, count * sizeof *fits);
  return forwards(a, &over);
}

tg_status tg_integers_bound(const tg_graph *graph, tg_integers *out_integers, tg_diag *diag) {
  size_t count = (size_t)graph->value_count + 1;
  *out_integers =
      (tg_integers){TG_NEW_ARRAY(graph->arena, tg_range, count), TG_NEW_ARRAY(graph->arena, double, count),
                    TG_NEW_ARRAY(graph->arena, bool, count)};
  analysis a = {graph, out_integers, TG_NEW_ARRAY(graph->arena, bool, count), diag};
  const tg_node *over = NULL;
  bool tightened = false;
  begin(&a);
  do {
    if (forwards(&a, &over)) return TG_INVALID;
  } while (over && backwards(&a) && (tightened = true));
  if (!over) return tightened ? widen(&a) : TG_OK;
  return tg_fail(diag, TG_INVALID,
                 "node \"%s\" (%s): its result \"%s\" (%s) may pass 2^24, beyond which the array does not "
                 "hold integers exactly",
                 over->name, tg_op_get(over->op)->name, tg_out(over)->name,
                 tg_dtype_name(tg_out(over)->dtype));
}
