`include "assert.svh"

// Posts of the instructions in flight in a unit, oldest first.
module post_fifo #(
    parameter int unsigned DEPTH = 4
) (
    input  logic                              clk_i,
    input  logic                              rst_ni,
    input  logic                              start_i,
    input  logic                              push_i,
    input  logic [fabric_pkg::POSTS_BITS-1:0] posts_i,
    input  logic                              pop_i,
    output logic [fabric_pkg::POSTS_BITS-1:0] posts_o,
    output logic                              empty_o
);
  localparam int unsigned PTR = DEPTH > 1 ? $clog2(DEPTH) : 1; // DEPTH is a power of two

  logic [fabric_pkg::POSTS_BITS-1:0] mem_q [DEPTH];
  logic [PTR:0] head_q, tail_q;
  logic [PTR-1:0] head, tail;

  assign head = DEPTH > 1 ? head_q[PTR-1:0] : '0;
  assign tail = DEPTH > 1 ? tail_q[PTR-1:0] : '0;
  assign posts_o = mem_q[head];
  assign empty_o = head_q == tail_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
    end else if (start_i) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      if (push_i) tail_q <= tail_q + 1'b1;
      if (pop_i) head_q <= head_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) mem_q[tail] <= posts_i;
  end

  `ASSERT(NoPushWhenFull, !push_i || start_i || pop_i || tail_q - head_q != (PTR + 1)'(DEPTH))
  `ASSERT(NoPopWhenEmpty, !pop_i || start_i || head_q != tail_q)
endmodule
