/* The loss scale of a run, static or dynamic, as torch.cuda.amp.GradScaler has it. */
#ifndef TEGULA_RUNTIME_TRAINING_SCALER_H
#define TEGULA_RUNTIME_TRAINING_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_scaler {
  bool dynamic;
  double scale, growth, backoff;
  uint32_t interval; /* steps without an infinity or NaN after which the scale grows */
  uint32_t good;     /* of those so far */
} tg_scaler;

tg_scaler tg_scaler_static(double scale);
tg_scaler tg_scaler_dynamic(void); /* 65536, doubled after 2000 good steps, halved after a bad one */

/* After a step that found an infinity or NaN in a gradient, or did not. The scale follows FP32 arithmetic; it
 * does not grow beyond FP32's range. */
void tg_scaler_update(tg_scaler *scaler, bool found_inf);

#ifdef __cplusplus
}
#endif
#endif
