#include "runtime/command/train_options.h"
#include "frontend/base/pattern.h"
#include "runtime/command/train_data.h"
#include "runtime/training/trainer_state.h"

#include <float.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BATCH = 32 };

/* --- loss */

/* The model's output that one of ONNX's losses makes, the one asked for or else the first; NULL: there is
 * none. */
static const char *loss_in_model(const tg_graph *model, const char *asked) {
  for (int i = 0; i < model->output_count; i++) {
    const tg_node *node = model->outputs[i]->producer;
    bool is_loss =
        node &&
        (node->op == TG_OP_SOFTMAX_CROSS_ENTROPY_LOSS || node->op == TG_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS) &&
        model->outputs[i] == tg_out(node);
    if (is_loss && (!asked || !strcmp(asked, model->output_names[i]))) return model->output_names[i];
  }
  return NULL;
}

static tg_status choose_loss(tg_context *context, const tg_graph *model, tg_training_options *step) {
  const tg_options *o = &context->options;
  step->loss_output = tg_option_text(o, TG_OPT_LOSS_OUTPUT, NULL);
  const char *name = tg_option_text(o, TG_OPT_LOSS, NULL), *inside = loss_in_model(model, step->loss_output);
  bool of_model = name ? !strcmp(name, "model") : inside != NULL;
  if (of_model && inside) step->loss_output = inside;
  return tg_loss_parse(of_model ? "model" : name ? name : "cross_entropy", &step->loss, &context->diag);
}

/* --- sizes */

static tg_status choose_batch(tg_context *context, const tg_graph *model, int64_t of_order,
                              tg_training_run *run) {
  const tg_options *o = &context->options;
  int64_t asked = (int64_t)tg_option_number(o, TG_OPT_BATCH, 0), fixed = 0;
  for (int i = 0; i < model->input_count; i++)
    if (model->inputs[i]->rank > 0 && model->inputs[i]->dims[0].size >= 0)
      fixed = model->inputs[i]->dims[0].size;
  if (asked && of_order && asked != of_order)
    return tg_fail(&context->diag, TG_INVALID,
                   "--batch %" PRId64 ": the steps of --order have %" PRId64 " rows", asked, of_order);
  run->batch = asked ? asked : of_order ? of_order : fixed ? fixed : DEFAULT_BATCH;
  if (fixed && fixed != run->batch)
    return tg_fail(&context->diag, TG_INVALID, "--batch %" PRId64 ": the model fixes its batch at %" PRId64,
                   run->batch, fixed);
  if (!asked && !of_order && !fixed && run->batch > run->labels.rows) run->batch = run->labels.rows;
  if (run->batch > run->labels.rows && !of_order)
    return tg_fail(&context->diag, TG_INVALID, "--batch %" PRId64 ": %s has %" PRId64 " rows", run->batch,
                   run->labels.path, run->labels.rows);
  return TG_OK;
}

static tg_status bind_sizes(tg_context *context, tg_session *session, const tg_training_run *run) {
  tg_graph *model = session->model;
  tg_status status = tg_bind_dims(context, session);
  for (int i = 0; !status && i < model->input_count; i++) {
    const tg_npy *npy = &run->data[i].npy;
    int64_t dims[TG_NPY_MAX_RANK];
    memcpy(dims, npy->dims, sizeof dims);
    dims[0] = run->batch;
    status = tg_session_bind_shape(session, model->inputs[i]->name, npy->rank, dims, &context->diag);
    if (!status && model->inputs[i]->rank > 0 && model->inputs[i]->dims[0].size < 0)
      status = tg_graph_bind_symbol(model, model->inputs[i]->dims[0].symbol, run->batch, &context->diag);
  }
  return status;
}

/* --- numbers */

static tg_status parse_betas(tg_context *context, tg_training_options *step) {
  const char *text = tg_option_text(&context->options, TG_OPT_BETAS, NULL);
  if (!text) return TG_OK;
  char *end;
  step->beta1 = strtod(text, &end);
  bool good = *end == ',';
  if (good) step->beta2 = strtod(end + 1, &end);
  if (!good || *end || !(step->beta1 >= 0 && step->beta1 < 1) || !(step->beta2 >= 0 && step->beta2 < 1))
    return tg_fail(&context->diag, TG_INVALID, "--betas: \"%s\" is not F,F, each from 0 to below 1", text);
  return TG_OK;
}

static tg_status needs_classes(tg_context *context, tg_option_id option, const tg_training_options *step) {
  if (step->loss == TG_LOSS_CROSS_ENTROPY || step->loss == TG_LOSS_NLL) return TG_OK;
  return tg_fail(&context->diag, TG_INVALID, "--%s: the labels of loss %s are no classes",
                 tg_option_get(option)->name, tg_loss_name(step->loss));
}

