#include "sim/functional/code.h"

#include "frontend/base/hash.h"
#include "sim/functional/code_store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
  SLOTS = 4096,
  MAX_IDLE_TEXT = 64 << 20 /* bytes of text whose code nobody holds */
};

struct tg_code {
  tg_code *next; /* of the same slot */
  uint64_t hash;
  char *text; /* of `length` bytes: two kernels are one if their texts are, whatever the hash says */
  size_t length;
  tg_linked linked;
  unsigned holders;
  TAILQ_ENTRY(tg_code) idle; /* while there are none */
};

/* Nothing in here dies (tg_die) while the lock is held: that would leave it locked. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tg_code *slots[SLOTS];
static TAILQ_HEAD(, tg_code) idle_codes = TAILQ_HEAD_INITIALIZER(idle_codes); /* longest idle first */
static size_t idle_text;

static tg_code **place_of(const tg_text *text, uint64_t hash) {
  tg_code **at = &slots[hash % SLOTS];
  while (*at && ((*at)->hash != hash || (*at)->length != text->length ||
                 memcmp((*at)->text, text->text, text->length)))
    at = &(*at)->next;
  return at;
}

static tg_code *held(tg_code *code) {
  if (!code->holders++) {
    TAILQ_REMOVE(&idle_codes, code, idle);
    idle_text -= code->length;
  }
  return code;
}

static tg_code *find(const tg_text *text, uint64_t hash) {
  pthread_mutex_lock(&lock);
  tg_code *code = *place_of(text, hash);
  if (code) held(code);
  pthread_mutex_unlock(&lock);
  return code;
}

static tg_code *new_code(const tg_text *text, uint64_t hash) {
  tg_code *code = calloc(1, sizeof *code);
  char *copy = malloc(text->length);
  if (!code || !copy) tg_die("out of memory for generated code");
  memcpy(copy, text->text, text->length);
  *code = (tg_code){.hash = hash, .text = copy, .length = text->length, .holders = 1};
  return code;
}

static void discard(tg_code *code) {
  free(code->text);
  free(code);
}

/* Under the lock: links the object, unless another thread has been faster. */
static tg_status enter(tg_code *code, const tg_text *text, const tg_object *object, const char *symbol,
                       tg_code **out_code, tg_diag *diag) {
  tg_code **at = place_of(text, code->hash);
  if (*at) {
    *out_code = held(*at);
    discard(code);
    return TG_OK;
  }
  tg_status status = tg_jit_link(object, symbol, &code->linked, diag);
  if (status) {
    discard(code);
  } else {
    *at = code;
    *out_code = code;
  }
  return status;
}

tg_status tg_code_of(const tg_text *text, tg_code **out_code, tg_diag *diag) {
  uint64_t hash = tg_hash(text->text, text->length);
  *out_code = find(text, hash);
  if (*out_code) return TG_OK;
  char symbol[40];
  snprintf(symbol, sizeof symbol, "kernel_%016llx", (unsigned long long)hash);
  tg_object object;
  tg_status status = TG_OK;
  if (!tg_code_load(text, hash, &object)) {
    status = tg_jit_compile(text, symbol, &object, diag);
    if (!status) tg_code_keep(text, hash, &object);
  }
  if (!status) {
    tg_code *code = new_code(text, hash);
    pthread_mutex_lock(&lock);
    status = enter(code, text, &object, symbol, out_code, diag);
    pthread_mutex_unlock(&lock);
  }
  free(object.bytes);
  return status;
}

void *tg_code_address(const tg_code *code) { return code->linked.address; }

/* Under the lock. */
static void forget(tg_code *code) {
  tg_code **at = &slots[code->hash % SLOTS];
  while (*at != code) at = &(*at)->next;
  *at = code->next;
  TAILQ_REMOVE(&idle_codes, code, idle);
  idle_text -= code->length;
  tg_jit_unlink(&code->linked);
  discard(code);
}

void tg_code_release(tg_code *code) {
  if (!code) return;
  pthread_mutex_lock(&lock);
  if (!--code->holders) {
    TAILQ_INSERT_TAIL(&idle_codes, code, idle);
    idle_text += code->length;
    while (idle_text > MAX_IDLE_TEXT) forget(TAILQ_FIRST(&idle_codes));
  }
  pthread_mutex_unlock(&lock);
}

tg_status tg_codes_add(tg_codes *codes, tg_text *text, void **out_address, tg_diag *diag) {
  if (codes->count == codes->capacity) {
    codes->capacity = 2 * codes->capacity + 16;
    codes->held = realloc(codes->held, codes->capacity * sizeof *codes->held);
    if (!codes->held) tg_die("out of memory for generated code");
  }
  tg_code *code;
  tg_status status = tg_code_of(text, &code, diag);
  *out_address = status ? NULL : tg_code_address(code);
  if (!status) codes->held[codes->count++] = code;
  text->length = 0;
  return status;
}

void tg_codes_release(tg_codes *codes) {
  for (size_t i = 0; i < codes->count; i++) tg_code_release(codes->held[i]);
  free(codes->held);
  *codes = (tg_codes){0};
}
