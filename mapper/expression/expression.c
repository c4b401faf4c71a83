#include "mapper/expression/expression.h"

#include "mapper/kernel/outer.h"
#include "mapper/microcode/functions.h"

#include <string.h>

int tg_stream_kind(const tg_value *value) {
  switch (tg_value_storage(value)) {
  case TG_STORE_BF16: return TG_STREAM_BF16;
  case TG_STORE_FP16: return TG_STREAM_FP16;
  default: return TG_STREAM_FP32;
  }
}

int tg_result_kind(const tg_value *value) {
  return tg_is_stochastic_cast(value->producer) ? TG_STREAM_BF16SR : tg_stream_kind(value);
}

/* A value in a register: as a number (NONE: not yet), or, what comparisons give, as a mask whose bit 31 tells
 * true, or false if `inverted`. */
typedef struct held {
  const tg_value *value;
  tg_mc_ref number, mask;
  bool inverted;
  bool made; /* here, not loaded */
} held;

typedef struct emitter {
  tg_mc *mc;
  const tg_compile *c;
  tg_node *const *nodes;
  size_t node_count;
  held *held;
  size_t count, capacity;
  const tg_operand_stream *streams;
  int stream_count;
  bool measuring;                          /* operands come from nowhere */
  const tg_value *only_stored, *unrounded; /* the latter is what a relu reads next, and rounds itself */
} emitter;

static held *remember(emitter *e, const tg_value *value, tg_mc_ref number) {
  held fresh = {value, number, TG_MC_NONE, false, false};
  TG_PUSH(e->mc->arena, e->held, e->count, e->capacity, fresh);
  return &e->held[e->count - 1];
}

static held *remember_made(emitter *e, const tg_value *value, tg_mc_ref number) {
  held *h = remember(e, value, number);
  h->made = true;
  return h;
}

/* What is made here keeps its register whatever shape it is read by: its elements lie in the same order. */
static held *find(emitter *e, tg_value *value) {
  const tg_value *made = e->c ? tg_owner(e->c, value) : value;
  for (size_t i = e->count; i-- > 0;)
    if (e->held[i].value == value || (e->held[i].made && e->held[i].value == made)) return &e->held[i];
  return NULL;
}

/* A mask as 1 or 0. */
static tg_mc_ref number_of(emitter *e, held *h) {
  if (h->number != TG_MC_NONE) return h->number;
  tg_mc_ref one = tg_mc_const(e->mc, 1.0f);
  h->number = h->inverted ? tg_mc_alu(e->mc, TG_ALU_select, h->mask, tg_mc_const(e->mc, 0.0f), one)
                          : tg_mc_alu(e->mc, TG_ALU_and, h->mask, one, TG_MC_NONE);
  return h->number;
}

tg_mc_ref tg_hold_operand(tg_mc *mc, const tg_operand_stream *operand) {
  const tg_operand_name *name = &operand->name;
  bool halves = !operand->scalar && tg_stream_kind(name->value) == TG_STREAM_FP32;
  tg_mc_ref ref = tg_mc_load(mc, operand->stream, halves);
  bool rounds = name->part && name->dtype != name->value->dtype;
  return rounds ? tg_round_to(mc, name->dtype, ref, false) : ref;
}

/* From its stream, or the register that it stands in. */
static tg_mc_ref load(emitter *e, const tg_value *value, int part) {
  for (int s = 0; s < e->stream_count; s++)
    if (tg_is_named(&e->streams[s].name, value, part))
      return e->streams[s].loaded ? e->streams[s].held : tg_hold_operand(e->mc, &e->streams[s]);
  if (!e->measuring) e->mc->overflow = true; /* an operand without a stream: such a kernel fits nowhere */
  return tg_mc_load(e->mc, 0, tg_stream_kind(value) == TG_STREAM_FP32);
}

static tg_mc_ref fetch(emitter *e, tg_value *value) {
  if (tg_is_scalar_constant(value)) return tg_mc_const(e->mc, tg_scalar_value(value));
  held *h = find(e, value);
  return h ? number_of(e, h) : remember(e, value, load(e, value, 0))->number;
}

