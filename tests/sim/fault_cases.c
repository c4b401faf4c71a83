/* Programs that each break a rule of docs/machine.md, and what an engine says of it. */
#include "tests/sim/timing_cases.h"

#include <stddef.h>

/* Next to each of these lies a program of timing_cases.c that keeps one cycle off. */
const fault_case fault_cases[] = {
    {"streamed_bank",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx sync loop_count=0,0,3\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"section 0 \"s\" (invocation 0), cycle 70: tile 0,0: mx (a) and tx own bank 0 at once"},
     {"cycle 71", "tile 0 (0,0)", "mx A and tx own bank 0"}},
    {"streamed_bank_of_transposed_groups",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,9 blk_count=1,1,1,1 a_transposed=1 a_m=4,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx sync loop_count=0,0,8\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 75: tile 0,0: mx (a) and tx own bank 0 at once"},
     {"cycle 76", "tile 0 (0,0)", "mx A and tx own bank 0"}},
    {"streamed_bank_begins",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 52: tile 0,0: mx (a) and tx own bank 0 at once"},
     {"cycle 53", "tile 0 (0,0)", "mx A and tx own bank 0"}},
    {"stationary_bank",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx send src_inner=200 dst_inner=200 flits=5 src_base=128 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 51: tile 0,0: mx (b) and tx own bank 1 at once"},
     {"cycle 52", "tile 0 (0,0)", "mx B and tx own bank 1"}},
    {"lane_input",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx sync loop_count=0,0,3\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "tile 1\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 72: tile 0,1: vx (loads) and the east lane own bank 0 at once"},
     {"cycle 73", "tile 1 (0,1)", "vx load and lane east own bank 0"}},
    {"load_and_store_of_a_vop",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=3 s1_kind=2 s1_base=256 s1_banks=1 "
     "s1_store=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 48: tile 0,0: vx (loads) and vx (stores) own bank 2 at once"},
     {"cycle 49", "tile 0 (0,0)", "vx load and vx store own bank 2"}},
    {"accumulator_half",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1 c_base=130\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 s0_base=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 52: tile 0,0: mx and vx (loads) own accumulator half 1 at once"},
     {"cycle 53", "tile 0 (0,0)", "mx and vx own accumulator half 1"}},
    {"second_bank_of_a_burst",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=5 src_base=126 dst_mask=4\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_base=128 s0_banks=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 53: tile 0,0: vx (loads) and tx own bank 1 at once"},
     {"cycle 54", "tile 0 (0,0)", "vx load and tx own bank 1"}},
    /* bursts granted at 65 and 129, known a cycle later; the second reads bank 0, which vx owns from 124 on */
    {"second_burst",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "vx sync loop_count=0,0,60\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "tx send src_inner=64 src_base=128 src_stride=-128 dst_inner=200 flits=66 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 131: tile 0,0: vx (loads) and tx own bank 0 at once"},
     {"cycle 132", "tile 0 (0,0)", "vx load and tx own bank 0"}},
    {"overflow",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 1\n"
     "sem 1=255\n"
     "mx sync post_kind=1 post_sem=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 49: semaphore 1 of tile 0,1 is above 255"},
     {"cycle 49", "tile 1 (0,1)", "semaphore 1 is above 255"}},
    {"outside",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=5 src_base=2044 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 48: tile 0,0 tx pc 0: source reaches row 2048 of 2048"},
     {"cycle 56", "tile 0 (0,0)", "tx: a row outside the scratchpad"}},
    {"deadlock",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "sem 6=1\n"
     "mx sync\n"
     "mx sync wait_on=1,1,1 wait_sem=5,6,7 loop_count=0,2,0\n"
     "agcu 1\n"
     "ctx 3 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2 wait_on=1 wait_sem=9\n"
     "invoke 0 \"i\"\n",
     0,
     {"deadlock", "tile 0,0 mx pc 1 i 0,0,0 waits for semaphore 5,7",
      "agcu west 1 context 3 pc 0 i 0,0,0 waits for semaphore 9"},
     {"deadlock", "tile 0 (0,0) mx at 1", "agcu 1"}},
    {"cycle_limit",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync loop_count=1,100,100\n"
     "invoke 0 \"i\"\n",
     100,
     {"cycle limit of 100 reached", "tile 0,0 mx pc 0 i 0,0,53"},
     {"cycle limit", "tile 0 (0,0) mx at 0"}},
    /* a flit arrives from 49 + 2 + 1 on; vx owns its bank until 56 */
    {"west_lane",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "tile 1\n"
     "tx send dir=1 src_base=256 src_inner=200 dst_inner=200 flits=4 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 53: tile 0,0: vx (loads) and the west lane own bank 0 at once"},
     {"cycle 54", "tile 0 (0,0)", "vx load and lane west own bank 0"}},
    {"south_lane",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send dir=2 src_base=256 src_inner=200 dst_inner=200 flits=4 dst_mask=4\n"
     "tile 2\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 53: tile 1,0: vx (loads) and the south lane own bank 0 at once"},
     {"cycle 54", "tile 2 (1,0)", "vx load and lane south own bank 0"}},
    {"north_lane",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "tile 2\n"
     "tx send dir=3 src_base=256 src_inner=200 dst_inner=200 flits=4 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 53: tile 0,0: vx (loads) and the north lane own bank 0 at once"},
     {"cycle 54", "tile 0 (0,0)", "vx load and lane north own bank 0"}},
    /* visible at 49 + 2 + 1 + 4 */
    {"overflow_by_a_burst",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=4 dst_post=1 dst_sem=7\n"
     "tile 1\n"
     "sem 7=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 57: semaphore 7 of tile 0,1 is above 255"},
     {"cycle 57", "tile 1 (0,1)", "semaphore 7 is above 255"}},
    {"overflow_from_afar",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync post_kind=2 post_pos=2 post_sem=3\n"
     "tile 1\n"
     "sem 3=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 50: semaphore 3 of tile 0,1 is above 255"},
     {"cycle 50", "tile 1 (0,1)", "semaphore 3 is above 255"}},
    /* the same at an AGCU: its own post, visible at 49; a burst's, at 49 + 2 + 1 + 4; one from afar */
    {"overflow_of_an_agcu",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 3\n"
     "ctx 1 sync post_kind=1 post_sem=21\n"
     "sem 21=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 49: semaphore 21 of agcu north 1 is above 255"},
     {"cycle 49", "agcu 3", "semaphore 21 is above 255"}},
    {"overflow_of_an_agcu_by_a_burst",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send dir=1 src_inner=200 dst_inner=200 flits=4 dst_mask=1 dst_post=1 dst_sem=7\n"
     "agcu 0\n"
     "sem 7=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 57: semaphore 7 of agcu west 0 is above 255"},
     {"cycle 57", "agcu 0", "semaphore 7 is above 255"}},
    {"overflow_of_an_agcu_from_afar",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 2\n"
     "mx sync post_kind=3 post_sem=3\n"
     "agcu 2\n"
     "sem 3=255\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 51: semaphore 3 of agcu north 0 is above 255"},
     {"cycle 51", "agcu 2", "semaphore 3 is above 255"}},
    {"accumulator_half_0",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 3\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1 c_base=2\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 s0_base=127\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 52: tile 1,1: mx and vx (loads) own accumulator half 0 at once"},
     {"cycle 53", "tile 3 (1,1)", "mx and vx own accumulator half 0"}},
    /* row 256 modulo 256, which no word uses */
    {"accumulator_half_beyond",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 3\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1 c_base=2\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 s0_base=256\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 52: tile 1,1: mx and vx (loads) own accumulator half 0 at once"},
     {"cycle 53", "tile 3 (1,1)", "mx and vx own accumulator half 0"}},
    /* the last flit's row is the first that is not there */
    {"store_memory_ends",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send dir=1 flits=8 src_inner=8 dst_base=505 dst_inner=8 dst_mask=1\n"
     "invoke 0 \"i\"\n",
     0,
     {"cycle 48: tile 0,0 tx pc 0: ", "512 of 512"},
     {"agcu 0", "outside the store memory"}},
};

const size_t fault_case_count = sizeof fault_cases / sizeof *fault_cases;
