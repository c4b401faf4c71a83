`include "assert.svh"

// An AGCU: contexts, DRAM port, load buffers and lane source, store memory, semaphores.
module agcu (
  input  logic                                             clk_i,
  input  logic                                             rst_ni,
  input  logic [7:0]                                       defect_i,
  // Section control; of the configuration, what is for this endpoint, and the base table
  input  fabric_pkg::control_t                             control_i,
  input  logic [tegula_pkg::FlitBits-1:0]                  cfg_data_i,
  // Lane and post lane, both of them free at their beginning
  output fabric_pkg::lane_out_t                            lane_o,
  output logic [tegula_pkg::FlitBits-1:0]                  data_o,
  input  fabric_pkg::lane_in_t                             lane_i,
  input  logic [tegula_pkg::FlitBits-1:0]                  data_i,
  output fabric_pkg::post_out_t [1:0]                      post_o,  // of a row, a column
  input  fabric_pkg::post_in_t                             post_i,
  // Memory
  output fabric_pkg::memory_out_t                          memory_o,
  output logic [tegula_pkg::FlitBits-1:0]                  write_data_o,
  input  fabric_pkg::memory_in_t                           memory_i,
  input  logic [64*tegula_pkg::P-1:0]                      read_data_i,
  // Of each context
  output fabric_pkg::trace_t [tegula_pkg::AgcuContexts-1:0] trace_o,
  output logic [tegula_pkg::Semaphores-1:0]                nonzero_o,
  output fabric_pkg::status_t                              status_o
);
  localparam int unsigned Contexts = tegula_pkg::AgcuContexts;

  logic start;
  fabric_pkg::cfg_t cfg;  // initial values of semaphores
  assign start = control_i.start;
  always_comb begin
    cfg = control_i.cfg;
    cfg.valid = control_i.cfg.valid && control_i.cfg.kind == tegula_pkg::CfgSemaphores;
  end

  // Streams of posts: LOADs, then the SYNCs and STOREs of each context.
  logic [Contexts:0] post_valid, post_done, post_local;
  logic [Contexts:0][1:0] post_kinds;
  fabric_pkg::post_t [Contexts:0] post;
  logic load_room;
  logic [Contexts-1:0] load_issue;

  // The contexts, and the port that serves them.
  logic [Contexts-1:0][tegula_pkg::Semaphores-1:0] need;
  logic [Contexts-1:0] waiting, is_store, grant, issued, busy, finished;
  logic [Contexts-1:0][7:0] pc;
  fabric_pkg::offer_t offer;
  fabric_pkg::served_t served;
  logic first, piece_store, buffer_free, load_done;
  logic [23:0] load_cost;
  logic [15:0] store_row;
  fabric_pkg::memory_request_t request, read_request, store_request, write_request;
  fabric_pkg::timed_t timed;
  fabric_pkg::piece_t piece;
  logic index_read;
  logic [15:0] index_row;
  logic [tegula_pkg::FlitBits-1:0] index_flit;
  fabric_pkg::job_end_t load_end;

  agcu_jobs u_jobs (
    .clk_i, .rst_ni, .defect_i, .control_i, .cfg_data_i,
    .nonzero_i   (nonzero_o),
    .need_o      (need),
    .waiting_o   (waiting),
    .store_o     (is_store),
    .grant_i     (grant),
    .offer_o     (offer),
    .served_i    (served),
    .load_room_i (load_room),
    .issue_o     (issued),
    .load_o      (load_issue),
    .pc_o        (pc),
    .post_valid_o(post_valid[Contexts:1]),
    .post_kinds_o(post_kinds[Contexts:1]),
    .posts_o     (post[Contexts:1]),
    .post_done_i (post_done[Contexts:1]),
    .busy_o      (busy),
    .finished_o  (finished)
  );

  agcu_port u_port (
    .clk_i, .rst_ni,
    .start_i      (start),
    .waiting_i    (waiting),
    .store_i      (is_store),
    .buffer_free_i(buffer_free),
    .ready_i      (memory_i.ready),
    .grant_o      (grant),
    .offer_i      (offer),
    .served_o     (served),
    .index_read_o (index_read),
    .index_row_o  (index_row),
    .index_flit_i (index_flit),
    .first_o      (first),
    .request_o    (request),
    .timed_o    (timed),
    .piece_o      (piece),
    .piece_store_o(piece_store),
    .store_row_o  (store_row),
    .load_done_o  (load_done),
    .load_cost_o  (load_cost)
  );

  always_comb begin
    read_request = request;
    read_request.valid = request.valid && !piece_store;
    store_request = request;
    store_request.valid = request.valid && piece_store;
  end
  assign memory_o = {first, store_request.valid, timed, read_request, write_request};

  // A burst enters the load path when the port grants it: its rows begin at the destinations where
  // the walk stands.
  fabric_pkg::burst_t burst;
  logic push;
  assign push = grant != '0 && !offer.job.store;
  always_comb begin
    burst = '0;
    if (push) begin
      burst.route.run_row = offer.walk.run_row;
      burst.route.run_pos = offer.walk.run_pos;
      burst.route.inner = offer.job.dst_inner;
      burst.route.stride = offer.job.dst_stride;
      burst.route.mask = offer.job.dst_mask;
      burst.route.post = offer.job.dst_post;
      burst.route.sem = offer.job.dst_sem;
      burst.flits = offer.flits;
      burst.context_id = served.context_id;
      burst.last = offer.last;
      burst.posts = offer.job.posts;
    end
  end

  logic load_busy;
  fabric_pkg::side_t side;
  agcu_load u_load (
    .clk_i, .rst_ni,
    .start_i      (start),
    .push_i       (push),
    .burst_i      (burst),
    .done_i       (load_done),
    .cost_i       (load_cost),
    .free_o       (buffer_free),
    .piece_valid_i(read_request.valid),
    .piece_i      (piece),
    .data_valid_i (memory_i.valid),
    .data_i       (read_data_i),
    .req_o        (lane_o.req),
    .request_o    (lane_o.request),
    .grant_i      (lane_i.grant),
    .side_o       (side),
    .flit_o       (data_o),
    .end_o        (load_end),
    .busy_o       (load_busy)
  );
  assign lane_o.send = side.valid;
  assign lane_o.side = side;

  logic store_fault;
  agcu_store u_store (
    .clk_i, .rst_ni,
    .start_i      (start),
    .arrive_i     (lane_i.arrive),
    .arrive_row_i (lane_i.side.row),
    .arrive_data_i(data_i),
    .piece_i      (store_request),
    .row_i        (store_row),
    .lane_i       (piece.lane),
    .index_read_i (index_read),
    .index_row_i  (index_row),
    .index_flit_o (index_flit),
    .write_o      (write_request),
    .write_data_o,
    .fault_o      (store_fault)
  );

  for (genvar c = 0; c < Contexts; c++) begin : gen_trace
    assign trace_o[c] = {issued[c], pc[c], load_end.valid && load_end.context_id == 3'(c),
                         served.store_end && served.store_context == 3'(c)};
  end

  // LOADs end in the order in which their last bursts leave. Those that have been issued and have
  // posts left are counted: a context that issues another finds fewer than MostLoads, and all
  // contexts may in one cycle.
  localparam int unsigned MostLoads = tegula_pkg::AgcuBuffers + Contexts;
  localparam int unsigned LoadDepth = 1 << $clog2(MostLoads + Contexts);
  logic [7:0] loads_q, begun;
  logic load_posted;
  always_comb begin
    begun = '0;
    for (int c = 0; c < Contexts; c++) begun = begun + {7'd0, load_issue[c]};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) loads_q <= '0;
    else if (start) loads_q <= '0;
    else loads_q <= loads_q + begun - {7'd0, load_posted};
  end
  assign load_room = loads_q < 8'(MostLoads);

  logic load_stored;
  post_source #(
    .Depth(LoadDepth),
    .Limit(LoadDepth)
  ) u_loads (
    .clk_i, .rst_ni,
    .start_i (start),
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
    .clk_i, .rst_ni,
    .start_i     (start),
    .defect_i,
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
  for (genvar d = 0; d < 2; d++) begin : gen_post
    assign post_o[d] = {send[2*d], send_posts[2*d*fabric_pkg::PostBits+:fabric_pkg::PostBits]};
  end

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
    .clk_i, .rst_ni,
    .start_i       (start),
    .cfg_i         (cfg),
    .cfg_data_i,
    .take_i        (issued),
    .need_i        (need),
    .add_i         ({lane_i.arrive && lane_i.side.post, post_i.arrive, post_local}),
    .sem_i         ({lane_i.side.sem, post_i.sem, local_sem}),
    .nonzero_o,
    .overflow_o    (overflow),
    .overflow_sem_o(overflow_sem)
  );

  assign status_o.finished = &finished;
  assign status_o.busy = busy != '0 || load_busy;
  assign status_o.fault.valid = overflow || store_fault;
  assign status_o.fault.code = overflow ? tegula_pkg::FaultSemaphore : tegula_pkg::FaultAddress;
  assign status_o.fault.where = overflow_sem;
  assign status_o.fault.ports = '0;

  `ASSERT(LoadsHaveRoom, !load_end.valid || start || load_stored)
  `ASSERT(CountsItsLoads, start || !load_posted || loads_q != '0)
endmodule