/* Is the value not 0? */
static tg_mc_ref truth(emitter *e, tg_value *value, bool *out_inverted) {
  held *h = find(e, value);
  if (!h || h->mask == TG_MC_NONE) {
    tg_mc_ref x = fetch(e, value);
    tg_mc_ref mask = tg_mc_alu(e->mc, TG_ALU_cmpeq, x, tg_mc_const(e->mc, 0.0f), TG_MC_NONE);
    *out_inverted = true;
    if ((h = find(e, value))) h->mask = mask, h->inverted = true;
    return mask;
  }
  *out_inverted = h->inverted;
  return h->mask;
}

static tg_mc_ref upright_truth(emitter *e, tg_value *value) {
  bool inverted;
  tg_mc_ref mask = truth(e, value, &inverted);
  return inverted ? tg_mc_alu(e->mc, TG_ALU_xor, mask, tg_mc_bits(e->mc, 0xffffffffu), TG_MC_NONE) : mask;
}

/* Comparisons and logic. */
static tg_mc_ref mask_of(emitter *e, const tg_node *node, bool *out_inverted) {
  static const tg_alu alu[] = {[TG_OP_EQUAL] = TG_ALU_cmpeq,   [TG_OP_LESS] = TG_ALU_cmplt,
                               [TG_OP_GREATER] = TG_ALU_cmplt, [TG_OP_LESS_OR_EQUAL] = TG_ALU_cmple,
                               [TG_OP_AND] = TG_ALU_and,       [TG_OP_GREATER_OR_EQUAL] = TG_ALU_cmple,
                               [TG_OP_OR] = TG_ALU_or,         [TG_OP_XOR] = TG_ALU_xor};
  *out_inverted = false;
  if (node->op == TG_OP_NOT) {
    tg_mc_ref mask = truth(e, tg_in(node, 0), out_inverted);
    *out_inverted = !*out_inverted;
    return mask;
  }
  bool logic = tg_op_is(node->op, TG_IS_LOGIC);
  bool swapped = node->op == TG_OP_GREATER || node->op == TG_OP_GREATER_OR_EQUAL;
  tg_mc_ref a = logic ? upright_truth(e, tg_in(node, 0)) : fetch(e, tg_in(node, 0));
  tg_mc_ref b = logic ? upright_truth(e, tg_in(node, 1)) : fetch(e, tg_in(node, 1));
  return tg_mc_alu(e->mc, alu[node->op], swapped ? b : a, swapped ? a : b, TG_MC_NONE);
}

static tg_mc_ref choose(emitter *e, const tg_node *node) {
  bool inverted;
  tg_mc_ref mask = truth(e, tg_in(node, 0), &inverted), x = fetch(e, tg_in(node, 1)),
            y = fetch(e, tg_in(node, 2));
  return tg_mc_alu(e->mc, TG_ALU_select, mask, inverted ? y : x, inverted ? x : y);
}

static tg_mc_ref fold(emitter *e, const tg_node *node, tg_alu alu) {
  tg_mc_ref result = fetch(e, tg_in(node, 0));
  for (int i = 1; i < node->input_count; i++)
    result = tg_mc_alu(e->mc, alu, result, fetch(e, tg_in(node, i)), TG_MC_NONE);
  return result;
}

static tg_mc_ref alpha_of(tg_mc *mc, const tg_node *node) {
  return tg_mc_const(mc, (float)tg_attr_float(node, TG_ATTR_ALPHA));
}

/* x < 0 ? value : x */
static tg_mc_ref below_zero(tg_mc *mc, tg_mc_ref x, tg_mc_ref value) {
  tg_mc_ref negative = tg_mc_alu(mc, TG_ALU_cmplt, x, tg_mc_const(mc, 0.0f), TG_MC_NONE);
  return tg_mc_alu(mc, TG_ALU_select, negative, value, x);
}

