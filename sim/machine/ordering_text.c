/* What the proof of ordering says: names of endpoints and units, and why a section is refused. */
#include "sim/machine/ordering_state.h"

#include <stdio.h>

void tg_order_name_endpoint(const check *k, uint32_t endpoint, char *out, size_t size) {
  uint32_t tiles = tg_tiles(k->m);
  snprintf(out, size, "%s %u", endpoint < tiles ? "tile" : "agcu",
           endpoint < tiles ? endpoint : endpoint - tiles);
}

void tg_order_name_unit(const check *k, uint32_t index, char *out, size_t size) {
  const unit *u = &k->units[index];
  char at[32];
  tg_order_name_endpoint(k, u->endpoint, at, sizeof at);
  if (u->kind == TG_AGCU)
    snprintf(out, size, "%s context %u", at, u->context);
  else
    snprintf(out, size, "%s %s", at, tg_unit_name(u->kind));
}

tg_status tg_order_at(const check *k, const unit *u, const tg_execution *x) {
  char name[64];
  tg_order_name_unit(k, (uint32_t)(u - k->units), name, sizeof name);
  tg_diag_prefix(k->diag, "%s pc %u [%u %u %u]", name, x->pc, x->index[0], x->index[1], x->index[2]);
  return TG_MISMATCH;
}

tg_status tg_order_too_long(const check *k, const char *what) {
  return tg_fail(k->diag, TG_INVALID, "its order is too long to prove: more than %s", what);
}

tg_status tg_order_semaphore_fails(const check *k, const semaphore *s, const char *what) {
  char name[32];
  uint32_t index = (uint32_t)(s - k->semaphores);
  tg_order_name_endpoint(k, index / k->m->semaphores, name, sizeof name);
  return tg_fail(k->diag, TG_MISMATCH, "semaphore %u of %s %s", index % k->m->semaphores, name, what);
}
