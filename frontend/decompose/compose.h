/* Short names for what compositions write most. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_COMPOSE_H
#define TEGULA_FRONTEND_DECOMPOSE_COMPOSE_H

#include "frontend/decompose/decompose.h"

static inline tg_value *add(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_binary(b, TG_OP_ADD, x, y);
}
static inline tg_value *sub(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_binary(b, TG_OP_SUB, x, y);
}
static inline tg_value *mul(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_binary(b, TG_OP_MUL, x, y);
}
static inline tg_value *divided(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_binary(b, TG_OP_DIV, x, y);
}
/* x op number, the number in the type of x. */
static inline tg_value *with(tg_build *b, tg_op op, tg_value *x, double number) {
  return tg_build_binary(b, op, x, tg_build_number_like(b, x, number));
}
static inline tg_value *plus(tg_build *b, tg_value *x, double number) {
  return with(b, TG_OP_ADD, x, number);
}
static inline tg_value *times(tg_build *b, tg_value *x, double number) {
  return with(b, TG_OP_MUL, x, number);
}
static inline tg_value * not(tg_build * b, tg_value *x) { return tg_build_unary(b, TG_OP_NOT, x); }
static inline tg_value *both(tg_build *b, tg_value *x, tg_value *y) {
  return tg_build_binary(b, TG_OP_AND, x, y);
}
static inline tg_value *f32(tg_build *b, tg_value *x) { return tg_build_cast(b, x, TG_F32); }

#endif
