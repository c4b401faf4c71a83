`include "assert.svh"

// The post links of a row or column of N endpoints: what each endpoint posts reaches the others one register a hop.
// An endpoint picks the posts for its own position out of each bundle (semaphores.sv).
module post_link #(
    parameter int unsigned N = 3
) (
    input  logic                                   clk_i,
    input  logic                                   rst_ni,
    input  logic                                   start_i,
    input  logic [N-1:0]                           valid_i, // the endpoint posts something remote of this kind
    input  logic [N*fabric_pkg::BUNDLE_BITS-1:0]   posts_i,
    output logic [N*N-1:0]                         valid_o, // [destination*N + source]
    output logic [N*N*fabric_pkg::BUNDLE_BITS-1:0] posts_o,
    output logic                                   busy_o
);
  localparam int unsigned B = fabric_pkg::BUNDLE_BITS;

  assign busy_o = valid_o != '0;

  for (genvar s = 0; s < N; s++) begin : g_source
    for (genvar d = 0; d < N; d++) begin : g_hop
      if (d == s) begin : g_own
        assign valid_o[d*N+s] = 1'b0;
        assign posts_o[(d*N+s)*B+:B] = '0;
      end else begin : g_link
        localparam int unsigned FROM = d > s ? d - 1 : d + 1; // the position before, seen from the source
        logic valid_q, valid;
        logic [B-1:0] posts_q, posts;
        if (FROM == s) begin : g_first
          assign valid = valid_i[s];
          assign posts = posts_i[s*B+:B];
        end else begin : g_next
          assign valid = valid_o[FROM*N+s];
          assign posts = posts_o[(FROM*N+s)*B+:B];
        end
        always_ff @(posedge clk_i or negedge rst_ni) begin
          if (!rst_ni) valid_q <= 1'b0;
          else valid_q <= valid && !start_i;
        end
        always_ff @(posedge clk_i) if (valid) posts_q <= posts;
        assign valid_o[d*N+s] = valid_q;
        assign posts_o[(d*N+s)*B+:B] = posts_q;
      end
    end
  end

  // What an endpoint posts is in the next registers a cycle later, both ways: no post is lost.
  for (genvar s = 0; s < N; s++) begin : g_assert
    if (s > 0) begin : g_down
      `ASSERT_NEXT(PostArrives, valid_i[s] && !start_i, valid_o[(s-1)*N+s])
    end
    if (s < N - 1) begin : g_up
      `ASSERT_NEXT(PostArrives, valid_i[s] && !start_i, valid_o[(s+1)*N+s])
    end
  end
endmodule
