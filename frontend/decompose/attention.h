/* Attention as ONNX has it, with what the domain com.microsoft adds. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_ATTENTION_H
#define TEGULA_FRONTEND_DECOMPOSE_ATTENTION_H

#include "frontend/decompose/compose.h"

typedef struct tg_attention_more {
  tg_value *sink;   /* [heads of queries], or NULL: a score of each row that counts in its sum alone */
  bool finite_mask; /* no element of the mask is -infinity, so each row sees what it saw without */
} tg_attention_more;

/* What a node of Attention computes, in results[0 .. 3]; the node itself stays. */
tg_status tg_compose_attention(tg_build *b, const tg_node *node, tg_attention_more more, tg_value **results,
                               tg_diag *diag);

/* The two factors, of queries and of keys, whose product scores are scaled by: `scale`, and where that is TG_NOT_GIVEN
 * 1 / sqrt(size). Below 0 queries have the sign. */
typedef struct tg_score_factors {
  double queries, keys;
} tg_score_factors;
tg_score_factors tg_attention_factors(double scale, int64_t size);

/* x [batch, heads, positions, size]: each head of keys serves as many neighbouring heads of queries. */
tg_value *tg_repeat_heads(tg_build *b, tg_value *x, int64_t times_each);

#endif
