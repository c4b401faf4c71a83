/* The step graph, put together. */
#include "frontend/gradients/gradients.h"
#include "frontend/infer.h"
#include "frontend/passes/passes.h"
#include "frontend/training/batch_statistics.h"
#include "frontend/training/dropout.h"
#include "frontend/training/loss.h"
#include "frontend/training/optimizer.h"
#include "frontend/training/parameters.h"
#include "frontend/training/recompute.h"

#include <math.h>
#include <string.h>

typedef struct parameter {
  const char *name;   /* the model's */
  int tensor, master; /* entries of plan->tensors; master: -1 without an FP32 copy */
  tg_value *input;    /* what forward reads */
  tg_value *gradient; /* F32 once unscaled; NULL: the loss does not depend on it after all */
} parameter;

typedef struct step {
  const tg_training_options *options;
  tg_arena *arena;
  tg_graph *graph;
  tg_training_plan *plan;
  tg_diag *diag;
  tg_build update; /* what is not of the model: formats are kept as written */
  parameter *parameters;
  size_t parameter_count, parameter_capacity;
  size_t tensor_count, tensor_capacity;
  tg_value *numbers[TG_STEP_NUMBER_COUNT];
  tg_statistic *statistics;
  size_t statistic_count;
  tg_value *clip;    /* factor of gradients, f32[1]; NULL: none */
  tg_value *skipped; /* f32[1], 1 if an infinity or NaN was found, else 0; NULL: nobody looks */
} step;

/* --- inputs and outputs */

static tg_step_tensor *add_tensor(step *s, tg_step_role role, const char *name, int input) {
  tg_step_tensor tensor = {
      .role = role, .name = tg_arena_strdup(s->arena, name), .input = input, .output = -1, .gradient = -1};
  TG_PUSH(s->arena, s->plan->tensors, s->tensor_count, s->tensor_capacity, tensor);
  s->plan->tensor_count = (int)s->tensor_count;
  return &s->plan->tensors[s->tensor_count - 1];
}

static tg_value *add_input(step *s, tg_step_role role, const char *model_name, const char *name,
                           tg_dtype dtype, const tg_value *like) {
  tg_value *input = tg_graph_add_input(s->graph, name, dtype, like->rank, like->dims);
  add_tensor(s, role, model_name, s->graph->input_count - 1);
  return input;
}

static int add_output(step *s, tg_value *value, const char *name) {
  tg_graph_add_output(s->graph, value, name, value->dtype);
  return s->graph->output_count - 1;
}

static void carry(step *s, int tensor, tg_value *next) {
  tg_step_tensor *t = &s->plan->tensors[tensor];
  const char *name = tg_arena_printf(s->arena, "%s.next", s->graph->inputs[t->input]->name);
  tg_value_rename(s->graph, next, name);
  t->output = add_output(s, next, name);
  tg_graph_add_carry(s->graph, t->input, t->output);
}

static tg_value *number(step *s, tg_step_number which) {
  static const char *const names[] = {"lr", "adam_size", "adam_correction", "loss_scale", "inverse_scale"};
  if (s->numbers[which]) return s->numbers[which];
  tg_dim one = {1, NULL};
  s->numbers[which] = tg_graph_add_input(s->graph, names[which], TG_F32, 1, &one);
  add_tensor(s, TG_ROLE_OF_NUMBER, names[which], s->graph->input_count - 1)->number = which;
  return s->numbers[which];
}

/* --- the model's part */

static tg_status find_output(const step *s, int *out_index) {
  const tg_graph *graph = s->graph;
  const char *name = s->options->loss_output;
  for (*out_index = 0; *out_index < graph->output_count; ++*out_index)
    if (!name || !strcmp(graph->output_names[*out_index], name)) break;
  if (*out_index == graph->output_count)
    return tg_fail(s->diag, TG_INVALID,
                   name ? "there is no output \"%s\" for the loss" : "the model has no output", name);
  const tg_value *y = graph->outputs[*out_index];
  if (y->kind != TG_VALUE_RESULT || !tg_dtype_is_float(y->dtype))
    return tg_fail(s->diag, TG_INVALID, "output \"%s\" is not computed in floats: it has no gradient",
                   graph->output_names[*out_index]);
  return TG_OK;
}

