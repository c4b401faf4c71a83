/* The words of a section's configuration, as they go over the bus from the section control to all endpoints, and how many cycles
 * that takes (docs/machine.md, section 2). The loader of the RTL sends these words; engines without one count them. */
#ifndef TEGULA_MACHINE_CONFIG_H
#define TEGULA_MACHINE_CONFIG_H

#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TG_CONFIG_NORTH = 16, /* the row of the north AGCUs in a mask of rows */
  TG_CONFIG_LINES = 17, /* bits of a mask of rows, or of positions */
  TG_CONFIG_LANES = 16, /* of 4 bytes each in the longest flit */
};

/* A word of a flit's width. Those take it whose row and whose position of the row are in the masks; in the row of the north AGCUs
 * that of column c is at position c + 1. */
typedef struct tg_config_word {
  uint32_t rows, positions;
  uint8_t kind;  /* TG_CFG_INSTR .. */
  uint8_t unit;  /* mx, vx, tx, or the context */
  uint8_t slot;  /* of its queue */
  uint16_t lane; /* of 4 bytes: where it goes in the instruction, or in the table */
  bool clear;    /* the instruction's other lanes become 0 */
  bool scatter;  /* lane c mod P of it is for column c, or for row c, and goes to `lane` */
  bool by_row;
  uint32_t data[TG_CONFIG_LANES];
} tg_config_word;

typedef struct tg_config_words {
  tg_arena *arena; /* NULL: they are only counted */
  tg_config_word *words;
  size_t count, capacity;
} tg_config_words;

/* The two buses: down the west AGCUs and along each row, and along the north AGCUs. */
typedef struct tg_config {
  tg_config_words west, north;
} tg_config;

/* Appends what a section is loaded with. The tables of an invocation: NULL when words are counted. */
void tg_config_pack(const tg_params *params, const tg_section *section, const uint64_t bases[TG_BASES],
                    const uint32_t keys[TG_BASES], tg_config *config);

/* Cycles of configuration before the section's first issue, and words among them, of the longer of the two buses: one a cycle, from
 * the first cycle on. out_words: may be NULL. */
uint64_t tg_section_config_cycles(const tg_params *params, const tg_section *section, uint64_t *out_words);

/* For config.c: endpoints that take a word at one place. */
typedef struct tg_config_takers {
  int16_t value_of[TG_CONFIG_LINES][TG_CONFIG_LINES]; /* by row and position: its number; -1: takes none */
  uint32_t values;
  const uint32_t **value; /* 4P bytes each */
} tg_config_takers;

/* Sends each its value, in few words: what several take is sent once. `like` says what and where to; with `clear`, all of them are
 * written, else lanes that are 0 need not be. `dense`: they have to be in any case. */
void tg_config_share(const tg_params *params, const tg_config_takers *takers, const tg_config_word *like,
                     bool dense, tg_config_words *words);

#ifdef __cplusplus
}
#endif
#endif
