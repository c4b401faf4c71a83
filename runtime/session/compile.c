/* From a model to a program. */
#include "frontend/base/guard.h"
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "frontend/training/batch_statistics.h"
#include "mapper/mapper.h"
#include "runtime/session/precision_options.h"
#include "runtime/session/session.h"

#include <stdio.h>
#include <string.h>

tg_status tg_session_params(const tg_compile_options *options, tg_params *out_params, tg_diag *diag) {
  const tg_array_request request = {options->arch ? options->arch : "edge", options->settings,
                                    options->setting_count, options->dram};
  tg_diag dropped;
  tg_status status = tg_params_build(&request, out_params, &dropped, diag);
  if (!status && options->energy) status = tg_energy_load(options->energy, NULL, &out_params->energy, diag);
  if (!status && dropped.message[0] && options->log) options->log(options->log_user, true, dropped.message);
  return status;
}

/* Keeps the graph as the policy left it: the model's operators, with casts between them. */
static void keep_decided(tg_session *s, const char *pass, const tg_graph *graph) {
  if (strcmp(pass, "precision")) return;
  s->decided = tg_graph_clone(graph, &s->arena);
  s->decided->casts = graph->casts;
  s->decided->cast_count = graph->cast_count;
}

static void dump(tg_session *s, const char *pass, const char *text) {
  if (!s->dumped || strcmp(s->dumped, pass)) return;
  if (s->dump) fprintf(s->dump, "# after %s\n%s", pass, text);
  s->dumps++;
}

static void after_frontend(void *user, const char *pass, const tg_graph *graph) {
  tg_session *s = user;
  tg_arena arena = {0};
  keep_decided(s, pass, graph);
  if (s->dumped) dump(s, pass, tg_graph_print(graph, &arena));
  tg_arena_release(&arena);
}

static void after_mapper(void *user, const char *pass, const char *kernels) { dump(user, pass, kernels); }

static int batch_norms_that_train(const tg_graph *graph) {
  int count = 0;
  TG_FOR_NODES(graph, node)
  count += node->op == TG_OP_BATCH_NORMALIZATION && tg_attr_int(node, TG_ATTR_TRAINING_MODE);
  return count;
}

/* A model in training form runs as ONNX defines it, but that nothing is dropped, or as what it was trained
 * for. */
static void prepare_model(const tg_session *s, const tg_precision_options *precision, bool inference,
                          tg_graph *graph) {
  char line[256];
  int norms = batch_norms_that_train(graph),
      dropouts = inference ? tg_make_inference(graph) - norms : tg_stop_dropout(graph);
  if (!precision || !precision->log || !(norms + dropouts)) return;
  snprintf(
      line, sizeof line,
      "%s: %d BatchNormalization or Dropout node%s in training form: nothing is dropped, statistics are %s",
      s->path, norms + dropouts, norms + dropouts == 1 ? "" : "s",
      inference ? "the running ones" : "those of the batch (--inference: the running ones)");
  precision->log(precision->log_user, true, line);
}

static int drop_own_rules(tg_graph *graph) {
  int count = 0;
  TG_FOR_NODES(graph, node) {
    count += node->casts != NULL;
    node->casts = NULL;
  }
  return count;
}

int tg_session_drop_own_rules(tg_session *session) {
  return session->model ? drop_own_rules(session->model) : 0;
}

/* `precision`: the policy; NULL: the graph is for the host's CPU, in FP32. */
static tg_status lower(tg_session *s, const tg_precision_options *precision, bool inference, bool apart,
                       tg_graph **out_graph, tg_diag *diag) {
  tg_frontend_options frontend;
  tg_frontend_defaults(&frontend);
  if (precision) {
    frontend.precision = *precision;
    frontend.products_apart = apart;
    frontend.observe = after_frontend;
    frontend.observe_user = s;
  }
  *out_graph = tg_graph_clone(s->model, &s->arena);
  prepare_model(s, precision, inference, *out_graph);
  if (!precision) drop_own_rules(*out_graph), frontend.for_cpu = true;
  tg_status status = tg_frontend_lower(*out_graph, &frontend, diag);
  if (status) tg_diag_prefix(diag, "%s", s->path);
  return status;
}

