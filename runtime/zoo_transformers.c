/* Transformers of the zoo. */
#include "runtime/zoo_layers.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_SCORE_WEIGHTS = 1 << 28 }; /* of all words: 1 GB, since an ONNX file ends at 2 */

/* x[N, seq, width] W + b, W[width, out]. */
static tg_value *project(tg_zoo_model *z, const char *layer, tg_value *x, int64_t in, int64_t out) {
  tg_value *w = tg_zoo_weights(z, tg_zoo_part(z, layer, "weight"), 2, (int64_t[]){in, out}, 6 * in);
  tg_value *y = tg_builder_matmul(z->builder, tg_zoo_part(z, layer, "matmul"), x, w);
  return tg_builder_binary(z->builder, TG_OP_ADD, layer, y,
                           tg_zoo_bias(z, tg_zoo_part(z, layer, "bias"), out));
}

/* [N, seq, hidden] to [N, heads, seq, hidden / heads], or with its two last dimensions swapped. */
static tg_value *split_heads(tg_zoo_model *z, const char *name, tg_value *x, const tg_zoo_options *o,
                             bool keys) {
  static const int64_t perms[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
  x = tg_builder_reshape(z->builder, tg_zoo_part(z, name, "split"), x, 4,
                         (int64_t[]){0, o->seq, o->heads, o->hidden / o->heads});
  return tg_builder_transpose(z->builder, tg_zoo_part(z, name, "heads"), x, 4, perms[keys]);
}

/* Multi-head self-attention: softmax(Q K^T / sqrt(d)) V, projected. */
static tg_value *self_attention(tg_zoo_model *z, tg_value *x, const tg_zoo_options *o) {
  tg_builder *b = z->builder;
  tg_value *q = split_heads(z, "query", project(z, "query", x, o->hidden, o->hidden), o, false);
  tg_value *k = split_heads(z, "key", project(z, "key", x, o->hidden, o->hidden), o, true);
  tg_value *v = split_heads(z, "value", project(z, "value", x, o->hidden, o->hidden), o, false);
  tg_value *scale = tg_builder_scalar(b, "scale", TG_F32, 1 / sqrt((double)o->hidden / (double)o->heads));
  tg_value *scores = tg_builder_binary(b, TG_OP_MUL, "scaled", tg_builder_matmul(b, "scores", q, k), scale);
  tg_value *y = tg_builder_matmul(b, "context", tg_builder_softmax(b, "attention", scores, -1), v);
  y = tg_builder_transpose(b, "context.heads", y, 4, (int64_t[]){0, 2, 1, 3});
  y = tg_builder_reshape(b, "context.join", y, 3, (int64_t[]){0, o->seq, o->hidden});
  return project(z, "output", y, o->hidden, o->hidden);
}

static tg_zoo_options with_sizes(const tg_zoo_options *given) {
  tg_zoo_options o = *given;
  if (!o.seq) o.seq = 128;
  if (!o.hidden) o.hidden = 768;
  if (!o.heads) o.heads = 12;
  if (!o.vocabulary) o.vocabulary = 30522;
  return o;
}

static tg_status check_attention(const tg_zoo_options *o, const char *name, tg_diag *diag) {
  if (o->hidden % o->heads)
    return tg_fail(diag, TG_INVALID, "%s: %" PRId64 " heads do not divide a width of %" PRId64, name,
                   o->heads, o->hidden);
  if (o->hidden > 16384 || o->seq > 65536) /* weights fit into an ONNX file, scores into a tensor */
    return tg_fail(diag, TG_INVALID, "%s: a width of %" PRId64 " and %" PRId64 " tokens are too many", name,
                   o->hidden, o->seq);
  return TG_OK;
}

tg_status tg_zoo_attention(tg_arena *arena, const tg_zoo_options *given, tg_graph **out_graph,
                           tg_diag *diag) {
  const tg_zoo_options sizes = with_sizes(given), *o = &sizes;
  if (check_attention(o, "attention", diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "attention", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 3, (int64_t[]){o->seq, o->hidden});
  tg_builder_output(z.builder, "y", self_attention(&z, x, o));
  return tg_builder_finish(z.builder, out_graph, diag);
}

static tg_value *normalised(tg_zoo_model *z, const char *name, tg_value *x, int64_t width) {
  tg_value *scale =
      tg_builder_seeded(z->builder, tg_zoo_part(z, name, "weight"), TG_F32, 1, &width, z->seed++, 1);
  return tg_builder_layer_normalization(z->builder, name, x, scale,
                                        tg_zoo_bias(z, tg_zoo_part(z, name, "bias"), width), -1, 1e-12);
}

/* A layer of BERT: attention and a feed-forward network of four times the width, each added to its input and
 * normalised. */
static tg_value *bert_layer(tg_zoo_model *z, tg_value *x, const tg_zoo_options *o) {
  tg_builder *b = z->builder;
  int64_t width = o->hidden, inner = 4 * o->hidden;
  tg_value *y = tg_builder_binary(b, TG_OP_ADD, "attention.residual", self_attention(z, x, o), x);
  y = normalised(z, "attention.norm", y, width);
  tg_value *h = tg_builder_unary(b, TG_OP_GELU, "gelu", project(z, "intermediate", y, width, inner));
  h = tg_builder_binary(b, TG_OP_ADD, "output.residual", project(z, "feed_forward", h, inner, width), y);
  return normalised(z, "output.norm", h, width);
}

tg_status tg_zoo_bert_layer(tg_arena *arena, const tg_zoo_options *given, tg_graph **out_graph,
                            tg_diag *diag) {
  const tg_zoo_options sizes = with_sizes(given), *o = &sizes;
  if (check_attention(o, "bert-layer", diag)) return TG_INVALID;
  tg_zoo_model z = tg_zoo_begin(arena, "bert-layer", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 3, (int64_t[]){o->seq, o->hidden});
  tg_builder_output(z.builder, "y", bert_layer(&z, x, o));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* Dense, Gelu, normalisation, then a score for each word: logits[N * seq, vocabulary]. */
static tg_value *language_head(tg_zoo_model *z, tg_value *x, const tg_zoo_options *o) {
  tg_builder *b = z->builder;
  x = tg_builder_unary(b, TG_OP_GELU, "transform.gelu", project(z, "transform", x, o->hidden, o->hidden));
  x = normalised(z, "transform.norm", x, o->hidden);
  x = tg_builder_reshape(b, "tokens", x, 2, (int64_t[]){-1, o->hidden});
  return project(z, "decoder", x, o->hidden, o->vocabulary);
}

tg_status tg_zoo_bert_mlm(tg_arena *arena, const tg_zoo_options *given, tg_graph **out_graph, tg_diag *diag) {
  const tg_zoo_options sizes = with_sizes(given), *o = &sizes;
  if (check_attention(o, "bert-mlm", diag)) return TG_INVALID;
  if (o->vocabulary > MOST_SCORE_WEIGHTS / o->hidden)
    return tg_fail(diag, TG_INVALID, "bert-mlm: a vocabulary of %" PRId64 " words is too large",
                   o->vocabulary);
  tg_zoo_model z = tg_zoo_begin(arena, "bert-mlm", o);
  tg_value *x = tg_zoo_batched(&z, "x", o->batch, 3, (int64_t[]){o->seq, o->hidden});
  tg_builder_output(z.builder, "logits", language_head(&z, bert_layer(&z, x, o), o));
  return tg_builder_finish(z.builder, out_graph, diag);
}

/* Vectors of words and of positions added and normalised: token ids [N, seq] to [N, seq, hidden]. */
static tg_value *embedding(tg_zoo_model *z, const tg_zoo_options *o) {
  tg_builder *b = z->builder;
  tg_dim dims[] = {{o->batch ? o->batch : -1, o->batch ? NULL : "N"}, {o->seq, NULL}};
  tg_value *ids = tg_builder_open_input(b, "ids", TG_I64, 2, dims);
  tg_value *words =
      tg_builder_seeded(b, "words", TG_F32, 2, (int64_t[]){o->vocabulary, o->hidden}, z->seed++, 1);
  tg_value *positions =
      tg_builder_seeded(b, "positions", TG_F32, 2, (int64_t[]){o->seq, o->hidden}, z->seed++, 1);
  tg_value *x = tg_builder_binary(b, TG_OP_GATHER, "embedding", words, ids);
  return normalised(z, "embedding.norm", tg_builder_binary(b, TG_OP_ADD, "embedding.sum", x, positions),
                    o->hidden);
}

tg_status tg_zoo_bert_base(tg_arena *arena, const tg_zoo_options *given, tg_graph **out_graph,
                           tg_diag *diag) {
  const tg_zoo_options sizes = with_sizes(given), *o = &sizes;
  int64_t layers = o->layers ? o->layers : 12, of_layer = 12 * o->hidden * o->hidden;
  if (check_attention(o, "bert-base", diag)) return TG_INVALID;
  if (o->vocabulary > MOST_SCORE_WEIGHTS / o->hidden || layers > MOST_SCORE_WEIGHTS / of_layer)
    return tg_fail(diag, TG_INVALID,
                   "bert-base: %" PRId64 " layers or a vocabulary of %" PRId64 " are too many", layers,
                   o->vocabulary);
  tg_zoo_model z = tg_zoo_begin(arena, "bert-base", o);
  tg_value *x = embedding(&z, o);
  for (int64_t i = 0; i < layers; i++) x = bert_layer(&z, x, o);
  tg_builder_output(z.builder, "y", x);
  return tg_builder_finish(z.builder, out_graph, diag);
}
