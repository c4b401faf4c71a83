#include "frontend/base/status.h"
#include "tests/harness.h"

TG_TEST(status, keeps_the_first_message_and_prefixes_it) {
  tg_diag diag = {""};
  EXPECT_EQ(tg_fail(&diag, TG_INVALID, "tensor \"%s\" has rank %d", "x", 3), TG_INVALID);
  tg_fail(&diag, TG_FAULT, "something later");
  tg_diag_prefix(&diag, "%s", "model.onnx");
  EXPECT_STR(diag.message, "model.onnx: tensor \"x\" has rank 3");
}

TG_TEST(status, a_name_cannot_break_the_line_or_the_terminal) {
  tg_diag diag = {""};
  tg_fail(&diag, TG_INVALID, "node %s", "a\nb\x1b[31m");
  EXPECT_STR(diag.message, "node a?b?[31m");
}

TG_TEST(status, long_messages_are_cut_not_overrun) {
  char name[4000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  tg_diag diag = {""};
  tg_fail(&diag, TG_INVALID, "%s", name);
  tg_diag_prefix(&diag, "%s", name);
  EXPECT_EQ(strlen(diag.message), sizeof diag.message - 1);
}
