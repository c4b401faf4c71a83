/* gen_isa_doc: writes docs/instruction-set.md, the machine's tables for readers, to stdout. */
#include "sim/machine/isa.h"

#include <ctype.h>
#include <stdio.h>

#define ARRAY(name, dram) ARRAY_##name,
enum {
#include "sim/machine/arrays.def"
  ARRAYS
};
#undef ARRAY
#define VALUES(...) __VA_ARGS__

static void print_cell(const char *text) {
  for (; *text; text++) {
    if (*text == '|') putchar('\\');
    putchar(*text);
  }
}

static void print_lower(const char *text) {
  for (; *text; text++) putchar(tolower((unsigned char)*text));
}

/* "7" or "4..7". */
static void print_bits(unsigned first, unsigned count) {
  printf("| %u", first);
  if (count > 1) printf("..%u", first + count - 1);
  printf(" | ");
}

/* ---- parameters ---- */

/* "| tiny | edge " and so on. */
static void print_names(void) {
  for (const char *const *name = tg_params_names(); *name; name++) printf("| %s ", *name);
}

static void print_rule(int columns) {
  while (columns--) printf("|---");
  puts("|");
}

static void print_values(const uint32_t values[ARRAYS]) {
  for (int i = 0; i < ARRAYS; i++) printf("| %u ", values[i]);
}

static void print_derived(const char *name, const tg_params m[ARRAYS], uint32_t derive(const tg_params *),
                          const char *meaning) {
  uint32_t values[ARRAYS];
  for (int i = 0; i < ARRAYS; i++) values[i] = derive(&m[i]);
  printf("| %s ", name);
  print_values(values);
  printf("| %s |\n", meaning);
}

static uint32_t macs_a_cycle(const tg_params *m) { return tg_tiles(m) * m->p * m->p; }
static uint32_t narrow_macs_a_cycle(const tg_params *m) { return 4 * macs_a_cycle(m); }
static uint32_t dram_bytes_a_cycle(const tg_params *m) { return tg_agcus(m) * m->port_bytes; }

