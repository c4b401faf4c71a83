// The block loops of a GEMM: what an address is in a block is its start and, of each level, as many increments as the level's index
// says; blocks come in the order of an odometer, the innermost level fastest, and are marked where they are the first, the first of
// their k, and the last. Counts of up to three (a zero is a one), starts and increments of two bits; no K tiles.
// modules: mx_pkg mx_nest
// constants: P=2
// products: narrow
// initial: zero (nothing is looked at before the first load)
// planted: mx_nest.sv: if (at_end[3:2] == 2'b11) level = 2'd1; => if (at_end[2]) level = 2'd1;
// planted: mx_nest.sv: b_next = b_q[level] + in_q.b_blk[level]; => b_next = b_q[level] + in_q.a_blk[level];
// planted: mx_nest.sv: if (l >= 32'(level)) begin => if (l > 32'(level)) begin
// planted: mx_nest.sv: >= {1'b0, in_q.blk_count[l]}; => > {1'b0, in_q.blk_count[l]};
// planted: mx_nest.sv: half_next = half_q[level] ^ in_q.h_blk[level]; => half_next = half_q[3] ^ in_q.h_blk[level];
// planted: mx_nest.sv: if (l > 32'(level)) index_q[l] <= 12'd0; => if (l > 32'(level) + 32'd1) index_q[l] <= 12'd0;
// planted: mx_nest.sv: assign block_o.k_first = (at_start | ~in_q.k_loops) == 4'hF => assign block_o.k_first = (at_start & ~in_q.k_loops) == 4'hF
module prove_mx_nest (
  input logic clk_i,
  input logic load_i,
  input logic advance_i,
  input logic [3:0][1:0] count_i,
  input logic [3:0] k_loops_i,
  input logic [3:0][1:0] a_i,
  input logic [3:0][1:0] b_i,
  input logic [3:0][1:0] c_i,
  input logic [3:0][1:0] col_i,
  input logic [3:0] half_i,
  input logic [1:0] a_addr_i,
  input logic [1:0] b_addr_i,
  input logic [1:0] c_addr_i,
  input logic col_half_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // A frame is two cycles at least: the first block is not left in the cycle after the load.
  logic load, advance, active, any_q, loaded_q;
  assign load = load_i && !active && rst_nq;
  assign advance = advance_i && active && !loaded_q;

  tegula_pkg::mx_instr_t head;
  always_comb begin
    head = '0;
    head.k_loops = k_loops_i;
    head.col_half = col_half_i;
    for (int l = 0; l < 4; l++) begin
      head.blk_count[l] = {10'd0, count_i[l]};
      head.a_blk[l] = {14'd0, a_i[l]};
      head.b_blk[l] = {14'd0, b_i[l]};
      head.c_blk[l] = {14'd0, c_i[l]};
      head.sr_col_blk[l] = {14'd0, col_i[l]};
      head.h_blk[l] = half_i[l];
    end
  end
  mx_pkg::block_t block;
  mx_nest u_nest (
    .clk_i, .rst_ni(rst_nq), .start_i(1'b0), .load_i(load), .init_i(1'b1), .ends_i(1'b0), .head_i(head), .a_addr_i({14'd0, a_addr_i}),
    .b_addr_i({14'd0, b_addr_i}), .c_addr_i({14'd0, c_addr_i}), .k_left_i(24'd0), .advance_i(advance), .block_o(block)
  );

  // The odometer: a level goes on where all within it are at their ends. Behind the last block the outermost one does.
  logic [3:0][1:0] index_q, count_q;
  logic [3:0][1:0] a_q, b_q, c_q, col_q;
  logic [3:0] half_q, k_loops_q, ends, goes;
  logic [1:0] a_addr_q, b_addr_q, c_addr_q;
  logic col_half_q;
  always_comb begin
    for (int l = 0; l < 4; l++) ends[l] = {1'b0, index_q[l]} + 3'd1 >= {1'b0, count_q[l]};
    goes = {1'b1, ends[3], ends[3] && ends[2], ends[3] && ends[2] && ends[1]};
  end
  assign active = any_q && index_q[0] < (count_q[0] == 2'd0 ? 2'd1 : count_q[0]);
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {any_q, loaded_q} <= '0;
    else begin
      any_q <= any_q || load;
      loaded_q <= load;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      index_q <= '0;
      {count_q, a_q, b_q, c_q, col_q, half_q, k_loops_q} <= {count_i, a_i, b_i, c_i, col_i, half_i, k_loops_i};
      {a_addr_q, b_addr_q, c_addr_q, col_half_q} <= {a_addr_i, b_addr_i, c_addr_i, col_half_i};
    end else if (advance) begin
      for (int l = 0; l < 4; l++) begin
        if (goes[l]) index_q[l] <= ends[l] && l != 0 ? 2'd0 : index_q[l] + 2'd1;
      end
    end
  end

  // Sums of the first levels' products, of all four at the end.
  logic [15:0] a [4], b [4], c [4], col [4];
  logic half [4];
  always_comb begin
    for (int l = 0; l < 4; l++) begin
      a[l] = (l == 0 ? {14'd0, a_addr_q} : a[(l+3)%4]) + {12'd0, {2'd0, index_q[l]} * {2'd0, a_q[l]}};
      b[l] = (l == 0 ? {14'd0, b_addr_q} : b[(l+3)%4]) + {12'd0, {2'd0, index_q[l]} * {2'd0, b_q[l]}};
      c[l] = (l == 0 ? {14'd0, c_addr_q} : c[(l+3)%4]) + {12'd0, {2'd0, index_q[l]} * {2'd0, c_q[l]}};
      col[l] = (l == 0 ? 16'd0 : col[(l+3)%4]) + {12'd0, {2'd0, index_q[l]} * {2'd0, col_q[l]}};
      half[l] = (l == 0 ? col_half_q : half[(l+3)%4]) ^ (index_q[l][0] && half_q[l]);
    end
  end

  logic [3:0] begins;
  always_comb for (int l = 0; l < 4; l++) begins[l] = index_q[l] == 2'd0;
  always_ff @(posedge clk_i) begin
    if (rst_nq && active) begin
      assert (block.a == a[3] && block.b == b[3] && block.c == c[3]);
      assert (block.sr_col == {16'd0, col[3]} && block.half == half[3]);
      assert (block.first == (begins == 4'hF) && block.last == (ends == 4'hF));
      assert (block.k_first == ((begins | ~k_loops_q) == 4'hF));
      assert (block.from == '0 && !block.sr_round);
    end
  end
endmodule
