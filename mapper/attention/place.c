/* Which tile computes what of attention. */
#include "mapper/attention/emission.h"

typedef tg_attention_emission emission;

uint32_t tg_attention_first_product(const emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) / e->a->group;
}

uint32_t tg_attention_first_row(const emission *e, uint32_t r, uint32_t col) {
  return (r * e->b.m->cols + col) % e->a->group * e->a->rows;
}

bool tg_attention_own_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->a->group == 1 && !tg_egress_is_west(r, col);
}
bool tg_attention_shared_from_west(const emission *e, uint32_t r, uint32_t col) {
  return e->a->group > 1 || !tg_egress_is_west(r, col);
}

void tg_attention_set_walk(tg_agcu_instr *in, const tg_matrices *x, int64_t radix, int entry,
                           int64_t residue) {
  int64_t z = tg_value_bytes_each(x->value);
  in->base = entry;
  in->offset = residue;
  for (int d = 0; d < 2; d++) {
    in->m_radix[d] = x->radix[d];
    in->stride[d] = x->stride[d] * z;
    in->k_radix[d] = 1;
  }
  in->m_radix[2] = radix;
  in->stride[2] = x->row_stride * z;
  in->k_radix[2] = x->columns;
  in->stride[5] = x->column_stride * z;
  in->y_inc[2] = 1;
  in->y_size = x->rows;
  in->x_size = 1;
}

void tg_attention_set_block(const emission *e, tg_agcu_instr *in, uint32_t r, uint32_t col) {
  in->rows = e->a->rows;
  in->m_first += tg_attention_first_row(e, r, col);
  in->m_delta[1] = (int64_t)e->a->group * e->a->rows;
}
