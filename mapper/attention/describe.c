/* What the kernel of two products and a softmax is made of, and whether it is faster than the three. */
#include "mapper/attention/parts.h"
#include "mapper/gemm/gemm.h"
#include "mapper/vector/vector.h"

#include <string.h>

/* ---- shape ---- */

bool tg_attention_view(const tg_value *result, const tg_value *value, const int64_t *stride, int64_t rows,
                       int64_t columns, tg_matrices *out) {
  int64_t strides[TG_MAX_RANK];
  for (int d = 0; d < result->rank; d++) {
    int own = d - (result->rank - value->rank);
    strides[d] = own < 0 || value->dims[own].size == 1 ? 0 : stride[own];
  }
  tg_space lead = {.rank = result->rank - 2, .operands = 1};
  for (int d = 0; d < lead.rank; d++) {
    lead.dims[d] = result->dims[d].size;
    lead.strides[0][d] = strides[d];
  }
  tg_space_merge(&lead);
  if (lead.rank > 2) return false;
  for (int d = 0; d < 2; d++) {
    int at = d - (2 - lead.rank);
    out->radix[d] = at >= 0 ? lead.dims[at] : 1;
    out->stride[d] = at >= 0 ? lead.strides[0][at] : 0;
  }
  out->rows = rows;
  out->row_stride = strides[result->rank - 2];
  out->columns = columns;
  out->column_stride = strides[result->rank - 1];
  return true;
}

void tg_attention_transpose(tg_matrices *m) {
  tg_matrices was = *m;
  m->rows = was.columns, m->row_stride = was.column_stride;
  m->columns = was.rows, m->column_stride = was.row_stride;
}

static bool view_operands(tg_attention *a) {
  const tg_gemm *first = &a->scores, *second = &a->context;
  const tg_value *s = tg_out(first->node), *y = tg_out(second->node);
  bool good =
      tg_attention_view(s, tg_in(first->node, 0), first->a_operand.stride, a->queries, first->k, &a->q) &&
      tg_attention_view(s, tg_in(first->node, 1), first->b_operand.stride, first->k, a->keys, &a->k) &&
      tg_attention_view(y, tg_in(second->node, 1), second->b_operand.stride, a->keys, second->n, &a->v);
  a->q.value = first->a;
  a->k.value = first->b;
  a->v.value = second->b;
  if (first->b_transposed) tg_attention_transpose(&a->k);
  if (second->b_transposed) tg_attention_transpose(&a->v);
  for (int x = 0; x < first->epilogue_operand_count && good; x++) {
    const tg_access *access = &first->epilogue_operands[x].access;
    tg_value *value = access->name.value;
    good = tg_attention_view(s, s, access->stride, a->queries, a->keys, &a->epilogue_operand[x]);
    a->epilogue_operand[x].value = value;
    a->epilogue_operand_kind[x] =
        a->epilogue_operand[x].column_stride ? tg_stream_kind(value) : TG_STREAM_SPLAT32;
    if (!a->epilogue_operand[x].row_stride) a->epilogue_operand[x].rows = 1;
  }
  return good;
}

/* The result, or what a Transpose makes of it, which the stores do. */
static bool view_result(const tg_compile *c, const tg_kernel *kernel, tg_attention *a) {
  const tg_value *y = tg_out(kernel->root);
  int64_t stride[TG_MAX_RANK];
  tg_stored_strides(c, kernel, stride);
  a->out.value = kernel->output;
  a->out_kind = tg_result_kind(kernel->output);
  return tg_attention_view(y, y, stride, a->queries, a->context.n, &a->out);
}

static bool same_products(const tg_value *a, const tg_value *b) {
  if (a->rank != b->rank || a->rank < 2) return false;
  for (int d = 0; d < a->rank - 2; d++)
    if (a->dims[d].size != b->dims[d].size) return false;
  return true;
}

static bool is_plain(const tg_gemm *g) {
  return g->m > 0 && g->n > 0 && g->k > 0 && g->partials == 1 && !g->a_transposed && !tg_in(g->node, 2);
}

/* ---- microcode ---- */

typedef struct scored {
  const tg_compile *c;
  const tg_attention *a;
} scored;

/* What the nodes that are fused behind scores make of them, with operands as vector `u` of each iteration has them. */
static tg_mc_ref behind(const scored *s, tg_mc *mc, tg_mc_ref y, int u) {
  const tg_attention *a = s->a;
  const tg_kernel *kernel = a->kernel->scores;
  tg_operand_stream streams[TG_EPILOGUE_OPERANDS];
  for (int x = 0; x < a->scores.epilogue_operand_count; x++)
    streams[x] = (tg_operand_stream){.name = {.value = a->epilogue_operand[x].value},
                                     .stream = (1 + x) * a->unroll + u,
                                     .scalar = a->epilogue_operand_kind[x] == TG_STREAM_SPLAT32};
  if (!kernel->fused_count) return y;
  y = tg_emit_expression(mc, s->c, kernel, tg_out(kernel->root), y, streams,
                         a->scores.epilogue_operand_count);
  return y == TG_MC_NONE ? y : tg_round_to(mc, kernel->output->dtype, y, false); /* no store does */
}

static tg_mc_ref scaled(const void *user, tg_mc *mc, tg_mc_ref x) { return behind(user, mc, x, 0); }

