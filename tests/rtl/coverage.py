#!/usr/bin/env python3
"""Coverage of the RTL by the random programs and graphs that all engines run: lines and toggles, as Verilator counts them.

  tests/rtl/coverage.py BUILD [--runs N] [--graphs N] [--missing]

BUILD has TEGULA_RTL_COVERAGE, and the targets below (`make coverage-rtl` sees to both). Runs N random fabric programs, N of GEMMs and
N random graphs on the configuration odd, and prints a table: of each file the lines, branches taken apart, and
the bits of its signals that went up and down. What of a file several modules, or several copies of one, have is counted once:
covered where one of them covers it. --missing lists lines that none executed, and signals of which a bit never moved.
Exit status 1 if a test fails.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def points_of(path):
    """Of a file of Verilator's: (file, line, column, kind, comment) and count of each point, summed over instances."""
    counts = collections.Counter()
    with open(path, encoding="latin-1") as file:
        for line in file:
            if not line.startswith("C '"):
                continue
            text, count = line[3:].rsplit("' ", 1)
            keys = dict(part.split("\2", 1) for part in text.split("\1") if part)
            name = os.path.basename(keys["f"])
            if name.endswith(".sv") and os.path.dirname(keys["f"]).endswith("rtl") and name != "actions.sv":
                counts[name, int(keys["l"]), int(keys["n"]), keys["page"].split("/")[0], keys["o"]] += int(count)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--graphs", type=int, default=120)
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    scratch = os.path.join(build, "coverage-rtl")
    os.makedirs(scratch, exist_ok=True)
    counts = collections.Counter()
    runs = [("test_agreement", "agreement.*odd", {"TEGULA_RUNS": str(options.runs)}),
            ("test_random_graphs", "*", {"TEGULA_RANDOM_CHIP": "odd", "TEGULA_RANDOM_GRAPHS": str(options.graphs)})]
    for name, tests, settings in runs:
        out = os.path.join(scratch, name + ".dat")
        done = subprocess.run([os.path.join(build, "tests", name), f"--gtest_filter={tests}"], cwd=ROOT,
                              env=dict(os.environ, TEGULA_RTL_COVERAGE=out, **settings), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode or not os.path.exists(out):
            print(done.stdout[-2000:], file=sys.stderr)
            sys.exit(f"coverage: {name} fails, or there is no RTL in {build} that counts")
        counts.update(points_of(out))
    lines, toggles = collections.defaultdict(list), collections.defaultdict(list)
    for (name, *at, kind, what), count in counts.items():
        (toggles if kind == "v_toggle" else lines)[name].append((*at, what, count))
    print(f"{'file':22}{'lines and branches':>20}{'executed':>11}{'bits':>9}{'moved':>10}")
    sums = [0, 0, 0, 0]
    for name in sorted({*lines, *toggles}):
        row = [len(lines[name]), sum(count > 0 for *_, count in lines[name]), len(toggles[name]),
               sum(count > 0 for *_, count in toggles[name])]
        sums = [a + b for a, b in zip(sums, row)]
        print_row(name, row)
    print_row("all", sums)
    if options.missing:
        for name in sorted(lines):
            for line, _, what, count in sorted(lines[name]):
                if not count:
                    print(f"not executed: {name}:{line}: {what}")
        for name in sorted(toggles):
            still = collections.Counter(re.sub(r"\[\d+\]$", "", what) for *_, what, count in toggles[name] if not count)
            for what, bits in sorted(still.items()):
                print(f"not moved: {name}: {what}, {bits} bits")
    return 0


def print_row(name, row):
    executed, moved = (f"{100 * some / max(1, all_of):.1f} %" for all_of, some in (row[:2], row[2:]))
    print(f"{name:22}{row[0]:20}{executed:>11}{row[2]:9}{moved:>10}")


if __name__ == "__main__":
    sys.exit(main())
