/* The ONNX loader: forms of operators, constants, bodies and functions that older or other files have, and what it refuses by name.
 * Models are read, not inferred. */
#include "frontend/onnx/file.h"
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/rewrite.h"
#include "tests/frontend/model_maker.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name
enum { F32 = 1, I64 = 7, BOOL = 9, F64 = 11, U32 = 12, U64 = 13, BF16 = 16, I4 = 22 };

static const int64_t sizes_2x3[] = {2, 3};

static void expect_refused(tg_arena *arena, const Onnx__ModelProto *model, const char *says, int line) {
  tg_diag diag;
  if (read_model(arena, model, &diag) || !strstr(diag.message, says))
    tg_test_fail(__FILE__, line, "\"%s\", not \"%s\"", diag.message, says);
}
#define REFUSED(model, says) expect_refused(&arena, model, says, __LINE__)

/* Its first node, or NULL. */
static tg_node *expect_accepted(tg_arena *arena, const Onnx__ModelProto *model, int line) {
  tg_diag diag;
  tg_graph *graph = read_model(arena, model, &diag);
  if (!graph) tg_test_fail(__FILE__, line, "refused: %s", diag.message);
  return graph ? graph->first : NULL;
}
#define ACCEPTED(model) expect_accepted(&arena, model, __LINE__)

static void set_int(tg_arena *arena, Onnx__NodeProto *node, const char *name, int64_t value) {
  Onnx__AttributeProto *a = make_attribute(arena, node, name, TYPE(INT));
  a->has_i = true, a->i = value;
}
static void set_float(tg_arena *arena, Onnx__NodeProto *node, const char *name, float value) {
  Onnx__AttributeProto *a = make_attribute(arena, node, name, TYPE(FLOAT));
  a->has_f = true, a->f = value;
}
static void set_ints(tg_arena *arena, Onnx__NodeProto *node, const char *name, const int64_t *values,
                     size_t count) {
  Onnx__AttributeProto *a = make_attribute(arena, node, name, TYPE(INTS));
  a->ints = (int64_t *)(uintptr_t)values, a->n_ints = count;
}
static void set_text(tg_arena *arena, Onnx__NodeProto *node, const char *name, const char *value) {
  Onnx__AttributeProto *a = make_attribute(arena, node, name, TYPE(STRING));
  a->has_s = true, a->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
}
static void add_text(tg_arena *arena, Onnx__AttributeProto *a, const char *value) {
  ProtobufCBinaryData *list = TG_NEW_ARRAY(arena, ProtobufCBinaryData, a->n_strings + 1);
  if (a->n_strings) memcpy(list, a->strings, a->n_strings * sizeof *list);
  list[a->n_strings++] = (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
  a->strings = list;
}
static void set_texts(tg_arena *arena, Onnx__NodeProto *node, const char *name, const char *one,
                      const char *two) {
  Onnx__AttributeProto *a = make_attribute(arena, node, name, TYPE(STRINGS));
  if (one) add_text(arena, a, one);
  if (two) add_text(arena, a, two);
}
static Onnx__TensorProto *scalar(tg_arena *arena, const char *name, int type, const void *data,
                                 size_t bytes) {
  return make_tensor(arena, name, type, 0, NULL, data, bytes);
}

/* ---- older opsets, attributes ---- */

TG_TEST(loader, broadcasting_at_an_axis) {
  tg_arena arena = {0};
  for (int64_t axis = -1; axis <= TG_MAX_RANK; axis++) {
    Onnx__NodeProto *add = make_node(&arena, "Add", "x z", "y");
    set_int(&arena, add, "broadcast", 1);
    set_int(&arena, add, "axis", axis);
    Onnx__ModelProto *model = model_of(&arena, 6, add);
    if (axis < 0 || axis == TG_MAX_RANK)
      REFUSED(model, tg_arena_printf(&arena, "attribute \"axis\" = %d is not supported", (int)axis));
    else {
      tg_node *node = ACCEPTED(model);
      if (node) EXPECT_EQ(tg_attr_int(node, TG_ATTR_BROADCAST_AXIS), axis);
    }
  }
  tg_arena_release(&arena);
}

/* A Dropout of a training graph: its ratio and its mode are constants. */
static Onnx__ModelProto *dropout(tg_arena *arena, const char *inputs, float ratio, const uint8_t *mode,
                                 size_t modes) {
  Onnx__ModelProto *model = model_of(arena, 13, make_node(arena, "Dropout", inputs, "y"));
  float *kept = memcpy(TG_NEW(arena, float), &ratio, sizeof ratio);
  model->graph->n_input = 1; /* x */
  ADD(arena, model->graph, initializer, scalar(arena, "r", F32, kept, sizeof *kept));
  ADD(arena, model->graph, initializer,
      make_tensor(arena, "m", BOOL, 1, ((int64_t[]){(int64_t)modes}), mode, modes));
  return model;
}

TG_TEST(loader, dropouts_of_training) {
  tg_arena arena = {0};
  static const uint8_t on[] = {1, 1}, off[] = {0};
  tg_node *node = ACCEPTED(dropout(&arena, "x r m", 0.25f, on, 1));
  if (node) EXPECT(tg_attr_float(node, TG_ATTR_RATIO) == 0.25);
  node = ACCEPTED(dropout(&arena, "x _ m", 0.25f, on, 1));
  if (node) EXPECT(tg_attr_float(node, TG_ATTR_RATIO) == 0.5);
  EXPECT(ACCEPTED(dropout(&arena, "x r m", 7, off, 1))); /* it keeps all, whatever the ratio */
  EXPECT(ACCEPTED(dropout(&arena, "x r m", 1, on, 1)));
  REFUSED(dropout(&arena, "x r m", 1.5f, on, 1), "ratio = 1.5 is not from 0 to 1");
  REFUSED(dropout(&arena, "x r m", -0.5f, on, 1), "ratio = -0.5 is not from 0 to 1");
  REFUSED(dropout(&arena, "x r m", NAN, on, 1), "is not from 0 to 1");
  REFUSED(dropout(&arena, "x r m", 0.25f, on, 2), "training_mode must be a constant");
  REFUSED(dropout(&arena, "x r r", 0.25f, on, 1), "training_mode must be a constant"); /* no bool */
  REFUSED(dropout(&arena, "x x m", 0.25f, on, 1), "ratio must be a constant");
  REFUSED(dropout(&arena, "x m m", 0.25f, on, 1), "ratio must be a constant"); /* no float */
  node = ACCEPTED(dropout(&arena, "x r x", 0.25f, on, 1));
  if (node) EXPECT_EQ(node->op, TG_OP_DROPOUT_MASK); /* its mode arrives */
  tg_arena_release(&arena);
}

TG_TEST(loader, defaults_of_older_opsets) {
  tg_arena arena = {0};
  for (int opset = 1; opset <= 6; opset += 5)
    for (int given = 0; given < 2; given++) {
      Onnx__NodeProto *selu = make_node(&arena, "Selu", "x", "y");
      if (given) set_float(&arena, selu, "alpha", 2), set_float(&arena, selu, "gamma", 3);
      tg_node *node = ACCEPTED(model_of(&arena, opset, selu));
      if (!node) continue;
      EXPECT((tg_attr_float(node, TG_ATTR_ALPHA) == 1.6732) == (opset == 1 && !given));
      EXPECT((tg_attr_float(node, TG_ATTR_GAMMA) == 1.0507) == (opset == 1 && !given));
      EXPECT((tg_attr_float(node, TG_ATTR_ALPHA) == 2) == given);
    }
  /* Opset 1 had a float as the order of a norm, and called pads paddings. */
  static const float orders[] = {2, 0, 1.5f, (1 << 20) + 1, NAN};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    Onnx__NodeProto *pool = make_node(&arena, "GlobalLpPool", "x", "y");
    set_float(&arena, pool, "p", orders[i]);
    if (i) {
      REFUSED(model_of(&arena, 1, pool), "attribute \"p\" is no whole number");
      continue;
    }
    tg_node *node = ACCEPTED(model_of(&arena, 1, pool));
    if (node) EXPECT_EQ(tg_attr_int(node, TG_ATTR_P), 2);
    REFUSED(model_of(&arena, 2, pool), "attribute \"p\" has the wrong type");
  }
  Onnx__NodeProto *pool = make_node(&arena, "LpPool", "x", "y");
  static const int64_t kernel[] = {1};
  set_ints(&arena, pool, "kernel_shape", kernel, 1);
  set_float(&arena, pool, "p", 3);
  tg_node *of_three = ACCEPTED(model_of(&arena, 1, pool));
  if (of_three) EXPECT_EQ(tg_attr_int(of_three, TG_ATTR_P), 3);
  pool = make_node(&arena, "GlobalLpPool", "x", "y");
  set_int(&arena, pool, "p", 2);
  REFUSED(model_of(&arena, 1, pool), "attribute \"p\" is no whole number");
  EXPECT(ACCEPTED(model_of(&arena, 1, make_node(&arena, "GlobalLpPool", "x", "y"))));
  static const int64_t pads[] = {1, 2, 3, 4};
  Onnx__NodeProto *pad = make_node(&arena, "Pad", "x", "y");
  set_ints(&arena, pad, "paddings", pads, 4);
  tg_node *node = ACCEPTED(model_of(&arena, 1, pad));
  if (node) EXPECT_EQ(tg_attr_ints(node, TG_ATTR_PADS, NULL)[3], 4);
  REFUSED(model_of(&arena, 2, pad), "attribute \"paddings\" is not supported in opset 2");
  node = ACCEPTED(model_of(&arena, 10, make_node(&arena, "RoiAlign", "x r b", "y")));
  if (node) EXPECT_STR(tg_attr_text(node, TG_ATTR_COORDINATE_MODE), "output_half_pixel");
  tg_arena_release(&arena);
}

