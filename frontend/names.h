/* The set of value names of a graph: finds a free name in constant time, whatever the model calls its
 * tensors. */
#ifndef TEGULA_FRONTEND_NAMES_H
#define TEGULA_FRONTEND_NAMES_H

#include "frontend/base/arena.h"

typedef struct tg_name_set tg_name_set;

tg_name_set *tg_name_set_create(tg_arena *arena);
/* Adds a copy that belongs to `owner` (not NULL) and returns it; NULL: the name is taken. */
const char *tg_name_set_add(tg_name_set *set, const char *name, void *owner);
/* Adds `name`, or name_1, name_2 ... if it is taken. */
const char *tg_name_set_add_fresh(tg_name_set *set, const char *name, void *owner);
/* The owner, or NULL. */
void *tg_name_set_find(const tg_name_set *set, const char *name);
void tg_name_set_remove(tg_name_set *set, const char *name);

#endif
