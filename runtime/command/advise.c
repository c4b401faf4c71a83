/* What would make a run faster, tried: the array with one parameter doubled or halved, more channels of its memory, BF16
 * products, twice the batch. */
#include "runtime/command/advise.h"
#include "runtime/json_text.h"
#include "runtime/session/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCES = 3, NAMED = 2, CHANGES = 2, OTHERS = 4 };
#define LEAST_GAIN 0.01

typedef struct trial {
  tg_option_id option[CHANGES];      /* the second with value NULL: one change only */
  const char *value[CHANGES], *what; /* what the sentence begins with */
  double samples;                    /* of a run, over those of the base; 0: as many */
  const char *section[NAMED];
  uint64_t before[NAMED], after[NAMED];
  uint64_t cycles;
} trial;

static uint64_t length_of(const tg_run_result *r, uint32_t i) {
  return r->sections[i].end - r->sections[i].begin;
}

/* Cycles of all invocations of that name. */
static uint64_t cycles_of(const tg_session *s, const char *name, bool *out_found) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < s->program->invocation_count; i++)
    if (!strcmp(s->program->invocations[i].name, name)) sum += length_of(&s->result, i), *out_found = true;
  return sum;
}

static bool is_named(const trial *t, const char *name) {
  for (int k = 0; k < NAMED; k++)
    if (t->section[k] && !strcmp(t->section[k], name)) return true;
  return false;
}

/* Puts a section where its gain belongs, largest first. */
static void place(trial *t, const char *name, uint64_t before, uint64_t after) {
  int k = 0;
  while (k < NAMED && t->section[k] && t->before[k] - t->after[k] >= before - after) k++;
  for (int m = NAMED - 1; m > k; m--)
    t->section[m] = t->section[m - 1], t->before[m] = t->before[m - 1], t->after[m] = t->after[m - 1];
  if (k < NAMED) t->section[k] = name, t->before[k] = before, t->after[k] = after;
}

/* The sections that gain most, by their names. */
static void name_sections(const tg_session *base, const tg_session *changed, trial *t) {
  for (uint32_t i = 0; i < base->program->invocation_count; i++) {
    const char *name = base->program->invocations[i].name;
    bool found = false, own = false;
    uint64_t before = cycles_of(base, name, &own), after = cycles_of(changed, name, &found);
    if (found && after < before && !is_named(t, name)) place(t, name, before, after);
  }
}

/* As options would say it. */
static const char *change_of(tg_arena *arena, const trial *t) {
  const char *both = "";
  for (int c = 0; c < CHANGES && t->value[c]; c++)
    both = tg_arena_printf(arena, "%s%s--%s %s", both, c ? " " : "", tg_option_get(t->option[c])->name,
                           t->value[c]);
  return t->value[1] || t->option[0] != TG_OPT_SET ? both : t->value[0];
}

/* Cycles of the model with the trial's options; 0: it does not map. */
static void run_trial(tg_context *context, const tg_session *base, trial *t) {
  tg_options *o = &context->options;
  tg_session *session = NULL;
  bool quiet = context->quiet;
  tg_session_run_options run = {.engine = "systemc", .timing_only = true};
  for (int c = 0; c < CHANGES && t->value[c]; c++)
    TG_PUSH(&context->arena, o->values[t->option[c]], o->counts[t->option[c]], o->capacities[t->option[c]],
            t->value[c]);
  context->quiet = true; /* warnings were said */
  tg_progress(context, tg_arena_printf(&context->arena, "trying %s", change_of(&context->arena, t)));
  bool good = !tg_open_session(context, &session) && !tg_session_run(session, &run, &context->diag);
  if (good) {
    t->cycles = tg_session_cycles(session);
    if (!t->samples) name_sections(base, session, t);
  }
  tg_session_close(session);
  context->quiet = quiet;
  context->diag = (tg_diag){""};
  for (int c = 0; c < CHANGES && t->value[c]; c++) o->counts[t->option[c]]--;
}

/* Cycles for the samples of the base. */
static double cost_of(const trial *t) {
  return t->cycles ? (double)t->cycles / (t->samples > 0 ? t->samples : 1) : INFINITY;
}

static int fastest_first(const void *left, const void *right) {
  double x = cost_of(left), y = cost_of(right);
  return (x > y) - (x < y);
}

