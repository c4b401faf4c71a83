/* What an engine relies on: checked once, so that engines need no second look. */
#include "sim/machine/mx_shape.h"
#include "sim/machine/program.h"
#include "sim/machine/sequencer.h"
#include "sim/machine/walk.h"

#include <string.h>

typedef struct check {
  const tg_program *program;
  const tg_params *m;
  const tg_tile_program *tile; /* of the queue, NULL in an AGCU */
  uint32_t endpoint;           /* tile row-major, then AGCUs */
  tg_diag *diag;
} check;

/* Conditions stand in ifs, not in a macro, in which clang counts no MC/DC (tests/coverage.py). */
#define REFUSED(...) tg_fail(k->diag, TG_INVALID, __VA_ARGS__)

static bool is_agcu(const check *k) { return k->endpoint >= tg_tiles(k->m); }

/* Position of the endpoint on the lanes of a row (or column); -1: it has none of that kind. */
static int position(const check *k, bool row) {
  uint32_t tiles = tg_tiles(k->m);
  if (is_agcu(k)) return (k->endpoint - tiles < k->m->rows) == row ? 0 : -1;
  return (int)(row ? k->endpoint % k->m->cols : k->endpoint / k->m->cols) + 1;
}

static tg_status check_common(const check *k, const tg_common_instr *in, uint32_t pc) {
  for (int l = 0; l < TG_LEVELS; l++)
    if (in->loop_count[l] && in->loop_begin[l] > pc)
      return REFUSED("loop_begin[%d] = %lld lies after its end", l, (long long)in->loop_begin[l]);
  for (int i = 0; i < 4; i++) {
    if (in->wait_on[i] && in->wait_sem[i] >= k->m->semaphores)
      return REFUSED("wait_sem[%d]: there is no semaphore %lld", i, (long long)in->wait_sem[i]);
    for (int j = 0; j < i; j++)
      if (in->wait_on[i] && in->wait_on[j] && in->wait_sem[i] == in->wait_sem[j])
        return REFUSED("semaphore %lld is waited for twice", (long long)in->wait_sem[i]);
    if (in->post_kind[i] == TG_POST_NONE) continue;
    if (in->post_sem[i] >= k->m->semaphores)
      return REFUSED("post_sem[%d]: there is no semaphore %lld", i, (long long)in->post_sem[i]);
    if (in->post_kind[i] == TG_POST_LOCAL) continue;
    bool row = in->post_kind[i] == TG_POST_ROW;
    int own = position(k, row);
    if (own < 0 || in->post_pos[i] == own || in->post_pos[i] > (row ? k->m->cols : k->m->rows))
      return REFUSED("post_pos[%d]: there is no position %lld to post to", i, (long long)in->post_pos[i]);
  }
  for (int pos = 0; pos < 17; pos++) {
    if (!(in->credit_mask >> pos & 1)) continue;
    if (in->credit_base + pos >= k->m->semaphores) return REFUSED("credits reach beyond the semaphores");
    for (int i = 0; i < 4; i++)
      if (in->wait_on[i] && in->wait_sem[i] == in->credit_base + pos)
        return REFUSED("semaphore %lld is waited for twice, once as a credit", (long long)in->wait_sem[i]);
  }
  return TG_OK;
}

/* Blocks that follow each other leave each row of the accumulator the time it needs only if the rows are the
 * same at the same m, or none (fp32: or of the other half of the lanes). */
static tg_status check_accumulator(const check *k, const tg_mx_instr *in, int64_t rows) {
  int64_t back = 0, halves_back = 0;
  for (int l = 3; l >= 0; l--) { /* loop l goes on, those inside begin again */
    int64_t step = in->c_blk[l] - back, halves = in->h_blk[l] - halves_back;
    bool other_half = in->format == TG_FMT_FP32 && halves % 2 != 0;
    if (in->blk_count[l] >= 2 && !other_half && step != 0 && step < rows && step > -rows)
      return REFUSED(
          "c_blk[%d]: accumulator rows of two blocks that follow each other overlap in part: %lld rows, %lld "
          "apart",
          l, (long long)rows, (long long)(step < 0 ? -step : step));
    back += (in->blk_count[l] - 1) * in->c_blk[l];
    halves_back += (in->blk_count[l] - 1) * in->h_blk[l];
  }
  return TG_OK;
}

