// The sum of a product and an addend is the exact one, rounded once to the nearest, ties to even; infinities, NaN and the signs of
// zeros are IEEE 754's. The exact sum is an integer of as many bits as the two span; what is dropped of it is compared with a half.
// A case has the distance of the exponents, product less addend, as a constant; together they are all that there is. In the three last
// cases the two are so far apart that the smaller one is below an eighth of the larger one's last place, or there is no product:
// Distance = -27 is that and all below, ProductW + 3 that and all above, ProductW + 4 the product 0. What is that small rounds as a
// sixteenth of the last place does: no number of FP32, and nothing halfway between two, lies between the larger one and an eighth
// of its last place beside it. Products of 24 bits are those of BF16, FP16 and TF32, of 48 bits FP32's; that they are exact, with the
// leading one in one of the two top bits, is prove_product's. The registers hold anything when the two come, so it is for all time.
// modules: fp_pkg fma_add
// cases: ProductW=24 Distance=-27..28
// cases: ProductW=48 Distance=-27..52
// sample: ProductW=24 Distance=-27,0
// bounded: 4 cycles
// planted: fma_add.sv: shifted[0] = shifted[0] || => shifted[0] = shifted[0] &&
// planted: fma_add.sv: frame[NormW-25] && (frame[NormW-26:0] != {(NormW - 25) {1'b0}} || frame[NormW-24]) => frame[NormW-25]
// planted: fma_add.sv: || frame[NormW-24]) => || !frame[NormW-24])
// planted: fma_add.sv: if (shift > exp2_q) shift = exp2_q; => if (shift > exp2_q + 9'd1) shift = exp2_q;
// planted: fma_add.sv: FrameW = ProductW + 4 => FrameW = ProductW + 2
// planted: fma_add.sv: sign2_q <= 1'b0; => sign2_q <= addend1_q[31];
// planted: fma_add.sv: packed_sum[31:23] >= 9'd255 => packed_sum[31:23] >= 9'd256
// planted: fma_add.sv: (product1_q.inf && subtract) => (product1_q.inf && !subtract)
module prove_fma_add #(
  parameter int ProductW = 24,
  parameter int Distance = 0
) (
  input logic clk_i,
  input logic valid_i,
  input logic nan_i,
  input logic inf_i,
  input logic sign_i,
  input logic signed [9:0] exp_i,
  input logic [ProductW-1:0] sig_i,
  input logic [31:0] addend_i
);
  localparam bit Below = Distance == -27;
  localparam bit Above = Distance == ProductW + 3;
  localparam bit Zero = Distance == ProductW + 4;
  localparam bit Near = !Below && !Above && !Zero;
  // The last place of the product above that of the addend.
  localparam int Last = Distance - ProductW + 24;
  localparam int ShiftP = Above ? 4 : Near && Last > 0 ? Last : 0;
  localparam int ShiftC = Below ? 4 : Near && Last < 0 ? -Last : 0;
  localparam int SpanP = Below || Zero ? 0 : ProductW + ShiftP;
  localparam int SpanC = Above ? 0 : 24 + ShiftC;
  localparam int W = (SpanP > SpanC ? SpanP : SpanC) + 1;

  logic [31:0] sum;
  fma_add #(
    .ProductW(ProductW)
  ) u_add (
    .clk_i, .rst_ni(1'b1), .valid_i, .product_i({nan_i, inf_i, sign_i, exp_i}), .sig_i, .addend_i, .sum_o(sum)
  );

  // What came in the first cycle, and the cycle.
  logic nan, inf, sign_p;
  logic signed [9:0] exp_p;
  logic [ProductW-1:0] sig_p;
  logic [31:0] c;
  logic [2:0] cycle_q = 3'd0;
  always_ff @(posedge clk_i) begin
    if (cycle_q == 3'd0) {nan, inf, sign_p, exp_p, sig_p, c} <= {nan_i, inf_i, sign_i, exp_i, sig_i, addend_i};
    if (cycle_q != 3'd4) cycle_q <= cycle_q + 3'd1;
  end

  logic sign_c;
  logic signed [10:0] exp_c, distance;
  logic [23:0] sig_c;
  assign sign_c = c[31];
  assign exp_c = c[30:23] == 8'd0 ? 11'sd1 : {3'd0, c[30:23]};
  assign sig_c = {c[30:23] != 8'd0, c[22:0]};
  assign distance = {exp_p[9], exp_p} - exp_c;

  // The sum is magnitude * 2^(last - 150).
  logic [W-1:0] wide_p, wide_c, magnitude, kept, rest, half;
  logic negative;
  logic signed [10:0] last, drop, places, field;
  logic [33:0] rounded;
  logic [31:0] expected;
  always_comb begin
    wide_p = Below ? W'(sig_p != '0) : Zero ? '0 : W'(sig_p) << ShiftP;
    wide_c = Above ? W'(sig_c != '0) : W'(sig_c) << ShiftC;
    last = Above ? {exp_p[9], exp_p} - 11'(ProductW - 24 + ShiftP) : exp_c - 11'(ShiftC);
    if (sign_p == sign_c) magnitude = wide_p + wide_c;
    else magnitude = wide_p >= wide_c ? wide_p - wide_c : wide_c - wide_p;
    if (sign_p == sign_c) negative = sign_p;
    else negative = wide_p > wide_c ? sign_p : wide_c > wide_p ? sign_c : 1'b0;
    // The last place that is kept: the 24th from the leading one on, but not below 2^-149.
    drop = 11'sd1 - last;
    for (int i = 0; i < W; i++) begin
      places = 11'(i) - 11'sd23;
      if (magnitude[i] && places > drop) drop = places;
    end
    kept = magnitude >> drop[6:0];
    rest = magnitude & ~({W{1'b1}} << drop[6:0]);
    half = (W'(1) << drop[6:0]) >> 1;
    if (drop <= 0) begin
      places = -drop;
      kept = magnitude << places[4:0];
      rest = '0;
      half = W'(1);
    end
    field = last + drop - 11'sd1;
    rounded = {field, 23'd0} + 34'(kept) + 34'(rest > half || (rest == half && kept[0]));
    if (magnitude == '0) rounded = '0;
    if (nan || (c[30:23] == 8'hFF && (c[22:0] != '0 || (inf && sign_p != sign_c)))) expected = 32'h7FC0_0000;
    else if (inf) expected = {sign_p, 8'hFF, 23'd0};
    else if (c[30:23] == 8'hFF) expected = {sign_c, 8'hFF, 23'd0};
    else if (rounded[33:23] >= 11'd255) expected = {negative, 8'hFF, 23'd0};
    else expected = {negative, rounded[30:0]};
  end

  always_comb begin
    if (cycle_q == 3'd0) begin
      assume (valid_i && exp_i <= 10'sd384);
      assume (sig_i[ProductW-1] || sig_i[ProductW-2] || sig_i == '0);
    end
    if (cycle_q == 3'd3) begin
      if (Near) assume (distance == 11'(Distance));
      if (Below) assume (distance <= 11'(Distance));
      if (Above) assume (distance >= 11'(Distance) && sig_p != '0);
      if (Zero) assume (sig_p == '0);
      assert (sum == expected);
    end
  end
endmodule
