/* check_fma FORMAT FILE: checks multiply-add vectors from outside.
 *
 * FORMAT is fp32, bf16, ... of a and b. FILE, or - for the standard input, has a vector a line, four words in
 * hex: a, b in the format, c and the expected a*b + c in FP32, rounded once, NaN canonical; # begins a
 * comment. Each goes through every adder of the PE and through the lane of vx (verilated, a vector a cycle),
 * the reference and the native kernels of the functional engine, and the host's FMA. Exit status 1 if any
 * differs, 2 if the file cannot be read.
 *
 * check_fma --random N FORMAT prints N random vectors with what the host expects. */
#include "sim/functional/exec.h"
#include "sim/machine/numerics.h"
#include "sim/machine/sequencer.h"
#include "tests/rtl/benches.h"
#include "tests/sim/kernel_cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANE_LATENCY = 3, PE_LATENCY = 4, P = 16, SHOWN = 10 };

typedef struct vectors {
  const tg_rtl_format *format;
  tg_fma_vector *v;
  uint32_t *expected, *got;
  size_t *line;
  size_t count, room;
} vectors;

static void append(vectors *s, tg_fma_vector v, uint32_t expected, size_t line) {
  if (s->count == s->room) {
    s->room = s->room ? 2 * s->room : 1024;
    s->v = realloc(s->v, s->room * sizeof *s->v);
    s->expected = realloc(s->expected, s->room * sizeof *s->expected);
    s->got = realloc(s->got, s->room * sizeof *s->got);
    s->line = realloc(s->line, s->room * sizeof *s->line);
    if (!s->v || !s->expected || !s->got || !s->line) {
      fprintf(stderr, "check_fma: out of memory after %zu vectors\n", s->count);
      exit(2);
    }
  }
  s->v[s->count] = v;
  s->expected[s->count] = tg_canonical(expected);
  s->line[s->count++] = line;
}

static void refuse(const char *file, size_t line, const char *what) {
  fprintf(stderr, "check_fma: %s: line %zu: %s\n", file, line, what);
  exit(2);
}

static void parse_line(vectors *s, const char *file, size_t number, char *text) {
  uint32_t words[4];
  char *save = NULL, *comment = strchr(text, '#');
  if (comment) *comment = 0;
  char *token = strtok_r(text, " \t\r\n,", &save);
  if (!token) return;
  for (int i = 0; i < 4; i++, token = strtok_r(NULL, " \t\r\n,", &save)) {
    if (!token) refuse(file, number, "a vector has four words: a b c expected");
    char *end;
    errno = 0;
    unsigned long long x = strtoull(token, &end, 16);
    if (*end || end == token || *token == '-' || errno) refuse(file, number, "not a number in hex");
    if (x >> (i < 2 ? s->format->bits : 32)) refuse(file, number, "a word is wider than its format");
    words[i] = (uint32_t)x;
  }
  if (token) refuse(file, number, "more than four words");
  append(s, (tg_fma_vector){words[0], words[1], words[2]}, words[3], number);
}

static void read_vectors(vectors *s, const char *path) {
  FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
  char text[256];
  if (!f) {
    fprintf(stderr, "check_fma: %s: %s\n", path, strerror(errno));
    exit(2);
  }
  for (size_t number = 1; fgets(text, sizeof text, f); number++) {
    if (!strchr(text, '\n') && !feof(f)) refuse(path, number, "longer than 255 characters");
    parse_line(s, path, number, text);
  }
  if (ferror(f)) refuse(path, 0, "cannot be read");
  if (f != stdin) fclose(f);
  if (!s->count) refuse(path, 0, "no vector");
}

/* ---- engines: each fills s->got ---- */

static void host(vectors *s) {
  for (size_t i = 0; i < s->count; i++)
    s->got[i] = tg_host_fma(tg_widened(s->format, s->v[i].a), tg_widened(s->format, s->v[i].b), s->v[i].c);
}

