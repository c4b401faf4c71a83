// The four block loops of a GEMM: what belongs to the current block, by increments only. Level 0 is
// outermost. Of every affine quantity the value at the start of the current iteration of each level
// is kept, so that an inner loop that starts again falls back to its outer one's.
//
// Where a K tile ends within a block, the block is multiplied once up to there, and once more for
// what is left. How far the chain is in its K tiles is kept from instruction to instruction.
module mx_nest (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,     // a section begins
  input  logic                  load_i,      // the first block of an instruction
  input  logic                  init_i,      // ... whose first k blocks start from +0
  input  logic                  ends_i,      // ... and whose last k ends a K tile
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
  logic [3:0][31:0] phase_q;  // k of the K tile that has begun
  logic [3:0][23:0] left_q;
  logic [31:0]      now_tile_q, chain_tile_q;  // of what is multiplied now; behind the last GEMM
  logic [31:0]      now_phase_q, chain_phase_q;
  logic [mx_pkg::IndexW:0] from_q;
  logic             ends_q;
  logic             loaded_q;  // in the cycle before

  logic [3:0] at_end, at_start;
  for (genvar l = 0; l < 4; l++) begin : gen_level
    assign at_end[l] = {1'b0, index_q[l]} + 13'd1 >= {1'b0, in_q.blk_count[l]};
    assign at_start[l] = index_q[l] == 12'd0;
  end

  logic [1:0]  level;  // that advances
  logic        tile_end, more;  // a K tile ends with what is multiplied; more of the block follows
  logic [15:0] a_next, b_next, c_next;
  logic        half_next;
  logic [31:0] col_next, tile_next;
  logic [23:0] left_next, stride, left, valid, rest, length;
  logic [31:0] room, now_phase_next, phase_next, now_tile_next;

  assign stride = in_q.format == tegula_pkg::FmtFp32 ? 24'(tegula_pkg::P) : 24'(2 * tegula_pkg::P);
  assign left = loaded_q ? k_left_i : left_q[3];
  assign valid = left > stride ? stride : left;
  assign rest = valid - 24'(from_q);
  assign room = in_q.sr_k > now_phase_q ? in_q.sr_k - now_phase_q : 32'd1;
  assign more = in_q.sr && room < {8'd0, rest};
  assign tile_end = in_q.sr && room <= {8'd0, rest} && rest != 24'd0;
  assign length = more ? room[23:0] : rest;
  assign now_phase_next = tile_end ? 32'd0 : now_phase_q + {8'd0, length};
  assign now_tile_next = now_tile_q + {31'd0, tile_end};

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
      tile_next = now_tile_next;
      phase_next = now_phase_next;
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
      tile_q <= {4{init_i ? 32'd0 : chain_tile_q}};
      phase_q <= {4{init_i ? 32'd0 : chain_phase_q}};
      now_tile_q <= init_i ? 32'd0 : chain_tile_q;
      now_phase_q <= init_i ? 32'd0 : chain_phase_q;
      from_q <= '0;
      ends_q <= ends_i;
    end else if (loaded_q) begin
      left_q <= {4{k_left_i}};
    end else if (advance_i && more) begin
      from_q <= from_q + length[mx_pkg::IndexW:0];
      now_tile_q <= now_tile_next;
      now_phase_q <= now_phase_next;
    end else if (advance_i) begin
      from_q <= '0;
      now_tile_q <= tile_next;
      now_phase_q <= phase_next;
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

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      chain_tile_q <= '0;
      chain_phase_q <= '0;
    end else if (start_i) begin
      chain_tile_q <= '0;
      chain_phase_q <= '0;
    end else if (advance_i && block_o.last && in_q.sr) begin
      chain_tile_q <= now_tile_next;
      chain_phase_q <= now_phase_next;
    end
  end

  assign block_o.a = a_q[3];
  assign block_o.b = b_q[3];
  assign block_o.c = c_q[3];
  assign block_o.half = half_q[3];
  assign block_o.sr_col = col_q[3];
  assign block_o.sr_tile = now_tile_q;
  assign block_o.sr_round = in_q.sr &&
                            (tile_end || (ends_q && !more && (at_end | ~in_q.k_loops) == 4'hF));
  assign block_o.from = from_q;
  assign block_o.depth = from_q + length[mx_pkg::IndexW:0];
  assign block_o.k_first = (at_start | ~in_q.k_loops) == 4'hF && from_q == '0;
  assign block_o.first = at_start == 4'hF && from_q == '0;
  assign block_o.last = at_end == 4'hF && !more;
endmodule
