/* The proof of ordering: small programs that are right and become wrong by one change each, and mapped
 * ones. */
#include "frontend/pipeline.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "sim/machine/ordering.h"
#include "tests/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text programs ---- */

/* Tiny (2 x 2 tiles, P = 4, banks of 128 rows). West AGCU 0 loads two buffers (banks 0 and 1) of tile 0 in
 * turn, vx copies to bank 2 or 3, tx sends to the store memory of AGCU 0, which stores. */
#define PIPELINE                                                                                             \
  "arch tiny\ndram 4096\nsection \"s\"\n"                                                                    \
  "tile 0\nsem 2=2 3=1\n"                                                                                    \
  "word ld r0 = s0.lo | nop |\n"                                                                             \
  "word | nop | st s1.lo = r0\n"                                                                             \
  "vx vop rows=4 row_count=1,1,4 j_count=1,1 seg_len=2 s0_kind=2 s0_base=0 s0_rot_count=2 "                  \
  "s0_rot_stride=128 s0_row=0,0,1 s0_banks=1 s1_kind=2 s1_base=256 s1_rot_count=2 s1_rot_stride=128 "        \
  "s1_row=0,0,1 s1_banks=1 s1_store=1 wait_on=1,1 wait_sem=0,2 post_kind=2,1 post_pos=0,0 post_sem=1,1 "     \
  "loop_count=6\n"                                                                                           \
  "tx send dir=1 flits=4 src_base=256 src_rot_count=2 src_rot_stride=128 src_inner=4 dst_inner=4 "           \
  "dst_mask=1 dst_post=1 dst_sem=5 wait_on=1,1 wait_sem=1,3 post_kind=1 post_sem=2 loop_count=6\n"           \
  "agcu 0\nsem 1=2\n"                                                                                        \
  "ctx 0 load rows=4 take=8 m_radix=1,1,24 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 x_size=1 convert=1 "   \
  "dst_rot_count=2 dst_rot_stride=128 dst_inner=4 dst_mask=2 dst_post=1 dst_sem=0 credit_base=0 "            \
  "credit_mask=2 loop_count=6\n"                                                                             \
  "ctx 2 store rows=4 take=8 m_radix=1,1,24 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 x_size=1 convert=1 "  \
  "wait_on=1 wait_sem=5 post_kind=2 post_pos=1 post_sem=3 loop_count=6\n"

/* Checks `text` with `from` (if any) replaced by `to`. */
static tg_status check_text(const char *text, const char *from, const char *to, tg_diag *diag) {
  char changed[8192];
  const char *at = from ? strstr(text, from) : text;
  if (!at) return tg_fail(diag, TG_INVALID, "the program has no \"%s\"", from);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + (from ? strlen(from) : 0));
  tg_program *program;
  tg_status status = tg_program_parse(changed, &program, diag);
  if (status) return status;
  status = tg_check_ordering(program, diag);
  tg_program_destroy(program);
  return status;
}

static void expect_right(const char *text, const char *from, const char *to, int line) {
  tg_diag diag = {""};
  tg_status status = check_text(text, from, to, &diag);
  if (status || *diag.message) tg_test_fail(__FILE__, line, "status %d: %s", status, diag.message);
}

static void expect_wrong(const char *text, const char *from, const char *to, const char *message, int line) {
  tg_diag diag = {""};
  tg_status status = check_text(text, from, to, &diag);
  if (status != TG_MISMATCH || !strstr(diag.message, message))
    tg_test_fail(__FILE__, line, "\"%s\" -> \"%s\": status %d: %s", from, to, status, diag.message);
}
#define RIGHT(text, from, to)          expect_right(text, from, to, __LINE__)
#define WRONG(text, from, to, message) expect_wrong(text, from, to, message, __LINE__)

TG_TEST(ordering, a_pipeline_is_ordered) {
  RIGHT(PIPELINE, NULL, "");
  RIGHT(PIPELINE, "sem 2=2 3=1", "sem 2=1 3=1"); /* less room is only slower */
}

TG_TEST(ordering, every_wait_of_the_pipeline_is_needed) {
  WRONG(PIPELINE, "wait_on=1,1 wait_sem=0,2", "wait_on=0,1 wait_sem=0,2", "tile 0, bank ");
  WRONG(PIPELINE, "wait_on=1,1 wait_sem=0,2", "wait_on=1,0 wait_sem=0,2", "tile 0, bank 2: ");
  WRONG(PIPELINE, "wait_on=1,1 wait_sem=1,3", "wait_on=0,1 wait_sem=1,3", "tile 0, bank ");
  WRONG(PIPELINE, "wait_on=1,1 wait_sem=1,3", "wait_on=1,0 wait_sem=1,3", "agcu 0, store row 0");
  WRONG(PIPELINE, "credit_mask=2", "credit_mask=0", "tile 0, bank 0: ");
  WRONG(PIPELINE, "wait_on=1 wait_sem=5", "wait_on=0 wait_sem=5", "agcu 0, store row 0");
}

TG_TEST(ordering, every_post_of_the_pipeline_is_needed) {
  WRONG(PIPELINE, "post_kind=2,1 post_pos=0,0", "post_kind=0,1 post_pos=0,0", "deadlock");
  WRONG(PIPELINE, "post_kind=2,1 post_pos=0,0", "post_kind=2,0 post_pos=0,0", "deadlock");
  WRONG(PIPELINE, "post_kind=1 post_sem=2", "post_kind=0 post_sem=2", "deadlock");
  WRONG(PIPELINE, "dst_post=1 dst_sem=0", "dst_post=0 dst_sem=0", "deadlock");
  WRONG(PIPELINE, "dst_post=1 dst_sem=5", "dst_post=0 dst_sem=5", "deadlock");
  WRONG(PIPELINE, "post_kind=2 post_pos=1 post_sem=3", "post_kind=0 post_pos=1 post_sem=3", "deadlock");
}

TG_TEST(ordering, a_credit_too_many_is_reported) {
  WRONG(PIPELINE, "agcu 0\nsem 1=2", "agcu 0\nsem 1=3", "tile 0, bank 0: ");
  WRONG(PIPELINE, "sem 2=2 3=1", "sem 2=3 3=1", "tile 0, bank 2: tile 0 vx pc 0 [2 0 0]");
  WRONG(PIPELINE, "sem 2=2 3=1", "sem 2=2 3=2", "agcu 0, store row 0: ");
}

TG_TEST(ordering, buffers_in_one_bank_conflict) {
  WRONG(PIPELINE, "s0_rot_stride=128", "s0_rot_stride=64", "bank 0");
  WRONG(PIPELINE, "s1_base=256", "s1_base=64", "bank 0 serves load and store streams of the VOP at once");
}

TG_TEST(ordering, a_range_is_checked) {
  WRONG(PIPELINE, "src_base=256", "src_base=2045", "source reaches row");
  WRONG(PIPELINE, "rows=4 row_count=1,1,4 j_count=1,1 seg_len=2 s0_kind=2 s0_base=0",
        "rows=4 row_count=1,1,4 j_count=1,1 seg_len=2 s0_kind=2 s0_base=2046", "stream s0 reaches row");
  WRONG(PIPELINE, "src_inner=4 dst_inner=4", "src_inner=1 src_stride=-128 dst_inner=4",
        "source reaches row -128 of 2048");
}

/* Two rows of 32 bits a vector: a word that takes one half reads its rows only. 2048 rows. */
#define HALVES(kind, half, base)                                                                             \
  "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0." half " | nop |\n"                                     \
  "vx vop rows=1 row_count=1,1,1 j_count=1,1 seg_len=1 s0_row=0,0,1 s0_kind=" kind " s0_base=" base "\n"

TG_TEST(ordering, halves_of_a_vector_are_rows_of_their_own) {
  RIGHT(HALVES("fp32", "lo", "2047"), NULL, "");
  RIGHT(HALVES("fp32", "hi", "2046"), NULL, "");
  WRONG(HALVES("fp32", "hi", "2047"), NULL, "", "stream s0 reaches row 2048 of 2048");
  RIGHT(HALVES("bf16", "hi", "2047"), NULL, "");
  WRONG(HALVES("bf16", "hi", "2048"), NULL, "", "stream s0 reaches row 2048 of 2048");
  RIGHT(HALVES("fp32", "lo", "2048"), "vx vop rows=1", "vx vop rows=0"); /* none */
}

/* Five rows of 2 x 1 x 4: a whole run of four, and one of the next. */
#define FIVE_ROWS(steps, base)                                                                               \
  "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"                                           \
  "vx vop rows=5 row_count=2,1,4 j_count=1,1 seg_len=1 s0_kind=bf16 s0_row=" steps " s0_base=" base "\n"

TG_TEST(ordering, rows_of_a_last_run_that_is_not_whole) {
  RIGHT(FIVE_ROWS("100,0,1", "1947"), NULL, "");
  WRONG(FIVE_ROWS("100,0,1", "1948"), NULL, "", "stream s0 reaches row 2048 of 2048");
  RIGHT(FIVE_ROWS("100,0,-2", "6"), NULL, "");
  WRONG(FIVE_ROWS("100,0,-2", "5"), NULL, "", "stream s0 reaches row -1 of 2048");
  RIGHT(FIVE_ROWS("-100,0,2", "2041"), NULL, "");
  WRONG(FIVE_ROWS("-100,0,2", "2042"), NULL, "", "stream s0 reaches row 2048 of 2048");
  const char *send =
      "arch tiny\nsection \"s\"\ntile 0\n"
      "tx send dir=1 flits=5 src_base=1947 src_inner=4 src_stride=100 dst_inner=5 dst_mask=1 dst_post=1 "
      "dst_sem=0\nagcu 0\nctx 0 sync wait_on=1 wait_sem=0\n";
  RIGHT(send, NULL, "");
  WRONG(send, "src_base=1947", "src_base=1948", "source reaches row 2048 of 2048");
  WRONG(send, "src_base=1947 src_inner=4 src_stride=100", "src_base=99 src_inner=4 src_stride=-100",
        "source reaches row -1 of 2048");
}

/* A segment that repeats moves its streams by their steps of j; one that does not leaves them where they are. */
TG_TEST(ordering, rows_of_segments_that_repeat) {
  const char *vop =
      "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"
      "vx vop rows=1 row_count=1,1,1 j_count=3,5 seg_len=1 s0_kind=bf16 s0_j=10,100 s0_base=1627 "
      "seg_repeat=1\n";
  RIGHT(vop, NULL, "");
  WRONG(vop, "s0_base=1627", "s0_base=1628", "stream s0 reaches row 2048 of 2048");
  RIGHT(vop, "s0_base=1627 seg_repeat=1", "s0_base=2047 seg_repeat=0");
  RIGHT(vop, "s0_j=10,100 s0_base=1627", "s0_j=-10,-100 s0_base=420");
  WRONG(vop, "s0_j=10,100 s0_base=1627", "s0_j=-10,-100 s0_base=419", "stream s0 reaches row -1 of 2048");
}

