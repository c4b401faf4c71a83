// A tile: mx, vx and tx with their sequencers, the scratchpad, the posts and semaphores, and its
// places on four lanes (east, west, south, north).
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
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;

  logic start, run, plane;
  fabric_pkg::cfg_t cfg;
  assign start = control_i.start;
  assign run = control_i.run;
  assign plane = control_i.plane;
  assign cfg = control_i.cfg;

  fabric_pkg::cfg_t cfg_vx;
  always_comb begin
    cfg_vx = cfg;
    cfg_vx.valid = cfg.valid &&
                   (cfg.kind == tegula_pkg::CfgWord || cfg.kind == tegula_pkg::CfgConstant);
  end
  logic [31:0] keys_q [32];
  logic [4:0] key_plane;  // where the section's begin
  assign key_plane = plane ? 5'(tegula_pkg::TableHalf) : '0;
  always_ff @(posedge clk_i) begin
    if (cfg.valid && cfg.kind == tegula_pkg::CfgKeys)
      for (int k = 0; k < 32; k++)
        if (cfg.part == 11'(k / P) && cfg.enable[k%P]) keys_q[k] <= cfg_data_i[32*(k%P)+:32];
  end

  // The sequencers: what mx, vx and tx are to issue. A unit issues, and a SYNC does, only where
  // there is room for its posts.
  logic [2:0] head_valid, issue, issued, sync, ended, finished, idle;
  logic [2:0][7:0] pc;
  logic [2:0][tegula_pkg::Semaphores-1:0] need;
  logic [2:0][fabric_pkg::PostsBits-1:0] head_posts;
  logic [2:0][19:0] mx_idx, vx_idx;
  tegula_pkg::mx_instr_t mx_in;
  tegula_pkg::vx_instr_t vx_in;
  tegula_pkg::tx_instr_t tx_in;
  logic [2:0][15:0] mx_addr;
  logic [tegula_pkg::VxStreams-1:0][15:0] vx_addr;
  logic [1:0][15:0] tx_addr;
  logic [3:0] room, flight;  // of the streams of posts: mx SYNCs, GEMMs, vx, tx
  tile_sequencers u_sequencers (
    .clk_i, .rst_ni, .defect_i, .control_i, .cfg_data_i,
    .nonzero_i      (nonzero_o),
    .need_o         (need),
    .head_valid_o   (head_valid),
    .issue_i        (issue),
    .idle_for_sync_i({idle[2] && room[3], idle[1] && room[2], idle[0] && room[0]}),
    .issue_o        (issued),
    .sync_o         (sync),
    .pc_o           (pc),
    .posts_o        (head_posts),
    .finished_o     (finished),
    .mx_head_o      (mx_in),
    .mx_idx_o       (mx_idx),
    .mx_addr_o      (mx_addr),
    .vx_head_o      (vx_in),
    .vx_idx_o       (vx_idx),
    .vx_addr_o      (vx_addr),
    .tx_head_o      (tx_in),
    .tx_addr_o      (tx_addr)
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
    .a_addr_i       (mx_addr[0]),
    .b_addr_i       (mx_addr[1]),
    .c_addr_i       (mx_addr[2]),
    .sr_key_i       (keys_q[mx_in.sr_key ^ key_plane]),
    .issue_o        (issue[0]),
    .end_o          (ended[0]),
    .idle_for_sync_o(idle[0]),
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
    .plane_i        (plane),
    .cfg_i          (cfg_vx),
    .cfg_data_i,
    .head_valid_i   (head_valid[1] && room[2]),
    .head_i         (vx_in),
    .idx_i          (vx_idx),
    .s_addr_i       (vx_addr),
    .sr_key_i       (keys_q[vx_in.sr_key ^ key_plane]),
    .issue_o        (issue[1]),
    .end_o          (ended[1]),
    .idle_for_sync_o(idle[1]),
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
  logic [3:0] tx_dir;
  tx u_tx (
    .clk_i, .rst_ni,
    .start_i        (start),
    .defect_i,
    .head_valid_i   (head_valid[2] && room[3]),
    .head_i         (tx_in),
    .src_addr_i     (tx_addr[0]),
    .dst_addr_i     (tx_addr[1]),
    .issue_o        (issue[2]),
    .end_o          (ended[2]),
    .idle_for_sync_o(idle[2]),
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
  logic [3:0][9:0] lane_sem;
  for (genvar l = 0; l < 4; l++) begin : gen_lane
    assign pad_req[5+l] = lane_i[l].arrive;
    assign pad_rows[(5+l)*16+:16] = lane_i[l].side.row;
    assign lane_post[l] = lane_i[l].arrive && lane_i[l].side.post;
    assign lane_sem[l] = lane_i[l].side.sem;
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

  logic overflow;
  logic [9:0] overflow_sem;
  tile_posts u_posts (
    .clk_i, .rst_ni, .defect_i, .row_pos_i, .col_pos_i,
    .start_i       (start),
    .cfg_i         (cfg),
    .cfg_data_i,
    .push_i        ({issue[2] || sync[2], issue[1] || sync[1], issue[0], sync[0]}),
    .end_i         ({ended[2] || sync[2], ended[1] || sync[1], ended[0], sync[0]}),
    .room_o        (room),
    .flight_o      (flight),
    .posts_i       (head_posts),
    .take_i        (issued),
    .need_i        (need),
    .post_o, .post_i,
    .lane_post_i   (lane_post),
    .lane_sem_i    (lane_sem),
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
