#!/usr/bin/env python3
"""Do files keep to the order of their folders, and do none form a circle?

usage: check_rooms.py NM PAGE... -- OBJECT...    from the root of the tree

PAGE: FOLDER/README.md, with a table of FOLDER's rooms from above to below. A room includes, and uses symbols of, those below it only. A row begins

  | [room](room/README.md) |              a folder
  | `room` | `file` `file` |              a folder, and files of FOLDER itself that belong to it, without their ends
  | [room](room/README.md) | ... | `sim/machine`, `frontend/base` |   where the last column is headed "may include": all that it may, itself apart

Files of FOLDER that no row names are above all rooms; where a row of the table names files, each must be named.
OBJECT: of the whole tree (none of which may use what INSTEAD names), BUILD/FOLDER/CMakeFiles/TARGET.dir/FILE.o. Files form a circle if each uses a symbol that the next one defines.
Before all that the check checks itself: on an invented tree it must find each kind of offence. Prints the offences; exits 1 if there are any.
"""
import os
import re
import subprocess
import sys

# The folders of the root (CONTRIBUTING.md).
LAYERS = """
| layer | may include |
|---|---|
| [runtime](runtime/README.md) | `frontend`, `mapper`, `sim` |
| [mapper](mapper/README.md) | `frontend`, `sim/machine` |
| [sim](sim/README.md) | `frontend/base`, `frontend/dtype.h` |
| [frontend](frontend/README.md) | |
"""
# fusion asks classes of kernels, not those who compute them.
ONLY = {"mapper/fusion": ("mapper/kernel/",)}
# Agents of the chip that wake each other, by design: what one does in a cycle the others see later (sim/systemc/README.md).
AGENTS = {"sim/systemc/%s.c" % name for name in ("agcu", "bank", "chip", "compute", "device", "lane", "posts", "unit")}
# Functions of the C library that fail in silence, and what there is instead.
INSTEAD = {"open_memstream": "frontend/base/text_stream.h: its fclose gives no text, and no error, where memory ends"}
# What a folder offers to its own rooms, too.
INTERFACES = ("mapper/mapper.h",)


class Order:
    """The rooms of a folder, read from its page."""

    def __init__(self, folder, page):
        self.folder, self.rooms, self.at_root, self.may = folder, [], {}, {}
        prefix = folder + "/" if folder else ""
        limited = False
        for line in page.splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            found = re.match(r"\[(\w+)\]\(\1/README\.md\)$|`(\w+)/?`$", cells[0])
            if "may include" in cells[-1] and line.startswith("|"):
                limited = True
            if not line.startswith("|"):
                limited = False
            if not found or not line.startswith("|"):
                continue
            room = prefix + (found.group(1) or found.group(2))
            self.rooms.append(room)
            if found.group(2) and len(cells) > 1:
                self.at_root.update({prefix + name: room for name in re.findall(r"`([\w.]+)`", cells[1])})
            if limited:
                self.may[room] = tuple(re.findall(r"`([\w./]+)`", cells[-1]))

    def place(self, path):
        """Of a path in the folder: its room's number, 0 for files above all rooms; None: the page does not place it."""
        for number, room in enumerate(self.rooms):
            if path.startswith(room + "/"):
                return number + 1
        inside = path[len(self.folder) + 1 if self.folder else 0:]
        if "/" in inside:
            return None
        if not self.at_root:
            return 0
        room = self.at_root.get(os.path.splitext(path)[0])
        return self.rooms.index(room) + 1 if room else None

    def covers(self, path):
        return path.startswith(self.folder + "/" if self.folder else "")

    def allows(self, room, other):
        """What the last column says."""
        may = self.may.get(room)
        return may is None or other.startswith(room + "/") or any(other == m or other.startswith(m + "/") for m in may)

    def refuses(self, file, other, including=True):
        """Why `file` may not include `other`, or use its symbols; None: it may."""
        if not self.covers(file):
            return None
        here = self.place(file)
        room = self.rooms[here - 1] if here else ""
        if including and not self.allows(room, other):
            return "which its room may not"
        if not self.covers(other) or other in INTERFACES or here is None or self.place(other) is None:
            return None
        if self.place(other) < here:
            return "which is above it"
        if room in ONLY and not other.startswith((room + "/",) + ONLY[room]):
            return "which its room may not"
        return None


def circles(defined, used):
    """Tarjan's strongly connected components of more than one file."""
    after = {file: {defined[s] for s in symbols if s in defined} - {file} for file, symbols in used.items()}
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(after.get(file, ())):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            component = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(component) > 1:
                found.append(sorted(component))

    for file in sorted(used):
        if file not in index:
            visit(file)
    return found


def offences(orders, includes, defined, used):
    """includes: {file: files}, defined: {symbol: file}, used: {file: symbols}; paths from the root."""
    for order in orders:
        for path in sorted(set(includes) | set(used)):
            if order.covers(path) and order.place(path) is None:
                yield "%s: %s/README.md has no place for it" % (path, order.folder or ".")
        for file, others in sorted(includes.items()):
            for other in others:
                why = order.refuses(file, other)
                if why:
                    yield "%s includes %s, %s" % (file, other, why)
        for file, symbols in sorted(used.items()):
            for symbol in sorted(symbols & INSTEAD.keys()):
                yield "%s uses %s; instead: %s" % (file, symbol, INSTEAD[symbol])
            for symbol in sorted(symbols):
                why = symbol in defined and order.refuses(file, defined[symbol], including=False)
                if why:
                    yield "%s uses %s of %s, %s" % (file, symbol, defined[symbol], why)
    for circle in circles(defined, used):
        if not AGENTS.issuperset(circle):
            yield "a circle: " + " ".join(circle)