static tg_mc_ref product(const scored *s, tg_mc *mc, int u) {
  return tg_round_to(mc, tg_out(s->a->kernel->scores->root)->dtype, tg_mc_load(mc, u, false), false);
}

/* -infinity where there is no key. */
static tg_mc_ref of_keys(const scored *s, tg_mc *mc, tg_mc_ref y, int u) {
  if (y == TG_MC_NONE || s->a->keys % TG_ROW_PARTIALS == 0) return y;
  return tg_mc_alu_imm(mc, TG_ALU_tail, y, tg_mc_bits(mc, 0xff800000u), u);
}

/* A vector of scores, and of what they are made of. */
static tg_mc_ref score(const void *user, tg_mc *mc, int u) {
  return of_keys(user, mc, behind(user, mc, product(user, mc, u), u), u);
}
static tg_mc_ref unscaled(const void *user, tg_mc *mc, int u) {
  return of_keys(user, mc, product(user, mc, u), u);
}

bool tg_attention_microcode(const tg_compile *c, const tg_attention *a, tg_mc *mc) {
  scored user = {c, a};
  tg_score_scale scale = tg_attention_scale(a->kernel->scores);
  tg_softmax s = {.element = score, .step = scaled, .factor = scale.exact, .user = &user};
  if (scale.keeps_order) s.plain = unscaled;
  tg_mc_begin(mc, c->arena);
  tg_softmax_begin(&s, c, a->kernel->softmax, mc);
  int kept = (1 + a->scores.epilogue_operand_count) * a->unroll;
  if (kept + a->unroll + 1 > TG_STREAMS || !tg_softmax_once(&s, a->unroll, kept, a->own_unroll, a->weights))
    return false;
  tg_mc_next_segment(mc);
  const tg_kernel *kernel = a->kernel;
  tg_mc_ref y = tg_emit_epilogue(mc, c, kernel, kernel->root, tg_mc_load(mc, 0, false));
  if (y == TG_MC_NONE) return false;
  tg_mc_store(mc, 1, a->out_kind == TG_STREAM_FP32, y);
  return true;
}

/* Two vectors at a time, or one where streams, words or registers do not suffice. */
static bool set_microcode(const tg_compile *c, tg_attention *a) {
  tg_mc mc;
  tg_softmax s = {.c = NULL};
  tg_softmax_begin(&s, c, a->kernel->softmax, &mc);
  a->own_unroll = tg_softmax_unroll(&s);
  for (a->unroll = tg_softmax_first_unroll(&s); a->unroll > 0; a->unroll--)
    if (tg_attention_microcode(c, a, &mc) && tg_mc_fits(&mc, c->m, a->words)) return true;
  return false;
}

/* ---- worth it? ---- */

static double bytes_of(const tg_value *value) {
  return (double)tg_value_elements(value) * tg_value_bytes_each(value);
}

/* Estimate of the three kernels, and of the move behind them. */
static double apart_cycles(const tg_compile *c, const tg_attention *a) {
  const tg_kernel *kernel = a->kernel;
  double vectors = (double)tg_attention_keys(a) / tg_lanes(c->m), words = 0,
         rows = (double)a->products * (double)a->queries / tg_tiles(c->m),
         port = tg_agcus(c->m) * (double)c->m->port_bytes;
  for (int q = 0; q < TG_ATTENTION_DRAIN; q++) {
    bool second = q >= TG_SOFTMAX_FIRST_SEGMENTS;
    int own = second ? q - TG_SOFTMAX_FIRST_SEGMENTS : q;
    bool repeats = (second ? TG_SOFTMAX_REPEAT : TG_SOFTMAX_FIRST_REPEAT) >> own & 1;
    words += a->words[q] * (repeats ? vectors / (second ? a->own_unroll : a->unroll) : 1);
  }
  double ports = (bytes_of(kernel->scores->output) + bytes_of(kernel->softmax->output)) / port;
  double softmax = TG_SECTION_CYCLES + (words * rows > ports ? words * rows : ports);
  double move = tg_kernel_computes(kernel, 0) == kernel->output ? 0 : tg_move_cycles(c, kernel->output);
  return tg_product_cycles(c, kernel->scores) + softmax + tg_product_cycles(c, kernel) + move;
}

bool tg_describe_attention(const tg_compile *c, const tg_kernel *kernel, tg_attention *out) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  tg_attention *a = out;
  *a = (tg_attention){.kernel = kernel};
  if (tg_describe_gemm(&quiet, kernel->scores, 0, &a->scores) ||
      tg_describe_gemm(&quiet, kernel, 0, &a->context))
    return false;
  const tg_value *s = tg_out(kernel->scores->root), *y = tg_out(kernel->root);
  if (!is_plain(&a->scores) || !is_plain(&a->context) || !same_products(s, y)) return false;
  if (a->context.epilogue_operand_count || a->context.a != kernel->softmax->output) return false;
  a->products = tg_value_elements_between(s, 0, s->rank - 2);
  a->queries = s->dims[s->rank - 2].size;
  a->keys = a->scores.n;
  a->weights = tg_in(kernel->root, 0)->dtype;
  if (a->products >= 1 << 20 || a->queries >= 1 << 20 || a->keys >= 1 << 15 || a->context.n >= 1 << 15)
    return false;
  return view_operands(a) && view_result(c, kernel, a) && set_microcode(&quiet, a) &&
         tg_tile_attention(c, a) && a->cycles + TG_SECTION_CYCLES < apart_cycles(c, a);
}
