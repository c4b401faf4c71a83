/* Transposed matrices. A tile loads a block of rows of the source, and its vector unit makes vectors of the
 * result: the element of each row goes to all lanes, last row first, and stays in the lanes up to its own. */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/section/checkerboard.h"
#include "mapper/section/need.h"
#include "mapper/vector/vector_move.h"

#include <assert.h>
#include <string.h>

enum { SOURCE = TG_MOVE_SOURCE, RESULT = TG_MOVE_RESULT };
enum { AT_A_TIME = 4 }; /* rows of the result that a VOP makes: a stream to read and one to write each */
/* Of a block, in units of P rows and 2P columns, powers of two; and products of two such. */
enum { MOST_ROWS = 32, MOST_COLUMNS = 16, SIZES = 10 };

/* Blocks of the source; of the result, from vx to tx; and to the AGCU. */
enum { BLOCKS, OUT, AWAY, CHANNELS };
enum { STAGE_LOADS, STAGE_VOPS, STAGE_RESULTS };
enum { NEST_BLOCKS, NESTS };

/* Row i of the result is column i of the source. */
typedef struct transpose {
  const tg_vector_move *v;
  const tg_params *m;
  int64_t rows, columns, matrices, groups;   /* of the result; matrices of a group, and groups of them */
  int64_t row_stride, column_stride;         /* of rows in the result, of columns in the source */
  int64_t matrix_stride[2], group_stride[2]; /* from matrix to matrix, from group to group */
  /* the blocks of all matrices to tiles, where a block has all rows, or all columns, of one; or tiles share those of one after
   * the other */
  bool dealt;
  uint32_t block_rows, block_columns; /* of a tile: multiples of P, of 2P */
  uint32_t sent;                      /* rows of a block that leave at once */
  int at_a_time;
  uint32_t chunks; /* blocks that a tile has in a turn */
  tg_build b;
  tg_channel channels[CHANNELS];
  tg_store_port port;
  tg_egress_plan egress;
  tg_vx_instr microcode;
  int entry[2];
  int64_t residue[2];
} transpose;

/* A dimension along which the source is dense, the last one, and two of matrices at most. */
static bool describe(transpose *t) {
  const tg_space *s = &t->v->space;
  int last = s->rank - 1, row = -1;
  if (s->operands != 2 || s->rank < 2 || s->rank > 4 || s->strides[RESULT][last] != 1) return false;
  t->matrices = t->groups = 1;
  for (int d = 0; d < last; d++) {
    if (row < 0 && s->strides[SOURCE][d] == 1) {
      row = d;
      continue;
    }
    t->groups = t->matrices;
    t->matrices = s->dims[d];
    for (int k = SOURCE; k <= RESULT; k++) {
      t->group_stride[k] = t->matrix_stride[k];
      t->matrix_stride[k] = s->strides[k][d];
    }
  }
  if (row < 0 || s->rank - 2 != (t->matrices > 1) + (t->groups > 1)) return false;
  t->rows = s->dims[row];
  t->columns = s->dims[last];
  t->row_stride = s->strides[RESULT][row];
  t->column_stride = s->strides[SOURCE][last];
  t->at_a_time = t->m->p < AT_A_TIME ? (int)t->m->p : AT_A_TIME;
  return t->matrices < 1 << 20 && t->groups < 1 << 20 && t->rows < 1 << 23 && t->columns < 1 << 23 &&
         t->rows * t->columns < INT64_C(1) << 32;
}

static int64_t blocks_of(int64_t size, uint32_t block) { return tg_div_up(size, block); }
static int64_t row_blocks(const transpose *t) { return blocks_of(t->rows, t->block_rows); }
static int64_t column_blocks(const transpose *t) { return blocks_of(t->columns, t->block_columns); }

/* What comes one after the other, and blocks that tiles share each time. */
static int64_t turns_of(const transpose *t) { return t->dealt ? t->groups : t->matrices; }
static int64_t shared_blocks(const transpose *t) {
  return (t->dealt ? t->matrices : 1) * row_blocks(t) * column_blocks(t);
}

