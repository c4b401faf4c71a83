/* Operands of fused nodes: which tensor, and how it is walked along with the elements that a kernel computes.
 * Elementwise kernels, reductions, rows, prologues and epilogues of products all find theirs here. */
#ifndef TEGULA_MAPPER_KERNEL_ACCESS_H
#define TEGULA_MAPPER_KERNEL_ACCESS_H

#include "mapper/kernel/kernel.h"

/* An operand as nodes name it. */
typedef struct tg_operand_name {
  tg_value *value; /* a reshape counts as itself */
  int part;        /* of an operand of outer products (kernel/outer.h), that of k = part - 1; 0: all of it */
  tg_dtype dtype;  /* of a part, as it is multiplied */
} tg_operand_name;

static inline bool tg_is_named(const tg_operand_name *name, const tg_value *value, int part) {
  return name->value == value && name->part == part;
}

/* One tensor as an operand. Element [i0, .., in] of the nodes' result reads its element first + sum i_d *
 * stride[d]. */
typedef struct tg_access {
  tg_operand_name name;
  const tg_value
      *shape; /* that result's; of as many elements as the kernel computes, or it cannot be walked */
  int64_t first, stride[TG_MAX_RANK]; /* elements; 0 where it is broadcast */
  bool apart;                         /* a view that has no such strides: it cannot be walked */
  int parts;                          /* of outer products, and elements from one to the next */
  int64_t step;
} tg_access;

/* What an operand is along rows. */
typedef enum tg_along {
  TG_ALONG_FULL,   /* an element of its own for each */
  TG_ALONG_ROW,    /* a row vector, the same for all rows */
  TG_ALONG_COLUMN, /* a column vector, one scalar a row */
  TG_ALONG_SCALAR  /* one for all */
} tg_along;

/* An operand that broadcasts to `shape` by numpy's rule. */
tg_access tg_access_of(const tg_compile *c, tg_value *value, const tg_value *shape);
/* Its strides by `dims`, a shape of as many elements in the same order. False: it is not, or not every one of
 * these dimensions is a walk of one stride. */
bool tg_access_strides(const tg_access *access, const int64_t *dims, int rank, int64_t *out_strides);
/* By strides of rows, which the last of the dimensions are; those of size 1 move nothing, whatever their
 * stride. */
tg_along tg_along_of(const int64_t *dims, const int64_t *strides, int rank);
static inline bool tg_is_splat(tg_along along) {
  return along == TG_ALONG_COLUMN || along == TG_ALONG_SCALAR;
}

/* The shape, of `elements` elements, by which the operands of nodes[n] go along with a kernel: a cast of a
 * row is broadcast as the node is that uses it. */
const tg_value *tg_shape_around(tg_node *const *nodes, size_t count, size_t n, int64_t elements);
/* Do all that use nodes[n] take its result along with `dims`, the kernel's elements, by the same strides? Two
 * shapes may broadcast a cast of a row in two ways, and there is one register. */
bool tg_goes_along_one_way(const tg_compile *c, tg_node *const *nodes, size_t count, size_t n,
                           const int64_t *dims, int rank);

/* Visits what nodes[n], whose result goes along as one of the shape of `shape`, takes of others than `nodes`:
 * of a product of few k the parts of its operands first. Not scalar constants. False as soon as a visit is. */
typedef bool tg_access_visit(void *user, const tg_access *access);
bool tg_visit_operands(const tg_compile *c, tg_node *const *nodes, size_t count, size_t n,
                       const tg_value *shape, tg_access_visit *visit, void *user);
/* Of all nodes, along with `dims`. False, too, if one does not go along in one way. */
bool tg_visit_all_operands(const tg_compile *c, tg_node *const *nodes, size_t count, const int64_t *dims,
                           int rank, tg_access_visit *visit, void *user);

#endif
