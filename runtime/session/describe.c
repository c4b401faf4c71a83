/* What inputs and outputs are, of a model and of a program. */
#include "frontend/infer.h"
#include "runtime/session/indices.h"
#include "runtime/session/session.h"

#include <string.h>

tg_dtype tg_storage_dtype(tg_storage storage) {
  static const tg_dtype dtypes[] = {[TG_STORE_FP32] = TG_F32,
                                    [TG_STORE_BF16] = TG_BF16,
                                    [TG_STORE_FP16] = TG_F16,
                                    [TG_STORE_TF32] = TG_TF32};
  return dtypes[storage];
}

/* The first tensor of one side that carries `name`: outputs may share one. */
tg_dram_tensor *tg_find_dram_tensor(const tg_program *program, bool (*side)(tg_role), const char *name) {
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
  s->room.data = TG_NEW_ARRAY(&s->arena, float *, (size_t)outputs);
  s->room.elements = TG_NEW_ARRAY(&s->arena, void *, (size_t)outputs);
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

void tg_session_describe_program(tg_session *s) {
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
  tg_session_describe_program(session);
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
  if (!tg_dtype_is_float(declared) || declared == TG_F64 || lowered->known_outputs[output]) return declared;
  return stored == TG_TF32 ? TG_F32 : stored;
}

void tg_session_describe_graph(tg_session *s) {
  const tg_graph *graph = s->lowered;
  make_room(s, graph->input_count, graph->output_count);
  int64_t sizes[TG_MAX_RANK];
  for (int i = 0; i < graph->input_count; i++) {
    tg_value_sizes(graph->inputs[i], sizes);
    tg_tensor_info *info = &s->inputs[s->input_count++];
    describe(s, info, graph->inputs[i]->name, graph->inputs[i]->rank, sizes);
    info->dtype = s->model->inputs[i]->dtype;
    info->integer = tg_dtype_is_integer(info->dtype);
    info->limit = graph->inputs[i]->limit;
  }
  for (int i = 0; i < graph->output_count; i++) {
    tg_value_sizes(graph->outputs[i], sizes);
    tg_tensor_info *info = &s->outputs[s->output_count++];
    describe(s, info, graph->output_names[i], graph->outputs[i]->rank, sizes);
    info->dtype = output_type(graph, i);
    info->integer = tg_dtype_is_integer(info->dtype);
    info->limit = graph->guarded_outputs[i] ? INT64_C(1) << 24 : 0;
  }
  find_rows(s);
}
