/* Pooling on the vector units. */
#include "mapper/expression/expression.h"
#include "mapper/kernel/class.h"
#include "mapper/section/rehearsal.h"
#include "mapper/vector/line_buffers.h"

/* ---- averages ---- */

static int64_t valid_positions(int64_t out, int64_t stride, int64_t dilation, int64_t kernel, int64_t pad,
                               int64_t size) {
  int64_t count = 0;
  for (int64_t k = 0; k < kernel; k++) {
    int64_t at = out * stride - pad + k * dilation;
    count += at >= 0 && at < size;
  }
  return count;
}

/* 1 / (positions that count) for each output position, [OH, OW], as a constant of the program; NULL if it is
 * `*out_uniform` everywhere. */
static const tg_dram_tensor *inverse_counts(tg_compile *c, const tg_node *node, float *out_uniform) {
  const tg_value *out = tg_out(node);
  tg_windows w = tg_windows_forward(node);
  const int64_t size[2] = {w.image->dims[1].size, w.image->dims[2].size};
  int64_t oh = out->dims[1].size, ow = out->dims[2].size;
  const int64_t *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  bool include = tg_attr_int(node, TG_ATTR_COUNT_INCLUDE_PAD);
  float *inverse = TG_NEW_ARRAY(&c->program->arena, float, (size_t)(oh * ow));
  bool uniform = true;
  for (int64_t y = 0; y < oh; y++)
    for (int64_t x = 0; x < ow; x++) {
      int64_t rows = include ? valid_positions(y, w.row_step[0], w.tap_step[0], w.taps[0], 0,
                                               size[0] + pads[0] + pads[2])
                             : valid_positions(y, w.row_step[0], w.tap_step[0], w.taps[0], pads[0], size[0]);
      int64_t columns =
          include
              ? valid_positions(x, w.row_step[1], w.tap_step[1], w.taps[1], 0, size[1] + pads[1] + pads[3])
              : valid_positions(x, w.row_step[1], w.tap_step[1], w.taps[1], pads[1], size[1]);
      inverse[y * ow + x] = 1.0f / (float)(rows * columns); /* no position: 0 * inf is NaN, as 0/0 */
      uniform = uniform && inverse[y * ow + x] == inverse[0];
    }
  *out_uniform = inverse[0];
  if (uniform) return NULL;
  tg_dram_tensor *tensor = tg_program_add_tensor(c->program);
  *tensor = (tg_dram_tensor){.name = "inverse counts",
                             .role = TG_ROLE_CONSTANT,
                             .storage = TG_STORE_FP32,
                             .rank = 2,
                             .dims = {oh, ow},
                             .bytes = 4 * (uint64_t)(oh * ow),
                             .address = c->program->dram_bytes,
                             .data = (const uint8_t *)inverse};
  c->program->dram_bytes += (tensor->bytes + 63) & ~63ull;
  return tensor;
}

/* ---- kernels ---- */

/* What a window becomes: the sum, the maximum, or the position of the first maximum of its elements. */
typedef struct pool {
  tg_compile *c;
  const tg_kernel *kernel;
  float inverse; /* of the positions that count, where that is one number for all windows */
} pool;

typedef struct code {
  const pool *of;
  tg_mc *mc;
  tg_mc_ref best[TG_STREAMS], found[TG_STREAMS], x;
  tg_mc_ref at; /* position, counted for all windows at once */
  bool halves;
  int loaded; /* stream */
} code;

static tg_op op_of(const code *s) { return s->of->kernel->root->op; }

