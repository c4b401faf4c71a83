/* What a step graph is made of, and what it refuses. */
#include "frontend/infer.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "tests/frontend/support.h"
#include "tests/frontend/training/recorded.h"
#include "tests/harness.h"

#include <math.h>

static const char mlp[] = "graph \"mlp\" next=99\n"
                          "input %x: f32[6,5]\n"
                          "const %w1: f32[5,8] = seeded(1, 0.5)\n"
                          "const %s: f32[8] = seeded(2, 1)\n"
                          "const %w2: f32[8,3] = seeded(3, 0.5)\n"
                          "%h = MatMul(%x, %w1) @0\n"
                          "%n = LayerNormalization(%h, %s) @1\n"
                          "%g = Gelu(%n) @2\n"
                          "%y = MatMul(%g, %w2) @3\n"
                          "output \"y\" %y: f32\n";

static const tg_step_tensor *find(const recorded *r, tg_step_role role, const char *name) {
  for (int i = 0; i < r->plan.tensor_count; i++)
    if (r->plan.tensors[i].role == role && !strcmp(r->plan.tensors[i].name, name)) return &r->plan.tensors[i];
  return NULL;
}

static void set_numbers(const recorded *r, double scale) {
  for (int i = 0; i < r->plan.tensor_count; i++)
    if (r->plan.tensors[i].role == TG_ROLE_OF_NUMBER)
      *(float *)r->inputs[r->plan.tensors[i].input] =
          (float)tg_step_number_value(&r->options, r->plan.tensors[i].number, 0, 0.25, scale);
}

static void begin(recorded *r, const char *text) {
  r->text = text;
  r->name = "step";
  tg_training_defaults(&r->options);
  r->options.loss = TG_LOSS_MSE;
}

/* --- recomputation */

static void expect_same_gradients(const recorded *a, const recorded *b) {
  for (int i = 0; i < a->plan.tensor_count; i++) {
    const tg_step_tensor *t = &a->plan.tensors[i];
    if (t->role != TG_ROLE_OF_PARAMETER) continue;
    const tg_step_tensor *u = find(b, TG_ROLE_OF_PARAMETER, t->name);
    ASSERT(u);
    EXPECT(!memcmp(a->outputs[t->gradient], b->outputs[u->gradient],
                   (size_t)recorded_elements(a, t) * sizeof(float)));
  }
}

static int live_into_backward(const recorded *r, const char *name) {
  const tg_value *value = tg_graph_find_value(r->graph, name);
  int count = 0;
  for (const tg_use *use = value->uses; use; use = use->next) count += use->node->forward >= 0;
  return count;
}

TG_TEST(step, recomputation_changes_no_bit_and_keeps_less) {
  recorded a = {0}, b = {0};
  begin(&a, mlp);
  begin(&b, mlp);
  a.options.keep_gradients = b.options.keep_gradients = true;
  b.options.recompute = true;
  ASSERT(recorded_build(&a) && recorded_build(&b));
  EXPECT_EQ(a.plan.recomputed, 0);
  EXPECT_EQ(b.plan.recomputed, 2); /* the normalisation of %h, and the gelu of what that gave */
  EXPECT_EQ(live_into_backward(&a, "n") > 0, true);
  EXPECT_EQ(live_into_backward(&a, "g") > 0, true);
  EXPECT_EQ(live_into_backward(&b, "n"), 0);
  EXPECT_EQ(live_into_backward(&b, "g"), 0);
  set_numbers(&a, 1);
  set_numbers(&b, 1);
  recorded_run(&a);
  recorded_run(&b);
  expect_same_gradients(&a, &b);
  tg_arena_release(&a.arena);
  tg_arena_release(&b.arena);
}

/* --- skipped steps */

TG_TEST(step, an_infinity_leaves_everything_as_it_was) {
  recorded r = {0};
  begin(&r, mlp);
  r.options.optimizer = TG_OPTIMIZER_ADAM;
  r.options.scale_loss = true;
  ASSERT(recorded_build(&r));
  set_numbers(&r, INFINITY);
  recorded_run(&r);
  EXPECT(*(float *)r.outputs[r.plan.found_inf] == 1);
  EXPECT(isfinite(*(float *)r.outputs[r.plan.loss]));
  int carried = 0;
  for (int i = 0; i < r.plan.tensor_count; i++) {
    const tg_step_tensor *t = &r.plan.tensors[i];
    if (t->output < 0) continue;
    EXPECT(
        !memcmp(r.inputs[t->input], r.outputs[t->output], (size_t)recorded_elements(&r, t) * sizeof(float)));
    carried++;
  }
  EXPECT_EQ(carried, 9); /* three parameters, two moments each */
  tg_arena_release(&r.arena);
}

