/* Parts of what is padded, as windows over one more dimension read planes of a volume, are parts that are padded: the whole then is
 * not made, and each part has what lies around it filled in where it is copied to. What reads parts where they lie is better off
 * with a whole, of which they are views. */
#include "frontend/base/math.h"
#include "frontend/build/rewrite.h"
#include "frontend/passes/passes.h"

#include <string.h>

/* Pads around a part that begins there; negative ones crop. */
static void pads_of(const tg_node *pad, const tg_node *slice, const int64_t *begin, int64_t *out) {
  const int64_t *pads = tg_attr_ints(pad, TG_ATTR_PADS, NULL);
  const tg_value *whole = tg_out(pad), *part = tg_out(slice);
  for (int d = 0; d < part->rank; d++) {
    out[d] = pads[d] - begin[d];
    out[part->rank + d] = pads[part->rank + d] - (whole->dims[d].size - begin[d] - part->dims[d].size);
  }
}

/* Does the part have elements of the data? */
static bool has_data(const tg_node *pad, const tg_node *slice, const int64_t *pads) {
  const tg_value *x = tg_in(pad, 0), *part = tg_out(slice);
  for (int d = 0; d < part->rank; d++) {
    if (pads[d] >= part->dims[d].size || pads[part->rank + d] >= part->dims[d].size) return false;
    if (-pads[d] >= x->dims[d].size || -pads[part->rank + d] >= x->dims[d].size) return false;
  }
  return true;
}

/* Does a Concat copy it, as it is or moved? */
static bool is_copied(const tg_value *part, int hops) {
  if (part->output_count || !part->use_count || !hops) return false;
  for (const tg_use *use = part->uses; use; use = use->next) {
    const tg_node *reader = use->node;
    bool moves = reader->op == TG_OP_RESHAPE || reader->op == TG_OP_TRANSPOSE || tg_is_plain_cast(reader);
    if (reader->op != TG_OP_CONCAT && !(moves && is_copied(tg_out(reader), hops - 1))) return false;
  }
  return true;
}

static bool are_all_parts(const tg_node *pad) {
  enum { HOPS = 8 };
  const tg_value *whole = tg_out(pad);
  int64_t begin[TG_MAX_RANK], pads[2 * TG_MAX_RANK];
  const char *mode = tg_attr_text(pad, TG_ATTR_MODE);
  if (whole->output_count || !whole->use_count || (*mode && strcmp(mode, "constant") != 0)) return false;
  for (const tg_use *use = whole->uses; use; use = use->next) {
    if (use->node->op != TG_OP_SLICE || !tg_is_crop(use->node, begin)) return false;
    pads_of(pad, use->node, begin, pads);
    if (!has_data(pad, use->node, pads) || !is_copied(tg_out(use->node), HOPS)) return false;
  }
  return true;
}

/* Slice(Pad(x)) to Pad(Slice(x)), without either where it does nothing. */
static void pad_part(tg_graph *graph, tg_node *pad, tg_node *slice) {
  int64_t begin[TG_MAX_RANK], pads[2 * TG_MAX_RANK];
  tg_value *part = tg_in(pad, 0);
  int rank = part->rank;
  bool grows = false;
  tg_is_crop(slice, begin);
  pads_of(pad, slice, begin, pads);
  for (int d = 0; d < rank; d++) {
    int64_t before = tg_max(-pads[d], 0), behind = tg_max(-pads[rank + d], 0);
    part = tg_rewrite_slice(graph, part, d, before, part->dims[d].size - before - behind, 1, slice);
    grows |= (pads[d] = tg_max(pads[d], 0)) > 0;
    grows |= (pads[rank + d] = tg_max(pads[rank + d], 0)) > 0;
  }
  if (grows) {
    tg_node *copy = tg_rewrite_copy(graph, pad, &part, slice);
    tg_attr_set_ints(graph, copy, TG_ATTR_PADS, pads, 2 * rank);
    tg_rewrite_infer(graph, copy);
    part = tg_out(copy);
  }
  tg_rewrite_replace(graph, slice, part);
}

void tg_pass_slice_pads(tg_graph *graph) {
  TG_FOR_NODES(graph, node) {
    if (node->op != TG_OP_PAD || !are_all_parts(node)) continue;
    while (tg_out(node)->use_count) pad_part(graph, node, tg_out(node)->uses->node);
  }
  tg_pass_remove_dead(graph);
}
