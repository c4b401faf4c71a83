// Types inside of the matrix unit (docs/machine.md, section 4).
package mx_pkg;
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned IndexW = $clog2(2 * P);
  localparam int unsigned RowW = $clog2(2 * tegula_pkg::AccRows);  // of both accumulator halves

  // What belongs to a block of an instruction.
  typedef struct packed {
    logic [15:0] a;         // rows where its operands begin
    logic [15:0] b;
    logic [15:0] c;
    logic        half;      // of the lanes, FP32
    logic [31:0] sr_col;    // relative to the instruction's
    logic [31:0] sr_tile;   // relative to the instruction's
    logic        sr_round;  // a K tile ends with what is multiplied
    logic [IndexW:0] from;  // stationary rows that are multiplied: from this one on,
    logic [IndexW:0] depth; // before this one
    logic        k_first;
    logic        first;
    logic        last;
  } block_t;

  // A stationary row whose data arrive now: number `index` of its block, of which rows from `from`
  // on before `depth` are multiplied.
  typedef struct packed {
    logic              valid;
    logic              weight_set;  // of the two of a PE
    logic              transposed;
    logic [IndexW-1:0] index;
    logic [IndexW:0]   from;
    logic [IndexW:0]   depth;
  } weights_t;

  // The accumulator row that column 0 reads now.
  typedef struct packed {
    logic            valid;
    logic            init;  // +0 instead
    logic            half;  // FP32: lanes P..2P-1
    logic [RowW-1:0] row;
  } acc_read_t;

  // A block whose results begin at column 0 two cycles later.
  typedef struct packed {
    logic        start;
    logic [25:0] rows;
    logic [15:0] row;
    logic        half;
    logic        last;   // of its instruction
    logic        round;
    logic        turned;  // rows are columns of the result
    logic [31:0] tile_key;
    logic [31:0] sr_row;
    logic [31:0] sr_skip;  // logical rows that are left out behind each inner row loop
    logic [12:0] inner;    // rows of it
    logic [31:0] sr_col;
  } block_write_t;

  // Cycles from the issue to the first streamed row: a bank row of each stationary row.
  function automatic logic [6:0] lead_of(input logic [1:0] format);
    unique case (format)
      tegula_pkg::FmtFp32: lead_of = 7'(P);
      tegula_pkg::FmtTf32: lead_of = 7'(4 * P);
      default: lead_of = 7'(2 * P);
    endcase
  endfunction
endpackage
