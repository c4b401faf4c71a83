/* Operators of the domain com.microsoft, as ONNX Runtime's optimizer fuses them. */
#include "frontend/decompose/compose.h"
#include "frontend/decompose/conv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tg_status check_floats(const tg_node *node, tg_diag *diag) {
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && !tg_dtype_is_float(x->dtype))
      return tg_fail(diag, TG_INVALID, "input %d has element type %s, which is not supported here", i,
                     tg_dtype_name(x->dtype));
  }
  return TG_OK;
}

tg_status tg_make_fused_matmul(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *w = tg_in(node, 1);
  double alpha = tg_attr_float(node, TG_ATTR_ALPHA);
  if (check_floats(node, diag)) return TG_INVALID;
  if (x->rank < 2 || w->rank < 2) return tg_fail(diag, TG_INVALID, "an operand is no matrix");
  if (tg_attr_int(node, TG_ATTR_TRANS_A)) x = tg_build_swap(b, x);
  if (tg_attr_int(node, TG_ATTR_TRANS_B)) w = tg_build_swap(b, w);
  tg_value *y = tg_build_matmul(b, x, w);
  results[0] = tg_build_cast(b, alpha == 1 ? y : times(b, y, alpha), tg_in(node, 0)->dtype);
  return TG_OK;
}

static tg_value *gelu(tg_build *b, tg_value *x, const char *approximate) {
  tg_node *node = tg_graph_add_node(b->graph, TG_OP_GELU, b->name, &x, 1, b->before, -1);
  tg_attr_set_text(b->graph, node, TG_ATTR_APPROXIMATE, approximate);
  return tg_build_finish(b, node);
}

tg_status tg_make_fused_gelu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *y;
  if (check_floats(node, diag)) return TG_INVALID;
  if (node->op == TG_OP_QUICK_GELU) {
    y = mul(b, x, tg_build_unary(b, TG_OP_SIGMOID, times(b, x, tg_attr_float(node, TG_ATTR_ALPHA))));
  } else {
    tg_value *sum = tg_in(node, 1) ? add(b, x, tg_in(node, 1)) : x;
    y = gelu(b, sum, node->op == TG_OP_FAST_GELU ? "tanh" : "none");
  }
  results[0] = tg_build_cast(b, y, x->dtype);
  return TG_OK;
}

/* Each of `rows` that there is has the size of the last dimension of x, which is not empty; `names`: what they are. */
static tg_status check_rows(const tg_value *x, tg_value *const *rows, int count, const char *names,
                            tg_diag *diag) {
  if (!x->rank || !tg_value_elements(x)) return tg_fail(diag, TG_INVALID, "its data is a scalar or empty");
  for (int i = 0; i < count; i++)
    if (rows[i] && (rows[i]->rank != 1 || rows[i]->dims[0].size != x->dims[x->rank - 1].size))
      return tg_fail(diag, TG_INVALID, "%s not have the size of the last dimension", names);
  return TG_OK;
}

tg_status tg_make_bias_add(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *bias = tg_in(node, 1), *skip = tg_in(node, 2);
  if (check_floats(node, diag) || check_rows(x, &bias, 1, "the bias does", diag)) return TG_INVALID;
  if (!tg_value_same_shape(x, skip)) return tg_fail(diag, TG_INVALID, "X and skip differ in shape");
  results[0] = tg_build_cast(b, add(b, add(b, x, bias), skip), x->dtype);
  return TG_OK;
}

tg_status tg_make_bias_split_gelu(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *bias = tg_in(node, 1);
  if (check_floats(node, diag) || check_rows(x, &bias, 1, "the bias does", diag)) return TG_INVALID;
  int last = x->rank - 1;
  int64_t size = x->dims[last].size;
  if (size % 2) return tg_fail(diag, TG_INVALID, "its last dimension has no halves: it is %" PRId64, size);
  tg_value *sum = add(b, x, bias);
  tg_value *left = tg_build_slice(b, sum, last, 0, size / 2, 1);
  tg_value *right = tg_build_slice(b, sum, last, size / 2, size, 1);
  results[0] = tg_build_cast(b, mul(b, left, gelu(b, right, "none")), x->dtype);
  return TG_OK;
}

/* The sum goes on in the type of the data, as where it is an operator of its own. */
tg_status tg_make_skip_normalization(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  bool simplified = node->op == TG_OP_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
  tg_value *x = tg_in(node, 0), *scale = tg_in(node, 2), *shift = simplified ? NULL : tg_in(node, 3),
           *bias = tg_in(node, simplified ? 3 : 4), *sum;
  tg_value *rows[] = {scale, shift, bias};
  if (check_floats(node, diag) || check_rows(x, rows, 3, "scale, shift and bias do", diag)) return TG_INVALID;
  sum = add(b, x, tg_in(node, 1));
  if (bias) sum = add(b, sum, bias);
  if (!b->failed && !tg_value_same_shape(sum, x)) return tg_fail(diag, TG_INVALID, "the skip does not fit");
  unsigned last = 1u << (x->rank - 1);
  tg_value *rest = sum;
  if (!simplified) {
    results[1] = tg_build_reduce(b, TG_OP_REDUCE_MEAN, sum, last);
    rest = sub(b, sum, results[1]);
  }
  tg_value *variance = tg_build_reduce(b, TG_OP_REDUCE_MEAN, mul(b, rest, rest), last);
  tg_value *root = tg_build_unary(b, TG_OP_SQRT, plus(b, variance, tg_attr_float(node, TG_ATTR_EPSILON)));
  results[2] = tg_build_unary(b, TG_OP_RECIPROCAL, root);
  tg_value *y = mul(b, mul(b, rest, results[2]), scale);
  results[0] = tg_build_cast(b, shift ? add(b, y, shift) : y, x->dtype);
  results[3] = tg_build_cast(b, sum, x->dtype);
  return TG_OK;
}