/* The constant in FP32, as the plan promises it; constants of the model's other formats are widened. */
static const tg_value *initial_of(step *s, const tg_value *constant) {
  if (constant->dtype == TG_F32) return constant;
  int64_t sizes[TG_MAX_RANK], count = tg_value_elements(constant);
  tg_value_sizes(constant, sizes);
  tg_value *wide =
      tg_graph_add_constant(s->graph, constant->name, TG_F32, constant->rank, sizes, NULL, false);
  for (int64_t i = 0; i < count; i++)
    tg_store_f32((void *)wide->data, TG_F32, (size_t)i,
                 tg_load_f32(constant->data, constant->dtype, (size_t)i));
  return wide;
}

/* The constant becomes an input, read by forward through a cast where their formats differ. A single number
 * is a row of one, since so are the numbers of the update. */
static void make_parameter(step *s, tg_value *constant) {
  tg_value like = *constant;
  if (!constant->rank) like.rank = 1, like.dims[0] = (tg_dim){1, NULL};
  parameter p = {.name = constant->name, .master = -1};
  p.name = tg_arena_strdup(s->arena, constant->name);
  const tg_value *initial = initial_of(s, constant);
  tg_value_rename(s->graph, constant, tg_arena_printf(s->arena, "%s.initial", p.name));
  p.input = add_input(s, TG_ROLE_OF_PARAMETER, p.name, p.name, s->options->parameters, &like);
  p.tensor = s->plan->tensor_count - 1;
  s->plan->tensors[p.tensor].initial = initial;
  if (s->options->parameters != TG_F32 && s->options->fp32_params) {
    add_input(s, TG_ROLE_OF_MASTER, p.name, tg_arena_printf(s->arena, "%s.master", p.name), TG_F32, &like);
    p.master = s->plan->tensor_count - 1;
    s->plan->tensors[p.master].initial = initial;
  }
  tg_build read = {.graph = s->graph, .before = s->graph->first, .name = p.name, .forward = -1};
  tg_value *cast = tg_build_cast(&read, p.input, constant->dtype);
  tg_value_replace(s->graph, constant, constant->rank ? cast : tg_build_reshape(&read, cast, 0, NULL));
  TG_PUSH(s->arena, s->parameters, s->parameter_count, s->parameter_capacity, p);
}

static tg_status make_parameters(step *s, const tg_value *y) {
  tg_trained trained;
  tg_status status = tg_find_trained(s->graph, y, s->options, s->arena, &trained, s->diag);
  for (size_t i = 0; i < trained.count; i++) make_parameter(s, trained.values[i]);
  s->plan->number = trained.number;
  return status;
}

static tg_status add_labels(step *s, const tg_value *y) {
  if (!tg_loss_has_labels(s->options->loss)) {
    if (tg_value_elements(y) == 1) return TG_OK;
    return tg_fail(s->diag, TG_INVALID, "output \"%s\" is no loss: it is not one number", y->name);
  }
  tg_value like = {0};
  if (tg_loss_labels(s->options->loss, y, &s->plan->classes, &like.rank, like.dims, s->diag))
    return TG_INVALID;
  add_input(s, TG_ROLE_OF_LABEL, "labels", "labels", TG_F32, &like);
  s->plan->labels = s->graph->input_count - 1;
  return TG_OK;
}

/* --- backward */

static tg_status differentiate(step *s, tg_node *last, tg_value *y, tg_value *dy) {
  int count = s->graph->value_count;
  bool *is_parameter = TG_NEW_ARRAY(s->arena, bool, (size_t)count);
  tg_value **gradients = TG_NEW_ARRAY(s->arena, tg_value *, (size_t)count);
  for (size_t i = 0; i < s->parameter_count; i++) is_parameter[s->parameters[i].input->index] = true;
  tg_reduction reduction = s->options->reduce_bf16sr ? TG_REDUCE_BF16SR : TG_REDUCE_FP32;
  if (tg_backward_run(s->graph, is_parameter, count, last, NULL, y, dy, s->options->partials, reduction,
                      gradients, s->diag))
    return TG_INVALID;
  for (size_t i = 0; i < s->parameter_count; i++)
    s->parameters[i].gradient = gradients[s->parameters[i].input->index];
  return TG_OK;
}

