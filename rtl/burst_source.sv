`include "assert.svh"

// The source of a lane: of a granted burst, one row is read in each of the cycles g+1 .. g+n, and
// the sideband of its flit follows one cycle later, together with the data of the read.
module burst_source (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  // A burst begins
  input  logic               grant_i,
  input  logic [6:0]         flits_i,
  input  logic               last_i,       // of its instruction
  input  fabric_pkg::route_t route_i,
  input  logic               new_rows_i,   // the destinations' rows begin anew, as route_i says
  // Its flits
  output logic               read_o,       // a row is read in this cycle
  output logic               burst_end_o,  // ... the last of the burst
  output logic               last_o,       // ... of the last burst
  output fabric_pkg::side_t  side_o
);
  logic [6:0] left_q;
  logic last_q, post_q;
  logic [9:0] sem_q;
  logic [16:0] mask_q;
  logic [15:0] row;

  assign read_o = left_q != 7'd0;
  assign burst_end_o = left_q == 7'd1;
  assign last_o = last_q;

  row_walk u_rows (
    .clk_i,
    .load_i  (grant_i && new_rows_i),
    .run_i   (route_i.run_row),
    .pos_i   (route_i.run_pos),
    .inner_i (route_i.inner),
    .stride_i(route_i.stride),
    .step_i  (read_o),
    .row_o   (row)
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
      post_q <= route_i.post;
      sem_q <= route_i.sem;
      mask_q <= route_i.mask;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) side_o <= '0;
    else if (start_i || !read_o) side_o.valid <= 1'b0;
    else begin
      side_o.valid <= 1'b1;
      side_o.post <= post_q && last_q && burst_end_o;
      side_o.sem <= sem_q;
      side_o.row <= row;
      side_o.mask <= mask_q;
    end
  end

  `ASSERT(GrantAfterTheBurstBefore, !grant_i || left_q <= 7'd1)
  `ASSERT(GrantOfFlits, !grant_i || flits_i != '0)
  `ASSERT_NEXT(FlitOfEachRead, read_o && !start_i, side_o.valid)
endmodule