static tg_status check_mx(const check *k, const tg_mx_instr *in) {
  int64_t rows = in->m_count[0] * in->m_count[1];
  if (rows < 1 || rows > 65535) return REFUSED("m_count: %lld rows", (long long)rows);
  int64_t blocks = 1;
  for (int l = 0; l < 4; l++) blocks *= in->blk_count[l];
  if (blocks < 1 || blocks > 1 << 20) return REFUSED("blk_count: %lld blocks", (long long)blocks);
  int64_t k_blocks = 1;
  for (int l = 0; l < 4; l++)
    if (in->k_loops >> l & 1) k_blocks *= in->blk_count[l];
  if (in->sr && in->sr_k < 1) return REFUSED("sr_k is 0");
  if (in->sr && in->k_chunk > k_blocks * tg_mx_stationary(k->m, in->format))
    return REFUSED("k_chunk: its blocks have fewer than %lld k", (long long)in->k_chunk);
  if (in->sr_key >= TG_BASES) return REFUSED("sr_key is out of range");
  return check_accumulator(k, in, rows);
}

static tg_status check_word(const check *k, const tg_vx_instr *in, uint32_t index) {
  tg_ucode w = tg_ucode_decode(k->tile->words[index]);
  uint32_t operands[] = {w.alu_a, w.alu_b, w.alu_c, w.st_src};
  bool immediate = tg_alu_has_immediate(w.alu_op);
  for (int i = 0; i < 4; i++) {
    if (i == 2 && immediate) continue;
    if (i == 3 ? !w.st_on : w.alu_op == TG_ALU_nop) continue;
    if (operands[i] >= TG_VX_REGS &&
        (operands[i] < TG_CONST0 || operands[i] - TG_CONST0 >= k->tile->constant_count))
      return REFUSED("word %u: there is no operand %u", index, operands[i]);
  }
  if (w.alu_op >= TG_ALU_COUNT) return REFUSED("word %u: there is no operation %u", index, w.alu_op);
  if (w.alu_op == TG_ALU_lut && k->tile->constant_count < 64)
    return REFUSED("word %u: lut needs 64 constants", index);
  if (w.ld_on) {
    if (w.ld_stream >= TG_STREAMS) return REFUSED("word %u: there is no stream %u", index, w.ld_stream);
    const tg_stream *s = tg_stream_of(in, w.ld_stream);
    if (s->kind == TG_STREAM_NONE || s->kind == TG_STREAM_BF16SR || s->store)
      return REFUSED("word %u loads from stream %u, which is not a load stream", index, w.ld_stream);
  }
  if (w.st_on) {
    if (w.st_stream >= TG_STREAMS) return REFUSED("word %u: there is no stream %u", index, w.st_stream);
    const tg_stream *s = tg_stream_of(in, w.st_stream);
    if (!s->store || ((s->kind < TG_STREAM_FP32 || s->kind > TG_STREAM_FP16) && s->kind != TG_STREAM_BF16SR))
      return REFUSED("word %u stores to stream %u, which is not a store stream", index, w.st_stream);
  }
  return TG_OK;
}

static tg_status check_vx(const check *k, const tg_vx_instr *in) {
  for (int d = 0; d < 3; d++)
    if (in->row_count[d] < 1) return REFUSED("row_count[%d] is 0", d);
  for (int d = 0; d < 2; d++)
    if (in->j_count[d] < 1) return REFUSED("j_count[%d] is 0", d);
  if (in->sr_key >= TG_BASES) return REFUSED("sr_key is out of range");
  for (int t = 0; t < TG_STREAMS; t++) {
    const tg_stream *s = tg_stream_of(in, t);
    if (s->kind >= TG_STREAM_COUNT) return REFUSED("s%d_kind: there is no kind %lld", t, (long long)s->kind);
    if (s->lane >= k->m->p) return REFUSED("s%d_lane is beyond a bank row", t);
  }
  for (int q = 0; q < TG_SEGMENTS; q++) {
    if (in->seg_begin[q] + in->seg_len[q] > k->tile->word_count)
      return REFUSED("segment %d reaches beyond the microcode", q);
    for (int64_t w = in->seg_begin[q]; w < in->seg_begin[q] + in->seg_len[q]; w++) {
      tg_status status = check_word(k, in, (uint32_t)w);
      if (status) return status;
    }
  }
  return TG_OK;
}

