// The reads of the streamed operand: read n of a block is bank row i of row j of group g, whatever the loops of the RTL are; the
// banks are owned from an instruction's first read to its last. Frames of eight cycles, rows that enter from the fifth on,
// instructions that issue while the rows of the one before are still read. Blocks of up to three rows (two groups for
// the transposer) and groups of up to three.
// modules: mx_pkg mx_streamed
// constants: P=2 Banks=3 BankRows=4
// initial: zero (nothing is read before the first issue)
// planted: mx_streamed.sv: assign last = left == 26'd1 && beat == wide; => assign last = left == 26'd1;
// planted: mx_streamed.sv: assign next = inner_end ? outer + step[0] : base + step[1]; => assign next = inner_end ? base + step[0] : base + step[1];
// planted: mx_streamed.sv: if (transposed_i || start) last_block = block_i.last; => last_block = block_i.last;
// planted: mx_streamed.sv: assign inner_end = inner + 13'd1 >= inner_count; => assign inner_end = inner >= inner_count;
// planted: mx_streamed.sv: if (issue_i || transposed_i) begin => if (issue_i) begin
// planted: mx_streamed.sv: if (start) own_q <= banks; => if (issue_i) own_q <= banks;
// planted: mx_streamed.sv: step = issue_i ? head_i.a_m : m_step_q; => step = m_step_q;
module prove_mx_streamed (
  input logic clk_i,
  input logic issue_i,
  input logic [1:0] format_i,
  input logic transposed_i,
  input logic [1:0] rows_i,   // of a block
  input logic [1:0] inner_i,  // rows of a group
  input logic [15:0] step0_i,  // from group to group
  input logic [15:0] step1_i,  // within a group
  input logic [15:0] a_addr_i,
  input logic [1:0] count_i,  // banks
  input logic [15:0] block_a_i,
  input logic last_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // Frames, one after the other from an issue on until one was the last. An instruction of another kind waits until all is read.
  logic frame_q, issue, ends, first_q, last_q, reading, busy_q, alike;
  logic [2:0] at_q, at;
  logic [1:0] format_q;
  logic transposed_q;
  logic [15:0] block_a_q;
  assign alike = format_i == format_q && transposed_i == transposed_q;
  assign issue = issue_i && !frame_q && (alike || !busy_q) && rows_i != 2'd0 && inner_i != 2'd0;
  assign at = issue ? 3'd0 : at_q;
  assign ends = frame_q && at_q == 3'd7;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {frame_q, at_q} <= '0;
    else begin
      frame_q <= issue || (frame_q && !(ends && last_q));
      at_q <= issue || frame_q ? at + 3'd1 : 3'd0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue) {format_q, transposed_q} <= {format_i, transposed_i};
    if (issue || ends) {block_a_q, last_q, first_q} <= {issue ? a_addr_i : block_a_i, last_i, issue};
  end

  tegula_pkg::mx_instr_t head;
  mx_pkg::block_t block;
  logic [3:0] fed;  // rows that are read for a block
  always_comb begin
    fed = {2'd0, rows_i};
    if (transposed_i) fed = format_i == tegula_pkg::FmtFp32 && rows_i <= 2'd2 ? 4'd2 : 4'd4;
    head = '0;
    head.format = format_i;
    head.a_transposed = transposed_i;
    head.m_count[1] = {11'd0, inner_i};
    head.a_m[0] = step0_i;
    head.a_m[1] = step1_i;
    head.a_banks = {4'd0, count_i};
    block = '0;
    block.a = block_a_q;
    block.first = first_q;
    block.last = last_q;
  end
  logic req, turn_in, frame_start, stream_start;
  logic [15:0] row;
  logic [2:0] own;
  assign frame_start = frame_q && at_q == 3'd0;
  assign stream_start = frame_q && at_q == 3'd4;
  mx_streamed u_streamed (
    .clk_i, .rst_ni(rst_nq), .issue_i(issue), .head_i(head), .a_addr_i, .rows_i({22'd0, fed}),
    .frame_start_i(frame_start), .stream_start_i(stream_start), .block_i(block), .fp32_i(format_q == tegula_pkg::FmtFp32),
    .tf32_i(format_q == tegula_pkg::FmtTf32), .transposed_i(transposed_q), .a_req_o(req), .a_row_o(row), .a_own_o(own), .turn_in_o(turn_in)
  );

  // Of the instruction that issued last; of the one that is read, from its walk's start on.
  logic [1:0] inner_q, walk_inner_q;
  logic [3:0] fed_q, walk_fed_q;
  logic [15:0] step0_q, step1_q, walk0_q, walk1_q;
  logic [2:0] banks, banks_q, owned_q;
  always_comb begin
    for (int b = 0; b < 3; b++) banks[b] = 14'(b) >= a_addr_i[15:2] && {1'b0, a_addr_i[15:2]} + {13'd0, count_i} > 15'(b);
  end
  always_ff @(posedge clk_i) begin
    if (issue) begin
      inner_q <= !transposed_i ? inner_i : format_i == tegula_pkg::FmtFp32 ? 2'd2 : 2'd0;  // 0: four
      {fed_q, step0_q, step1_q, banks_q} <= {fed, step0_i, step1_i, banks};
    end
  end

  // Read n of a walk: bank row i of row j of its group; where a group begins is kept apart from where its rows are.
  logic start, last_read, last_walk_q, wide, whole, group_ends;
  logic [3:0] n_q, n, reads, walk_fed;
  logic [15:0] group_q, group, place_q, place, step0, step1;
  logic [1:0] j_q, j, inner;  // 0: four
  assign start = issue ? transposed_i : transposed_q ? frame_start : stream_start;
  assign wide = (issue ? format_i : format_q) == tegula_pkg::FmtTf32;
  assign n = start ? 4'd0 : n_q;
  assign j = start ? 2'd0 : j_q;
  assign walk_fed = !start ? walk_fed_q : issue ? fed : fed_q;
  assign inner = !start ? walk_inner_q : !issue ? inner_q : format_i == tegula_pkg::FmtFp32 ? 2'd2 : 2'd0;
  assign {step0, step1} = !start ? {walk0_q, walk1_q} : issue ? {step0_i, step1_i} : {step0_q, step1_q};
  assign group = !start ? group_q : issue ? a_addr_i : block_a_q;
  assign place = start ? group : place_q;
  assign reads = wide ? walk_fed << 1 : walk_fed;
  assign last_read = (start || busy_q) && n + 4'd1 == reads;
  assign whole = !wide || n[0];
  assign group_ends = j + 2'd1 == inner;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {busy_q, n_q} <= '0;
    else begin
      busy_q <= (start || busy_q) && !last_read;
      n_q <= n + 4'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    {walk_fed_q, walk_inner_q, walk0_q, walk1_q} <= {walk_fed, inner, step0, step1};
    if (start && !issue || transposed_q) last_walk_q <= last_q;
    j_q <= !whole ? j : group_ends ? 2'd0 : j + 2'd1;
    group_q <= whole && group_ends ? group + step0 : group;
    place_q <= !whole ? place : group_ends ? group + step0 : place + step1;
  end

  // Owned: from the first read of the first block on, to the last of the last one.
  logic first_walk, last_walk, was_read_q, turned_q;
  assign first_walk = start && (issue || first_q);
  assign last_walk = start && !issue || transposed_q ? last_q : last_walk_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) owned_q <= '0;
    else if (last_read && last_walk) owned_q <= '0;
    else if (first_walk) owned_q <= issue ? banks : banks_q;
  end
  always_ff @(posedge clk_i) begin
    was_read_q <= rst_nq && (start || busy_q);
    turned_q <= issue ? transposed_i : transposed_q;
  end

  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (!start || !busy_q);
      assert (req == (start || busy_q));
      if (req) assert (row == place + {15'd0, wide && n[0]});
      assert (own == (first_walk ? (issue ? banks : banks_q) : owned_q));
      assert (turn_in == (was_read_q && turned_q));
    end
  end
endmodule
