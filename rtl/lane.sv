`include "assert.svh"

// A lane of a row or column: its arbiter, and one register a segment. A flit in the register of a segment arrives at the
// position at its end in that cycle, and goes on while destinations lie beyond. Grants keep the segments free of clashes.
module lane #(
    parameter int unsigned N = 3,
    parameter bit DESCENDING = 1'b0
) (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    input  logic                               start_i,
    input  logic [7:0]                         fault_i,
    input  logic [N-1:0]                       req_i,
    input  logic [N*5-1:0]                     far_i,
    input  logic [N*7-1:0]                     len_i,
    output logic [N-1:0]                       grant_o,
    input  logic [N-1:0]                       send_i, // a flit leaves the position in this cycle
    input  logic [N*fabric_pkg::SIDE_BITS-1:0] side_i,
    input  logic [N*tegula_pkg::FLIT_BITS-1:0] data_i,
    output logic [N-1:0]                       arrive_o, // a flit for the position is here
    output logic [N*fabric_pkg::SIDE_BITS-1:0] side_o,
    output logic [N*tegula_pkg::FLIT_BITS-1:0] data_o,
    output logic                               busy_o
);
  localparam int unsigned W = tegula_pkg::FLIT_BITS;
  localparam int unsigned SB = fabric_pkg::SIDE_BITS;

  logic [N-2:0] valid;
  assign busy_o = valid != '0 || req_i != '0 || send_i != '0;

  lane_arbiter #(.N(N), .DESCENDING(DESCENDING)) u_arbiter (
      .clk_i, .rst_ni, .start_i, .fault_i, .req_i, .far_i, .len_i, .grant_o
  );

  for (genvar s = 0; s < N - 1; s++) begin : g_segment
    localparam int unsigned FROM = DESCENDING ? s + 1 : s; // position that sends into the segment
    localparam int unsigned TO = DESCENDING ? s : s + 1;
    // Positions downstream of FROM: a flit from the segment before goes on for these.
    localparam logic [16:0] BEYOND = DESCENDING ? 17'((32'd1 << FROM) - 32'd1) : ~17'((32'd2 << FROM) - 32'd1);
    logic valid_q, through;
    fabric_pkg::side_t side_q;
    logic [W-1:0] data_q;
    fabric_pkg::side_t prev;
    assign valid[s] = valid_q;

    if (FROM == (DESCENDING ? N - 1 : 0)) begin : g_first
      assign prev = '0;
      assign through = 1'b0;
    end else begin : g_next
      assign prev = side_o[FROM*SB+:SB]; // what arrives at FROM stands in the segment before
      assign through = prev.valid && (prev.mask & BEYOND) != '0;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= !start_i && (send_i[FROM] || through);
    end
    always_ff @(posedge clk_i) begin
      if (send_i[FROM]) begin
        side_q <= side_i[FROM*SB+:SB];
        data_q <= data_i[FROM*W+:W];
      end else if (through) begin
        side_q <= prev;
        data_q <= data_o[FROM*W+:W];
      end
    end

    assign side_o[TO*SB+:SB] = {valid_q, side_q[SB-2:0]};
    assign data_o[TO*W+:W] = data_q;
    assign arrive_o[TO] = valid_q && side_q.mask[TO];
  end

  localparam int unsigned START = DESCENDING ? N - 1 : 0; // no segment ends here
  assign side_o[START*SB+:SB] = '0;
  assign data_o[START*W+:W] = '0;
  assign arrive_o[START] = 1'b0;

  // Two flits never want a segment in one cycle: none is lost.
  for (genvar s = 0; s < N - 1; s++) begin : g_assert
    `ASSERT(OneFlitASegment, !(send_i[DESCENDING ? s + 1 : s] && g_segment[s].through))
  end
endmodule
