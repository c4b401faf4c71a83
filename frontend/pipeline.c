#include "frontend/pipeline.h"

#include "frontend/infer.h"
#include "frontend/passes/passes.h"
#include "frontend/training/batch_statistics.h"

#include <assert.h>

void tg_frontend_defaults(tg_frontend_options *options) {
  *options = (tg_frontend_options){0};
  tg_precision_defaults(&options->precision);
}

typedef struct pipeline {
  tg_graph *graph;
  const tg_frontend_options *options;
} pipeline;

static void after(const pipeline *p, const char *pass) {
#ifndef NDEBUG
  tg_diag diag = {""};
  tg_status status = tg_graph_verify(p->graph, &diag);
  if (status) tg_die("after %s: %s", pass, diag.message);
#endif
  if (p->options->observe) p->options->observe(p->options->observe_user, pass, p->graph);
}

static void run(const pipeline *p, const char *pass) {
  tg_pass_find(pass)(p->graph);
  after(p, pass);
}

/* Masks are training's: tg_training_build has replaced such nodes. */
static tg_status check_inference(const tg_graph *graph, tg_diag *diag) {
  TG_FOR_NODES(graph, node) {
    if (node->op == TG_OP_DROPOUT && tg_attr_float(node, TG_ATTR_RATIO) > 0)
      return tg_fail(diag, TG_INVALID, "node \"%s\" (%s): training_mode = 1 is for training", node->name,
                     tg_op_get(node->op)->name);
  }
  return TG_OK;
}

/* Where products round, whole rows stay. */
static void block_attention(const pipeline *p) {
  const tg_precision_options *options = &p->options->precision;
  if (options->tiling_accum == TG_ACCUM_FP32) {
    tg_block_attention(p->graph, options->attention_block, options->log, options->log_user);
    after(p, "block_attention");
  } else if (options->log)
    options->log(options->log_user, true, "--attention blocked has no effect with --tiling-accum bf16sr");
}

/* A size other than that of a batch which the model leaves open and nobody has given; NULL: there is none. */
static const char *open_size(const tg_graph *graph) {
  for (int i = 0; i < graph->input_count; i++)
    for (int d = 1; d < graph->inputs[i]->rank; d++)
      if (graph->inputs[i]->dims[d].size < 0) return graph->inputs[i]->dims[d].symbol;
  return NULL;
}

/* Open sizes are 1, which of an image is mostly too little: whoever reads what is wrong then should know. */
static tg_status infer(tg_graph *graph, tg_diag *diag) {
  const char *open = open_size(graph);
  tg_graph_bind_rest(graph, 1);
  tg_status status = tg_graph_infer(graph, diag);
  if (status && open)
    tg_diag_suffix(diag, " (the model leaves sizes open, which are 1 then: --dim %s=N)", open);
  return status;
}

tg_status tg_frontend_lower(tg_graph *graph, const tg_frontend_options *options, tg_diag *diag) {
  pipeline p = {graph, options};
  /* Sums that round do so by their places in a product, of which all levels have the same. */
  bool rounds = options->precision.tiling_accum == TG_ACCUM_BF16SR,
       merges = !options->for_cpu && (rounds || !options->products_apart);

  if (infer(graph, diag) || check_inference(graph, diag) || tg_normalize_by_batch(graph, diag))
    return TG_INVALID;
  after(&p, "infer");

  /* Until the policy has spoken the operators stay the model's, also those that change nothing: a dropout or
   * a conversion to the same type may be what a rule is about. */
  run(&p, "fold_constants");
  run(&p, "remove_dead");
  if (tg_precision_insert(graph, &options->precision, diag)) return TG_INVALID;
  after(&p, "precision");
  if (tg_lower_float64(graph, diag)) return TG_INVALID;
  after(&p, "lower_float64");
  run(&p, "lower_narrow");

  run(&p, "lower_batch_normalization");
  tg_precision_clean(graph);
  after(&p, "clean_casts");

  if (tg_lower_integers(graph, diag)) return TG_INVALID;
  after(&p, "lower_integers");
  run(&p, "lower_sum");
  run(&p, "lower_logic");
  run(&p, options->for_cpu ? "slice_gather" : "lower_gather");
  run(&p, "lower_gemm");
  run(&p, "lower_shape");
  run(&p, "lower_pieces");
  run(&p, "lower_softmax");
  run(&p, "lower_layer_normalization");
  run(&p, "lower_global_pool");
  run(&p, "lower_reduce");
  run(&p, "lower_conv_transpose");
  run(&p, "lower_pool_gradient");

  run(&p, "channels_last");
  run(&p, "slice_pads");
  if (merges) {
    tg_merge_scaled_products(graph);
    after(&p, "merge_scaled_products");
  }
  run(&p, "slice_reshapes");
  if (!options->for_cpu) run(&p, "scale_columns");
  run(&p, "hoist_casts");
  run(&p, "sink_transposes");
  run(&p, "sink_squeezes");
  run(&p, "sink_planes");
  run(&p, "lower_repeats");
  run(&p, "merge_moves");
  if (options->precision.tiling_accum == TG_ACCUM_FP32) run(&p, "lower_conv_gradient");
  run(&p, "lower_depthwise_gradient");
  run(&p, "split_reduce");
  run(&p, "fold_constants");
  run(&p, "permute_weights");
  if (options->precision.tiling_accum == TG_ACCUM_FP32) {
    run(&p, "permute_channels");
    run(&p, "absorb_shuffles");
  }
  run(&p, "transpose_to_reshape");
  run(&p, "merge_moves");
  run(&p, "merge_chains");

  run(&p, "fold_constants");
  if (options->precision.tiling_accum == TG_ACCUM_BF16SR && !options->for_cpu && !graph->carry_count) {
    tg_narrow_products(graph, options->precision.k_tile ? options->precision.k_tile : 128);
    after(&p, "narrow_products");
  }
  run(&p, "share_casts");
  run(&p, "absorb_casts");
  if (options->precision.attention_block && !options->for_cpu) block_attention(&p);
  if (options->precision.tiling_accum == TG_ACCUM_FP32) run(&p, "transpose_products");
  if (merges) {
    run(&p, "merge_products");
    run(&p, "scale_columns");
  }
  run(&p, "merge_moves");
  if (!options->for_cpu) run(&p, "nest_concats");
  run(&p, "remove_dead");

  return options->for_cpu ? tg_graph_verify(graph, diag) : tg_graph_verify_lowered(graph, diag);
}
