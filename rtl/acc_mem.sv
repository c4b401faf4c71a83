// Accumulator memory of one PE column: lanes c and P + c of every row, in two halves of Rows rows.
// Each half has one read and one write port; the halves belong to mx or vx (docs/machine.md,
// ports), mx's read and write ones perhaps different.
module acc_mem #(
  parameter int unsigned Rows = 2
) (
  input  logic                  clk_i,
  input  logic                  mx_read_i,
  input  logic [$clog2(Rows):0] mx_read_row_i,
  output logic [63:0]           mx_data_o,  // the cycle after
  input  logic                  vx_read_i,
  input  logic [$clog2(Rows):0] vx_read_row_i,
  output logic [63:0]           vx_data_o,  // the cycle after
  input  logic [1:0]            write_i,    // one a lane
  input  logic [$clog2(Rows):0] write_row_i,
  input  logic [63:0]           write_data_i
);
  localparam int unsigned RowW = $clog2(Rows);
  logic mx_half_q, vx_half_q;

  for (genvar h = 0; h < 2; h++) begin : gen_half
    logic [31:0] low_q [Rows];
    logic [31:0] high_q [Rows];
    logic [63:0] data_q;
    logic mx_here, vx_here;
    logic [RowW-1:0] row;

    assign mx_here = mx_read_i && mx_read_row_i[RowW] == 1'(h);
    assign vx_here = vx_read_i && vx_read_row_i[RowW] == 1'(h);
    assign row = mx_here ? mx_read_row_i[RowW-1:0] : vx_read_row_i[RowW-1:0];
    always_ff @(posedge clk_i) begin
      if (mx_here || vx_here) data_q <= {high_q[row], low_q[row]};
      if (write_row_i[RowW] == 1'(h)) begin
        if (write_i[0]) low_q[write_row_i[RowW-1:0]] <= write_data_i[31:0];
        if (write_i[1]) high_q[write_row_i[RowW-1:0]] <= write_data_i[63:32];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (mx_read_i) mx_half_q <= mx_read_row_i[RowW];
    if (vx_read_i) vx_half_q <= vx_read_row_i[RowW];
  end
  assign mx_data_o = mx_half_q ? gen_half[1].data_q : gen_half[0].data_q;
  assign vx_data_o = vx_half_q ? gen_half[1].data_q : gen_half[0].data_q;
endmodule
