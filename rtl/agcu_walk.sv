// One step of the walk of a LOAD or STORE: the piece that begins where the walk stands, and where
// the walk stands after it. Combinational; nothing is computed unless valid_i.
//
// How long the piece is says agcu_piece.sv; of its elements those inside of the bounds of x and y
// come from the memory. Places go on by an addition:
// a piece by its length or by the innermost stride, a carry to a digit from the place where the
// digits within it are 0 by that digit's stride.
module agcu_walk (
  input  logic                        valid_i,
  input  fabric_pkg::job_t            job_i,
  input  fabric_pkg::walk_t           walk_i,
  input  logic                        flits_last_i,  // the flit is the burst's last
  input  fabric_pkg::span_t           span_i,        // the piece where the walk stands
  input  fabric_pkg::chosen_t         chosen_i,      // by the row's index, if rows have one
  input  fabric_pkg::atom_t           atom_i,        // what the port has
  output fabric_pkg::memory_request_t request_o,
  output fabric_pkg::timed_t        timed_o,
  output fabric_pkg::piece_t          piece_o,
  output fabric_pkg::atom_t           atom_o,        // ... behind the piece
  output logic                        row_end_o,     // the piece ends its row
  output fabric_pkg::walk_t           walk_o
);
  logic wide;
  assign wide = fabric_pkg::wide_memory(job_i.convert);

  // The length of the piece, and what it ends.
  logic row_done, run_done, flit_done;
  logic [6:0] length;
  assign length = valid_i ? span_i.length : '0;
  assign run_done = valid_i && span_i.run_end;
  assign row_done = valid_i && span_i.row_end;
  assign flit_done = valid_i && span_i.flit_end;

  // The coordinates of its first element, and the elements low .. high-1 that are in bounds: all of
  // `below` to the left of them are not, and `room` are left to the right; what is beyond any piece
  // is cut.
  fabric_pkg::place_t m, k, at;
  logic [52:0] ahead;
  logic [7:0] below, room;
  logic [6:0] low, high, count;
  assign m = walk_i.place[2];
  assign k = walk_i.place[5];
  always_comb begin
    at = fabric_pkg::moved(m, k);
    ahead = {21'd0, job_i.x_size} - {m.x[51], m.x} - {k.x[51], k.x};
    below = '0;
    if (at.x[51]) below = at.x[50:7] == '1 ? 8'd128 - {1'b0, at.x[6:0]} : '1;
    room = ahead[51:7] != '0 ? 8'd128 : {1'b0, ahead[6:0]};
    if (ahead[52]) room = '0;
    high = {1'b0, length} < room ? length : room[6:0];
    if (job_i.x_inc[5] != 24'd1 || job_i.single) begin
      high = length;
      if (below != '0 || room == '0) high = '0;
      below = '0;
    end
    // Outside: before the first row or behind the last one, or a digit is.
    if (at.y[43] || at.y >= {12'd0, job_i.y_size} || walk_i.digit[0] >= {8'd0, job_i.m_radix[0]} ||
        walk_i.digit[3] >= {8'd0, job_i.k_radix[0]}) begin
      high = '0;
    end
    low = below[6:0];
    count = {1'b0, high} > below ? high - low : '0;
  end

  logic indexed;
  assign indexed = job_i.index_size != '0;

  // The atoms that it asks for: what lies in the one that the port has is there. How far its end
  // lies ahead is a difference of three, of which one addition is left: the time of a burst waits
  // for it.
  logic [8:0] bytes, missing;
  logic [63:0] sum, ahead_of_piece;
  logic [62:0] carry;
  logic [3:0] atoms;
  logic near;
  assign bytes = wide ? {length, 2'd0} : {1'b0, length, 1'b0};
  assign sum = atom_i.limit ^ ~m.address ^ ~k.address;
  assign carry = (atom_i.limit[62:0] & ~(m.address[62:0] & k.address[62:0])) |
                 ~(m.address[62:0] | k.address[62:0]);
  assign ahead_of_piece = sum + {carry, 1'b1} + 64'd1;
  assign near = atom_i.valid && (ahead_of_piece[63:6] == '0 || ahead_of_piece == 64'd64);
  always_comb begin
    missing = bytes;
    if (near) missing = bytes > ahead_of_piece[8:0] ? bytes - ahead_of_piece[8:0] : '0;
    atoms = {1'b0, missing[8:6]} + 4'(missing[5:0] != '0);
    atom_o = atom_i;
    if (atoms != '0) begin
      atom_o.valid = 1'b1;
      atom_o.limit = (near ? atom_i.limit : at.address) + {54'd0, atoms, 6'd0};
    end
    // Where the next row is, its index says, and time does not depend on it.
    if (row_done && indexed) atom_o.valid = 1'b0;
  end

  // What it asks of the memory.
  always_comb begin
    request_o = '0;
    timed_o = '0;
    if (valid_i) begin
      request_o.valid = 1'b1;
      request_o.atoms = {4'd0, atoms};
      request_o.wide = wide;
      request_o.address = at.address +
          (wide ? {55'd0, low, 2'd0} : {56'd0, low, 1'b0}) + (indexed ? chosen_i.offset : '0);
      if (count != '0 && (!indexed || chosen_i.valid)) begin
        request_o.first = low;
        request_o.count = count;
      end
      timed_o.count = count;
      timed_o.offset = chosen_i.offset;
      timed_o.digit = walk_i.digit[2:0];
      timed_o.radix = job_i.m_radix[2:1];
      timed_o.size = job_i.index_size;
      timed_o.stride = job_i.index_stride;
    end
  end

  assign piece_o.fill = job_i.fill;
  assign piece_o.length = length;
  assign piece_o.count = request_o.count;
  assign piece_o.first = request_o.first;
  assign piece_o.flit_last = flit_done;
  assign piece_o.burst_last = flit_done && flits_last_i;
  assign piece_o.lane = walk_i.lane;
  assign piece_o.convert = job_i.convert;

  // The place of each digit if it goes on; the innermost by the piece.
  logic [5:0][fabric_pkg::PlaceBits-1:0] next;
  fabric_pkg::place_t piece_step;
  always_comb begin
    next = '0;
    piece_step = '0;
    if (valid_i) begin
      piece_step = fabric_pkg::step_of(job_i.stride[5], job_i.x_inc[5], job_i.y_inc[5]);
      if (!job_i.single) begin
        piece_step.address = wide ? {55'd0, length, 2'd0} : {56'd0, length, 1'b0};
        piece_step.x = job_i.x_inc[5] == 24'd1 ? {45'd0, length} : '0;
      end
      for (int d = 0; d < 5; d++) begin
        next[d] = fabric_pkg::moved(
            walk_i.place[d], fabric_pkg::step_of(job_i.stride[d], job_i.x_inc[d], job_i.y_inc[d]));
      end
      next[5] = fabric_pkg::moved(walk_i.place[5], piece_step);
    end
  end

  // Where the walk stands behind the piece.
  logic [31:0] next_m1, next_m0, next_k1;
  always_comb begin
    next_m0 = walk_i.digit[2] + 32'd1;
    next_m1 = walk_i.digit[1] + 32'd1;
    next_k1 = walk_i.digit[4] + 32'd1;
    walk_o = walk_i;
    walk_o.taken = walk_i.taken + {13'd0, length};
    walk_o.lane = flit_done ? '0 : walk_i.lane + length;
    if (flit_done) begin
      walk_o.run_pos = walk_i.run_pos + 16'd1;
      if (walk_o.run_pos == job_i.dst_inner) begin
        walk_o.run_pos = '0;
        walk_o.run_row = walk_i.run_row + job_i.dst_stride;
      end
    end
    if (row_done) begin
      walk_o.row = walk_i.row + 16'd1;
      walk_o.taken = '0;
      walk_o.digit[5:3] = job_i.k_start;
      walk_o.place[5:3] = job_i.k_place;
      walk_o.digit[2] = next_m0;
      walk_o.place[2] = next[2];
      if (next_m0 >= {8'd0, job_i.m_radix[2]}) begin
        walk_o.digit[2] = '0;
        walk_o.digit[1] = next_m1;
        walk_o.place[2:1] = {2{next[1]}};
        if (next_m1 >= {8'd0, job_i.m_radix[1]}) begin
          walk_o.digit[1] = '0;
          walk_o.digit[0] = walk_i.digit[0] + 32'd1;
          walk_o.place[2:0] = {3{next[0]}};
        end
      end
    end else if (run_done) begin
      walk_o.digit[5] = '0;
      walk_o.digit[4] = next_k1;
      walk_o.place[5:4] = {2{next[4]}};
      if (next_k1 >= {8'd0, job_i.k_radix[1]}) begin
        walk_o.digit[4] = '0;
        walk_o.digit[3] = walk_i.digit[3] + 32'd1;
        walk_o.place[5:3] = {3{next[3]}};
      end
    end else begin
      walk_o.digit[5] = walk_i.digit[5] + {25'd0, length};
      walk_o.place[5] = next[5];
    end
  end

  assign row_end_o = row_done;
endmodule
