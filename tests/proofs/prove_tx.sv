// The transmit unit: an instruction reads each of its flits once, in the order of its source's runs, and each leaves one cycle later
// on the instruction's lane, for the rows of its destination's runs; a post goes with the last one alone, which ends the instruction.
// Bursts ask for as many flits as are left, at most two here, and for the farthest of the destinations. It is idle in between.
// Instructions of one to five flits, runs of one to three rows; of row numbers the lowest two bits, which no other bits change.
// modules: row_walk burst_source tx
// constants: BurstFlits=2
// planted: tx.sv: assign go_last = late ? left_q == '0 : left_q <= BurstFlits; => assign go_last = left_q < BurstFlits;
// planted: tx.sv: assign issue_o = head_valid_i && !busy_q; => assign issue_o = head_valid_i && (!busy_q || end_o);
// planted: tx.sv: if (go) first_q <= 1'b0; => ;
// planted: tx.sv: if (issue_o || (gap_q && left_q != '0)) req_q <= 1'b1; => if (issue_o || gap_q) req_q <= 1'b1;
// planted: tx.sv: left_q <= left_q - {9'd0, len}; => left_q <= left_q - BurstFlits;
// planted: tx.sv: .stride_i(head_i.src_stride), => .stride_i(head_i.dst_stride),
// planted: tx.sv: for (int p = 16; p >= 0; p--) if (route_q.mask[p]) => for (int p = 16; p > 0; p--) if (route_q.mask[p])
module prove_tx (
  input logic        clk_i,
  input logic        start_i,
  input logic        head_valid_i,
  input logic [2:0]  flits_i,
  input logic [1:0]  dir_i,
  input logic [1:0]  src_inner_i,
  input logic [1:0]  dst_inner_i,
  input logic [1:0]  src_stride_i,
  input logic [1:0]  dst_stride_i,
  input logic [1:0]  src_addr_i,
  input logic [1:0]  dst_addr_i,
  input logic [16:0] mask_i,
  input logic        post_i,
  input logic [9:0]  sem_i,
  input logic        grant_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  tegula_pkg::tx_instr_t head;
  always_comb begin
    head = '0;
    head.dir = dir_i;
    head.flits = {13'd0, flits_i};
    head.src_inner = {14'd0, src_inner_i};
    head.src_stride = {14'd0, src_stride_i};
    head.dst_inner = {14'd0, dst_inner_i};
    head.dst_stride = {14'd0, dst_stride_i};
    head.dst_mask = mask_i;
    head.dst_post = post_i;
    head.dst_sem = sem_i;
  end
  fabric_pkg::lane_request_t request;
  fabric_pkg::side_t side;
  logic issue, ends, idle, read;
  logic [15:0] row;
  logic [3:0] req, grant, side_dir;
  tx u_tx (
    .clk_i, .rst_ni(rst_nq), .start_i, .defect_i(8'd0), .head_valid_i, .head_i(head), .src_addr_i({14'd0, src_addr_i}),
    .dst_addr_i({14'd0, dst_addr_i}), .issue_o(issue), .end_o(ends), .idle_for_sync_o(idle), .read_o(read), .read_row_o(row),
    .req_o(req), .request_o(request), .grant_i(grant), .side_dir_o(side_dir), .side_o(side)
  );

  // The arbiter grants what it is asked for, at the earliest with the last read of the burst before.
  logic [1:0] reading_q;  // flits of granted bursts that are not read
  assign grant = grant_i && reading_q <= 2'd1 ? req : '0;
  always_comb if (head_valid_i) assume (flits_i >= 3'd1 && flits_i <= 3'd5 && src_inner_i != 2'd0 && dst_inner_i != 2'd0);

  // The instruction, and which of its flits comes next.
  logic active_q, post_q;
  logic [2:0] flits_q, asked_q, done_q;  // flits in all, granted, read
  logic [1:0] dir_q, src_inner_q, dst_inner_q, burst;
  logic [1:0] src_stride_q, dst_stride_q, src_addr_q, dst_addr_q;
  logic [16:0] mask_q;
  logic [9:0] sem_q;
  assign burst = flits_q - asked_q >= 3'd2 ? 2'd2 : 2'd1;
  function automatic logic [1:0] row_of(input logic [1:0] first, input logic [1:0] stride, input logic [1:0] inner, input logic [2:0] k);
    if (inner == 2'd1) row_of = first + (k[0] ? stride : 2'd0) + (k[1] ? stride << 1 : 2'd0);
    else if (inner == 2'd2) row_of = first + {1'b0, k[0]} + (k[1] ? stride : 2'd0) + (k[2] ? stride << 1 : 2'd0);
    else row_of = k < 3'd3 ? first + k[1:0] : first + stride + k[1:0] - 2'd3;
  endfunction
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {active_q, reading_q, flits_q, asked_q, done_q} <= '0;
    else if (start_i) {active_q, reading_q, flits_q, asked_q, done_q} <= '0;
    else begin
      reading_q <= grant != '0 ? burst : reading_q - 2'(reading_q != 2'd0);
      if (grant != '0) asked_q <= asked_q + {1'b0, burst};
      if (reading_q != 2'd0) done_q <= done_q + 3'd1;
      if (active_q && reading_q != 2'd0 && done_q + 3'd1 == flits_q) active_q <= 1'b0;
      if (head_valid_i && !active_q) {active_q, flits_q, asked_q, done_q} <= {1'b1, flits_i, 6'd0};
    end
  end
  always_ff @(posedge clk_i) begin
    if (head_valid_i && !active_q) begin
      {dir_q, src_inner_q, dst_inner_q} <= {dir_i, src_inner_i, dst_inner_i};
      {src_stride_q, dst_stride_q, src_addr_q, dst_addr_q} <= {src_stride_i, dst_stride_i, src_addr_i, dst_addr_i};
      {mask_q, post_q, sem_q} <= {mask_i, post_i, sem_i};
    end
  end

  // Destinations up to and from a position on.
  logic [16:0] beyond;
  assign beyond = dir_q[0] ? mask_q & ((17'd1 << request.farthest) - 17'd1) : mask_q >> request.farthest >> 1;

  // The flit of the read before.
  logic read_q, last_q;
  logic [1:0] row_q;
  always_ff @(posedge clk_i) begin
    read_q <= rst_nq && !start_i && reading_q != 2'd0;
    last_q <= done_q + 3'd1 == flits_q;
    row_q <= row_of(dst_addr_q, dst_stride_q, dst_inner_q, done_q);
  end
  logic [1:0] flit_dir_q;
  logic [16:0] flit_mask_q;
  logic [9:0] flit_sem_q;
  logic flit_post_q;
  always_ff @(posedge clk_i) {flit_dir_q, flit_mask_q, flit_sem_q, flit_post_q} <= {dir_q, mask_q, sem_q, post_q};
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      assert (issue == (head_valid_i && !active_q) && idle == !active_q);
      assert (read == (reading_q != 2'd0));
      if (read) assert (row[1:0] == row_of(src_addr_q, src_stride_q, src_inner_q, done_q));
      assert (ends == (read && done_q + 3'd1 == flits_q));
      if (req != '0) begin
        assert (active_q && req == (4'd1 << dir_q) && request.len == {5'd0, burst} && asked_q < flits_q);
        if (mask_q != '0) assert (request.farthest < 5'd17 && (mask_q >> request.farthest) & 17'd1 && beyond == '0);
      end
      assert (side.valid == read_q);
      if (read_q) begin
        assert (side_dir == (4'd1 << flit_dir_q) && side.mask == flit_mask_q && side.row[1:0] == row_q);
        assert (side.post == (last_q && flit_post_q) && side.sem == flit_sem_q);
      end
    end
  end
endmodule
