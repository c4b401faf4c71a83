#include "mapper/kernel/text.h"

#include "mapper/kernel/operand.h"
#include "mapper/kernel/view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 4 }; /* of kernels within kernels */

typedef struct parser {
  tg_compile *c;
  const char *at;
  int line, depth;
} parser;

static tg_status expected(const parser *p, const char *what) {
  return tg_fail(p->c->diag, TG_INVALID, "kernel list, line %d: %s is expected at \"%.20s\"", p->line, what,
                 p->at);
}

static bool accept(parser *p, char c) {
  if (*p->at != c) return false;
  p->at++;
  return true;
}

static char *word(parser *p) {
  size_t length = 0;
  while (isalnum((unsigned char)p->at[length]) || (p->at[length] && strchr("_./-", p->at[length]))) length++;
  char *text = tg_arena_strndup(p->c->arena, p->at, length);
  p->at += length;
  return text;
}

/* Behind the first quotation mark, to behind the second. */
static char *quoted(parser *p) {
  char *text = tg_arena_alloc(p->c->arena, strcspn(p->at, "\"") + 1, 1), *to = text;
  while (*p->at && *p->at != '"')
    if (!strncmp(p->at, "\\x", 2) && isxdigit((unsigned char)p->at[2]) && isxdigit((unsigned char)p->at[3])) {
      const char digits[] = {p->at[2], p->at[3], 0};
      *to++ = (char)strtol(digits, NULL, 16);
      p->at += 4;
    } else
      *to++ = *p->at++;
  *to = 0;
  accept(p, '"');
  return text;
}

static tg_status parse_value(parser *p, tg_value **out) {
  const char *name = !accept(p, '%') ? "" : accept(p, '"') ? quoted(p) : word(p);
  *out = tg_graph_find_value(p->c->graph, name);
  return *out ? TG_OK : expected(p, "behind a % the name of a value");
}

/* Values, separated by commas; or nodes, by their results. */
static tg_status parse_values(parser *p, tg_value ***out, size_t *out_count, size_t *out_capacity) {
  do {
    tg_value *value;
    if (parse_value(p, &value)) return TG_INVALID;
    TG_PUSH(p->c->arena, *out, *out_count, *out_capacity, value);
  } while (accept(p, ','));
  return TG_OK;
}

static tg_status parse_nodes(parser *p, tg_node_list *out) {
  tg_value **values = NULL;
  size_t count = 0, capacity = 0;
  if (parse_values(p, &values, &count, &capacity)) return TG_INVALID;
  for (size_t i = 0; i < count; i++) {
    if (!values[i]->producer) return expected(p, "the result of a node");
    TG_PUSH(p->c->arena, out->nodes, out->count, out->capacity, values[i]->producer);
  }
  return TG_OK;
}

static tg_status parse_roots(parser *p, tg_kernel *kernel) {
  tg_node_list roots = {0};
  if (parse_nodes(p, &roots)) return TG_INVALID;
  if (roots.count > 1 + TG_MORE_RESULTS) return expected(p, "no further root");
  kernel->root = roots.nodes[0];
  for (size_t i = 1; i < roots.count; i++) kernel->more_roots[i - 1] = roots.nodes[i];
  return TG_OK;
}

static tg_status parse_results(parser *p, tg_kernel *kernel) {
  tg_value **values = NULL;
  size_t count = 0, capacity = 0;
  if (parse_values(p, &values, &count, &capacity)) return TG_INVALID;
  if (count > 1 + TG_MORE_RESULTS) return expected(p, "no further result");
  kernel->output = values[0];
  while (kernel->more_count + 1 < (int)count) {
    kernel->more[kernel->more_count] = values[1 + kernel->more_count];
    kernel->more_count++;
  }
  return TG_OK;
}

static tg_status parse_kernel(parser *p, tg_kernel *kernel);

