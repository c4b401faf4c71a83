/* Row kernels. A row's reductions and the elementwise nodes around them take a few passes over the row, which
 * is loaded once: a pass ends where a reduction must be complete. What one pass has computed the next
 * computes again, with the same bits; scalars of a row stay in registers.
 *
 * Each reduction is done as late as what needs it allows: what it reads is likely to be at hand then. */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/space.h"
#include "mapper/microcode/row_sums.h"
#include "mapper/stream/stream.h"
#include "mapper/vector/sources.h"
#include "mapper/vector/vector.h"

#include <math.h>
#include <string.h>

enum {
  MOST_STEPS = 64,
  MOST_NAMES = 2 * TG_STREAMS,
  MOST_TARGETS = MOST_STEPS,
  REPEAT = 1 << 1 | 1 << 3 | 1 << 5 /* segments: the passes */
};

/* A node of the kernel. */
typedef struct step {
  tg_node *node;
  enum {
    VECTOR, /* element by element: computed in each pass that uses it */
    NUMBER, /* one a row, between two passes */
    REDUCTION
  } kind;
  int ready; /* the first pass that may use it, or compute it */
  int due;   /* the pass that needs it; one behind the last: the end of the row */
  int gap;   /* NUMBER, REDUCTION: the pass before which it is complete */
  tg_mc_ref held;
} step;

/* An operand as a node names it: loaded, or a number that a step makes. */
typedef struct name {
  tg_value *value;
  int operand, step; /* one of them; the other is -1 */
} name;

typedef struct rowwise {
  tg_compile *c;
  const tg_kernel *kernel;
  int64_t dims[2];
  step steps[MOST_STEPS];
  int count, passes;
  bool numbers; /* all results are one scalar a row; else there is one, element by element */
  bool behind;  /* numbers are made after the last pass */
  tg_sources operands;
  name names[MOST_NAMES];
  int name_count;
  tg_stream_kernel plan;
  tg_row_sums sums[MOST_STEPS]; /* of reductions */
  tg_mc mc;
} rowwise;

/* ---- steps ---- */

static int maker_of(const rowwise *r, tg_value *value) {
  value = tg_owner(r->c, value);
  for (int i = 0; i < r->count; i++)
    if (tg_out(r->steps[i].node) == value) return i;
  return -1;
}

static bool makes_number(const rowwise *r, int maker) { return maker >= 0 && r->steps[maker].kind != VECTOR; }

/* False: the node does not go along with rows. */
static bool add_step(rowwise *r, tg_node *node) {
  step s = {.node = node, .held = TG_MC_NONE};
  int64_t elements = tg_value_elements(tg_out(node)), dims[2];
  bool numbers = false;
  for (int i = 0; i < node->input_count; i++) {
    int maker = maker_of(r, tg_in(node, i));
    if (maker < 0) continue;
    numbers |= makes_number(r, maker);
    if (s.ready < r->steps[maker].ready) s.ready = r->steps[maker].ready;
  }
  if (tg_is_reduction(node)) {
    if (numbers || !tg_reduces_rows(node, dims) || memcmp(dims, r->dims, sizeof dims)) return false;
    s.kind = REDUCTION;
    s.ready++;
  } else if (numbers && elements == r->dims[0])
    s.kind = NUMBER;
  else if (numbers && elements != r->dims[0] * r->dims[1])
    return false;
  r->steps[r->count++] = s;
  return true;
}

static bool is_result(const rowwise *r, const step *s) { return tg_kernel_makes(r->kernel, tg_out(s->node)); }

/* When each step is due: from what is stored and what uses it. */
static void set_due(rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    r->steps[i].due = r->passes;
    if (r->steps[i].kind == VECTOR && is_result(r, &r->steps[i])) r->steps[i].due = r->passes - 1;
  }
  for (int i = r->count; i-- > 0;) {
    const step *s = &r->steps[i];
    int needs = s->kind == REDUCTION ? s->due - 1 : s->due;
    for (int k = 0; k < s->node->input_count; k++) {
      int maker = maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && r->steps[maker].due > needs) r->steps[maker].due = needs;
    }
  }
}

static void set_gaps(rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    step *s = &r->steps[i];
    if (s->kind == VECTOR) continue;
    if (s->kind == REDUCTION) s->gap = s->due;
    for (int k = 0; s->kind == NUMBER && k < s->node->input_count; k++) {
      int maker = maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && s->gap < r->steps[maker].gap) s->gap = r->steps[maker].gap;
    }
    r->behind |= s->gap == r->passes;
  }
}

