// A line of the section control's tree, a register a hop: configuration, start and run go out from
// stop to stop, and back comes whether all of the stops are idle. Words of the configuration are a
// flit wide.
module control_line #(
  parameter int unsigned N = 2  // stops
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  // From where the line begins
  input  fabric_pkg::order_t                     order_i,
  input  logic [tegula_pkg::FlitBits-1:0]        data_i,
  // At each stop; the first is a hop away
  output fabric_pkg::order_t [N-1:0]             order_o,
  output logic [N-1:0][tegula_pkg::FlitBits-1:0] data_o,
  input  logic [N-1:0]                           idle_i,
  output logic                                   idle_o
);
  logic [N:0] idle;
  assign idle[N] = 1'b1;  // nothing is beyond the last stop
  assign idle_o = idle[0];

  for (genvar s = 0; s < N; s++) begin : gen_stop
    fabric_pkg::order_t order, order_q;
    logic [tegula_pkg::FlitBits-1:0] data, data_q;
    logic idle_q;
    if (s == 0) begin : gen_first
      assign order = order_i;
      assign data = data_i;
    end else begin : gen_next
      assign order = order_o[s-1];
      assign data = data_o[s-1];
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        order_q <= '0;
        idle_q <= 1'b0;
      end else begin
        order_q <= order;
        idle_q <= idle_i[s] && idle[s+1];
      end
    end
    always_ff @(posedge clk_i) if (order.word.valid) data_q <= data;
    assign order_o[s] = order_q;
    assign data_o[s] = data_q;
    assign idle[s] = idle_q;
  end
endmodule
