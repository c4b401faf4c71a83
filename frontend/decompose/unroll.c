/* Recurrent layers as what they compute: one product of the inputs of all steps, then for each step the
 * product of the state and the gates (ONNX operators RNN, GRU, LSTM). Precision policies, gradients and the
 * array see only that.
 *
 * Neither of two directions waits for the other, and a step is bound by what it waits for: where their functions are the
 * same they are computed together, step i of the one beside step i of the other, which is time steps - 1 - i. All tensors
 * of a step, and what it multiplies by, then have a dimension more in front, of two directions. */
#include "frontend/build/build.h"
#include "frontend/decompose/decompose.h"

#include <string.h>

typedef struct layer {
  tg_graph *graph;
  tg_node *node;
  tg_build *build; /* what is made goes before the node */
  int64_t steps, batch, hidden;
  int gates, directions, direction;
  bool backwards;      /* this direction is from the last step to the first */
  bool together;       /* both directions at once: what follows has them as first dimension */
  int axis;            /* of a step's tensors, along which the gates are */
  tg_value *x;         /* [steps * batch, inputs]; for each direction its own order of steps */
  tg_value **inputs;   /* of each step [batch, gates * hidden]: the input's product and the biases */
  tg_value *weights;   /* R transposed [hidden, gates * hidden] */
  tg_value *bias;      /* GRU with linear_before_reset: that of the recurrent product [hidden]; or NULL */
  tg_value *peepholes; /* LSTM: of i, o, f [3 hidden]; or NULL */
  tg_value *lengths;   /* of the sequences [batch, 1]; NULL: all steps */
  tg_value *h, *c;     /* the state [batch, hidden]; NULL: zeros */
} layer;

/* ---- nodes ---- */

static tg_value *add(const layer *l, tg_op op, tg_value *a, tg_value *b) {
  tg_value *made = tg_build_op(l->build, op, (tg_value *[]){a, b}, b ? 2 : 1);
  if (op == TG_OP_MATMUL) made->producer->origin = l->node->origin;
  return made;
}

static tg_value *add_if(const layer *l, tg_op op, tg_value *a, tg_value *b) {
  return !a ? b : !b ? a : add(l, op, a, b);
}

/* Moves of the layer's name, not of their operand's. */
static tg_value *reshape(const layer *l, tg_value *x, int rank, const int64_t *sizes) {
  tg_node *node = tg_graph_add_node(l->graph, TG_OP_RESHAPE, l->build->name, &x, 1, l->node, -1);
  tg_attr_set_ints(l->graph, node, TG_ATTR_SHAPE, sizes, rank);
  return tg_build_finish(l->build, node);
}

static tg_value *transpose(const layer *l, tg_value *x, const int64_t *perm) {
  tg_node *node = tg_graph_add_node(l->graph, TG_OP_TRANSPOSE, l->build->name, &x, 1, l->node, -1);
  tg_attr_set_ints(l->graph, node, TG_ATTR_PERM, perm, x->rank);
  return tg_build_finish(l->build, node);
}

static tg_value *slice(const layer *l, tg_value *x, int axis, int64_t start, int64_t size) {
  if (!start && size == x->dims[axis].size) return x;
  return tg_build_slice(l->build, x, axis, start, start + size, 1);
}

/* Equal pieces along an axis. */
static tg_value **split(const layer *l, tg_value *x, int64_t axis, int count) {
  tg_value **pieces = TG_NEW_ARRAY(l->graph->arena, tg_value *, (size_t)count);
  pieces[0] = x;
  if (count == 1) return pieces;
  tg_node *node = tg_graph_add_node(l->graph, TG_OP_SPLIT, l->build->name, &x, 1, l->node, -1);
  tg_node_set_outputs(l->graph, node, count);
  tg_attr_set_int(node, TG_ATTR_AXIS, axis);
  tg_build_finish(l->build, node);
  memcpy(pieces, node->outputs, (size_t)count * sizeof(tg_value *));
  return pieces;
}

