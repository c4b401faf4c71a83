`include "assert.svh"

// The posts of an endpoint's streams in one cycle: a local one is performed, a remote one if the
// slot of its direction is free and no stream before it takes that. Directions are east, west,
// south, north.
module post_arbiter #(
  parameter int unsigned Streams = 4  // in order of precedence
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  logic [7:0]                          defect_i,
  input  logic [4:0]                          row_pos_i,  // own positions: constants
  input  logic [4:0]                          col_pos_i,
  input  logic [Streams-1:0]                  valid_i,
  input  logic [Streams*2-1:0]                kinds_i,
  input  logic [Streams*fabric_pkg::PostBits-1:0] posts_i,
  output logic [Streams-1:0]                  done_o,
  output logic [Streams-1:0]                  local_o,    // of these, to the own semaphores
  // Slots of the post lanes
  input  logic [3:0]                          free_i,
  output logic [3:0]                          send_o,
  output logic [4*fabric_pkg::PostBits-1:0]   send_posts_o
);
  localparam int unsigned PostBits = fabric_pkg::PostBits;

  logic [3:0] taken;
  logic [Streams*2-1:0] directions;
  fabric_pkg::post_t post;
  always_comb begin
    taken = '0;
    done_o = '0;
    local_o = '0;
    directions = '0;
    send_posts_o = '0;
    post = '0;
    if (valid_i != '0) begin
      for (int s = 0; s < Streams; s++) begin
        post = posts_i[s*PostBits+:PostBits];
        if (kinds_i[s*2+:2] == tegula_pkg::PostRow) begin
          directions[s*2+:2] = {1'b0, post.pos < row_pos_i};
        end else begin
          directions[s*2+:2] = {1'b1, post.pos < col_pos_i};
        end
        if (valid_i[s] && kinds_i[s*2+:2] == tegula_pkg::PostLocal) begin
          done_o[s] = 1'b1;
          local_o[s] = 1'b1;
        end else if (valid_i[s] && free_i[directions[s*2+:2]] && !taken[directions[s*2+:2]]) begin
          done_o[s] = 1'b1;
          taken[directions[s*2+:2]] = 1'b1;
          send_posts_o[directions[s*2+:2]*PostBits+:PostBits] = post;
        end
      end
    end
  end

  // A deliberate defect of test builds: of the cycles in which something is sent, every 16th's is
  // lost.
  if (fabric_pkg::Defects) begin : gen_defect
    logic [3:0] count_q;
    assign send_o = defect_i == tegula_pkg::RtlDefectLostPost && count_q == 4'd15 ? '0 : taken;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q <= '0;
      else if (start_i) count_q <= '0;
      else count_q <= count_q + {3'd0, taken != '0};
    end
  end else begin : gen_no_defect
    assign send_o = taken;
  end

  `ASSERT(DoesWhatIsThere, (done_o & ~valid_i) == '0)
  `ASSERT(SendsIntoFreeSlots, (send_o & ~free_i) == '0)
endmodule