/* Elu, Selu, Celu: alpha (exp(x / scale) - 1) below zero. */
static tg_mc_ref exponential_unit(tg_mc *mc, const tg_node *node, tg_mc_ref x, tg_mc_accuracy accuracy) {
  float alpha = (float)tg_attr_float(node, TG_ATTR_ALPHA);
  tg_mc_ref inner = x;
  if (node->op == TG_OP_CELU && alpha != 1)
    inner = tg_mc_alu(mc, TG_ALU_mul, x, tg_mc_const(mc, 1 / alpha), TG_MC_NONE);
  tg_mc_ref y = tg_mc_expm1_below_zero(mc, inner, accuracy);
  if (alpha != 1) y = tg_mc_alu(mc, TG_ALU_mul, y, tg_mc_const(mc, alpha), TG_MC_NONE);
  y = below_zero(mc, x, y);
  if (node->op != TG_OP_SELU) return y;
  return tg_mc_alu(mc, TG_ALU_mul, y, tg_mc_const(mc, (float)tg_attr_float(node, TG_ATTR_GAMMA)), TG_MC_NONE);
}

/* A product of few k, as mx accumulates it. */
static tg_mc_ref sum_outer(emitter *e, const tg_node *node) {
  tg_outer o;
  if (!e->c || !tg_outer_of(e->c, node, &o)) return TG_MC_NONE;
  tg_mc_ref y = tg_mc_const(e->mc, 0.0f);
  for (int k = 0; k < o.count; k++) {
    held *made = o.count == 1 ? find(e, tg_in(node, 0)) : NULL; /* rounded for another node */
    tg_mc_ref a = made ? number_of(e, made) : load(e, o.operand[0], k + 1), b = load(e, o.operand[1], k + 1);
    y = tg_mc_alu(e->mc, TG_ALU_fma, a, b, y);
  }
  tg_value *bias = tg_in(node, 2);
  return bias ? tg_mc_alu(e->mc, TG_ALU_add, y, fetch(e, bias), TG_MC_NONE) : y;
}

/* Microcode of one node; `*out_exact`: the result is one of its operands, perhaps with another sign, so that
 * rounding to a format that they have changes nothing. TG_MC_NONE: no microcode for this operator. */
