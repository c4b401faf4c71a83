/* What the commands share. */
#ifndef TEGULA_RUNTIME_COMMAND_COMMAND_H
#define TEGULA_RUNTIME_COMMAND_COMMAND_H

#include "runtime/launch/launcher.h"
#include "runtime/npy.h"
#include "runtime/options.h"
#include "runtime/tegula.h"

#include <jansson.h>

typedef struct tg_context {
  tg_arena arena;
  tg_options options;
  tg_diag diag;
  bool quiet, verbose, json, terminal; /* terminal: progress may be shown */
  const char **said;                   /* warnings so far */
  size_t said_count, said_capacity;
  const uint8_t *piped; /* what came from standard input; NULL: nothing was read */
  size_t piped_size;
  const tg_compile_options *policy; /* in place of what the options say of it (session/policy.def), or NULL */
} tg_context;

/* One command each; the status becomes the exit status, with the context's diag on stderr. */
tg_status tg_command_compile(tg_context *context);
tg_status tg_command_run(tg_context *context);
tg_status tg_command_verify(tg_context *context);
tg_status tg_command_inspect(tg_context *context);
tg_status tg_command_zoo(tg_context *context);
tg_status tg_command_regress(tg_context *context);
tg_status tg_command_sweep(tg_context *context);
tg_status tg_command_numerics(tg_context *context);
tg_status tg_command_tune(tg_context *context);
tg_status tg_command_fp(tg_context *context);
tg_status tg_command_train(tg_context *context);

/* From now on C++ libraries that find no memory end the process with status 2, and with one line if `aloud`. */
#ifdef __cplusplus
extern "C"
#endif
    void
    tg_catch_no_memory(bool aloud);

/* Shows a phase of long work on a terminal; NULL clears the line. */
void tg_progress(tg_context *context, const char *what);

/* The only operand; TG_INVALID without or with more. */
tg_status tg_one_operand(tg_context *context, const char **out_operand);

/* "name=value" at the first '='; TG_INVALID names the option. */
tg_status tg_split_option(tg_context *context, tg_option_id option, const char *text, const char **out_name,
                          const char **out_value);

/* Several expressions as one, which matches what any of them does; NULL: none is given. */
const char *tg_any_of(tg_context *context, tg_option_id option);
/* What the options say of array and precision. */
tg_status tg_compile_options_of(tg_context *context, tg_compile_options *out_options);
/* Gives sizes that a loaded model leaves open what --dim says. */
tg_status tg_bind_dims(tg_context *context, tg_session *session);
/* FOLDER/NAME.npy for a tensor's name, whose characters become safe; `taken[count]` receives the name, which
 * differs from taken[0 .. count - 1]. */
const char *tg_tensor_file(tg_arena *arena, const char *folder, const char *tensor, const char **taken,
                           int count);
/* --report says what it is by its end, and is refused now, not after hours of simulation. */
tg_status tg_check_reports(tg_context *context);
/* TG_INVALID: a file that an option writes is one that the command line names to be read, or is written by another option,
 * too; by device and inode, links followed. */
tg_status tg_check_overwriting(tg_context *context);
/* The same of a file in a folder that `option` writes to, and of a file that is read for what another file says. */
tg_status tg_check_unread(tg_context *context, tg_option_id option, const char *path);
tg_status tg_check_unwritten(tg_context *context, const char *path);
/* Makes a folder that may be there. */
tg_status tg_make_folder(tg_context *context, const char *folder);

/* Loads the operand, fits open sizes to --dim, --batch and --input, and compiles a model as the options
 * say. */
tg_status tg_open_session(tg_context *context, tg_session **out_session);
/* The same under a policy and accumulation: what they set of `precision` stands for what the options say, and
 * for the model's own rules. */
tg_status tg_open_under(tg_context *context, const tg_compile_options *precision, tg_session **out_session);
/* The same as far as the precision policy; the array is not asked. */
tg_status tg_open_decided(tg_context *context, tg_session **out_session);
/* The same under a preset. */
tg_status tg_open_decided_under(tg_context *context, const char *preset, tg_session **out_session);
/* Compiled, with rules for the nodes of ids below `count`, as metadata tegula.casts would have them; NULL:
 * none. */
tg_status tg_open_with_casts(tg_context *context, const char *const *casts, int64_t count,
                             tg_session **out_session);
/* Where the operand is "-": reads standard input, once, for all that load it from now on. */
tg_status tg_read_piped(tg_context *context);
/* Loads the only operand, a file or "-" for standard input. */
tg_status tg_load_operand(tg_context *context, tg_session **out_session);
/* Calls `visit` with each array that --input names: NAME=FILE.npy, NAME=FILE.npz[:ARRAY], or all of FILE.npz by their
 * names. */
typedef tg_status tg_input_visitor(tg_context *context, tg_session *session, const char *name,
                                   const tg_npy *array);
tg_status tg_for_inputs(tg_context *context, tg_session *session, tg_input_visitor *visit);
/* Gives every input its values, of --input or --random-inputs. */
tg_status tg_bind_inputs(tg_context *context, tg_session *session);

/* --launcher and its options; *out_slurm: whether there is a cluster to launch on, else runs are made here. The launcher
 * has the words that a task runs: this command with its options but for those that only say what is written or printed,
 * and its operands; callers set what they do with answers. `folder`: where jobs leave them unless --launcher-folder says
 * so. TG_INVALID: options of another launcher, or a model of standard input. */
tg_status tg_choose_launcher(tg_context *context, const char *folder, tg_launcher *out_launcher,
                             bool *out_slurm);
/* What --task names; the caller owns it. */
tg_status tg_read_task(tg_context *context, json_t **out_task);
/* After a launch that a signal ended: ends the process as the signal does. Otherwise `status`. */
tg_status tg_end_launch(tg_status status, int number);

/* Prints an object to stdout, indented, with a newline. */
void tg_print_json(const json_t *object);
/* A command's answer: prints it under --json, which was asked for and so is no noise to --quiet. Returns
 * whether it is to be printed as text instead. */
bool tg_answer_as_text(const tg_context *context, const json_t *answer);

#endif
