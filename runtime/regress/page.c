/* The results of a suite, and its history, as a page (runtime/report/page/suite.js). */
#include "runtime/report/page.h"
#include "runtime/json_text.h"
#include "runtime/regress/history.h"
#include "runtime/tegula.h"

void tg_regression_page(const tg_regression *r, const json_t *trends, FILE *out) {
  json_t *all = tg_regression_json(r);
  if (trends) json_object_set(all, "trends", (json_t *)(uintptr_t)trends);
  tg_page_write(out, TG_PAGE_SUITE, r->suite->name, all);
  json_decref(all);
}

void tg_trends_page(const char *suite, const json_t *trends, FILE *out) {
  json_t *all =
      json_pack("{s:o, s:s, s:O}", "suite", tg_json_text(suite), "tegula", tg_version(), "trends", trends);
  tg_page_write(out, TG_PAGE_SUITE, suite, all);
  json_decref(all);
}
