/* What kernels have to do with each other: who reads what, what may change places, how two become one. */
#ifndef TEGULA_MAPPER_KERNEL_KERNEL_H
#define TEGULA_MAPPER_KERNEL_KERNEL_H

#include "mapper/kernel/value.h"

/* What kernels have to do with each other. */
bool tg_kernel_reads(const tg_kernel *kernel, const tg_value *value);
bool tg_kernel_makes(const tg_kernel *kernel, const tg_value *value);
bool tg_kernel_reads_any_of(const tg_kernel *reader, const tg_kernel *maker);
/* Do both read a tensor of so many elements in common? */
bool tg_kernels_share_input(const tg_kernel *a, const tg_kernel *b, int64_t elements);
/* May kernel `a` run as late as kernel `to`, kernel `b` as early as kernel `to`? */
bool tg_kernel_can_sink(const tg_compile *c, size_t a, size_t to);
bool tg_kernel_can_hoist(const tg_compile *c, size_t b, size_t to);
/* Is the value still needed in memory when kernels a and b are none? */
bool tg_needed_beside(const tg_compile *c, const tg_value *value, size_t a, size_t b);
bool tg_has_node(tg_node *const *nodes, size_t count, const tg_node *node);
/* Those that are not there yet, in order, behind those that are. */
void tg_add_nodes(tg_arena *arena, tg_node_list *to, tg_node *const *nodes, size_t count);
/* The nodes are the kernel's fused ones. */
void tg_set_fused(tg_kernel *kernel, const tg_node_list *nodes);
void tg_kernel_remove(tg_compile *c, size_t k);
/* What others than kernels a and b need of the results of kernel `from` are results of `to` as well. False:
 * they are too many. */
bool tg_kernel_add_results(tg_compile *c, tg_kernel *to, size_t from, size_t a, size_t b);
/* Kernel `a` and kernel `b`, one of which is `at`, become `both` in that one's place; what it does not make
 * is stored no longer. */
void tg_kernels_become(tg_compile *c, size_t a, size_t b, size_t at, const tg_kernel *both);
/* Sets the nodes of a kernel, before its roots or without any, in order, and with them what is loaded. */
void tg_kernel_set_nodes(tg_compile *c, tg_kernel *kernel, tg_node_list *nodes);
/* The kernel loads what `node`, one of `nodes` or their reader, takes of others than these. */
void tg_kernel_add_loads(tg_compile *c, tg_kernel *kernel, const tg_node_list *nodes, const tg_node *node);
/* The kernel reads `value` from DRAM, or what it reshapes. */
void tg_kernel_add_input(tg_compile *c, tg_kernel *kernel, tg_value *value);
/* `both`, a copy of one of them, reads what `maker` reads and what `reader` does but for what `maker` makes. */
void tg_kernel_join_inputs(tg_compile *c, tg_kernel *both, const tg_kernel *maker, const tg_kernel *reader);
/* The kernel of a Transpose that keeps the rows of `result`, which no other node reads and no other kernel loads
 * (a product may load it as the Transpose would leave it); or NULL. */
tg_kernel *tg_storable_move(const tg_compile *c, const tg_value *result);
/* Where the elements of what a kernel computes are stored, by its dimensions. */
void tg_stored_strides(const tg_compile *c, const tg_kernel *kernel, int64_t *out_strides);

/* A ReduceSum, -Max, -Min or -Prod; and of whole rows, [m, n] to m numbers, n more than one. */
bool tg_is_reduction(const tg_node *node);
bool tg_reduces_rows(const tg_node *node, int64_t out_dims[2]);
/* Dimensions [m, n] of the rows that a row kernel, or a reduction of whole rows, goes over. False: it is
 * neither. */
bool tg_rowwise_dims(const tg_kernel *kernel, int64_t out_dims[2]);
/* The Cast of which the kernel's stores make the result, rounding stochastically, or NULL. There is one at
 * most. */
const tg_node *tg_stochastic_store(const tg_kernel *kernel);

/* Text naming a kernel's nodes, for sections and diagnostics. */
const char *tg_kernel_name(const tg_compile *c, const tg_kernel *kernel);

#endif
