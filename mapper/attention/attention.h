/* Two products with a softmax of rows between them, as one section: what the first one leaves in the
 * accumulator goes through scale, mask and softmax to the scratchpad, where the second one reads it.
 *
 * A tile computes a unit after the other: a block of rows of one product of the batch, for all keys. */
#ifndef TEGULA_MAPPER_ATTENTION_ATTENTION_H
#define TEGULA_MAPPER_ATTENTION_ATTENTION_H

#include "mapper/attention/grid.h"
#include "mapper/gemm/tiling.h"
#include "mapper/section/stage.h"
#include "mapper/vector/softmax.h"

/* A tensor as matrices, one for each product, as they lie in DRAM: consecutive elements run along a row. */
typedef struct tg_matrices {
  tg_value *value;
  int64_t radix[2], stride[2]; /* digits of the product's number; strides in elements, 0: products share it */
  int64_t rows, row_stride, columns, column_stride;
} tg_matrices;

/* `value` for each product of `result`, by strides of its dimensions; broadcast where it is 1 long. False if its walk had
 * too many digits. And what is a row becomes a column. */
bool tg_attention_view(const tg_value *result, const tg_value *value, const int64_t *stride, int64_t rows,
                       int64_t columns, tg_matrices *out);
void tg_attention_transpose(tg_matrices *m);
/* A walk over rows of matrices, `radix` of each, of which those beyond its own are not there. parts.c */
void tg_attention_set_walk(tg_agcu_instr *in, const tg_matrices *x, int64_t radix, int entry,
                           int64_t residue);

/* Segments of the microcode: those of the two VOPs of a softmax, then the drain of the second product. */
enum { TG_ATTENTION_DRAIN = TG_SOFTMAX_FIRST_SEGMENTS + 2, TG_ATTENTION_SEGMENTS = TG_ATTENTION_DRAIN + 1 };

typedef struct tg_attention {
  const tg_kernel *kernel;
  tg_gemm scores, context; /* the two products, of which shapes, formats and operands count */
  int64_t products, queries, keys;
  tg_matrices q, k, v, out, epilogue_operand[TG_EPILOGUE_OPERANDS];
  int epilogue_operand_kind[TG_EPILOGUE_OPERANDS], out_kind; /* of streams */
  tg_dtype weights;           /* format of the softmax's result as the second product reads it */
  int unroll, own_unroll;     /* vectors at a time of the softmax's VOPs */
  int words[2 * TG_SEGMENTS]; /* of the microcode's segments */

  tg_attention_grid grid; /* a unit of work is a block of rows */
  uint32_t copies;        /* of what is loaded: 2, where there is room for a unit more */
  double cycles;
} tg_attention;

/* Columns of the two products as they lie on the chip: of rows that the softmax sums, and of
 * whole vectors. */
uint32_t tg_attention_keys(const tg_attention *a);
uint32_t tg_attention_width(const tg_params *m, const tg_attention *a);
/* The products as the sizes of their blocks are asked for. */
tg_gemm_tiling tg_attention_scores(const tg_attention *a);
tg_gemm_tiling tg_attention_context(const tg_params *m, const tg_attention *a);
/* Bank rows: what the softmax keeps between its VOPs, of which exps come first, its result, and that of the
 * second product. */
uint32_t tg_attention_exp_rows(const tg_params *m, const tg_attention *a);
uint32_t tg_attention_weight_rows(const tg_params *m, const tg_attention *a);
uint32_t tg_attention_out_rows(const tg_params *m, const tg_attention *a);
/* Of an operand of the fused nodes. */
uint32_t tg_attention_epilogue_operand_rows(const tg_params *m, const tg_attention *a, int epilogue_operand);
uint32_t tg_attention_epilogue_operand_take(const tg_attention *a, int epilogue_operand);

/* The channels of its section, in the order of their banks. */
typedef enum tg_attention_role {
  TG_ROLE_QUERIES,
  TG_ROLE_KEYS,
  TG_ROLE_VALUES,
  TG_ROLE_KEPT,    /* between the VOPs of the softmax */
  TG_ROLE_WEIGHTS, /* from vx to mx */
  TG_ROLE_CONTEXT, /* results, from vx to tx */
  TG_ROLE_SCORED,  /* operands of the fused nodes, each in banks of its own */
  TG_ROLE_SCORED_ALL = TG_ROLE_SCORED + TG_EPILOGUE_OPERANDS, /* which come together */
  TG_ROLE_SCORES,                                             /* in the accumulator, from mx to vx; */
  TG_ROLE_PRODUCT,                                            /* and the second product */
  TG_ROLE_CONTEXT_AWAY,                                       /* results, from tx to the AGCU */
  TG_ATTENTION_ROLES
} tg_attention_role;
void tg_attention_plan_channels(const tg_params *m, const tg_attention *a,
                                tg_channel_plan plans[TG_ATTENTION_ROLES]);

/* Its stages, in the order of each queue: of a unit of work after the other, while the ones before are under way. */
typedef enum tg_attention_stage {
  TG_STAGE_LOADS, /* queries, keys, and operands of the fused nodes */
  TG_STAGE_VALUES,
  TG_STAGE_SECOND_PRODUCT,
  TG_STAGE_SCORES,
  TG_STAGE_EXPS, /* the two VOPs of the softmax */
  TG_STAGE_WEIGHTS,
  TG_STAGE_CONTEXT, /* the drain */
  TG_STAGE_OUT,
} tg_attention_stage;
enum { TG_NEST_UNITS, TG_NEST_BLOCKS_OF_ROWS, TG_ATTENTION_NESTS };
void tg_attention_list_stages(const tg_params *m, const tg_attention *a, tg_stages *out);
/* Cycles of a port for a unit's results. */
double tg_attention_out_cycles(const tg_params *m, const tg_attention *a);

/* False: it is not computed as one section, or would be no faster so. */
bool tg_describe_attention(const tg_compile *c, const tg_kernel *kernel, tg_attention *out);
/* Tiles it: false if nothing fits. tiling.c */
bool tg_tile_attention(const tg_compile *c, tg_attention *a);
/* Streams of the first VOP: the accumulator, operands of the fused nodes, what is kept; `unroll` each. */
bool tg_attention_microcode(const tg_compile *c, const tg_attention *a, tg_mc *mc);

#endif
