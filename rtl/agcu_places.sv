// The places where the walk of an AGCU's next instruction starts: sums of products of digits and
// strides, made by one multiplier for the address and one for each coordinate while the instruction
// stands at the head of its queue, before it may issue.
//
// A product a stage: offset_delta by loop index, then strides by digits, m2 to e; each is in a
// register for a stage, and goes to the place of its digit in the next.
module agcu_places (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic                                  begin_i,  // another one is at the head next cycle
  input  tegula_pkg::agcu_instr_t               instr_i,
  input  logic [63:0]                           base_i,
  input  logic [2:0][19:0]                      idx_i,
  input  fabric_pkg::digits_t                   m_i,      // digits of the start
  input  fabric_pkg::digits_t                   k_i,
  output logic                                  done_o,
  output logic [5:0][fabric_pkg::PlaceBits-1:0] place_o   // as in walk_t
);
  localparam logic [3:0] Offsets = 4'd3;   // products: of loop indices ...
  localparam logic [3:0] Products = 4'd9;  // ... and of digits

  logic [3:0] stage_q;
  logic [5:0][31:0] digit_q;
  logic [31:0] factor;
  fabric_pkg::place_t step, product, product_q, origin;
  logic [fabric_pkg::PlaceBits-1:0] from, sum;
  logic [4:0][fabric_pkg::PlaceBits-1:0] place_q;

  assign done_o = stage_q == Products;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stage_q <= '0;
    else if (begin_i) stage_q <= '0;
    else if (!done_o) stage_q <= stage_q + 4'd1;
  end

  always_comb begin
    factor = '0;
    step = '0;
    for (int l = 0; l < 3; l++) begin
      if (stage_q == 4'(l)) begin
        factor = {12'd0, idx_i[l]};
        step = fabric_pkg::step_of(instr_i.offset_delta[l], '0, '0);
      end
    end
    for (int d = 0; d < 6; d++) begin
      if (stage_q == Offsets + 4'(d)) begin
        factor = digit_q[d];
        step = fabric_pkg::step_of(instr_i.stride[d], instr_i.x_inc[d], instr_i.y_inc[d]);
      end
    end
    product = '0;
    if (!done_o) begin
      product.address = {32'd0, factor} * step.address;
      product.x = {20'd0, factor} * step.x;
      product.y = {12'd0, factor} * step.y;
    end
  end

  // The product of the stage before: those of offsets and of m2 to the outermost place, the others
  // each to the place without it. The K walk counts from 0.
  always_comb begin
    from = place_q[0];
    for (int d = 1; d < 6; d++) begin
      if (stage_q == Offsets + 4'(d + 1)) from = d == 3 ? '0 : place_q[d-1];
    end
    sum = fabric_pkg::moved(from, product_q);
    origin.address = base_i + {{24{instr_i.offset[39]}}, instr_i.offset};
    origin.x = {{20{instr_i.x_org[31]}}, instr_i.x_org};
    origin.y = {{12{instr_i.y_org[31]}}, instr_i.y_org};
  end

  always_ff @(posedge clk_i) begin
    if (!done_o) product_q <= product;
    if (stage_q == '0) begin
      digit_q <= {8'd0, k_i.inner, 8'd0, k_i.middle, k_i.outer,
                  8'd0, m_i.inner, 8'd0, m_i.middle, m_i.outer};
      place_q[0] <= origin;
    end else if (stage_q <= Offsets + 4'd1) begin
      place_q[0] <= sum;
    end
    for (int d = 1; d < 5; d++) if (stage_q == Offsets + 4'(d + 1)) place_q[d] <= sum;
  end

  assign place_o = {sum, place_q};  // the last product is still on its way
endmodule
