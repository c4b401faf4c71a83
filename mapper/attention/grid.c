#include "mapper/attention/grid.h"

#include "frontend/base/math.h"
#include "mapper/kernel/class.h"

uint32_t tg_grid_next_group(const tg_params *m, uint32_t group) {
  for (group++; group <= m->cols; group++)
    if (m->cols % group == 0) return group;
  return m->rows > 1 && group <= tg_tiles(m) ? tg_tiles(m) : 0;
}

double tg_grid_memory_cycles(const tg_params *m, const tg_stages *stages) {
  tg_port_time west = tg_stages_port(stages, TG_SIDE_WEST), north = tg_stages_port(stages, TG_SIDE_NORTH);
  double port = tg_max_double(west.load + west.drain, north.load + north.drain),
         read = m->port_bytes * (m->rows * west.load + m->cols * north.load),
         written = m->port_bytes * (m->rows * west.drain + m->cols * north.drain);
  return tg_max_double(port, tg_device_cycles(m, read, written));
}

void tg_grid_set_rows(const tg_params *m, const tg_attention_grid *x, tg_agcu_instr *in, uint32_t r,
                      uint32_t col) {
  int64_t padded = tg_grid_padded(x);
  in->m_first = tg_grid_first_product(m, x, r, col) * padded + tg_grid_first_row(m, x, r, col);
  in->m_delta[0] = tg_grid_at_a_time(m, x) * padded;
  in->m_delta[1] = (int64_t)x->group * x->rows;
  in->rows = x->rows;
}
