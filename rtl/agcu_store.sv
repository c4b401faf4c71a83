`include "assert.svh"

// The store path of an AGCU: the store memory, written by the lane input and read by the pieces of STOREs. The data of a
// piece leave one cycle after the port walks it.
module agcu_store (
    input  logic                             clk_i,
    input  logic                             rst_ni,
    input  logic                             start_i,
    input  logic                             arrive_i,
    input  logic [15:0]                      arrive_row_i,
    input  logic [tegula_pkg::FLIT_BITS-1:0] arrive_data_i,
    input  logic                             piece_valid_i,
    input  logic [15:0]                      row_i,
    input  logic [63:0]                      address_i,
    input  logic                             wide_i,
    input  logic [6:0]                       first_i,
    input  logic [6:0]                       count_i,
    input  logic [6:0]                       lane_i,
    input  logic [7:0]                       atoms_i,
    output logic [7:0]                       atoms_o,
    output logic                             write_o,
    output logic [63:0]                      address_o,
    output logic                             wide_o,
    output logic [6:0]                       first_o,
    output logic [6:0]                       count_o,
    output logic [tegula_pkg::FLIT_BITS-1:0] data_o, // element j of the piece in the j-th place
    output logic                             fault_o // a row outside the store memory, registered
);
  localparam int unsigned ROW_BITS = $clog2(tegula_pkg::STORE_ROWS);

  logic [tegula_pkg::FLIT_BITS-1:0] mem_q [tegula_pkg::STORE_ROWS];
  logic [tegula_pkg::FLIT_BITS-1:0] read_q;
  logic [6:0] lane_q;
  logic write_q, wide_q;

  always_ff @(posedge clk_i) begin
    if (arrive_i) mem_q[arrive_row_i[ROW_BITS-1:0]] <= arrive_data_i;
    if (piece_valid_i) begin
      read_q <= mem_q[row_i[ROW_BITS-1:0]];
      address_o <= address_i;
      wide_q <= wide_i;
      first_o <= first_i;
      count_o <= count_i;
      lane_q <= lane_i;
      atoms_o <= atoms_i;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= piece_valid_i && !start_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fault_o <= 1'b0;
    else if (start_i) fault_o <= 1'b0;
    else if ((arrive_i && arrive_row_i >= 16'(tegula_pkg::STORE_ROWS))
        || (piece_valid_i && row_i >= 16'(tegula_pkg::STORE_ROWS)))
      fault_o <= 1'b1;
  end

  assign write_o = write_q;
  assign wide_o = wide_q;
  always_comb begin
    data_o = '0;
    if (write_q) data_o = wide_q ? read_q >> {lane_q, 5'd0} : read_q >> {lane_q, 4'd0};
  end

  `ASSERT_NEXT(OutsideIsAFault, arrive_i && !start_i && arrive_row_i >= 16'(tegula_pkg::STORE_ROWS), fault_o)
endmodule
