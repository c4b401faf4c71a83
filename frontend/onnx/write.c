#include "frontend/onnx/write.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file_buffer {
  ProtobufCBuffer base;
  FILE *file;
} file_buffer;

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data) {
  fwrite(data, 1, length, ((file_buffer *)buffer)->file);
}

static bool write_all(int fd, const Onnx__ModelProto *model) {
  file_buffer buffer = {{append}, fdopen(fd, "wb")};
  if (!buffer.file) {
    close(fd);
    return false;
  }
  onnx__model_proto__pack_to_buffer(model, &buffer.base);
  bool failed = ferror(buffer.file);
  return !fclose(buffer.file) && !failed;
}

tg_status tg_onnx_write_model(const char *path, const Onnx__ModelProto *model, tg_diag *diag) {
  if (onnx__model_proto__get_packed_size(model) > INT32_MAX)
    return tg_fail(diag, TG_INVALID, "larger than the 2 GiB of a protobuf message");
  char beside[PATH_MAX];
  int length = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
  if (length < 0 || (size_t)length >= sizeof beside)
    return tg_fail(diag, TG_INVALID, "%s", strerror(ENAMETOOLONG));
  int fd = mkstemp(beside);
  if (fd < 0) return tg_fail(diag, TG_INVALID, "%s", strerror(errno));
  mode_t mask = umask(0);
  umask(mask);
  bool ok = !fchmod(fd, 0666 & ~mask);
  ok = write_all(fd, model) && ok && !rename(beside, path);
  if (ok) return TG_OK;
  int error = errno;
  unlink(beside);
  return tg_fail(diag, TG_INVALID, "%s", strerror(error));
}
