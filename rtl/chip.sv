`include "assert.svh"

// A build that verilates tiles as libraries names a module with the same ports, as vectors, here
// (sim/rtl/flat_tile.cmake).
`ifndef TEGULA_TILE
`define TEGULA_TILE tile
`endif

// The chip: tiles, AGCUs, lanes and post lanes between them, and the section controller at the
// corner between the west and the north AGCUs. What that says goes down the west AGCUs and along
// each row, and along the north AGCUs, a register a hop, and so does the answer. Endpoints that are
// nearer wait, so that it is Distance cycles each way for all.
//
// Endpoints are the tiles, row-major, then the AGCUs, west ones first; units are mx, vx, tx of each
// tile, then the contexts of each AGCU. The configuration port is the host's and costs no cycles of
// the model: it is used while open_o is high.
module chip (
  input  logic                                       clk_i,
  input  logic                                       rst_ni,
  input  logic [7:0]                                 defect_i,         // test builds only
  // Configuration
  input  logic                                       cfg_we_i,
  input  logic [2:0]                                 cfg_kind_i,
  input  logic [9:0]                                 cfg_endpoint_i,
  input  logic [2:0]                                 cfg_unit_i,       // mx, vx, tx, or the context
  input  logic [9:0]                                 cfg_slot_i,
  input  logic [fabric_pkg::CfgBits-1:0]             cfg_data_i,
  // Sections
  input  logic                                       start_i,
  input  logic [63:0]                                config_cycles_i,
  output logic                                       run_o,
  // No section runs; two cycles after start_i one does
  output logic                                       done_o,
  output logic                                       open_o,           // may be set up and started
  output logic [63:0]                                cycle_o,
  output logic                                       quiet_o,          // nothing is in progress
  // Memory, one port an AGCU
  input  logic [tegula_pkg::Agcus-1:0]               ready_i,
  output logic [tegula_pkg::Agcus-1:0]               first_o,
  output logic [tegula_pkg::Agcus-1:0]               store_o,
  output logic [tegula_pkg::Agcus-1:0]               read_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]         read_address_o,
  output logic [tegula_pkg::Agcus-1:0]               read_wide_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          read_first_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          read_count_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          read_atoms_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]         timed_address_o,  // what a device is timed by
  output logic [tegula_pkg::Agcus-1:0][7:0]          timed_count_o,
  input  logic [tegula_pkg::Agcus-1:0]               read_valid_i,
  input  logic [tegula_pkg::Agcus-1:0][64*tegula_pkg::P-1:0] read_data_i,
  output logic [tegula_pkg::Agcus-1:0]               write_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]         write_address_o,
  output logic [tegula_pkg::Agcus-1:0]               write_wide_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          write_first_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          write_count_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]          write_atoms_o,
  output logic [tegula_pkg::Agcus-1:0][tegula_pkg::FlitBits-1:0] write_data_o,
  // Trace
  output logic                                       event_o,          // some issue or end
  output logic [tegula_pkg::Units-1:0]               issue_o,
  output logic [tegula_pkg::Units-1:0][7:0]          pc_o,
  output logic [tegula_pkg::Units-1:0]               end_o,            // of the oldest in flight
  output logic [tegula_pkg::Agcus*tegula_pkg::AgcuContexts-1:0] store_end_o,
  // State, for reports
  output logic [tegula_pkg::Endpoints-1:0]           fault_o,
  output logic [tegula_pkg::Endpoints-1:0][2:0]      fault_code_o,
  output logic [tegula_pkg::Endpoints-1:0][9:0]      fault_where_o,
  output logic [tegula_pkg::Endpoints-1:0][8:0]      fault_ports_o,
  output logic [tegula_pkg::Endpoints-1:0][tegula_pkg::Semaphores-1:0] nonzero_o
);
  localparam int unsigned Rows = tegula_pkg::Rows;
  localparam int unsigned Cols = tegula_pkg::Cols;
  localparam int unsigned Tiles = tegula_pkg::Tiles;
  localparam int unsigned Contexts = tegula_pkg::AgcuContexts;
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;
  localparam int unsigned RowN = Cols + 1;  // positions of a row: its AGCU, then its tiles
  localparam int unsigned ColN = Rows + 1;
  // Hops from the section control to the farthest tile.
  localparam int unsigned Distance = Rows + Cols;

  // Widths that fabric_pkg has as numbers, as Yosys does not know the size of a type.
  if ($bits(fabric_pkg::posts_t) != fabric_pkg::PostsBits) begin : gen_posts_bits
    $error("fabric_pkg::PostsBits");
  end
  if ($bits(fabric_pkg::post_t) != fabric_pkg::PostBits) begin : gen_post_bits
    $error("fabric_pkg::PostBits");
  end
  if ($bits(fabric_pkg::digits_t) != fabric_pkg::DigitsBits) begin : gen_digits_bits
    $error("fabric_pkg::DigitsBits");
  end
  if ($bits(fabric_pkg::lane_request_t) != fabric_pkg::RequestBits) begin : gen_request_bits
    $error("fabric_pkg::RequestBits");
  end
  if ($bits(fabric_pkg::side_t) != fabric_pkg::SideBits) begin : gen_side_bits
    $error("fabric_pkg::SideBits");
  end

  // The host's side is registered once.
  logic start_q;
  logic [63:0] config_cycles_q;
  fabric_pkg::cfg_t cfg_q;
  logic [9:0] cfg_endpoint_q;
  logic [fabric_pkg::CfgBits-1:0] cfg_data_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      cfg_q <= '0;
    end else begin
      start_q <= start_i;
      cfg_q <= {cfg_we_i, cfg_kind_i, cfg_unit_i, cfg_slot_i};
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) config_cycles_q <= config_cycles_i;
    if (cfg_we_i) begin
      cfg_endpoint_q <= cfg_endpoint_i;
      cfg_data_q <= cfg_data_i;
    end
  end

  logic [tegula_pkg::Endpoints-1:0] finished, busy;
  logic run, west_idle, north_idle;
  section_control #(
    .Distance(Distance)
  ) u_control (
    .clk_i, .rst_ni,
    .start_i        (start_q),
    .config_cycles_i(config_cycles_q),
    .idle_i         (west_idle && north_idle),
    .run_o          (run),
    .done_o, .open_o, .cycle_o
  );
  assign run_o = run;

  // The tree: what is at each stop, and at each endpoint when all have it.
  logic [Rows-1:0] west_start, west_run, west_stop_idle, row_idle;
  fabric_pkg::cfg_t [Rows-1:0] west_cfg;
  logic [Rows-1:0][9:0] west_endpoint;
  logic [Rows-1:0][fabric_pkg::CfgBits-1:0] west_data;
  logic [Cols-1:0] north_start, north_run, north_stop_idle;
  fabric_pkg::cfg_t [Cols-1:0] north_cfg;
  logic [Cols-1:0][9:0] north_endpoint;
  logic [Cols-1:0][fabric_pkg::CfgBits-1:0] north_data;
  logic [Rows-1:0][Cols-1:0] tile_start, tile_run, tile_idle;
  fabric_pkg::cfg_t [Rows-1:0][Cols-1:0] tile_cfg;
  logic [Rows-1:0][Cols-1:0][9:0] tile_endpoint;
  logic [Rows-1:0][Cols-1:0][fabric_pkg::CfgBits-1:0] tile_data;
  control_line #(.N(Rows)) u_west (
    .clk_i, .rst_ni,
    .start_i       (start_q),
    .run_i         (run),
    .cfg_i         (cfg_q),
    .cfg_endpoint_i(cfg_endpoint_q),
    .cfg_data_i    (cfg_data_q),
    .start_o       (west_start),
    .run_o         (west_run),
    .cfg_o         (west_cfg),
    .cfg_endpoint_o(west_endpoint),
    .cfg_data_o    (west_data),
    .idle_i        (west_stop_idle & row_idle),
    .idle_o        (west_idle)
  );
  control_line #(.N(Cols)) u_north (
    .clk_i, .rst_ni,
    .start_i       (start_q),
    .run_i         (run),
    .cfg_i         (cfg_q),
    .cfg_endpoint_i(cfg_endpoint_q),
    .cfg_data_i    (cfg_data_q),
    .start_o       (north_start),
    .run_o         (north_run),
    .cfg_o         (north_cfg),
    .cfg_endpoint_o(north_endpoint),
    .cfg_data_o    (north_data),
    .idle_i        (north_stop_idle),
    .idle_o        (north_idle)
  );
  for (genvar r = 0; r < Rows; r++) begin : gen_control
    control_line #(.N(Cols)) u_row (
      .clk_i, .rst_ni,
      .start_i       (west_start[r]),
      .run_i         (west_run[r]),
      .cfg_i         (west_cfg[r]),
      .cfg_endpoint_i(west_endpoint[r]),
      .cfg_data_i    (west_data[r]),
      .start_o       (tile_start[r]),
      .run_o         (tile_run[r]),
      .cfg_o         (tile_cfg[r]),
      .cfg_endpoint_o(tile_endpoint[r]),
      .cfg_data_o    (tile_data[r]),
      .idle_i        (tile_idle[r]),
      .idle_o        (row_idle[r])
    );
  end

  logic [Rows-1:0] row_busy;
  logic [Cols-1:0] col_busy;
  assign event_o = issue_o != '0 || end_o != '0 || store_end_o != '0;
  assign quiet_o = !event_o && busy == '0 && row_busy == '0 && col_busy == '0;

  // Lanes and post lanes, by row (east, west) and by column (south, north). Position 0 is the AGCU.
  logic [Rows-1:0][RowN-1:0] row_start;
  logic [Cols-1:0][ColN-1:0] col_start;
  logic [Rows-1:0][1:0][RowN-1:0] row_req, row_grant, row_send, row_arrive;
  fabric_pkg::lane_request_t [Rows-1:0][1:0][RowN-1:0] row_request;
  fabric_pkg::side_t [Rows-1:0][1:0][RowN-1:0] row_send_side, row_side;
  logic [Rows-1:0][1:0][RowN-1:0][FlitBits-1:0] row_send_data, row_data;
  logic [Rows-1:0][1:0][RowN-1:0] row_post_free, row_post_send, row_post_arrive;
  fabric_pkg::post_t [Rows-1:0][1:0][RowN-1:0] row_post;
  logic [Rows-1:0][1:0][RowN-1:0][9:0] row_post_sem;

  logic [Cols-1:0][1:0][ColN-1:0] col_req, col_grant, col_send, col_arrive;
  fabric_pkg::lane_request_t [Cols-1:0][1:0][ColN-1:0] col_request;
  fabric_pkg::side_t [Cols-1:0][1:0][ColN-1:0] col_send_side, col_side;
  logic [Cols-1:0][1:0][ColN-1:0][FlitBits-1:0] col_send_data, col_data;
  logic [Cols-1:0][1:0][ColN-1:0] col_post_free, col_post_send, col_post_arrive;
  fabric_pkg::post_t [Cols-1:0][1:0][ColN-1:0] col_post;
  logic [Cols-1:0][1:0][ColN-1:0][9:0] col_post_sem;

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    fabric_line #(.N(RowN)) u_line (
      .clk_i, .rst_ni,
      .start_i     (row_start[r]),
      .defect_i,
      .req_i       (row_req[r]),
      .request_i   (row_request[r]),
      .grant_o     (row_grant[r]),
      .send_i      (row_send[r]),
      .side_i      (row_send_side[r]),
      .data_i      (row_send_data[r]),
      .arrive_o    (row_arrive[r]),
      .side_o      (row_side[r]),
      .data_o      (row_data[r]),
      .post_free_o (row_post_free[r]),
      .post_send_i (row_post_send[r]),
      .post_i      (row_post[r]),
      .post_arrive_o(row_post_arrive[r]),
      .post_sem_o  (row_post_sem[r]),
      .busy_o      (row_busy[r])
    );
  end
  for (genvar c = 0; c < Cols; c++) begin : gen_col
    fabric_line #(.N(ColN)) u_line (
      .clk_i, .rst_ni,
      .start_i     (col_start[c]),
      .defect_i,
      .req_i       (col_req[c]),
      .request_i   (col_request[c]),
      .grant_o     (col_grant[c]),
      .send_i      (col_send[c]),
      .side_i      (col_send_side[c]),
      .data_i      (col_send_data[c]),
      .arrive_o    (col_arrive[c]),
      .side_o      (col_side[c]),
      .data_o      (col_data[c]),
      .post_free_o (col_post_free[c]),
      .post_send_i (col_post_send[c]),
      .post_i      (col_post[c]),
      .post_arrive_o(col_post_arrive[c]),
      .post_sem_o  (col_post_sem[c]),
      .busy_o      (col_busy[c])
    );
  end

  // Tile (r, c) is position c+1 of its row and r+1 of its column.
  for (genvar r = 0; r < Rows; r++) begin : gen_tile_row
    for (genvar c = 0; c < Cols; c++) begin : gen_tile
      localparam int unsigned Id = r * Cols + c;
      localparam int unsigned X = c + 1;
      localparam int unsigned Y = r + 1;
      localparam int unsigned Slack = Distance - X - Y;
      fabric_pkg::cfg_t cfg;
      fabric_pkg::lane_request_t request;
      fabric_pkg::side_t side;
      fabric_pkg::fault_t fault;
      logic start, run_here;
      logic [3:0] req, send;
      logic [FlitBits-1:0] data;
      logic [3:0] post_send;
      logic [4*fabric_pkg::PostBits-1:0] posts;
      always_comb begin
        cfg = tile_cfg[r][c];
        if (tile_endpoint[r][c] != 10'(Id) && cfg.kind != tegula_pkg::CfgKeys) cfg.valid = 1'b0;
      end
      delay #(.Cycles(Slack)) u_start (.clk_i, .rst_ni, .d_i(tile_start[r][c]), .q_o(start));
      delay #(.Cycles(Slack)) u_run (.clk_i, .rst_ni, .d_i(tile_run[r][c]), .q_o(run_here));
      delay #(.Cycles(Slack)) u_idle (
        .clk_i, .rst_ni, .d_i(finished[Id] && !busy[Id]), .q_o(tile_idle[r][c])
      );
      assign row_start[r][X] = start;
      assign col_start[c][Y] = start;

      `TEGULA_TILE u_tile (
        .clk_i, .rst_ni,
        .start_i         (start),
        .run_i           (run_here),
        .defect_i,
        .row_pos_i       (5'(X)),
        .col_pos_i       (5'(Y)),
        .cfg_i           (cfg),
        .cfg_data_i      (tile_data[r][c]),
        .post_free_i     ({col_post_free[c][1][Y], col_post_free[c][0][Y],
                           row_post_free[r][1][X], row_post_free[r][0][X]}),
        .post_send_o     (post_send),
        .posts_o         (posts),
        .post_arrive_i   ({col_post_arrive[c][1][Y], col_post_arrive[c][0][Y],
                           row_post_arrive[r][1][X], row_post_arrive[r][0][X]}),
        .post_sem_i      ({col_post_sem[c][1][Y], col_post_sem[c][0][Y],
                           row_post_sem[r][1][X], row_post_sem[r][0][X]}),
        .req_o           (req),
        .request_o       (request),
        .grant_i         ({col_grant[c][1][Y], col_grant[c][0][Y],
                           row_grant[r][1][X], row_grant[r][0][X]}),
        .send_o          (send),
        .side_o          (side),
        .data_o          (data),
        .arrive_i        ({col_arrive[c][1][Y], col_arrive[c][0][Y],
                           row_arrive[r][1][X], row_arrive[r][0][X]}),
        .side_i          ({col_side[c][1][Y], col_side[c][0][Y],
                           row_side[r][1][X], row_side[r][0][X]}),
        .data_i          ({col_data[c][1][Y], col_data[c][0][Y],
                           row_data[r][1][X], row_data[r][0][X]}),
        .issue_o         (issue_o[3*Id+:3]),
        .pc_o            (pc_o[3*Id+:3]),
        .end_o           (end_o[3*Id+:3]),
        .nonzero_o       (nonzero_o[Id]),
        .finished_o      (finished[Id]),
        .busy_o          (busy[Id]),
        .fault_o         (fault)
      );

      for (genvar d = 0; d < 2; d++) begin : gen_out
        assign row_req[r][d][X] = req[d];
        assign row_request[r][d][X] = request;
        assign row_send[r][d][X] = send[d];
        assign row_send_side[r][d][X] = side;
        assign row_send_data[r][d][X] = data;
        assign col_req[c][d][Y] = req[2+d];
        assign col_request[c][d][Y] = request;
        assign col_send[c][d][Y] = send[2+d];
        assign col_send_side[c][d][Y] = side;
        assign col_send_data[c][d][Y] = data;
        assign row_post_send[r][d][X] = post_send[d];
        assign row_post[r][d][X] = posts[d*fabric_pkg::PostBits+:fabric_pkg::PostBits];
        assign col_post_send[c][d][Y] = post_send[2+d];
        assign col_post[c][d][Y] = posts[(2+d)*fabric_pkg::PostBits+:fabric_pkg::PostBits];
      end
      assign fault_o[Id] = fault.valid;
      assign fault_code_o[Id] = fault.code;
      assign fault_where_o[Id] = fault.where;
      assign fault_ports_o[Id] = fault.ports;
    end
  end

  // AGCUs are position 0: west ones send east and take what comes west, north ones south and north.
  for (genvar a = 0; a < tegula_pkg::Agcus; a++) begin : gen_agcu
    localparam bit West = a < Rows;
    localparam int unsigned Line = West ? a : a - Rows;
    localparam int unsigned Id = Tiles + a;
    localparam int unsigned Unit = 3 * Tiles + a * Contexts;
    localparam int unsigned Slack = Distance - Line - 1;
    fabric_pkg::cfg_t cfg, cfg_in;
    logic [fabric_pkg::CfgBits-1:0] cfg_data;
    logic [9:0] cfg_endpoint;
    logic start_in, run_in, start, run_here, idle;
    fabric_pkg::lane_request_t request;
    fabric_pkg::side_t side, side_in;
    fabric_pkg::memory_request_t read, write;
    fabric_pkg::fault_t fault;
    fabric_pkg::post_t post;
    logic req, grant, arrive, post_send, post_arrive;
    logic [9:0] post_sem;
    logic [FlitBits-1:0] data, data_in;
    always_comb begin
      cfg = cfg_in;
      if (cfg_endpoint != 10'(Id) && cfg.kind != tegula_pkg::CfgBases) cfg.valid = 1'b0;
    end
    delay #(.Cycles(Slack)) u_start (.clk_i, .rst_ni, .d_i(start_in), .q_o(start));
    delay #(.Cycles(Slack)) u_run (.clk_i, .rst_ni, .d_i(run_in), .q_o(run_here));
    delay #(.Cycles(Slack)) u_idle (.clk_i, .rst_ni, .d_i(finished[Id] && !busy[Id]), .q_o(idle));

    agcu #(.West(West)) u_agcu (
      .clk_i, .rst_ni,
      .start_i     (start),
      .run_i       (run_here),
      .defect_i,
      .cfg_i       (cfg),
      .cfg_data_i  (cfg_data),
      .post_send_o (post_send),
      .post_o      (post),
      .post_arrive_i(post_arrive),
      .post_sem_i  (post_sem),
      .req_o       (req),
      .request_o   (request),
      .grant_i     (grant),
      .side_o      (side),
      .data_o      (data),
      .arrive_i    (arrive),
      .side_i      (side_in),
      .data_i      (data_in),
      .ready_i     (ready_i[a]),
      .first_o     (first_o[a]),
      .store_o     (store_o[a]),
      .read_o      (read),
      .read_valid_i(read_valid_i[a]),
      .read_data_i (read_data_i[a]),
      .write_o     (write),
      .write_data_o(write_data_o[a]),
      .issue_o     (issue_o[Unit+:Contexts]),
      .pc_o        (pc_o[Unit+:Contexts]),
      .load_end_o  (end_o[Unit+:Contexts]),
      .store_end_o (store_end_o[a*Contexts+:Contexts]),
      .nonzero_o   (nonzero_o[Id]),
      .finished_o  (finished[Id]),
      .busy_o      (busy[Id]),
      .fault_o     (fault)
    );

    assign read_o[a] = read.valid;
    assign read_address_o[a] = read.address;
    assign read_wide_o[a] = read.wide;
    assign read_first_o[a] = {1'b0, read.first};
    assign read_count_o[a] = {1'b0, read.count};
    assign read_atoms_o[a] = read.atoms;
    assign timed_address_o[a] = read.timed_address;
    assign timed_count_o[a] = {1'b0, read.timed_count};
    assign write_o[a] = write.valid;
    assign write_address_o[a] = write.address;
    assign write_wide_o[a] = write.wide;
    assign write_first_o[a] = {1'b0, write.first};
    assign write_count_o[a] = {1'b0, write.count};
    assign write_atoms_o[a] = write.atoms;
    assign fault_o[Id] = fault.valid;
    assign fault_code_o[Id] = fault.code;
    assign fault_where_o[Id] = fault.where;
    assign fault_ports_o[Id] = fault.ports;

    if (West) begin : gen_west
      assign {start_in, run_in} = {west_start[Line], west_run[Line]};
      assign cfg_in = west_cfg[Line];
      assign cfg_endpoint = west_endpoint[Line];
      assign cfg_data = west_data[Line];
      assign west_stop_idle[Line] = idle;
      assign row_start[Line][0] = start;
      assign row_req[Line][0][0] = req;
      assign row_request[Line][0][0] = request;
      assign row_send[Line][0][0] = side.valid;
      assign row_send_side[Line][0][0] = side;
      assign row_send_data[Line][0][0] = data;
      assign row_req[Line][1][0] = 1'b0;
      assign row_request[Line][1][0] = '0;
      assign row_send[Line][1][0] = 1'b0;
      assign row_send_side[Line][1][0] = '0;
      assign row_send_data[Line][1][0] = '0;
      assign {row_post_send[Line][1][0], row_post_send[Line][0][0]} = {1'b0, post_send};
      assign {row_post[Line][1][0], row_post[Line][0][0]} = {fabric_pkg::PostBits'(0), post};
      assign grant = row_grant[Line][0][0];
      assign arrive = row_arrive[Line][1][0];
      assign side_in = row_side[Line][1][0];
      assign data_in = row_data[Line][1][0];
      assign post_arrive = row_post_arrive[Line][1][0];
      assign post_sem = row_post_sem[Line][1][0];
    end else begin : gen_north
      assign {start_in, run_in} = {north_start[Line], north_run[Line]};
      assign cfg_in = north_cfg[Line];
      assign cfg_endpoint = north_endpoint[Line];
      assign cfg_data = north_data[Line];
      assign north_stop_idle[Line] = idle;
      assign col_start[Line][0] = start;
      assign col_req[Line][0][0] = req;
      assign col_request[Line][0][0] = request;
      assign col_send[Line][0][0] = side.valid;
      assign col_send_side[Line][0][0] = side;
      assign col_send_data[Line][0][0] = data;
      assign col_req[Line][1][0] = 1'b0;
      assign col_request[Line][1][0] = '0;
      assign col_send[Line][1][0] = 1'b0;
      assign col_send_side[Line][1][0] = '0;
      assign col_send_data[Line][1][0] = '0;
      assign {col_post_send[Line][1][0], col_post_send[Line][0][0]} = {1'b0, post_send};
      assign {col_post[Line][1][0], col_post[Line][0][0]} = {fabric_pkg::PostBits'(0), post};
      assign grant = col_grant[Line][0][0];
      assign arrive = col_arrive[Line][1][0];
      assign side_in = col_side[Line][1][0];
      assign data_in = col_data[Line][1][0];
      assign post_arrive = col_post_arrive[Line][1][0];
      assign post_sem = col_post_sem[Line][1][0];
    end
  end

  `ASSERT(ConfiguredBetweenSections, !cfg_q.valid || open_o)
endmodule
