// The posts of an endpoint's streams: a local one is performed at once; of those that want one direction the first is, if the slot
// is free, and it is what is sent there; nothing else is done or sent. Those are performed that SystemC performs (decisions, from
// truth_tables.c: of a row's, of a column's posts). Four streams, as an endpoint has them.
// modules: post_arbiter
// planted: post_arbiter.sv: && !taken[directions[s*2+:2]]) begin => && (!taken[directions[s*2+:2]] || s == 3)) begin
// planted: post_arbiter.sv: directions[s*2+:2] = {1'b0, post.pos < row_pos_i}; => directions[s*2+:2] = {1'b0, post.pos > row_pos_i};
// planted: post_arbiter.sv: taken[directions[s*2+:2]] = 1'b1; => taken[directions[s*2+:2]] = s != 2;
// planted: post_arbiter.sv: local_o[s] = 1'b1; => local_o[s] = free_i[0];
// planted: post_arbiter.sv: directions[s*2+:2] = {1'b1, post.pos < col_pos_i}; => directions[s*2+:2] = {1'b1, post.pos < row_pos_i};
module prove_post_arbiter (
  input logic        clk_i,
  input logic        start_i,
  input logic [4:0]  row_pos_i,
  input logic [4:0]  col_pos_i,
  input logic [3:0]  valid_i,
  input logic [7:0]  kinds_i,
  input logic [59:0] posts_i,
  input logic [3:0]  free_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic [3:0] done, is_local, send;
  logic [59:0] sent;
  post_arbiter #(.Streams(4)) u_arbiter (
    .clk_i, .rst_ni(rst_nq), .start_i, .defect_i(8'd0), .row_pos_i, .col_pos_i, .valid_i, .kinds_i, .posts_i,
    .done_o(done), .local_o(is_local), .free_i, .send_o(send), .send_posts_o(sent)
  );

  // Who wants east, west, south, north, and is it the first? A post goes to another place than the own one.
  logic [3:0] here;
  logic [15:0] wants, first;  // four streams of each direction
  for (genvar s = 0; s < 4; s++) begin : gen_stream
    logic [4:0] pos;
    logic [1:0] kind;
    assign pos = posts_i[s*15+10+:5];
    assign kind = kinds_i[s*2+:2];
    always_comb begin
      if (valid_i[s]) assume (kind != tegula_pkg::PostNone);
      if (valid_i[s] && kind == tegula_pkg::PostRow) assume (pos != row_pos_i);
      if (valid_i[s] && kind == tegula_pkg::PostCol) assume (pos != col_pos_i);
    end
    assign here[s] = valid_i[s] && kind == tegula_pkg::PostLocal;
    assign wants[s] = valid_i[s] && kind == tegula_pkg::PostRow && pos > row_pos_i;
    assign wants[4+s] = valid_i[s] && kind == tegula_pkg::PostRow && pos < row_pos_i;
    assign wants[8+s] = valid_i[s] && kind == tegula_pkg::PostCol && pos > col_pos_i;
    assign wants[12+s] = valid_i[s] && kind == tegula_pkg::PostCol && pos < col_pos_i;
  end
  for (genvar d = 0; d < 4; d++) begin : gen_direction
    logic [3:0] mine;
    assign mine = wants[d*4+:4] & (~wants[d*4+:4] + 4'd1);
    assign first[d*4+:4] = free_i[d] ? mine : '0;
    always_ff @(posedge clk_i) begin
      if (rst_nq) begin
        assert (send[d] == (first[d*4+:4] != '0));
        for (int s = 0; s < 4; s++) if (first[d*4+s]) assert (sent[d*15+:15] == posts_i[s*15+:15]);
      end
    end
  end

  // Of each stream: no post, one for here, for higher or for lower positions.
  logic [7:0] in_row, in_col;
  logic rows_alone, cols_alone;
  always_comb begin
    {rows_alone, cols_alone} = 2'b11;
    for (int s = 0; s < 4; s++) begin
      in_row[s*2+:2] = !valid_i[s] ? 2'd0 : here[s] ? 2'd1 : wants[s] ? 2'd2 : 2'd3;
      in_col[s*2+:2] = !valid_i[s] ? 2'd0 : here[s] ? 2'd1 : wants[8+s] ? 2'd2 : 2'd3;
      if (valid_i[s] && kinds_i[s*2+:2] == tegula_pkg::PostCol) rows_alone = 1'b0;
      if (valid_i[s] && kinds_i[s*2+:2] == tegula_pkg::PostRow) cols_alone = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      if (rows_alone) assert (done == decisions::posts_done_row({free_i[0], free_i[1], in_row}));
      if (cols_alone) assert (done == decisions::posts_done_col({free_i[2], free_i[3], in_col}));
      assert (is_local == here);
      assert (done == (here | first[3:0] | first[7:4] | first[11:8] | first[15:12]));
    end
  end
endmodule
