#include "sim/machine/config.h"

#include "frontend/base/hash.h"
#include "sim/machine/walk.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_TAKERS = TG_CONFIG_LINES * TG_CONFIG_LINES,
  SLOTS = 1024,      /* of a hash table of values: a power of 2, more than MOST_TAKERS */
  INSTR_LANES = 128, /* room for the longest instruction, with the steps of walks, in whole words */
};

/* What a section is packed with, and who takes the item that is being sent: of each value what it was made of, and its lanes. */
typedef struct packer {
  const tg_params *m;
  const tg_section *section;
  uint32_t plane;
  tg_config_words *words; /* of the bus */
  tg_config_takers takers;
  const void *source[MOST_TAKERS];
  const uint32_t *value[MOST_TAKERS];
  uint32_t lanes[MOST_TAKERS][INSTR_LANES];
  uint16_t slot[SLOTS]; /* values by the hash of their source: number + 1; 0: empty */
} packer;

static uint32_t flit_lanes(const packer *p) { return p->m->p; }

static void begin_item(packer *p) {
  memset(p->takers.value_of, -1, sizeof p->takers.value_of);
  memset(p->slot, 0, sizeof p->slot);
  p->takers.values = 0;
}

/* The value that was made of such a source, or else the number of the next one. Neighbours often take the same. */
static uint32_t value_of(packer *p, const void *source, size_t bytes) {
  uint32_t values = p->takers.values;
  if (values && !memcmp(p->source[values - 1], source, bytes)) return values - 1;
  uint32_t at = (uint32_t)tg_hash(source, bytes) % SLOTS;
  for (; p->slot[at]; at = (at + 1) % SLOTS)
    if (!memcmp(p->source[p->slot[at] - 1], source, bytes)) return p->slot[at] - 1u;
  p->slot[at] = (uint16_t)(values + 1);
  return values;
}

/* Has the endpoint take the value that was made of a source with these `bytes`. NULL: there is one, else lanes to be made, all 0. */
static uint32_t *add_taker(packer *p, uint32_t row, uint32_t position, const void *source, size_t bytes) {
  tg_config_takers *t = &p->takers;
  uint32_t value = value_of(p, source, bytes);
  t->value_of[row][position] = (int16_t)value;
  if (value < t->values) return NULL;
  p->source[t->values++] = source;
  return memset(p->lanes[value], 0, sizeof p->lanes[0]);
}

/* Sends one word of the item, from lane `lane` of the values on. */
static void send_word(packer *p, const tg_config_word *like, uint32_t lane, bool dense) {
  for (uint32_t v = 0; v < p->takers.values; v++) p->value[v] = p->lanes[v] + lane;
  p->takers.value = p->value;
  if (p->takers.values) tg_config_share(p->m, &p->takers, like, dense, p->words);
}

/* ---- instructions ---- */

static void set_bits(uint64_t *words, uint32_t lsb, uint32_t width, uint64_t value) {
  words[lsb / 64] |= value << lsb % 64;
  if (lsb % 64 + width > 64) words[lsb / 64 + 1] |= value >> (64 - lsb % 64);
}

/* Behind an instruction of an AGCU: the starts and steps of its walks as digits, innermost lowest. */
static void add_walk_steps(const tg_agcu_instr *in, uint64_t *words) {
  static const uint32_t widths[3] = {TG_WALK_OUTER_BITS, TG_WALK_INNER_BITS, TG_WALK_INNER_BITS};
  uint32_t digits[TG_WALK_STEPS][3], lsb = tg_unit_bits(TG_AGCU);
  tg_walk_steps(in, digits);
  for (int s = 0; s < TG_WALK_STEPS; s++)
    for (int d = 2; d >= 0; d--) {
      set_bits(words, lsb, widths[d], digits[s][d]);
      lsb += widths[d];
    }
}

static void add_instr(packer *p, uint32_t row, uint32_t position, tg_unit unit, const tg_queue *queue,
                      uint32_t slot) {
  if (slot >= queue->count) return;
  const tg_instr *in = &queue->instrs[slot];
  uint32_t *lanes = add_taker(p, row, position, in, sizeof *in);
  if (!lanes) return;
  uint64_t words[TG_INSTR_BYTES / 8];
  tg_instr_encode(unit, in, words);
  if (unit == TG_AGCU && in->common.op != TG_OP_sync) add_walk_steps(&in->agcu, words);
  for (uint32_t l = 0; l < TG_INSTR_BYTES / 4; l++) lanes[l] = (uint32_t)(words[l / 2] >> 32 * (l % 2));
}

/* The first word of an instruction makes the others 0, so those that are need no word. */
static void send_instr(packer *p, uint32_t unit, uint32_t slot) {
  for (uint32_t l = 0; l < INSTR_LANES; l += flit_lanes(p)) {
    tg_config_word like = {.kind = TG_CFG_INSTR,
                           .unit = (uint8_t)unit,
                           .slot = (uint8_t)(slot + p->plane * tg_config_half(p->m->queue_depth)),
                           .lane = (uint16_t)l,
                           .clear = !l};
    send_word(p, &like, l, !l);
  }
}

