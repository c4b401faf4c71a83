/* Row kernels. A row's reductions and the elementwise nodes around them take a few passes over the row, which
 * is loaded once: a pass ends where a reduction must be complete. What one pass has computed the next
 * computes again, with the same bits; scalars of a row stay in registers.
 *
 * Each reduction is done as late as what needs it allows: what it reads is likely to be at hand then. */
#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/kernel/space.h"
#include "mapper/section/need.h"
#include "mapper/vector/rowwise.h"
#include "mapper/vector/vector.h"

#include <math.h>
#include <string.h>

/* ---- steps ---- */

static bool makes_scalar(const tg_rowwise *r, int maker) {
  return maker >= 0 && r->steps[maker].kind != TG_STEP_VECTOR;
}

/* False: the node does not go along with rows. */
static bool add_step(tg_rowwise *r, tg_node *node) {
  tg_row_step s = {.node = node, .held = TG_MC_NONE};
  int64_t elements = tg_value_elements(tg_out(node)), dims[2];
  bool scalars = false;
  for (int i = 0; i < node->input_count; i++) {
    int maker = tg_row_maker_of(r, tg_in(node, i));
    if (maker < 0) continue;
    scalars |= makes_scalar(r, maker);
    if (s.ready < r->steps[maker].ready) s.ready = r->steps[maker].ready;
  }
  if (tg_is_reduction(node)) {
    if (scalars || !tg_reduces_rows(node, dims) || memcmp(dims, r->dims, sizeof dims)) return false;
    s.kind = TG_STEP_REDUCTION;
    s.ready++;
  } else if (scalars && elements == r->dims[0])
    s.kind = TG_STEP_NUMBER;
  else if (scalars && elements != r->dims[0] * r->dims[1])
    return false;
  r->steps[r->count++] = s;
  return true;
}

/* When each step is due: from what is stored and what uses it. */
static void set_due(tg_rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    r->steps[i].due = r->passes;
    if (r->steps[i].kind == TG_STEP_VECTOR && tg_row_is_result(r, &r->steps[i]))
      r->steps[i].due = r->passes - 1;
  }
  for (int i = r->count; i-- > 0;) {
    const tg_row_step *s = &r->steps[i];
    int needs = s->kind == TG_STEP_REDUCTION ? s->due - 1 : s->due;
    for (int k = 0; k < s->node->input_count; k++) {
      int maker = tg_row_maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && r->steps[maker].due > needs) r->steps[maker].due = needs;
    }
  }
}

static void set_gaps(tg_rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    tg_row_step *s = &r->steps[i];
    if (s->kind == TG_STEP_VECTOR) continue;
    if (s->kind == TG_STEP_REDUCTION) s->gap = s->due;
    for (int k = 0; s->kind == TG_STEP_NUMBER && k < s->node->input_count; k++) {
      int maker = tg_row_maker_of(r, tg_in(s->node, k));
      if (maker >= 0 && s->gap < r->steps[maker].gap) s->gap = r->steps[maker].gap;
    }
    r->behind |= s->gap == r->passes;
  }
}

static bool has(tg_rowwise *r, const char *of, int64_t needed, uint32_t available) {
  if (needed <= available) return true;
  tg_shortage_note(&r->lacks, of, (uint64_t)needed, available);
  return false;
}

/* A VOP has so many segments; one before each pass, and one behind the last. */
static bool schedule(tg_rowwise *r) {
  int results = tg_kernel_results(r->kernel), scalars = 0;
  for (int i = 0; i < r->count; i++) {
    const tg_row_step *s = &r->steps[i];
    int passes = s->kind == TG_STEP_VECTOR ? s->ready + 1 : s->ready;
    if (r->passes < passes) r->passes = passes;
    scalars += s->kind != TG_STEP_VECTOR && tg_row_is_result(r, s);
  }
  r->scalars = scalars == results;
  if (!r->scalars && (scalars || results > 1)) return false;
  set_due(r);
  set_gaps(r);
  return has(r, "segments of a VOP", 2 * r->passes + r->behind, TG_SEGMENTS);
}

