`include "assert.svh"

// Indices of a burst's rows: fetched from the store memory, flit by flit, before the burst's first
// piece, and handed out row by row, as what they add to the rows' addresses.
//
// An index is an FP32 word, cut to an integer. It names one of `size` rows, a negative one counted
// from the end of the table; any other names no row. One multiplier makes the offset of a row while
// the row before it is walked.
module agcu_index (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // A burst is granted whose rows have indices, from word `first` of the store memory on: so many
  // flits, of which `left` belong to the first row, and `row` to each of the others
  input  logic                            begin_i,
  input  logic [15:0]                     first_i,
  input  logic [6:0]                      flits_i,
  input  logic [31:0]                     left_i,
  input  logic [31:0]                     row_i,
  input  logic [24:0]                     size_i,
  input  logic [39:0]                     stride_i,
  // Store memory: a row is read in a cycle and there in the next
  output logic                            read_o,
  output logic [15:0]                     row_o,
  input  logic [tegula_pkg::FlitBits-1:0] flit_i,
  output logic                            done_o,  // the first piece may be walked next cycle
  // The row that is walked, the first one at first; it ends with this cycle
  input  logic                            next_i,
  output fabric_pkg::chosen_t             chosen_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned WordW = $clog2(P);
  // Of P rows each, from anywhere in the first flit on.
  localparam int unsigned Flits = (tegula_pkg::BurstFlits + P - 2) / P + 1;
  localparam int unsigned FlitW = Flits > 1 ? $clog2(Flits) : 1;

  // The row that a word chooses.
  typedef struct packed {
    logic        valid;
    logic [24:0] row;
  } row_t;
  function automatic row_t choose(input logic [31:0] word, input logic [24:0] size);
    logic [24:0] magnitude;
    logic        fits;  // enough for 25 bits
    magnitude = '0;
    fits = word[30:23] <= 8'd151;
    if (word[30:23] >= 8'd127 && fits) begin
      magnitude = {1'b1, word[22:0], 1'b0} >> (8'd151 - word[30:23]);
    end
    choose.row = word[31] && magnitude != '0 ? size - magnitude : magnitude;
    choose.valid = fits && (word[31] && magnitude != '0 ? magnitude <= size : magnitude < size);
  endfunction

  // Flits are asked for, next_q the next one, until their indices cover all flits of the burst;
  // what was asked for in the cycle before comes now.
  logic asking_q, coming_q, there_q;
  logic [15:0] next_q, first_q, first_row, word_q;
  logic [6:0] flits_q;
  logic [31:0] covered, covered_q, each_q;  // flits of the burst; so many more with each of indices
  logic [WordW-1:0] behind;                 // indices behind the first one in its flit
  logic [24:0] size_q;
  logic [39:0] stride_q;
  logic [FlitW-1:0] slot_q;
  row_t [P-1:0] chosen_q [Flits];
  row_t [P-1:0] chosen;
  row_t following;  // of the row whose offset is made

  assign first_row = first_i >> WordW;
  assign behind = ~first_i[WordW-1:0];
  assign read_o = begin_i || asking_q;
  assign row_o = begin_i ? first_row : next_q;
  assign done_o = there_q;

  always_comb begin
    covered = '0;
    if (begin_i) covered = left_i + row_i * {{32 - WordW{1'b0}}, behind};
    else if (asking_q) covered = covered_q + each_q;
  end

  always_comb begin
    chosen = '0;
    if (coming_q) for (int w = 0; w < P; w++) chosen[w] = choose(flit_i[w*32+:32], size_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asking_q <= 1'b0;
      coming_q <= 1'b0;
      there_q <= 1'b0;
    end else if (start_i) begin
      asking_q <= 1'b0;
      coming_q <= 1'b0;
      there_q <= 1'b0;
    end else begin
      there_q <= coming_q && !asking_q;
      asking_q <= read_o && covered < {25'd0, begin_i ? flits_i : flits_q};
      coming_q <= read_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begin_i) begin
      first_q <= first_row;
      next_q <= first_row + 16'd1;
      flits_q <= flits_i;
      each_q <= row_i << WordW;
      size_q <= size_i;
      stride_q <= stride_i;
      word_q <= first_i;
      slot_q <= '0;
    end else begin
      if (asking_q) next_q <= next_q + 16'd1;
      if (coming_q) slot_q <= slot_q + 1'b1;
      if (there_q || next_i) word_q <= word_q + 16'd1;
    end
    if (read_o) covered_q <= covered;
    if (coming_q) chosen_q[slot_q] <= chosen;
  end

  logic [FlitW-1:0] flit;
  assign flit = FlitW'((word_q >> WordW) - first_q);
  assign following = chosen_q[flit][word_q[WordW-1:0]];
  always_ff @(posedge clk_i) begin
    if (there_q || next_i) begin
      chosen_o.valid <= following.valid;
      chosen_o.offset <= {39'd0, following.row} * {{24{stride_q[39]}}, stride_q};
    end
  end

  `ASSERT(BeginsWhenDone, !begin_i || start_i || (!asking_q && !coming_q && !there_q))
  `ASSERT(FitsItsFlits, !coming_q || 32'(slot_q) < Flits)
  `ASSERT(RowInTable, !coming_q || !chosen[0].valid || chosen[0].row < size_q)
endmodule
