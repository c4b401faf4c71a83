/* An image that tiles make by themselves: the result of a convolution of one position, that windows go over. A tile loads
 * the pixels that its block of the image is made of, with all their channels; mx multiplies them, some rows of the image at a
 * time, and a VOP for each of these puts what becomes of the sums where a load would have put the image. So it
 * visits no memory. Rows that blocks have in common are multiplied for each of them.
 *
 * Tiles of a row of the array have the same pixels, which come from the west for all of them, or those of several blocks
 * side by side (`abreast`); those of a tile alone come from either side, in a checkerboard. Tiles of a column have the
 * same channels, unless rows of tiles have the same pixels as well (`alike`): then each of these has channels of its own.
 * Rounds of rows are the inner loop, rounds of channels the outer one; what the inner loop does not change stays.
 *
 * What lies outside of the image is 0. Columns beside it are so from the beginning, as are rows above and below it where a
 * block has all of an image; else each row has a mark (section/marks.h) that says so. */
#ifndef TEGULA_MAPPER_VECTOR_LINE_PRODUCT_H
#define TEGULA_MAPPER_VECTOR_LINE_PRODUCT_H

#include "mapper/section/checkerboard.h"
#include "mapper/vector/line_passes.h"

typedef struct tg_line_product {
  const tg_kernel *kernel;                       /* that it would be alone */
  const tg_dram_tensor *pixels, *filters, *bias; /* bias: or NULL */
  int format, pixels_convert, filters_convert, bias_kind;
  int64_t depth;                /* channels of a pixel */
  int64_t k_tile;               /* of them between the places at which sums are rounded; 0: they are not */
  int64_t stride[TG_LINE_DIMS]; /* elements from image to image, row to row, pixel to pixel */
} tg_line_product;

/* Describes the product of kernel->product, whose places may be open. False: it is none that windows can have in front. */
bool tg_line_set_product(const tg_compile *c, const tg_kernel *kernel, tg_line_product *out);

/* Which rows of images, counted through all of them in blocks, and which channels tile (r, col) has in the first rounds; and
 * how many rounds there are. */
uint32_t tg_line_row_block(const tg_params *m, const tg_line_tiling *t, uint32_t r, uint32_t col);
uint32_t tg_line_channel_block(const tg_params *m, const tg_line_tiling *t, uint32_t r, uint32_t col);
/* Do the pixels of a tile come from the north? */
static inline bool tg_line_from_north(const tg_params *m, const tg_line_tiling *t, uint32_t r, uint32_t col) {
  return t->abreast == m->cols && !tg_checkerboard_west(r, col);
}
uint32_t tg_line_row_rounds(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
uint32_t tg_line_channel_rounds(const tg_params *m, const tg_line_tiling *t);

/* The first row of block number `block`, of images of so many rows, whose blocks are `apart` rows apart, counted through
 * all of them; and rows from a tile's block to that of the next round of rows. */
int64_t tg_line_first_row(const tg_line_tiling *t, int64_t block, int64_t rows, int64_t apart);
int64_t tg_line_rows_apart(const tg_params *m, const tg_line_tiling *t, int64_t rows, int64_t apart);
/* Of a kernel that rounds: does each round move every tile by the same number of pixels of the image, and of results? */
bool tg_line_places_fit(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);

/* Rows and columns of a block of the image that are made, all others being outside; in positions of the block. */
typedef struct tg_line_made {
  uint32_t row, rows, column, columns;
} tg_line_made;
tg_line_made tg_line_made_of(const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Have rows of a block marks? */
bool tg_line_has_marks(const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Bank rows of a pixel, and of a row of filters; and of all of a block's. */
uint32_t tg_line_pixel(const tg_params *m, const tg_line_product *product);
uint32_t tg_line_filter(const tg_params *m, const tg_line_product *product, const tg_line_tiling *t);
uint64_t tg_line_pixels(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
uint64_t tg_line_filters(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Its bias lies behind the weights and the bias of the windows: the first row. */
uint32_t tg_line_product_bias_row(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);
/* Elements of a pixel that are loaded: whole stationary blocks, of which what lies behind its channels is masked. */
int64_t tg_line_pixel_taken(const tg_params *m, const tg_line_product *product);

/* Do the pixels of a row of the image follow each other, in whole bank rows each? Then they are one run. */
bool tg_line_pixel_runs(const tg_params *m, const tg_line_product *product);

/* Positions of a block of the image that are outside in all blocks, as rows of such. Returns how many there are. */
enum { TG_LINE_MOST_EDGES = 2 };
typedef struct tg_line_edge {
  uint32_t first, rows, columns, apart; /* positions: the first one, of a row, and from row to row */
} tg_line_edge;
int tg_line_edges(const tg_line_kernel *kernel, const tg_line_tiling *t,
                  tg_line_edge out[TG_LINE_MOST_EDGES]);

/* Rows of the image of made tile number `tile`, which mx multiplies at once; t->made_tiles of them are a block. */
uint32_t tg_line_made_tile_rows(const tg_line_kernel *kernel, const tg_line_tiling *t, uint32_t tile);
/* Words of the microcode that finishes so many columns at a time, in front of them and for them, with marks and without;
 * for them 0: it cannot. */
enum { TG_LINE_MADE_AT_ONCE = 5, TG_LINE_MADE_SEGMENTS = 2 };
typedef struct tg_line_made_words {
  int of[2][TG_LINE_MADE_AT_ONCE + 1][TG_LINE_MADE_SEGMENTS];
} tg_line_made_words;
tg_line_made_words tg_line_measure_product(tg_compile *c, const tg_line_kernel *kernel);
/* Sets all that `made_` stands before, but for rows and tiles whatever takes the VOPs least. False: blocks of this tiling
 * cannot be made so. */
bool tg_line_choose_product(const tg_params *m, const tg_line_kernel *kernel, const tg_line_made_words *words,
                            tg_line_tiling *t);

/* Streams of the VOP: sums, the bias, marks, and positions of the image. */
static inline int tg_line_made_bias(uint32_t at_once) { return (int)at_once; }
static inline int tg_line_made_marks(uint32_t at_once) { return (int)at_once + 1; }
static inline int tg_line_made_result(uint32_t at_once, uint32_t u) { return (int)(at_once + 2 + u); }

/* Writes the segments of this VOP, the second of which is repeated; it overflows if there is none. And one that stores a 0. */
void tg_line_write_product(tg_compile *c, const tg_line_kernel *kernel, uint32_t at_once, bool marks,
                           tg_mc *mc);
void tg_line_write_zero(const tg_line_kernel *kernel, tg_mc *mc);

/* Cycles of mx for a block. */
double tg_line_multiply_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t);

/* ---- line_product_stages.c ---- */

/* Sets the channels of the product, and those that it changes. */
void tg_line_plan_product(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                          tg_channel_plan plans[TG_LINE_CHANNELS]);
/* The stages of a section with one. */
void tg_line_list_product(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                          const int *words, tg_stages *out);
/* Estimate of the section, without its configuration. */
double tg_line_product_cycles(const tg_params *m, const tg_line_kernel *kernel, const tg_line_tiling *t,
                              const tg_stages *stages);

#endif
