/* From a model to one training step: forward, loss, backward and update as one graph for the array.
 *
 *   model.onnx -> tg_graph -> tg_training_build -> step graph + plan -> tg_frontend_lower -> mapper ->
 * program
 *
 * The step graph's inputs are the model's own, the labels, a few numbers that change from step to step
 * (learning rate, bias corrections, loss scale) and what stays on the device: parameters, optimizer state and
 * running statistics, each carried from an output to the input it came from (tg_carry). Its outputs are the
 * loss, the carried tensors and what else the options ask for. The plan says which is which and where each
 * begins.
 *
 * Autodiff comes before the precision policy: backward nodes name the node they belong to (tg_node.forward)
 * and the policy lets them follow its formats. Optimizer and loss-scale nodes keep the formats they are
 * written in (disable_graphamp). */
#ifndef TEGULA_FRONTEND_TRAINING_TRAINING_H
#define TEGULA_FRONTEND_TRAINING_TRAINING_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_loss {
#define TG_LOSS(id, name, labels, origin, formula) TG_LOSS_##id, /* TG_LOSS_MODEL: no labels */
#include "frontend/training/losses.def"
#undef TG_LOSS
  TG_LOSS_COUNT
} tg_loss;

typedef enum tg_optimizer {
#define TG_OPTIMIZER(id, name, state, epsilon, weight_decay, update) TG_OPTIMIZER_##id,
#include "frontend/training/optimizers.def"
#undef TG_OPTIMIZER
  TG_OPTIMIZER_COUNT
} tg_optimizer;

#define TG_OF_OPTIMIZER (-1.0) /* epsilon, weight_decay: as optimizers.def has it for the optimizer */

typedef struct tg_training_options {
  tg_loss loss;
  const char *loss_output; /* the model's output that the loss reads; NULL: its first */
  double loss_beta;        /* smooth_l1, huber: where the square ends, above 0 */
  bool ignore;             /* cross_entropy, nll: rows labelled ignore_index do not count, as in PyTorch */
  double ignore_index;     /* a whole number; -100 by default */
  tg_optimizer optimizer;
  double momentum, beta1, beta2;
  double epsilon, weight_decay; /* or TG_OF_OPTIMIZER */
  double clip_norm;             /* gradients scaled by min(1, clip_norm / (norm of all + 1e-6)); 0: not */
  double clip_value;            /* each element of a gradient at most this far from 0; 0: not */
  bool frozen_norms;   /* BatchNormalization normalises by its running statistics, which stay as they are */
  const char *frozen;  /* extended regex: parameters whose names match are not trained; NULL: none */
  const char *trained; /* and what is trained though it looks like a constant of the model; NULL: nothing */

  int partials;        /* --data-parallel: partial sums of linear weight gradients; 1: none */
  bool reduce_bf16sr;  /* --weight-grad-reduce */
  tg_dtype parameters; /* format in which forward reads them: TG_F32, or TG_BF16 (mp4, default) */
  bool fp32_params;    /* with BF16 parameters: an FP32 copy is updated, a BF16 copy made of it */
  bool stochastic;     /* BF16 parameters without that copy: written back with stochastic rounding */
  tg_dtype state;      /* of optimizer state: TG_F32, or TG_BF16 (--bf16-optimizer) */
  bool scale_loss;     /* --loss-scale: gradients carry the number LOSS_SCALE; a step that finds an infinity
                          or NaN in any of them leaves everything carried as it was */
  bool recompute;      /* activations that are cheap to compute anew from kept ones are not kept */
  bool keep_gradients; /* the parameters' gradients (unscaled, before clipping) become outputs */
  bool keep_outputs;   /* the model's outputs are the step's first; else it has none of them */
} tg_training_options;

/* sgd, cross_entropy, momentum 0.9, betas 0.9 0.999, epsilon and weight decay of the optimizer, FP32, no
 * partials. */
void tg_training_defaults(tg_training_options *options);
double tg_training_epsilon(const tg_training_options *options); /* that are in force */
double tg_training_weight_decay(const tg_training_options *options);
/* By name, as in the tables. TG_INVALID names those there are. */
tg_status tg_loss_parse(const char *name, tg_loss *out_loss, tg_diag *diag);
tg_status tg_optimizer_parse(const char *name, tg_optimizer *out_optimizer, tg_diag *diag);
const char *tg_loss_name(tg_loss loss);
bool tg_loss_has_labels(tg_loss loss); /* does it compare with labels? Else it is an output of the model */
bool tg_loss_lists_classes(
    tg_loss loss); /* labels [N,C]: the classes of each row, ended by a number below 0 */
