/* Operands of the nodes that are fused behind a product: which they are, how each is walked along with the
 * result, and by which stream it comes. */
#include "mapper/expression/expression.h"
#include "mapper/gemm/product.h"
#include "mapper/kernel/space.h"

#include <assert.h>
#include <string.h>

typedef struct listing {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_gemm *g;
  bool full; /* more operands than there is room for */
} listing;

/* An operand; the results of the root, and of a second product, are none. */
static bool append(void *user, const tg_access *access) {
  listing *l = user;
  tg_gemm *g = l->g;
  const tg_operand_name *name = &access->name;
  const tg_kernel *second = l->kernel->second;
  if (tg_owner(l->c, name->value) == tg_out(l->kernel->root)) return true;
  if (second && tg_owner(l->c, name->value) == tg_out(second->root)) return true;
  for (int x = 0; x < g->epilogue_operand_count; x++)
    if (tg_is_named(&g->epilogue_operands[x].access.name, name->value, name->part)) return true;
  l->full |= g->epilogue_operand_count == TG_EPILOGUE_OPERANDS;
  if (!l->full)
    g->epilogue_operands[g->epilogue_operand_count++] =
        (tg_epilogue_operand){.access = *access, .kind = tg_stream_kind(name->value)};
  return true;
}

static void list_bias(listing *l, const tg_node *root) {
  tg_value *bias = tg_in(root, 2);
  if (!bias || tg_is_scalar_constant(bias)) return;
  tg_access access = tg_access_of(l->c, bias, tg_kernel_computes(l->kernel, 0));
  append(l, &access);
}

bool tg_gemm_list_operands(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  listing l = {.c = c, .kernel = kernel, .g = g};
  list_bias(&l, kernel->root);
  if (kernel->second) list_bias(&l, kernel->second->root);
  for (size_t n = 0; n < kernel->fused_count; n++) {
    const tg_value *shape =
        tg_shape_around(kernel->fused, kernel->fused_count, n, tg_value_elements(tg_out(g->node)));
    tg_visit_operands(c, kernel->fused, kernel->fused_count, n, shape, append, &l);
  }
  return !l.full;
}

/* By the dimensions of the result. False: it does not go along with it by strides. */
static bool walk_along(tg_access *access, const tg_value *out) {
  int64_t dims[TG_MAX_RANK], strides[TG_MAX_RANK];
  if (access->apart) return false;
  if (tg_value_same_shape(access->shape, out)) return true;
  tg_value_sizes(out, dims);
  if (access->name.part || !tg_access_strides(access, dims, out->rank, strides)) return false;
  access->shape = out;
  memcpy(access->stride, strides, sizeof *strides * (size_t)out->rank);
  return true;
}

/* Dimensions of the result before those that vary within a product. */
static int batch_rank(const tg_gemm *g, int rank) {
  return g->node->op == TG_OP_MATMUL && g->products > 1 ? rank - 2 : 0;
}

/* The first element of each product, by strides of the dimensions of the result. */
static void set_offsets(const tg_gemm *g, const tg_space *result, const tg_conv_rows *image,
                        const int64_t *stride, int64_t first, int64_t *out_offsets) {
  for (int64_t i = 0; i < g->products; i++) {
    out_offsets[i] = first + g->first_column * stride[result->rank - 1];
    for (int64_t d = batch_rank(g, result->rank) - 1, rest = i; d >= 0; rest /= result->dims[d--])
      out_offsets[i] += rest % result->dims[d] * stride[d];
    if (g->node->op != TG_OP_MATMUL)
      out_offsets[i] += i * tg_gemm_useful_columns(g) * stride[result->rank - 1];
    for (int d = 0; d < 2 && image->step[0]; d++) out_offsets[i] += image->first[d] * stride[1 + d];
  }
}

/* Row digits: dimensions of the result that vary within a product, merged; at most three by the fusion rule
 * of fusion/form.c. False: they are more. */
static bool set_row_digits(const tg_space *result, const tg_conv_rows *image, tg_gemm *g) {
  int batch = batch_rank(g, result->rank), count = g->epilogue_operand_count;
  tg_space rows = {.rank = result->rank - 1 - batch, .operands = result->operands};
  for (int d = 0; d < rows.rank; d++) {
    int at = batch + d - 1; /* dimension of the image */
    bool stepped = image->step[0] && (at == 0 || at == 1);
    rows.dims[d] = stepped ? image->rows[at] : result->dims[batch + d];
    for (int e = 0; e < rows.operands; e++)
      rows.strides[e][d] = result->strides[e][batch + d] * (stepped ? image->step[at] : 1);
  }
  tg_space_merge(&rows);
  for (int d = 0; d < 3 && rows.rank <= 3; d++) {
    int at = d - (3 - rows.rank);
    g->out_radix[d] = at >= 0 ? rows.dims[at] : 1;
    g->out_stride[d] = at >= 0 ? rows.strides[count][at] : 0;
    for (int e = 0; e < count; e++) g->epilogue_operands[e].stride[d] = at >= 0 ? rows.strides[e][at] : 0;
  }
  return rows.rank <= 3;
}

