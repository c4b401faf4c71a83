/* The kernel list as text: prints and parses, and printing what was parsed gives the same bytes. A line a
 * kernel:
 *
 *   gemm roots=%m fused=%s,%y reads=%a,%b,%c makes=%y
 *
 * first its kind, then what there is of it; values are named as in the graph's text (frontend/text.h), nodes
 * by their results:
 *
 * - roots, part: the root and, of reductions, further ones; which input of a Concat, or output of the graph
 * - source: what a move moves
 * - prologue, prologue_b: nodes before operand 0, or a reduction, and before operand 1
 * - prologue_result: what they make for a product; prologue_stored: others read it, too
 * - fused: nodes of the epilogue
 * - reads, makes: tensors; beside: what a node before a reduction makes and is stored as well
 * - column_sums, pool, second, product, scores, softmax: a kernel within the kernel, in braces
 *
 * Then a line a view (kernel/view.h): the value, the one whose memory it has part of, elements:
 *
 *   view %y of=%x first=128 strides=512,1
 *
 * and a line for each operand that stays in scratchpads (tg_keeping): the results of the products that read it, and
 * the members of tg_kept:
 *
 *   keep for=%y0,%y1 split=2 columns=16 alike=1 bank=12 banks=4 */
#ifndef TEGULA_MAPPER_KERNEL_TEXT_H
#define TEGULA_MAPPER_KERNEL_TEXT_H

#include "mapper/kernel/class.h"

/* On c->arena, a line a kernel, view, or operand that stays. */
char *tg_kernels_print(const tg_compile *c);
/* The kernels of a compilation that has none, and with them which values are stored, views, and what
 * stays. TG_INVALID names the line. */
tg_status tg_kernels_parse(tg_compile *c, const char *text);

#endif
