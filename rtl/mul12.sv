// The multiplier of a PE: apart for narrow significands, four together for an FP32 product.
module mul12 (
  input  logic [11:0] a_i,
  input  logic [11:0] b_i,
  output logic [23:0] product_o
);
  assign product_o = {12'd0, a_i} * {12'd0, b_i};
endmodule
