#include "sim/machine/isa.h"
#include "frontend/base/text_stream.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets of codes, from codes.def ---- */

#define CODES(set, bits, doc)       static const struct tg_code set##_codes[] = {
#define CODE(set, name, value, doc) {#name, doc, value},
#define CODES_END(set)                                                                                       \
  }                                                                                                          \
  ;
#include "sim/machine/codes.def"
#undef CODES
#undef CODE
#undef CODES_END

enum {
#define CODES(set, bits, doc) set##_SET,
#define CODE(set, name, value, doc)
#define CODES_END(set)
#include "sim/machine/codes.def"
#undef CODES
  CODE_SETS
};

static const tg_code_set code_sets[CODE_SETS] = {
#define CODES(set, bits, doc)                                                                                \
  [set##_SET] = {#set, doc, bits, sizeof set##_codes / sizeof *set##_codes, set##_codes},
#include "sim/machine/codes.def"
#undef CODES
#undef CODE
#undef CODES_END
};

const tg_code_set *tg_code_sets(size_t *out_count) {
  *out_count = CODE_SETS;
  return code_sets;
}

/* ---- field tables, from isa.def ---- */

/* Groups of fields lie on the fields that they name. */
_Static_assert(offsetof(tg_vx_instr, common.post_last) == offsetof(tg_vx_instr, post_last), "common fields");
_Static_assert(offsetof(tg_mx_instr, a.rot_outer) == offsetof(tg_mx_instr, a_rot_outer), "row operands");
_Static_assert(offsetof(tg_vx_instr, stream[TG_STREAMS - 1].store) == offsetof(tg_vx_instr, s11_store),
               "streams");

#define UNIT(unit)         static tg_field unit##_fields[] = {
#define MEMBER(unit, name) (offsetof(tg_##unit##_instr, name) / sizeof(int64_t))
#define FIELD(unit, name, count, bits, is_signed, doc)                                                       \
  {#name, doc, NULL, count, bits, is_signed, 0, MEMBER(unit, name)},
#define CODED(unit, name, count, bits, set, doc)                                                             \
  {#name, doc, &code_sets[set##_SET], count, bits, false, 0, MEMBER(unit, name)},
#define END(unit)                                                                                            \
  }                                                                                                          \
  ;
#include "sim/machine/isa.def"
#undef UNIT
#undef MEMBER
#undef FIELD
#undef END

static struct {
  tg_field *fields;
  size_t count;
  unsigned bits;
} units[] = {
    [TG_MX] = {mx_fields, sizeof mx_fields / sizeof *mx_fields, 0},
    [TG_VX] = {vx_fields, sizeof vx_fields / sizeof *vx_fields, 0},
    [TG_TX] = {tx_fields, sizeof tx_fields / sizeof *tx_fields, 0},
    [TG_AGCU] = {agcu_fields, sizeof agcu_fields / sizeof *agcu_fields, 0},
};

__attribute__((constructor)) static void place_fields(void) {
  for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
    unsigned bit = 0;
    for (size_t f = 0; f < units[u].count; f++) {
      units[u].fields[f].bit = (uint16_t)bit;
      bit += (unsigned)units[u].fields[f].count * units[u].fields[f].bits;
    }
    assert(bit <= 8 * TG_INSTR_BYTES);
    units[u].bits = bit;
  }
}

const tg_field *tg_unit_fields(tg_unit unit, size_t *out_count) {
  *out_count = units[unit].count;
  return units[unit].fields;
}

unsigned tg_unit_bits(tg_unit unit) { return units[unit].bits; }

const char *tg_unit_name(tg_unit unit) {
  static const char *const names[] = {[TG_MX] = "mx", [TG_VX] = "vx", [TG_TX] = "tx", [TG_AGCU] = "agcu"};
  return names[unit];
}

static const struct {
  tg_unit unit;
  const char *name;
  int code;
} operations[] = {
#define mx_UNIT                          TG_MX
#define vx_UNIT                          TG_VX
#define tx_UNIT                          TG_TX
#define agcu_UNIT                        TG_AGCU
#define OPERATION(unit, name, code, doc) {unit##_UNIT, #name, code},
#include "sim/machine/ops.def"
#undef OPERATION
};

const char *tg_operation_name(tg_unit unit, int64_t code) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (operations[i].unit == unit && operations[i].code == code) return operations[i].name;
  return NULL;
}