static void find_along(const tg_gemm *g, tg_epilogue_operand *x) {
  const int64_t run = g->run && !g->run_own ? g->run : g->n, /* what fills groups up has no number */
      dims[] = {g->out_radix[0], g->out_radix[1], g->out_radix[2], g->n / run, run},
                strides[] = {x->stride[0], x->stride[1], x->stride[2], x->run_stride, x->element_stride};
  x->along = tg_along_of(dims, strides, 5);
  if (tg_is_splat(x->along)) x->kind = TG_STREAM_SPLAT32;
}

/* Columns of a product are those of pixels side by side, or of groups that are filled up. False: a number a pixel is none a row of these. */
static bool set_runs(const tg_conv_rows *image, const int64_t *stored, tg_gemm *g) {
  if (g->run_own) {
    g->out_run_stride = g->run_own;
    for (int e = 0; e < g->epilogue_operand_count; e++)
      g->epilogue_operands[e].run_stride = g->run_own * g->epilogue_operands[e].element_stride;
  }
  if (!image->joined) return true;
  g->run = g->n / image->joined;
  g->out_run_stride = stored[2];
  for (int e = 0; e < g->epilogue_operand_count; e++) {
    tg_epilogue_operand *x = &g->epilogue_operands[e];
    x->run_stride = x->access.stride[2];
    if (x->run_stride && !x->element_stride) return false;
  }
  return true;
}

tg_status tg_gemm_walk_operands(const tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                tg_gemm *g) {
  const tg_value *out = tg_kernel_computes(kernel, 0);
  int64_t stored[TG_MAX_RANK];
  tg_space result; /* operands, then the result as it is stored */
  tg_space_begin(&result, out);
  for (int e = 0; e < g->epilogue_operand_count; e++) {
    tg_epilogue_operand *x = &g->epilogue_operands[e];
    if (!walk_along(&x->access, out))
      return tg_fail(c->diag, TG_INVALID, "node \"%s\": an operand of what follows it has another shape",
                     g->node->name);
    tg_space_add_strided(&result, x->access.stride);
    int64_t *offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
    set_offsets(g, &result, image, x->access.stride, x->access.first, offsets);
    x->offsets = offsets;
    x->element_stride = x->access.stride[out->rank - 1];
  }
  tg_stored_strides(c, kernel, stored);
  tg_space_add_strided(&result, stored);
  set_offsets(g, &result, image, stored, 0, g->out_offsets);
  if (!set_row_digits(&result, image, g))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": broadcasting over so many dimensions is not supported",
                   g->node->name);
  if (!set_runs(image, stored, g))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": a number a pixel goes along with no row",
                   g->node->name);
  for (int e = 0; e < g->epilogue_operand_count; e++) find_along(g, &g->epilogue_operands[e]);
  return TG_OK;
}

int tg_gemm_operand_streams(const tg_gemm *g, tg_operand_stream *out) {
  int count = 0;
  for (int x = 0; x < g->epilogue_operand_count; x++)
    out[count++] = (tg_operand_stream){.name = g->epilogue_operands[x].access.name,
                                       .stream = 1 + x,
                                       .scalar = tg_is_splat(g->epilogue_operands[x].along)};
  for (int i = 0; i < g->column_sums.name_count; i++) {
    out[count] = out[g->column_sums.names[i].epilogue_operand];
    out[count++].name.value = g->column_sums.names[i].value;
  }
  return count;
}

static tg_mc_ref load_bias(tg_mc *mc, const tg_operand_stream *streams, int count, const tg_value *bias) {
  if (tg_is_scalar_constant(bias)) return tg_mc_const(mc, tg_scalar_value(bias));
  int s = 0;
  while (s < count && !tg_is_named(&streams[s].name, bias, 0)) s++;
  assert(s < count);
  return streams[s].loaded ? streams[s].held : tg_hold_operand(mc, &streams[s]);
}

tg_mc_ref tg_gemm_add_bias(tg_mc *mc, const tg_kernel *kernel, const tg_operand_stream *streams, int count,
                           tg_mc_ref y, bool stored) {
  const tg_value *bias = tg_in(kernel->root, 2);
  if (bias) y = tg_mc_alu(mc, TG_ALU_add, y, load_bias(mc, streams, count, bias), TG_MC_NONE);
  return tg_round_to(mc, tg_out(kernel->root)->dtype, y, stored);
}
