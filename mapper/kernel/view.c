#include "mapper/kernel/view.h"

#include "mapper/kernel/space.h"

static const tg_value_view *view_of(const tg_compile *c, const tg_value *owner) {
  return c->places[owner->index].view;
}

tg_value *tg_memory_of(const tg_compile *c, tg_value *value) {
  tg_value *owner = tg_owner(c, value);
  const tg_value_view *view = view_of(c, owner);
  return view ? view->whole : owner;
}

bool tg_strides_as(const tg_compile *c, const tg_value *value, const tg_value *shape, int64_t *out_strides) {
  int64_t dims[TG_MAX_RANK], own[TG_MAX_RANK];
  const tg_value *root = c->places[value->index].root, *owner = root ? root : value;
  const tg_value_view *view = view_of(c, owner);
  tg_value_sizes(shape, dims);
  if (!view) {
    tg_dense_strides(dims, shape->rank, out_strides);
    return true;
  }
  tg_value_sizes(owner, own);
  if (!tg_restride(own, view->stride, owner->rank, dims, shape->rank, out_strides)) return false;
  tg_complete_strides(dims, shape->rank, out_strides);
  return true;
}

bool tg_is_contiguous(const tg_compile *c, const tg_value *value) {
  int64_t dims[TG_MAX_RANK], dense[TG_MAX_RANK], strides[TG_MAX_RANK];
  const tg_value *root = c->places[value->index].root, *owner = root ? root : value;
  tg_value_sizes(owner, dims);
  tg_dense_strides(dims, owner->rank, dense);
  if (!tg_value_strides(c, owner, strides)) return false;
  for (int d = 0; d < owner->rank; d++)
    if (dims[d] > 1 && strides[d] != dense[d]) return false;
  return true;
}
