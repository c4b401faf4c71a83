// Stochastic rounding of a VOP (docs/numerics.md): the tile key, then the keys of rows and of
// columns, in the three cycles after the issue.
module vx_rounding (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  issue_i,     // a VOP issues
  input  tegula_pkg::vx_instr_t head_i,
  input  logic [2:0][19:0]      idx_i,
  input  logic [31:0]           sr_key_i,
  output logic [31:0]           row_o,       // row plus the key of the tile
  output logic [31:0]           col_o        // column of lane 0 plus the key of the columns
);
  logic [1:0] step_q;
  logic [2:0][19:0] idx_q;
  logic [2:0][31:0] row_delta_q, col_delta_q;
  logic [31:0] key_q, tile_q, row_q, col_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= 2'd0;
    else if (issue_i) step_q <= 2'd1;
    else if (step_q != 2'd0) step_q <= step_q + 2'd1;
  end
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      idx_q <= idx_i;
      key_q <= sr_key_i;
      tile_q <= {8'd0, head_i.sr_tile} + {12'd0, idx_i[0]} * {8'd0, head_i.sr_tile_delta[0]} +
                {12'd0, idx_i[1]} * {8'd0, head_i.sr_tile_delta[1]} +
                {12'd0, idx_i[2]} * {8'd0, head_i.sr_tile_delta[2]};
      row_q <= head_i.sr_row;
      col_q <= head_i.sr_col;
      row_delta_q <= head_i.sr_row_delta;
      col_delta_q <= head_i.sr_col_delta;
    end
    if (step_q == 2'd1) begin
      tile_q <= key_q ^ fp_pkg::mix(tile_q + 32'h9E37_79B9);
      col_q <= col_q + {12'd0, idx_q[0]} * col_delta_q[0] + {12'd0, idx_q[1]} * col_delta_q[1] +
               {12'd0, idx_q[2]} * col_delta_q[2];
      row_q <= row_q + {12'd0, idx_q[0]} * row_delta_q[0] + {12'd0, idx_q[1]} * row_delta_q[1] +
               {12'd0, idx_q[2]} * row_delta_q[2];
    end
    if (step_q == 2'd2) tile_q <= fp_pkg::mix(tile_q);
    if (step_q == 2'd3) begin
      row_q <= tile_q + row_q;
      col_q <= col_q + (tile_q ^ 32'h85EB_CA6B);
    end
  end
  assign row_o = row_q;
  assign col_o = col_q;
endmodule
