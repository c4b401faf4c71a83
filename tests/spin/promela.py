"""A section as a Promela model of the semaphore protocol, from the text of a program and docs/machine.md alone: nothing of the proof
of ordering, of the sequencers or of the engines is used, so that SPIN is a second opinion (README.md).

Units, channels to destinations, and what a LOAD or a GEMM leaves in flight are processes. A process issues an execution when its semaphores allow,
takes the banks, accumulator halves and rows of store memories that it uses, and gives them back at the end; nothing says how long that takes, so
SPIN tries every timing. What nobody may do is asserted: two owners of one place, a count above 255, flits in flight or messages uncounted when all
units have finished. A deadlock is an invalid end state.
"""
import pathlib
import re

MACHINE = pathlib.Path(__file__).parents[2] / "sim/machine"
CODES_OF = {"post_kind": "POST", "dir": "DIR", "convert": "CVT", "format": "FMT", **{f"s{s}_kind": "STREAM" for s in range(8)}}
TILE_UNITS = ("mx", "vx", "tx")


def array(head):
    """Parameters that `arch` and `set` lines name, and what follows from them (docs, 1)."""
    names = re.findall(r"^ARRAY\((\w+),", (MACHINE / "arrays.def").read_text(encoding="utf-8"), re.MULTILINE)
    column = names.index(next(line.split()[1] for line in head if line.startswith("arch ")))
    rows = re.findall(r"^PARAM\((\w+), \(([\d, ]+)\),", (MACHINE / "params.def").read_text(encoding="utf-8"), re.MULTILINE)
    values = {name: int(numbers.split(",")[column]) for name, numbers in rows}
    values.update({name: int(value) for name, value in re.findall(r"^set (\w+)=(\d+)$", "\n".join(head), re.MULTILINE)})
    values["bank_rows"] = values["bank_bytes"] // (4 * values["p"])  # a bank row has P words
    values["half_rows"] = values["acc_bytes"] // (8 * values["p"])  # an accumulator row has 2P words
    return values


def codes():
    """{set: {name in text: value}}"""
    sets = {}
    for name, code, value in re.findall(r"^CODE\((\w+), (\w+), (\d+),", (MACHINE / "codes.def").read_text(encoding="utf-8"), re.MULTILINE):
        sets.setdefault(name, {})[code.lower()] = int(value)
    return sets


CODES = codes()


def number(field, word):
    """As a program's text has it: a name of the field's codes, or a number."""
    return CODES[CODES_OF[field]][word] if field in CODES_OF and word in CODES[CODES_OF[field]] else int(word, 0)


class Instruction:
    """Fields are lists of numbers; one that is not written is zeros."""

    def __init__(self, line):
        self.op, *words = line.split()
        self.fields = {name: [number(name, v) for v in values.split(",")] for name, values in (word.split("=") for word in words)}

    def get(self, name, index=0):
        values = self.fields.get(name, [])
        return values[index] if index < len(values) else 0

    def put(self, name, index, value):
        values = self.fields.setdefault(name, [])
        values.extend([0] * (index + 1 - len(values)))
        values[index] = value

    def text(self):
        return " ".join([self.op] + [f"{name}={','.join(map(str, values))}" for name, values in self.fields.items()])


