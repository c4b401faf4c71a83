// Rows of a 2-D strided run: `inner` consecutive rows, then the next run `stride` further.
module row_walk (
  input  logic        clk_i,
  input  logic        load_i,  // start at row `run_i + pos_i`, the pos_i-th of its run
  input  logic [15:0] run_i,
  input  logic [15:0] pos_i,
  input  logic [15:0] inner_i,
  input  logic [15:0] stride_i,
  input  logic        step_i,
  output logic [15:0] row_o
);
  logic [15:0] run_q, pos_q, inner_q, stride_q;

  assign row_o = run_q + pos_q;

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      run_q <= run_i;
      pos_q <= pos_i;
      inner_q <= inner_i;
      stride_q <= stride_i;
    end else if (step_i) begin
      if (pos_q + 16'd1 == inner_q) begin
        run_q <= run_q + stride_q;
        pos_q <= '0;
      end else begin
        pos_q <= pos_q + 16'd1;
      end
    end
  end
endmodule
