// When the matrix unit issues: in the cycle in which the rule of SystemC lets it, and in no other; how long its frames are, which
// SystemC says too; that its results begin where docs/machine.md says, as those of the block whose rows entered, however far its
// frames have come since; and what it says of the instructions in flight. The rules are tables (decisions, from truth_tables.c)
// over whether a frame goes on, GEMMs have ended, and how long weights are held. P = 2, multiply-adds of three cycles, blocks of 1,
// 3, 9 and 15 rows, any number of them; instructions end in any cycle behind their frames in which results have begun. What is read and computed is left out
// (prove_mx_*.sv).
// modules: mx_pkg mx_control
// constants: P=2 FmaLatency=3 AccRows=4 Banks=3 BankRows=4
// bounded: 38 cycles (pdr has not ended yet since frames overlap; a block of 15 rows, its wait for weights and a block behind it are
// within them)
// initial: zero (nothing is looked at before the first issue)
// planted: mx_control.sv: (alike || in_flight_q == 2'd0) => (alike || in_flight_q <= 2'd1)
// planted: mx_control.sv: head_i.format == format_q && head_i.a_transposed == transposed_q; => head_i.format == format_q;
// planted: mx_control.sv: offset_q + 26'd1 >= pitch_q => offset_q >= pitch_q
// planted: mx_control.sv: Revisit = 26'd3; => Revisit = 26'd2;
// planted: mx_control.sv: pitch_q && held_q == '0; => pitch_q;
// planted: mx_control.sv: HeldW'(weights - offset_q - 26'd2) => HeldW'(weights - offset_q - 26'd1)
// planted: mx_control.sv: assign weights = lead + beats + fill; => assign weights = beats + fill;
// planted: mx_control.sv: least = {1'b0, weights[25:1]} + 26'(weights[0]); => least = {1'b0, weights[25:1]};
// planted: mx_control.sv: assign beats = tf32_o ? {fed_q[24:0], 1'b0} : fed_q; => assign beats = fed_q;
// planted: mx_control.sv: tegula_pkg::FmtTf32: wait_d = WaitW'(2 * P * L); => tegula_pkg::FmtTf32: wait_d = WaitW'(2 * P * L - 1);
// planted: mx_control.sv: if (tile_q[1]) begin => if (wait_q == WaitW'(2)) begin
// planted: mx_control.sv: assign write_o.row = write_row_q; => assign write_o.row = block.c;
// planted: mx_control.sv: assign write_o.last = write_last_q; => assign write_o.last = block.last;
// planted: mx_control.sv: if (head_i.format != tegula_pkg::FmtFp32) fed[$clog2(P)] = 1'b0; => ;
module mx_nest (
  input logic clk_i, input logic rst_ni, input logic start_i, input logic load_i, input logic init_i, input logic ends_i,
  input tegula_pkg::mx_instr_t head_i, input logic [15:0] a_addr_i, input logic [15:0] b_addr_i, input logic [15:0] c_addr_i,
  input logic [23:0] k_left_i, input logic advance_i, output mx_pkg::block_t block_o
);
  always_comb begin
    block_o = '0;
    block_o.last = a_addr_i[0];
    block_o.c = {15'd0, a_addr_i[1]};
  end
endmodule
module mx_stationary (
  input logic clk_i, input logic rst_ni, input logic issue_i, input tegula_pkg::mx_instr_t head_i, input logic [15:0] b_addr_i,
  input logic frame_i, input logic [25:0] offset_i, input logic [25:0] lead_i, input mx_pkg::block_t block_i, input logic set_i,
  input logic tf32_i, output logic b_req_o, output logic [15:0] b_row_o, output logic [2:0] b_own_o, output mx_pkg::weights_t weights_o
);
  assign b_req_o = frame_i;
  assign b_row_o = offset_i[15:0];
  assign b_own_o = {lead_i[1:0], set_i};
  assign weights_o = '0;
endmodule
module mx_streamed (
  input logic clk_i, input logic rst_ni, input logic issue_i, input tegula_pkg::mx_instr_t head_i, input logic [15:0] a_addr_i,
  input logic [25:0] rows_i, input logic frame_start_i, input logic stream_start_i, input mx_pkg::block_t block_i, input logic fp32_i,
  input logic tf32_i, input logic transposed_i, output logic a_req_o, output logic [15:0] a_row_o, output logic [2:0] a_own_o,
  output logic turn_in_o
);
  assign a_req_o = stream_start_i;
  assign a_row_o = {rows_i[14:0], transposed_i};
  assign a_own_o = {2'd0, frame_start_i};
  assign turn_in_o = 1'b0;
endmodule
module mx_stream (
  input logic clk_i, input logic rst_ni, input logic start_i, input mx_pkg::block_t block_i, input logic [25:0] rows_i, input logic init_i,
  input logic set_i, input logic tf32_i, input logic transposed_i, output logic a_valid_o, output logic a_set_o, output logic turn_out_o,
  output logic turn_last_o, output logic turned_o, output mx_pkg::acc_read_t acc_read_o
);
  assign {a_valid_o, a_set_o, turn_out_o, turn_last_o, turned_o} = '0;
  assign acc_read_o = '0;
endmodule
module mx_acc_owner (input logic clk_i, input logic rst_ni, input logic start_i, input logic half_i, input logic end_i, output logic [1:0] own_o);
  assign own_o = 2'd0;
endmodule
module mx_coordinates (
  input logic clk_i, input logic rst_ni, input logic issue_i, input tegula_pkg::mx_instr_t head_i, input logic [2:0][19:0] idx_i,
  input logic [31:0] sr_key_i, output logic [23:0] k_left_o, input logic tile_i, input mx_pkg::block_t block_i,
  output logic [31:0] tile_key_o, output logic [31:0] sr_row_o, output logic [31:0] sr_col_o
);
  logic mark_q;
  always_ff @(posedge clk_i) if (issue_i) mark_q <= head_i.sr_row[0];
  assign {k_left_o, tile_key_o, sr_col_o} = '0;
  assign sr_row_o = {31'd0, mark_q};
endmodule

module prove_mx_issue (
  input logic clk_i,
  input logic head_valid_i,
  input logic [1:0] format_i,
  input logic transposed_i,
  input logic [1:0] rows_i,
  input logic mark_i,   // of an instruction
  input logic last_i,
  input logic block_i,  // mark of a block
  input logic end_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  function automatic logic tf32_of(input logic [1:0] value);
    tf32_of = value == tegula_pkg::FmtTf32;
  endfunction
  function automatic logic [3:0] rows_of(input logic [1:0] value);
    case (value)
      2'd0: rows_of = 4'd15;
      2'd1: rows_of = 4'd1;
      2'd2: rows_of = 4'd3;
      default: rows_of = 4'd9;
    endcase
  endfunction

  // Rows that are read for a block, in whole groups where they are transposed.
  function automatic logic [4:0] fed_of(input logic [4:0] of);  // format, transposed, rows
    fed_of = {1'b0, rows_of(of[1:0])};
    if (of[2] && of[4:3] == tegula_pkg::FmtFp32) fed_of = (fed_of + 5'd1) & 5'd30;
    else if (of[2]) fed_of = (fed_of + 5'd3) & 5'd28;
  endfunction

  // Frames: cycle `at` of one, with `lead` cycles before its rows; it ends a pitch after it began, and not while the weights of the
  // last instruction's last block are held.
  logic head, issue, frame_q, ends, last_q, block_q, any_q, end_now, stream;
  logic [1:0] format_q, format, rows_q, rows;
  logic transposed_q, transposed, mark_q;
  logic [25:0] at_q, at;
  logic [6:0] pitch_q;
  logic [4:0] held_q, held, fed_q;
  logic [3:0] lead;
  assign head = head_valid_i && rst_nq;
  assign format = issue ? format_i : format_q;
  assign rows = issue ? rows_i : rows_q;
  assign transposed = issue ? transposed_i : transposed_q;
  assign at = issue ? 26'd0 : at_q;
  assign lead = format == tegula_pkg::FmtFp32 ? 4'd2 : tf32_of(format) ? 4'd8 : 4'd4;
  assign ends = frame_q && at_q + 26'd1 >= {19'd0, pitch_q} && held_q == 5'd0;
  assign held = at_q[25:6] != 20'd0 ? 5'd0 : decisions::mx_held({format_q, fed_q, at_q[5:0]});
  assign stream = frame_q && at_q == {22'd0, lead};
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {frame_q, at_q, any_q, held_q, fed_q, format_q} <= '0;
    else begin
      if (issue) frame_q <= 1'b1;
      else if (ends) frame_q <= !last_q;
      if (issue) at_q <= 26'd1;
      else if (ends) at_q <= '0;
      else if (frame_q) at_q <= at_q + 26'd1;
      any_q <= any_q || issue;
      if (ends && last_q) held_q <= held;
      else if (held_q != 5'd0) held_q <= held_q - 5'd1;
      if (issue) fed_q <= fed_of({format_i, transposed_i, rows_i});
      if (issue) format_q <= format_i;
    end
  end
  always_ff @(posedge clk_i) begin
    pitch_q <= decisions::mx_pitch({format_q, fed_q});
    if (issue) {rows_q, transposed_q, mark_q} <= {rows_i, transposed_i, mark_i};
    if (issue || ends) {last_q, block_q} <= {last_i, block_i};
  end

  logic [1:0] flight_q;

  // That is what SystemC says of whole frames: how long they are, and what is held behind them.
  logic [5:0] length_q, length, pitch;
  logic [4:0] rest_q, rest, unused;
  logic [6:0] until_free;
  assign {rest, length} = issue || at_q == 26'd0 ? decisions::mx_frame({format, transposed, rows, issue ? held_q : 5'd0})
                                                 : {rest_q, length_q};
  assign {unused, pitch} = decisions::mx_frame({format_q, transposed_q, rows_q, 5'd0});
  assign until_free = at_q[6:0] + {2'd0, held_q} + 7'd1;
  always_ff @(posedge clk_i) {rest_q, length_q} <= {rest, length};
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      if (ends) assert (at_q + 26'd1 == {20'd0, length} && held == rest);
      // These help the proof.
      if (any_q) assert (fed_q == fed_of({format_q, transposed_q, rows_q}));
      if (frame_q && at_q >= 26'd2) assert (pitch_q == {1'b0, pitch});
      if (frame_q) assert (at_q < {20'd0, length} && flight_q != 2'd0);
      if (frame_q && held_q != 5'd0) assert ({1'b0, length} == (until_free > {1'b0, pitch} ? until_free : {1'b0, pitch}));
      if (frame_q && held_q == 5'd0) assert (length == pitch || at_q[5:0] + 6'd1 == length);
    end
  end

  tegula_pkg::mx_instr_t instr;
  always_comb begin
    instr = '0;
    instr.op = tegula_pkg::OpMxGemm;
    instr.format = format_i;
    instr.a_transposed = transposed_i;
    instr.m_count[0] = 13'd1;
    instr.m_count[1] = {9'd0, rows_of(rows_i)};
    instr.sr_row = {31'd0, mark_i};
    instr.sr_transposed = mark_i;
  end
  logic frame, stream_start, frame_start, turn_in, valid, set, out, out_last, turned, busy, fp32, fp16, tf32;
  logic [15:0] at_seen, rows_seen;
  logic [2:0] seen, start_seen;
  logic [1:0] acc_own;
  mx_pkg::weights_t weights;
  mx_pkg::acc_read_t acc_read;
  mx_pkg::block_write_t write;
  mx_control u_control (
    .clk_i, .rst_ni(rst_nq), .start_i(1'b0), .head_valid_i(head), .head_i(instr), .idx_i(60'd0), .a_addr_i({14'd0, block_q, last_q}),
    .b_addr_i(16'd0), .c_addr_i(16'd0), .sr_key_i(32'd0), .issue_o(issue), .end_i(end_now), .a_req_o(stream_start), .a_row_o(rows_seen),
    .b_req_o(frame), .b_row_o(at_seen), .a_own_o(start_seen), .b_own_o(seen), .acc_own_o(acc_own), .busy_o(busy), .fp32_o(fp32),
    .fp16_o(fp16), .tf32_o(tf32), .a_valid_o(valid), .a_set_o(set), .weights_o(weights), .turn_in_o(turn_in), .turn_out_o(out),
    .turn_last_o(out_last), .turned_o(turned), .acc_read_o(acc_read), .write_o(write)
  );

  // Instructions in flight: at most two behind their frames, whose results have begun before they end.
  logic [3:0] until_q;
  logic [1:0] behind;
  assign behind = flight_q - {1'b0, frame_q};
  assign end_now = end_i;
  always_comb assume (behind != 2'd3 && (behind != 2'd2 || end_i || !(ends && last_q)));
  always_comb assume (!end_i || (behind != 2'd0 && (until_q == 4'd0 || frame_q || behind == 2'd2)));
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) flight_q <= '0;
    else flight_q <= flight_q + {1'b0, issue} - {1'b0, end_now};
  end

  // What the rule says.
  logic may;
  logic [1:0] near;
  assign near = {2{flight_q != 2'd0}};
  assign may = decisions::mx_earliest({!any_q, transposed_i, transposed_q, format_i, format_q, near, frame_q});

  // Results: the write port starts S*L + B - 2 cycles behind the first row of a block.
  logic [1:0] write_rows_q;
  logic write_last_q, write_block_q, write_mark_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) until_q <= '0;
    else if (stream) until_q <= format == tegula_pkg::FmtFp32 ? 4'd5 : tf32_of(format) ? 4'd12 : 4'd11;
    else if (until_q != 4'd0) until_q <= until_q - 4'd1;
  end
  always_ff @(posedge clk_i) begin
    if (stream) {write_rows_q, write_last_q, write_block_q, write_mark_q} <= {rows_q, last_q, block_q, mark_q};
  end

  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (issue == (head && may));
      if (issue) assert (rows_seen[15:1] == {10'd0, fed_of({format_i, transposed_i, rows_i})});
      assert (frame == frame_q && (!frame_q || at_seen == at_q[15:0]));
      assert (stream_start == stream);
      assert (start_seen[0] == (frame_q && at_q == 26'd0));
      assert (busy == (flight_q != 2'd0));
      if (busy) assert (fp32 == (format_q == tegula_pkg::FmtFp32) && fp16 == (format_q == tegula_pkg::FmtFp16) && tf32 == tf32_of(format_q));
      assert (write.start == (until_q == 4'd1));
      if (write.start) begin
        assert (write.rows == {22'd0, rows_of(write_rows_q)} && write.last == write_last_q && write.row == {15'd0, write_block_q});
        assert (write.turned == write_mark_q && write.sr_row == {31'd0, write_mark_q});
      end
    end
  end
endmodule
