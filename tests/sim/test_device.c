/* Ports in front of a memory device: random programs take the same time with and without values, run to their end under
 * every device, and move the same bytes. */
#include "tests/harness.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/random_fabric.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const arrays[][6] = {
    {"dram_latency=60", NULL},
    {"rows=1", "cols=3", "agcu_contexts=3", "dram_latency=7", "clock_mhz=700", NULL},
    {"p=16", "port_bytes=64", "dram_latency=3", "agcu_buffers=1", NULL},
    {"p=2", "port_bytes=1", "burst_flits=4", "clock_mhz=3000", NULL},
};

static const char *const changes[] = {"",
                                      ",channels=1,port_queue=4,read_queue=4,window=1",
                                      ",page=closed,write_high=2,write_low=0",
                                      ",order=in-order,hash=none",
                                      ",tREFI=1000000,tRFC=300000,tRFCpb=0",
                                      ",tREFI=1200000,tRFC=300000,tRFCpb=9000"};

static void check_run(const tg_params *params, uint32_t seed) {
  tg_program *program = random_fabric(params, seed);
  engine_run first = engine_run_program(&tg_engine_systemc, program, (tg_run_options){.max_cycles = 3000000});
  engine_run time = engine_run_program(&tg_engine_systemc, program,
                                       (tg_run_options){.max_cycles = 3000000, .timing_only = true});
  EXPECT_STR(first.diag.message, "");
  EXPECT_STR(time.diag.message, "");
  if (!first.status && !time.status) {
    EXPECT_EQ(first.result.cycles, time.result.cycles);
    EXPECT_EQ(first.result.event_count, time.result.event_count);
    for (size_t i = 0; i < first.result.event_count; i++) {
      EXPECT_EQ(first.result.events[i].start, time.result.events[i].start);
      EXPECT_EQ(first.result.events[i].end, time.result.events[i].end);
    }
    for (uint32_t i = 0; i < program->invocation_count; i++)
      EXPECT(
          !memcmp(&first.result.sections[i].dram, &time.result.sections[i].dram, sizeof(tg_dram_counts)) &&
          !memcmp(&first.result.sections[i].actions, &time.result.sections[i].actions, sizeof(tg_actions)));
  }
  engine_run functional = engine_run_program(&tg_engine_functional, program, (tg_run_options){0});
  const char *difference = engine_runs_differ(&first, &functional, false);
  if (difference) tg_test_fail(__FILE__, __LINE__, "seed %u: %s", seed, difference);
  engine_run_release(&functional);
  engine_run_release(&first);
  engine_run_release(&time);
  tg_program_destroy(program);
}

static void check_device(const void *row) {
  const char *device = *(const char *const *)row;
  for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
    for (uint32_t c = 0; c < sizeof changes / sizeof *changes; c++) {
      tg_params params;
      tg_diag diag = {""};
      char spec[120];
      tg_params_load("tiny", &params, &diag);
      for (const char *const *o = arrays[a]; *o; o++) tg_params_set(&params, *o, &diag);
      snprintf(spec, sizeof spec, "%s%s", device, changes[c]);
      tg_dram_device_load(spec, NULL, &params.dram, &diag);
      EXPECT_STR(diag.message, "");
      for (uint32_t seed = 1; seed < 3; seed++) check_run(&params, 100 * c + seed);
    }
}

__attribute__((constructor)) static void register_devices(void) {
  for (const char *const *name = tg_dram_device_names() + 1; *name; name++)
    tg_test_register_row("device", *name, __FILE__, __LINE__, check_device, name);
}

/* Tensors with data lie in it, all else is 0; of a program that needs none there is an atom. */
TG_TEST(device, memory_begins_with_the_tensors) {
  const uint8_t first[3] = {1, 2, 3}, last[2] = {4, 5};
  tg_dram_tensor tensors[] = {{.address = 0, .bytes = 3, .data = first},
                              {.address = 3, .bytes = 60},
                              {.address = 126, .bytes = 2, .data = last}};
  tg_program program = {.tensors = tensors, .tensor_count = 3, .dram_bytes = 128};
  tg_dram *dram;
  ASSERT(!tg_dram_create(&program, &dram, NULL));
  EXPECT_EQ(dram->size, 128);
  for (int i = 0; i < 128; i++) EXPECT_EQ(dram->bytes[i], i < 3 ? first[i] : i < 126 ? 0 : last[i - 126]);
  tg_dram_destroy(dram);
  program = (tg_program){0};
  ASSERT(!tg_dram_create(&program, &dram, NULL));
  EXPECT_EQ(dram->size, 64);
  tg_dram_destroy(dram);
  tg_dram_destroy(NULL);
}

/* What a run leaves in the queues is written behind it, and counted with its last section. */
TG_TEST(device, the_last_section_has_what_is_written_at_the_end) {
  tg_program *program;
  tg_diag diag = {""};
  tg_program_parse("arch tiny\ndevice ddr4-3200\ndram 4096\nsection \"s\"\nagcu 0\n"
                   "ctx 0 store rows=4 take=4 m_radix=1,1,4 k_radix=1,1,4 stride=0,0,16,0,0,4 y_size=1 "
                   "x_size=1\ninvoke 0 \"i\"\n",
                   &program, &diag);
  EXPECT_STR(diag.message, "");
  engine_run run = engine_run_program(&tg_engine_systemc, program, (tg_run_options){0});
  EXPECT_EQ(run.status, TG_OK);
  EXPECT_EQ(run.result.sections[0].dram.written, 64);
  EXPECT_EQ(run.result.sections[0].dram.read, 0);
  engine_run_release(&run);
  tg_program_destroy(program);
}

/* A program that the device has no room for is refused, with both numbers. */
TG_TEST(device, capacity) {
  tg_program *program;
  tg_diag diag = {""};
  tg_program_parse(
      "arch tiny\ndevice hbm2e-3200,channels=1,rows=1024\ndram 16777280\nsection \"s\"\ninvoke 0 \"i\"\n",
      &program, &diag);
  EXPECT_STR(diag.message, "");
  engine_run run = engine_run_program(&tg_engine_systemc, program, (tg_run_options){0});
  EXPECT_EQ(run.status, TG_INVALID);
  EXPECT_STR(run.diag.message, "the program needs 16777280 bytes of memory, dram hbm2e-3200 has 16777216");
  engine_run_release(&run);
  char *text = tg_program_print(program);
  EXPECT(strstr(text, "\ndevice hbm2e-3200,channels=1,rows=1024\n"));
  free(text);
  tg_program_destroy(program);
}
