// The sequencer of a unit: it issues the instructions of its queue in the order of SystemC's, each with its loop indices and
// posts, never while a semaphore that it takes is zero; the counters stay in the program. The decisions are those that the
// rules in C make (decisions, from truth_tables.c). Four instructions, eight semaphores, loops of up to
// three iterations.
// modules: sequencer
// constants: QueueDepth=4 Semaphores=8
// initial: zero (nothing reads a slot of the queue that is not written)
// planted: sequencer.sv: (need_q & ~nonzero_i) == '0 => (need_q & ~nonzero_i) != '1
// planted: sequencer.sv: (!in.wait_first[i] || idx_d[2] == 20'd0) => (!in.wait_first[i] || idx_q[2] == 20'd0)
// planted: sequencer.sv: if (idx_q[l] + 20'd1 < common.loop_count[l]) begin => if (idx_q[l] + 20'd1 <= common.loop_count[l]) begin
// planted: sequencer.sv: idx_d[l] = '0; => idx_d[l] = idx_q[l];
// planted: sequencer.sv: if (in.credit_mask[p]) need => if (in.credit_mask[p] && p != 2) need
// planted: sequencer.sv: if (common.post_last[i] && !ends_inner) => if (common.post_last[i] && ends_inner)
// planted: sequencer.sv: assign finished_o = pc_q == length_q; => assign finished_o = pc_q > length_q;
module prove_sequencer (
  input logic clk_i,
  input logic start_i,
  input logic run_i,
  input logic cfg_instr_we_i,
  input logic cfg_length_we_i,
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

  // The queue is written before a section starts, and it runs after that. Its loops begin inside of it; they are short here.
  logic started_q, start, run, write, write_length;
  logic [3:0] written_q;  // slots
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {started_q, written_q} <= '0;
    else begin
      if (start) started_q <= 1'b1;
      else if (write || write_length) started_q <= 1'b0;
      if (write) written_q <= written_q | (4'd1 << cfg_slot_i[1:0]);
    end
  end
  assign start = start_i && written_q == '1;
  assign run = run_i && started_q && !start;
  assign write = cfg_instr_we_i && !cfg_length_we_i && !start && !run;
  assign write_length = cfg_length_we_i && !start && !run;
  tegula_pkg::common_instr_t drawn, written;
  logic [3199:0] data;
  assign drawn = cfg_data_i;
  always_comb begin
    written = drawn;
    for (int l = 0; l < 3; l++) begin
      written.loop_begin[l] = {6'd0, drawn.loop_begin[l][1:0] & cfg_slot_i[1:0]};
      written.loop_count[l] = {18'd0, drawn.loop_count[l][1:0]};
    end
    for (int i = 0; i < 4; i++) written.wait_sem[i] = {7'd0, drawn.wait_sem[i][2:0]};
    written.credit_mask = {14'd0, drawn.credit_mask[2:0]};
    written.credit_base = {8'd0, drawn.credit_base[1:0]};
  end
  assign data = {2965'd0, write_length ? {226'd0, cfg_data_i[8:0] % 9'd5} : written};

  logic [7:0] need, rot, pc;
  logic head_valid, issue, sync, finished;
  logic [234:0] head;
  logic [59:0] idx;
  logic [67:0] posts;
  sequencer u_sequencer (
    .clk_i, .rst_ni(rst_nq), .start_i(start), .run_i(run), .cfg_instr_we_i(write), .cfg_length_we_i(write_length),
    .cfg_slot_i({6'd0, cfg_slot_i[1:0]}), .cfg_data_i(data),
    .defect_i(8'd0), .nonzero_i, .need_o(need), .head_valid_o(head_valid), .head_o(head), .idx_o(idx), .rot_o(rot),
    .rot_count_i, .rot_outer_i, .posts_o(posts), .issue_i(issue_i && head_valid), .idle_for_sync_i(idle_i), .issue_o(issue),
    .sync_o(sync), .pc_o(pc), .finished_o(finished)
  );

  // The program as it was written, and where its execution stands.
  logic [234:0] slot0_q, slot1_q, slot2_q, slot3_q, instruction_q;
  logic [8:0] length_q, pc_q, pc_d;
  logic [5:0] idx_q, idx_d;  // two bits a level
  logic [7:0] step;
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
    if (write && cfg_slot_i[1:0] == 2'd0) slot0_q <= written;
    if (write && cfg_slot_i[1:0] == 2'd1) slot1_q <= written;
    if (write && cfg_slot_i[1:0] == 2'd2) slot2_q <= written;
    if (write && cfg_slot_i[1:0] == 2'd3) slot3_q <= written;
    if (start || issue) begin
      instruction_q <= pc_d[1:0] == 2'd0 ? slot0_q : pc_d[1:0] == 2'd1 ? slot1_q : pc_d[1:0] == 2'd2 ? slot2_q : slot3_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {length_q, pc_q, idx_q} <= '0;
    else begin
      if (write_length) length_q <= data[8:0];
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