/* Only errors and times against the CPU need it, and lowering is most of what a compilation of many weights takes. */
tg_status tg_session_lower_fp32(tg_session *session, tg_diag *diag) {
  tg_graph *graph = NULL;
  if (session->fp32) return TG_OK;
  locale_t theirs = tg_plain_numbers();
  tg_status status = lower(session, NULL, session->inference, true, &graph, diag);
  uselocale(theirs);
  if (!status) session->fp32 = graph;
  return status;
}

/* Nodes that carry cast rules of the model's own, which come before a policy. */
static int own_rules(const tg_session *s, const tg_compile_options *o) {
  char line[256];
  int count = 0;
  TG_FOR_NODES(s->model, node) count += node->casts != NULL;
  bool asked = o->preset || o->amp || o->matmul_precision || o->conv_precision || o->mixed_precision_ops;
  if (!count || !asked || !o->log) return count;
  snprintf(
      line, sizeof line,
      "%s: cast rules of the model's own (metadata tegula.casts of %d node%s) come before the policy that "
      "is asked for",
      s->path, count, count == 1 ? "" : "s");
  o->log(o->log_user, true, line);
  return count;
}

tg_status tg_session_decide(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  tg_precision_options precision;
  tg_diag later = {""};
  tg_status status = tg_session_needs_model(session, diag);
  if (!status) status = tg_precision_of(&session->arena, options, &precision, diag);
  if (status) return status;
  tg_graph *lowered = NULL;
  status = lower(session, &precision, options->inference, true, &lowered, &later);
  if (!session->decided) return *diag = later, status;
  session->lowered = status ? NULL : lowered; /* decided is decided, whatever the array makes of it */
  session->precision = tg_precision_note(&session->arena, options, own_rules(session, options));
  return TG_OK;
}

/* What a program's users must know of its tensors, and the array need not. */
static void note_elements(const tg_session *s) {
  tg_program *program = s->program;
  for (int i = 0; i < s->input_count; i++) {
    tg_dram_tensor *tensor = tg_find_dram_tensor(program, tg_role_is_input, s->inputs[i].name);
    if (!tensor) continue;
    tensor->type = s->inputs[i].dtype;
    tensor->limit = s->inputs[i].limit;
  }
  for (int i = 0; i < s->output_count; i++) {
    tg_dram_tensor *tensor = tg_find_dram_tensor(program, tg_role_is_output, s->outputs[i].name);
    const tg_value *known = s->lowered->known_outputs[i];
    if (!tensor) continue;
    tensor->type = s->outputs[i].dtype;
    tensor->limit = s->outputs[i].limit;
    size_t bytes = (size_t)s->outputs[i].count * tg_dtype_size(tensor->type);
    if (!known || !bytes) continue;
    uint8_t *copy = TG_NEW_ARRAY(&program->arena, uint8_t, bytes);
    tensor->known = memcpy(copy, known->data, bytes);
  }
}

tg_status tg_session_map_options(const tg_compile_options *options, const tg_precision_options *precision,
                                 tg_map_options *out_map, tg_diag *diag) {
  static const struct {
    const char *name;
    tg_opt_level level;
  } levels[] = {{"o3", TG_OPT_LEVEL_ALL}, {"o1", TG_OPT_LEVEL_FUSION}, {"o0", TG_OPT_LEVEL_NONE}};
  enum { LEVELS = sizeof levels / sizeof *levels };
  int chosen = 0;
  while (options->opt && chosen < LEVELS && strcmp(options->opt, levels[chosen].name) != 0) chosen++;
  if (chosen == LEVELS) return tg_fail(diag, TG_INVALID, "opt: \"%s\" is none of o0|o1|o3", options->opt);
  *out_map = (tg_map_options){.opt = levels[chosen].level,
                              .accum_bf16sr = precision->tiling_accum == TG_ACCUM_BF16SR,
                              .k_tile = precision->k_tile,
                              .seed = options->seed,
                              .any_tiling = options->any_tiling};
  return TG_OK;
}

