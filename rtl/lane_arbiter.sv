`include "assert.svh"

// The arbiter of a lane: grants at most one burst a cycle, the oldest request that overlaps no held
// window of a segment and wants no segment that an older waiting request wants (docs/machine.md,
// section 6).
//
// Position s and s+1 are joined by segment s. Requests of one age are ordered by position.
module lane_arbiter #(
  parameter int unsigned N          = 3,    // positions
  parameter bit          Descending = 1'b0  // bursts travel towards lower positions
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  logic [7:0]                        defect_i,
  input  logic [N-1:0]                      req_i,
  input  logic [N*fabric_pkg::RequestBits-1:0] request_i,  // lane_request_t of each
  output logic [N-1:0]                      grant_o
);
  logic [N-1:0] seen_q;                 // requests that were waiting in the cycle before
  logic [N-1:0][N-1:0] older_q, older;  // [i][j]: request i is older than request j
  logic [N-1:0][N-2:0] path;            // [i][s]: request i wants segment s
  logic [N-2:0][6:0] hold_q;            // cycles that a segment is still reserved
  logic [N-1:0] eligible;

  localparam int unsigned RequestBits = fabric_pkg::RequestBits;

  logic [6:0] hops, hold;
  logic [4:0] farthest;
  always_comb begin
    hops = '0;
    hold = '0;
    farthest = '0;
    older = '0;
    path = '0;
    eligible = '0;
    grant_o = '0;
    if (req_i != '0) begin
      for (int i = 0; i < N; i++) begin
        for (int j = 0; j < N; j++) begin
          if (req_i[i] && req_i[j]) begin
            if (seen_q[i] && seen_q[j]) older[i][j] = older_q[i][j];
            else older[i][j] = seen_q[i] || (!seen_q[j] && i < j);
          end
        end
        eligible[i] = req_i[i];
        farthest = request_i[i*RequestBits+7+:5];
        for (int s = 0; s < N - 1; s++) begin
          hops = Descending ? 7'(i - 1 - s) : 7'(s - i);
          hold = hold_q[s];
          if (fabric_pkg::Defects && defect_i == tegula_pkg::RtlDefectShortReservation &&
              hold != '0) begin
            hold = hold - 7'd1;
          end
          if (req_i[i] && (Descending ? s < i && 5'(s) >= farthest
                                      : s >= i && 5'(s) < farthest)) begin
            path[i][s] = 1'b1;
            if (hops < hold) eligible[i] = 1'b0;
          end
        end
      end
      for (int i = 0; i < N; i++) begin
        for (int j = 0; j < N; j++) begin
          if (older[j][i] && (path[i] & path[j]) != '0) eligible[i] = 1'b0;
        end
      end
      grant_o = eligible;
      for (int i = 0; i < N; i++) begin
        for (int j = 0; j < N; j++) if (older[j][i] && eligible[j]) grant_o[i] = 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      seen_q <= '0;
      hold_q <= '0;
    end else if (start_i) begin
      seen_q <= '0;
      hold_q <= '0;
    end else begin
      seen_q <= req_i & ~grant_o;
      for (int s = 0; s < N - 1; s++) if (hold_q[s] != '0) hold_q[s] <= hold_q[s] - 7'd1;
      if (grant_o != '0) begin
        for (int i = 0; i < N; i++) begin
          for (int s = 0; s < N - 1; s++) begin
            if (grant_o[i] && path[i][s]) begin
              hold_q[s] <= (Descending ? 7'(i - 1 - s) : 7'(s - i)) +
                           request_i[i*RequestBits+:7] - 7'd1;
            end
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) if (req_i != '0) older_q <= older;

  `ASSERT(GrantsOnlyRequests, (grant_o & ~req_i) == '0)
  `ASSERT(GrantsOneRequest, $onehot0(grant_o))
`ifdef TEGULA_ASSERT
  // No two bursts granted in a cycle want the same segment, and none meets a flit of an earlier
  // one.
  for (genvar s = 0; s < N - 1; s++) begin : gen_assert
    logic [N-1:0] granted;
    for (genvar i = 0; i < N; i++) begin : gen_granted
      assign granted[i] = grant_o[i] && path[i][s];
      if (Descending ? i > s : i <= s) begin : gen_upstream
        localparam logic [6:0] Hops = Descending ? 7'(i - 1 - s) : 7'(s - i);
        `ASSERT(SegmentIsFree, !granted[i] || hold_q[s] <= Hops)
      end
    end
    `ASSERT(OneGrantASegment, $onehot0(granted))
  end
`endif
endmodule