TG_TEST(loader, batch_normalizations) {
  tg_arena arena = {0};
  for (int is_test = -1; is_test < 2; is_test++) {
    Onnx__NodeProto *norm = make_node(&arena, "BatchNormalization", "x s b m v", "y");
    if (is_test >= 0) set_int(&arena, norm, "is_test", is_test);
    Onnx__ModelProto *model = model_of(&arena, 6, norm);
    if (is_test < 0) REFUSED(model, "training form (is_test = 0) is not supported");
    if (is_test == 0) REFUSED(model, "attribute \"is_test\" = 0 is not supported, only 1 is");
    if (is_test > 0) EXPECT(ACCEPTED(model));
  }
  Onnx__NodeProto *norm = make_node(&arena, "BatchNormalization", "x s b m v", "y");
  set_float(&arena, norm, "is_test", 1);
  REFUSED(model_of(&arena, 6, norm), "attribute \"is_test\" = 0 is not supported");
  /* Running statistics that a node or the model reads are results; those that nothing reads are not. */
  for (int read = 0; read < 3; read++) {
    Onnx__NodeProto *trains = make_node(&arena, "BatchNormalization", "x s b m v", "y mean variance");
    set_int(&arena, trains, "training_mode", 1);
    Onnx__ModelProto *model = model_of(&arena, 15, trains);
    if (read < 2) model->graph->n_output = 1;
    if (read == 1) ADD(&arena, model->graph, node, make_node(&arena, "Relu", "variance", "z"));
    tg_node *node = ACCEPTED(model);
    if (node) EXPECT_EQ(node->op, read ? TG_OP_BATCH_NORMALIZATION_STATISTICS : TG_OP_BATCH_NORMALIZATION);
  }
  tg_arena_release(&arena);
}

TG_TEST(loader, activations_become_texts) {
  tg_arena arena = {0};
  float numbers[] = {0.25f, 2};
  Onnx__NodeProto *rnn = make_node(&arena, "RNN", "x w r", "y");
  set_texts(&arena, rnn, "activations", "Affine", "Tanh");
  Onnx__AttributeProto *a = make_attribute(&arena, rnn, "activation_alpha", TYPE(FLOATS));
  a->floats = numbers, a->n_floats = 2;
  set_int(&arena, rnn, "hidden_size", 3);
  tg_node *node = ACCEPTED(model_of(&arena, 14, rnn));
  if (node) {
    EXPECT_STR(tg_attr_text(node, TG_ATTR_ACTIVATIONS), "Affine,Tanh");
    EXPECT_STR(tg_attr_text(node, TG_ATTR_ACTIVATION_ALPHA), "0.25,2");
    EXPECT_STR(tg_attr_text(node, TG_ATTR_ACTIVATION_BETA), "");
  }
  Onnx__NodeProto *conv = make_node(&arena, "FusedConv", "x w", "y");
  conv->domain = "com.microsoft";
  a = make_attribute(&arena, conv, "activation_params", TYPE(FLOATS));
  a->floats = numbers, a->n_floats = 1;
  set_text(&arena, conv, "activation", "LeakyRelu");
  node = ACCEPTED(model_of(&arena, 13, conv));
  if (node) EXPECT_STR(tg_attr_text(node, TG_ATTR_ACTIVATION_ALPHA), "0.25");
  for (int given = 0; given < 2; given++) {
    Onnx__NodeProto *gemm = make_node(&arena, "FusedGemm", "x w", "y");
    gemm->domain = "com.microsoft";
    if (given) set_float(&arena, gemm, "activation_alpha", 0.5f);
    node = ACCEPTED(model_of(&arena, 13, gemm));
    if (node) EXPECT_STR(tg_attr_text(node, TG_ATTR_ACTIVATION_ALPHA), given ? "0.5" : "");
  }
  tg_arena_release(&arena);
}

