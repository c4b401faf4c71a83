#include "runtime/cpu_reference/cpu_reference.h"
#include "frontend/reference.h"
#include "runtime/cpu_reference/plan.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As OpenMP's specification has them: omp.h comes with a compiler, and the compiler that checks the code may have none. */
int omp_get_num_procs(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
int omp_pause_resource_all(int kind);
enum { OMP_PAUSE_SOFT = 1 };

/* --- planning */

static bool all_floats(const tg_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && !tg_dtype_is_float(tg_in(node, i)->dtype)) return false;
  return tg_dtype_is_float(tg_out(node)->dtype);
}

static bool any_empty(const tg_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i) && !tg_value_elements(tg_in(node, i))) return true;
  return !tg_value_elements(tg_out(node));
}

static bool plan_dnnl(tg_cpu_reference *plan, const tg_node *node) {
  if (!all_floats(node) || any_empty(node) || node->output_count != 1) return false;
  if (node->op == TG_OP_MATMUL || node->op == TG_OP_CONV) return tg_cpu_plan_product(plan, node);
  if (tg_op_is(node->op, TG_IS_POOL) && tg_op_is(node->op, TG_IS_WINDOW)) return tg_cpu_plan_pool(plan, node);
  return tg_cpu_plan_elementwise(plan, node) || tg_cpu_plan_move(plan, node);
}

/* The value in the dtype that plain C expects, the graph's own: where it lies, or a copy of the step's. */
static void *wide_data(tg_cpu_reference *plan, const tg_value *value) {
  void *data = tg_cpu_data(plan, value);
  if (tg_cpu_dtype(plan, value) == value->dtype) return data;
  return tg_cpu_scratch(plan, (size_t)tg_value_elements(value) * tg_dtype_size(value->dtype));
}

static bool plan_plain(tg_cpu_reference *plan, const tg_node *node) {
  tg_cpu_step step = {.node = node};
  step.inputs = TG_NEW_ARRAY(&plan->arena, const void *, (size_t)node->input_count + 1);
  step.outputs = TG_NEW_ARRAY(&plan->arena, void *, (size_t)node->output_count);
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i)) step.inputs[i] = wide_data(plan, tg_in(node, i));
  for (int i = 0; i < node->output_count; i++) step.outputs[i] = wide_data(plan, node->outputs[i]);
  plan->plain_nodes++;
  TG_PUSH(&plan->arena, plan->steps, plan->step_count, plan->step_capacity, step);
  return true;
}

static void plan_node(tg_cpu_reference *plan, const tg_node *node) {
  if (!plan->done[tg_out(node)->index]) {
    if (!tg_cpu_plan_gather(plan, node) && !plan_dnnl(plan, node)) plan_plain(plan, node);
    for (int i = 0; i < node->output_count; i++) plan->done[node->outputs[i]->index] = true;
  }
  tg_cpu_end_node(plan, node);
}

static tg_status check_formats(const tg_graph *graph, tg_diag *diag) {
  for (int i = 0; i < graph->value_count; i++)
    if (graph->values[i]->kind == TG_VALUE_RESULT && graph->values[i]->producer &&
        !tg_value_is_known(graph->values[i]))
      return tg_fail(diag, TG_INVALID, "CPU reference: tensor \"%s\" has no known shape",
                     graph->values[i]->name);
  return TG_OK;
}

