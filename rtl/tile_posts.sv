`include "assert.svh"

// The posts and semaphores of a tile: what its instructions post, on post lanes or to itself; what
// arrives; the counters.
//
// There are four streams: the SYNCs of mx, which end beside GEMMs, its GEMMs, vx, and tx.
module tile_posts (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  logic [7:0]                                defect_i,
  // The tile's position on the lanes of its row and of its column
  input  logic [4:0]                                row_pos_i,
  input  logic [4:0]                                col_pos_i,
  input  logic                                      start_i,
  input  fabric_pkg::cfg_t                          cfg_i,
  input  logic [tegula_pkg::FlitBits-1:0]           cfg_data_i,
  // Of each stream: an instruction issues, the oldest that has not ended does, there is room for
  // another, some have not ended
  input  logic [3:0]                                push_i,
  input  logic [3:0]                                end_i,
  output logic [3:0]                                room_o,
  output logic [3:0]                                flight_o,
  // Of mx, vx, tx: the posts of the instruction at pc, an issue, what it takes
  input  logic [2:0][fabric_pkg::PostsBits-1:0]     posts_i,
  input  logic [2:0]                                take_i,
  input  logic [2:0][tegula_pkg::Semaphores-1:0]    need_i,
  // Post lanes, and posts that come with a flit of a lane
  output fabric_pkg::post_out_t [3:0]               post_o,
  input  fabric_pkg::post_in_t [3:0]                post_i,
  input  logic [3:0]                                lane_post_i,
  input  logic [3:0][9:0]                           lane_sem_i,
  output logic [tegula_pkg::Semaphores-1:0]         nonzero_o,
  output logic                                      overflow_o,
  output logic [9:0]                                overflow_sem_o
);
  localparam int unsigned PostBits = fabric_pkg::PostBits;

  logic [3:0] valid, done, local_post;
  logic [4*2-1:0] kinds;
  logic [4*PostBits-1:0] post;
  for (genvar s = 0; s < 4; s++) begin : gen_stream
    localparam int unsigned Unit = s == 0 ? 0 : s - 1;
    post_source #(
      .Depth(s == 1 ? 4 : 2),
      .Limit(s == 1 ? 4 : 2)
    ) u_source (
      .clk_i, .rst_ni, .start_i,
      .push_i  (push_i[s]),
      .posts_i (posts_i[Unit]),
      .end_i   (end_i[s]),
      .valid_o (valid[s]),
      .kind_o  (kinds[s*2+:2]),
      .post_o  (post[s*PostBits+:PostBits]),
      .done_i  (done[s]),
      .leaves_o(),
      .room_o  (room_o[s]),
      .flight_o(flight_o[s])
    );
  end

  logic [3:0] free, send, arrive;
  logic [4*PostBits-1:0] sent;
  logic [4*10-1:0] arrive_sem, local_sem;
  for (genvar l = 0; l < 4; l++) begin : gen_post_lane
    assign free[l] = post_i[l].free;
    assign arrive[l] = post_i[l].arrive;
    assign arrive_sem[l*10+:10] = post_i[l].sem;
    assign post_o[l] = {send[l], sent[l*PostBits+:PostBits]};
  end
  post_arbiter #(.Streams(4)) u_posts (
    .clk_i, .rst_ni, .start_i, .defect_i, .row_pos_i, .col_pos_i,
    .valid_i     (valid),
    .kinds_i     (kinds),
    .posts_i     (post),
    .done_o      (done),
    .local_o     (local_post),
    .free_i      (free),
    .send_o      (send),
    .send_posts_o(sent)
  );

  fabric_pkg::cfg_t cfg;  // initial values
  always_comb begin
    cfg = cfg_i;
    cfg.valid = cfg_i.valid && cfg_i.kind == tegula_pkg::CfgSemaphores;
  end
  for (genvar s = 0; s < 4; s++) begin : gen_local
    assign local_sem[s*10+:10] = post[s*PostBits+:10];
  end
  semaphores #(
    .Units     (3),
    .Increments(12)
  ) u_semaphores (
    .clk_i, .rst_ni, .start_i,
    .cfg_i   (cfg),
    .cfg_data_i, .take_i, .need_i,
    .add_i   ({lane_post_i, arrive, local_post}),
    .sem_i   ({lane_sem_i, arrive_sem, local_sem}),
    .nonzero_o, .overflow_o, .overflow_sem_o
  );

  `ASSERT(NoPostIsLost, start_i || (push_i & ~room_o) == '0)
endmodule