/* Before IR version 2 attributes have no type: the field that is there tells. */
TG_TEST(loader, attributes_without_a_type) {
  tg_arena arena = {0};
  static const int64_t order[] = {1, 0};
  Onnx__NodeProto *transpose = make_node(&arena, "Transpose", "x", "y");
  set_ints(&arena, transpose, "perm", order, 2);
  transpose->attribute[0]->has_type = false;
  tg_node *node = ACCEPTED(model_of(&arena, 13, transpose));
  if (node) EXPECT_EQ(tg_attr_ints(node, TG_ATTR_PERM, NULL)[0], 1);
  transpose->attribute[0]->n_ints = 0;
  REFUSED(model_of(&arena, 13, transpose), "attribute \"perm\" has the wrong type");
  Onnx__NodeProto *image = make_node(&arena, "DepthToSpace", "x", "y");
  set_text(&arena, image, "mode", "CRD");
  set_int(&arena, image, "blocksize", 2);
  image->attribute[0]->has_type = image->attribute[1]->has_type = false;
  node = ACCEPTED(model_of(&arena, 13, image));
  if (node) EXPECT_STR(tg_attr_text(node, TG_ATTR_MODE), "CRD");
  Onnx__NodeProto *relu = make_node(&arena, "LeakyRelu", "x", "y");
  set_float(&arena, relu, "alpha", 0.5f);
  relu->attribute[0]->has_type = true, relu->attribute[0]->type = TYPE(UNDEFINED);
  EXPECT(ACCEPTED(model_of(&arena, 13, relu)));
  relu->attribute[0]->f = NAN;
  REFUSED(model_of(&arena, 13, relu), "attribute \"alpha\" is no number");
  relu->attribute[0]->ref_attr_name = "slope";
  REFUSED(model_of(&arena, 13, relu), "attribute \"alpha\" refers to a function's attribute");
  relu->attribute[0]->ref_attr_name = "", relu->attribute[0]->name = "";
  REFUSED(model_of(&arena, 13, relu), "an attribute without a name");
  Onnx__NodeProto *squeeze = make_node(&arena, "Squeeze", "x", "y");
  static const int64_t axes[65] = {0};
  set_ints(&arena, squeeze, "axes", axes, 65);
  REFUSED(model_of(&arena, 11, squeeze), "attribute \"axes\" is too long");
  Onnx__NodeProto *many = make_node(&arena, "Relu", "x", "y");
  for (int i = 0; i < 65; i++) set_int(&arena, many, "a", i);
  REFUSED(model_of(&arena, 13, many), "65 attributes");
  tg_arena_release(&arena);
}

TG_TEST(loader, element_types_of_results) {
  tg_arena arena = {0};
  static const int64_t shape[] = {2, 3};
  for (int type = 7; type <= 10; type++) {
    Onnx__NodeProto *random = make_node(&arena, "RandomNormal", "", "y");
    set_ints(&arena, random, "shape", shape, 2);
    set_int(&arena, random, "dtype", type);
    if (type == 8)
      REFUSED(model_of(&arena, 13, random), "attribute \"dtype\" = 8 is not a supported element type");
    else
      EXPECT(ACCEPTED(model_of(&arena, 13, random)));
  }
  static const char *const names[] = {"FLOAT", "STRING", "FLOATS", "COMPLEX"};
  for (int i = 0; i < 4; i++) {
    Onnx__NodeProto *cast = make_node(&arena, "Cast", "x", "y");
    set_text(&arena, cast, "to", names[i]);
    if (i)
      REFUSED(model_of(&arena, 5, cast), "is not a supported element type");
    else
      EXPECT(ACCEPTED(model_of(&arena, 5, cast)));
  }
  Onnx__NodeProto *cast = make_node(&arena, "Cast", "x", "y");
  set_int(&arena, cast, "to", 1);
  REFUSED(model_of(&arena, 5, cast), "attribute \"to\" is missing");
  tg_arena_release(&arena);
}

/* ---- the model ---- */

TG_TEST(loader, models) {
  tg_arena arena = {0};
  Onnx__ModelProto *model = model_of(&arena, 13, make_node(&arena, "Relu", "x", "y"));
  for (int i = 0; i < 1024; i++) add_opset(&arena, model, "ai.onnx.ml", 1);
  REFUSED(model, "1025 opset imports");
  model->n_opset_import = 1024;
  EXPECT(ACCEPTED(model));
  model = model_of(&arena, 13, make_node(&arena, "Relu", "x", "y"));
  add_opset(&arena, model, "ai.onnx.preview.training", 1);
  EXPECT(ACCEPTED(model));
  model->graph->initializer = NULL;
  Onnx__SparseTensorProto sparse = ONNX__SPARSE_TENSOR_PROTO__INIT;
  ADD(&arena, model->graph, sparse_initializer, &sparse);
  REFUSED(model, "sparse initializers are not supported");
  model->graph->n_sparse_initializer = 0;
  model->graph->input[0] = make_value(&arena, "x", 9, ((int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1}));
  REFUSED(model, "input \"x\": rank 9 is above 8");
  model->graph->input[0] = make_value(&arena, "x", 2, sizes_2x3);
  ADD(&arena, model->graph, input, make_value(&arena, "x", 2, sizes_2x3));
  REFUSED(model, "input \"x\": it is defined twice");
  model->graph->n_input = 1;
  static const float data[6];
  ADD(&arena, model->graph, initializer, make_tensor(&arena, "w", F32, 2, sizes_2x3, data, sizeof data));
  EXPECT(ACCEPTED(model));
  ADD(&arena, model->graph, initializer, make_tensor(&arena, "w", F32, 2, sizes_2x3, data, sizeof data));
  REFUSED(model, "tensor \"w\" is defined twice");
  model->graph->initializer[1]->name = "";
  REFUSED(model, "initializer 1 has no name");
  model->graph->n_initializer = 1;
  model->graph->output[0]->name = NULL;
  REFUSED(model, "output 0 has no name");
  model->graph->n_output = 0;
  REFUSED(model, "the graph has no output");
  model->graph->input[0]->name = NULL;
  REFUSED(model, "input 0 has no name");
  model->graph = NULL;
  REFUSED(model, "the model has no graph");
  tg_arena_release(&arena);
}

/* Of an initializer that is an input, too: its default, whose shape the input may leave open, or contradict. */
TG_TEST(loader, inputs_with_defaults) {
  tg_arena arena = {0};
  static const float data[6];
  for (int rank = -1; rank <= 2; rank++) {
    Onnx__ModelProto *model = model_of(&arena, 13, make_node(&arena, "Add", "x w", "y"));
    model->graph->input[1] = make_value(&arena, "w", rank, sizes_2x3);
    ADD(&arena, model->graph, initializer, make_tensor(&arena, "w", F32, 2, sizes_2x3, data, sizeof data));
    tg_node *node = ACCEPTED(model);
    if (node) EXPECT_EQ(tg_in(node, 1)->default_of != NULL, rank == 2);
    if (rank != 2) continue;
    model->graph->input[1]->type->tensor_type->elem_type = 8;
    REFUSED(model, "input \"w\": element type 8 is not supported");
    model->graph->input[1]->type->tensor_type->elem_type = 10;
    node = ACCEPTED(model);
    if (node) EXPECT(!tg_in(node, 1)->default_of);
    model->graph->input[1]->type->tensor_type->elem_type = F32;
    model->graph->input[1]->type->tensor_type->shape = NULL;
    node = ACCEPTED(model);
    if (node) EXPECT(tg_in(node, 1)->default_of != NULL);
    model->graph->input[0]->type->tensor_type->shape = NULL;
    REFUSED(model, "input \"x\": its shape is not given");
  }
  tg_arena_release(&arena);
}

/* ---- tensors ---- */

static void expect_tensor(Onnx__TensorProto *tensor, const char *says, int line) {
  tg_arena arena = {0};
  Onnx__ModelProto *model = model_of(&arena, 13, make_node(&arena, "Relu", "x", "y"));
  ADD(&arena, model->graph, initializer, tensor);
  if (says)
    expect_refused(&arena, model, says, line);
  else
    expect_accepted(&arena, model, line);
  tg_arena_release(&arena);
}
#define TENSOR(tensor, says) expect_tensor(tensor, says, __LINE__)

