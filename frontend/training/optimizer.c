#include "frontend/training/optimizer.h"

#include <string.h>

static bool is_adam(tg_optimizer optimizer) {
  return optimizer == TG_OPTIMIZER_ADAM || optimizer == TG_OPTIMIZER_ADAMW;
}

bool tg_optimizer_reads(const tg_training_options *options, tg_step_number number) {
  switch (number) {
  case TG_STEP_LR: return options->optimizer != TG_OPTIMIZER_ADAM;
  case TG_STEP_ADAM_SIZE:
  case TG_STEP_ADAM_CORRECTION: return is_adam(options->optimizer);
  default: return false;
  }
}

const char *tg_optimizer_state_name(tg_optimizer optimizer, int k, tg_arena *arena) {
  const char *word = tg_optimizer_state(optimizer);
  for (; *word; k--) {
    size_t length = strcspn(word, " ");
    if (!k) return tg_arena_strndup(arena, word, length);
    word += length + strspn(word + length, " ");
  }
  return NULL;
}

static tg_value *add(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_ADD, x, y); }
static tg_value *sub(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_SUB, x, y); }
static tg_value *mul(tg_build *b, tg_value *x, tg_value *y) { return tg_build_binary(b, TG_OP_MUL, x, y); }
static tg_value *scaled(tg_build *b, tg_value *x, double factor) {
  return tg_build_with(b, TG_OP_MUL, x, factor);
}

static void sgd(tg_build *b, const tg_training_options *options, tg_update *u, tg_value *g) {
  if (options->optimizer != TG_OPTIMIZER_SGD) {
    tg_value *v = u->next_state[0] = add(b, scaled(b, u->state[0], options->momentum), g);
    g = options->optimizer == TG_OPTIMIZER_MOMENTUM ? v : add(b, g, scaled(b, v, options->momentum));
  }
  u->next = sub(b, u->parameter, mul(b, u->lr, g));
}

/* Its denominator takes the place of a division by a multiplication with TG_STEP_ADAM_CORRECTION. */
static void adam(tg_build *b, const tg_training_options *options, tg_update *u, tg_value *g) {
  tg_value *p = u->parameter;
  double decay = tg_training_weight_decay(options);
  if (options->optimizer == TG_OPTIMIZER_ADAMW && decay != 0)
    p = mul(b, p, tg_build_from(b, TG_OP_SUB, 1, scaled(b, u->lr, decay)));
  tg_value *m = u->next_state[0] =
      add(b, scaled(b, u->state[0], options->beta1), scaled(b, g, 1 - options->beta1));
  tg_value *v = u->next_state[1] =
      add(b, scaled(b, u->state[1], options->beta2), mul(b, scaled(b, g, 1 - options->beta2), g));
  tg_value *root = mul(b, tg_build_unary(b, TG_OP_SQRT, v), u->adam_correction);
  tg_value *denominator = tg_build_with(b, TG_OP_ADD, root, tg_training_epsilon(options));
  u->next = sub(b, p, tg_build_binary(b, TG_OP_DIV, mul(b, u->adam_size, m), denominator));
}

static void adagrad(tg_build *b, const tg_training_options *options, tg_update *u, tg_value *g) {
  tg_value *s = u->next_state[0] = add(b, u->state[0], mul(b, g, g));
  tg_value *denominator =
      tg_build_with(b, TG_OP_ADD, tg_build_unary(b, TG_OP_SQRT, s), tg_training_epsilon(options));
  u->next = sub(b, u->parameter, tg_build_binary(b, TG_OP_DIV, mul(b, u->lr, g), denominator));
}

void tg_optimizer_build(tg_build *b, const tg_training_options *options, tg_update *u) {
  double decay = tg_training_weight_decay(options);
  tg_value *g = u->gradient;
  if (decay != 0 && options->optimizer != TG_OPTIMIZER_ADAMW) g = add(b, g, scaled(b, u->parameter, decay));
  if (is_adam(options->optimizer))
    adam(b, options, u, g);
  else if (options->optimizer == TG_OPTIMIZER_ADAGRAD)
    adagrad(b, options, u, g);
  else
    sgd(b, options, u, g);
}
