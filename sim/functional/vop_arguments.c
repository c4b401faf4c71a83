/* What one execution passes to the function of its microprogram: read where the function begins, filled when it runs. */
#include "sim/functional/vop.h"
#include "sim/functional/vop_values.h"
#include "sim/machine/numerics.h"

#include <stdio.h>
#include <string.h>

static void argument(tg_vop_emitter *e, const char *name, size_t offset) {
  tg_text_add(e->t, "  %%%s.p = getelementptr i8, ptr %%arguments, i64 %zu\n", name, offset);
  tg_text_add(e->t, "  %%%s = load i64, ptr %%%s.p, align 8\n", name, name);
}

void tg_vop_emit_arguments(tg_vop_emitter *e) {
  argument(e, "rows", offsetof(tg_vop_arguments, rows));
  argument(e, "radix1", offsetof(tg_vop_arguments, row_count[0]));
  argument(e, "radix2", offsetof(tg_vop_arguments, row_count[1]));
  argument(e, "j.count0", offsetof(tg_vop_arguments, j_count[0]));
  argument(e, "j.count1", offsetof(tg_vop_arguments, j_count[1]));
  argument(e, "tail.step.l", offsetof(tg_vop_arguments, tail_step));
  argument(e, "tail.n.l", offsetof(tg_vop_arguments, tail_n));
  tg_text_add(e->t,
              "  %%tail.step = trunc i64 %%tail.step.l to i32\n  %%tail.n = trunc i64 %%tail.n.l to i32\n");
  argument(e, "sr.first", offsetof(tg_vop_arguments, row_key));
  argument(e, "sr.base", offsetof(tg_vop_arguments, col_key));
  for (size_t d = 0; d < 3; d++) {
    char name[] = {'s', 'r', '.', 'r', (char)('0' + d), 0};
    argument(e, name, offsetof(tg_vop_arguments, col_row) + 8 * d);
    name[3] = 'd';
    argument(e, name, offsetof(tg_vop_arguments, row_row) + 8 * d);
  }
  argument(e, "sr.j0", offsetof(tg_vop_arguments, col_j[0]));
  argument(e, "sr.j1", offsetof(tg_vop_arguments, col_j[1]));
  static const char *const members[] = {"base", "r0", "r1", "r2", "j0", "j1"};
  for (size_t s = 0; s < TG_STREAMS; s++)
    for (size_t i = 0; i < 6; i++) {
      char name[16];
      snprintf(name, sizeof name, "s%zu.%s", s, members[i]);
      argument(e, name, offsetof(tg_vop_arguments, stream) + s * sizeof(tg_vop_stream_arguments) + 8 * i);
    }
}

static void set_rounding(const tg_machine_state *state, const tg_execution *x, tg_vop_arguments *a) {
  const tg_vx_instr *in = &x->in->vx;
  uint32_t tile = (uint32_t)in->sr_tile + tg_execution_advance(x, in->sr_tile_delta);
  uint32_t key = tg_sr_tile_key(state->keys[in->sr_key], tile);
  a->row_key = (int64_t)key + in->sr_row + tg_execution_advance(x, in->sr_row_delta);
  memcpy(a->row_row, in->sr_row_row, sizeof a->row_row);
  a->col_key = (int64_t)tg_sr_col_key(key) + in->sr_col + tg_execution_advance(x, in->sr_col_delta);
  memcpy(a->col_row, in->sr_col_row, sizeof a->col_row);
  memcpy(a->col_j, in->sr_col_j, sizeof a->col_j);
}

void tg_vop_run(tg_vop_function *function, tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  const tg_vx_instr *in = &x->in->vx;
  tg_vop_arguments a = {.rows = in->rows,
                        .row_count = {in->row_count[1], in->row_count[2]},
                        .j_count = {in->j_count[0], in->j_count[1]},
                        .tail_step = in->tail_step,
                        .tail_n = in->tail_n};
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    a.stream[t].base = x->address[t];
    memcpy(a.stream[t].row, s->row, sizeof a.stream[t].row);
    memcpy(a.stream[t].j, s->j, sizeof a.stream[t].j);
  }
  set_rounding(state, x, &a);
  function(state->tiles[tile].pad, state->tiles[tile].acc, state->tiles[tile].constants, &a);
}
