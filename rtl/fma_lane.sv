// An FP32 multiply-add, a*b + c, of the vector unit: Latency cycles, a new one every cycle.
module fma_lane #(
  parameter int unsigned Latency = 3
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic [31:0] c_i,
  output logic [31:0] sum_o
);
  fp_pkg::half_t a_hi, a_lo, b_hi, b_lo;
  logic [23:0] hh, hl, lh, ll;

  assign {a_hi, a_lo} = fp_pkg::unpack32(a_i);
  assign {b_hi, b_lo} = fp_pkg::unpack32(b_i);
  mul12 u_hh (.a_i(a_hi.sig), .b_i(b_hi.sig), .product_o(hh));
  mul12 u_hl (.a_i(a_hi.sig), .b_i(b_lo.sig), .product_o(hl));
  mul12 u_lh (.a_i(a_lo.sig), .b_i(b_hi.sig), .product_o(lh));
  mul12 u_ll (.a_i(a_lo.sig), .b_i(b_lo.sig), .product_o(ll));

  fma_add #(
    .ProductW(48),
    .Latency (Latency)
  ) u_add (
    .clk_i, .rst_ni, .valid_i,
    .product_i(fp_pkg::product(a_hi, b_hi)),
    .sig_i    (fp_pkg::combine(hh, hl, lh, ll)),
    .addend_i (c_i),
    .sum_o
  );
endmodule
