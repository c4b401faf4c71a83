// The store memory of an AGCU: what a piece reads is what was written into its row last, shifted to its first element, one
// cycle later; and a row that is not there is a fault, from the next cycle until a section begins. Of twelve rows, so that a
// row number can lie behind the last.
// modules: agcu_store
// constants: StoreRows=12 FlitBits=128
// planted: agcu_store.sv: arrive_row_i >= 16'(StoreRows) => arrive_row_i > 16'(StoreRows)
// planted: agcu_store.sv: read && read_row >= 16'(StoreRows) => read && read_row > 16'(StoreRows)
// planted: agcu_store.sv: index_read_i ? index_row_i : row_i => index_read_i ? row_i : row_i
// planted: agcu_store.sv: read_q >> {lane_q, 4'd0} => read_q >> {lane_q, 3'd0}
// planted: agcu_store.sv: else write_q <= piece_i.valid && !start_i; => else write_q <= piece_i.valid;
module prove_agcu_store (
  input logic clk_i,
  input logic start_i,
  input logic arrive_i,
  input logic [15:0] arrive_row_i,
  input logic [127:0] arrive_data_i,
  input fabric_pkg::memory_request_t piece_i,
  input logic [15:0] row_i,
  input logic [6:0] lane_i,
  input logic index_read_i,
  input logic [15:0] index_row_i
);
  always_comb assume (!(piece_i.valid && index_read_i));  // the port's: its index fetch is over before a piece
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  fabric_pkg::memory_request_t write;
  logic [127:0] data;
  logic fault;
  logic [127:0] index;
  agcu_store u_store (
    .clk_i, .rst_ni(rst_nq), .start_i, .arrive_i, .arrive_row_i, .arrive_data_i, .piece_i, .row_i, .lane_i,
    .index_read_i, .index_row_i, .index_flit_o(index),
    .write_o(write), .write_data_o(data), .fault_o(fault)
  );

  logic fault_q, read_q, wide_q;
  logic [6:0] lane_q;
  logic [15:0] row_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {fault_q, read_q} <= '0;
    else begin
      read_q <= piece_i.valid && !start_i;
      fault_q <= !start_i && (fault_q || arrive_i && arrive_row_i > 16'd11 || (piece_i.valid && row_i > 16'd11) || (index_read_i && index_row_i > 16'd11));
    end
  end
  always_ff @(posedge clk_i) if (rst_nq) assert (fault == fault_q && write.valid == read_q);

  // One row, any, followed through: what was written last.
  (* anyconst *) logic [3:0] row;
  logic known_q, was_known_q;
  logic [127:0] value_q, was_q;
  always_comb assume (row < 4'd12);
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {known_q, was_known_q} <= '0;
    else begin
      if (arrive_i && arrive_row_i == {12'd0, row}) known_q <= 1'b1;
      else if (arrive_i && arrive_row_i > 16'd11) known_q <= 1'b0;  // a fault; a row is overwritten
      was_known_q <= known_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (arrive_i && arrive_row_i == {12'd0, row}) value_q <= arrive_data_i;
    was_q <= value_q;
    row_q <= row_i;
    lane_q <= lane_i;
    wide_q <= piece_i.wide;
  end
  // A row of indices leaves as it is.
  logic index_q;
  logic [15:0] index_row_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) index_q <= 1'b0;
    else index_q <= index_read_i;
  end
  always_ff @(posedge clk_i) index_row_q <= index_row_i;
  always_ff @(posedge clk_i) begin
    if (rst_nq && index_q && was_known_q && index_row_q == {12'd0, row}) assert ({index[127], index[64], index[0]} == {was_q[127], was_q[64], was_q[0]});
  end

  logic [127:0] expected;
  assign expected = wide_q ? was_q >> (12'(lane_q) * 12'd32) : was_q >> (12'(lane_q) * 12'd16);
  always_ff @(posedge clk_i) begin
    if (rst_nq && read_q && was_known_q && row_q == {12'd0, row}) assert ({data[127], data[64], data[0]} == {expected[127], expected[64], expected[0]});
  end
endmodule
