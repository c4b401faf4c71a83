/* Perfetto's own format: packets of protocol buffers. Each track is a sequence of packets, whose defaults say the track, so
 * that its events need not: their times are since the event before, in one microsecond a cycle, and an event that is told
 * late says its cycle by another clock. Names are interned: the packet of a sequence that uses one for the first time defines
 * it. Packets stand in the order in which events are told; Perfetto sorts them, and keeps the order of those of one time.
 * They are deflated, some thousand at a time, as Perfetto's own recordings may be; the last packet, the summary, is not. */
#include "frontend/base/status.h"
#include "perfetto.pb-c.h"
#include "runtime/json_text.h"
#include "runtime/trace/packets.h"
#include "runtime/trace/texts.h"
#include "runtime/trace/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  SINCE_LAST_CLOCK = 64 /* the first of a sequence's own */,
  CYCLES_CLOCK,
  BOOTTIME = 6,
  CYCLE_NS = 1000
};
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER }; /* TrackEvent.Type */
enum { FIRST_COUNTER = 1000 /* below threads */ };
enum { EXPLICIT_CHILDREN = 3, EXPLICIT_PROCESSES = 1 };                /* orders of tracks */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };                           /* sequence_flags */
enum { VALUES = 24, ENTRIES = 16, ITEMS = 4, NEW = VALUES + ENTRIES }; /* of a slice at most */

typedef Tegula__Trace__DebugAnnotation annotation;

/* Texts that have numbers from 1 on, in a sequence. */
typedef enum set { CATEGORIES, NAMES, KEYS, STRINGS, SETS } set;

/* Names that the packet at hand defines. */
typedef struct definitions {
  Tegula__Trace__Name names[NEW];
  Tegula__Trace__Name *pointers[NEW];
  size_t count;
} definitions;

/* Of a track, by its number, which is the sequence's, too. */
typedef struct sequence {
  bool begun;
  uint64_t now; /* cycle of the event before */
  tg_texts tables[SETS];
} sequence;

struct tg_trace_writer {
  FILE *out;
  tg_packet_block block;
  tg_texts tracks;
  sequence *sequences; /* by number of the track */
  size_t sequence_count;
  definitions defined[STRINGS];
  Tegula__Trace__InternedString strings[NEW];
  Tegula__Trace__InternedString *string_pointers[NEW];
  size_t string_count;
  uint64_t first_track;
  /* The slice at hand. */
  tg_slice slice;
  uint64_t track, name_iid, category_iid;
  annotation values[VALUES], entries[ENTRIES], items[ITEMS];
  annotation *value_pointers[VALUES], *entry_pointers[ENTRIES], *item_pointers[ITEMS];
  size_t value_count, entry_count;
  bool grouped; /* values are entries of the last one */
};

static void *allocated(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) tg_die("out of memory");
  return memory;
}

/* --- packets */

/* With the names that it defines. */
static void put_packet(tg_trace_writer *w, uint64_t track, Tegula__Trace__TracePacket *packet,
                       uint32_t flags) {
  Tegula__Trace__InternedData data = TEGULA__TRACE__INTERNED_DATA__INIT;
  data.n_event_categories = w->defined[CATEGORIES].count;
  data.event_categories = w->defined[CATEGORIES].pointers;
  data.n_event_names = w->defined[NAMES].count;
  data.event_names = w->defined[NAMES].pointers;
  data.n_debug_annotation_names = w->defined[KEYS].count;
  data.debug_annotation_names = w->defined[KEYS].pointers;
  data.n_debug_annotation_string_values = w->string_count;
  data.debug_annotation_string_values = w->string_pointers;
  if (data.n_event_categories + data.n_event_names + data.n_debug_annotation_names + w->string_count)
    packet->interned_data = &data;
  packet->has_trusted_packet_sequence_id = true;
  packet->has_sequence_flags = flags != 0;
  packet->trusted_packet_sequence_id = (uint32_t)track;
  packet->sequence_flags = flags;
  size_t size = tegula__trace__trace_packet__get_packed_size(packet);
  tegula__trace__trace_packet__pack(packet, tg_packet_block_room(&w->block, w->out, size));
  packet->interned_data = NULL; /* it goes with this function */
  for (int i = 0; i < STRINGS; i++) w->defined[i].count = 0;
  w->string_count = 0;
}

