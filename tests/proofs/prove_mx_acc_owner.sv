// Halves of the accumulator: from its first row until it ends, an instruction owns its half; nothing else is owned. At most
// two are in flight, and the oldest ends first, as the matrix unit has it.
// modules: mx_acc_owner
// planted: mx_acc_owner.sv: half_old_q <= end_i ? (half_old_q != 2'b00 ? half_new_q : 2'b00) : half_new_q; => half_old_q <= end_i ? 2'b00 : half_new_q;
// planted: mx_acc_owner.sv: assign own_o = half_new | half_new_q | half_old_q; => assign own_o = half_new_q | half_old_q;
// planted: mx_acc_owner.sv: else half_new_q <= 2'b00; => else half_new_q <= half_new_q;
module prove_mx_acc_owner (
  input logic clk_i,
  input logic start_i,
  input logic half_i,
  input logic end_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic [1:0] own;
  mx_acc_owner u_owner (.clk_i, .rst_ni(rst_nq), .start_i, .half_i, .end_i, .own_o(own));

  // A list of the instructions in flight, oldest first.
  logic [1:0] count_q, count;
  logic first_q, second_q;
  always_comb begin
    if (count_q == 2'd0) assume (!end_i);
    if (count_q == 2'd2) assume (!start_i || end_i);
    count = count_q - 2'(end_i);
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) count_q <= '0;
    else count_q <= count + 2'(start_i);
  end
  always_ff @(posedge clk_i) begin
    if (end_i) first_q <= second_q;
    if (start_i && count == 2'd0) first_q <= half_i;
    if (start_i && count == 2'd1) second_q <= half_i;
  end
  logic [1:0] in_flight;
  assign in_flight = (count_q != 2'd0 ? 2'd1 << first_q : 2'd0) | (count_q == 2'd2 ? 2'd1 << second_q : 2'd0)
      | (start_i ? 2'd1 << half_i : 2'd0);
  always_ff @(posedge clk_i) if (rst_nq) assert (own == in_flight);
endmodule
