#include "frontend/reference/layout.h"

bool tg_is_channels_last(const tg_node *node) {
  return tg_attr_find(node, TG_ATTR_CHANNELS_LAST) && tg_attr_int(node, TG_ATTR_CHANNELS_LAST);
}

tg_layout tg_layout_of(const tg_value *value, bool weights, bool channels_last) {
  /* Dimension of the tensor for each of the four, -1: there is none. */
  static const int orders[2][2][2][4] = {
      {{{0, 1, 2, 3}, {0, 3, 1, 2}}, {{0, 1, -1, 2}, {0, 2, -1, 1}}},  /* data */
      {{{0, 1, 2, 3}, {3, 2, 0, 1}}, {{0, 1, -1, 2}, {2, 1, -1, 0}}}}; /* weights */
  const int *order = orders[weights][value->rank == 3][channels_last];
  tg_layout l;
  for (int i = 0; i < 4; i++) {
    l.size[i] = order[i] < 0 ? 1 : value->dims[order[i]].size;
    l.stride[i] = order[i] < 0 ? 0 : tg_value_elements_between(value, order[i] + 1, value->rank);
  }
  return l;
}

tg_window_steps tg_window_steps_of(const tg_node *node, int rank) {
  const int64_t *strides = tg_attr_ints(node, TG_ATTR_STRIDES, NULL),
                *dilations = tg_attr_ints(node, TG_ATTR_DILATIONS, NULL),
                *pads = tg_attr_ints(node, TG_ATTR_PADS, NULL);
  tg_window_steps steps;
  bool flat = rank == 3;
  for (int i = 0; i < 2; i++) {
    bool unit = flat && !i;
    steps.stride[i] = unit ? 1 : strides[i - flat];
    steps.dilation[i] = unit ? 1 : dilations[i - flat];
    steps.pad[i] = unit ? 0 : pads[i - flat];
  }
  return steps;
}