/* --- BF16 parameters */

TG_TEST(step, bf16_parameters_are_rounded_on_their_way_out) {
  recorded r = {0};
  begin(&r, mlp);
  r.options.parameters = TG_BF16;
  r.options.stochastic = true;
  r.options.optimizer = TG_OPTIMIZER_MOMENTUM;
  r.options.state = TG_BF16;
  ASSERT(recorded_build(&r));
  const tg_step_tensor *w = find(&r, TG_ROLE_OF_PARAMETER, "w1"), *v = find(&r, TG_ROLE_OF_STATE, "w1");
  ASSERT(w && v && w->output >= 0 && v->output >= 0);
  EXPECT(!find(&r, TG_ROLE_OF_MASTER, "w1"));
  EXPECT_STR(v->state, "momentum");
  const tg_node *written = r.graph->outputs[w->output]->producer,
                *state = r.graph->outputs[v->output]->producer;
  EXPECT(written->op == TG_OP_CAST && tg_attr_int(written, TG_ATTR_STOCHASTIC) == 1);
  EXPECT(state->op == TG_OP_CAST && tg_attr_int(state, TG_ATTR_STOCHASTIC) == 0);
  EXPECT_EQ(r.graph->inputs[w->input]->dtype, TG_BF16);
  EXPECT_EQ(r.graph->inputs[v->input]->dtype, TG_BF16);
  tg_arena_release(&r.arena);
}

TG_TEST(step, an_fp32_copy_is_updated_and_rounded_to_nearest) {
  recorded r = {0};
  begin(&r, mlp);
  r.options.parameters = TG_BF16;
  r.options.fp32_params = r.options.stochastic = true;
  ASSERT(recorded_build(&r));
  const tg_step_tensor *w = find(&r, TG_ROLE_OF_PARAMETER, "w2"), *m = find(&r, TG_ROLE_OF_MASTER, "w2");
  ASSERT(w && m && m->output >= 0);
  const tg_node *written = r.graph->outputs[w->output]->producer;
  EXPECT(tg_in(written, 0) == r.graph->outputs[m->output]);
  EXPECT_EQ(tg_attr_int(written, TG_ATTR_STOCHASTIC), 0);
  EXPECT_EQ(r.graph->inputs[m->input]->dtype, TG_F32);
  tg_arena_release(&r.arena);
}

/* --- partial sums */

TG_TEST(step, gradients_of_linear_weights_are_sums_of_partials) {
  recorded r = {0};
  begin(&r, mlp);
  r.options.partials = 3;
  r.options.reduce_bf16sr = true;
  ASSERT(recorded_build(&r));
  int split = 0, whole = 0;
  TG_FOR_NODES(r.graph, node) {
    if (node->op != TG_OP_MATMUL || node->forward < 0) continue;
    bool weights = node->forward_operand == 1;
    EXPECT_EQ(tg_attr_int(node, TG_ATTR_PARTIALS), weights ? 3 : 1);
    EXPECT_EQ(tg_attr_int(node, TG_ATTR_REDUCE), weights ? TG_REDUCE_BF16SR : TG_REDUCE_FP32);
    split += weights;
    whole += !weights;
  }
  EXPECT_EQ(split, 2);
  EXPECT_EQ(whole, 1);
  tg_arena_release(&r.arena);
}

/* --- dropout */

enum { DROPPED_ROWS = 48, DROPPED_COLUMNS = 64 };

/* The share of elements that are 0; all others are what they were, divided by what is left. */
static double share_dropped(const recorded *r) {
  const tg_step_tensor *x = find(r, TG_ROLE_OF_DATA, "x"), *w = find(r, TG_ROLE_OF_PARAMETER, "w");
  const float *data = r->inputs[x->input], *weights = r->inputs[w->input], *y = r->outputs[0],
              *gradient = r->outputs[w->gradient];
  int zeros = 0, count = DROPPED_ROWS * DROPPED_COLUMNS;
  for (int i = 0; i < count; i++) {
    float kept = data[i] * weights[i] * (float)(1 / (1 - 0.3));
    if (y[i] != 0 && y[i] != kept) tg_test_fail(__FILE__, __LINE__, "element %d", i);
    EXPECT((y[i] == 0) == (gradient[i] == 0));
    zeros += y[i] == 0;
  }
  return (double)zeros / count;
}

