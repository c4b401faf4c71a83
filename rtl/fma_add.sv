// Exact product plus FP32 addend, rounded once to nearest even; IEEE-754 including subnormals.
//
// The multiply-add takes Latency register stages from here: 1 the exact product, 2 align and add, 3
// normalise and round, then Latency - 3 delays. Stages without a valid token keep their registers.
// There is no valid output: whoever sends tokens knows Latency.
module fma_add #(
  parameter int unsigned ProductW = 24,
  parameter int unsigned Latency  = 3
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  fp_pkg::product_t    product_i,
  input  logic [ProductW-1:0] sig_i,
  input  logic [31:0]         addend_i,
  output logic [31:0]         sum_o
);
  // Four bits below the operands suffice: three keep what a cancellation of up to two places needs
  // (the product's leading one may be one place low), the last is sticky.
  localparam int unsigned FrameW = ProductW + 4;
  localparam int unsigned ShiftW = ProductW > 28 ? 6 : 5;
  localparam int unsigned NormW  = 1 << ShiftW;

  // 1: the product.
  logic                 valid1_q, valid2_q;
  fp_pkg::product_t     product1_q;
  logic [ProductW-1:0] sig1_q;
  logic [31:0]          addend1_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end else begin
      valid1_q <= valid_i;
      valid2_q <= valid1_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      product1_q <= product_i;
      sig1_q     <= sig_i;
      addend1_q  <= addend_i;
    end
  end

  // 2: the operand with the smaller exponent is shifted right, lost bits stick to the lowest. A
  // zero product always counts as the smaller one. The frame's top bit has the weight 2^(exp -
  // 127).
  logic              nan2_q, inf2_q, sign2_q;
  logic [8:0]        exp2_q;
  logic [FrameW:0]   sum2_q;

  always_ff @(posedge clk_i) begin
    if (valid1_q) begin : align_and_add
      logic [9:0]        exp_c, distance;
      logic [10:0]       difference;
      logic [FrameW-1:0] frame_p, frame_c, major, minor, shifted;
      logic [ShiftW-1:0] shift;
      logic              p_leads, c_special, subtract, negative;
      logic [FrameW:0]   sum;

      exp_c = {2'b0, addend1_q[30:24], addend1_q[23] || addend1_q[30:24] == 7'd0};
      c_special = addend1_q[30:23] == 8'hFF;
      subtract = product1_q.sign ^ addend1_q[31];

      frame_p = {sig1_q, 4'd0};
      frame_c = {addend1_q[30:23] != 8'd0, addend1_q[22:0], {(FrameW - 24) {1'b0}}};
      difference = {product1_q.exp[9], product1_q.exp} - {1'b0, exp_c};
      p_leads = sig1_q != {ProductW{1'b0}} && !difference[10];
      distance = p_leads ? difference[9:0] : 10'd0 - difference[9:0];
      shift = (distance >> ShiftW) != 10'd0 ? {ShiftW{1'b1}} : distance[ShiftW-1:0];
      major = p_leads ? frame_p : frame_c;
      minor = p_leads ? frame_c : frame_p;
      shifted = minor >> shift;
      shifted[0] = shifted[0] || (minor & ~({FrameW{1'b1}} << shift)) != {FrameW{1'b0}};

      sum = subtract ? {1'b0, major} - {1'b0, shifted} : {1'b0, major} + {1'b0, shifted};
      negative = subtract && sum[FrameW];

      nan2_q  <= product1_q.nan ||
                 (c_special && (addend1_q[22:0] != 23'd0 || (product1_q.inf && subtract)));
      inf2_q  <= product1_q.inf || c_special;  // unless it is NaN
      exp2_q  <= p_leads ? product1_q.exp[8:0] : exp_c[8:0];
      sum2_q  <= negative ? {(FrameW + 1) {1'b0}} - sum : sum;
      if (product1_q.inf) sign2_q <= product1_q.sign;
      else if (c_special) sign2_q <= addend1_q[31];
      else if (subtract && sum == {(FrameW + 1) {1'b0}}) sign2_q <= 1'b0;
      else sign2_q <= (p_leads ? product1_q.sign : addend1_q[31]) ^ negative;
    end
  end

  // 3: shift the leading one to the top, but not below the exponent of subnormals; round; pack.
  logic [31:0] sum3_q;

  always_ff @(posedge clk_i) begin
    if (valid2_q) begin : normalise_and_round
      logic [NormW-1:0]  frame, probe;
      logic [ShiftW-1:0] zeros;
      logic [8:0]        shift, exp;
      logic [31:0]       packed_sum;
      logic              up;

      frame = {sum2_q, {(NormW - FrameW - 1) {1'b0}}};
      probe = frame;
      zeros = {ShiftW{1'b0}};
      for (int unsigned bit_no = ShiftW; bit_no > 0; bit_no--) begin
        if ((probe >> (NormW - (1 << (bit_no - 1)))) == {NormW{1'b0}}) begin
          probe = probe << (1 << (bit_no - 1));
          zeros[bit_no-1] = 1'b1;
        end
      end
      shift = {{(9 - ShiftW) {1'b0}}, zeros};
      if (shift > exp2_q) shift = exp2_q;
      frame = frame << shift[ShiftW-1:0];
      exp = exp2_q - shift;  // the field less one if the leading one is there, else the field
      if (sum2_q == {(FrameW + 1) {1'b0}}) exp = 9'd0;
      up = frame[NormW-25] && (frame[NormW-26:0] != {(NormW - 25) {1'b0}} || frame[NormW-24]);
      packed_sum = {exp, 23'd0} + {8'd0, frame[NormW-1-:24]} + {31'd0, up};

      if (nan2_q) sum3_q <= fp_pkg::QuietNan;
      else if (inf2_q || packed_sum[31:23] >= 9'd255) sum3_q <= {sign2_q, 8'hFF, 23'd0};
      else sum3_q <= {sign2_q, packed_sum[30:0]};
    end
  end

  if (Latency > 3) begin : gen_delay
    logic [32*(Latency-3)-1:0] delay_q;
    always_ff @(posedge clk_i) delay_q <= (32*(Latency-3))'({delay_q, sum3_q});
    assign sum_o = delay_q[32*(Latency-4)+:32];
  end else begin : gen_no_delay
    assign sum_o = sum3_q;
  end
endmodule
