/* What suites of `tegula regress` may say, and which cases they make. */
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/regress_support.h"

#include <stdio.h>
#include <unistd.h>

TG_TEST(regress, wrong_suites_are_refused_with_their_line) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"", "is empty"},
      {"models: [", "bad.yaml:2:"},
      {"colour: red", "bad.yaml:1: unknown key \"colour\""},
      {"models: [a.onnx]\n\nmodels: [b.onnx]", "bad.yaml:3: key \"models\" is given twice"},
      {"suite: x", "wants models"},
      {"models: []", "wants models"},
      {"models:\n  - none.onnx", "bad.yaml:2: none.onnx: there is no such file"},
      {"models:\n  - none/*.onnx", "bad.yaml:2: none/*.onnx: no file matches"},
      {"models: [unicorn]", "unicorn"},
      {"models:\n - {zoo: gemm, file: a.onnx}", "either file or zoo"},
      {"models:\n - {zoo: gemm, sizes: {q: 3}}", "--q"},
      {"models:\n - {zoo: gemm, sizes: {m: 0}}", "--m"},
      {"models:\n - {zoo: gemm, sizes: {m: []}}", "empty list"},
      {"models:\n - {file: a.onnx, sizes: {m: 3}}", "for models of the zoo"},
      {"models: [a.onnx, a.onnx]", "two models are named \"a\""},
      {"models: [{file: a.onnx, name: x/y}]", "name \"x/y\""},
      {"models: [a.onnx]\nflags:\n  fast: --warp 9", "bad.yaml:3: unknown option --warp"},
      {"models: [a.onnx]\nflags:\n  fast: --json", "--json is not for suites"},
      {"models: [a.onnx]\nflags:\n  fast: b.onnx", "\"b.onnx\" is no option"},
      {"models: [a.onnx]\nflags:\n  fast: \"--arch 'tiny\"", "is not closed"},
      {"models: [a.onnx]\nflags: {}", "makes no case"},
      {"models: [{file: a.onnx, flags: [mp7]}]", "there is no flag set \"mp7\""},
      {"models: [a.onnx]\nengines: [abacus]", "abacus"},
      {"models: [a.onnx]\nengines: [rtl, rtl]", "twice"},
      {"models: [a.onnx]\nbounds:\n  max_abs: -1", "bad.yaml:3: max_abs: \"-1\""},
      {"models: [a.onnx]\nbounds: {max_abs: nan}", "max_abs"},
      {"models: [a.onnx]\nbounds: {max_abs: 0x10}", "max_abs"},
      {"models: [a.onnx]\nbounds: {cosine: 2}", "cosine"},
      {"models: [a.onnx]\nbounds: {cycles_tolerance: 2 percent}", "cycles_tolerance"},
      {"models: [a.onnx]\nbounds: {max_device_bytes: 3 miles}", "max_device_bytes"},
      {"models: [a.onnx]\nbounds: {max_joules_per_sample: little}", "max_joules_per_sample"},
      {"models: [a.onnx]\nbounds: {engines_equal: [systemc]}", "at least two"},
      {"models: [a.onnx]\nbounds: {time_limit: 3s}", "unknown key \"time_limit\""},
      {"models: [a.onnx]\ntime_limit: 0", "time_limit"},
      {"models: [a.onnx]\nexclude: ['b/*']", "bad.yaml:2: exclude: \"b/*\" matches no case"},
      {"models: [a.onnx]\nexclude: ['*']", "no case is left"},
      {"models: [a.onnx]\noverrides: [{bounds: {}}]", "wants `cases`"},
      {"models: [a.onnx]\nseed: -3", "seed"},
      {"models: [a.onnx]\nretries: -1", "bad.yaml:2: retries: \"-1\""},
      {"models: [a.onnx]\nretries: 1.5", "retries"},
      {"models: [a.onnx]\nexpected_failure: true", "a line that says why"},
      {"models: [{file: a.onnx, tags: [a b]}]", "tags: \"a b\""},
      {"models: {a: b}", "wants a list"},
      {"- a", "wants `key: value` pairs"},
      {"models: [&x [*x]]", "bad.yaml:1:"},
      {"models: [{zoo: gemm, sizes: {m: [1,2,3,4,5,6,7,8,9,10], n: [1,2,3,4,5,6,7,8,9,10], k: "
       "[1,2,3,4,5,6,7,8,9,10], "
       "seed: [1,2,3,4,5,6,7,8,9,10,11]}}]",
       "more than 10000 models"},
  };
  models_and_wrapper();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file("bad.yaml", cases[i].text);
    const outcome *o = tegula("regress bad.yaml --results bad");
    const char *newline = strchr(o->err, '\n');
    if (o->status != 2 || !strstr(o->err, cases[i].says) || !newline || newline[1])
      tg_test_fail(__FILE__, __LINE__, "%s\nstatus %d, stderr \"%s\"", cases[i].text, o->status, o->err);
  }
  EXPECT(access(in_dir("bad"), F_OK) != 0);
}

