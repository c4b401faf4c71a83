/* Reductions as operations of the vector unit. */
#include "mapper/expression/expression.h"

#include <math.h>

tg_alu tg_reduction_alu(const tg_node *node) {
  switch (node->op) {
  case TG_OP_REDUCE_MAX: return TG_ALU_max;
  case TG_OP_REDUCE_MIN: return TG_ALU_min;
  case TG_OP_REDUCE_PROD: return TG_ALU_mul;
  default: return TG_ALU_add;
  }
}

float tg_reduction_identity(const tg_node *node) {
  switch (node->op) {
  case TG_OP_REDUCE_MAX: return -INFINITY;
  case TG_OP_REDUCE_MIN: return INFINITY;
  case TG_OP_REDUCE_PROD: return 1;
  default: return 0;
  }
}

int tg_moment_twin(const tg_compile *c, const tg_kernel *kernel, int root) {
  const tg_node *own = tg_kernel_root(kernel, root);
  for (int i = 0; i < root && tg_is_moment(own); i++) {
    const tg_node *other = tg_kernel_root(kernel, i);
    if (tg_is_moment(other) && tg_owner(c, tg_in(other, 0)) == tg_owner(c, tg_in(own, 0))) return i;
  }
  return -1;
}
