/* The .tgb file: "TEGULA" and a version, then length-prefixed fields in a fixed order, then a checksum of all
 * before it. */
#include "frontend/base/hash.h"
#include "frontend/base/input_file.h"
#include "sim/machine/program.h"

#include "frontend/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = {'T', 'E', 'G', 'U',
                              'L', 'A', 0,   15}; /* the last byte is the version of the format */

enum { NAME_LENGTH = 6 }; /* of that, what all versions begin with */

/* Of the parameters: prices of actions change no program, and are not in its file. */
enum { PARAMS_STORED = offsetof(tg_params, dram) + sizeof(tg_dram_device) };

/* ---- writing ---- */

typedef struct writer {
  FILE *stream;
  tg_hasher hasher; /* of what is written */
} writer;

static void put(writer *out, const void *data, size_t size) {
  size_t rest = size % 8, whole = size - rest;
  if (whole) {
    fwrite(data, 1, whole, out->stream);
    tg_hasher_add(&out->hasher, data, whole);
  }
  if (!rest) return;
  uint8_t last[8] = {0};
  memcpy(last, (const uint8_t *)data + whole, rest);
  fwrite(last, 1, sizeof last, out->stream);
  tg_hasher_add(&out->hasher, last, sizeof last);
}
static void put_number(writer *out, uint64_t number) { put(out, &number, 8); }
static void put_blob(writer *out, const void *data, size_t size) {
  put_number(out, size);
  put(out, data, size);
}
static void put_text(writer *out, const char *text) { put_blob(out, text, strlen(text)); }

static void put_queue(writer *out, tg_unit unit, const tg_queue *queue) {
  put_number(out, queue->count);
  for (uint32_t i = 0; i < queue->count; i++) {
    uint64_t words[TG_INSTR_BYTES / 8];
    tg_instr_encode(unit, &queue->instrs[i], words);
    put(out, words, sizeof words);
  }
}

static void put_section(writer *out, const tg_params *m, const tg_section *section) {
  put_text(out, section->name);
  put_number(out, section->kept);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    const tg_tile_program *tile = &section->tiles[t];
    put_queue(out, TG_MX, &tile->mx);
    put_queue(out, TG_VX, &tile->vx);
    put_queue(out, TG_TX, &tile->tx);
    put_blob(out, tile->words, 8 * (size_t)tile->word_count);
    put_blob(out, tile->constants, 4 * (size_t)tile->constant_count);
    put_blob(out, tile->sem_init, m->semaphores);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++) {
    for (uint32_t c = 0; c < m->agcu_contexts; c++) put_queue(out, TG_AGCU, &section->agcus[a].contexts[c]);
    put_blob(out, section->agcus[a].sem_init, m->semaphores);
  }
}

static void put_program(writer *out, const tg_program *program) {
  put(out, magic, sizeof magic);
  put_blob(out, &program->params, PARAMS_STORED);
  put_number(out, program->seed);
  put_number(out, program->dram_bytes);
  put_text(out, program->model);
  put_text(out, program->options);
  put_number(out, program->tensor_count);
  for (uint32_t t = 0; t < program->tensor_count; t++) {
    const tg_dram_tensor *tensor = &program->tensors[t];
    put_text(out, tensor->name);
    put_number(out, tensor->role);
    put_number(out, tensor->storage);
    put_blob(out, tensor->dims, 8 * (size_t)tensor->rank);
    put_number(out, tensor->address);
    put_number(out, tensor->bytes);
    put_blob(out, tensor->data ? tensor->data : (const uint8_t *)"", tensor->data ? tensor->bytes : 0);
    put_number(out, tensor->type);
    put_number(out, (uint64_t)tensor->limit);
    put_blob(out, tensor->known ? tensor->known : (const uint8_t *)"",
             tensor->known ? tg_tensor_elements(tensor) * tg_dtype_size(tensor->type) : 0);
  }
  put_number(out, program->section_count);
  for (uint32_t s = 0; s < program->section_count; s++)
    put_section(out, &program->params, &program->sections[s]);
  put_number(out, program->invocation_count);
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    put_text(out, invocation->name);
    put_number(out, invocation->section);
    put_blob(out, invocation->bases, sizeof invocation->bases);
    put_blob(out, invocation->key_nodes, sizeof invocation->key_nodes);
    for (int m = 0; m < TG_FMT_COUNT; m++) put_number(out, invocation->macs[m]);
    put_number(out, invocation->sums);
    put_number(out, invocation->sum_bytes);
    put_number(out, invocation->estimated_cycles);
  }
}

tg_status tg_program_write(const tg_program *program, const char *path, tg_diag *diag) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  writer out = {.stream = file.stream};
  tg_hasher_start(&out.hasher);
  put_program(&out, program);
  put_number(&out, tg_hasher_sum(&out.hasher));
  return tg_output_commit(&file, diag);
}

