/* tegula compile, inspect and zoo */
#include "frontend/onnx/onnx.h"
#include "runtime/command/command.h"
#include "runtime/inspect.h"
#include "runtime/report.h"
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

tg_status tg_command_inspect(tg_context *context) {
  tg_session *session = NULL;
  tg_status status = tg_open_session(context, &session);
  tg_progress(context, NULL);
  if (!status) {
    json_t *inspection = tg_inspect(session);
    if (context->json)
      tg_print_json(inspection);
    else if (!context->quiet)
      tg_inspect_print(inspection, stdout);
    json_decref(inspection);
  }
  tg_session_close(session);
  return status;
}

static tg_status list_zoo(const tg_context *context) {
  json_t *names = json_array();
  for (const tg_zoo_entry *entry = tg_zoo; entry->name; entry++) {
    if (!context->json) printf("%-8s %s\n", entry->name, entry->summary);
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
                            .constant_b = tg_given(o, TG_OPT_CONSTANT_B),
                            .batch = (int64_t)tg_option_number(o, TG_OPT_BATCH, 0),
                            .seed = tg_option_number(o, TG_OPT_SEED, 1)};
  const char *name, *path;
  tg_graph *graph;
  tg_status status = tg_one_operand(context, &name);
  if (!status) status = needs_output(context, &path);
  if (!status) status = tg_zoo_build(&context->arena, name, &options, &graph, &context->diag);
  return status ? status : tg_onnx_write(path, graph, &context->diag);
}
