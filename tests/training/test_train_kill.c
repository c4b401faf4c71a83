/* Runs that are killed while they write checkpoints, at random moments, and resumed until they end: the
 * trained model must have the bits of a run that nobody disturbed. */
#include "tests/harness.h"
#include "tests/training/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_KILLS = 6, TRIES = 60 };

static const char options[] =
    "--data digits_x.npy --labels digits_y.npy --lr 0.002 --optimizer adam --batch 16 "
    "--shuffle 3 --steps 80 --checkpoint-every 1";

/* Starts the command; the shell is replaced by it, so the number is the command's own. */
static pid_t start(const char *arguments) {
  pid_t child = fork();
  if (child) return child;
  char line[4096];
  snprintf(line, sizeof line, "cd %s && exec '%s' %s >/dev/null 2>.err </dev/null", tg_test_dir(),
           TEGULA_COMMAND, arguments);
  execl("/bin/sh", "sh", "-c", line, (char *)NULL);
  _exit(127);
}

static void wait_microseconds(unsigned us) {
  nanosleep(&(struct timespec){us / 1000000, (long)(us % 1000000) * 1000}, NULL);
}

static ino_t checkpoint_inode(void) {
  struct stat info;
  char path[512];
  snprintf(path, sizeof path, "%s/ck_part/checkpoint", tg_test_dir());
  return stat(path, &info) ? 0 : info.st_ino;
}

/* Kills the run some time after its `checkpoints`-th checkpoint took its place. True: it ended by itself. */
static bool run_to(const char *arguments, uint32_t checkpoints, unsigned us) {
  int status = 0;
  pid_t child = start(arguments);
  if (child <= 0) return true;
  ino_t last = checkpoint_inode();
  while (checkpoints && !waitpid(child, &status, WNOHANG)) {
    ino_t now = checkpoint_inode();
    checkpoints -= now != last;
    last = now;
    wait_microseconds(50);
  }
  if (!checkpoints) {
    wait_microseconds(us);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  if (WIFEXITED(status)) EXPECT_EQ(WEXITSTATUS(status), 0);
  return WIFEXITED(status);
}

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
  return *state;
}

static void compare_files(const char *a, const char *b) {
  tg_arena arena = {0};
  size_t size_a = 0, size_b = 0;
  void *x = read_bytes(&arena, here(&arena, a), &size_a), *y = read_bytes(&arena, here(&arena, b), &size_b);
  EXPECT(x && y && size_a == size_b && !memcmp(x, y, size_a));
  tg_arena_release(&arena);
}

static void killed_and_resumed(const char *more) {
  char whole[1024], part[1024];
  make_digits();
  snprintf(whole, sizeof whole,
           "train mlp.onnx %s %s --save whole.onnx --losses whole.npy --checkpoint ck_whole -q", options,
           more);
  snprintf(part, sizeof part,
           "train mlp.onnx %s %s --save part.onnx --losses part.npy --checkpoint ck_part --resume -q",
           options, more);
  EXPECT_EQ(shell("rm -rf ck_whole ck_part part.onnx part.npy"), 0);
  EXPECT_EQ(tegula("%s", whole)->status, 0);
  uint32_t random = 2463534242u;
  int kills = 0;
  bool ended = false;
  for (int i = 0; i < TRIES && kills < MOST_KILLS && !ended; i++) {
    ended = run_to(part, 1 + next_random(&random) % 12, next_random(&random) % 4000);
    kills += !ended;
  }
  EXPECT(kills >= 2);
  if (!ended) EXPECT_EQ(tegula("%s", part)->status, 0);
  compare_files("part.onnx", "whole.onnx");
  compare_files("part.npy", "whole.npy");
}

TG_TEST(train_kill, resumes_to_the_same_bits) { killed_and_resumed(""); }

TG_TEST(train_kill, also_with_rounding_and_loss_scale) {
  killed_and_resumed("--graphamp-preset mp4 --param-rounding sr --loss-scale dynamic --lr-schedule cosine "
                     "--lr-warmup 5 --clip-norm 1");
}
