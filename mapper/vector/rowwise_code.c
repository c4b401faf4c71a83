/* The microcode of row kernels: passes over a row, and what is computed of its numbers between them. */
#include "mapper/expression/expression.h"
#include "mapper/vector/rowwise.h"

#include <string.h>

static int unroll_of(const tg_rowwise *r) { return r->plan.unroll ? r->plan.unroll : 1; }

static void load_ahead(tg_rowwise *r) {
  for (int i = 0; i < r->operands.count; i++)
    if (tg_row_is_number(&r->operands.of[i]))
      r->operands.of[i].held =
          tg_mc_load(&r->mc, tg_source_stream(&r->plan, r->operands.of[i].number, 0), false);
}

/* Computes the marked steps from vector u of an iteration, and puts `values` into registers. */
static bool emit_marked(tg_rowwise *r, const bool *marked, int u, tg_value *const *values, int count,
                        tg_mc_ref *out_registers) {
  tg_operand_stream streams[TG_ROWWISE_NAMES];
  tg_node *nodes[TG_ROWWISE_STEPS];
  tg_node_list prologue = {.nodes = nodes};
  for (int i = 0; i < r->count; i++)
    if (marked[i]) nodes[prologue.count++] = r->steps[i].node;
  for (int n = 0; n < r->name_count; n++) {
    const tg_row_name *from = &r->names[n];
    const tg_source *o = from->step < 0 ? &r->operands.of[from->operand] : NULL;
    bool loaded = !o || tg_row_is_number(o);
    streams[n] = (tg_operand_stream){.name = {.value = from->value}, .loaded = loaded};
    if (loaded)
      streams[n].held = o ? o->held : r->steps[from->step].held;
    else
      streams[n].stream = tg_source_stream(&r->plan, o->number, u);
  }
  return tg_emit_prologue(&r->mc, r->c, &prologue, streams, r->name_count, NULL, NULL, values, count,
                          out_registers);
}

/* Is it done in this pass: reduced, or stored? */
static bool is_target(const tg_rowwise *r, const tg_row_step *s, int pass) {
  return s->kind == TG_STEP_REDUCTION ? s->gap == pass + 1
                                      : s->kind == TG_STEP_VECTOR && s->due == pass && tg_row_is_result(r, s);
}

static void mark_needed(const tg_rowwise *r, int pass, bool *marked) {
  memset(marked, 0, sizeof *marked * TG_ROWWISE_STEPS);
  for (int i = r->count; i-- > 0;) {
    const tg_row_step *s = &r->steps[i];
    bool target = is_target(r, s, pass);
    if (target && s->kind == TG_STEP_VECTOR) marked[i] = true;
    if (!marked[i] && !target) continue;
    for (int k = 0; k < s->node->input_count; k++) {
      int maker = tg_row_maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && r->steps[maker].kind == TG_STEP_VECTOR) marked[maker] = true;
    }
  }
}

/* Reductions that are complete before this pass, and what is computed of them. */
static bool emit_numbers(tg_rowwise *r, int pass) {
  bool marked[TG_ROWWISE_STEPS] = {false};
  tg_value *values[TG_ROWWISE_STEPS] = {NULL};
  tg_mc_ref registers[TG_ROWWISE_STEPS];
  int at[TG_ROWWISE_STEPS], count = 0;
  for (int i = 0; i < r->count; i++) {
    tg_row_step *s = &r->steps[i];
    if (s->kind == TG_STEP_VECTOR || s->gap != pass) continue;
    if (s->kind == TG_STEP_REDUCTION)
      s->held = tg_round_to(&r->mc, tg_out(s->node)->dtype,
                            tg_row_sums_end(&r->sums[i], (int)tg_lanes(r->c->m)), false);
    else
      marked[i] = true, values[count] = tg_out(s->node), at[count++] = i;
  }
  if (!emit_marked(r, marked, 0, values, count, registers)) return false;
  for (int i = 0; i < count; i++) r->steps[at[i]].held = registers[i];
  for (int x = 0; r->scalars && x < tg_kernel_results(r->kernel); x++) {
    tg_value *result = tg_kernel_result(r->kernel, x);
    const tg_row_step *s = &r->steps[tg_row_maker_of(r, result)];
    if (s->gap == pass)
      tg_mc_store(&r->mc, tg_result_stream(&r->plan, x, 0), tg_stream_kind(result) == TG_STREAM_FP32,
                  s->held);
  }
  return true;
}

static void begin_sums(tg_rowwise *r, int pass) {
  for (int i = 0; i < r->count; i++) {
    const tg_row_step *s = &r->steps[i];
    if (s->kind != TG_STEP_REDUCTION || s->gap != pass + 1) continue;
    r->sums[i] = (tg_row_sums){.mc = &r->mc,
                               .alu = tg_reduction_alu(s->node),
                               .registers = TG_ROW_PARTIALS / (int)tg_lanes(r->c->m),
                               .unroll = unroll_of(r),
                               .ragged = r->dims[1] % TG_ROW_PARTIALS};
    tg_row_sums_begin(&r->sums[i], tg_mc_const(&r->mc, tg_reduction_identity(s->node)));
  }
}

static bool emit_vector(tg_rowwise *r, int pass, int u, const bool *marked) {
  tg_value *values[TG_ROWWISE_STEPS] = {NULL};
  tg_mc_ref x[TG_ROWWISE_STEPS];
  int at[TG_ROWWISE_STEPS], count = 0;
  for (int i = 0; i < r->count; i++) {
    const tg_row_step *s = &r->steps[i];
    if (!is_target(r, s, pass)) continue;
    values[count] = s->kind == TG_STEP_REDUCTION ? tg_in(s->node, 0) : tg_out(s->node);
    at[count++] = i;
  }
  if (!emit_marked(r, marked, u, values, count, x)) return false;
  for (int i = 0; i < count; i++) {
    tg_row_sums *s = &r->sums[at[i]];
    if (r->steps[at[i]].kind == TG_STEP_REDUCTION)
      tg_row_sums_add(s, u, s->alu, s->partial[u], x[i], TG_MC_NONE);
    else
      tg_mc_store(&r->mc, tg_result_stream(&r->plan, 0, u), r->plan.output_kind == TG_STREAM_FP32, x[i]);
  }
  return true;
}

static bool write_code(tg_rowwise *r) {
  bool marked[TG_ROWWISE_STEPS];
  tg_mc_begin(&r->mc, r->c->arena);
  load_ahead(r);
  for (int pass = 0; pass < r->passes; pass++) {
    if (pass) tg_mc_next_segment(&r->mc);
    if (!emit_numbers(r, pass)) return false;
    begin_sums(r, pass);
    tg_mc_next_segment(&r->mc);
    mark_needed(r, pass, marked);
    for (int u = 0; u < unroll_of(r); u++)
      if (!emit_vector(r, pass, u, marked)) return false;
  }
  if (!r->behind) return true;
  tg_mc_next_segment(&r->mc);
  return emit_numbers(r, r->passes);
}

bool tg_rowwise_write(tg_rowwise *r, int *out_lengths) {
  r->plan.unroll = TG_ROW_PARTIALS / (int)tg_lanes(r->c->m);
  r->plan.unrolled_result = !r->scalars;
  if (tg_stream_count(&r->plan) <= TG_STREAMS && write_code(r) && tg_mc_fits(&r->mc, r->c->m, out_lengths))
    return true;
  r->plan.unroll = 0;
  return write_code(r) && tg_mc_fits(&r->mc, r->c->m, out_lengths);
}
