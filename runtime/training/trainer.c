#include "frontend/base/guard.h"
#include "frontend/onnx/rewrite.h"
#include "runtime/session/engines.h"
#include "runtime/trace/watch.h"
#include "runtime/training/trainer_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- life */

static tg_status open_guarded(tg_session *session, const tg_trainer_options *options,
                              tg_trainer **out_trainer, tg_diag *diag) {
  tg_diag_begin(diag);
  if (!out_trainer) return tg_fail(diag, TG_INVALID, "no place for the trainer is given");
  *out_trainer = NULL;
  if (tg_session_needs(session, false, false, diag)) return TG_INVALID;
  if (!options) return tg_fail(diag, TG_INVALID, "%s: no options of training are given", session->path);
  if (!session->model || session->program)
    return tg_fail(diag, TG_INVALID, "%s: is compiled already: only a model can be trained", session->path);
  tg_trainer *t = calloc(1, sizeof *t);
  if (!t) tg_die("out of memory");
  double begin = tg_host_seconds();
  t->session = session;
  t->options = *options;
  tg_session_guard_callbacks(session, &t->options.compile, &t->callbacks);
  tg_status status = tg_trainer_compile(t, diag);
  session->compile_seconds = tg_host_seconds() - begin;
  if (status) {
    tg_trainer_close(t);
    return status;
  }
  *out_trainer = t;
  return TG_OK;
}

tg_status tg_trainer_open(tg_session *session, const tg_trainer_options *options, tg_trainer **out_trainer,
                          tg_diag *diag) {
  TG_GUARDED(diag, open_guarded(session, options, out_trainer, diag));
}

void tg_trainer_close(tg_trainer *t) {
  if (!t || t->session->calling_back) return;
  if (t->state) t->engine->close(t->state);
  tg_dram_destroy(t->dram);
  tg_arena_release(&t->arena);
  free(t);
}

/* --- device memory */

static void write_floats(const tg_trainer *t, int step_input, const float *values, int64_t count) {
  const tg_dram_tensor *tensor = tg_trainer_tensor(t, step_input);
  uint8_t *target = t->dram->bytes + tensor->address;
  assert(tensor->bytes == (uint64_t)count * tg_storage_bytes(tensor->storage));
  if (tensor->storage == TG_STORE_FP32) {
    memcpy(target, values, tensor->bytes);
    return;
  }
  tg_dtype dtype = tg_storage_dtype(tensor->storage);
  for (int64_t e = 0; e < count; e++) tg_store_f32(target, dtype, (size_t)e, values[e]);
}

static void read_floats(const tg_trainer *t, const tg_dram_tensor *tensor, float *out) {
  const uint8_t *source = t->dram->bytes + tensor->address;
  tg_dtype dtype = tg_storage_dtype(tensor->storage);
  size_t count = tensor->bytes / tg_storage_bytes(tensor->storage);
  for (size_t e = 0; e < count; e++) out[e] = tg_load_f32(source, dtype, e);
}

static float read_scalar(const tg_trainer *t, int output) {
  float value;
  const tg_dram_tensor *tensor = &t->session->program->tensors[t->outputs[output]];
  read_floats(t, tensor, &value);
  return value;
}

/* Puts the model's values and zeros into all that is carried. */
static void reset(tg_trainer *t) {
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *plan = &t->plan.tensors[i];
    const tg_dram_tensor *tensor = tg_trainer_tensor(t, i);
    if (plan->role == TG_ROLE_OF_DATA || plan->role == TG_ROLE_OF_LABEL || plan->role == TG_ROLE_OF_NUMBER)
      continue;
    uint8_t *target = t->dram->bytes + tensor->address;
    memset(target, 0, tensor->bytes);
    if (!plan->initial) continue;
    tg_dtype dtype = tg_storage_dtype(tensor->storage);
    bool narrow = plan->role == TG_ROLE_OF_MASTER; /* parameters begin in BF16, also the copy that is wider */
    for (int64_t e = 0; e < tg_value_elements(plan->initial); e++) {
      float value = tg_load_f32(plan->initial->data, plan->initial->dtype, (size_t)e);
      tg_store_f32(target, dtype, (size_t)e, narrow ? tg_f32_from_bf16(tg_f32_to_bf16(value)) : value);
    }
  }
}

