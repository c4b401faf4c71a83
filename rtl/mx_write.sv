// The write port of the matrix unit: the results of a block leave the columns in a skewed stream;
// they are rounded, if a K tile ends, in the cycle in which they appear and written in the next
// one.
//
// `block_i` comes two cycles before the first result of column 0 and is kept here from then on.
module mx_write (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        fp32_i,
  input  logic                        tf32_i,   // a row every other cycle
  input  mx_pkg::block_write_t        block_i,
  input  logic [64*tegula_pkg::P-1:0] psum_i,
  output logic [2*tegula_pkg::P-1:0]  write_o,  // lanes c and P + c of column c in bits 2*c
  output logic [$clog2(2*tegula_pkg::AccRows)*tegula_pkg::P-1:0] row_o,
  output logic [64*tegula_pkg::P-1:0] data_o,
  output logic                        end_o     // the last column's last write
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned RowW = $clog2(2 * tegula_pkg::AccRows);

  // The row whose results column 0 shows in the next cycle.
  logic            busy_q, fp32_q, half_q, last_q, round_q, first_q, beat_q;
  logic [25:0]     left_q;
  logic [15:0]     row_q;
  logic [31:0]     row_key_q, col_key_q, hash_row_q, col_q, skip_q;
  logic [12:0]     inner_q, inner_left_q;  // rows of the inner row loop

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (block_i.start) busy_q <= 1'b1;
    else if (left_q == 26'd1 && !beat_q) busy_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (block_i.start) begin
      left_q <= block_i.rows;
      row_q <= block_i.row;
      fp32_q <= fp32_i;
      half_q <= block_i.half;
      last_q <= block_i.last;
      round_q <= block_i.round;
      first_q <= 1'b1;
      beat_q <= 1'b0;
      row_key_q <= block_i.turned ? block_i.tile_key ^ 32'h85EB_CA6B : block_i.tile_key;
      col_key_q <= block_i.turned ? block_i.tile_key : block_i.tile_key ^ 32'h85EB_CA6B;
      hash_row_q <= block_i.sr_row;
      skip_q <= block_i.sr_skip;
      inner_q <= block_i.inner;
      inner_left_q <= block_i.inner;
      col_q <= block_i.sr_col;
    end else if (busy_q && tf32_i && !beat_q) begin
      beat_q <= 1'b1;
    end else if (busy_q) begin
      beat_q <= 1'b0;
      left_q <= left_q - 26'd1;
      row_q <= row_q + 16'd1;
      inner_left_q <= inner_left_q == 13'd1 ? inner_q : inner_left_q - 13'd1;
      hash_row_q <= hash_row_q + (inner_left_q == 13'd1 ? skip_q : 32'd0) + 32'd1;
      first_q <= 1'b0;
    end
  end

  // Tokens: entry 0 is the row before column 0, entry c + 1 the row at column c, entry c + 2 the
  // one it writes.
  typedef struct packed {
    logic            first;
    logic            last;
    logic            round;
    logic [1:0]      lanes;
    logic [RowW-1:0] row;
  } token_t;
  logic [P+1:0] valid;
  for (genvar c = 0; c <= P + 1; c++) begin : gen_token
    token_t      token;
    logic        is_valid;
    logic [31:0] row_hash;  // meant from entry 1 on
    if (c == 0) begin : gen_head
      assign is_valid = busy_q && !beat_q;
      assign token.first = first_q;
      assign token.last = last_q && left_q == 26'd1;
      assign token.round = round_q;
      assign token.lanes = fp32_q ? {half_q, !half_q} : 2'b11;
      assign token.row = row_q[RowW-1:0];
      assign row_hash = fp_pkg::mix(row_key_q + hash_row_q);
    end else begin : gen_shift
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) is_valid <= 1'b0;
        else is_valid <= gen_token[c-1].is_valid;
      end
      always_ff @(posedge clk_i) begin
        if (gen_token[c-1].is_valid) token <= gen_token[c-1].token;
        if (gen_token[c-1].is_valid && gen_token[c-1].token.round) begin
          row_hash <= gen_token[c-1].row_hash;
        end
      end
    end
    assign valid[c] = is_valid;
  end

  for (genvar c = 0; c < P; c++) begin : gen_column
    logic [63:0] data_q, result;
    logic        narrow;
    assign narrow = gen_token[c+1].token.lanes == 2'b11;
    for (genvar q = 0; q < 2; q++) begin : gen_lane
      // FP32: only sub-column 0 has a result; it goes to either lane.
      logic [31:0] col_hash_q;
      logic [31:0] rounded;
      logic [31:0] mixed;
      assign mixed = fp_pkg::mix(gen_token[c+1].row_hash + col_hash_q);
      assign result[32*q+:32] = narrow ? psum_i[64*c+32*q+:32] : psum_i[64*c+:32];
      assign rounded = {fp_pkg::to_bf16_stochastic(result[32*q+:32], mixed[31:16]), 16'd0};
      always_ff @(posedge clk_i) begin
        if (valid[c] && gen_token[c].token.first && gen_token[c].token.round) begin
          col_hash_q <= fp_pkg::mix(col_key_q + col_q + (fp32_q ? c : q * P + c));
        end
        if (valid[c+1] && gen_token[c+1].token.lanes[q]) begin
          data_q[32*q+:32] <= gen_token[c+1].token.round ? rounded : result[32*q+:32];
        end
      end
    end
    assign data_o[64*c+:64] = data_q;
    assign write_o[2*c+:2] = valid[c+2] ? gen_token[c+2].token.lanes : 2'b00;
    assign row_o[RowW*c+:RowW] = gen_token[c+2].token.row;
  end
  assign end_o = valid[P+1] && gen_token[P+1].token.last;
endmodule
