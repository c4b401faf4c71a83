/* Microcode of depthwise convolutions in passes: sums move on from column to column of the image. */
#include "mapper/expression/expression.h"
#include "mapper/vector/depthwise.h"
#include "mapper/vector/line_passes.h"

/* Of a row of a pass: weights of its positions, sums by how many columns' steps they have behind them, and the
 * columns of the image of which the next step begins. Rows times positions are no more than streams. */
typedef struct registers {
  tg_mc_ref weights[TG_STREAMS], sums[TG_STREAMS], carried[TG_STREAMS];
} registers;

typedef struct code {
  const tg_depthwise *d;
  const tg_line_kernel *lines;
  const tg_line_tiling *t;
  tg_mc *mc;
  tg_line_pass pass;
  uint32_t phases, turns; /* the latter of the pass */
  registers *rows;        /* the same in all parts */
  tg_mc_ref bias;
} code;

static bool is_wide(const code *s, int operand) {
  return tg_stream_kind(tg_depthwise_source(s->d->kernel, operand)) == TG_STREAM_FP32;
}

/* ---- in front of the steps ---- */

static void load_weight(const code *s, tg_mc_ref to, int stream) {
  const tg_kernel *kernel = s->d->kernel;
  if (tg_depthwise_source(kernel, TG_DEPTHWISE_WEIGHTS)->dtype == tg_in(kernel->root, 1)->dtype)
    tg_mc_load_in(s->mc, to, stream, is_wide(s, TG_DEPTHWISE_WEIGHTS));
  else
    (void)tg_mc_make_in(s->mc, to, tg_depthwise_load(s->mc, kernel, TG_DEPTHWISE_WEIGHTS, stream));
}

static void clear(const code *s, tg_mc_ref ref) {
  tg_mc_assign(s->mc, ref, TG_ALU_mov, tg_mc_const(s->mc, 0.0f), TG_MC_NONE, TG_MC_NONE);
}

/* The first steps add to sums, and take columns, that no step has made. */
static void write_front(code *s) {
  for (uint32_t i = 0; i < s->pass.rows; i++)
    for (uint32_t q = 0; q < s->pass.taps; q++)
      load_weight(s, s->rows[i].weights[q], tg_line_pass_weights(s->lines, s->t, &s->pass, i, q));
  if (s->pass.ends && s->lines->bias)
    s->bias = tg_depthwise_load(s->mc, s->d->kernel, TG_DEPTHWISE_BIAS,
                                tg_line_pass_bias(s->lines, s->t, &s->pass));
  for (uint32_t i = 0; i < s->pass.rows; i++) {
    for (uint32_t turn = 1; turn < s->turns; turn++) clear(s, s->rows[i].sums[turn]);
    for (uint32_t phase = 0; tg_line_is_carried(s->t, 0) && phase < s->phases; phase++)
      clear(s, s->rows[i].carried[phase]);
  }
}

/* ---- a step ---- */

/* The sums of one row of the pass take the columns x of a result; returns that of the result that is complete. */
static tg_mc_ref move_on(const code *s, const registers *row, const tg_mc_ref *x, tg_mc_ref begin) {
  tg_mc_ref sum = TG_MC_NONE, complete = TG_MC_NONE;
  for (uint32_t turn = s->turns; turn-- > 0;) {
    uint32_t first = turn * s->phases,
             last = first + s->phases < s->pass.taps ? first + s->phases : s->pass.taps;
    sum = turn ? row->sums[turn] : begin;
    for (uint32_t q = first; q < last; q++) {
      if (q + 1 < last || turn + 1 == s->turns)
        sum = tg_mc_alu(s->mc, TG_ALU_fma, x[q - first], row->weights[q], sum);
      else
        tg_mc_assign(s->mc, row->sums[turn + 1], TG_ALU_fma, x[q - first], row->weights[q], sum);
    }
    if (turn + 1 == s->turns) complete = sum;
  }
  return complete;
}

/* What the results of a step take of this one's loads: sums, and columns of the image. */
typedef struct operands {
  tg_mc_ref sums, x[TG_STREAMS][TG_STREAMS];
} operands;