TG_TEST(loader, elements_in_fields_of_their_types) {
  tg_arena arena = {0};
  float floats[] = {1, 2};
  double doubles[] = {1, 2};
  int64_t longs[] = {1, 2}, two = 2;
  uint64_t unsigneds[] = {1, UINT32_MAX};
  int32_t ints[] = {1, 2};
  for (int count = 1; count <= 2; count++) {
    size_t n = (size_t)count;
    const char *says = count == 2 ? NULL : "tensor \"w\": 1 elements of data where the shape needs 2";
    Onnx__TensorProto *t = make_tensor(&arena, "w", F32, 1, &two, NULL, 0);
    t->float_data = floats, t->n_float_data = n;
    TENSOR(t, says);
    t = make_tensor(&arena, "w", F64, 1, &two, NULL, 0);
    t->double_data = doubles, t->n_double_data = n;
    TENSOR(t, says);
    t = make_tensor(&arena, "w", I64, 1, &two, NULL, 0);
    t->int64_data = longs, t->n_int64_data = n;
    TENSOR(t, says);
    t = make_tensor(&arena, "w", U32, 1, &two, NULL, 0);
    t->uint64_data = unsigneds, t->n_uint64_data = n;
    TENSOR(t, says);
    t->data_type = U64;
    TENSOR(t, says);
    t = make_tensor(&arena, "w", BOOL, 1, &two, NULL, 0);
    t->int32_data = ints, t->n_int32_data = n;
    TENSOR(t, says);
    t->float_data = floats, t->n_float_data = 1;
    TENSOR(t, "it has data of several kinds");
  }
  Onnx__TensorProto *t = make_tensor(&arena, "w", F32, 1, &two, floats, 4);
  TENSOR(t, "4 bytes of data where the shape needs 8");
  t = make_tensor(&arena, "w", F32, 1, &two, floats, sizeof floats);
  TENSOR(t, NULL);
  Onnx__TensorProto__Segment segment = ONNX__TENSOR_PROTO__SEGMENT__INIT;
  t->segment = &segment;
  TENSOR(t, "segments are not supported");
  TENSOR(make_tensor(&arena, "w", F32, 9, (int64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1}, floats, 4),
         "rank 9 is above 8");
  TENSOR(make_tensor(&arena, "w", F32, 2, (int64_t[]){1, -1}, floats, 4), "dimension 1 is -1");
  TENSOR(make_tensor(&arena, "w", F32, 2, (int64_t[]){1ll << 40, 1ll << 40}, floats, 4),
         "its sizes ask for more than");
  TENSOR(make_tensor(&arena, "w", F32, 3, (int64_t[]){1ll << 40, 0, 1ll << 40}, floats, 0),
         "its sizes ask for more than");
  TENSOR(make_tensor(&arena, "w", F32, 3, (int64_t[]){1ll << 20, 0, 1ll << 10}, floats, 0), NULL);
  /* What is no integer in 16 bits, with and without a sign; what is one, within it. */
  t = make_tensor(&arena, "w", BF16, 1, &two, NULL, 0);
  t->int32_data = (int32_t[]){-32768, 65535}, t->n_int32_data = 2;
  TENSOR(t, NULL);
  t->int32_data = (int32_t[]){-32769, 0};
  TENSOR(t, "element 0 of its int32_data is -32769, more than 16 bits of bf16");
  tg_arena_release(&arena);
}

/* In a file beside the model; two of them in one file, of which one is packed. */
static Onnx__TensorProto *external(tg_arena *arena, const char *name, int type, int64_t count,
                                   const char *location, const char *offset) {
  Onnx__TensorProto *t = make_tensor(arena, name, type, 1, &count, NULL, 0);
  t->has_data_location = true, t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  const char *pairs[][2] = {{"location", location}, {"offset", offset}};
  for (int i = 0; i < 2; i++) {
    Onnx__StringStringEntryProto *entry = TG_NEW(arena, Onnx__StringStringEntryProto);
    *entry = (Onnx__StringStringEntryProto)ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    entry->key = (char *)(uintptr_t)pairs[i][0], entry->value = (char *)(uintptr_t)pairs[i][1];
    ADD(arena, t, external_data, entry);
  }
  return t;
}

TG_TEST(loader, data_beside_the_model) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  static const uint8_t bytes[] = {0x21, 0x0f, 0, 0, 0, 0, 0x80, 0x3f};
  write_bytes(tg_arena_printf(&arena, "%s/beside.bin", tg_test_dir()), bytes, sizeof bytes);
  Onnx__ModelProto *model = model_of(&arena, 21, make_node(&arena, "Relu", "x", "y"));
  ADD(&arena, model->graph, initializer, external(&arena, "i", I4, 3, "beside.bin", "0"));
  ADD(&arena, model->graph, initializer, external(&arena, "f", F32, 1, "beside.bin", "4"));
  ASSERT(!tg_onnx_read(&arena, write_model_file(&arena, model, "beside.onnx"), &graph, &diag));
  EXPECT_EQ(graph->data_file_count, 1);
  for (int v = 0; v < graph->value_count; v++) {
    const tg_value *value = graph->values[v];
    if (!strcmp(value->name, "f")) EXPECT(*(const float *)value->data == 1);
    if (!strcmp(value->name, "i"))
      for (int i = 0; i < 3; i++)
        EXPECT_EQ(tg_load_i64(value->data, value->dtype, (size_t)i), ((int[]){1, 2, -1})[i]);
  }
  REFUSED(model, "tensor \"i\": external data \"beside.bin\": the model is no file");
  model->graph->initializer[0]->n_int32_data = 1, model->graph->initializer[0]->int32_data = (int32_t[]){1};
  REFUSED(model, "it has data of its own and external data");
  model->graph->initializer[0]->n_int32_data = 0;
  model->graph->initializer[0]->external_data[1]->value = NULL;
  REFUSED(model, "an entry of its external data lacks key or value");
  model->graph->initializer[0]->external_data[1]->key = "checksum";
  model->graph->initializer[0]->external_data[1]->value = "of whatever kind";
  REFUSED(model, "the model is no file");
  model->graph->initializer[0]->external_data[1]->key = "length";
  model->graph->initializer[0]->external_data[1]->value = "";
  REFUSED(model, "external data length=\"\" is not supported");
  model->graph->initializer[0]->external_data[1]->value = "1";
  REFUSED(model, "external data of 1 bytes where the shape needs 2");
  model->graph->initializer[0]->external_data[1]->value = "4/2";
  REFUSED(model, "external data length=\"4/2\" is not supported");
  model->graph->initializer[0]->n_external_data = 0;
  REFUSED(model, "its external data has no location");
  tg_arena_release(&arena);
}

