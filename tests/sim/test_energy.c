/* Energy: counts of actions by hand for single instructions, prices by hand, scaling between nodes by the published formula,
 * tables that are refused. That engines count alike is tested with their agreement (engine_runs_differ). */
#include "sim/machine/energy_sum.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tg_params tiny(void) {
  tg_params params;
  tg_params_load("tiny", &params, NULL); /* P = 4, 2 x 2 tiles */
  return params;
}

/* What one execution of an instruction counts. */
static tg_actions count(uint32_t endpoint, tg_unit unit, const char *text, const uint64_t *words) {
  tg_params params = tiny();
  tg_instr in = {0};
  tg_diag diag = {""};
  EXPECT_EQ(tg_instr_parse(unit, text, &in, &diag), TG_OK);
  EXPECT_STR(diag.message, "");
  tg_execution x = {.in = &in, .ends_inner = true};
  if (unit == TG_MX) tg_execution_set_chain(&x, (tg_chain){0});
  tg_actions sum = {{0}};
  tg_actions_execute(&sum, &params, endpoint, unit, &x, words);
  return sum;
}

static void expect(const tg_actions *sum, const char *wanted) {
  char text[400] = "";
  for (int a = 0; a < TG_ACTIONS; a++)
    if (sum->count[a])
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%llu", text[0] ? " " : "",
               tg_action_name((tg_action)a), (unsigned long long)sum->count[a]);
  EXPECT_STR(text, wanted);
}

/* FP32, S = P = 4: ten rows through 3 k blocks for each of 2 column blocks. Each of the 6 blocks: 10 * 16 multiply-adds, 4 + 10
 * rows read, 10 * 4 words written; 10 rows of 8 words read, but not in the 2 blocks that begin their sums. */
TG_TEST(energy, a_product_by_hand) {
  tg_actions sum = count(
      0, TG_MX, "gemm format=fp32 m_count=2,5 blk_count=1,1,2,3 k_loops=8 init=1 post_kind=local", NULL);
  expect(&sum, "mac_fp32=960 pad_read=84 acc_read=320 acc_write=240 post=1 issue_mx=1");
  sum = count(0, TG_MX, "gemm format=fp32 m_count=2,5 blk_count=1,1,2,3 k_loops=8", NULL);
  expect(&sum, "mac_fp32=960 pad_read=84 acc_read=480 acc_write=240 issue_mx=1");
}

/* BF16, S = 8: 64 multiply-adds a row; TF32's rows are two bank rows; a transposed operand is read in whole groups of S rows. */
TG_TEST(energy, formats_and_groups_by_hand) {
  tg_actions sum = count(3, TG_MX, "gemm format=bf16 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1", NULL);
  expect(&sum, "mac_bf16=1280 pad_read=36 acc_read=80 acc_write=160 issue_mx=1");
  sum = count(3, TG_MX, "gemm format=tf32 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1", NULL);
  expect(&sum, "mac_tf32=1280 pad_read=72 acc_read=80 acc_write=160 issue_mx=1");
  sum = count(3, TG_MX, "gemm format=fp16 m_count=1,10 blk_count=1,1,1,2 k_loops=8 init=1 a_transposed=1",
              NULL);
  expect(&sum, "mac_fp16=1280 pad_read=48 acc_read=80 acc_write=160 issue_mx=1");
}

/* Two words for 5 rows, the second three times: a load from the accumulator with a multiply, a load and a store with an and. */
TG_TEST(energy, vector_words_by_hand) {
  const uint64_t words[] = {
      tg_ucode_encode(&(tg_ucode){.ld_on = 1, .ld_stream = 0, .alu_op = TG_ALU_mul}),
      tg_ucode_encode(
          &(tg_ucode){.ld_on = 1, .ld_stream = 1, .alu_op = TG_ALU_and, .st_on = 1, .st_stream = 2})};
  tg_actions sum =
      count(1, TG_VX,
            "vop rows=5 j_count=1,3 seg_begin=0,1 seg_len=1,1 seg_repeat=2 s0_kind=acc s1_kind=fp32 "
            "s2_kind=bf16 s2_store=1",
            words);
  expect(&sum, "alu_multiply=40 alu_simple=120 word=20 pad_read=15 pad_write=15 acc_read=40 issue_vx=1");
}

/* Tile 1 is column 1 of row 0, position 2 on its row: 6 flits west to positions 1 and 0, two hops; the AGCU's store memory and tile 0
 * have them. */
