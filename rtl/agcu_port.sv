`include "assert.svh"

// The DRAM port of an AGCU: picks the context whose burst is served, and walks the burst piece by piece, one a cycle.
//
// The duration of a burst, max(pieces, atoms * cycles of an atom), need not be known before: the port counts atoms as it
// walks and stays busy until both are through.
module agcu_port (
    input  logic                                 clk_i,
    input  logic                                 rst_ni,
    input  logic                                 start_i,
    input  logic [tegula_pkg::AGCU_CONTEXTS-1:0] waiting_i,
    input  logic [tegula_pkg::AGCU_CONTEXTS-1:0] store_i,
    input  logic                                 buffer_free_i,
    output logic [tegula_pkg::AGCU_CONTEXTS-1:0] grant_o,
    input  fabric_pkg::job_t                     job_i, // of the granted context
    input  fabric_pkg::walk_t                    walk_i,
    input  logic [6:0]                           flits_i,
    input  logic                                 last_i,
    output logic                                 walk_we_o,
    output logic [2:0]                           context_o, // of walk_o and the ends
    output fabric_pkg::walk_t                    walk_o,
    // the piece of this cycle
    output logic                                 piece_valid_o,
    output logic                                 piece_store_o,
    output logic [63:0]                          address_o, // of the first valid element
    output logic                                 wide_o,    // elements of 4 bytes in DRAM, else 2
    output logic [6:0]                           first_o,   // valid elements of the piece
    output logic [6:0]                           count_o,
    output logic [fabric_pkg::PIECE_BITS-1:0]    piece_o,
    output logic [7:0]                           atoms_o,
    output logic [15:0]                          store_row_o,
    // last cycle of a burst
    output logic                                 load_done_o,
    output logic                                 store_end_o,
    output logic [fabric_pkg::POSTS_BITS-1:0]    store_posts_o
);
  localparam int unsigned NC = tegula_pkg::AGCU_CONTEXTS;
  localparam logic [6:0] E32 = 7'(tegula_pkg::P);
  localparam logic [6:0] E16 = 7'(2 * tegula_pkg::P);

  logic busy_q, walking_q, fresh_q, last_q;
  logic [2:0] last_context_q, context_q;
  fabric_pkg::job_t job_q, job;
  fabric_pkg::walk_t walk_q, walk;
  logic [6:0] flits_q; // of the burst not yet walked, with the one in progress
  logic [23:0] cost_q, elapsed_q;

  // Round robin: the first candidate after the context granted last.
  logic [NC-1:0] candidates;
  logic [2:0] granted;
  always_comb begin
    candidates = busy_q ? '0 : waiting_i & (store_i | {NC{buffer_free_i}});
    grant_o = '0;
    granted = '0;
    if (candidates != '0) begin
      for (int i = 2 * NC - 1; i >= 0; i--) begin
        if (i > int'({29'd0, last_context_q}) && candidates[i%NC]) begin
          grant_o = NC'(1) << (i % NC);
          granted = 3'(i % NC);
        end
      end
    end
  end

  logic go, fresh, burst_last, row_done, run_done, flit_done, walk_done, burst_done, last;
  logic [6:0] flits, length, lane_left, elements;
  logic [31:0] run_left, offset, offset_end;
  logic [19:0] take_left;
  logic [23:0] cost, elapsed;
  logic signed [63:0] address, x, y, low, high;

  always_comb begin
    go = walking_q;
    job = job_q;
    walk = walk_q;
    flits = flits_q;
    fresh = fresh_q;
    cost = cost_q;
    elapsed = elapsed_q;
    last = last_q;
    context_o = context_q;
    if (grant_o != '0) begin
      go = 1'b1;
      job = job_i;
      walk = walk_i;
      flits = flits_i;
      fresh = 1'b1;
      cost = '0;
      elapsed = '0;
      last = last_i;
      context_o = granted;
    end
  end

  assign wide_o = fabric_pkg::wide_memory(job.convert);
  assign piece_valid_o = go;
  assign piece_store_o = job.store;
  assign store_row_o = job.row + walk.flit[15:0];

  logic [23:0] cost_d;
  always_comb begin
    length = '0;
    elements = '0;
    run_left = '0;
    lane_left = '0;
    take_left = '0;
    row_done = 1'b0;
    run_done = 1'b0;
    flit_done = 1'b0;
    burst_last = 1'b0;
    offset = '0;
    offset_end = '0;
    atoms_o = '0;
    address = '0;
    x = '0;
    y = '0;
    low = '0;
    high = '0;
    first_o = '0;
    count_o = '0;
    address_o = '0;
    piece_o = '0;
    walk_o = walk;
    cost_d = cost;
    if (go) begin
      elements = fabric_pkg::wide_chip(job.convert) ? E32 : E16;
      run_left = {8'd0, job.k_radix[2]} - walk.digit[5];
      lane_left = elements - walk.lane;
      take_left = job.take - walk.taken;
      length = lane_left;
      if ({12'd0, take_left} < {25'd0, length}) length = take_left[6:0];
      if (run_left < {25'd0, length}) length = run_left[6:0];
      if (job.single) length = 7'd1;
      run_done = run_left == {25'd0, length};
      row_done = take_left == {13'd0, length};
      flit_done = row_done || lane_left == length;
      burst_last = flit_done && flits == 7'd1;

      offset = wide_o ? walk.digit[5] << 2 : walk.digit[5] << 1;
      offset_end = offset + (wide_o ? {23'd0, length, 2'd0} : {24'd0, length, 1'b0}) - 32'd1;
      atoms_o = offset_end[13:6] - offset[13:6] + ((fresh || job.single || offset[5:0] == '0) ? 8'd1 : 8'd0);
      cost_d = cost + {16'd0, atoms_o} * 24'(tegula_pkg::ATOM_CYCLES);

      address = job.base;
      x = 64'($signed(job.x_org));
      y = 64'($signed(job.y_org));
      for (int d = 0; d < 6; d++) begin
        address = address + $signed({32'd0, walk.digit[d]}) * 64'($signed(job.stride[d]));
        x = x + $signed({32'd0, walk.digit[d]}) * 64'($signed(job.x_inc[d]));
        y = y + $signed({32'd0, walk.digit[d]}) * 64'($signed(job.y_inc[d]));
      end
      high = $signed({57'd0, length});
      if (job.x_inc[5] == 24'd1 && !job.single) begin
        if (x < 0) low = -x;
        if (high > $signed({32'd0, job.x_size}) - x) high = $signed({32'd0, job.x_size}) - x;
      end else if (x < 0 || x >= $signed({32'd0, job.x_size})) begin
        high = '0;
      end
      if (y < 0 || y >= $signed({32'd0, job.y_size}) || walk.digit[0] >= {8'd0, job.m_radix[0]}
          || walk.digit[3] >= {8'd0, job.k_radix[0]})
        high = '0;
      if (high > low) begin
        first_o = low[6:0];
        count_o = 7'(high - low);
      end
      address_o = address + (wide_o ? low << 2 : low << 1);
      piece_o = {job.fill, length, count_o, first_o, burst_last, flit_done, walk.lane, job.convert};

      // where the walk stands after the piece
      walk_o.taken = walk.taken + {13'd0, length};
      walk_o.lane = flit_done ? '0 : walk.lane + length;
      if (flit_done) walk_o.flit = walk.flit + 32'd1;
      if (row_done) begin
        walk_o.taken = '0;
        walk_o.digit[5:3] = job.k_start;
        walk_o.digit[2] = walk.digit[2] + 32'd1;
        if (walk_o.digit[2] >= {8'd0, job.m_radix[2]}) begin
          walk_o.digit[2] = '0;
          walk_o.digit[1] = walk.digit[1] + 32'd1;
          if (walk_o.digit[1] >= {8'd0, job.m_radix[1]}) begin
            walk_o.digit[1] = '0;
            walk_o.digit[0] = walk.digit[0] + 32'd1;
          end
        end
      end else if (run_done) begin
        walk_o.digit[5] = '0;
        walk_o.digit[4] = walk.digit[4] + 32'd1;
        if (walk_o.digit[4] >= {8'd0, job.k_radix[1]}) begin
          walk_o.digit[4] = '0;
          walk_o.digit[3] = walk.digit[3] + 32'd1;
        end
      end else begin
        walk_o.digit[5] = walk.digit[5] + {25'd0, length};
      end
    end
  end

  assign walk_done = go && burst_last;
  assign burst_done = (walk_done || (busy_q && !walking_q)) && elapsed + 24'd1 >= cost_d;
  assign walk_we_o = walk_done && !last;
  assign load_done_o = burst_done && !job.store;
  assign store_end_o = burst_done && job.store && last;
  assign store_posts_o = job.posts;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      walking_q <= 1'b0;
      last_context_q <= 3'(NC - 1);
    end else if (start_i) begin
      busy_q <= 1'b0;
      walking_q <= 1'b0;
      last_context_q <= 3'(NC - 1);
    end else if (grant_o != '0 || busy_q) begin
      busy_q <= !burst_done;
      walking_q <= go && !walk_done;
      if (grant_o != '0) last_context_q <= granted;
    end
  end

  always_ff @(posedge clk_i) begin
    if (grant_o != '0) begin
      job_q <= job_i;
      context_q <= granted;
      last_q <= last_i;
    end
    if (go) begin
      walk_q <= walk_o;
      flits_q <= flit_done ? flits - 7'd1 : flits;
      fresh_q <= row_done || run_done;
      cost_q <= cost_d;
    end
    if (go || busy_q) elapsed_q <= elapsed + 24'd1;
  end

  `ASSERT(GrantsOneContext, $onehot0(grant_o))
  `ASSERT(GrantsOnlyWaiting, (grant_o & ~waiting_i) == '0)
  `ASSERT(GrantsOnlyWhenIdle, grant_o == '0 || !busy_q)
endmodule
