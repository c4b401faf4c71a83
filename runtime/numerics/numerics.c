#include "runtime/numerics/numerics.h"
#include "frontend/base/float_formats.h"
#include "frontend/reference.h"
#include "runtime/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPERATIONS INT64_C(20000000000)

/* Values of both graphs by value->index, freed after their last use. */
typedef struct side {
  const tg_graph *graph;
  void **data; /* results, and inputs as their dtype; constants are the graph's */
  int *uses_left;
} side;

typedef struct analysis {
  side policy, exact;
  json_t *rows;
  double bound;
  json_t *first; /* row that broke the bound first; borrowed */
} analysis;

/* --- both graphs */

static const void *data_of(const side *s, const tg_value *value) {
  return !value ? NULL : tg_is_constant(value) ? value->data : s->data[value->index];
}

static void *new_tensor(int64_t count, size_t size) {
  void *data = malloc((size_t)count * size + 1);
  if (!data) tg_die("out of memory (%" PRId64 " elements)", count);
  return data;
}

/* The same graph in FP32 throughout; integers and bools stay. */
static tg_graph *widened(const tg_graph *graph, tg_arena *arena) {
  tg_graph *exact = tg_graph_clone(graph, arena);
  for (int v = 0; v < exact->value_count; v++) {
    tg_value *value = exact->values[v];
    if (!tg_dtype_is_float(value->dtype) || value->dtype == TG_F32) continue;
    if (value->data) {
      int64_t count = tg_value_elements(value);
      float *data = TG_NEW_ARRAY(arena, float, (size_t)count + 1);
      for (int64_t e = 0; e < count; e++) data[e] = tg_load_f32(value->data, value->dtype, (size_t)e);
      value->data = data;
    }
    value->dtype = TG_F32;
  }
  TG_FOR_NODES(exact, node) {
    if (node->op != TG_OP_CAST) continue;
    tg_attr_set_int(node, TG_ATTR_STOCHASTIC, 0);
    if (tg_dtype_is_float(tg_out(node)->dtype)) tg_attr_set_int(node, TG_ATTR_TO, TG_F32);
  }
  return exact;
}

static side new_side(const tg_graph *graph, tg_arena *arena) {
  side s = {graph, TG_NEW_ARRAY(arena, void *, (size_t)graph->value_count + 1),
            TG_NEW_ARRAY(arena, int, (size_t)graph->value_count + 1)};
  for (int v = 0; v < graph->value_count; v++) s.uses_left[v] = graph->values[v]->use_count;
  return s;
}

static void set_inputs(side *s, const float *const *inputs) {
  for (int i = 0; i < s->graph->input_count; i++) {
    const tg_value *value = s->graph->inputs[i];
    int64_t count = tg_value_elements(value);
    void *data = s->data[value->index] = new_tensor(count, tg_dtype_size(value->dtype));
    for (int64_t e = 0; e < count; e++) tg_store_f32(data, value->dtype, (size_t)e, inputs[i][e]);
  }
}

static void drop(side *s, const tg_value *value) {
  if (!value || tg_is_constant(value) || --s->uses_left[value->index] > 0) return;
  free(s->data[value->index]);
  s->data[value->index] = NULL;
}

static void release(side *s) {
  for (int v = 0; v < s->graph->value_count; v++) free(s->data[v]);
}

/* Evaluates a node into fresh tensors of its results' types, out[output_count]. */
static void evaluate(const tg_node *node, const void *const *inputs, void **out) {
  for (int i = 0; i < node->output_count; i++)
    out[i] = new_tensor(tg_value_elements(node->outputs[i]), tg_dtype_size(node->outputs[i]->dtype));
  tg_reference_node(node, inputs, out);
}

/* --- what is measured of a result */

typedef struct measured {
  int64_t count, overflows, nans, subnormals, lost; /* lost: 0 where FP32 has something */
  double least, most;                               /* magnitudes of the FP32 result, but 0 */
  double added, passed, total, exact;               /* sums of squares */
} measured;

/* The least normal number of a format. */
static double least_normal(tg_dtype dtype) { return dtype == TG_F16 ? 0x1p-14 : 0x1p-126; }

