/* Bandwidth of an array's memory: a file's, and what is said after it. */
#include "sim/machine/params.h"
#include "tests/harness.h"

#include <math.h>
#include <stdio.h>

/* What a file says and what is said after it: the later holds, for memory and ports alike, and what of the file is dropped is
 * one line. */
TG_TEST(dram, bandwidth_of_an_array_is_what_is_given_last) {
  char path[256];
  snprintf(path, sizeof path, "%s/wide.yaml", tg_test_dir());
  static const struct {
    const char *file, *settings[2], *dram;
    double peak;         /* in GB/s */
    uint32_t ports;      /* bytes a cycle of each */
    const char *dropped; /* NULL: nothing */
  } cases[] = {
      {"base: edge\ndram_bandwidth: 500GB/s\n", {NULL}, NULL, 500, 64, NULL},
      /* The rate wins, and the ports are those that it takes. */
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"dram_bandwidth=50GB/s"}, NULL, 50, 16, NULL},
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"dram_bandwidth=50GB/s", "port_bytes=8"}, NULL, 50, 8, NULL},
      {"base: edge\ndram_bandwidth: 50GB/s\n", {"dram_bandwidth=500GB/s"}, NULL, 500, 64, NULL},
      {"base: edge\nport_bytes: 16\n",
       {"dram_bandwidth=500GB/s"},
       NULL,
       500,
       64,
       ": port_bytes: 16 is dropped: dram_bandwidth=500GB/s takes 64"},
      {"base: edge\nport_bytes: 64\n", {"dram_bandwidth=50GB/s"}, NULL, 50, 64, NULL},
      /* Another memory has a rate of its own, and the ports are the array's. */
      {"base: edge\ndram_bandwidth: 500GB/s\n",
       {NULL},
       "ddr4-3200,channels=4",
       102.4,
       16,
       ": dram_bandwidth: 500 GB/s is dropped: another memory is given after it"},
      {"base: edge\ndram_bandwidth: 500GB/s\n",
       {NULL},
       "simple",
       0,
       16,
       ": dram_bandwidth: 500 GB/s is dropped: another memory is given after it"},
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"dram_bandwidth=300GB/s"}, "hbm2e-3200", 300, 64, NULL},
      {"base: edge\ndram: ddr4-3200,bandwidth=40GB/s\n", {"dram_bandwidth=80GB/s"}, NULL, 80, 16, NULL},
      /* The file's rate holds for the array as settings leave it. */
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"rows=8"}, NULL, 500, 64, NULL},
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"rows=16", "cols=16"}, NULL, 500, 16, NULL},
      {"base: edge\ndram_bandwidth: 500GB/s\n", {"port_bytes=8"}, NULL, 500, 8, NULL},
      /* The ports are the memory. */
      {"base: tiny\ndram: simple\ndram_bandwidth: 128GB/s\n", {NULL}, NULL, 0, 32, NULL},
      {"base: tiny\ndram: simple\ndram_bandwidth: 128GB/s\n", {"rows=6"}, NULL, 0, 16, NULL},
      {"base: tiny\ndram: simple\ndram_bandwidth: 128GB/s\n", {"dram_bandwidth=32GB/s"}, NULL, 0, 8, NULL},
      {"base: tiny\ndram: simple\ndram_bandwidth: 128GB/s\n",
       {"port_bytes=8"},
       NULL,
       0,
       8,
       ": dram_bandwidth: 128 GB/s is dropped: port_bytes is given after it"},
      {"base: tiny\ndram: simple\nport_bytes: 16\n",
       {"dram_bandwidth=32GB/s"},
       NULL,
       0,
       8,
       ": port_bytes: 16 is dropped: dram_bandwidth=32GB/s takes 8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FILE *file = fopen(path, "w");
    fputs(cases[i].file, file);
    fclose(file);
    size_t count = 0;
    while (count < 2 && cases[i].settings[count]) count++;
    tg_params params;
    tg_diag dropped, diag = {""};
    tg_params_build(&(tg_array_request){path, cases[i].settings, count, cases[i].dram}, &params, &dropped,
                    &diag);
    EXPECT_STR(diag.message, "");
    char wanted[400];
    snprintf(wanted, sizeof wanted, "%s%s", cases[i].dropped ? path : "",
             cases[i].dropped ? cases[i].dropped : "");
    EXPECT_STR(dropped.message, wanted);
    EXPECT(fabs((double)tg_dram_peak(&params.dram) / 1e9 - cases[i].peak) <= 1e-3 * cases[i].peak);
    EXPECT_EQ(params.port_bytes, cases[i].ports);
  }
  static const struct {
    const char *file, *setting, *dram, *message;
  } wrong[] = {
      {"base: edge\ndram: ddr4-3200,bandwidth=40GB/s\ndram_bandwidth: 50GB/s\n", NULL, NULL,
       ": parameter dram_bandwidth: dram has a bandwidth, too: give one of the two"},
      {"base: edge\n", "dram_bandwidth=50GB/s", "ddr4-3200,bandwidth=40GB/s",
       "parameter dram_bandwidth: dram has a bandwidth, too: give one of the two"},
      {"base: edge\ndram_bandwidth: 500GB/s\n", "rows=1", NULL,
       ": parameter dram_bandwidth: 5 ports of 64 bytes a cycle carry 320 GB/s at 1000 MHz, not 500"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    FILE *file = fopen(path, "w");
    fputs(wrong[i].file, file);
    fclose(file);
    tg_params params;
    tg_diag diag = {""};
    char wanted[400];
    snprintf(wanted, sizeof wanted, "%s%s", wrong[i].message[0] == ':' ? path : "", wrong[i].message);
    EXPECT_EQ(
        tg_params_build(&(tg_array_request){path, &wrong[i].setting, wrong[i].setting != NULL, wrong[i].dram},
                        &params, NULL, &diag),
        TG_INVALID);
    EXPECT_STR(diag.message, wanted);
  }
}