static tg_status parse_beta(tg_context *context, tg_training_options *step) {
  if (!tg_given(&context->options, TG_OPT_LOSS_BETA)) return TG_OK;
  if (step->loss != TG_LOSS_SMOOTH_L1 && step->loss != TG_LOSS_HUBER)
    return tg_fail(&context->diag, TG_INVALID, "--loss-beta: loss %s has none", tg_loss_name(step->loss));
  step->loss_beta = tg_option_real(&context->options, TG_OPT_LOSS_BETA, 1);
  if (step->loss_beta >= (double)FLT_MIN) return TG_OK;
  if (step->loss_beta > 0)
    return tg_fail(&context->diag, TG_INVALID, "--loss-beta: %g is below %g, FP32's smallest normal number",
                   step->loss_beta, (double)FLT_MIN);
  return tg_fail(&context->diag, TG_INVALID, "--loss-beta: %g is not above 0", step->loss_beta);
}

static tg_status parse_ignored(tg_context *context, tg_training_options *step) {
  enum { EXACT = 1 << 24 };
  const char *text = tg_option_text(&context->options, TG_OPT_IGNORE_INDEX, NULL);
  if (!text) return TG_OK;
  char *end;
  long number = strtol(text, &end, 10);
  if (end == text || *end || number < -EXACT || number > EXACT)
    return tg_fail(&context->diag, TG_INVALID, "--ignore-index: \"%s\" is no integer of at most 2^24", text);
  if (needs_classes(context, TG_OPT_IGNORE_INDEX, step)) return TG_INVALID;
  step->ignore = true;
  step->ignore_index = (double)number;
  return TG_OK;
}

/* As torch.cuda.amp.GradScaler takes them. */
static tg_status parse_scaler(tg_context *context, tg_scaler *scaler) {
  const tg_options *o = &context->options;
  scaler->scale = tg_option_real(o, TG_OPT_INIT_SCALE, scaler->scale);
  scaler->growth = tg_option_real(o, TG_OPT_GROWTH_FACTOR, scaler->growth);
  scaler->backoff = tg_option_real(o, TG_OPT_BACKOFF_FACTOR, scaler->backoff);
  uint64_t interval = tg_option_number(o, TG_OPT_GROWTH_INTERVAL, scaler->interval);
  scaler->interval = (uint32_t)interval;
  if (!(scaler->scale >= 1e-30 && scaler->scale <= 1e30))
    return tg_fail(&context->diag, TG_INVALID, "--init-scale: must be above 0 and within FP32's range");
  if (!(scaler->growth > 1)) return tg_fail(&context->diag, TG_INVALID, "--growth-factor: must be above 1");
  if (!(scaler->backoff > 0 && scaler->backoff < 1))
    return tg_fail(&context->diag, TG_INVALID, "--backoff-factor: must be above 0 and below 1");
  if (interval > INT32_MAX)
    return tg_fail(&context->diag, TG_INVALID, "--growth-interval: at most %d", INT32_MAX);
  return TG_OK;
}

static bool has_scaler_options(const tg_options *o, tg_option_id *out_first) {
  static const tg_option_id ids[] = {TG_OPT_INIT_SCALE, TG_OPT_GROWTH_FACTOR, TG_OPT_BACKOFF_FACTOR,
                                     TG_OPT_GROWTH_INTERVAL};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (tg_given(o, *out_first = ids[i])) return true;
  return false;
}

static tg_status parse_scale(tg_context *context, tg_training_run *run, tg_training_options *step) {
  const char *text = tg_option_text(&context->options, TG_OPT_LOSS_SCALE, NULL);
  tg_option_id option;
  bool dynamic = has_scaler_options(&context->options, &option);
  run->scaler = tg_scaler_static(1);
  if (!text && !dynamic) return TG_OK;
  step->scale_loss = true;
  run->scaler = tg_scaler_dynamic();
  if (!text || !strcmp(text, "dynamic")) return parse_scaler(context, &run->scaler);
  if (dynamic)
    return tg_fail(&context->diag, TG_INVALID,
                   "--%s is of a dynamic loss scale: --loss-scale %s stays as it is",
                   tg_option_get(option)->name, text);
  char *end;
  double scale = strtod(text, &end);
  if (*end || !(scale >= 1e-30 && scale <= 1e30))
    return tg_fail(&context->diag, TG_INVALID, "--loss-scale: \"%s\" is neither a number nor \"dynamic\"",
                   text);
  run->scaler = tg_scaler_static(scale);
  return TG_OK;
}

