/* Loading, binding, compiling, running. */
#include "runtime/session.h"
#include "frontend/base/float_formats.h"
#include "frontend/infer.h"
#include "frontend/onnx/onnx.h"
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "frontend/training/batch_statistics.h"
#include "mapper/mapper.h"
#include "runtime/engines.h"
#include "runtime/indices.h"
#include "runtime/precision_options.h"
#include "runtime/steady.h"
#include "runtime/trace/watch.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1024 };

/* A program that has set its locale may write commas in numbers, and read none with points. */
locale_t tg_plain_numbers(void) {
  static _Atomic(locale_t) plain;
  locale_t ours = plain;
  if (!ours) {
    locale_t fresh = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (!fresh || atomic_compare_exchange_strong(&plain, &none, fresh))
      ours = fresh;
    else
      freelocale(fresh), ours = none;
  }
  return uselocale(ours);
}

const char *tg_version(void) { return TEGULA_VERSION; }

double tg_host_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- loading */

tg_dtype tg_storage_dtype(tg_storage storage) {
  static const tg_dtype dtypes[] = {[TG_STORE_FP32] = TG_F32,
                                    [TG_STORE_BF16] = TG_BF16,
                                    [TG_STORE_FP16] = TG_F16,
                                    [TG_STORE_TF32] = TG_TF32};
  return dtypes[storage];
}

/* The first tensor of one side that carries `name`: outputs may share one. */
static tg_dram_tensor *find_tensor(const tg_program *program, bool (*side)(tg_role), const char *name) {
  for (uint32_t t = 0; t < program->tensor_count; t++)
    if (side(program->tensors[t].role) && !strcmp(program->tensors[t].name, name))
      return &program->tensors[t];
  return NULL;
}

/* What a session needs of a tensor of either side. */
static void describe(tg_session *s, tg_tensor_info *info, const char *name, int rank, const int64_t *dims) {
  *info = (tg_tensor_info){.name = tg_arena_strdup(&s->arena, name), .rank = rank, .count = 1};
  for (int d = 0; d < rank; d++) {
    info->dims[d] = dims[d];
    info->count *= dims[d];
  }
}

static void make_room(tg_session *s, int inputs, int outputs) {
  s->inputs = TG_NEW_ARRAY(&s->arena, tg_tensor_info, (size_t)inputs);
  s->outputs = TG_NEW_ARRAY(&s->arena, tg_tensor_info, (size_t)outputs);
  s->input_data = TG_NEW_ARRAY(&s->arena, float *, (size_t)inputs);
  s->output_data = TG_NEW_ARRAY(&s->arena, float *, (size_t)outputs);
  s->output_elements = TG_NEW_ARRAY(&s->arena, const void *, (size_t)outputs);
}

/* tf32 is a format of the array, which others read as fp32. */
static tg_dtype element_type(const tg_dram_tensor *tensor) {
  tg_dtype stored = tg_storage_dtype(tensor->storage);
  return tensor->type ? tensor->type : stored == TG_TF32 ? TG_F32 : stored;
}

static void describe_elements(tg_tensor_info *info, const tg_dram_tensor *tensor) {
  info->dtype = element_type(tensor);
  info->integer = tg_dtype_is_integer(info->dtype);
  info->limit = tensor->limit;
}

static void describe_program(tg_session *s) {
  make_room(s, (int)s->program->tensor_count, (int)s->program->tensor_count);
  for (uint32_t t = 0; t < s->program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &s->program->tensors[t];
    tg_tensor_info *in = &s->inputs[s->input_count], *out = &s->outputs[s->output_count];
    if (tg_role_is_input(tensor->role)) {
      describe(s, in, tensor->name, (int)tensor->rank, tensor->dims);
      describe_elements(in, tensor);
      s->input_count++;
    }
    if (tg_role_is_output(tensor->role)) {
      describe(s, out, tensor->name, (int)tensor->rank, tensor->dims);
      describe_elements(out, tensor);
      s->output_count++;
    }
  }
}

void tg_session_adopt(tg_session *session, const char *precision) {
  session->precision = precision;
  session->program->options = tg_arena_strdup(&session->program->arena, precision);
  describe_program(session);
}

