`include "assert.svh"

// The control of the matrix unit (docs/machine.md, section 4): issue, the frames of blocks, and
// what follows from them: reads of both operands, the stream into the array, the write port's
// starts.
//
// A frame is the `pitch` cycles from the first read of a block's stationary rows on: offsets
// 0..lead-1 read them, from offset `lead` (a bank row of each stationary row) the streamed rows
// enter, perhaps beyond the frame's end. They are read then, or, where the transposer makes them,
// from offset 0 on. Frames follow each other without gaps; the next instruction's first frame is
// its issue. It lasts until the weights of the last block before it are free, which take another
// pitch's time if that block has more rows.
module mx_control (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         start_i,     // a section begins
  // Sequencer
  input  logic                         head_valid_i,
  input  tegula_pkg::mx_instr_t        head_i,
  input  logic [2:0][19:0]             idx_i,
  input  logic [15:0]                  a_addr_i,
  input  logic [15:0]                  b_addr_i,
  input  logic [15:0]                  c_addr_i,
  input  logic [31:0]                  sr_key_i,
  output logic                         issue_o,
  input  logic                         end_i,       // the oldest instruction in flight ends
  // Scratchpad and accumulator
  output logic                         a_req_o,
  output logic [15:0]                  a_row_o,
  output logic                         b_req_o,
  output logic [15:0]                  b_row_o,
  output logic [tegula_pkg::Banks-1:0] a_own_o,
  output logic [tegula_pkg::Banks-1:0] b_own_o,
  output logic [1:0]                   acc_own_o,
  // Array: the format of what is in flight, and what enters now
  output logic                         busy_o,
  output logic                         fp32_o,
  output logic                         fp16_o,
  output logic                         tf32_o,
  output logic                         a_valid_o,
  output logic                         a_set_o,
  output mx_pkg::weights_t             weights_o,
  // Transposer: a bank row arrives for it, it shows the next one, which ends the block's last row;
  // the array is fed by it
  output logic                         turn_in_o,
  output logic                         turn_out_o,
  output logic                         turn_last_o,
  output logic                         turned_o,
  // Accumulator and write port
  output mx_pkg::acc_read_t            acc_read_o,
  output mx_pkg::block_write_t         write_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned AccShift = $clog2(tegula_pkg::AccRows);
  // Down a column, and until an accumulator row that was read can be read again.
  localparam logic [25:0] FillFp32 = 26'(P * L);
  localparam logic [25:0] FillNarrow = 26'(2 * P * L);
  localparam logic [25:0] Revisit = 26'd3;

  // Issue. Instructions of one format may be in flight together.
  logic       frame_q, ready, alike, transposed_q;
  logic [1:0] in_flight_q, format_q;

  assign alike = head_i.format == format_q && head_i.a_transposed == transposed_q;
  assign ready = !frame_q && (alike || in_flight_q == 2'd0);
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
  assign fp32_o = format_q == tegula_pkg::FmtFp32;
  assign fp16_o = format_q == tegula_pkg::FmtFp16;
  assign tf32_o = format_q == tegula_pkg::FmtTf32;

  // The instruction: rows of a block, and those read for it (in whole groups).
  logic init, init_q, ends, turned_q, c_half_q;
  logic [2:0] idx_on;
  logic [12:0] inner_q;
  logic [31:0] skip_q;
  logic [25:0] rows, rows_q, fed, fed_q;
  assign idx_on = {idx_i[2] != 20'd0, idx_i[1] != 20'd0, idx_i[0] != 20'd0};
  assign init = head_i.init && (head_i.init_levels & idx_on) == 3'd0;
  assign ends = head_i.sr_end && (!head_i.sr_end_last || head_i.loop_count[2] == 20'd0 ||
                                  idx_i[2] + 20'd1 == head_i.loop_count[2]);
  assign rows = {13'd0, head_i.m_count[0]} * {13'd0, head_i.m_count[1]};
  always_comb begin
    fed = rows;
    if (head_i.a_transposed) begin
      fed = rows + (head_i.format == tegula_pkg::FmtFp32 ? 26'(P - 1) : 26'(2 * P - 1));
      fed[$clog2(P)-1:0] = '0;
      if (head_i.format != tegula_pkg::FmtFp32) fed[$clog2(P)] = 1'b0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fed_q <= '0;
    else if (issue_o) fed_q <= fed;
  end
  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      init_q <= init;
      turned_q <= head_i.sr_transposed;
      c_half_q <= c_addr_i[AccShift];
      rows_q <= rows;
      skip_q <= head_i.sr_row_skip;
      inner_q <= head_i.m_count[1];
    end
  end

  // The pitch, meant from the second cycle after the issue on: two frames are no shorter than it
  // takes, from the first read of stationary rows on, until the block's weights are free.
  logic [25:0] lead, fill, beats, weights, least, pitch_q;
  assign lead = 26'(mx_pkg::lead_of(format_q));
  assign fill = fp32_o ? FillFp32 : FillNarrow;
  assign beats = tf32_o ? {fed_q[24:0], 1'b0} : fed_q;
  assign weights = lead + beats + fill;
  always_comb begin
    least = fill + Revisit;
    if ({1'b0, weights[25:1]} + 26'(weights[0]) > least) begin
      least = {1'b0, weights[25:1]} + 26'(weights[0]);
    end
  end
  always_ff @(posedge clk_i) pitch_q <= beats > least ? beats : least;

  // Frames, and the cycles, behind the last frame of an instruction, in which the next one's first
  // must not end.
  localparam int unsigned HeldW = $clog2(2 * P * L + 4 * P + 1);
  logic [HeldW-1:0] held_q;
  logic [25:0] offset_q;
  logic set_q, frame_end, frame_start, stream_start;
  mx_pkg::block_t block;
  assign frame_start = frame_q && offset_q == '0;
  assign frame_end = frame_q && offset_q + 26'd1 >= pitch_q && held_q == '0;
  assign stream_start = frame_q && offset_q == lead;  // the first streamed row of the block

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frame_q <= 1'b0;
      offset_q <= '0;
      set_q <= 1'b0;
      held_q <= '0;
    end else begin
      if (issue_o) begin
        frame_q <= 1'b1;
        offset_q <= 26'd1;
        set_q <= !set_q;
      end else if (frame_end) begin
        frame_q <= !block.last;
        offset_q <= '0;
        if (!block.last) set_q <= !set_q;
      end else if (frame_q) begin
        offset_q <= offset_q + 26'd1;
      end
      if (frame_end && block.last) begin
        held_q <= weights > offset_q + 26'd2 ? HeldW'(weights - offset_q - 26'd2) : '0;
      end else if (held_q != '0) begin
        held_q <= held_q - HeldW'(1);
      end
    end
  end

  logic [23:0] k_left;
  mx_nest u_nest (
    .clk_i, .rst_ni, .start_i, .head_i, .a_addr_i, .b_addr_i, .c_addr_i,
    .load_i   (issue_o),
    .init_i   (init),
    .ends_i   (ends),
    .k_left_i (k_left),
    .advance_i(frame_end),
    .block_o  (block)
  );

  // Operands
  mx_stationary u_stationary (
    .clk_i, .rst_ni,
    .issue_i  (issue_o),
    .head_i, .b_addr_i,
    .frame_i  (frame_q),
    .offset_i (offset_q),
    .lead_i   (lead),
    .block_i  (block),
    .set_i    (set_q),
    .tf32_i   (tf32_o),
    .b_req_o, .b_row_o, .b_own_o, .weights_o
  );
  mx_streamed u_streamed (
    .clk_i, .rst_ni,
    .issue_i       (issue_o),
    .head_i, .a_addr_i,
    .rows_i        (fed),
    .frame_start_i (frame_start),
    .stream_start_i(stream_start),
    .block_i       (block),
    .fp32_i        (fp32_o),
    .tf32_i        (tf32_o),
    .transposed_i  (transposed_q),
    .a_req_o, .a_row_o, .a_own_o, .turn_in_o
  );
  mx_stream u_stream (
    .clk_i, .rst_ni,
    .start_i     (stream_start),
    .block_i     (block),
    .rows_i      (rows_q),
    .init_i      (init_q),
    .set_i       (set_q),
    .tf32_i      (tf32_o),
    .transposed_i(transposed_q),
    .a_valid_o, .a_set_o, .turn_out_o, .turn_last_o, .turned_o, .acc_read_o
  );
  mx_acc_owner u_acc_owner (
    .clk_i, .rst_ni,
    .start_i(stream_start && block.first),
    .half_i (c_half_q),
    .end_i,
    .own_o  (acc_own_o)
  );

  // The write port starts S*L - 1 cycles after the first streamed row, when the nest may be at the
  // next block, or the next instruction's, for long. What it needs is kept two cycles after that
  // row, when all of it is known.
  localparam int unsigned WaitW = $clog2(2 * P * L + 1);
  logic [WaitW-1:0] wait_q, wait_d;
  always_comb begin
    unique case (format_q)
      tegula_pkg::FmtFp32: wait_d = WaitW'(P * L - 1);
      tegula_pkg::FmtTf32: wait_d = WaitW'(2 * P * L);
      default: wait_d = WaitW'(2 * P * L - 1);
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) wait_q <= '0;
    else if (stream_start) wait_q <= wait_d;
    else if (wait_q != '0) wait_q <= wait_q - WaitW'(1);
  end

  logic [1:0] tile_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) tile_q <= 2'b00;
    else tile_q <= {tile_q[0], stream_start};
  end

  logic [25:0] write_rows_q;
  logic [15:0] write_row_q;
  logic write_half_q, write_last_q, write_round_q, write_turned_q;
  logic [31:0] write_sr_row_q, write_skip_q, write_sr_col_q;
  logic [12:0] write_inner_q;
  logic [31:0] tile_key, sr_row, sr_col;
  mx_coordinates u_coordinates (
    .clk_i, .rst_ni,
    .issue_i   (issue_o),
    .head_i, .idx_i, .sr_key_i,
    .k_left_o  (k_left),
    .tile_i    (tile_q != 2'b00),
    .block_i   (block),
    .tile_key_o(tile_key),
    .sr_row_o  (sr_row),
    .sr_col_o  (sr_col)
  );
  always_ff @(posedge clk_i) begin
    if (tile_q[1]) begin
      write_rows_q <= rows_q;
      write_row_q <= block.c;
      write_half_q <= block.half;
      write_last_q <= block.last;
      write_round_q <= block.sr_round;
      write_turned_q <= turned_q;
      write_sr_row_q <= sr_row;
      write_skip_q <= skip_q;
      write_inner_q <= inner_q;
      write_sr_col_q <= sr_col;
    end
  end
  assign write_o.start = wait_q == WaitW'(1);
  assign write_o.rows = write_rows_q;
  assign write_o.row = write_row_q;
  assign write_o.half = write_half_q;
  assign write_o.last = write_last_q;
  assign write_o.round = write_round_q;
  assign write_o.turned = write_turned_q;
  assign write_o.tile_key = tile_key;  // stays until the next block's
  assign write_o.sr_row = write_sr_row_q;
  assign write_o.sr_skip = write_skip_q;
  assign write_o.inner = write_inner_q;
  assign write_o.sr_col = write_sr_col_q;

  `ASSERT(InFlightDoesNotOverflow, !issue_o || end_i || in_flight_q != 2'd3)
  `ASSERT(EndsWhatIsInFlight, !end_i || in_flight_q != 2'd0)
  `ASSERT(WriteOfTheBlockBefore, !stream_start || wait_q == '0)
endmodule
