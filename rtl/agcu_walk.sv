// One step of the walk of a LOAD or STORE: the piece that begins where the walk stands, and where
// the walk stands after it. Combinational; nothing is computed unless valid_i.
//
// A piece ends with its flit, its row, or its run of consecutive elements in the memory; of its
// elements those inside of the bounds of x and y come from the memory.
module agcu_walk (
  input  logic                        valid_i,
  input  fabric_pkg::job_t            job_i,
  input  fabric_pkg::walk_t           walk_i,
  input  logic                        flits_last_i,  // the flit is the burst's last
  input  logic                        fresh_i,       // the piece begins a run, or a burst
  input  fabric_pkg::chosen_t         chosen_i,      // by the row's index, if rows have one
  output fabric_pkg::memory_request_t request_o,
  output fabric_pkg::piece_t          piece_o,
  output logic                        run_end_o,     // the piece ends its row or its run
  output fabric_pkg::walk_t           walk_o
);
  localparam logic [6:0] Elements32 = 7'(tegula_pkg::P);
  localparam logic [6:0] Elements16 = 7'(2 * tegula_pkg::P);

  logic wide;
  assign wide = fabric_pkg::wide_memory(job_i.convert);

  logic row_done, run_done, flit_done;
  logic [6:0] length, lane_left, elements;
  logic [31:0] run_left, offset, offset_end;
  logic [19:0] take_left;
  logic signed [63:0] address, x, y, low, high;
  logic [31:0] spread;  // of the row, for a memory's time
  logic [24:0] nominal;

  always_comb begin
    length = '0;
    elements = '0;
    run_left = '0;
    lane_left = '0;
    take_left = '0;
    row_done = 1'b0;
    run_done = 1'b0;
    flit_done = 1'b0;
    offset = '0;
    offset_end = '0;
    address = '0;
    x = '0;
    y = '0;
    low = '0;
    high = '0;
    spread = '0;
    nominal = '0;
    request_o = '0;
    piece_o = '0;
    walk_o = walk_i;
    if (valid_i) begin
      elements = fabric_pkg::wide_chip(job_i.convert) ? Elements32 : Elements16;
      run_left = {8'd0, job_i.k_radix[2]} - walk_i.digit[5];
      lane_left = elements - walk_i.lane;
      take_left = job_i.take - walk_i.taken;
      length = lane_left;
      if ({12'd0, take_left} < {25'd0, length}) length = take_left[6:0];
      if (run_left < {25'd0, length}) length = run_left[6:0];
      if (job_i.single) length = 7'd1;
      run_done = run_left == {25'd0, length};
      row_done = take_left == {13'd0, length};
      flit_done = row_done || lane_left == length;

      // Atoms that it touches, but for one that the piece before it touched last.
      offset = wide ? walk_i.digit[5] << 2 : walk_i.digit[5] << 1;
      offset_end = offset + (wide ? {23'd0, length, 2'd0} : {24'd0, length, 1'b0}) - 32'd1;
      request_o.atoms = offset_end[13:6] - offset[13:6];
      if (fresh_i || job_i.single || offset[5:0] == '0) request_o.atoms = request_o.atoms + 8'd1;

      // Address and coordinates of its first element.
      address = job_i.base;
      x = 64'($signed(job_i.x_org));
      y = 64'($signed(job_i.y_org));
      for (int d = 0; d < 6; d++) begin
        address = address + $signed({32'd0, walk_i.digit[d]}) * 64'($signed(job_i.stride[d]));
        x = x + $signed({32'd0, walk_i.digit[d]}) * 64'($signed(job_i.x_inc[d]));
        y = y + $signed({32'd0, walk_i.digit[d]}) * 64'($signed(job_i.y_inc[d]));
      end

      // Elements low .. high-1 are valid.
      high = $signed({57'd0, length});
      if (job_i.x_inc[5] == 24'd1 && !job_i.single) begin
        if (x < 0) low = -x;
        if (high > $signed({32'd0, job_i.x_size}) - x) high = $signed({32'd0, job_i.x_size}) - x;
      end else if (x < 0 || x >= $signed({32'd0, job_i.x_size})) begin
        high = '0;
      end
      if (y < 0 || y >= $signed({32'd0, job_i.y_size}) ||
          walk_i.digit[0] >= {8'd0, job_i.m_radix[0]} ||
          walk_i.digit[3] >= {8'd0, job_i.k_radix[0]}) begin
        high = '0;
      end
      request_o.valid = 1'b1;
      request_o.wide = wide;
      request_o.address = address + (wide ? low << 2 : low << 1);
      request_o.timed_address = request_o.address;
      if (high > low) begin
        request_o.first = low[6:0];
        request_o.count = 7'(high - low);
      end
      request_o.timed_count = request_o.count;
      if (job_i.index_size != '0) begin
        spread = (job_i.m_first + {16'd0, walk_i.row}) * 32'h9E37_79B1;
        nominal = 25'(({25'd0, spread} * {32'd0, job_i.index_size}) >> 32);
        request_o.timed_address = request_o.timed_address +
            $signed({39'd0, nominal}) * 64'($signed(job_i.index_stride));
        request_o.address = request_o.address +
            $signed({39'd0, chosen_i.row}) * 64'($signed(job_i.index_stride));
        if (!chosen_i.valid) begin
          request_o.first = '0;
          request_o.count = '0;
        end
      end

      piece_o.fill = job_i.fill;
      piece_o.length = length;
      piece_o.count = request_o.count;
      piece_o.first = request_o.first;
      piece_o.flit_last = flit_done;
      piece_o.burst_last = flit_done && flits_last_i;
      piece_o.lane = walk_i.lane;
      piece_o.convert = job_i.convert;

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
        walk_o.digit[2] = walk_i.digit[2] + 32'd1;
        if (walk_o.digit[2] >= {8'd0, job_i.m_radix[2]}) begin
          walk_o.digit[2] = '0;
          walk_o.digit[1] = walk_i.digit[1] + 32'd1;
          if (walk_o.digit[1] >= {8'd0, job_i.m_radix[1]}) begin
            walk_o.digit[1] = '0;
            walk_o.digit[0] = walk_i.digit[0] + 32'd1;
          end
        end
      end else if (run_done) begin
        walk_o.digit[5] = '0;
        walk_o.digit[4] = walk_i.digit[4] + 32'd1;
        if (walk_o.digit[4] >= {8'd0, job_i.k_radix[1]}) begin
          walk_o.digit[4] = '0;
          walk_o.digit[3] = walk_i.digit[3] + 32'd1;
        end
      end else begin
        walk_o.digit[5] = walk_i.digit[5] + {25'd0, length};
      end
    end
  end

  assign run_end_o = row_done || run_done;
endmodule
