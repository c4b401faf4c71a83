/* Networks from images to images: U-Net, and the block of those that diffusion models are made of. */
#include "runtime/zoo_layers.h"

#include <inttypes.h>

enum { DEPTH = 4 };

/* --- U-Net (Ronneberger, Fischer and Brox), with padding and batch normalisation, as it is mostly written in PyTorch */

static tg_value *double_conv(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out) {
  for (int i = 0; i < 2; i++) {
    const char *conv = tg_arena_printf(z->arena, "%s.%d", layer, 3 * i);
    x = tg_zoo_conv(z, conv, x, i ? out : in, out, (tg_window){.kernel = 3, .padding = 1}, false);
    x = tg_zoo_relu(z, conv, tg_zoo_norm(z, tg_arena_printf(z->arena, "%s.%d", layer, 3 * i + 1), x, out, 1));
  }
  return x;
}

/* Twice as large with half of the channels, and zeros at the far ends up to `side`. */
static tg_value *enlarged(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t side) {
  tg_value *w = tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 4, (int64_t[]){in, in / 2, 2, 2}, in);
  tg_value *operands[] = {x, w, tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), in / 2)};
  tg_value *y = tg_builder_op(z->builder, TG_OP_CONV_TRANSPOSE, layer, operands, 3);
  if (!y) return NULL;
  tg_graph *graph = tg_builder_graph(z->builder);
  tg_attr_set_ints(graph, y->producer, TG_ATTR_STRIDES, (int64_t[]){2, 2}, 2);
  if (side % 2 == 0) return y;
  y = tg_builder_unary(z->builder, TG_OP_PAD, tg_zoo_part(z, layer, "pad"), y);
  if (y) tg_attr_set_ints(graph, y->producer, TG_ATTR_PADS, (int64_t[]){0, 0, 0, 0, 0, 0, 1, 1}, 8);
  return y;
}

tg_status tg_zoo_unet(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  int64_t side = o->size ? o->size : 128, width = o->hidden ? o->hidden : 64;
  if (tg_zoo_check_sizes("unet", side, width, 16, diag)) return TG_INVALID;
  if (side < 1 << DEPTH || width % 2)
    return tg_fail(diag, TG_INVALID, "unet: --size %" PRId64 " is below 16, or --hidden %" PRId64 " is odd",
                   side, width);
  tg_zoo_model z = tg_zoo_begin(arena, "unet", o);
  tg_value *x = tg_zoo_batched(&z, "image", o->batch, 4, (int64_t[]){3, side, side}), *kept[DEPTH];
  x = double_conv(&z, "inc.double_conv", x, 3, width);
  for (int level = 0; level < DEPTH; level++) {
    const char *layer = tg_arena_printf(arena, "down%d.maxpool_conv", level + 1);
    kept[level] = x;
    x = tg_zoo_pool(&z, tg_zoo_part(&z, layer, "0"), x);
    x = double_conv(&z, tg_zoo_part(&z, layer, "1.double_conv"), x, width << level, width << (level + 1));
  }
  for (int level = DEPTH - 1; level >= 0; level--) {
    const char *layer = tg_arena_printf(arena, "up%d", DEPTH - level);
    x = enlarged(&z, tg_zoo_part(&z, layer, "up"), x, width << (level + 1), side >> level);
    x = tg_builder_concat(z.builder, tg_zoo_part(&z, layer, "cat"), (tg_value *[]){kept[level], x}, 2, 1);
    x = double_conv(&z, tg_zoo_part(&z, layer, "conv.double_conv"), x, width << (level + 1), width << level);
  }
  tg_builder_output(z.builder, "mask",
                    tg_zoo_conv(&z, "outc.conv", x, width, 1, (tg_window){.kernel = 1}, true));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* --- a block of a diffusion model's U-Net (Ho, Jain and Abbeel): residual block with the time, and attention */

/* Over [C / groups, H, W], as Reshape and InstanceNormalization, then a weight and a bias for each channel. */
static tg_value *group_norm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t channels, int64_t side,
                            int64_t groups) {
  tg_builder *b = z->builder;
  float one[64], zero[64] = {0};
  for (int i = 0; i < 64; i++) one[i] = 1;
  tg_value *rows[] = {
      tg_builder_reshape(b, tg_zoo_part(z, layer, "groups"), x, 3, (int64_t[]){0, groups, -1}),
      tg_builder_constant(b, tg_zoo_part(z, layer, "one"), TG_F32, 1, &groups, one),
      tg_builder_constant(b, tg_zoo_part(z, layer, "zero"), TG_F32, 1, &groups, zero)};
  tg_value *y = tg_builder_op(b, TG_OP_INSTANCE_NORMALIZATION, tg_zoo_part(z, layer, "normalised"), rows, 3);
  y = tg_builder_reshape(b, tg_zoo_part(z, layer, "channels"), y, 4, (int64_t[]){0, channels, side, side});
  tg_value *weight = tg_builder_seeded(b, tg_zoo_part(z, layer, "weight"), TG_F32, 3,
                                       (int64_t[]){channels, 1, 1}, z->seed++, 1);
  tg_value *bias = tg_builder_seeded(b, tg_zoo_part(z, layer, "bias"), TG_F32, 3, (int64_t[]){channels, 1, 1},
                                     z->seed++, 0.1f);
  y = tg_builder_binary(b, TG_OP_MUL, tg_zoo_part(z, layer, "scaled"), y, weight);
  return tg_builder_binary(b, TG_OP_ADD, layer, y, bias);
}

