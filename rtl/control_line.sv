// A line of the section control's tree, a register a hop: configuration, start and run go out from
// stop to stop, and back comes whether all of the stops are idle.
module control_line #(
  parameter int unsigned N = 2  // stops
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  // From where the line begins
  input  logic                                   start_i,
  input  logic                                   run_i,
  input  fabric_pkg::cfg_t                       cfg_i,
  input  logic [9:0]                             cfg_endpoint_i,
  input  logic [fabric_pkg::CfgBits-1:0]         cfg_data_i,
  // At each stop; the first is a hop away
  output logic [N-1:0]                           start_o,
  output logic [N-1:0]                           run_o,
  output fabric_pkg::cfg_t [N-1:0]               cfg_o,
  output logic [N-1:0][9:0]                      cfg_endpoint_o,
  output logic [N-1:0][fabric_pkg::CfgBits-1:0]  cfg_data_o,
  input  logic [N-1:0]                           idle_i,
  output logic                                   idle_o
);
  logic [N:0] idle;
  assign idle[N] = 1'b1;  // nothing is beyond the last stop
  assign idle_o = idle[0];

  for (genvar s = 0; s < N; s++) begin : gen_stop
    logic start, run, start_q, run_q, idle_q;
    fabric_pkg::cfg_t cfg, cfg_q;
    logic [9:0] endpoint, endpoint_q;
    logic [fabric_pkg::CfgBits-1:0] data, data_q;
    if (s == 0) begin : gen_first
      assign {start, run, cfg, endpoint, data} =
          {start_i, run_i, cfg_i, cfg_endpoint_i, cfg_data_i};
    end else begin : gen_next
      assign {start, run, cfg} = {start_o[s-1], run_o[s-1], cfg_o[s-1]};
      assign endpoint = cfg_endpoint_o[s-1];
      assign data = cfg_data_o[s-1];
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) {start_q, run_q, idle_q, cfg_q} <= '0;
      else {start_q, run_q, idle_q, cfg_q} <= {start, run, idle_i[s] && idle[s+1], cfg};
    end
    always_ff @(posedge clk_i) begin
      if (cfg.valid) begin
        endpoint_q <= endpoint;
        data_q <= data;
      end
    end
    assign start_o[s] = start_q;
    assign run_o[s] = run_q;
    assign cfg_o[s] = cfg_q;
    assign cfg_endpoint_o[s] = endpoint_q;
    assign cfg_data_o[s] = data_q;
    assign idle[s] = idle_q;
  end
endmodule
