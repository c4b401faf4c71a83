`include "assert.svh"

// The load path of an AGCU: conversion of what the memory returns, AgcuBuffers buffers of a burst
// each, and the source of the lane. Bursts are stored, and leave, in the order in which the port
// served them.
module agcu_load (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // A burst begins at the port, and ends there
  input  logic                            push_i,
  input  fabric_pkg::burst_t              burst_i,
  input  logic                            done_i,
  input  logic [23:0]                     cost_i,  // cycles that its atoms take on the port's link
  output logic                            free_o,  // a buffer is free
  // Pieces as they are asked for, at most DramLatency + 1 at a time, and their data in order:
  // element j of the piece in the j-th place, other places zero
  input  logic                            piece_valid_i,
  input  fabric_pkg::piece_t              piece_i,
  input  logic                            data_valid_i,
  input  logic [64*tegula_pkg::P-1:0]     data_i,
  // Lane
  output logic                            req_o,
  output fabric_pkg::lane_request_t       request_o,
  input  logic                            grant_i,
  output fabric_pkg::side_t               side_o,
  output logic [tegula_pkg::FlitBits-1:0] flit_o,
  output fabric_pkg::job_end_t            end_o,   // a LOAD ends
  output logic                            busy_o
);
  localparam int unsigned Buffers = tegula_pkg::AgcuBuffers;
  localparam int unsigned BufferW = Buffers > 1 ? $clog2(Buffers) : 1;
  localparam int unsigned FlitW = $clog2(tegula_pkg::BurstFlits);
  localparam int unsigned DramLatency = tegula_pkg::DramLatency;
  localparam int unsigned FlightW = $clog2(DramLatency + 2);

  // The bursts in the buffers are a ring, each on its way through four stages: pushed at tail_q,
  // done at the port at done_q, complete (the last data are there) at complete_q, granted at
  // head_q. A buffer is free when its last flit was read. The link from the memory carries one
  // burst after the other, each as long as its atoms take, from its first data on.
  fabric_pkg::burst_t burst_q [Buffers];
  logic [23:0] cost_q [Buffers];  // cycles on the link
  logic [23:0] link_q, link;      // those so far, of the burst at complete_q
  logic [BufferW-1:0] tail_q, done_q, complete_q, head_q;
  logic [6:0] used_q;          // buffers in use
  logic [6:0] pending_count_q;   // of these done at the port, but not complete
  logic [6:0] complete_count_q;  // of these complete, but not granted
  logic [6:0] arrived_count_q;   // bursts whose data have all come, but not complete
  logic some_q;                  // some data of the next one have
  logic arrived, complete_now, req_q, freed;

  fabric_pkg::piece_t flight_q [DramLatency + 2];  // pieces in flight, see below
  fabric_pkg::piece_t piece;                        // of the data that come

  function automatic logic [BufferW-1:0] next(input logic [BufferW-1:0] slot);
    next = slot == BufferW'(Buffers - 1) ? '0 : slot + 1'b1;
  endfunction

  assign free_o = used_q != 7'(Buffers);
  assign busy_o = used_q != '0;
  assign arrived = data_valid_i && piece.burst_last;
  assign link = link_q + {23'd0, arrived_count_q != '0 || some_q || data_valid_i};
  assign complete_now = pending_count_q != '0 && (arrived_count_q != '0 || arrived) &&
      link >= cost_q[complete_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {tail_q, done_q, complete_q, head_q} <= '0;
      {used_q, pending_count_q, complete_count_q} <= '0;
      arrived_count_q <= '0;
      some_q <= 1'b0;
      link_q <= '0;
      req_q <= 1'b0;
    end else if (start_i) begin
      {tail_q, done_q, complete_q, head_q} <= '0;
      {used_q, pending_count_q, complete_count_q} <= '0;
      arrived_count_q <= '0;
      some_q <= 1'b0;
      link_q <= '0;
      req_q <= 1'b0;
    end else if (push_i || used_q != '0) begin
      if (push_i) tail_q <= next(tail_q);
      if (done_i) done_q <= next(done_q);
      if (complete_now) complete_q <= next(complete_q);
      if (grant_i) head_q <= next(head_q);
      used_q <= used_q + {6'd0, push_i} - {6'd0, freed};
      pending_count_q <= pending_count_q + {6'd0, done_i} - {6'd0, complete_now};
      arrived_count_q <= arrived_count_q + {6'd0, arrived} - {6'd0, complete_now};
      complete_count_q <= complete_count_q + {6'd0, complete_now} - {6'd0, grant_i};
      if (data_valid_i) some_q <= !arrived;
      link_q <= complete_now ? '0 : link;
      req_q <= req_q ? !grant_i : complete_count_q != '0 || complete_now;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) burst_q[tail_q] <= burst_i;
    if (done_i) cost_q[done_q] <= cost_i;
  end

  // Pieces in flight to the memory and back.
  logic [FlightW-1:0] flight_in_q, flight_out_q;
  assign piece = flight_q[flight_out_q];

  function automatic logic [FlightW-1:0] next_flight(input logic [FlightW-1:0] slot);
    next_flight = slot == FlightW'(DramLatency + 1) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {flight_in_q, flight_out_q} <= '0;
    else if (start_i) {flight_in_q, flight_out_q} <= '0;
    else begin
      if (piece_valid_i) flight_in_q <= next_flight(flight_in_q);
      if (data_valid_i) flight_out_q <= next_flight(flight_out_q);
    end
  end
  always_ff @(posedge clk_i) if (piece_valid_i) flight_q[flight_in_q] <= piece_i;

  // The flit that is being put together, and the buffers.
  logic [tegula_pkg::FlitBits-1:0] flit, partial_q, read_q;
  logic [tegula_pkg::FlitBits-1:0] mem_q [Buffers*tegula_pkg::BurstFlits];
  logic [BufferW-1:0] write_slot_q, read_slot_q;
  logic [FlitW-1:0] write_flit_q, read_flit_q;
  logic read;

  agcu_convert u_convert (
    .valid_i  (data_valid_i),
    .piece_i  (piece),
    .data_i,
    .partial_i(partial_q),
    .flit_o   (flit)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_slot_q <= '0;
      write_flit_q <= '0;
    end else if (start_i) begin
      write_slot_q <= '0;
      write_flit_q <= '0;
    end else if (data_valid_i && piece.flit_last) begin
      write_flit_q <= piece.burst_last ? '0 : write_flit_q + 1'b1;
      if (piece.burst_last) write_slot_q <= next(write_slot_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (data_valid_i) begin
      if (piece.flit_last) mem_q[{write_slot_q, write_flit_q}] <= flit;
      else partial_q <= flit;
    end
    if (read) read_q <= mem_q[{read_slot_q, read_flit_q}];
    if (grant_i) begin
      read_slot_q <= head_q;
      read_flit_q <= '0;
    end else if (read) begin
      read_flit_q <= read_flit_q + 1'b1;
    end
  end
  assign flit_o = read_q;

  // The source of the lane.
  fabric_pkg::burst_t head;
  logic last;
  assign head = burst_q[head_q];
  assign req_o = req_q;
  always_comb begin
    request_o.len = head.flits;
    request_o.farthest = '0;
    if (req_q) begin
      for (int p = 0; p < 17; p++) if (head.route.mask[p]) request_o.farthest = 5'(p);
    end
  end

  burst_source u_source (
    .clk_i, .rst_ni, .start_i, .grant_i,
    .flits_i    (head.flits),
    .last_i     (head.last),
    .route_i    (head.route),
    .new_rows_i (1'b1),
    .read_o     (read),
    .burst_end_o(freed),
    .last_o     (last),
    .side_o
  );

  logic [2:0] end_context_q;
  fabric_pkg::posts_t end_posts_q;
  always_ff @(posedge clk_i) begin
    if (grant_i) begin
      end_context_q <= head.context_id;
      end_posts_q <= head.posts;
    end
  end
  assign end_o.valid = freed && last;
  assign end_o.context_id = end_context_q;
  assign end_o.posts = end_posts_q;

  `ASSERT(BufferIsFree, !push_i || start_i || free_o)
  `ASSERT(GrantOfARequest, !grant_i || req_q)
  `ASSERT(FreesWhatIsUsed, !freed || used_q != '0)
  `ASSERT(ArrivesInABuffer, !data_valid_i || used_q != '0)
  `ASSERT(ArrivedIsPending, complete_count_q == '0 || pending_count_q + complete_count_q <= used_q)
  `ASSERT(SendsWhatIsComplete, !grant_i || complete_count_q != '0)
  `ASSERT(DataOfAPiece, !data_valid_i || flight_in_q != flight_out_q)
  `ASSERT(FlightHasRoom, !piece_valid_i || start_i || data_valid_i ||
          next_flight(flight_in_q) != flight_out_q)
endmodule
