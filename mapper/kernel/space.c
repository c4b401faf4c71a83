#include "mapper/kernel/space.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
  MOST_SPACES = 256,
  MOST_DIMENSIONS = 4,    /* of a walk: three digits of rows, and their elements */
  MOST_COLUMNS = 1 << 20, /* of two digits */
};

void tg_dense_strides(const int64_t *dims, int rank, int64_t *out_strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    out_strides[d] = stride;
    stride *= dims[d];
  }
}

/* Dimensions that follow each other, as one. */
static int merge_dims(const int64_t *from, const int64_t *stride, int rank, int64_t *out_dims,
                      int64_t *out_stride) {
  int count = 0;
  for (int d = 0; d < rank; d++) {
    if (from[d] == 1) continue;
    if (count && out_stride[count - 1] == stride[d] * from[d])
      out_dims[--count] *= from[d];
    else
      out_dims[count] = from[d];
    out_stride[count++] = stride[d];
  }
  return count;
}

/* Takes the merged dimensions apart, from the last to the first: `left` of one, by `step`. */
bool tg_restride(const int64_t *from, const int64_t *stride, int from_rank, const int64_t *dims, int rank,
                 int64_t *out_strides) {
  int64_t merged[TG_MAX_RANK], steps[TG_MAX_RANK], left = 1, step = 0;
  int at = merge_dims(from, stride, from_rank, merged, steps);
  for (int d = rank - 1; d >= 0; d--) {
    out_strides[d] = 0;
    for (int64_t done = 1; done < dims[d];) {
      if (left == 1) at--, left = merged[at], step = steps[at];
      int64_t need = dims[d] / done, factor = left < need ? left : need;
      if (need % factor || left % factor) return false;
      if (done == 1)
        out_strides[d] = step;
      else if (step != out_strides[d] * done)
        return false;
      done *= factor;
      left /= factor;
      step *= factor;
    }
  }
  return true;
}

void tg_complete_strides(const int64_t *dims, int rank, int64_t *strides) {
  int64_t next = 1;
  for (int d = rank - 1; d >= 0; d--) {
    if (dims[d] == 1) strides[d] = next;
    next = strides[d] * dims[d];
  }
}

void tg_space_begin(tg_space *space, const tg_value *output) {
  *space = (tg_space){.rank = output->rank};
  tg_value_sizes(output, space->dims);
}

int tg_space_add_strided(tg_space *space, const int64_t *strides) {
  assert(space->operands < TG_SPACE_OPERANDS);
  memcpy(space->strides[space->operands], strides, sizeof *strides * (size_t)space->rank);
  return space->operands++;
}

static bool mergeable(const tg_space *space, int outer, int inner) {
  for (int o = 0; o < space->operands; o++)
    if (space->strides[o][outer] != space->strides[o][inner] * space->dims[inner]) return false;
  return true;
}

void tg_space_merge(tg_space *space) {
  int rank = 0;
  for (int d = 0; d < space->rank; d++) {
    if (space->dims[d] == 1) continue;
    space->dims[rank] = space->dims[d];
    for (int o = 0; o < space->operands; o++) space->strides[o][rank] = space->strides[o][d];
    if (rank > 0 && mergeable(space, rank - 1, rank)) {
      space->dims[rank - 1] *= space->dims[rank];
      for (int o = 0; o < space->operands; o++) space->strides[o][rank - 1] = space->strides[o][rank];
    } else
      rank++;
  }
  if (rank == 0) {
    space->dims[0] = 1;
    for (int o = 0; o < space->operands; o++) space->strides[o][0] = 1;
    rank = 1;
  }
  space->rank = rank;
}

void tg_space_fold(tg_space *space, int64_t rows) {
  int last = space->rank - 1, before = last - 1;
  int64_t left = 1;
  if (space->rank <= MOST_DIMENSIONS || space->inner) return;
  for (int d = 0; d < before; d++) left *= space->dims[d];
  if (left < rows || space->dims[before] * space->dims[last] >= MOST_COLUMNS) return;
  for (int o = 0; o < space->operands; o++)
    if (!space->strides[o][last] && space->strides[o][before]) return;
  for (int o = 0; o < space->operands; o++) {
    space->outer[o] = space->strides[o][before];
    space->strides[o][before] = space->strides[o][last];
  }
  space->inner = space->dims[last];
  space->dims[before] *= space->inner;
  space->rank--;
}

