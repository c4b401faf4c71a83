#!/usr/bin/python3
"""Compares the proof of ordering with SPIN, on small programs and on what changes make of each (README.md).

    compare.py VERDICT SCRATCH CASE.txt... [--several N] [--seed S]

VERDICT is the tool built from verdict.c. A changed program lacks one wait, credit, post or message, or has one more or one less in a
semaphore at the start; --several N draws N more programs with two or three such changes at once. Fails if the two differ in one verdict, or if
no program is refused, or all are. Exit status 77: SPIN is missing.
"""
import argparse
import copy
import os
import pathlib
import random
import shutil
import subprocess
import sys

import promela


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **more)


def changes(program):
    """(description, edit of a copy of the program, key in the model's edits)"""
    found = []
    for (endpoint, unit), queue in program.units.items():
        for pc, at in enumerate(queue):
            where = f"{endpoint[0]} {endpoint[1]} {unit} pc {pc}"
            for field in ("wait_on", "post_kind"):
                found += [(f"{where} without {field}[{i}]", (endpoint, unit, pc, field, i)) for i in range(4) if at.get(field, i)]
            found += [(f"{where} without credit {pos}", (endpoint, unit, pc, "credit_mask", pos)) for pos in range(17)
                      if at.get("credit_mask") >> pos & 1]
            if at.get("dst_post"):
                found.append((f"{where} without its message", (endpoint, unit, pc, "dst_post", 0)))
    waited = {(endpoint, at.get("wait_sem", i)) for (endpoint, _), queue in program.units.items() for at in queue for i in range(4)
              if at.get("wait_on", i)}
    for endpoint, number in sorted(waited | set(program.initial)):
        count = program.initial.get((endpoint, number), 0)
        found += [(f"{endpoint[0]} {endpoint[1]} semaphore {number}: {count} -> {count + step}", ("sem", endpoint, number, step))
                  for step in (1, -1) if 0 <= count + step <= 255]
    return found


def change(program, what):
    if what[0] == "sem":
        _, endpoint, number, step = what
        program.initial[endpoint, number] = program.initial.get((endpoint, number), 0) + step
        return
    endpoint, unit, pc, field, i = what
    at = program.units[endpoint, unit][pc]
    at.put(field, 0 if field == "credit_mask" else i, at.get(field) & ~(1 << i) if field == "credit_mask" else 0)


def drawn(count, every, seed):
    """Sets of two or three changes."""
    draw = random.Random(seed)
    return [tuple(sorted(draw.sample(range(len(every)), min(draw.choice((2, 3)), len(every))))) for _ in range(count)]


def key(program, what):
    """As the model names it."""
    if what[0] == "sem":
        return what
    endpoint, unit, pc, field, i = what
    return (id(program.units[endpoint, unit][pc]), field, i)


def verifier(folder, program, every):
    """Of the program and all changes, which are chosen when it starts, since compiling is what takes time."""
    edits = {key(program, what): number for number, (_, what) in enumerate(every)}
    (folder / "model.pml").write_text(promela.build(program, edits), encoding="utf-8")
    made = run(["spin", "-o3", "-a", "model.pml"], cwd=folder)
    if made.returncode or not (folder / "pan.c").exists():
        sys.exit(f"spin refuses {folder}/model.pml:\n{made.stdout}{made.stderr}")
    made = run(["cc", "-O0", "-w", "-DSAFETY", "-DVECTORSZ=4096", "-o", "pan", "pan.c"], cwd=folder)
    if made.returncode:
        sys.exit(f"{folder}/pan.c: {made.stderr}")
    return folder / "pan"


def ask_spin(pan, chosen):
    """What the first error is, or "ordered"."""
    done = run([pan, "-m100000", "-w20"], cwd=pan.parent, env=dict(os.environ, OFF=" ".join(map(str, chosen))))
    said = [line for line in done.stdout.splitlines() if line.startswith("pan:1:")]
    if "errors: 0" in done.stdout and not said:
        return "ordered"
    if "errors: 1" not in done.stdout or not said or not ("assertion violated" in said[0] or "invalid end state" in said[0]):
        sys.exit(f"{pan} did not finish, changes {chosen}:\n{done.stdout}{done.stderr}")
    return said[0]


def ask_proof(verdict, folder, program, every, tried):
    for number, chosen in enumerate(tried):
        other = copy.deepcopy(program)
        for which in chosen:
            change(other, every[which][1])
        (folder / f"{number}.txt").write_text(other.text(), encoding="utf-8")
    said = run([verdict] + [f"{number}.txt" for number in range(len(tried))], cwd=folder)
    if said.returncode:
        sys.exit(f"{folder}: {said.stderr}")
    return [line.partition(": ")[2] for line in said.stdout.splitlines()]


def compare(verdict, scratch, path, options):
    program = promela.Program(path.read_text(encoding="utf-8"))
    every = changes(program)
    folder = scratch / path.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tried = [()] + [(n,) for n in range(len(every))] + drawn(options.several, every, options.seed)
    pan = verifier(folder, program, every)
    refused = differences = 0
    for number, (chosen, proof) in enumerate(zip(tried, ask_proof(verdict, folder, program, every, tried))):
        model = ask_spin(pan, chosen)
        refused += proof != "ordered"
        if (proof == "ordered") != (model == "ordered"):
            differences += 1
            print(f"{folder}/{number}.txt, {path.name} {', '.join(every[n][0] for n in chosen)}:\n  proof: {proof}\n  spin:  {model}")
    print(f"{path.name}: {len(tried)} programs, {refused} refused, {differences} differences")
    return len(tried), refused, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdict", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    parser.add_argument("--several", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not shutil.which("spin"):
        print("skipped: SPIN is missing (apt install spin)")
        sys.exit(77)
    counts = [compare(options.verdict.resolve(), options.scratch.resolve(), path, options) for path in options.cases]
    programs, refused, differences = (sum(column) for column in zip(*counts))
    print(f"{programs} programs: {programs - refused} ordered, {refused} refused, {differences} differences")
    sys.exit(bool(differences) or not 0 < refused < programs)


if __name__ == "__main__":
    main()
