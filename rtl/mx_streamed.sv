`include "assert.svh"

// The reads of the streamed operand: rows of two loops, outer and inner, of which each bank row is
// read in turn; for the transposer, groups of rows and their k. And the banks that the instruction
// owns for them, from its first read to its last.
module mx_streamed (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // An instruction issues
  input  logic                         issue_i,
  input  tegula_pkg::mx_instr_t        head_i,
  input  logic [15:0]                  a_addr_i,
  input  logic [25:0]                  rows_i,       // to be read for a block, in whole groups
  // The frame: its first cycle, and that of its first streamed row
  input  logic                         frame_start_i,
  input  logic                         stream_start_i,
  input  mx_pkg::block_t               block_i,
  input  logic                         fp32_i,
  input  logic                         tf32_i,
  input  logic                         transposed_i,
  // Scratchpad
  output logic                         a_req_o,
  output logic [15:0]                  a_row_o,
  output logic [tegula_pkg::Banks-1:0] a_own_o,
  output logic                         turn_in_o     // what arrives is for the transposer
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned Banks = tegula_pkg::Banks;

  logic start, start_q, last, fp32, wide;
  assign start = issue_i ? head_i.a_transposed : transposed_i ? frame_start_i : stream_start_i;
  assign fp32 = issue_i ? head_i.format == tegula_pkg::FmtFp32 : fp32_i;
  assign wide = issue_i ? head_i.format == tegula_pkg::FmtTf32 : tf32_i;  // two bank rows a row

  // Of the instruction, for the blocks after its issue.
  logic [25:0] rows_q;
  logic [12:0] m_inner_q;
  logic [1:0][15:0] m_step_q;
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      rows_q <= rows_i;
      m_inner_q <= head_i.m_count[1];
      m_step_q <= head_i.a_m;
    end
  end

  // Where the walk over the rows stands.
  logic beat_q, beat, inner_end, last_block_q, last_block;
  logic [12:0] inner_q, inner, inner_count_q, inner_count;
  logic [25:0] left_q, left;
  logic [1:0][15:0] step_q, step;
  logic [15:0] base_q, base, outer_q, outer, next;
  always_comb begin
    inner = inner_q;
    inner_count = inner_count_q;
    left = left_q;
    step = step_q;
    base = base_q;
    outer = outer_q;
    beat = beat_q;
    last_block = last_block_q;
    if (start) begin
      inner = '0;
      inner_count = issue_i ? head_i.m_count[1] : m_inner_q;
      if (issue_i || transposed_i) begin
        inner_count = fp32 ? 13'(P) : 13'(2 * P);
      end
      left = issue_i ? rows_i : rows_q;
      step = issue_i ? head_i.a_m : m_step_q;
      base = issue_i ? a_addr_i : block_i.a;
      outer = base;
      beat = 1'b0;
    end
    if (transposed_i || start) last_block = block_i.last;  // meant from the second read on
  end
  assign a_req_o = start || start_q;
  assign a_row_o = base + {15'd0, beat};
  assign inner_end = inner + 13'd1 >= inner_count;
  assign last = left == 26'd1 && beat == wide;
  assign next = inner_end ? outer + step[0] : base + step[1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      turn_in_o <= 1'b0;
    end else begin
      start_q <= a_req_o && !last;
      turn_in_o <= a_req_o && (issue_i ? head_i.a_transposed : transposed_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      inner_count_q <= inner_count;
      step_q <= step;
      last_block_q <= last_block;
    end
    if (a_req_o) begin
      beat_q <= wide && !beat;
      inner_q <= inner;
      base_q <= base;
      outer_q <= outer;
      left_q <= left;
      if (beat == wide) begin
        inner_q <= inner_end ? 13'd0 : inner + 13'd1;
        base_q <= next;
        if (inner_end) outer_q <= next;
        left_q <= left - 26'd1;
      end
    end
  end

  logic owned_q;
  logic [Banks-1:0] banks, banks_q, own_q;
  assign banks = issue_i ? fabric_pkg::banks_of(a_addr_i, head_i.a_banks) : banks_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owned_q <= 1'b0;
    else if (a_req_o && last && last_block) owned_q <= 1'b0;
    else if (start) owned_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (issue_i) banks_q <= banks;
    if (start) own_q <= banks;
  end
  assign a_own_o = start && (issue_i || block_i.first) ? banks : owned_q ? own_q : '0;

  `ASSERT(OneWalkAtATime, !start || !start_q)
endmodule
