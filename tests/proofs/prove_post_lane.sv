// A post lane of four endpoints, each way: a post that is sent is at its endpoint as many cycles later as there are hops, and
// nothing else ever arrives, so that none is lost, doubled, changed or made up; an endpoint may send unless one goes past it.
// A semaphore counts a post a cycle after it has arrived: latency hops + 1. When it counts, and whom it keeps from sending, is what
// SystemC's rules say (decisions, from truth_tables.c).
// modules: post_lane
// planted: post_lane.sv: else valid_q <= !start_i[p] && (onwards[From] || send_i[From]); => else valid_q <= !start_i[p] && (onwards[From] || send_i[From] && p != 2);
// planted: post_lane.sv: assign free_o = ~onwards; => assign free_o = ~valid;
// planted: post_lane.sv: assign onwards[p] = valid[p] && here != 5'(p); => assign onwards[p] = valid[p] && (here != 5'(p) || post[p*PostBits]);
// planted: post_lane.sv: if (onwards[From]) post_q <= post[From*PostBits+:PostBits]; => if (onwards[From]) post_q <= post[From*PostBits+:PostBits] & ~15'd1;
module post_lane_checks #(
  parameter bit Descending = 1'b0
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_i,
  input logic [3:0]  send_i,
  input logic [59:0] post_i
);
  localparam int unsigned N = 4;
  logic [3:0] free, arrive;
  logic [39:0] sem;
  logic busy;
  post_lane #(.N(N), .Descending(Descending)) u_lane (
    .clk_i, .rst_ni, .start_i({N{start_i}}), .free_o(free), .send_i, .post_i, .arrive_o(arrive), .sem_o(sem), .busy_o(busy)
  );

  // What was sent one, two and three cycles ago; a start forgets it.
  logic [2:0][3:0] sent_q;
  logic [2:0][59:0] posts_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sent_q <= '0;
    else if (start_i) sent_q <= '0;
    else sent_q <= {sent_q[1], sent_q[0], send_i};
  end
  always_ff @(posedge clk_i) posts_q <= {posts_q[1], posts_q[0], post_i};

  for (genvar p = 0; p < N; p++) begin : gen_position
    always_comb begin
      if (send_i[p]) begin
        assume (free[p]);
        if (Descending) assume (post_i[p*15+10+:5] < 5'(p));
        else assume (post_i[p*15+10+:5] > 5'(p) && post_i[p*15+10+:5] < 5'(N));
      end
    end

    // Of each source before this position: has its post come here, and does it go on?
    logic [3:0] comes, passes, right, refused, counted;
    for (genvar s = 0; s < N; s++) begin : gen_source
      if (Descending ? s > p : s < p) begin : gen_before
        localparam int unsigned Ago = (Descending ? s - p : p - s) - 1;
        logic [4:0] pos;
        assign pos = posts_q[Ago][s*15+10+:5];
        assign comes[s] = sent_q[Ago][s] && pos == 5'(p);
        assign passes[s] = sent_q[Ago][s] && (Descending ? pos < 5'(p) : pos > 5'(p));
        assign right[s] = !comes[s] || posts_q[Ago][s*15+:10] == sem[p*10+:10];
      end else begin : gen_none
        assign comes[s] = 1'b0;
        assign passes[s] = 1'b0;
        assign right[s] = 1'b1;
      end
    end
    // SystemC, of every post of the last cycles.
    logic [1:0] said;
    always_comb begin
      {refused, counted} = '0;
      said = '0;
      for (int s = 0; s < N; s++) begin
        for (int ago = 0; ago < 3; ago++) begin
          if (Descending) said = decisions::post_hops_down({2'(ago), 2'(s), posts_q[ago][s*15+10+:2], 2'(p)});
          else said = decisions::post_hops_up({2'(ago), 2'(s), posts_q[ago][s*15+10+:2], 2'(p)});
          if (sent_q[ago][s]) {refused[s], counted[s]} = {refused[s] | said[1], counted[s] | said[0]};
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        assert (arrive[p] == (counted != '0) && free[p] == (refused == '0));
        Arrives : assert (arrive[p] == (comes != '0));
        Unchanged : assert (right == '1);
        Alone : assert ((comes & (comes - 4'd1)) == '0 && (passes == '0 || comes == '0));
        MaySend : assert (free[p] == (passes == '0));
      end
    end
  end
endmodule

module prove_post_lane (
  input logic         clk_i,
  input logic         start_i,
  input logic [7:0]   send_i,
  input logic [119:0] post_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  post_lane_checks #(.Descending(1'b0)) u_up (.clk_i, .rst_ni(rst_nq), .start_i, .send_i(send_i[3:0]), .post_i(post_i[59:0]));
  post_lane_checks #(.Descending(1'b1)) u_down (.clk_i, .rst_ni(rst_nq), .start_i, .send_i(send_i[7:4]), .post_i(post_i[119:60]));
endmodule