/* ---- microcode ---- */

/* The element of a source row is loaded in the pass before it is used: passes are as long as the ALU's operations. */
static void write_code(const transpose *t, tg_mc *mc) {
  tg_mc_ref all[AT_A_TIME], next[AT_A_TIME];
  const tg_vector_move *v = t->v;
  tg_mc_begin(mc, v->c->arena);
  for (int k = 0; k < t->at_a_time; k++) {
    all[k] = tg_mc_new(mc);
    next[k] = tg_mc_new(mc);
    tg_mc_load_in(mc, next[k], k, false);
  }
  tg_mc_next_segment(
      mc); /* for each row of the source: of the one before it lanes 0 .. 2P - j are valid, at first all */
  for (int k = 0; k < t->at_a_time; k++) {
    tg_mc_assign_imm(mc, all[k], TG_ALU_tail, next[k], all[k], 0);
    tg_mc_load_in(mc, next[k], k, false);
  }
  tg_mc_next_segment(mc);
  for (int k = 0; k < t->at_a_time; k++) { /* lane 0 */
    tg_mc_assign_imm(mc, all[k], TG_ALU_tail, next[k], all[k], 1);
    tg_mc_ref y = v->rounded ? tg_round_to(mc, v->rounded, all[k], true) : all[k];
    tg_mc_store(mc, t->at_a_time + k, v->kinds[RESULT] == TG_STREAM_FP32, y);
  }
}

/* ---- blocks ---- */

static uint32_t out_row_flits(const transpose *t) {
  return tg_kind_flits(t->m, t->v->kinds[RESULT], t->block_columns);
}
static uint32_t in_row_flits(const transpose *t) { return t->block_rows / t->m->p; } /* widened */
static uint32_t sends(const transpose *t) { return t->block_rows / t->sent; }        /* of a block */

/* ---- channels and stages ---- */

static void plan_channels(const transpose *t, tg_channel_plan plans[CHANNELS]) {
  uint32_t out = t->block_rows * out_row_flits(t), in = t->block_columns * in_row_flits(t);
  plans[BLOCKS] =
      (tg_channel_plan){.room = {in, 2}, .full = 1, .west = true, .north = true, .credits = 2, .bases = 1};
  plans[OUT] = (tg_channel_plan){.room = {out, 2}, .full = 1, .free = 1, .initial = 2};
  plans[AWAY] = (tg_channel_plan){.free = 1, .initial = 2, .west = true, .north = true, .bases = 1};
}

/* Atoms of a run of so many elements; one more where runs begin anywhere. */
static double atoms_of(double elements, int64_t stride, double bytes) {
  double atoms = elements * bytes / 64;
  return (atoms < 1 ? 1 : atoms) +
         ((double)stride * bytes / 64 != (double)(int64_t)((double)stride * bytes / 64));
}

/* Cycles of a port for so many runs of an operand. */
static double port_cycles(const transpose *t, int operand, double runs, double elements, int64_t stride) {
  return runs * atoms_of(elements, stride, tg_storage_bytes(t->v->tensors[operand]->storage)) * 64 /
         t->m->port_bytes;
}

/* Of a block, by as many VOPs as make all its rows. */
static double vop_cycles(const transpose *t, const int *words) {
  const tg_params *m = t->m;
  uint32_t lanes = tg_lanes(m), vectors = t->block_rows / m->p * (t->block_columns / lanes),
           groups = tg_div_up(vectors, m->fma_latency);
  double vop = 2.0 * m->fma_latency + 2 +
               (double)groups * m->fma_latency * (words[0] + words[1] * (double)lanes + words[2]);
  return vop * m->p / t->at_a_time;
}

