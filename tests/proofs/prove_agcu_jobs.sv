// The contexts of an AGCU: each hears start and run at once, takes the words of the queue that name it and no others, and has the base
// that was written last into the entry that it asks for, in the other half if the section is there; the port sees the burst of the context that it grants, and what the port says
// of a context that one alone hears; the rest are wires of its own. Contexts are stand-ins here, whose answers tell from which pins they
// came. Three contexts, P = 2; of each lane of a base the lowest bit.
// modules: agcu_jobs
// constants: AgcuContexts=3 P=2 FlitBits=64 Semaphores=8
// initial: zero (a base that was not written may be anything)
// planted: agcu_jobs.sv: cfg.kind == tegula_pkg::CfgInstr && cfg.unit == 3'(c); => cfg.unit == 3'(c);
// planted: agcu_jobs.sv: cfg.kind == tegula_pkg::CfgInstr && cfg.unit == 3'(c); => cfg.kind == tegula_pkg::CfgInstr;
// planted: agcu_jobs.sv: if (cfg.valid && cfg.kind == tegula_pkg::CfgBases) begin => if (cfg.valid) begin
// planted: agcu_jobs.sv: if (cfg.part == 11'(b / P) && cfg.enable[b%P]) => if (cfg.part == 11'(b / P))
// planted: agcu_jobs.sv: bases_q[base_index ^ (control_i.plane ? 5'(tegula_pkg::TableHalf) : '0)] => bases_q[base_index]
// planted: agcu_jobs.sv: bases_q[b/2][32*(b%2)+:32] => bases_q[b/2][0+:32]
// planted: agcu_jobs.sv: if (grant_i[c]) offer_o |= offer[c]; => if (grant_i[c]) offer_o |= offer[0];
// planted: agcu_jobs.sv: (served_i.walked && served), => (served_i.walked),
// planted: agcu_jobs.sv: (served_i.store_end && stored), => (served_i.store_end && served),
// planted: agcu_jobs.sv: (grant_i[c]), => (grant_i[0]),
module agcu_context (
  input logic clk_i, input logic rst_ni, input logic start_i, input logic run_i, input logic plane_i, input logic [7:0] defect_i, input fabric_pkg::cfg_t cfg_i,
  input logic [63:0] cfg_data_i, input logic [7:0] nonzero_i, output logic [7:0] need_o, output logic [4:0] base_index_o, input logic [63:0] base_i,
  output logic waiting_o, output logic store_o, output fabric_pkg::offer_t offer_o, input logic grant_i, input logic walk_we_i,
  input fabric_pkg::walk_t walk_i, input logic store_end_i, input logic load_room_i, output logic issue_o, output logic load_o, output logic [7:0] pc_o,
  output logic post_valid_o, output logic [1:0] post_kind_o, output fabric_pkg::post_t post_o, input logic post_done_i, output logic busy_o,
  output logic finished_o
);
  // What the port and the others hear may be anything; what it hears itself is in some of them.
  (* anyseq *) logic [4:0] index;
  (* anyseq *) logic [19:0] own;
  assign base_index_o = index;
  assign need_o = nonzero_i ^ {3'd0, index};
  assign waiting_o = own[0];
  assign store_o = own[1];
  assign issue_o = own[2];
  assign load_o = own[3];
  assign post_valid_o = own[4];
  assign busy_o = own[5];
  assign finished_o = own[6];
  assign pc_o = own[19:12];
  assign post_kind_o = {start_i ^ post_done_i, run_i ^ plane_i ^ load_room_i ^ own[7]};
  assign post_o = {own[11:7], cfg_i.valid, cfg_i.kind, cfg_i.unit, grant_i, walk_we_i, store_end_i};
  always_comb begin
    offer_o = '0;
    offer_o.walk = walk_i;
    offer_o.job.fill = base_i[31:0];
    offer_o.job.x_size = base_i[63:32];
    offer_o.job.y_size = {own, cfg_i.slot, cfg_i.part[3:0]};
    offer_o.flits = defect_i[6:0] ^ {5'd0, cfg_i.enable};
    offer_o.last = cfg_data_i[32];
  end
endmodule

module prove_agcu_jobs (
  input logic                 clk_i,
  input logic                 start_i,
  input logic                 run_i,
  input logic                 plane_i,
  input fabric_pkg::cfg_t     cfg_i,
  input logic [1:0]           lanes_i,
  input logic [7:0]           nonzero_i,
  input logic [2:0]           grant_i,
  input fabric_pkg::served_t  served_i,
  input logic                 load_room_i,
  input logic [2:0]           done_i
);
  logic [63:0] data;
  assign data = {31'd0, lanes_i[1], 31'd0, lanes_i[0]};
  logic [2:0] grant;
  assign grant = grant_i & (~grant_i + 3'd1);  // one of them at most
  logic [23:0] need, pc;
  logic [2:0] waiting, store, issue, load, post_valid, busy, finished;
  logic [5:0] kinds;
  logic [44:0] posts;
  fabric_pkg::offer_t offer;
  agcu_jobs u_jobs (
    .clk_i, .rst_ni(1'b1), .defect_i(8'd0), .control_i({start_i, run_i, plane_i, cfg_i}), .cfg_data_i(data), .nonzero_i, .need_o(need), .waiting_o(waiting),
    .store_o(store), .grant_i(grant), .offer_o(offer), .served_i, .load_room_i, .issue_o(issue), .load_o(load), .pc_o(pc),
    .post_valid_o(post_valid), .post_kinds_o(kinds), .posts_o(posts), .post_done_i(done_i), .busy_o(busy), .finished_o(finished)
  );

  // The base table: an entry is a part of the configuration.
  logic [63:0] base_q [32];
  always_ff @(posedge clk_i) begin
    if (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgBases && cfg_i.part < 11'd32) begin
      if (cfg_i.enable[0]) base_q[cfg_i.part[4:0]][31:0] <= data[31:0];
      if (cfg_i.enable[1]) base_q[cfg_i.part[4:0]][63:32] <= data[63:32];
    end
  end

  for (genvar c = 0; c < 3; c++) begin : gen_context
    logic [7:0] asked;
    assign asked = need[c*8+:8] ^ nonzero_i;  // the entry of the base table
    always_ff @(posedge clk_i) begin
      assert (asked[7:5] == '0);
      assert (posts[c*15+9] == (cfg_i.valid && cfg_i.kind == tegula_pkg::CfgInstr && cfg_i.unit == 3'(c)));
      assert (posts[c*15+3+:6] == {cfg_i.kind, cfg_i.unit});
      assert (posts[c*15+:3] == {grant[c], served_i.walked && served_i.context_id == 3'(c), served_i.store_end && served_i.store_context == 3'(c)});
      assert (kinds[c*2+1] == (start_i ^ done_i[c]));
      if (grant[c]) begin
        assert (offer.walk == served_i.walk && offer.flits == {5'd0, cfg_i.enable} && offer.last == lanes_i[1]);
        assert (offer.job.y_size[11:0] == {cfg_i.slot, cfg_i.part[3:0]});
        assert ({offer.job.x_size, offer.job.fill} == base_q[{asked[4] ^ plane_i, asked[3:0]}]);
        assert (offer.job.y_size[31:12] == {pc[c*8+:8], posts[c*15+10+:5], finished[c], busy[c], post_valid[c], load[c], issue[c], store[c], waiting[c]});
        assert (kinds[c*2] == (run_i ^ plane_i ^ load_room_i ^ posts[c*15+10]));
      end
    end
  end
endmodule
