`include "assert.svh"

// Issue, block frames and the streams of rows of the matrix unit (docs/machine.md, section 4).
//
// A frame is the `pitch` cycles from the first read of a block's stationary rows on: offsets 0..lead-1 read them, from
// offset `lead` (a bank row of each stationary row) the streamed rows enter, perhaps beyond the frame's end. They are read
// then, or, where the transposer makes them, from offset 0 on. Frames follow each other without gaps; the next
// instruction's first frame is its issue.
module mx_control (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  // Sequencer
  input  logic                               head_valid_i,
  input  tegula_pkg::mx_instr_t              head_i,
  input  logic [2:0][19:0]                   idx_i,
  input  logic [15:0]                        a_addr_i,
  input  logic [15:0]                        b_addr_i,
  input  logic [15:0]                        c_addr_i,
  input  logic [31:0]                        sr_key_i,
  output logic                               issue_o,
  input  logic                               end_i,       // an instruction ends
  // Scratchpad
  output logic                               a_req_o,
  output logic [15:0]                        a_row_o,
  output logic                               b_req_o,
  output logic [15:0]                        b_row_o,
  output logic [tegula_pkg::Banks-1:0]       a_own_o,
  output logic [tegula_pkg::Banks-1:0]       b_own_o,
  output logic [1:0]                         acc_own_o,
  // Array: format; the row whose data arrive now; the stationary row whose data arrive now
  output logic                               busy_o,
  output logic                               fp32_o,
  output logic                               fp16_o,
  output logic                               tf32_o,
  // Transposer: a bank row arrives for it, it shows the next one, which ends the block's last row; the array is fed by it
  output logic                               turn_in_o,
  output logic                               turn_out_o,
  output logic                               turn_last_o,
  output logic                               turned_o,
  output logic                               a_valid_o,
  output logic                               a_set_o,
  output logic                               w_valid_o,
  output logic                               w_set_o,
  output logic                               w_transposed_o,
  output logic [$clog2(2*tegula_pkg::P)-1:0] w_index_o,
  output logic [$clog2(2*tegula_pkg::P):0]   w_depth_o,
  // Accumulator row that column 0 reads now
  output logic                               acc_valid_o,
  output logic [$clog2(2*tegula_pkg::AccRows)-1:0] acc_row_o,
  output logic                               acc_init_o,  // +0 instead
  output logic                               acc_half_o,  // FP32: lanes P..2P-1
  // Write port: a block's results begin two cycles later
  output logic                               write_start_o,
  output logic [25:0]                        write_rows_o,
  output logic [15:0]                        write_row_o,
  output logic                               write_half_o,
  output logic                               write_last_o,
  output logic                               write_round_o,
  output logic [31:0]                        tile_key_o,
  output logic [31:0]                        sr_row_o,
  output logic [31:0]                        sr_col_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned Banks = tegula_pkg::Banks;
  localparam int unsigned BankShift = $clog2(tegula_pkg::BankRows);
  localparam int unsigned AccShift = $clog2(tegula_pkg::AccRows);
  localparam int unsigned RowW = AccShift + 1;
  localparam int unsigned DepthW = $clog2(2 * P) + 1;
  localparam int unsigned FlushMin = P > 3 ? P : 3;
  localparam logic [25:0] PitchFp32 = 26'(P * L + P + FlushMin);
  localparam logic [25:0] PitchNarrow = 26'(2 * P * L + 2 * P + FlushMin);
  localparam logic [25:0] PitchTf32 = 26'(2 * P * L + 4 * P + FlushMin);
  localparam logic [1:0] Fp32 = 2'd0, Fp16 = 2'd2, Tf32 = 2'd3;

  // Cycles from the issue to the first streamed row.
  function automatic logic [6:0] lead_of(input logic [1:0] format);
    lead_of = format == Fp32 ? 7'(P) : format == Tf32 ? 7'(4 * P) : 7'(2 * P);
  endfunction

  // The banks of an operand: `count` from the bank of its address on.
  function automatic logic [Banks-1:0] banks_of(input logic [15:0] row, input logic [5:0] count);
    logic [Banks-1:0] mask;
    for (int unsigned b = 0; b < Banks; b++) begin
      mask[b] = b >= (32'(row) >> BankShift) && b < (32'(row) >> BankShift) + 32'(count);
    end
    banks_of = mask;
  endfunction

  // Issue
  logic       frame_q, ready, alike, transposed_q;
  logic [1:0] in_flight_q, format_q;
  logic [6:0] hold_q;  // since the last frame's end: an instruction with a shorter lead waits for the difference

  assign alike = head_i.format == format_q && head_i.a_transposed == transposed_q;
  assign ready = !frame_q && (alike || in_flight_q == 2'd0) && hold_q <= lead_of(head_i.format);
  assign issue_o = head_valid_i && head_i.op == tegula_pkg::OpMxGemm && ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_flight_q <= 2'd0;
      format_q <= 2'd0;
      transposed_q <= 1'b0;
    end else begin
      if (issue_o && !end_i) in_flight_q <= in_flight_q + 2'd1;
      else if (!issue_o && end_i) in_flight_q <= in_flight_q - 2'd1;
      if (issue_o) begin
        format_q <= head_i.format;
        transposed_q <= head_i.a_transposed;
      end
    end
  end
  assign busy_o = in_flight_q != 2'd0;
  assign fp32_o = format_q == Fp32;
  assign fp16_o = format_q == Fp16;
  assign tf32_o = format_q == Tf32;

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
  logic [25:0]       rows, rows_q, fed, fed_q, fed_beats, pitch_min, pitch_q;  // fed: in whole groups
  logic [Banks-1:0]     a_banks_q, b_banks_q, b_banks;

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
  always_comb begin
    fed = rows;
    if (head_i.a_transposed) begin
      if (head_i.format == Fp32) fed = (rows + 26'(P - 1)) & ~26'(P - 1);
      else fed = (rows + 26'(2 * P - 1)) & ~26'(2 * P - 1);
    end
  end
  assign fed_beats = head_i.format == Tf32 ? {fed[24:0], 1'b0} : fed;
  assign pitch_min = head_i.format == Fp32 ? PitchFp32 : head_i.format == Tf32 ? PitchTf32 : PitchNarrow;
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
      fed_q <= fed;
      pitch_q <= fed_beats > pitch_min ? fed_beats : pitch_min;
      a_banks_q <= banks_of(a_addr_i, head_i.a_banks);
      b_banks_q <= b_banks;
    end
    if (sr_step_q == 2'd1) sr_tile_q <= {8'd0, in_q.sr_tile} + index_sum[31:0];
    if (sr_step_q == 2'd2) sr_row_q <= in_q.sr_row + index_sum[31:0];
    if (sr_step_q == 2'd3) sr_col_q <= in_q.sr_col + index_sum[31:0];
  end

  // Frames
  logic [25:0] offset_q, lead;
  logic        set_q, frame_end, start;
  logic [15:0] b_row_q, nest_a, nest_b, nest_c;
  logic [31:0] nest_col, nest_tile;
  logic [23:0] nest_left;
  logic        nest_half, nest_round, nest_k_first, nest_first, nest_last;

  assign lead = 26'(lead_of(format_q));
  assign frame_end = frame_q && offset_q == pitch_q - 26'd1;
  assign start = frame_q && offset_q == lead;  // the first streamed row of the block

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
      if (frame_end && nest_last) hold_q <= lead_of(format_q);
      else if (hold_q != 7'd0) hold_q <= hold_q - 7'd1;
    end
  end

  // Stationary rows
  logic        b_owned_q, b_beat;  // b_beat: the last bank row of a stationary row
  logic [15:0] b_base;
  assign b_req_o = issue_o || (frame_q && offset_q < lead);
  assign b_beat = issue_o ? head_i.format != Tf32 : !tf32_o || offset_q[0];
  always_comb begin
    b_base = b_row_q;
    if (issue_o) b_base = b_addr_i;
    else if (offset_q == '0) b_base = nest_b;
  end
  assign b_row_o = b_base + 16'(!issue_o && tf32_o && offset_q[0]);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_valid_o <= 1'b0;
      b_owned_q <= 1'b0;
    end else begin
      w_valid_o <= b_req_o && b_beat;
      if (issue_o) b_owned_q <= 1'b1;
      else if (nest_last && frame_q && offset_q == lead - 26'd1) b_owned_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (b_req_o) begin
      b_row_q <= !b_beat ? b_base : b_base + (issue_o ? head_i.b_row : in_q.b_row);
      w_index_o <= issue_o ? '0 : tf32_o ? offset_q[$clog2(2*P):1] : offset_q[$clog2(2*P)-1:0];
    end
  end
  logic [23:0] side;
  assign side = fp32_o ? 24'(P) : 24'(2 * P);
  assign w_set_o = set_q;
  assign w_transposed_o = in_q.b_transposed;
  assign w_depth_o = nest_left > side ? side[DepthW-1:0] : nest_left[DepthW-1:0];
  assign b_own_o = issue_o ? b_banks : b_owned_q ? b_banks_q : '0;

  // Reads of A: rows of two loops, outer and inner; for the transposer, groups and their k.
  logic        feed_q, feed_start, feed_last, feed_beat, feed_beat_q, feed_tf32, feed_last_block, feed_last_block_q;
  logic        inner_end, a_owned_q;
  logic [12:0] inner_q, inner, inner_count_q, inner_count;
  logic [25:0] feed_left_q, feed_left;
  logic [1:0][15:0] a_m_q, a_m;
  logic [15:0] a_base_q, a_base, a_outer_q, a_outer, a_next;
  logic [Banks-1:0] a_own_q, a_banks_now;

  assign feed_start = issue_o ? head_i.a_transposed : frame_q && (transposed_q ? offset_q == '0 : offset_q == lead);
  assign feed_tf32 = issue_o ? head_i.format == Tf32 : tf32_o;
  assign a_banks_now = issue_o ? banks_of(a_addr_i, head_i.a_banks) : a_banks_q;
  always_comb begin
    inner = inner_q;
    inner_count = inner_count_q;
    feed_left = feed_left_q;
    a_m = a_m_q;
    a_base = a_base_q;
    a_outer = a_outer_q;
    feed_beat = feed_beat_q;
    feed_last_block = feed_last_block_q;
    if (feed_start) begin
      inner = '0;
      inner_count = issue_o ? head_i.m_count[1] : in_q.m_count[1];
      if (issue_o || transposed_q) inner_count = (issue_o ? head_i.format == Fp32 : fp32_o) ? 13'(P) : 13'(2 * P);
      feed_left = issue_o ? fed : fed_q;
      a_m = issue_o ? head_i.a_m : in_q.a_m;
      a_base = issue_o ? a_addr_i : nest_a;
      a_outer = a_base;
      feed_beat = 1'b0;
    end
    if (transposed_q || feed_start) feed_last_block = nest_last;  // meant from the second read on
  end
  assign a_req_o = feed_start || feed_q;
  assign a_row_o = a_base + {15'd0, feed_beat};
  assign inner_end = inner + 13'd1 >= inner_count;
  assign feed_last = feed_left == 26'd1 && feed_beat == feed_tf32;
  assign a_next = inner_end ? a_outer + a_m[0] : a_base + a_m[1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      feed_q    <= 1'b0;
      turn_in_o <= 1'b0;
      a_owned_q <= 1'b0;
    end else begin
      feed_q    <= a_req_o && !feed_last;
      turn_in_o <= a_req_o && (issue_o ? head_i.a_transposed : transposed_q);
      if (a_req_o && feed_last && feed_last_block) a_owned_q <= 1'b0;
      else if (feed_start) a_owned_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (feed_start) begin
      inner_count_q <= inner_count;
      a_m_q <= a_m;
      a_own_q <= a_banks_now;
      feed_last_block_q <= feed_last_block;
    end
    if (a_req_o) begin
      feed_beat_q <= feed_tf32 && !feed_beat;
      inner_q <= inner;
      a_base_q <= a_base;
      a_outer_q <= a_outer;
      feed_left_q <= feed_left;
      if (feed_beat == feed_tf32) begin
        inner_q <= inner_end ? 13'd0 : inner + 13'd1;
        a_base_q <= a_next;
        if (inner_end) a_outer_q <= a_next;
        feed_left_q <= feed_left - 26'd1;
      end
    end
  end
  assign a_own_o = feed_start && (issue_o || nest_first) ? a_banks_now : a_owned_q ? a_own_q : '0;

  // Streamed rows as they enter the array, a cycle later: the accumulator row, the weights that they meet.
  logic        stream_q, stream_req, stream_tick, stream_last, stream_beat_q, stream_beat;
  logic        stream_set_q, stream_init_q, stream_half_q, stream_set, stream_init, stream_half;
  logic [25:0] stream_left_q, stream_left;
  logic [15:0] c_row_q, c_row;
  always_comb begin
    c_row = c_row_q;
    stream_left = stream_left_q;
    stream_beat = stream_beat_q;
    stream_set = stream_set_q;
    stream_init = stream_init_q;
    stream_half = stream_half_q;
    if (start) begin
      c_row = nest_c;
      stream_left = rows_q;
      stream_beat = 1'b0;
      stream_set = set_q;
      stream_init = init_q && nest_k_first;
      stream_half = nest_half;
    end
  end
  assign stream_req = start || stream_q;
  assign stream_tick = stream_req && stream_beat == tf32_o;
  assign stream_last = stream_tick && stream_left == 26'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      stream_q   <= 1'b0;
      a_valid_o  <= 1'b0;
      turn_out_o <= 1'b0;
    end else begin
      stream_q   <= stream_req && !stream_last;
      a_valid_o  <= stream_tick;
      turn_out_o <= stream_req && transposed_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      stream_set_q <= stream_set;
      stream_init_q <= stream_init;
      stream_half_q <= stream_half;
    end
    if (stream_req) begin
      stream_beat_q <= tf32_o && !stream_beat;
      stream_left_q <= stream_left - {25'd0, stream_tick};
      c_row_q <= c_row + {15'd0, stream_tick};
      a_set_o <= stream_set;
      turn_last_o <= stream_last;
      turned_o <= transposed_q;
    end
  end
  assign acc_valid_o = stream_tick;
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
    else if (start) wait_q <= fp32_o ? WaitW'(P * L - 1) : tf32_o ? WaitW'(2 * P * L) : WaitW'(2 * P * L - 1);
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

  `ASSERT(InFlightDoesNotOverflow, !issue_o || end_i || in_flight_q != 2'd3)
  `ASSERT(EndsWhatIsInFlight, !end_i || in_flight_q != 2'd0)
  `ASSERT(OneStreamAtATime, !start || !stream_q)
endmodule
