/* Files of a model: mapped whole, and only regular files. */
#ifndef TEGULA_FRONTEND_ONNX_FILE_H
#define TEGULA_FRONTEND_ONNX_FILE_H

#include "frontend/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tg_file {
  const uint8_t *data;
  size_t size;
} tg_file;

/* Maps the model file read-only; links are followed, since the user named it. */
tg_status tg_file_map(const char *path, tg_file *out_file, tg_diag *diag);
void tg_file_unmap(tg_file *file);

/* Maps external data: `location` names a regular file directly in the folder of `model_path`, without links
 * of either kind. Never blocks on what is no regular file. `model_path` NULL: there is no folder. */
tg_status tg_file_map_external(const char *model_path, const char *location, tg_file *out_file,
                               tg_diag *diag);

#endif