/* `words` NULL: cycles of VOPs are not known. */
static void list_stages(const transpose *t, const int *words, tg_stages *out) {
  tg_stage loads = {
      .kind = STAGE_LOADS,
      .context = TG_CTX_LOAD,
      .rate = TG_RATE_STEP,
      .nest = NEST_BLOCKS,
      .slots = 1,
      .cycles = port_cycles(t, SOURCE, t->block_columns, t->block_rows, t->column_stride),
  };
  tg_stage vops = {.kind = STAGE_VOPS,
                   .seat = TG_UNIT_VX,
                   .rate = TG_RATE_STEP,
                   .nest = NEST_BLOCKS,
                   .slots = t->m->p / (uint32_t)t->at_a_time,
                   .cycles = words ? vop_cycles(t, words) : 0};
  tg_stage_join(&loads, (tg_join){.channel = BLOCKS, .fills = true});
  tg_stage_join(&vops, (tg_join){.channel = BLOCKS, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS});
  tg_stage_join(
      &vops,
      (tg_join){
          .channel = OUT, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS, .wait = 1, .post = 1});
  out->count = 0;
  tg_checkerboard_add(t->m, out, loads);
  tg_stages_add(out, &vops);
  tg_checkerboard_add_results(t->m, out, STAGE_RESULTS, 1,
                              port_cycles(t, RESULT, t->block_rows, t->block_columns, t->row_stride), 0, 0);
}

/* As many rows of a block leave at once as the AGCU's memory has room for; false: there is none for one. */
static bool plan_sends(transpose *t) {
  uint32_t share = tg_egress_share(t->m, TG_EGRESS_BOTH, 1), row = out_row_flits(t);
  for (t->sent = t->block_rows; t->sent * row > share; t->sent /= 2)
    if (t->sent % 2) return false;
  return true;
}

/* The base of a stream that goes up the rows must be in the first of its banks. */
static bool fits(const transpose *t, const tg_stages *stages) {
  tg_channel_plan plans[CHANNELS];
  plan_channels(t, plans);
  tg_need need = tg_need_of_channels(t->m, plans, CHANNELS);
  tg_need_stages(&need, stages);
  return plans[BLOCKS].room.rows <= tg_bank_rows(t->m) && tg_need_fits(t->m, &need);
}

static double cycles_of(const transpose *t, const tg_stages *stages) {
  const tg_params *m = t->m;
  double blocks = (double)shared_blocks(t);
  tg_port_time tile = tg_stages_port(stages, TG_SIDE_WEST); /* both sides take turns */
  double block = tile.load + tile.drain, ports = blocks * block / tg_agcus(m),
         vector = (double)blocks_of((int64_t)blocks, tg_tiles(m)) * tg_stages_unit(stages, TG_UNIT_VX, -1);
  if (t->dealt) /* blocks are few and large: the first one is waited for, and the last one leaves alone */
    return TG_SECTION_CYCLES + block +
           (double)t->groups * tg_max_double(vector, (double)blocks_of((int64_t)blocks, tg_agcus(m)) * block);
  return TG_SECTION_CYCLES + (double)t->matrices * tg_max_double(vector, ports);
}

/* Do the rows of all results follow each other, and blocks end where a matrix does? */
static bool rows_follow(const transpose *t) {
  return t->rows % t->block_rows == 0 && t->matrix_stride[RESULT] == t->rows * t->row_stride;
}

/* May blocks of so many rows and columns be dealt? A walk has three dimensions of rows: those of the results are matrices, their
 * blocks below or beside each other, and rows of a block; or blocks below each other of all matrices, and beside each other. */
static bool may_deal(const transpose *t) {
  int64_t most = tg_max(t->block_rows, t->block_columns);
  return t->matrices > 1 && (row_blocks(t) == 1 || column_blocks(t) == 1 || rows_follow(t)) &&
         shared_blocks(t) * most < INT64_C(1) << 31;
}

/* Of blocks of about as many elements those that are estimated to take the least time. */
typedef struct nearest {
  tg_transpose_blocks blocks[SIZES];
} nearest;