/* To an AGCU, whose store memory has 512 rows, and on to a tile, which has more: the first is looked at, too. */
TG_TEST(ordering, every_kind_of_destination_has_its_range) {
  const char *both =
      "arch tiny\nset cols=3\nset rows=1\nsection \"s\"\n"
      "tile 2\ntx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=5 dst_base=511 dst_post=1 "
      "dst_sem=0\ntile 1\nvx sync wait_on=1 wait_sem=0\nagcu 0\nctx 0 sync wait_on=1 wait_sem=0\n";
  RIGHT(both, NULL, "");
  WRONG(both, "dst_base=511", "dst_base=512", "destination in the store memory reaches row 512 of 512");
  WRONG(both, "dst_base=511", "dst_base=2048", "destination in the store memory reaches row 2048 of 512");
  WRONG(both, "dst_mask=5 dst_base=511", "dst_mask=4 dst_base=2048", "destination reaches row 2048 of 2048");
}

/* A stream owns the banks that it says, from that of its address on, whether words use it or not. Here vx and tx are at work
 * at once. */
#define OWNING(stream)                                                                                       \
  "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"                                           \
  "vx vop rows=1 row_count=1,1,1 j_count=1,1 seg_len=1 s0_kind=2 s0_row=0,0,1 s0_banks=1 " stream "\n"       \
  "tx send dir=1 flits=1 src_base=256 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0\n"             \
  "agcu 0\nctx 0 sync wait_on=1 wait_sem=0\n"

TG_TEST(ordering, banks_are_owned_from_the_address_on) {
  RIGHT(OWNING(""), NULL, "");
  RIGHT(OWNING("s0_banks=2"), NULL, "");
  WRONG(OWNING("s0_banks=3"), NULL, "", "tile 0, bank 2: tile 0 tx pc 0");
  RIGHT(OWNING("s0_banks=0"), NULL, "");
  WRONG(OWNING("s1_kind=2 s1_base=256 s1_banks=1"), NULL, "", "tile 0, bank 2: tile 0 tx pc 0");
  RIGHT(OWNING("s1_kind=2 s1_base=256 s1_banks=0"), NULL, "");
  RIGHT(OWNING("s1_kind=0 s1_base=256 s1_banks=1"), NULL, "");
  const char *high = OWNING("s0_kind=fp32 s0_base=255 s0_banks=0"); /* rows 255, of low halves, and 256 */
  RIGHT(high, NULL, "");
  WRONG(high, "s0.lo", "s0.hi", "tile 0, bank 2: tile 0 tx pc 0");
  RIGHT(high, "src_base=256", "src_base=0");
  WRONG(high, "src_base=256", "src_base=128", "tile 0, bank 1: tile 0 tx pc 0");
  char upper[2048];
  const char *at = strstr(high, "s0.lo");
  ASSERT(at);
  snprintf(upper, sizeof upper, "%.*ss0.hi%s", (int)(at - high), high, at + 5);
  RIGHT(upper, "src_base=256", "src_base=128");
  RIGHT(OWNING("s1_kind=2 s1_base=2048 s1_banks=1"), NULL, ""); /* behind the scratchpad */
  RIGHT(OWNING("s1_kind=2 s1_base=1920 s1_banks=9"), NULL, ""); /* up to its end */
  WRONG(OWNING("s1_kind=2 s1_base=128 s1_banks=63"), NULL, "", "tile 0, bank 2: tile 0 tx pc 0");
}

/* Tile 0 sends to bank 0 of tile 1 whose tx sends it on; the message, or (wrong) the end of the SEND, tells
 * it. */
#define SEND_ON(message, post, loops)                                                                        \
  "arch tiny\nsection \"s\"\n"                                                                               \
  "tile 0\nsem 1=1\ntx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 " message post                  \
  "wait_on=1 wait_sem=1 " loops "\n"                                                                         \
  "tile 1\ntx send dir=1 flits=4 src_inner=4 dst_inner=4 dst_base=128 dst_mask=2 dst_post=1 dst_sem=2 "      \
  "wait_on=1 wait_sem=0 post_kind=2 post_pos=1 post_sem=1 " loops "\n"                                       \
  "tile 0\nvx sync wait_on=1 wait_sem=2 " loops "\n"

TG_TEST(ordering, the_end_of_a_send_does_not_order_its_arrival) {
  RIGHT(SEND_ON("dst_post=1 dst_sem=0 ", "", "loop_count=5"), NULL, "");
  WRONG(SEND_ON("", "post_kind=2 post_pos=2 post_sem=0 ", "loop_count=5"), NULL, "",
        "tile 1, bank 0: tile 1 tx pc 0 [0 0 0] does not wait for the end of tile 0 tx pc 0 [0 0 0]");
}

/* Tile 0 sends to bank 0 of tiles 1 and 2. Tile 1 tells tile 2's tx of its arrival, which is not the
 * other. */
#define MULTICAST(local_post, tx_waits)                                                                      \
  "arch tiny\nset cols=3\nset rows=1\nsection \"s\"\n"                                                       \
  "tile 0\ntx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=12 dst_post=1 dst_sem=0\n"                 \
  "tile 1\nvx sync wait_on=1 wait_sem=0 post_kind=2 post_pos=3 post_sem=1\n"                                 \
  "tx sync wait_on=1 wait_sem=2\n"                                                                           \
  "tile 2\nvx sync wait_on=1 wait_sem=0 " local_post "\n"                                                    \
  "tx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=4 dst_base=128 dst_post=1 dst_sem=2 " tx_waits     \
  "\n"

TG_TEST(ordering, an_arrival_at_one_destination_tells_nothing_of_another) {
  WRONG(MULTICAST("", "wait_on=1 wait_sem=1"), NULL, "", "tile 2, bank 0: tile 2 tx pc 0");
  RIGHT(MULTICAST("post_kind=1 post_sem=3", "wait_on=1,1 wait_sem=1,3"), NULL, "");
}

/* Tile 0 sends south to tile 2, then east to tile 1, at the same position; tile 1 tells tile 0 of it, and this tile 2: that the
 * later flits are there says nothing of the earlier ones, which went another way. */
#define TWO_WAYS(first, second, tells, waits)                                                                \
  "arch tiny\nsection \"s\"\ntile 0\n"                                                                       \
  "tx send dir=" first " flits=1 src_inner=1 dst_inner=1 dst_mask=4 dst_post=1 dst_sem=0\n"                  \
  "tx send dir=" second " flits=1 src_inner=1 dst_inner=1 dst_mask=4 dst_post=1 dst_sem=0\n"                 \
  "vx sync wait_on=1 wait_sem=0 post_kind=" tells " post_pos=2 post_sem=1\n" waits

TG_TEST(ordering, what_goes_another_way_tells_nothing) {
  const char *from_east = "tile 1\nvx sync wait_on=1 wait_sem=0 post_kind=row post_pos=1 post_sem=0\n"
                          "tile 2\nvx sync wait_on=1 wait_sem=0 post_kind=local post_sem=2\n"
                          "tx send dir=west flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0 ",
             *from_south =
                 "tile 2\nvx sync wait_on=1 wait_sem=0 post_kind=col post_pos=1 post_sem=0\n"
                 "tile 1\nvx sync wait_on=1 wait_sem=0 post_kind=local post_sem=2\n"
                 "tx send dir=north flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0 ";
  char text[4096];
  for (int told = 0; told < 2; told++) {
    const char *waits = told ? "wait_on=1,1 wait_sem=1,2\n" : "wait_on=1 wait_sem=1\n";
    snprintf(text, sizeof text,
             TWO_WAYS("south", "east", "col", "%s%sagcu 1\nctx 0 sync wait_on=1 wait_sem=0\n"), from_east,
             waits);
    if (told)
      RIGHT(text, NULL, "");
    else
      WRONG(text, NULL, "", "tile 2, bank 0: tile 2 tx pc 0");
    snprintf(text, sizeof text,
             TWO_WAYS("east", "south", "row", "%s%sagcu 3\nctx 0 sync wait_on=1 wait_sem=0\n"), from_south,
             waits);
    if (told)
      RIGHT(text, NULL, "");
    else
      WRONG(text, NULL, "", "tile 1, bank 0: tile 1 tx pc 0");
  }
}

/* The same the other way, from tile 3 north and west. */
TG_TEST(ordering, what_goes_back_another_way_tells_nothing) {
  const char *text =
      "arch tiny\nsection \"s\"\ntile 3\n"
      "tx send dir=north flits=1 src_inner=1 dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0\n"
      "tx send dir=west flits=1 src_inner=1 dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0\n"
      "vx sync wait_on=1 wait_sem=0 post_kind=col post_pos=1 post_sem=1\n"
      "tile 2\nvx sync wait_on=1 wait_sem=0 post_kind=row post_pos=2 post_sem=0\n"
      "tile 1\nvx sync wait_on=1 wait_sem=0 post_kind=local post_sem=2\n"
      "tx send dir=west flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0 wait_on=1,1 "
      "wait_sem=1,2\nagcu 0\nctx 0 sync wait_on=1 wait_sem=0\n";
  RIGHT(text, NULL, "");
  WRONG(text, "wait_on=1,1", "wait_on=1,0", "tile 1, bank 0: tile 1 tx pc 0");
}

/* Tiles 0 and 1 send to banks 0 and 1 of tile 2, whose tx reads both. */
#define TWO_SENDERS(waits)                                                                                   \
  "arch tiny\nset cols=3\nset rows=1\nsection \"s\"\n"                                                       \
  "tile 0\ntx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=8 dst_post=1 dst_sem=0\n"                  \
  "tile 1\ntx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=8 dst_base=128 dst_post=1 dst_sem=0\n"     \
  "tile 2\n" waits                                                                                           \
  "tx send dir=1 flits=8 src_inner=4 src_stride=128 dst_inner=8 dst_mask=1 dst_post=1 dst_sem=0\n"           \
  "agcu 0\nctx 0 sync wait_on=1 wait_sem=0\n"

TG_TEST(ordering, of_two_posters_either_may_be_first) {
  RIGHT(TWO_SENDERS("tx sync wait_on=1 wait_sem=0\ntx sync wait_on=1 wait_sem=0\n"), NULL, "");
  WRONG(TWO_SENDERS("tx sync wait_on=1 wait_sem=0\n"), NULL, "", "tile 2, bank ");
  /* An initial one may be what the first take gets. */
  WRONG(TWO_SENDERS("sem 0=1\ntx sync wait_on=1 wait_sem=0\ntx sync wait_on=1 wait_sem=0\n"), NULL, "",
        "tile 2, bank ");
}

/* Four rows to the store memory of AGCU 0, and a STORE of four rows by a context that is not told. */
#define TO_STORE_MEMORY(send, store)                                                                         \
  "arch tiny\ndram 4096\nsection \"s\"\ntile 0\n"                                                            \
  "tx send dir=1 flits=4 src_inner=4 dst_mask=1 dst_post=1 dst_sem=0 " send "\n"                             \
  "agcu 0\nctx 0 sync wait_on=1 wait_sem=0\n"                                                                \
  "ctx 1 store rows=1 take=16 m_radix=1,1,1 k_radix=1,1,16 stride=0,0,0,0,0,4 y_size=1 x_size=1 " store "\n"

