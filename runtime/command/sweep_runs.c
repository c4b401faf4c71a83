/* The runs of a sweep: one a point, or a series of batches. */
#include "frontend/base/guard.h"
#include "runtime/command/sweep_plan.h"
#include "runtime/json_text.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <string.h>

/* --- in the process apart */

/* One run; `batch` 0: the model's, or that of --batch. *out_beyond: it needs more device memory than --memory allows. */
static tg_status run(tg_sweep_plan *p, const tg_sweep_point *one, uint64_t batch, json_t **out_row,
                     bool *out_beyond) {
  tg_context *context = p->context;
  const tg_options *o = &context->options;
  tg_compile_options precision = one->policy->precision;
  precision.tiling_accum = one->accumulation;
  tg_session *session;
  tg_status status = tg_open_under(context, &precision, &session);
  if (status) return status;
  uint64_t bytes = session->program->dram_bytes;
  tg_session_run_options options = {.engine = "systemc",
                                    .threads = (int)tg_option_number(o, TG_OPT_THREADS, 0),
                                    .timing_only = batch || tg_given(o, TG_OPT_TIMING_ONLY),
                                    .max_cycles = tg_option_number(o, TG_OPT_MAX_CYCLES, 0)};
  tg_progress(context,
              tg_arena_printf(&context->arena, "%s, %s%s", one->policy->name, one->accumulation,
                              batch ? tg_arena_printf(&context->arena, ", batch %" PRIu64, batch) : ""));
  *out_beyond = bytes > p->memory;
  if (*out_beyond)
    status = tg_fail(&context->diag, TG_INVALID, "needs %" PRIu64 " bytes of device memory", bytes);
  if (!status && !options.timing_only) status = tg_bind_inputs(context, session);
  if (!status) status = tg_session_run(session, &options, &context->diag);
  if (!status) status = tg_session_measure_cpu(session, false, options.threads, &context->diag);
  if (!status) *out_row = tg_sweep_row(session, one->policy->name, one->accumulation);
  tg_session_close(session);
  return status;
}

static tg_status run_guarded(tg_sweep_plan *p, const tg_sweep_point *one, uint64_t batch, json_t **out_row,
                             bool *out_beyond) {
  TG_GUARDED(&p->context->diag, run(p, one, batch, out_row, out_beyond));
}

/* A task: {"point": its number, "batch": or 0}. The answer: {"status", "refused": its line, "beyond", "row"}. */
static json_t *work(void *user, const json_t *task) {
  tg_sweep_plan *p = user;
  tg_context *context = p->context;
  const tg_sweep_point *one = &p->points[json_integer_value(json_object_get(task, "point"))];
  uint64_t batch = (uint64_t)json_integer_value(json_object_get(task, "batch"));
  tg_catch_no_memory(false); /* that is a row here */
  const char *number = tg_arena_printf(&context->arena, "%" PRIu64, batch);
  json_t *row = NULL;
  bool beyond = false;
  tg_sweep_choose(context, one->target);
  if (batch) {
    context->options.values[TG_OPT_BATCH] = &number;
    context->options.counts[TG_OPT_BATCH] = 1;
  }
  tg_status status = run_guarded(p, one, batch, &row, &beyond);
  tg_progress(context, NULL);
  json_t *answer =
      json_pack("{s:i, s:o, s:b, s:o}", "status", (int)status, "refused", tg_json_text(context->diag.message),
                "beyond", beyond, "row", row ? row : json_null());
  context->diag = (tg_diag){""};
  return answer;
}

/* --- here */

typedef struct answer {
  json_t *row; /* owned; NULL: */
  tg_status status;
  const char *refused; /* why */
  bool beyond;         /* for want of --memory */
} answer;

static tg_status ask(tg_sweep_plan *p, const tg_sweep_point *one, uint64_t batch, answer *out,
                     tg_diag *diag) {
  tg_arena *arena = &p->context->arena;
  char lost[100];
  json_t *told,
      *task = json_pack("{s:I, s:I}", "point", (json_int_t)(one - p->points), "batch", (json_int_t)batch);
  p->apart.work = work;
  p->apart.user = p;
  tg_status status = tg_apart_ask(&p->apart, task, &told, lost, diag);
  json_decref(task);
  *out = (answer){.status = TG_INVALID};
  if (status) {
    tg_diag_prefix(diag, "%s, %s, %s", one->policy->name, one->accumulation, one->target->name);
    return status;
  }
  if (!told) {
    out->refused = tg_arena_strdup(arena, lost);
    return TG_OK;
  }
  out->status = (tg_status)json_integer_value(json_object_get(told, "status"));
  out->refused = tg_arena_strdup(arena, json_string_value(json_object_get(told, "refused")));
  out->beyond = json_is_true(json_object_get(told, "beyond"));
  if (!out->status) out->row = json_incref(json_object_get(told, "row"));
  json_decref(told);
  return TG_OK;
}

static json_t *failed_row(const tg_sweep_point *one, const char *why) {
  return tg_sweep_failed_row(one->policy->name, one->accumulation, why);
}

static void note_batch(json_t *row, uint64_t batch, bool largest) {
  json_object_set_new(row, "batch", json_integer((json_int_t)batch));
  json_object_set_new(row, "largest", json_boolean(largest));
}

/* Doubles the batch until one is refused, and then looks for the largest between that and the last that was not. */
static tg_status run_batches(tg_sweep_plan *p, tg_sweep_point *one, tg_diag *diag) {
  uint64_t fits = 0, end = one->shown ? p->most : 1, over = end + 1, batch = 1;
  answer got = {0}, refused = {0};
  while (batch < over) {
    tg_status status = ask(p, one, batch, &got, diag);
    if (status) return status;
    if (got.status && got.status != TG_INVALID) return tg_fail(diag, got.status, "%s", got.refused);
    if (got.row) {
      if (fits) note_batch(json_array_get(one->rows, json_array_size(one->rows) - 1), fits, false);
      json_array_append_new(one->rows, got.row);
      note_batch(got.row, fits = batch, true);
    } else {
      over = batch;
      refused = got;
    }
    batch = refused.refused || 2 * fits > end ? (fits + over) / 2 : 2 * fits;
    if (batch == fits) break;
  }
  if (!fits) {
    if (!refused.beyond) return one->status = TG_INVALID, one->refused = refused.refused, TG_OK;
    json_array_append_new(one->rows, failed_row(one, refused.refused));
    note_batch(json_array_get(one->rows, 0), 1, false);
  } else if (refused.refused) {
    json_object_set_new(
        json_array_get(one->rows, json_array_size(one->rows) - 1), "beyond",
        json_pack("{s:I, s:o}", "batch", (json_int_t)over, "refused", tg_json_text(refused.refused)));
  }
  return TG_OK;
}

tg_status tg_sweep_run_point(tg_sweep_plan *p, tg_sweep_point *one, tg_diag *diag) {
  answer got;
  one->rows = json_array();
  if (p->batches) return run_batches(p, one, diag);
  tg_status status = ask(p, one, 0, &got, diag);
  if (status) return status;
  one->status = got.status;
  one->refused = got.refused;
  if (got.row) json_array_append_new(one->rows, got.row);
  return TG_OK;
}
