#include "runtime/session/precision_options.h"
#include "runtime/options.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The position of `value` in "a|b|c", 0 for NULL; -1: it is none of them. */
static int choose(const char *choices, const char *value) {
  int index = 0;
  if (!value) return 0;
  for (const char *at = choices; *at; index++) {
    size_t length = strcspn(at, "|");
    if (length == strlen(value) && !strncmp(at, value, length)) return index;
    at += length + (at[length] == '|');
  }
  return -1;
}

typedef struct choice {
  tg_option_id option;
  const char *value;
  int chosen;
} choice;

static tg_status choose_all(choice *rows, int count, tg_diag *diag) {
  for (int i = 0; i < count; i++) {
    const tg_option_info *option = tg_option_get(rows[i].option);
    rows[i].chosen = choose(option->choices, rows[i].value);
    if (rows[i].chosen < 0)
      return tg_fail(diag, TG_INVALID, "%s: \"%s\" is none of %s", option->name, rows[i].value,
                     option->choices);
  }
  return TG_OK;
}

/* Options that say nothing without the policy that they are of. */
static tg_status check_belonging(const tg_compile_options *o, tg_diag *diag) {
  const struct {
    const char *option, *value, *policy;
  } rows[] = {
      {"amp-dtype", o->amp_dtype, NULL},          {"amp-out-dtype", o->amp_out_dtype, NULL},
      {"hmp-opt-level", o->hmp_opt_level, "hmp"}, {"bf16-ops", o->bf16_ops, "hmp"},
      {"fp32-ops", o->fp32_ops, "hmp"},           {"autocast-device", o->autocast_device, "autocast"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!rows[i].value || (o->amp && (!rows[i].policy || !strcmp(rows[i].policy, o->amp)))) continue;
    return tg_fail(diag, TG_INVALID, "--%s needs --amp%s%s", rows[i].option, rows[i].policy ? " " : "",
                   rows[i].policy ? rows[i].policy : "");
  }
  if (o->amp && o->preset)
    return tg_fail(diag, TG_INVALID, "--graphamp-preset %s and --amp %s are two policies: choose one",
                   o->preset, o->amp);
  if (o->amp && o->mixed_precision_ops)
    return tg_fail(diag, TG_INVALID,
                   "--enable-mixed-precision-ops goes with --graphamp-preset, not with --amp %s", o->amp);
  return TG_OK;
}

static tg_status parse_mixed_ops(const char *list, tg_precision_options *out, tg_diag *diag) {
  for (const char *at = list; at && *at;) {
    size_t length = strcspn(at, ", ");
    if (length == 4 && !strncmp(at, "gemm", 4))
      out->mixed_gemm = true;
    else if (length == 7 && !strncmp(at, "softmax", 7))
      out->mixed_softmax = true;
    else
      return tg_fail(diag, TG_INVALID, "--enable-mixed-precision-ops: \"%.*s\" is none of gemm, softmax",
                     (int)(length < 60 ? length : 60), at);
    at += length;
    at += strspn(at, ", ");
  }
  return TG_OK;
}

/* exact, blocked, or blocked:N. */
static tg_status parse_attention(const char *text, tg_precision_options *out, tg_diag *diag) {
  out->attention_block = 0;
  if (!text || !strcmp(text, "exact")) return TG_OK;
  out->attention_block = TG_ATTENTION_BLOCK;
  if (!strcmp(text, "blocked")) return TG_OK;
  bool sized = !strncmp(text, "blocked:", 8) && text[8] >= '0' && text[8] <= '9';
  char *end = NULL;
  unsigned long long block = sized ? strtoull(text + 8, &end, 10) : 0;
  if (!sized || *end)
    return tg_fail(diag, TG_INVALID, "attention: \"%s\" is none of exact|blocked|blocked:N", text);
  if (block < TG_ATTENTION_BLOCKS_OF || block > TG_MOST_ATTENTION_BLOCK)
    return tg_fail(diag, TG_INVALID, "attention: \"%s\": blocks have %d to %d keys", text,
                   TG_ATTENTION_BLOCKS_OF, TG_MOST_ATTENTION_BLOCK);
  out->attention_block = (int)block;
  return TG_OK;
}

