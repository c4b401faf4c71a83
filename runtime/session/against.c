/* Two runs beside each other. */
#include "frontend/base/guard.h"
#include "runtime/json_text.h"
#include "runtime/regress/explain.h"
#include "runtime/report/report.h"
#include "runtime/session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* An output that the second run has, too, in the same shape; -1: none. */
static int counterpart(const tg_session *other, const tg_tensor_info *info) {
  for (int i = 0; i < other->output_count; i++)
    if (!strcmp(other->outputs[i].name, info->name) && other->outputs[i].rank == info->rank &&
        !memcmp(other->outputs[i].dims, info->dims, (size_t)info->rank * sizeof *info->dims))
      return i;
  return -1;
}

static json_t *compare_outputs(const tg_session *before, const tg_session *now, json_t *only_before,
                               bool *out_equal) {
  json_t *all = json_object();
  for (int i = 0; i < before->output_count; i++) {
    const tg_tensor_info *info = &before->outputs[i];
    int other = counterpart(now, info);
    if (other < 0) json_array_append_new(only_before, tg_json_text(info->name));
    if (other < 0 || !before->output_data[i] || !now->output_data[other]) {
      *out_equal = false;
      continue;
    }
    const float *x = before->output_data[i], *y = now->output_data[other];
    tg_error_measure e = tg_compare(y, x, info->count);
    bool same = !memcmp(x, y, (size_t)info->count * sizeof *x);
    *out_equal &= same;
    json_object_set_new(all, info->name,
                        json_pack("{s:b, s:o, s:o, s:o, s:o}", "equal_bits", same, "max_abs", real(e.max_abs),
                                  "max_rel", real(e.max_rel), "rms", real(e.rms), "cosine", real(e.cosine)));
  }
  return all;
}

static json_t *comparison(tg_session *before, tg_session *now) {
  json_t *reports[] = {tg_report(before), tg_report(now)}, *only = json_array();
  tg_side sides[2];
  for (int i = 0; i < 2; i++)
    sides[i] = (tg_side){i ? "now" : "before", json_object_get(reports[i], "cycles"),
                         json_object_get(reports[i], "sections")};
  bool timed = json_number_value(sides[0].cycles) > 0 && json_number_value(sides[1].cycles) > 0;
  json_t *all = timed ? tg_explain(&sides[0], &sides[1], false) : json_pack("{s:n}", "text");
  double x = json_number_value(json_object_get(reports[0], "samples_per_second")),
         y = json_number_value(json_object_get(reports[1], "samples_per_second"));
  bool equal = true;
  json_object_set_new(all, "speedup", x > 0 && y > 0 ? json_real(y / x) : json_null());
  json_object_set_new(all, "outputs", compare_outputs(before, now, only, &equal));
  bool compared = json_object_size(json_object_get(all, "outputs")) || json_array_size(only);
  json_object_set_new(all, "equal_bits", compared ? json_boolean(equal) : json_null());
  json_object_set_new(all, "only_before", only);
  json_decref(reports[0]);
  json_decref(reports[1]);
  return all;
}

static tg_status compare_guarded(tg_session *before, tg_session *now, char **out_json, tg_diag *diag) {
  tg_diag_begin(diag);
  if (!out_json) return tg_fail(diag, TG_INVALID, "no place for the result is given");
  *out_json = NULL;
  if (tg_session_needs(before, true, true, diag) || tg_session_needs(now, true, true, diag))
    return TG_INVALID;
  locale_t theirs = tg_plain_numbers();
  json_t *all = comparison(before, now);
  *out_json = json_dumps(all, JSON_INDENT(2));
  json_decref(all);
  uselocale(theirs);
  if (!*out_json) tg_die("out of memory");
  return TG_OK;
}

tg_status tg_session_compare(tg_session *before, tg_session *now, char **out_json, tg_diag *diag) {
  TG_GUARDED(diag, compare_guarded(before, now, out_json, diag));
}
