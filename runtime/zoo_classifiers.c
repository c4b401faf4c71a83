/* Classifiers of images, with the layers and names of torchvision's. Smaller images and fewer channels: --size, --hidden. */
#include "runtime/zoo_layers.h"

#include <inttypes.h>

typedef enum activation { LINEAR, RELU, RELU6, HARD_SWISH, SILU } activation;

static tg_value *activated(tg_zoo_model *z, const char *layer, tg_value *x, activation kind) {
  tg_builder *b = z->builder;
  const char *name = tg_zoo_part(z, layer, "act");
  switch (kind) {
  case RELU: return tg_builder_unary(b, TG_OP_RELU, name, x);
  case HARD_SWISH: return tg_builder_unary(b, TG_OP_HARD_SWISH, name, x);
  case SILU: return tg_zoo_silu(z, layer, x);
  case RELU6: {
    tg_value *bounds[] = {x, tg_builder_scalar(b, tg_zoo_part(z, layer, "least"), TG_F32, 0),
                          tg_builder_scalar(b, tg_zoo_part(z, layer, "most"), TG_F32, 6)};
    return tg_builder_op(b, TG_OP_CLIP, name, bounds, 3);
  }
  default: return x;
  }
}

/* A convolution as torchvision's Conv2dNormActivation: layer.0 and layer.1. `groups` divides both channels. */
static tg_value *block(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out, int kernel,
                       int stride, int64_t groups, activation kind) {
  tg_window window = {.kernel = kernel, .stride = stride, .padding = (kernel - 1) / 2, .group = (int)groups};
  x = tg_zoo_conv(z, tg_zoo_part(z, layer, "0"), x, in / groups, out, window, false);
  return activated(z, layer, tg_zoo_norm(z, tg_zoo_part(z, layer, "1"), x, out, kind == LINEAR ? 0.25f : 1),
                   kind);
}

/* The next multiple of 8 to `channels` times `width` / `standard` that is not below nine tenths of it. */
static int64_t scaled(int64_t channels, int64_t width, int64_t standard) {
  double exact = (double)channels * (double)width / (double)standard;
  int64_t rounded = (int64_t)(exact + 4) / 8 * 8;
  if (rounded < 8) rounded = 8;
  return (double)rounded < 0.9 * exact ? rounded + 8 : rounded;
}

/* Channels weighed by what their means say: squeeze and excitation. */
static tg_value *excited(tg_zoo_model *z, const char *layer, tg_value *x, int64_t channels, int64_t squeezed,
                         bool hard) {
  tg_builder *b = z->builder;
  const char *first = tg_zoo_part(z, layer, "fc1"), *second = tg_zoo_part(z, layer, "fc2");
  tg_value *s = tg_builder_unary(b, TG_OP_GLOBAL_AVERAGE_POOL, tg_zoo_part(z, layer, "avgpool"), x);
  s = activated(z, first, tg_zoo_conv(z, first, s, channels, squeezed, (tg_window){.kernel = 1}, true),
                hard ? RELU : SILU);
  s = tg_zoo_conv(z, second, s, squeezed, channels, (tg_window){.kernel = 1}, true);
  s = tg_builder_unary(b, hard ? TG_OP_HARD_SIGMOID : TG_OP_SIGMOID, tg_zoo_part(z, layer, "gate"), s);
  if (hard && s) tg_attr_set_float(s->producer, TG_ATTR_ALPHA, 1.0 / 6);
  return tg_builder_binary(b, TG_OP_MUL, layer, x, s);
}

static tg_value *pooled(tg_zoo_model *z, tg_value *x, int64_t channels) {
  x = tg_builder_unary(z->builder, TG_OP_GLOBAL_AVERAGE_POOL, "avgpool", x);
  return tg_builder_reshape(z->builder, "flatten", x, 2, (int64_t[]){0, channels});
}

static tg_zoo_model begin(tg_arena *arena, const char *name, const tg_zoo_options *o, int64_t side,
                          tg_value **out_image) {
  tg_zoo_model z = tg_zoo_begin(arena, name, o);
  *out_image = tg_zoo_batched(&z, "image", o->batch, 4, (int64_t[]){3, side, side});
  return z;
}

/* --- ResNet-50 */

