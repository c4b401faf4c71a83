// The four block loops of a GEMM: what belongs to the current block, by increments only. Level 0 is
// outermost. Of every affine quantity the value at the start of the current iteration of each level
// is kept, so that an inner loop that starts again falls back to its outer one's.
module mx_nest (
  input  logic                  clk_i,
  input  logic                  load_i,      // the first block of an instruction
  input  tegula_pkg::mx_instr_t head_i,
  input  logic [15:0]           a_addr_i,
  input  logic [15:0]           b_addr_i,
  input  logic [15:0]           c_addr_i,
  input  logic [23:0]           k_left_i,    // valid k from the first block on, a cycle later
  input  logic                  advance_i,
  output mx_pkg::block_t         block_o
);
  tegula_pkg::mx_instr_t in_q;
  logic [3:0][11:0] index_q;
  logic [3:0][15:0] a_q, b_q, c_q;
  logic [3:0]       half_q;
  logic [3:0][31:0] col_q, tile_q;
  logic [3:0][11:0] phase_q;  // k blocks into the K tile
  logic [3:0][23:0] left_q;
  logic             loaded_q;  // in the cycle before

  logic [3:0] at_end, at_start;
  for (genvar l = 0; l < 4; l++) begin : gen_level
    assign at_end[l] = {1'b0, index_q[l]} + 13'd1 >= {1'b0, in_q.blk_count[l]};
    assign at_start[l] = index_q[l] == 12'd0;
  end

  logic [1:0]  level;  // that advances
  logic        tile_end;
  logic [15:0] a_next, b_next, c_next;
  logic        half_next;
  logic [31:0] col_next, tile_next;
  logic [11:0] phase_next;
  logic [23:0] left_next, stride;

  assign stride = in_q.format == tegula_pkg::FmtFp32 ? 24'(tegula_pkg::P) : 24'(2 * tegula_pkg::P);
  assign tile_end = {1'b0, phase_q[3]} + 13'd1 == {1'b0, in_q.sr_blocks};

  always_comb begin
    level = 2'd3;
    if (at_end[3]) level = 2'd2;
    if (at_end[3:2] == 2'b11) level = 2'd1;
    if (at_end[3:1] == 3'b111) level = 2'd0;
    a_next = a_q[level] + in_q.a_blk[level];
    b_next = b_q[level] + in_q.b_blk[level];
    c_next = c_q[level] + in_q.c_blk[level];
    half_next = half_q[level] ^ in_q.h_blk[level];
    col_next = col_q[level] + {16'd0, in_q.sr_col_blk[level]};
    // the inner k loops are at their ends: the ordinal advances by one
    if (in_q.k_loops[level]) begin
      tile_next = tile_q[3] + {31'd0, tile_end};
      phase_next = tile_end ? 12'd0 : phase_q[3] + 12'd1;
      left_next = left_q[3] > stride ? left_q[3] - stride : 24'd0;
    end else begin
      tile_next = tile_q[level];
      phase_next = phase_q[level];
      left_next = left_q[level];
    end
  end

  always_ff @(posedge clk_i) begin
    loaded_q <= load_i;
    if (load_i) begin
      in_q <= head_i;
      index_q <= '0;
      a_q <= {4{a_addr_i}};
      b_q <= {4{b_addr_i}};
      c_q <= {4{c_addr_i}};
      half_q <= {4{head_i.col_half}};
      col_q <= '0;
      tile_q <= '0;
      phase_q <= '0;
    end else if (loaded_q) begin
      left_q <= {4{k_left_i}};
    end else if (advance_i) begin
      for (int unsigned l = 0; l < 4; l++) begin
        if (l == 32'(level)) index_q[l] <= index_q[l] + 12'd1;
        if (l > 32'(level)) index_q[l] <= 12'd0;
        if (l >= 32'(level)) begin
          a_q[l] <= a_next;
          b_q[l] <= b_next;
          c_q[l] <= c_next;
          half_q[l] <= half_next;
          col_q[l] <= col_next;
          tile_q[l] <= tile_next;
          phase_q[l] <= phase_next;
          left_q[l] <= left_next;
        end
      end
    end
  end

  assign block_o.a = a_q[3];
  assign block_o.b = b_q[3];
  assign block_o.c = c_q[3];
  assign block_o.half = half_q[3];
  assign block_o.sr_col = col_q[3];
  assign block_o.sr_tile = tile_q[3];
  assign block_o.sr_round = in_q.sr && (tile_end || (at_end | ~in_q.k_loops) == 4'hF);
  assign block_o.k_left = loaded_q ? k_left_i : left_q[3];
  assign block_o.k_first = (at_start | ~in_q.k_loops) == 4'hF;
  assign block_o.first = at_start == 4'hF;
  assign block_o.last = at_end == 4'hF;
endmodule
