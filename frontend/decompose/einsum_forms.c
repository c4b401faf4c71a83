/* Einsums of any form as such of one or two operands, whose letters stand once in each term and are of both operands or
 * of the result; of integers as products of elements and their sums. */
#include "frontend/decompose/compose.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 16, LETTERS = 128, MOST_PRODUCTS = 1 << 24 /* of integers */ };

typedef struct einsum {
  int count;
  tg_value *operands[MOST];
  char term[MOST][TG_MAX_RANK + 1], result[TG_MAX_RANK + 1];
  char others[TG_MAX_RANK + 1]; /* letters that stand for the dimensions of an ellipsis */
  int most_others;
  int64_t size[LETTERS];
} einsum;

static bool append(char *term, char letter) {
  size_t length = strlen(term);
  if (length == TG_MAX_RANK) return false;
  term[length] = letter;
  term[length + 1] = 0;
  return true;
}

/* Letters of [at, end); an ellipsis becomes the last `others` of e->others. */
static tg_status read_term(const einsum *e, const char *at, const char *end, int others, char *term,
                           tg_diag *diag) {
  const char *begin = at;
  bool fits = true;
  for (; fits && at < end; at++) {
    if (*at == ' ') continue;
    if (end - at >= 3 && !memcmp(at, "...", 3)) {
      for (int i = e->most_others - others; fits && i < e->most_others; i++)
        fits = append(term, e->others[i]);
      at += 2;
      continue;
    }
    fits = isalpha((unsigned char)*at) && append(term, *at);
  }
  if (fits) return TG_OK;
  return tg_fail(diag, TG_INVALID, "an equation with \"%.*s\" is not supported", (int)(end - begin), begin);
}

/* How many dimensions its ellipsis has; -1: there is none. */
static int ellipsis_of(const char *at, const char *end, int rank) {
  int letters = 0;
  bool has = false;
  for (; at < end; at++) {
    letters += isalpha((unsigned char)*at) != 0;
    has |= *at == '.';
  }
  return has ? rank - letters : -1;
}

static void choose_others(einsum *e, const char *text) {
  int found = 0;
  for (int c = 'z'; c >= 'A' && found < e->most_others; c--)
    if (isalpha(c) && !strchr(text, c)) e->others[found++] = (char)c;
}

static tg_status read(const tg_node *node, einsum *e, tg_diag *diag) {
  const char *text = tg_attr_text(node, TG_ATTR_EQUATION), *arrow = strstr(text, "->"),
             *inputs_end = arrow ? arrow : text + strlen(text), *at = text;
  const char *ends[MOST];
  e->count = node->input_count;
  if (e->count > MOST) return tg_fail(diag, TG_INVALID, "more than %d operands", MOST);
  for (int i = 0; i < e->count; i++) {
    const char *comma = memchr(at, ',', (size_t)(inputs_end - at));
    if ((comma != NULL) != (i + 1 < e->count))
      return tg_fail(diag, TG_INVALID, "the equation \"%s\" is not one of %d operands", text, e->count);
    ends[i] = comma ? comma : inputs_end;
    int others = ellipsis_of(at, ends[i], tg_in(node, i)->rank);
    if (others > TG_MAX_RANK) return tg_fail(diag, TG_INVALID, "rank %d is too high", tg_in(node, i)->rank);
    if (others > e->most_others) e->most_others = others;
    at = ends[i] + 1;
  }
  choose_others(e, text);
  at = text;
  for (int i = 0; i < e->count; at = ends[i++] + 1) {
    int others = ellipsis_of(at, ends[i], tg_in(node, i)->rank);
    e->operands[i] = tg_in(node, i);
    if (read_term(e, at, ends[i], others > 0 ? others : 0, e->term[i], diag)) return TG_INVALID;
    if ((int)strlen(e->term[i]) != e->operands[i]->rank)
      return tg_fail(diag, TG_INVALID, "operand %d has rank %d, not that of \"%.*s\"", i,
                     e->operands[i]->rank, (int)(ends[i] - at), at);
  }
  if (arrow) return read_term(e, arrow + 2, text + strlen(text), e->most_others, e->result, diag);
  bool fits = true;
  for (int i = 0; fits && i < e->most_others; i++) fits = append(e->result, e->others[i]);
  for (int c = 'A'; fits && c <= 'z'; c++) {
    int times = 0;
    for (const char *p = text; *p; p++) times += *p == c;
    if (isalpha(c) && times == 1) fits = append(e->result, (char)c);
  }
  return fits ? TG_OK : tg_fail(diag, TG_INVALID, "its result has more than %d dimensions", TG_MAX_RANK);
}

