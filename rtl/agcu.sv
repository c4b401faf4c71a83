// An AGCU: contexts, DRAM port, load buffers and lane source, store memory, semaphores.
module agcu #(
    parameter bit WEST = 1'b1, // position 0 of a row, else of a column
    parameter int unsigned N = 3 // positions of that row or column
) (
    input  logic                                     clk_i,
    input  logic                                     rst_ni,
    input  logic                                     start_i,
    input  logic                                     run_i,
    input  logic [7:0]                               fault_i,
    input  logic                                     cfg_we_i, // this endpoint, or all for the tables
    input  logic [2:0]                               cfg_kind_i,
    input  logic [2:0]                               cfg_unit_i,
    input  logic [9:0]                               cfg_slot_i,
    input  logic [fabric_pkg::CFG_BITS-1:0]          cfg_data_i,
    // post links
    output logic                                     post_valid_o,
    output logic [fabric_pkg::BUNDLE_BITS-1:0]       posts_o,
    input  logic [N-1:0]                             link_valid_i,
    input  logic [N*fabric_pkg::BUNDLE_BITS-1:0]     link_posts_i,
    // lane out
    output logic                                     req_o,
    output logic [4:0]                               far_o,
    output logic [6:0]                               len_o,
    input  logic                                     grant_i,
    output logic [fabric_pkg::SIDE_BITS-1:0]         side_o,
    output logic [tegula_pkg::FLIT_BITS-1:0]         data_o,
    // lane in
    input  logic                                     arrive_i,
    input  logic [fabric_pkg::SIDE_BITS-1:0]         side_i,
    input  logic [tegula_pkg::FLIT_BITS-1:0]         data_i,
    // memory: a piece a cycle; what is read comes DRAM_LATENCY cycles later
    output logic                                     read_o,
    output logic [63:0]                              read_address_o,
    output logic                                     read_wide_o,
    output logic [6:0]                               read_first_o,
    output logic [6:0]                               read_count_o,
    output logic [7:0]                               read_atoms_o,
    input  logic                                     read_valid_i,
    input  logic [64*tegula_pkg::P-1:0]              read_data_i,
    output logic                                     write_o,
    output logic [63:0]                              write_address_o,
    output logic                                     write_wide_o,
    output logic [6:0]                               write_first_o,
    output logic [6:0]                               write_count_o,
    output logic [7:0]                               write_atoms_o,
    output logic [tegula_pkg::FLIT_BITS-1:0]         write_data_o,
    // trace and state
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     issue_o,
    output logic [tegula_pkg::AGCU_CONTEXTS*8-1:0]   pc_o,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     load_end_o,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0]     store_end_o,
    output logic [tegula_pkg::SEMAPHORES-1:0]        nonzero_o,
    output logic                                     finished_o,
    output logic                                     busy_o, // an instruction is in progress
    output logic                                     fault_o,
    output logic [2:0]                               fault_code_o,
    output logic [9:0]                               fault_sem_o
);
  localparam int unsigned NC = tegula_pkg::AGCU_CONTEXTS;
  localparam int unsigned PB = fabric_pkg::POSTS_BITS;

  logic [NC-1:0] cfg_instr, cfg_length;
  always_comb begin
    cfg_instr = '0;
    cfg_length = '0;
    if (cfg_we_i && cfg_kind_i == fabric_pkg::CFG_INSTR) cfg_instr = NC'(8'd1 << cfg_unit_i);
    if (cfg_we_i && cfg_kind_i == fabric_pkg::CFG_LENGTH) cfg_length = NC'(8'd1 << cfg_unit_i);
  end

  logic [NC*tegula_pkg::SEMAPHORES-1:0] need;
  logic [NC-1:0] waiting, is_store, grant, sync, busy, finished;
  logic [NC*PB-1:0] head_posts;
  fabric_pkg::job_t job;
  fabric_pkg::walk_t walk, walk_after;
  logic [6:0] flits;
  logic last, walk_we, piece_valid, piece_store, buffer_free, load_done, port_store_end, load_end, load_busy;
  logic [2:0] port_context, load_context;
  logic [PB-1:0] store_posts, load_posts;
  logic [63:0] address;
  logic wide;
  logic [6:0] first, count;
  fabric_pkg::piece_t piece;
  logic [15:0] store_row;

  agcu_jobs u_jobs (
      .clk_i, .rst_ni, .start_i, .run_i, .fault_i, .cfg_instr_we_i(cfg_instr), .cfg_length_we_i(cfg_length),
      .cfg_bases_we_i(cfg_we_i && cfg_kind_i == fabric_pkg::CFG_BASES), .cfg_slot_i(cfg_slot_i[7:0]), .cfg_data_i,
      .nonzero_i(nonzero_o), .need_o(need), .waiting_o(waiting), .store_o(is_store), .grant_i(grant), .job_o(job),
      .walk_o(walk), .flits_o(flits), .last_o(last), .walk_we_i(walk_we), .walk_context_i(port_context),
      .walk_i(walk_after), .store_end_i(port_store_end), .store_context_i(port_context), .issue_o, .sync_o(sync),
      .pc_o, .posts_o(head_posts), .busy_o(busy), .finished_o(finished)
  );

  agcu_port u_port (
      .clk_i, .rst_ni, .start_i, .waiting_i(waiting), .store_i(is_store), .buffer_free_i(buffer_free),
      .grant_o(grant), .job_i(job), .walk_i(walk), .flits_i(flits), .last_i(last), .walk_we_o(walk_we),
      .context_o(port_context), .walk_o(walk_after), .piece_valid_o(piece_valid), .piece_store_o(piece_store),
      .address_o(address), .wide_o(wide), .first_o(first), .count_o(count), .piece_o(piece),
      .atoms_o(read_atoms_o), .store_row_o(store_row), .load_done_o(load_done), .store_end_o(port_store_end), .store_posts_o(store_posts)
  );

  assign read_o = piece_valid && !piece_store;
  assign read_address_o = address;
  assign read_wide_o = wide;
  assign read_first_o = first;
  assign read_count_o = count;

  // A burst enters the load path when the port grants it: where its rows begin at the destinations follows from its
  // first flit.
  fabric_pkg::burst_t burst;
  logic push;
  assign push = grant != '0 && !job.store;
  logic [31:0] run;
  always_comb begin
    run = '0;
    burst = '0;
    if (push) begin
      run = walk.flit / {16'd0, job.dst_inner};
      burst.run_row = job.row + run[15:0] * job.dst_stride;
      run = walk.flit % {16'd0, job.dst_inner};
      burst.run_pos = run[15:0];
      burst.dst_inner = job.dst_inner;
      burst.dst_stride = job.dst_stride;
      burst.dst_mask = job.dst_mask;
      burst.dst_post = job.dst_post;
      burst.dst_sem = job.dst_sem;
      burst.flits = flits;
      burst.context_id = port_context;
      burst.last = last;
      burst.posts = job.posts;
    end
  end

  agcu_load u_load (
      .clk_i, .rst_ni, .start_i, .push_i(push), .burst_i(burst), .done_i(load_done), .free_o(buffer_free),
      .piece_valid_i(read_o), .piece_i(piece), .data_valid_i(read_valid_i), .data_i(read_data_i), .req_o, .far_o,
      .len_o, .grant_i, .side_o, .flit_o(data_o), .end_o(load_end), .end_context_o(load_context),
      .end_posts_o(load_posts), .busy_o(load_busy)
  );

  logic store_fault;
  fabric_pkg::side_t side;
  assign side = side_i;
  agcu_store u_store (
      .clk_i, .rst_ni, .start_i, .arrive_i, .arrive_row_i(side.row), .arrive_data_i(data_i),
      .piece_valid_i(piece_valid && piece_store), .row_i(store_row), .address_i(address), .wide_i(wide),
      .first_i(first), .count_i(count), .lane_i(piece.lane), .atoms_i(read_atoms_o), .atoms_o(write_atoms_o), .write_o, .address_o(write_address_o),
      .wide_o(write_wide_o), .first_o(write_first_o), .count_o(write_count_o), .data_o(write_data_o),
      .fault_o(store_fault)
  );

  assign load_end_o = load_end ? NC'(8'd1 << load_context) : '0;
  assign store_end_o = port_store_end ? NC'(8'd1 << port_context) : '0;

  // Posts: a group for each context (SYNCs and the end of a STORE), and one for the LOAD that ends.
  logic [NC:0] post_valid;
  logic [(NC+1)*PB-1:0] posts;
  assign post_valid = {load_end, sync | store_end_o};
  always_comb begin
    posts = '0;
    if (post_valid != '0) begin
      posts = {load_posts, head_posts};
      for (int c = 0; c < NC; c++) if (store_end_o[c]) posts[c*PB+:PB] = store_posts;
    end
  end
  post_filter #(.GROUPS(NC + 1), .KINDS(1)) u_filter (
      .clk_i, .rst_ni, .start_i, .fault_i, .valid_i(post_valid), .posts_i(posts),
      .kinds_i(WEST ? fabric_pkg::POST_ROW : fabric_pkg::POST_COL), .valid_o(post_valid_o), .posts_o
  );

  logic overflow;
  semaphores #(
      .UNITS(NC), .LOCALS(NC + 1), .LINKS(N), .ROW_LINKS(WEST ? N : 0), .LANES(1)
  ) u_semaphores (
      .clk_i, .rst_ni, .start_i, .row_pos_i('0), .col_pos_i('0), .cfg_we_i(cfg_we_i && cfg_kind_i == fabric_pkg::CFG_SEMAPHORES),
      .cfg_slot_i(cfg_slot_i[7:0]), .cfg_data_i, .take_i(issue_o), .need_i(need), .local_valid_i(post_valid),
      .local_posts_i(posts), .link_valid_i, .link_posts_i, .lane_valid_i(arrive_i && side.post),
      .lane_sem_i(side.sem), .nonzero_o, .overflow_o(overflow), .overflow_sem_o(fault_sem_o)
  );

  assign finished_o = &finished;
  assign busy_o = busy != '0 || load_busy;
  assign fault_o = overflow || store_fault;
  assign fault_code_o = overflow ? fabric_pkg::FAULT_SEMAPHORE : fabric_pkg::FAULT_ADDRESS;
endmodule
