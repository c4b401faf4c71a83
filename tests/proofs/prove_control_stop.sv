// The tree of the section control: a stop of a line hears what was said a hop before it, as many cycles later as there are hops,
// takes the words that name its row and its position and no others, of one that is scattered the lane of its column or its row, and
// sees a start, a run and its own being idle put off until the farthest endpoint has them: each stop at the same time. The line is idle
// as many cycles after as there are hops if all of its stops were. Three stops, of row 1 and positions 1 to 3, P = 2.
// modules: delay control_line control_stop
// constants: P=2 FlitBits=64
// planted: control_line.sv: idle_q <= idle_i[s] && idle[s+1]; => idle_q <= idle_i[s] || idle[s+1];
// planted: control_line.sv: assign order = order_o[s-1]; => assign order = order_i;
// planted: control_line.sv: if (order.word.valid) data_q <= data; => if (order_q.word.valid) data_q <= data;
// planted: control_line.sv: assign idle[N] = 1'b1; => assign idle[N] = idle_i[0];
// planted: control_stop.sv: word.valid && word.rows[Row] && word.positions[Position]; => word.valid && word.positions[Position];
// planted: control_stop.sv: (Position - 1) % P; => Position % P;
// planted: control_stop.sv: word.by_row ? data_i[32*RowLane+:32] => !word.by_row ? data_i[32*RowLane+:32]
// planted: control_stop.sv: P'(1) << word.lane[PartW-1:0] : '1; => P'(1) << word.lane[PartW-1:0] : P'(1);
// planted: control_stop.sv: u_run (.clk_i, .rst_ni, .d_i(order_i.run), .q_o(run)); => u_run (.clk_i, .rst_ni, .d_i(order_i.start), .q_o(run));
// planted: control_stop.sv: assign plane = start ? next_plane : plane_q; => assign plane = plane_q;
// planted: control_stop.sv: else plane_q <= plane; => else plane_q <= next_plane;
// planted: delay.sv: assign q_o = shift_q[Cycles-1]; => assign q_o = shift_q[0];
module stop_checks #(
  parameter int unsigned Position = 1
) (
  input logic               clk_i,
  input logic               rst_ni,
  input fabric_pkg::order_t order_i,
  input logic [63:0]        data_i,
  input logic               idle_i,
  output logic              idle_o,
  // What was said where the line begins, three cycles ago, and as many as there are hops
  input logic               start_i,
  input logic               plane_i,
  input logic               run_i,
  input fabric_pkg::word_t  word_i,
  input logic [63:0]        word_data_i
);
  fabric_pkg::control_t here;
  logic [63:0] taken;
  control_stop #(.Row(1), .Position(Position), .Slack(3 - Position)) u_stop (
    .clk_i, .rst_ni, .order_i, .data_i, .control_o(here), .data_o(taken), .idle_i, .idle_o
  );
  // Row 1 is the second lane of a word scattered along the rows; columns begin at position 1.
  logic [31:0] own;
  logic plane_q;  // said with the last start
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) plane_q <= 1'b0;
    else if (start_i) plane_q <= plane_i;
  end
  assign own = word_i.by_row || Position == 2 ? word_data_i[63:32] : word_data_i[31:0];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (here.start == start_i && here.run == run_i && here.plane == (start_i ? plane_i : plane_q));
      assert (here.cfg.valid == (word_i.valid && word_i.rows[1] && word_i.positions[Position]));
      if (here.cfg.valid) begin
        assert (here.cfg.kind == word_i.kind && here.cfg.unit == word_i.unit && here.cfg.slot == word_i.slot);
        assert (here.cfg.clear == word_i.clear && here.cfg.part == {1'b0, word_i.lane[10:1]});
        if (word_i.scatter) assert (taken == {own, own} && here.cfg.enable == (word_i.lane[0] ? 2'b10 : 2'b01));
        else assert (taken == word_data_i && here.cfg.enable == 2'b11);
      end
    end
  end
endmodule

module prove_control_stop (
  input logic              clk_i,
  input logic              start_i,
  input logic              plane_i,
  input logic              run_i,
  input fabric_pkg::word_t word_i,
  input logic [63:0]       data_i,
  input logic [2:0]        idle_i
);
  localparam int unsigned N = 3;
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  fabric_pkg::order_t order, order0, order1, order2;
  assign order = {start_i, plane_i, run_i, word_i};
  logic [191:0] datas;
  logic [N-1:0] stop_idle;
  logic idle;
  control_line #(.N(N)) u_line (
    .clk_i, .rst_ni(rst_nq), .order_i(order), .data_i, .order_o({order2, order1, order0}), .data_o(datas), .idle_i(stop_idle), .idle_o(idle)
  );

  // What was said one, two and three cycles ago.
  logic [2:0] start_q, plane_q, run_q, idle0_q, idle1_q, idle2_q;
  fabric_pkg::word_t word0_q, word1_q, word2_q;
  logic [63:0] data0_q, data1_q, data2_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {start_q, plane_q, run_q, word0_q, word1_q, word2_q, idle0_q, idle1_q, idle2_q} <= '0;
    else begin
      start_q <= {start_q[1:0], start_i};
      plane_q <= {plane_q[1:0], plane_i};
      run_q <= {run_q[1:0], run_i};
      {word2_q, word1_q, word0_q} <= {word1_q, word0_q, word_i};
      {idle2_q, idle1_q, idle0_q} <= {idle1_q, idle0_q, idle_i};
    end
  end
  always_ff @(posedge clk_i) {data2_q, data1_q, data0_q} <= {data1_q, data0_q, data_i};
  stop_checks #(.Position(1)) u_first (
    .clk_i, .rst_ni(rst_nq), .order_i(order0), .data_i(datas[63:0]), .idle_i(idle_i[0]), .idle_o(stop_idle[0]),
    .start_i(start_q[2]), .plane_i(plane_q[2]), .run_i(run_q[2]), .word_i(word0_q), .word_data_i(data0_q)
  );
  stop_checks #(.Position(2)) u_second (
    .clk_i, .rst_ni(rst_nq), .order_i(order1), .data_i(datas[127:64]), .idle_i(idle_i[1]), .idle_o(stop_idle[1]),
    .start_i(start_q[2]), .plane_i(plane_q[2]), .run_i(run_q[2]), .word_i(word1_q), .word_data_i(data1_q)
  );
  stop_checks #(.Position(3)) u_third (
    .clk_i, .rst_ni(rst_nq), .order_i(order2), .data_i(datas[191:128]), .idle_i(idle_i[2]), .idle_o(stop_idle[2]),
    .start_i(start_q[2]), .plane_i(plane_q[2]), .run_i(run_q[2]), .word_i(word2_q), .word_data_i(data2_q)
  );
  // Three cycles for each of the stops: its own Slack, and its hops.
  always_ff @(posedge clk_i) if (rst_nq) assert (idle == (idle2_q == 3'd7));
endmodule
