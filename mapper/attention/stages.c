/* The stages of attention: what each fills and empties, and how long it takes for a unit. */
#include "frontend/base/math.h"
#include "mapper/attention/parts.h"
#include "mapper/gemm/layout.h"

/* Of a port, for so many whole rows. */
static double port_cycles(const tg_params *m, const tg_matrices *x, double rows) {
  return tg_attention_port_cycles(m, x, rows, x->columns);
}

double tg_attention_out_cycles(const tg_params *m, const tg_attention *a) {
  return port_cycles(m, &a->out, a->grid.rows);
}

typedef struct list {
  const tg_params *m;
  const tg_attention *a;
  tg_stages *out;
} list;

static tg_join filled_together(tg_attention_role role) {
  return (tg_join){.channel = (uint8_t)role, .fills = true, .waits = TG_OF_ENDS, .posts = TG_OF_ENDS};
}

static void add_loads(const list *s, tg_seat side) {
  const tg_params *m = s->m;
  const tg_attention *a = s->a;
  uint32_t longest = (uint32_t)tg_max(m->rows, m->cols),
           operands = (uint32_t)a->scores.epilogue_operand_count;
  double own = port_cycles(m, &a->q, a->grid.rows);
  for (uint32_t x = 0; x < operands; x++)
    own += port_cycles(m, &a->epilogue_operand[x], a->epilogue_operand[x].rows == 1 ? 1 : a->grid.rows);
  tg_attention_loads tiles = tg_attention_loads_of(m, &a->grid, side);
  tg_stage loads = {.kind = TG_STAGE_LOADS,
                    .seat = (uint8_t)side,
                    .context = TG_CTX_LOAD,
                    .rate = TG_RATE_STEP,
                    .nest = TG_NEST_BLOCKS_OF_ROWS,
                    .slots = longest * (2 + operands), /* at most */
                    .cycles = tiles.own * own + tiles.shared * port_cycles(m, &a->k, (double)a->k.rows)};
  const tg_attention_role of_loads[] = {TG_ROLE_QUERIES, TG_ROLE_KEYS, TG_ROLE_SCORED_ALL};
  tg_stage values = loads;
  for (int i = 0; i < 3; i++) tg_stage_join(&loads, filled_together(of_loads[i]));
  tg_stage_join(&values, filled_together(TG_ROLE_VALUES));
  values.kind = TG_STAGE_VALUES;
  values.context = TG_CTX_AUX;
  values.slots = longest;
  values.cycles = tiles.shared * port_cycles(m, &a->v, (double)a->v.rows);
  tg_stages_add(s->out, &loads);
  tg_stages_add(s->out, &values);
  tg_stage results = tg_attention_results_stage(m, side, TG_STAGE_OUT, tg_attention_out_cycles(m, a));
  tg_stages_add(s->out, &results);
}

static tg_stage in_unit(tg_attention_stage kind, tg_seat unit, uint8_t lag, double cycles) {
  return (tg_stage){.kind = (uint8_t)kind,
                    .seat = (uint8_t)unit,
                    .nest = TG_NEST_UNITS,
                    .skewed = true,
                    .lag = lag,
                    .slots = 3, /* the first, those in a loop, the last */
                    .cycles = cycles};
}

static void add_products(const list *s) {
  const tg_attention *a = s->a;
  tg_gemm_tiling first = tg_attention_scores(a), second = tg_attention_context(s->m, a);
  tg_stage context = in_unit(TG_STAGE_SECOND_PRODUCT, TG_UNIT_MX, 2,
                             tg_attention_gemm_cycles(s->m, &a->context, &second)),
           scores =
               in_unit(TG_STAGE_SCORES, TG_UNIT_MX, 0, tg_attention_gemm_cycles(s->m, &a->scores, &first));
  const tg_join whole = {.channel = TG_ROLE_PRODUCT, .fills = true, .post = TG_NEXT_SLOT};
  tg_stage_join(&context, (tg_join){.channel = TG_ROLE_WEIGHTS, .wait = 0, .post = 1});
  tg_stage_join(&context, (tg_join){.channel = TG_ROLE_VALUES, .wait = 1, .post = 0});
  tg_stage_join(&context, whole);
  tg_stage_join(&scores, (tg_join){.channel = TG_ROLE_QUERIES});
  tg_stage_join(&scores, (tg_join){.channel = TG_ROLE_KEYS, .wait = 1, .post = 1});
  tg_stage_join(&scores, (tg_join){.channel = TG_ROLE_SCORES, .fills = true, .post = 2});
  tg_stage_join(&scores, whole);
  tg_stages_add(s->out, &context);
  tg_stages_add(s->out, &scores);
}

static void add_vops(const list *s) {
  const tg_params *m = s->m;
  const tg_attention *a = s->a;
  const int *w = a->words;
  double vectors = (double)tg_attention_keys(a) / tg_lanes(m), each = vectors / a->unroll;
  double first = w[0] + each * w[1] + w[2] + each * w[3] + w[4],
         second = w[5] + vectors / a->own_unroll * w[6];
  double drained = (double)a->grid.rows * tg_attention_width(m, a) / tg_lanes(m);
  tg_stage exps = in_unit(TG_STAGE_EXPS, TG_UNIT_VX, 0, tg_attention_vop_cycles(m, a->grid.rows, first)),
           weights =
               in_unit(TG_STAGE_WEIGHTS, TG_UNIT_VX, 0, tg_attention_vop_cycles(m, a->grid.rows, second)),
           drain = in_unit(TG_STAGE_CONTEXT, TG_UNIT_VX, 1,
                           tg_attention_vop_cycles(m, drained, w[TG_ATTENTION_DRAIN]));
  tg_stage_join(&exps, (tg_join){.channel = TG_ROLE_SCORES});
  if (a->scores.epilogue_operand_count)
    tg_stage_join(&exps, (tg_join){.channel = TG_ROLE_SCORED_ALL, .wait = 1});
  tg_stage_join(&weights, (tg_join){.channel = TG_ROLE_WEIGHTS, .fills = true});
  tg_stage_join(&drain, (tg_join){.channel = TG_ROLE_PRODUCT});
  tg_stage_join(&drain, (tg_join){.channel = TG_ROLE_CONTEXT, .fills = true, .wait = 1});
  tg_stages_add(s->out, &exps);
  tg_stages_add(s->out, &weights);
  tg_stages_add(s->out, &drain);
}

void tg_attention_list_stages(const tg_params *m, const tg_attention *a, tg_stages *out) {
  list s = {m, a, out};
  out->count = 0;
  add_loads(&s, TG_SIDE_WEST);
  add_loads(&s, TG_SIDE_NORTH);
  add_products(&s);
  add_vops(&s);
  tg_stage sends = {.kind = TG_STAGE_OUT, .seat = TG_UNIT_TX, .nest = TG_NEST_OWN, .slots = 1};
  tg_stages_add(out, &sends);
}