/* The folder of a model is what stands before the last slash. */
TG_TEST(loader, folders_of_models) {
  char path[8192];
  memset(path, 'a', sizeof path);
  path[5000] = '/', path[5001] = 0;
  static const char *const paths[] = {"model.onnx", "/model.onnx", "tests/model.onnx"};
  tg_file file;
  tg_diag diag;
  for (int i = 0; i < 3; i++) {
    diag = (tg_diag){""};
    EXPECT_EQ(tg_file_map_external(paths[i], "none", &file, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, "external data \"none\": No such file");
  }
  diag = (tg_diag){""};
  EXPECT_EQ(tg_file_map_external(path, "none", &file, &diag), TG_INVALID);
  static const char *const none[] = {"", ".", "..", "./", "a/b", "a\\b", "./../b"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    diag = (tg_diag){""};
    EXPECT_EQ(tg_file_map_external("model.onnx", none[i], &file, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, "is not a file of the model's folder");
  }
}

/* ---- nodes ---- */

TG_TEST(loader, results_of_nodes) {
  tg_arena arena = {0};
  Onnx__NodeProto *relu = make_node(&arena, "Relu", "x", "");
  Onnx__ModelProto *model = model_of(&arena, 13, relu);
  REFUSED(model, "node 0 (Relu): it has no output");
  REFUSED(model_of(&arena, 13, make_node(&arena, "Relu", "x", "_")), "node 0 (Relu): it has no output");
  relu = make_node(&arena, "Split", "x", "");
  for (int i = 0; i < 257; i++) ADD(&arena, relu, output, tg_arena_printf(&arena, "y%d", i));
  REFUSED(model_of(&arena, 13, relu), "257 outputs");
  /* The second of an operator that has one is not computed. */
  model = model_of(&arena, 13, make_node(&arena, "Relu", "x", "y z"));
  model->graph->n_output = 1;
  EXPECT(ACCEPTED(model));
  model->graph->n_output = 2;
  REFUSED(model, "output \"z\": no node computes it");
  model->graph->n_output = 1;
  ADD(&arena, model->graph, node, make_node(&arena, "Relu", "z", "u"));
  REFUSED(model, "node 1 (Relu): input \"z\" is an optional result that is not supported");
  model->graph->node[1]->input[0] = "w";
  REFUSED(model, "input \"w\" is not defined before it");
  model->graph->node[1]->input[0] = "y", model->graph->node[1]->output[0] = "y";
  REFUSED(model, "output \"y\" is defined twice");
  REFUSED(model_of(&arena, 13, make_node(&arena, "Relu", "x x", "y")),
          "2 inputs where at most 1 are supported");
  REFUSED(model_of(&arena, 13, make_node(&arena, "Add", "x _", "y")), "input 1 is missing");
  REFUSED(model_of(&arena, 13, make_node(&arena, "Concat", "x _", "y")), "input 1 is missing");
  tg_arena_release(&arena);
}

TG_TEST(loader, names_of_operators) {
  static const struct {
    const char *op, *domain;
    int fits;
    tg_op is;
  } cases[] = {{"Gelu", "", true, TG_OP_GELU},
               {"Gelu", "com.microsoft", true, TG_OP_GELU},
               {"Relu", "com.microsoft", false, TG_OP_RELU},
               {"Relu", "ai.onnx", true, TG_OP_RELU},
               {"Relu", "org.own", false, TG_OP_RELU},
               {"FusedMatMul", "com.microsoft", true, TG_OP_FUSED_MAT_MUL},
               {"TransposeMatMul", "com.microsoft", true, TG_OP_FUSED_MAT_MUL},
               {"FusedMatMul", "", false, TG_OP_FUSED_MAT_MUL},
               {"TransposeMatMul", "", false, TG_OP_FUSED_MAT_MUL},
               {"SimplifiedLayerNormalization", "", true, TG_OP_RMS_NORMALIZATION},
               {"SimplifiedLayerNormalization", "com.microsoft", false, TG_OP_RMS_NORMALIZATION},
               {"com.microsoft.Gelu", "", false, TG_OP_GELU}};
  tg_arena arena = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool two = strstr(cases[i].op, "Mat") || strstr(cases[i].op, "Layer");
    Onnx__NodeProto *proto = make_node(&arena, cases[i].op, two ? "x w" : "x", "y");
    proto->domain = (char *)(uintptr_t)cases[i].domain;
    Onnx__ModelProto *model = model_of(&arena, 20, proto);
    if (!cases[i].fits) {
      REFUSED(model, "the operator is not supported");
      continue;
    }
    tg_node *node = ACCEPTED(model);
    if (node) EXPECT_EQ(node->op, cases[i].is);
  }
  REFUSED(model_of(&arena, 13, make_node(&arena, NULL, "x", "y")),
          "node 0 (): the operator is not supported");
  tg_arena_release(&arena);
}

TG_TEST(loader, constants) {
  tg_arena arena = {0};
  float floats[] = {1, 2};
  static const int64_t ints[] = {3, 4};
  static const char *const kinds[] = {"value_float", "value_floats", "value_int", "value_ints",
                                      "value_string"};
  for (int kind = 0; kind < 5; kind++) {
    Onnx__NodeProto *constant = make_node(&arena, "Constant", "", "c");
    if (kind == 0) set_float(&arena, constant, kinds[kind], 1);
    if (kind == 2) set_int(&arena, constant, kinds[kind], 3);
    if (kind == 3) set_ints(&arena, constant, kinds[kind], ints, 2);
    if (kind == 4) set_text(&arena, constant, kinds[kind], "text");
    if (kind == 1) {
      Onnx__AttributeProto *a = make_attribute(&arena, constant, kinds[kind], TYPE(FLOATS));
      a->floats = floats, a->n_floats = 2;
    }
    Onnx__ModelProto *model = model_of(&arena, 13, constant);
    tg_diag diag;
    tg_graph *graph = read_model(&arena, model, &diag);
    if (kind == 4) {
      EXPECT_HAS(diag.message, "attribute \"value_string\" is not supported");
      continue;
    }
    ASSERT(graph);
    const tg_value *value = graph->outputs[0];
    EXPECT_EQ(value->dtype, kind < 2 ? TG_F32 : TG_I64);
    EXPECT_EQ(tg_value_elements(value), kind % 2 ? 2 : 1);
    if (kind < 2) EXPECT(((const float *)value->data)[kind] == 1 + kind);
    if (kind > 1) EXPECT_EQ(((const int64_t *)value->data)[kind - 2], kind + 1);
    set_int(&arena, constant, "more", 1);
    REFUSED(model, "it must have one attribute, one output and no input");
  }
  for (int fault = 0; fault < 5; fault++) {
    Onnx__NodeProto *constant = make_node(&arena, "Constant", fault == 0 ? "x" : "",
                                          fault == 1   ? "c d"
                                          : fault == 2 ? "_"
                                                       : "c");
    make_attribute(&arena, constant, fault == 3 ? "value" : "value_float", TYPE(FLOAT)); /* without one */
    REFUSED(model_of(&arena, 13, constant),
            fault < 3 ? "it must have one attribute, one output and no input" : "is not supported");
  }
  tg_arena_release(&arena);
}

/* What a double does not hold is an integer expanded. */
TG_TEST(loader, constants_of_a_shape) {
  tg_arena arena = {0};
  static const int64_t wide = ((int64_t)1 << 53) + 1, narrow = 5, both[] = {1, 2};
  for (int kind = 0; kind < 4; kind++) {
    Onnx__NodeProto *proto = make_node(&arena, "ConstantOfShape", "x", "y");
    if (kind)
      make_attribute(&arena, proto, "value", TYPE(TENSOR))->t =
          kind == 3
              ? make_tensor(&arena, "v", I64, 1, ((int64_t[]){2}), both, sizeof both)
              : make_tensor(&arena, "v", I64, 1, ((int64_t[]){1}), kind == 1 ? &wide : &narrow, sizeof wide);
    if (kind == 3) {
      REFUSED(model_of(&arena, 13, proto), "attribute \"value\" does not have one element");
      continue;
    }
    tg_node *node = ACCEPTED(model_of(&arena, 13, proto));
    if (!node) continue;
    EXPECT_EQ(node->op, kind == 1 ? TG_OP_EXPAND : TG_OP_CONSTANT_OF_SHAPE);
    if (kind == 1) EXPECT_EQ(*(const int64_t *)tg_in(node, 0)->data, wide);
    if (kind == 2) EXPECT(tg_attr_float(node, TG_ATTR_VALUE) == 5);
  }
  Onnx__NodeProto *proto = make_node(&arena, "ConstantOfShape", "x", "y");
  make_attribute(&arena, proto, "value", TYPE(TENSOR))->t = make_tensor(&arena, "v", 999, 0, NULL, NULL, 0);
  REFUSED(model_of(&arena, 13, proto), "element type 999 is not supported");
  tg_arena_release(&arena);
}

TG_TEST(loader, optionals) {
  tg_arena arena = {0};
  for (int has = 0; has < 2; has++) {
    Onnx__ModelProto *model = model_of(&arena, 18, make_node(&arena, "Optional", has ? "x" : "", "o"));
    model->graph->n_output = 0;
    ADD(&arena, model->graph, node, make_node(&arena, "OptionalHasElement", "o", "h"));
    ADD(&arena, model->graph, output, make_value(&arena, "h", -1, NULL));
    tg_diag diag;
    tg_graph *graph = read_model(&arena, model, &diag);
    ASSERT(graph);
    EXPECT_EQ(*(const uint8_t *)graph->outputs[0]->data, has);
    model->graph->node[1]->op_type = "OptionalGetElement";
    if (has)
      ACCEPTED(model);
    else
      REFUSED(model, "node 1 (OptionalGetElement): its input has no element");
    model->graph->node[1]->op_type = "Optional", model->graph->node[1]->output[0] = "o";
    REFUSED(model, "output \"o\" is defined twice");
    model->graph->node[1]->output[0] = "_", *model->graph->node[1]->output = "";
    REFUSED(model, "it must have one output and at most one input");
  }
  REFUSED(model_of(&arena, 18, make_node(&arena, "Optional", "x x", "o")),
          "it must have one output and at most one input");
  REFUSED(model_of(&arena, 18, make_node(&arena, "Optional", "x", "o p")),
          "it must have one output and at most one input");
  Onnx__ModelProto *model = model_of(&arena, 18, make_node(&arena, "Optional", "x", "o"));
  model->graph->n_input = 0;
  REFUSED(model, "input \"x\" is not defined before it");
  tg_arena_release(&arena);
}

/* A Gradient names its tensors twice, as operands and in attributes. */
TG_TEST(loader, gradients) {
  static const struct {
    const char *inputs, *outputs, *xs[2], *zs, *y, *says;
  } cases[] = {{"x", "d", {"x"}, NULL, "r", NULL},
               {"x w", "d", {"x"}, "w", "r", NULL},
               {"x w", "d e", {"x", "w"}, NULL, "r", NULL},
               {"x", "d", {NULL}, NULL, "r", "attributes xs and y are needed"},
               {"x", "d", {"x"}, NULL, NULL, "attributes xs and y are needed"},
               {"x", "d", {"x"}, NULL, "", "attributes xs and y are needed"},
               {"x w", "d", {"x"}, NULL, "r", "inputs other than the tensors xs and zs are not supported"},
               {"x", "d", {"w"}, NULL, "r", "inputs other than the tensors xs and zs are not supported"},
               {"x", "d", {"xx"}, NULL, "r", "inputs other than the tensors xs and zs are not supported"},
               {"x w", "d", {"x"}, "x", "r", "inputs other than the tensors xs and zs are not supported"},
               {"x", "d e", {"x"}, NULL, "r", "2 outputs for 1 tensors xs"},
               {"x", "d", {"x"}, NULL, "none", "input \"none\" is not defined before it"}};
  tg_arena arena = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Onnx__NodeProto *gradient = make_node(&arena, "Gradient", cases[i].inputs, cases[i].outputs);
    gradient->domain = "ai.onnx.preview.training";
    set_texts(&arena, gradient, "xs", cases[i].xs[0], cases[i].xs[1]);
    if (cases[i].zs) set_texts(&arena, gradient, "zs", cases[i].zs, NULL);
    if (cases[i].y) set_text(&arena, gradient, "y", cases[i].y);
    Onnx__ModelProto *model = model_of(&arena, 13, gradient);
    add_opset(&arena, model, "ai.onnx.preview.training", 1);
    model->graph->node[0] = make_node(&arena, "Relu", "x", "r");
    ADD(&arena, model->graph, node, gradient);
    if (cases[i].says)
      REFUSED(model, cases[i].says);
    else
      EXPECT(ACCEPTED(model));
  }
  tg_arena_release(&arena);
}

