/* Device memory: of two accesses of AGCU contexts to one byte, one of them a STORE, the latter must know the end of
 * the former.
 *
 * For bytes that two units can conflict at (ordering_regions.c) a shadow keeps, for every granule of the walks' common
 * alignment, the last STORE and the LOADs since then that no later LOAD knows of.
 *
 * Rows by index may be any rows of their table. In a region that such a walk reaches, granules are those of one row,
 * which stands for all of them: addresses count modulo the distance of rows. */
#include "sim/machine/ordering_memory.h"

#include <stdlib.h>

enum { MAX_VISITS_SHIFT = 33 }; /* granules visited in a section */

/* An execution at work, with what the granule before was found to hold: neighbours mostly hold the same. */
typedef struct worker {
  check *k;
  const unit *u;
  const tg_execution *x;
  bool store;
  uint32_t visit;                /* of a STORE; of a LOAD 0 */
  uint32_t writer;               /* one that is known to have ended, or 0 */
  uint32_t readers, new_readers; /* a list that was found, and what it became */
  tg_reach table;                /* of rows by index: where they may be; else empty */
} worker;

static uint32_t new_visit(const worker *w, uint32_t like, uint32_t next) {
  tg_order_memory *memory = w->k->memory;
  if (memory->visit_count + 2 > memory->visit_capacity) {
    size_t capacity = memory->visit_capacity ? 2 * memory->visit_capacity : 1024;
    visit *visits = capacity < NONE ? realloc(memory->visits, capacity * sizeof *visits) : NULL;
    if (!visits) return 0;
    w->k->clock_bytes += (capacity - memory->visit_capacity) * sizeof *visits;
    memory->visits = visits;
    memory->visit_capacity = capacity;
  }
  visit *v = &memory->visits[++memory->visit_count];
  if (like)
    *v = memory->visits[like];
  else
    *v = (visit){.unit = (uint32_t)(w->u - w->k->units),
                 .ordinal = w->u->executed,
                 .index = {w->x->index[0], w->x->index[1], w->x->index[2]},
                 .pc = w->x->pc};
  v->next = next;
  return (uint32_t)memory->visit_count;
}

/* Whether an access by another unit is known to have ended. */
static bool ended(const worker *w, const visit *v, bool store) {
  const unit *by = &w->k->units[v->unit];
  return by == w->u || w->u->known[store ? by->component : by->reads] >= v->ordinal;
}

static const char *tensor_at(const check *k, uint64_t address) {
  for (uint32_t t = 0; t < k->program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &k->program->tensors[t];
    if (address >= tensor->address && address - tensor->address < tensor->bytes) return tensor->name;
  }
  return "no tensor";
}

static tg_status conflict(const worker *w, const visit *was, uint64_t address) {
  const check *k = w->k;
  char now[64], before[64];
  tg_order_name_unit(k, (uint32_t)(w->u - k->units), now, sizeof now);
  tg_order_name_unit(k, was->unit, before, sizeof before);
  const uint32_t *i = w->x->index, *j = was->index;
  return tg_fail(
      k->diag, TG_MISMATCH,
      "device memory from byte %llu on (\"%s\"): %s pc %u [%u %u %u] does not wait for the end of %s pc "
      "%u [%u %u %u]",
      (unsigned long long)address, tensor_at(k, address), now, w->x->pc, i[0], i[1], i[2], before, was->pc,
      j[0], j[1], j[2]);
}

static tg_status out_of_visits(const worker *w) {
  return tg_fail(w->k->diag, TG_INVALID, "its order cannot be proved: no memory for %zu accesses",
                 w->k->memory->visit_count);
}

static tg_status after_readers(worker *w, uint32_t list, uint64_t address) {
  const visit *visits = w->k->memory->visits;
  for (uint32_t at = list; at; at = visits[at].next)
    if (!ended(w, &visits[at], false)) return conflict(w, &visits[at], address);
  w->readers = list;
  return TG_OK;
}

/* The list with this LOAD and without those that it knows of: who knows it knows them. */
static tg_status add_reader(worker *w, uint32_t list) {
  uint32_t fresh = 0;
  for (uint32_t at = list; at; at = w->k->memory->visits[at].next) {
    if (ended(w, &w->k->memory->visits[at], false)) continue;
    fresh = new_visit(w, at, fresh);
    if (!fresh) return out_of_visits(w);
  }
  w->new_readers = new_visit(w, 0, fresh);
  w->readers = list;
  return w->new_readers ? TG_OK : out_of_visits(w);
}

static tg_status touch_granules(worker *w, const region *r, uint64_t first, uint64_t count) {
  tg_order_memory *memory = w->k->memory;
  tg_status status = TG_OK;
  memory->granules += count;
  for (uint64_t i = first; i < first + count; i++) {
    uint32_t writer = r->writer[i], readers = r->readers[i];
    uint64_t address = (uint64_t)r->bytes.low + (i << memory->shift);
    if (writer != w->writer && writer) {
      if (!ended(w, &memory->visits[writer], true)) return conflict(w, &memory->visits[writer], address);
      w->writer = writer;
    }
    if (w->store) {
      if (readers != w->readers && readers) status = after_readers(w, readers, address);
      r->writer[i] = w->visit;
      r->readers[i] = 0;
    } else {
      if (readers == w->new_readers && readers) continue; /* seen already */
      if (readers != w->readers || !w->new_readers) status = add_reader(w, readers);
      r->readers[i] = w->new_readers;
    }
    if (status) return status;
  }
  return status;
}

