#include "mapper/useful_work.h"
#include "frontend/multiply_adds.h"

static void add_node(const tg_node *node, bool *counted, uint64_t *useful) {
  if (!node || counted[tg_out(node)->index]) return;
  counted[tg_out(node)->index] = true;
  int64_t work = tg_multiply_adds(node);
  if (work > 0)
    useful[tg_mx_format(tg_in(node, node->op == TG_OP_BLOCKED_ATTENTION)->dtype)] += (uint64_t)work;
}

static void add_kernel(const tg_kernel *kernel, bool *counted, uint64_t *useful) {
  if (!kernel) return;
  add_node(kernel->root, counted, useful);
  for (int i = 0; i < TG_MORE_RESULTS; i++) add_node(kernel->more_roots[i], counted, useful);
  for (int p = 0; p < TG_PROLOGUES; p++)
    for (size_t n = 0; n < kernel->prologue[p].count; n++)
      add_node(kernel->prologue[p].nodes[n], counted, useful);
  for (size_t n = 0; n < kernel->fused_count; n++) add_node(kernel->fused[n], counted, useful);
  add_kernel(kernel->column_sums, counted, useful);
  add_kernel(kernel->second, counted, useful);
  add_kernel(kernel->product, counted, useful);
  add_kernel(kernel->scores, counted, useful);
  add_kernel(kernel->softmax, counted, useful);
}

/* Shares `useful` in proportion to what each multiplies; a kernel of the vector units, which says nothing of
 * that, has it with its first section. */
static void share(tg_invocation *invocations, uint32_t count, int format, uint64_t useful) {
  uint64_t all = 0, left = useful;
  for (uint32_t i = 0; i < count; i++) all += invocations[i].macs[format];
  for (uint32_t i = count; i-- > 1;) {
    uint64_t *macs = &invocations[i].macs[format];
    *macs = all ? (uint64_t)((unsigned __int128)useful * *macs / all) : 0;
    left -= *macs;
  }
  invocations[0].macs[format] = left;
}

void tg_account_useful_work(const tg_compile *c, const tg_kernel *kernel, uint32_t first, bool *counted) {
  uint64_t useful[TG_FMT_COUNT] = {0};
  const tg_program *program = c->program;
  add_kernel(kernel, counted, useful);
  if (first == program->invocation_count) return;
  for (int f = 0; f < TG_FMT_COUNT; f++)
    share(&program->invocations[first], program->invocation_count - first, f, useful[f]);
}