/* TG_INVALID: there is no trainer, it has not started, or the call comes from a callback. */
static tg_status needs(const tg_trainer *t, bool started, tg_diag *diag) {
  tg_diag_begin(diag);
  if (!t) return tg_fail(diag, TG_INVALID, "no trainer is given");
  if (tg_session_needs(t->session, true, false, diag)) return TG_INVALID;
  if (started && !t->state)
    return tg_fail(diag, TG_INVALID, "%s: its training is not started", t->session->path);
  return TG_OK;
}

static tg_status start_guarded(tg_trainer *t, const tg_session_run_options *options, tg_diag *diag) {
  tg_session_run_options own, *run = &own;
  tg_status status = needs(t, false, diag);
  if (!status) status = tg_take_options(options, &own, sizeof own, diag);
  if (!status && t->state)
    status = tg_fail(diag, TG_INVALID, "%s: its training is started already", t->session->path);
  if (!status) status = tg_session_check_threads(run->threads, diag);
  if (!status) status = tg_engine_find(run->engine ? run->engine : "functional", &t->engine, diag);
  if (status) return status;
  t->run = (tg_run_options){
      .threads = (uint32_t)run->threads, .max_cycles = run->max_cycles, .seed = t->session->program->seed};
  status = tg_dram_create(t->session->program, &t->dram, diag);
  if (!status) status = t->engine->open(t->session->program, &t->run, &t->state, diag);
  if (status) return status;
  t->session->engine = t->engine->name;
  reset(t);
  return TG_OK;
}

tg_status tg_trainer_start(tg_trainer *t, const tg_session_run_options *run, tg_diag *diag) {
  TG_GUARDED(diag, start_guarded(t, run, diag));
}

/* --- steps */

static void write_inputs(tg_trainer *t, const tg_batch *batch, double learning_rate, double loss_scale) {
  for (int i = 0; i < t->input_count; i++) write_floats(t, t->inputs[i], batch->inputs[i], t->infos[i].count);
  if (t->plan.labels >= 0) write_floats(t, t->plan.labels, batch->labels, tg_trainer_labels(t)->count);
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    if (tensor->role != TG_ROLE_OF_NUMBER) continue;
    float value =
        (float)tg_step_number_value(&t->options.step, tensor->number, t->updates, learning_rate, loss_scale);
    write_floats(t, i, &value, 1);
  }
}

static bool is_whole(const tg_trainer *t, const tg_batch *batch) {
  bool whole = batch && (batch->inputs || !t->input_count) && (batch->labels || t->plan.labels < 0);
  for (int i = 0; whole && i < t->input_count; i++) whole = batch->inputs[i];
  return whole;
}

static tg_status step_guarded(tg_trainer *t, const tg_batch *batch, double learning_rate, double loss_scale,
                              tg_step_outcome *out_outcome, tg_diag *diag) {
  tg_run_result result;
  if (needs(t, true, diag)) return TG_INVALID;
  if (!is_whole(t, batch) || !out_outcome)
    return tg_fail(diag, TG_INVALID, "%s: a step needs inputs, labels and a place for what comes out",
                   t->session->path);
  write_inputs(t, batch, learning_rate, loss_scale);
  t->run.step = t->steps;
  tg_status status = t->engine->run(t->state, t->dram, &t->run, &result, diag);
  if (status) {
    tg_diag_prefix(diag, "step %u", t->steps);
    return status;
  }
  *out_outcome =
      (tg_step_outcome){.loss = read_scalar(t, t->plan.loss),
                        .found_inf = t->plan.found_inf >= 0 && read_scalar(t, t->plan.found_inf) != 0,
                        .cycles = result.cycles,
                        .seconds = result.seconds};
  t->steps++;
  t->updates += !out_outcome->found_inf;
  if (result.sections || !t->session->result.sections) {
    tg_run_result_release(&t->session->result);
    t->session->result = result;
  } else
    tg_run_result_release(&result);
  t->session->has_run = true;
  return TG_OK;
}

tg_status tg_trainer_step(tg_trainer *t, const tg_batch *batch, double learning_rate, double loss_scale,
                          tg_step_outcome *out_outcome, tg_diag *diag) {
  TG_GUARDED(diag, step_guarded(t, batch, learning_rate, loss_scale, out_outcome, diag));
}

