/* tegula fp */
#include "runtime/command/command.h"
#include "runtime/fp/explain.h"

#include <stdio.h>
#include <string.h>

static tg_status read_question(tg_context *context, tg_fp_question *out) {
  const tg_options *o = &context->options;
  const char *const *words = o->operands;
  size_t count = o->operand_count, first = 1;
  int wanted = 1;
  if (!count)
    return tg_fail(&context->diag, TG_INVALID, "tegula fp needs %s", tg_command_get(o->command)->operands);
  if (count == 3 && tg_fp_find_operation(words[1], &out->operation, &wanted)) { /* A OP B */
    if (wanted != 2)
      return tg_fail(&context->diag, TG_INVALID, "%s is written before its operands", words[1]);
    out->texts[0] = words[0];
    out->texts[1] = words[2];
    return TG_OK;
  }
  if (!tg_fp_find_operation(words[0], &out->operation, &wanted)) first = 0;
  if (!first && count > 1)
    return tg_fail(&context->diag, TG_INVALID,
                   "\"%s\" is none of add, sub, mul, div, fma, sqrt, cast, + - '*' /",
                   words[count == 3 ? 1 : 0]);
  if (count - first != (size_t)wanted)
    return tg_fail(&context->diag, TG_INVALID, "%s takes %d operand%s, not %zu", words[0], wanted,
                   wanted == 1 ? "" : "s", count - first);
  for (size_t i = 0; i < (size_t)wanted; i++) out->texts[i] = words[first + i];
  return TG_OK;
}

static tg_status read_coordinate(tg_context *context, tg_fp_question *question, tg_option_id option,
                                 uint32_t *out) {
  uint64_t number = tg_option_number(&context->options, option, 0);
  if (number > UINT32_MAX)
    return tg_fail(&context->diag, TG_INVALID, "--%s: at most 4294967295", tg_option_get(option)->name);
  *out = (uint32_t)number;
  question->draws |= tg_given(&context->options, option);
  return TG_OK;
}

static tg_status read_options(tg_context *context, tg_fp_question *out) {
  const tg_options *o = &context->options;
  static const tg_option_id coordinates[] = {TG_OPT_STEP, TG_OPT_NODE, TG_OPT_TILE, TG_OPT_ROW, TG_OPT_COL};
  uint32_t *fields[] = {&out->at.step, &out->at.node, &out->at.tile, &out->at.row, &out->at.column};
  for (size_t i = 0; i < o->counts[TG_OPT_FORMAT]; i++)
    for (int f = 0; f < TG_FP_FORMATS; f++)
      if (!strcmp(o->values[TG_OPT_FORMAT][i], tg_fp_formats[f].name)) out->formats |= 1u << f;
  out->at.seed = tg_option_number(o, TG_OPT_SEED, 1);
  out->draws = tg_given(o, TG_OPT_SEED);
  for (size_t i = 0; i < sizeof coordinates / sizeof *coordinates; i++) {
    tg_status status = read_coordinate(context, out, coordinates[i], fields[i]);
    if (status) return status;
  }
  return TG_OK;
}

tg_status tg_command_fp(tg_context *context) {
  tg_fp_question question = {.operation = TG_FP_VALUE};
  json_t *answer = NULL;
  tg_status status = read_question(context, &question);
  if (!status) status = read_options(context, &question);
  if (!status) status = tg_fp_explain(&question, &answer, &context->diag);
  if (!status && tg_answer_as_text(context, answer)) tg_fp_print(answer, stdout);
  json_decref(answer);
  return status;
}
