/* Integers become whole numbers in fp32, and stay exact (integers.h). Casts from floats truncate. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/integers.h"
#include "frontend/passes/passes.h"

#include <assert.h>
#include <math.h>

/* What is written before a node that is lowered. */
typedef struct writer {
  tg_graph *graph;
  tg_node *at;
  tg_guards *guards;
} writer;

static tg_value *number(const writer *w, double value) {
  return tg_graph_add_scalar(w->graph, "number", TG_F32, value);
}

static tg_value *node(const writer *w, tg_op op, tg_value *a, tg_value *b, tg_dtype dtype) {
  tg_node *made =
      tg_rewrite_node(w->graph, op, w->at->name, (tg_value *[]){a, b}, b ? 2 : 1, dtype, w->at, -1);
  made->rule = w->at->rule;
  return tg_out(made);
}

static tg_value *binary(const writer *w, tg_op op, tg_value *a, tg_value *b) {
  return node(w, op, a, b, TG_F32);
}

static tg_value *where(const writer *w, tg_value *condition, tg_value *a, tg_value *b) {
  tg_value *operands[] = {condition, a, b};
  tg_node *made = tg_rewrite_node(w->graph, TG_OP_WHERE, w->at->name, operands, 3, TG_F32, w->at, -1);
  made->rule = w->at->rule;
  return tg_out(made);
}

static tg_value *otherwise_zero(const writer *w, tg_value *asked, tg_value *value) {
  return where(w, node(w, TG_OP_EQUAL, asked, asked, TG_BOOL), value, number(w, 0));
}

/* Towards zero, which is +0. */
static tg_value *truncated(const writer *w, tg_value *x) {
  tg_value *zero = number(w, 0),
           *floor = node(w, TG_OP_FLOOR, node(w, TG_OP_ABS, x, NULL, TG_F32), NULL, TG_F32);
  tg_value *negative = node(w, TG_OP_LESS, x, tg_graph_add_scalar(w->graph, "number", x->dtype, 0), TG_BOOL);
  return where(w, negative, binary(w, TG_OP_SUB, zero, floor), floor);
}

static tg_value *clipped(const writer *w, tg_value *x, tg_range range) {
  tg_node *clip = tg_graph_add_node(w->graph, TG_OP_CLIP, w->at->name, &x, 1, w->at, -1);
  tg_attr_set_float(clip, TG_ATTR_MIN, range.low);
  tg_attr_set_float(clip, TG_ATTR_MAX, range.high);
  tg_out(clip)->dtype = TG_F32;
  tg_rewrite_infer(w->graph, clip);
  clip->rule = w->at->rule;
  return tg_out(clip);
}

/* The number of the type that is equal modulo 2^bits. Each step is exact: the quotient is a shift, and the
 * result has no more bits than x or the type. */
static tg_value *wrapped(const writer *w, tg_value *x, tg_dtype dtype) {
  tg_range type = tg_range_of_dtype(dtype);
  double span = ldexp(1, tg_dtype_bits(dtype));
  tg_value *turns = binary(w, TG_OP_MUL, x, number(w, 1 / span));
  if (type.low < 0) turns = binary(w, TG_OP_ADD, turns, number(w, 0.5));
  turns = node(w, TG_OP_FLOOR, turns, NULL, TG_F32);
  return binary(w, TG_OP_SUB, x, binary(w, TG_OP_MUL, turns, number(w, span)));
}

/* NaN where an element is not what `range` allows: nothing that is computed of it is taken for an answer. */
static tg_value *guarded(const writer *w, tg_value *x, tg_range range) {
  tg_value *above = node(w, TG_OP_LESS_OR_EQUAL, number(w, range.low), x, TG_BOOL),
           *below = node(w, TG_OP_LESS_OR_EQUAL, x, number(w, range.high), TG_BOOL);
  tg_value *kept = where(w, node(w, TG_OP_AND, above, below, TG_BOOL), x, number(w, NAN));
  TG_PUSH(w->graph->arena, w->guards->values, w->guards->count, w->guards->capacity, kept);
  return kept;
}

/* What is no number is 0; types of up to 16 bits wrap as they do where processors convert by way of 32,
 * others end at their range. */
static tg_value *of_float(const writer *w, tg_value *x, tg_dtype dtype, tg_range range) {
  tg_value *y = truncated(w, x);
  if (tg_dtype_size(dtype) <= 2) {
    y = wrapped(w, y, dtype);
    y = otherwise_zero(w, y, y);
  } else {
    y = otherwise_zero(w, x, clipped(w, y, tg_range_of_dtype(dtype)));
  }
  return range.guarded ? guarded(w, y, range) : y;
}

static bool is_integer(const tg_value *value) { return value && tg_dtype_is_integer(value->dtype); }

