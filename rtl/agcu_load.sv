`include "assert.svh"

// The load path of an AGCU: conversion of what the memory returns, NBUF buffers of a burst each, and the source of the
// lane. Bursts are stored, and leave, in the order in which the port served them.
module agcu_load (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    input  logic                                start_i,
    // a burst begins at the port, and ends there
    input  logic                                push_i,
    input  fabric_pkg::burst_t                  burst_i,
    input  logic                                done_i,
    output logic                                free_o, // a buffer is free
    // pieces as they are asked for, and their data DRAM_LATENCY cycles later: element j of the piece in the j-th place,
    // other places zero
    input  logic                                piece_valid_i,
    input  logic [fabric_pkg::PIECE_BITS-1:0]   piece_i,
    input  logic                                data_valid_i,
    input  logic [64*tegula_pkg::P-1:0]         data_i,
    // lane
    output logic                                req_o,
    output logic [4:0]                          far_o,
    output logic [6:0]                          len_o,
    input  logic                                grant_i,
    output logic [fabric_pkg::SIDE_BITS-1:0]    side_o,
    output logic [tegula_pkg::FLIT_BITS-1:0]    flit_o,
    output logic                                end_o, // a LOAD ends
    output logic [2:0]                          end_context_o,
    output logic [fabric_pkg::POSTS_BITS-1:0]   end_posts_o,
    output logic                                busy_o
);
  localparam int unsigned NBUF = tegula_pkg::AGCU_BUFFERS;
  localparam int unsigned BUF_BITS = NBUF > 1 ? $clog2(NBUF) : 1;
  localparam int unsigned FLIT_IDX = $clog2(tegula_pkg::BURST_FLITS);
  localparam int unsigned W = tegula_pkg::FLIT_BITS;
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned DL = tegula_pkg::DRAM_LATENCY;

  // Bursts in a ring: [tail .. ) pushed, fin: done at the port, comp: data complete, head: granted, buffers freed last.
  fabric_pkg::burst_t burst_q [NBUF];
  logic [12:0] due_q [NBUF]; // cycle of completion
  logic [BUF_BITS-1:0] tail_q, fin_q, comp_q, head_q;
  logic [6:0] used_q, pending_q, complete_q; // buffers in use; bursts between fin and comp; between comp and head
  logic [12:0] now_q;
  logic complete_now, req_q, freed;

  function automatic logic [BUF_BITS-1:0] next(input logic [BUF_BITS-1:0] slot);
    next = slot == BUF_BITS'(NBUF - 1) ? '0 : slot + 1'b1;
  endfunction

  assign free_o = used_q != 7'(NBUF);
  assign busy_o = used_q != '0;
  assign complete_now = pending_q != '0 && due_q[comp_q] == now_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {tail_q, fin_q, comp_q, head_q} <= '0;
      {used_q, pending_q, complete_q} <= '0;
      req_q <= 1'b0;
      now_q <= '0;
    end else if (start_i) begin
      {tail_q, fin_q, comp_q, head_q} <= '0;
      {used_q, pending_q, complete_q} <= '0;
      req_q <= 1'b0;
    end else begin
      now_q <= now_q + 13'd1;
      if (push_i || used_q != '0) begin
        if (push_i) tail_q <= next(tail_q);
        if (done_i) fin_q <= next(fin_q);
        if (complete_now) comp_q <= next(comp_q);
        if (grant_i) head_q <= next(head_q);
        used_q <= used_q + {6'd0, push_i} - {6'd0, freed};
        pending_q <= pending_q + {6'd0, done_i} - {6'd0, complete_now};
        complete_q <= complete_q + {6'd0, complete_now} - {6'd0, grant_i};
        req_q <= req_q ? !grant_i : complete_q != '0 || complete_now;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (push_i) burst_q[tail_q] <= burst_i;
    if (done_i) due_q[fin_q] <= now_q + 13'(DL);
  end

  // Pieces in flight to the memory and back.
  localparam int unsigned META_BITS = $clog2(DL + 1) > 0 ? $clog2(DL + 1) : 1;
  fabric_pkg::piece_t meta_q [DL + 1];
  logic [META_BITS-1:0] meta_in_q, meta_out_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {meta_in_q, meta_out_q} <= '0;
    else if (start_i) {meta_in_q, meta_out_q} <= '0;
    else begin
      if (piece_valid_i) meta_in_q <= meta_in_q == META_BITS'(DL) ? '0 : meta_in_q + 1'b1;
      if (data_valid_i) meta_out_q <= meta_out_q == META_BITS'(DL) ? '0 : meta_out_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) if (piece_valid_i) meta_q[meta_in_q] <= piece_i;

  // Conversion, then the elements move to their place in the flit that is being put together.
  fabric_pkg::piece_t piece;
  assign piece = meta_q[meta_out_q];
  logic [W-1:0] converted, flit;
  logic [W-1:0] partial_q;
  logic wide; // 32-bit elements in the flit
  assign wide = fabric_pkg::wide_chip(piece.convert);
  always_comb begin
    converted = '0;
    flit = '0;
    if (data_valid_i) begin
      case (piece.convert)
        3'd2: for (int e = 0; e < 2 * P; e++) converted[e*16+:16] = fp_pkg::to_bf16(data_i[e*32+:32]);
        3'd3: for (int e = 0; e < 2 * P; e++) converted[e*16+:16] = fp_pkg::to_fp16(data_i[e*32+:32]);
        3'd4: for (int e = 0; e < P; e++) converted[e*32+:32] = fp_pkg::widen_bf16(data_i[e*16+:16]);
        3'd5: for (int e = 0; e < P; e++) converted[e*32+:32] = fp_pkg::widen_fp16(data_i[e*16+:16]);
        3'd6: for (int e = 0; e < P; e++) converted[e*32+:32] = fp_pkg::to_tf32(data_i[e*32+:32]);
        default: converted = data_i[W-1:0];
      endcase
      if (piece.count != piece.length) begin
        for (int e = 0; e < 2 * P; e++) begin
          if (7'(e) < piece.length && (7'(e) < piece.first || 7'(e) >= piece.first + piece.count)) begin
            if (!wide) converted[e*16+:16] = piece.fill[15:0];
            else if (e < P) converted[(e%P)*32+:32] = piece.fill;
          end
        end
      end
      flit = wide ? converted << {piece.lane, 5'd0} : converted << {piece.lane, 4'd0};
      if (piece.lane != '0) flit |= partial_q;
    end
  end

  // Buffers.
  logic [W-1:0] mem_q [NBUF*tegula_pkg::BURST_FLITS];
  logic [W-1:0] read_q;
  logic [BUF_BITS-1:0] write_slot_q, read_slot_q;
  logic [FLIT_IDX-1:0] write_flit_q, read_flit_q;
  logic read;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_slot_q <= '0;
      write_flit_q <= '0;
    end else if (start_i) begin
      write_slot_q <= '0;
      write_flit_q <= '0;
    end else if (data_valid_i && piece.flit_last) begin
      write_flit_q <= piece.burst_last ? '0 : write_flit_q + 1'b1;
      if (piece.burst_last) write_slot_q <= next(write_slot_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (data_valid_i) begin
      if (piece.flit_last) mem_q[{write_slot_q, write_flit_q}] <= flit;
      else partial_q <= flit;
    end
    if (read) read_q <= mem_q[{read_slot_q, read_flit_q}];
    if (grant_i) begin
      read_slot_q <= head_q;
      read_flit_q <= '0;
    end else if (read) begin
      read_flit_q <= read_flit_q + 1'b1;
    end
  end

  // The source.
  fabric_pkg::burst_t head;
  logic last;
  assign head = burst_q[head_q];
  assign req_o = req_q;
  assign len_o = head.flits;
  assign flit_o = read_q;
  assign end_o = freed && last;
  always_comb begin
    far_o = '0;
    if (req_q) for (int p = 0; p < 17; p++) if (head.dst_mask[p]) far_o = 5'(p);
  end
  burst_source u_source (
      .clk_i, .rst_ni, .start_i, .grant_i, .flits_i(head.flits), .last_i(head.last), .new_rows_i(1'b1),
      .run_row_i(head.run_row), .run_pos_i(head.run_pos), .inner_i(head.dst_inner), .stride_i(head.dst_stride),
      .mask_i(head.dst_mask), .post_i(head.dst_post), .sem_i(head.dst_sem), .read_o(read), .burst_end_o(freed),
      .last_o(last), .side_o
  );
  always_ff @(posedge clk_i) begin
    if (grant_i) begin
      end_context_o <= head.context_id;
      end_posts_o <= head.posts;
    end
  end

  `ASSERT(BufferIsFree, !push_i || start_i || used_q != 7'(NBUF))
  `ASSERT(GrantOfARequest, !grant_i || req_q)
  `ASSERT(FreesWhatIsUsed, !freed || used_q != '0)
  `ASSERT(CompletesWhatIsPending, !complete_now || pending_q != '0)
  `ASSERT(SendsWhatIsComplete, !grant_i || complete_q != '0)
  `ASSERT(DataOfAPiece, !data_valid_i || meta_in_q != meta_out_q)
endmodule
