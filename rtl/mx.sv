// The matrix unit: control, the array, the accumulator memory and its write port (docs/machine.md,
// section 4).
module mx (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         start_i,   // a section begins
  input  logic [7:0]                   defect_i,  // test builds: the deliberate defect
  input  logic                         head_valid_i,
  input  tegula_pkg::mx_instr_t        head_i,
  input  logic [2:0][19:0]             idx_i,
  input  logic [15:0]                  a_addr_i,
  input  logic [15:0]                  b_addr_i,
  input  logic [15:0]                  c_addr_i,
  input  logic [31:0]                  sr_key_i,
  output logic                         issue_o,
  output logic                         end_o,
  output logic                         idle_for_sync_o,
  output logic                         a_req_o,
  output logic [15:0]                  a_row_o,
  input  logic [32*tegula_pkg::P-1:0]  a_rdata_i,
  output logic                         b_req_o,
  output logic [15:0]                  b_row_o,
  input  logic [32*tegula_pkg::P-1:0]  b_rdata_i,
  output logic [tegula_pkg::Banks-1:0] a_own_o,
  output logic [tegula_pkg::Banks-1:0] b_own_o,
  output logic [1:0]                   acc_own_o,
  input  logic                         acc_rd_req_i,
  input  logic [15:0]                  acc_rd_row_i,
  output logic [64*tegula_pkg::P-1:0]  acc_rd_data_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned RowW = mx_pkg::RowW;

  logic busy, fp32, fp16, tf32, a_valid, a_set, turned, turn_in, turn_out, turn_last;
  mx_pkg::weights_t weights;
  mx_pkg::acc_read_t acc_read;
  mx_pkg::block_write_t block_write;
  logic [64*P-1:0] psum_in, psum_out, write_data;
  logic [2*P-1:0] write;
  logic [RowW*P-1:0] write_rows_at;

  assign idle_for_sync_o = 1'b1;

  // The deliberate defect of test builds: the results of the first lane are off by one in the last
  // place.
  logic [64*P-1:0] results;
  always_comb begin
    results = psum_out;
    if (fabric_pkg::Defects && defect_i == tegula_pkg::RtlDefectLastPlace) begin
      results[0] = !psum_out[0];
    end
  end

  mx_control u_control (
    .clk_i, .rst_ni, .start_i, .head_valid_i, .head_i, .idx_i, .a_addr_i, .b_addr_i, .c_addr_i,
    .sr_key_i,
    .issue_o,
    .end_i      (end_o),
    .a_req_o, .a_row_o, .b_req_o, .b_row_o, .a_own_o, .b_own_o, .acc_own_o,
    .busy_o     (busy),
    .fp32_o     (fp32),
    .fp16_o     (fp16),
    .tf32_o     (tf32),
    .turned_o   (turned),
    .turn_in_o  (turn_in),
    .turn_out_o (turn_out),
    .turn_last_o(turn_last),
    .a_valid_o  (a_valid),
    .a_set_o    (a_set),
    .weights_o  (weights),
    .acc_read_o (acc_read),
    .write_o    (block_write)
  );

  logic [32*P-1:0] turned_row;
  mx_transposer u_transposer (
    .clk_i, .rst_ni,
    .fp32_i     (fp32),
    .tf32_i     (tf32),
    .write_i    (turn_in),
    .flit_i     (a_rdata_i),
    .read_i     (turn_out),
    .read_last_i(turn_last),
    .flit_o     (turned_row)
  );

  mx_array u_array (
    .clk_i, .rst_ni,
    .advance_i(busy),
    .fp32_i   (fp32),
    .fp16_i   (fp16),
    .tf32_i   (tf32),
    .a_valid_i(a_valid),
    .a_set_i  (a_set),
    .a_row_i  (turned ? turned_row : a_rdata_i),
    .weights_i(weights),
    .w_row_i  (b_rdata_i),
    .psum_i   (psum_in),
    .psum_o   (psum_out)
  );

  mx_write u_write (
    .clk_i, .rst_ni,
    .fp32_i (fp32),
    .tf32_i (tf32),
    .block_i(block_write),
    .psum_i (results),
    .write_o(write),
    .row_o  (write_rows_at),
    .data_o (write_data),
    .end_o
  );

  // Each column reads its slice of the accumulator row one cycle after the column before it; the
  // partial sum enters the array in the next cycle. Entry c is what column c reads.
  for (genvar c = 0; c <= P; c++) begin : gen_read
    logic            valid, init, half;
    logic [RowW-1:0] row;
    if (c == 0) begin : gen_head
      assign valid = acc_read.valid;
      assign init = acc_read.init;
      assign half = acc_read.half;
      assign row = acc_read.row;
    end else begin : gen_shift
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) valid <= 1'b0;
        else valid <= gen_read[c-1].valid;
      end
      always_ff @(posedge clk_i) begin
        if (gen_read[c-1].valid) begin
          init <= gen_read[c-1].init;
          half <= gen_read[c-1].half;
          row <= gen_read[c-1].row;
        end
      end
    end
  end

  for (genvar c = 0; c < P; c++) begin : gen_column
    logic [63:0] mx_data, vx_data;
    acc_mem #(.Rows(tegula_pkg::AccRows)) u_acc (
      .clk_i,
      .mx_read_i    (gen_read[c].valid && !gen_read[c].init),
      .mx_read_row_i(gen_read[c].row),
      .mx_data_o    (mx_data),
      .vx_read_i    (acc_rd_req_i),
      .vx_read_row_i(acc_rd_row_i[RowW-1:0]),
      .vx_data_o    (vx_data),
      .write_i      (write[2*c+:2]),
      .write_row_i  (write_rows_at[RowW*c+:RowW]),
      .write_data_i (write_data[64*c+:64])
    );
    always_comb begin
      psum_in[64*c+:64] = mx_data;
      if (fp32 && gen_read[c+1].half) psum_in[64*c+:32] = mx_data[63:32];
      if (gen_read[c+1].init) psum_in[64*c+:64] = 64'd0;
    end
    assign acc_rd_data_o[32*c+:32] = vx_data[31:0];
    assign acc_rd_data_o[32*(P+c)+:32] = vx_data[63:32];
  end
endmodule
