/* Tilings of convolutions from resident patches: blocks of whole rows of results, or parts of a row. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/tiling_search.h"

enum { MOST_SLABS = 64, MOST_PARTS = 4 };

/* The same block with a chunk for each position of the window, or several: where channels are many a block of B as deep
 * as a kernel row leaves no room for a patch. Each kernel row's instruction finds its first chunk in buffers by turns,
 * with its parts: of two in every pass, of three always in the first one. */
static void consider_positions(tg_tiling_search *s, tg_gemm_tiling t) {
  const tg_gemm_image *x = &s->g->image;
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  if (t.patch != TG_PATCH_PIXELS) return;
  /* else parts are not as far apart as positions */
  uint32_t most = x->tap_step[1] == 1 && x->groups == 1 ? MOST_PARTS : 1;
  for (uint32_t parts = 1; parts <= most && x->channels % (parts * stationary) == 0; parts *= 2) {
    t.cuts = (uint32_t)x->taps[1] * parts;
    t.chunks = (uint32_t)x->taps[0] * t.cuts;
    t.kc = (uint32_t)x->channels / parts;
    t.prefetch = false;
    if (tg_search_is_slower(s, &t)) continue;
    if (t.cuts > 1 && (t.cuts % 2 == 0 || x->taps[0] % 2 || t.passes_m * t.passes_n == 1))
      tg_search_consider(s, t, TG_RESIDENT_NONE);
    t.prefetch = true;
    if (t.cuts % 3 == 0) tg_search_consider(s, t, TG_RESIDENT_NONE);
  }
}

/* A chunk is a kernel row, or those that a position has. */
static void set_chunks(const tg_gemm *g, tg_gemm_tiling *t) {
  const tg_gemm_image *x = &g->image;
  t->chunks = (uint32_t)tg_div_up(x->taps[0], tg_gemm_joined(t));
  t->kc = (uint32_t)(tg_gemm_joined(t) * x->taps[1] * x->channels);
}

/* Stationary blocks of all of K. */
static int64_t blocks_of(const tg_tiling_search *s, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  return (t->chunks - 1) * tg_div_up(t->kc, stationary) +
         tg_div_up(tg_patch_chunk(s->g, t, t->chunks - 1), stationary);
}

/* Are tiles of which each has rows of its own told once that all of B is there? */
static bool shares_b(const tg_gemm_tiling *t) {
  return (t->split == TG_SPLIT_ROWS || (t->split == TG_SPLIT_OUTPUT && t->alike == 1)) && t->passes_n == 1;
}

/* The same tiling position by position, or with more kernel rows in each, as few as leave fewer stationary blocks, which the
 * last ones of chains fill; false: there is none. */
static bool join_more(const tg_tiling_search *s, tg_gemm_tiling *t) {
  const tg_gemm_image *x = &s->g->image;
  uint32_t stationary = tg_mx_stationary(s->m, s->g->format);
  bool runs = t->patch == TG_PATCH_RUNS && x->channels == x->depth && x->tap_step[1] == 1,
       masked = x->taps[1] * x->channels % stationary != 0;
  if (!runs || !masked || s->g->b_transposed || !shares_b(t) || tg_gemm_patch_images(t) > 1) return false;
  int64_t blocks = blocks_of(s, t);
  for (t->joined++; t->joined <= x->taps[0]; t->joined++) {
    set_chunks(s->g, t);
    if (t->joined == 1 || blocks_of(s, t) < blocks) return true;
  }
  return false;
}

/* Groups that are filled up come position by position; strips leave results no coordinate for what fills them, and a digit for
 * groups where there is one image; pairs of tiles have no B of both. False: it cannot be so. */
static bool take_filled_groups(const tg_tiling_search *s, tg_gemm_tiling *t, uint32_t row_tiles) {
  if (!tg_gemm_pads(s->g)) return true;
  bool strips = s->g->image.images == 1 && (!s->g->run_own || tg_gemm_walks_groups(s->m, s->g, t));
  if ((t->strips > 1 && !strips) || t->split == TG_SPLIT_COLUMNS) return false;
  if (!tg_gemm_pads_channels(s->g)) return true;
  t->joined = 1;
  t->whole_b = true;
  return shares_b(t) && tg_patch_walks_groups(s->g, t, row_tiles);
}

static void consider_joined(tg_tiling_search *s, tg_gemm_tiling t) {
  t.whole_b = true;
  while (join_more(s, &t))
    if (!tg_search_is_slower(s, &t)) tg_search_consider(s, t, TG_RESIDENT_NONE);
}

/* Passes over rows, of the tiles that have blocks of the same strip. */
static uint32_t passes_of(const tg_tiling_search *s, const tg_gemm_tiling *t, uint32_t row_tiles) {
  return (uint32_t)tg_div_up(tg_patch_blocks(s->g, t), tg_patch_strip_tiles(t, row_tiles));
}