static void measure(measured *m, float y, float f, float r, double normal) {
  m->count++;
  double magnitude = fabs((double)r);
  if (isfinite(r)) {
    if (magnitude > m->most) m->most = magnitude;
    if (magnitude > 0 && !(magnitude >= m->least)) m->least = magnitude;
    m->exact += magnitude * magnitude;
  }
  m->nans += isnan(y) && !isnan(r);
  m->overflows += isinf(y) && isfinite(r);
  m->subnormals += tg_f32_bits(y) << 1 != 0 && fabs((double)y) < normal;
  m->lost += tg_f32_bits(y) << 1 == 0 && magnitude > 0;
  if (!isfinite(y) && !isfinite(f) && !isfinite(r)) return; /* as the model has it */
  m->added += pow((double)y - (double)f, 2);
  m->passed += pow((double)f - (double)r, 2);
  m->total += pow((double)y - (double)r, 2);
}

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* Bits of a significand that are right, as an error of half a unit would leave them; at most FP32's 24. */
static double right_bits(double error, double exact) {
  if (!(error > 0)) return 24;
  double bits = -log2(sqrt(error / exact)) - 0.5 * log2(3); /* uniform errors: half a unit is sqrt(3) rms */
  return bits > 24 ? 24 : bits < 0 || isnan(bits) ? 0 : bits;
}

/* What would help, of an operator that adds errors in a narrow format. */
static const char *hint(const measured *m, tg_dtype dtype) {
  if (m->overflows && dtype == TG_F16)
    return m->most < 0x1p127 ? "range: passes 65504, which BF16 holds" : "range: FP32";
  if (m->overflows || m->nans) return "range: FP32";
  if (dtype == TG_F16 && 16 * m->lost > m->count)
    return "range: much is below 6e-8, which BF16 holds; or scale it up";
  if (dtype == TG_BF16 && m->most < 65504 && m->least >= 0x1p-24)
    return "precision: FP16 has 3 bits more, and the range fits";
  if (dtype == TG_BF16) return "precision: FP32 or TF32; the range is more than FP16's";
  if (dtype == TG_F16 || dtype == TG_TF32) return "precision: FP32";
  return NULL;
}

/* The narrowest float among operands and result: what the operator loses its bits to. */
static tg_dtype narrowest(const tg_node *node) {
  static const tg_dtype order[] = {TG_BF16, TG_F16, TG_TF32};
  for (size_t d = 0; d < sizeof order / sizeof *order; d++) {
    if (tg_out(node)->dtype == order[d]) return order[d];
    for (int i = 0; i < node->input_count; i++)
      if (tg_in(node, i) && tg_in(node, i)->dtype == order[d]) return order[d];
  }
  return TG_F32;
}

static json_t *row_of(const tg_node *node, int output, const measured *m) {
  const tg_value *value = node->outputs[output];
  double count = (double)(m->count ? m->count : 1), relative = sqrt(m->total / m->exact);
  const char *advice = m->added > 0 ? hint(m, narrowest(node)) : NULL;
  if (!(m->total > 0)) relative = 0;
  return json_pack(
      "{s:o, s:s, s:I, s:o, s:s, s:o, s:b, s:I, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
      "node", tg_json_text(node->name), "op", tg_op_get(node->op)->name, "id", (json_int_t)node->id, "tensor",
      tg_json_text(value->name), "format", tg_dtype_name(value->dtype), "rule",
      node->rule ? tg_json_text(node->rule) : json_null(), "backward", node->forward >= 0, "elements",
      (json_int_t)m->count, "least", real(m->least), "most", real(m->most), "overflows",
      (json_int_t)m->overflows, "nans", (json_int_t)m->nans, "subnormals", (json_int_t)m->subnormals, "lost",
      (json_int_t)m->lost, "added_rms", real(sqrt(m->added / count)), "passed_rms",
      real(sqrt(m->passed / count)), "total_rms", real(sqrt(m->total / count)), "relative", real(relative),
      "right_bits", real(m->exact > 0 || m->total == 0 ? right_bits(m->total, m->exact) : 0), "hint",
      advice ? json_string(advice) : json_null());
}

static void judge(analysis *a, const tg_node *node, int output, const void *y, const void *f, const void *r) {
  const tg_value *value = node->outputs[output];
  measured m = {.least = INFINITY};
  if (!tg_dtype_is_float(value->dtype)) return;
  int64_t count = tg_value_elements(value);
  for (int64_t e = 0; e < count; e++)
    measure(&m, tg_load_f32(y, value->dtype, (size_t)e), ((const float *)f)[e], ((const float *)r)[e],
            least_normal(value->dtype));
  json_t *row = row_of(node, output, &m);
  json_array_append_new(a->rows, row);
  const json_t *relative = json_object_get(row, "relative");
  bool broken = m.overflows || m.nans || !json_is_number(relative) || json_number_value(relative) > a->bound;
  if (broken && !a->first) a->first = row;
}

