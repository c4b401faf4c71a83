#include "mapper/vector/line_product.h"

#include "frontend/base/math.h"
#include "mapper/expression/expression.h"
#include "mapper/kernel/operand.h"
#include "mapper/kernel/view.h"
#include "sim/machine/mx_shape.h"

enum {
  MOST_MADE_TILES = 8, /* instructions of mx, and VOPs, of a block */
  ROWS_WORTH_IT = 64,  /* of a tile: fewer rows fill the matrix unit badly */
  MOST_TAKEN = 65535,  /* elements of a load, and rows of a VOP: fields of 16 bits */
};

/* ---- which products ---- */

static bool reads_only_operands(const tg_kernel *product) {
  const tg_value *bias = tg_in(product->root, 2);
  for (size_t i = 0; i < product->input_count; i++)
    if (product->inputs[i] != product->operands[0].source &&
        product->inputs[i] != product->operands[1].source && product->inputs[i] != bias)
      return false;
  return true;
}

bool tg_line_set_product(const tg_compile *c, const tg_kernel *kernel, tg_line_product *out) {
  const tg_kernel *product = kernel->product;
  const tg_node *root = product->root;
  const tg_operand *a = &product->operands[0], *b = &product->operands[1];
  tg_value *pixels = tg_in(root, 0), *filters = tg_in(root, 1), *bias = tg_in(root, 2);
  if (root->op != TG_OP_CONV || !tg_gemm_is_pointwise(root) || a->transposed || b->transposed ||
      pixels->dtype != filters->dtype || a->stride[3] != 1 || !tg_is_contiguous(c, b->source) ||
      (bias && !tg_is_contiguous(c, bias)) || !reads_only_operands(product))
    return false;
  *out = (tg_line_product){.kernel = product,
                           .pixels = tg_place_of(c, a->source),
                           .filters = tg_place_of(c, b->source),
                           .bias = bias ? tg_place_of(c, bias) : NULL,
                           .format = tg_mx_format(pixels->dtype),
                           .pixels_convert = tg_operand_conversion(a->source, pixels),
                           .filters_convert = tg_operand_conversion(b->source, filters),
                           .bias_kind = bias ? tg_stream_kind(bias) : 0,
                           .depth = pixels->dims[3].size};
  if (tg_rounds_accumulation(c, root)) out->k_tile = tg_min(c->options.k_tile, out->depth);
  for (int d = 0; d < TG_LINE_DIMS; d++) out->stride[d] = a->stride[d];
  return out->depth > 0;
}

/* ---- which tile has what ---- */

uint32_t tg_line_row_block(const tg_params *m, const tg_line_tiling *t, uint32_t r, uint32_t col) {
  return r / t->alike * t->abreast + col / tg_line_columns_alike(m, t);
}
uint32_t tg_line_channel_block(const tg_params *m, const tg_line_tiling *t, uint32_t r, uint32_t col) {
  return r % t->alike * tg_line_columns_alike(m, t) + col % tg_line_columns_alike(m, t);
}
uint32_t tg_line_row_rounds(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint32_t)tg_div_up(k->windows->image->dims[0].size * t->blocks[0], tg_line_row_blocks(m, t));
}
uint32_t tg_line_channel_rounds(const tg_params *m, const tg_line_tiling *t) {
  return (uint32_t)tg_div_up(t->blocks[2], tg_line_channel_blocks(m, t));
}

int64_t tg_line_first_row(const tg_line_tiling *t, int64_t block, int64_t rows, int64_t apart) {
  return block / t->blocks[0] * rows + block % t->blocks[0] * apart;
}
int64_t tg_line_rows_apart(const tg_params *m, const tg_line_tiling *t, int64_t rows, int64_t apart) {
  return tg_line_first_row(t, tg_line_row_blocks(m, t), rows, apart);
}

