`include "assert.svh"

// A context of an AGCU: its sequencer, and the job (LOAD or STORE) that it has issued.
//
// At the issue an instruction is resolved with its loop indices into a job: digits (agcu_start.sv)
// and places (agcu_places.sv) of the walk's start, row operands. The places are made from when the
// instruction is at the head of its queue, and it does not issue before they are. The port serves
// the job burst by burst.
module agcu_context (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  logic                              run_i,
  input  logic                              plane_i,
  input  logic [7:0]                        defect_i,
  input  fabric_pkg::cfg_t                  cfg_i,
  input  logic [tegula_pkg::FlitBits-1:0]   cfg_data_i,
  // Semaphores
  input  logic [tegula_pkg::Semaphores-1:0] nonzero_i,
  output logic [tegula_pkg::Semaphores-1:0] need_o,
  // The entry of the base table that the instruction at pc names
  output logic [4:0]                        base_index_o,
  input  logic [63:0]                       base_i,
  // The port: the next burst of the job, and where the walk stands after one that was not the last
  output logic                              waiting_o,
  output logic                              store_o,
  output fabric_pkg::offer_t                offer_o,
  input  logic                              grant_i,
  input  logic                              walk_we_i,
  input  fabric_pkg::walk_t                 walk_i,
  input  logic                              store_end_i,
  // Trace
  input  logic                              load_room_i,  // a LOAD may be issued
  output logic                              issue_o,
  output logic                              load_o,       // ... a LOAD
  output logic [7:0]                        pc_o,
  // Posts of SYNCs and STOREs; a LOAD's go with its bursts
  output logic                              post_valid_o,
  output logic [1:0]                        post_kind_o,
  output fabric_pkg::post_t                 post_o,
  input  logic                              post_done_i,
  output logic                              busy_o,
  output logic                              finished_o
);
  localparam logic [31:0] BurstFlits = tegula_pkg::BurstFlits;
  // Behind an instruction its configuration has the digits of m_first, m_delta[0..2], k_first and
  // k_delta[0..2].
  localparam int unsigned WalkBits = 4 * fabric_pkg::DigitsBits;
  localparam int unsigned SlotW = $clog2(tegula_pkg::QueueDepth);
  localparam int unsigned Bits = tegula_pkg::AgcuInstrBits + 2 * WalkBits;

  logic head_valid, issue, sync, load, room, placed;
  logic [fabric_pkg::PostsBits-1:0] posts;
  logic [Bits-1:0] head;
  tegula_pkg::agcu_instr_t in;
  logic [2:0][19:0] idx;
  logic [23:0] rot;
  logic [15:0] src, dst, index;

  logic busy_q, more_q, last;
  fabric_pkg::job_t job_q;
  fabric_pkg::walk_t walk_q;
  fabric_pkg::span_t span;  // the first piece of the next burst
  logic [31:0] left_q;      // flits that no grant covers; more_q: there are some

  assign in = head[tegula_pkg::AgcuInstrBits-1:0];
  assign load = in.op != tegula_pkg::OpAgcuStore;
  assign issue = head_valid && placed && !busy_q && (load ? load_room_i : room);
  assign load_o = issue && load;
  assign base_index_o = in.base;
  assign busy_o = busy_q;
  assign store_o = job_q.store;
  assign waiting_o = busy_q && more_q;
  assign last = left_q <= BurstFlits;
  assign offer_o = {job_q, walk_q, span, last ? left_q[6:0] : BurstFlits[6:0], last};

  agcu_piece u_piece (
    .job_i  (job_q),
    .walk_i (walk_q),
    .span_o (span)
  );

  sequencer #(
    .Bits    (Bits),
    .Operands(3)
  ) u_sequencer (
    .clk_i, .rst_ni, .start_i, .run_i, .plane_i, .cfg_i, .cfg_data_i,
    .defect_i, .nonzero_i, .need_o,
    .head_valid_o   (head_valid),
    .head_o         (head),
    .idx_o          (idx),
    .rot_o          (rot),
    .rot_count_i    ({in.index_rot_count, in.dst_rot_count, in.src_rot_count}),
    .rot_outer_i    ({in.index_rot_outer, in.dst_rot_outer, in.src_rot_outer}),
    .posts_o        (posts),
    .issue_i        (issue),
    .idle_for_sync_i(!busy_q && room),
    .issue_o,
    .sync_o         (sync),
    .pc_o, .finished_o
  );
  post_source u_posts (
    .clk_i, .rst_ni, .start_i,
    .push_i  (sync || (issue && !load)),
    .posts_i (posts),
    .end_i   (sync || store_end_i),
    .valid_o (post_valid_o),
    .kind_o  (post_kind_o),
    .post_o,
    .done_i  (post_done_i),
    .leaves_o(),
    .room_o  (room),
    .flight_o()
  );
  row_operand u_src (
    .base_i      (in.src_base),
    .delta_i     (in.src_delta),
    .rot_stride_i(in.src_rot_stride),
    .idx_i       (idx),
    .rot_i       (rot[7:0]),
    .row_o       (src)
  );
  row_operand u_dst (
    .base_i      (in.dst_base),
    .delta_i     (in.dst_delta),
    .rot_stride_i(in.dst_rot_stride),
    .idx_i       (idx),
    .rot_i       (rot[15:8]),
    .row_o       (dst)
  );
  row_operand u_index (
    .base_i      (in.index_base),
    .delta_i     (in.index_delta),
    .rot_stride_i(in.index_rot_stride),
    .idx_i       (idx),
    .rot_i       (rot[23:16]),
    .row_o       (index)
  );

  fabric_pkg::digits_t m_start, k_start;
  agcu_start u_m_start (
    .clk_i, .rst_ni, .start_i,
    .slot_i  (pc_o[SlotW-1:0]),
    .idx_i   (idx),
    .steps_i (head[tegula_pkg::AgcuInstrBits+:WalkBits]),
    .middle_i(in.m_radix[1]),
    .inner_i (in.m_radix[2]),
    .issue_i (issue),
    .digits_o(m_start)
  );
  agcu_start u_k_start (
    .clk_i, .rst_ni, .start_i,
    .slot_i  (pc_o[SlotW-1:0]),
    .idx_i   (idx),
    .steps_i (head[tegula_pkg::AgcuInstrBits+WalkBits+:WalkBits]),
    .middle_i(in.k_radix[1]),
    .inner_i (in.k_radix[2]),
    .issue_i (issue),
    .digits_o(k_start)
  );

  logic [5:0][fabric_pkg::PlaceBits-1:0] places;
  agcu_places u_places (
    .clk_i, .rst_ni,
    .begin_i(start_i || issue_o),
    .instr_i(in),
    .base_i,
    .idx_i  (idx),
    .m_i    (m_start),
    .k_i    (k_start),
    .done_o (placed),
    .place_o(places)
  );

  // A LOAD leaves the context with its last grant, a STORE in the cycle behind its last burst.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b0;
    else if (issue) busy_q <= 1'b1;
    else if (store_end_i || (grant_i && last && !job_q.store)) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (issue) begin : resolve
      fabric_pkg::job_t job;
      fabric_pkg::walk_t walk;
      job.store = in.op == tegula_pkg::OpAgcuStore;
      job.convert = in.convert;
      job.single = in.stride[5] != (fabric_pkg::wide_memory(in.convert) ? 40'd4 : 40'd2) ||
                   (in.x_inc[5] != 24'd0 && in.x_inc[5] != 24'd1) || in.y_inc[5] != 16'd0;
      job.take = in.take;
      job.m_radix = in.m_radix;
      job.k_radix = in.k_radix;
      job.index = index;
      job.index_size = in.index_size;
      job.index_stride = in.index_stride;
      job.stride = in.stride;
      job.y_inc = in.y_inc;
      job.x_inc = in.x_inc;
      job.y_size = in.y_size;
      job.x_size = in.x_size;
      job.k_start = {8'd0, k_start.inner, 8'd0, k_start.middle, k_start.outer};
      walk.digit[2:0] = {8'd0, m_start.inner, 8'd0, m_start.middle, m_start.outer};
      walk.digit[5:3] = job.k_start;
      job.k_place = places[5:3];
      walk.place = places;
      walk.row = '0;
      walk.taken = '0;
      walk.lane = '0;
      walk.run_row = job.store ? src : dst;
      walk.run_pos = '0;
      job.dst_inner = job.store ? '0 : in.dst_inner;
      job.dst_stride = job.store ? '0 : in.dst_stride;
      job.dst_mask = in.dst_mask;
      job.dst_post = in.dst_post;
      job.dst_sem = in.dst_sem;
      job.posts = posts;
      job.fill = in.fill;
      job_q <= job;
      walk_q <= walk;
      left_q <= {16'd0, in.rows} * fabric_pkg::row_flits(in.take, in.convert);
      more_q <= in.rows != '0 && in.take != '0;
    end else begin
      if (grant_i && last) more_q <= 1'b0;
      if (grant_i) left_q <= last ? '0 : left_q - BurstFlits;
      if (walk_we_i) walk_q <= walk_i;
    end
  end

  `ASSERT(GrantsWhatWaits, !grant_i || waiting_o)
  `ASSERT(KnowsWhatIsLeft, !busy_q || more_q == (left_q != '0))
  `ASSERT(StoreEndsAtItsLast, !store_end_i ||
          (busy_q && job_q.store && left_q == '0))
  `ASSERT(WalksWhatIsLeft, !walk_we_i || (busy_q && left_q != '0))
endmodule
