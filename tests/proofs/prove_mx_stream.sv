// The streamed rows of a block as they enter the array: from the cycle of its start on a row every cycle, of TF32 every other one,
// each with its accumulator row, and with what was said at the start; a cycle later the array and the transposer are told.
// Blocks of up to three rows, of accumulator rows the lowest three bits.
// modules: mx_pkg mx_stream
// constants: P=2 AccRows=4
// planted: mx_stream.sv: assign last = tick && left == 26'd1; => assign last = tick && left == 26'd2;
// planted: mx_stream.sv: assign tick = stream && beat == tf32_i; => assign tick = stream && beat != tf32_i;
// planted: mx_stream.sv: init = init_i && block_i.k_first; => init = init_i;
// planted: mx_stream.sv: row_q <= row + {15'd0, tick}; => row_q <= row + 16'd1;
// planted: mx_stream.sv: turn_out_o <= stream && transposed_i; => turn_out_o <= tick && transposed_i;
// planted: mx_stream.sv: half_q <= half; => half_q <= half_q;
// planted: mx_stream.sv: turn_last_o <= last; => turn_last_o <= tick;
module prove_mx_stream (
  input logic clk_i,
  input logic start_i,
  input logic [2:0] row_i,
  input logic half_i,
  input logic k_first_i,
  input logic init_i,
  input logic set_i,
  input logic [1:0] rows_i,
  input logic tf32_i,
  input logic transposed_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // Cycle n of a block's stream, of as many as its rows take. The format stays while there is one.
  logic start, active, tf32, tf32_q, transposed, transposed_q, half_q, init_q, set_q;
  logic [1:0] rows, rows_q;
  logic [2:0] n_q, n, base, base_q, cycles;
  assign start = start_i && n_q == 3'd0 && rows_i != 2'd0;
  assign active = start || n_q != 3'd0;
  assign n = start ? 3'd0 : n_q;
  assign tf32 = start ? tf32_i : tf32_q;
  assign transposed = start ? transposed_i : transposed_q;
  assign rows = start ? rows_i : rows_q;
  assign base = start ? row_i : base_q;
  assign cycles = tf32 ? {rows, 1'b0} : {1'b0, rows};
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) n_q <= '0;
    else n_q <= active && n + 3'd1 != cycles ? n + 3'd1 : 3'd0;
  end
  always_ff @(posedge clk_i) begin
    {tf32_q, transposed_q, rows_q, base_q} <= {tf32, transposed, rows, base};
    if (start) {half_q, init_q, set_q} <= {half_i, init_i && k_first_i, set_i};
  end

  mx_pkg::block_t block;
  mx_pkg::acc_read_t read;
  always_comb begin
    block = '0;
    block.c = {13'd0, row_i};
    block.half = half_i;
    block.k_first = k_first_i;
  end
  logic valid, set, out, out_last, turned;
  mx_stream u_stream (
    .clk_i, .rst_ni(rst_nq), .start_i(start), .block_i(block), .rows_i({24'd0, rows_i}), .init_i, .set_i, .tf32_i(tf32),
    .transposed_i(transposed), .a_valid_o(valid), .a_set_o(set), .turn_out_o(out), .turn_last_o(out_last), .turned_o(turned),
    .acc_read_o(read)
  );

  logic tick, tick_q, active_q, last_q, was_transposed_q;
  assign tick = active && (!tf32 || n[0]);
  always_ff @(posedge clk_i) begin
    {tick_q, active_q} <= rst_nq ? {tick, active} : '0;
    {last_q, was_transposed_q} <= {n + 3'd1 == cycles, transposed};
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (read.valid == tick);
      if (tick) begin
        assert (read.row == base + (tf32 ? {1'b0, n[2:1]} : n));
        assert (read.half == (start ? half_i : half_q) && read.init == (start ? init_i && k_first_i : init_q));
      end
      assert (valid == tick_q && out == (active_q && was_transposed_q));
      if (valid) assert (set == set_q && turned == was_transposed_q);
      if (out) assert (out_last == last_q);
    end
  end
endmodule
