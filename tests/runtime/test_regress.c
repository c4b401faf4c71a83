/* `tegula regress` as a user runs it: suites, planted regressions, kills and what is left after them. */
#include "runtime/options.h"
#include "runtime/regress/bounds.h"
#include "tests/command.h"
#include "tests/harness.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- files and processes */

static const char *in_dir(const char *name) {
  static char path[8][600];
  static int next;
  char *one = path[next++ % 8];
  snprintf(one, sizeof path[0], "%s/%s", tg_test_dir(), name);
  return one;
}

static char *slurp(const char *path) {
  static char text[4][1 << 18];
  static int next;
  char *one = text[next++ % 4];
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(one, 1, sizeof text[0] - 1, file) : 0;
  one[got] = 0;
  if (file) fclose(file);
  return one;
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(in_dir(name), "wb");
  if (!file || fputs(text, file) < 0 || fclose(file))
    tg_test_fail(__FILE__, __LINE__, "%s: not written", name);
}

/* A tegula that crashes on models named crash, never ends on those named hang (the process that it waits for is
 * named in `sleepers`), takes its time while there is a file `slow`, and leaves a line in `runs` for each `run`. */
static void models_and_wrapper(void) {
  if (!access(in_dir("a.onnx"), R_OK)) return;
  EXPECT_EQ(tegula("zoo gemm --m 20 --n 16 --k 33 -o a.onnx")->status, 0);
  EXPECT_EQ(tegula("zoo mlp --batch 2 -o b.onnx")->status, 0);
  EXPECT_EQ(
      shell("cp a.onnx crash.onnx && cp a.onnx hang.onnx && cp a.onnx c.onnx && printf junk > bad.onnx"), 0);
  EXPECT_EQ(tegula("compile a.onnx --arch tiny -o a.tgb -q")->status, 0);
  write_file("arch.yaml", "base: tiny\n");
  write_file("wrapper", "#!/bin/sh\n"
                        "case \"$1\" in run) echo \"$2\" >> \"${0%/*}/runs\" ;; esac\n"
                        "if test -e \"${0%/*}/slow\"; then sleep 0.2; fi\n"
                        "case \"$*\" in\n"
                        "*crash.onnx*) kill -SEGV $$ ;;\n"
                        "*hang.onnx*) sleep 1000 & echo $! >> \"${0%/*}/sleepers\"; wait ;;\n"
                        "esac\n"
                        "exec '" TEGULA_COMMAND "' \"$@\"\n");
  EXPECT_EQ(chmod(in_dir("wrapper"), 0755), 0);
}

static json_t *case_of(const json_t *results, const char *id) {
  json_t *one;
  size_t i;
  json_array_foreach(json_object_get(results, "cases"), i, one) {
    if (!strcmp(json_string_value(json_object_get(one, "case")), id)) return one;
  }
  return NULL;
}

/* The failure of a kind, or NULL. */
static const char *failure_of(const json_t *results, const char *id, const char *kind) {
  json_t *one;
  size_t i;
  json_array_foreach(json_object_get(case_of(results, id), "findings"), i, one) {
    if (!strcmp(json_string_value(json_object_get(one, "kind")), kind) &&
        json_is_true(json_object_get(one, "failure")))
      return json_string_value(json_object_get(one, "text"));
  }
  return NULL;
}

/* --- suites */

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

/* --- planted regressions */

static const char planted[] = "seed: 7\n"
                              "time_limit: 60s\n"
                              "models:\n"
                              "  - a.onnx\n"
                              "  - {file: b.onnx, flags: [mp1], bounds: {max_abs: 1e-9}}\n"
                              "  - {file: c.onnx, bounds: {max_device_bytes: 1000}}\n"
                              "  - {file: a.tgb, name: program, flags: [none]}\n"
                              "  - crash.onnx\n"
                              "  - {file: hang.onnx, time_limit: 0.5s}\n"
                              "  - bad.onnx\n"
                              "flags:\n"
                              "  none: ''\n"
                              "  mp0: --arch arch.yaml\n"
                              "  mp1: --arch tiny --graphamp-preset mp1\n"
                              "  short: --arch tiny --max-cycles 60\n"
                              "exclude: ['[!p]*/none/*', '[!a]*/short/*', '[!a]*/mp0/*']\n"
                              "overrides:\n"
                              "  - {cases: ['c*', 'hang*', 'bad*'], bounds: {cosine: 0.9}}\n";