tg_status tg_cpu_reference_create(const tg_graph *graph, tg_dtype dtype, int threads,
                                  tg_cpu_reference **out_reference, tg_diag *diag) {
  assert(dtype == TG_F32 || dtype == TG_BF16);
  *out_reference = NULL;
  tg_status status = check_formats(graph, diag);
  if (status) return status;
  tg_cpu_reference *plan = calloc(1, sizeof *plan);
  if (!plan) tg_die("out of memory");
  plan->graph = graph;
  plan->dtype = dtype;
  plan->threads = threads > 0 ? threads : omp_get_num_procs();
  if (dnnl_engine_create(&plan->engine, dnnl_cpu, 0) ||
      dnnl_stream_create(&plan->stream, plan->engine, dnnl_stream_default_flags)) {
    tg_cpu_reference_destroy(plan);
    return tg_fail(diag, TG_INVALID, "CPU reference: oneDNN does not start");
  }
  plan->storage = TG_NEW_ARRAY(&plan->arena, tg_cpu_storage *, (size_t)graph->value_count);
  plan->done = TG_NEW_ARRAY(&plan->arena, bool, (size_t)graph->value_count);
  int before = omp_get_max_threads(); /* primitives are made for the thread count in force */
  omp_set_num_threads(plan->threads);
  TG_FOR_NODES(graph, node) plan_node(plan, node);
  omp_set_num_threads(before);
  *out_reference = plan;
  return TG_OK;
}

void tg_cpu_reference_destroy(tg_cpu_reference *reference) {
  if (!reference) return;
  for (size_t i = 0; i < reference->primitive_count; i++) dnnl_primitive_destroy(reference->primitives[i]);
  for (size_t i = 0; i < reference->memory_count; i++) dnnl_memory_destroy(reference->memories[i]);
  if (reference->stream) dnnl_stream_destroy(reference->stream);
  if (reference->engine) dnnl_engine_destroy(reference->engine);
  tg_arena_release(&reference->arena);
  free(reference);
  /* Threads that wait are lost in a fork, and its child would wait for them forever: */
  (void)omp_pause_resource_all(OMP_PAUSE_SOFT);
}

size_t tg_cpu_reference_bytes(const tg_cpu_reference *reference) { return reference->arena.used; }

/* --- running */

static void convert(const void *from, tg_dtype from_dtype, void *to, tg_dtype to_dtype, int64_t count) {
  if (from == to) return;
  for (int64_t i = 0; i < count; i++)
    tg_store_f32(to, to_dtype, (size_t)i, tg_load_f32(from, from_dtype, (size_t)i));
}

void tg_cpu_reference_set_input(tg_cpu_reference *reference, int index, const float *data) {
  const tg_value *value = reference->graph->inputs[index];
  convert(data, TG_F32, tg_cpu_data(reference, value), tg_cpu_dtype(reference, value),
          tg_value_elements(value));
}

void tg_cpu_reference_get_output(tg_cpu_reference *reference, int index, float *out_data) {
  const tg_value *value = reference->graph->outputs[index];
  convert(tg_cpu_data(reference, value), tg_cpu_dtype(reference, value), out_data, TG_F32,
          tg_value_elements(value));
}

static void run_plain(tg_cpu_reference *plan, const tg_cpu_step *step) {
  const tg_node *node = step->node;
  for (int i = 0; i < node->input_count; i++)
    if (tg_in(node, i))
      convert(tg_cpu_data(plan, tg_in(node, i)), tg_cpu_dtype(plan, tg_in(node, i)),
              (void *)(uintptr_t)step->inputs[i], tg_in(node, i)->dtype, tg_value_elements(tg_in(node, i)));
  tg_reference_node(node, step->inputs, step->outputs);
  for (int i = 0; i < node->output_count; i++)
    convert(step->outputs[i], node->outputs[i]->dtype, tg_cpu_data(plan, node->outputs[i]),
            tg_cpu_dtype(plan, node->outputs[i]), tg_value_elements(node->outputs[i]));
}

static tg_status run_steps(tg_cpu_reference *plan, tg_diag *diag) {
  for (size_t i = 0; i < plan->step_count; i++) {
    const tg_cpu_step *step = &plan->steps[i];
    if (!step->primitive) {
      dnnl_stream_wait(plan->stream);
      if (step->run)
        step->run(plan, step);
      else
        run_plain(plan, step);
    } else if (dnnl_primitive_execute(step->primitive, plan->stream, step->arg_count, step->args)) {
      return tg_fail(diag, TG_INVALID, "CPU reference: oneDNN failed");
    }
  }
  return dnnl_stream_wait(plan->stream) ? tg_fail(diag, TG_INVALID, "CPU reference: oneDNN failed") : TG_OK;
}

