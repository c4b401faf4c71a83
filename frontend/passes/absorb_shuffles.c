/* Shuffles of channels: Reshape(Transpose(Reshape(x))) that puts the last dimension's elements into another order, which
 * convolutions of constant weights do not need: their weights can be put into it. On the way to them are operators that treat
 * channels alike or have constants for each, Slices of channels and Concats. Where every reader takes its channels as they lie,
 * nobody moves them: what is read is the parts of the tensors that are there, beside each other. */
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <string.h>

/* A part that is copied costs as much as so many elements of a shuffle that nobody makes: on `edge` some 450 cycles, to a quarter of
 * a cycle each, on `rack` 280 to a fiftieth. */
enum { MOST_SEGMENTS = 24, MOST_PLACES = 1 << 22 /* of all values, in orders */, ELEMENTS_A_PART = 4096 };

/* Channels that lie beside each other. */
typedef struct segment {
  tg_value *value;
  int64_t from, count;
} segment;

/* Where a value's channels are: channel i is number place[i] of those of the segments, one after the other. */
typedef struct order {
  segment segments[MOST_SEGMENTS];
  int count;
  int64_t *place;
  tg_node *at;     /* its node: the segments are there before it */
  tg_value *whole; /* they beside each other, once somebody reads them; or NULL */
} order;

typedef struct pass {
  tg_graph *graph;
  tg_arena arena;
  /* By a value's index. */
  bool *shuffled;    /* something in front of it is a shuffle */
  bool *refused;     /* its channels lie in too many parts, or it does not pay */
  bool *absorbed;    /* all its readers take its channels as they lie */
  order **orders;    /* of those that are absorbed */
  tg_value **copies; /* made of channels as they lie, of those that are segments and absorbed */
  int *group;        /* another one of those that are absorbed together, or the value itself */
  int values;        /* those that are there before the pass makes any */
} pass;

static int64_t channels_of(const tg_value *value) {
  return value->rank ? value->dims[value->rank - 1].size : 0;
}

static bool has_one_reader(const tg_value *value) { return value->use_count == 1 && !value->output_count; }

/* The Transpose of a shuffle that ends with this Reshape; or NULL. */
static tg_node *shuffle_behind(const tg_node *last) {
  const tg_value *y = tg_out(last);
  tg_node *transpose = last->op == TG_OP_RESHAPE ? tg_in(last, 0)->producer : NULL;
  if (!transpose || transpose->op != TG_OP_TRANSPOSE || !has_one_reader(tg_out(transpose))) return NULL;
  tg_node *first = tg_in(transpose, 0)->producer;
  if (!first || first->op != TG_OP_RESHAPE || !has_one_reader(tg_out(first))) return NULL;
  const tg_value *x = tg_in(first, 0), *split = tg_out(first);
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  if (!tg_value_same_shape(x, y) || y->rank < 2 || split->rank <= y->rank || channels_of(y) < 1) return NULL;
  for (int d = 0; d < y->rank - 1; d++)
    if (perm[d] != d || split->dims[d].size != y->dims[d].size) return NULL;
  return transpose;
}

/* A number, or one for each channel. */
static bool is_by_channel(const tg_value *constant, int64_t channels) {
  return tg_is_constant(constant) && constant->data &&
         (tg_value_elements(constant) == 1 ||
          (tg_value_elements(constant) == channels && channels_of(constant) == channels));
}

static bool is_full_constant(const tg_value *value) {
  return tg_is_constant(value) && value->data && tg_value_elements(value);
}

/* A convolution with constants, of channels that lie last. */
static bool is_convolution(const tg_node *node) {
  return node->op == TG_OP_CONV && tg_attr_int(node, TG_ATTR_CHANNELS_LAST) &&
         is_full_constant(tg_in(node, 1)) && (!tg_in(node, 2) || is_full_constant(tg_in(node, 2)));
}

