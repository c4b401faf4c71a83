/* ONNX in and out: round trips, external data, older opsets, refusals by name. */
#include "frontend/builder.h"
#include "frontend/infer.h"
#include "frontend/onnx/onnx.h"
#include "frontend/passes/passes.h"
#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- models of one node */

typedef struct one_node {
  Onnx__ModelProto model;
  Onnx__GraphProto graph;
  Onnx__NodeProto node;
  Onnx__OperatorSetIdProto opset;
  Onnx__ValueInfoProto inputs[4], output;
  Onnx__TypeProto types[4];
  Onnx__TypeProto__Tensor tensors[4];
  Onnx__TensorShapeProto shapes[4];
  Onnx__TensorShapeProto__Dimension dims[4][8];
  Onnx__AttributeProto attributes[8];
  Onnx__TensorProto weights;
  void *lists[4][8];
  char *names[5];
} one_node;

static void init(one_node *m, tg_arena *arena, const char *op, int64_t opset) {
  *m = (one_node){.model = ONNX__MODEL_PROTO__INIT,
                  .graph = ONNX__GRAPH_PROTO__INIT,
                  .node = ONNX__NODE_PROTO__INIT,
                  .opset = ONNX__OPERATOR_SET_ID_PROTO__INIT,
                  .output = ONNX__VALUE_INFO_PROTO__INIT,
                  .weights = ONNX__TENSOR_PROTO__INIT};
  m->model.has_ir_version = true, m->model.ir_version = 7;
  m->model.graph = &m->graph;
  m->opset.has_version = true, m->opset.version = opset;
  m->model.n_opset_import = 1, m->model.opset_import = (void *)m->lists[0];
  m->lists[0][0] = &m->opset;
  m->graph.n_node = 1, m->graph.node = (void *)m->lists[1];
  m->lists[1][0] = &m->node;
  m->node.op_type = tg_arena_strdup(arena, op);
  m->node.input = m->names;
  m->node.n_output = 1, m->node.output = &m->names[4];
  m->names[4] = "y";
  m->graph.input = (void *)m->lists[2];
  m->graph.n_output = 1, m->graph.output = (void *)&m->lists[0][7];
  m->lists[0][7] = &m->output;
  m->output.name = "y";
  m->node.attribute = (void *)m->lists[3];
}

static void add_input(one_node *m, tg_arena *arena, int rank, const int64_t *sizes) {
  size_t i = m->graph.n_input++;
  m->node.n_input = m->graph.n_input;
  m->inputs[i] = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
  m->types[i] = (Onnx__TypeProto)ONNX__TYPE_PROTO__INIT;
  m->tensors[i] = (Onnx__TypeProto__Tensor)ONNX__TYPE_PROTO__TENSOR__INIT;
  m->shapes[i] = (Onnx__TensorShapeProto)ONNX__TENSOR_SHAPE_PROTO__INIT;
  m->names[i] = tg_arena_printf(arena, "x%zu", i);
  m->inputs[i].name = m->names[i];
  m->inputs[i].type = &m->types[i];
  m->types[i].value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  m->types[i].tensor_type = &m->tensors[i];
  m->tensors[i].has_elem_type = true, m->tensors[i].elem_type = 1;
  m->tensors[i].shape = &m->shapes[i];
  m->shapes[i].n_dim = (size_t)rank;
  m->shapes[i].dim = TG_NEW_ARRAY(arena, Onnx__TensorShapeProto__Dimension *, (size_t)rank);
  for (int d = 0; d < rank; d++) {
    m->dims[i][d] = (Onnx__TensorShapeProto__Dimension)ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
    m->dims[i][d].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    m->dims[i][d].dim_value = sizes[d];
    m->shapes[i].dim[d] = &m->dims[i][d];
  }
  m->lists[2][i] = &m->inputs[i];
}

static Onnx__AttributeProto *add_attribute(one_node *m, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
  size_t i = m->node.n_attribute++;
  m->attributes[i] = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
  m->attributes[i].name = (char *)name;
  m->attributes[i].has_type = true;
  m->attributes[i].type = type;
  m->lists[3][i] = &m->attributes[i];
  return &m->attributes[i];
}

