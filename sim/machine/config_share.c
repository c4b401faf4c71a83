/* Words that many take, and patches of lanes for what differs between them. */
#include "sim/machine/config.h"

#include "frontend/base/hash.h"

#include <string.h>

/* Takers at the crossings of some rows and some positions. Lines are rows and places positions, or, along the other axis, the
 * other way round. */
typedef struct block {
  const tg_params *m;
  const tg_config_takers *takers;
  const tg_config_word *like;
  bool sparse;        /* lanes that are 0 need no word */
  uint32_t mask[2];   /* rows, positions */
  uint16_t *class_of; /* by number of the value: the first one with the same lanes */
  uint32_t *count_of; /* by number: takers */
  tg_config_words *words;
} block;

static uint32_t lanes_of(const tg_params *m) { return m->p; }

static uint32_t bit(uint32_t n) { return 1u << n; }

static uint32_t value_at(const block *b, int axis, uint32_t line, uint32_t place) {
  return (uint32_t)(axis ? b->takers->value_of[place][line] : b->takers->value_of[line][place]);
}

static bool is_zero(const block *b, uint32_t value) {
  for (uint32_t l = 0; l < lanes_of(b->m); l++)
    if (b->takers->value[value][l]) return false;
  return true;
}

static void put(const block *b, int axis, uint32_t lines, uint32_t places, const tg_config_word *word) {
  tg_config_words *w = b->words;
  if (!w->arena) {
    w->count++;
    return;
  }
  tg_config_word own = *word;
  own.rows = axis ? places : lines;
  own.positions = axis ? lines : places;
  TG_PUSH(w->arena, w->words, w->count, w->capacity, own);
}

static void put_value(const block *b, int axis, uint32_t lines, uint32_t places, const uint32_t *value) {
  tg_config_word word = *b->like;
  memcpy(word.data, value, tg_flit_bytes(b->m));
  put(b, axis, lines, places, &word);
}

/* Lines from `line` on that hold what it holds, everywhere: their values, or (`lane` >= 0) a lane of them. */
static uint32_t lines_like(const block *b, int axis, uint32_t line, int lane) {
  uint32_t same = 0;
  for (uint32_t other = line; other < TG_CONFIG_LINES; other++) {
    if (!(b->mask[axis] & bit(other))) continue;
    bool equal = true;
    for (uint32_t p = 0; p < TG_CONFIG_LINES && equal; p++) {
      if (!(b->mask[!axis] & bit(p))) continue;
      uint32_t mine = value_at(b, axis, line, p), its = value_at(b, axis, other, p);
      equal = lane < 0 ? b->class_of[mine] == b->class_of[its]
                       : b->takers->value[mine][lane] == b->takers->value[its][lane];
    }
    if (equal) same |= bit(other);
  }
  return same;
}

/* A word for each value, lines that hold the same taking it at once. Returns how many. */
static uint32_t send_values(const block *b, int axis, bool send) {
  uint32_t words = 0;
  for (uint32_t line = 0, left = b->mask[axis]; left; line++) {
    if (!(left & bit(line))) continue;
    uint32_t lines = lines_like(b, axis, line, -1);
    left &= ~lines;
    for (uint32_t p = 0, open = b->mask[!axis]; open; p++) {
      if (!(open & bit(p))) continue;
      uint32_t value = value_at(b, axis, line, p), places = 0;
      for (uint32_t q = p; q < TG_CONFIG_LINES; q++)
        if (open & bit(q) && b->class_of[value_at(b, axis, line, q)] == b->class_of[value]) places |= bit(q);
      open &= ~places;
      if (b->sparse && is_zero(b, value)) continue;
      words++;
      if (send) put_value(b, axis, lines, places, b->takers->value[value]);
    }
  }
  return words;
}

/* What the lane of a place is in a word that is scattered. */
static uint32_t index_of(int axis, uint32_t place) { return axis || !place ? place : place - 1; }

/* Patches of a lane for those that do not hold `base` there. Returns how many. */
static uint32_t send_lane(const block *b, int axis, uint32_t lane, uint32_t base, bool send) {
  uint32_t words = 0, lanes = lanes_of(b->m);
  for (uint32_t line = 0, left = b->mask[axis]; left; line++) {
    if (!(left & bit(line))) continue;
    uint32_t lines = lines_like(b, axis, line, (int)lane);
    left &= ~lines;
    for (uint32_t group = 0; group < TG_CONFIG_LINES; group += lanes) {
      tg_config_word word = *b->like;
      uint32_t places = 0;
      bool differs = false;
      for (uint32_t p = 0; p < TG_CONFIG_LINES; p++) {
        if (!(b->mask[!axis] & bit(p)) || index_of(axis, p) / lanes != group / lanes) continue;
        uint32_t value = b->takers->value[value_at(b, axis, line, p)][lane];
        word.data[index_of(axis, p) % lanes] = value;
        places |= bit(p);
        differs = differs || value != base;
      }
      if (!differs) continue;
      words++;
      if (!send) continue;
      word.scatter = true;
      word.by_row = axis;
      word.clear = false;
      word.lane += (uint16_t)lane;
      put(b, axis, lines, places, &word);
    }
  }
  return words;
}

