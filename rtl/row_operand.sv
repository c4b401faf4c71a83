// Address of a row operand for one execution: base + sum idx[l]*delta[l] + rot*rot_stride, modulo
// 2^16.
module row_operand (
  input  logic [15:0]      base_i,
  input  logic [2:0][15:0] delta_i,
  input  logic [15:0]      rot_stride_i,
  input  logic [2:0][19:0] idx_i,
  input  logic [7:0]       rot_i,
  output logic [15:0]      row_o
);
  assign row_o = base_i + idx_i[0][15:0] * delta_i[0] + idx_i[1][15:0] * delta_i[1]
      + idx_i[2][15:0] * delta_i[2] + {8'd0, rot_i} * rot_stride_i;
endmodule