static void put_event(tg_trace_writer *w, Tegula__Trace__TrackEvent *event, int type, uint64_t track,
                      uint64_t cycle) {
  Tegula__Trace__TracePacket packet = TEGULA__TRACE__TRACE_PACKET__INIT;
  sequence *s = &w->sequences[track];
  bool late = cycle < s->now;
  packet.has_timestamp = event->has_type = true;
  packet.timestamp = late ? cycle : cycle - s->now;
  packet.has_timestamp_clock_id = late;
  packet.timestamp_clock_id = CYCLES_CLOCK;
  if (!late) s->now = cycle;
  event->type = type;
  packet.track_event = event;
  put_packet(w, track, &packet, NEEDS_STATE); /* the clock and the track are a part of it, too */
}

/* The first packets of a track's sequence: its clocks, its defaults, and what it is. */
static void put_track(tg_trace_writer *w, Tegula__Trace__TrackDescriptor *track, uint64_t uuid,
                      uint64_t parent, uint32_t order) {
  Tegula__Trace__Clock last = TEGULA__TRACE__CLOCK__INIT, cycles = last, boot = last;
  last.has_clock_id = last.has_timestamp = last.has_unit_multiplier_ns = last.has_is_incremental = true;
  last.clock_id = SINCE_LAST_CLOCK;
  last.unit_multiplier_ns = CYCLE_NS;
  last.is_incremental = true;
  cycles.has_clock_id = cycles.has_timestamp = cycles.has_unit_multiplier_ns = true;
  cycles.clock_id = CYCLES_CLOCK;
  cycles.unit_multiplier_ns = CYCLE_NS;
  boot.has_clock_id = boot.has_timestamp = true;
  boot.clock_id = BOOTTIME;
  Tegula__Trace__ClockSnapshot clocks = TEGULA__TRACE__CLOCK_SNAPSHOT__INIT;
  clocks.n_clocks = 3;
  clocks.clocks = (Tegula__Trace__Clock *[]){&last, &cycles, &boot};
  Tegula__Trace__TrackEventDefaults event = TEGULA__TRACE__TRACK_EVENT_DEFAULTS__INIT;
  event.has_track_uuid = true;
  event.track_uuid = uuid;
  Tegula__Trace__TracePacketDefaults defaults = TEGULA__TRACE__TRACE_PACKET_DEFAULTS__INIT;
  defaults.has_timestamp_clock_id = true;
  defaults.timestamp_clock_id = SINCE_LAST_CLOCK;
  defaults.track_event_defaults = &event;
  Tegula__Trace__TracePacket first = TEGULA__TRACE__TRACE_PACKET__INIT, second = first, third = first;
  first.trace_packet_defaults = &defaults;
  put_packet(w, uuid, &first, STATE_CLEARED);
  second.clock_snapshot = &clocks;
  put_packet(w, uuid, &second, NEEDS_STATE);
  track->has_uuid = track->has_sibling_order_rank = true;
  track->uuid = uuid;
  track->has_parent_uuid = parent != 0;
  track->parent_uuid = parent;
  track->sibling_order_rank = (int32_t)order;
  third.track_descriptor = track;
  put_packet(w, uuid, &third, 0);
  w->sequences[uuid].begun = true;
}

/* --- names */

/* The number of a text in the sequence of the track at hand, which the packet at hand defines where it is new. */
static uint64_t intern(tg_trace_writer *w, set which, const char *text) {
  bool is_new;
  const tg_numbered *entry = tg_texts_enter(&w->sequences[w->track].tables[which], text, &is_new);
  if (!is_new) return entry->iid;
  if (which == STRINGS) {
    Tegula__Trace__InternedString *s = w->string_pointers[w->string_count] = &w->strings[w->string_count];
    w->string_count++;
    tegula__trace__interned_string__init(s);
    s->has_iid = s->has_str = true;
    s->iid = entry->iid;
    s->str = (ProtobufCBinaryData){strlen(entry->text), (uint8_t *)entry->text};
  } else {
    definitions *d = &w->defined[which];
    Tegula__Trace__Name *n = d->pointers[d->count] = &d->names[d->count];
    d->count++;
    tegula__trace__name__init(n);
    n->has_iid = true;
    n->iid = entry->iid;
    n->name = entry->text;
  }
  return entry->iid;
}

/* The same of a text whose bytes may not be UTF-8. */
static uint64_t intern_bytes(tg_trace_writer *w, set which, const char *bytes) {
  json_t *text = tg_json_text(bytes);
  uint64_t iid = intern(w, which, json_string_value(text));
  json_decref(text);
  return iid;
}

