/* Proof scripts of vector functions, from their microprograms: `prove_functions FUNCTION...` prints, piece by piece of their
 * inputs,
 *
 *   piece FUNCTION ACCURACY BOUND SCALED ULP TRUTH TEXT
 *                      whose true results have an ulp of 2^ULP at least and a size of TRUTH at most; SCALED: 1 where a power
 *                      of two is multiplied last, which rounds once more if it makes a subnormal of the result
 *   gappa ... end      how far the operations, each rounded, are from the same without rounding
 *   sollya ... end     how far these are from the function: a polynomial of a reduced argument, absolute
 *   relative ...       the same beside it, relative, of the whole function: once, before its pieces
 *
 * prove_functions.py runs both and adds. The microprogram is walked with its inputs in an interval, in which each comparison
 * has one answer; what is no arithmetic becomes what it is there: entries of the table and seeds are numbers, the rounding to
 * multiples of 1/32 is a number k = n + j/32 from which x/ln2 is no further than half a step. What this file says of a function
 * is where its pieces begin and what is true; numbers and operations are those of the microprogram. */
#include "tests/functions/measure.h"

#include "sim/machine/numerics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TERMS = 128, TEXT = 512, LITERAL = 48, STEPS = 32 /* of k in 1 */ };

typedef struct piece {
  const char *name; /* of the proof */
  const measured_function *function;
  tg_mc_accuracy accuracy;
  double low, high;  /* x; its significand where its exponent is a term */
  bool has_exponent; /* a term, of: */
  int first, last;   /* exponents of x, or whole parts of k */
  int entry;         /* j */
  double from, to;   /* the exact reduced argument, of k */
  bool assumed;      /* that it is there; else Gappa is to show it */
  bool relative;     /* x and the seed are 1: what else is a function of the seed's error */
  int splits;        /* of x's interval, for Gappa */
  bool towards_high; /* or by steps that become short there, where the result is just below a power of two */
  int ulp;
  double truth;      /* the largest */
  const char *error; /* Sollya: what the reduced polynomial stands for, with k and d for the reduction's */
} piece;

/* What a register holds. */
typedef struct value {
  enum { NUMBER, TERM, UNKNOWN /* but for its interval */ } kind;
  double number; /* of bits */
  uint32_t bits;
  double low, high;
  int term;
} value;

/* Something that scripts name: t is the rounded one, e the exact one, and s the polynomial in Sollya. */
typedef struct term {
  char t[TEXT], e[TEXT], s[TEXT]; /* expressions; e empty: the term is exact, and has one name */
  char constants[TEXT];           /* not empty: x + k times their sum */
  bool is_k, is_significand, is_integer;
  int uses[3]; /* terms; -1: none, -2: what no script can say */
  bool live;
} term;

/* A defect, for the test of this test. */
typedef enum defect { NO_DEFECT, OTHER_CONSTANT, DROPPED_TERM } defect;

typedef struct walk {
  const piece *p;
  defect planted;
  size_t planted_at;
  tg_mc mc;
  value registers[TERMS];
  term terms[TERMS];
  int count, k, reduced;                     /* terms; -1: none */
  char quantised_as[TEXT], inverse[LITERAL]; /* what is rounded to k; 1/ln2 */
  bool seeded, has_reduced;
} walk;

static const double magic = 0x1.8p18; /* of steps of 1/32 */

/* m * 2^n exactly, as both tools read it. */
static const char *literal(double x, char out[LITERAL]) {
  int exponent;
  double m = frexp(x, &exponent);
  long long whole = (long long)ldexp(m, 53);
  exponent -= 53;
  while (whole && whole % 2 == 0) whole /= 2, exponent++;
  snprintf(out, LITERAL, "%lldb%d", whole, whole ? exponent : 0);
  return out;
}

static value number_of(uint32_t bits) {
  double x = (double)tg_bits_f32(bits);
  return (value){.kind = NUMBER, .bits = bits, .number = x, .low = x, .high = x};
}

static value number(const walk *w, double x) {
  if ((double)(float)x != x) tg_die("%s: %a is no number of FP32", w->p->function->name, x);
  return number_of(tg_f32_bits((float)x));
}

static value unknown(double low, double high) { return (value){.kind = UNKNOWN, .low = low, .high = high}; }
static value truth(bool is) { return number_of(is ? 0xffffffffu : 0); }
static bool is_number(value v, double x) { return v.kind == NUMBER && v.number == x; }

