// The contexts of an AGCU: their sequencers, the base table, and the job (LOAD or STORE) that each has issued.
//
// At the issue an instruction is resolved with its loop indices into a job: address with all digits 0, digits of the
// walk's start, row operand. The port reads the job of the context that it serves.
module agcu_jobs (
    input  logic                                     clk_i,
    input  logic                                     rst_ni,
    input  logic                                     start_i,
    input  logic                                     run_i,
    input  logic [7:0]                               fault_i,
    input  logic [tegula_pkg::AGCU_CONTEXTS-1:0]     cfg_instr_we_i,
    input  logic [tegula_pkg::AGCU_CONTEXTS-1:0]     cfg_length_we_i,
    input  logic                                     cfg_bases_we_i,
    input  logic [7:0]                               cfg_slot_i,
    input  logic [fabric_pkg::CFG_BITS-1:0]          cfg_data_i,
    input  logic [tegula_pkg::SEMAPHORES-1:0]        nonzero_i,
    output logic [tegula_pkg::AGCU_CONTEXTS*tegula_pkg::SEMAPHORES-1:0] need_o,
    // bursts that wait for the port, and the job and walk of the selected context
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     waiting_o,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     store_o,
    input  logic [tegula_pkg::AGCU_CONTEXTS-1:0]     grant_i, // one-hot
    output fabric_pkg::job_t                         job_o,
    output fabric_pkg::walk_t                        walk_o,
    output logic [6:0]                               flits_o, // of its next burst
    output logic                                     last_o,  // which is its last
    input  logic                                     walk_we_i, // the walk stands there after a burst that was not the last
    input  logic [2:0]                               walk_context_i,
    input  fabric_pkg::walk_t                        walk_i,
    input  logic                                     store_end_i,
    input  logic [2:0]                               store_context_i,
    // trace and posts
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     issue_o,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     sync_o,
    output logic [tegula_pkg::AGCU_CONTEXTS*8-1:0]   pc_o,
    output logic [tegula_pkg::AGCU_CONTEXTS*fabric_pkg::POSTS_BITS-1:0] posts_o, // of the heads
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     busy_o,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     finished_o
);
  localparam int unsigned NC = tegula_pkg::AGCU_CONTEXTS;
  localparam int unsigned NS = tegula_pkg::SEMAPHORES;
  localparam int unsigned BITS = tegula_pkg::AGCU_INSTR_BITS;
  localparam logic [31:0] BF = tegula_pkg::BURST_FLITS;
  localparam logic [31:0] E32 = tegula_pkg::P; // elements of a flit
  localparam logic [31:0] E16 = 2 * tegula_pkg::P;

  logic [63:0] bases_q [32];
  fabric_pkg::job_t job_q [NC];
  fabric_pkg::walk_t walk_q [NC];
  logic [31:0] left_q [NC]; // flits that no grant covers
  logic [NC-1:0] busy_q, store_q;

  always_ff @(posedge clk_i) begin
    if (cfg_bases_we_i) for (int b = 0; b < 32; b++) bases_q[b] <= cfg_data_i[b*64+:64];
  end

  assign busy_o = busy_q;
  assign store_o = store_q;

  for (genvar c = 0; c < NC; c++) begin : g_context
    logic head_valid, issue;
    logic [BITS-1:0] head;
    tegula_pkg::agcu_instr_t in;
    logic [2:0][19:0] idx;
    logic [15:0] rot;
    logic [15:0] src, dst;

    assign in = head;
    assign issue = head_valid && !busy_q[c];

    sequencer #(.BITS(BITS), .OPERANDS(2)) u_sequencer (
        .clk_i, .rst_ni, .start_i, .run_i, .cfg_instr_we_i(cfg_instr_we_i[c]),
        .cfg_length_we_i(cfg_length_we_i[c]), .cfg_slot_i, .cfg_data_i, .fault_i, .nonzero_i,
        .need_o(need_o[c*NS+:NS]), .head_valid_o(head_valid), .head_o(head), .idx_o(idx), .rot_o(rot),
        .rot_count_i({in.dst_rot_count, in.src_rot_count}), .rot_outer_i({in.dst_rot_outer, in.src_rot_outer}),
        .posts_o(posts_o[c*fabric_pkg::POSTS_BITS+:fabric_pkg::POSTS_BITS]), .issue_i(issue), .idle_for_sync_i(!busy_q[c]),
        .issue_o(issue_o[c]), .sync_o(sync_o[c]), .pc_o(pc_o[c*8+:8]), .finished_o(finished_o[c])
    );
    row_operand u_src (
        .base_i(in.src_base), .delta_i(in.src_delta), .rot_stride_i(in.src_rot_stride), .idx_i(idx),
        .rot_i(rot[7:0]), .row_o(src)
    );
    row_operand u_dst (
        .base_i(in.dst_base), .delta_i(in.dst_delta), .rot_stride_i(in.dst_rot_stride), .idx_i(idx),
        .rot_i(rot[15:8]), .row_o(dst)
    );

    assign waiting_o[c] = busy_q[c] && left_q[c] != '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) busy_q[c] <= 1'b0;
      else if (start_i) busy_q[c] <= 1'b0;
      else if (issue) busy_q[c] <= 1'b1;
      else if (store_end_i && store_context_i == 3'(c)) busy_q[c] <= 1'b0;
      else if (grant_i[c] && last_o && !store_q[c]) busy_q[c] <= 1'b0;
    end

    always_ff @(posedge clk_i) begin
      if (issue) begin : resolve
        fabric_pkg::job_t job;
        fabric_pkg::walk_t walk;
        logic [31:0] m, k, elements;
        job.store = in.op == tegula_pkg::OP_AGCU_STORE;
        job.convert = in.convert;
        job.single = in.stride[5] != (fabric_pkg::wide_memory(in.convert) ? 40'd4 : 40'd2)
            || (in.x_inc[5] != 24'd0 && in.x_inc[5] != 24'd1) || in.y_inc[5] != 16'd0;
        job.take = in.take;
        job.m_radix = in.m_radix;
        job.k_radix = in.k_radix;
        job.base = bases_q[in.base] + {{24{in.offset[39]}}, in.offset};
        m = in.m_first;
        k = in.k_first;
        for (int l = 0; l < 3; l++) begin
          job.base = job.base + {44'd0, idx[l]} * {{24{in.offset_delta[l][39]}}, in.offset_delta[l]};
          m = m + {12'd0, idx[l]} * in.m_delta[l];
          k = k + {12'd0, idx[l]} * in.k_delta[l];
        end
        job.stride = in.stride;
        job.y_inc = in.y_inc;
        job.x_inc = in.x_inc;
        job.y_org = in.y_org;
        job.x_org = in.x_org;
        job.y_size = in.y_size;
        job.x_size = in.x_size;
        job.k_start[2] = k % {8'd0, in.k_radix[2]};
        k = k / {8'd0, in.k_radix[2]};
        job.k_start[1] = k % {8'd0, in.k_radix[1]};
        job.k_start[0] = k / {8'd0, in.k_radix[1]};
        walk.digit[2] = m % {8'd0, in.m_radix[2]};
        m = m / {8'd0, in.m_radix[2]};
        walk.digit[1] = m % {8'd0, in.m_radix[1]};
        walk.digit[0] = m / {8'd0, in.m_radix[1]};
        walk.digit[5:3] = job.k_start;
        walk.taken = '0;
        walk.lane = '0;
        walk.flit = '0;
        job.row = job.store ? src : dst;
        job.dst_inner = in.dst_inner;
        job.dst_stride = in.dst_stride;
        job.dst_mask = in.dst_mask;
        job.dst_post = in.dst_post;
        job.dst_sem = in.dst_sem;
        job.posts = posts_o[c*fabric_pkg::POSTS_BITS+:fabric_pkg::POSTS_BITS];
        job.fill = in.fill;
        elements = fabric_pkg::wide_chip(in.convert) ? E32 : E16;
        job_q[c] <= job;
        walk_q[c] <= walk;
        store_q[c] <= job.store;
        left_q[c] <= {16'd0, in.rows} * (({12'd0, in.take} + elements - 32'd1) / elements);
      end else begin
        if (grant_i[c]) left_q[c] <= last_o ? '0 : left_q[c] - BF;
        if (walk_we_i && walk_context_i == 3'(c)) walk_q[c] <= walk_i;
      end
    end
  end

  always_comb begin
    job_o = '0;
    walk_o = '0;
    flits_o = BF[6:0];
    last_o = 1'b0;
    for (int c = 0; c < NC; c++) begin
      if (grant_i[c]) begin
        job_o = job_q[c];
        walk_o = walk_q[c];
        last_o = left_q[c] <= BF;
        if (left_q[c] < BF) flits_o = left_q[c][6:0];
      end
    end
  end
endmodule