static tg_value *concat(const layer *l, tg_value *const *parts, int count, int axis) {
  return count == 1 ? parts[0] : tg_build_concat(l->build, parts, count, axis);
}

/* The other way round along an axis. */
static tg_value *reversed(const layer *l, tg_value *x, int axis) {
  int64_t size = x->dims[axis].size;
  return size == 1 ? x : tg_build_slice(l->build, x, axis, size - 1, -size - 1, -1);
}

/* ---- operands ---- */

/* Of a stack [directions, rows, columns] that of this direction, or all of it, transposed. */
static tg_value *weights_of(const layer *l, tg_value *stack) {
  int64_t sizes[] = {stack->dims[1].size, stack->dims[2].size};
  if (l->together) return transpose(l, stack, (int64_t[]){0, 2, 1});
  return transpose(l, reshape(l, slice(l, stack, 0, l->direction, 1), 2, sizes), (int64_t[]){1, 0});
}

/* Initial state [directions, batch, hidden], or with layout 1 [batch, directions, hidden]. */
static tg_value *state_of(const layer *l, tg_value *stack) {
  int64_t sizes[] = {l->batch, l->hidden};
  int axis = tg_attr_int(l->node, TG_ATTR_LAYOUT) ? 1 : 0;
  if (l->together && stack) return axis ? transpose(l, stack, (int64_t[]){1, 0, 2}) : stack;
  return stack ? reshape(l, slice(l, stack, axis, l->direction, 1), 2, sizes) : NULL;
}

/* Of a stack [directions, columns] that of this direction, or [2, 1, columns]. */
static tg_value *row_of(const layer *l, tg_value *stack) {
  int64_t columns = stack->dims[1].size;
  if (l->together) return reshape(l, stack, 3, (int64_t[]){2, 1, columns});
  return reshape(l, slice(l, stack, 0, l->direction, 1), 1, &columns);
}

/* Both biases of this direction added, but for the one that a GRU may need apart. */
static tg_value *bias_of(layer *l, tg_value *stack) {
  int64_t width = l->gates * l->hidden;
  l->bias = NULL;
  if (!stack) return NULL;
  tg_value *both = row_of(l, stack);
  int axis = both->rank - 1;
  tg_value *of_x = slice(l, both, axis, 0, width), *of_h = slice(l, both, axis, width, width);
  if (l->node->op != TG_OP_GRU || !tg_attr_int(l->node, TG_ATTR_LINEAR_BEFORE_RESET))
    return add(l, TG_OP_ADD, of_x, of_h);
  l->bias = slice(l, of_h, axis, 2 * l->hidden, l->hidden);
  tg_value *parts[] = {
      add(l, TG_OP_ADD, slice(l, of_x, axis, 0, 2 * l->hidden), slice(l, of_h, axis, 0, 2 * l->hidden)),
      slice(l, of_x, axis, 2 * l->hidden, l->hidden)};
  return concat(l, parts, 2, axis);
}

static void begin_direction(layer *l, int direction) {
  const tg_node *node = l->node;
  l->direction = direction;
  tg_value *product = add(l, TG_OP_MATMUL, l->x, weights_of(l, tg_in(node, 1)));
  l->inputs = split(l, add_if(l, TG_OP_ADD, product, bias_of(l, tg_in(node, 3))), l->axis - 1, (int)l->steps);
  l->weights = weights_of(l, tg_in(node, 2));
  l->h = state_of(l, tg_in(node, 5));
  l->c = node->op == TG_OP_LSTM ? state_of(l, tg_in(node, 6)) : NULL;
  l->peepholes = tg_in(node, 7) ? row_of(l, tg_in(node, 7)) : NULL;
}

/* ---- steps ---- */

/* Product of a state with columns [from, from + count) of R, in units of `hidden`. NULL of NULL. */
static tg_value *recur(const layer *l, tg_value *h, int from, int count) {
  return h ? add(l, TG_OP_MATMUL, h, slice(l, l->weights, l->axis, from * l->hidden, count * l->hidden))
           : NULL;
}

