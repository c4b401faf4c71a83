// The remote posts of an endpoint on their way to its links: says on which kinds of link something
// leaves.
module post_filter #(
  parameter int unsigned Groups = 4,
  parameter int unsigned Kinds  = 2  // links of the endpoint
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              start_i,
  input  logic [7:0]                        defect_i,
  input  logic [Groups-1:0]                 valid_i,
  input  logic [Groups*fabric_pkg::PostsBits-1:0] posts_i,
  input  logic [Kinds*2-1:0]                kinds_i,  // post kind of each link
  output logic [Kinds-1:0]                  valid_o,
  output logic [fabric_pkg::BundleBits-1:0] posts_o   // groups that are not valid are empty
);
  localparam int unsigned PostsBits = fabric_pkg::PostsBits;

  // remote posts, for the deliberate defect of test builds: every 16th is lost
  logic [3:0] count_q, count;
  fabric_pkg::posts_t posts;
  always_comb begin
    posts = '0;
    valid_o = '0;
    posts_o = '0;
    count = count_q;
    if (valid_i != '0) begin
      for (int g = 0; g < Groups; g++) begin
        if (valid_i[g]) begin
          posts = posts_i[g*PostsBits+:PostsBits];
          for (int i = 0; i < 4; i++) begin
            if (posts.kind[i] == tegula_pkg::PostRow || posts.kind[i] == tegula_pkg::PostCol) begin
              count = count + 4'd1;
              if (fabric_pkg::Defects && defect_i == tegula_pkg::RtlDefectLostPost &&
                  count == '0) begin
                posts.kind[i] = tegula_pkg::PostNone;
              end
            end
            for (int k = 0; k < Kinds; k++) if (posts.kind[i] == kinds_i[k*2+:2]) valid_o[k] = 1'b1;
          end
          posts_o[g*PostsBits+:PostsBits] = posts;
        end
      end
    end
  end

  if (fabric_pkg::Defects) begin : gen_count
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q <= '0;
      else if (start_i) count_q <= '0;
      else count_q <= count;
    end
  end else begin : gen_no_count
    assign count_q = '0;
  end
endmodule