static tg_mc_ref emit_node(emitter *e, const tg_node *node, bool *out_exact) {
  tg_mc *mc = e->mc;
  *out_exact = false;
  switch (node->op) {
  case TG_OP_MAX: *out_exact = true; return fold(e, node, TG_ALU_max);
  case TG_OP_MIN: *out_exact = true; return fold(e, node, TG_ALU_min);
  case TG_OP_ADD: return fold(e, node, TG_ALU_add);
  case TG_OP_SUB: return fold(e, node, TG_ALU_sub);
  case TG_OP_MUL: return fold(e, node, TG_ALU_mul);
  case TG_OP_WHERE: *out_exact = true; return choose(e, node);
  case TG_OP_CONV:
  case TG_OP_CONV_INPUT_GRADIENT: return sum_outer(e, node);
  default: break;
  }
  tg_mc_ref x = fetch(e, tg_in(node, 0));
  tg_mc_accuracy accuracy = tg_out(node)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW;
  switch (node->op) {
  case TG_OP_DIV: return tg_mc_divide(mc, x, fetch(e, tg_in(node, 1)), accuracy);
  case TG_OP_RELU: *out_exact = true; return tg_mc_alu(mc, TG_ALU_max, x, tg_mc_const(mc, 0.0f), TG_MC_NONE);
  case TG_OP_SIGMOID: return tg_mc_sigmoid(mc, x, accuracy);
  case TG_OP_TANH: return tg_mc_tanh(mc, x, accuracy);
  case TG_OP_EXP: return tg_mc_exp(mc, x, accuracy);
  case TG_OP_SQRT: return tg_mc_sqrt(mc, x, accuracy);
  case TG_OP_LOG: return tg_mc_log(mc, x, accuracy);
  case TG_OP_ERF: return tg_mc_erf(mc, x, accuracy);
  case TG_OP_RECIPROCAL: return tg_mc_reciprocal(mc, x, accuracy);
  case TG_OP_POW: return tg_mc_power(mc, x, tg_scalar_value(tg_in(node, 1)), accuracy);
  case TG_OP_GELU:
    return strcmp(tg_attr_text(node, TG_ATTR_APPROXIMATE), "tanh") ? tg_mc_gelu(mc, x, accuracy)
                                                                   : tg_mc_gelu_tanh(mc, x, accuracy);
  case TG_OP_GELU_DERIVATIVE: return tg_mc_gelu_gradient(mc, x, accuracy);
  case TG_OP_NEG:
    *out_exact = true;
    return tg_mc_alu(mc, TG_ALU_xor, x, tg_mc_bits(mc, 0x80000000u), TG_MC_NONE);
  case TG_OP_ABS:
    *out_exact = true;
    return tg_mc_alu(mc, TG_ALU_and, x, tg_mc_bits(mc, 0x7fffffffu), TG_MC_NONE);
  case TG_OP_LEAKY_RELU:
    return below_zero(mc, x, tg_mc_alu(mc, TG_ALU_mul, x, alpha_of(mc, node), TG_MC_NONE));
  case TG_OP_PRELU:
    return below_zero(mc, x, tg_mc_alu(mc, TG_ALU_mul, fetch(e, tg_in(node, 1)), x, TG_MC_NONE));
  case TG_OP_THRESHOLDED_RELU:
    *out_exact = true;
    return tg_mc_alu(mc, TG_ALU_select, tg_mc_alu(mc, TG_ALU_cmplt, alpha_of(mc, node), x, TG_MC_NONE), x,
                     tg_mc_const(mc, 0.0f));
  case TG_OP_SIGN: return tg_mc_sign(mc, x, accuracy);
  case TG_OP_FLOOR: return tg_mc_floor(mc, x, accuracy);
  case TG_OP_CEIL: return tg_mc_ceil(mc, x, accuracy);
  case TG_OP_ROUND: return tg_mc_round(mc, x, accuracy);
  case TG_OP_HARD_SIGMOID:
    return tg_mc_hard_sigmoid(mc, x, (float)tg_attr_float(node, TG_ATTR_ALPHA),
                              (float)tg_attr_float(node, TG_ATTR_BETA));
  case TG_OP_HARD_SWISH:
    return tg_mc_alu(mc, TG_ALU_mul, x, tg_mc_hard_sigmoid(mc, x, 1.0f / 6, 0.5f), TG_MC_NONE);
  case TG_OP_ELU:
  case TG_OP_SELU:
  case TG_OP_CELU: return exponential_unit(mc, node, x, accuracy);
  case TG_OP_SOFTPLUS: return tg_mc_softplus(mc, x, accuracy);
  case TG_OP_SOFTSIGN: return tg_mc_softsign(mc, x, accuracy);
  case TG_OP_MISH: return tg_mc_mish(mc, x, accuracy);
  case TG_OP_CLIP:
    return tg_mc_alu(mc, TG_ALU_clamp, x, tg_mc_const(mc, (float)tg_attr_float(node, TG_ATTR_MIN)),
                     tg_mc_const(mc, (float)tg_attr_float(node, TG_ATTR_MAX)));
  case TG_OP_CAST: return x;
  default: return TG_MC_NONE;
  }
}

tg_mc_ref tg_round_to(tg_mc *mc, tg_dtype dtype, tg_mc_ref value, bool stored) {
  switch (dtype) {
  case TG_TF32: return tg_mc_alu(mc, TG_ALU_rndtf32, value, TG_MC_NONE, TG_MC_NONE);
  case TG_BF16: return stored ? value : tg_mc_alu(mc, TG_ALU_rndbf16, value, TG_MC_NONE, TG_MC_NONE);
  case TG_F16: return stored ? value : tg_mc_alu(mc, TG_ALU_rndfp16, value, TG_MC_NONE, TG_MC_NONE);
  default: return value;
  }
}

