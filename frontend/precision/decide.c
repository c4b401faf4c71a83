/* What the tables of a family ask of a node's operands and its result. */
#include "frontend/precision/policy.h"

#include <string.h>

/* --- dtypes */

/* Formats by what they hold; of two that do not hold each other, fp32 holds both. */
static tg_dtype widest_operand(const tg_node *node, int count, bool numbers) {
  tg_dtype wide = TG_NONE;
  for (int i = 0; i < node->input_count && i < count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && tg_dtype_is_float(x->dtype) && (numbers || !tg_is_number(x))) wide = tg_widest(wide, x->dtype);
  }
  return wide;
}

static bool is_normalization(const tg_node *node) {
  return strstr(tg_op_get(node->op)->name, "Normalization") != NULL;
}

/* "add_": its result is its first operand, overwritten. */
static bool is_in_place(const tg_node *node) {
  size_t length = node->origin ? strlen(node->origin) : 0;
  return length > 1 && node->origin[length - 1] == '_' && node->origin[length - 2] != '_';
}

tg_dtype tg_natural_result(const tg_node *node) {
  if (node->op == TG_OP_CAST) return (tg_dtype)tg_attr_int(node, TG_ATTR_TO);
  if (tg_op_is(node->op, TG_IS_GEMM)) {
    tg_dtype wide = widest_operand(node, 2, true);
    return wide == TG_TF32 ? TG_F32 : wide;
  }
  if ((is_normalization(node) || is_in_place(node)) && tg_in(node, 0)) return tg_in(node, 0)->dtype;
  tg_dtype wide = widest_operand(node, node->input_count, false);
  return wide ? wide : widest_operand(node, node->input_count, true);
}

/* --- needs to dtypes */

/* Operands that the family's wrappers cast at all. */
static bool is_eligible(const tg_cast_pass *p, const tg_value *x) {
  if (!x || !tg_dtype_is_float(x->dtype)) return false;
  switch (p->options->family) {
  case TG_FAMILY_HMP: return (x->dtype == TG_F32 || x->dtype == p->lower) && !tg_is_number(x);
  case TG_FAMILY_AUTOCAST: return x->dtype != TG_F64 && !tg_is_number(x);
  default: return true;
  }
}

static tg_dtype written_dtype(const tg_cast_pass *p, const tg_value *x) {
  return x->index < p->value_count ? p->written[x->index] : x->dtype;
}

/* RAF counts what stands before a conversion of the model. */
static tg_dtype counted_dtype(const tg_cast_pass *p, const tg_value *x) {
  const tg_node *cast = x->producer;
  bool looks = p->options->family == TG_FAMILY_RAF && tg_is_plain_cast(cast);
  return looks && tg_dtype_is_float(tg_in(cast, 0)->dtype) ? tg_in(cast, 0)->dtype : x->dtype;
}

typedef struct census {
  int fp32, lower, all;
} census;

static census count_operands(const tg_cast_pass *p, const tg_node *node, int count) {
  census c = {0};
  for (int i = 0; i < node->input_count && i < count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!is_eligible(p, x)) continue;
    c.all++;
    c.fp32 += counted_dtype(p, x) == TG_F32;
    c.lower += counted_dtype(p, x) == p->lower;
  }
  return c;
}

static bool wants_lower(const tg_cast_pass *p, const tg_node *node) {
  const tg_value *y = tg_out(node);
  return y->index < p->value_count && p->wants_lower && p->wants_lower[y->index];
}

/* Of a need that all operands share; TG_NONE: each for itself. */
static tg_dtype joint_dtype(const tg_cast_pass *p, const tg_node *node, tg_need need, int count) {
  census c = count_operands(p, node, count);
  const tg_value *first = tg_in(node, 0);
  switch (need) {
  case TG_NEED_WIDEST: return c.fp32 || c.all > c.lower ? TG_F32 : p->lower;
  case TG_NEED_FIRST: return first && first->dtype == TG_F32 ? TG_F32 : p->lower;
  case TG_NEED_INFER: return node->output_count > 1 ? TG_NONE : c.fp32 > c.lower ? TG_F32 : p->lower;
  case TG_NEED_ANY_LOWER: return c.lower && written_dtype(p, tg_out(node)) == TG_F32 ? p->lower : TG_NONE;
  case TG_NEED_MOST_LOWER: return 2 * c.lower > c.all && c.all <= 5 ? p->lower : TG_F32;
  default: return TG_NONE;
  }
}