/* Destinations lie on the lane's downstream side; only W and N lanes reach the AGCU. */
static tg_status check_destinations(const check *k, int64_t dir, int64_t mask) {
  bool row = dir == TG_DIR_EAST || dir == TG_DIR_WEST, up = dir == TG_DIR_EAST || dir == TG_DIR_SOUTH;
  int own = position(k, row), last = (int)(row ? k->m->cols : k->m->rows);
  if (own < 0) return REFUSED("the lane does not pass here");
  if (!mask) return REFUSED("dst_mask is empty");
  for (int pos = 0; pos < 17; pos++) {
    bool downstream = up ? pos > own : pos < own;
    if (mask >> pos & 1 && (pos > last || !downstream))
      return REFUSED("dst_mask: position %d is not downstream", pos);
  }
  return TG_OK;
}

static tg_status check_tx(const check *k, const tg_tx_instr *in) {
  if (in->flits < 1) return REFUSED("flits is 0");
  if (in->src_inner < 1 || in->dst_inner < 1) return REFUSED("src_inner or dst_inner is 0");
  if (in->dst_post && in->dst_sem >= k->m->semaphores)
    return REFUSED("there is no semaphore %lld", (long long)in->dst_sem);
  return check_destinations(k, in->dir, in->dst_mask);
}

static tg_status check_agcu(const check *k, const tg_agcu_instr *in) {
  if (in->rows < 1 || in->take < 1) return REFUSED("rows or take is 0");
  for (int d = 0; d < 3; d++)
    if (in->m_radix[d] < 1 || in->k_radix[d] < 1) return REFUSED("a radix is 0");
  if (in->convert >= TG_CVT_COUNT) return REFUSED("there is no conversion %lld", (long long)in->convert);
  /* Flits are counted in 32 bits; one more than that would take years to simulate. */
  if ((uint64_t)in->rows * (uint64_t)in->take >= 1ull << 31) return REFUSED("more than 2^31 elements");
  if (in->index_size > TG_MOST_INDEXED_ROWS) return REFUSED("index_size: more than 2^24 rows to choose from");
  if (in->op == TG_OP_agcu_store) {
    if (in->convert > TG_CVT_16) return REFUSED("a STORE does not convert");
    return TG_OK;
  }
  if (in->dst_inner < 1) return REFUSED("dst_inner is 0");
  if (in->dst_post && in->dst_sem >= k->m->semaphores)
    return REFUSED("there is no semaphore %lld", (long long)in->dst_sem);
  return check_destinations(k, tg_is_west(k->m, k->endpoint - tg_tiles(k->m)) ? TG_DIR_EAST : TG_DIR_SOUTH,
                            in->dst_mask);
}

static tg_status check_instr(const check *k, tg_unit unit, const tg_instr *instr, uint32_t pc) {
  tg_status status = tg_instr_check(unit, instr, k->diag);
  if (!status) status = check_common(k, &instr->common, pc);
  if (status || instr->common.op == TG_OP_sync) return status;
  switch (unit) {
  case TG_MX: return check_mx(k, &instr->mx);
  case TG_VX: return check_vx(k, &instr->vx);
  case TG_TX: return check_tx(k, &instr->tx);
  case TG_AGCU: return check_agcu(k, &instr->agcu);
  }
  return TG_OK;
}

/* Bodies of a context's loops, [loop_begin, pc]: those of one level are apart, and an inner level's lies within an outer one's or apart from
 * it. So from one execution of an instruction to the next one level goes on, and those within it begin again: the hardware
 * counts the starts of walks on. *out_count: instructions up to the one whose loop is refused. */
static tg_status check_loops(const check *k, const tg_queue *queue, uint32_t *out_count) {
  uint32_t body[TG_LEVELS][TG_MAX_QUEUE] = {{0}}; /* end of the loop that an instruction is in, + 1 */
  for (int l = 0; l < TG_LEVELS; l++)
    for (uint32_t pc = 0; pc < queue->count; pc++) {
      const tg_common_instr *in = &queue->instrs[pc].common;
      if (!in->loop_count[l]) continue;
      *out_count = pc + 1;
      for (uint32_t at = (uint32_t)in->loop_begin[l]; at <= pc; at++) {
        if (body[l][at])
          return REFUSED("loops of level %d that end at %u and %u overlap", l, body[l][at] - 1, pc);
        body[l][at] = pc + 1;
        for (int outer = 0; outer < l; outer++)
          if (body[outer][at] != body[outer][pc])
            return REFUSED("the loop of level %d that ends at %u lies partly in one of level %d", l, pc,
                           outer);
      }
    }
  return TG_OK;
}