static tg_status parse_inner(parser *p, const tg_kernel **out) {
  tg_kernel *kernel = TG_NEW(p->c->arena, tg_kernel);
  *out = kernel;
  if (p->depth == MOST_DEPTH || !accept(p, '{')) return expected(p, "a kernel in braces");
  p->depth++;
  tg_status status = parse_kernel(p, kernel);
  p->depth--;
  return status || accept(p, '}') ? status : expected(p, "}");
}

static int64_t number(parser *p) {
  char *end;
  int64_t value = strtoll(p->at, &end, 10);
  p->at = end;
  return value;
}

static tg_status parse_field(parser *p, const char *key, tg_kernel *kernel) {
  if (!strcmp(key, "prologue_stored")) {
    kernel->stores_prologue = true;
    return TG_OK;
  }
  if (!accept(p, '=')) return expected(p, "=");
  tg_node_list fused = {0};
  tg_status status = TG_OK;
  if (!strcmp(key, "roots")) return parse_roots(p, kernel);
  if (!strcmp(key, "part")) {
    kernel->part = (int)number(p);
    return TG_OK;
  }
  if (!strcmp(key, "source")) return parse_value(p, &kernel->source);
  if (!strcmp(key, "prologue")) return parse_nodes(p, &kernel->prologue[0]);
  if (!strcmp(key, "prologue_b")) return parse_nodes(p, &kernel->prologue[1]);
  if (!strcmp(key, "prologue_result")) return parse_value(p, &kernel->prologue_result);
  if (!strcmp(key, "fused")) {
    status = parse_nodes(p, &fused);
    tg_set_fused(kernel, &fused);
    return status;
  }
  if (!strcmp(key, "reads"))
    return parse_values(p, &kernel->inputs, &kernel->input_count, &kernel->input_capacity);
  if (!strcmp(key, "makes")) return parse_results(p, kernel);
  if (!strcmp(key, "beside")) return parse_value(p, &kernel->beside);
  if (!strcmp(key, "column_sums")) return parse_inner(p, &kernel->column_sums);
  if (!strcmp(key, "pool")) return parse_inner(p, &kernel->pool);
  if (!strcmp(key, "second")) return parse_inner(p, &kernel->second);
  if (!strcmp(key, "product")) return parse_inner(p, &kernel->product);
  if (!strcmp(key, "scores")) return parse_inner(p, &kernel->scores);
  if (!strcmp(key, "softmax")) return parse_inner(p, &kernel->softmax);
  return expected(p, "a field of a kernel before this");
}

static tg_status parse_kind(parser *p, tg_kernel *kernel) {
  const char *name = word(p);
  for (int kind = 0; kind < TG_KERNEL_KINDS; kind++)
    if (!strcmp(p->c->classes[kind]->name, name)) {
      kernel->kind = (tg_kernel_kind)kind;
      return TG_OK;
    }
  return expected(p, "the name of a kind of kernels before this");
}

static tg_status parse_kernel(parser *p, tg_kernel *kernel) {
  *kernel = (tg_kernel){.kind = TG_KERNEL_KINDS};
  tg_status status = parse_kind(p, kernel);
  while (!status && accept(p, ' ')) status = parse_field(p, word(p), kernel);
  return status;
}

static bool accept_word(parser *p, const char *text) {
  if (strncmp(p->at, text, strlen(text)) != 0) return false;
  p->at += strlen(text);
  return true;
}

/* Behind "view ", to the end of the line. */
static tg_status parse_view(parser *p) {
  tg_value *value;
  tg_value_view *view = TG_NEW(p->c->arena, tg_value_view);
  if (parse_value(p, &value)) return TG_INVALID;
  if (!accept_word(p, " of=")) return expected(p, "of=");
  if (parse_value(p, &view->whole)) return TG_INVALID;
  if (!accept_word(p, " first=")) return expected(p, "first=");
  view->first = number(p);
  for (int d = 0; d < value->rank; d++) {
    if (!accept_word(p, d ? "," : " strides=")) return expected(p, "a stride for each dimension");
    view->stride[d] = number(p);
  }
  p->c->places[value->index].view = view;
  p->c->stored[value->index] = true;
  if (view->whole->producer) p->c->stored[view->whole->index] = true;
  return TG_OK;
}

