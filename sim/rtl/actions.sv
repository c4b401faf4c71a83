// Counters of actions (sim/machine/actions.def): modules bound into the RTL that read its own signals in
// every cycle, and hand what they see to the engine. No part of the hardware: the RTL knows
// nothing of them.
package tegula_actions;
  import "DPI-C" function void tegula_action(input int action, input int amount);

  function automatic void count(input int unsigned action, input int unsigned amount);
    if (amount != 0) tegula_action(int'(action), int'(amount));
  endfunction

  // Posts of an instruction; each goes to one semaphore.
  function automatic int unsigned posts_of(input logic [fabric_pkg::PostsBits-1:0] group);
    fabric_pkg::posts_t posts;
    posts = group;
    posts_of = 0;
    for (int i = 0; i < 4; i++) if (posts.kind[i] != tegula_pkg::PostNone) posts_of++;
  endfunction
endpackage

// The array: a row that enters it passes all weights of the block.
module count_mx_array (
  input logic clk_i,
  input logic a_valid_i,
  input logic fp32_i,
  input logic fp16_i,
  input logic tf32_i
);
  localparam int unsigned P = tegula_pkg::P;
  always_ff @(posedge clk_i) begin
    if (a_valid_i) begin
      if (fp32_i) tegula_actions::count(tegula_pkg::ActionMacFp32, P * P);
      else if (tf32_i) tegula_actions::count(tegula_pkg::ActionMacTf32, 4 * P * P);
      else if (fp16_i) tegula_actions::count(tegula_pkg::ActionMacFp16, 4 * P * P);
      else tegula_actions::count(tegula_pkg::ActionMacBf16, 4 * P * P);
    end
  end
endmodule
bind mx_array count_mx_array u_count (.clk_i, .a_valid_i, .fp32_i, .fp16_i, .tf32_i);

// A column of an accumulator: both lanes are read, each is written by itself.
module count_acc_mem (
  input logic       clk_i,
  input logic       mx_read_i,
  input logic       vx_read_i,
  input logic [1:0] write_i
);
  always_ff @(posedge clk_i) begin
    tegula_actions::count(tegula_pkg::ActionAccRead, 2 * $countones({mx_read_i, vx_read_i}));
    tegula_actions::count(tegula_pkg::ActionAccWrite, $countones(write_i));
  end
endmodule
bind acc_mem count_acc_mem u_count (.clk_i, .mx_read_i, .vx_read_i, .write_i);

module count_vx (
  input logic       clk_i,
  input logic       active_i,  // a microcode word runs for a row
  input logic       alu_i,
  input logic [5:0] op_i
);
  always_ff @(posedge clk_i) begin
    if (active_i) begin
      tegula_actions::count(tegula_pkg::ActionWord, 1);
      if (alu_i) begin
        if (op_i == tegula_pkg::AluFma || op_i == tegula_pkg::AluMul || op_i == tegula_pkg::AluAdd ||
            op_i == tegula_pkg::AluSub) begin
          tegula_actions::count(tegula_pkg::ActionAluMultiply, tegula_pkg::Lanes);
        end else begin
          tegula_actions::count(tegula_pkg::ActionAluSimple, tegula_pkg::Lanes);
        end
      end
    end
  end
endmodule
bind vx count_vx u_count (.clk_i, .active_i(active), .alu_i(alu_on), .op_i(word.alu_op));

// A stream of posts: of the instructions that come.
module count_post_source (
  input logic                             clk_i,
  input logic                             push_i,
  input logic [fabric_pkg::PostsBits-1:0] posts_i
);
  always_ff @(posedge clk_i) begin
    if (push_i) tegula_actions::count(tegula_pkg::ActionPost, tegula_actions::posts_of(posts_i));
  end
endmodule
bind post_source count_post_source u_count (.clk_i, .push_i, .posts_i);

// A tile: the scratchpad's ports and issues. A lane's last flit may post where it arrives.
module count_tile (
  input logic       clk_i,
  input logic [8:0] req_i,  // four ports that read, five that write
  input logic [2:0] issue_i,  // mx, vx, tx from the lowest on
  input logic [3:0] lane_post_i
);
  always_ff @(posedge clk_i) begin
    tegula_actions::count(tegula_pkg::ActionPadRead, $countones(req_i[3:0]));
    tegula_actions::count(tegula_pkg::ActionPadWrite, $countones(req_i[8:4]));
    tegula_actions::count(tegula_pkg::ActionIssueMx, 32'(issue_i[0]));
    tegula_actions::count(tegula_pkg::ActionIssueVx, 32'(issue_i[1]));
    tegula_actions::count(tegula_pkg::ActionIssueTx, 32'(issue_i[2]));
    tegula_actions::count(tegula_pkg::ActionPost, $countones(lane_post_i));
  end
endmodule
bind tile count_tile u_count (.clk_i, .req_i(pad_req), .issue_i(issued), .lane_post_i(lane_post));

// A lane: a flit in the register of a segment has come over it in the cycle before.
module count_lane #(
  parameter int unsigned N = 3
) (
  input logic         clk_i,
  input logic [N-2:0] valid_i
);
  always_ff @(posedge clk_i) tegula_actions::count(tegula_pkg::ActionFlitHop, $countones(valid_i));
endmodule
bind lane count_lane #(.N(N)) u_count (.clk_i, .valid_i(valid));

module count_agcu (
  input logic                                clk_i,
  input logic [tegula_pkg::AgcuContexts-1:0] issue_i,
  input logic                                arrive_i,
  input logic                                lane_post_i
);
  always_ff @(posedge clk_i) begin
    tegula_actions::count(tegula_pkg::ActionIssueAgcu, $countones(issue_i));
    tegula_actions::count(tegula_pkg::ActionPost, 32'(arrive_i && lane_post_i));
  end
endmodule
bind agcu count_agcu u_count (
  .clk_i, .issue_i(issued), .arrive_i(lane_i.arrive), .lane_post_i(lane_i.side.post)
);

// Memories of an AGCU: load buffers, store memory.
module count_agcu_memory (
  input logic clk_i,
  input logic write_i,
  input logic read_i
);
  always_ff @(posedge clk_i) begin
    tegula_actions::count(tegula_pkg::ActionAgcuWrite, 32'(write_i));
    tegula_actions::count(tegula_pkg::ActionAgcuRead, 32'(read_i));
  end
endmodule
bind agcu_load count_agcu_memory u_count (
  .clk_i, .write_i(data_valid_i && piece.flit_last), .read_i(read)
);
bind agcu_store count_agcu_memory u_count (.clk_i, .write_i(arrive_i), .read_i(read));