static tg_value *scaled(const layer *l, tg_op op, tg_value *x, double number) {
  return add(l, op, x, tg_graph_add_scalar(l->graph, "number", x->dtype, number));
}

static tg_value *function_of(const layer *l, int which, tg_value *x) {
  tg_recurrent f = tg_recurrent_function(l->node, l->direction, which);
  if (f.op == TG_OP_ADD) return scaled(l, TG_OP_ADD, scaled(l, TG_OP_MUL, x, f.alpha), f.beta);
  if (f.op == TG_OP_MUL)
    return scaled(l, TG_OP_MUL, add(l, TG_OP_TANH, scaled(l, TG_OP_MUL, x, f.beta), NULL), f.alpha);
  if (!f.has_alpha) return add(l, f.op, x, NULL);
  tg_node *node = tg_graph_add_node(l->graph, f.op, l->build->name, &x, 1, l->node, -1);
  tg_attr_set_float(node, TG_ATTR_ALPHA, f.alpha);
  if (f.op == TG_OP_HARD_SIGMOID) tg_attr_set_float(node, TG_ATTR_BETA, f.beta);
  return tg_build_finish(l->build, node);
}

/* The layer's function number `which` of a gate, which the attribute clip bounds where it is given. An LSTM's cell is
 * no gate: ONNX Runtime does not bound it. */
static tg_value *apply(const layer *l, int which, tg_value *x) {
  double clip = tg_attr_float(l->node, TG_ATTR_CLIP);
  if (clip > 0) x = tg_build_clip(l->build, x, -clip, clip);
  return function_of(l, which, x);
}

static void step_rnn(layer *l, tg_value *input) {
  l->h = apply(l, 0, add_if(l, TG_OP_ADD, recur(l, l->h, 0, 1), input));
}

/* A gate that sees the cell, by its own weights. */
static tg_value *peeking(const layer *l, tg_value *gate, int which, tg_value *cell) {
  if (!l->peepholes || !cell) return gate;
  tg_value *weights = slice(l, l->peepholes, l->peepholes->rank - 1, which * l->hidden, l->hidden);
  return add(l, TG_OP_ADD, gate, add(l, TG_OP_MUL, cell, weights));
}

/* What an LSTM's cell keeps of itself: by its gate, or, with input_forget, what the input's gate leaves. */
static tg_value *kept_cell(const layer *l, tg_value *gate, tg_value *into) {
  if (!l->c) return NULL;
  bool coupled = tg_attr_int(l->node, TG_ATTR_INPUT_FORGET) == 1;
  tg_value *keep = coupled ? add(l, TG_OP_SUB, tg_graph_add_scalar(l->graph, "one", into->dtype, 1), into)
                           : apply(l, 0, peeking(l, gate, 2, l->c));
  return add(l, TG_OP_MUL, keep, l->c);
}

/* Gates i o f c. */
static void step_lstm(layer *l, tg_value *input) {
  tg_value **gate = split(l, add_if(l, TG_OP_ADD, recur(l, l->h, 0, 4), input), l->axis, 4);
  tg_value *into = apply(l, 0, peeking(l, gate[0], 0, l->c));
  tg_value *fresh = add(l, TG_OP_MUL, into, apply(l, 1, gate[3]));
  l->c = add_if(l, TG_OP_ADD, kept_cell(l, gate[2], into), fresh);
  l->h = add(l, TG_OP_MUL, apply(l, 0, peeking(l, gate[1], 1, l->c)), function_of(l, 2, l->c));
}

