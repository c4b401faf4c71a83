#include "frontend/onnx/write.h"

#include "frontend/base/output_file.h"

typedef struct file_buffer {
  ProtobufCBuffer base;
  FILE *file;
} file_buffer;

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data) {
  fwrite(data, 1, length, ((file_buffer *)buffer)->file);
}

tg_status tg_onnx_write_model(const char *path, const Onnx__ModelProto *model, tg_diag *diag) {
  if (onnx__model_proto__get_packed_size(model) > INT32_MAX)
    return tg_fail(diag, TG_INVALID, "%s: larger than the 2 GiB of a protobuf message", path);
  tg_output_file file;
  tg_status status = tg_output_open(path, &file, diag);
  if (status) return status;
  file_buffer buffer = {{append}, file.stream};
  onnx__model_proto__pack_to_buffer(model, &buffer.base);
  return tg_output_commit(&file, diag);
}
