/* Memory that ends within the library is a status and a line to the program that uses it, which goes on: host.c does,
 * with any one allocation that fails. (Where all fail from one on, SystemC's
 * destructors, which allocate, end the process.) */
#include "tests/command.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 48, ALL_WELL = 0, HAD_LINES = 10 };

static int host(unsigned long at, char out[512]) {
  char line[1024], path[512];
  snprintf(line, sizeof line,
           "rm -rf out && mkdir out && LD_PRELOAD=%s TEGULA_FAIL_COUNT=.count TEGULA_FAIL_AT=%lu %s "
           "gemm.onnx > .said 2>&1",
           TEGULA_FAILING_MALLOC, at, TEGULA_HOST);
  int status = shell(line);
  snprintf(path, sizeof path, "%s/.said", tg_test_dir());
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(out, 1, 511, file) : 0;
  out[length] = 0;
  if (file) fclose(file);
  return status;
}

static unsigned long count(void) {
  char path[512];
  unsigned long made = 0;
  snprintf(path, sizeof path, "%s/.count", tg_test_dir());
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%lu", &made) != 1) made = 0;
  if (file) fclose(file);
  return made;
}

TG_TEST(host, goes_on_where_memory_ends) {
  char well[512], said[512];
  int lines = 0;
  unsetenv("TEGULA_CODE_CACHE"); /* each process allocates as the first one did */
  ASSERT(!tegula("zoo gemm --m 4 --k 5 --n 3 --constant-b -o gemm.onnx -q")->status);
  EXPECT_EQ(host(0, well), ALL_WELL);
  unsigned long made = count(), first = made / 2; /* of two sessions, the first is disturbed */
  const char *cycles = strchr(well, '\n');        /* what the second one says */
  ASSERT(made > 100 && cycles && !strncmp(well, cycles + 1, (size_t)(cycles + 1 - well)));
  for (int i = 0; i < DRAWS; i++) {
    unsigned long at = 1 + (unsigned long)pow((double)first, (i + 0.5) / DRAWS);
    int status = host(at, said);
    const char *second = strchr(said, '\n');
    bool good = status == ALL_WELL || status == HAD_LINES;
    good = good && second && !strcmp(second, cycles);
    if (!good)
      tg_test_fail(__FILE__, __LINE__, "allocation %lu of %lu: exit %d, %s", at, first, status, said);
    lines += status == HAD_LINES;
  }
  EXPECT(lines > DRAWS / 2);
  printf("%d of %d had a line to say instead\n", lines, DRAWS);
}