tg_status tg_trainer_time_step(tg_trainer *t, const tg_session_run_options *watched, tg_diag *diag) {
  const tg_engine *systemc;
  tg_diag none = {""};
  bool asked = watched->trace_file || watched->profile;
  if (t->session->result.sections && !asked) return TG_OK;
  if (tg_engine_find("systemc", &systemc, asked ? diag : &none)) return asked ? TG_INVALID : TG_OK;
  tg_run_options run = t->run;
  tg_watch watch;
  tg_run_result result = {0};
  tg_dram *dram = NULL;
  void *state = NULL;
  run.timing_only = true;
  tg_status status = tg_watch_begin(&watch, t->session->program, systemc, watched, diag);
  if (status) return status;
  run.observer = watch.observer;
  status = tg_dram_create(t->session->program, &dram, diag);
  if (!status) status = systemc->open(t->session->program, &run, &state, diag);
  if (!status) status = systemc->run(state, dram, &run, &result, diag);
  status = tg_watch_end(&watch, systemc->name, &result, status, &t->session->profile, diag);
  if (state) systemc->close(state);
  tg_dram_destroy(dram);
  if (status) return status;
  tg_run_result_release(&t->session->result);
  t->session->result = result;
  return TG_OK;
}

/* --- questions */

const tg_training_options *tg_trainer_options_of(const tg_trainer *t) { return t ? &t->options.step : NULL; }
int tg_trainer_input_count(const tg_trainer *t) { return t ? t->input_count : 0; }
const tg_tensor_info *tg_trainer_input(const tg_trainer *t, int index) {
  return t && index >= 0 && index < t->input_count ? &t->infos[index] : NULL;
}
const tg_tensor_info *tg_trainer_labels(const tg_trainer *t) { return t ? &t->infos[t->input_count] : NULL; }
int tg_trainer_parameter_count(const tg_trainer *t) { return t ? t->parameter_count : 0; }

static bool has_parameter(const tg_trainer *t, int index) {
  return t && index >= 0 && index < t->parameter_count;
}

const tg_tensor_info *tg_trainer_parameter(const tg_trainer *t, int index) {
  return has_parameter(t, index) ? &t->infos[t->input_count + 1 + index] : NULL;
}

bool tg_trainer_lists(const tg_trainer *t) { return t && tg_loss_lists_classes(t->options.step.loss); }

int64_t tg_trainer_classes(const tg_trainer *t) {
  if (!t || (!t->plan.classes && !tg_trainer_lists(t))) return 0;
  return t->model->outputs[tg_trainer_loss_output(t)]->dims[1].size;
}

void tg_trainer_read_parameter(const tg_trainer *t, int index, float *out) {
  if (has_parameter(t, index) && t->dram && out)
    read_floats(t, tg_trainer_tensor(t, t->parameters[index]), out);
}

bool tg_trainer_read_gradient(const tg_trainer *t, int index, float *out) {
  if (!has_parameter(t, index) || !t->dram || !out || t->gradients[index] < 0) return false;
  read_floats(t, &t->session->program->tensors[t->outputs[t->gradients[index]]], out);
  return true;
}

/* Twins of parameter `index`, whose values these are. */
static size_t save_twins(const tg_trainer *t, tg_arena *arena, int index, const float *data,
                         tg_onnx_values *out) {
  const tg_tensor_info *info = tg_trainer_parameter(t, index);
  size_t count = 0;
  for (int i = 0; i < t->twin_count; i++) {
    if (strcmp(t->twins[i].of, info->name) != 0) continue;
    int64_t rows = info->dims[0], columns = info->dims[1];
    float *transposed = TG_NEW_ARRAY(arena, float, (size_t)info->count);
    for (int64_t e = 0; e < info->count; e++) transposed[e % columns * rows + e / columns] = data[e];
    out[count++] = (tg_onnx_values){t->twins[i].name, transposed, info->count};
  }
  return count;
}

static tg_status save_guarded(const tg_trainer *t, const char *path, tg_diag *diag) {
  if (needs(t, true, diag)) return TG_INVALID;
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  tg_arena arena = {0};
  size_t count = 0, most = (size_t)(t->parameter_count + t->twin_count) + 1;
  tg_onnx_values *values = TG_NEW_ARRAY(&arena, tg_onnx_values, most);
  for (int i = 0; i < t->parameter_count; i++) {
    const tg_tensor_info *info = tg_trainer_parameter(t, i);
    float *data = TG_NEW_ARRAY(&arena, float, (size_t)info->count + 1);
    tg_trainer_read_parameter(t, i, data);
    values[count++] = (tg_onnx_values){info->name, data, info->count};
    count += save_twins(t, &arena, i, data, values + count);
  }
  tg_status status = tg_onnx_rewrite(t->session->path, path, values, count, diag);
  tg_arena_release(&arena);
  return status;
}

tg_status tg_trainer_save(const tg_trainer *t, const char *path, tg_diag *diag) {
  TG_GUARDED(diag, save_guarded(t, path, diag));
}
