/* From options to a compiled session with inputs. */
#include "frontend/dtype.h"
#include "runtime/command/command.h"
#include "runtime/npy.h"
#include "runtime/session/precision_options.h"
#include "runtime/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that have an effect on compiling only. */
static const tg_option_id compiling[] = {
    TG_OPT_PRESET,         TG_OPT_DISABLE,   TG_OPT_AMP,        TG_OPT_AMP_DTYPE,    TG_OPT_AMP_OUT,
    TG_OPT_HMP_LEVEL,      TG_OPT_BF16_OPS,  TG_OPT_FP32_OPS,   TG_OPT_DEVICE,       TG_OPT_MATMUL,
    TG_OPT_CONV_PRECISION, TG_OPT_MIXED_OPS, TG_OPT_CAST_RULES, TG_OPT_TILING_ACCUM, TG_OPT_K_TILE,
    TG_OPT_SEED,           TG_OPT_ARCH,      TG_OPT_SET,        TG_OPT_BATCH,        TG_OPT_DIM,
    TG_OPT_CASTS,          TG_OPT_RULES_OUT, TG_OPT_EXPORT,     TG_OPT_DOT,          TG_OPT_SVG,
    TG_OPT_ANY_TILING,     TG_OPT_DUMP,      TG_OPT_INFERENCE,  TG_OPT_CONST,        TG_OPT_OPT,
    TG_OPT_ATTENTION};

static tg_status refuse_compiling(tg_context *context, const char *path) {
  for (size_t i = 0; i < sizeof compiling / sizeof *compiling; i++)
    if (tg_given(&context->options, compiling[i]))
      return tg_fail(&context->diag, TG_INVALID, "%s is a compiled program: --%s comes too late", path,
                     tg_option_get(compiling[i])->name);
  return TG_OK;
}

static tg_status bind_dim(tg_context *context, tg_session *session, const char *text) {
  const char *name, *value;
  tg_status status = tg_split_option(context, TG_OPT_DIM, text, &name, &value);
  if (status) return status;
  char *end;
  errno = 0;
  long long size = strtoll(value, &end, 10);
  if (errno || *end || size < 1) return tg_fail(&context->diag, TG_INVALID, "--dim: \"%s\" is no size", text);
  return tg_session_bind_dim(session, name, size, &context->diag);
}

static tg_status fit_shape(tg_context *context, tg_session *session, const char *name, const tg_npy *array) {
  return tg_session_bind_shape(session, name, array->rank, array->dims, &context->diag);
}

tg_status tg_bind_dims(tg_context *context, tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_DIM]; i++)
    status = bind_dim(context, session, o->values[TG_OPT_DIM][i]);
  return status;
}

/* Numbers with commas between them, as the input's type has them: one for a scalar, a list for a vector. */
static tg_status read_numbers(tg_context *context, const tg_value *input, const char *text,
                              tg_npy *out_array) {
  enum { MOST = 1024 };
  bool integers = tg_dtype_is_integer(input->dtype) || input->dtype == TG_BOOL;
  int64_t *whole = TG_NEW_ARRAY(&context->arena, int64_t, MOST), count = 0;
  float *real = TG_NEW_ARRAY(&context->arena, float, MOST);
  const char *at = text;
  for (bool more = true; more; count++) {
    char *end;
    errno = 0;
    bool is_word = !strncmp(at, "true", 4) || !strncmp(at, "false", 5);
    if (input->dtype == TG_BOOL && is_word)
      whole[count] = *at == 't', end = (char *)at + (*at == 't' ? 4 : 5);
    else if (integers)
      whole[count] = strtoll(at, &end, 10);
    else
      real[count] = strtof(at, &end);
    more = *end == ',';
    if (end == at || errno == ERANGE || (*end && !more) || count + 1 == MOST)
      return tg_fail(&context->diag, TG_INVALID, "--const: \"%s\" is neither numbers nor a file .npy", text);
    at = end + more;
  }
  *out_array = (tg_npy){.dtype = integers ? TG_I64 : TG_F32,
                        .rank = input->rank > 1 ? 1 : input->rank,
                        .dims = {count},
                        .count = count,
                        .data = integers ? (void *)whole : (void *)real};
  if (!input->rank && count != 1)
    return tg_fail(&context->diag, TG_INVALID, "--const: input \"%s\" is one number", input->name);
  return TG_OK;
}

static tg_status fix_constant(tg_context *context, tg_session *session, const char *text) {
  const char *name, *value;
  tg_npy array;
  tg_status status = tg_split_option(context, TG_OPT_CONST, text, &name, &value);
  if (status) return status;
  const tg_value *input = tg_session_find_fixable(session, name);
  size_t length = strlen(value);
  if (length > 4 && !strcmp(value + length - 4, ".npy"))
    status = tg_npy_read(&context->arena, value, &array, &context->diag);
  else if (!input)
    return tg_fail(&context->diag, TG_INVALID, "--const: the model has no input \"%s\"", name);
  else
    status = read_numbers(context, input, value, &array);
  return status ? status : tg_session_fix_input(session, name, &array, &context->diag);
}