TG_TEST(ordering, every_row_of_a_store_memory_counts) {
  const char *together = TO_STORE_MEMORY("dst_inner=4 dst_base=20", "src_base=20"),
             *apart = TO_STORE_MEMORY("dst_inner=1 dst_stride=10 dst_base=20", "src_base=50");
  WRONG(together, NULL, "", "agcu 0, store row 20: agcu 0 context 1 pc 0");
  WRONG(together, "src_base=20", "src_base=23", "agcu 0, store row 23");
  WRONG(together, "src_base=20", "src_base=17", "agcu 0, store row 20");
  RIGHT(together, "src_base=20", "src_base=24");
  RIGHT(together, "src_base=20", "src_base=16");
  WRONG(apart, NULL, "", "agcu 0, store row 50");
  WRONG(apart, "src_base=50", "src_base=30", "agcu 0, store row 30");
  RIGHT(apart, "src_base=50", "src_base=31");
  RIGHT(apart, "src_base=50", "src_base=21");
}

/* Tile 1 sends bank 0 away; after tile 2 has begun, tile 0 sends to this bank in both. */
TG_TEST(ordering, every_destination_counts) {
  const char *text = "arch tiny\nset cols=3\nset rows=1\nsection \"s\"\n"
                     "tile 0\ntx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=12 dst_post=1 dst_sem=1 "
                     "wait_on=1 wait_sem=0\n"
                     "tile 1\nvx sync wait_on=1 wait_sem=1\n"
                     "tx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0\n"
                     "tile 2\nvx sync post_kind=2 post_pos=1 post_sem=0\nvx sync wait_on=1 wait_sem=1\n"
                     "agcu 0\nctx 0 sync wait_on=1 wait_sem=0\n";
  WRONG(text, NULL, "", "tile 1, bank 0: tile 0 tx pc 0 [0 0 0] does not wait for the end of tile 1 tx pc 0");
  RIGHT(text, "dst_mask=12", "dst_mask=12 dst_base=128");
}

/* mx: the end of a SYNC is not the end of the GEMM before it. */
#define GEMM_AND_VOP_OF(word, gemm_post, sync)                                                               \
  "arch tiny\nsection \"s\"\ntile 0\nword " word "\n"                                                        \
  "mx gemm m_count=1,4 blk_count=1,1,1,1 a_m=0,1 a_banks=1 b_base=128 b_row=1 b_banks=1 k_chunk=4 "          \
  "k_total=4 init=1 " gemm_post "\n" sync                                                                    \
  "vx vop rows=4 row_count=1,1,4 j_count=1,1 seg_len=1 s0_kind=4 s0_row=0,0,1 wait_on=1 wait_sem=0\n"
#define GEMM_AND_VOP(gemm_post, sync) GEMM_AND_VOP_OF("ld r0 = s0.lo | nop |", gemm_post, sync)

TG_TEST(ordering, a_sync_of_mx_overtakes_gemms) {
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), NULL, "");
  WRONG(GEMM_AND_VOP("", "mx sync post_kind=1 post_sem=0\n"), NULL, "",
        "tile 0, accumulator half 0: tile 0 vx pc 0");
  WRONG(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=8 blk_count=2,1,1,1",
        "both operands");
}

/* A stream owns the half that it names, modulo both, whether a word uses it or not; an operand no bank beyond the last of 32, and no half. */
TG_TEST(ordering, what_is_owned_and_not_used) {
  WRONG(GEMM_AND_VOP("", "mx sync post_kind=1 post_sem=0\n"), "word ld r0 = s0.lo | nop |", "word nop",
        "tile 0, accumulator half 0: tile 0 vx pc 0");
  WRONG(GEMM_AND_VOP_OF("nop", "", "mx sync post_kind=1 post_sem=0\n"), "s0_kind=4", "s0_kind=4 s0_base=256",
        "tile 0, accumulator half 0: tile 0 vx pc 0");
  RIGHT(GEMM_AND_VOP_OF("nop", "", "mx sync post_kind=1 post_sem=0\n"), "s0_kind=4", "s0_kind=4 s0_base=384");
  RIGHT("arch tiny\nset banks=32\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"
        "mx gemm m_count=1,4 blk_count=1,1,1,1 a_m=0,1 a_base=3968 a_banks=2 b_base=128 b_row=1 b_banks=1 "
        "k_chunk=4 k_total=4 init=1 c_base=128\n"
        "vx vop rows=4 row_count=1,1,4 j_count=1,1 seg_len=1 s0_kind=4 s0_row=0,0,1\n",
        NULL, "");
}

/* The SYNC's post may come first, although the GEMM stands before it. */
TG_TEST(ordering, of_the_posts_of_one_unit_either_may_be_first) {
  WRONG(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "vx vop", "mx sync post_kind=1 post_sem=0\nvx vop",
        "tile 0, accumulator half 0: tile 0 vx pc 0");
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "vx vop",
        "mx sync post_kind=1 post_sem=0\nvx sync wait_on=1 wait_sem=0\nvx vop");
  WRONG(
      GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "vx vop",
      "mx sync post_kind=1 post_sem=0\nmx sync post_kind=1 post_sem=0\nvx sync wait_on=1 wait_sem=0\nvx vop",
      "tile 0, accumulator half 0: tile 0 vx pc 1");
}

/* Both operands of a GEMM in one bank: what is stationary is read before the other streams, but for a second block, or rows
 * that pass the transposer. */
