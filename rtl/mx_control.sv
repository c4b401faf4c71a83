// Issue, block frames and the streams of rows of the matrix unit (docs/machine.md, section 4).
//
// A frame is the `pitch` cycles from the first read of a block's stationary rows on: offsets 0..S-1 read them, from offset
// S the streamed rows are read, perhaps beyond the frame's end. Frames follow each other without gaps; the next
// instruction's first frame is its issue.
module mx_control (
  input  logic                                           clk_i,
  input  logic                                           rst_ni,
  // Sequencer
  input  logic                                           head_valid_i,
  input  tegula_pkg::mx_instr_t                          head_i,
  input  logic [2:0][19:0]                               idx_i,
  input  logic [15:0]                                    a_addr_i,
  input  logic [15:0]                                    b_addr_i,
  input  logic [15:0]                                    c_addr_i,
  input  logic [31:0]                                    sr_key_i,
  output logic                                           issue_o,
  input  logic                                           end_i,      // an instruction ends
  // Scratchpad
  output logic                                           a_req_o,
  output logic [15:0]                                    a_row_o,
  output logic                                           b_req_o,
  output logic [15:0]                                    b_row_o,
  output logic [tegula_pkg::BANKS-1:0]                   a_own_o,
  output logic [tegula_pkg::BANKS-1:0]                   b_own_o,
  output logic [1:0]                                     acc_own_o,
  // Array: format; the row whose data arrive now; the stationary row whose data arrive now
  output logic                                           busy_o,
  output logic                                           fp32_o,
  output logic                                           fp16_o,
  output logic                                           a_valid_o,
  output logic                                           a_set_o,
  output logic                                           w_valid_o,
  output logic                                           w_set_o,
  output logic                                           w_transposed_o,
  output logic [$clog2(2*tegula_pkg::P)-1:0]             w_index_o,
  output logic [$clog2(2*tegula_pkg::P):0]               w_depth_o,
  // Accumulator row that column 0 reads now
  output logic                                           acc_valid_o,
  output logic [$clog2(2*tegula_pkg::ACC_ROWS)-1:0]      acc_row_o,
  output logic                                           acc_init_o, // +0 instead
  output logic                                           acc_half_o, // FP32: lanes P..2P-1
  // Write port: a block's results begin two cycles later
  output logic                                           write_start_o,
  output logic [25:0]                                    write_rows_o,
  output logic [15:0]                                    write_row_o,
  output logic                                           write_half_o,
  output logic                                           write_last_o,
  output logic                                           write_round_o,
  output logic [31:0]                                    tile_key_o,
  output logic [31:0]                                    sr_row_o,
  output logic [31:0]                                    sr_col_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned L = tegula_pkg::FMA_LATENCY;
  localparam int unsigned NB = tegula_pkg::BANKS;
  localparam int unsigned BankShift = $clog2(tegula_pkg::BANK_ROWS);
  localparam int unsigned AccShift = $clog2(tegula_pkg::ACC_ROWS);
  localparam int unsigned RowW = AccShift + 1;
  localparam int unsigned DepthW = $clog2(2 * P) + 1;
  localparam int unsigned FlushMin = P > 3 ? P : 3;
  localparam logic [25:0] PitchFp32 = 26'(P * L + P + FlushMin);
  localparam logic [25:0] PitchNarrow = 26'(2 * P * L + 2 * P + FlushMin);

  // The banks of an operand: `count` from the bank of its address on.
  function automatic logic [NB-1:0] banks_of(input logic [15:0] row, input logic [5:0] count);
    logic [NB-1:0] mask;
    for (int unsigned b = 0; b < NB; b++) begin
      mask[b] = b >= (32'(row) >> BankShift) && b < (32'(row) >> BankShift) + 32'(count);
    end
    banks_of = mask;
  endfunction

  // Issue
  logic       frame_q, ready, same_format;
  logic [1:0] in_flight_q, format_q;
  logic [5:0] hold_q;  // FP32 after a narrow format waits P cycles more than the frame: its own S is smaller

  assign same_format = head_i.format == format_q;
  assign ready = !frame_q && (same_format || in_flight_q == 2'd0) && (head_i.format != 2'd0 || hold_q == 6'd0);
  assign issue_o = head_valid_i && head_i.op == tegula_pkg::OP_MX_GEMM && ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_flight_q <= 2'd0;
      format_q <= 2'd0;
    end else begin
      if (issue_o && !end_i) in_flight_q <= in_flight_q + 2'd1;
      else if (!issue_o && end_i) in_flight_q <= in_flight_q - 2'd1;
      if (issue_o) format_q <= head_i.format;
    end
  end
  assign busy_o = in_flight_q != 2'd0;
  assign fp32_o = format_q == 2'd0;
  assign fp16_o = format_q == 2'd2;

  // The instruction, with what its loop indices add. Three multipliers serve the valid k at the issue and the three
  // quantities of stochastic rounding in the cycles after it.
  tegula_pkg::mx_instr_t in_q;
  logic [2:0][19:0]  idx_q, factor_a;
  logic [2:0][31:0]  factor_b;
  logic [45:0]       index_sum;
  logic [1:0]        sr_step_q;
  logic [31:0]       sr_key_q, sr_tile_q, sr_row_q, sr_col_q;
  logic [46:0]       k_rest;
  logic [23:0]       k_left;
  logic              init_q, c_half_q;
  logic [25:0]       rows, rows_q, pitch_min, pitch_q;
  logic [NB-1:0]     a_banks_q, b_banks_q, b_banks;

  always_comb begin
    for (int unsigned l = 0; l < 3; l++) begin
      factor_a[l] = issue_o ? idx_i[l] : idx_q[l];
      factor_b[l] = {8'd0, head_i.k_delta[l]};
      if (!issue_o) begin
        case (sr_step_q)
          2'd1: factor_b[l] = {8'd0, in_q.sr_tile_delta[l]};
          2'd2: factor_b[l] = in_q.sr_row_delta[l];
          default: factor_b[l] = in_q.sr_col_delta[l];
        endcase
      end
    end
    index_sum = 46'(factor_a[0]) * 46'(factor_b[0]) + 46'(factor_a[1]) * 46'(factor_b[1]) +
                46'(factor_a[2]) * 46'(factor_b[2]);
  end
  always_comb begin
    k_rest = {15'd0, head_i.k_total} - {1'b0, index_sum};
    if (k_rest[46]) k_left = 24'd0;
    else if (k_rest > {23'd0, head_i.k_chunk}) k_left = head_i.k_chunk;
    else k_left = k_rest[23:0];
  end
  assign rows = {13'd0, head_i.m_count[0]} * {13'd0, head_i.m_count[1]};
  assign pitch_min = head_i.format == 2'd0 ? PitchFp32 : PitchNarrow;
  assign b_banks = banks_of(b_addr_i, head_i.b_banks);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sr_step_q <= 2'd0;
    else if (issue_o) sr_step_q <= 2'd1;
    else if (sr_step_q != 2'd0) sr_step_q <= sr_step_q + 2'd1;
  end
  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      in_q <= head_i;
      idx_q <= idx_i;
      sr_key_q <= sr_key_i;
      init_q <= head_i.init && (head_i.init_levels & {idx_i[2] != 20'd0, idx_i[1] != 20'd0, idx_i[0] != 20'd0}) == 3'd0;
      c_half_q <= c_addr_i[AccShift];
      rows_q <= rows;
      pitch_q <= rows > pitch_min ? rows : pitch_min;
      a_banks_q <= banks_of(a_addr_i, head_i.a_banks);
      b_banks_q <= b_banks;
    end
    if (sr_step_q == 2'd1) sr_tile_q <= {8'd0, in_q.sr_tile} + index_sum[31:0];
    if (sr_step_q == 2'd2) sr_row_q <= in_q.sr_row + index_sum[31:0];
    if (sr_step_q == 2'd3) sr_col_q <= in_q.sr_col + index_sum[31:0];
  end

  // Frames
  logic [25:0] offset_q, depth;
  logic        set_q, frame_end, start;
  logic [15:0] b_row_q, nest_a, nest_b, nest_c;
  logic [31:0] nest_col, nest_tile;
  logic [23:0] nest_left;
  logic        nest_half, nest_round, nest_k_first, nest_first, nest_last;

  assign depth = fp32_o ? 26'(P) : 26'(2 * P);
  assign frame_end = frame_q && offset_q == pitch_q - 26'd1;
  assign start = frame_q && offset_q == depth;  // the first streamed row of the block

  mx_nest u_nest (
    .clk_i, .head_i, .a_addr_i, .b_addr_i, .c_addr_i,
    .load_i    (issue_o),
    .k_left_i  (k_left),
    .advance_i (frame_end),
    .a_o       (nest_a),
    .b_o       (nest_b),
    .c_o       (nest_c),
    .half_o    (nest_half),
    .sr_col_o  (nest_col),
    .sr_tile_o (nest_tile),
    .sr_round_o(nest_round),
    .k_left_o  (nest_left),
    .k_first_o (nest_k_first),
    .first_o   (nest_first),
    .last_o    (nest_last)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frame_q  <= 1'b0;
      offset_q <= '0;
      set_q    <= 1'b0;
      hold_q   <= '0;
    end else begin
      if (issue_o) begin
        frame_q  <= 1'b1;
        offset_q <= 26'd1;
        set_q    <= !set_q;
      end else if (frame_end) begin
        frame_q  <= !nest_last;
        offset_q <= '0;
        if (!nest_last) set_q <= !set_q;
      end else if (frame_q) begin
        offset_q <= offset_q + 26'd1;
      end
      if (frame_end && nest_last && !fp32_o) hold_q <= 6'(P);
      else if (hold_q != 6'd0) hold_q <= hold_q - 6'd1;
    end
  end

  // Stationary rows
  logic b_owned_q;
  assign b_req_o = issue_o || (frame_q && offset_q < depth);
  always_comb begin
    b_row_o = b_row_q;
    if (issue_o) b_row_o = b_addr_i;
    else if (offset_q == '0) b_row_o = nest_b;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_valid_o <= 1'b0;
      b_owned_q <= 1'b0;
    end else begin
      w_valid_o <= b_req_o;
      if (issue_o) b_owned_q <= 1'b1;
      else if (nest_last && frame_q && offset_q == depth - 26'd1) b_owned_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      b_row_q <= b_addr_i + head_i.b_row;
      w_index_o <= '0;
    end else if (b_req_o) begin
      b_row_q <= b_row_o + in_q.b_row;
      w_index_o <= offset_q[$clog2(2*P)-1:0];
    end
  end
  assign w_set_o = set_q;
  assign w_transposed_o = in_q.b_transposed;
  assign w_depth_o = nest_left > depth[23:0] ? depth[DepthW-1:0] : nest_left[DepthW-1:0];
  assign b_own_o = issue_o ? b_banks : b_owned_q ? b_banks_q : '0;

  // Streamed rows: outer index m0, inner index m1
  logic        stream_q, stream_last, stream_set_q, stream_init_q, stream_half_q, stream_last_block_q, a_owned_q;
  logic        stream_set, stream_init, stream_half, stream_last_block, m1_end;
  logic [12:0] m0_q, m1_q, m0, m1;
  logic [1:0][12:0] m_count_q, m_count;
  logic [1:0][15:0] a_m_q, a_m;
  logic [15:0] a_row_q, a_outer_q, a_outer, c_row_q, c_row;
  logic [NB-1:0] a_own_q;

  always_comb begin
    m0 = m0_q;
    m1 = m1_q;
    m_count = m_count_q;
    a_m = a_m_q;
    a_row_o = a_row_q;
    a_outer = a_outer_q;
    c_row = c_row_q;
    stream_set = stream_set_q;
    stream_init = stream_init_q;
    stream_half = stream_half_q;
    stream_last_block = stream_last_block_q;
    if (start) begin
      m0 = '0;
      m1 = '0;
      m_count = in_q.m_count;
      a_m = in_q.a_m;
      a_row_o = nest_a;
      a_outer = nest_a;
      c_row = nest_c;
      stream_set = set_q;
      stream_init = init_q && nest_k_first;
      stream_half = nest_half;
      stream_last_block = nest_last;
    end
  end
  assign a_req_o = start || stream_q;
  assign m1_end = m1 + 13'd1 >= m_count[1];
  assign stream_last = m1_end && m0 + 13'd1 >= m_count[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stream_q  <= 1'b0;
      a_valid_o <= 1'b0;
      a_owned_q <= 1'b0;
    end else begin
      stream_q  <= a_req_o && !stream_last;
      a_valid_o <= a_req_o;
      if (a_req_o && stream_last && stream_last_block) a_owned_q <= 1'b0;
      else if (start) a_owned_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      m_count_q <= in_q.m_count;
      a_m_q <= in_q.a_m;
      stream_set_q <= set_q;
      stream_init_q <= stream_init;
      stream_half_q <= nest_half;
      stream_last_block_q <= nest_last;
      a_own_q <= a_banks_q;
    end
    if (a_req_o) begin
      m1_q <= m1_end ? 13'd0 : m1 + 13'd1;
      m0_q <= m1_end ? m0 + 13'd1 : m0;
      a_row_q <= m1_end ? a_outer + a_m[0] : a_row_o + a_m[1];
      a_outer_q <= m1_end ? a_outer + a_m[0] : a_outer;
      c_row_q <= c_row + 16'd1;
      a_set_o <= stream_set;
    end
  end
  assign a_own_o = start && nest_first ? a_banks_q : a_owned_q ? a_own_q : '0;
  assign acc_valid_o = a_req_o;
  assign acc_row_o = c_row[RowW-1:0];
  assign acc_init_o = stream_init;
  assign acc_half_o = stream_half;

  // Accumulator halves: of the instruction that started last, and of the one before it until it ends
  logic [1:0] half_new, half_new_q, half_old_q;  // one-hot, 0: none
  assign half_new = start && nest_first ? (c_half_q ? 2'b10 : 2'b01) : 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_new_q <= 2'b00;
      half_old_q <= 2'b00;
    end else if (half_new != 2'b00) begin
      half_new_q <= half_new;
      half_old_q <= end_i ? (half_old_q != 2'b00 ? half_new_q : 2'b00) : half_new_q;
    end else if (end_i) begin
      if (half_old_q != 2'b00) half_old_q <= 2'b00;
      else half_new_q <= 2'b00;
    end
  end
  assign acc_own_o = half_new | half_new_q | half_old_q;

  // The write port starts S*L - 1 cycles after the first streamed row; until then the block is still the nest's.
  localparam int unsigned WaitW = $clog2(2 * P * L + 1);
  logic [WaitW-1:0] wait_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) wait_q <= '0;
    else if (start) wait_q <= fp32_o ? WaitW'(P * L - 1) : WaitW'(2 * P * L - 1);
    else if (wait_q != '0) wait_q <= wait_q - WaitW'(1);
  end
  logic [31:0] tile_hash_q, tile_key_q;
  always_ff @(posedge clk_i) begin
    if (wait_q != '0 && nest_round) begin
      tile_hash_q <= sr_key_q ^ fp_pkg::mix(sr_tile_q + nest_tile + 32'h9E37_79B9);
      tile_key_q  <= fp_pkg::mix(tile_hash_q);
    end
  end
  assign write_start_o = wait_q == WaitW'(1);
  assign write_rows_o = rows_q;
  assign write_row_o = nest_c;
  assign write_half_o = nest_half;
  assign write_last_o = nest_last;
  assign write_round_o = nest_round;
  assign tile_key_o = tile_key_q;
  assign sr_row_o = sr_row_q;
  assign sr_col_o = sr_col_q + nest_col;
endmodule