static void begin_windows(code *s, const tg_line_tiling *t) {
  tg_mc *mc = s->mc;
  tg_mc_ref zero = tg_mc_const(mc, 0.0f);
  tg_mc_ref first = op_of(s) == TG_OP_AVERAGE_POOL ? zero : tg_mc_bits(mc, 0xff800000u);
  bool index = op_of(s) == TG_OP_MAX_POOL_INDEX;
  for (uint32_t u = 0; u < t->unroll; u++) {
    s->best[u] = tg_mc_new(mc);
    tg_mc_assign(mc, s->best[u], TG_ALU_mov, first, TG_MC_NONE, TG_MC_NONE);
    if (!index) continue;
    s->found[u] = tg_mc_new(mc);
    tg_mc_assign(mc, s->found[u], TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
  }
  if (!index) return;
  s->at = tg_mc_new(mc);
  tg_mc_assign(mc, s->at, TG_ALU_mov, zero, TG_MC_NONE, TG_MC_NONE);
}

static void take(void *user, int stream, uint32_t u, uint32_t q) {
  code *s = user;
  tg_mc *mc = s->mc;
  if (stream != s->loaded) s->x = tg_mc_load(mc, stream, s->halves);
  s->loaded = stream;
  tg_mc_ref best = s->best[u];
  if (op_of(s) == TG_OP_MAX_POOL_INDEX) {
    tg_mc_ref above = tg_mc_alu(mc, TG_ALU_cmplt, best, s->x, TG_MC_NONE),
              at = q ? tg_mc_alu(mc, TG_ALU_add, s->at, tg_mc_const(mc, (float)q), TG_MC_NONE) : s->at;
    tg_mc_assign(mc, s->found[u], TG_ALU_select, above, at, s->found[u]);
    tg_mc_assign(mc, best, TG_ALU_select, above, s->x, best);
  } else
    tg_mc_assign(mc, best, op_of(s) == TG_OP_AVERAGE_POOL ? TG_ALU_add : TG_ALU_max, best, s->x, TG_MC_NONE);
}

static void write_windows(const void *user, const tg_line_kernel *lines, const tg_line_tiling *t, tg_mc *mc) {
  const pool *of = user;
  code s = {.of = of, .mc = mc, .halves = lines->image_kind == TG_STREAM_FP32, .loaded = -1};
  tg_mc_begin(mc, of->c->arena);
  begin_windows(&s, t);
  tg_mc_next_segment(mc);
  tg_line_each_tap(lines, t, take, &s);
  if (op_of(&s) == TG_OP_MAX_POOL_INDEX)
    tg_mc_assign(mc, s.at, TG_ALU_add, s.at, tg_mc_const(mc, (float)t->taps), TG_MC_NONE);
  tg_mc_next_segment(mc);
  for (uint32_t u = 0; u < t->unroll; u++) {
    tg_mc_ref y = op_of(&s) == TG_OP_MAX_POOL_INDEX ? s.found[u] : s.best[u];
    if (op_of(&s) == TG_OP_AVERAGE_POOL) {
      tg_mc_ref inverse =
          lines->bias ? tg_mc_load(mc, tg_line_bias_stream(lines, t), true) : tg_mc_const(mc, of->inverse);
      y = tg_mc_alu(mc, TG_ALU_mul, y, inverse, TG_MC_NONE);
      y = tg_emit_epilogue(mc, of->c, of->kernel, of->kernel->root, y);
    } else {
      y = tg_emit_expression(mc, of->c, of->kernel, tg_out(of->kernel->root), y, NULL, 0);
    }
    if (y == TG_MC_NONE) {
      mc->overflow = true;
      return;
    }
    tg_mc_store(mc, tg_line_result_stream(lines, t, u), lines->result_kind == TG_STREAM_FP32, y);
  }
}

/* A load for each position. */
static tg_stream_kernel plan_streamed(const pool *of, const tg_line_kernel *lines) {
  const tg_windows *w = lines->windows;
  tg_stream_kernel plan = {.output_kind = lines->result_kind};
  tg_windows_plan(of->c, w, of->kernel->root, &plan);
  int64_t n = w->image->dims[0].size, channels = w->image->dims[3].size, columns = w->rows[1] * channels;
  plan.output = (tg_walk_plan){.tensor = lines->result,
                               .radix = {n, w->rows[0], w->rows[1]},
                               .stride = {w->rows[0] * columns, columns, channels},
                               .element_stride = 1,
                               .columns = channels};
  if (lines->by_window) {
    plan.input[1] = (tg_walk_plan){.tensor = lines->bias,
                                   .radix = {n, w->rows[0], w->rows[1]},
                                   .stride = {0, w->rows[1], 1},
                                   .element_stride = 0,
                                   .columns = channels};
    plan.window[1] = 1;
    plan.input_kind[1] = TG_STREAM_FP32;
    plan.inputs = 2;
  }
  tg_choose_columns(of->c->m, &plan, channels);
  return plan;
}

static tg_line_kernel line_kernel(const pool *of, tg_windows *w, const tg_dram_tensor *counts) {
  const tg_kernel *kernel = of->kernel;
  tg_line_kernel lines = {.windows = w,
                          .image = tg_place_of(of->c, w->image),
                          .result = tg_place_of(of->c, kernel->output),
                          .bias = counts,
                          .by_window = counts != NULL,
                          .image_kind = tg_stream_kind(w->image),
                          .result_kind = tg_result_kind(kernel->output),
                          .write = write_windows,
                          .user = of};
  w->fill[0] = kernel->root->op == TG_OP_AVERAGE_POOL ? 0 : tg_windows_lowest(lines.image_kind);
  return lines;
}

/* Means over windows of different sizes are streamed. */
static bool walks_views(tg_compile *c, const tg_kernel *kernel) {
  if (kernel->root->op == TG_OP_AVERAGE_POOL || !tg_windows_have_room(kernel->root)) return false;
  tg_windows w = tg_windows_forward(kernel->root);
  pool of = {.c = c, .kernel = kernel, .inverse = 1.0f};
  tg_line_kernel lines = line_kernel(&of, &w, NULL);
  return tg_line_set_strides(c, kernel->root, w.image, kernel->output, &lines) &&
         tg_line_walks_views(c, &lines);
}

static tg_status emit_pool(tg_compile *c, const tg_kernel *kernel) {
  const tg_node *node = kernel->root;
  bool average = node->op == TG_OP_AVERAGE_POOL;
  if (tg_windows_check(c, node)) return TG_INVALID;
  tg_windows w = tg_windows_forward(node);
  pool of = {.c = c, .kernel = kernel, .inverse = 1.0f};
  const tg_dram_tensor *counts = average ? inverse_counts(c, node, &of.inverse) : NULL; /* moves the others */
  tg_line_kernel lines = line_kernel(&of, &w, counts);
  if (!tg_line_set_strides(c, kernel->root, w.image, kernel->output, &lines))
    return tg_fail(c->diag, TG_INVALID, "node \"%s\": its image lies by no strides", node->name);
  tg_stream_kernel streamed = plan_streamed(&of, &lines);
  return tg_emit_windows(c, kernel, &lines, &streamed);
}

static bool is_pool(const tg_compile *c, const tg_node *node) {
  (void)c;
  return node->op == TG_OP_MAX_POOL || node->op == TG_OP_MAX_POOL_INDEX || node->op == TG_OP_AVERAGE_POOL;
}
const tg_kernel_class tg_pool_class = {
    .name = "pool",
    .accepts = is_pool,
    .takes = tg_takes_fused,
    .rehearsed = tg_rehearse,
    .walks_views = walks_views,
    .emit = emit_pool,
};