/* ---- encoding ---- */

static uint64_t get_bits(const uint64_t *words, unsigned bit, unsigned width) {
  uint64_t value = words[bit / 64] >> (bit % 64);
  if (bit % 64 + width > 64) value |= words[bit / 64 + 1] << (64 - bit % 64);
  return width < 64 ? value & ((1ull << width) - 1) : value;
}

/* Fields lie one behind the other (place_fields): what fills a word is written, what is over begins the next one. */
void tg_instr_encode(tg_unit unit, const tg_instr *instr, uint64_t out_words[TG_INSTR_BYTES / 8]) {
  const int64_t *members = (const int64_t *)(const void *)instr;
  uint64_t word = 0;
  unsigned used = 0, w = 0;
  memset(out_words, 0, TG_INSTR_BYTES);
  for (size_t f = 0; f < units[unit].count; f++) {
    const tg_field *field = &units[unit].fields[f];
    for (unsigned i = 0; i < field->count; i++) {
      uint64_t value = (uint64_t)members[field->member + i];
      if (field->bits < 64) value &= (1ull << field->bits) - 1;
      word |= value << used;
      used += field->bits;
      if (used < 64) continue;
      out_words[w++] = word;
      used -= 64;
      word = used ? value >> (field->bits - used) : 0;
    }
  }
  if (used) out_words[w] = word;
}

tg_status tg_instr_decode(tg_unit unit, const uint64_t words[TG_INSTR_BYTES / 8], tg_instr *out_instr,
                          tg_diag *diag) {
  int64_t *members = (int64_t *)(void *)out_instr;
  memset(out_instr, 0, sizeof *out_instr);
  for (size_t f = 0; f < units[unit].count; f++) {
    const tg_field *field = &units[unit].fields[f];
    for (unsigned i = 0; i < field->count; i++) {
      uint64_t value = get_bits(words, field->bit + i * field->bits, field->bits);
      if (field->is_signed && value >> (field->bits - 1)) value |= ~0ull << field->bits;
      members[field->member + i] = (int64_t)value;
    }
  }
  for (unsigned bit = units[unit].bits; bit < 8 * TG_INSTR_BYTES;) {
    unsigned width = 64 - bit % 64;
    if (get_bits(words, bit, width))
      return tg_fail(diag, TG_INVALID, "%s instruction has bits outside its fields", tg_unit_name(unit));
    bit += width;
  }
  return tg_instr_check(unit, out_instr, diag);
}

tg_status tg_instr_check(tg_unit unit, const tg_instr *instr, tg_diag *diag) {
  const int64_t *members = (const int64_t *)(const void *)instr;
  for (size_t f = 0; f < units[unit].count; f++) {
    const tg_field *field = &units[unit].fields[f];
    int64_t low = field->is_signed ? -(1ll << (field->bits - 1)) : 0;
    int64_t high = (1ll << (field->bits - (field->is_signed ? 1 : 0))) - 1;
    for (unsigned i = 0; i < field->count; i++) {
      int64_t value = members[field->member + i];
      if (value < low || value > high)
        return tg_fail(diag, TG_INVALID, "%s field %s[%u] = %lld does not fit in %u bits", tg_unit_name(unit),
                       field->name, i, (long long)value, field->bits);
    }
  }
  if (!tg_operation_name(unit, instr->common.op))
    return tg_fail(diag, TG_INVALID, "%s has no operation %lld", tg_unit_name(unit),
                   (long long)instr->common.op);
  return TG_OK;
}

/* ---- text ---- */

static void print_value(FILE *out, const tg_field *field, int64_t value) {
  if (!field->codes || value < 0 || value >= field->codes->count) {
    fprintf(out, "%lld", (long long)value);
    return;
  }
  for (const char *name = field->codes->codes[value].name; *name; name++)
    fputc(tolower((unsigned char)*name), out);
}

