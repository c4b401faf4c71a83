`include "assert.svh"

// The sequencer of a unit: queue memory, program counter, three loop indices, rotation counters,
// waits. Where a section's queue and the next one's take half of the memory each, one is written
// while the other runs.
//
// The instruction at pc stands in a register together with the mask of semaphores that it takes, so
// that a cycle without an issue costs one comparison. SYNC is issued here; all other operations by
// the unit, through issue_i.
module sequencer #(
  parameter int unsigned Bits     = tegula_pkg::CommonInstrBits,
  // row operands, each with a rotation counter in every queue slot
  parameter int unsigned Operands = 1
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,  // a section begins: everything is reset
  input  logic                              run_i,    // its configuration is done
  input  logic                              plane_i,  // it begins at the memory's second half
  input  fabric_pkg::cfg_t                  cfg_i,    // of this unit's queue; slots in order
  input  logic [tegula_pkg::FlitBits-1:0]   cfg_data_i,
  input  logic [7:0]                        defect_i,
  input  logic [tegula_pkg::Semaphores-1:0] nonzero_i,
  output logic [tegula_pkg::Semaphores-1:0] need_o,   // taken at an issue
  output logic                              head_valid_o,
  output logic [Bits-1:0]                   head_o,
  output logic [2:0][19:0]                  idx_o,
  output logic [Operands*8-1:0]             rot_o,
  input  logic [Operands*8-1:0]             rot_count_i,
  input  logic [Operands-1:0]               rot_outer_i,
  output logic [fabric_pkg::PostsBits-1:0]  posts_o,  // of this execution
  input  logic                              issue_i,
  input  logic                              idle_for_sync_i,
  output logic                              issue_o,
  output logic                              sync_o,
  output logic [7:0]                        pc_o,
  output logic                              finished_o
);
  localparam int unsigned SemW = $clog2(tegula_pkg::Semaphores);
  localparam int unsigned SlotW = $clog2(tegula_pkg::QueueDepth);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned Lanes = (Bits + 31) / 32;

  logic [Bits-1:0] queue_q [tegula_pkg::QueueDepth];
  logic [Operands*8-1:0] rot_q [tegula_pkg::QueueDepth];
  // the slot's counters are not 0 since the section's start
  logic [tegula_pkg::QueueDepth-1:0] rot_used_q;
  logic [8:0] length_q, written_q, pc_q, pc_d;
  logic [2:0][19:0] idx_q, idx_d;
  logic [Bits-1:0] head_q;
  logic [tegula_pkg::Semaphores-1:0] need_q;
  tegula_pkg::common_instr_t common;
  logic ready, ends_inner;  // this execution ends level 2

  assign common = head_q[tegula_pkg::CommonInstrBits-1:0];
  assign finished_o = pc_q == length_q;
  assign ready = run_i && !finished_o && (need_q & ~nonzero_i) == '0;
  assign head_valid_o = ready && common.op != tegula_pkg::OpSync;
  assign sync_o = ready && common.op == tegula_pkg::OpSync && idle_for_sync_i;
  assign issue_o = issue_i || sync_o;
  assign ends_inner = common.loop_count[2] == 20'd0 || idx_q[2] + 20'd1 == common.loop_count[2];
  assign need_o = need_q;
  assign head_o = head_q;
  assign idx_o = idx_q;
  assign pc_o = pc_q[7:0];
  assign rot_o = rot_used_q[pc_q[SlotW-1:0]] ? rot_q[pc_q[SlotW-1:0]] : '0;

  fabric_pkg::posts_t posts;
  always_comb begin
    posts = {common.post_sem, common.post_pos, common.post_kind};
    for (int i = 0; i < 4; i++) begin
      if (common.post_last[i] && !ends_inner) posts.kind[i] = tegula_pkg::PostNone;
    end
  end
  assign posts_o = posts;

  // What follows this instruction: the innermost loop that it ends and that is not through, else
  // the next slot. It is known, and the queue read, before the instruction issues: an issue only
  // lets registers take it.
  logic looped;
  always_comb begin
    looped = 1'b0;
    idx_d = idx_q;
    pc_d = pc_q;
    if (start_i) begin
      idx_d = '0;
      pc_d = '0;
    end else begin
      for (int l = 2; l >= 0; l--) begin
        if (!looped && common.loop_count[l] != 20'd0) begin
          if (idx_q[l] + 20'd1 < common.loop_count[l]) begin
            idx_d[l] = idx_q[l] + 20'd1;
            pc_d = {1'b0, common.loop_begin[l]};
            looped = 1'b1;
          end else begin
            idx_d[l] = '0;
          end
        end
      end
      if (!looped) pc_d = pc_q + 9'd1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pc_q <= '0;
      idx_q <= '0;
    end else if (start_i || issue_o) begin
      pc_q <= pc_d;
      idx_q <= idx_d;
    end
  end

  // Fetch. Behind the last instruction a stale head is harmless: finished_o holds it back.
  always_ff @(posedge clk_i) begin
    if (start_i || issue_o) begin : fetch
      logic [Bits-1:0] word;
      tegula_pkg::common_instr_t in;
      logic [tegula_pkg::Semaphores-1:0] need;
      word = queue_q[pc_d[SlotW-1:0] ^ (plane_i ? SlotW'(tegula_pkg::QueueHalf) : '0)];
      in = word[tegula_pkg::CommonInstrBits-1:0];
      need = '0;
      for (int i = 0; i < 4; i++) begin
        if (in.wait_on[i] && (!in.wait_first[i] || idx_d[2] == 20'd0)
            && !(fabric_pkg::Defects && defect_i == tegula_pkg::RtlDefectIgnoredWait && i == 0))
          need[in.wait_sem[i][SemW-1:0]] = 1'b1;
      end
      if (in.credit_mask != '0) begin
        for (int p = 0; p < 17; p++) begin : credit
          logic [9:0] sem;
          sem = in.credit_base + 10'(p);
          if (in.credit_mask[p]) need[sem[SemW-1:0]] = 1'b1;
        end
      end
      head_q <= word;
      need_q <= need;
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue_o) begin : rotate
      logic [Operands*8-1:0] rot;
      for (int o = 0; o < Operands; o++) begin
        rot[o*8+:8] = rot_o[o*8+:8];
        if (ends_inner || !rot_outer_i[o]) begin
          rot[o*8+:8] = rot_o[o*8+:8] + 8'd1;
          if (rot[o*8+:8] >= rot_count_i[o*8+:8]) rot[o*8+:8] = '0;
        end
      end
      rot_q[pc_q[SlotW-1:0]] <= rot;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) rot_used_q <= '0;
    else if (issue_o) rot_used_q[pc_q[SlotW-1:0]] <= 1'b1;
  end

  // A section has as many instructions as were written since the start before.
  logic [8:0] skipped;  // slots of the half that it does not use
  assign skipped = plane_i && written_q != '0 ? 9'(tegula_pkg::QueueHalf) : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      length_q <= '0;
      written_q <= '0;
    end else if (start_i) begin
      length_q <= written_q - skipped;
      written_q <= '0;
    end else if (cfg_i.valid) begin
      written_q <= {1'b0, cfg_i.slot} + 9'd1;
    end
  end

  // A row of the queue is written by lanes of 4 bytes.
  always_ff @(posedge clk_i) begin
    if (cfg_i.valid) begin : write
      logic [32*Lanes-1:0] row;
      row = '0;
      if (!cfg_i.clear) row[Bits-1:0] = queue_q[cfg_i.slot[SlotW-1:0]];
      for (int l = 0; l < Lanes; l++) begin
        if (cfg_i.part == 11'(l / P) && cfg_i.enable[l%P])
          row[32*l+:32] = cfg_data_i[32*(l%P)+:32];
      end
      queue_q[cfg_i.slot[SlotW-1:0]] <= row[Bits-1:0];
    end
  end

  `ASSERT(IssuesWhatIsReady, !issue_i || head_valid_o)
  `ASSERT(CounterWithinTheQueue, start_i || !run_i || pc_q <= length_q)
endmodule
