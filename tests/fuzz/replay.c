/* Runs a target on files, in the order of their names: where there is no libFuzzer, what it once found stays found. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

/* Mutators are linked, not called. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  (void)data;
  (void)max_size;
  return size;
}

static void run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  FUZZ_WANT(file && !fseek(file, 0, SEEK_END), "%s cannot be read", path);
  size_t size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(size + !size); /* exactly, so that a read behind it shows */
  FUZZ_WANT(bytes && fread(bytes, 1, size, file) == size, "%s cannot be read", path);
  fclose(file);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
}

int main(int argc, char **argv) {
  int files = 0;
  for (int f = 1; f < argc; f++) {
    struct dirent **entries;
    int count = scandir(argv[f], &entries, NULL, alphasort);
    FUZZ_WANT(count >= 0, "%s cannot be read", argv[f]);
    for (int e = 0; e < count; e++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", argv[f], entries[e]->d_name);
      if (entries[e]->d_type == DT_REG) {
        run_file(path);
        files++;
      }
      free(entries[e]);
    }
    free(entries);
  }
  printf("%d inputs\n", files);
  return files ? 0 : 1;
}