static term *new_term(walk *w, value *out) {
  if (w->count == TERMS) tg_die("too many terms");
  *out = (value){.kind = TERM, .term = w->count, .low = -INFINITY, .high = INFINITY};
  return &w->terms[w->count++];
}

/* Its name in a script: 't', 'e' or 's'. */
static const char *name(const walk *w, value v, char script, char out[LITERAL]) {
  char digits[LITERAL];
  if (v.kind == NUMBER) snprintf(out, LITERAL, v.number < 0 ? "(%.40s)" : "%.40s", literal(v.number, digits));
  if (v.kind == NUMBER) return out;
  if (v.kind == UNKNOWN) return "?";
  if (script == 'e' && !w->terms[v.term].e[0]) script = 't';
  snprintf(out, LITERAL, "%c%d", script, v.term);
  return out;
}

/* An operation: `format` with a, b and c for the operands; rounded, unless it is exact. */
static value operation(walk *w, const char *format, const value *operands, bool exact) {
  value result;
  term *made = new_term(w, &result);
  char *texts[] = {made->t, made->e, made->s};
  for (int i = 0; i < 3; i++) {
    size_t at = 0;
    for (const char *c = format; *c; c++) {
      char buffer[LITERAL], one[2] = {*c, 0};
      const char *piece = *c >= 'a' && *c <= 'c' ? name(w, operands[*c - 'a'], "tes"[i], buffer) : one;
      at += (size_t)snprintf(texts[i] + at, TEXT - at, "%s", piece);
    }
  }
  for (int i = 0; i < 3; i++)
    made->uses[i] = !strchr(format, 'a' + i)      ? -1
                    : operands[i].kind == TERM    ? operands[i].term
                    : operands[i].kind == UNKNOWN ? -2
                                                  : -1;
  if (!exact) {
    char rounded[TEXT];
    snprintf(rounded, TEXT, "rnd(%.*s)", TEXT - 8, made->t);
    memcpy(made->t, rounded, TEXT);
  }
  return result;
}

/* a*b + 1.5 * 2^18, with b about 1/ln2, is k = n + j/32 behind that number, for |k| below 2^17. */
static value quantise(walk *w, value a, value b) {
  value result;
  char t[2][LITERAL];
  snprintf(w->quantised_as, TEXT, "%s * %s", name(w, a, 'e', t[0]), name(w, b, 'e', t[1]));
  snprintf(w->inverse, LITERAL, "%s", t[1]);
  term *k = new_term(w, &result);
  snprintf(k->t, TEXT, "n + %db-5", w->p->entry);
  k->is_k = true;
  k->uses[0] = a.term, k->uses[1] = k->uses[2] = -1;
  w->k = result.term;
  return result;
}

static bool is_argument(const walk *w, value v) {
  return v.kind == TERM && (v.term == 0 || w->terms[v.term].constants[0]);
}

/* Is it a step of the reduction, x + k times a constant? Then it is the reduced argument so far. */
static void reduction(walk *w, value result, const value *v) {
  term *made = &w->terms[result.term];
  if (w->k < 0 || v[0].kind != TERM || v[0].term != w->k || v[1].kind != NUMBER || !is_argument(w, v[2]))
    return;
  char constant[LITERAL];
  const char *so_far = v[2].term == 0 ? "0" : w->terms[v[2].term].constants;
  snprintf(made->constants, TEXT, "%.200s + %s", so_far, name(w, v[1], 't', constant));
  snprintf(made->s, TEXT, "_x_");
  w->reduced = result.term;
}

