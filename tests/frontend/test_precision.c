/* The policies against what is known of the systems that they follow: the collected rules, row by row;
 * operand and result types recorded from HMP and torch.autocast; the cast counts of RAF's own tests. Cases of
 * whole graphs are in golden/precision/.
 *
 * An operator that the graph does not have is stood in for by one of the same number of operands whose origin
 * is the framework's name: rules go by names. What stands in is printed. */
#include "frontend/precision/policy.h"
#include "frontend/precision/precision.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>

/* --- comma-separated values */

enum { FIELDS = 8 };

typedef struct csv {
  char *at;
  const char *field[FIELDS];
} csv;

static bool open_csv(tg_arena *arena, const char *name, csv *out_csv) {
  *out_csv = (csv){.at = read_text(arena, recorded_path(arena, name), NULL)};
  return out_csv->at != NULL;
}

/* The next line; fields may be quoted, with doubled quotes in them. */
static bool next_row(csv *file) {
  if (!*file->at) return false;
  for (int f = 0; f < FIELDS; f++) file->field[f] = "";
  for (int f = 0; *file->at && *file->at != '\n'; f++) {
    bool quoted = *file->at == '"';
    char *from = file->at + quoted, *to = from;
    if (f < FIELDS) file->field[f] = from;
    for (file->at = from; *file->at && (quoted || (*file->at != ',' && *file->at != '\n')); file->at++) {
      if (quoted && *file->at == '"' && *++file->at != '"') break;
      *to++ = *file->at;
    }
    char end = *file->at;
    *to = 0;
    if (end) file->at++;
    if (end != ',') return true;
  }
  if (*file->at) file->at++;
  return true;
}

/* --- the tables, row by row */

typedef struct category {
  const char *system, *category;
  tg_cast_list list;
} category;

static const category categories[] = {
    {"habana_hmp", "bf16_list", TG_LIST_HMP_BF16},
    {"habana_hmp", "fp32_list", TG_LIST_HMP_FP32},
    {"habana_hmp", "multi_input_list", TG_LIST_HMP_MULTI},
    {"habana_hmp", "in_place_rule", TG_LIST_HMP_IN_PLACE},
    {"habana_hmp", "unwrapped", TG_LIST_HMP_IN_PLACE},
    {"habana_hmp_O2", "bf16", TG_LIST_HMP_O2},
    {"habana_hmp_O2", "version dependent", TG_LIST_HMP_O2},
    {"habana_hpu_autocast", "lower_precision", TG_LIST_HPU_LOWER},
    {"habana_hpu_autocast", "lower_first_arg", TG_LIST_HPU_LOWER},
    {"habana_hpu_autocast", "fp32", TG_LIST_HPU_FP32},
    {"habana_hpu_autocast", "promote_list", TG_LIST_HPU_PROMOTE},
    {"torch_cuda_autocast", "lower_precision_fp", TG_LIST_CUDA_LOWER},
    {"torch_cuda_autocast", "fp32", TG_LIST_CUDA_FP32},
    {"torch_cuda_autocast", "fp32_set_opt_dtype", TG_LIST_CUDA_SET_DTYPE},
    {"torch_cuda_autocast", "fp32_append_dtype", TG_LIST_CUDA_SET_DTYPE},
    {"torch_cuda_autocast", "promote", TG_LIST_CUDA_PROMOTE},
    {"torch_cuda_autocast", "banned", TG_LIST_CUDA_BANNED},
    {"torch_cpu_autocast_main", "lower_precision_fp", TG_LIST_CPU_LOWER},
    {"torch_cpu_autocast_main", "fp32", TG_LIST_CPU_FP32},
    {"torch_cpu_autocast_main", "promote", TG_LIST_CPU_PROMOTE},
    {"raf", "always_cast", TG_LIST_RAF_ALWAYS},
    {"raf", "never_cast", TG_LIST_RAF_NEVER},
    {"raf", "infer_cast", TG_LIST_RAF_INFER},
    {"raf", "special", TG_LIST_RAF_SPECIAL},
};

static const category *category_of(const csv *row) {
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
    if (!strcmp(categories[i].system, row->field[0]) && !strcmp(categories[i].category, row->field[2]))
      return &categories[i];
  return NULL;
}