/* --- products with an activation --- */

/* Numbers of the attribute activation_alpha, separated by commas; -1: there are others than `wanted`. A function
 * without parameters ignores them, as ONNX Runtime does. */
static int read_numbers(const char *text, int wanted, double *out) {
  int count = 0;
  char *end;
  if (!wanted) return 0;
  for (; *text && count < wanted; text = *end == ',' ? end + 1 : end) {
    out[count] = strtod(text, &end);
    if (end == text) return -1;
    count++;
  }
  return *text || (count && count < wanted) ? -1 : count;
}

/* `function` of x, one of those that `onnx` fuses behind its products. */
static tg_status activated(tg_build *b, const tg_node *node, tg_value *x, tg_value **out, tg_diag *diag) {
  static const struct {
    const char *name;
    tg_op op;
    int parameters;
    tg_attr_key key[2];
  } functions[] = {{"Relu", TG_OP_RELU, 0, {0}},
                   {"Tanh", TG_OP_TANH, 0, {0}},
                   {"Sigmoid", TG_OP_SIGMOID, 0, {0}},
                   {"LeakyRelu", TG_OP_LEAKY_RELU, 1, {TG_ATTR_ALPHA}},
                   {"Clip", TG_OP_CLIP, 2, {TG_ATTR_MIN, TG_ATTR_MAX}},
                   {"HardSigmoid", TG_OP_HARD_SIGMOID, 2, {TG_ATTR_ALPHA, TG_ATTR_BETA}}};
  enum { FUNCTIONS = sizeof functions / sizeof *functions };
  const char *name = tg_attr_text(node, TG_ATTR_ACTIVATION);
  double numbers[2];
  int i = 0;
  *out = x;
  if (!*name) return TG_OK;
  while (i < FUNCTIONS && strcmp(name, functions[i].name)) i++;
  if (i == FUNCTIONS) return tg_fail(diag, TG_INVALID, "activation \"%s\" is not known", name);
  int given = read_numbers(tg_attr_text(node, TG_ATTR_ACTIVATION_ALPHA), functions[i].parameters, numbers);
  if (given < 0)
    return tg_fail(diag, TG_INVALID, "activation %s has %d parameters", name, functions[i].parameters);
  tg_node *made = tg_graph_add_node(b->graph, functions[i].op, b->name, &x, 1, b->before, -1);
  for (int k = 0; k < given; k++) tg_attr_set_float(made, functions[i].key[k], numbers[k]);
  *out = tg_build_finish(b, made);
  return TG_OK;
}

tg_status tg_make_fused_conv(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  tg_value *x = tg_in(node, 0), *z = tg_in(node, 3), *y[1] = {NULL};
  if (check_floats(node, diag)) return TG_INVALID;
  tg_value *operands[] = {x, tg_in(node, 1), tg_in(node, 2)};
  tg_node *conv = tg_build_conv_like(b, node, operands);
  if (tg_must_compose(conv)) {
    tg_status status = tg_make_conv(b, conv, y, diag);
    tg_graph_remove_node(b->graph, conv);
    if (status) return status;
  } else {
    y[0] = tg_build_finish(b, conv);
  }
  if (b->failed) return TG_OK;
  if (z && !tg_value_same_shape(z, y[0])) return tg_fail(diag, TG_INVALID, "what it adds does not fit");
  if (z) y[0] = add(b, y[0], z);
  tg_value *out;
  if (activated(b, node, y[0], &out, diag)) return TG_INVALID;
  results[0] = tg_build_cast(b, out, x->dtype);
  return TG_OK;
}

tg_status tg_make_fused_gemm(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  static const tg_attr_key numbers[] = {TG_ATTR_ALPHA, TG_ATTR_BETA},
                           flags[] = {TG_ATTR_TRANS_A, TG_ATTR_TRANS_B};
  tg_value *operands[] = {tg_in(node, 0), tg_in(node, 1), tg_in(node, 2)}, *out;
  if (check_floats(node, diag)) return TG_INVALID;
  tg_node *gemm =
      tg_graph_add_node(b->graph, TG_OP_GEMM, b->name, operands, operands[2] ? 3 : 2, b->before, -1);
  for (int i = 0; i < 2; i++) {
    tg_attr_set_float(gemm, numbers[i], tg_attr_float(node, numbers[i]));
    tg_attr_set_int(gemm, flags[i], tg_attr_int(node, flags[i]));
  }
  if (activated(b, node, tg_build_finish(b, gemm), &out, diag)) return TG_INVALID;
  results[0] = tg_build_cast(b, out, operands[0]->dtype);
  return TG_OK;
}
