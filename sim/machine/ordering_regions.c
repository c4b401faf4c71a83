/* Bytes of device memory that two units of a section can conflict at, as reaches of walks tell: often none, since AGCUs
 * store blocks of their own. */
#include "frontend/base/math.h"
#include "sim/machine/ordering_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

typedef struct user { /* a LOAD or STORE instruction */
  const tg_agcu_instr *in;
  uint32_t unit;
  tg_reach bytes;
} user;

static tg_reach moved(tg_reach r, uint64_t base) {
  return r.low < r.high ? (tg_reach){r.low + (int64_t)base, r.high + (int64_t)base} : (tg_reach){0, 0};
}

/* What a section does to memory from each entry of the base table on. */
typedef struct base_use {
  tg_reach all[TG_BASES], stored[TG_BASES];
} base_use;

static void join(tg_reach *r, tg_reach with) {
  if (with.low >= with.high) return;
  bool empty = r->low >= r->high;
  if (empty || with.low < r->low) r->low = with.low;
  if (empty || with.high > r->high) r->high = with.high;
}

static uint32_t site_count(const check *k) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < k->unit_count; i++)
    if (k->units[i].kind == TG_AGCU) count += k->units[i].sequencer.queue->count;
  return count;
}

/* LOADs and STOREs with their reach from an entry of 0 in the base table. */
static user *users_of(const check *k, tg_arena *arena, uint32_t *out_count) {
  user *users = TG_NEW_ARRAY(arena, user, site_count(k));
  *out_count = 0;
  for (uint32_t i = 0; i < k->unit_count; i++) {
    const unit *u = &k->units[i];
    for (uint32_t pc = 0; u->kind == TG_AGCU && pc < u->sequencer.queue->count; pc++) {
      const tg_instr *in = &u->sequencer.queue->instrs[pc];
      tg_reach reach = u->sites[pc].reach;
      if (in->common.op == TG_OP_sync || reach.low >= reach.high) continue;
      users[(*out_count)++] = (user){.in = &in->agcu, .unit = i, .bytes = reach};
    }
  }
  return users;
}

bool tg_order_memory_alike(const check *k, const tg_invocation *a, const tg_invocation *b) {
  tg_arena arena = {0};
  base_use *use = TG_NEW(&arena, base_use);
  uint32_t count;
  const user *users = users_of(k, &arena, &count);
  for (uint32_t i = 0; i < count; i++) {
    int64_t base = users[i].in->base;
    join(&use->all[base], users[i].bytes);
    if (is_store(users[i].in)) join(&use->stored[base], users[i].bytes);
  }
  bool alike = true;
  for (int p = 0; p < TG_BASES; p++)
    for (int q = 0; q < TG_BASES && alike; q++) {
      if (p == q || a->bases[p] - a->bases[q] == b->bases[p] - b->bases[q]) continue;
      alike = !overlap(moved(use->stored[p], a->bases[p]), moved(use->all[q], a->bases[q])) &&
              !overlap(moved(use->stored[p], b->bases[p]), moved(use->all[q], b->bases[q]));
    }
  tg_arena_release(&arena);
  return alike;
}

static int by_low(const void *a, const void *b) {
  const region *x = a, *y = b;
  return (x->bytes.low > y->bytes.low) - (x->bytes.low < y->bytes.low);
}

/* The distance of rows in all tables that are reached by index there. */
static int64_t fold_of(const user *users, uint32_t count, tg_reach bytes) {
  int64_t fold = 0;
  for (uint32_t i = 0; i < count; i++)
    if (users[i].in->index_size && overlap(users[i].bytes, bytes))
      fold = tg_gcd(fold, users[i].in->index_stride);
  return fold;
}