/* A result that its type does not hold, in the type: modulo 2^bits where fp32 holds that. */
static tg_value *fitted(const writer *w, tg_value *x, tg_dtype dtype, tg_range range) {
  bool wraps = tg_range_of_dtype(dtype).low < 0 || tg_dtype_size(dtype) <= 2;
  return wraps ? wrapped(w, x, dtype) : guarded(w, x, range);
}

static void lower_cast(tg_graph *graph, const tg_integers *known, tg_guards *guards, tg_node *cast,
                       bool from_integer) {
  writer w = {graph, cast, guards};
  tg_value *x = tg_in(cast, 0), *y = tg_out(cast), *made = x;
  if (x->dtype == TG_BOOL) {
    tg_attr_set_int(cast, TG_ATTR_TO, TG_F32);
    y->dtype = TG_F32;
    return;
  }
  if (!from_integer)
    made = of_float(&w, x, y->dtype, known->ranges[y->index]);
  else if (known->wraps[y->index])
    made = fitted(&w, x, y->dtype, known->ranges[y->index]);
  if (made == x) {
    tg_value_replace(graph, y, x);
    tg_graph_remove_node(graph, cast);
    return;
  }
  made->producer->id = cast->id;
  tg_rewrite_replace(graph, cast, made);
}

/* Quotient towards zero, or what it leaves. The quotient of fp32, rounded, may be one too large or, where it is no whole number, one too small;
 * what is left of the dividend tells, exactly, since all are below 2^24. `wraps`: what the result is held to; NULL: it need not be. */
static void lower_division(tg_graph *graph, tg_guards *guards, tg_node *division, tg_dtype dtype,
                           const tg_range *wraps) {
  writer w = {graph, division, guards};
  tg_value *a = tg_in(division, 0), *b = tg_in(division, 1), *zero = number(&w, 0), *one = number(&w, 1);
  tg_value *n = node(&w, TG_OP_ABS, a, NULL, TG_F32), *d = node(&w, TG_OP_ABS, b, NULL, TG_F32);
  tg_value *q = node(&w, TG_OP_FLOOR, binary(&w, TG_OP_DIV, n, d), NULL, TG_F32);
  tg_value *left = binary(&w, TG_OP_SUB, n, binary(&w, TG_OP_MUL, q, d));
  tg_value *over = node(&w, TG_OP_LESS, left, zero, TG_BOOL),
           *under = node(&w, TG_OP_LESS_OR_EQUAL, d, left, TG_BOOL);
  tg_value *turn = node(&w, TG_OP_LESS, a, zero, TG_BOOL), *y;
  if (division->op == TG_OP_REMAINDER) {
    y = where(&w, over, binary(&w, TG_OP_ADD, left, d),
              where(&w, under, binary(&w, TG_OP_SUB, left, d), left));
  } else {
    y = where(&w, over, binary(&w, TG_OP_SUB, q, one), where(&w, under, binary(&w, TG_OP_ADD, q, one), q));
    turn = node(&w, TG_OP_XOR, turn, node(&w, TG_OP_LESS, b, zero, TG_BOOL), TG_BOOL);
  }
  q = where(&w, turn, binary(&w, TG_OP_SUB, zero, y), y);
  if (wraps) q = fitted(&w, q, dtype, *wraps);
  q->producer->id = division->id;
  tg_rewrite_replace(graph, division, q);
}

/* Whoever reads the result reads it in the type's range. */
static void fit_result(tg_graph *graph, tg_guards *guards, tg_node *from, tg_dtype dtype, tg_range range) {
  tg_value *y = tg_out(from);
  tg_node *reader = tg_graph_add_node(graph, TG_OP_IDENTITY, from->name, &y, 1, from->next, -1);
  writer w = {graph, reader, guards};
  tg_rewrite_infer(graph, reader);
  reader->rule = from->rule;
  tg_value_replace_except(graph, y, tg_out(reader), reader);
  tg_rewrite_replace(graph, reader, fitted(&w, y, dtype, range));
}

static void lower_node(tg_graph *graph, const tg_integers *known, const bool *from_integers,
                       tg_guards *guards, tg_node *from) {
  int index = tg_op_index_operand(from->op);
  for (int i = 0; i < from->input_count; i++)
    if (i != index && tg_is_constant(tg_in(from, i)) && is_integer(tg_in(from, i)))
      tg_node_set_input(from, i, tg_rewrite_numbers(graph, tg_in(from, i), TG_F32));
  tg_value *y = tg_out(from);
  if (!is_integer(y)) return;
  if (from->op == TG_OP_CAST) {
    lower_cast(graph, known, guards, from, from_integers[y->index]);
    return;
  }
  tg_dtype dtype = y->dtype;
  for (int i = 0; i < from->output_count; i++) from->outputs[i]->dtype = TG_F32;
  if (from->op == TG_OP_DIV || from->op == TG_OP_REMAINDER) {
    lower_division(graph, guards, from, dtype, known->wraps[y->index] ? &known->ranges[y->index] : NULL);
    return;
  }
  if (known->wraps[y->index]) fit_result(graph, guards, from, dtype, known->ranges[y->index]);
}

