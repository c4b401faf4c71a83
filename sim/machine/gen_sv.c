/* gen_sv [ARCH] [KEY=VALUE ...]: writes tegula_pkg.sv, the machine's tables as a SystemVerilog package, to
 * stdout. */
#include "sim/machine/config.h"
#include "sim/machine/isa.h"
#include "sim/machine/walk.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* "bank_bytes" or "BANK_BYTES" as BankBytes: constants and codes are named in UpperCamelCase (rtl/README.md). */
static void print_camel(const char *text) {
  for (bool first = true; *text; text++) {
    if (*text != '_') putchar(first ? toupper((unsigned char)*text) : tolower((unsigned char)*text));
    first = *text == '_';
  }
}

static void print_parameters(const tg_params *m) {
#define PARAM(name, presets, lowest, highest, power_of_two, doc)                                             \
  printf("  localparam int unsigned ");                                                                      \
  print_camel(#name);                                                                                        \
  printf(" = %u;  // %s\n", m->name, doc);
#include "sim/machine/params.def"
#undef PARAM
  printf("  localparam int unsigned Tiles = %u;\n", tg_tiles(m));
  printf("  localparam int unsigned Agcus = %u;\n", tg_agcus(m));
  printf("  localparam int unsigned Endpoints = %u;  // tiles, then AGCUs\n", tg_tiles(m) + tg_agcus(m));
  printf("  localparam int unsigned Units = %u;  // mx, vx, tx of the tiles, then contexts of the AGCUs\n",
         3 * tg_tiles(m) + tg_agcus(m) * m->agcu_contexts);
  printf(
      "  localparam int unsigned BankRows = %u;\n  localparam int unsigned AccRows = %u;  // of each half\n",
      tg_bank_rows(m), tg_acc_rows(m));
  printf("  localparam int unsigned StoreRows = %u;  // store memory of an AGCU\n", tg_store_rows(m));
  printf("  // Entries of half a queue and of half the other memories of the configuration\n"
         "  localparam int unsigned QueueHalf = %u;\n  localparam int unsigned MicrocodeHalf = %u;\n"
         "  localparam int unsigned TableHalf = %u;\n",
         tg_config_half(m->queue_depth), tg_config_half(m->microcode_words), tg_config_half(TG_BASES));
  printf("  localparam int unsigned AtomCycles = %u;\n", tg_atom_cycles(m));
  printf("  localparam int unsigned Lanes = %u;  // of the vector unit\n  localparam int unsigned FlitBits = "
         "%u;\n\n",
         tg_lanes(m), 8 * tg_flit_bytes(m));
}

static void print_lower(const char *text) {
  for (; *text; text++) putchar(tolower((unsigned char)*text));
}

/* Packed structs list their most significant member first, so the table is printed backwards. */
static void print_struct(const char *name, const tg_field *fields, size_t count) {
  printf("  typedef struct packed {\n");
  for (size_t f = count; f-- > 0;) {
    printf("    ");
    if (fields[f].codes && fields[f].count == 1) { /* Yosys knows no arrays of enumerations */
      print_lower(fields[f].codes->name);
      printf("_e %s;\n", fields[f].name);
      continue;
    }
    printf("logic%s ", fields[f].is_signed ? " signed" : "");
    if (fields[f].count > 1) printf("[%d:0]", fields[f].count - 1);
    printf("[%d:0] %s;\n", fields[f].bits - 1, fields[f].name);
  }
  printf("  } %s;\n", name);
}

static void print_unit(tg_unit unit) {
  size_t count;
  const tg_field *fields = tg_unit_fields(unit, &count);
  char name[32];
  snprintf(name, sizeof name, "%s_instr_t", tg_unit_name(unit));
  print_struct(name, fields, count);
  printf("  localparam int unsigned ");
  print_camel(tg_unit_name(unit));
  printf("InstrBits = %u;\n\n", tg_unit_bits(unit));
}

/* The streams of a VOP are alike and follow each other: one struct for their fields, without the "s0_". */
static void print_streams(void) {
  enum { PREFIX = 3 };
  size_t count, first = 0, members = 0;
  const tg_field *all = tg_unit_fields(TG_VX, &count);
  tg_field fields[sizeof(tg_stream) / sizeof(int64_t)];
  while (strncmp(all[first].name, "s0_", PREFIX)) first++;
  for (; !strncmp(all[first + members].name, "s0_", PREFIX); members++) {
    fields[members] = all[first + members];
    fields[members].name += PREFIX;
  }
  print_struct("vx_stream_t", fields, members);
  printf("  localparam int unsigned VxStreams = %d;\n", TG_STREAMS);
  printf("  localparam int unsigned VxStreamLsb = %u;  // of s0 in vx_instr_t\n", all[first].bit);
  printf("  localparam int unsigned VxStreamBits = %u;\n\n", all[first + members].bit - all[first].bit);
}

static void print_common(void) {
  size_t count, common = 0;
  const tg_field *fields = tg_unit_fields(TG_MX, &count);
  while (fields[common].member < sizeof(tg_common_instr) / sizeof(int64_t)) common++;
  print_struct("common_instr_t", fields, common);
  printf("  localparam int unsigned CommonInstrBits = %u;\n\n", fields[common].bit);
}

/* A set of codes as an enumeration: post_e with PostNone, PostLocal ... */
static void print_code_set(const tg_code_set *set) {
  printf("  // %s.\n  typedef enum logic [%d:0] {\n", set->doc, set->bits - 1);
  for (int c = 0; c < set->count; c++) {
    printf("    ");
    print_camel(set->name);
    print_camel(set->codes[c].name);
    printf(" = %d'd%d%s  // %s\n", set->bits, set->codes[c].value, c + 1 < set->count ? "," : "",
           set->codes[c].doc);
  }
  printf("  } ");
  print_lower(set->name);
  printf("_e;\n\n");
}

/* Which conversions have elements of 4 bytes, as a mask. Codes that do not exist have. */
static void print_wide_conversions(const char *name, uint32_t (*bytes)(int64_t convert)) {
  enum { CODES = 8 };
  unsigned mask = 0;
  for (unsigned c = 0; c < CODES; c++) mask |= (unsigned)(bytes(c) == 4) << c;
  printf("  localparam logic [%d:0] %s = %d'h%x;  // by conversion: elements of 4 bytes, else 2\n", CODES - 1,
         name, CODES, mask);
}

static void print_code_sets(void) {
  size_t count;
  const tg_code_set *sets = tg_code_sets(&count);
  for (size_t c = 0; c < count; c++) print_code_set(&sets[c]);
  print_wide_conversions("CvtWideMemory", tg_convert_memory_bytes);
  print_wide_conversions("CvtWideChip", tg_convert_chip_bytes);
  printf("\n");
}

/* By which a word of the configuration names the unit of a tile whose queue it is of. */
static void print_units(void) {
  for (tg_unit unit = TG_MX; unit < TG_AGCU; unit++) {
    printf("  localparam logic [2:0] Unit");
    print_camel(tg_unit_name(unit));
    printf(" = 3'd%d;  // of a tile\n", unit);
  }
}

static void print_operations(void) {
  printf("  localparam logic [3:0] OpSync = 4'd%d;  // of every unit\n", TG_OP_sync);
#define OPERATION(unit, name, code, doc)                                                                     \
  if (code != TG_OP_sync) {                                                                                  \
    printf("  localparam logic [3:0] Op");                                                                   \
    print_camel(#unit "_" #name);                                                                            \
    printf(" = 4'd%d;  // %s\n", code, doc);                                                                 \
  }
#include "sim/machine/ops.def"
#undef OPERATION
#define ALU(name, code, operands, doc)                                                                       \
  printf("  localparam logic [5:0] Alu");                                                                    \
  print_camel(#name);                                                                                        \
  printf(" = 6'd%d;  // %s\n", code, doc);
#include "sim/machine/alu.def"
#undef ALU
}

/* The numbers by which the RTL's counters name actions (sim/rtl/actions.sv). */
static void print_actions(void) {
  int number = 0;
#define ACTION(name, kind, unit, doc)                                                                        \
  printf("  localparam int unsigned Action");                                                                \
  print_camel(#name);                                                                                        \
  printf(" = %d;  // %s %s\n", number++, unit, doc);
#include "sim/machine/actions.def"
#undef ACTION
}

static void print_ucode(void) {
  static const struct {
    const char *name;
    int bits;
  } fields[] = {
#define UCODE(name, bits, doc) {#name, bits},
#include "sim/machine/alu.def"
#undef UCODE
  };
  int total = 0;
  printf("\n  typedef struct packed {\n");
  for (size_t f = sizeof fields / sizeof *fields; f-- > 0;) {
    printf("    logic [%d:0] %s;\n", fields[f].bits - 1, fields[f].name);
    total += fields[f].bits;
  }
  printf("  } ucode_t;\n  localparam int unsigned UcodeBits = %d;\n", total);
}

int main(int argc, char **argv) {
  tg_params params;
  tg_diag diag = {""};
  tg_status status = tg_params_load(argc > 1 ? argv[1] : "tiny", &params, &diag);
  for (int i = 2; i < argc && !status; i++) status = tg_params_set(&params, argv[i], &diag);
  if (!status) status = tg_params_check(&params, &diag);
  if (status) {
    fprintf(stderr, "gen_sv: %s\n", diag.message);
    return status;
  }
  printf("// Generated by gen_sv from params.def, codes.def, isa.def, ops.def and alu.def: do not edit.\n");
  printf("package tegula_pkg;\n");
  print_parameters(&params);
  printf("  localparam int unsigned InstrBits = %d;  // of an instruction word\n", 8 * TG_INSTR_BYTES);
  print_code_sets();
  print_common();
  for (tg_unit unit = TG_MX; unit <= TG_AGCU; unit++) print_unit(unit);
  print_streams();
  print_units();
  print_operations();
  print_ucode();
  print_actions();
  printf("endpackage\n");
  return 0;
}