/* What it gives of a channel follows from that channel of its first operand, and constants. */
static bool treats_channels_apart(const tg_node *node) {
  const tg_value *x = tg_in(node, 0), *y = node->output_count == 1 ? tg_out(node) : NULL;
  if (!x || !y || channels_of(x) != channels_of(y)) return false;
  if (tg_is_plain_cast(node)) return true;
  if (node->op == TG_OP_MAX_POOL || node->op == TG_OP_AVERAGE_POOL)
    return tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
  if (is_convolution(node)) return tg_attr_int(node, TG_ATTR_GROUP) == channels_of(x);
  if (!tg_op_is(node->op, TG_IS_ELEMENTWISE) || !tg_value_same_shape(x, y)) return false;
  for (int i = 1; i < node->input_count; i++)
    if (!tg_in(node, i) || !is_by_channel(tg_in(node, i), channels_of(x))) return false;
  return true;
}

/* A Slice of channels that lie beside each other, all that they have; from *out_from on. */
static bool is_slice_of_channels(const tg_node *node, int64_t *out_from) {
  int64_t begin[TG_MAX_RANK];
  if (node->op != TG_OP_SLICE || !tg_is_crop(node, begin)) return false;
  const tg_value *x = tg_in(node, 0), *y = tg_out(node);
  for (int d = 0; d < x->rank - 1; d++)
    if (x->dims[d].size != y->dims[d].size) return false;
  *out_from = x->rank ? begin[x->rank - 1] : 0;
  return x->rank && channels_of(y);
}

static bool is_concat_of_channels(const tg_node *node) {
  return node->op == TG_OP_CONCAT && tg_attr_int(node, TG_ATTR_AXIS) == tg_out(node)->rank - 1;
}

static bool absorbs(const tg_node *node, const tg_value *x) {
  return is_convolution(node) && tg_attr_int(node, TG_ATTR_GROUP) == 1 && tg_in(node, 0) == x;
}

/* The value whose channels are those of `x`, through the node that reads it; NULL: the node is something else. */
static tg_value *value_behind(tg_node *node, const tg_value *x) {
  int64_t from;
  if (is_slice_of_channels(node, &from) || is_concat_of_channels(node) ||
      (tg_in(node, 0) == x && treats_channels_apart(node)))
    return tg_out(node);
  if (node->op != TG_OP_RESHAPE || !has_one_reader(tg_out(node))) return NULL;
  const tg_node *transpose = tg_out(node)->uses->node;
  if (transpose->op != TG_OP_TRANSPOSE || !has_one_reader(tg_out(transpose))) return NULL;
  tg_node *last = tg_out(transpose)->uses->node;
  return shuffle_behind(last) == transpose ? tg_out(last) : NULL;
}

static void find_shuffled(pass *p) {
  TG_FOR_NODES(p->graph, node) {
    if (node->output_count != 1) continue;
    bool *y = &p->shuffled[tg_out(node)->index];
    *y = shuffle_behind(node) != NULL;
    for (int i = 0; i < node->input_count && !*y; i++) {
      const tg_value *x = tg_in(node, i);
      *y = x && p->shuffled[x->index] && value_behind(node, x) == tg_out(node);
    }
  }
}

static void find_absorbed(pass *p) {
  memset(p->absorbed, 0, (size_t)p->values * sizeof *p->absorbed);
  for (tg_node *node = p->graph->last; node; node = node->previous) {
    if (node->output_count != 1 || !p->shuffled[tg_out(node)->index]) continue;
    const tg_value *value = tg_out(node);
    bool absorbed = !value->output_count && !p->refused[value->index];
    for (const tg_use *use = value->uses; use && absorbed; use = use->next) {
      const tg_value *behind = value_behind(use->node, value);
      absorbed = absorbs(use->node, value) || (behind && p->absorbed[behind->index]);
    }
    p->absorbed[value->index] = absorbed;
  }
}

