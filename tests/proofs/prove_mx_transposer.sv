// The transposer: what is written as element i of the row of k leaves as element k of row i of the same group, groups in the
// order in which they came, in every format. One element, any, is followed through. P = 2, groups written whole, at most two
// inside, the last one read up to any row.
// modules: mx_transposer
// constants: P=2
// planted: mx_transposer.sv: enable[i] = selected && write_beat_q == (i >= P); => enable[i] = selected && write_beat_q != (i >= P);
// planted: mx_transposer.sv: if (read_done || read_last_i) read_buffer_q <= !read_buffer_q; => if (read_done) read_buffer_q <= !read_buffer_q;
// planted: mx_transposer.sv: row[i*CellW+:CellW] = {3'd0, flit_i[32*Word+16*(k%2)+:16]}; => row[i*CellW+:CellW] = {3'd0, flit_i[32*Word+:16]};
// planted: mx_transposer.sv: if (enable[i]) cells_q[write_buffer_q] => if (enable[i]) cells_q[read_buffer_q]
// planted: mx_transposer.sv: assign last = fp32_i ? IndexW'(P - 1) : IndexW'(2 * P - 1); => assign last = fp32_i && write_q != '0 ? IndexW'(P - 1) : IndexW'(2 * P - 1);
module prove_mx_transposer (
  input logic clk_i,
  input logic write_i,
  input logic read_i,
  input logic stop_i,
  input logic pick_i,
  input logic [63:0] flit_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  (* anyconst *) logic [1:0] format;  // 0: 16 bits, 1: FP32, 2 and 3: TF32
  logic fp32, tf32;
  assign fp32 = format == 2'd1;
  assign tf32 = format[1];
  logic [2:0] rows;  // of a group: bank rows
  assign rows = fp32 ? 3'd1 : tf32 ? 3'd7 : 3'd3;  // the last one's number

  logic [2:0] write_q, read_q;   // bank rows of the group
  logic [1:0] inside_q;          // groups that are there or begun, and not read
  logic write, read, write_end, read_last, read_end;
  assign write = write_i && (inside_q != 2'd2 || write_q != 3'd0);
  assign write_end = write && write_q == rows;
  logic [1:0] whole_q;  // groups that are there whole
  assign read = read_i && whole_q != 2'd0;
  assign read_last = read && stop_i && (!tf32 || read_q[0]);  // the last bank row of a row
  assign read_end = read && (read_last || read_q == rows);
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {write_q, read_q, inside_q, whole_q} <= '0;
    else begin
      if (write) write_q <= write_end ? 3'd0 : write_q + 3'd1;
      if (read) read_q <= read_end ? 3'd0 : read_q + 3'd1;
      inside_q <= inside_q + 2'(write && write_q == 3'd0) - 2'(read_end);
      whole_q <= whole_q + 2'(write_end) - 2'(read_end);
    end
  end
  logic [63:0] flit;
  mx_transposer u_transposer (
    .clk_i, .rst_ni(rst_nq), .fp32_i(fp32), .tf32_i(tf32), .write_i(write), .flit_i, .read_i(read), .read_last_i(read_last),
    .flit_o(flit)
  );

  // Element `column` of the row of `k`, and its top bit or bit 15; of 16 bits 4 x 4, of FP32 2 x 2, of TF32 4 x 4 in two bank rows.
  (* anyconst *) logic [1:0] k;
  (* anyconst *) logic [1:0] column;
  (* anyconst *) logic high;
  logic [4:0] bit_of;
  assign bit_of = high && format != 2'd0 ? 5'd31 : 5'd15;
  logic [5:0] in_at, out_at;
  logic [2:0] in_row, out_row;
  always_comb begin
    if (fp32) assume (k < 2'd2 && column < 2'd2);
    in_row = tf32 ? {k, column[1]} : {1'b0, k};
    in_at = format == 2'd0 ? {column, bit_of[3:0]} : {column[0], bit_of};
    out_row = tf32 ? {column, k[1]} : {1'b0, column};
    out_at = format == 2'd0 ? {k, bit_of[3:0]} : {k[0], bit_of};
  end
  logic watched_q, there_q, value_q, first_q;  // first: its group is the one that is read
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {watched_q, there_q} <= '0;
    else if (!watched_q) begin
      watched_q <= write && write_q == in_row && pick_i;
      value_q <= flit_i[in_at];
      first_q <= whole_q == 2'd0 || (whole_q == 2'd1 && read_end);
    end else begin
      if (read_end) begin
        first_q <= 1'b1;
        if (first_q) watched_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq && watched_q && first_q && read && read_q == out_row) assert (flit[out_at] == value_q);
  end
endmodule
