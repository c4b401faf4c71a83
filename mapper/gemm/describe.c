/* Nodes as products of matrices: MatMul, and what all have in common. */
#include "mapper/gemm/product.h"
#include "mapper/kernel/outer.h"

#include <assert.h>
#include <string.h>

static int format_of(tg_dtype dtype) {
  switch (dtype) {
  case TG_BF16: return TG_FMT_BF16;
  case TG_F16: return TG_FMT_FP16;
  case TG_TF32: return TG_FMT_TF32;
  default: return TG_FMT_FP32;
  }
}

static int conversion(const tg_value *source, const tg_value *operand) {
  if (source->dtype == operand->dtype) return tg_value_bytes_each(operand) == 4 ? TG_CVT_32 : TG_CVT_16;
  return operand->dtype == TG_BF16  ? TG_CVT_FP32_BF16
         : operand->dtype == TG_F16 ? TG_CVT_FP32_FP16
                                    : TG_CVT_FP32_TF32;
}

static tg_status set_formats(tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_value *a = tg_in(kernel->root, 0), *b = tg_in(kernel->root, 1);
  g->node = kernel->root;
  g->a_operand = tg_gemm_operand(c->stored, kernel->root, 0);
  g->b_operand = tg_gemm_operand(c->stored, kernel->root, 1);
  g->a = g->a_operand.source;
  g->b = g->b_operand.source;
  g->a_turned = g->a_operand.turned;
  g->b_turned = g->b_operand.turned;
  g->outs = tg_kernel_results(kernel);
  for (int k = 0; k < g->outs; k++) {
    g->out[k] = tg_kernel_result(kernel, k);
    g->out_kind[k] = tg_result_kind(g->out[k]);
  }
  if (a->dtype != b->dtype)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": operands of types %s and %s cannot be multiplied on the array",
                   kernel->root->name, tg_dtype_name(a->dtype), tg_dtype_name(b->dtype));
  g->format = format_of(a->dtype);
  g->a_convert = conversion(g->a, a);
  g->b_convert = conversion(g->b, b);
  return TG_OK;
}

void tg_gemm_allocate_products(tg_compile *c, tg_gemm *g) {
  g->a_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->b_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
  g->out_offsets = TG_NEW_ARRAY(c->arena, int64_t, (size_t)g->products);
}

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

