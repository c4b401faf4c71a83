/* Which rows, columns and k of a product the tiles of its section have, and by whom their channels are filled. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/patch.h"

typedef tg_gemm_emission emission;

/* Pairs lie along the row and down the column in a checkerboard of squares of two by two tiles. */
static bool pair_from_west(uint32_t r, uint32_t col) { return (r / 2 + col / 2) % 2 == 0; }

/* Of all tiles: mates follow each other. Tiles with a product, or columns, of their own are counted diagonal by diagonal,
 * each of which has a tile of every row: where there is not work for all, all ports have their share of it. */
static uint32_t tile_index(const emission *e, uint32_t r, uint32_t col) {
  if (!e->t.paired)
    return e->t.split == TG_SPLIT_ROWS ? r * e->b.m->cols + col : (r + col) % e->b.m->cols * e->b.m->rows + r;
  uint32_t square = r / 2 * (e->b.m->cols / 2) + col / 2;
  return 4 * square + (pair_from_west(r, col) ? 2 * (r % 2) + col % 2 : 2 * (col % 2) + r % 2);
}
uint32_t tg_gemm_mate(const emission *e, uint32_t r, uint32_t col) {
  return e->t.paired ? tile_index(e, r, col) % 2 : 0;
}

uint32_t tg_gemm_row_index(const emission *e, uint32_t r, uint32_t col) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return r / (e->t.members * e->t.alike);
  case TG_SPLIT_COLUMNS: return 0;
  case TG_SPLIT_PRODUCT_ROWS: return r / e->t.alike;
  default: return tile_index(e, r, col) / e->t.alike;
  }
}
int64_t tg_gemm_row_tiles(const emission *e) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return e->b.m->rows / (e->t.members * e->t.alike);
  case TG_SPLIT_COLUMNS: return 1;
  case TG_SPLIT_PRODUCT_ROWS: return e->b.m->rows / e->t.alike;
  default: return tg_tiles(e->b.m) / e->t.alike;
  }
}
static uint32_t col_index(const emission *e, uint32_t r, uint32_t col) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT: return col * e->t.alike + r % e->t.alike;
  case TG_SPLIT_COLUMNS: return tile_index(e, r, col);
  case TG_SPLIT_PRODUCT_ROWS: /* as the tiles of an array of so many rows */
    return (r % e->t.alike + col) % e->b.m->cols * e->t.alike + r % e->t.alike;
  default: return col % e->t.alike;
  }
}
static int64_t col_tiles(const emission *e) {
  switch (e->t.split) {
  case TG_SPLIT_OUTPUT:
  case TG_SPLIT_PRODUCT_ROWS: return (int64_t)e->b.m->cols * e->t.alike;
  case TG_SPLIT_COLUMNS: return tg_tiles(e->b.m);
  default: return e->t.alike;
  }
}
bool tg_gemm_is_idle(const emission *e, uint32_t r, uint32_t col) {
  if (e->g->spread && e->t.passes_m == 1 && tg_gemm_row_index(e, r, col) >= e->g->spread) return true;
  return tg_gemm_has_own_columns(&e->t) && !e->t.paired && e->t.passes_n == 1 &&
         tg_gemm_col_first(e, r, col) >= e->g->n;
}
static bool own_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->t.paired ? pair_from_west(r, col) : !tg_egress_is_west(r, col);
}
bool tg_gemm_a_from_north(const emission *e, uint32_t r, uint32_t col) {
  return e->t.split == TG_SPLIT_ROWS && e->t.alike == 1 && !own_from_west(e, r, col);
}
bool tg_gemm_b_from_west(const emission *e, uint32_t r, uint32_t col) {
  return tg_gemm_has_own_columns(&e->t) && own_from_west(e, r, col);
}
bool tg_epilogue_operands_west(const emission *e, uint32_t r, uint32_t col) {
  return e->t.epilogue_operands_west || tg_egress_is_west(r, col);
}
bool tg_gemm_prologue_from_west(const emission *e, uint32_t r, uint32_t col) {
  return tg_leaves_west(e->t.prologue_inputs, r, col);
}
static uint32_t strips(const emission *e) { return e->t.strips > 1 ? e->t.strips : 1; }
int64_t tg_gemm_first_column(const emission *e, uint32_t r, uint32_t col) {
  uint32_t columns = e->t.pool_rows ? e->t.pool_columns : e->t.patch_columns;
  return (int64_t)(tg_gemm_row_index(e, r, col) % strips(e)) * columns;
}
int64_t tg_gemm_rows_a_pass(const emission *e) {
  return tg_gemm_block_results(&e->t) * tg_gemm_slabs(&e->t) * tg_gemm_row_tiles(e) / strips(e);
}
int64_t tg_gemm_cols_a_pass(const emission *e) { return tg_gemm_own_columns(&e->t) * col_tiles(e); }
int64_t tg_gemm_row_first(const emission *e, uint32_t r, uint32_t col) {
  return (int64_t)(tg_gemm_row_index(e, r, col) / strips(e)) * tg_gemm_block_results(&e->t) *
         tg_gemm_slabs(&e->t);
}
int64_t tg_gemm_col_first(const emission *e, uint32_t r, uint32_t col) {
  return (int64_t)col_index(e, r, col) * tg_gemm_own_columns(&e->t) + e->strip * tg_gemm_cols_a_pass(e);
}
int64_t tg_gemm_col_delta(const emission *e) {
  bool other = tg_gemm_strips_columns(&e->t) || tg_gemm_slabs(&e->t) > 1 ||
               e->t.pool_rows; /* parts, slabs, or rows of windows take the level */
  return other ? 0 : tg_gemm_cols_a_pass(e);
}

