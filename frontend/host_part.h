/* What the array cannot begin: nodes whose results are as large as values that it computes say (NonZero, Unique, Compress,
 * NonMaxSuppression). They, and what reads them, run on the host when the array is done. */
#ifndef TEGULA_FRONTEND_HOST_PART_H
#define TEGULA_FRONTEND_HOST_PART_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_host_part {
  /* the model from those nodes on, not inferred; its inputs carry what the array gives; NULL: nothing */
  tg_graph *graph;
  const char *where; /* "node \"nms\" (NonMaxSuppression)", the first of them */
  int nodes;         /* the model's */
  int *outputs;      /* by output of the model: output of the array's part, or -1 - output of this one */
  int output_count;  /* of the model */
  int *sources;      /* by input of `graph`: the output of the array's part that it is */
} tg_host_part;

/* Takes such nodes out of a model with all sizes bound, which is left as it is. *out_array: the rest, on the model's arena, which has
 * outputs for what the host's part reads; the model itself where nothing is taken out, also where it cannot be: inference says
 * then why. */
void tg_cut_host_part(tg_graph *model, tg_graph **out_array, tg_host_part *out_part);

typedef struct tg_host_tensor {
  tg_dtype dtype;
  int rank;
  int64_t dims[TG_MAX_RANK];
  const void *data; /* dense */
} tg_host_tensor;

/* Computes that part: inputs[i] is output sources[i] of the array. Its outputs into `out`, their data on `arena`. TG_INVALID: a node is
 * refused, or all of it is more than a host should do. */
tg_status tg_run_host_part(const tg_host_part *part, tg_arena *arena, const tg_host_tensor *inputs,
                           tg_host_tensor *out, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