/* Of five cases the second and the fourth fail. */
TG_TEST(regress, failures_stop_a_run_and_are_run_again) {
  models_and_wrapper();
  write_file(
      "f.yaml",
      "models:\n  - {file: a.onnx, name: one}\n  - {file: a.onnx, name: two, bounds: {max_device_bytes: "
      "10}}\n"
      "  - {file: a.onnx, name: three}\n  - {file: a.onnx, name: four, bounds: {max_device_bytes: 10}}\n"
      "  - {file: a.onnx, name: five}\nflags:\n  tiny: --arch tiny\n");
  const outcome *o = tegula("regress f.yaml --last-failed --results fr");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "no results of a run");
  o = tegula("regress f.yaml -j 1 --fail-fast --results fr --json");
  EXPECT_EQ(o->status, 1);
  json_t *r = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_array_size(json_object_get(r, "cases")), 2);
  json_decref(r);
  EXPECT_EQ(tegula("regress f.yaml --results fr --filter '!*four*' -q")->status, 1);
  EXPECT_STR(tegula("regress f.yaml --list --filter '!*o*' --filter '!five*'")->out, "three/tiny/systemc\n");
  EXPECT_EQ(tegula("regress f.yaml --results fr -q")->status, 1);
  o = tegula("regress f.yaml --last-failed --results fr --json");
  EXPECT_EQ(o->status, 1);
  r = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_array_size(json_object_get(r, "cases")), 2);
  EXPECT(case_of(r, "two/tiny/systemc") && case_of(r, "four/tiny/systemc"));
  json_decref(r);
  EXPECT_EQ(tegula("regress f.yaml --filter 'o*' --results fr -q")->status, 0);
  EXPECT_HAS(tegula("regress f.yaml --last-failed --results fr")->out, "no case failed");
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

TG_TEST(regress, expected_failures_fail_only_when_they_pass) {
  models_and_wrapper();
  write_file("x.yaml",
             "models:\n"
             "  - {file: a.onnx, bounds: {max_device_bytes: 1}, expected_failure: too large as yet}\n"
             "  - {file: b.onnx, expected_failure: \"they say\"}\n"
             "  - {file: crash.onnx, expected_failure: known to crash}\n"
             "engines: [functional]\n");
  json_t *results =
      json_loads(tegula("regress x.yaml --command ./wrapper --results xr --json")->out, 0, NULL);
  const json_t *summary = json_object_get(results, "summary");
  EXPECT_EQ(json_integer_value(json_object_get(summary, "failed")), 1);
  EXPECT_EQ(json_integer_value(json_object_get(summary, "expected")), 2);
  EXPECT_STR(json_string_value(json_object_get(case_of(results, "crash/default/functional"), "verdict")),
             "expected");
  EXPECT_STR(json_string_value(json_object_get(case_of(results, "a/default/functional"), "verdict")),
             "expected");
  EXPECT_HAS(failure_of(results, "b/default/functional", "expected"), "they say");
  json_decref(results);
  EXPECT_HAS(slurp(in_dir("xr/junit.xml")), "failures=\"1\" errors=\"0\" skipped=\"2\"");
  EXPECT_HAS(slurp(in_dir("xr/junit.xml")), "<skipped message=\"expected failure: known to crash\"/>");
  EXPECT_HAS(slurp(in_dir("xr/summary.md")), "### Failed as expected");
  write_file("x.yaml", "models: [{file: a.onnx, bounds: {max_device_bytes: 1}, expected_failure: as yet}]\n"
                       "overrides: [{cases: \"*\", expected_failure: false}]\n");
  EXPECT_EQ(tegula("regress x.yaml --results xr")->status, 1);
}

