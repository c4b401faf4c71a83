`include "assert.svh"

// The scratchpad of a tile: banks, their ports, and the check that no bank is owned twice in a
// cycle.
//
// Ports: 0 mxA, 1 mxB, 2 vxL, 3 tx read; 4 vxS, 5.. the four lane inputs write. The units say which
// banks they own (the units of a tile for whole instructions, tx and lane inputs for the cycle of
// each flit).
module scratchpad (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  logic                              run_i,
  input  logic [8:0]                        req_i,
  input  logic [9*16-1:0]                   row_i,
  input  logic [4*tegula_pkg::Banks-1:0]    own_i,    // mxA, mxB, vxL, vxS
  input  logic [5*tegula_pkg::FlitBits-1:0] wdata_i,
  output logic [4*tegula_pkg::FlitBits-1:0] rdata_o,  // in the cycle after the request
  output logic                              fault_o,  // registered
  output logic [2:0]                        fault_code_o,
  output logic [5:0]                        fault_bank_o,
  output logic [8:0]                        fault_ports_o
);
  localparam int unsigned Banks = tegula_pkg::Banks;
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;
  localparam int unsigned RowW = $clog2(tegula_pkg::BankRows);
  localparam int unsigned BankW = $clog2(Banks);

  logic [9*Banks-1:0] at;
  logic [Banks-1:0] any;
  logic [8:0] outside;
  logic [Banks*FlitBits-1:0] bank_data;
  logic [4*BankW-1:0] bank_q;
  logic [3:0] read_q;

  logic [15:0] bank;
  always_comb begin
    bank = '0;
    at = '0;
    any = '0;
    outside = '0;
    for (int p = 0; p < 9; p++) begin
      if (req_i[p]) begin
        bank = row_i[p*16+:16] >> RowW;
        if (bank < 16'(Banks)) at[p*Banks+:Banks] = Banks'(1) << bank;
        else outside[p] = 1'b1;
        any |= at[p*Banks+:Banks];
      end
    end
  end

  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    scratchpad_bank #(.Bank(b)) u_bank (
      .clk_i,
      .any_i (any[b]),
      .at_i  (at),
      .row_i,
      .data_i(wdata_i),
      .data_o(bank_data[b*FlitBits+:FlitBits])
    );
  end

  always_ff @(posedge clk_i) begin
    read_q <= req_i[3:0];
    for (int p = 0; p < 4; p++) if (req_i[p]) bank_q[p*BankW+:BankW] <= row_i[p*16+RowW+:BankW];
  end
  always_comb begin
    rdata_o = '0;
    for (int p = 0; p < 4; p++) begin
      if (read_q[p]) begin
        rdata_o[p*FlitBits+:FlitBits] =
            bank_data[{{32 - BankW{1'b0}}, bank_q[p*BankW+:BankW]}*FlitBits+:FlitBits];
      end
    end
  end

  // Ownership: of the port's order in own_i where it is a unit's, of the access itself for tx and
  // the lane inputs.
  logic [Banks-1:0] owned, twice;
  logic [9*Banks-1:0] own;
  always_comb begin
    own = {at[8*Banks+:Banks], at[7*Banks+:Banks], at[6*Banks+:Banks], at[5*Banks+:Banks],
           own_i[3*Banks+:Banks], at[3*Banks+:Banks], own_i[2*Banks+:Banks],
           own_i[1*Banks+:Banks], own_i[0*Banks+:Banks]};
    owned = '0;
    twice = '0;
    for (int p = 0; p < 9; p++) begin
      twice |= owned & own[p*Banks+:Banks];
      owned |= own[p*Banks+:Banks];
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
      fault_code_o <= outside != '0 ? tegula_pkg::FaultAddress : tegula_pkg::FaultBank;
      fault_ports_o <= outside;
      fault_bank_o <= '0;
      if (outside == '0) begin
        for (int b = Banks - 1; b >= 0; b--) begin
          if (twice[b]) begin
            fault_bank_o <= 6'(b);
            for (int p = 0; p < 9; p++) fault_ports_o[p] <= own[p*Banks+b];
          end
        end
      end
    end
  end

  // A unit's ports touch banks that the unit owns: else a clash would go unseen.
  `ASSERT(MxaOwnsItsBank, (at[0*Banks+:Banks] & ~own_i[0*Banks+:Banks]) == '0)
  `ASSERT(MxbOwnsItsBank, (at[1*Banks+:Banks] & ~own_i[1*Banks+:Banks]) == '0)
  `ASSERT(VxLoadsOwnItsBank, (at[2*Banks+:Banks] & ~own_i[2*Banks+:Banks]) == '0)
  `ASSERT(VxStoresOwnItsBank, (at[4*Banks+:Banks] & ~own_i[3*Banks+:Banks]) == '0)

  // A bank with two owners is a fault from the next cycle on.
  `ASSERT_NEXT(ClashIsAFault, run_i && !start_i && twice != '0, fault_o)
endmodule
