/* The rules of gradients.def and what their files share. */
#ifndef TEGULA_FRONTEND_GRADIENTS_RULES_H
#define TEGULA_FRONTEND_GRADIENTS_RULES_H

#include "frontend/gradients/gradients.h"

#define TG_GRADIENT(op, operands, rule, formula) tg_gradient_rule tg_gradient_##rule;
#include "frontend/gradients/gradients.def"
#undef TG_GRADIENT

static inline tg_value *tg_mul(tg_backward *w, tg_value *x, tg_value *y) {
  return tg_build_binary(&w->build, TG_OP_MUL, x, y);
}
static inline tg_value *tg_add(tg_backward *w, tg_value *x, tg_value *y) {
  return tg_build_binary(&w->build, TG_OP_ADD, x, y);
}
static inline tg_value *tg_sub(tg_backward *w, tg_value *x, tg_value *y) {
  return tg_build_binary(&w->build, TG_OP_SUB, x, y);
}
static inline tg_value *tg_div(tg_backward *w, tg_value *x, tg_value *y) {
  return tg_build_binary(&w->build, TG_OP_DIV, x, y);
}
static inline tg_value *tg_neg(tg_backward *w, tg_value *x) {
  return tg_build_unary(&w->build, TG_OP_NEG, x);
}
static inline tg_value *tg_scaled(tg_backward *w, tg_value *x, double factor) {
  return factor == 1 ? x : tg_build_with(&w->build, TG_OP_MUL, x, factor);
}
static inline tg_value *tg_plus(tg_backward *w, tg_value *x, double number) {
  return tg_build_with(&w->build, TG_OP_ADD, x, number);
}
static inline tg_value *tg_one_minus(tg_backward *w, tg_value *x) {
  return tg_build_from(&w->build, TG_OP_SUB, 1, x);
}
static inline tg_value *tg_unary(tg_backward *w, tg_op op, tg_value *x) {
  return tg_build_unary(&w->build, op, x);
}
/* Bools: x `op` number. */
static inline tg_value *tg_compare(tg_backward *w, tg_op op, tg_value *x, double number) {
  return tg_build_with(&w->build, op, x, number);
}
static inline tg_value *tg_where(tg_backward *w, tg_value *condition, tg_value *x, tg_value *y) {
  return tg_build_where(&w->build, condition, x, y ? y : tg_build_number(&w->build, 0));
}

/* Of g and of a mask with the maxima (minima) of x over `axes`: g in equal parts. rules_reduce.c */
tg_value *tg_gradient_among_equals(tg_backward *w, tg_value *x, tg_value *y, tg_value *g, unsigned axes);

#endif
