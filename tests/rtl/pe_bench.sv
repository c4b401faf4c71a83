// A PE behind the unpackers that stand at the edges of the array.
module pe_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        fp32_i,
  input  logic        fp16_i,
  input  logic        w_transposed_i,
  input  logic        w_set_i,
  input  logic [1:0]  w_row_en_i,
  input  logic [1:0]  w_col_en_i,
  input  logic [1:0]  w_on_i,
  input  logic [31:0] w_row_i,
  input  logic [31:0] w_col_i,
  input  logic [1:0]  a_valid_i,
  input  logic [1:0]  a_set_i,
  input  logic [63:0] a_i,
  output logic [1:0]  a_valid_o,
  output logic [1:0]  a_set_o,
  input  logic [63:0] psum_i,
  output logic [63:0] psum_o
);
  localparam int unsigned HalfW = fp_pkg::HalfW;
  logic [2*HalfW-1:0] w_row, w_col, a0, a1, unused_a;
  fp_unpack u_row (.word_i(w_row_i), .fp32_i, .fp16_i, .halves_o(w_row));
  fp_unpack u_col (.word_i(w_col_i), .fp32_i, .fp16_i, .halves_o(w_col));
  fp_unpack u_a0 (.word_i(a_i[31:0]), .fp32_i, .fp16_i, .halves_o(a0));
  fp_unpack u_a1 (.word_i(a_i[63:32]), .fp32_i, .fp16_i, .halves_o(a1));
  pe #(.LATENCY(4)) u_pe (
    .clk_i, .rst_ni, .fp32_i, .w_transposed_i, .w_set_i, .w_row_en_i, .w_col_en_i, .w_on_i,
    .w_row_i(w_row), .w_col_i(w_col), .a_valid_i, .a_set_i,
    .a_i({a1[2*HalfW-1:HalfW], a0[HalfW-1:0]}),
    .a_valid_o, .a_set_o,
    .a_o(unused_a), .psum_i, .psum_o
  );
endmodule
