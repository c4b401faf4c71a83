`include "assert.svh"

// The reads of the stationary operand: the rows of a block in the first `lead` cycles of its frame,
// a bank row a cycle, and the banks that the instruction owns for them, until its last block's are
// read.
module mx_stationary (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // An instruction issues, which is the first cycle of its first frame
  input  logic                         issue_i,
  input  tegula_pkg::mx_instr_t        head_i,
  input  logic [15:0]                  b_addr_i,
  // The frame
  input  logic                         frame_i,
  input  logic [25:0]                  offset_i,
  input  logic [25:0]                  lead_i,
  input  mx_pkg::block_t               block_i,
  input  logic                         set_i,
  input  logic                         tf32_i,
  // Scratchpad
  output logic                         b_req_o,
  output logic [15:0]                  b_row_o,
  output logic [tegula_pkg::Banks-1:0] b_own_o,
  // Array
  output mx_pkg::weights_t             weights_o
);
  localparam int unsigned Banks = tegula_pkg::Banks;

  logic b_beat;  // the last bank row of a stationary row
  logic [15:0] b_base, b_row_q, b_step_q;
  assign b_req_o = issue_i || (frame_i && offset_i < lead_i);
  assign b_beat = issue_i ? head_i.format != tegula_pkg::FmtTf32 : !tf32_i || offset_i[0];
  always_comb begin
    b_base = b_row_q;
    if (issue_i) b_base = b_addr_i;
    else if (offset_i == '0) b_base = block_i.b;
  end
  assign b_row_o = b_base + 16'(!issue_i && tf32_i && offset_i[0]);

  logic valid_q, transposed_q;
  logic [mx_pkg::IndexW-1:0] index_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= b_req_o && b_beat;
  end
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      b_step_q <= head_i.b_row;
      transposed_q <= head_i.b_transposed;
    end
    if (b_req_o) begin
      b_row_q <= !b_beat ? b_base : b_base + (issue_i ? head_i.b_row : b_step_q);
      if (issue_i) index_q <= '0;
      else index_q <= tf32_i ? offset_i[mx_pkg::IndexW:1] : offset_i[mx_pkg::IndexW-1:0];
    end
  end

  assign weights_o.valid = valid_q;
  assign weights_o.weight_set = set_i;
  assign weights_o.transposed = transposed_q;
  assign weights_o.index = index_q;
  assign weights_o.from = block_i.from;
  assign weights_o.depth = block_i.depth;

  logic owned_q;
  logic [Banks-1:0] banks, banks_q;
  assign banks = fabric_pkg::banks_of(b_addr_i, head_i.b_banks);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owned_q <= 1'b0;
    else if (issue_i) owned_q <= 1'b1;
    else if (block_i.last && frame_i && offset_i == lead_i - 26'd1) owned_q <= 1'b0;
  end
  always_ff @(posedge clk_i) if (issue_i) banks_q <= banks;
  assign b_own_o = issue_i ? banks : owned_q ? banks_q : '0;

  `ASSERT(ReadsWhatItOwns, !b_req_o || issue_i || owned_q)
endmodule
