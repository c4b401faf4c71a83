#include "frontend/base/guard.h"
#include "frontend/build/rewrite.h"
#include "frontend/infer.h"
#include "frontend/onnx/rewrite.h"
#include "frontend/pipeline.h"
#include "mapper/mapper.h"
#include "runtime/session/engines.h"
#include "runtime/session/precision_options.h"
#include "runtime/trace/watch.h"
#include "runtime/training/trainer_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- formats */

static const struct {
  const char *policy;
  tg_dtype parameters;
} formats[] = {
#define TG_TRAINS(policy, parameters, activations, dy, dw, update, state) {#policy, TG_##parameters},
#include "runtime/training/formats.def"
#undef TG_TRAINS
};

static void choose_formats(tg_trainer *t) {
  tg_training_options *step = &t->options.step;
  const tg_compile_options *compile = &t->options.compile;
  t->policy = compile->amp ? compile->amp : compile->preset ? compile->preset : "mp0";
  step->parameters = TG_F32;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strcmp(formats[i].policy, t->policy)) step->parameters = formats[i].parameters;
  if (step->parameters == TG_BF16) return;
  step->fp32_params = step->stochastic = false;
  step->state = TG_F32;
}

/* --- compiling */

/* The output that the loss reads. */
static int loss_output(const tg_trainer *t) {
  const char *name = t->options.step.loss_output;
  int output = 0;
  for (int i = 0; name && i < t->model->output_count; i++)
    if (!strcmp(t->model->output_names[i], name)) output = i;
  return output;
}

/* [N, d.., C] to [N, C, d..], where losses have their classes. */
static void move_classes(tg_trainer *t) {
  int output = loss_output(t);
  tg_value *y = output < t->model->output_count ? t->model->outputs[output] : NULL;
  if (!t->options.classes_last || !y || y->rank < 3) return;
  int64_t perm[TG_MAX_RANK] = {0, y->rank - 1};
  for (int i = 2; i < y->rank; i++) perm[i] = i - 1;
  tg_value *turned = tg_rewrite_transpose(t->model, y, perm, NULL);
  t->model->outputs[output] = turned;
  turned->output_count++;
  y->output_count--;
}

static tg_status infer_model(tg_trainer *t, tg_diag *diag) {
  t->model = tg_graph_clone(t->session->model, &t->arena);
  tg_graph_bind_rest(t->model, 1);
  tg_separate_parameters(t->model);
  t->twin_count = tg_join_transposes(t->model, &t->twins);
  tg_status status = tg_graph_infer(t->model, diag);
  if (!status) move_classes(t);
  return status;
}

static void keep_decided(void *user, const char *pass, const tg_graph *graph) {
  tg_trainer *t = user;
  if (!strcmp(pass, "precision")) t->decided = tg_graph_clone(graph, &t->arena);
}

static tg_status build_and_map(tg_trainer *t, tg_diag *diag) {
  tg_frontend_options frontend;
  tg_frontend_defaults(&frontend);
  frontend.precision = t->precision;
  frontend.observe = keep_decided;
  frontend.observe_user = t;
  tg_status status = infer_model(t, diag);
  if (!status) status = tg_training_build(t->model, &t->options.step, &t->arena, &t->step, &t->plan, diag);
  if (status) return status;
  tg_graph *lowered = t->session->lowered = tg_graph_clone(t->step, &t->arena);
  status = tg_frontend_lower(lowered, &frontend, diag);
  return status ? status : tg_map(lowered, &t->params, &t->map, &t->session->program, diag);
}

/* Tensors of the program by output of the step (mapper.h says in which order they are). */
static void find_outputs(tg_trainer *t) {
  const tg_program *program = t->session->program;
  uint32_t next = 0;
  t->outputs = TG_NEW_ARRAY(&t->arena, int, (size_t)t->step->output_count + 1);
  for (int o = 0; o < t->step->output_count; o++) {
    t->outputs[o] = -1;
    for (size_t c = 0; c < t->step->carry_count; c++)
      if (t->step->carries[c].output == o) t->outputs[o] = t->step->carries[c].input;
    if (t->outputs[o] >= 0) continue;
    while (program->tensors[next].role != TG_ROLE_OUTPUT) next++;
    t->outputs[o] = (int)next++;
  }
}

static tg_tensor_info describe(const tg_trainer *t, const char *name, int step_input) {
  const tg_dram_tensor *tensor = tg_trainer_tensor(t, step_input);
  tg_tensor_info info = {.name = name, .rank = (int)tensor->rank, .count = 1};
  for (uint32_t d = 0; d < tensor->rank; d++) {
    info.dims[d] = tensor->dims[d];
    info.count *= tensor->dims[d];
  }
  return info;
}

/* The tensor that holds a parameter in full: its FP32 copy if it has one. */
static int full_copy(const tg_training_plan *plan, int parameter) {
  for (int i = 0; i < plan->tensor_count; i++)
    if (plan->tensors[i].role == TG_ROLE_OF_MASTER &&
        !strcmp(plan->tensors[i].name, plan->tensors[parameter].name))
      return plan->tensors[i].input;
  return plan->tensors[parameter].input;
}

