/* System calls that write, one after the other: each fails, alone or with all after it, as on a full or a broken disk;
 * or the command is killed there. Outputs are as they were or whole, and nothing unfinished is left but what
 * SIGKILL leaves no time to remove. The command runs under ptrace. */
#include "tests/command.h"
#include "tests/failures/campaign.h"
#include "tests/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* CTest knows the two forms by their names. */
#ifdef TEGULA_EVERY
#define SUITE "writes_long"
#else
#define SUITE "writes"
#endif

#if defined(__x86_64__)

#ifdef TEGULA_EVERY
enum { EVERY = 1 };
#else
enum { EVERY = 0 }; /* of the ways to fail, and of the signals, one at each call */
#endif

enum { LANES = 64 }; /* threads at once */

typedef struct plan {
  int at;        /* of the calls that write, from 1 on; 0: none */
  bool on;       /* those after it, too */
  int error;     /* what it fails with, or */
  int signal;    /* what kills the command there */
  int calls;     /* how many there were */
  bool happened; /* the call was made */
} plan;

/* A run in the background has the shell's ignored signals, and the command leaves those ignored. */
static void be_traced(void) {
  signal(SIGINT, SIG_DFL);
  signal(SIGQUIT, SIG_DFL);
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* Not what goes to standard error: nobody could be told. */
static bool writes(const struct user_regs_struct *r) {
  switch (r->orig_rax) {
  case SYS_write:
  case SYS_writev:
  case SYS_pwrite64: return r->rdi != STDERR_FILENO;
  case SYS_openat: return r->rdx & (O_CREAT | O_TRUNC);
  case SYS_fsync:
  case SYS_fdatasync:
  case SYS_ftruncate:
  case SYS_rename:
  case SYS_renameat:
  case SYS_renameat2:
  case SYS_mkdir: return true;
  default: return false;
  }
}

typedef struct lane { /* a thread within a call */
  pid_t thread;
  bool inside, fails;
} lane;

static lane *lane_of(lane *lanes, pid_t thread) {
  for (int i = 0; i < LANES; i++)
    if (lanes[i].thread == thread || !lanes[i].thread) {
      lanes[i].thread = thread;
      return &lanes[i];
    }
  return NULL;
}

/* At the entrance or the exit of a call. */
static void at_call(plan *p, lane *l, pid_t process, pid_t thread) {
  struct user_regs_struct r;
  if (ptrace(PTRACE_GETREGS, thread, NULL, &r)) return;
  l->inside = !l->inside;
  if (!l->inside) {
    if (l->fails) r.rax = (unsigned long long)-p->error;
    if (l->fails) ptrace(PTRACE_SETREGS, thread, NULL, &r);
    l->fails = false;
    return;
  }
  if (!writes(&r)) return;
  p->calls++;
  if (!p->at || p->calls < p->at || (p->calls > p->at && !p->on)) return;
  p->happened = true;
  if (p->signal) {
    kill(process, p->signal);
    return;
  }
  l->fails = true;
  r.orig_rax = (unsigned long long)-1;
  ptrace(PTRACE_SETREGS, thread, NULL, &r);
}

/* Runs it to its end; the status as waitpid has it. It stops first when it has become the command. */
static int run_traced(const char *arguments, plan *p) {
  lane lanes[LANES] = {{0}};
  int status = 0, end = 0;
  pid_t process = campaign_start(arguments, be_traced), thread;
  p->calls = 0;
  p->happened = false;
  if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) return -1;
  ptrace(PTRACE_SETOPTIONS, process, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, process, NULL, NULL);
  while ((thread = waitpid(-1, &status, __WALL)) > 0) {
    long pass = 0;
    lane *l = lane_of(lanes, thread);
    if (thread == process && !WIFSTOPPED(status)) end = status;
    if (!WIFSTOPPED(status) || !l) continue;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      at_call(p, l, process, thread);
    } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
      pass = WSTOPSIG(status);
    }
    ptrace(PTRACE_SYSCALL, thread, NULL, pass);
  }
  return end;
}

