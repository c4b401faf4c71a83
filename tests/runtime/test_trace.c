/* Traces and profiles: they agree with what the engine reports by itself, and change nothing. */
#include "frontend/onnx/onnx.h"
#include "perfetto.pb-c.h"
#include "runtime/report/report.h"
#include "runtime/tegula.h"
#include "runtime/trace/memory_use.h"
#include "runtime/trace/trace.h"
#include "runtime/zoo.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *in_dir(tg_arena *arena, const char *name) {
  return tg_arena_printf(arena, "%s/%s", tg_test_dir(), name);
}

static tg_session *compiled(tg_arena *arena, const char *name) {
  tg_graph *graph;
  tg_session *session = NULL;
  tg_diag diag = {""};
  const char *path = in_dir(arena, "model.onnx");
  tg_zoo_options options = {.m = 37, .n = 29, .k = 70, .batch = 3, .seed = 1};
  if (tg_zoo_build(arena, name, &options, &graph, &diag) || tg_onnx_write(path, graph, &diag) ||
      tg_session_load(path, &session, &diag) ||
      tg_session_compile(session, &(tg_compile_options){.arch = "tiny", .seed = 1}, &diag)) {
    tg_test_fail(__FILE__, __LINE__, "%s", diag.message);
    abort();
  }
  tg_session_random_inputs(session, 1);
  return session;
}

static uint64_t number(const json_t *object, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool is(const json_t *event, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(event, key));
  return value && !strcmp(value, text);
}

/* How often an instruction of this place, start and end is in the result. */
static size_t recorded(const tg_run_result *result, const json_t *event, uint32_t tiles) {
  uint64_t start = number(event, "ts"), end = start + number(event, "dur") - 1,
           pid = number(event, "pid") - 10;
  size_t found = 0;
  for (size_t i = 0; i < result->event_count; i++) {
    const tg_event *e = &result->events[i];
    found += e->start == start && e->end == end && e->endpoint == pid &&
             is(event, "cat", e->endpoint < tiles ? tg_unit_name((tg_unit)e->unit) : "agcu") &&
             number(json_object_get(event, "args"), "pc") == e->pc;
  }
  return found;
}

/* Slices of a thread lie beside each other or inside each other. Sorted by thread, begin, longest first. */
static int by_thread(const void *left, const void *right) {
  const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
  static const char *const keys[] = {"pid", "tid", "ts"};
  for (int k = 0; k < 3; k++)
    if (number(a, keys[k]) != number(b, keys[k])) return number(a, keys[k]) < number(b, keys[k]) ? -1 : 1;
  return number(a, "dur") > number(b, "dur") ? -1 : number(a, "dur") < number(b, "dur");
}

static size_t crossings(const json_t *events) {
  size_t count = 0, crossed = 0, open = 0;
  tg_arena arena = {0};
  const json_t **slices = TG_NEW_ARRAY(&arena, const json_t *, json_array_size(events));
  uint64_t ends[64] = {0};
  for (size_t i = 0; i < json_array_size(events); i++)
    if (is(json_array_get(events, i), "ph", "X")) slices[count++] = json_array_get(events, i);
  qsort(slices, count, sizeof *slices, by_thread);
  for (size_t i = 0; i < count; i++) {
    uint64_t first = number(slices[i], "ts"), end = first + number(slices[i], "dur");
    if (i && (number(slices[i], "pid") != number(slices[i - 1], "pid") ||
              number(slices[i], "tid") != number(slices[i - 1], "tid")))
      open = 0;
    while (open && ends[open - 1] <= first) open--;
    crossed += open && end > ends[open - 1];
    if (open < 64) ends[open++] = end;
  }
  tg_arena_release(&arena);
  return crossed;
}

