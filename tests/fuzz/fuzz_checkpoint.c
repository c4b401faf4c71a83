/* Checkpoints of a training run, in front of a run with two carried tensors. The mutator corrects the sum. */
#include "frontend/base/hash.h"
#include "runtime/training/run.h"
#include "runtime/training/trainer_state.h"
#include "tests/fuzz/fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

enum { DRAM = 256, STEPS = 4 };

/* The folder of this process; its file `checkpoint` is a link to the input in memory. */
static const char *folder(const uint8_t *data, size_t size) {
  static char made[64];
  const char *path = fuzz_file(data, size);
  if (!made[0]) {
    snprintf(made, sizeof made, "/tmp/tegula-fuzz-XXXXXX");
    FUZZ_WANT(mkdtemp(made), "no folder");
    char link[sizeof made + 16];
    snprintf(link, sizeof link, "%s/checkpoint", made);
    FUZZ_WANT(!symlink(path, link), "no link");
  }
  return made;
}

static void remove_folder(void) {
  char link[96];
  const char *made = folder(NULL, 0);
  snprintf(link, sizeof link, "%s/checkpoint", made);
  (void)unlink(link);
  (void)rmdir(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool registered;
  const char *where = folder(data, size);
  if (!registered) registered = !atexit(remove_folder);
  uint8_t memory[DRAM + 16]; /* what lies behind the memory must stay */
  memset(memory, 0x5a, sizeof memory);
  tg_dram_tensor tensors[] = {
      {.name = "w", .role = TG_ROLE_STATE, .rank = 1, .dims = {4}, .bytes = 16},
      {.name = "b", .role = TG_ROLE_STATE, .rank = 1, .dims = {48}, .address = 64, .bytes = 192}};
  tg_program program = {.tensors = tensors, .tensor_count = 2};
  tg_session session = {.program = &program};
  tg_step_tensor carried[2] = {{.output = 0}, {.output = 1}};
  tg_dram dram = {.bytes = memory, .size = DRAM};
  struct tg_trainer trainer = {
      .session = &session, .dram = &dram, .plan = {.tensor_count = 2, .tensors = carried}};
  tg_training_run run = {.trainer = &trainer, .steps = STEPS, .options = json_pack("{s:s}", "--lr", "0.1")};
  bool found;
  tg_diag diag = {""};
  tg_status status = tg_checkpoint_read(&run, where, &found, &diag);
  fuzz_settled(status, &diag);
  FUZZ_WANT(found && run.done >= 0 && run.done <= STEPS, "%lld steps of %d", (long long)run.done, STEPS);
  if (!status) FUZZ_WANT(run.done == 0 || run.records, "no records");
  for (int i = 0; i < 16; i++) FUZZ_WANT(memory[DRAM + i] == 0x5a, "written behind the memory");
  json_decref(run.options);
  tg_arena_release(&run.arena);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  uint32_t state = seed | 1;
  if (size < 16 || max_size < 16) return LLVMFuzzerMutate(data, size, max_size);
  if (fuzz_below(&state, 2)) { /* a number, so that what follows keeps its place */
    size_t at = 8 + fuzz_below(&state, size - 15);
    uint64_t word;
    memcpy(&word, data + at, 8);
    word = fuzz_number(&state, word);
    memcpy(data + at, &word, 8);
  } else
    size = 8 + LLVMFuzzerMutate(data + 8, size - 16, max_size - 16) + 8;
  uint64_t sum = tg_hash(data, size - 8);
  memcpy(data + size - 8, &sum, 8);
  return size;
}
