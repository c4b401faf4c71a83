#include "mapper/kernel/access.h"

#include "mapper/kernel/outer.h"
#include "mapper/kernel/space.h"
#include "mapper/kernel/view.h"

#include <string.h>

tg_access tg_access_of(const tg_compile *c, tg_value *value, const tg_value *shape) {
  tg_access access = {.name = {.value = value}, .shape = shape};
  if (value->rank > shape->rank) return access;
  bool whole = tg_value_elements(value) == tg_value_elements(shape);
  const tg_value *by = whole ? shape : value;
  int64_t strides[TG_MAX_RANK];
  access.apart = !tg_strides_as(c, value, by, strides);
  for (int d = 0, first = shape->rank - by->rank; d < by->rank && !access.apart; d++)
    access.stride[first + d] = by->dims[d].size == 1 ? 0 : strides[d];
  return access;
}

static int64_t product(const int64_t *dims, int rank) {
  int64_t elements = 1;
  for (int d = 0; d < rank; d++) elements *= dims[d];
  return elements;
}

bool tg_access_strides(const tg_access *access, const int64_t *dims, int rank, int64_t *out_strides) {
  int64_t elements = product(dims, rank);
  bool broadcasts = access->name.part || access->name.value->rank <= access->shape->rank;
  if (!broadcasts || access->apart || elements != tg_value_elements(access->shape)) return false;
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(access->shape, sizes);
  if (!tg_restride(sizes, access->stride, access->shape->rank, dims, rank, out_strides)) return false;
  if (!access->name.part && tg_value_elements(access->name.value) == elements)
    tg_complete_strides(dims, rank, out_strides);
  return true;
}

tg_along tg_along_of(const int64_t *dims, const int64_t *strides, int rank) {
  bool moves = false;
  for (int d = 0; d < rank - 1; d++) moves |= strides[d] && dims[d] > 1;
  if (strides[rank - 1]) return moves ? TG_ALONG_FULL : TG_ALONG_ROW;
  return moves ? TG_ALONG_COLUMN : TG_ALONG_SCALAR;
}

const tg_value *tg_shape_around(tg_node *const *nodes, size_t count, size_t n, int64_t elements) {
  for (size_t user = n + 1; user < count && tg_value_elements(tg_out(nodes[n])) != elements; user++)
    for (int i = 0; i < nodes[user]->input_count; i++)
      if (tg_in(nodes[user], i) == tg_out(nodes[n])) {
        n = user;
        break;
      }
  return tg_out(nodes[n]);
}

bool tg_goes_along_one_way(const tg_compile *c, tg_node *const *nodes, size_t count, size_t n,
                           const int64_t *dims, int rank) {
  int64_t elements = product(dims, rank), first[TG_MAX_RANK], strides[TG_MAX_RANK];
  tg_value *value = tg_out(nodes[n]);
  if (tg_value_elements(value) == elements) return true;
  tg_access access = tg_access_of(c, value, tg_shape_around(nodes, count, n, elements));
  if (!tg_access_strides(&access, dims, rank, first)) return false;
  for (size_t user = n + 1; user < count; user++)
    for (int i = 0; i < nodes[user]->input_count; i++) {
      tg_value *operand = tg_in(nodes[user], i);
      if (tg_owner(c, operand) != value) continue;
      access = tg_access_of(c, operand, tg_shape_around(nodes, count, user, elements));
      if (!tg_access_strides(&access, dims, rank, strides) ||
          memcmp(first, strides, sizeof *strides * (size_t)rank))
        return false;
    }
  return true;
}

/* Operand `i` of outer product number `k` of those that the node is a sum of. */
static tg_access part_of(const tg_node *node, const tg_outer *outer, int k, int i) {
  tg_access part = {.name = {.value = outer->operand[i], .part = k + 1, .dtype = outer->dtype[i]},
                    .shape = tg_out(node),
                    .first = k * outer->step[i],
                    .parts = outer->count,
                    .step = outer->step[i]};
  memcpy(part.stride, outer->stride[i], sizeof part.stride);
  return part;
}

static bool visit_parts(const tg_node *node, const tg_outer *outer, tg_access_visit *visit, void *user) {
  for (int k = 0; k < outer->count; k++)
    for (int i = 0; i < 2; i++) {
      tg_access part = part_of(node, outer, k, i);
      if (!visit(user, &part)) return false;
    }
  return true;
}

bool tg_visit_operands(const tg_compile *c, tg_node *const *nodes, size_t count, size_t n,
                       const tg_value *shape, tg_access_visit *visit, void *user) {
  tg_outer outer;
  bool parts = tg_outer_of(c, nodes[n], &outer);
  if (parts && !visit_parts(nodes[n], &outer, visit, user)) return false;
  for (int i = parts ? 2 : 0; i < nodes[n]->input_count; i++) {
    tg_value *value = tg_in(nodes[n], i);
    if (!value || tg_is_scalar_constant(value)) continue;
    const tg_node *maker = tg_owner(c, value)->producer;
    if (maker && tg_has_node(nodes, count, maker)) continue;
    tg_access access = tg_access_of(c, value, shape);
    if (!visit(user, &access)) return false;
  }
  return true;
}

bool tg_visit_all_operands(const tg_compile *c, tg_node *const *nodes, size_t count, const int64_t *dims,
                           int rank, tg_access_visit *visit, void *user) {
  for (size_t n = 0; n < count; n++) {
    if (!tg_goes_along_one_way(c, nodes, count, n, dims, rank)) return false;
    const tg_value *shape = tg_shape_around(nodes, count, n, product(dims, rank));
    if (!tg_visit_operands(c, nodes, count, n, shape, visit, user)) return false;
  }
  return true;
}
