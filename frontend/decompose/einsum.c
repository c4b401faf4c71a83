/* Einsum as what it is: a transpose, or a batched product between transposes and reshapes. */
#include "frontend/decompose/decompose.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { LETTERS = 128 };

typedef struct equation {
  char term[3][TG_MAX_RANK + 1]; /* operands, then the result */
  int64_t size[LETTERS];         /* of each letter; -1: not in an operand */
} equation;

/* ---- reading */

/* Letters up to `end`, each once. */
static tg_status read_term(const char **at, const char *end, char *out, tg_diag *diag) {
  int length = 0;
  for (; *at < end; ++*at) {
    if (**at == ' ') continue;
    if (!isalpha((unsigned char)**at) || length == TG_MAX_RANK || memchr(out, **at, (size_t)length))
      return tg_fail(diag, TG_INVALID, "an equation with \"%.*s\" is not supported", (int)(end - *at), *at);
    out[length++] = **at;
  }
  out[length] = 0;
  return TG_OK;
}

/* Without an arrow the result has the letters that stand once, in the order of the alphabet. */
static void implicit_result(equation *e) {
  int length = 0;
  for (int c = 'A'; c <= 'z' && length < TG_MAX_RANK; c++)
    if ((strchr(e->term[0], c) != NULL) != (strchr(e->term[1], c) != NULL)) e->term[2][length++] = (char)c;
  e->term[2][length] = 0;
}

static tg_status read_equation(const tg_node *node, equation *e, tg_diag *diag) {
  const char *text = tg_attr_text(node, TG_ATTR_EQUATION), *at = text, *arrow = strstr(text, "->");
  const char *inputs_end = arrow ? arrow : text + strlen(text);
  *e = (equation){0};
  for (int i = 0; i < node->input_count; i++) {
    const char *comma = memchr(at, ',', (size_t)(inputs_end - at)), *end = comma ? comma : inputs_end;
    if (read_term(&at, end, e->term[i], diag)) return TG_INVALID;
    if ((comma != NULL) != (i + 1 < node->input_count))
      return tg_fail(diag, TG_INVALID, "the equation \"%s\" is not one of %d operands", text,
                     node->input_count);
    at += comma != NULL;
  }
  if (!arrow) {
    implicit_result(e);
    return TG_OK;
  }
  at = arrow + 2;
  return read_term(&at, text + strlen(text), e->term[2], diag);
}

static tg_status measure(const tg_node *node, equation *e, tg_diag *diag) {
  memset(e->size, -1, sizeof e->size);
  for (int i = 0; i < node->input_count; i++) {
    const tg_value *x = tg_in(node, i);
    if (x->rank != (int)strlen(e->term[i]))
      return tg_fail(diag, TG_INVALID, "operand %d has rank %d, not that of \"%s\"", i, x->rank, e->term[i]);
    for (int d = 0; d < x->rank; d++) {
      int64_t *size = &e->size[(int)e->term[i][d]];
      if (*size >= 0 && *size != x->dims[d].size)
        return tg_fail(diag, TG_INVALID, "dimension %c has two sizes", e->term[i][d]);
      *size = x->dims[d].size;
    }
  }
  return TG_OK;
}

/* Sums over a letter of one operand alone are no product. */
static tg_status check_letters(const equation *e, tg_diag *diag) {
  for (int i = 0; i < 2; i++)
    for (const char *c = e->term[i]; *c; c++)
      if (!strchr(e->term[1 - i], *c) && !strchr(e->term[2], *c))
        return tg_fail(diag, TG_INVALID, "a sum over dimension %c of one operand is not supported", *c);
  for (const char *c = e->term[2]; *c; c++)
    if (e->size[(int)*c] < 0) return tg_fail(diag, TG_INVALID, "dimension %c is in no operand", *c);
  return TG_OK;
}

tg_status tg_infer_einsum(tg_node *node, tg_diag *diag) {
  equation e;
  int64_t sizes[TG_MAX_RANK];
  if (node->input_count > 2)
    return tg_fail(diag, TG_INVALID, "%d operands are not supported, only two are", node->input_count);
  if (read_equation(node, &e, diag) || measure(node, &e, diag) || check_letters(&e, diag)) return TG_INVALID;
  int rank = (int)strlen(e.term[2]);
  for (int d = 0; d < rank; d++) sizes[d] = e.size[(int)e.term[2][d]];
  return tg_infer_result(node, tg_in(node, 0)->dtype, rank, sizes, diag);
}

bool tg_is_plain_einsum(const tg_node *node) {
  equation e;
  tg_diag ignored = {""};
  return node->input_count <= 2 && !read_equation(node, &e, &ignored) && !measure(node, &e, &ignored) &&
         !check_letters(&e, &ignored);
}

/* ---- expansion */

