/* Stages of a product that load A and B. */
#include "frontend/base/math.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/patch.h"
#include "mapper/gemm/stages_list.h"

/* Rows of `length` elements of a walk whose runs have atoms of their own. */
static double load_cycles(const tg_stages_list *s, const tg_value *value, double rows, double length,
                          const int64_t radix[3], const int64_t row_stride[3]) {
  double run = radix[2] > 0 ? (double)radix[2] : 1, each = tg_value_bytes_each(value);
  int64_t stride = row_stride[2] * (int64_t)tg_value_bytes_each(value);
  return length > run ? tg_port_cycles(s, rows * length / run, run * each, stride, each)
                      : tg_port_cycles(s, rows, length * each, stride, each);
}

/* Pairs of tiles that a port loads for at most: of one row, or column, of squares of two by two tiles every
 * other one. */
static uint32_t pairs_of_west(const tg_params *m) { return (m->cols / 2 + 1) / 2; }
static uint32_t pairs_of_north(const tg_params *m) { return (m->rows / 2 + (m->cols > 2)) / 2; }

/* Loads of all that a chunk of one of them takes: instructions of their own. */
static uint32_t chunk_loads(const tg_stages_list *s, tg_resident operand) {
  if (s->t->resident == operand) return tg_gemm_resident_loads(s->m, s->g, s->t);
  if (operand == TG_RESIDENT_A &&
      tg_gemm_has_rows_apart(s->t)) /* of the first slab, and of the others; and of their rows */
    return (tg_gemm_slabs(s->t) > 1 ? 2 : 1) * (tg_gemm_loads_positions(s->t) ? TG_PATCH_ROW_LOADS : 1);
  return tg_gemm_unrolled_chunks(s->t);
}

/* Where every tile has a product: of the `tiles` of one of `ports` ports at most. */
static tg_side_share products_of(const tg_stages_list *s, uint32_t tiles, uint32_t ports) {
  int64_t at_once = tg_min(s->g->spread, tg_tiles(s->m));
  return (tg_side_share){tiles, (double)tg_div_up(at_once, ports)};
}

static tg_side_share share_of_a(const tg_stages_list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  bool west = side == TG_SIDE_WEST, both = tg_gemm_a_both_ways(m, s->g, t);
  uint32_t loads = chunk_loads(s, TG_RESIDENT_A), tiles;
  switch (t->split) {
  case TG_SPLIT_OUTPUT:
  case TG_SPLIT_PRODUCT_ROWS: return west ? (tg_side_share){loads, 1} : (tg_side_share){0};
  case TG_SPLIT_PRODUCTS: return west ? products_of(s, m->cols, m->rows) : (tg_side_share){0};
  case TG_SPLIT_COLUMNS: return west ? (tg_side_share){loads, both ? 0.5 : 1} : (tg_side_share){both, 0.5};
  case TG_SPLIT_ROWS: break;
  }
  /* Each tile's rows come alone, to half of them from the north. */
  tiles = t->paired      ? west ? pairs_of_west(m) : pairs_of_north(m)
               : t->alike > 1 ? west ? m->cols / t->alike : 0
          : west         ? (m->cols + 1) / 2
                         : m->rows / 2;
  uint32_t most = !west && t->alike == 1 && !t->paired ? (m->rows + 1) / 2 : tiles;
  return (tg_side_share){tg_gemm_has_rows_apart(t) ? loads * most : most, tiles};
}

/* With a LOAD for the marks of a pool behind each of a patch. */
static tg_side_share share_of_patches(const tg_stages_list *s, tg_seat side) {
  tg_side_share of = share_of_a(s, side);
  if (tg_gemm_pool_marks(s->g, s->t)) of.slots *= 2;
  return of;
}