static const tg_queue *queue_of(const tg_tile_program *tile, tg_unit unit) {
  return unit == TG_MX ? &tile->mx : unit == TG_VX ? &tile->vx : &tile->tx;
}

static void pack_tile_queues(packer *p) {
  const tg_params *m = p->m;
  for (int unit = TG_MX; unit <= TG_TX; unit++)
    for (uint32_t slot = 0;; slot++) {
      begin_item(p);
      for (uint32_t t = 0; t < tg_tiles(m); t++)
        add_instr(p, t / m->cols, t % m->cols + 1, (tg_unit)unit,
                  queue_of(&p->section->tiles[t], (tg_unit)unit), slot);
      if (!p->takers.values) break;
      send_instr(p, (uint32_t)unit, slot);
    }
}

/* Of AGCUs `first` .. `first` + `count` - 1: the west ones, or the north ones. */
static void pack_context_queues(packer *p, uint32_t first, uint32_t count) {
  for (uint32_t c = 0; c < p->m->agcu_contexts; c++)
    for (uint32_t slot = 0;; slot++) {
      begin_item(p);
      for (uint32_t i = 0; i < count; i++)
        add_instr(p, first ? TG_CONFIG_NORTH : i, first ? i + 1 : 0, TG_AGCU,
                  &p->section->agcus[first + i].contexts[c], slot);
      if (!p->takers.values) break;
      send_instr(p, c, slot);
    }
}

/* ---- tables ---- */

/* Of 4 bytes, in front of the half of a table that is written. */
static uint32_t lanes_before(const packer *p, uint8_t kind) {
  uint32_t lanes = kind == TG_CFG_WORD       ? 2 * tg_config_half(p->m->microcode_words)
                   : kind == TG_CFG_CONSTANT ? TG_CONFIG_CONSTANTS
                   : kind == TG_CFG_BASES    ? 2 * tg_config_half(TG_BASES)
                   : kind == TG_CFG_KEYS     ? tg_config_half(TG_BASES)
                                             : 0;
  return p->plane * lanes;
}

/* Has the endpoint take the word from byte `begin` of a table of `bytes` bytes on, if it has it. */
static void add_part(packer *p, uint32_t row, uint32_t position, const void *table, size_t bytes,
                     size_t begin) {
  uint32_t part[TG_CONFIG_LANES] = {0};
  if (begin >= bytes) return;
  size_t left = bytes - begin, most = tg_flit_bytes(p->m);
  memcpy(part, (const uint8_t *)table + begin, left < most ? left : most);
  uint32_t *lanes = add_taker(p, row, position, part, most);
  if (!lanes) return;
  memcpy(lanes, part, most);
  p->source[p->takers.values - 1] = lanes;
}

typedef enum table { MICROCODE, CONSTANTS, SEMAPHORES } table;

static void pack_tile_table(packer *p, table table, uint8_t kind, size_t most) {
  const tg_params *m = p->m;
  for (size_t begin = 0; begin < most; begin += tg_flit_bytes(m)) {
    begin_item(p);
    for (uint32_t t = 0; t < tg_tiles(m); t++) {
      const tg_tile_program *tile = &p->section->tiles[t];
      const void *data = table == MICROCODE   ? (const void *)tile->words
                         : table == CONSTANTS ? (const void *)tile->constants
                                              : tile->sem_init;
      size_t bytes = table == MICROCODE   ? 8u * tile->word_count
                     : table == CONSTANTS ? 4u * tile->constant_count
                                          : m->semaphores;
      add_part(p, t / m->cols, t % m->cols + 1, data, bytes, begin);
    }
    tg_config_word like = {.kind = kind, .lane = (uint16_t)(begin / 4 + lanes_before(p, kind))};
    send_word(p, &like, 0, table != SEMAPHORES); /* semaphores are 0 when a section's words begin */
  }
}

static void pack_agcu_semaphores(packer *p, uint32_t first, uint32_t count) {
  for (size_t begin = 0; begin < p->m->semaphores; begin += tg_flit_bytes(p->m)) {
    begin_item(p);
    for (uint32_t i = 0; i < count; i++)
      add_part(p, first ? TG_CONFIG_NORTH : i, first ? i + 1 : 0, p->section->agcus[first + i].sem_init,
               p->m->semaphores, begin);
    tg_config_word like = {.kind = TG_CFG_SEMAPHORES, .lane = (uint16_t)(begin / 4)};
    send_word(p, &like, 0, false);
  }
}