/* --- update */

static tg_value *unscaled(step *s, tg_value *gradient) {
  tg_value *wide = tg_build_cast(&s->update, gradient, TG_F32);
  return s->options->scale_loss
             ? tg_build_binary(&s->update, TG_OP_MUL, wide, number(s, TG_STEP_INVERSE_SCALE))
             : wide;
}

/* One number of all gradients, f32[1]: `op` over the elements that `element` makes of each. */
static tg_value *over_gradients(step *s, tg_op op, tg_value *(*element)(step *s, tg_value *gradient)) {
  int64_t one = 1;
  int count = 0;
  tg_build *b = &s->update;
  tg_value **each = TG_NEW_ARRAY(s->arena, tg_value *, s->parameter_count);
  for (size_t i = 0; i < s->parameter_count; i++) {
    tg_value *g = s->parameters[i].gradient;
    if (!g) continue;
    tg_value *reduced = tg_build_reduce(b, op, element(s, g), (1u << g->rank) - 1);
    each[count++] = tg_build_reshape(b, reduced, 1, &one);
  }
  return count == 1 ? each[0] : tg_build_reduce(b, op, tg_build_concat(b, each, count, 0), 1);
}

static tg_value *magnitude(step *s, tg_value *gradient) {
  return tg_build_unary(&s->update, TG_OP_ABS, tg_build_cast(&s->update, gradient, TG_F32));
}

static tg_value *square(step *s, tg_value *gradient) {
  return tg_build_binary(&s->update, TG_OP_MUL, gradient, gradient);
}

/* The largest magnitude is NaN if there is one. */
static void look_for_infinities(step *s) {
  tg_build *b = &s->update;
  b->name = "found_inf";
  tg_value *finite = tg_build_with(b, TG_OP_LESS, over_gradients(s, TG_OP_REDUCE_MAX, magnitude), INFINITY);
  s->skipped = tg_build_where(b, finite, tg_build_number(b, 0), tg_build_number(b, 1));
  s->plan->found_inf = add_output(s, s->skipped, "found_inf");
}

/* What is carried on: `next`, or in a step that is skipped what was there before. */
static tg_value *unless_skipped(step *s, tg_value *before, tg_value *next) {
  if (!s->skipped) return next;
  return tg_build_where(&s->update, tg_build_with(&s->update, TG_OP_GREATER, s->skipped, 0), before, next);
}

/* min(1, clip_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. */
static void find_clip(step *s) {
  tg_build *b = &s->update;
  tg_value *sum = over_gradients(s, TG_OP_REDUCE_SUM, square);
  tg_value *norm = tg_build_with(b, TG_OP_ADD, tg_build_unary(b, TG_OP_SQRT, sum), 1e-6);
  s->clip = tg_build_binary(b, TG_OP_MIN, tg_build_from(b, TG_OP_DIV, s->options->clip_norm, norm),
                            tg_build_number(b, 1));
}

static tg_value *clipped(step *s, tg_value *gradient) {
  double limit = s->options->clip_value;
  if (s->clip) gradient = tg_build_binary(&s->update, TG_OP_MUL, gradient, s->clip);
  return limit > 0 ? tg_build_clip(&s->update, gradient, -limit, limit) : gradient;
}

/* State tensor k of a parameter: an input that the update reads in FP32 and carries in its own format. */
static int add_state(step *s, const parameter *p, const char *word) {
  const char *name = tg_arena_printf(s->arena, "%s.%s", p->name, word);
  add_input(s, TG_ROLE_OF_STATE, p->name, name, s->options->state, p->input);
  s->plan->tensors[s->plan->tensor_count - 1].state = word;
  return s->plan->tensor_count - 1;
}

static tg_value *input_of(const step *s, int tensor) {
  return s->graph->inputs[s->plan->tensors[tensor].input];
}

