/* If, Loop, Scan and SequenceMap: their bodies in their place, as often as is known when the model is compiled; a body of any other
 * operator. What is put there has no types yet; inference goes on with it. */
#include "frontend/decompose/decompose.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_STEPS = 1024, MOST_RESULTS = 1 << 22 };

/* How many of its operands or states an attribute says that a node has: -1, more than there can be. */
static int count_of(const tg_node *node, tg_attr_key key) {
  int64_t count = tg_attr_int(node, key);
  return count < 0 || count > MOST_RESULTS ? -1 : (int)count;
}

/* --- a body's nodes --- */

/* The values of a body in the graph, by their index in the body. Constants are kept from one step to the next. */
typedef struct body_copy {
  const tg_graph *body;
  tg_value **values;
} body_copy;

static body_copy begin(tg_graph *graph, const tg_graph *body) {
  return (body_copy){body, TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)body->value_count + 1)};
}

static tg_value *mapped(tg_graph *graph, body_copy *copy, const tg_value *value) {
  if (!value) return NULL;
  tg_value **slot = &copy->values[value->index];
  if (*slot || !tg_is_constant(value)) return *slot;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(value, sizes);
  *slot = tg_graph_add_constant(graph, value->name, value->dtype, value->rank, sizes, value->data, true);
  (*slot)->initializer = value->initializer;
  return *slot;
}

static void copy_node(tg_graph *graph, body_copy *copy, const tg_node *from, tg_node *before) {
  tg_value **inputs = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)from->input_count + 1);
  for (int i = 0; i < from->input_count; i++) inputs[i] = mapped(graph, copy, tg_in(from, i));
  tg_node *node = tg_graph_add_node(graph, from->op, from->name, inputs, from->input_count, before, -1);
  if (node->output_count != from->output_count) tg_node_set_outputs(graph, node, from->output_count);
  for (int i = 0; i < from->attr_count; i++) node->attrs[i] = from->attrs[i];
  node->disable_graphamp = from->disable_graphamp;
  node->origin = from->origin;
  node->casts = from->casts;
  memcpy(node->bodies, from->bodies, sizeof node->bodies);
  for (int i = 0; i < from->output_count; i++) {
    copy->values[from->outputs[i]->index] = node->outputs[i];
    tg_value_rename(graph, node->outputs[i], from->outputs[i]->name);
  }
}

/* inputs: those of the body; out_results: its outputs. */
static tg_status put(tg_graph *graph, body_copy *copy, tg_node *before, tg_value *const *inputs,
                     tg_value **out_results, tg_diag *diag) {
  if (graph->node_count + copy->body->node_count > TG_MOST_NODES)
    return tg_fail(diag, TG_INVALID, "unrolled, there would be more than %d nodes", TG_MOST_NODES);
  for (int i = 0; i < copy->body->input_count; i++) copy->values[copy->body->inputs[i]->index] = inputs[i];
  TG_FOR_NODES(copy->body, node) copy_node(graph, copy, node, before);
  for (int i = 0; i < copy->body->output_count; i++)
    out_results[i] = mapped(graph, copy, copy->body->outputs[i]);
  return TG_OK;
}

tg_status tg_put_body(tg_graph *graph, const tg_graph *body, tg_node *before, tg_value *const *inputs,
                      tg_value **out_results, tg_diag *diag) {
  body_copy copy = begin(graph, body);
  return put(graph, &copy, before, inputs, out_results, diag);
}

/* A number that is known: an integer or bool of one element. */
static bool is_known(const tg_value *value, int64_t *out) {
  bool counts = tg_is_constant(value) && (tg_dtype_is_integer(value->dtype) || value->dtype == TG_BOOL);
  if (!counts || tg_value_elements(value) != 1) return false;
  *out = tg_load_i64(value->data, value->dtype, 0);
  return true;
}

static tg_value *with_axis(tg_graph *graph, tg_op op, tg_value *x, int64_t axis, tg_node *before) {
  tg_node *node = tg_graph_add_node(graph, op, before->name, &x, 1, before, -1);
  tg_attr_set_ints(graph, node, TG_ATTR_AXES, &axis, 1);
  return tg_out(node);
}

