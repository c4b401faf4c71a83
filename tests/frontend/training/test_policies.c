/* Step graphs under every precision policy: they lower, the array's products get the formats that the policy
 * is about in both directions, what is carried keeps its type, and gradients stay near those of FP32.
 *
 * Tolerance: BF16 operands carry 2^-9 of error each, and a gradient here is behind some ten of them, so the
 * angle between it and FP32's stays below 0.1 (cosine 0.995); where everything is BF16, sums over 24 rows and
 * softmax too, below 0.2 (0.98). */
#include "frontend/pipeline.h"
#include "tests/frontend/support.h"
#include "tests/frontend/training/recorded.h"
#include "tests/harness.h"

#include <math.h>
#include <stdlib.h>

static const char model[] = "graph \"small\" next=99\n"
                            "input %x: f32[2,3,6,4]\n"
                            "const %k: f32[4,3,3,3] = seeded(1, 0.4)\n"
                            "const %s: f32[4] = seeded(2, 1)\n"
                            "const %o: f32[4] = seeded(3, 1)\n"
                            "const %mean: f32[4] = seeded(4, 1)\n"
                            "const %variance: f32[4] = [1, 1, 1, 1]\n"
                            "const %e: f32[2] = seeded(10, 1)\n"
                            "const %d: f32[2] = seeded(11, 1)\n"
                            "const %q: f32[4,8] = seeded(5, 0.5)\n"
                            "const %v: f32[4,8] = seeded(6, 0.5)\n"
                            "const %g: f32[8] = seeded(7, 1)\n"
                            "const %f: f32[8,3] = seeded(8, 0.5)\n"
                            "const %c: f32[3] = seeded(9, 0.5)\n"
                            "%c1 = Conv(%x, %k) pads=[1,1,1,1] @0\n"
                            "%n1 = BatchNormalization(%c1, %s, %o, %mean, %variance) @1\n"
                            "%r1 = Relu(%n1) @2\n"
                            "%p1 = MaxPool(%r1) kernel_shape=[2,1] strides=[2,1] @3\n"
                            "%n2 = GroupNormalization(%p1, %e, %d) num_groups=2 @20\n"
                            "%t1 = Reshape(%n2) shape=[2,4,12] @4\n"
                            "%t2 = Transpose(%t1) perm=[0,2,1] @5\n"
                            "%q1 = MatMul(%t2, %q) @6\n"
                            "%v1 = MatMul(%t2, %v) @7\n"
                            "%q2 = Transpose(%q1) perm=[0,2,1] @8\n"
                            "%a1 = MatMul(%v1, %q2) @9\n"
                            "%a2 = Softmax(%a1) @10\n"
                            "%a3 = MatMul(%a2, %v1) @11\n"
                            "%a4 = Add(%a3, %q1) @12\n"
                            "%l1 = LayerNormalization(%a4, %g) @13\n"
                            "%l3 = Gelu(%l1) @14\n"
                            "%l2 = Dropout(%l3) ratio=0.25 @18\n"
                            "%y1 = MatMul(%l2, %f) @15\n"
                            "%y2 = Add(%y1, %c) @16\n"
                            "%y = Transpose(%y2) perm=[0,2,1] @17\n"
                            "output \"y\" %y: f32\n";

enum { ATTENTION_SCORES = 9, ATTENTION_SUMS = 11 };

typedef struct policy_case {
  const char *name;
  tg_precision_family family;
  tg_precision_preset preset;
  tg_dtype lower;      /* of the operands of products */
  tg_dtype dw;         /* what products make of weights' gradients */
  tg_dtype parameters; /* of the step */
  bool master;
  double cosine;
} policy_case;

static bool build(recorded *r, const policy_case *row) {
  r->text = model;
  r->name = row ? row->name : "fp32";
  tg_training_defaults(&r->options);
  r->options.optimizer = TG_OPTIMIZER_ADAM;
  r->options.keep_gradients = r->options.scale_loss = true;
  if (row) r->options.parameters = row->parameters;
  if (row) r->options.fp32_params = row->master;
  return recorded_build(r);
}

static void set_numbers(const recorded *r) {
  for (int i = 0; i < r->plan.tensor_count; i++)
    if (r->plan.tensors[i].role == TG_ROLE_OF_NUMBER)
      *(float *)r->inputs[r->plan.tensors[i].input] =
          (float)tg_step_number_value(&r->options, r->plan.tensors[i].number, 0, 0.01, 8);
}

static bool lower(recorded *r, const policy_case *row) {
  tg_frontend_options options;
  tg_diag diag = {""};
  tg_frontend_defaults(&options);
  options.precision.family = row->family;
  options.precision.preset = row->preset;
  options.precision.amp_dtype = row->lower == TG_F16 ? TG_F16 : TG_BF16;
  tg_status status = tg_frontend_lower(r->graph, &options, &diag);
  EXPECT_STR(diag.message, "");
  return !status;
}

static void check_products(const recorded *r, const policy_case *row) {
  int products = 0;
  TG_FOR_NODES(r->graph, node) {
    if (!tg_op_is(node->op, TG_IS_GEMM)) continue;
    products++;
    if (tg_in(node, 0)->dtype != row->lower)
      tg_test_fail(__FILE__, __LINE__, "product \"%s\" reads %s", tg_out(node)->name,
                   tg_dtype_name(tg_in(node, 0)->dtype));
  }
  EXPECT(products >= 6 + 11); /* forward, and both gradients of each but the data's */
}

