#!/usr/bin/env python3
"""Do the frontend's files keep to the order of its folders, and are there no circles among them?

usage: check_rooms.py NM OBJECT...    from the root of the tree; OBJECT: those of the library

The order is that of the table in frontend/README.md, from above to below: a folder may include, and use symbols of, those below it only.
Its row names the files of the root that belong to it. No files may form a circle in which each uses a symbol that the next one defines.
The rules are those of tests/mapper/check_rooms.py, which tests itself. Prints the offences; exits 1 if there are any.
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, "tests/mapper")
import check_rooms as rooms


def read_order(page):
    """[room, ...] from above to below, and {file of the root: room}."""
    order, at_root = [], {}
    for name, files in re.findall(r"^\| `(\w+)/?` \| ([^|]*) \|", page, re.M):
        order.append(name)
        at_root.update({file: name for file in re.findall(r"`([\w.]+)`", files)})
    return order, at_root


def room_of(path, at_root):
    return path.split("/")[0] if "/" in path else at_root[os.path.splitext(path)[0]]


def check(order, at_root, includes, defined, used):
    """Offences; a file that the page does not place is one."""
    lost = sorted({f for f in list(includes) + list(used) if "/" not in f and os.path.splitext(f)[0] not in at_root}
                  | {f for f in list(includes) + list(used) if "/" in f and f.split("/")[0] not in order})
    if lost:
        return ["the page places no %s" % f for f in lost]
    place = {f: order.index(room_of(f, at_root)) for f in set(includes) | set(used) | set(defined.values())}
    found = ["%s includes %s, which is above it" % (f, o) for f, others in sorted(includes.items()) for o in others
             if o in place and place[o] < place[f]]
    found += ["%s uses %s of %s, which is above it" % (f, s, defined[s]) for f, symbols in sorted(used.items())
              for s in sorted(symbols) if s in defined and place[defined[s]] < place[f]]
    return found + rooms.circles(defined, used)


def read_includes():
    includes = {}
    for path in glob.glob("frontend/**/*.[ch]", recursive=True):
        with open(path) as file:
            includes[path[len("frontend/"):]] = re.findall(r'^#include "frontend/([^"]+\.h)"', file.read(), re.M)
    return includes


def read_symbols(nm, objects):
    defined, used = {}, {}
    for line in subprocess.check_output([nm, "-A"] + objects, universal_newlines=True).splitlines():
        path, entry = line.rsplit(".o:", 1)
        file = re.sub(r"^.*tegula_(frontend|base)\.dir/(\./)?", "", path)
        kind, symbol = entry.split()[-2:]
        symbols = used.setdefault(file, set())
        if kind == "U":
            symbols.add(symbol)
        elif kind in "TDRBC":
            defined[symbol] = file
    return defined, used


def check_itself():
    order, at_root = read_order("| `high/` | `top` | a |\n| `low/` | `graph` | b |\n")
    good = {"high/a.c": ["low/b.h", "graph.h"], "low/b.c": ["low/b.h"], "graph.h": [], "low/b.h": []}
    assert check(order, at_root, good, {"b": "low/b.c"}, {"high/a.c": {"b"}, "low/b.c": set()}) == []
    assert check(order, at_root, {"low/b.c": ["top.h"], "top.h": []}, {}, {})
    assert check(order, at_root, {}, {"a": "high/a.c"}, {"low/b.c": {"a"}, "high/a.c": set()})
    assert check(order, at_root, {}, {"a": "low/a.c", "b": "low/b.c"}, {"low/a.c": {"b"}, "low/b.c": {"a"}})
    assert check(order, at_root, {"lost/a.c": []}, {}, {})


def main():
    check_itself()
    with open("frontend/README.md") as file:
        order, at_root = read_order(file.read())
    defined, used = read_symbols(sys.argv[1], sys.argv[2:])
    if len(order) < 2 or not defined:
        sys.exit("no folders in frontend/README.md, or no objects")
    found = check(order, at_root, read_includes(), defined, used)
    print("\n".join(found + ["%d files in %d folders, %d offences" % (len(used), len(order), len(found))]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
