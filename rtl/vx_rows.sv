// The rows of a VOP: digits, stream addresses and columns of the next row, kept for the start of
// each digit's current iteration, and those of the rows in the group by slot. One row is worked out
// a cycle: of the first group while the VOP is set up, of each next group during the last word of
// the group before it.
module vx_rows (
  input  logic                                        clk_i,
  // A VOP issues
  input  logic                                        issue_i,
  input  tegula_pkg::vx_instr_t                       head_i,
  input  logic [tegula_pkg::VxStreams-1:0][15:0]      s_addr_i,
  input  logic [tegula_pkg::VxStreams-1:0][2:0][15:0] row_step_i,
  // The slot takes the next row, if there is one
  input  logic                                        take_i,
  input  logic [$clog2(tegula_pkg::FmaLatency)-1:0]   slot_i,
  // The row of the slot
  output logic                                        used_o,
  output logic [tegula_pkg::VxStreams-1:0][15:0]      address_o,
  output logic [31:0]                                 row_o,      // logical, relative
  output logic [31:0]                                 col_o
);
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned Streams = tegula_pkg::VxStreams;

  logic [2:0][15:0] row_count_q, digit_q;
  logic [Streams-1:0][2:0][15:0] row_step_q, row_addr_q;
  logic [1:0][2:0][31:0] place_step_q, place_q;  // logical row and column
  logic [15:0] rows_left_q;  // not yet in a group
  logic [L-1:0][Streams-1:0][15:0] slot_addr_q;
  logic [L-1:0][1:0][31:0] slot_place_q;
  logic [L-1:0] slot_used_q;
  logic inner_end, middle_end;

  assign inner_end = digit_q[2] + 16'd1 >= row_count_q[2];
  assign middle_end = digit_q[1] + 16'd1 >= row_count_q[1];

  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      row_count_q <= head_i.row_count;
      row_step_q <= row_step_i;
      place_step_q <= {head_i.sr_col_row, head_i.sr_row_row};
      rows_left_q <= head_i.rows;
      digit_q <= '0;
      for (int unsigned t = 0; t < Streams; t++) row_addr_q[t] <= {3{s_addr_i[t]}};
      place_q <= '0;
    end else if (take_i) begin
      slot_used_q[slot_i] <= rows_left_q != 16'd0;
      if (rows_left_q != 16'd0) rows_left_q <= rows_left_q - 16'd1;
      digit_q[2] <= inner_end ? 16'd0 : digit_q[2] + 16'd1;
      if (inner_end) digit_q[1] <= middle_end ? 16'd0 : digit_q[1] + 16'd1;
      for (int unsigned t = 0; t < Streams; t++) begin
        slot_addr_q[slot_i][t] <= row_addr_q[t][2];
        if (!inner_end) begin
          row_addr_q[t][2] <= row_addr_q[t][2] + row_step_q[t][2];
        end else if (!middle_end) begin
          row_addr_q[t][2] <= row_addr_q[t][1] + row_step_q[t][1];
          row_addr_q[t][1] <= row_addr_q[t][1] + row_step_q[t][1];
        end else begin
          row_addr_q[t] <= {3{row_addr_q[t][0] + row_step_q[t][0]}};
        end
      end
      for (int unsigned d = 0; d < 2; d++) begin
        slot_place_q[slot_i][d] <= place_q[d][2];
        if (!inner_end) begin
          place_q[d][2] <= place_q[d][2] + place_step_q[d][2];
        end else if (!middle_end) begin
          place_q[d][2] <= place_q[d][1] + place_step_q[d][1];
          place_q[d][1] <= place_q[d][1] + place_step_q[d][1];
        end else begin
          place_q[d] <= {3{place_q[d][0] + place_step_q[d][0]}};
        end
      end
    end
  end

  assign used_o = slot_used_q[slot_i];
  assign row_o = slot_place_q[slot_i][0];
  assign col_o = slot_place_q[slot_i][1];
  for (genvar t = 0; t < Streams; t++) begin : gen_address
    assign address_o[t] = slot_addr_q[slot_i][t];
  end
endmodule
