// The delay of a sub-row's tokens in front of the array: while it advances, a token leaves exactly so many advances after it
// entered, whole, in order, none lost or made up; FP32's delay is half as long, and is chosen while nothing is inside, at least one
// advance before the next token (a block's weights come first). Delays of 6 and 3, of 3 and 0 (FP32 passes at once), and of 1.
// modules: mx_skew
// planted: mx_skew.sv: ptr_q <= ptr_q >= last ? '0 : ptr_q + PtrW'(1); => ptr_q <= ptr_q > last ? '0 : ptr_q + PtrW'(1);
// planted: mx_skew.sv: <= valid_i; => <= valid_i || valid_o;
// planted: mx_skew.sv: PtrW'(HalfDepth) - PtrW'(1) => PtrW'(HalfDepth)
// planted: mx_skew.sv: if (advance_i && valid_i) token_q => if (valid_i && !valid_q[0]) token_q
module skew_checks #(
  parameter int unsigned Depth     = 6,
  parameter int unsigned HalfDepth = 3
) (
  input logic clk_i,
  input logic rst_ni,
  input logic advance_i,
  input logic change_i,
  input logic valid_i,
  input logic [1:0] token_i
);
  logic fp32_q, valid, inside;
  logic [1:0] token;
  logic [3*(Depth+1)-1:0] line_q, line;  // what entered, the latest lowest
  assign line = {line_q[3*Depth-1:0], enter, token_i};
  always_comb begin
    inside = 1'b0;
    for (int d = 0; d < Depth; d++) inside = inside || line_q[3*d+2];
  end
  // Busy until the last token has left, as the matrix unit is.
  logic advance, enter, settled_q;
  assign enter = valid_i && settled_q;
  assign advance = advance_i || inside || enter;
  mx_skew #(.Depth(Depth), .HalfDepth(HalfDepth), .TokenW(2)) u_skew (
    .clk_i, .rst_ni, .advance_i(advance), .fp32_i(fp32_q), .valid_i(enter), .token_i, .valid_o(valid), .token_o(token)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {line_q, fp32_q, settled_q} <= '0;
    else begin
      if (advance) line_q <= line;
      if (advance) settled_q <= 1'b1;
      if (change_i && !inside && !enter) {fp32_q, settled_q} <= {!fp32_q, 1'b0};
    end
  end
  logic [2:0] expected;
  assign expected = fp32_q ? line[3*HalfDepth+:3] : line[3*Depth+:3];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (valid == (advance && expected[2]));
      if (valid) assert (token == expected[1:0]);
    end
  end
endmodule

module prove_mx_skew (
  input logic clk_i,
  input logic advance_i,
  input logic change_i,
  input logic valid_i,
  input logic [1:0] token_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  skew_checks #(.Depth(6), .HalfDepth(3)) u_six (.clk_i, .rst_ni(rst_nq), .advance_i, .change_i, .valid_i, .token_i);
  skew_checks #(.Depth(3), .HalfDepth(0)) u_three (.clk_i, .rst_ni(rst_nq), .advance_i, .change_i, .valid_i, .token_i);
  skew_checks #(.Depth(1), .HalfDepth(0)) u_one (.clk_i, .rst_ni(rst_nq), .advance_i, .change_i, .valid_i, .token_i);
endmodule