TG_TEST(energy, transfers_by_hand) {
  tg_actions sum = count(1, TG_TX, "send dir=west flits=6 dst_mask=3 dst_post=1", NULL);
  expect(&sum, "pad_read=6 pad_write=6 flit_hop=12 agcu_write=6 post=2 issue_tx=1");
  /* 4 rows of 5 FP32 elements are 2 flits each; from the west AGCU (endpoint 4) to both tiles of its row */
  sum =
      count(4, TG_AGCU, "load rows=4 take=5 k_radix=1,1,5 dst_mask=6 dst_post=1 post_kind=local,local", NULL);
  expect(&sum, "pad_write=16 flit_hop=16 agcu_read=8 agcu_write=8 post=4 issue_agcu=1");
  sum = count(4, TG_AGCU, "store rows=4 take=5 k_radix=1,1,5", NULL);
  expect(&sum, "issue_agcu=1");
  tg_actions_burst(&sum, 0, 9); /* nine pieces */
  tg_actions_burst(&sum, 4, 0); /* two rows of indices */
  expect(&sum, "agcu_read=11 issue_agcu=1");
  sum = count(0, TG_TX, "sync post_kind=row,none,col", NULL);
  expect(&sum, "post=2 issue_tx=1");
}

static void near(double value, double wanted) { EXPECT(fabs(value - wanted) <= 1e-9 * fabs(wanted)); }

/* Prices of an array whose memories have sizes that a hand can do: banks of 32 KiB cost twice one of 8 KiB. */
TG_TEST(energy, prices_by_hand) {
  tg_params m = tiny();
  m.bank_bytes = 32768;
  m.acc_bytes = 8192; /* a column's half: 2 KiB, half of the price of 8 KiB */
  near(tg_action_price(&m, TG_ACT_mac_bf16), 2.0);
  near(tg_action_price(&m, TG_ACT_pad_read), 2 * 20);   /* 128 bits */
  near(tg_action_price(&m, TG_ACT_acc_write), 10. / 4); /* 32 bits */
  near(tg_action_price(&m, TG_ACT_flit_hop), 128 * 0.121 * 2);
  /* A row of a queue is an instruction, of an AGCU with the digits of its walks' starts and steps: 80 bits each, eight of them. */
  double row = tg_unit_bits(TG_AGCU) + 640;
  near(tg_action_price(&m, TG_ACT_issue_agcu), 10 * row / 64 * sqrt(m.queue_depth * row / 8 / 8192));
  row = tg_unit_bits(TG_VX);
  near(tg_action_price(&m, TG_ACT_issue_vx), 10 * row / 64 * sqrt(m.queue_depth * row / 8 / 8192));
  tg_section_time time = {.dram_read = 640, .dram_written = 360};
  time.actions.count[TG_ACT_mac_bf16] = 1000;
  time.actions.count[TG_ACT_pad_read] = 10;
  m.energy.leakage = 0;
  tg_energy_sum sum = tg_energy_of_section(&m, &time, 5000);
  near(sum.joules[TG_ENERGY_MX], 2e-9);
  near(sum.joules[TG_ENERGY_SCRATCHPAD], 4e-10);
  near(sum.joules[TG_ENERGY_DRAM], 1000 * 162.5e-12);
  near(tg_energy_total(&sum), 2e-9 + 4e-10 + 1.625e-7);
  m.energy.leakage = 100; /* uW a KiB, for 5 us */
  sum = tg_energy_of_section(&m, &time, 5000);
  near(sum.joules[TG_ENERGY_LEAKAGE], 5e-6 * 100e-6 * tg_chip_memory(&m));
}

/* Bytes of tiny's four tiles and four AGCUs, which keep LOADs and STOREs in two memories; a register file of a lane. */
TG_TEST(energy, memories_by_hand) {
  tg_params m = tiny();
  double bits = tg_unit_bits(TG_MX) + tg_unit_bits(TG_VX) + tg_unit_bits(TG_TX),
         agcu_bits = tg_unit_bits(TG_AGCU) + 640;
  double tile = m.banks * m.bank_bytes + 2 * m.acc_bytes + m.queue_depth * bits / 8 + 8 * m.microcode_words;
  double agcu = 2 * tg_store_rows(&m) * 16 + 4 * m.queue_depth * agcu_bits / 8;
  near(tg_chip_memory(&m), (4 * tile + 4 * agcu) / 1024);
  /* Three reads and a write of 32 bits of a word of each register and row in flight. */
  double file = 4 * m.energy.sram / 2 * sqrt(4. * TG_VX_REGS * 4 / 8192);
  near(tg_action_price(&m, TG_ACT_alu_multiply), m.energy.alu_multiply + file);
  near(tg_action_price(&m, TG_ACT_alu_simple), m.energy.alu_simple + file);
}

