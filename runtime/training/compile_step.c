/* A model and its options compiled to the program of a training step. */
#include "frontend/build/rewrite.h"
#include "frontend/infer.h"
#include "frontend/pipeline.h"
#include "runtime/session/precision_options.h"
#include "runtime/training/trainer_state.h"

#include <string.h>

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
  const tg_compile_options *tg_trainer_compile = &t->options.compile;
  t->policy = tg_trainer_compile->amp      ? tg_trainer_compile->amp
              : tg_trainer_compile->preset ? tg_trainer_compile->preset
                                           : "mp0";
  step->parameters = TG_F32;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (!strcmp(formats[i].policy, t->policy)) step->parameters = formats[i].parameters;
  if (!step->state) step->state = TG_F32;
  if (step->parameters == TG_BF16) return;
  step->fp32_params = step->stochastic = false;
  step->state = TG_F32;
}

/* The output that the loss reads. */
int tg_trainer_loss_output(const tg_trainer *t) {
  const char *name = t->options.step.loss_output;
  int output = 0;
  for (int i = 0; name && i < t->model->output_count; i++)
    if (!strcmp(t->model->output_names[i], name)) output = i;
  return output;
}

/* [N, d.., C] to [N, C, d..], where losses have their classes. */
static void move_classes(tg_trainer *t) {
  int output = tg_trainer_loss_output(t);
  tg_value *y = output < t->model->output_count ? t->model->outputs[output] : NULL;
  if (!t->options.classes_last || !y || y->rank < 3) return;
  int64_t perm[TG_MAX_RANK] = {0, y->rank - 1};
  for (int i = 2; i < y->rank; i++) perm[i] = i - 1;
  tg_value *moved = tg_rewrite_transpose(t->model, y, perm, NULL);
  t->model->outputs[output] = moved;
  moved->output_count++;
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
  tg_graph *lowered = t->lowered = tg_graph_clone(t->step, &t->arena);
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

tg_status tg_trainer_compile(tg_trainer *t, tg_diag *diag) {
  const tg_compile_options *tg_trainer_compile = &t->options.compile;
  tg_status status = tg_session_params(tg_trainer_compile, &t->params, diag);
  if (!status) status = tg_precision_of(&t->arena, tg_trainer_compile, &t->precision, diag);
  if (!status) status = tg_session_map_options(tg_trainer_compile, &t->precision, &t->map, diag);
  if (status) return status;
  choose_formats(t);
  status = tg_training_check(&t->options.step, diag);
  if (!status) status = build_and_map(t, diag);
  if (status) {
    tg_diag_prefix(diag, "%s", t->session->path);
    return status;
  }
  tg_session_adopt(t->session, tg_precision_note(&t->session->arena, tg_trainer_compile, 0));
  find_outputs(t);
  list_tensors(t);
  return TG_OK;
}
