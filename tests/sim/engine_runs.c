#include "tests/sim/engine_runs.h"

#include "sim/machine/numerics.h"

#include <stdio.h>
#include <string.h>

static void store(uint8_t *at, tg_storage storage, float number) {
  uint32_t bits = tg_f32_bits(number);
  uint16_t narrow = storage == TG_STORE_BF16 ? tg_bf16_from_f32(bits) : tg_fp16_from_f32(bits);
  if (tg_storage_bytes(storage) == 4)
    memcpy(at, &bits, 4);
  else
    memcpy(at, &narrow, 2);
}

static void fill_numbers(tg_dram *dram, const tg_dram_tensor *tensor) {
  uint32_t z = tg_storage_bytes(tensor->storage), x = (uint32_t)tensor->address + 1;
  for (uint64_t i = 0; i < tensor->bytes / z; i++) {
    x = x * 1664525u + 1013904223u;
    store(dram->bytes + tensor->address + i * z, tensor->storage, (float)(int32_t)x * 0x1p-30f);
  }
}

static engine_run run_program(const tg_engine *engine, const tg_program *program, tg_run_options options,
                              bool numbers) {
  engine_run run = {.diag = {""}, .sections = program->invocation_count};
  void *state = NULL;
  run.status = tg_dram_create(program, &run.dram, &run.diag);
  if (run.status) return run;
  uint32_t x = 12345;
  for (uint64_t i = 0; i < run.dram->size; i++) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    run.dram->bytes[i] = (uint8_t)(x >> 11);
  }
  for (uint32_t t = 0; t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    if (tensor->data) memcpy(run.dram->bytes + tensor->address, tensor->data, tensor->bytes);
    if (numbers && tg_role_is_input(tensor->role)) fill_numbers(run.dram, tensor);
  }
  options.record_events = true;
  run.status = engine->open(program, &options, &state, &run.diag);
  if (!run.status) run.status = engine->run(state, run.dram, &options, &run.result, &run.diag);
  if (state) engine->close(state);
  return run;
}

engine_run engine_run_program(const tg_engine *engine, const tg_program *program, tg_run_options options) {
  return run_program(engine, program, options, false);
}

engine_run engine_run_numbers(const tg_engine *engine, const tg_program *program, tg_run_options options) {
  return run_program(engine, program, options, true);
}

tg_status draw_memory(tg_params *params, uint64_t seed) {
  static const char *const devices[] = {
      "simple",
      "ddr4-3200,channels=1",
      "lpddr5-6400,channels=2,page=closed,port_queue=4",
      "hbm2e-3200,window=1,write_high=4,write_low=1,controller=0",
      "gddr6-14000,order=in-order,channels=4,read_queue=4,window=2",
      "hbm3-6400,tREFI=150000,tRFC=20000,tRFCpb=0,hash=none,map=c1gcbhr",
  };
  params->clock_mhz = seed % 5 ? 1000 : 1700;
  return tg_dram_device_load(devices[seed % (sizeof devices / sizeof *devices)], NULL, &params->dram, NULL);
}

void engine_run_release(engine_run *run) {
  tg_run_result_release(&run->result);
  tg_dram_destroy(run->dram);
}

static bool same_event(const tg_event *a, const tg_event *b) {
  return a->start == b->start && a->end == b->end && a->invocation == b->invocation &&
         a->endpoint == b->endpoint && a->unit == b->unit && a->context == b->context && a->pc == b->pc;
}

static int print_event(char *text, size_t size, const tg_event *e) {
  return snprintf(text, size, "invocation %u endpoint %u %s context %u pc %u [%llu, %llu]", e->invocation,
                  e->endpoint, tg_unit_name((tg_unit)e->unit), e->context, e->pc,
                  (unsigned long long)e->start, (unsigned long long)e->end);
}

/* The difference that begins earliest, which is the cause of others. */
static const char *events_differ(const tg_run_result *a, const tg_run_result *b, char *text, size_t size) {
  const tg_event *x = NULL, *y = NULL;
  uint64_t first = UINT64_MAX;
  size_t count = a->event_count < b->event_count ? a->event_count : b->event_count;
  for (size_t i = 0; i < count; i++) {
    const tg_event *p = &a->events[i], *q = &b->events[i];
    uint64_t when = p->start != q->start ? (p->start < q->start ? p->start : q->start)
                                         : (p->end < q->end ? p->end : q->end);
    if (same_event(p, q) || when >= first) continue;
    first = when, x = p, y = q;
  }
  if (x) {
    int n = print_event(text, size, x);
    n += snprintf(text + n, size - (size_t)n, " against ");
    print_event(text + n, size - (size_t)n, y);
    return text;
  }
  if (a->event_count == b->event_count) return NULL;
  snprintf(text, size, "%zu events against %zu", a->event_count, b->event_count);
  return text;
}

/* Counts of what costs energy, section by section. */
static const char *actions_differ(const tg_run_result *a, const tg_run_result *b, uint32_t sections,
                                  char *text, size_t size) {
  for (uint32_t i = 0; i < sections; i++) {
    const tg_section_time *x = &a->sections[i], *y = &b->sections[i];
    for (int n = 0; n < TG_ACTIONS; n++) {
      unsigned long long p = x->actions.count[n], q = y->actions.count[n];
      if (p == q) continue;
      snprintf(text, size, "section %u: %llu actions of kind %d against %llu", i, p, n, q);
      return text;
    }
    if (x->dram_read != y->dram_read || x->dram_written != y->dram_written) {
      snprintf(text, size, "section %u: bytes of its ports", i);
      return text;
    }
  }
  return NULL;
}

const char *engine_runs_differ(const engine_run *a, const engine_run *b, bool times) {
  static char text[512];
  if (a->status != b->status || a->status) {
    snprintf(text, sizeof text, "\"%.200s\" against \"%.200s\"", a->diag.message, b->diag.message);
    return text;
  }
  if (times) {
    if (events_differ(&a->result, &b->result, text, sizeof text)) return text;
    if (a->result.cycles != b->result.cycles) {
      snprintf(text, sizeof text, "%llu cycles against %llu", (unsigned long long)a->result.cycles,
               (unsigned long long)b->result.cycles);
      return text;
    }
    if (actions_differ(&a->result, &b->result, a->sections, text, sizeof text)) return text;
  }
  for (uint64_t i = 0; i < a->dram->size; i++)
    if (a->dram->bytes[i] != b->dram->bytes[i]) {
      snprintf(text, sizeof text, "byte 0x%llx is 0x%02x against 0x%02x", (unsigned long long)i,
               a->dram->bytes[i], b->dram->bytes[i]);
      return text;
    }
  return NULL;
}
