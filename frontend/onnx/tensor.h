/* TensorProto to constant. */
#ifndef TEGULA_FRONTEND_ONNX_TENSOR_H
#define TEGULA_FRONTEND_ONNX_TENSOR_H

#include "frontend/graph.h"

#include <onnx.pb-c.h>

/* Adds the tensor to the graph as a constant named `name`. Its elements may be those of the proto, which has to live as
 * long as the graph. `model_path` is where external data is looked for. TG_INVALID names the tensor. */
tg_status tg_onnx_tensor(tg_graph *graph, const Onnx__TensorProto *proto, const char *name,
                         const char *model_path, tg_value **out_value, tg_diag *diag);

/* Bytes that `count` elements take in a file: those of fewer than 8 bits are packed. */
size_t tg_onnx_bytes(tg_dtype dtype, size_t count);
/* Elements, a byte each or more, as a file has them: the first in the low bits. Into tg_onnx_bytes. */
void tg_onnx_pack(tg_dtype dtype, size_t count, const void *data, void *out);

#endif
