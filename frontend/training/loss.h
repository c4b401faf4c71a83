/* Losses and the gradients they begin with. */
#ifndef TEGULA_FRONTEND_TRAINING_LOSS_H
#define TEGULA_FRONTEND_TRAINING_LOSS_H

#include "frontend/training/build.h"
#include "frontend/training/training.h"

/* Labels of a loss of `y`: its sizes, or for classes those without dimension 1. TG_INVALID: y has none. */
tg_status tg_loss_labels(tg_loss loss, const tg_value *y, bool *out_classes, int *out_rank, tg_dim *out_dims,
                         tg_diag *diag);

/* Is the class the label's? Bools, of y's shape. Labels are FP32, of y's shape without the classes. */
tg_value *tg_loss_is_label(tg_build *b, tg_value *labels, const tg_value *y);
/* y[label] of each row, the class dimension kept; 0 where the label is no class. */
tg_value *tg_loss_picked(tg_build *b, tg_value *labels, tg_value *y);

/* The loss, f32[1], and its gradient by `y`, of y's type. `scale`, f32[1], multiplies the gradient; NULL:
 * not. */
void tg_loss_build(tg_build *b, const tg_training_options *options, tg_value *y, tg_value *labels,
                   tg_value *scale, tg_value **out_loss, tg_value **out_gradient);

#endif