/* Are places of all those that are absorbed few enough to be kept? */
static bool are_few(const pass *p) {
  int64_t places = 0;
  TG_FOR_NODES(p->graph, node) {
    if (node->output_count != 1 || !p->absorbed[tg_out(node)->index]) continue;
    places += 128 + 2 * channels_of(tg_out(node));
    for (int i = 0; i < node->input_count; i++) places += tg_in(node, i) ? channels_of(tg_in(node, i)) : 0;
    if (places > MOST_PLACES) return false;
  }
  return true;
}

static order *new_order(pass *p, int64_t channels) {
  order *o = TG_NEW(&p->arena, order);
  o->place = TG_NEW_ARRAY(&p->arena, int64_t, channels);
  return o;
}

/* A value as it is. */
static order *plain_order(pass *p, tg_value *value) {
  order *o = new_order(p, channels_of(value));
  o->segments[o->count++] = (segment){value, 0, channels_of(value)};
  for (int64_t i = 0; i < channels_of(value); i++) o->place[i] = i;
  return o;
}

static order *order_of(pass *p, tg_value *value) {
  return p->absorbed[value->index] ? p->orders[value->index] : plain_order(p, value);
}

/* False: there are too many. */
static bool add_segment(order *o, segment s) {
  segment *last = o->count ? &o->segments[o->count - 1] : NULL;
  if (!s.count) return true;
  if (last && last->value == s.value && last->from + last->count == s.from) {
    last->count += s.count;
    return true;
  }
  if (o->count == MOST_SEGMENTS) return false;
  o->segments[o->count++] = s;
  return true;
}

static order *order_of_shuffle(pass *p, const tg_node *transpose) {
  const tg_value *split = tg_in(transpose, 0), *moved = tg_out(transpose);
  tg_value *x = tg_in(split->producer, 0);
  const order *before = order_of(p, x);
  int kept = x->rank - 1;
  const int64_t *perm = tg_attr_ints(transpose, TG_ATTR_PERM, NULL);
  int64_t stride[TG_MAX_RANK], step = 1, digit[TG_MAX_RANK] = {0}, at = 0;
  for (int d = split->rank - 1; d >= kept; d--) {
    stride[d] = step;
    step *= split->dims[d].size;
  }
  order *o = new_order(p, channels_of(x));
  o->count = before->count;
  memcpy(o->segments, before->segments, sizeof o->segments);
  for (int64_t i = 0; i < channels_of(x); i++) {
    o->place[i] = before->place[at];
    for (int d = moved->rank - 1; d >= kept; d--) {
      at += stride[perm[d]];
      if (++digit[d] < moved->dims[d].size) break;
      at -= stride[perm[d]] * digit[d];
      digit[d] = 0;
    }
  }
  return o;
}

/* Those of the segments that the Slice has, in the order in which they lie. NULL: they are too many parts. */
static order *order_of_slice(pass *p, const tg_node *slice, int64_t from) {
  tg_value *x = tg_in(slice, 0);
  const order *before = order_of(p, x);
  int64_t count = channels_of(tg_out(slice)), all = channels_of(x), next = 0;
  int64_t *number =
      TG_NEW_ARRAY(&p->arena, int64_t, all); /* among those that are left, + 1; 0: it is not one */
  order *o = new_order(p, count);
  for (int64_t i = 0; i < count; i++) number[before->place[from + i]] = 1;
  for (int s = 0, at = 0; s < before->count; at += (int)before->segments[s++].count)
    for (int64_t i = 0; i < before->segments[s].count; i++) {
      const segment *whole = &before->segments[s];
      if (!number[at + i]) continue;
      number[at + i] = ++next;
      if (!add_segment(o, (segment){whole->value, whole->from + i, 1})) return NULL;
    }
  for (int64_t i = 0; i < count; i++) o->place[i] = number[before->place[from + i]] - 1;
  return o;
}

