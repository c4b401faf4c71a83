/* Mutations of a model that leave it a model: a field of a message anywhere in it is changed, an element of a repeated
 * one doubled, dropped or moved, a text replaced by another one of the model or by the name of an operator. What is no
 * model at all is changed as bytes. */
#include "frontend/ops.h"
#include "tests/fuzz/fuzz.h"

#include <onnx.pb-c.h>

enum { MOST_PLACES = 1 << 14 };

/* A field of a message that is there. `id`s of a oneof's members stand where others have a count. */
typedef struct place {
  ProtobufCMessage *message;
  const ProtobufCFieldDescriptor *field;
} place;

typedef struct places {
  place *all;
  size_t count;
} places;

static void *member(const place *p) { return (char *)p->message + p->field->offset; }
static size_t *quantity(const place *p) {
  return (size_t *)(void *)((char *)p->message + p->field->quantifier_offset);
}
static bool is_repeated(const place *p) { return p->field->label == PROTOBUF_C_LABEL_REPEATED; }

static bool is_there(const place *p) {
  if (is_repeated(p)) return *quantity(p) > 0;
  if (p->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF &&
      *(const uint32_t *)(const void *)quantity(p) != p->field->id)
    return false;
  if (p->field->type == PROTOBUF_C_TYPE_STRING || p->field->type == PROTOBUF_C_TYPE_MESSAGE)
    return *(void **)member(p) && *(const void **)member(p) != p->field->default_value;
  return p->field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF || p->field->label == PROTOBUF_C_LABEL_REQUIRED ||
         *(protobuf_c_boolean *)quantity(p);
}

