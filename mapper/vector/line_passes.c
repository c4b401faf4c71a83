#include "mapper/vector/line_passes.h"

#include "frontend/base/math.h"

/* Passes for one row of a window, and whether the last of them has fewer positions. */
static uint32_t passes_a_row(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)tg_div_up(k->windows->taps[1], t->width);
}
static bool has_rest(const tg_line_kernel *k, const tg_line_tiling *t) {
  return k->windows->taps[1] % t->width != 0;
}

uint32_t tg_line_passes(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)tg_div_up(k->windows->taps[0], t->depth) * passes_a_row(k, t);
}

/* Between the first and the last pass: are there any of `width` positions, and of the rest of a row? */
static bool has_whole(const tg_line_kernel *k, const tg_line_tiling *t) { return tg_line_passes(k, t) > 2; }
static bool has_rests(const tg_line_kernel *k, const tg_line_tiling *t) {
  return has_rest(k, t) && k->windows->taps[0] > 1;
}

uint32_t tg_line_parts(const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)tg_min(tg_line_passes(k, t), 2 + has_whole(k, t) + has_rests(k, t));
}

tg_line_pass tg_line_pass_of(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t number) {
  uint32_t passes = tg_line_passes(k, t), row = number / passes_a_row(k, t) * t->depth,
           tap = number % passes_a_row(k, t) * t->width;
  tg_line_pass pass = {.row = row,
                       .rows = (uint32_t)tg_min(k->windows->taps[0] - row, t->depth),
                       .tap = tap,
                       .taps = (uint32_t)tg_min(k->windows->taps[1] - tap, t->width),
                       .begins = number == 0,
                       .ends = number + 1 == passes && !t->apart};
  if (number + 1 == passes)
    pass.part = tg_line_parts(k, t) - 1;
  else if (!pass.begins)
    pass.part = pass.taps == t->width ? 1 : 1 + has_whole(k, t);
  return pass;
}

tg_line_pass tg_line_pass_of_part(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t part) {
  uint32_t number = 0;
  while (tg_line_pass_of(k, t, number).part != part) number++;
  return tg_line_pass_of(k, t, number);
}

uint32_t tg_line_phases(const tg_line_kernel *k) {
  return (uint32_t)tg_min(k->windows->row_step[1], k->windows->taps[1]);
}

uint32_t tg_line_turns(const tg_line_kernel *k, const tg_line_pass *pass) {
  return (uint32_t)tg_div_up(pass->taps, k->windows->row_step[1]);
}

uint32_t tg_line_lead(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass) {
  return pass->rows * (tg_line_turns(k, pass) - 1) + (t->unroll > 1);
}

uint32_t tg_line_steps(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass) {
  return (tg_line_run_columns(t) + tg_line_lead(k, t, pass) + t->unroll - 1) / t->unroll;
}

/* ---- streams ---- */

int tg_line_pass_image(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t row, uint32_t u,
                       uint32_t phase) {
  return (int)((row * t->unroll + u) * tg_line_phases(k) + phase);
}

int tg_line_pass_weights(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass,
                         uint32_t row, uint32_t q) {
  return tg_line_pass_image(k, t, pass->rows, 0, 0) + (int)(row * pass->taps + q);
}

int tg_line_pass_sums(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass,
                      uint32_t u) {
  return tg_line_pass_weights(k, t, pass, pass->rows, 0) + (int)u;
}

int tg_line_pass_result(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass,
                        uint32_t u) {
  return tg_line_pass_sums(k, t, pass, pass->begins ? 0 : t->unroll) + (int)u;
}

int tg_line_pass_bias(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass) {
  return tg_line_pass_result(k, t, pass, t->unroll);
}

int tg_line_finished_sums(uint32_t u) { return (int)u; }
int tg_line_finished_result(const tg_line_tiling *t, uint32_t u) { return (int)(t->apart + u); }
int tg_line_finished_bias(const tg_line_tiling *t) { return 2 * (int)t->apart; }

int tg_line_pass_streams(const tg_line_kernel *k, const tg_line_tiling *t, const tg_line_pass *pass) {
  return tg_line_pass_bias(k, t, pass) + (pass->ends && k->bias);
}

static bool has_streams(const tg_line_kernel *k, const tg_line_tiling *t) {
  for (uint32_t part = 0; part < tg_line_parts(k, t); part++) {
    tg_line_pass pass = tg_line_pass_of_part(k, t, part);
    if (tg_line_pass_streams(k, t, &pass) > TG_STREAMS) return false;
  }
  return true;
}

