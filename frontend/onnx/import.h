/* State of one import, shared by the files that do it. */
#ifndef TEGULA_FRONTEND_ONNX_IMPORT_H
#define TEGULA_FRONTEND_ONNX_IMPORT_H

#include "frontend/graph.h"
#include "frontend/names.h"

#include <onnx.pb-c.h>

typedef struct tg_import {
  tg_graph *graph;
  int64_t opset;      /* of the default domain */
  const char *path;   /* of the model, for external data; NULL: it is no file */
  tg_name_set *names; /* the file's tensor names to values; tg_import_absent where we make no such result */
  tg_diag *diag;
} tg_import;

/* Stands for an optional result that our operator does not have (a dropout's mask): it may be named, not
 * read. */
extern tg_value tg_import_absent;

/* "node \"fc1\" (Gemm)", or by position when it has no name; on the graph's arena. */
const char *tg_import_where(const tg_import *import, const Onnx__NodeProto *proto, int64_t position);

/* One node of the file: operator, inputs, attributes, results. */
tg_status tg_import_node(tg_import *import, const Onnx__NodeProto *proto, int64_t position);

/* Attributes of `proto` onto `node`; values that only other opsets know are checked against legacy.def. */
tg_status tg_import_attributes(tg_import *import, const Onnx__NodeProto *proto, tg_node *node);

/* What an operator meant before the form that ops.def describes: defaults, and inputs beyond ours. */
tg_status tg_import_adapt(tg_import *import, const Onnx__NodeProto *proto, tg_node *node);

/* The attribute of this name, or NULL. */
const Onnx__AttributeProto *tg_import_find_attribute(const Onnx__NodeProto *proto, const char *name);

#endif
