/* Several groups of a convolution in a product: the same bits as the reference's chains of multiply-adds, whatever is filled up and
 * however they are cut; proved in order. */
#include "tests/mapper/randomized_case.h"

#define CONV(x, w, attributes)                                                                               \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n%y = Conv(%x, %w) " attributes  \
  " @2\noutput \"y\" %y: f32\n"

/* Eight groups of an image so wide, with a bias and a residual. */
#define WITH_A_TAIL(width)                                                                                   \
  "graph \"g\"\ninput %x: f32[1,24,10," width "]\ninput %z: f32[1,40,10," width "]\n"                        \
  "const %w: f32[40,3,3,3] = seeded(1, 0.3)\nconst %b: f32[40] = seeded(2, 0.3)\n"                           \
  "%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] group=8 @2\n%s = Add(%a, %z) @3\n"                \
  "%y = Relu(%s) @4\noutput \"y\" %y: f32\n"

/* Several groups in a product, whose channels and columns are whole blocks. */
static const randomized_case of_groups[] = {
    {"groups",
     CONV("1,32,8,9", "32,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"groups_of_half_blocks",
     CONV("2,16,9,7", "16,4,3,3", "kernel_shape=[3,3] strides=[2,1] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"groups_of_pixels",
     CONV("3,32,5,7", "32,8,1,1", "kernel_shape=[1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
    {"groups_dilated",
     CONV("1,32,12,13", "64,8,3,2", "kernel_shape=[3,2] dilations=[2,3] pads=[2,1,2,2] group=4"),
     TG_PRESET_MP0,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"groups_in_slabs",
     CONV("1,32,33,6", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=2"),
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"groups_of_an_input_gradient",
     "graph \"g\"\ninput %d: f32[2,64,6,7]\ninput %w: f32[64,8,3,3]\n%y = ConvInputGradient(%d, %w) group=4 "
     "strides=[2,1] pads=[1,1,1,1] output_shape=[11,7] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

static const randomized_case of_groups_in_cuts[] = {
    {"groups_in_cuts",
     CONV("1,64,7,7", "32,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"groups_in_cuts_of_a_row",
     CONV("2,32,1,40", "16,8,1,7", "kernel_shape=[1,7] strides=[1,2] pads=[0,3,0,3] group=4"),
     TG_PRESET_MP0,
     "tiny",
     {"rows=3", NULL}},
};

/* Whose blocks are filled up: of channels, of columns, or of both. */
static const randomized_case of_filled_groups[] = {
    {"filled_groups",
     CONV("1,24,8,9", "24,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=8"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"filled_groups_of_images",
     CONV("3,16,7,6", "24,4,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"filled_channels",
     CONV("1,20,9,8", "32,5,2,3", "kernel_shape=[2,3] pads=[1,1,0,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"filled_columns",
     CONV("2,64,7,8", "20,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
    {"filled_groups_in_slabs",
     CONV("1,12,33,6", "16,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"filled_groups_with_a_tail", WITH_A_TAIL("9"), TG_PRESET_MP0, "edge", {"rows=2", NULL}},
};

static const randomized_case in_strips_of_filled_groups[] = {
    {"strips_of_filled_groups",
     CONV("1,12,9,13", "16,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=4"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_of_filled_groups_strided",
     CONV("1,16,17,23", "24,2,3,5", "kernel_shape=[3,5] strides=[2,2] pads=[1,2,1,2] group=8"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"strips_of_filled_groups_with_a_tail", WITH_A_TAIL("19"), TG_PRESET_MP0, "edge", {"rows=2", NULL}},
};

/* One group, whose channels are filled up. */
#define GRADIENT(d, w, attributes)                                                                           \
  "graph \"g\"\ninput %d: f32[" d "]\ninput %w: f32[" w "]\n%y = ConvInputGradient(%d, %w) " attributes      \
  " @4\noutput \"y\" %y: f32\n"
static const randomized_case of_filled_channels[] = {
    {"channels_filled_up",
     CONV("1,12,8,9", "24,12,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"channels_filled_up_of_images",
     CONV("3,5,9,7", "16,5,3,2", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {"rows=3", NULL}},
    {"channels_filled_up_in_slabs",
     CONV("1,12,33,6", "16,12,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"channels_filled_up_of_a_column",
     CONV("1,20,12,14", "1,20,5,5", "kernel_shape=[5,5] pads=[2,2,2,2]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", NULL}},
    {"channels_filled_up_dilated",
     CONV("2,20,11,10", "24,20,3,3", "kernel_shape=[3,3] dilations=[2,3] pads=[2,3,2,3]"),
     TG_PRESET_MP0,
     "edge",
     {"rows=2", "cols=3", NULL}},
    {"channels_filled_up_with_a_tail",
     "graph \"g\"\ninput %x: f32[1,12,10,11]\ninput %z: f32[1,20,10,11]\nconst %w: f32[20,12,3,3] = "
     "seeded(1, 0.3)\n"
     "const %b: f32[20] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n"
     "%s = Add(%a, %z) @3\n%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"channels_filled_up_of_an_input_gradient",
     GRADIENT("2,12,6,7", "12,8,3,3", "strides=[2,1] pads=[1,1,1,1] output_shape=[11,7]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"channels_filled_up_of_a_column_of_an_input_gradient",
     GRADIENT("1,18,9,8", "18,1,5,5", "strides=[2,2] pads=[2,2,2,2] output_shape=[18,16]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
};

/* Wider than blocks of columns, which tiles side by side have. */
static const randomized_case of_wide_groups[] = {
    {"wide_groups",
     CONV("1,64,8,9", "64,32,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=2"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"wide_groups_filled",
     CONV("2,24,8,7", "48,12,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=2"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
};

/* Of patches alone, blocks of columns begin elsewhere in A with several groups. */
static bool reads_groups(const tg_instr *gemm) {
  return gemm->mx.k_loops == 3 && (gemm->mx.a_blk[2] || gemm->mx.a_blk[3]);
}
static bool has_groups(const tg_program *program) { return find_gemm(program, reads_groups) != NULL; }
static bool has_groups_in_cuts(const tg_program *program) { return has_groups(program) && has_cuts(program); }
static bool has_groups_in_strips(const tg_program *program) {
  return has_groups(program) && has_strips(program);
}

/* Positions of one group are rows of a walk, whose k counts rows of the image. */
static bool has_positions_of_a_group(const tg_agcu_instr *load) {
  return load->y_inc[3] == 1 && load->x_inc[1] == 1 && load->m_radix[2] == 1 &&
         load->k_radix[2] == load->take;
}
static bool has_filled_channels(const tg_program *program) {
  return find_of_agcus(program, TG_OP_agcu_load, has_positions_of_a_group) != NULL;
}

/* ... or those of the tile beside this one do. */
static bool has_wide_groups(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx, *beside = &program->sections[s].tiles[1].mx;
    for (uint32_t i = 0; i < mx->count && i < beside->count; i++)
      if (mx->instrs[i].common.op == TG_OP_mx_gemm && mx->instrs[i].mx.k_loops == 3 &&
          beside->instrs[i].common.op == TG_OP_mx_gemm &&
          mx->instrs[i].mx.a_base != beside->instrs[i].mx.a_base)
        return true;
  }
  return false;
}

static const randomized_group groups[] = {
#define CASES(name) name, sizeof name / sizeof *name
    {CASES(of_groups),
     {.has = has_groups, .lacks = "no product has several groups", .seeds = 400, .wanted = 4},
     24},
    {CASES(of_groups_in_cuts),
     {.has = has_groups_in_cuts,
      .lacks = "no kernel row of groups has several chunks",
      .seeds = 1000,
      .wanted = 2},
     24},
    {CASES(of_filled_groups),
     {.has = has_groups, .lacks = "no product has several groups", .seeds = 400, .wanted = 4},
     0},
    {CASES(in_strips_of_filled_groups),
     {.has = has_groups_in_strips, .lacks = "no strips have several groups", .seeds = 1000, .wanted = 3},
     0},
    {CASES(of_filled_channels),
     {.has = has_filled_channels, .lacks = "no channels are filled up", .seeds = 400, .wanted = 4},
     0},
    {CASES(of_wide_groups),
     {.has = has_wide_groups,
      .lacks = "no tiles side by side have groups of their own",
      .seeds = 400,
      .wanted = 2},
     0},
#undef CASES
};

__attribute__((constructor)) static void register_groups(void) {
  register_randomized("groups", groups, sizeof groups / sizeof *groups);
}