static bool places_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t, int64_t rows,
                       int64_t apart) {
  return k->windows->image->dims[0].size == 1 || tg_line_row_rounds(m, k, t) == 1 ||
         tg_line_row_blocks(m, t) % t->blocks[0] == 0 || t->blocks[0] * apart == rows;
}

bool tg_line_places_fit(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  return (!k->product->k_tile || places_fit(m, k, t, w->image->dims[1].size, t->rows * w->row_step[0])) &&
         (!k->rounds || places_fit(m, k, t, w->rows[0], t->rows));
}

/* ---- sizes ---- */

static int64_t least(int64_t a, int64_t b) { return tg_min(a, b) > 0 ? tg_min(a, b) : 0; }

tg_line_made tg_line_made_of(const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  int64_t above = t->blocks[0] == 1 ? -w->origin[0] : 0, beside = -w->origin[1],
          rows = tg_line_image_rows(k, t) - above, columns = tg_line_loaded_columns(k, t) - beside;
  return (tg_line_made){.row = (uint32_t)above,
                        .rows = (uint32_t)(t->blocks[0] == 1 ? least(rows, w->image->dims[1].size) : rows),
                        .column = (uint32_t)beside,
                        .columns = (uint32_t)least(columns, w->image->dims[2].size)};
}

bool tg_line_has_marks(const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  int64_t end = w->origin[0] + (w->rows[0] - 1) * w->row_step[0] + (w->taps[0] - 1) * w->tap_step[0] + 1;
  return t->blocks[0] > 1 && (w->origin[0] < 0 || end > w->image->dims[1].size);
}

int64_t tg_line_pixel_taken(const tg_params *m, const tg_line_product *p) {
  return tg_round_up(p->depth, tg_mx_stationary(m, p->format));
}

uint32_t tg_line_pixel(const tg_params *m, const tg_line_product *p) {
  return (uint32_t)(tg_line_pixel_taken(m, p) / tg_mx_elements(m, p->format));
}

uint32_t tg_line_filter(const tg_params *m, const tg_line_product *p, const tg_line_tiling *t) {
  return tg_line_take_of(m, t) / tg_mx_elements(m, p->format);
}

uint64_t tg_line_pixels(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  tg_line_made made = tg_line_made_of(k, t);
  return (uint64_t)made.rows * made.columns * tg_line_pixel(m, k->product);
}

uint64_t tg_line_filters(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  return (uint64_t)tg_line_pixel_taken(m, k->product) * tg_line_filter(m, k->product, t);
}

uint32_t tg_line_product_bias_row(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  uint32_t row = k->bias ? tg_line_position(m, t, k->bias_kind) : 0;
  if (!k->weights) return row;
  return row +
         (uint32_t)(k->windows->taps[0] * k->windows->taps[1]) * tg_line_position(m, t, k->weights_kind);
}

bool tg_line_pixel_runs(const tg_params *m, const tg_line_product *p) {
  return p->stride[2] == p->depth && p->depth == tg_line_pixel_taken(m, p);
}

/* Columns at either side; or, where there are rows above or below as well, all. */
int tg_line_edges(const tg_line_kernel *k, const tg_line_tiling *t, tg_line_edge out[TG_LINE_MOST_EDGES]) {
  tg_line_made made = tg_line_made_of(k, t);
  uint32_t rows = tg_line_image_rows(k, t), columns = tg_line_image_columns(k, t),
           right = made.column + made.columns;
  bool shared = columns < tg_line_loaded_columns(k, t); /* what is behind the last row is in front of none */
  int count = 0;
  if (made.rows < rows) {
    out[0] = (tg_line_edge){.rows = 1, .columns = rows * columns + (shared ? made.column : 0)};
    return 1;
  }
  if (made.column)
    out[count++] = (tg_line_edge){.rows = rows + shared, .columns = made.column, .apart = columns};
  if (right < columns)
    out[count++] = (tg_line_edge){.first = right, .rows = rows, .columns = columns - right, .apart = columns};
  return count;
}

