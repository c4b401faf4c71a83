/* Convolutions from resident patches (channel-first implicit im2col): of a block of results, what their kernel
 * positions read of the image is loaded once, with its padding, and mx's A address makes one product of each
 * kernel row of it, at an offset in the patch. A loaded block of A has each pixel as often as there are kernel
 * positions that read it.
 *
 * A position of a patch is a pixel with all channels of the group; or, where these do not fill stationary
 * blocks, the channels of all pixels of a kernel row, or of several one after the other, for each column of results.
 * The order of k, (row, column, channel), is that of any product. */
#ifndef TEGULA_MAPPER_GEMM_PATCH_H
#define TEGULA_MAPPER_GEMM_PATCH_H

#include "mapper/gemm/tiling.h"

/* Can a product have patches of this kind? */
bool tg_gemm_has_patches(const tg_params *m, const tg_gemm *gemm, tg_patch kind);

/* Rows of a patch: of chunks, how many these are, and how far they, and rows of results, are apart; and rows of the image
 * from one to the next. Positions of several kernel rows are for each row of the image that one of them begins with. */
typedef struct tg_patch_down {
  int64_t taps, tap_step, step, image_rows;
} tg_patch_down;
tg_patch_down tg_patch_down_of(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* k of chunk number `chunk`: the last one may have fewer kernel rows. */
int64_t tg_patch_chunk(const tg_gemm *gemm, const tg_gemm_tiling *t, uint32_t chunk);

/* Rows and positions of a row of a patch; bank rows of a position, of a row, and from one row to the next. */
uint32_t tg_patch_height(const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_width(const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_position(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_length(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_row(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of slabs: rows of the first one, which has all that the first block reads, and of each of the others; bank rows in
 * front of the first one, so that each of the others begins with a bank; and the banks that a GEMM of kernel row
 * number `tap` owns. */
uint32_t tg_patch_first_slab(const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_slab(const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_lead(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint32_t tg_patch_slab_banks(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, uint32_t tap);
/* Of several groups: bank rows of a position from one to the next; and from the first of a position to what the columns from
 * `column` on multiply. */
uint32_t tg_patch_group(const tg_params *m, const tg_gemm *gemm);
uint32_t tg_patch_shift(const tg_params *m, const tg_gemm *gemm, int64_t column);
/* Rows of the image that a tile's blocks step over; and may LOADs of positions have those that follow each other in all passes?
 * `row_tiles`: tiles that have rows of their own. */
int64_t tg_patch_block_rows(const tg_gemm *gemm, const tg_gemm_tiling *t);
int64_t tg_patch_image_blocks(const tg_gemm *gemm, const tg_gemm_tiling *t);
bool tg_patch_walks_groups(const tg_gemm *gemm, const tg_gemm_tiling *t, uint32_t row_tiles);
/* Do a tile's blocks of columns begin and end with groups, or each lie within one, in all passes? `col_tiles`: tiles that have
 * columns of their own. */
bool tg_patch_shares_groups(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t,
                            uint32_t col_tiles);
/* Bank rows from one part of a kernel row to the next, where each is a chunk. */
uint32_t tg_patch_cut(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Banks that a GEMM owns from that of its first row on; and bank rows of a patch, with what it owns behind. */
uint32_t tg_patch_banks(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
uint64_t tg_patch_rows(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t);
/* The walk of a LOAD of patches: rows, and elements of one; of one row of a patch whose positions have several kernel
 * rows: its positions, and elements of one. Of patch number i the first row is number i times tg_patch_walk_rows. `z`:
 * bytes of an element. */
void tg_patch_fill_walk(const tg_params *m, const tg_gemm *gemm, const tg_gemm_tiling *t, int64_t z,
                        tg_agcu_instr *load);
/* Moves it by so many rows and columns of results. */
void tg_patch_move(const tg_gemm *gemm, const tg_gemm_tiling *t, int64_t rows, int64_t columns, int64_t z,
                   tg_agcu_instr *load);
/* LOADs of a patch, or slab, that has a walk for each row: of the first one, which asks, of those that are neither, and of
 * the last one, which tells. */
enum { TG_PATCH_ROW_LOADS = 3 };
/* Elements along k from such a row of a patch to the next. */
int64_t tg_patch_walk_step(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* Of patches of several images, one below the other: rows of results that are counted for each image, so that the last
 * kernel rows of one read padding in front of the next, too. */
uint32_t tg_patch_image_rows(const tg_gemm *gemm);
/* Rows of that walk from one patch to the next. */
int64_t tg_patch_walk_rows(const tg_gemm *gemm, const tg_gemm_tiling *t);
/* May rows of results be counted so that each image has more than there are? They are left out where they are loaded and
 * stored, by walks of images and rows; numbers that random rounding is drawn by are those of the results. */
bool tg_patch_may_count(const tg_gemm *gemm);
/* Patches that the results consist of; of strips, those of one. */
int64_t tg_patch_blocks(const tg_gemm *gemm, const tg_gemm_tiling *t);

/* strips.c: may tiles have strips of the columns of results? And what `stride`, by the digits of g->out_radix, is by
 * (image, row, column) of results; false: they do not go along with these. */
bool tg_patch_may_have_strips(const tg_gemm *gemm);
bool tg_patch_pixel_strides(const tg_gemm *gemm, const int64_t stride[3], int64_t out[3]);
/* The row of results, counted through all images, at which block number `block` of a strip begins: less than that of its
 * image where the first windows of a pool begin above it. */
int64_t tg_patch_first_row(const tg_gemm *gemm, const tg_gemm_tiling *t, int64_t block);
/* Of so many tiles that have rows of their own, those that have blocks of the same strip: all, where there are none. */
static inline uint32_t tg_patch_strip_tiles(const tg_gemm_tiling *t, uint32_t row_tiles) {
  return t->strips > 1 ? row_tiles / t->strips : row_tiles;
}
/* Accumulation that rounds counts rows of results: are a strip's blocks that a tile has one after the other the same number
 * of rows apart? `row_tiles`: tiles that have rows of their own. True of patches without strips, which follow each other. */
bool tg_patch_rounds(const tg_gemm *gemm, const tg_gemm_tiling *t, uint32_t row_tiles);

#endif