char *tg_instr_print(tg_unit unit, const tg_instr *instr, tg_arena *arena) {
  const int64_t *members = (const int64_t *)(const void *)instr;
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  fputs(tg_operation_name(unit, instr->common.op), out);
  for (size_t f = 1; f < units[unit].count; f++) { /* field 0 is the operation */
    const tg_field *field = &units[unit].fields[f];
    const int64_t *values = members + field->member;
    unsigned used = field->count;
    while (used && !values[used - 1]) used--;
    for (unsigned i = 0; i < used; i++) {
      if (i)
        fputc(',', out);
      else
        fprintf(out, " %s=", field->name);
      print_value(out, field, values[i]);
    }
  }
  return tg_text_end_on(&text, arena);
}

static bool same_letter(char name, char text) { return tolower((unsigned char)name) == text; }

/* The code whose name has the n characters of `text`; -1: none. */
static int find_code(const tg_code_set *codes, const char *text, size_t n) {
  for (int c = 0; c < codes->count; c++) {
    const char *name = codes->codes[c].name;
    size_t i = 0;
    while (i < n && name[i] && same_letter(name[i], text[i])) i++;
    if (i == n && !name[i]) return codes->codes[c].value;
  }
  return -1;
}

/* Parses "v,v,v" at *cursor into at most the field's count of values: numbers, or names of its codes. A name
 * may begin with a digit ("32"), so names come first; a number of the same digits would not fit into the field. */
static bool parse_values(const char **cursor, int64_t *values, const tg_field *field) {
  for (unsigned i = 0; i < field->count; i++) {
    size_t n = strcspn(*cursor, ", \t\n");
    int code = field->codes ? find_code(field->codes, *cursor, n) : -1;
    char *end = (char *)*cursor + n;
    values[i] = code;
    if (code < 0) {
      errno = 0;
      values[i] = strtoll(*cursor, &end, 0);
      if (end == *cursor || errno) return false;
    }
    *cursor = end;
    if (*end != ',') return true;
    (*cursor)++;
  }
  return false;
}

tg_status tg_instr_parse(tg_unit unit, const char *line, tg_instr *out_instr, tg_diag *diag) {
  memset(out_instr, 0, sizeof *out_instr);
  int64_t *members = (int64_t *)(void *)out_instr;
  while (isspace((unsigned char)*line)) line++;
  size_t n = strcspn(line, " \t\n");
  bool known = false;
  for (size_t i = 0; i < sizeof operations / sizeof *operations && !known; i++) {
    known = operations[i].unit == unit && strlen(operations[i].name) == n &&
            !strncmp(operations[i].name, line, n);
    if (known) out_instr->common.op = operations[i].code;
  }
  if (!known)
    return tg_fail(diag, TG_INVALID, "%s has no operation \"%.*s\"", tg_unit_name(unit),
                   (int)(n > 40 ? 40 : n), line);
  line += n;
  for (;;) {
    while (isspace((unsigned char)*line)) line++;
    if (!*line || *line == '#') return tg_instr_check(unit, out_instr, diag);
    n = strcspn(line, "= \t\n");
    const tg_field *field = NULL;
    for (size_t f = 1; f < units[unit].count && !field; f++)
      if (strlen(units[unit].fields[f].name) == n && !strncmp(units[unit].fields[f].name, line, n))
        field = &units[unit].fields[f];
    if (!field || line[n] != '=')
      return tg_fail(diag, TG_INVALID, "%s has no field \"%.*s\"", tg_unit_name(unit), (int)(n > 40 ? 40 : n),
                     line);
    line += n + 1;
    if (!parse_values(&line, members + field->member, field) || (*line && !isspace((unsigned char)*line)))
      return tg_fail(diag, TG_INVALID, "%s field %s wants up to %u %s", tg_unit_name(unit), field->name,
                     field->count, field->codes ? "codes" : "numbers");
  }
}
