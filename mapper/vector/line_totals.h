/* A reduction of the results of a kernel from line buffers over each image, by blocks of its positions: VOPs behind those
 * that make the results read them where they leave from, in the order in which the reduction alone would load them. So
 * a global average pool reads no tensor again. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_TOTALS_H
#define TEGULA_MAPPER_VECTOR_LINE_TOTALS_H

#include "mapper/vector/line_passes.h"

/* Sets the kernel's reduction (tg_kernel.column_sums), if it has one. False: it goes over something else than the
 * positions of each image, or does more than reduce. */
bool tg_line_set_totals(const tg_compile *c, const tg_kernel *kernel, tg_line_kernel *out);

/* A VOP for the whole blocks, and one for a shorter last one. */
enum { TG_LINE_MOST_TOTALS = 2 };
typedef struct tg_line_totals_vop {
  uint32_t count[2];   /* blocks, of each vector: outer and inner */
  int64_t step[2];     /* from one to the next, in positions as they lie */
  uint32_t repeats[2]; /* positions of a block: outer and inner */
  int64_t along;       /* from one of the outer ones to the next */
  int64_t first;       /* position that they begin with */
  uint32_t to;         /* the first block's number */
} tg_line_totals_vop;
/* Those of a tile's results; 0: this tiling does not have whole blocks of the reduction in a tile, or they do not lie
 * by strides. */
int tg_line_totals_vops(const tg_line_kernel *kernel, const tg_line_tiling *t,
                        tg_line_totals_vop out[TG_LINE_MOST_TOTALS]);
/* Positions that an iteration of the microcode takes. */
uint32_t tg_line_totals_unroll(const tg_line_kernel *kernel, const tg_line_tiling *t);

/* Blocks of the reduction in a tile's results, and flits of what they make. */
uint32_t tg_line_totals(const tg_line_kernel *kernel, const tg_line_tiling *t);
uint32_t tg_line_totals_flits(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);

/* Writes the microcode, of so many positions an iteration; it overflows if there is none. */
enum { TG_LINE_TOTALS_SEGMENTS = 3 };
void tg_line_write_totals(tg_compile *c, const tg_line_kernel *kernel, uint32_t unroll, tg_mc *mc);
/* Cycles of these VOPs for a tile's results; words of each of their segments. */
double tg_line_totals_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                             const int *words);

#endif