/* ---- in tiles of rows ---- */

uint32_t tg_line_made_tile_rows(const tg_line_kernel *k, const tg_line_tiling *t, uint32_t tile) {
  uint32_t rows = tg_line_made_of(k, t).rows, first = tile * t->made_rows;
  return (uint32_t)tg_min(rows - first, t->made_rows);
}

static bool set_made_tiles(const tg_line_made *made, int64_t rows, tg_line_tiling *t) {
  t->made_rows = (uint32_t)rows;
  t->made_tiles = (uint32_t)tg_div_up(made->rows, rows);
  return t->made_tiles <= MOST_MADE_TILES;
}

/* As few tiles as there is room for in an accumulator, but more where each is still enough for mx: then vx begins sooner. */
static bool choose_made_tiles(const tg_params *m, const tg_line_made *made, tg_line_tiling *t) {
  uint64_t row = (uint64_t)made->columns * t->vectors, most = tg_acc_rows(m) / row;
  if (!most) return false;
  int64_t needed = tg_div_up(made->rows, (int64_t)most),
          wanted = tg_min((int64_t)made->rows * made->columns / ROWS_WORTH_IT, MOST_MADE_TILES / 2);
  return set_made_tiles(made, tg_div_up(made->rows, tg_max(needed, tg_max(wanted, 1))), t);
}

/* Cycles of the VOPs, of so many words, which take parts of rows side by side. */
static double vop_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t,
                         const int words[TG_LINE_MADE_SEGMENTS]) {
  tg_line_made made = tg_line_made_of(k, t);
  uint32_t depth = m->fma_latency;
  double cycles = 0, each = words[0] + (double)(made.columns / (t->made_at_once * t->made_parts)) * words[1];
  for (uint32_t tile = 0; tile < t->made_tiles; tile++) {
    int64_t rows = (int64_t)tg_line_made_tile_rows(k, t, tile) * t->made_parts * t->vectors;
    cycles += (double)tg_div_up(rows, depth) * depth * each + 2.0 * depth + 2;
  }
  return cycles;
}

static void choose_parts(const tg_params *m, const tg_line_kernel *k, const tg_line_made_words *words,
                         tg_line_tiling *t) {
  uint32_t columns = tg_line_made_of(k, t).columns;
  tg_line_tiling best = *t, now = *t;
  best.made_at_once = 0;
  for (now.made_at_once = 1; now.made_at_once <= TG_LINE_MADE_AT_ONCE; now.made_at_once++)
    for (now.made_parts = 1; now.made_parts <= m->fma_latency; now.made_parts++) {
      const int *own = words->of[tg_line_has_marks(k, t)][now.made_at_once];
      if (columns % (now.made_at_once * now.made_parts) || !own[1]) continue;
      now.made_cycles = vop_cycles(m, k, &now, own);
      if (!best.made_at_once || now.made_cycles < best.made_cycles) best = now;
    }
  *t = best;
}

/* Tiles of fewer rows may be whole groups of those that vx has in flight, and take it less than they take mx more. */
static void choose_whole_groups(const tg_params *m, const tg_line_kernel *k, const tg_line_made_words *words,
                                tg_line_tiling *t) {
  tg_line_made made = tg_line_made_of(k, t);
  uint32_t group = 1;
  while (group * t->vectors % m->fma_latency) group++;
  tg_line_tiling now = *t;
  int64_t rows = t->made_rows - t->made_rows % group;
  if (!rows || rows == t->made_rows || !set_made_tiles(&made, rows, &now)) return;
  choose_parts(m, k, words, &now);
  double gain = t->made_cycles - now.made_cycles;
  if (now.made_at_once && gain > tg_line_multiply_cycles(m, k, &now) - tg_line_multiply_cycles(m, k, t))
    *t = now;
}