/* The parameter as forward reads it: FP32, or BF16 of the FP32 copy or of the sum itself. */
static tg_value *written_back(step *s, const parameter *p, tg_value *before, tg_value *next) {
  if (p->master < 0) next = unless_skipped(s, before, next);
  tg_value *written = tg_build_cast(&s->update, next, s->options->parameters);
  bool rounds = s->options->stochastic && p->master < 0 && s->options->parameters == TG_BF16;
  if (rounds) tg_attr_set_int(written->producer, TG_ATTR_STOCHASTIC, 1);
  return written;
}

/* Behind all that reads the parameter or makes its gradient, so that new values may take the place of the old
 * ones, and gradients live no longer than they must; at the end where the step first looks at all
 * gradients. */
static tg_node *place_of_update(const step *s, const parameter *p) {
  tg_node *last = NULL;
  if (s->clip || s->skipped) return NULL;
  TG_FOR_NODES(s->graph, node) {
    bool reads = node == p->gradient->producer;
    for (int i = 0; i < node->input_count; i++) {
      const tg_value *x = tg_in(node, i);
      bool converted = x && x->producer && x->producer->op == TG_OP_CAST && tg_in(x->producer, 0) == p->input;
      reads |= x && (x == p->input || converted);
    }
    if (reads) last = node;
  }
  return last->next;
}

static void update_parameter(step *s, parameter *p) {
  tg_build *b = &s->update;
  int master = p->master >= 0 ? p->master : p->tensor, state[TG_MOST_STATE];
  b->before = place_of_update(s, p);
  tg_update u = {.parameter = tg_build_cast(b, input_of(s, master), TG_F32)};
  b->name = tg_arena_printf(s->arena, "%s.update", p->name);
  u.gradient = clipped(s, p->gradient);
  if (tg_optimizer_reads(s->options, TG_STEP_LR)) u.lr = number(s, TG_STEP_LR);
  if (tg_optimizer_reads(s->options, TG_STEP_ADAM_SIZE)) u.adam_size = number(s, TG_STEP_ADAM_SIZE);
  if (tg_optimizer_reads(s->options, TG_STEP_ADAM_CORRECTION))
    u.adam_correction = number(s, TG_STEP_ADAM_CORRECTION);
  int count = 0;
  for (const char *word; (word = tg_optimizer_state_name(s->options->optimizer, count, s->arena)); count++) {
    state[count] = add_state(s, p, word);
    u.state[count] = tg_build_cast(b, input_of(s, state[count]), TG_F32);
  }
  tg_optimizer_build(b, s->options, &u);
  for (int k = 0; k < count; k++) {
    tg_value *next = unless_skipped(s, u.state[k], u.next_state[k]);
    carry(s, state[k], tg_build_cast(b, next, s->options->state));
  }
  if (p->master >= 0) carry(s, p->master, u.next = unless_skipped(s, u.parameter, u.next));
  carry(s, p->tensor, written_back(s, p, u.parameter, u.next));
}

/* Running statistics do not depend on gradients, but are left as they were in a step that is skipped. */
static void update_statistic(step *s, const tg_statistic *statistic) {
  tg_build *b = &s->update;
  tg_value *constant = statistic->running;
  const char *name = tg_arena_strdup(s->arena, constant->name);
  const tg_value *initial = initial_of(s, constant);
  tg_value_rename(s->graph, constant, tg_arena_printf(s->arena, "%s.initial", name));
  tg_value *running = add_input(s, TG_ROLE_OF_STATISTIC, name, name, TG_F32, constant);
  int tensor = s->plan->tensor_count - 1;
  s->plan->tensors[tensor].initial = initial;
  b->name = tg_arena_printf(s->arena, "%s.update", name);
  tg_value *kept = tg_build_with(b, TG_OP_MUL, running, statistic->momentum);
  tg_value *share =
      tg_build_with(b, TG_OP_MUL, statistic->of_batch, (1 - statistic->momentum) * statistic->factor);
  carry(s, tensor, unless_skipped(s, running, tg_build_binary(b, TG_OP_ADD, kept, share)));
}

static void take_gradient(step *s, parameter *p) {
  s->update.name = tg_arena_printf(s->arena, "%s.grad", p->name);
  s->update.before = p->gradient->producer ? p->gradient->producer->next : NULL;
  if (s->options->scale_loss) s->update.before = NULL;
  p->gradient = unscaled(s, p->gradient);
  if (s->options->keep_gradients)
    s->plan->tensors[p->tensor].gradient = add_output(s, p->gradient, s->update.name);
}