/* A tegula that hangs the first time. */
TG_TEST(regress, a_case_that_hangs_is_tried_again_as_often_as_said) {
  models_and_wrapper();
  write_file("sleepy", "#!/bin/sh\n"
                       "echo try >> \"${0%/*}/tries\"\n"
                       "if mkdir \"${0%/*}/slept\" 2> /dev/null; then exec sleep 1000; fi\n"
                       "exec '" TEGULA_COMMAND "' \"$@\"\n");
  EXPECT_EQ(chmod(in_dir("sleepy"), 0755), 0);
  write_file("again.yaml", "models: [a.onnx]\nengines: [functional]\ntime_limit: 3\nretries: 1\n");
  const outcome *o = tegula("regress again.yaml --command ./sleepy --results ar");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "it hung 1 time before");
  EXPECT_STR(slurp(in_dir("tries")), "try\ntry\n");
  o = tegula("regress again.yaml --command ./sleepy --results ar --resume");
  EXPECT_HAS(o->out, "it hung 1 time before");
  EXPECT_EQ(shell("rmdir slept; sed -i 's/retries: 1/retries: 0/' again.yaml"), 0);
  o = tegula("regress again.yaml --command ./sleepy --results ar");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "hang: not finished within its time limit");
}

TG_TEST(regress, a_baseline_in_a_folder_has_a_file_a_case) {
  models_and_wrapper();
  write_file("folder.yaml", "models: [a.onnx, b.onnx]\nflags: {tiny: --arch tiny}\nbaseline: base/\n");
  EXPECT_EQ(tegula("regress folder.yaml --results fb --update-baseline --require-baseline -q")->status, 0);
  EXPECT_EQ(shell("test $(ls base | wc -l) = 2 && grep -q '\"a/tiny/systemc\"' base/a_tiny_systemc-*.json"),
            0);
  EXPECT_EQ(tegula("regress folder.yaml --results fb --require-baseline -q")->status, 0);
  EXPECT_EQ(shell("sed -i 's/\"cycles\": [0-9]*/\"cycles\": 7/' base/b_*.json && cp -r base copy"), 0);
  const outcome *o = tegula("regress folder.yaml --results fb");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "FAIL  b/tiny/systemc");
  EXPECT_HAS(o->out, "ok    a/tiny/systemc");
  EXPECT_EQ(shell("cp base/a_*.json base/again.json"), 0);
  o = tegula("regress folder.yaml --results fb");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "another file of the baseline has \"a/tiny/systemc\"");
  EXPECT_EQ(shell("rm base/again.json"), 0);
  write_file("folder.yaml", "models: [b.onnx]\nflags: {tiny: --arch tiny}\nbaseline: base/\n");
  EXPECT_EQ(tegula("regress folder.yaml --results fb --update-baseline -q")->status, 0);
  EXPECT_EQ(shell("test $(ls base | wc -l) = 1"), 0);
}

