/* Convolutions from resident patches: the same bits as the reference's chains of multiply-adds, whatever the shape
 * and however the patches lie; proved in order; and an image is read about once. */
#include "tests/harness.h"
#include "tests/mapper/randomized_case.h"

#define CONV(x, w, attributes)                                                                               \
  "graph \"g\"\ninput %x: f32[" x "]\nconst %w: f32[" w "] = seeded(1, 0.3)\n%y = Conv(%x, %w) " attributes  \
  " @2\noutput \"y\" %y: f32\n"

static const randomized_case convolutions[] = {
    {"three_by_three",
     CONV("1,16,9,11", "24,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"fp32",
     CONV("1,8,7,10", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"images",
     CONV("3,16,8,6", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strided",
     CONV("2,16,13,11", "20,16,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"strides_differ",
     CONV("1,16,13,12", "8,16,5,3", "kernel_shape=[5,3] strides=[3,2] pads=[0,2,1,0]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"dilated",
     CONV("1,16,12,13", "9,16,3,3", "kernel_shape=[3,3] dilations=[2,3] pads=[2,3,2,3]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"dilated_fp32",
     CONV("1,16,9,13", "9,16,2,3", "kernel_shape=[2,3] dilations=[3,2]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"grouped",
     CONV("1,32,8,9", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=2"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"grouped_runs",
     CONV("1,8,8,9", "16,4,2,4", "kernel_shape=[2,4] pads=[1,1,1,1] dilations=[1,2] group=2"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"few_channels",
     CONV("1,3,17,19", "16,3,7,7", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"few_channels_of_images",
     CONV("4,3,9,12", "5,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {NULL}},
    {"odd_channels",
     CONV("1,20,8,8", "24,20,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "edge",
     {NULL}},
    {"a_row",
     CONV("1,16,1,40", "8,16,1,5", "kernel_shape=[1,5] pads=[0,2,0,2]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"a_column",
     CONV("1,16,40,1", "8,16,5,1", "kernel_shape=[5,1] pads=[2,0,2,0]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"parts_of_rows",
     CONV("1,16,5,64", "8,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"acc_bytes=1024", NULL}},
    {"parts_of_rows_of_runs",
     CONV("1,3,6,64", "8,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[1,2]"),
     TG_PRESET_MP1,
     "tiny",
     {"acc_bytes=512", NULL}},
    {"many_columns",
     CONV("1,16,12,12", "200,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=3", "cols=2", NULL}},
    {"small_banks",
     CONV("1,16,14,14", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"bank_bytes=512", "banks=32", NULL}},
    {"with_a_tail",
     "graph \"g\"\ninput %x: f32[1,16,10,9]\ninput %z: f32[1,24,10,9]\nconst %w: f32[24,16,3,3] = seeded(1, "
     "0.3)\n"
     "const %b: f32[24] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%s = "
     "Add(%a, %z) @3\n"
     "%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"input_gradient",
     "graph \"g\"\ninput %d: f32[2,16,5,4]\ninput %w: f32[16,5,3,3]\n%y = ConvInputGradient(%d, %w) "
     "strides=[1,1] pads=[1,1,1,1] output_shape=[5,4] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strided_input_gradient",
     "graph \"g\"\ninput %d: f32[1,16,6,7]\ninput %w: f32[16,5,5,5]\n%y = ConvInputGradient(%d, %w) "
     "strides=[2,2] pads=[2,2,2,2] output_shape=[11,13] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
};

static const randomized_case in_slabs[] = {
    {"slabs",
     CONV("1,16,33,14", "24,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"slabs_fp32",
     CONV("1,8,37,10", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"slabs_of_images",
     CONV("3,8,16,6", "8,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"slabs_strided",
     CONV("1,16,45,9", "8,16,5,3", "kernel_shape=[5,3] strides=[2,2] pads=[2,1,2,1]"),
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"slabs_further_apart",
     CONV("1,16,40,9", "8,16,2,3", "kernel_shape=[2,3] strides=[4,1] pads=[0,1,0,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"slabs_dilated",
     CONV("1,16,36,8", "9,16,3,3", "kernel_shape=[3,3] dilations=[3,2] pads=[3,2,3,2]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"slabs_of_runs",
     CONV("1,3,40,12", "16,3,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"slabs_of_small_banks",
     CONV("1,16,28,14", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"bank_bytes=512", "banks=32", NULL}},
    {"slabs_with_a_tail",
     "graph \"g\"\ninput %x: f32[1,16,30,9]\ninput %z: f32[1,24,30,9]\nconst %w: f32[24,16,3,3] = seeded(1, "
     "0.3)\n"
     "const %b: f32[24] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%s = "
     "Add(%a, %z) @3\n"
     "%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"slabs_of_an_input_gradient",
     "graph \"g\"\ninput %d: f32[1,16,29,8]\ninput %w: f32[16,16,3,3]\n%y = ConvInputGradient(%d, %w) "
     "strides=[1,1] pads=[1,1,1,1] output_shape=[29,8] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

/* Several images a patch. */
static const randomized_case small_images[] = {
    {"small_images",
     CONV("7,16,5,5", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"small_images_strided",
     CONV("6,16,10,7", "12,16,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"cols=4", NULL}},
    {"small_images_far_apart",
     CONV("5,8,9,4", "8,8,5,3", "kernel_shape=[5,3] dilations=[2,1] pads=[3,1,4,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"small_images_without_padding",
     CONV("5,16,6,7", "9,16,2,3", "kernel_shape=[2,3] strides=[3,1]"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
    {"small_images_of_runs",
     CONV("9,3,7,5", "16,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP4,
     "edge",
     {"rows=2", "cols=3", NULL}},
    {"small_images_with_a_tail",
     "graph \"g\"\ninput %x: f32[5,16,5,3]\ninput %z: f32[5,24,5,3]\nconst %w: f32[24,16,3,3] = seeded(1, "
     "0.3)\n"
     "const %b: f32[24] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%s = "
     "Add(%a, %z) @3\n"
     "%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"input_gradient_of_small_images",
     "graph \"g\"\ninput %d: f32[5,16,5,4]\ninput %w: f32[16,5,3,3]\n%y = ConvInputGradient(%d, %w) "
     "strides=[1,1] pads=[1,1,1,1] output_shape=[5,4] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

/* Blocks of rows that end beyond their image. */
static const randomized_case odd_images[] = {
    {"odd_images",
     CONV("3,16,13,7", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"odd_images_strided",
     CONV("2,16,23,5", "8,16,5,3", "kernel_shape=[5,3] strides=[2,1] pads=[2,1,2,1]"),
     TG_PRESET_MP0,
     "tiny",
     {"rows=3", NULL}},
};

/* Strips of columns. */
static const randomized_case in_strips[] = {
    {"strips",
     CONV("1,16,9,33", "24,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_fp32",
     CONV("1,8,7,20", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "edge",
     {"rows=2", "cols=4", NULL}},
    {"strips_of_images",
     CONV("3,16,10,9", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_strided",
     CONV("2,16,23,31", "8,16,5,3", "kernel_shape=[5,3] strides=[3,2] pads=[0,2,1,0]"),
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"strips_dilated",
     CONV("1,16,12,19", "9,16,3,3", "kernel_shape=[3,3] dilations=[2,3] pads=[2,3,2,3]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_of_groups",
     CONV("2,32,8,13", "16,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1] group=2"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_of_runs",
     CONV("1,3,17,29", "16,3,7,7", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"strips_of_an_input_gradient",
     "graph \"g\"\ninput %d: f32[2,16,6,17]\ninput %w: f32[16,5,3,3]\n%y = ConvInputGradient(%d, %w) "
     "strides=[1,1] pads=[1,1,1,1] output_shape=[6,17] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"strips_of_a_strided_input_gradient",
     "graph \"g\"\ninput %d: f32[1,16,6,27]\ninput %w: f32[16,5,5,5]\n%y = ConvInputGradient(%d, %w) "
     "strides=[2,2] pads=[2,2,2,2] output_shape=[11,53] @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"strips_with_a_tail",
     "graph \"g\"\ninput %x: f32[2,16,10,19]\ninput %z: f32[2,24,10,19]\nconst %w: f32[24,16,3,3] = "
     "seeded(1, 0.3)\n"
     "const %b: f32[24] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%s = "
     "Add(%a, %z) @3\n"
     "%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
    {"strips_with_a_number_a_pixel",
     "graph \"g\"\ninput %x: f32[1,16,10,19]\ninput %z: f32[1,1,10,19]\nconst %w: f32[24,16,3,3] = "
     "seeded(1, 0.3)\n%a = Conv(%x, %w) kernel_shape=[3,3] pads=[1,1,1,1] @2\n%y = Mul(%a, %z) @3\n"
     "output \"y\" %y: f32\n",
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};
static const randomized_case in_slabs_of_strips[] = {
    {"slabs_of_strips",
     CONV("1,16,33,14", "24,16,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"slabs_of_strips_of_images",
     CONV("2,8,37,10", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
};

/* Positions that are rows of LOADs. */
static const randomized_case of_positions[] = {
    {"positions",
     CONV("1,3,17,19", "16,3,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"positions_of_images",
     CONV("3,1,9,10", "8,1,5,5", "kernel_shape=[5,5] pads=[2,2,2,2]"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
    {"positions_dilated_down",
     CONV("1,3,19,9", "9,3,4,3", "kernel_shape=[4,3] strides=[3,1] dilations=[2,1] pads=[3,1,2,1]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=2", NULL}},
};

/* A last group of columns whose second half is empty, in formats whose stationary blocks are half a group wide. */
static const randomized_case of_half_groups[] = {
    {"half_groups",
     CONV("1,8,37,10", "12,8,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"half_groups_of_runs",
     CONV("2,3,17,19", "19,3,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {"rows=3", NULL}},
    {"half_groups_of_positions",
     "graph \"g\"\ninput %x: f32[1,16,13,7]\nconst %w: f32[20,16,1,1] = seeded(1, 0.3)\n"
     "const %b: f32[20] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[1,1] @2\n%y = Relu(%a) @3\n"
     "output \"y\" %y: f32\n",
     TG_PRESET_MP0,
     "edge",
     {"rows=2", NULL}},
};

/* Several chunks of a kernel row. */
static const randomized_case in_cuts[] = {
    {"cuts",
     CONV("1,64,7,7", "24,64,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"cuts_fp32",
     CONV("1,32,9,6", "12,32,3,3", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"cuts_dilated",
     CONV("1,32,9,9", "16,32,3,3", "kernel_shape=[3,3] dilations=[2,2] pads=[2,2,2,2]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"cuts_of_images",
     CONV("7,32,5,5", "16,32,3,2", "kernel_shape=[3,2] pads=[1,1,1,0]"),
     TG_PRESET_MP1,
     "tiny",
     {"rows=3", NULL}},
    {"cuts_of_one_row",
     CONV("1,32,1,40", "16,32,1,3", "kernel_shape=[1,3] pads=[0,1,0,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

/* Several kernel rows behind each other in a position. */
static const randomized_case of_joined_rows[] = {
    {"joined_rows",
     CONV("1,3,17,19", "16,3,7,7", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"joined_rows_of_images",
     CONV("3,3,14,10", "8,3,6,6", "kernel_shape=[6,6] strides=[2,2] pads=[2,2,2,2]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=3", NULL}},
    {"joined_rows_fp32",
     CONV("2,3,12,12", "12,3,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
     TG_PRESET_MP0,
     "tiny",
     {NULL}},
    {"joined_rows_dilated",
     CONV("1,3,19,9", "9,3,4,3", "kernel_shape=[4,3] strides=[3,1] dilations=[2,1] pads=[3,1,2,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"joined_rows_of_one_channel",
     CONV("2,1,9,10", "20,1,5,5", "kernel_shape=[5,5]"),
     TG_PRESET_MP4,
     "tiny",
     {"rows=3", NULL}},
    {"joined_rows_further_apart",
     CONV("1,1,23,8", "8,1,2,3", "kernel_shape=[2,3] strides=[5,2] pads=[0,1,0,1]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
    {"joined_rows_with_a_tail",
     "graph \"g\"\ninput %x: f32[1,3,20,9]\ninput %z: f32[1,24,10,9]\nconst %w: f32[24,3,4,3] = seeded(1, "
     "0.3)\n"
     "const %b: f32[24] = seeded(2, 0.3)\n%a = Conv(%x, %w, %b) kernel_shape=[4,3] strides=[2,1] "
     "pads=[1,1,1,1] @2\n%s = Add(%a, %z) @3\n"
     "%y = Relu(%s) @4\noutput \"y\" %y: f32\n",
     TG_PRESET_MP4,
     "tiny",
     {NULL}},
};
static const randomized_case in_slabs_of_joined_rows[] = {
    {"slabs_of_joined_rows",
     CONV("1,3,61,12", "16,3,6,6", "kernel_shape=[6,6] strides=[2,2] pads=[2,2,2,2]"),
     TG_PRESET_MP1,
     "edge",
     {"rows=2", "cols=2", NULL}},
    {"slabs_of_joined_rows_of_images",
     CONV("2,1,36,9", "8,1,4,4", "kernel_shape=[4,4] strides=[2,1] pads=[1,1,2,2]"),
     TG_PRESET_MP1,
     "tiny",
     {NULL}},
};

/* Of products of more rows than swap their operands, only those of patches have two loops over k; slabs are a loop inside
 * that of patches. */
static bool reads_a_patch(const tg_instr *gemm) { return gemm->mx.k_loops == 3 && !gemm->mx.a.delta[1]; }
static bool reads_slabs(const tg_instr *gemm) { return gemm->mx.k_loops == 3 && gemm->mx.a.delta[1]; }
static bool has_patches(const tg_program *program) { return find_gemm(program, reads_a_patch) != NULL; }
static bool has_slabs(const tg_program *program) { return find_gemm(program, reads_slabs) != NULL; }

static bool has_slabs_of_strips(const tg_program *program) {
  return has_strips(program) && has_slabs(program);
}
/* Of two instructions one behind the other the second one has a half block of columns, and the first one whole ones. */
static bool has_half_groups(const tg_program *program) {
  for (uint32_t s = 0; s < program->section_count; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    for (uint32_t i = 1; i < mx->count; i++) {
      const tg_mx_instr *before = &mx->instrs[i - 1].mx, *in = &mx->instrs[i].mx;
      int halves = in->k_loops == 3 ? 3 : 2;
      if (mx->instrs[i].common.op == TG_OP_mx_gemm && mx->instrs[i - 1].common.op == TG_OP_mx_gemm &&
          in->blk_count[halves] == 1 && before->blk_count[halves] == 2 && in->c_base > before->c_base)
        return true;
    }
  }
  return false;
}
static bool goes_down_by_k(const tg_agcu_instr *load) { return load->y_inc[3] && load->k_radix[1] == 1; }
static bool has_positions(const tg_program *program) {
  return find_of_agcus(program, TG_OP_agcu_load, goes_down_by_k) != NULL;
}

static bool has_slabs_of_joined_rows(const tg_program *program) {
  return has_slabs(program) && has_joined_rows(program);
}

/* Of what these kernels store only rows that an image does not have are left out. The results that are counted for an
 * image; 0: as many as it has. */
static bool goes_by_images(const tg_agcu_instr *store) { return store->y_inc[2] != 0; }
static uint64_t counted_for_an_image(const tg_program *program) {
  const tg_agcu_instr *store = find_of_agcus(program, TG_OP_agcu_store, goes_by_images);
  return store ? (uint64_t)store->m_radix[2] : 0;
}
static bool counts_rows(const tg_program *program) { return counted_for_an_image(program) > 0; }
static bool has_several_images(const tg_program *program) {
  uint64_t each = counted_for_an_image(program);
  for (uint32_t s = 0; s < program->section_count && each; s++) {
    const tg_queue *mx = &program->sections[s].tiles[0].mx;
    for (uint32_t i = 0; i < mx->count; i++)
      if (mx->instrs[i].common.op == TG_OP_mx_gemm &&
          (uint64_t)(mx->instrs[i].mx.m_count[0] * mx->instrs[i].mx.m_count[1]) > each)
        return true;
  }
  return false;
}

static const randomized_group groups[] = {
#define CASES(name) name, sizeof name / sizeof *name
    {CASES(convolutions),
     {.has = has_patches, .lacks = "no tiling has patches", .seeds = 400, .wanted = 4},
     0},
    {CASES(in_slabs), {.has = has_slabs, .lacks = "no tiling has slabs", .seeds = 400, .wanted = 2}, 0},
    {CASES(small_images),
     {.has = has_several_images, .lacks = "no patch has several images", .seeds = 400, .wanted = 2},
     0},
    {CASES(odd_images),
     {.has = counts_rows, .lacks = "no tiling counts rows beyond an image", .seeds = 400, .wanted = 2},
     0},
    {CASES(in_cuts),
     {.has = has_cuts, .lacks = "no kernel row has several chunks", .seeds = 400, .wanted = 2},
     0},
    {CASES(of_joined_rows),
     {.has = has_joined_rows, .lacks = "no position has several kernel rows", .seeds = 400, .wanted = 4},
     0},
    {CASES(in_slabs_of_joined_rows),
     {.has = has_slabs_of_joined_rows,
      .lacks = "no slab has positions of several kernel rows",
      .seeds = 400,
      .wanted = 2},
     0},
    {CASES(in_strips), {.has = has_strips, .lacks = "no tiling has strips", .seeds = 400, .wanted = 3}, 24},
    {CASES(in_slabs_of_strips),
     {.has = has_slabs_of_strips, .lacks = "no strip has slabs", .seeds = 1000, .wanted = 2},
     24},
    {CASES(of_positions),
     {.has = has_positions, .lacks = "no LOAD has positions", .seeds = 400, .wanted = 3},
     5},
    {CASES(of_half_groups),
     {.has = has_half_groups, .lacks = "no last group is half empty", .seeds = 1000, .wanted = 3},
     7},
#undef CASES
};

__attribute__((constructor)) static void register_convolutions(void) {
  register_randomized("patches", groups, sizeof groups / sizeof *groups);
}

/* Of 7 x 7 positions of 3 channels a kernel row is 21 of two stationary blocks: seven rows take 14 of them, in pairs 11. */
TG_TEST(patches, a_first_layer_joins_rows) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = CONV("1,3,224,224", "64,3,7,7", "kernel_shape=[7,7] strides=[2,2] pads=[3,3,3,3]"),
                   .arch = "edge",
                   .precision.preset = TG_PRESET_MP1,
                   .run.threads = 1};
  if (map_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else
    EXPECT(has_joined_rows(m.program));
  release_mapped(&m);
  tg_arena_release(&arena);
}

#ifdef TEGULA_WITH_SYSTEMC
/* As rows of A it is read nine times, and all that is read is 7.2 MB; in slabs and strips little more than once, for each
 * column of tiles that has rows of its own. */
TG_TEST(patches, an_image_is_read_about_once) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  mapped m;
  run_case what = {.text = CONV("1,64,56,56", "64,64,3,3", "kernel_shape=[3,3] pads=[1,1,1,1]"),
                   .arch = "edge",
                   .precision.preset = TG_PRESET_MP1,
                   .run = {.threads = 1, .timing_only = true},
                   .engine = &tg_engine_systemc};
  if (run_text(&what, &m, &arena, &diag))
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
  else if (m.result.dram_read > 5u << 20)
    tg_test_fail(__FILE__, __LINE__, "%llu bytes were read", (unsigned long long)m.result.dram_read);
  release_mapped(&m);
  tg_arena_release(&arena);
}
#endif
