/* Values -> DRAM tensors. Inputs, constants and outputs have their places for the whole run, a carried output
 * that of its input; temporaries share memory by liveness, the largest first, each where it first fits beside
 * those that live at the same time (the greedy planner by size of Pisarchyk and Lee, "Efficient Memory
 * Management for Deep Neural Net Inference", 2020): what is small and lives shortly leaves no hole under what
 * is large and lives long. */
#include "mapper/kernel/kernel.h"
#include "mapper/kernel/view.h"
#include "mapper/memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* A temporary: its kernels, from the one that makes it to the last one that reads it, and its memory. */
typedef struct block {
  int tensor;
  size_t first, last;
  uint64_t begin, bytes;
} block;

typedef struct planner {
  tg_compile *c;
  size_t *last_use; /* by value->index: the last kernel that reads it */
  block *blocks;
  size_t block_count, block_capacity;
} planner;

static uint64_t align(uint64_t bytes) { return (bytes + 63) & ~63ull; }

#define MOST_BYTES (1ull << 38) /* of a tensor */

/* A tensor with the value's type; TG_INVALID if its size does not fit an address. */
static tg_status new_tensor(tg_compile *c, const tg_value *value, tg_role role, const char *name,
                            int *out_index) {
  tg_dram_tensor *tensor = tg_program_add_tensor(c->program);
  tensor->name = tg_arena_strdup(&c->program->arena, name);
  tensor->role = role;
  tensor->storage = tg_value_storage(value);
  tensor->rank = (uint32_t)value->rank;
  uint64_t bytes = tg_storage_bytes(tensor->storage);
  for (int d = 0; d < value->rank; d++) {
    tensor->dims[d] = value->dims[d].size;
    if (__builtin_mul_overflow(bytes, (uint64_t)value->dims[d].size, &bytes) || bytes > MOST_BYTES)
      return tg_fail(c->diag, TG_INVALID,
                     "tensor \"%s\" does not fit in the device memory: it has more than %llu bytes", name,
                     MOST_BYTES);
  }
  tensor->bytes = bytes;
  *out_index = (int)c->program->tensor_count - 1;
  return TG_OK;
}

static void place_at_end(tg_compile *c, int tensor) {
  c->program->tensors[tensor].address = c->program->dram_bytes;
  c->program->dram_bytes += align(c->program->tensors[tensor].bytes);
}

/* Constants keep their bits; those whose host type is wider than any storage were refused before. */
static tg_status place_constant(tg_compile *c, tg_value *value) {
  int index;
  tg_status status = new_tensor(c, value, TG_ROLE_CONSTANT, value->name, &index);
  if (status) return status;
  tg_dram_tensor *tensor = &c->program->tensors[index];
  if (tensor->bytes) {
    if (!value->data) return tg_fail(c->diag, TG_INVALID, "constant \"%s\" has no data", value->name);
    tensor->data = value->data;
    if (!c->options.borrow_constants)
      tensor->data =
          memcpy(TG_NEW_ARRAY(&c->program->arena, uint8_t, tensor->bytes), value->data, tensor->bytes);
  }
  place_at_end(c, index);
  c->places[value->index].tensor = index;
  return TG_OK;
}

static bool is_state(const tg_compile *c, int input) {
  for (size_t i = 0; i < c->graph->carry_count; i++)
    if (c->graph->carries[i].input == input) return true;
  return false;
}

/* Tensor i of the program is input i of the graph. */
static tg_status place_inputs(tg_compile *c) {
  for (int i = 0; i < c->graph->input_count; i++) {
    tg_value *value = c->graph->inputs[i];
    bool runs = tg_dtype_is_float(value->dtype) || tg_dtype_is_integer(value->dtype);
    if (!runs || value->dtype == TG_F64)
      return tg_fail(c->diag, TG_INVALID, "input \"%s\" of type %s does not run on the array", value->name,
                     tg_dtype_name(value->dtype));
    int index;
    tg_status status =
        new_tensor(c, value, is_state(c, i) ? TG_ROLE_STATE : TG_ROLE_INPUT, value->name, &index);
    if (status) return status;
    place_at_end(c, index);
    c->places[value->index].tensor = index;
  }
  return TG_OK;
}

/* Output tensors in the order of the graph. A claimed root (fusion/form.c, aliases.c) takes its output's
 * tensor. */
static tg_status place_outputs(tg_compile *c) {
  c->output_tensors = TG_NEW_ARRAY(c->arena, int, (size_t)c->graph->output_count + 1);
  for (int i = 0; i < c->graph->output_count; i++) {
    tg_value *value = c->graph->outputs[i];
    tg_value *root = c->places[value->index].root ? c->places[value->index].root : value;
    int index = c->carried_into[i];
    if (index < 0) {
      tg_status status = new_tensor(c, value, TG_ROLE_OUTPUT, c->graph->output_names[i], &index);
      if (status) return status;
      place_at_end(c, index);
    }
    c->output_tensors[i] = index;
    if (c->places[root->index].tensor == -2 - i) c->places[root->index].tensor = index;
  }
  return TG_OK;
}