TG_TEST(energy, sections_last_until_the_next) {
  tg_section_time times[] = {{.begin = 0}, {.begin = 100}, {.begin = 150}};
  tg_run_result result = {.sections = times, .cycles = 400};
  EXPECT_EQ(tg_section_cycles(&result, 0, 3), 100);
  EXPECT_EQ(tg_section_cycles(&result, 1, 3), 50);
  EXPECT_EQ(tg_section_cycles(&result, 2, 3), 250);
}

/* DDR4: an activate for a miss and for a conflict, bytes of its bus, refreshes, two channels' background for 5 us. */
TG_TEST(energy, devices_by_hand) {
  tg_params m = tiny();
  EXPECT_EQ(tg_dram_device_load("ddr4-3200", NULL, &m.dram, NULL), TG_OK);
  tg_section_time time = {
      .dram_read = 1 << 20,
      .dram = {.read = 128, .written = 64, .hits = 9, .misses = 3, .conflicts = 2, .refreshes = 1}};
  tg_energy_sum sum = tg_energy_of_section(&m, &time, 5000);
  near(sum.joules[TG_ENERGY_DRAM], 1e-12 * (192 * 33.75 + 5 * 2856 + 1346520) + 2 * 0.588 * 5e-6);
  m.dram.tRFCpb = 20000; /* the refresh is one of a bank, of 16 */
  sum = tg_energy_of_section(&m, &time, 5000);
  near(sum.joules[TG_ENERGY_DRAM], 1e-12 * (192 * 33.75 + 5 * 2856 + 1346520 / 16.) + 2 * 0.588 * 5e-6);
  EXPECT_EQ(tg_energy_load("45nm,dram_byte=1,dram_activate=0,dram_refresh=0,dram_background=0", NULL,
                           &m.energy, NULL),
            TG_OK);
  sum = tg_energy_of_section(&m, &time, 5000);
  near(sum.joules[TG_ENERGY_DRAM], 192e-12);
}

/* The example of the paper's corrigendum, Stillmaker and Baas 2017, section 4.2.1, which rounds down: 1 pJ at 65 nm and 1.3 V is 0.1755 pJ at 32 nm and
 * 0.9 V. The table has 65 nm at 1.1 V. */
TG_TEST(energy, scaling_as_published) {
  double at_13 = 3.755 * 1.3 * 1.3 - 4.398 * 1.3 + 1.975, at_11 = 3.755 * 1.1 * 1.1 - 4.398 * 1.1 + 1.975;
  EXPECT(fabs(tg_energy_scale(65, 32) * at_11 / at_13 - 0.1755) < 1e-4);
  tg_energy at_45, at_32, changed;
  tg_diag diag = {""};
  tg_energy_default(&at_45);
  near(at_45.mac_fp32, 3.7 + 0.9);
  EXPECT_EQ(tg_energy_load("32nm", NULL, &at_32, &diag), TG_OK);
  near(at_32.mac_fp32 / at_45.mac_fp32, 0.457137 / 0.69885); /* both polynomials at 0.9 V */
  near(at_32.leakage, at_45.leakage);
  EXPECT_EQ(tg_energy_load("32nm,mac_fp32=1.25", NULL, &changed, &diag), TG_OK);
  near(changed.mac_fp32, 1.25);
  near(changed.wire, at_32.wire);
}

TG_TEST(energy, tables_come_back) {
  tg_arena arena = {0};
  tg_energy energy, again;
  EXPECT_EQ(tg_energy_load("7nm,mac_bf16=0.3,dram_byte=2.5", NULL, &energy, NULL), TG_OK);
  EXPECT_EQ(tg_energy_load(tg_energy_print(&energy, &arena), NULL, &again, NULL), TG_OK);
  EXPECT(tg_energy_equal(&energy, &again));
  EXPECT_STR(tg_energy_print(&energy, &arena), "7nm,mac_bf16=0.3,dram_byte=2.5");
  energy.mac_bf16 = 0.1 + 0.2; /* not the double of any 15 digits */
  EXPECT_STR(tg_energy_print(&energy, &arena), "7nm,mac_bf16=0.30000000000000004,dram_byte=2.5");
  tg_energy_default(&energy);
  EXPECT_STR(tg_energy_print(&energy, &arena), "45nm");
  tg_arena_release(&arena);
}

