#include "runtime/trace/posters.h"
#include "sim/machine/sequencer.h"

#include <stdio.h>
#include <string.h>

size_t tg_posters_count(const tg_params *m) { return (size_t)(tg_tiles(m) + tg_agcus(m)) * m->semaphores; }

/* The semaphore behind the data of a SEND or LOAD, at every destination. */
static void visit_arrivals(const tg_params *m, tg_unit unit, uint32_t endpoint, const tg_instr *in,
                           tg_post_visit *visit, void *user) {
  bool send = unit == TG_TX && in->common.op == TG_OP_tx_send,
       load = unit == TG_AGCU && in->common.op == TG_OP_agcu_load;
  if (!(send && in->tx.dst_post) && !(load && in->agcu.dst_post)) return;
  int64_t mask = send ? in->tx.dst_mask : in->agcu.dst_mask,
          semaphore = send ? in->tx.dst_sem : in->agcu.dst_sem;
  uint32_t direction = send                                    ? (uint32_t)in->tx.dir
                       : tg_is_west(m, endpoint - tg_tiles(m)) ? TG_DIR_EAST
                                                               : TG_DIR_SOUTH;
  for (uint32_t position = 0; position < 17; position++)
    if (mask >> position & 1)
      visit(user, tg_lane_endpoint(m, endpoint, direction, position), (uint32_t)semaphore);
}

void tg_visit_posts(const tg_params *m, tg_unit unit, uint32_t endpoint, const tg_instr *instr,
                    const tg_execution *x, tg_post_visit *visit, void *user) {
  const tg_common_instr *in = &instr->common;
  for (int i = 0; i < 4; i++)
    if (x ? tg_execution_posts(x, i) : in->post_kind[i] != TG_POST_NONE)
      visit(user, tg_post_endpoint(m, endpoint, in, i), (uint32_t)in->post_sem[i]);
  visit_arrivals(m, unit, endpoint, instr, visit, user);
}

typedef struct finding {
  const tg_params *m;
  tg_poster *posters;
  tg_unit unit;
  uint32_t endpoint;
} finding;

static void note(void *user, uint32_t target, uint32_t semaphore) {
  const finding *f = user;
  tg_poster *p = &f->posters[(size_t)target * f->m->semaphores + semaphore];
  if (!p->units) p->endpoint = (uint16_t)f->endpoint;
  p->several |= p->units && p->endpoint != f->endpoint;
  p->units |= (uint8_t)(1u << f->unit);
}

static void note_queue(const tg_params *m, tg_poster *posters, tg_unit unit, uint32_t endpoint,
                       const tg_queue *queue) {
  finding f = {m, posters, unit, endpoint};
  for (uint32_t pc = 0; pc < queue->count; pc++)
    tg_visit_posts(m, unit, endpoint, &queue->instrs[pc], NULL, note, &f);
}

void tg_posters_find(const tg_program *program, const tg_section *section, tg_poster *posters) {
  const tg_params *m = &program->params;
  memset(posters, 0, tg_posters_count(m) * sizeof *posters);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    note_queue(m, posters, TG_MX, t, &section->tiles[t].mx);
    note_queue(m, posters, TG_VX, t, &section->tiles[t].vx);
    note_queue(m, posters, TG_TX, t, &section->tiles[t].tx);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++)
      note_queue(m, posters, TG_AGCU, tg_tiles(m) + a, &section->agcus[a].contexts[c]);
}

const char *tg_poster_kind(uint8_t units) {
  for (int unit = TG_MX; unit <= TG_AGCU; unit++)
    if (units == 1u << unit) return tg_unit_name((tg_unit)unit);
  return units ? "several" : "nobody";
}

const char *tg_endpoint_text(const tg_params *m, uint32_t endpoint, char out[40]) {
  uint32_t tiles = tg_tiles(m);
  if (endpoint < tiles)
    snprintf(out, 40, "tile %u,%u", endpoint / m->cols, endpoint % m->cols);
  else if (tg_is_west(m, endpoint - tiles))
    snprintf(out, 40, "agcu west %u", endpoint - tiles);
  else
    snprintf(out, 40, "agcu north %u", endpoint - tiles - m->rows);
  return out;
}
