`include "assert.svh"

// Where a walk starts: the digits of first + sum over l of i[l] * delta[l], by increments in place
// of divisions.
//
// Each queue slot has three places, that of level l with the indices of the levels within l at 0.
// Loops nest, so that from one execution of a slot to its next one a level goes on by one, and
// those within it begin again: that level's place goes on by its delta, digit by digit, and the
// places within are the same. Which level it was the indices tell: the innermost that is not 0.
module agcu_start #(
  localparam int unsigned SlotW = $clog2(tegula_pkg::QueueDepth)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,   // a section begins
  input  logic [SlotW-1:0]                    slot_i,    // of the instruction at pc
  input  logic [2:0][19:0]                    idx_i,
  input  logic [4*fabric_pkg::DigitsBits-1:0] steps_i,   // first, then delta[0..2]
  input  logic [23:0]                         middle_i,  // radices
  input  logic [23:0]                         inner_i,
  input  logic                                issue_i,
  output fabric_pkg::digits_t                 digits_o
);
  localparam int unsigned DigitsBits = fabric_pkg::DigitsBits;

  logic [3*DigitsBits-1:0] places_q [tegula_pkg::QueueDepth];
  logic [tegula_pkg::QueueDepth-1:0] used_q;  // executed since the section's start
  logic [3*DigitsBits-1:0] places, next;
  fabric_pkg::digits_t place, delta, sum;
  logic [24:0] inner, middle;
  logic inner_carry, middle_carry;

  assign places = places_q[slot_i];

  always_comb begin
    if (idx_i[2] != '0) begin
      place = places[2*DigitsBits+:DigitsBits];
      delta = steps_i[3*DigitsBits+:DigitsBits];
    end else if (idx_i[1] != '0) begin
      place = places[1*DigitsBits+:DigitsBits];
      delta = steps_i[2*DigitsBits+:DigitsBits];
    end else begin
      place = places[0*DigitsBits+:DigitsBits];
      delta = steps_i[1*DigitsBits+:DigitsBits];
    end
  end

  // A digit and its delta are below the radix, so a carry is at most one.
  assign inner = {1'b0, place.inner} + {1'b0, delta.inner};
  assign inner_carry = inner >= {1'b0, inner_i};
  assign middle = {1'b0, place.middle} + {1'b0, delta.middle} + {24'd0, inner_carry};
  assign middle_carry = middle >= {1'b0, middle_i};
  assign sum.inner = inner_carry ? 24'(inner - {1'b0, inner_i}) : inner[23:0];
  assign sum.middle = middle_carry ? 24'(middle - {1'b0, middle_i}) : middle[23:0];
  assign sum.outer = place.outer + delta.outer + {31'd0, middle_carry};

  assign digits_o = used_q[slot_i] ? sum : steps_i[0+:DigitsBits];
  always_comb begin
    next = {3{digits_o}};
    if (used_q[slot_i] && (idx_i[2] != '0 || idx_i[1] != '0)) begin
      next[0+:DigitsBits] = places[0+:DigitsBits];
      if (idx_i[2] != '0) next[DigitsBits+:DigitsBits] = places[DigitsBits+:DigitsBits];
    end
  end

  always_ff @(posedge clk_i) if (issue_i) places_q[slot_i] <= next;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else if (start_i) used_q <= '0;
    else if (issue_i) used_q[slot_i] <= 1'b1;
  end

  `ASSERT(BeginsWhereLoopsDo, !issue_i || start_i || used_q[slot_i] == (idx_i != '0))
  `ASSERT(DigitsBelowTheirRadices,
          !issue_i || start_i || (digits_o.inner < inner_i && digits_o.middle < middle_i))
endmodule
