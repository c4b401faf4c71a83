`include "assert.svh"

// Posts of the instructions in flight in a unit, oldest first.
module post_fifo #(
  parameter int unsigned Depth = 4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  logic                             push_i,
  input  logic [fabric_pkg::PostsBits-1:0] posts_i,
  input  logic                             pop_i,
  output logic [fabric_pkg::PostsBits-1:0] posts_o,
  output logic                             empty_o
);
  localparam int unsigned PtrW = Depth > 1 ? $clog2(Depth) : 1;  // Depth is a power of two

  logic [fabric_pkg::PostsBits-1:0] mem_q [Depth];
  logic [PtrW:0] head_q, tail_q;
  logic [PtrW-1:0] head, tail;

  assign head = Depth > 1 ? head_q[PtrW-1:0] : '0;
  assign tail = Depth > 1 ? tail_q[PtrW-1:0] : '0;
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

  `ASSERT(NoPushWhenFull, !push_i || start_i || pop_i || tail_q - head_q != (PtrW + 1)'(Depth))
  `ASSERT(NoPopWhenEmpty, !pop_i || start_i || head_q != tail_q)
endmodule
