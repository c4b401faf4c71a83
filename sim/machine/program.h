/* A compiled program: what the mapper writes and the engines execute; the .tgb file and its text form.
 *
 * All memory belongs to the program's arena. A program refers to DRAM by tensors: each has a fixed, 64-byte
 * aligned address in one space of `dram_bytes` bytes. */
#ifndef TEGULA_MACHINE_PROGRAM_H
#define TEGULA_MACHINE_PROGRAM_H

#include "frontend/dtype.h"
#include "sim/machine/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Storage formats of DRAM tensors. */
typedef enum tg_storage { TG_STORE_FP32, TG_STORE_BF16, TG_STORE_FP16, TG_STORE_TF32 } tg_storage;
enum { TG_STORAGES = TG_STORE_TF32 + 1 };
const char *tg_storage_name(tg_storage storage); /* "fp32" */
static inline uint32_t tg_storage_bytes(tg_storage s) {
  return s == TG_STORE_BF16 || s == TG_STORE_FP16 ? 2 : 4;
}

typedef enum tg_role {
  TG_ROLE_INPUT,
  TG_ROLE_OUTPUT,
  TG_ROLE_CONSTANT,
  TG_ROLE_TEMPORARY,
  TG_ROLE_STATE, /* input and output at once: what a run leaves there the next one finds */
  TG_ROLE_COUNT
} tg_role;
const char *tg_role_name(tg_role role);
/* Does a run need values there before it, does it leave any that a user reads? */
static inline bool tg_role_is_input(tg_role role) { return role == TG_ROLE_INPUT || role == TG_ROLE_STATE; }
static inline bool tg_role_is_output(tg_role role) { return role == TG_ROLE_OUTPUT || role == TG_ROLE_STATE; }

typedef struct tg_dram_tensor {
  const char *name; /* inputs and outputs: the model's names; state: that of the input */
  tg_role role;
  tg_storage storage;
  uint32_t rank;
  int64_t dims[8];     /* as the model declares them; row-major in DRAM */
  uint64_t address;    /* 64-byte aligned */
  uint64_t bytes;      /* product of dims times element size */
  const uint8_t *data; /* constants: `bytes` bytes; else NULL */
  /* Inputs and outputs, for those who read and write files; the array has no use for it. */
  tg_dtype type; /* the model's element type; TG_NONE: that of the storage */
  int64_t limit; /* inputs: elements must be below this in magnitude, for what is computed of them to be
                    exact; 0: they need not. Outputs of floats: the same of integers that they are computed of,
                    NaN where one was not */
  const uint8_t *known; /* outputs: elements of `type`, where they are known before the run and the storage
                           does not hold them; else NULL */
} tg_dram_tensor;

typedef struct tg_queue {
  uint32_t count;
  tg_instr *instrs;
} tg_queue;

typedef struct tg_tile_program {
  tg_queue mx, vx, tx;
  uint32_t word_count, constant_count;
  uint64_t *words;     /* microcode */
  uint32_t *constants; /* FP32 bits */
  uint8_t *sem_init;   /* params.semaphores of them */
} tg_tile_program;

typedef struct tg_agcu_program {
  tg_queue *contexts; /* params.agcu_contexts of them */
  uint8_t *sem_init;
} tg_agcu_program;

typedef struct tg_section {
  const char *name;
  /* banks of every tile's scratchpad, a bit each, that it finds as earlier sections left them, and leaves
   * so */
  uint32_t kept;
  tg_tile_program *tiles; /* rows*cols, row-major */
  tg_agcu_program *agcus; /* west 0..rows-1, north rows..rows+cols-1 */
} tg_section;

