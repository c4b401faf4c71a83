#!/usr/bin/python3
"""Runs one fuzz target under libFuzzer: a fixed number of inputs, from a fixed seed and sorted seed files, so that a run can
be repeated, and prints the counts. An input that fails is kept beside, and its path printed.

    fuzz.py TARGET --runs N [--seed N] [--longest BYTES] [--corpus FOLDER] --seeds PATTERN...
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

SECONDS = 20  # an input, with sanitizers on a machine that does other things beside
MEGABYTES = 2048  # of memory


def seed_files(patterns, longest):
    """Files of at most `longest` bytes that match, the smallest first, in an order that depends on names and sizes alone."""
    found = {path for pattern in patterns for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)}
    fitting = [path for path in sorted(found) if 0 < os.path.getsize(path) <= longest]
    return sorted(fitting, key=os.path.getsize)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("target")
    arguments.add_argument("--runs", type=int, required=True)
    arguments.add_argument("--seed", type=int, default=int(os.environ.get("TEGULA_RANDOM_SEED", "1")))
    arguments.add_argument("--longest", type=int, default=4096)
    arguments.add_argument("--corpus", help="folder that inputs which reach new code are added to")
    arguments.add_argument("--seeds", nargs="+", required=True, help="globs; ** is any folder")
    given = arguments.parse_args()
    files = seed_files(given.seeds, given.longest)
    name = os.path.basename(given.target)
    command = [given.target, f"-runs={given.runs}", f"-seed={given.seed}", f"-max_len={given.longest}", f"-timeout={SECONDS}",
               f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1", "-verbosity=1",
               f"-artifact_prefix={os.path.abspath(name)}-"]
    words = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words", name.removeprefix("fuzz_") + ".dict")
    if os.path.exists(words):
        command.append("-dict=" + words)
    with tempfile.NamedTemporaryFile("w", prefix=name) as listed:
        listed.write(",".join(files))
        listed.flush()
        if given.corpus:
            os.makedirs(given.corpus, exist_ok=True)
            command.append(given.corpus)
        command.append("-seed_inputs=@" + listed.name)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
    if done.returncode:
        print(done.stdout[-8000:])
        print(f"{name}: failed; seed {given.seed}")
        return 1
    counts = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stdout))
    reached = re.findall(r"cov: (\d+) ft: (\d+)", done.stdout)
    print(f"{name}: {counts.get('number_of_executed_units')} inputs from {len(files)} seeds, seed {given.seed}, "
          f"{reached[-1][0] if reached else 0} branches reached, {counts.get('peak_rss_mb')} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
