#include "runtime/draw.h"

#include "frontend/base/output_file.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- dot */

static void quoted(FILE *out, const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c < 0x20)
      fprintf(out, "\\\\x%02x", *c);
    else
      fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  }
}

static const char *colour(tg_dtype dtype) {
  switch (dtype) {
  case TG_F32: return "#e8e8e8";
  case TG_TF32: return "#d9ead3";
  case TG_BF16: return "#cfe2f3";
  case TG_F16: return "#d9d2e9";
  default: return "#ffffff";
  }
}

static void draw_value(FILE *out, const tg_value *value, tg_arena *arena) {
  fprintf(out, "  v%d [shape=%s, style=\"filled\", fillcolor=\"%s\", label=\"", value->index,
          value->kind == TG_VALUE_INPUT ? "invhouse" : "ellipse", colour(value->dtype));
  quoted(out, value->name);
  fputs("\\n", out);
  quoted(out, tg_value_type_text(value, arena));
  fputs("\"];\n", out);
}

static void draw_node(FILE *out, const tg_node *node) {
  const tg_value *y = tg_out(node);
  bool cast = node->op == TG_OP_CAST;
  fprintf(out, "  v%d [%s, fillcolor=\"%s\", tooltip=\"", y->index,
          cast ? "shape=box, style=\"filled,rounded\", color=\"#cc0000\", penwidth=2, height=0.3"
               : "shape=box, style=\"filled\"",
          cast ? "#f4cccc" : colour(y->dtype));
  quoted(out, node->rule ? node->rule : "");
  fprintf(out, "\", label=\"%s", tg_op_get(node->op)->name);
  if (cast) {
    fprintf(out, " %s > %s", tg_dtype_name(tg_in(node, 0)->dtype), tg_dtype_name(y->dtype));
  } else if (*node->name) {
    fputs("\\n", out);
    quoted(out, node->name);
  }
  fputs("\"];\n", out);
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x) fprintf(out, "  v%d -> v%d [label=\" %s\"];\n", x->index, y->index, tg_dtype_name(x->dtype));
  }
}

static void draw(FILE *out, const tg_graph *graph) {
  tg_arena arena = {0};
  fputs("digraph \"", out);
  quoted(out, graph->name);
  fputs("\" {\n  node [fontname=\"Helvetica\", fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=9];\n",
        out);
  for (int i = 0; i < graph->value_count; i++) {
    const tg_value *value = graph->values[i];
    bool constant = value->kind == TG_VALUE_CONSTANT && (value->use_count || value->output_count);
    if (constant || value->kind == TG_VALUE_INPUT) draw_value(out, value, &arena);
  }
  TG_FOR_NODES(graph, node) draw_node(out, node);
  for (int i = 0; i < graph->output_count; i++) {
    fprintf(out, "  o%d [shape=house, style=\"filled\", fillcolor=\"%s\", label=\"", i,
            colour(graph->output_dtypes[i]));
    quoted(out, graph->output_names[i]);
    fprintf(out, "\"];\n  v%d -> o%d [label=\" %s\"];\n", graph->outputs[i]->index, i,
            tg_dtype_name(graph->outputs[i]->dtype));
  }
  fputs("}\n", out);
  tg_arena_release(&arena);
}

tg_status tg_draw_dot(const tg_graph *graph, const char *path, tg_diag *diag) {
  if (!*path) {
    draw(stdout, graph);
    return TG_OK;
  }
  tg_output_file file;
  if (tg_output_open(path, &file, diag)) return TG_INVALID;
  draw(file.stream, graph);
  return tg_output_commit(&file, diag);
}

/* --- SVG */

/* Graphviz between two descriptors. */
static tg_status run_dot(int in, int out, tg_diag *diag) {
  char *arguments[] = {"dot", "-Tsvg", NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  int error = posix_spawnp(&child, "dot", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  while (!error && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) error = errno;
  if (error || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    return tg_fail(diag, TG_INVALID, "--svg needs Graphviz's dot, which cannot be run: %s",
                   strerror(error ? error : ENOENT));
  if (!WIFEXITED(status) || WEXITSTATUS(status))
    return tg_fail(diag, TG_INVALID, "--svg: Graphviz's dot failed");
  return TG_OK;
}

static tg_status render(const tg_graph *graph, int out, tg_diag *diag) {
  FILE *text = tmpfile();
  if (!text) return tg_fail(diag, TG_INVALID, "--svg: no temporary file: %s", strerror(errno));
  draw(text, graph);
  bool written = !fflush(text) && !ferror(text) && lseek(fileno(text), 0, SEEK_SET) == 0;
  tg_status status = written ? run_dot(fileno(text), out, diag)
                             : tg_fail(diag, TG_INVALID, "--svg: the temporary file cannot be written");
  fclose(text);
  return status;
}

tg_status tg_draw_svg(const tg_graph *graph, const char *path, tg_diag *diag) {
  if (!*path) {
    fflush(stdout);
    return render(graph, STDOUT_FILENO, diag);
  }
  tg_output_file file;
  if (tg_output_open(path, &file, diag)) return TG_INVALID;
  tg_status status = render(graph, fileno(file.stream), diag);
  if (!status) return tg_output_commit(&file, diag);
  tg_output_abandon(&file);
  return status;
}
