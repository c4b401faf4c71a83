`include "assert.svh"

// Runs sections: counts the cycles of configuration, lets the units run, and sees the last
// instruction's end. What it says takes Distance cycles to all endpoints, and so does what it
// hears.
//
// A section's words leave in its first cycles, the reset behind them. With E the cycle of the last
// end, everything is idle in E + 1, which is here in E + 1 + Distance, and the cycle counter stands
// at E + 2 + Distance until the host has another section.
//
// From the first cycle on in which units may issue, words of the next section may leave. The host
// says at its start how many have not.
module section_control #(
  parameter int unsigned Distance = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // With the words that have not left and the cycles of configuration, which are by Distance more
  input  logic        start_i,
  input  logic [31:0] config_words_i,
  input  logic [63:0] config_cycles_i,
  input  logic        idle_i,   // no unit had anything left to do, Distance cycles ago
  output logic        load_o,   // words leave
  output logic        room_o,   // those of the next section may leave in the next cycle
  output logic        reset_o,  // they have
  output logic        run_o,    // to be there Distance cycles later
  output logic        done_o,   // no section runs
  output logic [63:0] cycle_o
);
  logic running_q, fresh_q;      // ... its reset has not left
  logic [31:0] words_q;          // to leave
  logic [63:0] wait_q, cycle_q;  // until the first look at idle_i
  logic ends, ahead;             // words are the next section's

  assign ends = running_q && wait_q == '0 && idle_i;
  assign ahead = running_q && wait_q <= 64'(Distance);
  assign load_o = (running_q && words_q != '0) || ahead;
  assign room_o = running_q && wait_q <= 64'(Distance) + 64'd1 && !ends;
  assign reset_o = running_q && fresh_q && words_q == '0;
  assign run_o = running_q && wait_q <= 64'(2 * Distance);
  assign done_o = !running_q;
  assign cycle_o = cycle_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      fresh_q <= 1'b0;
      words_q <= '0;
      wait_q <= '0;
      cycle_q <= '0;
    end else if (start_i) begin
      running_q <= 1'b1;
      fresh_q <= 1'b1;
      words_q <= config_words_i;
      wait_q <= config_cycles_i + 64'(Distance);
    end else if (running_q) begin
      cycle_q <= cycle_q + 64'd1;
      if (words_q != '0) words_q <= words_q - 32'd1;
      else fresh_q <= 1'b0;
      if (wait_q != '0) wait_q <= wait_q - 64'd1;
      if (ends) running_q <= 1'b0;
    end
  end

  `ASSERT(StartsWhenDone, !start_i || done_o)
  `ASSERT(LoadsBeforeItRuns, !start_i || config_cycles_i > 64'(config_words_i) + 64'(Distance))
endmodule
