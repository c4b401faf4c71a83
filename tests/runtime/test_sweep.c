/* tegula sweep over batches, and where a run ends for want of memory. */
#include "runtime/launch/apart.h"
#include "tests/command.h"
#include "tests/harness.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static double field(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

static json_t *tegula_json(const char *arguments) {
  const outcome *o = tegula("%s --json", arguments);
  if (o->status) tg_test_fail(__FILE__, __LINE__, "%s: %d, %s", arguments, o->status, o->err);
  return json_loads(o->out, 0, NULL);
}

/* --- batches */

/* Rows are what runs of these batches say, and the next batch after the largest is too large. */
TG_TEST(sweep, finds_the_largest_batch_that_fits) {
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx -q")->status, 0);
  json_t *all = tegula_json(
             "sweep mlp.onnx --arch tiny --batch-sweep --memory 1100k --max-batch 90 --csv b.csv"),
         *rows = json_object_get(all, "rows"), *row;
  size_t i;
  int largest[3] = {0}, policies = 0;
  double first = 0;
  json_array_foreach(rows, i, row) {
    int batch = (int)field(row, "batch");
    const char *policy = json_string_value(json_object_get(row, "policy"));
    char run[200];
    if (!i) first = field(row, "samples_per_second");
    EXPECT(field(row, "peak_device_bytes") <= 1100e3);
    EXPECT(fabs(field(row, "speedup_over_mp0") * first / field(row, "samples_per_second") - 1) < 1e-9);
    if (!json_is_true(json_object_get(row, "largest"))) continue;
    ASSERT(policies < 3);
    largest[policies++] = batch;
    snprintf(run, sizeof run,
             "run mlp.onnx --arch tiny --no-cpu-reference --timing-only --batch %d --graphamp-preset %s",
             batch, policy);
    json_t *report = tegula_json(run), *beyond = json_object_get(row, "beyond");
    EXPECT_EQ(field(report, "cycles"), field(row, "cycles"));
    EXPECT_EQ(field(report, "peak_device_bytes"), field(row, "peak_device_bytes"));
    json_decref(report);
    if (batch == 90) {
      EXPECT(!beyond);
      continue;
    }
    EXPECT_EQ(field(beyond, "batch"), batch + 1);
    snprintf(run, sizeof run,
             "run mlp.onnx --arch tiny --no-cpu-reference --timing-only --batch %d --graphamp-preset %s",
             batch + 1, policy);
    report = tegula_json(run);
    EXPECT(field(report, "peak_device_bytes") > 1100e3);
    json_decref(report);
  }
  EXPECT_EQ(policies, 3);
  EXPECT(largest[0] > 1 && largest[0] < largest[1] && largest[1] <= largest[2]); /* BF16 leaves more room */
  json_decref(all);
  EXPECT_EQ(shell("head -1 b.csv | grep -q ',batch,largest$'"), 0);
}

TG_TEST(sweep, batches_are_refused_with_a_line) {
  static const struct {
    const char *arguments, *line;
  } wrong[] = {
      {"--memory 1M", "--memory needs --batch-sweep"},
      {"--max-batch 4", "--max-batch needs --batch-sweep"},
      {"--batch-sweep --batch 4", "--batch: --batch-sweep tries batches by itself"},
      {"--batch-sweep --plot-energy p.svg", "--plot-energy: --batch-sweep has no errors to draw"},
      {"--batch-sweep --memory lots", "--memory: \"lots\" is no size"},
      {"--batch-sweep --memory -1", "--memory"},
      {"--batch-sweep --csv no/such/file.csv", "no/such/file.csv"},
  };
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx -q")->status, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const outcome *o = tegula("sweep mlp.onnx --arch tiny %s", wrong[i].arguments);
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, wrong[i].line);
  }
  EXPECT_EQ(tegula("zoo gemm --m 4 --k 5 --n 3 -o gemm.onnx -q")->status, 0);
  const outcome *o = tegula("sweep gemm.onnx --arch tiny --batch-sweep");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "the model fixes its batch size");
  o = tegula(
      "sweep mlp.onnx --arch tiny --batch-sweep --memory 100k --policy mp0"); /* its weights do not fit */
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "bytes of device memory");
}

/* --- a process apart */

static json_t *work(void *user, const json_t *task) {
  static int tasks;
  const char *what = json_string_value(json_object_get(task, "do"));
  (void)user;
  if (!strcmp(what, "exit")) _exit(2);
  if (!strcmp(what, "leave")) _exit(0);
  if (!strcmp(what, "kill")) raise(SIGKILL);
  if (!strcmp(what, "crash")) {
    (void)signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
  }
  return json_pack("{s:i, s:i}", "tasks", ++tasks, "process", (int)getpid());
}

TG_TEST(apart, goes_on_where_it_dies) {
  static const struct {
    const char *task, *lost, *error; /* or an answer, */
    int tasks;                       /* the process's so-many-th */
  } steps[] = {{"answer", NULL, NULL, 1},
               {"answer", NULL, NULL, 2},
               {"exit", "out of memory", NULL, 0},
               {"answer", NULL, NULL, 1},
               {"kill", "killed, as the host does where memory ends", NULL, 0},
               {"kill", "killed, as the host does where memory ends", NULL, 0},
               {"crash", NULL, "it crashed: Aborted", 0},
               {"leave", NULL, "it ended with status 0", 0},
               {"answer", NULL, NULL, 1}};
  tg_apart apart = {.work = work};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    tg_diag diag = {""};
    char lost[100] = "";
    json_t *answer, *task = json_pack("{s:s}", "do", steps[i].task);
    tg_status status = tg_apart_ask(&apart, task, &answer, lost, &diag);
    EXPECT_EQ(status, steps[i].error ? TG_INVALID : TG_OK);
    EXPECT_STR(diag.message, steps[i].error ? steps[i].error : "");
    EXPECT_STR(lost, steps[i].lost ? steps[i].lost : "");
    EXPECT_EQ(field(answer, "tasks"), steps[i].tasks);
    EXPECT(!answer || (pid_t)field(answer, "process") == apart.process);
    json_decref(answer);
    json_decref(task);
  }
  tg_apart_end(&apart);
  EXPECT_EQ(apart.process, 0);
}
