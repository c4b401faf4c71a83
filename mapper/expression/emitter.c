/* Values in registers: loaded, held, or made by a node before. */
#include "mapper/expression/emitter.h"

static tg_held *remember(tg_emitter *e, const tg_value *value, tg_mc_ref number) {
  tg_held fresh = {value, number, TG_MC_NONE, false, false};
  TG_PUSH(e->mc->arena, e->held, e->count, e->capacity, fresh);
  return &e->held[e->count - 1];
}

tg_held *tg_emitter_remember_made(tg_emitter *e, const tg_value *value, tg_mc_ref number) {
  tg_held *h = remember(e, value, number);
  h->made = true;
  return h;
}

/* What is made here keeps its register whatever shape it is read by: its elements lie in the same order. */
tg_held *tg_emitter_find(tg_emitter *e, tg_value *value) {
  const tg_value *made = e->c ? tg_owner(e->c, value) : value;
  for (size_t i = e->count; i-- > 0;)
    if (e->held[i].value == value || (e->held[i].made && e->held[i].value == made)) return &e->held[i];
  return NULL;
}

tg_mc_ref tg_emitter_number(tg_emitter *e, tg_held *h) {
  if (h->number != TG_MC_NONE) return h->number;
  tg_mc_ref one = tg_mc_const(e->mc, 1.0f);
  h->number = h->inverted ? tg_mc_alu(e->mc, TG_ALU_select, h->mask, tg_mc_const(e->mc, 0.0f), one)
                          : tg_mc_alu(e->mc, TG_ALU_and, h->mask, one, TG_MC_NONE);
  return h->number;
}

tg_mc_ref tg_hold_operand(tg_mc *mc, const tg_operand_stream *operand) {
  const tg_operand_name *name = &operand->name;
  bool halves = !operand->scalar && tg_stream_kind(name->value) == TG_STREAM_FP32;
  tg_mc_ref ref = tg_mc_load(mc, operand->stream, halves);
  bool rounds = name->part && name->dtype != name->value->dtype;
  return rounds ? tg_round_to(mc, name->dtype, ref, false) : ref;
}

tg_mc_ref tg_emitter_load(tg_emitter *e, const tg_value *value, int part) {
  for (int s = 0; s < e->stream_count; s++)
    if (tg_is_named(&e->streams[s].name, value, part))
      return e->streams[s].loaded ? e->streams[s].held : tg_hold_operand(e->mc, &e->streams[s]);
  if (!e->measuring) e->mc->overflow = true; /* an operand without a stream: such a kernel fits nowhere */
  return tg_mc_load(e->mc, 0, tg_stream_kind(value) == TG_STREAM_FP32);
}

tg_mc_ref tg_emitter_fetch(tg_emitter *e, tg_value *value) {
  if (tg_is_scalar_constant(value)) return tg_mc_const(e->mc, tg_scalar_value(value));
  tg_held *h = tg_emitter_find(e, value);
  return h ? tg_emitter_number(e, h) : remember(e, value, tg_emitter_load(e, value, 0))->number;
}
