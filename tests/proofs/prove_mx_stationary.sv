// The reads of the stationary operand: in the first cycles of a frame the rows of its block, one bank row a cycle, each row the
// step behind the one before; a cycle after a row's last bank row the array is told which it is. The banks are owned from the
// issue to the last block's last read. Frames three cycles longer than the reads, row numbers of 16 bits.
// modules: mx_pkg mx_stationary
// constants: P=2 Banks=3 BankRows=4
// initial: zero (nothing is read before the first issue)
// planted: mx_stationary.sv: offset_i == lead_i - 26'd1) => offset_i == lead_i)
// planted: mx_stationary.sv: else if (offset_i == '0) b_base = block_i.b; => else if (offset_i == 26'd1) b_base = block_i.b;
// planted: mx_stationary.sv: 16'(!issue_i && tf32_i && offset_i[0]) => 16'(!issue_i && offset_i[0])
// planted: mx_stationary.sv: !tf32_i || offset_i[0]; => !tf32_i || !offset_i[0];
// planted: mx_stationary.sv: (issue_i ? head_i.b_row : b_step_q) => b_step_q
// planted: mx_stationary.sv: (frame_i && offset_i < lead_i) => (frame_i && offset_i <= lead_i)
// planted: mx_stationary.sv: else if (block_i.last && frame_i => else if (frame_i
module prove_mx_stationary (
  input logic clk_i,
  input logic issue_i,
  input tegula_pkg::mx_instr_t head_i,
  input logic [15:0] b_addr_i,
  input logic [15:0] block_b_i,
  input logic [2:0] from_i,
  input logic [2:0] depth_i,
  input logic last_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // Frames: cycle `at` of one, which issue begins, or the end of one that was not the last. What is said of its block stays.
  logic frame_q, issue, set_q, ends, last_q, transposed_q;
  logic [1:0] format_q, format;
  logic [3:0] at_q, at, reads;
  logic [15:0] block_b_q, step_q, row_q, row;
  logic [2:0] from_q, depth_q;
  assign issue = issue_i && !frame_q;
  assign format = issue ? head_i.format : format_q;
  assign at = issue ? 4'd0 : at_q;
  always_comb begin
    reads = 4'd4;
    if (format == tegula_pkg::FmtFp32) reads = 4'd2;
    if (format == tegula_pkg::FmtTf32) reads = 4'd8;
  end
  assign ends = (frame_q || issue) && at == reads + 4'd2;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {frame_q, at_q, set_q} <= '0;
    else begin
      frame_q <= (frame_q || issue) && !(ends && last_q);
      at_q <= ends ? 4'd0 : at + 4'(frame_q || issue);
      if (issue || (ends && !last_q)) set_q <= !set_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue) {format_q, transposed_q, step_q} <= {head_i.format, head_i.b_transposed, head_i.b_row};
    if (issue || ends) {block_b_q, from_q, depth_q, last_q} <= {block_b_i, from_i, depth_i, last_i};
  end

  mx_pkg::block_t block;
  always_comb begin
    block = '0;
    block.b = block_b_q;
    block.from = from_q;
    block.depth = depth_q;
    block.last = last_q;
  end
  logic req;
  logic [15:0] read_row;
  logic [2:0] own;
  mx_pkg::weights_t weights;
  mx_stationary u_stationary (
    .clk_i, .rst_ni(rst_nq), .issue_i(issue), .head_i, .b_addr_i, .frame_i(frame_q), .offset_i({22'd0, at_q}),
    .lead_i(format_q == tegula_pkg::FmtFp32 ? 26'd2 : format_q == tegula_pkg::FmtTf32 ? 26'd8 : 26'd4), .block_i(block), .set_i(set_q),
    .tf32_i(format_q == tegula_pkg::FmtTf32), .b_req_o(req), .b_row_o(read_row), .b_own_o(own), .weights_o(weights)
  );

  // Where each row begins.
  logic reading, whole, whole_q, tf32;
  logic [1:0] index_q;
  assign tf32 = format == tegula_pkg::FmtTf32;
  assign reading = (frame_q || issue) && at < reads;
  assign whole = reading && (!tf32 || at[0]);
  assign row = issue ? b_addr_i : at == 4'd0 ? block_b_q : row_q;
  always_ff @(posedge clk_i) begin
    whole_q <= rst_nq && whole;
    index_q <= tf32 ? at[2:1] : at[1:0];
    row_q <= whole ? row + (issue ? head_i.b_row : step_q) : row;
  end

  // Banks: from the one of the first row on.
  logic [2:0] banks, banks_q;
  logic owned_q;
  always_comb begin
    for (int b = 0; b < 3; b++) banks[b] = b_addr_i[15:2] <= 14'(b) && {26'd0, head_i.b_banks} + {18'd0, b_addr_i[15:2]} > 32'(b);
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) owned_q <= 1'b0;
    else if (issue) owned_q <= 1'b1;
    else if (frame_q && last_q && at_q == reads - 4'd1) owned_q <= 1'b0;
  end
  always_ff @(posedge clk_i) if (issue) banks_q <= banks;

  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (req == reading);
      if (reading) assert (read_row == row + {15'd0, tf32 && at[0]});
      assert (weights.valid == whole_q);
      if (whole_q) begin
        assert (weights.index == index_q && weights.transposed == transposed_q && weights.weight_set == set_q);
        assert (weights.from == from_q && weights.depth == depth_q);
      end
      assert (own == (issue ? banks : owned_q ? banks_q : 3'd0));
    end
  end
endmodule
