/* Whole runs whose actions and joules are worked out by hand, against what the engines with time count: a product, a pool, a
 * copy with refreshes, operations of vx, rows by index, products of the narrow formats. Preset tiny: P = 4, so a flit, a bank
 * row and 4 FP32 elements are 16 bytes, vx has 8 lanes. Prices at 45 nm in pJ, by the rule of `sram`, 10 sqrt(bytes / 8 KiB) for 64 bits:
 *
 *   bank row       128 bits of  2 KiB   10      microcode word  64 bits of   2 KiB   5
 *   AGCU flit      128 bits of  8 KiB   20      ALU             4 x 32 bits of 512 bytes: 5, and 4.6 or 0.1
 *   accumulator     32 bits of  1 KiB    1.7678 flit-hop        128 bits x 0.121 x 2 mm   30.976
 *   multiply-add   FP32 4.6, others 2           post            0.1
 *   instruction    its bits of 32 times as many */
#include "sim/machine/energy_sum.h"
#include "tests/sim/engine_runs.h"
#include "tests/sim/support.h"

#include <math.h>
#include <stdio.h>

typedef struct hand_count {
  const char *name, *program, *device;
  const char *actions, *dram;
  double pj[TG_ENERGY_KINDS]; /* without instructions' rows of queues and leakage */
} hand_count;

#define COPY                                                                                                 \
  "arch tiny\n"                                                                                              \
  "set config_cycles=100\n"                                                                                  \
  "dram 128\n"                                                                                               \
  "tensor input fp32 0x0 16 \"x\"\n"                                                                         \
  "tensor output fp32 0x40 16 \"y\"\n"                                                                       \
  "section \"copy\"\n"                                                                                       \
  "tile 1\n"                                                                                                 \
  "tx send wait_on=1 wait_sem=0 dir=west flits=4 src_inner=65535 dst_inner=65535 dst_base=64 dst_mask=3 "    \
  "dst_post=1 "                                                                                              \
  "dst_sem=4\n"                                                                                              \
  "agcu 0\n"                                                                                                 \
  "ctx 0 load rows=1 take=16 m_radix=1,1,1 k_radix=1,1,16 stride=0,0,64,0,0,4 y_size=1 x_size=1 "            \
  "dst_inner=65535 "                                                                                         \
  "dst_mask=6 dst_post=1\n"                                                                                  \
  "ctx 2 store wait_on=1 wait_sem=4 src_base=64 base=1 rows=1 take=16 m_radix=1,1,1 k_radix=1,1,16 "         \
  "stride=0,0,64,0,0,4 y_size=1 x_size=1\n"                                                                  \
  "invoke 0 \"i\"\n"                                                                                         \
  "base 1=0x40\n"
#define COPY_ACTIONS                                                                                         \
  "pad_read=4 pad_write=12 flit_hop=16 agcu_read=8 agcu_write=8 post=4 issue_tx=1 issue_agcu=2"
#define COPIED(dram)                                                                                         \
  {                                                                                                          \
    [TG_ENERGY_SCRATCHPAD] = 16 * 10, [TG_ENERGY_NETWORK] = 16 * 30.976, [TG_ENERGY_AGCU] = 16 * 20,         \
    [TG_ENERGY_CONTROL] = 4 * 0.1, [TG_ENERGY_DRAM] = (dram)                                                 \
  }

