// A PE (or, Apart, what it is compared with) behind the unpackers that stand at the edges of the array.
module pe_bench #(
  parameter bit Apart = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        fp32_i,
  input  logic        fp16_i,
  input  logic        tf32_i,
  input  logic        w_transposed_i,
  input  logic        w_set_i,
  input  logic [1:0]  w_row_en_i,
  input  logic [1:0]  w_col_en_i,
  input  logic [1:0]  w_on_i,
  input  logic [63:0] w_row_i,
  input  logic [63:0] w_col_i,
  input  logic [1:0]  a_valid_i,
  input  logic [1:0]  a_set_i,
  input  logic [63:0] a_i,
  output logic [1:0]  a_valid_o,
  output logic [1:0]  a_set_o,
  output logic [63:0] a_in_o,
  output logic [63:0] a_out_o,
  input  logic [63:0] psum_i,
  output logic [63:0] psum_o
);
  localparam int unsigned HalfW = fp_pkg::HalfW;
  logic [2*HalfW-1:0] w_row, w_col, a, a_out;
  for (genvar i = 0; i < 2; i++) begin : gen_half
    logic [2*HalfW-1:0] row_halves, col_halves, a_halves;
    fp_unpack u_row (.word_i(w_row_i[32*i+:32]), .fp32_i, .fp16_i, .tf32_i, .halves_o(row_halves));
    fp_unpack u_col (.word_i(w_col_i[32*i+:32]), .fp32_i, .fp16_i, .tf32_i, .halves_o(col_halves));
    fp_unpack u_a (.word_i(a_i[32*i+:32]), .fp32_i, .fp16_i, .tf32_i, .halves_o(a_halves));
    assign w_row[i*HalfW+:HalfW] = row_halves[i*HalfW+:HalfW];
    assign w_col[i*HalfW+:HalfW] = col_halves[i*HalfW+:HalfW];
    assign a[i*HalfW+:HalfW] = a_halves[i*HalfW+:HalfW];
    assign a_in_o[32*i+:32] = 32'(a[i*HalfW+:HalfW]);
    assign a_out_o[32*i+:32] = 32'(a_out[i*HalfW+:HalfW]);
  end
  if (Apart) begin : gen_apart
    pe_apart #(.Latency(4)) u_pe (
      .clk_i, .rst_ni, .fp32_i, .w_transposed_i, .w_set_i, .w_row_en_i, .w_col_en_i, .w_on_i,
      .w_row_i(w_row),
      .w_col_i(w_col),
      .a_valid_i, .a_set_i,
      .a_i    (a),
      .a_valid_o, .a_set_o,
      .a_o    (a_out),
      .psum_i, .psum_o
    );
  end else begin : gen_pe
    pe #(.Latency(4)) u_pe (
      .clk_i, .rst_ni, .fp32_i, .w_transposed_i, .w_set_i, .w_row_en_i, .w_col_en_i, .w_on_i,
      .w_row_i(w_row),
      .w_col_i(w_col),
      .a_valid_i, .a_set_i,
      .a_i    (a),
      .a_valid_o, .a_set_o,
      .a_o    (a_out),
      .psum_i, .psum_o
    );
  end
endmodule
