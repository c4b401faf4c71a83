/* The tables of the policies, and one node's verdict; shared by the files of this folder. */
#ifndef TEGULA_FRONTEND_PRECISION_POLICY_H
#define TEGULA_FRONTEND_PRECISION_POLICY_H

#include "frontend/precision/precision.h"

/* --- tables */

typedef enum tg_cast_system {
  TG_SYSTEM_HMP,
  TG_SYSTEM_HMP_O2,
  TG_SYSTEM_CUDA,
  TG_SYSTEM_CPU,
  TG_SYSTEM_HPU,
  TG_SYSTEM_RAF
} tg_cast_system;

typedef enum tg_cast_list {
#define TG_CAST_LIST(id, system, label, source) TG_LIST_##id,
#include "frontend/precision/lists.def"
#undef TG_CAST_LIST
  TG_LIST_COUNT
} tg_cast_list;

typedef struct tg_cast_list_info {
  const char *id; /* as in lists.def */
  tg_cast_system system;
  const char *label, *source;
} tg_cast_list_info;
const tg_cast_list_info *tg_cast_list_get(tg_cast_list list);

enum { TG_ALL_OPERANDS = 255 };

/* TG_CAST_RULE(list, operator, need, count, rest): `need` of the first `count` operands, `rest` of the
 * others. */
typedef struct tg_cast_rule {
  tg_cast_list list;
  const char *name;
  tg_need need;
  int count;
  tg_need rest;
} tg_cast_rule;

extern const tg_cast_rule tg_cast_rule_table[];
extern const int tg_cast_rule_count;

/* By name, or by name without the overload behind the dot. NULL: not in the list. */
const tg_cast_rule *tg_cast_rule_find(tg_cast_list list, const char *name);
/* Some list of the system has it, or it is a framework's name of an ONNX operator. */
bool tg_cast_name_is_known(const char *name);

typedef enum tg_framework { TG_FRAMEWORK_TORCH, TG_FRAMEWORK_RAF } tg_framework;
enum { TG_MAX_NAMES = 8 };
/* What the framework calls the node, best first, then NULL. A node of known origin has that name only. */
void tg_framework_names(const tg_node *node, tg_framework framework, const char *out_names[TG_MAX_NAMES + 1]);
enum { TG_MAX_RULE_NAMES = 2 * TG_MAX_NAMES + 1 };
/* What a rule may call the node's operator: ONNX's name, then those of the frameworks, then NULL. */
void tg_rule_names(const tg_node *node, const char *out_names[TG_MAX_RULE_NAMES + 1]);

typedef struct tg_graphamp_row {
  tg_precision_preset preset;
  unsigned flags;  /* of tg_op_flag, or 0 */
  const char *ops; /* names of ONNX with spaces between, or NULL; neither: any operator */
  tg_need operands, others, result;
  const char *rule, *source;
} tg_graphamp_row;
const tg_graphamp_row *tg_graphamp_find(tg_precision_preset preset, const tg_node *node);

/* --- one pass over a graph */

/* What the pass made of a node, for the backward nodes that follow it. */
typedef struct tg_forward_formats {
  tg_dtype computes;       /* of its operands as it now reads them; TG_NONE: no float */
  const tg_dtype *arrived; /* of each operand, before its cast; NULL: not visited */
  int operands;
  bool product;
} tg_forward_formats;

typedef struct tg_cast_pass {
  tg_graph *graph;
  const tg_precision_options *options;
  tg_dtype lower;
  tg_arena scratch;
  int value_count;             /* before the pass added values */
  tg_dtype *written;           /* by value->index: the dtype the model gave it */
  bool *wants_lower;           /* by value->index: all that read it take `lower` (upstream.c) */
  bool *converted;             /* by value->index: behind a conversion of the model, under `default` */
  tg_value **cast;             /* by value->index and dtype: the first cast of it, to be shared */
  tg_forward_formats *forward; /* by node->id */
  int64_t forward_count;
  tg_diag *diag;
} tg_cast_pass;

typedef struct tg_verdict {
  tg_dtype *operands;        /* one an input; TG_NONE: as it comes */
  tg_dtype result;           /* TG_NONE: what the operator computes in */
  const char *rule, *source; /* rule NULL: nobody decided */
} tg_verdict;

/* The verdict on a node, whoever decides: a rounding that was written, the forward node, a region, the callback, rules,
 * the model's metadata, the family. The operands that `verdict` has room for are TG_NONE before. TG_INVALID: a rule or
 * answer is wrong, or the family refuses. verdict.c */
tg_status tg_verdict_find(tg_cast_pass *pass, const tg_node *node, tg_verdict *verdict);
/* The family's tables; the operands that `verdict` has room for are TG_NONE. TG_INVALID: the family
 * refuses. */
tg_status tg_family_decide(tg_cast_pass *pass, const tg_node *node, tg_verdict *verdict);
/* From a rule of the user's. TG_INVALID: tf32 of what is no product. */
tg_status tg_verdict_fill(tg_cast_pass *pass, const tg_node *node, const tg_cast_spec *spec,
                          tg_verdict *verdict);
/* Keeps what backward nodes will ask of `node`, once its operands are cast; `arrived` as long as the pass. */
void tg_forward_record(tg_cast_pass *pass, const tg_node *node, const tg_dtype *arrived);
/* The verdict on a backward node (follow.c). False: it is none. */
bool tg_forward_decide(const tg_cast_pass *pass, const tg_node *node, tg_verdict *verdict);
/* Fills pass->wants_lower for a preset that asks for it. */
void tg_find_upstream(tg_cast_pass *pass);

/* A constant of rank 0: a number of the program, not a tensor. It has no say in what an operator computes
 * in. */
bool tg_is_number(const tg_value *value);
/* The dtype that an operator computes in, from its operands as they are. */
tg_dtype tg_natural_result(const tg_node *node);
tg_dtype tg_widest(tg_dtype a, tg_dtype b);

/* HMP's messages about its lists, and their contradictions. */
tg_status tg_hmp_check_lists(tg_cast_pass *pass);
void tg_cast_say(const tg_cast_pass *pass, bool warning, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