/* Entries of the base table up to the last one that a LOAD or STORE names, of the key table that a GEMM or VOP does. */
static void count_entries(const tg_params *m, const tg_section *section, uint32_t *out_bases,
                          uint32_t *out_keys) {
  *out_bases = *out_keys = 0;
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    const tg_tile_program *tile = &section->tiles[t];
    for (uint32_t i = 0; i < tile->mx.count; i++)
      if (tile->mx.instrs[i].common.op != TG_OP_sync && *out_keys <= tile->mx.instrs[i].mx.sr_key)
        *out_keys = (uint32_t)tile->mx.instrs[i].mx.sr_key + 1;
    for (uint32_t i = 0; i < tile->vx.count; i++)
      if (tile->vx.instrs[i].common.op != TG_OP_sync && *out_keys <= tile->vx.instrs[i].vx.sr_key)
        *out_keys = (uint32_t)tile->vx.instrs[i].vx.sr_key + 1;
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++)
    for (uint32_t c = 0; c < m->agcu_contexts; c++) {
      const tg_queue *queue = &section->agcus[a].contexts[c];
      for (uint32_t i = 0; i < queue->count; i++)
        if (queue->instrs[i].common.op != TG_OP_sync && *out_bases <= queue->instrs[i].agcu.base)
          *out_bases = (uint32_t)queue->instrs[i].agcu.base + 1;
    }
}

/* A table of the invocation, for all AGCUs or all tiles: others have none. */
static void pack_invocation_table(packer *p, uint8_t kind, const void *table, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += tg_flit_bytes(p->m)) {
    begin_item(p);
    for (uint32_t r = 0; r < TG_CONFIG_LINES; r++)
      for (uint32_t c = 0; c < TG_CONFIG_LINES; c++) add_part(p, r, c, table, bytes, begin);
    tg_config_word like = {.kind = kind, .lane = (uint16_t)(begin / 4 + lanes_before(p, kind))};
    send_word(p, &like, 0, true);
  }
}

/* What the contexts of AGCUs `first` .. `first` + `count` - 1 are loaded with. */
static void pack_agcus(packer *p, uint32_t first, uint32_t count, const uint64_t *bases,
                       uint32_t base_count) {
  static const uint64_t none[TG_BASES];
  pack_context_queues(p, first, count);
  pack_agcu_semaphores(p, first, count);
  pack_invocation_table(p, TG_CFG_BASES, bases ? bases : none, sizeof *bases * base_count);
}

void tg_config_pack(const tg_params *params, const tg_section *section, const uint64_t bases[TG_BASES],
                    const uint32_t keys[TG_BASES], int plane, tg_config *config) {
  static const uint32_t none[TG_BASES];
  packer *p = calloc(1, sizeof *p);
  if (!p) tg_die("out of memory");
  p->m = params;
  p->section = section;
  p->plane = (uint32_t)plane;
  p->words = &config->west;
  uint32_t base_count, key_count;
  count_entries(params, section, &base_count, &key_count);
  pack_tile_queues(p);
  pack_tile_table(p, MICROCODE, TG_CFG_WORD, 8u * params->microcode_words);
  pack_tile_table(p, CONSTANTS, TG_CFG_CONSTANT, 4u * params->vx_constants);
  pack_tile_table(p, SEMAPHORES, TG_CFG_SEMAPHORES, params->semaphores);
  pack_invocation_table(p, TG_CFG_KEYS, keys ? keys : none, sizeof *keys * key_count);
  pack_agcus(p, 0, params->rows, bases, base_count);
  p->words = &config->north;
  pack_agcus(p, params->rows, params->cols, bases, base_count);
  free(p);
}

bool tg_section_is_half(const tg_params *params, const tg_section *section) {
  uint32_t slots = tg_config_half(params->queue_depth), words = tg_config_half(params->microcode_words),
           bases, keys;
  count_entries(params, section, &bases, &keys);
  if (bases > tg_config_half(TG_BASES) || keys > tg_config_half(TG_BASES)) return false;
  for (uint32_t t = 0; t < tg_tiles(params); t++) {
    const tg_tile_program *tile = &section->tiles[t];
    if (tile->mx.count > slots || tile->vx.count > slots || tile->tx.count > slots ||
        tile->word_count > words)
      return false;
  }
  for (uint32_t a = 0; a < tg_agcus(params); a++)
    for (uint32_t c = 0; c < params->agcu_contexts; c++)
      if (section->agcus[a].contexts[c].count > slots) return false;
  return true;
}

uint64_t tg_section_config_words(const tg_params *params, const tg_section *section) {
  tg_config config = {0};
  tg_config_pack(params, section, NULL, NULL, 0, &config);
  return config.west.count > config.north.count ? config.west.count : config.north.count;
}

uint64_t tg_config_cycles(const tg_params *params, uint64_t words, uint64_t room) {
  /* The reset goes behind the words, and walks are begun from there on. */
  uint64_t least = tg_control_distance(params) + TG_WALK_LEAD;
  return (words > room ? words - room : 0) + (params->config_cycles < least ? least : params->config_cycles);
}