static void add_int(one_node *m, const char *name, int64_t value) {
  Onnx__AttributeProto *a = add_attribute(m, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  a->has_i = true;
  a->i = value;
}

static const char *write_model(tg_arena *arena, const one_node *m) {
  size_t size = onnx__model_proto__get_packed_size(&m->model);
  uint8_t *bytes = tg_arena_alloc(arena, size, 1);
  onnx__model_proto__pack(&m->model, bytes);
  const char *path = tg_arena_printf(arena, "%s/one.onnx", tg_test_dir());
  write_bytes(path, bytes, size);
  return path;
}

/* Imports and infers; NULL and a message where it is refused. */
static tg_graph *import(tg_arena *arena, const one_node *m, tg_diag *diag) {
  tg_graph *graph;
  if (tg_onnx_read(arena, write_model(arena, m), &graph, diag)) return NULL;
  tg_graph_bind_rest(graph, 1);
  return tg_graph_infer(graph, diag) ? NULL : graph;
}

/* --- older opsets */

TG_TEST(onnx, softmax_before_opset_13_is_over_all_that_follows) {
  for (int opset = 11; opset <= 13; opset += 2) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m;
    init(&m, &arena, "Softmax", opset);
    add_input(&m, &arena, 3, (int64_t[]){2, 3, 4});
    tg_graph *g = import(&arena, &m, &diag);
    EXPECT_STR(diag.message, "");
    ASSERT(g);
    EXPECT_EQ(tg_attr_int(g->first, TG_ATTR_FLATTEN), opset < 13);
    EXPECT_EQ(tg_attr_int(g->first, TG_ATTR_AXIS), opset < 13 ? 1 : 2);
    tg_arena_release(&arena);
  }
}

TG_TEST(onnx, broadcasting_before_opset_7_is_asked_for) {
  tg_arena arena = {0};
  for (int broadcast = 0; broadcast < 2; broadcast++) {
    tg_diag diag = {""};
    one_node m;
    init(&m, &arena, "Add", 6);
    add_input(&m, &arena, 3, (int64_t[]){2, 3, 4});
    add_input(&m, &arena, 1, (int64_t[]){3});
    add_int(&m, "broadcast", broadcast);
    add_int(&m, "axis", 1);
    tg_graph *g = import(&arena, &m, &diag);
    EXPECT_EQ(g != NULL, broadcast);
    if (!broadcast) EXPECT_HAS(diag.message, "shapes differ");
    if (g) EXPECT_STR(tg_value_type_text(tg_in(g->last, 1), &arena), "f32[3,1]");
  }
  tg_arena_release(&arena);
}

TG_TEST(onnx, casts_to_a_named_type_before_opset_6) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  one_node m;
  init(&m, &arena, "Cast", 1);
  add_input(&m, &arena, 1, (int64_t[]){3});
  Onnx__AttributeProto *to = add_attribute(&m, "to", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  to->has_s = true;
  to->s = (ProtobufCBinaryData){7, (uint8_t *)"FLOAT16"};
  tg_graph *g = import(&arena, &m, &diag);
  EXPECT_STR(diag.message, "");
  ASSERT(g);
  EXPECT_EQ(g->outputs[0]->dtype, TG_F16);
  tg_arena_release(&arena);
}

/* --- refusals */

typedef struct refusal {
  const char *op;
  int opset;
  const char *attribute;
  int64_t value;
  const char *message;
} refusal;

static const refusal refusals[] = {
    {"Relu", 13, "axis", 1, "node 0 (Relu): attribute \"axis\" is not supported"},
    {"Softmax", 13, "flatten", 1, "attribute \"flatten\" is not supported"},
    {"Reshape", 13, "shape", 1, "attribute \"shape\" is not supported in opset 13"},
    {"Squeeze", 13, "axes", 1, "attribute \"axes\" is not supported in opset 13"},
    {"Concat", 13, "alpha", 1, "attribute \"alpha\" is not supported"},
    {"Concat", 13, NULL, 0, "attribute \"axis\" is missing"},
    {"Cast", 13, "to", 8, "\"to\" = 8 is not a supported element type"},
    {"Cast", 13, NULL, 0, "attribute \"to\" is missing"},
    {"BatchNormalization", 6, NULL, 0, "inputs where 5 are needed"},
    {"ImageDecoder", 13, NULL, 0, "node 0 (ImageDecoder): the operator is not supported"},
    {"Einsum", 13, NULL, 0, "operand 0 has rank 3, not that of \"\""},
    {"LSTM", 13, NULL, 0, "node 0 (LSTM): 1 inputs where 3 are needed"},
    {"ConvInputGradient", 13, NULL, 0, "the operator is not supported"},
    {"ReducePartials", 13, NULL, 0, "the operator is not supported"},
    {"LeakyRelu", 13, "alpha", 1, "attribute \"alpha\" has the wrong type"},
    {"Slice", 13, "starts", 1, "attribute \"starts\" is not supported in opset 13"},
    {"Slice", 13, "steps", 1, "attribute \"steps\" is not supported in opset 13"},
    {"Slice", 13, NULL, 0, "node 0 (Slice): starts are missing"},
    {"Split", 11, "num_outputs", 1, "attribute \"num_outputs\" is not supported in opset 11"},
    {"InstanceNormalization", 6, NULL, 0, "node 0 (InstanceNormalization): 1 inputs where 3 are needed"},
    {"Pad", 9, NULL, 0, "attribute \"pads\" is missing"},
    {"Pad", 13, NULL, 0, "0 pads for rank 3"},
    {"DepthToSpace", 13, "blocksize", 2, "data of rank 3 is no image"},
    {"Upsample", 10, NULL, 0, "node 0 (Upsample): the operator is not supported"},
    {"Resize", 13, "antialias", 1, "attribute \"antialias\" is not supported in opset 13"},
    {"ScatterAdd", 13, NULL, 0, "the operator is not supported"},
    {"ReduceMax", 18, "axes", 1, "attribute \"axes\" is not supported in opset 18"},
    {"ReduceMax", 17, "noop_with_empty_axes", 1, "\"noop_with_empty_axes\" is not supported in opset 17"},
    {"ReduceSum", 13, "block", 1, "attribute \"block\" is not supported"},
    {"Shape", 13, "start", 1, "attribute \"start\" is not supported in opset 13"},
    {"ConstantOfShape", 9, "value", 1, "attribute \"value\" has the wrong type"},
    {"ConstantOfShape", 9, NULL, 0, "node 0 (ConstantOfShape): shape is not constant"},
    {"Not", 13, NULL, 0, "input 0 has element type f32, which is not supported here"},
    {"Adam", 13, NULL, 0, "node 0 (Adam): the operator is not supported in domain \"\""},
    {"Gradient", 13, NULL, 0, "node 0 (Gradient): the operator is not supported in domain \"\""},
    {"SoftmaxCrossEntropyLoss", 13, NULL, 0, "node 0 (SoftmaxCrossEntropyLoss): 1 inputs where 2 are needed"},
    {"ImageDecoder", 13, NULL, 0, "node 0 (ImageDecoder): the operator is not supported"},
    {"AveragePool", 13, "dilations", 1, "attribute \"dilations\" is not supported in opset 13"},
};

