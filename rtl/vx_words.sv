`include "assert.svh"

// The microcode words of a VOP: groups of L rows, segments, repeats (j), words; what the current j
// adds to the stream addresses and columns of its rows.
module vx_words (
  input  logic                                            clk_i,
  input  logic                                            rst_ni,
  // A VOP issues, is set up, runs
  input  logic                                            issue_i,
  input  tegula_pkg::vx_instr_t                           head_i,
  input  logic [tegula_pkg::VxStreams-1:0][1:0][15:0]     j_step_i,
  input  logic                                            setup_i,
  input  logic                                            run_i,
  input  logic                                            slot_last_i,  // of the word
  output logic                                            empty_o,      // no row or no word
  output logic                                            group_end_o,  // the group's last word
  output logic                                            run_end_o,    // of the last group
  // Where the next word is, from this one's second slot on; of this word its j
  output logic [$clog2(tegula_pkg::MicrocodeWords)-1:0]   next_pc_o,
  output logic [tegula_pkg::VxStreams-1:0][15:0]          j_addr_o,
  output logic [31:0]                                     j_col_o,
  output logic [49:0]                                     tail_left_o   // elements from j on
);
  localparam int unsigned L = tegula_pkg::FmaLatency;
  localparam int unsigned Streams = tegula_pkg::VxStreams;
  localparam int unsigned PcW = $clog2(tegula_pkg::MicrocodeWords);

  // The instruction
  logic [1:0][15:0] j_count_q;
  logic [5:0][9:0] seg_begin_q, seg_len_q;
  logic [5:0] seg_repeat_q, seg_used, seg_used_q;
  logic [15:0] tail_step_q;
  logic [31:0] tail_n_q;
  logic [Streams-1:0][1:0][15:0] j_step_q;
  logic [1:0][31:0] col_step_q;
  always_comb begin
    for (int unsigned q = 0; q < 6; q++) begin
      seg_used[q] = head_i.seg_len[q] != 10'd0 &&
                    (!head_i.seg_repeat[q] ||
                     (head_i.j_count[0] != 16'd0 && head_i.j_count[1] != 16'd0));
    end
  end
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      j_count_q <= head_i.j_count;
      seg_begin_q <= head_i.seg_begin;
      seg_len_q <= head_i.seg_len;
      seg_repeat_q <= head_i.seg_repeat;
      seg_used_q <= seg_used;
      empty_o <= head_i.rows == 16'd0 || seg_used == 6'd0;
      tail_step_q <= head_i.tail_step;
      tail_n_q <= head_i.tail_n;
      j_step_q <= j_step_i;
      col_step_q <= head_i.sr_col_j;
    end
  end

  // The first segment that is used, and the next one after this.
  logic [2:0] seg_q, seg_first, seg_next;
  logic seg_last;
  always_comb begin
    seg_first = 3'd0;
    seg_next = 3'd0;
    seg_last = 1'b1;
    for (int unsigned q = 6; q > 0; q--) begin
      if (seg_used_q[q-1]) begin
        seg_first = 3'(q - 1);
        if (!setup_i && q - 1 > 32'(seg_q)) begin
          seg_next = 3'(q - 1);
          seg_last = 1'b0;
        end
      end
    end
  end

  logic [2:0] seg_d;
  logic [9:0] word_q, word_d;
  logic [PcW-1:0] next_pc_q;
  logic [1:0][15:0] j_q;
  logic [Streams-1:0][1:0][15:0] j_addr_q;
  logic [1:0][31:0] j_col_q;
  logic [49:0] tail_left_q;
  logic [15:0] group_left_q;  // rows from this group on
  logic word_last, pass_last, j_inner_end;
  assign word_last = word_q + 10'd1 == seg_len_q[seg_q];
  assign j_inner_end = j_q[1] + 16'd1 == j_count_q[1];
  assign pass_last = !seg_repeat_q[seg_q] || (j_inner_end && j_q[0] + 16'd1 == j_count_q[0]);
  assign group_end_o = word_last && pass_last && seg_last;
  assign run_end_o = group_end_o && group_left_q <= 16'(L);

  always_comb begin
    seg_d = seg_q;
    word_d = word_q + 10'd1;
    if (setup_i || word_last) begin
      word_d = '0;
      if (setup_i || pass_last) seg_d = setup_i || seg_last ? seg_first : seg_next;
    end
  end

  always_ff @(posedge clk_i) begin
    if (setup_i || run_i) next_pc_q <= PcW'(seg_begin_q[seg_d] + word_d);
    if (issue_i) group_left_q <= head_i.rows;
    else if (run_i && slot_last_i && group_end_o) group_left_q <= group_left_q - 16'(L);

    if (setup_i || (run_i && slot_last_i)) begin
      seg_q <= seg_d;
      word_q <= word_d;
      if (setup_i || word_last) begin
        if (setup_i || pass_last) begin
          j_q <= '0;
          j_addr_q <= '0;
          j_col_q <= '0;
          tail_left_q <= {18'd0, tail_n_q};
        end else begin
          j_q[1] <= j_inner_end ? 16'd0 : j_q[1] + 16'd1;
          if (j_inner_end) j_q[0] <= j_q[0] + 16'd1;
          tail_left_q <= tail_left_q - {34'd0, tail_step_q};
          for (int unsigned t = 0; t < Streams; t++) begin
            j_addr_q[t][1] <= j_inner_end ? j_addr_q[t][0] + j_step_q[t][0]
                                          : j_addr_q[t][1] + j_step_q[t][1];
            if (j_inner_end) j_addr_q[t][0] <= j_addr_q[t][0] + j_step_q[t][0];
          end
          j_col_q[1] <= j_inner_end ? j_col_q[0] + col_step_q[0] : j_col_q[1] + col_step_q[1];
          if (j_inner_end) j_col_q[0] <= j_col_q[0] + col_step_q[0];
        end
      end
    end
  end

  assign next_pc_o = next_pc_q;
  assign tail_left_o = tail_left_q;
  assign j_col_o = j_col_q[1];
  for (genvar t = 0; t < Streams; t++) begin : gen_address
    assign j_addr_o[t] = j_addr_q[t][1];
  end

  `ASSERT(RunsAUsedSegment, !run_i || seg_used_q[seg_q])
  `ASSERT(RunsRows, !run_i || group_left_q != '0)
endmodule
