`include "assert.svh"

// The DRAM port of an AGCU: picks the context whose burst is served, and walks the burst piece by
// piece, one a cycle in which the memory is ready, from the cycle of the grant on.
//
// The indices of a burst's rows, if they have any, are fetched from the store memory before its
// first piece.
//
// The duration of a burst, max(pieces, atoms * cycles of an atom), need not be known before: the
// port counts atoms as it walks and stays busy until both are through.
module agcu_port (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  // Contexts with a burst; the granted one's next burst
  input  logic [tegula_pkg::AgcuContexts-1:0] waiting_i,
  input  logic [tegula_pkg::AgcuContexts-1:0] store_i,
  input  logic                                buffer_free_i,
  input  logic                                ready_i,  // the memory takes a piece in this cycle
  output logic [tegula_pkg::AgcuContexts-1:0] grant_o,
  input  fabric_pkg::offer_t                  offer_i,
  output fabric_pkg::served_t                 served_o,
  // Indices: a row of the store memory, which is there in the next cycle
  output logic                                index_read_o,
  output logic [15:0]                         index_row_o,
  input  logic [tegula_pkg::FlitBits-1:0]     index_flit_i,
  // The piece of this cycle
  output logic                                first_o,  // it is its burst's first
  output fabric_pkg::memory_request_t         request_o,
  output fabric_pkg::timed_t                timed_o,
  output fabric_pkg::piece_t                  piece_o,
  output logic                                piece_store_o,
  output logic [15:0]                         store_row_o,
  // Last cycle of a burst, and the cycles that its atoms take
  output logic                                load_done_o,
  output logic [23:0]                         load_cost_o
);
  localparam int unsigned Contexts = tegula_pkg::AgcuContexts;

  // Round robin: the first candidate after the context granted last.
  logic busy_q;
  logic [2:0] last_context_q, granted;
  logic [Contexts-1:0] candidates;
  logic grant;
  always_comb begin
    candidates = busy_q || !ready_i ? '0 : waiting_i & (store_i | {Contexts{buffer_free_i}});
    grant_o = '0;
    granted = '0;
    if (candidates != '0) begin
      for (int i = 2 * Contexts - 1; i >= 0; i--) begin
        if (i > int'({29'd0, last_context_q}) && candidates[i%Contexts]) begin
          grant_o = Contexts'(1) << (i % Contexts);
          granted = 3'(i % Contexts);
        end
      end
    end
  end
  assign grant = grant_o != '0;

  // The indices of a burst, from the cycle of its grant on.
  logic indexed, fetching_q, fetched;
  logic [31:0] row_flits, row_left;
  fabric_pkg::chosen_t chosen;
  logic next_row;
  assign indexed = grant && offer_i.job.index_size != '0;
  always_comb begin
    row_flits = '0;
    row_left = '0;
    if (indexed) begin
      row_flits = fabric_pkg::row_flits(offer_i.job.take, offer_i.job.convert);
      row_left = fabric_pkg::row_flits(offer_i.job.take - offer_i.walk.taken,
                                       offer_i.job.convert);
    end
  end

  agcu_index u_index (
    .clk_i, .rst_ni, .start_i,
    .begin_i (indexed),
    .first_i (offer_i.job.index + offer_i.walk.row),
    .flits_i (offer_i.flits),
    .left_i  (row_left),
    .row_i   (row_flits),
    .size_i  (offer_i.job.index_size),
    .stride_i(offer_i.job.index_stride),
    .read_o  (index_read_o),
    .row_o   (index_row_o),
    .flit_i  (index_flit_i),
    .done_o  (fetched),
    .next_i  (next_row),
    .chosen_o(chosen)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fetching_q <= 1'b0;
    else if (start_i) fetching_q <= 1'b0;
    else fetching_q <= indexed || (fetching_q && !fetched);
  end

  // The burst in progress, from the cycle after its grant, or its last index, on; one without
  // indices from the cycle of its grant.
  logic walking_q, begun_q, last_q;
  logic [2:0] context_q, context_id;
  fabric_pkg::job_t job_q, job;
  fabric_pkg::walk_t walk_q, walk, walk_after;
  logic [6:0] flits_q, flits;  // not yet walked, with the one in progress
  logic [23:0] cost_q, cost, elapsed_q, elapsed;  // cycles that its atoms take; cycles so far
  fabric_pkg::span_t span_next, span;
  logic go, last;
  agcu_piece u_piece (
    .job_i  (job_q),
    .walk_i (walk_q),
    .span_o (span_next)
  );
  always_comb begin
    go = walking_q && !fetching_q && ready_i;
    job = job_q;
    walk = walk_q;
    flits = flits_q;
    span = span_next;
    cost = cost_q;
    elapsed = elapsed_q;
    last = last_q;
    context_id = context_q;
    if (grant) begin
      go = !indexed;
      job = offer_i.job;
      walk = offer_i.walk;
      flits = offer_i.flits;
      span = offer_i.span;
      cost = '0;
      elapsed = '0;
      last = offer_i.last;
      context_id = granted;
    end
  end

  assign first_o = go && (grant || !begun_q);

  logic row_end;
  fabric_pkg::atom_t atom_q, atom, atom_after;
  assign atom = grant ? '0 : atom_q;
  agcu_walk u_walk (
    .valid_i     (go),
    .job_i       (job),
    .walk_i      (walk),
    .flits_last_i(flits == 7'd1),
    .span_i      (span),
    .chosen_i    (chosen),
    .atom_i      (atom),
    .request_o, .timed_o, .piece_o,
    .atom_o      (atom_after),
    .row_end_o   (row_end),
    .walk_o      (walk_after)
  );
  assign next_row = go && row_end;
  assign piece_store_o = job.store;
  assign store_row_o = walk.run_row + walk.run_pos;

  logic [23:0] cost_d;
  logic walk_done, burst_done, store_end_q;
  logic [2:0] store_context_q;
  assign cost_d = go ? cost + {16'd0, request_o.atoms} * 24'(tegula_pkg::AtomCycles) : cost;
  assign walk_done = piece_o.burst_last;
  assign burst_done = (walk_done || (busy_q && !walking_q)) && elapsed + 24'd1 >= cost_d;
  assign served_o = {context_id, walk_done && !last, walk_after, store_end_q, store_context_q};
  assign load_done_o = burst_done && !job.store;
  assign load_cost_o = cost_d;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      walking_q <= 1'b0;
      store_end_q <= 1'b0;
      last_context_q <= 3'(Contexts - 1);
    end else if (start_i) begin
      busy_q <= 1'b0;
      walking_q <= 1'b0;
      store_end_q <= 1'b0;
      last_context_q <= 3'(Contexts - 1);
    end else if (grant || busy_q || store_end_q) begin
      busy_q <= (grant || busy_q) && !burst_done;
      store_end_q <= burst_done && job.store && last;
      walking_q <= (grant || walking_q) && !walk_done;
      if (grant) last_context_q <= granted;
    end
  end

  always_ff @(posedge clk_i) begin
    if (grant || busy_q) store_context_q <= context_id;
    if (grant) begin
      job_q <= offer_i.job;
      context_q <= granted;
      last_q <= offer_i.last;
    end
    if (grant || go) begin
      begun_q <= go;
      walk_q <= go ? walk_after : offer_i.walk;
      flits_q <= go && piece_o.flit_last ? flits - 7'd1 : flits;
      atom_q <= go ? atom_after : '0;
      cost_q <= cost_d;
      elapsed_q <= go ? elapsed + 24'd1 : '0;
    end else if (busy_q && !fetching_q) begin
      elapsed_q <= elapsed + 24'd1;
    end
  end

  `ASSERT(GrantsOneContext, $onehot0(grant_o))
  `ASSERT(GrantsOnlyWaiting, (grant_o & ~waiting_i) == '0)
  `ASSERT(GrantsOnlyWhenIdle, !grant || !busy_q)
  `ASSERT(SendsOnlyWhenReady, !request_o.valid || start_i || ready_i)
  `ASSERT(WalksWithItsIndices, !go || start_i || grant || !fetching_q)
  `ASSERT(LoadsHaveABuffer, !grant || offer_i.job.store || buffer_free_i)
  `ASSERT(WalksABurst, !go || start_i || flits != '0)
  `ASSERT(PieceIsNotEmpty, !go || start_i || piece_o.length != '0)
endmodule