static value arithmetic(walk *w, tg_alu alu, const value *v) {
  const char *format = alu == TG_ALU_fma   ? "a * b + c"
                       : alu == TG_ALU_add ? "a + b"
                       : alu == TG_ALU_sub ? "a - b"
                                           : "a * b";
  bool numbers = v[0].kind == NUMBER && v[1].kind == NUMBER && (alu != TG_ALU_fma || v[2].kind == NUMBER);
  bool cuts = w->seeded && w->p->relative && !w->has_reduced && alu == TG_ALU_fma && fabs(v[2].number) == 1;
  if (alu == TG_ALU_fma && is_number(v[2], magic) && v[0].kind == TERM) return quantise(w, v[0], v[1]);
  if (alu == TG_ALU_sub && is_number(v[1], magic) && v[0].kind == TERM && w->terms[v[0].term].is_k)
    return v[0];
  if (numbers && !cuts) {
    double a = v[0].number, b = v[1].number;
    double exact = alu == TG_ALU_fma   ? a * b + v[2].number
                   : alu == TG_ALU_add ? a + b
                   : alu == TG_ALU_sub ? a - b
                                       : a * b;
    if ((double)(float)exact == exact) return number(w, exact);
  }
  if (alu == TG_ALU_mul && is_number(v[1], 1)) return v[0];
  if (alu == TG_ALU_fma && is_number(v[0], 0)) return v[2];
  if (alu == TG_ALU_fma && is_number(v[2], 0)) format = "a * b";
  value result = operation(w, format, v, false);
  term *made = &w->terms[result.term];
  if (alu == TG_ALU_fma) reduction(w, result, v);
  if (alu == TG_ALU_mul && v[0].kind == TERM && v[1].kind == NUMBER)
    made->is_significand = w->terms[v[0].term].is_significand;
  if (cuts || (alu == TG_ALU_sub && is_number(v[1], 1) && w->terms[v[0].term].is_significand)) {
    snprintf(made->s, TEXT, "_x_");
    w->has_reduced = true;
    w->reduced = result.term;
  }
  return result;
}

static value bits_of(walk *w, tg_alu alu, value a, value b) {
  if (a.kind == NUMBER && b.kind == NUMBER)
    return number_of(alu == TG_ALU_and  ? a.bits & b.bits
                     : alu == TG_ALU_or ? a.bits | b.bits
                                        : a.bits ^ b.bits);
  bool sign = b.kind == NUMBER && b.bits == 0x80000000u;
  if (alu == TG_ALU_xor && sign) return operation(w, "-a", &a, true);
  if (alu == TG_ALU_and && sign && a.low >= 0) return number_of(0);
  if (alu == TG_ALU_and && sign && a.high < 0) return b;
  if (alu == TG_ALU_and && b.kind == NUMBER && b.bits == 0x7fffffffu && a.low >= 0) return a;
  if (alu == TG_ALU_or && b.kind == NUMBER && b.bits == 0) return a;
  if (alu == TG_ALU_or && sign && a.low >= 0) return unknown(-a.high, -a.low);
  if (alu == TG_ALU_or && sign && a.high < 0) return a;
  return unknown(-INFINITY, INFINITY);
}

static value smaller(value a, value b) {
  return a.high <= b.low ? a : b.high <= a.low ? b : unknown(fmin(a.low, b.low), fmin(a.high, b.high));
}
static value larger(value a, value b) {
  return a.low >= b.high ? a : b.low >= a.high ? b : unknown(fmax(a.low, b.low), fmax(a.high, b.high));
}

/* Its exponent, of an interval with one. */
static int exponent_of(const walk *w, value a) {
  int exponent = ilogb(a.low);
  if (a.low <= 0 || ilogb(a.high) != exponent)
    tg_die("%s: [%a, %a] has several exponents", w->p->function->name, a.low, a.high);
  return exponent;
}

static value scaled(walk *w, value a, int by) {
  if (by == 0) return a;
  if (a.kind == NUMBER) return number(w, ldexp(a.number, by));
  value v[2] = {a, {.kind = NUMBER, .number = ldexp(1, by)}}, result = operation(w, "a * b", v, true);
  result.low = ldexp(a.low, by), result.high = ldexp(a.high, by);
  return result;
}

static value exponent(walk *w, value a) {
  const piece *p = w->p;
  if (!p->has_exponent) return number(w, exponent_of(w, a));
  if (p->first == p->last) return number(w, p->first);
  value result;
  term *made = new_term(w, &result);
  snprintf(made->t, TEXT, "n");
  snprintf(made->s, TEXT, "n");
  made->uses[0] = made->uses[1] = made->uses[2] = -1;
  made->is_integer = true;
  return result;
}

static value seed(walk *w, uint32_t (*of)(uint32_t), value a) {
  w->seeded = true;
  if (w->p->relative) return number(w, 1);
  uint32_t first = tg_f32_bits((float)a.low), last = tg_f32_bits((float)a.high), y = of(first);
  for (uint32_t bits = first; bits <= last; bits++)
    if (of(bits) != y) return unknown(0, INFINITY);
  return number_of(y);
}

