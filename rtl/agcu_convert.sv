// Conversion of a loaded piece: its elements in the format of the chip, the invalid ones filled,
// and moved to their place in the flit that is being put together. Combinational.
module agcu_convert (
  input  logic                            valid_i,
  input  fabric_pkg::piece_t              piece_i,
  input  logic [64*tegula_pkg::P-1:0]     data_i,     // element j in the j-th place, others zero
  input  logic [tegula_pkg::FlitBits-1:0] partial_i,  // the flit's elements before the piece
  output logic [tegula_pkg::FlitBits-1:0] flit_o
);
  localparam int unsigned P = tegula_pkg::P;
  localparam int unsigned FlitBits = tegula_pkg::FlitBits;

  logic wide;  // 32-bit elements in the flit
  assign wide = fabric_pkg::wide_chip(piece_i.convert);

  logic [FlitBits-1:0] converted;
  always_comb begin
    converted = '0;
    flit_o = '0;
    if (valid_i) begin
      unique case (piece_i.convert)
        tegula_pkg::CvtFp32Bf16: for (int e = 0; e < 2 * P; e++) begin
          converted[e*16+:16] = fp_pkg::to_bf16(data_i[e*32+:32]);
        end
        tegula_pkg::CvtFp32Fp16: for (int e = 0; e < 2 * P; e++) begin
          converted[e*16+:16] = fp_pkg::to_fp16(data_i[e*32+:32]);
        end
        tegula_pkg::CvtBf16Fp32: for (int e = 0; e < P; e++) begin
          converted[e*32+:32] = fp_pkg::widen_bf16(data_i[e*16+:16]);
        end
        tegula_pkg::CvtFp16Fp32: for (int e = 0; e < P; e++) begin
          converted[e*32+:32] = fp_pkg::widen_fp16(data_i[e*16+:16]);
        end
        tegula_pkg::CvtFp32Tf32: for (int e = 0; e < P; e++) begin
          converted[e*32+:32] = fp_pkg::to_tf32(data_i[e*32+:32]);
        end
        default: converted = data_i[FlitBits-1:0];
      endcase
      if (piece_i.count != piece_i.length) begin
        for (int e = 0; e < 2 * P; e++) begin
          if (7'(e) < piece_i.length &&
              (7'(e) < piece_i.first || 7'(e) >= piece_i.first + piece_i.count)) begin
            if (!wide) converted[e*16+:16] = piece_i.fill[15:0];
            else if (e < P) converted[(e%P)*32+:32] = piece_i.fill;
          end
        end
      end
      flit_o = wide ? converted << {piece_i.lane, 5'd0} : converted << {piece_i.lane, 4'd0};
      if (piece_i.lane != '0) flit_o |= partial_i;
    end
  end
endmodule
