// Processing element: four multipliers, four adders, two sets of stationary weights.
//
// Narrow formats: sub-row i and sub-column q have the multiply-add (i, q); the partial sum of
// sub-column q runs through (0, q), then (1, q). FP32: the four multipliers form one product, added
// by (0, 0) to the partial sum of sub-column 0; the streamed operand's upper significand half is on
// sub-row 0 and its lower one on sub-row 1, the weight's halves on sub-columns 0 and 1, so that no
// operand needs a multiplexer. Streamed tokens pass to the next column one cycle later.
//
// The multiply-add takes three cycles. Where there is one more, operands wait for it in front of
// the product: what comes from a memory, through the edges of the array, has a cycle of its own.
module pe #(
  parameter int unsigned Latency = 3
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       fp32_i,
  // Weights: row_w_i from the west edge (transposed blocks), col_w_i from the north edge.
  input  logic                       w_transposed_i,
  input  logic                       w_set_i,
  input  logic [1:0]                 w_row_en_i,
  input  logic [1:0]                 w_col_en_i,
  input  logic [1:0]                 w_on_i,  // the sub-row's k is not masked
  input  logic [2*fp_pkg::HalfW-1:0] w_row_i,
  input  logic [2*fp_pkg::HalfW-1:0] w_col_i,
  // Streamed operands, one a sub-row, and the weight set that they meet.
  input  logic [1:0]                 a_valid_i,
  input  logic [1:0]                 a_set_i,
  input  logic [2*fp_pkg::HalfW-1:0] a_i,
  output logic [1:0]                 a_valid_o,
  output logic [1:0]                 a_set_o,
  output logic [2*fp_pkg::HalfW-1:0] a_o,
  // Partial sums, one a sub-column.
  input  logic [63:0]                psum_i,
  output logic [63:0]                psum_o
);
  localparam int unsigned HalfW = fp_pkg::HalfW;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) a_valid_o <= 2'b00;
    else a_valid_o <= a_valid_i;
  end
  for (genvar i = 0; i < 2; i++) begin : gen_pass
    always_ff @(posedge clk_i) begin
      if (a_valid_i[i]) begin
        a_set_o[i] <= a_set_i[i];
        a_o[i*HalfW+:HalfW] <= a_i[i*HalfW+:HalfW];
      end
    end
  end

  localparam bit Waits = Latency > 3;
  localparam int unsigned AddLatency = Waits ? Latency - 1 : Latency;

  // What is multiplied: by sub-row, a token and its operand.
  logic [1:0] token, valid;
  logic [2*HalfW-1:0] operands;
  assign token = {fp32_i ? a_valid_i[0] : a_valid_i[1], a_valid_i[0]};
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

  logic [23:0] mul [4];  // index 2*i + q
  for (genvar i = 0; i < 2; i++) begin : gen_row
    for (genvar q = 0; q < 2; q++) begin : gen_col
      logic [HalfW:0] weight0_q, weight1_q, selected, weight, load;  // top bit: not masked
      fp_pkg::half_t a, w;
      fp_pkg::product_t product, masked;
      logic on, fires;
      logic [31:0] above, addend, sum;

      always_comb begin
        load = {w_on_i[i], w_col_i[q*HalfW+:HalfW]};
        if (w_transposed_i) begin
          load[HalfW-1:0] = fp32_i ? w_row_i[q*HalfW+:HalfW] : w_row_i[i*HalfW+:HalfW];
        end
      end
      always_ff @(posedge clk_i) begin
        if (w_row_en_i[i] && w_col_en_i[q]) begin
          if (w_set_i) weight1_q <= load;
          else weight0_q <= load;
        end
      end

      assign selected = a_set_i[i] ? weight1_q : weight0_q;
      if (i == 0) begin : gen_first
        assign above = psum_i[32*q+:32];
      end else begin : gen_second
        assign above = gen_row[0].gen_col[q].sum;
      end
      if (Waits) begin : gen_wait
        always_ff @(posedge clk_i) begin
          if (token[i]) begin
            weight <= selected;
            addend <= above;
          end
        end
      end else begin : gen_no_wait
        assign weight = selected;
        assign addend = above;
      end

      assign a = operands[i*HalfW+:HalfW];
      assign on = weight[HalfW];
      assign w = weight[HalfW-1:0];
      mul12 u_mul (.a_i(a.sig), .b_i(w.sig), .product_o(mul[2*i+q]));

      // A masked product is a zero with the sign of the addend: it leaves the partial sum as it is.
      assign product = fp_pkg::product(a, w);
      always_comb begin
        masked = product;
        if (!on) begin
          masked.nan = 1'b0;
          masked.inf = 1'b0;
          masked.sign = addend[31];
        end
      end

      if (i == 0 && q == 0) begin : gen_wide
        logic [47:0] sig;
        assign fires = valid[0];
        assign sig = fp32_i ? fp_pkg::combine(mul[0], mul[1], mul[2], mul[3]) : {mul[0], 24'd0};
        fma_add #(
          .ProductW(48),
          .Latency (AddLatency)
        ) u_add (
          .clk_i, .rst_ni,
          .valid_i  (fires),
          .product_i(masked),
          .sig_i    (on ? sig : 48'd0),
          .addend_i (addend),
          .sum_o    (sum)
        );
      end else begin : gen_narrow
        assign fires = valid[i] && !fp32_i;
        fma_add #(
          .ProductW(24),
          .Latency (AddLatency)
        ) u_add (
          .clk_i, .rst_ni,
          .valid_i  (fires),
          .product_i(masked),
          .sig_i    (on ? mul[2*i+q] : 24'd0),
          .addend_i (addend),
          .sum_o    (sum)
        );
      end
    end
  end

  assign psum_o = {gen_row[1].gen_col[1].sum,
                   fp32_i ? gen_row[0].gen_col[0].sum : gen_row[1].gen_col[0].sum};
endmodule