static void consider(transpose *t, const int *words, nearest *out) {
  tg_stages stages;
  if (t->dealt ? !may_deal(t) : t->groups > 1) return;
  if (shared_blocks(t) >= (INT64_C(1) << 20) * tg_tiles(t->m) || !plan_sends(t)) return;
  list_stages(t, words, &stages);
  if (!fits(t, &stages)) return;
  uint32_t least = t->m->p * tg_lanes(t->m), size = t->block_rows * t->block_columns / least;
  tg_transpose_blocks *best = &out->blocks[__builtin_ctz(size)];
  double cycles = cycles_of(t, &stages);
  if (best->rows && best->cycles <= cycles) return;
  *best = (tg_transpose_blocks){t->block_rows, t->block_columns, t->dealt, cycles};
}

int tg_transpose_ways(const tg_vector_move *move, tg_transpose_blocks out[TG_TRANSPOSES]) {
  transpose t = {.v = move, .m = move->c->m};
  tg_mc mc;
  int words[TG_SEGMENTS], count = 0;
  nearest all = {0};
  if (!describe(&t)) return 0;
  write_code(&t, &mc);
  if (!tg_mc_fits(&mc, t.m, words)) return 0;
  for (t.block_rows = t.m->p; t.block_rows <= MOST_ROWS * t.m->p; t.block_rows *= 2)
    for (t.block_columns = tg_lanes(t.m); t.block_columns <= MOST_COLUMNS * tg_lanes(t.m);
         t.block_columns *= 2)
      for (int dealt = 0; dealt < 2; dealt++) {
        t.dealt = dealt;
        consider(&t, words, &all);
      }
  for (int n = 0; n < SIZES; n++) {
    if (!all.blocks[n].rows) continue;
    int at = count < TG_TRANSPOSES ? count++ : TG_TRANSPOSES;
    for (; at > 0 && out[at - 1].cycles > all.blocks[n].cycles; at--)
      if (at < TG_TRANSPOSES) out[at] = out[at - 1];
    if (at < TG_TRANSPOSES) out[at] = all.blocks[n];
  }
  return count;
}

/* ---- emission ---- */

/* Block number n of a matrix is n / d of the rows and n mod d of the columns of the result, with d blocks of columns; where blocks
 * are dealt, those of the next matrix follow. */
static void set_block(const transpose *t, tg_agcu_instr *in, int operand, uint32_t tile, uint32_t rows,
                      uint32_t take) {
  in->rows = rows;
  in->take = take;
  in->m_first = (int64_t)tile * rows;
  in->m_delta[1] = (int64_t)tg_tiles(t->m) * rows;
  in->offset_delta[0] = (t->dealt ? t->group_stride : t->matrix_stride)[operand] *
                        (int64_t)tg_storage_bytes(t->v->tensors[operand]->storage);
}

static void emit_load(void *user, const tg_stage *stage, tg_queue *queue, uint32_t r, uint32_t col) {
  const transpose *t = user;
  tg_instr *in = tg_build_push(&t->b, queue, TG_OP_agcu_load);
  tg_agcu_instr *load = &in->agcu;
  tg_walk_plan walk = {
      .tensor = t->v->tensors[SOURCE],
      .radix = {t->dealt ? t->matrices : 1, row_blocks(t), column_blocks(t) * t->block_columns},
      .stride = {t->dealt ? t->matrix_stride[SOURCE] : 0, t->block_rows, t->column_stride},
      .element_stride = 1,
      .columns = t->block_rows,
      .bounded = true,
      .x = {.step = {0, t->block_rows, 0, 1}, .size = t->rows},
      .y = {.step = {0, 0, 1, 0}, .size = t->columns}};
  tg_fill_walk(load, &walk, t->entry[SOURCE], t->residue[SOURCE]);
  set_block(t, load, SOURCE, r * t->m->cols + col, t->block_columns, t->block_rows);
  load->convert = tg_stream_convert(walk.tensor, TG_STREAM_SPLAT32);
  tg_set_operand(&load->dst, &t->channels[BLOCKS].ring, false);
  load->dst_inner = 65535;
  load->dst_mask = tg_checkerboard_mask(r, col);
  tg_stage_meet(stage, t->channels, TG_ALL_CHANNELS, &(tg_joint){.in = in, .r = r, .col = col});
}

