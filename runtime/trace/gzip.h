/* Streams that are packed on their way. */
#ifndef TEGULA_RUNTIME_TRACE_GZIP_H
#define TEGULA_RUNTIME_TRACE_GZIP_H

#include <stdio.h>

/* A stream whose text is written to `to` as a gzip file; fclose ends that file and leaves `to` open. Whether all could be
 * written is known of `to` afterwards. */
FILE *tg_gzip_writer(FILE *to);
/* A stream that reads the file at `path`, packed or not; NULL: it cannot be opened. */
FILE *tg_gzip_reader(const char *path);

#endif
