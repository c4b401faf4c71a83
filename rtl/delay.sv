// A bit, some cycles later.
module delay #(
  parameter int unsigned Cycles = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic d_i,
  output logic q_o
);
  if (Cycles == 0) begin : gen_wire
    assign q_o = d_i;
  end else begin : gen_registers
    logic [Cycles-1:0] shift_q;
    assign q_o = shift_q[Cycles-1];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) shift_q <= '0;
      else shift_q <= Cycles'({shift_q, d_i});
    end
  end
endmodule