static uint32_t rcpseed(uint32_t a) { return tg_rcpseed(a); }
static uint32_t rsqseed(uint32_t a) { return tg_rsqseed(a); }

static value operand(const walk *w, const tg_mc_op *op, int i) {
  if (op->a[i] >= 0) return w->registers[op->a[i]];
  return op->a[i] == TG_MC_NONE ? (value){.kind = UNKNOWN} : number_of(w->mc.constants[-1 - op->a[i]]);
}

static value step(walk *w, const tg_mc_op *op) {
  value v[3] = {operand(w, op, 0), operand(w, op, 1), operand(w, op, 2)};
  switch (op->alu) {
  case TG_ALU_fma:
  case TG_ALU_add:
  case TG_ALU_sub:
  case TG_ALU_mul: return arithmetic(w, op->alu, v);
  case TG_ALU_and:
  case TG_ALU_or:
  case TG_ALU_xor: return bits_of(w, op->alu, v[0], v[1]);
  case TG_ALU_min: return smaller(v[0], v[1]);
  case TG_ALU_max: return larger(v[0], v[1]);
  case TG_ALU_clamp: return smaller(larger(v[0], v[1]), v[2]);
  case TG_ALU_cmplt:
    if (v[0].high < v[1].low) return truth(true);
    return v[0].low >= v[1].high ? truth(false) : unknown(-INFINITY, INFINITY);
  case TG_ALU_cmpeq: /* of a result with itself: no NaN is there */
    return op->a[0] == op->a[1] ? truth(true) : unknown(-INFINITY, INFINITY);
  case TG_ALU_select:
    if (v[0].kind == NUMBER) return v[0].bits >> 31 ? v[1] : v[2];
    return v[0].high < 0 ? v[1] : v[0].low >= 0 ? v[2] : unknown(-INFINITY, INFINITY);
  case TG_ALU_lut:
    if (v[0].kind == TERM && w->terms[v[0].term].is_k)
      return number_of(tg_f32_bits(w->mc.table[w->p->entry]));
    return unknown(-INFINITY, INFINITY);
  case TG_ALU_scale: /* by k's whole part: if that is no number, the piece is of what is scaled */
    if (v[1].kind == NUMBER) return scaled(w, v[0], (int)floor(v[1].number));
    if (v[1].kind != TERM || !w->terms[v[1].term].is_k) return unknown(-INFINITY, INFINITY);
    return w->p->first == w->p->last ? scaled(w, v[0], w->p->first) : v[0];
  case TG_ALU_mantissa:
    return w->p->has_exponent ? w->registers[TERMS - 1] : scaled(w, v[0], -exponent_of(w, v[0]));
  case TG_ALU_exponent: return exponent(w, v[0]);
  case TG_ALU_rcpseed: return seed(w, rcpseed, v[0]);
  case TG_ALU_rsqseed: return seed(w, rsqseed, v[0]);
  default: return unknown(-INFINITY, INFINITY);
  }
}

static void mark(walk *w, int number) {
  if (number == -2) tg_die("%s: a result of what no script can say", w->p->function->name);
  if (number < 0 || w->terms[number].live) return;
  w->terms[number].live = true;
  for (int i = 0; i < 3; i++) mark(w, w->terms[number].uses[i]);
}

/* An operation with the defect: it gives its addend, or the addend is another by 2^-10. */
static value planted(walk *w, const tg_mc_op *op) {
  if (w->planted == DROPPED_TERM) return operand(w, op, 2);
  tg_mc_op other = *op;
  other.a[2] = tg_mc_const(&w->mc, (float)(operand(w, op, 2).number * (1 + 0x1p-10)));
  return step(w, &other);
}

/* The last multiply-add that can have the defect: one whose addend is a coefficient, or is no number; the number of
 * operations where there is none. */
static size_t place_of(const walk *w, defect of, value result) {
  size_t found = w->mc.count;
  for (size_t i = 0; i < w->mc.count; i++) {
    const tg_mc_op *op = &w->mc.ops[i];
    if (op->kind != TG_MC_ALU || op->alu != TG_ALU_fma || w->registers[op->dst].kind != TERM) continue;
    value made = w->registers[op->dst], addend = operand(w, op, 2);
    if (!w->terms[made.term].live || w->terms[made.term].is_k || made.term == result.term) continue;
    bool coefficient = addend.kind == NUMBER && addend.number != 0 && fabs(addend.number) != 1;
    if (of == OTHER_CONSTANT ? coefficient : addend.kind == TERM) found = i;
  }
  return found;
}

