/* The command as a user runs it: exit status, one line on stderr, no partial files. */
#include "runtime/npy.h"
#include "tests/command.h"
#include "tests/harness.h"
#include "tests/runtime/command_support.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TG_TEST(command, refusals_are_one_line_and_leave_no_file) {
  static const struct {
    const char *line, *says;
  } cases[] = {
      {"", "no command"},
      {"sweep", "MODEL.onnx"},
      {"sweep gemm.onnx --policy mp9", "mp9"},
      {"run gemm.onnx --energy 3nm", "energy \"3nm\": is no node and no .yaml file"},
      {"run gemm.onnx --energy 45nm,mac=2", "energy: there is no price \"mac\""},
      {"run gemm.tgb --energy none.yaml", "energy \"none.yaml\": "},
      {"sweep gemm.tgb", "compiled program"},
      {"regress s.yaml", "s.yaml"},
      {"run", "needs MODEL.onnx"},
      {"run gemm.onnx --trace t.foo", "t.foo: a trace is a .pftrace or a .json file"},
      {"run gemm.onnx --trace t.foo.gz", "t.foo.gz: a trace is"},
      {"run gemm.onnx --arch twice.yaml", "twice.yaml: line 3: rows: is given twice"},
      {"sweep gemm.onnx --task fifo", "fifo: cannot be read: it is no regular file"},
      {"tune gemm.onnx --max-error 1 --task fifo", "fifo: cannot be read: it is no regular file"},
      {"run a b", "one too many"},
      {"run /no/such.onnx", "/no/such.onnx"},
      {"run gemm.onnx --graphamp-preset mp5", "mp5"},
      {"run gemm.onnx --amp unicorn", "unicorn"},
      {"run gemm.onnx --amp hmp --graphamp-preset mp0", "two policies"},
      {"run gemm.onnx --amp raf --enable-mixed-precision-ops gemm", "--enable-mixed-precision-ops"},
      {"run gemm.onnx --enable-mixed-precision-ops gemm,norm", "norm"},
      {"run gemm.onnx --amp-dtype fp16", "--amp-dtype needs --amp"},
      {"run gemm.onnx --amp raf --hmp-opt-level O2", "--hmp-opt-level needs --amp hmp"},
      {"run gemm.onnx --amp hmp --autocast-device cpu", "--autocast-device needs --amp autocast"},
      {"run gemm.onnx --amp hmp --bf16-ops no-such.txt", "no-such.txt"},
      {"run gemm.onnx --cast-rules gemm.onnx", "gemm.onnx: line"},
      {"run gemm.onnx --matmul-precision lower", "lower"},
      {"run gemm.onnx --conv-precision lower", "lower"},
      {"run gemm.onnx --cpu-repeats 0", "--cpu-repeats"},
      {"run gemm.onnx --cpu-repeats 2147483648", "--cpu-repeats: 2147483648 is more than 1000"},
      {"run gemm.onnx --cpu-warmup 4294967297", "--cpu-warmup: 4294967297 is more than 1000"},
      {"inspect gemm.tgb --casts", "--casts comes too late"},
      {"run gemm.onnx --wat", "--wat"},
      {"run gemm.onnx --dram ddr9", "the devices there are: simple, ddr4-3200"},
      {"run gemm.tgb --dram ddr4-3200,tCL=0", "dram tCL: 0 is not in 1..1000000"},
      {"compile gemm.onnx -o x.tgb --dram no-such.yaml", "no-such.yaml"},
      {"run gemm.onnx --dram hbm2e-3200,channels=3", "channels"},
      {"run gemm.onnx --arch moon", "moon"},
      {"run gemm.onnx --arch tiny --set rows", "rows"},
      {"run gemm.onnx --arch tiny --set rows=99", "rows"},
      {"run gemm.onnx --arch tiny --set colour=1", "colour"},
      {"run gemm.onnx --arch tiny --disable-graphamp '('", "("},
      {"run gemm.onnx --arch tiny --batch 3", "batch"},
      {"run gemm.onnx --arch tiny --dim Q=3", "Q"},
      {"run gemm.onnx --arch tiny --dim N", "--dim"},
      {"run mlp.onnx --arch tiny --dim N=x", "--dim"},
      {"run gemm.onnx --arch tiny --input A", "--input"},
      {"run gemm.onnx --arch tiny --input A=no.npy", "no.npy"},
      {"run gemm.onnx --arch tiny --input A=gemm.onnx", "no .npy file"},
      {"run gemm.onnx --arch tiny --engine systemc --wave x.fst", "--wave"},
      {"run gemm.onnx --arch tiny --engine functional --timing-only", "--timing-only"},
      {"run gemm.onnx --arch tiny --engine functional --trace t.json", "--trace"},
      {"run gemm.onnx --arch tiny --engine functional --profile", "--profile"},
      {"run gemm.onnx --arch tiny --engine functional --energy 7nm", "--energy"},
      {"run gemm.onnx --arch tiny --trace no/such/t.json", "no/such/t.json"},
      {"run gemm.onnx --arch tiny --trace-window 1:2", "--trace"},
      {"run gemm.onnx --arch tiny --trace t.json --trace-window 5:3", "--trace-window"},
      {"run gemm.onnx --arch tiny --trace t.json --trace-window :", "--trace-window"},
      {"run gemm.onnx --arch tiny --trace t.json --trace-window 1:2x", "--trace-window"},
      {"run gemm.onnx --arch tiny --golden C", "--golden"},
      {"run gemm.onnx --arch tiny --golden Q=gemm.onnx", "no .npy file"},
      {"run gemm.onnx --arch tiny --golden C=x.npy --timing-only", "--golden"},
      {"run gemm.onnx --arch tiny --report r.txt", "r.txt"},
      {"run gemm.onnx --arch tiny --report no/such/r.json", "no/such/r.json"},
      {"run gemm.onnx --arch tiny --output-dir no/such/folder", "no/such/folder"},
      {"run gemm.tgb --arch tiny", "--arch comes too late"},
      {"compile gemm.onnx --arch tiny", "-o"},
      {"compile gemm.onnx --arch tiny -o no/such/p.tgb", "no/such/p.tgb"},
      {"verify gemm.onnx --arch tiny --engines functional", "at least two"},
      {"verify gemm.onnx --arch tiny --engines functional,abacus", "abacus"},
      {"fp", "needs X"},
      {"fp 0.1x", "0.1x"},
      {"fp ''", "is no number"},
      {"fp 1 2", "\"1\""},
      {"fp 1 pow 2", "pow"},
      {"fp add 1", "add takes 2 operands, not 1"},
      {"fp fma 1 2 3 4", "fma takes 3 operands, not 4"},
      {"fp 1 sqrt 2", "before its operands"},
      {"fp 0x3f80", "bf16:0x3f80"},
      {"fp 0x3f800000 --format bf16", "16 bits"},
      {"fp tf32:0x3f800001", "low 13 bits"},
      {"fp e5m2:0x40", "e5m2"},
      {"fp 1e1001", "10^1000"},
      {"fp 1 --format bf15", "bf15"},
      {"fp 1 --row 4294967296", "--row"},
      {"run gemm.onnx --row 1", "--row"},
      {"zoo unicorn -o u.onnx", "unicorn"},
      {"zoo gemm", "-o"},
      {"zoo gemm --m 9999999999 --n 9999999999 -o g.onnx", "2^34"},
      {"zoo vit-tiny --batch 4294967296 -o v.onnx", "2^34"},
  };
  small_models();
  if (!made("fifo"))
    EXPECT_EQ(shell("mkfifo fifo && printf 'base: tiny\\nrows: 2\\nrows: 4\\n' > twice.yaml"), 0);
  int files = files_here();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome *o = tegula("%s", cases[i].line);
    const char *newline = strchr(o->err, '\n');
    if (o->status != 2 || !strstr(o->err, cases[i].says) || strncmp(o->err, "tegula: ", 8) || !newline ||
        newline[1])
      tg_test_fail(__FILE__, __LINE__, "tegula %s: status %d, stderr \"%s\"", cases[i].line, o->status,
                   o->err);
    EXPECT_STR(o->out, "");
  }
  EXPECT_EQ(files_here(), files);
}

