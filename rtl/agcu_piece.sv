// The piece at which the walk of a LOAD or STORE stands: it ends with its flit, its row, or its run
// of consecutive elements in the memory. Combinational. Each context has one for the first piece of
// its next burst, so that a grant chooses between pieces that are known.
module agcu_piece (
  input  fabric_pkg::job_t  job_i,
  input  fabric_pkg::walk_t walk_i,
  output fabric_pkg::span_t span_o
);
  localparam logic [6:0] Elements32 = 7'(tegula_pkg::P);
  localparam logic [6:0] Elements16 = 7'(2 * tegula_pkg::P);

  logic [6:0] length, lane_left, elements;
  logic [31:0] run_left;
  logic [19:0] take_left;
  always_comb begin
    elements = fabric_pkg::wide_chip(job_i.convert) ? Elements32 : Elements16;
    run_left = {8'd0, job_i.k_radix[2]} - walk_i.digit[5];
    lane_left = elements - walk_i.lane;
    take_left = job_i.take - walk_i.taken;
    length = lane_left;
    if ({12'd0, take_left} < {25'd0, length}) length = take_left[6:0];
    if (run_left < {25'd0, length}) length = run_left[6:0];
    if (job_i.single) length = 7'd1;
  end

  always_comb begin
    span_o.length = length;
    span_o.run_end = run_left == {25'd0, length};
    span_o.row_end = take_left == {13'd0, length};
    span_o.flit_end = span_o.row_end || lane_left == length;
  end
endmodule