uint32_t tg_gemm_used_rows(const emission *e) { return e->b.m->rows / e->t.members * e->t.members; }

int64_t tg_gemm_k_first(const emission *e, uint32_t r) { return r % e->t.members * e->g->part; }

int tg_gemm_part_level(const emission *e) { return e->nested ? 1 : 2; }

void tg_gemm_set_k_delta(const emission *e, int64_t delta[3]) {
  if (!e->t.resident) delta[2] = e->t.kc;
  if (e->t.parts > 1) delta[tg_gemm_part_level(e)] = e->t.members * e->g->part;
}

void tg_gemm_set_chunk(const emission *e, tg_row_operand *operand, const tg_buffer *buffer, uint32_t chunk) {
  bool even = e->unrolled > 1 && e->t.chunks % 2 == 0;
  tg_set_rotating(operand, buffer, chunk % 2, even ? TG_ROTATE_NEVER : TG_ROTATE_EACH);
}

/* Rows of a block in front of those that a tile finishes. */
static int64_t first_drain_tile(const emission *e, uint32_t r) {
  return e->t.ring ? (int64_t)(r % e->t.members) * (e->t.mt / e->t.members) : 0;
}

tg_gemm_place tg_gemm_place_of(const emission *e, uint32_t r, uint32_t col) {
  tg_gemm_place place = {.row = tg_gemm_row_first(e, r, col) + first_drain_tile(e, r),
                         .column = tg_gemm_col_first(e, r, col),
                         .row_delta = {0, 0, e->t.mr}};
  place.row_delta[e->m_level] = tg_gemm_rows_a_pass(e);
  place.column_delta[e->n_level] = tg_gemm_col_delta(e);
  if (tg_gemm_slabs(&e->t) > 1) place.row_delta[e->n_level] = e->t.mt;
  if (e->t.pool_rows) place.row_delta[1] = e->t.mr * tg_gemm_pool_parts(&e->t);
  return place;
}

/* Whole blocks of the first strip. */
static void walk_strip(const emission *e, tg_walk_plan *out) {
  const tg_gemm *g = e->g;
  const tg_gemm_image *x = &g->image;
  bool pools = e->t.pool_rows > 0;
  const int64_t *results = pools ? g->pool.windows : x->pixels,
                stride[] = {out->stride[0], out->stride[1], out->stride[2]};
  int64_t rows = pools ? e->t.pool_rows : (int64_t)e->t.patch_rows * tg_gemm_slabs(&e->t);
  if (!pools) tg_patch_pixel_strides(g, stride, out->stride);
  out->radix[0] = x->images;
  out->radix[1] = tg_div_up(results[0], rows) * rows;
  out->radix[2] = pools ? e->t.pool_columns : e->t.patch_columns;
  out->bounded = true;
  out->y.step[1] = out->x.step[2] = 1;
  out->y.size = results[0];
  out->x.size = results[1];
}

void tg_gemm_begin_strip(const emission *e, uint32_t r, uint32_t col, tg_agcu_instr *walk) {
  if (!tg_gemm_counts_strips(&e->t)) return;
  walk->x_org = tg_gemm_first_column(e, r, col);
  walk->offset += walk->x_org * walk->stride[2];
}

void tg_gemm_walk_rows(const emission *e, const int64_t stride[3], tg_walk_plan *out) {
  const tg_gemm *g = e->g;
  const tg_gemm_image *x = &g->image;
  for (int d = 0; d < 3; d++) out->radix[d] = g->out_radix[d], out->stride[d] = stride[d];
  if (tg_gemm_counts_strips(&e->t)) {
    walk_strip(e, out);
    return;
  }
  if (!e->t.image_rows) return;
  int64_t each = x->pixels[0] * x->pixels[1];
  out->stride[0] = g->out_radix[2] == each ? stride[1] : each * stride[2];
  out->stride[1] = 0;
  out->radix[0] = x->images;
  out->radix[1] = 1;
  out->radix[2] = e->t.image_rows * x->pixels[1];
  out->bounded = true;
  out->x.size = 1;
  out->y.step[2] = 1;
  out->y.size = each;
}

