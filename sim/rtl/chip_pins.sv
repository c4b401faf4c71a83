// The chip with a pin for each thing that chip_model.cc reads or writes, in words where it copies
// them: Verilator gives a struct at the top of a model to C++ as bits alone.
module chip_pins (
  input  logic                                          clk_i,
  input  logic                                          rst_ni,
  input  logic [7:0]                                    defect_i,
  // Configuration, of the west line and the north line
  input  logic [1:0]                                    word_valid_i,
  input  logic [1:0][31:0]                              word_rows_i,
  input  logic [1:0][31:0]                              word_positions_i,
  input  logic [1:0][31:0]                              word_place_i,  // from by_row on
  input  logic [2*tegula_pkg::FlitBits-1:0]             word_data_i,
  // Sections
  input  logic                                          start_i,
  input  logic [31:0]                                   config_words_i,
  input  logic [63:0]                                   config_cycles_i,
  input  logic                                          config_plane_i,
  output logic                                          run_o,
  output logic                                          room_o,
  output logic                                          done_o,
  output logic [63:0]                                   cycle_o,
  output logic                                          quiet_o,
  // Memory, one port an AGCU
  input  logic [tegula_pkg::Agcus-1:0]                  ready_i,
  output logic [tegula_pkg::Agcus-1:0]                  first_o,
  output logic [tegula_pkg::Agcus-1:0]                  store_o,
  output logic [tegula_pkg::Agcus-1:0]                  read_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]            read_address_o,
  output logic [tegula_pkg::Agcus-1:0]                  read_wide_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             read_first_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             read_count_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             read_atoms_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             timed_count_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]            index_offset_o,
  output logic [tegula_pkg::Agcus-1:0][31:0]            index_position_o,
  output logic [tegula_pkg::Agcus-1:0][31:0]            index_size_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]            index_stride_o,
  input  logic [tegula_pkg::Agcus-1:0]                  read_valid_i,
  input  logic [tegula_pkg::Agcus-1:0][64*tegula_pkg::P-1:0] read_data_i,
  output logic [tegula_pkg::Agcus-1:0]                  write_o,
  output logic [tegula_pkg::Agcus-1:0][63:0]            write_address_o,
  output logic [tegula_pkg::Agcus-1:0]                  write_wide_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             write_first_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             write_count_o,
  output logic [tegula_pkg::Agcus-1:0][7:0]             write_atoms_o,
  output logic [tegula_pkg::Agcus-1:0][tegula_pkg::FlitBits-1:0] write_data_o,
  // Trace
  output logic                                          event_o,
  output logic [tegula_pkg::Units-1:0]                  issue_o,
  output logic [tegula_pkg::Units-1:0][7:0]             pc_o,
  output logic [tegula_pkg::Units-1:0]                  end_o,
  output logic [tegula_pkg::Agcus*tegula_pkg::AgcuContexts-1:0] store_end_o,
  // State
  output logic [tegula_pkg::Endpoints-1:0]              fault_o,
  output logic [tegula_pkg::Endpoints-1:0][2:0]         fault_code_o,
  output logic [tegula_pkg::Endpoints-1:0][9:0]         fault_where_o,
  output logic [tegula_pkg::Endpoints-1:0][8:0]         fault_ports_o,
  output logic [tegula_pkg::Endpoints-1:0][tegula_pkg::Semaphores-1:0] nonzero_o
);
  localparam int unsigned FirstContext = 3 * tegula_pkg::Tiles;

  fabric_pkg::memory_out_t [tegula_pkg::Agcus-1:0] memory_out;
  fabric_pkg::memory_in_t [tegula_pkg::Agcus-1:0] memory_in;
  fabric_pkg::trace_t [tegula_pkg::Units-1:0] trace;
  fabric_pkg::fault_t [tegula_pkg::Endpoints-1:0] fault;

  fabric_pkg::word_t [1:0] word;
  for (genvar i = 0; i < 2; i++) begin : gen_word
    assign word[i] = {word_valid_i[i], word_rows_i[i][16:0], word_positions_i[i][16:0],
                      word_place_i[i][27:0]};
  end

  chip u_chip (
    .clk_i, .rst_ni, .defect_i,
    .word_i      (word),
    .word_data_i,
    .start_i, .config_words_i, .config_cycles_i, .config_plane_i,
    .section_o   ({run_o, room_o, done_o, cycle_o}),
    .memory_o    (memory_out),
    .write_data_o,
    .memory_i    (memory_in),
    .read_data_i,
    .trace_o     (trace),
    .event_o, .quiet_o,
    .fault_o     (fault),
    .nonzero_o
  );

  for (genvar a = 0; a < tegula_pkg::Agcus; a++) begin : gen_memory
    fabric_pkg::memory_request_t read, write;
    fabric_pkg::timed_t timed;
    assign memory_in[a] = {ready_i[a], read_valid_i[a]};
    assign first_o[a] = memory_out[a].first;
    assign store_o[a] = memory_out[a].store;
    assign read = memory_out[a].read;
    assign read_o[a] = read.valid;
    assign read_address_o[a] = read.address;
    assign read_wide_o[a] = read.wide;
    assign read_first_o[a] = {1'b0, read.first};
    assign read_count_o[a] = {1'b0, read.count};
    assign read_atoms_o[a] = read.atoms;
    assign timed = memory_out[a].timed;
    assign timed_count_o[a] = {1'b0, timed.count};
    assign index_offset_o[a] = timed.offset;
    assign index_position_o[a] = timed.digit[2] + {8'd0, timed.radix[1]} *
                                 (timed.digit[1] + {8'd0, timed.radix[0]} * timed.digit[0]);
    assign index_size_o[a] = {7'd0, timed.size};
    assign index_stride_o[a] = {{24{timed.stride[39]}}, timed.stride};
    assign write = memory_out[a].write;
    assign write_o[a] = write.valid;
    assign write_address_o[a] = write.address;
    assign write_wide_o[a] = write.wide;
    assign write_first_o[a] = {1'b0, write.first};
    assign write_count_o[a] = {1'b0, write.count};
    assign write_atoms_o[a] = write.atoms;
  end
  for (genvar u = 0; u < tegula_pkg::Units; u++) begin : gen_unit
    assign issue_o[u] = trace[u].issue;
    assign pc_o[u] = trace[u].pc;
    assign end_o[u] = trace[u].ends;
    if (u >= FirstContext) begin : gen_context
      assign store_end_o[u-FirstContext] = trace[u].store_ends;
    end
  end
  for (genvar e = 0; e < tegula_pkg::Endpoints; e++) begin : gen_endpoint
    assign fault_o[e] = fault[e].valid;
    assign fault_code_o[e] = fault[e].code;
    assign fault_where_o[e] = fault[e].where;
    assign fault_ports_o[e] = fault[e].ports;
  end
endmodule
