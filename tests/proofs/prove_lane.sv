// A lane, both directions: a flit is at each of its destinations as many cycles after it was sent as there are hops, with what was
// sent beside it and its data, and nothing else ever arrives: none lost, doubled, made up, none meets another one. Endpoints do as
// burst_source and tx: they ask until they are told, and send the flits of a burst from the second cycle after on. They are told a
// cycle after the arbiter decided; what it decides prove_lane_arbiter.sv and prove_lane_decision.sv say.
// Four positions, bursts of up to three flits with any destinations downstream.
// modules: lane_arbiter lane
// constants: FlitBits=4
// planted: lane.sv: assign through = prev.valid && (prev.mask & Beyond) != '0; => assign through = prev.valid && (prev.mask & Beyond & 17'h0FFF8) != '0;
// planted: lane.sv: data_q <= data_o[From]; => data_q <= data_i[From];
// planted: lane.sv: side_q <= prev; => side_q <= {prev[44], prev[43:1] & {43{prev[44]}}, 1'b0};
// planted: lane.sv: assign lane_o[To].arrive = valid_q && side_q.mask[To]; => assign lane_o[To].arrive = valid_q && (side_q.mask & Beyond) != '0;
// planted: lane.sv: assign lane_o[To].arrive = valid_q && side_q.mask[To]; => assign lane_o[To].arrive = side_q.mask[To];
// planted: lane.sv: .req_i    (req & ~grant_q), => .req_i    (req),
// planted: lane.sv: else grant_q <= start_i[0] ? '0 : grant; => else grant_q <= grant;
module lane_checks #(
  parameter bit Descending = 1'b0
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         start_i,
  input logic [3:0]   req_i,
  input logic [7:0]   length_i,
  input logic [15:0]  mask_i,
  input logic [107:0] beside_i,  // post, semaphore and row of each
  input logic [15:0]  data_i
);
  localparam int unsigned N = 4;

  // An endpoint asks until it is told, for the farthest of its destinations; two cycles after, the flits of the burst begin.
  logic [3:0] req, send, grant, arrive;
  logic [3:0][16:0] mask;
  logic [3:0][44:0] side, heard;
  fabric_pkg::lane_out_t [3:0] says;
  fabric_pkg::lane_in_t [3:0] hears;
  logic [15:0] data;
  logic busy;
  lane #(.N(N), .Descending(Descending)) u_lane (
    .clk_i, .rst_ni, .start_i({N{start_i}}), .defect_i(8'd0), .lane_i(says), .data_i, .lane_o(hears), .data_o(data), .busy_o(busy)
  );
  for (genvar p = 0; p < N; p++) begin : gen_endpoint
    logic asks_q, told_q;
    logic [1:0] length, length_q, burst_q, left_q;
    logic [16:0] mask_q, burst_mask_q, sent_mask_q;
    logic [4:0] farthest;
    assign req[p] = asks_q || req_i[p];
    assign length = asks_q ? length_q : length_i[p*2+:2];
    assign mask[p] = asks_q ? mask_q : {13'd0, mask_i[p*4+:4]};
    assign send[p] = left_q != 2'd0;
    assign side[p] = {send[p], beside_i[p*27+:27], sent_mask_q};
    always_comb begin
      if (req[p]) assume (length != 2'd0 && mask[p] != '0);
      if (req[p]) for (int d = 0; d < N; d++) assume (!mask[p][d] || (Descending ? d < p : d > p));
      farthest = '0;
      if (Descending) for (int d = N - 1; d >= 0; d--) if (mask[p][d]) farthest = 5'(d);
      if (!Descending) for (int d = 0; d < N; d++) if (mask[p][d]) farthest = 5'(d);
    end
    assign says[p] = {req[p], farthest, 5'd0, length, send[p], side[p]};
    assign grant[p] = hears[p].grant;
    assign arrive[p] = hears[p].arrive;
    assign heard[p] = hears[p].side;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) {asks_q, told_q, left_q} <= '0;
      else if (start_i) {asks_q, told_q, left_q} <= '0;
      else begin
        asks_q <= req[p] && !grant[p];
        told_q <= grant[p];
        if (told_q) left_q <= burst_q;
        else if (left_q != 2'd0) left_q <= left_q - 2'd1;
      end
    end
    always_ff @(posedge clk_i) begin
      {length_q, mask_q} <= {length, mask[p]};
      if (grant[p]) {burst_q, burst_mask_q} <= {length, mask[p]};
      if (told_q) sent_mask_q <= burst_mask_q;
      if (rst_ni) begin
        ToldWhatItAsks : assert (!grant[p] || asks_q);
        TheBurstBeforeEnds : assert (!told_q || left_q <= 2'd1);
      end
    end
  end

  // What was sent one, two and three cycles ago; a start forgets it.
  logic [2:0][3:0] sent_q;
  logic [2:0][179:0] sides_q;
  logic [2:0][15:0] datas_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sent_q <= '0;
    else if (start_i) sent_q <= '0;
    else sent_q <= {sent_q[1], sent_q[0], send};
  end
  always_ff @(posedge clk_i) begin
    sides_q <= {sides_q[1], sides_q[0], side};
    datas_q <= {datas_q[1], datas_q[0], data_i};
  end
  logic [3:0] travels;  // past a position, or to it
  always_ff @(posedge clk_i) if (rst_ni) Busy : assert (busy == (req != '0 || send != '0 || travels != '0));

  for (genvar p = 0; p < N; p++) begin : gen_position
    logic [3:0] comes, passes, right;
    for (genvar s = 0; s < N; s++) begin : gen_source
      if (Descending ? s > p : s < p) begin : gen_before
        localparam int unsigned Ago = (Descending ? s - p : p - s) - 1;
        logic [16:0] to;
        assign to = sides_q[Ago][s*45+:17];
        assign comes[s] = sent_q[Ago][s] && to[p];
        assign passes[s] = sent_q[Ago][s] && (Descending ? to[p:0] != '0 : to >> p != '0);
        assign right[s] = !comes[s] || (heard[p] == {1'b1, sides_q[Ago][s*45+:44]} && data[p*4+:4] == datas_q[Ago][s*4+:4]);
      end else begin : gen_none
        assign {comes[s], passes[s], right[s]} = 3'b001;
      end
    end
    assign travels[p] = passes != '0;
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        Arrives : assert (arrive[p] == (comes != '0));
        Unchanged : assert (right == '1);
        Alone : assert ((passes & (passes - 4'd1)) == '0);
      end
    end
  end
endmodule

module prove_lane (
  input logic         clk_i,
  input logic         start_i,
  input logic [7:0]   req_i,
  input logic [15:0]  length_i,
  input logic [31:0]  mask_i,
  input logic [107:0] beside_i,
  input logic [15:0]  data_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  lane_checks #(.Descending(1'b0)) u_up (
    .clk_i, .rst_ni(rst_nq), .start_i, .req_i(req_i[3:0]), .length_i(length_i[7:0]), .mask_i(mask_i[15:0]), .beside_i, .data_i
  );
  lane_checks #(.Descending(1'b1)) u_down (
    .clk_i, .rst_ni(rst_nq), .start_i, .req_i(req_i[7:4]), .length_i(length_i[15:8]), .mask_i(mask_i[31:16]), .beside_i, .data_i
  );
endmodule
