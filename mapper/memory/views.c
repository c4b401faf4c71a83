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

enum { SHORTEST_RUN = 16 /* bytes */ };

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
  if (kernel->product) { /* which makes what the kernel would load */
    tg_kernel *product = TG_NEW(c->arena, tg_kernel);
    *product = *kernel->product;
    if (!resolve_again(c, product)) return false;
    kernel->product = product;
    return true;
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

typedef struct kernel_list {
  size_t *kernels, count, capacity;
} kernel_list;

typedef struct former {
  tg_compile *c;
  kernel_list *of; /* by value->index: kernels that read or write it, in order */
  bool *gone;      /* by kernel: it was a move */
} former;

typedef struct candidate {
  size_t move;     /* the kernel */
  tg_value *owner; /* that would be a view, */
  tg_value_view view;
} candidate;

static double cycles_of(tg_compile *c, const tg_kernel *kernel) {
  return tg_class_of(c, kernel)->cycles ? tg_kernel_cycles(c, kernel) : 0;
}

/* The kernels of the value but the move, and their cycles as it lies now. */
static tg_kernel *copy_kernels(const former *f, const candidate *x, double *out_cycles, size_t *out_count) {
  const kernel_list *list = &f->of[x->owner->index];
  tg_kernel *copies = TG_NEW_ARRAY(f->c->arena, tg_kernel, list->count);
  *out_count = 0;
  *out_cycles = cycles_of(f->c, &f->c->kernels[x->move]);
  for (size_t i = 0; i < list->count; i++) {
    if (list->kernels[i] == x->move || f->gone[list->kernels[i]]) continue;
    copies[(*out_count)++] = f->c->kernels[list->kernels[i]];
    *out_cycles += cycles_of(f->c, &f->c->kernels[list->kernels[i]]);
  }
  return copies;
}

/* Sets what they load, with the view in place; false: one of them cannot walk it, or it does not pay. */
static bool can_walk(tg_compile *c, tg_kernel *kernels, size_t count, double before) {
  for (size_t i = 0; i < count; i++) {
    const tg_kernel_class *own = tg_class_of(c, &kernels[i]);
    if (!resolve_again(c, &kernels[i]) || !own->walks_views || !own->walks_views(c, &kernels[i]))
      return false;
    before -= cycles_of(c, &kernels[i]);
  }
  return before >= 0;
}

static void put_back(former *f, const candidate *x, const tg_kernel *copies) {
  const kernel_list *list = &f->of[x->owner->index];
  for (size_t i = 0; i < list->count; i++)
    if (list->kernels[i] != x->move && !f->gone[list->kernels[i]])
      f->c->kernels[list->kernels[i]] = *copies++;
}

static void settle(former *f, const candidate *x) {
  tg_compile *c = f->c;
  tg_place *place = &c->places[x->owner->index];
  tg_value_view *view = TG_NEW(c->arena, tg_value_view);
  *view = x->view;
  place->view = view;
  if (!tg_is_contiguous(c, x->owner)) {
    double before;
    size_t count;
    place->view = NULL;
    tg_kernel *copies = copy_kernels(f, x, &before, &count);
    place->view = view;
    if (!can_walk(c, copies, count, before)) {
      place->view = NULL;
      return;
    }
    put_back(f, x, copies);
  }
  f->gone[x->move] = true;
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
static void join(former *f, size_t k) {
  const tg_compile *c = f->c;
  const tg_kernel *move = &c->kernels[k];
  tg_value *part = move->source, *all = move->output;
  candidate x = {.move = k, .owner = tg_owner(c, part)};
  int64_t stride[TG_MAX_RANK];
  if (tg_in(move->root, move->part) != part || tg_out(move->root) != all || part->dtype != all->dtype) return;
  if (!is_free(c, x.owner) || x.owner->dtype != all->dtype || is_carried(c, tg_memory_of(c, all))) return;
  if (tg_value_strides(c, all, stride) &&
      set_view(c, all, tg_concat_offset(move->root, move->part, stride), part, stride, &x))
    settle(f, &x);
}

/* What a Slice makes: others read it where it is. */
static void cut(former *f, size_t k) {
  const tg_compile *c = f->c;
  const tg_kernel *move = &c->kernels[k];
  tg_value *all = move->source, *part = move->output;
  candidate x = {.move = k, .owner = part};
  int64_t own[TG_MAX_RANK], stride[TG_MAX_RANK], first;
  if (tg_in(move->root, 0) != all || tg_out(move->root) != part || part->dtype != all->dtype) return;
  if (!is_free(c, part) || is_updated(c, tg_memory_of(c, all)) || !tg_value_strides(c, all, own)) return;
  tg_view(move->root, own, &first, stride);
  if (set_view(c, all, first, part, stride, &x)) settle(f, &x);
}

static bool is_move(const tg_kernel *kernel, tg_op op) {
  return kernel->kind == TG_KERNEL_MOVE && kernel->root && kernel->root->op == op;
}

/* Once, if it does both. */
static void list_kernel(former *f, const tg_value *value, size_t k) {
  kernel_list *list = &f->of[value->index];
  if (list->count && list->kernels[list->count - 1] == k) return;
  TG_PUSH(f->c->arena, list->kernels, list->count, list->capacity, k);
}

static former begin(tg_compile *c) {
  former f = {.c = c,
              .of = TG_NEW_ARRAY(c->arena, kernel_list, (size_t)c->graph->value_count + 1),
              .gone = TG_NEW_ARRAY(c->arena, bool, c->kernel_count + 1)};
  for (size_t k = 0; k < c->kernel_count; k++) {
    const tg_kernel *kernel = &c->kernels[k];
    for (size_t i = 0; i < kernel->input_count; i++) list_kernel(&f, kernel->inputs[i], k);
    for (int i = 0; i < tg_kernel_writes(kernel); i++) list_kernel(&f, tg_kernel_written(kernel, i), k);
  }
  return f;
}

static void remove_gone(const former *f) {
  tg_compile *c = f->c;
  size_t left = 0;
  for (size_t k = 0; k < c->kernel_count; k++)
    if (!f->gone[k]) c->kernels[left++] = c->kernels[k];
  c->kernel_count = left;
}

tg_status tg_form_views(tg_compile *c) {
  former f = begin(c);
  for (size_t k = c->kernel_count; k-- > 0;)
    if (is_move(&c->kernels[k], TG_OP_CONCAT)) join(&f, k);
  for (size_t k = 0; k < c->kernel_count; k++)
    if (is_move(&c->kernels[k], TG_OP_SLICE)) cut(&f, k);
  remove_gone(&f);
  return TG_OK;
}
