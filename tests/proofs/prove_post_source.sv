// A stream of posts: instructions that come while there is room, and end in order, some as they come. Each post of each is offered
// from its end on until it is performed, in order, once; the queue never overflows; what the stream says of its room and of
// what has not ended is so. Instructions are counted with their posts: one is followed through.
// modules: post_fifo post_source
// planted: post_source.sv: assign rest = done_i ? left & (left - 4'd1) : left; => assign rest = done_i ? left & (left - 4'd1) & 4'd7 : left;
// planted: post_source.sv: assign room_o = count_q < CountW'(Limit); => assign room_o = count_q <= CountW'(Limit);
// planted: post_source.sv: if (begun_q) left = left_q; => if (begun_q && !end_i) left = left_q;
// planted: post_source.sv: assign through = leaves && empty; => assign through = ready && empty;
module prove_post_source (
  input logic        clk_i,
  input logic        start_i,
  input logic        push_i,
  input logic        end_i,
  input logic        done_i,
  input logic [67:0] posts_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic valid, room, flight, leaves;
  logic [1:0] kind;
  logic [14:0] post;
  post_source #(.Depth(2), .Limit(2)) u_source (
    .clk_i, .rst_ni(rst_nq), .start_i, .push_i, .posts_i, .end_i, .valid_o(valid), .kind_o(kind), .post_o(post), .done_i,
    .leaves_o(leaves), .room_o(room), .flight_o(flight)
  );

  // Instructions inside, and of these ended, counted apart.
  logic [2:0] inside_q, ended_q;
  always_comb begin
    assume (!push_i || room);
    assume (!end_i || inside_q != ended_q || push_i);
    assume (!done_i || valid);
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {inside_q, ended_q} <= '0;
    else if (start_i) {inside_q, ended_q} <= '0;
    else begin
      inside_q <= inside_q + 3'(push_i) - 3'(leaves);
      ended_q <= ended_q + 3'(end_i) - 3'(leaves);
    end
  end

  // The instruction that is watched: at some push (any), its place from the front, and which of its posts are left. Of a post the
  // lowest bit of the semaphore is looked at, of each of the four its own.
  (* anyseq *) logic pick;
  logic watched_q, chosen, watched;
  logic [2:0] place_q, place;
  logic [3:0] left_q, left, sems_q, sems, first;
  always_comb begin
    chosen = !watched_q && push_i && pick;
    watched = watched_q || chosen;
    place = chosen ? inside_q : place_q;
    left = left_q;
    sems = sems_q;
    if (chosen) begin
      for (int i = 0; i < 4; i++) begin
        left[i] = posts_i[i*2+:2] != 2'd0;
        sems[i] = posts_i[28+i*10];
      end
    end
    first = left & (~left + 4'd1);
  end
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) watched_q <= 1'b0;
    else if (start_i) watched_q <= 1'b0;
    else begin
      watched_q <= watched && !(leaves && place == 3'd0);
      place_q <= place - 3'(leaves);
      left_q <= done_i && place == 3'd0 ? left & ~first : left;
      sems_q <= sems;
    end
  end

  logic front, ended;  // the watched one is the first, and has ended
  assign front = rst_nq && !start_i && watched && place == 3'd0;
  assign ended = ended_q != 3'd0 || end_i;
  always_ff @(posedge clk_i) begin
    if (rst_nq && !start_i) begin
      HasRoom : assert (room == (inside_q < 3'd2));
      HasInFlight : assert (flight == (inside_q != ended_q));
      Fits : assert (inside_q <= 3'd2 && ended_q <= inside_q);
    end
    if (front) begin
      Offers : assert (valid == (ended && left != '0));
      OffersTheFirst : assert (!valid || post[0] == ((first & sems) != '0));
      Leaves : assert (leaves == (ended && (left == '0 || (done_i && left == first))));
    end
  end
endmodule
