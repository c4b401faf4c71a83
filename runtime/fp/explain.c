#include "runtime/fp/explain.h"

#include "sim/machine/numerics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_DIGITS = 40 }; /* of what has no finite expansion */

static const struct {
  tg_fp_operation operation;
  int operands;
  const char *name, *sign;
} operations[] = {
    {TG_FP_CAST, 1, "cast", NULL}, {TG_FP_SQRT, 1, "sqrt", NULL}, {TG_FP_ADD, 2, "add", "+"},
    {TG_FP_SUB, 2, "sub", "-"},    {TG_FP_MUL, 2, "mul", "*"},    {TG_FP_DIV, 2, "div", "/"},
    {TG_FP_FMA, 3, "fma", NULL},
};

bool tg_fp_find_operation(const char *name, tg_fp_operation *out_operation, int *out_operands) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (!strcmp(name, operations[i].name) || (operations[i].sign && !strcmp(name, operations[i].sign))) {
      *out_operation = operations[i].operation;
      *out_operands = operations[i].operands;
      return true;
    }
  return false;
}

static const char *operation_name(tg_fp_operation operation) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (operations[i].operation == operation) return operations[i].name;
  return "value";
}

static int operand_count(tg_fp_operation operation) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (operations[i].operation == operation) return operations[i].operands;
  return 1;
}

/* --- operands */

typedef struct operand {
  const char *text;
  bool is_bits;
  tg_fp_format_id format; /* of the bits */
  uint32_t bits;
  tg_real real;
} operand;

static bool find_format(const char *name, size_t length, tg_fp_format_id *out_format) {
  for (int f = 0; f < TG_FP_FORMATS; f++)
    if (strlen(tg_fp_formats[f].name) == length && !strncmp(name, tg_fp_formats[f].name, length)) {
      *out_format = (tg_fp_format_id)f;
      return true;
    }
  return false;
}

static tg_status read_bits(operand *out, const char *digits, bool known, tg_diag *diag) {
  size_t length = strspn(digits, "0123456789abcdefABCDEF");
  if (!length || digits[length]) return tg_fail(diag, TG_INVALID, "\"%s\" is no number", out->text);
  if (!known && length != 8)
    return tg_fail(diag, TG_INVALID, "%s: bits of which format? 8 digits are fp32, else write bf16:%s",
                   out->text, out->text);
  const tg_fp_format *format = &tg_fp_formats[out->format];
  if ((int)length > format->bits / 4)
    return tg_fail(diag, TG_INVALID,
                   "%s: %s has %d bits; bits of another format are written as in fp32:0x3f800000", out->text,
                   format->name, format->bits);
  out->bits = (uint32_t)strtoul(digits, NULL, 16);
  out->is_bits = true;
  if (out->bits & ((1u << format->pad) - 1))
    return tg_fail(diag, TG_INVALID, "%s: the low %d bits of %s are zero", out->text, format->pad,
                   format->name);
  tg_fp_real(out->format, out->bits, &out->real);
  return TG_OK;
}

/* formats: of the question; a single one is that of bits without a prefix. */
static tg_status read_operand(operand *out, const char *text, unsigned formats, tg_diag *diag) {
  *out = (operand){.text = text, .format = TG_FP_FP32};
  bool known = formats && !(formats & (formats - 1));
  if (known) out->format = (tg_fp_format_id)__builtin_ctz(formats);
  const char *colon = strchr(text, ':');
  if (colon) {
    if (!find_format(text, (size_t)(colon - text), &out->format))
      return tg_fail(diag, TG_INVALID, "\"%s\": \"%.*s\" is none of fp32, tf32, bf16, fp16", text,
                     (int)(colon - text), text);
    known = true;
    text = colon + 1;
  }
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && !strpbrk(text, ".pP"))
    return read_bits(out, text + 2, known, diag);
  const char *wrong = tg_real_parse(&out->real, text);
  if (wrong)
    return tg_fail(diag, TG_INVALID, "\"%.60s%s\" %s", out->text, strlen(out->text) > 60 ? "..." : "", wrong);
  if (colon) { /* bf16:0.1 is the number that bf16 has for it */
    out->is_bits = true;
    out->bits = tg_fp_rounded(out->format, &out->real);
    tg_fp_real(out->format, out->bits, &out->real);
  }
  return TG_OK;
}

/* --- numbers as JSON */

static json_t *bits_text(tg_fp_format_id format, uint32_t bits) {
  return json_sprintf("0x%0*" PRIx32, tg_fp_formats[format].bits / 4, bits);
}

static bool reads_back(const char *text, tg_fp_format_id format, uint32_t bits) {
  tg_real real;
  return !tg_real_parse(&real, text) && tg_fp_rounded(format, &real) == bits;
}