/* A VOP has so many segments; one before each pass, and one behind the last. */
static bool schedule(rowwise *r) {
  int results = tg_kernel_results(r->kernel), numbers = 0;
  for (int i = 0; i < r->count; i++) {
    const step *s = &r->steps[i];
    int passes = s->kind == VECTOR ? s->ready + 1 : s->ready;
    if (r->passes < passes) r->passes = passes;
    numbers += s->kind != VECTOR && is_result(r, s);
  }
  r->numbers = numbers == results;
  if (!r->numbers && (numbers || results > 1)) return false;
  set_due(r);
  set_gaps(r);
  return 2 * r->passes + r->behind <= TG_SEGMENTS;
}

/* ---- operands ---- */

/* What step `i` reads as `value`: of a number, another one, or one for all. */
static bool find_operand(const rowwise *r, int i, tg_value *value, tg_source *out) {
  const step *s = &r->steps[i];
  if (s->kind == NUMBER) {
    int64_t elements = tg_value_elements(value);
    *out = (tg_source){.value = tg_owner(r->c, value),
                       .along = elements > 1 ? TG_ALONG_COLUMN : TG_ALONG_SCALAR,
                       .stride = {elements > 1}};
    return elements == 1 || elements == r->dims[0];
  }
  const tg_value *shape = s->kind == REDUCTION ? value
                                               : tg_shape_around(r->kernel->fused, r->kernel->fused_count,
                                                                 (size_t)i, r->dims[0] * r->dims[1]);
  tg_access access = tg_access_of(r->c, value, shape);
  return tg_source_of(r->c, &access, r->dims, 2, out);
}

/* What step `i` reads as `value`. False: it does not go along with rows, or there is no room for it. */
static bool add_name(rowwise *r, int i, tg_value *value) {
  name new = {.value = value, .operand = -1, .step = maker_of(r, value)};
  if (new.step >= 0 && r->steps[new.step].kind == VECTOR) return r->steps[i].kind != NUMBER;
  tg_source o;
  if (!find_operand(r, i, value, &o)) return false;
  if (new.step >= 0 && (o.stride[1] || (!o.stride[0] && r->dims[0] > 1))) return false;
  if (new.step < 0 && (new.operand = tg_add_source(&r->operands, &o)) < 0) return false;
  for (int n = 0; n < r->name_count; n++)
    if (r->names[n].value == value) return r->names[n].operand == new.operand;
  if (r->name_count == MOST_NAMES) return false;
  r->names[r->name_count++] = new;
  return true;
}

static bool collect(rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    const step *s = &r->steps[i];
    if (s->kind == VECTOR &&
        !tg_goes_along_one_way(r->c, r->kernel->fused, r->kernel->fused_count, (size_t)i, r->dims, 2))
      return false;
    for (int k = 0; k < s->node->input_count; k++)
      if (!tg_is_scalar_constant(tg_in(s->node, k)) && !add_name(r, i, tg_in(s->node, k))) return false;
  }
  return true;
}

/* ---- streams ---- */

static bool is_number(const tg_source *o) { return tg_is_splat(o->along); }
static bool is_once(const tg_source *o) { return o->along == TG_ALONG_ROW || o->along == TG_ALONG_SCALAR; }

static void number_streams(rowwise *r) {
  tg_stream_kernel *plan = &r->plan;
  for (int i = 0; i < r->operands.count; i++)
    if (!is_once(&r->operands.of[i])) r->operands.of[i].number = plan->inputs++;
  for (int i = 0; i < r->operands.count; i++)
    if (is_once(&r->operands.of[i])) r->operands.of[i].number = plan->inputs + plan->vectors++;
}

static tg_walk_plan walk_of(const rowwise *r, const tg_source *o) {
  return (tg_walk_plan){.radix = {1, 1, is_once(o) ? 1 : r->dims[0]},
                        .stride = {0, 0, o->stride[0]},
                        .element_stride = 1,
                        .columns = is_number(o) ? 1 : r->dims[1]};
}

/* Where results go: rows, or one element of each run of a flit. */
static tg_walk_plan result_walk(const rowwise *r) {
  tg_walk_plan walk = {.radix = {1, 1, r->dims[0]},
                       .stride = {0, 0, r->numbers ? 1 : r->dims[1]},
                       .element_stride = 1,
                       .columns = r->numbers ? (int64_t)r->plan.out_take : r->dims[1]};
  if (!r->numbers) return walk;
  walk.bounded = true;
  walk.x = (tg_coordinate){.step = {0, 0, 0, 1}, .size = 1};
  walk.y = (tg_coordinate){.size = 1};
  return walk;
}

