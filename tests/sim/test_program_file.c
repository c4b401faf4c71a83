/* Compiled programs, .tgb and as text: what is written is read, and what is damaged is refused, whether its sum is right or not. */
#include "frontend/base/hash.h"
#include "sim/machine/program.h"
#include "tests/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD                                                                                                 \
  "arch tiny\ndram 4096\nmodel \"a %22model%22\"\noptions \"none\"\nseed 7\n"                                \
  "tensor input fp32 0 4,4 \"in\"\ntype i8 100\ntensor constant bf16 0x40 2 \"c\"\ndata 803f0040\n"          \
  "tensor output fp32 0x80 2 \"out\"\ntype u8 0\nknown 01ff\n"
#define SECTION                                                                                              \
  "section \"s\"\nkept 0x10\ntile 1\nsem 0=3\nconst 0x3f800000\nword | nop | st s1.lo = r0\n"                \
  "mx sync\nvx sync wait_on=1 wait_sem=0\ntx sync\nagcu 2\nsem 1=2\nctx 0 sync\nctx 2 sync loop_count=2\n"
#define INVOKE                                                                                               \
  "invoke 0 \"run\"\nbase 1=64\nkey 1=5\nmacs 1 2 3 4\nsums 5 6\nestimate 77\ninvoke 0 \"again\"\n"

static tg_program *parsed(const char *text) {
  tg_program *program;
  tg_diag diag = {""};
  if (!tg_program_parse(text, &program, &diag)) return program;
  tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  return NULL;
}

static void expect_same_text(const tg_program *a, const tg_program *b) {
  char *one = tg_program_print(a), *other = tg_program_print(b);
  EXPECT_STR(one, other);
  free(one);
  free(other);
}

/* ---- text ---- */

TG_TEST(program_text, prints_as_it_is_parsed) {
  tg_program *program = parsed(HEAD SECTION INVOKE);
  ASSERT(program);
  char *text = tg_program_print(program);
  tg_program *again = parsed(text);
  ASSERT(again);
  expect_same_text(program, again);
  EXPECT_EQ(again->invocations[0].macs[3], 4);
  EXPECT_EQ(again->invocations[0].sum_bytes, 6);
  EXPECT_EQ(again->invocations[0].estimated_cycles, 77);
  EXPECT_EQ(again->tensors[2].known[1], 255);
  EXPECT_STR(again->model, "a \"model\"");
  free(text);
  tg_program_destroy(program);
  tg_program_destroy(again);
}

