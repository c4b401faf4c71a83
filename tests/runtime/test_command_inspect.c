/* `tegula inspect`: what a program is, what a pass leaves, why a value is cast; and rules for casts. */
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/command_support.h"

#include <jansson.h>
#include <stdio.h>

TG_TEST(command, inspect_prints_what_a_program_is) {
  small_models();
  const outcome *o = tegula("inspect gemm.onnx --arch tiny --graphamp-preset mp1");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "MatMul");
  EXPECT_HAS(o->out, "memory:");
  EXPECT_HAS(o->out, "section 0: MatMul");
  EXPECT_EQ(tegula("inspect gemm.tgb --json")->status, 0);
}

/* What `inspect --casts --json` says of `arguments`, one line a row: node, operand, before, after. */
static const char *decided(const char *arguments) {
  static char text[8192];
  char line[1024];
  *text = 0;
  snprintf(line, sizeof line, "inspect %s --casts --json", arguments);
  const outcome *o = tegula("%s", line);
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, "");
  json_t *object = json_loads(o->out, 0, NULL), *row;
  size_t i, used = 0;
  json_array_foreach(json_object_get(object, "casts"), i, row) {
    const char *node, *before, *after, *rule, *source;
    json_t *operand;
    if (json_unpack(row, "{s:s, s:o, s:s, s:s, s:s, s:s}", "node", &node, "operand", &operand, "before",
                    &before, "after", &after, "rule", &rule, "source", &source))
      tg_test_fail(__FILE__, __LINE__, "a row is not as documented");
    else
      used += (size_t)snprintf(text + used, sizeof text - used, "%s %d %s %s\n", node,
                               json_is_null(operand) ? -1 : (int)json_integer_value(operand), before, after);
  }
  json_decref(object);
  return text;
}

TG_TEST(command, inspect_dumps_what_a_pass_leaves) {
  small_models();
  const outcome *o = tegula("inspect gemm.onnx --dump precision --graphamp-preset mp1");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "# after precision\ngraph ");
  o = tegula("inspect gemm.onnx --dump form_kernels");
  EXPECT_HAS(o->out, "# after form_kernels\ngemm roots=%");
  EXPECT_STR(tegula("inspect gemm.onnx --dump form_kernels -q")->out, "");
  o = tegula("inspect gemm.onnx --dump nonsense");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "no pass \"nonsense\" has run");
}

TG_TEST(command, inspect_explains_casts) {
  small_models();
  EXPECT_STR(decided("gemm.onnx --amp hmp"),
             "matmul 0 f32 bf16\nmatmul 1 f32 bf16\nmatmul -1 f32 bf16\nC 0 bf16 f32\n");
  EXPECT_STR(decided("gemm.onnx --matmul-precision high"),
             "matmul 0 f32 tf32\nmatmul 1 f32 tf32\nmatmul -1 f32 f32\nC 0 f32 f32\n");
  EXPECT_STR(decided("gemm.onnx --conv-precision high"), decided("gemm.onnx"));
  EXPECT_STR(decided("gemm.onnx --amp raf --amp-dtype fp16 --amp-out-dtype fp16"),
             "matmul 0 f32 f16\nmatmul 1 f32 f16\nmatmul -1 f32 f16\nC 0 f16 f16\n");
  EXPECT_HAS(tegula("inspect gemm.onnx --casts --graphamp-preset mp1")->out,
             "mp1: gemm-like, bf16 in, fp32 out");
}

TG_TEST(command, decisions_replay_from_rules_and_from_the_model) {
  small_models();
  static const char *const policies[] = {"--graphamp-preset mp2",
                                         "--graphamp-preset mp3",
                                         "--amp hmp",
                                         "--amp autocast --autocast-device cpu",
                                         "--amp raf --amp-dtype fp16",
                                         "--amp hmp --hmp-opt-level O2 --disable-graphamp fc1"};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    char line[512], first[8192];
    snprintf(line, sizeof line, "mlp.onnx %s", policies[i]);
    snprintf(first, sizeof first, "%s", decided(line));
    snprintf(line, sizeof line, "inspect mlp.onnx %s --write-cast-rules rules.txt --export decided.onnx",
             policies[i]);
    EXPECT_EQ(tegula("%s", line)->status, 0);
    EXPECT_STR(decided("mlp.onnx --cast-rules rules.txt"), first);
    EXPECT_STR(decided("decided.onnx"), first);
  }
}

