/* Networks of sequences: a language model of LSTMs, a vision transformer, and the two halves of Whisper. */
#include "runtime/zoo_layers.h"

#include <inttypes.h>
#include <math.h>

static tg_status check(const char *name, int64_t tokens, int64_t width, int64_t heads, int64_t layers,
                       int64_t vocabulary, tg_diag *diag) {
  enum { MOST_WEIGHTS = 1 << 28 };
  if (heads < 1 || width % heads)
    return tg_fail(diag, TG_INVALID, "%s: %" PRId64 " heads do not divide a width of %" PRId64, name, heads,
                   width);
  if (width > 16384 || tokens > 65536 || layers > MOST_WEIGHTS / (16 * width * width) ||
      vocabulary > MOST_WEIGHTS / width)
    return tg_fail(diag, TG_INVALID,
                   "%s: %" PRId64 " tokens, %" PRId64 " layers of a width of %" PRId64 " or %" PRId64
                   " words are too many",
                   name, tokens, layers, width, vocabulary);
  return TG_OK;
}

static tg_value *table(tg_zoo_model *z, const char *name, int64_t rows, int64_t width) {
  return tg_builder_seeded(z->builder, name, TG_F32, 2, (int64_t[]){rows, width}, z->seed++, 0.5f);
}

static tg_value *token_ids(tg_zoo_model *z, const tg_zoo_options *o, int64_t tokens) {
  tg_dim dims[] = {{o->batch ? o->batch : -1, o->batch ? NULL : "N"}, {tokens, NULL}};
  return tg_builder_open_input(z->builder, "ids", TG_I64, 2, dims);
}

/* --- the language model of Zaremba, Sutskever and Vinyals, medium */

/* x [tokens, N, in] to [tokens, N, width]; weights with ONNX's order of gates: input, output, forget, cell. */
static tg_value *lstm(tg_zoo_model *z, const char *layer, tg_value *x, int64_t tokens, int64_t width) {
  tg_builder *b = z->builder;
  int64_t sizes[] = {1, 4 * width, width}, biases[] = {1, 8 * width};
  tg_value *operands[] = {
      x, tg_zoo_weights(z, tg_zoo_part(z, layer, "weight_ih"), 3, sizes, 6 * width),
      tg_zoo_weights(z, tg_zoo_part(z, layer, "weight_hh"), 3, sizes, 6 * width),
      tg_builder_seeded(b, tg_zoo_part(z, layer, "bias"), TG_F32, 2, biases, z->seed++, 0.1f)};
  tg_value *y = tg_builder_op(b, TG_OP_LSTM, layer, operands, 4);
  if (!y) return NULL;
  tg_attr_set_int(y->producer, TG_ATTR_HIDDEN_SIZE, width);
  return tg_builder_reshape(b, tg_zoo_part(z, layer, "sequence"), y, 3, (int64_t[]){tokens, -1, width});
}