static tg_status compile(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  tg_status status;
  double begin = tg_host_seconds();
  tg_params params;
  tg_precision_options precision;
  tg_map_options map = {.opt = TG_OPT_LEVEL_ALL};
  status = tg_session_params(options, &params, diag);
  if (!status) status = tg_precision_of(&session->arena, options, &precision, diag);
  if (!status) status = tg_session_map_options(options, &precision, &map, diag);
  session->inference = options->inference;
  if (!status) tg_session_cut_host(session);
  bool apart = map.opt == TG_OPT_LEVEL_NONE;
  if (!status) status = lower(session, &precision, options->inference, apart, &session->lowered, diag);
  if (status) return status;
  map.borrow_constants = true; /* the session has both */
  map.observe = session->dumped ? after_mapper : NULL;
  map.observe_user = session;
  status = tg_map(session->lowered, &params, &map, &session->program, diag);
  if (status) {
    tg_diag_prefix(diag, "%s", session->path);
    return status;
  }
  session->precision = tg_precision_note(&session->arena, options, own_rules(session, options));
  session->program->options = tg_arena_strdup(&session->program->arena, session->precision);
  tg_session_describe_graph(session);
  tg_session_describe_host(session);
  note_elements(session);
  session->compile_seconds = tg_host_seconds() - begin;
  return TG_OK;
}

tg_status tg_take_options(const void *given, void *out_own, size_t own_size, tg_diag *diag) {
  size_t size = own_size;
  memset(out_own, 0, own_size);
  if (!given) return TG_OK;
  memcpy(&size, given, sizeof size); /* the first member */
  if (size % sizeof size)            /* a member would be cut */
    return tg_fail(diag, TG_INVALID, "options of %zu bytes are no structure of this library", size);
  if (size > own_size)
    return tg_fail(diag, TG_INVALID, "options of %zu bytes are of a later library, this one's have %zu", size,
                   own_size);
  memcpy(out_own, given, size ? size : own_size);
  return TG_OK;
}

static tg_status compile_guarded(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  tg_compile_options own;
  tg_guarded_callbacks callbacks;
  tg_status status = tg_session_needs_model(session, diag);
  if (!status) status = tg_take_options(options, &own, sizeof own, diag);
  if (status) return status;
  tg_session_guard_callbacks(session, &own, &callbacks);
  locale_t theirs = tg_plain_numbers();
  status = compile(session, &own, diag);
  uselocale(theirs);
  return status;
}

tg_status tg_session_compile(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  const bool fresh = session && !session->program;
  tg_guard guard;
  tg_guard_enter(&guard);
  if (setjmp(guard.place)) { /* what is half compiled is not */
    if (fresh) {
      tg_program_destroy(session->program);
      session->program = NULL;
      session->input_count = session->output_count = 0;
    }
    return tg_guard_caught(&guard, diag);
  }
  tg_status status = compile_guarded(session, options, diag);
  tg_guard_leave(&guard);
  return status;
}

bool tg_session_is_compiled(const tg_session *session) { return session && session->program; }

static tg_status save_guarded(const tg_session *session, const char *path, tg_diag *diag) {
  if (tg_session_needs(session, true, false, diag)) return TG_INVALID;
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  if (session->host.part.graph)
    return tg_fail(diag, TG_INVALID, "%s: %s runs on the host, which a program does not hold", session->path,
                   session->host.part.where);
  return tg_program_write(session->program, path, diag);
}

tg_status tg_session_save(const tg_session *session, const char *path, tg_diag *diag) {
  TG_GUARDED(diag, save_guarded(session, path, diag));
}
