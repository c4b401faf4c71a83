`include "assert.svh"

// The semaphores of an endpoint. Takes (at issues) and increments of one cycle all count, and are
// visible in the next.
//
// At most one increment comes from each of the endpoint's own streams of posts, from each post lane
// that ends here, and from the last flit of each lane.
module semaphores #(
  parameter int unsigned Units      = 3,  // sequencers that take
  parameter int unsigned Increments = 12
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  fabric_pkg::cfg_t                  cfg_i,    // initial values, which are 0 after a start
  input  logic [tegula_pkg::FlitBits-1:0]   cfg_data_i,
  input  logic [Units-1:0]                  take_i,
  input  logic [Units*tegula_pkg::Semaphores-1:0] need_i,
  input  logic [Increments-1:0]             add_i,
  input  logic [Increments*10-1:0]          sem_i,
  output logic [tegula_pkg::Semaphores-1:0] nonzero_o,
  output logic                              overflow_o,  // a counter went above 255; its number
  output logic [9:0]                        overflow_sem_o
);
  localparam int unsigned Semaphores = tegula_pkg::Semaphores;
  localparam int unsigned P = tegula_pkg::P;

  logic [8*Semaphores-1:0] count_q, count, init_q;
  logic [Semaphores-1:0] nonzero_q, nonzero;
  logic [Increments*Semaphores-1:0] adds;
  logic [Semaphores-1:0] taken;
  logic [Semaphores-1:0] over;
  logic [9:0] sum;
  logic change;

  assign nonzero_o = nonzero_q;
  assign change = take_i != '0 || add_i != '0;

  // Units take from different semaphores: each has one waiting unit.
  always_comb begin
    taken = '0;
    adds = '0;
    count = count_q;
    nonzero = nonzero_q;
    over = '0;
    sum = '0;
    if (change) begin
      for (int u = 0; u < Units; u++) begin
        if (take_i[u]) taken = taken | need_i[u*Semaphores+:Semaphores];
      end
      for (int i = 0; i < Increments; i++) begin
        if (add_i[i]) begin
          for (int k = 0; k < Semaphores; k++) begin
            adds[i*Semaphores+k] = sem_i[i*10+:10] == 10'(k);
          end
        end
      end
      for (int k = 0; k < Semaphores; k++) begin
        sum = {2'd0, count_q[8*k+:8]} - {9'd0, taken[k]};
        for (int i = 0; i < Increments; i++) sum = sum + {9'd0, adds[i*Semaphores+k]};
        count[8*k+:8] = sum[7:0];
        nonzero[k] = sum[7:0] != '0;
        over[k] = sum[9:8] == 2'd1;
      end
    end
  end

  // The first counter that is too high, by a tree: of the nodes below each, node 1 being its root.
  localparam int unsigned Leaves = 1 << $clog2(Semaphores);
  logic [2*Leaves-1:0] some;
  logic [2*Leaves*10-1:0] which;
  always_comb begin
    some = '0;
    which = '0;
    if (over != '0) begin
      for (int k = 0; k < Semaphores; k++) begin
        some[Leaves+k] = over[k];
        which[(Leaves+k)*10+:10] = 10'(k);
      end
      for (int n = Leaves - 1; n > 0; n--) begin
        some[n] = some[2*n] || some[2*n+1];
        which[n*10+:10] = some[2*n] ? which[2*n*10+:10] : which[(2*n+1)*10+:10];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      nonzero_q <= '0;
      overflow_o <= 1'b0;
      overflow_sem_o <= '0;
    end else if (start_i) begin
      count_q <= init_q;
      for (int k = 0; k < Semaphores; k++) nonzero_q[k] <= init_q[8*k+:8] != 8'd0;
      overflow_o <= 1'b0;
    end else if (change) begin
      count_q <= count;
      nonzero_q <= nonzero;
      if (some[1]) begin
        overflow_o <= 1'b1;
        overflow_sem_o <= which[10+:10];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q <= '0;
    end else if (start_i) begin
      init_q <= '0;
    end else if (cfg_i.valid) begin
      for (int k = 0; k < Semaphores; k++) begin
        if (cfg_i.part == 11'(k / (4 * P)) && cfg_i.enable[k/4%P])
          init_q[8*k+:8] <= cfg_data_i[8*(k%(4*P))+:8];
      end
    end
  end

  // A taker found its semaphores above zero.
  for (genvar u = 0; u < Units; u++) begin : gen_assert
    `ASSERT(TakesWhatIsThere, !take_i[u] || (need_i[u*Semaphores+:Semaphores] & ~nonzero_q) == '0)
  end
endmodule
