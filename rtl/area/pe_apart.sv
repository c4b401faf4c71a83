// What a PE is compared with (docs/area.md): the ports, registers and timing of rtl/pe.sv, but
// nothing shared between the formats. Wide has an FP32 multiply-add with a 24x24 multiplier, Narrow
// four narrow ones with 11x11 multipliers; both side by side compute what a PE computes. Registers
// that one of them alone does not need vanish in synthesis.
module pe_apart #(
  parameter int unsigned Latency = 3,
  parameter bit Wide             = 1'b1,
  parameter bit Narrow           = 1'b1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       fp32_i,
  input  logic                       w_transposed_i,
  input  logic                       w_set_i,
  input  logic [1:0]                 w_row_en_i,
  input  logic [1:0]                 w_col_en_i,
  input  logic [1:0]                 w_on_i,
  input  logic [2*fp_pkg::HalfW-1:0] w_row_i,
  input  logic [2*fp_pkg::HalfW-1:0] w_col_i,
  input  logic [1:0]                 a_valid_i,
  input  logic [1:0]                 a_set_i,
  input  logic [2*fp_pkg::HalfW-1:0] a_i,
  output logic [1:0]                 a_valid_o,
  output logic [1:0]                 a_set_o,
  output logic [2*fp_pkg::HalfW-1:0] a_o,
  input  logic [63:0]                psum_i,
  output logic [63:0]                psum_o
);
  localparam int unsigned HalfW = fp_pkg::HalfW;
  localparam int unsigned SigW  = 12;
  logic fp32;
  assign fp32 = !Narrow || (Wide && fp32_i);

  // Streamed tokens. FP32 alone: of the lower half only the significand.
  logic [2*HalfW-1:0] a_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) a_valid_o <= 2'b00;
    else a_valid_o <= Narrow ? a_valid_i : {1'b0, a_valid_i[0]};
  end
  for (genvar i = 0; i < 2; i++) begin : gen_pass
    always_ff @(posedge clk_i) begin
      if (a_valid_i[i]) begin
        a_set_o[i] <= (Narrow || i == 0) && a_set_i[i];
        a_q[i*HalfW+:HalfW] <= a_i[i*HalfW+:HalfW];
      end
    end
  end
  if (Narrow) assign a_o = a_q;
  else assign a_o = {{(HalfW - SigW) {1'b0}}, a_q[HalfW+:SigW], a_q[HalfW-1:0]};

  // As in the PE, operands wait for a cycle in front of the product where there is one to spare.
  localparam bit Waits = Latency > 3;
  localparam int unsigned AddLatency = Waits ? Latency - 1 : Latency;
  logic [1:0] token, valid;
  logic [2*HalfW-1:0] operands;
  assign token = {fp32 ? a_valid_i[0] : a_valid_i[1], a_valid_i[0]};
  if (Waits) begin : gen_operands
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid <= 2'b00;
      else valid <= token;
    end
    always_ff @(posedge clk_i) begin
      for (int i = 0; i < 2; i++) if (token[i]) operands[i*HalfW+:HalfW] <= a_i[i*HalfW+:HalfW];
    end
  end else begin : gen_no_operands
    assign valid = token;
    assign operands = a_i;
  end

  logic [HalfW:0] selected [4];  // the weight that sub-row i meets in sub-column q: index 2*i + q
  logic [31:0]    addends [4];
  logic [31:0]    narrow_sum [4];
  for (genvar i = 0; i < 2; i++) begin : gen_row
    for (genvar q = 0; q < 2; q++) begin : gen_col
      logic [HalfW:0] weight0_q, weight1_q, load;
      always_comb begin
        load = {w_on_i[i], w_col_i[q*HalfW+:HalfW]};
        if (w_transposed_i) begin
          load[HalfW-1:0] = fp32 ? w_row_i[q*HalfW+:HalfW] : w_row_i[i*HalfW+:HalfW];
        end
      end
      always_ff @(posedge clk_i) begin
        if (w_row_en_i[i] && w_col_en_i[q]) begin
          if (w_set_i) weight1_q <= load;
          else weight0_q <= load;
        end
      end
      logic [HalfW:0] weight;
      logic [31:0] above;
      assign weight = a_set_i[i] ? weight1_q : weight0_q;
      if (i == 0) assign above = psum_i[32*q+:32];
      else assign above = narrow_sum[q];
      if (Waits) begin : gen_wait
        logic [HalfW:0] weight_q;
        logic [31:0] addend_q;
        always_ff @(posedge clk_i) begin
          if (token[i]) begin
            weight_q <= weight;
            addend_q <= above;
          end
        end
        assign selected[2*i+q] = weight_q;
        assign addends[2*i+q] = addend_q;
      end else begin : gen_no_wait
        assign selected[2*i+q] = weight;
        assign addends[2*i+q] = above;
      end

      if (Narrow) begin : gen_narrow
        fp_pkg::half_t a, w;
        fp_pkg::product_t product;
        logic [31:0] addend;
        logic [21:0] sig;
        logic on;
        assign a = operands[i*HalfW+:HalfW];
        assign w = selected[2*i+q][HalfW-1:0];
        assign on = selected[2*i+q][HalfW];
        assign sig = {11'd0, a.sig[11:1]} * {11'd0, w.sig[11:1]};
        assign addend = addends[2*i+q];
        always_comb begin
          product = fp_pkg::product(a, w);
          if (!on) begin
            product.nan = 1'b0;
            product.inf = 1'b0;
            product.sign = addend[31];
          end
        end
        fma_add #(
          .ProductW(24),
          .Latency (AddLatency)
        ) u_add (
          .clk_i, .rst_ni,
          .valid_i  (valid[i] && !fp32),
          .product_i(product),
          .sig_i    (on ? {sig, 2'b00} : 24'd0),
          .addend_i (addend),
          .sum_o    (narrow_sum[2*i+q])
        );
      end
    end
  end

  logic [31:0] wide_sum;
  if (Wide) begin : gen_wide
    fp_pkg::half_t a, w;
    fp_pkg::product_t product;
    logic [47:0] sig;
    logic on;
    assign a = operands[HalfW-1:0];
    assign w = selected[0][HalfW-1:0];
    assign on = selected[0][HalfW];
    assign sig = {24'd0, a.sig, operands[HalfW+:SigW]} * {24'd0, w.sig, selected[1][SigW-1:0]};
    always_comb begin
      product = fp_pkg::product(a, w);
      if (!on) begin
        product.nan = 1'b0;
        product.inf = 1'b0;
        product.sign = addends[0][31];
      end
    end
    fma_add #(
      .ProductW(48),
      .Latency (AddLatency)
    ) u_add (
      .clk_i, .rst_ni,
      .valid_i  (valid[0] && fp32),
      .product_i(product),
      .sig_i    (on ? sig : 48'd0),
      .addend_i (addends[0]),
      .sum_o    (wide_sum)
    );
  end

  if (Narrow && Wide) assign psum_o = {narrow_sum[3], fp32 ? wide_sum : narrow_sum[2]};
  else if (Narrow) assign psum_o = {narrow_sum[3], narrow_sum[2]};
  else assign psum_o = {32'd0, wide_sum};
endmodule
