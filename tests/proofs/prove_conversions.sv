// Conversions between formats, for every input: the result is the number of the format that is nearest, the even one of two that
// are as near. What lies halfway between two neighbours is a number of FP32, and magnitudes have the order of their encodings: so
// the input is compared with what lies halfway below and above the result, which has no arithmetic in common with the RTL's.
// modules: fp_pkg
// planted: fp_pkg.sv: sum = x + 32'h7FFF + {31'd0, x[16]}; => sum = x + 32'h8000;
// planted: fp_pkg.sv: sum = x + 32'hFFF + {31'd0, x[13]}; => sum = x + 32'hFFF + {31'd0, x[14]};
// planted: fp_pkg.sv: (rest == 25'h100_0000 && kept[0]) => (rest == 25'h100_0000 && kept[1])
// planted: fp_pkg.sv: mag - 31'h3800_0000 + 31'hFFF + {30'd0, mag[13]} => mag - 31'h3800_0000 + 31'h1000
// planted: fp_pkg.sv: to_bf16 = is_nan(x) ? 16'h7FC0 : sum[31:16]; => to_bf16 = sum[31:16];
// planted: fp_pkg.sv: sum = x + {16'd0, r}; => sum = x + {16'd0, r} + 32'd1;
// planted: fp_pkg.sv: exp = fp16 ? 9'd113 : 9'd1; => exp = fp16 ? 9'd112 : 9'd1;
module prove_conversions (
  input logic clk_i,
  input logic [31:0] x_i,
  input logic [15:0] h_i,
  input logic [15:0] random_i
);
  logic nan;
  logic [30:0] m;
  assign m = x_i[30:0];
  assign nan = m > 31'h7F80_0000;

  // Is m rounded to the lower or to the upper end of [below, above], if to any, a result between them: `even` takes both ends.
  function automatic logic nearest(input logic [30:0] m, input logic [31:0] below, input logic [31:0] above, input logic even);
    nearest = even ? {1'b0, m} >= below && {1'b0, m} <= above : {1'b0, m} > below && {1'b0, m} < above;
  endfunction

  logic [15:0] bf16, fp16, stochastic;
  logic [31:0] tf32, wide;
  assign bf16 = fp_pkg::to_bf16(x_i);
  assign fp16 = fp_pkg::to_fp16(x_i);
  assign tf32 = fp_pkg::to_tf32(x_i);
  assign stochastic = fp_pkg::to_bf16_stochastic(x_i, random_i);
  assign wide = fp_pkg::widen_fp16(h_i);

  // Halfway from a magnitude of FP16 to the next; 2^16 is the next of the largest. (2n + 1) 2^-25 below its normal numbers.
  function automatic logic [31:0] halfway(input logic [14:0] h);
    logic [11:0] odd;
    logic [7:0] exponent;
    odd = {1'b0, h[9:0], 1'b1};
    exponent = 8'd113;  // of 2^-14 = 2^11 units
    halfway = {1'b0, {3'd0, h[14:10]} + 8'd112, h[9:0], 1'b1, 12'd0};
    if (h[14:10] == 5'd0) begin
      for (int i = 0; i < 11; i++) begin
        if (!odd[11]) begin
          odd = odd << 1;
          exponent = exponent - 8'd1;
        end
      end
      halfway = {1'b0, exponent, odd[10:0], 12'd0};
    end
  endfunction

  logic [14:0] h;
  assign h = fp16[14:0];
  always_ff @(posedge clk_i) begin
    if (nan) begin
      assert (bf16 == 16'h7FC0 && fp16 == 16'h7E00 && tf32 == 32'h7FC0_0000 && stochastic == 16'h7FC0);
    end else begin
      assert (bf16[15] == x_i[31] && nearest(m, bf16[14:0] == '0 ? '0 : {1'b0, bf16[14:0] - 15'd1, 16'h8000},
                                             {1'b0, bf16[14:0], 16'h8000}, !bf16[0]));
      assert (tf32[31] == x_i[31] && tf32[12:0] == '0 &&
              nearest(m, tf32[30:13] == '0 ? '0 : {1'b0, tf32[30:13] - 18'd1, 13'h1000}, {1'b0, tf32[30:13], 13'h1000}, !tf32[13]));
      assert (fp16[15] == x_i[31] && h <= 15'h7C00 &&
              nearest(m, h == '0 ? '0 : halfway(h - 15'd1), h == 15'h7C00 ? '1 : halfway(h), !h[0]));
      // Up, if the random number reaches what is missing to the next one.
      if (m == 31'h7F80_0000) assert (stochastic == x_i[31:16]);
      else assert (stochastic == x_i[31:16] + 16'(x_i[15:0] != '0 && random_i >= 16'd0 - x_i[15:0]));
    end
    // Widening is exact.
    assert (wide[31] == h_i[15]);
    if (h_i[14:10] == 5'h1F) assert (wide[30:0] == {8'hFF, h_i[9:0], 13'd0});
    else if (h_i[14:10] != 5'd0) assert (wide[30:23] == {3'd0, h_i[14:10]} + 8'd112 && wide[22:0] == {h_i[9:0], 13'd0});
    else if (h_i[9:0] == 10'd0) assert (wide[30:0] == '0);
    else assert (wide[30:23] >= 8'd103 && wide[30:23] <= 8'd112 && {1'b1, wide[22:0]} == {14'd0, h_i[9:0]} << (8'd126 - wide[30:23]));
    assert (fp_pkg::widen_bf16(h_i) == {h_i, 16'd0});
  end
endmodule
