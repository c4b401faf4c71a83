// The chip: tiles, AGCUs, four lanes and two kinds of post links between them, and the section controller.
//
// Endpoints are the tiles, row-major, then the AGCUs, west ones first. The configuration port is the host's and costs no
// cycles of the model: it is used while done_o is high.
module chip (
    input  logic                                        clk_i,
    input  logic                                        rst_ni,
    input  logic [7:0]                                  fault_i, // a deliberate defect, in test builds only
    // configuration
    input  logic                                        cfg_we_i,
    input  logic [2:0]                                  cfg_kind_i,
    input  logic [9:0]                                  cfg_endpoint_i,
    input  logic [2:0]                                  cfg_unit_i, // mx, vx, tx, or the context
    input  logic [9:0]                                  cfg_slot_i,
    input  logic [fabric_pkg::CFG_BITS-1:0]             cfg_data_i,
    // sections
    input  logic                                        start_i,
    input  logic [63:0]                                 config_cycles_i,
    output logic                                        run_o,
    output logic                                        done_o, // no section runs (two cycles after start_i: one does)
    output logic [63:0]                                 cycle_o,
    output logic                                        quiet_o, // nothing moves and nothing is in progress
    // memory, one port an AGCU
    output logic [tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                  read_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*64-1:0]             read_address_o,
    output logic [tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                  read_wide_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              read_first_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              read_count_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              read_atoms_o, // for statistics
    input  logic [tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                  read_valid_i,
    input  logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*64*tegula_pkg::P-1:0] read_data_i,
    output logic [tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                  write_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*64-1:0]             write_address_o,
    output logic [tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                  write_wide_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              write_first_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              write_count_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*8-1:0]              write_atoms_o,
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*32*tegula_pkg::P-1:0] write_data_o,
    // trace: units are mx, vx, tx of each tile, then the contexts of each AGCU
    output logic                                        event_o, // some issue or end
    output logic [3*tegula_pkg::ROWS*tegula_pkg::COLS+(tegula_pkg::ROWS+tegula_pkg::COLS)*tegula_pkg::AGCU_CONTEXTS-1:0]     issue_o,
    output logic [(3*tegula_pkg::ROWS*tegula_pkg::COLS+(tegula_pkg::ROWS+tegula_pkg::COLS)*tegula_pkg::AGCU_CONTEXTS)*8-1:0] pc_o,
    output logic [3*tegula_pkg::ROWS*tegula_pkg::COLS+(tegula_pkg::ROWS+tegula_pkg::COLS)*tegula_pkg::AGCU_CONTEXTS-1:0]     end_o, // the oldest in flight, LOADs only
    output logic [(tegula_pkg::ROWS+tegula_pkg::COLS)*tegula_pkg::AGCU_CONTEXTS-1:0]                                         store_end_o,
    // state, for reports
    output logic [tegula_pkg::ROWS*tegula_pkg::COLS+tegula_pkg::ROWS+tegula_pkg::COLS-1:0]                                   fault_o,
    output logic [(tegula_pkg::ROWS*tegula_pkg::COLS+tegula_pkg::ROWS+tegula_pkg::COLS)*3-1:0]                               fault_code_o,
    output logic [(tegula_pkg::ROWS*tegula_pkg::COLS+tegula_pkg::ROWS+tegula_pkg::COLS)*10-1:0]                              fault_where_o,
    output logic [(tegula_pkg::ROWS*tegula_pkg::COLS)*9-1:0]                                                                 fault_ports_o,
    output logic [(tegula_pkg::ROWS*tegula_pkg::COLS+tegula_pkg::ROWS+tegula_pkg::COLS)*tegula_pkg::SEMAPHORES-1:0]          nonzero_o
);
  localparam int unsigned R = tegula_pkg::ROWS;
  localparam int unsigned C = tegula_pkg::COLS;
  localparam int unsigned T = R * C;
  localparam int unsigned NC = tegula_pkg::AGCU_CONTEXTS;
  localparam int unsigned NS = tegula_pkg::SEMAPHORES;
  localparam int unsigned W = tegula_pkg::FLIT_BITS;
  localparam int unsigned SB = fabric_pkg::SIDE_BITS;
  localparam int unsigned BB = fabric_pkg::BUNDLE_BITS;
  localparam int unsigned NR = C + 1; // positions of a row
  localparam int unsigned NCOL = R + 1;

  // The host's side is registered once.
  logic start_q, cfg_we_q;
  logic [63:0] config_cycles_q;
  logic [2:0] cfg_kind_q, cfg_unit_q;
  logic [9:0] cfg_endpoint_q, cfg_slot_q;
  logic [fabric_pkg::CFG_BITS-1:0] cfg_data_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      cfg_we_q <= 1'b0;
    end else begin
      start_q <= start_i;
      cfg_we_q <= cfg_we_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) config_cycles_q <= config_cycles_i;
    if (cfg_we_i) begin
      cfg_kind_q <= cfg_kind_i;
      cfg_endpoint_q <= cfg_endpoint_i;
      cfg_unit_q <= cfg_unit_i;
      cfg_slot_q <= cfg_slot_i;
      cfg_data_q <= cfg_data_i;
    end
  end

  logic [T+R+C-1:0] finished, busy;
  section_control u_control (
      .clk_i, .rst_ni, .start_i(start_q), .config_cycles_i(config_cycles_q), .idle_i(&finished && busy == '0),
      .run_o, .done_o, .cycle_o
  );

  logic [2*(R+C)-1:0] lane_busy;
  logic [R+C-1:0] link_busy;
  assign event_o = issue_o != '0 || end_o != '0 || store_end_o != '0;
  assign quiet_o = !event_o && busy == '0 && lane_busy == '0 && link_busy == '0;

  // Lanes, by row (east, west) and by column (south, north), with what each position offers and gets.
  logic [2*R*NR-1:0] row_req, row_grant, row_send, row_arrive;
  logic [2*R*NR*5-1:0] row_far;
  logic [2*R*NR*7-1:0] row_len;
  logic [2*R*NR*SB-1:0] row_side_in, row_side;
  logic [2*R*NR*W-1:0] row_data_in, row_data;
  logic [2*C*NCOL-1:0] col_req, col_grant, col_send, col_arrive;
  logic [2*C*NCOL*5-1:0] col_far;
  logic [2*C*NCOL*7-1:0] col_len;
  logic [2*C*NCOL*SB-1:0] col_side_in, col_side;
  logic [2*C*NCOL*W-1:0] col_data_in, col_data;
  logic [R*NR-1:0] row_post_valid;
  logic [R*NR*BB-1:0] row_posts;
  logic [R*NR*NR-1:0] row_link_valid;
  logic [R*NR*NR*BB-1:0] row_link_posts;
  logic [C*NCOL-1:0] col_post_valid;
  logic [C*NCOL*BB-1:0] col_posts;
  logic [C*NCOL*NCOL-1:0] col_link_valid;
  logic [C*NCOL*NCOL*BB-1:0] col_link_posts;

  for (genvar r = 0; r < R; r++) begin : g_row
    for (genvar d = 0; d < 2; d++) begin : g_lane
      localparam int unsigned L = 2 * r + d;
      lane #(.N(NR), .DESCENDING(d == 1)) u_lane (
          .clk_i, .rst_ni, .start_i(start_q), .fault_i, .req_i(row_req[L*NR+:NR]), .far_i(row_far[L*NR*5+:NR*5]),
          .len_i(row_len[L*NR*7+:NR*7]), .grant_o(row_grant[L*NR+:NR]), .send_i(row_send[L*NR+:NR]),
          .side_i(row_side_in[L*NR*SB+:NR*SB]), .data_i(row_data_in[L*NR*W+:NR*W]),
          .arrive_o(row_arrive[L*NR+:NR]), .side_o(row_side[L*NR*SB+:NR*SB]), .data_o(row_data[L*NR*W+:NR*W]),
          .busy_o(lane_busy[L])
      );
    end
    post_link #(.N(NR)) u_posts (
        .clk_i, .rst_ni, .start_i(start_q), .valid_i(row_post_valid[r*NR+:NR]), .posts_i(row_posts[r*NR*BB+:NR*BB]),
        .valid_o(row_link_valid[r*NR*NR+:NR*NR]), .posts_o(row_link_posts[r*NR*NR*BB+:NR*NR*BB]),
        .busy_o(link_busy[r])
    );
  end
  for (genvar c = 0; c < C; c++) begin : g_col
    for (genvar d = 0; d < 2; d++) begin : g_lane
      localparam int unsigned L = 2 * c + d;
      lane #(.N(NCOL), .DESCENDING(d == 1)) u_lane (
          .clk_i, .rst_ni, .start_i(start_q), .fault_i, .req_i(col_req[L*NCOL+:NCOL]), .far_i(col_far[L*NCOL*5+:NCOL*5]),
          .len_i(col_len[L*NCOL*7+:NCOL*7]), .grant_o(col_grant[L*NCOL+:NCOL]), .send_i(col_send[L*NCOL+:NCOL]),
          .side_i(col_side_in[L*NCOL*SB+:NCOL*SB]), .data_i(col_data_in[L*NCOL*W+:NCOL*W]),
          .arrive_o(col_arrive[L*NCOL+:NCOL]), .side_o(col_side[L*NCOL*SB+:NCOL*SB]),
          .data_o(col_data[L*NCOL*W+:NCOL*W]), .busy_o(lane_busy[2*R+L])
      );
    end
    post_link #(.N(NCOL)) u_posts (
        .clk_i, .rst_ni, .start_i(start_q), .valid_i(col_post_valid[c*NCOL+:NCOL]), .posts_i(col_posts[c*NCOL*BB+:NCOL*BB]),
        .valid_o(col_link_valid[c*NCOL*NCOL+:NCOL*NCOL]), .posts_o(col_link_posts[c*NCOL*NCOL*BB+:NCOL*NCOL*BB]),
        .busy_o(link_busy[R+c])
    );
  end

  // Tiles: tile (r, c) is position c+1 of its row and r+1 of its column.
  for (genvar r = 0; r < R; r++) begin : g_tile_row
    for (genvar c = 0; c < C; c++) begin : g_tile
      localparam int unsigned ID = r * C + c;
      localparam int unsigned E = (2 * r) * NR + c + 1; // places on the four lanes
      localparam int unsigned WE = (2 * r + 1) * NR + c + 1;
      localparam int unsigned S = (2 * c) * NCOL + r + 1;
      localparam int unsigned NO = (2 * c + 1) * NCOL + r + 1;
      localparam int unsigned RP = r * NR + c + 1; // places on the post links
      localparam int unsigned CP = c * NCOL + r + 1;
      logic [3:0] req, send;
      logic [4:0] far;
      logic [6:0] len;
      logic [SB-1:0] side;
      logic [W-1:0] data;
      logic [BB-1:0] posts;

      tile u_tile (
          .clk_i, .rst_ni, .start_i(start_q), .run_i(run_o), .fault_i, .row_pos_i(5'(c + 1)), .col_pos_i(5'(r + 1)),
          .cfg_we_i(cfg_we_q && (cfg_endpoint_q == 10'(ID) || cfg_kind_q == fabric_pkg::CFG_KEYS)), .cfg_kind_i(cfg_kind_q),
          .cfg_unit_i(cfg_unit_q), .cfg_slot_i(cfg_slot_q), .cfg_data_i(cfg_data_q), .post_valid_o({col_post_valid[CP], row_post_valid[RP]}),
          .posts_o(posts), .row_link_valid_i(row_link_valid[RP*NR+:NR]),
          .row_link_posts_i(row_link_posts[RP*NR*BB+:NR*BB]), .col_link_valid_i(col_link_valid[CP*NCOL+:NCOL]),
          .col_link_posts_i(col_link_posts[CP*NCOL*BB+:NCOL*BB]), .req_o(req), .far_o(far), .len_o(len),
          .grant_i({col_grant[NO], col_grant[S], row_grant[WE], row_grant[E]}), .send_o(send), .side_o(side),
          .data_o(data), .arrive_i({col_arrive[NO], col_arrive[S], row_arrive[WE], row_arrive[E]}),
          .side_i({col_side[NO*SB+:SB], col_side[S*SB+:SB], row_side[WE*SB+:SB], row_side[E*SB+:SB]}),
          .data_i({col_data[NO*W+:W], col_data[S*W+:W], row_data[WE*W+:W], row_data[E*W+:W]}),
          .issue_o(issue_o[3*ID+:3]), .pc_o(pc_o[3*ID*8+:24]), .end_o(end_o[3*ID+:3]),
          .nonzero_o(nonzero_o[ID*NS+:NS]), .finished_o(finished[ID]), .busy_o(busy[ID]), .fault_o(fault_o[ID]),
          .fault_code_o(fault_code_o[ID*3+:3]), .fault_where_o(fault_where_o[ID*10+:10]),
          .fault_ports_o(fault_ports_o[ID*9+:9])
      );
      assign {row_req[E], row_send[E]} = {req[0], send[0]};
      assign {row_req[WE], row_send[WE]} = {req[1], send[1]};
      assign {col_req[S], col_send[S]} = {req[2], send[2]};
      assign {col_req[NO], col_send[NO]} = {req[3], send[3]};
      assign row_far[E*5+:5] = far;
      assign row_far[WE*5+:5] = far;
      assign col_far[S*5+:5] = far;
      assign col_far[NO*5+:5] = far;
      assign row_len[E*7+:7] = len;
      assign row_len[WE*7+:7] = len;
      assign col_len[S*7+:7] = len;
      assign col_len[NO*7+:7] = len;
      assign row_side_in[E*SB+:SB] = side;
      assign row_side_in[WE*SB+:SB] = side;
      assign col_side_in[S*SB+:SB] = side;
      assign col_side_in[NO*SB+:SB] = side;
      assign row_data_in[E*W+:W] = data;
      assign row_data_in[WE*W+:W] = data;
      assign col_data_in[S*W+:W] = data;
      assign col_data_in[NO*W+:W] = data;
      assign row_posts[RP*BB+:BB] = posts;
      assign col_posts[CP*BB+:BB] = posts;
    end
  end

  // AGCUs are position 0: west ones send east and take what comes west, north ones south and north.
  for (genvar a = 0; a < R + C; a++) begin : g_agcu
    localparam bit WEST = a < R;
    localparam int unsigned N = WEST ? NR : NCOL;
    localparam int unsigned I = WEST ? a : a - R;
    localparam int unsigned OUT = 2 * I * N; // places on the two lanes
    localparam int unsigned IN = (2 * I + 1) * N;
    localparam int unsigned ID = T + a;
    localparam int unsigned U = 3 * T + a * NC;
    logic req, grant, arrive, post_valid;
    logic [4:0] far;
    logic [6:0] len;
    logic [SB-1:0] side, side_in;
    logic [W-1:0] data, data_in;
    logic [BB-1:0] posts;
    logic [N-1:0] link_valid;
    logic [N*BB-1:0] link_posts;
    fabric_pkg::side_t side_fields;
    assign side_fields = side;
    assign read_first_o[a*8+7] = 1'b0;
    assign read_count_o[a*8+7] = 1'b0;
    assign write_first_o[a*8+7] = 1'b0;
    assign write_count_o[a*8+7] = 1'b0;

    agcu #(.WEST(WEST), .N(N)) u_agcu (
        .clk_i, .rst_ni, .start_i(start_q), .run_i(run_o), .fault_i,
        .cfg_we_i(cfg_we_q && (cfg_endpoint_q == 10'(ID) || cfg_kind_q == fabric_pkg::CFG_BASES)), .cfg_kind_i(cfg_kind_q),
        .cfg_unit_i(cfg_unit_q), .cfg_slot_i(cfg_slot_q), .cfg_data_i(cfg_data_q), .post_valid_o(post_valid), .posts_o(posts),
        .link_valid_i(link_valid), .link_posts_i(link_posts), .req_o(req), .far_o(far), .len_o(len),
        .grant_i(grant), .side_o(side), .data_o(data), .arrive_i(arrive), .side_i(side_in), .data_i(data_in),
        .read_o(read_o[a]), .read_address_o(read_address_o[a*64+:64]), .read_wide_o(read_wide_o[a]),
        .read_first_o(read_first_o[a*8+:7]), .read_count_o(read_count_o[a*8+:7]), .read_atoms_o(read_atoms_o[a*8+:8]), .read_valid_i(read_valid_i[a]),
        .read_data_i(read_data_i[a*2*W+:2*W]), .write_o(write_o[a]), .write_address_o(write_address_o[a*64+:64]),
        .write_wide_o(write_wide_o[a]), .write_first_o(write_first_o[a*8+:7]),
        .write_count_o(write_count_o[a*8+:7]), .write_atoms_o(write_atoms_o[a*8+:8]), .write_data_o(write_data_o[a*W+:W]), .issue_o(issue_o[U+:NC]),
        .pc_o(pc_o[U*8+:NC*8]), .load_end_o(end_o[U+:NC]), .store_end_o(store_end_o[a*NC+:NC]),
        .nonzero_o(nonzero_o[ID*NS+:NS]), .finished_o(finished[ID]), .busy_o(busy[ID]), .fault_o(fault_o[ID]),
        .fault_code_o(fault_code_o[ID*3+:3]), .fault_sem_o(fault_where_o[ID*10+:10])
    );

    if (WEST) begin : g_west
      assign {row_req[OUT], row_req[IN]} = {req, 1'b0};
      assign {row_send[OUT], row_send[IN]} = {side_fields.valid, 1'b0};
      assign row_far[OUT*5+:5] = far;
      assign row_far[IN*5+:5] = '0;
      assign row_len[OUT*7+:7] = len;
      assign row_len[IN*7+:7] = '0;
      assign row_side_in[OUT*SB+:SB] = side;
      assign row_side_in[IN*SB+:SB] = '0;
      assign row_data_in[OUT*W+:W] = data;
      assign row_data_in[IN*W+:W] = '0;
      assign row_post_valid[I*NR] = post_valid;
      assign row_posts[I*NR*BB+:BB] = posts;
      assign grant = row_grant[OUT];
      assign arrive = row_arrive[IN];
      assign side_in = row_side[IN*SB+:SB];
      assign data_in = row_data[IN*W+:W];
      assign link_valid = row_link_valid[I*NR*NR+:NR];
      assign link_posts = row_link_posts[I*NR*NR*BB+:NR*BB];
    end else begin : g_north
      assign {col_req[OUT], col_req[IN]} = {req, 1'b0};
      assign {col_send[OUT], col_send[IN]} = {side_fields.valid, 1'b0};
      assign col_far[OUT*5+:5] = far;
      assign col_far[IN*5+:5] = '0;
      assign col_len[OUT*7+:7] = len;
      assign col_len[IN*7+:7] = '0;
      assign col_side_in[OUT*SB+:SB] = side;
      assign col_side_in[IN*SB+:SB] = '0;
      assign col_data_in[OUT*W+:W] = data;
      assign col_data_in[IN*W+:W] = '0;
      assign col_post_valid[I*NCOL] = post_valid;
      assign col_posts[I*NCOL*BB+:BB] = posts;
      assign grant = col_grant[OUT];
      assign arrive = col_arrive[IN];
      assign side_in = col_side[IN*SB+:SB];
      assign data_in = col_data[IN*W+:W];
      assign link_valid = col_link_valid[I*NCOL*NCOL+:NCOL];
      assign link_posts = col_link_posts[I*NCOL*NCOL*BB+:NCOL*BB];
    end
  end
endmodule