/* The fewest digits that read back as the number; of several such texts the nearest. */
static json_t *shortest(tg_fp_format_id format, uint32_t bits) {
  tg_fp_class class = tg_fp_classify(format, bits);
  double value = tg_bits_f32(tg_fp_widened(format, bits));
  if (class == TG_FP_NAN) return json_string("NaN");
  if (class == TG_FP_INFINITE) return json_string(value < 0 ? "-inf" : "inf");
  for (int digits = 1; digits < 10; digits++) {
    char text[40], near[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    int power = atoi(strchr(text, 'e') + 1);
    double places[] = {0, 1, -1}; /* the nearest, then the decimals around it */
    for (int i = 0; i < 3; i++) {
      double decimal = strtod(text, NULL) + places[i] * pow(10, power - digits + 1);
      bool whole = power >= digits && power < 16; /* %g would write 6.55e+04 */
      if (whole)
        snprintf(near, sizeof near, "%.0f", decimal);
      else
        snprintf(near, sizeof near, "%.*g", digits, decimal);
      if (reads_back(near, format, bits)) return json_string(near);
    }
  }
  return json_sprintf("%.9g", value); /* fp32 needs 9 at most */
}

static json_t *brief(tg_fp_format_id format, uint32_t bits) {
  return json_pack("{s:o, s:o}", "bits", bits_text(format, bits), "shortest", shortest(format, bits));
}

static json_t *binary(uint32_t value, int digits) {
  char text[33];
  for (int i = 0; i < digits; i++) text[i] = (char)('0' + (value >> (digits - 1 - i) & 1));
  return json_stringn(text, (size_t)digits);
}

static json_t *neighbour(tg_fp_format_id format, uint32_t bits, bool up) {
  uint32_t next;
  return tg_fp_neighbour(format, bits, up, &next) ? brief(format, next) : json_null();
}

static void describe(tg_arena *arena, json_t *object, tg_fp_format_id format, uint32_t bits) {
  static const char *const classes[] = {"zero", "subnormal", "normal", "infinity", "NaN"};
  const tg_fp_format *f = &tg_fp_formats[format];
  tg_fp_class class = tg_fp_classify(format, bits);
  tg_real value;
  tg_fp_real(format, bits, &value);
  json_object_update_new(object, brief(format, bits));
  json_object_set_new(object, "sign", binary(tg_fp_negative(format, bits), 1));
  json_object_set_new(object, "exponent", binary(bits >> (f->fraction_bits + f->pad), f->exponent_bits));
  json_object_set_new(object, "fraction", binary(bits >> f->pad, f->fraction_bits));
  json_object_set_new(object, "class", json_string(classes[class]));
  json_object_set_new(object, "decimal", json_string(tg_real_text(arena, &value, 0)));
  int ulp = tg_fp_ulp(format, bits);
  json_object_set_new(object, "ulp",
                      class >= TG_FP_INFINITE
                          ? json_null()
                          : json_pack("{s:i, s:f}", "power_of_two", ulp, "value", ldexp(1, ulp)));
  json_object_set_new(object, "below", neighbour(format, bits, false));
  json_object_set_new(object, "above", neighbour(format, bits, true));
}

/* --- one result */

typedef struct result {
  tg_fp_format_id format;
  const tg_real *exact;
  uint32_t bits;
  int direction;         /* -1: rounded down, 0: exact, 1: up */
  bool tie;              /* it lay in the middle */
  double error;          /* rounded - exact in ulp of the result; not of an infinity */
  uint32_t lower, upper; /* the numbers around the exact result */
} result;

/* a - b, up to what `more` stands for. */
static void difference(tg_real *out, const tg_real *a, const tg_real *b) {
  tg_real minus = *b;
  minus.negative = !minus.negative;
  minus.more = false;
  tg_real_add(out, a, &minus);
}

/* In the middle of the interval that begins at the lower magnitude `inner`? */
static bool is_middle(tg_fp_format_id format, const tg_real *exact, uint32_t inner) {
  tg_real start, rest;
  tg_fp_real(format, inner, &start);
  difference(&rest, exact, &start);
  bool half = fabs(tg_real_scaled(&rest, tg_fp_ulp(format, inner))) == 0.5; /* of its leading bits */
  return half && !exact->more && !tg_natural_shift_right(&rest.mantissa, tg_natural_bits(&rest.mantissa) - 1);
}

static result round_to(tg_fp_format_id format, const tg_real *exact) {
  result r = {.format = format, .exact = exact, .bits = tg_fp_rounded(format, exact)};
  tg_real value, off;
  r.lower = r.upper = r.bits;
  if (exact->kind != TG_REAL_FINITE) return r;
  tg_fp_real(format, r.bits, &value);
  if (value.kind == TG_REAL_INFINITE) {
    r.direction = value.negative ? -1 : 1;
  } else {
    difference(&off, &value, exact);
    if (off.mantissa.count)
      r.direction = off.negative ? -1 : 1;
    else if (exact->more)
      r.direction = exact->negative ? 1 : -1;
    r.error = tg_real_scaled(&off, tg_fp_ulp(format, r.bits));
  }
  if (!r.direction) return r;
  tg_fp_neighbour(format, r.bits, r.direction < 0, r.direction < 0 ? &r.upper : &r.lower);
  r.tie = is_middle(format, exact, exact->negative ? r.upper : r.lower);
  return r;
}

/* Below the normal numbers also after rounding to as many bits? Asked 20 powers of two further up. */
static bool is_tiny(const result *r) {
  enum { UP = 20 };
  tg_real scaled = *r->exact;
  scaled.exponent += UP;
  return tg_fp_ulp(r->format, tg_fp_rounded(r->format, &scaled)) < tg_fp_ulp(r->format, 0) + UP;
}

static json_t *flags_of(const result *r, bool invalid, bool divided_by_zero) {
  json_t *flags = json_array();
  bool overflow = r->exact->kind == TG_REAL_FINITE && tg_fp_classify(r->format, r->bits) == TG_FP_INFINITE;
  if (r->direction) json_array_append_new(flags, json_string("inexact"));
  if (overflow) json_array_append_new(flags, json_string("overflow"));
  if (r->direction && !overflow && is_tiny(r)) json_array_append_new(flags, json_string("underflow"));
  if (invalid) json_array_append_new(flags, json_string("invalid"));
  if (divided_by_zero) json_array_append_new(flags, json_string("divide by zero"));
  return flags;
}

static json_t *rounding_of(const result *r) {
  static const char *const directions[] = {"down", "exact", "up"};
  bool infinite = tg_fp_classify(r->format, r->bits) == TG_FP_INFINITE;
  return json_pack("{s:s, s:b, s:o, s:[o, o]}", "direction", directions[r->direction + 1], "tie", r->tie,
                   "error_ulp", infinite && r->direction ? json_null() : json_real(r->error), "candidates",
                   brief(r->format, r->lower), brief(r->format, r->upper));
}

/* Stochastic rounding of the FP32 result to BF16. */
static json_t *stochastic(const tg_real *exact, const tg_fp_question *question) {
  uint32_t f32 = tg_real_to_f32(exact, TG_TO_NEAREST), up = f32 & 0xffffu;
  uint16_t away = tg_bf16_stochastic(f32, 0xffff), near = tg_bf16_stochastic(f32, 0);
  if ((f32 & 0x7fffffffu) >= 0x7f800000u) up = 0;
  json_t *object = json_pack("{s:o, s:o, s:o, s:f, s:i}", "fp32", bits_text(TG_FP_FP32, f32), "towards_zero",
                             brief(TG_FP_BF16, near), "away", brief(TG_FP_BF16, away), "probability_away",
                             (double)up / 65536, "away_of_65536", (int)up);
  if (!question->draws) return object;
  const tg_fp_coordinates *at = &question->at;
  uint32_t key = tg_sr_key(at->seed, at->step, at->node), tile = tg_sr_tile_key(key, at->tile);
  uint32_t r = tg_sr_r16(tg_sr_row_hash(tile, at->row), tg_sr_col_hash(tile, at->column));
  json_object_set_new(object, "drawn",
                      json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:i, s:o}", "seed", (json_int_t)at->seed,
                                "step", (json_int_t)at->step, "node", (json_int_t)at->node, "tile",
                                (json_int_t)at->tile, "row", (json_int_t)at->row, "col",
                                (json_int_t)at->column, "key", bits_text(TG_FP_FP32, key), "r", (int)r,
                                "result", brief(TG_FP_BF16, tg_bf16_stochastic(f32, r))));
  return object;
}