/* Lowered graphs have no Gathers left: the model's own knows what its integers are. */
static void find_rows(tg_session *s) {
  tg_arena scratch = {0};
  tg_diag ignored;
  tg_graph *graph = tg_graph_clone(s->model, &scratch);
  tg_graph_bind_rest(graph, 1);
  if (!tg_graph_infer(graph, &ignored))
    for (int i = 0; i < s->input_count; i++)
      if (s->inputs[i].integer) s->inputs[i].rows = tg_index_rows(graph->inputs[i]);
  tg_arena_release(&scratch);
}

static tg_dtype output_type(const tg_graph *lowered, int output) {
  tg_dtype declared = lowered->output_dtypes[output], stored = lowered->outputs[output]->dtype;
  if (!tg_dtype_is_float(declared) || lowered->known_outputs[output]) return declared;
  return stored == TG_TF32 ? TG_F32 : stored;
}

static void describe_graph(tg_session *s) {
  const tg_graph *graph = s->fp32;
  make_room(s, graph->input_count, graph->output_count);
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < graph->input_count; i++) {
    tg_value_sizes(graph->inputs[i], sizes);
    tg_tensor_info *info = &s->inputs[s->input_count++];
    describe(s, info, graph->inputs[i]->name, graph->inputs[i]->rank, sizes);
    info->dtype = s->model->inputs[i]->dtype;
    info->integer = tg_dtype_is_integer(info->dtype);
    info->limit = s->lowered->inputs[i]->limit;
  }
  for (int i = 0; i < graph->output_count; i++) {
    tg_value_sizes(graph->outputs[i], sizes);
    tg_tensor_info *info = &s->outputs[s->output_count++];
    describe(s, info, graph->output_names[i], graph->outputs[i]->rank, sizes);
    info->dtype = output_type(s->lowered, i);
  }
  find_rows(s);
}

/* What cannot be read is left to the reader of models to refuse. */
static const char program_start[] = {'T', 'E', 'G', 'U', 'L', 'A'};

static bool is_program_image(const void *data, size_t size) {
  return size >= sizeof program_start && !memcmp(data, program_start, sizeof program_start);
}

bool tg_is_program_file(const char *path) {
  struct stat info;
  if (stat(path, &info) || !S_ISREG(info.st_mode)) return false; /* opening a pipe would block */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);        /* a stream might find no memory */
  char start[sizeof program_start];
  ssize_t count = file >= 0 ? read(file, start, sizeof start) : -1;
  bool is = count > 0 && is_program_image(start, (size_t)count);
  if (file >= 0) (void)close(file);
  return is;
}

/* Each call tells of itself. */
static void begin(tg_diag *diag) {
  if (diag) diag->message[0] = 0;
}

static tg_status needs(const tg_session *s, bool compiled, bool run, tg_diag *diag) {
  begin(diag);
  if (!s) return tg_fail(diag, TG_INVALID, "no session is given");
  if (compiled && !s->program) return tg_fail(diag, TG_INVALID, "%s: is not compiled", s->path);
  if (run && !s->has_run) return tg_fail(diag, TG_INVALID, "%s: has not run", s->path);
  return TG_OK;
}

static tg_session *create_session(const char *name) {
  tg_session *s = calloc(1, sizeof *s);
  if (!s) tg_die("out of memory");
  s->path = tg_arena_strdup(&s->arena, name);
  return s;
}

static tg_status loaded(tg_session *s, tg_status status, tg_session **out_session) {
  if (status) {
    tg_session_close(s);
    return status;
  }
  if (s->program) describe_program(s);
  *out_session = s;
  return TG_OK;
}

tg_status tg_session_load(const char *path, tg_session **out_session, tg_diag *diag) {
  begin(diag);
  if (!out_session) return tg_fail(diag, TG_INVALID, "no place for the session is given");
  *out_session = NULL;
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  tg_session *s = create_session(path);
  tg_status status = tg_is_program_file(path) ? tg_program_read(path, &s->program, diag)
                                              : tg_onnx_read(&s->arena, path, &s->model, diag);
  return loaded(s, status, out_session);
}

tg_status tg_session_load_memory(const void *data, size_t size, const char *name, tg_session **out_session,
                                 tg_diag *diag) {
  begin(diag);
  if (!out_session) return tg_fail(diag, TG_INVALID, "no place for the session is given");
  *out_session = NULL;
  if (!data) return tg_fail(diag, TG_INVALID, "no model is given");
  tg_session *s = create_session(name ? name : "memory");
  tg_status status = is_program_image(data, size)
                         ? tg_program_read_memory(s->path, data, size, &s->program, diag)
                         : tg_onnx_read_memory(&s->arena, s->path, data, size, &s->model, diag);
  return loaded(s, status, out_session);
}

