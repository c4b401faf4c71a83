/* What losses are made of, shared by loss.c and loss_terms.c. */
#ifndef TEGULA_FRONTEND_TRAINING_LOSS_TERMS_H
#define TEGULA_FRONTEND_TRAINING_LOSS_TERMS_H

#include "frontend/build/build.h"
#include "frontend/training/training.h"

enum { TG_CLASS_AXIS = 1 << 1 };

typedef struct tg_loss_terms {
  tg_build *b;
  double beta; /* of smooth_l1, huber */
  tg_value *y, *labels;
  tg_value *value; /* of each element or row, to be averaged */
  tg_value *slope; /* of each element of y, before the mean and the scale; its nodes follow b->forward, */
  int operand;     /* whose operand y is */
} tg_loss_terms;

/* Sets value, slope and operand, and b->forward. Not for TG_LOSS_MODEL. */
void tg_loss_build_terms(tg_loss loss, tg_loss_terms *l);

#endif