/* Do all takers hold the same in a lane? *out_value: what the first of them holds. */
static bool is_common(const block *b, uint32_t lane, uint32_t *out_value) {
  bool found = false;
  for (uint32_t v = 0; v < b->takers->values; v++) {
    uint32_t value = b->takers->value[v][lane];
    if (!b->count_of[v]) continue;
    if (found && value != *out_value) return false;
    found = true;
    *out_value = value;
  }
  return true;
}

/* What most takers hold in a lane; *out_same: all of them do. */
static uint32_t common_lane(const block *b, uint32_t lane, bool *out_same) {
  uint32_t best = 0, most = 0;
  *out_same = is_common(b, lane, &best);
  if (*out_same) return best;
  for (uint32_t v = 0; v < b->takers->values; v++) {
    uint32_t count = 0;
    if (!b->count_of[v]) continue;
    for (uint32_t w = 0; w < b->takers->values; w++)
      if (b->takers->value[w][lane] == b->takers->value[v][lane]) count += b->count_of[w];
    if (count <= most) continue;
    most = count;
    best = b->takers->value[v][lane];
  }
  return best;
}

/* A word for all of them, and patches. Returns how many. */
static uint32_t send_patched(const block *b, bool send) {
  uint32_t base[TG_CONFIG_LANES] = {0};
  bool same[TG_CONFIG_LANES], zero = true;
  uint32_t words = 0, lanes = lanes_of(b->m);
  for (uint32_t l = 0; l < lanes; l++) {
    base[l] = common_lane(b, l, &same[l]);
    zero = zero && !base[l];
  }
  if (!zero || !b->sparse) {
    words++;
    if (send) put_value(b, 0, b->mask[0], b->mask[1], base);
  }
  for (uint32_t l = 0; l < lanes; l++) {
    if (same[l]) continue;
    uint32_t along = send_lane(b, 0, l, base[l], false), across = send_lane(b, 1, l, base[l], false);
    words += along <= across ? along : across;
    if (send) send_lane(b, along > across, l, base[l], true);
  }
  return words;
}

static void count_takers(block *b) {
  memset(b->count_of, 0, b->takers->values * sizeof *b->count_of);
  for (uint32_t r = 0; r < TG_CONFIG_LINES; r++)
    for (uint32_t p = 0; p < TG_CONFIG_LINES; p++)
      if (b->mask[0] & bit(r) && b->mask[1] & bit(p)) b->count_of[b->takers->value_of[r][p]]++;
}

static void send_block(block *b) {
  count_takers(b);
  uint32_t along = send_values(b, 0, false);
  if (along <= 1) {
    send_values(b, 0, true);
    return;
  }
  uint32_t across = send_values(b, 1, false), patched = send_patched(b, false);
  if (patched < along && patched < across)
    send_patched(b, true);
  else
    send_values(b, across < along, true);
}

/* Sets class_of. Do all values hold the same? */
static bool set_classes(const block *b) {
  enum { SLOTS = 1024 }; /* a power of 2, more than there are values */
  uint16_t slot[SLOTS];  /* first values of classes, by hash: number + 1; 0: empty */
  const uint32_t *const *value = b->takers->value;
  size_t bytes = tg_flit_bytes(b->m);
  uint32_t like_first = 0, values = b->takers->values;
  while (like_first < values && !memcmp(value[like_first], value[0], bytes)) b->class_of[like_first++] = 0;
  if (like_first == values) return true;
  memset(slot, 0, sizeof slot);
  for (uint32_t v = 0; v < values; v++) {
    uint32_t at = (uint32_t)tg_hash(value[v], bytes) % SLOTS;
    while (slot[at] && memcmp(value[slot[at] - 1], value[v], bytes)) at = (at + 1) % SLOTS;
    if (!slot[at]) slot[at] = (uint16_t)(v + 1);
    b->class_of[v] = slot[at] - 1u;
  }
  return false;
}

/* One word, or none, for takers of the same. */
static void send_alike(const block *b) {
  if (!b->sparse || !is_zero(b, 0)) put_value(b, 0, b->mask[0], b->mask[1], b->takers->value[0]);
}

void tg_config_share(const tg_params *params, const tg_config_takers *takers, const tg_config_word *like,
                     bool dense, tg_config_words *words) {
  enum { MOST = TG_CONFIG_LINES * TG_CONFIG_LINES };
  uint16_t class_of[MOST];
  uint32_t count_of[MOST], taken[TG_CONFIG_LINES] = {0};
  block b = {params, takers, like, !dense, {0}, class_of, count_of, words};
  bool alike = set_classes(&b);
  for (uint32_t r = 0; r < TG_CONFIG_LINES; r++)
    for (uint32_t p = 0; p < TG_CONFIG_LINES; p++)
      if (takers->value_of[r][p] >= 0) taken[r] |= bit(p);
  for (uint32_t r = 0; r < TG_CONFIG_LINES; r++) {
    if (!taken[r]) continue;
    b.mask[0] = 0;
    b.mask[1] = taken[r];
    for (uint32_t other = TG_CONFIG_LINES; other-- > r;)
      if (taken[other] == b.mask[1]) {
        b.mask[0] |= bit(other);
        taken[other] = 0;
      }
    if (alike)
      send_alike(&b);
    else
      send_block(&b);
  }
}