/* Is it of that type, or a number that rounding to it leaves as it is? */
static bool has(const tg_value *value, tg_dtype dtype) {
  if (value->dtype == dtype) return true;
  if (!tg_is_scalar_constant(value)) return false;
  float number = tg_scalar_value(value);
  uint64_t rounded = 0;
  tg_store_f32(&rounded, dtype, 0, number);
  return tg_load_f32(&rounded, dtype, 0) == number;
}

/* Have all that it may return? What Where asks is none of that. */
static bool operands_have(const tg_node *node, tg_dtype dtype) {
  for (int i = node->op == TG_OP_WHERE; i < node->input_count; i++)
    if (!has(tg_in(node, i), dtype)) return false;
  return true;
}

/* The one node that uses the value, or NULL. */
static const tg_node *user_of(const emitter *e, const tg_value *value) {
  const tg_node *user = NULL;
  for (size_t n = 0; n < e->node_count; n++)
    for (int i = 0; i < e->nodes[n]->input_count; i++) {
      if (!tg_in(e->nodes[n], i) || tg_owner(e->c, tg_in(e->nodes[n], i)) != value) continue;
      if (user) return NULL;
      user = e->nodes[n];
    }
  return user;
}

/* Is the value one that a relu alone reads, whose result is only stored? Then the store rounds: a relu may as
 * well come before a rounding as behind it. */
static bool may_wait_for_store(const emitter *e, const tg_value *value) {
  const tg_node *user = e->only_stored ? user_of(e, value) : NULL;
  return user && user->op == TG_OP_RELU && tg_out(user) == e->only_stored &&
         value->dtype == tg_out(user)->dtype;
}

static bool reads_unrounded(const emitter *e, const tg_node *node) {
  return tg_owner(e->c, tg_in(node, 0)) == e->unrounded;
}

/* The node's result into a register, rounded to its dtype. False: there is no microcode for it. */
static bool emit(emitter *e, const tg_node *node, bool stored) {
  tg_dtype dtype = tg_out(node)->dtype;
  if (tg_op_is(node->op, TG_IS_COMPARE | TG_IS_LOGIC)) { /* 1 and 0 need no rounding */
    bool inverted;
    tg_mc_ref mask = mask_of(e, node, &inverted);
    held *h = remember_made(e, tg_out(node), TG_MC_NONE);
    h->mask = mask;
    h->inverted = inverted;
    return true;
  }
  bool exact;
  tg_mc_ref result = emit_node(e, node, &exact);
  if (result == TG_MC_NONE) return false;
  bool rounded = exact && operands_have(node, dtype) && !(e->unrounded && reads_unrounded(e, node));
  if (!rounded && may_wait_for_store(e, tg_out(node)))
    e->unrounded = tg_out(node);
  else if (!rounded)
    result = tg_round_to(e->mc, dtype, result, stored);
  remember_made(e, tg_out(node), result);
  return true;
}

/* Does a node use the value? */
static bool is_used(const emitter *e, tg_value *value) {
  for (size_t n = 0; n < e->node_count; n++)
    for (int i = 0; i < e->nodes[n]->input_count; i++)
      if (tg_in(e->nodes[n], i) && tg_owner(e->c, tg_in(e->nodes[n], i)) == value) return true;
  return false;
}

/* All nodes; `kernel`: stores its results; NULL: nothing is stored. False with a diag if one has no
 * microcode. */
static bool emit_nodes(emitter *e, const tg_kernel *kernel, tg_diag *diag) {
  for (size_t n = 0; n < e->node_count; n++) {
    const tg_node *node = e->nodes[n];
    tg_value *value = tg_out(node);
    bool stored = value == e->only_stored || (kernel && tg_kernel_makes(kernel, value));
    if (emit(e, node, stored && !is_used(e, value))) continue;
    tg_fail(diag, TG_INVALID, "node \"%s\": %s does not run on the array yet", node->name,
            tg_op_get(node->op)->name);
    return false;
  }
  return true;
}

