/* Of the allocations of a command one fails, or all from one on, in the manner of SQLite's tests: then the command has
 * done all it does without, or ends with status 2 and one line. The short form draws numbers, early ones more
 * often; the long one goes through all, with a stride where there are very many. */
#include "tests/command.h"
#include "tests/failures/campaign.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* CTest knows the two forms by their names. */
#ifdef TEGULA_EVERY
#define SUITE "allocations_long"
#else
#define SUITE "allocations"
#endif

enum { MOST_RUNS = 3000 }; /* of a command, in the long form */

static char fail_at[32];
static bool fail_on;

static void set_failure(void) {
  setenv("LD_PRELOAD", TEGULA_FAILING_MALLOC, 1);
  setenv("TEGULA_FAIL_COUNT", ".count", 1);
  setenv("TEGULA_FAIL_AT", fail_at, 1);
  if (fail_on) setenv("TEGULA_FAIL_ON", "1", 1);
}

static void run(tg_arena *arena, const char *arguments, unsigned long at, bool on, campaign_result *out) {
  int status = 0;
  snprintf(fail_at, sizeof fail_at, "%lu", at);
  fail_on = on;
  campaign_clean(NULL, false);
  waitpid(campaign_start(arguments, set_failure), &status, 0);
  campaign_read(arena, status, out);
}

static unsigned long count_of_last(void) {
  char path[512];
  unsigned long count = 0;
  snprintf(path, sizeof path, "%s/.count", tg_test_dir());
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%lu", &count) != 1) count = 0;
  if (file) fclose(file);
  return count;
}

/* The number of the draw: half of them evenly, half of them evenly on a logarithmic scale. */
static unsigned long drawn(unsigned long total, int draw, int draws) {
  double part = (draw / 2 + 0.5) / ((draws + 1) / 2);
  double number = draw % 2 ? part * (double)total : pow((double)total, part);
  unsigned long at = (unsigned long)number;
  return at < 1 ? 1 : at > total ? total : at;
}

static void campaign(const void *row) {
  const campaign_command *command = row;
  tg_arena arena = {0}, scratch = {0};
  campaign_result unfailed, got;
  campaign_prepare();
  run(&arena, command->arguments, 0, false, &unfailed);
  unsigned long total = count_of_last();
  if (unfailed.status || !total || (command->writes && !*unfailed.files)) {
    tg_test_fail(__FILE__, __LINE__, "%s: without a failure: status %d, %s", command->name, unfailed.status,
                 unfailed.err);
    tg_arena_release(&arena);
    return;
  }
  int draws = command->draws, refused = 0, bad = 0;
#ifdef TEGULA_EVERY
  draws = total < MOST_RUNS ? (int)total : MOST_RUNS;
#endif
  for (int d = 0; d < draws && bad < 5; d++) {
#ifdef TEGULA_EVERY
    unsigned long at = total <= MOST_RUNS ? (unsigned long)d + 1 : drawn(total, d, draws);
#else
    unsigned long at = drawn(total, d, draws);
#endif
    bool on = d / 2 % 2;
    run(&scratch, command->arguments, at, on, &got);
    const char *wrong = campaign_judge(&scratch, &unfailed, &got);
    refused += got.status != 0;
    if (wrong) {
      bad++;
      tg_test_fail(__FILE__, __LINE__, "%s: allocation %lu of %lu%s fails: %s", command->name, at, total,
                   on ? " and all after it" : "", wrong);
    }
    tg_arena_release(&scratch);
  }
  printf("%s: %d of %lu allocations failed, %d runs were refused, %d went on\n", command->name, draws, total,
         refused, draws - refused);
  if (!refused) tg_test_fail(__FILE__, __LINE__, "%s: no failure was noticed", command->name);
  tg_arena_release(&arena);
}

/* The rows of a sweep are worked out in another process: tens of thousands of allocations, of a few hundred. */
TG_TEST(allocations, of_a_forked_process_are_counted) {
  tg_arena arena = {0};
  campaign_result result;
  campaign_prepare();
  run(&arena, "sweep gemm.onnx --arch tiny --policy mp0 --csv out/s.csv", 0, false, &result);
  EXPECT_EQ(result.status, 0);
  EXPECT(count_of_last() > 5000);
  tg_arena_release(&arena);
}

/* No fault has made it, so returning from a handler would not make it again. The command reads what no pipe holds at once:
 * its handler is there when the signal comes. */
TG_TEST(allocations, a_sent_fault_ends_the_command) {
  char line[1024];
  snprintf(
      line, sizeof line,
      "rm -f p && mkfifo p && { '%s' compile - -o x 2> said < p & exec 3> p; head -c 200000 /dev/zero >&3; "
      "kill -SEGV $!; exec 3>&-; wait $!; }",
      TEGULA_COMMAND);
  EXPECT_EQ(shell(line), 128 + 11);
}

__attribute__((constructor)) static void register_all(void) {
  for (int i = 0; i < campaign_command_count; i++)
    tg_test_register_row(SUITE, campaign_commands[i].name, __FILE__, __LINE__, campaign,
                         &campaign_commands[i]);
}
