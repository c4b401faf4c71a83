/* Microcode words of the vector unit: encoding and text. */
#include "frontend/base/text_stream.h"
#include "sim/machine/isa.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  uint8_t bits;
  uint8_t offset; /* in tg_ucode */
} fields[] = {
#define UCODE(name, bits, doc) {#name, bits, offsetof(tg_ucode, name)},
#include "sim/machine/alu.def"
#undef UCODE
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const struct {
  const char *name;
  uint8_t code, operands;
} alu_ops[] = {
#define ALU(name, code, operands, doc) {#name, code, operands},
#include "sim/machine/alu.def"
#undef ALU
};
enum { ALU_OPS = sizeof alu_ops / sizeof *alu_ops };

uint64_t tg_ucode_encode(const tg_ucode *word) {
  uint64_t bits = 0;
  unsigned at = 0;
  for (int f = 0; f < FIELDS; f++) {
    bits |= ((uint64_t)((const uint8_t *)word)[fields[f].offset] & ((1u << fields[f].bits) - 1)) << at;
    at += fields[f].bits;
  }
  return bits;
}

tg_ucode tg_ucode_decode(uint64_t bits) {
  tg_ucode word = {0};
  unsigned at = 0;
  for (int f = 0; f < FIELDS; f++) {
    ((uint8_t *)&word)[fields[f].offset] = (uint8_t)(bits >> at & ((1u << fields[f].bits) - 1));
    at += fields[f].bits;
  }
  return word;
}

static const char *alu_name(unsigned code) {
  for (int i = 0; i < ALU_OPS; i++)
    if (alu_ops[i].code == code) return alu_ops[i].name;
  return "?";
}

static void print_operand(FILE *out, unsigned operand) {
  fprintf(out, operand >= TG_CONST0 ? "k%u" : "r%u", operand >= TG_CONST0 ? operand - TG_CONST0 : operand);
}

/* "ld r3 = s0.hi | fma r1 = r2 k0 r3 | st s4.lo = r1"; rot, bcast and tail end in their immediate. */
char *tg_ucode_print(const tg_ucode *word, tg_arena *arena) {
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  if (word->ld_on)
    fprintf(out, "ld r%u = s%u.%s", word->ld_dst, word->ld_stream, word->ld_half ? "hi" : "lo");
  fputs(" | ", out);
  if (word->alu_op == TG_ALU_nop)
    fputs("nop", out);
  else {
    bool immediate = tg_alu_has_immediate(word->alu_op);
    fprintf(out, "%s r%u = ", alu_name(word->alu_op), word->alu_dst);
    print_operand(out, word->alu_a);
    fputc(' ', out);
    print_operand(out, word->alu_b);
    fputc(' ', out);
    if (immediate)
      fprintf(out, "%u", word->alu_c);
    else
      print_operand(out, word->alu_c);
  }
  fputs(" | ", out);
  if (word->st_on) {
    fprintf(out, "st s%u.%s = ", word->st_stream, word->st_half ? "hi" : "lo");
    print_operand(out, word->st_src);
  }
  return tg_text_end_on(&text, arena);
}

static bool parse_operand(const char *text, unsigned *out) {
  unsigned number;
  char kind;
  int n = 0;
  if (sscanf(text, "%c%u%n", &kind, &number, &n) == 2 && (kind == 'r' || kind == 'k') && !text[n]) {
    *out = kind == 'k' ? TG_CONST0 + number : number;
    return kind == 'k' ? number < 64 : number < TG_VX_REGS;
  }
  return sscanf(text, "%u%n", out, &n) == 1 && !text[n] && *out < 128; /* an immediate */
}

/* Of streams that a VOP does not have, program_check.c says which word has one; words that no VOP runs may. */
enum { STREAM_NUMBERS = 16 };

static bool parse_slot(const char *slot, tg_ucode *word) {
  char op[16], a[8] = "r0", b[8] = "r0", c[8] = "r0", half[4];
  unsigned dst, stream, operand[3];
  while (isspace((unsigned char)*slot)) slot++;
  if (!*slot || !strcmp(slot, "nop")) return true;
  if (sscanf(slot, "ld r%u = s%u.%3s", &dst, &stream, half) == 3) {
    word->ld_on = 1, word->ld_dst = (uint8_t)dst, word->ld_stream = (uint8_t)stream,
    word->ld_half = !strcmp(half, "hi");
    return dst < TG_VX_REGS && stream < STREAM_NUMBERS;
  }
  if (sscanf(slot, "st s%u.%3s = %7s", &stream, half, a) == 3) {
    if (!parse_operand(a, &operand[0])) return false;
    word->st_on = 1, word->st_stream = (uint8_t)stream, word->st_src = (uint8_t)operand[0],
    word->st_half = !strcmp(half, "hi");
    return stream < STREAM_NUMBERS;
  }
  if (sscanf(slot, "%15s r%u = %7s %7s %7s", op, &dst, a, b, c) < 3) return false;
  if (!parse_operand(a, &operand[0]) || !parse_operand(b, &operand[1]) || !parse_operand(c, &operand[2]))
    return false;
  for (int i = 0; i < ALU_OPS; i++)
    if (!strcmp(alu_ops[i].name, op)) {
      word->alu_op = alu_ops[i].code, word->alu_dst = (uint8_t)dst;
      word->alu_a = (uint8_t)operand[0], word->alu_b = (uint8_t)operand[1], word->alu_c = (uint8_t)operand[2];
      return dst < TG_VX_REGS;
    }
  return false;
}

tg_status tg_ucode_parse(const char *line, tg_ucode *out_word, tg_diag *diag) {
  char copy[160];
  *out_word = (tg_ucode){0};
  if (strlen(line) >= sizeof copy) return tg_fail(diag, TG_INVALID, "microcode word is too long");
  strcpy(copy, line);
  for (char *slot = copy, *next; slot; slot = next) {
    next = strchr(slot, '|');
    if (next) *next++ = 0;
    size_t n = strlen(slot);
    while (n && isspace((unsigned char)slot[n - 1])) slot[--n] = 0;
    if (!parse_slot(slot, out_word))
      return tg_fail(diag, TG_INVALID, "microcode slot \"%s\" is not understood", slot);
  }
  return TG_OK;
}
