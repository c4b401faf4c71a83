`include "assert.svh"

// tx: SEND as bursts on one of the four lanes that leave the tile.
//
// A burst granted at g is read at g+1 .. g+n; its flits are on the lane's first register from g+3. The request of the
// next burst is seen from g+2.
module tx (
    input  logic                             clk_i,
    input  logic                             rst_ni,
    input  logic                             start_i,
    input  logic [7:0]                       fault_i,
    input  logic                             head_valid_i,
    input  tegula_pkg::tx_instr_t            head_i,
    input  logic [15:0]                      src_addr_i,
    input  logic [15:0]                      dst_addr_i,
    output logic                             issue_o,
    output logic                             end_o,
    output logic                             idle_for_sync_o,
    output logic                             read_o, // scratchpad
    output logic [15:0]                      read_row_o,
    output logic [3:0]                       req_o, // lanes: east, west, south, north
    output logic [4:0]                       far_o, // farthest destination
    output logic [6:0]                       len_o, // flits of the burst
    input  logic [3:0]                       grant_i,
    output logic [3:0]                       side_dir_o, // lane of the flit that leaves
    output logic [fabric_pkg::SIDE_BITS-1:0] side_o
);
  localparam logic [15:0] BF = 16'(tegula_pkg::BURST_FLITS);

  logic busy_q, req_q, gap_q, first_q, granted, go, go_last, late_q;
  logic [1:0] dir_q, flit_dir_q;
  logic [15:0] left_q; // flits that no grant covers
  logic [16:0] mask_q;
  logic [15:0] dst_q, dst_inner_q, dst_stride_q;
  logic post_q, burst_end, last;
  logic [9:0] sem_q;
  logic [6:0] len, go_len, len_q;
  logic [3:0] dir_onehot;

  assign issue_o = head_valid_i && !busy_q;
  assign idle_for_sync_o = !busy_q;
  assign len = left_q < BF ? left_q[6:0] : BF[6:0];
  assign len_o = len;
  assign dir_onehot = 4'b1 << dir_q;
  assign req_o = req_q ? dir_onehot : '0;
  assign granted = (grant_i & req_o) != '0;
  assign end_o = burst_end && last;

  always_comb begin
    far_o = '0;
    if (req_q) begin
      if (dir_q[0]) begin
        for (int p = 16; p >= 0; p--) if (mask_q[p]) far_o = 5'(p);
      end else begin
        for (int p = 0; p < 17; p++) if (mask_q[p]) far_o = 5'(p);
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

  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      dir_q <= head_i.dir;
      left_q <= head_i.flits;
      mask_q <= head_i.dst_mask;
      post_q <= head_i.dst_post;
      sem_q <= head_i.dst_sem;
      dst_q <= dst_addr_i;
      dst_inner_q <= head_i.dst_inner;
      dst_stride_q <= head_i.dst_stride;
      first_q <= 1'b1;
    end else if (granted) begin
      left_q <= left_q - {9'd0, len};
    end
    if (go) first_q <= 1'b0;
    if (read_o) flit_dir_q <= dir_q;
    late_q <= granted;
    if (granted) len_q <= len;
  end

  // A deliberate defect of test builds starts a burst one cycle late.
  assign go = fabric_pkg::FAULTS && fault_i == fabric_pkg::FAULT_LATE_BURST ? late_q : granted;
  assign go_len = fabric_pkg::FAULTS && fault_i == fabric_pkg::FAULT_LATE_BURST ? len_q : len;
  assign go_last = fabric_pkg::FAULTS && fault_i == fabric_pkg::FAULT_LATE_BURST ? left_q == '0 : left_q <= BF;

  burst_source u_source (
      .clk_i, .rst_ni, .start_i, .grant_i(go), .flits_i(go_len),
      .last_i(go_last), .new_rows_i(first_q), .run_row_i(dst_q), .run_pos_i('0), .inner_i(dst_inner_q), .stride_i(dst_stride_q),
      .mask_i(mask_q), .post_i(post_q), .sem_i(sem_q), .read_o, .burst_end_o(burst_end), .last_o(last), .side_o
  );

  row_walk u_src (
      .clk_i, .load_i(issue_o), .run_i(src_addr_i), .pos_i('0), .inner_i(head_i.src_inner),
      .stride_i(head_i.src_stride), .step_i(read_o), .row_o(read_row_o)
  );

  assign side_dir_o = 4'b1 << flit_dir_q;

  `ASSERT(OneRequest, $onehot0(req_o))
  `ASSERT(RequestsFlits, !req_q || left_q != '0)
  `ASSERT(EndsWhatItIssued, !end_o || busy_q)
endmodule