static void describe_matmul(tg_compile *c, tg_gemm *g) {
  const tg_value *a = tg_in(g->node, 0), *b = tg_in(g->node, 1), *out = tg_out(g->node);
  int64_t m = dim_from_end(a, 1), batches = tg_value_elements_between(out, 0, out->rank - 2);
  g->k = dim_from_end(a, 0);
  g->n = dim_from_end(b, 0);
  g->partials = tg_attr_int(g->node, TG_ATTR_PARTIALS);
  bool shared_b =
      tg_value_elements_between(b, 0, b->rank - 2) == 1; /* rows of all batches are rows of one product */
  g->m = shared_b ? batches * m : m;
  g->products = shared_b ? 1 : batches;
  g->b_alone = g->b == b && b->rank == 2 && tg_is_constant(b) && !b->output_count && b->uses &&
               !b->uses->next && g->partials == 1;
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

/* ---- operands of the fused nodes ---- */

typedef struct listing {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_gemm *g;
  bool full;          /* more operands than there is room for */
  tg_conv_rows image; /* of a convolution: which rows of the output; step 0: it is none */
} listing;

static bool is_listed(const listing *l, const tg_value *value, int part) {
  for (int e = 0; e < l->g->external_count; e++)
    if (l->g->externals[e].value == value && l->g->externals[e].part == part) return true;
  return false;
}

static bool known(const listing *l, const tg_value *value) {
  return value == tg_out(l->kernel->root) || tg_is_scalar_constant(value) || is_listed(l, value, 0);
}

static bool made_inside(const listing *l, tg_value *value) {
  const tg_node *maker = tg_owner(l->c, value)->producer;
  return maker && tg_has_node(l->kernel->fused, l->kernel->fused_count, maker);
}

static void append(listing *l, const tg_gemm_external *external) {
  if (l->g->external_count == TG_GEMM_EXTERNALS)
    l->full = true;
  else
    l->g->externals[l->g->external_count++] = *external;
}

/* An operand of a node whose result goes along with the product's as one of the shape of `shape`. */
static void add_external(listing *l, tg_value *value, const tg_value *shape) {
  if (known(l, value) || made_inside(l, value)) return;
  append(l, &(tg_gemm_external){.value = value, .kind = tg_stream_kind(value), .shape = shape});
}

/* Those of outer products. */
static void add_parts(listing *l, const tg_node *node, const tg_outer *o) {
  for (int k = 0; k < o->count; k++)
    for (int i = 0; i < 2; i++) {
      tg_gemm_external part = {.value = o->operand[i],
                               .kind = tg_stream_kind(o->operand[i]),
                               .shape = tg_out(node),
                               .part = k + 1,
                               .dtype = o->dtype[i],
                               .first = k * o->step[i]};
      memcpy(part.along, o->stride[i], sizeof part.along);
      if (!is_listed(l, part.value, part.part)) append(l, &part);
    }
}

static void add_operands(listing *l, const tg_node *node, const tg_value *shape) {
  tg_outer o;
  bool outer = tg_outer_of(l->c, node, &o);
  if (outer) add_parts(l, node, &o);
  for (int i = outer ? 2 : 0; i < node->input_count; i++)
    if (tg_in(node, i)) add_external(l, tg_in(node, i), shape);
}

/* False: it does not go along with the result by strides. */
static bool add_strides(tg_space *space, const tg_gemm_external *external, const tg_value *out) {
  int64_t dims[TG_MAX_RANK], strides[TG_MAX_RANK];
  tg_value_sizes(out, dims);
  if (external->part) {
    tg_space_add_strided(space, external->along);
    return tg_value_same_shape(external->shape, out);
  }
  if (!external->shape || tg_value_same_shape(external->shape, out)) {
    tg_space_add_broadcast(space, external->value);
    return true;
  }
  if (!tg_space_strides_as(external->value, external->shape, dims, out->rank, strides)) return false;
  tg_space_add_strided(space, strides);
  return true;
}

/* Row digits: dimensions of the output that vary within a product, merged; at most three by the fusion rule
 * of fusion/form.c. */
static tg_status set_digits(listing *l) {
  tg_gemm *g = l->g;
  const tg_value *out = tg_kernel_computes(l->kernel, 0);
  int64_t stored[TG_MAX_RANK];
  tg_stored_strides(l->kernel, stored);
  int rank = out->rank, batch = g->node->op == TG_OP_MATMUL && g->products > 1 ? rank - 2 : 0;
  tg_space full;
  tg_space_begin(&full, out);
  for (int e = 0; e < g->external_count; e++)
    if (!add_strides(&full, &g->externals[e], out))
      return tg_fail(l->c->diag, TG_INVALID, "node \"%s\": an operand of what follows it has another shape",
                     g->node->name);
  tg_space_add_strided(&full, stored);
  for (int e = 0; e <= g->external_count; e++) {
    const int64_t *stride = full.strides[e];
    int64_t *offsets =
        e < g->external_count ? TG_NEW_ARRAY(l->c->arena, int64_t, (size_t)g->products) : g->out_offsets;
    for (int64_t i = 0; i < g->products; i++) {
      offsets[i] = e < g->external_count ? g->externals[e].first : 0;
      for (int64_t d = batch - 1, rest = i; d >= 0; rest /= full.dims[d--])
        offsets[i] += rest % full.dims[d] * stride[d];
      if (g->node->op != TG_OP_MATMUL) offsets[i] += i * g->n * stride[rank - 1];
      for (int d = 0; d < 2 && l->image.step[0]; d++) offsets[i] += l->image.first[d] * stride[1 + d];
    }
    if (e == g->external_count) continue;
    g->externals[e].offsets = offsets;
    g->externals[e].element_stride = stride[rank - 1];
  }
  tg_space rows = {.rank = rank - 1 - batch, .operands = g->external_count + 1};
  for (int d = 0; d < rows.rank; d++) {
    int at = batch + d - 1; /* dimension of the image */
    bool stepped = l->image.step[0] && (at == 0 || at == 1);
    rows.dims[d] = stepped ? l->image.rows[at] : full.dims[batch + d];
    for (int e = 0; e < rows.operands; e++)
      rows.strides[e][d] = full.strides[e][batch + d] * (stepped ? l->image.step[at] : 1);
  }
  tg_space_merge(&rows);
  if (rows.rank > 3)
    return tg_fail(l->c->diag, TG_INVALID,
                   "node \"%s\": broadcasting over so many dimensions is not supported", g->node->name);
  for (int d = 0; d < 3; d++) {
    int at = d - (3 - rows.rank);
    g->out_radix[d] = at >= 0 ? rows.dims[at] : 1;
    g->out_stride[d] = at >= 0 ? rows.strides[g->external_count][at] : 0;
    for (int e = 0; e < g->external_count; e++) g->externals[e].stride[d] = at >= 0 ? rows.strides[e][at] : 0;
  }
  for (int e = 0; e < g->external_count; e++) {
    tg_gemm_external *x = &g->externals[e];
    if (!x->element_stride) x->kind = TG_STREAM_SPLAT32;
    /* A row digit of radix 1 moves nothing whatever its stride. */
    x->row_vector = true;
    for (int d = 0; d < 3; d++)
      if (x->stride[d] && g->out_radix[d] > 1) x->row_vector = false;
  }
  return TG_OK;
}

static tg_status describe_fused(tg_compile *c, const tg_kernel *kernel, const tg_conv_rows *image,
                                tg_gemm *out) {
  tg_value *bias = tg_in(kernel->root, 2);
  int64_t part = tg_partial_length(out->k, out->partials);
  out->part = part ? part : 1;
  bool rounds = kernel->root->op == TG_OP_MATMUL && tg_rounds_sums(kernel->root);
  out->sum_kind = rounds ? TG_STREAM_BF16SR : TG_STREAM_FP32;
  listing l = {.c = c, .kernel = kernel, .g = out, .image = *image};
  if (bias && !tg_is_scalar_constant(bias)) add_external(&l, bias, NULL);
  for (size_t n = 0; n < kernel->fused_count; n++) {
    const tg_value *shape =
        tg_shape_around(kernel->fused, kernel->fused_count, n, tg_value_elements(tg_out(out->node)));
    add_operands(&l, kernel->fused[n], shape);
  }
  tg_status described = kernel->totals ? tg_gemm_describe_totals(c, kernel, out) : TG_OK;
  if (described) return described;
  int streams = 1 + out->external_count + out->outs + (out->partials > 1);
  if (kernel->totals) streams += tg_gemm_fit_totals(out, TG_STREAMS - streams);
  if (l.full || streams > TG_STREAMS)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": what follows it reads too many tensors",
                   out->node->name);
  tg_status status = set_digits(&l);
  return status ? status : tg_gemm_measure_drain(c, kernel, out);
}

