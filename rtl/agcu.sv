`include "assert.svh"

// An AGCU: contexts, DRAM port, load buffers and lane source, store memory, semaphores.
module agcu #(
  parameter bit          West = 1'b1,  // position 0 of a row, else of a column
  parameter int unsigned N    = 3      // positions of that row or column
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  logic                                run_i,
  input  logic [7:0]                          defect_i,
  input  fabric_pkg::cfg_t                    cfg_i,         // to this endpoint, or the base table
  input  logic [fabric_pkg::CfgBits-1:0]      cfg_data_i,
  // Post links
  output logic                                post_valid_o,
  output logic [fabric_pkg::BundleBits-1:0]   posts_o,
  input  logic [N-1:0]                        link_valid_i,
  input  logic [N-1:0][fabric_pkg::BundleBits-1:0] link_posts_i,
  // Lane out
  output logic                                req_o,
  output fabric_pkg::lane_request_t           request_o,
  input  logic                                grant_i,
  output fabric_pkg::side_t                   side_o,
  output logic [tegula_pkg::FlitBits-1:0]     data_o,
  // Lane in
  input  logic                                arrive_i,
  input  fabric_pkg::side_t                   side_i,
  input  logic [tegula_pkg::FlitBits-1:0]     data_i,
  // Memory: a piece a cycle, if it is ready; what is read comes later, in order. The pieces of a
  // STORE are announced as they are walked (store_o, with the fields of read_o), and written a
  // cycle later.
  input  logic                                ready_i,
  output logic                                first_o,       // the piece is its burst's first
  output logic                                store_o,
  output fabric_pkg::memory_request_t         read_o,
  input  logic                                read_valid_i,
  input  logic [64*tegula_pkg::P-1:0]         read_data_i,
  output fabric_pkg::memory_request_t         write_o,
  output logic [tegula_pkg::FlitBits-1:0]     write_data_o,
  // Trace and state, for each context
  output logic [tegula_pkg::AgcuContexts-1:0] issue_o,
  output logic [tegula_pkg::AgcuContexts-1:0][7:0] pc_o,
  output logic [tegula_pkg::AgcuContexts-1:0] load_end_o,
  output logic [tegula_pkg::AgcuContexts-1:0] store_end_o,
  output logic [tegula_pkg::Semaphores-1:0]   nonzero_o,
  output logic                                finished_o,
  output logic                                busy_o,        // an instruction is in progress
  output fabric_pkg::fault_t                  fault_o
);
  localparam int unsigned Contexts = tegula_pkg::AgcuContexts;

  // The contexts, and the port that serves them.
  logic [Contexts-1:0][tegula_pkg::Semaphores-1:0] need;
  logic [Contexts-1:0] waiting, is_store, grant, sync, busy, finished;
  fabric_pkg::posts_t [Contexts-1:0] head_posts;
  fabric_pkg::job_t job;
  fabric_pkg::walk_t walk, walk_after;
  logic [6:0] flits;
  logic last, walk_we, piece_store, buffer_free, load_done;
  logic [23:0] load_cost;
  logic [2:0] port_context;
  logic [15:0] store_row;
  fabric_pkg::memory_request_t request, store_request;
  fabric_pkg::piece_t piece;
  logic index_read;
  logic [15:0] index_row;
  logic [tegula_pkg::FlitBits-1:0] index_flit;
  fabric_pkg::job_end_t load_end, store_end;

  agcu_jobs u_jobs (
    .clk_i, .rst_ni, .start_i, .run_i, .defect_i, .cfg_i, .cfg_data_i,
    .nonzero_i  (nonzero_o),
    .need_o     (need),
    .waiting_o  (waiting),
    .store_o    (is_store),
    .grant_i    (grant),
    .job_o      (job),
    .walk_o     (walk),
    .flits_o    (flits),
    .last_o     (last),
    .context_i  (port_context),
    .walk_we_i  (walk_we),
    .walk_i     (walk_after),
    .store_end_i(store_end.valid),
    .issue_o,
    .sync_o     (sync),
    .pc_o,
    .posts_o    (head_posts),
    .busy_o     (busy),
    .finished_o (finished)
  );

  agcu_port u_port (
    .clk_i, .rst_ni, .start_i,
    .waiting_i    (waiting),
    .store_i      (is_store),
    .buffer_free_i(buffer_free),
    .ready_i,
    .grant_o      (grant),
    .job_i        (job),
    .walk_i       (walk),
    .flits_i      (flits),
    .last_i       (last),
    .context_o    (port_context),
    .walk_we_o    (walk_we),
    .walk_o       (walk_after),
    .index_read_o (index_read),
    .index_row_o  (index_row),
    .index_flit_i (index_flit),
    .first_o,
    .request_o    (request),
    .piece_o      (piece),
    .piece_store_o(piece_store),
    .store_row_o  (store_row),
    .load_done_o  (load_done),
    .load_cost_o  (load_cost),
    .store_end_o  (store_end)
  );

  always_comb begin
    read_o = request;
    read_o.valid = request.valid && !piece_store;
    store_request = request;
    store_request.valid = request.valid && piece_store;
  end
  assign store_o = store_request.valid;

  // A burst enters the load path when the port grants it: its rows begin at the destinations where
  // the walk stands.
  fabric_pkg::burst_t burst;
  logic push;
  assign push = grant != '0 && !job.store;
  always_comb begin
    burst = '0;
    if (push) begin
      burst.route.run_row = walk.run_row;
      burst.route.run_pos = walk.run_pos;
      burst.route.inner = job.dst_inner;
      burst.route.stride = job.dst_stride;
      burst.route.mask = job.dst_mask;
      burst.route.post = job.dst_post;
      burst.route.sem = job.dst_sem;
      burst.flits = flits;
      burst.context_id = port_context;
      burst.last = last;
      burst.posts = job.posts;
    end
  end

  logic load_busy;
  agcu_load u_load (
    .clk_i, .rst_ni, .start_i,
    .push_i       (push),
    .burst_i      (burst),
    .done_i       (load_done),
    .cost_i       (load_cost),
    .free_o       (buffer_free),
    .piece_valid_i(read_o.valid),
    .piece_i      (piece),
    .data_valid_i (read_valid_i),
    .data_i       (read_data_i),
    .req_o, .request_o, .grant_i, .side_o,
    .flit_o       (data_o),
    .end_o        (load_end),
    .busy_o       (load_busy)
  );

  logic store_fault;
  agcu_store u_store (
    .clk_i, .rst_ni, .start_i, .arrive_i,
    .arrive_row_i (side_i.row),
    .arrive_data_i(data_i),
    .piece_i      (store_request),
    .row_i        (store_row),
    .lane_i       (piece.lane),
    .index_read_i (index_read),
    .index_row_i  (index_row),
    .index_flit_o (index_flit),
    .write_o, .write_data_o,
    .fault_o      (store_fault)
  );

  assign load_end_o = load_end.valid ? Contexts'(8'd1 << load_end.context_id) : '0;
  assign store_end_o = store_end.valid ? Contexts'(8'd1 << store_end.context_id) : '0;

  // Posts: a group for each context (SYNCs and the end of a STORE), and one for the LOAD that ends.
  logic [Contexts:0] post_valid;
  fabric_pkg::posts_t [Contexts:0] posts;
  assign post_valid = {load_end.valid, sync | store_end_o};
  always_comb begin
    posts = '0;
    if (post_valid != '0) begin
      posts = {load_end.posts, head_posts};
      for (int c = 0; c < Contexts; c++) if (store_end_o[c]) posts[c] = store_end.posts;
    end
  end

  post_filter #(
    .Groups(Contexts + 1),
    .Kinds (1)
  ) u_filter (
    .clk_i, .rst_ni, .start_i, .defect_i,
    .valid_i(post_valid),
    .posts_i(posts),
    .kinds_i(West ? tegula_pkg::PostRow : tegula_pkg::PostCol),
    .valid_o(post_valid_o),
    .posts_o
  );

  logic overflow;
  logic [9:0] overflow_sem;
  semaphores #(
    .Units   (Contexts),
    .Locals  (Contexts + 1),
    .Links   (N),
    .RowLinks(West ? N : 0),
    .Lanes   (1)
  ) u_semaphores (
    .clk_i, .rst_ni, .start_i,
    .row_pos_i     ('0),
    .col_pos_i     ('0),
    .cfg_we_i      (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgSemaphores),
    .cfg_slot_i    (cfg_i.slot[7:0]),
    .cfg_data_i,
    .take_i        (issue_o),
    .need_i        (need),
    .local_valid_i (post_valid),
    .local_posts_i (posts),
    .link_valid_i, .link_posts_i,
    .lane_valid_i  (arrive_i && side_i.post),
    .lane_sem_i    (side_i.sem),
    .nonzero_o,
    .overflow_o    (overflow),
    .overflow_sem_o(overflow_sem)
  );

  assign finished_o = &finished;
  assign busy_o = busy != '0 || load_busy;
  assign fault_o.valid = overflow || store_fault;
  assign fault_o.code = overflow ? tegula_pkg::FaultSemaphore : tegula_pkg::FaultAddress;
  assign fault_o.where = overflow_sem;
  assign fault_o.ports = '0;

  `ASSERT(StoreEndPostsAlone, (sync & store_end_o) == '0)
endmodule