/* False: the engine is not in this build. */
static bool check_trace(const char *model, const char *engine) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, model);
  const char *path = in_dir(&arena, "trace.json");
  tg_session_run_options run = {.engine = engine, .record_events = true};
  bool there = !tg_session_run(session, &run, &diag);
  if (there) {
    uint64_t cycles = tg_session_cycles(session);
    run.trace_file = path;
    run.profile = true;
    EXPECT_EQ(tg_session_run(session, &run, &diag), TG_OK);
    EXPECT_EQ(tg_session_cycles(session), cycles);
    json_t *trace = json_load_file(path, 0, NULL), *events = json_object_get(trace, "traceEvents"), *event;
    size_t i, instructions = 0, sections = 0, counters = 0, stalls = 0;
    json_array_foreach(events, i, event) {
      bool slice = is(event, "ph", "X");
      counters += is(event, "ph", "C") && is(event, "name", "device memory");
      sections += slice && is(event, "cat", "section") && !is(event, "name", "configuration");
      stalls += slice && is(event, "cat", "stall");
      if (!slice || (!is(event, "cat", "mx") && !is(event, "cat", "vx") && !is(event, "cat", "tx") &&
                     !is(event, "cat", "agcu")))
        continue;
      instructions++;
      EXPECT_EQ(recorded(&session->result, event, tg_tiles(&session->program->params)), 1);
    }
    EXPECT_EQ(instructions, session->result.event_count);
    EXPECT_EQ(sections, session->program->invocation_count);
    EXPECT_EQ(counters, session->program->invocation_count);
    EXPECT((stalls > 0) == !strcmp(engine, "systemc"));
    EXPECT_EQ(crossings(events), 0);
    json_decref(trace);
  }
  tg_session_close(session);
  tg_arena_release(&arena);
  return there;
}

TG_TEST(trace, has_every_instruction_once_and_changes_no_cycle) {
  EXPECT(check_trace("gemm", "systemc"));
  EXPECT(check_trace("lenet", "systemc"));
}

TG_TEST(trace, of_the_rtl_has_every_instruction_once) {
  if (!check_trace("gemm", "rtl")) SKIP("this build has no RTL engine");
}

/* A unit of a tile is busy, stalled, done, or (mx) held back by the GEMM before: the sums fit into the
 * section. */
TG_TEST(trace, profile_is_the_sum_of_the_trace) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "lenet");
  const char *path = in_dir(&arena, "trace.json");
  tg_session_run_options run = {.engine = "systemc", .trace_file = path, .profile = true};
  ASSERT(!tg_session_run(session, &run, &diag));
  json_t *summary = NULL, *trace = json_load_file(path, 0, NULL), *event;
  ASSERT(!tg_trace_summary(path, &summary, &diag));
  uint64_t stalled[16] = {0}, summed[16] = {0};
  size_t i;
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    if (is(event, "cat", "stall"))
      stalled[number(json_object_get(event, "args"), "section")] += number(event, "dur");
  }
  json_t *section;
  json_array_foreach(json_object_get(summary, "sections"), i, section) {
    const char *unit, *cause;
    json_t *units = json_object_get(section, "units"), *sums, *cycles;
    json_t *own = tg_profile_section(session->profile, (uint32_t)i);
    EXPECT(json_equal(units, own));
    json_decref(own);
    json_object_foreach(units, unit, sums) {
      json_object_foreach(json_object_get(sums, "stalled"), cause, cycles) {
        summed[i] += (uint64_t)json_integer_value(cycles);
      }
    }
    uint64_t vx = number(json_object_get(units, "vx"), "busy");
    EXPECT(vx <= 4 * number(section, "cycles"));
    EXPECT_EQ(summed[i], stalled[i]);
  }
  EXPECT_EQ(json_array_size(json_object_get(summary, "sections")), session->program->invocation_count);
  json_decref(summary);
  json_decref(trace);
  tg_session_close(session);
  tg_arena_release(&arena);
}

TG_TEST(trace, window_keeps_what_overlaps_it) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "lenet");
  const char *path = in_dir(&arena, "trace.json");
  tg_session_run_options run = {.engine = "systemc",
                                .trace_file = path,
                                .trace_begin = 30000,
                                .trace_end = 31000,
                                .record_events = true};
  ASSERT(!tg_session_run(session, &run, &diag));
  size_t wanted = 0, got = 0, i;
  for (size_t e = 0; e < session->result.event_count; e++)
    wanted += session->result.events[e].start <= 31000 && session->result.events[e].end >= 30000;
  json_t *trace = json_load_file(path, 0, NULL), *event;
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    if (!is(event, "ph", "X")) continue;
    EXPECT(number(event, "ts") <= 31000 && number(event, "ts") + number(event, "dur") > 30000);
    got += is(event, "cat", "mx") || is(event, "cat", "vx") || is(event, "cat", "tx") ||
           is(event, "cat", "agcu");
  }
  EXPECT(wanted > 0);
  EXPECT_EQ(got, wanted);
  json_decref(trace);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* gzip of Debian unpacks it to what is written unpacked; both have the same summary. */
