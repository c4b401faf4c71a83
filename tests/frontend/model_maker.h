/* Models that tests put together of protobuf's messages, legal or not. */
#ifndef TEGULA_TESTS_FRONTEND_MODEL_MAKER_H
#define TEGULA_TESTS_FRONTEND_MODEL_MAKER_H

#include "frontend/graph.h"

#include <onnx.pb-c.h>
#include <string.h>

/* One more message, or text, at the end of a message's list: ADD(arena, graph, node, node). */
#define ADD(arena, owner, list, item)                                                                        \
  do {                                                                                                       \
    void **grown = TG_NEW_ARRAY(arena, void *, (owner)->n_##list + 1);                                       \
    if ((owner)->n_##list) memcpy(grown, (owner)->list, (owner)->n_##list * sizeof *grown);                  \
    grown[(owner)->n_##list++] = (void *)(item);                                                             \
    (owner)->list = (void *)grown;                                                                           \
  } while (0)

/* A model of the opset, with an empty graph. */
Onnx__ModelProto *make_model(tg_arena *arena, int64_t opset);
/* Names are parted by spaces; "_" stands for "". */
Onnx__NodeProto *make_node(tg_arena *arena, const char *op, const char *inputs, const char *outputs);
/* FP32 of these sizes; rank -1: without a type. */
Onnx__ValueInfoProto *make_value(tg_arena *arena, const char *name, int rank, const int64_t *sizes);
/* A constant of raw data; `type` is ONNX's number. */
Onnx__TensorProto *make_tensor(tg_arena *arena, const char *name, int type, int rank, const int64_t *sizes,
                               const void *data, size_t bytes);
/* Without a value: to be filled in. */
Onnx__AttributeProto *make_attribute(tg_arena *arena, Onnx__NodeProto *node, const char *name,
                                     Onnx__AttributeProto__AttributeType type);
void add_opset(tg_arena *arena, Onnx__ModelProto *model, const char *domain, int64_t version);

/* A model of one node: an input of 2 x 3 for each name that it reads, once, and all that it computes as outputs. */
Onnx__ModelProto *model_of(tg_arena *arena, int64_t opset, Onnx__NodeProto *node);

/* The graph that the loader makes of it; NULL and a message where it refuses. */
tg_graph *read_model(tg_arena *arena, const Onnx__ModelProto *model, tg_diag *diag);
/* ... from a file of the test's folder, whose path that is. */
const char *write_model_file(tg_arena *arena, const Onnx__ModelProto *model, const char *name);

#endif
