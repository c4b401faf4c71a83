#include "frontend/training/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const losses[] = {
#define TG_LOSS(id, name, labels, origin, formula) #name,
#include "frontend/training/losses.def"
#undef TG_LOSS
};

typedef struct optimizer_info {
  const char *name, *state;
  double epsilon, weight_decay;
} optimizer_info;

static const optimizer_info optimizers[] = {
#define TG_OPTIMIZER(id, name, state, epsilon, weight_decay, update) {#name, state, epsilon, weight_decay},
#include "frontend/training/optimizers.def"
#undef TG_OPTIMIZER
};

const char *tg_loss_name(tg_loss loss) { return losses[loss]; }
const char *tg_optimizer_name(tg_optimizer optimizer) { return optimizers[optimizer].name; }
const char *tg_optimizer_state(tg_optimizer optimizer) { return optimizers[optimizer].state; }

void tg_training_defaults(tg_training_options *options) {
  *options = (tg_training_options){.loss_beta = 1,
                                   .ignore_index = -100,
                                   .beta1 = 0.9,
                                   .beta2 = 0.999,
                                   .momentum = 0.9,
                                   .epsilon = TG_OF_OPTIMIZER,
                                   .weight_decay = TG_OF_OPTIMIZER,
                                   .partials = 1,
                                   .parameters = TG_F32,
                                   .state = TG_F32};
}

double tg_training_epsilon(const tg_training_options *options) {
  return options->epsilon < 0 ? optimizers[options->optimizer].epsilon : options->epsilon;
}

double tg_training_weight_decay(const tg_training_options *options) {
  return options->weight_decay < 0 ? optimizers[options->optimizer].weight_decay : options->weight_decay;
}

static void append(char *list, size_t size, const char *name) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

tg_status tg_loss_parse(const char *name, tg_loss *out_loss, tg_diag *diag) {
  for (int i = 0; i < TG_LOSS_COUNT; i++) {
    if (strcmp(losses[i], name)) continue;
    *out_loss = (tg_loss)i;
    return TG_OK;
  }
  char names[512] = "";
  for (int i = 0; i < TG_LOSS_COUNT; i++) append(names, sizeof names, losses[i]);
  return tg_fail(diag, TG_INVALID, "no loss \"%s\" (%s)", name, names);
}

tg_status tg_optimizer_parse(const char *name, tg_optimizer *out_optimizer, tg_diag *diag) {
  for (int i = 0; i < TG_OPTIMIZER_COUNT; i++) {
    if (strcmp(optimizers[i].name, name)) continue;
    *out_optimizer = (tg_optimizer)i;
    return TG_OK;
  }
  char names[256] = "";
  for (int i = 0; i < TG_OPTIMIZER_COUNT; i++) append(names, sizeof names, optimizers[i].name);
  return tg_fail(diag, TG_INVALID, "no optimizer \"%s\" (%s)", name, names);
}

double tg_step_number_value(const tg_training_options *options, tg_step_number number, uint32_t step,
                            double learning_rate, double loss_scale) {
  double t = (double)step + 1;
  switch (number) {
  case TG_STEP_LR: return learning_rate;
  case TG_STEP_ADAM_SIZE: return learning_rate / (1 - pow(options->beta1, t));
  case TG_STEP_ADAM_CORRECTION: return 1 / sqrt(1 - pow(options->beta2, t));
  case TG_STEP_LOSS_SCALE: return loss_scale;
  case TG_STEP_INVERSE_SCALE: return 1 / loss_scale;
  case TG_STEP_NUMBER_COUNT: break;
  }
  return 0;
}
