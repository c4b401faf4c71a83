#include "tests/mapper/run_graph.h"

#include "frontend/pipeline.h"
#include "frontend/reference.h"
#include "frontend/text.h"
#include "sim/machine/numerics.h"

#include <math.h>
#include <string.h>

static const tg_dram_tensor *find_tensor(const tg_program *program, const char *name, bool (*side)(tg_role)) {
  for (uint32_t t = 0; t < program->tensor_count; t++)
    if (side(program->tensors[t].role) && !strcmp(program->tensors[t].name, name))
      return &program->tensors[t];
  return NULL;
}

/* A carried output lies where its input does. */
static const tg_dram_tensor *find_output(const tg_program *program, const tg_graph *graph, int output) {
  for (size_t i = 0; i < graph->carry_count; i++)
    if (graph->carries[i].output == output) return &program->tensors[graph->carries[i].input];
  return find_tensor(program, graph->output_names[output], tg_role_is_output);
}

/* Numbers of rows from either end, with repetitions, of dimensions of 5 or more; in device memory floats. */
static void fill_integers(void *data, tg_dtype dtype, size_t count, float *device) {
  for (size_t i = 0; i < count; i++) {
    int64_t index = (int64_t)(i * 7 % 10) - 5;
    tg_store_i64(data, dtype, i, index);
    if (device) device[i] = (float)index;
  }
}

/* Into the device memory, as the program stores them, and as the reference wants them. */
static void fill_inputs(mapped *m, uint64_t seed, tg_arena *arena) {
  m->inputs = TG_NEW_ARRAY(arena, const void *, (size_t)m->graph->input_count + 1);
  for (int i = 0; i < m->graph->input_count; i++) {
    const tg_value *value = m->graph->inputs[i];
    const tg_dram_tensor *tensor = find_tensor(m->program, value->name, tg_role_is_input);
    size_t elements = (size_t)tg_value_elements(value);
    void *data = tg_arena_alloc(arena, elements + 1, tg_dtype_size(value->dtype)),
         *device = tensor ? m->dram->bytes + tensor->address : NULL;
    m->inputs[i] = data;
    if (tg_dtype_is_integer(value->dtype)) {
      fill_integers(data, value->dtype, elements, device);
      continue;
    }
    tg_seeded_fill(data, value->dtype, (int64_t)elements, seed + (uint64_t)i + 1, 2.0f);
    if (tensor && tensor->bytes) memcpy(device, data, tensor->bytes);
  }
}

static bool close_enough(const void *got, const void *want, tg_dtype dtype, int64_t elements,
                         double tolerance, const char *name, tg_diag *diag) {
  for (int64_t i = 0; i < elements; i++) {
    float a = tg_load_f32(got, dtype, (size_t)i), b = tg_load_f32(want, dtype, (size_t)i);
    bool same = tolerance == 0 ? tg_f32_bits(a) == tg_f32_bits(b) || (isnan(a) && isnan(b))
                               : fabs((double)a - b) <= tolerance * (1 + fabs((double)b)) ||
                                     (isnan(a) && isnan(b)) || a == b;
    if (!same) {
      tg_fail(diag, TG_MISMATCH, "output %s[%lld] is %.9g, the reference has %.9g", name, (long long)i, a, b);
      return false;
    }
  }
  return true;
}

tg_status map_text(const run_case *what, mapped *out, tg_arena *arena, tg_diag *diag) {
  tg_params params;
  tg_frontend_options options;
  *out = (mapped){0};
  tg_frontend_defaults(&options);
  options.precision = what->precision;
  options.products_apart = what->map.opt == TG_OPT_LEVEL_NONE;
  tg_status status = tg_params_load(what->arch, &params, diag);
  if (!status)
    status = tg_dram_device_load("simple", NULL, &params.dram, diag); /* memory is not what is tested */
  for (int i = 0; i < 4 && what->settings[i] && !status; i++)
    status = tg_params_set(&params, what->settings[i], diag);
  if (!status) status = tg_graph_parse(arena, what->text, &out->graph, diag);
  if (!status) status = tg_frontend_lower(out->graph, &options, diag);
  return status ? status : tg_map(out->graph, &params, &what->map, &out->program, diag);
}