/* ---- reading ---- */

typedef struct reader {
  const uint8_t *at, *end;
  tg_arena *arena;
  bool bad;
} reader;

/* What fills the last of its words is zero, as it is written. */
static const uint8_t *take(reader *r, uint64_t size) {
  uint64_t padded = (size + 7) & ~7ull;
  if (r->bad || size > (uint64_t)(r->end - r->at) || padded > (uint64_t)(r->end - r->at)) {
    r->bad = true;
    return NULL;
  }
  const uint8_t *data = r->at;
  for (uint64_t i = size; i < padded; i++) r->bad |= data[i] != 0;
  r->at += padded;
  return data;
}

static uint64_t get_number(reader *r) {
  uint64_t number = 0;
  const uint8_t *data = take(r, 8);
  if (data) memcpy(&number, data, 8);
  return number;
}

static uint32_t get_small(reader *r) {
  uint64_t number = get_number(r);
  if (number > UINT32_MAX) r->bad = true;
  return (uint32_t)number;
}

/* A count of things that take at least `least` bytes each in the file, so that no allocation exceeds it. */
static uint32_t get_count(reader *r, uint64_t least) {
  uint64_t count = get_number(r);
  if (!r->bad && count > (uint64_t)(r->end - r->at) / least) r->bad = true;
  return r->bad ? 0 : (uint32_t)count;
}

static void *get_blob(reader *r, uint64_t *out_size) {
  uint64_t size = *out_size = get_number(r);
  const uint8_t *data = take(r, size);
  if (!data) {
    *out_size = 0;
    return tg_arena_alloc(r->arena, 1, 8);
  }
  uint8_t *copy = tg_arena_alloc(r->arena, size + 1, 1);
  memcpy(copy, data, size);
  return copy;
}

static const char *get_text(reader *r) {
  uint64_t size;
  return get_blob(r, &size); /* NUL-terminated by the extra byte */
}

static void get_fixed(reader *r, void *out, size_t size) {
  uint64_t found;
  const void *data = get_blob(r, &found);
  if (found != size)
    r->bad = true;
  else
    memcpy(out, data, size);
}

static tg_status get_queue(reader *r, tg_program *program, tg_unit unit, tg_queue *queue, tg_diag *diag) {
  uint32_t count = get_count(r, TG_INSTR_BYTES);
  for (uint32_t i = 0; i < count && !r->bad; i++) {
    uint64_t words[TG_INSTR_BYTES / 8];
    const uint8_t *data = take(r, sizeof words);
    if (!data) break;
    memcpy(words, data, sizeof words);
    tg_status status = tg_instr_decode(unit, words, tg_queue_push(program, queue), diag);
    if (status) return status;
  }
  return TG_OK;
}

static tg_status get_section(reader *r, tg_program *program, tg_diag *diag) {
  const tg_params *m = &program->params;
  tg_section *section = tg_program_add_section(program, get_text(r));
  tg_status status = TG_OK;
  section->kept = get_small(r);
  for (uint32_t t = 0; t < tg_tiles(m) && !status && !r->bad; t++) {
    tg_tile_program *tile = &section->tiles[t];
    uint64_t bytes;
    status = get_queue(r, program, TG_MX, &tile->mx, diag);
    if (!status) status = get_queue(r, program, TG_VX, &tile->vx, diag);
    if (!status) status = get_queue(r, program, TG_TX, &tile->tx, diag);
    tile->words = get_blob(r, &bytes);
    tile->word_count = (uint32_t)(bytes / 8);
    if (bytes % 8) r->bad = true;
    tile->constants = get_blob(r, &bytes);
    tile->constant_count = (uint32_t)(bytes / 4);
    if (bytes % 4) r->bad = true;
    get_fixed(r, tile->sem_init, m->semaphores);
  }
  for (uint32_t a = 0; a < tg_agcus(m) && !status && !r->bad; a++) {
    for (uint32_t c = 0; c < m->agcu_contexts && !status; c++)
      status = get_queue(r, program, TG_AGCU, &section->agcus[a].contexts[c], diag);
    get_fixed(r, section->agcus[a].sem_init, m->semaphores);
  }
  return status;
}

static void get_tensor(reader *r, tg_dram_tensor *tensor) {
  uint64_t bytes;
  tensor->name = get_text(r);
  tensor->role = (tg_role)get_small(r);
  tensor->storage = (tg_storage)get_small(r);
  const void *dims = get_blob(r, &bytes);
  if (bytes % 8 || bytes > sizeof tensor->dims) {
    r->bad = true;
    return;
  }
  tensor->rank = (uint32_t)(bytes / 8);
  memcpy(tensor->dims, dims, bytes);
  tensor->address = get_number(r);
  tensor->bytes = get_number(r);
  const uint8_t *data = get_blob(r, &bytes);
  if (bytes && bytes != tensor->bytes) r->bad = true;
  tensor->data = bytes ? data : NULL;
  uint64_t type = get_number(r);
  tensor->limit = (int64_t)get_number(r);
  const uint8_t *known = get_blob(r, &bytes);
  if (type >= TG_DTYPE_COUNT || tensor->storage > TG_STORE_TF32 ||
      (bytes && bytes != tg_tensor_elements(tensor) * tg_dtype_size((tg_dtype)type)))
    r->bad = true;
  else
    tensor->type = (tg_dtype)type;
  tensor->known = bytes && !r->bad ? known : NULL;
}

