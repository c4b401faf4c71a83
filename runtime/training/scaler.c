#include "runtime/training/scaler.h"

#include <math.h>

tg_scaler tg_scaler_static(double scale) { return (tg_scaler){.scale = scale}; }

tg_scaler tg_scaler_dynamic(void) {
  return (tg_scaler){.dynamic = true, .scale = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
}

void tg_scaler_update(tg_scaler *s, bool found_inf) {
  if (!s->dynamic) return;
  if (found_inf) {
    s->scale = (float)(s->scale * s->backoff);
    s->good = 0;
  } else if (++s->good == s->interval) {
    float grown = (float)(s->scale * s->growth);
    if (isfinite(grown)) s->scale = grown;
    s->good = 0;
  }
}
