#include "tests/rtl/pins.h"
#include "Vvx_odd.h"
#include "Vvx_short.h"
#include "Vvx_tiny.h"

template <typename Model> static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Model> *>(dut)->model;
  auto &p = *static_cast<tg_vx_pins *>(pins);
  constexpr uint32_t kLanes = sizeof model.cfg_data_i / 4;
  model.cfg_i = (uint32_t)p.cfg_valid << (26 + kLanes) | (uint32_t)p.cfg_kind << (23 + kLanes) |
                (uint32_t)p.cfg_part << kLanes | p.cfg_enable;
  put(model.cfg_data_i, p.cfg_data);
  model.head_valid_i = p.head_valid;
  put(model.head_i, p.head);
  uint32_t address[TG_STREAMS / 2];
  for (int i = 0; i < TG_STREAMS / 2; i++)
    address[i] = p.address[2 * i] | (uint32_t)p.address[2 * i + 1] << 16;
  put(model.s_addr_i, address);
  model.idx_i = p.index[0] | (uint64_t)p.index[1] << 20 | (uint64_t)p.index[2] << 40;
  model.sr_key_i = p.sr_key;
  put(model.ld_rdata_i, p.ld_rdata);
  put(model.acc_rd_data_i, p.acc_data);
  model.eval();
  p.issue = model.issue_o;
  p.end = model.end_o;
  p.idle = model.idle_for_sync_o;
  p.ld_req = model.ld_req_o;
  p.st_req = model.st_req_o;
  p.acc_req = model.acc_rd_req_o;
  p.ld_row = model.ld_row_o;
  p.st_row = model.st_row_o;
  p.acc_row = model.acc_rd_row_o;
  get(model.st_data_o, p.st_data);
  p.ld_own = model.ld_own_o;
  p.st_own = model.st_own_o;
  p.acc_own = model.acc_own_o;
}
PINS_DUT(tg_dut_vx_tiny, Vvx_tiny, eval<Vvx_tiny>);
PINS_DUT(tg_dut_vx_odd, Vvx_odd, eval<Vvx_odd>);
PINS_DUT(tg_dut_vx_short, Vvx_short, eval<Vvx_short>);