/* 1 x 1, 3 x 3 and 1 x 1, and the way around them. */
static tg_value *bottleneck(tg_zoo_model *z, const char *name, tg_value *x, int64_t in, int64_t width,
                            int stride) {
  const struct {
    const char *conv, *norm;
    int64_t in, out;
    tg_window window;
  } layers[] = {{"conv1", "bn1", in, width, {.kernel = 1}},
                {"conv2", "bn2", width, width, {.kernel = 3, .stride = stride, .padding = 1}},
                {"conv3", "bn3", width, 4 * width, {.kernel = 1}}};
  tg_value *y = x;
  for (int i = 0; i < 3; i++) {
    y = tg_zoo_conv(z, tg_zoo_part(z, name, layers[i].conv), y, layers[i].in, layers[i].out, layers[i].window,
                    false);
    y = tg_zoo_norm(z, tg_zoo_part(z, name, layers[i].norm), y, layers[i].out, i == 2 ? 0.25f : 1);
    if (i < 2) y = tg_zoo_relu(z, tg_zoo_part(z, name, layers[i].conv), y);
  }
  if (stride != 1 || in != 4 * width) {
    x = tg_zoo_conv(z, tg_zoo_part(z, name, "downsample.0"), x, in, 4 * width,
                    (tg_window){.kernel = 1, .stride = stride}, false);
    x = tg_zoo_norm(z, tg_zoo_part(z, name, "downsample.1"), x, 4 * width, 1);
  }
  return tg_zoo_relu(z, name, tg_builder_binary(z->builder, TG_OP_ADD, tg_zoo_part(z, name, "add"), y, x));
}

