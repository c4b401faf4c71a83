/* The table of docs/vector-functions.md: measure_functions [STRIDE [NAME]]: of every STRIDE-th block of
 * inputs, 1: all. */
#include "tests/functions/measure.h"

#include "sim/machine/numerics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void row(const measured_function *f, uint64_t stride) {
  static const int kinds[] = {TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16};
  static const char *const names[] = {"fp32", "bf16", "fp16"};
  unsigned threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
  for (int k = 0; k < 3; k++) {
    runner *r = runner_open(f, kinds[k]);
    int operations = runner_operations(r);
    runner_close(r);
    measurement m = measure_all(f, kinds[k], k ? stride * 16 : stride, threads);
    printf("| %s | %s | %d | %.3f | %a | %g | %llu | %llu |\n", f->name, names[k], operations, m.worst,
           (double)tg_bits_f32(m.at), k ? 1.0 : f->bound, (unsigned long long)m.count,
           (unsigned long long)m.close);
    fflush(stdout);
  }
}

int main(int argc, char **argv) {
  uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  puts("| function | result | ALU operations | largest error, ulp | at | bound, ulp | inputs | by MPFR |\n"
       "|---|---|---|---|---|---|---|---|");
  for (int i = 0; i < measured_function_count; i++)
    if (argc < 3 || !strcmp(argv[2], measured_functions[i].name))
      row(&measured_functions[i], stride ? stride : 1);
  return 0;
}