static tg_dtype dtype_for(const tg_cast_pass *p, const tg_node *node, tg_need need, const tg_value *x,
                          tg_dtype joint) {
  switch (need) {
  case TG_NEED_LOWER: return p->lower;
  case TG_NEED_FP32: return TG_F32;
  case TG_NEED_BF16: return TG_BF16;
  case TG_NEED_FP16: return TG_F16;
  case TG_NEED_TF32: return TG_TF32;
  case TG_NEED_ORIGINAL: return written_dtype(p, x);
  case TG_NEED_UPSTREAM: return wants_lower(p, node) ? p->lower : TG_NONE;
  case TG_NEED_INFER:
  case TG_NEED_ANY_LOWER: return joint ? joint : written_dtype(p, x);
  default: return joint;
  }
}

static void fill(const tg_cast_pass *p, const tg_node *node, tg_need need, int from, int to,
                 tg_verdict *verdict) {
  tg_dtype joint = joint_dtype(p, node, need, to);
  for (int i = from; i < node->input_count && i < to; i++)
    if (is_eligible(p, tg_in(node, i)))
      verdict->operands[i] = dtype_for(p, node, need, tg_in(node, i), joint);
}

static tg_dtype result_for(const tg_cast_pass *p, const tg_node *node, tg_need need) {
  if (need == TG_NEED_KEEP) return TG_NONE;
  if (need == TG_NEED_UPSTREAM) return wants_lower(p, node) ? p->lower : TG_F32;
  return dtype_for(p, node, need, tg_out(node), joint_dtype(p, node, need, node->input_count));
}

tg_status tg_verdict_fill(tg_cast_pass *p, const tg_node *node, const tg_cast_spec *spec,
                          tg_verdict *verdict) {
  bool product = tg_op_is(node->op, TG_IS_GEMM);
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (!x || !tg_dtype_is_float(x->dtype)) continue;
    tg_need need = spec->operands[i < spec->operand_count ? i : spec->operand_count - 1];
    if (need == TG_NEED_TF32 && !product)
      return tg_fail(p->diag, TG_INVALID, "node \"%s\" (%s): tf32 is a format of the operands of products",
                     node->name, tg_op_get(node->op)->name);
    if (need == TG_NEED_TF32 && i > 1) need = TG_NEED_KEEP; /* a bias is no operand of the product */
    verdict->operands[i] = dtype_for(p, node, need, x, joint_dtype(p, node, need, node->input_count));
  }
  verdict->result = result_for(p, node, spec->result);
  return TG_OK;
}

/* --- linear layers */

static const tg_value *before_casts(const tg_value *value) {
  while (value && tg_is_plain_cast(value->producer)) value = tg_in(value->producer, 0);
  return value;
}

/* What a layer learns: a constant, or, in a training step, an input that the step carries. */
static bool is_parameter(const tg_cast_pass *p, const tg_value *value) {
  value = before_casts(value);
  if (value && value->producer && value->producer->op == TG_OP_TRANSPOSE)
    value = before_casts(tg_in(value->producer, 0));
  return value &&
         (tg_is_constant(value) || (value->kind == TG_VALUE_INPUT && tg_graph_is_carried(p->graph, value)));
}

/* A number for each column: [N], or that behind dimensions of one element, as optimizers write it. */
static bool is_row(const tg_value *value, int64_t columns, int max_rank) {
  return value->rank && value->rank <= max_rank && value->dims[value->rank - 1].size == columns &&
         tg_value_elements(value) == columns;
}

