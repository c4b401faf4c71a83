/* The instruction set in C: decoded instructions, generated from isa.def, and their encoding and text. */
#ifndef TEGULA_MACHINE_ISA_H
#define TEGULA_MACHINE_ISA_H

#include "frontend/base/arena.h"
#include "sim/machine/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TG_INSTR_BYTES = 424, /* as encoded: room for the longest */
  TG_LEVELS = 3,        /* loop levels of a sequencer */
  TG_BASES = 32,        /* entries of the base table and of the key table */
  TG_STREAMS = 12, /* streams of a VOP: an optimizer reads and writes a parameter and two tensors of state; a
                      gradient that computes what it reads has as many rows and numbers */
  TG_SEGMENTS = 6, /* segments of a VOP */
  TG_VX_REGS = 32,
};

/* Units of a tile, and the contexts of an AGCU. */
typedef enum tg_unit { TG_MX, TG_VX, TG_TX, TG_AGCU } tg_unit;
const char *tg_unit_name(tg_unit unit);
const char *tg_operation_name(tg_unit unit, int64_t code); /* "gemm"; NULL: the unit has no such operation */

typedef enum tg_instr_op {
#define OPERATION(unit, name, code, doc) TG_OP_##unit##_##name = code,
#include "sim/machine/ops.def"
#undef OPERATION
  TG_OP_sync = 0,
} tg_instr_op;

typedef enum tg_alu {
#define ALU(name, code, operands, doc) TG_ALU_##name = code,
#include "sim/machine/alu.def"
#undef ALU
  TG_ALU_COUNT, /* codes are consecutive */
} tg_alu;

/* Codes of fields: TG_POST_NONE .. TG_POST_COL and TG_POST_COUNT, and so on. */
#define CODES(set, bits, doc)       enum {
#define CODE(set, name, value, doc) TG_##set##_##name = value,
#define CODES_END(set)                                                                                       \
  TG_##set##_COUNT                                                                                           \
  }                                                                                                          \
  ;
#include "sim/machine/codes.def"
#undef CODES
#undef CODE
#undef CODES_END

/* A row operand of an instruction. */
typedef struct tg_row_operand {
  int64_t base, delta[3], rot_count, rot_stride, rot_outer;
} tg_row_operand;

/* A stream of a VOP. */
typedef struct tg_stream {
  int64_t kind;
  tg_row_operand at;
  int64_t row[3], j[2], lane, banks, store;
} tg_stream;

/* One struct a unit: tg_mx_instr, tg_vx_instr, tg_tx_instr, tg_agcu_instr, and before them the fields that they share,
 * tg_common_instr. A field of one element is an int64_t, others are arrays of their count: in->flits, in->blk_count[3].
 * Groups of fields have a name as well: in->common.op is in->op, mx->a.base is mx->a_base, vop->stream[2].lane is
 * vop->s2_lane. Encoding, text and checks find a field by its offset (tg_field). */
#define ELEMENTS_1
#define ELEMENTS_2                                     [2]
#define ELEMENTS_3                                     [3]
#define ELEMENTS_4                                     [4]
#define ELEMENTS_6                                     [6]
#define UNIT(unit)                                     typedef struct tg_##unit##_instr {
#define FIELD(unit, name, count, bits, is_signed, doc) int64_t name ELEMENTS_##count;
#define GROUP(fields, member)                                                                                \
  union {                                                                                                    \
    struct {                                                                                                 \
      fields                                                                                                 \
    };                                                                                                       \
    member;                                                                                                  \
  };
#define COMMON(unit)                 GROUP(COMMON_FIELDS(unit), tg_common_instr common)
#define ROW_OPERAND(unit, name, doc) GROUP(ROW_OPERAND_FIELDS(unit, name, doc), tg_row_operand name)
#define STREAMS_BEGIN                                                                                        \
  union {                                                                                                    \
    struct {
#define STREAMS_END                                                                                          \
  }                                                                                                          \
  ;                                                                                                          \
  tg_stream stream[TG_STREAMS];                                                                              \
  }                                                                                                          \
  ;
#define END(unit)                                                                                            \
  }                                                                                                          \
  tg_##unit##_instr;
#define WITH_COMMON
#include "sim/machine/isa.def"
#undef UNIT
#undef FIELD
#undef GROUP
#undef END
#undef ELEMENTS_1
#undef ELEMENTS_2
#undef ELEMENTS_3
#undef ELEMENTS_4
#undef ELEMENTS_6

typedef union tg_instr {
  tg_common_instr common;
  tg_mx_instr mx;
  tg_vx_instr vx;
  tg_tx_instr tx;
  tg_agcu_instr agcu;
} tg_instr;

/* Of vop->stream[t]. */
static inline const tg_stream *tg_stream_of(const tg_vx_instr *vop, int t) { return &vop->stream[t]; }
static inline tg_stream *tg_stream_of_mut(tg_vx_instr *vop, int t) { return &vop->stream[t]; }

/* Is the third operand a number, not a register or a constant? */
static inline bool tg_alu_has_immediate(int operation) {
  return operation == TG_ALU_rot || operation == TG_ALU_bcast || operation == TG_ALU_tail ||
         operation == TG_ALU_rndsr;
}

/* A microcode word: fields of alu.def. */
typedef struct tg_ucode {
#define UCODE(name, bits, doc) uint8_t name;
#include "sim/machine/alu.def"
#undef UCODE
} tg_ucode;
uint64_t tg_ucode_encode(const tg_ucode *word);
tg_ucode tg_ucode_decode(uint64_t bits);
enum { TG_CONST0 = 64 }; /* operand number of constant 0 */

/* Encoding: TG_INSTR_BYTES / 8 words of 64 bits, little-endian, unused bits zero. Encode asserts nothing:
 * check first. */
void tg_instr_encode(tg_unit unit, const tg_instr *instr, uint64_t out_words[TG_INSTR_BYTES / 8]);
/* Fails on set bits outside the fields. */
tg_status tg_instr_decode(tg_unit unit, const uint64_t words[TG_INSTR_BYTES / 8], tg_instr *out_instr,
                          tg_diag *diag);
/* Every field within its width and the op known to the unit; names the field. */
tg_status tg_instr_check(tg_unit unit, const tg_instr *instr, tg_diag *diag);
unsigned tg_unit_bits(tg_unit unit); /* bits used by the fields of a unit */

/* Text: "gemm format=bf16 m_count=1,16 wait_on=1 ..." with fields that are zero left out. Codes are printed by
 * name, and parsed by name or number. */
char *tg_instr_print(tg_unit unit, const tg_instr *instr, tg_arena *arena);
tg_status tg_instr_parse(tg_unit unit, const char *line, tg_instr *out_instr, tg_diag *diag);
char *tg_ucode_print(const tg_ucode *word, tg_arena *arena);
tg_status tg_ucode_parse(const char *line, tg_ucode *out_word, tg_diag *diag);

/* A set of codes: name as in codes.def, rows in the order of their values. */
typedef struct tg_code_set {
  const char *name, *doc;
  uint8_t bits, count;
  const struct tg_code {
    const char *name, *doc;
    int value;
  } * codes;
} tg_code_set;
const tg_code_set *tg_code_sets(size_t *out_count);

/* Description of a field, for generators and documentation. */
typedef struct tg_field {
  const char *name, *doc;
  const tg_code_set *codes; /* NULL: a number */
  uint8_t count, bits;
  bool is_signed;
  uint16_t bit;    /* position of element 0 in the word */
  uint16_t member; /* offset of element 0 in the struct, in int64_t */
} tg_field;
const tg_field *tg_unit_fields(tg_unit unit, size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
