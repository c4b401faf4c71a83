/* The operator table: what ops.def and attrs.def say, as data. */
#ifndef TEGULA_FRONTEND_OPS_H
#define TEGULA_FRONTEND_OPS_H

#include <float.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_ANY_COUNT = INT32_MAX };
#define TG_NOT_GIVEN (-DBL_MAX) /* an attribute of kind FLOAT that may be any float */

typedef enum tg_op {
#define TG_OP(id, name, fewest, most, outputs, flags, effect) TG_OP_##id,
#define TG_OP_ATTR(id, key, initial)
#include "frontend/ops.def"
#undef TG_OP
#undef TG_OP_ATTR
  TG_OP_COUNT
} tg_op;

typedef enum tg_op_flag {
  TG_IS_ELEMENTWISE = 1 << 0, /* each output element from the broadcast elements of the inputs */
  TG_IS_UNARY = 1 << 1,       /* one tensor operand */
  TG_IS_BINARY = 1 << 2,      /* two tensor operands */
  TG_IS_GEMM = 1 << 3,        /* runs on the matrix unit: inputs 0 and 1 share a float format */
  TG_IS_MOVE = 1 << 4,        /* elements move, none is computed */
  TG_IS_POOL = 1 << 5,        /* reduces spatial windows */
  TG_IS_WINDOW = 1 << 6,      /* has kernel_shape, strides, dilations, pads */
  TG_IS_COMMUTES = 1 << 7,    /* inputs may be exchanged */
  TG_IS_DEVICE = 1 << 8,      /* may be left in a lowered graph */
  TG_IS_INTERNAL = 1 << 9,    /* of our own: not in ONNX files */
  TG_IS_COMPARE = 1 << 10,    /* two numbers, the result is a bool */
  TG_IS_LOGIC = 1 << 11,      /* bools in, a bool out */
  TG_IS_REDUCE = 1 << 12,     /* over the dimensions AXES */
  TG_IS_GENERATES = 1 << 13,  /* of shapes and constants: its result is known after inference */
  TG_IS_RECURRENT = 1 << 15,  /* a layer over time, unrolled in inference */
  TG_IS_EXPANDED = 1 << 16,   /* made of other operators, into which inference turns it */
  TG_IS_TRAINING = 1 << 17,   /* of ONNX's domain ai.onnx.preview.training */
  TG_IS_MICROSOFT = 1 << 18,  /* of the domain com.microsoft */
  TG_IS_CONTROL = 1 << 19,    /* has bodies, which inference puts in its place */
  TG_IS_SEQUENCE = 1 << 20,   /* makes or reads a sequence of tensors, which inference dissolves */
  TG_IS_PREVIEW = 1 << 21,    /* of ONNX's domain ai.onnx.preview */
  TG_IS_BY_AXIS = 1 << 14,    /* a move whose source position along a dimension depends on that one alone */
} tg_op_flag;

typedef enum tg_attr_kind { TG_KIND_INT, TG_KIND_FLOAT, TG_KIND_INTS, TG_KIND_TEXT } tg_attr_kind;

typedef enum tg_attr_key {
#define TG_ATTR_KEY(id, name, kind, origin) TG_ATTR_##id,
#include "frontend/attrs.def"
#undef TG_ATTR_KEY
  TG_ATTR_KEY_COUNT
} tg_attr_key;

typedef struct tg_attr_info {
  const char *name;
  tg_attr_kind kind;
  int internal; /* written by our own passes only: refused in an ONNX file */
} tg_attr_info;

typedef struct tg_op_attr {
  tg_attr_key key;
  double initial; /* NaN: required; meaningless for INTS and TEXT, which start empty */
} tg_op_attr;

typedef struct tg_op_info {
  const char *name; /* ONNX's, also ours */
  int fewest_inputs, most_inputs;
  int outputs;    /* TG_ANY_COUNT: each node has its own number */
  unsigned flags; /* of tg_op_flag */
  const char *effect;
  const tg_op_attr *attrs;
  int attr_count;
} tg_op_info;

/* Total functions: any enumerator has an entry. */
const tg_op_info *tg_op_get(tg_op op);
const tg_attr_info *tg_attr_get(tg_attr_key key);

/* TG_OP_COUNT, TG_ATTR_KEY_COUNT when there is none of that name. */
tg_op tg_op_from_name(const char *name);
tg_attr_key tg_attr_from_name(const char *name);

/* The input that holds indices, of any integer type; -1: none does. */
static inline int tg_op_index_operand(tg_op op) {
  switch (op) {
  case TG_OP_GATHER:
  case TG_OP_GATHER_ELEMENTS:
  case TG_OP_SCATTER_ADD:
  case TG_OP_SOFTMAX_CROSS_ENTROPY_LOSS:
  case TG_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS: return 1; /* labels */
  case TG_OP_ADAM:
  case TG_OP_ADAGRAD:
  case TG_OP_MOMENTUM: return 1; /* the step */
  default: return -1;
  }
}

/* The operands, a bit each, that decide shapes or must be constant for another reason. */
unsigned tg_op_deciding_operands(tg_op op);

static inline int tg_op_is(tg_op op, unsigned flags) { return (tg_op_get(op)->flags & flags) != 0; }

#ifdef __cplusplus
}
#endif
#endif
