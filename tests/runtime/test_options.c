#include "runtime/options.h"
#include "tests/harness.h"

enum { MOST_WORDS = 12 };

/* Parses words separated by single blanks. */
static tg_status parse(tg_arena *arena, const char *line, tg_options *options, tg_diag *diag) {
  const char *words[MOST_WORDS + 1] = {0};
  int count = 0;
  char *text = tg_arena_strdup(arena, line), *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
    words[count++] = word;
  return tg_options_parse(arena, count, words, options, diag);
}

TG_TEST(options, values_operands_and_repetitions) {
  tg_arena arena = {0};
  tg_options o;
  tg_diag diag = {""};
  ASSERT(parse(&arena, "run --engine rtl m.onnx --set rows=1 --set=cols=3 -q --input x=a.npy --max-cycles 77",
               &o, &diag) == TG_OK);
  EXPECT_EQ(o.command, TG_COMMAND_RUN);
  EXPECT_EQ(o.operand_count, 1);
  EXPECT_STR(o.operands[0], "m.onnx");
  EXPECT_STR(tg_option_text(&o, TG_OPT_ENGINE, "systemc"), "rtl");
  EXPECT_EQ(o.counts[TG_OPT_SET], 2);
  EXPECT_STR(o.values[TG_OPT_SET][1], "cols=3");
  EXPECT(tg_given(&o, TG_OPT_QUIET) && !tg_given(&o, TG_OPT_JSON));
  EXPECT_EQ(tg_option_number(&o, TG_OPT_MAX_CYCLES, 0), 77);
  EXPECT_EQ(tg_option_number(&o, TG_OPT_SEED, 5), 5);
  tg_arena_release(&arena);
}

TG_TEST(options, negative_numbers_are_operands) {
  tg_arena arena = {0};
  tg_options o;
  tg_diag diag = {""};
  ASSERT(parse(&arena, "fp -1 * -.5 --seed 3 -q", &o, &diag) == TG_OK);
  EXPECT_EQ(o.operand_count, 3);
  EXPECT_STR(o.operands[0], "-1");
  EXPECT_STR(o.operands[2], "-.5");
  EXPECT_EQ(tg_option_number(&o, TG_OPT_SEED, 1), 3);
  ASSERT(parse(&arena, "fp -Infinity -json", &o, &diag) == TG_INVALID);
  ASSERT(parse(&arena, "fp -Infinity --json", &o, &diag) == TG_OK);
  EXPECT_STR(o.operands[0], "-Infinity");
  EXPECT_EQ(parse(&arena, "fp 1 --seed -3", &o, &diag), TG_INVALID); /* a value stays one */
  tg_arena_release(&arena);
}

TG_TEST(options, wrong_lines_are_refused_with_what_and_where) {
  static const struct {
    const char *line, *says;
  } cases[] = {
      {"", "no command"},
      {"paint", "paint"},
      {"train --lr fast", "no number from 0 on"},
      {"train --lr -1", "no number from 0 on"},
      {"train --lr 0x10", "no number from 0 on"},
      {"train --loss hinge", "none of cross_entropy|"},
      {"run --lr 1", "no option of tegula run"},
      {"run --graphamp-preset mp9", "none of mp0|mp1|mp2|mp3|mp4|default"},
      {"run --graphamp-preset mp", "none of"},
      {"run --graphamp-preset mp0|mp1", "none of"},
      {"run --amp amp", "none of hmp|autocast|raf"},
      {"run --amp=", "none of hmp|autocast|raf"},
      {"run --casts", "no option of tegula run"},
      {"run --wat", "unknown option --wat: see tegula run --help"},
      {"run --bacth 3", "unknown option --bacth: is it --batch? see tegula run --help"},
      {"regress --filtr x", "unknown option --filtr: is it --filter? see tegula regress --help"},
      {"run --filtr x", "unknown option --filtr: see tegula run --help"},
      {"run --graphamp mp1", "unknown option --graphamp: is it --graphamp-preset? see tegula run --help"},
      {"runn m.onnx", "unknown command \"runn\": is it run? see tegula --help"},
      {"swep m.onnx", "unknown command \"swep\": is it sweep? see tegula --help"},
      {"x m.onnx", "unknown command \"x\": see tegula --help"},
      {"run --eng rtl", "unknown option --eng"},
      {"run -z", "-z"},
      {"compile --engine rtl", "no option of tegula compile"},
      {"run --engine", "needs a value"},
      {"run --k-tile 0", "no number from 1 on"},
      {"run --k-tile -3", "no number from 1 on"},
      {"run --k-tile 3x", "no number from 1 on"},
      {"run --k-tile 99999999999999999999", "no number from 1 on"},
      {"run --seed x", "no number from 0 on"},
      {"run --seed 1 --seed 2", "given twice"},
      {"run --arch=", "needs"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_arena arena = {0};
    tg_options o;
    tg_diag diag = {""};
    EXPECT_EQ(parse(&arena, cases[i].line, &o, &diag), TG_INVALID);
    EXPECT_HAS(diag.message, cases[i].says);
    tg_arena_release(&arena);
  }
}

TG_TEST(options, help_lists_every_option_of_a_command) {
  tg_arena arena = {0};
  for (int c = 0; c < TG_COMMAND_COUNT; c++) {
    const char *help = tg_help_command(&arena, (tg_command_id)c);
    for (int o = 0; o < TG_OPTION_COUNT; o++) {
      const tg_option_info *info = tg_option_get((tg_option_id)o);
      bool listed = strstr(help, tg_arena_printf(&arena, "--%s ", info->name)) != NULL;
      if (listed != (bool)(info->commands >> c & 1))
        tg_test_fail(__FILE__, __LINE__, "--%s in the help of %s", info->name,
                     tg_command_get((tg_command_id)c)->name);
    }
    EXPECT_HAS(tg_help_overview(&arena), tg_command_get((tg_command_id)c)->summary);
  }
  tg_arena_release(&arena);
}
