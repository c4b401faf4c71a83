`include "assert.svh"

// Runs sections: counts the cycles of configuration, lets the units run, and sees the last
// instruction's end. What it says takes Distance cycles to all endpoints, and so does what it
// hears.
//
// The cycle counter stands still between sections, while the host writes the queues. With E the
// cycle of the last end, everything is idle in E + 1, which is here in E + 1 + Distance, and the
// counter stands at E + 2 + Distance.
module section_control #(
  parameter int unsigned Distance = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,  // with the cycles of configuration, more than Distance
  input  logic [63:0] config_cycles_i,
  input  logic        idle_i,   // no unit had anything left to do, Distance cycles ago
  output logic        run_o,    // to be there Distance cycles later
  output logic        done_o,   // no section runs
  output logic        open_o,   // ... nor does a unit think so: to be configured
  output logic [63:0] cycle_o
);
  logic running_q;
  logic [63:0] wait_q, cycle_q;  // until the first look at idle_i
  logic [7:0] stop_q;            // until all units know that the section is over

  assign run_o = running_q && wait_q <= 64'(2 * Distance);
  assign done_o = !running_q;
  assign open_o = !running_q && stop_q == '0;
  assign cycle_o = cycle_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      stop_q <= '0;
      wait_q <= '0;
      cycle_q <= '0;
    end else if (start_i) begin
      running_q <= 1'b1;
      wait_q <= config_cycles_i + 64'(Distance);
    end else if (running_q) begin
      cycle_q <= cycle_q + 64'd1;
      stop_q <= 8'(Distance);
      if (wait_q != '0) wait_q <= wait_q - 64'd1;
      else if (idle_i) running_q <= 1'b0;
    end else if (stop_q != '0) begin
      stop_q <= stop_q - 8'd1;
    end
  end

  `ASSERT(StartsWhenDone, !start_i || open_o)
  `ASSERT(StartsBeforeItRuns, !start_i || config_cycles_i > 64'(Distance))
endmodule