TG_TEST(command, rules_for_nothing_are_reported_and_skipped) {
  small_models();
  char path[512];
  snprintf(path, sizeof path, "%s/slips.txt", tg_test_dir());
  FILE *file = fopen(path, "w");
  ASSERT(file);
  fputs("node nowhere bf16\nid 9999 bf16\nop Unicorn bf16\nop Gemm bf16\nop LogSoftmax bf16\n"
        "op linear bf16\nop batch_matmul bf16\n",
        file);
  fclose(file);
  const outcome *o = tegula("inspect mlp.onnx --casts --cast-rules slips.txt");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, "tegula: warning: slips.txt: line 1: no node \"nowhere\": skipped\n"
                     "tegula: warning: slips.txt: line 2: no node at position 9999: skipped\n"
                     "tegula: warning: slips.txt: line 3: no operator \"Unicorn\": skipped\n"
                     "tegula: warning: slips.txt: line 5: no node of operator \"LogSoftmax\": skipped\n"
                     "tegula: warning: slips.txt: line 7: no node of operator \"batch_matmul\": skipped\n");
  o = tegula("inspect mlp.onnx --casts --graphamp-preset mp1 --disable-graphamp nowhere");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, "tegula: warning: disable-graphamp \"nowhere\": no node's name matches\n");
}

TG_TEST(command, lists_of_operators_are_checked) {
  small_models();
  const outcome *o = tegula("inspect mlp.onnx --casts --amp hmp --bf16-ops /dev/null");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "hmp: in no list");
  char path[512];
  snprintf(path, sizeof path, "%s/ops.txt", tg_test_dir());
  FILE *file = fopen(path, "w");
  ASSERT(file);
  fputs("# two\nsoftmax\n\nunicorn\n", file);
  fclose(file);
  o = tegula("inspect mlp.onnx --casts --amp hmp --bf16-ops ops.txt");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, "tegula: warning: ops.txt: line 4: no operator \"unicorn\": skipped\n");
  EXPECT_HAS(o->out, "hmp: bf16 list of ops.txt (softmax)");
  EXPECT_STR(tegula("inspect mlp.onnx --casts --amp hmp --bf16-ops ops.txt -q")->err, "");
  o = tegula("inspect mlp.onnx --casts --amp hmp --bf16-ops ops.txt --fp32-ops ops.txt");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "ops.txt: line 2: \"softmax\" is in the bf16 list");
  o = tegula("inspect mlp.onnx --casts --amp hmp -v");
  EXPECT_HAS(o->err, "hmp: fp32 list, built-in: binary_cross_entropy ");
  EXPECT_HAS(o->err, "hmp: listed as multi-input too, which the other list beats: div");
  EXPECT_HAS(o->err, "casting operand 2 of Gemm \"fc1\" from f32 to bf16");
}

TG_TEST(command, tf32_is_for_products) {
  small_models();
  char path[512];
  snprintf(path, sizeof path, "%s/tf32.txt", tg_test_dir());
  FILE *file = fopen(path, "w");
  ASSERT(file);
  fputs("op linear tf32\n", file);
  fclose(file);
  EXPECT_HAS(decided("mlp.onnx --cast-rules tf32.txt"),
             "fc1 0 f32 tf32\nfc1 1 f32 tf32\nfc1 2 f32 f32\nfc1 -1 f32 f32\n");
  EXPECT_EQ(tegula("verify mlp.onnx --arch tiny --engines functional,systemc --cast-rules tf32.txt")->status,
            0);
  file = fopen(path, "w");
  ASSERT(file);
  fputs("op Relu tf32\n", file);
  fclose(file);
  const outcome *o = tegula("run mlp.onnx --cast-rules tf32.txt");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err,
             "tf32.txt: line 1: node \"fc1.relu\" (Relu): tf32 is a format of the operands of products");
}

TG_TEST(command, graphs_are_drawn) {
  small_models();
  const outcome *o = tegula("inspect gemm.onnx --amp hmp --dot");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "digraph");
  EXPECT_HAS(o->out, "Cast f32 > bf16");
  EXPECT_EQ(tegula("inspect gemm.onnx --amp hmp --dot g.dot")->status, 0);
  EXPECT(made("g.dot"));
  o = tegula("inspect gemm.onnx --svg g.svg");
  if (system("dot -V >/dev/null 2>&1")) {
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, "Graphviz");
    EXPECT(!made("g.svg"));
  } else {
    EXPECT_EQ(o->status, 0);
    EXPECT(made("g.svg"));
  }
}

