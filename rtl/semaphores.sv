`include "assert.svh"

// The semaphores of an endpoint. Takes (at issues) and increments of one cycle all count, and are
// visible in the next.
//
// Increments come from the own units' posts, from the post links of the own row and column, and
// with the last flits of bursts. The update is written as a sequence; each counter sees the sum of
// its decoded increments.
module semaphores #(
  parameter int unsigned Units    = 3,  // sequencers that take
  parameter int unsigned Locals   = 4,  // post groups of the own units
  // post links: first RowLinks of the own row, then of the own column
  parameter int unsigned Links    = 2,
  parameter int unsigned RowLinks = 1,
  parameter int unsigned Lanes    = 4   // lane inputs
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  logic [4:0]                        row_pos_i,   // own positions: constants
  input  logic [4:0]                        col_pos_i,
  input  logic                              cfg_we_i,    // 256 initial values at once
  input  logic [7:0]                        cfg_slot_i,
  input  logic [fabric_pkg::CfgBits-1:0]    cfg_data_i,
  input  logic [Units-1:0]                  take_i,
  input  logic [Units*tegula_pkg::Semaphores-1:0] need_i,
  input  logic [Locals-1:0]                 local_valid_i,
  input  logic [Locals*fabric_pkg::PostsBits-1:0] local_posts_i,
  input  logic [Links-1:0]                  link_valid_i,
  input  logic [Links*fabric_pkg::BundleBits-1:0] link_posts_i,
  input  logic [Lanes-1:0]                  lane_valid_i,
  input  logic [Lanes*10-1:0]               lane_sem_i,
  output logic [tegula_pkg::Semaphores-1:0] nonzero_o,
  output logic                              overflow_o,  // a counter went above 255; its number
  output logic [9:0]                        overflow_sem_o
);
  localparam int unsigned Semaphores = tegula_pkg::Semaphores;
  localparam int OfRow = int'(RowLinks);
  localparam int unsigned SemW = $clog2(Semaphores);

  logic [Semaphores-1:0][7:0] count_q, init_q;
  logic [Semaphores-1:0] nonzero_q;
  logic change;

  assign nonzero_o = nonzero_q;
  assign change = take_i != '0 || local_valid_i != '0 || link_valid_i != '0 || lane_valid_i != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      nonzero_q <= '0;
      overflow_o <= 1'b0;
      overflow_sem_o <= '0;
    end else if (start_i) begin
      count_q <= init_q;
      for (int k = 0; k < Semaphores; k++) nonzero_q[k] <= init_q[k] != 8'd0;
      overflow_o <= 1'b0;
    end else if (change) begin : update
      logic [8*Semaphores-1:0] count;  // flat, as Yosys reads no array of two dimensions here
      logic over;
      logic [9:0] sem, over_sem;
      count = count_q;
      over = 1'b0;
      sem = '0;
      over_sem = '0;
      for (int u = 0; u < Units; u++) begin
        if (take_i[u] && need_i[u*Semaphores+:Semaphores] != '0) begin
          for (int k = 0; k < Semaphores; k++) begin
            if (need_i[u*Semaphores+k]) count[8*k+:8] = count[8*k+:8] - 8'd1;
          end
        end
      end
      for (int g = 0; g < Locals; g++) begin
        if (local_valid_i[g]) begin : own
          fabric_pkg::posts_t posts;
          posts = local_posts_i[g*fabric_pkg::PostsBits+:fabric_pkg::PostsBits];
          for (int i = 0; i < 4; i++) begin
            if (posts.kind[i] == tegula_pkg::PostLocal) begin
              sem = posts.sem[i];
              if (count[8*sem[SemW-1:0]+:8] == 8'd255) begin
                over = 1'b1;
                over_sem = sem;
              end
              count[8*sem[SemW-1:0]+:8] = count[8*sem[SemW-1:0]+:8] + 8'd1;
            end
          end
        end
      end
      for (int s = 0; s < Links; s++) begin
        if (link_valid_i[s]) begin
          for (int g = 0; g < fabric_pkg::Groups; g++) begin : remote
            fabric_pkg::posts_t posts;
            posts = link_posts_i[s*fabric_pkg::BundleBits+g*fabric_pkg::PostsBits
                                 +:fabric_pkg::PostsBits];
            for (int i = 0; i < 4; i++) begin
              if (posts.kind[i] == (s < OfRow ? tegula_pkg::PostRow : tegula_pkg::PostCol)
                  && posts.pos[i] == (s < OfRow ? row_pos_i : col_pos_i)) begin
                sem = posts.sem[i];
                if (count[8*sem[SemW-1:0]+:8] == 8'd255) begin
                  over = 1'b1;
                  over_sem = sem;
                end
                count[8*sem[SemW-1:0]+:8] = count[8*sem[SemW-1:0]+:8] + 8'd1;
              end
            end
          end
        end
      end
      for (int l = 0; l < Lanes; l++) begin
        if (lane_valid_i[l]) begin
          sem = lane_sem_i[l*10+:10];
          if (count[8*sem[SemW-1:0]+:8] == 8'd255) begin
            over = 1'b1;
            over_sem = sem;
          end
          count[8*sem[SemW-1:0]+:8] = count[8*sem[SemW-1:0]+:8] + 8'd1;
        end
      end
      count_q <= count;
      for (int k = 0; k < Semaphores; k++) nonzero_q[k] <= count[8*k+:8] != 8'd0;
      if (over) begin
        overflow_o <= 1'b1;
        overflow_sem_o <= over_sem;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (cfg_we_i) begin
      for (int k = 0; k < Semaphores; k++) begin
        if (cfg_slot_i == 8'(k / 256)) init_q[k] <= cfg_data_i[(k%256)*8+:8];
      end
    end
  end

  // A taker found its semaphores above zero.
  for (genvar u = 0; u < Units; u++) begin : gen_assert
    `ASSERT(TakesWhatIsThere, !take_i[u] || (need_i[u*Semaphores+:Semaphores] & ~nonzero_q) == '0)
  end
endmodule