static order *order_of_concat(pass *p, const tg_node *concat) {
  order *o = new_order(p, channels_of(tg_out(concat)));
  int64_t at = 0;
  for (int i = 0; i < concat->input_count; i++) {
    tg_value *x = tg_in(concat, i);
    const order *part = order_of(p, x);
    for (int s = 0; s < part->count; s++)
      if (!add_segment(o, part->segments[s])) return NULL;
    for (int64_t c = 0; c < channels_of(x); c++) o->place[at + c] = at + part->place[c];
    at += channels_of(x);
  }
  return o;
}

static order *find_order(pass *p, tg_node *node) {
  int64_t from;
  const tg_node *transpose = shuffle_behind(node);
  if (transpose) return order_of_shuffle(p, transpose);
  if (is_slice_of_channels(node, &from)) return order_of_slice(p, node, from);
  if (is_concat_of_channels(node)) return order_of_concat(p, node);
  order *o = plain_order(p, tg_out(node)); /* of its copy */
  memcpy(o->place, order_of(p, tg_in(node, 0))->place, (size_t)channels_of(tg_out(node)) * sizeof *o->place);
  return o;
}

/* A constant [.., channels, inner elements] as the channels lie; one without them stays. */
static tg_value *placed(pass *p, tg_value *constant, const order *o, int64_t channels, int64_t inner) {
  int64_t sizes[TG_MAX_RANK], rows = tg_value_elements(constant) / (channels * inner);
  size_t bytes = tg_dtype_size(constant->dtype) * (size_t)inner;
  if (tg_value_elements(constant) < channels * inner) return constant;
  tg_value_sizes(constant, sizes);
  tg_value *moved =
      tg_graph_add_constant(p->graph, constant->name, constant->dtype, constant->rank, sizes, NULL, false);
  char *to = (char *)moved->data;
  const char *from = constant->data;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < channels; c++)
      memcpy(to + (size_t)(r * channels + o->place[c]) * bytes, from + (size_t)(r * channels + c) * bytes,
             bytes);
  return moved;
}

/* The channels in the order in which they lie, of a value that is absorbed. */
static tg_value *whole_of(pass *p, order *o) {
  tg_value *parts[MOST_SEGMENTS];
  if (o->whole) return o->whole;
  for (int i = 0; i < o->count; i++) {
    const segment *s = &o->segments[i];
    tg_value *value = p->copies[s->value->index] ? p->copies[s->value->index] : s->value;
    parts[i] = s->count == channels_of(value)
                   ? value
                   : tg_rewrite_slice(p->graph, value, value->rank - 1, s->from, s->count, 1, o->at);
  }
  return o->whole = tg_rewrite_concat(p->graph, parts[0]->name, parts, o->count, parts[0]->rank - 1, o->at);
}

/* The node again, of channels as they lie. */
static void copy(pass *p, tg_node *node) {
  tg_value *x = tg_in(node, 0), **inputs = TG_NEW_ARRAY(&p->arena, tg_value *, node->input_count);
  order *o = order_of(p, x);
  inputs[0] = p->absorbed[x->index] ? whole_of(p, o) : x;
  for (int i = 1; i < node->input_count; i++)
    inputs[i] = tg_in(node, i) ? placed(p, tg_in(node, i), o, channels_of(x), 1) : NULL;
  p->copies[tg_out(node)->index] = tg_out(tg_rewrite_copy(p->graph, node, inputs, node));
}

static void absorb(pass *p, tg_node *conv) {
  tg_value *x = tg_in(conv, 0), *weights = tg_in(conv, 1);
  order *o = p->orders[x->index];
  tg_node_set_input(conv, 1, placed(p, weights, o, channels_of(x), channels_of(weights)));
  tg_node_set_input(conv, 0, whole_of(p, o));
}

/* ---- what it is worth ---- */

static int group_of(const pass *p, int value) {
  while (p->group[value] != value) value = p->group[value] = p->group[p->group[value]];
  return value;
}

