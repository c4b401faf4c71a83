/* Histories of regression suites, and what moved in them. */
#include "runtime/regress/history.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_diag diag = {""};
  json_t *runs = NULL;
  tg_status status = tg_history_read(fuzz_file(data, size), "s", &runs, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    json_t *trends = tg_history_trends(runs), *list, *one;
    size_t count = json_array_size(runs), i;
    const char *id, *key;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    FUZZ_WANT(json_array_size(json_object_get(trends, "runs")) == count, "runs got lost");
    json_object_foreach(json_object_get(trends, "cases"), id, one) json_object_foreach(one, key, list)
        FUZZ_WANT(json_array_size(list) == count, "%s of %s has no entry a run", key, id);
    json_array_foreach(json_object_get(trends, "events"), i, one) {
      json_int_t run = json_integer_value(json_object_get(one, "run"));
      FUZZ_WANT(run > 0 && (size_t)run < count, "an event in run %lld of %zu", (long long)run, count);
    }
    FUZZ_WANT(out, "no memory");
    tg_trends_print("s", trends, out);
    FUZZ_WANT(!fclose(out) && length, "nothing is printed");
    free(text);
    json_decref(trends);
  }
  json_decref(runs);
  return 0;
}
