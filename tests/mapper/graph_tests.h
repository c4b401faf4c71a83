/* A test for each graph of graphs/. */
#ifndef TEGULA_TESTS_MAPPER_GRAPH_TESTS_H
#define TEGULA_TESTS_MAPPER_GRAPH_TESTS_H

/* One test of `suite` for each file; `check` gets its path. */
void register_graph_files(const char *suite, void (*check)(const void *path));
/* Calls `visit` with the path of each file. */
void visit_graph_files(void (*visit)(const void *path));

#endif
