// Accumulator memory of a column: what a unit reads of a half that it alone reads is what was written into that row and lane
// last, one cycle later, whatever the other unit does with the other half. Four rows a half.
// modules: acc_mem
// planted: acc_mem.sv: vx_read_row_i[RowW] == 1'(h) => vx_read_row_i[0] == 1'(h)
// planted: acc_mem.sv: if (mx_read_i) mx_half_q <= mx_read_row_i[RowW]; => if (mx_read_i) mx_half_q <= write_row_i[RowW];
// planted: acc_mem.sv: if (write_i[1]) high_q => if (write_i[0]) high_q
// planted: acc_mem.sv: row = mx_here ? mx_read_row_i => row = vx_here ? mx_read_row_i
module prove_acc_mem (
  input logic clk_i,
  input logic mx_read_i,
  input logic [2:0] mx_row_i,
  input logic vx_read_i,
  input logic [2:0] vx_row_i,
  input logic [1:0] write_i,
  input logic [2:0] write_row_i,
  input logic [63:0] data_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic [63:0] mx_data, vx_data;
  logic vx_read;
  assign vx_read = vx_read_i && !(mx_read_i && mx_row_i[2] == vx_row_i[2]);  // halves have one owner
  acc_mem #(.Rows(4)) u_acc (
    .clk_i, .mx_read_i, .mx_read_row_i(mx_row_i), .mx_data_o(mx_data), .vx_read_i(vx_read), .vx_read_row_i(vx_row_i),
    .vx_data_o(vx_data), .write_i, .write_row_i, .write_data_i(data_i)
  );

  // One bit of one row, any, followed through.
  (* anyconst *) logic [2:0] row;
  (* anyconst *) logic [5:0] column;
  logic known_q, value_q, seen_q, was_q, mx_q, vx_q, write;
  assign write = write_i[column[5]] && write_row_i == row;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {known_q, seen_q, mx_q, vx_q} <= '0;
    else begin
      known_q <= known_q || write;
      seen_q <= known_q;
      mx_q <= mx_read_i && mx_row_i == row;
      vx_q <= vx_read && vx_row_i == row;
    end
  end
  always_ff @(posedge clk_i) begin
    if (write) value_q <= data_i[column];
    was_q <= value_q;
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq && seen_q) begin
      if (mx_q) assert (mx_data[column] == was_q);
      if (vx_q) assert (vx_data[column] == was_q);
    end
  end
endmodule