static tg_status read_files(tg_arena *arena, const tg_compile_options *o, tg_precision_options *out,
                            tg_diag *diag) {
  tg_op_list *bf16 = NULL, *fp32 = NULL;
  tg_cast_rules *rules = NULL;
  if ((o->bf16_ops && tg_op_list_read(arena, o->bf16_ops, &bf16, diag)) ||
      (o->fp32_ops && tg_op_list_read(arena, o->fp32_ops, &fp32, diag)) ||
      (o->cast_rules && tg_cast_rules_read(arena, o->cast_rules, &rules, diag)))
    return TG_INVALID;
  out->bf16_ops = bf16;
  out->fp32_ops = fp32;
  out->rules = rules;
  return TG_OK;
}

tg_status tg_precision_of(tg_arena *arena, const tg_compile_options *o, tg_precision_options *out,
                          tg_diag *diag) {
  enum { ACCUM, AMP, DTYPE, OUT_DTYPE, LEVEL, DEVICE, MATMUL, CONV, CHOICES };
  static const tg_precision_family families[] = {TG_FAMILY_HMP, TG_FAMILY_AUTOCAST, TG_FAMILY_RAF};
  static const tg_dtype out_dtypes[] = {TG_F32, TG_BF16, TG_F16};
  choice rows[CHOICES] = {
      {TG_OPT_TILING_ACCUM, o->tiling_accum, 0}, {TG_OPT_AMP, o->amp, 0},
      {TG_OPT_AMP_DTYPE, o->amp_dtype, 0},       {TG_OPT_AMP_OUT, o->amp_out_dtype, 0},
      {TG_OPT_HMP_LEVEL, o->hmp_opt_level, 0},   {TG_OPT_DEVICE, o->autocast_device, 0},
      {TG_OPT_MATMUL, o->matmul_precision, 0},   {TG_OPT_CONV_PRECISION, o->conv_precision, 0}};
  tg_precision_defaults(out);
  if (choose_all(rows, CHOICES, diag) || check_belonging(o, diag) ||
      parse_mixed_ops(o->mixed_precision_ops, out, diag) || parse_attention(o->attention, out, diag) ||
      read_files(arena, o, out, diag))
    return TG_INVALID;
  out->disable_graphamp = o->disable_graphamp;
  if (o->k_tile) out->k_tile = o->k_tile;
  out->tiling_accum = rows[ACCUM].chosen ? TG_ACCUM_BF16SR : TG_ACCUM_FP32;
  if (o->amp) out->family = families[rows[AMP].chosen];
  out->amp_dtype = rows[DTYPE].chosen ? TG_F16 : TG_BF16;
  if (o->amp_out_dtype) out->amp_out_dtype = out_dtypes[rows[OUT_DTYPE].chosen];
  out->hmp_level = rows[LEVEL].chosen ? TG_HMP_O2 : TG_HMP_O1;
  out->device = (tg_autocast_device)rows[DEVICE].chosen;
  out->matmul = (tg_matmul_precision)rows[MATMUL].chosen;
  out->conv = (tg_matmul_precision)rows[CONV].chosen;
  out->callback = o->cast_callback;
  out->callback_user = o->cast_user;
  out->log = o->log;
  out->log_user = o->log_user;
  out->verbose = o->verbose;
  return o->preset ? tg_precision_preset_parse(o->preset, &out->preset, diag) : TG_OK;
}

/* --- the report */

static const char *or_else(const char *value, const char *otherwise) { return value ? value : otherwise; }