/* ---- operands ---- */

/* What step `i` reads as `value`: of a scalar, another one, or one for all. */
static bool find_operand(const tg_rowwise *r, int i, tg_value *value, tg_source *out) {
  const tg_row_step *s = &r->steps[i];
  if (s->kind == TG_STEP_NUMBER) {
    int64_t elements = tg_value_elements(value);
    *out = (tg_source){.value = tg_owner(r->c, value),
                       .along = elements > 1 ? TG_ALONG_COLUMN : TG_ALONG_SCALAR,
                       .stride = {elements > 1}};
    return elements == 1 || elements == r->dims[0];
  }
  const tg_value *shape =
      s->kind == TG_STEP_REDUCTION
          ? value
          : tg_shape_around(r->kernel->fused, r->kernel->fused_count, (size_t)i, r->dims[0] * r->dims[1]);
  tg_access access = tg_access_of(r->c, value, shape);
  return tg_source_of(r->c, &access, r->dims, 2, out);
}

/* What step `i` reads as `value`. False: it does not go along with rows, or there is no room for it. */
static bool add_name(tg_rowwise *r, int i, tg_value *value) {
  tg_row_name new = {.value = value, .operand = -1, .step = tg_row_maker_of(r, value)};
  if (new.step >= 0 && r->steps[new.step].kind == TG_STEP_VECTOR) return r->steps[i].kind != TG_STEP_NUMBER;
  tg_source o;
  if (!find_operand(r, i, value, &o)) return false;
  if (new.step >= 0 && (o.stride[1] || (!o.stride[0] && r->dims[0] > 1))) return false;
  if (new.step < 0 && (new.operand = tg_add_source(&r->operands, &o)) < 0)
    return has(r, "streams of a VOP", TG_STREAMS + 1, TG_STREAMS);
  for (int n = 0; n < r->name_count; n++)
    if (r->names[n].value == value) return r->names[n].operand == new.operand;
  if (!has(r, "operands of a VOP", r->name_count + 1, TG_ROWWISE_NAMES)) return false;
  r->names[r->name_count++] = new;
  return true;
}

static bool collect(tg_rowwise *r) {
  for (int i = 0; i < r->count; i++) {
    const tg_row_step *s = &r->steps[i];
    if (s->kind == TG_STEP_VECTOR &&
        !tg_goes_along_one_way(r->c, r->kernel->fused, r->kernel->fused_count, (size_t)i, r->dims, 2))
      return false;
    for (int k = 0; k < s->node->input_count; k++)
      if (!tg_is_scalar_constant(tg_in(s->node, k)) && !add_name(r, i, tg_in(s->node, k))) return false;
  }
  return true;
}

/* ---- streams ---- */

static bool is_once(const tg_source *o) { return o->along == TG_ALONG_ROW || o->along == TG_ALONG_SCALAR; }

static void number_streams(tg_rowwise *r) {
  tg_stream_kernel *plan = &r->plan;
  for (int i = 0; i < r->operands.count; i++)
    if (!is_once(&r->operands.of[i])) r->operands.of[i].number = plan->inputs++;
  for (int i = 0; i < r->operands.count; i++)
    if (is_once(&r->operands.of[i])) r->operands.of[i].number = plan->inputs + plan->vectors++;
}

static tg_walk_plan walk_of(const tg_rowwise *r, const tg_source *o) {
  return (tg_walk_plan){.radix = {1, 1, is_once(o) ? 1 : r->dims[0]},
                        .stride = {0, 0, o->stride[0]},
                        .element_stride = 1,
                        .columns = tg_row_is_number(o) ? 1 : r->dims[1]};
}

