/* What is inside a session; for the parts of the runtime that share it. */
#ifndef TEGULA_RUNTIME_SESSION_SESSION_H
#define TEGULA_RUNTIME_SESSION_SESSION_H

#include "frontend/graph.h"
#include "frontend/host_part.h"
#include "frontend/precision/precision.h"
#include "mapper/mapper.h"
#include "runtime/cpu_reference/cpu_reference.h"
#include "runtime/npy.h"
#include "runtime/session/compare.h"
#include "runtime/tegula.h"
#include "runtime/trace/profile.h"
#include "sim/machine/engine.h"

#include <locale.h>
#include <stdio.h>

/* Numbers are written with points from here on, in this thread; uselocale() of the result ends that. */
locale_t tg_plain_numbers(void);

struct tg_session {
  tg_arena arena;
  const char *path;
  tg_graph *model;   /* as imported; NULL when a program was loaded */
  tg_graph *decided; /* as the precision policy left it */
  tg_graph *lowered; /* what was mapped */
  tg_graph *fp32; /* lowered without any precision policy, for the CPU and for errors; NULL until asked for */
  bool inference; /* of the options that it was compiled with */
  tg_program *program;
  const char *precision; /* what the report says of it, as JSON; NULL before compiling */
  double compile_seconds;
  const char *dumped; /* a pass after which compiling prints graph or kernels to `dump`; NULL: none */
  FILE *dump;         /* NULL: it only counts them */
  int dumps;          /* printed so far */

  const tg_value **fixed; /* inputs of the model that are constants of the session */
  size_t fixed_count, fixed_capacity;
  bool fixes_integers; /* tg_session_note_integers found some */
  int input_count, output_count;
  tg_tensor_info *inputs, *outputs;
  float **input_data; /* NULL until set */
  /* of the last run, NULL without; what they point to stays for the next run, as below */
  float **output_data;
  const void **output_elements; /* in the model's type */
  struct {
    float **data;
    void **elements;
    tg_error_measure *errors, *golden_errors;
  } room; /* made when it is first needed */

  struct {
    tg_host_part part; /* its graph is NULL: the array runs the whole model */
    tg_arena arena;    /* of the last run */
    /* the model's; `outputs` above are the array's, also what the host's part reads */
    tg_tensor_info *outputs;
    float **data;
    const void **elements;
    double seconds; /* of the last run; 0: it had no values */
  } host;

  bool has_run, timing_only;
  const char *engine;
  tg_run_result result;
  double host_seconds; /* of a run: the median of host_runs */
  int host_runs;
  tg_error_measure *errors;        /* one an output; NULL: not measured */
  tg_error_measure *golden_errors; /* one an output; NULL: none is compared */
  bool *has_golden;                /* by output */
  tg_profile *profile;             /* of the last run; NULL: not wanted */
  json_t *advice;                  /* for the report: what would gain most; or NULL */
  json_t *numerics;                /* for the report: errors by operator (numerics/numerics.h); or NULL */
  bool has_cpu;
  int cpu_warmup, cpu_repeats; /* of the CPU reference; 0: its own */
  tg_cpu_time cpu;
  int calling_back; /* callbacks of calls on it that have not returned: it stays open */
};

/* The caller's structure of options, whose first member is its size, as one of this library's, `own_size`
 * bytes; NULL: zeroed. TG_INVALID: it has members that this library does not know. */
tg_status tg_take_options(const void *given, void *out_own, size_t own_size, tg_diag *diag);

/* Input `name` of the model becomes a constant with these elements, converted to its type, if it has this shape.
 * Before compiling only. TG_INVALID: there is no such input, or it has another shape. */
tg_status tg_session_fix_input(tg_session *session, const char *name, const tg_npy *array, tg_diag *diag);
/* The input of this name, or the initializer that is its default; NULL: there is none, or no model. */
tg_value *tg_session_find_fixable(const tg_session *session, const char *name);
/* Before those below, of each input that is given: small ones with integers that FP32 does not hold are computed with by the host
 * alone, and so are all small integers beside them. */
void tg_session_note_integers(tg_session *session, const tg_npy *array);
/* The same of an input whose elements the model needs before it runs, or of such integers; others are left as they are. */
tg_status tg_session_fix_deciding(tg_session *session, const char *name, const tg_npy *array, tg_diag *diag);
/* The input of the model, not of a program, with that name; -1: there is none. */
int tg_session_find_input(const tg_session *session, const char *name);

