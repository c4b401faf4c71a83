#include "tests/rtl/pins.h"
#include "Vmx_odd.h"
#include "Vmx_tiny.h"

template <typename Visitor, typename Model> static void ports(Visitor &v, Model &model, tg_mx_pins &p) {
  v.in("defect_i", model.defect_i, 0u);
  v.in("start_i", model.start_i, 0u);
  v.in("head_valid_i", model.head_valid_i, p.head_valid);
  v.in("head_i", model.head_i, p.head);
  v.in("idx_i", model.idx_i, p.index[0] | (uint64_t)p.index[1] << 20 | (uint64_t)p.index[2] << 40);
  v.in("a_addr_i", model.a_addr_i, p.a_addr);
  v.in("b_addr_i", model.b_addr_i, p.b_addr);
  v.in("c_addr_i", model.c_addr_i, p.c_addr);
  v.in("sr_key_i", model.sr_key_i, p.sr_key);
  v.in("a_rdata_i", model.a_rdata_i, p.a_rdata);
  v.in("b_rdata_i", model.b_rdata_i, p.b_rdata);
  v.in("acc_rd_req_i", model.acc_rd_req_i, p.acc_req);
  v.in("acc_rd_row_i", model.acc_rd_row_i, p.acc_row);
  v.out("issue_o", model.issue_o, p.issue);
  v.out("end_o", model.end_o, p.end);
  v.out("a_req_o", model.a_req_o, p.a_req);
  v.out("b_req_o", model.b_req_o, p.b_req);
  v.out("a_row_o", model.a_row_o, p.a_row);
  v.out("b_row_o", model.b_row_o, p.b_row);
  v.out("a_own_o", model.a_own_o, p.a_own);
  v.out("b_own_o", model.b_own_o, p.b_own);
  v.out("acc_own_o", model.acc_own_o, p.acc_own);
  v.out("acc_rd_data_o", model.acc_rd_data_o, p.acc_data);
}
PINS_DUT(tg_dut_mx_tiny, Vmx_tiny, tg_mx_pins);
PINS_DUT(tg_dut_mx_odd, Vmx_odd, tg_mx_pins);