const char *tg_optimizer_name(tg_optimizer optimizer);
const char *tg_optimizer_state(tg_optimizer optimizer); /* words, as in optimizers.def */

/* Numbers of one step, inputs of shape [1]. */
typedef enum tg_step_number {
  TG_STEP_LR,              /* learning rate: sgd, momentum, nesterov, adagrad, and adamw's decay */
  TG_STEP_ADAM_SIZE,       /* lr / (1 - beta1^t), t = 1 in the first step */
  TG_STEP_ADAM_CORRECTION, /* 1 / sqrt(1 - beta2^t) */
  TG_STEP_LOSS_SCALE,
  TG_STEP_INVERSE_SCALE, /* 1 / loss scale, computed in double */
  TG_STEP_NUMBER_COUNT
} tg_step_number;

typedef enum tg_step_role {
  TG_ROLE_OF_DATA,  /* an input of the model */
  TG_ROLE_OF_LABEL, /* the loss's second operand */
  TG_ROLE_OF_NUMBER,
  TG_ROLE_OF_PARAMETER, /* what forward reads */
  TG_ROLE_OF_MASTER,    /* the FP32 copy under fp32_params */
  TG_ROLE_OF_STATE,     /* optimizer state */
  TG_ROLE_OF_STATISTIC, /* running mean and variance of BatchNormalization */
} tg_step_role;

/* An input of the step graph. */
typedef struct tg_step_tensor {
  tg_step_role role;
  const char *name;        /* the model's: of the input, or of the parameter it belongs to */
  const char *state;       /* STATE: which, a word of optimizers.def; else NULL */
  tg_step_number number;   /* NUMBER */
  int input;               /* of the step graph */
  int output;              /* that it is carried from; -1: none */
  int gradient;            /* PARAMETER with keep_gradients: the output that is its gradient; else -1 */
  const tg_value *initial; /* the model's constant of FP32 that it starts from; NULL: zeros, or not carried */
} tg_step_tensor;

typedef struct tg_training_plan {
  tg_step_tensor *tensors; /* one an input of the step graph, in that order */
  int tensor_count;
  int loss;           /* output: f32[1], mean over the batch, before the update, not scaled */
  int found_inf;      /* output: f32[1], 1 if the step was skipped; -1 without scale_loss */
  int labels;         /* input that takes the labels; -1: the model reads them itself */
  bool classes;       /* labels are class indices */
  int dropouts;       /* Dropout nodes in inference form: the identity */
  const char *number; /* an initializer of rank 0 that the loss depends on and is not trained; NULL: none */
  int recomputed;     /* nodes that backward computes anew */
  int model_outputs;  /* outputs 0 .. model_outputs - 1 are the model's (keep_outputs), else 0 */
} tg_training_plan;

/* TG_INVALID: a loss, an optimizer or a format that there is not, or a number that is not finite. */
tg_status tg_training_check(const tg_training_options *options, tg_diag *diag);

/* `model` as imported, its sizes bound and inferred; it is not changed, and its constants' data is borrowed.
 * Trainable are the initializers of floats (tg_value.initializer) that the loss depends on differentiably,
 * but for those of rank 0, those that hold a number of 1e4 or more (masks), tables of sines and cosines
 * (positions), which only are if they match `trained`, and those matching `frozen`. The step graph and the
 * plan live on `arena`. TG_INVALID: as tg_training_check, an operator on the way has no gradient (by name), the loss's output does
 * not fit, or nothing is trainable. */
tg_status tg_training_build(const tg_graph *model, const tg_training_options *options, tg_arena *arena,
                            tg_graph **out_step, tg_training_plan *out_plan, tg_diag *diag);

/* The value of a number in step `step` (0 the first) with learning rate and loss scale as they are then. */
double tg_step_number_value(const tg_training_options *options, tg_step_number number, uint32_t step,
                            double learning_rate, double loss_scale);

#ifdef __cplusplus
}
#endif
#endif
