/* Sequences of tensors, whose lengths and places are known: operators on them become those on their elements. */
#include "frontend/decompose/compose.h"

#include <inttypes.h>

enum { MOST = 4096, MOST_LISTED = 1 << 22 };

bool tg_is_sequence(const tg_value *x) {
  return x && x->producer && x->producer->op == TG_OP_SEQUENCE_CONSTRUCT;
}

/* The elements of operand 0; NULL, as `diag` says: it is no sequence. */
static const tg_node *elements_of(const tg_node *node, tg_diag *diag) {
  if (tg_is_sequence(tg_in(node, 0))) return tg_in(node, 0)->producer;
  tg_fail(diag, TG_INVALID, "input 0 is no sequence whose elements are known");
  return NULL;
}

/* A place among `count` elements, negative ones counted from their end: of one of them, or, with `behind`, also behind
 * the last. Without operand `input` the last of these. */
static tg_status read_place(const tg_node *node, int input, int64_t count, bool behind, int64_t *out,
                            tg_diag *diag) {
  int64_t most = count - 1 + behind;
  *out = most;
  if (tg_in(node, input)) {
    if (tg_compose_ints(tg_in(node, input), 1, out) != 1)
      return tg_fail(diag, TG_INVALID, "its position is not constant");
    if (*out < 0) *out += count;
  }
  if (*out >= 0 && *out <= most) return TG_OK;
  return tg_fail(diag, TG_INVALID, "its position is outside of %" PRId64, count);
}

tg_status tg_check_sequence_room(tg_graph *graph, int nodes, int elements, tg_diag *diag) {
  if (graph->node_count + nodes > TG_MOST_NODES)
    return tg_fail(diag, TG_INVALID, "with its elements there would be more than %d nodes", TG_MOST_NODES);
  graph->listed_count += elements;
  if (graph->listed_count <= MOST_LISTED) return TG_OK;
  return tg_fail(diag, TG_INVALID, "the sequences of the model have more than %d elements together",
                 MOST_LISTED);
}

static tg_value *new_sequence(tg_build *b, tg_value *const *elements, int count) {
  return tg_out(
      tg_graph_add_node(b->graph, TG_OP_SEQUENCE_CONSTRUCT, b->name, elements, count, b->before, -1));
}

/* The sizes of the pieces of a dimension of `size`: each of `split`, or all of that size but the last. */
static tg_status read_pieces(const tg_node *node, int64_t size, int64_t *pieces, int *count, tg_diag *diag) {
  const tg_value *split = tg_in(node, 1);
  int64_t each = 1, sum = 0;
  if (split && split->rank) {
    *count = tg_compose_ints(split, MOST, pieces);
    for (int i = 0; i < *count; i++)
      if (pieces[i] < 0 || pieces[i] > size || (sum += pieces[i]) > size) *count = -1;
    if (*count >= 0 && sum == size) return TG_OK;
    return tg_fail(diag, TG_INVALID, "split is not constant, or does not fit a dimension of %" PRId64, size);
  }
  if (split && (tg_compose_ints(split, 1, &each) != 1 || each < 1))
    return tg_fail(diag, TG_INVALID, "split is no positive constant");
  if (size / each + (size % each != 0) > MOST)
    return tg_fail(diag, TG_INVALID, "more than %d elements", MOST);
  for (*count = 0; sum < size; sum += each) pieces[(*count)++] = sum + each <= size ? each : size - sum;
  return TG_OK;
}

static tg_status split_up(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  tg_value *x = tg_in(node, 0);
  int64_t pieces[MOST], at = 0;
  int axis, count = 0;
  if (tg_is_sequence(x) || tg_compose_axis(node, x->rank, &axis, diag))
    return tg_is_sequence(x) ? tg_fail(diag, TG_INVALID, "input 0 is a sequence") : TG_INVALID;
  if (read_pieces(node, x->dims[axis].size, pieces, &count, diag)) return TG_INVALID;
  if (tg_check_sequence_room(b->graph, 2 * count, count, diag)) return TG_INVALID;
  tg_value *elements[MOST];
  for (int i = 0; i < count; i++) {
    elements[i] = tg_build_slice(b, x, axis, at, at + pieces[i], 1);
    at += pieces[i];
    if (!tg_in(node, 1) && !tg_attr_int(node, TG_ATTR_KEEPDIMS))
      elements[i] = tg_build_drop(b, elements[i], axis);
  }
  *out = new_sequence(b, elements, count);
  return TG_OK;
}

/* The sequence with operand 1 before a place, or without the element there. */
static tg_status changed(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  const tg_node *from = elements_of(node, diag);
  bool insert = node->op == TG_OP_SEQUENCE_INSERT;
  int64_t place;
  if (!from) return TG_INVALID;
  int count = from->input_count, made = 0;
  if (read_place(node, insert ? 2 : 1, count, insert, &place, diag)) return TG_INVALID;
  if (count + insert > MOST) return tg_fail(diag, TG_INVALID, "more than %d elements", MOST);
  if (tg_check_sequence_room(b->graph, 1, count + insert, diag)) return TG_INVALID;
  tg_value *elements[MOST];
  for (int i = 0; i < count + insert; i++) {
    if (i == place && insert) elements[made++] = tg_in(node, 1);
    if (i < count && (insert || i != place)) elements[made++] = tg_in(from, i);
  }
  *out = new_sequence(b, elements, made);
  return TG_OK;
}