/* Where results go: rows, or one element of each run of a flit. */
static tg_walk_plan result_walk(const tg_rowwise *r) {
  tg_walk_plan walk = {.radix = {1, 1, r->dims[0]},
                       .stride = {0, 0, r->scalars ? 1 : r->dims[1]},
                       .element_stride = 1,
                       .columns = r->scalars ? (int64_t)r->plan.out_take : r->dims[1]};
  if (!r->scalars) return walk;
  walk.bounded = true;
  walk.x = (tg_coordinate){.step = {0, 0, 0, 1}, .size = 1};
  walk.y = (tg_coordinate){.size = 1};
  return walk;
}

static void plan_streams(tg_rowwise *r) {
  tg_stream_kernel *plan = &r->plan;
  number_streams(r);
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    int kind = tg_row_is_number(o) ? TG_STREAM_SPLAT32 : tg_stream_kind(o->value),
        v = o->number - plan->inputs;
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
  plan->out_take = r->scalars ? tg_lanes(r->c->m) : 0;
  plan->output = result_walk(r);
  for (int x = 0; x < plan->more; x++) plan->more_output[x] = plan->output;
}

static bool begin(tg_rowwise *r, tg_compile *c, const tg_kernel *kernel, const int64_t dims[2]) {
  *r = (tg_rowwise){.c = c, .kernel = kernel, .dims = {dims[0], dims[1]}};
  if (!has(r, "operations of a row", (int64_t)kernel->fused_count, TG_ROWWISE_STEPS) ||
      !has(r, "elements of a row", dims[1], TG_ROW_ELEMENTS) || tg_stochastic_store(kernel))
    return false;
  for (size_t n = 0; n < kernel->fused_count; n++)
    if (!add_step(r, kernel->fused[n])) return false;
  r->operands.most = TG_STREAMS - tg_kernel_results(kernel);
  if (!schedule(r) || !collect(r)) return false;
  plan_streams(r);
  return true;
}

static double cycles(tg_compile *c, const tg_kernel *kernel) {
  tg_rowwise row, *r = &row;
  int64_t dims[2];
  int words[2 * TG_SEGMENTS] = {0};
  if (!tg_rowwise_dims(kernel, dims) || !begin(r, c, kernel, dims) || !tg_rowwise_write(r, words))
    return INFINITY;
  return tg_stream_cycles(c, &r->plan, words, TG_ROWWISE_REPEAT);
}

/* Kernels are formed where this does not happen; those that are read as text may be of any kind. */
static tg_status refuse(tg_rowwise *r) {
  tg_diag why = {""};
  if (!r->lacks.of && r->mc.arena) (void)tg_mc_check(&r->mc, r->c->m, &why);
  return tg_fail(r->c->diag, TG_INVALID, "%s does not fit on the array%s%s%s",
                 tg_kernel_name(r->c, r->kernel), *why.message ? ": " : "", why.message,
                 tg_shortage_text(r->c->arena, &r->lacks));
}

static tg_status emit(tg_compile *c, const tg_kernel *kernel) {
  tg_rowwise row = {.c = c, .kernel = kernel}, *r = &row;
  int64_t dims[2];
  if (!tg_rowwise_dims(kernel, dims) || !begin(r, c, kernel, dims) || !tg_rowwise_write(r, NULL))
    return refuse(r);
  tg_stream_kernel *plan = &r->plan;
  for (int i = 0; i < r->operands.count; i++) {
    const tg_source *o = &r->operands.of[i];
    tg_walk_plan *walk = is_once(o) ? &plan->vector[o->number - plan->inputs] : &plan->input[o->number];
    walk->tensor = tg_place_of(c, o->value);
  }
  plan->output.tensor = tg_place_of(c, kernel->output);
  for (int x = 0; x < plan->more; x++) plan->more_output[x].tensor = tg_place_of(c, kernel->more[x]);
  return tg_emit_stream_kernel(c, kernel, plan, &r->mc, TG_ROWWISE_REPEAT);
}

const tg_kernel_class tg_rowwise_class = {
    .name = "rowwise",
    .cycles = cycles,
    .emit = emit,
};
