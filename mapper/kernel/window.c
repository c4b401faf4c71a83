#include "mapper/kernel/window.h"
#include "frontend/base/math.h"

tg_reach tg_reach_of(int64_t remainder, int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                     int64_t pad) {
  tg_reach p = {.first = remainder, .count = size > remainder ? tg_div_up(size - remainder, stride) : 0};
  int64_t divisor = tg_gcd(stride, dilation), k = 0;
  p.step = stride / divisor;
  p.tap_step = dilation / divisor;
  while (k < kernel && k < p.step && (remainder + pad - k * dilation) % stride) k++;
  if (k == kernel || k == p.step) return p; /* none: the elements are 0 */
  p.taps = (kernel - 1 - k) / p.step + 1;
  p.last = k + (p.taps - 1) * p.step;
  p.origin = (remainder + pad - p.last * dilation) / stride;
  return p;
}

int64_t tg_reach_before(int64_t remainder, int64_t size, int64_t stride) {
  return size / stride * remainder + tg_min(size % stride, remainder);
}
