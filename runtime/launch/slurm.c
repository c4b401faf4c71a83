#include "runtime/launch/slurm.h"
#include "runtime/launch/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add(tg_arena *arena, tg_words *words, const char *word) { tg_words_add(arena, words, word); }

/* --- submitting */

/* "--exclude=a,b", or NULL: none, or nothing else is up. */
static const char *exclusion(tg_arena *arena, const tg_words *excluded) {
  static const char *const ask[] = {"sinfo", "--noheader", "--Node", "--states=idle,mixed,allocated",
                                    "--format=%N"};
  tg_words words = {0};
  const char *text, *list = "";
  bool others = false;
  if (!excluded->count) return NULL;
  for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) add(arena, &words, ask[i]);
  if (tg_program_output(arena, &words, &text, NULL)) return NULL;
  for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
    others |= !tg_words_have(excluded, tg_arena_strndup(arena, at, strcspn(at, " \n")));
  if (!others) return NULL;
  for (size_t i = 0; i < excluded->count; i++)
    list = tg_arena_printf(arena, "%s%s%s", list, i ? "," : "", excluded->word[i]);
  return tg_arena_printf(arena, "--exclude=%s", list);
}

static const char *range(tg_arena *arena, const tg_slurm_array *a) {
  const char *width = a->width ? tg_arena_printf(arena, "%%%zu", a->width) : "";
  return tg_arena_printf(arena, "--array=0-%zu%s", a->count - 1, width);
}

tg_status tg_slurm_submit(tg_arena *arena, const tg_slurm_array *a, const char **out_array, tg_diag *diag) {
  tg_words words = {0};
  const char *text, *exclude = exclusion(arena, a->excluded);
  add(arena, &words, "sbatch");
  add(arena, &words, "--parsable");
  add(arena, &words, "--no-requeue");
  add(arena, &words, "--export=ALL");
  add(arena, &words, tg_arena_printf(arena, "--job-name=%s", a->name));
  add(arena, &words, tg_arena_printf(arena, "--output=%s", a->log));
  add(arena, &words, range(arena, a));
  if (a->time_limit > 0)
    add(arena, &words, tg_arena_printf(arena, "--time=%.0f", 2 + a->time_limit / 60)); /* minutes */
  if (exclude) add(arena, &words, exclude);
  tg_words_append(arena, &words, a->options);
  add(arena, &words, a->script);
  add(arena, &words, a->argument);
  tg_status status = tg_program_output(arena, &words, &text, diag);
  if (status) return status;
  size_t digits = strspn(text, "0123456789"); /* "NUMBER[;CLUSTER]" */
  if (!digits) return tg_fail(diag, TG_INVALID, "sbatch: \"%.80s\" is no number of a job", text);
  *out_array = tg_arena_strndup(arena, text, digits);
  return TG_OK;
}

/* --- watching */

/* "NUMBER INDEX STATE NODES" */
static bool parse_job(tg_arena *arena, const char *line, tg_slurm_job *out_job) {
  char array[32], state[32], node[256] = "";
  unsigned long index;
  if (sscanf(line, "%31s %lu %31s %255s", array, &index, state, node) < 3) return false;
  *out_job = (tg_slurm_job){.array = tg_arena_strdup(arena, array),
                            .index = index,
                            .running = !strcmp(state, "R"),
                            .node = tg_arena_strdup(arena, node)};
  return true;
}

tg_status tg_slurm_list(tg_arena *arena, const char *name, tg_slurm_job **out_jobs, size_t *out_count,
                        tg_diag *diag) {
  tg_words words = {0};
  const char *text;
  size_t capacity = 0;
  add(arena, &words, "squeue");
  add(arena, &words, "--noheader");
  add(arena, &words, "--array");
  add(arena, &words, tg_arena_printf(arena, "--name=%s", name));
  add(arena, &words, "--format=%F %K %t %N");
  *out_jobs = NULL;
  *out_count = 0;
  tg_status status = tg_program_output(arena, &words, &text, diag);
  for (const char *at = status ? "" : text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    tg_slurm_job job;
    if (parse_job(arena, tg_arena_strndup(arena, at, strcspn(at, "\n")), &job))
      TG_PUSH(arena, *out_jobs, *out_count, capacity, job);
  }
  return status;
}

tg_status tg_slurm_cancel(tg_arena *arena, const char *name, tg_diag *diag) {
  tg_words words = {0};
  const char *text;
  add(arena, &words, "scancel");
  add(arena, &words, tg_arena_printf(arena, "--name=%s", name));
  return tg_program_output(arena, &words, &text, diag);
}