class Program:
    """Of one section. Endpoints are ("tile", n) and ("agcu", n); a unit is an endpoint and "mx", "vx", "tx" or a context's number."""

    def __init__(self, text):
        self.head, self.tail, self.units, self.initial, self.words = [], [], {}, {}, {}
        endpoint = None
        for line in text.splitlines():
            first, _, rest = line.partition(" ")
            if not line or line[0] == "#":
                continue
            if first in ("tile", "agcu"):
                endpoint = (first, int(rest))
            elif first == "sem":
                self.initial.update({(endpoint, int(s)): int(v) for s, v in (word.split("=") for word in rest.split())})
            elif first == "word":
                self.words.setdefault(endpoint, []).append(line)
            elif first in TILE_UNITS:
                self.units.setdefault((endpoint, first), []).append(Instruction(rest))
            elif first == "ctx":
                context, _, instruction = rest.partition(" ")
                self.units.setdefault((endpoint, int(context)), []).append(Instruction(instruction))
            else:
                (self.tail if endpoint else self.head).append(line)
        self.array = array(self.head)

    def text(self):
        lines = list(self.head)
        endpoints = sorted({e for e, _ in self.units} | {e for e, _ in self.initial}, key=lambda e: (e[0] == "agcu", e[1]))
        for endpoint in endpoints:
            lines.append(f"{endpoint[0]} {endpoint[1]}")
            counts = [f"{s}={v}" for (e, s), v in sorted(self.initial.items()) if e == endpoint and v]
            lines += [f"sem {' '.join(counts)}"] * bool(counts) + self.words.get(endpoint, [])
            for (e, unit), queue in self.units.items():
                if e == endpoint:
                    lines += [(f"ctx {unit} " if endpoint[0] == "agcu" else f"{unit} ") + i.text() for i in queue]
        return "\n".join(lines + self.tail) + "\n"

    def lane_endpoint(self, endpoint, row_lane, position):
        """Docs, 6: position 0 is the AGCU, others are tiles of the row (east, west) or the column."""
        rows, cols = self.array["rows"], self.array["cols"]
        kind, n = endpoint
        if row_lane:
            line = n // cols if kind == "tile" else n
            return ("tile", line * cols + position - 1) if position else ("agcu", line)
        line = n % cols if kind == "tile" else n - rows
        return ("tile", (position - 1) * cols + line) if position else ("agcu", rows + line)


def executions(queue):
    """Of a unit, in order: (instruction, indices, executions of this one before, whether it ends level 2). Docs, 2."""
    pc, index, before = 0, [0, 0, 0], {}
    while pc < len(queue):
        at = queue[pc]
        count = before.get(pc, (0, 0))
        ends = at.get("loop_count", 2) == 0 or index[2] + 1 == at.get("loop_count", 2)
        yield at, tuple(index), count, ends
        before[pc] = (count[0] + 1, count[1] + ends)
        pc += 1
        for level in (2, 1, 0):
            if at.get("loop_count", level) == 0:
                continue
            index[level] += 1
            if index[level] < at.get("loop_count", level):
                pc = at.get("loop_begin", level)
                break
            index[level] = 0


def address(at, name, index, count):
    turns = count[1] if at.get(f"{name}_rot_outer") else count[0]
    return (at.get(f"{name}_base") + sum(i * at.get(f"{name}_delta", l) for l, i in enumerate(index))
            + turns % max(at.get(f"{name}_rot_count"), 1) * at.get(f"{name}_rot_stride")) % 65536


def products(counts):
    digits = [[]]
    for count in counts:
        digits = [d + [i] for d in digits for i in range(max(count, 1))]
    return digits