static tg_status fix_constants(tg_context *context, tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_CONST]; i++)
    status = fix_constant(context, session, o->values[TG_OPT_CONST][i]);
  return status;
}

static tg_status fix_deciding(tg_context *context, tg_session *session, const char *name,
                              const tg_npy *array) {
  return tg_session_fix_deciding(session, name, array, &context->diag);
}

static tg_status note_integers(tg_context *context, tg_session *session, const char *name,
                               const tg_npy *array) {
  (void)context, (void)name;
  tg_session_note_integers(session, array);
  return TG_OK;
}

static tg_status bind_sizes(tg_context *context, tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = tg_bind_dims(context, session);
  if (!status && tg_given(o, TG_OPT_BATCH))
    status = tg_session_bind_batch(session, (int64_t)tg_option_number(o, TG_OPT_BATCH, 1), &context->diag);
  if (!status) status = fix_constants(context, session);
  if (!status) status = tg_for_inputs(context, session, fit_shape);
  if (!status) status = tg_for_inputs(context, session, note_integers);
  return status ? status : tg_for_inputs(context, session, fix_deciding);
}

/* A warning is said once, however many compilations of one command meet its cause. */
static bool is_said(tg_context *context, const char *line) {
  for (size_t i = 0; i < context->said_count; i++)
    if (!strcmp(context->said[i], line)) return true;
  TG_PUSH(&context->arena, context->said, context->said_count, context->said_capacity,
          tg_arena_strdup(&context->arena, line));
  return false;
}

static void say(void *user, bool warning, const char *line) {
  tg_context *context = user;
  if (!context->quiet && !(warning && is_said(context, line)))
    fprintf(stderr, "tegula: %s%s\n", warning ? "warning: " : "", line);
}

const char *tg_any_of(tg_context *context, tg_option_id option) {
  const tg_options *o = &context->options;
  const char *all = NULL;
  for (size_t i = 0; i < o->counts[option]; i++) {
    const char *each = o->values[option][i];
    all = !all ? each : tg_arena_printf(&context->arena, i == 1 ? "(%s)|(%s)" : "%s|(%s)", all, each);
  }
  return all;
}

tg_status tg_compile_options_of(tg_context *context, tg_compile_options *out_options) {
  const tg_options *o = &context->options;
  uint64_t k_tile = tg_option_number(o, TG_OPT_K_TILE, 0);
  if (o->counts[TG_OPT_ARCH] > 1) return tg_fail(&context->diag, TG_INVALID, "--arch is given twice");
  if (k_tile > INT32_MAX) return tg_fail(&context->diag, TG_INVALID, "--k-tile: is too long");
  *out_options = (tg_compile_options){.arch = tg_option_text(o, TG_OPT_ARCH, NULL),
                                      .settings = o->values[TG_OPT_SET],
                                      .setting_count = o->counts[TG_OPT_SET],
                                      .dram = tg_option_text(o, TG_OPT_DRAM, NULL),
                                      .energy = tg_option_text(o, TG_OPT_ENERGY, NULL),
                                      .disable_graphamp = tg_any_of(context, TG_OPT_DISABLE),
                                      .amp_out_dtype = tg_option_text(o, TG_OPT_AMP_OUT, NULL),
                                      .bf16_ops = tg_option_text(o, TG_OPT_BF16_OPS, NULL),
                                      .fp32_ops = tg_option_text(o, TG_OPT_FP32_OPS, NULL),
                                      .mixed_precision_ops = tg_option_text(o, TG_OPT_MIXED_OPS, NULL),
                                      .cast_rules = tg_option_text(o, TG_OPT_CAST_RULES, NULL),
                                      .tiling_accum = tg_option_text(o, TG_OPT_TILING_ACCUM, NULL),
                                      .k_tile = (int)k_tile,
                                      .seed = tg_option_number(o, TG_OPT_SEED, 1),
                                      .inference = tg_given(o, TG_OPT_INFERENCE),
                                      .any_tiling = tg_option_number(o, TG_OPT_ANY_TILING, 0),
                                      .opt = tg_option_text(o, TG_OPT_OPT, NULL),
                                      .attention = tg_option_text(o, TG_OPT_ATTENTION, NULL),
                                      .log = say,
                                      .log_user = context,
                                      .verbose = context->verbose};
#define POLICY(option, member) out_options->member = tg_option_text(o, TG_OPT_##option, NULL);
#include "runtime/session/policy.def"
#undef POLICY
  if (context->policy) tg_precision_take(out_options, context->policy);
  return TG_OK;
}

