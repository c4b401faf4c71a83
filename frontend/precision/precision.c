#include "frontend/precision/precision.h"

#include "frontend/names.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

#include <regex.h>
#include <string.h>

typedef enum need { KEEP, LOWER, FP32 } need;

typedef struct policy_row {
  tg_precision_preset preset;
  unsigned flags; /* of tg_op_flag; 0: any operator */
  need operands, others, result;
  const char *rule;
} policy_row;

static const policy_row rows[] = {
#define ANY          0
#define FLAGS(flags) (flags)
#define TG_POLICY(preset, applies, operands, others, result, rule)                                           \
  {TG_PRESET_##preset, applies, operands, others, result, rule},
#include "frontend/precision/policies.def"
#undef TG_POLICY
#undef FLAGS
#undef ANY
};

static const char *const preset_names[] = {
    [TG_PRESET_MP0] = "mp0", [TG_PRESET_MP1] = "mp1", [TG_PRESET_MP4] = "mp4"};

void tg_precision_defaults(tg_precision_options *options) {
  *options = (tg_precision_options){TG_PRESET_MP0, NULL, TG_ACCUM_FP32, 128};
}

tg_status tg_precision_preset_parse(const char *name, tg_precision_preset *out_preset, tg_diag *diag) {
  for (size_t i = 0; i < sizeof preset_names / sizeof *preset_names; i++) {
    if (strcmp(preset_names[i], name)) continue;
    *out_preset = (tg_precision_preset)i;
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "no precision preset \"%s\" (mp0, mp1, mp4)", name);
}

/* --- the pass
 * -------------------------------------------------------------------------------------------------- */

typedef struct cast_pass {
  tg_graph *graph;
  tg_precision_preset preset;
  tg_dtype lower;
  tg_dtype *written; /* by value->index: the dtype the model gave it */
  int written_count;
} cast_pass;

static const policy_row *find_row(tg_precision_preset preset, const tg_node *node) {
  const policy_row *row = rows;
  while (row->preset != preset || (row->flags && !tg_op_is(node->op, row->flags))) row++;
  return row;
}

/* Formats by what they hold; of two that do not hold each other, fp32 holds both. */
static tg_dtype widest(tg_dtype a, tg_dtype b) {
  if (a == b || b == TG_NONE) return a;
  if (a == TG_NONE) return b;
  return a == TG_F64 || b == TG_F64 ? TG_F64 : TG_F32;
}

static tg_dtype widest_operand(const tg_node *node, int count) {
  tg_dtype wide = TG_NONE;
  for (int i = 0; i < node->input_count && i < count; i++)
    if (tg_in(node, i)) wide = widest(wide, tg_in(node, i)->dtype);
  return wide;
}

static void require(cast_pass *p, tg_node *node, int input, tg_dtype dtype) {
  tg_value *x = tg_in(node, input);
  if (!x || !tg_dtype_is_float(x->dtype) || x->dtype == dtype) return;
  tg_node_set_input(node, input, tg_rewrite_cast(p->graph, x, dtype, node));
}

static tg_dtype dtype_for(const cast_pass *p, need what, tg_dtype current) {
  return what == LOWER ? p->lower : what == FP32 ? TG_F32 : current;
}

static void cast_operands(cast_pass *p, tg_node *node, const policy_row *row) {
  bool gemm = tg_op_is(node->op, TG_IS_GEMM);
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i))
      require(p, node, i, dtype_for(p, gemm && i > 1 ? row->others : row->operands, tg_in(node, i)->dtype));
  /* Operands that must agree and that nothing asked for: the matrix unit has one format at a time, a move
   * none. */
  int agree = gemm ? 2 : tg_op_is(node->op, TG_IS_MOVE) ? node->input_count : 0;
  tg_dtype wide = widest_operand(node, agree);
  for (int i = 0; i < agree; i++) require(p, node, i, wide);
}

static void set_result(cast_pass *p, tg_node *node, const policy_row *row) {
  tg_value *y = tg_out(node);
  if (!tg_dtype_is_float(y->dtype)) return;
  tg_dtype dtype =
      dtype_for(p, row->result, widest_operand(node, tg_op_is(node->op, TG_IS_GEMM) ? 2 : node->input_count));
  if (node->op == TG_OP_CAST) {
    if (row->result != KEEP) tg_attr_set_int(node, TG_ATTR_TO, dtype);
    dtype = (tg_dtype)tg_attr_int(node, TG_ATTR_TO);
  }
  y->dtype = dtype;
}

/* Inside a region operands and results have the dtypes that the model gave them. Values made by this pass
 * have none: they stand only in front of nodes that were visited already. */
static void keep_as_written(cast_pass *p, tg_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && tg_in(node, i)->index < p->written_count)
      require(p, node, i, p->written[tg_in(node, i)->index]);
}

static void visit(cast_pass *p, tg_node *node) {
  if (node->disable_graphamp) {
    node->rule = "disable_graphamp: the model's dtypes";
    keep_as_written(p, node);
    return;
  }
  const policy_row *row = find_row(p->preset, node);
  node->rule = row->rule;
  cast_operands(p, node, row);
  set_result(p, node, row);
}

/* Outputs keep the dtype that the model declares. */
static void cast_outputs(cast_pass *p) {
  tg_graph *graph = p->graph;
  for (int i = 0; i < graph->output_count; i++) {
    tg_value *value = graph->outputs[i];
    if (value->dtype == graph->output_dtypes[i]) continue;
    tg_value *cast = tg_rewrite_cast(graph, value, graph->output_dtypes[i], NULL);
    cast->producer->rule = "output: as declared";
    graph->outputs[i] = cast;
    value->output_count--;
    cast->output_count++;
  }
}

static tg_status mark_region(tg_graph *graph, const char *pattern, tg_diag *diag) {
  if (!pattern) return TG_OK;
  regex_t regex;
  int error = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
  if (error) {
    char reason[128];
    regerror(error, &regex, reason, sizeof reason);
    return tg_fail(diag, TG_INVALID, "disable-graphamp \"%s\": %s", pattern, reason);
  }
  TG_FOR_NODES(graph, node)
  if (!regexec(&regex, node->name, 0, NULL, 0)) node->disable_graphamp = true;
  regfree(&regex);
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

tg_status tg_precision_apply(tg_graph *graph, const tg_precision_options *options, tg_diag *diag) {
  if (mark_region(graph, options->disable_graphamp, diag)) return TG_INVALID;
  mark_listed(graph, graph->disable_graphamp);
  tg_arena scratch = {0};
  cast_pass p = {graph, options->preset, TG_BF16, NULL, graph->value_count};
  p.written = TG_NEW_ARRAY(&scratch, tg_dtype, (size_t)graph->value_count);
  for (int i = 0; i < graph->value_count; i++) p.written[i] = graph->values[i]->dtype;
  TG_FOR_NODES(graph, node) visit(&p, node); /* casts stand before the node, so they are not visited */
  cast_outputs(&p);
  tg_arena_release(&scratch);
  tg_pass_share_casts(graph);
  tg_pass_fold_constants(graph);
  tg_pass_remove_identity(graph);
  tg_pass_remove_dead(graph);
  return TG_OK;
}
