#include "runtime/inspect.h"
#include "frontend/text.h"
#include "runtime/inspect_casts.h"
#include "runtime/json_text.h"
#include "runtime/report/occupancy.h"
#include "runtime/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Each node of the lowered graph that computes, with the formats it reads and writes and the rule behind
 * them. */
static json_t *formats(const tg_graph *graph) {
  json_t *list = json_array();
  TG_FOR_NODES(graph, node) {
    if (!node->rule && node->op != TG_OP_CAST) continue;
    json_t *inputs = json_array();
    for (int i = 0; i < node->input_count; i++)
      if (tg_in(node, i)) json_array_append_new(inputs, json_string(tg_dtype_name(tg_in(node, i)->dtype)));
    json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:s, s:o}", "op", tg_op_get(node->op)->name,
                                          "result", tg_json_text(tg_out(node)->name), "inputs", inputs,
                                          "output", tg_dtype_name(tg_out(node)->dtype), "rule",
                                          node->rule ? tg_json_text(node->rule) : json_null()));
  }
  return list;
}

static json_t *mapping(const tg_program *program) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    tg_occupancy busy = tg_section_occupancy(program, invocation->section, NULL);
    json_array_append_new(
        list, json_pack("{s:o, s:I, s:I, s:s, s:{s:I, s:I, s:I, s:I}}", "computes",
                        tg_json_text(invocation->name), "section", (json_int_t)invocation->section, "macs",
                        (json_int_t)tg_invocation_macs(invocation), "bound_by", tg_occupancy_bound(&busy),
                        "busy", "mx", (json_int_t)busy.mx, "vx", (json_int_t)busy.vx, "dram",
                        (json_int_t)busy.dram, "lane", (json_int_t)busy.lane));
  }
  return list;
}

static json_t *memory(const tg_program *program) {
  json_t *list = json_array();
  for (uint32_t t = 0; t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    json_array_append_new(list, json_pack("{s:o, s:s, s:s, s:I, s:I}", "name", tg_json_text(tensor->name),
                                          "role", tg_role_name(tensor->role), "format",
                                          tg_storage_name(tensor->storage), "address",
                                          (json_int_t)tensor->address, "bytes", (json_int_t)tensor->bytes));
  }
  return list;
}

json_t *tg_inspect(const tg_session *session) {
  tg_arena arena = {0};
  json_t *all = json_object();
  json_object_set_new(all, "model", tg_report_model(session));
  json_object_set_new(all, "arch", tg_report_arch(&session->program->params));
  json_object_set_new(all, "precision", tg_report_precision(session->program));
  const tg_graph *graph = session->lowered;
  json_object_set_new(all, "graph", graph ? tg_json_text(tg_graph_print(graph, &arena)) : json_null());
  json_object_set_new(all, "formats", graph ? formats(graph) : json_null());
  if (session->decided) {
    json_t *decisions = tg_inspect_casts(session);
    json_object_set(all, "casts", json_object_get(decisions, "casts"));
    json_object_set(all, "cast_counts", json_object_get(decisions, "counts"));
    json_decref(decisions);
  } else {
    json_object_set_new(all, "casts", json_null());
  }
  json_object_set_new(all, "mapping", mapping(session->program));
  if (session->host.part.graph)
    json_object_set_new(all, "after_array",
                        json_pack("{s:o, s:i}", "first", tg_json_text(session->host.part.where), "nodes",
                                  session->host.part.nodes));
  char *listing = tg_program_print(session->program);
  json_object_set_new(all, "program", tg_json_text(listing));
  free(listing);
  json_object_set_new(all, "memory", memory(session->program));
  json_object_set_new(all, "device_bytes", json_integer((json_int_t)session->program->dram_bytes));
  tg_arena_release(&arena);
  return all;
}

static const char *string(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "-";
}

static long long busy(const json_t *row, const char *unit) {
  return json_integer_value(json_object_get(json_object_get(row, "busy"), unit));
}

static void print_mapping(const json_t *mapping, FILE *out) {
  size_t i;
  json_t *row;
  fprintf(out, "\nmapping, cycles that the busiest unit is occupied:\n  %12s %12s %12s %12s\n", "mx", "vx",
          "dram", "lane");
  json_array_foreach(mapping, i, row) {
    fprintf(out, "  %12lld %12lld %12lld %12lld  section %lld: %s\n", busy(row, "mx"), busy(row, "vx"),
            busy(row, "dram"), busy(row, "lane"),
            (long long)json_integer_value(json_object_get(row, "section")), string(row, "computes"));
  }
}

void tg_inspect_print(const json_t *inspection, FILE *out) {
  size_t i, k;
  json_t *item, *dtype, *formats = json_object_get(inspection, "formats");
  if (json_is_string(json_object_get(inspection, "graph"))) fprintf(out, "%s\n", string(inspection, "graph"));
  if (json_array_size(formats)) fprintf(out, "formats:\n");
  json_array_foreach(formats, i, item) {
    fprintf(out, "  %-20s ", string(item, "op"));
    json_array_foreach(json_object_get(item, "inputs"), k, dtype)
        fprintf(out, "%s%s", k ? "," : "", json_string_value(dtype));
    fprintf(out, " -> %s  %s  rule: %s\n", string(item, "output"), string(item, "result"),
            string(item, "rule"));
  }
  print_mapping(json_object_get(inspection, "mapping"), out);
  const json_t *after = json_object_get(inspection, "after_array");
  if (after)
    fprintf(out, "on the host, behind the array: %lld of the model's nodes, from %s on\n",
            (long long)json_integer_value(json_object_get(after, "nodes")), string(after, "first"));
  fprintf(out, "\n%s\n", string(inspection, "program"));
  fprintf(out, "memory: %lld bytes\n",
          (long long)json_integer_value(json_object_get(inspection, "device_bytes")));
  json_array_foreach(json_object_get(inspection, "memory"), i, item) {
    fprintf(out, "  0x%010llx %12lld  %-9s %s  %s\n",
            (long long)json_integer_value(json_object_get(item, "address")),
            (long long)json_integer_value(json_object_get(item, "bytes")), string(item, "role"),
            string(item, "format"), string(item, "name"));
  }
}
