/* Many cases of `tegula regress` at once, and runs that are killed: nothing is lost, nothing is left behind. */
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/regress_support.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char many[] = "models:\n"
                           "  - {zoo: gemm, sizes: {m: [5, 6, 7], n: [8, 9], k: 10}}\n"
                           "flags: {mp0: --arch tiny, mp1: --arch tiny --graphamp-preset mp1}\n"
                           "bounds: {cosine: 0.99}\n";

enum { MANY = 12 };

static bool same_outputs(const char *a, const char *b) {
  static const char *const names[] = {"results.json", "junit.xml", "summary.md"};
  bool same = true;
  for (int i = 0; i < 3; i++) {
    char x[200], y[200];
    snprintf(x, sizeof x, "%s/%s", a, names[i]);
    snprintf(y, sizeof y, "%s/%s", b, names[i]);
    same = same && same_file(x, y);
  }
  return same;
}

TG_TEST(regress, outputs_do_not_depend_on_jobs_or_shards) {
  models_and_wrapper();
  write_file("many.yaml", many);
  EXPECT_EQ(tegula("regress many.yaml -j 1 --results one -q")->status, 0);
  const outcome *o = tegula("regress many.yaml -j 3 --results three");
  EXPECT_EQ(o->status, 0);
  EXPECT(same_outputs("one", "three"));
  const char *first = strstr(o->out, "gemm-m5-n8-k10/mp0"), *last = strstr(o->out, "gemm-m7-n9-k10/mp1");
  EXPECT(first && last && first < last); /* lines come in the order of the suite */
  EXPECT_EQ(tegula("regress many.yaml --results shards --shard 1/2 -q")->status, 0);
  EXPECT_EQ(tegula("regress many.yaml --results shards --shard 2/2 -q")->status, 0);
  EXPECT_HAS(tegula("regress many.yaml --results shards --resume")->out, "12 kept from before");
  EXPECT(same_outputs("one", "shards"));
}

static int count_results(const char *folder) {
  DIR *open = opendir(in_dir(folder));
  int count = 0;
  for (const struct dirent *entry; open && (entry = readdir(open));)
    count += strstr(entry->d_name, ".result.json") != NULL;
  if (open) closedir(open);
  return count;
}

static void nap(long milliseconds) {
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* Starts a suite and kills it when `wanted` results are there, or it has ended. */
static int kill_after(const char *suite, const char *folder, int wanted, int number) {
  char cases[200];
  snprintf(cases, sizeof cases, "%s/cases", folder);
  pid_t pid = fork();
  if (!pid) {
    if (chdir(tg_test_dir()) || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
      _exit(99);
    execl(TEGULA_COMMAND, TEGULA_COMMAND, "regress", suite, "--results", folder, "--command", "./wrapper",
          "--resume", (char *)NULL);
    _exit(99);
  }
  int status = 0;
  for (int i = 0; i < 20000 && count_results(cases) < wanted && !waitpid(pid, &status, WNOHANG); i++) nap(1);
  if (kill(pid, number)) return -1;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TG_TEST(regress, a_killed_run_resumes_where_it_was) {
  models_and_wrapper();
  write_file("many.yaml", many);
  EXPECT_EQ(tegula("regress many.yaml --command ./wrapper --results whole -q")->status, 0);
  write_file("slow", ""); /* so that a kill comes in time */
  EXPECT_EQ(kill_after("many.yaml", "killed", 3, SIGKILL), SIGKILL);
  EXPECT_EQ(kill_after("many.yaml", "killed", 6, SIGTERM), SIGTERM);
  unlink(in_dir("slow"));
  int kept = count_results("killed/cases");
  write_file("killed/cases/torn.result.json.a1B2c3", "{\"half\":");
  EXPECT(kept >= 6 && kept < MANY);
  unlink(in_dir("runs"));
  EXPECT_EQ(tegula("regress many.yaml --command ./wrapper --results killed --resume -q")->status, 0);
  EXPECT(same_outputs("whole", "killed"));
  int ran = 0;
  for (const char *c = slurp(in_dir("runs")); *c; c++) ran += *c == '\n';
  EXPECT_EQ(ran, MANY - kept); /* what was finished was not run again */
  EXPECT_EQ(shell("ls killed/cases | grep -vE '(result.json|log)$'"), 1);
}

TG_TEST(regress, a_child_that_somebody_kills_is_run_again) {
  models_and_wrapper();
  write_file("victim", "#!/bin/sh\ntest -e ./spared || kill -KILL $$\nexec '" TEGULA_COMMAND "' \"$@\"\n");
  EXPECT_EQ(chmod(in_dir("victim"), 0755), 0);
  write_file("one.yaml", "models: [a.onnx]\nflags: {t: --arch tiny}\n");
  const outcome *o = tegula("regress one.yaml --command ./victim");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "killed: ended by signal 9");
  write_file("spared", "");
  EXPECT_EQ(tegula("regress one.yaml --command ./victim --resume")->status, 0);
}

TG_TEST(regress, what_changed_is_run_again) {
  models_and_wrapper();
  write_file("arch.yaml", "base: tiny\n");
  write_file("ch.yaml", "models: [a.onnx, c.onnx]\nflags: {t: --arch arch.yaml, u: --arch tiny}\n");
  EXPECT_EQ(tegula("regress ch.yaml -q")->status, 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "4 kept");
  write_file("arch.yaml", "base: tiny\ndram_latency: 61\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  EXPECT_EQ(shell("cp c.onnx old.onnx && cp b.onnx c.onnx"), 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  EXPECT_EQ(shell("mv old.onnx c.onnx"), 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume --seed 5")->out, "4 cases passed, 4 without a baseline\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume --seed 5 --command ./wrapper")->out,
             "4 cases passed, 4 without a baseline\n");
  /* Files that the array's file names are part of it. */
  write_file("prices.yaml", "base: 45nm\n");
  write_file("arch.yaml", "base: tiny\nenergy: prices.yaml\n");
  EXPECT_EQ(tegula("regress ch.yaml -q")->status, 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "4 kept");
  write_file("prices.yaml", "base: 7nm\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  write_file("arch.yaml", "base: tiny\n");
}

/* A model's weights may lie in a file beside it. */
TG_TEST(regress, external_data_is_part_of_a_model) {
  write_file("ext.onnx", "junk\x0a\x08location\x12\x05w.binrest");
  write_file("w.bin", "one");
  write_file("ext.yaml", "models: [ext.onnx]\n");
  EXPECT_EQ(tegula("regress ext.yaml")->status, 1);
  EXPECT_HAS(tegula("regress ext.yaml --resume")->out, "1 kept");
  write_file("w.bin", "two");
  EXPECT(!strstr(tegula("regress ext.yaml --resume")->out, "kept"));
}

TG_TEST(regress, limits_of_memory_end_a_case) {
#if defined(__SANITIZE_ADDRESS__)
  SKIP("address sanitizers reserve more than any limit");
#endif
  models_and_wrapper();
  write_file("mem.yaml", "memory_limit: 60M\nmodels: [{zoo: gemm, sizes: {m: 3000, n: 3000, k: 3000}}]\n");
  const outcome *o = tegula("regress mem.yaml");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "memory: over its memory limit of 60M");
}
