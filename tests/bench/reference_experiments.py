#!/usr/bin/env python3
"""The experiments of two documents on mixed precision, on the array: one training step of a BERT layer with its
masked-language-model head (RAF), and a convolutional model in training and inference (ROCm).

usage: reference_experiments.py [--tegula COMMAND] [--only bert|convmodel|inference] [--arch NAME]

Prints a table in Markdown: cycles as milliseconds at the array's clock, speed-up and peak memory against FP32, what bounds
how much of the time, and milliseconds and speed-up of the same program with an ideal memory (`--dram simple`). Steps are
real steps on the SystemC engine; inference, and what an ideal memory does to a program, are timed without values.
"""
import argparse
import collections
import json
import os
import random
import struct
import subprocess
import tempfile

POLICIES = [
    ("FP32", []),
    ("mp1", ["--graphamp-preset", "mp1"]),
    ("mp3", ["--graphamp-preset", "mp3"]),
    ("raf", ["--amp", "raf"]),
    ("autocast", ["--amp", "autocast"]),
]


def write_npy(path, kind, shape, values):
    """A .npy file of float32 ('f') or int64 ('q'), from an iterable of numbers."""
    descr = {"f": "<f4", "q": "<i8"}[kind]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (descr, ", ".join(map(str, shape)))
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(b"".join(struct.pack("<" + kind, v) for v in values))


def run(tegula, arguments):
    done = subprocess.run([tegula] + arguments + ["--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise SystemExit("%s\n%s" % (" ".join(arguments), done.stderr.decode()))
    return json.loads(done.stdout)


def bounds(report):
    cycles = collections.Counter()
    for section in report["sections"]:
        cycles[section["bound_by"]] += section["cycles"]
    total = sum(cycles.values())
    return ", ".join("%s %.0f %%" % (unit, 100 * n / total) for unit, n in cycles.most_common() if n * 50 > total)


def rows(title, tegula, one):
    """`one(flags, program)` gives a report and writes the program; the first policy is what the others are compared with."""
    first = None
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.tgb")
        for policy, flags in POLICIES:
            report = one(flags, program)
            ideal = run(tegula, ["run", program, "--timing-only", "--no-cpu-reference", "--dram", "simple"])
            first = first or (report, ideal)
            print("| %s | %s | %.2f | %.2fx | %.0f | %+.0f %% | %s | %.2f, %.2fx |" % (
                title, policy, 1e3 * report["seconds"], first[0]["cycles"] / report["cycles"],
                report["peak_device_bytes"] / 1e6,
                100 * (report["peak_device_bytes"] / first[0]["peak_device_bytes"] - 1), bounds(report),
                1e3 * ideal["seconds"], first[1]["cycles"] / ideal["cycles"]), flush=True)


def bert(o, folder):
    model, x, y = (os.path.join(folder, name) for name in ("mlm.onnx", "x.npy", "y.npy"))
    subprocess.run([o.tegula, "zoo", "bert-mlm", "-q", "-o", model], check=True)
    draw = random.Random(1)
    write_npy(x, "f", (8, 128, 768), (draw.uniform(-1, 1) for _ in range(8 * 128 * 768)))
    write_npy(y, "q", (8, 128), (draw.randrange(30522) for _ in range(8 * 128)))
    step = ["train", model, "--data", x, "--labels", y, "--batch", "8", "--steps", "1", "--engine", "systemc",
            "--arch", o.arch]
    for parts in ([], ["--data-parallel", "1"]):
        for optimizer in (["sgd"], ["adam", "--lr", "1e-4"]):
            title = "BERT layer and head, %s, %s" % (optimizer[0], "one part" if parts else "a part a row of tiles")
            rows(title, o.tegula, lambda flags, program: run(
                o.tegula, step + ["--optimizer"] + optimizer + parts + flags + ["-o", program]))


def convmodel(o, folder):
    model, x, y = (os.path.join(folder, name) for name in ("conv.onnx", "cx.npy", "cy.npy"))
    subprocess.run([o.tegula, "zoo", "convmodel", "-q", "-o", model], check=True)
    draw = random.Random(1)
    write_npy(x, "f", (1, 2, 512, 512), (draw.uniform(-1, 1) for _ in range(2 * 512 * 512)))
    write_npy(y, "f", (1, 1, 512, 512), (draw.uniform(-1, 1) for _ in range(512 * 512)))
    step = ["train", model, "--data", x, "--labels", y, "--batch", "1", "--steps", "1", "--loss", "mse", "--optimizer",
            "adam", "--lr", "1e-3", "--engine", "systemc", "--arch", o.arch]
    rows("convolution model, training, adam", o.tegula, lambda flags, program: run(
        o.tegula, step + flags + ["-o", program]))


def inference(o, folder):
    model = os.path.join(folder, "inference.onnx")
    subprocess.run([o.tegula, "zoo", "convmodel", "-q", "-o", model], check=True)

    def one(flags, program):
        run(o.tegula, ["compile", model, "-o", program, "--arch", o.arch] + flags)
        return run(o.tegula, ["run", program, "--timing-only", "--no-cpu-reference"])

    rows("convolution model, inference", o.tegula, one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tegula", default="build/tegula")
    parser.add_argument("--only", choices=["bert", "convmodel", "inference"])
    parser.add_argument("--arch", default="edge")
    o = parser.parse_args()
    print("| experiment | policy | ms | speed-up | peak MB | against FP32 | bound by | ideal memory: ms, speed-up |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, experiment in (("bert", bert), ("convmodel", convmodel), ("inference", inference)):
            if o.only in (None, name):
                experiment(o, folder)


if __name__ == "__main__":
    main()
