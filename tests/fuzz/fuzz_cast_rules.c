/* Files of cast rules and of operators, the text of one rule, and patterns. */
#include "frontend/base/pattern.h"
#include "frontend/precision/cast_rules.h"
#include "tests/fuzz/fuzz.h"

static void read_files(tg_arena *arena, const char *path) {
  tg_diag diag = {""};
  tg_cast_rules *rules;
  tg_op_list *list;
  static const char *const names[] = {"Gemm", "fc1", "softmax", NULL};
  tg_status status = tg_cast_rules_read(arena, path, &rules, &diag);
  fuzz_settled(status, &diag);
  if (!status) {
    int line;
    for (int i = 0; i < tg_cast_rules_count(rules); i++) {
      const char *op = tg_cast_rules_op(rules, i, &line), *node = tg_cast_rules_node(rules, i, &line);
      FUZZ_WANT(!op + !node + (tg_cast_rules_id(rules, i, &line) < 0) == 2, "rule %d names not one thing", i);
    }
    (void)tg_cast_rules_find(rules, "fc1", 7, names, &line);
  }
  diag = (tg_diag){""};
  status = tg_op_list_read(arena, path, &list, &diag);
  fuzz_settled(status, &diag);
  for (size_t i = 0; !status && i < list->count; i++)
    FUZZ_WANT(tg_op_list_has(list, list->names[i]), "\"%s\" is not in its list", list->names[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_cast_spec spec;
  regex_t regex;
  read_files(&arena, fuzz_file(data, size));
  char *text = fuzz_text(&arena, data, size);
  text[strcspn(text, "\n")] = 0;
  fuzz_settled(tg_cast_spec_parse(text, &spec, &diag), &diag);
  diag = (tg_diag){""};
  tg_status status = tg_pattern_compile("--trained", text, &regex, &diag);
  fuzz_settled(status, &diag);
  if (!status) regfree(&regex);
  tg_arena_release(&arena);
  return 0;
}