/* ---- bodies ---- */

/* An If whose branches are both `body`; what they compute is "r". */
static Onnx__ModelProto *if_of(tg_arena *arena, Onnx__GraphProto *body, const char *inputs) {
  Onnx__NodeProto *node = make_node(arena, "If", inputs, "y");
  make_attribute(arena, node, "then_branch", TYPE(GRAPH))->g = body;
  make_attribute(arena, node, "else_branch", TYPE(GRAPH))->g = body;
  return model_of(arena, 16, node);
}

TG_TEST(loader, bodies) {
  tg_arena arena = {0};
  Onnx__GraphProto *body = make_model(&arena, 16)->graph;
  ADD(&arena, body, node, make_node(&arena, "Relu", "c", "r"));
  ADD(&arena, body, output, make_value(&arena, "r", -1, NULL));
  Onnx__ModelProto *model = if_of(&arena, body, "c");
  EXPECT(ACCEPTED(model));
  REFUSED(if_of(&arena, body, "c c"), "2 inputs where 1 are needed");
  REFUSED(if_of(&arena, body, ""), "0 inputs where 1 are needed");
  ADD(&arena, body, input, make_value(&arena, "i", 2, sizes_2x3));
  EXPECT(ACCEPTED(model));
  ADD(&arena, body, input, make_value(&arena, "i", -1, NULL));
  REFUSED(model, "input 1 of its body has no name or is defined twice");
  body->input[1]->name = NULL;
  REFUSED(model, "input 1 of its body has no name or is defined twice");
  body->input[1] = make_value(&arena, "o", 2, sizes_2x3);
  Onnx__TypeProto__Optional optional = ONNX__TYPE_PROTO__OPTIONAL__INIT;
  body->input[1]->type->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
  body->input[1]->type->optional_type = &optional;
  REFUSED(model, "input \"o\" of its body is no tensor and no sequence");
  body->n_input = 0;
  Onnx__SparseTensorProto sparse = ONNX__SPARSE_TENSOR_PROTO__INIT;
  ADD(&arena, body, sparse_initializer, &sparse);
  REFUSED(model, "sparse initializers are not supported");
  body->n_sparse_initializer = 0;
  body->output[0]->name = "none";
  REFUSED(model, "output \"none\" of its body is not computed");
  body->output[0]->name = "r";
  model->graph->node[0]->attribute[1]->g = NULL;
  REFUSED(model, "its body is missing");
  model->graph->node[0]->n_attribute = 1;
  REFUSED(model, "its body is missing");
  Onnx__NodeProto *attention = make_node(&arena, "FlexAttention", "q k v", "y");
  attention->domain = "ai.onnx.preview";
  make_attribute(&arena, attention, "score_mod", TYPE(GRAPH))->g = body;
  model = model_of(&arena, 24, attention);
  body->node[0]->input[0] = "q";
  REFUSED(model, "score_mod has other than one input and one output");
  ADD(&arena, body, input, make_value(&arena, "s", -1, NULL));
  body->node[0]->input[0] = "s";
  EXPECT(ACCEPTED(model));
  ADD(&arena, body, output, make_value(&arena, "r", -1, NULL));
  REFUSED(model, "score_mod has other than one input and one output");
  tg_arena_release(&arena);
}

