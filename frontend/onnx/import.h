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
  tg_status (*import_node)(struct tg_import *, const Onnx__NodeProto *,
                           int64_t position); /* tg_import_node, for bodies */
  const Onnx__ModelProto *model;
  /* Of a body (subgraphs.c): the graph around it, and what the body reads of it, by inputs of the body behind its own. */
  struct tg_import *outer;
  tg_value **captured;
  size_t captured_count, captured_capacity;
  /* Of a function's nodes: the function, and the node that calls it. */
  const Onnx__FunctionProto *function;
  const Onnx__NodeProto *caller;
  int depth;     /* bodies and calls around */
  size_t *calls; /* of functions and bodies so far, in all of the model */
} tg_import;

/* Stands for an optional result that our operator does not have (a dropout's mask): it may be named, not
 * read. */
extern tg_value tg_import_absent;
/* Stands for an optional input of a function that its call leaves out. */
extern tg_value tg_import_none;

/* The value of this name, here or in the graphs around; NULL: there is none. */
tg_value *tg_import_find(tg_import *import, const char *name);
/* The graph is made of its elements: no other value can be given. */
void tg_import_settle(tg_value *value);
/* A result's name, which must be free. */
tg_status tg_import_define(tg_import *import, const char *name, tg_value *value);
/* The initializers of a graph. */
tg_status tg_import_constants(tg_import *import, const Onnx__GraphProto *proto);

/* If, Loop or Scan: a node with its bodies; what these read of the graphs around are its last operands. */
tg_status tg_import_bodies(tg_import *import, const Onnx__NodeProto *proto, tg_op op, tg_value *const *inputs,
                           int64_t position, tg_node **out_node);
/* The model's function that the node calls, or NULL; and its nodes in the place of the call. */
const Onnx__FunctionProto *tg_import_find_function(const tg_import *import, const Onnx__NodeProto *proto);
tg_status tg_import_call(tg_import *import, const Onnx__NodeProto *proto,
                         const Onnx__FunctionProto *function);
/* The node with the attributes of the call that it refers to. */
const Onnx__NodeProto *tg_import_resolve(tg_import *import, const Onnx__NodeProto *proto);

/* One node of the file: operator, inputs, attributes, results. position -1: of a function. */
tg_status tg_import_node(tg_import *import, const Onnx__NodeProto *proto, int64_t position);

/* Attributes of `proto` onto `node`; values that only other opsets know are checked against legacy.def. */
tg_status tg_import_attributes(tg_import *import, const Onnx__NodeProto *proto, tg_node *node);

/* What an operator meant before the form that ops.def describes: defaults, and inputs beyond ours. */
tg_status tg_import_adapt(tg_import *import, const Onnx__NodeProto *proto, tg_node *node);

/* The attribute of this name, or NULL. */
const Onnx__AttributeProto *tg_import_find_attribute(const Onnx__NodeProto *proto, const char *name);

#endif
