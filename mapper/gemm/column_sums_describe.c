/* Which reductions of its result a product can compute in its drain, and the operands that they need. */
#include "mapper/expression/expression.h"
#include "mapper/gemm/product.h"
#include "mapper/kernel/space.h"
#include "mapper/microcode/moments.h"
#include "mapper/section/section.h"

#include <string.h>

/* Is it a reduction over rows of the result, by blocks, the last of which may be shorter, whose column sums
 * are numbers of FP32? */
static bool is_by_blocks(const tg_gemm *g, const tg_node *root) {
  const tg_value *in = tg_in(root, 0);
  int64_t block = tg_attr_int(root, TG_ATTR_BLOCK);
  return in->rank == 3 && in->dims[2].size == g->n && in->dims[0].size * in->dims[1].size == g->m &&
         block > 0 && block <= UINT16_MAX && block <= in->dims[1].size &&
         (in->dims[0].size == 1 || in->dims[1].size % block == 0) && in->dtype == TG_F32 &&
         tg_out(root)->dtype == TG_F32;
}

static bool made_inside(const tg_compile *c, const tg_kernel *kernel, tg_value *value) {
  const tg_node *producer = tg_owner(c, value)->producer;
  const tg_node_list *prologue = &kernel->column_sums->prologue[0];
  return producer && (producer == kernel->root || tg_has_node(kernel->fused, kernel->fused_count, producer) ||
                      tg_has_node(prologue->nodes, prologue->count, producer));
}

/* By dimensions of more than one element, of which there are as many as of the result. */
static bool walks_alike(const int64_t *dims, int rank, const int64_t *a, const int64_t *b) {
  for (int d = 0; d < rank; d++)
    if (dims[d] > 1 && a[d] != b[d]) return false;
  return true;
}

/* The epilogue operand that is the same tensor and goes along with the result in the same way, or -1. False:
 * it does not go along at all. */
static bool find_epilogue_operand(const tg_compile *c, const tg_gemm *g, const tg_access *access,
                                  int *out_operand) {
  const tg_value *out = g->out[0];
  int64_t dims[TG_MAX_RANK], own[TG_MAX_RANK], other[TG_MAX_RANK];
  tg_value_sizes(out, dims);
  if (!tg_access_strides(access, dims, out->rank, own)) return false;
  *out_operand = -1;
  for (int x = 0; x < g->epilogue_operand_count && *out_operand < 0; x++) {
    const tg_access *there = &g->epilogue_operands[x].access;
    if (!there->name.part && tg_owner(c, there->name.value) == tg_owner(c, access->name.value) &&
        tg_access_strides(there, dims, out->rank, other) && walks_alike(dims, out->rank, own, other))
      *out_operand = x;
  }
  return true;
}

static bool is_known(const tg_gemm *g, const tg_value *value) {
  for (int i = 0; i < g->column_sums.name_count; i++)
    if (g->column_sums.names[i].value == value) return true;
  return false;
}

typedef struct collector {
  const tg_compile *c;
  const tg_kernel *kernel;
  tg_gemm *g;
} collector;

/* An operand, if no node makes it. */
static bool add_operand(void *user, const tg_access *access) {
  const collector *to = user;
  tg_gemm *g = to->g;
  tg_gemm_column_sums *column_sums = &g->column_sums;
  tg_value *value = access->name.value;
  int epilogue_operand;
  if (access->name.part) return false;
  if (made_inside(to->c, to->kernel, value) || is_known(g, value)) return true;
  if (!find_epilogue_operand(to->c, g, access, &epilogue_operand) ||
      column_sums->name_count == TG_EPILOGUE_OPERANDS)
    return false;
  if (epilogue_operand < 0) {
    if (g->epilogue_operand_count == TG_EPILOGUE_OPERANDS) return false;
    epilogue_operand = g->epilogue_operand_count++;
    g->epilogue_operands[epilogue_operand] =
        (tg_epilogue_operand){.access = *access, .kind = tg_stream_kind(value)};
  }
  column_sums->names[column_sums->name_count].value = value;
  column_sums->names[column_sums->name_count++].epilogue_operand = epilogue_operand;
  return true;
}

static bool add_operands(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  const tg_node_list *prologue = &kernel->column_sums->prologue[0];
  collector to = {c, kernel, g};
  for (size_t n = 0; n < prologue->count; n++) {
    if (tg_has_node(kernel->fused, kernel->fused_count, prologue->nodes[n])) continue;
    const tg_value *shape = tg_shape_around(prologue->nodes, prologue->count, n, g->m * g->n);
    if (!tg_visit_operands(c, prologue->nodes, prologue->count, n, shape, add_operand, &to)) return false;
  }
  for (int i = 0; i < g->column_sums.count; i++) {
    tg_value *value = tg_in(tg_kernel_root(kernel->column_sums, i), 0);
    tg_access access = tg_access_of(c, value, value);
    if (!add_operand(&to, &access)) return false;
  }
  return true;
}

/* Rows of the product are rows of the result, in the same order. */
static bool is_plain(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g) {
  for (int k = 0; k < g->outs; k++)
    if (tg_kernel_computes(kernel, k) != g->out[k]) return false;
  return tg_gemm_phases(g->node) == 1 && g->products == 1 && !g->spread && g->partials == 1 &&
         g->m * g->n == tg_value_elements(g->out[0]) && !tg_gemm_rounds_results(g) &&
         c->m->agcu_contexts > TG_CTX_COLUMN_SUMS;
}

tg_status tg_gemm_describe_column_sums(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  const tg_kernel *reduction = kernel->column_sums;
  bool good = is_plain(c, kernel, g) && !reduction->fused_count;
  int64_t block = tg_attr_int(reduction->root, TG_ATTR_BLOCK);
  g->column_sums = (tg_gemm_column_sums){.count = tg_kernel_results(reduction), .block = block};
  for (int i = 0; i < g->column_sums.count; i++) {
    const tg_node *root = tg_kernel_root(reduction, i);
    good = good && is_by_blocks(g, root) && tg_attr_int(root, TG_ATTR_BLOCK) == block;
    if (good && tg_is_moment(root)) g->column_sums.first = tg_moment_first(block);
    g->column_sums.out[i] = tg_kernel_result(reduction, i);
  }
  if (good && add_operands(c, kernel, g)) return TG_OK;
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": its reductions are not computed with it", g->node->name);
}
