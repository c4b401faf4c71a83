/* From bytes to protobuf-c messages, within bounds. */
#ifndef TEGULA_FRONTEND_ONNX_WIRE_H
#define TEGULA_FRONTEND_ONNX_WIRE_H

#include "frontend/base/arena.h"
#include "frontend/base/status.h"

#include <onnx.pb-c.h>

/* Parses a model, which lives in the arena. protobuf-c recurses with the nesting of messages and allocates as the counts
 * of the file ask: so the nesting is scanned first, without recursion, and the allocation capped at a multiple of the
 * file's size. */
tg_status tg_wire_parse_model(tg_arena *arena, const uint8_t *data, size_t size, Onnx__ModelProto **out_model,
                              tg_diag *diag);

#endif