static void refuses(const void *data) {
  const refusal *row = data;
  tg_arena arena = {0};
  tg_diag diag = {""};
  one_node m;
  init(&m, &arena, row->op, row->opset);
  add_input(&m, &arena, 3, (int64_t[]){1, 2, 3});
  if (row->attribute) add_int(&m, row->attribute, row->value);
  EXPECT(!import(&arena, &m, &diag));
  EXPECT_HAS(diag.message, row->message);
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_refusals(void) {
  static char titles[sizeof refusals / sizeof *refusals][64];
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const refusal *row = &refusals[i];
    snprintf(titles[i], sizeof titles[i], "%s_%d_%s", row->op, row->opset,
             row->attribute ? row->attribute : "missing");
    tg_test_register_row("onnx_refuses", titles[i], __FILE__, __LINE__, refuses, row);
  }
}

/* --- external data */

static void add_external(one_node *m, tg_arena *arena, const char *location, const char *offset) {
  Onnx__StringStringEntryProto *entries = TG_NEW_ARRAY(arena, Onnx__StringStringEntryProto, 2);
  Onnx__StringStringEntryProto **list = TG_NEW_ARRAY(arena, Onnx__StringStringEntryProto *, 2);
  const char *pairs[2][2] = {{"location", location}, {"offset", offset}};
  for (int i = 0; i < 2; i++) {
    entries[i] = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    entries[i].key = (char *)pairs[i][0];
    entries[i].value = (char *)pairs[i][1];
    list[i] = &entries[i];
  }
  m->weights.name = "x1";
  m->weights.has_data_type = true, m->weights.data_type = 1;
  m->weights.n_dims = 1, m->weights.dims = TG_NEW_ARRAY(arena, int64_t, 1);
  m->weights.dims[0] = 3;
  m->weights.has_data_location = true;
  m->weights.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  m->weights.n_external_data = 2, m->weights.external_data = list;
  m->graph.n_initializer = 1, m->graph.initializer = (void *)&m->lists[0][6];
  m->lists[0][6] = &m->weights;
  m->names[1] = "x1";
  m->node.n_input = 2;
}

typedef struct external_case {
  const char *title;
  const char *location, *offset;
  const char *message; /* NULL: accepted */
} external_case;

static const external_case externals[] = {
    {"same_folder", "weights.bin", "4", NULL},
    {"dot_slash", "./weights.bin", "4", NULL},
    {"short", "weights.bin", "8", "ends before offset"},
    {"huge_offset", "weights.bin", "18446744073709551615", "ends before offset"},
    {"offset_overflow", "weights.bin", "18446744073709551616", "not supported"},
    {"symlink", "symlink.bin", "0", "external data \"symlink.bin\""},
    {"hardlink", "hardlink.bin", "0", "hard links"},
    {"fifo", "fifo.bin", "0", "not a regular file"},
    {"folder", "folder", "0", "not a regular file"},
    {"parent", "../weights.bin", "0", "not a file of the model's folder"},
    {"subfolder", "folder/weights.bin", "0", "not a file of the model's folder"},
    {"absolute", "/etc/passwd", "0", "not a file of the model's folder"},
    {"dots", "..", "0", "not a file of the model's folder"},
};

