/* Slices and Concats without kernels: what they make, or read, becomes a view (kernel/view.h) of the other, which
 * kernels read and write where it lies.
 *
 * That is so where it changes nothing but addresses: the types are the same, the memory belongs to nothing else (no
 * output of the graph, nothing that a run updates), and all kernels that read or write the value can walk it. Where
 * rows lie apart they must not be short, and the kernels together be no slower than they are with the move.
 * Concats come first, from the last one on, so that what is part of a part finds its place settled; then Slices,
 * in order. */
#include "mapper/kernel/class.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/space.h"
#include "mapper/kernel/view.h"
#include "mapper/memory/memory.h"

#include <string.h>

enum { SHORTEST_RUN = 32 /* bytes: half an atom */ };

/* ---- may it be one? ---- */

static bool is_updated(const tg_compile *c, const tg_value *input) {
  for (size_t i = 0; i < c->graph->carry_count; i++)
    if (c->graph->inputs[c->graph->carries[i].input] == input) return true;
  return false;
}

/* Is it an output that ends up in the memory of an input, which others may still read? */
static bool is_carried(const tg_compile *c, const tg_value *owner) {
  int claim = c->places[owner->index].tensor;
  return claim <= -2 && c->carried_into[-2 - claim] >= 0;
}

/* Strides are positive, and elements of the last dimension follow each other, some at least. */
static bool has_runs(const tg_value *owner, const int64_t *stride) {
  int64_t run = 1;
  bool open = true;
  for (int d = owner->rank - 1; d >= 0; d--) {
    if (owner->dims[d].size == 1) continue;
    if (stride[d] < 1) return false;
    open &= stride[d] == run;
    if (open) run *= owner->dims[d].size;
  }
  return open || run * tg_value_bytes_each(owner) >= SHORTEST_RUN;
}

/* A kernel with what its products load as it lies now. False: that is something else than before. */
static bool resolve_again(const tg_compile *c, tg_kernel *kernel) {
  const tg_operand *before = kernel->operands;
  if (kernel->scores) {
    tg_kernel *scores = TG_NEW(c->arena, tg_kernel);
    *scores = *kernel->scores;
    if (!resolve_again(c, scores)) return false;
    kernel->scores = scores;
  }
  if (!before) return true;
  kernel->operands = tg_resolve_operands(c, kernel->root);
  for (int i = 0; i < 2; i++)
    if (kernel->operands[i].source != before[i].source || kernel->operands[i].cast != before[i].cast ||
        kernel->operands[i].transposed != before[i].transposed)
      return false;
  return true;
}

/* ---- a move that is none ---- */

typedef struct candidate {
  size_t move;     /* the kernel */
  tg_value *owner; /* that would be a view, */
  tg_value_view view;
} candidate;

static bool touches(const tg_compile *c, const candidate *x, size_t k) {
  const tg_kernel *kernel = &c->kernels[k];
  return k != x->move && (tg_kernel_reads(kernel, x->owner) || tg_kernel_makes(kernel, x->owner));
}

static double cycles_of(tg_compile *c, const tg_kernel *kernel) {
  return tg_class_of(c, kernel)->cycles ? tg_kernel_cycles(c, kernel) : 0;
}

/* The kernels with the view in place, into `changed`; false: one of them cannot walk it, or it does not pay. */
static bool can_walk(tg_compile *c, const candidate *x, const double *before, tg_kernel *changed) {
  double saved = cycles_of(c, &c->kernels[x->move]);
  size_t count = 0;
  for (size_t k = 0; k < c->kernel_count; k++) {
    if (!touches(c, x, k)) continue;
    tg_kernel *kernel = &changed[count];
    const tg_kernel_class *own = tg_class_of(c, kernel);
    if (!resolve_again(c, kernel) || !own->walks_views || !own->walks_views(c, kernel)) return false;
    saved += before[count++] - cycles_of(c, kernel);
  }
  return saved >= 0;
}

