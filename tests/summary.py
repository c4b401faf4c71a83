#!/usr/bin/env python3
"""What a run of the tests says in a few lines: counts, skipped tests by reason, and the longest against a budget.

usage: summary.py JUNIT.xml [--budget SECONDS] [--longest N]

JUNIT.xml is what `ctest --output-junit` writes. Tests over the budget are named; they do not fail, since machines differ.
"""
import argparse
import collections
import re
import xml.etree.ElementTree as xml


def reason_of(case):
    """A skipped test prints where and why; what the file says of it otherwise."""
    text = case.findtext("system-out") or ""
    found = re.search(r"^\S+:\d+: Skipped\n(.+)$", text, re.MULTILINE)
    return found.group(1) if found else case.find("skipped").get("message", "no reason given")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("junit")
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--longest", type=int, default=8)
    o = parser.parse_args()
    cases = list(xml.parse(o.junit).getroot().iter("testcase"))
    skipped = collections.Counter(reason_of(c) for c in cases if c.find("skipped") is not None)
    failed = sum(c.find("failure") is not None for c in cases)
    times = sorted(((float(c.get("time", 0)), c.get("name")) for c in cases), reverse=True)
    total = sum(t for t, _ in times)
    print(f"{len(cases) - failed - skipped.total()} tests passed, {failed} failed, {skipped.total()} skipped; {total:.0f} s of tests")
    for reason, count in skipped.most_common():
        print(f"  {count} skipped: {reason}")
    for seconds, name in times[:o.longest]:
        print(f"  {seconds:7.1f} s  {name}")
    over = [t for t in times if t[0] > o.budget]
    print(f"  {len(over)} of {len(cases)} tests took more than the budget of {o.budget:g} s, {sum(t for t, _ in over):.0f} s together")


if __name__ == "__main__":
    main()
