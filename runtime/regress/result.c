#include "runtime/regress/result.h"
#include "frontend/base/hash.h"
#include "frontend/base/output_file.h"
#include "runtime/json_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const outcome_names[TG_OUTCOMES] = {"ran",  "fault",  "refused", "crash",
                                                       "hang", "memory", "killed"};
const char *tg_outcome_name(tg_outcome outcome) { return outcome_names[outcome]; }

void tg_result_release(tg_result *result) {
  json_decref(result->run);
  json_decref(result->verify);
  *result = (tg_result){0};
}

/* --- the folder */

static tg_status make_folder(const char *path, tg_diag *diag) {
  if (!mkdir(path, 0777) || errno == EEXIST) return TG_OK;
  return tg_fail(diag, TG_INVALID, "%s: cannot be made: %s", path, strerror(errno));
}

static bool ends_with(const char *name, const char *ending) {
  size_t length = strlen(name), tail = strlen(ending);
  return length >= tail && !strcmp(name + length - tail, ending);
}

/* What is neither a result nor a log was left by a process that was killed. */
static void sweep(tg_arena *arena, const char *folder) {
  DIR *open = opendir(folder);
  if (!open) return;
  for (const struct dirent *entry; (entry = readdir(open));)
    if (*entry->d_name != '.' && !ends_with(entry->d_name, ".result.json") &&
        !ends_with(entry->d_name, ".log"))
      unlink(tg_arena_printf(arena, "%s/%s", folder, entry->d_name));
  closedir(open);
}

tg_status tg_results_open(tg_arena *arena, const char *folder, tg_results *out_results, tg_diag *diag) {
  *out_results = (tg_results){.lock = -1};
  tg_status status = make_folder(folder, diag);
  char *absolute = status ? NULL : realpath(folder, NULL);
  if (!absolute) return tg_fail(diag, TG_INVALID, "%s: cannot be used: %s", folder, strerror(errno));
  out_results->folder = tg_arena_strdup(arena, absolute);
  free(absolute);
  const char *cases = tg_arena_printf(arena, "%s/cases", out_results->folder);
  status = make_folder(cases, diag);
  if (status) return status;
  const char *lock = tg_arena_printf(arena, "%s/.lock", out_results->folder);
  out_results->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (out_results->lock < 0)
    return tg_fail(diag, TG_INVALID, "%s: cannot be written: %s", lock, strerror(errno));
  if (flock(out_results->lock, LOCK_EX | LOCK_NB))
    return tg_fail(diag, TG_INVALID, "%s: another tegula regress works there: choose another --results",
                   folder);
  sweep(arena, cases);
  return TG_OK;
}

void tg_results_close(tg_results *results) {
  if (results->lock >= 0) close(results->lock);
  results->lock = -1;
}

const char *tg_results_file(const tg_results *results, tg_arena *arena, const char *id, const char *ending) {
  char *name = tg_arena_printf(arena, "%.120s", id);
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("+._-", *c)) *c = '_';
  return tg_arena_printf(arena, "%s/cases/%s-%08x.%s", results->folder, name, (unsigned)tg_hash_text(id),
                         ending);
}

/* --- results */

tg_status tg_result_write(const tg_results *results, tg_arena *arena, const char *id, const char *fingerprint,
                          const tg_result *r, tg_diag *diag) {
  if (r->outcome == TG_KILLED) return TG_OK;
  tg_output_file file;
  tg_status status = tg_output_open(tg_results_file(results, arena, id, "result.json"), &file, diag);
  if (status) return status;
  json_t *object =
      json_pack("{s:o, s:s, s:s, s:o, s:o, s:O?, s:O?, s:f}", "case", tg_json_text(id), "fingerprint",
                fingerprint, "outcome", tg_outcome_name(r->outcome), "detail", tg_json_text(r->detail), "log",
                tg_json_text(r->log), "run", r->run, "verify", r->verify, "seconds", r->seconds);
  if (r->retries) json_object_set_new(object, "retries", json_integer(r->retries));
  json_dumpf(object, file.stream, JSON_COMPACT);
  fputc('\n', file.stream);
  json_decref(object);
  return tg_output_commit(&file, diag);
}

static const char *text_of(tg_arena *arena, const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? tg_arena_strdup(arena, text) : NULL;
}

static json_t *object_of(const json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  return json_is_object(value) ? json_incref(value) : NULL;
}

bool tg_result_read(const tg_results *results, tg_arena *arena, const char *id, const char *fingerprint,
                    tg_result *out) {
  json_t *object = json_load_file(tg_results_file(results, arena, id, "result.json"), 0, NULL);
  const char *kept = json_string_value(json_object_get(object, "fingerprint")),
             *outcome = json_string_value(json_object_get(object, "outcome"));
  *out = (tg_result){.detail = text_of(arena, object, "detail"), .log = text_of(arena, object, "log")};
  out->outcome = TG_OUTCOMES;
  for (int o = 0; outcome && o < TG_KILLED; o++)
    if (!strcmp(outcome_names[o], outcome)) out->outcome = (tg_outcome)o;
  out->finished =
      kept && !strcmp(kept, fingerprint) && out->outcome != TG_OUTCOMES && out->detail && out->log;
  if (out->finished) {
    out->run = object_of(object, "run");
    out->verify = object_of(object, "verify");
    out->retries = (int)json_integer_value(json_object_get(object, "retries"));
  }
  json_decref(object);
  return out->finished;
}
