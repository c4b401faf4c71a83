/* Rows of a matrix that follow each other in memory are one run, where a block has all of their columns: rows that do
 * not fill their atoms then cost no more than their bytes. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"

enum { MOST_RUN = 1 << 24, MOST_TAKEN = 1 << 20 }; /* of fields; elements */

/* Does each row of `length` elements begin where the one before ends? */
static bool is_dense(const int64_t radix[3], const int64_t stride[3], int64_t length) {
  for (int d = 2; d >= 0; d--) {
    if (radix[d] > 1 && stride[d] != length) return false;
    length *= radix[d];
  }
  return true;
}

/* Are so many rows of `length` elements one run in walks of `taken` of them, and does it pay? */
static bool is_run(const tg_value *value, int64_t rows, int64_t length, int64_t taken) {
  return length * tg_value_bytes_each(value) % TG_ATOM_BYTES && rows * length < MOST_RUN &&
         taken * length < MOST_TAKEN;
}

bool tg_gemm_loads_runs(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_gemm_image *x = &g->image;
  bool pixels = !x->images || (x->taps[0] * x->taps[1] == 1 && !x->origin[0] && !x->origin[1] &&
                               x->pixels[0] == x->size[0] && x->pixels[1] == x->size[1] &&
                               x->step[0] * x->step[1] == 1 && x->channels == x->depth);
  bool whole =
      t->chunks * t->parts * t->members == 1 && t->kc == g->k && g->k % tg_mx_stationary(m, g->format) == 0;
  return whole && pixels && !g->a_transposed && !t->patch && !t->image_rows && !g->spread &&
         !g->prologue.result && !tg_gemm_a_both_ways(m, g, t) && !t->swapped &&
         is_dense(g->a_m_radix, g->a_m_stride, g->k) && is_run(g->a, g->m, g->k, t->mt);
}

bool tg_gemm_stores_runs(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int result) {
  const tg_value *out = g->out[result];
  bool whole = !g->run || g->out_run_stride == g->run,
       flits = g->n * tg_value_bytes_each(out) % tg_flit_bytes(m) == 0;
  return whole && flits && g->n <= tg_gemm_own_columns(t) && t->passes_n == 1 && !g->spread &&
         !t->image_rows && !tg_gemm_counts_strips(t) && is_dense(g->out_radix, g->out_stride, g->n) &&
         is_run(out, g->m, g->n, t->sent ? t->sent : t->mr);
}

void tg_gemm_join_rows(int64_t rows, int64_t length, int64_t bytes, tg_agcu_instr *in) {
  in->take = in->rows * length;
  in->rows = 1;
  in->k_first = in->m_first * length;
  in->m_first = 0;
  for (int l = 0; l < TG_LEVELS; l++) {
    in->k_delta[l] = in->m_delta[l] * length;
    in->m_delta[l] = 0;
  }
  for (int d = 0; d < 3; d++) in->m_radix[d] = in->k_radix[d] = 1;
  for (int d = 0; d < 6; d++) in->stride[d] = in->x_inc[d] = in->y_inc[d] = 0;
  in->k_radix[2] = rows * length;
  in->stride[5] = bytes;
  in->y_org = in->x_org = 0;
  in->y_size = in->x_size = 1;
}

void tg_gemm_walk_runs(const tg_gemm *g, int64_t run_stride, int64_t bytes, tg_agcu_instr *in) {
  if (!g->run || run_stride == g->run) return;
  in->k_radix[1] = g->n / g->run;
  in->k_radix[2] = g->run;
  in->stride[4] = run_stride * bytes;
  if (!g->run_own || in->x_inc[2]) return; /* the coordinate is that of a strip's columns */
  in->x_inc[5] = 1;                        /* what fills the blocks of a group is neither read nor stored */
  in->x_size = g->run_own;
}

bool tg_gemm_walks_groups(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return g->run_own && g->run <= tg_lanes(m) && g->out_radix[0] == 1 && !t->image_rows;
}

void tg_gemm_walk_groups(const tg_gemm *g, const tg_gemm_tiling *t, int64_t column, int64_t run_stride,
                         int64_t bytes, tg_agcu_instr *in) {
  int64_t groups = t->nt / g->run;
  in->offset += column / g->run * run_stride * bytes;
  for (int d = 0; d < 2; d++) {
    in->m_radix[d] = in->m_radix[d + 1];
    in->stride[d] = in->stride[d + 1];
    in->y_inc[d] = in->y_inc[d + 1];
    in->x_inc[d] = in->x_inc[d + 1];
  }
  in->y_inc[2] = in->x_inc[2] = 0;
  in->m_radix[2] = groups;
  in->stride[2] = run_stride * bytes;
  in->rows *= groups;
  in->m_first *= groups;
  for (int l = 0; l < TG_LEVELS; l++) {
    in->m_delta[l] *= groups;
    in->k_delta[l] = 0;
  }
  in->take = in->k_radix[2] = g->run_own;
  in->k_radix[1] = 1;
  in->stride[4] = in->k_first = 0;
  if (in->x_inc[5]) in->x_size = 1;
  in->x_inc[5] = 0;
}