static void print_parameters(void) {
  puts("## Parameters\n\n"
       "Presets, and the range of each parameter. `--arch NAME` chooses a preset or a YAML file, `--set "
       "KEY=VALUE` changes one.\n");
  printf("| parameter ");
  print_names();
  puts("| range | meaning |");
  print_rule(3 + ARRAYS);
#define PARAM(name, presets, lowest, highest, power_of_two, doc)                                             \
  printf("| `%s` ", #name);                                                                                  \
  print_values((uint32_t[ARRAYS]){VALUES presets});                                                          \
  printf("| %d..%d%s | %s |\n", lowest, highest, power_of_two ? ", powers of 2" : "", doc);
#include "sim/machine/params.def"
#undef PARAM
  tg_params m[ARRAYS];
  tg_diag diag = {""};
  for (int i = 0; i < ARRAYS; i++)
    if (tg_params_load(tg_params_names()[i], &m[i], &diag)) tg_die("%s", diag.message);
  printf("\nWhat follows from them:\n\n| ");
  print_names();
  puts("| |");
  print_rule(2 + ARRAYS);
#define DERIVED(name, value, meaning) print_derived(name, m, value, meaning)
  DERIVED("tiles", tg_tiles, "rows x cols");
  DERIVED("AGCUs", tg_agcus, "rows + cols, a DRAM port each");
  DERIVED("bytes of a flit", tg_flit_bytes, "4P");
  DERIVED("rows of a bank", tg_bank_rows, "bank_bytes / 4P");
  DERIVED("rows of an accumulator half", tg_acc_rows, "acc_bytes / 8P; a row is 2P FP32");
  DERIVED("rows of a store memory", tg_store_rows, "agcu_buffers * burst_flits");
  DERIVED("lanes of a vector unit", tg_lanes, "2P");
  DERIVED("port cycles of a 64-byte atom", tg_atom_cycles, "64 / port_bytes");
  DERIVED("DRAM bytes a cycle", dram_bytes_a_cycle, "AGCUs * port_bytes");
  DERIVED("multiply-adds a cycle, FP32", macs_a_cycle, "tiles * P * P");
  DERIVED("multiply-adds a cycle, BF16 or FP16", narrow_macs_a_cycle, "four times that");
#undef DERIVED
}

/* ---- instructions ---- */

static void print_operations(void) {
  puts("\n## Operations\n\n| unit | code | operation | effect |\n|---|---|---|---|");
#define OPERATION(unit, name, code, doc) printf("| %s | %d | `%s` | %s |\n", #unit, code, #name, doc);
#include "sim/machine/ops.def"
#undef OPERATION
}

static void print_code_set(const tg_code_set *set) {
  printf("\n### ");
  print_lower(set->name);
  printf("\n\n%s.\n\n| code | name | meaning |\n|---|---|---|\n", set->doc);
  for (int c = 0; c < set->count; c++) {
    printf("| %d | `", set->codes[c].value);
    print_lower(set->codes[c].name);
    printf("` | %s |\n", set->codes[c].doc);
  }
}

static void print_code_sets(void) {
  size_t count;
  const tg_code_set *sets = tg_code_sets(&count);
  puts("\n## Codes\n\nIn the text form of a program a field's codes are written by name.");
  for (size_t c = 0; c < count; c++) print_code_set(&sets[c]);
}

static void print_field_head(void) { puts("| bits | field | type | meaning |\n|---|---|---|---|"); }

static void print_field(const tg_field *field) {
  print_bits(field->bit, (unsigned)field->count * field->bits);
  printf("`%s`", field->name);
  printf(" | ");
  if (field->count > 1) printf("%u x ", field->count);
  printf("%c%u | ", field->is_signed ? 's' : 'u', field->bits);
  print_cell(field->doc);
  for (int c = 0; field->codes && c < field->codes->count; c++) {
    printf("%s %d ", c ? "," : ":", field->codes->codes[c].value);
    print_lower(field->codes->codes[c].name);
  }
  puts(" |");
}

static size_t common_count(const tg_field *fields) {
  size_t count = 0;
  while (fields[count].member < sizeof(tg_common_instr) / sizeof(int64_t)) count++;
  return count;
}

/* The stream of a VOP that a field belongs to; -1: none. */
static int stream_of(tg_unit unit, const tg_field *field) {
  const char *name = field->name;
  bool is = unit == TG_VX && name[0] == 's' && name[1] >= '0' && name[1] <= '9' && name[2] == '_';
  return is ? name[1] - '0' : -1;
}

/* One row for the streams 1 .. TG_STREAMS-1, which have the fields of stream 0. */
static void print_more_streams(const tg_field *first, unsigned end) {
  unsigned bits = end - first->bit;
  print_bits(first->bit, bits);
  printf("`s1_...` to `s%d_...` | | as `s0_...`, each %u bits further |\n", TG_STREAMS - 1,
         bits / (TG_STREAMS - 1));
}

static void print_unit(tg_unit unit) {
  size_t count;
  const tg_field *fields = tg_unit_fields(unit, &count);
  printf("\n### %s\n\n%u of %d bits are used.\n\n", tg_unit_name(unit), tg_unit_bits(unit),
         8 * TG_INSTR_BYTES);
  print_field_head();
  for (size_t f = common_count(fields); f < count; f++) {
    int stream = stream_of(unit, &fields[f]);
    if (stream <= 0) {
      print_field(&fields[f]);
      continue;
    }
    size_t last = f;
    while (last + 1 < count && stream_of(unit, &fields[last + 1]) > 0) last++;
    print_more_streams(&fields[f], last + 1 < count ? fields[last + 1].bit : tg_unit_bits(unit));
    f = last;
  }
}

static void print_instructions(void) {
  size_t count;
  const tg_field *fields = tg_unit_fields(TG_MX, &count);
  printf("\n## Instruction words\n\n"
         "An instruction word has %d bytes in every unit, little-endian, bit 0 lowest; what the fields leave "
         "is zero. Of a field\nwith several elements, element 0 is lowest. u: unsigned, s: two's complement. "
         "A row operand `x` is the five fields\n`x_base` to `x_rot_outer`. Loop levels are "
         "listed outermost first.\n\n### Common to all units\n\n",
         TG_INSTR_BYTES);
  print_field_head();
  for (size_t f = 0; f < common_count(fields); f++) print_field(&fields[f]);
  for (int unit = TG_MX; unit <= TG_AGCU; unit++) print_unit((tg_unit)unit);
}

/* ---- microcode ---- */

static void print_microcode(void) {
  puts("\n## Microcode of the vector unit\n\n"
       "A word has 64 bits. Its three slots read the state before the word and write what the next word "
       "sees.\n\n| bits | field | meaning |\n|---|---|---|");
  unsigned bit = 0;
#define UCODE(name, bits, doc)                                                                               \
  print_bits(bit, bits), printf("`%s` | %s |\n", #name, doc);                                                \
  bit += (bits);
#include "sim/machine/alu.def"
#undef UCODE
  puts("\n### ALU operations\n\n"
       "On the 32 bits of each lane, one rounding (RNE); an arithmetic result that is NaN is 0x7FC00000, "
       "\"bits\" operations keep\npayloads. Every operation takes `fma_latency` cycles.\n\n"
       "| code | operation | operands | result |\n|---|---|---|---|");
#define ALU(name, code, operands, doc)                                                                       \
  printf("| %d | `%s` | %d | ", code, #name, operands), print_cell(doc), puts(" |");
#include "sim/machine/alu.def"
#undef ALU
}

/* ---- what costs energy ---- */

static void print_energy(void) {
  puts("\n## Actions and their prices\n\n"
       "What engines count ([energy.md](energy.md)):\n\n| action | counts | of |\n|---|---|---|");
#define ACTION(name, kind, unit, doc) puts("| `" #name "` | " unit " | " doc " |");
#include "sim/machine/actions.def"
#undef ACTION
  puts("\nPrices, by the letters of the sources in `energy.def`; at another node those with one are "
       "scaled:\n\n"
       "| price | value | unit | at, nm | of |\n|---|---|---|---|---|");
#define ENERGY(name, value, from, unit, doc)                                                                 \
  printf("| `%s` | %g | %s | ", #name, (double)(value), unit);                                               \
  if (from) printf("%d", from);                                                                              \
  printf(" | %s |\n", doc);
#include "sim/machine/energy.def"
#undef ENERGY
  puts("\nof the memory device, each as that has it unless a table changes it:\n\n"
       "| price | simple | ddr4-3200 | lpddr5-6400 | gddr6-14000 | hbm2e-3200 | hbm3-6400 | unit | of |\n"
       "|---|---|---|---|---|---|---|---|---|");
#define DRAM_ENERGY(name, simple, ddr4, lpddr5, gddr6, hbm2e, hbm3, unit, doc)                               \
  printf("| `%s` | %.7g | %.7g | %.7g | %.7g | %.7g | %.7g | %s | %s |\n", #name, (double)(simple),          \
         (double)(ddr4), (double)(lpddr5), (double)(gddr6), (double)(hbm2e), (double)(hbm3), unit, doc);
#include "sim/machine/energy.def"
#undef DRAM_ENERGY
  puts("\nEnergy of logic at a node over that at 45 nm:\n\n| nm | V | energy |\n|---|---|---|");
#define NODE(nm, volts, a2, a1, a0) printf("| %d | %g | %.3f |\n", nm, volts, tg_energy_scale(45, nm));
#include "sim/machine/energy.def"
#undef NODE
}

int main(void) {
  puts("# Instruction set\n\n"
       "Printed by `sim/machine/gen_isa_doc.c` from `params.def`, `ops.def`, `isa.def`, `codes.def`, "
       "`alu.def`, `actions.def` and `energy.def`; do not edit. What the\nfields mean and when things happen "
       "is in "
       "[machine.md](machine.md).\n");
  print_parameters();
  print_operations();
  print_instructions();
  print_code_sets();
  print_microcode();
  print_energy();
  return 0;
}