static tg_status joined(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  const tg_node *from = elements_of(node, diag);
  bool fresh = tg_attr_int(node, TG_ATTR_NEW_AXIS) != 0;
  int axis;
  if (!from) return TG_INVALID;
  int count = from->input_count;
  if (!count) return tg_fail(diag, TG_INVALID, "the sequence is empty");
  if (tg_compose_axis(node, tg_in(from, 0)->rank + fresh, &axis, diag)) return TG_INVALID;
  if (tg_check_sequence_room(b->graph, fresh ? count + 1 : 1, count, diag)) return TG_INVALID;
  tg_value **parts = TG_NEW_ARRAY(b->graph->arena, tg_value *, (size_t)count);
  for (int i = 0; i < count; i++) {
    if (tg_in(from, i)->rank != tg_in(from, 0)->rank || tg_in(from, i)->rank == TG_MAX_RANK)
      return tg_fail(diag, TG_INVALID, "elements of ranks %d and %d", tg_in(from, 0)->rank,
                     tg_in(from, i)->rank);
    parts[i] = fresh ? tg_build_insert(b, tg_in(from, i), axis) : tg_in(from, i);
  }
  *out = tg_build_concat(b, parts, count, axis);
  return TG_OK;
}

static tg_status element_at(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  const tg_node *from = elements_of(node, diag);
  int64_t place;
  if (!from || read_place(node, 1, from->input_count, false, &place, diag)) return TG_INVALID;
  *out = tg_build_unary(b, TG_OP_IDENTITY, tg_in(from, (int)place));
  return TG_OK;
}

static tg_status length_of(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  const tg_node *from = elements_of(node, diag);
  if (!from) return TG_INVALID;
  *out = tg_build_constant(b, TG_I64, 0, NULL, &(int64_t){from->input_count});
  return TG_OK;
}

static tg_status expand(tg_build *b, tg_node *node, tg_value **out, tg_diag *diag) {
  for (int i = 1; i < node->input_count; i++)
    if (tg_is_sequence(tg_in(node, i))) return tg_fail(diag, TG_INVALID, "input %d is a sequence", i);
  switch (node->op) {
  case TG_OP_SEQUENCE_EMPTY: return *out = new_sequence(b, NULL, 0), TG_OK;
  case TG_OP_SPLIT_TO_SEQUENCE: return split_up(b, node, out, diag);
  case TG_OP_SEQUENCE_INSERT:
  case TG_OP_SEQUENCE_ERASE: return changed(b, node, out, diag);
  case TG_OP_SEQUENCE_AT: return element_at(b, node, out, diag);
  case TG_OP_SEQUENCE_LENGTH: return length_of(b, node, out, diag);
  default: return joined(b, node, out, diag);
  }
}

/* SequenceConstruct itself stays, for those that read it. */
tg_status tg_expand_sequence(tg_graph *graph, tg_node *node, tg_diag *diag) {
  const char *where = tg_infer_where(graph, node);
  tg_diag inner = {""};
  tg_build b = {.graph = graph, .before = node, .name = tg_out(node)->name, .forward = -1, .diag = &inner};
  tg_value *out = NULL;
  tg_status status = TG_OK;
  if (node->op == TG_OP_SEQUENCE_CONSTRUCT) {
    for (int i = 0; i < node->input_count; i++)
      if (tg_is_sequence(tg_in(node, i)))
        return tg_fail(diag, TG_INVALID, "%s: input %d is a sequence", where, i);
    return TG_OK;
  }
  status = expand(&b, node, &out, diag);
  if (!status && b.failed) status = tg_fail(diag, TG_INVALID, "%s", inner.message);
  if (status) return tg_diag_prefix(diag, "%s", where), TG_INVALID;
  tg_build_result(graph, tg_out(node), out);
  tg_graph_remove_node(graph, node);
  return TG_OK;
}

tg_status tg_check_no_sequence(const tg_graph *graph, const tg_node *node, tg_diag *diag) {
  int first = node->op == TG_OP_IF ? 1 : node->op == TG_OP_LOOP ? 2 : 0; /* bodies may read any */
  if (tg_op_is(node->op, TG_IS_SEQUENCE) || node->op == TG_OP_SEQUENCE_MAP) return TG_OK;
  for (int i = 0; i < node->input_count; i++)
    if (tg_is_sequence(tg_in(node, i)) && (!first || i < first))
      return tg_fail(diag, TG_INVALID, "%s: input %d is a sequence", tg_infer_where(graph, node), i);
  return TG_OK;
}

tg_status tg_remove_sequences(tg_graph *graph, tg_diag *diag) {
  for (int i = 0; i < graph->output_count; i++)
    if (tg_is_sequence(graph->outputs[i]))
      return tg_fail(diag, TG_INVALID, "output \"%s\" is a sequence", graph->output_names[i]);
  TG_FOR_NODES_SAFE(graph, node) {
    if (node->op == TG_OP_SEQUENCE_CONSTRUCT) tg_graph_remove_node(graph, node);
  }
  return TG_OK;
}