/* Linear indices of walks are numbers of 32 bits: none wraps around. */
static tg_status check_starts(const check *k, const tg_queue *queue, uint32_t pc) {
  const tg_agcu_instr *in = &queue->instrs[pc].agcu;
  uint64_t m = (uint64_t)in->m_first, n = (uint64_t)in->k_first;
  if (in->op == TG_OP_sync) return TG_OK;
  for (uint32_t end = pc; end < queue->count; end++) {
    const tg_common_instr *last = &queue->instrs[end].common;
    for (int l = 0; l < TG_LEVELS; l++) {
      if (!last->loop_count[l] || last->loop_begin[l] > pc) continue;
      m += (uint64_t)(last->loop_count[l] - 1) * (uint64_t)in->m_delta[l]; /* 20 and 32 bits, once a level */
      n += (uint64_t)(last->loop_count[l] - 1) * (uint64_t)in->k_delta[l];
    }
  }
  if (m >= 1ull << 32) return REFUSED("the row walk's linear index reaches 2^32");
  if (n >= 1ull << 32) return REFUSED("the K walk's linear index reaches 2^32");
  return TG_OK;
}

static tg_status check_queue(const check *k, tg_unit unit, const tg_queue *queue, uint32_t context) {
  tg_status status = TG_OK;
  uint32_t pc = 0;
  if (queue->count > k->m->queue_depth)
    status =
        tg_fail(k->diag, TG_INVALID, "%u instructions in a queue of %u", queue->count, k->m->queue_depth);
  for (; !status && pc < queue->count; pc++) status = check_instr(k, unit, &queue->instrs[pc], pc);
  if (!status && unit == TG_AGCU) status = check_loops(k, queue, &pc);
  for (uint32_t at = 0; !status && unit == TG_AGCU && at < queue->count; at++) {
    status = check_starts(k, queue, at);
    pc = at + 1;
  }
  if (!status) return TG_OK;
  if (is_agcu(k))
    tg_diag_prefix(k->diag, "agcu %u context %u, instruction %u", k->endpoint - tg_tiles(k->m), context,
                   pc ? pc - 1 : 0);
  else
    tg_diag_prefix(k->diag, "tile %u %s, instruction %u", k->endpoint, tg_unit_name(unit), pc ? pc - 1 : 0);
  return status;
}

static tg_status check_section(check *k, const tg_section *section) {
  tg_status status = TG_OK;
  if ((uint64_t)section->kept >> k->m->banks != 0) return REFUSED("kept: there are %u banks", k->m->banks);
  for (k->endpoint = 0; !status && k->endpoint < tg_tiles(k->m); k->endpoint++) {
    const tg_tile_program *tile = k->tile = &section->tiles[k->endpoint];
    if (tile->word_count > k->m->microcode_words)
      return REFUSED("tile %u: %u microcode words", k->endpoint, tile->word_count);
    if (tile->constant_count > k->m->vx_constants)
      return REFUSED("tile %u: %u constants", k->endpoint, tile->constant_count);
    status = check_queue(k, TG_MX, &tile->mx, 0);
    if (!status) status = check_queue(k, TG_VX, &tile->vx, 0);
    if (!status) status = check_queue(k, TG_TX, &tile->tx, 0);
  }
  k->tile = NULL;
  for (k->endpoint = tg_tiles(k->m); !status && k->endpoint < tg_tiles(k->m) + tg_agcus(k->m); k->endpoint++)
    for (uint32_t c = 0; !status && c < k->m->agcu_contexts; c++)
      status = check_queue(k, TG_AGCU, &section->agcus[k->endpoint - tg_tiles(k->m)].contexts[c], c);
  return status;
}

/* Bytes from an entry of the base table on that a walk may touch; doubles hold what is in bounds exactly, and what is
 * not stays so. */
typedef struct reach {
  double low, high;
} reach;

static void add_steps(reach *r, double count, int64_t stride) {
  double last = (count - 1) * (double)stride;
  *(last < 0 ? &r->low : &r->high) += last;
}

/* Of all executions, whatever the indices: of each digit, and of each loop in its queue, all that it may be. */
static reach reach_of(const tg_queue *queue, const tg_agcu_instr *in) {
  reach r = {(double)in->offset, (double)in->offset + tg_convert_memory_bytes(in->convert)};
  for (int l = 0; l < TG_LEVELS; l++) {
    int64_t most = 1;
    for (uint32_t pc = 0; pc < queue->count; pc++)
      if (queue->instrs[pc].common.loop_count[l] > most) most = queue->instrs[pc].common.loop_count[l];
    add_steps(&r, (double)most, in->offset_delta[l]);
  }
  for (int d = 0; d < 3; d++) {
    add_steps(&r, (double)in->m_radix[d], in->stride[d]);
    add_steps(&r, (double)in->k_radix[d], in->stride[3 + d]);
  }
  add_steps(&r, (double)in->index_size, in->index_stride);
  return r;
}