static void make_external_files(tg_arena *arena) {
  static const float data[] = {9, 1, 2, 3};
  const char *dir = tg_test_dir();
  const char *weights = tg_arena_printf(arena, "%s/weights.bin", dir);
  if (!access(weights, F_OK)) return;
  write_bytes(weights, data, sizeof data);
  const char *twice = tg_arena_printf(arena, "%s/twice.bin", dir);
  write_bytes(twice, data, sizeof data);
  EXPECT(!link(twice, tg_arena_printf(arena, "%s/hardlink.bin", dir)));
  EXPECT(!symlink("weights.bin", tg_arena_printf(arena, "%s/symlink.bin", dir)));
  EXPECT(!mkfifo(tg_arena_printf(arena, "%s/fifo.bin", dir), 0600));
  EXPECT(!mkdir(tg_arena_printf(arena, "%s/folder", dir), 0700));
}

static void external(const void *data) {
  const external_case *row = data;
  tg_arena arena = {0};
  tg_diag diag = {""};
  one_node m;
  make_external_files(&arena);
  init(&m, &arena, "Add", 13);
  add_input(&m, &arena, 1, (int64_t[]){3});
  add_external(&m, &arena, row->location, row->offset);
  tg_graph *g = import(&arena, &m, &diag);
  EXPECT_EQ(g == NULL, row->message != NULL);
  if (row->message) EXPECT_HAS(diag.message, row->message);
  if (g) {
    EXPECT(((const float *)tg_in(g->first, 1)->data)[2] == 3);
    EXPECT_EQ(g->data_file_count, 1);
    EXPECT_STR(g->data_files[0], tg_arena_printf(&arena, "%s/%s", tg_test_dir(), row->location));
  }
  tg_arena_release(&arena);
}

__attribute__((constructor)) static void register_externals(void) {
  for (size_t i = 0; i < sizeof externals / sizeof *externals; i++)
    tg_test_register_row("onnx_external", externals[i].title, __FILE__, __LINE__, external, &externals[i]);
}

/* --- contradictions */

TG_TEST(onnx, one_domain_has_one_version) {
  for (int64_t second = 13; second <= 14; second++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m;
    init(&m, &arena, "Relu", 13);
    add_input(&m, &arena, 1, (int64_t[]){3});
    Onnx__OperatorSetIdProto other = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    other.domain = "ai.onnx";
    other.has_version = true, other.version = second;
    m.lists[0][1] = &other;
    m.model.n_opset_import = 2;
    EXPECT_EQ(import(&arena, &m, &diag) == NULL, second == 14);
    if (second == 14) EXPECT_HAS(diag.message, "opsets 13 and 14 of domain \"ai.onnx\"");
    tg_arena_release(&arena);
  }
}

TG_TEST(onnx, a_tensor_has_data_of_one_kind) {
  for (int twice = 0; twice < 2; twice++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m;
    float numbers[] = {1, 2, 3};
    int64_t size = 3;
    init(&m, &arena, "Add", 13);
    add_input(&m, &arena, 1, &size);
    m.names[1] = "w";
    m.node.n_input = 2;
    Onnx__TensorProto *list[] = {&m.weights};
    m.weights.name = "w";
    m.weights.has_data_type = true, m.weights.data_type = 1;
    m.weights.n_dims = 1, m.weights.dims = &size;
    m.weights.has_raw_data = true;
    m.weights.raw_data = (ProtobufCBinaryData){sizeof numbers, (uint8_t *)numbers};
    if (twice) m.weights.n_float_data = 3, m.weights.float_data = numbers;
    m.graph.n_initializer = 1, m.graph.initializer = list;
    EXPECT_EQ(import(&arena, &m, &diag) == NULL, twice);
    if (twice) EXPECT_HAS(diag.message, "tensor \"w\": it has data of several kinds");
    tg_arena_release(&arena);
  }
}

