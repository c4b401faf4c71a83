/* Convolutional models of the zoo. */
#include "runtime/zoo_layers.h"

static tg_value *ones(tg_zoo_model *z, const char *name, int64_t count) {
  float *data = TG_NEW_ARRAY(z->arena, float, (size_t)count);
  for (int64_t i = 0; i < count; i++) data[i] = 1;
  return tg_builder_constant(z->builder, name, TG_F32, 1, &count, data);
}

static tg_value *batch_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t channels) {
  tg_value *inputs[] = {x, ones(z, tg_zoo_part(z, layer, "weight"), channels),
                        tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), channels),
                        tg_zoo_bias(z, tg_zoo_part(z, layer, "mean"), channels),
                        ones(z, tg_zoo_part(z, layer, "variance"), channels)};
  return tg_builder_batch_normalization(z->builder, layer, inputs, 1e-5);
}

static tg_value *conv_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                           tg_window window, bool biased) {
  x = tg_zoo_conv(z, layer, x, in, out, window, biased);
  return batch_norm(z, tg_zoo_part(z, layer, "norm"), x, out);
}

/* ROCm's example of mixed precision: 2 channels to `hidden`, two hidden layers, one channel. */
tg_status tg_zoo_convmodel(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  int64_t side = o->size ? o->size : 512, hidden = o->hidden ? o->hidden : 256;
  if (tg_zoo_check_sizes("convmodel", side, hidden, 1, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "convmodel", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 4, (int64_t[]){2, side, side});
  for (int layer = 0; layer < 3; layer++) {
    const char *name = tg_arena_printf(arena, "conv%d", layer);
    x = conv_norm(&z, name, x, layer ? hidden : 2, hidden, (tg_window){.kernel = 1}, true);
    x = tg_zoo_relu(&z, name, x);
  }
  tg_builder_output(z.builder, "y", tg_zoo_conv(&z, "out", x, hidden, 1, (tg_window){.kernel = 1}, true));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* Two 3 x 3 convolutions and the way around them. */
static tg_value *basic_block(tg_zoo_model *z, const char *name, tg_value *x, int64_t in, int64_t out,
                             int stride) {
  tg_value *y = conv_norm(z, tg_zoo_part(z, name, "conv1"), x, in, out,
                          (tg_window){.kernel = 3, .stride = stride, .padding = 1}, false);
  y = tg_zoo_relu(z, tg_zoo_part(z, name, "conv1"), y);
  y = conv_norm(z, tg_zoo_part(z, name, "conv2"), y, out, out, (tg_window){.kernel = 3, .padding = 1}, false);
  if (stride != 1 || in != out)
    x = conv_norm(z, tg_zoo_part(z, name, "downsample"), x, in, out,
                  (tg_window){.kernel = 1, .stride = stride}, false);
  return tg_zoo_relu(z, name, tg_builder_binary(z->builder, TG_OP_ADD, tg_zoo_part(z, name, "add"), y, x));
}

tg_status tg_zoo_resnet18(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : 64, channels = width;
  if (tg_zoo_check_sizes("resnet18", side, width, 8, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "resnet18", o);
  tg_value *x = tg_zoo_batched(&z, "image", o->batch, 4, (int64_t[]){3, side, side});
  x = conv_norm(&z, "conv1", x, 3, channels, (tg_window){.kernel = 7, .stride = 2, .padding = 3}, false);
  x = tg_zoo_relu(&z, "conv1", x);
  x = tg_builder_pool(z.builder, TG_OP_MAX_POOL, "maxpool", x,
                      (tg_window){.kernel = 3, .stride = 2, .padding = 1});
  for (int stage = 0; stage < 4; stage++) {
    int64_t in = channels, out = width << stage;
    x = basic_block(&z, tg_arena_printf(arena, "layer%d.0", stage + 1), x, in, out, stage ? 2 : 1);
    x = basic_block(&z, tg_arena_printf(arena, "layer%d.1", stage + 1), x, out, out, 1);
    channels = out;
  }
  x = tg_builder_unary(z.builder, TG_OP_GLOBAL_AVERAGE_POOL, "avgpool", x);
  x = tg_builder_reshape(z.builder, "flatten", x, 2, (int64_t[]){0, channels});
  tg_builder_output(z.builder, "scores", tg_zoo_linear(&z, "fc", x, channels, 1000));
  return tg_builder_finish(z.builder, out_graph, diag);
}
