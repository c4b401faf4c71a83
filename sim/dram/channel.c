#include "sim/dram/channel.h"
#include "frontend/base/math.h"

#include <string.h>

enum { FILTER = 512 };

static uint32_t filter_of(uint64_t atom) { return (uint32_t)(atom * 0x9E3779B97F4A7C15u >> 55); }

/* ---- queues ---- */

void tg_channel_put(tg_channel *c, bool write, tg_access access, uint32_t row, uint16_t bank) {
  tg_queue_put(write ? &c->writes : &c->reads, access, row, bank, (uint16_t)(bank >> c->group_bits));
  c->banks[bank].waiting++;
  if (write) c->filter[filter_of(access.atom)]++;
}

bool tg_channel_writes_atom(const tg_channel *c, uint64_t atom) {
  return c->filter[filter_of(atom)] && tg_queue_has_atom(&c->writes, atom);
}

/* ---- life ---- */

void tg_channel_init(tg_channel *c, const tg_dram_device *device, uint32_t number, tg_arena *arena) {
  *c = (tg_channel){.device = device, .number = number};
  c->burst = (uint64_t)tg_div_up((int64_t)device->burst * 1000000, device->rate);
  c->interval = device->tRFCpb ? device->tREFI / (device->groups * device->banks) : device->tREFI;
  c->group_bits = (uint32_t)__builtin_ctz(device->banks);
  tg_queue_init(&c->reads, device->read_queue, arena);
  tg_reads_init(&c->read, device->read_queue, arena);
  tg_queue_init(&c->writes, device->write_queue, arena);
  c->filter = TG_NEW_ARRAY(arena, uint16_t, FILTER);
  c->banks = TG_NEW_ARRAY(arena, tg_dram_bank, device->groups * device->banks);
  c->groups = TG_NEW_ARRAY(arena, tg_dram_group, device->groups + 1);
  uint64_t written = device->tCWL + c->burst, turn = device->tCL + c->burst + device->tRTW;
  c->after.gap = tg_later(device->tCCD_S, c->burst);
  c->after.same = tg_later(device->tCCD_L, c->after.gap);
  c->after.read_to_write = turn > device->tCWL ? turn - device->tCWL : 0;
  c->after.write_to_read = written + device->tWTR_S;
  c->after.write_to_read_same = written + tg_later(device->tWTR_L, device->tWTR_S);
  c->after.ahead = device->tRP + device->tRCD;
  c->refreshes.round = device->tRFCpb ? device->groups * device->banks : 1;
  c->refreshes.idle = device->postponed ? c->refreshes.round : 1;
  c->refreshes.patience = device->tRFCpb ? device->tRFCpb : device->tRFC;
  c->refreshes.most = device->postponed ? device->postponed * c->refreshes.round : 1;
}

void tg_channel_reset(tg_channel *c) {
  const tg_dram_device *d = c->device;
  tg_queue_reset(&c->reads);
  tg_reads_reset(&c->read);
  tg_queue_reset(&c->writes);
  memset(c->filter, 0, FILTER * sizeof *c->filter);
  memset(c->banks, 0, d->groups * d->banks * sizeof *c->banks);
  memset(c->groups, 0, (d->groups + 1) * sizeof *c->groups);
  memset(c->window, 0, sizeof c->window);
  c->oldest = 0;
  c->decide = TG_DRAM_NEVER;
  /* All channels at the same time: a stream that goes round them waits for what is away once, not for each. */
  c->owed = c->refreshed = 0;
  c->idle_since = TG_DRAM_EPOCH;
  c->refresh = TG_DRAM_EPOCH + c->interval;
  c->written = c->column = 0;
  c->writing = c->draining = false;
  c->granted = c->turn = 0;
  c->counts = (tg_dram_counts){0};
}

static void tell(const tg_channel *c, const tg_controller_host *host, tg_dram_command command, uint64_t time,
                 uint32_t bank, uint32_t row) {
  if (!host->command) return;
  tg_dram_event event = {.command = command,
                         .time = time - TG_DRAM_EPOCH,
                         .channel = c->number,
                         .group = bank / c->device->banks,
                         .bank = bank % c->device->banks,
                         .row = row};
  host->command(host->user, &event);
}

