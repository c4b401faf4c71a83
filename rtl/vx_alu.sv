// One lane of the vector unit's ALU: every operation of alu.def, Latency cycles, a new one every
// cycle. `moved_i` is the lane's result of the operations across lanes and of the table, `tail_i`
// whether the lane is before the tail's end.
module vx_alu #(
  parameter int unsigned Latency = 3
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic [5:0]  op_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic [31:0] c_i,
  input  logic [31:0] moved_i,
  input  logic        tail_i,
  output logic [31:0] result_o
);
  // Order of the bits of numbers that are not NaN, -0 below +0.
  function automatic logic [31:0] order(input logic [31:0] x);
    order = x[31] ? ~x : {1'b1, x[30:0]};
  endfunction

  function automatic logic [31:0] to_int(input logic [31:0] x);
    logic [8:0]  drop;
    logic [48:0] frame;
    logic [31:0] magnitude;
    drop = 9'd150 - {1'b0, x[30:23]};
    if (x[30:23] < 8'd125) drop = 9'd25;
    frame = {1'b0, x[30:23] != 8'd0, x[22:0], 24'd0} >> drop[4:0];
    if (x[30:23] >= 8'd150) magnitude = {8'd0, 1'b1, x[22:0]} << (x[30:23] - 8'd150);
    else magnitude = {7'd0, frame[48:24]} +
                     {31'd0, frame[23] && (frame[22:0] != 23'd0 || frame[24])};
    if (fp_pkg::is_nan(x)) to_int = 32'd0;
    else if (x[30:23] >= 8'd158) to_int = x[31] ? 32'h8000_0000 : 32'h7FFF_FFFF;
    else to_int = x[31] ? 32'd0 - magnitude : magnitude;
  endfunction

  function automatic logic [31:0] from_int(input logic [31:0] x);
    logic [31:0] frame;
    logic [7:0]  exp;
    frame = x[31] ? 32'd0 - x : x;
    exp = 8'd157;  // one less than the field: the leading one adds it
    for (int unsigned step = 16; step > 0; step = step / 2) begin
      if ((frame >> (32 - step)) == 32'd0) begin
        frame = frame << step;
        exp = exp - 8'(step);
      end
    end
    from_int = {1'b0, exp, 23'd0} + {8'd0, frame[31:8]} +
               {31'd0, frame[7] && (frame[6:0] != 7'd0 || frame[8])};
    from_int[31] = x[31];
    if (x == 32'd0) from_int = 32'd0;
  endfunction

  // Starts of 1/a: of the middle of each 2^-8 of [1, 2); of 1/sqrt(a): of each 2^-7 of [1, 2) and
  // 2^-6 of [2, 4). Ten bits of which the first is one.
  function automatic logic [9*256-1:0] rcp_table();
    logic [9*256-1:0] entries;
    logic [31:0] middle;  // times 512
    for (int unsigned i = 0; i < 256; i++) begin
      middle = 2 * i + 513;
      entries[9*i+:9] = 9'(((32'd1 << 20) + middle) / (2 * middle));
    end
    rcp_table = entries;
  endfunction
  function automatic logic [9*256-1:0] rsq_table();
    logic [9*256-1:0] entries;
    logic [9:0]  root, next;
    logic [63:0] twice, middle;
    for (int unsigned i = 0; i < 256; i++) begin
      middle = {55'd0, i[6:0], 1'b0} + 64'd257;  // times 256
      if (i[7]) middle = 2 * middle;
      root = 10'd0;
      for (int unsigned bit_index = 0; bit_index < 10; bit_index++) begin
        next = root | (10'd512 >> bit_index);
        twice = {53'd0, next, 1'b0} - 64'd1;
        if (twice * twice * middle <= 64'd1 << 30) root = next;
      end
      entries[9*i+:9] = root[8:0];
    end
    rsq_table = entries;
  endfunction
  localparam logic [9*256-1:0] Rcp = rcp_table();
  localparam logic [9*256-1:0] Rsq = rsq_table();

  function automatic logic [31:0] rcp_seed(input logic [31:0] x);
    rcp_seed = {x[31], 8'd253 - x[30:23], Rcp[9*x[22:15]+:9], 14'd0};
    if (x[30:23] == 8'd0) rcp_seed = {x[31], 31'h7F80_0000};
    else if (fp_pkg::is_nan(x)) rcp_seed = fp_pkg::QuietNan;
    else if (x[30:23] >= 8'd253) rcp_seed = {x[31], 31'd0};
  endfunction

  function automatic logic [31:0] rsq_seed(input logic [31:0] x);
    logic [7:0] half;  // of the exponent, plus 64
    half = 8'(({1'b0, x[30:23]} + 9'd1) >> 1);
    rsq_seed = {1'b0, 8'd190 - half, Rsq[9*{!x[23], x[22:16]}+:9], 14'd0};
    if (x[30:0] == 31'd0) rsq_seed = {x[31], 31'h7F80_0000};
    else if (fp_pkg::is_nan(x) || x[31]) rsq_seed = fp_pkg::QuietNan;
    else if (x[30:23] == 8'd0) rsq_seed = 32'h7F80_0000;
    else if (x[30:23] == 8'd255) rsq_seed = 32'd0;
  endfunction

  function automatic logic [31:0] clamp(input logic [31:0] x, input logic [31:0] low,
                                        input logic [31:0] high);
    logic [31:0] raised;
    raised = order(x) < order(low) ? low : x;
    clamp = order(raised) < order(high) ? raised : high;
    if (fp_pkg::is_nan(x) || fp_pkg::is_nan(low) || fp_pkg::is_nan(high)) clamp = fp_pkg::QuietNan;
  endfunction

  // x * 2^floor(by), one rounding.
  function automatic logic [31:0] scale(input logic [31:0] x, input logic [31:0] by);
    logic [8:0]  exp_in, whole;
    logic [23:0] sig, dropped;
    logic [48:0] frame;
    logic [11:0] n, exp, drop;  // two's complement
    logic [30:0] rounded;
    {exp_in, sig} = fp_pkg::normalised(x);
    whole = 9'({1'b1, by[22:0]} >> (8'd150 - by[30:23]));
    dropped = {1'b1, by[22:0]} << (by[30:23] - 8'd126);
    if (by[30:23] < 8'd127) n = {12{by[31] && by[30:0] != 31'd0}};
    else if (by[30:23] >= 8'd136) n = by[31] ? -12'd512 : 12'd512;
    else if (!by[31]) n = {3'd0, whole};
    else n = -{3'd0, whole} - {11'd0, dropped != 24'd0};
    exp = {{3{exp_in[8]}}, exp_in} + n;
    drop = 12'd1 - exp;
    if ($signed(drop) > 12'sd25) drop = 12'd25;
    frame = {1'b0, sig, 24'd0} >> drop[4:0];
    rounded = {6'd0, frame[48:24]} + {30'd0, frame[23] && (frame[22:0] != 23'd0 || frame[24])};
    if (fp_pkg::is_nan(x) || fp_pkg::is_nan(by)) scale = fp_pkg::QuietNan;
    else if (x[30:23] == 8'hFF || x[30:0] == 31'd0) scale = x;
    else if ($signed(exp) >= 12'sd255) scale = {x[31], 31'h7F80_0000};
    else if ($signed(exp) >= 12'sd1) scale = {x[31], exp[7:0], sig[22:0]};
    else scale = {x[31], rounded};
  endfunction

  function automatic logic [31:0] exponent(input logic [31:0] x);
    logic [8:0] exp;
    exp = 9'(fp_pkg::normalised(x) >> 24);
    exponent = from_int({{23{exp[8]}}, exp} - 32'd127);
    if (fp_pkg::is_nan(x)) exponent = fp_pkg::QuietNan;
    else if (x[30:23] == 8'hFF) exponent = 32'h7F80_0000;
    else if (x[30:0] == 31'd0) exponent = 32'hFF80_0000;
  endfunction

  function automatic logic [31:0] mantissa(input logic [31:0] x);
    mantissa = {x[31], 8'd127, 23'(fp_pkg::normalised(x))};
    if (fp_pkg::is_nan(x)) mantissa = fp_pkg::QuietNan;
  endfunction

  function automatic logic [31:0] simple(input logic [5:0] op, input logic [31:0] a,
                                         input logic [31:0] b, input logic [31:0] c,
                                         input logic [31:0] moved, input logic tail);
    logic nan, zeros, below, equal;
    nan = fp_pkg::is_nan(a) || fp_pkg::is_nan(b);
    zeros = a[30:0] == 31'd0 && b[30:0] == 31'd0;
    below = order(a) < order(b);
    equal = a == b || zeros;
    unique case (op)
      tegula_pkg::AluMin: simple = nan ? fp_pkg::QuietNan : below ? a : b;
      tegula_pkg::AluMax: simple = nan ? fp_pkg::QuietNan : below ? b : a;
      tegula_pkg::AluCmplt: simple = {32{!nan && below && !zeros}};
      tegula_pkg::AluCmple: simple = {32{!nan && (below || equal)}};
      tegula_pkg::AluCmpeq: simple = {32{!nan && equal}};
      tegula_pkg::AluIcmplt: simple = {32{$signed(a) < $signed(b)}};
      tegula_pkg::AluSelect: simple = a[31] ? b : c;
      tegula_pkg::AluAnd: simple = a & b;
      tegula_pkg::AluOr: simple = a | b;
      tegula_pkg::AluXor: simple = a ^ b;
      tegula_pkg::AluShl: simple = a << b[4:0];
      tegula_pkg::AluShr: simple = a >> b[4:0];
      tegula_pkg::AluSra: simple = $signed(a) >>> b[4:0];
      tegula_pkg::AluIadd: simple = a + b;
      tegula_pkg::AluIsub: simple = a - b;
      tegula_pkg::AluF2i: simple = to_int(a);
      tegula_pkg::AluI2f: simple = from_int(a);
      tegula_pkg::AluRcpseed: simple = rcp_seed(a);
      tegula_pkg::AluRsqseed: simple = rsq_seed(a);
      tegula_pkg::AluClamp: simple = clamp(a, b, c);
      tegula_pkg::AluScale: simple = scale(a, b);
      tegula_pkg::AluExponent: simple = exponent(a);
      tegula_pkg::AluMantissa: simple = mantissa(a);
      tegula_pkg::AluRot, tegula_pkg::AluBcast, tegula_pkg::AluLut: simple = moved;
      tegula_pkg::AluTail: simple = tail ? a : b;
      tegula_pkg::AluRndbf16: simple = fp_pkg::widen_bf16(fp_pkg::to_bf16(a));
      tegula_pkg::AluRndfp16: simple = fp_pkg::widen_fp16(fp_pkg::to_fp16(a));
      tegula_pkg::AluRndtf32: simple = fp_pkg::to_tf32(a);
      default: simple = a;
    endcase
  endfunction

  // add and sub are a*1 + b, mul is a*b plus the zero that leaves the product's sign.
  logic adds, multiplies;
  logic [31:0] factor, addend, sum;
  assign adds = op_i == tegula_pkg::AluAdd || op_i == tegula_pkg::AluSub;
  assign multiplies = adds || op_i == tegula_pkg::AluFma || op_i == tegula_pkg::AluMul;
  always_comb begin
    factor = b_i;
    addend = c_i;
    if (adds) begin
      factor = 32'h3F80_0000;
      addend = {b_i[31] ^ (op_i == tegula_pkg::AluSub), b_i[30:0]};
    end else if (op_i == tegula_pkg::AluMul) begin
      addend = {a_i[31] ^ b_i[31], 31'd0};
    end
  end

  fma_lane #(.Latency(Latency)) u_fma (
    .clk_i, .rst_ni,
    .valid_i(valid_i && multiplies),
    .a_i,
    .b_i    (factor),
    .c_i    (addend),
    .sum_o  (sum)
  );

  logic [Latency-1:0]       simple_valid_q;
  logic [Latency-1:0][31:0] simple_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) simple_valid_q <= '0;
    else simple_valid_q <= {simple_valid_q[Latency-2:0], valid_i && !multiplies};
  end
  always_ff @(posedge clk_i) begin
    if (valid_i && !multiplies) simple_q[0] <= simple(op_i, a_i, b_i, c_i, moved_i, tail_i);
    for (int unsigned i = 1; i < Latency; i++) begin
      if (simple_valid_q[i-1]) simple_q[i] <= simple_q[i-1];
    end
  end
  assign result_o = simple_valid_q[Latency-1] ? simple_q[Latency-1] : sum;
endmodule
