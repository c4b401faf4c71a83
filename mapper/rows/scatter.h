/* ScatterRows: how its columns are cut, its channels and stages; scatter.c emits them. */
#ifndef TEGULA_MAPPER_ROWS_SCATTER_H
#define TEGULA_MAPPER_ROWS_SCATTER_H

#include "mapper/rows/rows.h"
#include "mapper/section/stage.h"

typedef struct tg_scatter_tiling {
  uint32_t strip, row_flits; /* columns of an AGCU, a multiple of the lanes; flits of them */
  uint32_t take;             /* elements that are loaded: of the last strip, perhaps fewer */
  uint32_t rows, chunks;     /* updates that are loaded at once; loads of so many */
  uint32_t zeros;            /* rows of a strip that one STORE fills */
  uint32_t index_flits;      /* of a chunk */
  uint32_t ways;             /* AGCUs at work */
} tg_scatter_tiling;

/* AGCU `agcu` and the tile that adds for it: west ones take their row's on the diagonal, north ones the next in their
 * column. False: that tile is another one's. */
bool tg_scatter_way(const tg_params *m, uint32_t agcu, tg_rows_way *out);
/* AGCUs before number `agcu` that a tile adds for. */
uint32_t tg_scatter_ways_before(const tg_params *m, uint32_t agcu);

/* Strips of `columns` columns, with `count` updates. False: they do not fit. */
bool tg_tile_scatter(const tg_params *m, int64_t count, int64_t columns, tg_scatter_tiling *t,
                     tg_shortage *out_lacks);

/* What a tile has, in the order of its banks; its way to the AGCU; and what contexts of an AGCU tell each other: rows are
 * zeros, the next row may be loaded. */
typedef enum tg_scatter_role {
  TG_ROLE_ZEROS,
  TG_ROLE_INDICES,
  TG_ROLE_SUM,
  TG_ROLE_MADE,
  TG_ROLE_UPDATES,
  TG_ROLE_ZEROS_AWAY,
  TG_ROLE_INDICES_AWAY,
  TG_ROLE_MADE_AWAY,
  TG_ROLE_FILLED,
  TG_ROLE_NEXT,
  TG_SCATTER_ROLES
} tg_scatter_role;
void tg_scatter_plan_channels(const tg_scatter_tiling *t, tg_channel_plan plans[TG_SCATTER_ROLES]);

typedef enum tg_scatter_stage {
  TG_STAGE_ZEROS,
  TG_STAGE_FILLED, /* waits for them */
  TG_STAGE_INDICES,
  TG_STAGE_UPDATES,
  TG_STAGE_SUMS
} tg_scatter_stage;
enum { TG_NEST_CHUNKS, TG_NEST_ROWS, TG_SCATTER_NESTS };
/* Cycles are of a row of sums; one of zeros takes the store as long. */
void tg_scatter_list_stages(const tg_params *m, const tg_scatter_tiling *t, tg_stages *out);

#endif