/* ---- functions ---- */

static Onnx__FunctionProto *function(tg_arena *arena, const char *name, const char *input,
                                     const char *output) {
  Onnx__FunctionProto *f = TG_NEW(arena, Onnx__FunctionProto);
  *f = (Onnx__FunctionProto)ONNX__FUNCTION_PROTO__INIT;
  f->name = (char *)(uintptr_t)name;
  f->domain = "own";
  ADD(arena, f, input, input);
  ADD(arena, f, output, output);
  return f;
}
static Onnx__NodeProto *call(tg_arena *arena, const char *name, const char *inputs, const char *outputs) {
  Onnx__NodeProto *node = make_node(arena, name, inputs, outputs);
  node->domain = "own";
  return node;
}

TG_TEST(loader, functions) {
  tg_arena arena = {0};
  Onnx__FunctionProto *leaky = function(&arena, "Leaky", "a", "b");
  Onnx__NodeProto *relu = make_node(&arena, "LeakyRelu", "a", "b");
  make_attribute(&arena, relu, "alpha", TYPE(FLOAT))->ref_attr_name = "slope";
  ADD(&arena, leaky, node, relu);
  Onnx__NodeProto *calls = call(&arena, "Leaky", "x", "y");
  Onnx__ModelProto *model = model_of(&arena, 13, calls);
  add_opset(&arena, model, "own", 1);
  REFUSED(model, "node 0 (Leaky): the operator is not supported in domain \"own\"");
  ADD(&arena, model, functions, leaky);
  tg_node *node = ACCEPTED(model); /* the attribute is not given: LeakyRelu's own default */
  if (node)
    EXPECT(tg_attr_float(node, TG_ATTR_ALPHA) == (double)0.01f || tg_attr_float(node, TG_ATTR_ALPHA) == 0.01);
  Onnx__AttributeProto slope = ONNX__ATTRIBUTE_PROTO__INIT;
  slope.name = "slope", slope.has_type = true, slope.type = TYPE(FLOAT), slope.has_f = true, slope.f = 0.25f;
  ADD(&arena, leaky, attribute_proto, &slope); /* the function's */
  node = ACCEPTED(model);
  if (node) EXPECT(tg_attr_float(node, TG_ATTR_ALPHA) == 0.25);
  set_float(&arena, calls, "slope", 0.5f); /* the caller's */
  node = ACCEPTED(model);
  if (node) EXPECT(tg_attr_float(node, TG_ATTR_ALPHA) == 0.5);
  set_float(&arena, relu, "other", 0); /* what names no attribute of the function stays */
  REFUSED(model, "attribute \"other\" is not supported");
  relu->n_attribute = 1;
  calls->overload = "of another kind";
  REFUSED(model, "the operator is not supported in domain \"own\"");
  leaky->overload = "of another kind";
  EXPECT(ACCEPTED(model));
  /* Its own opset counts: Softmax is over all that follows before 13. */
  ADD(&arena, leaky, node, make_node(&arena, "Softmax", "a", "s"));
  for (int opset = 12; opset <= 13; opset++) {
    Onnx__OperatorSetIdProto *set = TG_NEW(&arena, Onnx__OperatorSetIdProto);
    *set = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
    set->domain = opset == 12 ? "ai.onnx" : NULL, set->has_version = true, set->version = opset;
    leaky->n_opset_import = 0;
    ADD(&arena, leaky, opset_import, set);
    node = ACCEPTED(model);
    if (node) EXPECT_EQ(tg_attr_int(node->next, TG_ATTR_FLATTEN), opset == 12);
    set->domain = "own"; /* of its calls: the model's opset then */
    node = ACCEPTED(model);
    if (node) EXPECT_EQ(tg_attr_int(node->next, TG_ATTR_FLATTEN), 0);
  }
  tg_arena_release(&arena);
}

TG_TEST(loader, operands_of_functions) {
  tg_arena arena = {0};
  Onnx__FunctionProto *f = function(&arena, "F", "a", "r");
  ADD(&arena, f, node, make_node(&arena, "Relu", "a", "r"));
  Onnx__ModelProto *model = model_of(&arena, 13, call(&arena, "F", "x", "y"));
  ADD(&arena, model, functions, f);
  EXPECT(ACCEPTED(model));
  Onnx__NodeProto *calls = model->graph->node[0];
  calls->input[0] = "none";
  REFUSED(model, "node 0 (F): input \"none\" is not defined before it");
  calls->input[0] = "x";
  ADD(&arena, calls, input, "x");
  REFUSED(model, "2 inputs and 1 outputs, the function has 1 and 1");
  calls->n_input = 1;
  ADD(&arena, calls, output, "z");
  REFUSED(model, "1 inputs and 2 outputs, the function has 1 and 1");
  calls->n_output = 1;
  ADD(&arena, f, input, "a");
  REFUSED(model, "input \"a\" of the function is defined twice");
  f->input[1] = "b"; /* left out */
  EXPECT(ACCEPTED(model));
  f->node[0]->input[0] = "b";
  REFUSED(model, "input 0 is missing");
  f->node[0]->input[0] = "a";
  f->output[0] = "none";
  REFUSED(model, "output \"none\" is not computed");
  f->output[0] = "a"; /* what it was given */
  EXPECT(ACCEPTED(model));
  ADD(&arena, f, output, "none");
  ADD(&arena, calls, output, ""); /* which nobody wants */
  model->graph->n_output = 1;
  ACCEPTED(model);
  f->node[0]->input[0] = "none";
  REFUSED(model, "input \"none\" is not defined before it");
  tg_arena_release(&arena);
}

/* Functions that call each other: themselves, or each the next one twice. */
TG_TEST(loader, functions_within_functions) {
  tg_arena arena = {0};
  Onnx__FunctionProto *f = function(&arena, "F0", "a", "r");
  ADD(&arena, f, node, call(&arena, "F0", "a", "r"));
  Onnx__ModelProto *model = model_of(&arena, 13, call(&arena, "F0", "x", "y"));
  ADD(&arena, model, functions, f);
  REFUSED(model, "functions are nested too deeply");
  f->n_node = 0;
  for (int i = 1; i <= 16; i++) {
    const char *name = tg_arena_printf(&arena, "F%d", i);
    ADD(&arena, f, node, call(&arena, name, "a", "p"));
    ADD(&arena, f, node, call(&arena, name, "p", "r"));
    f = function(&arena, name, "a", "r");
    ADD(&arena, model, functions, f);
  }
  ADD(&arena, f, node, make_node(&arena, "Relu", "a", "r"));
  REFUSED(model, "its functions and bodies are entered more than 16384 times");
  tg_arena_release(&arena);
}

