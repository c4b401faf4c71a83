/* Rules of docs/machine.md, each with a program whose cycles are worked out by hand.
 *
 * Preset tiny: 2 x 2 tiles, P 4 (flits of 16 bytes), L 4, bursts of 64, CA 4, DL 60. The first section, whose longest
 * queue has n instructions, is configured in 32 + 16n cycles: T0 = 48, 64, 80, ...; that is what its words leave of it that
 * config_cycles is set to (tg_test_settle), but where a case sets that itself. The run is over H + 2 = 6 cycles after
 * the last end. */
#include "tests/sim/timing_cases.h"

#include <stddef.h>

const timing_case timing_cases[] = {
    /* S = 4: T_0 = 52, e = 52 + 3 - 1 + 16 + 4 + 1. */
    {"gemm",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\n"
     "cycles 81\n"},
    /* The last bank, of which two are owned: what is beyond it is none, and no accumulator half. */
    {"an_operand_owns_no_bank_beyond_the_last",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_base=1920 a_banks=2 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\n"
     "cycles 81\n"},
    /* pitch = M = 50: T_last = 52 + 2 * 50, e = 152 + 49 + 21. */
    {"gemm_of_long_blocks",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=5,10 blk_count=1,1,3,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-222\n"
     "cycles 228\n"},
    /* bf16: S = 8, pitch = max(30, 32 + 3, (30 + 32 + 8) / 2); T_0 = 88, T_last = 123, e = 123 + 29 + 32 + 4 + 1. The second
     * begins to stream at 123 + 35 and so issues 8 before. The third has another format: it issues after the second's
     * e = 193 + 66; T_0 = 264, e = 264 + 21. */
    {"gemms_follow_at_the_pitch_and_drain_for_a_format",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm format=1 m_count=1,30 blk_count=1,1,1,2 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx gemm format=1 m_count=1,30 blk_count=1,1,1,2 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx gemm m_count=1,1 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 80-189\n"
     "tile 0 mx 1: 150-259\n"
     "tile 0 mx 2: 260-285\n"
     "cycles 291\n"},
    /* pitch = (36 + 32 + 8) / 2: T_last = 72 + 2 * 38, e = 148 + 35 + 37. */
    {"gemm_of_blocks_that_wait_for_weights",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm format=1 m_count=1,36 blk_count=1,1,1,3 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx sync\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-220\n"
     "tile 0 mx 1: 65-65\n"
     "cycles 226\n"},
    /* pitch = M = 50; T_0 = 72, e = 72 + 49 + 37, the next one's T_0 = 122. Its pitch is 35, but the weights of the first are free
     * at 72 + 50 + 32 = 154, so T_1 = 154 + 8 and T_2 = 162 + 35; e = 197 + 37. */
    {"few_rows_behind_many_wait_for_weights",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm format=1 m_count=1,50 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx gemm format=1 m_count=1,1 blk_count=1,1,1,3 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-158\n"
     "tile 0 mx 1: 114-234\n"
     "cycles 240\n"},
    /* T_0 = 72; at the pitch of 35 the second could issue at 99, but the first's e = 72 + 3 + 32 + 4 + 1. */
    {"a_format_waits_for_the_end_that_comes_with_the_distance",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm format=1 m_count=1,4 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx gemm m_count=1,1 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-112\n"
     "tile 0 mx 1: 113-138\n"
     "cycles 144\n"},
    /* T_0 = 84, so the second streams from 84 + 19 on and issues 4 before. */
    {"sync_passes_gemms_in_flight_and_they_keep_their_distance",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "mx sync\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 80-107\n"
     "tile 0 mx 1: 81-81\n"
     "tile 0 mx 2: 99-126\n"
     "cycles 132\n"},
    /* 5 rows are 2 groups; W = 2 * 3 + 1; e = 64 + 1 + 4
     * + 2 * 7 * 4 - 1 + 4. The second has one group and issues at e + 1. */
    {"vop",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "word nop\n"
     "word nop\n"
     "word nop\n"
     "vx vop rows=5 row_count=1,1,5 j_count=1,3 seg_begin=0,2 seg_len=2,1 seg_repeat=1\n"
     "vx vop rows=4 row_count=1,1,5 j_count=3,1 seg_begin=0,2 seg_len=2,1 seg_repeat=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 vx 0: 64-128\n"
     "tile 0 vx 1: 129-165\n"
     "cycles 171\n"},
    /* visible in the cycle after the end */
    {"local_post",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1 post_kind=1 post_sem=3\n"
     "vx sync wait_on=1 wait_sem=3\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\n"
     "tile 0 vx 0: 76-76\n"
     "cycles 82\n"},
    /* hops 3, 4 and 2, visible one cycle later than the hops after the end */
    {"remote_posts",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync post_kind=2 post_pos=4 post_sem=1\n"
     "tile 3\n"
     "mx sync wait_on=1 wait_sem=1\n"
     "vx sync wait_on=1 wait_sem=2\n"
     "tile 4\n"
     "tx sync post_kind=0,3 post_pos=0,0 post_sem=0,0\n"
     "agcu 0\n"
     "ctx 0 sync post_kind=2 post_pos=4 post_sem=2\n"
     "agcu 2\n"
     "ctx 1 sync wait_on=1 wait_sem=0\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-48\n"
     "tile 3 mx 0: 52-52\n"
     "tile 3 vx 0: 53-53\n"
     "tile 4 tx 0: 48-48\n"
     "agcu 0 context 0 0: 48-48\n"
     "agcu 2 context 1 0: 51-51\n"
     "cycles 61\n"},
    /* Four posts an instruction, one a cycle: 80 .. 83, 84 .. 87, 88 .. 91; the stream has room for two, so that the third
     * issues behind 83. */
    {"posts_of_a_context_wait_in_its_stream",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 sync post_kind=1,1,1,1 post_sem=4,4,4,1\n"
     "ctx 0 sync post_kind=1,1,1,1 post_sem=4,4,4,2\n"
     "ctx 0 sync post_kind=1,1,1,1 post_sem=4,4,4,3\n"
     "ctx 1 sync wait_on=1 wait_sem=2\n"
     "ctx 2 sync wait_on=1 wait_sem=3\n"
     "ctx 3 sync wait_on=1 wait_sem=1\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 80-80\n"
     "agcu 0 context 0 1: 81-81\n"
     "agcu 0 context 0 2: 84-84\n"
     "agcu 0 context 1 0: 88-88\n"
     "agcu 0 context 2 0: 92-92\n"
     "agcu 0 context 3 0: 84-84\n"
     "cycles 98\n"},
    /* Posts of context 0, S .. S + 39, go before those of context 3 on their lane, S + 40 and S + 41; a STORE issues behind the first
     * of these, not 10 cycles behind the SYNC before it. */
    {"a_store_waits_for_room_in_its_stream",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 sync loop_count=0,0,10 post_kind=2,2,2,2 post_pos=1,1,1,1 post_sem=4,4,4,4\n"
     "ctx 3 sync post_kind=2 post_pos=1 post_sem=5\n"
     "ctx 3 sync post_kind=2 post_pos=1 post_sem=5\n"
     "ctx 3 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 80-80\n"
     "agcu 0 context 0 0: 81-81\n"
     "agcu 0 context 0 0: 84-84\n"
     "agcu 0 context 0 0: 88-88\n"
     "agcu 0 context 0 0: 92-92\n"
     "agcu 0 context 0 0: 96-96\n"
     "agcu 0 context 0 0: 100-100\n"
     "agcu 0 context 0 0: 104-104\n"
     "agcu 0 context 0 0: 108-108\n"
     "agcu 0 context 0 0: 112-112\n"
     "agcu 0 context 3 0: 80-80\n"
     "agcu 0 context 3 1: 81-81\n"
     "agcu 0 context 3 2: 121-126\n"
     "cycles 132\n"},
    /* Two posts an instruction, 80 .. 119, of a stream that precedes that of vx on their lane; the first VOP's is 120. The stream
     * of vx has room for two, so that the third issues behind that, not at 114. */
    {"vops_wait_for_room_while_syncs_post",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "word nop\n"
     "mx sync loop_count=20,0,0 post_kind=2,2 post_pos=2,2 post_sem=1,2\n"
     "vx vop rows=4 row_count=1,1,5 j_count=1,1 seg_begin=0,0 seg_len=1,1 seg_repeat=1 post_kind=2 "
     "post_pos=2 post_sem=3\n"
     "vx vop rows=4 row_count=1,1,5 j_count=1,1 seg_begin=0,0 seg_len=1,1 seg_repeat=1 post_kind=2 "
     "post_pos=2 post_sem=3\n"
     "vx vop rows=4 row_count=1,1,5 j_count=1,1 seg_begin=0,0 seg_len=1,1 seg_repeat=1 post_kind=2 "
     "post_pos=2 post_sem=3\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 80-80\n"
     "tile 0 mx 0: 81-81\n"
     "tile 0 mx 0: 82-82\n"
     "tile 0 mx 0: 84-84\n"
     "tile 0 mx 0: 86-86\n"
     "tile 0 mx 0: 88-88\n"
     "tile 0 mx 0: 90-90\n"
     "tile 0 mx 0: 92-92\n"
     "tile 0 mx 0: 94-94\n"
     "tile 0 mx 0: 96-96\n"
     "tile 0 mx 0: 98-98\n"
     "tile 0 mx 0: 100-100\n"
     "tile 0 mx 0: 102-102\n"
     "tile 0 mx 0: 104-104\n"
     "tile 0 mx 0: 106-106\n"
     "tile 0 mx 0: 108-108\n"
     "tile 0 mx 0: 110-110\n"
     "tile 0 mx 0: 112-112\n"
     "tile 0 mx 0: 114-114\n"
     "tile 0 mx 0: 116-116\n"
     "tile 0 vx 0: 80-96\n"
     "tile 0 vx 1: 97-113\n"
     "tile 0 vx 2: 121-137\n"
     "cycles 143\n"},
    /* hops 3 from 64: visible at 68; hops 1 from 65: visible at 67 */
    {"a_later_post_overtakes",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync post_kind=2 post_pos=4 post_sem=1\n"
     "tile 2\n"
     "mx sync\n"
     "mx sync post_kind=2 post_pos=4 post_sem=1\n"
     "tile 3\n"
     "mx sync wait_on=1 wait_sem=1\n"
     "mx sync wait_on=1 wait_sem=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-64\n"
     "tile 2 mx 0: 64-64\n"
     "tile 2 mx 1: 65-65\n"
     "tile 3 mx 0: 67-67\n"
     "tile 3 mx 1: 68-68\n"
     "cycles 76\n"},
    /* mx takes one of 10, which has one, and one of 12, posted at 64 and 65 */
    {"credits",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "sem 10=1\n"
     "mx sync credit_mask=5 credit_base=10\n"
     "mx sync wait_on=1 wait_sem=12\n"
     "vx sync post_kind=1 post_sem=12\n"
     "vx sync post_kind=1 post_sem=12\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 65-65\n"
     "tile 0 mx 1: 66-66\n"
     "tile 0 vx 0: 64-64\n"
     "tile 0 vx 1: 65-65\n"
     "cycles 72\n"},
    /* 10 holds one: the second wait for it lasts until the post of 66 is visible */
    {"an_issue_takes_from_every_counter",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "sem 10=1 11=2\n"
     "mx sync wait_on=1,1 wait_sem=10,11\n"
     "mx sync wait_on=1,1 wait_sem=10,11\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync post_kind=1 post_sem=10\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 80-80\n"
     "tile 0 mx 1: 83-83\n"
     "tile 0 vx 0: 80-80\n"
     "tile 0 vx 1: 81-81\n"
     "tile 0 vx 2: 82-82\n"
     "cycles 89\n"},
    /* level 2 twice inside level 1 twice; then the innermost wait_first and post_last */
    {"loops",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "sem 2=1\n"
     "mx sync\n"
     "mx sync loop_count=0,2,2\n"
     "vx sync loop_count=0,0,3 wait_on=1 wait_sem=2 wait_first=1 post_kind=1 post_sem=3 post_last=1\n"
     "tx sync wait_on=1 wait_sem=3\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-64\n"
     "tile 0 mx 1: 65-65\n"
     "tile 0 mx 0: 66-66\n"
     "tile 0 mx 1: 67-67\n"
     "tile 0 mx 0: 68-68\n"
     "tile 0 mx 1: 69-69\n"
     "tile 0 mx 0: 70-70\n"
     "tile 0 mx 1: 71-71\n"
     "tile 0 vx 0: 64-64\n"
     "tile 0 vx 0: 65-65\n"
     "tile 0 vx 0: 66-66\n"
     "tile 0 tx 0: 67-67\n"
     "cycles 77\n"},
    /* request seen at 49, granted at 50; 64 flits hold the segment until 114; e = 114 + 36; the semaphore
     * after one hop at 114 + 2 + 1 + 36 */
    {"send",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=100 dst_mask=4 dst_post=1 dst_sem=5\n"
     "tile 1\n"
     "tx sync wait_on=1 wait_sem=5\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 48-150\n"
     "tile 1 tx 0: 153-153\n"
     "cycles 159\n"},
    /* behind the last flit, though vx and mx have nothing to do */
    {"a_sync_waits_for_the_send_before",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=100 dst_mask=4\n"
     "tx sync\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 64-166\n"
     "tile 0 tx 1: 167-167\n"
     "cycles 173\n"},
    /* e = 66 + 3; the next issues at e + 1 and is granted two later */
    {"sends_follow",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=3 dst_mask=4\n"
     "tx send src_inner=200 dst_inner=200 flits=3 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 64-69\n"
     "tile 0 tx 1: 70-75\n"
     "cycles 81\n"},
    /* first burst granted at 98; the second and tile 1's request are of age 100: the lower position goes
     * first, at 162, when segment 1 is free. Tile 1 waits for segment 2 until 162 + 1 + 4. */
    {"next_burst_is_seen_two_cycles_after_the_grant",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=68 dst_mask=16\n"
     "tile 1\n"
     "tx sync\n"
     "tx sync\n"
     "tx sync\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=16\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 96-166\n"
     "tile 1 tx 0: 96-96\n"
     "tile 1 tx 1: 97-97\n"
     "tile 1 tx 2: 98-98\n"
     "tile 1 tx 3: 99-171\n"
     "cycles 179\n"},
    /* The other way round: tile 1's first burst is granted at 98, its second is known then, tile 0's request a cycle later. Both
     * are of age 100, and the lower position goes first though it comes last: at 161, a hop before segment 2 is free at 162. Tile 1
     * has that one again at 161 + 1 + 4, and its neighbour a hop later. */
    {"of_one_age_the_lower_position_goes_first_also_when_it_comes_last",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx sync\n"
     "tx sync\n"
     "tx sync\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=16\n"
     "tile 1\n"
     "tx send src_inner=200 dst_inner=200 flits=68 dst_mask=16\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 96-96\n"
     "tile 0 tx 1: 97-97\n"
     "tile 0 tx 2: 98-98\n"
     "tile 0 tx 3: 99-165\n"
     "tile 1 tx 0: 96-170\n"
     "cycles 178\n"},
    /* first burst granted at 82, the second is of age 84. Tile 1's request is of age 82: granted at 147 when segment 2 is
     * free; segment 3 then until 152, which the second burst reaches two cycles after its grant at 150 */
    {"an_older_request_goes_before_the_next_burst",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=68 dst_mask=16\n"
     "tile 1\n"
     "tx sync\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=16\n"
     "tx sync\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 80-154\n"
     "tile 1 tx 0: 80-80\n"
     "tile 1 tx 1: 81-151\n"
     "tile 1 tx 2: 152-152\n"
     "cycles 162\n"},
    /* tile 2 holds segment 3 until 112. Tile 0 (age 82) wants 1, 2, 3 and reaches 3 two cycles after its
     * grant: 110. Tile 1 (age 83) wants segment 2 only, which is free, but wanted; then held until 110 + 1
     * + 4. */
    {"an_older_request_blocks_a_free_segment",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx sync\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=16\n"
     "tile 1\n"
     "tx sync\n"
     "tx sync\n"
     "tx send src_inner=200 dst_inner=200 flits=2 dst_mask=8\n"
     "tile 2\n"
     "tx send src_inner=200 dst_inner=200 flits=30 dst_mask=16\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 80-80\n"
     "tile 0 tx 1: 81-114\n"
     "tile 1 tx 0: 80-80\n"
     "tile 1 tx 1: 81-81\n"
     "tile 1 tx 2: 82-117\n"
     "tile 2 tx 0: 80-112\n"
     "cycles 125\n"},
    /* westward: disjoint paths of one age, the lower position first */
    {"one_grant_a_cycle",
     "arch tiny\n"
     "set cols=4\n"
     "section \"s\"\n"
     "tile 1\n"
     "tx send src_inner=200 dst_inner=200 dir=1 flits=5 dst_mask=2\n"
     "tile 3\n"
     "tx send src_inner=200 dst_inner=200 dir=1 flits=5 dst_mask=8\n"
     "invoke 0 \"i\"\n",
     "tile 1 tx 0: 48-55\n"
     "tile 3 tx 0: 48-56\n"
     "cycles 64\n"},
    /* northward from tile 4 (position 3 of column 0) to tile 0 and the AGCU: granted at 50, semaphores at 50
       + 2 + 2 + 5 and one more */
    {"multicast_and_columns",
     "arch tiny\n"
     "set rows=3\n"
     "section \"s\"\n"
     "tile 4\n"
     "tx send src_inner=200 dst_inner=200 dir=3 flits=5 dst_mask=3 dst_post=1 dst_sem=9\n"
     "tile 0\n"
     "vx sync wait_on=1 wait_sem=9\n"
     "agcu 3\n"
     "ctx 0 sync wait_on=1 wait_sem=9\n"
     "invoke 0 \"i\"\n",
     "tile 0 vx 0: 59-59\n"
     "tile 4 tx 0: 48-55\n"
     "agcu 3 context 0 0: 60-60\n"
     "cycles 67\n"},
    /* port from 49, 4 pieces and one atom of 4 cycles; data at 52 + 60, request seen at 113, granted at 114; e = 118;
     * semaphores after one and two hops at 114 + 2 + h + 4 */
    {"load",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync wait_on=1 wait_sem=2\n"
     "tile 2\n"
     "mx sync wait_on=1 wait_sem=2\n"
     "agcu 2\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=6 dst_post=1 dst_sem=2\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 121-121\n"
     "tile 2 mx 0: 122-122\n"
     "agcu 2 context 0 0: 48-118\n"
     "cycles 128\n"},
    /* the next issues 10 cycles behind the first, when its walk is begun: port grant at 75, data at 78 + 60 */
    {"loads_follow",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 64-134\n"
     "agcu 0 context 0 1: 74-144\n"
     "cycles 150\n"},
    /* Bursts of 64 cycles at 65, 129 and 193. The next issues after the last grant and finds the port free at 257; its data is there
     * at 260 + 60. The lane has the first LOAD's last burst, complete at 316, from 318 to 382, then the second's. */
    {"a_walk_is_begun_while_the_port_serves_the_load_before",
     "arch tiny\n"
     "dram 4096\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,768 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=768 y_size=1 "
     "rows=1 dst_inner=200 take=768 dst_mask=2\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 64-382\n"
     "agcu 0 context 0 1: 194-386\n"
     "cycles 392\n"},
    /* 10 cycles behind the SYNC: port grant at 75, data at 78 + 60; the other SYNC needs no walk */
    {"a_load_behind_a_sync",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 sync\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "ctx 1 sync\n"
     "ctx 1 sync\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 64-64\n"
     "agcu 0 context 0 1: 74-144\n"
     "agcu 0 context 1 0: 64-64\n"
     "agcu 0 context 1 1: 65-65\n"
     "cycles 150\n"},
    /* Configuration: the base and 8 words of the LOAD's 20, which the others' fields leave 0; then H = 4 cycles to all, and 10 to
     * begin walks, which is more than the 1 of config_cycles. */
    {"walks_are_begun_before_the_section_starts",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 23-93\n"
     "cycles 99\n"},
    /* A SYNC that all tiles have is one word. */
    {"a_word_that_all_take_is_sent_once",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync\n"
     "tile 1\n"
     "mx sync\n"
     "tile 2\n"
     "mx sync\n"
     "tile 3\n"
     "mx sync\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 15-15\n"
     "tile 1 mx 0: 15-15\n"
     "tile 2 mx 0: 15-15\n"
     "tile 3 mx 0: 15-15\n"
     "cycles 21\n"},
    /* Loops of 2 in the left column, of 3 in the right one: a word each. */
    {"a_word_for_each_column",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync loop_count=2\n"
     "tile 1\n"
     "mx sync loop_count=3\n"
     "tile 2\n"
     "mx sync loop_count=2\n"
     "tile 3\n"
     "mx sync loop_count=3\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 16-16\n"
     "tile 0 mx 0: 17-17\n"
     "tile 1 mx 0: 16-16\n"
     "tile 1 mx 0: 17-17\n"
     "tile 1 mx 0: 18-18\n"
     "tile 2 mx 0: 16-16\n"
     "tile 2 mx 0: 17-17\n"
     "tile 3 mx 0: 16-16\n"
     "tile 3 mx 0: 17-17\n"
     "tile 3 mx 0: 18-18\n"
     "cycles 24\n"},
    /* Four different tiles: a word for all, and one with the loop counts of each row. */
    {"patches_of_what_differs",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync loop_count=1\n"
     "tile 1\n"
     "mx sync loop_count=2\n"
     "tile 2\n"
     "mx sync loop_count=3\n"
     "tile 3\n"
     "mx sync loop_count=4\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 17-17\n"
     "tile 1 mx 0: 17-17\n"
     "tile 1 mx 0: 18-18\n"
     "tile 2 mx 0: 17-17\n"
     "tile 2 mx 0: 18-18\n"
     "tile 2 mx 0: 19-19\n"
     "tile 3 mx 0: 17-17\n"
     "tile 3 mx 0: 18-18\n"
     "tile 3 mx 0: 19-19\n"
     "tile 3 mx 0: 20-20\n"
     "cycles 26\n"},
    /* Three of four tiles are alike: a word for all, and one with the loop counts of the row of the fourth. */
    {"patches_of_one_that_differs",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync loop_count=2\n"
     "tile 1\n"
     "mx sync loop_count=3\n"
     "tile 2\n"
     "mx sync loop_count=2\n"
     "tile 3\n"
     "mx sync loop_count=2\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 16-16\n"
     "tile 0 mx 0: 17-17\n"
     "tile 1 mx 0: 16-16\n"
     "tile 1 mx 0: 17-17\n"
     "tile 1 mx 0: 18-18\n"
     "tile 2 mx 0: 16-16\n"
     "tile 2 mx 0: 17-17\n"
     "tile 3 mx 0: 16-16\n"
     "tile 3 mx 0: 17-17\n"
     "cycles 24\n"},
    /* Five words go along the rows: a SYNC, one of another queue, two of its semaphores, 16 in a word, and a SYNC of a west AGCU. At
     * the same time four go along the north AGCUs. */
    {"the_longer_of_two_buses_counts",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync\n"
     "tx sync\n"
     "sem 7=1 20=1\n"
     "agcu 0\n"
     "ctx 1 sync\n"
     "agcu 2\n"
     "ctx 0 sync\n"
     "ctx 1 sync\n"
     "agcu 3\n"
     "ctx 2 sync\n"
     "ctx 2 sync\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 19-19\n"
     "tile 0 tx 0: 19-19\n"
     "agcu 0 context 1 0: 19-19\n"
     "agcu 2 context 0 0: 19-19\n"
     "agcu 2 context 1 0: 19-19\n"
     "agcu 3 context 2 0: 19-19\n"
     "agcu 3 context 2 1: 20-20\n"
     "cycles 26\n"},
    /* data at 50 and 51, the first granted at 52; the second registers its request at 53, seen at 54, granted
     * at 55 */
    {"bursts_leave_three_cycles_apart",
     "arch tiny\n"
     "set port_bytes=64\n"
     "set dram_latency=1\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=4 dst_mask=2\n"
     "ctx 1 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=4 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 48-53\n"
     "agcu 0 context 1 0: 48-56\n"
     "cycles 62\n"},
    /* port_bytes = 64: 4 pieces of one atom are 4 cycles; the element stride of 8 makes 16 pieces of one atom
       each */
    {"a_burst_costs_its_pieces",
     "arch tiny\n"
     "set port_bytes=64\n"
     "set dram_latency=1\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "agcu 1\n"
     "ctx 0 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,8 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 48-53\n"
     "agcu 1 context 0 0: 48-65\n"
     "cycles 71\n"},
    /* context 0 at 49 (64 atoms: 256 cycles with PB = 4, here 64), context 1 at 113, context 0 again at 117.
     * Data at 172, 176, 240; granted at 174, then when segment 0 is free at 238, then at max(242, 242). */
    {"contexts_take_turns_by_burst",
     "arch tiny\n"
     "dram 65536\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=512 dst_mask=2\n"
     "ctx 1 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_base=200 dst_mask=2\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 48-306\n"
     "agcu 0 context 1 0: 48-242\n"
     "cycles 312\n"},
    /* one buffer: granted at 174 with 64 flits, free for the port at 239; 239 + 63 + 60 = 362, e = 364 + 64.
     * The STORE slips in at 113: 4 cycles, e = 117. */
    {"a_load_needs_a_buffer_and_a_store_none",
     "arch tiny\n"
     "set agcu_buffers=1\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=512 dst_mask=2\n"
     "ctx 1 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 48-428\n"
     "agcu 0 context 1 0: 48-117\n"
     "cycles 434\n"},
    /* e = 65 + 4; the next issues 10 cycles behind the first */
    {"stores_follow",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 1\n"
     "ctx 2 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "ctx 2 store m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 take=16\n"
     "invoke 0 \"i\"\n",
     "agcu 1 context 2 0: 64-69\n"
     "agcu 1 context 2 1: 74-79\n"
     "cycles 85\n"},
    /* issues after the port grant, while the load is on its way */
    {"sync_behind_a_load",
     "arch tiny\n"
     "section \"s\"\n"
     "agcu 0\n"
     "ctx 0 load m_radix=1,1,1 k_radix=1,1,512 stride=0,0,0,0,0,4 x_inc=0,0,0,0,0,1 x_size=512 y_size=1 "
     "rows=1 dst_inner=200 take=16 dst_mask=2\n"
     "ctx 0 sync\n"
     "invoke 0 \"i\"\n",
     "agcu 0 context 0 0: 64-134\n"
     "agcu 0 context 0 1: 66-66\n"
     "cycles 140\n"},
    /* H = 4, E = 48, a SYNC is one word, so the fixed cost is 47; the second begins in 54, its word has left in 48, and it issues
     * at 101; the empty third is configured from 107 to 153; E = 153 */
    {"sections_follow_when_the_control_knows",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync\n"
     "section \"empty\"\n"
     "invoke 0 \"a\"\n"
     "invoke 0 \"b\"\n"
     "invoke 1 \"c\"\n",
     "tile 0 mx 0: 48-48\n"
     "tile 0 mx 0: 101-101\n"
     "cycles 159\n"},
    /* H = 4, so a section issues 14 cycles behind its last word at the earliest. The first has one and issues at 15; the second
     * begins in 21. Of its twelve, a SYNC each, six leave from 15 to 20 and six from 21 to 26, and it issues at 41. */
    {"words_leave_while_the_section_before_runs",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"one\"\n"
     "tile 0\n"
     "mx sync\n"
     "section \"twelve\"\n"
     "tile 0\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "invoke 0 \"a\"\n"
     "invoke 1 \"b\"\n",
     "tile 0 mx 0: 15-15\n"
     "tile 0 vx 0: 41-41\n"
     "tile 0 vx 1: 42-42\n"
     "tile 0 vx 2: 43-43\n"
     "tile 0 vx 3: 44-44\n"
     "tile 0 vx 4: 45-45\n"
     "tile 0 vx 5: 46-46\n"
     "tile 0 vx 6: 47-47\n"
     "tile 0 vx 7: 48-48\n"
     "tile 0 vx 8: 49-49\n"
     "tile 0 vx 9: 50-50\n"
     "tile 0 vx 10: 51-51\n"
     "tile 0 vx 11: 52-52\n"
     "cycles 58\n"},
    /* The same with seventeen, more than half a queue: all of them leave from 21 to 37, and it issues at 52. */
    {"words_of_more_than_half_a_queue_wait",
     "arch tiny\n"
     "set config_cycles=1\n"
     "section \"one\"\n"
     "tile 0\n"
     "mx sync\n"
     "section \"seventeen\"\n"
     "tile 0\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "vx sync\n"
     "invoke 0 \"a\"\n"
     "invoke 1 \"b\"\n",
     "tile 0 mx 0: 15-15\n"
     "tile 0 vx 0: 52-52\n"
     "tile 0 vx 1: 53-53\n"
     "tile 0 vx 2: 54-54\n"
     "tile 0 vx 3: 55-55\n"
     "tile 0 vx 4: 56-56\n"
     "tile 0 vx 5: 57-57\n"
     "tile 0 vx 6: 58-58\n"
     "tile 0 vx 7: 59-59\n"
     "tile 0 vx 8: 60-60\n"
     "tile 0 vx 9: 61-61\n"
     "tile 0 vx 10: 62-62\n"
     "tile 0 vx 11: 63-63\n"
     "tile 0 vx 12: 64-64\n"
     "tile 0 vx 13: 65-65\n"
     "tile 0 vx 14: 66-66\n"
     "tile 0 vx 15: 67-67\n"
     "tile 0 vx 16: 68-68\n"
     "cycles 74\n"},
    /* mx streams bank 0 from 68 to 70; tx reads it from 71 on */
    {"a_bank_is_free_after_the_last_streamed_row",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx sync loop_count=0,0,4\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-91\n"
     "tile 0 tx 0: 64-64\n"
     "tile 0 tx 0: 65-65\n"
     "tile 0 tx 0: 66-66\n"
     "tile 0 tx 0: 67-67\n"
     "tile 0 tx 1: 68-75\n"
     "cycles 97\n"},
    /* three groups of four rows of bank 0, by the transposer, from 64 to 75; tx reads it from 76 on */
    {"a_bank_is_free_after_the_last_group",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,9 blk_count=1,1,1,1 a_transposed=1 a_m=4,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx sync loop_count=0,0,9\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-97\n"
     "tile 0 tx 0: 64-64\n"
     "tile 0 tx 0: 65-65\n"
     "tile 0 tx 0: 66-66\n"
     "tile 0 tx 0: 67-67\n"
     "tile 0 tx 0: 68-68\n"
     "tile 0 tx 0: 69-69\n"
     "tile 0 tx 0: 70-70\n"
     "tile 0 tx 0: 71-71\n"
     "tile 0 tx 0: 72-72\n"
     "tile 0 tx 1: 73-80\n"
     "cycles 103\n"},
    /* mx reads bank 1 from 64 to 67; tx reads it from 68 on */
    {"a_bank_is_free_after_the_last_stationary_row",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "tx sync loop_count=0,0,1\n"
     "tx send src_inner=200 dst_inner=200 flits=5 src_base=128 dst_mask=4\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-91\n"
     "tile 0 tx 0: 64-64\n"
     "tile 0 tx 1: 65-72\n"
     "cycles 97\n"},
    /* vx owns bank 0 of tile 1 until 72; the flits arrive from 70 + 3 on */
    {"a_bank_is_free_after_a_vop",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx sync loop_count=0,0,4\n"
     "tx send src_inner=200 dst_inner=200 flits=5 dst_mask=4\n"
     "tile 1\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=2 s0_banks=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 64-64\n"
     "tile 0 tx 0: 65-65\n"
     "tile 0 tx 0: 66-66\n"
     "tile 0 tx 0: 67-67\n"
     "tile 0 tx 1: 68-75\n"
     "tile 1 vx 0: 64-72\n"
     "cycles 81\n"},
    /* vx waits for the post of e = 75; the other half is free all the time */
    {"an_accumulator_half_is_free_after_the_end",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1 post_kind=1\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 wait_on=1\n"
     "tile 1\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 s0_base=128\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\n"
     "tile 0 vx 0: 76-84\n"
     "tile 1 mx 0: 48-75\n"
     "tile 1 vx 0: 48-56\n"
     "cycles 90\n"},
    /* A stream that no word uses, of row 384: of the second half, beyond which they begin again. It does not own the first bank of the next
     * tile. */
    {"a_stream_beyond_the_accumulator_owns_the_half_of_its_rest",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx gemm m_count=1,3 blk_count=1,1,1,1 a_banks=1 b_base=128 b_banks=1 b_row=1\n"
     "vx vop row_count=1,1,1 j_count=1,1 rows=1 s0_kind=4 s0_base=384\n"
     "tile 1\n"
     "tx send dir=1 src_inner=200 dst_inner=200 flits=5 dst_mask=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-75\n"
     "tile 0 vx 0: 48-56\n"
     "tile 1 tx 0: 48-55\n"
     "cycles 81\n"},
    /* the issue takes one in the cycle in which the increment arrives */
    {"255_increments_fit",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "sem 1=255\n"
     "mx sync post_kind=1 post_sem=1\n"
     "vx sync wait_on=1 wait_sem=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 48-48\n"
     "tile 0 vx 0: 48-48\n"
     "cycles 54\n"},
    /* The post of 64 is visible at 66, and may be one too many until the SYNC of 65 takes one; when the section is over, 6 cycles
     * behind that, is known before. */
    {"a_section_ends_behind_an_increment_that_fits",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "mx sync post_kind=2 post_pos=2 post_sem=3\n"
     "tile 1\n"
     "sem 3=255\n"
     "tx sync\n"
     "tx sync wait_on=1 wait_sem=3\n"
     "invoke 0 \"i\"\n",
     "tile 0 mx 0: 64-64\n"
     "tile 1 tx 0: 64-64\n"
     "tile 1 tx 1: 65-65\n"
     "cycles 71\n"},
    /* granted at 49; e = 49 + 8 */
    {"the_last_row_of_the_store_memory",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send dir=1 flits=8 src_inner=8 dst_base=504 dst_inner=8 dst_mask=1\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 48-58\n"
     "cycles 64\n"},
    /* 254 and the increment of a burst */
    {"a_burst_makes_255",
     "arch tiny\n"
     "section \"s\"\n"
     "tile 0\n"
     "tx send src_inner=200 dst_inner=200 flits=4 dst_mask=4 dst_post=1 dst_sem=7\n"
     "tile 1\n"
     "sem 7=254\n"
     "invoke 0 \"i\"\n",
     "tile 0 tx 0: 48-54\n"
     "cycles 60\n"},
};

const size_t timing_case_count = sizeof timing_cases / sizeof *timing_cases;
