/* Tegula's public C interface: load a model, compile it, run it on an engine, read outputs and a report.
 *
 *   tg_session *session;
 *   tg_compile_options options = {.arch = "edge"};
 *   tg_diag diag = {""};
 *   if (tg_session_load("model.onnx", &session, &diag) || tg_session_compile(session, &options, &diag) || ...)
 *     fprintf(stderr, "%s\n", diag.message);
 *   tg_session_close(session);
 *
 * Every function that can fail returns tg_status, which is also the exit status of the command, and leaves
 * one line in `diag`, in place of what was there. Calls out of order, and NULL where something must be, fail.
 * Within a callback every call with a session is refused, and closing the one that calls back does nothing.
 * A session belongs to one thread at a time; sessions are independent of each other. Tensors are dense,
 * row-major FP32 at this interface; the session converts to and from the array's storage, and gives outputs
 * in the model's element type, too. */
#ifndef TEGULA_RUNTIME_TEGULA_H
#define TEGULA_RUNTIME_TEGULA_H

#include "frontend/base/status.h"
#include "frontend/dtype.h"
#include "frontend/precision/cast_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_session tg_session;

enum { TG_TENSOR_MAX_RANK = 8 };

typedef struct tg_tensor_info {
  const char *name;
  int rank;
  int64_t dims[TG_TENSOR_MAX_RANK];
  int64_t count;  /* elements */
  tg_dtype dtype; /* the model's element type */
  bool integer;   /* an integer type, given as floats here */
  int64_t rows;   /* ... and it numbers rows of a table of so many (an embedding); 0: not so, or not known */
  int64_t limit;  /* ... whose elements must be below this in magnitude, so that the array computes exactly;
                     0: as far as FP32 goes. Of an output of floats or bools, not 0: it tells whether an integer of the
                     model passed this, which ends the run */
} tg_tensor_info;

/* One line of a compilation, without a newline. */
typedef void tg_compile_log(void *user, bool warning, const char *line);

/* Zeroed means every default. Strings are read during the call only. `size` is sizeof of the structure as the
 * caller was compiled with it, so that a later library, whose structure has more members, knows which of them
 * the caller has; 0 means all of this header's. The same holds for other structures of options. */
typedef struct tg_compile_options {
  size_t size;
  const char *arch;            /* preset or YAML file; NULL: edge */
  const char *const *settings; /* "key=value" of single parameters */
  size_t setting_count;
  const char *dram; /* memory device, as --dram; NULL: the array's */
  /* Precision (docs/precision.md); a preset and an amp policy exclude each other. */
  const char *preset;              /* mp0, mp1, mp2, mp3, mp4, default; NULL: mp0 */
  const char *disable_graphamp;    /* regular expression on node names, or NULL */
  const char *amp;                 /* hmp, autocast, raf; NULL: none */
  const char *amp_dtype;           /* bf16, fp16; NULL: bf16 */
  const char *amp_out_dtype;       /* fp32, bf16, fp16; NULL: outputs as the model declares them */
  const char *hmp_opt_level;       /* O1, O2; NULL: O1 */
  const char *bf16_ops, *fp32_ops; /* files with operators for HMP; NULL: its lists */
  const char *autocast_device;     /* cuda, cpu, hpu; NULL: cuda */
  const char *matmul_precision;    /* highest, high, medium; NULL: highest */
  const char *mixed_precision_ops; /* of gemm,softmax; NULL: none */
  const char *cast_rules;          /* file, or NULL */
  tg_cast_callback *cast_callback; /* asked about each node before all of these; or NULL */
  void *cast_user;
  tg_compile_log *log; /* warnings, and with `verbose` lists and decisions; or NULL */
  void *log_user;
  bool verbose;

  bool inference; /* BatchNormalization with training_mode = 1 takes its running statistics, as after
                     training, not those of the batch */

  const char *tiling_accum;   /* fp32, bf16sr; NULL: fp32 */
  int k_tile;                 /* 0: 128 */
  uint64_t seed;              /* of stochastic rounding */
  uint64_t any_tiling;        /* not 0: draws tilings in place of the fastest ones */
  const char *energy;         /* what actions cost, as --energy; NULL: the array's */
  const char *opt;            /* o0: a section an operator, o1: fused, o3: everything; NULL: o3 */
  const char *conv_precision; /* highest, high, medium, of convolutions; NULL: highest */
  const char *attention;      /* exact, blocked, blocked:N (blocks of N keys at most); NULL: exact */
} tg_compile_options;

