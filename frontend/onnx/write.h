/* A message to a file, whole or not at all. */
#ifndef TEGULA_FRONTEND_ONNX_WRITE_H
#define TEGULA_FRONTEND_ONNX_WRITE_H

#include "frontend/base/status.h"

#include <onnx.pb-c.h>

/* TG_INVALID, naming `path`: above the 2 GiB of a protobuf message, or the file system refuses. */
tg_status tg_onnx_write_model(const char *path, const Onnx__ModelProto *model, tg_diag *diag);

#endif
