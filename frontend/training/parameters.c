/* Which constants of a model are parameters to train. */
#include "frontend/training/parameters.h"
#include "frontend/base/pattern.h"
#include "frontend/gradients/gradients.h"

#include <math.h>
#include <regex.h>

/* Masks are added to scores, and hold numbers that no parameter has. */
static bool is_mask(const tg_value *value) {
  int64_t count = tg_value_elements(value);
  for (int64_t i = 0; i < count; i++)
    if (!(fabsf(tg_load_f32(value->data, value->dtype, (size_t)i)) < 1e4f)) return true;
  return false;
}

/* Positions as sines and cosines, interleaved or one half after the other: the first row is of 0 and 1, and
 * the squares of each pair add up to 1. No parameter looks like that. */
static bool is_position_table(const tg_value *value, int64_t apart) {
  int64_t width = value->dims[value->rank - 1].size, count = tg_value_elements(value);
  for (int64_t i = 0; i < count; i++) {
    if (i % width / apart % 2) continue; /* a cosine */
    double s = (double)tg_load_f32(value->data, value->dtype, (size_t)i),
           c = (double)tg_load_f32(value->data, value->dtype, (size_t)(i + apart));
    if ((i < width && (s != 0 || c != 1)) || !(fabs(s * s + c * c - 1) < 1e-3)) return false;
  }
  return true;
}

static bool has_positions(const tg_value *value) {
  int64_t width = value->dims[value->rank - 1].size;
  if (width < 4 || width % 2 || tg_value_elements(value) < 2 * width) return false;
  return is_position_table(value, 1) || is_position_table(value, width / 2);
}

static bool may_train(const tg_value *value) {
  return value->kind == TG_VALUE_CONSTANT && tg_dtype_is_float(value->dtype) && value->dtype != TG_F64 &&
         value->initializer && !value->elided && tg_value_elements(value) > 0;
}

/* Most initializers like these are no parameters: a root of the head's size, a mask, a table of positions. */
static bool looks_constant(const tg_value *value) {
  return value->rank == 0 || is_mask(value) || has_positions(value);
}

typedef struct pattern {
  bool given;
  regex_t regex;
} pattern;

static tg_status compile_pattern(const char *text, pattern *out, tg_diag *diag) {
  *out = (pattern){.given = text != NULL};
  if (!text || !tg_pattern_compile("expression", text, &out->regex, diag)) return TG_OK;
  out->given = false;
  return TG_INVALID;
}

static bool matches(const pattern *p, const char *name) {
  return p->given && !regexec(&p->regex, name, 0, NULL, 0);
}

static void free_pattern(pattern *p) {
  if (p->given) regfree(&p->regex);
}

static void list(tg_graph *graph, const tg_value *y, const pattern *frozen, const pattern *trained,
                 tg_arena *arena, tg_trained *out) {
  bool *reached = TG_NEW_ARRAY(arena, bool, (size_t)graph->value_count);
  tg_backward_reach(graph, y, reached);
  out->values = TG_NEW_ARRAY(arena, tg_value *, (size_t)graph->value_count);
  for (int i = 0; i < graph->value_count; i++) {
    tg_value *value = graph->values[i];
    if (!reached[i] || !may_train(value) || matches(frozen, value->name)) continue;
    if (!looks_constant(value) || matches(trained, value->name))
      out->values[out->count++] = value;
    else if (value->rank == 0 && !out->number)
      out->number = tg_arena_strdup(arena, value->name);
  }
}

tg_status tg_find_trained(tg_graph *graph, const tg_value *y, const tg_training_options *options,
                          tg_arena *arena, tg_trained *out, tg_diag *diag) {
  pattern frozen, trained = {.given = false};
  *out = (tg_trained){0};
  tg_status status = compile_pattern(options->frozen, &frozen, diag);
  if (!status) status = compile_pattern(options->trained, &trained, diag);
  if (!status) list(graph, y, &frozen, &trained, arena, out);
  free_pattern(&frozen);
  free_pattern(&trained);
  if (status || out->count) return status;
  return tg_fail(diag, TG_INVALID, "nothing to train: output \"%s\" depends on no parameter%s", y->name,
                 options->frozen ? " that is not frozen" : "");
}
