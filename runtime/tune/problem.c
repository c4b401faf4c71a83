#include "runtime/tune/problem.h"

#include "frontend/precision/cast_rules.h"
#include "runtime/inspect_casts.h"

#include <assert.h>
#include <string.h>

enum { MOST_CANDIDATES = 24, MOST_STARTS = 16 };

typedef enum kind { PRODUCT, NORM, OTHER } kind;

static const struct {
  const char *label;
  kind kind;
  const char *rule;
} candidates[] = {
#define CANDIDATE(label, kind, rule) {label, kind, rule},
#define UNIFORM(name, label)
#include "runtime/tune/candidates.def"
#undef CANDIDATE
#undef UNIFORM
};

static const struct {
  const char *name, *label;
} uniform[] = {
#define CANDIDATE(label, kind, rule)
#define UNIFORM(name, label) {name, label},
#include "runtime/tune/candidates.def"
#undef CANDIDATE
#undef UNIFORM
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *const tg_tune_formats[TG_TUNE_FORMATS] = {"tf32", "fp16", "bf16"};

/* Labels begin with the format that is meant. */
static bool is_allowed(const char *label, unsigned formats) {
  for (int f = 0; f < TG_TUNE_FORMATS; f++)
    if (!strncmp(label, tg_tune_formats[f], 4)) return formats >> f & 1;
  return false;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && !strcmp(text + length - tail, end);
}

static kind kind_of(const tg_node *node) {
  if (tg_op_is(node->op, TG_IS_GEMM)) return PRODUCT;
  return ends_with(tg_op_get(node->op)->name, "Normalization") ? NORM : OTHER;
}

static const tg_node *find_node(const tg_graph *graph, int64_t id) {
  TG_FOR_NODES(graph, node) if (node->id == id) return node;
  return NULL;
}

static double elements(const tg_value *value) {
  int64_t sizes[TG_MAX_RANK];
  double all = 1;
  tg_value_sizes(value, sizes);
  for (int d = 0; d < value->rank; d++) all *= (double)sizes[d];
  return all;
}

/* About how much there is to do. */
static double weight_of(const tg_node *node) {
  double results = elements(node->outputs[0]);
  if (kind_of(node) != PRODUCT) return results;
  const tg_value *a = node->inputs[0].value, *w = node->inputs[1].value;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(node->op == TG_OP_CONV ? w : a, sizes);
  return results * (node->op == TG_OP_CONV ? elements(w) / (double)sizes[0] : (double)sizes[a->rank - 1]);
}

static void add_candidate(tg_tune_node *node, tg_tune_operator *op, const char *label, const char *rule) {
  assert(op->candidates < MOST_CANDIDATES);
  node->rules[op->candidates] = rule;
  op->labels[op->candidates++] = label;
}

/* A move has the format of what it moves, so it is not asked; what computes keeps the model's formats unless
 * something else is chosen, whatever its neighbours have. */
static void add_node(tg_arena *arena, const tg_cast_record *record, const tg_node *of, unsigned formats,
                     tg_tune_model *model) {
  tg_tune_node *node = &model->nodes[model->node_count];
  tg_tune_operator *op = &model->operators[model->node_count++];
  bool move = tg_op_is(of->op, TG_IS_MOVE);
  *node = (tg_tune_node){.name = tg_arena_strdup(arena, *record->node ? record->node : record->tensor),
                         .op = record->op,
                         .id = record->id,
                         .product = kind_of(of) == PRODUCT,
                         .rules = TG_NEW_ARRAY(arena, const char *, MOST_CANDIDATES)};
  *op = (tg_tune_operator){.name = node->name,
                           .weight = move ? 0 : weight_of(of),
                           .labels = TG_NEW_ARRAY(arena, const char *, MOST_CANDIDATES)};
  add_candidate(node, op, "model", move ? NULL : "original -> original");
  for (size_t c = 0; !move && c < COUNT(candidates); c++)
    if (candidates[c].kind == kind_of(of) && is_allowed(candidates[c].label, formats))
      add_candidate(node, op, candidates[c].label, candidates[c].rule);
  op->alone = op->candidates - 1;
}

/* Nodes of regions are decided by these, and a conversion of the model stands as it is. */
static bool can_choose(const tg_cast_record *record, const tg_node *node) {
  return node && node->op != TG_OP_CAST && node->forward < 0 && !node->disable_graphamp &&
         strncmp(record->rule, "disable_graphamp", 16) != 0;
}

static size_t find_records(const tg_graph *graph, int64_t id) {
  size_t i = 0;
  while (i < graph->cast_count && graph->casts[i].id != id) i++;
  return i;
}

void tg_tune_model_begin(tg_arena *arena, const tg_session *plain, unsigned formats,
                         tg_tune_model *out_model) {
  const tg_graph *graph = plain->decided;
  *out_model = (tg_tune_model){.nodes = TG_NEW_ARRAY(arena, tg_tune_node, graph->cast_count + 1),
                               .operators = TG_NEW_ARRAY(arena, tg_tune_operator, graph->cast_count + 1),
                               .starts = TG_NEW_ARRAY(arena, tg_tune_start, MOST_STARTS),
                               .id_count = plain->model->next_id};
  for (size_t i = 0; i < graph->cast_count; i++) {
    const tg_cast_record *record = &graph->casts[i];
    if (record->id < 0 || record->operand >= 0) continue;
    if (i && graph->casts[i - 1].id == record->id && graph->casts[i - 1].operand < 0) continue;
    const tg_node *node = find_node(graph, record->id);
    if (can_choose(record, node)) add_node(arena, record, node, formats, out_model);
  }
}

static int *add_start(tg_arena *arena, tg_tune_model *model, const char *name) {
  int *assignment = TG_NEW_ARRAY(arena, int, (size_t)model->node_count + 1);
  assert(model->start_count < MOST_STARTS);
  model->starts[model->start_count++] = (tg_tune_start){name, assignment};
  return assignment;
}

/* A move that a policy leaves as it comes. */
static bool keeps_all(const tg_graph *graph, size_t first) {
  for (size_t i = first; i < graph->cast_count && graph->casts[i].id == graph->casts[first].id; i++)
    if (graph->casts[i].operand >= 0 && graph->casts[i].before != graph->casts[i].after) return false;
  return true;
}

static tg_need operand_of(const tg_cast_spec *spec, int i) {
  return spec->operands[i < spec->operand_count ? i : spec->operand_count - 1];
}

/* Whether a candidate is what a policy decided, which has a need for each operand. A bias that was FP32 is
 * kept. */
static bool is_same(const tg_tune_node *node, const char *candidate, const char *decided) {
  tg_cast_spec a, b;
  tg_diag diag;
  if (tg_cast_spec_parse(candidate, &a, &diag) || tg_cast_spec_parse(decided, &b, &diag)) return false;
  bool same = a.result == b.result;
  for (int i = 0; i < b.operand_count; i++) {
    bool kept = node->product && i >= 2 && operand_of(&a, i) == TG_NEED_KEEP && b.operands[i] == TG_NEED_FP32;
    same = same && (kept || operand_of(&a, i) == b.operands[i]);
  }
  return same;
}

/* Which candidate stands for `rule`, a new one if none does. */
static int candidate_of(tg_arena *arena, tg_tune_node *node, tg_tune_operator *op, const char *rule,
                        const char *policy) {
  for (int c = 1; c < op->candidates; c++)
    if (is_same(node, node->rules[c], rule)) return c;
  add_candidate(node, op, tg_arena_printf(arena, "as in %s", policy), rule);
  return op->candidates - 1;
}

void tg_tune_model_add_policy(tg_arena *arena, const tg_session *plain, const tg_session *decided,
                              const char *name, tg_tune_model *model) {
  const tg_graph *before = plain->decided, *after = decided->decided;
  int *assignment = add_start(arena, model, name);
  for (int n = 0; n < model->node_count; n++) {
    tg_tune_node *node = &model->nodes[n];
    tg_tune_operator *op = &model->operators[n];
    size_t from = find_records(before, node->id), to = find_records(after, node->id);
    if (to == after->cast_count) continue;
    const char *rule = tg_decided_rule(arena, after, to);
    bool same = op->alone ? !strcmp(rule, tg_decided_rule(arena, before, from)) : keeps_all(after, to);
    if (!same) assignment[n] = candidate_of(arena, node, op, rule, name);
  }
}

void tg_tune_model_add_uniform(tg_arena *arena, tg_tune_model *model) {
  for (size_t u = 0; u < COUNT(uniform); u++) {
    int *assignment = NULL;
    for (int n = 0; n < model->node_count; n++)
      for (int c = 1; c <= model->operators[n].alone; c++)
        if (!strcmp(model->operators[n].labels[c], uniform[u].label)) {
          if (!assignment) assignment = add_start(arena, model, uniform[u].name);
          assignment[n] = c;
        }
  }
}

const char **tg_tune_model_casts(tg_arena *arena, const tg_tune_model *model, const int *assignment) {
  const char **casts = TG_NEW_ARRAY(arena, const char *, (size_t)model->id_count + 1);
  for (int n = 0; n < model->node_count; n++)
    casts[model->nodes[n].id] = model->nodes[n].rules[assignment[n]];
  return casts;
}