/* A session of the same model, with its open sizes and constants as they are by now, to be compiled by itself. It uses
 * the first one's data, and must be closed before it. */
tg_status tg_session_again(const tg_session *session, tg_session **out_session);

/* Forgets the cast rules that the model's nodes carry (metadata tegula.casts), before it is compiled: then
 * the options alone decide. How many nodes had some. */
int tg_session_drop_own_rules(tg_session *session);
/* As far as the precision policy: fills `decided`, and `lowered` if the array can have it. */
tg_status tg_session_decide(tg_session *session, const tg_compile_options *options, tg_diag *diag);

/* Device memory with the constants and the session's inputs in place. TG_INVALID names an input that is not
 * set. */
tg_status tg_session_memory(const tg_session *session, tg_dram **out_dram, tg_diag *diag);
/* Lowers `fp32` of a compiled model, if that is not done. Fails as lowering does. */
tg_status tg_session_lower_fp32(tg_session *session, tg_diag *diag);
/* What the outputs are in FP32 on the host's CPU, of a compiled model with its inputs set. Fails as the CPU
 * reference does. */
tg_status tg_session_fp32_outputs(tg_session *session, int threads, float *const *out_data, tg_diag *diag);
/* Room for each output, on `arena`. */
float **tg_session_output_buffers(const tg_session *session, tg_arena *arena);
/* The array that the options name. */
tg_status tg_session_params(const tg_compile_options *options, tg_params *out_params, tg_diag *diag);
/* What the options ask of the mapper, with nobody to observe it. TG_INVALID: a level of --opt that there is not. */
tg_status tg_session_map_options(const tg_compile_options *options, const tg_precision_options *precision,
                                 tg_map_options *out_map, tg_diag *diag);
/* Makes session->program, just compiled, the session's: its inputs and outputs. `precision` is its report's
 * note. */
void tg_session_adopt(tg_session *session, const char *precision);
/* The same of inputs and outputs alone; describe_graph: of the model that was compiled. */
void tg_session_describe_program(tg_session *session);
void tg_session_describe_graph(tg_session *session);
/* Takes the outputs of a run from device memory. TG_INVALID: an integer passed what the array holds exactly. */
tg_status tg_session_read_outputs(tg_session *session, const tg_dram *dram, tg_diag *diag);

/* Before a model is compiled: leaves to the host what the array cannot begin. */
void tg_session_cut_host(tg_session *session);
/* Behind tg_session_describe_graph: all outputs of the model. */
void tg_session_describe_host(tg_session *session);
/* The host's part of a run whose outputs are there; before: forgets that of the last one. */
tg_status tg_session_run_host(tg_session *session, tg_diag *diag);
void tg_session_forget_host(tg_session *session);

/* What a call must begin with: each tells of itself. */
void tg_diag_begin(tg_diag *diag);
/* A callback of a call on `session` begins, or has ended: within it no call of this thread may begin, of no session, and
 * this one is not closed. */
void tg_session_calls_back(tg_session *session, bool begins);
/* What the callbacks of options need so that they are told so, as long as the options are used. */
typedef struct tg_guarded_callbacks {
  tg_session *session;
  tg_compile_log *log;
  tg_cast_callback *cast;
  void *log_user, *cast_user;
} tg_guarded_callbacks;
/* Puts such ones in place of `options`' own. */
void tg_session_guard_callbacks(tg_session *session, tg_compile_options *options,
                                tg_guarded_callbacks *out_guarded);
/* TG_INVALID: there is no session, it has not come so far, or the call comes from a callback. */
tg_status tg_session_needs(const tg_session *session, bool compiled, bool run, tg_diag *diag);
/* TG_INVALID: no number of threads of the host; 0 is all cores. */
tg_status tg_session_check_threads(int threads, tg_diag *diag);
/* TG_INVALID: it is compiled already. */
tg_status tg_session_needs_model(const tg_session *session, tg_diag *diag);

/* The first tensor of one side that carries `name`, as outputs may share one; NULL: there is none. */
tg_dram_tensor *tg_find_dram_tensor(const tg_program *program, bool (*side)(tg_role), const char *name);
/* "[2,3]", into `text`, which it returns. */
const char *tg_shape_text(char text[200], int rank, const int64_t *dims);
tg_dtype tg_storage_dtype(tg_storage storage);
double tg_host_seconds(void); /* monotonic */

#endif
