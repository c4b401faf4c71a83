`include "assert.svh"

// Runs sections: counts the cycles of configuration, lets the units run, and sees the last
// instruction's end.
//
// The cycle counter stands still between sections, while the host writes the queues. With E the
// cycle of the last end, everything is idle in E + 1, and the counter stands at E + 2.
module section_control (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,  // with the cycles of configuration
  input  logic [63:0] config_cycles_i,
  input  logic        idle_i,   // no unit has anything left to do
  output logic        run_o,
  output logic        done_o,   // no section runs
  output logic [63:0] cycle_o
);
  logic running_q;
  logic [63:0] wait_q, cycle_q;

  assign run_o = running_q && wait_q == '0;
  assign done_o = !running_q;
  assign cycle_o = cycle_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      wait_q <= '0;
      cycle_q <= '0;
    end else if (start_i) begin
      running_q <= 1'b1;
      wait_q <= config_cycles_i;
    end else if (running_q) begin
      cycle_q <= cycle_q + 64'd1;
      if (wait_q != '0) wait_q <= wait_q - 64'd1;
      else if (idle_i) running_q <= 1'b0;
    end
  end

  `ASSERT(StartsWhenDone, !start_i || !running_q)
endmodule
