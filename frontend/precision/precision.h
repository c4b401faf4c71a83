/* Precision policies: tables of required dtypes over one pass that inserts casts right before use. */
#ifndef TEGULA_FRONTEND_PRECISION_PRECISION_H
#define TEGULA_FRONTEND_PRECISION_PRECISION_H

#include "frontend/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_precision_preset { TG_PRESET_MP0, TG_PRESET_MP1, TG_PRESET_MP4 } tg_precision_preset;

/* Precision of the running accumulation across K tiles (docs/numerics.md). */
typedef enum tg_tiling_accum { TG_ACCUM_FP32, TG_ACCUM_BF16SR } tg_tiling_accum;

typedef struct tg_precision_options {
  tg_precision_preset preset;   /* --graphamp-preset */
  const char *disable_graphamp; /* extended regex on node names, or NULL: --disable-graphamp */
  tg_tiling_accum tiling_accum; /* --tiling-accum: for the mapper, no pass here reads it */
  int k_tile;                   /* --k-tile: the same */
} tg_precision_options;

/* mp0, fp32, 128. */
void tg_precision_defaults(tg_precision_options *options);

/* "mp0" .. to a preset; TG_INVALID names the presets there are. */
tg_status tg_precision_preset_parse(const char *name, tg_precision_preset *out_preset, tg_diag *diag);

/* Inserts the casts that the policy asks for, sets each node's result dtypes and node->rule, then shares
 * casts, removes round trips and folds casts of constants. Needs shapes and dtypes; keeps both. TG_INVALID:
 * the regex does not compile. */
tg_status tg_precision_apply(tg_graph *graph, const tg_precision_options *options, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
