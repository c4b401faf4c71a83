/* Packing of microprograms into words of three slots; registers and constants. */
#include "mapper/microcode/microcode.h"

#include "sim/machine/numerics.h"

#include <assert.h>
#include <string.h>

/* Life of a virtual register: in one segment from its first definition to its last use; `global` ones, which
 * loops or later segments see, keep a register for the whole VOP. */
typedef struct life {
  int segment, first, last; /* words */
  bool global, defined;
  int physical;
} life;

static void note_lives(const tg_mc *mc, life *lives) {
  for (size_t i = 0; i < mc->count; i++) {
    const tg_mc_op *op = &mc->ops[i];
    for (int s = 0; s < 3; s++)
      if (op->a[s] >= 0) {
        life *l = &lives[op->a[s]];
        if (!l->defined || l->segment != op->segment) l->global = true;
      }
    if (op->dst < 0) continue;
    life *l = &lives[op->dst];
    bool again = l->defined && !(op->kind == TG_MC_LOAD && op->half);
    if (again) l->global = true;
    l->defined = true;
    l->segment = op->segment;
  }
}

/* In order for the ALU, each slot as early as its operands allow; every word sees the results of earlier
 * words only. */
static int place_segment(tg_mc *mc, int segment, int *ready, int *read, const life *lives) {
  int next[3] = {0, 0, 0}, length = 0;
  for (size_t i = 0; i < mc->count; i++) {
    tg_mc_op *op = &mc->ops[i];
    if (op->segment != segment) continue;
    int word = next[op->kind];
    for (int s = 0; s < 3; s++)
      if (op->a[s] >= 0 && ready[op->a[s]] > word) word = ready[op->a[s]];
    /* Nothing overtakes what earlier operations still read from, or write to, a carried register; a word reads before it writes. */
    if (op->dst >= 0 && lives[op->dst].global) {
      if (read[op->dst] > word) word = read[op->dst];
      if (ready[op->dst] > word) word = ready[op->dst];
    }
    op->word = word;
    next[op->kind] = word + 1;
    for (int s = 0; s < 3; s++)
      if (op->a[s] >= 0 && read[op->a[s]] < word) read[op->a[s]] = word;
    if (op->dst >= 0 && ready[op->dst] < word + 1) ready[op->dst] = word + 1;
    if (length < word + 1) length = word + 1;
  }
  return length;
}

static void measure_lives(const tg_mc *mc, life *lives) {
  for (int r = 0; r < mc->registers; r++) lives[r].first = INT32_MAX, lives[r].last = -1;
  for (size_t i = 0; i < mc->count; i++) {
    const tg_mc_op *op = &mc->ops[i];
    if (op->dst >= 0) {
      if (op->word < lives[op->dst].first) lives[op->dst].first = op->word;
      if (op->word > lives[op->dst].last) lives[op->dst].last = op->word;
    }
    for (int s = 0; s < 3; s++)
      if (op->a[s] >= 0 && op->word > lives[op->a[s]].last) lives[op->a[s]].last = op->word;
  }
}

/* Linear scan: a register is free again in the word of its last use, since a word reads before it writes. */
static bool assign_registers(const tg_mc *mc, life *lives, int segment, int length, int first_free) {
  int busy_until[TG_VX_REGS];
  for (int p = 0; p < TG_VX_REGS; p++) busy_until[p] = p < first_free ? INT32_MAX : -1;
  for (int word = 0; word < length; word++)
    for (int r = 0; r < mc->registers; r++) {
      life *l = &lives[r];
      if (l->global || l->segment != segment || l->first != word || !l->defined) continue;
      int p = first_free;
      while (p < TG_VX_REGS && busy_until[p] > word) p++;
      if (p == TG_VX_REGS) return false;
      l->physical = p;
      busy_until[p] = l->last > word ? l->last : word + 1; /* a result that nobody reads still lands */
    }
  return true;
}

static uint8_t operand(const life *lives, tg_mc_ref ref) {
  if (ref == TG_MC_NONE) return 0;
  return (uint8_t)(ref >= 0 ? lives[ref].physical : TG_CONST0 + (-1 - ref));
}

static void write_op(const tg_mc_op *op, const life *lives, tg_ucode *word) {
  switch (op->kind) {
  case TG_MC_LOAD:
    word->ld_on = 1;
    word->ld_stream = (uint8_t)op->stream;
    word->ld_half = (uint8_t)op->half;
    word->ld_dst = (uint8_t)lives[op->dst].physical;
    break;
  case TG_MC_STORE:
    word->st_on = 1;
    word->st_stream = (uint8_t)op->stream;
    word->st_half = (uint8_t)op->half;
    word->st_src = operand(lives, op->a[0]);
    break;
  case TG_MC_ALU:
    word->alu_op = (uint8_t)op->alu;
    word->alu_dst = (uint8_t)lives[op->dst].physical;
    word->alu_a = operand(lives, op->a[0]);
    word->alu_b = operand(lives, op->a[1]);
    word->alu_c = op->immediate >= 0 ? (uint8_t)op->immediate : operand(lives, op->a[2]);
    break;
  }
}

/* The constants in order; a table takes the upper half of the 64. */
static int all_constants(const tg_mc *mc, uint32_t *out) {
  memcpy(out, mc->constants, sizeof *out * (size_t)mc->constant_count);
  if (!mc->table) return mc->constant_count;
  for (int i = mc->constant_count; i < TG_MC_TABLE; i++) out[i] = 0;
  memcpy(out + TG_MC_TABLE, mc->table, sizeof *out * (TG_MC_CONSTANTS - TG_MC_TABLE));
  return TG_MC_CONSTANTS;
}

