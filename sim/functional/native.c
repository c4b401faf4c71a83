/* Kernels of a program: one function for each distinct microprogram, one plan for each distinct shape of
 * GEMM, and the tables that find them from (section, tile, pc). */
#include "frontend/base/hash.h"
#include "sim/functional/code_store.h"
#include "sim/functional/exec.h"
#include "sim/functional/gemm.h"
#include "sim/functional/ir.h"
#include "sim/functional/vop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* Numbers equal byte strings equally, 0, 1, 2 ... in order of appearance. */
typedef struct interned {
  tg_arena arena;
  struct {
    const uint8_t *key;
    size_t length;
    uint32_t number;
  } * slots;
  uint32_t count, capacity; /* capacity: a power of two, at most half full */
} interned;

/* First instruction with each number, and where it is. */
typedef struct origin {
  const tg_instr *in;
  const uint64_t *words;
} origin;

typedef struct native {
  tg_kernels base; /* first */
  tg_codes held;
  tg_gemm_blocking blocking;
  tg_gemm_kernels gemm_kernels[8]; /* by log2 of the vector length */
  uint32_t tiles, depth;
  uint32_t *gemm_of, *vop_of; /* [section][tile][pc] */
  interned gemms, vops;
  origin *gemm_origin, *vop_origin;
  size_t gemm_capacity, vop_capacity;
  tg_gemm_plan **plans; /* NULL: the reference runs it */
  tg_vop_function **codes;
  bool rounding; /* some GEMM rounds at K tiles */
} native;

static void *grown(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (!memory) tg_die("out of memory for the kernels");
  return memory;
}

static uint32_t find_slot(const interned *set, const uint8_t *key, size_t length) {
  uint32_t at = (uint32_t)tg_hash(key, length) & (set->capacity - 1);
  while (set->slots[at].key && (set->slots[at].length != length || memcmp(set->slots[at].key, key, length)))
    at = (at + 1) & (set->capacity - 1);
  return at;
}

static void enlarge(interned *set) {
  interned larger = *set;
  larger.capacity = set->capacity ? 2 * set->capacity : 64;
  larger.slots = grown(larger.capacity, sizeof *larger.slots);
  for (uint32_t i = 0; i < set->capacity; i++)
    if (set->slots[i].key)
      larger.slots[find_slot(&larger, set->slots[i].key, set->slots[i].length)] = set->slots[i];
  free(set->slots);
  *set = larger;
}

static uint32_t intern(interned *set, const void *key, size_t length) {
  if (2 * (set->count + 1) > set->capacity) enlarge(set);
  uint32_t at = find_slot(set, key, length);
  if (!set->slots[at].key) {
    uint8_t *copy = tg_arena_alloc(&set->arena, length, 1);
    memcpy(copy, key, length);
    set->slots[at].key = copy;
    set->slots[at].length = length;
    set->slots[at].number = set->count++;
  }
  return set->slots[at].number;
}

static void release(interned *set) {
  tg_arena_release(&set->arena);
  free(set->slots);
}

/* Key under construction. */
typedef struct key {
  int64_t part[64 + 1024 * TG_SEGMENTS];
  size_t count;
} key;
static void add(key *k, const int64_t *values, size_t count) {
  memcpy(k->part + k->count, values, count * sizeof *values);
  k->count += count;
}

static uint32_t gemm_number(native *n, const tg_mx_instr *in) {
  key k;
  k.count = 0;
  const int64_t scalars[] = {in->format, in->k_loops, in->col_half};
  add(&k, scalars, 3);
  add(&k, in->m_count, 2);
  add(&k, in->blk_count, 4);
  add(&k, in->a_blk, 4);
  add(&k, in->b_blk, 4);
  add(&k, in->c_blk, 4);
  add(&k, in->h_blk, 4);
  add(&k, in->sr_col_blk, 4);
  return intern(&n->gemms, k.part, k.count * sizeof *k.part);
}

static uint32_t vop_number(native *n, const tg_vx_instr *in, const uint64_t *words) {
  key k;
  k.count = 0;
  add(&k, &in->seg_repeat, 1);
  add(&k, in->seg_len, TG_SEGMENTS);
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    const int64_t stream[] = {s->kind, s->store, s->lane};
    add(&k, stream, 3);
  }
  for (int q = 0; q < TG_SEGMENTS; q++)
    for (int64_t i = 0; i < in->seg_len[q]; i++) k.part[k.count++] = (int64_t)words[in->seg_begin[q] + i];
  return intern(&n->vops, k.part, k.count * sizeof *k.part);
}

static void remember(origin **origins, size_t *capacity, uint32_t number, const tg_instr *in,
                     const uint64_t *words) {
  if (number >= *capacity) {
    *capacity = *capacity ? 2 * *capacity : 64;
    *origins = realloc(*origins, *capacity * sizeof **origins);
    if (!*origins) tg_die("out of memory for the kernels");
  }
  (*origins)[number] = (origin){in, words};
}

static void number_gemm(native *n, const tg_instr *in, uint32_t *out) {
  if (in->common.op != TG_OP_mx_gemm) return;
  n->rounding |= in->mx.sr != 0;
  uint32_t before = n->gemms.count;
  *out = gemm_number(n, &in->mx);
  if (n->gemms.count > before) remember(&n->gemm_origin, &n->gemm_capacity, *out, in, NULL);
}

