`include "assert.svh"

// The control of the vector unit (docs/machine.md, section 5): issue, phases and ownership of a
// VOP; its rows, words and coordinates of stochastic rounding, from which follow the word-slot of
// each cycle and the stream addresses in it.
module vx_control (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  // Sequencer
  input  logic                                      head_valid_i,
  input  tegula_pkg::vx_instr_t                     head_i,
  input  logic [2:0][19:0]                          idx_i,
  input  logic [tegula_pkg::VxStreams-1:0][15:0]    s_addr_i,
  input  logic [31:0]                               sr_key_i,       // of head_i
  output logic                                      issue_o,
  output logic                                      end_o,
  output logic                                      idle_o,
  // Banks and accumulator halves
  output logic [tegula_pkg::Banks-1:0]              ld_own_o,
  output logic [tegula_pkg::Banks-1:0]              st_own_o,
  output logic [1:0]                                acc_own_o,
  // A word is under way, or one comes; where the next one is, from the slot 1 on
  output logic                                      ahead_o,
  output logic [$clog2(tegula_pkg::MicrocodeWords)-1:0] next_pc_o,
  // The word-slot of this cycle
  output logic                                      active_o,       // the slot has a row
  output logic [$clog2(tegula_pkg::FmaLatency)-1:0] slot_o,
  output logic [tegula_pkg::VxStreams-1:0][15:0]    address_o,      // of each stream, low half
  output logic [tegula_pkg::VxStreams-1:0][2:0]     kind_o,
  output logic [tegula_pkg::VxStreams-1:0][5:0]     lane_o,
  output logic [49:0]                               tail_left_o,    // elements from j on, signed
  // The row plus the key of the tile
  output logic [31:0]                               sr_row_o,
  // The column of lane 0 plus the key of the columns
  output logic [31:0]                               sr_col_o
);
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned Banks = tegula_pkg::Banks;
  localparam int unsigned Streams = tegula_pkg::VxStreams;
  localparam int unsigned AccShift = $clog2(tegula_pkg::AccRows);
  localparam int unsigned SlotW = $clog2(L);
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
    assign stream = head_bits[tegula_pkg::VxStreamLsb+t*tegula_pkg::VxStreamBits
                              +:tegula_pkg::VxStreamBits];
    assign head_kind[t] = stream.kind;
    assign head_lane[t] = stream.lane;
    assign head_banks[t] = stream.banks;
    assign head_store[t] = stream.store;
    assign head_row[t] = stream.row;
    assign head_j[t] = stream.j;
  end

  // Issue, phases, end
  typedef enum logic [1:0] {Idle, Setup, Run, Drain} phase_e;
  phase_e phase_q;
  logic [SlotW-1:0] slot_q;  // also counts the L cycles of setup and drain
  logic empty, group_end, run_end, slot_last;

  assign slot_last = slot_q == LastSlot;
  assign idle_o = phase_q == Idle;
  assign issue_o = head_valid_i && head_i.op == tegula_pkg::OpVxVop && idle_o;
  assign end_o = phase_q == Drain && slot_last;
  assign slot_o = slot_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q <= Idle;
      slot_q <= '0;
    end else begin
      if (idle_o || slot_last) slot_q <= '0;
      else slot_q <= slot_q + SlotW'(1);
      unique case (phase_q)
        Idle: if (issue_o) phase_q <= Setup;
        Setup: if (slot_last) phase_q <= empty ? Drain : Run;
        Run: if (slot_last && run_end) phase_q <= Drain;
        default: if (slot_last) phase_q <= Idle;
      endcase
    end
  end

  // What the VOP owns: banks of its loads and of its stores, accumulator halves.
  logic [Banks-1:0] ld_own, st_own, ld_own_q, st_own_q;
  logic [1:0] acc_own, acc_own_q;
  always_comb begin
    ld_own = '0;
    st_own = '0;
    acc_own = '0;
    for (int unsigned t = 0; t < Streams; t++) begin
      if (head_kind[t] == tegula_pkg::StreamAcc) begin
        acc_own[s_addr_i[t][AccShift]] = 1'b1;
      end else if (head_kind[t] != tegula_pkg::StreamNone) begin
        if (head_store[t]) st_own |= fabric_pkg::banks_of(s_addr_i[t], head_banks[t]);
        else ld_own |= fabric_pkg::banks_of(s_addr_i[t], head_banks[t]);
      end
    end
  end
  assign ld_own_o = issue_o ? ld_own : idle_o ? '0 : ld_own_q;
  assign st_own_o = issue_o ? st_own : idle_o ? '0 : st_own_q;
  assign acc_own_o = issue_o ? acc_own : idle_o ? '0 : acc_own_q;

  always_ff @(posedge clk_i) begin
    if (issue_o) begin
      kind_o <= head_kind;
      lane_o <= head_lane;
      ld_own_q <= ld_own;
      st_own_q <= st_own;
      acc_own_q <= acc_own;
    end
  end

  logic [31:0] sr_row, sr_col, row_row, row_col, j_col;
  vx_rounding u_rounding (
    .clk_i, .rst_ni,
    .issue_i(issue_o),
    .head_i, .idx_i, .sr_key_i,
    .row_o  (sr_row),
    .col_o  (sr_col)
  );

  logic slot_used;
  logic [Streams-1:0][15:0] row_addr, j_addr;
  vx_rows u_rows (
    .clk_i,
    .issue_i   (issue_o),
    .head_i, .s_addr_i,
    .row_step_i(head_row),
    .take_i    (phase_q == Setup || (phase_q == Run && group_end)),
    .slot_i    (slot_q),
    .used_o    (slot_used),
    .address_o (row_addr),
    .row_o     (row_row),
    .col_o     (row_col)
  );

  vx_words u_words (
    .clk_i, .rst_ni,
    .issue_i    (issue_o),
    .head_i,
    .j_step_i   (head_j),
    .setup_i    (phase_q == Setup),
    .run_i      (phase_q == Run),
    .slot_last_i(slot_last),
    .empty_o    (empty),
    .group_end_o(group_end),
    .run_end_o  (run_end),
    .next_pc_o,
    .j_addr_o   (j_addr),
    .j_col_o    (j_col),
    .tail_left_o
  );

  assign ahead_o = phase_q == Setup || phase_q == Run;
  assign active_o = phase_q == Run && slot_used;
  assign sr_row_o = sr_row + row_row;
  assign sr_col_o = sr_col + row_col + j_col;
  for (genvar t = 0; t < Streams; t++) begin : gen_address
    assign address_o[t] = row_addr[t] + j_addr[t];
  end

  `ASSERT(IssuesWhenIdle, !issue_o || idle_o)
  `ASSERT(GroupHasARow, phase_q != Run || slot_q != '0 || slot_used)
endmodule
