/* Programs from their text form (program_print.c has it). */
#include "sim/machine/program.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
  tg_program *program;
  tg_section *section;
  tg_tile_program *tile;
  tg_agcu_program *agcu;
  tg_dram_tensor *tensor;
  uint64_t filled; /* bytes of the tensor's data, or known elements, read so far */
  tg_invocation *invocation;
  tg_diag *diag;
} parser;

/* Unquotes "..." at text; NULL if it is not that. */
static const char *unquote(parser *p, const char *text) {
  size_t length = strlen(text), n = 0;
  if (length < 2 || text[0] != '"' || text[length - 1] != '"') return NULL;
  char *out = tg_arena_alloc(&p->program->arena, length, 1);
  for (size_t i = 1; i + 1 < length; i++) {
    unsigned code;
    if (text[i] == '%' && sscanf(text + i + 1, "%2x", &code) == 1) {
      out[n++] = (char)code;
      i += 2;
    } else
      out[n++] = text[i];
  }
  return out;
}

static tg_status bad(parser *p, const char *what) { return tg_fail(p->diag, TG_INVALID, "%s", what); }

/* "N=V N=V ...": calls `set` for each. */
static tg_status parse_pairs(parser *p, const char *text, uint32_t limit,
                             void (*set)(parser *, uint32_t, uint64_t)) {
  for (;;) {
    while (isspace((unsigned char)*text)) text++;
    if (!*text) return TG_OK;
    char *end;
    unsigned long long index = strtoull(text, &end, 10);
    if (end == text || *end != '=' || index >= limit) return bad(p, "wants NUMBER=VALUE pairs");
    text = end + 1;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text) return bad(p, "wants NUMBER=VALUE pairs");
    set(p, (uint32_t)index, value);
    text = end;
  }
}

static void set_sem(parser *p, uint32_t index, uint64_t value) {
  uint8_t *sems = p->tile ? p->tile->sem_init : p->agcu->sem_init;
  sems[index] = (uint8_t)(value > 255 ? 255 : value);
}
static void set_base(parser *p, uint32_t index, uint64_t value) { p->invocation->bases[index] = value; }
static void set_key(parser *p, uint32_t index, uint64_t value) {
  p->invocation->key_nodes[index] = (uint32_t)value;
}

static tg_status parse_tensor(parser *p, const char *text) {
  char role[16], storage[8], dims[256];
  uint64_t address;
  int n = 0;
  if (sscanf(text, "%15s %7s %" SCNi64 " %255s %n", role, storage, (int64_t *)&address, dims, &n) != 4 || !n)
    return bad(p, "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\"");
  tg_dram_tensor *tensor = p->tensor = tg_program_add_tensor(p->program);
  p->filled = 0;
  tensor->name = unquote(p, text + n);
  tensor->address = address;
  int r = 0, s = 0;
  while (r < TG_ROLE_COUNT && strcmp(tg_role_name((tg_role)r), role)) r++;
  while (s < TG_STORAGES && strcmp(tg_storage_name((tg_storage)s), storage)) s++;
  if (!tensor->name || r == TG_ROLE_COUNT || s == TG_STORAGES)
    return bad(p, "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\"");
  tensor->role = (tg_role)r;
  tensor->storage = (tg_storage)s;
  uint64_t bytes = tg_storage_bytes(tensor->storage);
  for (const char *at = strcmp(dims, "-") ? dims : ""; *at;) {
    char *end;
    long long size = strtoll(at, &end, 10);
    if (end == at || size < 0 || tensor->rank == 8 || __builtin_mul_overflow(bytes, (uint64_t)size, &bytes))
      return bad(p, "bad dimensions");
    tensor->dims[tensor->rank++] = size;
    at = *end == ',' ? end + 1 : end;
  }
  tensor->bytes = bytes;
  if (tensor->role == TG_ROLE_CONSTANT && bytes) {
    if (bytes > 1u << 28) return bad(p, "a constant of the text form has at most 256 MiB");
    tensor->data = TG_NEW_ARRAY(&p->program->arena, uint8_t, bytes);
  }
  return TG_OK;
}

static tg_status parse_type(parser *p, const char *text) {
  char name[16];
  if (!p->tensor || sscanf(text, "%15s %" SCNd64, name, &p->tensor->limit) != 2 ||
      !(p->tensor->type = tg_dtype_from_name(name)))
    return bad(p, "wants: type NAME LIMIT, of a tensor");
  p->filled = 0;
  return TG_OK;
}

