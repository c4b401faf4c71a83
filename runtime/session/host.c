/* The host's part of a run: what begins with nodes whose results are as large as values say (frontend/host_part.h). */
#include "runtime/session/session.h"

#include <math.h>
#include <string.h>

void tg_session_cut_host(tg_session *s) {
  if (!s->host.part.graph) tg_cut_host_part(s->model, &s->model, &s->host.part);
}

static void forget(tg_session *s) {
  const tg_host_part *part = &s->host.part;
  for (int i = 0; i < part->output_count; i++) {
    tg_tensor_info *info = &s->host.outputs[i];
    s->host.data[i] = NULL;
    s->host.elements[i] = NULL;
    if (part->outputs[i] >= 0) continue;
    for (int d = 0; d < info->rank; d++) info->dims[d] = -1; /* as large as values will say */
    info->count = 0;
  }
}

void tg_session_describe_host(tg_session *s) {
  const tg_host_part *part = &s->host.part;
  if (!part->graph) return;
  size_t count = (size_t)part->output_count + 1;
  s->host.outputs = TG_NEW_ARRAY(&s->arena, tg_tensor_info, count);
  s->host.data = TG_NEW_ARRAY(&s->arena, float *, count);
  s->host.elements = TG_NEW_ARRAY(&s->arena, const void *, count);
  for (int i = 0; i < part->output_count; i++) {
    int from = part->outputs[i];
    if (from >= 0) {
      s->host.outputs[i] = s->outputs[from];
      continue;
    }
    const tg_graph *graph = part->graph;
    int at = -1 - from, rank = graph->output_shapes[at].rank;
    s->host.outputs[i] = (tg_tensor_info){.name = tg_arena_strdup(&s->arena, graph->output_names[at]),
                                          .rank = rank < 0 ? 0 : rank,
                                          .dtype = graph->output_dtypes[at]};
  }
  forget(s);
}

void tg_session_forget_host(tg_session *s) {
  if (!s->host.part.graph) return;
  forget(s);
  s->host.seconds = 0;
  tg_arena_release(&s->host.arena);
}

static void take(tg_session *s, int output, const tg_host_tensor *tensor) {
  tg_tensor_info *info = &s->host.outputs[output];
  info->dtype = tensor->dtype;
  info->rank = tensor->rank;
  info->count = 1;
  for (int d = 0; d < tensor->rank; d++) {
    info->dims[d] = tensor->dims[d];
    info->count *= tensor->dims[d];
  }
  s->host.elements[output] = tensor->data;
  s->host.data[output] = TG_NEW_ARRAY(&s->host.arena, float, (size_t)info->count + 1);
  for (int64_t e = 0; e < info->count; e++)
    s->host.data[output][e] = tg_load_f32(tensor->data, tensor->dtype, (size_t)e);
}

tg_status tg_session_run_host(tg_session *s, tg_diag *diag) {
  const tg_host_part *part = &s->host.part;
  if (!part->graph) return TG_OK;
  double begin = tg_host_seconds();
  int count = part->graph->input_count;
  tg_host_tensor *inputs = TG_NEW_ARRAY(&s->host.arena, tg_host_tensor, (size_t)count + 1),
                 *results =
                     TG_NEW_ARRAY(&s->host.arena, tg_host_tensor, (size_t)part->graph->output_count + 1);
  for (int i = 0; i < count; i++) {
    const tg_tensor_info *info = &s->outputs[part->sources[i]];
    inputs[i] = (tg_host_tensor){
        .dtype = info->dtype, .rank = info->rank, .data = s->output_elements[part->sources[i]]};
    memcpy(inputs[i].dims, info->dims, (size_t)info->rank * sizeof *info->dims);
  }
  tg_status status = tg_run_host_part(part, &s->host.arena, inputs, results, diag);
  if (status) return tg_diag_prefix(diag, "%s", s->path), status;
  for (int i = 0; i < part->output_count; i++) {
    int from = part->outputs[i];
    if (from < 0)
      take(s, i, &results[-1 - from]);
    else
      s->host.data[i] = s->output_data[from], s->host.elements[i] = s->output_elements[from];
  }
  s->host.seconds = tg_host_seconds() - begin;
  return TG_OK;
}