static json_t *row_of(tg_context *context, const tg_session *base, const trial *t) {
  double gain = (double)base->result.cycles / cost_of(t) - 1;
  char *text = tg_arena_printf(&context->arena, "%s would gain %.0f %%", t->what, 100 * gain);
  json_t *sections = json_array();
  for (int k = 0; k < NAMED && t->section[k]; k++) {
    text = tg_arena_printf(&context->arena, "%s %s takes %" PRIu64 " cycles instead of %" PRIu64,
                           tg_arena_printf(&context->arena, "%s%s", text, k ? "," : ":"), t->section[k],
                           t->after[k], t->before[k]);
    json_array_append_new(sections,
                          json_pack("{s:o, s:I, s:I}", "name", tg_json_text(t->section[k]), "cycles",
                                    (json_int_t)t->before[k], "then", (json_int_t)t->after[k]));
  }
  return json_pack("{s:o, s:f, s:I, s:o, s:o}", "change", tg_json_text(change_of(&context->arena, t)), "gain",
                   gain, "cycles", (json_int_t)t->cycles, "sections", sections, "text", tg_json_text(text));
}

static bool has_policy(const tg_options *o) {
  static const tg_option_id ids[] = {TG_OPT_PRESET, TG_OPT_AMP, TG_OPT_MATMUL, TG_OPT_MIXED_OPS,
                                     TG_OPT_CAST_RULES};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (tg_given(o, ids[i])) return true;
  return false;
}

/* One parameter each (advice.def). */
static int change_parameters(tg_arena *arena, const tg_params *m, trial *trials) {
  int count = 0;
#define ADVICE(name, numerator, denominator)                                                                 \
  trials[count].what =                                                                                       \
      tg_arena_printf(arena, "%s %s to %u", numerator > denominator ? "Doubling" : "Halving", #name,         \
                      m->name * numerator / denominator);                                                    \
  trials[count].option[0] = TG_OPT_SET;                                                                      \
  trials[count++].value[0] = tg_arena_printf(arena, #name "=%u", m->name * numerator / denominator);
#include "runtime/command/advice.def"
#undef ADVICE
  return count;
}

/* Twice the channels of a memory device, alone and with ports that are twice as wide. */
static int change_memory(tg_arena *arena, const tg_params *m, trial *trials) {
  if (tg_dram_is_simple(&m->dram)) return 0;
  uint32_t channels = 2 * m->dram.channels;
  const char *device =
      tg_arena_printf(arena, "%s,channels=%u", tg_dram_device_print(&m->dram, arena), channels);
  trials[0] = (trial){.option = {TG_OPT_DRAM},
                      .value = {device},
                      .what = tg_arena_printf(arena, "Doubling the memory's channels to %u", channels)};
  trials[1] =
      (trial){.option = {TG_OPT_DRAM, TG_OPT_SET},
              .value = {device, tg_arena_printf(arena, "port_bytes=%u", 2 * m->port_bytes)},
              .what = tg_arena_printf(arena, "Doubling the memory's channels to %u and port_bytes to %u",
                                      channels, 2 * m->port_bytes)};
  return 2;
}

static int change_run(tg_context *context, const tg_session *base, trial *trials) {
  int count = 0;
  int64_t batch = base->input_count && base->inputs[0].rank ? base->inputs[0].dims[0] : 0;
  if (!has_policy(&context->options))
    trials[count++] =
        (trial){.option = {TG_OPT_PRESET}, .value = {"mp1"}, .what = "BF16 products (--graphamp-preset mp1)"};
  if (batch > 0 && !tg_given(&context->options, TG_OPT_DIM) && !tg_given(&context->options, TG_OPT_INPUT))
    trials[count++] =
        (trial){.option = {TG_OPT_BATCH},
                .value = {tg_arena_printf(&context->arena, "%" PRId64, 2 * batch)},
                .what = tg_arena_printf(&context->arena, "Doubling the batch to %" PRId64, 2 * batch),
                .samples = 2};
  return count;
}

json_t *tg_advise(tg_context *context, const tg_session *base) {
  const tg_params *m = &base->program->params;
  enum {
#define ADVICE(name, numerator, denominator) COUNT_##name,
#include "runtime/command/advice.def"
#undef ADVICE
    PARAMETERS
  };
  trial trials[PARAMETERS + OTHERS] = {{.what = NULL}};
  int count = change_parameters(&context->arena, m, trials);
  count += change_memory(&context->arena, m, trials + count);
  count += change_run(context, base, trials + count);
  for (int i = 0; i < count; i++) run_trial(context, base, &trials[i]);
  qsort(trials, (size_t)count, sizeof *trials, fastest_first);
  json_t *rows = json_array();
  for (int i = 0; i < count && i < SENTENCES; i++)
    if (trials[i].cycles && (double)base->result.cycles >= (1 + LEAST_GAIN) * cost_of(&trials[i]))
      json_array_append_new(rows, row_of(context, base, &trials[i]));
  return rows;
}