/* Blocks of so many rows and columns of results. */
static void consider_block(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                           tg_search_chunk *consider) {
  uint32_t rows = tg_search_rows_out(s, t.nt);
  t.mt = t.patch_rows * t.patch_columns;
  for (t.mr = rows < t.mt ? rows : t.mt; t.mr > 0 && t.mt % t.mr; t.mr--) {
  }
  if (!t.mr) return;
  t.passes_m = passes_of(s, &t, row_tiles);
  if (!tg_patch_rounds(s->g, &t, row_tiles)) return;
  set_chunks(s->g, &t);
  if (tg_gemm_pads(s->g)) {
    if (take_filled_groups(s, &t, row_tiles)) consider(s, t);
    return;
  }
  if (t.strips > 1 && tg_search_is_slower(s, &t)) return;
  consider(s, t);
  consider_joined(s, t);
  consider_positions(s, t);
}

/* Rows of results of an image, in blocks of so many, where that is more than there are: those of the next image follow. */
static uint32_t counted_rows(const tg_gemm_image *x, uint32_t block) {
  return x->images > 1 && x->pixels[0] % block ? (uint32_t)tg_div_up(x->pixels[0], block) * block : 0;
}

/* The same blocks, several of which have a patch that comes in slabs, as few as the passes take. */
static void consider_numbers_of_slabs(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles) {
  const tg_gemm_image *x = &s->g->image;
  uint32_t blocks = (uint32_t)tg_div_up(x->pixels[0], t.patch_rows), last = 0;
  bool counts = tg_patch_may_count(s->g);
  for (t.slabs = 2; t.mr && t.slabs <= blocks && t.slabs <= MOST_SLABS; t.slabs++) {
    t.image_rows = t.strips > 1 ? 0 : counted_rows(x, t.patch_rows * t.slabs);
    if (t.image_rows && !counts) continue;
    if (tg_patch_rows(s->m, s->g, &t) > tg_pad_rows(s->m)) return;
    t.passes_m = passes_of(s, &t, row_tiles);
    if (!tg_gemm_a_credits(s->g, &t) || !take_filled_groups(s, &t, row_tiles)) continue;
    if (!tg_patch_rounds(s->g, &t, row_tiles)) continue;
    if (t.passes_m == last || tg_search_is_slower(s, &t)) continue;
    last = t.passes_m;
    tg_search_consider(s, t, TG_RESIDENT_NONE);
  }
}

static void consider_slabs(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles) {
  const tg_gemm_image *x = &s->g->image;
  uint32_t rows = tg_search_rows_out(s, t.nt);
  bool masked = x->taps[1] * x->channels % tg_mx_stationary(s->m, s->g->format) != 0;
  bool whole = x->groups == 1 || t.nt == s->g->n;
  if (!shares_b(&t) || !whole || (s->g->b_transposed && masked)) return;
  t.mt = t.patch_rows * t.patch_columns;
  for (t.mr = rows < t.mt ? rows : t.mt; t.mr > 0 && t.mt % t.mr; t.mr--) {
  }
  set_chunks(s->g, &t);
  t.whole_b = true;
  t.joined = tg_gemm_pads_channels(s->g);
  do consider_numbers_of_slabs(s, t, row_tiles);
  while (join_more(s, &t));
}

/* Blocks of several images, as many as the passes take. */
static void consider_images(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                            tg_search_chunk *consider) {
  const tg_gemm_image *x = &s->g->image;
  uint64_t most = tg_acc_rows(s->m) / (t.nt / tg_lanes(s->m)), room = tg_pad_rows(s->m);
  uint32_t each = tg_patch_image_rows(s->g), last = 0;
  t.patch_columns = (uint32_t)x->pixels[1];
  for (int64_t images = 2; images <= tg_div_up(x->images, row_tiles); images++) {
    uint32_t passes = (uint32_t)tg_div_up(tg_div_up(x->images, images), row_tiles);
    t.image_rows = each;
    t.patch_rows = (uint32_t)images * each;
    if ((uint64_t)t.patch_rows * t.patch_columns > most || tg_patch_rows(s->m, s->g, &t) > room) return;
    if (passes != last) consider_block(s, t, row_tiles, consider);
    last = passes;
  }
}

/* Drain tiles of whole rows of windows, or parts of one, as large as they may be; 0: none is small enough. */
static uint32_t drain_tile_of_windows(const tg_gemm_tiling *t, uint32_t most) {
  uint32_t drain_tile;
  for (uint32_t rows = t->pool_rows; rows > 0; rows--)
    if (t->pool_rows % rows == 0 && (drain_tile = rows * t->pool_columns) <= most) return drain_tile;
  for (drain_tile = t->pool_columns; drain_tile > 0 && (drain_tile > most || t->pool_columns % drain_tile);
       drain_tile--) {
  }
  return drain_tile;
}

