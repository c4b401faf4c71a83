#include "runtime/command/regress_state.h"

#include <string.h>

const char *tg_regress_results_path(tg_regress *r) {
  const char *slash = strrchr(r->suite.path, '/'), *base = slash ? slash + 1 : r->suite.path,
             *dot = strrchr(base, '.');
  const char *own = tg_arena_printf(arena(r), "%.*s.results",
                                    dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
  return tg_option_text(options(r), TG_OPT_RESULTS, own);
}

tg_status tg_regress_open_results(tg_regress *r) {
  return tg_results_open(arena(r), tg_regress_results_path(r), &r->store, diag(r));
}

void tg_regress_tick(void *user, const tg_running *running, size_t count) {
  tg_regress *r = user;
  tg_screen_draw(&r->screen, running, count);
}
