// The source of a lane: a burst of n flits reads in exactly the n cycles behind its grant, says so of the last, and each read
// is a flit with valid sideband one cycle later; only the last flit of the last burst posts.
// modules: burst_source row_walk
// planted: burst_source.sv: assign burst_end_o = left_q == 7'd1; => assign burst_end_o = left_q == 7'd2;
// planted: burst_source.sv: side_o.post <= post_q && last_q && burst_end_o; => side_o.post <= post_q && burst_end_o;
// planted: burst_source.sv: else if (grant_i) left_q <= flits_i; => else if (grant_i && left_q == '0) left_q <= flits_i;
module prove_burst_source (
  input logic clk_i,
  input logic start_i,
  input logic grant_i,
  input logic [6:0] flits_i,
  input logic last_i,
  input logic new_rows_i,
  input fabric_pkg::route_t route_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic read, burst_end, last;
  fabric_pkg::side_t side;
  burst_source u_source (
    .clk_i, .rst_ni(rst_nq), .start_i, .grant_i, .flits_i, .last_i, .route_i, .new_rows_i,
    .read_o(read), .burst_end_o(burst_end), .last_o(last), .side_o(side)
  );

  // When the burst that was granted last ends, in cycles from now.
  logic [6:0] left_q;
  logic last_q, post_q, was_read_q, was_posted_q;
  always_comb begin
    if (grant_i) assume (flits_i != '0 && left_q <= 7'd1);
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {left_q, was_read_q, was_posted_q} <= '0;
    else begin
      left_q <= start_i ? '0 : grant_i ? flits_i : left_q != '0 ? left_q - 7'd1 : '0;
      was_read_q <= !start_i && left_q != '0;
      was_posted_q <= !start_i && left_q == 7'd1 && last_q && post_q;
    end
  end
  always_ff @(posedge clk_i) if (grant_i) {last_q, post_q} <= {last_i, route_i.post};
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (read == (left_q != '0) && burst_end == (left_q == 7'd1));
      assert (side.valid == was_read_q);
      if (side.valid) assert (side.post == was_posted_q);
    end
  end
endmodule
