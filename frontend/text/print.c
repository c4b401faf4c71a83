#include "frontend/base/hash.h"
#include "frontend/base/text_stream.h"
#include "frontend/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_ELEMENTS = 64 };

static bool is_plain(const char *name) {
  if (!*name) return false;
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return name[strspn(name, plain)] == 0;
}

static void print_quoted(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\' || *c < 0x20 || *c >= 0x7f)
      fprintf(out, "\\x%02x", *c);
    else
      fputc(*c, out);
  }
  fputc('"', out);
}

static void print_name(FILE *out, const char *name) {
  if (is_plain(name))
    fputs(name, out);
  else
    print_quoted(out, name);
}

static void print_type(FILE *out, const tg_value *value) {
  fputs(tg_dtype_name(value->dtype), out);
  if (value->rank < 0) {
    fputs("[?]", out);
    return;
  }
  fputc('[', out);
  for (int i = 0; i < value->rank; i++) {
    const tg_dim *dim = &value->dims[i];
    if (i) fputc(',', out);
    if (dim->symbol) { /* quoted when it could be read as a number */
      if (strchr("0123456789-", dim->symbol[0]))
        print_quoted(out, dim->symbol);
      else
        print_name(out, dim->symbol);
      if (dim->size >= 0) fprintf(out, "=%" PRId64, dim->size);
    } else {
      fprintf(out, "%" PRId64, dim->size);
    }
  }
  fputc(']', out);
}

/* --- constants */

static void print_element(FILE *out, const void *data, tg_dtype dtype, size_t i) {
  size_t size = tg_dtype_size(dtype);
  if (tg_dtype_is_float(dtype) || tg_dtype_is_narrow(dtype)) {
    double value = dtype == TG_F64 ? ((const double *)data)[i] : (double)tg_load_f32(data, dtype, i);
    if (!isnan(value)) {
      fprintf(out, dtype == TG_F64 ? "%.17g" : "%.9g", value);
      return;
    }
    uint64_t bits = 0; /* a NaN is its bits */
    memcpy(&bits, (const char *)data + i * size, size);
    fprintf(out, "0x%" PRIx64, bits);
  } else if (dtype == TG_U64) {
    fprintf(out, "%" PRIu64, ((const uint64_t *)data)[i]);
  } else {
    fprintf(out, "%" PRId64, tg_load_i64(data, dtype, i));
  }
}

static uint64_t hash_of(const void *data, size_t bytes) {
  uint64_t hash = tg_hash(data, bytes);
  return hash ? hash : 1;
}

static void print_data(FILE *out, const tg_value *value) {
  size_t count = (size_t)tg_value_elements(value), size = tg_dtype_size(value->dtype);
  const char *data = value->data;
  if (value->elided) {
    fprintf(out, "hashed(0x%016" PRIx64 ")", value->elided);
  } else if (value->seed) {
    fprintf(out, "seeded(%" PRIu64 ", %.9g)", value->seed, (double)value->seed_scale);
  } else if (count > INLINE_ELEMENTS && !memcmp(data, data + size, (count - 1) * size)) {
    fputs("splat(", out);
    print_element(out, data, value->dtype, 0);
    fputc(')', out);
  } else if (count > INLINE_ELEMENTS) {
    fprintf(out, "hashed(0x%016" PRIx64 ")", hash_of(data, count * size));
  } else {
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
      if (i) fputs(", ", out);
      print_element(out, data, value->dtype, i);
    }
    fputc(']', out);
  }
}

/* --- nodes */

