/* Baselines of regression suites, and what moved against them. */
#include "runtime/regress/baseline.h"
#include "runtime/regress/movement.h"
#include "runtime/regress/verdict.h"
#include "tests/fuzz/fuzz.h"

/* A run of which everything is known. */
static json_t *some_run(void) {
  return json_loads("{\"cycles\": 1000, \"peak_device_bytes\": 4096, \"output_digests\": {\"y\": \"00\"},"
                    " \"error_vs_fp32\": {\"y\": {\"max_abs\": 0.5, \"relative\": 0.25}},"
                    " \"sections\": [{\"name\": \"a\", \"cycles\": 600, \"bound_by\": \"mx\", \"units\":"
                    " {\"mx\": {\"busy\": 500, \"semaphore\": {\"agcu\": 20}}}},"
                    " {\"name\": \"b\", \"cycles\": 400, \"bound_by\": \"dram\", \"units\": {}}]}",
                    0, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_baseline baseline;
  static const tg_suite_model model = {.name = "m"};
  static const tg_case c = {
      .id = "m/default/systemc", .model = &model, .flags = "default", .engine = "systemc"};
  tg_status status = tg_baseline_read(fuzz_file(data, size), &baseline, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    tg_result result = {.finished = true, .outcome = TG_RAN, .detail = "", .run = some_run()};
    const char *id;
    json_t *entry;
    json_object_foreach(baseline.cases, id, entry) {
      tg_verdict verdict = tg_judge(&arena, &c, &result, entry, TG_JUDGE);
      FUZZ_WANT(!verdict.fresh && tg_verdict_name(&verdict), "judged without the entry");
    }
    json_decref(result.run);
  }
  tg_baseline_release(&baseline);
  tg_arena_release(&arena);
  return 0;
}
