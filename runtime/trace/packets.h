/* Packets of a trace in Perfetto's format, on their way to its file and back. */
#ifndef TEGULA_RUNTIME_TRACE_PACKETS_H
#define TEGULA_RUNTIME_TRACE_PACKETS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Packets that wait to be written; a zeroed one is empty. */
typedef struct tg_packet_block {
  uint8_t *bytes;
  size_t filled, capacity;
} tg_packet_block;

/* Where a packet of `size` bytes is packed; `out` receives those before it, deflated, where the block is full. */
uint8_t *tg_packet_block_room(tg_packet_block *block, FILE *out, size_t size);
/* All that waits as one packet, deflated; then as it is. Either empties the block. */
void tg_packet_block_deflate(tg_packet_block *block, FILE *out);
void tg_packet_block_write(tg_packet_block *block, FILE *out);
void tg_packet_block_release(tg_packet_block *block);

/* The summary, which is the last packet of a trace, a new reference; NULL: `in` is no such trace. */
json_t *tg_perfetto_summary(FILE *in);

#endif
