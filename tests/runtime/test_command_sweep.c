/* `tegula sweep`, and advice that is simulated. */
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/command_support.h"

#include <jansson.h>
#include <math.h>

TG_TEST(command, sweep_compares_every_policy) {
  EXPECT_EQ(tegula("zoo gemm --m 256 --n 256 --k 256 -o large.onnx")->status, 0);
  const outcome *o = tegula(
      "sweep large.onnx --dram simple --json --csv table.csv --plot plot.svg --plot-energy energy.svg");
  EXPECT_EQ(o->status, 0);
  json_t *all = json_loads(o->out, 0, NULL), *rows = json_object_get(all, "rows");
  EXPECT_STR(json_string_value(json_object_get(all, "model")), "large.onnx");
  EXPECT_EQ(json_array_size(rows), 28);
  const json_t *mp0 = row_of(rows, "mp0", "fp32"), *mp1 = row_of(rows, "mp1", "fp32"),
               *rounded = row_of(rows, "mp1", "bf16sr"), *high = row_of(rows, "high", "fp32");
  ASSERT(mp0 && mp1 && rounded && high);
  EXPECT(field(mp0, "speedup_over_mp0") == 1 && json_is_true(json_object_get(mp0, "pareto")));
  EXPECT(field(high, "speedup_over_mp0") > 1.2 &&
         field(mp1, "speedup_over_mp0") > field(high, "speedup_over_mp0"));
  /* BF16 saves energy, rounding accumulators none; FP32 is exact, so it is on both fronts */
  EXPECT(field(mp0, "saving_over_mp0") == 1 && json_is_true(json_object_get(mp0, "pareto_energy")));
  EXPECT(field(mp1, "saving_over_mp0") > 1.1 && json_is_false(json_object_get(rounded, "pareto_energy")));
  EXPECT(
      fabs(field(mp1, "saving_over_mp0") * field(mp1, "joules_per_sample") / field(mp0, "joules_per_sample") -
           1) < 1e-9);
  EXPECT(field(mp1, "peak_device_bytes") > 0 && field(mp1, "cycles") > 0);
  EXPECT(fabs(field(rounded, "cycles_over_fp32") - field(rounded, "cycles") / field(mp1, "cycles")) < 1e-9);
  EXPECT(field(rounded, "cycles_over_fp32") <= 1.02 && !json_object_get(mp1, "cycles_over_fp32"));
  json_t *error = json_object_get(json_object_get(rounded, "error_vs_fp32"), "C");
  EXPECT(field(error, "rms") > field(json_object_get(json_object_get(mp1, "error_vs_fp32"), "C"), "rms"));
  json_decref(all);
  EXPECT(made("table.csv") && made("plot.svg") && made("energy.svg"));
  EXPECT_EQ(shell("grep -q 'energy of mp0 over its own' energy.svg && ! grep -q speed-up energy.svg"), 0);
  EXPECT_EQ(shell("head -1 table.csv | grep -q 'array,joules_per_sample,pareto_energy$'"), 0);
  o = tegula("sweep large.onnx --policy mp4 --tiling-accum fp32 --timing-only");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "mp4");
  EXPECT(!strstr(o->out, "mp1"));
}

/* Rows of an array are what a sweep of that array alone has; --arch twice is refused elsewhere. */
TG_TEST(command, sweep_compares_arrays) {
  small_models();
  const outcome *o = tegula(
      "sweep gemm.onnx --arch tiny --arch edge --set port_bytes=16,32 --set burst_flits=32 --policy mp0 "
      "--policy mp1 --tiling-accum fp32 --timing-only --json --plot arrays.svg --csv arrays.csv");
  EXPECT_EQ(o->status, 0);
  json_t *all = json_loads(o->out, 0, NULL), *rows = json_object_get(all, "rows");
  static const char *const names[] = {
      "tiny port_bytes=16 burst_flits=32", "tiny port_bytes=32 burst_flits=32",
      "edge port_bytes=16 burst_flits=32", "edge port_bytes=32 burst_flits=32"};
  ASSERT(json_array_size(rows) == 8);
  for (size_t i = 0; i < 8; i++)
    EXPECT_STR(json_string_value(json_object_get(json_array_get(rows, i), "array")), names[i / 2]);
  o = tegula("sweep gemm.onnx --arch edge --set port_bytes=32 --set burst_flits=32 --policy mp1 "
             "--tiling-accum fp32 --timing-only --json");
  json_t *alone = json_loads(o->out, 0, NULL), *row = json_array_get(json_object_get(alone, "rows"), 0);
  EXPECT_EQ(field(row, "cycles"), field(json_array_get(rows, 7), "cycles"));
  double first = field(json_array_get(rows, 0), "cycles");
  EXPECT(fabs(field(json_array_get(rows, 7), "speedup_over_mp0") - first / field(row, "cycles")) < 1e-9);
  json_decref(all);
  json_decref(alone);
  EXPECT(made("arrays.svg") && made("arrays.csv"));
  o = tegula("sweep gemm.onnx --arch tiny --set port_bytes=");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "--set: \"port_bytes=\" has an empty value");
  EXPECT_EQ(tegula("sweep gemm.onnx --arch tiny --set rows=2,")->status, 2);
  EXPECT_EQ(tegula("sweep gemm.onnx --arch tiny --set rows=2,many")->status, 2);
  o = tegula("sweep gemm.onnx --policy mp1 --policy mp0 --policy mp1");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "--policy: \"mp1\" is given twice");
  o = tegula("sweep gemm.onnx --arch tiny --arch edge --arch tiny");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "--arch, --set: the array tiny is given twice");
  EXPECT_EQ(tegula("sweep gemm.onnx --arch tiny --set rows=2,4,2")->status, 2);
  o = tegula("run gemm.onnx --arch tiny --arch edge");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "--arch is given twice");
}

