`include "assert.svh"

// A post lane of a row or column, one way: a register a hop, each with one post for one endpoint. A
// post that goes on keeps an endpoint from sending one of its own in that cycle.
module post_lane #(
  parameter int unsigned N          = 3,
  parameter bit          Descending = 1'b0  // towards lower positions
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [N-1:0]                 start_i,   // at each position
  output logic [N-1:0]                 free_o,    // may send
  input  logic [N-1:0]                 send_i,
  input  logic [N*fabric_pkg::PostBits-1:0] post_i,
  output logic [N-1:0]                 arrive_o,
  output logic [N*10-1:0]              sem_o,
  output logic                         busy_o
);
  localparam int unsigned PostBits = fabric_pkg::PostBits;
  localparam int unsigned Start = Descending ? N - 1 : 0;  // nothing arrives here

  logic [N-1:0] valid, onwards;  // in the register in front of a position; for one beyond it
  logic [N*PostBits-1:0] post;
  assign busy_o = valid != '0;
  assign free_o = ~onwards;

  for (genvar p = 0; p < N; p++) begin : gen_position
    logic [4:0] here, destination;  // where what is here goes, and what it sends
    assign here = post[p*PostBits+10+:5];
    assign destination = post_i[p*PostBits+10+:5];
    assign onwards[p] = valid[p] && here != 5'(p);
    assign arrive_o[p] = valid[p] && here == 5'(p);
    assign sem_o[p*10+:10] = post[p*PostBits+:10];
    if (p == Start) begin : gen_start
      assign valid[p] = 1'b0;
      assign post[p*PostBits+:PostBits] = '0;
    end else begin : gen_register
      localparam int unsigned From = Descending ? p + 1 : p - 1;
      logic valid_q;
      logic [PostBits-1:0] post_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) valid_q <= 1'b0;
        else valid_q <= !start_i[p] && (onwards[From] || send_i[From]);
      end
      always_ff @(posedge clk_i) begin
        if (onwards[From]) post_q <= post[From*PostBits+:PostBits];
        else if (send_i[From]) post_q <= post_i[From*PostBits+:PostBits];
      end
      assign valid[p] = valid_q;
      assign post[p*PostBits+:PostBits] = post_q;
    end
    `ASSERT(SendsIntoAFreeSlot, !send_i[p] || start_i[p] || !onwards[p])
    `ASSERT(GoesTheRightWay, !send_i[p] || start_i[p] ||
            (Descending ? {27'd0, destination} + 32'd1 <= p
                        : {27'd0, destination} > p && {27'd0, destination} < N))
  end
endmodule
