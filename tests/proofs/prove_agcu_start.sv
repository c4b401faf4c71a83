// Where walks start: the digits of first + sum over l of i[l] * delta[l], added digit by digit with quotient and remainder, in every
// execution of a slot, whatever another slot executes in between. Each of two slots; indices of two bits that go on as loops do,
// radices of up to 7, outer digits of all bits.
// modules: agcu_start
// constants: QueueDepth=2
// initial: zero (a slot's places are read after its first execution)
// planted: agcu_start.sv: assign inner_carry = inner >= {1'b0, inner_i}; => assign inner_carry = inner > {1'b0, inner_i};
// planted: agcu_start.sv: + {24'd0, inner_carry}; => ;
// planted: agcu_start.sv: assign middle_carry = middle >= {1'b0, middle_i}; => assign middle_carry = middle[1:0] >= middle_i[1:0];
// planted: agcu_start.sv: delta = steps_i[2*DigitsBits+:DigitsBits]; => delta = steps_i[3*DigitsBits+:DigitsBits];
// planted: agcu_start.sv: place = places[1*DigitsBits+:DigitsBits]; => place = places[2*DigitsBits+:DigitsBits];
// planted: agcu_start.sv: if (idx_i[2] != '0) next[DigitsBits+:DigitsBits] = places[DigitsBits+:DigitsBits]; => ;
// planted: agcu_start.sv: && (idx_i[2] != '0 || idx_i[1] != '0)) begin => && idx_i[2] != '0) begin
// planted: agcu_start.sv: else if (start_i) used_q <= '0; => else if (start_i) used_q[0] <= 1'b0;
// planted: agcu_start.sv: places_q[slot_i] <= next; => places_q[0] <= next;
// planted: agcu_start.sv: 24'(inner - {1'b0, inner_i}) => 24'd0
module start_checks #(
  parameter bit Slot = 1'b0  // the one that is watched
) (
  input logic clk_i,
  input logic rst_ni,
  input logic start_i,
  input logic slot_i,
  input logic [5:0] idx_i,
  input logic issue_i,
  input logic [5:0] radices_i,
  input logic [151:0] steps_i,  // first and each delta: 32 bits outer, three middle, three inner
  input logic [31:0] other_i
);
  // Its radices and steps, chosen once.
  logic chosen_q;
  logic [5:0] radix_q, radix;
  logic [151:0] steps_q, steps;
  assign {radix, steps} = chosen_q ? {radix_q, steps_q} : {radices_i, steps_i};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chosen_q <= 1'b0;
    else chosen_q <= 1'b1;
  end
  always_ff @(posedge clk_i) {radix_q, steps_q} <= {radix, steps};
  logic [2:0] inner, middle;
  assign {inner, middle} = radix;
  logic mine, issue;
  assign mine = slot_i == Slot;
  assign issue = issue_i && rst_ni && !start_i;
  logic [319:0] full;
  always_comb begin
    assume (inner != 3'd0 && middle != 3'd0);
    for (int s = 0; s < 4; s++) begin
      assume (steps[s*38+:3] < inner && steps[s*38+3+:3] < middle);
      full[s*80+:80] = mine ? {steps[s*38+6+:32], 21'd0, steps[s*38+3+:3], 21'd0, steps[s*38+:3]} : {other_i, 48'd0};
    end
  end

  fabric_pkg::digits_t out;
  agcu_start u_start (
    .clk_i, .rst_ni, .start_i, .slot_i, .idx_i({18'd0, idx_i[5:4], 18'd0, idx_i[3:2], 18'd0, idx_i[1:0]}), .steps_i(full),
    .middle_i({21'd0, middle}), .inner_i({21'd0, inner}), .issue_i(issue), .digits_o(out)
  );

  // Loops nest: one level goes on by one, those within it begin again. Beside it, the digits of each level and those around it.
  logic used_q, other_q;
  logic [1:0] i0_q, i1_q, i2_q;
  logic [37:0] at0_q, at1_q, at2_q, from, step, expected;
  logic goes2, goes1, goes0;
  logic [3:0] low, mid;
  assign goes2 = i2_q != 2'd3 && idx_i == {2'(i2_q + 2'd1), i1_q, i0_q};
  assign goes1 = i1_q != 2'd3 && idx_i == {2'd0, 2'(i1_q + 2'd1), i0_q};
  assign goes0 = i0_q != 2'd3 && idx_i == {4'd0, 2'(i0_q + 2'd1)};
  always_comb begin
    from = goes2 ? at2_q : goes1 ? at1_q : at0_q;
    step = goes2 ? steps[114+:38] : goes1 ? steps[76+:38] : steps[38+:38];
    low = {1'b0, from[2:0]} + {1'b0, step[2:0]};
    mid = {1'b0, from[5:3]} + {1'b0, step[5:3]} + low / {1'b0, inner};
    expected[2:0] = 3'(low % {1'b0, inner});
    expected[5:3] = 3'(mid % {1'b0, middle});
    expected[37:6] = from[37:6] + step[37:6] + {28'd0, mid / {1'b0, middle}};
    if (!used_q) expected = steps[37:0];
    if (issue && mine) assume (used_q ? goes2 || goes1 || goes0 : idx_i == 6'd0);
    if (issue && !mine) assume (other_q == (idx_i != 6'd0));
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {used_q, other_q} <= '0;
    else if (start_i) {used_q, other_q} <= '0;
    else if (issue) {used_q, other_q} <= {used_q || mine, other_q || !mine};
  end
  always_ff @(posedge clk_i) begin
    if (issue && mine) begin
      {i2_q, i1_q, i0_q} <= idx_i;
      at2_q <= expected;
      if (!used_q || !goes2) at1_q <= expected;
      if (!used_q || (!goes2 && !goes1)) at0_q <= expected;
    end
    if (issue && mine) Digits : assert (out == {expected[37:6], 21'd0, expected[5:3], 21'd0, expected[2:0]});
  end
endmodule

module prove_agcu_start (
  input logic clk_i,
  input logic start_i,
  input logic slot_i,
  input logic [5:0] idx_i,
  input logic issue_i,
  input logic [5:0] radices_i,
  input logic [151:0] steps_i,
  input logic [31:0] other_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  start_checks #(.Slot(1'b0)) u_first (.clk_i, .rst_ni(rst_nq), .start_i, .slot_i, .idx_i, .issue_i, .radices_i, .steps_i, .other_i);
  start_checks #(.Slot(1'b1)) u_second (.clk_i, .rst_ni(rst_nq), .start_i, .slot_i, .idx_i, .issue_i, .radices_i, .steps_i, .other_i);
endmodule