static void number_vop(native *n, const tg_instr *in, const uint64_t *words, uint32_t *out) {
  if (in->common.op != TG_OP_vx_vop) return;
  uint32_t before = n->vops.count;
  *out = vop_number(n, &in->vx, words);
  if (n->vops.count > before) remember(&n->vop_origin, &n->vop_capacity, *out, in, words);
}

static void number_all(native *n, const tg_program *program) {
  size_t places = (size_t)program->section_count * n->tiles * n->depth;
  n->gemm_of = grown(places, sizeof *n->gemm_of);
  n->vop_of = grown(places, sizeof *n->vop_of);
  for (size_t i = 0; i < places; i++) n->gemm_of[i] = n->vop_of[i] = NONE;
  for (uint32_t s = 0; s < program->section_count; s++)
    for (uint32_t t = 0; t < n->tiles; t++) {
      const tg_tile_program *tile = &program->sections[s].tiles[t];
      size_t at = ((size_t)s * n->tiles + t) * n->depth;
      for (uint32_t pc = 0; pc < tile->mx.count; pc++)
        number_gemm(n, &tile->mx.instrs[pc], &n->gemm_of[at + pc]);
      for (uint32_t pc = 0; pc < tile->vx.count; pc++)
        number_vop(n, &tile->vx.instrs[pc], tile->words, &n->vop_of[at + pc]);
    }
}

static tg_status compile_gemms(native *n, const tg_params *params, tg_diag *diag) {
  enum { LENGTHS = sizeof n->gemm_kernels / sizeof *n->gemm_kernels };
  tg_gemm_needs needs[LENGTHS] = {{0}};
  n->plans = grown(n->gemms.count, sizeof *n->plans);
  for (uint32_t i = 0; i < n->gemms.count; i++) {
    n->plans[i] = tg_gemm_plan_create(params, &n->gemm_origin[i].in->mx, &n->blocking, n->gemm_kernels);
    if (n->plans[i]) tg_gemm_plan_needs(n->plans[i], n->rounding, needs);
  }
  tg_status status = TG_OK;
  for (uint32_t log2 = 0; !status && log2 < LENGTHS; log2++)
    status = tg_gemm_compile(&n->blocking, 1u << log2, tg_lanes(params), &needs[log2], &n->held,
                             &n->gemm_kernels[log2], diag);
  return status;
}

static tg_status compile_vops(native *n, const tg_params *params, tg_diag *diag) {
  tg_text text = {0};
  tg_status status = TG_OK;
  n->codes = grown(n->vops.count, sizeof *n->codes);
  for (uint32_t i = 0; !status && i < n->vops.count; i++) {
    tg_ir_declare(&text, tg_lanes(params));
    tg_vop_emit(&text, params, &n->vop_origin[i].in->vx, n->vop_origin[i].words);
    void *address;
    status = tg_codes_add(&n->held, &text, &address, diag);
    if (!status) memcpy(&n->codes[i], &address, sizeof address);
  }
  free(text.text);
  return status;
}

static size_t place(const native *n, const tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  return ((size_t)state->section_index * n->tiles + tile) * n->depth + x->pc;
}

static void gemm(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  const native *n = (const native *)(const void *)kernels;
  uint32_t number = n->gemm_of[place(n, state, tile, x)];
  assert(number != NONE);
  if (n->plans[number])
    tg_gemm_plan_run(n->plans[number], state, tile, x);
  else
    tg_exec_gemm(tg_kernels_reference(), state, tile, x);
}

static void vop(const tg_kernels *kernels, tg_machine_state *state, uint32_t tile, const tg_execution *x) {
  const native *n = (const native *)(const void *)kernels;
  uint32_t number = n->vop_of[place(n, state, tile, x)];
  assert(number != NONE);
  tg_vop_run(n->codes[number], state, tile, x);
}

static void destroy(tg_kernels *kernels) {
  native *n = (native *)(void *)kernels;
  for (uint32_t i = 0; n->plans && i < n->gemms.count; i++) tg_gemm_plan_destroy(n->plans[i]);
  release(&n->gemms);
  release(&n->vops);
  free(n->plans);
  free(n->codes);
  free(n->gemm_origin);
  free(n->vop_origin);
  free(n->gemm_of);
  free(n->vop_of);
  tg_codes_release(&n->held);
  free(n);
}

tg_status tg_kernels_prepare(const tg_program *program, tg_kernels **out_kernels, tg_diag *diag) {
  native *n = grown(1, sizeof *n);
  n->base = (tg_kernels){.name = "native", .gemm = gemm, .vop = vop, .destroy = destroy};
  n->tiles = tg_tiles(&program->params);
  n->depth = program->params.queue_depth;
  n->blocking = tg_gemm_blocking_of_host();
  *out_kernels = NULL;
  number_all(n, program);
  tg_status status = tg_code_store_check(diag);
  if (!status) status = compile_gemms(n, &program->params, diag);
  if (!status) status = compile_vops(n, &program->params, diag);
  if (status) {
    destroy(&n->base);
    return status;
  }
  *out_kernels = &n->base;
  return TG_OK;
}