static tg_status compile(tg_context *context, tg_session *session, bool map,
                         const tg_compile_options *precision) {
  tg_compile_options options;
  tg_status status = tg_compile_options_of(context, &options);
  if (status) return status;
  if (precision) {
    tg_precision_take(&options, precision);
    options.tiling_accum = precision->tiling_accum;
  }
  return map ? tg_session_compile(session, &options, &context->diag)
             : tg_session_decide(session, &options, &context->diag);
}

/* Rules of the nodes by id, in place of the model's own. */
static void put_casts(tg_session *session, const char *const *casts, int64_t count) {
  TG_FOR_NODES(session->model, node)
  if (node->id >= 0 && node->id < count && casts[node->id])
    node->casts = tg_arena_strdup(&session->arena, casts[node->id]);
}

tg_status tg_open_with_casts(tg_context *context, const char *const *casts, int64_t count,
                             tg_session **out_session) {
  tg_session *session;
  tg_status status = tg_load_operand(context, &session);
  if (status) return status;
  if (tg_session_is_compiled(session))
    status = tg_fail(&context->diag, TG_INVALID,
                     "%s is a compiled program: only a model can be compiled anew", session->path);
  if (!status) status = bind_sizes(context, session);
  if (!status) {
    put_casts(session, casts, count);
    status = compile(context, session, true, NULL);
  }
  if (status)
    tg_session_close(session);
  else
    *out_session = session;
  return status;
}

/* Rows of a table are named by their policies: the model's own rules would make them all the same. */
static void forget_own_rules(tg_context *context, tg_session *session) {
  int count = tg_session_drop_own_rules(session);
  if (!count) return;
  say(context, true,
      tg_arena_printf(&context->arena,
                      "%s: cast rules of the model's own (metadata tegula.casts of %d node%s) have no effect "
                      "here, where policies are compared",
                      session->path, count, count == 1 ? "" : "s"));
}

/* What a compiled program may still be told: the memory behind it and what actions cost, which change no instruction. */
static tg_status open_program(tg_context *context, tg_session *session) {
  const char *dram = tg_option_text(&context->options, TG_OPT_DRAM, NULL),
             *energy = tg_option_text(&context->options, TG_OPT_ENERGY, NULL);
  tg_params *params = &session->program->params;
  tg_status status = refuse_compiling(context, session->path);
  if (!status && dram) status = tg_dram_device_load(dram, NULL, &params->dram, &context->diag);
  if (!status && energy) status = tg_energy_load(energy, NULL, &params->energy, &context->diag);
  return status;
}

/* They are taken wherever precision is, and count in training. */
static void warn_of_training_options(tg_context *context) {
  static const tg_option_id ids[] = {TG_OPT_FP32_PARAMS, TG_OPT_PARAM_ROUNDING, TG_OPT_BF16_OPTIMIZER,
                                     TG_OPT_WEIGHT_GRAD_REDUCE, TG_OPT_LOSS_SCALE};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (tg_given(&context->options, ids[i]))
      say(context, true,
          tg_arena_printf(&context->arena, "--%s is of training: it changes nothing here",
                          tg_option_get(ids[i])->name));
}

static tg_status open_session(tg_context *context, bool map, const tg_compile_options *precision,
                              tg_session **out_session) {
  tg_session *session;
  tg_status status = tg_load_operand(context, &session);
  if (status) return status;
  if (tg_session_is_compiled(session))
    status = precision ? tg_fail(&context->diag, TG_INVALID,
                                 "%s is a compiled program: only a model can be compiled anew", session->path)
                       : open_program(context, session);
  else if (!(status = bind_sizes(context, session))) {
    warn_of_training_options(context);
    tg_progress(context, "compiling");
    if (precision && map) forget_own_rules(context, session);
    session->dumped = tg_option_text(&context->options, TG_OPT_DUMP, NULL);
    session->dump = context->quiet ? NULL : stdout;
    status = compile(context, session, map, precision);
  }
  if (status)
    tg_session_close(session);
  else
    *out_session = session;
  return status;
}

tg_status tg_open_session(tg_context *context, tg_session **out_session) {
  return open_session(context, true, NULL, out_session);
}

tg_status tg_open_under(tg_context *context, const tg_compile_options *precision, tg_session **out_session) {
  return open_session(context, true, precision, out_session);
}

tg_status tg_open_decided(tg_context *context, tg_session **out_session) {
  return open_session(context, false, NULL, out_session);
}

tg_status tg_open_decided_under(tg_context *context, const char *preset, tg_session **out_session) {
  tg_compile_options precision = {.preset = preset};
  return open_session(context, false, &precision, out_session);
}