/* What a model carries is said, counts as no FP32, and gives way where policies are compared. */
TG_TEST(command, rules_of_the_model_are_said) {
  EXPECT_EQ(tegula("zoo mlp -o mlp.onnx")->status, 0);
  EXPECT_EQ(tegula("inspect mlp.onnx --graphamp-preset mp4 --export own.onnx")->status, 0);
  const outcome *o =
      tegula("run own.onnx --graphamp-preset mp0 --engine functional --json --no-cpu-reference");
  EXPECT_HAS(o->err, "cast rules of the model's own");
  json_t *report = json_loads(o->out, 0, NULL), *precision = json_object_get(report, "precision");
  EXPECT_STR(json_string_value(json_object_get(precision, "policy")), "mp0, rules of the model");
  EXPECT(json_integer_value(json_object_get(precision, "model_rules")) > 0);
  const char *name;
  json_t *error;
  json_object_foreach(json_object_get(report, "error_vs_fp32"), name, error)
      EXPECT(field(error, "rms") > 1e-5);
  json_decref(report);
  o = tegula("sweep own.onnx --policy mp0 --policy mp1 --tiling-accum fp32 --json");
  EXPECT_HAS(o->err, "have no effect here");
  json_t *all = json_loads(o->out, 0, NULL), *rows = json_object_get(all, "rows");
  const json_t *mp0 = row_of(rows, "mp0", "fp32"), *mp1 = row_of(rows, "mp1", "fp32");
  ASSERT(mp0 && mp1);
  EXPECT(field(mp0, "cycles") > field(mp1, "cycles"));
  json_decref(all);
}

TG_TEST(command, lists_may_be_words_and_golden_errors_are_printed) {
  small_models();
  const outcome *o = tegula("inspect mlp.onnx --enable-mixed-precision-ops gemm softmax --json");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, "");
  EXPECT_EQ(tegula("run gemm.onnx --arch tiny --engine functional -q --output-dir golden")->status, 0);
  o = tegula("run gemm.onnx --arch tiny --engine functional --no-cpu-reference --golden C=golden/C.npy");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "error against golden");
  EXPECT_EQ(shell("echo 'rows: 2' > baseless.yaml"), 0);
  o = tegula("run gemm.onnx --arch baseless.yaml");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "names no base");
  o = tegula("compile gemm.onnx --arch tiny -q -o - | cmp - gemm.tgb && ! test -e ./-");
  EXPECT_EQ(o->status, 0);
}

/* Hints stand below a tensor's lines, each once, after the policies that it is for: to mp1 and mp4 these weights are the same
 * BF16 numbers, by rules of their own. */
TG_TEST(command, hints_of_several_policies_are_printed) {
  small_models();
  const outcome *o = tegula("numerics gemm.onnx --policy mp4");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out,
             "\n    mp4: precision: FP16 has 3 bits more, and the range fits (mp4: bf16 everywhere)\n");
  o = tegula("numerics gemm.onnx --policy mp1 --policy mp4");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "\n    mp1: precision: FP16 has 3 bits more, and the range fits (mp1: ");
  EXPECT_HAS(o->out,
             "\n    mp4: precision: FP16 has 3 bits more, and the range fits (mp4: bf16 everywhere)\n");
  o = tegula("numerics gemm.onnx --graphamp-preset mp4");
  EXPECT_HAS(o->out, "\n    precision: FP16 has 3 bits more, and the range fits (mp4: bf16 everywhere)\n");
}

/* Three runs of a sweep compile the same array: what it drops of its file is said once. */
TG_TEST(command, a_warning_is_said_once) {
  small_models();
  const outcome *o =
      tegula("sweep gemm.onnx --arch wide.yaml --dram ddr4-3200 --policy mp0 --policy mp1 --timing-only");
  EXPECT_EQ(o->status, 2);
  EXPECT_EQ(shell("printf 'base: edge\\ndram_bandwidth: 500GB/s\\n' > wide.yaml"), 0);
  o = tegula("sweep gemm.onnx --arch wide.yaml --dram ddr4-3200 --policy mp0 --policy mp1 --timing-only");
  EXPECT_EQ(o->status, 0);
  static const char line[] =
      "wide.yaml: dram_bandwidth: 500 GB/s is dropped: another memory is given after it";
  EXPECT_HAS(o->err, line);
  const char *first = strstr(o->err, line);
  EXPECT(first && !strstr(first + 1, line));
}

TG_TEST(command, an_engine_that_is_missing_is_told_with_what_to_do) {
  small_models();
  const outcome *o = tegula("verify gemm.onnx --arch tiny --engines functional,warp");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err,
             "engine \"warp\": this build has no such engine; --engines available compares those it has");
}

