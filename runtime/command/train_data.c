/* The arrays that `tegula train` learns from: data of the model's inputs, labels, the order of rows. */
#include "runtime/command/train_data.h"
#include "runtime/training/trainer_state.h"

#include <inttypes.h>
#include <string.h>

/* The model's input that "[INPUT=]FILE" names; -1: there is none. */
static int input_of(const tg_graph *model, const char *text, const char **out_file) {
  const char *equals = strchr(text, '=');
  *out_file = text;
  for (int i = 0; equals && i < model->input_count; i++) {
    const char *name = model->inputs[i]->name;
    if (strlen(name) != (size_t)(equals - text) || strncmp(name, text, strlen(name))) continue;
    *out_file = equals + 1;
    return i;
  }
  return model->input_count == 1 ? 0 : -1;
}

tg_status tg_train_load_data(tg_context *context, tg_training_run *run, const tg_graph *model,
                             tg_option_id option, tg_array **out_data) {
  const tg_options *o = &context->options;
  tg_array *data = *out_data = TG_NEW_ARRAY(&run->arena, tg_array, (size_t)model->input_count + 1);
  for (size_t i = 0; i < o->counts[option]; i++) {
    const char *file, *text = o->values[option][i];
    int input = input_of(model, text, &file);
    if (input < 0 && o->counts[option] == 1 && tg_given(o, option)) { /* one archive with an array an input */
      for (int k = 0; k < model->input_count; k++) {
        const char *names[] = {model->inputs[k]->name, NULL};
        tg_status status = tg_array_load(&run->arena, file, names, &data[k], &context->diag);
        if (status) return status;
      }
      return TG_OK;
    }
    if (input < 0)
      return tg_fail(&context->diag, TG_INVALID, "--%s: \"%s\" names no input of the model",
                     tg_option_get(option)->name, text);
    if (data[input].path)
      return tg_fail(&context->diag, TG_INVALID, "--%s is given twice for input \"%s\"",
                     tg_option_get(option)->name, model->inputs[input]->name);
    const char *names[] = {model->inputs[input]->name, "x", "X", "data", "x_train", NULL};
    tg_status status = tg_array_load(&run->arena, file, names, &data[input], &context->diag);
    if (status) return status;
  }
  return TG_OK;
}

static tg_status check_data(tg_context *context, const tg_graph *model, tg_option_id option,
                            const tg_array *data) {
  for (int i = 0; i < model->input_count; i++)
    if (!data[i].path)
      return tg_fail(&context->diag, TG_INVALID, "input \"%s\" of the model has no --%s",
                     model->inputs[i]->name, tg_option_get(option)->name);
  return TG_OK;
}

/* Labels of a loss in the model are the input that no --data names. */
static tg_status load_model_labels(tg_context *context, tg_training_run *run, const tg_graph *model) {
  static const char *const names[] = {"labels", "y", "Y", "label", "y_train", NULL};
  const char *file = tg_option_text(&context->options, TG_OPT_LABELS, NULL);
  for (int i = 0; file && i < model->input_count; i++)
    if (!run->data[i].path) return tg_array_load(&run->arena, file, names, &run->data[i], &context->diag);
  if (file)
    return tg_fail(&context->diag, TG_INVALID,
                   "--labels: the loss stands in the model, whose inputs all have --data");
  return TG_OK;
}

static tg_status load_labels(tg_context *context, tg_training_run *run, tg_option_id option,
                             tg_array *out_labels) {
  static const char *const names[] = {"labels", "y", "Y", "label", "y_train", NULL};
  const char *file = tg_option_text(&context->options, option, NULL);
  if (!file)
    return tg_fail(&context->diag, TG_INVALID, "tegula train needs --%s", tg_option_get(option)->name);
  return tg_array_load(&run->arena, file, names, out_labels, &context->diag);
}

tg_status tg_train_load_labels(tg_context *context, tg_training_run *run, const tg_graph *model,
                               tg_loss loss) {
  tg_status status = tg_loss_has_labels(loss) ? load_labels(context, run, TG_OPT_LABELS, &run->labels)
                                              : load_model_labels(context, run, model);
  if (!status) status = check_data(context, model, TG_OPT_DATA, run->data);
  if (!status && !tg_loss_has_labels(loss)) run->labels = run->data[0];
  return status;
}

tg_status tg_train_load_order(tg_context *context, tg_training_run *run, int64_t *out_batch,
                              const int64_t **out_rows, int64_t *out_steps) {
  const char *path = tg_option_text(&context->options, TG_OPT_ORDER, NULL);
  tg_npy npy;
  *out_rows = NULL;
  if (!path) return TG_OK;
  if (tg_given(&context->options, TG_OPT_SHUFFLE))
    return tg_fail(&context->diag, TG_INVALID, "--order and --shuffle are two orders: choose one");
  tg_status status = tg_npy_read(&run->arena, path, &npy, &context->diag);
  if (!status) status = tg_npy_take_as(&npy, TG_I64, &context->diag);
  if (status) return status;
  if (npy.rank != 2 || !npy.count || !tg_dtype_is_integer(npy.dtype))
    return tg_fail(&context->diag, TG_INVALID, "%s: is no array of integers [steps, batch]", path);
  int64_t *rows = TG_NEW_ARRAY(&run->arena, int64_t, (size_t)npy.count);
  for (int64_t i = 0; i < npy.count; i++) {
    rows[i] = tg_load_i64(npy.data, npy.dtype, (size_t)i);
    if (rows[i] < 0 || rows[i] >= run->labels.rows)
      return tg_fail(&context->diag, TG_INVALID,
                     "%s: step %" PRId64 " takes row %" PRId64 "; there are %" PRId64, path, i / npy.dims[1],
                     rows[i], run->labels.rows);
  }
  *out_rows = rows;
  *out_steps = npy.dims[0];
  *out_batch = npy.dims[1];
  return TG_OK;
}

tg_status tg_train_eval_data(tg_context *context, tg_training_run *run, tg_array **out_data,
                             tg_array *out_labels) {
  const tg_options *o = &context->options;
  *out_data = NULL;
  if (tg_given(o, TG_OPT_EVAL_DATA) != tg_given(o, TG_OPT_EVAL_LABELS))
    return tg_fail(&context->diag, TG_INVALID, "--eval-data and --eval-labels need each other");
  if (!tg_given(o, TG_OPT_EVAL_DATA)) return TG_OK;
  if (!tg_loss_has_labels(tg_trainer_options_of(run->trainer)->loss))
    return tg_fail(&context->diag, TG_INVALID,
                   "--eval-data: the loss stands in the model: there is nothing to compare");
  const tg_graph *model = run->trainer->model;
  tg_status status = tg_train_load_data(context, run, model, TG_OPT_EVAL_DATA, out_data);
  if (!status) status = check_data(context, model, TG_OPT_EVAL_DATA, *out_data);
  return status ? status : load_labels(context, run, TG_OPT_EVAL_LABELS, out_labels);
}