static tg_status parse_names(tg_context *context, tg_option_id option, const char **out_pattern) {
  regex_t regex;
  *out_pattern = tg_any_of(context, option);
  if (!*out_pattern) return TG_OK;
  const char *what = tg_arena_printf(&context->arena, "--%s:", tg_option_get(option)->name);
  if (tg_pattern_compile(what, *out_pattern, &regex, &context->diag)) return TG_INVALID;
  regfree(&regex);
  return TG_OK;
}

/* The rows of the array, or the most below it that cut the batch into equal parts. */
static tg_status choose_partials(tg_context *context, const tg_training_run *run,
                                 const tg_compile_options *compile, tg_training_options *step) {
  tg_params params;
  tg_status status = tg_session_params(compile, &params, &context->diag);
  if (status) return status;
  int64_t asked = (int64_t)tg_option_number(&context->options, TG_OPT_DATA_PARALLEL, 0);
  if (asked && run->batch % asked)
    return tg_fail(&context->diag, TG_INVALID,
                   "--data-parallel %" PRId64 " does not divide the batch of %" PRId64, asked, run->batch);
  int64_t partials = asked ? asked : params.rows;
  while (run->batch % partials) partials--;
  step->partials = (int)partials;
  return TG_OK;
}

static tg_status training_options(tg_context *context, tg_training_run *run,
                                  const tg_compile_options *compile, tg_training_options *step) {
  const tg_options *o = &context->options;
  tg_status status =
      tg_optimizer_parse(tg_option_text(o, TG_OPT_OPTIMIZER, "sgd"), &step->optimizer, &context->diag);
  if (!status) status = parse_betas(context, step);
  if (!status) status = parse_beta(context, step);
  if (!status) status = parse_ignored(context, step);
  if (!status && tg_given(o, TG_OPT_CLASSES_LAST)) status = needs_classes(context, TG_OPT_CLASSES_LAST, step);
  if (!status) status = parse_scale(context, run, step);
  if (!status) status = parse_names(context, TG_OPT_FROZEN, &step->frozen);
  if (!status) status = parse_names(context, TG_OPT_TRAINED, &step->trained);
  if (!status) status = choose_partials(context, run, compile, step);
  step->momentum = tg_option_real(o, TG_OPT_MOMENTUM, step->momentum);
  step->weight_decay = tg_option_real(o, TG_OPT_WEIGHT_DECAY, step->weight_decay);
  step->epsilon = tg_option_real(o, TG_OPT_EPS, step->epsilon);
  step->clip_norm = tg_option_real(o, TG_OPT_CLIP_NORM, 0);
  step->clip_value = tg_option_real(o, TG_OPT_CLIP_VALUE, 0);
  step->reduce_bf16sr = !strcmp(tg_option_text(o, TG_OPT_WEIGHT_GRAD_REDUCE, "fp32"), "bf16sr");
  step->fp32_params = tg_given(o, TG_OPT_FP32_PARAMS);
  step->stochastic = !strcmp(tg_option_text(o, TG_OPT_PARAM_ROUNDING, "nearest"), "sr");
  step->state = tg_given(o, TG_OPT_BF16_OPTIMIZER) ? TG_BF16 : TG_F32;
  step->frozen_norms = tg_given(o, TG_OPT_FROZEN_NORMS);
  step->recompute = tg_given(o, TG_OPT_RECOMPUTE);
  step->keep_gradients = tg_given(o, TG_OPT_SAVE_GRADS);
  if (step->optimizer == TG_OPTIMIZER_SGD && step->momentum > 0 && tg_given(o, TG_OPT_MOMENTUM))
    step->optimizer = TG_OPTIMIZER_MOMENTUM;
  return status;
}

static tg_status choose_schedule(tg_context *context, tg_training_run *run) {
  const tg_options *o = &context->options;
  tg_schedule *s = &run->schedule;
  *s = (tg_schedule){.lr = tg_option_real(o, TG_OPT_LR, 0.01),
                     .final = tg_option_real(o, TG_OPT_LR_FINAL, 0),
                     .gamma = tg_option_real(o, TG_OPT_LR_GAMMA, 0.1),
                     .every = tg_option_number(o, TG_OPT_LR_EVERY, 100),
                     .warmup = tg_option_number(o, TG_OPT_LR_WARMUP, 0),
                     .steps = (uint64_t)run->steps};
  tg_schedule_parse(tg_option_text(o, TG_OPT_LR_SCHEDULE, "constant"), &s->kind);
  return TG_OK;
}

