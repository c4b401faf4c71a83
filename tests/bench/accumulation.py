#!/usr/bin/env python3
"""What `--tiling-accum bf16sr` costs: cycles of models of the zoo with both accumulations, as rows of a table.

usage: accumulation.py [--short] [--k-tile N] [--arch NAME] [--dram NAME] [--filter TEXT] TEGULA

Prints a row a model and policy: cycles with fp32, with bf16sr, and their ratio. Exits 1 if a model is slower by more than 1 % where K tiles
end with blocks of the matrix unit (4 % below 64), else by more than a block for each K tile takes; and by more than 100 cycles, which is what
one kernel row takes whose only block a K tile ends in. --short: of models that take a second. --dram own: the memory that the array has.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

SHORT = ["gemm --m 512 --n 512 --k 512", "mlp --batch 64", "lenet", "attention", "bert-layer --seq 32 --hidden 64 --heads 2"]
ZOO = ["bert-layer --batch 2", "bert-base --layers 2", "bert-mlm", "convmodel", "resnet18", "resnet50", "vgg16", "unet", "diffusion-block", "lstm-lm", "vit-tiny",
       "whisper-encoder", "whisper-decoder", "mobilenetv2", "mobilenetv3-small", "efficientnet-b0",
       "mobilenetv2 --batch 8", "mobilenetv3-small --batch 8", "efficientnet-b0 --batch 8"]
SIDES = {"mp0": 8, "mp1": 16}  # stationary rows of a block, edge
BLOCK = 100  # cycles of one, of few rows, with the end of a K tile in it


def cycles(command, path, flags):
    done = subprocess.run([command, "run", path, *flags, "--timing-only", "--no-cpu-reference", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path} {' '.join(flags)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["cycles"]


def most(k_tile, side):
    """Of FP32's cycles: each K tile that ends within a block takes one more, and short ones end within kernel rows, too."""
    return (1.011 if k_tile >= 64 else 1.04) + side / k_tile - side / math.lcm(k_tile, side)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--k-tile", default="128")
    parser.add_argument("--arch", default="edge")
    parser.add_argument("--dram", default="simple")
    o = parser.parse_args()
    slower = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for name in [n for n in SHORT + ([] if o.short else ZOO) if o.filter in n]:
            subprocess.run([os.path.abspath(o.command), "zoo", *name.split(), "-q", "-o", path], check=True)
            for policy in "mp0", "mp1":
                flags = ["--graphamp-preset", policy, "--arch", o.arch, *([] if o.dram == "own" else ["--dram", o.dram])]
                wide = cycles(o.command, path, flags)
                rounded = cycles(o.command, path, [*flags, "--tiling-accum", "bf16sr", "--k-tile", o.k_tile])
                print(f"| {name} | {policy} | {wide} | {rounded} | {rounded / wide:.3f} |", flush=True)
                if rounded > wide * most(int(o.k_tile), SIDES[policy]) and rounded > wide + BLOCK:
                    slower.append(f"{name} {policy}")
    if slower:
        print("slower than may be: " + ", ".join(slower))
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
