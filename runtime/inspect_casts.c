#include "runtime/inspect_casts.h"

#include "frontend/base/output_file.h"
#include "frontend/names.h"
#include "frontend/onnx/onnx.h"
#include "runtime/json_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the list */

static json_t *row_of(const tg_cast_record *r) {
  const char *kind = r->id < 0 ? "output" : r->operand < 0 ? "result" : "operand";
  return json_pack("{s:o, s:I, s:s, s:s, s:o, s:o, s:s, s:s, s:b, s:o, s:o}", "node", tg_json_text(r->node),
                   "id", (json_int_t)r->id, "op", r->op, "kind", kind, "operand",
                   r->operand < 0 ? json_null() : json_integer(r->operand), "tensor", tg_json_text(r->tensor),
                   "before", tg_dtype_name(r->before), "after", tg_dtype_name(r->after), "inserted",
                   r->inserted, "rule", tg_json_text(r->rule), "source", tg_json_text(r->source));
}

static json_t *counts_of(const tg_session *session) {
  const tg_graph *graph = session->decided;
  int inserted = 0, constants = 0, left = 0;
  for (size_t i = 0; i < graph->cast_count; i++) {
    if (!graph->casts[i].inserted) continue;
    inserted++;
    constants += tg_is_constant(tg_graph_find_value(graph, graph->casts[i].tensor));
  }
  if (session->lowered) TG_FOR_NODES(session->lowered, node) left += node->op == TG_OP_CAST;
  return json_pack("{s:i, s:i, s:o}", "inserted", inserted, "of_constants", constants, "left",
                   session->lowered ? json_integer(left) : json_null());
}

json_t *tg_inspect_casts(const tg_session *session) {
  json_t *all = json_object(), *rows = json_array();
  for (size_t i = 0; i < session->decided->cast_count; i++)
    json_array_append_new(rows, row_of(&session->decided->casts[i]));
  json_object_set_new(all, "precision", json_loads(session->precision, 0, NULL));
  json_object_set_new(all, "casts", rows);
  json_object_set_new(all, "counts", counts_of(session));
  return all;
}

static const char *string(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "-";
}

static void print_row(const json_t *row, FILE *out) {
  char operand[32];
  const json_t *index = json_object_get(row, "operand");
  snprintf(operand, sizeof operand, json_is_integer(index) ? "%s %lld" : "%s", string(row, "kind"),
           (long long)json_integer_value(index));
  const char *node = *string(row, "node") ? string(row, "node") : string(row, "tensor");
  bool changes = strcmp(string(row, "before"), string(row, "after")) != 0;
  fprintf(out, "  %-24s %-18s %-10s %-24s %-5s %-5s %-6s %s [%s]\n", node, string(row, "op"), operand,
          string(row, "tensor"), string(row, "before"), string(row, "after"),
          json_is_true(json_object_get(row, "inserted"))     ? "cast"
          : changes && strcmp(string(row, "kind"), "result") ? "shared"
                                                             : "",
          string(row, "rule"), string(row, "source"));
}

void tg_inspect_casts_print(const json_t *casts, FILE *out) {
  size_t i;
  json_t *row, *counts = json_object_get(casts, "counts");
  fprintf(out, "decisions, %s:\n  %-24s %-18s %-10s %-24s %-5s %-5s %-6s %s\n",
          string(json_object_get(casts, "precision"), "policy"), "node", "operator", "operand", "tensor",
          "from", "to", "", "rule [source]");
  json_array_foreach(json_object_get(casts, "casts"), i, row) print_row(row, out);
  fprintf(out, "casts: %lld inserted, %lld of them of constants",
          (long long)json_integer_value(json_object_get(counts, "inserted")),
          (long long)json_integer_value(json_object_get(counts, "of_constants")));
  if (json_is_integer(json_object_get(counts, "left")))
    fprintf(out, "; %lld left in the lowered graph",
            (long long)json_integer_value(json_object_get(counts, "left")));
  fputc('\n', out);
}

/* --- decisions as rules */

