// The semaphores of an endpoint: each counter is what it began with, plus its increments, less its takes, any number of each in a
// cycle; above zero is as registered; the first counter that passes 255 is named, and nothing else is ever said to. One counter,
// any, is followed. It begins with what was written since the start before, by words or lanes of them, or with 0. Eight counters, two units, three increments a cycle.
// modules: semaphores
// constants: Semaphores=8
// planted: semaphores.sv: if (add_i[i]) begin => if (add_i[i] && (i != 2 || !add_i[1] || sem_i[10+:10] != sem_i[20+:10])) begin
// planted: semaphores.sv: nonzero[k] = sum[7:0] != '0; => nonzero[k] = sum[7:1] != '0;
// planted: semaphores.sv: which[n*10+:10] = some[2*n] ? which[2*n*10+:10] : which[(2*n+1)*10+:10]; => which[n*10+:10] = some[2*n] && n != 1 ? which[2*n*10+:10] : which[(2*n+1)*10+:10];
// planted: semaphores.sv: cfg_i.enable[k/4%P] => cfg_i.enable[k%P]
// planted: semaphores.sv: if (take_i[u]) taken = taken | need_i[u*Semaphores+:Semaphores]; => if (take_i[u]) taken = need_i[u*Semaphores+:Semaphores];
module prove_semaphores (
  input logic          clk_i,
  input logic          start_i,
  input logic          cfg_valid_i,
  input logic [10:0]   cfg_part_i,
  input logic [3:0]    cfg_enable_i,
  input logic [127:0]  cfg_data_i,
  input logic [1:0]    take_i,
  input logic [15:0]   need_i,
  input logic [2:0]    add_i,
  input logic [29:0]   sem_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic [7:0] nonzero;
  logic overflow;
  logic [9:0] overflow_sem;
  semaphores #(.Units(2), .Increments(3)) u_semaphores (
    .clk_i, .rst_ni(rst_nq), .start_i, .cfg_i({cfg_valid_i, 15'd0, cfg_part_i, cfg_enable_i}), .cfg_data_i, .take_i, .need_i, .add_i, .sem_i,
    .nonzero_o(nonzero), .overflow_o(overflow), .overflow_sem_o(overflow_sem)
  );

  // Units take what is there, from different semaphores; increments are of semaphores that there are.
  always_comb begin
    for (int u = 0; u < 2; u++) if (take_i[u]) assume ((need_i[u*8+:8] & ~nonzero) == '0);
    if (take_i == '1) assume ((need_i[7:0] & need_i[15:8]) == '0);
    for (int i = 0; i < 3; i++) assume (sem_i[i*10+3+:7] == '0);
  end

  // The counter that is followed.
  (* anyconst *) logic [2:0] watched;
  logic [7:0] init_q, count_q;
  logic [8:0] count;
  always_comb begin
    count = {1'b0, count_q};
    for (int u = 0; u < 2; u++) if (take_i[u] && need_i[u*8+{29'd0, watched}]) count = count - 9'd1;
    for (int i = 0; i < 3; i++) if (add_i[i] && sem_i[i*10+:3] == watched) count = count + 9'd1;
  end
  // Each word has 4 lanes of 4 semaphores: these are in the first two of its first. What is not written is 0.
  logic [63:0] initial_values;
  assign initial_values = cfg_data_i[63:0];
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) init_q <= '0;
    else if (start_i) init_q <= '0;
    else if (cfg_valid_i && cfg_part_i == '0 && cfg_enable_i[watched[2]]) init_q <= initial_values[{watched, 3'd0}+:8];
  end
  logic known_q;  // since a start
  logic rose_q, told_q;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {known_q, rose_q, told_q, count_q} <= '0;
    else begin
      known_q <= start_i || known_q;
      count_q <= start_i ? init_q : count[7:0];
      rose_q <= !start_i && count > 9'd255;  // the watched one did in the cycle before
      told_q <= !start_i && overflow;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq && known_q) begin
      Counts : assert (nonzero[watched] == (count_q != '0));
      Tells : assert (!rose_q || (overflow && (told_q || overflow_sem <= {7'd0, watched})));
      TellsTheTruth : assert (!overflow || told_q || overflow_sem != {7'd0, watched} || rose_q);
    end
  end
endmodule
