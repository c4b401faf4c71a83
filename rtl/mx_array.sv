// The P x P array of PEs with its edges: operands are unpacked once, streamed rows are skewed over
// the sub-rows, stationary rows are broadcast to the sub-row (or, transposed, the sub-column) that
// they belong to.
module mx_array (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               advance_i,  // tokens are under way
  input  logic                               fp32_i,
  input  logic                               fp16_i,
  input  logic                               tf32_i,
  // A streamed row (its last bank row, in the cycle after its read) and the weight set of its
  // block.
  input  logic                               a_valid_i,
  input  logic                               a_set_i,
  input  logic [32*tegula_pkg::P-1:0]        a_row_i,
  // A stationary row (its last bank row)
  input  mx_pkg::weights_t                   weights_i,
  input  logic [32*tegula_pkg::P-1:0]        w_row_i,
  // Partial sums of all columns: lanes c (and P + c) of column c in bits 64*c.
  input  logic [64*tegula_pkg::P-1:0]        psum_i,
  output logic [64*tegula_pkg::P-1:0]        psum_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned HalfW = fp_pkg::HalfW;

  logic [2*P*HalfW-1:0] a_halves, w_halves;
  mx_collect u_a (.clk_i, .fp32_i, .fp16_i, .tf32_i, .flit_i(a_row_i), .halves_o(a_halves));
  mx_collect u_w (.clk_i, .fp32_i, .fp16_i, .tf32_i, .flit_i(w_row_i), .halves_o(w_halves));

  for (genvar r = 0; r < P; r++) begin : gen_row
    logic [1:0] valid, set, w_row_en, w_on;
    logic [2*HalfW-1:0] a;
    for (genvar i = 0; i < 2; i++) begin : gen_sub
      logic [HalfW:0] token;
      logic [31:0] sub_row;  // of the block's
      mx_skew #(
        .Depth    ((2 * r + i) * L),
        .HalfDepth(r * L),
        .TokenW   (HalfW + 1)
      ) u_skew (
        .clk_i, .rst_ni, .advance_i, .fp32_i,
        .valid_i(a_valid_i),
        .token_i({a_set_i, a_halves[(2*r+i)*HalfW+:HalfW]}),
        .valid_o(valid[i]),
        .token_o(token)
      );
      assign {set[i], a[i*HalfW+:HalfW]} = token;
      assign sub_row = fp32_i ? r : 2 * r + i;
      assign w_row_en[i] = weights_i.valid &&
                           (weights_i.transposed || 32'(weights_i.index) == sub_row);
      assign w_on[i] = sub_row >= 32'(weights_i.from) && sub_row < 32'(weights_i.depth);
    end

    for (genvar c = 0; c < P; c++) begin : gen_col
      logic [1:0] a_valid, a_set, next_valid, next_set, w_col_en;
      logic [2*HalfW-1:0] a_in, next_a, w_col;
      logic [63:0] psum_in, psum;

      if (c == 0) begin : gen_west
        assign a_valid = valid;
        assign a_set = set;
        assign a_in = a;
      end else begin : gen_inner
        assign a_valid = gen_row[r].gen_col[c-1].next_valid;
        assign a_set = gen_row[r].gen_col[c-1].next_set;
        assign a_in = gen_row[r].gen_col[c-1].next_a;
      end
      if (r == 0) begin : gen_north
        assign psum_in = psum_i[64*c+:64];
      end else begin : gen_below
        assign psum_in = gen_row[r-1].gen_col[c].psum;
      end
      if (r == P - 1) begin : gen_south
        assign psum_o[64*c+:64] = psum;
      end
      assign w_col = fp32_i ? w_halves[2*c*HalfW+:2*HalfW]
                            : {w_halves[(P+c)*HalfW+:HalfW], w_halves[c*HalfW+:HalfW]};
      assign w_col_en[0] = !weights_i.transposed || 32'(weights_i.index) == c;
      assign w_col_en[1] = !weights_i.transposed || 32'(weights_i.index) == (fp32_i ? c : P + c);

      pe #(.Latency(L)) u_pe (
        .clk_i, .rst_ni, .fp32_i,
        .w_transposed_i(weights_i.transposed),
        .w_set_i       (weights_i.weight_set),
        .w_row_en_i    (w_row_en),
        .w_col_en_i    (w_col_en),
        .w_on_i        (w_on),
        .w_row_i       (w_halves[2*r*HalfW+:2*HalfW]),
        .w_col_i       (w_col),
        .a_valid_i     (a_valid),
        .a_set_i       (a_set),
        .a_i           (a_in),
        .a_valid_o     (next_valid),
        .a_set_o       (next_set),
        .a_o           (next_a),
        .psum_i        (psum_in),
        .psum_o        (psum)
      );
    end
  end
endmodule
