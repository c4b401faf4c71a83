/* Parts of the ONNX export: a model file while it is put together. */
#ifndef TEGULA_FRONTEND_ONNX_EXPORT_PARTS_H
#define TEGULA_FRONTEND_ONNX_EXPORT_PARTS_H

#include "frontend/graph.h"
#include "frontend/names.h"

#include <onnx.pb-c.h>
#include <string.h>

enum {
  OPSET = 17,
  OPSET_WITH_AXES_OPERANDS = 18,
  OPSET_WITH_MISH = 18,
  OPSET_WITH_GELU = 20,
  IR = 8,
  IR_WITH_NODE_METADATA = 10
};

/* Messages live on a scratch arena; constants' data is pointed to, not copied. */
typedef struct tg_export {
  const tg_graph *graph;
  tg_arena *arena;
  const char **names; /* by value->index, as the file calls it */
  tg_name_set *taken;
  Onnx__GraphProto *proto;
  size_t node_capacity, initializer_capacity;
  bool has_node_metadata;
  tg_diag *diag;
} tg_export;

/* A new protobuf message. */
#define TG_MESSAGE(e, type, init) (*(type *)memcpy(TG_NEW((e)->arena, type), &(type)init, sizeof(type)))

/* TG_INVALID: the node has no form in ONNX, because of `why`. */
tg_status tg_export_refuse(tg_export *e, const tg_node *node, const char *why);
/* The first IR version from 8 on that has all that the model uses. */
int tg_export_ir(const tg_export *e);
/* The first opset from 17 on that has all of the graph's operators and element types. */
int tg_export_opset(const tg_export *e);
/* Adds a tensor to the graph; `data`, of `bytes` bytes, has to outlive it. */
tg_status tg_export_initializer(tg_export *e, const char *name, tg_dtype dtype, int rank, const tg_dim *dims,
                                const void *data, size_t bytes);
/* Adds an operand to a node; "": one that is left out. */
void tg_export_input(tg_export *e, Onnx__NodeProto *proto, const char *name);
/* A node's attributes, and operands that are attributes here. TG_INVALID: ONNX has no form for one. */
tg_status tg_export_attributes(tg_export *e, Onnx__NodeProto *proto, const tg_node *node);

#endif