void tg_merge_rows(const tg_value *a, const int64_t *stride, int first, int64_t out_radix[3],
                   int64_t out_stride[3]) {
  tg_space rows = {.operands = 1};
  for (int d = first; d < a->rank - 1; d++) {
    rows.dims[rows.rank] = a->dims[d].size;
    rows.strides[0][rows.rank++] = stride[d];
  }
  tg_space_merge(&rows);
  for (int d = 0; d < 3; d++) {
    int at = d - (3 - rows.rank);
    out_radix[d] = at >= 0 ? rows.dims[at] : 1;
    out_stride[d] = at >= 0 ? rows.strides[0][at] : 0;
  }
}

void tg_view(const tg_node *node, const int64_t *strides, int64_t *out_offset, int64_t *out_strides) {
  const tg_value *in = tg_in(node, 0), *out = tg_out(node);
  *out_offset = 0;
  const int64_t *perm = node->op == TG_OP_TRANSPOSE ? tg_attr_ints(node, TG_ATTR_PERM, NULL) : NULL,
                *starts = node->op == TG_OP_SLICE ? tg_attr_ints(node, TG_ATTR_STARTS, NULL) : NULL,
                *steps = node->op == TG_OP_SLICE ? tg_attr_ints(node, TG_ATTR_STEPS, NULL) : NULL;
  for (int d = 0; d < out->rank; d++) {
    out_strides[d] = strides[perm ? perm[d] : d] * (steps ? steps[d] : 1);
    if (starts) *out_offset += starts[d] * strides[d];
    if (node->op == TG_OP_EXPAND && in->dims[d].size == 1) out_strides[d] = 0;
  }
}

int64_t tg_concat_offset(const tg_node *concat, int part, const int64_t *strides) {
  int64_t axis = tg_attr_int(concat, TG_ATTR_AXIS), offset = 0;
  for (int i = 0; i < part; i++) offset += tg_in(concat, i)->dims[axis].size * strides[axis];
  return offset;
}

/* The shortest dimension but the last, which rows go along: the fewest spaces. */
static int dimension_to_cut(const tg_space *space, bool in_order) {
  int cut = 0;
  for (int d = 1; d + 1 < space->rank && !in_order; d++)
    if (space->dims[d] < space->dims[cut]) cut = d;
  return cut;
}

static tg_space without(const tg_space *space, int cut) {
  tg_space inner = *space;
  inner.rank--;
  for (int d = cut; d < inner.rank; d++) {
    inner.dims[d] = space->dims[d + 1];
    for (int o = 0; o < space->operands; o++) inner.strides[o][d] = space->strides[o][d + 1];
  }
  return inner;
}

static tg_status visit_from(const tg_space *space, bool in_order, const int64_t *offsets,
                            tg_space_visit *visit, void *user) {
  if (space->rank <= MOST_DIMENSIONS) return visit(user, space, offsets);
  int cut = dimension_to_cut(space, in_order);
  tg_space inner = without(space, cut);
  tg_status status = TG_OK;
  for (int64_t i = 0; i < space->dims[cut] && !status; i++) {
    int64_t moved[TG_SPACE_OPERANDS] = {0};
    for (int o = 0; o < space->operands; o++) moved[o] = offsets[o] + i * space->strides[o][cut];
    status = visit_from(&inner, in_order, moved, visit, user);
  }
  return status;
}

tg_status tg_space_in_fours(const tg_compile *c, const char *what, const tg_space *space, bool in_order,
                            tg_space_visit *visit, void *user) {
  int64_t spaces = 1;
  for (tg_space left = *space; left.rank > MOST_DIMENSIONS;) {
    int cut = dimension_to_cut(&left, in_order);
    spaces *= left.dims[cut];
    if (spaces > MOST_SPACES)
      return tg_fail(c->diag, TG_INVALID,
                     "%s: more than four dimensions that cannot be merged, the shortest of %" PRId64
                     ", are not supported",
                     what, left.dims[cut]);
    left = without(&left, cut);
  }
  const int64_t none[TG_SPACE_OPERANDS] = {0};
  return visit_from(space, in_order, none, visit, user);
}
