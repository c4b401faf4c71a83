// The flit that a LOAD puts together, element by element: those of the pieces before stay, those of the piece are its data,
// converted, or the fill where they are out of bounds, and behind the piece there is nothing. Every piece, of every conversion;
// flits of two or four elements.
// modules: fp_pkg agcu_convert
// constants: P=2 FlitBits=64
// planted: agcu_convert.sv: flit_o = wide ? converted << {piece_i.lane, 5'd0} => flit_o = wide ? converted << {piece_i.lane, 4'd0}
// planted: agcu_convert.sv: 7'(e) >= piece_i.first + piece_i.count => 7'(e) > piece_i.first + piece_i.count
// planted: agcu_convert.sv: if (piece_i.lane != '0) flit_o |= partial_i; => flit_o |= partial_i;
// planted: agcu_convert.sv: tegula_pkg::CvtFp32Fp16: for => tegula_pkg::CvtFp32Tf32: for
// planted: agcu_convert.sv: else if (e < P) converted[(e%P)*32+:32] = piece_i.fill; => else if (e < P) converted[(e%P)*32+:32] = {16'd0, piece_i.fill[15:0]};
module prove_agcu_convert (
  input logic clk_i,
  input fabric_pkg::piece_t piece_i,
  input logic [127:0] data_i,
  input logic [63:0] partial_i
);
  // Elements of a flit, and what of the inputs is nothing: data behind the piece, the flit from the piece on.
  logic wide;
  logic [2:0] elements, at, behind;
  logic [127:0] data;
  logic [63:0] partial, flit;
  assign wide = piece_i.convert == tegula_pkg::Cvt32 || piece_i.convert == tegula_pkg::CvtBf16Fp32 ||
                piece_i.convert == tegula_pkg::CvtFp16Fp32 || piece_i.convert == tegula_pkg::CvtFp32Tf32;
  assign elements = wide ? 3'd2 : 3'd4;
  assign at = piece_i.lane[2:0];
  assign behind = at + piece_i.length[2:0];
  always_comb begin
    assume (piece_i.convert != 3'd7 && piece_i.length != 7'd0 && piece_i.length <= 7'd4 && piece_i.lane < 7'd4);
    assume (at + piece_i.length[2:0] <= elements);
    assume (piece_i.first <= piece_i.length && piece_i.count <= piece_i.length && piece_i.first + piece_i.count <= piece_i.length);
  end
  logic from32;  // in memory
  assign from32 = piece_i.convert == tegula_pkg::Cvt32 || piece_i.convert == tegula_pkg::CvtFp32Tf32 ||
                  piece_i.convert == tegula_pkg::CvtFp32Bf16 || piece_i.convert == tegula_pkg::CvtFp32Fp16;
  always_comb begin
    data = '0;
    partial = '0;
    for (int e = 0; e < 4; e++) begin
      if (3'(e) < piece_i.length[2:0]) begin
        if (from32) data[e*32+:32] = data_i[e*32+:32];
        else data[e*16+:16] = data_i[e*16+:16];
      end
      if (3'(e) < at || at == 3'd0) begin  // where a flit begins, it still holds the one before
        if (!wide) partial[e*16+:16] = partial_i[e*16+:16];
        else if (e < 2) partial[(e%2)*32+:32] = partial_i[(e%2)*32+:32];
      end
    end
  end
  agcu_convert u_convert (.valid_i(1'b1), .piece_i, .data_i(data), .partial_i(partial), .flit_o(flit));

  logic [31:0] word [4];
  logic [15:0] half [4];
  logic [31:0] expected [4];
  logic [1:0] place [4];  // in the piece
  always_comb begin
    for (int e = 0; e < 4; e++) begin
      place[e] = 2'(e) - at[1:0];
      word[e] = data[place[e]*32+:32];
      half[e] = data[place[e]*16+:16];
      expected[e] = from32 ? word[e] : {16'd0, half[e]};
      if (piece_i.convert == tegula_pkg::CvtFp32Bf16) expected[e] = {16'd0, fp_pkg::to_bf16(word[e])};
      if (piece_i.convert == tegula_pkg::CvtFp32Fp16) expected[e] = {16'd0, fp_pkg::to_fp16(word[e])};
      if (piece_i.convert == tegula_pkg::CvtFp32Tf32) expected[e] = fp_pkg::to_tf32(word[e]);
      if (piece_i.convert == tegula_pkg::CvtBf16Fp32) expected[e] = fp_pkg::widen_bf16(half[e]);
      if (piece_i.convert == tegula_pkg::CvtFp16Fp32) expected[e] = fp_pkg::widen_fp16(half[e]);
      if ({5'd0, place[e]} < piece_i.first || {5'd0, place[e]} >= piece_i.first + piece_i.count) begin
        expected[e] = wide ? piece_i.fill : {16'd0, piece_i.fill[15:0]};
      end
      if (3'(e) < at) expected[e] = wide ? partial[(e%2)*32+:32] : {16'd0, partial[e*16+:16]};
      if (3'(e) >= behind) expected[e] = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (wide) begin
      assert (flit[31:0] == expected[0] && flit[63:32] == expected[1]);
    end else begin
      for (int e = 0; e < 4; e++) assert (flit[e*16+:16] == expected[e][15:0]);
    end
  end
endmodule