/* ---- times ---- */

/* Earliest read or write of any group for what was read and written before. */
static uint64_t channel_time(const tg_channel *c, bool write) {
  const tg_dram_group *all = &c->groups[c->device->groups];
  return write ? tg_later(all->written + c->after.gap, all->read + c->after.read_to_write)
               : tg_later(all->read + c->after.gap, all->written + c->after.write_to_read);
}

/* ... of a group, `any` being that of any group. */
static uint64_t group_time(const tg_channel *c, uint32_t group, bool write, uint64_t any) {
  const tg_dram_group *own = &c->groups[group];
  return tg_later(any, write
                           ? own->written + c->after.same
                           : tg_later(own->read + c->after.same, own->written + c->after.write_to_read_same));
}

static uint64_t activate_time(const tg_channel *c, const tg_dram_bank *bank, uint32_t group, uint64_t now) {
  const tg_dram_device *d = c->device;
  uint64_t time = bank->activate;
  if (bank->open) time = tg_later(time, tg_later(bank->precharge, now) + d->tRP);
  time = tg_later(time, c->groups[d->groups].activated + d->tRRD_S);
  time = tg_later(time, c->groups[group].activated + tg_later(d->tRRD_L, d->tRRD_S));
  time = tg_later(time, c->window[c->oldest] + d->tFAW);
  return tg_later(time, now);
}

static void note_activate(tg_channel *c, uint32_t group, uint64_t time) {
  c->groups[group].activated = c->groups[c->device->groups].activated = time;
  c->window[c->oldest] = time;
  c->oldest = (c->oldest + 1) % 4;
}

/* When its row is open, if an access of the run is next. */
static inline uint64_t row_time(const tg_channel *c, const tg_run *run, uint64_t now) {
  const tg_dram_bank *bank = &c->banks[run->bank];
  return bank->open && bank->row == run->row ? bank->column
                                             : activate_time(c, bank, run->group, now) + c->device->tRCD;
}

/* ---- refresh ---- */

static void close_bank(tg_channel *c, const tg_controller_host *host, uint32_t number, uint64_t due) {
  tg_dram_bank *bank = &c->banks[number];
  if (!bank->open) return;
  uint64_t time = tg_later(bank->precharge, due);
  tell(c, host, TG_DRAM_PRECHARGE, time, number, bank->row);
  bank->activate = tg_later(bank->activate, time + c->device->tRP);
  bank->open = false;
}

static void refresh_all(tg_channel *c, const tg_controller_host *host, uint64_t time) {
  uint32_t banks = c->device->groups * c->device->banks;
  uint64_t start = time;
  for (uint32_t b = 0; b < banks; b++) {
    close_bank(c, host, b, time);
    start = tg_later(start, c->banks[b].activate);
  }
  tell(c, host, TG_DRAM_REFRESH, start, 0, 0);
  for (uint32_t b = 0; b < banks; b++) c->banks[b].activate = start + c->device->tRFC;
}

/* Of the banks whose turn of this round is still to come the one that the fewest accesses wait for. */
static uint32_t bank_to_refresh(const tg_channel *c) {
  uint32_t banks = c->device->groups * c->device->banks, best = banks;
  for (uint32_t b = 0; b < banks; b++)
    if (!c->banks[b].refreshed && (best == banks || c->banks[b].waiting < c->banks[best].waiting)) best = b;
  return best;
}

/* For other banks as an activate. */
static void refresh_bank(tg_channel *c, const tg_controller_host *host, uint64_t time) {
  const tg_dram_device *d = c->device;
  uint32_t banks = d->groups * d->banks, number = bank_to_refresh(c), group = number >> c->group_bits;
  tg_dram_bank *bank = &c->banks[number];
  close_bank(c, host, number, time);
  uint64_t start = activate_time(c, bank, group, time);
  tell(c, host, TG_DRAM_REFRESH, start, number, 0);
  bank->activate = start + d->tRFCpb;
  note_activate(c, group, start);
  bank->refreshed = true;
  if (++c->refreshed < banks) return;
  c->refreshed = 0;
  for (uint32_t b = 0; b < banks; b++) c->banks[b].refreshed = false;
}

