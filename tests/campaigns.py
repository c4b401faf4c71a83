#!/usr/bin/env python3
"""The table of long campaigns of docs/verification.md, of what `make test-long` has just run.

usage: campaigns.py JUNIT.xml...

Each file is what `ctest --output-junit` wrote, and its name that of the part; tests of one name before a point, or of the words
before "_long", are a row. Counts are those that the tests print themselves: lines that begin with a number or with what was run and
a number ("run: 3000 of 21269 allocations failed", "fuzz_npy: 2000000 inputs from 9 seeds"), at most three of a row.
"""
import argparse
import collections
import datetime
import os
import re
import xml.etree.ElementTree as xml

COUNTS = re.compile(r"^(?:[\w ]{1,40}: )?\d[\d,]* (?:of|tests|programs|graphs|inputs|calls|sections|runs|command lines)\b.*$|^seed \d+: .*$", re.MULTILINE)
MOST_COUNTS = 3


def row_of(name):
    """The campaign of a test: tests of one suite are one."""
    return re.sub(r"(_all_planted|_planted)$", "", name.split(".")[0]) if "." in name else name


def outcome_of(case):
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") == "notrun" else "passed"


def rows_of(path):
    rows = collections.OrderedDict()
    for case in xml.parse(path).getroot().iter("testcase"):
        row = rows.setdefault(row_of(case.get("name")), {"results": collections.Counter(), "seconds": 0.0, "counts": [], "failed": []})
        outcome = outcome_of(case)
        row["results"][outcome] += 1
        row["seconds"] += float(case.get("time", 0))
        row["counts"] += COUNTS.findall(case.findtext("system-out") or "")[-1:]
        if outcome == "failed":
            row["failed"].append(case.get("name"))
    return rows


def result(row):
    said = [f"{count} {outcome}" for outcome, count in row["results"].items() if outcome != "passed"]
    names = ": " + ", ".join(f"`{name}`" for name in row["failed"]) if row["failed"] else ""
    return ("; ".join(said) or "passed") + names


def table(path):
    """Its lines and the counts of all outcomes. What takes less than ten seconds together and fails nowhere is one row."""
    lines, small, total, seconds = [], [0, 0.0], collections.Counter(), 0.0
    part = os.path.basename(path).removesuffix(".xml")
    for name, row in rows_of(path).items():
        total += row["results"]
        seconds += row["seconds"]
        if row["seconds"] < 10 and not row["failed"] and not row["counts"]:
            small[0] += row["results"].total()
            small[1] += row["seconds"]
            continue
        counts = "; ".join(row["counts"][:MOST_COUNTS]).replace("|", "/")
        lines.append(f"| {part} | {name} | {row['results'].total()} | {counts} | {result(row)} | {row['seconds'] / 3600:.3f} |")
    if small[0]:
        lines.append(f"| {part} | others, below ten seconds | {small[0]} | | | {small[1] / 3600:.3f} |")
    return lines, total, seconds


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("junit", nargs="+")
    files = parser.parse_args().junit
    print("| part | campaign | tests | counts | result | hours of one core |\n|---|---|---|---|---|---|")
    total, seconds = collections.Counter(), 0.0
    for path in files:
        lines, counts, time = table(path)
        print("\n".join(lines))
        total += counts
        seconds += time
    said = ", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))
    print(f"\n{total.total()} tests, {said}; {seconds / 3600:.2f} hours of tests, ended {datetime.date.today().isoformat()}.")


if __name__ == "__main__":
    main()
