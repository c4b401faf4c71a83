#include "mapper/vector/vector_move.h"

#include "mapper/vector/vector.h"

double tg_move_cycles(const tg_compile *c, const tg_value *value) {
  double bytes = (double)tg_value_elements(value) * tg_value_bytes_each(value);
  return TG_SECTION_CYCLES + 2 * bytes / (tg_agcus(c->m) * (double)c->m->port_bytes);
}

double tg_walked_cycles(const tg_vector_move *move) {
  const tg_params *m = move->c->m;
  tg_space space = move->space;
  tg_space_spread(m, &space);
  double elements = 1, run = (double)space.dims[space.rank - 1],
         bytes = run * tg_storage_bytes(move->tensors[TG_MOVE_RESULT]->storage);
  for (int d = 0; d < space.rank; d++) elements *= (double)space.dims[d];
  double rows = elements / run, atoms = elements + rows * (bytes < 64 ? 1 : bytes / 64), ports = tg_agcus(m);
  if (space.rank > 1 && rows < ports) ports = rows; /* a row is one tile's */
  return TG_SECTION_CYCLES + atoms * 64 / m->port_bytes / ports;
}
