`include "assert.svh"

// What the loop indices add to an instruction of the matrix unit: the valid k, at its issue, and
// the coordinates of stochastic rounding. Three multipliers serve the valid k at the issue and the
// tile, the row and the column in the cycles after it, in which there is no other issue, a frame
// being longer: whose turn it is does not wait for what decides about an issue. What is left of k
// is there a cycle after the issue.
module mx_coordinates (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // An instruction issues
  input  logic                  issue_i,
  input  tegula_pkg::mx_instr_t head_i,
  input  logic [2:0][19:0]      idx_i,
  input  logic [31:0]           sr_key_i,
  // Valid k from its first block on, in the cycle after
  output logic [23:0]           k_left_o,
  // The block whose results come next, while they are awaited, if a K tile ends with it
  input  logic                  tile_i,
  input  mx_pkg::block_t        block_i,
  output logic [31:0]           tile_key_o,  // two cycles later
  output logic [31:0]           sr_row_o,
  output logic [31:0]           sr_col_o
);
  tegula_pkg::mx_instr_t in_q;
  logic [2:0][19:0] idx_q, factor_a;
  logic [2:0][31:0] factor_b;
  logic [45:0] index_sum, k_sum_q;
  logic [1:0] step_q;  // which coordinate is computed; 0: none
  logic [31:0] key_q, tile_q, row_q, col_q;

  always_comb begin
    for (int unsigned l = 0; l < 3; l++) begin
      factor_a[l] = step_q == 2'd0 ? idx_i[l] : idx_q[l];
      unique case (step_q)
        2'd0: factor_b[l] = {8'd0, head_i.k_delta[l]};
        2'd1: factor_b[l] = {8'd0, in_q.sr_tile_delta[l]};
        2'd2: factor_b[l] = in_q.sr_row_delta[l];
        default: factor_b[l] = in_q.sr_col_delta[l];
      endcase
    end
    index_sum = 46'(factor_a[0]) * 46'(factor_b[0]) + 46'(factor_a[1]) * 46'(factor_b[1]) +
                46'(factor_a[2]) * 46'(factor_b[2]);
  end

  logic [46:0] k_rest;
  always_comb begin
    k_rest = {15'd0, in_q.k_total} - {1'b0, k_sum_q};
    if (k_rest[46]) k_left_o = 24'd0;
    else if (k_rest > {23'd0, in_q.k_chunk}) k_left_o = in_q.k_chunk;
    else k_left_o = k_rest[23:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= 2'd0;
    else if (issue_i) step_q <= 2'd1;
    else if (step_q != 2'd0) step_q <= step_q + 2'd1;
  end
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      in_q <= head_i;
      idx_q <= idx_i;
      key_q <= sr_key_i;
      k_sum_q <= index_sum;
    end
    if (step_q == 2'd1) tile_q <= {8'd0, in_q.sr_tile} + index_sum[31:0];
    if (step_q == 2'd2) row_q <= in_q.sr_row + index_sum[31:0];
    if (step_q == 2'd3) col_q <= in_q.sr_col + index_sum[31:0];
  end

  // The key of the block's K tile (docs/numerics.md).
  logic [31:0] tile_hash_q, tile_key_q;
  always_ff @(posedge clk_i) begin
    if (tile_i && block_i.sr_round) begin
      tile_hash_q <= key_q ^ fp_pkg::mix(tile_q + block_i.sr_tile + 32'h9E37_79B9);
      tile_key_q <= fp_pkg::mix(tile_hash_q);
    end
  end
  assign tile_key_o = tile_key_q;
  assign sr_row_o = row_q;
  assign sr_col_o = col_q + block_i.sr_col;

  `ASSERT(IssuesAreAFrameApart, !issue_i || step_q == 2'd0)
endmodule