tg_status tg_zoo_resnet50(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  static const int blocks[] = {3, 4, 6, 3};
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : 64, channels = width;
  if (tg_zoo_check_sizes("resnet50", side, width, 32, diag)) return TG_INVALID;
  tg_value *x;
  tg_zoo_model z = begin(arena, "resnet50", o, side, &x);
  x = tg_zoo_conv(&z, "conv1", x, 3, width, (tg_window){.kernel = 7, .stride = 2, .padding = 3}, false);
  x = tg_zoo_relu(&z, "conv1", tg_zoo_norm(&z, "bn1", x, width, 1));
  x = tg_builder_pool(z.builder, TG_OP_MAX_POOL, "maxpool", x,
                      (tg_window){.kernel = 3, .stride = 2, .padding = 1});
  for (int stage = 0; stage < 4; stage++)
    for (int i = 0; i < blocks[stage]; i++) {
      x = bottleneck(&z, tg_arena_printf(arena, "layer%d.%d", stage + 1, i), x, channels, width << stage,
                     stage && !i ? 2 : 1);
      channels = 4 * (width << stage);
    }
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "fc", pooled(&z, x, channels), channels, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* --- VGG-16 */

tg_status tg_zoo_vgg16(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  static const int stages[] = {2, 2, 3, 3, 3}, widths[] = {1, 2, 4, 8, 8};
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : 64, channels = 3, last = side / 32;
  if (tg_zoo_check_sizes("vgg16", side, width, 64, diag)) return TG_INVALID;
  if (last < 1 || last * last > 49)
    return tg_fail(diag, TG_INVALID, "vgg16: --size %" PRId64 " is not from 32 to 255", side);
  tg_value *x;
  tg_zoo_model z = begin(arena, "vgg16", o, side, &x);
  int index = 0; /* of torchvision's list of layers: convolution, activation, .., pool */
  for (int stage = 0; stage < 5; stage++, index++) {
    for (int i = 0; i < stages[stage]; i++, index += 2) {
      const char *layer = tg_arena_printf(arena, "features.%d", index);
      x = tg_zoo_conv(&z, layer, x, channels, widths[stage] * width, (tg_window){.kernel = 3, .padding = 1},
                      true);
      x = tg_zoo_relu(&z, layer, x);
      channels = widths[stage] * width;
    }
    x = tg_zoo_pool(&z, tg_arena_printf(arena, "features.%d", index), x);
  }
  int64_t features = channels * last * last;
  x = tg_builder_reshape(z.builder, "flatten", x, 2, (int64_t[]){0, features});
  x = tg_zoo_relu(&z, "classifier.0", tg_zoo_linear(&z, "classifier.0", x, features, 64 * width));
  x = tg_zoo_relu(&z, "classifier.3", tg_zoo_linear(&z, "classifier.3", x, 64 * width, 64 * width));
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "classifier.6", x, 64 * width, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* --- inverted residuals */

typedef struct inverted {
  int64_t in, expanded, out, squeezed; /* squeezed 0: no excitation */
  int kernel, stride;
  activation kind;
  bool hard; /* the excitation's functions: of MobileNetV3, else EfficientNet's */

} inverted;

/* 1 x 1 to more channels, depthwise, excitation, 1 x 1 back; added to x where the shape is the same. */
static tg_value *inverted_residual(tg_zoo_model *z, const char *name, tg_value *x, const inverted *v) {
  int part = 0;
  tg_value *y = x;
  if (v->expanded != v->in)
    y = block(z, tg_arena_printf(z->arena, "%s.%d", name, part++), y, v->in, v->expanded, 1, 1, 1, v->kind);
  y = block(z, tg_arena_printf(z->arena, "%s.%d", name, part++), y, v->expanded, v->expanded, v->kernel,
            v->stride, v->expanded, v->kind);
  if (v->squeezed)
    y = excited(z, tg_arena_printf(z->arena, "%s.%d", name, part++), y, v->expanded, v->squeezed, v->hard);
  y = block(z, tg_arena_printf(z->arena, "%s.%d", name, part), y, v->expanded, v->out, 1, 1, 1, LINEAR);
  if (v->stride != 1 || v->in != v->out) return y;
  return tg_builder_binary(z->builder, TG_OP_ADD, tg_zoo_part(z, name, "add"), x, y);
}

tg_status tg_zoo_mobilenetv2(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  enum { STEM = 32 };
  static const int settings[][4] = {
      {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
      {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}; /* factor, channels, repeats, stride */
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : STEM;
  if (tg_zoo_check_sizes("mobilenetv2", side, width, 40, diag)) return TG_INVALID;
  int64_t channels = scaled(STEM, width, STEM);
  tg_value *x;
  tg_zoo_model z = begin(arena, "mobilenetv2", o, side, &x);
  x = block(&z, "features.0", x, 3, channels, 3, 2, 1, RELU6);
  int index = 1;
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
    for (int i = 0; i < settings[s][2]; i++) {
      inverted v = {.in = channels,
                    .expanded = channels * settings[s][0],
                    .out = scaled(settings[s][1], width, STEM),
                    .kernel = 3,
                    .stride = i ? 1 : settings[s][3],
                    .kind = RELU6};
      x = inverted_residual(&z, tg_arena_printf(arena, "features.%d.conv", index++), x, &v);
      channels = v.out;
    }
  int64_t last = width > STEM ? scaled(1280, width, STEM) : 1280;
  x = block(&z, "features.18", x, channels, last, 1, 1, 1, RELU6);
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "classifier.1", pooled(&z, x, last), last, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}

tg_status tg_zoo_mobilenetv3(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  enum { STEM = 16 };
  static const struct {
    int kernel, expanded, out, excited;
    activation kind;
    int stride;
  } rows[] = {{3, 16, 16, 1, RELU, 2},        {3, 72, 24, 0, RELU, 2},        {3, 88, 24, 0, RELU, 1},
              {5, 96, 40, 1, HARD_SWISH, 2},  {5, 240, 40, 1, HARD_SWISH, 1}, {5, 240, 40, 1, HARD_SWISH, 1},
              {5, 120, 48, 1, HARD_SWISH, 1}, {5, 144, 48, 1, HARD_SWISH, 1}, {5, 288, 96, 1, HARD_SWISH, 2},
              {5, 576, 96, 1, HARD_SWISH, 1}, {5, 576, 96, 1, HARD_SWISH, 1}};
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : STEM;
  if (tg_zoo_check_sizes("mobilenetv3-small", side, width, 64, diag)) return TG_INVALID;
  int64_t channels = scaled(STEM, width, STEM);
  tg_value *x;
  tg_zoo_model z = begin(arena, "mobilenetv3-small", o, side, &x);
  x = block(&z, "features.0", x, 3, channels, 3, 2, 1, HARD_SWISH);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    inverted v = {.in = channels,
                  .expanded = scaled(rows[i].expanded, width, STEM),
                  .out = scaled(rows[i].out, width, STEM),
                  .kernel = rows[i].kernel,
                  .stride = rows[i].stride,
                  .kind = rows[i].kind,
                  .hard = true};
    if (rows[i].excited) v.squeezed = scaled(v.expanded, 1, 4);
    x = inverted_residual(&z, tg_arena_printf(arena, "features.%zu.block", i + 1), x, &v);
    channels = v.out;
  }
  int64_t wide = 6 * channels, last = scaled(1024, width, STEM);
  x = pooled(&z, block(&z, "features.12", x, channels, wide, 1, 1, 1, HARD_SWISH), wide);
  x = activated(&z, "classifier.0", tg_zoo_linear(&z, "classifier.0", x, wide, last), HARD_SWISH);
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "classifier.3", x, last, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}

tg_status tg_zoo_efficientnet(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  enum { STEM = 32 };
  static const int settings[][5] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                                    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : STEM;
  if (tg_zoo_check_sizes("efficientnet-b0", side, width, 40, diag)) return TG_INVALID;
  int64_t channels = scaled(STEM, width, STEM);
  tg_value *x;
  tg_zoo_model z = begin(arena, "efficientnet-b0", o, side, &x);
  x = block(&z, "features.0", x, 3, channels, 3, 2, 1, SILU);
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
    for (int i = 0; i < settings[s][4]; i++) {
      int64_t squeezed = channels / 4;
      inverted v = {.in = channels,
                    .expanded = scaled(channels * settings[s][0], 1, 1),
                    .out = scaled(settings[s][3], width, STEM),
                    .squeezed = squeezed ? squeezed : 1,
                    .kernel = settings[s][1],
                    .stride = i ? 1 : settings[s][2],
                    .kind = SILU};
      x = inverted_residual(&z, tg_arena_printf(arena, "features.%zu.%d.block", s + 1, i), x, &v);
      channels = v.out;
    }
  int64_t last = 4 * channels;
  x = pooled(&z, block(&z, "features.8", x, channels, last, 1, 1, 1, SILU), last);
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "classifier.1", x, last, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}
