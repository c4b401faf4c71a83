/* Training as an engine of `tegula regress`: what it is held to, and what counts as moved. */
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/regress_support.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* The demo's digits, which its model has learned almost to the end: 154 of 160 are right before a step. */
static void digits(void) {
  char *demo = realpath("runtime/demo", NULL), line[1200];
  snprintf(line, sizeof line, "cp '%s/digits.onnx' . && cp '%s/digits.npy' x.npy && cp '%s/labels.npy' y.npy",
           demo, demo, demo);
  EXPECT_EQ(shell(line), 0);
  free(demo);
}

static json_t *regress(const char *arguments, int status) {
  const outcome *o = tegula("regress %s --json", arguments);
  if (o->status != status)
    tg_test_fail(__FILE__, __LINE__, "regress %s: %d %s", arguments, o->status, o->err);
  return json_loads(o->out, 0, NULL);
}

/* "verdict: kind text; ..." of a case. */
static const char *said_of(const json_t *results, const char *id) {
  static char text[2000];
  const json_t *one = case_of(results, id), *finding;
  size_t i,
      at = (size_t)snprintf(text, sizeof text,
                            "%s:", one ? json_string_value(json_object_get(one, "verdict")) : "no case");
  json_array_foreach(json_object_get(one, "findings"), i, finding) {
    if (at < sizeof text)
      at += (size_t)snprintf(text + at, sizeof text - at, " %s %s;",
                             json_string_value(json_object_get(finding, "kind")),
                             json_string_value(json_object_get(finding, "text")));
  }
  return text;
}

#define SUITE                                                                                                \
  "training: --data x.npy --labels y.npy --batch 20 --steps 2 --optimizer adam --lr 0.0001 --eval-data "     \
  "x.npy --eval-labels "                                                                                     \
  "y.npy\n"                                                                                                  \
  "flags: {tiny: --arch tiny}\nengines: [training]\nbounds: {max_loss: 0.5, min_accuracy: 0.9, "             \
  "max_skipped_steps: 0}\n"

TG_TEST(regress_training, runs_are_held_to_loss_accuracy_and_skipped_steps) {
  digits();
  write_file("t.yaml", SUITE
             "models:\n"
             "  - {file: digits.onnx, name: good, engines: [training, systemc], bounds: {engines_equal: "
             "[functional, systemc]}}\n"
             "  - {file: digits.onnx, name: poor, bounds: {max_loss: 1e-9, min_accuracy: 0.9999}}\n"
             "  - {file: digits.onnx, name: wild, training: --lr 1e30}\n"
             "  - {file: digits.onnx, name: over, training: --amp autocast --amp-dtype fp16 --init-scale "
             "1e30}\n"
             "  - {file: digits.onnx, name: blind, training: --loss mse --labels x.npy}\n");
  json_t *r = regress("t.yaml", 1);
  const json_t *good = case_of(r, "good/tiny/training");
  EXPECT_STR(said_of(r, "good/tiny/training"),
             "new: baseline there is no baseline: --update-baseline records one;");
  EXPECT_STR(said_of(r, "good/tiny/systemc"),
             "new: baseline there is no baseline: --update-baseline records one;");
  EXPECT(json_integer_value(json_object_get(good, "cycles")) >
         json_integer_value(json_object_get(case_of(r, "good/tiny/systemc"), "cycles")));
  EXPECT(json_is_true(json_object_get(json_object_get(good, "verify"), "equal_bits")));
  EXPECT(json_number_value(json_object_get(json_object_get(good, "evaluation"), "accuracy")) > 0.9);
  const char *said = said_of(r, "poor/tiny/training");
  EXPECT_HAS(said, "failed: training the mean loss of the last 20 steps is 0.");
  EXPECT_HAS(said, "over its bound of 1e-9; training accuracy after training is 0.9");
  said = said_of(r, "wild/tiny/training");
  EXPECT_HAS(said, "failed: training the loss is nan at the end: the training diverged;");
  EXPECT_HAS(said, "not finite, over its bound of 0.5");
  said = said_of(r, "over/tiny/training");
  EXPECT_HAS(said, "failed: training all 2 steps were skipped: nothing was trained;");
  EXPECT_HAS(said, "2 steps were skipped, over the bound of 0");
  EXPECT_HAS(said_of(r, "blind/tiny/training"), "failed: refused x.npy:");
  EXPECT_EQ(json_array_size(json_object_get(r, "cases")), 6);
  json_decref(r);
  EXPECT_EQ(shell("ls t.results/cases | grep -qv 'result.json$\\|log$'"), 1); /* programs of steps are gone */
}