bool tg_line_choose_product(const tg_params *m, const tg_line_kernel *k, const tg_line_made_words *words,
                            tg_line_tiling *t) {
  const tg_windows *w = k->windows;
  if (t->blocks[1] > 1 || w->origin[0] > 0 || w->origin[1] > 0) return false;
  tg_line_made made = tg_line_made_of(k, t);
  if (!made.rows || !made.columns || !choose_made_tiles(m, &made, t)) return false;
  choose_parts(m, k, words, t);
  if (t->made_at_once) choose_whole_groups(m, k, words, t);
  uint64_t taken = (uint64_t)made.rows * made.columns * (uint64_t)tg_line_pixel_taken(m, k->product),
           filters = (uint64_t)tg_line_pixel_taken(m, k->product) * tg_line_take_of(m, t),
           positions = (uint64_t)tg_line_image_rows(k, t) * tg_line_image_columns(k, t) * t->vectors;
  return t->made_at_once && taken <= MOST_TAKEN && filters <= MOST_TAKEN && positions <= MOST_TAKEN &&
         (uint64_t)w->image->dims[2].size * (uint64_t)k->product->stride[2] < 1u << 23;
}

/* ---- streams and microcode ---- */

void tg_line_write_product(tg_compile *c, const tg_line_kernel *k, uint32_t at_once, bool marks, tg_mc *mc) {
  const tg_line_product *p = k->product;
  tg_mc_ref bias = TG_MC_NONE, mark = TG_MC_NONE;
  if (p->bias) bias = tg_mc_load(mc, tg_line_made_bias(at_once), p->bias_kind == TG_STREAM_FP32);
  if (marks) mark = tg_mc_load(mc, tg_line_made_marks(at_once), false);
  tg_mc_next_segment(mc);
  for (uint32_t u = 0; u < at_once; u++) {
    tg_mc_ref y = tg_mc_load(mc, (int)u, false);
    if (p->bias) y = tg_mc_alu(mc, TG_ALU_add, y, bias, TG_MC_NONE);
    y = tg_emit_epilogue(mc, c, p->kernel, p->kernel->root, y);
    if (y == TG_MC_NONE) {
      mc->overflow = true;
      return;
    }
    if (marks) y = tg_mc_alu(mc, TG_ALU_select, mark, tg_mc_const(mc, 0.0f), y);
    tg_mc_store(mc, tg_line_made_result(at_once, u), k->image_kind == TG_STREAM_FP32, y);
  }
}

void tg_line_write_zero(const tg_line_kernel *k, tg_mc *mc) {
  tg_mc_store(mc, 0, k->image_kind == TG_STREAM_FP32, tg_mc_const(mc, 0.0f));
}

tg_line_made_words tg_line_measure_product(tg_compile *c, const tg_line_kernel *k) {
  tg_line_made_words words = {{{{0}}}};
  for (int marks = 0; marks < 2; marks++)
    for (uint32_t u = 1; u <= TG_LINE_MADE_AT_ONCE; u++) {
      tg_mc mc;
      tg_mc_begin(&mc, c->arena);
      tg_line_write_product(c, k, u, marks, &mc);
      int *own = words.of[marks][u];
      if (!tg_mc_fits(&mc, c->m, own)) own[1] = 0;
    }
  return words;
}

/* ---- what they take ---- */

double tg_line_multiply_cycles(const tg_params *m, const tg_line_kernel *k, const tg_line_tiling *t) {
  const tg_line_product *p = k->product;
  tg_line_made made = tg_line_made_of(k, t);
  uint64_t s = tg_mx_stationary(m, p->format),
           blocks = (uint64_t)tg_line_pixel_taken(m, p) / s * (tg_line_take_of(m, t) / s), cycles = 0;
  for (uint32_t tile = 0; tile < t->made_tiles; tile++)
    cycles += blocks * tg_mx_pitch(m, p->format, (uint64_t)tg_line_made_tile_rows(k, t, tile) * made.columns);
  return (double)cycles;
}