static void lane(vectors *s) {
  tg_lane_bench bench;
  tg_lane_open(&bench, &tg_dut_lane3, LANE_LATENCY);
  for (size_t t = 0; t < s->count + LANE_LATENCY; t++) {
    uint32_t operands[3] = {0, 0, 0};
    if (t < s->count) {
      operands[0] = tg_widened(s->format, s->v[t].a);
      operands[1] = tg_widened(s->format, s->v[t].b);
      operands[2] = s->v[t].c;
    }
    tg_lane_step(&bench, false, t < s->count, operands, 0);
    if (t >= LANE_LATENCY) s->got[t - LANE_LATENCY] = bench.got;
  }
  tg_lane_close(&bench);
}

/* Weights come a cycle before their token, into alternate sets. Narrow formats: the other sub-row is
 * masked. */
static void pe(vectors *s, int row, int column) {
  tg_pe_bench bench;
  bool wide = s->format->code == TG_FMT_FP32;
  size_t n = s->count, through = wide ? PE_LATENCY : 2 * PE_LATENCY;
  tg_pe_open(&bench, &tg_dut_pe, PE_LATENCY, s->format);
  for (size_t cycle = 0; cycle <= n + through;
       cycle++) { /* the token of sub-row 0 in it is number cycle - 1 */
    tg_pe_cycle in = {.w_transposed = true,
                      .w_set = cycle & 1,
                      .w_row_en = 3,
                      .w_col_en = 3,
                      .w_on = (uint8_t)(wide ? 3 : 1 << row),
                      .a_set = (uint8_t)(cycle & 1 ? 0 : 3)};
    for (int i = 0; i < 2; i++) {
      size_t delay = wide ? 0 : (size_t)(i * PE_LATENCY), at = cycle - 1 - delay;
      if (at + 1 < n || cycle == delay) in.w_row[i] = tg_pe_word(s->format, s->v[at + 1].b);
      if (cycle <= delay || at >= n) continue;
      in.a_valid |= (uint8_t)(1 << i);
      in.a[i] = tg_pe_word(s->format, s->v[at].a);
      if (i == 0) in.psum[0] = in.psum[1] = s->v[at].c;
    }
    tg_pe_step(&bench, &in);
    if (cycle > through) s->got[cycle - 1 - through] = bench.pins.out[column];
  }
  tg_pe_close(&bench);
}
static void pe_upper_0(vectors *s) { pe(s, 0, 0); }
static void pe_upper_1(vectors *s) { pe(s, 0, 1); }
static void pe_lower_0(vectors *s) { pe(s, 1, 0); }
static void pe_lower_1(vectors *s) { pe(s, 1, 1); }

/* P vectors a GEMM: row m has a, column m has b, the accumulator's diagonal has c. */
enum { A_ROW = 0, B_ROW = 4 * P, STEP = 2 };

static tg_program *gemm_program(const tg_rtl_format *format) {
  tg_program *program = kernel_program(P);
  tg_mx_instr *in = &tg_queue_push(program, &program->sections[0].tiles[0].mx)->mx;
  in->op = TG_OP_mx_gemm;
  in->format = format->code;
  in->m_count[0] = 1;
  in->m_count[1] = P;
  for (int l = 0; l < 4; l++) in->blk_count[l] = 1;
  in->a_base = A_ROW;
  in->a_m[1] = STEP;
  in->b_base = B_ROW;
  in->b_row = STEP;
  in->k_chunk = in->k_total = 1;
  return program;
}

