/* Do a kernel's words and constants suffice for one more fused node? */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"

enum {
  FUSED_OPERATIONS = 120
}; /* of fused nodes: microcode has 256 words, less what the kernel itself needs */

bool tg_has_room(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting,
                 int constants, const float *table) {
  tg_expression_need need = tg_expression_need_of(c, kernel, node);
  if (need.impossible || (table && need.table && need.table != table)) return false;
  int all = need.table || table ? TG_MC_TABLE : (int)c->m->vx_constants;
  return need.operations + waiting <= FUSED_OPERATIONS && need.constants <= all - constants;
}

bool tg_takes_fused(const tg_compile *c, const tg_kernel *kernel, const tg_node *node, int waiting) {
  return tg_has_room(c, kernel, node, waiting, TG_ROOT_CONSTANTS, NULL);
}

bool tg_takes_fused_out_of_order(const tg_compile *c, const tg_kernel *kernel, const tg_node *node,
                                 int waiting) {
  return !tg_is_stochastic_cast(node) && tg_takes_fused(c, kernel, node, waiting);
}
