/* Chrome trace events as JSON, an event a line; one microsecond is one cycle. The format is that of "Trace Event Format"
 * (Google, 2016), as Perfetto and chrome://tracing read it. */
#include "frontend/base/status.h"
#include "runtime/json_text.h"
#include "runtime/trace/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tg_trace_writer {
  FILE *out;
  bool any;   /* event so far */
  bool first; /* value of the slice or group at hand */
  uint64_t arrow;
  tg_slice slice;
};

static void next_line(tg_trace_writer *w) {
  fputs(w->any ? ",\n" : "\n", w->out);
  w->any = true;
}

static bool is_plain(const char *text) {
  for (; *text; text++)
    if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\') return false;
  return true;
}

static void put_text(tg_trace_writer *w, const char *text) {
  if (is_plain(text)) {
    fprintf(w->out, "\"%s\"", text);
    return;
  }
  json_t *string = tg_json_text(text);
  json_dumpf(string, w->out, JSON_ENCODE_ANY);
  json_decref(string);
}

static tg_trace_writer *open_writer(FILE *out) {
  tg_trace_writer *w = calloc(1, sizeof *w);
  if (!w) tg_die("out of memory");
  w->out = out;
  fputs("{\"traceEvents\":[", out);
  return w;
}

static void process(tg_trace_writer *w, uint32_t pid, uint32_t order, const char *name) {
  next_line(w);
  fprintf(w->out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":", pid);
  put_text(w, name);
  fputs("}}", w->out);
  next_line(w);
  fprintf(w->out, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}}",
          pid, order);
}

static void thread(tg_trace_writer *w, tg_track at, const char *name, uint32_t copy) {
  char number[16] = "";
  if (copy) snprintf(number, sizeof number, " %u", copy + 1);
  next_line(w);
  fprintf(w->out,
          "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"%s%s\"}}",
          at.pid, at.tid, name, number);
  next_line(w);
  fprintf(w->out,
          "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%u,\"tid\":%u,\"args\":{\"sort_index\":%u}}",
          at.pid, at.tid, at.tid);
}

static void begin_slice(tg_trace_writer *w, const tg_slice *s) {
  next_line(w);
  fputs("{\"name\":", w->out);
  put_text(w, s->name);
  fprintf(w->out,
          ",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
          ",\"pid\":%u,\"tid\":%u,\"args\":{",
          s->category, s->first, s->last - s->first + 1, s->at.pid, s->at.tid);
  w->first = true;
  w->slice = *s;
}

static void key(tg_trace_writer *w, const char *text) {
  fprintf(w->out, "%s\"%s\":", w->first ? "" : ",", text);
  w->first = false;
}

static void number(tg_trace_writer *w, const char *name, uint64_t value) {
  key(w, name);
  fprintf(w->out, "%" PRIu64, value);
}

static void text(tg_trace_writer *w, const char *name, const char *value) {
  key(w, name);
  put_text(w, value);
}

static void list(tg_trace_writer *w, const char *name, const uint32_t *values, int count) {
  key(w, name);
  for (int i = 0; i < count; i++) fprintf(w->out, "%c%u", i ? ',' : '[', values[i]);
  fputs("]", w->out);
}

static void begin_group(tg_trace_writer *w, const char *name) {
  key(w, name);
  fputc('{', w->out);
  w->first = true;
}

static void end_group(tg_trace_writer *w) {
  fputc('}', w->out);
  w->first = false;
}

/* "s" begins an arrow, "f" ends it: in the slice that covers the time, with "bp":"e". */
static void put_arrow(tg_trace_writer *w, const char *phase, tg_track at, uint64_t cycle, uint64_t arrow) {
  next_line(w);
  fprintf(w->out,
          "{\"name\":\"post\",\"cat\":\"post\",\"ph\":%s,\"id\":%" PRIu64 ",\"ts\":%" PRIu64
          ",\"pid\":%u,\"tid\":%u}",
          phase, arrow, cycle, at.pid, at.tid);
}

static void end_slice(tg_trace_writer *w) {
  fputs("}}", w->out);
  if (w->slice.arrow) put_arrow(w, "\"f\",\"bp\":\"e\"", w->slice.at, w->slice.first, w->slice.arrow);
}

static void begin_arrow(tg_trace_writer *w, tg_track at, uint64_t cycle, uint64_t arrow) {
  put_arrow(w, "\"s\"", at, cycle, arrow);
}

static void counter(tg_trace_writer *w, uint32_t pid, uint64_t cycle, const char *name,
                    const char *const *parts, const double *values, int count) {
  next_line(w);
  fprintf(w->out, "{\"name\":\"%s\",\"ph\":\"C\",\"ts\":%" PRIu64 ",\"pid\":%u,\"args\":{", name, cycle, pid);
  for (int i = 0; i < count; i++) fprintf(w->out, "%s\"%s\":%.15g", i ? "," : "", parts[i], values[i]);
  fputs("}}", w->out);
}

static const char summary_line[] = "\"otherData\":";

static void finish(tg_trace_writer *w, const json_t *summary) {
  fprintf(w->out, "\n],\n\"displayTimeUnit\":\"ns\",\n%s", summary_line);
  json_dumpf(summary, w->out, JSON_COMPACT);
  fputs("\n}\n", w->out);
  free(w);
}

static void abandon(tg_trace_writer *w) { free(w); }

static json_t *read_summary(FILE *in) {
  char *line = NULL;
  size_t capacity = 0, head = sizeof summary_line - 1;
  json_t *summary = NULL;
  for (ssize_t length; !summary && (length = getline(&line, &capacity, in)) >= 0;)
    if ((size_t)length > head && !memcmp(line, summary_line, head))
      summary = json_loads(line + head, 0, NULL);
  free(line);
  return summary;
}

const tg_trace_format tg_chrome_trace = {open_writer, process, thread,      begin_slice, number,
                                         text,        list,    begin_group, end_group,   end_slice,
                                         begin_arrow, counter, finish,      abandon,     read_summary};
