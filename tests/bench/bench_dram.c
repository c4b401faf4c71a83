/* bench_dram [SPEC...]: what share of its peak a memory device gives (all of the table without a SPEC), for ports that ask
 * as fast as they can. Reads one after the other, in strides, at random places, mixed with writes; latencies of single
 * reads. docs/dram.md has its output beside published figures. */
#include "tests/dram/traffic.h"

#include <stdio.h>

static const struct {
  const char *name;
  traffic traffic;
} patterns[] = {
    {"sequential reads", {.kind = TRAFFIC_SEQUENTIAL, .atoms = 4000}},
    {"sequential writes", {.kind = TRAFFIC_SEQUENTIAL, .atoms = 4000, .writes = 100}},
    {"2 reads : 1 write", {.kind = TRAFFIC_SEQUENTIAL, .atoms = 4000, .writes = 33}},
    {"1 read : 1 write", {.kind = TRAFFIC_SEQUENTIAL, .atoms = 4000, .writes = 50}},
    {"stride 256 B", {.kind = TRAFFIC_STRIDED, .atoms = 4000, .stride = 256}},
    {"stride 4 KiB", {.kind = TRAFFIC_STRIDED, .atoms = 4000, .stride = 4096}},
    {"stride 1 MiB", {.kind = TRAFFIC_STRIDED, .atoms = 4000, .stride = 1 << 20}},
    {"random reads", {.kind = TRAFFIC_RANDOM, .atoms = 4000, .seed = 1}},
    {"random 1 : 1", {.kind = TRAFFIC_RANDOM, .atoms = 4000, .seed = 1, .writes = 50}},
};

static void arrived(void *user, uint32_t port, uint64_t cycle) {
  (void)port;
  *(uint64_t *)user = cycle;
}

/* Cycles of a lone read of `address` after one of `before`. */
static uint64_t latency(const tg_params *params, uint64_t before, uint64_t address) {
  uint64_t at = 0;
  tg_controller *m = tg_controller_create(params, &(tg_controller_host){&at, arrived, NULL});
  tg_controller_send(m, 0, before, 64, false, true);
  tg_controller_advance(m, 90);
  tg_controller_send(m, 0, address, 64, false, true);
  tg_controller_advance(m, 2000);
  tg_controller_destroy(m);
  return at - 90;
}

static void latencies(tg_params params) {
  params.dram.hash = TG_HASH_NONE; /* the highest bits are the row's */
  uint64_t far = tg_dram_capacity(&params.dram) / 2;
  printf("  idle latency, cycles: row open %llu, another row %llu",
         (unsigned long long)latency(&params, 0, 0), (unsigned long long)latency(&params, 0, far));
  params.dram.page = TG_PAGE_CLOSED;
  printf(", row closed %llu\n", (unsigned long long)latency(&params, 0, far));
}

static int measure(const char *spec) {
  tg_params params;
  tg_diag diag = {""};
  tg_params_load("rack", &params, &diag);
  if (tg_dram_device_load(spec, NULL, &params.dram, &diag)) {
    fprintf(stderr, "%s\n", diag.message);
    return 2;
  }
  if (tg_dram_is_simple(&params.dram)) {
    fprintf(stderr, "simple has no peak\n");
    return 2;
  }
  printf("%s: peak %.1f GB/s, 32 ports of 64 bytes a cycle at %u MHz\n", spec,
         (double)tg_dram_peak(&params.dram) / 1e9, params.clock_mhz);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    traffic_result r = traffic_run(&params, &patterns[i].traffic, NULL, NULL);
    double accesses = (double)(r.counts.hits + r.counts.misses + r.counts.conflicts);
    printf("  %-18s %5.1f%% of the peak, %5.1f%% row hits, %llu turnarounds, %llu refreshes\n",
           patterns[i].name, 100 * traffic_share(&params, &r), 100 * (double)r.counts.hits / accesses,
           (unsigned long long)r.counts.turnarounds, (unsigned long long)r.counts.refreshes);
  }
  latencies(params);
  return 0;
}

int main(int argc, char **argv) {
  int status = 0;
  for (int i = 1; i < argc && !status; i++) status = measure(argv[i]);
  for (const char *const *name = tg_dram_device_names() + 1; argc < 2 && *name && !status; name++)
    status = measure(*name);
  return status;
}
