// Types of the fabric between the units: posts, sidebands of flits, pieces of bursts, faults. Sizes
// come from tegula_pkg.
package fabric_pkg;
`ifdef TEGULA_FAULTS
  // Test builds have the deliberate defects that defect_i selects.
  localparam bit Defects = 1'b1;
`else
  localparam bit Defects = 1'b0;
`endif

  // The four posts of an instruction, as its last common fields lay them out.
  typedef struct packed {
    logic [3:0][9:0] sem;
    logic [3:0][4:0] pos;
    logic [3:0][1:0] kind;
  } posts_t;
  localparam int unsigned PostsBits = 68;

  // One of them on its way: a semaphore of the endpoint at a position of the row or column.
  typedef struct packed {
    logic [4:0] pos;
    logic [9:0] sem;
  } post_t;
  localparam int unsigned PostBits = 15;

  // What travels beside a flit: nothing about it is remembered at the destination. The flit's data
  // are signals of their own: apart, they stay aligned to words where they are simulated.
  typedef struct packed {
    logic        valid;
    logic        post;  // last flit: increment `sem` at each destination
    logic [9:0]  sem;
    logic [15:0] row;   // row written at each destination
    logic [16:0] mask;  // destination positions
  } side_t;
  localparam int unsigned SideBits = 45;

  // What an endpoint asks of the arbiter of a lane.
  typedef struct packed {
    logic [4:0] farthest;  // destination
    logic [6:0] len;       // flits of the burst
  } lane_request_t;
  localparam int unsigned RequestBits = 12;

  // What an endpoint says to a lane; the data of the flit go beside it.
  typedef struct packed {
    logic          req;
    lane_request_t request;
    logic          send;  // a flit leaves in this cycle
    side_t         side;
  } lane_out_t;

  // What it hears from it, with the data beside.
  typedef struct packed {
    logic  grant;
    logic  arrive;  // a flit for it is here
    side_t side;
  } lane_in_t;

  // What an endpoint says to a post lane, and what it hears.
  typedef struct packed {
    logic  send;
    post_t post;
  } post_out_t;
  typedef struct packed {
    logic       free;    // it may send
    logic       arrive;  // a post for it is here
    logic [9:0] sem;
  } post_in_t;

  // A word of the configuration on its way; its data, a flit, go beside it. Those take it whose row
  // and position are in the masks; row 16 is that of the north AGCUs.
  typedef struct packed {
    logic        valid;
    logic [16:0] rows;
    logic [16:0] positions;
    logic        by_row;   // scattered along the rows
    logic        scatter;  // each column, or row, has a lane of 4 bytes of it
    logic        clear;    // the other lanes of the instruction become 0
    logic [2:0]  kind;
    logic [2:0]  unit;     // mx, vx, tx, or the context
    logic [7:0]  slot;
    logic [10:0] lane;     // where it goes, in lanes of 4 bytes
  } word_t;

  // The word as its taker writes it: `part` counts flits.
  typedef struct packed {
    logic                      valid;
    logic [2:0]                kind;
    logic [2:0]                unit;
    logic [7:0]                slot;
    logic                      clear;
    logic [10:0]               part;
    logic [tegula_pkg::P-1:0]  enable;  // lanes of 4 bytes
  } cfg_t;

  // What the section control says, on its way and at an endpoint. Of a section that takes at most
  // half of each memory of the configuration, `plane` says which half, from its start on: words of
  // the next one may go to the other.
  typedef struct packed {
    logic  start;  // a section begins: everything is reset
    logic  plane;  // ... with this plane
    logic  run;    // its configuration is done
    word_t word;
  } order_t;
  typedef struct packed {
    logic start;
    logic run;
    logic plane;
    cfg_t cfg;
  } control_t;

  // How the section control is.
  typedef struct packed {
    logic        run;    // units may issue, when it has reached them
    logic        room;   // words of the next section may leave in the next cycle
    logic        done;   // no section runs: one may be started
    logic [63:0] cycle;
  } section_t;

  // What a unit or a context does in a cycle.
  typedef struct packed {
    logic       issue;
    logic [7:0] pc;
    logic       ends;        // the oldest instruction in flight, STOREs left out
    logic       store_ends;
  } trace_t;

  // A fault of the program, as an endpoint reports it.
  typedef struct packed {
    logic       valid;
    logic [2:0] code;
    logic [9:0] where;  // bank, or semaphore, or half
    logic [8:0] ports;  // of the scratchpad
  } fault_t;

  // How an endpoint is.
  typedef struct packed {
    logic   finished;  // all instructions are issued
    logic   busy;      // an instruction is in progress
    fault_t fault;
  } status_t;

  // A place of a walk, or a step from one to another: the address, and two coordinates whose bounds
  // say which elements are valid. Digits below their radices, of 24 bits, leave coordinates in
  // range. Where there are several of them they are vectors.
  typedef struct packed {
    logic [43:0] y;  // signed, as x
    logic [51:0] x;
    logic [63:0] address;
  } place_t;
  localparam int unsigned PlaceBits = 160;

  function automatic logic [PlaceBits-1:0] moved(input logic [PlaceBits-1:0] place,
                                                 input logic [PlaceBits-1:0] step);
    moved = {place[159:116] + step[159:116], place[115:64] + step[115:64],
             place[63:0] + step[63:0]};
  endfunction
  // The step along a digit with these increments.
  function automatic logic [PlaceBits-1:0] step_of(input logic [39:0] stride,
                                                   input logic [23:0] x_inc,
                                                   input logic [15:0] y_inc);
    step_of = {{28{y_inc[15]}}, y_inc, {28{x_inc[23]}}, x_inc, {24{stride[39]}}, stride};
  endfunction

  // What a LOAD or STORE in progress needs of its instruction and loop indices. The rows of a STORE
  // are one run: its dst_inner and dst_stride are 0.
  typedef struct packed {
    posts_t           posts;
    logic [9:0]       dst_sem;
    logic             dst_post;
    logic [16:0]      dst_mask;
    logic [15:0]      dst_stride;
    logic [15:0]      dst_inner;
    logic [15:0]      index;    // first index, a word of the store memory
    logic [24:0]      index_size;    // rows of the table, 0: there are no indices
    logic [39:0]      index_stride;  // bytes from one row of the table to the next
    logic [2:0][31:0] k_start;  // digits k2 k1 e at the beginning of each row
    logic [2:0][159:0] k_place; // ... and their places
    logic [31:0]      fill;
    logic [31:0]      x_size;
    logic [31:0]      y_size;
    logic [5:0][23:0] x_inc;
    logic [5:0][15:0] y_inc;
    logic [5:0][39:0] stride;
    logic [2:0][23:0] k_radix;
    logic [2:0][23:0] m_radix;
    logic [19:0]      take;
    logic [2:0]       convert;
    logic             single;   // pieces of one element
    logic             store;
  } job_t;

  // What an index says.
  typedef struct packed {
    logic        valid;   // it names a row of the table
    logic [63:0] offset;  // of the row, bytes
  } chosen_t;

  // A linear index taken apart by two radices: m2 m1 m0 or k2 k1 e.
  typedef struct packed {
    logic [31:0] outer;  // what is left
    logic [23:0] middle;
    logic [23:0] inner;
  } digits_t;
  localparam int unsigned DigitsBits = 80;

  // Where the walk of a job stands.
  typedef struct packed {
    logic [15:0]      row;      // of the instruction
    logic [15:0]      run_row;  // of the flit: first row of its run of consecutive rows ...
    logic [15:0]      run_pos;  // ... and its row in it
    logic [6:0]       lane;   // element of the flit
    logic [19:0]      taken;  // elements of the row
    logic [5:0][31:0] digit;  // m2 m1 m0 k2 k1 e
    // Of each digit the place where the digits of its walk within it are 0. Places of the row walk
    // have the base and the origin, those of the K walk count from 0: the element is at the sum of
    // m0's and e's.
    logic [5:0][159:0] place;
  } walk_t;

  // The piece at which a walk stands: its elements, and what it ends.
  typedef struct packed {
    logic [6:0] length;
    logic       run_end;
    logic       row_end;
    logic       flit_end;
  } span_t;

  // The 64 bytes that a port asked for last in a burst, if it did.
  typedef struct packed {
    logic        valid;
    logic [63:0] limit;  // the address behind them
  } atom_t;

  // What a piece asks of the memory: `count` elements from `address` on, the first of which is
  // element `first` of the piece.
  typedef struct packed {
    logic        valid;
    logic [63:0] address;
    logic        wide;   // elements of 4 bytes in the memory, else 2
    logic [6:0]  first;
    logic [6:0]  count;
    logic [7:0]  atoms;  // that the piece is the first to ask for
  } memory_request_t;

  // What the time of a memory device needs to know where rows have indices, as it does not depend
  // on these (docs/machine.md, section 8): nothing that the chip needs.
  typedef struct packed {
    logic [6:0]       count;   // valid elements, whatever the index says
    logic [63:0]      offset;  // bytes that the index adds to the address
    logic [2:0][31:0] digit;   // of the row walk, and two of its radices: its linear index
    logic [1:0][23:0] radix;
    logic [24:0]      size;    // rows of the table, 0: there are no indices
    logic [39:0]      stride;  // bytes from one to the next
  } timed_t;

  // What an AGCU says to the memory in a cycle, and what it hears; the data go beside. The pieces
  // of a STORE are announced as they are walked (store, with the fields of read), and written a
  // cycle later.
  typedef struct packed {
    logic            first;  // the piece is its burst's first
    logic            store;
    timed_t        timed;  // of `read`
    memory_request_t read;
    memory_request_t write;
  } memory_out_t;
  typedef struct packed {
    logic ready;  // it takes a piece in this cycle
    logic valid;  // what a LOAD asked for is here, in order
  } memory_in_t;

  // What becomes of a piece: elements [first, first+count) of `length` come from the memory, the
  // others are `fill`.
  typedef struct packed {
    logic [31:0] fill;
    logic [6:0]  length;
    logic [6:0]  count;
    logic [6:0]  first;
    logic        burst_last;
    logic        flit_last;
    logic [6:0]  lane;  // element of the flit where it begins
    logic [2:0]  convert;
  } piece_t;

  // Where the flits of a burst go.
  typedef struct packed {
    logic [15:0] run_row;  // first row of the run of consecutive rows at the destinations
    logic [15:0] run_pos;  // rows of that run already written
    logic [15:0] inner;    // rows of a run
    logic [15:0] stride;   // from one run to the next
    logic [16:0] mask;     // destination positions
    logic        post;     // the last flit increments `sem` at each destination
    logic [9:0]  sem;
  } route_t;

  // A loaded burst waiting for its lane.
  typedef struct packed {
    posts_t     posts;
    logic       last;  // of its LOAD
    logic [2:0] context_id;
    logic [6:0] flits;
    route_t     route;
  } burst_t;

  // The next burst of a context.
  typedef struct packed {
    job_t       job;
    walk_t      walk;
    span_t      span;   // its first piece
    logic [6:0] flits;
    logic       last;
  } offer_t;

  // What the port says of the context that it serves, and of one whose STORE it has written.
  typedef struct packed {
    logic [2:0] context_id;
    logic       walked;  // a burst that was not the last, to where its walk stands
    walk_t      walk;
    logic       store_end;
    logic [2:0] store_context;
  } served_t;

  // The end of a LOAD.
  typedef struct packed {
    logic       valid;
    logic [2:0] context_id;
    posts_t     posts;
  } job_end_t;

  // The banks of an operand: `count` from the one of its first row on.
  localparam int unsigned BankShift = $clog2(tegula_pkg::BankRows);
  function automatic logic [tegula_pkg::Banks-1:0] banks_of(input logic [15:0] row,
                                                            input logic [5:0] count);
    logic [tegula_pkg::Banks-1:0] mask;
    for (int unsigned b = 0; b < tegula_pkg::Banks; b++) begin
      mask[b] = b >= (32'(row) >> BankShift) && b < (32'(row) >> BankShift) + 32'(count);
    end
    banks_of = mask;
  endfunction

  // Flits of a row of `take` elements.
  function automatic logic [31:0] row_flits(input logic [19:0] take, input logic [2:0] convert);
    row_flits =
        wide_chip(convert)
            ? ({12'd0, take} + 32'(tegula_pkg::P - 1)) >> $clog2(tegula_pkg::P)
            : ({12'd0, take} + 32'(2 * tegula_pkg::P - 1)) >> $clog2(2 * tegula_pkg::P);
  endfunction

  // Are the elements of a job 32 bits long in the memory, and in a flit?
  function automatic logic wide_memory(input logic [2:0] convert);
    wide_memory = 1'(tegula_pkg::CvtWideMemory >> convert);
  endfunction
  function automatic logic wide_chip(input logic [2:0] convert);
    wide_chip = 1'(tegula_pkg::CvtWideChip >> convert);
  endfunction
endpackage