tg_status run_text(const run_case *what, mapped *out, tg_arena *arena, tg_diag *diag) {
  const tg_engine *engine = what->engine ? what->engine : &tg_engine_functional;
  void *state = NULL;
  tg_status status = map_text(what, out, arena, diag);
  if (!status) status = tg_dram_create(out->program, &out->dram, diag);
  if (!status) fill_inputs(out, 42, arena);
  if (!status) status = engine->open(out->program, &what->run, &state, diag);
  if (!status) status = engine->run(state, out->dram, &what->run, &out->result, diag);
  if (state) engine->close(state);
  return status;
}

void release_mapped(mapped *m) {
  tg_run_result_release(&m->result);
  tg_dram_destroy(m->dram);
  tg_program_destroy(m->program);
}

const void *output_of(const mapped *m, int index, size_t *out_bytes) {
  const tg_dram_tensor *tensor = find_output(m->program, m->graph, index);
  if (out_bytes) *out_bytes = tensor->bytes;
  return m->dram->bytes + tensor->address;
}

const void *copy_outputs(const mapped *m, tg_arena *arena, size_t *out_bytes) {
  size_t bytes, at = 0;
  *out_bytes = 0;
  for (int i = 0; i < m->graph->output_count; i++) {
    output_of(m, i, &bytes);
    *out_bytes += bytes;
  }
  char *all = tg_arena_alloc(arena, *out_bytes, 64);
  for (int i = 0; i < m->graph->output_count; i++, at += bytes) {
    const void *output = output_of(m, i, &bytes);
    memcpy(all + at, output, bytes);
  }
  return all;
}

bool outputs_agree(const mapped *m, double tolerance, tg_diag *diag) {
  const tg_graph *graph = m->graph;
  tg_arena arena = {0};
  void **want = TG_NEW_ARRAY(&arena, void *, (size_t)graph->output_count);
  for (int o = 0; o < graph->output_count; o++)
    want[o] = tg_arena_alloc(&arena, (size_t)tg_value_elements(graph->outputs[o]) + 1,
                             tg_dtype_size(graph->outputs[o]->dtype));
  tg_reference_run_drawing(graph, &(tg_reference_draw){.seed = m->program->seed}, m->inputs, want);
  bool good = true;
  for (int o = 0; o < graph->output_count && good; o++) {
    const tg_dram_tensor *tensor = find_output(m->program, graph, o);
    if (!tensor) tg_fail(diag, TG_MISMATCH, "the program has no output %s", graph->output_names[o]);
    good =
        tensor && close_enough(m->dram->bytes + tensor->address, want[o], graph->outputs[o]->dtype,
                               tg_value_elements(graph->outputs[o]), tolerance, graph->output_names[o], diag);
  }
  tg_arena_release(&arena);
  return good;
}

const tg_instr *find_gemm(const tg_program *program, bool (*is_so)(const tg_instr *gemm)) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    for (uint32_t i = 0; i < mx->count; i++)
      if (mx->instrs[i].common.op == TG_OP_mx_gemm && is_so(&mx->instrs[i])) return &mx->instrs[i];
  }
  return NULL;
}

const tg_agcu_instr *find_of_agcus(const tg_program *program, int op,
                                   bool (*is_so)(const tg_agcu_instr *in)) {
  const tg_params *m = &program->params;
  for (uint32_t s = 0; s < program->section_count; s++)
    for (uint32_t i = 0; i < tg_agcus(m) * m->agcu_contexts; i++) {
      const tg_queue *queue =
          &program->sections[s].agcus[i / m->agcu_contexts].contexts[i % m->agcu_contexts];
      for (uint32_t n = 0; n < queue->count; n++)
        if (queue->instrs[n].common.op == op && is_so(&queue->instrs[n].agcu)) return &queue->instrs[n].agcu;
    }
  return NULL;
}

static bool goes_along_two_digits(const tg_agcu_instr *load) {
  return load->y_inc[3] && load->k_radix[1] > 1;
}
bool has_joined_rows(const tg_program *program) {
  return find_of_agcus(program, TG_OP_agcu_load, goes_along_two_digits) != NULL;
}