static void append_to_tiles(const tg_mc *mc, tg_program *program, uint32_t section, const uint64_t *words,
                            int count) {
  const tg_params *m = &program->params;
  uint32_t constants[TG_MC_CONSTANTS];
  int constant_count = all_constants(mc, constants);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    tg_tile_program *tile = &program->sections[section].tiles[t];
    tile->words = TG_NEW_ARRAY(&program->arena, uint64_t, (size_t)count);
    memcpy(tile->words, words, sizeof *words * (size_t)count);
    tile->word_count = (uint32_t)count;
    tile->constants = TG_NEW_ARRAY(&program->arena, uint32_t, (size_t)constant_count);
    memcpy(tile->constants, constants, sizeof *constants * (size_t)constant_count);
    tile->constant_count = (uint32_t)constant_count;
  }
}

/* Where everything goes. */
typedef struct layout {
  life *lives; /* by virtual register */
  int length[TG_MC_SEGMENTS], words;
} layout;

static tg_status lay_out(tg_mc *mc, const tg_params *m, layout *out, tg_diag *diag) {
  int own = mc->table ? TG_MC_TABLE : (int)m->vx_constants;
  if (mc->constant_count == TG_MC_CONSTANTS && mc->overflow)
    return tg_fail(diag, TG_INVALID, "it needs more than %d vector constants, the array has %u",
                   TG_MC_CONSTANTS, m->vx_constants);
  if (mc->overflow) return tg_fail(diag, TG_INVALID, "it needs more vector constants than there are");
  int constants = mc->table ? TG_MC_CONSTANTS : mc->constant_count; /* a table takes the upper half of all */
  if (mc->table && mc->constant_count > own)
    return tg_fail(diag, TG_INVALID, "it needs %d vector constants beside a table, the array has %d",
                   mc->constant_count, TG_MC_TABLE);
  if (constants > (int)m->vx_constants)
    return tg_fail(diag, TG_INVALID, "it needs %d vector constants%s, the array has %u", constants,
                   mc->table ? ", the upper half of them for a table" : "", m->vx_constants);
  tg_mc_simplify_comparisons(mc, own);
  *out = (layout){.lives = TG_NEW_ARRAY(mc->arena, life, (size_t)mc->registers + 1)};
  int *ready = TG_NEW_ARRAY(mc->arena, int, (size_t)mc->registers + 1), globals = 0;
  int *read = TG_NEW_ARRAY(mc->arena, int, (size_t)mc->registers + 1);
  assert(mc->segment < TG_MC_SEGMENTS);
  note_lives(mc, out->lives);
  for (int q = 0; q <= mc->segment; q++) {
    memset(ready, 0, sizeof *ready * (size_t)(mc->registers + 1));
    memset(read, 0, sizeof *read * (size_t)(mc->registers + 1));
    out->length[q] = place_segment(mc, q, ready, read, out->lives);
    out->words += out->length[q];
  }
  mc->words = (uint32_t)out->words;
  if (out->words > (int)m->microcode_words)
    return tg_fail(diag, TG_INVALID, "it needs %d microcode words, the array has %u", out->words,
                   m->microcode_words);
  measure_lives(mc, out->lives);
  for (int r = 0; r < mc->registers; r++)
    if (out->lives[r].global) out->lives[r].physical = globals++;
  for (int q = 0; q <= mc->segment; q++)
    if (globals >= TG_VX_REGS || !assign_registers(mc, out->lives, q, out->length[q], globals))
      return tg_fail(diag, TG_INVALID, "it needs more than %d vector registers", TG_VX_REGS);
  return TG_OK;
}

tg_status tg_mc_check(tg_mc *mc, const tg_params *m, tg_diag *diag) {
  layout at;
  return lay_out(mc, m, &at, diag);
}

bool tg_mc_fits(tg_mc *mc, const tg_params *m, int *out_lengths) {
  layout at;
  tg_diag diag = {""};
  if (lay_out(mc, m, &at, &diag)) return false;
  for (int q = 0; q <= mc->segment && out_lengths; q++) out_lengths[q] = at.length[q];
  return true;
}

tg_status tg_mc_pack(tg_mc *mc, tg_program *program, uint32_t section, tg_vx_instr *vop, tg_diag *diag) {
  return tg_mc_pack_parts(mc, NULL, 0, program, section, vop, diag);
}

tg_status tg_mc_pack_parts(tg_mc *mc, const int *splits, int count, tg_program *program, uint32_t section,
                           tg_vx_instr *vops, tg_diag *diag) {
  layout at;
  tg_status status = lay_out(mc, &program->params, &at, diag);
  if (status) return status;
  uint64_t *words = TG_NEW_ARRAY(mc->arena, uint64_t, (size_t)at.words + 1);
  tg_ucode *decoded = TG_NEW_ARRAY(mc->arena, tg_ucode, (size_t)at.words + 1);
  int begin = 0, part = 0, first = 0;
  for (int q = 0; q <= mc->segment; q++) {
    for (size_t i = 0; i < mc->count; i++)
      if (mc->ops[i].segment == q) write_op(&mc->ops[i], at.lives, &decoded[begin + mc->ops[i].word]);
    if (part < count && q == splits[part]) part++, first = q;
    assert(q - first < TG_SEGMENTS);
    vops[part].seg_begin[q - first] = begin;
    vops[part].seg_len[q - first] = at.length[q];
    begin += at.length[q];
  }
  for (int w = 0; w < at.words; w++) words[w] = tg_ucode_encode(&decoded[w]);
  append_to_tiles(mc, program, section, words, at.words);
  return TG_OK;
}
