/* Shapes of recurrent layers, and what of them is supported. */
#include "frontend/decompose/decompose.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_STEPS = 4096 /* a step is a dozen nodes */ };

static tg_status check_shape(const tg_node *node, int input, int rank, const int64_t *sizes, const char *what,
                             tg_diag *diag) {
  const tg_value *x = tg_in(node, input);
  if (!x) return TG_OK;
  bool fits = x->rank == rank;
  for (int d = 0; fits && d < rank; d++) fits = x->dims[d].size == sizes[d];
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "%s does not fit the layer's sizes", what);
}

/* Every sequence must be as long as the tensor. */
static tg_status check_lengths(const tg_node *node, int64_t batch, int64_t steps, tg_diag *diag) {
  const tg_value *lengths = tg_in(node, 4);
  if (!lengths) return TG_OK;
  bool full = tg_is_constant(lengths) && lengths->rank == 1 && lengths->dims[0].size == batch;
  for (int64_t i = 0; full && i < batch; i++)
    full = tg_load_i64(lengths->data, lengths->dtype, (size_t)i) == steps;
  return full ? TG_OK
              : tg_fail(diag, TG_INVALID, "sequence_lens other than the full length are not supported");
}

static tg_status check_activations(const tg_node *node, int directions, tg_diag *diag) {
  static const char *const rnn[][2] = {{"Tanh", "Tanh,Tanh"}, {"Relu", "Relu,Relu"}};
  const char *text = tg_attr_text(node, TG_ATTR_ACTIVATIONS);
  bool good = !*text;
  if (node->op == TG_OP_GRU)
    good |= !strcmp(text, directions == 2 ? "Sigmoid,Tanh,Sigmoid,Tanh" : "Sigmoid,Tanh");
  if (node->op == TG_OP_LSTM)
    good |= !strcmp(text, directions == 2 ? "Sigmoid,Tanh,Tanh,Sigmoid,Tanh,Tanh" : "Sigmoid,Tanh,Tanh");
  for (int i = 0; node->op == TG_OP_RNN && i < 2; i++) good |= !strcmp(text, rnn[i][directions == 2]);
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
  if (hidden && hidden != h)
    return tg_fail(diag, TG_INVALID, "hidden_size is %" PRId64 ", not %" PRId64, hidden, h);
  int64_t ws[] = {d, gates * h, x->dims[2].size}, rs[] = {d, gates * h, h}, bs[] = {d, 2 * gates * h},
          state[] = {last ? batch : d, last ? d : batch, h};
  if (check_direction(node, (int)d, diag) || check_activations(node, (int)d, diag) ||
      check_size(steps, batch, gates * h, (int)d, diag) || check_lengths(node, batch, steps, diag) ||
      check_shape(node, 1, 3, ws, "W", diag) || check_shape(node, 2, 3, rs, "R", diag) ||
      check_shape(node, 3, 2, bs, "B", diag) || check_shape(node, 5, 3, state, "initial_h", diag))
    return TG_INVALID;
  if (tg_in(node, 7)) return tg_fail(diag, TG_INVALID, "peepholes are not supported");
  if (check_shape(node, 6, 3, state, "initial_c", diag)) return TG_INVALID;
  int64_t all[] = {last ? batch : steps, last ? steps : d, last ? d : batch, h};
  if (tg_infer_result_at(node, 0, x->dtype, 4, all, diag)) return TG_INVALID;
  for (int i = 1; i < node->output_count; i++)
    if (tg_infer_result_at(node, i, x->dtype, 3, state, diag)) return TG_INVALID;
  return TG_OK;
}