/* A column that meets one result only is loaded once anyway. */
bool tg_line_choose_passes(const tg_line_kernel *k, uint32_t parts, tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  if (!k->write_passes || k->rounds || w->tap_step[1] != 1 || w->taps[1] <= w->row_step[1]) return false;
  int64_t width = tg_div_up(w->taps[1], parts), most = parts > 1 ? 1 : tg_min(w->taps[0], TG_STREAMS);
  if (parts > 1) width = tg_div_up(width, w->row_step[1]) * w->row_step[1];
  if (width <= w->row_step[1] || width > TG_STREAMS || tg_div_up(w->taps[1], width) != parts) return false;
  t->width = (uint32_t)width;
  for (t->depth = (uint32_t)most; t->depth > 0; t->depth--)
    if (has_streams(k, t)) break;
  if (!t->depth) return false;
  tg_line_pass deepest = tg_line_pass_of(k, t, 0);
  t->lead = tg_line_lead(k, t, &deepest);
  return true;
}

/* ---- what they take ---- */

uint32_t tg_line_sums_copies(const tg_line_kernel *k, const tg_line_tiling *t) {
  return t->depth ? (uint32_t)tg_min(tg_line_passes(k, t) - !t->apart, 2) : 0;
}

uint64_t tg_line_sums_rows(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  if (!tg_line_sums_copies(k, t)) return 0;
  uint64_t runs = (uint64_t)tg_line_row_runs(t) * tg_line_row_parts(t),
           positions = runs * tg_line_groups(t) * t->unroll + t->lead;
  return positions * tg_line_position(m, t, TG_STREAM_FP32);
}

/* Cycles of a VOP of so many rows, in each of which so many words are. */
static double vop_cycles(const tg_params *m, const tg_line_tiling *t, uint32_t rows, double words) {
  uint32_t depth = m->fma_latency;
  return (double)tg_div_up((int64_t)rows * tg_line_row_parts(t) * t->vectors, depth) * depth * words +
         2.0 * depth + 2;
}

double tg_line_passes_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                             const int *words) {
  uint32_t runs = tg_line_row_runs(t), passes = tg_line_passes(k, t);
  double cycles = 0;
  for (uint32_t p = 0; p < passes; p++) {
    tg_line_pass pass = tg_line_pass_of(k, t, p);
    const int *own = words + 2 * pass.part;
    cycles += vop_cycles(m, t, runs, own[0] + (double)tg_line_steps(k, t, &pass) * own[1]);
  }
  const int *finish = words + 2 * tg_line_parts(k, t);
  if (t->apart)
    cycles += vop_cycles(m, t, tg_line_finished_rows(t), finish[0] + (double)(t->run / t->apart) * finish[1]);
  return cycles;
}

/* Parts of rows. */
static double choose_parts(const tg_params *m, const tg_line_kernel *k, const int *words, tg_line_tiling *t) {
  uint32_t best = t->columns;
  double least = 0;
  for (uint32_t parts = 1; parts <= m->fma_latency; parts++) {
    t->run = t->columns / parts;
    if (t->columns % parts || t->run < t->unroll || (t->apart && t->run % t->apart)) continue;
    double cycles = tg_line_passes_cycles(m, k, t, words);
    if (parts > 1 && cycles >= least) continue;
    best = t->run;
    least = cycles;
  }
  t->run = best;
  return least;
}

/* Whole rows of a padded image that is made may lie so that the padding behind a row is that in front of the next one. */
static uint32_t pitch_of(const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  int64_t loaded = tg_line_loaded_columns(k, t), before = -w->origin[1],
          behind = loaded - before - w->image->dims[2].size, shared = tg_min(before, behind);
  return (uint32_t)(k->product && shared > 0 ? loaded - shared : loaded);
}

bool tg_line_goes_through_rows(const tg_line_kernel *k) {
  return k->windows->row_step[0] == 1 && k->windows->row_step[1] == 1;
}

void tg_line_choose_run(const tg_params *m, const tg_line_kernel *k, const int *words, tg_line_tiling *t) {
  t->through = 0;
  (void)choose_parts(m, k, words, t);
}

bool tg_line_choose_through(const tg_params *m, const tg_line_kernel *k, const int *words,
                            tg_line_tiling *t) {
  tg_line_tiling now = *t;
  now.through = 0;
  double least = choose_parts(m, k, words, &now);
  if (t->columns < k->windows->rows[1] || t->columns % t->apart) return false;
  t->through = 0;
  now.run = t->columns;
  now.pitch = pitch_of(k, t);
  for (uint32_t runs = t->rows, before = 1; runs-- > 1; before = now.through) {
    now.through = (t->rows + runs - 1) / runs;
    if (now.through == before) continue; /* as many in more runs */
    double cycles = tg_line_passes_cycles(m, k, &now, words);
    if (cycles >= least) continue;
    *t = now;
    least = cycles;
  }
  return t->through > 1;
}