TG_TEST(regress, planted_regressions_are_found_and_named) {
  models_and_wrapper();
  write_file("p.yaml", planted);
  EXPECT_EQ(tegula("regress p.yaml --command ./wrapper --update-baseline -q")->status, 1);
  write_file("arch.yaml", "base: tiny\ndram_latency: 200\n");
  const outcome *o = tegula("regress p.yaml --command ./wrapper --json --junit j.xml --markdown s.md");
  write_file("arch.yaml", "base: tiny\n");
  EXPECT_EQ(o->status, 1);
  json_t *r = json_loads(o->out, 0, NULL);
  ASSERT(r);
  EXPECT_HAS(failure_of(r, "a/mp0/systemc", "cycles"), "section MatMul \"C\" +");
  EXPECT_HAS(failure_of(r, "b/mp1/systemc", "accuracy"), "max_abs of output probabilities against FP32");
  EXPECT_HAS(failure_of(r, "c/mp1/systemc", "memory"), "over the ceiling of 1000");
  EXPECT_HAS(failure_of(r, "a/short/systemc", "fault"), "cycle limit");
  EXPECT_HAS(failure_of(r, "crash/mp1/systemc", "crash"), "SIGSEGV");
  EXPECT_HAS(failure_of(r, "hang/mp1/systemc", "hang"), "0.5s");
  EXPECT_HAS(failure_of(r, "bad/mp1/systemc", "refused"), "bad.onnx");
  EXPECT_STR(json_string_value(json_object_get(case_of(r, "a/mp1/systemc"), "verdict")), "passed");
  EXPECT_STR(json_string_value(json_object_get(case_of(r, "program/none/systemc"), "verdict")), "passed");
  EXPECT_HAS(json_string_value(json_object_get(case_of(r, "a/short/systemc"), "log")), "waits for semaphore");
  EXPECT_EQ(json_integer_value(json_object_get(json_object_get(r, "summary"), "failed")), 7);
  json_decref(r);
  EXPECT_HAS(slurp(in_dir("j.xml")), "tests=\"9\" failures=\"3\" errors=\"4\"");
  EXPECT_HAS(slurp(in_dir("j.xml")), "<error type=\"crash\" message=\"ended by signal 11 (SIGSEGV)\">");
  EXPECT_HAS(slurp(in_dir("s.md")), "- **a/mp0/systemc** +");
  /* The group is gone, too: the kernel ends its members soon after the kill, and somebody reaps them or not. */
  EXPECT_EQ(shell("test -s sleepers && for pid in $(cat sleepers); do\n"
                  "  for tenths in $(seq 100); do\n"
                  "    case \"$(ps -o stat= -p $pid)\" in ''|Z*) continue 2 ;; esac\n"
                  "    sleep 0.1\n"
                  "  done\n"
                  "  exit 1\n"
                  "done"),
            0);
}

static int lines_with(const char *text, const char *mark) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, mark)); at++) count++;
  return count;
}

/* Whatever is kept and whatever is run, a case's line says the same. */
TG_TEST(regress, kept_results_are_told_like_new_ones) {
  models_and_wrapper();
  write_file("told.yaml", planted);
  const outcome *o = tegula("regress told.yaml --command ./wrapper");
  int failed = lines_with(o->out, "FAIL ");
  EXPECT(failed > 1);
  o = tegula("regress told.yaml --command ./wrapper --resume");
  EXPECT_HAS(o->out, "kept from before");
  EXPECT_EQ(lines_with(o->out, "FAIL "), failed);
  EXPECT_EQ(o->status, 1);
}

