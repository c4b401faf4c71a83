/* Errors of the vector functions over all 2^32 inputs: minutes. */
#include "tests/functions/measure.h"
#include "tests/harness.h"

#include "sim/machine/numerics.h"

#include <unistd.h>

static void all_inputs(const void *row) {
  const measured_function *f = row;
  unsigned threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
  static const int kinds[] = {TG_STREAM_FP32, TG_STREAM_BF16, TG_STREAM_FP16};
  for (int k = 0; k < 3; k++) {
    measurement m = measure_all(f, kinds[k], k ? 16 : 1, threads);
    EXPECT_EQ(m.count, k ? 1ll << 28 : 1ll << 32);
    if (m.worst > (k ? 1 : f->bound))
      tg_test_fail(__FILE__, __LINE__, "%s: %g ulp at %a (0x%08x): 0x%x", f->name, m.worst,
                   (double)tg_bits_f32(m.at), m.at, m.result);
  }
}

__attribute__((constructor)) static void register_all(void) {
  for (int i = 0; i < measured_function_count; i++)
    tg_test_register_row("all_inputs", measured_functions[i].name, __FILE__, __LINE__, all_inputs,
                         &measured_functions[i]);
}
