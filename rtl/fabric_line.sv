// The wires of a row or column of N positions: two opposite lanes, the ascending one first (east or
// south), and a post lane beside each.
module fabric_line #(
  parameter int unsigned N = 3
) (
  input  logic                                        clk_i,
  input  logic                                        rst_ni,
  input  logic [N-1:0]                                start_i,  // at each position
  input  logic [7:0]                                  defect_i,
  // Lanes: what each position asks for and sends, and what arrives there
  input  logic [1:0][N-1:0]                           req_i,
  input  fabric_pkg::lane_request_t [1:0][N-1:0]      request_i,
  output logic [1:0][N-1:0]                           grant_o,
  input  logic [1:0][N-1:0]                           send_i,
  input  fabric_pkg::side_t [1:0][N-1:0]              side_i,
  input  logic [1:0][N-1:0][tegula_pkg::FlitBits-1:0] data_i,
  output logic [1:0][N-1:0]                           arrive_o,
  output fabric_pkg::side_t [1:0][N-1:0]              side_o,
  output logic [1:0][N-1:0][tegula_pkg::FlitBits-1:0] data_o,
  // Post lanes: where a position may send, what it sends, and what arrives there
  output logic [1:0][N-1:0]                           post_free_o,
  input  logic [1:0][N-1:0]                           post_send_i,
  input  fabric_pkg::post_t [1:0][N-1:0]              post_i,
  output logic [1:0][N-1:0]                           post_arrive_o,
  output logic [1:0][N-1:0][9:0]                      post_sem_o,
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
      .req_i    (req_i[d]),
      .request_i(request_i[d]),
      .grant_o  (grant_o[d]),
      .send_i   (send_i[d]),
      .side_i   (side_i[d]),
      .data_i   (data_i[d]),
      .arrive_o (arrive_o[d]),
      .side_o   (side_o[d]),
      .data_o   (data_o[d]),
      .busy_o   (lane_busy[d])
    );
    post_lane #(
      .N         (N),
      .Descending(d == 1)
    ) u_posts (
      .clk_i, .rst_ni, .start_i,
      .free_o  (post_free_o[d]),
      .send_i  (post_send_i[d]),
      .post_i  (post_i[d]),
      .arrive_o(post_arrive_o[d]),
      .sem_o   (post_sem_o[d]),
      .busy_o  (post_busy[d])
    );
  end
endmodule