TG_TEST(regress, bounds_hold_on_both_sides) {
  models_and_wrapper();
  EXPECT_EQ(
      tegula("run a.onnx --arch tiny --random-inputs 1 --output-dir gold -q --no-cpu-reference")->status, 0);
  static const struct {
    const char *bounds;
    int status;
  } cases[] = {
      {"{max_abs: 1, max_rel: 1e6, rms: 1, cosine: 0.9}", 0},
      {"{rms: 0}", 0}, /* FP32 on the array is the reference's own order here */
      {"{min_utilization: 0.05}", 0},
      {"{min_utilization: 0.95}", 1},
      {"{max_device_bytes: 1M}", 0},
      {"{max_device_bytes: 1kB}", 1},
      {"{max_joules_per_sample: 1e-3}", 0},
      {"{max_joules_per_sample: 1e-12}", 1},
      {"{engines_equal: true}", 0},
      {"{engines_equal: [functional, systemc]}", 0},
      {"{golden: {C: gold/C.npy}, max_abs: 0}", 0},
      {"{golden: {C: gold/C.npy}}", 1},         /* no bound on the error */
      {"{golden: {D: gold/C.npy}, rms: 1}", 1}, /* no such output */
      {"{golden: {C: none.npy}, rms: 1}", 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[500];
    snprintf(text, sizeof text, "models: [a.onnx]\nflags: {tiny: --arch tiny}\nbounds: %s\n",
             cases[i].bounds);
    write_file("bounds.yaml", text);
    const outcome *o = tegula("regress bounds.yaml");
    if (o->status != cases[i].status)
      tg_test_fail(__FILE__, __LINE__, "%s: status %d: %s%s", cases[i].bounds, o->status, o->out, o->err);
  }
}

/* Cycles 20 % up and down; equal, within and beyond tolerances. */
TG_TEST(regress, cycles_are_held_to_the_baseline) {
  models_and_wrapper();
  static const struct {
    const char *tolerance;
    int status;
  } cases[] = {{"0", 1}, {"1%", 1}, {"90%", 0}, {"5", 1}, {"100000", 0}, {"any", 0}};
  write_file("cyc.yaml", "models: [a.onnx]\nflags: {t: --arch arch.yaml}\n");
  for (int faster = 0; faster < 2; faster++) {
    write_file("arch.yaml", faster ? "base: tiny\ndram_latency: 100\n" : "base: tiny\n");
    EXPECT_EQ(tegula("regress cyc.yaml --update-baseline -q")->status, 0);
    EXPECT_EQ(tegula("regress cyc.yaml --require-baseline -q")->status, 0);
    write_file("arch.yaml", faster ? "base: tiny\n" : "base: tiny\ndram_latency: 100\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      char text[300];
      snprintf(text, sizeof text,
               "models: [a.onnx]\nflags: {t: --arch arch.yaml}\nbounds: {cycles_tolerance: %s}\nbaseline: "
               "cyc.baseline.json\n",
               cases[i].tolerance);
      write_file("tol.yaml", text);
      const outcome *o = tegula("regress tol.yaml --resume");
      if (o->status != cases[i].status)
        tg_test_fail(__FILE__, __LINE__, "%s: status %d: %s", cases[i].tolerance, o->status, o->out);
      EXPECT_HAS(o->out, faster ? " cycles; -" : " cycles; +");
    }
  }
  write_file("arch.yaml", "base: tiny\n");
  write_file("fresh.yaml", "models: [a.onnx]\n");
  EXPECT_EQ(tegula("regress fresh.yaml -q")->status, 0);
  EXPECT_EQ(tegula("regress fresh.yaml -q --require-baseline")->status, 1);
}

/* --- many at once, kills */

static const char many[] = "models:\n"
                           "  - {zoo: gemm, sizes: {m: [5, 6, 7], n: [8, 9], k: 10}}\n"
                           "flags: {mp0: --arch tiny, mp1: --arch tiny --graphamp-preset mp1}\n"
                           "bounds: {cosine: 0.99}\n";
enum { MANY = 12 };

static bool same_file(const char *a, const char *b) {
  return *slurp(in_dir(a)) && !strcmp(slurp(in_dir(a)), slurp(in_dir(b)));
}

static bool same_outputs(const char *a, const char *b) {
  static const char *const names[] = {"results.json", "junit.xml", "summary.md"};
  bool same = true;
  for (int i = 0; i < 3; i++) {
    char x[200], y[200];
    snprintf(x, sizeof x, "%s/%s", a, names[i]);
    snprintf(y, sizeof y, "%s/%s", b, names[i]);
    same = same && same_file(x, y);
  }
  return same;
}

TG_TEST(regress, outputs_do_not_depend_on_jobs_or_shards) {
  models_and_wrapper();
  write_file("many.yaml", many);
  EXPECT_EQ(tegula("regress many.yaml -j 1 --results one -q")->status, 0);
  const outcome *o = tegula("regress many.yaml -j 3 --results three");
  EXPECT_EQ(o->status, 0);
  EXPECT(same_outputs("one", "three"));
  const char *first = strstr(o->out, "gemm-m5-n8-k10/mp0"), *last = strstr(o->out, "gemm-m7-n9-k10/mp1");
  EXPECT(first && last && first < last); /* lines come in the order of the suite */
  EXPECT_EQ(tegula("regress many.yaml --results shards --shard 1/2 -q")->status, 0);
  EXPECT_EQ(tegula("regress many.yaml --results shards --shard 2/2 -q")->status, 0);
  EXPECT_HAS(tegula("regress many.yaml --results shards --resume")->out, "12 kept from before");
  EXPECT(same_outputs("one", "shards"));
}

static int count_results(const char *folder) {
  DIR *open = opendir(in_dir(folder));
  int count = 0;
  for (const struct dirent *entry; open && (entry = readdir(open));)
    count += strstr(entry->d_name, ".result.json") != NULL;
  if (open) closedir(open);
  return count;
}

static void nap(long milliseconds) {
  nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* Starts a suite and kills it when `wanted` results are there, or it has ended. */
static int kill_after(const char *suite, const char *folder, int wanted, int number) {
  char cases[200];
  snprintf(cases, sizeof cases, "%s/cases", folder);
  pid_t pid = fork();
  if (!pid) {
    if (chdir(tg_test_dir()) || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
      _exit(99);
    execl(TEGULA_COMMAND, TEGULA_COMMAND, "regress", suite, "--results", folder, "--command", "./wrapper",
          "--resume", (char *)NULL);
    _exit(99);
  }
  int status = 0;
  for (int i = 0; i < 20000 && count_results(cases) < wanted && !waitpid(pid, &status, WNOHANG); i++) nap(1);
  if (kill(pid, number)) return -1;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TG_TEST(regress, a_killed_run_resumes_where_it_was) {
  models_and_wrapper();
  write_file("many.yaml", many);
  EXPECT_EQ(tegula("regress many.yaml --command ./wrapper --results whole -q")->status, 0);
  write_file("slow", ""); /* so that a kill comes in time */
  EXPECT_EQ(kill_after("many.yaml", "killed", 3, SIGKILL), SIGKILL);
  EXPECT_EQ(kill_after("many.yaml", "killed", 6, SIGTERM), SIGTERM);
  unlink(in_dir("slow"));
  int kept = count_results("killed/cases");
  write_file("killed/cases/torn.result.json.a1B2c3", "{\"half\":");
  EXPECT(kept >= 6 && kept < MANY);
  unlink(in_dir("runs"));
  EXPECT_EQ(tegula("regress many.yaml --command ./wrapper --results killed --resume -q")->status, 0);
  EXPECT(same_outputs("whole", "killed"));
  int ran = 0;
  for (const char *c = slurp(in_dir("runs")); *c; c++) ran += *c == '\n';
  EXPECT_EQ(ran, MANY - kept); /* what was finished was not run again */
  EXPECT_EQ(shell("ls killed/cases | grep -vE '(result.json|log)$'"), 1);
}

TG_TEST(regress, a_child_that_somebody_kills_is_run_again) {
  models_and_wrapper();
  write_file("victim", "#!/bin/sh\ntest -e ./spared || kill -KILL $$\nexec '" TEGULA_COMMAND "' \"$@\"\n");
  EXPECT_EQ(chmod(in_dir("victim"), 0755), 0);
  write_file("one.yaml", "models: [a.onnx]\nflags: {t: --arch tiny}\n");
  const outcome *o = tegula("regress one.yaml --command ./victim");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "killed: ended by signal 9");
  write_file("spared", "");
  EXPECT_EQ(tegula("regress one.yaml --command ./victim --resume")->status, 0);
}

TG_TEST(regress, what_changed_is_run_again) {
  models_and_wrapper();
  write_file("arch.yaml", "base: tiny\n");
  write_file("ch.yaml", "models: [a.onnx, c.onnx]\nflags: {t: --arch arch.yaml, u: --arch tiny}\n");
  EXPECT_EQ(tegula("regress ch.yaml -q")->status, 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "4 kept");
  write_file("arch.yaml", "base: tiny\ndram_latency: 61\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  EXPECT_EQ(shell("cp c.onnx old.onnx && cp b.onnx c.onnx"), 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  EXPECT_EQ(shell("mv old.onnx c.onnx"), 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume --seed 5")->out, "4 cases passed, 4 without a baseline\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume --seed 5 --command ./wrapper")->out,
             "4 cases passed, 4 without a baseline\n");
  /* Files that the array's file names are part of it. */
  write_file("prices.yaml", "base: 45nm\n");
  write_file("arch.yaml", "base: tiny\nenergy: prices.yaml\n");
  EXPECT_EQ(tegula("regress ch.yaml -q")->status, 0);
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "4 kept");
  write_file("prices.yaml", "base: 7nm\n");
  EXPECT_HAS(tegula("regress ch.yaml --resume")->out, "2 kept");
  write_file("arch.yaml", "base: tiny\n");
}

