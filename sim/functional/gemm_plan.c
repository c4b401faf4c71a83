/* The shape of a GEMM instruction: its column blocks, chain of k blocks, and the vectors that micro-kernels see. Column
 * blocks go in any order, since they write different accumulators; k always ascends. */
#include "sim/functional/gemm_plan.h"
#include "sim/machine/mx_shape.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 1 << 16 };

static void *array(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) tg_die("out of memory for a GEMM's plan");
  return memory;
}

static void enumerate(tg_gemm_plan *plan, const tg_params *m, uint32_t blocks) {
  const tg_mx_instr *in = plan->in;
  for (uint32_t o = 0; o < blocks; o++) {
    tg_gemm_column at = {0};
    tg_gemm_kstep k = {0};
    uint32_t rest = o, index[4], kb = 0, n = 0, half = (uint32_t)in->col_half;
    for (int l = 3; l >= 0; l--) {
      index[l] = rest % (uint32_t)in->blk_count[l];
      rest /= (uint32_t)in->blk_count[l];
    }
    for (int l = 0; l < 4; l++) {
      bool advances = in->k_loops >> l & 1;
      uint32_t *ordinal = advances ? &kb : &n;
      *ordinal = *ordinal * (uint32_t)in->blk_count[l] + index[l];
      *(advances ? &k.a : &at.a) += index[l] * in->a_blk[l];
      *(advances ? &k.b : &at.b) += index[l] * in->b_blk[l];
      at.c += index[l] * in->c_blk[l];
      at.sr_col += index[l] * (uint32_t)in->sr_col_blk[l];
      half += index[l] * (uint32_t)in->h_blk[l];
    }
    at.lane = in->format == TG_FMT_FP32 ? m->p * (half % 2) : 0;
    plan->ksteps[kb] = k;
    plan->columns[n] = at;
  }
}

/* The accumulators, and the rounding's columns, must not depend on k loops. */
static bool k_moves_only_operands(const tg_mx_instr *in) {
  for (int l = 0; l < 4; l++)
    if (in->k_loops >> l & 1 && in->blk_count[l] > 1 && (in->c_blk[l] || in->h_blk[l] || in->sr_col_blk[l]))
      return false;
  return true;
}

static int by_place(const void *left, const void *right) {
  const tg_gemm_column *x = left, *y = right;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  return x->c < y->c ? -1 : x->c > y->c;
}

static bool columns_disjoint(const tg_gemm_plan *plan) {
  size_t bytes = plan->column_count * sizeof(tg_gemm_column);
  tg_gemm_column *sorted = array(plan->column_count, sizeof *sorted);
  memcpy(sorted, plan->columns, bytes);
  qsort(sorted, plan->column_count, sizeof *sorted, by_place);
  bool disjoint = true;
  for (uint32_t i = 1; i < plan->column_count; i++)
    if (sorted[i].lane == sorted[i - 1].lane &&
        sorted[i].c - sorted[i - 1].c < plan->in->m_count[0] * plan->in->m_count[1])
      disjoint = false;
  free(sorted);
  return disjoint;
}

static bool all_paired(const tg_gemm_plan *plan) {
  if (plan->column_count % 2) return false;
  for (uint32_t i = 0; i < plan->column_count; i += 2) {
    const tg_gemm_column *x = &plan->columns[i], *y = x + 1;
    if (x->a != y->a || x->c != y->c || x->lane != 0 || y->lane == 0) return false;
  }
  return true;
}

static uint32_t log2_of(uint32_t x) { return 31u - (uint32_t)__builtin_clz(x); }

static void divide_columns(tg_gemm_plan *plan, const tg_gemm_blocking *blocking,
                           const tg_gemm_kernels *kernels) {
  bool fp32 = plan->in->format == TG_FMT_FP32;
  plan->paired = fp32 && 2 * plan->s <= blocking->lanes && all_paired(plan);
  plan->w = plan->s < blocking->lanes ? plan->s : blocking->lanes;
  plan->v = plan->paired ? 2 * plan->s : plan->w;
  plan->wide = &kernels[log2_of(plan->v)];
  plan->narrow = &kernels[log2_of(plan->w)];
  uint32_t a_column = plan->paired ? 1 : plan->s / plan->v, step = plan->paired ? 2 : 1;
  plan->units = array((size_t)plan->column_count * a_column, sizeof *plan->units);
  for (uint32_t c = 0; c < plan->column_count; c += step)
    for (uint32_t u = 0; u < a_column; u++)
      plan->units[plan->unit_count++] = (tg_gemm_vector){.column = c, .sub = u * plan->v};
}

tg_gemm_plan *tg_gemm_plan_create(const tg_params *m, const tg_mx_instr *in, const tg_gemm_blocking *blocking,
                                  const tg_gemm_kernels *kernels) {
  uint64_t blocks = 1, ksteps = 1;
  for (int l = 0; l < 4; l++) {
    blocks *= (uint64_t)in->blk_count[l];
    if (in->k_loops >> l & 1) ksteps *= (uint64_t)in->blk_count[l];
  }
  if (blocks > MAX_BLOCKS || !k_moves_only_operands(in)) return NULL;
  tg_gemm_plan *plan = array(1, sizeof *plan);
  plan->in = in;
  plan->s = tg_mx_stationary(m, in->format);
  plan->row_bytes = tg_flit_bytes(m);
  plan->acc_lanes = tg_lanes(m);
  plan->kblocks = (uint32_t)ksteps;
  plan->column_count = (uint32_t)(blocks / ksteps);
  plan->block_units = blocking->units;
  plan->block_rows = blocking->rows;
  plan->columns = array(plan->column_count, sizeof *plan->columns);
  plan->ksteps = array(ksteps, sizeof *plan->ksteps);
  enumerate(plan, m, (uint32_t)blocks);
  if (!columns_disjoint(plan)) {
    tg_gemm_plan_destroy(plan);
    return NULL;
  }
  divide_columns(plan, blocking, kernels);
  return plan;
}

uint32_t tg_gemm_end_of_shared_a(const tg_gemm_plan *plan, uint32_t first) {
  int64_t a = plan->columns[plan->units[first].column].a;
  uint32_t last = first + 1;
  while (last < plan->unit_count && plan->columns[plan->units[last].column].a == a) last++;
  return last;
}

void tg_gemm_plan_needs(const tg_gemm_plan *plan, bool rounding, tg_gemm_needs *needs) {
  tg_gemm_needs *wide = &needs[log2_of(plan->v)];
  needs[log2_of(plan->w)].formats |= 1u << plan->in->format;
  wide->rounding |= rounding;
  for (uint32_t first = 0, last; first < plan->unit_count; first = last) {
    last = tg_gemm_end_of_shared_a(plan, first);
    if (last - first >= plan->block_units) wide->units |= 1u << (plan->block_units - 1);
    uint32_t rest = (last - first) % plan->block_units;
    if (rest) wide->units |= 1u << (rest - 1);
  }
}

void tg_gemm_plan_destroy(tg_gemm_plan *plan) {
  if (!plan) return;
  free(plan->columns);
  free(plan->ksteps);
  free(plan->units);
  free(plan);
}
