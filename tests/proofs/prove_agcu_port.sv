// The DRAM port of an AGCU: it grants in the cycles, and the contexts, that the rule of SystemC does (decisions, from
// truth_tables.c), walks as many flits as the burst has, a piece a cycle in which the memory is ready, behind its indices if it has
// some, and is busy until all pieces are sent and the time of the atoms is over. A context that may be granted is passed by each
// of the others once at most. Three contexts, bursts of one or two flits, pieces
// of up to one atom of two cycles; the pieces themselves are those of prove_agcu_walk.sv.
// modules: agcu_port
// constants: AgcuContexts=3 AtomCycles=2 P=2 FlitBits=64
// initial: zero (nothing is looked at before the first grant)
// planted: agcu_port.sv: if (i > int'({29'd0, last_context_q}) => if (i >= int'({29'd0, last_context_q})
// planted: agcu_port.sv: waiting_i & (store_i | {Contexts{buffer_free_i}}) => waiting_i & (store_i & {Contexts{buffer_free_i}})
// planted: agcu_port.sv: elapsed + 24'd1 >= cost_d; => elapsed >= cost_d;
// planted: agcu_port.sv: end else if (busy_q && !fetching_q) begin => end else if (busy_q) begin
// planted: agcu_port.sv: fetching_q <= indexed || (fetching_q && !fetched); => fetching_q <= indexed && !fetched;
// planted: agcu_port.sv: {context_id, walk_done && !last, walk_after, store_end_q => {context_id, walk_done, walk_after, store_end_q
// planted: agcu_port.sv: flits_q <= go && piece_o.flit_last ? flits - 7'd1 : flits; => flits_q <= go ? flits - 7'd1 : flits;
// planted: agcu_port.sv: assign atom = grant ? '0 : atom_q; => assign atom = atom_q;
// planted: agcu_port.sv: store_end_q <= burst_done && job.store && last; => store_end_q <= walk_done && job.store && last;
// planted: agcu_port.sv: if (grant || busy_q) store_context_q <= context_id; => if (grant || busy_q) store_context_q <= context_q;
module agcu_walk (
  input logic valid_i, input fabric_pkg::job_t job_i, input fabric_pkg::walk_t walk_i, input logic flits_last_i,
  input fabric_pkg::span_t span_i, input fabric_pkg::chosen_t chosen_i, input fabric_pkg::atom_t atom_i, output fabric_pkg::atom_t atom_o, output fabric_pkg::memory_request_t request_o, output fabric_pkg::timed_t timed_o, output fabric_pkg::piece_t piece_o,
  output logic row_end_o, output fabric_pkg::walk_t walk_o
);
  (* anyseq *) logic atom;  // anything
  (* anyseq *) logic flit_last;
  (* anyseq *) logic limit;
  assign atom_o = {1'b1, 63'd0, limit};
  assign timed_o = '0;
  assign row_end_o = 1'b0;
  assign walk_o = walk_i;
  always_comb begin
    request_o = '0;
    request_o.valid = valid_i;
    request_o.atoms = {7'd0, valid_i && atom};
    request_o.address = {61'd0, limit, atom_i.limit[0], atom_i.valid};  // what it has, and gets, for the property
    piece_o = '0;
    piece_o.length = {6'd0, valid_i};
    piece_o.flit_last = valid_i && flit_last;
    piece_o.burst_last = valid_i && flit_last && flits_last_i;
  end
endmodule
module agcu_piece (
  input fabric_pkg::job_t job_i, input fabric_pkg::walk_t walk_i, output fabric_pkg::span_t span_o
);
  assign span_o = '0;
endmodule
module agcu_index (
  input logic clk_i, input logic rst_ni, input logic start_i, input logic begin_i, input logic [15:0] first_i, input logic [6:0] flits_i,
  input logic [31:0] left_i, input logic [31:0] row_i, input logic [24:0] size_i, input logic [39:0] stride_i, output logic read_o, output logic [15:0] row_o,
  input logic [63:0] flit_i, output logic done_o, input logic next_i, output fabric_pkg::chosen_t chosen_o
);
  (* anyseq *) logic done;  // anything
  assign done_o = done;
  assign read_o = done;
  assign row_o = '0;
  assign chosen_o = '0;
endmodule

module prove_agcu_port (
  input logic clk_i,
  input logic start_i,
  input logic [2:0] waiting_i,
  input logic [2:0] store_i,
  input logic buffer_free_i,
  input logic ready_i,
  input logic indexed_i,
  input logic two_i,  // flits, or one
  input logic last_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  logic [2:0] grant;
  logic [1:0] granted, choice;
  fabric_pkg::job_t job;
  fabric_pkg::walk_t walk, walk_to;
  fabric_pkg::memory_request_t request;
  fabric_pkg::timed_t timed;
  fabric_pkg::piece_t piece;
  logic walk_we, index_read, first, piece_store, load_done, store_end, fetched;
  logic [2:0] context_id, store_context;
  logic [15:0] index_row, store_row;
  logic [23:0] load_cost;
  assign granted = grant[0] ? 2'd0 : grant[1] ? 2'd1 : 2'd2;
  always_comb begin
    job = '0;
    job.store = (store_i & grant) != 3'd0;
    job.index_size = {24'd0, indexed_i};
    job.take = 20'd1;
    walk = '0;
  end
  fabric_pkg::offer_t offer;
  fabric_pkg::served_t served;
  always_comb begin
    offer.job = job;
    offer.walk = walk;
    offer.span = '0;
    offer.flits = {5'd0, two_i, !two_i};
    offer.last = last_i;
  end
  assign {context_id, walk_we, walk_to, store_end, store_context} = served;
  agcu_port u_port (
    .clk_i, .rst_ni(rst_nq), .start_i, .waiting_i, .store_i, .buffer_free_i, .ready_i, .grant_o(grant), .offer_i(offer),
    .served_o(served), .index_read_o(index_read), .index_row_o(index_row), .index_flit_i(64'd0), .first_o(first),
    .request_o(request), .timed_o(timed), .piece_o(piece), .piece_store_o(piece_store), .store_row_o(store_row), .load_done_o(load_done),
    .load_cost_o(load_cost)
  );
  assign fetched = index_read;

  // The burst that is served: from its grant on until its pieces are sent and its atoms' time is over; both count from its begin,
  // behind its indices. No more than three pieces.
  logic busy_q, begin_now, go, walking_q, fetching_q, sent, over, store_q, store, last_q, last, begun_q;
  logic [1:0] context_q, left_q, left, pieces_q, pieces;
  logic stored_q;  // a STORE's last burst ended in the cycle before
  logic [23:0] since_q, since, atoms_q, atoms;  // cycles since the begin; cycles of its atoms
  logic limit_q;  // of the atom that the piece before it left
  logic any;
  assign choice = decisions::port_grant({waiting_i, store_i, buffer_free_i, context_q});
  assign any = grant != 3'd0;
  assign begin_now = any && !indexed_i;
  assign go = begin_now || (walking_q && !fetching_q && ready_i);
  assign left = any ? {two_i, !two_i} : left_q;
  assign store = any ? job.store : store_q;
  assign last = any ? last_i : last_q;
  assign since = any ? 24'd0 : since_q;
  assign atoms = (any ? 24'd0 : atoms_q) + (go && request.atoms[0] ? 24'd2 : 24'd0);
  assign sent = go && piece.flit_last && left == 2'd1;
  assign over = (any || busy_q) && !(any && indexed_i) && !(busy_q && fetching_q) && (sent || (busy_q && !walking_q)) && since + 24'd1 >= atoms;
  assign pieces = any ? 2'd0 : pieces_q;
  always_comb assume (!go || pieces != 2'd1 || left == 2'd1 || piece.flit_last);
  always_comb assume (!go || pieces != 2'd2 || piece.flit_last);
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {busy_q, walking_q, fetching_q, stored_q, context_q} <= {4'd0, 2'd2};
    else if (start_i) {busy_q, walking_q, fetching_q, stored_q, context_q} <= {4'd0, 2'd2};
    else begin
      stored_q <= over && store && last;
      busy_q <= (any || busy_q) && !over;
      walking_q <= (any || walking_q) && !sent;
      fetching_q <= (any && indexed_i) || (fetching_q && !fetched);
      if (any) context_q <= granted;
    end
  end
  always_ff @(posedge clk_i) begin
    {store_q, last_q, atoms_q} <= {store, last, atoms};
    left_q <= left - 2'(go && piece.flit_last);
    if (any || (busy_q && !fetching_q)) since_q <= any && indexed_i ? 24'd0 : since + 24'd1;
    pieces_q <= pieces + 2'(go);
    begun_q <= any ? go : begun_q || go;
    if (go) limit_q <= request.address[2];
  end

  // One context, any: how often others were granted while it might have been.
  (* anyconst *) logic [1:0] watched;
  logic [1:0] passed_q;
  logic ready;
  assign ready = waiting_i[watched] && (store_i[watched] || buffer_free_i);
  always_comb assume (watched != 2'd3);
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) passed_q <= '0;
    else if (start_i || (any && (!ready || granted == watched))) passed_q <= '0;
    else if (any) passed_q <= passed_q + 2'd1;
  end
  always_ff @(posedge clk_i) if (rst_nq && !start_i && any && ready && granted != watched) assert (passed_q < 2'd2);

  always_ff @(posedge clk_i) begin
    if (rst_nq && !start_i) begin
      assert (grant == (busy_q || !ready_i || choice == 2'd3 ? 3'd0 : 3'd1 << choice));
      assert (request.valid == go);
      if (go) assert (piece.burst_last == sent && piece_store == store && first == (any || !begun_q));
      if (go) assert (request.address[0] == (!any && begun_q) && (any || !begun_q || request.address[1] == limit_q));
      if (any || busy_q) assert (context_id == {1'b0, any ? granted : context_q});
      assert (walk_we == (sent && !last));
      assert (load_done == (over && !store) && store_end == stored_q);
      if (stored_q) assert (store_context == {1'b0, context_q});
      if (load_done) assert (load_cost == atoms);
    end
  end
endmodule
