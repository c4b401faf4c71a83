#include "tests/rtl/pins.h"
#include "Vvx_odd.h"
#include "Vvx_short.h"
#include "Vvx_tiny.h"

template <typename Visitor, typename Model> static void ports(Visitor &v, Model &model, tg_vx_pins &p) {
  constexpr uint32_t kLanes = sizeof model.cfg_data_i / 4;
  uint32_t address[TG_STREAMS / 2];
  for (int i = 0; i < TG_STREAMS / 2; i++)
    address[i] = p.address[2 * i] | (uint32_t)p.address[2 * i + 1] << 16;
  v.in("plane_i", model.plane_i, p.plane);
  v.in("cfg_i", model.cfg_i,
       (uint32_t)p.cfg_valid << (26 + kLanes) | (uint32_t)p.cfg_kind << (23 + kLanes) |
           (uint32_t)p.cfg_part << kLanes | p.cfg_enable);
  v.in("cfg_data_i", model.cfg_data_i, p.cfg_data);
  v.in("head_valid_i", model.head_valid_i, p.head_valid);
  v.in("head_i", model.head_i, p.head);
  v.in("s_addr_i", model.s_addr_i, address);
  v.in("idx_i", model.idx_i, p.index[0] | (uint64_t)p.index[1] << 20 | (uint64_t)p.index[2] << 40);
  v.in("sr_key_i", model.sr_key_i, p.sr_key);
  v.in("ld_rdata_i", model.ld_rdata_i, p.ld_rdata);
  v.in("acc_rd_data_i", model.acc_rd_data_i, p.acc_data);
  v.out("issue_o", model.issue_o, p.issue);
  v.out("end_o", model.end_o, p.end);
  v.out("idle_for_sync_o", model.idle_for_sync_o, p.idle);
  v.out("ld_req_o", model.ld_req_o, p.ld_req);
  v.out("st_req_o", model.st_req_o, p.st_req);
  v.out("acc_rd_req_o", model.acc_rd_req_o, p.acc_req);
  v.out("ld_row_o", model.ld_row_o, p.ld_row);
  v.out("st_row_o", model.st_row_o, p.st_row);
  v.out("acc_rd_row_o", model.acc_rd_row_o, p.acc_row);
  v.out("st_data_o", model.st_data_o, p.st_data);
  v.out("ld_own_o", model.ld_own_o, p.ld_own);
  v.out("st_own_o", model.st_own_o, p.st_own);
  v.out("acc_own_o", model.acc_own_o, p.acc_own);
}
PINS_DUT(tg_dut_vx_tiny, Vvx_tiny, tg_vx_pins);
PINS_DUT(tg_dut_vx_odd, Vvx_odd, tg_vx_pins);
PINS_DUT(tg_dut_vx_short, Vvx_short, tg_vx_pins);