/* --- the question */

static void compute(tg_fp_operation operation, const tg_real *x, tg_real *out) {
  tg_real other;
  switch (operation) {
  case TG_FP_SQRT: tg_real_square_root(out, &x[0]); return;
  case TG_FP_ADD: tg_real_add(out, &x[0], &x[1]); return;
  case TG_FP_SUB:
    other = x[1];
    other.negative = !other.negative;
    tg_real_add(out, &x[0], &other);
    return;
  case TG_FP_MUL: tg_real_multiply(out, &x[0], &x[1]); return;
  case TG_FP_DIV: tg_real_divide(out, &x[0], &x[1]); return;
  case TG_FP_FMA:
    tg_real_multiply(&other, &x[0], &x[1]);
    tg_real_add(out, &other, &x[2]);
    return;
  default: *out = x[0];
  }
}

/* The operands as the operation has them in a format: rounded to it; a cast's is FP32, or what its prefix
 * says. */
static json_t *take_operands(const tg_fp_question *question, const operand *operands, tg_fp_format_id format,
                             tg_real *out_reals) {
  json_t *list = json_array();
  for (int i = 0; i < operand_count(question->operation); i++) {
    const operand *o = &operands[i];
    tg_fp_format_id as = question->operation != TG_FP_CAST ? format : o->is_bits ? o->format : TG_FP_FP32;
    result r = round_to(as, &o->real);
    json_t *item = brief(as, r.bits);
    json_object_set_new(item, "format", json_string(tg_fp_formats[as].name));
    json_object_set_new(item, "rounded", json_boolean(r.direction != 0));
    json_array_append_new(list, item);
    tg_fp_real(as, r.bits, &out_reals[i]);
  }
  return list;
}

