/* The words of a section's configuration, as they go over the bus from the section control to all endpoints, and how many cycles
 * that takes (docs/machine.md, section 2). The loader of the RTL sends these words; engines without one count them. */
#ifndef TEGULA_MACHINE_CONFIG_H
#define TEGULA_MACHINE_CONFIG_H

#include "sim/machine/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TG_CONFIG_NORTH = 16,     /* the row of the north AGCUs in a mask of rows */
  TG_CONFIG_LINES = 17,     /* bits of a mask of rows, or of positions */
  TG_CONFIG_LANES = 16,     /* of 4 bytes each in the longest flit */
  TG_CONFIG_CONSTANTS = 64, /* from a section's constants to those of the next one */
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

/* Entries of each half of a memory of the configuration (a queue, microcode, bases, keys) that has `entries`, at least 2: a power of two, so that one bit of an address tells them apart. */
static inline uint32_t tg_config_half(uint32_t entries) {
  uint32_t half = 1;
  while (4 * half <= entries) half *= 2;
  return half;
}

/* Does it take half of each memory of the configuration at most, but of constants, for which there are two? While one such section
 * runs the words of another one leave, to the other halves. */
bool tg_section_is_half(const tg_params *params, const tg_section *section);

/* Appends what a section is loaded with. The tables of an invocation: NULL when words are counted. `plane`: 1 if the section is
 * written to the second halves, in which it then has room. */
void tg_config_pack(const tg_params *params, const tg_section *section, const uint64_t bases[TG_BASES],
                    const uint32_t keys[TG_BASES], int plane, tg_config *config);

/* Words that a section is loaded with, of the longer of the two buses: one leaves a cycle. */
uint64_t tg_section_config_words(const tg_params *params, const tg_section *section);

/* Cycles from the begin of a section of so many words to its first issue. They leave from the first possible issue of the section
 * before on, which is `room` cycles before this one begins; 0: there is none, or one of both takes more than half of a memory. */
uint64_t tg_config_cycles(const tg_params *params, uint64_t words, uint64_t room);

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
