/* TensorProto to constant. */
#ifndef TEGULA_FRONTEND_ONNX_TENSOR_H
#define TEGULA_FRONTEND_ONNX_TENSOR_H

#include "frontend/graph.h"

#include <onnx.pb-c.h>

/* Adds the tensor to the graph as a constant named `name`; its data is copied. `model_path` is where external
 * data is looked for. TG_INVALID names the tensor. */
tg_status tg_onnx_tensor(tg_graph *graph, const Onnx__TensorProto *proto, const char *name,
                         const char *model_path, tg_value **out_value, tg_diag *diag);

#endif
