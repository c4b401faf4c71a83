// Post links of four endpoints: what an endpoint posts is at distance d exactly d cycles later, and nothing else ever is, so
// that none is lost, doubled or made up. A semaphore counts it a cycle after that: latency hops + 1.
// modules: post_link
// constants: AgcuContexts=1
// planted: post_link.sv: localparam int unsigned From = d > s ? d - 1 : d + 1; => localparam int unsigned From = d > s + 1 && d == N - 1 ? d - 2 : d > s ? d - 1 : d + 1;
// planted: post_link.sv: else valid_q <= valid && !start_i => else valid_q <= (valid || valid_q && posts_q[0]) && !start_i
// planted: post_link.sv: if (valid) posts_q <= posts; => if (valid && !posts[0]) posts_q <= posts;
module prove_post_link (
  input logic clk_i,
  input logic start_i,
  input logic [3:0] valid_i,
  input logic [4*4*68-1:0] posts_i
);
  localparam int unsigned N = 4;
  localparam int unsigned Bits = 4 * 68;
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic [15:0] valid;       // [destination*4+source]
  logic [16*Bits-1:0] posts;
  logic busy;
  post_link #(.N(N)) u_link (
    .clk_i, .rst_ni(rst_nq), .start_i({N{start_i}}), .valid_i, .posts_i, .valid_o(valid), .posts_o(posts), .busy_o(busy)
  );

  // What each endpoint posted one, two and three cycles ago; a start forgets it.
  logic [3:0] one_q, two_q, three_q;
  logic [4*Bits-1:0] posted_one_q, posted_two_q, posted_three_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {one_q, two_q, three_q} <= '0;
    else if (start_i) {one_q, two_q, three_q} <= '0;
    else {one_q, two_q, three_q} <= {valid_i, one_q, two_q};
  end
  always_ff @(posedge clk_i) begin
    posted_one_q <= posts_i;
    posted_two_q <= posted_one_q;
    posted_three_q <= posted_two_q;
  end
  logic [3*4-1:0] before;
  logic [3*4*Bits-1:0] posted;
  assign before = {three_q, two_q, one_q};
  assign posted = {posted_three_q, posted_two_q, posted_one_q};

  for (genvar d = 0; d < N; d++) begin : gen_destination
    for (genvar s = 0; s < N; s++) begin : gen_source
      if (s == d) begin : gen_own
        always_ff @(posedge clk_i) if (rst_nq) assert (!valid[d*4+s]);
      end else begin : gen_other
        localparam int unsigned Hops = d > s ? d - s : s - d;
        always_ff @(posedge clk_i) begin
          if (rst_nq) begin
            assert (valid[d*4+s] == before[(Hops-1)*4+s]);
            if (valid[d*4+s]) begin  // each bit of a bundle has its own registers: the first and the last
              assert (posts[(d*4+s)*Bits] == posted[((Hops-1)*4+s)*Bits]);
              assert (posts[(d*4+s)*Bits+Bits-1] == posted[((Hops-1)*4+s)*Bits+Bits-1]);
            end
          end
        end
      end
    end
  end
  always_ff @(posedge clk_i) if (rst_nq) assert (busy == (valid != '0));
endmodule
