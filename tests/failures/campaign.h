/* What campaigns of failures share: commands that write, what they leave, and what they may leave. */
#ifndef TEGULA_TESTS_FAILURES_CAMPAIGN_H
#define TEGULA_TESTS_FAILURES_CAMPAIGN_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct campaign_command {
  const char *name, *arguments; /* it writes its files into out/, if any */
  bool writes;
  int draws; /* of allocations, in the short form */
} campaign_command;

extern const campaign_command campaign_commands[];
extern const int campaign_command_count;

/* Makes the inputs of all commands, once, in the tests' folder. */
void campaign_prepare(void);

/* What a run left, times masked. On the arena. */
typedef struct campaign_result {
  int status;            /* as waitpid has it */
  const char *out, *err; /* what it printed */
  const char *files;     /* names and contents of all in out/ */
  int temporaries;       /* files that it had not finished, there or beside out/ */
} campaign_result;

/* An empty out/; with `old` every file that the unfailed run leaves is there with "old" in it. */
void campaign_clean(const campaign_result *unfailed, bool old);
/* Starts a command in the tests' folder: the child calls `before`, if any, and becomes the command. */
pid_t campaign_start(const char *arguments, void (*before)(void));
void campaign_read(tg_arena *arena, int status, campaign_result *out_result);

/* Whether the files in out/ are as they were ("old", or not there) or as the unfailed run leaves them: NULL, or
 * the name of one that is not. */
const char *campaign_torn(tg_arena *arena, const campaign_result *unfailed);

/* Exit 0 with everything as it is without a failure, or a row that says what failed, or 2 with one line; and nothing unfinished is left. NULL,
 * or what is wrong. */
const char *campaign_judge(tg_arena *arena, const campaign_result *unfailed, const campaign_result *got);

#endif