/* Results of all steps along a new dimension `axis`. */
static tg_value *stacked(tg_graph *graph, tg_value *const *steps, int count, int64_t axis, bool reverse,
                         tg_node *before) {
  tg_value **parts = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count + 1);
  for (int i = 0; i < count; i++)
    parts[reverse ? count - 1 - i : i] = with_axis(graph, TG_OP_UNSQUEEZE, steps[i], axis, before);
  tg_node *concat = tg_graph_add_node(graph, TG_OP_CONCAT, before->name, parts, count, before, -1);
  tg_attr_set_int(concat, TG_ATTR_AXIS, axis);
  return tg_out(concat);
}

/* What no step stacks along a new dimension `axis`: a step's result, and nothing of it. */
static tg_value *stacked_none(tg_graph *graph, tg_value *result, int64_t axis, tg_node *before) {
  static const int64_t none = 0;
  tg_value *one = with_axis(graph, TG_OP_UNSQUEEZE, result, axis, before);
  tg_node *slice = tg_graph_add_node(graph, TG_OP_SLICE, before->name, &one, 1, before, -1);
  tg_attr_set_ints(graph, slice, TG_ATTR_STARTS, &none, 1);
  tg_attr_set_ints(graph, slice, TG_ATTR_ENDS, &none, 1);
  tg_attr_set_ints(graph, slice, TG_ATTR_AXES, &axis, 1);
  return tg_out(slice);
}

static tg_value **new_list(tg_graph *graph, int count) {
  return TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)count + 1);
}

/* --- If --- */