static tg_status get_program(reader *r, tg_program *program, tg_diag *diag) {
  get_fixed(r, &program->params, PARAMS_STORED);
  tg_energy_default(&program->params.energy);
  program->params.name[sizeof program->params.name - 1] = 0;
  if (r->bad) return TG_OK;
  tg_status status = tg_params_check(&program->params, diag);
  program->seed = get_number(r);
  program->dram_bytes = get_number(r);
  program->model = get_text(r);
  program->options = get_text(r);
  uint32_t count = get_count(r, 48);
  for (uint32_t t = 0; t < count && !r->bad && !status; t++) get_tensor(r, tg_program_add_tensor(program));
  count = get_count(r, 64);
  for (uint32_t s = 0; s < count && !r->bad && !status; s++) status = get_section(r, program, diag);
  count = get_count(r, 64);
  for (uint32_t i = 0; i < count && !r->bad && !status; i++) {
    tg_invocation *invocation = tg_program_add_invocation(program);
    invocation->name = get_text(r);
    invocation->section = get_small(r);
    get_fixed(r, invocation->bases, sizeof invocation->bases);
    get_fixed(r, invocation->key_nodes, sizeof invocation->key_nodes);
    for (int m = 0; m < TG_FMT_COUNT; m++) invocation->macs[m] = get_number(r);
    invocation->sums = get_number(r);
    invocation->sum_bytes = get_number(r);
    invocation->estimated_cycles = get_number(r);
  }
  return status;
}

bool tg_is_program(const void *data, size_t size) {
  return size >= NAME_LENGTH && !memcmp(data, magic, NAME_LENGTH);
}

bool tg_is_program_file(const char *path) {
  struct stat info;
  if (stat(path, &info) || !S_ISREG(info.st_mode)) return false; /* opening a pipe would block */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);        /* a stream might find no memory */
  char start[NAME_LENGTH];
  ssize_t count = file >= 0 ? read(file, start, sizeof start) : -1;
  bool is = count > 0 && tg_is_program(start, (size_t)count);
  if (file >= 0) (void)close(file);
  return is;
}

/* `name`: of the image, in messages. */
static tg_status check_image(const char *name, const uint8_t *image, size_t size, tg_diag *diag) {
  uint64_t sum;
  if (size < 2 * sizeof magic || memcmp(image, magic, 7))
    return tg_fail(diag, TG_INVALID, "%s: not a Tegula program", name);
  if (image[7] != (uint8_t)magic[7])
    return tg_fail(diag, TG_INVALID, "%s: format version %d is not version %d; compile the model again", name,
                   image[7], magic[7]);
  memcpy(&sum, image + size - 8, 8);
  if (size % 8 || sum != tg_hash(image, size - 8))
    return tg_fail(diag, TG_INVALID, "%s: damaged (the checksum does not match)", name);
  return TG_OK;
}

tg_status tg_program_read_memory(const char *name, const void *data, size_t size, tg_program **out_program,
                                 tg_diag *diag) {
  const uint8_t *image = data;
  tg_status status = check_image(name, image, size, diag);
  if (status) return status;
  tg_program *program = tg_program_create(&(tg_params){0});
  reader r = {.at = image + sizeof magic, .end = image + size - 8, .arena = &program->arena};
  status = get_program(&r, program, diag);
  if (!status && (r.bad || r.at != r.end)) status = tg_fail(diag, TG_INVALID, "its structure is damaged");
  if (!status) status = tg_program_check(program, diag);
  if (status) {
    tg_diag_prefix(diag, "%s", name);
    tg_program_destroy(program);
    return status;
  }
  *out_program = program;
  return TG_OK;
}

tg_status tg_program_read(const char *path, tg_program **out_program, tg_diag *diag) {
  FILE *file;
  uint64_t length;
  if (tg_input_open(path, &file, &length, diag)) return TG_INVALID;
  size_t size = (size_t)length;
  uint8_t *image = malloc(size + 8);
  if (!image) tg_die("out of memory");
  bool good = fread(image, 1, size, file) == size;
  fclose(file);
  tg_status status = good ? tg_program_read_memory(path, image, size, out_program, diag)
                          : tg_fail(diag, TG_INVALID, "%s: cannot be read", path);
  free(image);
  return status;
}
