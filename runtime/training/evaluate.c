/* The trained model on data that it has not seen: forward only, compiled like the step. */
#include "frontend/pipeline.h"
#include "frontend/training/batch_statistics.h"
#include "mapper/mapper.h"
#include "runtime/training/run.h"
#include "runtime/training/trainer_state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Loss and right answers of rows, added up; in double. */
typedef struct tally {
  double loss;
  int64_t terms, right, answers;
} tally;

/* sum of max(0, 1 - y[label] + y[c]) over classes c but the label, divided by their number. */
static double margin_of(const float *y, int64_t classes, int64_t inner, int64_t label) {
  double sum = 0;
  for (int64_t c = 0; c < classes; c++)
    if (c != label) sum += fmax(0, 1 - (double)y[label * inner] + (double)y[c * inner]);
  return sum / (double)classes;
}

/* -log softmax(y)[label], -y[label] or the margins, over dimension 1 of y[row][classes][inner]; ignored labels do
 * not count. */
static void tally_classes(tally *sum, const tg_training_options *options, const float *y, const float *labels,
                          int64_t classes, int64_t inner) {
  bool logits = options->loss == TG_LOSS_CROSS_ENTROPY;
  for (int64_t i = 0; i < inner; i++) {
    if (options->ignore && (double)labels[i] == options->ignore_index) continue;
    int64_t label = (int64_t)labels[i], best = 0;
    double top = -INFINITY, all = 0;
    for (int64_t c = 0; c < classes; c++)
      if ((double)y[c * inner + i] > top) top = (double)y[c * inner + i], best = c;
    for (int64_t c = 0; c < classes && logits; c++) all += exp((double)y[c * inner + i] - top);
    if (options->loss == TG_LOSS_MULTI_MARGIN)
      sum->loss += margin_of(y + i, classes, inner, label);
    else
      sum->loss += logits ? top + log(all) - (double)y[label * inner + i] : -(double)y[label * inner + i];
    sum->terms++;
    sum->right += best == label;
    sum->answers++;
  }
}

/* max(0, 1 - y[a] + y[b]) for a of the row's classes, which `t` lists, and b not of them, divided by their number. */
static void tally_lists(tally *sum, const float *y, const float *t, int64_t classes) {
  for (int64_t i = 0; i < classes && t[i] >= 0; i++)
    for (int64_t b = 0; b < classes; b++) {
      bool listed = false;
      for (int64_t k = 0; k < classes && t[k] >= 0; k++) listed |= (int64_t)t[k] == b;
      if (!listed) sum->loss += fmax(0, 1 - (double)y[(int64_t)t[i]] + (double)y[b]) / (double)classes;
    }
  sum->terms++;
}

/* Of one element p and its label; formulas: losses.def. */
static double loss_of(const tg_training_options *options, double p, double want) {
  double distance = fabs(p - want), beta = options->loss_beta;
  switch (options->loss) {
  case TG_LOSS_BCE: return -want * fmax(log(p), -100) - (1 - want) * fmax(log1p(-p), -100);
  case TG_LOSS_BCE_WITH_LOGITS: return fmax(p, 0) - p * want + log1p(exp(-fabs(p)));
  case TG_LOSS_L1: return distance;
  case TG_LOSS_SMOOTH_L1: return distance < beta ? distance * distance / (2 * beta) : distance - beta / 2;
  case TG_LOSS_HUBER: return distance < beta ? distance * distance / 2 : beta * (distance - beta / 2);
  case TG_LOSS_KL_DIV: return (want == 0 ? 0 : want * log(want)) - want * p;
  case TG_LOSS_POISSON_NLL: return exp(p) - want * p;
  case TG_LOSS_SOFT_MARGIN: return fmax(-want * p, 0) + log1p(exp(-fabs(want * p)));
  case TG_LOSS_HINGE_EMBEDDING: return (want == -1 ? 0 : p) + (want == 1 ? 0 : fmax(0, 1 - p));
  default: return distance * distance;
  }
}

static void tally_values(tally *sum, const tg_training_options *options, const float *y, const float *t,
                         int64_t count) {
  bool probability = options->loss == TG_LOSS_BCE;
  bool answers =
      probability || options->loss == TG_LOSS_BCE_WITH_LOGITS || options->loss == TG_LOSS_SOFT_MARGIN;
  for (int64_t i = 0; i < count; i++) {
    double p = (double)y[i], want = (double)t[i];
    sum->loss += loss_of(options, p, want);
    sum->terms++;
    if (!answers) continue;
    sum->right += (p > (probability ? 0.5 : 0)) == (want > 0.5);
    sum->answers++;
  }
}

typedef struct forward {
  const tg_training_run *run;
  tg_arena arena;
  tg_program *program;
  tg_dram *dram;
  void *state;
  int output; /* of the model, that the loss reads */
} forward;

/* The model with the trained values as its constants. */
static tg_graph *trained_model(forward *f) {
  const tg_trainer *t = f->run->trainer;
  tg_graph *model = tg_graph_clone(t->model, &f->arena);
  for (int i = 0; i < tg_trainer_parameter_count(t); i++) {
    const tg_tensor_info *info = tg_trainer_parameter(t, i);
    tg_value *value = tg_graph_find_value(model, info->name);
    float *values = TG_NEW_ARRAY(&f->arena, float, (size_t)info->count + 1);
    void *data = tg_arena_alloc(&f->arena, (size_t)info->count + 1, tg_dtype_size(value->dtype));
    tg_trainer_read_parameter(t, i, values);
    for (int64_t e = 0; e < info->count; e++) tg_store_f32(data, value->dtype, (size_t)e, values[e]);
    value->data = data;
    value->seed = 0;
  }
  return model;
}

