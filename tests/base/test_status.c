#include "frontend/base/status.h"
#include "tests/harness.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

TG_TEST(status, keeps_the_first_message_and_prefixes_it) {
  tg_diag diag = {""};
  EXPECT_EQ(tg_fail(&diag, TG_INVALID, "tensor \"%s\" has rank %d", "x", 3), TG_INVALID);
  tg_fail(&diag, TG_FAULT, "something later");
  tg_diag_prefix(&diag, "%s", "model.onnx");
  EXPECT_STR(diag.message, "model.onnx: tensor \"x\" has rank 3");
}

TG_TEST(status, a_name_cannot_break_the_line_or_the_terminal) {
  tg_diag diag = {""};
  tg_fail(&diag, TG_INVALID, "node %s", "a\nb\x1b[31m");
  EXPECT_STR(diag.message, "node a?b?[31m");
}

TG_TEST(status, long_messages_are_cut_not_overrun) {
  char name[4000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  tg_diag diag = {""};
  tg_fail(&diag, TG_INVALID, "%s", name);
  tg_diag_prefix(&diag, "%s", name);
  EXPECT_EQ(strlen(diag.message), sizeof diag.message - 1);
}

static void *die(void *unused) {
  (void)unused;
  tg_die("out of memory (%d bytes)", 40);
}

static void linger(void) { usleep(50000); }

/* Several threads find no memory at once: one line, one status, no matter which of them is first and
 * how long the handlers of exit() would take. */
TG_TEST(status, threads_die_once) {
  for (int round = 0; round < 5; round++) {
    int pipes[2], status = 0;
    char said[256] = "";
    ASSERT(!pipe(pipes));
    pid_t child = fork();
    if (!child) {
      pthread_t threads[8];
      (void)atexit(linger);
      dup2(pipes[1], STDERR_FILENO);
      for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        if (pthread_create(&threads[i], NULL, die, NULL)) _exit(1);
      for (;;) pause();
    }
    close(pipes[1]);
    size_t length = 0;
    for (ssize_t got;
         length < sizeof said - 1 && (got = read(pipes[0], said + length, sizeof said - 1 - length)) > 0;)
      length += (size_t)got;
    close(pipes[0]);
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), TG_INVALID);
    EXPECT_STR(said, "tegula: out of memory (40 bytes)\n");
  }
}
