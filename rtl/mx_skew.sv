// Delays the tokens of one sub-row before they enter the array: by Depth cycles, or by HalfDepth
// for FP32. A ring of tokens that moves while the matrix unit is busy; it is changed from one delay
// to the other only when it is empty.
module mx_skew #(
  parameter int unsigned Depth     = 1,
  parameter int unsigned HalfDepth = 1,
  parameter int unsigned TokenW    = 1
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              advance_i,
  input  logic              fp32_i,
  input  logic              valid_i,
  input  logic [TokenW-1:0] token_i,
  output logic              valid_o,
  output logic [TokenW-1:0] token_o
);
  if (Depth == 0) begin : gen_none
    logic unused;
    assign unused = ^{clk_i, rst_ni, advance_i, fp32_i};
    assign valid_o = valid_i;
    assign token_o = token_i;
  end else begin : gen_ring
    localparam int unsigned PtrW = $clog2(Depth) + 1;
    logic [Depth-1:0]   valid_q;
    logic [TokenW-1:0] token_q [Depth];
    logic [PtrW-1:0]    ptr_q, last;
    logic               direct;

    assign direct = fp32_i && HalfDepth == 0;
    assign last = fp32_i ? PtrW'(HalfDepth) - PtrW'(1) : PtrW'(Depth - 1);
    assign valid_o = direct ? valid_i
                            : advance_i && valid_q[ptr_q[$clog2(Depth > 1 ? Depth : 2)-1:0]];
    assign token_o = direct ? token_i : token_q[ptr_q[$clog2(Depth > 1 ? Depth : 2)-1:0]];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        ptr_q   <= '0;
        valid_q <= '0;
      end else if (advance_i && !direct) begin
        ptr_q <= ptr_q >= last ? '0 : ptr_q + PtrW'(1);
        valid_q[ptr_q[$clog2(Depth > 1 ? Depth : 2)-1:0]] <= valid_i;
      end
    end
    always_ff @(posedge clk_i) begin
      if (advance_i && valid_i) token_q[ptr_q[$clog2(Depth > 1 ? Depth : 2)-1:0]] <= token_i;
    end
  end
endmodule
