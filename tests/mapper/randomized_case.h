/* A graph under randomized tilings, of which those that a mechanism is in are run. */
#ifndef TEGULA_TESTS_MAPPER_RANDOMIZED_CASE_H
#define TEGULA_TESTS_MAPPER_RANDOMIZED_CASE_H

#include "tests/mapper/run_graph.h"

typedef struct randomized_case {
  const char *name, *text;
  tg_precision_preset preset;
  const char *arch, *settings[4]; /* the latter up to a NULL */
} randomized_case;

typedef struct randomized_search {
  bool (*has)(const tg_program *program); /* the mechanism */
  const char *lacks;                      /* what is said where no program has it */
  int seeds, wanted;                      /* seeds 1 to `seeds` are tried until so many programs have it */
} randomized_search;

/* Runs the program of these tilings, 0: the fastest, on the functional engine and in SystemC: outputs agree with the reference,
 * and the semaphores order all accesses. */
void run_randomized(const randomized_case *own, uint64_t seed);

/* Runs so those programs that have the mechanism. Fails where there is none. */
void check_randomized(const randomized_case *own, const randomized_search *search);

/* Runs so those that have it where accumulation rounds at the ends of K tiles of that length: bits are those of a program
 * without it. Fails where there is none of either. */
void check_rounded(const randomized_case *own, const randomized_search *search, int64_t k_tile);

/* Cases of one mechanism: what a tiling has that takes it, and how many of those are compared. */
typedef struct randomized_group {
  const randomized_case *cases;
  size_t count;
  randomized_search search;
  int k_tile; /* of accumulation that rounds, which is compared between tilings, too; 0: it is not */
} randomized_group;

/* A test of `suite` for each case, by its name; 128 in a file at most. The groups must stay. */
void register_randomized(const char *suite, const randomized_group *groups, size_t count);

/* Is a chunk of a kernel row multiplied at a time, of several? And do tiles have strips of columns side by side? */
bool has_cuts(const tg_program *program);
bool has_strips(const tg_program *program);

#endif
