// A single-ported bank: one read or write a cycle, by the one port that is at it.
module scratchpad_bank #(
    parameter int unsigned BANK = 0,
    parameter int unsigned READS = 4, // ports 0..READS-1 read
    parameter int unsigned WRITES = 5 // the others write
) (
    input  logic                                            clk_i,
    input  logic                                            any_i, // some port is at this bank
    input  logic [(READS+WRITES)*tegula_pkg::BANKS-1:0]     at_i,  // one bit a bank for each port
    input  logic [(READS+WRITES)*16-1:0]                    row_i,
    input  logic [WRITES*tegula_pkg::FLIT_BITS-1:0]         data_i,
    output logic [tegula_pkg::FLIT_BITS-1:0]                data_o // of the cycle after a read
);
  localparam int unsigned W = tegula_pkg::FLIT_BITS;
  localparam int unsigned ROW_BITS = $clog2(tegula_pkg::BANK_ROWS);

  logic [W-1:0] mem_q [tegula_pkg::BANK_ROWS];
  logic [W-1:0] data_q;

  assign data_o = data_q;

  always_ff @(posedge clk_i) begin
    if (any_i) begin : access
      logic [ROW_BITS-1:0] row;
      logic [W-1:0] data;
      logic write;
      row = '0;
      data = '0;
      write = 1'b0;
      for (int p = 0; p < READS + WRITES; p++) begin
        if (at_i[p*tegula_pkg::BANKS+BANK]) row |= row_i[p*16+:ROW_BITS];
      end
      for (int p = 0; p < WRITES; p++) begin
        if (at_i[(READS+p)*tegula_pkg::BANKS+BANK]) begin
          data |= data_i[p*W+:W];
          write = 1'b1;
        end
      end
      if (write) mem_q[row] <= data;
      else data_q <= mem_q[row];
    end
  end
endmodule