/* What the words of the rule say of how many operands it is about; 0: nothing. */
static int operands_in(const char *rule) {
  static const char *const numbers[] = {"first 1 arg", "first 2 arg", "first 3 arg", "first 4 arg"};
  if (strstr(rule, "only the FIRST positional") || strstr(rule, "cast only the first argument")) return 1;
  for (int i = 0; i < 4; i++)
    if (strstr(rule, numbers[i])) return i + 1;
  return 0;
}

static tg_need need_of(tg_cast_list list, const tg_cast_rule *rule) {
  switch (list) {
  case TG_LIST_HMP_FP32:
  case TG_LIST_HPU_FP32:
  case TG_LIST_CUDA_FP32:
  case TG_LIST_CPU_FP32: return TG_NEED_FP32;
  case TG_LIST_HMP_MULTI:
  case TG_LIST_HPU_PROMOTE:
  case TG_LIST_CUDA_PROMOTE:
  case TG_LIST_CPU_PROMOTE: return TG_NEED_WIDEST;
  case TG_LIST_CUDA_SET_DTYPE: return TG_NEED_RESULT_FP32;
  case TG_LIST_CUDA_BANNED: return TG_NEED_BANNED;
  case TG_LIST_RAF_NEVER: return TG_NEED_ORIGINAL;
  case TG_LIST_RAF_INFER: return TG_NEED_INFER;
  case TG_LIST_HMP_IN_PLACE:
  case TG_LIST_RAF_SPECIAL: return rule->need;
  default: return TG_NEED_LOWER;
  }
}

static void check_rule(const csv *row, tg_cast_list list, const tg_cast_rule *rule) {
  int operands = operands_in(row->field[3]);
  bool fits = rule->need == need_of(list, rule) && (!operands || rule->count == operands);
  if (!fits)
    tg_test_fail(__FILE__, __LINE__, "%s %s: need %d of %d operands is not \"%s\"", row->field[0], rule->name,
                 (int)rule->need, rule->count, row->field[3]);
}

TG_TEST(precision, tables_hold_every_collected_rule) {
  tg_arena arena = {0};
  csv file;
  int seen[TG_LIST_COUNT] = {0}, held[TG_LIST_COUNT] = {0};
  ASSERT(open_csv(&arena, "precision/rules.csv", &file));
  while (next_row(&file)) {
    const category *c = category_of(&file);
    if (!c || strstr(file.field[3], "of one release"))
      continue; /* mean: in one release's file, not in the default */
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(file.field[1], " "), file.field[1]);
    const tg_cast_rule *found = NULL;
    for (int i = 0; i < tg_cast_rule_count; i++)
      if (tg_cast_rule_table[i].list == c->list && !strcmp(tg_cast_rule_table[i].name, name))
        found = &tg_cast_rule_table[i];
    if (found)
      check_rule(&file, c->list, found);
    else
      tg_test_fail(__FILE__, __LINE__, "%s %s has no %s", file.field[0], file.field[2], name);
    seen[c->list]++;
  }
  for (int i = 0; i < tg_cast_rule_count; i++) held[tg_cast_rule_table[i].list]++;
  for (int list = 0; list < TG_LIST_COUNT; list++) EXPECT_EQ(held[list], seen[list]);
  EXPECT_EQ(held[TG_LIST_RAF_ALWAYS] + held[TG_LIST_RAF_NEVER] + held[TG_LIST_RAF_INFER] +
                held[TG_LIST_RAF_SPECIAL],
            181);
  tg_arena_release(&arena);
}

/* --- one operator */

typedef struct subject {
  const char *name, *onnx; /* the framework's, and the operator that has this name; NULL: none has */
} subject;

