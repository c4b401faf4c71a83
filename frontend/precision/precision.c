/* The pass: asks for a verdict on each node in topological order and inserts casts right before use. */
#include "frontend/precision/precision.h"
#include "frontend/base/pattern.h"

#include "frontend/build/rewrite.h"
#include "frontend/names.h"
#include "frontend/passes/passes.h"
#include "frontend/precision/policy.h"

#include <inttypes.h>
#include <regex.h>
#include <string.h>

#define TG_PRESET(id, name, doc) name,
static const char *const preset_names[] = {
#include "frontend/precision/presets.def"
};
#undef TG_PRESET

/* ", mp0, mp1" and so on. */
#define TG_PRESET(id, name, doc) ", " name
static const char preset_list[] =
#include "frontend/precision/presets.def"
    ;
#undef TG_PRESET

void tg_precision_defaults(tg_precision_options *options) {
  *options = (tg_precision_options){.k_tile = 128, .amp_dtype = TG_BF16};
}

tg_status tg_precision_preset_parse(const char *name, tg_precision_preset *out_preset, tg_diag *diag) {
  for (int i = 0; i < TG_PRESET_COUNT; i++) {
    if (strcmp(preset_names[i], name)) continue;
    *out_preset = (tg_precision_preset)i;
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "no precision preset \"%s\" (%s)", name, preset_list + 2);
}

/* --- casts */

static void record(tg_cast_pass *p, const tg_node *node, int operand, const tg_value *tensor, tg_dtype before,
                   tg_dtype after, const tg_verdict *verdict, bool inserted) {
  tg_graph *graph = p->graph;
  tg_cast_record row = {node ? node->name : "",
                        node ? tg_op_get(node->op)->name : "output",
                        node ? node->id : -1,
                        operand,
                        tensor->name,
                        before,
                        after,
                        verdict->rule,
                        verdict->source,
                        inserted};
  TG_PUSH(graph->arena, graph->casts, graph->cast_count, graph->cast_capacity, row);
  if (before != after && operand >= 0)
    tg_cast_say(p, false, "casting operand %d of %s \"%s\" from %s to %s: %s", operand, row.op, row.node,
                tg_dtype_name(before), tg_dtype_name(after), row.rule);
}

/* May the consumer read a cast that another made? As each system does it: RAF leaves casts to consumers that
 * can fuse them, autocast keeps those of parameters. Those that say the same are merged later on
 * (casts.c). */
static bool may_share(const tg_cast_pass *p, const tg_node *node, const tg_value *x, tg_dtype to) {
  switch (p->options->family) {
  case TG_FAMILY_RAF: return !tg_op_is(node->op, TG_IS_ELEMENTWISE | TG_IS_MOVE);
  case TG_FAMILY_AUTOCAST:
    return (tg_is_constant(x) || tg_graph_is_carried(p->graph, x)) && x->dtype == TG_F32 && to == p->lower;
  case TG_FAMILY_HMP: return false;
  default: return true;
  }
}

/* RAF takes what stands before a conversion of the model rather than convert back. */
static tg_value *before_cast(const tg_cast_pass *p, tg_value *x, tg_dtype dtype) {
  const tg_node *cast = x->producer;
  bool back = p->options->family == TG_FAMILY_RAF && tg_is_plain_cast(cast);
  return back && tg_in(cast, 0)->dtype == dtype ? tg_in(cast, 0) : NULL;
}

/* The operand in `dtype`, for that rule; true if it took a new cast. */
static bool require(tg_cast_pass *p, tg_node *node, int input, tg_dtype dtype, const char *rule) {
  tg_value *x = tg_in(node, input);
  if (!x || !dtype || !tg_dtype_is_float(x->dtype) || x->dtype == dtype) return false;
  tg_value *uncast = before_cast(p, x, dtype);
  if (uncast) {
    tg_node_set_input(node, input, uncast);
    return false;
  }
  tg_value **shared = x->index < p->value_count ? &p->cast[(size_t)x->index * TG_DTYPE_COUNT + dtype] : NULL;
  bool reuse = shared && *shared && may_share(p, node, x, dtype);
  tg_value *cast = reuse ? *shared : tg_rewrite_cast(p->graph, x, dtype, node);
  if (shared && !*shared) *shared = cast;
  if (!reuse) cast->producer->rule = rule;
  tg_node_set_input(node, input, cast);
  return !reuse;
}

/* Operands that must agree and that nothing asked for: the matrix unit has one format at a time, a move
 * none. */
static void agree(const tg_node *node, tg_verdict *verdict) {
  int count = tg_op_is(node->op, TG_IS_GEMM) ? 2 : tg_op_is(node->op, TG_IS_MOVE) ? node->input_count : 0;
  tg_dtype wide = TG_NONE;
  for (int i = 0; i < count && i < node->input_count; i++)
    if (tg_in(node, i) && tg_dtype_is_float(tg_in(node, i)->dtype))
      wide = tg_widest(wide, verdict->operands[i] ? verdict->operands[i] : tg_in(node, i)->dtype);
  for (int i = 0; i < count && i < node->input_count; i++) verdict->operands[i] = wide;
}