static tg_status parse_known(parser *p) {
  if (!p->tensor || !p->tensor->type || tg_known_bytes(p->tensor) > 1u << 28)
    return bad(p, "known elements belong to a tensor with a type, and are at most 256 MiB");
  if (!p->tensor->known)
    p->tensor->known = TG_NEW_ARRAY(&p->program->arena, uint8_t, tg_known_bytes(p->tensor));
  return TG_OK;
}

static tg_status parse_data(parser *p, const char *text, bool known) {
  if (known && parse_known(p)) return TG_INVALID;
  if (!known && (!p->tensor || !p->tensor->data)) return bad(p, "data belongs to a constant tensor");
  uint64_t bytes = known ? tg_known_bytes(p->tensor) : p->tensor->bytes;
  const uint8_t *ours = known ? p->tensor->known : p->tensor->data; /* our own memory, not shared yet */
  uint8_t *data = (uint8_t *)(uintptr_t)ours;
  for (; *text; text += 2) {
    unsigned byte;
    if (p->filled >= bytes || sscanf(text, "%2x", &byte) != 1 || !isxdigit((unsigned char)text[1]))
      return bad(p, "bad data");
    data[p->filled++] = (uint8_t)byte;
  }
  return TG_OK;
}

static tg_status parse_tile_line(parser *p, const char *word, const char *text) {
  tg_arena *arena = &p->program->arena;
  const tg_params *m = &p->program->params;
  tg_tile_program *tile = p->tile;
  if (!strcmp(word, "const")) {
    if (!tile->constants) tile->constants = TG_NEW_ARRAY(arena, uint32_t, m->vx_constants);
    if (tile->constant_count == m->vx_constants) return bad(p, "too many constants");
    tile->constants[tile->constant_count++] = (uint32_t)strtoul(text, NULL, 0);
    return TG_OK;
  }
  if (!strcmp(word, "word")) {
    tg_ucode ucode;
    if (!tile->words) tile->words = TG_NEW_ARRAY(arena, uint64_t, m->microcode_words);
    if (tile->word_count == m->microcode_words) return bad(p, "too many microcode words");
    tg_status status = tg_ucode_parse(text, &ucode, p->diag);
    if (!status) tile->words[tile->word_count++] = tg_ucode_encode(&ucode);
    return status;
  }
  if (!strcmp(word, "mx")) return tg_instr_parse(TG_MX, text, tg_queue_push(p->program, &tile->mx), p->diag);
  if (!strcmp(word, "vx")) return tg_instr_parse(TG_VX, text, tg_queue_push(p->program, &tile->vx), p->diag);
  if (!strcmp(word, "tx")) return tg_instr_parse(TG_TX, text, tg_queue_push(p->program, &tile->tx), p->diag);
  return bad(p, "not understood in a tile");
}

/* Lines that open something: a section, tile, AGCU, tensor or invocation. */
static tg_status parse_opening(parser *p, const char *word, const char *text) {
  tg_program *program = p->program;
  const tg_params *m = &program->params;
  unsigned long number = strtoul(text, NULL, 10);
  if (!strcmp(word, "section")) {
    const char *name = unquote(p, text);
    if (!name) return bad(p, "wants: section \"NAME\"");
    p->section = tg_program_add_section(program, name);
    p->tile = NULL, p->agcu = NULL;
    return TG_OK;
  }
  if (!strcmp(word, "tensor")) return parse_tensor(p, text);
  if (!strcmp(word, "invoke")) {
    const char *quote = strchr(text, '"'), *name = quote ? unquote(p, quote) : NULL;
    if (!name) return bad(p, "wants: invoke SECTION \"NAME\"");
    p->invocation = tg_program_add_invocation(program);
    p->invocation->section = (uint32_t)number;
    p->invocation->name = name;
    p->section = NULL, p->tile = NULL, p->agcu = NULL;
    return TG_OK;
  }
  bool tile = !strcmp(word, "tile");
  if (!p->section || number >= (tile ? tg_tiles(m) : tg_agcus(m)))
    return bad(p, "there is no such tile or AGCU here");
  p->tile = tile ? &p->section->tiles[number] : NULL;
  p->agcu = tile ? NULL : &p->section->agcus[number];
  return TG_OK;
}

static bool is_one_of(const char *word, const char *const *list) {
  for (; *list; list++)
    if (!strcmp(word, *list)) return true;
  return false;
}

