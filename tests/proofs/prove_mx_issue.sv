// When the matrix unit issues: in the cycle in which the rule of SystemC lets it, and in no other; how long its frames are, that
// its results begin where docs/machine.md says, and what it says of the instructions in flight. The rule is a table (decisions,
// from truth_tables.c) over how far away T_last + pitch and e of the GEMM before are. P = 2, multiply-adds of three cycles, blocks
// of up to three rows, any number of them; what is read and computed is left out (prove_mx_*.sv).
// modules: mx_pkg mx_control
// constants: P=2 FmaLatency=3 AccRows=4 Banks=3 BankRows=4
// initial: zero (nothing is looked at before the first issue)
// planted: mx_control.sv: hold_q <= mx_pkg::lead_of(head_i.format); => hold_q <= mx_pkg::lead_of(format_q);
// planted: mx_control.sv: (alike || in_flight_q == 2'd0) => (alike || in_flight_q <= 2'd1)
// planted: mx_control.sv: head_i.format == format_q && head_i.a_transposed == transposed_q; => head_i.format == format_q;
// planted: mx_control.sv: assign frame_end = frame_q && offset_q == pitch_q - 26'd1; => assign frame_end = frame_q && offset_q == pitch_q;
// planted: mx_control.sv: PitchTf32 = 26'(2 * P * L + 4 * P + FlushMin); => PitchTf32 = 26'(2 * P * L + 2 * P + FlushMin);
// planted: mx_control.sv: if (frame_end && block.last) hold_q <= mx_pkg::lead_of(format_q); => if (frame_end && block.last) hold_q <= 7'd0;
// planted: mx_control.sv: tegula_pkg::FmtTf32: wait_d = WaitW'(2 * P * L); => tegula_pkg::FmtTf32: wait_d = WaitW'(2 * P * L - 1);
// planted: mx_control.sv: fed = (rows + 26'(2 * P - 1)) & 26'(~(2 * P - 1)); => fed = (rows + 26'(P - 1)) & 26'(~(P - 1));
// planted: mx_control.sv: & 26'(~(P - 1)); => ;
module mx_nest (
  input logic clk_i, input logic rst_ni, input logic start_i, input logic load_i, input logic init_i, input logic ends_i,
  input tegula_pkg::mx_instr_t head_i, input logic [15:0] a_addr_i, input logic [15:0] b_addr_i, input logic [15:0] c_addr_i,
  input logic [23:0] k_left_i, input logic advance_i, output mx_pkg::block_t block_o
);
  always_comb begin
    block_o = '0;
    block_o.last = a_addr_i[0];
    block_o.first = a_addr_i[1];
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
  assign {k_left_o, tile_key_o, sr_row_o, sr_col_o} = '0;
endmodule