static bool any_nan(const tg_real *reals, int count) {
  for (int i = 0; i < count; i++)
    if (reals[i].kind == TG_REAL_NAN) return true;
  return false;
}

/* fma of the matrix unit: narrow factors, FP32 accumulator and result. */
static json_t *accumulated(const operand *operands, const tg_real *reals) {
  tg_real x[3] = {reals[0], reals[1]}, exact;
  tg_fp_real(TG_FP_FP32, tg_fp_rounded(TG_FP_FP32, &operands[2].real), &x[2]);
  compute(TG_FP_FMA, x, &exact);
  return brief(TG_FP_FP32, tg_fp_rounded(TG_FP_FP32, &exact));
}

static json_t *in_format(tg_arena *arena, const tg_fp_question *question, const operand *operands,
                         tg_fp_format_id format) {
  json_t *object = json_object();
  tg_real reals[3], exact = operands[0].real;
  bool invalid = false, by_zero = false, value = question->operation == TG_FP_VALUE;
  if (!value) {
    int count = operand_count(question->operation);
    json_object_set_new(object, "operands", take_operands(question, operands, format, reals));
    compute(question->operation, reals, &exact);
    invalid = exact.kind == TG_REAL_NAN && !any_nan(reals, count);
    by_zero =
        question->operation == TG_FP_DIV && exact.kind == TG_REAL_INFINITE && reals[0].kind == TG_REAL_FINITE;
    json_object_set_new(object, "exact",
                        json_string(tg_real_text(arena, &exact, exact.more ? SHOWN_DIGITS : 0)));
  }
  result r = round_to(format, &exact);
  if (value && operands[0].is_bits && operands[0].format == format)
    r.bits = operands[0].bits; /* a NaN's payload */
  describe(arena, object, format, r.bits);
  json_object_set_new(object, "rounding", rounding_of(&r));
  json_object_set_new(object, "flags", flags_of(&r, invalid, by_zero));
  uint32_t twice = tg_fp_narrowed(format, tg_real_to_f32(&exact, TG_TO_NEAREST));
  if (exact.kind == TG_REAL_FINITE && twice != r.bits)
    json_object_set_new(object, "rounded_twice", brief(format, twice));
  if (format == TG_FP_BF16) json_object_set_new(object, "stochastic", stochastic(&exact, question));
  if (question->operation == TG_FP_FMA && format != TG_FP_FP32)
    json_object_set_new(object, "fp32_accumulator", accumulated(operands, reals));
  return object;
}

tg_status tg_fp_explain(const tg_fp_question *question, json_t **out_object, tg_diag *diag) {
  operand operands[3];
  tg_arena arena = {0};
  json_t *texts = json_array(), *formats = json_object();
  tg_status status = TG_OK;
  for (int i = 0; i < operand_count(question->operation) && !status; i++) {
    status = read_operand(&operands[i], question->texts[i], question->formats, diag);
    json_array_append_new(texts, json_string(question->texts[i]));
  }
  for (int f = 0; f < TG_FP_FORMATS && !status; f++)
    if (!question->formats || question->formats >> f & 1)
      json_object_set_new(formats, tg_fp_formats[f].name,
                          in_format(&arena, question, operands, (tg_fp_format_id)f));
  *out_object = json_pack("{s:s, s:o, s:o}", "operation", operation_name(question->operation), "operands",
                          texts, "formats", formats);
  if (status) {
    json_decref(*out_object);
    *out_object = NULL;
  }
  tg_arena_release(&arena);
  return status;
}
