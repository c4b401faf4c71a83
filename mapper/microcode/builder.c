/* Writing microprograms in virtual registers. */
#include "mapper/microcode/microcode.h"

#include "sim/machine/numerics.h"

#include <assert.h>
#include <string.h>

void tg_mc_begin(tg_mc *mc, tg_arena *arena) { *mc = (tg_mc){.arena = arena}; }

void tg_mc_next_segment(tg_mc *mc) { mc->segment++; }

tg_mc_ref tg_mc_bits(tg_mc *mc, uint32_t bits) {
  for (int i = 0; i < mc->constant_count; i++)
    if (mc->constants[i] == bits) return -1 - i;
  if (mc->constant_count == TG_MC_CONSTANTS) {
    mc->overflow = true;
    return -1;
  }
  mc->constants[mc->constant_count] = bits;
  return -1 - mc->constant_count++;
}

tg_mc_ref tg_mc_const(tg_mc *mc, float value) { return tg_mc_bits(mc, tg_f32_bits(value)); }

tg_mc_ref tg_mc_new(tg_mc *mc) { return mc->registers++; }

static tg_mc_op *push(tg_mc *mc, tg_mc_op op) {
  op.segment = mc->segment;
  TG_PUSH(mc->arena, mc->ops, mc->count, mc->capacity, op);
  return &mc->ops[mc->count - 1];
}

void tg_mc_assign(tg_mc *mc, tg_mc_ref dst, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c) {
  push(mc, (tg_mc_op){.kind = TG_MC_ALU, .alu = alu, .dst = dst, .a = {a, b, c}, .immediate = -1});
}

tg_mc_ref tg_mc_alu(tg_mc *mc, tg_alu alu, tg_mc_ref a, tg_mc_ref b, tg_mc_ref c) {
  int dst = tg_mc_new(mc);
  tg_mc_assign(mc, dst, alu, a, b, c);
  return dst;
}

void tg_mc_assign_imm(tg_mc *mc, tg_mc_ref dst, tg_alu alu, tg_mc_ref a, tg_mc_ref b, int immediate) {
  push(mc, (tg_mc_op){
               .kind = TG_MC_ALU, .alu = alu, .dst = dst, .a = {a, b, TG_MC_NONE}, .immediate = immediate});
}

tg_mc_ref tg_mc_alu_imm(tg_mc *mc, tg_alu alu, tg_mc_ref a, tg_mc_ref b, int immediate) {
  int dst = tg_mc_new(mc);
  tg_mc_assign_imm(mc, dst, alu, a, b, immediate);
  return dst;
}

tg_mc_ref tg_mc_lookup(tg_mc *mc, const float *table, tg_mc_ref index) {
  if (mc->table && mc->table != table) mc->overflow = true;
  mc->table = table;
  return tg_mc_alu(mc, TG_ALU_lut, index, TG_MC_NONE, TG_MC_NONE);
}

int tg_mc_operations(const tg_mc *mc) {
  int count = 0;
  for (size_t i = 0; i < mc->count; i++) count += mc->ops[i].kind == TG_MC_ALU;
  return count;
}

void tg_mc_load_in(tg_mc *mc, tg_mc_ref dst, int stream, bool halves) {
  for (int half = 0; half <= halves; half++)
    push(mc, (tg_mc_op){.kind = TG_MC_LOAD,
                        .dst = dst,
                        .stream = stream,
                        .half = half,
                        .a = {TG_MC_NONE, TG_MC_NONE, TG_MC_NONE}});
}

tg_mc_ref tg_mc_load(tg_mc *mc, int stream, bool halves) {
  int dst = tg_mc_new(mc);
  tg_mc_load_in(mc, dst, stream, halves);
  return dst;
}

void tg_mc_store(tg_mc *mc, int stream, bool halves, tg_mc_ref value) {
  for (int half = 0; half <= halves; half++)
    push(mc, (tg_mc_op){.kind = TG_MC_STORE,
                        .dst = -1,
                        .stream = stream,
                        .half = half,
                        .a = {value, TG_MC_NONE, TG_MC_NONE}});
}

/* Is it the result of one ALU operation of this segment, and of nothing else? */
static bool is_made_here(const tg_mc *mc, tg_mc_ref ref) {
  int alone = 0;
  for (size_t i = 0; i < mc->count; i++)
    if (mc->ops[i].dst == ref)
      alone += mc->ops[i].kind == TG_MC_ALU && mc->ops[i].segment == mc->segment ? 1 : 2;
  return ref >= 0 && alone == 1;
}

bool tg_mc_make_in(tg_mc *mc, tg_mc_ref out, tg_mc_ref made) {
  if (!is_made_here(mc, made)) {
    tg_mc_assign(mc, out, TG_ALU_mov, made, TG_MC_NONE, TG_MC_NONE);
    return false;
  }
  for (size_t i = 0; i < mc->count; i++) {
    if (mc->ops[i].dst == made) mc->ops[i].dst = out;
    for (int s = 0; s < 3; s++)
      if (mc->ops[i].a[s] == made) mc->ops[i].a[s] = out;
  }
  return true;
}