static tg_side_share share_of_b(const tg_stages_list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_gemm_tiling *t = s->t;
  bool west = side == TG_SIDE_WEST;
  uint32_t loads = t->whole_b ? 1 : chunk_loads(s, TG_RESIDENT_B), apart = t->members * t->alike;
  switch (t->split) {
  case TG_SPLIT_OUTPUT: return west ? (tg_side_share){0} : (tg_side_share){loads * apart, apart};
  case TG_SPLIT_PRODUCTS: return west ? (tg_side_share){0} : products_of(s, m->rows, m->cols);
  case TG_SPLIT_ROWS: return west ? (tg_side_share){0} : (tg_side_share){loads, 1};
  case TG_SPLIT_COLUMNS:
  case TG_SPLIT_PRODUCT_ROWS: break;
  }
  /* Each tile's columns come alone, to half of them from the west: those of every other diagonal (place.c). */
  if (t->paired)
    return west ? (tg_side_share){pairs_of_west(m), pairs_of_west(m)}
                : (tg_side_share){pairs_of_north(m), pairs_of_north(m)};
  uint32_t rows = t->split == TG_SPLIT_COLUMNS ? m->rows : t->alike,
           groups = (uint32_t)tg_min(tg_max(s->g->spread, 1), m->rows / rows),
           blocks = (uint32_t)tg_min(tg_div_up(s->g->n, tg_gemm_own_columns(t)), rows * m->cols),
           diagonals = (uint32_t)tg_div_up(blocks, rows);
  return west ? (tg_side_share){(m->cols + 1) / 2, diagonals / 2}
              : (tg_side_share){(m->rows + 1) / 2,
                                (double)tg_div_up((diagonals + 1) / 2 * rows * groups, m->cols)};
}

/* A patch, which all chunks have in common: rows of the image, or runs for each position, which overlap where
 * no others are between them. */
static double patch_of_a(const tg_stages_list *s) {
  const tg_gemm_image *x = &s->g->image;
  int64_t z = (int64_t)tg_value_bytes_each(s->g->a);
  tg_agcu_instr walk = {0};
  tg_patch_fill_walk(s->m, s->g, s->t, z, &walk);
  int64_t run = walk.k_radix[2];
  double runs = (double)(walk.rows * (walk.take / run));
  if (tg_gemm_loads_positions(s->t)) runs *= tg_patch_height(s->g, s->t); /* it is that of a row */
  if (tg_gemm_pads_channels(s->g)) { /* groups follow each other, each in flits of its own */
    double pixels = tg_patch_width(s->g, s->t) * tg_patch_height(s->g, s->t);
    return tg_max_double(runs * (double)tg_div_up(run, tg_mx_elements(s->m, s->g->format)),
                         tg_port_whole_runs(s, pixels, (double)(x->groups * run * z)));
  }
  return s->t->patch == TG_PATCH_RUNS && x->channels == x->depth && tg_gemm_joined(s->t) == 1
             ? tg_port_overlapping_runs(s, runs, run * z, x->step[1] * x->depth * z)
             : tg_port_whole_runs(s, runs, (double)(run * z));
}

static double block_of_a(const tg_stages_list *s, double k) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  if (tg_gemm_loads_runs(s->m, g, t)) {
    double z = tg_value_bytes_each(g->a);
    return tg_port_whole_runs(s, 1, t->mt * k * z);
  }
  bool all = !g->a_transposed && t->chunks * t->parts * t->members == 1 && g->a_k_radix[2] > 0;
  if (all) { /* of K: no run is loaded in parts */
    double run = (double)g->a_k_radix[2];
    return tg_port_whole_runs(s, t->mt * (k > run ? k / run : 1),
                              (k > run ? run : k) * tg_value_bytes_each(g->a));
  }
  if (g->a_transposed)
    return load_cycles(s, g->a, k, t->mt * tg_gemm_a_mates(t), g->a_m_radix, g->a_k_stride);
  if (t->swapped && tg_gemm_a_both_ways(s->m, g, t))
    return 2 * load_cycles(s, g->a, t->mt, k / 2, g->a_k_radix, g->a_m_stride);
  return load_cycles(s, g->a, t->mt, k, g->a_k_radix, g->a_m_stride);
}

static double block_of_b(const tg_stages_list *s, double k) {
  const tg_gemm *g = s->g;
  const tg_gemm_tiling *t = s->t;
  if (tg_gemm_b_in_blocks(g, t)) {
    double z = tg_value_bytes_each(g->b);
    double pieces = t->own ? k * (double)tg_div_up(t->own, tg_mx_elements(s->m, g->format)) : 0;
    return tg_max_double(tg_port_cycles(s, 1, k * tg_gemm_own_columns(t) * z, 0, z), pieces);
  }
  if (tg_gemm_pads(g)) {
    double own = k / (double)g->image.channels * (double)g->image.own, z = tg_value_bytes_each(g->b);
    return tg_max_double(
        k * t->nt / tg_mx_elements(s->m, g->format),
        tg_port_whole_runs(s, own, t->nt / (double)g->n * (double)tg_gemm_useful_columns(g) * z));
  }
  return g->b_transposed ? load_cycles(s, g->b, g->n < t->nt ? g->n : t->nt, k, g->b_k_radix, g->b_n_stride)
                         : load_cycles(s, g->b, k, tg_gemm_own_columns(t) * tg_gemm_b_mates(t), g->b_n_radix,
                                       g->b_k_stride);
}