TG_TEST(trace, may_be_packed) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "gemm");
  const char *plain = in_dir(&arena, "t.json"), *packed = in_dir(&arena, "t.json.gz");
  json_t *one = NULL, *other = NULL;
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.trace_file = plain}, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.trace_file = packed}, &diag));
  EXPECT_EQ(system(tg_arena_printf(&arena, "gzip -dc '%s' | cmp - '%s'", packed, plain)), 0);
  EXPECT_EQ(
      system(tg_arena_printf(&arena, "test $(wc -c < '%s') -gt $((4 * $(wc -c < '%s')))", plain, packed)), 0);
  EXPECT(!tg_trace_summary(plain, &one, &diag) && !tg_trace_summary(packed, &other, &diag) &&
         json_equal(one, other));
  json_decref(one);
  json_decref(other);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* Each arrow goes from a slice that posts to one that begins later, whose unit was stalled for a semaphore until then. */
TG_TEST(trace, arrows_lead_from_a_post_to_who_waited) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "gemm");
  const char *path = in_dir(&arena, "arrows.json");
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.trace_file = path}, &diag));
  json_t *trace = json_load_file(path, 0, NULL), *events = json_object_get(trace, "traceEvents"), *event,
         *other;
  size_t i, k, arrows = 0;
  json_array_foreach(events, i, event) {
    if (!is(event, "ph", "f")) continue;
    size_t begins = 0, from = 0, to = 0, stalls = 0;
    uint64_t at = number(event, "ts"), posted = 0;
    json_array_foreach(events, k, other) {
      if (is(other, "ph", "s") && number(other, "id") == number(event, "id")) {
        begins++;
        posted = number(other, "ts");
        EXPECT(posted < at);
      }
      bool slice = is(other, "ph", "X"), own = number(other, "pid") == number(event, "pid");
      to += slice && own && number(other, "tid") == number(event, "tid") && number(other, "ts") == at;
      stalls += slice && own && is(other, "cat", "stall") &&
                is(json_object_get(other, "args"), "cause", "semaphore") &&
                number(other, "ts") + number(other, "dur") <= at;
    }
    json_array_foreach(events, k, other) {
      from += is(other, "ph", "X") && !is(other, "cat", "stall") &&
              number(other, "ts") + number(other, "dur") == posted + 1;
    }
    EXPECT(begins == 1 && to == 1 && from > 0 && stalls > 0);
    if (++arrows == 50) break;
  }
  EXPECT(arrows > 10);
  json_decref(trace);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* ---- Perfetto's format, read by protobuf-c */

enum { MOST_TRACKS = 1024, MOST_NAMES = 256 };
typedef struct perfetto {
  char *names[MOST_TRACKS][MOST_NAMES];          /* of events, by sequence and iid */
  uint64_t now[MOST_TRACKS], track[MOST_TRACKS]; /* of a sequence: its incremental clock, its default */
  uint64_t open[MOST_TRACKS];                    /* begin of the slice that is open on a track */
  uint64_t open_name[MOST_TRACKS];
  size_t slices, arrows_out, arrows_in, counters, inflated; /* inflated: bytes */
  uint64_t sum; /* of slices: what does not depend on their order */
} perfetto;

static uint64_t slice_hash(const char *name, uint64_t begin, uint64_t cycles) {
  uint64_t hash = 1469598103934665603u;
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return (hash ^ begin) * 1099511628211u + cycles;
}

/* As Perfetto does it: the clock of the packet, else of the sequence's defaults; 64 counts on, 65 has cycles. */
static uint64_t time_of(perfetto *p, const Tegula__Trace__TracePacket *packet) {
  uint32_t sequence = packet->trusted_packet_sequence_id;
  if (!packet->has_timestamp_clock_id) return p->now[sequence] += packet->timestamp;
  EXPECT_EQ(packet->timestamp_clock_id, 65);
  return packet->timestamp;
}

/* What begins a sequence: defaults, then clocks. */
static void read_state(perfetto *p, const Tegula__Trace__TracePacket *packet) {
  uint32_t sequence = packet->trusted_packet_sequence_id;
  const Tegula__Trace__InternedData *data = packet->interned_data;
  ASSERT(sequence && sequence < MOST_TRACKS);
  if (packet->sequence_flags & 1) {
    EXPECT(!p->track[sequence]);
    EXPECT_EQ(packet->trace_packet_defaults->timestamp_clock_id, 64);
    p->track[sequence] = packet->trace_packet_defaults->track_event_defaults->track_uuid;
    ASSERT(p->track[sequence] && p->track[sequence] < MOST_TRACKS);
  }
  if (packet->clock_snapshot) {
    Tegula__Trace__Clock **clocks = packet->clock_snapshot->clocks;
    EXPECT(clocks[0]->clock_id == 64 && clocks[0]->is_incremental && clocks[0]->unit_multiplier_ns == 1000);
    EXPECT(clocks[1]->clock_id == 65 && !clocks[1]->is_incremental && clocks[1]->unit_multiplier_ns == 1000);
  }
  for (size_t i = 0; data && i < data->n_event_names; i++) {
    ASSERT(data->event_names[i]->iid < MOST_NAMES && !p->names[sequence][data->event_names[i]->iid]);
    p->names[sequence][data->event_names[i]->iid] = strdup(data->event_names[i]->name);
  }
}

