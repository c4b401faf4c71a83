/* Explains a value, or a single operation, in each of the float formats, as JSON; see `tegula fp --help`. */
#ifndef TEGULA_RUNTIME_FP_EXPLAIN_H
#define TEGULA_RUNTIME_FP_EXPLAIN_H

#include "frontend/base/status.h"
#include "runtime/fp/format.h"

#include <jansson.h>

typedef enum tg_fp_operation {
  TG_FP_VALUE,
  TG_FP_CAST,
  TG_FP_SQRT,
  TG_FP_ADD,
  TG_FP_SUB,
  TG_FP_MUL,
  TG_FP_DIV,
  TG_FP_FMA,
} tg_fp_operation;

/* Where stochastic rounding takes its random number from (docs/numerics.md). */
typedef struct tg_fp_coordinates {
  uint64_t seed;
  uint32_t step, node, tile, row, column;
} tg_fp_coordinates;

typedef struct tg_fp_question {
  tg_fp_operation operation;
  const char *texts[3]; /* operands: a number, or [format:]0xBITS */
  unsigned formats;     /* bit tg_fp_format_id; 0: all */
  bool draws;           /* stochastic rounding is drawn at `at`, not only explained */
  tg_fp_coordinates at;
} tg_fp_question;

/* The operation of a name or sign, with the number of operands; false: there is none. */
bool tg_fp_find_operation(const char *name, tg_fp_operation *out_operation, int *out_operands);

/* The object is the caller's. TG_INVALID: an operand that is no number. */
tg_status tg_fp_explain(const tg_fp_question *question, json_t **out_object, tg_diag *diag);
void tg_fp_print(const json_t *object, FILE *out);

#endif
