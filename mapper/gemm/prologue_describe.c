/* Prologues, elementwise nodes before a product: which they may be, their microcode, and the room that they
 * need. prologue_emit.c, of A, and prologue_cooperative.c, of B, have what the tiles do. */
#include "mapper/gemm/prologue.h"
#include "mapper/kernel/outer.h"

enum { ENDPOINT_SEMS = 6, TILE_SEMS = 16 };

static bool is_plain_kind(const tg_value *value) {
  return value->dtype == TG_F32 || value->dtype == TG_BF16 || value->dtype == TG_F16;
}

/* Are rows of `length` elements one behind the other, all of the tensor? */
static bool follow_each_other(const tg_value *tensor, const int64_t radix[3], const int64_t row_stride[3],
                              int64_t length) {
  int64_t stride = length;
  for (int d = 2; d >= 0; d--) {
    if (radix[d] > 1 && row_stride[d] != stride) return false;
    stride *= radix[d] ? radix[d] : 1;
  }
  return stride == tg_value_elements(tensor);
}

static bool is_one_run(const int64_t radix[3], const int64_t stride[3], int64_t length) {
  return radix[0] <= 1 && radix[1] <= 1 && radix[2] == length && stride[2] == 1;
}

static bool is_dense(const tg_gemm *g) {
  if (g->products != 1 || g->spread) return false;
  if (g->prologue.of_b)
    return !g->b_transposed && is_one_run(g->b_n_radix, g->b_n_stride, g->n) &&
           follow_each_other(g->b, g->b_k_radix, g->b_k_stride, g->n);
  return !g->a_transposed && !g->a_origin && is_one_run(g->a_k_radix, g->a_k_stride, g->k) &&
         follow_each_other(g->a, g->a_m_radix, g->a_m_stride, g->k);
}

static bool add_vector(tg_gemm_prologue *f, const tg_gemm_vector *vector, int *out_stream) {
  int at = 0;
  while (at < f->vector_count &&
         (f->vectors[at].value != vector->value || f->vectors[at].first != vector->first ||
          f->vectors[at].part != vector->part))
    at++;
  if (at == TG_PROLOGUE_VECTORS) return false;
  if (at == f->vector_count) f->vectors[f->vector_count++] = *vector;
  *out_stream = TG_PROLOGUE_INPUTS + at;
  return true;
}

static bool add_input(tg_gemm_prologue *f, const tg_prologue_input *prologue_input, int *out_stream) {
  int at = 0;
  while (at < f->input_count &&
         (f->inputs[at].value != prologue_input->value || f->inputs[at].kind != prologue_input->kind ||
          f->inputs[at].first != prologue_input->first || f->inputs[at].lane != prologue_input->lane))
    at++;
  if (at == (f->of_b ? TG_PROLOGUE_INPUTS : 1)) return false;
  if (at == f->input_count) f->inputs[f->input_count++] = *prologue_input;
  *out_stream = at;
  return true;
}

static bool add_name(tg_gemm_prologue *f, const tg_operand_stream *name) {
  for (int n = 0; n < f->name_count; n++)
    if (f->names[n].value == name->value && f->names[n].part == name->part)
      return f->names[n].stream == name->stream;
  if (f->name_count == TG_PROLOGUE_NAMES) return false;
  f->names[f->name_count++] = *name;
  return true;
}

/* The operand `value` of a node whose result has the shape of `shape`. */
static bool add_operand(const tg_compile *c, tg_gemm *g, const int64_t dims[2], tg_value *value,
                        const tg_value *shape) {
  tg_gemm_prologue *f = &g->prologue;
  int64_t stride[2];
  tg_operand_stream name = {.value = value};
  tg_value *owner = tg_owner(c, value);
  if (!is_plain_kind(value) || !tg_space_strides_as(value, shape, dims, 2, stride) || stride[1] != 1)
    return false;
  if (stride[0] == dims[1]) {
    tg_prologue_input prologue_input = {
        .value = owner, .kind = tg_stream_kind(owner), .radix = {1, 1, dims[0]}, .stride = {0, 0, dims[1]}};
    if (!add_input(f, &prologue_input, &name.stream)) return false;
  } else {
    tg_gemm_vector vector = {.value = owner, .stride = 1};
    if (stride[0] || tg_value_elements(value) != dims[1] || !add_vector(f, &vector, &name.stream))
      return false;
  }
  return add_name(f, &name);
}

static bool add_outer(const tg_compile *c, tg_gemm *g, const int64_t dims[2], const tg_node *node,
                      const tg_outer *o) {
  tg_gemm_prologue *f = &g->prologue;
  const tg_value *result = tg_out(node);
  if (!f->of_b || result->dims[result->rank - 1].size != dims[1] ||
      tg_value_elements(result) != dims[0] * dims[1])
    return false;
  for (int k = 0; k < o->count; k++) {
    tg_operand_stream a = {.value = o->operand[0], .part = k + 1, .dtype = o->dtype[0]},
                      b = {.value = o->operand[1], .part = k + 1, .dtype = o->dtype[1]};
    bool together = o->step[0] == 1;
    tg_prologue_input scalars = {.value = tg_owner(c, a.value),
                                 .kind = TG_STREAM_SPLAT32,
                                 .lane = together ? k : 0,
                                 .each = together ? o->count : 1,
                                 .first = together ? 0 : k * o->step[0]};
    tg_gemm_vector row = {tg_owner(c, b.value), k * o->step[1], o->stride[1][result->rank - 1], b.part,
                          b.dtype};
    tg_merge_rows(result, o->stride[0], 0, scalars.radix, scalars.stride);
    if (!add_input(f, &scalars, &a.stream) || !add_vector(f, &row, &b.stream) || !add_name(f, &a) ||
        !add_name(f, &b))
      return false;
  }
  return true;
}

