/* Microcode of a drain that computes reductions of its result (column_sums_emit.c). Of moments
 * (microcode/moments.h) a block is a VOP's: before its rows those are read whose mean the distances are from,
 * and two rows are an iteration, if there are streams, so that loads and stores of one go along with the
 * operations of the other. */
#include "mapper/gemm/emission.h"
#include "mapper/microcode/moments.h"

/* ---- streams ---- */

int tg_gemm_result_stream(const tg_gemm *g, int k, int row) {
  if (!row) return 1 + g->epilogue_operand_count + k;
  return tg_gemm_accumulator_stream(g, tg_gemm_first_rows(g)) + (row - 1) * g->outs + k;
}
int tg_gemm_after_stream(const tg_gemm *g, int i) { return tg_gemm_result_stream(g, g->outs, 0) + i; }
int tg_gemm_before_stream(const tg_gemm *g, int i) {
  return tg_gemm_after_stream(g, g->column_sums.count) + i;
}
int tg_gemm_accumulator_stream(const tg_gemm *g, int row) {
  int used = (g->column_sums.whole ? 1 : 2) * g->column_sums.count;
  return row ? tg_gemm_after_stream(g, used) + row - 1 : 0;
}

int tg_gemm_fit_column_sums(tg_gemm *g, int left) {
  tg_gemm_column_sums *column_sums = &g->column_sums;
  int more = tg_gemm_first_rows(g) - 1, count = column_sums->count;
  column_sums->whole = column_sums->first || 2 * count > left;
  column_sums->unroll = column_sums->first > 1 && count + more + g->outs <= left ? 2 : 1;
  return (column_sums->whole ? 1 : 2) * count + more + (column_sums->unroll - 1) * g->outs;
}

/* ---- what a row goes through ---- */

/* The fused nodes, and then the prologue of the reductions. */
static tg_kernel with_prologue(const tg_compile *c, const tg_kernel *kernel) {
  const tg_node_list *prologue = &kernel->column_sums->prologue[0];
  tg_kernel all = *kernel;
  tg_node_list nodes = {0};
  tg_add_nodes(c->arena, &nodes, kernel->fused, kernel->fused_count);
  tg_add_nodes(c->arena, &nodes, prologue->nodes, prologue->count);
  tg_set_fused(&all, &nodes);
  return all;
}

/* What is kept of a block for each root while its rows pass. */
typedef union kept {
  tg_mc_ref reduced;
  tg_moment moment;
} kept;

/* Column sums in registers. What is added to some of them, `late`, is so a row later, in words in which the
 * ALU would wait for the loads of the next row: the element before, or of moments its distance, is in a
 * register that begins with what changes nothing. */
typedef struct column_sums_code {
  tg_mc *mc;
  const tg_compile *c;
  const tg_kernel *kernel, *reduction;
  tg_kernel all;
  const tg_gemm *g;
  tg_operand_stream streams[2 * TG_EPILOGUE_OPERANDS];
  int stream_count;
  bool late[TG_GEMM_RESULTS];
  kept column_sum[TG_GEMM_RESULTS];
  tg_mc_ref before[TG_GEMM_RESULTS];
} column_sums_code;

/* Row vectors are the same for all rows of a VOP. */
static void hold_vectors(column_sums_code *t) {
  const tg_gemm *g = t->g;
  tg_mc_ref held[TG_EPILOGUE_OPERANDS];
  for (int x = 0; x < g->epilogue_operand_count; x++)
    if (tg_is_row_vector(&g->epilogue_operands[x])) held[x] = tg_hold_operand(t->mc, &t->streams[x]);
  for (int s = 0; s < t->stream_count; s++) {
    int x = t->streams[s].stream - 1;
    if (!tg_is_row_vector(&g->epilogue_operands[x])) continue;
    t->streams[s].loaded = true;
    t->streams[s].held = held[x];
  }
}

/* The results of row `row` of an iteration, or of the block, and what the roots read, in registers. */
static bool compute_row(column_sums_code *t, int row, tg_mc_ref *out_made) {
  const tg_gemm *g = t->g;
  tg_value *values[2 * TG_GEMM_RESULTS];
  for (int k = 0; k < g->outs; k++) values[k] = g->out[k];
  for (int i = 0; i < g->column_sums.count; i++)
    values[g->outs + i] = tg_in(tg_kernel_root(t->reduction, i), 0);
  tg_mc_ref y = tg_mc_load(t->mc, tg_gemm_accumulator_stream(g, row), false);
  y = tg_gemm_add_bias(t->mc, t->kernel, t->streams, t->stream_count, y, !t->all.fused_count);
  return tg_emit_values(t->mc, t->c, &t->all, tg_out(t->kernel->root), y, t->streams, t->stream_count, values,
                        g->outs + g->column_sums.count, out_made);
}

