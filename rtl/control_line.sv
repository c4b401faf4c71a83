// A line of the section control's tree, a register a hop: configuration, start and run go out from
// stop to stop, and back comes whether all of the stops are idle.
module control_line #(
  parameter int unsigned N = 2  // stops
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  // From where the line begins
  input  fabric_pkg::control_t                   control_i,
  input  logic [fabric_pkg::CfgBits-1:0]         cfg_data_i,
  // At each stop; the first is a hop away
  output fabric_pkg::control_t [N-1:0]           control_o,
  output logic [N-1:0][fabric_pkg::CfgBits-1:0]  cfg_data_o,
  input  logic [N-1:0]                           idle_i,
  output logic                                   idle_o
);
  logic [N:0] idle;
  assign idle[N] = 1'b1;  // nothing is beyond the last stop
  assign idle_o = idle[0];

  for (genvar s = 0; s < N; s++) begin : gen_stop
    fabric_pkg::control_t control, control_q;
    logic [fabric_pkg::CfgBits-1:0] data, data_q;
    logic idle_q;
    if (s == 0) begin : gen_first
      assign control = control_i;
      assign data = cfg_data_i;
    end else begin : gen_next
      assign control = control_o[s-1];
      assign data = cfg_data_o[s-1];
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        control_q <= '0;
        idle_q <= 1'b0;
      end else begin
        control_q <= control;
        idle_q <= idle_i[s] && idle[s+1];
      end
    end
    always_ff @(posedge clk_i) if (control.cfg.valid) data_q <= data;
    assign control_o[s] = control_q;
    assign cfg_data_o[s] = data_q;
    assign idle[s] = idle_q;
  end
endmodule
