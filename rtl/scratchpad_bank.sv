// A single-ported bank: one read or write a cycle, by the one port that is at it.
module scratchpad_bank #(
  parameter int unsigned Bank   = 0,
  parameter int unsigned Reads  = 4,  // ports 0..READS-1 read
  parameter int unsigned Writes = 5   // the others write
) (
  input  logic                                   clk_i,
  input  logic                                   any_i,  // some port is at this bank
  input  logic [(Reads+Writes)*tegula_pkg::Banks-1:0] at_i,   // one bit a bank for each port
  input  logic [(Reads+Writes)*16-1:0]           row_i,
  input  logic [Writes*tegula_pkg::FlitBits-1:0] data_i,
  output logic [tegula_pkg::FlitBits-1:0]        data_o  // of the cycle after a read
);
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;
  localparam int unsigned RowW = $clog2(tegula_pkg::BankRows);

  logic [FlitBits-1:0] mem_q [tegula_pkg::BankRows];
  logic [FlitBits-1:0] data_q;

  assign data_o = data_q;

  always_ff @(posedge clk_i) begin
    if (any_i) begin : access
      logic [RowW-1:0] row;
      logic [FlitBits-1:0] data;
      logic write;
      row = '0;
      data = '0;
      write = 1'b0;
      for (int p = 0; p < Reads + Writes; p++) begin
        if (at_i[p*tegula_pkg::Banks+Bank]) row |= row_i[p*16+:RowW];
      end
      for (int p = 0; p < Writes; p++) begin
        if (at_i[(Reads+p)*tegula_pkg::Banks+Bank]) begin
          data |= data_i[p*FlitBits+:FlitBits];
          write = 1'b1;
        end
      end
      if (write) mem_q[row] <= data;
      else data_q <= mem_q[row];
    end
  end
endmodule
