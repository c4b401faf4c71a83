/* A section as stages: what a unit, or a context of AGCUs, does again and again, joined by channels (channel.h).
 * A kernel lists them once, in the order of their queues; what its queues hold, how long ports are busy, and the
 * loads that a section has, follow from the list. */
#ifndef TEGULA_MAPPER_SECTION_STAGE_H
#define TEGULA_MAPPER_SECTION_STAGE_H

#include "mapper/section/section.h"

/* AGCUs of rows, and of columns. */
typedef enum tg_side { TG_SIDE_WEST, TG_SIDE_NORTH, TG_SIDES } tg_side;

/* How often: once, each pass, or each iteration of the innermost loop. */
typedef enum tg_rate { TG_RATE_ONCE, TG_RATE_PASS, TG_RATE_STEP } tg_rate;

typedef struct tg_stage {
  uint8_t kind; /* the kernel's own number of it */
  uint8_t side, context;
  uint8_t rate;
  uint8_t nest;   /* the kernel's number of its loops; those of a context that follow each other share them */
  bool stores;    /* egress.c has its instructions, or the kernel */
  bool drains;    /* its cycles are of a pass, and it takes turns with loads; else they are of a chunk */
  uint32_t slots; /* instructions in the fullest queue */
  double cycles;  /* of the busiest port, on average */
  double in_front; /* of the first chunk, which nothing hides */
} tg_stage;

enum { TG_MOST_STAGES = 24 };
typedef struct tg_stages {
  tg_stage list[TG_MOST_STAGES];
  int count;
} tg_stages;

/* Appends it, if its queue has any instruction. */
void tg_stages_add(tg_stages *stages, const tg_stage *stage);
/* Do the queues hold them? */
bool tg_stages_fit(const tg_params *m, const tg_stages *stages);

/* Cycles of the busiest port of a side: loads of a chunk, on average and in front, and what else there is of a
 * pass, in which so many contexts take turns with the one that loads. */
typedef struct tg_port_time {
  double load, in_front, drain;
  int drains;
} tg_port_time;
tg_port_time tg_stages_port(const tg_stages *stages, tg_side side);

/* Appends the instructions of a stage to the queue of row, or column, number `at`. */
typedef void tg_stage_emit(void *user, const tg_stage *stage, tg_queue *queue, uint32_t at);
/* The queues of all AGCUs whose stages load, with their loops: `loops[nest]`. Stages of TG_RATE_ONCE come in
 * front of all loops, and only those of TG_RATE_STEP are in the innermost one. */
void tg_stages_emit(const tg_build *b, const tg_stages *stages, const uint32_t (*loops)[3],
                    tg_stage_emit *emit, void *user);

#endif