static const char *word_of(tg_dtype dtype) {
  switch (dtype) {
  case TG_F32: return "fp32";
  case TG_BF16: return "bf16";
  case TG_F16: return "fp16";
  case TG_TF32: return "tf32";
  default: return "keep";
  }
}

/* The records [first, end) are those of one node. */
static size_t end_of_node(const tg_graph *graph, size_t first) {
  size_t end = first;
  while (end < graph->cast_count && graph->casts[end].id == graph->casts[first].id) end++;
  return end;
}

const char *tg_decided_rule(tg_arena *arena, const tg_graph *graph, size_t first) {
  const char *text = "", *result = NULL;
  int next = 0;
  for (size_t i = first; i < end_of_node(graph, first); i++) {
    const tg_cast_record *r = &graph->casts[i];
    if (r->operand < 0 && !result) result = word_of(r->after);
    if (r->operand < 0) continue;
    for (; next < r->operand; next++) text = tg_arena_printf(arena, "%s%skeep", text, next ? "," : "");
    text = tg_arena_printf(arena, "%s%s%s", text, next++ ? "," : "", word_of(r->after));
  }
  if (!*text) text = "keep";
  return result && strcmp(result, "keep") ? tg_arena_printf(arena, "%s -> %s", text, result) : text;
}

static void print_quoted(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c < 0x20 || *c >= 0x7f)
      fprintf(out, "\\x%02x", *c);
    else
      fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  }
  fputc('"', out);
}

/* Names that two nodes have do not tell them apart. */
static tg_name_set *ambiguous_names(tg_arena *arena, const tg_graph *graph) {
  tg_name_set *seen = tg_name_set_create(arena), *twice = tg_name_set_create(arena);
  for (size_t i = 0; i < graph->cast_count; i = end_of_node(graph, i))
    if (!tg_name_set_add(seen, graph->casts[i].node, arena))
      tg_name_set_add(twice, graph->casts[i].node, arena);
  return twice;
}

/* `note`: where the decisions are from, in place of the rule that decided each; or NULL. */
static void print_rules(FILE *out, const tg_session *session, const char *note) {
  tg_arena arena = {0};
  const tg_graph *graph = session->decided;
  tg_name_set *twice = ambiguous_names(&arena, graph);
  fprintf(out, "# cast rules: what %s decided\n", session->path);
  if (note) fprintf(out, "# %s\n", note);
  for (size_t i = 0; i < graph->cast_count; i = end_of_node(graph, i)) {
    const tg_cast_record *r = &graph->casts[i];
    if (r->id < 0) continue;
    if (*r->node && !tg_name_set_find(twice, r->node)) {
      fputs("node ", out);
      print_quoted(out, r->node);
    } else {
      fprintf(out, "id %" PRId64, r->id);
    }
    fprintf(out, " %s  # %s%s%s\n", tg_decided_rule(&arena, graph, i), r->op, note ? "" : "; ",
            note ? "" : r->rule);
  }
  tg_arena_release(&arena);
}

tg_status tg_write_cast_rules(const tg_session *session, const char *path, const char *note, tg_diag *diag) {
  tg_output_file file;
  if (tg_output_open(path, &file, diag)) return TG_INVALID;
  print_rules(file.stream, session, note);
  return tg_output_commit(&file, diag);
}

tg_status tg_write_decided_model(tg_session *session, const char *path, tg_diag *diag) {
  const tg_graph *decided = session->decided;
  tg_graph *model = tg_graph_clone(session->model, &session->arena);
  tg_node *node = model->first;
  for (size_t i = 0; i < decided->cast_count; i = end_of_node(decided, i)) {
    if (decided->casts[i].id < 0) continue;
    for (tg_node *at = node; at; at = at->next) /* both are in the model's order */
      if (at->id == decided->casts[i].id) {
        at->casts = tg_decided_rule(&session->arena, decided, i);
        at->rule = decided->casts[i].rule;
        node = at->next;
        break;
      }
  }
  return tg_onnx_write(path, model, diag);
}
