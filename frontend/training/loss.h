/* Losses and the gradients they begin with. */
#ifndef TEGULA_FRONTEND_TRAINING_LOSS_H
#define TEGULA_FRONTEND_TRAINING_LOSS_H

#include "frontend/build/build.h"
#include "frontend/training/training.h"

/* Labels of a loss of `y`: its sizes, or for classes those without dimension 1. TG_INVALID: y has none. */
tg_status tg_loss_labels(tg_loss loss, const tg_value *y, bool *out_classes, int *out_rank, tg_dim *out_dims,
                         tg_diag *diag);

/* The loss, f32[1], and its gradient by `y`, of y's type. `scale`, f32[1], multiplies the gradient; NULL:
 * not. */
void tg_loss_build(tg_build *b, const tg_training_options *options, tg_value *y, tg_value *labels,
                   tg_value *scale, tg_value **out_loss, tg_value **out_gradient);

#endif
