// The conversions of fp_pkg at pins. The clock is only there for the common driver.
module formats_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] x_i,
  input  logic [15:0] r_i,
  output logic [31:0] from_bf16_o,
  output logic [31:0] from_fp16_o,
  output logic [31:0] mixed_o,
  output logic [31:0] to_tf32_o,
  output logic [15:0] to_bf16_o,
  output logic [15:0] to_fp16_o,
  output logic [15:0] stochastic_o
);
  assign from_bf16_o = fp_pkg::widen_bf16(x_i[15:0]);
  assign from_fp16_o = fp_pkg::widen_fp16(x_i[15:0]);
  assign mixed_o = fp_pkg::mix(x_i);
  assign to_tf32_o = fp_pkg::to_tf32(x_i);
  assign to_bf16_o = fp_pkg::to_bf16(x_i);
  assign to_fp16_o = fp_pkg::to_fp16(x_i);
  assign stochastic_o = fp_pkg::to_bf16_stochastic(x_i, r_i);
endmodule
