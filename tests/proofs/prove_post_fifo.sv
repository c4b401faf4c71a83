// The queue of posts: with pushes and pops in front of a full or an empty queue held back, as its users do, what comes out is
// what went in, in order, and `empty_o` says how many there are. One post, drawn once for all, is followed through.
// modules: post_fifo
// planted: post_fifo.sv: if (push_i) tail_q <= tail_q + 1'b1; => if (push_i && !pop_i) tail_q <= tail_q + 1'b1;
// planted: post_fifo.sv: if (push_i) mem_q[tail] <= posts_i; => if (push_i && !empty_o) mem_q[tail] <= posts_i;
// planted: post_fifo.sv: assign empty_o = head_q == tail_q; => assign empty_o = head == tail;
module fifo_checks #(
  parameter int unsigned Depth = 4
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i,
  input logic push_i,
  input logic pop_i,
  input logic [67:0] posts_i
);
  logic [67:0] posts;
  logic empty;
  logic [3:0] count_q;  // posts inside, counted apart
  post_fifo #(.Depth(Depth)) u_fifo (
    .clk_i, .rst_ni, .start_i, .push_i, .posts_i, .pop_i, .posts_o(posts), .empty_o(empty)
  );
  always_comb begin
    if (count_q == 4'd0) assume (!pop_i);
    if (count_q == 4'(Depth)) assume (!push_i || pop_i);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= '0;
    else count_q <= start_i ? '0 : count_q + 4'(push_i) - 4'(pop_i);
  end
  always_ff @(posedge clk_i) if (rst_ni) assert (empty == (count_q == 4'd0));

  // The post that is watched: at some push (any), its place from the front.
  logic watched_q;
  logic [3:0] place_q;
  logic [1:0] value_q;  // of the first and of the last bit: each has a column of its own
  (* anyseq *) logic pick;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) watched_q <= 1'b0;
    else if (start_i) watched_q <= 1'b0;
    else if (!watched_q && push_i && pick) begin
      watched_q <= 1'b1;
      place_q <= count_q - 4'(pop_i);
      value_q <= {posts_i[67], posts_i[0]};
    end else if (watched_q && pop_i) begin
      if (place_q == 4'd0) watched_q <= 1'b0;
      place_q <= place_q - 4'd1;
    end
  end
  always_ff @(posedge clk_i) if (rst_ni && watched_q && place_q == 4'd0) assert ({posts[67], posts[0]} == value_q && !empty);
endmodule

module prove_post_fifo (
  input logic clk_i,
  input logic start_i,
  input logic [1:0] push_i,
  input logic [1:0] pop_i,
  input logic [67:0] posts_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  fifo_checks #(.Depth(4)) u_four (.clk_i, .rst_ni(rst_nq), .start_i, .push_i(push_i[0]), .pop_i(pop_i[0]), .posts_i);
  fifo_checks #(.Depth(1)) u_one (.clk_i, .rst_ni(rst_nq), .start_i, .push_i(push_i[1]), .pop_i(pop_i[1]), .posts_i);
endmodule