/* When all banks can be activated. */
static uint64_t all_there(const tg_channel *c) {
  uint64_t time = 0;
  for (uint32_t b = 0; b < c->device->groups * c->device->banks; b++)
    time = tg_later(time, c->banks[b].activate);
  return time;
}

static void refresh_one(tg_channel *c, const tg_controller_host *host, uint64_t time) {
  c->device->tRFCpb ? refresh_bank(c, host, time) : refresh_all(c, host, time);
  c->counts.refreshes++;
  c->owed--;
}

/* Nobody waits from `from` until `until`: rounds of what is owed, each when all banks are there; or, if none may be late, one. */
static void catch_up(tg_channel *c, const tg_controller_host *host, uint64_t from, uint64_t until) {
  while (c->owed >= c->refreshes.idle) {
    if (c->device->postponed)
      from = tg_later(from, tg_later(c->idle_since + c->refreshes.patience, all_there(c)));
    if (from > until) return;
    for (uint32_t i = 0; i < c->refreshes.idle; i++) refresh_one(c, host, from);
  }
}

/* What is due until `now` is owed; nothing was in the way of what is done but what had been decided before. */
static void refresh(tg_channel *c, const tg_controller_host *host, uint64_t now) {
  bool idle = c->decide == TG_DRAM_NEVER;
  if (idle) catch_up(c, host, c->idle_since, now);
  while (c->refresh <= now) {
    uint64_t due = c->refresh;
    c->owed++;
    c->refresh += c->interval;
    if (idle)
      catch_up(c, host, due, now);
    else if (c->owed >= c->refreshes.most)
      refresh_one(c, host, due);
    if (!idle || c->refresh > now || c->owed) continue;
    uint64_t rounds = (now - c->refresh) / c->interval / c->refreshes.round; /* each like the next, */
    rounds -= rounds > 0; /* and the last may not be over */
    c->counts.refreshes += rounds * c->refreshes.round;
    c->refresh += rounds * c->refreshes.round * c->interval;
  }
}

void tg_channel_refresh(tg_channel *c, const tg_controller_host *host, uint64_t time) {
  if (c->refresh < time || c->owed >= c->refreshes.idle) refresh(c, host, time - 1);
}

/* ---- choice ---- */

/* The run whose oldest access is next. `any`: the earliest read or write of the channel. */
static uint32_t choose(const tg_channel *c, const tg_access_queue *q, bool write, uint64_t now,
                       uint64_t any) {
  const tg_dram_device *d = c->device;
  uint32_t best = q->oldest;
  if (q->count == 1 || d->order == TG_ORDER_IN_ORDER || q->bypassed >= d->bypass) return best;
  const tg_run *run = &q->runs[best];
  uint64_t bound = tg_later(now, any), free[16];
  uint64_t soonest = tg_later(row_time(c, run, now), group_time(c, run->group, write, bound));
  if (soonest <= bound) return best;
  for (uint32_t g = 0; g < d->groups; g++) free[g] = group_time(c, g, write, bound);
  for (uint32_t before = run->count; before < d->window && soonest > bound; before += run->count) {
    uint32_t number = run->younger;
    if (number == TG_NO_SLOT) break;
    run = &q->runs[number];
    if (free[run->group] >= soonest) continue;
    uint64_t time = tg_later(row_time(c, run, now), free[run->group]);
    if (time >= soonest) continue;
    soonest = time;
    best = number;
  }
  return best;
}

