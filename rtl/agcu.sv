`include "assert.svh"

// An AGCU: contexts, DRAM port, load buffers and lane source, store memory, semaphores.
module agcu #(
  parameter bit West = 1'b1  // position 0 of a row, else of a column
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  logic                                run_i,
  input  logic [7:0]                          defect_i,
  input  fabric_pkg::cfg_t                    cfg_i,         // to this endpoint, or the base table
  input  logic [fabric_pkg::CfgBits-1:0]      cfg_data_i,
  // Post lanes: out, which is always free at its beginning, and in
  output logic                                post_send_o,
  output fabric_pkg::post_t                   post_o,
  input  logic                                post_arrive_i,
  input  logic [9:0]                          post_sem_i,
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

  // Streams of posts: LOADs, then the SYNCs and STOREs of each context.
  logic [Contexts:0] post_valid, post_done, post_local;
  logic [Contexts:0][1:0] post_kinds;
  fabric_pkg::post_t [Contexts:0] post;
  logic load_room;
  logic [Contexts-1:0] load_issue;

  // The contexts, and the port that serves them.
  logic [Contexts-1:0][tegula_pkg::Semaphores-1:0] need;
  logic [Contexts-1:0] waiting, is_store, grant, busy, finished;
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
  fabric_pkg::job_end_t load_end;
  logic store_end;

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
    .store_end_i(store_end),
    .load_room_i(load_room),
    .issue_o,
    .load_o     (load_issue),
    .pc_o,
    .post_valid_o(post_valid[Contexts:1]),
    .post_kinds_o(post_kinds[Contexts:1]),
    .posts_o    (post[Contexts:1]),
    .post_done_i(post_done[Contexts:1]),
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
  assign store_end_o = store_end ? Contexts'(8'd1 << port_context) : '0;

  // LOADs end in the order in which their last bursts leave. Those that have been issued and have
  // posts left are counted: a context that issues another finds fewer than MostLoads, and all
  // contexts may in one cycle.
  localparam int unsigned MostLoads = tegula_pkg::AgcuBuffers + Contexts;
  localparam int unsigned LoadDepth = 1 << $clog2(MostLoads + Contexts);
  logic [7:0] loads_q, issued;
  logic load_posted;
  always_comb begin
    issued = '0;
    for (int c = 0; c < Contexts; c++) issued = issued + {7'd0, load_issue[c]};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) loads_q <= '0;
    else if (start_i) loads_q <= '0;
    else loads_q <= loads_q + issued - {7'd0, load_posted};
  end
  assign load_room = loads_q < 8'(MostLoads);

  logic load_stored;
  post_source #(
    .Depth(LoadDepth),
    .Limit(LoadDepth)
  ) u_loads (
    .clk_i, .rst_ni, .start_i,
    .push_i  (load_end.valid),
    .posts_i (load_end.posts),
    .end_i   (load_end.valid),
    .valid_o (post_valid[0]),
    .kind_o  (post_kinds[0]),
    .post_o  (post[0]),
    .done_i  (post_done[0]),
    .leaves_o(load_posted),
    .room_o  (load_stored),
    .flight_o()
  );

  logic [3:0] send;
  logic [4*fabric_pkg::PostBits-1:0] send_posts;
  post_arbiter #(.Streams(Contexts + 1)) u_posts (
    .clk_i, .rst_ni, .start_i, .defect_i,
    .row_pos_i   ('0),
    .col_pos_i   ('0),
    .valid_i     (post_valid),
    .kinds_i     (post_kinds),
    .posts_i     (post),
    .done_o      (post_done),
    .local_o     (post_local),
    .free_i      ('1),
    .send_o      (send),
    .send_posts_o(send_posts)
  );
  assign post_send_o = West ? send[0] : send[2];
  assign post_o = West ? send_posts[0+:fabric_pkg::PostBits]
                       : send_posts[2*fabric_pkg::PostBits+:fabric_pkg::PostBits];

  logic overflow;
  logic [9:0] overflow_sem;
  logic [Contexts:0][9:0] local_sem;
  for (genvar s = 0; s <= Contexts; s++) begin : gen_local
    assign local_sem[s] = post[s].sem;
  end
  semaphores #(
    .Units     (Contexts),
    .Increments(Contexts + 3)
  ) u_semaphores (
    .clk_i, .rst_ni, .start_i,
    .cfg_we_i      (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgSemaphores),
    .cfg_slot_i    (cfg_i.slot[7:0]),
    .cfg_data_i,
    .take_i        (issue_o),
    .need_i        (need),
    .add_i         ({arrive_i && side_i.post, post_arrive_i, post_local}),
    .sem_i         ({side_i.sem, post_sem_i, local_sem}),
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

  `ASSERT(LoadsHaveRoom, !load_end.valid || start_i || load_stored)
  `ASSERT(CountsItsLoads, start_i || !load_posted || loads_q != '0)
endmodule
