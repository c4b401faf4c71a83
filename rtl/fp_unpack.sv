// A 32-bit word of a bank row for the multipliers: its two narrow elements, the two halves of its
// FP32 significand, or, twice, the TF32 number in its upper 19 bits.
module fp_unpack (
  input  logic [31:0]                word_i,
  input  logic                       fp32_i,
  input  logic                       fp16_i,
  input  logic                       tf32_i,
  // lower: element 0 or the upper half; upper: element 1 or the lower half
  output logic [2*fp_pkg::HalfW-1:0] halves_o
);
  logic [fp_pkg::HalfW-1:0] high, low;
  assign {high, low} = fp_pkg::unpack32({word_i[31:13], tf32_i ? 13'd0 : word_i[12:0]});
  always_comb begin
    halves_o = {fp_pkg::unpack16(word_i[31:16], fp16_i), fp_pkg::unpack16(word_i[15:0], fp16_i)};
    if (fp32_i) halves_o = {low, high};
    if (tf32_i) halves_o = {high, high};
  end
endmodule