/* ---- column sums ---- */

/* The last roots of what the drain computes rather than loads, as many as there should be; of moments, any
 * that has some of its own. */
static void choose_late(column_sums_code *t) {
  int left = t->g->column_sums.late;
  for (int i = t->g->column_sums.count - 1; i >= 0 && left > 0; i--) {
    const tg_node *root = tg_kernel_root(t->reduction, i),
                  *producer = tg_owner(t->c, tg_in(root, 0))->producer;
    bool computed =
        producer && producer->op != TG_OP_CAST && tg_has_node(t->all.fused, t->all.fused_count, producer);
    t->late[i] =
        t->g->column_sums.first ? tg_is_moment(root) && tg_moment_twin(t->c, t->reduction, i) < 0 : computed;
    left -= t->late[i];
  }
}

static void set_number(column_sums_code *t, tg_mc_ref dst, float number) {
  tg_mc_assign(t->mc, dst, TG_ALU_mov, tg_mc_const(t->mc, number), TG_MC_NONE, TG_MC_NONE);
}

static void set_before(column_sums_code *t) {
  for (int i = 0; i < t->g->column_sums.count; i++)
    if (t->late[i]) set_number(t, t->before[i], tg_reduction_identity(tg_kernel_root(t->reduction, i)));
}

/* Adds `element` to what is kept for root i. */
static void take(column_sums_code *t, int i, tg_mc_ref element) {
  const tg_node *root = tg_kernel_root(t->reduction, i);
  if (tg_is_moment(root))
    tg_moment_add(t->mc, &t->column_sum[i].moment, element);
  else
    tg_mc_assign(t->mc, t->column_sum[i].reduced, tg_reduction_alu(root), t->column_sum[i].reduced, element,
                 TG_MC_NONE);
}

static void take_late(column_sums_code *t) {
  for (int i = 0; i < t->g->column_sums.count; i++) {
    if (!t->late[i]) continue;
    if (tg_is_moment(tg_kernel_root(t->reduction, i)))
      tg_moment_add_square(t->mc, &t->column_sum[i].moment, t->before[i]);
    else
      take(t, i, t->before[i]);
  }
}

static bool begin_moments(column_sums_code *t) {
  tg_mc_ref made[TG_MOMENT_FIRST][2 * TG_GEMM_RESULTS], first[TG_MOMENT_FIRST];
  int rows = t->g->column_sums.first;
  for (int u = 0; u < rows; u++)
    if (!compute_row(t, u, made[u])) return false;
  for (int i = 0; i < t->g->column_sums.count; i++) {
    if (!tg_is_moment(tg_kernel_root(t->reduction, i)) || tg_moment_twin(t->c, t->reduction, i) >= 0)
      continue;
    for (int u = 0; u < rows; u++) first[u] = made[u][t->g->outs + i];
    t->column_sum[i].moment = tg_moment_begin(t->mc, first, t->g->column_sums.block);
  }
  return true;
}

/* Segments BEGIN and GO_ON. */
static bool begin_column_sums(column_sums_code *t) {
  int count = t->g->column_sums.count;
  tg_mc_next_segment(t->mc);
  for (int i = 0; i < count; i++) {
    if (t->late[i]) t->before[i] = tg_mc_new(t->mc);
    const tg_node *root = tg_kernel_root(t->reduction, i);
    if (tg_is_moment(root)) continue;
    t->column_sum[i].reduced = tg_mc_new(t->mc);
    set_number(t, t->column_sum[i].reduced, tg_reduction_identity(root));
  }
  set_before(t);
  if (!begin_moments(t)) return false;
  tg_mc_next_segment(t->mc);
  if (t->g->column_sums.whole) return true;
  for (int i = 0; i < count; i++)
    tg_mc_assign(t->mc, t->column_sum[i].reduced, TG_ALU_mov,
                 tg_mc_load(t->mc, tg_gemm_before_stream(t->g, i), true), TG_MC_NONE, TG_MC_NONE);
  set_before(t);
  return true;
}

/* What is made of a row, `count` registers, is the element that root i takes a row later. */
static void keep_late(column_sums_code *t, int i, tg_mc_ref *made, int count) {
  tg_mc_ref element = made[t->g->outs + i];
  if (tg_is_moment(tg_kernel_root(t->reduction, i)))
    tg_moment_add_distance(t->mc, &t->column_sum[i].moment, element, t->before[i]);
  else if (tg_mc_make_in(t->mc, t->before[i], element))
    for (int k = 0; k < count; k++)
      if (made[k] == element) made[k] = t->before[i];
}