/* A model's weights may lie in a file beside it. */
TG_TEST(regress, external_data_is_part_of_a_model) {
  write_file("ext.onnx", "junk\x0a\x08location\x12\x05w.binrest");
  write_file("w.bin", "one");
  write_file("ext.yaml", "models: [ext.onnx]\n");
  EXPECT_EQ(tegula("regress ext.yaml")->status, 1);
  EXPECT_HAS(tegula("regress ext.yaml --resume")->out, "1 kept");
  write_file("w.bin", "two");
  EXPECT(!strstr(tegula("regress ext.yaml --resume")->out, "kept"));
}

TG_TEST(regress, limits_of_memory_end_a_case) {
#if defined(__SANITIZE_ADDRESS__)
  SKIP("address sanitizers reserve more than any limit");
#endif
  models_and_wrapper();
  write_file("mem.yaml", "memory_limit: 60M\nmodels: [{zoo: gemm, sizes: {m: 3000, n: 3000, k: 3000}}]\n");
  const outcome *o = tegula("regress mem.yaml");
  EXPECT_EQ(o->status, 1);
  EXPECT_HAS(o->out, "memory: over its memory limit of 60M");
}

/* --- baselines, explanations */

TG_TEST(regress, baselines_are_stable_and_keep_what_did_not_run) {
  models_and_wrapper();
  write_file("base.yaml", "models: [c.onnx, a.onnx]\nflags: {u: --arch tiny, t: --arch arch.yaml}\n");
  EXPECT_EQ(tegula("regress base.yaml --update-baseline -q")->status, 0);
  EXPECT_EQ(shell("cp base.baseline.json first.json"), 0);
  EXPECT_EQ(tegula("regress base.yaml --update-baseline -q --filter 'a/*'")->status, 0);
  EXPECT(same_file("base.baseline.json", "first.json"));
  write_file("base.yaml", "models: [a.onnx, c.onnx]\nflags: {t: --arch arch.yaml, u: --arch tiny}\n");
  EXPECT_EQ(tegula("regress base.yaml --update-baseline -q -j 4")->status, 0);
  EXPECT(same_file("base.baseline.json", "first.json"));
  write_file("base.yaml", "models: [a.onnx]\nflags: {t: --arch arch.yaml}\n");
  const outcome *o = tegula("regress base.yaml --json");
  json_t *r = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_array_size(json_object_get(r, "only_in_baseline")), 3);
  json_decref(r);
  EXPECT_EQ(tegula("regress base.yaml --update-baseline -q")->status, 0);
  EXPECT(strstr(slurp(in_dir("base.baseline.json")), "\"a/t/systemc\"") != NULL);
  EXPECT(strstr(slurp(in_dir("base.baseline.json")), "c/") == NULL);
}