static value walk_function(walk *w, const piece *p, tg_arena *arena, defect planted_defect,
                           size_t planted_at) {
  *w = (walk){.p = p, .k = -1, .reduced = -1, .planted = planted_defect, .planted_at = planted_at};
  tg_mc_begin(&w->mc, arena);
  tg_mc_ref x = tg_mc_load(&w->mc, 0, true), y = p->function->unary(&w->mc, x, p->accuracy);
  value input;
  term *first = new_term(w, &input);
  snprintf(first->t, TEXT, "rnd(x)");
  snprintf(first->s, TEXT, "_x_");
  first->uses[0] = first->uses[1] = first->uses[2] = -1;
  input.low = p->low, input.high = p->high;
  first->is_significand = p->has_exponent;
  w->registers[TERMS - 1] = input; /* the significand */
  w->registers[x] = p->relative ? number(w, 1) : p->has_exponent ? unknown(0x1p-149, 0x1.fffffep+127) : input;
  for (size_t i = 0; i < w->mc.count; i++)
    if (w->mc.ops[i].kind == TG_MC_ALU)
      w->registers[w->mc.ops[i].dst] =
          w->planted && i == w->planted_at ? planted(w, &w->mc.ops[i]) : step(w, &w->mc.ops[i]);
  value result = y >= 0 ? w->registers[y] : number_of(w->mc.constants[-1 - y]);
  mark(w, result.kind == TERM ? result.term : result.kind == UNKNOWN ? -2 : -1);
  return result;
}

static bool has_k(const walk *w) { return w->k >= 0 && w->terms[w->k].live; }

static void print_gappa(const walk *w, value result) {
  const piece *p = w->p;
  char a[LITERAL], b[LITERAL], t[LITERAL], e[LITERAL];
  printf("gappa\n@rnd = float<ieee_32,ne>;\n");
  bool integers = has_k(w);
  for (int i = 0; i < w->count; i++) integers |= w->terms[i].live && w->terms[i].is_integer;
  if (integers) printf("n = int<ne>(n_);\n");
  for (int i = 0; i < w->count; i++) {
    const term *one = &w->terms[i];
    if (!one->live) continue;
    printf("t%d = %s;\n", i, one->t);
    if (one->e[0]) printf("e%d = %s;\n", i, one->e);
  }
  printf("{ t0 in [%s,%s]", literal(p->low, a), literal(p->high, b));
  if (integers) printf(" /\\ n in [%d,%d]", p->first, p->last);
  if (has_k(w)) printf(" /\\ %s - t%d in [-1b-6,1b-6]", w->quantised_as, w->k);
  if (has_k(w) && p->assumed)
    printf(" /\\ e%d in [%s,%s]", w->reduced, literal(p->from, a), literal(p->to, b));
  printf(" -> %s - %s in ?", name(w, result, 't', t), name(w, result, 'e', e));
  if (has_k(w) && !p->assumed)
    printf(" /\\ e%d in [%s,%s]", w->reduced, literal(p->from, a), literal(p->to, b));
  printf(" }\n");
  for (int i = 0; i < w->count; i++) {
    const term *one = &w->terms[i];
    if (!one->live || !one->e[0]) continue;
    if (one->constants[0])
      printf("e%d -> (%s - t%d) / %s + t%d * (1 / %s + %s);\n", i, w->quantised_as, w->k, w->inverse, w->k,
             w->inverse, one->constants);
  }
  if (p->splits) printf("$ t0 in %d;\n", p->splits);
  if (p->towards_high) { /* nearer and nearer to it, by numbers of FP32 */
    printf("$ t0 in (");
    for (double left = p->high - p->low; left * 0x1p23 >= p->high / 2; left *= 0.9)
      printf("%s%s", left == p->high - p->low ? "" : ",", literal((double)(float)(p->high - left), a));
    printf(");\n");
  }
  printf("end\n");
}