/* --- tracks */

/* Tracks have small numbers, of a text that tells them apart, "pid.tid" or a counter's. */
static uint64_t number_of(tg_trace_writer *w, const char *text) {
  bool is_new;
  uint64_t uuid = tg_texts_enter(&w->tracks, text, &is_new)->iid;
  if (uuid < w->sequence_count) return uuid;
  size_t count = 2 * uuid + 1;
  sequence *more = allocated(count, sizeof *more);
  if (w->sequences) memcpy(more, w->sequences, w->sequence_count * sizeof *more);
  free(w->sequences);
  w->sequences = more;
  w->sequence_count = count;
  return uuid;
}

static uint64_t uuid_of(tg_trace_writer *w, tg_track at) {
  char text[32];
  snprintf(text, sizeof text, "%u.%u", at.pid, at.tid);
  return number_of(w, text);
}

static uint64_t process_uuid(tg_trace_writer *w, uint32_t pid) { return uuid_of(w, (tg_track){pid, 0}); }

static tg_trace_writer *open_writer(FILE *out) {
  tg_trace_writer *w = allocated(1, sizeof *w);
  w->out = out;
  return w;
}

static void process(tg_trace_writer *w, uint32_t pid, uint32_t order, const char *name) {
  Tegula__Trace__ProcessDescriptor process = TEGULA__TRACE__PROCESS_DESCRIPTOR__INIT;
  process.has_pid = true;
  process.pid = (int32_t)pid;
  process.process_name = (char *)(uintptr_t)name;
  Tegula__Trace__TrackDescriptor track = TEGULA__TRACE__TRACK_DESCRIPTOR__INIT;
  track.process = &process;
  track.has_child_ordering = track.has_process_ordering = true;
  track.child_ordering = EXPLICIT_CHILDREN;
  track.process_ordering = EXPLICIT_PROCESSES;
  put_track(w, &track, process_uuid(w, pid), 0, order);
}

/* Tracks of one name are drawn as one: copies keep it. */
static void thread(tg_trace_writer *w, tg_track at, const char *name, uint32_t copy) {
  (void)copy;
  Tegula__Trace__TrackDescriptor track = TEGULA__TRACE__TRACK_DESCRIPTOR__INIT;
  track.name = (char *)(uintptr_t)name;
  if (!w->first_track) w->first_track = uuid_of(w, at);
  put_track(w, &track, uuid_of(w, at), process_uuid(w, at.pid), at.tid);
}

/* --- slices */

static void begin_slice(tg_trace_writer *w, const tg_slice *s) {
  w->slice = *s;
  w->track = uuid_of(w, s->at);
  w->name_iid = intern_bytes(w, NAMES, s->name);
  w->category_iid = intern(w, CATEGORIES, s->category);
  w->value_count = w->entry_count = 0;
  w->grouped = false;
}

/* A new value of the slice, or of its group. */
static annotation *value_of(tg_trace_writer *w, const char *key) {
  assert(w->value_count < VALUES && w->entry_count < ENTRIES);
  annotation *value = w->grouped ? &w->entries[w->entry_count] : &w->values[w->value_count];
  tegula__trace__debug_annotation__init(value);
  if (w->grouped)
    w->entry_pointers[w->entry_count++] = value;
  else
    w->value_pointers[w->value_count++] = value;
  value->has_name_iid = true;
  value->name_iid = intern(w, KEYS, key);
  return value;
}

static void number(tg_trace_writer *w, const char *key, uint64_t number) {
  annotation *value = value_of(w, key);
  value->has_uint_value = true;
  value->uint_value = number;
}

static void text(tg_trace_writer *w, const char *key, const char *text) {
  annotation *value = value_of(w, key);
  value->has_string_value_iid = true;
  value->string_value_iid = intern_bytes(w, STRINGS, text);
}

static void list(tg_trace_writer *w, const char *key, const uint32_t *values, int count) {
  annotation *value = value_of(w, key);
  assert(count <= ITEMS);
  for (int i = 0; i < count; i++) {
    annotation *item = w->item_pointers[i] = &w->items[i];
    tegula__trace__debug_annotation__init(item);
    item->has_uint_value = true;
    item->uint_value = values[i];
  }
  value->n_array_values = (size_t)count;
  value->array_values = w->item_pointers;
}

