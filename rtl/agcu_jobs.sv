`include "assert.svh"

// The contexts of an AGCU, their base table, and the selection of the one that the port serves.
module agcu_jobs (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  logic                                run_i,
  input  logic [7:0]                          defect_i,
  input  fabric_pkg::cfg_t                    cfg_i,
  input  logic [fabric_pkg::CfgBits-1:0]      cfg_data_i,
  // Semaphores
  input  logic [tegula_pkg::Semaphores-1:0]   nonzero_i,
  output logic [tegula_pkg::AgcuContexts-1:0][tegula_pkg::Semaphores-1:0] need_o,
  // Contexts with a burst for the port; the granted one's job and walk, its next burst's flits, and
  // whether that is its last
  output logic [tegula_pkg::AgcuContexts-1:0] waiting_o,
  output logic [tegula_pkg::AgcuContexts-1:0] store_o,
  input  logic [tegula_pkg::AgcuContexts-1:0] grant_i,    // one-hot
  output fabric_pkg::job_t                    job_o,
  output fabric_pkg::walk_t                   walk_o,
  output logic [6:0]                          flits_o,
  output logic                                last_o,
  // The port has walked a burst that was not the last, or ended a STORE, of this context
  input  logic [2:0]                          context_i,
  input  logic                                walk_we_i,
  input  fabric_pkg::walk_t                   walk_i,
  input  logic                                store_end_i,
  // Trace, for each context
  input  logic                                load_room_i,  // a LOAD may be issued
  output logic [tegula_pkg::AgcuContexts-1:0] issue_o,
  output logic [tegula_pkg::AgcuContexts-1:0] load_o,       // ... a LOAD
  output logic [tegula_pkg::AgcuContexts-1:0][7:0] pc_o,
  // Posts of SYNCs and STOREs
  output logic [tegula_pkg::AgcuContexts-1:0] post_valid_o,
  output logic [tegula_pkg::AgcuContexts-1:0][1:0] post_kinds_o,
  output fabric_pkg::post_t [tegula_pkg::AgcuContexts-1:0] posts_o,
  input  logic [tegula_pkg::AgcuContexts-1:0] post_done_i,
  output logic [tegula_pkg::AgcuContexts-1:0] busy_o,
  output logic [tegula_pkg::AgcuContexts-1:0] finished_o
);
  localparam int unsigned Contexts = tegula_pkg::AgcuContexts;

  logic [63:0] bases_q [32];
  fabric_pkg::job_t job [Contexts];
  fabric_pkg::walk_t walk [Contexts];
  logic [6:0] flits [Contexts];
  logic [Contexts-1:0] last;

  always_ff @(posedge clk_i) begin
    if (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgBases) begin
      for (int b = 0; b < 32; b++) bases_q[b] <= cfg_data_i[b*64+:64];
    end
  end

  for (genvar c = 0; c < Contexts; c++) begin : gen_context
    logic configured, served;
    logic [4:0] base_index;
    assign configured = cfg_i.valid && cfg_i.unit == 3'(c);
    assign served = context_i == 3'(c);

    agcu_context u_context (
      .clk_i, .rst_ni, .start_i, .run_i, .defect_i,
      .cfg_instr_we_i (configured && cfg_i.kind == tegula_pkg::CfgInstr),
      .cfg_length_we_i(configured && cfg_i.kind == tegula_pkg::CfgLength),
      .cfg_slot_i     (cfg_i.slot[7:0]),
      .cfg_data_i, .nonzero_i,
      .need_o         (need_o[c]),
      .base_index_o   (base_index),
      .base_i         (bases_q[base_index]),
      .waiting_o      (waiting_o[c]),
      .store_o        (store_o[c]),
      .job_o          (job[c]),
      .walk_o         (walk[c]),
      .flits_o        (flits[c]),
      .last_o         (last[c]),
      .grant_i        (grant_i[c]),
      .walk_we_i      (walk_we_i && served),
      .walk_i,
      .store_end_i    (store_end_i && served),
      .load_room_i,
      .issue_o        (issue_o[c]),
      .load_o         (load_o[c]),
      .pc_o           (pc_o[c]),
      .post_valid_o   (post_valid_o[c]),
      .post_kind_o    (post_kinds_o[c]),
      .post_o         (posts_o[c]),
      .post_done_i    (post_done_i[c]),
      .busy_o         (busy_o[c]),
      .finished_o     (finished_o[c])
    );
  end

  always_comb begin
    job_o = '0;
    walk_o = '0;
    flits_o = '0;
    last_o = 1'b0;
    for (int c = 0; c < Contexts; c++) begin
      if (grant_i[c]) begin
        job_o = job[c];
        walk_o = walk[c];
        flits_o = flits[c];
        last_o = last[c];
      end
    end
  end

  `ASSERT(ServesOneContext, $onehot0(grant_i))
endmodule
