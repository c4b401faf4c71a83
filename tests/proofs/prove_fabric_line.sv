// The wires of a row or column: each direction has a lane and a post lane, the ascending ones come first, a position says to them and
// hears from them what is its own there, and the line is busy while one of them is. Lanes are stand-ins here, whose answers tell from
// which pins they came; what lanes and post lanes do, prove_lane.sv and prove_post_lane.sv say. Three positions.
// modules: fabric_line
// constants: FlitBits=4
// planted: fabric_line.sv: .Descending(d == 1) => .Descending(d == 0)
// planted: fabric_line.sv: assign send[p] = post_i[d][p].send; => assign send[p] = post_i[0][p].send;
// planted: fabric_line.sv: {free[p], arrive[p], sem[p]}; => {arrive[p], free[p], sem[p]};
// planted: fabric_line.sv: lane_busy != '0 || post_busy != '0; => lane_busy != '0 || post_busy[0];
// planted: fabric_line.sv: .data_i(data_i[d]), => .data_i(data_i[0]),
// planted: fabric_line.sv: .lane_o(lane_o[d]), => .lane_o(lane_o[1-d]),
module lane #(
  parameter int unsigned N          = 0,
  parameter bit          Descending = 1'b0
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [N-1:0]    start_i,
  input  logic [7:0]      defect_i,
  input  logic [N*59-1:0] lane_i,
  input  logic [N*4-1:0]  data_i,
  output logic [N*47-1:0] lane_o,
  output logic [N*4-1:0]  data_o,
  output logic            busy_o
);
  // Each position has its own back, another lane's turned round.
  for (genvar p = 0; p < N; p++) begin : gen_position
    assign lane_o[p*47+:47] = (Descending ? {47{1'b1}} : 47'd0) ^ lane_i[p*59+:47] ^ {lane_i[p*59+47+:12], 35'd0};
  end
  assign data_o = Descending ? ~data_i : data_i;
  assign busy_o = start_i[0] && lane_i[0] && (Descending ? defect_i[1] : defect_i[0]) && rst_ni;
endmodule
module post_lane #(
  parameter int unsigned N          = 0,
  parameter bit          Descending = 1'b0
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic [N-1:0]    start_i,
  output logic [N-1:0]    free_o,
  input  logic [N-1:0]    send_i,
  input  logic [N*15-1:0] post_i,
  output logic [N-1:0]    arrive_o,
  output logic [N*10-1:0] sem_o,
  output logic            busy_o
);
  for (genvar p = 0; p < N; p++) begin : gen_position
    assign free_o[p] = (Descending ? 1'b1 : 1'b0) ^ send_i[p];
    assign arrive_o[p] = (Descending ? 1'b1 : 1'b0) ^ (post_i[p*15+10+:5] == 5'd17);
    assign sem_o[p*10+:10] = (Descending ? 10'h3ff : 10'd0) ^ post_i[p*15+:10];
  end
  assign busy_o = start_i[N-1] && post_i[0] && rst_ni;
endmodule

module prove_fabric_line (
  input logic         clk_i,
  input logic [2:0]   start_i,
  input logic [7:0]   defect_i,
  input logic [353:0] lane_i,  // two lanes of three positions
  input logic [23:0]  data_i,
  input logic [95:0]  post_i
);
  localparam int unsigned N = 3;
  logic [281:0] heard;
  logic [23:0] data;
  logic [71:0] posts;
  logic busy;
  fabric_line #(.N(N)) u_line (
    .clk_i, .rst_ni(1'b1), .start_i, .defect_i, .lane_i, .data_i, .lane_o(heard), .data_o(data), .post_i, .post_o(posts), .busy_o(busy)
  );
  for (genvar p = 0; p < 2 * N; p++) begin : gen_heard
    localparam bit Down = p >= N;
    always_ff @(posedge clk_i) begin
      assert (heard[p*47+:47] == ((Down ? {47{1'b1}} : 47'd0) ^ lane_i[p*59+:47] ^ {lane_i[p*59+47+:12], 35'd0}));
      assert (data[p*4+:4] == ((Down ? 4'hf : 4'h0) ^ data_i[p*4+:4]));
      assert (posts[p*12+11] == (Down ^ post_i[p*16+15]));
      assert (posts[p*12+10] == (Down ^ (post_i[p*16+10+:5] == 5'd17)));
      assert (posts[p*12+:10] == ((Down ? 10'h3ff : 10'd0) ^ post_i[p*16+:10]));
    end
  end
  always_ff @(posedge clk_i) begin
    assert (busy == ((start_i[0] && lane_i[0] && defect_i[0]) || (start_i[0] && lane_i[177] && defect_i[1]) || (start_i[2] && post_i[0]) ||
                     (start_i[2] && post_i[48])));
  end
endmodule