TG_TEST(command, bad_models_are_refused) {
  static const char *const names[] = {"005_truncated_last_byte", "013_json_text", "025_opset_999",
                                      "060_dims_product_overflow64", "088_ext_parent_etc_passwd"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const outcome *o = tegula("compile '%s/bad/%s.onnx' --arch tiny -o bad.tgb", tg_test_data(), names[i]);
    EXPECT_EQ(o->status, 2);
    EXPECT_HAS(o->err, names[i]);
    EXPECT(!made("bad.tgb"));
  }
}

TG_TEST(command, help_version_and_list) {
  const outcome *o = tegula("--help");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "compile");
  o = tegula("run --help");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "--graphamp-preset");
  o = tegula("--version");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "tegula ");
  o = tegula("zoo gemm --json -o said.onnx");
  EXPECT_HAS(o->out, "\"file\": \"said.onnx\"");
  o = tegula("zoo --list");
  EXPECT_HAS(o->out, "lenet");
}

TG_TEST(command, run_writes_outputs_and_reports_and_prints_json) {
  small_models();
  const outcome *o =
      tegula("run gemm.onnx --arch tiny --graphamp-preset mp1 --json -q --output-dir outs --report "
             "r.json --report r.html");
  EXPECT_EQ(o->status, 0);
  EXPECT_STR(o->err, ""); /* no progress in a pipe */
  json_t *report = json_loads(o->out, 0, NULL);
  EXPECT_STR(json_string_value(json_object_get(json_object_get(report, "precision"), "preset")), "mp1");
  EXPECT(json_integer_value(json_object_get(report, "cycles")) > 0);
  json_decref(report);
  EXPECT(made("r.json") && made("r.html"));
  char path[512];
  snprintf(path, sizeof path, "%s/outs/C.npy", tg_test_dir());
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_npy array;
  ASSERT(!tg_npy_read(&arena, path, &array, &diag));
  EXPECT(array.rank == 2 && array.dims[0] == 12 && array.dims[1] == 8 && array.dtype == TG_F32);
  tg_arena_release(&arena);
  EXPECT_STR(tegula("run gemm.tgb -q")->out, "");
}