def check_itself():
    def found(page, includes, defined, used):
        return list(offences([Order("top", page)], includes, defined, used))

    rooms = "| [high](high/README.md) | a |\n| [low](low/README.md) | b |\n"
    good = {"top/high/a.c": ["top/low/b.h", "top/high/a.h", "other/c.h"], "top/low/b.c": ["top/low/b.h"], "top/all.c": ["top/high/a.h"]}
    defined = {"a": "top/high/a.c", "b": "top/low/b.c", "c": "top/low/c.c"}
    assert not found(rooms, good, defined, {"top/high/a.c": {"b", "printf"}, "top/low/b.c": {"c"}, "top/low/c.c": set()})
    assert len(found(rooms, {"top/low/b.c": ["top/high/a.h"]}, defined, {})) == 1
    assert len(found(rooms, {"top/low/b.c": ["top/all.h"]}, defined, {})) == 1
    assert len(found(rooms, {"top/lost/b.c": []}, defined, {})) == 1
    assert len(found(rooms, good, defined, {"top/low/b.c": {"a"}})) == 1
    assert len(found(rooms, good, defined, {"top/low/b.c": {"c"}, "top/low/c.c": {"b"}})) == 1
    assert len(found(rooms, good, defined, {"top/low/b.c": {"open_memstream"}})) == 1
    files = "| `high/` | `one` | a |\n| `low/` | `two` `three` | b |\n"
    assert not found(files, {"top/one.c": ["top/two.h"], "top/high/a.c": ["top/one.h"]}, {}, {})
    assert len(found(files, {"top/two.c": ["top/one.h"]}, {}, {})) == 1
    assert len(found(files, {"top/four.c": []}, {}, {})) == 1
    limited = "| room | what | may include |\n|---|---|---|\n| [low](low/README.md) | b | `base`, `other/one.h` |\n"
    assert not found(limited, {"top/low/b.c": ["base/c.h", "other/one.h", "top/low/b.h"]}, {}, {})
    assert len(found(limited, {"top/low/b.c": ["other/two.h", "basement/c.h"]}, {}, {})) == 2
    fusion = Order("mapper", "| [fusion](fusion/README.md) | a |\n| [gemm](gemm/README.md) | b |\n| [kernel](kernel/README.md) | c |\n")
    assert not fusion.refuses("mapper/fusion/f.c", "mapper/kernel/k.h") and not fusion.refuses("mapper/gemm/g.c", "mapper/mapper.h")
    assert fusion.refuses("mapper/fusion/f.c", "mapper/gemm/g.h")


def read_includes(files):
    includes = {}
    for path in files:
        with open(path) as file:
            includes[path] = re.findall(r'^#include "(\w+/[\w./]+\.(?:h|def))"', file.read(), re.M)
    return includes


def read_symbols(nm, objects, layers):
    defined, used = {}, {}
    for line in subprocess.check_output([nm, "-A"] + objects, universal_newlines=True).splitlines():
        path, entry = line.rsplit(".o:", 1)
        file = source_of(path, layers)
        if not file:
            continue
        kind, symbol = entry.split()[-2:]
        symbols = used.setdefault(file, set())
        if kind == "U":
            symbols.add(symbol)
        elif kind in "TDRBC":
            defined[symbol] = file
    return defined, used


def source_of(path, layers):
    """frontend/passes/x.c of BUILD/frontend/CMakeFiles/tegula_frontend.dir/passes/x.c"""
    folder, file = re.match(r"(.*)/CMakeFiles/[^/]+\.dir/(.*)$", path).groups()
    parts = folder.split("/")
    for i in reversed(range(len(parts))):
        found = os.path.normpath("/".join(parts[i:] + [file]))
        if found.split("/")[0] in layers and os.path.exists(found):
            return found
    return None  # generated


def main():
    check_itself()
    split = sys.argv.index("--")
    pages, objects = sys.argv[2:split], sys.argv[split + 1:]
    orders = [Order("", LAYERS)]
    for page in pages:
        with open(page) as file:
            orders.append(Order(os.path.dirname(page), file.read()))
        if len(orders[-1].rooms) < 2:
            sys.exit("%s: no table of rooms" % page)
    layers = orders[0].rooms
    defined, used = read_symbols(sys.argv[1], objects, layers)
    lost = [layer for layer in layers if not any(file.startswith(layer + "/") for file in used)]
    if lost:
        sys.exit("no objects of " + ", ".join(lost))
    sources = [os.path.join(at, name) for layer in layers for at, _, names in os.walk(layer) for name in names
               if name.endswith((".c", ".h", ".cc"))]
    found = list(offences(orders, read_includes(sources), defined, used))
    print("\n".join(found + ["%d files of %s, %d offences" % (len(used), ", ".join(layers), len(found))]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