static void begin_group(tg_trace_writer *w, const char *key) {
  value_of(w, key)->dict_entries = w->entry_pointers;
  w->grouped = true;
}

static void end_group(tg_trace_writer *w) {
  w->values[w->value_count - 1].n_dict_entries = w->entry_count;
  w->grouped = false;
}

static void end_slice(tg_trace_writer *w) {
  Tegula__Trace__TrackEvent begin = TEGULA__TRACE__TRACK_EVENT__INIT, end = TEGULA__TRACE__TRACK_EVENT__INIT;
  begin.has_name_iid = true;
  begin.name_iid = w->name_iid;
  begin.n_category_iids = 1;
  begin.category_iids = &w->category_iid;
  begin.n_debug_annotations = w->value_count;
  begin.debug_annotations = w->value_pointers;
  begin.n_terminating_flow_ids = w->slice.arrow != 0;
  begin.terminating_flow_ids = &w->slice.arrow;
  put_event(w, &begin, SLICE_BEGIN, w->track, w->slice.first);
  put_event(w, &end, SLICE_END, w->track, w->slice.last + 1);
}

/* From an instant inside the slice: its begin has been written. */
static void arrow(tg_trace_writer *w, tg_track at, uint64_t cycle, uint64_t arrow) {
  Tegula__Trace__TrackEvent event = TEGULA__TRACE__TRACK_EVENT__INIT;
  w->track = uuid_of(w, at);
  event.has_name_iid = true;
  event.name_iid = intern(w, NAMES, "post");
  event.n_flow_ids = 1;
  event.flow_ids = &arrow;
  put_event(w, &event, INSTANT, w->track, cycle);
}

/* A track a part: Perfetto's counters have one value. */
static void counter(tg_trace_writer *w, uint32_t pid, uint64_t cycle, const char *name,
                    const char *const *parts, const double *values, int count) {
  for (int i = 0; i < count; i++) {
    char title[96];
    snprintf(title, sizeof title, "%s: %s", name, parts[i]);
    uint64_t uuid = number_of(w, title);
    if (!w->sequences[uuid].begun) {
      Tegula__Trace__CounterDescriptor of = TEGULA__TRACE__COUNTER_DESCRIPTOR__INIT;
      Tegula__Trace__TrackDescriptor track = TEGULA__TRACE__TRACK_DESCRIPTOR__INIT;
      track.name = title;
      track.counter = &of;
      put_track(w, &track, uuid, process_uuid(w, pid), FIRST_COUNTER + (uint32_t)uuid);
    }
    Tegula__Trace__TrackEvent event = TEGULA__TRACE__TRACK_EVENT__INIT;
    event.has_double_counter_value = true;
    event.double_counter_value = values[i];
    put_event(w, &event, COUNTER, uuid, cycle);
  }
}

/* --- the summary: a last packet with an event of the first track, of one text */

static void release(tg_trace_writer *w) {
  for (size_t s = 0; s < w->sequence_count; s++)
    for (int i = 0; i < SETS; i++) tg_texts_release(&w->sequences[s].tables[i]);
  tg_texts_release(&w->tracks);
  free(w->sequences);
  tg_packet_block_release(&w->block);
  free(w);
}

static const char summary_name[] = "summary";

static void finish(tg_trace_writer *w, const json_t *summary) {
  char *json = json_dumps(summary, JSON_COMPACT);
  if (!json) tg_die("out of memory");
  tg_packet_block_deflate(&w->block, w->out);
  w->track = w->first_track ? w->first_track : number_of(w, summary_name); /* a window may be empty */
  w->name_iid = intern(w, NAMES, summary_name);
  w->value_count = 0;
  annotation *value = value_of(w, summary_name);
  value->string_value = json;
  Tegula__Trace__TrackEvent event = TEGULA__TRACE__TRACK_EVENT__INIT;
  event.has_name_iid = true;
  event.name_iid = w->name_iid;
  event.n_debug_annotations = 1;
  event.debug_annotations = w->value_pointers;
  put_event(w, &event, INSTANT, w->track, 0);
  tg_packet_block_write(&w->block, w->out); /* as it is: who reads it looks at nothing else */
  free(json);
  release(w);
}

static void abandon(tg_trace_writer *w) { release(w); }

const tg_trace_format tg_perfetto_trace = {
    open_writer, process, thread,      begin_slice, number,
    text,        list,    begin_group, end_group,   end_slice,
    arrow,       counter, finish,      abandon,     tg_perfetto_summary};