static const subject subjects[] = {
    {"matmul", "MatMul"},
    {"mm", "MatMul"},
    {"bmm", "MatMul"},
    {"linear", "Gemm"},
    {"addmm", "Gemm"},
    {"conv1d", "Conv"},
    {"conv2d", "Conv"},
    {"conv2d_padding_same", "Conv"},
    {"add", "Add"},
    {"sub", "Sub"},
    {"mul", "Mul"},
    {"div", "Div"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"relu", "Relu"},
    {"leaky_relu", "LeakyRelu"},
    {"sigmoid", "Sigmoid"},
    {"tanh", "Tanh"},
    {"exp", "Exp"},
    {"sqrt", "Sqrt"},
    {"neg", "Neg"},
    {"abs", "Abs"},
    {"softmax", "Softmax"},
    {"log_softmax", "LogSoftmax"},
    {"cat", "Concat"},
    {"dropout", "Dropout"},
    {"gelu", "Gelu"},
    {"erf", "Erf"},
    {"log", "Log"},
    {"reciprocal", "Reciprocal"},
    {"pow_tensor", "Pow"},
    {"pow", "Pow"},
    {"batch_norm_eval", "BatchNormalization"},
    {"batch_norm_train", "BatchNormalization"},
    {"permute", "Transpose"},
    {"avg_pool2d", "AveragePool"},
    {"max_pool2d", "MaxPool"},
    {"adaptive_avg_pool2d", "GlobalAveragePool"},
    {"adaptive_max_pool2d", "GlobalMaxPool"},
};

/* What the lists of autocast call otherwise than the recordings. */
static const subject renamed[] = {{"bce_with_logits", "binary_cross_entropy_with_logits"},
                                  {"cross_entropy", "cross_entropy_loss"},
                                  {"grid_sample", "grid_sampler"},
                                  {"conv2d_padding_same", "conv2d"}};

static const char *translate(const char *name) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
    if (!strcmp(renamed[i].name, name)) return renamed[i].onnx;
  return name;
}

static const char *operator_of(const char *name) {
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
    if (!strcmp(subjects[i].name, name) && tg_op_from_name(subjects[i].onnx) != TG_OP_COUNT)
      return subjects[i].onnx;
  return NULL;
}

/* "f32+bf16" to dtypes; their number, 0 where one of them is none of ours. */
static int dtypes_of(const char *text, tg_dtype out[8]) {
  int count = 0;
  while (*text && count < 8) {
    char word[16];
    size_t length = strcspn(text, "+");
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    out[count] = tg_dtype_from_name(word);
    if (!out[count++]) return 0;
    text += length + (text[length] == '+');
  }
  return count;
}

static const char *shape_of(const char *onnx, int input) {
  if (!strcmp(onnx, "Conv")) return input == 2 ? "[2]" : input ? "[2,2,1,1]" : "[1,2,4,4]";
  if (!strcmp(onnx, "BatchNormalization")) return input ? "[2]" : "[1,2,4,4]";
  if (strstr(onnx, "Pool")) return "[1,2,4,4]";
  return "[4,4]";
}

/* A graph of the one node, its result as wide as its widest operand. Missing operands of a normalisation are
 * f32. */
static tg_graph *one_node(tg_arena *arena, const char *name, bool aten, const tg_dtype *dtypes, int count,
                          tg_diag *diag) {
  const char *onnx = operator_of(name), *inputs = "", *operands = "", *origin = "";
  bool norm = onnx && strstr(onnx, "Normalization");
  if (!onnx) {
    onnx = count > 1 ? "Max" : "Abs";
    origin = tg_arena_printf(arena, " origin=\"%s\"", aten ? translate(name) : name);
  }
  tg_dtype result = TG_NONE;
  for (int i = 0; i < (norm ? 5 : count); i++) {
    tg_dtype dtype = i < count ? dtypes[i] : dtypes[count - 1];
    result = tg_widest(result, dtype);
    inputs =
        tg_arena_printf(arena, "%sinput %%i%d: %s%s\n", inputs, i, tg_dtype_name(dtype), shape_of(onnx, i));
    operands = tg_arena_printf(arena, "%s%s%%i%d", operands, i ? ", " : "", i);
  }
  const char *attributes = !strcmp(onnx, "Concat") ? " axis=0" : "";
  if (!strcmp(onnx, "MaxPool") || !strcmp(onnx, "AveragePool")) attributes = " kernel_shape=[2,2]";
  const char *shape = !strcmp(onnx, "Concat") ? tg_arena_printf(arena, "[%d,4]", 4 * count)
                      : !strcmp(onnx, "MaxPool") || !strcmp(onnx, "AveragePool") ? "[1,2,3,3]"
                      : strstr(onnx, "Global")                                   ? "[1,2,1,1]"
                                                                                 : shape_of(onnx, 0);
  const char *text = tg_arena_printf(
      arena, "graph \"g\"\n%s%%y: %s%s = %s(%s)%s @0 \"%s\"%s\noutput \"y\" %%y: %s\n", inputs,
      tg_dtype_name(result), shape, onnx, operands, attributes, name, origin, tg_dtype_name(result));
  tg_graph *graph;
  if (tg_graph_parse(arena, text, &graph, diag))
    tg_test_fail(__FILE__, __LINE__, "%s\n%s", diag->message, text);
  return graph;
}

