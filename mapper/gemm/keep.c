/* Operand B that stays in scratchpads from section to section: which products may do with it, and the section that puts it
 * there. */
#include "mapper/gemm/emission.h"
#include "mapper/gemm/gemm.h"
#include "mapper/gemm/layout.h"
#include "mapper/gemm/stages.h"
#include "mapper/kernel/view.h"

#include <string.h>

typedef tg_gemm_emission emission;

static tg_status describe_products(tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  tg_status status = tg_describe_gemm(c, kernel, 0, out);
  return !status && out->products > 1 ? tg_gemm_describe_spread(c, kernel, out) : status;
}

/* Rows and columns that are multiplied as they are loaded, in one section. */
static bool describe(const tg_compile *c, const tg_kernel *kernel, tg_gemm *out) {
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  if (kernel->kind != TG_KERNEL_GEMM || kernel->prologue_result || kernel->second ||
      tg_gemm_phases(kernel->root) > 1)
    return false;
  return !describe_products(&quiet, kernel, out) && out->m && out->k && out->n && out->products == 1 &&
         out->partials == 1 && out->drain_words[TG_DRAIN_FINISH];
}

bool tg_gemm_describe_kept(const tg_compile *c, const tg_kernel *kernel, tg_kept_operand *out) {
  tg_gemm g;
  if (!describe(c, kernel, &g)) return false;
  const tg_value_view *view = c->places[tg_owner(c, g.b)->index].view;
  memset(out, 0, sizeof *out);
  out->value = tg_memory_of(c, g.b);
  out->format = g.format;
  out->convert = g.b_convert;
  out->transposed = g.b_transposed;
  out->k = g.k;
  out->n = g.n;
  out->first = (view ? view->first : 0) + g.b_offsets[0];
  out->bytes = g.k * g.n * tg_max(g.spread, 1) * (int64_t)tg_value_bytes_each(g.b);
  memcpy(out->radix[0], g.b_k_radix, sizeof g.b_k_radix);
  memcpy(out->radix[1], g.b_n_radix, sizeof g.b_n_radix);
  memcpy(out->stride[0], g.b_k_stride, sizeof g.b_k_stride);
  memcpy(out->stride[1], g.b_n_stride, sizeof g.b_n_stride);
  return true;
}

/* Loads all of B, as the tiles of a product have it. */
static tg_gemm_tiling tiling_of(const tg_params *m, const tg_gemm *g, const tg_kept *kept) {
  uint32_t stationary = tg_mx_stationary(m, g->format);
  return (tg_gemm_tiling){.split = (tg_split)kept->split,
                          .mt = 1,
                          .nt = kept->columns,
                          .kc = (uint32_t)(tg_div_up(g->k, stationary) * stationary),
                          .mr = 1,
                          .passes_m = 1,
                          .passes_n = 1,
                          .chunks = 1,
                          .members = 1,
                          .alike = kept->alike,
                          .parts = 1,
                          .whole_b = true};
}

static void list_stages(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, tg_stages *out) {
  tg_stages all;
  tg_gemm_list_stages(m, g, t, &all);
  out->count = 0;
  for (int i = 0; i < all.count; i++)
    if (all.list[i].kind == TG_STAGE_B || all.list[i].kind == TG_STAGE_WHOLE_B)
      tg_stages_add(out, &all.list[i]);
}

static double put_cycles(const tg_params *m, const tg_gemm *g, const tg_kept *kept) {
  tg_gemm_tiling t = tiling_of(m, g, kept);
  tg_stages stages;
  double most = 0;
  list_stages(m, g, &t, &stages);
  for (tg_seat side = TG_SIDE_WEST; side < TG_SIDES; side++)
    most = tg_max_double(most, tg_stages_port(&stages, side).load);
  return TG_SECTION_CYCLES + m->dram_latency + most;
}

/* Is there something of B in each of its banks, of the tile with the fewest columns? What is masked at the end of K, or
 * behind the last column, is not loaded: a product would read a bank that nothing was left in. */
