// The load buffers of an AGCU: none over- or underflows, a burst asks for the lane only when all of its data have come, bursts
// leave in the order in which they were pushed, each with its own number of flits, and a LOAD ends with its last burst. Every
// third burst is followed through, and one flit of it: what leaves as it is what the conversion (a stand-in that takes two bits) made
// of the last two pieces that it was walked with and of their data. The time on the link is left out. Two buffers of two flits, a
// memory with at most two pieces on their way.
// modules: row_walk burst_source agcu_load
// constants: AgcuBuffers=2 BurstFlits=2 DramLatency=1 P=2 FlitBits=64
// initial: zero (nothing reads a place that is not written)
// planted: agcu_load.sv: assign free_o = used_q != 7'(Buffers); => assign free_o = used_q <= 7'(Buffers);
// planted: agcu_load.sv: assign arrived = data_valid_i && piece.burst_last; => assign arrived = data_valid_i && piece.flit_last;
// planted: agcu_load.sv: if (data_valid_i) flight_out_q <= next_flight(flight_out_q); => if (data_valid_i && piece.flit_last) flight_out_q <= next_flight(flight_out_q);
// planted: agcu_load.sv: if (grant_i) head_q <= next(head_q); => if (freed) head_q <= next(head_q);
// planted: agcu_load.sv: {6'd0, push_i} - {6'd0, freed}; => {6'd0, push_i} - {6'd0, grant_i};
// planted: agcu_load.sv: end_context_q <= head.context_id; => if (!read) end_context_q <= head.context_id;
// planted: agcu_load.sv: req_q <= req_q ? !grant_i : complete_count_q != '0 || complete_now; => req_q <= req_q ? !grant_i : pending_count_q != '0 || complete_now;
// planted: agcu_load.sv: write_flit_q <= piece.burst_last ? '0 : write_flit_q + 1'b1; => write_flit_q <= write_flit_q + 1'b1;
// planted: agcu_load.sv: if (piece.burst_last) write_slot_q <= next(write_slot_q); => write_slot_q <= next(write_slot_q);
// planted: agcu_load.sv: else partial_q <= flit; => else partial_q <= '0;
// planted: agcu_load.sv: read_slot_q <= head_q; => read_slot_q <= tail_q;
// planted: agcu_load.sv: if (data_valid_i && piece.flit_last) begin => if (data_valid_i) begin
module agcu_convert (
  input logic valid_i,
  input fabric_pkg::piece_t piece_i,
  input logic [127:0] data_i,
  input logic [63:0] partial_i,
  output logic [63:0] flit_o
);
  // A piece behind others of its flit (not at lane 0) stands beside the one before.
  assign flit_o = {62'd0, piece_i.lane != 7'd0 && partial_i[0], data_i[0] ^ piece_i.fill[0]};
endmodule