/* y = x + w, three elements each, where w lies in weights.bin: a ModelProto as protobuf writes it. */
static void model_with_outside_weights(void) {
  static const char model[] = "\x08\x08"                                                /* IR version */
                              "\x3a\x59"                                                /* graph */
                              "\x0a\x0e\x0a\x01x\x0a\x01w\x12\x01y\x22\x03\x41\x64\x64" /* node: Add */
                              "\x12\x01g"                                               /* name */
                              "\x2a\x22\x08\x03\x10\x01\x42\x01w"                       /* initializer w */
                              "\x6a\x17\x0a\x08location\x12\x0bweights.bin\x70\x01"     /* its place */
                              "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03" /* input */
                              "\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03" /* output */
                              "\x42\x02\x10\x0d"; /* opset 13 */
  write_file("outside.onnx", model);
  write_file("weights.bin", "twelve bytes");
}

TG_TEST(command, what_is_read_is_not_written_over) {
  static const char *const lines[] = {
      "compile kept.onnx -o kept.onnx",
      "compile kept.onnx -o ./kept.onnx",
      "compile kept.onnx -o link.onnx",
      "compile kept.onnx -o hard.onnx",
      "inspect kept.onnx --dot kept.onnx",
      "inspect kept.onnx --svg link.onnx",
      "inspect kept.onnx --export kept.onnx",
      "inspect kept.onnx --write-cast-rules kept.onnx",
      "inspect gemm.onnx --cast-rules kept.onnx --write-cast-rules kept.onnx",
      "run kept.onnx --trace kept.json",
      "run gemm.onnx --input A=kept.onnx --report kept.json",
      "run gemm.onnx --input A=hard.npz:B --trace hard.json",
      "run gemm.onnx --energy hard.yaml,mac=2 --report hard.json",
      "run gemm.onnx --report new.json --report new.json",
      "inspect gemm.onnx --dot new.dot --svg new.dot",
      "train gemm.onnx --data kept.onnx --labels y.npy --losses hard.onnx",
      "sweep kept.onnx --csv kept.onnx",
      "tune kept.onnx --max-error 1 -o kept.onnx",
      "regress kept.onnx --baseline hard.onnx --update-baseline",
      "regress kept.yaml --html kept.onnx",
      "regress kept.yaml --junit link.onnx",
      "regress kept.yaml --trends --html ./values.npy",
      "run gemm.onnx --arch tiny --golden C=outputs/C.npy --output-dir outputs",
      "run gemm.onnx --arch tiny --golden C=values.npy --output-dir outputs",
      "train square.onnx --arch tiny --data values.npy --labels values.npy --loss mse --batch 4 --steps 1 "
      "--save-grads grads",
      "compile outside.onnx -o weights.bin",
      "inspect outside.onnx --dot ./weights.bin",
  };
  small_models();
  model_with_outside_weights();
  EXPECT_EQ(shell("cp gemm.onnx kept.onnx && ln -s kept.onnx link.onnx && ln -s kept.onnx kept.json && "
                  "ln kept.onnx hard.onnx && ln kept.onnx hard.npz && ln kept.onnx hard.json && "
                  "ln kept.onnx hard.yaml"),
            0);
  EXPECT_EQ(tegula("zoo gemm --m 4 --n 8 --k 8 --constant-b -o square.onnx")->status, 0);
  EXPECT_EQ(tegula("run gemm.onnx --arch tiny -q --output-dir outputs")->status, 0);
  EXPECT_EQ(shell("ln outputs/C.npy values.npy && cp values.npy values.old && mkdir grads && ln values.npy "
                  "grads/B.npy && "
                  "printf 'suite: kept\\nmodels:\\n  - {file: kept.onnx, inputs: {A: "
                  "values.npy}}\\nflags:\\n  - mp0: {flags: "
                  "\"\"}\\n' > kept.yaml"),
            0);
  int before = files_here();
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    const outcome *o = tegula("%s", lines[i]);
    bool said = strstr(o->err, "is read, and would be overwritten") || strstr(o->err, ", too");
    if (o->status != 2 || !said || strchr(o->err, '\n') != o->err + strlen(o->err) - 1)
      tg_test_fail(__FILE__, __LINE__, "%s: %d, %s", lines[i], o->status, o->err);
  }
  EXPECT_EQ(shell("cmp gemm.onnx kept.onnx && cmp values.npy values.old"), 0);
  EXPECT_EQ(files_here(), before);
  EXPECT_EQ(tegula("run outside.onnx --arch tiny -q")->status, 0);
  EXPECT_EQ(tegula("inspect gemm.onnx --dot /dev/null --export /dev/null")->status, 0);
  EXPECT_EQ(tegula("compile gemm.onnx --arch tiny -o again.tgb")->status, 0);
  EXPECT_EQ(tegula("compile gemm.onnx --arch tiny -o again.tgb")->status,
            0); /* what is not read is replaced */
}