/* Gates z r h; h' = h~ + z (h - h~). */
static void step_gru(layer *l, tg_value *input) {
  bool before = tg_attr_int(l->node, TG_ATTR_LINEAR_BEFORE_RESET) != 0;
  tg_value *in_gates = slice(l, input, l->axis, 0, 2 * l->hidden),
           *in_new = slice(l, input, l->axis, 2 * l->hidden, l->hidden);
  tg_value *both = apply(l, 0, add_if(l, TG_OP_ADD, recur(l, l->h, 0, 2), in_gates));
  tg_value **gate = split(l, both, l->axis, 2), *linear;
  if (before) {
    linear = add_if(l, TG_OP_ADD, recur(l, l->h, 2, 1), l->bias);
    linear = linear ? add(l, TG_OP_MUL, gate[1], linear) : NULL;
  } else {
    linear = recur(l, l->h ? add(l, TG_OP_MUL, gate[1], l->h) : NULL, 2, 1);
  }
  tg_value *fresh = apply(l, 1, add_if(l, TG_OP_ADD, linear, in_new));
  tg_value *change = l->h ? add(l, TG_OP_SUB, l->h, fresh) : add(l, TG_OP_NEG, fresh, NULL);
  l->h = add(l, TG_OP_ADD, fresh, add(l, TG_OP_MUL, gate[0], change));
}

static void step(layer *l, tg_value *input) {
  switch (l->node->op) {
  case TG_OP_LSTM: step_lstm(l, input); break;
  case TG_OP_GRU: step_gru(l, input); break;
  default: step_rnn(l, input);
  }
}

static tg_value *chosen(const layer *l, tg_value *condition, tg_value *x, tg_value *otherwise) {
  if (!x) return NULL;
  if (!otherwise) otherwise = tg_graph_add_scalar(l->graph, "zero", x->dtype, 0);
  return tg_build_where(l->build, condition, x, otherwise);
}

/* The time of step i, compared with lengths: of both directions [2, 1, 1]. */
static tg_value *time_of(const layer *l, int64_t i) {
  tg_value *times[2];
  for (int d = 0; d < 2; d++) {
    int64_t t = d || (!l->together && l->backwards) ? l->steps - 1 - i : i;
    times[d] = tg_graph_add_scalar(l->graph, "step", l->lengths->dtype, (double)t);
    if (!l->together) return times[d];
    times[d] = reshape(l, times[d], 3, (int64_t[]){1, 1, 1});
  }
  return concat(l, times, 2, 0);
}

/* Step i, and what it leaves in `out`: sequences that are over keep their state, and give zeros. */
static void step_within(layer *l, int64_t i, tg_value **out) {
  tg_value *h = l->h, *c = l->c;
  step(l, l->inputs[l->backwards ? l->steps - 1 - i : i]);
  *out = l->h;
  if (!l->lengths) return;
  tg_value *now = time_of(l, i);
  tg_value *lives = add(l, TG_OP_GREATER, l->lengths, now);
  *out = chosen(l, lives, l->h, NULL);
  l->h = chosen(l, lives, l->h, h);
  l->c = chosen(l, lives, l->c, c);
}

/* ---- results ---- */

/* States of all directions, [directions, batch, hidden] or [batch, directions, hidden]. */
static tg_value *join_states(const layer *l, tg_value *const *states) {
  bool last = tg_attr_int(l->node, TG_ATTR_LAYOUT) != 0;
  int64_t sizes[] = {last ? l->batch : 1, last ? 1 : l->batch, l->hidden};
  tg_value *parts[2];
  if (l->together) return last ? transpose(l, states[0], (int64_t[]){1, 0, 2}) : states[0];
  for (int d = 0; d < l->directions; d++) parts[d] = reshape(l, states[d], 3, sizes);
  return concat(l, parts, l->directions, last ? 1 : 0);
}

/* `all`: by direction and time, or steps of both directions. */
static tg_value *join_steps(const layer *l, tg_value *const *all) {
  int at_once = l->together ? 2 : 1;
  int64_t sizes[] = {l->steps, at_once, l->batch, l->hidden};
  tg_value *parts[2];
  for (int d = 0; d < l->directions; d += at_once)
    parts[d] = reshape(l, concat(l, all + d * l->steps, (int)l->steps, 0), 4, sizes);
  if (l->together) {
    parts[1] = reversed(l, slice(l, parts[0], 1, 1, 1), 0);
    parts[0] = slice(l, parts[0], 1, 0, 1);
  }
  tg_value *y = concat(l, parts, l->directions, 1);
  return tg_attr_int(l->node, TG_ATTR_LAYOUT) ? transpose(l, y, (int64_t[]){2, 0, 1, 3}) : y;
}