tg_status tg_zoo_lstm_lm(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  int64_t tokens = o->seq ? o->seq : 35, width = o->hidden ? o->hidden : 650,
          layers = o->layers ? o->layers : 2, words = o->vocabulary ? o->vocabulary : 10000;
  if (check("lstm-lm", tokens, width, 1, layers, words, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "lstm-lm", o);
  tg_value *x = tg_builder_binary(z.builder, TG_OP_GATHER, "embedding",
                                  table(&z, "encoder.weight", words, width), token_ids(&z, o, tokens));
  x = tg_builder_transpose(z.builder, "time_first", x, 3, (int64_t[]){1, 0, 2});
  for (int64_t i = 0; i < layers; i++)
    x = lstm(&z, tg_arena_printf(arena, "rnn.%" PRId64, i), x, tokens, width);
  x = tg_builder_transpose(z.builder, "batch_first", x, 3, (int64_t[]){1, 0, 2});
  x = tg_builder_reshape(z.builder, "tokens", x, 2, (int64_t[]){-1, width});
  tg_builder_output(z.builder, "logits", tg_zoo_linear(&z, "decoder", x, width, words));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* --- transformers that normalise first */

typedef struct layer_names {
  const char *self_norm, *self, *cross_norm, *cross, *inner_norm, *first, *second;
  tg_zoo_attention_sizes projections; /* names, key_bias */
} layer_names;

static tg_value *residual(tg_zoo_model *z, const char *name, tg_value *x, tg_value *y) {
  return tg_builder_binary(z->builder, TG_OP_ADD, tg_zoo_part(z, name, "residual"), x, y);
}

typedef struct transformer {
  int64_t tokens, width, heads, keys; /* keys: of the other sequence, `memory` */
  tg_value *memory;                   /* NULL: no attention to another sequence */
  bool causal;
  double epsilon;
  const layer_names *names;
} transformer;

static tg_value *attended(tg_zoo_model *z, const transformer *t, const char *name, tg_value *x,
                          tg_value *from, bool causal) {
  tg_zoo_attention_sizes sizes = t->names->projections;
  sizes.tokens = t->tokens;
  sizes.keys = from == x ? t->tokens : t->keys;
  sizes.width = t->width;
  sizes.heads = t->heads;
  sizes.causal = causal;
  return tg_zoo_heads(z, name, x, from, &sizes);
}

static tg_value *transformer_layer(tg_zoo_model *z, const transformer *t, const char *layer, tg_value *x) {
  const layer_names *n = t->names;
  const char *self = tg_zoo_part(z, layer, n->self), *first = tg_zoo_part(z, layer, n->first);
  tg_value *y = tg_zoo_layer_norm(z, tg_zoo_part(z, layer, n->self_norm), x, t->width, t->epsilon);
  x = residual(z, self, x, attended(z, t, self, y, y, t->causal));
  if (t->memory) {
    const char *cross = tg_zoo_part(z, layer, n->cross);
    y = tg_zoo_layer_norm(z, tg_zoo_part(z, layer, n->cross_norm), x, t->width, t->epsilon);
    x = residual(z, cross, x, attended(z, t, cross, y, t->memory, false));
  }
  y = tg_zoo_layer_norm(z, tg_zoo_part(z, layer, n->inner_norm), x, t->width, t->epsilon);
  y = tg_zoo_project(z, first, y, t->width, 4 * t->width, true);
  y = tg_builder_unary(z->builder, TG_OP_GELU, tg_zoo_part(z, layer, "gelu"), y);
  return residual(z, layer, x,
                  tg_zoo_project(z, tg_zoo_part(z, layer, n->second), y, 4 * t->width, t->width, true));
}

/* --- ViT of the width of DeiT's tiny one: patches of 16 x 16, and a token whose result is the class */

tg_status tg_zoo_vit_tiny(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph, tg_diag *diag) {
  enum { PATCH = 16 };
  static const layer_names names = {
      .self_norm = "layernorm_before",
      .self = "attention",
      .inner_norm = "layernorm_after",
      .first = "intermediate.dense",
      .second = "output.dense",
      .projections = {
          .query = "query", .key = "key", .value = "value", .output = "output.dense", .key_bias = true}};
  int64_t side = o->size ? o->size : 224, width = o->hidden ? o->hidden : 192,
          layers = o->layers ? o->layers : 12, patches = side / PATCH * (side / PATCH), tokens = patches + 1;
  transformer t = {
      .tokens = tokens, .width = width, .heads = o->heads ? o->heads : 3, .epsilon = 1e-6, .names = &names};
  if (side < PATCH || side > 2048)
    return tg_fail(diag, TG_INVALID, "vit-tiny: --size %" PRId64 " is not from 16 to 2048", side);
  if (check("vit-tiny", tokens, width, t.heads, layers, 1000, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "vit-tiny", o);
  tg_builder *b = z.builder;
  tg_value *x = tg_zoo_batched(&z, "image", o->batch, 4, (int64_t[]){3, side, side});
  x = tg_zoo_conv(&z, "patch_embeddings.projection", x, 3, width,
                  (tg_window){.kernel = PATCH, .stride = PATCH}, true);
  x = tg_builder_reshape(b, "patches", x, 3, (int64_t[]){0, width, patches});
  x = tg_builder_transpose(b, "patches.tokens", x, 3, (int64_t[]){0, 2, 1});
  /* The class token stands before them: each is padded to all places. */
  tg_value *token = tg_builder_seeded(b, "cls_token", TG_F32, 3, (int64_t[]){1, 1, width}, z.seed++, 0.5f);
  tg_value *positions =
      tg_builder_seeded(b, "position_embeddings", TG_F32, 3, (int64_t[]){1, tokens, width}, z.seed++, 0.5f);
  x = tg_builder_unary(b, TG_OP_PAD, "patches.placed", x);
  token = tg_builder_unary(b, TG_OP_PAD, "cls_token.placed", token);
  if (!x || !token) return tg_builder_finish(b, out_graph, diag);
  tg_attr_set_ints(tg_builder_graph(b), x->producer, TG_ATTR_PADS, (int64_t[]){0, 1, 0, 0, 0, 0}, 6);
  tg_attr_set_ints(tg_builder_graph(b), token->producer, TG_ATTR_PADS, (int64_t[]){0, 0, 0, 0, patches, 0},
                   6);
  x = tg_builder_binary(b, TG_OP_ADD, "patches.positions", x,
                        tg_builder_binary(b, TG_OP_ADD, "tokens.positions", token, positions));
  for (int64_t i = 0; i < layers; i++)
    x = transformer_layer(&z, &t, tg_arena_printf(arena, "encoder.layer.%" PRId64, i), x);
  x = tg_zoo_layer_norm(&z, "layernorm", x, width, t.epsilon);
  x = tg_builder_op(b, TG_OP_SLICE, "class", &x, 1);
  if (!x) return tg_builder_finish(b, out_graph, diag);
  tg_attr_set_ints(tg_builder_graph(b), x->producer, TG_ATTR_STARTS, (int64_t[]){0}, 1);
  tg_attr_set_ints(tg_builder_graph(b), x->producer, TG_ATTR_ENDS, (int64_t[]){1}, 1);
  tg_attr_set_ints(tg_builder_graph(b), x->producer, TG_ATTR_AXES, (int64_t[]){1}, 1);
  x = tg_builder_reshape(b, "class.row", x, 2, (int64_t[]){-1, width});
  tg_builder_output(b, "scores", tg_zoo_linear(&z, "classifier", x, width, 1000));
  return tg_builder_finish(b, out_graph, diag);
}

/* --- Whisper (Radford and others), tiny: 4 layers of a width of 384 */

static const layer_names whisper_names = {
    .self_norm = "self_attn_layer_norm",
    .self = "self_attn",
    .cross_norm = "encoder_attn_layer_norm",
    .cross = "encoder_attn",
    .inner_norm = "final_layer_norm",
    .first = "fc1",
    .second = "fc2",
    .projections = {.query = "q_proj", .key = "k_proj", .value = "v_proj", .output = "out_proj"}};

static transformer whisper(const tg_zoo_options *o) {
  return (transformer){.width = o->hidden ? o->hidden : 384,
                       .heads = o->heads ? o->heads : 6,
                       .epsilon = 1e-5,
                       .names = &whisper_names};
}

/* Convolutions over time, as over images of one row. */
static tg_value *conv_in_time(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out,
                              int64_t stride) {
  tg_value *operands[] = {
      x, tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 3, (int64_t[]){out, in, 3}, 3 * in),
      tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), out)};
  tg_value *y = tg_builder_op(z->builder, TG_OP_CONV, layer, operands, 3);
  if (!y) return NULL;
  tg_attr_set_ints(tg_builder_graph(z->builder), y->producer, TG_ATTR_PADS, (int64_t[]){1, 1}, 2);
  tg_attr_set_ints(tg_builder_graph(z->builder), y->producer, TG_ATTR_STRIDES, &stride, 1);
  return tg_builder_unary(z->builder, TG_OP_GELU, tg_zoo_part(z, layer, "gelu"), y);
}

