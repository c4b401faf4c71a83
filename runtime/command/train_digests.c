/* What a checkpoint remembers of the options of `tegula train`. */
#include "frontend/base/hash.h"
#include "frontend/base/input_file.h"
#include "runtime/command/train_options.h"
#include "runtime/training/trainer_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void note(json_t *options, tg_option_id id, const char *value) {
  char key[64];
  snprintf(key, sizeof key, "--%s", tg_option_get(id)->name);
  json_object_set_new(options, key, json_string(value));
}

static void note_digest(tg_arena *arena, json_t *options, const char *what, uint64_t digest) {
  json_object_set_new(options, what, json_string(tg_arena_printf(arena, "digest %016" PRIx64, digest)));
}

/* Options that change no bit of the result, or may change from one part of a run to the next. */
static bool is_free(tg_option_id id) {
  static const tg_option_id ids[] = {
      TG_OPT_OUTPUT,     TG_OPT_ENGINE,     TG_OPT_THREADS,     TG_OPT_REPORT,
      TG_OPT_MAX_CYCLES, TG_OPT_CSV,        TG_OPT_PLOT,        TG_OPT_LOSSES,
      TG_OPT_SAVE,       TG_OPT_SAVE_GRADS, TG_OPT_CHECKPOINT,  TG_OPT_CHECKPOINT_EVERY,
      TG_OPT_RESUME,     TG_OPT_EVAL_DATA,  TG_OPT_EVAL_LABELS, TG_OPT_QUIET,
      TG_OPT_VERBOSE,    TG_OPT_JSON,       TG_OPT_HELP,        TG_OPT_DATA,
      TG_OPT_LABELS,     TG_OPT_ORDER,      TG_OPT_BF16_OPS,    TG_OPT_FP32_OPS,
      TG_OPT_CAST_RULES, TG_OPT_STEPS,      TG_OPT_BATCH,       TG_OPT_DATA_PARALLEL};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (ids[i] == id) return true;
  return false;
}

static uint64_t digest_of_file(const char *path) {
  tg_hasher hasher;
  tg_hasher_start(&hasher);
  FILE *file;
  tg_diag unread = {
      ""}; /* what cannot be read is refused where it is used, but for want of memory, which may be there then */
  if (tg_input_open(path, &file, NULL, &unread) && errno == ENOMEM) tg_die("%s: out of memory", path);
  char part[4096];
  if (file) (void)setvbuf(file, NULL, _IONBF, 0); /* whose buffer would be memory, too */
  for (size_t got; file && (got = fread(part, 1, sizeof part, file));) tg_hasher_add(&hasher, part, got);
  if (file) fclose(file);
  return tg_hasher_sum(&hasher);
}

static void note_files(tg_context *context, json_t *options) {
  static const tg_option_id ids[] = {TG_OPT_ORDER, TG_OPT_BF16_OPS, TG_OPT_FP32_OPS, TG_OPT_CAST_RULES};
  const tg_options *o = &context->options;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (tg_given(o, ids[i]))
      note_digest(&context->arena, options,
                  tg_arena_printf(&context->arena, "--%s", tg_option_get(ids[i])->name),
                  digest_of_file(tg_option_text(o, ids[i], "")));
  note_digest(&context->arena, options, "model", digest_of_file(o->operands[0]));
}

json_t *tg_train_note_options(tg_context *context, const tg_training_run *run,
                              const tg_training_options *step) {
  const tg_options *o = &context->options;
  tg_arena *arena = &context->arena;
  json_t *options = json_object();
  for (int id = 0; id < TG_OPTION_COUNT; id++) {
    const char *all = NULL;
    if (is_free((tg_option_id)id)) continue;
    for (size_t i = 0; i < o->counts[id]; i++)
      all = all ? tg_arena_printf(arena, "%s %s", all, o->values[id][i]) : o->values[id][i];
    if (all) note(options, (tg_option_id)id, *all ? all : "on");
  }
  note(options, TG_OPT_LOSS, tg_loss_name(step->loss));
  note(options, TG_OPT_OPTIMIZER, tg_optimizer_name(step->optimizer));
  note(options, TG_OPT_LR, tg_arena_printf(arena, "%.17g", run->schedule.lr));
  note(options, TG_OPT_BATCH, tg_arena_printf(arena, "%" PRId64, run->batch));
  note(options, TG_OPT_DATA_PARALLEL, tg_arena_printf(arena, "%d", step->partials));
  if (run->schedule.kind == TG_SCHEDULE_COSINE || run->schedule.kind == TG_SCHEDULE_LINEAR)
    note(options, TG_OPT_STEPS, tg_arena_printf(arena, "%" PRId64, run->steps));
  note_files(context, options);
  for (int i = 0; i < tg_trainer_input_count(run->trainer); i++)
    note_digest(arena, options,
                tg_arena_printf(arena, "data of \"%s\"", tg_trainer_input(run->trainer, i)->name),
                tg_array_digest(&run->data[i]));
  note_digest(arena, options, "--labels", tg_array_digest(&run->labels));
  return options;
}
