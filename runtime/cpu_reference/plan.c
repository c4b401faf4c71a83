#include "runtime/cpu_reference/plan.h"

#include <stdint.h>
#include <string.h>

tg_dtype tg_cpu_dtype(const tg_cpu_reference *plan, const tg_value *value) {
  return tg_dtype_is_float(value->dtype) ? plan->dtype : value->dtype;
}

dnnl_data_type_t tg_cpu_dnnl_type(tg_dtype dtype) {
  switch (dtype) {
  case TG_F32: return dnnl_f32;
  case TG_BF16: return dnnl_bf16;
  case TG_I32: return dnnl_s32;
  case TG_I8: return dnnl_s8;
  case TG_U8: return dnnl_u8;
  default: return dnnl_data_type_undef;
  }
}

/* --- memory */

static tg_cpu_block fresh_block(tg_cpu_reference *plan, size_t bytes) {
  return (tg_cpu_block){tg_arena_alloc(&plan->arena, bytes, 1), bytes};
}

/* The smallest spare block that is large enough, and at most twice as large: large ones are for large tensors. */
static tg_cpu_block take_block(tg_cpu_reference *plan, size_t bytes) {
  tg_cpu_block *best = NULL;
  for (size_t i = 0; i < plan->spare_count; i++) {
    tg_cpu_block *spare = &plan->spare[i];
    if (spare->bytes >= bytes && spare->bytes / 2 <= bytes && (!best || spare->bytes < best->bytes))
      best = spare;
  }
  if (!best) return fresh_block(plan, bytes);
  tg_cpu_block block = *best;
  *best = plan->spare[--plan->spare_count];
  return block;
}

static void give_back(tg_cpu_reference *plan, tg_cpu_block block) {
  TG_PUSH(&plan->arena, plan->spare, plan->spare_count, plan->spare_capacity, block);
}

static void settle(tg_cpu_reference *plan, const tg_value *value, tg_cpu_storage *storage) {
  storage->readers += value->use_count;
  if (value->kind != TG_VALUE_RESULT || value->output_count) storage->kept = true;
  plan->storage[value->index] = storage;
}

void *tg_cpu_data(tg_cpu_reference *plan, const tg_value *value) {
  if (plan->storage[value->index]) return plan->storage[value->index]->block.base;
  tg_dtype dtype = tg_cpu_dtype(plan, value);
  size_t count = (size_t)tg_value_elements(value), bytes = count * tg_dtype_size(dtype);
  tg_cpu_storage *storage = TG_NEW(&plan->arena, tg_cpu_storage);
  settle(plan, value, storage);
  if (value->kind == TG_VALUE_CONSTANT && dtype == value->dtype) {
    storage->block = (tg_cpu_block){(void *)(uintptr_t)value->data, bytes}; /* no step writes to it */
    return storage->block.base;
  }
  /* Inputs and constants are there before the first step of a run, and behind its last one. */
  storage->block = value->kind == TG_VALUE_RESULT ? take_block(plan, bytes) : fresh_block(plan, bytes);
  for (size_t i = 0; value->kind == TG_VALUE_CONSTANT && i < count; i++)
    tg_store_f32(storage->block.base, dtype, i, tg_load_f32(value->data, value->dtype, i));
  return storage->block.base;
}

void tg_cpu_share(tg_cpu_reference *plan, const tg_value *value, const tg_value *with) {
  tg_cpu_data(plan, with);
  settle(plan, value, plan->storage[with->index]);
}

bool tg_cpu_is_last_use(const tg_cpu_reference *plan, const tg_value *value) {
  const tg_cpu_storage *storage = plan->storage[value->index];
  return storage && !storage->kept && storage->readers == 1;
}

void *tg_cpu_scratch(tg_cpu_reference *plan, size_t bytes) {
  tg_cpu_block block = take_block(plan, bytes);
  TG_PUSH(&plan->arena, plan->scratch, plan->scratch_count, plan->scratch_capacity, block);
  return block.base;
}

