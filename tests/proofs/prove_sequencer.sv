// The sequencer of a unit: it issues the instructions of its queue in the order of SystemC's, each with its loop indices and
// posts, never while a semaphore that it takes is zero; the counters stay in the program. The decisions are those that the
// rules in C make (decisions, from truth_tables.c). The queue is written by words, and by lanes of them, at any time but a start's.
// Its sections begin at the first slot, or all of them at the second half. Four instructions, eight semaphores, loops of up to three
// iterations.
// modules: sequencer
// constants: QueueDepth=4 QueueHalf=2 Semaphores=8
// initial: zero (nothing reads a slot of the queue that is not written)
// planted: sequencer.sv: (need_q & ~nonzero_i) == '0 => (need_q & ~nonzero_i) != '1
// planted: sequencer.sv: (!in.wait_first[i] || idx_d[2] == 20'd0) => (!in.wait_first[i] || idx_q[2] == 20'd0)
// planted: sequencer.sv: if (idx_q[l] + 20'd1 < common.loop_count[l]) begin => if (idx_q[l] + 20'd1 <= common.loop_count[l]) begin
// planted: sequencer.sv: idx_d[l] = '0; => idx_d[l] = idx_q[l];
// planted: sequencer.sv: if (in.credit_mask[p]) need => if (in.credit_mask[p] && p != 2) need
// planted: sequencer.sv: if (common.post_last[i] && !ends_inner) => if (common.post_last[i] && ends_inner)
// planted: sequencer.sv: assign finished_o = pc_q == length_q; => assign finished_o = pc_q > length_q;
// planted: sequencer.sv: if (!cfg_i.clear) row[Bits-1:0] => row[Bits-1:0]
// planted: sequencer.sv: length_q <= written_q - skipped; => length_q <= (written_q - skipped) | 9'd1;
// planted: sequencer.sv: length_q <= written_q - skipped; => length_q <= written_q;
// planted: sequencer.sv: (plane_i ? SlotW'(tegula_pkg::QueueHalf) : '0)]; => '0];
module prove_sequencer (
  input logic clk_i,
  input logic start_i,
  input logic run_i,
  input logic plane_i,
  input logic cfg_valid_i,
  input logic cfg_clear_i,
  input logic cfg_high_i,
  input logic [3:0] cfg_enable_i,
  input logic [7:0] cfg_slot_i,
  input logic [234:0] cfg_data_i,
  input logic [7:0] nonzero_i,
  input logic issue_i,
  input logic idle_i,
  input logic [7:0] rot_count_i,
  input logic rot_outer_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // A section starts when all of the queue was written. Its loops begin inside of it; they are short here.
  logic started_q, start, run, write;
  logic [3:0] written_q;  // slots
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {started_q, written_q} <= '0;
    else begin
      if (start) started_q <= 1'b1;
      if (write && cfg_clear_i) written_q <= written_q | (4'd1 << cfg_slot_i[1:0]);
    end
  end
  assign start = start_i && written_q == '1 && (!plane_q || next_q == '0 || next_q > 9'd2);
  logic plane_q;  // as drawn at the beginning
  always_ff @(posedge clk_i) if (!rst_nq) plane_q <= plane_i;
  assign run = run_i && started_q && !start;
  assign write = cfg_valid_i && !start && (cfg_clear_i || written_q[cfg_slot_i[1:0]]);
  tegula_pkg::common_instr_t drawn, written;
  logic [255:0] before, after, drawn_lanes;  // of the slot; eight lanes of 4 bytes, in two words
  assign drawn = cfg_data_i;
  always_comb begin
    written = drawn;
    for (int l = 0; l < 3; l++) begin
      written.loop_begin[l] = {6'd0, drawn.loop_begin[l][1:0] & {cfg_slot_i[1] ^ plane_q, cfg_slot_i[0]}};
      written.loop_count[l] = {18'd0, drawn.loop_count[l][1:0]};
    end
    for (int i = 0; i < 4; i++) written.wait_sem[i] = {7'd0, drawn.wait_sem[i][2:0]};
    written.credit_mask = {14'd0, drawn.credit_mask[2:0]};
    written.credit_base = {8'd0, drawn.credit_base[1:0]};
  end
  assign drawn_lanes = {21'd0, written};
  always_comb begin
    case (cfg_slot_i[1:0])
      2'd0: before = {21'd0, slot0_q};
      2'd1: before = {21'd0, slot1_q};
      2'd2: before = {21'd0, slot2_q};
      default: before = {21'd0, slot3_q};
    endcase
    for (int l = 0; l < 8; l++) begin
      if (cfg_high_i == (l > 3) && cfg_enable_i[l%4]) after[32*l+:32] = drawn_lanes[32*l+:32];
      else after[32*l+:32] = cfg_clear_i ? 32'd0 : before[32*l+:32];
    end
  end

  logic [7:0] need, rot, pc;
  logic head_valid, issue, sync, finished;
  logic [234:0] head;
  logic [59:0] idx;
  logic [67:0] posts;
  sequencer u_sequencer (
    .clk_i, .rst_ni(rst_nq), .start_i(start), .run_i(run), .plane_i(plane_q),
    .cfg_i({write, 6'd0, 6'd0, cfg_slot_i[1:0], cfg_clear_i, 10'd0, cfg_high_i, cfg_enable_i}),
    .cfg_data_i(cfg_high_i ? drawn_lanes[255:128] : drawn_lanes[127:0]),
    .defect_i(8'd0), .nonzero_i, .need_o(need), .head_valid_o(head_valid), .head_o(head), .idx_o(idx), .rot_o(rot),
    .rot_count_i, .rot_outer_i, .posts_o(posts), .issue_i(issue_i && head_valid), .idle_for_sync_i(idle_i), .issue_o(issue),
    .sync_o(sync), .pc_o(pc), .finished_o(finished)
  );

  // The program as it was written, and where its execution stands.
  logic [234:0] slot0_q, slot1_q, slot2_q, slot3_q, instruction_q;
  logic [8:0] length_q, next_q, pc_q, pc_d;
  logic [5:0] idx_q, idx_d;  // two bits a level
  logic [7:0] step;
  logic [1:0] at;
  assign at = {pc_d[1] ^ plane_q, pc_d[0]};
  tegula_pkg::common_instr_t in;
  assign in = instruction_q;
  assign step = decisions::sequencer_step({idx_q, in.loop_count[2][1:0], in.loop_count[1][1:0], in.loop_count[0][1:0]});
  always_comb begin
    idx_d = start ? '0 : step[5:0];
    pc_d = step[7:6] == 2'd3 ? pc_q + 9'd1 : {7'd0, step[7:6] == 2'd0 ? in.loop_begin[0][1:0] :
        step[7:6] == 2'd1 ? in.loop_begin[1][1:0] : in.loop_begin[2][1:0]};
    if (start) pc_d = '0;
  end
  always_ff @(posedge clk_i) begin
    if (write && cfg_slot_i[1:0] == 2'd0) slot0_q <= after[234:0];
    if (write && cfg_slot_i[1:0] == 2'd1) slot1_q <= after[234:0];
    if (write && cfg_slot_i[1:0] == 2'd2) slot2_q <= after[234:0];
    if (write && cfg_slot_i[1:0] == 2'd3) slot3_q <= after[234:0];
    if (start || issue) begin
      instruction_q <= at == 2'd0 ? slot0_q : at == 2'd1 ? slot1_q : at == 2'd2 ? slot2_q : slot3_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {length_q, next_q, pc_q, idx_q} <= '0;
    else begin
      if (start) {length_q, next_q} <= {plane_q && next_q != '0 ? next_q - 9'd2 : next_q, 9'd0};
      else if (write) next_q <= {7'd0, cfg_slot_i[1:0]} + 9'd1;
      if (start || issue) {pc_q, idx_q} <= {pc_d, idx_d};
    end
  end

  logic [3:0] waits;
  logic [7:0] taken;
  assign waits = decisions::sequencer_waits({in.wait_on, in.wait_first, idx_q[5:4] != 2'd0});
  always_comb begin
    taken = '0;
    for (int i = 0; i < 4; i++) if (waits[i]) taken = taken | (8'd1 << in.wait_sem[i][2:0]);
    for (int p = 0; p < 3; p++) if (in.credit_mask[p]) taken = taken | (8'd1 << (in.credit_base[2:0] + 3'(p)));
  end
  logic may;  // the instruction may issue: none that it takes is zero
  assign may = run && pc_q != length_q && (taken & ~nonzero_i) == '0;

  always_ff @(posedge clk_i) begin
    if (rst_nq && run) begin
      assert (pc == pc_q[7:0] && pc_q <= length_q && finished == (pc_q == length_q));
      assert (idx == {18'd0, idx_q[5:4], 18'd0, idx_q[3:2], 18'd0, idx_q[1:0]});
      if (!finished) assert (need == taken && head == instruction_q);
      assert (head_valid == (may && in.op != tegula_pkg::OpSync));
      assert (sync == (may && in.op == tegula_pkg::OpSync && idle_i));
      if (issue) assert (may);
    end
  end
  for (genvar i = 0; i < 4; i++) begin : gen_post
    logic [1:0] kind;
    assign kind = decisions::sequencer_post({in.loop_count[2][1:0], idx_q[5:4], in.post_last[i], in.post_kind[i]});
    always_ff @(posedge clk_i) begin
      if (rst_nq && run && !finished) begin
        assert (posts[i*2+:2] == kind && posts[8+i*5+:5] == in.post_pos[i] && posts[28+i*10+:10] == in.post_sem[i]);
      end
    end
  end
endmodule
