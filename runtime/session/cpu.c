/* Results against FP32 on the host's CPU, and against golden files; how fast that CPU is. */
#include "frontend/base/guard.h"
#include "runtime/session/session.h"

#include <string.h>

enum { CPU_BUDGET_SECONDS = 1 };

tg_status tg_session_fp32_outputs(tg_session *s, int threads, float *const *out_data, tg_diag *diag) {
  tg_cpu_reference *reference;
  tg_status status = tg_session_lower_fp32(s, diag);
  if (!status) status = tg_cpu_reference_create(s->fp32, TG_F32, threads, &reference, diag);
  if (status) return status;
  for (int i = 0; i < s->input_count; i++) tg_cpu_reference_set_input(reference, i, s->input_data[i]);
  status = tg_cpu_reference_run(reference, diag);
  for (int i = 0; !status && i < s->output_count; i++) tg_cpu_reference_get_output(reference, i, out_data[i]);
  tg_cpu_reference_destroy(reference);
  return status;
}

float **tg_session_output_buffers(const tg_session *s, tg_arena *arena) {
  float **data = TG_NEW_ARRAY(arena, float *, (size_t)s->output_count + 1);
  for (int i = 0; i < s->output_count; i++) data[i] = TG_NEW_ARRAY(arena, float, (size_t)s->outputs[i].count);
  return data;
}

static tg_status measure_errors(tg_session *s, int threads, tg_diag *diag) {
  tg_arena scratch = {0};
  float **wanted = tg_session_output_buffers(s, &scratch);
  tg_status status = tg_session_fp32_outputs(s, threads, wanted, diag);
  if (!s->room.errors) s->room.errors = TG_NEW_ARRAY(&s->arena, tg_error_measure, (size_t)s->output_count);
  if (!status) s->errors = s->room.errors;
  for (int i = 0; !status && i < s->output_count; i++)
    if (s->output_data[i]) s->errors[i] = tg_compare(s->output_data[i], wanted[i], s->outputs[i].count);
  tg_arena_release(&scratch);
  return status;
}

static tg_status compare_golden_guarded(tg_session *s, const char *name, int rank, const int64_t *dims,
                                        const float *data, tg_diag *diag) {
  char wanted[200], given[200];
  if (tg_session_needs(s, true, true, diag)) return TG_INVALID;
  if (!name || (rank > 0 && !dims) || !data)
    return tg_fail(diag, TG_INVALID, "%s: an output needs name, shape and data", s->path);
  if (!s->golden_errors) {
    if (!s->room.golden_errors) {
      s->room.golden_errors = TG_NEW_ARRAY(&s->arena, tg_error_measure, (size_t)s->output_count);
      s->has_golden = TG_NEW_ARRAY(&s->arena, bool, (size_t)s->output_count);
    }
    memset(s->has_golden, 0, (size_t)s->output_count * sizeof *s->has_golden);
    s->golden_errors = s->room.golden_errors;
  }
  for (int i = 0; i < s->output_count; i++) {
    const tg_tensor_info *info = &s->outputs[i];
    if (strcmp(info->name, name)) continue;
    if (info->rank != rank || (rank > 0 && memcmp(info->dims, dims, (size_t)rank * sizeof *dims)))
      return tg_fail(diag, TG_INVALID, "output \"%s\" has shape %s, its golden file %s", name,
                     tg_shape_text(wanted, info->rank, info->dims), tg_shape_text(given, rank, dims));
    if (!s->output_data[i]) return tg_fail(diag, TG_INVALID, "output \"%s\" has no values to compare", name);
    s->golden_errors[i] = tg_compare(s->output_data[i], data, info->count);
    s->has_golden[i] = true;
    return TG_OK;
  }
  for (int i = 0; i < tg_session_output_count(s); i++)
    if (!strcmp(tg_session_output(s, i)->name, name))
      return tg_fail(diag, TG_INVALID, "output \"%s\" is computed on the host, and not compared", name);
  return tg_fail(diag, TG_INVALID, "%s: the model has no output \"%s\"", s->path, name);
}

tg_status tg_session_compare_golden(tg_session *s, const char *name, int rank, const int64_t *dims,
                                    const float *data, tg_diag *diag) {
  TG_GUARDED(diag, compare_golden_guarded(s, name, rank, dims, data, diag));
}

static bool computes_narrow(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (program->invocations[i].macs[TG_FMT_BF16] || program->invocations[i].macs[TG_FMT_FP16]) return true;
  return false;
}

static tg_status measure_cpu_guarded(tg_session *session, bool timed, int threads, tg_diag *diag) {
  if (tg_session_needs(session, false, false, diag) || tg_session_check_threads(threads, diag))
    return TG_INVALID;
  for (int i = 0; timed && i < session->input_count; i++) /* of a run that needed none */
    if (session->has_run && session->lowered && !session->input_data[i])
      return tg_fail(diag, TG_INVALID, "input \"%s\" has no values", session->inputs[i].name);
  if (!session->lowered || !session->has_run) return TG_OK; /* compiled elsewhere: there is no model */
  tg_status status = session->timing_only ? TG_OK : measure_errors(session, threads, diag);
  if (!status && timed) status = tg_session_lower_fp32(session, diag);
  if (status || !timed) return status;
  /* A program in a narrow format is compared with the CPU at its best, narrow or not. */
  static const tg_dtype dtypes[] = {TG_F32, TG_BF16};
  status = tg_cpu_reference_best(
      session->fp32, dtypes, computes_narrow(session->program) ? 2 : 1, threads,
      (const float *const *)session->input_data,
      (tg_cpu_effort){CPU_BUDGET_SECONDS, session->cpu_warmup, session->cpu_repeats}, &session->cpu, diag);
  session->has_cpu = !status;
  return status;
}

tg_status tg_session_measure_cpu(tg_session *session, bool timed, int threads, tg_diag *diag) {
  TG_GUARDED(diag, measure_cpu_guarded(session, timed, threads, diag));
}