TG_TEST(command, inputs_open_the_batch) {
  small_models();
  float x[3 * 784] = {1};
  char path[512];
  snprintf(path, sizeof path, "%s/x.npy", tg_test_dir());
  tg_diag diag = {""};
  ASSERT(!tg_npy_write(path, TG_F32, 2, (int64_t[]){3, 784}, x, &diag));
  const outcome *o =
      tegula("run mlp.onnx --arch tiny --engine functional --input x=x.npy --json --no-cpu-reference");
  EXPECT_EQ(o->status, 0);
  json_t *report = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_integer_value(json_object_get(report, "samples")), 3);
  EXPECT(json_is_null(json_object_get(report, "cpu_reference")));
  EXPECT(json_is_object(json_object_get(report, "error_vs_fp32")));
  json_decref(report);
}

TG_TEST(command, a_cycle_limit_is_a_fault) {
  small_models();
  const outcome *o = tegula("run gemm.onnx --arch tiny --max-cycles 100");
  EXPECT_EQ(o->status, 3);
  EXPECT_HAS(o->err, "tegula: ");
}

/* They take other cycles, for the same bits. */
/* A memory device: of the array's YAML, of the option, for a model and for a program that exists already; its report. */
TG_TEST(command, memory_devices) {
  small_models();
  char path[512];
  snprintf(path, sizeof path, "%s/device.yaml", tg_test_dir());
  FILE *file = fopen(path, "w");
  fputs("base: tiny\ndram: lpddr5-6400,channels=1\n", file);
  fclose(file);
  static const struct {
    const char *line, *device;
  } runs[] = {{"gemm.onnx --arch tiny --dram lpddr5-6400,channels=1", "lpddr5-6400,channels=1"},
              {"gemm.onnx --arch device.yaml", "lpddr5-6400,channels=1"},
              {"gemm.tgb --dram lpddr5-6400,channels=1", "lpddr5-6400,channels=1"},
              {"gemm.tgb", "simple"}};
  long long cycles[4];
  for (int i = 0; i < 4; i++) {
    const outcome *o = tegula("run %s --timing-only --no-cpu-reference --json", runs[i].line);
    EXPECT_EQ(o->status, 0);
    json_t *report = json_loads(o->out, 0, NULL), *dram = json_object_get(report, "dram");
    cycles[i] = json_integer_value(json_object_get(report, "cycles"));
    EXPECT_STR(json_string_value(json_object_get(json_object_get(report, "arch"), "dram")), runs[i].device);
    EXPECT_EQ(json_is_null(dram), i == 3);
    long long read = 0, hits = 0;
    size_t s;
    json_t *section;
    json_array_foreach(json_object_get(report, "sections"), s, section) {
      const json_t *own = json_object_get(section, "dram");
      read += json_integer_value(json_object_get(own, "read"));
      hits += json_integer_value(json_object_get(own, "row_hits"));
    }
    EXPECT_EQ(json_integer_value(json_object_get(dram, "read")), read);
    EXPECT_EQ(json_integer_value(json_object_get(dram, "row_hits")), hits);
    /* A (12 x 20) and B (20 x 8) are read, C (12 x 8) is written, all FP32 and in atoms of their own */
    if (i < 3) EXPECT(read >= 960 + 640);
    if (i < 3) EXPECT_EQ(json_integer_value(json_object_get(dram, "write")), 384);
    if (i < 3) EXPECT(json_number_value(json_object_get(dram, "share_of_peak")) > 0);
    json_decref(report);
  }
  EXPECT_EQ(cycles[0], cycles[1]);
  EXPECT(cycles[2] > cycles[3]); /* one program, tiled for an ideal memory */
  EXPECT(strstr(tegula("run gemm.tgb --dram ddr4-3200 --timing-only --no-cpu-reference")->out, "% row hits"));
}

