// The vector unit: 2P FP32 lanes, 32 registers for each of L rows in flight (docs/machine.md,
// section 5).
//
// A word is fetched while the one before it is under way, and registers and constants are read in
// the cycle before their word-slot. In the word-slot's cycle what is written in it takes the place
// of what was read, the ALU starts, a load requests its row and a store's operand is converted (for
// stochastic rounding the columns are hashed, and the operand is converted in the next cycle);
// results of ALU and load are written L cycles later, in the cycle of the next word's same slot,
// which sees them already.
module vx (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  input  logic                                   plane_i,  // their second halves are the section's
  input  fabric_pkg::cfg_t                       cfg_i,    // microcode and constants
  input  logic [tegula_pkg::FlitBits-1:0]        cfg_data_i,
  input  logic                                   head_valid_i,
  input  tegula_pkg::vx_instr_t                  head_i,
  input  logic [2:0][19:0]                       idx_i,
  input  logic [tegula_pkg::VxStreams-1:0][15:0] s_addr_i,
  input  logic [31:0]                            sr_key_i,
  output logic                                   issue_o,
  output logic                                   end_o,
  output logic                                   idle_for_sync_o,
  output logic                                   ld_req_o,
  output logic [15:0]                            ld_row_o,
  input  logic [32*tegula_pkg::P-1:0]            ld_rdata_i,
  output logic                                   st_req_o,
  output logic [15:0]                            st_row_o,
  output logic [32*tegula_pkg::P-1:0]            st_data_o,
  output logic                                   acc_rd_req_o,
  output logic [15:0]                            acc_rd_row_o,
  input  logic [64*tegula_pkg::P-1:0]            acc_rd_data_i,
  output logic [tegula_pkg::Banks-1:0]           ld_own_o,
  output logic [tegula_pkg::Banks-1:0]           st_own_o,
  output logic [1:0]                             acc_own_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned N = 2 * P;
  localparam int unsigned LaneW = $clog2(N);
  localparam int unsigned SlotW = $clog2(L);
  localparam int unsigned K = tegula_pkg::VxConstants;
  localparam int unsigned Words = tegula_pkg::MicrocodeWords;
  localparam int unsigned WordW = $clog2(Words);
  localparam int unsigned ConstantW = $clog2(K);

  // Configuration
  localparam int unsigned HighBits = tegula_pkg::UcodeBits - 32;
  logic [31:0] words_low_q [Words];
  logic [HighBits-1:0] words_high_q [Words];
  logic [31:0] constants_q [2 << ConstantW];  // of both planes: lane 64 and on are the second's
  logic [P-1:0][10:0] to;  // where each goes
  always_comb for (int l = 0; l < P; l++) to[l] = {cfg_i.part[10-$clog2(P):0], $clog2(P)'(l)};
  always_ff @(posedge clk_i) begin
    for (int l = 0; l < P; l++) begin
      if (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgWord && cfg_i.enable[l]
          && 32'(to[l]) < 2 * Words) begin
        if (l % 2 == 0) words_low_q[to[l][$clog2(2*Words)-1:1]] <= cfg_data_i[32*l+:32];
        else words_high_q[to[l][$clog2(2*Words)-1:1]] <= cfg_data_i[32*l+:HighBits];
      end
      if (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgConstant && cfg_i.enable[l]
          && to[l][10:7] == '0 && 32'(to[l][5:0]) < K) begin
        constants_q[{to[l][6], to[l][ConstantW-1:0]}] <= cfg_data_i[32*l+:32];
      end
    end
  end

  logic [WordW-1:0] word_plane;  // where the section's begin
  assign word_plane = plane_i ? WordW'(tegula_pkg::MicrocodeHalf) : '0;

  // The word-slot
  logic ahead, active, slot_last;
  logic [SlotW-1:0] slot, slot_next;
  logic [$clog2(tegula_pkg::MicrocodeWords)-1:0] next_pc;
  logic [tegula_pkg::VxStreams-1:0][15:0] address;
  logic [tegula_pkg::VxStreams-1:0][2:0] kind;
  logic [tegula_pkg::VxStreams-1:0][5:0] lane;
  logic [49:0] tail_left;
  logic [31:0] sr_row, sr_col;
  tegula_pkg::ucode_t word, fetched_q;

  vx_control u_control (
    .clk_i, .rst_ni, .head_valid_i, .head_i, .idx_i, .s_addr_i, .sr_key_i, .issue_o, .end_o,
    .ld_own_o, .st_own_o, .acc_own_o,
    .idle_o       (idle_for_sync_o),
    .active_o     (active),
    .slot_o       (slot),
    .ahead_o      (ahead),
    .next_pc_o    (next_pc),
    .address_o    (address),
    .kind_o       (kind),
    .lane_o       (lane),
    .tail_left_o  (tail_left),
    .sr_row_o     (sr_row),
    .sr_col_o     (sr_col)
  );
  assign slot_last = slot == SlotW'(L - 1);
  assign slot_next = slot_last ? '0 : slot + SlotW'(1);

  // The next word stands there from this one's slot 2 on.
  always_ff @(posedge clk_i) begin
    if (ahead && slot == SlotW'(1))
      fetched_q <= {words_high_q[next_pc ^ word_plane], words_low_q[next_pc ^ word_plane]};
    if (ahead && slot_last) word <= fetched_q;
  end

  logic ld_on, st_on, alu_on, ld_fp32, st_fp32;
  logic [2:0] ld_kind, st_kind;
  assign ld_kind = kind[word.ld_stream];
  assign st_kind = kind[word.st_stream];
  assign ld_fp32 = ld_kind == tegula_pkg::StreamFp32;
  assign st_fp32 = st_kind == tegula_pkg::StreamFp32;
  assign ld_on = active && word.ld_on;
  assign st_on = active && word.st_on;
  assign alu_on = active && word.alu_op != tegula_pkg::AluNop;

  // Results that are written in this cycle: of the word-slot L cycles ago, thus of the same slot.
  logic [L-1:0] alu_valid_q, ld_valid_q;
  logic [L-1:0][4:0] alu_dst_q, ld_dst_q;
  logic [L-1:0][1:0] ld_halves_q;
  logic [32*N-1:0] alu_result, ld_result;
  logic [4:0] alu_dst, ld_dst;
  logic [1:0] ld_halves;
  logic alu_done, ld_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      alu_valid_q <= '0;
      ld_valid_q  <= '0;
    end else begin
      alu_valid_q <= {alu_valid_q[L-2:0], alu_on};
      ld_valid_q  <= {ld_valid_q[L-2:0], ld_on};
    end
  end
  always_ff @(posedge clk_i) begin
    if (active || alu_valid_q != '0 || ld_valid_q != '0) begin
      alu_dst_q   <= {alu_dst_q[L-2:0], word.alu_dst};
      ld_dst_q    <= {ld_dst_q[L-2:0], word.ld_dst};
      ld_halves_q <= {ld_halves_q[L-2:0], ld_fp32 ? {word.ld_half, !word.ld_half} : 2'b11};
    end
  end
  assign alu_done = alu_valid_q[L-1];
  assign alu_dst = alu_dst_q[L-1];
  assign ld_dst = ld_dst_q[L-1];
  assign ld_halves = ld_halves_q[L-1];
  assign ld_done = ld_valid_q[L-1] && !(alu_done && alu_dst == ld_dst);

  // Operands: a, b, c of the ALU, that of the store; numbers and who wants them, in this cycle and
  // in the next one, and whether it is what is written then. What is written in the cycle of the
  // reading is of another slot.
  logic [3:0][6:0] number, number_next;
  logic [3:0] wanted, wanted_next;
  logic [3:0] from_alu_q, from_load_q;
  logic [31:0] constant_q [4];
  assign number = {word.st_src, word.alu_c, word.alu_b, word.alu_a};
  assign number_next =
      slot_last ? {fetched_q.st_src, fetched_q.alu_c, fetched_q.alu_b, fetched_q.alu_a} : number;
  assign wanted = {st_on, {3{alu_on}}};
  assign wanted_next = slot_last ? {fetched_q.st_on, {3{fetched_q.alu_op != tegula_pkg::AluNop}}}
                                 : {word.st_on, {3{word.alu_op != tegula_pkg::AluNop}}};
  always_ff @(posedge clk_i) begin
    for (int o = 0; o < 4; o++) begin
      if (ahead) begin
        from_alu_q[o] <= alu_valid_q[L-2] && alu_dst_q[L-2] == number_next[o][4:0];
        from_load_q[o] <= ld_valid_q[L-2] && ld_dst_q[L-2] == number_next[o][4:0];
      end
      if (ahead && wanted_next[o] && number_next[o][6])
        constant_q[o] <= 32'(number_next[o][5:0]) < K
                         ? constants_q[{plane_i, number_next[o][ConstantW-1:0]}] : '0;
    end
  end

  // Registers: two memories, lanes 0..P-1 and P..2P-1, word = register and slot
  logic [32*N-1:0] value [4];
  for (genvar h = 0; h < 2; h++) begin : gen_half
    localparam int unsigned Base = 32 * P * h;
    logic [32*P-1:0] regs_q [32 << SlotW];
    always_ff @(posedge clk_i) begin
      if (ld_done && ld_halves[h]) regs_q[{slot, ld_dst}] <= ld_result[Base+:32*P];
      if (alu_done) regs_q[{slot, alu_dst}] <= alu_result[Base+:32*P];
    end
    for (genvar o = 0; o < 4; o++) begin : gen_operand
      logic [32*P-1:0] read_q, lanes;
      assign value[o][Base+:32*P] = lanes;
      always_ff @(posedge clk_i) begin
        if (ahead && wanted_next[o]) read_q <= regs_q[{slot_next, number_next[o][4:0]}];
      end
      always_comb begin
        lanes = '0;
        if (wanted[o]) begin
          if (number[o][6]) lanes = {P{constant_q[o]}};
          else if (number[o][5]) lanes = '0;
          else if (from_alu_q[o]) lanes = alu_result[Base+:32*P];
          else if (from_load_q[o] && ld_halves[h]) lanes = ld_result[Base+:32*P];
          else lanes = read_q;
        end
      end
    end
  end

  // ALU
  logic [49:0] tail_here;  // elements from this vector on, signed
  assign tail_here = tail_left - {43'd0, word.alu_c} * 50'(N);
  logic draws;
  logic [L-1:0] draws_q;
  logic [31:0] draw_row_hash_q;
  assign draws = alu_on && word.alu_op == tegula_pkg::AluRndsr;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) draws_q <= '0;
    else draws_q <= {draws_q[L-2:0], draws};
  end
  always_ff @(posedge clk_i) begin
    if (draws) draw_row_hash_q <= fp_pkg::mix(sr_row + {25'd0, word.alu_c});
  end
  for (genvar i = 0; i < N; i++) begin : gen_lane
    logic [31:0] moved, computed;
    logic [LaneW-1:0] source;
    logic [5:0] table_index;
    assign source = word.alu_c[LaneW-1:0] +
                    (word.alu_op == tegula_pkg::AluRot ? LaneW'(i) : LaneW'(0));
    assign table_index = {1'b1, value[0][32*i+:5]};
    always_comb begin
      moved = '0;
      if (alu_on) begin
        if (word.alu_op != tegula_pkg::AluLut) moved = value[0][32*source+:32];
        else if (32'(table_index) < K)
          moved = constants_q[{plane_i, table_index[ConstantW-1:0]}];
      end
    end
    vx_alu #(.Latency(L)) u_alu (
      .clk_i, .rst_ni,
      .valid_i (alu_on),
      .op_i    (word.alu_op),
      .a_i     (value[0][32*i+:32]),
      .b_i     (value[1][32*i+:32]),
      .c_i     (value[2][32*i+:32]),
      .moved_i (moved),
      .tail_i  ($signed(tail_here) > $signed(50'(i))),
      .result_o(computed)
    );

    // Stochastic rounding: hashes, then the rounded number, which waits until it is due.
    logic [31:0] value_q, col_hash_q, mixed;
    logic [L-1:1][31:0] drawn_q;
    assign mixed = fp_pkg::mix(draw_row_hash_q + col_hash_q);
    always_ff @(posedge clk_i) begin
      if (draws) begin
        value_q <= value[0][32*i+:32];
        col_hash_q <= fp_pkg::mix(sr_col + 32'(i));
      end
      if (draws_q[0]) drawn_q[1] <= {fp_pkg::to_bf16_stochastic(value_q, mixed[31:16]), 16'd0};
      for (int unsigned s = 2; s < L; s++) begin
        if (draws_q[s-1]) drawn_q[s] <= drawn_q[s-1];
      end
    end
    assign alu_result[32*i+:32] = draws_q[L-1] ? drawn_q[L-1] : computed;
  end

  // Load: the row arrives in the cycle after its request, is widened, and waits until its word's
  // results are due.
  logic ld_arrives_q, ld_fp16_q, ld_bf16_q, ld_acc_q, ld_splat_q;
  logic [5:0] ld_lane_q;
  logic [32*N-1:0] widened;
  assign ld_req_o = ld_on && ld_kind != tegula_pkg::StreamAcc;
  assign acc_rd_req_o = ld_on && ld_kind == tegula_pkg::StreamAcc;
  assign ld_row_o = address[word.ld_stream] + {15'd0, ld_fp32 && word.ld_half};
  assign acc_rd_row_o = address[word.ld_stream];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ld_arrives_q <= 1'b0;
    else ld_arrives_q <= ld_on;
  end
  always_ff @(posedge clk_i) begin
    if (ld_on) begin
      ld_bf16_q <= ld_kind == tegula_pkg::StreamBf16;
      ld_fp16_q <= ld_kind == tegula_pkg::StreamFp16;
      ld_acc_q <= ld_kind == tegula_pkg::StreamAcc;
      ld_splat_q <= ld_kind == tegula_pkg::StreamSplat32;
      ld_lane_q <= lane[word.ld_stream];
    end
  end
  for (genvar i = 0; i < N; i++) begin : gen_widen
    always_comb begin
      widened[32*i+:32] = ld_rdata_i[32*(i%P)+:32];
      if (ld_acc_q) widened[32*i+:32] = acc_rd_data_i[32*i+:32];
      if (ld_bf16_q) widened[32*i+:32] = fp_pkg::widen_bf16(ld_rdata_i[16*i+:16]);
      if (ld_fp16_q) widened[32*i+:32] = fp_pkg::widen_fp16(ld_rdata_i[16*i+:16]);
      if (ld_splat_q) widened[32*i+:32] = ld_rdata_i[32*ld_lane_q[$clog2(P)-1:0]+:32];
    end
  end
  logic [L-2:0][32*N-1:0] ld_data_q;
  always_ff @(posedge clk_i) begin
    if (ld_arrives_q) ld_data_q[0] <= widened;
    for (int unsigned s = 1; s < L - 1; s++) begin
      if (ld_valid_q[s]) ld_data_q[s] <= ld_data_q[s-1];
    end
  end
  assign ld_result = ld_data_q[L-2];

  // Store: rounded in the word-slot's cycle, written in the next one
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) st_req_o <= 1'b0;
    else st_req_o <= st_on;
  end
  always_ff @(posedge clk_i) begin
    if (st_on) st_row_o <= address[word.st_stream] + {15'd0, st_fp32 && word.st_half};
  end
  logic st_sr_q;
  logic [31:0] st_row_hash_q;
  logic [32*P-1:0] st_exact_q, st_drawn;
  always_ff @(posedge clk_i) begin
    if (st_on) st_sr_q <= st_kind == tegula_pkg::StreamBf16sr;
    if (st_on && st_kind == tegula_pkg::StreamBf16sr) st_row_hash_q <= fp_pkg::mix(sr_row);
  end
  assign st_data_o = st_sr_q ? st_drawn : st_exact_q;
  for (genvar i = 0; i < P; i++) begin : gen_store
    logic [31:0] full;
    always_ff @(posedge clk_i) begin
      if (st_on) begin
        if (st_kind == tegula_pkg::StreamBf16)
          st_exact_q[32*i+:32] <= {fp_pkg::to_bf16(value[3][32*(2*i+1)+:32]),
                                   fp_pkg::to_bf16(value[3][64*i+:32])};
        else if (st_kind == tegula_pkg::StreamFp16)
          st_exact_q[32*i+:32] <= {fp_pkg::to_fp16(value[3][32*(2*i+1)+:32]),
                                   fp_pkg::to_fp16(value[3][64*i+:32])};
        else st_exact_q[32*i+:32] <= fp_pkg::is_nan(full) ? fp_pkg::QuietNan : full;
      end
    end
    assign full = word.st_half ? value[3][32*(P+i)+:32] : value[3][32*i+:32];
  end
  for (genvar i = 0; i < N; i++) begin : gen_store_stochastic
    logic [31:0] value_q, col_hash_q, mixed;
    always_ff @(posedge clk_i) begin
      if (st_on && st_kind == tegula_pkg::StreamBf16sr) begin
        value_q <= value[3][32*i+:32];
        col_hash_q <= fp_pkg::mix(sr_col + 32'(i));
      end
    end
    assign mixed = fp_pkg::mix(st_row_hash_q + col_hash_q);
    assign st_drawn[16*i+:16] = fp_pkg::to_bf16_stochastic(value_q, mixed[31:16]);
  end
endmodule
