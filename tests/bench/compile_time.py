#!/usr/bin/env python3
"""What two builds take to compile, and what they make of it: medians of processor time, and cycles.

usage: compile_time.py [--runs N] [--arch NAME] [--graphamp-preset NAME] BEFORE AFTER MODEL...

BEFORE and AFTER are the commands of two builds, MODEL names of the zoo with their options ("resnet18 --batch 8") or ONNX files.
The two take turns, so that a machine that is slow for a while is slow for both. Prints a row a model: seconds of each, their ratio,
cycles of each with memory of a fixed latency, and their ratio.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile


def output_of(command, path, flags):
    done = subprocess.run([command, "run", path, *flags, "--timing-only", "--no-cpu-reference", "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["cycles"] if done.returncode == 0 else None


def cycles(command, path, flags):
    """Builds from before there were other memories know no --dram."""
    known = output_of(command, path, [*flags, "--dram", "simple"]) or output_of(command, path, flags)
    return known or sys.exit(f"{command}: does not run {path}")


def seconds(command, path, flags, program):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "compile", path, *flags, "-o", program], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs=2, metavar="COMMAND")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--arch", default="edge")
    parser.add_argument("--graphamp-preset", default="mp1")
    o = parser.parse_args()
    flags = ["--arch", o.arch, "--graphamp-preset", o.graphamp_preset]
    with tempfile.TemporaryDirectory() as folder:
        for model in o.models:
            path = model
            if not model.endswith(".onnx"):
                path = os.path.join(folder, "model.onnx")
                subprocess.run([o.commands[1], "zoo", *model.split(), "-q", "-o", path], check=True)
            taken = [[], []]
            for _ in range(o.runs):
                for which, command in enumerate(o.commands):
                    taken[which].append(seconds(command, path, flags, os.path.join(folder, "program.tgb")))
            before, after = map(statistics.median, taken)
            was, now = (cycles(command, path, flags) for command in o.commands)
            print(f"| {model} | {before:.2f} | {after:.2f} | {after / before:.2f} | {was} | {now} | {now / was:.2f} |", flush=True)


if __name__ == "__main__":
    main()
