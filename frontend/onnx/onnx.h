/* ONNX files in and out. */
#ifndef TEGULA_FRONTEND_ONNX_ONNX_H
#define TEGULA_FRONTEND_ONNX_ONNX_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `path` into a new graph on `arena`. Types of inputs, constants and declared outputs are known
 * afterwards, those of results wait for tg_graph_infer. Node ids are the positions of the nodes in the file.
 * TG_INVALID, one line naming the file and, where there is one, node and operator: the file cannot be read,
 * is no model, or asks for what is not supported. Memory and time are bounded by the file's size; nothing
 * outside the file's own folder is read, and there only regular files named as external data. */
tg_status tg_onnx_read(tg_arena *arena, const char *path, tg_graph **out_graph, tg_diag *diag);

/* The same of a model that lies in memory, which is read during the call only. `name` is what messages call
 * it. Data in other files are refused: there is no folder that they could lie in. */
tg_status tg_onnx_read_memory(tg_arena *arena, const char *name, const void *data, size_t size,
                              tg_graph **out_graph, tg_diag *diag);

/* Writes a graph that holds only ONNX operators and attributes as a model of opset 17 (20 with a Gelu),
 * beside `path` and then renamed: a partial file is never seen. bf16, f16, f64 and integer types are kept;
 * tf32 has no ONNX type. TG_INVALID: the graph has no ONNX form, or the file cannot be written. */
tg_status tg_onnx_write(const char *path, const tg_graph *graph, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
