// Assertions at the seams between modules: on in all builds for tests (TEGULA_ASSERT), nothing in synthesis. Out of reset,
//
//   `ASSERT(Name, condition)             holds at every rising edge of clk_i
//   `ASSERT_NEXT(Name, before, after)    `after` holds at the edge that follows one at which `before` held
//
// They are immediate: concurrent ones would have Verilator copy each signal that they look at in every cycle.
`ifndef TEGULA_ASSERT_SVH
`define TEGULA_ASSERT_SVH
`ifdef TEGULA_ASSERT
`define ASSERT(NAME, CONDITION) \
  always_ff @(posedge clk_i) if (rst_ni) NAME : assert (CONDITION) else $error("%m does not hold");
`define ASSERT_NEXT(NAME, BEFORE, AFTER) \
  logic NAME``Before; \
  always_ff @(posedge clk_i) begin \
    NAME``Before <= rst_ni && (BEFORE); \
    if (rst_ni && NAME``Before) NAME : assert (AFTER) else $error("%m does not hold"); \
  end
`else
`define ASSERT(NAME, CONDITION)
`define ASSERT_NEXT(NAME, BEFORE, AFTER)
`endif
`endif
