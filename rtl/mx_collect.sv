// The operands of a row of S elements from its bank rows: one for most formats, two in consecutive
// cycles for TF32, where the first half of the row is held until the second is there.
module mx_collect (
  input  logic                        clk_i,
  input  logic                        fp32_i,
  input  logic                        fp16_i,
  input  logic                        tf32_i,
  input  logic [32*tegula_pkg::P-1:0] flit_i,
  // by element; FP32: upper and lower half of each
  output logic [2*tegula_pkg::P*fp_pkg::HalfW-1:0] halves_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned HalfW = fp_pkg::HalfW;

  logic [2*P*HalfW-1:0] halves;
  logic [P*HalfW-1:0]   words, words_q;  // TF32: the element of each word
  for (genvar w = 0; w < P; w++) begin : gen_unpack
    fp_unpack u_unpack (
      .word_i  (flit_i[32*w+:32]),
      .fp32_i, .fp16_i, .tf32_i,
      .halves_o(halves[2*w*HalfW+:2*HalfW])
    );
    assign words[w*HalfW+:HalfW] = halves[2*w*HalfW+:HalfW];
  end
  always_ff @(posedge clk_i) begin
    if (tf32_i) words_q <= words;
  end
  assign halves_o = tf32_i ? {words, words_q} : halves;
endmodule