TG_TEST(energy, what_is_no_table_is_refused_by_name) {
  static const struct {
    const char *spec, *why;
  } bad[] = {{"44nm", "energy \"44nm\": is no node and no .yaml file; the nodes there are: 65nm, 45nm"},
             {"45nm,mac_fp8=1", "energy: there is no price \"mac_fp8\""},
             {"45nm,sram", "energy: \"sram\" is not key=value"},
             {"45nm,sram=ten", "energy sram: \"ten\" is not a number"},
             {"45nm,sram=-1", "energy sram: \"-1\" is not a number"},
             {"45nm,sram=nan", "energy sram: \"nan\" is not a number"},
             {"45nm,sram=0x10", "energy sram: \"0x10\" is not a number"},
             {"45nm,sram=1.5pJ", "energy sram: \"1.5pJ\" is not a number"},
             {"45nm,sram=1e-400", "energy sram: \"1e-400\" is not a number"},
             {"45nm,sram=1e300", "energy sram: 1e300 is not in 0..1e+09"},
             {"missing.yaml", "energy \"missing.yaml\": "}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tg_energy energy;
    tg_diag diag = {""};
    EXPECT_EQ(tg_energy_load(bad[i].spec, NULL, &energy, &diag), TG_INVALID);
    EXPECT(!strncmp(diag.message, bad[i].why, strlen(bad[i].why)));
  }
}

/* What a binary program may bring. */
TG_TEST(energy, tables_are_checked) {
  static const struct {
    double price, dram;
    uint32_t node;
    bool fits;
  } cases[] = {{1, 2, 45, true},   {0, -1, 45, true},   {1e9, 1e9, 45, true}, {-1, 2, 45, false},
               {1, -2, 45, false}, {2e9, 2, 45, false}, {NAN, 2, 45, false},  {1, 2, 44, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_energy energy;
    tg_energy_default(&energy);
    energy.sram = cases[i].price;
    energy.dram_byte = cases[i].dram;
    energy.node = cases[i].node;
    EXPECT_EQ(tg_energy_check(&energy, NULL), cases[i].fits ? TG_OK : TG_INVALID);
  }
}

/* A file of its own in a folder of its own. */
static tg_status load_text(const char *text, tg_energy *energy, tg_params *params, tg_diag *diag) {
  char folder[] = "/tmp/test_energy.XXXXXX", path[64];
  EXPECT(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/own.yaml", folder);
  FILE *file = fopen(path, "w");
  EXPECT(file != NULL);
  fputs(text, file);
  fclose(file);
  tg_status status = energy ? tg_energy_load(path, NULL, energy, diag) : tg_params_load(path, params, diag);
  unlink(path);
  rmdir(folder);
  return status;
}

TG_TEST(energy, files) {
  tg_energy energy;
  tg_params params;
  tg_diag diag = {""};
  EXPECT_EQ(load_text("base: 16nm\nmac_bf16: 0.5\nhop: 0.8\n", &energy, NULL, &diag), TG_OK);
  EXPECT_EQ(energy.node, 16);
  near(energy.mac_bf16, 0.5);
  near(energy.hop, 0.8);
  EXPECT_EQ(load_text("wire: 0.1\n", &energy, NULL, &diag), TG_OK);
  EXPECT_EQ(energy.node, 45);
  EXPECT_EQ(load_text("base: tiny\nenergy: 7nm,sram=3\n", NULL, &params, &diag), TG_OK);
  EXPECT_EQ(params.energy.node, 7);
  near(params.energy.sram, 3);
  static const char *const bad[][2] = {{"wire: 0.1\nbase: 16nm\n", "line 2: base: wants the name of a node"},
                                       {"wire: [1]\n", "line 1: only `key: value` lines"},
                                       {"wire: 0.1\nwhat: 3\n", "line 2: energy: there is no price \"what\""},
                                       {"base: 3nm\n", "line 1: base: wants the name of a node"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    diag = (tg_diag){""};
    EXPECT_EQ(load_text(bad[i][0], &energy, NULL, &diag), TG_INVALID);
    EXPECT(strstr(diag.message, "own.yaml: ") && strstr(diag.message, bad[i][1]));
  }
}