static void functional(vectors *s, bool native) {
  tg_program *program = gemm_program(s->format);
  tg_kernels *made = NULL;
  tg_diag diag = {""};
  if (tg_program_check(program, &diag) || (native && tg_kernels_prepare(program, &made, &diag))) {
    fprintf(stderr, "check_fma: %s\n", diag.message);
    exit(2);
  }
  const tg_kernels *kernels = native ? made : tg_kernels_reference();
  tg_machine_state *state = tg_machine_create(&program->params);
  tg_machine_begin(state, program, 0, 0, 0, NULL);
  tg_sequencer sequencer;
  tg_sequencer_init(&sequencer, TG_MX, &program->sections[0].tiles[0].mx);
  tg_execution x = tg_sequencer_peek(&sequencer);
  size_t bytes = s->format->bits / 8;
  for (size_t i = 0; i < s->count; i += P) {
    size_t n = s->count - i < P ? s->count - i : P;
    for (size_t m = 0; m < n; m++) {
      memcpy(tg_pad_row(state, 0, (uint32_t)(A_ROW + STEP * m)), &s->v[i + m].a, bytes);
      memcpy(tg_pad_row(state, 0, B_ROW) + m * bytes, &s->v[i + m].b, bytes);
      tg_acc_row(state, 0, (uint32_t)m)[m] = s->v[i + m].c;
    }
    tg_exec_gemm(kernels, state, 0, &x);
    for (size_t m = 0; m < n; m++) s->got[i + m] = tg_acc_row(state, 0, (uint32_t)m)[m];
  }
  tg_machine_destroy(state);
  tg_kernels_destroy(made);
  tg_program_destroy(program);
}
static void reference(vectors *s) { functional(s, false); }
static void native(vectors *s) { functional(s, true); }

static const struct {
  const char *name;
  bool narrow_only, canonical_later; /* kernels make NaN canonical where an accumulator is stored */
  void (*run)(vectors *);
} engines[] = {
    {"host FMA", false, false, host},
    {"RTL vx lane", false, false, lane},
    {"RTL PE adder (0,0)", false, false, pe_upper_0},
    {"RTL PE adder (0,1)", true, false, pe_upper_1},
    {"RTL PE adder (1,0)", true, false, pe_lower_0},
    {"RTL PE adder (1,1)", true, false, pe_lower_1},
    {"reference kernel", false, true, reference},
    {"native kernel", false, true, native},
};

static size_t compare(const vectors *s, const char *name, bool canonical_later) {
  size_t wrong = 0;
  for (size_t i = 0; i < s->count; i++) {
    uint32_t got = canonical_later ? tg_canonical(s->got[i]) : s->got[i];
    if (got == s->expected[i] || ++wrong > SHOWN) continue;
    printf("  line %zu: %0*x * %0*x + %08x: %s has %08x, expected %08x\n", s->line[i],
           (int)s->format->bits / 4, s->v[i].a, (int)s->format->bits / 4, s->v[i].b, s->v[i].c, name, got,
           s->expected[i]);
  }
  printf("%-20s %zu of %zu equal\n", name, s->count - wrong, s->count);
  return wrong;
}

static int check(vectors *s, const char *path) {
  size_t wrong = 0;
  read_vectors(s, path);
  tg_exec_thread_init();
  for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
    if (engines[e].narrow_only && s->format->code == TG_FMT_FP32) continue;
    engines[e].run(s);
    wrong += compare(s, engines[e].name, engines[e].canonical_later);
  }
  return wrong != 0;
}

static void print_random(const tg_rtl_format *f, uint64_t count) {
  tg_random random = {0xf3a + f->code};
  int digits = (int)f->bits / 4;
  for (uint64_t i = 0; i < count; i++) {
    tg_fma_vector v = tg_fma_random(f, &random);
    printf("%0*x %0*x %08x %08x\n", digits, v.a, digits, v.b, v.c,
           tg_host_fma(tg_widened(f, v.a), tg_widened(f, v.b), v.c));
  }
}

int main(int argc, char **argv) {
  bool random = argc == 4 && !strcmp(argv[1], "--random");
  const char *name = argc == 3 ? argv[1] : random ? argv[3] : "";
  vectors s = {.format = tg_rtl_format_named(name)};
  if (!s.format) {
    fprintf(stderr, "usage: check_fma FORMAT FILE|-\n       check_fma --random N FORMAT\nformats:");
    for (int i = 0; i < TG_RTL_FORMATS; i++) fprintf(stderr, " %s", tg_rtl_formats[i].name);
    fprintf(stderr, "\n");
    return 2;
  }
  if (random) {
    print_random(s.format, strtoull(argv[2], NULL, 10));
    return 0;
  }
  int status = check(&s, argv[2]);
  free(s.v);
  free(s.expected);
  free(s.got);
  free(s.line);
  return status;
}
