/* Adam, Adagrad and Momentum of ai.onnx.preview.training as arithmetic on FP32. */
#include "frontend/decompose/decompose.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_STATES = 2 };

static int states_of(tg_op op) { return op == TG_OP_ADAM ? 2 : 1; }

static tg_status check_shapes(const tg_node *node, int count, tg_diag *diag) {
  for (int i = 0; i < 2; i++)
    if (tg_value_elements(tg_in(node, i)) != 1)
      return tg_fail(diag, TG_INVALID, "input %d is no single number", i);
  for (int i = 2; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, 2 + (i - 2) % count), *other = tg_in(node, i);
    if (other->dtype != TG_F32) return tg_fail(diag, TG_INVALID, "input %d is not FP32", i);
    if (!tg_value_same_shape(x, other))
      return tg_fail(diag, TG_INVALID, "input %d does not have the shape of the tensor that it belongs to",
                     i);
  }
  return TG_OK;
}

tg_status tg_infer_optimizer(tg_node *node, tg_diag *diag) {
  int states = states_of(node->op), count = (node->input_count - 2) / (2 + states);
  int64_t sizes[TG_MAX_RANK];
  if (count < 1 || node->input_count != 2 + count * (2 + states) ||
      node->output_count != count * (1 + states))
    return tg_fail(diag, TG_INVALID, "%d inputs and %d outputs do not go together", node->input_count,
                   node->output_count);
  if (check_shapes(node, count, diag)) return TG_INVALID;
  const char *mode = node->op == TG_OP_MOMENTUM ? tg_attr_text(node, TG_ATTR_MODE) : "standard";
  if (strcmp(mode, "standard") && strcmp(mode, "nesterov"))
    return tg_fail(diag, TG_INVALID, "mode \"%s\" is not known", mode);
  for (int i = 0; i < node->output_count; i++) {
    const tg_value *x = tg_in(node, 2 + i % count);
    tg_value_sizes(x, sizes);
    if (tg_infer_result_at(node, i, TG_F32, x->rank, sizes, diag)) return TG_INVALID;
  }
  return TG_OK;
}

/* --- what they are made of */

typedef struct update {
  tg_build *b;
  const tg_node *node;
  tg_value *rate, *step; /* FP32, one element each; the rate corrected */
  tg_value *x, *g, *state[MOST_STATES];
} update;

static tg_value *add(update *u, tg_value *x, tg_value *y) { return tg_build_binary(u->b, TG_OP_ADD, x, y); }
static tg_value *sub(update *u, tg_value *x, tg_value *y) { return tg_build_binary(u->b, TG_OP_SUB, x, y); }
static tg_value *mul(update *u, tg_value *x, tg_value *y) { return tg_build_binary(u->b, TG_OP_MUL, x, y); }
static tg_value *divide(update *u, tg_value *x, tg_value *y) {
  return tg_build_binary(u->b, TG_OP_DIV, x, y);
}
static tg_value *scaled(update *u, tg_value *x, double factor) {
  return tg_build_with(u->b, TG_OP_MUL, x, factor);
}
static double attribute(const update *u, tg_attr_key key) { return tg_attr_float(u->node, key); }

/* 1 - base^T for T > 0: of t = T log(base), -t (1 + t/2 (1 + t/3 ..)) where 1 - exp(t) would cancel. */
static tg_value *one_minus_power(update *u, double base) {
  enum { TERMS = 9 }; /* of 1/2 and less: the next is below 2^-26 of the sum */
  tg_build *b = u->b;
  if (base <= 0) return tg_build_number(b, 1);
  tg_value *t = scaled(u, u->step, log(base)), *sum = tg_build_number(b, 1);
  for (int n = TERMS; n > 1; n--) sum = tg_build_with(b, TG_OP_ADD, mul(u, scaled(u, t, 1.0 / n), sum), 1);
  tg_value *near = mul(u, tg_build_unary(b, TG_OP_NEG, t), sum);
  tg_value *far = tg_build_from(b, TG_OP_SUB, 1, tg_build_unary(b, TG_OP_EXP, t));
  return tg_build_where(b, tg_build_with(b, TG_OP_GREATER, t, -0.5), near, far);
}

static tg_value *after_first(update *u, tg_value *later, tg_value *first) {
  return tg_build_where(u->b, tg_build_with(u->b, TG_OP_GREATER, u->step, 0), later, first);
}

