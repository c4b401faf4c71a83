/* The history of a suite as a user sees it: what each run adds, what moved when, and what is left of lines that a killed run
 * left. */
#include "tests/command.h"
#include "tests/harness.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#define LINE(label, cases)                                                                                   \
  "{\"tegula_history\":1,\"suite\":\"s\",\"time\":\"2026-01-0" label "T00:00:00Z\",\"tegula\":\"0\","        \
  "\"label\":\"" label "\",\"cases\":{" cases "}}\n"
#define CASE(id, verdict, cycles)                                                                            \
  "\"" id "\":{\"verdict\":\"" verdict "\",\"cycles\":" cycles ",\"device_bytes\":64,\"bits\":\"00\"}"

static json_t *trends(const char *arguments) {
  const outcome *o = tegula("regress s.yaml --trends --json %s", arguments);
  EXPECT_EQ(o->status, 0);
  return json_loads(o->out, 0, NULL);
}

/* "run kind text", or "" */
static const char *event(const json_t *t, size_t at) {
  static char text[300];
  const json_t *one = json_array_get(json_object_get(t, "events"), at);
  *text = 0;
  if (one)
    snprintf(text, sizeof text, "%d %s %s%s", (int)json_integer_value(json_object_get(one, "run")),
             json_string_value(json_object_get(one, "case")), json_string_value(json_object_get(one, "text")),
             json_is_true(json_object_get(one, "worse")) ? ", worse" : "");
  return text;
}

static void suite_and_model(void) {
  if (access(in_dir("a.onnx"), R_OK)) EXPECT_EQ(tegula("zoo gemm --m 8 --n 8 --k 8 -o a.onnx")->status, 0);
  write_file("s.yaml", "models: [a.onnx]\nflags: {x: --arch tiny, y: --arch tiny --graphamp-preset mp1}\n");
}

TG_TEST(regress_history, what_moved_when_is_told) {
  suite_and_model();
  write_file(
      "given.jsonl",
      LINE("1", CASE("a", "passed", "1000") "," CASE("b", "passed", "7"))
          LINE("2", CASE("a", "passed", "1031"))
              LINE("2", CASE("b", "failed",
                             "null")) "{\"tegula_history\":1,\"suite\":\"other\",\"time\":\"t\",\"cases\":{}}"
                                      "\n" LINE("3", CASE("a", "passed", "1031"))
                                          LINE("4", CASE("a", "passed", "900") "," CASE("b", "passed", "8")));
  json_t *t = trends("--history given.jsonl");
  EXPECT_EQ(json_array_size(json_object_get(t, "runs")),
            4); /* both of label 2 are one; the other suite's is none */
  EXPECT_STR(event(t, 0), "3 a -12.7 % cycles (1031 -> 900)");
  EXPECT_STR(event(t, 1), "3 b passes again");
  EXPECT_STR(event(t, 2), "3 b +14.3 % cycles (7 -> 8), worse"); /* beyond the run that had none */
  EXPECT_STR(event(t, 3), "1 a +3.1 % cycles (1000 -> 1031), worse");
  EXPECT_STR(event(t, 4), "1 b fails: ?, worse");
  EXPECT_STR(event(t, 5), "");
  const json_t *b = json_object_get(json_object_get(json_object_get(t, "cases"), "b"), "verdict");
  EXPECT_EQ(json_array_size(b), 4);
  EXPECT(json_is_null(json_array_get(b, 2)));
  json_decref(t);
  const outcome *o = tegula("regress s.yaml --trends --history given.jsonl");
  EXPECT_HAS(o->out, "s: 4 runs, from 2026-01-01T00:00:00Z to 2026-01-04T00:00:00Z\n");
  EXPECT_HAS(o->out, "        1000          900      -10.0 %  a  ▆█");
  EXPECT_HAS(o->out, "  2: a: +3.1 % cycles (1000 -> 1031)\n");
  EXPECT(access(in_dir("s.results"), F_OK) != 0); /* nothing was run */
}

/* --filter names cases, --label a run; the page has the same. */
TG_TEST(regress_history, a_part_of_it_is_told) {
  suite_and_model();
  write_file("part.jsonl",
             LINE("1", CASE("a/x/systemc", "passed", "1000") "," CASE("a/y/systemc", "passed",
                                                                      "7") "," CASE("gone", "passed", "5"))
                 LINE("2", CASE("a/x/systemc", "passed", "900") "," CASE("a/y/systemc", "passed", "8"))
                     LINE("3", CASE("a/x/systemc", "passed", "800")));
  json_t *t = trends("--history part.jsonl --filter 'a/x/*' --html part.html");
  EXPECT_EQ(json_array_size(json_object_get(t, "runs")), 3);
  EXPECT_EQ(json_object_size(json_object_get(t, "cases")), 1);
  EXPECT_STR(event(t, 0), "2 a/x/systemc -11.1 % cycles (900 -> 800)");
  EXPECT_STR(event(t, 1), "1 a/x/systemc -10.0 % cycles (1000 -> 900)");
  EXPECT_STR(event(t, 2), "");
  json_decref(t);
  EXPECT_EQ(shell("grep -q 900 part.html && ! grep -q '\"gone\"\\|\"summary\":' part.html"), 0);
  t = trends("--history part.jsonl --label 2");
  EXPECT_EQ(json_object_size(json_object_get(t, "cases")), 3);
  EXPECT_STR(event(t, 0), "1 a/x/systemc -10.0 % cycles (1000 -> 900)");
  EXPECT_STR(event(t, 1), "1 a/y/systemc +14.3 % cycles (7 -> 8), worse");
  EXPECT_STR(event(t, 2), "");
  json_decref(t);
  const outcome *o = tegula("regress s.yaml --trends --history part.jsonl --label 7");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "--label: the history has no run \"7\"");
}