static void open_row(tg_channel *c, const tg_controller_host *host, const tg_run *run, uint64_t now) {
  const tg_dram_device *d = c->device;
  tg_dram_bank *bank = &c->banks[run->bank];
  if (bank->open && bank->row == run->row) {
    c->counts.hits++;
    return;
  }
  uint64_t time = activate_time(c, bank, run->group, now);
  bank->open ? c->counts.conflicts++ : c->counts.misses++;
  if (bank->open) tell(c, host, TG_DRAM_PRECHARGE, tg_later(bank->precharge, now), run->bank, bank->row);
  tell(c, host, TG_DRAM_ACTIVATE, time, run->bank, run->row);
  bank->open = true;
  bank->row = run->row;
  bank->activate = time + d->tRC;
  bank->column = time + d->tRCD;
  bank->precharge = time + d->tRAS;
  note_activate(c, run->group, time);
}

/* Reads or writes the open row; returns the end of the data. */
static uint64_t transfer(tg_channel *c, const tg_controller_host *host, const tg_run *run, bool write,
                         uint64_t now, uint64_t any) {
  const tg_dram_device *d = c->device;
  tg_dram_bank *bank = &c->banks[run->bank];
  tg_dram_group *own = &c->groups[run->group], *all = &c->groups[d->groups];
  uint64_t time = tg_later(tg_later(bank->column, now), group_time(c, run->group, write, any)), end;
  tell(c, host, write ? TG_DRAM_WRITE : TG_DRAM_READ, time, run->bank, run->row);
  if (write) {
    c->counts.turnarounds += all->read > all->written;
    own->written = all->written = time;
    c->written = end = time + d->tCWL + c->burst;
    bank->precharge = tg_later(bank->precharge, end + d->tWR);
    c->counts.written += tg_dram_access_bytes(d);
  } else {
    c->counts.turnarounds += all->written > all->read;
    own->read = all->read = time;
    end = time + d->tCL + c->burst;
    bank->precharge = tg_later(bank->precharge, time + d->tRTP);
    c->counts.read += tg_dram_access_bytes(d);
  }
  c->column = time;
  if (d->page == TG_PAGE_CLOSED && !tg_queue_has_row(&c->reads, run->row, run->bank) &&
      !tg_queue_has_row(&c->writes, run->row, run->bank)) {
    tell(c, host, TG_DRAM_PRECHARGE, bank->precharge, run->bank, run->row);
    bank->open = false;
    bank->activate = tg_later(bank->activate, bank->precharge + d->tRP);
  }
  return end;
}

/* Whether the next access is a write, if there is one to be done. Reads go first while writes are few. */
static bool direct(tg_channel *c) {
  uint32_t low = c->device->write_low, writes = c->writes.count;
  if (c->writing)
    c->writing = writes && (!c->reads.count || writes > low);
  else
    c->writing =
        writes >= c->device->write_high || (!c->reads.count && writes && (writes > low || c->draining));
  return c->writing ? true : c->reads.count > 0;
}

/* A decision comes early enough to open the row of what is next behind the data of what was decided last. */
static uint64_t next_decision(const tg_channel *c, uint64_t now) {
  return tg_later(now, c->column > c->after.ahead ? c->column - c->after.ahead : 0);
}

tg_choice tg_channel_decide(tg_channel *c, const tg_controller_host *host) {
  uint64_t now = c->decide;
  tg_choice choice = {0};
  if (c->refresh <= now) refresh(c, host, now);
  if (!direct(c)) {
    c->decide = TG_DRAM_NEVER;
    return choice;
  }
  tg_access_queue *q = c->writing ? &c->writes : &c->reads;
  uint64_t any = channel_time(c, c->writing);
  choice.write = c->writing;
  uint32_t number = choose(c, q, c->writing, now, any);
  const tg_run *run = &q->runs[number];
  choice.access = tg_queue_take(q, number);
  c->banks[run->bank].waiting--;
  if (choice.write) c->filter[filter_of(choice.access->atom)]--;
  open_row(c, host, run, now);
  choice.done = transfer(c, host, run, choice.write, now, any);
  c->decide = c->reads.count || c->writes.count ? next_decision(c, now) : TG_DRAM_NEVER;
  c->idle_since = now;
  return choice;
}

void tg_channel_arrive(tg_channel *c, uint64_t time) {
  uint64_t next = next_decision(c, time);
  if (next < c->decide) c->decide = next;
}