/* --- the walk */

static void run_node(analysis *a, const tg_node *node, const tg_node *exact) {
  int inputs = node->input_count, outputs = node->output_count;
  tg_arena arena = {0};
  const void **x = TG_NEW_ARRAY(&arena, const void *, (size_t)inputs + 1),
             **w = TG_NEW_ARRAY(&arena, const void *, (size_t)inputs + 1),
             **z = TG_NEW_ARRAY(&arena, const void *, (size_t)inputs + 1);
  void **y = TG_NEW_ARRAY(&arena, void *, (size_t)outputs),
       **f = TG_NEW_ARRAY(&arena, void *, (size_t)outputs),
       **r = TG_NEW_ARRAY(&arena, void *, (size_t)outputs);
  for (int i = 0; i < inputs; i++) {
    const tg_value *value = tg_in(node, i);
    if (!value) continue;
    x[i] = w[i] = data_of(&a->policy, value);
    z[i] = data_of(&a->exact, tg_in(exact, i));
    if (value->dtype == tg_in(exact, i)->dtype) continue;
    int64_t count = tg_value_elements(value); /* the policy's operand, widened */
    float *wide = TG_NEW_ARRAY(&arena, float, (size_t)count + 1);
    for (int64_t e = 0; e < count; e++) wide[e] = tg_load_f32(x[i], value->dtype, (size_t)e);
    w[i] = wide;
  }
  evaluate(node, x, y);
  evaluate(exact, w, f);
  evaluate(exact, z, r);
  for (int i = 0; i < outputs; i++) {
    judge(a, node, i, y[i], f[i], r[i]);
    free(f[i]);
    a->policy.data[node->outputs[i]->index] = y[i];
    a->exact.data[exact->outputs[i]->index] = r[i];
  }
  for (int i = 0; i < inputs; i++) {
    drop(&a->policy, tg_in(node, i));
    drop(&a->exact, tg_in(exact, i));
  }
  tg_arena_release(&arena);
}

static tg_status check_cost(const tg_numerics_model *model, tg_diag *diag) {
  int64_t sum = 0;
  TG_FOR_NODES(model->graph, node)
  if (__builtin_add_overflow(sum, tg_reference_cost(node), &sum) || sum > MOST_OPERATIONS / 3)
    return tg_fail(
        diag, TG_INVALID,
        "%s: more than %.0e operations, which plain C would take long for: smaller --batch or --dim may do",
        model->path, (double)MOST_OPERATIONS / 3);
  return TG_OK;
}

tg_status tg_numerics_of(const tg_numerics_model *model, double bound, json_t **out_object, tg_diag *diag) {
  *out_object = NULL;
  if (check_cost(model, diag)) return TG_INVALID;
  tg_arena arena = {0};
  tg_graph *exact = widened(model->graph, &arena);
  analysis a = {new_side(model->graph, &arena), new_side(exact, &arena), json_array(), bound, NULL};
  set_inputs(&a.policy, model->inputs);
  set_inputs(&a.exact, model->inputs);
  const tg_node *twin = exact->first;
  TG_FOR_NODES(model->graph, node) {
    run_node(&a, node, twin);
    twin = twin->next;
  }
  *out_object =
      json_pack("{s:s, s:o, s:o, s:f, s:o, s:o}", "tegula", tg_version(), "model", tg_json_text(model->path),
                "precision", json_loads(model->precision, 0, NULL), "bound", bound, "first_broken",
                a.first ? json_incref(a.first) : json_null(), "results", a.rows);
  release(&a.policy);
  release(&a.exact);
  tg_arena_release(&arena);
  return TG_OK;
}

tg_status tg_numerics(const tg_session *session, double bound, json_t **out_object, tg_diag *diag) {
  *out_object = NULL;
  if (!session->decided)
    return tg_fail(diag, TG_INVALID, "%s: is a compiled program: only a model has operators", session->path);
  for (int i = 0; i < session->input_count; i++)
    if (!session->input_data[i])
      return tg_fail(diag, TG_INVALID, "input \"%s\" has no values", session->inputs[i].name);
  const tg_numerics_model model = {session->decided, session->path, session->precision,
                                   (const float *const *)session->input_data};
  return tg_numerics_of(&model, bound, out_object, diag);
}
