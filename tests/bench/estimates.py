#!/usr/bin/env python3
"""The mapper's estimate of every section beside what the SystemC engine took, over models of the zoo.

usage: estimates.py [--short] [--sections] [--policy NAME] [--dram NAME] [--arch NAME] [--filter TEXT] TEGULA [MODEL.onnx ...]

Prints for each model how many sections it has, the median of estimate over cycles and the two sections whose estimates are farthest
off, with --sections a line for each section. Exits 1 if the median over all sections is more than 3 % off, or any section more than
15 %, with a memory device more than 35 %, if these are more than 256 cycles. Without --policy, mp0 and mp1; without --dram, `simple` and the device that the array has; --short: of the models that take a
second. MODEL.onnx: these files in place of the zoo.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

MEDIAN = 0.03
EACH = {"simple": 0.15}
DEVICE, ITS_OWN = 0.35, 256  # a section of some hundred cycles finds the device in the midst of other things, such as a refresh

SHORT = ["gemm --m 37 --n 29 --k 150", "gemm --m 1 --n 1000 --k 512 --constant-b", "gemm --m 128 --n 96 --k 200", "mlp", "mlp --batch 33", "lenet", "lenet --batch 8",
         "attention --seq 48 --hidden 96 --heads 4", "two-matmuls", "bert-layer --seq 32 --hidden 64 --heads 2",
         "convmodel --size 32 --hidden 24 --batch 1"]
ZOO = ["gemm --m 512 --n 384 --k 640 --constant-b", "gemm --m 3 --n 1000 --k 700 --constant-b", "gemm --m 1 --n 4096 --k 4096 --constant-b", "attention", "attention --seq 197",
       "bert-base --layers 2", "bert-layer", "bert-layer --batch 8", "bert-mlm", "convmodel", "resnet18", "resnet50", "vgg16", "mobilenetv2", "mobilenetv3-small",
       "efficientnet-b0", "unet", "diffusion-block", "lstm-lm", "vit-tiny", "whisper-encoder", "whisper-decoder", "two-matmuls-region"]


def report(command, model, flags):
    done = subprocess.run([command, "run", model, *flags, "--timing-only", "--no-cpu-reference", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{model} {' '.join(flags)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["sections"]


def measure(o, folder, name, flags):
    path = name
    if not name.endswith(".onnx"):
        path = os.path.join(folder, name.replace(" ", "_") + ".onnx")
        if not os.path.exists(path):
            made = f"{path}.{os.getpid()}.{abs(hash(tuple(flags)))}.onnx"
            subprocess.run([o.command, "zoo", *name.split(), "-q", "-o", made], check=True)
            os.replace(made, path)
    return [(s["name"], s["estimated_cycles"], s["cycles"]) for s in report(o.command, path, flags)]


def say(name, rows, o):
    ratios = sorted((estimate / cycles, section, estimate, cycles) for section, estimate, cycles in rows)
    if o.sections:
        for section, estimate, cycles in rows:
            print(f"  {estimate:12} {cycles:12} {estimate / cycles:6.3f}  {section}")
    low, high = ratios[0], ratios[-1]
    print(f"{name}: {len(rows)} sections, median {statistics.median(r[0] for r in ratios):.3f}, from {low[0]:.3f} ({low[1]}) to {high[0]:.3f} ({high[1]})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--sections", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=1)
    for option, default in (("policy", ["mp0", "mp1"]), ("dram", ["simple", ""]), ("arch", ["edge"])):
        parser.add_argument(f"--{option}", action="append", help=f"default: {', '.join(d or 'as the array has' for d in default)}")
        parser.set_defaults(**{f"{option}_default": default})
    o = parser.parse_args()
    o.command = os.path.abspath(o.command)
    names = [n for n in o.models or SHORT + ([] if o.short else ZOO) if o.filter in n]
    cases = [(n, ["--arch", a, "--graphamp-preset", p] + (["--dram", d] if d else []))
             for n in names for a in o.arch or o.arch_default for p in o.policy or o.policy_default for d in o.dram or o.dram_default]
    all_rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for (name, flags), rows in zip(cases, pool.map(lambda case: measure(o, folder, *case), cases)):
            say(f"{name} {' '.join(flags)}", rows, o)
            all_rows += rows
            bound, few = (EACH[flags[-1]], 0) if flags[-1] in EACH else (DEVICE, ITS_OWN)
            for section, estimate, cycles in rows:
                if abs(estimate / cycles - 1) > bound and abs(estimate - cycles) > few:
                    wrong += 1
                    print(f"  {section}: {estimate} of {cycles} cycles, more than {bound:.0%} off")
    ratios = [estimate / cycles for _, estimate, cycles in all_rows]
    median, off = statistics.median(ratios), sum(abs(r - 1) > 0.15 for r in ratios)
    print(f"{len(ratios)} sections: median {median:.4f}, {off} more than 15 % off, from {min(ratios):.3f} to {max(ratios):.3f}")
    sys.exit(abs(median - 1) > MEDIAN or wrong > 0)


if __name__ == "__main__":
    main()