/* product: C[6, 4] = A[6, 8] B[8, 4], A by rows from the west and the north, 3 each, two flits a row; B 8 flits. mx: two blocks
 * along k, each 4 stationary and 6 streamed rows, 6 x 16 multiply-adds, 6 x 4 words; the second reads its 6 x 8 words. vx: 5
 * words for 3 pairs of rows, two load 8 words of the accumulator, four store a half each. tx: 6 flits to the AGCU. All go one hop.
 *   pad_read    2 x (4 + 6) + 6         pad_write   6 + 6 + 8 + 3 x 4
 *   acc_read    48 + 3 x 2 x 8          acc_write   2 x 6 x 4
 *   flit_hop    6 + 6 + 8 + 6           AGCUs write 20 loaded and 6 sent, read 20 and 6 pieces
 *   post        mx 4, vx 2, tx 1 + 1, LOADs 1 each, STORE 1
 * DDR4: A's rows 0 to 2 are atoms 0 and 1, 3 to 5 atoms 1 and 2, of which 1 is read once, B atoms 3 and 4, C atoms 5 and 6; a channel has four atoms in
 * turn, so either opens a row once; writes come behind the reads.
 *
 * pool: 2 x 2 maxima of one channel, 2 places: 8 elements are each a flit of their own, loaded by two LOADs. vx for 2 rows: a word,
 * 4 x 3 words, 2 words, of these 1 and 4 with the ALU (8 lanes), 8 load and 2 store a half.
 *   word 2 x (1 + 12 + 2), alu_simple 2 x 5 x 8, pad_read 16 + 2 of tx, pad_write 8 + 4
 * `simple`: each element is a piece; the two of a LOAD are 8 bytes apart, those of the STORE 4: an atom each, 4 x 64 bytes to load, 64 to store.
 *
 * copy: 4 flits to both tiles of row 0 (2 hops), from tile 1 to tile 0 and the AGCU behind it (2 hops), and stored, refreshes
 * every 135 ns. The read is decided at some 117 ns and the write, which is left for the end of the run, at some 207: it finds its
 * row closed by the only refresh. `single_banks`: one of 16 every 110 ns, bank 0, which both are in, before the read, bank 1
 * behind the write: the row stays open.
 *
 * multiplying: 3 rows of 8 lanes, in each a mul, 4 times fma, add, max, then sub and nop.
 *   alu_multiply 3 x 8 x (1 + 4 x 2 + 1), alu_simple 3 x 8 x 4, word 3 x (1 + 4 x 3 + 2)
 *
 * rows_by_index: a LOAD of 10 flits, each an atom, by words 2 to 11 of the store memory, three rows of it; a STORE of a row of 72
 * flits, 64 and 8, each burst of which reads its index, 16 and 2 atoms.
 *   agcu_read 3 + 10 + 2 x 1 + 72
 *
 * formats: S = 8. BF16: 2 blocks x 10 rows x 64, (8 + 10) rows read each, 10 rows of 8 words read by the second. TF32: rows are
 * two bank rows. FP16 transposed: 10 rows are two groups of 8. */
