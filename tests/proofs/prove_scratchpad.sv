// Banks of a tile: two owners of a bank, or a row that is not there, are a fault from the next cycle until a section begins, and
// nothing else is; the fault names the lowest such bank and all of its owners, or the ports outside. A row that one port reads
// alone holds what was written into it last, one cycle later. Three banks of four rows.
// modules: scratchpad_bank scratchpad
// constants: Banks=3 BankRows=4 FlitBits=8
// planted: scratchpad.sv: own_i[3*Banks+:Banks], at[3*Banks+:Banks] => own_i[3*Banks+:Banks], {Banks{1'b0}}
// planted: scratchpad.sv: {at[8*Banks+:Banks], at[7*Banks+:Banks] => {{Banks{1'b0}}, at[7*Banks+:Banks]
// planted: scratchpad.sv: if (bank < 16'(Banks)) => if (bank <= 16'(Banks))
// planted: scratchpad.sv: twice |= owned & own[p*Banks+:Banks]; => twice = owned & own[p*Banks+:Banks];
// planted: scratchpad.sv: for (int b = Banks - 1; b >= 0; b--) => for (int b = 0; b < Banks; b++)
// planted: scratchpad_bank.sv: if (write) mem_q[row] <= data; => if (write && data != '1) mem_q[row] <= data;
module prove_scratchpad (
  input logic clk_i,
  input logic start_i,
  input logic run_i,
  input logic [8:0] req_i,
  input logic [143:0] row_i,
  input logic [11:0] own_i,
  input logic [39:0] wdata_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;

  // The bank of each access, one-hot; none if its row is not there. A unit owns the banks that it touches.
  logic [26:0] at, owners;
  logic [8:0] outside;
  logic [11:0] own;
  always_comb begin
    at = '0;
    outside = '0;
    for (int p = 0; p < 9; p++) begin
      if (req_i[p]) begin
        if (row_i[16*p+:16] > 16'd11) outside[p] = 1'b1;
        else at[3*p+:3] = row_i[16*p+:16] > 16'd7 ? 3'd4 : row_i[16*p+:16] > 16'd3 ? 3'd2 : 3'd1;
      end
    end
    own = own_i | {at[14:12], at[8:6], at[5:3], at[2:0]};
    owners = {at[26:15], own[11:9], at[11:9], own[8:0]};
  end
  logic [31:0] rdata;
  logic fault;
  logic [2:0] code;
  logic [5:0] bank;
  logic [8:0] ports;
  scratchpad u_scratchpad (
    .clk_i, .rst_ni(rst_nq), .start_i, .run_i, .req_i, .row_i, .own_i(own), .wdata_i, .rdata_o(rdata), .fault_o(fault),
    .fault_code_o(code), .fault_bank_o(bank), .fault_ports_o(ports)
  );

  logic [26:0] of_bank;  // its owners, by bank
  logic [2:0] clash;
  always_comb begin
    for (int b = 0; b < 3; b++) begin
      for (int p = 0; p < 9; p++) of_bank[9*b+p] = owners[3*p+b];
      clash[b] = (of_bank[9*b+:9] & (of_bank[9*b+:9] - 9'd1)) != '0;
    end
  end
  logic fault_q;
  logic [2:0] code_q;
  logic [5:0] bank_q;
  logic [8:0] ports_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) fault_q <= 1'b0;
    else if (start_i) fault_q <= 1'b0;
    else if (run_i && (clash != '0 || outside != '0)) fault_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!fault_q) begin
      code_q <= outside != '0 ? 3'd4 : 3'd1;
      bank_q <= outside != '0 || clash[0] ? 6'd0 : clash[1] ? 6'd1 : 6'd2;
      ports_q <= outside != '0 ? outside : clash[0] ? of_bank[8:0] : clash[1] ? of_bank[17:9] : of_bank[26:18];
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (fault == fault_q);
      if (fault) assert (code == code_q && bank == bank_q && ports == ports_q);
    end
  end

  // One row, any, followed through while one port at a time is at its bank.
  (* anyconst *) logic [3:0] row;
  logic known_q, write, alone;
  logic [7:0] value_q, written;
  logic [3:0] read_q;  // of it, by the reading ports
  logic [2:0] its_bank;
  logic [8:0] there, hit;
  always_comb begin
    assume (row < 4'd12);
    its_bank = row > 4'd7 ? 3'd4 : row > 4'd3 ? 3'd2 : 3'd1;
    write = 1'b0;
    written = '0;
    for (int p = 0; p < 9; p++) begin
      there[p] = (at[3*p+:3] & its_bank) != '0;
      hit[p] = req_i[p] && row_i[16*p+:16] == {12'd0, row};
    end
    alone = (there & (there - 9'd1)) == '0;
    for (int p = 0; p < 5; p++) if (hit[4+p]) {write, written} = {1'b1, wdata_i[8*p+:8]};
  end
  logic seen_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {known_q, seen_q} <= '0;
    else begin
      known_q <= alone && (write || known_q);
      seen_q <= alone && known_q;
    end
  end
  logic [7:0] was_q;
  always_ff @(posedge clk_i) begin
    if (write) value_q <= written;
    was_q <= value_q;
    read_q <= hit[3:0];
  end
  for (genvar p = 0; p < 4; p++) begin : gen_read
    always_ff @(posedge clk_i) if (rst_nq && seen_q && read_q[p]) assert (rdata[8*p+:8] == was_q);
  end
endmodule
