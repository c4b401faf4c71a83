/* MatMul and Conv nodes as products of matrices. */
#include "mapper/gemm.h"

#include <assert.h>

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
  g->out = kernel->output;
  if (a->dtype != b->dtype)
    return tg_fail(c->diag, TG_INVALID,
                   "node \"%s\": operands of types %s and %s cannot be multiplied on the array",
                   kernel->root->name, tg_dtype_name(a->dtype), tg_dtype_name(b->dtype));
  g->format = format_of(a->dtype);
  g->a_convert = conversion(g->a, a);
  g->b_convert = conversion(g->b, b);
  return TG_OK;
}

static void allocate_products(tg_compile *c, tg_gemm *g) {
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

/* Rows of A as digits of a walk: those of one matrix, or of all batches, merged where they follow each other.
 */
static void set_a_rows(const tg_value *a, bool batches, tg_gemm *g) {
  tg_space rows = {.operands = 1};
  for (int d = batches ? 0 : a->rank - 2; d < a->rank - 1; d++) {
    rows.dims[rows.rank] = a->dims[d].size;
    rows.strides[0][rows.rank++] = g->a_operand.stride[d];
  }
  tg_space_merge(&rows);
  for (int d = 0; d < 3; d++) {
    int at = d - (3 - rows.rank);
    g->a_m_radix[d] = at >= 0 ? rows.dims[at] : 1;
    g->a_m_stride[d] = at >= 0 ? rows.strides[0][at] : 0;
  }
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
  allocate_products(c, g);
  for (int64_t i = 0; i < g->products; i++) {
    if (shared_b) continue;
    g->a_offsets[i] = batch_offset(a, &g->a_operand, out, i);
    g->b_offsets[i] = batch_offset(b, &g->b_operand, out, i);
    g->out_offsets[i] = i * m * g->n;
  }
  g->sr_row_step = m;
  set_a_rows(a, shared_b, g);
  g->a_k_radix[0] = g->a_k_radix[1] = 1;
  g->a_k_radix[2] = g->k;
  g->a_k_stride[2] = g->a_operand.stride[a->rank - 1];
  g->y_size = g->x_size = 1;
  g->b_row = g->b_operand.stride[b->rank - (g->b_turned ? 1 : 2)];
  g->out_row = g->n;
}

static void describe_conv(tg_compile *c, tg_gemm *g) {
  const tg_value *x = tg_in(g->node, 0), *w = tg_in(g->node, 1), *out = tg_out(g->node);
  const int64_t *strides = tg_attr_ints(g->node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(g->node, TG_ATTR_DILATIONS, NULL);
  const int64_t *pads = tg_attr_ints(g->node, TG_ATTR_PADS, NULL);
  int64_t group = tg_attr_int(g->node, TG_ATTR_GROUP), width = x->dims[2].size, channels = x->dims[3].size;
  int64_t kh = w->dims[0].size, kw = w->dims[1].size, cin = w->dims[2].size, cout = w->dims[3].size,
          row = width * channels;
  g->m = out->dims[0].size * out->dims[1].size * out->dims[2].size;
  g->n = cout / group;
  g->k = kh * kw * cin;
  g->partials = 1;
  g->products = group;
  allocate_products(c, g);
  for (int64_t i = 0; i < group; i++) {
    g->a_offsets[i] = i * cin;
    g->b_offsets[i] = g->out_offsets[i] = i * g->n;
  }
  g->sr_col_step = g->n;
  for (int d = 0; d < 3; d++) g->a_m_radix[d] = out->dims[d].size;
  g->a_m_stride[0] = x->dims[1].size * row;
  g->a_m_stride[1] = strides[0] * row;
  g->a_m_stride[2] = strides[1] * channels;
  g->a_origin = -(pads[0] * row + pads[1] * channels);
  g->y_m[1] = strides[0];
  g->y_k[0] = dilations[0];
  g->y_org = -pads[0];
  g->y_size = x->dims[1].size;
  g->a_k_radix[0] = kh;
  g->a_k_stride[0] = dilations[0] * row;
  g->a_k_stride[2] = 1;
  if (group == 1 &&
      dilations[1] ==
          1) { /* pixels of a kernel row lie next to each other: x counts elements of an image row */
    g->a_k_radix[1] = 1;
    g->a_k_radix[2] = kw * cin;
    g->x_m[2] = strides[1] * channels;
    g->x_k[2] = 1;
    g->x_org = -pads[1] * channels;
    g->x_size = row;
  } else { /* x counts pixels */
    g->a_k_radix[1] = kw;
    g->a_k_radix[2] = cin;
    g->a_k_stride[1] = dilations[1] * channels;
    g->x_m[2] = strides[1];
    g->x_k[1] = dilations[1];
    g->x_org = -pads[1];
    g->x_size = width;
  }
  g->b_row = g->out_row = cout;
}

/* ---- operands of the fused nodes ---- */

typedef struct listing {
  tg_compile *c;
  const tg_kernel *kernel;
  tg_gemm *g;
  tg_space space; /* row dimensions of one product's output, then its columns; operands: externals, output */
} listing;

static bool known(const listing *l, const tg_value *value) {
  for (int e = 0; e < l->g->external_count; e++)
    if (l->g->externals[e].value == value) return true;
  return value == tg_out(l->kernel->root) || tg_is_scalar_constant(value);
}

static bool made_inside(const tg_kernel *kernel, const tg_value *value) {
  for (size_t n = 0; n < kernel->fused_count; n++)
    if (tg_out(kernel->fused[n]) == value) return true;
  return false;
}

static void add_external(listing *l, tg_value *value) {
  if (known(l, value) || made_inside(l->kernel, value)) return;
  assert(l->g->external_count < TG_GEMM_EXTERNALS);
  l->g->externals[l->g->external_count++] = (tg_gemm_external){.value = value, .kind = tg_stream_kind(value)};
}

/* Row digits: dimensions of the output that vary within a product, merged; at most three by the fusion rule
 * of kernels.c. */
static tg_status set_digits(listing *l) {
  tg_gemm *g = l->g;
  const tg_value *out = l->g->out;
  int rank = out->rank, batch = g->node->op == TG_OP_MATMUL && g->products > 1 ? rank - 2 : 0;
  int64_t strides[TG_GEMM_EXTERNALS][TG_MAX_RANK];
  tg_space full;
  tg_space_begin(&full, out);
  for (int e = 0; e < g->external_count; e++) {
    int index = tg_space_add_broadcast(&full, g->externals[e].value);
    for (int d = 0; d < rank; d++) strides[e][d] = full.strides[index][d];
    int64_t *offsets = TG_NEW_ARRAY(l->c->arena, int64_t, (size_t)g->products);
    for (int64_t i = 0; i < g->products; i++) {
      int64_t rest = i;
      for (int d = batch - 1; d >= 0; d--) {
        offsets[i] += rest % full.dims[d] * strides[e][d];
        rest /= full.dims[d];
      }
      if (g->node->op == TG_OP_CONV) offsets[i] = i * g->n * strides[e][rank - 1];
    }
    g->externals[e].offsets = offsets;
    g->externals[e].element_stride = strides[e][rank - 1];
  }
  tg_space rows = {.rank = rank - 1 - batch, .operands = g->external_count + 1};
  for (int d = 0; d < rows.rank; d++) {
    rows.dims[d] = full.dims[batch + d];
    for (int e = 0; e < g->external_count; e++) rows.strides[e][d] = strides[e][batch + d];
  }
  tg_dense_strides(rows.dims, rows.rank, rows.strides[g->external_count]);
  tg_space_merge(&rows);
  if (rows.rank > 3)
    return tg_fail(l->c->diag, TG_INVALID,
                   "node \"%s\": broadcasting over so many dimensions is not supported", g->node->name);
  for (int d = 0; d < 3; d++) {
    int at = d - (3 - rows.rank);
    g->out_radix[d] = at >= 0 ? rows.dims[at] : 1;
    for (int e = 0; e < g->external_count; e++) g->externals[e].stride[d] = at >= 0 ? rows.strides[e][at] : 0;
  }
  for (int e = 0; e < g->external_count; e++) {
    tg_gemm_external *x = &g->externals[e];
    /* A row digit of radix 1 moves nothing whatever its stride. */
    x->row_vector = true;
    for (int d = 0; d < 3; d++)
      if (x->stride[d] && g->out_radix[d] > 1) x->row_vector = false;
    /* A drain of partial sums has no wait and no post left for vectors. */
    if (g->partials > 1) x->row_vector = false;
  }
  return TG_OK;
}

static tg_status describe_fused(tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  bool conv = kernel->root->op == TG_OP_CONV;
  int64_t part = tg_partial_length(out->k, out->partials);
  out->part = part ? part : 1;
  out->sum_kind = TG_STREAM_FP32;
  listing l = {.c = c, .kernel = kernel, .g = out};
  if (conv && tg_in(kernel->root, 2) && !tg_is_scalar_constant(tg_in(kernel->root, 2)))
    add_external(&l, tg_in(kernel->root, 2));
  out->drain_words = 3 + (conv && tg_in(kernel->root, 2) ? 2 : 0);
  for (size_t n = 0; n < kernel->fused_count; n++) {
    out->drain_words += 1 + kernel->fused[n]->input_count;
    for (int i = 0; i < kernel->fused[n]->input_count; i++) add_external(&l, tg_in(kernel->fused[n], i));
  }
  return set_digits(&l);
}

tg_status tg_describe_gemm(tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  *out = (tg_gemm){0};
  tg_status status = set_formats(c, kernel, out);
  if (status) return status;
  if (kernel->root->op == TG_OP_CONV)
    describe_conv(c, out);
  else
    describe_matmul(c, out);
  return describe_fused(c, kernel, out);
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
  *out = (tg_gemm){0};
  if (kernel->root->op != TG_OP_MATMUL || set_formats(c, kernel, out)) return false;
  describe_matmul(c, out);
  if (out->products == 1 || out->partials > 1) return false;
  out->spread = out->products;
  out->products = 1;
  int64_t *radix = out->a_turned ? out->a_k_radix : out->a_m_radix,
          *stride = out->a_turned ? out->a_k_stride : out->a_m_stride;
  return lead_digits(out, tg_in(out->node, 0), &out->a_operand, radix, stride) &&
         lead_digits(out, tg_in(out->node, 1), &out->b_operand, out->b_lead_radix, out->b_lead_stride) &&
         !describe_fused(c, kernel, out);
}
