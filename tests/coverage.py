#!/usr/bin/env python3
"""Coverage of the readers of programs and of their checkers, and of the reader of ONNX, by the tests of these: lines, branches and
MC/DC (LLVM's).

  tests/coverage.py BUILD [--conditions]
  tests/coverage.py --targets

BUILD has TEGULA_COVERAGE, and the targets that --targets names (`make coverage` sees to both). Runs them, prints a table of each
group of files, as a page has it, and all lines that no test executes. --conditions lists those that MC/DC does not show, too.
Exit status 1 if a test fails, if a file is in no group, if a pattern below has no file, or if clang does not measure a decision of
the files: it sees into no macro, and into no decision within a condition. What libFuzzer makes of the seeds (`make fuzz`) is not
counted.
"""
import argparse
import fnmatch
import glob
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SEEDS = os.path.join(ROOT, "tests/fuzz/seeds")
NODE_TESTS = "/usr/share/libonnx-testdata/data"

# Of each folder every file is counted or left out: what is new there is in one of the two.
GROUPS = [
    ("sim/machine",
     ["access.c", "dram_device.c", "isa.c", "ordering*.c", "params.c", "program*.c", "sequencer.c", "spec.c", "ucode.c", "walk.c"],
     # The machine's costs, its configuration words and memory's contents; programs that print tables.
     ["actions.c", "config*.c", "dram.c", "dram_address.c", "energy*.c", "gen_*.c"]),
    ("frontend/onnx", ["*.c"], []),
]
# Tests of these files, of those that need no engine; but for the last ones they need no arguments.
TESTS = ["test_program_check", "test_program_file", "test_ordering", "test_sections", "test_walk_atoms", "test_walk_reach", "test_rows_by_index",
         "test_instruction_text", "test_config", "test_dram", "test_arrays", "test_frontend_onnx", "test_frontend_loader", "test_frontend_bad_models", "test_frontend_mutations"]
REPLAYS = ["program", "program_text", "arrays", "onnx"]
MADE = "tests/fuzz/programs"  # seeds of fuzz_program, which the build makes
BRANCH_OF_A_DECISION = 6      # in llvm-cov's export


def files_of(folder, counted, others):
    found = sorted(os.path.basename(path) for path in glob.glob(os.path.join(ROOT, folder, "*.c")))
    for pattern in counted + others:
        if not fnmatch.filter(found, pattern):
            sys.exit(f"coverage: there is no {folder}/{pattern}")
    for file in found:
        places = sum(any(fnmatch.fnmatch(file, pattern) for pattern in patterns) for patterns in (counted, others))
        if places != 1:
            sys.exit(f"coverage: {folder}/{file} is {'in no list' if not places else 'counted and left out'}")
    return [os.path.join(ROOT, folder, file) for file in found if any(fnmatch.fnmatch(file, pattern) for pattern in counted)]


def runs_of(tests, scratch):
    """Programs with their arguments."""
    made = os.path.join(tests, os.path.relpath(MADE, "tests"))
    models = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(NODE_TESTS, "**/model.onnx"), recursive=True)
                    if not path.startswith(os.path.join(NODE_TESTS, "real/")))
    if not models:
        print("without ONNX's node tests: libonnx-testdata is not installed")
    folders = {"program": [made], "onnx": [os.path.join(SEEDS, "onnx"), *models]}
    runs = [[name] for name in TESTS]
    runs += [[f"fuzz_{kind}", *folders.get(kind, [os.path.join(SEEDS, kind)])] for kind in REPLAYS]
    runs += [["write_program", os.path.join(SEEDS, "program_text", name), os.path.join(scratch, "written")] for name in sorted(os.listdir(made))]
    return runs


