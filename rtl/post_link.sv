`include "assert.svh"

// The post links of a row or column of N endpoints: what each endpoint posts reaches the others one
// register a hop. An endpoint picks the posts for its own position out of each bundle
// (semaphores.sv).
module post_link #(
  parameter int unsigned N = 3
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic [N-1:0]                            start_i,  // at each position
  // What each endpoint posts, if some of it is remote and of this kind
  input  logic [N-1:0]                            valid_i,
  input  logic [N-1:0][fabric_pkg::BundleBits-1:0] posts_i,
  // [destination][source]
  output logic [N-1:0][N-1:0]                     valid_o,
  output logic [N-1:0][N-1:0][fabric_pkg::BundleBits-1:0] posts_o,
  output logic                                    busy_o
);
  assign busy_o = valid_o != '0;

  for (genvar s = 0; s < N; s++) begin : gen_source
    for (genvar d = 0; d < N; d++) begin : gen_hop
      if (d == s) begin : gen_own
        assign valid_o[d][s] = 1'b0;
        assign posts_o[d][s] = '0;
      end else begin : gen_link
        // The position before this one, seen from the source.
        localparam int unsigned From = d > s ? d - 1 : d + 1;
        logic valid_q, valid;
        logic [fabric_pkg::BundleBits-1:0] posts_q, posts;
        if (From == s) begin : gen_first
          assign valid = valid_i[s];
          assign posts = posts_i[s];
        end else begin : gen_next
          assign valid = valid_o[From][s];
          assign posts = posts_o[From][s];
        end
        always_ff @(posedge clk_i or negedge rst_ni) begin
          if (!rst_ni) valid_q <= 1'b0;
          else valid_q <= valid && !start_i[d];
        end
        always_ff @(posedge clk_i) if (valid) posts_q <= posts;
        assign valid_o[d][s] = valid_q;
        assign posts_o[d][s] = posts_q;
      end
    end
  end

  // What an endpoint posts is in the next registers a cycle later, both ways: no post is lost.
  for (genvar s = 0; s < N; s++) begin : gen_assert
    if (s > 0) begin : gen_down
      `ASSERT_NEXT(PostArrives, valid_i[s] && !start_i[s], valid_o[s-1][s])
    end
    if (s < N - 1) begin : gen_up
      `ASSERT_NEXT(PostArrives, valid_i[s] && !start_i[s], valid_o[s+1][s])
    end
  end
endmodule
