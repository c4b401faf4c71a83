/* Classes by their numbers, as losses compare them. */
#ifndef TEGULA_FRONTEND_BUILD_LABELS_H
#define TEGULA_FRONTEND_BUILD_LABELS_H

#include "frontend/build/build.h"

/* Is the class the label's? Bools, of y's shape. Labels are FP32, of y's shape without the classes. */
tg_value *tg_build_is_label(tg_build *b, tg_value *labels, const tg_value *y);
/* y[label] of each row, the class dimension kept; 0 where the label is no class. */
tg_value *tg_build_picked(tg_build *b, tg_value *labels, tg_value *y);

#endif