/* With the exponent, or k, at both of its ends: the error grows from one to the other. */
static void print_sollya(const walk *w, value result) {
  const piece *p = w->p;
  char a[LITERAL], b[LITERAL], s[LITERAL];
  for (int end = 0; end < (p->has_exponent || has_k(w) ? 2 : 1); end++) {
    printf("sollya\nn = %d;\n", end ? p->last : p->first);
    if (has_k(w))
      printf("j = %d / 32;\nk = n + j;\nd = %s + log(2);\n", p->entry, w->terms[w->reduced].constants);
    for (int i = 0; i < w->count; i++)
      if (w->terms[i].live && w->terms[i].s[0]) printf("s%d = %s;\n", i, w->terms[i].s);
    printf("found = sup(supnorm(%s, %s, [%s;%s], %s, 1b-8));\nend\n", name(w, result, 's', s), p->error,
           literal(p->from, a), literal(p->to > p->from ? p->to : p->from + 0x1p-40, b),
           p->relative ? "relative" : "absolute");
  }
}

static defect planted_defect = NO_DEFECT;

static void print_piece(const piece *p, const char *text, bool with_gappa, bool with_sollya) {
  tg_arena arena = {0};
  walk *w = calloc(1, sizeof *w);
  if (!w) tg_die("out of memory");
  value result = walk_function(w, p, &arena, NO_DEFECT, 0);
  size_t place = place_of(w, planted_defect, result);
  if (planted_defect && place < w->mc.count) result = walk_function(w, p, &arena, planted_defect, place);
  printf("%s %s %s %a %d %d %a %s\n", p->relative ? "relative" : "piece", p->name,
         p->accuracy == TG_MC_SINGLE ? "fp32" : "narrow", p->function->bound,
         w->mc.ops[w->mc.count - 1].alu == TG_ALU_scale, p->ulp, p->truth, text);
  if (with_gappa) print_gappa(w, result);
  if (with_sollya) print_sollya(w, result);
  free(w);
  tg_arena_release(&arena);
}

/* ---- the functions ---- */

static int ulp_of(double x) { return ilogb(x) - 23; }

/* The largest number below x > 0, or the smallest above. */
static double below(double x) { return (double)nextafterf((float)x, -INFINITY); }
static double above(double x) { return (double)nextafterf((float)x, INFINITY); }

/* e^x: x in [-104, 89], by entries of the table. Beside 1 results have two ulps. */
static void prove_exp(piece p) {
  static const double widest = 0.010845, nearly = 0x1p-20;
  p.low = -104, p.high = 89, p.first = -151, p.last = 128, p.truth = 2;
  p.error = "2^j * exp(_x_ - k * d)";
  for (p.entry = 0; p.entry < STEPS; p.entry++) {
    char text[64];
    snprintf(text, sizeof text, "entry %d", p.entry);
    p.from = -widest, p.to = widest, p.ulp = -23, p.assumed = false;
    print_piece(&p, text, true, p.entry != 0);
    if (p.entry) continue;
    const double ends[] = {-widest, -nearly, nearly, widest};
    p.assumed = true;
    for (int part = 0; part < 3; part++) {
      p.from = ends[part], p.to = ends[part + 1], p.ulp = part == 2 ? -23 : -24;
      snprintf(text, sizeof text, "entry 0, r in [%g, %g]", p.from, p.to);
      print_piece(&p, text, true, true);
    }
  }
}

/* Pieces of [low, high], 0 < low, in each of which truth has one ulp; the largest first. `of` is monotone. */
static void by_binades(piece p, double (*of)(double), double low, double high, double sign) {
  while (high >= low) {
    int exponent = ilogb(of(sign * high));
    double bottom = low,
           top = high; /* the smallest x of that exponent is in (bottom, top], or bottom itself */
    if (ilogb(of(sign * bottom)) == exponent) top = bottom;
    while (above(bottom) < top) {
      double middle = (double)(float)(bottom / 2 + top / 2);
      if (fabs(of(sign * middle)) >= ldexp(1 + 0x1p-40, exponent))
        top = middle;
      else
        bottom = middle;
    }
    p.low = sign < 0 ? -high : top, p.high = sign < 0 ? -top : high;
    p.ulp = exponent - 23, p.truth = ldexp(1, exponent + 1);
    char text[64];
    if (!p.has_exponent) p.from = p.low, p.to = p.high;
    snprintf(text, sizeof text, "x in [%g, %g]", p.low, p.high);
    print_piece(&p, text, true, true);
    high = below(top);
  }
}

/* x and more below a limit: as far down as the polynomial matters. */
static void prove_low(piece p, double single, double narrow, double sign, const char *error) {
  p.error = error;
  p.splits = 8;
  by_binades(p, p.function->oracle, 0x1p-30, below(p.accuracy == TG_MC_SINGLE ? single : narrow), sign);
}

