#include "mapper/section/channel.h"

tg_semaphores tg_channels_semaphores(const tg_params *m, const tg_channel_plan *plans, int count) {
  tg_semaphores sum = {0};
  for (int i = 0; i < count; i++) {
    sum.tile += plans[i].full + plans[i].free;
    sum.west += plans[i].west ? m->cols + 1 : 0;
    sum.north += plans[i].north ? m->rows + 1 : 0;
  }
  return sum;
}

static uint64_t banks_of(const tg_params *m, tg_room room) {
  if (room.rows > tg_pad_rows(m)) return (uint64_t)m->banks + 1;
  return (uint64_t)room.copies * tg_banks_for(m, (uint32_t)room.rows);
}

uint64_t tg_channels_banks(const tg_params *m, const tg_channel_plan *plans, int count) {
  uint64_t banks = 0;
  for (int i = 0; i < count; i++)
    if (plans[i].room.rows) banks += banks_of(m, plans[i].room);
  return banks;
}

bool tg_channels_place(tg_build *b, const tg_channel_plan *plans, int count, tg_channel *channels) {
  if (!tg_build_has_banks(b, tg_channels_banks(b->m, plans, count))) return false;
  for (int i = 0; i < count; i++) {
    const tg_room *room = &plans[i].room;
    b->planned_bases += plans[i].bases;
    if (room->rows && !tg_build_buffer(b, (uint32_t)room->rows, room->copies, &channels[i].ring))
      return false;
  }
  return true;
}

/* So many semaphores of a tile in a row; returns the first. */
static int tile_semaphores(tg_build *b, uint32_t count, int initial, bool by_position) {
  int first = (int)b->tile_sems;
  for (uint32_t i = 0; i < count; i++) tg_tile_sem(b, by_position && !i ? 0 : initial);
  return first;
}

void tg_channels_open(tg_build *b, const tg_channel_plan *plans, const tg_channel_end *order, int count,
                      tg_channel *channels) {
  for (int i = 0; i < count; i++) {
    const tg_channel_plan *plan = &plans[order[i].channel];
    tg_channel *channel = &channels[order[i].channel];
    int ends = order[i].ends;
    if (ends & TG_END_FULL && plan->full) channel->full = tile_semaphores(b, plan->full, 0, false);
    if (ends & TG_END_FREE && plan->free)
      channel->free = tile_semaphores(b, plan->free, plan->initial, plan->by_position);
    if (ends & TG_END_AGCU && plan->west) channel->west = tg_west_credits(b, plan->credits);
    if (ends & TG_END_AGCU && plan->north) channel->north = tg_north_credits(b, plan->credits);
  }
}

tg_post tg_post_to_agcu(const tg_channel *channel, bool west, uint32_t r, uint32_t col) {
  return (tg_post){west ? TG_POST_ROW : TG_POST_COL, 0, tg_channel_at_agcu(channel, west, r, col)};
}

static bool shares(tg_share share, bool end) { return share == TG_OF_EACH || (share == TG_OF_ENDS && end); }

static void join_in_tile(const tg_channel *channel, const tg_join *join, const tg_joint *at) {
  int awaited = join->fills ? channel->free : channel->full;
  if (awaited != TG_NO_SEM && shares(join->waits, at->first))
    tg_set_wait(at->in, join->wait, awaited, join->once);
  if (!shares(join->posts, at->last)) return;
  tg_post post = {TG_POST_LOCAL, 0, join->fills ? channel->full : channel->free};
  if (!join->fills && channel->source) post = channel->source(at->kernel, channel, at->r, at->col);
  if (post.semaphore != TG_NO_SEM)
    tg_set_post(at->in, join->post, post.kind, post.position, post.semaphore, join->once);
}

/* What is between contexts of an AGCU has no semaphore in a tile. */
static void fill_from_agcu(const tg_channel *channel, const tg_join *join, const tg_joint *at) {
  bool west = at->place == TG_AT_WEST;
  int own = west ? channel->west : channel->north;
  tg_agcu_instr *load = &at->in->agcu;
  if (own != TG_NO_SEM && shares(join->waits, at->first)) {
    load->credit_base = own;
    load->credit_mask = at->tiles ? at->tiles : load->dst_mask;
  }
  if (!shares(join->posts, at->last)) return;
  if (channel->full == TG_NO_SEM) {
    tg_set_post(at->in, join->post, TG_POST_LOCAL, 0, tg_channel_at_agcu(channel, west, at->r, at->col),
                join->once);
    return;
  }
  load->dst_post = 1;
  load->dst_sem = channel->full;
}

static void empty_at_agcu(const tg_channel *channel, const tg_join *join, const tg_joint *at) {
  bool west = at->place == TG_AT_WEST;
  if (shares(join->waits, at->first))
    tg_set_wait(at->in, join->wait, tg_channel_at_agcu(channel, west, at->r, at->col), join->once);
  if (channel->free != TG_NO_SEM && shares(join->posts, at->last))
    tg_set_post(at->in, join->post, west ? TG_POST_ROW : TG_POST_COL, (west ? at->col : at->r) + 1,
                channel->free, join->once);
}

void tg_join_channel(const tg_channel *channel, const tg_join *join, const tg_joint *at) {
  if (at->place == TG_AT_TILE)
    join_in_tile(channel, join, at);
  else if (join->fills)
    fill_from_agcu(channel, join, at);
  else
    empty_at_agcu(channel, join, at);
}
