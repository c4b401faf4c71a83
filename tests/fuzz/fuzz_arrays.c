/* Arrays and memory devices, as files and as the text of --dram. */
#include "sim/machine/params.h"
#include "tests/fuzz/fuzz.h"

static void load_device(const char *spec) {
  tg_diag diag = {""};
  tg_dram_device device, again;
  tg_status status = tg_dram_device_load(spec, NULL, &device, &diag);
  fuzz_settled(status, &diag);
  if (status) return;
  tg_arena arena = {0};
  const char *printed = tg_dram_device_print(&device, &arena);
  FUZZ_WANT(!tg_dram_device_load(printed, NULL, &again, &diag), "%s: %s", printed, diag.message);
  FUZZ_WANT(tg_dram_device_equal(&device, &again), "%s is another device", printed);
  tg_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_params params;
  tg_diag diag = {""};
  const char *path = fuzz_file(data, size);
  tg_status status = tg_params_load(path, &params, &diag);
  fuzz_settled(status, &diag);
  if (!status) FUZZ_WANT(!tg_params_check(&params, &diag), "loaded, but %s", diag.message);
  load_device(path);
  const char *text = fuzz_text(&arena, data, size);
  if (*text && !strchr(text, '/')) load_device(text); /* names no file */
  diag = (tg_diag){""};
  fuzz_settled(tg_params_set(&params, text, &diag), &diag);
  tg_arena_release(&arena);
  return 0;
}