TG_TEST(step, dropout_draws_another_mask_in_each_step_and_backward_has_the_same) {
  recorded r = {0};
  begin(&r, "graph \"drop\" next=9\ninput %x: f32[48,64]\nconst %w: f32[48,64] = seeded(1, 1)\n"
            "%h = Mul(%x, %w) @0\n%y = Dropout(%h) ratio=0.3 @1\noutput \"y\" %y: f32\n");
  r.options.keep_outputs = r.options.keep_gradients = true;
  ASSERT(recorded_build(&r));
  EXPECT_EQ(r.plan.dropouts, 0);
  set_numbers(&r, 1);
  float first[DROPPED_ROWS * DROPPED_COLUMNS] = {0};
  for (uint32_t step = 0; step < 2; step++) {
    tg_reference_draw draw = {.seed = 7, .step = step};
    tg_reference_run_drawing(r.graph, &draw, (const void *const *)r.inputs, r.outputs);
    EXPECT(fabs(share_dropped(&r) - 0.3) < 0.04); /* five standard deviations */
    int moved = 0;
    for (int i = 0; i < DROPPED_ROWS * DROPPED_COLUMNS; i++) {
      float now = ((float *)r.outputs[0])[i];
      moved += (now == 0) != (first[i] == 0);
      first[i] = now;
    }
    if (step) EXPECT(moved > 1000); /* 2 * 0.3 * 0.7 of them */
  }
  tg_arena_release(&r.arena);
}

TG_TEST(step, dropout_in_inference_form_is_the_identity) {
  recorded r = {0};
  begin(&r, "graph \"drop\" next=9\ninput %x: f32[4,6]\nconst %w: f32[4,6] = seeded(1, 1)\n"
            "%h = Mul(%x, %w) @0\n%y = Dropout(%h) @1\noutput \"y\" %y: f32\n");
  ASSERT(recorded_build(&r));
  EXPECT_EQ(r.plan.dropouts, 1);
  tg_arena_release(&r.arena);
}

/* --- what a normalisation takes away again */

static const char biased[] =
    "graph \"biased\" next=9\ninput %%x: f32[4,3,5,5]\n"
    "const %%w: f32[6,3,3,3] = seeded(1, 1)\nconst %%b: f32[6] = seeded(2, 1)\n"
    "const %%s: f32[6] = seeded(3, 1)\nconst %%o: f32[6] = seeded(4, 1)\n"
    "const %%m: f32[6] = [0, 0, 0, 0, 0, 0]\nconst %%v: f32[6] = [1, 1, 1, 1, 1, 1]\n"
    "%%h = Conv(%%x, %%w, %%b) @0\n%%n = BatchNormalization(%%h, %%s, %%o, %%m, %%v) @1\n"
    "%%y = %s @2\noutput \"y\" %%y: f32\n";