/* log(2^n m): with n + 1 for n where m is above sqrt 2, m/2 - 1 for m - 1. Beside 1, where the sum is small, by binades;
 * else by its whole part. */
static void prove_log(piece p) {
  static const double middle = 0x1.6a09e6p+0;
  static const int wholes[] = {1, 2, 3, 4, 6, 7, 11, 13, 23, 24, 46, 47, 92, 94, 150};
  char text[64];
  p.has_exponent = true;
  for (int half = 0; half < 2; half++) {
    p.error = half ? "log(1 + _x_) + (n + 1) * log(2)" : "log(1 + _x_) + n * log(2)";
    p.splits = 0;
    for (int parts = 0; parts < 2; parts++) {
      const double ends[2][3] = {{1, 1.2, middle}, {above(middle), 1.7, below(2)}};
      p.low = (double)(float)ends[half][parts], p.high = (double)(float)ends[half][parts + 1];
      p.from = ldexp(p.low, -half) - 1, p.to = ldexp(p.high, -half) - 1;
      for (size_t i = 0; i + 1 < sizeof wholes / sizeof *wholes; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
          int first = sign * wholes[i], last = sign * (wholes[i + 1] - 1);
          double a = fabs(first * M_LN2 + log1p(p.from)), b = fabs(first * M_LN2 + log1p(p.to));
          p.first = (sign > 0 ? first : last) - half, p.last = (sign > 0 ? last : first) - half;
          if (p.first > 127 || p.last < -149) continue;
          p.ulp = ulp_of(fmin(a, b)), p.truth = 128;
          snprintf(text, sizeof text, "m in [%g, %g], k in [%d, %d]", p.low, p.high, p.first + half,
                   p.last + half);
          print_piece(&p, text, true, true);
        }
    }
    /* k = 0, and how far m is from 1 or 2 */
    p.first = p.last = -half;
    p.splits = 8;
    double far = half ? 2 - above(middle) : middle - 1, least = half ? 2 - below(2) : above(1) - 1;
    while (far >= least) {
      double f = half ? -far / 2 : far, size = fabs(log1p(f)), near = fmax(least, far / 2);
      int exponent = ilogb(size);
      /* the nearest m of that exponent */
      double m = half ? 2 * exp(-ldexp(1 + 0x1p-40, exponent)) : exp(ldexp(1 + 0x1p-40, exponent));
      near = half ? 2 - (double)(float)m : (double)(float)m - 1;
      if (fabs(log1p(half ? -near / 2 : near)) < ldexp(1 + 0x1p-40, exponent)) near += 0x1p-23;
      if (near < least) near = least;
      p.low = half ? 2 - far : 1 + near, p.high = half ? 2 - near : 1 + far;
      p.from = half ? -far / 2 : near, p.to = half ? -near / 2 : far;
      p.ulp = exponent - 23, p.truth = ldexp(1, exponent + 1);
      snprintf(text, sizeof text, "k = 0, f in [%g, %g]", p.from, p.to);
      print_piece(&p, text, true, true);
      far = near - 0x1p-23;
    }
  }
}

/* Of [low, high), by the pieces in each of which the seed is a number: so its error is known. What is beside it is a
 * polynomial of the seed's error, whose largest is found on the way. */
static void prove_seeded(piece p, double low, double high, int pieces, double (*error_of)(double m, double y),
                         const char *error, uint32_t (*seed_of)(uint32_t)) {
  char text[64];
  double largest = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < pieces; i++) {
      double from = low + (high - low) * i / pieces, to = below(low + (high - low) * (i + 1) / pieces);
      double y = (double)tg_bits_f32(seed_of(tg_f32_bits((float)from)));
      largest = fmax(largest, fmax(fabs(error_of(from, y)), fabs(error_of(to, y))));
      if (!pass) continue;
      for (int part = 0; part < (i ? 1 : 2);
           part++) { /* at a power of two truth may have another ulp than beside it */
        p.low = i || !part ? from : above(from), p.high = i || part ? to : from;
        double a = p.function->oracle(p.low), b = p.function->oracle(p.high);
        p.towards_high = i == pieces - 1 && a < b, p.splits = i == pieces - 2 ? 8 : 0;
        p.ulp = ulp_of(fmin(a, b)), p.truth = fmax(a, b) * (1 + 0x1p-40);
        snprintf(text, sizeof text, "x in [%g, %g]", p.low, p.high);
        print_piece(&p, text, true, false);
      }
    }
    if (pass) continue;
    piece whole = p;
    whole.relative = true, whole.low = whole.high = 1, whole.from = -largest, whole.to = largest,
    whole.error = error;
    print_piece(&whole, "seeds", false, true);
  }
}