static void print_attr(FILE *out, const tg_attr *attr, double initial) {
  const tg_attr_info *info = tg_attr_get(attr->key);
  bool by_default = (info->kind == TG_KIND_INT && (double)attr->i == initial) ||
                    (info->kind == TG_KIND_FLOAT && attr->f == initial) ||
                    (info->kind == TG_KIND_INTS && !attr->ints) ||
                    (info->kind == TG_KIND_TEXT && !*attr->text) ||
                    (attr->key == TG_ATTR_TO && attr->i == TG_NONE); /* which no text says */
  if (by_default) return;
  fprintf(out, " %s=", info->name);
  if (attr->key == TG_ATTR_TO)
    fputs(tg_dtype_name((tg_dtype)attr->i), out);
  else if (info->kind == TG_KIND_INT)
    fprintf(out, "%" PRId64, attr->i);
  else if (info->kind == TG_KIND_FLOAT)
    fprintf(out, "%.17g", attr->f);
  else if (info->kind == TG_KIND_TEXT)
    print_quoted(out, attr->text);
  else {
    fputc('[', out);
    for (int i = 0; i < attr->count; i++) fprintf(out, "%s%" PRId64, i ? "," : "", attr->ints[i]);
    fputc(']', out);
  }
}

static void print_node(FILE *out, const tg_node *node) {
  const tg_op_info *info = tg_op_get(node->op);
  for (int i = 0; i < node->output_count; i++) {
    fputs(i ? ", %" : "%", out);
    print_name(out, node->outputs[i]->name);
    if (!node->outputs[i]->dtype) continue;
    fputs(": ", out);
    print_type(out, node->outputs[i]);
  }
  fprintf(out, " = %s(", info->name);
  for (int i = 0; i < node->input_count; i++) {
    if (i) fputs(", ", out);
    if (!tg_in(node, i)) {
      fputc('_', out);
      continue;
    }
    fputc('%', out);
    print_name(out, tg_in(node, i)->name);
  }
  fputc(')', out);
  for (int i = 0; i < node->attr_count; i++) print_attr(out, &node->attrs[i], info->attrs[i].initial);
  fprintf(out, " @%" PRId64, node->id);
  if (*node->name) {
    fputc(' ', out);
    print_quoted(out, node->name);
  }
  if (node->disable_graphamp) fputs(" disable_graphamp", out);
  if (node->forward >= 0) fprintf(out, " forward=%" PRId64 ":%d", node->forward, node->forward_operand);
  if (node->casts) {
    fputs(" casts=", out);
    print_quoted(out, node->casts);
  }
  if (node->origin) {
    fputs(" origin=", out);
    print_quoted(out, node->origin);
  }
  if (node->rule) {
    fputs(" rule=", out);
    print_quoted(out, node->rule);
  }
  fputc('\n', out);
}

/* --- graph */

static void print_graph(FILE *out, const tg_graph *graph) {
  fputs("graph ", out);
  print_quoted(out, graph->name);
  fprintf(out, " next=%" PRId64, graph->next_id);
  if (graph->disable_graphamp) {
    fputs(" disable_graphamp=", out);
    print_quoted(out, graph->disable_graphamp);
  }
  fputc('\n', out);
  for (int i = 0; i < graph->input_count; i++) {
    fputs("input %", out);
    print_name(out, graph->inputs[i]->name);
    fputs(": ", out);
    print_type(out, graph->inputs[i]);
    fputc('\n', out);
  }
  for (int i = 0; i < graph->value_count; i++) {
    const tg_value *value = graph->values[i];
    if (value->kind != TG_VALUE_CONSTANT || !(value->use_count || value->output_count)) continue;
    fputs("const %", out);
    print_name(out, value->name);
    fputs(": ", out);
    print_type(out, value);
    fputs(" = ", out);
    print_data(out, value);
    fputc('\n', out);
  }
  TG_FOR_NODES(graph, node) print_node(out, node);
  for (int i = 0; i < graph->output_count; i++) {
    fputs("output ", out);
    print_quoted(out, graph->output_names[i]);
    fputs(" %", out);
    print_name(out, graph->outputs[i]->name);
    fprintf(out, ": %s", tg_dtype_name(graph->output_dtypes[i]));
    for (size_t c = 0; c < graph->carry_count; c++)
      if (graph->carries[c].output == i) {
        fputs(" -> %", out);
        print_name(out, graph->inputs[graph->carries[c].input]->name);
      }
    fputc('\n', out);
  }
}

char *tg_graph_print(const tg_graph *graph, tg_arena *arena) {
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  print_graph(out, graph);
  return tg_text_end_on(&text, arena);
}
