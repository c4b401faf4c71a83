/* Precision policies: tables of required dtypes over one pass that inserts casts right before use.
 *
 * Four families: GraphAMP presets, Habana's HMP, torch.autocast, RAF's AutoCast (docs/precision.md). All of
 * them see the model's own operators, with float operands and results; nothing else is ever cast. */
#ifndef TEGULA_FRONTEND_PRECISION_PRECISION_H
#define TEGULA_FRONTEND_PRECISION_PRECISION_H

#include "frontend/graph.h"
#include "frontend/precision/cast_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_precision_family {
  TG_FAMILY_GRAPHAMP, /* options.preset */
  TG_FAMILY_HMP,
  TG_FAMILY_AUTOCAST,
  TG_FAMILY_RAF
} tg_precision_family;

typedef enum tg_precision_preset {
#define TG_PRESET(id, name, doc) TG_PRESET_##id,
#include "frontend/precision/presets.def"
#undef TG_PRESET
  TG_PRESET_COUNT
} tg_precision_preset;

typedef enum tg_hmp_level { TG_HMP_O1, TG_HMP_O2 } tg_hmp_level;
typedef enum tg_autocast_device { TG_AUTOCAST_CUDA, TG_AUTOCAST_CPU, TG_AUTOCAST_HPU } tg_autocast_device;

/* Operands of products, or of convolutions, that a policy leaves in fp32: as they are, in TF32, in BF16. */
typedef enum tg_matmul_precision { TG_MATMUL_HIGHEST, TG_MATMUL_HIGH, TG_MATMUL_MEDIUM } tg_matmul_precision;

/* Precision of the running accumulation across K tiles (docs/numerics.md). */
typedef enum tg_tiling_accum { TG_ACCUM_FP32, TG_ACCUM_BF16SR } tg_tiling_accum;

/* One line without a newline; `warning`: something that the user named has no effect. */
typedef void tg_precision_log(void *user, bool warning, const char *line);

/* Zeroed but for k_tile is mp0. */
typedef struct tg_precision_options {
  tg_precision_preset preset; /* --graphamp-preset, of TG_FAMILY_GRAPHAMP only */
  const char
      *disable_graphamp; /* extended regex on node names, or NULL: --disable-graphamp, in every family */
  tg_tiling_accum tiling_accum; /* --tiling-accum: for the mapper; products are not transposed if it rounds */
  int k_tile;                   /* --k-tile: the same */
  int attention_block; /* --attention blocked: columns of a block at most, or TG_ATTENTION_BLOCK; 0: exact. Not where products round */

  tg_precision_family family; /* --amp */
  tg_dtype amp_dtype;         /* --amp-dtype: TG_BF16 (TG_NONE is that too) or TG_F16 */
  tg_dtype amp_out_dtype;     /* --amp-out-dtype: of outputs computed in amp_dtype; TG_NONE: as declared */
  tg_hmp_level hmp_level;     /* --hmp-opt-level */
  tg_autocast_device device;  /* --autocast-device */
  tg_matmul_precision matmul, conv; /* --matmul-precision, --conv-precision */
  bool mixed_gemm, mixed_softmax;   /* --enable-mixed-precision-ops */

  const tg_op_list *bf16_ops, *fp32_ops; /* of HMP, instead of the built-in lists; NULL: those */
  const tg_cast_rules *rules;            /* --cast-rules: they win over the family; NULL: none */
  tg_cast_callback *callback;            /* asked before the rules; NULL: none */
  void *callback_user;

  tg_precision_log *log; /* or NULL */
  void *log_user;
  bool verbose; /* log lists and decisions too, not only warnings */
} tg_precision_options;

/* mp0, fp32, 128. */
void tg_precision_defaults(tg_precision_options *options);

/* "mp0" .. to a preset; TG_INVALID names the presets there are. */
tg_status tg_precision_preset_parse(const char *name, tg_precision_preset *out_preset, tg_diag *diag);

/* Casts right before use, each node's result dtypes and node->rule, and graph->casts, the account of it.
 * Needs shapes and dtypes; keeps both. TG_INVALID: the regex does not compile, an operator is in both lists
 * of HMP, or RAF or autocast refuse an operator. */
tg_status tg_precision_insert(tg_graph *graph, const tg_precision_options *options, tg_diag *diag);

/* The same, then casts shared, round trips removed and casts of constants folded. */
tg_status tg_precision_apply(tg_graph *graph, const tg_precision_options *options, tg_diag *diag);
void tg_precision_clean(tg_graph *graph); /* that second half */

#ifdef __cplusplus
}
#endif
#endif
