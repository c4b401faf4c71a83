// An FP32 multiply-add, a*b + c, of the vector unit: Latency cycles, a new one every cycle. Where
// they are more than the three that fma_add needs the first is for the operands' normalising, in
// front of the product.
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
  localparam int unsigned Before = Latency > 3 ? 1 : 0;  // stages in front of the product

  logic        valid;
  logic [31:0] c;
  fp_pkg::half_t a_hi, a_lo, b_hi, b_lo;
  logic [23:0] hh, hl, lh, ll;

  if (Before != 0) begin : gen_normalised
    logic                       valid_q;
    logic [31:0]                c_q;
    logic [2*fp_pkg::HalfW-1:0] a_q, b_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= valid_i;
    end
    always_ff @(posedge clk_i) begin
      if (valid_i) begin
        a_q <= fp_pkg::unpack32(a_i);
        b_q <= fp_pkg::unpack32(b_i);
        c_q <= c_i;
      end
    end
    assign valid = valid_q;
    assign {a_hi, a_lo} = a_q;
    assign {b_hi, b_lo} = b_q;
    assign c = c_q;
  end else begin : gen_together
    assign valid = valid_i;
    assign {a_hi, a_lo} = fp_pkg::unpack32(a_i);
    assign {b_hi, b_lo} = fp_pkg::unpack32(b_i);
    assign c = c_i;
  end

  mul12 u_hh (.a_i(a_hi.sig), .b_i(b_hi.sig), .product_o(hh));
  mul12 u_hl (.a_i(a_hi.sig), .b_i(b_lo.sig), .product_o(hl));
  mul12 u_lh (.a_i(a_lo.sig), .b_i(b_hi.sig), .product_o(lh));
  mul12 u_ll (.a_i(a_lo.sig), .b_i(b_lo.sig), .product_o(ll));

  fma_add #(
    .ProductW(48),
    .Latency (Latency - Before)
  ) u_add (
    .clk_i, .rst_ni, .valid_i(valid),
    .product_i(fp_pkg::product(a_hi, b_hi)),
    .sig_i    (fp_pkg::combine(hh, hl, lh, ll)),
    .addend_i (c),
    .sum_o
  );
endmodule
