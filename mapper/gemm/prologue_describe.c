/* Prologues, elementwise nodes before a product: which they may be, their microcode, and the room that they
 * need. prologue_emit.c, of A, and prologue_cooperative.c, of B, have what the tiles do. */
#include "frontend/base/math.h"
#include "mapper/gemm/prologue.h"

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

/* Its number among `count` that are there, at most `most`, or as one more; -1: there is no room. */
static int add(tg_prologue_operand *operands, int *count, int most, const tg_prologue_operand *operand) {
  int at = 0;
  for (; at < *count; at++) {
    const tg_prologue_operand *o = &operands[at];
    if (o->name.value == operand->name.value && o->kind == operand->kind && o->first == operand->first &&
        o->lane == operand->lane && (operand->along != TG_ALONG_ROW || o->name.part == operand->name.part))
      break;
  }
  if (at == most) return -1;
  if (at == *count) operands[(*count)++] = *operand;
  return at;
}

static bool add_name(tg_gemm_prologue *f, const tg_operand_name *name, int stream) {
  for (int n = 0; n < f->name_count; n++)
    if (tg_is_named(&f->names[n].name, name->value, name->part)) return f->names[n].stream == stream;
  if (f->name_count == TG_PROLOGUE_NAMES) return false;
  f->names[f->name_count++] = (tg_operand_stream){.name = *name, .stream = stream};
  return true;
}

/* Scalars of outer products, some of which follow each other, or their rows. False: the rows of the operand
 * that is made of them are others. */
static bool walk_part(const tg_access *access, const int64_t dims[2], tg_prologue_operand *o) {
  const tg_value *shape = access->shape;
  int last = shape->rank - 1;
  if (shape->dims[last].size != dims[1] || tg_value_elements(shape) != dims[0] * dims[1]) return false;
  o->element_stride = access->stride[last];
  if (o->element_stride) {
    o->along = TG_ALONG_ROW;
    return true;
  }
  bool together = access->step == 1;
  o->along = TG_ALONG_COLUMN;
  o->kind = TG_STREAM_SPLAT32;
  o->lane = together ? access->name.part - 1 : 0;
  o->each = together ? access->parts : 1;
  if (together) o->first = 0;
  tg_merge_rows(shape, access->stride, 0, o->radix, o->stride);
  return true;
}

/* A tensor, row by row, or a vector of the elements of a row. Rows may lie `apart`, as those of a part of a Concat do. */
static bool walk_whole(const tg_access *access, const int64_t dims[2], bool apart, tg_prologue_operand *o) {
  int64_t stride[2];
  if (!is_plain_kind(access->name.value) || !tg_access_strides(access, dims, 2, stride) || stride[1] != 1)
    return false;
  o->element_stride = 1;
  o->along = stride[0] == dims[1] || (apart && stride[0] > dims[1]) ? TG_ALONG_FULL : TG_ALONG_ROW;
  if (o->along == TG_ALONG_ROW) return !stride[0] && tg_value_elements(access->name.value) == dims[1];
  o->radix[0] = o->radix[1] = 1;
  o->radix[2] = dims[0];
  o->stride[2] = stride[0];
  return true;
}

typedef struct collector {
  const tg_compile *c;
  tg_gemm *g;
  int64_t dims[2];
} collector;

static bool add_operand(void *user, const tg_access *access) {
  const collector *to = user;
  tg_gemm_prologue *f = &to->g->prologue;
  tg_prologue_operand o = {.name = access->name, .first = access->first};
  o.name.value = tg_owner(to->c, access->name.value);
  o.kind = tg_stream_kind(o.name.value);
  if (access->name.part ? !f->of_b || !walk_part(access, to->dims, &o)
                        : !walk_whole(access, to->dims, !f->of_b, &o))
    return false;
  bool row = o.along == TG_ALONG_ROW;
  int at = row ? add(f->vectors, &f->vector_count, TG_PROLOGUE_VECTORS, &o)
               : add(f->inputs, &f->input_count, f->of_b ? TG_PROLOGUE_INPUTS : 1, &o);
  return at >= 0 && add_name(f, &access->name, row ? TG_PROLOGUE_INPUTS + at : at);
}

static int full_inputs(const tg_gemm_prologue *f) {
  int count = 0;
  for (int i = 0; i < f->input_count; i++) count += f->inputs[i].kind != TG_STREAM_SPLAT32;
  return count;
}

static bool collect(const tg_compile *c, const tg_node_list *nodes, tg_gemm *g) {
  collector to = {c, g, {g->prologue.of_b ? g->k : g->m, g->prologue.of_b ? g->n : g->k}};
  return tg_visit_all_operands(c, nodes->nodes, nodes->count, to.dims, 2, add_operand, &to) &&
         full_inputs(&g->prologue) > 0;
}

/* No store draws random numbers. The drain between chunks of A's leaves one result; that behind all of B's has no column
 * sums. */
static bool drain_suits(const tg_gemm *g) {
  bool results_suit = g->prologue.of_b ? !g->column_sums.count : g->outs == 1;
  return results_suit && g->partials == 1 && !tg_gemm_rounds_results(g);
}

/* Are there semaphores, of an AGCU a group of each for all positions of its lane, and slots of queues? Tiles
 * that take turns know of each other, and are loaded for by themselves. */
static bool has_room(const tg_params *m, const tg_gemm *g) {
  const tg_gemm_prologue *f = &g->prologue;
  uint32_t longest = (uint32_t)tg_max(m->rows, m->cols), column_sums = (uint32_t)g->column_sums.count,
           blocks_behind = !f->of_b && !tg_gemm_stores_together(g),
           groups = ENDPOINT_SEMS + (column_sums > 0) + f->of_b + blocks_behind,
           sems = TILE_SEMS + column_sums + (column_sums > 0) + blocks_behind,
           vectors = (uint32_t)f->vector_count, blocks = 1;
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
  return tg_fail(c->diag, TG_INVALID, "node \"%s\": its prologue does not run on its tiles", g->node->name);
}

tg_status tg_gemm_describe_prologue(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_gemm_prologue *f = &g->prologue;
  f->of_b = kernel->prologue[1].count > 0;
  f->result = kernel->prologue_result;
  f->stored = kernel->stores_prologue;
  if (g->format == TG_FMT_TF32 || tg_owner(c, f->of_b ? g->b : g->a) != f->result ||
      !is_plain_kind(f->result) || !is_dense(g) || !drain_suits(g) ||
      !collect(c, &kernel->prologue[f->of_b], g))
    return refuse(c, g);
  f->result_kind = tg_stream_kind(f->result);
  f->block_kind = tg_stream_kind(tg_in(g->node, f->of_b));
  if (!set_unroll(f) || !has_room(c->m, g)) return refuse(c, g);
  if (f->of_b) return tg_gemm_measure_prologue(c, kernel, g);
  g->a = f->inputs[0].name.value;
  g->a_origin = f->inputs[0].first;
  for (int d = 0; d < 3; d++) g->a_m_stride[d] = g->a_m_stride[d] / g->k * f->inputs[0].stride[2];
  g->a_convert = f->inputs[0].kind == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
  tg_gemm_tiling all = {.kc = (uint32_t)g->k};
  if (tg_banks_for(c->m, tg_gemm_prologue_vector_rows(c->m, g, &all)) > 1)
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": rows of its prologue's inputs are too long",
                   g->node->name);
  return tg_gemm_measure_prologue(c, kernel, g);
}