static void apply(tg_cast_pass *p, tg_node *node, tg_verdict *verdict) {
  agree(node, verdict);
  tg_cast_say(p, false, "deciding %s \"%s\": %s", tg_op_get(node->op)->name, node->name, verdict->rule);
  tg_dtype *arrived = TG_NEW_ARRAY(&p->scratch, tg_dtype, (size_t)node->input_count + 1);
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!x) continue;
    arrived[i] = x->dtype;
    bool inserted = require(p, node, i, verdict->operands[i], verdict->rule);
    record(p, node, i, x, x->dtype, tg_in(node, i)->dtype, verdict, inserted);
  }
  tg_forward_record(p, node, arrived);
  tg_dtype dtype = verdict->result ? verdict->result : tg_natural_result(node);
  for (int i = 0; i < node->output_count; i++) {
    tg_value *y = node->outputs[i];
    tg_dtype before = y->dtype;
    if (tg_dtype_is_float(before)) y->dtype = dtype;
    if (node->op == TG_OP_CAST && tg_dtype_is_float(before)) tg_attr_set_int(node, TG_ATTR_TO, dtype);
    record(p, node, -1, y, before, y->dtype, verdict, false);
  }
  node->rule = verdict->rule;
}

static bool touches_floats(const tg_node *node) {
  bool any = false;
  for (int i = 0; i < node->input_count; i++)
    any |= tg_in(node, i) && tg_dtype_is_float(tg_in(node, i)->dtype);
  for (int i = 0; i < node->output_count; i++) any |= tg_dtype_is_float(node->outputs[i]->dtype);
  return any;
}

/* --- operators that a family has no rule for */

static tg_status refuse_unruled(tg_cast_pass *p, const int *unruled) {
  const char *list = "";
  for (int op = 0; op < TG_OP_COUNT; op++)
    if (unruled[op])
      list = tg_arena_printf(&p->scratch, "%s%s%s (%d)", list, *list ? ", " : "", tg_op_get((tg_op)op)->name,
                             unruled[op]);
  return *list ? tg_fail(p->diag, TG_INVALID, "raf has no cast rule for %s: give one with cast-rules", list)
               : TG_OK;
}

static tg_status visit_all(tg_cast_pass *p) {
  int *unruled = TG_NEW_ARRAY(&p->scratch, int, TG_OP_COUNT);
  TG_FOR_NODES(p->graph, node) { /* casts stand before the node, so they are not visited */
    if (!touches_floats(node)) continue;
    tg_verdict verdict = {.operands = TG_NEW_ARRAY(&p->scratch, tg_dtype, (size_t)node->input_count)};
    if (tg_verdict_find(p, node, &verdict)) return TG_INVALID;
    if (!verdict.rule) {
      unruled[node->op]++;
      continue;
    }
    apply(p, node, &verdict);
  }
  return refuse_unruled(p, unruled);
}

/* Outputs keep the dtype that the model declares, unless those in the lower format were given another. */
static void cast_outputs(tg_cast_pass *p) {
  tg_graph *graph = p->graph;
  for (int i = 0; i < graph->output_count; i++) {
    tg_value *value = graph->outputs[i];
    tg_dtype before = value->dtype;
    tg_verdict verdict = {.rule = "output: as declared", .source = "the model"};
    if (p->options->amp_out_dtype && before == p->lower) {
      graph->output_dtypes[i] = p->options->amp_out_dtype;
      verdict = (tg_verdict){.rule = "output: amp-out-dtype", .source = "RAF, raf.amp.out_dtype"};
    }
    if (!graph->output_dtypes[i]) graph->output_dtypes[i] = before;
    bool casts = before != graph->output_dtypes[i];
    if (casts) {
      tg_value *cast = tg_rewrite_cast(graph, value, graph->output_dtypes[i], NULL);
      cast->producer->rule = verdict.rule;
      graph->outputs[i] = cast;
      value->output_count--;
      cast->output_count++;
    }
    record(p, NULL, i, value, before, graph->output_dtypes[i], &verdict, casts);
    graph->casts[graph->cast_count - 1].node = graph->output_names[i];
  }
}

/* --- regions */

static tg_status mark_region(const tg_cast_pass *p, const char *pattern) {
  if (!pattern) return TG_OK;
  regex_t regex;
  if (tg_pattern_compile("disable-graphamp", pattern, &regex, p->diag)) return TG_INVALID;
  bool any = false;
  TG_FOR_NODES(p->graph, node)
  if (!regexec(&regex, node->name, 0, NULL, 0)) node->disable_graphamp = any = true;
  regfree(&regex);
  if (!any) tg_cast_say(p, true, "disable-graphamp \"%s\": no node's name matches", pattern);
  return TG_OK;
}

