#include "runtime/regress/baseline.h"
#include "frontend/base/hash.h"
#include "frontend/base/input_file.h"
#include "frontend/base/output_file.h"
#include "runtime/json_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_id(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_folder(const char *path) {
  struct stat info;
  size_t length = strlen(path);
  return (length && path[length - 1] == '/') || (!stat(path, &info) && S_ISDIR(info.st_mode));
}

/* Adds the cases of a file. A case that two files have is an error. */
static tg_status read_file(const char *path, json_t *all, tg_diag *diag) {
  json_error_t error;
  FILE *stream;
  if (tg_input_open(path, &stream, NULL, diag)) return TG_INVALID;
  json_t *file = json_loadf(stream, JSON_REJECT_DUPLICATES, &error), *cases = json_object_get(file, "cases");
  fclose(stream);
  if (!file) return tg_fail(diag, TG_INVALID, "%s:%d: %s", path, error.line, error.text);
  tg_status status = TG_OK;
  const char *id;
  json_t *entry;
  if (!json_is_object(cases) || json_integer_value(json_object_get(file, "tegula_baseline")) != 1)
    status = tg_fail(diag, TG_INVALID, "%s: is no baseline of tegula regress", path);
  json_object_foreach(cases, id, entry) {
    if (!status && !json_is_object(entry))
      status = tg_fail(diag, TG_INVALID, "%s: the entry of \"%s\" is no object", path, id);
    if (!status && json_object_get(all, id))
      status = tg_fail(diag, TG_INVALID, "%s: another file of the baseline has \"%s\", too", path, id);
    if (!status) json_object_set(all, id, entry);
  }
  json_decref(file);
  return status;
}

/* Names of the .json files of a folder, in order, on the arena. */
static size_t list_files(tg_arena *arena, const char *folder, const char ***out_paths) {
  size_t count = 0, capacity = 0;
  DIR *open = opendir(folder);
  *out_paths = NULL;
  for (const struct dirent *entry; open && (entry = readdir(open));) {
    size_t length = strlen(entry->d_name);
    if (*entry->d_name == '.' || length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0) continue;
    TG_PUSH(arena, *out_paths, count, capacity, tg_arena_printf(arena, "%s/%s", folder, entry->d_name));
  }
  if (open) closedir(open);
  if (count) qsort(*out_paths, count, sizeof **out_paths, by_id);
  return count;
}

tg_status tg_baseline_read(const char *path, tg_baseline *out, tg_diag *diag) {
  tg_arena arena = {0};
  tg_status status = TG_OK;
  *out = (tg_baseline){.cases = json_object()};
  if (access(path, F_OK)) return TG_OK;
  if (is_folder(path)) {
    const char **paths;
    size_t count = list_files(&arena, path, &paths);
    for (size_t i = 0; !status && i < count; i++) status = read_file(paths[i], out->cases, diag);
    out->exists = count > 0;
  } else {
    status = read_file(path, out->cases, diag);
    out->exists = true;
  }
  tg_arena_release(&arena);
  return status;
}

void tg_baseline_release(tg_baseline *baseline) {
  json_decref(baseline->cases);
  *baseline = (tg_baseline){0};
}

const json_t *tg_baseline_entry(const tg_baseline *baseline, const char *id) {
  return json_object_get(baseline->cases, id);
}

/* Three digits: enough to see a movement, and the same on hosts whose references differ in the last bits. */
static json_t *rounded(const json_t *number) {
  char text[32];
  if (!json_is_number(number)) return json_null();
  snprintf(text, sizeof text, "%.2e", json_number_value(number));
  return json_real(strtod(text, NULL));
}

static json_t *rounded_errors(const json_t *errors) {
  json_t *all = json_object(), *measures, *value;
  const char *output, *key;
  json_object_foreach((json_t *)(uintptr_t)errors, output, measures) {
    json_t *one = json_object();
    json_object_foreach(measures, key, value) {
      if (strcmp(key, "cosine")) json_object_set_new(one, key, rounded(value));
    }
    json_object_set_new(all, output, one);
  }
  return all;
}

static json_t *sections_of(const json_t *run) {
  json_t *list = json_array(), *section;
  size_t i;
  json_array_foreach(json_object_get(run, "sections"), i, section) json_array_append(list, section);
  return list;
}