static void read_packets(perfetto *p, const uint8_t *bytes, size_t size);

static void inflate_packets(perfetto *p, ProtobufCBinaryData deflated) {
  enum { MOST = 1 << 20 };
  uint8_t *bytes = malloc(MOST);
  uLongf size = MOST;
  ASSERT(uncompress(bytes, &size, deflated.data, deflated.len) == Z_OK);
  p->inflated += size;
  read_packets(p, bytes, size);
  free(bytes);
}

static void read_packet(perfetto *p, const Tegula__Trace__TracePacket *packet) {
  const Tegula__Trace__TrackEvent *e = packet->track_event;
  if (packet->has_compressed_packets) {
    inflate_packets(p, packet->compressed_packets);
    return;
  }
  read_state(p, packet);
  if (!e) return;
  uint64_t track = p->track[packet->trusted_packet_sequence_id], time = time_of(p, packet);
  char *const *names = p->names[packet->trusted_packet_sequence_id];
  EXPECT(track && !e->has_track_uuid);
  p->arrows_out += e->n_flow_ids;
  p->arrows_in += e->n_terminating_flow_ids;
  p->counters += e->type == 4;
  if (e->type == 1) {
    ASSERT(e->name_iid < MOST_NAMES && names[e->name_iid]);
    EXPECT(!p->open_name[track] || !strcmp(names[e->name_iid], "configuration"));
    p->open[track] = time;
    p->open_name[track] = e->name_iid;
  }
  if (e->type != 2) return;
  ASSERT(p->open_name[track]);
  p->slices++;
  p->sum += slice_hash(names[p->open_name[track]], p->open[track], time - p->open[track]);
  p->open_name[track] = 0;
}

static void read_packets(perfetto *p, const uint8_t *bytes, size_t size) {
  Tegula__Trace__Trace *packets = tegula__trace__trace__unpack(NULL, size, bytes);
  ASSERT(packets);
  for (size_t i = 0; i < packets->n_packet; i++) read_packet(p, packets->packet[i]);
  tegula__trace__trace__free_unpacked(packets, NULL);
}

TG_TEST(trace, of_perfetto_says_what_that_of_chrome_says) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "lenet");
  const char *one = in_dir(&arena, "t.json"), *two = in_dir(&arena, "t.pftrace");
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.trace_file = one}, &diag));
  ASSERT(!tg_session_run(session, &(tg_session_run_options){.trace_file = two}, &diag));
  json_t *trace = json_load_file(one, 0, NULL), *event, *summaries[2];
  struct stat text;
  stat(one, &text);
  size_t text_size = (size_t)text.st_size;
  struct {
    size_t slices, arrows_out, arrows_in, counters;
    uint64_t sum;
  } wanted = {0};
  perfetto *got = calloc(1, sizeof *got);
  size_t i;
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    wanted.arrows_out += is(event, "ph", "s");
    wanted.arrows_in += is(event, "ph", "f");
    if (is(event, "ph", "C")) wanted.counters += json_object_size(json_object_get(event, "args"));
    if (!is(event, "ph", "X")) continue;
    wanted.slices++;
    wanted.sum += slice_hash(json_string_value(json_object_get(event, "name")), number(event, "ts"),
                             number(event, "dur"));
  }
  json_decref(trace);
  FILE *file = fopen(two, "rb");
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  uint8_t *bytes = TG_NEW_ARRAY(&arena, uint8_t, size);
  rewind(file);
  EXPECT_EQ(fread(bytes, 1, size, file), size);
  fclose(file);
  read_packets(got, bytes, size);
  EXPECT(10 * size < text_size && 2 * got->inflated < text_size); /* an order smaller than the other format */
  EXPECT_EQ(got->slices, wanted.slices);
  EXPECT_EQ(got->sum, wanted.sum);
  EXPECT_EQ(got->arrows_out, wanted.arrows_out);
  EXPECT_EQ(got->arrows_in, wanted.arrows_in);
  EXPECT_EQ(got->counters, wanted.counters);
  EXPECT(!tg_trace_summary(one, &summaries[0], &diag) && !tg_trace_summary(two, &summaries[1], &diag) &&
         json_equal(summaries[0], summaries[1]));
  for (i = 0; i < 2; i++) json_decref(summaries[i]);
  for (i = 0; i < (size_t)MOST_TRACKS * MOST_NAMES; i++) free(got->names[i / MOST_NAMES][i % MOST_NAMES]);
  free(got);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* Field `field` of what stands from `at` to `end`, in front of it. */