class Model:
    def __init__(self, program, first_of=None):
        self.p, self.first_of, self.used = program, first_of or {}, []
        self.places, self.semaphores, self.channels = {}, {}, {}
        self.messages = set()

    def place(self, endpoint, kind, number):
        return self.places.setdefault((endpoint, kind, number), len(self.places))

    def semaphore(self, endpoint, number):
        return self.semaphores.setdefault((endpoint, number), len(self.semaphores))

    def rows(self, endpoint, rows):
        """Places of rows of a scratchpad or store memory. Rows of a store memory that are never used apart are one."""
        if endpoint[0] == "agcu":
            self.used.append((endpoint, frozenset(rows)))
            return {self.place(endpoint, "store row", self.first_of.get((endpoint, row), row)) for row in rows}
        return {self.place(endpoint, "bank", row // self.p.array["bank_rows"]) for row in rows}

    @staticmethod
    def runs(base, flits, inner, stride):
        return [base + flit // inner * stride + flit % inner for flit in range(flits)]

    def flits(self, at):
        words16 = at.get("convert") in (CODES["CVT"]["16"], CODES["CVT"]["fp32_bf16"], CODES["CVT"]["fp32_fp16"])  # on the chip
        a_flit = self.p.array["p"] * (2 if words16 else 1)
        return at.get("rows") * -(-at.get("take") // a_flit)

    def of_vop(self, endpoint, at, index, count):
        taken = set()
        for s in range(8):
            if not at.get(f"s{s}_kind"):
                continue
            base = address(at, f"s{s}", index, count)
            reached = [base + sum(d * at.get(f"s{s}_row", n) for n, d in enumerate(digits[:3]))
                       + sum(d * at.get(f"s{s}_j", n) for n, d in enumerate(digits[3:]))
                       for digits in products([at.get("row_count", n) for n in range(3)] + [at.get("j_count", n) for n in range(2)])]
            if at.get(f"s{s}_kind") == CODES["STREAM"]["acc"]:
                taken |= {self.place(endpoint, "half", row // self.p.array["half_rows"]) for row in reached}
            else:
                first = base // self.p.array["bank_rows"]
                taken |= self.rows(endpoint, reached) | {self.place(endpoint, "bank", first + b) for b in range(at.get(f"s{s}_banks"))}
        return taken

    def of_gemm(self, endpoint, at, index, count):
        first = {name: address(at, name, index, count) // self.p.array["bank_rows"] for name in "ab"}
        half = self.place(endpoint, "half", address(at, "c", index, count) // self.p.array["half_rows"])
        return {half} | {self.place(endpoint, "bank", first[n] + b) for n in "ab" for b in range(at.get(f"{n}_banks"))}

    def posts(self, endpoint, at, ends):
        """Semaphores that the end increments, each with its field, for changes."""
        found = []
        for i in range(4):
            kind = at.get("post_kind", i)
            if not kind or (at.get("post_last", i) and not ends):
                continue
            to = endpoint if kind == CODES["POST"]["local"] else self.p.lane_endpoint(endpoint, kind == CODES["POST"]["row"], at.get("post_pos", i))
            found.append((self.semaphore(to, at.get("post_sem", i)), (id(at), "post_kind", i)))
        return found

    def waits(self, endpoint, at, index):
        found = [(self.semaphore(endpoint, at.get("wait_sem", i)), (id(at), "wait_on", i)) for i in range(4)
                 if at.get("wait_on", i) and not (at.get("wait_first", i) and index[2])]
        return found + [(self.semaphore(endpoint, at.get("credit_base") + pos), (id(at), "credit_mask", pos)) for pos in range(17)
                        if at.get("credit_mask") >> pos & 1]


def acquire(places, owner):
    return "".join(f" TAKE({place}, {owner})" for place in sorted(places))


def release(places):
    return "".join(f" GIVE({place})" for place in sorted(places))


def off(change):
    """Whether the change of this number is made: told when the verifier starts, and no part of the state."""
    return f"c_expr {{ off[{change}] }}"


def guarded(edits, field, text):
    """A statement that is left out where this field is taken away."""
    number = edits.get(field)
    return f" {text}" if number is None else f" if :: {off(number)} -> skip :: else -> {text} fi;"


def together(used):
    """{(AGCU, row): the first of the rows that every use has with it}"""
    users = {}
    for use, (endpoint, rows) in enumerate(used):
        for row in rows:
            users.setdefault((endpoint, row), []).append(use)
    first = {}
    return {(endpoint, row): first.setdefault((endpoint, tuple(uses)), row) for (endpoint, row), uses in sorted(users.items())}


def build(program, edits=None):
    """Text of the model. `edits` numbers changes, of which those in the environment's OFF are made when the verifier starts (`OFF="3 7"`):
    {(id of an instruction, field, index): it is zero}, {("sem", endpoint, number, step): its initial count differs by step}."""
    first = Model(program)
    write(program, edits or {}, first)
    return write(program, edits or {}, Model(program, together(first.used)))


def write(program, edits, m):
    owners, in_flight, sent, unit_text = {}, {}, [], []

    def owner(name):
        return owners.setdefault(name, len(owners) + 1)

    def post(entries):
        return "".join(guarded(edits, field, f"POST({semaphore});") for semaphore, field in entries)

    def later(process, body):
        """Something that ends later, in order, in a process of its own, which is told that it has begun."""
        in_flight.setdefault(process, []).append(body)
        sent.append(process)

    for (endpoint, unit), queue in program.units.items():
        name, body = (endpoint, unit), []
        for at, index, count, ends in executions(queue):
            waits, posts = m.waits(endpoint, at, index), post(m.posts(endpoint, at, ends))
            enabled = " && ".join(f"(sem[{s}] > 0" + (f" || {off(edits[f])})" if f in edits else ")") for s, f in waits) or "true"
            issue = "".join(guarded(edits, f, f"sem[{s}]--;") for s, f in waits)
            own = set()
            sent.clear()
            load, send, store = at.op == "load", at.op == "send", at.op == "store"
            if send:
                own = m.rows(endpoint, m.runs(address(at, "src", index, count), at.get("flits"), at.get("src_inner"), at.get("src_stride")))
            elif store:
                own = m.rows(endpoint, m.runs(address(at, "src", index, count), m.flits(at), m.flits(at), 0))
            elif at.op == "vop":
                own = m.of_vop(endpoint, at, index, count)
            elif at.op == "gemm":
                own = m.of_gemm(endpoint, at, index, count)
            if send or load:
                row_lane = at.get("dir") in (CODES["DIR"]["east"], CODES["DIR"]["west"]) if send else endpoint[1] < program.array["rows"]
                flits = at.get("flits") if send else m.flits(at)
                arriving = m.runs(address(at, "dst", index, count), flits, at.get("dst_inner"), at.get("dst_stride"))
                for position in (b for b in range(17) if at.get("dst_mask") >> b & 1):
                    to = program.lane_endpoint(endpoint, row_lane, position)
                    channel, places, told = ("to", name, row_lane, position), m.rows(to, arriving), ""
                    if at.get("dst_post"):
                        number = m.semaphore(to, at.get("dst_sem"))
                        told = guarded(edits, (id(at), "dst_post", 0), f"POST({number});")
                        m.messages |= {number}
                    issue += acquire(places, owner(channel))
                    later(channel, release(places) + told)
            issue += acquire(own, owner(name))
            if load or at.op == "gemm":
                tail = ("tail", name)
                later(tail, release(own) + posts)
                posts, own = "", set()
            issue += "".join(f" CH{list(in_flight).index(channel)}++; flying++;" for channel in sent)
            end = release(own) + posts
            body.append(f"  atomic {{ {enabled} ->{issue or ' skip;'} }};")
            if end:
                body.append(f"  atomic {{{end} }};")
        unit_text.append(f"active proctype U{len(unit_text)}() {{ /* {endpoint[0]} {endpoint[1]} {unit} */\n  started;\n" + "\n".join(body)
                         + "\n  running--;\n}\n")
    lines = ["/* Written by promela.py. */", f"c_decl {{ \\#include <stdlib.h>\nstatic unsigned char off[{max(edits.values(), default=0) + 1}]; }}",
             f"byte sem[{max(len(m.semaphores), 1)}], owner[{max(len(m.places), 1)}], uses[{max(len(m.places), 1)}];",
             f"short running = {len(unit_text)}, flying; bool started;"]
    lines += ["#define TAKE(x, who) assert(uses[x] == 0 || owner[x] == who); owner[x] = who; uses[x]++;",
              "#define GIVE(x) uses[x]--; if :: uses[x] == 0 -> owner[x] = 0 :: else fi;",
              "#define POST(s) assert(sem[s] < 255); sem[s]++"]
    for i, steps in enumerate(in_flight.values()):
        body = "\n".join(f"  atomic {{ CH{i} > 0 -> CH{i}--;{step} flying--; }};" for step in steps)
        lines.append(f"short CH{i};\nactive proctype F{i}() {{\n  started;\n{body}\n}}")
    lines += unit_text
    start = []
    for (endpoint, number), s in m.semaphores.items():
        start.append(f"  sem[{s}] = {program.initial.get((endpoint, number), 0)};")
        for step in (1, -1):
            edit = edits.get(("sem", endpoint, number, step))
            if edit is not None:
                start.append(f"  if :: {off(edit)} -> sem[{s}] = sem[{s}] + ({step}) :: else fi;")
    checks = "".join(f" assert(sem[{s}] <= {initial});" for s, initial in
                     ((s, program.initial.get(key, 0)) for key, s in m.semaphores.items() if s in m.messages))
    tails = [i for i, channel in enumerate(in_flight) if channel[0] == "tail"]
    quiet = " && ".join(["running == 0"] + [f"CH{i} == 0" for i in tails])
    lines.append("init {\n  atomic {\n  c_code { char *at = getenv(\"OFF\"); while (at && *at) off[strtol(at, &at, 10)] = 1; };\n" + "\n".join(start)
                 + f"\n  started = true;\n  }};\n  atomic {{ {quiet} -> assert(flying == 0);{checks} }}\n}}")
    return "\n".join(lines) + "\n"
