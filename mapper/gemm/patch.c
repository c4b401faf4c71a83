#include "mapper/gemm/patch.h"

#include "frontend/base/math.h"

#include <string.h>

/* Channels that a patch has of a pixel. */
static int64_t pixel_channels(const tg_gemm_image *x) { return x->channels * x->groups; }

/* Pixels of a kernel row lie next to each other. */
static bool is_joined(const tg_gemm_image *x) { return x->channels == x->depth && x->tap_step[1] == 1; }

bool tg_gemm_has_patches(const tg_params *m, const tg_gemm *g, tg_patch kind) {
  const tg_gemm_image *x = &g->image;
  uint32_t stationary = tg_mx_stationary(m, g->format);
  if (!x->images || g->k == 0 || x->tap_step[0] < 1 || x->tap_step[1] < 1 || g->prologue.result ||
      g->column_sums.count)
    return false;
  if (x->groups > 1 || tg_gemm_pads_channels(g)) return kind == TG_PATCH_PIXELS;
  if (kind == TG_PATCH_PIXELS) return x->taps[0] * x->taps[1] > 1 && x->channels % stationary == 0;
  return x->taps[0] > 1 && x->taps[1] > 1 && (is_joined(x) || x->taps[1] * x->channels % stationary == 0);
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

tg_patch_down tg_patch_down_of(const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_gemm_image *x = &g->image;
  int64_t joined = tg_gemm_joined(t), taps = tg_div_up(x->taps[0], joined), apart = joined * x->tap_step[0];
  if (joined == 1) return (tg_patch_down){x->taps[0], x->tap_step[0], x->step[0], 1};
  if (taps == 1) return (tg_patch_down){1, 0, 1, x->step[0]};
  int64_t rows = common_divisor(x->step[0], apart);
  return (tg_patch_down){taps, apart / rows, x->step[0] / rows, rows};
}

int64_t tg_patch_chunk(const tg_gemm *g, const tg_gemm_tiling *t, uint32_t chunk) {
  return tg_min(t->kc, g->k - (int64_t)chunk * t->kc);
}

uint32_t tg_patch_slab(const tg_gemm *g, const tg_gemm_tiling *t) {
  return (uint32_t)(t->patch_rows * tg_patch_down_of(g, t).step);
}

uint32_t tg_patch_first_slab(const tg_gemm *g, const tg_gemm_tiling *t) {
  tg_patch_down down = tg_patch_down_of(g, t);
  return (uint32_t)((t->patch_rows - 1) * down.step + (down.taps - 1) * down.tap_step + 1);
}

uint32_t tg_patch_height(const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_patch_first_slab(g, t) + (tg_gemm_slabs(t) - 1) * tg_patch_slab(g, t);
}

uint32_t tg_patch_width(const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_gemm_image *x = &g->image;
  if (t->patch == TG_PATCH_RUNS) return t->patch_columns;
  return (uint32_t)((t->patch_columns - 1) * x->step[1] + (x->taps[1] - 1) * x->tap_step[1] + 1);
}

/* Elements of a position, in whole stationary blocks. */
static int64_t position_elements(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t stationary = tg_mx_stationary(m, g->format);
  int64_t elements = pixel_channels(&g->image) * (t->patch == TG_PATCH_RUNS ? g->image.taps[1] : 1) *
                     (int64_t)tg_gemm_joined(t);
  return tg_div_up(elements, stationary) * stationary;
}

uint32_t tg_patch_position(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return (uint32_t)(position_elements(m, g, t) / tg_mx_elements(m, g->format));
}

uint32_t tg_patch_length(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_patch_width(g, t) * tg_patch_position(m, g, t);
}

/* Slabs are whole banks: one is read while another one comes. */
uint32_t tg_patch_row(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t length = tg_patch_length(m, g, t);
  if (tg_gemm_slabs(t) == 1) return length;
  uint32_t slab = tg_patch_slab(g, t), unit = tg_bank_rows(m), common = slab & (0 - slab);
  unit = common < unit ? unit / common : 1;
  return (uint32_t)(tg_div_up(length, unit) * unit);
}

uint32_t tg_patch_lead(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint32_t bank = tg_bank_rows(m), beyond = tg_patch_first_slab(g, t) * tg_patch_row(m, g, t) % bank;
  return tg_gemm_slabs(t) > 1 && beyond ? bank - beyond : 0;
}

/* A block reads slabs in front of its own one, too: of one patch after the other, a slab gives way when the last block
 * that reads it is done. */
uint32_t tg_gemm_a_credits(const tg_gemm *g, const tg_gemm_tiling *t) {
  if (tg_gemm_slabs(t) == 1) return tg_gemm_a_blocks(t);
  uint32_t slab = tg_patch_slab(g, t), first = tg_patch_first_slab(g, t),
           shared = first > slab ? (first - 1) / slab : 0;
  return t->passes_m == 1 ? t->slabs : t->slabs > shared ? t->slabs - shared : 0;
}

uint32_t tg_patch_slab_banks(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, uint32_t tap) {
  tg_patch_down down = tg_patch_down_of(g, t);
  uint32_t row = tg_patch_row(m, g, t), first = tg_patch_lead(m, g, t) + tap * (uint32_t)down.tap_step * row,
           rows = (t->patch_rows - 1) * (uint32_t)down.step * row + tg_patch_length(m, g, t);
  return tg_banks_for(m, first % tg_bank_rows(m) + rows);
}

uint32_t tg_patch_group(const tg_params *m, const tg_gemm *g) {
  return (uint32_t)g->image.channels / tg_mx_elements(m, g->format);
}

uint32_t tg_patch_shift(const tg_params *m, const tg_gemm *g, int64_t column) {
  return g->image.groups > 1 ? (uint32_t)(column / (g->n / g->image.groups)) * tg_patch_group(m, g) : 0;
}

/* A GEMM has a loop of groups of 2P columns and one of its halves, and A goes on with each of them, or with none. */
bool tg_patch_shares_groups(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t,
                            uint32_t col_tiles) {
  int64_t each = g->image.groups > 1 ? g->n / g->image.groups : 0, lanes = tg_lanes(m);
  if (!each) return true;
  if (g->n != (int64_t)t->nt * t->passes_n * col_tiles || (tg_gemm_pads(g) && t->passes_n > 1)) return false;
  return each <= lanes || (each % t->nt == 0 && (t->passes_n == 1 || col_tiles * t->nt % each == 0));
}

uint32_t tg_patch_cut(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  int64_t row = g->image.taps[1] * g->image.tap_step[1] * tg_patch_position(m, g, t);
  return (uint32_t)(row / tg_gemm_cuts(t));
}

/* Rows from the first one of a patch to the first that kernel row `tap` reads, of rows of the patch of `row`. */
static uint64_t begin_of(const tg_gemm *g, const tg_gemm_tiling *t, uint64_t row, int64_t tap) {
  return (uint64_t)tap * (uint64_t)tg_patch_down_of(g, t).tap_step * row;
}

uint32_t tg_patch_banks(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  tg_patch_down down = tg_patch_down_of(g, t);
  uint64_t bank = tg_bank_rows(m), most = 0, row = tg_patch_row(m, g, t), part = tg_patch_cut(m, g, t);
  /* what the products of one kernel row reach over, all its parts */
  uint64_t reach = ((uint64_t)(t->patch_rows - 1) * (uint64_t)down.step + 1) * row;
  for (int64_t tap = 0; tap < down.taps; tap++)
    for (uint32_t cut = 0; cut < tg_gemm_cuts(t); cut++)
      for (int64_t column = 0; column < g->n; column += t->nt) {
        uint64_t shift = cut * part + tg_patch_shift(m, g, column),
                 banks = ((begin_of(g, t, row, tap) + shift) % bank + reach - shift + bank - 1) / bank;
        if (most < banks) most = banks;
        if (g->image.groups == 1) break;
      }
  return (uint32_t)most;
}

uint64_t tg_patch_rows(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t) {
  uint64_t bank = tg_bank_rows(m), row = tg_patch_row(m, g, t), rows = tg_patch_height(g, t) * row;
  if (rows > tg_pad_rows(m)) return rows;
  if (tg_gemm_slabs(t) > 1) return tg_patch_lead(m, g, t) + rows;
  uint64_t last = begin_of(g, t, row, tg_patch_down_of(g, t).taps - 1) +
                  (tg_gemm_cuts(t) - 1) * tg_patch_cut(m, g, t) + tg_patch_shift(m, g, g->n - 1),
           owned = (last / bank + tg_patch_banks(m, g, t)) * bank;
  return rows > owned ? rows : owned;
}

/* An image has as many rows as its results step over, at least all that are its own. Those that kernel rows read beyond
 * are the first ones of the next image: they must be padding there, and here, too. */
uint32_t tg_patch_image_rows(const tg_gemm *g) {
  const tg_gemm_image *x = &g->image;
  int64_t reads = (x->pixels[0] - 1) * x->step[0] + (x->taps[0] - 1) * x->tap_step[0] + 1,
          above = x->origin[0] < 0 ? -x->origin[0] : 0, own = x->size[0] - x->origin[0];
  if (own > reads) own = reads;
  return (uint32_t)tg_max(tg_div_up(tg_max(reads - above, own), x->step[0]), x->pixels[0]);
}

int64_t tg_patch_block_rows(const tg_gemm *g, const tg_gemm_tiling *t) {
  return (int64_t)t->patch_rows * tg_gemm_slabs(t) * g->image.step[0];
}

int64_t tg_patch_image_blocks(const tg_gemm *g, const tg_gemm_tiling *t) {
  return tg_div_up(g->image.pixels[0], (int64_t)t->patch_rows * tg_gemm_slabs(t));
}

bool tg_patch_walks_groups(const tg_gemm *g, const tg_gemm_tiling *t, uint32_t row_tiles) {
  bool whole = t->patch_columns == g->image.pixels[1] || (t->strips > 1 && g->image.images == 1);
  return !t->image_rows && whole &&
         (g->image.images == 1 || t->passes_m == 1 || row_tiles % tg_patch_image_blocks(g, t) == 0);
}

int64_t tg_patch_walk_step(const tg_gemm *g, const tg_gemm_tiling *t) {
  if (g->image.groups > 1 || tg_gemm_pads_channels(g)) return g->image.own;
  return g->image.channels * g->image.taps[1] * tg_gemm_joined(t);
}

int64_t tg_patch_walk_rows(const tg_gemm *g, const tg_gemm_tiling *t) {
  if (tg_gemm_loads_positions(t)) return tg_patch_width(g, t) * g->image.groups;
  uint32_t images = tg_gemm_patch_images(t);
  return images > 1 ? (int64_t)images * t->image_rows * g->image.step[0] : tg_patch_height(g, t);
}

bool tg_patch_may_count(const tg_gemm *g) {
  const tg_gemm_image *x = &g->image;
  int64_t each = x->pixels[0] * x->pixels[1];
  bool walks = g->out_radix[2] == g->m ||
               (g->out_radix[2] == each && g->out_radix[1] == x->images && g->out_radix[0] == 1);
  return x->images > 1 && walks && !g->k_tile && !tg_gemm_rounds_results(g);
}

int64_t tg_patch_blocks(const tg_gemm *g, const tg_gemm_tiling *t) {
  const tg_gemm_image *x = &g->image;
  if (tg_gemm_patch_images(t) > 1) return tg_div_up(x->images, tg_gemm_patch_images(t));
  if (t->pool_rows) return x->images * tg_div_up(g->pool.windows[0], t->pool_rows);
  return x->images * tg_div_up(x->pixels[0], (int64_t)t->patch_rows * tg_gemm_slabs(t)) *
         (t->strips > 1 ? 1 : tg_div_up(x->pixels[1], t->patch_columns));
}

/* Digits of the row walk: blocks, the last of which are the rows of a patch. Coordinates x count elements if
 * pixels are joined. */
static void fill_rows(const tg_gemm *g, const tg_gemm_tiling *t, int64_t unit, int64_t z,
                      tg_agcu_instr *load) {
  const tg_gemm_image *x = &g->image;
  bool pools =
      t->pool_rows >
      0; /* whose blocks have parts of rows by where they begin, and may be higher than they are apart */
  int64_t results = pools ? t->pool_rows * g->pool.step[0] : (int64_t)t->patch_rows * tg_gemm_slabs(t),
          row = x->size[1] * x->depth, down = results * x->step[0], along = t->patch_columns * x->step[1];
  load->rows = tg_patch_height(g, t);
  load->m_radix[2] = tg_patch_walk_rows(g, t) / tg_gemm_patch_images(t);
  load->stride[2] = row * z;
  load->y_inc[2] = 1;
  if (t->patch_columns < x->pixels[1] && !tg_gemm_counts_strips(t)) { /* parts of a row of an only image */
    load->m_radix[0] = x->pixels[0];
    load->m_radix[1] = x->pixels[1] / t->patch_columns;
    load->stride[0] = down * row * z;
    load->stride[1] = along * x->depth * z;
    load->y_inc[0] = down;
    load->x_inc[1] = along * unit;
  } else {
    load->m_radix[0] = x->images;
    load->m_radix[1] = pools                         ? tg_div_up(g->pool.windows[0], t->pool_rows)
                       : tg_gemm_patch_images(t) > 1 ? 1
                                                     : tg_div_up(x->pixels[0], results);
    load->stride[0] = x->size[0] * row * z;
    load->stride[1] = down * row * z;
    load->y_inc[1] = down;
  }
  load->y_org = x->origin[0];
  load->x_org = x->origin[1] * unit;
  load->y_size = x->size[0];
  load->x_size = x->size[1] * unit;
}

/* Do x coordinates count elements, since channels of pixels side by side follow each other? */
static bool counts_elements(const tg_gemm *g, const tg_gemm_tiling *t) {
  bool whole = !tg_gemm_pads_channels(g) && pixel_channels(&g->image) == g->image.depth;
  return t->patch == TG_PATCH_PIXELS ? whole : is_joined(&g->image);
}

void tg_patch_move(const tg_gemm *g, const tg_gemm_tiling *t, int64_t rows, int64_t columns, int64_t z,
                   tg_agcu_instr *load) {
  const tg_gemm_image *x = &g->image;
  int64_t down = rows * x->step[0], along = columns * x->step[1];
  load->y_org += down;
  load->x_org += along * (counts_elements(g, t) ? pixel_channels(x) : 1);
  load->offset += (down * x->size[1] + along) * x->depth * z;
}

/* Rows of the walk are the positions of one row of a patch, k is kernel rows behind each other, and its outermost digit
 * counts rows of the patch. */
static void fill_positions(const tg_gemm *g, const tg_gemm_tiling *t, int64_t z, tg_agcu_instr *load) {
  const tg_gemm_image *x = &g->image;
  int64_t row = x->size[1] * x->depth * z, run = x->taps[1] * x->channels,
          image_rows = tg_patch_down_of(g, t).image_rows;
  load->rows = load->m_radix[2] = tg_patch_width(g, t);
  load->stride[2] = x->step[1] * x->depth * z;
  load->y_inc[2] = 0;
  load->x_inc[2] = x->step[1] * x->channels;
  load->take = tg_patch_walk_step(g, t);
  load->k_radix[0] = tg_patch_height(g, t);
  load->stride[3] = image_rows * row;
  load->y_inc[3] = image_rows;
  load->k_radix[1] = t->joined;
  load->stride[4] = x->tap_step[0] * row;
  load->y_inc[4] = x->tap_step[0];
  load->k_radix[2] = run;
  load->stride[5] = z;
  load->x_inc[5] = 1;
}

/* Rows of the walk are the groups of the positions of one row of a patch, one image after the other, k is rows of the image. */
static void fill_positions_of_groups(const tg_gemm *g, const tg_gemm_tiling *t, int64_t z,
                                     tg_agcu_instr *load) {
  const tg_gemm_image *x = &g->image;
  int64_t row = x->size[1] * x->depth * z;
  memset(load->y_inc, 0, sizeof load->y_inc);
  memset(load->x_inc, 0, sizeof load->x_inc);
  load->rows = tg_patch_walk_rows(g, t);
  load->take = x->own;
  load->m_radix[0] = x->images;
  load->stride[0] = x->size[0] * row;
  load->m_radix[1] = tg_patch_width(g, t);
  load->stride[1] = x->depth * z;
  load->x_inc[1] = 1;
  load->m_radix[2] = x->groups;
  load->stride[2] = x->own * z;
  load->k_radix[0] = tg_patch_image_blocks(g, t) * tg_patch_block_rows(g, t) + tg_patch_height(g, t);
  load->stride[3] = row;
  load->y_inc[3] = 1;
  load->k_radix[1] = 1;
  load->k_radix[2] = x->own;
  load->stride[5] = z;
}

static void set_digit(tg_agcu_instr *load, int digit, int64_t radix, int64_t stride, int64_t x_inc) {
  load->k_radix[digit] = radix;
  load->stride[3 + digit] = stride;
  load->x_inc[3 + digit] = x_inc;
}

void tg_patch_fill_walk(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, int64_t z,
                        tg_agcu_instr *load) {
  const tg_gemm_image *x = &g->image;
  int64_t width = tg_patch_width(g, t), elements = position_elements(m, g, t), pixel = x->depth * z;
  bool pixels = t->patch == TG_PATCH_PIXELS, joined = counts_elements(g, t);
  fill_rows(g, t, joined ? pixel_channels(x) : 1, z, load);
  if (tg_gemm_loads_positions(t)) {
    (x->groups > 1 || tg_gemm_pads_channels(g) ? fill_positions_of_groups : fill_positions)(g, t, z, load);
    return;
  }
  load->take = width * elements;
  set_digit(load, 0, 1, 0, 0);
  if (pixels && joined) { /* a row of the image is one run */
    set_digit(load, 1, 1, 0, 0);
    set_digit(load, 2, width * elements, z, 1);
  } else if (pixels) {
    set_digit(load, 1, width, pixel, 1);
    set_digit(load, 2, elements, z, 0);
  } else if (joined) { /* what lies behind the kernel row is masked, whatever it is */
    set_digit(load, 1, width, x->step[1] * pixel, x->step[1] * x->channels);
    set_digit(load, 2, elements, z, 1);
  } else {
    set_digit(load, 0, width, x->step[1] * pixel, x->step[1]);
    set_digit(load, 1, x->taps[1], x->tap_step[1] * pixel, x->tap_step[1]);
    set_digit(load, 2, x->channels, z, 0);
  }
}
