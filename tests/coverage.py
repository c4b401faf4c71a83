#!/usr/bin/env python3
"""Coverage of the readers of programs and of their checkers by the tests of these: lines, branches and MC/DC (LLVM's).

  tests/coverage.py BUILD

BUILD has TEGULA_COVERAGE, and the targets below (`make coverage` sees to both). Runs them, prints a table, and all lines that no
test executes; exit status 1 if a test fails. What libFuzzer makes of the seeds (`make fuzz`) is not counted.
"""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ["access.c", "isa.c", "ordering.c", "ordering_access.c", "ordering_kept.c", "ordering_memory.c", "ordering_regions.c", "ordering_setup.c", "params.c",
         "program_check.c", "program_file.c", "program_parse.c", "program_print.c", "sequencer.c", "spec.c", "ucode.c", "walk.c"]
SEEDS = os.path.join(ROOT, "tests/fuzz/seeds")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for file in FILES:
        if not os.path.exists(os.path.join(ROOT, "sim/machine", file)):
            sys.exit(f"coverage: there is no sim/machine/{file}")
    build = os.path.abspath(sys.argv[1])
    tests = os.path.join(build, "tests")
    scratch = os.path.join(build, "coverage")
    os.makedirs(scratch, exist_ok=True)
    runs = [["test_program_check"], ["test_ordering"], ["fuzz_program", os.path.join(tests, "fuzz/programs")]]
    runs += [[f"fuzz_{kind}", os.path.join(SEEDS, kind)] for kind in ("program_text", "arrays")]
    runs += [["write_program", seed, os.path.join(scratch, "written")] for seed in sorted(glob.glob(os.path.join(SEEDS, "program_text/*")))
             if os.path.basename(seed) in os.listdir(os.path.join(tests, "fuzz/programs"))]
    profiles = []
    for number, (name, *arguments) in enumerate(runs):
        profiles.append(os.path.join(scratch, f"{number}.profraw"))
        done = subprocess.run([os.path.join(tests, name), *arguments], cwd=ROOT, env=dict(os.environ, LLVM_PROFILE_FILE=profiles[-1]),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(done.stdout[-2000:], file=sys.stderr)
            sys.exit(f"coverage: {name} fails")
    merged = os.path.join(scratch, "all.profdata")
    subprocess.run(["llvm-profdata-19", "merge", "-o", merged, *profiles], check=True)
    programs = sorted({os.path.join(tests, run[0]) for run in runs})
    objects = [f"-object={program}" for program in programs[1:]]
    files = [os.path.join(ROOT, "sim/machine", file) for file in FILES]
    options = ["-instr-profile", merged, programs[0], *objects, *files]
    report = subprocess.run(["llvm-cov-19", "report", "-show-mcdc-summary", "-show-functions=0", "-show-region-summary=0", *options],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    print(f"{'file':22}{'lines':>8}{'of these':>10}{'branches':>10}{'of these':>10}{'MC/DC':>8}{'of these':>10}")
    for line in report.splitlines():
        words = line.split()
        if words and (words[0] in FILES or words[0] == "TOTAL"):
            name, lines, missed, branches, unseen, conditions, dependent = (words[at] for at in (0, 4, 5, 7, 8, 10, 11))
            counts = [(int(all_of), int(all_of) - int(not_one)) for all_of, not_one in ((lines, missed), (branches, unseen), (conditions, dependent))]
            print(f"{name:22}" + "".join(f"{all_of:{width}}{100 * some / max(1, all_of):8.1f} %" for width, (all_of, some) in zip((8, 10, 8), counts)))
    shown = subprocess.run(["llvm-cov-19", "show", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=True).stdout
    file = ""
    for line in shown.splitlines():
        if line.endswith(".c:"):
            file = os.path.basename(line[:-1])
        number, _, rest = line.partition("|")
        count, _, code = rest.partition("|")
        if count.strip() == "0":
            print(f"not executed: {file}:{number.strip()}: {code.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