TG_TEST(ordering, operands_share_a_bank_only_in_a_single_block) {
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=8");
  WRONG(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=8 blk_count=2,1,1,1",
        "both operands");
  WRONG(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=8 a_transposed=1", "both operands");
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=128 blk_count=2,1,1,1");
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=128 a_transposed=1");
}

/* Of a loop of 2 x 4 executions, in the outer and the inner level: one post or one wait each, or one each time that the inner level
 * ends or begins. */
#define EIGHT_TIMES(posts, waits)                                                                            \
  "arch tiny\nsection \"s\"\ntile 0\ntx sync post_kind=1 post_sem=0 loop_count=2,0,4 " posts                 \
  "\nvx sync wait_on=1 wait_sem=0 " waits "\n"

TG_TEST(ordering, posts_and_waits_of_an_inner_loop) {
  RIGHT(EIGHT_TIMES("", "loop_count=8"), NULL, "");
  WRONG(EIGHT_TIMES("", "loop_count=9"), NULL, "",
        "tile 0 vx pc 0 [8 0 0]: semaphore 0 of tile 0 is never posted again");
  RIGHT(EIGHT_TIMES("post_last=1", "loop_count=2"), NULL, "");
  WRONG(EIGHT_TIMES("post_last=1", "loop_count=3"), NULL, "", "never posted again (deadlock)");
  RIGHT(EIGHT_TIMES("", "loop_count=2,0,4"), NULL, "");
  WRONG(EIGHT_TIMES("", "loop_count=2,0,5"), NULL, "",
        "tile 0 vx pc 0 [1 0 3]: semaphore 0 of tile 0 is never posted again");
  RIGHT(EIGHT_TIMES("post_last=1", "wait_first=1 loop_count=2,0,5"), NULL, "");
  WRONG(EIGHT_TIMES("post_last=1", "wait_first=1 loop_count=3,0,5"), NULL, "", "tile 0 vx pc 0 [2 0 0]: ");
  RIGHT(EIGHT_TIMES("post_last=1", "loop_count=2,0,0"), "loop_count=2,0,4",
        "loop_count=2,0,0"); /* no inner loop: each ends it */
  /* Buffers that rotate with each execution, or where the inner level ends: of two banks, the second is the one that tx reads. */
  const char *rotates =
      "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"
      "vx vop rows=1 row_count=1,1,1 j_count=1,1 seg_len=1 s0_kind=2 s0_row=0,0,1 s0_banks=1 "
      "s0_rot_count=2 s0_rot_stride=128 loop_count=0,0,2\n"
      "tx send dir=1 flits=1 src_base=128 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=0\n"
      "agcu 0\nctx 0 sync wait_on=1 wait_sem=0\n";
  WRONG(rotates, NULL, "", "tile 0, bank 1: tile 0 tx pc 0");
  RIGHT(rotates, "s0_rot_count=2", "s0_rot_count=1");
  RIGHT(rotates, "s0_rot_count=2", "s0_rot_count=2 s0_rot_outer=1");
  WRONG(rotates, "s0_rot_stride=128 loop_count=0,0,2", "s0_rot_stride=128 s0_rot_outer=1 loop_count=2,0,2",
        "tile 0, bank 1: tile 0 tx pc 0");
  WRONG(rotates, "s0_rot_stride=128 loop_count=0,0,2", "s0_rot_stride=128 s0_rot_outer=1 loop_count=2",
        "tile 0, bank 1: tile 0 tx pc 0");
  RIGHT(rotates, "src_base=128", "src_base=256"); /* it comes back to the first */
  RIGHT(rotates, "loop_count=0,0,2\ntx send dir=1 flits=1 src_base=128",
        "loop_count=0,0,3\ntx send dir=1 flits=1 src_base=256");
}

TG_TEST(ordering, counts_stay_below_256) {
  const char *free_running = "arch tiny\nsection \"s\"\ntile 0\n"
                             "tx sync post_kind=1 post_sem=0 loop_count=300\n"
                             "vx sync wait_on=1 wait_sem=0 loop_count=300\n";
  WRONG(free_running, NULL, "", "semaphore 0 of tile 0 may exceed 255");
  RIGHT(free_running, "tx sync post_kind=1 post_sem=0 loop_count=300\nvx sync wait_on=1 wait_sem=0 ",
        "sem 1=255\ntx sync wait_on=1 wait_sem=1 post_kind=1 post_sem=0 loop_count=300\n"
        "vx sync wait_on=1 wait_sem=0 post_kind=1 post_sem=1 ");
  WRONG(free_running, "vx sync", "mx sync", "may exceed 255");
  /* Of a SEND that tells its destination, too, which takes every message. */
  const char *send =
      "arch tiny\nsection \"s\"\ntile 0\n"
      "tx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=4 dst_post=1 dst_sem=0 post_kind=1 "
      "post_sem=0 loop_count=256\ntile 1\nvx sync wait_on=1 wait_sem=0 loop_count=256\n";
  WRONG(send, NULL, "", "tile 0 tx pc 0 [255 0 0]: semaphore 0 of tile 0 may exceed 255");
  RIGHT(send, "loop_count=256\ntile 1\nvx sync wait_on=1 wait_sem=0 loop_count=256",
        "loop_count=255\ntile 1\nvx sync wait_on=1 wait_sem=0 loop_count=255");
  /* Posts behind the one that is too many. */
  const char *full =
      "arch tiny\nsection \"s\"\ntile 0\nsem 0=255\n"
      "tx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=4 dst_post=1 dst_sem=0 post_kind=1,1 "
      "post_sem=0,1\ntile 1\nvx sync wait_on=1 wait_sem=0\n";
  WRONG(full, NULL, "", "semaphore 0 of tile 0 may exceed 255");
  WRONG(full, "post_kind=1,1", "post_kind=1,0", "semaphore 0 of tile 0 may exceed 255");
  RIGHT(full, "sem 0=255", "sem 0=254");
}

/* tx of tile 0 and vx of tile 1 go on one after the other, and vx of tile 0 takes in time where it is as fast: nothing makes it
 * be, but for `told`, by which tile 1 knows that it has taken. */
#define IN_LOCK_STEP(told, tells, loops)                                                                     \
  "arch tiny\nsection \"s\"\ntile 0\nsem 1=1\n"                                                              \
  "tx sync wait_on=1 wait_sem=1 post_kind=1,2 post_pos=0,2 post_sem=0,2 " loops "\n"                         \
  "vx sync wait_on=1 wait_sem=0 " tells loops "\n"                                                           \
  "tile 1\nvx sync wait_on=1" told " wait_sem=2,3 post_kind=2 post_pos=1 post_sem=1 " loops "\n"

TG_TEST(ordering, a_count_that_only_time_keeps_small) {
  WRONG(IN_LOCK_STEP(",0", "", "loop_count=300"), NULL, "", "semaphore 0 of tile 0 may exceed 255");
  RIGHT(IN_LOCK_STEP(",1", "post_kind=2 post_pos=2 post_sem=3 ", "loop_count=300"), NULL, "");
  RIGHT(IN_LOCK_STEP(",0", "", "loop_count=255"), NULL, "");
}

/* What a semaphore begins with, and nobody takes, is no post. */
TG_TEST(ordering, a_semaphore_may_begin_with_more_than_is_taken) {
  RIGHT("arch tiny\nsection \"s\"\ntile 0\nsem 0=9\ntx sync post_kind=1 post_sem=0\n"
        "vx sync wait_on=1 wait_sem=0\n",
        NULL, "");
}

TG_TEST(ordering, messages_must_be_awaited) {
  const char *text = "arch tiny\nsection \"s\"\ntile 0\n"
                     "tx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 dst_post=1 dst_sem=0\n"
                     "tile 1\nvx sync wait_on=1 wait_sem=0\n";
  RIGHT(text, NULL, "");
  WRONG(text, "vx sync wait_on=1 wait_sem=0", "", "nobody waits for what tile 0 tx pc 0");
  WRONG(text, "dst_post=1", "dst_post=1 loop_count=2", "nobody waits for what tile 0 tx pc 0");
  WRONG(text, "vx sync wait_on=1 wait_sem=0", "vx sync wait_on=1 wait_sem=0\ntx sync wait_on=1 wait_sem=0",
        "has two waiting units");
}

/* The second of two sends, which goes to the bank behind, is awaited as the first is. */
TG_TEST(ordering, every_message_must_be_awaited) {
  const char *text =
      "arch tiny\nsection \"s\"\ntile 0\n"
      "tx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 dst_post=1 dst_sem=0\n"
      "tx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 dst_post=1 dst_sem=0 dst_base=128\n"
      "tile 1\nvx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=0\n";
  RIGHT(text, NULL, "");
  WRONG(text, "dst_post=1 dst_sem=0 dst_base=128\ntile 1\nvx sync wait_on=1 wait_sem=0\n",
        "dst_base=128\ntile 1\n", "nobody waits for what tile 0 tx pc 1 [0 0 0] sends to tile 1");
  WRONG(text, "vx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=0\n",
        "vx sync wait_on=1 wait_sem=0\n", "nobody waits for what tile 0 tx pc 1 [0 0 0] sends to tile 1");
}

TG_TEST(ordering, a_semaphore_has_one_waiting_unit) {
  const char *waits = "arch tiny\nsection \"s\"\ntile 0\nsem 0=2 7=1\nvx sync wait_on=1 wait_sem=0\n"
                      "tx sync wait_on=1,1 wait_sem=0,7\n";
  WRONG(waits, NULL, "", "semaphore 0 of tile 0 has two waiting units");
  WRONG(waits, "wait_sem=0,7\n", "wait_sem=0,7\ntx sync\n", "semaphore 0 of tile 0 has two waiting units");
  RIGHT(waits, "wait_sem=0,7", "wait_sem=8,7 wait_on=0");
  const char *credits = "arch tiny\nsection \"s\"\nagcu 0\nsem 0=2 1=1\nctx 0 sync wait_on=1 wait_sem=0\n"
                        "ctx 1 sync credit_base=0 credit_mask=3\n";
  WRONG(credits, NULL, "", "semaphore 0 of agcu 0 has two waiting units");
  RIGHT(credits, "credit_mask=3", "credit_mask=2");
}

/* Fields of what sends nothing. */
TG_TEST(ordering, only_sends_and_loads_arrive) {
  RIGHT("arch tiny\nsection \"s\"\ntile 0\ntx sync dst_mask=4 dst_post=1 dst_sem=0\n", NULL, "");
  RIGHT("arch tiny\nsection \"s\"\nagcu 0\nctx 0 sync dst_mask=2 dst_post=1\n"
        "ctx 1 store rows=1 take=1 m_radix=1,1,1 k_radix=1,1,1 y_size=1 x_size=1 dst_mask=2 dst_post=1\n",
        NULL, "");
}

/* Of two sends to tile 2, from one tile after the other, both are to be awaited: by number neither stands for the other. */
TG_TEST(ordering, messages_of_every_sender_must_be_awaited) {
  const char *text =
      "arch tiny\nset cols=3\nset rows=1\nsection \"s\"\n"
      "tile 0\ntx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=8 dst_post=1 dst_sem=0\n"
      "tx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=8 dst_post=1 dst_sem=0\n"
      "tile 1\ntx send dir=0 flits=1 src_inner=1 dst_inner=1 dst_mask=8 dst_base=128 dst_post=1 dst_sem=1\n"
      "tile 2\nvx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=1\n";
  RIGHT(text, NULL, "");
  WRONG(text,
        "dst_post=1 dst_sem=1\ntile 2\nvx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=0\nvx sync "
        "wait_on=1 wait_sem=1\n",
        "\ntile 2\nvx sync wait_on=1 wait_sem=0\nvx sync wait_on=1 wait_sem=0\n",
        "nobody waits for what tile 1 tx pc 0 [0 0 0] sends to tile 2");
}

/* The second message tells of the first's flits, too; the first itself stays in its semaphore, where the next section would find
 * it. What tiles post to each other without flits may stay. */
TG_TEST(ordering, every_message_is_taken) {
  const char *text = "arch tiny\nsection \"s\"\ntile 0\n"
                     "tx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 dst_post=1 dst_sem=5\n"
                     "tx send dir=0 flits=4 src_inner=4 dst_inner=4 dst_mask=4 dst_post=1 dst_sem=0\n"
                     "tile 1\nvx sync wait_on=1 wait_sem=0\n";
  WRONG(text, NULL, "", "semaphore 5 of tile 1 counts messages that nobody waits for");
  RIGHT(text, "dst_post=1 dst_sem=5", "");
  RIGHT(text, "dst_post=1 dst_sem=5", "post_kind=2 post_pos=2 post_sem=5");
  RIGHT(text, "wait_on=1 wait_sem=0", "wait_on=1,1 wait_sem=0,5");
  /* Of a semaphore that others post to as well, before and behind. */
  WRONG(text, "tile 1\nvx sync wait_on=1 wait_sem=0",
        "tile 1\nvx sync wait_on=1 wait_sem=0 post_kind=1 post_sem=5",
        "semaphore 5 of tile 1 counts messages");
  WRONG(text, "tile 0\n", "tile 0\nvx sync post_kind=2 post_pos=2 post_sem=5\n",
        "semaphore 5 of tile 1 counts messages");
}

/* ---- device memory ---- */

/* The pipeline on blocks of 64 bytes: block i is loaded at entry 0 of the base table, stored at entry 1. */
#define WALKING(bases)                                                                                       \
  "arch tiny\ndram 4096\ntensor input fp32 0 96 \"x\"\ninvoke 0 \"run\"\nbase " bases "\nsection \"s\"\n"    \
  "tile 0\nsem 2=2 3=1\n"                                                                                    \
  "word ld r0 = s0.lo | nop |\n"                                                                             \
  "word | nop | st s1.lo = r0\n"                                                                             \
  "vx vop rows=4 row_count=1,1,4 j_count=1,1 seg_len=2 s0_kind=2 s0_base=0 s0_rot_count=2 "                  \
  "s0_rot_stride=128 s0_row=0,0,1 s0_banks=1 s1_kind=2 s1_base=256 s1_rot_count=2 s1_rot_stride=128 "        \
  "s1_row=0,0,1 s1_banks=1 s1_store=1 wait_on=1,1 wait_sem=0,2 post_kind=2,1 post_pos=0,0 post_sem=1,1 "     \
  "loop_count=6\n"                                                                                           \
  "tx send dir=1 flits=4 src_base=256 src_rot_count=2 src_rot_stride=128 src_inner=4 dst_inner=4 "           \
  "dst_mask=1 dst_post=1 dst_sem=5 wait_on=1,1 wait_sem=1,3 post_kind=1 post_sem=2 loop_count=6\n"           \
  "agcu 0\nsem 1=2\n"                                                                                        \
  "ctx 0 load rows=4 take=8 m_radix=1,1,24 m_delta=4 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 x_size=1 "   \
  "convert=1 dst_rot_count=2 dst_rot_stride=128 dst_inner=4 dst_mask=2 dst_post=1 dst_sem=0 credit_base=0 "  \
  "credit_mask=2 loop_count=6\n"                                                                             \
  "ctx 2 store base=1 rows=4 take=8 m_radix=1,1,24 m_delta=4 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 "    \
  "x_size=1 convert=1 wait_on=1 wait_sem=5 post_kind=2 post_pos=1 post_sem=3 loop_count=6\n"

TG_TEST(ordering, an_output_over_an_input_is_ordered_or_refused) {
  RIGHT(WALKING("0=0 1=384"), NULL, ""); /* behind it */
  RIGHT(WALKING("0=0 1=0"), NULL, "");   /* in place: block by block */
  WRONG(WALKING("0=0 1=64"), NULL, "",   /* over the block that is loaded next */
        "section 0 \"s\": device memory from byte 64 on (\"x\"): agcu 0 context 2 pc 0 [0 0 0] does not wait "
        "for "
        "the end of agcu 0 context 0 pc 0 [1 0 0]");
  RIGHT(WALKING("0=64 1=0"), NULL, ""); /* over the block that was loaded before */
}

/* Rows of 16 bytes, 32 apart: of the LOAD from byte 0 on, of the STORE from `offset` on. */
#define INTERLEAVED(offset)                                                                                  \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"                                          \
  "ctx 0 load rows=4 take=8 m_radix=1,1,4 k_radix=1,1,8 stride=0,0,32,0,0,2 y_size=1 x_size=1 convert=1 "    \
  "dst_inner=4 dst_mask=2 dst_post=1 dst_sem=0\n"                                                            \
  "ctx 1 store offset=" offset " rows=4 take=8 m_radix=1,1,4 k_radix=1,1,8 stride=0,0,32,0,0,2 y_size=1 "    \
  "x_size=1 convert=1\ntile 0\nvx sync wait_on=1 wait_sem=0\n"

TG_TEST(ordering, strided_accesses_conflict_in_bytes_not_in_reach) {
  RIGHT(INTERLEAVED("16"), NULL, "");
  RIGHT(INTERLEAVED("48"), NULL, "");
  WRONG(INTERLEAVED("14"), NULL, "", "device memory from byte 14 on");
  WRONG(INTERLEAVED("18"), NULL, "", "device memory from byte 32 on");
  WRONG(INTERLEAVED("96"), NULL, "", "device memory from byte 96 on");
  RIGHT(INTERLEAVED("96"), "x_size=1 convert=1\ntile",
        "x_size=0 convert=1\ntile");                      /* out of bounds: not stored */
  RIGHT(INTERLEAVED("96"), "ctx 1 store", "ctx 0 store"); /* one context asks the port in its order */
  RIGHT(INTERLEAVED("0"), "invoke 0 \"run\"\n", "");      /* never run */
}

TG_TEST(ordering, two_stores_to_one_place_are_ordered) {
  const char *both =
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 store rows=1 take=8 m_radix=1,1,1 k_radix=1,1,8 stride=0,0,0,0,0,2 y_size=1 x_size=1 "
      "convert=1 post_kind=1 post_sem=0\n"
      "ctx 1 store src_base=2 rows=1 take=8 m_radix=1,1,1 k_radix=1,1,8 stride=0,0,0,0,0,2 "
      "y_size=1 x_size=1 convert=1 wait_on=1 wait_sem=0\n";
  RIGHT(both, NULL, "");
  WRONG(both, "wait_on=1", "wait_on=0", "device memory from byte 0 on");
  RIGHT(both, "x_size=1 convert=1 wait_on=1", "x_size=1 offset=16 convert=1 wait_on=0");
}

/* FP32 elements of one context 6 bytes apart, of the other 32. */
TG_TEST(ordering, elements_conflict_in_any_of_their_bytes) {
  const char *both =
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 store rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,6 y_size=1 x_size=1\n"
      "ctx 1 store src_base=2 rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,32 "
      "y_size=1 x_size=1 offset=8\n";
  WRONG(both, NULL, "", "device memory from byte 8 on");
  WRONG(both, "offset=8", "offset=16", "device memory from byte 18 on");
  RIGHT(both, "offset=8", "offset=22");
}

/* The end of a LOAD, the arrival of its flits and the end of a STORE behind it tell that memory was read; a SYNC
 * behind it, which issues while its last burst is served, does not. */
TG_TEST(ordering, a_sync_behind_a_load_does_not_order_what_it_reads) {
  const char *text = INTERLEAVED("0");
  const char *waits = "x_size=1 convert=1 wait_on=1 wait_sem=1\ntile";
  char by_load[4096], by_sync[4096], by_tile[4096];
  const char *at = strstr(text, "x_size=1 convert=1\ntile");
  snprintf(by_load, sizeof by_load, "%.*s%s%s", (int)(at - text), text, waits,
           at + strlen("x_size=1 convert=1\ntile"));
  snprintf(by_sync, sizeof by_sync, "%s", by_load);
  snprintf(by_tile, sizeof by_tile, "%s", by_load);
  RIGHT(by_load, "dst_sem=0\n", "dst_sem=0 post_kind=1 post_sem=1\n");
  WRONG(by_sync, "dst_sem=0\n", "dst_sem=0\nctx 0 sync post_kind=1 post_sem=1\n",
        "device memory from byte 0 on");
  RIGHT(by_sync, "dst_sem=0\n",
        "dst_sem=0\nctx 0 store offset=1024 src_base=64 rows=1 take=8 m_radix=1,1,1 k_radix=1,1,8 "
        "stride=0,0,0,0,0,2 y_size=1 x_size=1 convert=1 post_kind=1 post_sem=1\n");
  RIGHT(by_tile, "vx sync wait_on=1 wait_sem=0",
        "vx sync wait_on=1 wait_sem=0 post_kind=2 post_pos=0 post_sem=1");
}

/* Rows 0 to 7 of 64 bytes by index, of which 16 bytes are stored, and a STORE of 16 bytes by another context. */
#define STORE_BY_INDEX(other)                                                                                \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"                                          \
  "ctx 0 store rows=2 take=4 m_radix=2,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 src_base=4 "   \
  "index_size=8 index_stride=64 post_kind=1 post_sem=0\n"                                                    \
  "ctx 1 store rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 "              \
  "src_base=20 " other "\n"

TG_TEST(ordering, a_store_by_index_may_be_of_any_row) {
  WRONG(STORE_BY_INDEX("offset=0"), NULL, "", "device memory from byte 0 on");
  WRONG(STORE_BY_INDEX("offset=448"), NULL, "", "does not wait for the end of agcu 0 context 0 pc 0");
  WRONG(STORE_BY_INDEX("offset=204"), NULL, "", "does not wait for the end of agcu 0 context 0 pc 0");
  WRONG(STORE_BY_INDEX("offset=180"), NULL, "", "does not wait for the end of agcu 0 context 0 pc 0");
  RIGHT(STORE_BY_INDEX("offset=448 wait_on=1 wait_sem=0"), NULL, "");
  RIGHT(STORE_BY_INDEX("offset=464"), NULL, ""); /* other columns */
  RIGHT(STORE_BY_INDEX("offset=512"), NULL, ""); /* behind the last row */
  RIGHT(STORE_BY_INDEX("offset=16 index_size=8 index_stride=64 index_base=84"), NULL, "");
  WRONG(STORE_BY_INDEX("offset=64 index_size=7 index_stride=64 index_base=84"), NULL, "",
        "device memory from byte");
  /* Rows that are nearer to each other: only what both distances leave apart is apart. */
  RIGHT(STORE_BY_INDEX("offset=16 index_size=8 index_stride=32 index_base=84"), NULL, "");
  WRONG(STORE_BY_INDEX("offset=16 index_size=8 index_stride=48 index_base=84"), NULL, "",
        "device memory from byte");
}

/* Rows by index, of which the first 64 bytes are loaded, that are farther apart than what STOREs reach is long: 64 KiB
 * and 16 bytes. Nobody takes what is loaded, which is found when no order of memory is left to prove. */
#define DISTANT_ROWS(offset)                                                                                 \
  "arch tiny\ndram 1048576\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"                                       \
  "ctx 0 store rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 src_base=4 "   \
  "offset=" offset "\n"                                                                                      \
  "ctx 1 load rows=4 take=4 m_radix=1,1,4 k_radix=1,1,4 stride=0,0,16,0,0,4 y_size=1 x_size=1 "              \
  "index_base=84 dst_mask=2 dst_inner=4 index_size=8 index_stride=65536\n"

TG_TEST(ordering, rows_by_index_may_be_far_apart) {
  WRONG(DISTANT_ROWS("64"), NULL, "", "nobody waits for what agcu 0 context 1");
  WRONG(DISTANT_ROWS("48"), NULL, "", "device memory from byte 48 on");
  WRONG(DISTANT_ROWS("65584"), NULL, "", "device memory from byte 65584 on");
}

/* `first` is executed by context 0 of AGCU 0, `then` by context 1 behind it, as a semaphore tells; a STORE of 16 or of 32 bytes,
 * or a LOAD. */
#define PIECE(kind, columns, more)                                                                           \
  kind " rows=1 take=" columns " m_radix=1,1,1 k_radix=1,1," columns                                         \
       " stride=0,0,0,0,0,4 y_size=1 x_size=1 " more "\n"
#define ONE_BEHIND_THE_OTHER(first, then)                                                                    \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\nctx 0 " first "ctx 1 " then                \
  "tile 0\nvx sync wait_on=1 wait_sem=0\n"
#define LOADED "dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0 post_kind=local post_sem=1"

TG_TEST(ordering, what_was_accessed_before_may_be_a_part) {
  const char *load =
      ONE_BEHIND_THE_OTHER(PIECE("load", "4", LOADED), PIECE("store", "8", "wait_on=1 wait_sem=1"));
  RIGHT(load, NULL, "");
  WRONG(load, "wait_on=1 wait_sem=1", "", "device memory from byte 0 on");
  const char *store = "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
                      "ctx 0 " PIECE("store", "4", "post_kind=local post_sem=1") "ctx 1 " PIECE(
                          "store", "8", "src_base=8 wait_on=1 wait_sem=1");
  RIGHT(store, NULL, "");
  WRONG(store, "wait_on=1 wait_sem=1", "", "device memory from byte 0 on");
}

/* Contexts 0 and 1 load what context 2 then stores over: 16 and 32 bytes, neither of them before the other. */
#define TWO_LOADS(offset, columns, store)                                                                    \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\nctx 0 " PIECE(                             \
      "load", "4",                                                                                           \
      LOADED                                                                                                 \
          offset) "ctx 1 " PIECE("load", "8",                                                                \
                                 "dst_inner=2 dst_mask=2 dst_base=128 dst_post=1 dst_sem=1 post_kind=local " \
                                 "post_sem=2") "ctx 2 " PIECE("store", "8",                                  \
                                                              store) "tile 0\nvx sync wait_on=1,1 "          \
                                                                     "wait_sem=0,1\n"