static const hand_count cases[] = {
    {"product",
     "arch tiny\n"
     "dram 448\n"
     "tensor input fp32 0x0 6,8 \"a\"\n"
     "tensor input fp32 0xc0 8,4 \"b\"\n"
     "tensor output fp32 0x140 6,4 \"y\"\n"
     "section \"product\"\n"
     "tile 0\n"
     "sem 3=2 8=2 9=2\n"
     "word ld r0 = s0.lo | nop | \n"
     "word ld r1 = s2.lo | nop | st s1.lo = r0\n"
     "word  | nop | st s1.hi = r0\n"
     "word  | nop | st s3.lo = r1\n"
     "word  | nop | st s3.hi = r1\n"
     "mx gemm wait_on=1,1,1,1 wait_sem=0,1,3,6 post_kind=row,col,local,col post_sem=1,4,2,1 m_count=2,3 "
     "blk_count=2,1,1,1 "
     "k_loops=1 a_blk=1 a_m=128,2 a_banks=2 b_base=512 b_blk=8,2,1 b_row=2 b_banks=1 c_blk=0,6 h_blk=0,0,1 "
     "init=1 "
     "k_chunk=8 k_total=8\n"
     "vx vop wait_on=1,1 wait_sem=2,8 post_kind=local,local post_sem=7,3 rows=3 row_count=1,3,1 j_count=1,1 "
     "seg_len=5 "
     "s0_kind=acc s0_row=0,2,6 s1_kind=fp32 s1_base=768 s1_row=0,4,2 s1_banks=1 s1_store=1 s2_kind=acc "
     "s2_base=1 "
     "s2_row=0,2,6 s3_kind=fp32 s3_base=770 s3_row=0,4,2 s3_banks=1 s3_store=1\n"
     "tx send wait_on=1,1 wait_sem=7,9 post_kind=local post_sem=8 dir=west flits=6 src_base=768 src_inner=1 "
     "src_stride=2 "
     "dst_inner=65535 dst_mask=1 dst_post=1 dst_sem=10\n"
     "agcu 0\n"
     "sem 1=2 2=2 4=2\n"
     "ctx 0 load credit_mask=2 rows=3 take=8 m_radix=1,1,6 k_radix=1,1,8 stride=0,0,32,0,0,4 y_size=1 "
     "x_size=1 "
     "dst_inner=65535 dst_mask=2 dst_post=1\n"
     "ctx 2 store wait_on=1 wait_sem=10 post_kind=row post_pos=1 post_sem=9 base=2 rows=1 take=24 "
     "m_radix=1,1,1 "
     "k_radix=1,1,24 stride=0,0,0,0,0,4 y_size=1 x_size=1\n"
     "agcu 2\n"
     "sem 1=2 2=2 4=2\n"
     "ctx 0 load credit_mask=2 rows=3 take=8 m_radix=1,1,6 k_radix=1,1,8 m_first=3 stride=0,0,32,0,0,4 "
     "y_size=1 x_size=1 "
     "dst_base=128 dst_inner=65535 dst_mask=2 dst_post=1 dst_sem=6\n"
     "ctx 0 load credit_mask=2 credit_base=3 base=1 rows=8 take=4 m_radix=1,1,8 k_radix=1,1,4 "
     "stride=0,0,16,0,0,4 y_size=1 "
     "x_size=1 dst_base=512 dst_inner=1 dst_stride=2 dst_mask=2 dst_post=1 dst_sem=1\n"
     "invoke 0 \"i\"\n"
     "base 1=0xc0 2=0x140\n",
     "ddr4-3200",
     "mac_fp32=192 word=15 pad_read=26 pad_write=32 acc_read=96 acc_write=48 flit_hop=26 agcu_read=26 "
     "agcu_write=26 post=12 "
     "issue_mx=1 issue_vx=1 issue_tx=1 issue_agcu=4",
     "read 320 written 128 activates 2 refreshes 0",
     {[TG_ENERGY_MX] = 192 * 4.6,
      [TG_ENERGY_VX] = 15 * 5,
      [TG_ENERGY_SCRATCHPAD] = (26 + 32) * 10,
      [TG_ENERGY_ACCUMULATOR] = (96 + 48) * 1.7677669529663689,
      [TG_ENERGY_NETWORK] = 26 * 30.976,
      [TG_ENERGY_AGCU] = 52 * 20,
      [TG_ENERGY_CONTROL] = 12 * 0.1,
      [TG_ENERGY_DRAM] = 448 * 33.75 + 2 * 2856}},
    {"pool",
     "arch tiny\n"
     "dram 192\n"
     "tensor input fp32 0x0 4,8 \"x\"\n"
     "tensor output fp32 0x80 2,4 \"y\"\n"
     "section \"pool\"\n"
     "tile 0\n"
     "sem 1=2 2=2\n"
     "const 0x00000000\n"
     "const 0xff800000\n"
     "word  | mov r0 = k1 r0 r0 | \n"
     "word ld r1 = s0.lo | nop | \n"
     "word ld r1 = s0.hi | nop | \n"
     "word  | max r0 = r0 r1 r0 | \n"
     "word  | nop | st s1.lo = r0\n"
     "word  | nop | st s1.hi = r0\n"
     "vx vop wait_on=1,1 wait_sem=3,1 post_kind=local,local post_sem=2,0 rows=2 row_count=1,2,1 j_count=1,4 "
     "seg_begin=0,1,4 "
     "seg_len=1,3,2 seg_repeat=2 tail_step=8 s0_kind=fp32 s0_row=0,2,2 s0_j=0,4 s0_banks=1 s1_kind=fp32 "
     "s1_base=256 "
     "s1_row=0,2,2 s1_banks=1 s1_store=1\n"
     "tx send wait_on=1,1 wait_sem=0,2 post_kind=local post_sem=1 dir=west flits=2 src_base=256 src_inner=1 "
     "src_stride=2 "
     "dst_inner=65535 dst_mask=1 dst_post=1 dst_sem=4\n"
     "agcu 0\n"
     "ctx 0 load loop_count=0,0,3 rows=2 take=1 m_radix=1,2,4 k_radix=2,2,1 k_delta=0,0,1 "
     "stride=128,64,8,32,4,4 y_inc=0,2,0,1 x_inc=0,0,2,0,1 y_size=4 x_size=8 fill=4286578688 dst_delta=0,0,4 "
     "dst_inner=1 "
     "dst_stride=2 dst_mask=2\n"
     "ctx 0 load rows=2 take=1 m_radix=1,2,4 k_radix=2,2,1 k_first=3 stride=128,64,8,32,4,4 y_inc=0,2,0,1 "
     "x_inc=0,0,2,0,1 "
     "y_size=4 x_size=8 fill=4286578688 dst_base=12 dst_inner=1 dst_stride=2 dst_mask=2 dst_post=1 "
     "dst_sem=3\n"
     "ctx 2 store wait_on=1 wait_sem=4 post_kind=row post_pos=1 post_sem=2 base=1 rows=2 take=1 "
     "m_radix=1,2,4 "
     "k_radix=1,1,1 stride=32,16,4,0,0,4 y_size=1 x_size=1\n"
     "invoke 0 \"i\"\n"
     "base 1=0x80\n",
     "simple",
     "alu_simple=80 word=30 pad_read=18 pad_write=12 flit_hop=10 agcu_read=10 agcu_write=10 post=6 "
     "issue_vx=1 issue_tx=1 "
     "issue_agcu=5",
     "read 256 written 64 activates 0 refreshes 0",
     {[TG_ENERGY_VX] = 80 * 5.1 + 30 * 5,
      [TG_ENERGY_SCRATCHPAD] = 30 * 10,
      [TG_ENERGY_NETWORK] = 10 * 30.976,
      [TG_ENERGY_AGCU] = 20 * 20,
      [TG_ENERGY_CONTROL] = 6 * 0.1,
      [TG_ENERGY_DRAM] = 320 * 162.5}},
    {"copy", COPY, "ddr4-3200,channels=1,tREFI=135000,tRFC=20000,postponed=0", COPY_ACTIONS,
     "read 64 written 64 activates 2 refreshes 1", COPIED(128 * 33.75 + 2 * 2856 + 1 * 1346520)},
    {"single_banks", COPY, "ddr4-3200,channels=1,tREFI=1760000,tRFC=30000,tRFCpb=20000,postponed=0",
     COPY_ACTIONS, "read 64 written 64 activates 1 refreshes 2",
     COPIED(128 * 33.75 + 1 * 2856 + 2 * 1346520 / 16.0)},
    {"multiplying",
     "arch tiny\n"
     "section \"multiplying\"\n"
     "tile 0\n"
     "const 0x3f800000\n"
     "word  | mul r0 = k0 k0 r0 | \n"
     "word  | fma r1 = r0 k0 r0 | \n"
     "word  | add r0 = r1 k0 r0 | \n"
     "word  | max r0 = r0 r1 r0 | \n"
     "word  | sub r0 = r0 r1 r0 | \n"
     "word  | nop | \n"
     "vx vop rows=3 row_count=1,3,1 j_count=1,4 seg_begin=0,1,4 seg_len=1,3,2 seg_repeat=2\n"
     "invoke 0 \"i\"\n",
     "simple",
     "alu_multiply=240 alu_simple=96 word=45 issue_vx=1",
     "read 0 written 0 activates 0 refreshes 0",
     {[TG_ENERGY_VX] = 240 * 9.6 + 96 * 5.1 + 45 * 5}},
    {"rows_by_index",
     "arch tiny\n"
     "dram 4096\n"
     "section \"rows by index\"\n"
     "agcu 0\n"
     "ctx 0 load rows=10 take=4 m_radix=10,1,1 k_radix=1,1,4 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
     "index_size=20 index_stride=16 index_base=2 dst_base=128 dst_inner=10 dst_mask=2\n"
     "ctx 1 store rows=1 take=288 m_radix=1,1,1 k_radix=1,1,288 stride=0,0,0,0,0,4 y_size=1 x_size=1 "
     "index_size=2 index_stride=1152 base=1 src_base=8\n"
     "invoke 0 \"i\"\n"
     "base 1=1024\n",
     "simple",
     "pad_write=10 flit_hop=10 agcu_read=87 agcu_write=10 issue_agcu=2",
     "read 640 written 1152 activates 0 refreshes 0",
     {[TG_ENERGY_SCRATCHPAD] = 10 * 10,
      [TG_ENERGY_NETWORK] = 10 * 30.976,
      [TG_ENERGY_AGCU] = 97 * 20,
      [TG_ENERGY_DRAM] = 1792 * 162.5}},
    {"formats",
     "arch tiny\n"
     "section \"formats\"\n"
     "tile 3\n"
     "mx gemm format=bf16 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1 a_banks=1 b_base=128 b_banks=1 "
     "b_row=1\n"
     "mx gemm format=tf32 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1 a_banks=1 b_base=128 b_banks=1 "
     "b_row=2\n"
     "mx gemm format=fp16 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1 a_transposed=1 a_banks=1 "
     "b_base=128 b_banks=1 "
     "b_row=1\n"
     "invoke 0 \"i\"\n",
     "simple",
     "mac_tf32=1280 mac_bf16=1280 mac_fp16=1280 pad_read=156 acc_read=240 acc_write=480 issue_mx=3",
     "read 0 written 0 activates 0 refreshes 0",
     {[TG_ENERGY_MX] = 3840 * 2,
      [TG_ENERGY_SCRATCHPAD] = (36 + 72 + 48) * 10,
      [TG_ENERGY_ACCUMULATOR] = (240 + 480) * 1.7677669529663689}},
};

