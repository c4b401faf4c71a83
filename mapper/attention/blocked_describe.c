/* What attention by blocks is made of. */
#include "mapper/attention/blocked.h"
#include "mapper/kernel/operand.h"

#include <string.h>

static int64_t from_end(const tg_value *value, int d) { return value->dims[value->rank - d].size; }

/* The product of weights and values: shape, format, and values as they lie. */
static void describe_context(tg_blocked *a, const tg_kernel *kernel) {
  const tg_operand *operand = &kernel->operands[1];
  const tg_value *v = tg_in(kernel->root, 1);
  a->context = (tg_gemm){.node = kernel->root,
                         .k = a->keys,
                         .n = from_end(v, 1),
                         .partials = 1,
                         .format = tg_mx_format(v->dtype),
                         .b = operand->source,
                         .b_operand = *operand,
                         .b_transposed = operand->transposed,
                         .b_convert = tg_operand_conversion(operand->source, v)};
}

static void add_operand(tg_blocked *a, tg_value *value) {
  tg_matrices *x = &a->operand[a->operand_count];
  x->value = value;
  a->operand_kind[a->operand_count++] = x->column_stride ? tg_stream_kind(value) : TG_STREAM_SPLAT32;
  if (!x->row_stride) x->rows = 1;
}

static bool view_scores(tg_blocked *a, const tg_kernel *kernel) {
  tg_value *x = tg_in(kernel->root, 0);
  const tg_value *y = tg_out(kernel->root);
  const tg_gemm *g = &a->scores;
  if (!tg_blocked_multiplies(a)) {
    const tg_operand *operand = &kernel->operands[0];
    if (!tg_attention_view(y, x, operand->stride, a->queries, a->keys, &a->operand[0])) return false;
    add_operand(a, operand->source);
    return a->operand_kind[0] != TG_STREAM_SPLAT32;
  }
  const tg_value *s = tg_out(g->node);
  bool good = tg_attention_view(s, tg_in(g->node, 0), g->a_operand.stride, a->queries, g->k, &a->q) &&
              tg_attention_view(s, tg_in(g->node, 1), g->b_operand.stride, g->k, a->keys, &a->k);
  a->q.value = g->a;
  a->k.value = g->b;
  if (g->b_transposed) tg_attention_transpose(&a->k);
  for (int i = 0; i < g->epilogue_operand_count && good; i++) {
    const tg_access *access = &g->epilogue_operands[i].access;
    good = tg_attention_view(s, s, access->stride, a->queries, a->keys, &a->operand[i]);
    add_operand(a, access->name.value);
  }
  return good;
}

static bool view_result(const tg_compile *c, const tg_kernel *kernel, tg_blocked *a) {
  const tg_value *y = tg_out(kernel->root), *v = tg_in(kernel->root, 1);
  int64_t stride[TG_MAX_RANK];
  tg_stored_strides(c, kernel, stride);
  bool good = tg_attention_view(y, v, a->context.b_operand.stride, a->keys, a->context.n, &a->v) &&
              tg_attention_view(y, y, stride, a->queries, a->columns, &a->out);
  a->v.value = a->context.b;
  if (a->context.b_transposed) tg_attention_transpose(&a->v);
  a->out.value = kernel->output;
  a->out_kind = tg_result_kind(kernel->output);
  return good && a->out_kind != TG_STREAM_BF16SR;
}

static bool same_products(const tg_value *a, const tg_value *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank - 2; d++)
    if (a->dims[d].size != b->dims[d].size) return false;
  return true;
}

/* Scores of one chain each, which are rounded nowhere, of the products that the result has. */
static bool describe_scores(tg_compile *c, const tg_kernel *kernel, tg_blocked *a) {
  tg_gemm *g = &a->scores;
  if (tg_describe_gemm(c, kernel->scores, 0, g)) return false;
  return g->m > 0 && g->k > 0 && g->partials == 1 && !g->a_transposed && !tg_in(g->node, 2) && !g->k_tile &&
         !kernel->scores->prologue_result && same_products(tg_out(g->node), tg_out(kernel->root));
}

/* Weights of two rows at a time, where that is faster: not with columns that are none, for which TAIL is needed. */
static bool choose_rows(const tg_compile *c, tg_blocked *a) {
  tg_blocked pair = *a;
  pair.together = 2;
  a->together = 1;
  bool paired = !tg_blocked_is_ragged(a) && tg_blocked_set_microcode(c, &pair) && tg_tile_blocked(c, &pair),
       single = tg_blocked_set_microcode(c, a) && tg_tile_blocked(c, a);
  if (paired && (!single || pair.cycles < a->cycles)) *a = pair;
  return paired || single;
}

bool tg_describe_blocked(const tg_compile *c, const tg_kernel *kernel, tg_blocked *out) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  tg_blocked *a = out;
  *a = (tg_blocked){.kernel = kernel};
  const tg_value *x = tg_in(kernel->root, 0), *y = tg_out(kernel->root);
  a->products = tg_value_elements_between(y, 0, y->rank - 2);
  a->queries = from_end(y, 2);
  a->keys = from_end(x, 1);
  a->weights = tg_in(kernel->root, 1)->dtype;
  a->block = (uint32_t)tg_attr_int(kernel->root, TG_ATTR_BLOCK);
  int64_t blocks = 2 * tg_div_up(a->keys, 2 * (int64_t)a->block);
  a->blocks = (uint32_t)blocks;
  describe_context(a, kernel);
  a->columns = from_end(y, 1);
  if (a->products >= 1 << 20 || a->queries >= 1 << 20 || a->keys >= 1 << 20 || a->columns >= 1 << 15)
    return false;
  return (!kernel->scores || describe_scores(&quiet, kernel, a)) && view_scores(a, kernel) &&
         view_result(c, kernel, a) && choose_rows(&quiet, a);
}