def run_all(build, scratch):
    tests = os.path.join(build, "tests")
    profiles, runs = [], runs_of(tests, scratch)
    for number, (name, *arguments) in enumerate(runs):
        profiles.append(os.path.join(scratch, f"{number}.profraw"))
        done = subprocess.run([os.path.join(tests, name), *arguments], cwd=ROOT, env=dict(os.environ, LLVM_PROFILE_FILE=profiles[-1]),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode:
            print(done.stdout[-2000:], file=sys.stderr)
            sys.exit(f"coverage: {name} fails")
    merged = os.path.join(scratch, "all.profdata")
    # Of main() and its like there are several: their counts are left out, with a warning.
    subprocess.run(["llvm-profdata-19", "merge", "-o", merged, *profiles], check=True, stderr=subprocess.DEVNULL)
    programs = sorted({os.path.join(tests, run[0]) for run in runs})
    return ["-instr-profile", merged, programs[0], *(f"-object={program}" for program in programs[1:])]


def llvm_cov(command, options):
    return subprocess.run(["llvm-cov-19", command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def row(name, summary):
    cells = []
    for kind in ("lines", "branches", "mcdc"):
        count, covered = summary[kind]["count"], summary[kind]["covered"]
        cells += [f"{count}", f"{100 * covered / count:.1f} %" if count else ""]
    return f"| {name} | " + " | ".join(cells) + " |"


def sum_of(files):
    return {kind: {what: sum(file["summary"][kind][what] for file in files) for what in ("count", "covered")} for kind in ("lines", "branches", "mcdc")}


def print_table(folder, files):
    print(f"\n| file of `{folder}` | lines | executed | branches | taken | conditions | MC/DC |\n|---|---|---|---|---|---|---|")
    for file in files:
        print(row(f"`{os.path.basename(file['filename'])}`", file["summary"]))
    print(row("all", sum_of(files)))


def unexecuted(options, paths):
    file = ""
    for line in llvm_cov("show", [*options, *paths]).splitlines():
        if line.endswith(".c:"):
            file = os.path.basename(line[:-1])
        number, _, rest = line.partition("|")
        count, _, code = rest.partition("|")
        if count.strip() == "0":
            yield f"{file}:{number.strip()}: {code.strip()}"


def text_at(lines, place):
    first, column, last, end = place
    if first == last:
        return lines[first - 1][column - 1:end - 1]
    return " ".join([lines[first - 1][column - 1:], *(line.strip() for line in lines[first:last - 1]), lines[last - 1][:end - 1].strip()])


def unshown(file):
    """Conditions of which MC/DC does not show that each decides alone, with the decision's line."""
    with open(file["filename"], encoding="utf-8") as source:
        lines = source.read().split("\n")
    branches = sorted({tuple(branch[:4]) for branch in file["branches"] if branch[8] == BRANCH_OF_A_DECISION})
    shown = {}
    for record in file["mcdc_records"]:  # of each function's copies: shown in any
        place = tuple(record[:4])
        shown[place] = [a or b for a, b in zip(record[-1], shown.get(place, record[-1]))]
    for place, conditions in sorted(shown.items()):
        parts = [part for part in branches if place[:2] <= part[:2] and part[2:] <= place[2:]]
        for part, seen in zip(parts, conditions):
            if not seen:
                yield f"{os.path.basename(file['filename'])}:{part[0]}: {text_at(lines, part)}"


def unmeasured(build, files):
    """Decisions that clang does not count: in macros, and such as hold a decision in a condition, of which it warns."""
    for file in files:
        for expansion in file["expansions"]:
            if any(branch[8] == BRANCH_OF_A_DECISION for branch in expansion["branches"]):
                yield f"{os.path.relpath(file['filename'], ROOT)}:{expansion['source_region'][0]}: a decision in a macro"
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as commands:
        commands = {entry["file"]: entry for entry in json.load(commands)}
    for file in files:
        words = shlex.split(commands[file["filename"]]["command"])
        words = words[1 if os.path.basename(words[0]) == "ccache" else 0:]
        words[words.index("-o") + 1] = os.devnull
        said = subprocess.run([*words, "-O0"], cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
        yield from (line for line in said.splitlines() if "MC/DC" in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--targets", action="store_true", help="print what is to be built")
    parser.add_argument("--conditions", action="store_true", help="list conditions that MC/DC does not show")
    options = parser.parse_args()
    groups = [(folder, files_of(folder, counted, others)) for folder, counted, others in GROUPS]
    if options.targets:
        print(*TESTS, *(f"fuzz_{kind}" for kind in REPLAYS), "fuzz_programs", "test_data")
        return 0
    if not options.build:
        parser.error("wants BUILD")
    build = os.path.abspath(options.build)
    scratch = os.path.join(build, "coverage")
    os.makedirs(scratch, exist_ok=True)
    measured = run_all(build, scratch)
    everything = []
    for folder, paths in groups:
        data = json.loads(llvm_cov("export", [*measured, *paths]))["data"][0]
        files = sorted(data["files"], key=lambda file: file["filename"])
        lost = {os.path.basename(path) for path in paths} - {os.path.basename(file["filename"]) for file in files}
        if lost:
            sys.exit(f"coverage: no program has {', '.join(sorted(lost))}")
        everything += files
        print_table(folder, files)
    print()
    for _, paths in groups:
        for line in unexecuted(measured, paths):
            print(f"not executed: {line}")
    for file in everything if options.conditions else []:
        for line in unshown(file):
            print(f"not shown: {line}")
    missed = list(unmeasured(build, everything))
    for line in missed:
        print(f"not measured: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