static json_t *energy_of(const char *arguments) {
  const outcome *o = tegula("run %s --no-cpu-reference --json", arguments);
  EXPECT_EQ(o->status, 0);
  return json_loads(o->out, 0, NULL);
}

/* The sums of a report: kinds, sections and watts belong together, counts are those of a run with values, and prices change
 * what they are of in proportion. */
TG_TEST(command, energy_adds_up) {
  EXPECT_EQ(tegula("zoo gemm --m 16 --n 16 --k 16 -o even.onnx")->status, 0);
  EXPECT_EQ(tegula("compile even.onnx --arch tiny -o even.tgb -q")->status, 0);
  EXPECT_EQ(shell("printf 'base: 45nm\\nmac_fp32: 9.2\\n' > own.yaml"), 0);
  json_t *report = energy_of("even.onnx --arch tiny --timing-only"),
         *energy = json_object_get(report, "energy");
  double kinds = 0, sections = 0, seconds = field(report, "seconds");
  const char *kind;
  json_t *value;
  size_t s;
  json_object_foreach(json_object_get(energy, "by_kind"), kind, value) kinds += json_number_value(value);
  json_array_foreach(json_object_get(report, "sections"), s, value) sections +=
      field(json_object_get(value, "energy"), "joules");
  double joules = field(energy, "joules"), mx = field(json_object_get(energy, "by_kind"), "mx");
  EXPECT(joules > 0 && fabs(kinds - joules) < 1e-9 * joules && fabs(sections - joules) < 1e-9 * joules);
  EXPECT(fabs(field(energy, "watts") * seconds - joules) < 1e-9 * joules);
  EXPECT(fabs(16 * field(energy, "joules_per_sample") - joules) < 1e-9 * joules); /* A has 16 rows */
  /* 4 x 4 x 4 blocks of 4 x 4 x 4: nothing is padded */
  EXPECT_EQ(json_integer_value(json_object_get(json_object_get(energy, "actions"), "mac_fp32")),
            16 * 16 * 16);
  EXPECT(fabs(mx - 16 * 16 * 16 * 4.6e-12) < 1e-9 * mx);
  json_t *again = energy_of("even.tgb --energy own.yaml"), *other = json_object_get(again, "energy");
  EXPECT(json_equal(json_object_get(energy, "actions"), json_object_get(other, "actions")));
  EXPECT(fabs(field(json_object_get(other, "by_kind"), "mx") - 2 * mx) < 1e-9 * mx);
  EXPECT_STR(json_string_value(json_object_get(other, "prices")), "45nm,mac_fp32=9.2");
  json_t *functional = energy_of("even.onnx --arch tiny --engine functional");
  EXPECT(json_is_null(json_object_get(functional, "energy")));
  EXPECT_HAS(tegula("run even.onnx --arch tiny --timing-only --no-cpu-reference")->out,
             "on average; prices 45nm");
  json_decref(report);
  json_decref(again);
  json_decref(functional);
}

TG_TEST(command, tilings_can_be_drawn) {
  small_models();
  long long best = cycles_of(tegula("run mlp.onnx --no-cpu-reference -q --json --output-dir best")),
            any = cycles_of(
                tegula("run mlp.onnx --no-cpu-reference -q --json --output-dir any --any-tiling 3"));
  EXPECT(best > 0 && any > best);
  EXPECT_EQ(shell("diff -r best any"), 0);
  EXPECT_HAS(tegula("run gemm.tgb --any-tiling 3")->err, "--any-tiling comes too late");
}

