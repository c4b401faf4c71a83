// What the loop indices add: the valid k of an instruction in the cycle after its issue, until the next one; row and column of
// stochastic rounding from the third and fourth cycle on, and the key of a block's K tile after two cycles in which it is asked
// for, as docs/numerics.md says. Indices of two bits, increments of three, totals of six.
// modules: fp_pkg mx_pkg mx_coordinates
// constants: P=2
// products: narrow
// initial: zero (nothing is looked at before the first issue)
// planted: mx_coordinates.sv: if (k_rest[46]) k_left_o = 24'd0; => if (k_rest[45]) k_left_o = 24'd1;
// planted: mx_coordinates.sv: 2'd1: factor_b[l] = {8'd0, in_q.sr_tile_delta[l]}; => 2'd1: factor_b[l] = {8'd0, in_q.k_delta[l]};
// planted: mx_coordinates.sv: if (step_q == 2'd2) row_q <= in_q.sr_row + index_sum[31:0]; => if (step_q == 2'd2) row_q <= index_sum[31:0];
// planted: mx_coordinates.sv: factor_a[l] = step_q == 2'd0 ? idx_i[l] : idx_q[l]; => factor_a[l] = idx_q[l];
// planted: mx_coordinates.sv: tile_q + block_i.sr_tile + 32'h9E37_79B9 => tile_q + 32'h9E37_79B9
// planted: mx_coordinates.sv: assign sr_col_o = col_q + block_i.sr_col; => assign sr_col_o = col_q;
// planted: mx_coordinates.sv: else if (k_rest > {23'd0, in_q.k_chunk}) => else if (k_rest >= {23'd0, in_q.k_chunk} + 47'd2)
// planted: mx_coordinates.sv: else if (step_q != 2'd0) step_q <= step_q + 2'd1; => else if (step_q[0]) step_q <= step_q + 2'd1;
module prove_mx_coordinates (
  input logic clk_i,
  input logic issue_i,
  input logic [2:0][1:0] index_i,
  input logic [2:0][2:0] k_delta_i,
  input logic [2:0][2:0] tile_delta_i,
  input logic [2:0][2:0] row_delta_i,
  input logic [2:0][2:0] col_delta_i,
  input logic [5:0] k_total_i,
  input logic [2:0] k_chunk_i,
  input logic [2:0] tile_at_i,
  input logic [2:0] row_at_i,
  input logic [2:0] col_at_i,
  input logic [31:0] key_i,
  input logic tile_i,
  input logic round_i,
  input logic [2:0] block_tile_i,
  input logic [2:0] block_col_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // Issues are a frame apart, which is longer than the three cycles after one.
  logic issue;
  logic [1:0] age_q;  // cycles since the issue, until three; 0: more
  assign issue = issue_i && age_q == 2'd0;

  tegula_pkg::mx_instr_t head;
  logic [2:0][19:0] index;
  mx_pkg::block_t block;
  always_comb begin
    head = '0;
    head.k_total = {26'd0, k_total_i};
    head.k_chunk = {21'd0, k_chunk_i};
    head.sr_tile = {21'd0, tile_at_i};
    head.sr_row = {29'd0, row_at_i};
    head.sr_col = {29'd0, col_at_i};
    for (int l = 0; l < 3; l++) begin
      index[l] = {18'd0, index_i[l]};
      head.k_delta[l] = {21'd0, k_delta_i[l]};
      head.sr_tile_delta[l] = {21'd0, tile_delta_i[l]};
      head.sr_row_delta[l] = {29'd0, row_delta_i[l]};
      head.sr_col_delta[l] = {29'd0, col_delta_i[l]};
    end
    block = '0;
    block.sr_round = round_i;
    block.sr_tile = {29'd0, block_tile_i};
    block.sr_col = {29'd0, block_col_i};
  end
  logic [23:0] k_left;
  logic [31:0] tile_key, sr_row, sr_col;
  mx_coordinates u_coordinates (
    .clk_i, .rst_ni(rst_nq), .issue_i(issue), .head_i(head), .idx_i(index), .sr_key_i(key_i), .k_left_o(k_left), .tile_i, .block_i(block),
    .tile_key_o(tile_key), .sr_row_o(sr_row), .sr_col_o(sr_col)
  );

  // The sums of the instruction that issued last, each from its own indices, in additions of what an index takes.
  function automatic logic [5:0] sum(input logic [5:0] at, input logic [8:0] delta);
    sum = '0;
    for (int l = 0; l < 3; l++) begin
      if (at[2*l]) sum = sum + {3'd0, delta[3*l+:3]};
      if (at[2*l+1]) sum = sum + {2'd0, delta[3*l+:3], 1'b0};
    end
  endfunction
  logic [5:0] index_q, k_sum_q, total_q;
  logic [8:0] tile_delta_q, row_delta_q, col_delta_q;
  logic [2:0] chunk_q, tile_at_q, row_at_q, col_at_q;
  logic [6:0] tile_q, row_q, col_q;  // of the instruction from the second, third and fourth cycle behind its issue on
  logic [31:0] key_q;
  logic any_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {any_q, age_q} <= '0;
    else begin
      any_q <= any_q || issue;
      age_q <= issue ? 2'd1 : age_q + 2'(age_q != 2'd0);
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue) begin
      k_sum_q <= sum(index_i, k_delta_i);
      {index_q, tile_delta_q, row_delta_q, col_delta_q} <= {index_i, tile_delta_i, row_delta_i, col_delta_i};
      {total_q, chunk_q, tile_at_q, row_at_q, col_at_q, key_q} <= {k_total_i, k_chunk_i, tile_at_i, row_at_i, col_at_i, key_i};
    end
    if (age_q == 2'd1) tile_q <= {4'd0, tile_at_q} + {1'b0, sum(index_q, tile_delta_q)};
    if (age_q == 2'd2) row_q <= {4'd0, row_at_q} + {1'b0, sum(index_q, row_delta_q)};
    if (age_q == 2'd3) col_q <= {4'd0, col_at_q} + {1'b0, sum(index_q, col_delta_q)};
  end

  // Of the block that is asked for now, and in the cycle before.
  logic [31:0] hash_q, expected_q;
  always_ff @(posedge clk_i) begin
    if (tile_i && round_i) begin
      hash_q <= key_q ^ fp_pkg::mix({25'd0, tile_q} + {29'd0, block_tile_i} + 32'h9E37_79B9);
      expected_q <= fp_pkg::mix(hash_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_nq && any_q) begin
      assert (k_left == (k_sum_q >= total_q ? 24'd0 : total_q - k_sum_q > {3'd0, chunk_q} ? {21'd0, chunk_q} : {18'd0, total_q - k_sum_q}));
      assert (sr_row == {25'd0, row_q} && sr_col == {25'd0, col_q} + {29'd0, block_col_i});
      assert (tile_key == expected_q);
    end
  end
endmodule