TG_TEST(regress, wrong_options_are_refused) {
  static const struct {
    const char *line, *says;
  } cases[] = {
      {"", "needs SUITE.yaml"},
      {"none.yaml", "none.yaml"},
      {"ok.yaml --shard 0/2", "--shard"},
      {"ok.yaml --shard 3/2", "--shard"},
      {"ok.yaml --shard 1/2/3", "--shard"},
      {"ok.yaml --filter 'z*'", "--filter"},
      {"ok.yaml --explain nothing", "nothing"},
      {"ok.yaml --explain a/default/systemc", "no baseline"},
      {"ok.yaml --explain a/default/systemc --against a.onnx", "no trace"},
      {"ok.yaml --against a.onnx", "--explain"},
      {"ok.yaml --baseline none.json", "none.json"},
      {"ok.yaml --baseline a.onnx", "a.onnx"},
      {"ok.yaml --junit no/such/x.xml", "no/such/x.xml"},
      {"ok.yaml --results /dev/null", "/dev/null"},
      {"ok.yaml --command a.onnx", "--command"},
      {"ok.yaml -j 0", "--jobs"},
  };
  models_and_wrapper();
  write_file("ok.yaml", "models: [a.onnx]\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[300];
    snprintf(line, sizeof line, "regress %s", cases[i].line);
    const outcome *o = tegula("%s", line);
    if (o->status != 2 || !strstr(o->err, cases[i].says))
      tg_test_fail(__FILE__, __LINE__, "tegula %s: status %d, stderr \"%s\"", line, o->status, o->err);
  }
}

TG_TEST(regress, a_matrix_makes_the_cases_it_says) {
  models_and_wrapper();
  write_file("m.yaml",
             "models:\n"
             "  - '[ab].onnx'\n"
             "  - {zoo: gemm, name: g, sizes: {m: 3, n: [4, 5]}, flags: [two], engines: [functional]}\n"
             "flags:\n"
             "  - {one: '', two: --graphamp-preset mp1}\n"
             "  - tiny: [--arch, tiny]\n"
             "engines: [systemc, functional]\n"
             "exclude: ['b/two*']\n");
  const outcome *o = tegula("regress m.yaml --list");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(
      o->out,
      "a/one+tiny/systemc\na/one+tiny/functional\na/two+tiny/systemc\na/two+tiny/functional\n"
      "b/one+tiny/systemc\nb/one+tiny/functional\ng-n4/two+tiny/functional\ng-n5/two+tiny/functional\n");
  o = tegula("regress m.yaml --list --shard 2/3 --filter '*/systemc'");
  EXPECT_STR(o->out, "a/two+tiny/systemc\n");
  o = tegula("regress m.yaml --list -v --filter 'g-n5*'");
  EXPECT_HAS(
      o->out,
      "tegula run {model} --engine functional --graphamp-preset mp1 --arch tiny --random-inputs 1 --seed 1");
}

TG_TEST(regress, tags_choose_cases) {
  models_and_wrapper();
  write_file("tags.yaml", "tags: all\n"
                          "models: [{file: a.onnx, tags: [quick, small]}, b.onnx]\n"
                          "flags: {tiny: --arch tiny, edge: {flags: --arch edge, tags: wide}}\n"
                          "engines: [functional]\n"
                          "overrides: [{cases: b/edge/*, tags: slow}]\n");
  static const struct {
    const char *options, *ids;
  } cases[] = {
      {"--tag all", "a/tiny/functional\na/edge/functional\nb/tiny/functional\nb/edge/functional\n"},
      {"--tag quick", "a/tiny/functional\na/edge/functional\n"},
      {"--tag '!wide'", "a/tiny/functional\nb/tiny/functional\n"},
      {"--tag quick --tag slow", "a/tiny/functional\na/edge/functional\nb/edge/functional\n"},
      {"--tag wide --tag '!slow'", "a/edge/functional\n"},
      {"--tag wide --filter 'b/*'", "b/edge/functional\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula("regress tags.yaml --list %s", cases[i].options);
    if (o->status || strcmp(o->out, cases[i].ids) != 0)
      tg_test_fail(__FILE__, __LINE__, "%s\n%s%s", cases[i].options, o->out, o->err);
  }
  EXPECT_EQ(tegula("regress tags.yaml --tag none")->status, 2);
}

/* Cycles are those of a baseline that is made up: 1000, 500, 400, and two cases that it does not have (633 each). */
TG_TEST(regress, shards_by_cost_are_about_equal_and_have_each_case_once) {
  models_and_wrapper();
  EXPECT_EQ(shell("for i in 1 2 3 4 5; do cp a.onnx s$i.onnx; done"), 0);
  write_file("cost.yaml", "models: [s1.onnx, s2.onnx, s3.onnx, s4.onnx, s5.onnx]\nengines: [functional]\n");
  write_file("cost.json",
             "{\"tegula_baseline\": 1, \"cases\": {\"s2/default/functional\": {\"cycles\": 400},"
             "\"s3/default/functional\": {\"cycles\": 1000}, \"s5/default/functional\": {\"cycles\": 500}}}");
  const char *list = "regress cost.yaml --baseline cost.json --list --shard-by cost --shard";
  EXPECT_STR(tegula("%s 1/2", list)->out, "s3/default/functional\ns5/default/functional\n");
  EXPECT_STR(tegula("%s 2/2", list)->out,
             "s1/default/functional\ns2/default/functional\ns4/default/functional\n");
  EXPECT_STR(tegula("%s 6/6", list)->out, "");
}