/* "mp1", "hmp O1 bf16", "mp0, matmul high". */
static const char *policy_text(tg_arena *arena, const tg_compile_options *o, int own_rules) {
  const char *text = or_else(o->preset, "mp0"), *dtype = or_else(o->amp_dtype, "bf16");
  if (o->amp) {
    const char *detail = "";
    if (!strcmp(o->amp, "hmp"))
      detail = tg_arena_printf(arena, "%s ", or_else(o->hmp_opt_level, "O1"));
    else if (!strcmp(o->amp, "autocast"))
      detail = tg_arena_printf(arena, "%s ", or_else(o->autocast_device, "cuda"));
    text = tg_arena_printf(arena, "%s %s%s", o->amp, detail, dtype);
  }
  if (o->mixed_precision_ops) text = tg_arena_printf(arena, "%s, mixed %s", text, o->mixed_precision_ops);
  if (o->matmul_precision && strcmp(o->matmul_precision, "highest"))
    text = tg_arena_printf(arena, "%s, matmul %s", text, o->matmul_precision);
  if (o->conv_precision && strcmp(o->conv_precision, "highest"))
    text = tg_arena_printf(arena, "%s, conv %s", text, o->conv_precision);
  if (o->cast_rules) text = tg_arena_printf(arena, "%s, cast rules", text);
  if (own_rules) text = tg_arena_printf(arena, "%s, rules of the model", text);
  return text;
}

static json_t *text_or_null(const char *text) { return text ? json_string(text) : json_null(); }

void tg_precision_take(tg_compile_options *options, const tg_compile_options *policy) {
#define POLICY(option, member) options->member = policy->member;
#include "runtime/session/policy.def"
#undef POLICY
}

const char *tg_precision_note(tg_arena *arena, const tg_compile_options *o, int own_rules) {
  bool hmp = o->amp && !strcmp(o->amp, "hmp"), autocast = o->amp && !strcmp(o->amp, "autocast");
  json_t *note = json_object();
  json_object_set_new(note, "policy", json_string(policy_text(arena, o, own_rules)));
  json_object_set_new(note, "preset", o->amp ? json_null() : json_string(or_else(o->preset, "mp0")));
  json_object_set_new(note, "amp", text_or_null(o->amp));
  json_object_set_new(note, "amp_dtype", text_or_null(o->amp ? or_else(o->amp_dtype, "bf16") : NULL));
  json_object_set_new(note, "amp_out_dtype", text_or_null(o->amp_out_dtype));
  json_object_set_new(note, "hmp_opt_level", text_or_null(hmp ? or_else(o->hmp_opt_level, "O1") : NULL));
  json_object_set_new(note, "autocast_device",
                      text_or_null(autocast ? or_else(o->autocast_device, "cuda") : NULL));
  json_object_set_new(note, "matmul_precision", json_string(or_else(o->matmul_precision, "highest")));
  if (o->conv_precision) json_object_set_new(note, "conv_precision", json_string(o->conv_precision));
  json_object_set_new(note, "mixed_precision_ops", text_or_null(o->mixed_precision_ops));
  json_object_set_new(note, "disable_graphamp", text_or_null(o->disable_graphamp)); /* NULL: not UTF-8 */
  json_object_set_new(note, "bf16_ops", text_or_null(o->bf16_ops));
  json_object_set_new(note, "fp32_ops", text_or_null(o->fp32_ops));
  json_object_set_new(note, "cast_rules", text_or_null(o->cast_rules));
  json_object_set_new(note, "model_rules", json_integer(own_rules));
  json_object_set_new(note, "tiling_accum", json_string(or_else(o->tiling_accum, "fp32")));
  json_object_set_new(note, "k_tile", json_integer(o->k_tile ? o->k_tile : 128));
  if (o->opt) json_object_set_new(note, "opt", json_string(o->opt));
  if (o->attention) json_object_set_new(note, "attention", json_string(o->attention));
  char *text = json_dumps(note, JSON_COMPACT);
  const char *copy = tg_arena_strdup(arena, text ? text : "{}");
  free(text);
  json_decref(note);
  return copy;
}