/* A node that decides by what may not be exact, and by which operand; or that operand, where the node does not stay. */
typedef struct decision {
  const tg_node *node;
  int operand;
  tg_value *value;
} decision;

static int find_decisions(const tg_graph *graph, const tg_integers *known, decision **out_decisions) {
  size_t count = 0, capacity = 0;
  *out_decisions = NULL;
  TG_FOR_NODES(graph, node)
  for (int i = 0; i < node->input_count; i++) {
    if (!tg_integers_decide(known, node, i)) continue;
    bool leaves = node->op == TG_OP_CAST && is_integer(tg_out(node));
    decision found = {node, i, leaves ? tg_in(node, i) : NULL};
    TG_PUSH(graph->arena, *out_decisions, count, capacity, found);
  }
  return (int)count;
}

static void show_decisions(tg_graph *graph, const tg_guards *guards, const decision *decisions, int count) {
  tg_value **values = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count + 1);
  for (int i = 0; i < count; i++)
    values[i] = decisions[i].value ? decisions[i].value : tg_in(decisions[i].node, decisions[i].operand);
  tg_integers_show(graph, guards, values, count);
}

/* Floats of integers that may not be exact are NaN then, which whoever reads the outputs takes for none. */
static void note_guarded_outputs(tg_graph *graph, const tg_integers *known, tg_guards *guards) {
  size_t count = (size_t)graph->output_count + 1;
  bool *floats = TG_NEW_ARRAY(graph->arena, bool, count);
  graph->guarded_outputs = TG_NEW_ARRAY(graph->arena, bool, count);
  for (int i = 0; i < graph->output_count; i++) {
    graph->guarded_outputs[i] = known->ranges[graph->outputs[i]->index].guarded;
    floats[i] = tg_dtype_is_float(graph->outputs[i]->dtype);
  }
  guards->floats = floats;
}

static void lower_inputs(tg_graph *graph, const tg_integers *known) {
  for (int i = 0; i < graph->input_count; i++) {
    tg_value *input = graph->inputs[i];
    if (!is_integer(input)) continue;
    input->limit = (int64_t)known->limits[input->index];
    if (!input->use_count) continue;
    tg_value *cast = tg_rewrite_cast(graph, input, TG_F32, graph->first);
    for (tg_use *use = input->uses, *next; use; use = next) {
      next = use->next;
      if (use->node != cast->producer) tg_node_set_input(use->node, use->input, cast);
    }
  }
}

/* The array carries constants of its own formats; others are known without it, exactly. */
static void keep_known_outputs(tg_graph *graph) {
  graph->known_outputs = TG_NEW_ARRAY(graph->arena, const tg_value *, (size_t)graph->output_count + 1);
  for (int i = 0; i < graph->output_count; i++) {
    const tg_value *value = graph->outputs[i];
    bool numbers = is_integer(value) || value->dtype == TG_BOOL || value->dtype == TG_F64 ||
                   tg_dtype_is_narrow(value->dtype);
    if (tg_is_constant(value) && !value->elided && numbers) graph->known_outputs[i] = value;
  }
  for (int i = 0; i < graph->output_count; i++)
    if (graph->known_outputs[i])
      tg_graph_set_output(graph, i, tg_rewrite_numbers(graph, graph->known_outputs[i], TG_F32));
}

tg_status tg_lower_integers(tg_graph *graph, tg_diag *diag) {
  tg_integers known;
  if (tg_integers_bound(graph, &known, diag)) return TG_INVALID;
  bool *from_integers = TG_NEW_ARRAY(graph->arena, bool, (size_t)graph->value_count + 1);
  TG_FOR_NODES(graph, from) from_integers[tg_out(from)->index] = is_integer(tg_in(from, 0));
  decision *decisions;
  int decided = find_decisions(graph, &known, &decisions);
  tg_guards guards = {0};
  note_guarded_outputs(graph, &known, &guards);
  keep_known_outputs(graph);
  lower_inputs(graph, &known);
  TG_FOR_NODES_SAFE(graph, from) lower_node(graph, &known, from_integers, &guards, from);
  show_decisions(graph, &guards, decisions, decided);
  return TG_OK;
}

void tg_pass_lower_integers(tg_graph *graph) {
  tg_diag diag = {""};
  tg_status status = tg_lower_integers(graph, &diag);
  assert(!status);
  (void)status;
}
