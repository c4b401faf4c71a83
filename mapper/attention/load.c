/* Loads of attention: queries of each tile, keys and values of its group, operands of the fused nodes. */
#include "mapper/attention/emission.h"
#include "mapper/gemm/layout.h"

typedef tg_attention_emission emission;
typedef tg_attention_input input;

static tg_agcu_instr *push_load(emission *e, bool west, int context, uint32_t r, uint32_t col, uint32_t tiles,
                                const input *from, int64_t radix) {
  tg_queue *queue = west ? tg_west_queue(&e->b, r, context) : tg_north_queue(&e->b, col, context);
  tg_agcu_instr *load = &tg_build_push(&e->b, queue, TG_OP_agcu_load)->agcu;
  tg_attention_set_walk(load, from->at, radix, from->entry, from->residue);
  load->rows[0] = radix;
  load->m_first[0] = tg_attention_first_product(e, r, col) * radix;
  load->m_delta[0] = tg_attention_at_a_time(e->b.m, e->a) * radix;
  tg_set_operand(load->dst_base, &from->buffer, false);
  load->dst_inner[0] = 65535;
  load->dst_mask[0] = ((1ll << tiles) - 1) << ((west ? col : r) + 1);
  return load;
}

/* Elements of a row: those that are needed, or as many as fill its bank rows where these are more. */
static int64_t taken(const emission *e, const tg_gemm *g, int64_t needed, uint32_t bank_rows) {
  uint32_t element = tg_mx_elements(e->b.m, g->format);
  return (needed + element - 1) / element == bank_rows ? needed : (int64_t)bank_rows * element;
}

static void load_queries(emission *e, uint32_t r, uint32_t col) {
  const tg_attention *a = e->a;
  bool west = tg_attention_own_from_west(e, r, col);
  tg_gemm_tiling t = tg_attention_scores(a);
  tg_agcu_instr *load = push_load(e, west, TG_CTX_LOAD, r, col, 1, &e->q, tg_attention_padded(a));
  tg_attention_set_block(e, load, r, col);
  load->take[0] = taken(e, &a->scores, a->scores.k, tg_gemm_a_row(e->b.m, &a->scores, &t));
  load->convert[0] = a->scores.a_convert;
  tg_channel_ask(&e->channels[TG_ROLE_QUERIES], load, west);
  tg_channel_deliver(&e->channels[TG_ROLE_QUERIES], load);
}

/* A stationary operand: its rows are columns of the product if it is transposed. */
static tg_agcu_instr *load_shared(emission *e, int context, uint32_t r, uint32_t col, uint32_t tiles,
                                  const input *from, const tg_gemm *g, const tg_gemm_tiling *t) {
  bool transposed = g->b_transposed;
  tg_agcu_instr *load = push_load(e, tg_attention_shared_from_west(e, r, col), context, r, col, tiles, from,
                                  transposed ? t->nt : from->at->rows);
  load->take[0] = taken(e, g, from->at->columns, tg_gemm_b_row(e->b.m, g, t));
  load->convert[0] = g->b_convert;
  return load;
}

static void load_keys_and_values(emission *e, uint32_t r, uint32_t col, uint32_t tiles) {
  const tg_attention *a = e->a;
  bool west = tg_attention_shared_from_west(e, r, col);
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(e->b.m, a);
  tg_agcu_instr *load = load_shared(e, TG_CTX_LOAD, r, col, tiles, &e->k, &a->scores, &first);
  tg_channel_ask(&e->channels[TG_ROLE_KEYS], load, west);
  tg_channel_deliver(&e->channels[TG_ROLE_KEYS], load);
  load = load_shared(e, TG_CTX_AUX, r, col, tiles, &e->v, &a->context, &second);
  tg_channel_ask(&e->channels[TG_ROLE_VALUES], load, west);
  tg_channel_deliver(&e->channels[TG_ROLE_VALUES], load);
}

static void load_epilogue_operands(emission *e, uint32_t r, uint32_t col) {
  const tg_attention *a = e->a;
  bool west = tg_attention_own_from_west(e, r, col);
  for (int x = 0; x < a->scores.epilogue_operand_count; x++) {
    bool one = a->epilogue_operand[x].rows == 1;
    tg_agcu_instr *load =
        push_load(e, west, TG_CTX_LOAD, r, col, 1, &e->epilogue_operand[x], one ? 1 : tg_attention_padded(a));
    if (!one) tg_attention_set_block(e, load, r, col);
    load->take[0] = tg_attention_epilogue_operand_take(a, x);
    load->convert[0] =
        tg_stream_convert(tg_place_of(e->c, a->epilogue_operand[x].value), a->epilogue_operand_kind[x]);
    if (x == 0) tg_channel_ask(&e->channels[TG_ROLE_SCORED_ALL], load, west);
    if (x + 1 == a->scores.epilogue_operand_count) tg_channel_deliver(&e->channels[TG_ROLE_SCORED_ALL], load);
  }
}

void tg_attention_emit_loads(emission *e) {
  const tg_params *m = e->b.m;
  uint32_t tiles = e->a->group < m->cols ? e->a->group : m->cols;
  for (uint32_t r = 0; r < m->rows; r++)
    for (uint32_t col = 0; col < m->cols; col++) {
      load_queries(e, r, col);
      if (col % tiles == 0) load_keys_and_values(e, r, col, tiles);
      load_epilogue_operands(e, r, col);
    }
  const uint32_t loops[] = {e->a->passes, e->a->blocks, 1};
  for (uint32_t i = 0; i < tg_agcus(m); i++)
    for (int context = TG_CTX_LOAD; context <= TG_CTX_AUX; context++) {
      tg_queue *queue = &tg_build_section(&e->b)->agcus[i].contexts[context];
      if (queue->count) tg_set_loops(&queue->instrs[queue->count - 1], loops);
    }
}
