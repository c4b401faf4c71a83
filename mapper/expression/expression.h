/* Fused elementwise nodes as microcode. */
#ifndef TEGULA_MAPPER_EXPRESSION_EXPRESSION_H
#define TEGULA_MAPPER_EXPRESSION_EXPRESSION_H

#include "mapper/kernel/access.h"
#include "mapper/microcode/microcode.h"

/* Where an operand that comes from DRAM stands while the kernel runs. */
typedef struct tg_operand_stream {
  tg_operand_name name;
  int stream;
  bool scalar; /* one number for all elements: a splat32 stream */
  bool loaded; /* it stands in a register already: */
  tg_mc_ref held;
} tg_operand_stream;

/* Loads it, as it is multiplied if it is a part, to hold it while elements go by. */
tg_mc_ref tg_hold_operand(tg_mc *mc, const tg_operand_stream *operand);

/* Emits the nodes. `root` is the register of `root_value` (the kernel's own result), or unused with
 * root_value NULL. Returns the register of the kernel's output. Rounds to each node's dtype. TG_MC_NONE with
 * a diag if a node has no microcode. */
tg_mc_ref tg_emit_expression(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                             tg_mc_ref root, const tg_operand_stream *streams, int stream_count);

/* What becomes of a result `y` of `root`, one of the kernel's own, whose fused nodes have no operands from DRAM: in
 * the root's format, unless it is only stored, then through these nodes. TG_MC_NONE with a diag as above. */
tg_mc_ref tg_emit_epilogue(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, const tg_node *root,
                           tg_mc_ref y);

/* The prologue of a root, and the registers of `count` values that roots read: results of the nodes,
 * perhaps reshaped, or operands from DRAM. `storing`: the kernel, if it stores results of nodes that no root
 * reads; else NULL. `only_stored`: the one of the values of which nothing happens but stores in its format,
 * or NULL. False with a diag if a node has no microcode. */
bool tg_emit_prologue(tg_mc *mc, const tg_compile *c, const tg_node_list *prologue,
                      const tg_operand_stream *streams, int stream_count, const tg_kernel *storing,
                      const tg_value *only_stored, tg_value *const *values, int count,
                      tg_mc_ref *out_registers);

/* The same for the epilogue of a root, whose result they may be as well. */
bool tg_emit_values(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                    tg_mc_ref root, const tg_operand_stream *streams, int stream_count,
                    tg_value *const *values, int count, tg_mc_ref *out_registers);

/* The same with the register of each result of the kernel. */
bool tg_emit_results(tg_mc *mc, const tg_compile *c, const tg_kernel *kernel, tg_value *root_value,
                     tg_mc_ref root, const tg_operand_stream *streams, int stream_count,
                     tg_mc_ref *out_results);
/* Does the kernel's microcode fit the words, registers and constants there are? */
bool tg_expression_fits(const tg_compile *c, const tg_kernel *kernel);

/* ALU operations of the kernel's microcode. */
int tg_expression_operations(const tg_compile *c, const tg_kernel *kernel);

/* What the microcode of the kernel's fused nodes and `extra` takes. */
typedef struct tg_expression_need {
  int operations, constants;
  const float *table; /* constants beside one are fewer */
  bool impossible;    /* two tables, or far too many constants */
} tg_expression_need;
tg_expression_need tg_expression_need_of(const tg_compile *c, const tg_kernel *kernel, const tg_node *extra);

/* Is there room for `node` behind the kernel's fused nodes, with `waiting` nodes that it takes along, beside
 * `constants` and the table (or NULL) of the kernel's own microcode? And as classes ask
 * (tg_kernel_class.takes): of a kernel of TG_ROOT_CONSTANTS and no table; and one whose rows do not follow
 * each other, so that its stores cannot round stochastically. */
bool tg_has_room(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting,
                 int constants, const float *table);
bool tg_takes_fused(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting);
bool tg_takes_fused_out_of_order(const tg_compile *c, const tg_kernel *kernel, const tg_node *node,
                                 int waiting);

/* `value` rounded to a node's dtype. `stored`: the next thing that happens to it is a store of that dtype,
 * which rounds to 16-bit formats by itself. */
tg_mc_ref tg_round_to(tg_mc *mc, tg_dtype dtype, tg_mc_ref value, bool stored);

/* What a ReduceSum, -Max, -Min or -Prod does with each element, and what changes nothing. */
tg_alu tg_reduction_alu(const tg_node *node);
float tg_reduction_identity(const tg_node *node);
static inline bool tg_is_moment(const tg_node *node) { return node->op == TG_OP_REDUCE_MOMENT; }
/* The root of a reduction before root number `root` of whose moments that one takes another; -1: none. */
int tg_moment_twin(const tg_compile *c, const tg_kernel *kernel, int root);

/* Kind of stream that reads a value, or writes it rounded to nearest. */
int tg_stream_kind(const tg_value *value);
/* Kind of stream that writes a result of a kernel. */
int tg_result_kind(const tg_value *value);

#endif
