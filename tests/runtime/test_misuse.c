/* What a host program may do wrong, and is told: calls from callbacks, steps without a start, options that are cut. */
#include "runtime/training/trainer.h"
#include "tests/harness.h"
#include "tests/runtime/session_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- callbacks */

typedef struct meddler {
  tg_session *session;
  int asked;
} meddler;

/* Compiling again within compile() died of signal 11, as closing did; a sweep was told and went on. */
static void meddle(meddler *m) {
  tg_diag diag = {""};
  char *json = NULL;
  m->asked++;
  EXPECT_EQ(tg_session_compile(m->session, &tiny, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "a callback calls the library");
  EXPECT_EQ(tg_session_bind_batch(m->session, 2, &diag), TG_INVALID);
  EXPECT_EQ(tg_session_sweep(m->session, NULL, &json, &diag), TG_INVALID);
  EXPECT(json == NULL && tg_session_report_json(m->session) == NULL);
  tg_session_random_inputs(m->session, 1);
  tg_session_close(m->session);
}

static void of_log(void *user, bool warning, const char *line) {
  (void)warning, (void)line;
  meddle(user);
}

static const char *of_casts(void *user, const char *node, const char *op, int operand_count,
                            const char *const *dtypes) {
  (void)node, (void)op, (void)operand_count, (void)dtypes;
  meddle(user);
  return NULL;
}

static bool of_run(void *user, uint32_t section, uint32_t count) {
  (void)section, (void)count;
  meddle(user);
  return true;
}

static bool of_verify(void *user, const char *engine) {
  (void)engine;
  meddle(user);
  return true;
}

static bool of_sweep(void *user, size_t row, size_t count, const char *what) {
  (void)row, (void)count, (void)what;
  meddle(user);
  return true;
}

static int asked(meddler *m) {
  int count = m->asked;
  m->asked = 0;
  return count;
}

TG_TEST(misuse, callbacks_call_nothing_with_a_session) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  meddler m = {0};
  char *json = NULL;
  const char *path = zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 9, .n = 7, .k = 5, .seed = 1});
  ASSERT(!tg_session_load(path, &m.session, &diag));
  tg_compile_options options = {.arch = "tiny",
                                .seed = 1,
                                .verbose = true,
                                .log = of_log,
                                .log_user = &m,
                                .cast_callback = of_casts,
                                .cast_user = &m};
  static const char *const policies[] = {"mp1"};
  tg_session_sweep_options sweep = {.compile = &options,
                                    .policies = policies,
                                    .policy_count = 1,
                                    .progress = of_sweep,
                                    .progress_user = &m};
  EXPECT_EQ(tg_session_sweep(m.session, &sweep, &json, &diag), TG_OK);
  EXPECT(json && asked(&m) > 9); /* three rows, their sections, lists and decisions */
  free(json);
  EXPECT_EQ(tg_session_compile(m.session, &options, &diag), TG_OK);
  EXPECT(asked(&m) >= 2);
  tg_session_random_inputs(m.session, 1);
  tg_session_run_options run = {.progress = of_run, .progress_user = &m};
  EXPECT_EQ(tg_session_run(m.session, &run, &diag), TG_OK);
  EXPECT(asked(&m) >= 1);
  tg_session_verify_options verify = {
      .engines = "functional,systemc", .progress = of_verify, .progress_user = &m};
  EXPECT_EQ(tg_session_verify(m.session, &verify, &json, &diag), TG_OK);
  EXPECT_EQ(asked(&m), 2);
  free(json);
  EXPECT_EQ(tg_session_run(m.session, NULL, &diag), TG_OK);
  tg_session_close(m.session);
  tg_arena_release(&arena);
}

/* --- options */

