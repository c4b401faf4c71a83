/* A section as stages: what a unit of each tile, or a context of AGCUs, does again and again, joined by channels
 * (channel.h). A kernel lists them once, in the order of their queues; what queues hold, how long units and ports are
 * busy, and all instructions, with their waits, posts and loops, follow from the list. */
#ifndef TEGULA_MAPPER_SECTION_STAGE_H
#define TEGULA_MAPPER_SECTION_STAGE_H

#include "mapper/section/channel.h"

/* Where: in a context of the AGCUs of rows, or of columns; or in a unit of every tile. */
typedef enum tg_seat {
  TG_SIDE_WEST,
  TG_SIDE_NORTH,
  TG_SIDES,
  TG_UNIT_MX = TG_SIDES,
  TG_UNIT_VX,
  TG_UNIT_TX,
  TG_SEATS
} tg_seat;

/* How often, which is the number of loops that it is in: once, each round of the outermost one, each pass of the two
 * outer ones, or each iteration of the innermost one. */
typedef enum tg_rate { TG_RATE_ONCE, TG_RATE_ROUND, TG_RATE_PASS, TG_RATE_STEP } tg_rate;

/* Loops that the kernel closes itself, since several of them follow each other in its stage. */
enum { TG_NEST_OWN = 255 };
enum { TG_STAGE_JOINS = 8 };

typedef struct tg_stage {
  uint8_t kind;          /* the kernel's own number of it */
  uint8_t seat, context; /* the latter of AGCUs */
  uint8_t rate;
  /* the kernel's number of its loops, or TG_NEST_OWN; those of a queue that follow each other share them */
  uint8_t nest;
  bool drains; /* its cycles are of a pass, and it takes turns with loads; else they are of a chunk */
  bool skewed; /* its nest is one loop, of which it is `lag` iterations behind the first stage of the unit */
  uint8_t lag;
  uint32_t slots;  /* instructions in the fullest queue */
  double cycles;   /* of the busiest port, on average; of a unit, for a chunk, or for a block of results */
  double in_front; /* of the first chunk, which nothing hides */
  uint8_t join_count;
  tg_join joins[TG_STAGE_JOINS]; /* in the order of slots: what it empties and fills, of a unit */
} tg_stage;

enum { TG_MOST_STAGES = 32 };
typedef struct tg_stages {
  tg_stage list[TG_MOST_STAGES];
  int count;
} tg_stages;

/* Appends it, if its queue has any instruction. */
void tg_stages_add(tg_stages *stages, const tg_stage *stage);
/* Adds what it joins next. */
void tg_stage_join(tg_stage *stage, tg_join join);
/* The first stage of a kind in this seat; NULL: there is none. */
const tg_stage *tg_stages_find(const tg_stages *stages, tg_seat seat, int kind);
/* The waits and posts of an instruction of the stage at those of its channels whose bit is set in `which`. */
void tg_stage_meet(const tg_stage *stage, const tg_channel *channels, uint64_t which, const tg_joint *at);
#define TG_ALL_CHANNELS (~UINT64_C(0))

/* Cycles of the busiest port of a side: loads of a chunk, on average and in front, and what else there is of a
 * pass, in which so many contexts take turns with the one that loads. */
typedef struct tg_port_time {
  double load, in_front, drain;
  int drains;
} tg_port_time;
tg_port_time tg_stages_port(const tg_stages *stages, tg_seat side);
/* Cycles of the stages of a unit together, of one kind, or of all: -1. */
double tg_stages_unit(const tg_stages *stages, tg_seat unit, int kind);

/* Of tile (r, col), or of the AGCU of row r, or column col. Skewed: iterations first .. first + count - 1 of the stage,
 * in a loop if these are several. */
typedef struct tg_turn {
  uint32_t r, col;
  uint32_t first, count;
} tg_turn;
/* Appends the instructions of a stage to a queue. */
typedef void tg_stage_emit(void *user, const tg_stage *stage, tg_queue *queue, tg_turn at);
/* All queues of AGCUs, then those of the tiles of the first `rows` rows, with their loops: `loops[nest]`,
 * counts from the outermost one, 0: there is none at this level. Stages of a lower rate come before those of a
 * higher one, in front of the loops that only these are in. Skewed stages of loops[nest][2] iterations stand in
 * one loop of those that all of them have, in front of which the others begin, and behind which they end. */
void tg_stages_emit(const tg_build *b, const tg_stages *stages, uint32_t rows, const uint32_t (*loops)[3],
                    tg_stage_emit *emit, void *user);

#endif