/* A value with what it is made of and what is made of it. */
static void find_groups(pass *p) {
  for (int v = 0; v < p->values; v++) p->group[v] = v;
  for (int v = 0; v < p->values; v++) {
    const tg_value *value = p->graph->values[v];
    if (!p->absorbed[v]) continue;
    for (const tg_use *use = value->uses; use; use = use->next) {
      const tg_value *behind = absorbs(use->node, value) ? NULL : value_behind(use->node, value);
      if (behind) p->group[group_of(p, v)] = group_of(p, behind->index);
    }
  }
}

/* Does some node read the value as it lies? */
static bool is_made(const pass *p, const tg_value *value) {
  for (const tg_use *use = value->uses; use; use = use->next) {
    const tg_node *node = use->node;
    if (absorbs(node, value) ||
        (tg_in(node, 0) == value && treats_channels_apart(node) && p->absorbed[tg_out(node)->index]))
      return true;
  }
  return false;
}

/* False: some are not worth it, and refused from now on. */
static bool is_worth_it(pass *p) {
  int64_t *worth = TG_NEW_ARRAY(&p->arena, int64_t, p->values + 1);
  bool all = true;
  find_groups(p);
  for (int v = 0; v < p->values; v++) {
    const tg_value *value = p->graph->values[v];
    if (!p->absorbed[v]) continue;
    if (shuffle_behind(value->producer)) worth[group_of(p, v)] += tg_value_elements(value);
    if (p->orders[v]->count > 1 && is_made(p, value))
      worth[group_of(p, v)] -= (int64_t)ELEMENTS_A_PART * p->orders[v]->count;
  }
  for (int v = 0; v < p->values; v++) {
    if (!p->absorbed[v] || worth[group_of(p, v)] >= 0) continue;
    p->refused[v] = true;
    all = false;
  }
  return all;
}

/* False: those of one value lie in too many parts, and it is refused from now on. */
static bool find_orders(pass *p) {
  TG_FOR_NODES(p->graph, node) {
    if (node->output_count != 1 || !p->absorbed[tg_out(node)->index]) continue;
    order *o = find_order(p, node);
    p->orders[tg_out(node)->index] = o;
    if (!o) {
      p->refused[tg_out(node)->index] = true;
      return false;
    }
    o->at = node;
  }
  return true;
}

/* Nodes of which a copy is made, and those that read channels as they lie. */
static void rewrite(pass *p) {
  TG_FOR_NODES(p->graph, node) {
    const tg_value *x = tg_in(node, 0), *y = node->output_count == 1 ? tg_out(node) : NULL;
    if (!x || !y || x->index >= p->values || y->index >= p->values) continue; /* a new one */
    if (p->absorbed[x->index] && absorbs(node, x)) absorb(p, node);
    if (p->absorbed[y->index] && p->orders[y->index]->segments[0].value == y) copy(p, node);
  }
}

void tg_pass_absorb_shuffles(tg_graph *graph) {
  enum { MOST_TRIES = 16 };
  tg_graph_compact(graph);
  pass p = {.graph = graph, .arena = tg_arena_within(graph->arena), .values = graph->value_count};
  p.shuffled = TG_NEW_ARRAY(&p.arena, bool, p.values + 1);
  p.refused = TG_NEW_ARRAY(&p.arena, bool, p.values + 1);
  p.absorbed = TG_NEW_ARRAY(&p.arena, bool, p.values + 1);
  p.group = TG_NEW_ARRAY(&p.arena, int, p.values + 1);
  p.orders = TG_NEW_ARRAY(&p.arena, order *, p.values + 1);
  p.copies = TG_NEW_ARRAY(&p.arena, tg_value *, p.values + 1);
  bool found = false, few = true;
  find_shuffled(&p);
  for (int tries = 0; tries < MOST_TRIES && !found && few; tries++) {
    find_absorbed(&p);
    few = are_few(&p);
    found = few && find_orders(&p) && is_worth_it(&p);
  }
  if (found) rewrite(&p);
  tg_arena_release(&p.arena);
  tg_pass_remove_dead(graph);
}
