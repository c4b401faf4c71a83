`include "assert.svh"

// The scratchpad of a tile: banks, their ports, and the check that no bank is owned twice in a cycle.
//
// Ports: 0 mxA, 1 mxB, 2 vxL, 3 tx read; 4 vxS, 5.. the four lane inputs write. The units say which banks they own (the
// units of a tile for whole instructions, tx and lane inputs for the cycle of each flit).
module scratchpad (
    input  logic                                clk_i,
    input  logic                                rst_ni,
    input  logic                                start_i,
    input  logic                                run_i,
    input  logic [8:0]                          req_i,
    input  logic [9*16-1:0]                     row_i,
    input  logic [4*tegula_pkg::BANKS-1:0]      own_i, // mxA, mxB, vxL, vxS
    input  logic [5*tegula_pkg::FLIT_BITS-1:0]  wdata_i,
    output logic [4*tegula_pkg::FLIT_BITS-1:0]  rdata_o, // in the cycle after the request
    output logic                                fault_o, // registered
    output logic [2:0]                          fault_code_o,
    output logic [5:0]                          fault_bank_o,
    output logic [8:0]                          fault_ports_o
);
  localparam int unsigned NB = tegula_pkg::BANKS;
  localparam int unsigned W = tegula_pkg::FLIT_BITS;
  localparam int unsigned ROW_BITS = $clog2(tegula_pkg::BANK_ROWS);
  localparam int unsigned BANK_BITS = $clog2(NB);

  logic [9*NB-1:0] at;
  logic [NB-1:0] any;
  logic [8:0] outside;
  logic [NB*W-1:0] bank_data;
  logic [4*BANK_BITS-1:0] bank_q;
  logic [3:0] read_q;

  logic [15:0] bank;
  always_comb begin
    bank = '0;
    at = '0;
    any = '0;
    outside = '0;
    for (int p = 0; p < 9; p++) begin
      if (req_i[p]) begin
        bank = row_i[p*16+:16] >> ROW_BITS;
        if (bank < 16'(NB)) at[p*NB+:NB] = NB'(1) << bank;
        else outside[p] = 1'b1;
        any |= at[p*NB+:NB];
      end
    end
  end

  for (genvar b = 0; b < NB; b++) begin : g_bank
    scratchpad_bank #(.BANK(b)) u_bank (
        .clk_i, .any_i(any[b]), .at_i(at), .row_i, .data_i(wdata_i), .data_o(bank_data[b*W+:W])
    );
  end

  always_ff @(posedge clk_i) begin
    read_q <= req_i[3:0];
    for (int p = 0; p < 4; p++) if (req_i[p]) bank_q[p*BANK_BITS+:BANK_BITS] <= row_i[p*16+ROW_BITS+:BANK_BITS];
  end
  always_comb begin
    rdata_o = '0;
    for (int p = 0; p < 4; p++) begin
      if (read_q[p]) rdata_o[p*W+:W] = bank_data[{{32 - BANK_BITS{1'b0}}, bank_q[p*BANK_BITS+:BANK_BITS]}*W+:W];
    end
  end

  // Ownership: of the port's order in own_i where it is a unit's, of the access itself for tx and the lane inputs.
  logic [NB-1:0] owned, twice;
  logic [9*NB-1:0] own;
  always_comb begin
    own = {at[8*NB+:NB], at[7*NB+:NB], at[6*NB+:NB], at[5*NB+:NB], own_i[3*NB+:NB], at[3*NB+:NB], own_i[2*NB+:NB],
        own_i[1*NB+:NB], own_i[0*NB+:NB]};
    owned = '0;
    twice = '0;
    for (int p = 0; p < 9; p++) begin
      twice |= owned & own[p*NB+:NB];
      owned |= own[p*NB+:NB];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fault_o <= 1'b0;
      fault_code_o <= '0;
      fault_bank_o <= '0;
      fault_ports_o <= '0;
    end else if (start_i) begin
      fault_o <= 1'b0;
    end else if (run_i && !fault_o && (twice != '0 || outside != '0)) begin : fault
      fault_o <= 1'b1;
      fault_code_o <= outside != '0 ? fabric_pkg::FAULT_ADDRESS : fabric_pkg::FAULT_BANK;
      fault_ports_o <= outside;
      fault_bank_o <= '0;
      if (outside == '0) begin
        for (int b = NB - 1; b >= 0; b--) begin
          if (twice[b]) begin
            fault_bank_o <= 6'(b);
            for (int p = 0; p < 9; p++) fault_ports_o[p] <= own[p*NB+b];
          end
        end
      end
    end
  end

  // A unit's ports touch banks that the unit owns: else a clash would go unseen.
  `ASSERT(MxaOwnsItsBank, (at[0*NB+:NB] & ~own_i[0*NB+:NB]) == '0)
  `ASSERT(MxbOwnsItsBank, (at[1*NB+:NB] & ~own_i[1*NB+:NB]) == '0)
  `ASSERT(VxLoadsOwnItsBank, (at[2*NB+:NB] & ~own_i[2*NB+:NB]) == '0)
  `ASSERT(VxStoresOwnItsBank, (at[4*NB+:NB] & ~own_i[3*NB+:NB]) == '0)

  // A bank with two owners is a fault from the next cycle on.
  `ASSERT_NEXT(ClashIsAFault, run_i && !start_i && twice != '0, fault_o)
endmodule
