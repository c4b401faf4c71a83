`include "assert.svh"

// A stream of posts: those of the instructions of a unit, in the order in which they end, one a
// cycle.
//
// An instruction comes when it issues, its posts leave from its end on, and it stays until the last
// has been performed: the unit issues no other while there is no room, so nothing is ever lost.
module post_source #(
  parameter int unsigned Depth = 2,  // a power of two
  parameter int unsigned Limit = 2   // instructions, as registered, from which on there is no room
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  logic                             push_i,   // an instruction
  input  logic [fabric_pkg::PostsBits-1:0] posts_i,
  input  logic                             end_i,    // the oldest that has not ended does
  // The post of this cycle, and whether it is performed
  output logic                             valid_o,
  output logic [1:0]                       kind_o,
  output fabric_pkg::post_t                post_o,
  input  logic                             done_i,
  output logic                             leaves_o,  // the last post of an instruction is
  output logic                             room_o,
  output logic                             flight_o  // some have not ended
);
  localparam int unsigned CountW = $clog2(Depth) + 1;

  logic [fabric_pkg::PostsBits-1:0] oldest;
  logic [CountW-1:0] count_q, ended_q;  // instructions here; of these ended
  logic empty, ready, begun_q, leaves, through, push;
  logic [3:0] left_q, left, rest;
  fabric_pkg::posts_t posts;

  // One that ends as it comes, a SYNC, need not be stored.
  assign posts = empty ? posts_i : oldest;
  assign ready = ended_q != '0 || end_i;

  always_comb begin
    for (int i = 0; i < 4; i++) left[i] = posts.kind[i] != tegula_pkg::PostNone;
    if (begun_q) left = left_q;
    kind_o = posts.kind[0];
    post_o.pos = posts.pos[0];
    post_o.sem = posts.sem[0];
    for (int i = 3; i >= 0; i--) begin
      if (left[i]) begin
        kind_o = posts.kind[i];
        post_o.pos = posts.pos[i];
        post_o.sem = posts.sem[i];
      end
    end
  end
  assign valid_o = ready && left != '0;
  assign rest = done_i ? left & (left - 4'd1) : left;
  assign leaves = ready && rest == '0;
  assign through = leaves && empty;
  assign leaves_o = leaves;
  assign push = push_i && !through;

  post_fifo #(.Depth(Depth)) u_fifo (
    .clk_i, .rst_ni, .start_i,
    .push_i (push),
    .posts_i,
    .pop_i  (leaves && !empty),
    .posts_o(oldest),
    .empty_o(empty)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      ended_q <= '0;
      begun_q <= 1'b0;
    end else if (start_i) begin
      count_q <= '0;
      ended_q <= '0;
      begun_q <= 1'b0;
    end else if (push_i || ready) begin
      count_q <= count_q + CountW'(push_i) - CountW'(leaves);
      ended_q <= ended_q + CountW'(end_i) - CountW'(leaves);
      begun_q <= ready && !leaves;
    end
  end
  always_ff @(posedge clk_i) if (ready) left_q <= rest;

  assign room_o = count_q < CountW'(Limit);
  assign flight_o = count_q != ended_q;

  `ASSERT(EndsWhatIsHere, !end_i || start_i || flight_o || push_i)
  `ASSERT(PerformsWhatItHas, !done_i || valid_o)
  `ASSERT(StoresWhatIsInside, start_i || (empty == (count_q == '0)))
endmodule
