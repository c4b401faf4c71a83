/* Shapes of recurrent layers, and what of them is supported. */
#include "frontend/decompose/decompose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_STEPS = 4096 /* a step is a dozen nodes */ };

static tg_status check_shape(const tg_node *node, int input, int rank, const int64_t *sizes, const char *what,
                             tg_diag *diag) {
  const tg_value *x = tg_in(node, input);
  if (!x) return TG_OK;
  bool fits = x->rank == rank;
  for (int d = 0; fits && d < rank; d++) fits = x->dims[d].size == sizes[d];
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "%s does not fit the layer's sizes", what);
}

/* Names of functions of one operand, and how many parameters they have, with their standard values. */
static const struct {
  const char *name;
  tg_op op; /* of both that have two, what is scaled */
  int parameters;
  double alpha, beta;
} functions[] = {{"Tanh", TG_OP_TANH, 0, 1, 0},
                 {"Relu", TG_OP_RELU, 0, 1, 0},
                 {"Sigmoid", TG_OP_SIGMOID, 0, 1, 0},
                 {"Softsign", TG_OP_SOFTSIGN, 0, 1, 0},
                 {"Softplus", TG_OP_SOFTPLUS, 0, 1, 0},
                 {"Affine", TG_OP_ADD, 2, 1, 0},
                 {"ScaledTanh", TG_OP_MUL, 2, 1, 1},
                 {"HardSigmoid", TG_OP_HARD_SIGMOID, 2, 0.2, 0.5},
                 {"Elu", TG_OP_ELU, 1, 1, 0},
                 {"LeakyRelu", TG_OP_LEAKY_RELU, 1, 0.01, 0},
                 {"ThresholdedRelu", TG_OP_THRESHOLDED_RELU, 1, 1, 0}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int functions_of(tg_op op) { return op == TG_OP_LSTM ? 3 : op == TG_OP_GRU ? 2 : 1; }

/* Entry `index` of a list with commas; NULL: it is shorter. */
static const char *entry(const char *list, int index) {
  for (int i = 0; list && i < index; i++) list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
  return list && *list ? list : NULL;
}

/* Row of a name in `functions`, or FUNCTIONS. */
static int row_of(const char *name) {
  size_t length = name ? strcspn(name, ",") : 0;
  for (int i = 0; i < FUNCTIONS; i++)
    if (length == strlen(functions[i].name) && !strncasecmp(name, functions[i].name, length)) return i;
  return FUNCTIONS;
}

static double number_or(const tg_node *node, tg_attr_key key, int index, double standard) {
  const char *text = entry(tg_attr_text(node, key), index);
  return text ? strtod(text, NULL) : standard;
}

tg_recurrent tg_recurrent_function(const tg_node *node, int direction, int which) {
  const char *names = tg_attr_text(node, TG_ATTR_ACTIVATIONS);
  int count = functions_of(node->op), at = direction * count + which, alphas = 0, betas = 0;
  if (!*names) return (tg_recurrent){which || count == 1 ? TG_OP_TANH : TG_OP_SIGMOID, false, 1, 0};
  int row = row_of(entry(names, at));
  if (row == FUNCTIONS) return (tg_recurrent){TG_OP_COUNT, false, 1, 0};
  for (int i = 0; i < at; i++) { /* what the functions before it take of the lists */
    int before = row_of(entry(names, i));
    alphas += before < FUNCTIONS && functions[before].parameters > 0;
    betas += before < FUNCTIONS && functions[before].parameters > 1;
  }
  int parameters = functions[row].parameters;
  return (tg_recurrent){
      functions[row].op, parameters > 0,
      parameters ? number_or(node, TG_ATTR_ACTIVATION_ALPHA, alphas, functions[row].alpha) : 1,
      parameters > 1 ? number_or(node, TG_ATTR_ACTIVATION_BETA, betas, functions[row].beta) : 0};
}

bool tg_recurrent_alike(const tg_node *node) {
  for (int i = 0; i < functions_of(node->op); i++) {
    tg_recurrent a = tg_recurrent_function(node, 0, i), b = tg_recurrent_function(node, 1, i);
    if (a.op != b.op || a.has_alpha != b.has_alpha || a.alpha != b.alpha || a.beta != b.beta) return false;
  }
  return true;
}

static tg_status check_activations(const tg_node *node, int directions, tg_diag *diag) {
  const char *text = tg_attr_text(node, TG_ATTR_ACTIVATIONS);
  int count = 1, wanted = directions * functions_of(node->op);
  for (const char *at = text; (at = strchr(at, ',')) != NULL; at++) count++;
  bool good = !*text || count == wanted;
  for (int i = 0; good && i < wanted; i++)
    good = tg_recurrent_function(node, 0, i).op != TG_OP_COUNT || !*text;
  return good ? TG_OK : tg_fail(diag, TG_INVALID, "activations \"%s\" are not supported", text);
}

static tg_status check_direction(const tg_node *node, int directions, tg_diag *diag) {
  const char *text = tg_attr_text(node, TG_ATTR_DIRECTION);
  bool known =
      !*text || !strcmp(text, "forward") || !strcmp(text, "reverse") || !strcmp(text, "bidirectional");
  if (!known) return tg_fail(diag, TG_INVALID, "direction \"%s\" is not known", text);
  if ((directions == 2) != !strcmp(text, "bidirectional") || directions < 1 || directions > 2)
    return tg_fail(diag, TG_INVALID, "weights of %d directions for direction \"%s\"", directions, text);
  return TG_OK;
}

/* Products of all steps are one tensor. */
static tg_status check_size(int64_t steps, int64_t batch, int64_t width, int directions, tg_diag *diag) {
  int64_t elements = width;
  if (steps < 1 || batch < 1 || width < 1) return tg_fail(diag, TG_INVALID, "a dimension is empty");
  if (steps * directions > MOST_STEPS || __builtin_mul_overflow(elements, steps, &elements) ||
      __builtin_mul_overflow(elements, batch, &elements) || elements > TG_MAX_ELEMENTS)
    return tg_fail(diag, TG_INVALID, "%" PRId64 " steps of a batch of %" PRId64 " are not supported", steps,
                   batch);
  return TG_OK;
}

/* Shapes of RNN, GRU and LSTM: with d directions, `gates` of hidden size h: X [steps, batch, input], W [d, gates h, input],
 * R [d, gates h, h], B [d, 2 gates h], states [d, batch, h], Y [steps, d, batch, h]; layout = 1 has batch first in
 * X, states and Y. Sizes are bounded before they are multiplied. */
tg_status tg_infer_recurrent(tg_node *node, tg_diag *diag) {
  const tg_value *x = tg_in(node, 0), *w = tg_in(node, 1), *r = tg_in(node, 2);
  bool last = tg_attr_int(node, TG_ATTR_LAYOUT) != 0; /* [batch, steps, ..] */
  int64_t gates = node->op == TG_OP_LSTM ? 4 : node->op == TG_OP_GRU ? 3 : 1;
  if (x->rank != 3 || w->rank != 3 || r->rank != 3)
    return tg_fail(diag, TG_INVALID, "X, W and R of ranks %d, %d, %d", x->rank, w->rank, r->rank);
  if (w->dims[0].size > 2 || r->dims[2].size > 1 << 24 || x->dims[0].size > 1 << 24 ||
      x->dims[1].size > 1 << 24)
    return tg_fail(diag, TG_INVALID, "sizes of X, W or R are not supported");
  int64_t d = w->dims[0].size, h = r->dims[2].size, steps = x->dims[last].size, batch = x->dims[!last].size;
  int64_t hidden = tg_attr_int(node, TG_ATTR_HIDDEN_SIZE);
  if (tg_attr_float(node, TG_ATTR_CLIP) < 0) return tg_fail(diag, TG_INVALID, "clip is negative");
  if (hidden && hidden != h)
    return tg_fail(diag, TG_INVALID, "hidden_size is %" PRId64 ", not %" PRId64, hidden, h);
  int64_t ws[] = {d, gates * h, x->dims[2].size}, rs[] = {d, gates * h, h}, bs[] = {d, 2 * gates * h},
          state[] = {last ? batch : d, last ? d : batch, h};
  if (check_direction(node, (int)d, diag) || check_activations(node, (int)d, diag) ||
      check_size(steps, batch, gates * h, (int)d, diag) ||
      check_shape(node, 4, 1, &batch, "sequence_lens", diag) || check_shape(node, 1, 3, ws, "W", diag) ||
      check_shape(node, 2, 3, rs, "R", diag) || check_shape(node, 3, 2, bs, "B", diag) ||
      check_shape(node, 5, 3, state, "initial_h", diag))
    return TG_INVALID;
  int64_t peepholes[] = {d, 3 * h};
  if (check_shape(node, 6, 3, state, "initial_c", diag) || check_shape(node, 7, 2, peepholes, "P", diag))
    return TG_INVALID;
  int64_t all[] = {last ? batch : steps, last ? steps : d, last ? d : batch, h};
  if (tg_infer_result_at(node, 0, x->dtype, 4, all, diag)) return TG_INVALID;
  for (int i = 1; i < node->output_count; i++)
    if (tg_infer_result_at(node, i, x->dtype, 3, state, diag)) return TG_INVALID;
  return TG_OK;
}
