/* One node's verdict: who decides on it, the first in this order (tg_verdict_find); and switches for what a family leaves
 * in fp32. What a family says is decide.c. */
#include "frontend/precision/policy.h"

/* Inside a region operands and results have the dtypes that the model gave them. */
static void as_written(tg_cast_pass *p, const tg_node *node, const char *rule, const char *source,
                       tg_verdict *verdict) {
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x && x->index < p->value_count) verdict->operands[i] = p->written[x->index];
  }
  verdict->result = tg_out(node)->dtype;
  verdict->rule = rule;
  verdict->source = source;
}

static bool mixed_precision_op(const tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  bool gemm = p->options->mixed_gemm && (node->op == TG_OP_MATMUL || node->op == TG_OP_GEMM);
  if (!gemm && !(p->options->mixed_softmax && node->op == TG_OP_SOFTMAX)) return false;
  for (int i = 0; i < node->input_count && i < (gemm ? 2 : 1); i++)
    verdict->operands[i] = gemm ? p->lower : TG_F32;
  verdict->result = gemm ? TG_F32 : p->lower;
  verdict->rule = gemm ? "enable-mixed-precision-ops: gemm, bf16 in, fp32 out"
                       : "enable-mixed-precision-ops: softmax, fp32 in, bf16 out";
  verdict->source = "docs.sambanova.ai, mixed precision";
  return true;
}

static tg_status ask_callback(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  if (!p->options->callback) return TG_OK;
  const char **dtypes = TG_NEW_ARRAY(&p->scratch, const char *, (size_t)node->input_count);
  for (int i = 0; i < node->input_count; i++)
    dtypes[i] = tg_in(node, i) ? tg_dtype_name(tg_in(node, i)->dtype) : NULL;
  const char *op = tg_op_get(node->op)->name;
  const char *text =
      p->options->callback(p->options->callback_user, node->name, op, node->input_count, dtypes);
  tg_cast_spec spec;
  if (!text) return TG_OK;
  if (tg_cast_spec_parse(text, &spec, p->diag)) {
    tg_diag_prefix(p->diag, "cast callback, node \"%s\" (%s)", node->name, op);
    return TG_INVALID;
  }
  if (tg_verdict_fill(p, node, &spec, verdict)) return TG_INVALID;
  verdict->rule = tg_arena_printf(p->graph->arena, "callback: %s", text);
  verdict->source = "callback";
  return TG_OK;
}

static tg_status ask_model(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  tg_cast_spec spec;
  if (!node->casts) return TG_OK;
  if (tg_cast_spec_parse(node->casts, &spec, p->diag)) {
    tg_diag_prefix(p->diag, "node \"%s\" (%s), metadata tegula.casts", node->name, tg_op_get(node->op)->name);
    return TG_INVALID;
  }
  if (tg_verdict_fill(p, node, &spec, verdict)) return TG_INVALID;
  verdict->rule = tg_arena_printf(p->graph->arena, "the model: %s", node->casts);
  verdict->source = "metadata tegula.casts";
  return TG_OK;
}

static tg_status ask_rules(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  if (!p->options->rules) return TG_OK;
  const char *names[TG_MAX_RULE_NAMES + 1];
  tg_rule_names(node, names);
  int line;
  const tg_cast_spec *spec = tg_cast_rules_find(p->options->rules, node->name, node->id, names, &line);
  if (!spec) return TG_OK;
  if (tg_verdict_fill(p, node, spec, verdict)) {
    tg_diag_prefix(p->diag, "%s: line %d", tg_cast_rules_path(p->options->rules), line);
    return TG_INVALID;
  }
  verdict->source = tg_cast_rules_path(p->options->rules);
  verdict->rule = tg_arena_printf(p->graph->arena, "cast-rules: %s line %d", verdict->source, line);
  return TG_OK;
}

/* What PyTorch calls allow_tf32: of MatMul and Gemm one switch, of convolutions another. */
typedef struct fp32_switch {
  tg_matmul_precision level;
  const char *high, *medium, *source; /* rules */
} fp32_switch;

static fp32_switch switch_of(const tg_cast_pass *p, const tg_node *node) {
  switch (node->op) {
  case TG_OP_MATMUL:
  case TG_OP_GEMM:
    return (fp32_switch){p->options->matmul, "matmul-precision high: tf32 in, fp32 out",
                         "matmul-precision medium: bf16 in, fp32 out",
                         "PyTorch, set_float32_matmul_precision"};
  case TG_OP_CONV:
  case TG_OP_CONV_TRANSPOSE:
    return (fp32_switch){p->options->conv, "conv-precision high: tf32 in, fp32 out",
                         "conv-precision medium: bf16 in, fp32 out", "PyTorch, backends.cudnn.allow_tf32"};
  default: return (fp32_switch){.level = TG_MATMUL_HIGHEST};
  }
}

/* Products and convolutions whose operands the policy leaves in fp32. */
static void fp32_precision(const tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  fp32_switch by = switch_of(p, node);
  if (by.level == TG_MATMUL_HIGHEST) return;
  for (int i = 0; i < 2; i++)
    if ((verdict->operands[i] ? verdict->operands[i] : tg_in(node, i)->dtype) != TG_F32) return;
  bool high = by.level == TG_MATMUL_HIGH;
  for (int i = 0; i < 2; i++) verdict->operands[i] = high ? TG_TF32 : TG_BF16;
  if (!verdict->result) verdict->result = TG_F32;
  verdict->rule = high ? by.high : by.medium;
  verdict->source = by.source;
}

/* `default`: a conversion between floats ends the policy for all that is computed from its result. */
static bool behind_conversion(tg_cast_pass *p, const tg_node *node) {
  if (!p->converted) return false;
  bool behind = false, conversion = node->op == TG_OP_CAST && tg_dtype_is_float(tg_in(node, 0)->dtype) &&
                                    tg_dtype_is_float(tg_out(node)->dtype);
  for (int i = 0; i < node->input_count; i++) behind |= tg_in(node, i) && p->converted[tg_in(node, i)->index];
  for (int i = 0; i < node->output_count; i++) p->converted[node->outputs[i]->index] = behind || conversion;
  return behind || conversion;
}

tg_status tg_verdict_find(tg_cast_pass *p, const tg_node *node, tg_verdict *verdict) {
  bool converted = behind_conversion(p, node);
  if (tg_is_stochastic_cast(node)) {
    as_written(p, node, "rounded stochastically: as written", "docs/numerics.md", verdict);
    return TG_OK;
  }
  if (!node->disable_graphamp && tg_forward_decide(p, node, verdict)) return TG_OK;
  if (mixed_precision_op(p, node, verdict)) return TG_OK;
  if (node->disable_graphamp) {
    as_written(p, node, "disable_graphamp: the model's dtypes", "the region", verdict);
    return TG_OK;
  }
  if (ask_callback(p, node, verdict)) return TG_INVALID;
  if (!verdict->rule && ask_rules(p, node, verdict)) return TG_INVALID;
  if (!verdict->rule && ask_model(p, node, verdict)) return TG_INVALID;
  if (verdict->rule) return TG_OK;
  if (converted && node->op == TG_OP_CAST) {
    verdict->rule = "default: the model's conversion";
    verdict->source = "docs.sambanova.ai, mixed precision";
  } else if (converted) {
    as_written(p, node, "default: behind a conversion, the model's dtypes",
               "docs.sambanova.ai, mixed precision", verdict);
  } else if (tg_family_decide(p, node, verdict)) {
    return TG_INVALID;
  }
  fp32_precision(p, node, verdict);
  return TG_OK;
}