static tg_dtype record_of(const tg_graph *graph, int operand) {
  for (size_t i = 0; i < graph->cast_count; i++)
    if (graph->casts[i].id >= 0 && graph->casts[i].operand == operand) return graph->casts[i].after;
  return TG_NONE;
}

typedef struct tally {
  int compared, stood_in;
  char names[4096]; /* of those that others stood in for */
} tally;

static void note_missing(tally *t, const char *name) {
  char word[128];
  snprintf(word, sizeof word, " %s,", name);
  t->stood_in++;
  if (!strstr(t->names, word) && strlen(t->names) + strlen(word) < sizeof t->names) strcat(t->names, word);
}

/* The one node `name` under the policy: operands and result must be those; either text may be of something
 * else. */
static void check_one(const tg_precision_options *options, const char *where, const char *name,
                      const char *inputs, const char *after, const char *output, tally *tally) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_dtype in[8], want[8], out[8];
  int count = dtypes_of(inputs, in);
  bool f64 = strstr(inputs, "f64") != NULL && !strcmp(name, "softmax");
  tg_graph *graph =
      count && !f64 ? one_node(&arena, name, options->family == TG_FAMILY_AUTOCAST, in, count, &diag) : NULL;
  if (graph && tg_precision_insert(graph, options, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s %s: %s", where, name, diag.message);
  else if (graph) {
    for (int i = 0; i < dtypes_of(after, want); i++)
      if (record_of(graph, i) != want[i])
        tg_test_fail(__FILE__, __LINE__, "%s %s(%s): operand %d is %s, recorded %s", where, name, inputs, i,
                     tg_dtype_name(record_of(graph, i)), after);
    if (dtypes_of(output, out) && record_of(graph, -1) != out[0])
      tg_test_fail(__FILE__, __LINE__, "%s %s(%s): result is %s, recorded %s", where, name, inputs,
                   tg_dtype_name(record_of(graph, -1)), output);
    tally->compared++;
    if (!operator_of(name)) note_missing(tally, name);
  }
  tg_arena_release(&arena);
}

/* --- recorded decisions */

TG_TEST(precision, hmp_decides_as_recorded) {
  tg_arena arena = {0};
  csv file;
  tally count = {0};
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.family = TG_FAMILY_HMP;
  ASSERT(open_csv(&arena, "precision/hmp_o1_dtypes.csv", &file));
  for (next_row(&file); next_row(&file);)
    check_one(&options, "hmp", file.field[0], file.field[3], file.field[4], file.field[5], &count);
  printf("hmp: %d decisions as recorded, %d of operators that Tegula has not:%s\n", count.compared,
         count.stood_in, count.names);
  EXPECT_EQ(count.compared, 94);
  tg_arena_release(&arena);
}

/* PyTorch 1.13 where it is not what its main branch lists, or where the recording is of something else. */
static const struct {
  const char *name, *why;
} otherwise[] = {{"conv_transpose", "fp32 in 1.13"},
                 {"prelu", "in no list of 1.13"},
                 {"einsum", "made of bmm: no operator of its own below autocast"},
                 {"tensordot", "made of mm"},
                 {"chain_matmul", "made of mm"},
                 {"linalg_multi_dot", "made of mm"},
                 {"linalg_matrix_norm", "fp32 in 1.13, not in the list of the main branch"},
                 {"addmv", "its kernel takes the vector's type"},
                 {"softmax_dtype_arg_f32", "an argument asks for the type"},
                 {"nn.", "modules of many operators"},
                 {"argmax", "integers"},
                 {"one_hot", "integers"},
                 {"gt", "booleans"},
                 {"eq", "booleans"}};

static bool is_otherwise(const char *name) {
  for (size_t i = 0; i < sizeof otherwise / sizeof *otherwise; i++)
    if (!strncmp(name, otherwise[i].name, strlen(otherwise[i].name))) return true;
  return false;
}

TG_TEST(precision, autocast_on_the_cpu_decides_as_recorded) {
  tg_arena arena = {0};
  csv file;
  tally count = {0};
  int different = 0, errors = 0;
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.family = TG_FAMILY_AUTOCAST;
  options.device = TG_AUTOCAST_CPU;
  ASSERT(open_csv(&arena, "precision/torch_cpu_autocast_dtypes.csv", &file));
  for (next_row(&file); next_row(&file);) {
    bool error = !strcmp(file.field[3], "ERROR");
    errors += error;
    different += !error && is_otherwise(file.field[0]);
    if (!error && !is_otherwise(file.field[0]))
      check_one(&options, "autocast cpu", file.field[0], file.field[2], "", file.field[3], &count);
  }
  printf("autocast cpu: %d results as recorded; %d of another version or kind; %d errors in PyTorch; %d of "
         "operators that "
         "Tegula has not:%s\n",
         count.compared, different, errors, count.stood_in, count.names);
  EXPECT(count.compared > 450);
  tg_arena_release(&arena);
}

/* --- counts of casts */

static int inserted(const char *text, const tg_precision_options *options) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  int count = -1;
  if (tg_graph_parse(&arena, text, &graph, &diag) || tg_precision_insert(graph, options, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s\n%s", diag.message, text);
  } else {
    count = 0;
    for (size_t i = 0; i < graph->cast_count; i++) count += graph->casts[i].inserted;
    int nodes = 0;
    TG_FOR_NODES(graph, node) nodes += node->op == TG_OP_CAST;
    EXPECT_EQ(nodes, count);
  }
  tg_arena_release(&arena);
  return count;
}

#define X_W                                                                                                  \
  "graph \"g\"\ninput %x: f32[1,2,4,4]\nconst %w: f32[2,2,1,1] = seeded(1, 1)\nconst %b: f32[2] = "          \
  "seeded(2, 1)\n"
#define CONV(operands) "%c: f32[1,2,4,4] = Conv(" operands ") @0 \"conv\"\n"

/* `fp32` and `lower` inputs joined. */
static const char *joined(tg_arena *arena, int fp32, int lower) {
  const char *inputs = "graph \"g\"\n", *operands = "";
  for (int i = 0; i < fp32 + lower; i++) {
    inputs = tg_arena_printf(arena, "%sinput %%i%d: %s[2]\n", inputs, i, i < fp32 ? "f32" : "bf16");
    operands = tg_arena_printf(arena, "%s%s%%i%d", operands, i ? ", " : "", i);
  }
  return tg_arena_printf(arena, "%s%%y: f32[%d] = Concat(%s) axis=0 @0\noutput \"y\" %%y: none\n", inputs,
                         2 * (fp32 + lower), operands);
}

TG_TEST(precision, raf_inserts_as_many_casts_as_its_tests_say) {
  tg_arena arena = {0};
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.family = TG_FAMILY_RAF;
  options.amp_out_dtype = TG_BF16;
  EXPECT_EQ(inserted(X_W CONV("%x, %w, %b") "output \"c\" %c: f32\n", &options), 3);
  static const char both[] =
      X_W CONV("%x, %w") "%r: f32[1,2,4,4] = Relu(%c) @1\noutput \"c\" %c: f32\noutput \"r\" %r: f32\n";
  EXPECT_EQ(inserted(both, &options), 2);
  EXPECT_EQ(inserted(X_W CONV("%x, %w") "%p: f32[1,2,4,4] = Identity(%c) @1 origin=\"split\"\n"
                                        "%q: f32[1,2,4,4] = Identity(%c) @2 origin=\"split\"\n"
                                        "%y: f32[2,2,4,4] = Concat(%p, %q) axis=0 @3\noutput \"y\" %y: f32\n",
                     &options),
            2);
  /* cond is no float, so the operators that stand in for where need none */
  EXPECT_EQ(inserted("graph \"g\"\ninput %a: f32[4,4]\ninput %b: f32[4,4]\ninput %y: f32[4,4]\n"
                     "%m: f32[4,4] = MatMul(%a, %b) @0\n%z: f32[4,4] = Max(%m, %y) @1 origin=\"where\"\n"
                     "output \"z\" %z: f32\n",
                     &options),
            3);
  options.amp_out_dtype = TG_F32;
  EXPECT_EQ(inserted(both, &options), 4);
  options.amp_out_dtype = TG_NONE;
  EXPECT_EQ(inserted(both, &options), 4);
  /* outputs of no declared type have that which they are computed in */
  EXPECT_EQ(inserted(joined(&arena, 2, 3), &options), 2);
  EXPECT_EQ(inserted(joined(&arena, 3, 2), &options), 2);
  EXPECT_EQ(inserted(joined(&arena, 3, 4), &options), 4);
  tg_arena_release(&arena);
}

#define LINEAR_TWICE(weight)                                                                                 \
  "graph \"g\"\ninput %x: f32[4,4]\n" weight                                                                 \
  "%y: f32[4,4] = Gemm(%x, %w) @0\n%z: f32[4,4] = Gemm(%x, %w) @1\n"                                         \
  "output \"y\" %y: bf16\noutput \"z\" %z: bf16\n"

TG_TEST(precision, autocast_keeps_casts_of_parameters_only) {
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.family = TG_FAMILY_AUTOCAST;
  EXPECT_EQ(inserted(LINEAR_TWICE("const %w: f32[4,4] = seeded(1, 1)\n"), &options), 3);
  EXPECT_EQ(inserted(LINEAR_TWICE("input %w: f32[4,4]\n"), &options), 4);
}

/* --- refusals, the callback */

static tg_status apply(const char *text, const tg_precision_options *options, tg_graph **out_graph,
                       tg_arena *arena, tg_diag *diag) {
  EXPECT_EQ(tg_graph_parse(arena, text, out_graph, diag), TG_OK);
  return tg_precision_insert(*out_graph, options, diag);
}

TG_TEST(precision, refusals_name_operators_and_counts) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.family = TG_FAMILY_RAF;
  static const char unruled[] = "graph \"g\"\ninput %x: f32[4]\n%a: f32[4] = Abs(%x) @0 origin=\"bessel\"\n"
                                "%b: f32[4] = Abs(%a) @1 origin=\"bessel\"\noutput \"b\" %b: f32\n";
  EXPECT_EQ(apply(unruled, &options, &graph, &arena, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "raf has no cast rule for Abs (2)");
  options.family = TG_FAMILY_AUTOCAST;
  diag = (tg_diag){""};
  static const char banned[] =
      "graph \"g\"\ninput %x: f32[4]\ninput %t: f32[4]\n%y: f32[4] = Max(%x, %t) @0 \"loss\" "
      "origin=\"binary_cross_entropy\"\noutput \"y\" %y: f32\n";
  EXPECT_EQ(apply(banned, &options, &graph, &arena, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "node \"loss\"");
  options.disable_graphamp = "loss";
  EXPECT_EQ(apply(banned, &options, &graph, &arena, &diag), TG_OK);
  tg_arena_release(&arena);
}

static bool raf_has_a_rule(const tg_node *node) {
  const char *names[TG_MAX_NAMES + 1];
  tg_framework_names(node, TG_FRAMEWORK_RAF, names);
  for (int n = 0; names[n]; n++)
    for (int list = 0; list < TG_LIST_COUNT; list++)
      if (tg_cast_list_get((tg_cast_list)list)->system == TG_SYSTEM_RAF &&
          tg_cast_rule_find((tg_cast_list)list, names[n]))
        return true;
  return false;
}

/* What a policy sees of a model: not what is made of other operators or known by then, as Einsum, and Trilu of a constant. */
TG_TEST(precision, raf_has_a_rule_for_every_operator) {
  const unsigned gone =
      TG_IS_INTERNAL | TG_IS_EXPANDED | TG_IS_CONTROL | TG_IS_SEQUENCE | TG_IS_GENERATES | TG_IS_RECURRENT;
  const tg_dim dims[4] = {{.size = 1}, {.size = 2}, {.size = 4}, {.size = 4}};
  tg_arena arena = {0};
  tg_graph *graph = tg_graph_create(&arena, "g");
  tg_value *x = tg_graph_add_input(graph, "x", TG_F32, 4, dims);
  for (tg_op op = 0; op < TG_OP_COUNT; op++) {
    if (tg_op_is(op, gone) || op == TG_OP_TRILU || op == TG_OP_EINSUM) continue;
    if (!raf_has_a_rule(tg_graph_add_node(graph, op, "n", &x, 1, NULL, -1)))
      tg_test_fail(__FILE__, __LINE__, "raf has no rule for %s: a row of names.def is missing",
                   tg_op_get(op)->name);
  }
  tg_arena_release(&arena);
}

typedef struct asked {
  int nodes;
  const char *answer;
} asked;

static const char *answer(void *user, const char *node, const char *op, int operand_count,
                          const char *const *dtypes) {
  asked *a = user;
  a->nodes++;
  EXPECT(!strcmp(op, "Relu") ? operand_count == 1 && !strcmp(dtypes[0], "bf16") : operand_count == 2);
  return !strcmp(node, "act") ? a->answer : NULL;
}

TG_TEST(precision, a_callback_decides_before_the_tables) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *graph;
  asked a = {0, "fp32 -> fp16"};
  tg_precision_options options;
  tg_precision_defaults(&options);
  options.preset = TG_PRESET_MP4;
  options.callback = answer;
  options.callback_user = &a;
  static const char text[] = "graph \"g\"\ninput %x: f32[4,4]\n%h: f32[4,4] = MatMul(%x, %x) @0 \"fc\"\n"
                             "%y: f32[4,4] = Relu(%h) @1 \"act\"\noutput \"y\" %y: f32\n";
  EXPECT_EQ(apply(text, &options, &graph, &arena, &diag), TG_OK);
  EXPECT_EQ(a.nodes, 2);
  const tg_node *act = graph->outputs[0]->producer->op == TG_OP_CAST
                           ? tg_in(graph->outputs[0]->producer, 0)->producer
                           : graph->outputs[0]->producer;
  EXPECT(tg_in(act, 0)->dtype == TG_F32 && tg_out(act)->dtype == TG_F16);
  EXPECT_STR(act->rule, "callback: fp32 -> fp16");
  a.answer = "wide";
  EXPECT_EQ(apply(text, &options, &graph, &arena, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "node \"act\" (Relu)");
  tg_arena_release(&arena);
}

TG_TEST(precision, rules_are_read_or_refused_with_their_line) {
  static const struct {
    const char *text, *says;
  } cases[] = {{"op Relu fp32\nop\n", "line 2"},
               {"op Relu\n", "none of keep"},
               {"op Relu fp33\n", "\"fp33\" is none of"},
               {"op Relu fp32,\n", "none of"},
               {"op Relu fp32 -> tf32\n", "cannot be tf32"},
               {"op Relu fp32 bf16\n", "too much"},
               {"wat Relu fp32\n", "none of op, node, id"},
               {"id -1 fp32\n", "no position"},
               {"id 99999999999999999999 fp32\n", "no position"},
               {"node \"a fp32\n", "not closed"}};
  char path[512];
  snprintf(path, sizeof path, "%s/rules.txt", tg_test_dir());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_cast_rules *rules;
    write_bytes(path, cases[i].text, strlen(cases[i].text));
    EXPECT_EQ(tg_cast_rules_read(&arena, path, &rules, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    EXPECT_HAS(diag.message, "rules.txt: line");
    tg_arena_release(&arena);
  }
}

TG_TEST(precision, tf32_rounds_to_nearest_even) {
  tg_arena arena = {0};
  csv file;
  int count = 0;
  ASSERT(open_csv(&arena, "precision/tf32_round_vectors.csv", &file));
  for (next_row(&file); next_row(&file); count++) {
    uint32_t from = (uint32_t)strtoul(file.field[0], NULL, 16),
             want = (uint32_t)strtoul(file.field[2], NULL, 16);
    float x, cell = 0;
    memcpy(&x, &from, sizeof x);
    tg_store_f32(&cell, TG_TF32, 0, x);
    uint32_t got;
    memcpy(&got, &cell, sizeof got);
    bool nan = (want & 0x7fffffff) > 0x7f800000; /* payloads are ours */
    if (!nan) EXPECT_BITS(got, want);
  }
  EXPECT(count > 1000);
  tg_arena_release(&arena);
}
