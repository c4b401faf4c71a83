/* What comes back to the ports. */
#include "sim/dram/state.h"

void tg_controller_settle(tg_controller *m, uint32_t number) {
  port *p = &m->port[number];
  while (p->known != p->sent) {
    piece *next = &p->pieces[p->known & (m->pieces - 1)];
    if (next->left) return;
    if (next->done <= next->sent) next->done = next->sent + 1;
    if (next->done <= p->arrival) next->done = p->arrival + 1;
    p->arrival = next->done;
    p->known++;
    m->host.arrived(m->host.user, number, p->arrival);
  }
}

void tg_controller_complete(tg_controller *m, uint32_t number, uint32_t which, uint64_t time) {
  piece *own = &m->port[number].pieces[which & (m->pieces - 1)];
  uint64_t cycle = tg_cycle_from(m, time + m->device.controller);
  if (own->done < cycle) own->done = cycle;
  if (!--own->left) tg_controller_settle(m, number);
}
