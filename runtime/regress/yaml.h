/* YAML as a tree, read strictly: whatever is not asked for is an error with its line. */
#ifndef TEGULA_RUNTIME_REGRESS_YAML_H
#define TEGULA_RUNTIME_REGRESS_YAML_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#include <yaml.h>

typedef struct tg_yaml {
  yaml_document_t document;
  const char *path; /* borrowed */
  tg_arena *arena;  /* texts go here */
  tg_diag *diag;
} tg_yaml;

/* Reads one document. TG_INVALID with file and line; the tree then needs no release. */
tg_status tg_yaml_load(const char *path, tg_arena *arena, tg_diag *diag, tg_yaml *out_yaml);
void tg_yaml_release(tg_yaml *yaml);
yaml_node_t *tg_yaml_root(tg_yaml *yaml); /* NULL: an empty file */

/* TG_INVALID "FILE:LINE: ..." */
tg_status tg_yaml_fail(const tg_yaml *yaml, const yaml_node_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls `take` for every pair of a mapping, in the order of the file. `what` names the mapping in messages.
 * Keys are texts and do not repeat. */
typedef tg_status tg_yaml_take(tg_yaml *yaml, void *user, const char *key, yaml_node_t *value);
tg_status tg_yaml_pairs(tg_yaml *yaml, yaml_node_t *node, const char *what, tg_yaml_take *take, void *user);
/* For a `take` that does not know the key. */
tg_status tg_yaml_unknown(const tg_yaml *yaml, const yaml_node_t *value, const char *key, const char *what,
                          const char *known);

/* A scalar's text, on the arena; without NUL bytes inside. */
tg_status tg_yaml_text(tg_yaml *yaml, const yaml_node_t *node, const char *what, const char **out_text);
/* A list of texts; a single text is a list of one. On the arena. */
tg_status tg_yaml_texts(tg_yaml *yaml, yaml_node_t *node, const char *what, const char ***out_texts,
                        size_t *out_count);
static inline size_t tg_yaml_line(const yaml_node_t *node) { return node->start_mark.line + 1; }

/* Items of a sequence. */
#define TG_YAML_ITEMS(yaml, node, item)                                                                      \
  for (yaml_node_item_t *tg_at = (node)->data.sequence.items.start;                                          \
       tg_at < (node)->data.sequence.items.top &&                                                            \
       ((item) = yaml_document_get_node(&(yaml)->document, *tg_at), true);                                   \
       tg_at++)

#endif