static void plan_streams(rowwise *r) {
  tg_stream_kernel *plan = &r->plan;
  number_streams(r);
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    int kind = is_number(o) ? TG_STREAM_SPLAT32 : tg_stream_kind(o->value), v = o->number - plan->inputs;
    if (is_once(o))
      plan->vector_kind[v] = kind, plan->vector[v] = walk_of(r, o);
    else
      plan->input_kind[o->number] = kind, plan->window[o->number] = 1, plan->input[o->number] = walk_of(r, o);
  }
  plan->more = r->kernel->more_count;
  plan->output_kind = tg_stream_kind(r->kernel->output);
  for (int x = 0; x < plan->more; x++) plan->more_kind[x] = tg_stream_kind(r->kernel->more[x]);
  plan->whole_rows = true;
  plan->column_blocks = 1;
  plan->rows = r->dims[0];
  plan->take = (uint32_t)tg_round_up(r->dims[1], TG_ROW_PARTIALS);
  plan->tail_n = (uint32_t)r->dims[1];
  plan->out_take = r->numbers ? tg_lanes(r->c->m) : 0;
  plan->output = result_walk(r);
  for (int x = 0; x < plan->more; x++) plan->more_output[x] = plan->output;
}

static bool begin(rowwise *r, tg_compile *c, const tg_kernel *kernel, const int64_t dims[2]) {
  *r = (rowwise){.c = c, .kernel = kernel, .dims = {dims[0], dims[1]}};
  if (kernel->fused_count > MOST_STEPS || dims[1] > 1 << 20 || tg_stochastic_store(kernel)) return false;
  for (size_t n = 0; n < kernel->fused_count; n++)
    if (!add_step(r, kernel->fused[n])) return false;
  r->operands.most = TG_STREAMS - tg_kernel_results(kernel);
  if (!schedule(r) || !collect(r)) return false;
  plan_streams(r);
  return true;
}

/* ---- microcode ---- */

static int unroll_of(const rowwise *r) { return r->plan.unroll ? r->plan.unroll : 1; }

static void load_ahead(rowwise *r) {
  for (int i = 0; i < r->operands.count; i++)
    if (is_number(&r->operands.of[i]))
      r->operands.of[i].held =
          tg_mc_load(&r->mc, tg_source_stream(&r->plan, r->operands.of[i].number, 0), false);
}

