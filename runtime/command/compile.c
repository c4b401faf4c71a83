/* tegula compile, inspect and zoo */
#include "frontend/onnx/onnx.h"
#include "runtime/command/command.h"
#include "runtime/draw.h"
#include "runtime/inspect.h"
#include "runtime/inspect_casts.h"
#include "runtime/json_text.h"
#include "runtime/report/report.h"
#include "runtime/zoo.h"

#include <stdio.h>

static tg_status needs_output(tg_context *context, const char **out_path) {
  *out_path = tg_option_text(&context->options, TG_OPT_OUTPUT, NULL);
  if (*out_path) return TG_OK;
  return tg_fail(&context->diag, TG_INVALID, "tegula %s needs -o FILE",
                 tg_command_get(context->options.command)->name);
}

static void print_compiled(const tg_context *context, const tg_session *session, const char *path) {
  const tg_program *program = session->program;
  if (context->json) {
    json_t *object = json_pack("{s:o, s:o, s:o, s:i, s:I, s:f}", "model", tg_report_model(session), "arch",
                               tg_report_arch(&program->params), "precision", tg_report_precision(program),
                               "sections", (int)program->invocation_count, "peak_device_bytes",
                               (json_int_t)program->dram_bytes, "compile_seconds", session->compile_seconds);
    tg_print_json(object);
    json_decref(object);
  } else if (!context->quiet) {
    printf("%s: %u sections, %.1f MB of device memory, for %s\n", path, program->invocation_count,
           (double)program->dram_bytes / 1e6, program->params.name);
  }
}

tg_status tg_command_compile(tg_context *context) {
  const char *path;
  tg_session *session = NULL;
  tg_status status = needs_output(context, &path);
  if (!status) status = tg_open_session(context, &session);
  if (!status) status = tg_session_save(session, path, &context->diag);
  tg_progress(context, NULL);
  if (!status) print_compiled(context, session, path);
  tg_session_close(session);
  return status;
}

/* --casts and the files: the policy alone, whether or not the array can have the model. */
static tg_status inspect_decisions(tg_context *context) {
  const tg_options *o = &context->options;
  tg_session *session = NULL;
  const char *rules = tg_option_text(o, TG_OPT_RULES_OUT, NULL),
             *model = tg_option_text(o, TG_OPT_EXPORT, NULL);
  const char *dot = tg_option_text(o, TG_OPT_DOT, NULL), *svg = tg_option_text(o, TG_OPT_SVG, NULL);
  tg_status status = tg_open_decided(context, &session);
  tg_progress(context, NULL);
  if (!status && rules) status = tg_write_cast_rules(session, rules, NULL, &context->diag);
  if (!status && model) status = tg_write_decided_model(session, model, &context->diag);
  if (!status && dot) status = tg_draw_dot(session->decided, dot, &context->diag);
  if (!status && svg) status = tg_draw_svg(session->decided, svg, &context->diag);
  if (!status && tg_given(o, TG_OPT_CASTS)) {
    json_t *casts = tg_inspect_casts(session);
    if (tg_answer_as_text(context, casts)) tg_inspect_casts_print(casts, stdout);
    json_decref(casts);
  }
  tg_session_close(session);
  return status;
}

tg_status tg_command_inspect(tg_context *context) {
  static const tg_option_id decisions[] = {TG_OPT_CASTS, TG_OPT_RULES_OUT, TG_OPT_EXPORT, TG_OPT_DOT,
                                           TG_OPT_SVG};
  for (size_t i = 0; i < sizeof decisions / sizeof *decisions; i++)
    if (tg_given(&context->options, decisions[i])) return inspect_decisions(context);
  tg_session *session = NULL;
  const char *pass = tg_option_text(&context->options, TG_OPT_DUMP, NULL);
  tg_status status = tg_open_session(context, &session);
  tg_progress(context, NULL);
  if (!status && pass && !session->dumps)
    status =
        tg_fail(&context->diag, TG_INVALID,
                "--dump: no pass \"%s\" has run; frontend/pipeline.c and mapper/passes.c list them", pass);
  if (!status && !pass) {
    json_t *inspection = tg_inspect(session);
    if (tg_answer_as_text(context, inspection)) tg_inspect_print(inspection, stdout);
    json_decref(inspection);
  }
  tg_session_close(session);
  return status;
}

static tg_status list_zoo(const tg_context *context) {
  json_t *names = json_array();
  for (const tg_zoo_entry *entry = tg_zoo; entry->name; entry++) {
    if (!context->json) printf("%-18s %s\n", entry->name, entry->summary);
    json_array_append_new(names, json_string(entry->name));
  }
  if (context->json) tg_print_json(names);
  json_decref(names);
  return TG_OK;
}

tg_status tg_command_zoo(tg_context *context) {
  const tg_options *o = &context->options;
  if (tg_given(o, TG_OPT_LIST)) return list_zoo(context);
  tg_zoo_options options = {.m = (int64_t)tg_option_number(o, TG_OPT_M, 256),
                            .n = (int64_t)tg_option_number(o, TG_OPT_N, 256),
                            .k = (int64_t)tg_option_number(o, TG_OPT_K, 256),
                            .seq = (int64_t)tg_option_number(o, TG_OPT_SEQ, 0),
                            .hidden = (int64_t)tg_option_number(o, TG_OPT_HIDDEN, 0),
                            .heads = (int64_t)tg_option_number(o, TG_OPT_HEADS, 0),
                            .size = (int64_t)tg_option_number(o, TG_OPT_SIZE, 0),
                            .vocabulary = (int64_t)tg_option_number(o, TG_OPT_VOCABULARY, 0),
                            .layers = (int64_t)tg_option_number(o, TG_OPT_LAYERS, 0),
                            .constant_b = tg_given(o, TG_OPT_CONSTANT_B),
                            .batch = (int64_t)tg_option_number(o, TG_OPT_BATCH, 0),
                            .seed = tg_option_number(o, TG_OPT_SEED, 1)};
  const char *name, *path;
  tg_graph *graph;
  tg_status status = tg_one_operand(context, &name);
  if (!status) status = needs_output(context, &path);
  if (!status) status = tg_zoo_build(&context->arena, name, &options, &graph, &context->diag);
  if (!status) status = tg_onnx_write(path, graph, &context->diag);
  if (!status && context->json) {
    json_t *written = json_pack("{s:o, s:o}", "name", tg_json_text(name), "file", tg_json_text(path));
    tg_print_json(written);
    json_decref(written);
  }
  return status;
}
