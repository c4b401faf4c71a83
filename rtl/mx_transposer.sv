// The transposer of the streamed operand: takes S bank rows, each S elements of one k, and gives S
// rows, each S values of k, in the layout of bank rows. Two buffers of S x S elements: one fills
// while the other empties. A row of TF32 is two bank rows, on either side in consecutive cycles.
//
// A cell holds an element of 16 bits or the upper 19 bits of a TF32 one; an FP32 element takes the
// cells of two k, its lower 16 bits first, so that a row is read alike in every format.
module mx_transposer (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        fp32_i,
  input  logic                        tf32_i,
  input  logic                        write_i,
  input  logic [32*tegula_pkg::P-1:0] flit_i,
  input  logic                        read_i,
  input  logic                        read_last_i,  // the last bank row of a block's last row
  output logic [32*tegula_pkg::P-1:0] flit_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned CellW = 19;
  localparam int unsigned IndexW = $clog2(2 * P);

  // Counters of bank rows: where the next one goes, which one is shown.
  logic              write_buffer_q, read_buffer_q, write_beat_q, read_beat_q;
  logic              write_done, read_done;
  logic [IndexW-1:0] write_q, read_q, last;
  assign last = fp32_i ? IndexW'(P - 1) : IndexW'(2 * P - 1);
  assign write_done = write_beat_q == tf32_i && write_q == last;
  assign read_done = read_beat_q == tf32_i && read_q == last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_buffer_q <= 1'b0;
      write_beat_q   <= 1'b0;
      write_q        <= '0;
      read_buffer_q  <= 1'b0;
      read_beat_q    <= 1'b0;
      read_q         <= '0;
    end else begin
      if (write_i) begin
        write_beat_q <= tf32_i && !write_beat_q;
        if (write_beat_q == tf32_i) write_q <= write_done ? '0 : write_q + IndexW'(1);
        if (write_done) write_buffer_q <= !write_buffer_q;
      end
      if (read_i) begin
        read_beat_q <= tf32_i && !read_beat_q;
        if (read_beat_q == tf32_i) read_q <= read_done || read_last_i ? '0 : read_q + IndexW'(1);
        if (read_done || read_last_i) read_buffer_q <= !read_buffer_q;
      end
    end
  end

  // Row k of the cells: what every column has of it.
  logic [2*P*CellW-1:0] shown;  // the column being read, by k
  for (genvar k = 0; k < 2 * P; k++) begin : gen_k
    logic [2*P*CellW-1:0] cells_q [2];
    logic [2*P*CellW-1:0] row;
    logic [2*P-1:0]       enable;
    logic                 selected;
    assign selected = write_i && 32'(write_q) == (fp32_i ? k / 2 : k);
    for (genvar i = 0; i < 2 * P; i++) begin : gen_column
      localparam int unsigned Word = i % P;
      always_comb begin
        row[i*CellW+:CellW] = {3'd0, flit_i[16*i+:16]};
        enable[i] = selected;
        if (tf32_i) begin
          row[i*CellW+:CellW] = flit_i[32*Word+13+:CellW];
          enable[i] = selected && write_beat_q == (i >= P);
        end else if (fp32_i) begin
          row[i*CellW+:CellW] = {3'd0, flit_i[32*Word+16*(k%2)+:16]};
          enable[i] = selected && i < P;
        end
      end
      always_ff @(posedge clk_i) begin
        if (enable[i]) cells_q[write_buffer_q][i*CellW+:CellW] <= row[i*CellW+:CellW];
      end
    end
    assign shown[k*CellW+:CellW] = cells_q[read_buffer_q][32'(read_q)*CellW+:CellW];
  end

  for (genvar w = 0; w < P; w++) begin : gen_word
    always_comb begin
      flit_o[32*w+:32] = {shown[(2*w+1)*CellW+:16], shown[2*w*CellW+:16]};
      if (tf32_i) begin
        flit_o[32*w+:32] = {read_beat_q ? shown[(P+w)*CellW+:CellW] : shown[w*CellW+:CellW], 13'd0};
      end
    end
  end
endmodule
