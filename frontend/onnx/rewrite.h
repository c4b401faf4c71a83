/* A model file with other values in some of its constants. */
#ifndef TEGULA_FRONTEND_ONNX_REWRITE_H
#define TEGULA_FRONTEND_ONNX_REWRITE_H

#include "frontend/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_onnx_values {
  const char
      *name; /* of an initializer, or of the result of a Constant node or of an initializer's Identity */
  const float *data; /* row-major */
  int64_t count;     /* elements */
} tg_onnx_values;

/* Writes the model of file `from` as `to`, beside it and then renamed, with new values where `values` names a
 * constant, rounded (RNE) to the constant's own type and stored in the file (an initializer takes the
 * Identity's place); all other constants that lie in files of their own are taken into it, and everything
 * else stays as it is. TG_INVALID, one line naming the file: a name is none of the model's constants, its
 * size differs, or a file cannot be read or written. */
tg_status tg_onnx_rewrite(const char *from, const char *to, const tg_onnx_values *values, size_t count,
                          tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
