/* What several products read as their B stays in scratchpads from the first to the last of them.
 *
 * The steps of a recurrent layer multiply one matrix again and again. A section of its own puts it into banks that no
 * section until the last of them uses for anything else: the kernels between are made for an array with fewer banks
 * (tg_compile_for). It is done where all of them fit so, and where the estimate says that it is faster. */
#include "mapper/kernel/keep.h"
#include "mapper/gemm/gemm.h"
#include "mapper/kernel/class.h"
#include "mapper/memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of what its products take: so much is saved, since estimates are not better than that; and so much at least are all of
 * its loads at the ports' full rate, since shorter ones hide behind the rest. */
#define WORTH      0.1
#define LOAD_SHARE 0.15

typedef struct candidate {
  tg_kept_operand operand;
  size_t first, last;
  size_t *users, count, capacity;
  tg_kept kept;
  double put;    /* cycles of the section that puts it there */
  double saving; /* of all kernels from the first to the last, alone */
} candidate;

typedef struct keeper {
  tg_compile *c;
  candidate *all;
  size_t count, capacity;
  uint32_t *banks; /* by kernel: those that are left to it */
} keeper;

/* The same bytes? What steps of a loop compute of weights has been folded for each of them. */
static bool same_values(const tg_value *a, const tg_value *b) {
  if (a == b) return true;
  return tg_is_constant(a) && tg_is_constant(b) && a->dtype == b->dtype &&
         tg_value_elements(a) == tg_value_elements(b) &&
         !memcmp(a->data, b->data, (size_t)tg_value_elements(a) * tg_dtype_size(a->dtype));
}

static bool same_operands(const tg_kept_operand *a, const tg_kept_operand *b) {
  tg_kept_operand read = *a;
  read.value = b->value;
  return !memcmp(&read, b, sizeof read) && same_values(a->value, b->value);
}

static candidate *find(keeper *s, const tg_kept_operand *operand) {
  for (size_t i = 0; i < s->count; i++)
    if (same_operands(&s->all[i].operand, operand)) return &s->all[i];
  TG_PUSH(s->c->arena, s->all, s->count, s->capacity, (candidate){.operand = *operand});
  return &s->all[s->count - 1];
}

static void collect(keeper *s) {
  const tg_compile *c = s->c;
  for (size_t k = 0; k < c->kernel_count; k++) {
    tg_kept_operand operand;
    if (!tg_gemm_describe_kept(c, &c->kernels[k], &operand)) continue;
    candidate *own = find(s, &operand);
    if (!own->count) own->first = k;
    own->last = k;
    TG_PUSH(c->arena, own->users, own->count, own->capacity, k);
  }
}

/* Cycles of a kernel with so many banks; those whose class has no estimate count nothing, if they fit. */
static double cycles_of(const tg_compile *c, const tg_kernel *kernel, uint32_t banks) {
  tg_params m;
  tg_diag unused = {""};
  tg_compile narrow = tg_compile_for(c, banks, &m);
  narrow.diag = &unused;
  if (tg_class_of(c, kernel)->cycles) return tg_kernel_cycles(&narrow, kernel);
  return tg_kernel_emits(&narrow, kernel) ? 0 : TG_NEVER;
}

static uint32_t banks_left(const keeper *s, const candidate *own) {
  uint32_t least = s->banks[own->first];
  for (size_t k = own->first; k <= own->last; k++)
    if (s->banks[k] < least) least = s->banks[k];
  return least;
}

/* What it saves if it stays, at banks from own->kept.bank on; less than 0: it does not fit, or costs more. */
static double saving_of(const keeper *s, const candidate *own) {
  const tg_compile *c = s->c;
  double before = 0, after = own->put, users = 0;
  const size_t *next = own->users;
  for (size_t k = own->first; k <= own->last; k++) {
    tg_kernel kernel = c->kernels[k];
    double was = cycles_of(c, &kernel, s->banks[k]);
    bool user = k == *next;
    if (user) kernel.kept = &own->kept;
    if (user && k < own->last) next++;
    double is = cycles_of(c, &kernel, own->kept.bank);
    if (was >= TG_NEVER || is >= TG_NEVER) return -1;
    before += was;
    after += is;
    if (user) users += was;
  }
  if (c->options.any_tiling)
    return (double)(tg_mix((uint32_t)c->options.any_tiling + (uint32_t)own->first) & 1) - 0.5;
  double loads = (double)own->count * own->operand.bytes / ((double)tg_agcus(c->m) * c->m->port_bytes);
  if (loads < LOAD_SHARE * users) return -1;
  return before - after - WORTH * users;
}

/* Below what is kept at the same time already. What was weighed there before is as it was. */
static bool weigh(const keeper *s, candidate *own) {
  uint32_t left = banks_left(s, own), before = own->kept.bank + own->kept.banks;
  if (own->kept.banks >= left) return false;
  if (own->kept.bank && before == left) return own->saving > 0;
  own->kept.bank = left - own->kept.banks;
  own->saving = saving_of(s, own);
  return own->saving > 0;
}

/* The way in which it saves most, if nothing else stays. */
static bool choose_way(const keeper *s, candidate *own) {
  candidate best = {.saving = 0};
  for (int way = 0; way < TG_KEPT_WAYS; way++) {
    candidate x = *own;
    bool saves = tg_gemm_choose_kept(s->c, &s->c->kernels[x.first], way, &x.kept, &x.put) && weigh(s, &x);
    if (saves && x.saving > best.saving) best = x;
  }
  if (best.count) *own = best;
  return best.count > 0;
}

static void keep(keeper *s, const candidate *own) {
  tg_compile *c = s->c;
  tg_kept *kept = TG_NEW(c->arena, tg_kept);
  *kept = own->kept;
  for (size_t k = own->first; k <= own->last; k++) s->banks[k] = kept->bank;
  for (size_t i = 0; i < own->count; i++) c->kernels[own->users[i]].kept = kept;
  TG_PUSH(c->arena, c->keepings, c->keeping_count, c->keeping_capacity,
          ((tg_keeping){.first = own->first, .last = own->last, .kept = kept}));
}

/* What saves most first; in the order of kernels where they save the same. */
static int by_saving(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->saving != y->saving) return x->saving > y->saving ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

tg_status tg_keep_operands(tg_compile *c) {
  keeper s = {.c = c, .banks = TG_NEW_ARRAY(c->arena, uint32_t, c->kernel_count + 1)};
  for (size_t k = 0; k < c->kernel_count; k++) s.banks[k] = c->m->banks;
  collect(&s);
  size_t count = 0;
  for (size_t i = 0; i < s.count; i++) {
    candidate own = s.all[i];
    if (own.count > 1 && choose_way(&s, &own)) s.all[count++] = own;
  }
  if (count) qsort(s.all, count, sizeof *s.all, by_saving);
  for (size_t i = 0; i < count; i++)
    if (weigh(&s, &s.all[i])) keep(&s, &s.all[i]);
  return TG_OK;
}
