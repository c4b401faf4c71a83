#!/usr/bin/env python3
"""Do the mapper's files keep to the order of its rooms, and are there no circles among them?

usage: check_rooms.py NM OBJECT...    from the root of the tree; OBJECT: those of the library

The order is that of the table in mapper/README.md: a room may include, and use symbols of, those below it only; fusion, only those of
kernel. No files may
form a circle in which each uses a symbol that the next one defines. Before that the check checks itself: on an invented tree it must
find each kind of offence. Prints the offences; exits 1 if there are any.
"""
import glob
import re
import subprocess
import sys


ONLY = {"fusion": ("fusion", "kernel")}  # it asks classes of kernels, not those who compute them


def room_of(path):
    """Of a path in mapper/; "" is its root, above all rooms."""
    return path.split("/")[0] if "/" in path else ""


def read_order(page):
    return [""] + re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", page, re.M)


def wrong_includes(order, includes):
    """includes: {file: files}. The interface of the mapper itself is open to all rooms."""
    for file, others in sorted(includes.items()):
        for other in others:
            if other != "mapper.h" and order.index(room_of(other)) < order.index(room_of(file)):
                yield "%s includes %s, which is above it" % (file, other)
            elif other != "mapper.h" and room_of(other) not in ONLY.get(room_of(file), order):
                yield "%s includes %s: its room may not" % (file, other)


def wrong_uses(order, defined, used):
    """defined: {symbol: file}, used: {file: symbols}"""
    for file, symbols in sorted(used.items()):
        for symbol in sorted(symbols):
            maker = defined.get(symbol, file)
            if order.index(room_of(maker)) < order.index(room_of(file)) or room_of(maker) not in ONLY.get(room_of(file), order):
                yield "%s uses %s of %s, which it may not" % (file, symbol, maker)


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
                found.append("a circle: " + " ".join(sorted(component)))

    for file in sorted(used):
        if file not in index:
            visit(file)
    return found


def offences(order, includes, defined, used):
    return list(wrong_includes(order, includes)) + list(wrong_uses(order, defined, used)) + circles(defined, used)


def check_itself():
    order = read_order("| [fusion](fusion/README.md) | a |\n| [high](high/README.md) | a |\n| [low](low/README.md) | b |\n")
    good = {"high/a.c": ["low/b.h", "high/a.h", "mapper.h"], "low/b.c": ["low/b.h"]}
    defined = {"a": "high/a.c", "b": "low/b.c", "c": "low/c.c"}
    assert offences(order, good, defined, {"high/a.c": {"b", "printf"}, "low/b.c": {"c"}, "low/c.c": set()}) == []
    assert len(offences(order, {"low/b.c": ["high/a.h"]}, defined, {})) == 1
    assert len(offences(order, {"fusion/f.c": ["low/b.h", "fusion/f.h"]}, defined, {})) == 1
    assert len(offences(order, good, defined, {"fusion/f.c": {"b"}})) == 1
    assert len(offences(order, good, defined, {"low/b.c": {"a"}})) == 1
    assert len(offences(order, good, defined, {"low/b.c": {"c"}, "low/c.c": {"b"}})) == 1


def read_includes():
    includes = {}
    for path in glob.glob("mapper/**/*.[ch]", recursive=True):
        with open(path) as file:
            includes[path[len("mapper/"):]] = re.findall(r'^#include "mapper/([^"]+)"', file.read(), re.M)
    return includes


def read_symbols(nm, objects):
    defined, used = {}, {}
    for line in subprocess.check_output([nm, "-A"] + objects, universal_newlines=True).splitlines():
        path, entry = line.rsplit(".o:", 1)
        file = re.sub(r"^.*tegula_mapper\.dir/(\./)?", "", path)
        kind, symbol = entry.split()[-2:]
        symbols = used.setdefault(file, set())
        if kind == "U":
            symbols.add(symbol)
        elif kind in "TDRBC":
            defined[symbol] = file
    return defined, used


def main():
    check_itself()
    with open("mapper/README.md") as file:
        order = read_order(file.read())
    defined, used = read_symbols(sys.argv[1], sys.argv[2:])
    if len(order) < 2 or not defined:
        sys.exit("no rooms in mapper/README.md, or no objects")
    found = offences(order, read_includes(), defined, used)
    print("\n".join(found + ["%d files in %d rooms, %d offences" % (len(used), len(order) - 1, len(found))]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
