/* Tests of the test: with a deliberate defect in the RTL (configuration tiny_faults) or in the SystemC engine
 * (library tegula_systemc_faults) the comparison of the engines must fail on the program named here, and with
 * the same builds but no defect it must pass. */
#include "sim/machine/ordering.h"
#include "sim/systemc/chip.h"
#include "tests/agreement/mapped.h"
#include "tests/harness.h"

#include <stdio.h>

/* No defect, in the build that has them. */
enum { RTL_NONE = 255 };

#define PRODUCT(m, k)                                                                                        \
  "graph \"g\"\ninput %a: f32[" #m "," #k "]\nconst %b: f32[" #k ",41] = seeded(7, 0.5)\n"                   \
  "const %c: f32[41] = seeded(8, 1)\n%m = MatMul(%a, %b) @0\n%s = Add(%m, %c) @1\n%y = Relu(%s) @2\n"        \
  "output \"y\" %y: f32\n"
/* K is so long that neither operand stays, and credits are used again; in the other each wait is needed. */
#define LONG_PRODUCT  PRODUCT(37, 411)
#define SHORT_PRODUCT PRODUCT(37, 70)

/* Two bursts to the store memory of AGCU 0 at once: the second waits until segment 0 is free. */
#define CONTENDED                                                                                            \
  "arch tiny\nsection \"s\"\n"                                                                               \
  "tile 0\ntx send dir=1 flits=8 src_inner=8 dst_inner=8 dst_mask=1\n"                                       \
  "tile 1\ntx send dir=1 flits=8 src_inner=8 dst_base=8 dst_inner=8 dst_mask=1\ninvoke 0 \"i\"\n"

typedef struct defect {
  const char *name;
  const tg_engine *engine;
  uint32_t code;
  bool contended;   /* the program: CONTENDED or LONG_PRODUCT */
  const char *sign; /* a part of what must be reported */
} defect;

/* LONG_PRODUCT as mp0 on tiny has every kind of instruction but GEMMs of narrow formats. */
static const defect defects[] = {
    {"rtl_wrong_rounding_bit", &tg_engine_rtl, TG_RTL_DEFECT_LAST_PLACE, false, "byte 0x"},
    {"rtl_burst_one_late", &tg_engine_rtl, TG_RTL_DEFECT_LATE_BURST, false, "tx context 0 pc 0 ["},
    {"rtl_lost_credit", &tg_engine_rtl, TG_RTL_DEFECT_LOST_POST, false, "deadlock"},
    {"rtl_ignored_wait", &tg_engine_rtl, TG_RTL_DEFECT_IGNORED_WAIT, false, " own "},
    {"rtl_arbiter_one_early", &tg_engine_rtl, TG_RTL_DEFECT_SHORT_RESERVATION, true, "tx context 0 pc 0 ["},
    {"systemc_product_one_late", &tg_engine_systemc, TG_DEFECT_MX_LATENCY, false, "mx context 0 pc 0 ["},
    {"systemc_lost_credit", &tg_engine_systemc, TG_DEFECT_LOST_CREDIT, false, "deadlock"},
    {"systemc_ignored_wait", &tg_engine_systemc, TG_DEFECT_IGNORED_WAIT, false, " own "},
    {"systemc_wrong_value_bit", &tg_engine_systemc, TG_DEFECT_VALUE_BIT, false, "byte 0x"},
};

/* A graph, mapped. */
static tg_status load_product(const char *text, tg_program **out_program, tg_diag *diag) {
  tg_precision_options precision;
  tg_params params;
  tg_precision_defaults(&precision);
  tg_status status = chip_params(CHIP_TINY, &params, diag);
  return status ? status : map_text(text, &params, &precision, 0, out_program, diag);
}

/* What is different, or NULL; in storage of the function. */
static const char *difference_of(const tg_program *program, const defect *d, uint32_t code) {
  static char text[sizeof(tg_diag)];
  bool rtl = d->engine == &tg_engine_rtl;
  tg_run_options options = {.threads = 1, .max_cycles = 100000}, with = options;
  with.fault = code;
  engine_run right = engine_run_numbers(rtl ? &tg_engine_systemc : &tg_engine_rtl, program, options),
             wrong = engine_run_numbers(d->engine, program, with);
  const char *difference = right.status ? right.diag.message : engine_runs_differ(&right, &wrong, true);
  if (difference) snprintf(text, sizeof text, "%s", difference);
  engine_run_release(&right);
  engine_run_release(&wrong);
  return difference ? text : NULL;
}

static void check_defect(const void *user) {
  const defect *d = user;
  tg_diag diag = {""};
  tg_program *program = NULL;
  tg_status status = d->contended ? tg_program_parse(CONTENDED, &program, &diag)
                                  : load_product(LONG_PRODUCT, &program, &diag);
  if (status) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  ASSERT(program != NULL);
  const char *difference = difference_of(program, d, d->engine == &tg_engine_rtl ? RTL_NONE : TG_DEFECT_NONE);
  if (difference) tg_test_fail(__FILE__, __LINE__, "without the defect: %s", difference);
  difference = difference_of(program, d, d->code);
  EXPECT_HAS(difference, d->sign);
  tg_program_destroy(program);
}

__attribute__((constructor)) static void register_defects(void) {
  for (size_t i = 0; i < sizeof defects / sizeof *defects; i++)
    tg_test_register_row("defects", defects[i].name, __FILE__, __LINE__, check_defect, &defects[i]);
}

/* Every wait of the units of tile 0 and of the AGCUs of its row and column, each removed alone. */
static void refuse_without_waits(tg_program *program, tg_queue *queue, int *removed) {
  for (uint32_t pc = 0; pc < queue->count; pc++)
    for (int w = 0; w < 4; w++) {
      int64_t *on = &queue->instrs[pc].common.wait_on[w];
      tg_diag diag = {""};
      if (!*on) continue;
      *on = 0;
      if (tg_check_ordering(program, &diag) != TG_MISMATCH)
        tg_test_fail(__FILE__, __LINE__, "pc %u without wait %d is not refused", pc, w);
      *on = 1;
      ++*removed;
    }
}

TG_TEST(defects, a_mapped_program_without_one_wait_is_not_ordered) {
  tg_diag diag = {""};
  tg_program *program = NULL;
  if (load_product(SHORT_PRODUCT, &program, &diag)) tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  ASSERT(program != NULL);
  EXPECT_EQ(tg_check_ordering(program, &diag), TG_OK);
  tg_section *section = &program->sections[0];
  int removed = 0;
  refuse_without_waits(program, &section->tiles[0].mx, &removed);
  refuse_without_waits(program, &section->tiles[0].vx, &removed);
  refuse_without_waits(program, &section->tiles[0].tx, &removed);
  EXPECT(removed >= 5);
  tg_program_destroy(program);
}
