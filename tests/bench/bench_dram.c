/* bench_dram [--table] [SPEC...]: what share of its peak a memory device gives (all of the table without a SPEC), for ports
 * that ask as fast as they can. Reads one after the other, in strides, at random places, mixed with writes; latencies of
 * single reads. --table: shares and row hits of all devices as the table of docs/dram.md, which has published figures
 * beside it. */
#include "tests/dram/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  traffic traffic;
} patterns[] = {
    {"sequential reads", {.kind = TRAFFIC_SEQUENTIAL}},
    {"sequential writes", {.kind = TRAFFIC_SEQUENTIAL, .writes = 100}},
    {"2 reads : 1 write", {.kind = TRAFFIC_SEQUENTIAL, .writes = 33}},
    {"1 read : 1 write", {.kind = TRAFFIC_SEQUENTIAL, .writes = 50}},
    {"stride 256 B", {.kind = TRAFFIC_STRIDED, .stride = 256}},
    {"stride 4 KiB", {.kind = TRAFFIC_STRIDED, .stride = 4096}},
    {"stride 1 MiB", {.kind = TRAFFIC_STRIDED, .stride = 1 << 20}},
    {"random reads", {.kind = TRAFFIC_RANDOM, .seed = 1}},
    {"random 1 : 1", {.kind = TRAFFIC_RANDOM, .seed = 1, .writes = 50}},
};

enum { LEAST_ATOMS = 4000 };
#define PATTERNS (sizeof patterns / sizeof *patterns)

/* What was measured of a device. */
typedef struct figures {
  double peak;
  double share[PATTERNS], hits[PATTERNS]; /* of the peak; of the accesses */
  uint64_t turnarounds[PATTERNS], refreshes[PATTERNS];
  uint64_t open, closed, other; /* cycles of a lone read: its row is open, none is, another one is */
  uint32_t clock_mhz;
} figures;

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

static void measure_latencies(tg_params params, figures *out) {
  params.dram.hash = TG_HASH_NONE; /* the highest bits are the row's */
  uint64_t far = tg_dram_capacity(&params.dram) / 2;
  out->open = latency(&params, 0, 0);
  out->other = latency(&params, 0, far);
  params.dram.page = TG_PAGE_CLOSED;
  out->closed = latency(&params, 0, far);
}

/* Atoms of a port: the device takes three times as long for all of them as refreshes may be late, or longer. */
static uint32_t atoms_of(const tg_params *params) {
  const tg_dram_device *d = &params->dram;
  double seconds = 3e-12 * d->postponed * (double)d->tREFI,
         atoms = (double)tg_dram_peak(d) * seconds / TG_ATOM_BYTES / tg_agcus(params);
  return atoms < LEAST_ATOMS ? LEAST_ATOMS : (uint32_t)atoms;
}

static figures measure(const char *spec) {
  tg_params params;
  tg_diag diag = {""};
  tg_params_load("rack", &params, &diag);
  if (tg_dram_device_load(spec, NULL, &params.dram, &diag)) {
    fprintf(stderr, "%s\n", diag.message);
    exit(2);
  }
  if (tg_dram_is_simple(&params.dram)) {
    fprintf(stderr, "simple has no peak\n");
    exit(2);
  }
  figures f = {.peak = (double)tg_dram_peak(&params.dram) / 1e9, .clock_mhz = params.clock_mhz};
  for (size_t i = 0; i < PATTERNS; i++) {
    traffic traffic = patterns[i].traffic;
    traffic.atoms = atoms_of(&params);
    traffic_result r = traffic_run(&params, &traffic, NULL, NULL);
    f.share[i] = traffic_share(&params, &r);
    f.hits[i] = (double)r.counts.hits / (double)(r.counts.hits + r.counts.misses + r.counts.conflicts);
    f.turnarounds[i] = r.counts.turnarounds;
    f.refreshes[i] = r.counts.refreshes;
  }
  measure_latencies(params, &f);
  return f;
}

static void print(const char *spec, const figures *f) {
  printf("%s: peak %.1f GB/s, 32 ports of 64 bytes a cycle at %u MHz\n", spec, f->peak, f->clock_mhz);
  for (size_t i = 0; i < PATTERNS; i++)
    printf("  %-18s %5.1f%% of the peak, %5.1f%% row hits, %llu turnarounds, %llu refreshes\n",
           patterns[i].name, 100 * f->share[i], 100 * f->hits[i], (unsigned long long)f->turnarounds[i],
           (unsigned long long)f->refreshes[i]);
  printf("  idle latency, cycles: row open %llu, another row %llu, row closed %llu\n",
         (unsigned long long)f->open, (unsigned long long)f->other, (unsigned long long)f->closed);
}

static void print_table(const char *const *specs, const figures *of, size_t count) {
  printf("| share of the peak (row hits) |");
  for (size_t d = 0; d < count; d++) printf(" %s |", specs[d]);
  printf("\n|---|");
  for (size_t d = 0; d < count; d++) printf("---|");
  printf("\n| peak, GB/s |");
  for (size_t d = 0; d < count; d++) printf(" %.1f |", of[d].peak);
  for (size_t i = 0; i < PATTERNS; i++) {
    printf("\n| %s |", patterns[i].name);
    for (size_t d = 0; d < count; d++)
      printf(" %.0f %% (%.0f %%) |", 100 * of[d].share[i], 100 * of[d].hits[i]);
  }
  printf("\n| idle read, cycles: row open, closed, another open |");
  for (size_t d = 0; d < count; d++)
    printf(" %llu, %llu, %llu |", (unsigned long long)of[d].open, (unsigned long long)of[d].closed,
           (unsigned long long)of[d].other);
  printf("\n");
}

#define MOST 32

int main(int argc, char **argv) {
  bool table = argc > 1 && !strcmp(argv[1], "--table");
  const char *const *specs = (const char *const *)argv + 1 + table;
  size_t count = (size_t)(argc - 1 - table);
  if (!count) {
    specs = tg_dram_device_names() + 1;
    while (specs[count]) count++;
  }
  if (count > MOST) {
    fprintf(stderr, "at most %d devices\n", MOST);
    return 2;
  }
  figures of[MOST];
  for (size_t d = 0; d < count; d++) {
    of[d] = measure(specs[d]);
    if (!table) print(specs[d], &of[d]);
  }
  if (table) print_table(specs, of, count);
  return 0;
}
