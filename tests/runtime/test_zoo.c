/* Models of the zoo against what is published about them. What they compute: zoo_torch.py. */
#include "frontend/infer.h"
#include "runtime/zoo.h"
#include "tests/harness.h"

#include <inttypes.h>

/* Elements of what is trained: without numbers, running statistics and masks. */
static int64_t parameters_of(const tg_graph *graph) {
  static const char *const buffers[] = {"running_mean", "running_var", "mask", "one", "zero"};
  int64_t count = 0;
  for (int i = 0; i < graph->value_count; i++) {
    const tg_value *value = graph->values[i];
    const char *part = strrchr(value->name, '.');
    bool counts = value->kind == TG_VALUE_CONSTANT && value->rank > 0;
    for (size_t k = 0; part && k < sizeof buffers / sizeof *buffers; k++)
      counts &= strcmp(part + 1, buffers[k]) != 0;
    if (counts) count += tg_value_elements(value);
  }
  return count;
}

/* torchvision's documentation (resnet50, vgg16, mobilenet_v2, mobilenet_v3_small, efficientnet_b0), DeiT's (5 717 416 of
 * its tiny model, without distillation), Whisper's tiny model: 37 760 640 in both halves, of which 8 208 384 are the
 * encoder's. milesial's U-Net of 3 channels and 1 class: 31 037 633. Zaremba, Sutskever and Vinyals give 20 million for
 * the medium model: 10000 * 650 words, two layers of 4 * 650 * (2 * 650 + 2), 651 * 10000 of the scores. The diffusion
 * block is two convolutions of 9 * 320^2 + 320, a projection of 1281 * 320, three norms of 640, four projections of 321 * 320. */
TG_TEST(zoo, parameters_are_as_many_as_published) {
  static const struct {
    const char *name;
    int64_t parameters;
  } published[] = {
      {"resnet50", 25557032},         {"vgg16", 138357544},          {"mobilenetv2", 3504872},
      {"mobilenetv3-small", 2542856}, {"efficientnet-b0", 5288548},  {"unet", 31037633},
      {"diffusion-block", 2666560},   {"lstm-lm", 19780400},         {"vit-tiny", 5717416},
      {"whisper-encoder", 8208384},   {"whisper-decoder", 29552256},
  };
  for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
    tg_arena arena = {0};
    tg_graph *graph;
    tg_diag diag = {""};
    EXPECT_EQ(
        tg_zoo_build(&arena, published[i].name, &(tg_zoo_options){.batch = 1, .seed = 1}, &graph, &diag),
        TG_OK);
    EXPECT_STR(diag.message, "");
    int64_t count = *diag.message ? 0 : parameters_of(graph);
    if (count != published[i].parameters)
      tg_test_fail(__FILE__, __LINE__, "%s has %" PRId64 " parameters", published[i].name, count);
    tg_arena_release(&arena);
  }
}

TG_TEST(zoo, sizes_that_do_not_fit_are_refused) {
  static const struct {
    const char *name, *says;
    tg_zoo_options options;
  } cases[] = {
      {"vgg16", "--size 31 is not from 32 to 255", {.size = 31}},
      {"vgg16", "--size 256 is not from 32 to 255", {.size = 256}},
      {"unet", "--size 15 is below 16", {.size = 15}},
      {"unet", "--hidden 7 is odd", {.hidden = 7}},
      {"diffusion-block", "--size 129 is above 128", {.size = 129}},
      {"vit-tiny", "--size 15 is not from 16 to 2048", {.size = 15}},
      {"vit-tiny", "5 heads do not divide a width of 192", {.heads = 5}},
      {"whisper-decoder", "--seq 449 is above 448", {.seq = 449}},
      {"whisper-encoder", "are too many", {.layers = 1 << 30}},
      {"lstm-lm", "are too many", {.vocabulary = INT64_MAX}},
      {"resnet50", "are too large", {.hidden = INT64_MAX}},
      {"efficientnet-b0", "are too large", {.size = 1 << 20}},
      {"whisper-encoder", "are too many", {.seq = INT64_MAX}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_graph *graph;
    tg_diag diag = {""};
    EXPECT_EQ(tg_zoo_build(&arena, cases[i].name, &cases[i].options, &graph, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    tg_arena_release(&arena);
  }
}
