#include "frontend/text.h"
#include "frontend/text/scan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Of nodes: what is kept for each, passes find in arrays by id. */
#define MOST_IDS            (1 << 20)
#define MOST_CONSTANT_BYTES 0x1p30 /* of all of them: a few letters name any number of elements */

/* --- types */

typedef struct type {
  tg_dtype dtype;
  int rank;
  tg_dim dims[TG_MAX_RANK];
} type;

static bool parse_dim(tg_scanner *p, tg_dim *dim) {
  *dim = (tg_dim){-1, NULL};
  tg_scan_spaces(p);
  if ((*p->at >= '0' && *p->at <= '9') || *p->at == '-') {
    if (!tg_scan_int(p, &dim->size)) return false;
    return dim->size >= -1 || tg_scan_expected(p, "a size"); /* -1: open, without a name */
  }
  if (!tg_scan_name(p, &dim->symbol)) return false;
  if (!tg_scan_accept(p, "=")) return true;
  return tg_scan_int(p, &dim->size) && (dim->size >= 0 || tg_scan_expected(p, "a size"));
}

/* "none": not known yet. */
static bool element_type(const char *name, tg_dtype *out) {
  *out = tg_dtype_from_name(name);
  return *out || !strcmp(name, tg_dtype_name(TG_NONE));
}

static bool parse_type(tg_scanner *p, type *t) {
  const char *name;
  *t = (type){TG_NONE, -1, {{0}}};
  if (!tg_scan_name(p, &name)) return false;
  if (!element_type(name, &t->dtype)) return tg_scan_expected(p, "an element type");
  if (tg_scan_accept(p, "[?]")) return true;
  if (!tg_scan_expect(p, "[")) return false;
  int64_t count = 1;
  for (t->rank = 0; !tg_scan_accept(p, "]"); t->rank++) {
    if (t->rank == TG_MAX_RANK) return tg_scan_expected(p, "a rank of at most 8");
    if (t->rank && !tg_scan_expect(p, ",")) return false;
    tg_dim *dim = &t->dims[t->rank];
    if (!parse_dim(p, dim)) return false;
    if (dim->size > 0 && (__builtin_mul_overflow(count, dim->size, &count) || count > TG_MAX_ELEMENTS))
      return tg_scan_expected(p, "fewer elements");
  }
  return true;
}

static bool parse_value(tg_scanner *p, tg_value **out) {
  const char *name;
  *out = NULL;
  if (tg_scan_accept(p, "_")) return true;
  if (!tg_scan_expect(p, "%") || !tg_scan_name(p, &name)) return false;
  *out = tg_graph_find_value(p->graph, name);
  return *out || tg_scan_expected(p, "a name that is defined");
}

/* --- lines */

static bool parse_fresh_name(tg_scanner *p, const char **out) {
  if (!tg_scan_expect(p, "%") || !tg_scan_name(p, out)) return false;
  return !tg_graph_find_value(p->graph, *out) || tg_scan_expected(p, "a name that is not taken");
}

static bool parse_input(tg_scanner *p) {
  const char *name;
  type t;
  if (!parse_fresh_name(p, &name) || !tg_scan_expect(p, ":") || !parse_type(p, &t)) return false;
  tg_value *value = tg_graph_add_input(p->graph, name, t.dtype, t.rank, t.dims);
  for (int i = 0; i < t.rank; i++)
    if (t.dims[i].symbol && t.dims[i].size >= 0) {
      value->dims[i].size = -1;
      if (tg_graph_bind_symbol(p->graph, t.dims[i].symbol, t.dims[i].size, p->diag)) return false;
    }
  return true;
}

static bool parse_element(tg_scanner *p, void *data, tg_dtype dtype, size_t i) {
  tg_scan_spaces(p);
  size_t size = tg_dtype_size(dtype);
  if ((tg_dtype_is_float(dtype) || tg_dtype_is_narrow(dtype)) && strncmp(p->at, "0x", 2)) {
    double value;
    if (!tg_scan_float(p, &value)) return false;
    if (dtype == TG_F64)
      ((double *)data)[i] = value;
    else
      tg_store_f32(data, dtype, i, (float)value);
    return true;
  }
  char *end;
  uint64_t bits = *p->at == '-' ? (uint64_t)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
  if (end == p->at) return tg_scan_expected(p, "an element");
  p->at = end;
  memcpy((char *)data + i * size, &bits, size); /* little-endian: the low bytes */
  return true;
}

