`include "assert.svh"

// The source of a lane: of a granted burst, one row is read in each of the cycles g+1 .. g+n, and the sideband of its
// flit follows one cycle later, together with the data of the read.
module burst_source (
    input  logic                             clk_i,
    input  logic                             rst_ni,
    input  logic                             start_i,
    input  logic                             grant_i,
    input  logic [6:0]                       flits_i,
    input  logic                             last_i,    // last burst of its instruction
    input  logic                             new_rows_i, // the destination's rows begin anew, as follows
    input  logic [15:0]                      run_row_i,
    input  logic [15:0]                      run_pos_i,
    input  logic [15:0]                      inner_i,
    input  logic [15:0]                      stride_i,
    input  logic [16:0]                      mask_i,
    input  logic                             post_i,
    input  logic [9:0]                       sem_i,
    output logic                             read_o,    // a row is read in this cycle
    output logic                             burst_end_o, // ... the last of the burst
    output logic                             last_o,    // ... of the last burst
    output logic [fabric_pkg::SIDE_BITS-1:0] side_o
);
  logic [6:0] left_q;
  logic last_q, post_q;
  logic [9:0] sem_q;
  logic [16:0] mask_q;
  logic [15:0] row;
  fabric_pkg::side_t side_q;

  assign read_o = left_q != 7'd0;
  assign burst_end_o = left_q == 7'd1;
  assign last_o = last_q;
  assign side_o = side_q;

  row_walk u_rows (
      .clk_i, .load_i(grant_i && new_rows_i), .run_i(run_row_i), .pos_i(run_pos_i), .inner_i, .stride_i,
      .step_i(read_o), .row_o(row)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (start_i) left_q <= '0;
    else if (grant_i) left_q <= flits_i;
    else if (read_o) left_q <= left_q - 7'd1;
  end

  always_ff @(posedge clk_i) begin
    if (grant_i) begin
      last_q <= last_i;
      post_q <= post_i;
      sem_q <= sem_i;
      mask_q <= mask_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) side_q <= '0;
    else if (start_i || !read_o) side_q.valid <= 1'b0;
    else begin
      side_q.valid <= 1'b1;
      side_q.post <= post_q && last_q && burst_end_o;
      side_q.sem <= sem_q;
      side_q.row <= row;
      side_q.mask <= mask_q;
    end
  end

  `ASSERT(GrantAfterTheBurstBefore, !grant_i || left_q <= 7'd1)
  `ASSERT(GrantOfFlits, !grant_i || flits_i != '0)
endmodule
