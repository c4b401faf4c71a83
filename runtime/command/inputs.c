/* What a command reads: its operand, and values of inputs. */
#include "runtime/command/command.h"
#include "runtime/npz.h"
#include "runtime/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* All of standard input: read once, and kept for commands that load their model more than once. */
static tg_status read_stdin(tg_context *context) {
  size_t capacity = 1 << 16, size = 0;
  uint8_t *bytes = tg_arena_alloc(&context->arena, capacity, 1);
  for (size_t got; (got = fread(bytes + size, 1, capacity - size, stdin)) > 0;) {
    size += got;
    bytes = tg_arena_grow(&context->arena, bytes, size, &capacity, 1);
  }
  if (ferror(stdin))
    return tg_fail(&context->diag, TG_INVALID, "standard input: cannot be read: %s", strerror(errno));
  context->piped = bytes;
  context->piped_size = size;
  return TG_OK;
}

tg_status tg_read_piped(tg_context *context) {
  const char *path;
  tg_status status = tg_one_operand(context, &path);
  return status || strcmp(path, "-") != 0 || context->piped ? status : read_stdin(context);
}

/* Nor may an output stand where a model keeps its weights. */
static tg_status check_data_files(tg_context *context, const tg_graph *model) {
  tg_status status = TG_OK;
  for (size_t i = 0; !status && model && i < model->data_file_count; i++)
    status = tg_check_unwritten(context, model->data_files[i]);
  return status;
}

static tg_status load_file(tg_context *context, const char *path, tg_session **out_session) {
  tg_session *session;
  tg_status status = tg_session_load(path, &session, &context->diag);
  if (status) return status;
  status = check_data_files(context, session->model);
  if (status)
    tg_session_close(session);
  else
    *out_session = session;
  return status;
}

tg_status tg_load_operand(tg_context *context, tg_session **out_session) {
  const char *path;
  tg_status status = tg_one_operand(context, &path);
  if (status) return status;
  if (strcmp(path, "-") != 0) return load_file(context, path, out_session);
  status = tg_read_piped(context);
  return status ? status
                : tg_session_load_memory(context->piped, context->piped_size, "standard input", out_session,
                                         &context->diag);
}

/* --- values */

static bool ends_in_npz(const char *path) {
  size_t length = strlen(path);
  return length > 4 && !strcmp(path + length - 4, ".npz");
}

/* FILE.npy, FILE.npz with one array, or FILE.npz:ARRAY. */
static tg_status read_values(tg_arena *arena, const char *path, tg_npy *out_array, tg_diag *diag) {
  const char *colon = strstr(path, ".npz:");
  if (colon)
    return tg_npz_read(arena, tg_arena_strndup(arena, path, (size_t)(colon + 4 - path)), colon + 5, out_array,
                       diag);
  return ends_in_npz(path) ? tg_npz_read(arena, path, NULL, out_array, diag)
                           : tg_npy_read(arena, path, out_array, diag);
}

static tg_status visit_archive(tg_context *context, tg_session *session, const char *path,
                               tg_input_visitor *visit) {
  tg_arena arena = {0};
  const char *const *names;
  size_t count = 0;
  tg_status status = tg_npz_names(&arena, path, &names, &count, &context->diag);
  for (size_t i = 0; !status && i < count; i++) {
    tg_npy array;
    tg_arena scratch = {0};
    status = tg_npz_read(&scratch, path, names[i], &array, &context->diag);
    if (!status) status = visit(context, session, names[i], &array);
    tg_arena_release(&scratch);
  }
  tg_arena_release(&arena);
  return status;
}

tg_status tg_for_inputs(tg_context *context, tg_session *session, tg_input_visitor *visit) {
  const tg_options *o = &context->options;
  tg_status status = TG_OK;
  for (size_t i = 0; !status && i < o->counts[TG_OPT_INPUT]; i++) {
    const char *name, *path, *text = o->values[TG_OPT_INPUT][i];
    tg_npy array;
    tg_arena arena = {0};
    if (!strchr(text, '=') && ends_in_npz(text)) {
      status = visit_archive(context, session, text, visit);
      continue;
    }
    status = tg_split_option(context, TG_OPT_INPUT, text, &name, &path);
    if (!status) status = read_values(&arena, path, &array, &context->diag);
    if (!status) status = visit(context, session, name, &array);
    tg_arena_release(&arena);
  }
  return status;
}

/* Of an input, also one that is a constant by now; TG_NONE: there is none of that name. */
static tg_dtype type_of(const tg_session *session, const char *name) {
  for (int i = 0; i < tg_session_input_count(session); i++)
    if (!strcmp(tg_session_input(session, i)->name, name)) return tg_session_input(session, i)->dtype;
  for (size_t i = 0; i < session->fixed_count; i++)
    if (!strcmp(session->fixed[i]->name, name)) return session->fixed[i]->dtype;
  return TG_NONE;
}

static tg_status set_input(tg_context *context, tg_session *session, const char *name, const tg_npy *given) {
  tg_npy copy = *given, *array = &copy;
  tg_dtype type = type_of(session, name);
  if (type && tg_npy_take_as(array, type, &context->diag))
    return tg_diag_prefix(&context->diag, "input \"%s\"", name), TG_INVALID;
  return tg_session_set_elements(session, name, array->rank, array->dims, array->dtype, array->data,
                                 &context->diag);
}

tg_status tg_bind_inputs(tg_context *context, tg_session *session) {
  const tg_options *o = &context->options;
  tg_status status = tg_for_inputs(context, session, set_input);
  if (status) return status;
  if (tg_given(o, TG_OPT_RANDOM) || !tg_given(o, TG_OPT_INPUT)) {
    uint64_t seed = tg_option_number(o, TG_OPT_RANDOM, 1);
    tg_session_random_inputs(session, seed ? seed : UINT64_MAX); /* 0 means no seed further down */
  }
  return TG_OK;
}