void tg_session_close(tg_session *session) {
  if (!session) return;
  tg_run_result_release(&session->result);
  tg_profile_destroy(session->profile);
  tg_program_destroy(session->program);
  tg_arena_release(&session->arena);
  free(session);
}

/* --- open sizes */

static tg_status needs_model(const tg_session *s, tg_diag *diag) {
  if (needs(s, false, false, diag)) return TG_INVALID;
  if (!s->model || s->program)
    return tg_fail(diag, TG_INVALID, "%s: is compiled already: its sizes are fixed", s->path);
  return TG_OK;
}

tg_status tg_session_bind_dim(tg_session *session, const char *symbol, int64_t size, tg_diag *diag) {
  tg_status status = needs_model(session, diag);
  if (!status && !symbol) status = tg_fail(diag, TG_INVALID, "%s: no size is named", session->path);
  return status ? status : tg_graph_bind_symbol(session->model, symbol, size, diag);
}

tg_status tg_session_bind_batch(tg_session *session, int64_t size, tg_diag *diag) {
  tg_status status = needs_model(session, diag);
  bool any = false;
  for (int i = 0; !status && i < session->model->input_count; i++) {
    const tg_value *input = session->model->inputs[i];
    if (input->rank < 1 || !input->dims[0].symbol) continue;
    any = true;
    status = tg_graph_bind_symbol(session->model, input->dims[0].symbol, size, diag);
  }
  if (!status && !any) return tg_fail(diag, TG_INVALID, "%s: the model fixes its batch size", session->path);
  return status;
}

tg_status tg_session_bind_shape(tg_session *session, const char *input, int rank, const int64_t *dims,
                                tg_diag *diag) {
  if (needs(session, false, false, diag)) return TG_INVALID;
  if (!input || (rank > 0 && !dims)) return tg_fail(diag, TG_INVALID, "%s: no shape is given", session->path);
  if (!session->model || session->program) return TG_OK; /* set_input compares with what was compiled */
  for (int i = 0; i < session->model->input_count; i++) {
    const tg_value *value = session->model->inputs[i];
    if (strcmp(value->name, input) || value->rank != rank) continue;
    for (int d = 0; d < rank; d++) {
      if (value->dims[d].size >= 0 || !value->dims[d].symbol) continue;
      tg_status status = tg_graph_bind_symbol(session->model, value->dims[d].symbol, dims[d], diag);
      if (status) return status;
    }
  }
  return TG_OK;
}

/* --- inputs that are constants */

int tg_session_find_input(const tg_session *session, const char *name) {
  for (int i = 0; session->model && i < session->model->input_count; i++)
    if (!strcmp(session->model->inputs[i]->name, name)) return i;
  return -1;
}

static void convert_element(const tg_npy *array, int64_t e, tg_dtype dtype, void *to) {
  bool integers = tg_dtype_is_integer(array->dtype) && tg_dtype_is_integer(dtype);
  if (integers)
    tg_store_i64(to, dtype, (size_t)e, tg_load_i64(array->data, array->dtype, (size_t)e));
  else
    tg_store_f32(to, dtype, (size_t)e, tg_load_f32(array->data, array->dtype, (size_t)e));
}

tg_status tg_session_fix_input(tg_session *session, const char *name, const tg_npy *array, tg_diag *diag) {
  if (needs_model(session, diag) || tg_session_bind_shape(session, name, array->rank, array->dims, diag))
    return TG_INVALID;
  int input = tg_session_find_input(session, name);
  if (input < 0) return tg_fail(diag, TG_INVALID, "%s: the model has no input \"%s\"", session->path, name);
  tg_value *value = session->model->inputs[input];
  bool fits = value->rank == array->rank;
  for (int d = 0; fits && d < array->rank; d++) fits = value->dims[d].size == array->dims[d];
  if (!fits)
    return tg_fail(diag, TG_INVALID, "input \"%s\" is %s, which what is given does not fit", name,
                   tg_value_type_text(value, &session->arena));
  void *data = tg_arena_alloc(&session->arena, (size_t)array->count * tg_dtype_size(value->dtype) + 1, 64);
  for (int64_t e = 0; e < array->count; e++) convert_element(array, e, value->dtype, data);
  tg_graph_fix_input(session->model, input, data);
  TG_PUSH(&session->arena, session->fixed, session->fixed_count, session->fixed_capacity, value);
  return TG_OK;
}