TG_TEST(misuse, options_of_part_of_a_member_are_refused) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = NULL;
  ASSERT(!tg_session_load(zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 3, .n = 2, .k = 5, .seed = 1}),
                          &session, &diag));
  tg_compile_options options = {.size = offsetof(tg_compile_options, arch) + 3, .arch = "tiny"};
  EXPECT_EQ(tg_session_compile(session, &options, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "options of 11 bytes are no structure of this library");
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* --- forks */

/* oneDNN's threads waited in the parent, and its child for them. */
TG_TEST(misuse, a_child_of_a_fork_measures_too) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = small_gemm(&arena);
  tg_session_random_inputs(session, 1);
  ASSERT(!tg_session_run(session, NULL, &diag));
  ASSERT(!tg_session_measure_cpu(session, false, 2, &diag));
  pid_t child = fork();
  if (!child) {
    alarm(60);
    _exit(tg_session_run(session, NULL, &diag) || tg_session_measure_cpu(session, false, 2, &diag));
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* --- training */

static tg_status refusal(tg_status status, const tg_diag *diag, const char *end) {
  size_t most = strlen(diag->message), size = strlen(end);
  EXPECT_EQ(status, TG_INVALID);
  EXPECT_STR(diag->message + (most > size ? most - size : 0), end);
  return status;
}

TG_TEST(misuse, a_trainer_refuses_what_is_out_of_order) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = NULL;
  tg_trainer *trainer = NULL, *other = NULL;
  tg_trainer_options options = {.compile = tiny, .step = {.loss = TG_LOSS_MSE}};
  tg_step_outcome outcome;
  float values[64] = {0};
  const float *inputs[] = {values};
  tg_batch batch = {inputs, values}, none = {0};
  const char *path =
      zoo_file(&arena, "gemm", &(tg_zoo_options){.m = 4, .n = 3, .k = 5, .constant_b = true, .seed = 1});
  refusal(tg_trainer_open(NULL, &options, &trainer, &diag), &diag, "no session is given");
  refusal(tg_trainer_start(NULL, NULL, &diag), &diag, "no trainer is given");
  EXPECT(!tg_trainer_input_count(NULL) && !tg_trainer_labels(NULL) && !tg_trainer_options_of(NULL));
  ASSERT(!tg_session_load(path, &session, &diag));
  options.step.optimizer = TG_OPTIMIZER_COUNT;
  refusal(tg_trainer_open(session, &options, &trainer, &diag), &diag, "there is no such loss or optimizer");
  options.step.optimizer = TG_OPTIMIZER_SGD;
  options.step.clip_norm = NAN;
  refusal(tg_trainer_open(session, &options, &trainer, &diag), &diag, "is not finite");
  options.step.clip_norm = 0;
  refusal(tg_trainer_open(session, NULL, &trainer, &diag), &diag, "no options of training are given");
  refusal(tg_trainer_open(session, &options, NULL, &diag), &diag, "no place for the trainer is given");
  ASSERT(!tg_trainer_open(session, &options, &trainer, &diag));
  refusal(tg_trainer_open(session, &options, &other, &diag), &diag, "only a model can be trained");
  refusal(tg_trainer_step(trainer, &batch, 0.1, 1, &outcome, &diag), &diag, "is not started");
  refusal(tg_trainer_save(trainer, "x.onnx", &diag), &diag, "is not started");
  refusal(tg_trainer_start(trainer, &(tg_session_run_options){.threads = -3}, &diag), &diag,
          "0 to 1024 are possible");
  ASSERT(!tg_trainer_start(trainer, NULL, &diag));
  refusal(tg_trainer_start(trainer, NULL, &diag), &diag, "is started already");
  refusal(tg_trainer_step(trainer, &none, 0.1, 1, &outcome, &diag), &diag, "a place for what comes out");
  refusal(tg_trainer_step(trainer, &batch, 0.1, 1, NULL, &diag), &diag, "a place for what comes out");
  refusal(tg_trainer_save(trainer, NULL, &diag), &diag, "no path is given");
  EXPECT(!tg_trainer_input(trainer, 1) && !tg_trainer_parameter(trainer, -1));
  tg_trainer_read_parameter(trainer, 7, values);
  EXPECT(!tg_trainer_read_gradient(trainer, 7, values));
  EXPECT_EQ(tg_trainer_step(trainer, &batch, 0.1, 1, &outcome, &diag), TG_OK);
  EXPECT_EQ(tg_session_measure_cpu(session, true, 1, &diag), TG_OK); /* of a step there is no other */
  tg_trainer_close(trainer);
  tg_session_close(session);
  tg_arena_release(&arena);
}