static tg_value *finish(tg_graph *graph, tg_node *node, const tg_node *from) {
  tg_diag diag = {""};
  node->disable_graphamp = from->disable_graphamp;
  node->origin = node->op == TG_OP_MATMUL ? from->origin : NULL;
  tg_status status = tg_node_infer(graph, node, &diag);
  assert(!status); /* the sizes were checked */
  (void)status;
  return tg_out(node);
}

/* `x` with letters `from` in the order `to`, which are the same ones. */
static tg_value *reorder(tg_graph *graph, tg_value *x, const char *from, const char *to, tg_node *node) {
  if (!strcmp(from, to)) return x;
  int64_t perm[TG_MAX_RANK];
  for (int d = 0; to[d]; d++) perm[d] = strchr(from, to[d]) - from;
  tg_node *transpose = tg_graph_add_node(graph, TG_OP_TRANSPOSE, node->name, &x, 1, node, -1);
  tg_attr_set_ints(graph, transpose, TG_ATTR_PERM, perm, x->rank);
  return finish(graph, transpose, node);
}

static tg_value *reshape(tg_graph *graph, tg_value *x, int rank, const int64_t *sizes, tg_node *node) {
  tg_node *reshaped = tg_graph_add_node(graph, TG_OP_RESHAPE, node->name, &x, 1, node, -1);
  tg_attr_set_ints(graph, reshaped, TG_ATTR_SHAPE, sizes, rank);
  tg_attr_set_int(reshaped, TG_ATTR_ALLOWZERO, 1);
  return finish(graph, reshaped, node);
}

/* Letters of a term by what they are to the product: in both operands and the result, in one, or summed. */
typedef struct letters {
  char batch[TG_MAX_RANK + 1], rows[TG_MAX_RANK + 1], columns[TG_MAX_RANK + 1], sum[TG_MAX_RANK + 1];
} letters;

static void append(char *list, char c) {
  size_t length = strlen(list);
  list[length] = c;
  list[length + 1] = 0;
}

static letters sort_letters(const equation *e) {
  letters l = {{0}, {0}, {0}, {0}};
  for (const char *c = e->term[0]; *c; c++) {
    bool other = strchr(e->term[1], *c) != NULL, result = strchr(e->term[2], *c) != NULL;
    append(other ? (result ? l.batch : l.sum) : l.rows, *c);
  }
  for (const char *c = e->term[1]; *c; c++)
    if (!strchr(e->term[0], *c)) append(l.columns, *c);
  return l;
}

static int64_t product_of(const equation *e, const char *list) {
  int64_t product = 1;
  for (; *list; list++) product *= e->size[(int)*list];
  return product;
}

/* Operand `i` as matrices [batch, outer, inner]. */
static tg_value *as_matrices(tg_graph *graph, tg_node *node, const equation *e, int i, const char *batch,
                             const char *outer, const char *inner) {
  char order[4 * TG_MAX_RANK + 1] = "";
  strcat(strcat(strcat(order, batch), outer), inner);
  int64_t sizes[] = {product_of(e, batch), product_of(e, outer), product_of(e, inner)};
  return reshape(graph, reorder(graph, tg_in(node, i), e->term[i], order, node), 3, sizes, node);
}

void tg_expand_einsum(tg_graph *graph, tg_node *node) {
  equation e;
  tg_diag diag = {""};
  tg_value *y = tg_out(node), *result;
  tg_status status = read_equation(node, &e, &diag) || measure(node, &e, &diag);
  assert(!status);
  (void)status;
  if (node->input_count == 1) {
    result = reorder(graph, tg_in(node, 0), e.term[0], e.term[2], node);
  } else {
    letters l = sort_letters(&e);
    char order[4 * TG_MAX_RANK + 1] = "";
    strcat(strcat(strcat(order, l.batch), l.rows), l.columns);
    tg_value *operands[] = {as_matrices(graph, node, &e, 0, l.batch, l.rows, l.sum),
                            as_matrices(graph, node, &e, 1, l.batch, l.sum, l.columns)};
    tg_node *product = tg_graph_add_node(graph, TG_OP_MATMUL, node->name, operands, 2, node, node->id);
    int64_t sizes[TG_MAX_RANK];
    for (int d = 0; order[d]; d++) sizes[d] = e.size[(int)order[d]];
    result = reshape(graph, finish(graph, product, node), y->rank, sizes, node);
    result = reorder(graph, result, order, e.term[2], node);
  }
  const char *name = y->name;
  tg_value_replace(graph, y, result);
  tg_graph_remove_node(graph, node);
  if (result->kind != TG_VALUE_RESULT) return;
  tg_value_rename(graph, y, tg_arena_printf(graph->arena, "%s.old", name));
  tg_value_rename(graph, result, name);
}
