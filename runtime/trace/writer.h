/* How a trace is written: what a trace tells (trace.c), in terms that its formats have in common. A process has threads, a
 * thread slices, a slice named values; slices of one thread lie beside each other or inside each other. Times are
 * cycles. Texts are UTF-8, or bytes that are made so. */
#ifndef TEGULA_RUNTIME_TRACE_WRITER_H
#define TEGULA_RUNTIME_TRACE_WRITER_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Where: a thread, by numbers that tg_trace_format.process and .thread have named. */
typedef struct tg_track {
  uint32_t pid, tid;
} tg_track;

typedef struct tg_slice {
  tg_track at;
  uint64_t first, last; /* cycles covered */
  const char *name, *category;
  uint64_t arrow; /* the arrow that ends at its begin; 0: none */
} tg_slice;

typedef struct tg_trace_writer tg_trace_writer;

typedef struct tg_trace_format {
  /* Writes to `out`, which stays the caller's. */
  tg_trace_writer *(*open)(FILE *out);
  /* Order among the processes. */
  void (*process)(tg_trace_writer *w, uint32_t pid, uint32_t order, const char *name);
  /* `copy`: number of the thread among those of one name, from 0 on. Threads are in the order of their numbers. */
  void (*thread)(tg_trace_writer *w, tg_track at, const char *name, uint32_t copy);
  /* begin_slice, values in any number, end_slice. A group is a value that has values. A slice
   * has at most one list and one group. */
  void (*begin_slice)(tg_trace_writer *w, const tg_slice *slice);
  void (*number)(tg_trace_writer *w, const char *key, uint64_t value);
  void (*text)(tg_trace_writer *w, const char *key, const char *value);
  void (*list)(tg_trace_writer *w, const char *key, const uint32_t *values, int count);
  void (*begin_group)(tg_trace_writer *w, const char *key);
  void (*end_group)(tg_trace_writer *w);
  void (*end_slice)(tg_trace_writer *w);
  /* Arrow number `arrow` begins in the slice of `at` that covers `cycle`. */
  void (*arrow)(tg_trace_writer *w, tg_track at, uint64_t cycle, uint64_t arrow);
  /* Values from `cycle` on of a counter with `count` parts. */
  void (*counter)(tg_trace_writer *w, uint32_t pid, uint64_t cycle, const char *name,
                  const char *const *parts, const double *values, int count);
  /* Ends the text with a summary of the whole, and the writer. */
  void (*finish)(tg_trace_writer *w, const json_t *summary);
  void (*abandon)(tg_trace_writer *w);
  /* The summary of a trace, a new reference; NULL: `in` is no such trace. */
  json_t *(*read_summary)(FILE *in);
} tg_trace_format;

extern const tg_trace_format tg_chrome_trace, tg_perfetto_trace;

#endif