tg_status tg_session_fix_deciding(tg_session *session, const char *name, const tg_npy *array, tg_diag *diag) {
  enum { MOST = 1024 };
  int input = session->program ? -1 : tg_session_find_input(session, name);
  if (input < 0 || array->count > MOST) return TG_OK;
  bool *decides = TG_NEW_ARRAY(&session->arena, bool, (size_t)session->model->input_count);
  tg_graph_deciding_inputs(session->model, decides);
  return decides[input] ? tg_session_fix_input(session, name, array, diag) : TG_OK;
}

/* --- compiling */

tg_status tg_session_params(const tg_compile_options *options, tg_params *out_params, tg_diag *diag) {
  tg_status status = tg_params_load(options->arch ? options->arch : "edge", out_params, diag);
  for (size_t i = 0; !status && i < options->setting_count; i++)
    status = tg_params_set(out_params, options->settings[i], diag);
  if (!status && options->dram) status = tg_dram_device_load(options->dram, &out_params->dram, diag);
  return status ? status : tg_params_check(out_params, diag);
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

static tg_status lower(tg_session *s, const tg_precision_options *precision, bool inference,
                       tg_graph **out_graph, tg_diag *diag) {
  tg_frontend_options frontend;
  tg_frontend_defaults(&frontend);
  if (precision) {
    frontend.precision = *precision;
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

/* Nodes that carry cast rules of the model's own, which come before a policy. */
static int own_rules(const tg_session *s, const tg_compile_options *o) {
  char line[256];
  int count = 0;
  TG_FOR_NODES(s->model, node) count += node->casts != NULL;
  bool asked = o->preset || o->amp || o->matmul_precision || o->mixed_precision_ops;
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
  tg_status status = needs_model(session, diag);
  if (!status) status = tg_precision_of(&session->arena, options, &precision, diag);
  if (status) return status;
  tg_graph *lowered = NULL;
  status = lower(session, &precision, options->inference, &lowered, &later);
  if (!session->decided) return *diag = later, status;
  session->lowered = status ? NULL : lowered; /* decided is decided, whatever the array makes of it */
  session->precision = tg_precision_note(&session->arena, options, own_rules(session, options));
  return TG_OK;
}

/* What a program's users must know of its tensors, and the array need not. */
static void note_elements(const tg_session *s) {
  tg_program *program = s->program;
  for (int i = 0; i < s->input_count; i++) {
    tg_dram_tensor *tensor = find_tensor(program, tg_role_is_input, s->inputs[i].name);
    if (!tensor) continue;
    tensor->type = s->inputs[i].dtype;
    tensor->limit = s->inputs[i].limit;
  }
  for (int i = 0; i < s->output_count; i++) {
    tg_dram_tensor *tensor = find_tensor(program, tg_role_is_output, s->outputs[i].name);
    const tg_value *known = s->lowered->known_outputs[i];
    if (!tensor) continue;
    tensor->type = s->outputs[i].dtype;
    size_t bytes = (size_t)s->outputs[i].count * tg_dtype_size(tensor->type);
    if (!known || !bytes) continue;
    uint8_t *copy = TG_NEW_ARRAY(&program->arena, uint8_t, bytes);
    tensor->known = memcpy(copy, known->data, bytes);
  }
}

static tg_status compile(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  tg_status status;
  double begin = tg_host_seconds();
  tg_params params;
  tg_precision_options precision;
  status = tg_session_params(options, &params, diag);
  if (!status) status = tg_precision_of(&session->arena, options, &precision, diag);
  if (!status) status = lower(session, &precision, options->inference, &session->lowered, diag);
  if (!status) status = lower(session, NULL, options->inference, &session->fp32, diag);
  if (status) return status;
  tg_map_options map = {.accum_bf16sr = precision.tiling_accum == TG_ACCUM_BF16SR,
                        .k_tile = precision.k_tile,
                        .seed = options->seed,
                        .any_tiling = options->any_tiling,
                        .observe = session->dumped ? after_mapper : NULL,
                        .observe_user = session};
  status = tg_map(session->lowered, &params, &map, &session->program, diag);
  if (status) {
    tg_diag_prefix(diag, "%s", session->path);
    return status;
  }
  session->precision = tg_precision_note(&session->arena, options, own_rules(session, options));
  session->program->options = tg_arena_strdup(&session->program->arena, session->precision);
  describe_graph(session);
  note_elements(session);
  session->compile_seconds = tg_host_seconds() - begin;
  return TG_OK;
}

tg_status tg_take_options(const void *given, void *out_own, size_t own_size, tg_diag *diag) {
  size_t size = own_size;
  memset(out_own, 0, own_size);
  if (!given) return TG_OK;
  memcpy(&size, given, sizeof size); /* the first member */
  if (size > own_size)
    return tg_fail(diag, TG_INVALID, "options of %zu bytes are of a later library, this one's have %zu", size,
                   own_size);
  memcpy(out_own, given, size ? size : own_size);
  return TG_OK;
}

tg_status tg_session_compile(tg_session *session, const tg_compile_options *options, tg_diag *diag) {
  tg_compile_options own;
  tg_status status = needs_model(session, diag);
  if (!status) status = tg_take_options(options, &own, sizeof own, diag);
  if (status) return status;
  locale_t theirs = tg_plain_numbers();
  status = compile(session, &own, diag);
  uselocale(theirs);
  return status;
}

bool tg_session_is_compiled(const tg_session *session) { return session && session->program; }

tg_status tg_session_save(const tg_session *session, const char *path, tg_diag *diag) {
  if (needs(session, true, false, diag)) return TG_INVALID;
  if (!path) return tg_fail(diag, TG_INVALID, "no path is given");
  return tg_program_write(session->program, path, diag);
}

/* --- inputs and outputs */

int tg_session_input_count(const tg_session *session) { return session ? session->input_count : 0; }
int tg_session_output_count(const tg_session *session) { return session ? session->output_count : 0; }

static bool has_output(const tg_session *session, int index) {
  return index >= 0 && index < tg_session_output_count(session);
}

const tg_tensor_info *tg_session_input(const tg_session *session, int index) {
  return index >= 0 && index < tg_session_input_count(session) ? &session->inputs[index] : NULL;
}
const tg_tensor_info *tg_session_output(const tg_session *session, int index) {
  return has_output(session, index) ? &session->outputs[index] : NULL;
}
const float *tg_session_output_data(const tg_session *session, int index) {
  return has_output(session, index) ? session->output_data[index] : NULL;
}
const void *tg_session_output_elements(const tg_session *session, int index) {
  return has_output(session, index) ? session->output_elements[index] : NULL;
}
uint64_t tg_session_cycles(const tg_session *session) { return session ? session->result.cycles : 0; }

static const char *shape_text(char text[200], int rank, const int64_t *dims) {
  int used = snprintf(text, 200, "[");
  for (int d = 0; d < rank && d < TG_TENSOR_MAX_RANK; d++)
    used += snprintf(text + used, 200 - (size_t)used, "%s%" PRId64, d ? "," : "", dims[d]);
  snprintf(text + used, 200 - (size_t)used, "]");
  return text;
}

/* An input that is a constant by now may be given again, as it is. */
static tg_status set_fixed(const tg_session *s, const char *name, int rank, const int64_t *dims,
                           const float *data, tg_diag *diag) {
  for (size_t i = 0; i < s->fixed_count; i++) {
    const tg_value *value = s->fixed[i];
    if (strcmp(value->name, name)) continue;
    bool same = value->rank == rank;
    for (int d = 0; same && d < rank; d++) same = dims[d] == value->dims[d].size;
    for (int64_t e = 0; same && e < tg_value_elements(value); e++) {
      float fixed = tg_load_f32(value->data, value->dtype, (size_t)e);
      same = value->dtype == TG_BOOL ? (data[e] != 0) == (fixed != 0)
                                     : tg_f32_bits(fixed) == tg_f32_bits(data[e]);
    }
    return same ? TG_OK
                : tg_fail(diag, TG_INVALID,
                          "input \"%s\" was fixed when the model was compiled: it has other values", name);
  }
  return tg_fail(diag, TG_INVALID, "%s: the model has no input \"%s\"", s->path, name);
}

tg_status tg_session_set_input(tg_session *session, const char *name, int rank, const int64_t *dims,
                               const float *data, tg_diag *diag) {
  char wanted[200], given[200];
  if (needs(session, true, false, diag)) return TG_INVALID;
  if (!name || (rank > 0 && !dims) || !data)
    return tg_fail(diag, TG_INVALID, "%s: an input needs name, shape and data", session->path);
  for (int i = 0; i < session->input_count; i++) {
    const tg_tensor_info *info = &session->inputs[i];
    if (strcmp(info->name, name)) continue;
    if (info->rank != rank || (rank > 0 && memcmp(info->dims, dims, (size_t)rank * sizeof *dims)))
      return tg_fail(diag, TG_INVALID, "input \"%s\" has shape %s, given is %s", name,
                     shape_text(wanted, info->rank, info->dims), shape_text(given, rank, dims));
    if (info->integer && tg_indices_check(info, data, diag)) return TG_INVALID;
    session->input_data[i] = TG_NEW_ARRAY(&session->arena, float, (size_t)info->count);
    for (int64_t e = 0; e < info->count; e++)
      session->input_data[i][e] = info->dtype == TG_BOOL ? (float)(data[e] != 0) : data[e];
    return TG_OK;
  }
  return set_fixed(session, name, rank, dims, data, diag);
}

void tg_session_random_inputs(tg_session *session, uint64_t seed) {
  if (!session) return;
  for (int i = 0; i < session->input_count; i++) {
    if (session->input_data[i]) continue;
    session->input_data[i] = TG_NEW_ARRAY(&session->arena, float, (size_t)session->inputs[i].count);
    const tg_tensor_info *info = &session->inputs[i];
    if (info->integer || info->dtype == TG_BOOL)
      tg_indices_random(session->input_data[i], info->count, info->rows, seed + (uint64_t)i);
    else
      tg_seeded_fill(session->input_data[i], TG_F32, info->count, seed + (uint64_t)i, 1);
  }
}

tg_status tg_session_memory(const tg_session *session, tg_dram **out_dram, tg_diag *diag) {
  for (int i = 0; i < session->input_count; i++)
    if (!session->input_data[i])
      return tg_fail(diag, TG_INVALID, "input \"%s\" has no values", session->inputs[i].name);
  tg_status status = tg_dram_create(session->program, out_dram, diag);
  if (status) return status;
  for (int i = 0; i < session->input_count; i++) {
    const tg_dram_tensor *tensor = find_tensor(session->program, tg_role_is_input, session->inputs[i].name);
    if (!tensor) continue; /* nothing reads it */
    uint8_t *target = (*out_dram)->bytes + tensor->address;
    for (int64_t e = 0; e < session->inputs[i].count; e++)
      tg_store_f32(target, tg_storage_dtype(tensor->storage), (size_t)e, session->input_data[i][e]);
  }
  return TG_OK;
}

/* Output `i` in the model's type. NaN stands for an integer that the array did not compute exactly. */
static tg_status convert_output(tg_session *s, int i, const uint8_t *stored, tg_storage storage,
                                tg_diag *diag) {
  const tg_tensor_info *info = &s->outputs[i];
  void *elements = tg_arena_alloc(&s->arena, (size_t)info->count, tg_dtype_size(info->dtype));
  for (int64_t e = 0; e < info->count; e++) {
    float value = tg_load_f32(stored, tg_storage_dtype(storage), (size_t)e);
    s->output_data[i][e] = value;
    if (tg_dtype_is_integer(info->dtype) && isnan(value))
      return tg_fail(diag, TG_INVALID,
                     "output \"%s\": element %" PRId64 " is an integer that passes what the array computes "
                     "exactly",
                     info->name, e);
    tg_store_f32(elements, info->dtype, (size_t)e, value);
  }
  s->output_elements[i] = elements;
  return TG_OK;
}

static tg_status read_outputs(tg_session *s, const tg_dram *dram, tg_diag *diag) {
  tg_status status = TG_OK;
  for (int i = 0; i < s->output_count && !status; i++) {
    const tg_dram_tensor *tensor = find_tensor(s->program, tg_role_is_output, s->outputs[i].name);
    if (!tensor) continue;
    if (!s->output_data[i]) s->output_data[i] = TG_NEW_ARRAY(&s->arena, float, (size_t)s->outputs[i].count);
    if (!tensor->known) {
      status = convert_output(s, i, dram->bytes + tensor->address, tensor->storage, diag);
      continue;
    }
    s->output_elements[i] = tensor->known;
    for (int64_t e = 0; e < s->outputs[i].count; e++)
      s->output_data[i][e] = tg_load_f32(tensor->known, tensor->type, (size_t)e);
  }
  return status;
}

/* --- running */

/* What the caller's progress callback is told, and said. */
typedef struct run_progress {
  const tg_session_run_options *options;
  uint32_t sections;
  bool cancelled;
} run_progress;

static bool proceed(void *user, uint32_t invocation) {
  run_progress *p = user;
  p->cancelled = !p->options->progress(p->options->progress_user, invocation, p->sections);
  return !p->cancelled;
}

/* `steady`: the host's time of the run is that of further ones. */
static tg_status run_engine(tg_session *s, const tg_engine *engine, const tg_run_options *options,
                            bool steady, tg_diag *diag) {
  tg_dram *dram = NULL;
  void *state = NULL;
  tg_status status =
      options->timing_only ? tg_dram_create(s->program, &dram, diag) : tg_session_memory(s, &dram, diag);
  if (status) return status;
  status = engine->open(s->program, options, &state, diag);
  if (!status) {
    status = engine->run(state, dram, options, &s->result, diag);
    if (!status && !options->timing_only) status = read_outputs(s, dram, diag);
    s->host_seconds = s->result.seconds;
    s->host_runs = 1;
    if (!status && steady)
      status = tg_steady_seconds(engine, state, dram, options, s->result.seconds, &s->host_seconds,
                                 &s->host_runs, diag);
    engine->close(state);
  }
  tg_dram_destroy(dram);
  return status;
}

static tg_status run_session(tg_session *session, const tg_session_run_options *options, tg_diag *diag) {
  const tg_engine *engine;
  if (options->threads < 0 || options->threads > MOST_THREADS)
    return tg_fail(diag, TG_INVALID, "%d threads: 0 to %d are possible", options->threads, MOST_THREADS);
  if (options->timing_only && strcmp(options->engine ? options->engine : "systemc", "systemc"))
    return tg_fail(diag, TG_INVALID, "timing_only needs the engine systemc");
  tg_status status = tg_engine_find(options->engine ? options->engine : "systemc", &engine, diag);
  if (status) return status;
  tg_run_options run = {.threads = (uint32_t)options->threads,
                        .timing_only = options->timing_only,
                        .record_events = options->record_events,
                        .max_cycles = options->max_cycles,
                        .wave_file = options->wave_file,
                        .seed = session->program->seed};
  tg_run_result_release(&session->result);
  tg_profile_destroy(session->profile);
  session->profile = NULL;
  session->has_run = session->has_cpu = false;
  session->errors = session->golden_errors = NULL;
  memset(session->output_data, 0, (size_t)session->output_count * sizeof *session->output_data);
  memset(session->output_elements, 0, (size_t)session->output_count * sizeof *session->output_elements);
  tg_watch watch;
  status = tg_watch_begin(&watch, session->program, engine, options, diag);
  if (status) return status;
  run.observer = watch.observer;
  run_progress progress = {.options = options, .sections = session->program->invocation_count};
  if (options->progress) run.proceed = proceed, run.proceed_user = &progress;
  status = run_engine(session, engine, &run, options->steady, diag);
  status = tg_watch_end(&watch, engine->name, &session->result, status, &session->profile, diag);
  if (progress.cancelled) {
    begin(diag);
    return tg_fail(diag, TG_CANCELLED, "%s: the run was cancelled", session->path);
  }
  if (status) return status;
  session->engine = engine->name;
  session->timing_only = options->timing_only;
  session->has_run = true;
  return TG_OK;
}

tg_status tg_session_run(tg_session *session, const tg_session_run_options *options, tg_diag *diag) {
  tg_session_run_options own;
  tg_status status = needs(session, true, false, diag);
  if (!status) status = tg_take_options(options, &own, sizeof own, diag);
  if (status) return status;
  locale_t theirs = tg_plain_numbers();
  status = run_session(session, &own, diag);
  uselocale(theirs);
  return status;
}

/* --- the host's CPU */

enum { CPU_BUDGET_SECONDS = 1 };

tg_status tg_session_fp32_outputs(tg_session *s, int threads, float *const *out_data, tg_diag *diag) {
  tg_cpu_reference *reference;
  tg_status status = tg_cpu_reference_create(s->fp32, TG_F32, threads, &reference, diag);
  if (status) return status;
  for (int i = 0; i < s->input_count; i++) tg_cpu_reference_set_input(reference, i, s->input_data[i]);
  status = tg_cpu_reference_run(reference, diag);
  for (int i = 0; !status && i < s->output_count; i++) tg_cpu_reference_get_output(reference, i, out_data[i]);
  tg_cpu_reference_destroy(reference);
  return status;
}

float **tg_session_output_buffers(const tg_session *s, tg_arena *arena) {
  float **data = TG_NEW_ARRAY(arena, float *, (size_t)s->output_count + 1);
  for (int i = 0; i < s->output_count; i++) data[i] = TG_NEW_ARRAY(arena, float, (size_t)s->outputs[i].count);
  return data;
}

static tg_status measure_errors(tg_session *s, int threads, tg_diag *diag) {
  tg_arena scratch = {0};
  float **wanted = tg_session_output_buffers(s, &scratch);
  tg_status status = tg_session_fp32_outputs(s, threads, wanted, diag);
  if (!status) s->errors = TG_NEW_ARRAY(&s->arena, tg_error_measure, (size_t)s->output_count);
  for (int i = 0; !status && i < s->output_count; i++)
    if (s->output_data[i]) s->errors[i] = tg_compare(s->output_data[i], wanted[i], s->outputs[i].count);
  tg_arena_release(&scratch);
  return status;
}

tg_status tg_session_compare_golden(tg_session *s, const char *name, int rank, const int64_t *dims,
                                    const float *data, tg_diag *diag) {
  char wanted[200], given[200];
  if (needs(s, true, true, diag)) return TG_INVALID;
  if (!name || (rank > 0 && !dims) || !data)
    return tg_fail(diag, TG_INVALID, "%s: an output needs name, shape and data", s->path);
  if (!s->golden_errors) {
    s->golden_errors = TG_NEW_ARRAY(&s->arena, tg_error_measure, (size_t)s->output_count);
    s->has_golden = TG_NEW_ARRAY(&s->arena, bool, (size_t)s->output_count);
  }
  for (int i = 0; i < s->output_count; i++) {
    const tg_tensor_info *info = &s->outputs[i];
    if (strcmp(info->name, name)) continue;
    if (info->rank != rank || (rank > 0 && memcmp(info->dims, dims, (size_t)rank * sizeof *dims)))
      return tg_fail(diag, TG_INVALID, "output \"%s\" has shape %s, its golden file %s", name,
                     shape_text(wanted, info->rank, info->dims), shape_text(given, rank, dims));
    if (!s->output_data[i]) return tg_fail(diag, TG_INVALID, "output \"%s\" has no values to compare", name);
    s->golden_errors[i] = tg_compare(s->output_data[i], data, info->count);
    s->has_golden[i] = true;
    return TG_OK;
  }
  return tg_fail(diag, TG_INVALID, "%s: the model has no output \"%s\"", s->path, name);
}

static bool computes_narrow(const tg_program *program) {
  for (uint32_t i = 0; i < program->invocation_count; i++)
    if (program->invocations[i].macs[TG_FMT_BF16] || program->invocations[i].macs[TG_FMT_FP16]) return true;
  return false;
}

tg_status tg_session_measure_cpu(tg_session *session, bool timed, int threads, tg_diag *diag) {
  if (needs(session, false, false, diag)) return TG_INVALID;
  for (int i = 0; timed && i < session->input_count; i++) /* of a run that needed none */
    if (session->has_run && session->fp32 && !session->input_data[i])
      return tg_fail(diag, TG_INVALID, "input \"%s\" has no values", session->inputs[i].name);
  if (!session->fp32 || !session->has_run) return TG_OK;
  tg_status status = session->timing_only ? TG_OK : measure_errors(session, threads, diag);
  if (status || !timed) return status;
  /* A program in a narrow format is compared with the CPU at its best, narrow or not. */
  static const tg_dtype dtypes[] = {TG_F32, TG_BF16};
  status = tg_cpu_reference_best(session->fp32, dtypes, computes_narrow(session->program) ? 2 : 1, threads,
                                 (const float *const *)session->input_data, CPU_BUDGET_SECONDS, &session->cpu,
                                 diag);
  session->has_cpu = !status;
  return status;
}