/* A constant's elements, raw or in a field of their own type, are those that the parser has read: no second copy. */
TG_TEST(onnx, elements_are_in_memory_once) {
  enum { COUNT = 1 << 19 };
  for (int raw = 0; raw < 2; raw++) {
    tg_arena arena = {0}, model = {0};
    tg_diag diag = {""};
    one_node m;
    int64_t size = COUNT;
    float *numbers = TG_NEW_ARRAY(&model, float, COUNT);
    for (int i = 0; i < COUNT; i++) numbers[i] = (float)i;
    init(&m, &model, "Add", 13);
    add_input(&m, &model, 1, &size);
    m.names[1] = "w";
    m.node.n_input = 2;
    Onnx__TensorProto *list[] = {&m.weights};
    m.weights.name = "w";
    m.weights.has_data_type = true, m.weights.data_type = 1;
    m.weights.n_dims = 1, m.weights.dims = &size;
    m.weights.has_raw_data = raw;
    if (raw) m.weights.raw_data = (ProtobufCBinaryData){COUNT * sizeof(float), (uint8_t *)numbers};
    if (!raw) m.weights.n_float_data = COUNT, m.weights.float_data = numbers;
    m.graph.n_initializer = 1, m.graph.initializer = list;
    tg_graph *graph = NULL;
    ASSERT(!tg_onnx_read(&arena, write_model(&model, &m), &graph, &diag));
    const tg_value *w = graph->first->inputs[1].value;
    EXPECT_EQ(((const float *)w->data)[COUNT - 1], (float)(COUNT - 1));
    EXPECT(arena.used < COUNT * sizeof(float) * 5 / 4);
    tg_arena_release(&arena);
    tg_arena_release(&model);
  }
}

/* A tensor that the node does not read is looked at all the same. */
static void narrow_cells(int type, int size, int32_t cell, const char *refused) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  one_node m;
  int32_t cells[] = {1, cell};
  int64_t dims = size;
  init(&m, &arena, "Relu", 13);
  add_input(&m, &arena, 1, &dims);
  Onnx__TensorProto *list[] = {&m.weights};
  m.weights.name = "w";
  m.weights.has_data_type = true, m.weights.data_type = type;
  m.weights.n_dims = 1, m.weights.dims = &dims;
  m.weights.n_int32_data = 2, m.weights.int32_data = cells;
  m.graph.n_initializer = 1, m.graph.initializer = list;
  EXPECT_EQ(import(&arena, &m, &diag) == NULL, refused != NULL);
  if (refused) EXPECT_HAS(diag.message, refused);
  tg_arena_release(&arena);
}

TG_TEST(onnx, int32_data_of_narrow_types_is_within_them) {
  enum { U8 = 2, I8 = 3, U16 = 4, I16 = 5, F16 = 10, BF16 = 16, F8 = 17, U4 = 21, I4 = 22 };
  narrow_cells(U8, 2, 255, NULL);
  narrow_cells(U8, 2, 256, "tensor \"w\": element 1 of its int32_data is 256, more than 8 bits of u8");
  narrow_cells(U8, 2, -1, "element 1 of its int32_data is -1");
  narrow_cells(I8, 2, -128, NULL);
  narrow_cells(I8, 2, 128, "is 128, more than 8 bits of i8");
  narrow_cells(U16, 2, 65536, "more than 16 bits of u16");
  narrow_cells(I16, 2, -32769, "more than 16 bits of i16");
  narrow_cells(F16, 2, 65535, NULL);
  narrow_cells(BF16, 2, 65536, "more than 16 bits of bf16");
  narrow_cells(F8, 2, 256, "more than 8 bits of f8e4m3fn");
  for (int type = U4; type <= I4; type++) {
    narrow_cells(type, 4, 255, NULL);
    narrow_cells(type, 3, 0x173, "element 1 of its int32_data is 371, more than 8 bits of ");
    narrow_cells(type, 4, -129, "more than 8 bits of ");
  }
}

TG_TEST(onnx, declared_shapes_are_those_computed) {
  static const int64_t declared[][2] = {{2, 3}, {2, 4}};
  for (int i = 0; i < 2; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m, other;
    init(&m, &arena, "Relu", 13);
    init(&other, &arena, "Relu", 13);
    add_input(&m, &arena, 2, declared[0]);
    add_input(&other, &arena, 2, declared[i]);
    m.output.type = other.inputs[0].type;
    EXPECT_EQ(import(&arena, &m, &diag) == NULL, i);
    if (i) EXPECT_HAS(diag.message, "output \"y\" is declared as [2,4] but computed as f32[2,3]");
    tg_arena_release(&arena);
  }
}