TG_TEST(program_text, refuses_by_line) {
  static const struct {
    const char *text, *says;
  } cases[] = {{"arch none", "line 1: arch: "},
               {"set rows=0", "line 1: set: parameter rows: 0 is not in 1..16"},
               {SECTION "set rows=3", "set: sections have the array's tiles: it stands before them"},
               {SECTION "arch edge", "arch: sections have the array's tiles: it stands before them"},
               {"device none", "line 1: device: "},
               {"model name", "line 1: model: wants a quoted text"},
               {"options \"name", "line 1: options: wants a quoted text"},
               {"section name", "wants: section \"NAME\""},
               {"tile 0", "there is no such tile or AGCU here"},
               {"section \"s\"\ntile 4", "line 2: tile: there is no such tile or AGCU here"},
               {"section \"s\"\nagcu 4", "there is no such tile or AGCU here"},
               {"tensor input fp32 0 4", "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\""},
               {"tensor input fp32 0 4 name", "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\""},
               {"tensor none fp32 0 4 \"t\"", "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\""},
               {"tensor input fp8 0 4 \"t\"", "wants: tensor ROLE STORAGE ADDRESS DIMS \"NAME\""},
               {"tensor input fp32 0 x \"t\"", "bad dimensions"},
               {"tensor input fp32 0 4,-1 \"t\"", "bad dimensions"},
               {"tensor input fp32 0 1,1,1,1,1,1,1,1,1 \"t\"", "bad dimensions"},
               {"tensor input fp32 0 4294967296,4294967296 \"t\"", "bad dimensions"},
               {"tensor constant fp32 0 268435456 \"t\"", "at most 256 MiB"},
               {"type i8 0", "wants: type NAME LIMIT, of a tensor"},
               {HEAD "type i8", "wants: type NAME LIMIT, of a tensor"},
               {HEAD "type i9 0", "wants: type NAME LIMIT, of a tensor"},
               {"data 00", "data belongs to a constant tensor"},
               {HEAD "data 00", "data belongs to a constant tensor"},
               {"tensor constant fp32 0 1 \"t\"\ndata 0011223344", "bad data"},
               {"tensor constant fp32 0 1 \"t\"\ndata 001", "bad data"},
               {"tensor constant fp32 0 1 \"t\"\ndata xx", "bad data"},
               {"known 00", "known elements belong to a tensor with a type"},
               {"tensor output fp32 0 1 \"t\"\nknown 00", "known elements belong to a tensor with a type"},
               {"tensor output fp32 0 268435457 \"t\"\ntype u8 0\nknown 00", "at most 256 MiB"},
               {"invoke 0 name", "wants: invoke SECTION \"NAME\""},
               {"invoke 0 \"i", "wants: invoke SECTION \"NAME\""},
               {"invoke 0 \"i\"\nbase 32=0", "wants NUMBER=VALUE pairs"},
               {"invoke 0 \"i\"\nbase 1 0", "wants NUMBER=VALUE pairs"},
               {"invoke 0 \"i\"\nbase x=0", "wants NUMBER=VALUE pairs"},
               {"invoke 0 \"i\"\nkey 1=", "wants NUMBER=VALUE pairs"},
               {"invoke 0 \"i\"\nmacs 1 2 3", "not understood in an invocation"},
               {"invoke 0 \"i\"\nsums 1", "not understood in an invocation"},
               {"invoke 0 \"i\"\nestimate x", "not understood in an invocation"},
               {"section \"s\"\nkept", "wants banks, as bits of a number of 32"},
               {"section \"s\"\nkept 1x", "wants banks, as bits of a number of 32"},
               {"section \"s\"\nkept 0x100000000", "wants banks, as bits of a number of 32"},
               {"section \"s\"\ntile 0\nkept 1", "not understood in a tile"},
               {"section \"s\"\nagcu 0\nkept 1", "not understood here"},
               {"section \"s\"\nagcu 0\nmx sync", "not understood here"},
               {"section \"s\"\nsem 0=1", "not understood here"},
               {"section \"s\"\ntile 0\nsem 128=1", "wants NUMBER=VALUE pairs"},
               {"section \"s\"\ntile 0\nrx sync", "not understood in a tile"},
               {"section \"s\"\ntile 0\nword divide", "microcode slot \"divide\" is not understood"},
               {"section \"s\"\nagcu 0\nctx 4 sync", "there is no such context"},
               {"set vx_constants=8\nsection \"s\"\ntile 0\nconst 0\nconst 0\nconst 0\nconst 0\nconst "
                "0\nconst 0\nconst 0\nconst 0\nconst 0",
                "line 12: const: too many constants"},
               {"set p=3", "p"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_diag diag = {""};
    tg_program *program;
    if (tg_program_parse(cases[i].text, &program, &diag) != TG_INVALID ||
        !strstr(diag.message, cases[i].says))
      tg_test_fail(__FILE__, __LINE__, "\"%s\": \"%s\", not \"%s\"", cases[i].text, diag.message,
                   cases[i].says);
  }
  char words[17 * 5 + 64] = "set microcode_words=16\nsection \"s\"\ntile 0\n";
  for (int i = 0; i < 17; i++) strcat(words, "word\n");
  tg_diag diag = {""};
  tg_program *program;
  EXPECT_EQ(tg_program_parse(words, &program, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "line 20: word: too many microcode words");
}

/* ---- files ---- */

/* The bytes of the file of a program, which the caller frees. */
static uint8_t *bytes_of(const tg_program *program, size_t *out_size) {
  char path[512];
  tg_diag diag = {""};
  snprintf(path, sizeof path, "%s/p.tgb", tg_test_dir());
  EXPECT_EQ(tg_program_write(program, path, &diag), TG_OK);
  EXPECT(tg_is_program_file(path));
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *out_size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*out_size);
  if (bytes && fread(bytes, 1, *out_size, file) != *out_size) tg_test_fail(__FILE__, __LINE__, "short file");
  fclose(file);
  return bytes;
}

static tg_status read_bytes(const uint8_t *bytes, size_t size, tg_program **program, tg_diag *diag) {
  *diag = (tg_diag){""};
  *program = NULL;
  return tg_program_read_memory("p", bytes, size, program, diag);
}

static void correct_sum(uint8_t *bytes, size_t size) {
  uint64_t sum = tg_hash(bytes, size - 8);
  memcpy(bytes + size - 8, &sum, 8);
}

TG_TEST(program_file, what_is_written_is_read) {
  tg_program *program = parsed(HEAD SECTION INVOKE), *again;
  tg_diag diag = {""};
  char path[512];
  ASSERT(program);
  snprintf(path, sizeof path, "%s/q.tgb", tg_test_dir());
  EXPECT_EQ(tg_program_write(program, path, &diag), TG_OK);
  ASSERT(!tg_program_read(path, &again, &diag));
  expect_same_text(program, again);
  tg_program_destroy(again);
  snprintf(path, sizeof path, "%s/none/q.tgb", tg_test_dir());
  EXPECT_EQ(tg_program_write(program, path, &diag), TG_INVALID);
  EXPECT_EQ(tg_program_read(path, &again, &diag), TG_INVALID);
  EXPECT(!tg_is_program_file(path));
  EXPECT(!tg_is_program_file(tg_test_dir()));
  snprintf(path, sizeof path, "%s/empty.tgb", tg_test_dir());
  FILE *file = fopen(path, "wb");
  ASSERT(file);
  fclose(file);
  EXPECT(!tg_is_program_file(path));
  tg_program_destroy(program);
}

TG_TEST(program_file, damage_is_noticed) {
  tg_program *program = parsed(HEAD SECTION INVOKE), *read;
  tg_diag diag;
  size_t size = 0;
  ASSERT(program);
  uint8_t *bytes = bytes_of(program, &size);
  ASSERT(bytes);
  EXPECT_EQ(read_bytes(bytes, 15, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "p: not a Tegula program");
  bytes[7]++;
  EXPECT_EQ(read_bytes(bytes, size, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "compile the model again");
  bytes[7]--, bytes[0] = 'S';
  EXPECT_EQ(read_bytes(bytes, size, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "not a Tegula program");
  bytes[0] = 'T', bytes[size / 2] ^= 1;
  EXPECT_EQ(read_bytes(bytes, size, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "damaged (the checksum does not match)");
  bytes[size / 2] ^= 1;
  EXPECT_EQ(read_bytes(bytes, size - 1, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "damaged (the checksum does not match)");
  /* Whatever is cut off, and wherever a word is put in. */
  for (size_t cut = 8; cut <= size - 24; cut += 8) {
    uint8_t *part = malloc(size);
    ASSERT(part);
    memcpy(part, bytes, size);
    correct_sum(part, size - cut);
    EXPECT_EQ(read_bytes(part, size - cut, &read, &diag), TG_INVALID);
    free(part);
  }
  uint8_t *longer = calloc(1, size + 8);
  ASSERT(longer);
  memcpy(longer, bytes, size - 8);
  correct_sum(longer, size + 8);
  EXPECT_EQ(read_bytes(longer, size + 8, &read, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "its structure is damaged");
  free(longer);
  free(bytes);
  tg_program_destroy(program);
}

/* Each word in turn is another number, and the sum right: what is read then has been checked, and is written and read again. A
 * bit that is read is written, too: none is passed over. */
TG_TEST(program_file, words_of_a_file_may_be_anything) {
  static const uint64_t others[] = {0, 1ull << 32, 7, 0x10000, 1, 1ull << 63, UINT64_MAX};
  tg_program *program = parsed(HEAD SECTION INVOKE);
  size_t size = 0, read_count = 0, refused_count = 0;
  ASSERT(program);
  uint8_t *bytes = bytes_of(program, &size);
  ASSERT(bytes);
  for (size_t at = 8; at < size - 8; at += 8)
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
      uint64_t was, word;
      memcpy(&was, bytes + at, 8);
      word = i % 2 ? was ^ others[i] : others[i];
      memcpy(bytes + at, &word, 8);
      correct_sum(bytes, size);
      tg_program *changed, *again;
      tg_diag diag;
      tg_status status = read_bytes(bytes, size, &changed, &diag);
      EXPECT_EQ(status != TG_OK, *diag.message != 0);
      refused_count += status != TG_OK;
      if (!status && (i == 1 || read_count % 16 == 0)) { /* files take their time */
        size_t length = 0;
        uint8_t *written = bytes_of(changed, &length);
        EXPECT(written && !read_bytes(written, length, &again, &diag));
        if (written && i == 1 && (length != size || memcmp(written, bytes, size) != 0))
          tg_test_fail(__FILE__, __LINE__, "word %zu: a bit was passed over", at / 8);
        if (written && !*diag.message) {
          expect_same_text(changed, again);
          tg_program_destroy(again);
        }
        free(written);
      }
      read_count += !status;
      tg_program_destroy(changed);
      memcpy(bytes + at, &was, 8);
    }
  EXPECT(read_count > 100);
  EXPECT(refused_count > 1000);
  free(bytes);
  tg_program_destroy(program);
}
