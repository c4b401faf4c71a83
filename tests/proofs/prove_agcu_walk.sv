// One step of an AGCU's walk against the walk of single elements that docs/machine.md counts: a piece is as many elements as lie
// behind each other in the run, the flit and the row; each of them is at its own address if its own coordinates are in bounds, and
// is not there if they are not; the walk stands behind it where so many single elements would have taken it, and its places, kept by
// additions, are again the sums of products of digits and strides; its atoms are those that a walk of single bytes asks for,
// which takes the next 64 where a byte is not in those that it took last. For
// every state of a walk whose places are such sums; digits of two bits, runs of up to 255 elements (16 of single ones), strides
// and increments of four bits, bounds of five, flits of four or two elements.
// modules: agcu_walk agcu_piece
// constants: P=2
// products: narrow
// planted: agcu_piece.sv: if (run_left < {25'd0, length}) length = run_left[6:0]; => if (run_left < {25'd0, length}) length = run_left[6:0] - 7'd1;
// planted: agcu_walk.sv: 8'd128 - {1'b0, at.x[6:0]} => 8'd129 - {1'b0, at.x[6:0]}
// planted: agcu_walk.sv: {m.x[51], m.x} - {k.x[51], k.x} => {m.x[51], m.x} - {k.x[51], k.x} + 53'd1
// planted: agcu_walk.sv: walk_o.place[2:1] = {2{next[1]}}; => walk_o.place[2] = next[1];
// planted: agcu_walk.sv: walk_o.place[5:3] = {3{next[3]}}; => walk_o.place[5:3] = {3{next[4]}};
// planted: agcu_walk.sv: job_i.x_inc[5] == 24'd1 ? {45'd0, length} : '0 => {45'd0, length}
// planted: agcu_walk.sv: if (near) missing => if (1'b0) missing
// planted: agcu_walk.sv: || ahead_of_piece == 64'd64) => )
// planted: agcu_walk.sv: atom_i.valid && (ahead => (ahead
// planted: agcu_walk.sv: {carry, 1'b1} => {carry, 1'b0}
// planted: agcu_walk.sv: if (row_done && indexed) atom_o => if (row_done) atom_o
// planted: agcu_walk.sv: (near ? atom_i.limit : at.address) => at.address
// planted: agcu_walk.sv: walk_o.digit[5:3] = job_i.k_start; => walk_o.digit[5:4] = job_i.k_start[2:1];
// planted: agcu_walk.sv: walk_i.digit[3] >= {8'd0, job_i.k_radix[0]}) begin => walk_i.digit[3] > {8'd0, job_i.k_radix[0]}) begin
// planted: agcu_walk.sv: (wide ? {55'd0, low, 2'd0} : => (wide ? {56'd0, low, 1'd0} :
// planted: agcu_walk.sv: if (walk_o.run_pos == job_i.dst_inner) begin => if (walk_i.run_pos == job_i.dst_inner) begin
// planted: agcu_walk.sv: walk_o.lane = flit_done ? '0 : walk_i.lane + length; => walk_o.lane = walk_i.lane + length;
// planted: agcu_walk.sv: piece_o.burst_last = flit_done && flits_last_i; => piece_o.burst_last = flits_last_i;
// Where a walk stands behind the element at which it stands. Its place is counted in a flit, a row, a run.
module prove_walk_step (
  input fabric_pkg::walk_t at_i,
  input fabric_pkg::job_t job_i,
  input logic ends_row_i,
  input logic ends_flit_i,
  output fabric_pkg::walk_t next_o
);
  logic [31:0] run, k1, m1, m0;
  assign run = at_i.digit[5] + 32'd1;
  assign k1 = at_i.digit[4] + 32'd1;
  assign m0 = at_i.digit[2] + 32'd1;
  assign m1 = at_i.digit[1] + 32'd1;
  always_comb begin
    next_o = at_i;
    next_o.taken = at_i.taken + 20'd1;
    next_o.lane = at_i.lane + 7'd1;
    next_o.digit[5] = run;
    if (run == {8'd0, job_i.k_radix[2]}) begin
      next_o.digit[5] = '0;
      next_o.digit[4] = k1;
      if (k1 >= {8'd0, job_i.k_radix[1]}) begin
        next_o.digit[4] = '0;
        next_o.digit[3] = at_i.digit[3] + 32'd1;
      end
    end
    if (ends_row_i) begin
      next_o.taken = '0;
      next_o.row = at_i.row + 16'd1;
      next_o.digit[3] = job_i.k_start[0];
      next_o.digit[4] = job_i.k_start[1];
      next_o.digit[5] = job_i.k_start[2];
      next_o.digit[2] = m0;
      if (m0 >= {8'd0, job_i.m_radix[2]}) begin
        next_o.digit[2] = '0;
        next_o.digit[1] = m1;
        if (m1 >= {8'd0, job_i.m_radix[1]}) begin
          next_o.digit[1] = '0;
          next_o.digit[0] = at_i.digit[0] + 32'd1;
        end
      end
    end
    if (ends_flit_i) begin
      next_o.lane = '0;
      next_o.run_pos = at_i.run_pos + 16'd1;
      if (at_i.run_pos + 16'd1 == job_i.dst_inner) begin
        next_o.run_pos = '0;
        next_o.run_row = at_i.run_row + job_i.dst_stride;
      end
    end
  end
endmodule

// The places at these digits, as docs/machine.md has them: in the row walk with base and origin, in the K walk from 0 on.
module prove_places (
  input logic [5:0][31:0] digit_i,
  input logic [5:0][3:0] strides_i,
  input logic [5:0][3:0] x_incs_i,
  input logic [5:0][3:0] y_incs_i,
  input logic [9:0] base_i,
  input logic [9:0] org_i,
  output logic [5:0][159:0] place_o
);
  logic [5:0][159:0] term;  // each digit's, of 14 bits: strides have four
  logic [13:0] factor, address, x, y;
  fabric_pkg::place_t origin;
  always_comb begin
    for (int d = 0; d < 6; d++) begin
      factor = {5'd0, digit_i[d][8:0]};
      address = factor * {{10{strides_i[d][3]}}, strides_i[d]};
      x = factor * {{10{x_incs_i[d][3]}}, x_incs_i[d]};
      y = factor * {{10{y_incs_i[d][3]}}, y_incs_i[d]};
      term[d] = {{30{y[13]}}, y, {38{x[13]}}, x, {50{address[13]}}, address};
    end
    origin.address = {54'd0, base_i};
    origin.x = {{47{org_i[4]}}, org_i[4:0]};
    origin.y = {{39{org_i[9]}}, org_i[9:5]};
  end
  assign place_o[0] = fabric_pkg::moved(origin, term[0]);
  assign place_o[1] = fabric_pkg::moved(place_o[0], term[1]);
  assign place_o[2] = fabric_pkg::moved(place_o[1], term[2]);
  assign place_o[3] = term[3];
  assign place_o[4] = fabric_pkg::moved(term[3], term[4]);
  assign place_o[5] = fabric_pkg::moved(place_o[4], term[5]);
endmodule

module prove_agcu_walk (
  input logic clk_i,
  input fabric_pkg::job_t job_i,
  input fabric_pkg::walk_t walk_i,
  input logic [5:0][3:0] stride_i,
  input logic [5:0][3:0] x_inc_i,
  input logic [5:0][3:0] y_inc_i,
  input logic [9:0] base_i,
  input logic [9:0] org_i,
  input logic [9:0] size_i,
  input logic [5:0] index_offset_i,
  input logic chosen_i,
  input logic indexed_i,
  input logic flits_last_i,
  input logic has_atom_i,
  input logic [15:0] limit_i
);
  // The job and the state of its walk, of the sizes above.
  fabric_pkg::job_t job;
  fabric_pkg::walk_t walk, after;
  fabric_pkg::chosen_t chosen;
  fabric_pkg::memory_request_t request;
  fabric_pkg::timed_t timed;
  fabric_pkg::piece_t piece;
  logic wide, row_end;
  logic [5:0][159:0] place, start_place, after_place;
  logic [3:0] bytes;  // of an element in memory
  logic [2:0] elements;  // of a flit
  assign wide = job_i.convert == tegula_pkg::Cvt32 || job_i.convert == tegula_pkg::CvtFp32Bf16 || job_i.convert == tegula_pkg::CvtFp32Fp16 ||
                job_i.convert == tegula_pkg::CvtFp32Tf32;
  assign bytes = wide ? 4'd4 : 4'd2;
  assign elements = job_i.convert == tegula_pkg::Cvt16 || job_i.convert == tegula_pkg::CvtFp32Bf16 ||
                    job_i.convert == tegula_pkg::CvtFp32Fp16 ? 3'd4 : 3'd2;
  always_comb begin
    job = job_i;
    walk = walk_i;
    for (int d = 0; d < 6; d++) begin
      job.stride[d] = {{36{stride_i[d][3]}}, stride_i[d]};
      job.x_inc[d] = {{20{x_inc_i[d][3]}}, x_inc_i[d]};
      job.y_inc[d] = {{12{y_inc_i[d][3]}}, y_inc_i[d]};
      walk.digit[d] = {30'd0, walk_i.digit[d][1:0]};
    end
    walk.digit[5] = {24'd0, walk_i.digit[5][7:0]};
    job.x_size = {27'd0, size_i[4:0]};
    job.y_size = {27'd0, size_i[9:5]};
    for (int d = 0; d < 3; d++) job.m_radix[d] = {22'd0, job_i.m_radix[d][1:0]};
    for (int d = 0; d < 3; d++) job.k_start[d] = start[3+d];
    job.k_radix[0] = {22'd0, job_i.k_radix[0][1:0]};
    job.k_radix[1] = {22'd0, job_i.k_radix[1][1:0]};
    job.k_radix[2] = {16'd0, job_i.k_radix[2][7:0]};
    job.take = {12'd0, job_i.take[7:0]};
    walk.taken = {12'd0, walk_i.taken[7:0]};
    job.single = stride_i[5] != bytes || (x_inc_i[5] != 4'd0 && x_inc_i[5] != 4'd1) || y_inc_i[5] != 4'd0;
    job.index_size = {24'd0, indexed_i};
    for (int d = 0; d < 3; d++) job.k_place[d] = start_place[3+d];
    walk.place = place;
    chosen.valid = chosen_i;
    chosen.offset = {{58{index_offset_i[5]}}, index_offset_i};
  end
  prove_places u_place (.digit_i(walk.digit), .strides_i(stride_i), .x_incs_i(x_inc_i), .y_incs_i(y_inc_i), .base_i, .org_i, .place_o(place));
  logic [5:0][31:0] start;  // digits of a row's start
  always_comb begin
    start = '0;
    for (int d = 0; d < 3; d++) start[3+d] = {30'd0, job_i.k_start[d][1:0]};
  end
  prove_places u_start (.digit_i(start), .strides_i(stride_i), .x_incs_i(x_inc_i), .y_incs_i(y_inc_i), .base_i, .org_i, .place_o(start_place));
  always_comb begin
    assume (job_i.convert != 3'd7 && (!job.single || walk.digit[5] < 32'd16));
    assume (walk.digit[5] < {8'd0, job.k_radix[2]} && walk.taken < job.take && walk.lane < {4'd0, elements});
  end
  fabric_pkg::span_t span;
  agcu_piece u_piece (.job_i(job), .walk_i(walk), .span_o(span));
  fabric_pkg::atom_t atom, atom_after;
  assign atom = {has_atom_i, {48{limit_i[15]}}, limit_i};
  agcu_walk u_walk (
    .valid_i(1'b1), .job_i(job), .walk_i(walk), .flits_last_i, .span_i(span), .chosen_i(chosen), .atom_i(atom), .atom_o(atom_after), .request_o(request), .timed_o(timed), .piece_o(piece),
    .row_end_o(row_end), .walk_o(after)
  );

  // Coordinates of the first element, as docs/machine.md has them; of the j-th they are j increments further.
  fabric_pkg::place_t first;
  logic signed [63:0] address;
  logic signed [51:0] x;
  logic signed [43:0] y;
  assign first = fabric_pkg::moved(place[2], place[5]);
  assign address = first.address;
  assign x = first.x;
  assign y = first.y;
  logic [63:0] index_offset;
  assign index_offset = indexed_i ? chosen.offset : 64'd0;
  logic outside;  // all of them are
  assign outside = y < 0 || y >= $signed({39'd0, size_i[9:5]}) || walk.digit[0] >= {8'd0, job.m_radix[0]} ||
                   walk.digit[3] >= {8'd0, job.k_radix[0]} || (indexed_i && !chosen_i);

  logic signed [11:0] x_at [4];  // the sums above have no more bits
  fabric_pkg::walk_t at, at1, at2, at3, at4;
  logic [3:0] ends_row, ends_run, ends_flit, inside;
  always_comb begin
    for (int j = 0; j < 4; j++) begin
      ends_row[j] = walk.taken + 20'(j) + 20'd1 == job.take;
      ends_run[j] = walk.digit[5] + 32'(j) + 32'd1 == {8'd0, job.k_radix[2]};
      ends_flit[j] = ends_row[j] || walk.lane + 7'(j) + 7'd1 == {4'd0, elements};
      x_at[j] = x[11:0] + 12'(j) * 12'($signed(x_inc_i[5]));
      inside[j] = !outside && x_at[j] >= 0 && x_at[j] < $signed({7'd0, size_i[4:0]});
    end
  end
  prove_walk_step u_step0 (.at_i(walk), .job_i(job), .ends_row_i(ends_row[0]), .ends_flit_i(ends_flit[0]), .next_o(at1));
  prove_walk_step u_step1 (.at_i(at1), .job_i(job), .ends_row_i(ends_row[1]), .ends_flit_i(ends_flit[1]), .next_o(at2));
  prove_walk_step u_step2 (.at_i(at2), .job_i(job), .ends_row_i(ends_row[2]), .ends_flit_i(ends_flit[2]), .next_o(at3));
  prove_walk_step u_step3 (.at_i(at3), .job_i(job), .ends_row_i(ends_row[3]), .ends_flit_i(ends_flit[3]), .next_o(at4));
  logic [2:0] length, atoms;
  fabric_pkg::atom_t took;
  logic [17:0] ahead;
  always_comb begin
    length = 3'd4;
    for (int j = 3; j >= 0; j--) if (ends_row[j] || ends_run[j] || ends_flit[j]) length = 3'(j) + 3'd1;
    if (job.single) length = 3'd1;
    // Bytes; the address of the first has 14 bits and a sign, the limit 16: 18 tell how far it is.
    atoms = '0;
    took = {has_atom_i, {48{limit_i[15]}}, limit_i};
    for (int b = 0; b < 16; b++) begin
      ahead = took.limit[17:0] - address[17:0] - 18'(b);
      if (b < {29'd0, length} * {28'd0, bytes} && (!took.valid || ahead == 18'd0 || ahead > 18'd64)) begin
        atoms = atoms + 3'd1;
        took = {1'b1, address + 64'(b) + 64'd64};
      end
    end
    if (indexed_i && ends_row[2'(length - 3'd1)]) took.valid = 1'b0;
    at = length == 3'd1 ? at1 : length == 3'd2 ? at2 : length == 3'd3 ? at3 : at4;
  end

  prove_places u_after (.digit_i(at.digit), .strides_i(stride_i), .x_incs_i(x_inc_i), .y_incs_i(y_inc_i), .base_i, .org_i, .place_o(after_place));
  logic [1:0] ends;
  assign ends = 2'(length - 3'd1);
  always_ff @(posedge clk_i) begin
    assert (request.valid && piece.length == {4'd0, length} && request.atoms == {5'd0, atoms});
    assert (piece.lane == walk.lane && piece.convert == job_i.convert && piece.fill == job_i.fill);
    assert (piece.flit_last == ends_flit[ends] && piece.burst_last == (ends_flit[ends] && flits_last_i));
    assert (row_end == ends_row[ends]);
    assert (atom_after.valid == took.valid && (!took.valid || atom_after.limit == took.limit));
    assert (piece.first == request.first && piece.count == request.count);
    assert (timed.count == piece.count || (indexed_i && !chosen_i && piece.count == 7'd0));
    for (int j = 0; j < 4; j++) begin
      if (3'(j) < length) begin
        assert (inside[j] == (7'(j) >= piece.first && 7'(j) < piece.first + piece.count));
        if (inside[j] && piece.first == 7'(j)) assert (request.address == address + (wide ? 64'(j) << 2 : 64'(j) << 1) + index_offset);
      end
    end
    assert (after.row == at.row && after.run_row == at.run_row && after.run_pos == at.run_pos && after.lane == at.lane && after.taken == at.taken);
    assert (after.digit == at.digit);
    assert (after.place == after_place);
  end
endmodule