TG_TEST(command, levels_give_the_same_bits) {
  small_models();
  long long cycles[3];
  for (int i = 0; i < 3; i++) {
    static const char *const runs[] = {
        "run mlp.onnx --no-cpu-reference -q --json --output-dir o0 --opt o0 --graphamp-preset mp1",
        "run mlp.onnx --no-cpu-reference -q --json --output-dir o1 --opt o1 --graphamp-preset mp1",
        "run mlp.onnx --no-cpu-reference -q --json --output-dir o3 --graphamp-preset mp1"};
    cycles[i] = cycles_of(tegula(runs[i]));
  }
  EXPECT(cycles[0] > cycles[1] && cycles[1] >= cycles[2] && cycles[2] > 0);
  EXPECT_EQ(shell("diff -r o0 o1 && diff -r o1 o3"), 0);
  EXPECT_HAS(tegula("run mlp.onnx --opt o2")->err, "--opt: \"o2\" is none of o0|o1|o3");
  EXPECT_HAS(tegula("run mlp.onnx --attention blocked:many")->err,
             "attention: \"blocked:many\" is none of exact|blocked|blocked:N");
  EXPECT_HAS(tegula("run mlp.onnx --attention blocked:63")->err, "blocks have 64 to 4096 keys");
  EXPECT_HAS(tegula("run mlp.onnx --timing-only --attention blocked --tiling-accum bf16sr")->err,
             "warning: --attention blocked has no effect with --tiling-accum bf16sr");
  EXPECT_HAS(tegula("run gemm.tgb --attention blocked")->err, "--attention comes too late");
  EXPECT_HAS(tegula("run gemm.tgb --opt o0")->err, "--opt comes too late");
  EXPECT_EQ(tegula("sweep mlp.onnx --timing-only --policy mp0 --tiling-accum fp32 --opt o0")->status, 0);
}

TG_TEST(command, verify_says_equal) {
  small_models();
  const outcome *o = tegula("verify gemm.onnx --arch tiny --engines functional,systemc --json");
  EXPECT_EQ(o->status, 0);
  json_t *result = json_loads(o->out, 0, NULL);
  EXPECT(json_is_true(json_object_get(result, "equal_bits")) &&
         json_is_true(json_object_get(result, "equal_cycles")));
  EXPECT(json_is_null(json_object_get(result, "first_difference")));
  EXPECT(json_is_integer(
      json_object_get(json_object_get(json_object_get(result, "engines"), "systemc"), "cycles")));
  EXPECT_EQ(json_array_size(json_object_get(result, "compared")), 2);
  EXPECT_STR(json_string_value(json_array_get(json_object_get(result, "not_compared"), 0)), "rtl");
  json_decref(result);
  EXPECT_HAS(tegula("verify gemm.onnx --arch tiny --engines functional,systemc")->out,
             "2 of 3 engines compared, not rtl\n");
}

/* Not replaced by a file of that name: /dev/null must stay what it is. */
TG_TEST(command, pipes_and_devices_are_written_as_they_are) {
  static const char *const lines[] = {"zoo gemm --m 12 --n 8 --k 20 -o pipe -q",
                                      "compile gemm.onnx --arch tiny -o pipe -q",
                                      "run gemm.onnx --arch tiny --no-cpu-reference --report pipe.json -q"};
  small_models();
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char path[512], bytes[8];
    struct stat there;
    snprintf(path, sizeof path, "%s/%s", tg_test_dir(), strstr(lines[i], "json") ? "pipe.json" : "pipe");
    (void)!mkfifo(path, 0600);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    EXPECT_EQ(tegula("%s", lines[i])->status, 0);
    EXPECT(!stat(path, &there) && S_ISFIFO(there.st_mode));
    EXPECT_EQ(read(reader, bytes, sizeof bytes), sizeof bytes);
    close(reader);
    unlink(path);
  }
}

TG_TEST(command, fp_explains_numbers_and_operations) {
  const outcome *o = tegula("fp 0.1");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->out, "0x3dcccccd  0.1  0|01111011|10011001100110011001101  normal");
  EXPECT_HAS(o->out, "0.100000001490116119384765625");
  EXPECT_HAS(tegula("fp -0.25 --format fp16")->out, "0xb400  -0.25");
  EXPECT_HAS(tegula("fp 3 - -.5 --format=fp32")->out, "0x40600000  3.5");
  EXPECT_HAS(tegula("fp mul 3e38 10 --format bf16")->out, "overflow");
  EXPECT_HAS(tegula("fp --format bf16 0x3f80")->out, "0x3f80  1  0|01111111|0000000  normal");
  EXPECT_HAS(tegula("fp fma 0.1 3 -0.3 --format bf16")->out, "fp32 acc.");
  EXPECT_HAS(tegula("fp 0.1 --seed 3 --col 2")->out, "drawn");
  EXPECT_STR(tegula("fp 0.1 -q")->out, "");
  o = tegula("fp 1 / 3 --json");
  json_t *object = json_loads(o->out, 0, NULL);
  EXPECT_EQ(json_object_size(json_object_get(object, "formats")), 4);
  json_decref(object);
}

