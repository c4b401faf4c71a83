/* The operator table itself, and docs/operators.md, which is printed from it. */
#include "frontend/dtype.h"
#include "frontend/gradients/gradients.h"
#include "frontend/ops.h"
#include "frontend/passes/passes.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE "docs/operators.md"

static void print_count(FILE *out, const tg_op_info *info) {
  if (info->most_inputs == TG_ANY_COUNT)
    fprintf(out, "%d or more", info->fewest_inputs);
  else if (info->most_inputs != info->fewest_inputs)
    fprintf(out, "%d to %d", info->fewest_inputs, info->most_inputs);
  else
    fprintf(out, "%d", info->fewest_inputs);
}

static void print_attributes(FILE *out, const tg_op_info *info) {
  int printed = 0;
  for (int i = 0; i < info->attr_count; i++) {
    const tg_attr_info *attr = tg_attr_get(info->attrs[i].key);
    double initial = info->attrs[i].initial;
    if (attr->internal) continue;
    fprintf(out, "%s%s", printed++ ? ", " : "", attr->name);
    if (isnan(initial))
      fputs(" (required)", out);
    else if (initial != INT32_MIN && initial != TG_NOT_GIVEN &&
             (attr->kind == TG_KIND_INT || attr->kind == TG_KIND_FLOAT))
      fprintf(out, " = %g", initial);
  }
}

/* In a cell of a table bars are escaped. */
static void print_cell(FILE *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '|') fputc('\\', out);
    fputc(*c, out);
  }
}

/* Is it made of others as soon as its operands are known? */
static bool is_composed(tg_op op) {
  static const bool composed[TG_OP_COUNT] = {
#define TG_COMPOSITION(op, make) [TG_OP_##op] = true,
#include "frontend/decompose/compositions.def"
#undef TG_COMPOSITION
  };
  return composed[op];
}

static void print_gradient(FILE *out, tg_op op) {
  const tg_gradient_info *gradient = tg_gradient_get(op);
  if (gradient->rule)
    print_cell(out, gradient->text);
  else if (tg_op_is(op, TG_IS_RECURRENT))
    fputs("of what it is unrolled to", out);
  else if (tg_op_is(op, TG_IS_EXPANDED) || is_composed(op) || op == TG_OP_EINSUM)
    fputs("of what it is made of", out);
  else
    fputs(tg_op_is(op, TG_IS_COMPARE | TG_IS_LOGIC | TG_IS_GENERATES) ? "-" : "none", out);
}

/* What computes it on the array. Values that address generators move pass a vector unit, which leaves them as they are. */
static const char *unit_of(tg_op op) {
  if (!tg_op_is(op, TG_IS_DEVICE)) return "-";
  if (tg_op_is(op, TG_IS_GEMM) || op == TG_OP_BLOCKED_ATTENTION) return "mx";
  return tg_op_is(op, TG_IS_MOVE) || op == TG_OP_GATHER_ROWS ? "AGCU" : "vx";
}

static void print_internal(FILE *out) {
  fputs("\n## Operators of the array that models do not have\n\nGradients and other operators are lowered to "
        "them.\n\n| operator | unit | effect |\n|---|---|---|\n",
        out);
  for (int op = 0; op < TG_OP_COUNT; op++) {
    if (!tg_op_is((tg_op)op, TG_IS_INTERNAL) || !tg_op_is((tg_op)op, TG_IS_DEVICE)) continue;
    fprintf(out, "| %s | %s | ", tg_op_get((tg_op)op)->name, unit_of((tg_op)op));
    print_cell(out, tg_op_get((tg_op)op)->effect);
    fputs(" |\n", out);
  }
}

static char *page(tg_arena *arena) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  fputs("# Operators\n\nPrinted from `frontend/ops.def` by `test_frontend_tables`; do not edit. Inputs in "
        "[brackets] are "
        "optional,\nthose in {braces} must be constant. The array runs those that have a unit: mx multiplies "
        "matrices, vx\ncomputes elements and rows, AGCU moves; the others are lowered to them. "
        "Opsets 1 to 28;\n`Constant` nodes become constants, `Optional`, `OptionalGetElement` and "
        "`OptionalHasElement` the element or nothing. Anything else in a model is refused, naming "
        "node and "
        "operator.\nGradients: g is that of the result Y; \"none\" is refused by `tegula train`.\nWhat tests "
        "they pass, "
        "with which element types: [node-tests.md](node-tests.md).\n\n| "
        "operator | unit | inputs | effect | attributes | gradient |\n|---|---|---|---|---|---|\n",
        out);
  for (int op = 0; op < TG_OP_COUNT; op++) {
    const tg_op_info *info = tg_op_get((tg_op)op);
    if (tg_op_is((tg_op)op, TG_IS_INTERNAL)) continue;
    fprintf(out, "| %s | %s | ", info->name, unit_of((tg_op)op));
    print_count(out, info);
    fprintf(out, " | ");
    print_cell(out, info->effect);
    fprintf(out, " | ");
    print_attributes(out, info);
    fprintf(out, " | ");
    print_gradient(out, (tg_op)op);
    fputs(" |\n", out);
  }
  print_internal(out);
  fclose(out);
  char *copy = tg_arena_strdup(arena, text);
  free(text);
  return copy;
}

TG_TEST(tables, the_page_of_operators_is_current) {
  tg_arena arena = {0};
  const char *want = page(&arena);
  if (getenv("TEGULA_UPDATE_GOLDEN")) write_bytes(PAGE, want, strlen(want));
  EXPECT_STR(read_text(&arena, PAGE, NULL), want);
  tg_arena_release(&arena);
}

TG_TEST(tables, names_find_their_operators_and_attributes) {
  for (int op = 0; op < TG_OP_COUNT; op++) {
    const tg_op_info *info = tg_op_get((tg_op)op);
    EXPECT_EQ(tg_op_from_name(info->name), op);
    EXPECT((info->fewest_inputs >= 1 || tg_op_is((tg_op)op, TG_IS_EXPANDED | TG_IS_SEQUENCE)) &&
           info->fewest_inputs <= info->most_inputs);
    EXPECT((info->attr_count > 0) == (info->attrs != NULL));
  }
  for (int key = 0; key < TG_ATTR_KEY_COUNT; key++)
    EXPECT_EQ(tg_attr_from_name(tg_attr_get((tg_attr_key)key)->name), key);
  EXPECT_EQ(tg_op_from_name("Nonsense"), TG_OP_COUNT);
  EXPECT(!tg_pass_find("nonsense"));
}

TG_TEST(tables, element_types_agree_with_onnx) {
  for (int d = 1; d < TG_DTYPE_COUNT; d++) {
    tg_dtype dtype = (tg_dtype)d;
    EXPECT_EQ(tg_dtype_from_name(tg_dtype_name(dtype)), dtype);
    if (dtype != TG_TF32) EXPECT_EQ(tg_dtype_from_onnx(tg_dtype_to_onnx(dtype)), dtype);
  }
  EXPECT_EQ(tg_dtype_from_onnx(0), TG_NONE);
  EXPECT_EQ(tg_dtype_from_onnx(8), TG_NONE);
}
