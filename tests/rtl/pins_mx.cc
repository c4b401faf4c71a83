#include "tests/rtl/pins.h"
#include "Vmx_odd.h"
#include "Vmx_tiny.h"

template <typename Model> static void eval(void *dut, void *pins) {
  auto &model = *static_cast<Dut<Model> *>(dut)->model;
  auto &p = *static_cast<tg_mx_pins *>(pins);
  model.defect_i = 0;
  model.start_i = 0;
  model.head_valid_i = p.head_valid;
  put(model.head_i, p.head);
  model.idx_i = p.index[0] | (uint64_t)p.index[1] << 20 | (uint64_t)p.index[2] << 40;
  model.a_addr_i = p.a_addr;
  model.b_addr_i = p.b_addr;
  model.c_addr_i = p.c_addr;
  model.sr_key_i = p.sr_key;
  put(model.a_rdata_i, p.a_rdata);
  put(model.b_rdata_i, p.b_rdata);
  model.acc_rd_req_i = p.acc_req;
  model.acc_rd_row_i = p.acc_row;
  model.eval();
  p.issue = model.issue_o;
  p.end = model.end_o;
  p.a_req = model.a_req_o;
  p.b_req = model.b_req_o;
  p.a_row = model.a_row_o;
  p.b_row = model.b_row_o;
  p.a_own = model.a_own_o;
  p.b_own = model.b_own_o;
  p.acc_own = model.acc_own_o;
  get(model.acc_rd_data_o, p.acc_data);
}
PINS_DUT(tg_dut_mx_tiny, Vmx_tiny, eval<Vmx_tiny>);
PINS_DUT(tg_dut_mx_odd, Vmx_odd, eval<Vmx_odd>);