static bool parse_data(tg_scanner *p, tg_value *value) {
  size_t count = (size_t)tg_value_elements(value), size = tg_dtype_size(value->dtype);
  char *data = (char *)value->data;
  if (tg_scan_accept(p, "hashed(")) {
    value->elided = strtoull(p->at, (char **)&p->at, 16);
    return tg_scan_expect(p, ")");
  }
  if (tg_scan_accept(p, "seeded(")) {
    double scale;
    value->seed = strtoull(p->at, (char **)&p->at, 10);
    if (!value->seed || !tg_scan_expect(p, ",") || !tg_scan_float(p, &scale) || !tg_scan_expect(p, ")"))
      return tg_scan_expected(p, "seeded(seed, scale)");
    value->seed_scale = (float)scale;
    tg_seeded_fill(data, value->dtype, (int64_t)count, value->seed, value->seed_scale);
    return true;
  }
  if (tg_scan_accept(p, "splat(")) {
    char cell[8] = {0};
    if (!parse_element(p, cell, value->dtype, 0)) return false;
    for (size_t i = 0; i < count; i++) memcpy(data + i * size, cell, size);
    return tg_scan_expect(p, ")");
  }
  if (!tg_scan_expect(p, "[")) return false;
  for (size_t i = 0; i < count; i++)
    if ((i && !tg_scan_expect(p, ",")) || !parse_element(p, data, value->dtype, i)) return false;
  return tg_scan_expect(p, "]");
}

static bool parse_const(tg_scanner *p) {
  const char *name;
  type t;
  if (!parse_fresh_name(p, &name) || !tg_scan_expect(p, ":") || !parse_type(p, &t) || !tg_scan_expect(p, "="))
    return false;
  int64_t sizes[TG_MAX_RANK];
  if (t.rank < 0 || !t.dtype) return tg_scan_expected(p, "a shape and a type");
  double bytes = (double)tg_dtype_size(t.dtype);
  for (int i = 0; i < t.rank; i++) {
    if (t.dims[i].symbol || t.dims[i].size < 0) return tg_scan_expected(p, "sizes");
    sizes[i] = t.dims[i].size;
    bytes *= (double)sizes[i];
  }
  if ((double)p->graph->held + bytes > MOST_CONSTANT_BYTES)
    return tg_scan_expected(p, "constants of 1 GB at most");
  tg_value *value = tg_graph_add_constant(p->graph, name, t.dtype, t.rank, sizes, NULL, false);
  value->initializer = true;
  p->graph->held += tg_value_elements(value) * (int64_t)tg_dtype_size(t.dtype);
  return parse_data(p, value);
}

static bool parse_ints(tg_scanner *p, tg_node *node, tg_attr_key key) {
  int64_t ints[64];
  int count = 0;
  if (!tg_scan_expect(p, "[")) return false;
  while (!tg_scan_accept(p, "]")) {
    if (count == 64 || (count && !tg_scan_expect(p, ",")) || !tg_scan_int(p, &ints[count]))
      return tg_scan_expected(p, "integers");
    count++;
  }
  tg_attr_set_ints(p->graph, node, key, ints, count);
  return true;
}

static bool parse_attr(tg_scanner *p, tg_node *node, const char *name) {
  tg_attr_key key = tg_attr_from_name(name);
  if (key == TG_ATTR_KEY_COUNT || !tg_attr_find(node, key))
    return tg_scan_expected(p, "an attribute of the operator");
  int64_t i;
  double f;
  const char *text;
  if (key == TG_ATTR_TO) {
    if (!tg_scan_name(p, &text)) return false;
    tg_attr_set_int(node, key, tg_dtype_from_name(text));
    return tg_attr_int(node, key) != TG_NONE || tg_scan_expected(p, "an element type");
  }
  switch (tg_attr_get(key)->kind) {
  case TG_KIND_INT:
    if (!tg_scan_int(p, &i)) return false;
    tg_attr_set_int(node, key, i);
    return true;
  case TG_KIND_FLOAT:
    if (!tg_scan_float(p, &f)) return false;
    tg_attr_set_float(node, key, f);
    return true;
  case TG_KIND_TEXT:
    if (!tg_scan_quoted(p, &text)) return false;
    tg_attr_set_text(p->graph, node, key, text);
    return true;
  default: return parse_ints(p, node, key);
  }
}

