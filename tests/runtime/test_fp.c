/* `tegula fp` against the host: its FP32 operations and their flags, strtof, and distances in double
 * precision. */
#include "runtime/fp/explain.h"
#include "tests/harness.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

static uint64_t random_state = 12;
static uint32_t random_word(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 32);
}

/* Any bits, or exponents near each other, or special. */
static uint32_t random_f32(void) {
  static const uint32_t special[] = {0,           0x80000000u, 1,           0x007fffffu, 0x00800000u,
                                     0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x3f800000u};
  uint32_t word = random_word();
  switch (random_word() % 4) {
  case 0: return special[word % 10];
  case 1: return word;
  case 2: return (word & 0x83ffffffu) | 0x3c000000u;
  default: return word & 0x81ffffffu; /* down to subnormals */
  }
}

static json_t *ask(const tg_fp_question *question) {
  json_t *object = NULL;
  tg_diag diag = {""};
  if (tg_fp_explain(question, &object, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return object;
}

static const json_t *in(const json_t *object, const char *format) {
  return json_object_get(json_object_get(object, "formats"), format);
}

static uint32_t bits_in(const json_t *number) {
  return (uint32_t)strtoul(json_string_value(json_object_get(number, "bits")), NULL, 16);
}

static bool has_flag(const json_t *format, const char *flag) {
  const json_t *flags = json_object_get(format, "flags");
  for (size_t i = 0; i < json_array_size(flags); i++)
    if (!strcmp(json_string_value(json_array_get(flags, i)), flag)) return true;
  return false;
}

static float on_the_host(tg_fp_operation operation, float a, float b, float c) {
  volatile float x = a, y = b, z = c, result = 0;
  feclearexcept(FE_ALL_EXCEPT);
  switch (operation) {
  case TG_FP_ADD: result = x + y; break;
  case TG_FP_SUB: result = x - y; break;
  case TG_FP_MUL: result = x * y; break;
  case TG_FP_DIV: result = x / y; break;
  case TG_FP_SQRT: result = sqrtf(x); break;
  case TG_FP_FMA: result = fmaf(x, y, z); break;
  default: result = x;
  }
  return result;
}

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

TG_TEST(fp, operations_and_flags_are_those_of_the_host) {
  static const struct {
    const char *name;
    int flag;
  } flags[] = {{"inexact", FE_INEXACT},
               {"overflow", FE_OVERFLOW},
               {"underflow", FE_UNDERFLOW},
               {"invalid", FE_INVALID},
               {"divide by zero", FE_DIVBYZERO}};
  for (int i = 0; i < 3000; i++) {
    tg_fp_question q = {.operation = (tg_fp_operation)(TG_FP_SQRT + i % 6), .formats = 1u << TG_FP_FP32};
    uint32_t x[3];
    char texts[3][16];
    for (int n = 0; n < 3; n++) {
      x[n] = random_f32();
      snprintf(texts[n], sizeof texts[n], "0x%08x", x[n]);
      q.texts[n] = texts[n];
    }
    json_t *object = ask(&q);
    const json_t *got = in(object, "fp32");
    bool signalling = false; /* these raise invalid on the host; the array has no flags */
    for (int n = 0; n < 3; n++) signalling |= is_nan(x[n]) && !(x[n] & 0x400000u);
    uint32_t want = bits_of(on_the_host(q.operation, float_of(x[0]), float_of(x[1]), float_of(x[2])));
    int raised = fetestexcept(FE_ALL_EXCEPT);
    if (is_nan(want)) want = 0x7fc00000u;
    if (bits_in(got) != want)
      tg_test_fail(__FILE__, __LINE__, "operation %d of %s %s %s is 0x%08x, here 0x%08x", q.operation,
                   texts[0], texts[1], texts[2], want, bits_in(got));
    if (q.operation == TG_FP_FMA && is_nan(x[2])) signalling = true; /* fma(0, inf, NaN): hosts differ */
    for (size_t f = 0; f < sizeof flags / sizeof *flags && !signalling; f++) {
      if (has_flag(got, flags[f].name) != ((raised & flags[f].flag) != 0))
        tg_test_fail(__FILE__, __LINE__, "operation %d of %s %s %s: %s", q.operation, texts[0], texts[1],
                     texts[2], flags[f].name);
    }
    json_decref(object);
  }
}

TG_TEST(fp, decimals_round_to_fp32_as_strtof_does) {
  static const char *const texts[] = {"0.1",
                                      "16777217",
                                      "16777219",
                                      "1.00000005960464477539062500000000000000000001",
                                      "3.4028235677973366e38",
                                      "3.4028235677973365e38",
                                      "7.006492321624085e-46",
                                      "7.0064923216240853e-46",
                                      "7.0064923216240854e-46",
                                      "1.1754943157898259e-38",
                                      "-0.0",
                                      "-2.5e-41",
                                      ".5",
                                      "5.",
                                      "1e1000",
                                      "1e-1000",
                                      "0x1.fffffefp0",
                                      "0x1.ffffffp127",
                                      "-0x1p-150",
                                      "+0x.8",
                                      "inf",
                                      "-Infinity"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    tg_real real;
    EXPECT(!tg_real_parse(&real, texts[i]));
    EXPECT_BITS(tg_fp_rounded(TG_FP_FP32, &real), bits_of(strtof(texts[i], NULL)));
  }
  for (int i = 0; i < 20000; i++) {
    char text[64];
    tg_real real;
    int digits = 1 + (int)(random_word() % 30), exponent = (int)(random_word() % 100) - 55;
    text[0] = '-';
    for (int d = 1; d <= digits; d++) text[d] = (char)('0' + random_word() % 10);
    snprintf(text + digits + 1, sizeof text - (size_t)digits - 1, "e%d", exponent - digits);
    EXPECT(!tg_real_parse(&real, text));
    if (tg_fp_rounded(TG_FP_FP32, &real) != bits_of(strtof(text, NULL)))
      tg_test_fail(__FILE__, __LINE__, "%s", text);
  }
}

/* Is the number the nearest one to x, of two the even one? Distances are exact: x has few bits. */
static bool is_nearest(tg_fp_format_id format, uint32_t bits, double x) {
  double value = float_of(tg_fp_widened(format, bits)), off = fabs(value - x);
  double largest = format == TG_FP_FP16 ? 65504 : format == TG_FP_BF16 ? 0x1.fep127 : 0x1.ffcp127;
  double step = format == TG_FP_FP16 ? 32 : format == TG_FP_BF16 ? 0x1p120 : 0x1p117;
  if (fabs(x) >= largest + step / 2) return isinf(value) && signbit(value) == signbit(x);
  uint32_t odd = bits >> tg_fp_formats[format].pad & 1;
  for (int up = 0; up < 2; up++) {
    uint32_t next;
    if (!tg_fp_neighbour(format, bits, up, &next)) return false;
    double other = fabs(float_of(tg_fp_widened(format, next)) - x);
    if (isfinite(other) && (other < off || (other == off && odd))) return false;
  }
  return signbit(value) == signbit(x);
}

TG_TEST(fp, narrow_formats_round_once_to_the_nearest) {
  for (int i = 0; i < 60000; i++) {
    tg_fp_format_id format = (tg_fp_format_id)(TG_FP_TF32 + i % 3);
    /* Near the middle of two numbers of the format, or anywhere: 24 to 40 bits. */
    double x = ldexp((double)(random_word() | 0x80000000u), (int)(random_word() % 290) - 180);
    if (format == TG_FP_FP16)
      x = ldexp((double)(random_word() | 0x80000000u), (int)(random_word() % 46) - 60);
    if (random_word() & 1) {
      int keep = tg_fp_formats[format].fraction_bits + 2, exponent;
      double fraction = frexp(x, &exponent);
      x = ldexp(floor(ldexp(fraction, keep)) + ((int)(random_word() % 3) - 1) * 0x1p-20, exponent - keep);
    }
    if (random_word() & 1) x = -x;
    char text[64];
    tg_real real;
    snprintf(text, sizeof text, "%a", x);
    EXPECT(!tg_real_parse(&real, text));
    uint32_t bits = tg_fp_rounded(format, &real);
    if (!is_nearest(format, bits, x))
      tg_test_fail(__FILE__, __LINE__, "%s in %s is not 0x%x", text, tg_fp_formats[format].name, bits);
  }
}

/* Digits of a decimal between the first and the last that is not 0. */
static int significant(const char *text) {
  int digits = 0, last = 0;
  for (; *text && *text != 'e'; text++) {
    if (*text < '0' || *text > '9' || (!digits && *text == '0')) continue;
    digits++;
    if (*text != '0') last = digits;
  }
  return last;
}

TG_TEST(fp, every_half_is_described) {
  for (int f = TG_FP_BF16; f <= TG_FP_FP16; f++)
    for (uint32_t bits = 0; bits < 0x10000; bits += bits % 7 == 3 ? 37 : 11) {
      char text[24];
      snprintf(text, sizeof text, "0x%04x", bits);
      tg_fp_question q = {.texts = {text}, .formats = 1u << f};
      json_t *object = ask(&q);
      const json_t *got = in(object, tg_fp_formats[f].name);
      EXPECT_BITS(bits_in(got), bits);
      double value = float_of(tg_fp_widened((tg_fp_format_id)f, bits));
      const char *decimal = json_string_value(json_object_get(got, "decimal")),
                 *shortest = json_string_value(json_object_get(got, "shortest"));
      if (!isnan(value)) {
        tg_real real;
        EXPECT(strtod(decimal, NULL) == value && signbit(strtod(decimal, NULL)) == signbit(value));
        EXPECT(!tg_real_parse(&real, shortest));
        EXPECT_BITS(tg_fp_rounded((tg_fp_format_id)f, &real), bits);
        int digits = significant(shortest);
        char fewer[40];
        snprintf(fewer, sizeof fewer, "%.*e", digits > 1 ? digits - 2 : 0, value);
        EXPECT(!tg_real_parse(&real, fewer));
        EXPECT(digits < 2 || isinf(value) || tg_fp_rounded((tg_fp_format_id)f, &real) != bits);
      }
      EXPECT_STR(json_string_value(json_object_get(got, "class")),
                 isnan(value)                                           ? "NaN"
                 : isinf(value)                                         ? "infinity"
                 : value == 0                                           ? "zero"
                 : fabs(value) < (f == TG_FP_FP16 ? 0x1p-14 : 0x1p-126) ? "subnormal"
                                                                        : "normal");
      json_decref(object);
    }
}

/* What is explained about 0.1, worked out by hand. */
TG_TEST(fp, a_tenth) {
  json_t *object = ask(&(tg_fp_question){.texts = {"0.1"}});
  const json_t *f = in(object, "fp32"), *r = json_object_get(f, "rounding");
  EXPECT_BITS(bits_in(f), 0x3dcccccd);
  EXPECT_STR(json_string_value(json_object_get(f, "exponent")), "01111011");
  EXPECT_STR(json_string_value(json_object_get(f, "fraction")), "10011001100110011001101");
  EXPECT_STR(json_string_value(json_object_get(f, "decimal")), "0.100000001490116119384765625");
  EXPECT_STR(json_string_value(json_object_get(f, "shortest")), "0.1");
  EXPECT_EQ(json_integer_value(json_object_get(json_object_get(f, "ulp"), "power_of_two")), -27);
  EXPECT_BITS(bits_in(json_object_get(f, "below")), 0x3dcccccc);
  EXPECT_BITS(bits_in(json_object_get(f, "above")), 0x3dccccce);
  EXPECT_STR(json_string_value(json_object_get(r, "direction")), "up");
  EXPECT(fabs(json_real_value(json_object_get(r, "error_ulp")) - 0.2) < 1e-12);
  EXPECT_BITS(bits_in(json_array_get(json_object_get(r, "candidates"), 0)), 0x3dcccccc);
  EXPECT_BITS(bits_in(json_array_get(json_object_get(r, "candidates"), 1)), 0x3dcccccd);
  EXPECT_BITS(bits_in(in(object, "tf32")), 0x3dccc000);
  EXPECT_BITS(bits_in(in(object, "bf16")), 0x3dcd);
  EXPECT_BITS(bits_in(in(object, "fp16")), 0x2e66);
  json_decref(object);
}

TG_TEST(fp, ties_and_two_roundings_are_named) {
  static const struct {
    const char *text;
    tg_fp_format_id format;
    uint32_t bits;
    const char *direction;
    bool tie, twice; /* by way of FP32 the result would be another */
  } cases[] = {
      {"1.00390625", TG_FP_BF16, 0x3f80, "down", true, false},     /* 1 + 2^-8 */
      {"1.01171875", TG_FP_BF16, 0x3f82, "up", true, false},       /* 1 + 3 * 2^-8 */
      {"1.00390625000001", TG_FP_BF16, 0x3f81, "up", false, true}, /* FP32 makes it the tie */
      {"-1.00390625", TG_FP_BF16, 0xbf80, "up", true, false},
      {"65519.99", TG_FP_FP16, 0x7bff, "down", false, false},
      {"65520", TG_FP_FP16, 0x7c00, "up", true, false},
      {"0x1p-25", TG_FP_FP16, 0x0000, "down", true, false},
      {"0x1.000001p-25", TG_FP_FP16, 0x0001, "up", false, true},
      {"0x1.0000000000001p-25", TG_FP_FP16, 0x0001, "up", false, true},
      {"16777217", TG_FP_FP32, 0x4b800000, "down", true, false},
      {"16777216", TG_FP_FP32, 0x4b800000, "exact", false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *object = ask(&(tg_fp_question){.texts = {cases[i].text}, .formats = 1u << cases[i].format});
    const json_t *f = in(object, tg_fp_formats[cases[i].format].name), *r = json_object_get(f, "rounding");
    EXPECT_BITS(bits_in(f), cases[i].bits);
    EXPECT_STR(json_string_value(json_object_get(r, "direction")), cases[i].direction);
    EXPECT_EQ(json_is_true(json_object_get(r, "tie")), cases[i].tie);
    EXPECT_EQ(json_object_get(f, "rounded_twice") != NULL, cases[i].twice);
    json_decref(object);
  }
}

TG_TEST(fp, stochastic_rounding_draws_what_the_contract_says) {
  tg_fp_question q = {
      .texts = {"0x3dcccccd"},
      .formats = 1u << TG_FP_BF16,
      .draws = true,
      .at = {.seed = 1ull << 32 | 5, .step = 3, .node = 9, .tile = 2, .row = 17, .column = 4}};
  q.texts[0] = "fp32:0x3dcccccd";
  json_t *object = ask(&q);
  const json_t *s = json_object_get(in(object, "bf16"), "stochastic"), *drawn = json_object_get(s, "drawn");
  EXPECT_EQ(json_integer_value(json_object_get(s, "away_of_65536")), 0xcccd);
  EXPECT_BITS(bits_in(json_object_get(s, "towards_zero")), 0x3dcc);
  EXPECT_BITS(bits_in(json_object_get(s, "away")), 0x3dcd);
  uint32_t r = (uint32_t)json_integer_value(json_object_get(drawn, "r"));
  EXPECT_BITS(bits_in(json_object_get(drawn, "result")), (0x3dcccccdu + r) >> 16);
  q.at.column = 5;
  json_t *other = ask(&q);
  EXPECT(r != (uint32_t)json_integer_value(json_object_get(
                  json_object_get(json_object_get(in(other, "bf16"), "stochastic"), "drawn"), "r")));
  json_decref(object);
  json_decref(other);
}
