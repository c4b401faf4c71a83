/* Module text of the GEMM micro-kernels. */
#include "sim/functional/gemm.h"
#include "sim/functional/ir.h"
#include "sim/machine/mx_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tg_gemm_blocking tg_gemm_blocking_of_host(void) {
  unsigned lanes, registers;
  tg_jit_host_vectors(&lanes, &registers);
  /* Accumulators, a row of B and one broadcast fit the registers. */
  if (registers >= 32) return (tg_gemm_blocking){.lanes = lanes, .rows = 8, .units = 3};
  return (tg_gemm_blocking){.lanes = lanes, .rows = 6, .units = 2};
}

static void pointers(tg_text *t, uint32_t units) {
  for (uint32_t u = 0; u < units; u++) {
    tg_text_add(t, "  %%cp%u = getelementptr ptr, ptr %%c, i64 %u\n", u, u);
    tg_text_add(t, "  %%c%u = load ptr, ptr %%cp%u\n", u, u);
  }
}

static void micro_body(tg_text *t, uint32_t rows, uint32_t units, uint32_t v) {
  tg_text_add(t, "k:\n  %%i = phi i64 [ 0, %%start ], [ %%i1, %%k ]\n");
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t u = 0; u < units; u++)
      tg_text_add(t, "  %%x%u.%u = phi <%u x float> [ %%s%u.%u, %%start ], [ %%y%u.%u, %%k ]\n", r, u, v, r,
                  u, r, u);
  tg_text_add(t, "  %%bo = mul i64 %%i, %u\n  %%bk = getelementptr float, ptr %%b, i64 %%bo\n", units * v);
  for (uint32_t u = 0; u < units; u++) {
    tg_text_add(t, "  %%bp%u = getelementptr float, ptr %%bk, i64 %u\n", u, u * v);
    tg_text_add(t, "  %%b%u = load <%u x float>, ptr %%bp%u, align 4\n", u, v, u);
  }
  tg_text_add(t, "  %%ak = getelementptr float, ptr %%a, i64 %%i\n");
  for (uint32_t r = 0; r < rows; r++) {
    tg_text_add(t, "  %%ap%u = getelementptr float, ptr %%ak, i64 %u\n", r, r * TG_GEMM_LDA);
    tg_text_add(t, "  %%as%u = load float, ptr %%ap%u, align 4\n", r, r);
    tg_text_add(t, "  %%ai%u = insertelement <%u x float> poison, float %%as%u, i64 0\n", r, v, r);
    tg_text_add(
        t, "  %%a%u = shufflevector <%u x float> %%ai%u, <%u x float> poison, <%u x i32> zeroinitializer\n",
        r, v, r, v, v);
    for (uint32_t u = 0; u < units; u++)
      tg_text_add(t,
                  "  %%y%u.%u = call <%u x float> @llvm.fma.v%uf32(<%u x float> %%a%u, <%u x float> %%b%u, "
                  "<%u x float> %%x%u.%u)\n",
                  r, u, v, v, v, r, v, u, v, r, u);
  }
  tg_text_add(t, "  %%i1 = add i64 %%i, 1\n  %%more = icmp slt i64 %%i1, %%n\n"
                 "  br i1 %%more, label %%k, label %%done\n");
}

/* Loads of the accumulators into %<prefix>r.u, or their stores from %f. */
static void accumulators(tg_text *t, uint32_t rows, uint32_t units, uint32_t v, uint32_t acc_lanes) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t u = 0; u < units; u++) {
      tg_text_add(t, "  %%lp%u.%u = getelementptr float, ptr %%c%u, i64 %u\n", r, u, u, r * acc_lanes);
      tg_text_add(t, "  %%l%u.%u = load <%u x float>, ptr %%lp%u.%u, align 4\n", r, u, v, r, u);
    }
}

static void results(tg_text *t, uint32_t rows, uint32_t units, uint32_t v, uint32_t acc_lanes) {
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t u = 0; u < units; u++) {
      tg_text_add(t, "  %%f%u.%u = phi <%u x float> [ %%s%u.%u, %%start ], [ %%y%u.%u, %%k ]\n", r, u, v, r,
                  u, r, u);
    }
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t u = 0; u < units; u++) {
      char name[32], in[32];
      snprintf(name, sizeof name, "q%u.%u", r, u);
      snprintf(in, sizeof in, "%%fb%u.%u", r, u);
      tg_text_add(t, "  %s = bitcast <%u x float> %%f%u.%u to <%u x i32>\n", in, v, r, u, v);
      tg_ir_canonical(t, v, name, in);
      tg_text_add(t, "  %%sp%u.%u = getelementptr float, ptr %%c%u, i64 %u\n", r, u, u, r * acc_lanes);
      tg_text_add(t, "  store <%u x i32> %%%s, ptr %%sp%u.%u, align 4\n", v, name, r, u);
    }
}