/* A product that waits for its weights takes the time that they take at this rate, whatever the rate. */
TG_TEST(command, bandwidth_of_memory_is_a_parameter) {
  enum { WEIGHTS = 512 * 512 * 4 };
  static const double rates[] = {50e9, 100e9, 300e9};
  EXPECT_EQ(tegula("zoo gemm --m 4 --n 512 --k 512 --constant-b -q -o wide.onnx")->status, 0);
  json_t *all = json_loads(tegula("sweep wide.onnx --set dram_bandwidth=50GB/s,100GB/s,300GB/s --policy mp0 "
                                  "--tiling-accum fp32 --timing-only --json")
                               ->out,
                           0, NULL);
  const json_t *rows = json_object_get(all, "rows");
  ASSERT(json_array_size(rows) == 3);
  for (size_t i = 0; i < 3; i++) {
    double seconds = 4 / field(json_array_get(rows, i), "samples_per_second"), least = WEIGHTS / rates[i];
    EXPECT(seconds > least && seconds < (i < 2 ? 1.3 : 2.5) * least);
  }
  json_decref(all);
  static const struct {
    const char *options;
    double rate; /* in bytes a cycle of 1 GHz, as the report has it */
  } cases[] = {{"--arch edge --set dram_bandwidth=200GB/s", 200},
               {"--arch edge --set dram_bandwidth=200GB/s --set port_bytes=16", 128}, /* the ports' own */
               {"--arch edge --set rows=2 --set dram_bandwidth=600GB/s --set rows=8", 600},
               {"--arch tiny --set dram_bandwidth=128GB/s", 128}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *report = json_loads(
        tegula("run wide.onnx --timing-only --no-cpu-reference --json %s", cases[i].options)->out, 0, NULL);
    EXPECT(fabs(field(json_object_get(report, "dram_bytes_per_cycle"), "peak") - cases[i].rate) <
           1e-3 * cases[i].rate);
    json_decref(report);
  }
  EXPECT_EQ(tegula("zoo lenet -q -o lenet.onnx")->status, 0);
  json_t *report = json_loads(
      tegula("run lenet.onnx --batch 2 --timing-only --no-cpu-reference --set dram_bandwidth=25GB/s --json")
          ->out,
      0, NULL);
  const json_t *rate = json_object_get(report, "dram_bytes_per_cycle");
  double share = field(json_object_get(report, "dram"), "share_of_peak");
  EXPECT(share > 0.5 && share < 1 && fabs(field(rate, "achieved") / field(rate, "peak") - share) < 1e-9);
  json_decref(report);
  static const struct {
    const char *options, *line;
  } wrong[] = {{"--set dram_bandwidth=1TB/s", "8 ports of 64 bytes a cycle carry 512 GB/s at 1000 MHz"},
               {"--set dram_bandwidth=100", "\"100\" is no rate, as 100GB/s"},
               {"--set dram_bandwidth=0GB/s", "is no rate"},
               {"--set dram_bandwidth=1kB/s", "more or less than lpddr5-6400 gives"},
               {"--arch tiny --set dram_bandwidth=100GB/s", "128 GB/s of the memory \"simple\""}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const outcome *o = tegula("run wide.onnx --timing-only %s", wrong[i].options);
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, wrong[i].line);
  }
}

/* Advice is what a run with that change gives, and the cause at the chain's end is none that waits for those before:
 * LeNet's products wait for what the AGCUs load. */
TG_TEST(command, advice_is_simulated) {
  EXPECT_EQ(tegula("zoo lenet -q -o lenet.onnx")->status, 0);
  json_t *report = json_loads(
      tegula("run lenet.onnx --batch 4 --dram simple --advise --timing-only --no-cpu-reference --json")->out,
      0, NULL);
  const json_t *advice = json_object_get(report, "advice");
  double rate = field(report, "samples_per_second"), before = INFINITY;
  EXPECT(json_array_size(advice) == 3);
  for (size_t i = 0; i < json_array_size(advice); i++) {
    const json_t *one = json_array_get(advice, i);
    const char *change = json_string_value(json_object_get(one, "change"));
    ASSERT(change);
    json_t *tried = json_loads(
        tegula("run lenet.onnx %s --dram simple %s%s --timing-only --no-cpu-reference --json",
               strstr(change, "--batch") ? "" : "--batch 4", strncmp(change, "--", 2) ? "--set " : "", change)
            ->out,
        0, NULL);
    EXPECT_EQ(field(tried, "cycles"), field(one, "cycles"));
    EXPECT(field(one, "gain") <= before &&
           fabs(field(one, "gain") - (field(tried, "samples_per_second") / rate - 1)) < 1e-9);
    before = field(one, "gain");
    json_decref(tried);
  }
  json_t *chain = json_object_get(json_object_get(report, "first_cause"), "chain");
  EXPECT(json_array_size(chain) >= 2);
  EXPECT_STR(json_string_value(json_array_get(chain, 0)), "mx");
  EXPECT_STR(json_string_value(json_array_get(chain, 1)), "agcu");
  for (size_t i = 2; i < json_array_size(chain); i++)
    EXPECT(!strcmp(json_string_value(json_array_get(chain, i)), "port") || i + 1 < json_array_size(chain));
  json_decref(report);
}