typedef struct tg_session_run_options {
  size_t size;            /* as that of tg_compile_options */
  const char *engine;     /* functional, systemc, rtl; NULL: systemc */
  int threads;            /* 0: all cores */
  bool timing_only;       /* systemc: cycles without values */
  bool record_events;     /* keep every instruction's start and end */
  uint64_t max_cycles;    /* 0: no limit */
  const char *wave_file;  /* rtl, or NULL */
  bool profile;           /* systemc, rtl: cycles busy and stalled of every section's units, in the report */
  bool steady;            /* the report's host.simulation_seconds come from runs after the first, in which
                             everything is loaded and touched already */
  const char *trace_file; /* systemc, rtl: Chrome trace events, or NULL */
  uint64_t trace_begin, trace_end; /* cycles that the trace shows; trace_end 0: to the end */
  /* Called before each of `count` sections, in the thread that runs; false ends the run with TG_CANCELLED.
   * NULL: not called. */
  bool (*progress)(void *user, uint32_t section, uint32_t count);
  void *progress_user;
} tg_session_run_options;

typedef struct tg_session_verify_options {
  size_t size;         /* as that of tg_compile_options */
  const char *engines; /* names with commas; NULL: those of functional, systemc and rtl that can run it */
  int threads;         /* 0: all cores */
  uint64_t max_cycles; /* 0: no limit */
  /* Called before each engine, in the thread that asks; false ends with TG_CANCELLED. NULL: not called. */
  bool (*progress)(void *user, const char *engine);
  void *progress_user;
} tg_session_verify_options;

typedef struct tg_session_sweep_options {
  size_t size;                       /* as that of tg_compile_options */
  const tg_compile_options *compile; /* the array and all but the policy; tiling_accum NULL: both; or NULL */
  const char *const *policies;       /* as `tegula sweep --policy` names them */
  size_t policy_count;               /* 0: all */
  uint64_t input_seed;               /* of inputs that are not set; 0: 1 */
  int threads;                       /* 0: all cores */
  bool timing_only;                  /* cycles without values and errors */
  uint64_t max_cycles;               /* of a run; 0: no limit */
  /* Called before row `row` of `count`, whose name `what` is, and with NULL before each section of its run, in the
   * thread that asks; false ends with TG_CANCELLED. NULL: not called. */
  bool (*progress)(void *user, size_t row, size_t count, const char *what);
  void *progress_user;
} tg_session_sweep_options;

const char *tg_version(void);

/* Reads a model (.onnx) or a compiled program (.tgb), told apart by content. */
tg_status tg_session_load(const char *path, tg_session **out_session, tg_diag *diag);
/* The same of a file's bytes, which are read during the call only. `name`: what messages call them, or NULL.
 * A model whose data lie in other files is refused. */
tg_status tg_session_load_memory(const void *data, size_t size, const char *name, tg_session **out_session,
                                 tg_diag *diag);
void tg_session_close(tg_session *session); /* NULL is allowed */

/* Sizes that a model leaves open, before it is compiled; those still open become 1.
 * batch: the first dimension of every input. shape: what `dims` says of input `name`, as far as it is
 * open. */
tg_status tg_session_bind_dim(tg_session *session, const char *symbol, int64_t size, tg_diag *diag);
tg_status tg_session_bind_batch(tg_session *session, int64_t size, tg_diag *diag);
tg_status tg_session_bind_shape(tg_session *session, const char *input, int rank, const int64_t *dims,
                                tg_diag *diag);

/* Input `name` of a model becomes a constant of it, with these elements, which its type must hold: for values that decide
 * shapes or branches, and for integers beyond 2^24, which are exact where they are constants; and for inputs whose default is an
 * initializer of the model, which no other call changes. `data` is copied. */
tg_status tg_session_bind_constant(tg_session *session, const char *name, int rank, const int64_t *dims,
                                   tg_dtype dtype, const void *data, tg_diag *diag);

/* Compiles a model, once; options NULL: every default. TG_INVALID: it is compiled already, as a session
 * loaded from a program is. */
tg_status tg_session_compile(tg_session *session, const tg_compile_options *options, tg_diag *diag);
bool tg_session_is_compiled(const tg_session *session);
/* Writes the program, beside `path` and then renamed. */
tg_status tg_session_save(const tg_session *session, const char *path, tg_diag *diag);

