/* The operators of a model and what they may be computed in, as a problem of search.h. */
#ifndef TEGULA_RUNTIME_TUNE_PROBLEM_H
#define TEGULA_RUNTIME_TUNE_PROBLEM_H

#include "runtime/session/session.h"
#include "runtime/tune/search.h"

enum { TG_TUNE_FORMATS = 3, TG_TUNE_ALL_FORMATS = 7 };
extern const char *const tg_tune_formats[TG_TUNE_FORMATS]; /* tf32, fp16, bf16: bits 0, 1, 2 of a set */

typedef struct tg_tune_node {
  const char *name, *op; /* of the model */
  int64_t id;
  bool product;
  const char **rules; /* by candidate; NULL: nothing is asked */
} tg_tune_node;

typedef struct tg_tune_model {
  int node_count, start_count;
  int64_t id_count; /* ids are below */
  tg_tune_node *nodes;
  tg_tune_operator *operators; /* the same nodes */
  tg_tune_start *starts;
} tg_tune_model;

/* Of a session that decided on no policy at all, with the candidates of a set of formats. Everything lies on
 * `arena`. */
void tg_tune_model_begin(tg_arena *arena, const tg_session *plain, unsigned formats,
                         tg_tune_model *out_model);
/* Adds what `decided`, a session under policy `name`, asks of each node, and this as a start. */
void tg_tune_model_add_policy(tg_arena *arena, const tg_session *plain, const tg_session *decided,
                              const char *name, tg_tune_model *model);
/* Adds the uniform assignments of candidates.def that change something. */
void tg_tune_model_add_uniform(tg_arena *arena, tg_tune_model *model);

/* The rules of an assignment by node id. */
const char **tg_tune_model_casts(tg_arena *arena, const tg_tune_model *model, const int *assignment);

#endif