static double reciprocal_error(double m, double y) { return 1 - m * y; }
static double root_error(double m, double y) { return m * y * y - 1; }
/* of x in [2, 4), whose seed is that of x/4 */
static double quarter_error(double m, double y) { return m / 4 * y * y - 1; }
static uint32_t quarter_seed(uint32_t a) { return tg_rsqseed(a - (2u << 23)); }

/* e^x - 1 below its polynomial's limit, by multiples k of 1/32: as far down as the result is above -1 by more than an ulp. */
static void prove_elu_below(piece p) {
  static const double widest = 0.010845, half = 0.01084; /* half a step of k, and what rounds to it */
  double limit = above(p.accuracy == TG_MC_SINGLE ? 0.7f : 0.25f);
  p.from = -widest, p.to = widest, p.truth = 1;
  p.error = "2^k * exp(_x_ - k * d) - 1";
  for (int k = -25 * STEPS; k * M_LN2 / STEPS - half < -limit; k++) {
    double middle = k * M_LN2 / STEPS;
    p.first = p.last = (int)floor((double)k / STEPS), p.entry = k - p.first * STEPS;
    p.low = (double)(float)(middle - half), p.high = (double)(float)fmin(middle + half, -limit);
    p.ulp = ulp_of(expm1(p.high));
    char text[64];
    snprintf(text, sizeof text, "k = %g", (double)k / STEPS);
    print_piece(&p, text, true, true);
  }
}

static void prove_tanh(piece p) { prove_low(p, 0.55f, 0.25f, 1, "tanh(_x_)"); }
static void prove_erf(piece p) { prove_low(p, 0.9f, 0.6f, 1, "erf(_x_)"); }
static void prove_elu(piece p) { prove_low(p, 0.7f, 0.25f, -1, "expm1(_x_)"); }
static void prove_reciprocal(piece p) {
  prove_seeded(p, 1, 2, 256, reciprocal_error, "1 / (1 - _x_)", rcpseed);
}
static void prove_root(piece p) {
  prove_seeded(p, 1, 2, 128, root_error, "1 / sqrt(1 + _x_)", rsqseed);
  prove_seeded(p, 2, 4, 128, quarter_error, "1 / sqrt(1 + _x_)", quarter_seed);
}

static const struct {
  const char *name, *function;
  void (*prove)(piece p);
} proofs[] = {
    {"exp", "exp", prove_exp},
    {"log", "log", prove_log},
    {"tanh", "tanh", prove_tanh},
    {"erf", "erf", prove_erf},
    {"elu", "elu", prove_elu},
    {"elu_below", "elu", prove_elu_below},
    {"sqrt", "sqrt", prove_root},
    {"rsqrt", "rsqrt", prove_root},
    {"reciprocal", "reciprocal", prove_reciprocal},
};
enum { PROOFS = sizeof proofs / sizeof *proofs };

static const measured_function *function_named(const char *wanted) {
  for (int i = 0; i < measured_function_count; i++)
    if (!strcmp(measured_functions[i].name, wanted)) return &measured_functions[i];
  tg_die("no function %s", wanted);
  return NULL;
}

static void prove(const char *wanted) {
  for (int i = 0; i < PROOFS; i++)
    if (!strcmp(proofs[i].name, wanted)) {
      piece p = {.name = wanted, .function = function_named(proofs[i].function)};
      for (p.accuracy = TG_MC_SINGLE; p.accuracy <= TG_MC_NARROW; p.accuracy++) proofs[i].prove(p);
      return;
    }
  tg_die("no proof of %s", wanted);
}

int main(int count, char **names) {
  for (int n = 1; n < count; n++)
    if (!strcmp(names[n], "--other-constant"))
      planted_defect = OTHER_CONSTANT;
    else if (!strcmp(names[n], "--dropped-term"))
      planted_defect = DROPPED_TERM;
  for (int n = 1; n < count; n++)
    if (names[n][0] != '-') prove(names[n]);
  return 0;
}