static tg_status add_temporary(planner *p, size_t k, tg_value *written) {
  tg_compile *c = p->c;
  const tg_value *value = tg_memory_of(c, written);
  tg_place *place = &c->places[value->index];
  if (place->tensor != -1) return TG_OK;
  tg_status status = new_tensor(c, value, TG_ROLE_TEMPORARY, value->name, &place->tensor);
  if (status) return status;
  size_t last = p->last_use[value->index];
  block fresh = {.tensor = place->tensor,
                 .first = k,
                 .last = last > k ? last : k,
                 .bytes = align(c->program->tensors[place->tensor].bytes)};
  TG_PUSH(c->arena, p->blocks, p->block_count, p->block_capacity, fresh);
  return TG_OK;
}

/* The largest first, of equal ones the first. */
static int by_size(const void *a, const void *b) {
  const block *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static int by_address(const void *a, const void *b) {
  const block *x = *(block *const *)a, *y = *(block *const *)b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The first gap that block number n fits in, among those before it that live at the same time. `beside`: room
 * for as many. */
static uint64_t first_fit(const planner *p, size_t n, uint64_t base, const block **beside) {
  const block *own = &p->blocks[n];
  size_t count = 0;
  for (size_t b = 0; b < n; b++)
    if (p->blocks[b].first <= own->last && own->first <= p->blocks[b].last) beside[count++] = &p->blocks[b];
  qsort(beside, count, sizeof *beside, by_address);
  uint64_t at = base;
  for (size_t b = 0; b < count && beside[b]->begin < at + own->bytes; b++)
    if (beside[b]->begin + beside[b]->bytes > at) at = beside[b]->begin + beside[b]->bytes;
  return at;
}

static tg_status place_temporaries(planner *p) {
  tg_compile *c = p->c;
  uint64_t base = c->program->dram_bytes;
  tg_status status = TG_OK;
  for (size_t k = 0; k < c->kernel_count && !status; k++) {
    if (c->kernels[k].beside) status = add_temporary(p, k, c->kernels[k].beside);
    for (int i = 0; i < tg_kernel_writes(&c->kernels[k]) && !status; i++)
      status = add_temporary(p, k, tg_kernel_written(&c->kernels[k], i));
  }
  if (status || !p->block_count) return status;
  const block **beside = TG_NEW_ARRAY(c->arena, const block *, p->block_count);
  qsort(p->blocks, p->block_count, sizeof *p->blocks, by_size);
  for (size_t n = 0; n < p->block_count; n++) {
    block *own = &p->blocks[n];
    own->begin = first_fit(p, n, base, beside);
    c->program->tensors[own->tensor].address = own->begin;
    if (c->program->dram_bytes < own->begin + own->bytes) c->program->dram_bytes = own->begin + own->bytes;
  }
  return TG_OK;
}

/* What kernels load is somewhere: a pass that stops storing what another kernel loads would leave it without a
 * place. What has no elements no kernel stores; it has a place of no bytes. */
static tg_status settle_load(tg_compile *c, const tg_kernel *kernel, tg_value *value) {
  tg_place *place = &c->places[tg_memory_of(c, value)->index];
  if (place->tensor >= 0) return TG_OK;
  if (tg_value_elements(value))
    return tg_fail(c->diag, TG_INVALID, "%s loads \"%s\", which no kernel stores (a defect of the mapper)",
                   tg_kernel_name(c, kernel), value->name);
  tg_status status = new_tensor(c, value, TG_ROLE_TEMPORARY, value->name, &place->tensor);
  if (!status) place_at_end(c, place->tensor);
  return status;
}

static tg_status settle_loads(tg_compile *c) {
  tg_status status = TG_OK;
  for (size_t k = 0; k < c->kernel_count && !status; k++)
    for (size_t i = 0; i < c->kernels[k].input_count && !status; i++)
      status = settle_load(c, &c->kernels[k], c->kernels[k].inputs[i]);
  return status;
}

static void place_views(tg_compile *c) {
  for (int v = 0; v < c->graph->value_count; v++) {
    tg_value_view *view = c->places[v].view;
    if (!view) continue;
    view->tensor = *tg_place_of(c, view->whole);
    view->tensor.address += (uint64_t)view->first * tg_storage_bytes(view->tensor.storage);
  }
}

tg_status tg_plan_memory(tg_compile *c) {
  planner p = {.c = c, .last_use = TG_NEW_ARRAY(c->arena, size_t, (size_t)c->graph->value_count + 1)};
  tg_status status = place_inputs(c);
  for (size_t k = 0; k < c->kernel_count && !status; k++)
    for (size_t i = 0; i < c->kernels[k].input_count && !status; i++) {
      tg_value *value = tg_memory_of(c, c->kernels[k].inputs[i]);
      p.last_use[value->index] = k;
      if (tg_is_constant(value) && c->places[value->index].tensor == -1) status = place_constant(c, value);
    }
  if (!status) status = place_outputs(c);
  if (!status) status = place_temporaries(&p);
  if (!status) status = settle_loads(c);
  if (!status) place_views(c);
  return status;
}