tg_status tg_cpu_reference_run(tg_cpu_reference *reference, tg_diag *diag) {
  int before = omp_get_max_threads();
  omp_set_num_threads(reference->threads);
  tg_status status = run_steps(reference, diag);
  omp_set_num_threads(before);
  return status;
}

/* --- timing */

enum { FEWEST_RUNS = 3 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

tg_status tg_cpu_reference_time(tg_cpu_reference *reference, tg_cpu_effort effort, tg_cpu_time *out_time,
                                tg_diag *diag) {
  double times[TG_CPU_MOST_RUNS], start = now();
  int runs = 0, warmup = effort.warmup ? effort.warmup : 1,
      most = effort.repeats ? effort.repeats : TG_CPU_MOST_RUNS,
      fewest = effort.repeats ? effort.repeats : FEWEST_RUNS;
  if (most < 1 || most > TG_CPU_MOST_RUNS) most = TG_CPU_MOST_RUNS;
  tg_status status = TG_OK;
  for (int i = 0; !status && i < warmup; i++)
    status = tg_cpu_reference_run(reference, diag); /* caches and threads */
  while (!status && runs < most && (runs < fewest || now() - start < effort.budget)) {
    double begin = now();
    status = tg_cpu_reference_run(reference, diag);
    times[runs++] = now() - begin;
  }
  if (status) return status;
  qsort(times, (size_t)runs, sizeof *times, ascending);
  const dnnl_version_t *version = dnnl_version();
  *out_time = (tg_cpu_time){.library = "oneDNN",
                            .threads = reference->threads,
                            .runs = runs,
                            .warmup = warmup,
                            .dtype = reference->dtype,
                            .seconds = times[runs / 2],
                            .low = times[runs / 10],
                            .high = times[runs - 1 - runs / 10],
                            .plain_nodes = reference->plain_nodes};
  snprintf(out_time->version, sizeof out_time->version, "%d.%d.%d", version->major, version->minor,
           version->patch);
  return TG_OK;
}

static tg_status time_one(const tg_graph *graph, tg_dtype dtype, int threads, const float *const *inputs,
                          tg_cpu_effort effort, tg_cpu_time *out_time, tg_diag *diag) {
  tg_cpu_reference *reference;
  tg_status status = tg_cpu_reference_create(graph, dtype, threads, &reference, diag);
  if (status) return status;
  for (int i = 0; i < graph->input_count; i++) tg_cpu_reference_set_input(reference, i, inputs[i]);
  status = tg_cpu_reference_time(reference, effort, out_time, diag);
  tg_cpu_reference_destroy(reference);
  return status;
}

tg_status tg_cpu_reference_best(const tg_graph *graph, const tg_dtype *dtypes, int dtype_count, int threads,
                                const float *const *inputs, tg_cpu_effort effort, tg_cpu_time *out_time,
                                tg_diag *diag) {
  int counts[] = {threads > 0 ? threads : omp_get_num_procs(), 1};
  int tries = counts[0] > 1 ? 2 : 1;
  bool any = false;
  tg_status status = TG_OK;
  effort.budget /= tries * dtype_count;
  for (int d = 0; d < dtype_count; d++)
    for (int t = 0; t < tries && !status; t++) {
      tg_cpu_time time;
      status = time_one(graph, dtypes[d], counts[t], inputs, effort, &time, diag);
      if (status) break;
      if (!any || time.seconds < out_time->seconds) *out_time = time;
      any = true;
      /* One thread wins where starting two costs as much as the work, which on a busy host, where barriers
       * wait for time slices, may be a tenth of a second. */
      if (time.seconds > 1) break;
    }
  return status;
}