static void load_operands(const code *s, uint32_t u, operands *out) {
  if (!tg_line_is_carried(s->t, u))
    for (uint32_t i = 0; i < s->pass.rows; i++)
      for (uint32_t phase = 0; phase < s->phases; phase++)
        out->x[i][phase] = tg_mc_load(s->mc, tg_line_pass_image(s->lines, s->t, i, u, phase),
                                      is_wide(s, TG_DEPTHWISE_IMAGE));
  out->sums = s->pass.begins ? tg_mc_const(s->mc, 0.0f)
                             : tg_mc_load(s->mc, tg_line_pass_sums(s->lines, s->t, &s->pass, u), true);
}

static void load_carried(const code *s) {
  for (uint32_t i = 0; i < s->pass.rows; i++)
    for (uint32_t phase = 0; phase < s->phases; phase++)
      tg_mc_load_in(s->mc, s->rows[i].carried[phase], tg_line_pass_image(s->lines, s->t, i, 0, phase),
                    is_wide(s, TG_DEPTHWISE_IMAGE));
}

static tg_mc_ref write_result(const code *s, uint32_t u, const operands *own) {
  tg_mc_ref sum = own->sums;
  for (uint32_t i = 0; i < s->pass.rows; i++) {
    const tg_mc_ref *from = tg_line_is_carried(s->t, u) ? s->rows[i].carried : own->x[i];
    tg_mc_ref x[TG_STREAMS];
    for (uint32_t phase = 0; phase < s->phases; phase++)
      x[phase] = tg_depthwise_rounded(s->mc, s->d->kernel, TG_DEPTHWISE_IMAGE, from[phase]);
    sum = move_on(s, &s->rows[i], x, sum);
  }
  return sum;
}

static void write_step(const code *s) {
  operands own[TG_STREAMS];
  for (uint32_t u = 0; u < s->t->unroll; u++) load_operands(s, u, &own[u]);
  for (uint32_t u = 0; u < s->t->unroll; u++) {
    tg_mc_ref sum = write_result(s, u, &own[u]);
    int stream = tg_line_pass_result(s->lines, s->t, &s->pass, u);
    if (tg_line_is_carried(s->t, u)) load_carried(s);
    if (s->pass.ends)
      tg_depthwise_end(s->d, s->lines, s->mc, sum, s->bias, stream);
    else
      tg_mc_store(s->mc, stream, true, sum);
  }
}

/* Results of sums. */
static void write_finish(const code *s) {
  const tg_line_kernel *lines = s->lines;
  tg_mc_ref bias = lines->bias ? tg_depthwise_load(s->mc, s->d->kernel, TG_DEPTHWISE_BIAS,
                                                   tg_line_finished_bias(s->t))
                               : TG_MC_NONE,
            sums[TG_STREAMS];
  tg_mc_next_segment(s->mc);
  for (uint32_t u = 0; u < s->t->apart; u++) sums[u] = tg_mc_load(s->mc, tg_line_finished_sums(u), true);
  for (uint32_t u = 0; u < s->t->apart; u++)
    tg_depthwise_end(s->d, lines, s->mc, sums[u], bias, tg_line_finished_result(s->t, u));
}

void tg_depthwise_write_passes(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t,
                               tg_mc *mc) {
  registers rows[TG_STREAMS];
  code s = {.d = user,
            .lines = lines,
            .t = t,
            .mc = mc,
            .phases = tg_line_phases(lines),
            .rows = rows,
            .bias = TG_MC_NONE};
  tg_mc_begin(mc, s.d->c->arena);
  for (uint32_t i = 0; i < t->depth; i++) {
    for (uint32_t q = 0; q < t->width; q++) rows[i].weights[q] = tg_mc_new(mc);
    for (uint32_t turn = 1; turn < t->width; turn++) rows[i].sums[turn] = tg_mc_new(mc);
    for (uint32_t phase = 0; phase < s.phases; phase++) rows[i].carried[phase] = tg_mc_new(mc);
  }
  for (uint32_t part = 0; part < tg_line_parts(lines, t); part++) {
    s.pass = tg_line_pass_of_part(lines, t, part);
    s.turns = tg_line_turns(lines, &s.pass);
    if (part) tg_mc_next_segment(mc);
    write_front(&s);
    tg_mc_next_segment(mc);
    write_step(&s);
  }
  if (!t->apart) return;
  tg_mc_next_segment(mc);
  write_finish(&s);
}