/* Values between nodes that were fused have no storage. */
static void end_uses(tg_cpu_reference *plan, const tg_value *value, int uses) {
  tg_cpu_storage *storage = value ? plan->storage[value->index] : NULL;
  if (!storage || storage->kept || storage->returned) return;
  storage->readers -= uses;
  if (storage->readers) return;
  storage->returned = true;
  give_back(plan, storage->block);
}

void tg_cpu_end_node(tg_cpu_reference *plan, const tg_node *node) {
  for (int i = 0; i < node->input_count; i++) end_uses(plan, tg_in(node, i), 1);
  for (int i = 0; i < node->output_count; i++) end_uses(plan, node->outputs[i], 0); /* that nobody reads */
  for (size_t i = 0; i < plan->scratch_count; i++) give_back(plan, plan->scratch[i]);
  plan->scratch_count = 0;
}

/* --- oneDNN's descriptions, and its primitives */

dnnl_memory_desc_t tg_cpu_desc(const tg_cpu_reference *plan, const tg_value *value, int rank) {
  int own = value->rank ? value->rank : 1;
  if (rank < own) rank = own;
  dnnl_dims_t dims, strides;
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    int from = d - (rank - value->rank);
    dims[d] = from < 0 ? 1 : value->dims[from].size;
    strides[d] = step;
    step *= dims[d];
  }
  dnnl_memory_desc_t desc = {0};
  dnnl_memory_desc_init_by_strides(&desc, rank, dims, tg_cpu_dnnl_type(tg_cpu_dtype(plan, value)), strides);
  return desc;
}

dnnl_memory_desc_t tg_cpu_image(const tg_cpu_reference *plan, const tg_value *value, bool channels_last) {
  dnnl_memory_desc_t plain = tg_cpu_desc(plan, value, 0), image = plain;
  /* permutation[i]: where dimension i of the source goes */
  static const int from_nhwc[] = {0, 2, 3, 1};
  if (channels_last) dnnl_memory_desc_permute_axes(&image, &plain, from_nhwc);
  return image;
}

dnnl_memory_t tg_cpu_memory(tg_cpu_reference *plan, const dnnl_memory_desc_t *desc, void *data) {
  dnnl_memory_t memory = NULL;
  if (dnnl_memory_create(&memory, desc, plan->engine, data)) tg_die("oneDNN: no memory object");
  TG_PUSH(&plan->arena, plan->memories, plan->memory_count, plan->memory_capacity, memory);
  return memory;
}

bool tg_cpu_describe(tg_cpu_reference *plan, const void *op_desc, dnnl_primitive_attr_t attr,
                     dnnl_primitive_desc_t *out) {
  return dnnl_primitive_desc_create(out, op_desc, attr, plan->engine, NULL) == dnnl_success;
}

static dnnl_primitive_t keep_primitive(tg_cpu_reference *plan, dnnl_primitive_desc_t description) {
  dnnl_primitive_t primitive = NULL;
  bool made = dnnl_primitive_create(&primitive, description) == dnnl_success;
  dnnl_primitive_desc_destroy(description);
  if (!made) return NULL;
  TG_PUSH(&plan->arena, plan->primitives, plan->primitive_count, plan->primitive_capacity, primitive);
  return primitive;
}

bool tg_cpu_append(tg_cpu_reference *plan, dnnl_primitive_desc_t description, const tg_cpu_arg *args,
                   int count) {
  tg_cpu_step step = {.primitive = keep_primitive(plan, description), .arg_count = count};
  if (!step.primitive) return false;
  step.args = TG_NEW_ARRAY(&plan->arena, dnnl_exec_arg_t, (size_t)count);
  for (int i = 0; i < count; i++) step.args[i] = (dnnl_exec_arg_t){args[i].id, args[i].memory};
  TG_PUSH(&plan->arena, plan->steps, plan->step_count, plan->step_capacity, step);
  return true;
}

