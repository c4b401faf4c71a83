#include "runtime/zoo.h"
#include "runtime/zoo_layers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool too_large(int64_t a, int64_t b) { return a > TG_MAX_ELEMENTS / b; }

static tg_status build_gemm(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  if (too_large(o->m, o->k) || too_large(o->k, o->n) || too_large(o->m, o->n))
    return tg_fail(diag, TG_INVALID,
                   "gemm: %" PRId64 " x %" PRId64 " x %" PRId64 " has a matrix of more than 2^34 elements",
                   o->m, o->n, o->k);
  if (o->constant_b && too_large(o->k, 32 * o->n)) /* protobuf ends at 2 GB */
    return tg_fail(diag, TG_INVALID,
                   "gemm: a weight of %" PRId64 " x %" PRId64 " does not fit into an ONNX file", o->k, o->n);
  tg_zoo_model z = tg_zoo_begin(arena, "gemm", o);
  tg_value *a = tg_builder_input(z.builder, "A", TG_F32, 2, (int64_t[]){o->m, o->k});
  int64_t sizes[] = {o->k, o->n};
  tg_value *b = o->constant_b
                    ? tg_builder_seeded(z.builder, "B", TG_F32, 2, sizes, z.seed, sqrtf(3.0f / (float)o->k))
                    : tg_builder_input(z.builder, "B", TG_F32, 2, sizes);
  tg_builder_output(z.builder, "C", tg_builder_matmul(z.builder, "matmul", a, b));
  return tg_builder_finish(z.builder, out_graph, diag);
}

static tg_status build_mlp(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  tg_zoo_model z = tg_zoo_begin(arena, "mlp", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 2, (int64_t[]){784});
  x = tg_zoo_relu(&z, "fc1", tg_zoo_linear(&z, "fc1", x, 784, 256));
  x = tg_zoo_relu(&z, "fc2", tg_zoo_linear(&z, "fc2", x, 256, 128));
  x = tg_zoo_linear(&z, "fc3", x, 128, 10);
  tg_builder_output(z.builder, "probabilities", tg_builder_softmax(z.builder, "softmax", x, 1));
  return tg_builder_finish(z.builder, out_graph, diag);
}

static tg_status build_lenet(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  tg_zoo_model z = tg_zoo_begin(arena, "lenet", o);
  tg_value *x = tg_zoo_batched(&z, "image", o->batch, 4, (int64_t[]){1, 28, 28});
  x = tg_zoo_pool(
      &z, "pool1",
      tg_zoo_relu(&z, "conv1",
                  tg_zoo_conv(&z, "conv1", x, 1, 6, (tg_window){.kernel = 5, .padding = 2}, true)));
  x = tg_zoo_pool(
      &z, "pool2",
      tg_zoo_relu(&z, "conv2", tg_zoo_conv(&z, "conv2", x, 6, 16, (tg_window){.kernel = 5}, true)));
  x = tg_builder_reshape(z.builder, "flatten", x, 2, (int64_t[]){0, 400});
  x = tg_zoo_relu(&z, "fc1", tg_zoo_linear(&z, "fc1", x, 400, 120));
  x = tg_zoo_relu(&z, "fc2", tg_zoo_linear(&z, "fc2", x, 120, 84));
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "fc3", x, 84, 10));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* SambaFlow's example of GraphAMP; with a region, the second product is in the bf16 that the user wrote
 * there. */