TG_TEST(ordering, a_store_waits_for_all_that_load) {
  static const char *const offsets[] = {"", " offset=16", " offset=4"};
  RIGHT(TWO_LOADS("", "8", "wait_on=1,1 wait_sem=1,2"), NULL, "");
  RIGHT(TWO_LOADS(" offset=16", "8", "wait_on=1,1 wait_sem=1,2"), NULL, "");
  for (int i = 0; i < 3; i++) {
    char text[4096];
    const char *whole = TWO_LOADS(" offset=0", "8", "wait_on=1 wait_sem=1"), *at = strstr(whole, " offset=0");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, offsets[i], at + strlen(" offset=0"));
    WRONG(text, NULL, "", "does not wait for the end of agcu 0 context 1 pc 0");
    WRONG(text, "wait_on=1 wait_sem=1\ntile", "wait_on=1 wait_sem=2\ntile",
          "does not wait for the end of agcu 0 context 0 pc 0");
  }
  /* Over what both have loaded, or the second alone. */
  WRONG(TWO_LOADS("", "4", "wait_on=1 wait_sem=1"), NULL, "",
        "does not wait for the end of agcu 0 context 1 pc 0");
  WRONG(TWO_LOADS("", "4", "wait_on=1 wait_sem=2"), NULL, "",
        "does not wait for the end of agcu 0 context 0 pc 0");
  RIGHT(TWO_LOADS("", "4", "offset=16 wait_on=1 wait_sem=2"), NULL, "");
  WRONG(TWO_LOADS(" offset=16", "4", "offset=16 wait_on=1 wait_sem=2"), NULL, "",
        "does not wait for the end of agcu 0 context 0 pc 0");
  WRONG(TWO_LOADS(" offset=16", "4", "offset=16 wait_on=1 wait_sem=1"), NULL, "",
        "does not wait for the end of agcu 0 context 1 pc 0");
  /* The second, and with it the STORE, waits for the first. */
  RIGHT(TWO_LOADS("", "8", "wait_on=1 wait_sem=2"), "post_kind=local post_sem=2",
        "post_kind=local post_sem=2 wait_on=1 wait_sem=1");
}