/* PyTorch's exporter writes a linear layer of more than two dimensions as a MatMul and an Add of the bias. */
static bool is_linear(const tg_cast_pass *p, const tg_node *matmul, const tg_node *add) {
  const tg_value *product = tg_out(matmul), *weights = tg_in(matmul, 1);
  if (matmul->op != TG_OP_MATMUL || add->op != TG_OP_ADD || matmul->origin || add->origin || matmul->casts ||
      add->casts || matmul->disable_graphamp != add->disable_graphamp || product->use_count != 1 ||
      product->output_count || weights->rank != 2 || !is_parameter(p, weights))
    return false;
  const tg_value *bias = tg_in(add, tg_in(add, 0) == product);
  return is_row(bias, weights->dims[1].size, product->rank) && is_parameter(p, bias);
}

/* The other half of the layer that the node is one half of, or NULL. `*out_product`: which operand of the Add
 * is the product. */
static const tg_node *linear_half(const tg_cast_pass *p, const tg_node *node, int *out_product) {
  *out_product = 0;
  if (node->op == TG_OP_MATMUL) {
    const tg_use *use = tg_out(node)->uses;
    return use && is_linear(p, node, use->node) ? use->node : NULL;
  }
  for (int i = 0; node->op == TG_OP_ADD && i < 2; i++) {
    const tg_node *made = tg_in(node, i)->producer;
    *out_product = i;
    if (made && is_linear(p, made, node)) return made;
  }
  return NULL;
}

/* What PyTorch calls the node. */
static void torch_names(const tg_cast_pass *p, const tg_node *node, const char *names[TG_MAX_NAMES + 1]) {
  int product;
  if (!linear_half(p, node, &product)) {
    tg_framework_names(node, TG_FRAMEWORK_TORCH, names);
    return;
  }
  names[0] = "linear";
  names[1] = "addmm";
  names[2] = NULL;
}

/* A layer in the lower format rounds once, behind its bias. */
static void join_linear(const tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  int product;
  const tg_node *other = linear_half(p, node, &product);
  if (!other || verdict->operands[product] != p->lower) return;
  if (node->op == TG_OP_MATMUL) {
    verdict->result = TG_F32;
  } else if (tg_in(other, 0)->dtype == p->lower && tg_out(other)->dtype == TG_F32) {
    verdict->operands[product] = TG_NONE;
    verdict->result = p->lower;
  }
}

/* --- the families */

static void graphamp(const tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  const tg_graphamp_row *row = tg_graphamp_find(p->options->preset, node);
  int principal = tg_op_is(node->op, TG_IS_GEMM) ? 2 : is_normalization(node) ? 1 : node->input_count;
  verdict->rule = row->rule;
  verdict->source = row->source;
  fill(p, node, row->operands, 0, principal, verdict);
  fill(p, node, row->others, principal, node->input_count, verdict);
  verdict->result = result_for(p, node, row->result);
}

static tg_status take_rule(tg_cast_pass *p, const tg_node *node, const tg_cast_rule *rule, const char *name,
                           tg_verdict *verdict) {
  const tg_cast_list_info *list = tg_cast_list_get(rule->list);
  if (rule->need == TG_NEED_BANNED)
    return tg_fail(p->diag, TG_INVALID,
                   "node \"%s\" (%s): autocast refuses %s: use it with logits, or in a disabled region",
                   node->name, tg_op_get(node->op)->name, name);
  verdict->rule = tg_arena_printf(p->graph->arena, "%s (%s)", list->label, name);
  verdict->source = list->source;
  if (rule->need == TG_NEED_RESULT_FP32) {
    if (is_eligible(p, tg_in(node, 0))) verdict->result = TG_F32;
    return TG_OK;
  }
  fill(p, node, rule->need, 0, rule->count, verdict);
  fill(p, node, rule->rest, rule->count, node->input_count, verdict);
  return TG_OK;
}

/* The first list of the system that has one of the names. */
static const tg_cast_rule *find_rule(tg_cast_system system, const char *const *names, const char **out_name) {
  for (int list = 0; list < TG_LIST_COUNT; list++)
    for (int n = 0; names[n] && tg_cast_list_get((tg_cast_list)list)->system == system; n++) {
      const tg_cast_rule *rule = tg_cast_rule_find((tg_cast_list)list, names[n]);
      *out_name = names[n];
      if (rule) return rule;
    }
  return NULL;
}