/* A model names nodes, not patterns: matching a stranger's regular expression has no bound. */
static void mark_listed(tg_graph *graph, const char *list) {
  if (!list) return;
  tg_arena scratch = {0};
  tg_name_set *names = tg_name_set_create(&scratch);
  for (const char *at = list; *at; at += strspn(at, ",")) {
    size_t length = strcspn(at, ",");
    tg_name_set_add(names, tg_arena_strndup(&scratch, at, length), graph);
    at += length;
  }
  TG_FOR_NODES(graph, node)
  if (tg_name_set_find(names, node->name)) node->disable_graphamp = true;
  tg_arena_release(&scratch);
}

/* --- all of it */

/* What rules can call the nodes that they are asked about. */
typedef struct called {
  tg_name_set *nodes, *ops;
  bool *ids;
} called;

static void add_called(const called *called, tg_node *node) {
  const char *names[TG_MAX_RULE_NAMES + 1];
  tg_name_set_add(called->nodes, node->name, node);
  called->ids[node->id] = true;
  if (!touches_floats(node)) return;
  tg_rule_names(node, names);
  for (int i = 0; names[i]; i++) tg_name_set_add(called->ops, names[i], node);
}

/* A rule for what nothing is called by is a slip of the pen. */
static void check_rule(const tg_cast_pass *p, int index, const called *called) {
  const tg_cast_rules *rules = p->options->rules;
  const char *path = tg_cast_rules_path(rules);
  int line;
  const char *op = tg_cast_rules_op(rules, index, &line), *node = tg_cast_rules_node(rules, index, &line);
  int64_t id = tg_cast_rules_id(rules, index, &line);
  if (op && !tg_cast_name_is_known(op))
    tg_cast_say(p, true, "%s: line %d: no operator \"%s\": skipped", path, line, op);
  else if (op && !tg_name_set_find(called->ops, op))
    tg_cast_say(p, true, "%s: line %d: no node of operator \"%s\": skipped", path, line, op);
  if (node && !tg_name_set_find(called->nodes, node))
    tg_cast_say(p, true, "%s: line %d: no node \"%s\": skipped", path, line, node);
  if (!op && !node && (id >= p->graph->next_id || !called->ids[id]))
    tg_cast_say(p, true, "%s: line %d: no node at position %" PRId64 ": skipped", path, line, id);
}

static void check_rules(tg_cast_pass *p) {
  if (!p->options->rules) return;
  called called = {tg_name_set_create(&p->scratch), tg_name_set_create(&p->scratch),
                   TG_NEW_ARRAY(&p->scratch, bool, (size_t)p->graph->next_id + 1)};
  TG_FOR_NODES(p->graph, node) add_called(&called, node);
  for (int i = 0; i < tg_cast_rules_count(p->options->rules); i++) check_rule(p, i, &called);
}

static void set_up(tg_cast_pass *p) {
  tg_graph *graph = p->graph;
  p->lower = p->options->amp_dtype ? p->options->amp_dtype : TG_BF16;
  p->value_count = graph->value_count;
  p->written = TG_NEW_ARRAY(&p->scratch, tg_dtype, (size_t)graph->value_count);
  p->cast = TG_NEW_ARRAY(&p->scratch, tg_value *, (size_t)graph->value_count * TG_DTYPE_COUNT);
  p->forward_count = graph->next_id;
  p->forward = TG_NEW_ARRAY(&p->scratch, tg_forward_formats, (size_t)graph->next_id + 1);
  for (int i = 0; i < graph->value_count; i++) p->written[i] = graph->values[i]->dtype;
  if (p->options->family == TG_FAMILY_GRAPHAMP && p->options->preset == TG_PRESET_DEFAULT)
    p->converted = TG_NEW_ARRAY(&p->scratch, bool, (size_t)graph->value_count);
  graph->casts = NULL;
  graph->cast_count = graph->cast_capacity = 0;
}

tg_status tg_precision_insert(tg_graph *graph, const tg_precision_options *options, tg_diag *diag) {
  tg_cast_pass p = {.graph = graph, .options = options, .diag = diag};
  if (mark_region(&p, options->disable_graphamp)) return TG_INVALID;
  mark_listed(graph, graph->disable_graphamp);
  set_up(&p);
  tg_find_upstream(&p);
  check_rules(&p);
  tg_status status = options->family == TG_FAMILY_HMP ? tg_hmp_check_lists(&p) : TG_OK;
  if (!status) status = visit_all(&p);
  if (!status) cast_outputs(&p);
  tg_arena_release(&p.scratch);
  return status;
}

void tg_precision_clean(tg_graph *graph) {
  tg_pass_share_casts(graph);
  tg_pass_fold_constants(graph);
  tg_pass_remove_identity(graph);
  tg_pass_remove_dead(graph);
}

tg_status tg_precision_apply(tg_graph *graph, const tg_precision_options *options, tg_diag *diag) {
  tg_status status = tg_precision_insert(graph, options, diag);
  if (!status) tg_precision_clean(graph);
  return status;
}
