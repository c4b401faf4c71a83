/* A library for LD_PRELOAD: of the allocations that a process makes from main on, the one with the number
 * TEGULA_FAIL_AT fails, and with TEGULA_FAIL_ON all after it. How many were made is written, as text, into the file
 * TEGULA_FAIL_COUNT at exit. A process that it forks goes on counting from there, and the largest number counts.
 * TEGULA_FAIL_TRACE prints a backtrace of the first that fails to standard error. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_ulong made;
static atomic_ulong *most; /* of all processes */
static unsigned long fail_at;
static bool counting, fail_on, trace;

static void print_trace(void) {
  void *frames[40];
  trace = counting = false;
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  counting = true;
}

/* Whether this one fails. */
static bool fails(void) {
  if (!counting) return false;
  unsigned long number = atomic_fetch_add(&made, 1) + 1, before = atomic_load(most);
  while (number > before && !atomic_compare_exchange_weak(most, &before, number)) continue;
  if (!fail_at || number < fail_at || (number > fail_at && !fail_on)) return false;
  if (trace) print_trace();
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}

static void write_count(void) {
  const char *path = getenv("TEGULA_FAIL_COUNT");
  counting = false;
  if (!path) return;
  char text[32];
  int length = snprintf(text, sizeof text, "%lu\n", atomic_load(most));
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) {
    (void)!write(file, text, (size_t)length);
    close(file);
  }
}

typedef int main_function(int count, char **arguments, char **environment);
static main_function *real_main;

static int counted_main(int count, char **arguments, char **environment) {
  const char *at = getenv("TEGULA_FAIL_AT");
  fail_at = at ? strtoul(at, NULL, 10) : 0;
  fail_on = getenv("TEGULA_FAIL_ON") != NULL;
  trace = getenv("TEGULA_FAIL_TRACE") != NULL;
  if (trace) {
    void *frames[1];
    backtrace(frames, 1); /* loads what it needs */
  }
  most = mmap(NULL, sizeof *most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (most == MAP_FAILED) abort();
  atexit(write_count);
  unsetenv("LD_PRELOAD"); /* processes that this one starts do not fail */
  counting = true;
  return real_main(count, arguments, environment);
}

int __libc_start_main(main_function *main, int count, char **arguments, void (*begin)(void),
                      void (*end)(void), void (*unload)(void), void *stack);
int __libc_start_main(main_function *main, int count, char **arguments, void (*begin)(void),
                      void (*end)(void), void (*unload)(void), void *stack) {
  int (*start)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(counted_main, count, arguments, begin, end, unload, stack);
}