TG_TEST(regress_training, what_moved_is_told_and_explained) {
  digits();
  write_file("m.yaml", SUITE "models:\n  - {file: digits.onnx, bounds: {outputs_equal: true}}\n");
  write_file("n.yaml", "baseline: m.baseline.json\ntraining: --data x.npy --labels y.npy --batch 20 --steps "
                       "2 --optimizer adam --lr 0.0002\n"
                       "flags: {tiny: --arch edge}\nengines: [training]\n"
                       "models: [{file: digits.onnx, bounds: {outputs_equal: true}}]\n");
  json_decref(regress("m.yaml --update-baseline", 0));
  json_t *r = regress("m.yaml", 0);
  EXPECT_STR(said_of(r, "digits/tiny/training"), "passed:");
  json_decref(r);
  r = regress("n.yaml", 1);
  EXPECT_HAS(said_of(r, "digits/tiny/training"), "outputs bits of the losses moved, mean loss");
  EXPECT_HAS(said_of(r, "digits/tiny/training"), "cycles ");
  json_decref(r);
  const outcome *o = tegula("regress n.yaml --explain digits/tiny/training");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "training");
  EXPECT_HAS(o->out, "mx busy");
}

/* Labels in an archive are part of what a result is of. */
TG_TEST(regress_training, data_that_changed_is_trained_again) {
  digits();
  EXPECT_EQ(
      shell("/usr/bin/python3 - <<'E'\nimport numpy as np\ny = np.load('y.npy')\nnp.savez('y.npz', y=y)\n"
            "np.savez('z.npz', y=y[::-1].copy())\nE"),
      0);
  write_file("a.yaml", SUITE "models: [{file: digits.onnx, training: '--labels y.npz:y'}]\n");
  json_decref(regress("a.yaml", 0));
  EXPECT_HAS(tegula("regress a.yaml --resume")->out, "1 kept from before");
  EXPECT_EQ(shell("cp z.npz y.npz"), 0);
  const outcome *o = tegula("regress a.yaml --resume");
  EXPECT_EQ(o->status, 1);
  EXPECT(!strstr(o->out, "kept from before"));
}

TG_TEST(regress_training, wrong_options_are_refused_with_their_line) {
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"models: [digits.onnx]\ntraining: --warp 9\nengines: [training]", "bad.yaml:2: unknown option --warp"},
      {"models: [digits.onnx]\nengines: [training]\nflags:\n  a: --timing-only", "bad.yaml:4:"},
      {"models: [digits.onnx]\ntraining: --save x.onnx\nengines: [training]",
       "bad.yaml:2: training: --save is not"},
      {"models: [digits.onnx]\ntraining: x.npy\nengines: [training]", "training: \"x.npy\" is no option"},
      {"models: [digits.onnx]\ntraining: \"--loss 'mse\"", "training: a quote ' is not closed"},
      {"models: [digits.onnx]\nbounds: {max_skipped_steps: 1.5}", "max_skipped_steps: \"1.5\""},
      {"models: [digits.onnx]\nbounds: {min_accuracy: 99}", "min_accuracy"},
      {"models: [digits.onnx]\nengines: [trainer]", "training"},
  };
  digits();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_file("bad.yaml", cases[i].text);
    const outcome *o = tegula("regress bad.yaml");
    if (o->status != 2 || !strstr(o->err, cases[i].says))
      tg_test_fail(__FILE__, __LINE__, "%s\nstatus %d, stderr \"%s\"", cases[i].text, o->status, o->err);
  }
}