static bool parse_forward(tg_scanner *p, tg_node *node) {
  int64_t operand;
  if (!tg_scan_int(p, &node->forward) || !tg_scan_expect(p, ":") || !tg_scan_int(p, &operand)) return false;
  if (operand < TG_SUM_OF_GRADIENTS || operand > INT_MAX)
    return tg_scan_expected(p, "the number of an operand");
  node->forward_operand = (int)operand;
  return true;
}

/* What stands after the closing parenthesis: attributes, @id, "name", disable_graphamp, forward=id:operand,
 * casts="...", origin="...", rule="...". */
static bool parse_properties(tg_scanner *p, tg_node *node) {
  for (tg_scan_spaces(p); *p->at && *p->at != '\n'; tg_scan_spaces(p)) {
    const char *name;
    if (tg_scan_accept(p, "@")) {
      if (!tg_scan_int(p, &node->id)) return false;
      if (node->id < -1 || node->id >= MOST_IDS) return tg_scan_expected(p, "the number of a node");
    } else if (*p->at == '"') {
      if (!tg_scan_quoted(p, &node->name)) return false;
    } else if (tg_scan_accept(p, "disable_graphamp")) {
      node->disable_graphamp = true;
    } else if (tg_scan_accept(p, "forward=")) {
      if (!parse_forward(p, node)) return false;
    } else if (tg_scan_accept(p, "casts=")) {
      if (!tg_scan_quoted(p, &node->casts)) return false;
    } else if (tg_scan_accept(p, "origin=")) {
      if (!tg_scan_quoted(p, &node->origin)) return false;
    } else if (tg_scan_accept(p, "rule=")) {
      if (!tg_scan_quoted(p, &node->rule)) return false;
    } else if (!tg_scan_name(p, &name) || !tg_scan_expect(p, "=") || !parse_attr(p, node, name)) {
      return false;
    }
  }
  return true;
}

static bool parse_inputs(tg_scanner *p, tg_value ***out_inputs, int *out_count) {
  size_t count = 0, capacity = 0;
  *out_inputs = NULL;
  while (!tg_scan_accept(p, ")")) {
    tg_value *value;
    if ((count && !tg_scan_expect(p, ",")) || !parse_value(p, &value)) return false;
    TG_PUSH(p->graph->arena, *out_inputs, count, capacity, value);
  }
  *out_count = (int)count;
  return true;
}

typedef struct result {
  const char *name;
  type t;
} result;

/* "%a: f32[2], %b = " */
static bool parse_results(tg_scanner *p, result **out_results, int *out_count) {
  size_t count = 0, capacity = 0;
  *out_results = NULL;
  do {
    result r = {NULL, {TG_NONE, -1, {{0}}}};
    if (!parse_fresh_name(p, &r.name) || (tg_scan_accept(p, ":") && !parse_type(p, &r.t))) return false;
    TG_PUSH(p->graph->arena, *out_results, count, capacity, r);
  } while (tg_scan_accept(p, ","));
  *out_count = (int)count;
  return tg_scan_expect(p, "=");
}

static void set_result(tg_scanner *p, tg_value *value, const result *r) {
  tg_value_rename(p->graph, value, r->name);
  value->dtype = r->t.dtype;
  value->rank = r->t.rank;
  for (int i = 0; i < r->t.rank; i++) value->dims[i] = (tg_dim){r->t.dims[i].size, NULL};
}

