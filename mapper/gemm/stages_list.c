/* Loads in the list of a product's stages, and how long they take their ports. */
#include "mapper/gemm/stages_list.h"

#include "frontend/base/math.h"

double tg_port_cycles(const tg_stages_list *s, double runs, double bytes, int64_t stride, double each) {
  double atoms = stride % TG_ATOM_BYTES ? (bytes - each) / TG_ATOM_BYTES + 1
                                        : (double)tg_div_up((int64_t)bytes, TG_ATOM_BYTES);
  return runs * atoms * tg_atom_cycles(s->m);
}

double tg_port_whole_runs(const tg_stages_list *s, double runs, double bytes) {
  return runs * (double)tg_div_up((int64_t)bytes, TG_ATOM_BYTES) * tg_atom_cycles(s->m);
}

double tg_port_overlapping_runs(const tg_stages_list *s, double runs, int64_t bytes, int64_t step) {
  int64_t atoms = 0, kept = -1,
          count = TG_ATOM_BYTES; /* after so many they begin at the same bytes of atoms again */
  for (int64_t i = 0; i < count; i++) {
    int64_t first = i * step / TG_ATOM_BYTES, last = (i * step + bytes - 1) / TG_ATOM_BYTES;
    atoms += last - first + (first != kept);
    kept = last;
  }
  return runs * (double)atoms / (double)count * tg_atom_cycles(s->m);
}

void tg_stages_add_load(const tg_stages_list *s, tg_stage stage, tg_seat side, tg_side_share of) {
  stage.seat = (uint8_t)side;
  stage.slots = of.slots;
  stage.cycles *= of.times;
  stage.in_front *= of.times;
  tg_stages_add(s->out, &stage);
}
