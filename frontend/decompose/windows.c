/* What signals are weighted with: windows and mel bands, constants. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>
#include <math.h>

static double element(tg_op op, double turn) {
  const double two_pi = 6.28318530717958647692;
  if (op == TG_OP_HANN_WINDOW) return 0.5 - 0.5 * cos(two_pi * turn);
  if (op == TG_OP_HAMMING_WINDOW) return 25.0 / 46 - 21.0 / 46 * cos(two_pi * turn);
  return 0.42 - 0.5 * cos(two_pi * turn) + 0.08 * cos(2 * two_pi * turn);
}

tg_status tg_make_window(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 1 << 20 };
  bool periodic = tg_attr_int(node, TG_ATTR_PERIODIC) != 0;
  int64_t size;
  tg_dtype dtype = tg_dtype_from_onnx(tg_attr_int(node, TG_ATTR_OUTPUT_DATATYPE));
  if (tg_compose_ints(tg_in(node, 0), 1, &size) != 1)
    return tg_fail(diag, TG_INVALID, "size is not constant");
  if (size < 1 || size > MOST || (!periodic && size < 2))
    return tg_fail(diag, TG_INVALID, "a window of %" PRId64 " is not supported", size);
  if (!tg_dtype_is_float(dtype))
    return tg_fail(diag, TG_INVALID, "output_datatype is no float that is supported");
  tg_value *window = tg_build_made(b, dtype, 1, &size);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; i < size; i++)
    tg_store_f32((void *)window->data, dtype, (size_t)i,
                 (float)element(node->op, (double)i / (double)(periodic ? size : size - 1)));
  results[0] = window;
  return TG_OK;
}

/* --- MelWeightMatrix --- */

/* Band `i` of the mel scale, as a number of the spectrum's bin. */
static int64_t mel_bin(int64_t i, int64_t bands, double low, double high, int64_t length, int64_t rate) {
  double low_mel = 2595 * log10(1 + low / 700), high_mel = 2595 * log10(1 + high / 700);
  double mel = (double)i * ((high_mel - low_mel) / (double)(bands + 2)) + low_mel;
  return (int64_t)floor((double)(length + 1) * (700 * (pow(10, mel / 2595) - 1)) / (double)rate);
}

/* Triangles between neighbouring bins: up from the lower one to the centre, down to the upper one. */
tg_status tg_make_mel_weights(tg_build *b, tg_node *node, tg_value **results, tg_diag *diag) {
  enum { MOST = 1 << 20 };
  int64_t whole[3]; /* num_mel_bins, dft_length, sample_rate */
  double edge[2];
  for (int i = 0; i < 3; i++)
    if (tg_compose_ints(tg_in(node, i), 1, &whole[i]) != 1 || whole[i] < 1 || whole[i] > MOST)
      return tg_fail(diag, TG_INVALID, "operand %d is no constant from 1 to %d", i, MOST);
  for (int i = 0; i < 2; i++) {
    const tg_value *x = tg_in(node, 3 + i);
    if (!tg_is_constant(x) || !tg_dtype_is_float(x->dtype) || tg_value_elements(x) != 1)
      return tg_fail(diag, TG_INVALID, "operand %d is no constant", 3 + i);
    edge[i] = (double)tg_load_f32(x->data, x->dtype, 0);
    if (!(edge[i] >= 0 && edge[i] <= 1e9)) return tg_fail(diag, TG_INVALID, "an edge of %g Hz", edge[i]);
  }
  int64_t bands = whole[0], bins = whole[1] / 2 + 1, sizes[] = {bins, bands};
  tg_dtype dtype = tg_dtype_from_onnx(tg_attr_int(node, TG_ATTR_OUTPUT_DATATYPE));
  if (!tg_dtype_is_float(dtype))
    return tg_fail(diag, TG_INVALID, "output_datatype is no float that is supported");
  if (bands > MOST / bins) return tg_fail(diag, TG_INVALID, "the matrix has more than %d elements", MOST);
  tg_value *made = tg_build_made(b, dtype, 2, sizes);
  if (b->failed) return TG_OK;
  for (int64_t i = 0; i < bands; i++) {
    int64_t at[3];
    for (int k = 0; k < 3; k++) at[k] = mel_bin(i + k, bands, edge[0], edge[1], whole[1], whole[2]);
    if (at[0] < 0 || at[0] > at[1] || at[1] > at[2] || at[1] >= bins || at[2] > bins)
      return tg_fail(diag, TG_INVALID, "band %" PRId64 " reaches beyond the spectrum's %" PRId64 " bins", i,
                     bins);
    for (int64_t j = at[0]; j < at[2] || j == at[1]; j++) {
      double up = at[1] > at[0] ? (double)(j - at[0]) / (double)(at[1] - at[0]) : 1,
             down = j < at[2] ? (double)(at[2] - j) / (double)(at[2] - at[1]) : 1;
      tg_store_f32((void *)made->data, dtype, (size_t)(j * bands + i), (float)(j < at[1] ? up : down));
    }
  }
  results[0] = made;
  return TG_OK;
}
