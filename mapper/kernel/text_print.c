#include "frontend/base/text_stream.h"
#include "mapper/kernel/text.h"
#include "mapper/kernel/view.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_value(FILE *out, const tg_value *value) {
  static const char plain[] = "_./-";
  size_t length = 0;
  while (isalnum((unsigned char)value->name[length]) ||
         (value->name[length] && strchr(plain, value->name[length])))
    length++;
  if (length && !value->name[length]) {
    fprintf(out, "%%%s", value->name);
    return;
  }
  fputs("%\"", out);
  for (const unsigned char *c = (const unsigned char *)value->name; *c; c++)
    fprintf(out, *c == '"' || *c == '\\' || *c < 0x20 || *c >= 0x7f ? "\\x%02x" : "%c", *c);
  fputc('"', out);
}

/* " key=" before the first of several, else a comma. */
static void separate(FILE *out, const char *key, size_t index) {
  if (index)
    fputc(',', out);
  else
    fprintf(out, " %s=", key);
}

static void print_values(FILE *out, const char *key, tg_value *const *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    separate(out, key, i);
    print_value(out, values[i]);
  }
}

static void print_nodes(FILE *out, const char *key, tg_node *const *nodes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    separate(out, key, i);
    print_value(out, tg_out(nodes[i]));
  }
}

static void print_kernel(FILE *out, const tg_compile *c, const tg_kernel *kernel);

static void print_inner(FILE *out, const tg_compile *c, const char *key, const tg_kernel *kernel) {
  if (!kernel) return;
  fprintf(out, " %s={", key);
  print_kernel(out, c, kernel);
  fputc('}', out);
}

static void print_kernel(FILE *out, const tg_compile *c, const tg_kernel *kernel) {
  fputs(tg_class_of(c, kernel)->name, out);
  if (kernel->root) print_nodes(out, "roots", &kernel->root, 1);
  for (int i = 0; i < TG_MORE_RESULTS && kernel->more_roots[i]; i++) {
    fputc(',', out);
    print_value(out, tg_out(kernel->more_roots[i]));
  }
  if (kernel->part) fprintf(out, " part=%d", kernel->part);
  if (kernel->source) print_values(out, "source", &kernel->source, 1);
  print_nodes(out, "prologue", kernel->prologue[0].nodes, kernel->prologue[0].count);
  print_nodes(out, "prologue_b", kernel->prologue[1].nodes, kernel->prologue[1].count);
  if (kernel->prologue_result) print_values(out, "prologue_result", &kernel->prologue_result, 1);
  if (kernel->stores_prologue) fputs(" prologue_stored", out);
  print_nodes(out, "fused", kernel->fused, kernel->fused_count);
  print_values(out, "reads", kernel->inputs, kernel->input_count);
  if (kernel->output) print_values(out, "makes", (tg_value *const *)&kernel->output, 1);
  for (int i = 0; i < kernel->more_count; i++) {
    fputc(',', out);
    print_value(out, kernel->more[i]);
  }
  if (kernel->beside) print_values(out, "beside", (tg_value *const *)&kernel->beside, 1);
  print_inner(out, c, "column_sums", kernel->column_sums);
  print_inner(out, c, "pool", kernel->pool);
  print_inner(out, c, "second", kernel->second);
  print_inner(out, c, "product", kernel->product);
  print_inner(out, c, "scores", kernel->scores);
  print_inner(out, c, "softmax", kernel->softmax);
}

static void print_view(FILE *out, tg_value *value, const tg_value_view *view) {
  fputs("view ", out);
  print_value(out, value);
  print_values(out, "of", (tg_value *const *)&view->whole, 1);
  fprintf(out, " first=%" PRId64, view->first);
  for (int d = 0; d < value->rank; d++) {
    separate(out, "strides", (size_t)d);
    fprintf(out, "%" PRId64, view->stride[d]);
  }
  fputc('\n', out);
}

/* By the results of the kernels that read it. */
static void print_keeping(FILE *out, const tg_compile *c, const tg_keeping *keeping) {
  const tg_kept *kept = keeping->kept;
  size_t users = 0;
  fputs("keep", out);
  for (size_t k = keeping->first; k <= keeping->last; k++) {
    if (c->kernels[k].kept != kept) continue;
    separate(out, "for", users++);
    print_value(out, c->kernels[k].output);
  }
  fprintf(out, " split=%d columns=%" PRIu32 " alike=%" PRIu32 " bank=%" PRIu32 " banks=%" PRIu32 "\n",
          kept->split, kept->columns, kept->alike, kept->bank, kept->banks);
}

char *tg_kernels_print(const tg_compile *c) {
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  for (size_t k = 0; k < c->kernel_count; k++) {
    print_kernel(out, c, &c->kernels[k]);
    fputc('\n', out);
  }
  for (int v = 0; v < c->graph->value_count; v++)
    if (c->places[v].view) print_view(out, c->graph->values[v], c->places[v].view);
  for (size_t i = 0; i < c->keeping_count; i++) print_keeping(out, c, &c->keepings[i]);
  return tg_text_end_on(&text, c->arena);
}