static tg_status choose_steps(tg_context *context, tg_training_run *run, const int64_t *rows,
                              int64_t order_steps) {
  const tg_options *o = &context->options;
  tg_order_begin(&run->order, run->labels.rows, run->batch);
  if (rows) tg_order_fix(&run->order, rows, order_steps);
  if (tg_given(o, TG_OPT_SHUFFLE))
    tg_order_shuffle(&run->order, tg_option_number(o, TG_OPT_SHUFFLE, 0), &run->arena);
  run->steps = (int64_t)tg_option_number(o, TG_OPT_STEPS,
                                         (uint64_t)(rows ? order_steps : run->labels.rows / run->batch));
  if (rows && run->steps > order_steps)
    return tg_fail(&context->diag, TG_INVALID, "--steps %" PRId64 ": --order has %" PRId64 " steps",
                   run->steps, order_steps);
  if (run->steps > INT32_MAX) return tg_fail(&context->diag, TG_INVALID, "--steps: at most %d", INT32_MAX);
  return TG_OK;
}

/* --- all of it */

static void warn(tg_context *context, const tg_training_run *run) {
  const tg_training_options *step = tg_trainer_options_of(run->trainer);
  const tg_options *o = &context->options;
  bool bf16 = step->parameters == TG_BF16;
  if (context->quiet) return;
  static const tg_option_id of_bf16[] = {TG_OPT_FP32_PARAMS, TG_OPT_PARAM_ROUNDING, TG_OPT_BF16_OPTIMIZER};
  for (size_t i = 0; !bf16 && i < sizeof of_bf16 / sizeof *of_bf16; i++)
    if (tg_given(o, of_bf16[i]))
      fprintf(stderr, "tegula: warning: parameters are FP32 under this policy: --%s changes nothing\n",
              tg_option_get(of_bf16[i])->name);
  if (bf16 && step->fp32_params && (tg_given(o, TG_OPT_PARAM_ROUNDING) || tg_given(o, TG_OPT_BF16_OPTIMIZER)))
    fputs("tegula: warning: with --fp32-params the update is FP32: --param-rounding and --bf16-optimizer "
          "change "
          "nothing\n",
          stderr);
  int dropouts = run->trainer->plan.dropouts;
  if (dropouts)
    fprintf(stderr,
            "tegula: warning: %d Dropout node%s exported for inference, or with ratio 0: nothing is dropped "
            "there\n",
            dropouts, dropouts == 1 ? "" : "s");
  const char *number = run->trainer->plan.number;
  if (number)
    fprintf(
        stderr,
        "tegula: warning: single numbers, as \"%s\", are not trained: --trained REGEX names those that are\n",
        number);
  bool adam = step->optimizer == TG_OPTIMIZER_ADAM || step->optimizer == TG_OPTIMIZER_ADAMW;
  if (bf16 && adam && step->state == TG_BF16)
    fputs("tegula: warning: the second moment of Adam cannot move in BF16: 1 - beta2 is below half an ulp\n",
          stderr);
}

tg_status tg_train_set_up(tg_context *context, tg_session *session, tg_training_run *run) {
  const tg_options *o = &context->options;
  int64_t of_order = 0, order_steps = 0;
  const int64_t *rows = NULL;
  if (!tg_given(o, TG_OPT_DATA)) return tg_fail(&context->diag, TG_INVALID, "tegula train needs --data");
  if (tg_given(o, TG_OPT_RESUME) && !tg_given(o, TG_OPT_CHECKPOINT))
    return tg_fail(&context->diag, TG_INVALID, "--resume needs --checkpoint");
  tg_trainer_options options = {0};
  tg_training_defaults(&options.step);
  tg_status status = choose_loss(context, session->model, &options.step);
  if (!status) status = tg_train_load_data(context, run, session->model, TG_OPT_DATA, &run->data);
  if (!status) status = tg_train_load_labels(context, run, session->model, options.step.loss);
  if (!status) status = tg_train_load_order(context, run, &of_order, &rows, &order_steps);
  if (!status) status = choose_batch(context, session->model, of_order, run);
  if (!status) status = bind_sizes(context, session, run);
  options.classes_last = tg_given(o, TG_OPT_CLASSES_LAST);
  if (!status) status = tg_compile_options_of(context, &options.compile);
  if (!status) status = training_options(context, run, &options.compile, &options.step);
  if (!status) status = choose_steps(context, run, rows, order_steps);
  if (!status) status = choose_schedule(context, run);
  tg_progress(context, "compiling");
  if (!status) status = tg_trainer_open(session, &options, &run->trainer, &context->diag);
  if (!status) status = tg_run_check(run, &context->diag);
  if (status) return status;
  warn(context, run);
  run->options = tg_train_note_options(context, run, tg_trainer_options_of(run->trainer));
  tg_run_prepare(run);
  return TG_OK;
}
