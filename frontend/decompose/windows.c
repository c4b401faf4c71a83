/* Windows of signals: constants. */
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
  tg_value *window = tg_build_constant(b, dtype, 1, &size, NULL);
  for (int64_t i = 0; i < size; i++)
    tg_store_f32((void *)window->data, dtype, (size_t)i,
                 (float)element(node->op, (double)i / (double)(periodic ? size : size - 1)));
  results[0] = window;
  return TG_OK;
}