tg_status tg_zoo_whisper_encoder(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph,
                                 tg_diag *diag) {
  enum { MELS = 80 };
  int64_t frames = o->seq ? o->seq : 3000, layers = o->layers ? o->layers : 4;
  transformer t = whisper(o);
  t.tokens = frames / 2 + frames % 2;
  if (check("whisper-encoder", t.tokens, t.width, t.heads, layers, 1, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "whisper-encoder", o);
  tg_value *x = tg_zoo_batched(&z, "mel", o->batch, 3, (int64_t[]){MELS, frames});
  x = conv_in_time(&z, "conv2", conv_in_time(&z, "conv1", x, MELS, t.width, 1), t.width, t.width, 2);
  x = tg_builder_transpose(z.builder, "tokens", x, 3, (int64_t[]){0, 2, 1});
  x = tg_builder_binary(z.builder, TG_OP_ADD, "positions", x,
                        table(&z, "embed_positions.weight", t.tokens, t.width));
  for (int64_t i = 0; i < layers; i++)
    x = transformer_layer(&z, &t, tg_arena_printf(arena, "layers.%" PRId64, i), x);
  tg_builder_output(z.builder, "y", tg_zoo_layer_norm(&z, "layer_norm", x, t.width, t.epsilon));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* Scores of the words are products with the table of words. */
tg_status tg_zoo_whisper_decoder(tg_arena *arena, const tg_zoo_options *o, tg_graph **out_graph,
                                 tg_diag *diag) {
  enum { POSITIONS = 448 };
  int64_t words = o->vocabulary ? o->vocabulary : 51865, layers = o->layers ? o->layers : 4;
  transformer t = whisper(o);
  t.tokens = o->seq ? o->seq : 64;
  t.keys = o->size ? o->size : 1500;
  t.causal = true;
  if (t.tokens > POSITIONS || t.keys > 65536)
    return tg_fail(diag, TG_INVALID,
                   "whisper-decoder: --seq %" PRId64 " is above %d, or --size %" PRId64 " above 65536",
                   t.tokens, POSITIONS, t.keys);
  if (check("whisper-decoder", t.tokens, t.width, t.heads, layers, words, diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "whisper-decoder", o);
  tg_builder *b = z.builder;
  tg_value *ids = token_ids(&z, o, t.tokens), *embedding = table(&z, "embed_tokens.weight", words, t.width);
  t.memory = tg_zoo_batched(&z, "audio", o->batch, 3, (int64_t[]){t.keys, t.width});
  tg_value *positions = table(&z, "embed_positions.weight", POSITIONS, t.width);
  if (t.tokens < POSITIONS) {
    positions = tg_builder_op(b, TG_OP_SLICE, "positions.taken", &positions, 1);
    if (!positions) return tg_builder_finish(b, out_graph, diag);
    tg_attr_set_ints(tg_builder_graph(b), positions->producer, TG_ATTR_STARTS, (int64_t[]){0}, 1);
    tg_attr_set_ints(tg_builder_graph(b), positions->producer, TG_ATTR_ENDS, &t.tokens, 1);
    tg_attr_set_ints(tg_builder_graph(b), positions->producer, TG_ATTR_AXES, (int64_t[]){0}, 1);
  }
  tg_value *x = tg_builder_binary(b, TG_OP_ADD, "positions",
                                  tg_builder_binary(b, TG_OP_GATHER, "words", embedding, ids), positions);
  for (int64_t i = 0; i < layers; i++)
    x = transformer_layer(&z, &t, tg_arena_printf(arena, "layers.%" PRId64, i), x);
  x = tg_zoo_layer_norm(&z, "layer_norm", x, t.width, t.epsilon);
  tg_value *columns = tg_builder_transpose(b, "embed_tokens.columns", embedding, 2, (int64_t[]){1, 0});
  tg_builder_output(b, "logits", tg_builder_matmul(b, "logits", x, columns));
  return tg_builder_finish(b, out_graph, diag);
}