TG_TEST(onnx, paddings_that_follow_are_bounded_too) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  one_node m;
  int64_t far[] = {(int64_t)1 << 24};
  init(&m, &arena, "ConvTranspose", 13);
  add_input(&m, &arena, 3, (int64_t[]){1, 1, 1});
  add_input(&m, &arena, 3, (int64_t[]){1, 1, 9});
  Onnx__AttributeProto *a = add_attribute(&m, "dilations", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
  a->n_ints = 1, a->ints = far;
  a = add_attribute(&m, "auto_pad", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
  a->has_s = true, a->s = (ProtobufCBinaryData){10, (uint8_t *)"SAME_UPPER"};
  EXPECT(!import(&arena, &m, &diag));
  EXPECT_HAS(diag.message, "at most 16777216 are supported");
  tg_arena_release(&arena);
}

TG_TEST(onnx, a_gather_of_too_many_rows_is_refused_before_it_asks_for_memory) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  ASSERT(!tg_graph_parse(
      &arena,
      "graph \"g\"\ninput %x: f32[2147483648]\ninput %i: i64[1]\n%y = Gather(%x, %i) @0 \"g\"\n"
      "output \"y\" %y: f32\n",
      &graph, &diag));
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  EXPECT_EQ(tg_frontend_lower(graph, &options, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "node \"g\" (Gather): chooses among more than 2^24 rows");
  tg_arena_release(&arena);
}

/* --- export */

/* Text to graph to file to graph to text. */
static void round_trip(const char *text, const char *expected) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g, *back;
  EXPECT_EQ(tg_graph_parse(&arena, text, &g, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(g);
  const char *path = tg_arena_printf(&arena, "%s/out.onnx", tg_test_dir());
  EXPECT_EQ(tg_graph_infer(g, &diag), TG_OK);
  EXPECT_EQ(tg_onnx_write(path, g, &diag), TG_OK);
  EXPECT_EQ(tg_onnx_read(&arena, path, &back, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(back);
  tg_graph_bind_rest(back, 1);
  EXPECT_EQ(tg_graph_infer(back, &diag), TG_OK);
  tg_pass_remove_dead(back);
  EXPECT_STR(tg_graph_print(back, &arena), expected ? expected : text);
  tg_arena_release(&arena);
}

/* The file's opset and IR version are ones that have its types: numbers from ONNX's list of versions. */
static void expect_versions(const char *type, int64_t opset, int64_t ir) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g, *back;
  const char *text =
      tg_arena_printf(&arena,
                      "graph \"g\" next=2\ninput %%x: f32[4]\n%%n: %s[4] = Cast(%%x) to=%s @0\n"
                      "%%y: f32[4] = Cast(%%n) to=f32 @1\noutput \"y\" %%y: f32\n",
                      type, type);
  const char *path = tg_arena_printf(&arena, "%s/out.onnx", tg_test_dir());
  ASSERT(!tg_graph_parse(&arena, text, &g, &diag));
  EXPECT_EQ(tg_onnx_write(path, g, &diag), TG_OK);
  uint8_t bytes[4096];
  FILE *file = fopen(path, "rb");
  ASSERT(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  Onnx__ModelProto *model = onnx__model_proto__unpack(NULL, size, bytes);
  ASSERT(model);
  EXPECT_EQ(model->opset_import[0]->version, opset);
  EXPECT_EQ(model->ir_version, ir);
  onnx__model_proto__free_unpacked(model, NULL);
  EXPECT_EQ(tg_onnx_read(&arena, path, &back, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  tg_arena_release(&arena);
}

TG_TEST(onnx_export, names_an_opset_that_has_its_types) {
  expect_versions("bf16", 17, 8);
  expect_versions("f8e4m3fn", 19, 9);
  expect_versions("i4", 21, 10);
  expect_versions("f4e2m1", 23, 11);
  expect_versions("f8e8m0", 24, 12);
  expect_versions("u2", 25, 13);
}

TG_TEST(onnx_export, keeps_every_operator_and_type) {
  round_trip(
      "graph \"g\" next=12 disable_graphamp=\"conv,fc\"\n"
      "input %x: f32[1,2,5,5]\n"
      "const %w: f32[3,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, "
      "22, "
      "23, 24]\n"
      "const %b: bf16[1] = [0.5]\n"
      "%c: f32[1,3,4,4] = Conv(%x, %w) kernel_shape=[2,2] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] @0 "
      "\"conv\" disable_graphamp\n"
      "%p: f32[1,3,2,2] = MaxPool(%c) kernel_shape=[2,2] strides=[2,2] dilations=[1,1] pads=[0,0,0,0] @1\n"
      "%q: f32[1,3,2,2] = Clip(%p) min=0.5 max=3 @2\n"
      "%r: f32[1,12] = Reshape(%q) shape=[1,12] allowzero=1 @3\n"
      "%s: f32[12] = Squeeze(%r) axes=[0] @4\n"
      "%t: f32[1,12] = Unsqueeze(%s) axes=[0] @5\n"
      "%u: f32[12,1] = Transpose(%t) perm=[1,0] @6\n"
      "%v: f32[12,12] = Gemm(%u, %t) alpha=0.5 @7 \"fc\"\n"
      "%l: f32[12,12] = LeakyRelu(%v) alpha=0.25 @8\n"
      "%n: f32[12,12] = Softmax(%l) axis=1 @9\n"
      "%o: bf16[12,12] = Cast(%n) to=bf16 @10\n"
      "%y: bf16[12,12] = Add(%o, %b) @11\n"
      "output \"y\" %y: bf16\n",
      NULL);
}

TG_TEST(onnx_export, keeps_moves) {
  round_trip(
      "graph \"g\" next=9\n"
      "input %x: f32[1,4,2,2]\n"
      "input %i: i64[3]\n"
      "%a: f32[1,1,2,2], %b: f32[1,3,2,2] = Split(%x) axis=1 split=[1,3] @0 \"split\"\n"
      "%c: f32[1,2,2,2] = Slice(%b) starts=[0,2,0,0] ends=[1,-4,2,2] axes=[0,1,2,3] steps=[1,-2,1,1] @1\n"
      "%d: f32[1,2,2,2] = Expand(%a) shape=[1,2,2,2] @2\n"
      "%e: f32[1,4,2,4] = Tile(%c) repeats=[1,2,1,2] @3\n"
      "%f: f32[1,4,4,4] = Resize(%e) mode=\"nearest\" coordinate_transformation_mode=\"asymmetric\" "
      "nearest_mode=\"floor\" factors=[1,1,2,1] @4\n"
      "%g: f32[1,1,8,8] = DepthToSpace(%f) blocksize=2 mode=\"CRD\" @5\n"
      "%h: f32[1,4,4,4] = SpaceToDepth(%g) blocksize=2 @6\n"
      "%p: f32[1,3,2,2] = Pad(%d) mode=\"constant\" pads=[0,1,0,-1,0,0,0,1] value=1.5 @7\n"
      "%y: f32[1,4,3,4] = Gather(%h, %i) axis=2 @8\n"
      "output \"y\" %y: f32\n"
      "output \"p\" %p: f32\n",
      NULL);
}

/* Files of opset 9 and 10. */
TG_TEST(onnx, upsample_and_old_slices) {
  for (int opset = 7; opset <= 8; opset++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m;
    float scales[] = {1, 2, 3};
    init(&m, &arena, "Upsample", opset);
    add_input(&m, &arena, 3, (int64_t[]){2, 3, 4});
    Onnx__AttributeProto *a = add_attribute(&m, "scales", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    a->n_floats = 3, a->floats = scales;
    tg_graph *g = import(&arena, &m, &diag);
    EXPECT_STR(diag.message, "");
    ASSERT(g);
    EXPECT_EQ(g->first->op, TG_OP_RESIZE);
    EXPECT_EQ(tg_out(g->first)->dims[2].size, 12);
    scales[2] = 1.5f;
    g = import(&arena, &m, &diag);
    EXPECT_STR(diag.message, "");
    ASSERT(g);
    EXPECT_EQ(g->outputs[0]->dims[1].size, 6);
    EXPECT_EQ(g->outputs[0]->dims[2].size, 6);
    a->n_floats = 2;
    EXPECT(!import(&arena, &m, &diag));
    EXPECT_HAS(diag.message, "neither scales nor sizes are constant, one for each of 3 dimensions");
    a->n_floats = 0, diag.message[0] = 0;
    EXPECT(!import(&arena, &m, &diag));
    EXPECT_HAS(diag.message, "attribute \"scales\" is no list");
    tg_arena_release(&arena);
  }
  for (int opset = 1; opset <= 9; opset += 8) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    one_node m;
    int64_t starts[] = {1}, ends[] = {-1};
    init(&m, &arena, "Slice", opset);
    add_input(&m, &arena, 2, (int64_t[]){5, 4});
    Onnx__AttributeProto *a = add_attribute(&m, "starts", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = 1, a->ints = starts;
    a = add_attribute(&m, "ends", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = 1, a->ints = ends;
    tg_graph *g = import(&arena, &m, &diag);
    EXPECT_STR(diag.message, "");
    ASSERT(g);
    EXPECT_EQ(tg_out(g->first)->dims[0].size, 3);
    EXPECT_EQ(tg_out(g->first)->dims[1].size, 4);
    tg_arena_release(&arena);
  }
}

TG_TEST(onnx_export, refuses_what_onnx_cannot_say) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g;
  EXPECT_EQ(
      tg_graph_parse(
          &arena,
          "graph \"g\"\ninput %x: f32[2,3,4]\n%y = Softmax(%x) flatten=1 @0 \"s\"\noutput \"y\" %y: none", &g,
          &diag),
      TG_OK);
  ASSERT(g);
  const char *path = tg_arena_printf(&arena, "%s/none.onnx", tg_test_dir());
  EXPECT_EQ(tg_onnx_write(path, g, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "node \"s\" (Softmax): flatten has no form in ONNX");
  EXPECT(access(path, F_OK));
  tg_arena_release(&arena);
}

TG_TEST(onnx_export, outputs_that_are_no_results_and_open_sizes) {
  round_trip("graph \"g\" next=1\n"
             "input %x: f32[N=1,2]\n"
             "%r: f32[1,2] = Relu(%x) @0\n"
             "output \"a\" %r: f32\n"
             "output \"b\" %r: f32\n"
             "output \"c\" %x: f32\n",
             "graph \"g\" next=3\n"
             "input %x: f32[N=1,2]\n"
             "%a: f32[1,2] = Relu(%x) @0\n"
             "%b: f32[1,2] = Identity(%a) @1\n"
             "%c: f32[1,2] = Identity(%x) @2\n"
             "output \"a\" %a: f32\n"
             "output \"b\" %b: f32\n"
             "output \"c\" %c: f32\n");
}

/* Written before inference makes other nodes of some: it makes the same of what is read. */
static void says_the_same(const char *text) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *g, *back;
  EXPECT_EQ(tg_graph_parse(&arena, text, &g, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(g);
  const char *path = tg_arena_printf(&arena, "%s/out.onnx", tg_test_dir());
  EXPECT_EQ(tg_onnx_write(path, g, &diag), TG_OK);
  EXPECT_EQ(tg_onnx_read(&arena, path, &back, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  ASSERT(back);
  tg_graph_bind_rest(back, 1);
  EXPECT_EQ(tg_graph_infer(g, &diag), TG_OK);
  EXPECT_EQ(tg_graph_infer(back, &diag), TG_OK);
  tg_pass_remove_dead(g);
  tg_pass_remove_dead(back);
  EXPECT_STR(tg_graph_print(back, &arena), tg_graph_print(g, &arena));
  tg_arena_release(&arena);
}

TG_TEST(onnx_export, keeps_lists_operands_and_packed_elements) {
  says_the_same("graph \"g\"\ninput %x: f32[2,3]\nconst %b: i4[3] = [1, -2, 7]\n%c = Cast(%b) to=f32 @0\n"
                "%y = Add(%x, %c) @1\noutput \"y\" %y: f32\n");
  says_the_same("graph \"g\"\ninput %x: f32[2,3]\n%t = Trilu(%x) k=1 @0\n"
                "%y = ReduceMax(%t) noop_with_empty_axes=1 @1\noutput \"y\" %y: f32\n");
  says_the_same("graph \"g\"\ninput %x: f32[1,2,5]\n"
                "%y = AveragePool(%x) kernel_shape=[2] dilations=[1] @0\noutput \"y\" %y: f32\n");
  says_the_same(
      "graph \"g\"\ninput %x: f32[2,1,3]\ninput %w: f32[2,4,3]\ninput %r: f32[2,4,4]\n"
      "%y, %h = RNN(%x, %w, %r) hidden_size=4 direction=\"bidirectional\" activations=\"Affine,Tanh\" "
      "activation_alpha=\"0.5\" activation_beta=\"0.25\" @0\noutput \"y\" %y: f32\n");
}

TG_TEST(onnx_export, refuses_by_name) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"input %x: f32[1,2,5]\n%y = AveragePool(%x) kernel_shape=[2] dilations=[2] @0 \"a\"\noutput \"y\" %y: "
       "f32\n",
       "node \"a\" (AveragePool): dilation has no form in ONNX"},
      {"input %x: f32[2]\n%y = Cast(%x) to=tf32 @0 \"a\"\noutput \"y\" %y: tf32\n",
       "node \"a\" (Cast): its element type has no form in ONNX"},
      {"input %x: f32[2]\nconst %c: tf32[2] = [1, 2]\n%d = Cast(%c) to=f32 @0\n%y = Add(%x, %d) @1\noutput "
       "\"y\" %y: f32\n",
       "tensor \"c\": ONNX has no element type tf32"},
      {"input %x: f32[2]\n%y = Relu(%x) @0\noutput \"x\" %y: f32\n", "output \"x\" has the name of another"},
      {"input %x: f32[2]\ninput %z: f32[2]\n%y = Gradient(%x, %z) @0 \"a\"\noutput \"y\" %y: f32\n",
       "node \"a\" (Gradient): an operator of the training domain has no form in ONNX"},
      {"input %x: f32[4,4]\n%y = ReducePartials(%x) @0 \"a\"\noutput \"y\" %y: f32\n",
       "node \"a\" (ReducePartials): an operator of our own has no form in ONNX"}};
  tg_arena arena = {0};
  const char *path = tg_arena_printf(&arena, "%s/refused.onnx", tg_test_dir());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_diag diag = {""};
    tg_graph *g = NULL;
    EXPECT_EQ(tg_graph_parse(&arena, tg_arena_printf(&arena, "graph \"g\"\n%s", cases[i].text), &g, &diag),
              TG_OK);
    EXPECT_STR(diag.message, "");
    ASSERT(g);
    EXPECT_EQ(tg_onnx_write(path, g, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    EXPECT(access(path, F_OK));
  }
  tg_arena_release(&arena);
}
