`include "assert.svh"

// The streamed rows of a block as they enter the array, in the cycle after their reads: the
// accumulator row that each reads, the weights that it meets, and what the transposer shows for it.
module mx_stream (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              start_i,      // the first streamed row of a block
  input  mx_pkg::block_t    block_i,
  input  logic [25:0]       rows_i,
  input  logic              init_i,       // the instruction's first k blocks start from +0
  input  logic              set_i,
  input  logic              tf32_i,       // a row every other cycle
  input  logic              transposed_i,
  // Array
  output logic              a_valid_o,
  output logic              a_set_o,
  // Transposer: shows its next bank row, which ends the block's last row; the array is fed by it
  output logic              turn_out_o,
  output logic              turn_last_o,
  output logic              turned_o,
  output mx_pkg::acc_read_t acc_read_o
);
  logic stream_q, stream, tick, last, beat_q, beat;
  logic set_q, set, init_q, init, half_q, half;
  logic [25:0] left_q, left;
  logic [15:0] row_q, row;
  always_comb begin
    row = row_q;
    left = left_q;
    beat = beat_q;
    set = set_q;
    init = init_q;
    half = half_q;
    if (start_i) begin
      row = block_i.c;
      left = rows_i;
      beat = 1'b0;
      set = set_i;
      init = init_i && block_i.k_first;
      half = block_i.half;
    end
  end
  assign stream = start_i || stream_q;
  assign tick = stream && beat == tf32_i;
  assign last = tick && left == 26'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stream_q <= 1'b0;
      a_valid_o <= 1'b0;
      turn_out_o <= 1'b0;
    end else begin
      stream_q <= stream && !last;
      a_valid_o <= tick;
      turn_out_o <= stream && transposed_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      set_q <= set;
      init_q <= init;
      half_q <= half;
    end
    if (stream) begin
      beat_q <= tf32_i && !beat;
      left_q <= left - {25'd0, tick};
      row_q <= row + {15'd0, tick};
      a_set_o <= set;
      turn_last_o <= last;
      turned_o <= transposed_i;
    end
  end
  assign acc_read_o.valid = tick;
  assign acc_read_o.row = row[mx_pkg::RowW-1:0];
  assign acc_read_o.init = init;
  assign acc_read_o.half = half;

  `ASSERT(OneStreamAtATime, !start_i || !stream_q)
endmodule