/* As a run without a label of another tool may leave it. */
TG_TEST(regress_history, what_a_line_may_leave_out_is_null) {
  suite_and_model();
  write_file(
      "bare.jsonl",
      "{\"tegula_history\":1,\"suite\":\"s\",\"time\":\"t\",\"cases\":{\"a\":{\"verdict\":\"new\"}}}\n");
  json_t *t = trends("--history bare.jsonl");
  const json_t *run = json_array_get(json_object_get(t, "runs"), 0);
  EXPECT(json_is_null(json_object_get(run, "label")) && json_is_null(json_object_get(run, "tegula")));
  json_decref(t);
  EXPECT_HAS(tegula("regress s.yaml --trends --history bare.jsonl")->out, "s: 1 run, from t to t\n");
}

TG_TEST(regress_history, each_run_adds_a_line) {
  suite_and_model();
  EXPECT_EQ(tegula("regress s.yaml --trends")->status, 0);
  EXPECT_STR(tegula("regress s.yaml --trends")->out, "s: no run so far\n");
  EXPECT_EQ(tegula("regress s.yaml --label 'one <b>' -q --html page.html")->status, 0);
  EXPECT_EQ(shell("printf '{\"tegula_history\":1,\"sui' >> s.results/history.jsonl"), 0); /* a killed one's */
  json_t *t = trends("");
  EXPECT_EQ(json_array_size(json_object_get(t, "runs")), 1);
  json_decref(t);
  EXPECT_EQ(tegula("regress s.yaml --label two --shard 1/2 -q")->status, 0);
  EXPECT_EQ(tegula("regress s.yaml --label two --shard 2/2 -q")->status, 0);
  EXPECT_EQ(shell("sed -i 's/x: --arch tiny/x: --arch tiny --set dram_latency=300/' s.yaml"), 0);
  EXPECT_EQ(tegula("regress s.yaml -q")->status, 0);
  EXPECT_EQ(shell("test $(wc -l < s.results/history.jsonl) -eq 4"), 0);
  t = trends("");
  EXPECT_EQ(json_array_size(json_object_get(t, "runs")), 3);
  EXPECT(strstr(event(t, 0), "2 a/x/systemc +") && strstr(event(t, 0), "cycles (") &&
         strstr(event(t, 0), ", worse"));
  EXPECT_STR(event(t, 1), "");
  json_decref(t);
  EXPECT_EQ(shell("grep -q 'id=\"suite\"' s.results/report.html && grep -q '\"label\": \"one \\\\u003cb>\"' "
                  "page.html"),
            0);
  EXPECT_EQ(shell("cmp -s page.html s.results/report.html"), 1); /* of another run */
}

TG_TEST(regress_history, processes_add_whole_lines_side_by_side) {
  suite_and_model();
  EXPECT_EQ(shell("for i in 1 2 3 4 5 6; do '" TEGULA_COMMAND
                  "' regress s.yaml -q -j 1 --results r$i --history h.jsonl "
                  "--label $i & done; wait; test $(wc -l < h.jsonl) -eq 6"),
            0);
  json_t *t = trends("--history h.jsonl");
  EXPECT_EQ(json_array_size(json_object_get(t, "runs")), 6);
  EXPECT_STR(event(t, 0), "");
  json_decref(t);
}

TG_TEST(regress_history, what_is_no_history_is_refused_before_anything_runs) {
  static const char *const lines[] = {
      "\n",
      "{}\n",
      "[]\n",
      "x\n",
      "{\"tegula_history\":2}\n",
      "{\"tegula_history\":1,\"suite\":\"s\",\"time\":1,\"cases\":{}}\n",
      "{\"tegula_history\":1,\"suite\":\"s\",\"time\":\"\",\"cases\":{\"a\":3}}\n",
      "{\"tegula_history\":1,\"suite\":\"s\",\"time\":\"\",\"cases\":{\"a\":{\"verdict\":\"new\",\"cycles\":-"
      "1}}}\n"};
  suite_and_model();
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    write_file("bad.jsonl", lines[i]);
    const outcome *o = tegula("regress s.yaml --history bad.jsonl --results never");
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, "bad.jsonl:1: is no run of a history");
  }
  EXPECT_EQ(shell("mkfifo fifo"), 0);
  EXPECT_EQ(tegula("regress s.yaml --history fifo --results never")->status, 2);
  EXPECT_EQ(tegula("regress s.yaml --history no/such/h.jsonl --results never")->status, 2);
  EXPECT_EQ(tegula("regress s.yaml --html no/such/page.html --results never")->status, 2);
  EXPECT_EQ(shell("ls never/cases | grep -q ."), 1);
}
