// A tile: mx, vx and tx with their sequencers, the scratchpad, the semaphores, and its places on
// four lanes (east, west, south, north).
module tile (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic [7:0]                                   defect_i,
  // Its position on the lanes of its row and of its column: constants
  input  logic [4:0]                                   row_pos_i,
  input  logic [4:0]                                   col_pos_i,
  // Section control; of the configuration, what is for this endpoint, and the key table
  input  fabric_pkg::control_t                         control_i,
  input  logic [tegula_pkg::FlitBits-1:0]              cfg_data_i,
  // Lanes; a flit leaves on one of the four
  output fabric_pkg::lane_out_t [3:0]                  lane_o,
  output logic [tegula_pkg::FlitBits-1:0]              data_o,
  input  fabric_pkg::lane_in_t [3:0]                   lane_i,
  input  logic [3:0][tegula_pkg::FlitBits-1:0]         data_i,
  // Post lanes, in the order of the lanes
  output fabric_pkg::post_out_t [3:0]                  post_o,
  input  fabric_pkg::post_in_t [3:0]                   post_i,
  // mx, vx, tx
  output fabric_pkg::trace_t [2:0]                     trace_o,
  output logic [tegula_pkg::Semaphores-1:0]            nonzero_o,
  output fabric_pkg::status_t                          status_o
);
  localparam int unsigned Banks = tegula_pkg::Banks;
  localparam int unsigned Semaphores = tegula_pkg::Semaphores;
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;
  localparam int unsigned PostsBits = fabric_pkg::PostsBits;
  localparam int unsigned PostBits = fabric_pkg::PostBits;
  localparam int unsigned Streams = tegula_pkg::VxStreams;

  logic start, run;
  fabric_pkg::cfg_t cfg;
  assign start = control_i.start;
  assign run = control_i.run;
  assign cfg = control_i.cfg;

  fabric_pkg::cfg_t cfg_instr, mx_cfg, vx_cfg, tx_cfg, cfg_vx, cfg_semaphores;
  always_comb begin
    cfg_instr = cfg;
    cfg_instr.valid = cfg.valid && cfg.kind == tegula_pkg::CfgInstr;
    mx_cfg = cfg_instr;
    mx_cfg.valid = cfg_instr.valid && cfg.unit == 3'd0;
    vx_cfg = cfg_instr;
    vx_cfg.valid = cfg_instr.valid && cfg.unit == 3'd1;
    tx_cfg = cfg_instr;
    tx_cfg.valid = cfg_instr.valid && cfg.unit == 3'd2;
    cfg_vx = cfg;
    cfg_vx.valid = cfg.valid &&
                   (cfg.kind == tegula_pkg::CfgWord || cfg.kind == tegula_pkg::CfgConstant);
    cfg_semaphores = cfg;
    cfg_semaphores.valid = cfg.valid && cfg.kind == tegula_pkg::CfgSemaphores;
  end

  logic [2:0] head_valid, issue, issued, sync, ended, finished;
  logic [2:0][7:0] pc;
  logic [3*Semaphores-1:0] need;
  logic [3*PostsBits-1:0] head_posts;  // of the instruction at pc
  logic [3:0] room, flight;            // of the streams of posts: mx SYNCs, GEMMs, vx, tx

  // mx
  logic [tegula_pkg::MxInstrBits-1:0] mx_head;
  tegula_pkg::mx_instr_t mx_in;
  logic [2:0][19:0] mx_idx;
  logic [3*8-1:0] mx_rot;
  logic [15:0] mx_a, mx_b, mx_c;
  logic mx_idle;
  logic [31:0] keys_q [32];
  assign mx_in = mx_head;
  always_ff @(posedge clk_i) begin
    if (cfg.valid && cfg.kind == tegula_pkg::CfgKeys)
      for (int k = 0; k < 32; k++)
        if (cfg.part == 11'(k / P) && cfg.enable[k%P]) keys_q[k] <= cfg_data_i[32*(k%P)+:32];
  end
  sequencer #(
    .Bits    (tegula_pkg::MxInstrBits),
    .Operands(3)
  ) u_mx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (start),
    .run_i          (run),
    .cfg_i          (mx_cfg),
    .cfg_data_i, .defect_i,
    .nonzero_i      (nonzero_o),
    .need_o         (need[0*Semaphores+:Semaphores]),
    .head_valid_o   (head_valid[0]),
    .head_o         (mx_head),
    .idx_o          (mx_idx),
    .rot_o          (mx_rot),
    .rot_count_i    ({mx_in.c_rot_count, mx_in.b_rot_count, mx_in.a_rot_count}),
    .rot_outer_i    ({mx_in.c_rot_outer, mx_in.b_rot_outer, mx_in.a_rot_outer}),
    .posts_o        (head_posts[0*PostsBits+:PostsBits]),
    .issue_i        (issue[0]),
    .idle_for_sync_i(mx_idle && room[0]),
    .issue_o        (issued[0]),
    .sync_o         (sync[0]),
    .pc_o           (pc[0]),
    .finished_o     (finished[0])
  );
  row_operand u_mx_a (
    .base_i      (mx_in.a_base),
    .delta_i     (mx_in.a_delta),
    .rot_stride_i(mx_in.a_rot_stride),
    .idx_i       (mx_idx),
    .rot_i       (mx_rot[0+:8]),
    .row_o       (mx_a)
  );
  row_operand u_mx_b (
    .base_i      (mx_in.b_base),
    .delta_i     (mx_in.b_delta),
    .rot_stride_i(mx_in.b_rot_stride),
    .idx_i       (mx_idx),
    .rot_i       (mx_rot[8+:8]),
    .row_o       (mx_b)
  );
  row_operand u_mx_c (
    .base_i      (mx_in.c_base),
    .delta_i     (mx_in.c_delta),
    .rot_stride_i(mx_in.c_rot_stride),
    .idx_i       (mx_idx),
    .rot_i       (mx_rot[16+:8]),
    .row_o       (mx_c)
  );

  // vx
  logic [tegula_pkg::VxInstrBits-1:0] vx_head;
  tegula_pkg::vx_instr_t vx_in;
  logic [2:0][19:0] vx_idx;
  logic [Streams*8-1:0] vx_rot;
  logic [Streams-1:0][15:0] vx_addr;
  logic [Streams-1:0][7:0] vx_rot_count;
  logic [Streams-1:0] vx_rot_outer;
  logic vx_idle;
  assign vx_in = vx_head;
  sequencer #(
    .Bits    (tegula_pkg::VxInstrBits),
    .Operands(Streams)
  ) u_vx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (start),
    .run_i          (run),
    .cfg_i          (vx_cfg),
    .cfg_data_i, .defect_i,
    .nonzero_i      (nonzero_o),
    .need_o         (need[1*Semaphores+:Semaphores]),
    .head_valid_o   (head_valid[1]),
    .head_o         (vx_head),
    .idx_o          (vx_idx),
    .rot_o          (vx_rot),
    .rot_count_i    (vx_rot_count),
    .rot_outer_i    (vx_rot_outer),
    .posts_o        (head_posts[1*PostsBits+:PostsBits]),
    .issue_i        (issue[1]),
    .idle_for_sync_i(vx_idle && room[2]),
    .issue_o        (issued[1]),
    .sync_o         (sync[1]),
    .pc_o           (pc[1]),
    .finished_o     (finished[1])
  );
  for (genvar t = 0; t < Streams; t++) begin : gen_vx_stream
    tegula_pkg::vx_stream_t stream;
    assign stream = vx_head[tegula_pkg::VxStreamLsb+t*tegula_pkg::VxStreamBits
                            +:tegula_pkg::VxStreamBits];
    assign vx_rot_count[t] = stream.rot_count;
    assign vx_rot_outer[t] = stream.rot_outer;
    row_operand u_row (
      .base_i      (stream.base),
      .delta_i     (stream.delta),
      .rot_stride_i(stream.rot_stride),
      .idx_i       (vx_idx),
      .rot_i       (vx_rot[t*8+:8]),
      .row_o       (vx_addr[t])
    );
  end

  // tx
  logic [tegula_pkg::TxInstrBits-1:0] tx_head;
  tegula_pkg::tx_instr_t tx_in;
  logic [2:0][19:0] tx_idx;
  logic [2*8-1:0] tx_rot;
  logic [15:0] tx_src, tx_dst;
  logic tx_idle;
  logic [3:0] tx_dir;
  assign tx_in = tx_head;
  sequencer #(
    .Bits    (tegula_pkg::TxInstrBits),
    .Operands(2)
  ) u_tx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (start),
    .run_i          (run),
    .cfg_i          (tx_cfg),
    .cfg_data_i, .defect_i,
    .nonzero_i      (nonzero_o),
    .need_o         (need[2*Semaphores+:Semaphores]),
    .head_valid_o   (head_valid[2]),
    .head_o         (tx_head),
    .idx_o          (tx_idx),
    .rot_o          (tx_rot),
    .rot_count_i    ({tx_in.dst_rot_count, tx_in.src_rot_count}),
    .rot_outer_i    ({tx_in.dst_rot_outer, tx_in.src_rot_outer}),
    .posts_o        (head_posts[2*PostsBits+:PostsBits]),
    .issue_i        (issue[2]),
    .idle_for_sync_i(tx_idle && room[3]),
    .issue_o        (issued[2]),
    .sync_o         (sync[2]),
    .pc_o           (pc[2]),
    .finished_o     (finished[2])
  );
  row_operand u_tx_src (
    .base_i      (tx_in.src_base),
    .delta_i     (tx_in.src_delta),
    .rot_stride_i(tx_in.src_rot_stride),
    .idx_i       (tx_idx),
    .rot_i       (tx_rot[0+:8]),
    .row_o       (tx_src)
  );
  row_operand u_tx_dst (
    .base_i      (tx_in.dst_base),
    .delta_i     (tx_in.dst_delta),
    .rot_stride_i(tx_in.dst_rot_stride),
    .idx_i       (tx_idx),
    .rot_i       (tx_rot[8+:8]),
    .row_o       (tx_dst)
  );

  // The units
  logic [8:0] pad_req;
  logic [9*16-1:0] pad_rows;
  logic [4*Banks-1:0] own;
  logic [4*FlitBits-1:0] rdata;
  logic [FlitBits-1:0] vx_wdata;
  logic acc_req;
  logic [15:0] acc_row;
  logic [2*FlitBits-1:0] acc_data;
  logic [1:0] mx_acc_own, vx_acc_own;

  mx u_mx (
    .clk_i, .rst_ni,
    .start_i        (start),
    .defect_i,
    .head_valid_i   (head_valid[0] && room[1]),
    .head_i         (mx_in),
    .idx_i          (mx_idx),
    .a_addr_i       (mx_a),
    .b_addr_i       (mx_b),
    .c_addr_i       (mx_c),
    .sr_key_i       (keys_q[mx_in.sr_key]),
    .issue_o        (issue[0]),
    .end_o          (ended[0]),
    .idle_for_sync_o(mx_idle),
    .a_req_o        (pad_req[0]),
    .a_row_o        (pad_rows[0*16+:16]),
    .a_rdata_i      (rdata[0*FlitBits+:FlitBits]),
    .b_req_o        (pad_req[1]),
    .b_row_o        (pad_rows[1*16+:16]),
    .b_rdata_i      (rdata[1*FlitBits+:FlitBits]),
    .a_own_o        (own[0*Banks+:Banks]),
    .b_own_o        (own[1*Banks+:Banks]),
    .acc_own_o      (mx_acc_own),
    .acc_rd_req_i   (acc_req),
    .acc_rd_row_i   (acc_row),
    .acc_rd_data_o  (acc_data)
  );
  vx u_vx (
    .clk_i, .rst_ni,
    .cfg_i          (cfg_vx),
    .cfg_data_i,
    .head_valid_i   (head_valid[1] && room[2]),
    .head_i         (vx_in),
    .idx_i          (vx_idx),
    .s_addr_i       (vx_addr),
    .sr_key_i       (keys_q[vx_in.sr_key]),
    .issue_o        (issue[1]),
    .end_o          (ended[1]),
    .idle_for_sync_o(vx_idle),
    .ld_req_o       (pad_req[2]),
    .ld_row_o       (pad_rows[2*16+:16]),
    .ld_rdata_i     (rdata[2*FlitBits+:FlitBits]),
    .st_req_o       (pad_req[4]),
    .st_row_o       (pad_rows[4*16+:16]),
    .st_data_o      (vx_wdata),
    .ld_own_o       (own[2*Banks+:Banks]),
    .st_own_o       (own[3*Banks+:Banks]),
    .acc_rd_req_o   (acc_req),
    .acc_rd_row_o   (acc_row),
    .acc_rd_data_i  (acc_data),
    .acc_own_o      (vx_acc_own)
  );
  logic [3:0] req, grant;
  fabric_pkg::lane_request_t request;
  fabric_pkg::side_t side;
  tx u_tx (
    .clk_i, .rst_ni,
    .start_i        (start),
    .defect_i,
    .head_valid_i   (head_valid[2] && room[3]),
    .head_i         (tx_in),
    .src_addr_i     (tx_src),
    .dst_addr_i     (tx_dst),
    .issue_o        (issue[2]),
    .end_o          (ended[2]),
    .idle_for_sync_o(tx_idle),
    .read_o         (pad_req[3]),
    .read_row_o     (pad_rows[3*16+:16]),
    .req_o          (req),
    .request_o      (request),
    .grant_i        (grant),
    .side_dir_o     (tx_dir),
    .side_o         (side)
  );
  assign data_o = rdata[3*FlitBits+:FlitBits];
  for (genvar l = 0; l < 4; l++) begin : gen_lane_out
    assign grant[l] = lane_i[l].grant;
    assign lane_o[l] = {req[l], request, side.valid && tx_dir[l], side};
  end

  // The scratchpad; the lane inputs write into it at once.
  logic [3:0] lane_post;
  logic [4*10-1:0] lane_sem;
  for (genvar l = 0; l < 4; l++) begin : gen_lane
    assign pad_req[5+l] = lane_i[l].arrive;
    assign pad_rows[(5+l)*16+:16] = lane_i[l].side.row;
    assign lane_post[l] = lane_i[l].arrive && lane_i[l].side.post;
    assign lane_sem[l*10+:10] = lane_i[l].side.sem;
  end
  logic pad_fault;
  logic [2:0] pad_code;
  logic [5:0] pad_bank;
  logic [8:0] pad_ports;
  scratchpad u_scratchpad (
    .clk_i, .rst_ni,
    .start_i      (start),
    .run_i        (run),
    .req_i        (pad_req),
    .row_i        (pad_rows),
    .own_i        (own),
    .wdata_i      ({data_i, vx_wdata}),
    .rdata_o      (rdata),
    .fault_o      (pad_fault),
    .fault_code_o (pad_code),
    .fault_bank_o (pad_bank),
    .fault_ports_o(pad_ports)
  );

  // Posts: a stream for the SYNCs of mx, which end beside GEMMs, and one for each unit.
  logic [3:0] post_push, post_end, post_valid, post_done, post_local;
  logic [4*2-1:0] post_kinds;
  logic [4*PostBits-1:0] post;
  assign post_push = {issue[2] || sync[2], issue[1] || sync[1], issue[0], sync[0]};
  assign post_end = {ended[2] || sync[2], ended[1] || sync[1], ended[0], sync[0]};
  for (genvar s = 0; s < 4; s++) begin : gen_stream
    localparam int unsigned Unit = s == 0 ? 0 : s - 1;
    post_source #(
      .Depth(s == 1 ? 4 : 2),
      .Limit(s == 1 ? 4 : 2)
    ) u_source (
      .clk_i, .rst_ni,
      .start_i (start),
      .push_i  (post_push[s]),
      .posts_i (head_posts[Unit*PostsBits+:PostsBits]),
      .end_i   (post_end[s]),
      .valid_o (post_valid[s]),
      .kind_o  (post_kinds[s*2+:2]),
      .post_o  (post[s*PostBits+:PostBits]),
      .done_i  (post_done[s]),
      .leaves_o(),
      .room_o  (room[s]),
      .flight_o(flight[s])
    );
  end
  logic [3:0] post_free, post_send, post_arrive;
  logic [4*PostBits-1:0] posts;
  logic [4*10-1:0] post_sem;
  for (genvar l = 0; l < 4; l++) begin : gen_post_lane
    assign post_free[l] = post_i[l].free;
    assign post_arrive[l] = post_i[l].arrive;
    assign post_sem[l*10+:10] = post_i[l].sem;
    assign post_o[l] = {post_send[l], posts[l*PostBits+:PostBits]};
  end
  post_arbiter #(.Streams(4)) u_posts (
    .clk_i, .rst_ni,
    .start_i     (start),
    .defect_i, .row_pos_i, .col_pos_i,
    .valid_i     (post_valid),
    .kinds_i     (post_kinds),
    .posts_i     (post),
    .done_o      (post_done),
    .local_o     (post_local),
    .free_i      (post_free),
    .send_o      (post_send),
    .send_posts_o(posts)
  );

  logic overflow;
  logic [9:0] overflow_sem;
  logic [4*10-1:0] local_sem;
  for (genvar s = 0; s < 4; s++) begin : gen_local
    assign local_sem[s*10+:10] = post[s*PostBits+:10];
  end
  semaphores #(
    .Units     (3),
    .Increments(12)
  ) u_semaphores (
    .clk_i, .rst_ni,
    .start_i       (start),
    .cfg_i         (cfg_semaphores),
    .cfg_data_i,
    .take_i        (issued),
    .need_i        (need),
    .add_i         ({lane_post, post_arrive, post_local}),
    .sem_i         ({lane_sem, post_sem, local_sem}),
    .nonzero_o,
    .overflow_o    (overflow),
    .overflow_sem_o(overflow_sem)
  );

  logic [1:0] acc_clash_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) acc_clash_q <= '0;
    else if (start) acc_clash_q <= '0;
    else if (acc_clash_q == '0) acc_clash_q <= mx_acc_own & vx_acc_own;
  end

  for (genvar u = 0; u < 3; u++) begin : gen_trace
    assign trace_o[u] = {issued[u], pc[u], ended[u], 1'b0};
  end
  fabric_pkg::fault_t fault;
  assign status_o = {&finished, flight != '0, fault};
  always_comb begin
    fault.valid = overflow || pad_fault || acc_clash_q != '0;
    fault.code = tegula_pkg::FaultSemaphore;
    fault.where = overflow_sem;
    fault.ports = '0;
    if (pad_fault) begin
      fault.code = pad_code;
      fault.where = {4'd0, pad_bank};
      fault.ports = pad_ports;
    end else if (acc_clash_q != '0) begin
      fault.code = tegula_pkg::FaultAcc;
      fault.where = {9'd0, acc_clash_q[1]};
    end
  end
endmodule