/* Two bursts, of which the first meets what was stored. */
TG_TEST(ordering, every_burst_is_looked_at) {
  const char *text =
      "arch tiny\nset burst_flits=4\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 " PIECE(
          "store", "4",
          "") "ctx 1 store rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 stride=0,0,16,0,0,4 y_size=1 x_size=1 "
              "src_base=8\n";
  WRONG(text, NULL, "", "device memory from byte 0 on");
  WRONG(text, "ctx 0 store", "ctx 0 store offset=112", "device memory from byte 112 on");
  RIGHT(text, "ctx 0 store", "ctx 0 store offset=128");
}

/* What is read at once in two places that are stored apart, the second of them without telling. */
TG_TEST(ordering, every_place_is_looked_at) {
  const char *text =
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 " PIECE("store", "4", "post_kind=local post_sem=1") "ctx 0 " PIECE(
          "store", "4", "offset=32") "ctx 1 " PIECE("load", "16",
                                                    "dst_inner=4 dst_mask=2 dst_post=1 dst_sem=0 wait_on=1 "
                                                    "wait_sem=1") "tile 0\nvx sync wait_on=1 wait_sem=0\n";
  WRONG(text, NULL, "", "device memory from byte 32 on");
  RIGHT(text, "offset=32", "offset=64");
  RIGHT(text, "offset=32", "offset=32 post_kind=local post_sem=2\nctx 1 sync wait_on=1 wait_sem=2");
}

/* Three pieces, upwards and downwards. */
TG_TEST(ordering, every_execution_counts) {
  const char *loops = "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
                      "ctx 0 " PIECE("store", "4", "offset=64 offset_delta=64 loop_count=3") "ctx 1 " PIECE(
                          "store", "4", "src_base=8 offset=0");
  static const char *const steps[] = {"offset=64 offset_delta=64", "offset=192 offset_delta=-64"};
  char text[4096];
  for (int i = 0; i < 2; i++) {
    const char *at = strstr(loops, steps[0]);
    ASSERT(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - loops), loops, steps[i], at + strlen(steps[0]));
    RIGHT(text, NULL, "");
    WRONG(text, "offset=0", "offset=64", "device memory from byte 64 on");
    WRONG(text, "offset=0", "offset=128", "device memory from byte 128 on");
    WRONG(text, "offset=0", "offset=192", "device memory from byte 192 on");
    RIGHT(text, "offset=0", "offset=256");
  }
}

TG_TEST(ordering, places_may_be_in_any_order) {
  const char *text =
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 " PIECE("store", "4", "offset=512") "ctx 0 " PIECE("store", "4", "offset=1024") "ctx 0 " PIECE(
          "store", "4", "offset=0") "ctx 1 " PIECE("store", "4", "src_base=8 offset=256");
  RIGHT(text, NULL, "");
  WRONG(text, "offset=256", "offset=0", "device memory from byte 0 on");
  WRONG(text, "offset=256", "offset=512", "device memory from byte 512 on");
  WRONG(text, "offset=256", "offset=1024", "device memory from byte 1024 on");
  /* Two of them are read at once; the one that was stored first is told of. */
  const char *both =
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 " PIECE("store", "4", "offset=512 post_kind=local post_sem=1") "ctx 0 " PIECE(
          "store", "4", "offset=0") "ctx 1 load rows=2 take=4 m_radix=1,1,2 k_radix=1,1,4 "
                                    "stride=0,0,512,0,0,4 y_size=1 x_size=1 "
                                    "dst_inner=2 dst_mask=2 dst_post=1 dst_sem=0 wait_on=1 wait_sem=1\n"
                                    "tile 0\nvx sync wait_on=1 wait_sem=0\n";
  WRONG(both, NULL, "", "device memory from byte 0 on");
  RIGHT(both, "offset=0", "offset=64");
  /* The last two that are there are of one context. */
  WRONG("arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
        "ctx 0 " PIECE("store", "4", "") "ctx 1 " PIECE("store", "4", "src_base=8") "ctx 1 " PIECE(
            "store", "4", "src_base=16"),
        NULL, "", "device memory from byte 0 on");
}

/* A reach beyond the memory is a fault of every engine, not of the order. */
TG_TEST(ordering, beyond_the_memory_nothing_is_ordered) {
  const char *text = "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
                     "ctx 0 " PIECE("store", "4", "offset=4096") "ctx 1 " PIECE(
                         "store", "4", "offset=4096 src_base=8") "ctx 2 " PIECE("store", "4", "src_base=16");
  RIGHT(text, NULL, "");
  WRONG(text, "offset=4096 src_base", "src_base", "device memory from byte 0 on");
}

/* Context 1 loads rows of 16 bytes by index; context 0 stores two pieces before it without telling. */
#define LOAD_BY_INDEX(stores, table)                                                                         \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n" stores "ctx 1 " PIECE(                   \
      "load", "4",                                                                                           \
      "index_base=84 dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0 " table) "tile 0\nvx sync wait_on=1 "       \
                                                                          "wait_sem=0\n"
#define TABLE "index_size=8 index_stride=64"

TG_TEST(ordering, rows_by_index_meet_what_lies_in_their_table) {
  const char *two = LOAD_BY_INDEX(
      "ctx 0 " PIECE("store", "4", "offset=16") "ctx 0 " PIECE("store", "4", "offset=288"), TABLE);
  RIGHT(two, NULL, "");
  WRONG(two, "offset=16", "offset=0", "device memory from byte 0 on"); /* the other piece meets nothing */
  WRONG(two, "offset=288", "offset=320", "device memory from byte 320 on");
  RIGHT(two, "offset=288", "offset=512"); /* a row of that distance, but behind the table */
  /* ... where another context stores as well, and knows of it. */
  RIGHT(LOAD_BY_INDEX(
            "ctx 0 " PIECE("store", "4", "offset=16") "ctx 0 " PIECE(
                "store", "4", "offset=512 post_kind=local post_sem=1") "ctx 2 " PIECE("store", "4",
                                                                                      "offset=512 src_base=8 "
                                                                                      "wait_on=1 wait_sem=1"),
            TABLE),
        NULL, "");
  /* All rows of the table are one. */
  RIGHT(LOAD_BY_INDEX("ctx 0 " PIECE("store", "4", "offset=16"), "index_size=8 index_stride=0"), NULL, "");
  WRONG(LOAD_BY_INDEX("ctx 0 " PIECE("store", "4", "offset=12"), "index_size=8 index_stride=0"), NULL, "",
        "device memory from byte 12 on");
}

/* Rows of the chip's memories: 2048 of a scratchpad, 512 of a store memory, whose words are indices. */
TG_TEST(ordering, loads_and_stores_have_their_range) {
  const char *load = LOAD_BY_INDEX("", TABLE);
  RIGHT(load, NULL, "");
  RIGHT(load, "index_base=84", "index_base=2047");
  WRONG(load, "index_base=84", "index_base=2048",
        "index of the words in the store memory reaches row 2048 of 2048");
  RIGHT(load, "index_base=84", "dst_base=2047");
  WRONG(load, "index_base=84", "dst_base=2048", "destination reaches row 2048 of 2048");
  WRONG(load, "index_base=84", "index_base=2046 rows=3 m_radix=1,1,3 dst_stride=1",
        "index of the words in the store memory reaches row 2048 of 2048");
  RIGHT(load, "index_base=84 dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0 index_size=8",
        "index_base=65535 dst_inner=1 dst_mask=2 dst_post=1 dst_sem=0 index_size=0");
  const char *store =
      "arch tiny\ndram 4096\nsection \"s\"\nagcu 0\nctx 1 " PIECE("store", "8", "src_base=510");
  RIGHT(store, NULL, "");
  WRONG(store, "src_base=510", "src_base=511", "source in the store memory reaches row 512 of 512");
}

/* Row numbers beyond 2^32 begin again at 0, which is inside. */
TG_TEST(ordering, row_numbers_wrap_around) {
  WRONG(
      "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\nagcu 0\n"
      "ctx 0 store rows=2 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 src_base=4 "
      "m_first=4294967295\n"
      "ctx 1 store rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
      "src_base=8\n",
      NULL, "", "device memory from byte 0 on");
}

/* Tile 0 sends indices, a LOAD takes them, then tile 0 sends others to the same place. */
#define INDICES(load_waits, load_posts, more)                                                                \
  "arch tiny\ndram 4096\ninvoke 0 \"run\"\nsection \"s\"\n"                                                  \
  "tile 0\ntx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=5\n"                  \
  "tx sync wait_on=1 wait_sem=0\n"                                                                           \
  "tx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=6\nagcu 0\n"                  \
  "ctx 0 load rows=4 take=4 m_radix=4,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 index_size=8 "  \
  "index_stride=64 dst_base=128 dst_inner=4 dst_mask=2 dst_post=1 dst_sem=1 " load_waits load_posts          \
  "\n" more "ctx 1 sync wait_on=1 wait_sem=6\ntile 0\nvx sync wait_on=1 wait_sem=1\n"

TG_TEST(ordering, indices_stay_until_they_are_read) {
  RIGHT(INDICES("wait_on=1 wait_sem=5 ", "post_kind=2 post_pos=1 post_sem=0", ""), NULL, "");
  WRONG(INDICES("", "post_kind=2 post_pos=1 post_sem=0", "ctx 2 sync wait_on=1 wait_sem=5\n"), NULL, "",
        "agcu 0, store row 0");
  /* A SYNC behind the LOAD issues while the indices of its last burst are read. */
  WRONG(INDICES("wait_on=1 wait_sem=5 ", "", "ctx 0 sync post_kind=2 post_pos=1 post_sem=0\n"), NULL, "",
        "agcu 0, store row 0: tile 0 tx pc 2 [0 0 0] does not wait for the end of agcu 0 context 0 pc 0");
}

/* A STORE has read its indices where it has ended. */
TG_TEST(ordering, indices_of_a_store_stay_until_its_end) {
  const char *text =
      "arch tiny\ndram 4096\nsection \"s\"\ntile 0\n"
      "tx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=5\n"
      "tx sync wait_on=1 wait_sem=0\n"
      "tx send dir=1 flits=1 src_inner=1 dst_inner=1 dst_mask=1 dst_post=1 dst_sem=6\nagcu 0\n"
      "ctx 1 store rows=4 take=4 m_radix=4,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
      "index_size=8 index_stride=64 src_base=64 wait_on=1 wait_sem=5 post_kind=2 post_pos=1 post_sem=0\n"
      "ctx 0 sync wait_on=1 wait_sem=6\n";
  RIGHT(text, NULL, "");
  WRONG(text, "tx sync wait_on=1 wait_sem=0", "tx sync", "agcu 0, store row 0");
}