/* Both branches stand before it, their results are its operands: the first half those of then. */
static tg_status choose(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_value *condition = tg_in(node, 0);
  int count = (node->input_count - 1) / 2;
  if (condition->dtype != TG_BOOL || tg_value_elements(condition) != 1)
    return tg_fail(diag, TG_INVALID, "its condition is no single bool");
  if (condition->rank) {
    tg_node *squeeze = tg_graph_add_node(graph, TG_OP_SQUEEZE, node->name, &condition, 1, node, -1);
    condition = tg_out(squeeze);
  }
  for (int i = 0; i < node->output_count; i++) {
    tg_value *x = tg_in(node, 1 + i), *y = tg_in(node, 1 + count + i);
    if (!x->dtype || x->dtype != y->dtype || !tg_value_same_shape(x, y))
      return tg_fail(
          diag, TG_INVALID,
          "its condition is not constant, and its branches give %s and %s: one type and shape are needed",
          tg_value_type_text(x, graph->arena), tg_value_type_text(y, graph->arena));
    tg_value *operands[] = {condition, x, y};
    tg_node *where = tg_graph_add_node(graph, TG_OP_WHERE, node->name, operands, 3, node, -1);
    tg_build_result(graph, node->outputs[i], tg_out(where));
  }
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

static tg_status put_branch(tg_graph *graph, tg_node *node, int branch, tg_value **out_results,
                            tg_diag *diag) {
  const tg_graph *body = node->bodies[branch];
  int first = 1 + (branch ? node->bodies[0]->input_count : 0);
  tg_value **inputs = new_list(graph, body->input_count);
  for (int i = 0; i < body->input_count; i++) inputs[i] = tg_in(node, first + i);
  body_copy copy = begin(graph, body);
  if (body->output_count != node->output_count)
    return tg_fail(diag, TG_INVALID, "a branch has %d outputs for %d", body->output_count,
                   node->output_count);
  return put(graph, &copy, node, inputs, out_results, diag);
}

static tg_status expand_if(tg_graph *graph, tg_node *node, tg_diag *diag) {
  int64_t condition;
  int count = node->output_count;
  if (!node->bodies[0]) return choose(graph, node, diag);
  tg_value **operands = new_list(graph, 2 * count + 1);
  if (is_known(tg_in(node, 0), &condition)) {
    if (put_branch(graph, node, !condition, operands, diag)) return TG_INVALID;
    for (int i = 0; i < count; i++) tg_build_result(graph, node->outputs[i], operands[i]);
    tg_graph_remove_node(graph, node);
    return TG_OK;
  }
  operands[0] = tg_in(node, 0);
  for (int branch = 0; branch < 2; branch++)
    if (put_branch(graph, node, branch, operands + 1 + branch * count, diag)) return TG_INVALID;
  tg_node *later = tg_graph_add_node(graph, TG_OP_IF, node->name, operands, 1 + 2 * count, node, -1);
  tg_node_set_outputs(graph, later, count);
  for (int i = 0; i < count; i++) tg_build_result(graph, node->outputs[i], later->outputs[i]);
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

/* --- Loop: one step, and itself behind it --- */

/* Operands: count, condition, states, what the body reads besides, results of the steps so far, `scans` each. */
typedef struct loop {
  int states, captured, scans;
  int64_t step;
} loop;

/* What steps would stack where there is none: one step's results, and nothing of them. */
static tg_status stack_nothing(tg_graph *graph, tg_node *node, const loop *l, tg_diag *diag) {
  const tg_graph *body = node->bodies[0];
  tg_value **inputs = new_list(graph, body->input_count), **results = new_list(graph, body->output_count);
  inputs[0] = tg_graph_add_scalar(graph, "step", TG_I64, 0);
  inputs[1] = tg_graph_add_scalar(graph, "condition", TG_BOOL, 1);
  for (int i = 2; i < body->input_count; i++) inputs[i] = tg_in(node, i);
  body_copy copy = begin(graph, body);
  if (put(graph, &copy, node, inputs, results, diag)) return TG_INVALID;
  for (int i = l->states; i < node->output_count; i++) {
    if (!(node->outputs[i]->use_count || node->outputs[i]->output_count)) continue;
    tg_build_result(graph, node->outputs[i], stacked_none(graph, results[1 + i], 0, node));
  }
  return TG_OK;
}

static tg_status finish_loop(tg_graph *graph, tg_node *node, const loop *l, tg_diag *diag) {
  int first = 2 + l->states + l->captured;
  tg_value **steps = new_list(graph, (int)l->step);
  bool stacks = false;
  for (int i = l->states; i < node->output_count; i++)
    stacks |= node->outputs[i]->use_count || node->outputs[i]->output_count;
  if (!l->step && stacks && stack_nothing(graph, node, l, diag)) return TG_INVALID;
  for (int i = 0; i < node->output_count; i++) {
    tg_value *old = node->outputs[i], *result = i < l->states ? tg_in(node, 2 + i) : NULL;
    bool used = old->use_count || old->output_count;
    if (!used) continue;
    for (int64_t s = 0; !result && s < l->step; s++)
      steps[s] = tg_in(node, first + (int)s * l->scans + i - l->states);
    tg_build_result(graph, old, result ? result : stacked(graph, steps, (int)l->step, 0, false, node));
  }
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

static tg_status step_loop(tg_graph *graph, tg_node *node, const loop *l, tg_diag *diag) {
  const tg_graph *body = node->bodies[0];
  int kept = 2 + l->states + l->captured, collected = (int)l->step * l->scans;
  if ((l->step + 1) * collected > MOST_RESULTS) /* each step carries those of all before it */
    return tg_fail(diag, TG_INVALID, "%" PRId64 " steps of %d results each are too many to unroll", l->step,
                   l->scans);
  tg_value **inputs = new_list(graph, body->input_count), **results = new_list(graph, body->output_count),
           **operands = new_list(graph, kept + collected + l->scans);
  inputs[0] = tg_graph_add_scalar(graph, "step", TG_I64, (double)l->step);
  inputs[1] = tg_in(node, 1) ? tg_in(node, 1) : tg_graph_add_scalar(graph, "condition", TG_BOOL, 1);
  for (int i = 2; i < body->input_count; i++) inputs[i] = tg_in(node, i);
  body_copy copy = begin(graph, body);
  if (put(graph, &copy, node, inputs, results, diag)) return TG_INVALID;
  operands[0] = tg_in(node, 0);
  for (int i = 0; i <= l->states; i++) operands[1 + i] = results[i];
  for (int i = 2 + l->states; i < kept + collected; i++) operands[i] = tg_in(node, i);
  for (int i = 0; i < l->scans; i++) operands[kept + collected + i] = results[1 + l->states + i];
  tg_node *next =
      tg_graph_add_node(graph, TG_OP_LOOP, node->name, operands, kept + collected + l->scans, node, -1);
  tg_node_set_outputs(graph, next, node->output_count);
  next->bodies[0] = node->bodies[0];
  tg_attr_set_int(next, TG_ATTR_STATES, l->states);
  tg_attr_set_int(next, TG_ATTR_STEP, l->step + 1);
  for (int i = 0; i < node->output_count; i++) tg_build_result(graph, node->outputs[i], next->outputs[i]);
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

static tg_status expand_loop(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_graph *body = node->bodies[0];
  loop l = {.states = count_of(node, TG_ATTR_STATES), .step = tg_attr_int(node, TG_ATTR_STEP)};
  int64_t most = INT64_MAX, condition = 1;
  l.captured = body->input_count - 2 - l.states;
  l.scans = body->output_count - 1 - l.states;
  if (l.states < 0 || l.captured < 0 || l.scans < 0 || node->output_count > l.states + l.scans)
    return tg_fail(diag, TG_INVALID, "its body does not fit its %d states and %d outputs", l.states,
                   node->output_count);
  if (tg_in(node, 0) && !is_known(tg_in(node, 0), &most))
    return tg_fail(diag, TG_INVALID, "how often it runs is not constant");
  if (tg_in(node, 1) && !is_known(tg_in(node, 1), &condition) && l.step < most)
    return tg_fail(diag, TG_INVALID,
                   "its condition is not known in step %" PRId64 " when the model is compiled", l.step);
  if (l.step >= most || !condition) return finish_loop(graph, node, &l, diag);
  if (l.step >= MOST_STEPS) return tg_fail(diag, TG_INVALID, "more than %d steps", MOST_STEPS);
  return step_loop(graph, node, &l, diag);
}

/* --- Scan --- */

typedef struct scan {
  int states, scanned, captured, scans, first; /* first: the operand that is its first state */
  bool batched; /* as before opset 9: dimension 0 of all is a batch, which must be 1 */
  int64_t steps;
} scan;

static int64_t nth(const tg_node *node, tg_attr_key key, int i) {
  int count;
  const int64_t *list = tg_attr_ints(node, key, &count);
  return i < count ? list[i] : 0;
}

static tg_status measure_scan(tg_node *node, scan *s, tg_diag *diag) {
  const tg_graph *body = node->bodies[0];
  s->batched = tg_attr_int(node, TG_ATTR_BATCHED) != 0;
  s->first = s->batched;
  s->scanned = count_of(node, TG_ATTR_NUM_SCAN_INPUTS);
  s->captured = count_of(node, TG_ATTR_CAPTURED);
  s->states = node->input_count - s->first - s->captured - s->scanned;
  s->scans = body->output_count - s->states;
  if (s->scanned < 1 || s->captured < 0 || s->states < 0 || s->scans < 0 ||
      node->output_count > body->output_count || body->input_count != s->states + s->scanned + s->captured)
    return tg_fail(diag, TG_INVALID, "its body does not fit its operands");
  if (s->batched && tg_in(node, 0)) return tg_fail(diag, TG_INVALID, "sequence_lens are not supported");
  for (int i = 0; i < s->states + s->scanned; i++)
    if (s->batched && (!tg_in(node, 1 + i)->rank || tg_in(node, 1 + i)->dims[0].size != 1))
      return tg_fail(diag, TG_INVALID, "a batch other than 1 is not supported");
  for (int i = 0; i < s->scanned; i++) {
    const tg_value *x = tg_in(node, s->first + s->states + i);
    int64_t axis = s->batched ? 1 : nth(node, TG_ATTR_SCAN_INPUT_AXES, i);
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank)
      return tg_fail(diag, TG_INVALID, "input %d has no dimension %" PRId64, i, axis);
    if (i && x->dims[axis].size != s->steps) return tg_fail(diag, TG_INVALID, "its inputs differ in length");
    s->steps = x->dims[axis].size;
  }
  if (s->steps > MOST_STEPS)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " steps are not supported, %d at most are", s->steps,
                   MOST_STEPS);
  return TG_OK;
}

/* An element of zeros for an input that has none. */
static tg_value *made_up(tg_graph *graph, tg_node *node, const tg_value *x, int64_t axis, bool batched) {
  int64_t sizes[TG_MAX_RANK], count = 0;
  for (int d = batched; d < x->rank; d++)
    if (d != axis) sizes[count++] = x->dims[d].size;
  tg_value *operands[] = {tg_graph_add_scalar(graph, "zero", x->dtype, 0),
                          tg_graph_add_constant(graph, "sizes", TG_I64, 1, &count, sizes, false)};
  return tg_out(tg_graph_add_node(graph, TG_OP_EXPAND, node->name, operands, 2, node, -1));
}

/* Element `at` of the scanned input `i`. */
static tg_value *scanned(tg_graph *graph, tg_node *node, const scan *s, int i, int64_t at) {
  tg_value *x = tg_in(node, s->first + s->states + i);
  int64_t axis = s->batched ? 1 : nth(node, TG_ATTR_SCAN_INPUT_AXES, i), end = at + 1;
  if (axis < 0) axis += x->rank;
  if (!s->steps) return made_up(graph, node, x, axis, s->batched);
  tg_node *slice = tg_graph_add_node(graph, TG_OP_SLICE, node->name, &x, 1, node, -1);
  tg_attr_set_ints(graph, slice, TG_ATTR_STARTS, &at, 1);
  tg_attr_set_ints(graph, slice, TG_ATTR_ENDS, &end, 1);
  tg_attr_set_ints(graph, slice, TG_ATTR_AXES, &axis, 1);
  tg_value *one = with_axis(graph, TG_OP_SQUEEZE, tg_out(slice), axis, node);
  return s->batched ? with_axis(graph, TG_OP_SQUEEZE, one, 0, node) : one;
}

/* What the steps give of the body's result `k` behind the states. */
static tg_value *all_steps(tg_graph *graph, tg_node *node, const scan *s, int k, tg_value *const *collected) {
  int64_t axis = s->batched ? 0 : nth(node, TG_ATTR_SCAN_OUTPUT_AXES, k);
  bool reverse = !s->batched && nth(node, TG_ATTR_SCAN_OUTPUT_DIRECTIONS, k);
  if (!s->steps) return stacked_none(graph, collected[k], axis, node);
  tg_value **steps = new_list(graph, (int)s->steps);
  for (int64_t t = 0; t < s->steps; t++) steps[t] = collected[t * s->scans + k];
  return stacked(graph, steps, (int)s->steps, axis, reverse, node);
}

static void finish_scan(tg_graph *graph, tg_node *node, const scan *s, tg_value *const *states,
                        tg_value *const *collected) {
  for (int i = 0; i < node->output_count; i++) {
    tg_value *result = i < s->states ? states[i] : all_steps(graph, node, s, i - s->states, collected);
    if (s->batched) result = with_axis(graph, TG_OP_UNSQUEEZE, result, 0, node);
    tg_build_result(graph, node->outputs[i], result);
  }
  tg_graph_remove_node(graph, node);
}

static tg_status expand_scan(tg_graph *graph, tg_node *node, tg_diag *diag) {
  scan s = {0};
  if (measure_scan(node, &s, diag)) return TG_INVALID;
  const tg_graph *body = node->bodies[0];
  tg_value **states = new_list(graph, s.states), **inputs = new_list(graph, body->input_count),
           **results = new_list(graph, body->output_count),
           **collected = new_list(graph, ((int)s.steps + !s.steps) * s.scans);
  body_copy copy = begin(graph, body);
  for (int i = 0; i < s.states; i++) {
    states[i] = tg_in(node, s.first + i);
    if (s.batched) states[i] = with_axis(graph, TG_OP_SQUEEZE, states[i], 0, node);
  }
  for (int64_t t = 0; t < s.steps || !t; t++) { /* without steps one for the shapes of what it collects */
    for (int i = 0; i < s.states; i++) inputs[i] = states[i];
    for (int i = 0; i < s.scanned; i++) {
      bool back = nth(node, s.batched ? TG_ATTR_DIRECTIONS : TG_ATTR_SCAN_INPUT_DIRECTIONS, i) != 0;
      inputs[s.states + i] = scanned(graph, node, &s, i, back ? s.steps - 1 - t : t);
    }
    for (int i = 0; i < s.captured; i++)
      inputs[s.states + s.scanned + i] = tg_in(node, s.first + s.states + s.scanned + i);
    if (put(graph, &copy, node, inputs, results, diag)) return TG_INVALID;
    for (int i = 0; i < s.states && s.steps; i++) states[i] = results[i];
    for (int i = 0; i < s.scans; i++) collected[t * s.scans + i] = results[s.states + i];
  }
  finish_scan(graph, node, &s, states, collected);
  return TG_OK;
}

/* --- SequenceMap --- */

/* The body of each element of operand 0, of the same one of other sequences, and of tensors; what it gives are sequences. */
static tg_status expand_map(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const tg_graph *body = node->bodies[0];
  int captured = count_of(node, TG_ATTR_CAPTURED), own = node->input_count - captured,
      results = body->output_count;
  if (!tg_is_sequence(tg_in(node, 0)))
    return tg_fail(diag, TG_INVALID, "input 0 is no sequence whose elements are known");
  int count = tg_in(node, 0)->producer->input_count;
  if (captured < 0 || body->input_count != node->input_count || node->output_count != results)
    return tg_fail(diag, TG_INVALID, "its body does not fit its operands");
  for (int i = 1; i < own; i++)
    if (tg_is_sequence(tg_in(node, i)) && tg_in(node, i)->producer->input_count != count)
      return tg_fail(diag, TG_INVALID, "sequences of %d and %d elements", count,
                     tg_in(node, i)->producer->input_count);
  if (tg_check_sequence_room(graph, results, count * results, diag)) return TG_INVALID;
  tg_value **inputs = new_list(graph, body->input_count), **made = new_list(graph, results),
           **elements = new_list(graph, count * results);
  body_copy copy = begin(graph, body);
  for (int e = 0; e < count; e++) {
    for (int i = 0; i < body->input_count; i++) {
      tg_value *x = tg_in(node, i);
      inputs[i] = i < own && tg_is_sequence(x) ? tg_in(x->producer, e) : x;
    }
    if (put(graph, &copy, node, inputs, made, diag)) return TG_INVALID;
    for (int k = 0; k < results; k++) elements[k * count + e] = made[k];
  }
  for (int k = 0; k < results; k++) {
    tg_node *list =
        tg_graph_add_node(graph, TG_OP_SEQUENCE_CONSTRUCT, node->name, elements + k * count, count, node, -1);
    tg_build_result(graph, node->outputs[k], tg_out(list));
  }
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

/* A body, but for an If of known branches, and operands, but for a Loop's first two and the lengths of an early Scan. */
static tg_status check_operands(const tg_node *node, tg_diag *diag) {
  bool lengths = node->op == TG_OP_SCAN && tg_attr_int(node, TG_ATTR_BATCHED);
  int first = node->op == TG_OP_LOOP ? 2 : lengths, end = node->op == TG_OP_IF ? 1 : node->input_count;
  if (!node->bodies[0] && node->op != TG_OP_IF) return tg_fail(diag, TG_INVALID, "its body is missing");
  for (int i = first; i < end; i++)
    if (!tg_in(node, i)) return tg_fail(diag, TG_INVALID, "input %d is missing", i);
  return TG_OK;
}

tg_status tg_expand_control(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const char *where = tg_infer_where(graph, node);
  tg_status status = check_operands(node, diag)       ? TG_INVALID
                     : node->op == TG_OP_IF           ? expand_if(graph, node, diag)
                     : node->op == TG_OP_LOOP         ? expand_loop(graph, node, diag)
                     : node->op == TG_OP_SEQUENCE_MAP ? expand_map(graph, node, diag)
                                                      : expand_scan(graph, node, diag);
  if (status) tg_diag_prefix(diag, "%s", where);
  return status;
}