static void print_actions(char *text, size_t size, const tg_actions *sum) {
  *text = '\0';
  for (int a = 0; a < TG_ACTIONS; a++)
    if (sum->count[a])
      snprintf(text + strlen(text), size - strlen(text), "%s%s=%llu", text[0] ? " " : "",
               tg_action_name((tg_action)a), (unsigned long long)sum->count[a]);
}

/* pJ of the rows that instructions are in their queues, `bits` each. */
static double rows(const tg_params *m, uint64_t count, double bits) {
  return (double)count * 10 * bits / 64 * sqrt(m->queue_depth * bits / 8 / 8192);
}

/* Rows of instructions; background of DDR4's channels, 588 mW; leakage, 976 uW a KiB. A tile of tiny has 16 banks of 2 KiB, two halves of
 * 4 KiB, 256 words of microcode and three queues; an AGCU two memories of 8 KiB and four queues. */
static void add_time(const tg_params *m, const tg_section_time *time, uint64_t cycles, double pj[]) {
  const uint64_t *n = time->actions.count;
  double mx = tg_unit_bits(TG_MX), vx = tg_unit_bits(TG_VX), tx = tg_unit_bits(TG_TX),
         agcu = tg_unit_bits(TG_AGCU) + 640, ns = (double)cycles; /* of 1 GHz */
  pj[TG_ENERGY_CONTROL] += rows(m, n[TG_ACT_issue_mx], mx) + rows(m, n[TG_ACT_issue_vx], vx) +
                           rows(m, n[TG_ACT_issue_tx], tx) + rows(m, n[TG_ACT_issue_agcu], agcu);
  if (!tg_dram_is_simple(&m->dram)) pj[TG_ENERGY_DRAM] += 588 * m->dram.channels * ns;
  double tile = 16 * 2 + 2 * 4 + 2 + 32 * (mx + vx + tx) / 8 / 1024, agcus = 2 * 8 + 4 * 32 * agcu / 8 / 1024;
  pj[TG_ENERGY_LEAKAGE] += 0.976 * 4 * (tile + agcus) * ns;
}