static int full_inputs(const tg_gemm_prologue *f) {
  int count = 0;
  for (int i = 0; i < f->input_count; i++) count += f->inputs[i].kind != TG_STREAM_SPLAT32;
  return count;
}

static bool collect(const tg_compile *c, const tg_node_list *nodes, tg_gemm *g) {
  const int64_t dims[2] = {g->prologue.of_b ? g->k : g->m, g->prologue.of_b ? g->n : g->k};
  for (size_t n = 0; n < nodes->count; n++) {
    tg_outer o;
    if (!tg_goes_along_one_way(c, nodes->nodes, nodes->count, n, dims, 2)) return false;
    const tg_value *shape = tg_shape_around(nodes->nodes, nodes->count, n, dims[0] * dims[1]);
    bool outer = tg_outer_of(c, nodes->nodes[n], &o);
    if (outer && !add_outer(c, g, dims, nodes->nodes[n], &o)) return false;
    for (int i = outer ? 2 : 0; i < nodes->nodes[n]->input_count; i++) {
      tg_value *value = tg_in(nodes->nodes[n], i);
      const tg_node *maker = value ? tg_owner(c, value)->producer : NULL;
      if (!value || tg_is_scalar_constant(value) || (maker && tg_has_node(nodes->nodes, nodes->count, maker)))
        continue;
      if (!add_operand(c, g, dims, value, shape)) return false;
    }
  }
  return full_inputs(&g->prologue) > 0;
}

/* The drain beside those of A takes what is loaded once for all rows; that behind all of B's, anything. And
 * nothing draws random numbers. */
static bool drain_suits(const tg_compile *c, const tg_gemm *g) {
  for (int x = 0; x < g->epilogue_operand_count && !g->prologue.of_b; x++)
    if (!g->epilogue_operands[x].row_vector) return false;
  bool results_suit = g->prologue.of_b ? !g->column_sums.count : g->outs == 1;
  return results_suit && g->partials == 1 && !tg_gemm_rounds_results(g) && !tg_gemm_rounded_tile(c, g);
}

/* Are there semaphores, of an AGCU a group of each for all positions of its lane, and slots of queues? Tiles
 * that take turns know of each other, and are loaded for by themselves. */
static bool has_room(const tg_params *m, const tg_gemm *g) {
  const tg_gemm_prologue *f = &g->prologue;
  uint32_t longest = m->rows > m->cols ? m->rows : m->cols, column_sums = (uint32_t)g->column_sums.count,
           groups = ENDPOINT_SEMS + (column_sums > 0) + f->of_b,
           sems = TILE_SEMS + column_sums + (column_sums > 0), vectors = (uint32_t)f->vector_count,
           blocks = 1;
  if (f->of_b) {
    bool scalars = tg_gemm_prologue_scalars(g) > 0;
    groups += scalars;
    sems += 2 * m->rows + 3 + (uint32_t)g->outs + scalars;
    vectors *= m->rows;
    blocks = (uint32_t)(f->input_count + g->epilogue_operand_count);
  }
  return groups * (longest + 1) <= m->semaphores && sems <= m->semaphores &&
         longest * blocks + vectors + 1 <= m->queue_depth && m->agcu_contexts > TG_CTX_PROLOGUE;
}

/* As many rows at once as there are streams for; false: not even one. */
static bool set_unroll(tg_gemm_prologue *f) {
  for (f->unroll = TG_PROLOGUE_UNROLL; f->unroll > 0; f->unroll--)
    if (tg_prologue_vector_stream(f, f->vector_count) <= TG_STREAMS) return true;
  return false;
}

static tg_status refuse(const tg_compile *c, const tg_gemm *g) {
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": what is in front of it does not run on its tiles",
                 g->node->name);
}

tg_status tg_gemm_describe_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_gemm_prologue *f = &g->prologue;
  f->of_b = kernel->prologue[1].count > 0;
  f->result = kernel->prologue_result;
  f->stored = kernel->stores_prologue;
  if (g->format == TG_FMT_TF32 || tg_owner(c, f->of_b ? g->b : g->a) != f->result ||
      !is_plain_kind(f->result) || !is_dense(g) || !drain_suits(c, g) ||
      !collect(c, &kernel->prologue[f->of_b], g))
    return refuse(c, g);
  f->result_kind = tg_stream_kind(f->result);
  f->block_kind = tg_stream_kind(tg_in(g->node, f->of_b));
  if (!set_unroll(f) || !has_room(c->m, g)) return refuse(c, g);
  if (f->of_b) return tg_gemm_measure_prologue(c, kernel, g);
  g->a = f->inputs[0].value;
  g->a_convert = f->inputs[0].kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_gemm_tiling all = {.kc = (uint32_t)g->k};
  if (tg_banks_for(c->m, tg_gemm_prologue_vector_rows(c->m, g, &all)) > 1)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": rows of what is in front of it are too long",
                   g->node->name);
  return tg_gemm_measure_prologue(c, kernel, g);
}