static void update_all(step *s) {
  s->update = (tg_build){.graph = s->graph, .forward = -1, .keep_formats = true};
  if (s->options->scale_loss) look_for_infinities(s);
  for (size_t i = 0; i < s->parameter_count; i++)
    if (s->parameters[i].gradient) take_gradient(s, &s->parameters[i]);
  s->update.before = NULL;
  s->update.name = "clip";
  if (s->options->clip_norm > 0) find_clip(s);
  for (size_t i = 0; i < s->parameter_count; i++)
    if (s->parameters[i].gradient) update_parameter(s, &s->parameters[i]);
  s->update.before = NULL;
  for (size_t i = 0; i < s->statistic_count; i++) update_statistic(s, &s->statistics[i]);
}

/* --- all of it */

static tg_status assemble(step *s) {
  tg_graph *graph = s->graph;
  int loss_output;
  s->plan->dropouts = tg_dropout_expand(graph);
  if (find_output(s, &loss_output)) return TG_INVALID;
  tg_value *y = graph->outputs[loss_output], *loss, *dy;
  for (int i = 0; i < graph->input_count; i++) add_tensor(s, TG_ROLE_OF_DATA, graph->inputs[i]->name, i);
  if (!s->options->frozen_norms && tg_batch_statistics(graph, &s->statistics, &s->statistic_count, s->diag))
    return TG_INVALID;
  tg_make_inference(graph); /* what is left of training is in nodes of its own */
  if (add_labels(s, y) || make_parameters(s, y)) return TG_INVALID;
  if (!s->options->keep_outputs) tg_graph_forget_outputs(graph);
  s->plan->model_outputs = graph->output_count;
  tg_node *last = graph->last;
  tg_build b = {.graph = graph, .forward = -1, .keep_formats = true};
  tg_value *scale = s->options->scale_loss ? number(s, TG_STEP_LOSS_SCALE) : NULL;
  tg_value *labels = s->plan->labels >= 0 ? graph->inputs[s->plan->labels] : NULL;
  tg_loss_build(&b, s->options, y, labels, scale, &loss, &dy);
  s->plan->loss = add_output(s, loss, "loss");
  if (differentiate(s, last, y, dy)) return TG_INVALID;
  if (s->options->recompute) s->plan->recomputed = tg_recompute(graph, last);
  update_all(s);
  tg_pass_remove_dead(graph);
  return tg_graph_verify(graph, s->diag);
}

tg_status tg_training_check(const tg_training_options *o, tg_diag *diag) {
  const double numbers[] = {o->loss_beta, o->ignore_index, o->momentum,  o->beta1,     o->beta2,
                            o->epsilon,   o->weight_decay, o->clip_norm, o->clip_value};
  if ((unsigned)o->loss >= TG_LOSS_COUNT || (unsigned)o->optimizer >= TG_OPTIMIZER_COUNT)
    return tg_fail(diag, TG_INVALID, "there is no such loss or optimizer");
  const tg_dtype formats[] = {o->state, o->parameters};
  for (int i = 0; i < 2; i++)
    if (formats[i] && formats[i] != TG_F32 && formats[i] != TG_BF16)
      return tg_fail(diag, TG_INVALID, "parameters and state are FP32 or BF16");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!isfinite(numbers[i]))
      return tg_fail(diag, TG_INVALID, "a number of the training step is not finite");
  return TG_OK;
}

tg_status tg_training_build(const tg_graph *model, const tg_training_options *options, tg_arena *arena,
                            tg_graph **out_step, tg_training_plan *out_plan, tg_diag *diag) {
  *out_plan = (tg_training_plan){.loss = -1, .found_inf = -1, .labels = -1};
  if (tg_training_check(options, diag)) return TG_INVALID;
  step s = {.options = options,
            .arena = arena,
            .graph = tg_graph_clone(model, arena),
            .plan = out_plan,
            .diag = diag};
  if (assemble(&s)) return TG_INVALID;
  *out_step = s.graph;
  return TG_OK;
}