static const region *first_region(const tg_order_memory *memory, int64_t low) {
  uint32_t a = 0, b = memory->region_count;
  while (a < b) {
    uint32_t mid = (a + b) / 2;
    if (memory->regions[mid].bytes.high <= low)
      a = mid + 1;
    else
      b = mid;
  }
  return &memory->regions[a];
}

/* What lies in the region of `count` bytes from its byte `first` on: rows may be farther apart than it is long. */
static tg_status touch_inside(worker *w, const region *r, int64_t first, int64_t count) {
  uint32_t shift = w->k->memory->shift;
  int64_t size = r->bytes.high - r->bytes.low;
  if (first >= size) return TG_OK;
  if (count > size - first) count = size - first;
  return touch_granules(w, r, (uint64_t)first >> shift, (uint64_t)count >> shift);
}

/* Bytes of a region with a fold; of rows by index they need not lie in it. */
static tg_status touch_folded(worker *w, const region *r, tg_reach bytes) {
  int64_t first = (bytes.low - r->bytes.low) % r->fold, left = bytes.high - bytes.low;
  if (first < 0) first += r->fold;
  if (left >= r->fold) return touch_inside(w, r, 0, r->fold);
  int64_t count = left < r->fold - first ? left : r->fold - first;
  tg_status status = touch_inside(w, r, first, count);
  return status ? status : touch_inside(w, r, 0, left - count);
}

static tg_status touch_rows_by_index(worker *w, tg_reach bytes) {
  const tg_order_memory *memory = w->k->memory;
  const region *end = memory->regions + memory->region_count;
  tg_status status = TG_OK;
  for (const region *r = first_region(memory, w->table.low);
       r < end && r->bytes.low < w->table.high && !status; r++)
    status = touch_folded(w, r, bytes);
  return status;
}

static tg_status touch_bytes(worker *w, tg_reach bytes) {
  const tg_order_memory *memory = w->k->memory;
  const region *end = memory->regions + memory->region_count;
  if (bytes.low >= bytes.high) return TG_OK;
  if (w->table.low < w->table.high) return touch_rows_by_index(w, bytes);
  for (const region *r = first_region(memory, bytes.low); r < end && r->bytes.low < bytes.high; r++) {
    int64_t low = bytes.low > r->bytes.low ? bytes.low : r->bytes.low,
            high = bytes.high < r->bytes.high ? bytes.high : r->bytes.high;
    tg_status status = r->fold ? touch_folded(w, r, (tg_reach){low, high})
                               : touch_granules(w, r, (uint64_t)(low - r->bytes.low) >> memory->shift,
                                                (uint64_t)(high - low) >> memory->shift);
    if (status) return status;
  }
  return TG_OK;
}

/* The bytes of spans that continue each other at once. */
static tg_status touch_spans(worker *w, const tg_spans *spans, uint32_t element_bytes) {
  tg_reach pending = {0, 0};
  for (uint32_t i = 0; i < spans->count; i++) {
    const tg_span *span = &spans->span[i];
    if (!span->valid_count) continue;
    tg_reach bytes = {span->address, span->address + (int64_t)span->valid_count * element_bytes};
    if (bytes.low == pending.high) {
      pending.high = bytes.high;
      continue;
    }
    tg_status status = touch_bytes(w, pending);
    if (status) return status;
    pending = bytes;
  }
  return touch_bytes(w, pending);
}

tg_status tg_order_touch_memory(check *k, unit *u, const tg_execution *x) {
  tg_order_memory *memory = k->memory;
  if (!memory) return TG_OK;
  const tg_agcu_instr *in = &x->in->agcu;
  tg_walk walk;
  tg_reach reach;
  tg_walk_begin(&walk, k->m, in, x->index, k->invocation->bases[in->base]);
  tg_walk_reach(&walk, &reach.low, &reach.high);
  const region *r = first_region(memory, reach.low);
  if (r == memory->regions + memory->region_count || !overlap(r->bytes, reach)) return TG_OK;
  worker w = {.k = k, .u = u, .x = x, .store = is_store(in)};
  if (in->index_size && in->index_stride) w.table = reach;
  if (w.store && !(w.visit = new_visit(&w, 0, 0))) return out_of_visits(&w);
  tg_status status = TG_OK;
  while (walk.flit < walk.flits && !status) {
    uint32_t atoms;
    tg_walk_burst(&walk, k->m->burst_flits, &memory->spans, &atoms);
    status = touch_spans(&w, &memory->spans, walk.memory_bytes);
  }
  if (!status && memory->granules > 1ull << MAX_VISITS_SHIFT)
    return tg_order_too_long(k, "2^33 elements of device memory are shared by units");
  return status;
}
