// A section: as many cycles as it has words are for them, then comes the reset, once; units run from as many cycles after its start
// on as its configuration takes, and it ends with the first look at them that shows them idle, which is one that was taken when they
// ran already. While they run words of the next section may leave, as is said a cycle before. The counter counts its cycles and no others (its lowest eight bits). What is said or heard takes two cycles;
// configurations of three cycles without a word, or of four with one.
// modules: section_control
// planted: section_control.sv: assign run_o = running_q && wait_q <= 64'(2 * Distance); => assign run_o = running_q && wait_q < 64'(2 * Distance);
// planted: section_control.sv: assign ends = running_q && wait_q == '0 && idle_i; => assign ends = running_q && idle_i;
// planted: section_control.sv: assign ahead = running_q && wait_q <= 64'(Distance); => assign ahead = running_q && wait_q <= 64'(Distance + 1);
// planted: section_control.sv: wait_q <= 64'(Distance) + 64'd1 && !ends; => wait_q <= 64'(Distance) && !ends;
// planted: section_control.sv: wait_q <= 64'(Distance) + 64'd1 && !ends; => wait_q <= 64'(Distance) + 64'd1;
// planted: section_control.sv: else fresh_q <= 1'b0; => fresh_q <= 1'b0;
// planted: section_control.sv: running_q && fresh_q && words_q == '0; => running_q && fresh_q;
// planted: section_control.sv: words_q <= config_words_i; => words_q <= config_words_i + 32'd1;
// planted: section_control.sv: wait_q <= config_cycles_i + 64'(Distance); => wait_q <= config_cycles_i + 64'(Distance - 1);
// planted: section_control.sv: cycle_q <= cycle_q + 64'd1; => if (wait_q != 64'd1) cycle_q <= cycle_q + 64'd1;
module prove_section_control (
  input logic       clk_i,
  input logic       start_i,
  input logic       longer_i,
  input logic       idle_i
);
  logic rst_nq = 1'b0;
  always_ff @(posedge clk_i) rst_nq <= 1'b1;
  logic run, done, load, room, reset;
  logic [3:0] config_cycles;
  logic [63:0] cycle;
  assign config_cycles = longer_i ? 4'd4 : 4'd3;
  section_control #(.Distance(2)) u_control (
    .clk_i, .rst_ni(rst_nq), .start_i, .config_words_i({31'd0, longer_i}), .config_cycles_i({60'd0, config_cycles}), .idle_i,
    .load_o(load), .room_o(room), .reset_o(reset), .run_o(run), .done_o(done), .cycle_o(cycle)
  );
  always_comb if (start_i) assume (rst_nq && done);

  // Cycles since the start, as far as they matter.
  logic inside_q, look, after_q, reached_q;
  logic [2:0] age_q;
  logic [3:0] config_q;
  logic [7:0] cycle_q;
  // Units begin two cycles after run_o rises, `config` after the start's; what is heard in the cycle of the look is two cycles old.
  assign look = {1'b0, age_q} >= config_q + 4'd2;
  always_ff @(posedge clk_i or negedge rst_nq) begin
    if (!rst_nq) {inside_q, age_q, after_q, reached_q} <= '0;
    else begin
      reached_q <= 1'b1;
      if (start_i) {inside_q, age_q} <= {1'b1, 3'd0};
      else begin
        if (inside_q && look && idle_i) inside_q <= 1'b0;
        if (age_q != '1) age_q <= age_q + 3'd1;
      end
      after_q <= inside_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) config_q <= config_cycles;
    cycle_q <= cycle[7:0];
  end
  always_ff @(posedge clk_i) begin
    if (rst_nq) begin
      Ends : assert (done == !inside_q);
      Runs : assert (run == (inside_q && {1'b0, age_q} + 4'd2 >= config_q));
      Loads : assert (load == (inside_q && ((age_q == 3'd0 && config_q == 4'd4) || {1'b0, age_q} >= config_q)));
      Announces : assert (room == (inside_q && {1'b0, age_q} + 4'd1 >= config_q && !(look && idle_i)));
      Resets : assert (reset == (inside_q && {1'b0, age_q} == config_q - 4'd3));
      if (reached_q) Counts : assert (cycle[7:0] == cycle_q + 8'(after_q));
    end
  end
endmodule