bool tg_gemm_finishes(const emission *e, uint32_t r) {
  return e->t.ring || tg_gemm_member(e, r) + 1 == e->t.members;
}

uint32_t tg_gemm_rows_apart(const emission *e) {
  bool apart = e->t.split == TG_SPLIT_OUTPUT || e->t.split == TG_SPLIT_PRODUCT_ROWS;
  return apart ? e->t.members * e->t.alike : 1;
}
uint32_t tg_gemm_rows_like(const emission *e, uint32_t r) {
  uint32_t mask = 0;
  for (; r < tg_gemm_used_rows(e); r += tg_gemm_rows_apart(e)) mask |= 1u << (r + 1);
  return mask;
}

/* ---- who fills a channel ---- */

static tg_post a_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, !tg_gemm_a_from_north(kernel, r, col), r, col);
}
static tg_post b_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, tg_gemm_b_from_west(kernel, r, col), r, col);
}
static tg_post operands_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, tg_epilogue_operands_west(kernel, r, col), r, col);
}
static tg_post inputs_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  return tg_post_to_agcu(channel, tg_gemm_prologue_from_west(kernel, r, col), r, col);
}
static tg_post north_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  (void)kernel;
  return tg_post_to_agcu(channel, false, r, col);
}
static tg_post west_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  (void)kernel;
  return tg_post_to_agcu(channel, true, r, col);
}
/* The tile of the row above has position r. */
static tg_post above_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  (void)kernel, (void)col;
  return (tg_post){TG_POST_COL, r, channel->free};
}
/* The last member of the group, which has a semaphore for each of the others. */
static tg_post whole_source(const void *kernel, const tg_channel *channel, uint32_t r, uint32_t col) {
  const emission *e = kernel;
  uint32_t member = tg_gemm_member(e, r);
  (void)col;
  return (tg_post){TG_POST_COL, r - member + e->t.members, channel->free + (int)member};
}

void tg_gemm_set_sources(emission *e) {
  tg_channel *channels = e->channels, *inputs = &channels[TG_ROLE_PROLOGUE_INPUTS];
  if (tg_gemm_makes_a(e)) { /* its input lies where A would: the loads have credits of A */
    inputs->west = channels[TG_ROLE_A].west;
    inputs->north = channels[TG_ROLE_A].north;
    inputs->source = a_source;
  } else {
    channels[TG_ROLE_A].source = a_source;
    inputs->source = inputs_source;
  }
  if (!tg_gemm_makes_b(e)) channels[TG_ROLE_B].source = b_source;
  if (e->t.producers == 1) channels[TG_ROLE_MADE].full = channels[TG_ROLE_B].full; /* nobody else makes any */
  channels[TG_ROLE_A_NORTH].north = channels[TG_ROLE_A].north;
  channels[TG_ROLE_A_NORTH].source = north_source;
  channels[TG_ROLE_SECOND_A].source = a_source;
  channels[TG_ROLE_SECOND_B].source = b_source;
  channels[TG_ROLE_SECOND_A_NORTH].north = channels[TG_ROLE_SECOND_A].north;
  channels[TG_ROLE_SECOND_A_NORTH].source = north_source;
  channels[TG_ROLE_SCALARS].source = west_source;
  channels[TG_ROLE_OPERANDS_ONCE].source = north_source;
  channels[TG_ROLE_OPERANDS].source =
      e->t.pool_rows ? a_source : operands_source; /* marks come with the image */
  channels[TG_ROLE_RECEIVED].source = above_source;
  channels[TG_ROLE_WHOLE].source = whole_source;
  if (!e->t.ring) { /* who sends sums has no results to send: it has as much room */
    channels[TG_ROLE_RECEIVED].free = channels[TG_ROLE_AWAY].free;
    channels[TG_ROLE_SENT].ring = channels[TG_ROLE_SUMS].ring;
  }
  channels[TG_ROLE_COLUMN_SUMS].full = channels[TG_ROLE_OUT].full; /* they are told together */
  for (int k = 0; k < 2 * TG_GEMM_RESULTS; k++) {
    const tg_channel *together = &channels[TG_ROLE_AWAY + (k < e->g->outs ? 0 : e->g->outs)];
    channels[TG_ROLE_AWAY + k].west = together->west;
    channels[TG_ROLE_AWAY + k].north = together->north;
  }
}