/* Sizes of letters; 1 gives way to what another operand has. */
static tg_status measure(einsum *e, tg_diag *diag) {
  for (int c = 0; c < LETTERS; c++) e->size[c] = -1;
  for (int i = 0; i < e->count; i++)
    for (int d = 0; d < e->operands[i]->rank; d++) {
      int64_t *size = &e->size[(int)e->term[i][d]], own = e->operands[i]->dims[d].size;
      if (*size >= 0 && *size != 1 && own != 1 && *size != own)
        return tg_fail(diag, TG_INVALID, "dimension %c has two sizes", e->term[i][d]);
      if (*size < 0 || *size == 1) *size = own;
    }
  for (const char *c = e->result; *c; c++)
    if (e->size[(int)*c] < 0 || strchr(c + 1, *c))
      return tg_fail(diag, TG_INVALID, "dimension %c of the result is in no operand, or twice in it", *c);
  return TG_OK;
}

static void remove_letter(char *term, int at) { memmove(term + at, term + at + 1, strlen(term + at)); }

/* Of two dimensions with one letter the diagonal: every (n + 1)th element of both as one. */
static void take_diagonal(tg_build *b, einsum *e, int i, int first, int second) {
  tg_value *x = tg_build_move(b, e->operands[i], second, first + 1);
  int64_t n = x->dims[first].size, sizes[TG_MAX_RANK];
  if (b->failed) return;
  for (int d = 0; d < x->rank - 1; d++)
    sizes[d] = d < first ? x->dims[d].size : d > first ? x->dims[d + 1].size : n * n;
  x = tg_build_reshape(b, x, x->rank - 1, sizes);
  e->operands[i] = tg_build_slice(b, x, first, 0, n * n, n + 1);
  remove_letter(e->term[i], second);
}

static bool is_elsewhere(const einsum *e, int except, char letter) {
  if (strchr(e->result, letter)) return true;
  for (int i = 0; i < e->count; i++)
    if (i != except && strchr(e->term[i], letter)) return true;
  return false;
}

/* Diagonals, sums that concern one operand alone, and dimensions of size 1 that another operand has in full. */
static tg_status simplify(tg_build *b, einsum *e, int i, tg_diag *diag) {
  tg_dtype dtype = e->operands[i]->dtype;
  for (int d = 0; e->term[i][d] && !b->failed; d++) {
    const char *again = strchr(e->term[i] + d + 1, e->term[i][d]);
    int second = again ? (int)(again - e->term[i]) : 0;
    if (!again) continue;
    if (e->operands[i]->dims[d].size != e->operands[i]->dims[second].size)
      return tg_fail(diag, TG_INVALID, "dimension %c has two sizes", e->term[i][d]);
    take_diagonal(b, e, i, d, second);
    d--;
  }
  for (int d = (int)strlen(e->term[i]) - 1; d >= 0 && !b->failed; d--) {
    char letter = e->term[i][d];
    bool wide = e->operands[i]->dims[d].size == 1 && e->size[(int)letter] != 1;
    if (!wide && is_elsewhere(e, i, letter)) continue;
    if (!wide)
      e->operands[i] = tg_build_cast(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, e->operands[i], 1u << d), dtype);
    e->operands[i] = tg_build_drop(b, e->operands[i], d);
    remove_letter(e->term[i], d);
  }
  return TG_OK;
}

/* An Einsum of the first `count` operands, typed later, that leaves letters `left`. */
static tg_value *einsum_of(tg_build *b, const einsum *e, int count, const char *left) {
  char text[4 * TG_MAX_RANK];
  snprintf(text, sizeof text, "%s%s%s->%s", e->term[0], count > 1 ? "," : "", count > 1 ? e->term[1] : "",
           left);
  tg_node *made =
      tg_graph_add_node(b->graph, TG_OP_EINSUM, b->before->name, e->operands, count, b->before, -1);
  tg_attr_set_text(b->graph, made, TG_ATTR_EQUATION, text);
  made->disable_graphamp = b->before->disable_graphamp;
  made->origin = b->before->origin;
  return tg_out(made);
}

/* x with letters `from`, which stand once, in the order of `to`, which has them all, and dimensions of 1 for the others. */
static tg_value *spread(tg_build *b, tg_value *x, const char *from, const char *to) {
  int64_t perm[TG_MAX_RANK];
  int count = 0;
  for (const char *c = to; *c; c++)
    if (strchr(from, *c)) perm[count++] = strchr(from, *c) - from;
  x = tg_build_transpose(b, x, perm);
  for (int d = 0; to[d]; d++)
    if (!strchr(from, to[d])) x = tg_build_insert(b, x, d);
  return x;
}