static void emit_micro(tg_text *t, const tg_gemm_blocking *blocking, uint32_t units, uint32_t v,
                       uint32_t acc_lanes) {
  uint32_t rows = blocking->rows;
  tg_text_add(t, "define void @" TG_KERNEL
                 "(ptr noalias %%a, ptr noalias %%b, ptr noalias %%c, i64 %%n, i8 %%init) {\n");
  pointers(t, units);
  tg_text_add(t, "  %%zero = icmp ne i8 %%init, 0\n  br i1 %%zero, label %%start, label %%load\nload:\n");
  accumulators(t, rows, units, v, acc_lanes);
  tg_text_add(t, "  br label %%start\nstart:\n");
  for (uint32_t r = 0; r < rows; r++)
    for (uint32_t u = 0; u < units; u++)
      tg_text_add(t, "  %%s%u.%u = phi <%u x float> [ zeroinitializer, %%0 ], [ %%l%u.%u, %%load ]\n", r, u,
                  v, r, u);
  tg_text_add(t, "  %%some = icmp sgt i64 %%n, 0\n  br i1 %%some, label %%k, label %%done\n");
  micro_body(t, rows, units, v);
  tg_text_add(t, "done:\n");
  results(t, rows, units, v, acc_lanes);
  tg_text_add(t, "  ret void\n}\n");
}

/* A loop over rows: the body is between. */
static void row_loop(tg_text *t) {
  tg_text_add(t, "  %%any = icmp sgt i64 %%rows, 0\n  br i1 %%any, label %%row, label %%done\n"
                 "row:\n  %%i = phi i64 [ 0, %%0 ], [ %%i1, %%row ]\n");
}
static void row_loop_end(tg_text *t) {
  tg_text_add(t, "  %%i1 = add i64 %%i, 1\n  %%more = icmp slt i64 %%i1, %%rows\n"
                 "  br i1 %%more, label %%row, label %%done\ndone:\n  ret void\n}\n");
}

static void emit_widen(tg_text *t, uint32_t v, int format) {
  tg_text_add(t, "define void @" TG_KERNEL "(ptr %%from, i64 %%fs, ptr %%to, i64 %%ts, i64 %%rows) {\n");
  row_loop(t);
  tg_text_add(
      t, "  %%fo = mul i64 %%i, %%fs\n  %%to1 = mul i64 %%i, %%ts\n"
         "  %%fp = getelementptr i8, ptr %%from, i64 %%fo\n  %%tp = getelementptr i8, ptr %%to, i64 %%to1\n");
  tg_text_add(t, "  %%x = load <%u x %s>, ptr %%fp, align 2\n", v,
              tg_mx_element_bytes(format) == 4 ? "i32" : "i16");
  if (format == TG_FMT_BF16) tg_ir_bf16_widen(t, v, "w", "%x");
  if (format == TG_FMT_FP16) tg_ir_fp16_widen(t, v, "w", "%x");
  if (format == TG_FMT_TF32) tg_text_add(t, "  %%w = and <%u x i32> %%x, splat (i32 -8192)\n", v);
  tg_text_add(t, "  store <%u x i32> %s, ptr %%tp, align 4\n", v, format == TG_FMT_FP32 ? "%x" : "%w");
  row_loop_end(t);
}

static void emit_round(tg_text *t, uint32_t v, uint32_t acc_lanes) {
  tg_text_add(t, "define void @" TG_KERNEL "(ptr %%c, i64 %%rows, ptr %%hr, ptr %%hc) {\n");
  tg_text_add(t, "  %%col = load <%u x i32>, ptr %%hc, align 4\n", v);
  row_loop(t);
  tg_text_add(t, "  %%co = mul i64 %%i, %u\n  %%cp = getelementptr float, ptr %%c, i64 %%co\n", acc_lanes);
  tg_text_add(t, "  %%b = load <%u x i32>, ptr %%cp, align 4\n", v);
  tg_text_add(t, "  %%rp = getelementptr i32, ptr %%hr, i64 %%i\n  %%rs = load i32, ptr %%rp, align 4\n");
  tg_text_add(t, "  %%ri = insertelement <%u x i32> poison, i32 %%rs, i64 0\n", v);
  tg_text_add(t, "  %%rv = shufflevector <%u x i32> %%ri, <%u x i32> poison, <%u x i32> zeroinitializer\n", v,
              v, v);
  tg_text_add(t, "  %%h = add <%u x i32> %%rv, %%col\n", v);
  tg_ir_bf16_stochastic(t, v, "q", "%b", "%h");
  tg_text_add(t, "  store <%u x i32> %%q, ptr %%cp, align 4\n", v);
  row_loop_end(t);
}

/* Compiles what `text` holds, and empties it. */
static tg_status compiled(tg_text *text, tg_codes *codes, void *out_function, tg_diag *diag) {
  void *address;
  tg_status status = tg_codes_add(codes, text, &address, diag);
  if (!status) memcpy(out_function, &address, sizeof address);
  return status;
}

tg_status tg_gemm_compile(const tg_gemm_blocking *blocking, uint32_t v, uint32_t acc_lanes,
                          const tg_gemm_needs *needs, tg_codes *codes, tg_gemm_kernels *out, tg_diag *diag) {
  tg_text text = {0};
  tg_status status = TG_OK;
  for (uint32_t u = 0; !status && u < blocking->units; u++)
    if (needs->units >> u & 1) {
      tg_ir_declare(&text, v);
      emit_micro(&text, blocking, u + 1, v, acc_lanes);
      status = compiled(&text, codes, &out->micro[u], diag);
    }
  for (int format = TG_FMT_FP32; !status && format <= TG_FMT_TF32; format++)
    if (needs->formats >> format & 1) {
      tg_ir_declare(&text, v);
      emit_widen(&text, v, format);
      status = compiled(&text, codes, &out->widen[format], diag);
    }
  if (!status && needs->rounding) {
    tg_ir_declare(&text, v);
    emit_round(&text, v, acc_lanes);
    status = compiled(&text, codes, &out->round, diag);
  }
  free(text.text);
  return status;
}