/* Stored bytes, in regions that no reach of a STORE crosses; only those that a second unit may touch. */
static void find_regions(tg_order_memory *memory, const user *users, uint32_t count) {
  region *regions = memory->regions;
  uint32_t stored = 0, merged = 0, kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (is_store(users[i].in) && users[i].bytes.low < users[i].bytes.high)
      regions[stored++] = (region){.bytes = users[i].bytes};
  if (stored) qsort(regions, stored, sizeof *regions, by_low);
  for (uint32_t i = 0; i < stored; i++) {
    if (merged && overlap(regions[merged - 1].bytes, regions[i].bytes))
      join(&regions[merged - 1].bytes, regions[i].bytes);
    else
      regions[merged++] = regions[i];
  }
  for (uint32_t i = 0; i < merged; i++) {
    uint32_t first = NONE;
    bool several = false;
    for (uint32_t j = 0; j < count; j++) {
      if (!overlap(users[j].bytes, regions[i].bytes)) continue;
      several = several || (first != NONE && first != users[j].unit);
      first = users[j].unit;
    }
    regions[i].fold = fold_of(users, count, regions[i].bytes);
    if (several) regions[kept++] = regions[i];
  }
  memory->region_count = kept;
}

static uint64_t alignment_of(const tg_agcu_instr *in) {
  uint64_t bits = tg_convert_memory_bytes(in->convert) | (uint64_t)in->offset;
  for (int l = 0; l < TG_LEVELS; l++) bits |= (uint64_t)in->offset_delta[l];
  for (int d = 0; d < 6; d++) bits |= (uint64_t)in->stride[d];
  return in->index_size ? bits | (uint64_t)in->index_stride : bits;
}

/* Pages that nothing touches cost nothing. */
static uint32_t *new_shadow(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static tg_status add_shadows(const check *k, tg_order_memory *memory) {
  for (uint32_t i = 0; i < memory->region_count; i++) {
    region *r = &memory->regions[i];
    uint64_t granules = (uint64_t)(r->bytes.high - r->bytes.low) >> memory->shift;
    r->shadow_bytes = (granules + 1) * sizeof *r->writer;
    r->writer = new_shadow(r->shadow_bytes);
    r->readers = new_shadow(r->shadow_bytes);
    if (!r->writer || !r->readers)
      return tg_fail(k->diag, TG_INVALID, "its order cannot be proved: no memory for a shadow of %llu bytes",
                     (unsigned long long)(r->bytes.high - r->bytes.low));
  }
  return TG_OK;
}

tg_status tg_order_memory_open(check *k) {
  if (!k->invocation) return TG_OK;
  uint32_t count;
  user *users = users_of(k, &k->arena, &count);
  tg_order_memory *memory = TG_NEW(&k->arena, tg_order_memory);
  memory->regions = TG_NEW_ARRAY(&k->arena, region, count);
  uint64_t bits = 4;
  for (uint32_t i = 0; i < count; i++) {
    users[i].bytes = moved(users[i].bytes, k->invocation->bases[users[i].in->base]);
    /* Beyond the memory is a fault of every engine. */
    if (users[i].bytes.low < 0) users[i].bytes.low = 0;
    if (users[i].bytes.high > (int64_t)k->program->dram_bytes)
      users[i].bytes.high = (int64_t)k->program->dram_bytes;
  }
  find_regions(memory, users, count);
  if (!memory->region_count) return TG_OK;
  for (uint32_t i = 0; i < count; i++) bits |= alignment_of(users[i].in);
  memory->shift = (uint32_t)__builtin_ctzll(bits);
  memory->spans.span =
      TG_NEW_ARRAY(&k->arena, tg_span, (size_t)k->m->burst_flits * (tg_flit_bytes(k->m) / 2));
  k->memory = memory;
  return add_shadows(k, memory);
}

void tg_order_memory_close(check *k) {
  for (uint32_t i = 0; k->memory && i < k->memory->region_count; i++) {
    const region *r = &k->memory->regions[i];
    if (r->writer) munmap(r->writer, r->shadow_bytes);
    if (r->readers) munmap(r->readers, r->shadow_bytes);
  }
  if (k->memory) free(k->memory->visits);
  k->memory = NULL;
}