/* A line is a word and what it wants. First words that stand anywhere (the array, the program's options, openings of sections, units
 * and tensors), then those that belong to what was opened last: data of a tensor, bases and counts of an
 * invocation, semaphores and instructions of a tile or an AGCU. */
static tg_status parse_line(parser *p, const char *word, const char *text) {
  tg_program *program = p->program;
  static const char *const openings[] = {"section", "tensor", "invoke", "tile", "agcu", NULL};
  if (program->section_count && (!strcmp(word, "arch") || !strcmp(word, "set")))
    return bad(p, "sections have the array's tiles: it stands before them");
  if (!strcmp(word, "arch")) return tg_params_load(text, &program->params, p->diag);
  if (!strcmp(word, "set")) return tg_params_set(&program->params, text, p->diag);
  if (!strcmp(word, "device")) return tg_dram_device_load(text, NULL, &program->params.dram, p->diag);
  if (!strcmp(word, "seed")) return program->seed = strtoull(text, NULL, 0), TG_OK;
  if (!strcmp(word, "dram")) return program->dram_bytes = strtoull(text, NULL, 0), TG_OK;
  if (!strcmp(word, "model") || !strcmp(word, "options")) {
    const char *value = unquote(p, text);
    if (!value) return bad(p, "wants a quoted text");
    *(word[0] == 'm' ? &program->model : &program->options) = value;
    return TG_OK;
  }
  if (is_one_of(word, openings)) return parse_opening(p, word, text);
  if (!strcmp(word, "data") || !strcmp(word, "known")) return parse_data(p, text, *word == 'k');
  if (!strcmp(word, "type")) return parse_type(p, text);
  if (p->invocation && !p->section) {
    if (!strcmp(word, "base")) return parse_pairs(p, text, TG_BASES, set_base);
    if (!strcmp(word, "key")) return parse_pairs(p, text, TG_BASES, set_key);
    uint64_t *macs = p->invocation->macs; /* in the order of the formats' codes */
    if (!strcmp(word, "macs") && sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &macs[0],
                                        &macs[1], &macs[2], &macs[3]) == TG_FMT_COUNT)
      return TG_OK;
    if (!strcmp(word, "sums") &&
        sscanf(text, "%" SCNu64 " %" SCNu64, &p->invocation->sums, &p->invocation->sum_bytes) == 2)
      return TG_OK;
    if (!strcmp(word, "estimate") && sscanf(text, "%" SCNu64, &p->invocation->estimated_cycles) == 1)
      return TG_OK;
    return bad(p, "not understood in an invocation");
  }
  if (!strcmp(word, "kept") && p->section && !p->tile && !p->agcu) {
    char *end;
    unsigned long long kept = strtoull(text, &end, 0);
    if (end == text || *end || kept > UINT32_MAX) return bad(p, "wants banks, as bits of a number of 32");
    p->section->kept = (uint32_t)kept;
    return TG_OK;
  }
  if (!strcmp(word, "sem") && (p->tile || p->agcu))
    return parse_pairs(p, text, program->params.semaphores, set_sem);
  if (p->tile) return parse_tile_line(p, word, text);
  if (p->agcu && !strcmp(word, "ctx")) {
    char *end;
    unsigned long context = strtoul(text, &end, 10);
    if (context >= program->params.agcu_contexts) return bad(p, "there is no such context");
    return tg_instr_parse(TG_AGCU, end, tg_queue_push(program, &p->agcu->contexts[context]), p->diag);
  }
  return bad(p, "not understood here");
}

tg_status tg_program_parse(const char *text, tg_program **out_program, tg_diag *diag) {
  tg_params params;
  tg_params_load("tiny", &params, NULL);
  parser p = {.program = tg_program_create(&params), .diag = diag};
  char *copy = strdup(text), *save = NULL;
  if (!copy) tg_die("out of memory");
  tg_status status = TG_OK;
  int number = 0;
  for (char *line = copy, *next; line && !status; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    number++;
    size_t n = strlen(line);
    while (n && isspace((unsigned char)line[n - 1])) line[--n] = 0;
    char *word = strtok_r(line, " \t", &save);
    if (!word || *word == '#') continue;
    char *rest = save;
    while (isspace((unsigned char)*rest)) rest++;
    status = parse_line(&p, word, rest);
    if (status) tg_diag_prefix(diag, "line %d: %s", number, word);
  }
  free(copy);
  if (!status) status = tg_params_check(&p.program->params, diag);
  if (!status) status = tg_program_check(p.program, diag);
  if (status)
    tg_program_destroy(p.program);
  else
    *out_program = p.program;
  return status;
}