static void correct_rate(update *u) {
  if (u->node->op == TG_OP_ADAGRAD) {
    tg_value *decay =
        tg_build_with(u->b, TG_OP_ADD, scaled(u, u->step, attribute(u, TG_ATTR_DECAY_FACTOR)), 1);
    u->rate = divide(u, u->rate, decay);
  } else if (u->node->op == TG_OP_ADAM) {
    tg_value *root = tg_build_unary(u->b, TG_OP_SQRT, one_minus_power(u, attribute(u, TG_ATTR_BETA)));
    tg_value *rate = divide(u, mul(u, u->rate, root), one_minus_power(u, attribute(u, TG_ATTR_ALPHA)));
    u->rate = after_first(u, rate, u->rate);
  }
}

static tg_value *root_of(update *u, tg_value *squares) {
  return tg_build_with(u->b, TG_OP_ADD, tg_build_unary(u->b, TG_OP_SQRT, squares),
                       attribute(u, TG_ATTR_EPSILON));
}

static void adam(update *u) {
  double alpha = attribute(u, TG_ATTR_ALPHA), beta = attribute(u, TG_ATTR_BETA),
         shrink = attribute(u, TG_ATTR_NORM_COEFFICIENT_POST);
  u->state[0] = add(u, scaled(u, u->state[0], alpha), scaled(u, u->g, 1 - alpha));
  u->state[1] = add(u, scaled(u, u->state[1], beta), scaled(u, mul(u, u->g, u->g), 1 - beta));
  tg_value *x = sub(u, u->x, mul(u, u->rate, divide(u, u->state[0], root_of(u, u->state[1]))));
  u->x = shrink != 0 ? scaled(u, x, 1 - shrink) : x;
}

static void adagrad(update *u) {
  u->state[0] = add(u, u->state[0], mul(u, u->g, u->g));
  u->x = sub(u, u->x, divide(u, mul(u, u->rate, u->g), root_of(u, u->state[0])));
}

static void momentum(update *u) {
  double alpha = attribute(u, TG_ATTR_ALPHA), beta = attribute(u, TG_ATTR_BETA);
  tg_value *share = after_first(u, tg_build_number(u->b, beta), tg_build_number(u->b, 1));
  tg_value *v = u->state[0] = add(u, scaled(u, u->state[0], alpha), mul(u, share, u->g));
  bool nesterov = !strcmp(tg_attr_text(u->node, TG_ATTR_MODE), "nesterov");
  u->x = sub(u, u->x, mul(u, u->rate, nesterov ? add(u, u->g, scaled(u, v, alpha)) : v));
}

static void update_tensor(update *u, tg_graph *graph, int i, int count) {
  int states = states_of(u->node->op);
  double norm = attribute(u, TG_ATTR_NORM_COEFFICIENT);
  u->x = tg_in(u->node, 2 + i);
  u->g = tg_in(u->node, 2 + count + i);
  for (int k = 0; k < states; k++) u->state[k] = tg_in(u->node, 2 + (2 + k) * count + i);
  if (norm != 0) u->g = add(u, scaled(u, u->x, norm), u->g);
  if (u->node->op == TG_OP_ADAM)
    adam(u);
  else if (u->node->op == TG_OP_ADAGRAD)
    adagrad(u);
  else
    momentum(u);
  tg_build_result(graph, u->node->outputs[i], u->x);
  for (int k = 0; k < states; k++) tg_build_result(graph, u->node->outputs[(1 + k) * count + i], u->state[k]);
}

void tg_expand_optimizer(tg_graph *graph, tg_node *node) {
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_arena_printf(graph->arena, "%s.part", tg_out(node)->name),
                .forward = -1,
                .keep_formats = true};
  update u = {.b = &b, .node = node};
  int count = (node->input_count - 2) / (2 + states_of(node->op));
  u.rate = tg_build_reshape(&b, tg_build_cast(&b, tg_in(node, 0), TG_F32), 0, NULL);
  u.step = tg_build_reshape(&b, tg_build_cast(&b, tg_in(node, 1), TG_F32), 0, NULL);
  correct_rate(&u);
  for (int i = 0; i < count; i++) update_tensor(&u, graph, i, count);
  tg_graph_remove_node(graph, node);
}