/* Rows by index lie in device memory, whatever the indices: no engine finds a fault that depends on them. */
static tg_status check_table(const check *k, const tg_section *section, const tg_invocation *invocation) {
  for (uint32_t a = 0; a < tg_agcus(k->m); a++)
    for (uint32_t c = 0; c < k->m->agcu_contexts; c++) {
      const tg_queue *queue = &section->agcus[a].contexts[c];
      for (uint32_t pc = 0; pc < queue->count; pc++) {
        const tg_agcu_instr *in = &queue->instrs[pc].agcu;
        if (in->op == TG_OP_sync || !in->index_size) continue;
        reach r = reach_of(queue, in);
        double base = (double)invocation->bases[in->base];
        if (!(base + r.low >= 0 && base + r.high <= (double)k->program->dram_bytes))
          return REFUSED("agcu %u context %u, instruction %u: rows by index may lie outside the memory", a, c,
                         pc);
      }
    }
  return TG_OK;
}

static tg_status check_tensor(const check *k, const tg_dram_tensor *tensor) {
  uint64_t bytes = tg_storage_bytes(tensor->storage);
  if (tensor->role >= TG_ROLE_COUNT || tensor->storage > TG_STORE_TF32 || tensor->rank > 8)
    return REFUSED("its type is not known");
  for (uint32_t d = 0; d < tensor->rank; d++)
    if (tensor->dims[d] < 0 || __builtin_mul_overflow(bytes, (uint64_t)tensor->dims[d], &bytes))
      return REFUSED("its size overflows");
  if (bytes != tensor->bytes)
    return REFUSED("%llu bytes do not match its dimensions", (unsigned long long)tensor->bytes);
  if (tensor->address % 64 != 0 || tensor->address > k->program->dram_bytes ||
      tensor->bytes > k->program->dram_bytes - tensor->address)
    return REFUSED("it lies outside the memory");
  if ((tensor->role == TG_ROLE_CONSTANT && tensor->bytes > 0) != (tensor->data != NULL))
    return REFUSED("data and role disagree");
  if (tensor->type >= TG_DTYPE_COUNT || tensor->limit < 0 ||
      (tensor->known && (!tensor->type || !tg_role_is_output(tensor->role))))
    return REFUSED("its element type and role disagree");
  return TG_OK;
}

tg_status tg_section_check(const tg_program *program, uint32_t section, tg_diag *diag) {
  check state = {.program = program, .m = &program->params, .diag = diag};
  if (!check_section(&state, &program->sections[section])) return TG_OK;
  tg_diag_prefix(diag, "section %u \"%s\"", section, program->sections[section].name);
  return TG_INVALID;
}

tg_status tg_program_check(const tg_program *program, tg_diag *diag) {
  check state = {.program = program, .m = &program->params, .diag = diag}, *k = &state;
  tg_status status = tg_params_check(k->m, diag);
  if (status) return status;
  if (program->dram_bytes > 1ull << 40)
    return REFUSED("%llu bytes of memory", (unsigned long long)program->dram_bytes);
  for (uint32_t t = 0; t < program->tensor_count; t++)
    if (check_tensor(k, &program->tensors[t])) {
      tg_diag_prefix(diag, "tensor \"%s\"", program->tensors[t].name);
      return TG_INVALID;
    }
  for (uint32_t s = 0; s < program->section_count; s++)
    if (tg_section_check(program, s, diag)) return TG_INVALID;
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    const tg_invocation *invocation = &program->invocations[i];
    if (invocation->section >= program->section_count)
      return REFUSED("invocation %u: there is no section %u", i, invocation->section);
    for (int b = 0; b < TG_BASES; b++)
      if (invocation->bases[b] % 64 != 0 || invocation->bases[b] > program->dram_bytes)
        return REFUSED("invocation %u: base %d lies outside the memory", i, b);
    if (check_table(k, &program->sections[invocation->section], invocation)) {
      tg_diag_prefix(diag, "invocation %u \"%s\"", i, invocation->name);
      return TG_INVALID;
    }
  }
  return TG_OK;
}
