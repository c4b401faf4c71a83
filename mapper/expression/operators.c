/* The microcode of each elementwise operator. */
#include "mapper/expression/emitter.h"
#include "mapper/kernel/outer.h"
#include "mapper/microcode/functions.h"

#include <string.h>

/* Is the value not 0? */
static tg_mc_ref truth(tg_emitter *e, tg_value *value, bool *out_inverted) {
  tg_held *h = tg_emitter_find(e, value);
  if (!h || h->mask == TG_MC_NONE) {
    tg_mc_ref x = tg_emitter_fetch(e, value);
    tg_mc_ref mask = tg_mc_alu(e->mc, TG_ALU_cmpeq, x, tg_mc_const(e->mc, 0.0f), TG_MC_NONE);
    *out_inverted = true;
    if ((h = tg_emitter_find(e, value))) h->mask = mask, h->inverted = true;
    return mask;
  }
  *out_inverted = h->inverted;
  return h->mask;
}

static tg_mc_ref upright_truth(tg_emitter *e, tg_value *value) {
  bool inverted;
  tg_mc_ref mask = truth(e, value, &inverted);
  return inverted ? tg_mc_alu(e->mc, TG_ALU_xor, mask, tg_mc_bits(e->mc, 0xffffffffu), TG_MC_NONE) : mask;
}

tg_mc_ref tg_emit_mask(tg_emitter *e, const tg_node *node, bool *out_inverted) {
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
  tg_mc_ref a = logic ? upright_truth(e, tg_in(node, 0)) : tg_emitter_fetch(e, tg_in(node, 0));
  tg_mc_ref b = logic ? upright_truth(e, tg_in(node, 1)) : tg_emitter_fetch(e, tg_in(node, 1));
  return tg_mc_alu(e->mc, alu[node->op], swapped ? b : a, swapped ? a : b, TG_MC_NONE);
}

static tg_mc_ref choose(tg_emitter *e, const tg_node *node) {
  bool inverted;
  tg_mc_ref mask = truth(e, tg_in(node, 0), &inverted), x = tg_emitter_fetch(e, tg_in(node, 1)),
            y = tg_emitter_fetch(e, tg_in(node, 2));
  return tg_mc_alu(e->mc, TG_ALU_select, mask, inverted ? y : x, inverted ? x : y);
}

static tg_mc_ref fold(tg_emitter *e, const tg_node *node, tg_alu alu) {
  tg_mc_ref result = tg_emitter_fetch(e, tg_in(node, 0));
  for (int i = 1; i < node->input_count; i++)
    result = tg_mc_alu(e->mc, alu, result, tg_emitter_fetch(e, tg_in(node, i)), TG_MC_NONE);
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
static tg_mc_ref sum_outer(tg_emitter *e, const tg_node *node) {
  tg_outer o;
  if (!e->c || !tg_outer_of(e->c, node, &o)) return TG_MC_NONE;
  tg_mc_ref y = tg_mc_const(e->mc, 0.0f);
  for (int k = 0; k < o.count; k++) {
    tg_held *made = o.count == 1 ? tg_emitter_find(e, tg_in(node, 0)) : NULL; /* rounded for another node */
    tg_mc_ref a = made ? tg_emitter_number(e, made) : tg_emitter_load(e, o.operand[0], k + 1),
              b = tg_emitter_load(e, o.operand[1], k + 1);
    y = tg_mc_alu(e->mc, TG_ALU_fma, a, b, y);
  }
  tg_value *bias = tg_in(node, 2);
  return bias ? tg_mc_alu(e->mc, TG_ALU_add, y, tg_emitter_fetch(e, bias), TG_MC_NONE) : y;
}

/* Operators of many operands come first, since they fetch their own; all others have the first of theirs fetched. */
tg_mc_ref tg_emit_operator(tg_emitter *e, const tg_node *node, bool *out_exact) {
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
  tg_mc_ref x = tg_emitter_fetch(e, tg_in(node, 0));
  tg_mc_accuracy accuracy = tg_out(node)->dtype == TG_F32 ? TG_MC_SINGLE : TG_MC_NARROW;
  switch (node->op) {
  case TG_OP_DIV:
    return tg_is_scalar_constant(tg_in(node, 1))
               ? tg_mc_divide_by(mc, x, tg_scalar_value(tg_in(node, 1)), accuracy)
               : tg_mc_divide(mc, x, tg_emitter_fetch(e, tg_in(node, 1)), accuracy);
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
    return below_zero(mc, x, tg_mc_alu(mc, TG_ALU_mul, tg_emitter_fetch(e, tg_in(node, 1)), x, TG_MC_NONE));
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