TG_TEST(loader, functions_of_many_nodes) {
  enum { NODES = 2048, CALLS = 66 };
  tg_arena arena = {0};
  Onnx__FunctionProto *f = function(&arena, "F", "a", "r");
  Onnx__NodeProto **nodes = TG_NEW_ARRAY(&arena, Onnx__NodeProto *, NODES);
  for (int i = 0; i < NODES; i++)
    nodes[i] = make_node(&arena, "Relu", "a", i ? tg_arena_printf(&arena, "r%d", i) : "r");
  f->node = nodes, f->n_node = NODES;
  Onnx__ModelProto *model = model_of(&arena, 13, call(&arena, "F", "x", "y"));
  ADD(&arena, model, functions, f);
  for (int i = 1; i < CALLS; i++)
    ADD(&arena, model->graph, node, call(&arena, "F", "x", tg_arena_printf(&arena, "y%d", i)));
  REFUSED(model, "node 65 (F): functions make more than 131072 nodes");
  model->graph->n_node--;
  EXPECT(ACCEPTED(model));
  tg_arena_release(&arena);
}

/* ---- rewriting ---- */

static const Onnx__TensorProto *tensor_called(const Onnx__ModelProto *model, const char *name) {
  for (size_t i = 0; i < model->graph->n_initializer; i++)
    if (!strcmp(model->graph->initializer[i]->name, name)) return model->graph->initializer[i];
  for (size_t n = 0; n < model->graph->n_node; n++)
    if (!strcmp(model->graph->node[n]->output[0], name)) return model->graph->node[n]->attribute[0]->t;
  return NULL;
}

/* An initializer of BF16, one in a file, a Constant, and an Identity of the first. */
static Onnx__ModelProto *to_rewrite(tg_arena *arena) {
  static const uint8_t halves[] = {0x80, 0x3f, 0, 0x40};
  static const float numbers[] = {5, 6};
  static const int64_t whole[] = {7, 8};
  int64_t two = 2;
  Onnx__ModelProto *model = model_of(arena, 13, make_node(arena, "Relu", "x", "y"));
  ADD(arena, model->graph, initializer, make_tensor(arena, "b", BF16, 1, &two, halves, sizeof halves));
  ADD(arena, model->graph, initializer, external(arena, "e", F32, 2, "rewrite.bin", "4"));
  ADD(arena, model->graph, initializer, make_tensor(arena, "n", I64, 1, &two, whole, sizeof whole));
  Onnx__NodeProto *constant = make_node(arena, "Constant", "", "c");
  make_attribute(arena, constant, "value", TYPE(TENSOR))->t =
      make_tensor(arena, "", F32, 1, &two, numbers, sizeof numbers);
  ADD(arena, model->graph, node, constant);
  ADD(arena, model->graph, node, make_node(arena, "Identity", "b", "i"));
  ADD(arena, model->graph, node, make_node(arena, "Identity", "x", "j"));
  return model;
}

static Onnx__ModelProto *model_in(tg_arena *arena, const char *path) {
  size_t size;
  const char *bytes = read_text(arena, path, &size);
  return bytes ? onnx__model_proto__unpack(NULL, size, (const uint8_t *)bytes) : NULL;
}

TG_TEST(loader, constants_are_written_anew) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  static const float data[] = {9, 1, 2}, more[] = {1.0009765625f, -3};
  const char *dir = tg_test_dir(), *to = tg_arena_printf(&arena, "%s/to.onnx", dir);
  write_bytes(tg_arena_printf(&arena, "%s/rewrite.bin", dir), data, sizeof data);
  const char *from = write_model_file(&arena, to_rewrite(&arena), "from.onnx");
  const tg_onnx_values values[] = {{"c", more, 2}, {"i", more, 2}};
  EXPECT_EQ(tg_onnx_rewrite(from, to, values, 2, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  Onnx__ModelProto *model = model_in(&arena, to);
  ASSERT(model);
  EXPECT_EQ(model->graph->n_initializer, 4); /* the Identity has become one */
  EXPECT_EQ(model->graph->n_node, 3);
  float got[2];
  const Onnx__TensorProto *t = tensor_called(model, "e");
  ASSERT(t && t->raw_data.len == sizeof got);
  memcpy(got, t->raw_data.data, sizeof got);
  EXPECT(got[0] == 1 && got[1] == 2 && !t->n_external_data);
  t = tensor_called(model, "c");
  ASSERT(t && t->raw_data.len == sizeof got);
  EXPECT(!memcmp(t->raw_data.data, more, sizeof more));
  static const uint8_t rounded[] = {0x80, 0x3f, 0x40, 0xc0}, as_before[] = {0x80, 0x3f, 0, 0x40};
  t = tensor_called(model, "i");
  ASSERT(t && t->raw_data.len == sizeof rounded);
  EXPECT(t->data_type == BF16 && !memcmp(t->raw_data.data, rounded, sizeof rounded));
  t = tensor_called(model, "b");
  ASSERT(t && t->raw_data.len == sizeof as_before);
  EXPECT(!memcmp(t->raw_data.data, as_before, sizeof as_before));
  onnx__model_proto__free_unpacked(model, NULL);
  /* An initializer that lies in a file, by its own name. */
  const tg_onnx_values beside = {"e", more, 2};
  EXPECT_EQ(tg_onnx_rewrite(from, to, &beside, 1, &diag), TG_OK);
  model = model_in(&arena, to);
  ASSERT(model);
  t = tensor_called(model, "e");
  EXPECT(t && t->raw_data.len == sizeof more && !memcmp(t->raw_data.data, more, sizeof more));
  onnx__model_proto__free_unpacked(model, NULL);
  tg_arena_release(&arena);
}

TG_TEST(loader, what_is_no_constant_is_not_written) {
  static const float numbers[] = {1, 2, 3};
  static const struct {
    tg_onnx_values values;
    const char *says;
  } cases[] = {{{"x", numbers, 2}, "has no constant \"x\""},
               {{"y", numbers, 2}, "has no constant \"y\""},
               {{"j", numbers, 2}, "has no constant \"j\""},
               {{"b", numbers, 3}, "constant \"b\" is no float tensor of 3 elements"},
               {{"n", numbers, 2}, "constant \"n\" is no float tensor of 2 elements"}};
  tg_arena arena = {0};
  const char *dir = tg_test_dir(), *to = tg_arena_printf(&arena, "%s/not.onnx", dir);
  static const float data[3];
  write_bytes(tg_arena_printf(&arena, "%s/rewrite.bin", dir), data, sizeof data);
  Onnx__ModelProto *model = to_rewrite(&arena);
  const char *from = write_model_file(&arena, model, "from.onnx");
  tg_diag diag;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    diag = (tg_diag){""};
    EXPECT_EQ(tg_onnx_rewrite(from, to, &cases[i].values, 1, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    EXPECT_HAS(diag.message, from);
  }
  diag = (tg_diag){""};
  EXPECT_EQ(tg_onnx_rewrite(tg_arena_printf(&arena, "%s/none.onnx", dir), to, NULL, 0, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "none.onnx: No such file");
  diag = (tg_diag){""};
  model->graph->initializer[1]->external_data[0]->value = "none.bin";
  from = write_model_file(&arena, model, "lost.onnx");
  EXPECT_EQ(tg_onnx_rewrite(from, to, NULL, 0, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "lost.onnx: tensor \"e\": external data \"none.bin\": No such file");
  diag = (tg_diag){""};
  model->graph = NULL;
  EXPECT_EQ(tg_onnx_rewrite(write_model_file(&arena, model, "empty.onnx"), to, NULL, 0, &diag), TG_INVALID);
  EXPECT(!read_text(&arena, to, NULL));
  tg_arena_release(&arena);
}
