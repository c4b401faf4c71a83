/* DIR/checkpoint: a magic and version, the options, counters, every carried tensor as it lies in the device's
 * memory, the record of the steps, a checksum. Written beside, flushed to the disk, renamed, and the folder
 * flushed: whatever is found under the name is whole. */
#include "frontend/base/hash.h"
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"
#include "runtime/training/run.h"
#include "runtime/training/trainer_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = {'T', 'G', 'T', 'R', 'A', 'I', 'N', 2};

typedef struct counters {
  uint64_t done, updates, good;
  double scale;
} counters;

/* --- writing */

typedef struct writer {
  FILE *file;
  tg_hasher hasher; /* of what is written */
} writer;

static void put(writer *w, const void *data, uint64_t size) {
  if (!size) return;
  tg_hasher_add(&w->hasher, data, (size_t)size);
  fwrite(data, 1, (size_t)size, w->file);
}

static void put_blob(writer *w, const void *data, uint64_t size) {
  put(w, &size, sizeof size);
  put(w, data, size);
}

static void put_state(writer *w, const tg_trainer *t) {
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_dram_tensor *tensor = tg_trainer_tensor(t, i);
    if (!tg_trainer_is_carried(t, i)) continue;
    put_blob(w, tensor->name, strlen(tensor->name));
    put_blob(w, t->dram->bytes + tensor->address, tensor->bytes);
  }
}

static void put_run(writer *w, const tg_training_run *run) {
  char *options = json_dumps(run->options, JSON_COMPACT | JSON_SORT_KEYS);
  if (!options) tg_die("out of memory");
  counters at = {(uint64_t)run->done, run->trainer->updates, run->scaler.good, run->scaler.scale};
  put(w, magic, sizeof magic);
  put_blob(w, options, strlen(options));
  put_blob(w, &at, sizeof at);
  put_state(w, run->trainer);
  put_blob(w, run->records, (uint64_t)run->done * sizeof *run->records);
  uint64_t sum = tg_hasher_sum(&w->hasher);
  fwrite(&sum, sizeof sum, 1, w->file);
  free(options);
}

/* What is half written, always by this name: a run that is killed again and again leaves one. */
static const char part[] = "checkpoint.part";

static bool write_durably(int folder, const tg_training_run *run) {
  int descriptor = openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  writer w = {.file = descriptor < 0 ? NULL : fdopen(descriptor, "wb")};
  tg_hasher_start(&w.hasher);
  if (!w.file) {
    if (descriptor >= 0) close(descriptor);
    return false;
  }
  put_run(&w, run);
  bool good = !ferror(w.file) && !fflush(w.file) && !fsync(descriptor);
  good = !fclose(w.file) && good;
  return good && !renameat(folder, part, folder, "checkpoint") && !fsync(folder);
}

tg_status tg_checkpoint_write(const tg_training_run *run, const char *folder, tg_diag *diag) {
  if (mkdir(folder, 0777) && errno != EEXIST)
    return tg_fail(diag, TG_INVALID, "%s: cannot be made: %s", folder, strerror(errno));
  int where = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (where < 0) return tg_fail(diag, TG_INVALID, "%s: %s", folder, strerror(errno));
  char *half;
  if (asprintf(&half, "%s/%s", folder, part) < 0) tg_die("out of memory");
  tg_output_remember(half);
  errno = 0;
  bool good = write_durably(where, run);
  int error = errno;
  if (!good) (void)unlinkat(where, part, 0);
  tg_output_forget(half);
  free(half);
  close(where);
  if (good) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s/checkpoint: cannot be written: %s", folder, strerror(error));
}

/* --- reading */

typedef struct reader {
  const uint8_t *at, *end;
  const char *path;
  tg_diag *diag;
} reader;

static tg_status damaged(const reader *r) { return tg_fail(r->diag, TG_INVALID, "%s: is damaged", r->path); }

static const uint8_t *take_blob(reader *r, uint64_t *out_size) {
  if (r->end - r->at < (ptrdiff_t)sizeof *out_size) return NULL;
  memcpy(out_size, r->at, sizeof *out_size);
  r->at += sizeof *out_size;
  if (*out_size > (uint64_t)(r->end - r->at)) return NULL;
  const uint8_t *data = r->at;
  r->at += *out_size;
  return data;
}

