/* The tables of the policies as data, and how operators are found in them. */
#include "frontend/precision/policy.h"

#include <string.h>

const tg_cast_list_info *tg_cast_list_get(tg_cast_list list) {
  static const tg_cast_list_info infos[] = {
#define TG_CAST_LIST(id, system, label, source) {#id, TG_SYSTEM_##system, label, source},
#include "frontend/precision/lists.def"
#undef TG_CAST_LIST
  };
  return &infos[list];
}

#define ALL TG_ALL_OPERANDS
const tg_cast_rule tg_cast_rule_table[] = {
#define TG_CAST_RULE(list, name, need, count, rest)                                                          \
  {TG_LIST_##list, name, TG_NEED_##need, count, TG_NEED_##rest},
#include "frontend/precision/autocast.def"
#include "frontend/precision/hmp.def"
#include "frontend/precision/raf.def"
#undef TG_CAST_RULE
};
#undef ALL
const int tg_cast_rule_count = (int)(sizeof tg_cast_rule_table / sizeof *tg_cast_rule_table);

static bool has_name(const char *listed, const char *name) {
  size_t length = strlen(name);
  return !strncmp(listed, name, length) && (!listed[length] || listed[length] == '.');
}

const tg_cast_rule *tg_cast_rule_find(tg_cast_list list, const char *name) {
  for (int i = 0; i < tg_cast_rule_count; i++)
    if (tg_cast_rule_table[i].list == list && has_name(tg_cast_rule_table[i].name, name))
      return &tg_cast_rule_table[i];
  return NULL;
}

/* --- names */

typedef enum when {
  WHEN_ANY,
  WHEN_RANK2,
  WHEN_RANK3,
  WHEN_RANK4,
  WHEN_RANK5,
  WHEN_MATRICES,
  WHEN_BATCHED,
  WHEN_VECTORS,
  WHEN_MATVEC,
  WHEN_LOOKUP
} when;

static const struct {
  const char *onnx;
  tg_framework framework;
  when when;
  const char *name;
} names[] = {
#define TG_FRAMEWORK_NAME(onnx, framework, when, name) {onnx, TG_FRAMEWORK_##framework, WHEN_##when, name},
#include "frontend/precision/names.def"
#undef TG_FRAMEWORK_NAME
};
enum { NAME_COUNT = sizeof names / sizeof *names };

static bool holds(when condition, const tg_node *node) {
  const tg_value *a = tg_in(node, 0), *b = tg_in(node, 1);
  int rank = a ? a->rank : 0, other = b ? b->rank : 0;
  switch (condition) {
  case WHEN_ANY: return true;
  case WHEN_RANK2: return rank == 2;
  case WHEN_RANK3: return rank == 3;
  case WHEN_RANK4: return rank == 4;
  case WHEN_RANK5: return rank == 5;
  case WHEN_MATRICES: return rank == 2 && other == 2;
  case WHEN_BATCHED: return rank == 3 && other == 3;
  case WHEN_VECTORS: return rank == 1 && other == 1;
  case WHEN_MATVEC: return rank == 2 && other == 1;
  case WHEN_LOOKUP: {
    const tg_attr *axis =
        tg_attr_from_name("axis") < TG_ATTR_KEY_COUNT ? tg_attr_find(node, tg_attr_from_name("axis")) : NULL;
    return tg_is_constant(a) && (!axis || !axis->i);
  }
  }
  return false;
}

void tg_framework_names(const tg_node *node, tg_framework framework,
                        const char *out_names[TG_MAX_NAMES + 1]) {
  int count = 0;
  const char *onnx = tg_op_get(node->op)->name;
  if (node->origin) out_names[count++] = node->origin;
  for (int i = 0; i < NAME_COUNT && !node->origin && count < TG_MAX_NAMES; i++)
    if (names[i].framework == framework && !strcmp(names[i].onnx, onnx) && holds(names[i].when, node))
      out_names[count++] = names[i].name;
  out_names[count] = NULL;
}

void tg_rule_names(const tg_node *node, const char *out_names[TG_MAX_RULE_NAMES + 1]) {
  int count = 1;
  out_names[0] = tg_op_get(node->op)->name;
  tg_framework_names(node, TG_FRAMEWORK_TORCH, out_names + 1);
  while (out_names[count]) count++;
  tg_framework_names(node, TG_FRAMEWORK_RAF, out_names + count);
}

bool tg_cast_name_is_known(const char *name) {
  for (int i = 0; i < tg_cast_rule_count; i++)
    if (has_name(tg_cast_rule_table[i].name, name)) return true;
  for (int i = 0; i < NAME_COUNT; i++)
    if (!strcmp(names[i].name, name) || !strcmp(names[i].onnx, name)) return true;
  return tg_op_from_name(name) != TG_OP_COUNT;
}

/* --- GraphAMP */

static const tg_graphamp_row rows[] = {
#define ANY          0, NULL
#define FLAGS(flags) (flags), NULL
#define OPS(names)   0, names
#define TG_GRAPHAMP(preset, applies, operands, others, result, rule, source)                                 \
  {TG_PRESET_##preset, applies, TG_NEED_##operands, TG_NEED_##others, TG_NEED_##result, rule, source},
#include "frontend/precision/graphamp.def"
#undef TG_GRAPHAMP
#undef OPS
#undef FLAGS
#undef ANY
};

static bool in_words(const char *words, const char *word) {
  size_t length = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at += length)
    if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
  return false;
}

static bool applies(const tg_graphamp_row *row, const tg_node *node) {
  if (row->flags) return tg_op_is(node->op, row->flags);
  return !row->ops || in_words(row->ops, tg_op_get(node->op)->name);
}

const tg_graphamp_row *tg_graphamp_find(tg_precision_preset preset, const tg_node *node) {
  const tg_graphamp_row *row = rows;
  while (row->preset != preset || !applies(row, node)) row++;
  return row;
}
