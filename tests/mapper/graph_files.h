/* The graphs of graphs/, and the same graphs of other sizes. */
#ifndef TEGULA_TESTS_MAPPER_GRAPH_FILES_H
#define TEGULA_TESTS_MAPPER_GRAPH_FILES_H

#include "frontend/base/arena.h"

#include <stdint.h>

/* The text of a graph; *out_tolerance is what its first line states ("# tolerance 1e-5"), else 0. NULL:
 * cannot be read. */
char *read_graph_file(const char *path, tg_arena *arena, double *out_tolerance);

/* The same graph where each size of 9 or more, in types and shapes, is another one drawn by `seed`; equal
 * sizes stay equal. Reshapes and windows may then not hold what they should: such a graph is refused by the
 * frontend. */
char *resize_graph(const char *text, uint32_t seed, tg_arena *arena);

#endif