/* Of the first `count` operands, which are integers, what has letters `left`. */
static tg_status whole_einsum(tg_build *b, const einsum *e, int count, const char *left, tg_value **out,
                              tg_diag *diag) {
  char all[TG_MAX_RANK + 1] = "";
  double elements = 1;
  bool fits = true;
  for (const char *c = left; *c; c++) append(all, *c);
  for (int i = 0; i < count; i++)
    for (const char *c = e->term[i]; fits && *c; c++)
      if (!strchr(all, *c)) fits = append(all, *c);
  if (!fits) return tg_fail(diag, TG_INVALID, "a product has more than %d dimensions", TG_MAX_RANK);
  for (const char *c = all; *c; c++) elements *= (double)e->size[(int)*c];
  if (elements > MOST_PRODUCTS)
    return tg_fail(diag, TG_INVALID, "%.0f products of integers are more than %d", elements, MOST_PRODUCTS);
  tg_value *y = spread(b, e->operands[0], e->term[0], all);
  if (count > 1) y = mul(b, y, spread(b, e->operands[1], e->term[1], all));
  for (int d = (int)strlen(all) - 1; d >= (int)strlen(left) && !b->failed; d--)
    y = tg_build_drop(b, tg_build_reduce(b, TG_OP_REDUCE_SUM, y, 1u << d), d);
  *out = y;
  return b->failed ? tg_fail(diag, TG_INVALID, "%s", b->diag->message) : TG_OK;
}

static tg_status einsum_or_whole(tg_build *b, const einsum *e, int count, const char *left, tg_value **out,
                                 tg_diag *diag) {
  if (tg_dtype_is_integer(e->operands[0]->dtype)) return whole_einsum(b, e, count, left, out, diag);
  *out = einsum_of(b, e, count, left);
  return TG_OK;
}

/* Letters of the first two operands that the others or the result have. */
static tg_status left_of(const einsum *e, char *left, tg_diag *diag) {
  bool fits = true;
  for (int i = 0; i < 2; i++)
    for (const char *c = e->term[i]; fits && *c; c++) {
      bool needed = strchr(e->result, *c) != NULL;
      for (int k = 2; k < e->count; k++) needed |= strchr(e->term[k], *c) != NULL;
      if (needed && !strchr(left, *c)) fits = append(left, *c);
    }
  return fits ? TG_OK
              : tg_fail(diag, TG_INVALID, "a product on the way has more than %d dimensions", TG_MAX_RANK);
}

tg_status tg_split_einsum(tg_graph *graph, tg_node *node, tg_diag *diag) {
  tg_diag inner = {""};
  tg_build b = {.graph = graph,
                .before = node,
                .name = tg_out(node)->name,
                .forward = -1,
                .keep_formats = true,
                .diag = &inner};
  einsum e = {0};
  for (int i = 0; i < node->input_count; i++) {
    tg_dtype dtype = tg_in(node, i)->dtype;
    bool computes = tg_dtype_is_float(dtype) || tg_dtype_is_integer(dtype);
    if (!computes || dtype != tg_in(node, 0)->dtype)
      return tg_fail(diag, TG_INVALID, "element type %s is not supported here", tg_dtype_name(dtype));
  }
  if (read(node, &e, diag) || measure(&e, diag)) return TG_INVALID;
  for (int i = 0; i < e.count; i++)
    if (simplify(&b, &e, i, diag)) return TG_INVALID;
  if (b.failed) return tg_fail(diag, TG_INVALID, "%s", inner.message);
  while (e.count > 2) {
    char left[TG_MAX_RANK + 1] = "";
    if (left_of(&e, left, diag)) return TG_INVALID;
    if (einsum_or_whole(&b, &e, 2, left, &e.operands[0], diag)) return TG_INVALID;
    strcpy(e.term[0], left);
    e.count--;
    for (int i = 1; i < e.count; i++) {
      e.operands[i] = e.operands[i + 1];
      strcpy(e.term[i], e.term[i + 1]);
    }
  }
  tg_value *y;
  if (einsum_or_whole(&b, &e, e.count, e.result, &y, diag)) return TG_INVALID;
  tg_build_result(graph, tg_out(node), y);
  tg_graph_remove_node(graph, node);
  return TG_OK;
}
