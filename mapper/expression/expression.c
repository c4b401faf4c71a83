/* Fused nodes as microcode: what is rounded where, and which values are stored, or stay in registers. */
#include "mapper/expression/emitter.h"

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
static const tg_node *user_of(const tg_emitter *e, const tg_value *value) {
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
static bool may_wait_for_store(const tg_emitter *e, const tg_value *value) {
  const tg_node *user = e->only_stored ? user_of(e, value) : NULL;
  return user && user->op == TG_OP_RELU && tg_out(user) == e->only_stored &&
         value->dtype == tg_out(user)->dtype;
}

static bool reads_unrounded(const tg_emitter *e, const tg_node *node) {
  return tg_owner(e->c, tg_in(node, 0)) == e->unrounded;
}

/* The node's result into a register, rounded to its dtype. False: there is no microcode for it. */
static bool emit(tg_emitter *e, const tg_node *node, bool stored) {
  tg_dtype dtype = tg_out(node)->dtype;
  if (tg_op_is(node->op, TG_IS_COMPARE | TG_IS_LOGIC)) { /* 1 and 0 need no rounding */
    bool inverted;
    tg_mc_ref mask = tg_emit_mask(e, node, &inverted);
    tg_held *h = tg_emitter_remember_made(e, tg_out(node), TG_MC_NONE);
    h->mask = mask;
    h->inverted = inverted;
    return true;
  }
  bool exact;
  tg_mc_ref result = tg_emit_operator(e, node, &exact);
  if (result == TG_MC_NONE) return false;
  bool rounded = exact && operands_have(node, dtype) && !(e->unrounded && reads_unrounded(e, node));
  if (!rounded && may_wait_for_store(e, tg_out(node)))
    e->unrounded = tg_out(node);
  else if (!rounded)
    result = tg_round_to(e->mc, dtype, result, stored);
  tg_emitter_remember_made(e, tg_out(node), result);
  return true;
}

/* Does a node use the value? */
static bool is_used(const tg_emitter *e, tg_value *value) {
  for (size_t n = 0; n < e->node_count; n++)
    for (int i = 0; i < e->nodes[n]->input_count; i++)
      if (tg_in(e->nodes[n], i) && tg_owner(e->c, tg_in(e->nodes[n], i)) == value) return true;
  return false;
}

/* All nodes; `kernel`: stores its results; NULL: nothing is stored. False with a diag if one has no
 * microcode. */
static bool emit_nodes(tg_emitter *e, const tg_kernel *kernel, tg_diag *diag) {
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

static tg_emitter of_fused(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel,
                           const tg_operand_stream *streams, int stream_count) {
  return (tg_emitter){.mc = mc,
                      .c = c,
                      .nodes = kernel->fused,
                      .node_count = kernel->fused_count,
                      .streams = streams,
                      .stream_count = stream_count};
}

tg_mc_ref tg_emit_expression(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                             tg_mc_ref root, const tg_operand_stream *streams, int stream_count) {
  tg_emitter e = of_fused(mc, c, kernel, streams, stream_count);
  if (root_value) tg_emitter_remember_made(&e, root_value, root);
  if (!kernel->fused_count) return root;
  return emit_nodes(&e, kernel, c->diag) ? tg_emitter_number(&e, &e.held[e.count - 1]) : TG_MC_NONE;
}

tg_mc_ref tg_emit_epilogue(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, const tg_node *root,
                           tg_mc_ref y) {
  tg_value *value = tg_out(root);
  return tg_emit_expression(mc, c, kernel, value, tg_round_to(mc, value->dtype, y, !kernel->fused_count),
                            NULL, 0);
}

bool tg_emit_prologue(tg_mc *mc, const tg_compile *c, const tg_node_list *prologue,
                      const tg_operand_stream *streams, int stream_count, const tg_kernel *storing,
                      const tg_value *only_stored, tg_value *const *values, int count,
                      tg_mc_ref *out_registers) {
  tg_emitter e = {.mc = mc,
                  .c = c,
                  .nodes = prologue->nodes,
                  .node_count = prologue->count,
                  .streams = streams,
                  .stream_count = stream_count,
                  .only_stored = only_stored};
  if (!emit_nodes(&e, storing, c->diag)) return false;
  for (int i = 0; i < count; i++) out_registers[i] = tg_emitter_fetch(&e, values[i]);
  return true;
}

bool tg_emit_values(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                    tg_mc_ref root, const tg_operand_stream *streams, int stream_count,
                    tg_value *const *values, int count, tg_mc_ref *out_registers) {
  tg_emitter e = of_fused(mc, c, kernel, streams, stream_count);
  if (root_value) tg_emitter_remember_made(&e, root_value, root);
  if (!emit_nodes(&e, kernel, c->diag)) return false;
  for (int i = 0; i < count; i++) out_registers[i] = tg_emitter_fetch(&e, values[i]);
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
  tg_emitter e = of_fused(mc, c, kernel, NULL, 0);
  e.measuring = true;
  if (!emit_nodes(&e, kernel, &unused)) return false;
  for (int i = 0; i < tg_kernel_results(kernel); i++)
    tg_mc_store(mc, 1, true, tg_emitter_fetch(&e, tg_kernel_result(kernel, i)));
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
  tg_emitter e = of_fused(&mc, c, kernel, NULL, 0);
  e.measuring = true;
  for (size_t n = 0; n < e.node_count; n++) emit(&e, e.nodes[n], false);
  if (emit(&e, extra, true)) tg_emitter_number(&e, &e.held[e.count - 1]);
  return (tg_expression_need){tg_mc_operations(&mc), mc.constant_count, mc.table, mc.overflow};
}