static tg_status parse_number(parser *p, const char *key, uint32_t *out) {
  if (!accept_word(p, key)) return expected(p, key + 1);
  *out = (uint32_t)number(p);
  return TG_OK;
}

/* Has the kernels that make these results read what is kept. */
static tg_status add_keeping(parser *p, tg_value *const *results, size_t count, const tg_kept *kept) {
  tg_compile *c = p->c;
  tg_keeping own = {.first = c->kernel_count, .kept = kept};
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < c->kernel_count && c->kernels[k].output != results[i]) k++;
    if (k == c->kernel_count) return expected(p, "behind for= results of kernels, before this");
    c->kernels[k].kept = kept;
    if (k < own.first) own.first = k;
    if (k > own.last) own.last = k;
  }
  TG_PUSH(c->arena, c->keepings, c->keeping_count, c->keeping_capacity, own);
  return TG_OK;
}

/* Behind "keep", to the end of the line. */
static tg_status parse_keeping(parser *p) {
  tg_kept *kept = TG_NEW(p->c->arena, tg_kept);
  tg_value **results = NULL;
  size_t count = 0, capacity = 0;
  uint32_t split;
  if (!accept_word(p, " for=")) return expected(p, "for=");
  if (parse_values(p, &results, &count, &capacity) || parse_number(p, " split=", &split) ||
      parse_number(p, " columns=", &kept->columns) || parse_number(p, " alike=", &kept->alike) ||
      parse_number(p, " bank=", &kept->bank) || parse_number(p, " banks=", &kept->banks))
    return TG_INVALID;
  kept->split = (int)split;
  return add_keeping(p, results, count, kept);
}

/* What kernels write; and what others inside of them do, whose readers do not look through it. */
static void store_results(tg_compile *c, const tg_kernel *kernel) {
  for (int i = 0; i < tg_kernel_writes(kernel); i++) c->stored[tg_kernel_written(kernel, i)->index] = true;
  if (kernel->prologue_result) c->stored[kernel->prologue_result->index] = true;
  if (kernel->scores) store_results(c, kernel->scores);
  if (kernel->softmax) store_results(c, kernel->softmax);
}

/* What products load, once all know what is stored. */
static void resolve(const tg_compile *c, tg_kernel *kernel) {
  bool *made = kernel->product ? &c->stored[kernel->product->output->index] : NULL;
  if (made) *made = true; /* as it was when the two became one: nothing looks through it */
  kernel->operands = tg_resolve_operands(c, kernel->root);
  if (made) *made = false;
  if (kernel->second) resolve(c, (tg_kernel *)kernel->second);
  if (kernel->product) resolve(c, (tg_kernel *)kernel->product);
  if (kernel->scores) resolve(c, (tg_kernel *)kernel->scores);
}

static tg_status parse_listed(parser *p) {
  tg_compile *c = p->c;
  tg_kernel kernel;
  if (parse_kernel(p, &kernel)) return TG_INVALID;
  TG_PUSH(c->arena, c->kernels, c->kernel_count, c->kernel_capacity, kernel);
  store_results(c, &kernel);
  return TG_OK;
}

tg_status tg_kernels_parse(tg_compile *c, const char *text) {
  parser p = {.c = c, .at = text, .line = 1};
  for (; *p.at; p.line++) {
    tg_status status = accept_word(&p, "view ")  ? parse_view(&p)
                       : accept_word(&p, "keep") ? parse_keeping(&p)
                                                 : parse_listed(&p);
    if (status) return status;
    if (!accept(&p, '\n')) return expected(&p, "the end of the line");
  }
  for (size_t k = 0; k < c->kernel_count; k++) resolve(c, &c->kernels[k]);
  return TG_OK;
}
