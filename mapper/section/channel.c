#include "mapper/section/channel.h"

void tg_channel_open_full(tg_build *b, tg_channel *channel) { channel->full = tg_tile_sem(b, 0); }

void tg_channel_open(tg_build *b, tg_channel *channel, int buffers) {
  tg_channel_open_full(b, channel);
  channel->free = tg_tile_sem(b, buffers);
}

void tg_channel_open_credits(tg_build *b, tg_channel *channel, int buffers) {
  channel->west = tg_west_credits(b, buffers);
  channel->north = tg_north_credits(b, buffers);
}

void tg_channel_ask(const tg_channel *channel, tg_agcu_instr *load, bool west) {
  load->credit_base[0] = west ? channel->west : channel->north;
  load->credit_mask[0] = load->dst_mask[0];
}

void tg_channel_deliver(const tg_channel *channel, tg_agcu_instr *load) {
  load->dst_post[0] = 1;
  load->dst_sem[0] = channel->full;
}

void tg_channel_claim(const tg_channel *channel, tg_instr *in, int slot, bool once) {
  tg_set_wait(in, slot, channel->free, once);
}

void tg_channel_fill(const tg_channel *channel, tg_instr *in, int slot, bool once) {
  tg_set_post(in, slot, TG_POST_LOCAL, 0, channel->full, once);
}

void tg_channel_take(const tg_channel *channel, tg_instr *in, int slot, bool once) {
  tg_set_wait(in, slot, channel->full, once);
}

void tg_channel_release(const tg_channel *channel, tg_instr *in, int slot, bool once) {
  tg_set_post(in, slot, TG_POST_LOCAL, 0, channel->free, once);
}

void tg_channel_return(const tg_channel *channel, tg_instr *in, int slot, bool west, uint32_t r, uint32_t col,
                       bool once) {
  if (west)
    tg_set_post(in, slot, TG_POST_ROW, 0, channel->west + (int)col + 1, once);
  else
    tg_set_post(in, slot, TG_POST_COL, 0, channel->north + (int)r + 1, once);
}