tg_status tg_describe_gemm(tg_compile *c, const tg_kernel *kernel, int64_t phase, tg_gemm *out) {
  tg_conv_rows image = {.step = {0}};
  *out = (tg_gemm){0};
  tg_status status = set_formats(c, kernel, out);
  if (status) return status;
  if (kernel->root->op == TG_OP_MATMUL)
    describe_matmul(c, out);
  else
    tg_describe_conv(c, phase, out, &image);
  /* A single column whose elements follow each other is a row: one run instead of an atom an element. Nodes
   * in front make rows of A. */
  if (out->n == 1 && out->b_k_stride[2] == 1) out->b_turned = true;
  if (out->k == 1 && out->a_m_stride[2] == 1 && !kernel->front[0].count) out->a_turned = true;
  status = describe_fused(c, kernel, &image, out);
  return status || !kernel->front_result ? status : tg_gemm_describe_front(c, kernel, out);
}

/* The batch dimensions of the output as an operand walks them: two digits at most. */
static bool lead_digits(const tg_gemm *g, const tg_value *value, const tg_operand *operand, int64_t radix[2],
                        int64_t stride[2]) {
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

bool tg_spread_gemm(tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  static const tg_conv_rows none;
  *out = (tg_gemm){0};
  if (kernel->root->op != TG_OP_MATMUL || kernel->front_result || set_formats(c, kernel, out)) return false;
  describe_matmul(c, out);
  if (out->products == 1 || out->partials > 1) return false;
  out->spread = out->products;
  out->products = 1;
  int64_t *radix = out->a_turned ? out->a_k_radix : out->a_m_radix,
          *stride = out->a_turned ? out->a_k_stride : out->a_m_stride;
  return lead_digits(out, tg_in(out->node, 0), &out->a_operand, radix, stride) &&
         lead_digits(out, tg_in(out->node, 1), &out->b_operand,
                     out->b_turned ? out->b_n_radix : out->b_k_radix,
                     out->b_turned ? out->b_n_stride : out->b_k_stride) &&
         !describe_fused(c, kernel, &none, out);
}
