/* A MatMul as products of matrices. */
#include "mapper/gemm/product.h"
#include "mapper/kernel/space.h"

static int64_t dim_from_end(const tg_value *value, int d) {
  return value->rank > d ? value->dims[value->rank - 1 - d].size : 1;
}

/* Elements from the operand's beginning to the batch element of it that batch element `index` of the output
 * reads. */
static int64_t batch_offset(const tg_value *value, const tg_operand *operand, const tg_value *out,
                            int64_t index) {
  int64_t offset = 0;
  for (int d = 2; d < out->rank; d++) {
    int64_t size = dim_from_end(value, d), digit = index % dim_from_end(out, d);
    index /= dim_from_end(out, d);
    if (size > 1) offset += digit * operand->stride[value->rank - 1 - d];
  }
  return offset;
}

void tg_describe_matmul(tg_compile *c, tg_gemm *g) {
  const tg_value *a = tg_in(g->node, 0), *b = tg_in(g->node, 1), *out = tg_out(g->node);
  int64_t m = dim_from_end(a, 1), batches = tg_value_elements_between(out, 0, out->rank - 2);
  g->k = dim_from_end(a, 0);
  g->n = dim_from_end(b, 0);
  g->partials = tg_attr_int(g->node, TG_ATTR_PARTIALS);
  bool shared_b =
      tg_value_elements_between(b, 0, b->rank - 2) == 1; /* rows of all batches are rows of one product */
  g->m = shared_b ? batches * m : m;
  g->products = shared_b ? 1 : batches;
  g->b_alone = b->rank == 2 && g->partials == 1 && tg_gemm_alone_reads_b(g);
  tg_gemm_allocate_products(c, g);
  for (int64_t i = 0; i < g->products; i++) {
    if (shared_b) continue;
    g->a_offsets[i] = batch_offset(a, &g->a_operand, out, i);
    g->b_offsets[i] = batch_offset(b, &g->b_operand, out, i);
  }
  g->sr_row_step = m;
  tg_merge_rows(a, g->a_operand.stride, shared_b ? 0 : a->rank - 2, g->a_m_radix, g->a_m_stride);
  g->a_k_radix[0] = g->a_k_radix[1] = 1;
  g->a_k_radix[2] = g->k;
  g->a_k_stride[2] = g->a_operand.stride[a->rank - 1];
  g->y_size = g->x_size = 1;
  g->b_k_radix[0] = g->b_k_radix[1] = g->b_n_radix[0] = g->b_n_radix[1] = 1;
  g->b_k_radix[2] = g->k;
  g->b_n_radix[2] = g->n;
  g->b_k_stride[2] = g->b_operand.stride[b->rank - 2];
  g->b_n_stride[2] = g->b_operand.stride[b->rank - 1];
}

/* The batch dimensions of the output as an operand walks them: two digits at most. */
bool tg_matmul_lead_digits(const tg_gemm *g, const tg_value *value, const tg_operand *operand,
                           int64_t radix[2], int64_t stride[2]) {
  const tg_value *out = tg_out(g->node);
  tg_space space = {.rank = out->rank - 2, .operands = 1};
  for (int d = 0; d < space.rank; d++) {
    int own = d - (out->rank - value->rank);
    space.dims[d] = out->dims[d].size;
    space.strides[0][d] = own < 0 || value->dims[own].size == 1 ? 0 : operand->stride[own];
  }
  tg_space_merge(&space);
  for (int d = 0; d < 2 && space.rank <= 2; d++) {
    int at = d - (2 - space.rank);
    radix[d] = at >= 0 ? space.dims[at] : 1;
    stride[d] = at >= 0 ? space.strides[0][at] : 0;
  }
  return space.rank <= 2;
}