static void run(const hand_count *c, const tg_engine *engine) {
  tg_program *program = tg_test_program(c->program);
  if (!program) return;
  tg_test_settle(program);
  EXPECT_EQ(tg_dram_device_load(c->device, NULL, &program->params.dram, NULL), TG_OK);
  engine_run run =
      engine_run_program(engine, program, (tg_run_options){.timing_only = true, .max_cycles = 10000});
  EXPECT_STR(run.diag.message, "");
  if (!run.status) {
    const tg_params *m = &program->params;
    const tg_section_time *time = &run.result.sections[0];
    char text[400];
    print_actions(text, sizeof text, &time->actions);
    EXPECT_STR(text, c->actions);
    bool simple = tg_dram_is_simple(&m->dram);
    snprintf(text, sizeof text, "read %llu written %llu activates %llu refreshes %llu",
             (unsigned long long)(simple ? time->dram_read : time->dram.read),
             (unsigned long long)(simple ? time->dram_written : time->dram.written),
             (unsigned long long)(time->dram.misses + time->dram.conflicts),
             (unsigned long long)time->dram.refreshes);
    EXPECT_STR(text, c->dram);
    double pj[TG_ENERGY_KINDS];
    memcpy(pj, c->pj, sizeof pj);
    uint64_t cycles = tg_section_cycles(&run.result, 0, 1);
    add_time(m, time, cycles, pj);
    tg_energy_sum sum = tg_energy_of_section(m, time, cycles);
    for (int k = 0; k < TG_ENERGY_KINDS; k++)
      if (fabs(1e12 * sum.joules[k] - pj[k]) > 1e-9 * pj[k])
        tg_test_fail(__FILE__, __LINE__, "%s: %s: %.9g pJ, by hand %.9g", c->name,
                     tg_energy_kind_name((tg_energy_kind)k), 1e12 * sum.joules[k], pj[k]);
  }
  engine_run_release(&run);
  tg_program_destroy(program);
}

static void run_case(const void *row) {
#if TEGULA_WITH_SYSTEMC
  run(row, &tg_engine_systemc);
#endif
#if TEGULA_WITH_RTL
  run(row, &tg_engine_rtl);
#endif
}

__attribute__((constructor)) static void register_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    tg_test_register_row("energy_counts", cases[i].name, __FILE__, __LINE__, run_case, &cases[i]);
}
