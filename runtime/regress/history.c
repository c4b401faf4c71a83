#include "runtime/regress/history.h"
#include "frontend/base/hash.h"
#include "runtime/json_text.h"
#include "runtime/regress/movement.h"
#include "runtime/tegula.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 500 };

/* --- a line of the file */

static json_t *or_null(const json_t *value) {
  return value ? json_incref((json_t *)(uintptr_t)value) : json_null();
}

/* A hash of all digests: did a bit move? */
static json_t *bits_of(const json_t *run) {
  const json_t *digests = json_object_get(run, "output_digests");
  if (!json_is_object(digests)) return json_null();
  char *text = json_dumps(digests, JSON_COMPACT | JSON_SORT_KEYS), sum[24];
  snprintf(sum, sizeof sum, "%08x", (unsigned)tg_hash_text(text));
  free(text);
  return json_string(sum);
}

static json_t *case_line(const tg_verdict *v, const json_t *run) {
  json_t *one = json_pack("{s:s, s:o, s:o, s:o}", "verdict", tg_verdict_name(v), "cycles",
                          or_null(json_object_get(run, "cycles")), "device_bytes",
                          or_null(json_object_get(run, "peak_device_bytes")), "bits", bits_of(run));
  for (size_t i = 0; v->failed && i < v->count; i++)
    if (v->findings[i].failure) {
      json_object_set_new(one, "says", tg_json_text(v->findings[i].text));
      break;
    }
  return one;
}

static void set(json_t *object, const char *key, json_t *value) {
  json_t *name = tg_json_text(key);
  json_object_set_new(object, json_string_value(name), value);
  json_decref(name);
}

static json_t *line_of(const tg_regression *r, const char *label) {
  char now[32];
  struct tm utc;
  time_t seconds = time(NULL);
  strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
  json_t *cases = json_object();
  for (size_t i = 0; i < r->count; i++)
    set(cases, r->suite->cases[r->wanted[i]].id,
        case_line(&r->verdicts[r->wanted[i]], r->results[r->wanted[i]].run));
  return json_pack("{s:i, s:o, s:s, s:s, s:o, s:o}", "tegula_history", 1, "suite",
                   tg_json_text(r->suite->name), "time", now, "tegula", tg_version(), "label",
                   label ? tg_json_text(label) : json_null(), "cases", cases);
}

/* --- the file */

/* Cuts off a last line without an end. */
static bool mend(int file) {
  struct stat info;
  char block[4096];
  if (fstat(file, &info)) return false;
  off_t end = info.st_size;
  while (end > 0) {
    size_t size = end < (off_t)sizeof block ? (size_t)end : sizeof block;
    if (pread(file, block, size, end - (off_t)size) != (ssize_t)size) return false;
    for (; size; size--, end--)
      if (block[size - 1] == '\n') return end == info.st_size || !ftruncate(file, end);
  }
  return !info.st_size || !ftruncate(file, 0);
}

static bool write_all(int file, const char *text, size_t size) {
  while (size) {
    ssize_t count = write(file, text, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text += count;
    size -= (size_t)count;
  }
  return true;
}

static tg_status open_history(const char *path, int *out_file, tg_diag *diag) {
  struct stat info;
  int file = *out_file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (file < 0) return tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", path, strerror(errno));
  if (!fstat(file, &info) && S_ISREG(info.st_mode)) return TG_OK;
  close(file);
  return tg_fail(diag, TG_INVALID, "%s: is no regular file", path);
}

tg_status tg_history_check(const char *path, tg_diag *diag) {
  int file;
  tg_status status = open_history(path, &file, diag);
  if (!status) close(file);
  return status;
}

tg_status tg_history_add(const char *path, const tg_regression *r, const char *label, tg_diag *diag) {
  int file;
  tg_status status = open_history(path, &file, diag);
  if (status) return status;
  json_t *line = line_of(r, label);
  char *text = json_dumps(line, JSON_COMPACT);
  size_t length = strlen(text);
  text[length] = '\n'; /* in place of the zero */
  if (flock(file, LOCK_EX) || !mend(file) || !write_all(file, text, length + 1))
    status = tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", path, strerror(errno));
  free(text);
  json_decref(line);
  close(file);
  return status;
}

/* Cases of `more`, which has the same label, join those of `run`. */
static void join(json_t *run, const json_t *more) {
  json_object_update(json_object_get(run, "cases"), json_object_get(more, "cases"));
}

/* No number below 0: differences fit. */
static bool is_count(const json_t *value) {
  return !value || json_is_null(value) || (json_is_integer(value) && json_integer_value(value) >= 0);
}

static bool is_line(const json_t *line) {
  const char *id;
  json_t *one, *cases = json_object_get(line, "cases");
  if (json_integer_value(json_object_get(line, "tegula_history")) != 1 ||
      !json_string_value(json_object_get(line, "suite")) ||
      !json_string_value(json_object_get(line, "time")) || !json_is_object(cases))
    return false;
  json_object_foreach(cases, id, one) {
    if (!json_string_value(json_object_get(one, "verdict")) || !is_count(json_object_get(one, "cycles")) ||
        !is_count(json_object_get(one, "device_bytes")))
      return false;
  }
  return true;
}

static void take_line(json_t *runs, json_t *line, const char *suite) {
  json_t *last = json_array_get(runs, json_array_size(runs) - 1);
  const json_t *label = json_object_get(line, "label");
  if (strcmp(json_string_value(json_object_get(line, "suite")), suite) != 0) return;
  if (last && json_is_string(label) && json_equal(label, json_object_get(last, "label"))) {
    join(last, line);
    return;
  }
  if (json_array_size(runs) == MOST_RUNS) json_array_remove(runs, 0);
  json_array_append(runs, line);
}

tg_status tg_history_read(const char *path, const char *suite, json_t **out_runs, tg_diag *diag) {
  struct stat info;
  *out_runs = json_array();
  if (access(path, F_OK) && errno == ENOENT) return TG_OK;
  FILE *file = !stat(path, &info) && S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
  if (!file) return tg_fail(diag, TG_INVALID, "%s: cannot be read as a history", path);
  char *text = NULL;
  size_t capacity = 0, number = 0;
  tg_status status = TG_OK;
  json_t *name = tg_json_text(suite);
  for (ssize_t length; !status && (length = getline(&text, &capacity, file)) > 0;) {
    number++;
    if (text[length - 1] != '\n') break; /* a killed run left it */
    json_t *line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    if (is_line(line))
      take_line(*out_runs, line, json_string_value(name));
    else
      status = tg_fail(diag, TG_INVALID, "%s:%zu: is no run of a history of tegula regress", path, number);
    json_decref(line);
  }
  json_decref(name);
  free(text);
  fclose(file);
  return status;
}
