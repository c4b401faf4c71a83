#include "runtime/session/indices.h"

#include <inttypes.h>
#include <math.h>

int64_t tg_index_rows(const tg_value *value) {
  int64_t fewest = 0;
  for (const tg_use *use = value->uses; use; use = use->next) {
    const tg_node *node = use->node;
    int64_t rows = 0;
    if (use->input == tg_op_index_operand(node->op))
      rows = tg_in(node, 0)->dims[node->op == TG_OP_GATHER ? tg_attr_int(node, TG_ATTR_AXIS) : 0].size;
    else if (tg_op_is(node->op, TG_IS_MOVE) || node->op == TG_OP_CAST)
      for (int i = 0; i < node->output_count; i++) {
        int64_t of_result = tg_index_rows(node->outputs[i]);
        if (of_result && (!rows || of_result < rows)) rows = of_result;
      }
    if (rows && (!fewest || rows < fewest)) fewest = rows;
  }
  return fewest;
}

/* Numbers from `low` on and below `high`. */
static void bounds(const tg_tensor_info *input, double *low, double *high) {
  double span = ldexp(1, tg_dtype_bits(input->dtype));
  bool is_signed = tg_dtype_is_signed(input->dtype);
  double most = input->limit ? (double)input->limit : 0x1p24;
  if (input->rows) most = fmin(most, (double)input->rows);
  *low = fmax(is_signed ? -span / 2 : 0, input->rows ? -most : 1 - most);
  *high = fmin(is_signed ? span / 2 : span, most);
}

tg_status tg_indices_check(const tg_tensor_info *input, const float *data, tg_diag *diag) {
  double low, high;
  bounds(input, &low, &high);
  for (int64_t i = 0; i < input->count; i++) {
    double x = (double)data[i];
    if (x != floor(x))
      return tg_fail(diag, TG_INVALID, "input \"%s\": element %" PRId64 " is %g, not a whole number",
                     input->name, i, x);
    if (x < low || x >= high)
      return tg_fail(diag, TG_INVALID, "input \"%s\": element %" PRId64 " is %.0f, outside [%.0f, %.0f)",
                     input->name, i, x, low, high);
  }
  return TG_OK;
}

void tg_indices_random(float *data, int64_t count, int64_t rows, uint64_t seed) {
  tg_seeded_fill(data, TG_F32, count, seed, 0.5f);
  for (int64_t i = 0; i < count; i++) {
    data[i] = floorf((data[i] + 0.5f) * (float)(rows ? rows : 2));
    if (data[i] >= (float)(rows ? rows : 2)) data[i] = 0; /* rounded up */
  }
}
