#!/usr/bin/env python3
"""A trace in Perfetto's format, read by a decoder of its own and by the rules of Perfetto's importer, beside the JSON of the same run.

    tests/runtime/test_perfetto.py TEGULA

Nothing here is made of runtime/trace/perfetto.proto: fields have the numbers that Perfetto publishes for TracePacket, TrackEvent and so on. The
importer's rules: state is of a sequence and is there once its flag says that it begins; what is interned is defined before it is used; a
timestamp is of its packet's clock or of the defaults', and clocks come from snapshots; events are sorted by time, stably, and slices
of a track nest; an arrow ends where one has begun."""

import collections
import json
import struct
import subprocess
import sys
import tempfile
import zlib


def check(condition, what):
    if not condition:
        sys.exit(what)


# --- the wire

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        check(shift < 70, "a number has no end")


def fields(data):
    """{number: [(wire type, value)]} of a message."""
    out, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            value, at = data[at:at + size], at + size
        else:
            check(wire == BYTES, f"wire type {wire}")
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        check(at <= len(data), "a field ends behind its message")
        out[number].append((wire, value))
    return out


def every(message, number, wire):
    for got, value in message.get(number, []):
        check(got == wire, f"field {number} has wire type {got}, not {wire}")
        yield value


def one(message, number, wire, otherwise=None):
    values = list(every(message, number, wire))
    check(len(values) < 2, f"field {number} is there {len(values)} times")
    return values[0] if values else otherwise


def text(message, number):
    return one(message, number, BYTES, b"").decode("utf-8")


# --- packets

Slice = collections.namedtuple("Slice", "track name category begin end arguments")
Event = collections.namedtuple("Event", "time type track name category arguments value out into")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
BOOTTIME = 6


class Sequence:
    def __init__(self):
        self.clocks = {}  # id: [nanoseconds of a tick, incremental, ticks now, (ticks, nanoseconds) of the snapshot]
        self.names = {}  # field of InternedData: {iid: text}
        self.defaults, self.valid = {}, False


class Trace:
    def __init__(self, data):
        self.sequences = collections.defaultdict(Sequence)
        self.tracks, self.events, self.deflated = {}, [], 0
        self.packets(data)

    def packets(self, data):
        for packet in every(fields(data), 1, BYTES):
            self.packet(fields(packet))

    def packet(self, p):
        if 50 in p:  # compressed_packets
            self.deflated += 1
            self.packets(zlib.decompress(one(p, 50, BYTES)))
            return
        s = self.sequences[one(p, 10, VARINT, 0)]
        flags = one(p, 13, VARINT, 0)
        if flags & 1:
            s.names, s.defaults, s.valid = {}, {}, True
        check(s.valid or not flags & 2, "a packet needs a state that has not begun")
        if 59 in p:
            s.defaults = fields(one(p, 59, BYTES))
        if 6 in p:
            self.snapshot(s, fields(one(p, 6, BYTES)))
        if 12 in p:
            self.intern(s, fields(one(p, 12, BYTES)))
        if 60 in p:
            self.track(fields(one(p, 60, BYTES)))
        if 11 in p:
            self.event(s, p, fields(one(p, 11, BYTES)))

    @staticmethod
    def snapshot(s, message):
        clocks = {one(clock, 1, VARINT): clock for clock in map(fields, every(message, 1, BYTES))}
        at = one(clocks[BOOTTIME], 2, VARINT, 0) if BOOTTIME in clocks else None
        for number, clock in clocks.items():
            if 64 <= number < 128:  # a sequence's own
                check(at is not None, "a clock of a sequence is told without one that Perfetto knows")
                ticks = one(clock, 2, VARINT, 0)
                s.clocks[number] = [one(clock, 4, VARINT, 1), bool(one(clock, 3, VARINT, 0)), ticks, (ticks, at)]

    @staticmethod
    def intern(s, message):
        for number, into in ((1, 2), (2, 2), (3, 2), (29, 2)):
            names = s.names.setdefault(number, {})
            for entry in map(fields, every(message, number, BYTES)):
                iid = one(entry, 1, VARINT)
                check(iid and iid not in names, f"number {iid} is defined twice")
                names[iid] = text(entry, into)

    def track(self, t):
        uuid = one(t, 1, VARINT)
        check(uuid, "a track has no uuid")
        process = fields(one(t, 3, BYTES, b""))
        self.tracks[uuid] = (text(t, 2) or text(process, 6), one(t, 5, VARINT), 8 in t)

    @staticmethod
    def lookup(s, number, iid):
        check(iid in s.names.get(number, {}), f"name {iid} of field {number} is used before it is defined")
        return s.names[number][iid]

    def time(self, s, p):
        number = one(p, 58, VARINT) or one(s.defaults, 58, VARINT)
        check(number in s.clocks, f"clock {number} is not known")
        unit, incremental, now, (ticks, at) = s.clocks[number]
        stamp = one(p, 8, VARINT, 0)
        if incremental:
            s.clocks[number][2] = stamp = now + stamp
        return at + (stamp - ticks) * unit

    def value(self, s, message):
        """Of a DebugAnnotation: its name and value."""
        name = self.lookup(s, 3, one(message, 1, VARINT)) if 1 in message else None
        if 11 in message:
            return name, dict(self.value(s, fields(entry)) for entry in every(message, 11, BYTES))
        if 12 in message:
            return name, [self.value(s, fields(entry))[1] for entry in every(message, 12, BYTES)]
        if 17 in message:
            return name, self.lookup(s, 29, one(message, 17, VARINT))
        return name, one(message, 3, VARINT) if 3 in message else text(message, 6)

    def event(self, s, p, e):
        default = fields(one(s.defaults, 11, BYTES, b""))
        track = one(e, 11, VARINT) or one(default, 11, VARINT)
        kind = one(e, 9, VARINT)
        if kind is None:
            return  # the summary
        check(track in self.tracks, f"an event is of track {track}, which nobody described")
        name = self.lookup(s, 2, one(e, 10, VARINT)) if 10 in e else None
        categories = [self.lookup(s, 1, iid) for iid in every(e, 3, VARINT)]
        value = struct.unpack("<d", one(e, 44, FIXED64))[0] if 44 in e else None
        self.events.append(Event(self.time(s, p), kind, track, name, ",".join(categories), dict(self.value(s, fields(a)) for a in every(e, 4, BYTES)),
                                 value, list(every(e, 47, FIXED64)), list(every(e, 48, FIXED64))))

    def path(self, uuid):
        name, parent, _ = self.tracks[uuid]
        return (self.path(parent) if parent else ()) + (name,)

    def replay(self):
        """Slices, {arrow: (slice it leaves, slice it enters)} and {counter: {time: value}}."""
        slices, open_on, arrows, counters = [], collections.defaultdict(list), {}, collections.defaultdict(dict)
        for e in sorted(self.events, key=lambda event: event.time):
            if e.type == BEGIN:
                open_on[e.track].append(len(slices))
                slices.append(Slice(e.track, e.name, e.category, e.time, None, e.arguments))
            if e.type in (BEGIN, INSTANT):  # an instant is a slice of no length in the one that is open
                check(open_on[e.track], f"an instant on {self.path(e.track)} is in no slice")
                for flow in e.out:
                    check(flow not in arrows, "an arrow leaves twice")
                    arrows[flow] = [open_on[e.track][-1], None]
                for flow in e.into:
                    check(flow in arrows and arrows[flow][1] is None, "an arrow ends that has not begun")
                    arrows[flow][1] = open_on[e.track][-1]
            elif e.type == END:
                check(open_on[e.track], f"a slice ends on {self.path(e.track)} that has not begun")
                number = open_on[e.track].pop()
                slices[number] = slices[number]._replace(end=e.time)
            elif e.type == COUNTER:
                check(self.tracks[e.track][2] and e.value is not None, "a counter without a value, or on no track of counters")
                counters[self.path(e.track)][e.time] = e.value
        check(not any(open_on.values()), "a slice has no end")
        check(all(end is not None for _, end in arrows.values()), "an arrow has no end")
        return slices, arrows, counters