TG_TEST(regress, outputs_that_moved_are_told) {
  models_and_wrapper();
  write_file("out.yaml", "models: [a.onnx]\nflags: {t: --arch tiny}\n");
  EXPECT_EQ(tegula("regress out.yaml --update-baseline -q")->status, 0);
  const outcome *o = tegula("regress out.yaml --seed 2");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "moved a/t/systemc");
  EXPECT_HAS(o->out, "bits of the outputs moved");
  write_file("out.yaml", "models: [a.onnx]\nflags: {t: --arch tiny}\nbounds: {outputs_equal: true}\n");
  EXPECT_EQ(tegula("regress out.yaml --seed 2")->status, 1);
  EXPECT_EQ(tegula("regress out.yaml")->status, 0);
}

TG_TEST(regress, explain_names_section_unit_and_cause) {
  models_and_wrapper();
  write_file("arch.yaml", "base: tiny\n");
  write_file(
      "ex.yaml",
      "models: [b.onnx]\nflags: {t: --arch arch.yaml, u: --arch edge}\nengines: [systemc, functional]\n");
  EXPECT_EQ(tegula("regress ex.yaml --update-baseline -q")->status, 0);
  EXPECT_HAS(tegula("regress ex.yaml --explain b/t/systemc")->out, "no cycle moved");
  write_file("arch.yaml", "base: tiny\nport_bytes: 4\n");
  const outcome *o = tegula("regress ex.yaml --explain b/t/systemc --json");
  write_file("arch.yaml", "base: tiny\n");
  EXPECT_EQ(o->status, 0);
  json_t *e = json_loads(o->out, 0, NULL), *most = json_array_get(json_object_get(e, "sections"), 0);
  EXPECT_HAS(json_string_value(json_object_get(e, "text")), "dram-bound");
  EXPECT_STR(json_string_value(json_object_get(most, "bound_now")), "dram");
  EXPECT(json_integer_value(json_object_get(most, "moved")) > 0);
  EXPECT(json_array_size(json_object_get(most, "causes")) > 0);
  EXPECT_EQ(access(json_string_value(json_object_get(e, "trace")), R_OK), 0);
  json_decref(e);
  EXPECT_EQ(shell("cp ex.results/cases/b_t_systemc-*.trace.json then.json"), 0);
  o = tegula("regress ex.yaml --explain b/t/systemc --against then.json");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "b/t/systemc: -");
  EXPECT_HAS(tegula("regress ex.yaml --explain b/t/systemc --against b/u/systemc")->out, "b/u/systemc");
  EXPECT_HAS(tegula("regress ex.yaml --explain b/t/functional")->err, "no time to explain");
}

