/* Which cases of a suite a run of `tegula regress` is of, and which of them have results already. */
#include "runtime/command/regress_state.h"
#include "runtime/regress/select.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tg_status parse_shard(tg_regress *r, size_t *out_part, size_t *out_parts) {
  const char *text = r->shard = tg_option_text(options(r), TG_OPT_SHARD, NULL);
  *out_part = *out_parts = 1;
  if (!text) return TG_OK;
  unsigned long long part, parts;
  char rest;
  if (strspn(text, "0123456789/") == strlen(text) && strlen(text) < 20 &&
      sscanf(text, "%llu/%llu%c", &part, &parts, &rest) == 2 && part >= 1 && part <= parts) {
    *out_part = part;
    *out_parts = parts;
    return TG_OK;
  }
  return tg_fail(diag(r), TG_INVALID, "--shard: \"%s\" is not I/N with I from 1 to N", text);
}

tg_status tg_regress_select(tg_regress *r) {
  const tg_options *o = options(r);
  bool by_cost = !strcmp(tg_option_text(o, TG_OPT_SHARD_BY, "count"), "cost");
  tg_selection selection = {.patterns = o->values[TG_OPT_FILTER],
                            .pattern_count = o->counts[TG_OPT_FILTER],
                            .tags = o->values[TG_OPT_TAG],
                            .tag_count = o->counts[TG_OPT_TAG],
                            .baseline = by_cost ? &r->baseline : NULL};
  tg_status status = parse_shard(r, &selection.part, &selection.parts);
  if (status) return status;
  r->missing = TG_NEW_ARRAY(arena(r), size_t, r->suite.case_count);
  return tg_select_cases(arena(r), &r->suite, &selection, &r->wanted, &r->wanted_count, diag(r));
}

static bool failed_in(const json_t *last, const char *id) {
  size_t i;
  json_t *one;
  json_array_foreach(json_object_get(last, "cases"), i, one) {
    const char *name = json_string_value(json_object_get(one, "case")),
               *verdict = json_string_value(json_object_get(one, "verdict"));
    if (name && verdict && !strcmp(name, id)) return !strcmp(verdict, "failed");
  }
  return false;
}

tg_status tg_regress_keep_failed(tg_regress *r) {
  const char *folder = tg_regress_results_path(r),
             *path = tg_arena_printf(arena(r), "%s/results.json", folder);
  size_t count = 0;
  if (!tg_given(options(r), TG_OPT_LAST_FAILED)) return TG_OK;
  json_t *last = json_load_file(path, 0, NULL);
  if (!last)
    return tg_fail(diag(r), TG_INVALID, "--last-failed: there are no results of a run in %s", folder);
  for (size_t i = 0; i < r->wanted_count; i++)
    if (failed_in(last, r->suite.cases[r->wanted[i]].id)) r->wanted[count++] = r->wanted[i];
  json_decref(last);
  r->wanted_count = count;
  return TG_OK;
}

void tg_regress_keep_finished(tg_regress *r) {
  size_t count = 0;
  for (size_t i = 0; i < r->wanted_count; i++)
    if (r->results[r->wanted[i]].finished) r->wanted[count++] = r->wanted[i];
  r->wanted_count = count;
}

void tg_regress_look_up_kept(tg_regress *r) {
  bool resume = tg_given(options(r), TG_OPT_RESUME);
  for (size_t i = 0; i < r->wanted_count; i++) {
    size_t index = r->wanted[i];
    const tg_case *c = &r->suite.cases[index];
    r->fingerprints[index] = tg_case_fingerprint(&r->sums, &r->suite, c, r->command);
    if (resume && tg_result_read(&r->store, arena(r), c->id, r->fingerprints[index], &r->results[index])) {
      r->kept++;
      continue;
    }
    unlink(tg_results_file(&r->store, arena(r), c->id, "result.json"));
    r->missing[r->missing_count++] = index;
  }
}