static uint8_t *wrap(uint8_t *at, const uint8_t *end, int field) {
  size_t size = (size_t)(end - at);
  *--at = (uint8_t)(size >> 14 & 0x7f);
  *--at = (uint8_t)(size >> 7 | 0x80);
  *--at = (uint8_t)(size | 0x80);
  *--at = (uint8_t)(field << 3 | 2);
  return at;
}

/* Values of values, 20 000 deep, in the last packet: no summary, and no end of the stack. */
TG_TEST(trace, that_nests_without_bound_is_refused) {
  enum {
    LEVELS = 20000,
    PACKET = 1,
    TRACK_EVENT = 11,
    ANNOTATIONS = 4,
    ENTRIES = 11,
    SIZE = 4 * (LEVELS + 3)
  };
  tg_arena arena = {0};
  tg_diag diag = {""};
  uint8_t *bytes = TG_NEW_ARRAY(&arena, uint8_t, SIZE), *end = bytes + SIZE, *at = end;
  for (int level = 0; level < LEVELS; level++) at = wrap(at, end, ENTRIES);
  at = wrap(wrap(wrap(at, end, ANNOTATIONS), end, TRACK_EVENT), end, PACKET);
  EXPECT(at == bytes);
  const char *path = in_dir(&arena, "deep.pftrace");
  FILE *file = fopen(path, "wb");
  EXPECT_EQ(fwrite(bytes, 1, SIZE, file), SIZE);
  fclose(file);
  json_t *summary = NULL;
  EXPECT_EQ(tg_trace_summary(path, &summary, &diag), TG_INVALID);
  EXPECT_HAS(diag.message, "is no trace that tegula wrote");
  tg_arena_release(&arena);
}

TG_TEST(trace, a_fault_leaves_a_complete_trace) {
  tg_arena arena = {0};
  tg_diag diag = {""};
  tg_session *session = compiled(&arena, "gemm");
  const char *path = in_dir(&arena, "fault.json");
  tg_session_run_options run = {.engine = "systemc", .trace_file = path, .max_cycles = 500};
  EXPECT_EQ(tg_session_run(session, &run, &diag), TG_FAULT);
  json_t *trace = json_load_file(path, 0, NULL);
  EXPECT_HAS(json_string_value(json_object_get(json_object_get(trace, "otherData"), "fault")), "cycle limit");
  json_decref(trace);
  tg_diag refused = {""};
  run = (tg_session_run_options){.engine = "functional", .trace_file = in_dir(&arena, "none.json")};
  EXPECT_EQ(tg_session_run(session, &run, &refused), TG_INVALID);
  EXPECT(access(run.trace_file, F_OK) != 0);
  tg_session_close(session);
  tg_arena_release(&arena);
}

/* lenet: a temporary lives from the section that stores it to the one that loads it. */
TG_TEST(trace, memory_in_use_follows_the_temporaries) {
  tg_arena arena = {0};
  tg_session *session = compiled(&arena, "lenet");
  const tg_program *program = session->program;
  uint64_t *bytes = TG_NEW_ARRAY(&arena, uint64_t, program->invocation_count), peak = 0, all = 0;
  tg_memory_temporaries(program, bytes);
  for (uint32_t i = 0; i < program->invocation_count; i++) {
    EXPECT(bytes[i] > 0);
    if (bytes[i] > peak) peak = bytes[i];
  }
  all = peak + tg_memory_of_role(program, TG_ROLE_CONSTANT) + tg_memory_of_role(program, TG_ROLE_INPUT) +
        tg_memory_of_role(program, TG_ROLE_OUTPUT);
  EXPECT(all <= program->dram_bytes && all + 64 * program->tensor_count >= program->dram_bytes);
  tg_session_close(session);
  tg_arena_release(&arena);
}
