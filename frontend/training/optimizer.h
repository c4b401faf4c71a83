/* The update of one parameter. */
#ifndef TEGULA_FRONTEND_TRAINING_OPTIMIZER_H
#define TEGULA_FRONTEND_TRAINING_OPTIMIZER_H

#include "frontend/build/build.h"
#include "frontend/training/training.h"

enum { TG_MOST_STATE = 2 };

typedef struct tg_update {
  tg_value *parameter, *gradient, *state[TG_MOST_STATE]; /* before, F32 */
  tg_value *lr, *adam_size, *adam_correction;            /* f32[1]; NULL what the optimizer does not read */
  tg_value *next, *next_state[TG_MOST_STATE];            /* out: after, F32 */
} tg_update;

/* Does the optimizer read that number? */
bool tg_optimizer_reads(const tg_training_options *options, tg_step_number number);
/* The k-th tensor of state, as a word of optimizers.def on `arena`; NULL: no more. */
const char *tg_optimizer_state_name(tg_optimizer optimizer, int k, tg_arena *arena);
/* Operations in the order of torch.optim (1.13, single tensor), without its fused multiply-adds. */
void tg_optimizer_build(tg_build *b, const tg_training_options *options, tg_update *u);

#endif