/* The roots' elements of a row. `last`: of an iteration. */
static void take_row(column_sums_code *t, tg_mc_ref *made, bool last) {
  int outs = t->g->outs, count = t->g->column_sums.count;
  for (int i = 0; i < count; i++)
    if ((!t->late[i] || !last) && tg_moment_twin(t->c, t->reduction, i) < 0) take(t, i, made[outs + i]);
  for (int i = 0; i < count; i++)
    if (t->late[i] && last) keep_late(t, i, made, outs + count);
}

static bool write_rows(column_sums_code *t) {
  const tg_gemm *g = t->g;
  take_late(t);
  for (int u = 0; u < g->column_sums.unroll; u++) {
    tg_mc_ref made[2 * TG_GEMM_RESULTS];
    if (!compute_row(t, u, made)) return false;
    take_row(t, made, u + 1 == g->column_sums.unroll);
    for (int k = 0; k < g->outs; k++)
      tg_mc_store(t->mc, tg_gemm_result_stream(g, k, u), g->out_kind[k] == TG_STREAM_FP32, made[k]);
  }
  return true;
}

static tg_mc_ref end_column_sum(column_sums_code *t, int i) {
  const tg_node *root = tg_kernel_root(t->reduction, i);
  int twin = tg_moment_twin(t->c, t->reduction, i);
  if (!tg_is_moment(root)) return t->column_sum[i].reduced;
  return tg_moment_end(t->mc, &t->column_sum[twin < 0 ? i : twin].moment, root, t->g->column_sums.block);
}

tg_status tg_gemm_write_column_sums(const tg_compile *c, const tg_kernel *kernel, const tg_gemm *g,
                                    tg_mc *mc) {
  column_sums_code t = {.mc = mc, .c = c, .kernel = kernel, .reduction = kernel->column_sums, .g = g};
  t.all = with_prologue(c, kernel);
  t.stream_count = tg_gemm_operand_streams(g, t.streams);
  choose_late(&t);
  hold_vectors(&t);
  if (!begin_column_sums(&t)) return TG_INVALID;
  tg_mc_next_segment(mc);
  if (!write_rows(&t)) return TG_INVALID;
  tg_mc_next_segment(mc);
  take_late(&t);
  for (int i = 0; i < g->column_sums.count; i++)
    tg_mc_store(mc, tg_gemm_after_stream(g, i), true, end_column_sum(&t, i));
  return TG_OK;
}

/* Each row of moments comes with its own stream, so that what goes along must be the same for all. */
static bool rows_are_alike(const tg_gemm *g) {
  for (int x = 0; x < g->epilogue_operand_count; x++)
    if (g->column_sums.first && !tg_is_row_vector(&g->epilogue_operands[x])) return false;
  return true;
}

/* Words before and after the rows, and for those of a block. 0: it does not fit. */
static int words_of_block(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  tg_mc mc;
  int words[2 * TG_SEGMENTS] = {0};
  tg_mc_begin(&mc, c->arena);
  if (tg_gemm_write_column_sums(c, kernel, g, &mc) || !tg_mc_fits(&mc, c->m, words)) return 0;
  int begin = words[TG_COLUMN_SUMS_BEGIN], go_on = words[TG_COLUMN_SUMS_GO_ON];
  g->column_sums.words =
      words[TG_COLUMN_SUMS_HOLD] + (begin > go_on ? begin : go_on) + words[TG_COLUMN_SUMS_END];
  g->drain_words[TG_DRAIN_FINISH] = words[TG_COLUMN_SUMS_ROWS];
  g->words_in_all[TG_DRAIN_OF_ACCUMULATOR] = mc.words;
  return g->column_sums.words +
         words[TG_COLUMN_SUMS_ROWS] * (int)(g->column_sums.block / g->column_sums.unroll);
}

/* With as many column sums that are taken late as make it shortest. */
tg_status tg_gemm_measure_column_sums(const tg_compile *c, const tg_kernel *kernel, tg_gemm *g) {
  int least = 0, best = 1, most = g->column_sums.first ? 1 : g->column_sums.count;
  if (!rows_are_alike(g)) return TG_INVALID;
  for (int late = 1; late <= most; late++) {
    g->column_sums.late = late;
    int words = words_of_block(c, kernel, g);
    if (!words || (least && words >= least)) continue;
    least = words;
    best = late;
  }
  g->column_sums.late = best;
  g->drain_words[TG_DRAIN_FINISH] = 0;
  if (least) words_of_block(c, kernel, g);
  return TG_OK;
}