# --- the same run in JSON

def plain(slices, path):
    """Of slices what both formats say: process, name, category, cycles and arguments."""
    return collections.Counter((path(s.track)[0], s.name, s.category, s.begin // 1000, s.end // 1000, json.dumps(s.arguments, sort_keys=True)) for s in slices)


def compare(trace, events):
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    slices, arrows, counters = trace.replay()
    check(all(s.begin % 1000 == 0 and s.end % 1000 == 0 for s in slices), "a cycle is no microsecond")
    wanted = collections.Counter((processes[e["pid"]], e["name"], e.get("cat", ""), e["ts"], e["ts"] + e["dur"], json.dumps(e.get("args", {}), sort_keys=True))
                                 for e in events if e["ph"] == "X")
    got = plain(slices, trace.path)
    check(got == wanted, f"slices differ: {list((got - wanted).items())[:3]} for {list((wanted - got).items())[:3]}")
    # Each arrow leaves and enters slices of the processes, and at the times, that JSON says.
    ends = collections.defaultdict(dict)
    for e in events:
        if e["ph"] in "sf":
            ends[e["id"]][e["ph"]] = (processes[e["pid"]], e["ts"])
    for number, (leaves, enters) in arrows.items():
        both = ends.pop(struct.unpack("<Q", number)[0], None)
        check(both, "JSON does not have this arrow")
        for one_slice, (process, time) in ((slices[leaves], both["s"]), (slices[enters], both["f"])):
            check(trace.path(one_slice.track)[0] == process and one_slice.begin <= 1000 * time <= one_slice.end, f"an arrow is at {one_slice}, in JSON at {process}, {time}")
    check(not ends and arrows, f"{len(ends)} arrows are missing")
    count = sum(len(values) for values in counters.values())
    wanted = {((processes[e["pid"]], f"{e['name']}: {part}"), e["ts"], f"{value:.15g}") for e in events if e["ph"] == "C" for part, value in e["args"].items()}
    got = {(path, time // 1000, f"{value:.15g}") for path, values in counters.items() for time, value in values.items()}
    check(count and got == wanted, f"counters differ: {list(got ^ wanted)[:3]}")
    return len(slices), len(arrows), count


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([command, "zoo", "lenet", "-q", "-o", "m.onnx"], cwd=folder, check=True)
        for options in ([], ["--trace-window", "2000:4000"]):
            for name in ("t.pftrace", "t.json"):
                subprocess.run([command, "run", "m.onnx", "--batch", "2", "--graphamp-preset", "mp1", "--no-cpu-reference", "-q", "--trace", name, *options],
                               cwd=folder, check=True)
            with open(folder + "/t.pftrace", "rb") as file:
                trace = Trace(file.read())
            check(trace.deflated, "no packets are deflated")
            with open(folder + "/t.json", encoding="utf-8") as file:
                print("%d slices, %d arrows, %d values of counters" % compare(trace, json.load(file)["traceEvents"]))


main()
