#include "frontend/passes/passes.h"

#include <string.h>

#define PASS(name)                                                                                           \
  { #name, tg_pass_##name }

static const struct {
  const char *name;
  tg_pass *run;
} table[] = {
    PASS(remove_dead),
    PASS(remove_identity),
    PASS(fold_constants),
    PASS(share_casts),
    PASS(absorb_casts),
    PASS(lower_batch_normalization),
    PASS(lower_gemm),
    PASS(lower_shape),
    PASS(lower_softmax),
    PASS(lower_layer_normalization),
    PASS(lower_global_pool),
    PASS(lower_conv_transpose),
    PASS(channels_last),
    PASS(hoist_casts),
    PASS(sink_transposes),
    PASS(sink_squeezes),
    PASS(sink_planes),
    PASS(slice_pads),
    PASS(slice_reshapes),
    PASS(scale_columns),
    PASS(merge_moves),
    PASS(merge_chains),
    PASS(permute_weights),
    PASS(transpose_to_reshape),
    PASS(lower_logic),
    PASS(lower_reduce),
    PASS(split_reduce),
    PASS(lower_sum),
    PASS(lower_pool_gradient),
    PASS(lower_pieces),
    PASS(lower_repeats),
    PASS(lower_integers),
    PASS(lower_gather),
    PASS(transpose_products),
    PASS(merge_products),
    PASS(lower_conv_gradient),
    PASS(lower_depthwise_gradient),
    PASS(slice_gather),
    PASS(lower_float64),
    PASS(permute_channels),
    PASS(absorb_shuffles),
    PASS(nest_concats),
    PASS(block_attention),
    PASS(lower_narrow),
    PASS(narrow_products),
};

tg_pass *tg_pass_find(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].name, name)) return table[i].run;
  return NULL;
}
