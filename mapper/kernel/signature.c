#include "mapper/kernel/signature.h"

#include "frontend/base/hash.h"
#include "mapper/kernel/view.h"

/* Values are known by the order in which they are met. */
typedef struct signer {
  const tg_compile *c;
  tg_hasher hasher;
  const tg_value **met;
  size_t count, capacity;
} signer;

static void add_number(signer *s, int64_t number) { tg_hasher_add(&s->hasher, &number, sizeof number); }

static void add_value(signer *s, const tg_value *value) {
  size_t i = 0;
  while (i < s->count && s->met[i] != value) i++;
  add_number(s, value ? (int64_t)i : -1);
  if (!value || i < s->count) return;
  TG_PUSH(s->c->arena, s->met, s->count, s->capacity, value);
  int64_t strides[TG_MAX_RANK] = {0};
  (void)tg_value_strides(s->c, value, strides);
  add_number(s, value->kind);
  add_number(s, value->dtype);
  add_number(s, value->rank);
  for (int d = 0; d < value->rank; d++) {
    add_number(s, value->dims[d].size);
    add_number(s, strides[d]);
  }
  if (!tg_is_scalar_constant(value)) return;
  float number = tg_scalar_value(value); /* a constant of the microcode */
  tg_hasher_add(&s->hasher, &number, sizeof number);
}

static void add_node(signer *s, const tg_node *node) {
  add_number(s, node ? (int64_t)node->op : -1);
  if (!node) return;
  for (int i = 0; i < node->input_count; i++) add_value(s, tg_in(node, i));
  for (int i = 0; i < node->output_count; i++) add_value(s, node->outputs[i]);
  add_number(s, node->attr_count);
  for (int a = 0; a < node->attr_count; a++) {
    const tg_attr *attr = &node->attrs[a];
    add_number(s, attr->key);
    add_number(s, attr->i);
    tg_hasher_add(&s->hasher, &attr->f, sizeof attr->f);
    for (int i = 0; i < attr->count; i++) add_number(s, attr->ints[i]);
    add_number(s, attr->text ? (int64_t)tg_hash_text(attr->text) : 0);
  }
}

static void add_nodes(signer *s, tg_node *const *nodes, size_t count) {
  add_number(s, (int64_t)count);
  for (size_t i = 0; i < count; i++) add_node(s, nodes[i]);
}

static void add_operand(signer *s, const tg_operand *operand) {
  add_value(s, operand->source);
  add_node(s, operand->cast);
  add_value(s, operand->made);
  for (int d = 0; d < TG_MAX_RANK; d++) add_number(s, operand->stride[d]);
  add_number(s, operand->transposed);
}

static void add_kernel(signer *s, const tg_kernel *kernel) {
  add_number(s, kernel ? (int64_t)kernel->kind : -1);
  if (!kernel) return;
  add_node(s, kernel->root);
  for (int i = 0; i < TG_MORE_RESULTS; i++) add_node(s, kernel->more_roots[i]);
  for (int i = 0; i < 2 && kernel->operands; i++) add_operand(s, &kernel->operands[i]);
  for (int i = 0; i < TG_PROLOGUES; i++) add_nodes(s, kernel->prologue[i].nodes, kernel->prologue[i].count);
  add_nodes(s, kernel->fused, kernel->fused_count);
  for (size_t i = 0; i < kernel->input_count; i++) add_value(s, kernel->inputs[i]);
  for (int i = 0; i < tg_kernel_writes(kernel); i++) add_value(s, tg_kernel_written(kernel, i));
  add_value(s, kernel->prologue_result);
  add_number(s, kernel->stores_prologue);
  add_number(s, kernel->part);
  add_value(s, kernel->source);
  const tg_kernel *inner[] = {kernel->column_sums, kernel->pool,   kernel->second,
                              kernel->product,     kernel->scores, kernel->softmax};
  for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) add_kernel(s, inner[i]);
}

uint64_t tg_kernel_signature(const tg_compile *c, const tg_kernel *kernel) {
  signer s = {.c = c};
  tg_hasher_start(&s.hasher);
  add_kernel(&s, kernel);
  return tg_hasher_sum(&s.hasher);
}