static tg_value *normalised_conv(tg_zoo_model *z, const char *norm, const char *conv, tg_value *x,
                                 int64_t channels, int64_t side, int64_t groups) {
  x = tg_zoo_silu(z, norm, group_norm(z, norm, x, channels, side, groups));
  return tg_zoo_conv(z, conv, x, channels, channels, (tg_window){.kernel = 3, .padding = 1}, true);
}

/* Pixels as tokens, one head. */
static tg_value *attention(tg_zoo_model *z, tg_value *x, int64_t width, int64_t side, int64_t groups) {
  tg_builder *b = z->builder;
  tg_value *y = group_norm(z, "attention.norm", x, width, side, groups);
  y = tg_builder_reshape(b, "attention.flat", y, 3, (int64_t[]){0, width, side * side});
  y = tg_builder_transpose(b, "attention.tokens", y, 3, (int64_t[]){0, 2, 1});
  y = tg_zoo_heads(z, "attention", y, y,
                   &(tg_zoo_attention_sizes){.tokens = side * side,
                                             .keys = side * side,
                                             .width = width,
                                             .heads = 1,
                                             .query = "to_q",
                                             .key = "to_k",
                                             .value = "to_v",
                                             .output = "to_out",
                                             .key_bias = true});
  y = tg_builder_transpose(b, "attention.channels", y, 3, (int64_t[]){0, 2, 1});
  y = tg_builder_reshape(b, "attention.image", y, 4, (int64_t[]){0, width, side, side});
  return tg_builder_binary(b, TG_OP_ADD, "attention.residual", y, x);
}

tg_status tg_zoo_diffusion_block(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph,
                                 tg_diag *diag) {
  int64_t side = o->size ? o->size : 32, width = o->hidden ? o->hidden : 320, groups = 32;
  if (tg_zoo_check_sizes("diffusion-block", side, width, 1, diag)) return TG_INVALID;
  if (side > 128) return tg_fail(diag, TG_INVALID, "diffusion-block: --size %" PRId64 " is above 128", side);
  while (width % groups) groups /= 2;
  tg_zoo_model z = tg_zoo_begin(arena, "diffusion-block", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 4, (int64_t[]){width, side, side}), *y;
  tg_value *time = tg_zoo_batched(&z, "time", o->batch, 2, (int64_t[]){4 * width});
  y = normalised_conv(&z, "norm1", "conv1", x, width, side, groups);
  time = tg_zoo_linear(&z, "time_emb_proj", tg_zoo_silu(&z, "time_emb_proj", time), 4 * width, width);
  time = tg_builder_reshape(z.builder, "time", time, 4, (int64_t[]){0, width, 1, 1});
  y = tg_builder_binary(z.builder, TG_OP_ADD, "timed", y, time);
  y = normalised_conv(&z, "norm2", "conv2", y, width, side, groups);
  y = tg_builder_binary(z.builder, TG_OP_ADD, "residual", y, x);
  tg_builder_output(z.builder, "y", attention(&z, y, width, side, groups));
  return tg_builder_finish(z.builder, out_graph, diag);
}
