`include "assert.svh"

// The contexts of an AGCU, their base table, and the selection of the one that the port serves.
module agcu_jobs (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic [7:0]                          defect_i,
  input  fabric_pkg::control_t                control_i,
  input  logic [tegula_pkg::FlitBits-1:0]     cfg_data_i,
  // Semaphores
  input  logic [tegula_pkg::Semaphores-1:0]   nonzero_i,
  output logic [tegula_pkg::AgcuContexts-1:0][tegula_pkg::Semaphores-1:0] need_o,
  // Contexts with a burst for the port, and the granted one's
  output logic [tegula_pkg::AgcuContexts-1:0] waiting_o,
  output logic [tegula_pkg::AgcuContexts-1:0] store_o,
  input  logic [tegula_pkg::AgcuContexts-1:0] grant_i,    // one-hot
  output fabric_pkg::offer_t                  offer_o,
  input  fabric_pkg::served_t                 served_i,
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
  localparam int unsigned P = tegula_pkg::P;

  logic [63:0] bases_q [32];
  fabric_pkg::offer_t offer [Contexts];
  fabric_pkg::cfg_t cfg;
  assign cfg = control_i.cfg;

  always_ff @(posedge clk_i) begin
    if (cfg.valid && cfg.kind == tegula_pkg::CfgBases) begin
      for (int b = 0; b < 64; b++) begin
        if (cfg.part == 11'(b / P) && cfg.enable[b%P])
          bases_q[b/2][32*(b%2)+:32] <= cfg_data_i[32*(b%P)+:32];
      end
    end
  end

  for (genvar c = 0; c < Contexts; c++) begin : gen_context
    logic served, stored;
    logic [4:0] base_index;
    fabric_pkg::cfg_t own_cfg;
    always_comb begin
      own_cfg = cfg;
      own_cfg.valid = cfg.valid && cfg.kind == tegula_pkg::CfgInstr && cfg.unit == 3'(c);
    end
    assign served = served_i.context_id == 3'(c);
    assign stored = served_i.store_context == 3'(c);

    agcu_context u_context (
      .clk_i, .rst_ni,
      .start_i        (control_i.start),
      .run_i          (control_i.run),
      .plane_i        (control_i.plane),
      .defect_i,
      .cfg_i          (own_cfg),
      .cfg_data_i, .nonzero_i,
      .need_o         (need_o[c]),
      .base_index_o   (base_index),
      .base_i         (bases_q[base_index ^ (control_i.plane ? 5'(tegula_pkg::TableHalf) : '0)]),
      .waiting_o      (waiting_o[c]),
      .store_o        (store_o[c]),
      .offer_o        (offer[c]),
      .grant_i        (grant_i[c]),
      .walk_we_i      (served_i.walked && served),
      .walk_i         (served_i.walk),
      .store_end_i    (served_i.store_end && stored),
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
    offer_o = '0;
    for (int c = 0; c < Contexts; c++) if (grant_i[c]) offer_o |= offer[c];  // of one at most
  end

  `ASSERT(ServesOneContext, $onehot0(grant_i))
endmodule
