/* A program that uses the library, for the campaign of failing allocations: it goes on, whatever the library finds no
 * memory for. Prints what it did on one line a session. Exit status 0: all calls did what they should; 10: some had a
 * line to say instead. Any other status is the library's doing; 12: what was not compiled
 * counts as compiled. */
#include "runtime/tegula.h"

#include <stdio.h>
#include <stdlib.h>

static tg_status work(const char *model, tg_session **out_session, tg_diag *diag) {
  tg_compile_options compile = {.size = sizeof compile, .arch = "tiny", .seed = 1};
  tg_session_run_options run = {
      .size = sizeof run, .timing_only = true, .record_events = true, .profile = true};
  tg_status status = tg_session_load(model, out_session, diag);
  if (!status) {
    status = tg_session_compile(*out_session, &compile, diag);
    if (status && tg_session_is_compiled(*out_session)) exit(12);
  }
  if (!status) tg_session_random_inputs(*out_session, 1);
  if (!status) status = tg_session_run(*out_session, &run, diag);
  if (!status) status = tg_session_write_report(*out_session, "out/host.json", diag);
  return status;
}

int main(int argc, char **argv) {
  bool failed = false;
  for (int i = 0; argc > 1 && i < 2; i++) { /* the second time nothing fails any more */
    tg_session *session = NULL;
    tg_diag diag = {""};
    tg_status status = work(argv[1], &session, &diag);
    if (status)
      printf("status %d: %s\n", status, diag.message);
    else
      printf("%llu cycles\n", (unsigned long long)tg_session_cycles(session));
    if (status && (status != TG_INVALID || !*diag.message)) return 11;
    failed |= status != TG_OK;
    tg_session_close(session);
  }
  return failed ? 10 : 0;
}