static tg_status autocast(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  static const tg_cast_system systems[] = {TG_SYSTEM_CUDA, TG_SYSTEM_CPU, TG_SYSTEM_HPU};
  static const char *const none[] = {"autocast cuda: in no list, as its inputs come",
                                     "autocast cpu: in no list, as its inputs come",
                                     "autocast hpu: in no list, as its inputs come"};
  const char *names[TG_MAX_NAMES + 1], *name;
  torch_names(p, node, names);
  const tg_cast_rule *rule = find_rule(systems[p->options->device], names, &name);
  if (rule) return take_rule(p, node, rule, name, verdict);
  verdict->rule = none[p->options->device];
  verdict->source =
      tg_cast_list_get(p->options->device == TG_AUTOCAST_HPU ? TG_LIST_HPU_LOWER : TG_LIST_CUDA_LOWER)
          ->source;
  return TG_OK;
}

/* RAF knows no bias of a product: that is a bias_add behind it, whose tie goes to the product's dtype. */
static tg_status raf(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  const char *names[TG_MAX_NAMES + 1], *name;
  tg_framework_names(node, TG_FRAMEWORK_RAF, names);
  const tg_cast_rule *rule = find_rule(TG_SYSTEM_RAF, names, &name);
  if (!rule) return TG_OK;
  tg_status status = take_rule(p, node, rule, name, verdict);
  if (rule->list == TG_LIST_RAF_ALWAYS && tg_op_is(node->op, TG_IS_GEMM))
    fill(p, node, TG_NEED_LOWER, 2, node->input_count, verdict);
  return status;
}

/* --- HMP: lists that files replace */

static bool listed(const tg_op_list *list, const tg_node *node, const char *const *names,
                   const char **out_name) {
  for (int n = 0; list && names[n]; n++)
    if (tg_op_list_has(list, names[n])) {
      *out_name = names[n];
      return true;
    }
  *out_name = tg_op_get(node->op)->name;
  return list && tg_op_list_has(list, *out_name);
}

/* What the file's line means: the norms are cast in their first argument only, whatever list they are in. */
static tg_status take_file(tg_cast_pass *p, const tg_node *node, tg_need need, const char *path,
                           const char *name, tg_verdict *verdict) {
  verdict->rule = tg_arena_printf(p->graph->arena, "hmp: %s list of %s (%s)",
                                  need == TG_NEED_LOWER ? "bf16" : "fp32", path, name);
  verdict->source = path;
  fill(p, node, need, 0, is_normalization(node) ? 1 : node->input_count, verdict);
  return TG_OK;
}

static tg_status hmp_o2(tg_cast_pass *p, const tg_node *node, const char *const *names, tg_verdict *verdict) {
  const char *name;
  const tg_cast_rule *rule = find_rule(TG_SYSTEM_HMP_O2, names, &name);
  if (rule) return take_rule(p, node, rule, name, verdict);
  verdict->source = tg_cast_list_get(TG_LIST_HMP_O2)->source;
  verdict->rule = "hmp O2: everything else fp32";
  fill(p, node, TG_NEED_FP32, 0, is_normalization(node) ? 1 : node->input_count, verdict);
  return TG_OK;
}

static tg_status hmp(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  const tg_op_list *bf16 = p->options->bf16_ops, *fp32 = p->options->fp32_ops;
  const char *names[TG_MAX_NAMES + 1], *name;
  torch_names(p, node, names);
  if (node->op == TG_OP_CAST) {
    verdict->rule = "hmp: the model's conversion";
    verdict->source = tg_cast_list_get(TG_LIST_HMP_BF16)->source;
    return TG_OK;
  }
  if (p->options->hmp_level == TG_HMP_O2) return hmp_o2(p, node, names, verdict);
  if (listed(bf16, node, names, &name)) return take_file(p, node, TG_NEED_LOWER, bf16->path, name, verdict);
  if (listed(fp32, node, names, &name)) return take_file(p, node, TG_NEED_FP32, fp32->path, name, verdict);
  for (int list = TG_LIST_HMP_BF16; list <= TG_LIST_HMP_IN_PLACE; list++) {
    if ((list == TG_LIST_HMP_BF16 && bf16) || (list == TG_LIST_HMP_FP32 && fp32)) continue;
    for (int n = 0; names[n]; n++) {
      const tg_cast_rule *rule = tg_cast_rule_find((tg_cast_list)list, names[n]);
      if (rule) return take_rule(p, node, rule, names[n], verdict);
    }
  }
  verdict->rule = "hmp: in no list, as its inputs come";
  verdict->source = tg_cast_list_get(TG_LIST_HMP_BF16)->source;
  return TG_OK;
}