static tg_status build_matmuls(tg_arena *arena, const tg_zoo_options *o, bool region, tg_graph **out_graph,
                               tg_diag *diag) {
  tg_zoo_model z = tg_zoo_begin(arena, region ? "two-matmuls-region" : "two-matmuls", o);
  const int64_t square[] = {64, 64};
  tg_value *a = tg_builder_input(z.builder, "a", TG_F32, 2, square);
  tg_value *b = tg_builder_input(z.builder, "b", TG_F32, 2, square);
  tg_value *c = tg_builder_input(z.builder, "c", TG_F32, 2, square);
  tg_value *x = tg_builder_matmul(z.builder, "matmul_1", a, b);
  x = tg_builder_unary(z.builder, TG_OP_RELU, "act_1", x);
  if (region) {
    tg_builder_begin_disable_graphamp(z.builder);
    x = tg_builder_cast(z.builder, "act_1.bfloat16", x, TG_BF16);
    c = tg_builder_cast(z.builder, "c.bfloat16", c, TG_BF16);
  }
  x = tg_builder_matmul(z.builder, "matmul_2", x, c);
  tg_builder_output(z.builder, "out", tg_builder_unary(z.builder, TG_OP_RELU, "act_2", x));
  if (region) tg_builder_end_disable_graphamp(z.builder);
  return tg_builder_finish(z.builder, out_graph, diag);
}

static tg_status build_two_matmuls(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph,
                                   tg_diag *diag) {
  return build_matmuls(arena, o, false, out_graph, diag);
}

static tg_status build_region(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  return build_matmuls(arena, o, true, out_graph, diag);
}

const tg_zoo_entry tg_zoo[] = {
    {"gemm", "one matrix product C[m,n] = A[m,k] B[k,n]", build_gemm},
    {"mlp", "784-256-128-10 with ReLU and softmax", build_mlp},
    {"lenet", "LeNet-5 with ReLU and maximum pooling on 28 x 28 images", build_lenet},
    {"attention", "multi-head self-attention of a transformer layer", tg_zoo_attention},
    {"bert-base", "BERT on token ids: embeddings and layers, without a head", tg_zoo_bert_base},
    {"bert-layer", "a transformer layer of BERT: attention, feed-forward network, normalisation",
     tg_zoo_bert_layer},
    {"bert-mlm", "that layer with BERT's masked-language-model head: scores of a vocabulary for each token",
     tg_zoo_bert_mlm},
    {"convmodel", "1 x 1 convolutions with batch normalisation on a grid", tg_zoo_convmodel},
    {"resnet18", "ResNet-18 for 1000 classes", tg_zoo_resnet18},
    {"resnet50", "ResNet-50 for 1000 classes", tg_zoo_resnet50},
    {"vgg16", "VGG-16 for 1000 classes", tg_zoo_vgg16},
    {"mobilenetv2", "MobileNetV2 for 1000 classes: inverted residuals", tg_zoo_mobilenetv2},
    {"mobilenetv3-small", "MobileNetV3, the small one: with squeeze and excitation", tg_zoo_mobilenetv3},
    {"efficientnet-b0", "EfficientNet-B0 for 1000 classes", tg_zoo_efficientnet},
    {"unet", "U-Net: from an image to a mask", tg_zoo_unet},
    {"diffusion-block", "a block of a diffusion model's U-Net: residual block with the time, attention",
     tg_zoo_diffusion_block},
    {"lstm-lm", "a language model of LSTM layers: scores of a vocabulary for each token", tg_zoo_lstm_lm},
    {"vit-tiny", "a vision transformer for 1000 classes, of DeiT's tiny size", tg_zoo_vit_tiny},
    {"whisper-encoder", "the encoder of Whisper, tiny: from a spectrogram to vectors",
     tg_zoo_whisper_encoder},
    {"whisper-decoder", "the decoder of Whisper, tiny: scores of the next word for each token",
     tg_zoo_whisper_decoder},
    {"two-matmuls", "the example of GraphAMP's documentation: two products, each with ReLU",
     build_two_matmuls},
    {"two-matmuls-region", "the same, the second product in a region that keeps the user's bf16",
     build_region},
    {0},
};

tg_status tg_zoo_build(tg_arena *arena, const char *name, const tg_zoo_options *options, tg_graph **out_graph,
                       tg_diag *diag) {
  for (const tg_zoo_entry *entry = tg_zoo; entry->name; entry++)
    if (!strcmp(entry->name, name)) return entry->build(arena, options, out_graph, diag);
  return tg_fail(diag, TG_INVALID, "no model \"%s\" in the zoo: see tegula zoo --list", name);
}
