`include "assert.svh"

// A build that verilates tiles and AGCUs as libraries names modules with the same ports, as
// vectors, here (sim/rtl/flat_module.cmake).
`ifndef TEGULA_TILE
`define TEGULA_TILE tile
`endif
`ifndef TEGULA_AGCU
`define TEGULA_AGCU agcu
`endif

// The chip: tiles, AGCUs, lanes and post lanes between them, and the section controller at the
// corner between the west and the north AGCUs. What that says goes down the west AGCUs and along
// each row, and along the north AGCUs, a register a hop, and so does the answer. Endpoints that are
// nearer wait, so that it is Distance cycles each way for all.
//
// Endpoints are the tiles, row-major, then the AGCUs, west ones first; units are mx, vx, tx of each
// tile, then the contexts of each AGCU. A section's configuration comes as words, one a cycle for
// each of the two lines from the corner.
module chip (
  input  logic                                                      clk_i,
  input  logic                                                      rst_ni,
  input  logic [7:0]                                                defect_i,  // test builds only
  // Configuration
  input  fabric_pkg::word_t [1:0]                                   word_i,  // west, north
  input  logic [1:0][tegula_pkg::FlitBits-1:0]                      word_data_i,
  // Sections: two cycles after start_i one runs, and word_i is its first
  input  logic                                                      start_i,
  input  logic [31:0]                                               config_words_i,
  input  logic [63:0]                                               config_cycles_i,
  input  logic                                                      config_plane_i,
  output fabric_pkg::section_t                                      section_o,
  // Memory, one port an AGCU
  output fabric_pkg::memory_out_t [tegula_pkg::Agcus-1:0]           memory_o,
  output logic [tegula_pkg::Agcus-1:0][tegula_pkg::FlitBits-1:0]    write_data_o,
  input  fabric_pkg::memory_in_t [tegula_pkg::Agcus-1:0]            memory_i,
  input  logic [tegula_pkg::Agcus-1:0][64*tegula_pkg::P-1:0]        read_data_i,
  // Trace of the units, and the state of the endpoints for reports
  output fabric_pkg::trace_t [tegula_pkg::Units-1:0]                trace_o,
  output logic                                                      event_o,  // some issue or end
  output logic                                                      quiet_o,  // nothing in progress
  output fabric_pkg::fault_t [tegula_pkg::Endpoints-1:0]            fault_o,
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
  logic [31:0] config_words_q;
  logic [63:0] config_cycles_q;
  logic config_plane_q;
  fabric_pkg::word_t [1:0] word_q;
  logic [1:0][tegula_pkg::FlitBits-1:0] word_data_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      start_q <= 1'b0;
      word_q <= '0;
    end else begin
      start_q <= start_i;
      word_q <= word_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) config_words_q <= config_words_i;
    if (start_i) config_cycles_q <= config_cycles_i;
    if (start_i) config_plane_q <= config_plane_i;
    for (int i = 0; i < 2; i++) if (word_i[i].valid) word_data_q[i] <= word_data_i[i];
  end

  fabric_pkg::status_t [tegula_pkg::Endpoints-1:0] status;
  logic west_idle, north_idle, load, reset;
  section_control #(
    .Distance(Distance)
  ) u_control (
    .clk_i, .rst_ni,
    .start_i        (start_q),
    .config_words_i (config_words_q),
    .config_cycles_i(config_cycles_q),
    .idle_i         (west_idle && north_idle),
    .load_o         (load),
    .reset_o        (reset),
    .room_o         (section_o.room),
    .run_o          (section_o.run),
    .done_o         (section_o.done),
    .cycle_o        (section_o.cycle)
  );

  // The tree: what is at each stop. A word goes along the rows that it names.
  fabric_pkg::order_t [1:0] order;
  fabric_pkg::order_t [Rows-1:0] west_order, row_order;
  fabric_pkg::order_t [Cols-1:0] north_order;
  fabric_pkg::order_t [Rows-1:0][Cols-1:0] tile_order;
  logic [Rows-1:0][FlitBits-1:0] west_data;
  logic [Cols-1:0][FlitBits-1:0] north_data;
  logic [Rows-1:0][Cols-1:0][FlitBits-1:0] tile_data;
  logic [Rows-1:0] west_stop_idle, row_idle;
  logic [Cols-1:0] north_stop_idle;
  logic [Rows-1:0][Cols-1:0] tile_idle;
  for (genvar i = 0; i < 2; i++) begin : gen_order
    assign order[i] = {reset, config_plane_q, section_o.run, word_q[i]};
  end
  control_line #(.N(Rows)) u_west (
    .clk_i, .rst_ni,
    .order_i(order[0]),
    .data_i (word_data_q[0]),
    .order_o(west_order),
    .data_o (west_data),
    .idle_i (west_stop_idle & row_idle),
    .idle_o (west_idle)
  );
  control_line #(.N(Cols)) u_north (
    .clk_i, .rst_ni,
    .order_i(order[1]),
    .data_i (word_data_q[1]),
    .order_o(north_order),
    .data_o (north_data),
    .idle_i (north_stop_idle),
    .idle_o (north_idle)
  );
  for (genvar r = 0; r < Rows; r++) begin : gen_control
    always_comb begin
      row_order[r] = west_order[r];
      row_order[r].word.valid = west_order[r].word.valid && west_order[r].word.rows[r];
    end
    control_line #(.N(Cols)) u_row (
      .clk_i, .rst_ni,
      .order_i(row_order[r]),
      .data_i (west_data[r]),
      .order_o(tile_order[r]),
      .data_o (tile_data[r]),
      .idle_i (tile_idle[r]),
      .idle_o (row_idle[r])
    );
  end

  logic [Rows-1:0] row_busy;
  logic [Cols-1:0] col_busy;
  logic busy;
  always_comb begin
    event_o = 1'b0;
    for (int u = 0; u < tegula_pkg::Units; u++) begin
      event_o |= trace_o[u].issue || trace_o[u].ends || trace_o[u].store_ends;
    end
    busy = 1'b0;
    for (int e = 0; e < tegula_pkg::Endpoints; e++) busy |= status[e].busy;
  end
  assign quiet_o = !event_o && !busy && row_busy == '0 && col_busy == '0;
  for (genvar e = 0; e < tegula_pkg::Endpoints; e++) begin : gen_fault
    assign fault_o[e] = status[e].fault;
  end

  // Lanes and post lanes, by row (east, west) and by column (south, north). Position 0 is the AGCU.
  logic [Rows-1:0][RowN-1:0] row_start;
  fabric_pkg::lane_out_t [Rows-1:0][1:0][RowN-1:0] row_out;
  fabric_pkg::lane_in_t [Rows-1:0][1:0][RowN-1:0] row_in;
  logic [Rows-1:0][1:0][RowN-1:0][FlitBits-1:0] row_out_data, row_in_data;
  fabric_pkg::post_out_t [Rows-1:0][1:0][RowN-1:0] row_post_out;
  fabric_pkg::post_in_t [Rows-1:0][1:0][RowN-1:0] row_post_in;

  logic [Cols-1:0][ColN-1:0] col_start;
  fabric_pkg::lane_out_t [Cols-1:0][1:0][ColN-1:0] col_out;
  fabric_pkg::lane_in_t [Cols-1:0][1:0][ColN-1:0] col_in;
  logic [Cols-1:0][1:0][ColN-1:0][FlitBits-1:0] col_out_data, col_in_data;
  fabric_pkg::post_out_t [Cols-1:0][1:0][ColN-1:0] col_post_out;
  fabric_pkg::post_in_t [Cols-1:0][1:0][ColN-1:0] col_post_in;

  for (genvar r = 0; r < Rows; r++) begin : gen_row
    fabric_line #(.N(RowN)) u_line (
      .clk_i, .rst_ni,
      .start_i(row_start[r]),
      .defect_i,
      .lane_i (row_out[r]),
      .data_i (row_out_data[r]),
      .lane_o (row_in[r]),
      .data_o (row_in_data[r]),
      .post_i (row_post_out[r]),
      .post_o (row_post_in[r]),
      .busy_o (row_busy[r])
    );
  end
  for (genvar c = 0; c < Cols; c++) begin : gen_col
    fabric_line #(.N(ColN)) u_line (
      .clk_i, .rst_ni,
      .start_i(col_start[c]),
      .defect_i,
      .lane_i (col_out[c]),
      .data_i (col_out_data[c]),
      .lane_o (col_in[c]),
      .data_o (col_in_data[c]),
      .post_i (col_post_out[c]),
      .post_o (col_post_in[c]),
      .busy_o (col_busy[c])
    );
  end

  // Tile (r, c) is position c+1 of its row and r+1 of its column.
  for (genvar r = 0; r < Rows; r++) begin : gen_tile_row
    for (genvar c = 0; c < Cols; c++) begin : gen_tile
      localparam int unsigned Id = r * Cols + c;
      localparam int unsigned X = c + 1;
      localparam int unsigned Y = r + 1;
      fabric_pkg::control_t here;
      logic [FlitBits-1:0] cfg_data;
      logic start;
      control_stop #(
        .Row     (r),
        .Position(X),
        .Slack   (Distance - X - Y)
      ) u_stop (
        .clk_i, .rst_ni,
        .order_i  (tile_order[r][c]),
        .data_i   (tile_data[r][c]),
        .control_o(here),
        .data_o   (cfg_data),
        .idle_i   (status[Id].finished && !status[Id].busy),
        .idle_o   (tile_idle[r][c])
      );
      assign start = here.start;
      assign row_start[r][X] = start;
      assign col_start[c][Y] = start;

      logic [FlitBits-1:0] data;
      fabric_pkg::lane_out_t [3:0] lane_out;
      fabric_pkg::post_out_t [3:0] post_out;
      `TEGULA_TILE u_tile (
        .clk_i, .rst_ni, .defect_i,
        .row_pos_i (5'(X)),
        .col_pos_i (5'(Y)),
        .control_i (here),
        .cfg_data_i(cfg_data),
        .lane_o    (lane_out),
        .data_o    (data),
        .lane_i    ({col_in[c][1][Y], col_in[c][0][Y], row_in[r][1][X], row_in[r][0][X]}),
        .data_i    ({col_in_data[c][1][Y], col_in_data[c][0][Y],
                     row_in_data[r][1][X], row_in_data[r][0][X]}),
        .post_o    (post_out),
        .post_i    ({col_post_in[c][1][Y], col_post_in[c][0][Y],
                     row_post_in[r][1][X], row_post_in[r][0][X]}),
        .trace_o   (trace_o[3*Id+:3]),
        .nonzero_o (nonzero_o[Id]),
        .status_o  (status[Id])
      );
      for (genvar d = 0; d < 2; d++) begin : gen_out
        assign row_out[r][d][X] = lane_out[d];
        assign row_out_data[r][d][X] = data;
        assign row_post_out[r][d][X] = post_out[d];
        assign col_out[c][d][Y] = lane_out[2+d];
        assign col_out_data[c][d][Y] = data;
        assign col_post_out[c][d][Y] = post_out[2+d];
      end
    end
  end

  // AGCUs are position 0: west ones send east and take what comes west, north ones south and north.
  for (genvar a = 0; a < tegula_pkg::Agcus; a++) begin : gen_agcu
    localparam bit West = a < Rows;
    localparam int unsigned Line = West ? a : a - Rows;
    localparam int unsigned Id = Tiles + a;
    localparam int unsigned Unit = 3 * Tiles + a * Contexts;
    fabric_pkg::order_t stop;
    fabric_pkg::control_t here;
    logic [FlitBits-1:0] stop_data, cfg_data;
    logic start, idle;
    control_stop #(
      .Row     (West ? Line : 16),
      .Position(West ? 0 : Line + 1),
      .Slack   (Distance - Line - 1)
    ) u_stop (
      .clk_i, .rst_ni,
      .order_i  (stop),
      .data_i   (stop_data),
      .control_o(here),
      .data_o   (cfg_data),
      .idle_i   (status[Id].finished && !status[Id].busy),
      .idle_o   (idle)
    );
    assign start = here.start;
    logic [FlitBits-1:0] data, data_in;
    fabric_pkg::lane_out_t lane_out;
    fabric_pkg::lane_in_t lane_in;
    fabric_pkg::post_out_t [1:0] post_out;
    fabric_pkg::post_out_t unused_post_out;  // the other direction
    fabric_pkg::post_in_t post_in;
    `TEGULA_AGCU u_agcu (
      .clk_i, .rst_ni, .defect_i,
      .control_i   (here),
      .cfg_data_i  (cfg_data),
      .lane_o      (lane_out),
      .data_o      (data),
      .lane_i      (lane_in),
      .data_i      (data_in),
      .post_o      (post_out),
      .post_i      (post_in),
      .memory_o    (memory_o[a]),
      .write_data_o(write_data_o[a]),
      .memory_i    (memory_i[a]),
      .read_data_i (read_data_i[a]),
      .trace_o     (trace_o[Unit+:Contexts]),
      .nonzero_o   (nonzero_o[Id]),
      .status_o    (status[Id])
    );

    // What leaves on the first lane of the line is granted there; what comes is on the second.
    if (West) begin : gen_west
      assign stop = west_order[Line];
      assign stop_data = west_data[Line];
      assign west_stop_idle[Line] = idle;
      assign row_start[Line][0] = start;
      assign row_out[Line][0][0] = lane_out;
      assign row_out[Line][1][0] = '0;
      assign row_out_data[Line][0][0] = data;
      assign row_out_data[Line][1][0] = '0;
      assign row_post_out[Line][0][0] = post_out[0];
      assign unused_post_out = post_out[1];
      assign row_post_out[Line][1][0] = '0;
      assign lane_in = {row_in[Line][0][0].grant, row_in[Line][1][0].arrive,
                        row_in[Line][1][0].side};
      assign data_in = row_in_data[Line][1][0];
      assign post_in = row_post_in[Line][1][0];
    end else begin : gen_north
      assign stop = north_order[Line];
      assign stop_data = north_data[Line];
      assign north_stop_idle[Line] = idle;
      assign col_start[Line][0] = start;
      assign col_out[Line][0][0] = lane_out;
      assign col_out[Line][1][0] = '0;
      assign col_out_data[Line][0][0] = data;
      assign col_out_data[Line][1][0] = '0;
      assign col_post_out[Line][0][0] = post_out[1];
      assign unused_post_out = post_out[0];
      assign col_post_out[Line][1][0] = '0;
      assign lane_in = {col_in[Line][0][0].grant, col_in[Line][1][0].arrive,
                        col_in[Line][1][0].side};
      assign data_in = col_in_data[Line][1][0];
      assign post_in = col_post_in[Line][1][0];
    end
  end

  `ASSERT(ConfiguredFirst, !(word_q[0].valid || word_q[1].valid) || load)
endmodule