module prove_mx_issue (
  input logic clk_i,
  input logic head_valid_i,
  input logic [1:0] format_i,
  input logic transposed_i,
  input logic [1:0] rows_i,
  input logic last_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  always_comb assume (rows_i != 2'd0);

  // Frames: cycle `at` of one, with `lead` cycles before its rows, and `pitch` cycles long.
  logic head, issue, frame_q, ends, last_q, any_q, end_now;
  logic [1:0] format_q, format, rows_q, rows;
  logic transposed_q, transposed;
  logic [4:0] at_q, at, pitch, stream, fed;
  logic [3:0] lead, gate_q;  // cycles until T_last + pitch, once they are known
  logic [2:0] to_end_q;      // until behind e
  assign head = head_valid_i && rst_nq;
  assign format = issue ? format_i : format_q;
  assign rows = issue ? rows_i : rows_q;
  assign transposed = issue ? transposed_i : transposed_q;
  assign at = issue ? 5'd0 : at_q;
  always_comb begin
    lead = 4'd4;
    pitch = 5'd19;
    if (format == tegula_pkg::FmtFp32) {lead, pitch} = {4'd2, 5'd11};
    if (format == tegula_pkg::FmtTf32) {lead, pitch} = {4'd8, 5'd23};
  end
  assign ends = (issue || frame_q) && at + 5'd1 == pitch;

  tegula_pkg::mx_instr_t instr;
  always_comb begin
    instr = '0;
    instr.op = tegula_pkg::OpMxGemm;
    instr.format = format_i;
    instr.a_transposed = transposed_i;
    instr.m_count[0] = 13'd1;
    instr.m_count[1] = {11'd0, rows_i};
  end
  logic frame, stream_start, frame_start, turn_in, valid, set, out, out_last, turned, busy, fp32, fp16, tf32;
  logic [15:0] at_seen, rows_seen;
  logic [2:0] seen, start_seen;
  logic [1:0] acc_own;
  mx_pkg::weights_t weights;
  mx_pkg::acc_read_t acc_read;
  mx_pkg::block_write_t write;
  mx_control u_control (
    .clk_i, .rst_ni(rst_nq), .start_i(1'b0), .head_valid_i(head), .head_i(instr), .idx_i(60'd0), .a_addr_i({15'd0, last_q}), .b_addr_i(16'd0),
    .c_addr_i(16'd0), .sr_key_i(32'd0), .issue_o(issue), .end_i(end_now), .a_req_o(stream_start), .a_row_o(rows_seen), .b_req_o(frame),
    .b_row_o(at_seen), .a_own_o(start_seen), .b_own_o(seen), .acc_own_o(acc_own), .busy_o(busy), .fp32_o(fp32), .fp16_o(fp16), .tf32_o(tf32),
    .a_valid_o(valid), .a_set_o(set), .weights_o(weights), .turn_in_o(turn_in), .turn_out_o(out), .turn_last_o(out_last), .turned_o(turned),
    .acc_read_o(acc_read), .write_o(write)
  );

  // e is B*M + P - 2 cycles behind the last frame: pitch = S*L + B*S + 3.
  logic [2:0] behind;
  assign behind = tf32_of(format) ? {rows, 1'b0} : {1'b0, rows};
  assign end_now = to_end_q == 3'd1;
  function automatic logic tf32_of(input logic [1:0] value);
    tf32_of = value == tegula_pkg::FmtTf32;
  endfunction
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {frame_q, at_q, any_q, gate_q, to_end_q} <= '0;
    else begin
      frame_q <= (issue || frame_q) && !(ends && last_q && !issue);
      at_q <= ends ? 5'd0 : at + 5'(issue || frame_q);
      any_q <= any_q || issue;
      if (ends && last_q) gate_q <= lead;
      else if (gate_q != 4'd0) gate_q <= gate_q - 4'd1;
      if (ends && last_q) to_end_q <= behind;
      else if (to_end_q != 3'd0) to_end_q <= to_end_q - 3'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue) {format_q, rows_q, transposed_q} <= {format_i, rows_i, transposed_i};
    if (issue || ends) last_q <= last_i;
  end

  // What the rule says: while frames go on neither T_last + pitch nor e is near.
  logic may;
  logic [3:0] gate;
  logic [1:0] to_end;
  assign gate = frame_q ? 4'd15 : gate_q;
  assign to_end = frame_q || to_end_q > 3'd3 ? 2'd3 : to_end_q[1:0];
  assign may = decisions::mx_earliest({!any_q, transposed_i, transposed_q, format_i, format_q, to_end, gate});

  // Rows that enter the array: of a transposed operand, whole groups of the transposer.
  logic [14:0] entering;
  assign entering = !transposed_i ? {13'd0, rows_i} : format_i == tegula_pkg::FmtFp32 ? {12'd0, {1'b0, rows_i} + 3'(rows_i[0])} : 15'd4;

  // Results: the write port starts S*L + B - 2 cycles behind the first row of a block.
  logic [3:0] until_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) until_q <= '0;
    else if (frame_q && at_q == {1'b0, lead}) until_q <= format == tegula_pkg::FmtFp32 ? 4'd5 : tf32_of(format) ? 4'd12 : 4'd11;
    else if (until_q != 4'd0) until_q <= until_q - 4'd1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (issue == (head && may));
      if (issue) assert (rows_seen[15:1] == entering);
      assert (frame == frame_q && (!frame_q || at_seen == {11'd0, at_q}));
      assert (stream_start == (frame_q && at_q == {1'b0, lead}));
      assert (start_seen[0] == (frame_q && at_q == 5'd0));
      assert (busy == (frame_q || to_end_q != 3'd0));
      if (busy) assert (fp32 == (format_q == tegula_pkg::FmtFp32) && fp16 == (format_q == tegula_pkg::FmtFp16) && tf32 == tf32_of(format_q));
      assert (write.start == (until_q == 4'd1));
    end
  end
endmodule