TG_TEST(step, a_bias_in_front_of_the_statistics_of_a_batch_stays) {
  static const struct {
    const char *last;
    bool frozen, stays;
  } cases[] = {{"Tanh(%n)", false, true}, {"Tanh(%n)", true, false}, {"Mul(%n, %h)", false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded r = {0};
    begin(&r, tg_arena_printf(&r.arena, biased, cases[i].last));
    r.options.keep_gradients = true;
    r.options.frozen_norms = cases[i].frozen;
    r.options.optimizer = TG_OPTIMIZER_ADAM;
    ASSERT(recorded_build(&r));
    set_numbers(&r, 1);
    recorded_run(&r);
    const tg_step_tensor *b = find(&r, TG_ROLE_OF_PARAMETER, "b");
    ASSERT(b && b->output >= 0 && b->gradient >= 0);
    size_t bytes = (size_t)recorded_elements(&r, b) * sizeof(float);
    EXPECT_EQ(!memcmp(r.inputs[b->input], r.outputs[b->output], bytes), cases[i].stays);
    for (int64_t k = 0; k < recorded_elements(&r, b); k++)
      EXPECT_EQ(((float *)r.outputs[b->gradient])[k] == 0, cases[i].stays);
    tg_arena_release(&r.arena);
  }
}

/* --- what is trained */

static const char positions[] = "graph \"positions\" next=9\ninput %%x: f32[2,4]\n"
                                "const %%w: f32[2,4] = seeded(1, 1)\nconst %%t: f32[2,4] = [%s]\n"
                                "%%h = Mul(%%x, %%w) @0\n%%y = Add(%%h, %%t) @1\noutput \"y\" %%y: f32\n";

TG_TEST(step, tables_of_sines_are_no_parameters) {
  static const struct {
    const char *numbers;
    bool trained;
  } cases[] = {
      {"0, 1, 0, 1, 0.84147098, 0.54030231, 0.00999983, 0.99995", false},
      {"0, 0, 1, 1, 0.84147098, 0.00999983, 0.54030231, 0.99995", false},
      {"0, 1, 0, 1, 0.84147098, 0.54030231, 0.00999983, 0.5", true},
      {"1, 0, 0, 0, 0, 1, 0, 0", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    recorded r = {0};
    begin(&r, tg_arena_printf(&r.arena, positions, cases[i].numbers));
    ASSERT(recorded_build(&r));
    EXPECT_EQ(find(&r, TG_ROLE_OF_PARAMETER, "t") != NULL, cases[i].trained);
    EXPECT(find(&r, TG_ROLE_OF_PARAMETER, "w") != NULL);
    tg_arena_release(&r.arena);
  }
}

/* --- refusals */

static void expect_refusal(const char *text, const tg_training_options *options, const char *part) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_graph *model, *graph;
  tg_training_plan plan;
  EXPECT_EQ(tg_graph_parse(&arena, text, &model, &diag), TG_OK);
  EXPECT_EQ(tg_graph_infer(model, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  EXPECT_EQ(tg_training_build(model, options, &arena, &graph, &plan, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, part);
  tg_arena_release(&arena);
}

TG_TEST(step, refuses_what_it_cannot_train_by_name) {
  tg_training_options options;
  tg_training_defaults(&options);
  options.loss = TG_LOSS_MSE;
  expect_refusal("graph \"g\" next=9\ninput %x: f32[2,3]\n%y = Relu(%x) @0\noutput \"y\" %y: f32\n", &options,
                 "nothing to train: output \"y\"");
  expect_refusal("graph \"g\" next=9\ninput %x: f32[1,3]\nconst %s: f32[3] = seeded(1, 1)\n"
                 "%y = BatchNormalization(%x, %s, %s, %s, %s) @0 \"norm\"\noutput \"y\" %y: f32\n",
                 &options, "node \"norm\" (BatchNormalization): one element a channel");
  options.frozen = "^w";
  expect_refusal(mlp, &(tg_training_options){.loss = TG_LOSS_MSE, .frozen = "^(w1|w2|s)$", .partials = 1},
                 "that is not frozen");
  options.frozen = "(";
  expect_refusal(mlp, &options, "expression \"");
  options.frozen = NULL;
  options.loss_output = "z";
  expect_refusal(mlp, &options, "there is no output \"z\"");
  options.loss_output = NULL;
  options.loss = TG_LOSS_CROSS_ENTROPY;
  expect_refusal(
      "graph \"g\" next=9\ninput %x: f32[3]\nconst %w: f32[3] = seeded(1, 1)\n%y = Mul(%x, %w) @0\n"
      "output \"y\" %y: f32\n",
      &options, "needs classes along dimension 1, its rank is 1");
}

TG_TEST(step, names_of_losses_and_optimizers_are_found) {
  tg_diag diag = {""};
  tg_loss loss;
  tg_optimizer optimizer;
  for (int i = 0; i < TG_LOSS_COUNT; i++) {
    EXPECT_EQ(tg_loss_parse(tg_loss_name((tg_loss)i), &loss, &diag), TG_OK);
    EXPECT_EQ(loss, i);
  }
  for (int i = 0; i < TG_OPTIMIZER_COUNT; i++) {
    EXPECT_EQ(tg_optimizer_parse(tg_optimizer_name((tg_optimizer)i), &optimizer, &diag), TG_OK);
    EXPECT_EQ(optimizer, i);
  }
  EXPECT_EQ(tg_optimizer_parse("lion", &optimizer, &diag), TG_INVALID);
  EXPECT_STR(diag.message, "no optimizer \"lion\" (sgd, momentum, nesterov, adam, adamw, adagrad)");
}

TG_TEST(step, buffers_are_told_from_parameters) {
  recorded r = {0};
  begin(&r, "graph \"g\" next=9\n"
            "input %x: f32[3,3]\n"
            "const %mask: f32[3,3] = [0, -1e9, -1e9, 0, 0, -1e9, 0, 0, 0]\n"
            "const %scale: f32[] = [0.5]\n"
            "const %w: f32[3,3] = seeded(1, 1)\n"
            "%a = MatMul(%x, %w) @0\n"
            "%b = Mul(%a, %scale) @1\n"
            "%c = Add(%b, %mask) @2\n"
            "%y = Softmax(%c) @3\n"
            "output \"y\" %y: f32\n");
  ASSERT(recorded_build(&r));
  EXPECT(find(&r, TG_ROLE_OF_PARAMETER, "w"));
  EXPECT(!find(&r, TG_ROLE_OF_PARAMETER, "mask"));
  EXPECT(!find(&r, TG_ROLE_OF_PARAMETER, "scale"));
  tg_arena_release(&r.arena);
}
