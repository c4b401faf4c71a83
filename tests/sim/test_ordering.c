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
  if (status) tg_test_fail(__FILE__, line, "status %d: %s", status, diag.message);
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

/* mx: the end of a SYNC is not the end of the GEMM before it. */
#define GEMM_AND_VOP(gemm_post, sync)                                                                        \
  "arch tiny\nsection \"s\"\ntile 0\nword ld r0 = s0.lo | nop |\n"                                           \
  "mx gemm m_count=1,4 blk_count=1,1,1,1 a_m=0,1 a_banks=1 b_base=128 b_row=1 b_banks=1 k_chunk=4 "          \
  "k_total=4 init=1 " gemm_post "\n" sync                                                                    \
  "vx vop rows=4 row_count=1,1,4 j_count=1,1 seg_len=1 s0_kind=4 s0_row=0,0,1 wait_on=1 wait_sem=0\n"

TG_TEST(ordering, a_sync_of_mx_overtakes_gemms) {
  RIGHT(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), NULL, "");
  WRONG(GEMM_AND_VOP("", "mx sync post_kind=1 post_sem=0\n"), NULL, "",
        "tile 0, accumulator half 0: tile 0 vx pc 0");
  WRONG(GEMM_AND_VOP("post_kind=1 post_sem=0", ""), "b_base=128", "b_base=8 blk_count=2,1,1,1",
        "both operands");
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

/* One section, three invocations: the third lays what it stores over what it loads. */
TG_TEST(ordering, every_base_table_is_looked_at) {
  const char *once = WALKING("0=0 1=384");
  RIGHT(once, "section \"s\"", "invoke 0 \"again\"\nbase 0=384 1=1024\nsection \"s\"");
  WRONG(once, "section \"s\"",
        "invoke 0 \"again\"\nbase 0=384 1=1024\ninvoke 0 \"over\"\nbase 0=384 1=448\nsection \"s\"",
        "section 0 \"s\": invocation 2 \"over\": device memory");
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
  WRONG(KEPT, "dst_base=512", "dst_base=640", "tile 0, bank 4: the section reads what it keeps");
  WRONG(KEPT, "kept 0x30", "kept 0x20",
        "invocation 2 \"find\": tile 0, bank 4"); /* it may lie anywhere there */
  WRONG(KEPT, "s0_base=128", "s0_base=513", "tile 0, bank 4: the section keeps what it writes over");
  WRONG(KEPT, "section \"put\"\n", "section \"put\"\nkept 0x10\n",
        "tile 0, bank 4: the section keeps what it writes over");
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
