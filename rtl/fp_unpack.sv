// A 32-bit word of a bank row for the multipliers: its two narrow elements, or the two halves of its FP32 significand.
module fp_unpack (
  input  logic [31:0]                 word_i,
  input  logic                        fp32_i,
  input  logic                        fp16_i,
  output logic [2*fp_pkg::HalfW-1:0] halves_o  // lower: element 0 or the upper half; upper: element 1 or the lower half
);
  logic [fp_pkg::HalfW-1:0] high, low;
  assign {high, low} = fp_pkg::unpack32(word_i);
  assign halves_o = fp32_i ? {low, high}
                           : {fp_pkg::unpack16(word_i[31:16], fp16_i), fp_pkg::unpack16(word_i[15:0], fp16_i)};
endmodule
