/* BatchNormalization as it is in training. */
#ifndef TEGULA_FRONTEND_TRAINING_BATCH_STATISTICS_H
#define TEGULA_FRONTEND_TRAINING_BATCH_STATISTICS_H

#include "frontend/graph.h"

/* One running statistic: next = momentum * running + (1 - momentum) * factor * of_batch. */
typedef struct tg_statistic {
  tg_value *running;  /* the model's constant, which nothing reads any more */
  tg_value *of_batch; /* f32[C] */
  double momentum;    /* ONNX's: 1 - PyTorch's */
  double factor;      /* n / (n - 1) for a variance: the running one is unbiased, as PyTorch has it */
} tg_statistic;

/* Every BatchNormalization of `graph` reads mean and (biased) variance of the batch, computed before it in
 * FP32, in place of its running statistics. The list is on the graph's arena. TG_INVALID: running statistics
 * that are not constant, or a channel with one element. */
tg_status tg_batch_statistics(tg_graph *graph, tg_statistic **out_statistics, size_t *out_count,
                              tg_diag *diag);

/* A BatchNormalization with training_mode = 1 of an inferred graph reads the statistics of the batch as
 * above, and has training_mode = 0 then: what ONNX means by it without a training step. TG_INVALID: the batch
 * is empty. */
tg_status tg_normalize_by_batch(tg_graph *graph, tg_diag *diag);

/* Every BatchNormalization normalises by the operands that it has, and no Dropout drops, also where the model
 * was exported for training. How many nodes that changed. */
int tg_make_inference(tg_graph *graph);
/* The same of Dropouts alone. */
int tg_stop_dropout(tg_graph *graph);

#endif