/* Computes the marked steps from vector u of an iteration, and puts `values` into registers. */
static bool emit_marked(rowwise *r, const bool *marked, int u, tg_value *const *values, int count,
                        tg_mc_ref *out_registers) {
  tg_operand_stream streams[MOST_NAMES];
  tg_node *nodes[MOST_STEPS];
  tg_node_list prologue = {.nodes = nodes};
  for (int i = 0; i < r->count; i++)
    if (marked[i]) nodes[prologue.count++] = r->steps[i].node;
  for (int n = 0; n < r->name_count; n++) {
    const name *from = &r->names[n];
    const tg_source *o = from->step < 0 ? &r->operands.of[from->operand] : NULL;
    bool loaded = !o || is_number(o);
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
static bool is_target(const rowwise *r, const step *s, int pass) {
  return s->kind == REDUCTION ? s->gap == pass + 1 : s->kind == VECTOR && s->due == pass && is_result(r, s);
}

static void mark_needed(const rowwise *r, int pass, bool *marked) {
  memset(marked, 0, sizeof *marked * MOST_STEPS);
  for (int i = r->count; i-- > 0;) {
    const step *s = &r->steps[i];
    bool target = is_target(r, s, pass);
    if (target && s->kind == VECTOR) marked[i] = true;
    if (!marked[i] && !target) continue;
    for (int k = 0; k < s->node->input_count; k++) {
      int maker = maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && r->steps[maker].kind == VECTOR) marked[maker] = true;
    }
  }
}

/* Reductions that are complete before this pass, and what is computed of them. */
static bool emit_numbers(rowwise *r, int pass) {
  bool marked[MOST_STEPS] = {false};
  tg_value *values[MOST_TARGETS] = {NULL};
  tg_mc_ref registers[MOST_TARGETS];
  int at[MOST_TARGETS], count = 0;
  for (int i = 0; i < r->count; i++) {
    step *s = &r->steps[i];
    if (s->kind == VECTOR || s->gap != pass) continue;
    if (s->kind == REDUCTION)
      s->held = tg_round_to(&r->mc, tg_out(s->node)->dtype,
                            tg_row_sums_end(&r->sums[i], (int)tg_lanes(r->c->m)), false);
    else
      marked[i] = true, values[count] = tg_out(s->node), at[count++] = i;
  }
  if (!emit_marked(r, marked, 0, values, count, registers)) return false;
  for (int i = 0; i < count; i++) r->steps[at[i]].held = registers[i];
  for (int x = 0; r->numbers && x < tg_kernel_results(r->kernel); x++) {
    tg_value *result = tg_kernel_result(r->kernel, x);
    const step *s = &r->steps[maker_of(r, result)];
    if (s->gap == pass)
      tg_mc_store(&r->mc, tg_result_stream(&r->plan, x, 0), tg_stream_kind(result) == TG_STREAM_FP32,
                  s->held);
  }
  return true;
}

static void begin_sums(rowwise *r, int pass) {
  for (int i = 0; i < r->count; i++) {
    const step *s = &r->steps[i];
    if (s->kind != REDUCTION || s->gap != pass + 1) continue;
    r->sums[i] = (tg_row_sums){.mc = &r->mc,
                               .alu = tg_reduction_alu(s->node),
                               .registers = TG_ROW_PARTIALS / (int)tg_lanes(r->c->m),
                               .unroll = unroll_of(r),
                               .ragged = r->dims[1] % TG_ROW_PARTIALS};
    tg_row_sums_begin(&r->sums[i], tg_mc_const(&r->mc, tg_reduction_identity(s->node)));
  }
}

static bool emit_vector(rowwise *r, int pass, int u, const bool *marked) {
  tg_value *values[MOST_TARGETS] = {NULL};
  tg_mc_ref x[MOST_TARGETS];
  int at[MOST_TARGETS], count = 0;
  for (int i = 0; i < r->count; i++) {
    const step *s = &r->steps[i];
    if (!is_target(r, s, pass)) continue;
    values[count] = s->kind == REDUCTION ? tg_in(s->node, 0) : tg_out(s->node);
    at[count++] = i;
  }
  if (!emit_marked(r, marked, u, values, count, x)) return false;
  for (int i = 0; i < count; i++) {
    tg_row_sums *s = &r->sums[at[i]];
    if (r->steps[at[i]].kind == REDUCTION)
      tg_row_sums_add(s, u, s->alu, s->partial[u], x[i], TG_MC_NONE);
    else
      tg_mc_store(&r->mc, tg_result_stream(&r->plan, 0, u), r->plan.output_kind == TG_STREAM_FP32, x[i]);
  }
  return true;
}

static bool write_code(rowwise *r) {
  bool marked[MOST_STEPS];
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

/* A vector for each register of partial sums at a time, if there are streams for them, and if the
 * code fits. */
static bool write_fitting_code(rowwise *r, int *out_lengths) {
  r->plan.unroll = TG_ROW_PARTIALS / (int)tg_lanes(r->c->m);
  r->plan.unrolled_result = !r->numbers;
  if (tg_stream_count(&r->plan) <= TG_STREAMS && write_code(r) && tg_mc_fits(&r->mc, r->c->m, out_lengths))
    return true;
  r->plan.unroll = 0;
  return write_code(r) && tg_mc_fits(&r->mc, r->c->m, out_lengths);
}

static double cycles(tg_compile *c, const tg_kernel *kernel) {
  rowwise row, *r = &row;
  int64_t dims[2];
  int words[2 * TG_SEGMENTS] = {0};
  if (!tg_rowwise_dims(kernel, dims) || !begin(r, c, kernel, dims) || !write_fitting_code(r, words))
    return INFINITY;
  return tg_stream_cycles(c, &r->plan, words, REPEAT);
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  rowwise row, *r = &row;
  int64_t dims[2];
  if (!tg_rowwise_dims(kernel, dims) || !begin(r, c, kernel, dims) || !write_fitting_code(r, NULL))
    return tg_fail(c->diag, TG_INVALID, "%s does not fit on the array", tg_kernel_name(c, kernel));
  tg_stream_kernel *plan = &r->plan;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    tg_walk_plan *walk = is_once(o) ? &plan->vector[o->number - plan->inputs] : &plan->input[o->number];
    walk->tensor = tg_place_of(c, o->value);
  }
  plan->output.tensor = tg_place_of(c, kernel->output);
  for (int x = 0; x < plan->more; x++) plan->more_output[x].tensor = tg_place_of(c, kernel->more[x]);
  return tg_emit_stream_kernel(c, kernel, plan, &r->mc, REPEAT);
}

const tg_kernel_class tg_rowwise_class = {
    .name = "rowwise",
    .cycles = cycles,
    .emit = emit,
};
