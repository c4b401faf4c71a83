#include "runtime/trace/packets.h"
#include "frontend/base/status.h"
#include "perfetto.pb-c.h"

#include <stdlib.h>
#include <zlib.h>

enum { PACKET_TAG = 1 << 3 | 2 /* Trace.packet, of a length */, VARINT_BYTES = 10, MOST_BYTES = 1 << 26 };
enum { BLOCK_BYTES = 1 << 18 /* that are deflated together */ };

static void *allocated(size_t size) {
  void *memory = malloc(size);
  if (!memory) tg_die("out of memory");
  return memory;
}

/* --- out */

static size_t put_varint(uint8_t *to, uint64_t value) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) to[size++] = (uint8_t)(value | 0x80);
  to[size++] = (uint8_t)value;
  return size;
}

uint8_t *tg_packet_block_room(tg_packet_block *b, FILE *out, size_t size) {
  size_t room = 1 + VARINT_BYTES + size;
  if (b->filled + room > BLOCK_BYTES) tg_packet_block_deflate(b, out);
  if (room > b->capacity) {
    free(b->bytes);
    b->bytes = allocated(b->capacity = room > BLOCK_BYTES ? room : BLOCK_BYTES);
  }
  b->bytes[b->filled++] = PACKET_TAG;
  b->filled += put_varint(b->bytes + b->filled, size);
  b->filled += size;
  return b->bytes + b->filled - size;
}

void tg_packet_block_deflate(tg_packet_block *b, FILE *out) {
  if (!b->filled) return;
  uLongf size = compressBound(b->filled);
  uint8_t *deflated = allocated(size), head[1 + VARINT_BYTES] = {PACKET_TAG};
  if (compress2(deflated, &size, b->bytes, b->filled, Z_DEFAULT_COMPRESSION) != Z_OK) tg_die("out of memory");
  Tegula__Trace__TracePacket packet = TEGULA__TRACE__TRACE_PACKET__INIT;
  packet.has_compressed_packets = true;
  packet.compressed_packets = (ProtobufCBinaryData){size, deflated};
  size_t packed = tegula__trace__trace_packet__get_packed_size(&packet);
  uint8_t *bytes = allocated(packed);
  tegula__trace__trace_packet__pack(&packet, bytes);
  fwrite(head, 1, 1 + put_varint(head + 1, packed), out);
  fwrite(bytes, 1, packed, out);
  free(bytes);
  free(deflated);
  b->filled = 0;
}

void tg_packet_block_write(tg_packet_block *b, FILE *out) {
  if (b->filled) fwrite(b->bytes, 1, b->filled, out);
  b->filled = 0;
}

void tg_packet_block_release(tg_packet_block *b) { free(b->bytes); }

/* --- in */

/* The next packet into *bytes, which grows; 0: the file ends, or is another one. */
static size_t next_packet(FILE *in, uint8_t **bytes, size_t *capacity) {
  uint64_t size = 0;
  int byte = getc(in), shift = 0;
  if (byte != PACKET_TAG) return 0;
  do {
    byte = getc(in);
    size |= (uint64_t)(byte & 0x7f) << shift;
    shift += 7;
  } while (byte != EOF && byte & 0x80 && shift < 35);
  if (byte == EOF || byte & 0x80 || !size || size > MOST_BYTES) return 0;
  if (size > *capacity) {
    free(*bytes);
    *bytes = allocated(*capacity = 2 * size);
  }
  return fread(*bytes, 1, size, in) == size ? size : 0;
}

/* The only value that is a text of its own. */
static json_t *summary_of(const uint8_t *bytes, size_t size) {
  Tegula__Trace__SummaryPacket *packet = tegula__trace__summary_packet__unpack(NULL, size, bytes);
  json_t *summary = NULL;
  if (packet && packet->track_event && packet->track_event->n_debug_annotations == 1 &&
      packet->track_event->debug_annotations[0]->string_value)
    summary = json_loads(packet->track_event->debug_annotations[0]->string_value, 0, NULL);
  tegula__trace__summary_packet__free_unpacked(packet, NULL);
  return summary;
}

json_t *tg_perfetto_summary(FILE *in) {
  uint8_t *bytes[2] = {NULL, NULL};
  size_t capacity[2] = {0, 0}, size = 0;
  int last = 0;
  for (size_t next; (next = next_packet(in, &bytes[!last], &capacity[!last])); size = next) last = !last;
  json_t *summary = size ? summary_of(bytes[last], size) : NULL;
  free(bytes[0]);
  free(bytes[1]);
  return summary;
}
