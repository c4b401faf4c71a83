/* Cast rules from outside of the tables: files, a callback, lists of operators. */
#ifndef TEGULA_FRONTEND_PRECISION_CAST_RULES_H
#define TEGULA_FRONTEND_PRECISION_CAST_RULES_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rule asks of an operand or a result. */
typedef enum tg_need {
  TG_NEED_KEEP,  /* as it comes; a result: in what the operator computes in */
  TG_NEED_LOWER, /* the policy's 16-bit format */
  TG_NEED_FP32,  /* and three more formats by name */
  TG_NEED_BF16,
  TG_NEED_FP16,
  TG_NEED_TF32,
  TG_NEED_ORIGINAL,    /* as the model has it */
  TG_NEED_WIDEST,      /* fp32 if one of the operands is, else lower */
  TG_NEED_FIRST,       /* as the first operand: fp32 if it is, else lower */
  TG_NEED_INFER,       /* fp32 if more operands are fp32 than lower, else lower */
  TG_NEED_ANY_LOWER,   /* lower if one of the operands is, else as the model has them */
  TG_NEED_MOST_LOWER,  /* lower if more than half of at most five operands are, else fp32 */
  TG_NEED_UPSTREAM,    /* lower if all that read the result take it so; an operand else as it comes, a result
                          fp32 */
  TG_NEED_RESULT_FP32, /* operands as they come, the result fp32 */
  TG_NEED_BANNED,      /* the operator is refused */
} tg_need;

enum { TG_CAST_RULE_OPERANDS = 64 };

/* "bf16,bf16,keep -> fp32": a need for each operand, the last for all further ones, and one for the
 * result. */
typedef struct tg_cast_spec {
  tg_need operands[TG_CAST_RULE_OPERANDS];
  int operand_count;
  tg_need result; /* KEEP when not given */
} tg_cast_spec;

/* TG_INVALID says what is wrong with `text`. */
tg_status tg_cast_spec_parse(const char *text, tg_cast_spec *out_spec, tg_diag *diag);

/* Rules of a file, in its order; the last that applies to a node decides, one of a node before one of an
 * operator.
 *
 *   # comment
 *   op Softmax fp32 -> bf16          every Softmax; also by a framework's name (softmax, batch_matmul)
 *   node "fc1" bf16,bf16,keep -> fp32
 *   id 7 tf32                         the node at position 7 of the model */
typedef struct tg_cast_rules tg_cast_rules;
/* On `arena`. TG_INVALID names file and line. */
tg_status tg_cast_rules_read(tg_arena *arena, const char *path, tg_cast_rules **out_rules, tg_diag *diag);
/* NULL: none applies. `names`: what the node's operator is called, in any framework; NULL ends them. */
const tg_cast_spec *tg_cast_rules_find(const tg_cast_rules *rules, const char *node, int64_t id,
                                       const char *const *names, int *out_line);
const char *tg_cast_rules_path(const tg_cast_rules *rules);
/* What rule 0 .. count - 1 names, and its line: who applies the rules reports what nothing is called by. */
int tg_cast_rules_count(const tg_cast_rules *rules);
const char *tg_cast_rules_op(const tg_cast_rules *rules, int index, int *out_line);   /* NULL: no op rule */
const char *tg_cast_rules_node(const tg_cast_rules *rules, int index, int *out_line); /* NULL: no node rule */
int64_t tg_cast_rules_id(const tg_cast_rules *rules, int index, int *out_line);       /* -1: no id rule */

/* Decides one node: NULL leaves it to rules and policy, otherwise a text as of tg_cast_spec_parse, read
 * before the next call. `node` and `op` are the model's; `dtypes` those of the operands as they arrive
 * ("f32", "bf16" ..., NULL for an absent one). */
typedef const char *tg_cast_callback(void *user, const char *node, const char *op, int operand_count,
                                     const char *const *dtypes);

/* Names of operators, one a line; blank lines and lines that begin with # are skipped. */
typedef struct tg_op_list {
  const char *path;
  const char **names;
  int *lines;
  size_t count, capacity, lines_capacity;
} tg_op_list;
tg_status tg_op_list_read(tg_arena *arena, const char *path, tg_op_list **out_list, tg_diag *diag);
bool tg_op_list_has(const tg_op_list *list, const char *name);

#ifdef __cplusplus
}
#endif
#endif