static bool can_trace(void) {
  plan p = {0};
  return run_traced("--version", &p) == 0 && p.calls > 0;
}

typedef struct tally {
  int runs, refused;
} tally;

static void try_failure(const campaign_command *command, const campaign_result *unfailed, plan *p, tally *t) {
  tg_arena arena = {0};
  campaign_result got;
  campaign_clean(unfailed, t->runs % 2);
  int status = run_traced(command->arguments, p);
  campaign_read(&arena, status, &got);
  const char *wrong = campaign_judge(&arena, unfailed, &got);
  t->runs++;
  t->refused += status != 0;
  if (wrong)
    tg_test_fail(__FILE__, __LINE__, "%s: call %d%s fails with %d: %s", command->name, p->at,
                 p->on ? " and all after it" : "", p->error, wrong);
  tg_arena_release(&arena);
}

static void try_kill(const campaign_command *command, const campaign_result *unfailed, plan *p, tally *t) {
  tg_arena arena = {0};
  campaign_result got;
  campaign_clean(unfailed, t->runs % 2);
  int status = run_traced(command->arguments, p);
  campaign_read(&arena, status, &got);
  const char *torn = campaign_torn(&arena, unfailed);
  t->runs++;
  if (p->happened && (!WIFSIGNALED(status) || WTERMSIG(status) != p->signal))
    tg_test_fail(__FILE__, __LINE__, "%s: signal %d at call %d: status %x", command->name, p->signal, p->at,
                 status);
  if (torn)
    tg_test_fail(__FILE__, __LINE__, "%s: signal %d at call %d: %s is torn", command->name, p->signal, p->at,
                 torn);
  if (got.temporaries > (p->signal == SIGKILL))
    tg_test_fail(__FILE__, __LINE__, "%s: signal %d at call %d: %d unfinished files are left", command->name,
                 p->signal, p->at, got.temporaries);
  tg_arena_release(&arena);
}

static void campaign(const void *row) {
  static const int errors[] = {ENOSPC, EIO}, signals[] = {SIGINT, SIGTERM, SIGKILL};
  const campaign_command *command = row;
  tg_arena arena = {0};
  campaign_result unfailed;
  plan p = {0};
  if (!can_trace()) SKIP("processes cannot be traced here");
  campaign_prepare();
  campaign_clean(NULL, false);
  int status = run_traced(command->arguments, &p), calls = p.calls;
  campaign_read(&arena, status, &unfailed);
  if (status || !*unfailed.files || calls < 3)
    tg_test_fail(__FILE__, __LINE__, "%s: without a failure: status %x, %d calls, %s", command->name, status,
                 calls, unfailed.err);
  tally failures = {0}, kills = {0};
  for (int at = 1; at <= calls && !status; at++) {
    for (int v = EVERY ? 0 : at % 2; v < (EVERY ? 2 : at % 2 + 1); v++) {
      plan fail = {.at = at, .on = v, .error = errors[(at + v) % 2]};
      try_failure(command, &unfailed, &fail, &failures);
    }
    for (int s = EVERY ? 0 : at % 3; s < (EVERY ? 3 : at % 3 + 1); s++) {
      plan end = {.at = at, .signal = signals[s]};
      try_kill(command, &unfailed, &end, &kills);
    }
  }
  printf("%s: %d calls that write; %d failures, of which %d were refused; %d kills\n", command->name, calls,
         failures.runs, failures.refused, kills.runs);
  tg_arena_release(&arena);
}

#else
static void campaign(const void *row) {
  (void)row;
  SKIP("calls are made to fail on x86-64 only");
}
#endif

__attribute__((constructor)) static void register_all(void) {
  for (int i = 0; i < campaign_command_count; i++)
    if (campaign_commands[i].writes && strcmp(campaign_commands[i].name, "regress") != 0)
      tg_test_register_row(SUITE, campaign_commands[i].name, __FILE__, __LINE__, campaign,
                           &campaign_commands[i]);
}