/* Blocks of the rows that so many rows of a pool's windows take: blocks share rows where windows do. */
static void consider_strip(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                           tg_search_chunk *consider) {
  const tg_gemm_pool *pool = &s->g->pool;
  uint64_t most = tg_acc_rows(s->m) / (t.nt / tg_lanes(s->m)), room = tg_pad_rows(s->m);
  t.patch_columns = tg_gemm_pool_width(s->g, t.pool_columns);
  for (t.pool_rows = 1; t.pool_rows <= pool->windows[0]; t.pool_rows++) {
    t.patch_rows =
        (uint32_t)((t.pool_rows - 1) * pool->step[0] + (pool->taps[0] - 1) * pool->tap_step[0] + 1);
    t.mt = t.patch_rows * t.patch_columns;
    if ((uint64_t)t.patch_rows * t.patch_columns > most || tg_patch_rows(s->m, s->g, &t) > room) return;
    t.mr = drain_tile_of_windows(&t, tg_search_rows_out(s, t.nt));
    if (!t.mr) return;
    t.passes_m = passes_of(s, &t, row_tiles);
    set_chunks(s->g, &t);
    if (!tg_patch_rounds(s->g, &t, row_tiles)) continue;
    consider(s, t);
    consider_joined(s, t);
  }
}

/* Strips of columns, as many as tiles share out evenly. */
static void consider_windows(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                             tg_search_chunk *consider) {
  int64_t columns = s->g->pool.windows[1], last = 0;
  for (t.strips = 1; t.passes_n == 1 && t.strips <= row_tiles && t.strips <= columns; t.strips++) {
    t.pool_columns = (uint32_t)tg_div_up(columns, t.strips);
    if (row_tiles % t.strips || t.pool_columns == last || tg_div_up(columns, t.pool_columns) < t.strips)
      continue;
    last = t.pool_columns;
    consider_strip(s, t, row_tiles, consider);
  }
}

/* Strips of the columns of results, as many as tiles share out evenly; of blocks that take as many passes, the smallest. */
static void consider_strips(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                            tg_search_chunk *consider) {
  const tg_gemm_image *x = &s->g->image;
  uint64_t most = tg_acc_rows(s->m) / (t.nt / tg_lanes(s->m)), room = tg_pad_rows(s->m);
  for (t.strips = 2; t.strips <= row_tiles && t.strips <= x->pixels[1]; t.strips++) {
    uint32_t last = 0;
    t.patch_columns = (uint32_t)tg_div_up(x->pixels[1], t.strips);
    if (row_tiles % t.strips || tg_div_up(x->pixels[1], t.patch_columns) < t.strips) continue;
    for (t.patch_rows = 1; t.patch_rows <= x->pixels[0]; t.patch_rows++) {
      uint32_t passes = passes_of(s, &t, row_tiles);
      if (passes == last) continue;
      last = passes;
      if ((uint64_t)t.patch_rows * t.patch_columns > most || tg_patch_rows(s->m, s->g, &t) > room) break;
      consider_block(s, t, row_tiles, consider);
      consider_slabs(s, t, row_tiles);
    }
  }
}

static void consider_kind(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles,
                          tg_search_chunk *consider) {
  const tg_gemm_image *x = &s->g->image;
  uint64_t most = tg_acc_rows(s->m) / (t.nt / tg_lanes(s->m)), room = tg_pad_rows(s->m);
  bool counts = tg_patch_may_count(s->g);
  for (t.patch_rows = 1; t.patch_rows <= x->pixels[0]; t.patch_rows++) {
    t.patch_columns = (uint32_t)x->pixels[1];
    if ((uint64_t)t.patch_rows * t.patch_columns > most || tg_patch_rows(s->m, s->g, &t) > room) break;
    /* rows of results follow each other, or are counted so that blocks end with their image */
    t.image_rows = counted_rows(x, t.patch_rows);
    if (!t.image_rows || counts) consider_block(s, t, row_tiles, consider);
    t.image_rows = 0;
    consider_slabs(s, t, row_tiles);
  }
  if (counts) consider_images(s, t, row_tiles, consider);
  if (tg_patch_may_have_strips(s->g)) consider_strips(s, t, row_tiles, consider);
  t.patch_rows = 1;
  for (int64_t parts = 2; parts <= x->pixels[1] && x->images == 1; parts *= 2) {
    if (x->pixels[1] % parts) return;
    t.patch_columns = (uint32_t)(x->pixels[1] / parts);
    if (t.patch_columns <= most) consider_block(s, t, row_tiles, consider);
  }
}

void tg_search_patches(tg_tiling_search *s, tg_gemm_tiling t, uint32_t row_tiles, tg_search_chunk *consider) {
  const tg_gemm_image *x = &s->g->image;
  bool plain = t.members * t.parts == 1 && !s->g->spread && s->g->partials == 1;
  if (!plain || x->pixels[1] > TG_SEARCH_ROWS) return;
  if (!tg_patch_shares_groups(s->m, s->g, &t, tg_tiles(s->m) / row_tiles)) return;
  for (t.patch = TG_PATCH_PIXELS; t.patch <= TG_PATCH_RUNS; t.patch++)
    if (tg_gemm_has_patches(s->m, s->g, t.patch))
      (s->g->pool.kernel ? consider_windows : consider_kind)(s, t, row_tiles, consider);
}
