// Where an endpoint takes words of the configuration off its line: those that name its row and its
// position, and of one that is scattered the lane of its column or row. What starts and runs a
// section is held back until it has reached the farthest endpoint, as is what the endpoint says.
module control_stop #(
  parameter int unsigned Row      = 0,  // of a mask
  parameter int unsigned Position = 0,
  parameter int unsigned Slack    = 0   // cycles until all have what is here
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  fabric_pkg::order_t              order_i,
  input  logic [tegula_pkg::FlitBits-1:0] data_i,
  output fabric_pkg::control_t            control_o,
  output logic [tegula_pkg::FlitBits-1:0] data_o,
  input  logic                            idle_i,
  output logic                            idle_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned PartW = $clog2(P);
  // The lanes that are its own in words scattered along the columns and along the rows.
  localparam int unsigned ColLane = Position == 0 ? 0 : (Position - 1) % P;
  localparam int unsigned RowLane = Row % P;

  logic start, run, plane_q, plane, next_plane;
  delay #(.Cycles(Slack)) u_start (.clk_i, .rst_ni, .d_i(order_i.start), .q_o(start));
  delay #(.Cycles(Slack)) u_plane (.clk_i, .rst_ni, .d_i(order_i.plane), .q_o(next_plane));
  delay #(.Cycles(Slack)) u_run (.clk_i, .rst_ni, .d_i(order_i.run), .q_o(run));
  delay #(.Cycles(Slack)) u_idle (.clk_i, .rst_ni, .d_i(idle_i), .q_o(idle_o));

  assign plane = start ? next_plane : plane_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) plane_q <= 1'b0;
    else plane_q <= plane;
  end

  fabric_pkg::word_t word;
  fabric_pkg::cfg_t cfg;
  logic [31:0] own;
  assign word = order_i.word;
  assign own = word.by_row ? data_i[32*RowLane+:32] : data_i[32*ColLane+:32];
  assign data_o = word.scatter ? {P{own}} : data_i;
  always_comb begin
    cfg.valid = word.valid && word.rows[Row] && word.positions[Position];
    cfg.kind = word.kind;
    cfg.unit = word.unit;
    cfg.slot = word.slot;
    cfg.clear = word.clear;
    cfg.part = word.lane >> PartW;
    cfg.enable = word.scatter ? P'(1) << word.lane[PartW-1:0] : '1;
  end
  assign control_o = {start, run, plane, cfg};
endmodule