/* One section, three invocations: the third lays what it stores over what it loads. */
TG_TEST(ordering, every_base_table_is_looked_at) {
  const char *once = WALKING("0=0 1=384");
  RIGHT(once, "section \"s\"", "invoke 0 \"again\"\nbase 0=384 1=1024\nsection \"s\"");
  WRONG(once, "section \"s\"",
        "invoke 0 \"again\"\nbase 0=384 1=1024\ninvoke 0 \"over\"\nbase 0=384 1=448\nsection \"s\"",
        "section 0 \"s\": invocation 2 \"over\": device memory");
}

/* Two LOADs from one base, at two offsets, and a STORE that no one is told of. */
#define READ(offset)                                                                                         \
  "load offset=" offset                                                                                      \
  " rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 dst_inner=1 dst_mask=2 "
#define TWO_READ_ONE_STORED                                                                                  \
  "arch tiny\ndram 4096\ninvoke 0 \"apart\"\nbase 0=0 1=1024\ninvoke 0 \"over\"\nbase 0=0 1=0\n"             \
  "section \"s\"\nagcu 0\nctx 0 " READ(                                                                      \
      "%s") "dst_post=1 dst_sem=0\n"                                                                         \
            "ctx 1 " READ("%s") "dst_base=128 dst_post=1 dst_sem=1\n"                                        \
                                "ctx 2 store base=1 rows=1 take=4 m_radix=1,1,1 k_radix=1,1,4 "              \
                                "stride=0,0,0,0,0,4 y_size=1 x_size=1\n"                                     \
                                "tile 0\nvx sync wait_on=1,1 wait_sem=0,1\n"

/* Bases that differ from those of an invocation that was looked at: it is looked at, too, where stores meet what is read, and need
 * not be where it is as an earlier one. */
TG_TEST(ordering, invocations_are_compared_by_what_they_reach) {
  const char *in_place = WALKING("0=0 1=0");
  RIGHT(in_place, "section \"s\"", "invoke 0 \"apart\"\nbase 0=0 1=384\nsection \"s\"");
  RIGHT(in_place, "section \"s\"",
        "invoke 0 \"behind\"\nbase 0=64 1=0\ninvoke 0 \"again\"\nbase 0=64 1=64\nsection \"s\"");
  static const char *const offsets[][2] = {{"64", "0"}, {"0", "64"}};
  for (int i = 0; i < 2; i++) {
    char text[4096];
    snprintf(text, sizeof text, TWO_READ_ONE_STORED, offsets[i][0], offsets[i][1]);
    WRONG(text, NULL, "", "invocation 1 \"over\": device memory from byte 0 on");
    WRONG(text, "base 0=0 1=0", "base 0=0 1=64", "invocation 1 \"over\": device memory from byte 64 on");
    RIGHT(text, "base 0=0 1=0", "base 0=0 1=128");
  }
}

/* The first of two invocations is wrong. */
TG_TEST(ordering, every_invocation_is_right) {
  WRONG(WALKING("0=0 1=64"), "section \"s\"", "invoke 0 \"apart\"\nbase 0=0 1=1024\nsection \"s\"",
        "device memory from byte 64 on");
}