/* Inputs and outputs of a compiled session; the pointers live as long as the session. NULL: no such index. */
int tg_session_input_count(const tg_session *session);
int tg_session_output_count(const tg_session *session);
const tg_tensor_info *tg_session_input(const tg_session *session, int index);
const tg_tensor_info *tg_session_output(const tg_session *session, int index);

/* Copies `data`. TG_INVALID: there is no such input, its shape differs, an element of an integer input is not
 * whole, not of its type or not below its limit, or a row number is outside the rows that there are (of a
 * session loaded from a program this is not known: such a row reads zeros). Elements of a bool input that are
 * not 0 are true. */
tg_status tg_session_set_input(tg_session *session, const char *name, int rank, const int64_t *dims,
                               const float *data, tg_diag *diag);
/* The same of elements of `dtype`, integers of 64 bits among them: what the input does not hold exactly, or below its
 * limit, is TG_INVALID, and so is another value for what is a constant by now; of floats but FP32 each is rounded once. */
tg_status tg_session_set_elements(tg_session *session, const char *name, int rank, const int64_t *dims,
                                  tg_dtype dtype, const void *data, tg_diag *diag);
/* Values uniform in [-1, 1), row numbers, or 0 and 1 for other integers and bools, for every input not
 * set. */
void tg_session_random_inputs(tg_session *session, uint64_t seed);

/* Runs the program once. TG_INVALID: an input is not set (timing_only needs none), the engine cannot run this
 * program, or an integer of an output passed what the array holds exactly. TG_FAULT: the simulated machine
 * faulted. Results of the run before are dropped. */
tg_status tg_session_run(tg_session *session, const tg_session_run_options *options, tg_diag *diag);

/* Of the last run. Data is NULL before a run, after a timing-only one, and of an index that there is not. */
const float *tg_session_output_data(const tg_session *session, int index);
/* The same in the model's element type, exactly: tg_session_output(session, index)->dtype. */
const void *tg_session_output_elements(const tg_session *session, int index);
uint64_t tg_session_cycles(const tg_session *session);

/* Measures the host's CPU (oneDNN) on the same model and inputs, and the outputs' errors against FP32; they
 * become part of the report. Nothing happens for a session loaded from a program, which has no model. `timed`
 * false: errors only. */
tg_status tg_session_measure_cpu(tg_session *session, bool timed, int threads, tg_diag *diag);

/* Compares the output `name` of the last run with `data`; the errors become part of the report. TG_INVALID:
 * there is no such output, its shape differs, or the run was without values. */
tg_status tg_session_compare_golden(tg_session *session, const char *name, int rank, const int64_t *dims,
                                    const float *data, tg_diag *diag);

/* Runs the program on several engines, with the session's inputs, and compares all of device memory and each
 * instruction's start and end. TG_OK: all equal. TG_MISMATCH: `diag` names the first difference. In both cases
 * *out_json is what `tegula verify --json` prints, which the caller frees with free(); else it is NULL. */
tg_status tg_session_verify(tg_session *session, const tg_session_verify_options *options, char **out_json,
                            tg_diag *diag);

/* Compiles the session's model anew under every precision policy with both accumulations, runs each on the systemc
 * engine with the session's inputs (those that are set, if it is compiled; else seeded ones), and gives what `tegula
 * sweep --json` prints: *out_json, which the caller frees with free(); NULL where it fails. The session stays as it is.
 * TG_INVALID: it is loaded from a program, there is no such policy, or mp0, with which all are compared, cannot run. */
tg_status tg_session_sweep(tg_session *session, const tg_session_sweep_options *options, char **out_json,
                           tg_diag *diag);

/* The last runs of two sessions beside each other, of one model or of two versions of it: {"before", "now", "text",
 * "sections": where the cycles went, "speedup" (samples a second), "equal_bits", "outputs": {NAME: {"equal_bits",
 * "max_abs", "max_rel", "rms", "cosine"}} of `now` against `before`, "only_before": outputs that `now` lacks}. *out_json
 * is freed with free(). Sections name causes where both runs had a profile. */
tg_status tg_session_compare(tg_session *before, tg_session *now, char **out_json, tg_diag *diag);

/* The report of the last run as JSON (indented). The caller frees it with free(). NULL: there was no run. */
char *tg_session_report_json(const tg_session *session);
/* Writes the report as `path` asks: .json or .html. */
tg_status tg_session_write_report(const tg_session *session, const char *path, tg_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
