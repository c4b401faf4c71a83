/* What the tests of `tegula regress` share: models, a command that goes wrong as it is told, and a look into results. */
#ifndef TEGULA_TESTS_RUNTIME_REGRESS_SUPPORT_H
#define TEGULA_TESTS_RUNTIME_REGRESS_SUPPORT_H

#include <jansson.h>
#include <stdbool.h>

/* All that a file holds; good for four calls. */
char *slurp(const char *path);
/* Models a, b, c, and `wrapper`: a tegula that crashes on models named crash, never ends on those named hang (the
 * process that it waits for is named in `sleepers`), takes its time while there is a file `slow`, and leaves a line in
 * `runs` for each `run`. */
void models_and_wrapper(void);
/* A case of results, or NULL; the text of its failure of a kind, or NULL. */
json_t *case_of(const json_t *results, const char *id);
const char *failure_of(const json_t *results, const char *id, const char *kind);
/* Do two files hold the same? */
bool same_file(const char *a, const char *b);

#endif
