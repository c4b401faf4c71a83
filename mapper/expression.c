#include "mapper/expression.h"
#include "mapper/functions.h"

#include <assert.h>
#include <string.h>

float tg_scalar_value(const tg_value *value) { return tg_load_f32(value->data, value->dtype, 0); }

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

const tg_node *tg_stochastic_store(const tg_kernel *kernel) {
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    if (tg_is_stochastic_cast(tg_kernel_result(kernel, i)->producer))
      return tg_kernel_result(kernel, i)->producer;
  return NULL;
}

typedef struct emitter {
  tg_mc *mc;
  const tg_kernel *kernel;
  tg_value **values; /* what is in registers */
  tg_mc_ref *refs;
  size_t count, capacity, refs_capacity;
  const tg_operand_stream *streams;
  int stream_count;
  bool measuring; /* operands come from nowhere */
} emitter;

static void remember(emitter *e, tg_value *value, tg_mc_ref ref) {
  size_t index = e->count;
  e->refs = tg_arena_grow(e->mc->arena, e->refs, index, &e->refs_capacity, sizeof *e->refs);
  e->refs[index] = ref;
  TG_PUSH(e->mc->arena, e->values, e->count, e->capacity, value);
}

static tg_mc_ref fetch(emitter *e, tg_value *value) {
  if (tg_is_scalar_constant(value)) return tg_mc_const(e->mc, tg_scalar_value(value));
  for (size_t i = e->count; i-- > 0;)
    if (e->values[i] == value) return e->refs[i];
  for (int s = 0; s < e->stream_count; s++)
    if (e->streams[s].value == value) {
      tg_mc_ref ref = tg_mc_load(e->mc, e->streams[s].stream,
                                 !e->streams[s].number && tg_stream_kind(value) == TG_STREAM_FP32);
      remember(e, value, ref);
      return ref;
    }
  assert(e->measuring); /* else an operand without a stream */
  tg_mc_ref ref = tg_mc_load(e->mc, 0, tg_stream_kind(value) == TG_STREAM_FP32);
  remember(e, value, ref);
  return ref;
}

static tg_mc_ref fold(emitter *e, const tg_node *node, tg_alu alu) {
  tg_mc_ref result = fetch(e, tg_in(node, 0));
  for (int i = 1; i < node->input_count; i++)
    result = tg_mc_alu(e->mc, alu, result, fetch(e, tg_in(node, i)), TG_MC_NONE);
  return result;
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
  case TG_OP_NEG:
    *out_exact = true;
    return tg_mc_alu(mc, TG_ALU_xor, x, tg_mc_bits(mc, 0x80000000u), TG_MC_NONE);
  case TG_OP_ABS:
    *out_exact = true;
    return tg_mc_alu(mc, TG_ALU_and, x, tg_mc_bits(mc, 0x7fffffffu), TG_MC_NONE);
  case TG_OP_LEAKY_RELU: {
    tg_mc_ref scaled =
        tg_mc_alu(mc, TG_ALU_mul, x, tg_mc_const(mc, (float)tg_attr_float(node, TG_ATTR_ALPHA)), TG_MC_NONE);
    tg_mc_ref negative = tg_mc_alu(mc, TG_ALU_cmplt, x, tg_mc_const(mc, 0.0f), TG_MC_NONE);
    return tg_mc_alu(mc, TG_ALU_select, negative, scaled, x);
  }
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

static bool operands_have(const tg_node *node, tg_dtype dtype) {
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)->dtype != dtype) return false;
  return true;
}

static bool is_result(const tg_kernel *kernel, const tg_value *value) {
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    if (tg_kernel_result(kernel, i) == value) return true;
  return false;
}

static bool is_used_inside(const tg_kernel *kernel, const tg_value *value) {
  for (size_t n = 0; n < kernel->fused_count; n++)
    for (int i = 0; i < kernel->fused[n]->input_count; i++)
      if (tg_in(kernel->fused[n], i) == value) return true;
  return false;
}

/* All nodes; TG_MC_NONE with a diag if one has no microcode, else the last one's register. */
static tg_mc_ref emit_nodes(emitter *e, tg_diag *diag) {
  const tg_kernel *kernel = e->kernel;
  tg_mc_ref result = TG_MC_NONE;
  for (size_t n = 0; n < kernel->fused_count; n++) {
    const tg_node *node = kernel->fused[n];
    bool exact;
    result = emit_node(e, node, &exact);
    if (result == TG_MC_NONE) {
      tg_fail(diag, TG_INVALID, "node \"%s\": %s does not run on the array yet", node->name,
              tg_op_get(node->op)->name);
      return TG_MC_NONE;
    }
    tg_value *value = tg_out(node);
    if (!(exact && operands_have(node, value->dtype)))
      result = tg_round_to(e->mc, value->dtype, result,
                           is_result(kernel, value) && !is_used_inside(kernel, value));
    remember(e, value, result);
  }
  return result;
}

tg_mc_ref tg_emit_expression(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                             tg_mc_ref root, const tg_operand_stream *streams, int stream_count) {
  emitter e = {.mc = mc, .kernel = kernel, .streams = streams, .stream_count = stream_count};
  if (root_value) remember(&e, root_value, root);
  return kernel->fused_count ? emit_nodes(&e, c->diag) : root;
}

bool tg_emit_results(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel,
                     const tg_operand_stream *streams, int stream_count, tg_mc_ref *out_results) {
  emitter e = {.mc = mc, .kernel = kernel, .streams = streams, .stream_count = stream_count};
  if (emit_nodes(&e, c->diag) == TG_MC_NONE) return false;
  for (int i = 0; i < tg_kernel_results(kernel); i++) out_results[i] = fetch(&e, tg_kernel_result(kernel, i));
  return true;
}

bool tg_expression_fits(const tg_compile *c, const tg_kernel *kernel) {
  tg_mc mc;
  tg_diag unused = {""};
  tg_mc_begin(&mc, c->arena);
  emitter e = {.mc = &mc, .kernel = kernel, .measuring = true};
  if (emit_nodes(&e, &unused) == TG_MC_NONE) return false;
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    tg_mc_store(&mc, 1, true, fetch(&e, tg_kernel_result(kernel, i)));
  return tg_mc_fits(&mc, c->m);
}

tg_expression_need tg_expression_need_of(tg_arena *arena, const tg_kernel *kernel, const tg_node *extra) {
  tg_mc mc;
  tg_mc_begin(&mc, arena);
  emitter e = {.mc = &mc, .kernel = kernel, .measuring = true};
  bool exact;
  for (size_t n = 0; n < kernel->fused_count; n++)
    remember(&e, tg_out(kernel->fused[n]), emit_node(&e, kernel->fused[n], &exact));
  emit_node(&e, extra, &exact);
  return (tg_expression_need){tg_mc_operations(&mc), mc.constant_count, mc.table, mc.overflow};
}
