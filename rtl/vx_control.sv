// Sequencing of a VOP (docs/machine.md, section 5): groups of L rows, segments, repeats, words, slots; the stream
// addresses of each word-slot. One row's addresses are computed a cycle: of the first group while the VOP is set up, of
// each next group during the last word of the group before it. So are the columns that stochastic rounding hashes.
module vx_control (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  input  logic                                   head_valid_i,
  input  tegula_pkg::vx_instr_t                  head_i,
  input  logic [2:0][19:0]                       idx_i,
  input  logic [tegula_pkg::VxStreams-1:0][15:0] s_addr_i,
  input  logic [31:0]                            sr_key_i,     // of head_i
  output logic                                   issue_o,
  output logic                                   end_o,
  output logic                                   idle_o,
  output logic [tegula_pkg::Banks-1:0]           ld_own_o,
  output logic [tegula_pkg::Banks-1:0]           st_own_o,
  output logic [1:0]                             acc_own_o,
  // The word-slot of this cycle
  output logic                                   active_o,     // the slot has a row
  output logic [$clog2(tegula_pkg::FmaLatency)-1:0] slot_o,
  output logic [$clog2(tegula_pkg::MicrocodeWords)-1:0] pc_o,
  output logic [tegula_pkg::VxStreams*16-1:0]    address_o,    // of each stream, low half
  output logic [tegula_pkg::VxStreams*3-1:0]     kind_o,
  output logic [tegula_pkg::VxStreams*6-1:0]     lane_o,
  output logic [49:0]                            tail_left_o,  // elements from this j on, signed
  output logic [31:0]                            sr_row_hash_o,
  // column of lane 0 plus the key of the columns
  output logic [31:0]                            sr_col_o
);
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned Banks = tegula_pkg::Banks;
  localparam int unsigned Streams = tegula_pkg::VxStreams;
  localparam int unsigned BankShift = $clog2(tegula_pkg::BankRows);
  localparam int unsigned AccShift = $clog2(tegula_pkg::AccRows);
  localparam int unsigned SlotW = $clog2(L);
  localparam int unsigned PcW = $clog2(tegula_pkg::MicrocodeWords);
  localparam logic [2:0] KindAcc = 3'd4;
  localparam logic [2:0] KindBf16Sr = 3'd6;
  localparam logic [SlotW-1:0] LastSlot = SlotW'(L - 1);

  // The streams as arrays
  logic [Streams-1:0][2:0] head_kind;
  logic [Streams-1:0][5:0] head_lane, head_banks;
  logic [Streams-1:0] head_store;
  logic [Streams-1:0][2:0][15:0] head_row;
  logic [Streams-1:0][1:0][15:0] head_j;
  logic [tegula_pkg::VxInstrBits-1:0] head_bits;
  assign head_bits = head_i;
  for (genvar t = 0; t < Streams; t++) begin : gen_stream
    tegula_pkg::vx_stream_t stream;
    assign stream = head_bits[tegula_pkg::VxStreamLsb+t*tegula_pkg::VxStreamBits+:tegula_pkg::VxStreamBits];
    assign head_kind[t] = stream.kind;
    assign head_lane[t] = stream.lane;
    assign head_banks[t] = stream.banks;
    assign head_store[t] = stream.store;
    assign head_row[t] = stream.row;
    assign head_j[t] = stream.j;
  end

  // Issue, phases, end
  typedef enum logic [1:0] {Idle, Setup, Run, Drain} phase_t;
  phase_t phase_q;
  logic [SlotW-1:0] slot_q;  // also counts the L cycles of setup and drain
  logic empty_q, run_end;    // no row or no word

  assign idle_o = phase_q == Idle;
  assign issue_o = head_valid_i && head_i.op == tegula_pkg::OpVxVop && idle_o;
  assign end_o = phase_q == Drain && slot_q == LastSlot;
  assign slot_o = slot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q <= Idle;
      slot_q  <= '0;
    end else begin
      if (idle_o || slot_q == LastSlot) slot_q <= '0;
      else slot_q <= slot_q + SlotW'(1);
      case (phase_q)
        Idle: if (issue_o) phase_q <= Setup;
        Setup: if (slot_q == LastSlot) phase_q <= empty_q ? Drain : Run;
        Run: if (slot_q == LastSlot && run_end) phase_q <= Drain;
        default: if (slot_q == LastSlot) phase_q <= Idle;
      endcase
    end
  end

  // The instruction
  logic [2:0][15:0] row_count_q;
  logic [1:0][15:0] j_count_q;
  logic [5:0][9:0] seg_begin_q, seg_len_q;
  logic [5:0] seg_repeat_q, seg_used, seg_used_q;
  logic [15:0] tail_step_q;
  logic [31:0] tail_n_q;
  logic [Streams-1:0][2:0] kind_q;
  logic [Streams-1:0][5:0] lane_q;
  logic [Streams-1:0][2:0][15:0] row_step_q;
  logic [Streams-1:0][1:0][15:0] j_step_q;
  logic [Banks-1:0] ld_own, st_own, ld_own_q, st_own_q;
  logic [1:0] acc_own, acc_own_q;

  always_comb begin
    ld_own = '0;
    st_own = '0;
    acc_own = '0;
    for (int unsigned t = 0; t < Streams; t++) begin
      if (head_kind[t] == KindAcc) acc_own[s_addr_i[t][AccShift]] = 1'b1;
      else if (head_kind[t] != 3'd0) begin
        for (int unsigned b = 0; b < Banks; b++) begin
          if (b >= 32'(s_addr_i[t]) >> BankShift &&
              b < (32'(s_addr_i[t]) >> BankShift) + 32'(head_banks[t])) begin
            if (head_store[t]) st_own[b] = 1'b1;
            else ld_own[b] = 1'b1;
          end
        end
      end
    end
    for (int unsigned q = 0; q < 6; q++) begin
      seg_used[q] = head_i.seg_len[q] != 10'd0 &&
                    (!head_i.seg_repeat[q] || (head_i.j_count[0] != 16'd0 && head_i.j_count[1] != 16'd0));
    end
  end
  assign ld_own_o = issue_o ? ld_own : idle_o ? '0 : ld_own_q;
  assign st_own_o = issue_o ? st_own : idle_o ? '0 : st_own_q;
  assign acc_own_o = issue_o ? acc_own : idle_o ? '0 : acc_own_q;

  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      row_count_q <= head_i.row_count;
      j_count_q <= head_i.j_count;
      seg_begin_q <= head_i.seg_begin;
      seg_len_q <= head_i.seg_len;
      seg_repeat_q <= head_i.seg_repeat;
      seg_used_q <= seg_used;
      empty_q <= head_i.rows == 16'd0 || seg_used == 6'd0;
      tail_step_q <= head_i.tail_step;
      tail_n_q <= head_i.tail_n;
      kind_q <= head_kind;
      lane_q <= head_lane;
      row_step_q <= head_row;
      j_step_q <= head_j;
      sr_col_row_q <= head_i.sr_col_row;
      sr_col_j_q <= head_i.sr_col_j;
      ld_own_q <= ld_own;
      st_own_q <= st_own;
      acc_own_q <= acc_own;
    end
  end
  assign kind_o = kind_q;
  assign lane_o = lane_q;

  // Stochastic rounding: the tile key, then the row's hash and the columns' key, in the three cycles after the issue.
  logic rounds;
  logic [1:0] sr_step_q;
  logic [2:0][19:0] idx_q;
  logic [2:0][31:0] sr_col_delta_q, sr_col_row_q;
  logic [1:0][31:0] sr_col_j_q;
  logic [31:0] sr_key_q, sr_tile_q, sr_row_q, sr_col_q;
  always_comb begin
    rounds = 1'b0;
    for (int unsigned t = 0; t < Streams; t++) if (head_kind[t] == KindBf16Sr) rounds = 1'b1;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sr_step_q <= 2'd0;
    else if (issue_o) sr_step_q <= {1'b0, rounds};
    else if (sr_step_q != 2'd0) sr_step_q <= sr_step_q + 2'd1;
  end
  always_ff @(posedge clk_i) begin
    if (issue_o && rounds) begin
      idx_q <= idx_i;
      sr_key_q <= sr_key_i;
      sr_tile_q <= {8'd0, head_i.sr_tile} + {12'd0, idx_i[0]} * {8'd0, head_i.sr_tile_delta[0]} +
                   {12'd0, idx_i[1]} * {8'd0, head_i.sr_tile_delta[1]} +
                   {12'd0, idx_i[2]} * {8'd0, head_i.sr_tile_delta[2]};
      sr_row_q <= head_i.sr_row;
      sr_col_q <= head_i.sr_col;
      sr_col_delta_q <= head_i.sr_col_delta;
    end
    if (sr_step_q == 2'd1) begin
      sr_tile_q <= sr_key_q ^ fp_pkg::mix(sr_tile_q + 32'h9E37_79B9);
      sr_col_q <= sr_col_q + {12'd0, idx_q[0]} * sr_col_delta_q[0] + {12'd0, idx_q[1]} * sr_col_delta_q[1] +
                  {12'd0, idx_q[2]} * sr_col_delta_q[2];
    end
    if (sr_step_q == 2'd2) sr_tile_q <= fp_pkg::mix(sr_tile_q);
    if (sr_step_q == 2'd3) begin
      sr_row_q <= fp_pkg::mix(sr_tile_q + sr_row_q);
      sr_col_q <= sr_col_q + (sr_tile_q ^ 32'h85EB_CA6B);
    end
  end
  assign sr_row_hash_o = sr_row_q;

  // Rows: digits and addresses of the next row, kept for the start of each digit's current iteration; the rows of the
  // group by slot.
  logic [2:0][15:0] digit_q;
  logic [15:0] rows_left_q;  // not yet in a group
  logic [Streams-1:0][2:0][15:0] row_addr_q;
  logic [L-1:0][Streams-1:0][15:0] slot_addr_q;
  logic [2:0][31:0] row_col_q;
  logic [L-1:0][31:0] slot_col_q;
  logic [L-1:0] slot_used_q;
  logic take_row, inner_end, middle_end, group_end;

  assign inner_end = digit_q[2] + 16'd1 >= row_count_q[2];
  assign middle_end = digit_q[1] + 16'd1 >= row_count_q[1];
  assign take_row = phase_q == Setup || (phase_q == Run && group_end);

  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      rows_left_q <= head_i.rows;
      digit_q <= '0;
      for (int unsigned t = 0; t < Streams; t++) row_addr_q[t] <= {3{s_addr_i[t]}};
      row_col_q <= '0;
    end else if (take_row) begin
      slot_used_q[slot_q] <= rows_left_q != 16'd0;
      if (rows_left_q != 16'd0) rows_left_q <= rows_left_q - 16'd1;
      digit_q[2] <= inner_end ? 16'd0 : digit_q[2] + 16'd1;
      if (inner_end) digit_q[1] <= middle_end ? 16'd0 : digit_q[1] + 16'd1;
      for (int unsigned t = 0; t < Streams; t++) begin
        slot_addr_q[slot_q][t] <= row_addr_q[t][2];
        if (!inner_end) begin
          row_addr_q[t][2] <= row_addr_q[t][2] + row_step_q[t][2];
        end else if (!middle_end) begin
          row_addr_q[t][2] <= row_addr_q[t][1] + row_step_q[t][1];
          row_addr_q[t][1] <= row_addr_q[t][1] + row_step_q[t][1];
        end else begin
          row_addr_q[t] <= {3{row_addr_q[t][0] + row_step_q[t][0]}};
        end
      end
      slot_col_q[slot_q] <= row_col_q[2];
      if (!inner_end) begin
        row_col_q[2] <= row_col_q[2] + sr_col_row_q[2];
      end else if (!middle_end) begin
        row_col_q[2] <= row_col_q[1] + sr_col_row_q[1];
        row_col_q[1] <= row_col_q[1] + sr_col_row_q[1];
      end else begin
        row_col_q <= {3{row_col_q[0] + sr_col_row_q[0]}};
      end
    end
  end

  // Segments, repeats, words
  logic [2:0] seg_q, seg_first, seg_next;
  logic [9:0] word_q;
  logic [1:0][15:0] j_q;
  logic [Streams-1:0][1:0][15:0] j_addr_q;
  logic [1:0][31:0] j_col_q;
  logic [49:0] tail_left_q;
  logic [15:0] group_left_q;  // rows from this group on
  logic word_last, pass_last, j_inner_end, seg_last;
  logic [9:0] pc;

  always_comb begin
    seg_first = 3'd0;
    seg_next = 3'd0;
    seg_last = 1'b1;
    for (int unsigned q = 6; q > 0; q--) begin
      if (phase_q == Setup ? seg_used_q[q-1] : 1'b0) seg_first = 3'(q - 1);
      if (seg_used_q[q-1] && phase_q != Setup) begin
        seg_first = 3'(q - 1);
        if (q - 1 > 32'(seg_q)) begin
          seg_next = 3'(q - 1);
          seg_last = 1'b0;
        end
      end
    end
  end
  assign word_last = word_q + 10'd1 == seg_len_q[seg_q];
  assign j_inner_end = j_q[1] + 16'd1 == j_count_q[1];
  assign pass_last = !seg_repeat_q[seg_q] || (j_inner_end && j_q[0] + 16'd1 == j_count_q[0]);
  assign group_end = word_last && pass_last && seg_last;
  assign run_end = group_end && group_left_q <= 16'(L);

  always_ff @(posedge clk_i) begin
    if (issue_o) group_left_q <= head_i.rows;
    else if (phase_q == Run && slot_q == LastSlot && group_end) group_left_q <= group_left_q - 16'(L);

    if (phase_q == Setup || (phase_q == Run && slot_q == LastSlot)) begin
      word_q <= word_q + 10'd1;
      if (phase_q == Setup || word_last) begin
        word_q <= '0;
        if (phase_q == Setup || pass_last) begin
          seg_q <= phase_q == Setup || seg_last ? seg_first : seg_next;
          j_q <= '0;
          j_addr_q <= '0;
          j_col_q <= '0;
          tail_left_q <= {18'd0, tail_n_q};
        end else begin
          j_q[1] <= j_inner_end ? 16'd0 : j_q[1] + 16'd1;
          if (j_inner_end) j_q[0] <= j_q[0] + 16'd1;
          tail_left_q <= tail_left_q - {34'd0, tail_step_q};
          for (int unsigned t = 0; t < Streams; t++) begin
            j_addr_q[t][1] <= j_inner_end ? j_addr_q[t][0] + j_step_q[t][0] : j_addr_q[t][1] + j_step_q[t][1];
            if (j_inner_end) j_addr_q[t][0] <= j_addr_q[t][0] + j_step_q[t][0];
          end
          j_col_q[1] <= j_inner_end ? j_col_q[0] + sr_col_j_q[0] : j_col_q[1] + sr_col_j_q[1];
          if (j_inner_end) j_col_q[0] <= j_col_q[0] + sr_col_j_q[0];
        end
      end
    end
  end

  assign pc = seg_begin_q[seg_q] + word_q;
  assign pc_o = pc[PcW-1:0];
  assign active_o = phase_q == Run && slot_used_q[slot_q];
  assign tail_left_o = tail_left_q;
  assign sr_col_o = sr_col_q + slot_col_q[slot_q] + j_col_q[1];
  for (genvar t = 0; t < Streams; t++) begin : gen_address
    assign address_o[16*t+:16] = slot_addr_q[slot_q][t] + j_addr_q[t][1];
  end
endmodule