static bool parse_node(tg_scanner *p) {
  const char *op_name;
  result *results;
  int result_count;
  if (!parse_results(p, &results, &result_count)) return false;
  if (!tg_scan_name(p, &op_name) || !tg_scan_expect(p, "(")) return false;
  tg_op op = tg_op_from_name(op_name);
  if (op == TG_OP_COUNT) return tg_scan_expected(p, "an operator");
  tg_value **inputs;
  int count;
  if (!parse_inputs(p, &inputs, &count)) return false;
  const tg_op_info *info = tg_op_get(op);
  if (count > info->most_inputs) return tg_scan_expected(p, "fewer inputs");
  for (int i = 0; i < info->fewest_inputs; i++)
    if (i >= count || !inputs[i]) return tg_scan_expected(p, "more inputs");
  int64_t next_id = p->graph->next_id; /* of a node whose line has none */
  tg_node *node = tg_graph_add_node(p->graph, op, NULL, inputs, count, NULL, -1);
  int wanted = info->outputs;
  if (wanted == TG_ANY_COUNT)
    tg_node_set_outputs(p->graph, node, result_count);
  else if (result_count != wanted)
    return tg_scan_expected(p, "another number of results");
  for (int i = 0; i < result_count; i++) set_result(p, node->outputs[i], &results[i]);
  if (!parse_properties(p, node)) return false;
  p->graph->next_id = node->id < next_id ? next_id : node->id + 1;
  return p->graph->next_id <= MOST_IDS || tg_scan_expected(p, "fewer nodes");
}

/* Of the output parsed last: the input that it becomes. */
static bool parse_carry(tg_scanner *p) {
  tg_value *value;
  if (!parse_value(p, &value)) return false;
  for (int i = 0; i < p->graph->input_count; i++)
    if (p->graph->inputs[i] == value) {
      tg_graph_add_carry(p->graph, i, p->graph->output_count - 1);
      return true;
    }
  return tg_scan_expected(p, "an input");
}

static bool parse_output(tg_scanner *p) {
  const char *name, *dtype;
  tg_value *value;
  if (!tg_scan_quoted(p, &name) || !parse_value(p, &value) || !tg_scan_expect(p, ":") ||
      !tg_scan_name(p, &dtype))
    return false;
  if (!value) return tg_scan_expected(p, "a value");
  tg_dtype type;
  if (!element_type(dtype, &type)) return tg_scan_expected(p, "an element type");
  tg_graph_add_output(p->graph, value, name, type);
  return !tg_scan_accept(p, "->") || parse_carry(p);
}

static bool parse_header(tg_scanner *p) {
  if (!tg_scan_expect(p, "graph") || !tg_scan_quoted(p, &p->graph->name)) return false;
  if (tg_scan_accept(p, "next=") && !tg_scan_int(p, &p->graph->next_id)) return false;
  if (p->graph->next_id < 0 || p->graph->next_id > MOST_IDS)
    return tg_scan_expected(p, "the number of a node");
  return !tg_scan_accept(p, "disable_graphamp=") || tg_scan_quoted(p, &p->graph->disable_graphamp);
}

static bool parse_line(tg_scanner *p, bool *seen_header) {
  tg_scan_spaces(p);
  if (*p->at == '\n' || *p->at == '#') {
    p->at += strcspn(p->at, "\n");
    return true;
  }
  bool header = !*seen_header;
  *seen_header = true;
  if (header) return parse_header(p);
  if (tg_scan_accept(p, "input ")) return parse_input(p);
  if (tg_scan_accept(p, "const ")) return parse_const(p);
  if (tg_scan_accept(p, "output ")) return parse_output(p);
  return parse_node(p);
}

tg_status tg_graph_parse(tg_arena *arena, const char *text, tg_graph **out_graph, tg_diag *diag) {
  tg_scanner p = {tg_graph_create(arena, ""), text, 1, diag};
  *out_graph = NULL;
  bool seen_header = false;
  for (; *p.at; p.line++) {
    if (!parse_line(&p, &seen_header)) return TG_INVALID;
    tg_scan_spaces(&p);
    if (*p.at && *p.at != '\n') {
      tg_scan_expected(&p, "the end of the line");
      return TG_INVALID;
    }
    if (*p.at) p.at++;
  }
  *out_graph = p.graph;
  return TG_OK;
}