static void list_parameters(tg_trainer *t, tg_step_role role) {
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_step_tensor *tensor = &t->plan.tensors[i];
    if (tensor->role != role || !tg_trainer_is_carried(t, i)) continue;
    t->parameters[t->parameter_count] = full_copy(&t->plan, i);
    t->gradients[t->parameter_count] = role == TG_ROLE_OF_PARAMETER ? tensor->gradient : -1;
    t->parameter_count++;
  }
}

static void list_tensors(tg_trainer *t) {
  size_t count = (size_t)t->plan.tensor_count + 1;
  t->inputs = TG_NEW_ARRAY(&t->arena, int, count);
  t->parameters = TG_NEW_ARRAY(&t->arena, int, count);
  t->gradients = TG_NEW_ARRAY(&t->arena, int, count);
  t->infos = TG_NEW_ARRAY(&t->arena, tg_tensor_info, 2 * count);
  for (int i = 0; i < t->plan.tensor_count; i++)
    if (t->plan.tensors[i].role == TG_ROLE_OF_DATA) t->inputs[t->input_count++] = t->plan.tensors[i].input;
  list_parameters(t, TG_ROLE_OF_PARAMETER);
  list_parameters(t, TG_ROLE_OF_STATISTIC);
  int info = 0;
  for (int i = 0; i < t->input_count; i++, info++)
    t->infos[info] = describe(t, t->plan.tensors[t->inputs[i]].name, t->inputs[i]);
  t->infos[info++] =
      t->plan.labels < 0 ? (tg_tensor_info){.name = "labels"} : describe(t, "labels", t->plan.labels);
  for (int i = 0; i < t->parameter_count; i++, info++)
    t->infos[info] = describe(t, t->plan.tensors[t->parameters[i]].name, t->parameters[i]);
}

static tg_status compile(tg_trainer *t, tg_diag *diag) {
  const tg_compile_options *compile = &t->options.compile;
  tg_status status = tg_session_params(compile, &t->params, diag);
  if (!status) status = tg_precision_of(&t->arena, compile, &t->precision, diag);
  if (!status) status = tg_session_map_options(compile, &t->precision, &t->map, diag);
  if (status) return status;
  choose_formats(t);
  status = build_and_map(t, diag);
  if (status) {
    tg_diag_prefix(diag, "%s", t->session->path);
    return status;
  }
  tg_session_adopt(t->session, tg_precision_note(&t->session->arena, compile, 0));
  find_outputs(t);
  list_tensors(t);
  return TG_OK;
}

static tg_status open_guarded(tg_session *session, const tg_trainer_options *options,
                              tg_trainer **out_trainer, tg_diag *diag) {
  if (!session->model || session->program)
    return tg_fail(diag, TG_INVALID, "%s: is compiled already: only a model can be trained", session->path);
  tg_trainer *t = calloc(1, sizeof *t);
  if (!t) tg_die("out of memory");
  double begin = tg_host_seconds();
  t->session = session;
  t->options = *options;
  tg_status status = compile(t, diag);
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
  if (!t) return;
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

static tg_status start_guarded(tg_trainer *t, const tg_session_run_options *run, tg_diag *diag) {
  assert(!t->state);
  tg_status status = tg_engine_find(run->engine ? run->engine : "functional", &t->engine, diag);
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

static tg_status step_guarded(tg_trainer *t, const tg_batch *batch, double learning_rate, double loss_scale,
                              tg_step_outcome *out_outcome, tg_diag *diag) {
  assert(t->state);
  tg_run_result result;
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

const tg_training_options *tg_trainer_options_of(const tg_trainer *t) { return &t->options.step; }
int tg_trainer_input_count(const tg_trainer *t) { return t->input_count; }
const tg_tensor_info *tg_trainer_input(const tg_trainer *t, int index) { return &t->infos[index]; }
const tg_tensor_info *tg_trainer_labels(const tg_trainer *t) { return &t->infos[t->input_count]; }
int tg_trainer_parameter_count(const tg_trainer *t) { return t->parameter_count; }
const tg_tensor_info *tg_trainer_parameter(const tg_trainer *t, int index) {
  return &t->infos[t->input_count + 1 + index];
}

bool tg_trainer_lists(const tg_trainer *t) { return tg_loss_lists_classes(t->options.step.loss); }

int64_t tg_trainer_classes(const tg_trainer *t) {
  if (!t->plan.classes && !tg_trainer_lists(t)) return 0;
  return t->model->outputs[loss_output(t)]->dims[1].size;
}

void tg_trainer_read_parameter(const tg_trainer *t, int index, float *out) {
  read_floats(t, tg_trainer_tensor(t, t->parameters[index]), out);
}

bool tg_trainer_read_gradient(const tg_trainer *t, int index, float *out) {
  if (t->gradients[index] < 0) return false;
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
    float *turned = TG_NEW_ARRAY(arena, float, (size_t)info->count);
    for (int64_t e = 0; e < info->count; e++) turned[e % columns * rows + e / columns] = data[e];
    out[count++] = (tg_onnx_values){t->twins[i].name, turned, info->count};
  }
  return count;
}

static tg_status save_guarded(const tg_trainer *t, const char *path, tg_diag *diag) {
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
