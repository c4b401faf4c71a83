#!/usr/bin/env python3
"""Do the tests of the checkers of programs notice it where a condition is left out?

  tests/sim/conditions.py BUILD [FILE ...]

BUILD is one of `make coverage`, which has run: it says where conditions are. In each of these files of sim/machine (all that decide
whether a program is accepted) each condition of a decision and of an `if` becomes true, then false, one at a time; the file is
compiled, and the tests that link it run, without the mapper's programs. Prints the changes that no test notices, which are to be
argued (docs/verification.md), and counts. Some seconds for each, an hour for all; nothing in BUILD changes.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import coverage  # noqa: E402  (of this project)

FILES = ["program_check.c", "ordering.c", "ordering_access.c", "ordering_kept.c", "ordering_memory.c", "ordering_regions.c",
         "ordering_setup.c", "sequencer.c", "access.c", "walk.c"]
TESTS = [["test_program_check"], ["test_rows_by_index"], ["test_walk_reach"], ["test_walk_atoms"],
         ["test_ordering", "--gtest_filter=-*mapped*:*mapper*"]]
LIBRARY = "sim/machine/libtegula_machine.a"
SECONDS = 60  # of a test; a change after which it never ends is noticed


def changes_of(build, path):
    """(offset, end, line, value) of each change of the file."""
    with open(path, encoding="utf-8") as source:
        lines = source.read().split("\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    programs = [os.path.join(build, "tests", test[0]) for test in TESTS]
    options = ["-instr-profile", os.path.join(build, "coverage/all.profdata"), programs[0], *(f"-object={p}" for p in programs[1:])]
    data = json.loads(coverage.llvm_cov("export", [*options, path]))["data"][0]["files"][0]
    found = set()
    for first, column, last, end, *rest in data["branches"]:
        if rest[-1] == coverage.BRANCH_OF_A_DECISION or re.search(r"\bif \($", lines[first - 1][:column - 1]):
            found |= {(offsets[first - 1] + column - 1, offsets[last - 1] + end - 1, first, value) for value in (0, 1)}
    return sorted(found)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          env=dict(os.environ, LLVM_PROFILE_FILE=os.devnull), **options)


def noticed(build, scratch, links):
    for test, link in zip(TESTS, links):
        made = run(link, shell=True, cwd=build)
        if made.returncode:
            sys.exit(made.stdout)
        try:
            if run([os.path.join(scratch, "test"), *test[1:]], cwd=ROOT, timeout=SECONDS).returncode:
                return True
        except subprocess.TimeoutExpired:
            return True
    return False


def check(build, scratch, name, links):
    path = os.path.join(ROOT, "sim/machine", name)
    with open(path, encoding="utf-8") as source:
        text = source.read()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        words = next(shlex.split(entry["command"]) for entry in json.load(commands) if entry["file"] == path)
    words = [word for word in words[1 if os.path.basename(words[0]) == "ccache" else 0:] if not re.match(r"-f(profile|coverage)-", word)]
    changed = os.path.join(scratch, name)
    words[words.index("-o") + 1] = changed + ".o"
    words[words.index(path)] = changed
    changes = changes_of(build, path)
    missed = 0
    for begin, end, line, value in changes:
        with open(changed, "w", encoding="utf-8") as out:
            out.write(f"{text[:begin]}(({text[begin:end]}), {value}){text[end:]}")
        made = run([*words, "-w", f"-I{ROOT}"], cwd=build)
        if made.returncode:
            sys.exit(made.stdout)
        shutil.copy(os.path.join(build, LIBRARY), os.path.join(scratch, "changed.a"))
        subprocess.run(["ar", "r", "changed.a", name + ".o"], cwd=scratch, stderr=subprocess.DEVNULL, check=True)
        if not noticed(build, scratch, links):
            missed += 1
            print(f"not noticed: {name}:{line}: ({' '.join(text[begin:end].split())}) is {bool(value)}".lower(), flush=True)
    print(f"{name}: {len(changes) - missed} of {len(changes)} noticed", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        links = []
        for test in TESTS:
            link = run(["ninja", "-C", build, "-t", "commands", f"tests/{test[0]}"]).stdout.strip().splitlines()[-1]
            links.append(link.replace(LIBRARY, os.path.join(scratch, "changed.a")).replace(f"-o tests/{test[0]}", f"-o {scratch}/test"))
        for name in sys.argv[2:] or FILES:
            check(build, scratch, name, links)
    return 0


if __name__ == "__main__":
    sys.exit(main())
