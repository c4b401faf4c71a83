`include "assert.svh"

// The accumulator halves that the matrix unit owns: that of the instruction whose rows entered the
// array last, and that of the one before it until it ends.
module mx_acc_owner (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       start_i,  // the first row of an instruction enters
  input  logic       half_i,
  input  logic       end_i,    // the oldest instruction ends
  output logic [1:0] own_o
);
  logic [1:0] half_new, half_new_q, half_old_q;  // one-hot, 0: none
  assign half_new = start_i ? (half_i ? 2'b10 : 2'b01) : 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_new_q <= 2'b00;
      half_old_q <= 2'b00;
    end else if (half_new != 2'b00) begin
      half_new_q <= half_new;
      half_old_q <= end_i ? (half_old_q != 2'b00 ? half_new_q : 2'b00) : half_new_q;
    end else if (end_i) begin
      if (half_old_q != 2'b00) half_old_q <= 2'b00;
      else half_new_q <= 2'b00;
    end
  end
  assign own_o = half_new | half_new_q | half_old_q;

  `ASSERT(EndsWhatItOwns, !end_i || half_new_q != 2'b00)
  `ASSERT(KeepsWhatItOwns, !start_i || end_i || half_old_q == 2'b00)
endmodule