static emitter of_fused(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel,
                        const tg_operand_stream *streams, int stream_count) {
  return (emitter){.mc = mc,
                   .c = c,
                   .nodes = kernel->fused,
                   .node_count = kernel->fused_count,
                   .streams = streams,
                   .stream_count = stream_count};
}

tg_mc_ref tg_emit_expression(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                             tg_mc_ref root, const tg_operand_stream *streams, int stream_count) {
  emitter e = of_fused(mc, c, kernel, streams, stream_count);
  if (root_value) remember_made(&e, root_value, root);
  if (!kernel->fused_count) return root;
  return emit_nodes(&e, kernel, c->diag) ? number_of(&e, &e.held[e.count - 1]) : TG_MC_NONE;
}

bool tg_emit_prologue(tg_mc *mc, const tg_compile *c, const tg_node_list *prologue,
                      const tg_operand_stream *streams, int stream_count, const tg_kernel *storing,
                      const tg_value *only_stored, tg_value *const *values, int count,
                      tg_mc_ref *out_registers) {
  emitter e = {.mc = mc,
               .c = c,
               .nodes = prologue->nodes,
               .node_count = prologue->count,
               .streams = streams,
               .stream_count = stream_count,
               .only_stored = only_stored};
  if (!emit_nodes(&e, storing, c->diag)) return false;
  for (int i = 0; i < count; i++) out_registers[i] = fetch(&e, values[i]);
  return true;
}

bool tg_emit_values(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                    tg_mc_ref root, const tg_operand_stream *streams, int stream_count,
                    tg_value *const *values, int count, tg_mc_ref *out_registers) {
  emitter e = of_fused(mc, c, kernel, streams, stream_count);
  if (root_value) remember_made(&e, root_value, root);
  if (!emit_nodes(&e, kernel, c->diag)) return false;
  for (int i = 0; i < count; i++) out_registers[i] = fetch(&e, values[i]);
  return true;
}

bool tg_emit_results(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                     tg_mc_ref root, const tg_operand_stream *streams, int stream_count,
                     tg_mc_ref *out_results) {
  tg_value *values[1 + TG_MORE_RESULTS];
  int count = tg_kernel_results(kernel);
  for (int i = 0; i < count; i++) values[i] = tg_kernel_computes(kernel, i);
  return tg_emit_values(mc, c, kernel, root_value, root, streams, stream_count, values, count, out_results);
}

/* The microcode of an elementwise kernel whose operands come from nowhere. */
static bool measure(const tg_compile *c, const tg_kernel *kernel, tg_mc *mc) {
  tg_diag unused = {""};
  tg_mc_begin(mc, c->arena);
  emitter e = of_fused(mc, c, kernel, NULL, 0);
  e.measuring = true;
  if (!emit_nodes(&e, kernel, &unused)) return false;
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    tg_mc_store(mc, 1, true, fetch(&e, tg_kernel_result(kernel, i)));
  return true;
}

bool tg_expression_fits(const tg_compile *c, const tg_kernel *kernel) {
  tg_mc mc;
  return measure(c, kernel, &mc) && tg_mc_fits(&mc, c->m, NULL);
}

int tg_expression_operations(const tg_compile *c, const tg_kernel *kernel) {
  tg_mc mc;
  return measure(c, kernel, &mc) ? tg_mc_operations(&mc) : 0;
}

tg_expression_need tg_expression_need_of(const tg_compile *c, const tg_kernel *kernel, const tg_node *extra) {
  tg_mc mc;
  tg_mc_begin(&mc, c->arena);
  emitter e = of_fused(&mc, c, kernel, NULL, 0);
  e.measuring = true;
  for (size_t n = 0; n < e.node_count; n++) emit(&e, e.nodes[n], false);
  if (emit(&e, extra, true)) number_of(&e, &e.held[e.count - 1]);
  return (tg_expression_need){tg_mc_operations(&mc), mc.constant_count, mc.table, mc.overflow};
}