/* --- pages */

TG_TEST(regress, the_page_names_every_bound) {
  const char *page = slurp("docs/regression-suites.md");
  for (int i = 0; i < TG_BOUND_COUNT; i++) {
    char name[100];
    snprintf(name, sizeof name, "`%s`", tg_bound_name((tg_bound_id)i));
    EXPECT_HAS(page, name);
  }
}

/* The examples for CI are YAML, and every line that calls us is one that we would take. */
TG_TEST(regress, examples_for_ci_hold) {
  static const char *const pages[] = {"docs/ci/github-actions.yml", "docs/ci/gitlab-ci.yml"};
  for (int p = 0; p < 2; p++) {
    tg_arena arena = {0};
    tg_diag diag = {""};
    tg_yaml yaml;
    if (tg_yaml_load(pages[p], &arena, &diag, &yaml)) {
      tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
      continue;
    }
    EXPECT(tg_yaml_root(&yaml) && tg_yaml_root(&yaml)->type == YAML_MAPPING_NODE);
    tg_yaml_release(&yaml);
    int calls = 0;
    for (const char *at = slurp(pages[p]); (at = strstr(at, "tegula regress ")); calls++) {
      at += strlen("tegula ");
      const char *words[40];
      int count = 0;
      /* "${{ matrix.shard }}/3" is one word when it gets to us */
      char *line = tg_arena_strndup(&arena, at, strcspn(at, "\n")), *rest = NULL;
      for (char *word = strtok_r(line, " ", &rest); word && count < 40; word = strtok_r(NULL, " ", &rest))
        if (strcmp(word, "${{") && strcmp(word, "matrix.shard"))
          words[count++] = strcmp(word, "}}/3") ? word : "1/3";
      tg_options options;
      if (tg_options_parse(&arena, count, words, &options, &diag))
        tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    }
    EXPECT_EQ(calls, 2);
    tg_arena_release(&arena);
  }
}

TG_TEST(regress, the_action_for_github_is_one) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_yaml yaml;
  ASSERT(!tg_yaml_load("docs/ci/action/action.yml", &arena, &diag, &yaml));
  EXPECT(tg_yaml_root(&yaml) && tg_yaml_root(&yaml)->type == YAML_MAPPING_NODE);
  tg_yaml_release(&yaml);
  tg_arena_release(&arena);
  const char *text = slurp("docs/ci/action/action.yml");
  static const char *const options[] = {"--shard", "--results", "--resume"}; /* of the line that calls us */
  const char *call = strstr(text, "run: tegula regress ");
  ASSERT(call);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) EXPECT_HAS(call, options[i]);
  static const char *const inputs[] = {"suite", "package", "shard", "options", "results"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    char declared[60], used[60];
    snprintf(declared, sizeof declared, "\n  %s:\n", inputs[i]);
    snprintf(used, sizeof used, "inputs.%s ", inputs[i]);
    EXPECT_HAS(text, declared);
    EXPECT_HAS(text, used);
  }
}
