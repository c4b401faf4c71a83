/* The text that names a kernel in sections, reports and diagnostics. */
#include "mapper/kernel/kernel.h"

#include <stdio.h>

/* Operators of a kernel as far as there is room: "Sub+Mul+ReduceSum". */
typedef struct op_list {
  char text[192];
  size_t used;
} op_list;

static void add_op(op_list *list, const char *op) {
  if (list->used >= sizeof list->text - 1) return;
  int wrote =
      snprintf(list->text + list->used, sizeof list->text - list->used, "%s%s", list->used ? "+" : "", op);
  list->used += wrote < 0 ? 0 : (size_t)wrote;
}

static void add_nodes(op_list *list, tg_node *const *nodes, size_t count) {
  for (size_t n = 0; n < count; n++) add_op(list, tg_op_get(nodes[n]->op)->name);
}

static void add_kernel(op_list *list, const tg_kernel *kernel) {
  for (int i = 0; i < TG_PROLOGUES; i++)
    add_nodes(list, kernel->prologue[i].nodes, kernel->prologue[i].count);
  if (kernel->second) add_nodes(list, &kernel->second->root, 1);
  if (kernel->root) add_nodes(list, &kernel->root, 1);
  if (kernel->root && kernel->kind == TG_KERNEL_REDUCE)
    add_nodes(list, kernel->more_roots, (size_t)kernel->more_count);
  if (kernel->kind == TG_KERNEL_MOVE && !kernel->root) add_op(list, "Copy");
  add_nodes(list, kernel->fused, kernel->fused_count);
  if (kernel->column_sums) add_kernel(list, kernel->column_sums);
  if (kernel->pool) add_kernel(list, kernel->pool);
}

const char *tg_kernel_name(const tg_compile *c, const tg_kernel *kernel) {
  op_list list = {.used = 0};
  if (kernel->scores) add_kernel(&list, kernel->scores);
  if (kernel->product) add_kernel(&list, kernel->product);
  if (kernel->softmax) add_kernel(&list, kernel->softmax);
  add_kernel(&list, kernel);
  const tg_value *named = kernel->output ? kernel->output : kernel->source;
  return tg_arena_printf(c->arena, "%s \"%s\"", list.text, named->name);
}