TG_TEST(command, models_come_from_standard_input_and_inputs_from_archives) {
  small_models();
  const outcome *o = tegula("compile - --arch tiny -q -o piped.tgb < gemm.onnx && cmp piped.tgb gemm.tgb");
  EXPECT_EQ(o->status, 0);
  EXPECT_EQ(tegula("run - --arch tiny --timing-only --no-cpu-reference < gemm.tgb && true")->status, 2);
  EXPECT_EQ(tegula("run - --timing-only --no-cpu-reference -q < gemm.tgb && true")->status, 0);
  EXPECT_HAS(tegula("inspect - < /dev/null")->err, "standard input");
  o = tegula(
      "sweep - --arch tiny --timing-only --policy mp1 < gemm.onnx && true"); /* loads it more than once */
  EXPECT_EQ(o->status, 0);
}

TG_TEST(command, a_file_that_is_standard_output_is_alone_there) {
  small_models();
  const outcome *o =
      tegula("compile gemm.onnx --arch tiny -o - 2> said | cmp - gemm.tgb && grep sections said");
  EXPECT_EQ(o->status, 0);
  EXPECT_EQ(shell("test -e ./-"), 1);
  o = tegula("sweep gemm.onnx --arch tiny --timing-only --policy mp0 --tiling-accum fp32 --csv - | wc -l | "
             "grep -x 2 && true");
  EXPECT_EQ(o->status, 0);
  o = tegula(
      "compile gemm.onnx --arch tiny --json -o /dev/stdout 2> said | cmp - gemm.tgb && grep model said");
  EXPECT_EQ(o->status, 0);
  o = tegula("compile gemm.onnx --arch tiny -o - 2>&- | cmp - gemm.tgb && true");
  EXPECT_EQ(o->status, 0);
}

TG_TEST(command, what_has_no_effect_is_said) {
  small_models();
  const outcome *o = tegula("inspect gemm.onnx --arch tiny --fp32-params --json");
  EXPECT_EQ(o->status, 0);
  EXPECT_HAS(o->err, "--fp32-params is of training");
  EXPECT_STR(tegula("inspect gemm.onnx --arch tiny --fp32-params -q")->err, "");
}

/* What the shell would offer where there are no files: the words of the parameters' table, of the policies' and of the
 * zoo. */
TG_TEST(command, values_are_completed) {
  char line[1024];
  static const char *const cases[][2] = {{"run --arch e", "edge"},
                                         {"run --arch = e", "edge"},
                                         {"run --engine =", "functional systemc rtl"},
                                         {"run --set port", "port_bytes="},
                                         {"sweep --policy hmp-o", "hmp-o1 hmp-o2"},
                                         {"zoo convm", "convmodel"},
                                         {"train --loss-scale d", "dynamic"}};
  if (access(TEGULA_COMPLETION, R_OK)) SKIP("completions are not built");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(line, sizeof line,
             "mkdir -p nothing && cd nothing && bash -c '. %s; COMP_WORDS=(%s %s); "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tegula; "
             "[ \"${COMPREPLY[*]}\" = \"%s\" ]'",
             TEGULA_COMPLETION, TEGULA_COMMAND, cases[i][0], cases[i][1]);
    if (shell(line)) tg_test_fail(__FILE__, __LINE__, "%s is not completed as %s", cases[i][0], cases[i][1]);
  }
}

TG_TEST(command, a_full_disk_is_an_error) {
  small_models();
  if (access("/dev/full", W_OK)) SKIP("no /dev/full here");
  const outcome *o = tegula(
      "run gemm.onnx --arch tiny --no-cpu-reference -q --output-dir outs2 && ln -s /dev/full full.json && "
      "" TEGULA_COMMAND " run gemm.onnx --arch tiny --no-cpu-reference -q --report full.json");
  EXPECT_EQ(o->status, 2);
  EXPECT_HAS(o->err, "full.json");
}
