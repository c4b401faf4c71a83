// The operands of a multiply-add, normalised, are what they were, for every input: a significand times a power of two, of BF16, FP16
// and FP32; and so are their product's sign, exponent and class. Four products of halves are the product of the wholes, as far as they
// are what `*` gives of halves. So the product that prove_fma_add takes is exact, and what it assumes of it holds.
// modules: fp_pkg mul12
// planted: fp_pkg.sv: exp = fp16 ? 9'd113 : 9'd1; => exp = fp16 ? 9'd113 : 9'd0;
// planted: fp_pkg.sv: exp = exp - 9'(step); => exp = exp - 9'(step) + 9'd1;
// planted: fp_pkg.sv: for (int unsigned step = 8; => for (int unsigned step = 4;
// planted: fp_pkg.sv: for (int unsigned step = 16; => for (int unsigned step = 8;
// planted: fp_pkg.sv: exp = {1'b0, x[30:23]}; => exp = {x[30], x[30:23]};
// planted: fp_pkg.sv: || (b.inf && a_zero) => || (b.inf && b_zero)
// planted: fp_pkg.sv: - 10'd126 => - 10'd127
// planted: fp_pkg.sv: {11'd0, {1'b0, hl} + {1'b0, lh}, 12'd0} => {12'd0, hl + lh, 12'd0}
module prove_product (
  input logic clk_i,
  input logic [15:0] narrow_a_i,
  input logic [15:0] narrow_b_i,
  input logic fp16_i,
  input logic [31:0] wide_a_i,
  input logic [31:0] wide_b_i,
  input logic [23:0] hh_i,
  input logic [23:0] hl_i,
  input logic [23:0] lh_i,
  input logic [23:0] ll_i
);
  // Is sig * 2^exp the number with these fields, the exponent's biased as FP32's, and is its leading one in place?
  function automatic logic same(input logic [23:0] sig, input logic [8:0] exp, input logic [8:0] field, input logic subnormal,
                                input logic [22:0] fraction);
    logic [8:0] shift;
    shift = field - exp;
    same = subnormal && fraction == '0 ? sig == '0 : sig[23] && shift < 9'd24 && {24'd0, sig} == {24'd0, !subnormal, fraction} << shift[4:0];
  endfunction
  function automatic logic same16(input logic [23:0] a, input logic [15:0] x, input logic fp16);
    if (fp16) same16 = same({a[11:0], 12'd0}, a[20:12], x[14:10] == '0 ? 9'd113 : {4'd0, x[14:10]} + 9'd112, x[14:10] == '0, {x[9:0], 13'd0});
    else same16 = same({a[11:0], 12'd0}, a[20:12], x[14:7] == '0 ? 9'd1 : {1'b0, x[14:7]}, x[14:7] == '0, {x[6:0], 16'd0});
  endfunction
  // NaN, infinity, zero?
  function automatic logic [2:0] class16(input logic [15:0] x, input logic fp16);
    logic [14:0] infinity;
    infinity = fp16 ? 15'h7C00 : 15'h7F80;
    class16 = {x[14:0] > infinity, x[14:0] == infinity, x[14:0] == 15'd0};
  endfunction
  function automatic logic [2:0] class32(input logic [31:0] x);
    class32 = {x[30:0] > 31'h7F80_0000, x[30:0] == 31'h7F80_0000, x[30:0] == 31'd0};
  endfunction
  // A product_t of two half_t.
  function automatic logic is_product(input logic [12:0] product, input logic [23:0] a, input logic [23:0] b, input logic [2:0] class_a,
                                      input logic [2:0] class_b, input logic sign);
    logic nan;
    logic [10:0] exponent;
    nan = class_a[2] || class_b[2] || (class_a[1] && class_b[0]) || (class_a[0] && class_b[1]);
    exponent = {{2{a[20]}}, a[20:12]} + {{2{b[20]}}, b[20:12]} - 11'd126;
    is_product = product[12] == nan && (nan || product[11] == (class_a[1] || class_b[1])) && product[10] == sign &&
                 {product[9], product[9:0]} == exponent && (product[9] || product[9:0] <= 10'd384);
  endfunction

  logic [23:0] a, b;  // half_t
  logic [47:0] wide_a, wide_b, combined;  // two of them
  logic [23:0] whole;
  logic [2:0] class_a, class_b, class_wide_a, class_wide_b;
  logic below;
  assign class_a = class16(narrow_a_i, fp16_i);
  assign class_b = class16(narrow_b_i, fp16_i);
  assign class_wide_a = class32(wide_a_i);
  assign class_wide_b = class32(wide_b_i);
  assign a = fp_pkg::unpack16(narrow_a_i, fp16_i);
  assign b = fp_pkg::unpack16(narrow_b_i, fp16_i);
  assign wide_a = fp_pkg::unpack32(wide_a_i);
  assign wide_b = fp_pkg::unpack32(wide_b_i);
  assign combined = fp_pkg::combine(hh_i, hl_i, lh_i, ll_i);
  assign below = hh_i <= 24'd16769025 && hl_i <= 24'd16769025 && lh_i <= 24'd16769025 && ll_i <= 24'd16769025;  // 4095^2
  mul12 u_mul (.a_i(a[11:0]), .b_i(b[11:0]), .product_o(whole));

  always_comb begin
    assert (a[23:21] == {class_a[2:1], narrow_a_i[15]} && same16(a, narrow_a_i, fp16_i));
    assert (wide_a[47:45] == {class_wide_a[2:1], wide_a_i[31]} && wide_a[23:12] == wide_a[47:36]);
    assert (same({wide_a[35:24], wide_a[11:0]}, wide_a[20:12], wide_a_i[30:23] == '0 ? 9'd1 : {1'b0, wide_a_i[30:23]},
                 wide_a_i[30:23] == '0, wide_a_i[22:0]));
    assert (is_product(fp_pkg::product(a, b), a, b, class_a, class_b, narrow_a_i[15] ^ narrow_b_i[15]));
    assert (is_product(fp_pkg::product(wide_a[47:24], wide_b[47:24]), wide_a[47:24], wide_b[47:24], class_wide_a, class_wide_b,
                       wide_a_i[31] ^ wide_b_i[31]));
    if (below) assert ({2'd0, combined} == {2'd0, hh_i, 24'd0} + {14'd0, hl_i, 12'd0} + {14'd0, lh_i, 12'd0} + {26'd0, ll_i});
    // Where its first factors have leading ones, so has the product, in one of the two top bits.
    assert ((whole[23] || whole[22]) == (a[11] && b[11]));
    if (below && (hh_i[23] || hh_i[22])) assert (combined[47] || combined[46]);
  end
endmodule