static void fill_store(const void *user, int port, uint32_t r, uint32_t col, tg_agcu_instr *store) {
  const transpose *t = user;
  (void)port; /* there is one */
  int64_t rows = row_blocks(t), columns = column_blocks(t), down = t->block_rows * t->row_stride;
  tg_walk_plan walk = {.tensor = t->v->tensors[RESULT],
                       .radix = {rows, columns, t->block_rows},
                       .stride = {down, t->block_columns, t->row_stride},
                       .element_stride = 1,
                       .columns = t->block_columns,
                       .bounded = true,
                       .x = {.step = {0, t->block_columns, 0, 1}, .size = t->columns},
                       .y = {.step = {t->block_rows, 0, 1, 0}, .size = t->rows}};
  if (t->dealt && rows > 1 && columns > 1) { /* their rows follow each other */
    walk.radix[0] = t->matrices * rows;
    walk.y = (tg_coordinate){.size = 1};
  } else if (t->dealt) {
    walk.radix[0] = t->matrices;
    walk.radix[1] = rows * columns;
    walk.stride[0] = t->matrix_stride[RESULT];
    walk.y.step[0] = 0;
    if (rows > 1) {
      walk.stride[1] = down;
      walk.x.step[1] = 0;
      walk.y.step[1] = t->block_rows;
    }
  }
  tg_fill_walk(store, &walk, t->entry[RESULT], t->residue[RESULT]);
  set_block(t, store, RESULT, r * t->m->cols + col, t->block_rows, t->block_columns);
  store->rows = t->sent;
  store->m_delta[2] = t->sent;
  store->convert = t->v->kinds[RESULT] == TG_STREAM_FP32 ? TG_CVT_32 : TG_CVT_16;
}

/* Rows first, first + P .. of the block, and as many beside each as a VOP makes. */
static tg_instr *push_vop(const transpose *t, tg_queue *queue, uint32_t first) {
  uint32_t lanes = tg_lanes(t->m), in_row = in_row_flits(t), out_row = out_row_flits(t);
  tg_instr *in = tg_build_push(&t->b, queue, TG_OP_vx_vop);
  tg_vx_instr *vop = &in->vx;
  memcpy(vop->seg_begin, t->microcode.seg_begin, sizeof vop->seg_begin);
  memcpy(vop->seg_len, t->microcode.seg_len, sizeof vop->seg_len);
  vop->seg_repeat = 1 << 1;
  vop->row_count[0] = 1;
  vop->row_count[1] = t->block_rows / t->m->p;
  vop->row_count[2] = t->block_columns / lanes;
  vop->rows = vop->row_count[1] * vop->row_count[2];
  vop->j_count[0] = 1;
  vop->j_count[1] = lanes;
  vop->tail_step = 1;
  vop->tail_n = lanes + 1;
  for (int k = 0; k < t->at_a_time; k++) {
    tg_stream *from = tg_stream_of_mut(vop, k), *to = tg_stream_of_mut(vop, t->at_a_time + k);
    from->kind = TG_STREAM_SPLAT32;
    from->lane = first + (uint32_t)k;
    tg_set_operand(&from->at, &t->channels[BLOCKS].ring, false);
    from->at.base += (lanes - 1) * in_row;
    from->banks = t->channels[BLOCKS].ring.banks;
    from->row[1] = 1;
    from->row[2] = lanes * in_row;
    from->j[1] = -(int64_t)in_row;
    to->kind = t->v->kinds[RESULT];
    to->store = 1;
    tg_set_operand(&to->at, &t->port.buffer, false);
    to->at.base += (first + (uint32_t)k) * out_row;
    to->banks = t->port.buffer.banks;
    to->row[1] = t->m->p * out_row;
    to->row[2] = tg_kind_flits(t->m, t->v->kinds[RESULT], lanes);
  }
  return in;
}