/* As runtime/training/formats.def has them. */
static void check_weight_gradients(const recorded *r, const policy_case *row) {
  int found = 0;
  TG_FOR_NODES(r->graph, node) {
    if (!tg_op_is(node->op, TG_IS_GEMM) || node->forward < 0 || node->forward_operand != 1) continue;
    if (node->forward == ATTENTION_SCORES || node->forward == ATTENTION_SUMS) continue; /* of activations */
    found++;
    if (tg_out(node)->dtype != row->dw)
      tg_test_fail(__FILE__, __LINE__, "product \"%s\" makes %s", tg_out(node)->name,
                   tg_dtype_name(tg_out(node)->dtype));
  }
  EXPECT_EQ(found, 4);
}

/* The loss computes in FP32 under every policy; what leaves it backwards has the format of the output. */
static void check_loss(const recorded *r) {
  int sums = 0;
  TG_FOR_NODES(r->graph, node) {
    if (strncmp(tg_out(node)->name, "loss", 4) || !tg_op_is(node->op, TG_IS_REDUCE)) continue;
    EXPECT_EQ(tg_out(node)->dtype, TG_F32);
    sums++;
  }
  EXPECT(sums > 0);
  EXPECT_EQ(r->graph->outputs[r->plan.loss]->dtype, TG_F32);
}

static void check_carries(const recorded *r) {
  EXPECT(r->graph->carry_count > 0);
  for (size_t i = 0; i < r->graph->carry_count; i++)
    EXPECT_EQ(r->graph->inputs[r->graph->carries[i].input]->dtype,
              r->graph->outputs[r->graph->carries[i].output]->dtype);
}

/* Elements of the step's inputs in their own formats. */
static void narrow_inputs(const recorded *r) {
  for (int i = 0; i < r->graph->input_count; i++) {
    const tg_value *value = r->graph->inputs[i];
    float *data = r->inputs[i];
    for (int64_t k = 0; value->dtype != TG_F32 && k < tg_value_elements(value); k++)
      tg_store_f32(data, value->dtype, (size_t)k, data[k]);
  }
}

static double cosine(const float *a, const float *b, int64_t count) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < count; i++) {
    ab += (double)a[i] * (double)b[i];
    aa += (double)a[i] * (double)a[i];
    bb += (double)b[i] * (double)b[i];
  }
  return ab / sqrt(aa * bb);
}

static void compare(const recorded *r, const recorded *fp32, const policy_case *row) {
  for (int i = 0; i < fp32->plan.tensor_count; i++) {
    const tg_step_tensor *want = &fp32->plan.tensors[i];
    if (want->role != TG_ROLE_OF_PARAMETER) continue;
    const tg_step_tensor *got = NULL;
    for (int k = 0; k < r->plan.tensor_count; k++)
      if (r->plan.tensors[k].role == TG_ROLE_OF_PARAMETER && !strcmp(r->plan.tensors[k].name, want->name))
        got = &r->plan.tensors[k];
    ASSERT(got && got->gradient >= 0);
    double c =
        cosine(r->outputs[got->gradient], fp32->outputs[want->gradient], recorded_elements(fp32, want));
    if (!(c >= row->cosine)) tg_test_fail(__FILE__, __LINE__, "gradient of %s: cosine %g", want->name, c);
  }
  EXPECT(*(float *)r->outputs[r->plan.found_inf] == 0);
}

static void check(recorded *r, recorded *fp32, const policy_case *row) {
  ASSERT(build(fp32, NULL));
  set_numbers(fp32);
  recorded_run(fp32);
  ASSERT(build(r, row));
  set_numbers(r);
  ASSERT(lower(r, row));
  check_products(r, row);
  check_weight_gradients(r, row);
  check_loss(r);
  check_carries(r);
  narrow_inputs(r);
  recorded_run(r);
  compare(r, fp32, row);
}

static void works(const void *row) {
  recorded r = {0}, fp32 = {0};
  check(&r, &fp32, row);
  tg_arena_release(&r.arena);
  tg_arena_release(&fp32.arena);
}

__attribute__((constructor)) static void register_cases(void) {
  static const policy_case cases[] = {
      {"mp0", TG_FAMILY_GRAPHAMP, TG_PRESET_MP0, TG_F32, TG_F32, TG_F32, false, 0.999999},
      {"mp1", TG_FAMILY_GRAPHAMP, TG_PRESET_MP1, TG_BF16, TG_F32, TG_F32, false, 0.995},
      {"mp2", TG_FAMILY_GRAPHAMP, TG_PRESET_MP2, TG_BF16, TG_F32, TG_F32, false, 0.98},
      {"mp3", TG_FAMILY_GRAPHAMP, TG_PRESET_MP3, TG_BF16, TG_F32, TG_F32, false, 0.98},
      {"mp4", TG_FAMILY_GRAPHAMP, TG_PRESET_MP4, TG_BF16, TG_BF16, TG_BF16, false, 0.98},
      {"mp4_fp32_params", TG_FAMILY_GRAPHAMP, TG_PRESET_MP4, TG_BF16, TG_BF16, TG_BF16, true, 0.98},
      {"hmp", TG_FAMILY_HMP, TG_PRESET_MP0, TG_BF16, TG_F32, TG_F32, false, 0.98},
      {"raf", TG_FAMILY_RAF, TG_PRESET_MP0, TG_BF16, TG_F32, TG_F32, false, 0.98},
      {"autocast", TG_FAMILY_AUTOCAST, TG_PRESET_MP0, TG_BF16, TG_F32, TG_F32, false, 0.98},
      {"autocast_fp16", TG_FAMILY_AUTOCAST, TG_PRESET_MP0, TG_F16, TG_F32, TG_F32, false, 0.999},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("training_policy", cases[i].name, __FILE__, __LINE__, works, &cases[i]);
}