/* The list as it is in force, for those who ask what HMP does. */
static void say_list(tg_cast_pass *p, tg_cast_list list, const char *title, const tg_op_list *file) {
  const char *text = "", *overlap = "";
  for (size_t i = 0; file && i < file->count; i++)
    text = tg_arena_printf(&p->scratch, "%s %s", text, file->names[i]);
  for (int i = 0; !file && i < tg_cast_rule_count; i++) {
    const tg_cast_rule *rule = &tg_cast_rule_table[i];
    if (rule->list != list) continue;
    bool beaten = list == TG_LIST_HMP_MULTI && (tg_cast_rule_find(TG_LIST_HMP_BF16, rule->name) ||
                                                tg_cast_rule_find(TG_LIST_HMP_FP32, rule->name));
    const char **to = beaten ? &overlap : &text;
    *to = tg_arena_printf(&p->scratch, "%s %s", *to, rule->name);
  }
  tg_cast_say(p, false, "hmp: %s, %s:%s", title, file ? file->path : "built-in", text);
  if (*overlap)
    tg_cast_say(p, false, "hmp: listed as multi-input too, which the other list beats:%s", overlap);
}

static void say_lists(tg_cast_pass *p) {
  if (!p->options->verbose) return;
  tg_cast_say(p, false, "hmp: opt level %s", p->options->hmp_level == TG_HMP_O2 ? "O2" : "O1");
  if (p->options->hmp_level == TG_HMP_O2) {
    say_list(p, TG_LIST_HMP_O2, "bf16 list", NULL);
    return;
  }
  say_list(p, TG_LIST_HMP_BF16, "bf16 list", p->options->bf16_ops);
  say_list(p, TG_LIST_HMP_FP32, "fp32 list", p->options->fp32_ops);
  say_list(p, TG_LIST_HMP_MULTI, "multi-input list", NULL);
}

tg_status tg_hmp_check_lists(tg_cast_pass *p) {
  const tg_op_list *lists[] = {p->options->bf16_ops, p->options->fp32_ops};
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; lists[k] && i < lists[k]->count; i++) {
      const char *name = lists[k]->names[i];
      if (!tg_cast_name_is_known(name))
        tg_cast_say(p, true, "%s: line %d: no operator \"%s\": skipped", lists[k]->path, lists[k]->lines[i],
                    name);
      else if (k && lists[0] && tg_op_list_has(lists[0], name))
        return tg_fail(p->diag, TG_INVALID, "%s: line %d: \"%s\" is in the bf16 list of %s as well",
                       lists[k]->path, lists[k]->lines[i], name, lists[0]->path);
    }
  if (p->options->hmp_level == TG_HMP_O2 && (lists[0] || lists[1]))
    tg_cast_say(p, true, "hmp-opt-level O2 has its own lists: bf16-ops and fp32-ops have no effect");
  say_lists(p);
  return TG_OK;
}

tg_status tg_family_decide(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  tg_status status;
  switch (p->options->family) {
  case TG_FAMILY_HMP:
  case TG_FAMILY_AUTOCAST:
    status = p->options->family == TG_FAMILY_HMP ? hmp(p, node, verdict) : autocast(p, node, verdict);
    if (!status) join_linear(p, node, verdict);
    return status;
  case TG_FAMILY_RAF: return raf(p, node, verdict);
  default: graphamp(p, node, verdict); return TG_OK;
  }
}
