// The sequencers of a tile's units, and the addresses of the operands at their heads. Where there
// is one bit or number a unit, the order is mx, vx, tx.
module tile_sequencers (
  input  logic                                             clk_i,
  input  logic                                             rst_ni,
  input  logic [7:0]                                       defect_i,
  input  fabric_pkg::control_t                             control_i,
  input  logic [tegula_pkg::FlitBits-1:0]                  cfg_data_i,
  // Semaphores
  input  logic [tegula_pkg::Semaphores-1:0]                nonzero_i,
  output logic [2:0][tegula_pkg::Semaphores-1:0]           need_o,  // taken at an issue
  // What the units are to issue, and what they do
  output logic [2:0]                                       head_valid_o,
  input  logic [2:0]                                       issue_i,
  input  logic [2:0]                                       idle_for_sync_i,
  output logic [2:0]                                       issue_o,  // SYNCs too
  output logic [2:0]                                       sync_o,
  output logic [2:0][7:0]                                  pc_o,
  output logic [2:0][fabric_pkg::PostsBits-1:0]            posts_o,  // of the instruction at pc
  output logic [2:0]                                       finished_o,
  // The instructions at pc, their loop indices, and the rows of their operands: of a, b, c; of the
  // streams; of source, destination
  output tegula_pkg::mx_instr_t                            mx_head_o,
  output logic [2:0][19:0]                                 mx_idx_o,
  output logic [2:0][15:0]                                 mx_addr_o,
  output tegula_pkg::vx_instr_t                            vx_head_o,
  output logic [2:0][19:0]                                 vx_idx_o,
  output logic [tegula_pkg::VxStreams-1:0][15:0]           vx_addr_o,
  output tegula_pkg::tx_instr_t                            tx_head_o,
  output logic [1:0][15:0]                                 tx_addr_o
);
  localparam int unsigned Streams = tegula_pkg::VxStreams;

  // The words of each unit's queue
  fabric_pkg::cfg_t mx_cfg, vx_cfg, tx_cfg;
  always_comb begin
    mx_cfg = control_i.cfg;
    mx_cfg.valid = control_i.cfg.valid && control_i.cfg.kind == tegula_pkg::CfgInstr;
    vx_cfg = mx_cfg;
    tx_cfg = mx_cfg;
    mx_cfg.valid = mx_cfg.valid && control_i.cfg.unit == tegula_pkg::UnitMx;
    vx_cfg.valid = vx_cfg.valid && control_i.cfg.unit == tegula_pkg::UnitVx;
    tx_cfg.valid = tx_cfg.valid && control_i.cfg.unit == tegula_pkg::UnitTx;
  end

  // mx
  logic [tegula_pkg::MxInstrBits-1:0] mx_word;
  tegula_pkg::mx_instr_t mx_head;
  logic [3*8-1:0] mx_rot;
  assign mx_head = mx_word;
  assign mx_head_o = mx_head;
  sequencer #(
    .Bits    (tegula_pkg::MxInstrBits),
    .Operands(3)
  ) u_mx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (control_i.start),
    .run_i          (control_i.run),
    .plane_i        (control_i.plane),
    .cfg_i          (mx_cfg),
    .cfg_data_i, .defect_i, .nonzero_i,
    .need_o         (need_o[0]),
    .head_valid_o   (head_valid_o[0]),
    .head_o         (mx_word),
    .idx_o          (mx_idx_o),
    .rot_o          (mx_rot),
    .rot_count_i    ({mx_head.c_rot_count, mx_head.b_rot_count, mx_head.a_rot_count}),
    .rot_outer_i    ({mx_head.c_rot_outer, mx_head.b_rot_outer, mx_head.a_rot_outer}),
    .posts_o        (posts_o[0]),
    .issue_i        (issue_i[0]),
    .idle_for_sync_i(idle_for_sync_i[0]),
    .issue_o        (issue_o[0]),
    .sync_o         (sync_o[0]),
    .pc_o           (pc_o[0]),
    .finished_o     (finished_o[0])
  );
  row_operand u_mx_a (
    .base_i      (mx_head.a_base),
    .delta_i     (mx_head.a_delta),
    .rot_stride_i(mx_head.a_rot_stride),
    .idx_i       (mx_idx_o),
    .rot_i       (mx_rot[0+:8]),
    .row_o       (mx_addr_o[0])
  );
  row_operand u_mx_b (
    .base_i      (mx_head.b_base),
    .delta_i     (mx_head.b_delta),
    .rot_stride_i(mx_head.b_rot_stride),
    .idx_i       (mx_idx_o),
    .rot_i       (mx_rot[8+:8]),
    .row_o       (mx_addr_o[1])
  );
  row_operand u_mx_c (
    .base_i      (mx_head.c_base),
    .delta_i     (mx_head.c_delta),
    .rot_stride_i(mx_head.c_rot_stride),
    .idx_i       (mx_idx_o),
    .rot_i       (mx_rot[16+:8]),
    .row_o       (mx_addr_o[2])
  );

  // vx
  logic [tegula_pkg::VxInstrBits-1:0] vx_word;
  logic [Streams*8-1:0] vx_rot;
  logic [Streams-1:0][7:0] vx_rot_count;
  logic [Streams-1:0] vx_rot_outer;
  assign vx_head_o = vx_word;
  sequencer #(
    .Bits    (tegula_pkg::VxInstrBits),
    .Operands(Streams)
  ) u_vx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (control_i.start),
    .run_i          (control_i.run),
    .plane_i        (control_i.plane),
    .cfg_i          (vx_cfg),
    .cfg_data_i, .defect_i, .nonzero_i,
    .need_o         (need_o[1]),
    .head_valid_o   (head_valid_o[1]),
    .head_o         (vx_word),
    .idx_o          (vx_idx_o),
    .rot_o          (vx_rot),
    .rot_count_i    (vx_rot_count),
    .rot_outer_i    (vx_rot_outer),
    .posts_o        (posts_o[1]),
    .issue_i        (issue_i[1]),
    .idle_for_sync_i(idle_for_sync_i[1]),
    .issue_o        (issue_o[1]),
    .sync_o         (sync_o[1]),
    .pc_o           (pc_o[1]),
    .finished_o     (finished_o[1])
  );
  for (genvar t = 0; t < Streams; t++) begin : gen_vx_stream
    tegula_pkg::vx_stream_t stream;
    assign stream = vx_word[tegula_pkg::VxStreamLsb+t*tegula_pkg::VxStreamBits
                            +:tegula_pkg::VxStreamBits];
    assign vx_rot_count[t] = stream.rot_count;
    assign vx_rot_outer[t] = stream.rot_outer;
    row_operand u_row (
      .base_i      (stream.base),
      .delta_i     (stream.delta),
      .rot_stride_i(stream.rot_stride),
      .idx_i       (vx_idx_o),
      .rot_i       (vx_rot[t*8+:8]),
      .row_o       (vx_addr_o[t])
    );
  end

  // tx
  logic [tegula_pkg::TxInstrBits-1:0] tx_word;
  tegula_pkg::tx_instr_t tx_head;
  logic [2:0][19:0] tx_idx;
  logic [2*8-1:0] tx_rot;
  assign tx_head = tx_word;
  assign tx_head_o = tx_head;
  sequencer #(
    .Bits    (tegula_pkg::TxInstrBits),
    .Operands(2)
  ) u_tx_sequencer (
    .clk_i, .rst_ni,
    .start_i        (control_i.start),
    .run_i          (control_i.run),
    .plane_i        (control_i.plane),
    .cfg_i          (tx_cfg),
    .cfg_data_i, .defect_i, .nonzero_i,
    .need_o         (need_o[2]),
    .head_valid_o   (head_valid_o[2]),
    .head_o         (tx_word),
    .idx_o          (tx_idx),
    .rot_o          (tx_rot),
    .rot_count_i    ({tx_head.dst_rot_count, tx_head.src_rot_count}),
    .rot_outer_i    ({tx_head.dst_rot_outer, tx_head.src_rot_outer}),
    .posts_o        (posts_o[2]),
    .issue_i        (issue_i[2]),
    .idle_for_sync_i(idle_for_sync_i[2]),
    .issue_o        (issue_o[2]),
    .sync_o         (sync_o[2]),
    .pc_o           (pc_o[2]),
    .finished_o     (finished_o[2])
  );
  row_operand u_tx_src (
    .base_i      (tx_head.src_base),
    .delta_i     (tx_head.src_delta),
    .rot_stride_i(tx_head.src_rot_stride),
    .idx_i       (tx_idx),
    .rot_i       (tx_rot[0+:8]),
    .row_o       (tx_addr_o[0])
  );
  row_operand u_tx_dst (
    .base_i      (tx_head.dst_base),
    .delta_i     (tx_head.dst_delta),
    .rot_stride_i(tx_head.dst_rot_stride),
    .idx_i       (tx_idx),
    .rot_i       (tx_rot[8+:8]),
    .row_o       (tx_addr_o[1])
  );
endmodule
