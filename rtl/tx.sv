`include "assert.svh"

// tx: SEND as bursts on one of the four lanes that leave the tile.
//
// A burst granted at g is read at g+1 .. g+n; its flits are on the lane's first register from g+3.
// The request of the next burst is seen from g+2.
module tx (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      start_i,
  input  logic [7:0]                defect_i,
  // Sequencer
  input  logic                      head_valid_i,
  input  tegula_pkg::tx_instr_t     head_i,
  input  logic [15:0]               src_addr_i,
  input  logic [15:0]               dst_addr_i,
  output logic                      issue_o,
  output logic                      end_o,
  output logic                      idle_for_sync_o,
  // Scratchpad
  output logic                      read_o,
  output logic [15:0]               read_row_o,
  // Lanes: east, west, south, north
  output logic [3:0]                req_o,
  output fabric_pkg::lane_request_t request_o,
  input  logic [3:0]                grant_i,
  output logic [3:0]                side_dir_o,  // lane of the flit that leaves
  output fabric_pkg::side_t         side_o
);
  localparam logic [15:0] BurstFlits = 16'(tegula_pkg::BurstFlits);

  logic busy_q, req_q, gap_q, first_q, granted, burst_end, last;
  logic [1:0] dir_q, flit_dir_q;
  logic [15:0] left_q;  // flits that no grant covers
  logic [6:0] len;
  fabric_pkg::route_t route_q;
  logic [3:0] dir_onehot;

  assign issue_o = head_valid_i && !busy_q;
  assign idle_for_sync_o = !busy_q;
  assign len = left_q < BurstFlits ? left_q[6:0] : BurstFlits[6:0];
  assign dir_onehot = 4'b1 << dir_q;
  assign req_o = req_q ? dir_onehot : '0;
  assign granted = (grant_i & req_o) != '0;
  assign end_o = burst_end && last;

  // West and north, the odd lanes, go towards lower positions.
  always_comb begin
    request_o.len = len;
    request_o.farthest = '0;
    if (req_q) begin
      if (dir_q[0]) begin
        for (int p = 16; p >= 0; p--) if (route_q.mask[p]) request_o.farthest = 5'(p);
      end else begin
        for (int p = 0; p < 17; p++) if (route_q.mask[p]) request_o.farthest = 5'(p);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      req_q <= 1'b0;
      gap_q <= 1'b0;
    end else if (start_i) begin
      busy_q <= 1'b0;
      req_q <= 1'b0;
      gap_q <= 1'b0;
    end else begin
      if (issue_o) busy_q <= 1'b1;
      else if (end_o) busy_q <= 1'b0;
      gap_q <= granted;
      if (issue_o || (gap_q && left_q != '0)) req_q <= 1'b1;
      else if (granted) req_q <= 1'b0;
    end
  end

  // The burst that begins: the granted one; a deliberate defect of test builds is a cycle late.
  logic late, late_q, go, go_last;
  logic [6:0] len_q, go_len;
  assign late = fabric_pkg::Defects && defect_i == tegula_pkg::RtlDefectLateBurst;
  assign go = late ? late_q : granted;
  assign go_len = late ? len_q : len;
  assign go_last = late ? left_q == '0 : left_q <= BurstFlits;

  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      dir_q <= head_i.dir;
      left_q <= head_i.flits;
      route_q.run_row <= dst_addr_i;
      route_q.run_pos <= '0;
      route_q.inner <= head_i.dst_inner;
      route_q.stride <= head_i.dst_stride;
      route_q.mask <= head_i.dst_mask;
      route_q.post <= head_i.dst_post;
      route_q.sem <= head_i.dst_sem;
      first_q <= 1'b1;
    end else if (granted) begin
      left_q <= left_q - {9'd0, len};
    end
    if (go) first_q <= 1'b0;
    if (read_o) flit_dir_q <= dir_q;
    late_q <= granted;
    if (granted) len_q <= len;
  end

  burst_source u_source (
    .clk_i, .rst_ni, .start_i,
    .grant_i    (go),
    .flits_i    (go_len),
    .last_i     (go_last),
    .route_i    (route_q),
    .new_rows_i (first_q),
    .read_o,
    .burst_end_o(burst_end),
    .last_o     (last),
    .side_o
  );

  row_walk u_src (
    .clk_i,
    .load_i  (issue_o),
    .run_i   (src_addr_i),
    .pos_i   ('0),
    .inner_i (head_i.src_inner),
    .stride_i(head_i.src_stride),
    .step_i  (read_o),
    .row_o   (read_row_o)
  );

  assign side_dir_o = 4'b1 << flit_dir_q;

  `ASSERT(OneRequest, $onehot0(req_o))
  `ASSERT(RequestsFlits, !req_q || left_q != '0)
  `ASSERT(GrantsWhatItAskedFor, (grant_i & ~req_o) == '0)
  `ASSERT(EndsWhatItIssued, !end_o || busy_q)
endmodule
