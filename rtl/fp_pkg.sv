// Formats, conversions and the rounding hash of docs/numerics.md as functions.
package fp_pkg;
  localparam logic [31:0] QuietNan = 32'h7FC0_0000;

  // What the multipliers of a PE eat: one narrow operand, or the upper or lower 12 bits of an FP32
  // significand. A nonzero operand is normalised: value = sig / 2^11 * 2^(exp - 127) for a narrow
  // one; the exponent of a subnormal is below 1.
  typedef struct packed {
    logic        nan;
    logic        inf;
    logic        sign;
    logic [8:0]  exp;
    logic [11:0] sig;
  } half_t;
  localparam int unsigned HalfW = 24;

  // Sign, exponent and class of a product; its significand p of W bits stands beside:
  // value = p / 2^(W-1) * 2^(exp - 127), leading one in one of the two top bits.
  typedef struct packed {
    logic       nan;
    logic       inf;
    logic       sign;
    logic [9:0] exp;
  } product_t;

  function automatic logic is_nan(input logic [31:0] x);
    is_nan = x[30:23] == 8'hFF && x[22:0] != 23'd0;
  endfunction

  // A BF16 or FP16 number, normalised.
  function automatic half_t unpack16(input logic [15:0] x, input logic fp16);
    logic [11:0] sig;
    logic [8:0] exp;
    logic special, subnormal;
    half_t number;
    special = fp16 ? x[14:10] == 5'h1F : x[14:7] == 8'hFF;
    subnormal = fp16 ? x[14:10] == 5'h00 : x[14:7] == 8'h00;
    sig = fp16 ? {!subnormal, x[9:0], 1'b0} : {!subnormal, x[6:0], 4'b0};
    exp = fp16 ? {4'b0, x[14:10]} + 9'd112 : {1'b0, x[14:7]};
    if (subnormal) begin
      exp = fp16 ? 9'd113 : 9'd1;
      for (int unsigned step = 8; step > 0; step = step / 2) begin
        if ((sig >> (12 - step)) == 12'd0) begin
          sig = sig << step;
          exp = exp - 9'(step);
        end
      end
    end
    number.nan = special && (fp16 ? x[9:0] != 10'd0 : x[6:0] != 7'd0);
    number.inf = special && (fp16 ? x[9:0] == 10'd0 : x[6:0] == 7'd0);
    number.sign = x[15];
    number.exp = exp;
    number.sig = sig;
    unpack16 = number;
  endfunction

  // An FP32 number, normalised: two halves of the significand, both with its sign, exponent and
  // class. {upper, lower} in this order.
  function automatic logic [2*HalfW-1:0] unpack32(input logic [31:0] x);
    logic [23:0] sig;
    logic [8:0] exp;
    half_t upper, lower;
    sig = {x[30:23] != 8'd0, x[22:0]};
    exp = {1'b0, x[30:23]};
    if (x[30:23] == 8'd0) begin
      exp = 9'd1;
      for (int unsigned step = 16; step > 0; step = step / 2) begin
        if ((sig >> (24 - step)) == 24'd0) begin
          sig = sig << step;
          exp = exp - 9'(step);
        end
      end
    end
    upper.nan = x[30:23] == 8'hFF && x[22:0] != 23'd0;
    upper.inf = x[30:23] == 8'hFF && x[22:0] == 23'd0;
    upper.sign = x[31];
    upper.exp = exp;
    upper.sig = sig[23:12];
    lower = upper;
    lower.sig = sig[11:0];
    unpack32 = {upper, lower};
  endfunction

  // Exponent and significand of an FP32 number, normalised; the leading one is missing for zero
  // only.
  function automatic logic [32:0] normalised(input logic [31:0] x);
    half_t upper, lower;
    {upper, lower} = unpack32(x);
    normalised = {upper.exp, upper.sig, lower.sig};
  endfunction

  // Sign, exponent and class of a*b. The leading bit tells zeros: it is set in all else, infinities
  // and NaN too.
  function automatic product_t product(input half_t a, input half_t b);
    logic a_zero, b_zero;
    product_t p;
    a_zero = !a.sig[11];
    b_zero = !b.sig[11];
    p.nan = a.nan || b.nan || (a.inf && b_zero) || (b.inf && a_zero);
    p.inf = a.inf || b.inf;
    p.sign = a.sign ^ b.sign;
    p.exp = {a.exp[8], a.exp} + {b.exp[8], b.exp} - 10'd126;
    product = p;
  endfunction

  // Four 12x12 products as the one of two 24-bit significands.
  function automatic logic [47:0] combine(input logic [23:0] hh, input logic [23:0] hl,
                                          input logic [23:0] lh, input logic [23:0] ll);
    combine = {hh, ll} + {11'd0, {1'b0, hl} + {1'b0, lh}, 12'd0};
  endfunction

  function automatic logic [31:0] widen_bf16(input logic [15:0] x);
    widen_bf16 = {x, 16'd0};
  endfunction

  function automatic logic [31:0] widen_fp16(input logic [15:0] x);
    half_t u;
    u = unpack16(x, 1'b1);
    if (u.nan || u.inf) widen_fp16 = {x[15], 8'hFF, x[9:0], 13'd0};
    else if (!u.sig[11]) widen_fp16 = {x[15], 31'd0};
    else widen_fp16 = {x[15], u.exp[7:0], u.sig[10:0], 12'd0};
  endfunction

  // Round to nearest even.
  function automatic logic [15:0] to_bf16(input logic [31:0] x);
    logic [31:0] sum;
    sum = x + 32'h7FFF + {31'd0, x[16]};
    to_bf16 = is_nan(x) ? 16'h7FC0 : sum[31:16];
  endfunction

  // TF32 in 32 bits.
  function automatic logic [31:0] to_tf32(input logic [31:0] x);
    logic [31:0] sum;
    sum = x + 32'hFFF + {31'd0, x[13]};
    to_tf32 = is_nan(x) ? QuietNan : {sum[31:13], 13'd0};
  endfunction

  function automatic logic [15:0] to_fp16(input logic [31:0] x);
    logic [30:0] mag, sum;
    logic [24:0] frac, kept, rest;
    logic [7:0] drop;
    mag = x[30:0];
    if (mag > 31'h7F80_0000) to_fp16 = 16'h7E00;
    else if (mag >= 31'h477F_F000) to_fp16 = {x[31], 15'h7C00};
    else if (mag >= 31'h3880_0000) begin
      sum = mag - 31'h3800_0000 + 31'hFFF + {30'd0, mag[13]};
      to_fp16 = {x[31], sum[27:13]};
    end else begin
      // Subnormal: keep the bits from 2^-24 up, that is drop 14 to 24 of the significand (25: all,
      // below a half).
      drop = 8'd126 - mag[30:23];
      if (drop > 8'd25) drop = 8'd25;
      frac = {1'b0, mag[30:23] != 8'd0, mag[22:0]};
      kept = frac >> drop;
      rest = (frac << (8'd25 - drop));
      to_fp16 = {x[31], 15'(kept[14:0] + {14'd0, rest > 25'h100_0000 ||
                                                 (rest == 25'h100_0000 && kept[0])})};
    end
  endfunction

  // The mixer of stochastic rounding.
  function automatic logic [31:0] mix(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x >> 16);
    y = y + (y << 14);
    y = y ^ (y >> 4);
    y = y + (y << 8);
    y = y ^ (y >> 2);
    y = y + (y << 7);
    mix = y ^ (y >> 15);
  endfunction

  // FP32 to BF16, up with the probability of the dropped fraction.
  function automatic logic [15:0] to_bf16_stochastic(input logic [31:0] x, input logic [15:0] r);
    logic [31:0] sum;
    sum = x + {16'd0, r};
    if (is_nan(x)) to_bf16_stochastic = 16'h7FC0;
    else if (x[30:23] == 8'hFF) to_bf16_stochastic = x[31:16];
    else to_bf16_stochastic = sum[31:16];
  endfunction
endpackage
