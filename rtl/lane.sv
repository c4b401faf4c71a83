`include "assert.svh"

// A lane of a row or column: its arbiter, and one register a segment. A flit in the register of a
// segment arrives at the position at its end in that cycle, and goes on while destinations lie
// beyond. Grants keep the segments free of clashes.
module lane #(
  parameter int unsigned N          = 3,
  parameter bit          Descending = 1'b0
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  input  logic [N-1:0]                           start_i,   // at each position
  input  logic [7:0]                             defect_i,
  // What each position says and hears
  input  fabric_pkg::lane_out_t [N-1:0]          lane_i,
  input  logic [N-1:0][tegula_pkg::FlitBits-1:0] data_i,
  output fabric_pkg::lane_in_t [N-1:0]           lane_o,
  output logic [N-1:0][tegula_pkg::FlitBits-1:0] data_o,
  output logic                                   busy_o
);
  logic [N-1:0] req, send;
  fabric_pkg::lane_request_t [N-1:0] request;
  for (genvar p = 0; p < N; p++) begin : gen_position
    assign req[p] = lane_i[p].req;
    assign request[p] = lane_i[p].request;
    assign send[p] = lane_i[p].send;
  end

  // What the arbiter decides in a cycle the positions know in the next. A request that has been
  // granted is still there then.
  logic [N-1:0] grant, grant_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) grant_q <= '0;
    else grant_q <= start_i[0] ? '0 : grant;
  end

  logic [N-2:0] valid;
  assign busy_o = valid != '0 || req != '0 || send != '0;

  lane_arbiter #(
    .N         (N),
    .Descending(Descending)
  ) u_arbiter (
    .clk_i, .rst_ni,
    .start_i  (start_i[0]),
    .defect_i,
    .req_i    (req & ~grant_q),
    .request_i(request),
    .grant_o  (grant)
  );

  for (genvar s = 0; s < N - 1; s++) begin : gen_segment
    localparam int unsigned From = Descending ? s + 1 : s;  // position that sends into the segment
    localparam int unsigned To = Descending ? s : s + 1;
    // Positions downstream of From: a flit from the segment before goes on for these.
    localparam logic [16:0] Beyond = Descending ? 17'((32'd1 << From) - 32'd1)
                                                : 17'(~((32'd2 << From) - 32'd1));
    logic valid_q, through;
    fabric_pkg::side_t side_q, prev;
    logic [tegula_pkg::FlitBits-1:0] data_q;
    assign valid[s] = valid_q;

    if (From == (Descending ? N - 1 : 0)) begin : gen_first
      assign prev = '0;
      assign through = 1'b0;
    end else begin : gen_next
      assign prev = lane_o[From].side;  // what arrives at From stands in the segment before
      assign through = prev.valid && (prev.mask & Beyond) != '0;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= !start_i[To] && (send[From] || through);
    end
    always_ff @(posedge clk_i) begin
      if (send[From]) begin
        side_q <= lane_i[From].side;
        data_q <= data_i[From];
      end else if (through) begin
        side_q <= prev;
        data_q <= data_o[From];
      end
    end

    assign lane_o[To].grant = grant_q[To];
    assign lane_o[To].arrive = valid_q && side_q.mask[To];
    assign lane_o[To].side = {valid_q, side_q[fabric_pkg::SideBits-2:0]};
    assign data_o[To] = data_q;

    // Two flits never want a segment in one cycle, and each has a destination: none is lost.
    `ASSERT(OneFlitASegment, !(send[From] && through))
    `ASSERT(FlitHasADestination,
            !send[From] || start_i[From] || (lane_i[From].side.mask & Beyond) != '0)
  end

  localparam int unsigned Start = Descending ? N - 1 : 0;  // no segment ends here
  assign lane_o[Start].grant = grant_q[Start];
  assign lane_o[Start].arrive = 1'b0;
  assign lane_o[Start].side = '0;
  assign data_o[Start] = '0;

  // A grant is answered by flits of that position alone: nothing leaves the last position.
  `ASSERT(NothingLeavesTheEnd, !send[Descending ? 0 : N - 1] || start_i[Descending ? 0 : N - 1])
endmodule