static void collect(ProtobufCMessage *message, places *out) {
  for (unsigned f = 0; f < message->descriptor->n_fields && out->count < MOST_PLACES; f++) {
    place p = {message, &message->descriptor->fields[f]};
    if (!is_there(&p)) continue;
    out->all[out->count++] = p;
    if (p.field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    ProtobufCMessage **list = is_repeated(&p) ? *(ProtobufCMessage ***)member(&p) : member(&p);
    for (size_t i = 0, n = is_repeated(&p) ? *quantity(&p) : 1; i < n; i++) collect(list[i], out);
  }
}

static size_t element_bytes(ProtobufCType type) {
  switch (type) {
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
  case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: return 8;
  default: return 4;
  }
}

static const char *text_from(const places *all, uint32_t *state) {
  if (fuzz_below(state, 3) == 0) return tg_op_get((tg_op)fuzz_below(state, TG_OP_COUNT))->name;
  for (int tries = 0; tries < 64; tries++) {
    const place *p = &all->all[fuzz_below(state, all->count)];
    if (p->field->type != PROTOBUF_C_TYPE_STRING) continue;
    return is_repeated(p) ? (*(char ***)member(p))[fuzz_below(state, *quantity(p))] : *(char **)member(p);
  }
  return "";
}

static void change_bytes(ProtobufCBinaryData *data, uint32_t *state) {
  size_t room = data->len + 16;
  uint8_t *fresh = realloc(data->data, room);
  FUZZ_WANT(fresh, "out of memory");
  data->data = fresh;
  data->len = fuzz_below(state, 4) ? LLVMFuzzerMutate(fresh, data->len, room) : data->len / 2;
}

/* One scalar. Texts are copies, so that what was packed before keeps its own. */
static void change_element(void *element, ProtobufCType type, const places *all, uint32_t *state) {
  uint64_t number = 0;
  size_t bytes = element_bytes(type);
  if (type == PROTOBUF_C_TYPE_BYTES) {
    change_bytes(element, state);
  } else if (type == PROTOBUF_C_TYPE_STRING) {
    char *text = strdup(text_from(all, state)), **old = element;
    if (*old != protobuf_c_empty_string) free(*old);
    *old = text;
  } else if (type != PROTOBUF_C_TYPE_MESSAGE) {
    memcpy(&number, element, bytes);
    number = fuzz_number(state, number);
    memcpy(element, &number, bytes);
  }
}

/* An element of a repeated field of which copies can be made by value: appended, dropped, or two exchanged. */
static void change_list(const place *p, uint32_t *state) {
  size_t bytes = element_bytes(p->field->type), *count = quantity(p), one = fuzz_below(state, *count),
         other = fuzz_below(state, *count);
  char *list = *(char **)member(p), kept[sizeof(ProtobufCBinaryData)];
  bool by_value = p->field->type != PROTOBUF_C_TYPE_STRING && p->field->type != PROTOBUF_C_TYPE_MESSAGE &&
                  p->field->type != PROTOBUF_C_TYPE_BYTES;
  if (by_value && fuzz_below(state, 2)) {
    char *fresh = realloc(list, (*count + 1) * bytes);
    FUZZ_WANT(fresh, "out of memory");
    memcpy(fresh + *count * bytes, fresh + one * bytes, bytes);
    *(char **)member(p) = fresh;
    ++*count;
    return;
  }
  memcpy(kept, list + one * bytes, bytes);
  if (by_value && fuzz_below(state, 2)) {
    memmove(list + one * bytes, list + (one + 1) * bytes, (*count - one - 1) * bytes);
    --*count;
    return;
  }
  memcpy(list + one * bytes, list + other * bytes, bytes);
  memcpy(list + other * bytes, kept, bytes);
}

/* Of messages and texts: one is dropped, with what it holds, or a copy of one appended. */
static void change_messages(const place *p, uint32_t *state) {
  size_t *count = quantity(p), one = fuzz_below(state, *count);
  ProtobufCMessage **list = *(ProtobufCMessage ***)member(p);
  if (fuzz_below(state, 2)) {
    protobuf_c_message_free_unpacked(list[one], NULL);
    memmove(list + one, list + one + 1, (*count - one - 1) * sizeof *list);
    --*count;
    return;
  }
  size_t size = protobuf_c_message_get_packed_size(list[one]);
  uint8_t *packed = malloc(size + 1);
  FUZZ_WANT(packed && protobuf_c_message_pack(list[one], packed) == size, "a message of another size");
  ProtobufCMessage *copy = protobuf_c_message_unpack(list[one]->descriptor, NULL, size, packed);
  free(packed);
  if (!copy) return;
  ProtobufCMessage **fresh = realloc(list, (*count + 1) * sizeof *list);
  FUZZ_WANT(fresh, "out of memory");
  fresh[(*count)++] = copy;
  *(ProtobufCMessage ***)member(p) = fresh;
}

static void change(const places *all, uint32_t *state) {
  const place *p = &all->all[fuzz_below(state, all->count)];
  bool message = p->field->type == PROTOBUF_C_TYPE_MESSAGE;
  if (is_repeated(p) && fuzz_below(state, 2)) {
    if (message && fuzz_below(state, 3))
      change_messages(p, state);
    else
      change_list(p, state);
    return;
  }
  char *element = is_repeated(p)
                      ? *(char **)member(p) + fuzz_below(state, *quantity(p)) * element_bytes(p->field->type)
                      : member(p);
  change_element(element, p->field->type, all, state);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  uint32_t state = seed * 2654435761u | 1;
  Onnx__ModelProto *model = fuzz_below(&state, 16) ? onnx__model_proto__unpack(NULL, size, data) : NULL;
  if (!model) return LLVMFuzzerMutate(data, size, max_size);
  static place memory[MOST_PLACES];
  for (size_t changes = 1 + fuzz_below(&state, 3); changes;
       changes--) { /* what is dropped is collected no more */
    places all = {memory, 0};
    collect(&model->base, &all);
    if (all.count) change(&all, &state);
  }
  if (onnx__model_proto__get_packed_size(model) <= max_size) size = onnx__model_proto__pack(model, data);
  onnx__model_proto__free_unpacked(model, NULL);
  return size;
}
