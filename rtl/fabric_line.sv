// The wires of a row or column of N positions: two opposite lanes, the ascending one first (east or
// south), and a post lane beside each.
module fabric_line #(
  parameter int unsigned N = 3
) (
  input  logic                                        clk_i,
  input  logic                                        rst_ni,
  input  logic [N-1:0]                                start_i,  // at each position
  input  logic [7:0]                                  defect_i,
  // Lanes: what each position says and hears
  input  fabric_pkg::lane_out_t [1:0][N-1:0]          lane_i,
  input  logic [1:0][N-1:0][tegula_pkg::FlitBits-1:0] data_i,
  output fabric_pkg::lane_in_t [1:0][N-1:0]           lane_o,
  output logic [1:0][N-1:0][tegula_pkg::FlitBits-1:0] data_o,
  // Post lanes: the same
  input  fabric_pkg::post_out_t [1:0][N-1:0]          post_i,
  output fabric_pkg::post_in_t [1:0][N-1:0]           post_o,
  output logic                                        busy_o
);
  logic [1:0] lane_busy, post_busy;
  assign busy_o = lane_busy != '0 || post_busy != '0;

  for (genvar d = 0; d < 2; d++) begin : gen_lane
    lane #(
      .N         (N),
      .Descending(d == 1)
    ) u_lane (
      .clk_i, .rst_ni, .start_i, .defect_i,
      .lane_i(lane_i[d]),
      .data_i(data_i[d]),
      .lane_o(lane_o[d]),
      .data_o(data_o[d]),
      .busy_o(lane_busy[d])
    );

    logic [N-1:0] free, send, arrive;
    fabric_pkg::post_t [N-1:0] post;
    logic [N-1:0][9:0] sem;
    for (genvar p = 0; p < N; p++) begin : gen_position
      assign send[p] = post_i[d][p].send;
      assign post[p] = post_i[d][p].post;
      assign post_o[d][p] = {free[p], arrive[p], sem[p]};
    end
    post_lane #(
      .N         (N),
      .Descending(d == 1)
    ) u_posts (
      .clk_i, .rst_ni, .start_i,
      .free_o  (free),
      .send_i  (send),
      .post_i  (post),
      .arrive_o(arrive),
      .sem_o   (sem),
      .busy_o  (post_busy[d])
    );
  end
endmodule