module prove_agcu_load (
  input logic clk_i,
  input logic start_i,
  input logic push_i,
  input logic two_i,  // flits, or one
  input logic last_i,
  input logic context_i,
  input logic piece_i,
  input logic flit_last_i,
  input logic done_i,
  input logic come_i,
  input logic data_i,
  input logic fill_i,
  input logic grant_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // The port walks a burst from its push on, a piece a cycle, and says when it is done with it, before it pushes the next.
  logic free, push, piece_valid, flit_last, burst_last, owed_q, owed, done;
  logic [1:0] left_q, left;  // flits that are not walked
  logic [1:0] flight_q;      // pieces on their way
  assign push = push_i && free && left_q == 2'd0 && !owed_q;
  assign left = push ? {two_i, !two_i} : left_q;
  assign piece_valid = piece_i && left != 2'd0 && flight_q < 2'd2;
  assign flit_last = piece_valid && flit_last_i;
  assign burst_last = flit_last && left == 2'd1;
  assign owed = owed_q || burst_last;
  assign done = done_i && owed;

  // What comes, in order: whether it ends a burst. A ring of one place more than there are pieces on their way.
  logic come, come_burst;
  logic [2:0] ends_burst_q;
  logic [1:0] in_q, out_q;
  assign come = come_i && flight_q != 2'd0;
  assign come_burst = come && ends_burst_q[out_q];
  function automatic logic [1:0] next(input logic [1:0] place);
    next = place == 2'd2 ? 2'd0 : place + 2'd1;
  endfunction

  logic within_q;  // the next piece is not the first of its flit
  fabric_pkg::piece_t piece;
  fabric_pkg::burst_t burst;
  fabric_pkg::lane_request_t request;
  fabric_pkg::side_t side;
  fabric_pkg::job_end_t ended;
  logic req, grant, busy;
  logic [1:0] reading_q;  // flits of the granted burst that are not read
  logic [63:0] flit;
  assign grant = grant_i && req && reading_q <= 2'd1;
  always_comb begin
    piece = '0;
    piece.flit_last = flit_last;
    piece.burst_last = burst_last;
    piece.lane = {6'd0, within_q};
    piece.fill = {31'd0, fill_i};
    burst = '0;
    burst.flits = {5'd0, two_i, !two_i};
    burst.last = last_i;
    burst.context_id = {2'd0, context_i};
    burst.route.mask = 17'd2;
    burst.route.inner = 16'd1;
  end
  agcu_load u_load (
    .clk_i, .rst_ni(rst_nq), .start_i, .push_i(push), .burst_i(burst), .done_i(done), .cost_i('0), .free_o(free),
    .piece_valid_i(piece_valid), .piece_i(piece), .data_valid_i(come), .data_i({127'd0, data_i}), .req_o(req), .request_o(request),
    .grant_i(grant), .side_o(side), .flit_o(flit), .end_o(ended), .busy_o(busy)
  );

  // Numbers of bursts: the next one, which one leaves next, which one leaves.
  logic [1:0] tail_q, head_q, leave_q;
  logic [1:0] used_q, waiting_q, absent_q;  // bursts inside; those not granted; those whose data have not all come
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {left_q, owed_q, flight_q, in_q, out_q, reading_q, tail_q, head_q, used_q, waiting_q, absent_q} <= '0;
    else if (start_i) {left_q, owed_q, flight_q, in_q, out_q, reading_q, tail_q, head_q, used_q, waiting_q, absent_q} <= '0;
    else begin
      left_q <= left - 2'(flit_last);
      owed_q <= owed && !done;
      flight_q <= flight_q + 2'(piece_valid) - 2'(come);
      if (piece_valid) in_q <= next(in_q);
      if (come) out_q <= next(out_q);
      if (push) tail_q <= next(tail_q);
      if (grant) head_q <= next(head_q);
      reading_q <= grant ? request.len[1:0] : reading_q - 2'(reading_q != 2'd0);
      used_q <= used_q + 2'(push) - 2'(reading_q == 2'd1);
      waiting_q <= waiting_q + 2'(push) - 2'(grant);
      absent_q <= absent_q + 2'(push) - 2'(come_burst);
    end
  end
  always_ff @(posedge clk_i) begin
    if (piece_valid) begin
      ends_burst_q <= (ends_burst_q & ~(3'd1 << in_q)) | ({2'd0, burst_last} << in_q);
    end
    if (grant) leave_q <= head_q;
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (free == (used_q != 2'd2) && busy == (used_q != 2'd0));
      if (req) assert (waiting_q > absent_q);  // the oldest is there
    end
  end

  // Bursts are counted by threes, one more than there are buffers; one number is watched.
  (* anyconst *) logic [1:0] watched;
  logic two_q, last_q, context_q;
  always_comb assume (watched != 2'd3);
  always_ff @(posedge clk_i) begin
    if (push && tail_q == watched) {two_q, last_q, context_q} <= {two_i, last_i, context_i};
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      if (grant && head_q == watched) assert (request.len == {5'd0, two_q, !two_q});
      if (leave_q == watched && reading_q == 2'd1) assert (ended.valid == last_q && (!last_q || ended.context_id == {2'd0, context_q}));
    end
  end

  // The flit that is watched: pieces on their way with what they say, and what has come of it. Numbers of bursts and flits of what
  // comes, and of what leaves, a cycle behind its read.
  (* anyconst *) logic second;
  logic [2:0] fill_q, lane_q, ends_flit_q;
  logic [1:0] come_q, leaving_q, made_q, made, wanted_q;
  logic come_second_q, leave_second_q, leaving_second_q, sent_q;
  assign made = {lane_q[out_q] && made_q[0], data_i ^ fill_q[out_q]};
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {within_q, come_q, come_second_q, sent_q} <= '0;
    else if (start_i) {within_q, come_q, come_second_q, sent_q} <= '0;
    else begin
      if (piece_valid) within_q <= !flit_last;
      if (come_burst) come_q <= next(come_q);
      if (come && ends_flit_q[out_q]) come_second_q <= !come_burst;
      sent_q <= reading_q != 2'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (piece_valid) begin
      fill_q[in_q] <= fill_i;
      lane_q[in_q] <= within_q;
      ends_flit_q[in_q] <= flit_last;
    end
    if (come) begin
      made_q <= made;
      if (ends_flit_q[out_q] && come_q == watched && come_second_q == second) wanted_q <= made;
    end
    if (grant) leave_second_q <= 1'b0;
    else if (reading_q != 2'd0) leave_second_q <= 1'b1;
    leaving_q <= leave_q;
    leaving_second_q <= leave_second_q;
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq && sent_q) begin
      assert (side.valid);
      if (leaving_q == watched && leaving_second_q == second) assert (flit[1:0] == wanted_q);
    end
  end
endmodule
