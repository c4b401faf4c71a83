`include "assert.svh"

// The store path of an AGCU: the store memory, written by the lane input and read by the pieces of
// STOREs, and for indices. The data of a piece leave one cycle after the port walks it.
module agcu_store (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  // Lane
  input  logic                            arrive_i,
  input  logic [15:0]                     arrive_row_i,
  input  logic [tegula_pkg::FlitBits-1:0] arrive_data_i,
  // A piece, its row in the store memory, and the element of the row where it begins
  input  fabric_pkg::memory_request_t     piece_i,
  input  logic [15:0]                     row_i,
  input  logic [6:0]                      lane_i,
  // A row of indices, which is there in the next cycle; not beside a piece
  input  logic                            index_read_i,
  input  logic [15:0]                     index_row_i,
  output logic [tegula_pkg::FlitBits-1:0] index_flit_o,
  // Memory: element j of the piece in the j-th place
  output fabric_pkg::memory_request_t     write_o,
  output logic [tegula_pkg::FlitBits-1:0] write_data_o,
  output logic                            fault_o  // a row outside the store memory, registered
);
  localparam int unsigned StoreRows = tegula_pkg::StoreRows;
  localparam int unsigned RowW = $clog2(StoreRows);

  logic [tegula_pkg::FlitBits-1:0] mem_q [StoreRows];
  logic [tegula_pkg::FlitBits-1:0] read_q;
  fabric_pkg::memory_request_t piece_q;
  logic [6:0] lane_q;
  logic write_q, read, arrive_outside, read_outside;
  logic [15:0] read_row;

  assign arrive_outside = arrive_i && arrive_row_i >= 16'(StoreRows);
  assign read = piece_i.valid || index_read_i;
  assign read_row = index_read_i ? index_row_i : row_i;
  assign read_outside = read && read_row >= 16'(StoreRows);
  assign index_flit_o = read_q;

  always_ff @(posedge clk_i) begin
    if (arrive_i) mem_q[arrive_row_i[RowW-1:0]] <= arrive_data_i;
    if (read) read_q <= mem_q[read_row[RowW-1:0]];
    if (piece_i.valid) begin
      piece_q <= piece_i;
      lane_q <= lane_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= piece_i.valid && !start_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fault_o <= 1'b0;
    else if (start_i) fault_o <= 1'b0;
    else if (arrive_outside || read_outside) fault_o <= 1'b1;
  end

  always_comb begin
    write_o = piece_q;
    write_o.valid = write_q;
    write_data_o = '0;
    if (write_q) begin
      write_data_o = piece_q.wide ? read_q >> {lane_q, 5'd0} : read_q >> {lane_q, 4'd0};
    end
  end

  `ASSERT_NEXT(OutsideIsAFault, !start_i && (arrive_outside || read_outside), fault_o)
  `ASSERT(ReadsOneRow, start_i || !(piece_i.valid && index_read_i))
  `ASSERT_NEXT(PieceIsWritten, piece_i.valid && !start_i, write_o.valid)
endmodule
