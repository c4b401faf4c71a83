/* Classes by their numbers. */
#include "frontend/build/labels.h"

/* [N, d..] to [N, 1, d..]. */
static tg_value *beside_classes(tg_build *b, tg_value *labels, const tg_value *y) {
  int64_t sizes[TG_MAX_RANK];
  tg_value_sizes(y, sizes);
  sizes[1] = 1;
  return tg_build_reshape(b, labels, y->rank, sizes);
}

tg_value *tg_build_is_label(tg_build *b, tg_value *labels, const tg_value *y) {
  int64_t sizes[TG_MAX_RANK] = {y->dims[1].size, 1, 1, 1, 1, 1, 1, 1};
  tg_value *classes = tg_graph_add_constant(b->graph, "classes", TG_F32, y->rank - 1, sizes, NULL, false);
  for (int64_t i = 0; i < sizes[0]; i++) tg_store_f32((void *)classes->data, TG_F32, (size_t)i, (float)i);
  return tg_build_binary(b, TG_OP_EQUAL, beside_classes(b, labels, y), classes);
}

tg_value *tg_build_picked(tg_build *b, tg_value *labels, tg_value *y) {
  return tg_build_sum(b, tg_build_where(b, tg_build_is_label(b, labels, y), y, tg_build_number(b, 0)),
                      1u << 1);
}