json_t *tg_baseline_entry_of(const json_t *run) {
  json_t *digests = json_object_get(run, "output_digests"), *errors = json_object_get(run, "error_vs_fp32");
  json_t *loss = json_object_get(json_object_get(run, "loss"), "mean_last_20");
  return json_pack("{s:O, s:O, s:O?, s:o?, s:o?, s:o}", "cycles", json_object_get(run, "cycles"),
                   "device_bytes", json_object_get(run, "peak_device_bytes"), "output_digests",
                   json_is_object(digests) ? digests : NULL, "error_vs_fp32",
                   json_is_object(errors) ? rounded_errors(errors) : NULL, "loss",
                   json_is_number(loss) ? rounded(loss) : NULL, "sections", sections_of(run));
}

/* --- the file */

static void put(FILE *out, const json_t *value) {
  json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

static void put_text(FILE *out, const char *text) {
  json_t *string = tg_json_text(text);
  put(out, string);
  json_decref(string);
}

static void put_entry(FILE *out, const json_t *entry) {
  static const char *const keys[] = {"cycles", "device_bytes", "output_digests", "error_vs_fp32", "loss"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    const json_t *value = json_object_get(entry, keys[k]);
    if (!value || json_is_null(value)) continue;
    fprintf(out, "      \"%s\": ", keys[k]);
    put(out, value);
    fputs(",\n", out);
  }
  const json_t *sections = json_object_get(entry, "sections");
  fputs("      \"sections\": [", out);
  for (size_t i = 0; i < json_array_size(sections); i++) {
    fputs(i ? ",\n        " : "\n        ", out);
    put(out, json_array_get(sections, i));
  }
  fputs("]\n", out);
}

static tg_status write_file(const char *path, const tg_suite *suite, json_t *cases, tg_diag *diag) {
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  tg_arena arena = {0};
  const char **ids = TG_NEW_ARRAY(&arena, const char *, json_object_size(cases)), *id;
  size_t count = 0;
  json_t *entry;
  json_object_foreach(cases, id, entry) ids[count++] = id;
  qsort(ids, count, sizeof *ids, by_id);
  fputs("{\n  \"tegula_baseline\": 1,\n  \"suite\": ", file.stream);
  put_text(file.stream, suite->name);
  fputs(",\n  \"cases\": {", file.stream);
  for (size_t i = 0; i < count; i++) {
    fputs(i ? ",\n    " : "\n    ", file.stream);
    put_text(file.stream, ids[i]);
    fputs(": {\n", file.stream);
    put_entry(file.stream, json_object_get(cases, ids[i]));
    fputs("    }", file.stream);
  }
  fputs("\n  }\n}\n", file.stream);
  tg_arena_release(&arena);
  return tg_output_commit(&file, diag);
}

/* "FOLDER/MODEL_FLAGS_ENGINE-HASH.json" */
static const char *file_of(tg_arena *arena, const char *folder, const char *id) {
  char *name = tg_arena_printf(arena, "%.160s", id);
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("+._-", *c)) *c = '_';
  return tg_arena_printf(arena, "%s/%s-%08x.json", folder, name, (unsigned)tg_hash_text(id));
}

static tg_status write_folder(const char *folder, const tg_suite *suite, json_t *cases, tg_diag *diag) {
  tg_arena arena = {0};
  tg_words written = {0};
  const char *id, **old;
  json_t *entry;
  tg_status status = TG_OK;
  if (mkdir(folder, 0777) && errno != EEXIST)
    status = tg_fail(diag, TG_INVALID, "%s: cannot be made: %s", folder, strerror(errno));
  json_object_foreach(cases, id, entry) {
    if (status) break;
    json_t *one = json_object();
    json_object_set(one, id, entry);
    tg_words_add(&arena, &written, file_of(&arena, folder, id));
    status = write_file(written.word[written.count - 1], suite, one, diag);
    json_decref(one);
  }
  size_t count = status ? 0 : list_files(&arena, folder, &old);
  for (size_t i = 0; i < count; i++)
    if (!tg_words_have(&written, old[i])) unlink(old[i]);
  tg_arena_release(&arena);
  return status;
}

tg_status tg_baseline_write(const char *path, const tg_suite *suite, json_t *cases, tg_diag *diag) {
  return is_folder(path) ? write_folder(path, suite, cases, diag) : write_file(path, suite, cases, diag);
}