static bool settle(tg_compile *c, const candidate *x) {
  size_t count = 0;
  tg_place *place = &c->places[x->owner->index];
  for (size_t k = 0; k < c->kernel_count; k++) count += touches(c, x, k);
  tg_kernel *changed = TG_NEW_ARRAY(c->arena, tg_kernel, count + 1);
  double *before = TG_NEW_ARRAY(c->arena, double, count + 1);
  tg_value_view *view = TG_NEW(c->arena, tg_value_view);
  *view = x->view;
  place->view = view;
  bool apart = !tg_is_contiguous(c, x->owner), good = true;
  place->view = NULL;
  count = 0;
  for (size_t k = 0; k < c->kernel_count; k++) {
    if (!touches(c, x, k)) continue;
    changed[count] = c->kernels[k];
    before[count++] = apart ? cycles_of(c, &c->kernels[k]) : 0;
  }
  place->view = view;
  if (apart) good = can_walk(c, x, before, changed);
  if (!good) {
    place->view = NULL;
    return false;
  }
  count = 0;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (touches(c, x, k)) c->kernels[k] = changed[count++];
  tg_kernel_remove(c, x->move);
  return true;
}

/* Sets the view's memory: that of `of`, from its element `first` on, by strides of the dimensions of `shape`. */
static bool set_view(const tg_compile *c, tg_value *of, int64_t first, const tg_value *shape,
                     const int64_t *stride, candidate *x) {
  int64_t from[TG_MAX_RANK], dims[TG_MAX_RANK];
  tg_value *owner = tg_owner(c, of);
  const tg_value_view *view = c->places[owner->index].view;
  x->view.whole = tg_memory_of(c, of);
  x->view.first = first + (view ? view->first : 0);
  tg_value_sizes(shape, from);
  tg_value_sizes(x->owner, dims);
  if (!tg_restride(from, stride, shape->rank, dims, x->owner->rank, x->view.stride)) return false;
  tg_complete_strides(dims, x->owner->rank, x->view.stride);
  return has_runs(x->owner, x->view.stride);
}

/* Does nothing else decide where it lies? */
static bool is_free(const tg_compile *c, const tg_value *owner) {
  const tg_place *place = &c->places[owner->index];
  return owner->kind == TG_VALUE_RESULT && place->tensor == -1 && !place->view;
}

/* An input of a Concat, if kernels make it: they write to its place in the result. */
static bool join(tg_compile *c, size_t k) {
  const tg_kernel *move = &c->kernels[k];
  tg_value *part = move->source, *all = move->output;
  candidate x = {.move = k, .owner = tg_owner(c, part)};
  int64_t stride[TG_MAX_RANK];
  if (tg_in(move->root, move->part) != part || tg_out(move->root) != all || part->dtype != all->dtype)
    return false;
  if (!is_free(c, x.owner) || x.owner->dtype != all->dtype || is_carried(c, tg_memory_of(c, all)))
    return false;
  return tg_value_strides(c, all, stride) &&
         set_view(c, all, tg_concat_offset(move->root, move->part, stride), part, stride, &x) &&
         settle(c, &x);
}

/* What a Slice makes: others read it where it is. */
static bool cut(tg_compile *c, size_t k) {
  const tg_kernel *move = &c->kernels[k];
  tg_value *all = move->source, *piece = move->output;
  candidate x = {.move = k, .owner = piece};
  int64_t own[TG_MAX_RANK], stride[TG_MAX_RANK], first;
  if (tg_in(move->root, 0) != all || tg_out(move->root) != piece || piece->dtype != all->dtype) return false;
  if (!is_free(c, piece) || is_updated(c, tg_memory_of(c, all)) || !tg_value_strides(c, all, own))
    return false;
  tg_view(move->root, own, &first, stride);
  return set_view(c, all, first, piece, stride, &x) && settle(c, &x);
}

static bool is_move(const tg_kernel *kernel, tg_op op) {
  return kernel->kind == TG_KERNEL_MOVE && kernel->root && kernel->root->op == op;
}

tg_status tg_form_views(tg_compile *c) {
  for (size_t k = c->kernel_count; k-- > 0;)
    if (is_move(&c->kernels[k], TG_OP_CONCAT)) (void)join(c, k);
  for (size_t k = 0; k < c->kernel_count;)
    if (!is_move(&c->kernels[k], TG_OP_SLICE) || !cut(c, k)) k++;
  return TG_OK;
}