typedef struct tg_invocation {
  const char *name; /* for reports: the graph nodes it computes */
  uint32_t section;
  uint64_t bases[TG_BASES];
  uint32_t key_nodes[TG_BASES]; /* key table: key = tg_sr_key(seed, step, node) of numerics.h */
  uint64_t macs[TG_FMT_COUNT];  /* useful multiply-adds in each format */
  uint64_t sums, sum_bytes;  /* tensors that are sums of partial products, counted where the last of them is
                               finished; bytes of running sums over the lanes */
  uint64_t estimated_cycles; /* the mapper's estimate from its begin to its last instruction's end; 0: none */
} tg_invocation;

/* Useful multiply-adds in all formats. */
static inline uint64_t tg_invocation_macs(const tg_invocation *invocation) {
  uint64_t sum = 0;
  for (int f = 0; f < TG_FMT_COUNT; f++) sum += invocation->macs[f];
  return sum;
}

typedef struct tg_program {
  tg_arena arena;
  tg_params params;
  uint64_t seed;
  uint64_t dram_bytes; /* size of the address space */
  const char *model;   /* name of the model it was compiled from */
  const char *options; /* precision and mapping options, one line of JSON, for reports */
  uint32_t tensor_count, section_count, invocation_count;
  tg_dram_tensor *tensors;
  tg_section *sections;
  tg_invocation *invocations;
} tg_program;

/* Elements of a tensor. */
static inline uint64_t tg_tensor_elements(const tg_dram_tensor *tensor) {
  return tensor->bytes / tg_storage_bytes(tensor->storage);
}
/* Bytes of the elements that are known of an input or output (`known`). */
static inline uint64_t tg_known_bytes(const tg_dram_tensor *tensor) {
  return tg_tensor_elements(tensor) * tg_dtype_size(tensor->type);
}

/* An empty program for `params`; sections made by tg_program_add_section have empty queues, zero
 * semaphores. */
tg_program *tg_program_create(const tg_params *params);
void tg_program_destroy(tg_program *program); /* NULL is allowed */
tg_section *tg_program_add_section(tg_program *program,
                                   const char *name); /* moves earlier ones: keep indices */
/* Do two sections of an array have the same in all tiles and AGCUs, whatever their names are? */
bool tg_section_equal(const tg_params *params, const tg_section *a, const tg_section *b);
tg_dram_tensor *tg_program_add_tensor(tg_program *program);
tg_invocation *tg_program_add_invocation(tg_program *program);
tg_instr *tg_queue_push(tg_program *program, tg_queue *queue); /* a zeroed instruction; moves earlier ones */

/* Everything that an engine relies on: field widths, queue lengths, addresses, table indices, DRAM ranges.
 * Engines run checked programs only. */
tg_status tg_program_check(const tg_program *program, tg_diag *diag);
/* What it checks of section number `section`. */
tg_status tg_section_check(const tg_program *program, uint32_t section, tg_diag *diag);

/* .tgb: versioned, with a checksum. Written beside and renamed. Reading checks. */
tg_status tg_program_write(const tg_program *program, const char *path, tg_diag *diag);
tg_status tg_program_read(const char *path, tg_program **out_program, tg_diag *diag);
/* Of a file's bytes, read during the call only. `name`: what messages call them. */
tg_status tg_program_read_memory(const char *name, const void *data, size_t size, tg_program **out_program,
                                 tg_diag *diag);

/* Whether an image, or a file that can be read, begins as a .tgb file of any version does. */
bool tg_is_program(const void *data, size_t size);
bool tg_is_program_file(const char *path);

/* Text form: prints and parses the same programs (constants as hexadecimal). The caller frees the text with
 * free(). */
char *tg_program_print(const tg_program *program);
tg_status tg_program_parse(const char *text, tg_program **out_program, tg_diag *diag);

/* When the next invocation begins, or the run is over, after an invocation whose last instruction ends at `last_end`. */
uint64_t tg_section_next(const tg_params *params, uint64_t last_end);

/* Useful positions: endpoints are tiles (row-major) and then AGCUs. */
static inline bool tg_is_west(const tg_params *m, uint32_t agcu) { return agcu < m->rows; }

#ifdef __cplusplus
}
#endif
#endif