static void replace(tg_graph *graph, tg_value *from, tg_value *to) {
  const char *name = from->name;
  tg_value_replace(graph, from, to);
  if (to->kind != TG_VALUE_RESULT) return;
  tg_value_rename(graph, from, tg_arena_printf(graph->arena, "%s.old", name));
  tg_value_rename(graph, to, name);
}

static bool is_used(const tg_value *value) { return value->use_count || value->output_count; }

/* Are sequences, of these lengths, not known to have all steps? */
static bool are_shorter(const tg_value *lengths, int64_t steps) {
  if (!lengths || !tg_is_constant(lengths)) return lengths != NULL;
  for (int64_t i = 0; i < tg_value_elements(lengths); i++)
    if (tg_load_i64(lengths->data, lengths->dtype, (size_t)i) < steps) return true;
  return false;
}

static layer begin(tg_graph *graph, tg_node *node, tg_build *build) {
  tg_value *x = tg_in(node, 0);
  bool last = tg_attr_int(node, TG_ATTR_LAYOUT) != 0;
  layer l = {.graph = graph,
             .node = node,
             .build = build,
             .steps = x->dims[last].size,
             .batch = x->dims[!last].size,
             .hidden = tg_in(node, 2)->dims[2].size,
             .gates = node->op == TG_OP_LSTM  ? 4
                      : node->op == TG_OP_GRU ? 3
                                              : 1,
             .directions = (int)tg_in(node, 1)->dims[0].size};
  int64_t rows[] = {1, l.steps * l.batch, x->dims[2].size}, column[] = {l.batch, 1};
  l.together = l.directions == 2 && tg_recurrent_alike(node);
  l.axis = l.together ? 2 : 1;
  if (are_shorter(tg_in(node, 4), l.steps)) l.lengths = reshape(&l, tg_in(node, 4), 2, column);
  if (last) x = transpose(&l, x, (int64_t[]){1, 0, 2});
  if (l.together) {
    tg_value *both[] = {reshape(&l, x, 3, rows), reshape(&l, reversed(&l, x, 0), 3, rows)};
    l.x = concat(&l, both, 2, 0);
  } else {
    l.x = reshape(&l, x, 2, rows + 1);
  }
  return l;
}

void tg_unroll_recurrent(tg_graph *graph, tg_node *node) {
  tg_build build = {.graph = graph,
                    .before = node,
                    .name = node->name,
                    .forward = -1,
                    .keep_formats = node->disable_graphamp,
                    .as_operands = true};
  layer l = begin(graph, node, &build);
  bool reverse = !strcmp(tg_attr_text(node, TG_ATTR_DIRECTION), "reverse");
  tg_value **all = TG_NEW_ARRAY(graph->arena, tg_value *, (size_t)(l.directions * l.steps)), *h[2], *c[2];
  for (int d = 0; d < (l.together ? 1 : l.directions); d++) {
    l.backwards = reverse || d == 1;
    begin_direction(&l, d);
    for (int64_t i = 0; i < l.steps; i++)
      step_within(&l, i, &all[d * l.steps + (l.backwards ? l.steps - 1 - i : i)]);
    h[d] = l.h;
    c[d] = l.c;
  }
  if (is_used(node->outputs[0])) replace(graph, node->outputs[0], join_steps(&l, all));
  if (is_used(node->outputs[1])) replace(graph, node->outputs[1], join_states(&l, h));
  if (node->output_count > 2 && is_used(node->outputs[2]))
    replace(graph, node->outputs[2], join_states(&l, c));
  tg_graph_remove_node(graph, node);
}
