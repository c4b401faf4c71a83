// The arbiter of a lane, both directions: one grant a cycle, of what is asked for; flits of granted bursts never meet on a
// segment, by a calendar of their own; a request waits a bounded time.
// modules: lane_arbiter
// planted: lane_arbiter.sv: if (hops < hold) eligible[i] = 1'b0; => if (hops + 7'd1 < hold) eligible[i] = 1'b0;
// planted: lane_arbiter.sv: if (older[j][i] && eligible[j]) grant_o[i] = 1'b0; => if (older[j][i] && eligible[j] && i != 2) grant_o[i] = 1'b0;
// planted: lane_arbiter.sv: if (older[j][i] && (path[i] & path[j]) != '0) eligible[i] = 1'b0; => ;
module arbiter_checks #(
  parameter int unsigned N = 3,
  parameter bit Descending = 1'b0,
  parameter int unsigned Longest = 3  // flits of a burst
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i,
  input logic [N-1:0] req_i,
  input logic [N*12-1:0] request_i
);
  localparam int unsigned Window = N + Longest;  // cycles that a burst may reach into the future
  // The oldest of all waits at most until the segments are free, then goes; so does the next.
  localparam int unsigned Bound = N * (N + Longest);
  logic [N-1:0] grant;
  lane_arbiter #(.N(N), .Descending(Descending)) u_arbiter (
    .clk_i, .rst_ni, .start_i, .defect_i(8'd0), .req_i, .request_i, .grant_o(grant)
  );

  // A request stays as it is until it is granted; it goes downstream, and its burst has flits.
  logic [N-1:0] waited_q;
  logic [N*12-1:0] request_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waited_q <= '0;
    else waited_q <= start_i ? '0 : req_i & ~grant;
  end
  always_ff @(posedge clk_i) request_q <= request_i;
  for (genvar i = 0; i < N; i++) begin : gen_position
    logic [4:0] farthest;
    logic [6:0] len;
    assign farthest = request_i[i*12+7+:5];
    assign len = request_i[i*12+:7];
    always_comb begin
      if (waited_q[i]) assume (req_i[i] && request_i[i*12+:12] == request_q[i*12+:12]);
      if (req_i[i]) assume (len >= 7'd1 && len <= 7'(Longest));
      if (req_i[i]) assume (Descending ? farthest < 5'(i) : farthest > 5'(i) && farthest < 5'(N));
    end

    logic [7:0] wait_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) wait_q <= '0;
      else if (start_i || !req_i[i] || grant[i]) wait_q <= '0;
      else wait_q <= wait_q + 8'd1;
    end
    always_ff @(posedge clk_i) if (rst_ni) BoundedWait : assert (wait_q <= 8'(Bound));
  end

  // Bit t of a segment's calendar: a flit enters it in t cycles.
  for (genvar s = 0; s < N - 1; s++) begin : gen_segment
    logic [Window-1:0] calendar_q, entry, clash;
    always_comb begin
      entry = '0;
      clash = '0;
      for (int i = 0; i < N; i++) begin
        if (grant[i] && (Descending ? s < i && 5'(s) >= request_i[i*12+7+:5] : s >= i && 5'(s) < request_i[i*12+7+:5])) begin
          clash = clash | ((((Window)'(1) << request_i[i*12+:7]) - (Window)'(1)) << (Descending ? i - 1 - s : s - i)) & (entry | calendar_q);
          entry = entry | ((((Window)'(1) << request_i[i*12+:7]) - (Window)'(1)) << (Descending ? i - 1 - s : s - i));
        end
      end
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) calendar_q <= '0;
      else calendar_q <= start_i ? '0 : (calendar_q | entry) >> 1;
    end
    always_ff @(posedge clk_i) if (rst_ni && !start_i) NoTwoFlits : assert (clash == '0);
  end
endmodule

module prove_lane_arbiter (
  input logic clk_i,
  input logic start_i,
  input logic [2:0] up_i,
  input logic [2:0] down_i,
  input logic [35:0] up_request_i,
  input logic [35:0] down_request_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  arbiter_checks #(.N(3), .Descending(1'b0)) u_up (
    .clk_i, .rst_ni(rst_nq), .start_i, .req_i(up_i), .request_i(up_request_i)
  );
  arbiter_checks #(.N(3), .Descending(1'b1)) u_down (
    .clk_i, .rst_ni(rst_nq), .start_i, .req_i(down_i), .request_i(down_request_i)
  );
endmodule
