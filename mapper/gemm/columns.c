/* Columns of a product that are read apart, as of products of one tensor that the frontend merged, or of queries, keys and values
 * that a model has in one: they may be sections of their own, where a product of all would take longer. */
#include "mapper/gemm/product.h"

/* A Slice of neighbouring columns, all rows of them? */
static bool is_of_columns(const tg_node *node, tg_columns *out) {
  if (node->op != TG_OP_SLICE) return false;
  const tg_value *whole = tg_in(node, 0), *part = tg_out(node);
  int count, last = whole->rank - 1;
  const int64_t *starts = tg_attr_ints(node, TG_ATTR_STARTS, &count),
                *axes = tg_attr_ints(node, TG_ATTR_AXES, NULL),
                *steps = tg_attr_ints(node, TG_ATTR_STEPS, NULL);
  *out = (tg_columns){0, part->dims[last].size};
  for (int d = 0; d < last; d++)
    if (part->dims[d].size != whole->dims[d].size) return false;
  for (int i = 0; i < count; i++) {
    if (axes[i] != last) continue;
    if (starts[i] < 0 || steps[i] != 1) return false;
    out->first = starts[i];
  }
  return true;
}

/* In the order of their columns; false: it is there, or laps over another one. */
static bool insert(tg_columns *parts, int *count, tg_columns part) {
  int at = *count;
  for (; at > 0 && parts[at - 1].first > part.first; at--) parts[at] = parts[at - 1];
  parts[at] = part;
  ++*count;
  return (at == 0 || parts[at - 1].first + parts[at - 1].count <= part.first) &&
         (at + 1 == *count || part.first + part.count <= parts[at + 1].first);
}

int tg_gemm_column_parts(const tg_kernel *kernel, tg_columns out[TG_MOST_COLUMN_PARTS]) {
  const tg_value *y = kernel->output;
  int64_t columns = 0;
  int count = 0;
  bool plain =
      !kernel->prologue_result && !kernel->column_sums && !kernel->second && !kernel->pool && !kernel->kept;
  if (tg_kernel_computes(kernel, 0) != y)
    return 0; /* it is stored in another order, in which columns are rows */
  if (!plain || tg_kernel_results(kernel) != 1 || y->output_count || tg_gemm_phases(kernel->root) != 1)
    return 0;
  for (const tg_use *use = y->uses; use; use = use->next) {
    tg_columns part;
    if (count == TG_MOST_COLUMN_PARTS || !is_of_columns(use->node, &part) || !insert(out, &count, part))
      return 0;
    columns += part.count;
  }
  return columns == y->dims[y->rank - 1].size ? count : 0;
}

tg_status tg_gemm_describe_columns(tg_compile *c, const tg_kernel *kernel, const tg_columns *columns,
                                   tg_gemm *out) {
  tg_conv_rows image = {.joins = false};
  tg_status status = tg_gemm_describe_root(c, kernel, 0, &image, out);
  if (status) return status;
  if (out->products != 1 || out->partials != 1 || out->k_tile || tg_gemm_rounds_results(out) ||
      image.joined || !out->m)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": its columns are not multiplied apart", out->node->name);
  if (tg_gemm_b_in_parts(out)) {
    out->b_offsets[0] += columns->first * out->k;
    for (int d = 0; d < 3; d++) out->b_k_stride[d] = out->b_k_stride[d] / out->n * columns->count;
  } else {
    out->b_offsets[0] += columns->first * out->b_n_stride[2];
  }
  out->n = out->b_n_radix[2] = columns->count;
  out->first_column = columns->first;
  out->b_alone = false;
  return tg_gemm_describe_fused(c, kernel, &image, out);
}