static tg_status open_forward(forward *f, tg_diag *diag) {
  const tg_trainer *t = f->run->trainer;
  tg_graph *model = trained_model(f);
  tg_make_inference(model);
  const char *name = t->options.step.loss_output;
  for (int i = 0; name && i < model->output_count; i++)
    if (!strcmp(model->output_names[i], name)) f->output = i;
  tg_frontend_options frontend;
  tg_frontend_defaults(&frontend);
  frontend.precision = t->precision;
  frontend.precision.log = NULL; /* it has been said */
  tg_status status = tg_frontend_lower(model, &frontend, diag);
  if (!status) status = tg_map(model, &t->params, &t->map, &f->program, diag);
  if (!status) status = tg_dram_create(f->program, &f->dram, diag);
  if (!status) status = t->engine->open(f->program, &t->run, &f->state, diag);
  if (status) tg_diag_prefix(diag, "%s", t->session->path);
  return status;
}

static void close_forward(forward *f) {
  if (f->state) f->run->trainer->engine->close(f->state);
  tg_dram_destroy(f->dram);
  tg_program_destroy(f->program);
  tg_arena_release(&f->arena);
}

static const tg_dram_tensor *output_tensor(const forward *f) {
  int left = f->output;
  for (uint32_t i = 0; i < f->program->tensor_count; i++)
    if (f->program->tensors[i].role == TG_ROLE_OUTPUT && left-- == 0) return &f->program->tensors[i];
  return NULL;
}

/* Rows first, first + 1, ...; those beyond the last are row 0 again. */
static void fill_batch(const forward *f, const tg_array *data, int64_t first, int64_t *rows) {
  const tg_trainer *t = f->run->trainer;
  for (int64_t i = 0; i < f->run->batch; i++) rows[i] = first + i < data->rows ? first + i : 0;
  for (int input = 0; input < t->input_count; input++) {
    const tg_dram_tensor *tensor = &f->program->tensors[input];
    float *values = f->run->rows[input];
    tg_array_gather(&data[input], rows, f->run->batch, values);
    for (int64_t e = 0; e < t->infos[input].count; e++)
      tg_store_f32(f->dram->bytes + tensor->address, tg_storage_dtype(tensor->storage), (size_t)e, values[e]);
  }
}

static void tally_batch(const forward *f, const tg_array *labels, int64_t first, const int64_t *rows,
                        tally *sum) {
  const tg_trainer *t = f->run->trainer;
  const tg_dram_tensor *tensor = output_tensor(f);
  tg_arena scratch = {0};
  int64_t count = 1, inner = 1, batch = f->run->batch;
  for (uint32_t d = 0; d < tensor->rank; d++) count *= tensor->dims[d];
  for (uint32_t d = 2; d < tensor->rank; d++) inner *= tensor->dims[d];
  float *y = TG_NEW_ARRAY(&scratch, float, (size_t)count + 1);
  for (int64_t e = 0; e < count; e++)
    y[e] = tg_load_f32(f->dram->bytes + tensor->address, tg_storage_dtype(tensor->storage), (size_t)e);
  tg_array_gather(labels, rows, batch, f->run->label_rows);
  int64_t each = tensor->dims[0] / batch; /* rows of the output that one of the data makes */
  for (int64_t i = 0; i < batch * each && first + i / each < labels->rows; i++) {
    int64_t size = count / batch / each, answers = labels->width / each;
    const float *row = y + i * size, *label = f->run->label_rows + i * answers;
    if (t->plan.classes)
      tally_classes(sum, &t->options.step, row, label, tensor->dims[1], inner);
    else if (tg_trainer_lists(t))
      tally_lists(sum, row, label, size);
    else
      tally_values(sum, &t->options.step, row, label, size);
  }
  tg_arena_release(&scratch);
}

tg_status tg_run_evaluate(const tg_training_run *run, const tg_array *data, const tg_array *labels,
                          tg_evaluation *out_evaluation, tg_diag *diag) {
  tg_training_run other = *run;
  other.data = (tg_array *)(uintptr_t)data;
  other.labels = *labels;
  tg_status status = tg_run_check(&other, diag);
  if (status) return status;
  forward f = {.run = run};
  tally sum = {0};
  int64_t *rows = TG_NEW_ARRAY(&f.arena, int64_t, (size_t)run->batch);
  status = open_forward(&f, diag);
  for (int64_t first = 0; !status && first < labels->rows; first += run->batch) {
    tg_run_result result = {0};
    fill_batch(&f, data, first, rows);
    status = run->trainer->engine->run(f.state, f.dram, &run->trainer->run, &result, diag);
    tg_run_result_release(&result);
    if (!status) tally_batch(&f, labels, first, rows, &sum);
  }
  close_forward(&f);
  *out_evaluation = (tg_evaluation){labels->rows, sum.loss / (double)sum.terms,
                                    sum.answers ? (double)sum.right / (double)sum.answers : NAN};
  return status;
}
