/* The text form of a program: one line a fact, without indentation, parsed by the first word of each line.
 *
 *   arch tiny                            preset, then `set KEY=VALUE` where it differs
 *   tensor input fp32 0x40 2,3 "x"       role, storage, address, dims, name
 *   data HEX                             of a constant; `known HEX`: of what is known of it
 *   type NAME LIMIT                      of inputs and outputs
 *   section "gemm"                       then: kept BANKS, of those that hold what an earlier section left
 *   tile 0                               then: sem N=V ... | const HEX ... | word TEXT | mx|vx|tx INSTRUCTION
 *   agcu 0                               then: sem N=V ... | ctx N INSTRUCTION
 *   invoke 0 "name"                      then: base N=ADDRESS ... | key N=NODE ... |
 *                                        macs FP32 BF16 FP16 TF32 | sums TENSORS BYTES
 */
#include "frontend/base/text_stream.h"
#include "sim/machine/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_quoted(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == '"' || c == '%' || c == 0x7f)
      fprintf(out, "%%%02x", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

static void print_params(FILE *out, const tg_params *params, tg_arena *scratch) {
  tg_params preset;
  const char *const *names = tg_params_names(), *base = names[0];
  for (int i = 0; names[i]; i++)
    if (!strcmp(params->name, names[i])) base = names[i];
  tg_params_load(base, &preset, NULL);
  fprintf(out, "arch %s\n", base);
#define PARAM(key, presets, lowest, highest, power_of_two, doc)                                              \
  if (params->key != preset.key) fprintf(out, "set %s=%u\n", #key, params->key);
#include "sim/machine/params.def"
#undef PARAM
  if (!tg_dram_device_equal(&params->dram, &preset.dram))
    fprintf(out, "device %s\n", tg_dram_device_print(&params->dram, scratch));
}

static void print_sems(FILE *out, const uint8_t *sem_init, uint32_t count) {
  bool any = false;
  for (uint32_t s = 0; s < count; s++)
    if (sem_init[s]) {
      fprintf(out, "%s %u=%u", any ? "" : "sem", s, sem_init[s]);
      any = true;
    }
  if (any) fputc('\n', out);
}

static void print_queue(FILE *out, const char *prefix, tg_unit unit, const tg_queue *queue,
                        tg_arena *scratch) {
  for (uint32_t i = 0; i < queue->count; i++)
    fprintf(out, "%s %s\n", prefix, tg_instr_print(unit, &queue->instrs[i], scratch));
}

static void print_tile(FILE *out, const tg_params *m, const tg_tile_program *tile, tg_arena *scratch) {
  print_sems(out, tile->sem_init, m->semaphores);
  for (uint32_t c = 0; c < tile->constant_count; c++) fprintf(out, "const 0x%08x\n", tile->constants[c]);
  for (uint32_t w = 0; w < tile->word_count; w++) {
    tg_ucode word = tg_ucode_decode(tile->words[w]);
    fprintf(out, "word %s\n", tg_ucode_print(&word, scratch));
  }
  print_queue(out, "mx", TG_MX, &tile->mx, scratch);
  print_queue(out, "vx", TG_VX, &tile->vx, scratch);
  print_queue(out, "tx", TG_TX, &tile->tx, scratch);
}

static void print_section(FILE *out, const tg_params *m, const tg_section *section, tg_arena *scratch) {
  fputs("section ", out);
  print_quoted(out, section->name);
  fputc('\n', out);
  if (section->kept) fprintf(out, "kept 0x%" PRIx32 "\n", section->kept);
  for (uint32_t t = 0; t < tg_tiles(m); t++) {
    fprintf(out, "tile %u\n", t);
    print_tile(out, m, &section->tiles[t], scratch);
  }
  for (uint32_t a = 0; a < tg_agcus(m); a++) {
    fprintf(out, "agcu %u\n", a);
    print_sems(out, section->agcus[a].sem_init, m->semaphores);
    for (uint32_t c = 0; c < m->agcu_contexts; c++) {
      char prefix[16];
      snprintf(prefix, sizeof prefix, "ctx %u", c);
      print_queue(out, prefix, TG_AGCU, &section->agcus[a].contexts[c], scratch);
    }
  }
}

static void print_bytes(FILE *out, const char *word, const uint8_t *bytes, uint64_t count) {
  static const char digits[] = "0123456789abcdef";
  for (uint64_t i = 0; i < count; i += 64) { /* there may be much of it */
    char line[129];
    uint64_t most = count - i < 64 ? count - i : 64;
    for (uint64_t k = 0; k < most; k++) {
      line[2 * k] = digits[bytes[i + k] >> 4];
      line[2 * k + 1] = digits[bytes[i + k] & 15];
    }
    line[2 * most] = 0;
    fprintf(out, "%s %s\n", word, line);
  }
}

static void print_tensor(FILE *out, const tg_dram_tensor *tensor) {
  fprintf(out, "tensor %s %s 0x%" PRIx64 " ", tg_role_name(tensor->role), tg_storage_name(tensor->storage),
          tensor->address);
  for (uint32_t d = 0; d < tensor->rank; d++) fprintf(out, "%s%" PRId64, d ? "," : "", tensor->dims[d]);
  fputs(tensor->rank ? " " : "- ", out);
  print_quoted(out, tensor->name);
  fputc('\n', out);
  if (tensor->data) print_bytes(out, "data", tensor->data, tensor->bytes);
  if (tensor->type) fprintf(out, "type %s %" PRId64 "\n", tg_dtype_name(tensor->type), tensor->limit);
  if (tensor->known) print_bytes(out, "known", tensor->known, tg_known_bytes(tensor));
}

static void print_invocation(FILE *out, const tg_invocation *invocation) {
  fprintf(out, "invoke %u ", invocation->section);
  print_quoted(out, invocation->name);
  fputs("\nbase", out);
  for (int b = 0; b < TG_BASES; b++)
    if (invocation->bases[b]) fprintf(out, " %d=0x%" PRIx64, b, invocation->bases[b]);
  fputs("\nkey", out);
  for (int b = 0; b < TG_BASES; b++)
    if (invocation->key_nodes[b]) fprintf(out, " %d=%u", b, invocation->key_nodes[b]);
  fprintf(out, "\nmacs");
  for (int f = 0; f < TG_FMT_COUNT; f++) fprintf(out, " %" PRIu64, invocation->macs[f]);
  if (invocation->sums || invocation->sum_bytes)
    fprintf(out, "\nsums %" PRIu64 " %" PRIu64, invocation->sums, invocation->sum_bytes);
  if (invocation->estimated_cycles) fprintf(out, "\nestimate %" PRIu64, invocation->estimated_cycles);
  fputc('\n', out);
}

char *tg_program_print(const tg_program *program) {
  tg_arena scratch = {0};
  tg_text_stream text;
  FILE *out = tg_text_begin(&text);
  print_params(out, &program->params, &scratch);
  fputs("model ", out);
  print_quoted(out, program->model);
  fputs("\noptions ", out);
  print_quoted(out, program->options);
  fprintf(out, "\nseed %" PRIu64 "\ndram %" PRIu64 "\n", program->seed, program->dram_bytes);
  for (uint32_t t = 0; t < program->tensor_count; t++) print_tensor(out, &program->tensors[t]);
  for (uint32_t s = 0; s < program->section_count; s++)
    print_section(out, &program->params, &program->sections[s], &scratch);
  for (uint32_t i = 0; i < program->invocation_count; i++) print_invocation(out, &program->invocations[i]);
  tg_arena_release(&scratch);
  return tg_text_end(&text);
}
