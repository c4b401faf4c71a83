// Types of the fabric between the units: posts, flits' sidebands, faults. Sizes come from tegula_pkg.
package fabric_pkg;
`ifdef TEGULA_FAULTS
  localparam bit FAULTS = 1'b1; // test builds: the deliberate defects that fault_i selects
`else
  localparam bit FAULTS = 1'b0;
`endif
  localparam logic [7:0] FAULT_LATE_BURST = 8'd2;
  localparam logic [7:0] FAULT_LOST_POST = 8'd3;
  localparam logic [7:0] FAULT_IGNORED_WAIT = 8'd4;
  localparam logic [7:0] FAULT_SHORT_RESERVATION = 8'd5;

  // Program faults, as reported at the chip's top.
  localparam logic [2:0] FAULT_BANK = 3'd1;      // two ports own a bank
  localparam logic [2:0] FAULT_ACC = 3'd2;       // mx and vx own an accumulator half
  localparam logic [2:0] FAULT_SEMAPHORE = 3'd3; // a counter above 255
  localparam logic [2:0] FAULT_ADDRESS = 3'd4;   // a row outside the scratchpad or the store memory

  localparam logic [1:0] POST_LOCAL = 2'd1;
  localparam logic [1:0] POST_ROW = 2'd2;
  localparam logic [1:0] POST_COL = 2'd3;

  // The four posts of an instruction, as its last common fields lay them out.
  typedef struct packed {
    logic [3:0][9:0] sem;
    logic [3:0][4:0] pos;
    logic [3:0][1:0] kind;
  } posts_t;
  localparam int unsigned POSTS_BITS = 68;

  // Instructions that may end (post) in one cycle: mx SYNC, mx GEMM, vx, tx; or each context and a LOAD.
  localparam int unsigned TILE_GROUPS = 4;
  localparam int unsigned AGCU_GROUPS = tegula_pkg::AGCU_CONTEXTS + 1;
  localparam int unsigned GROUPS = AGCU_GROUPS > TILE_GROUPS ? AGCU_GROUPS : TILE_GROUPS;
  localparam int unsigned BUNDLE_BITS = GROUPS * POSTS_BITS; // what a post link carries

  // What travels beside a flit: nothing about it is remembered at the destination.
  typedef struct packed {
    logic valid;
    logic post;        // last flit: increment `sem` at each destination
    logic [9:0] sem;
    logic [15:0] row;  // row written at each destination
    logic [16:0] mask; // destination positions
  } side_t;
  localparam int unsigned SIDE_BITS = 45;

  localparam int unsigned CFG_BITS = tegula_pkg::INSTR_BITS; // the configuration port: an instruction at once
  localparam logic [2:0] CFG_INSTR = 3'd0;
  localparam logic [2:0] CFG_LENGTH = 3'd1;
  localparam logic [2:0] CFG_SEMAPHORES = 3'd2;
  localparam logic [2:0] CFG_BASES = 3'd3;
  localparam logic [2:0] CFG_KEYS = 3'd4;
  localparam logic [2:0] CFG_WORD = 3'd5;
  localparam logic [2:0] CFG_CONSTANT = 3'd6;

  // What a LOAD or STORE in progress needs of its instruction and loop indices.
  typedef struct packed {
    posts_t posts;
    logic [9:0] dst_sem;
    logic dst_post;
    logic [16:0] dst_mask;
    logic [15:0] dst_stride;
    logic [15:0] dst_inner;
    logic [15:0] row; // first row of the store memory, or at the destinations
    logic [2:0][31:0] k_start; // digits k2 k1 e at the beginning of each row
    logic [31:0] fill;
    logic [31:0] x_size;
    logic [31:0] y_size;
    logic [31:0] x_org;
    logic [31:0] y_org;
    logic [5:0][23:0] x_inc;
    logic [5:0][15:0] y_inc;
    logic [5:0][39:0] stride;
    logic [63:0] base;
    logic [2:0][23:0] k_radix;
    logic [2:0][23:0] m_radix;
    logic [19:0] take;
    logic [2:0] convert;
    logic single; // pieces of one element
    logic store;
  } job_t;

  // Where the walk of a job stands.
  typedef struct packed {
    logic [31:0] flit;       // of the instruction
    logic [6:0] lane;        // element of the flit
    logic [19:0] taken;      // elements of the row
    logic [5:0][31:0] digit; // m2 m1 m0 k2 k1 e
  } walk_t;

  // A piece on its way to the memory.
  typedef struct packed {
    logic [31:0] fill;
    logic [6:0] length; // elements; of these [first, first+count) come from the memory, the others are `fill`
    logic [6:0] count;
    logic [6:0] first;
    logic burst_last;
    logic flit_last;
    logic [6:0] lane; // element of the flit where it begins
    logic [2:0] convert;
  } piece_t;
  localparam int unsigned PIECE_BITS = 65;

  // A loaded burst waiting for its lane.
  typedef struct packed {
    posts_t posts;
    logic last; // of its LOAD
    logic [2:0] context_id;
    logic [6:0] flits;
    logic [9:0] dst_sem;
    logic dst_post;
    logic [16:0] dst_mask;
    logic [15:0] dst_stride;
    logic [15:0] dst_inner;
    logic [15:0] run_row; // first row of the run of consecutive rows
    logic [15:0] run_pos; // rows of that run already written
  } burst_t;

  // Conversions of a job: are its elements 32 bits long in the memory, and in a flit?
  function automatic logic wide_memory(input logic [2:0] convert);
    wide_memory = convert != 3'd1 && convert != 3'd4 && convert != 3'd5;
  endfunction
  function automatic logic wide_chip(input logic [2:0] convert);
    wide_chip = convert != 3'd1 && convert != 3'd2 && convert != 3'd3;
  endfunction
endpackage