static bool fills_banks(const tg_params *m, const tg_gemm *g, const tg_gemm_tiling *t, uint32_t banks) {
  int64_t columns = (g->n - 1) % t->nt + 1, row = tg_gemm_b_row(m, g, t), last = row;
  if (!g->b_transposed) last = tg_div_up(columns, tg_mx_elements(m, g->format));
  int64_t rows = (g->b_transposed ? columns - 1 : g->k - 1) * row + last;
  return tg_banks_for(m, (uint32_t)rows) == banks;
}

bool tg_gemm_choose_kept(const tg_compile *c, const tg_kernel *kernel, int way, tg_kept *out,
                         double *out_put_cycles) {
  static const tg_split splits[TG_KEPT_WAYS] = {TG_SPLIT_COLUMNS, TG_SPLIT_OUTPUT, TG_SPLIT_ROWS,
                                                TG_SPLIT_PRODUCT_ROWS};
  tg_gemm g;
  tg_gemm_tiling t;
  tg_diag unused = {""};
  tg_compile quiet = *c;
  quiet.diag = &unused;
  if (!describe(c, kernel, &g) || (g.spread != 0) != (splits[way] == TG_SPLIT_PRODUCT_ROWS)) return false;
  g.keeps = TG_KEEPS_B_ANYWHERE;
  g.kept.split = (int)splits[way];
  if (tg_tile_gemm(&quiet, &g, &t) || t.cycles >= TG_NEVER) return false;
  *out = (tg_kept){.split = (int)t.split,
                   .columns = t.nt,
                   .alike = t.alike,
                   .banks = tg_banks_for(c->m, (uint32_t)tg_gemm_b_rows(c->m, &g, &t))};
  *out_put_cycles = put_cycles(c->m, &g, out);
  return fills_banks(c->m, &g, &t, out->banks);
}

/* ---- the section ---- */

static void emit_stage(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at) {
  emission *e = user;
  bool west = stage->seat == TG_SIDE_WEST;
  if (stage->seat < TG_SIDES) {
    tg_gemm_emit_load(e, stage, queue, west ? at.r : at.col);
  } else if (!tg_build_is_idle(&e->b, at.r, at.col)) {
    tg_gemm_meet(e, stage, TG_ALL_CHANNELS, tg_build_push(&e->b, queue, TG_OP_mx_sync), at.r, at.col, true,
                 true);
  }
}

static void open_channel(emission *e) {
  tg_channel_plan plans[TG_GEMM_ROLES];
  for (int i = 0; i < TG_GEMM_ROLES; i++) e->channels[i] = TG_CHANNEL_NONE;
  tg_gemm_plan_channels(e->b.m, e->g, &e->t, plans);
  e->channels[TG_ROLE_B].ring = tg_gemm_kept_buffer(e->b.m, &e->g->kept);
  e->b.planned_bases = plans[TG_ROLE_B].bases;
  tg_channels_open(&e->b, plans, &(tg_channel_end){TG_ROLE_B, TG_END_FULL | TG_END_AGCU}, 1, e->channels);
  tg_gemm_set_sources(e);
}

tg_status tg_emit_kept(tg_compile *c, const tg_kernel *kernel) {
  static const uint32_t loops[TG_GEMM_NESTS][3] = {[TG_NEST_CHUNKS] = {1, 1, 1}};
  tg_gemm g;
  tg_status status = describe_products(c, kernel, &g);
  if (status) return status;
  emission e = {.c = c, .kernel = kernel, .g = &g, .unrolled = 1, .n_level = 1, .n_k_level = 1};
  e.t = tiling_of(c->m, &g, &g.kept);
  e.stationary = tg_mx_stationary(c->m, g.format);
  list_stages(c->m, &g, &e.t, &e.stages);
  const char *name = tg_arena_printf(c->arena, "Keep \"%s\"", g.b->name);
  tg_build_begin(&e.b, c, name);
  open_channel(&e);
  tg_gemm_find_idle(&e);
  e.b_base = tg_build_base(&e.b, tg_place_of(c, g.b), (uint64_t)(g.b_offsets[0] * tg_value_bytes_each(g.b)),
                           &e.b_rest);
  tg_stages_emit(&e.b, &e.stages, e.b.m->rows, loops, emit_stage, &e);
  tg_build_invoke(&e.b, name);
  return TG_OK;
}
