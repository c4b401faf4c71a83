/* `tegula regress` as a user runs it: planted regressions, baselines and explanations, pages. */
#include "runtime/options.h"
#include "runtime/regress/bounds.h"
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/regress_support.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
  EXPECT_HAS(o->err, "1 of 2 cases failed, 1 without a baseline, 3 not run");
  EXPECT_EQ(tegula("regress f.yaml --results fr --filter '!*four*' -q")->status, 1);
  EXPECT_STR(tegula("regress f.yaml --list --filter '!*o*' --filter '!five*'")->out, "three/tiny/systemc\n");
  EXPECT_EQ(tegula("regress f.yaml --results fr -q")->status, 1);
  o = tegula("regress f.yaml --last-failed --results fr --json");
  EXPECT_EQ(o->status, 1);
  r = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_array_size(json_object_get(r, "cases")), 2);
  EXPECT(case_of(r, "two/tiny/systemc") && case_of(r, "four/tiny/systemc"));
  json_decref(r);
  EXPECT_STR(tegula("regress f.yaml --list --last-failed --results fr")->out,
             "two/tiny/systemc\nfour/tiny/systemc\n");
  EXPECT_EQ(tegula("regress f.yaml --list --last-failed --results none")->status, 2);
  EXPECT_EQ(tegula("regress f.yaml --filter 'o*' --results fr -q")->status, 0);
  EXPECT_HAS(tegula("regress f.yaml --last-failed --results fr")->out, "no case failed");
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
  EXPECT_HAS(slurp(in_dir("xr/summary.md")), "1 of 3 cases failed, 2 more failed as expected");
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
  EXPECT_HAS(tegula("regress x.yaml --command ./wrapper --results xr --filter 'a/*'")->out,
             "\n0 cases passed, 1 failed as expected\n");
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

static void expect_of_bounds(const char *flags, const char *bounds, int status) {
  char text[500];
  snprintf(text, sizeof text, "models: [a.onnx]\nflags: {tiny: --arch tiny%s}\nbounds: %s\n", flags, bounds);
  write_file("bounds.yaml", text);
  const outcome *o = tegula("regress bounds.yaml");
  if (o->status != status)
    tg_test_fail(__FILE__, __LINE__, "%s: status %d: %s%s", bounds, o->status, o->out, o->err);
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
      {"{rms: 1e-6}", 0}, /* the reference's sums are in the order of its host's library */
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
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_of_bounds("", cases[i].bounds, cases[i].status);
  expect_of_bounds(" --graphamp-preset mp4", "{rms: 1e-6}", 1);
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
  const char *call = strstr(text, " tegula regress ");
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
