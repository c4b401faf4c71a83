#include "frontend/onnx/wire.h"

enum {
  MAX_DEPTH = 64,     /* an If in an If in ... costs three levels each */
  ROOM = 16 << 20,    /* bytes that any model may take */
  ROOM_PER_BYTE = 64, /* an empty NodeProto is two bytes in the file and about a hundred in memory */
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* --- nesting --- */

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  uint64_t value = 0;
  for (int shift = 0; shift < 70 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = value;
      return true;
    }
  }
  return false;
}

typedef struct level {
  const ProtobufCMessageDescriptor *type;
  const uint8_t *end;
} level;

/* NULL, or what is wrong with the encoding. */
static const char *scan(const uint8_t *at, const uint8_t *end) {
  level stack[MAX_DEPTH];
  int depth = 0;
  stack[0] = (level){&onnx__model_proto__descriptor, end};
  while (depth >= 0) {
    if (at == stack[depth].end) {
      depth--;
      continue;
    }
    const uint8_t *limit = stack[depth].end;
    uint64_t tag, length = 0;
    if (!read_varint(&at, limit, &tag)) return "truncated";
    switch (tag & 7) {
    case VARINT:
      if (!read_varint(&at, limit, &length)) return "truncated";
      continue;
    case FIXED64: length = 8; break;
    case FIXED32: length = 4; break;
    case BYTES:
      if (!read_varint(&at, limit, &length)) return "truncated";
      break;
    default: return "unknown wire type";
    }
    if (length > (uint64_t)(limit - at)) return "truncated";
    const ProtobufCFieldDescriptor *field =
        tag >> 3 <= UINT32_MAX
            ? protobuf_c_message_descriptor_get_field(stack[depth].type, (unsigned)(tag >> 3))
            : NULL;
    if ((tag & 7) == BYTES && field && field->type == PROTOBUF_C_TYPE_MESSAGE) {
      if (++depth == MAX_DEPTH) return "messages nested too deeply";
      stack[depth] = (level){field->descriptor, at + length};
    } else {
      at += length;
    }
  }
  return NULL;
}

/* --- allocation --- */

typedef struct budget {
  tg_arena *arena;
  size_t left;
} budget;

static void *budget_alloc(void *user, size_t size) {
  budget *b = user;
  if (size > b->left) return NULL;
  b->left -= size;
  return tg_arena_alloc(b->arena, size, 1);
}

/* The arena is released as a whole. */
static void budget_free(void *user, void *data) {
  (void)user;
  (void)data;
}

tg_status tg_wire_parse_model(tg_arena *arena, const uint8_t *data, size_t size, Onnx__ModelProto **out_model,
                              tg_diag *diag) {
  *out_model = NULL;
  if (!size) return tg_fail(diag, TG_INVALID, "the file is empty");
  if (size > INT32_MAX) return tg_fail(diag, TG_INVALID, "larger than the 2 GiB of a protobuf message");
  const char *wrong = scan(data, data + size);
  if (wrong) return tg_fail(diag, TG_INVALID, "not an ONNX model (%s)", wrong);
  budget b = {arena, ROOM + size * ROOM_PER_BYTE};
  ProtobufCAllocator allocator = {budget_alloc, budget_free, &b};
  *out_model = onnx__model_proto__unpack(&allocator, size, data);
  if (!*out_model) return tg_fail(diag, TG_INVALID, "not an ONNX model (malformed protobuf)");
  return TG_OK;
}