TG_TEST(ordering, only_programs_that_the_loader_takes_are_proved) {
  tg_diag diag = {""};
  tg_program *program;
  ASSERT(!tg_program_parse(PIPELINE, &program, &diag));
  EXPECT_EQ(tg_check_ordering(program, &diag), TG_OK);
  program->sections[0].kept = 1 << 16;
  EXPECT_EQ(tg_check_ordering(program, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "kept: there are 16 banks");
  tg_program_destroy(program);
}

TG_TEST(ordering, a_conflict_names_the_tensor) {
  WRONG(WALKING("0=0 1=64"), "tensor input fp32 0 96 \"x\"",
        "tensor input fp32 1024 4 \"y\"\ntensor input fp32 0 96 \"x\"", "from byte 64 on (\"x\")");
  WRONG(WALKING("0=0 1=64"), "tensor input fp32 0 96 \"x\"",
        "tensor input fp32 1024 4 \"y\"\ntensor input fp32 0 16 \"x\"", "from byte 64 on (\"no tensor\")");
  WRONG(WALKING("0=0 1=64"), "tensor input fp32 0 96 \"x\"", "tensor input fp32 64 4 \"x\"",
        "from byte 64 on (\"x\")");
}

/* ---- accumulators ---- */

#define TWO_GEMMS(second, wait)                                                                              \
  "arch tiny\nsection \"s\"\ntile 0\n"                                                                       \
  "mx gemm m_count=1,24 blk_count=1,1,1,1 a_m=0,1 a_banks=1 b_base=128 b_row=1 b_banks=1 k_chunk=4 "         \
  "k_total=4 "                                                                                               \
  "init=1 post_kind=1 post_sem=0\n" wait                                                                     \
  "mx gemm m_count=1,24 blk_count=1,1,1,1 a_base=256 a_m=0,1 a_banks=1 b_base=384 b_row=1 b_banks=1 "        \
  "k_chunk=4 k_total=4 " second "\n"

TG_TEST(ordering, blocks_meet_at_the_same_accumulator_rows_or_at_none) {
  RIGHT(TWO_GEMMS("c_base=0", ""), NULL, "");
  RIGHT(TWO_GEMMS("c_base=24", ""), NULL, "");
  RIGHT(TWO_GEMMS("c_base=8 col_half=1", ""), NULL, ""); /* the other lanes of the rows */
  WRONG(TWO_GEMMS("c_base=8", ""), NULL, "",
        "tile 0 mx pc 1 [0 0 0]: accumulator rows 8 to 31 of the first block overlap in part");
  RIGHT(TWO_GEMMS("c_base=8", "mx sync wait_on=1 wait_sem=0\n"), NULL, "");
  /* One of another format, or of A stored otherwise, waits for the end; halves of the lanes are FP32's. */
  RIGHT(TWO_GEMMS("c_base=8 format=bf16", ""), NULL, "");
  RIGHT(TWO_GEMMS("c_base=8 a_transposed=1", ""), NULL, "");
  WRONG(TWO_GEMMS("c_base=8 format=bf16", ""), "init=1", "init=1 format=bf16", "overlap in part");
  WRONG(TWO_GEMMS("c_base=8 a_transposed=1", ""), "init=1", "init=1 a_transposed=1", "overlap in part");
  WRONG(TWO_GEMMS("c_base=8 col_half=1 format=bf16", ""), "init=1", "init=1 format=bf16", "overlap in part");
  tg_diag diag = {""};
  const char *blocks = TWO_GEMMS("c_base=0", "");
  EXPECT_EQ(check_text(blocks, "blk_count=1,1,1,1", "blk_count=1,2,1,1 c_blk=0,8,0,0", &diag), TG_INVALID);
  EXPECT_HAS(diag.message,
             "c_blk[1]: accumulator rows of two blocks that follow each other overlap in part: 24 rows, "
             "8 apart");
  const char *good[] = {"blk_count=1,2,1,1 c_blk=0,24,0,0", "blk_count=1,2,1,1 c_blk=0,8,0,0 h_blk=0,1,0,0",
                        "blk_count=2,3,1,1 c_blk=0,24,0,0", "blk_count=2,3,1,1 c_blk=72,24,0,0"};
  for (int i = 0; i < 4; i++) {
    tg_diag why = {""};
    tg_status status = check_text(blocks, "blk_count=1,1,1,1", good[i], &why);
    if (strstr(why.message, "overlap in part"))
      tg_test_fail(__FILE__, __LINE__, "%s: %d %s", good[i], status, why.message);
  }
  /* Of two loops the outer one's step counts from the last block of the inner one. */
  diag.message[0] = 0;
  EXPECT_EQ(check_text(blocks, "blk_count=1,1,1,1", "blk_count=2,3,1,1 c_blk=64,24,0,0", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "c_blk[0]: ");
}

/* The rows of A stream while the next GEMM's B is read, unless the first has ended, or has few of them. */
TG_TEST(ordering, b_is_not_read_where_a_still_streams) {
  const char *apart = TWO_GEMMS("c_base=24", ""),
             *ended = TWO_GEMMS("c_base=24", "mx sync wait_on=1 wait_sem=0\n");
  WRONG(apart, "b_base=384", "b_base=32",
        "tile 0 mx pc 1 [0 0 0]: bank 0 serves operand a of the GEMM before and operand b at once");
  RIGHT(ended, "b_base=384", "b_base=32");
  RIGHT(apart, "b_base=384", "b_base=160"); /* the bank of the other B */
  RIGHT(apart, "a_base=256", "a_base=0");
  char few[2048];
  const char *at = strstr(apart, "m_count=1,24");
  snprintf(few, sizeof few, "%.*sm_count=1,4%s", (int)(at - apart), apart, at + strlen("m_count=1,24"));
  RIGHT(few, "b_base=384", "b_base=32");
}

/* West AGCU 0 puts four rows into bank 4 of tile 0; a later section keeps them, and sends them to memory. */
#define PUT                                                                                                  \
  "arch tiny\ndram 4096\nsection \"put\"\n"                                                                  \
  "tile 0\ntx sync wait_on=1 wait_sem=0\n"                                                                   \
  "agcu 0\nctx 0 load rows=4 take=8 m_radix=1,1,24 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 x_size=1 "     \
  "convert=1 dst_base=512 dst_inner=4 dst_mask=2 dst_post=1 dst_sem=0\n"
#define FIND                                                                                                 \
  "section \"find\"\nkept 0x10\n"                                                                            \
  "tile 0\ntx send dir=1 flits=4 src_base=512 src_inner=4 dst_inner=4 dst_mask=1 dst_post=1 dst_sem=5\n"     \
  "agcu 0\nctx 2 store rows=4 take=8 m_radix=1,1,24 k_radix=1,1,8 stride=0,0,16,0,0,2 y_size=1 x_size=1 "    \
  "convert=1 wait_on=1 wait_sem=5\n"
#define BETWEEN                                                                                              \
  "section \"between\"\nkept 0x30\n"                                                                         \
  "tile 0\nword | nop | st s0.lo = r0\n"                                                                     \
  "vx vop rows=1 row_count=1,1,1 j_count=1,1 seg_len=1 s0_kind=2 s0_base=128 s0_row=0,0,1 s0_banks=1 "       \
  "s0_store=1\n"
#define KEPT                                                                                                 \
  PUT FIND BETWEEN                                                                                           \
      "invoke 0 \"put\"\nbase 0=0x400\ninvoke 2 \"between\"\ninvoke 1 \"find\"\ninvoke 1 \"again\"\n"

TG_TEST(ordering, what_a_section_keeps_was_written_and_stays) {
  RIGHT(KEPT, NULL, "");
  RIGHT(KEPT, "invoke 2 \"between\"\n", "");
  WRONG(KEPT, "invoke 0 \"put\"\nbase 0=0x400\n", "",
        "invocation 1 \"find\": tile 0, bank 4: the section reads what it keeps, but no section before it "
        "has left");
  WRONG(PUT FIND "invoke 1 \"find\"\ninvoke 0 \"put\"\nbase 0=0x400\n", NULL, "", /* too late */
        "invocation 0 \"find\": tile 0, bank 4");
  WRONG(KEPT, "dst_base=512", "dst_base=640", "tile 0, bank 4: the section reads what it keeps");
  WRONG(KEPT, "kept 0x30", "kept 0x20",
        "invocation 2 \"find\": tile 0, bank 4"); /* it may lie anywhere there */
  WRONG(KEPT, "s0_base=128", "s0_base=513", "tile 0, bank 4: the section keeps what it writes over");
  WRONG(KEPT, "section \"put\"\n", "section \"put\"\nkept 0x10\n",
        "tile 0, bank 4: the section keeps what it writes over");
}

/* Operands of a GEMM are read, its accumulator is none of the banks. */
#define FIND_BY_GEMM(a)                                                                                      \
  "section \"find\"\nkept 0x10\ntile 0\nmx gemm m_count=1,4 blk_count=1,1,1,1 a_base=" a                     \
  " a_m=0,1 a_banks=1 b_row=1 b_banks=1 k_chunk=4 k_total=4 init=1\n"

TG_TEST(ordering, operands_of_a_gemm_were_written) {
  RIGHT(PUT FIND_BY_GEMM("512") "invoke 0 \"put\"\nbase 0=0x400\ninvoke 1 \"find\"\n", NULL, "");
  WRONG(PUT FIND_BY_GEMM("512") "invoke 1 \"find\"\n", NULL, "",
        "tile 0, bank 4: the section reads what it keeps");
  RIGHT(PUT FIND_BY_GEMM("640") "invoke 1 \"find\"\n", NULL, ""); /* what it does not keep may be anything */
}

TG_TEST(ordering, banks_that_are_kept_are_in_the_scratchpad) {
  tg_diag diag = {""};
  EXPECT_EQ(check_text(KEPT, "kept 0x30", "kept 0x10010", &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "there are 16 banks");
}

TG_TEST(ordering, endless_loops_are_not_proved) {
  tg_diag diag = {""};
  EXPECT_EQ(check_text("arch tiny\nsection \"s\"\ntile 0\nvx sync loop_count=1000000,1000000,1000000\n", NULL,
                       "", &diag),
            TG_INVALID);
  EXPECT_HAS(diag.message, "too long to prove");
}

/* ---- mapped programs ---- */

static tg_program *map_text(const char *text, const char *arch, const char *const settings[3],
                            tg_precision_preset preset, tg_diag *diag) {
  tg_arena arena = {0};
  tg_graph *graph;
  tg_params params;
  tg_program *program = NULL;
  tg_status status = tg_params_load(arch, &params, diag);
  for (int i = 0; i < 3 && settings[i] && !status; i++) status = tg_params_set(&params, settings[i], diag);
  if (!status) status = tg_graph_parse(&arena, text, &graph, diag);
  tg_frontend_options options;
  tg_frontend_defaults(&options);
  options.precision.preset = preset;
  if (!status) status = tg_frontend_lower(graph, &options, diag);
  tg_map_options map = {.seed = 1};
  if (!status) status = tg_map(graph, &params, &map, &program, diag);
  tg_arena_release(&arena);
  return status ? NULL : program;
}

static const struct shape {
  const char *arch, *settings[3];
} shapes[] = {{"tiny", {NULL}},
              {"tiny", {"rows=1", "cols=3", "p=2"}},
              {"tiny", {"rows=1", "agcu_contexts=3"}},
              {"edge", {NULL}}};

static void check_graph(const char *name, const char *text) {
  for (size_t v = 0; v < sizeof shapes / sizeof *shapes; v++)
    for (int preset = 0; preset < 2; preset++) {
      if (!tg_test_takes(2 * v + (size_t)preset + strlen(text), 2)) continue;
      tg_diag diag = {""};
      tg_program *program =
          map_text(text, shapes[v].arch, shapes[v].settings, preset ? TG_PRESET_MP1 : TG_PRESET_MP0, &diag);
      if (!program)
        tg_test_fail(name, 1, "variant %zu is not mapped: %s", v, diag.message);
      else if (tg_check_ordering(program, &diag))
        tg_test_fail(name, 1, "variant %zu preset %d: %s", v, preset, diag.message);
      tg_program_destroy(program);
    }
}

TG_TEST(ordering, programs_of_the_mapper_are_ordered) {
  const char *folder = "tests/mapper/graphs";
  DIR *dir = opendir(folder);
  ASSERT(dir != NULL);
  int graphs = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char path[512], text[16384];
    if (!strstr(entry->d_name, ".txt")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = fopen(path, "rb");
    if (!file) continue;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    check_graph(path, text);
    graphs++;
  }
  closedir(dir);
  EXPECT(graphs >= 16);
}

/* Deletes each wait and credit of the program in turn. In loops so short that no buffer is used twice, those
 * for free buffers can go; the graphs below are large enough to need them all. */
typedef struct deletions {
  tg_program *program;
  const char *name;
  int made, missed;
} deletions;

static void try_deletion(deletions *d, int64_t *field, int64_t without, const char *unit, uint32_t pc,
                         int wait) {
  int64_t was = *field;
  tg_diag diag = {""};
  *field = without;
  d->made++;
  if (!tg_check_ordering(d->program, &diag)) {
    d->missed++;
    if (getenv("TEGULA_VERBOSE"))
      fprintf(stderr, "%s: %s pc %u %s %d can go\n", d->name, unit, pc, wait < 4 ? "wait" : "credit",
              wait < 4 ? wait : wait - 4);
  }
  *field = was;
}

static void delete_from(deletions *d, const char *unit, tg_queue *queue) {
  for (uint32_t pc = 0; pc < queue->count; pc++) {
    tg_common_instr *in = &queue->instrs[pc].common;
    for (int i = 0; i < 4; i++)
      if (in->wait_on[i]) try_deletion(d, &in->wait_on[i], 0, unit, pc, i);
    for (int pos = 0; pos < 17; pos++)
      if (in->credit_mask >> pos & 1)
        try_deletion(d, &in->credit_mask, in->credit_mask & ~(1ll << pos), unit, pc, 4 + pos);
  }
}

static void delete_all(deletions *d) {
  const tg_params *m = &d->program->params;
  for (uint32_t s = 0; s < d->program->section_count; s++) {
    tg_section *section = &d->program->sections[s];
    for (uint32_t t = 0; t < tg_tiles(m); t++) {
      delete_from(d, "mx", &section->tiles[t].mx);
      delete_from(d, "vx", &section->tiles[t].vx);
      delete_from(d, "tx", &section->tiles[t].tx);
    }
    for (uint32_t a = 0; a < tg_agcus(m); a++)
      for (uint32_t c = 0; c < m->agcu_contexts; c++)
        delete_from(d, c == 0 ? "load" : c == 1 ? "aux" : "store", &section->agcus[a].contexts[c]);
  }
}

static void expect_deletions(const char *name, const char *text, const char *const settings[3],
                             int redundant) {
  tg_diag diag = {""};
  deletions d = {.program = map_text(text, "tiny", settings, TG_PRESET_MP0, &diag), .name = name};
  if (!d.program) {
    tg_test_fail(__FILE__, __LINE__, "%s: %s", name, diag.message);
    return;
  }
  delete_all(&d);
  if (d.missed != redundant || !d.made)
    tg_test_fail(__FILE__, __LINE__, "%s: %d of %d deletions are not noticed", name, d.missed, d.made);
  tg_program_destroy(d.program);
}

TG_TEST(ordering, every_wait_of_a_mapped_program_is_needed) {
  static const struct {
    const char *name, *text;
    int redundant[2]; /* waits that others imply, on the square and on the row */
  } graphs[] = {
      {"gemm",
       "graph \"g\"\ninput %a: f32[300,331]\nconst %b: f32[331,270] = seeded(7, 0.5)\n"
       "const %c: f32[270] = seeded(8, 1)\n%m = MatMul(%a, %b) @0\n%s = Add(%m, %c) @1\n"
       "output \"y\" %s: f32\n",
       {0, 0}},
      {"conv",
       "graph \"g\"\ninput %x: f32[2,3,59,57]\nconst %w: f32[25,3,3,3] = seeded(3, 0.5)\n"
       "const %b: f32[25] = seeded(4, 1)\n"
       "%c = Conv(%x, %w, %b) kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1] @0\n"
       "output \"y\" %c: f32\n",
       {0, 0}},
      {"softmax",
       "graph \"g\"\ninput %x: f32[700,45]\n%y = Softmax(%x) axis=-1 @0\noutput \"y\" %y: f32\n",
       {0, 0}},
      {"attention",
       "graph \"g\"\ninput %q: f32[13,90,6]\ninput %k: f32[13,6,33]\ninput %v: f32[13,33,5]\n"
       "input %m: f32[13,90,33]\n%s = MatMul(%q, %k) @0\n%a = Add(%s, %m) @1\n%p = Softmax(%a) axis=-1 @2\n"
       "%y = MatMul(%p, %v) @3\noutput \"y\" %y: f32\n",
       {0, 0}},
      {"nodes in front of a product",
       "graph \"g\"\ninput %x: f32[700,64]\ninput %s: f32[64]\ninput %w: f32[64,40]\n%a = Mul(%x, %s) @0\n"
       "%y = MatMul(%a, %w) @1\n%m = Transpose(%a) perm=[1,0] @2\noutput \"y\" %y: f32\noutput \"m\" %m: "
       "f32\n",
       /* The vector unit's order implies that the accumulator is free when a block of A is full; and what an
        * AGCU loads of A and B in one context shares credits: some rows of A come behind B in one context of a north
        * AGCU, and the GEMM that gives back B's credit gives back A's. */
       {10, 9}},
      {"pool",
       "graph \"g\"\ninput %x: f32[1,8,49,48]\n"
       "%m = MaxPool(%x) kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1] @0\noutput \"m\" %m: f32\n",
       {0, 0}},
      {"elementwise",
       "graph \"g\"\ninput %x: f32[300,50,7]\ninput %y: f32[50,1]\n%a = Add(%x, %y) @0\n"
       "output \"y\" %a: f32\n",
       {0, 0}},
  };
  static const char *const square[3] = {NULL}, *const row[3] = {"rows=1", "cols=3"};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
    expect_deletions(graphs[g].name, graphs[g].text, square, graphs[g].redundant[0]);
    expect_deletions(graphs[g].name, graphs[g].text, row, graphs[g].redundant[1]);
  }
}