bool tg_cpu_reorder(tg_cpu_reference *plan, const dnnl_memory_desc_t *from, void *source,
                    const dnnl_memory_desc_t *to, void *target, bool now) {
  dnnl_primitive_desc_t description;
  if (dnnl_reorder_primitive_desc_create(&description, from, plan->engine, to, plan->engine, NULL))
    return false;
  tg_cpu_arg args[] = {{DNNL_ARG_FROM, tg_cpu_memory(plan, from, source)},
                       {DNNL_ARG_TO, tg_cpu_memory(plan, to, target)}};
  if (!now) return tg_cpu_append(plan, description, args, 2);
  dnnl_primitive_t primitive = keep_primitive(plan, description);
  dnnl_exec_arg_t list[] = {{args[0].id, args[0].memory}, {args[1].id, args[1].memory}};
  return primitive && !dnnl_primitive_execute(primitive, plan->stream, 2, list) &&
         !dnnl_stream_wait(plan->stream);
}

bool tg_cpu_eltwise_of(const tg_node *node, tg_cpu_eltwise *out) {
  switch (node->op) {
  case TG_OP_RELU: *out = (tg_cpu_eltwise){dnnl_eltwise_relu, 0, 0}; return true;
  case TG_OP_SIGMOID: *out = (tg_cpu_eltwise){dnnl_eltwise_logistic, 0, 0}; return true;
  case TG_OP_TANH: *out = (tg_cpu_eltwise){dnnl_eltwise_tanh, 0, 0}; return true;
  case TG_OP_EXP: *out = (tg_cpu_eltwise){dnnl_eltwise_exp, 0, 0}; return true;
  case TG_OP_SQRT: *out = (tg_cpu_eltwise){dnnl_eltwise_sqrt, 0, 0}; return true;
  case TG_OP_LOG: *out = (tg_cpu_eltwise){dnnl_eltwise_log, 0, 0}; return true;
  case TG_OP_RECIPROCAL: *out = (tg_cpu_eltwise){dnnl_eltwise_pow, 1, -1}; return true;
  case TG_OP_GELU: {
    bool by_tanh = !strcmp(tg_attr_text(node, TG_ATTR_APPROXIMATE), "tanh");
    *out = (tg_cpu_eltwise){by_tanh ? dnnl_eltwise_gelu_tanh : dnnl_eltwise_gelu_erf, 0, 0};
    return true;
  }
  case TG_OP_POW: {
    const tg_value *exponent = tg_in(node, 1);
    if (!tg_is_constant(exponent) || tg_value_elements(exponent) != 1 ||
        !tg_value_same_shape(tg_in(node, 0), tg_out(node)))
      return false;
    *out = (tg_cpu_eltwise){dnnl_eltwise_pow, 1, tg_load_f32(exponent->data, exponent->dtype, 0)};
    return true;
  }
  case TG_OP_NEG: *out = (tg_cpu_eltwise){dnnl_eltwise_linear, -1, 0}; return true;
  case TG_OP_ABS: *out = (tg_cpu_eltwise){dnnl_eltwise_abs, 0, 0}; return true;
  case TG_OP_LEAKY_RELU:
    *out = (tg_cpu_eltwise){dnnl_eltwise_relu, (float)tg_attr_float(node, TG_ATTR_ALPHA), 0};
    return true;
  case TG_OP_CLIP:
    *out = (tg_cpu_eltwise){dnnl_eltwise_clip_v2, (float)tg_attr_float(node, TG_ATTR_MIN),
                            (float)tg_attr_float(node, TG_ATTR_MAX)};
    return node->input_count == 1;
  default: return false;
  }
}

bool tg_cpu_binary_of(tg_op op, dnnl_alg_kind_t *out) {
  switch (op) {
  case TG_OP_ADD: *out = dnnl_binary_add; return true;
  case TG_OP_SUB: *out = dnnl_binary_sub; return true;
  case TG_OP_MUL: *out = dnnl_binary_mul; return true;
  case TG_OP_DIV: *out = dnnl_binary_div; return true;
  case TG_OP_MAX: *out = dnnl_binary_max; return true;
  case TG_OP_MIN: *out = dnnl_binary_min; return true;
  default: return false;
  }
}