static tg_status compare_options(const reader *r, const json_t *now, const json_t *then) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)then, key, value) if (!json_object_get(now, key)) return tg_fail(
      r->diag, TG_INVALID, "%s: was written with %s %s, which is not given now", r->path, key,
      json_string_value(value));
  json_object_foreach((json_t *)now, key, value) {
    const char *before = json_string_value(json_object_get(then, key));
    if (!before)
      return tg_fail(r->diag, TG_INVALID, "%s: was written without %s, which is %s now", r->path, key,
                     json_string_value(value));
    if (strcmp(before, json_string_value(value)))
      return tg_fail(r->diag, TG_INVALID, "%s: was written with %s %s, now it is %s", r->path, key, before,
                     json_string_value(value));
  }
  return TG_OK;
}

static tg_status read_options(reader *r, const tg_training_run *run) {
  uint64_t size;
  const uint8_t *text = take_blob(r, &size);
  json_t *then = text ? json_loadb((const char *)text, (size_t)size, 0, NULL) : NULL;
  tg_status status = json_is_object(then) ? compare_options(r, run->options, then) : damaged(r);
  json_decref(then);
  return status;
}

static tg_status read_state(reader *r, const tg_trainer *t) {
  for (int i = 0; i < t->plan.tensor_count; i++) {
    const tg_dram_tensor *tensor = tg_trainer_tensor(t, i);
    if (!tg_trainer_is_carried(t, i)) continue;
    uint64_t length, size;
    const uint8_t *name = take_blob(r, &length), *data = name ? take_blob(r, &size) : NULL;
    if (!data || length != strlen(tensor->name) || memcmp(name, tensor->name, length) ||
        size != tensor->bytes)
      return tg_fail(r->diag, TG_INVALID, "%s: has no values for \"%s\"", r->path, tensor->name);
    memcpy(t->dram->bytes + tensor->address, data, size);
  }
  return TG_OK;
}

static tg_status read_run(reader *r, tg_training_run *run) {
  uint64_t size;
  tg_status status = read_options(r, run);
  if (status) return status;
  const uint8_t *at = take_blob(r, &size);
  counters c;
  if (!at || size != sizeof c) return damaged(r);
  memcpy(&c, at, sizeof c);
  if (c.done > (uint64_t)run->steps)
    return tg_fail(r->diag, TG_INVALID, "%s: has %" PRIu64 " steps, more than --steps %" PRId64, r->path,
                   c.done, run->steps);
  status = read_state(r, run->trainer);
  if (status) return status;
  const uint8_t *records = take_blob(r, &size);
  if (!records || size != c.done * sizeof *run->records || r->at != r->end) return damaged(r);
  run->record_capacity = (size_t)c.done;
  run->records = TG_NEW_ARRAY(&run->arena, tg_step_record, run->record_capacity);
  memcpy(run->records, records, (size_t)size);
  run->done = run->resumed_at = (int64_t)c.done;
  run->trainer->steps = (uint32_t)c.done;
  run->trainer->updates = (uint32_t)c.updates;
  run->scaler.good = (uint32_t)c.good;
  run->scaler.scale = c.scale;
  return TG_OK;
}

static tg_status read_image(tg_training_run *run, const char *path, FILE *file, tg_diag *diag) {
  struct stat info;
  if (fstat(fileno(file), &info) || !S_ISREG(info.st_mode))
    return tg_fail(diag, TG_INVALID, "%s: is no regular file", path);
  tg_arena arena = {0};
  size_t size = (size_t)info.st_size;
  uint8_t *image = tg_arena_alloc(&arena, size + 1, 1);
  uint64_t sum = 0;
  reader r = {.path = path, .diag = diag};
  bool good = fread(image, 1, size, file) == size && size >= sizeof magic + sizeof sum;
  if (good) memcpy(&sum, image + size - sizeof sum, sizeof sum);
  good = good && !memcmp(image, magic, sizeof magic) && sum == tg_hash(image, size - sizeof sum);
  r.at = image + sizeof magic;
  r.end = image + size - sizeof sum;
  tg_status status = good ? read_run(&r, run) : damaged(&r);
  tg_arena_release(&arena);
  return status;
}

tg_status tg_checkpoint_read(tg_training_run *run, const char *folder, bool *out_found, tg_diag *diag) {
  const char *path = tg_arena_printf(&run->arena, "%s/checkpoint", folder);
  FILE *file;
  *out_found = access(path, F_OK) == 0 || errno != ENOENT;
  if (!*out_found) return TG_OK;
  if (tg_input_open(path, &file, NULL, diag)) return TG_INVALID;
  tg_status status = read_image(run, path, file, diag);
  fclose(file);
  return status;
}
