// The arbiter of a lane grants what the rule in C of the timing model grants, in the same cycle, for all time: the decision is a
// table printed by that rule (truth_tables.c), the state that it looks at is kept here as machine.md has it: ages, and the cycles
// that segments stay reserved. Both directions, three positions, bursts of up to three flits.
// modules: lane_arbiter
// planted: lane_arbiter.sv: if (hops < hold) eligible[i] = 1'b0; => if (hops <= hold && hold != '0) eligible[i] = 1'b0;
// planted: lane_arbiter.sv: if (seen_q[i] && seen_q[j]) older[i][j] = older_q[i][j]; => if (seen_q[i] && seen_q[j]) older[i][j] = i < j;
// planted: lane_arbiter.sv: older[i][j] = seen_q[i] || (!seen_q[j] && i < j); => older[i][j] = seen_q[i] || (!seen_q[j] && i > j);
// planted: lane_arbiter.sv: request_i[i*RequestBits+:7] - 7'd1; => request_i[i*RequestBits+:7];
module decision_checks #(
  parameter bit Descending = 1'b0
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i,
  input logic [1:0] ask_i,  // the source nearer to the end (position 1), the farther one
  input logic whole_i,      // the farther one goes to the end
  input logic [3:0] flits_i
);
  // A request stays as it is until it is granted.
  logic [1:0] asks, asks_q, granted, far_len_q, near_len_q, far_len, near_len;
  logic whole, whole_q, near_older, near_older_q;
  assign asks = asks_q | ask_i;
  assign whole = asks_q[0] ? whole_q : whole_i;
  assign far_len = asks_q[0] ? far_len_q : flits_i[1:0] | {1'b0, flits_i[1:0] == 2'd0};
  assign near_len = asks_q[1] ? near_len_q : flits_i[3:2] | {1'b0, flits_i[3:2] == 2'd0};
  logic [2:0] req, grant;
  logic [35:0] request;
  logic [4:0] far_to;
  always_comb begin
    far_to = Descending ? (whole ? 5'd0 : 5'd1) : (whole ? 5'd2 : 5'd1);
    req = Descending ? {asks[0], asks[1], 1'b0} : {1'b0, asks[1], asks[0]};
    request = Descending ? {far_to, 5'd0, far_len, 5'd0, 5'd0, near_len, 12'd0}
                         : {12'd0, 5'd2, 5'd0, near_len, far_to, 5'd0, far_len};
    granted = {grant[1], Descending ? grant[2] : grant[0]};
  end
  lane_arbiter #(.N(3), .Descending(Descending)) u_arbiter (
    .clk_i, .rst_ni, .start_i, .defect_i(8'd0), .req_i(req), .request_i(request), .grant_o(grant)
  );

  // Of one age, the lower position is older.
  always_comb begin
    if (asks_q == 2'b11) near_older = near_older_q;
    else if (asks_q == 2'b00) near_older = Descending;
    else near_older = asks_q[1];
  end
  // Cycles that the segments are still reserved: of the far one's path the first, and the last.
  logic [2:0] first_q, last_q, first, last;
  logic [1:0] expected;
  assign expected = Descending
      ? decisions::lane_grant_down({first_q, last_q, near_older, asks[1], asks[0], whole})
      : decisions::lane_grant_up({last_q, first_q, near_older, asks[1], asks[0], whole});
  always_comb begin
    first = first_q;
    last = last_q;
    if (granted[0]) first = {1'b0, far_len};
    if (granted[0] && whole) last = {1'b0, far_len} + 3'd1;
    if (granted[1]) last = {1'b0, near_len};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {asks_q, first_q, last_q} <= '0;
    else if (start_i) {asks_q, first_q, last_q} <= '0;
    else begin
      asks_q <= asks & ~granted;
      first_q <= first == 3'd0 ? 3'd0 : first - 3'd1;
      last_q <= last == 3'd0 ? 3'd0 : last - 3'd1;
    end
  end
  always_ff @(posedge clk_i) {whole_q, far_len_q, near_len_q, near_older_q} <= {whole, far_len, near_len, near_older};
  // The table: bit 1 is the farther one's grant, bit 0 that of position 1.
  always_ff @(posedge clk_i) if (rst_ni) assert ({granted[0], granted[1]} == expected);
endmodule

module prove_lane_decision (
  input logic clk_i,
  input logic start_i,
  input logic [1:0] ask_i,
  input logic whole_i,
  input logic [3:0] flits_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  decision_checks #(.Descending(1'b0)) u_up (.clk_i, .rst_ni(rst_nq), .start_i, .ask_i, .whole_i, .flits_i);
  decision_checks #(.Descending(1'b1)) u_down (.clk_i, .rst_ni(rst_nq), .start_i, .ask_i, .whole_i, .flits_i);
endmodule