/* An operand that is resident counts as part of each chunk that it is there for; in front of the first one,
 * it comes as a whole. */
static tg_stage stage_of_a(const tg_stages_list *s, tg_seat side, double k) {
  const tg_gemm_tiling *t = s->t;
  uint64_t marks = tg_gemm_pool_marks(s->g, t);
  double a = t->patch ? patch_of_a(s) + (double)marks * tg_atom_cycles(s->m) : block_of_a(s, k);
  bool resident = t->resident == TG_RESIDENT_A, positions = tg_gemm_loads_positions(t);
  bool whole = resident && !tg_gemm_loads_resident_chunks(s->m, s->g, t);
  tg_stage stage = {.kind = TG_STAGE_A,
                    .context = TG_CTX_LOAD,
                    .rate = resident || t->patch ? TG_RATE_PASS : TG_RATE_STEP,
                    .nest = tg_gemm_has_rows_apart(t) ? TG_NEST_OWN : TG_NEST_CHUNKS,
                    .cycles = t->patch   ? a / (t->chunks * tg_gemm_slabs(t))
                              : resident ? a / t->passes_n
                                         : a,
                    .in_front = whole      ? a * t->chunks
                                : t->patch ? a * tg_patch_first_slab(s->g, t) / tg_patch_height(s->g, t)
                                           : a};
  /* Of chunks that are resident together, the first one asks. Rows from the north tell by themselves; and what a prologue
   * is made of goes to a buffer of its own, once there is one for what it makes. */
  uint8_t to = s->g->prologue.result && !s->g->prologue.of_b                 ? TG_ROLE_PROLOGUE_INPUTS
               : side == TG_SIDE_NORTH && tg_gemm_a_both_ways(s->m, s->g, t) ? TG_ROLE_A_NORTH
                                                                             : TG_ROLE_A;
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_A,
                                  .fills = true,
                                  .waits = resident || positions ? TG_OF_ENDS : TG_OF_EACH,
                                  .posts = TG_OF_NONE});
  tg_stage_join(&stage, (tg_join){.channel = to,
                                  .fills = true,
                                  .waits = TG_OF_NONE,
                                  .posts = positions ? TG_OF_ENDS : TG_OF_EACH});
  if (marks) tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_OPERANDS, .fills = true});
  return stage;
}

static tg_stage stage_of_b(const tg_stages_list *s, double k) {
  const tg_gemm_tiling *t = s->t;
  double b = block_of_b(s, k);
  bool resident = t->resident == TG_RESIDENT_B;
  bool whole = t->whole_b || (resident && !tg_gemm_loads_resident_chunks(s->m, s->g, t));
  tg_stage stage = {.kind = TG_STAGE_B,
                    .context = TG_CTX_LOAD,
                    .rate = t->whole_b ? TG_RATE_ONCE
                            : resident ? TG_RATE_PASS
                                       : TG_RATE_STEP,
                    .nest = TG_NEST_CHUNKS,
                    .cycles = resident || t->whole_b ? b / tg_gemm_row_blocks(t) : b,
                    .in_front = whole ? b * t->chunks : b};
  /* What is loaded once has room from the beginning. */
  tg_stage_join(&stage, (tg_join){.channel = TG_ROLE_B,
                                  .fills = true,
                                  .waits = t->whole_b ? TG_OF_NONE
                                           : resident ? TG_OF_ENDS
                                                      : TG_OF_EACH});
  return stage;
}

void tg_stages_add_operands(const tg_stages_list *s, tg_seat side) {
  const tg_gemm_tiling *t = s->t;
  double k = (double)(s->g->part < t->kc ? s->g->part : t->kc); /* the rest is masked */
  tg_stage a = stage_of_a(s, side, k);
  bool a_first = t->resident == TG_RESIDENT_A || t->patch ||
                 (t->resident == TG_RESIDENT_NONE && (side == TG_SIDE_WEST || tg_gemm_has_own_columns(t)));
  if (a_first && !t->whole_b) tg_stages_add_load(s, a, side, share_of_patches(s, side));
  if (!t->producers && !t->kept) tg_stages_add_load(s, stage_of_b(s, k), side, share_of_b(s, side));
  if (!a_first || t->whole_b) tg_stages_add_load(s, a, side, share_of_patches(s, side));
}