static void emit_vops(const transpose *t, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  uint32_t each = (uint32_t)t->at_a_time;
  for (uint32_t first = 0; first < t->m->p; first += each) {
    const tg_joint joint = {.in = push_vop(t, queue, first),
                            .r = at.r,
                            .col = at.col,
                            .first = !first,
                            .last = first + each >= t->m->p};
    tg_stage_meet(stage, t->channels, TG_ALL_CHANNELS, &joint);
  }
}

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  const transpose *t = user;
  switch (stage->kind) {
  case STAGE_LOADS: tg_checkerboard_each(t->m, stage, queue, at, emit_load, user); break;
  case STAGE_VOPS: emit_vops(t, stage, queue, at); break;
  default: tg_egress_emit(&t->b, &t->egress, stage, queue, at, fill_store, t);
  }
}

static void allocate(transpose *t) {
  static const tg_channel_end order[] = {{OUT, TG_END_FULL | TG_END_FREE},
                                         {AWAY, TG_END_FREE},
                                         {BLOCKS, TG_END_FULL | TG_END_AGCU},
                                         {AWAY, TG_END_AGCU}};
  tg_channel_plan plans[CHANNELS];
  plan_channels(t, plans);
  for (int i = 0; i < CHANNELS; i++) t->channels[i] = TG_CHANNEL_NONE;
  bool good = tg_channels_place(&t->b, plans, CHANNELS, t->channels);
  assert(good); /* as planned */
  (void)good;
  tg_channels_open(&t->b, plans, order, (int)(sizeof order / sizeof *order), t->channels);
  t->channels[BLOCKS].source = tg_checkerboard_source;
  t->port = (tg_store_port){.from = &t->channels[OUT],
                            .away = &t->channels[AWAY],
                            .flits = t->sent * out_row_flits(t),
                            .drain_tiles = sends(t),
                            .loops = {(uint32_t)turns_of(t), t->chunks, sends(t)},
                            .buffer = t->channels[OUT].ring};
  t->egress =
      (tg_egress_plan){.ports = &t->port, .count = 1, .often = 1, .every = 1, .steps = sends(t) == 1 ? 1 : 0};
  for (int k = SOURCE; k <= RESULT; k++) {
    int64_t bytes = t->v->offsets[k] * (int64_t)tg_storage_bytes(t->v->tensors[k]->storage);
    t->entry[k] = tg_build_base(&t->b, t->v->tensors[k], (uint64_t)bytes, &t->residue[k]);
  }
}

tg_status tg_emit_transpose(const tg_vector_move *move, const tg_transpose_blocks *blocks) {
  transpose t = {.v = move,
                 .m = move->c->m,
                 .dealt = blocks->dealt,
                 .block_rows = blocks->rows,
                 .block_columns = blocks->columns};
  tg_mc mc;
  tg_compile *c = move->c;
  const char *name = tg_kernel_name(c, move->kernel);
  bool good = describe(&t) && plan_sends(&t);
  assert(good); /* it is one of its ways */
  (void)good;
  t.chunks = (uint32_t)blocks_of(shared_blocks(&t), tg_tiles(t.m));
  tg_build_begin(&t.b, c, name);
  allocate(&t);
  write_code(&t, &mc);
  tg_status status = tg_mc_pack(&mc, c->program, t.b.section, &t.microcode, c->diag);
  if (status) return status;
  tg_stages stages;
  const uint32_t loops[NESTS][3] = {[NEST_BLOCKS] = {(uint32_t)turns_of(&t), t.chunks, 1}};
  list_stages(&t, NULL, &stages);
  tg_stages_emit(&t.b, &stages, t.m->rows, loops, emit_stage, &t);
  tg_build_invoke(&t.b, name);
  return TG_OK;
}
