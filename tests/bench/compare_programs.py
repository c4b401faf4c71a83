#!/usr/bin/env python3
"""Do two builds compile the same programs? Models, training steps and graphs, by policies and arrays, byte for byte.

usage: compare_programs.py [--full] [--filter TEXT] [--models FOLDER] [--jobs N] BEFORE AFTER

BEFORE and AFTER are build folders with `tegula` and `map_graphs` in them. Each case is compiled by both, and the SHA-256 of the
.tgb, or what the compiler says in refusing, must be the same. What BEFORE made is kept in its folder and made again when its
compiler changes. Without --full every thirtieth case or so is compiled, in about a minute; --models adds the ONNX files below a
folder. Prints each difference and the counts; exits 1 if there is any difference, or nothing to compare.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

ARRAYS = ["--arch tiny", "--arch edge --dram simple", "--arch rack --dram simple", "--arch tiny --set rows=1 --set cols=3 --set p=2",
          "--arch tiny --set rows=2 --set cols=1", "--arch rack --dram simple --set rows=3 --set cols=5",
          "--arch edge --dram simple --set rows=8 --set cols=2"]
POLICIES = ["", "--graphamp-preset mp1", "--graphamp-preset mp2", "--graphamp-preset mp3", "--graphamp-preset mp4",
            "--graphamp-preset default", "--amp hmp", "--amp hmp --hmp-opt-level O2", "--amp autocast",
            "--amp autocast --amp-dtype fp16", "--amp raf", "--matmul-precision high",
            "--tiling-accum bf16sr --graphamp-preset mp1", "--any-tiling 1", "--any-tiling 2 --graphamp-preset mp1",
            "--any-tiling 3 --graphamp-preset mp4"]
LARGE_ARRAYS = ["--arch edge --dram simple", "--arch rack --dram simple"]

ZOO = ["gemm --m 37 --n 29 --k 150", "gemm --m 512 --n 384 --k 640 --constant-b", "gemm --m 3 --n 1000 --k 700 --constant-b",
       "mlp --batch 33", "lenet --batch 4", "lenet --batch 64", "attention --seq 48 --hidden 96 --heads 4",
       "attention --seq 197 --hidden 256 --heads 8", "bert-layer --seq 32 --hidden 64 --heads 2", "two-matmuls",
       "two-matmuls-region", "convmodel --size 32 --hidden 24 --batch 1", "resnet18 --size 64 --hidden 16 --batch 1"]
LARGE_ZOO = ["resnet18 --batch 1", "resnet18 --batch 8 --size 96", "bert-layer", "bert-layer --batch 4 --seq 384",
             "bert-base --layers 2 --vocabulary 700", "bert-mlm --vocabulary 3000", "convmodel --size 256", "mlp --batch 512",
             "lenet --batch 512", "gemm --m 2048 --n 1024 --k 1536"]

# Model, what `tegula train` needs beside, the rows of its data, the labels: classes, or numbers of a shape.
STEPS = [
    ("zoo mlp", "--batch 32 --optimizer adamw", [784], 10),
    ("zoo mlp", "--batch 16 --optimizer momentum --data-parallel 1 --clip-norm 0.5", [784], 10),
    ("zoo lenet", "--batch 16 --optimizer sgd", [1, 28, 28], 10),
    ("zoo lenet", "--batch 64 --optimizer adam --loss-scale 128 --recompute", [1, 28, 28], 10),
    ("zoo resnet18 --size 32 --hidden 16", "--batch 4 --optimizer momentum", [3, 32, 32], 10),
    ("zoo resnet18 --size 64", "--batch 16 --optimizer momentum", [3, 64, 64], 10),
    ("zoo convmodel --size 64 --hidden 64", "--batch 2 --optimizer adam --loss mse", [2, 64, 64], [1, 64, 64]),
    ("zoo bert-layer --seq 32 --hidden 64 --heads 2", "--batch 4 --optimizer adamw --loss mse", [32, 64], [32, 64]),
    ("zoo bert-layer", "--batch 4 --optimizer adam --loss mse", [128, 768], [128, 768]),
    ("zoo attention --seq 64 --hidden 128 --heads 4", "--batch 8 --optimizer adagrad --loss mse", [64, 128], [64, 128]),
    ("runtime/demo/digits.onnx", "--batch 32 --optimizer nesterov", [784], 10),
    ("tests/training/models/lstm_momentum.onnx", "--batch 16 --optimizer momentum", [784], 10),
    ("tests/training/models/attention_adamw.onnx", "--batch 16 --optimizer adamw --weight-decay 0.1", [784], 10),
    ("tests/training/models/depthwise_adagrad.onnx", "--batch 16 --optimizer adagrad", [784], 10),
    ("tests/training/models/autoencoder_adam.onnx", "--batch 12 --loss bce --optimizer adam", [784], [784]),
    ("tests/training/models/regression_nesterov.onnx", "--batch 20 --loss mse --optimizer nesterov", [6], [1]),
    ("tests/training/models/narrow_momentum.onnx", "--batch 16 --loss mse --optimizer momentum", [6], [1]),
]
STEP_POLICIES = ["", "--graphamp-preset mp1", "--graphamp-preset mp2", "--graphamp-preset mp4 --fp32-params",
                 "--graphamp-preset mp4 --param-rounding sr --bf16-optimizer", "--amp hmp", "--amp autocast",
                 "--amp autocast --amp-dtype fp16", "--amp raf", "--weight-grad-reduce bf16sr", "--any-tiling 5",
                 "--any-tiling 6 --graphamp-preset mp1"]

GRAPH_POLICIES = ["mp0", "mp1", "mp2", "mp3", "mp4", "hmp", "autocast", "raf"]
GRAPH_ARRAYS = ["tiny", "edge", "rack", "tiny rows=1 cols=3 p=2", "tiny rows=2 cols=1", "rack rows=3 cols=5",
                "edge rows=8 cols=2", "tiny rows=1 banks=12"]
GRAPH_DRAWS = ["0 0", "0 7", "1 0", "2 0", "3 11"]  # --any-tiling, and which other sizes


def compile_cases(o):
    """(what makes the model, flags)"""
    models = ["zoo " + z for z in ZOO] + ["runtime/demo/digits.onnx --batch 16"]
    for model in models:
        for array in ARRAYS:
            for policy in POLICIES:
                yield model, array + " " + policy
    for model in ["zoo " + z for z in LARGE_ZOO]:
        for array in LARGE_ARRAYS:
            for policy in POLICIES:
                yield model, array + " " + policy
    for folder, _, files in sorted(os.walk(o.models or "/nowhere")):
        for file in sorted(files):
            if file.endswith(".onnx"):
                for policy in POLICIES[:5] + POLICIES[-2:]:
                    yield os.path.join(folder, file), "--arch edge --dram simple " + policy


def cases(o):
    every = {}

    def sampled(kind, step):
        every[kind] = every.get(kind, -1) + 1
        return o.full or every[kind] % step == 0

    for model, flags in compile_cases(o):
        if sampled("compile", 31):
            yield {"do": "compile", "model": model, "flags": flags}
    for model, flags, row, label in STEPS:
        for array in ["--arch edge --dram simple", "--arch tiny", "--arch rack --dram simple --set rows=3"]:
            for policy in STEP_POLICIES:
                if sampled("train", 41):
                    yield {"do": "train", "model": model, "flags": " ".join([array, flags, policy]), "row": row, "label": label}
    for array in GRAPH_ARRAYS:
        for policy in GRAPH_POLICIES:
            for draw in GRAPH_DRAWS:
                if sampled("graphs", 13):
                    yield {"do": "graphs", "flags": " ".join([draw, policy, array])}


def name_of(case):
    return " ".join([case["do"]] + ([case["model"]] if "model" in case else []) + [case["flags"]])


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def write_npy(path, shape, integers):
    """Zeros: only their shape matters."""
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % ("<i8" if integers else "<f4", ", ".join(map(str, shape)))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    count = 1
    for size in shape:
        count *= size
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(bytes(count * (8 if integers else 4)))


def model_file(build, model, folder):
    """The path of the model, and flags of it."""
    words = shlex.split(model)
    if words[0] != "zoo":
        return os.path.join(ROOT, words[0]), words[1:]
    path = os.path.join(folder, "model.onnx")
    status, message = run([os.path.join(build, "tegula"), "zoo"] + words[1:] + ["-q", "-o", path], folder)
    if status:
        sys.exit("%s: %s" % (model, message))
    return path, []


def digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            sha.update(part)
    return sha.hexdigest()


def graph_result(path):
    if path.endswith(".tgb"):
        return digest(path)
    with open(path) as file:
        return "refused: " + file.read().strip()


def results(build, case):
    """{program: its digest, or why it was refused}"""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "program.tgb")
        if case["do"] == "graphs":
            status, message = run([os.path.join(build, "map_graphs"), folder] + case["flags"].split(), ROOT)
            if status:
                sys.exit("map_graphs %s: %s" % (case["flags"], message))
            return {"%s: %s" % (name_of(case), file.split(".")[0]): graph_result(os.path.join(folder, file)) for file in os.listdir(folder)}
        model, more = model_file(build, case["model"], folder)
        command = [os.path.join(build, "tegula"), case["do"], model, "-q", "-o", out] + more + case["flags"].split()
        if case["do"] == "train":  # writes the program before it runs into --max-cycles
            batch = int(command[command.index("--batch") + 1])
            numbers = isinstance(case["label"], list)
            write_npy(os.path.join(folder, "x.npy"), [batch] + case["row"], False)
            write_npy(os.path.join(folder, "y.npy"), [batch] + (case["label"] if numbers else []), not numbers)
            command += ["--data", "x.npy", "--labels", "y.npy", "--steps", "1", "--engine", "systemc", "--max-cycles", "1"]
        status, message = run(command, folder)
        refused = not os.path.exists(out)
        return {name_of(case): "refused: " + message.replace(folder, "") if refused else digest(out)}


def all_results(o, build, wanted):
    found = {}
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for some in pool.map(lambda case: results(build, case), wanted):
            found.update(some)
    return found


def compiler_of(build):
    return digest(os.path.join(build, "tegula")) + digest(os.path.join(build, "map_graphs"))


def kept_results(o, build, wanted):
    """Those of BEFORE."""
    path = os.path.join(build, "compare_programs.json")
    kept = {"compiler": compiler_of(build), "cases": {}}
    if os.path.exists(path):
        with open(path) as file:
            old = json.load(file)
        if old["compiler"] == kept["compiler"]:
            kept = old
    new = [case for case in wanted if name_of(case) not in kept["cases"]]
    try:
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for case, found in zip(new, pool.map(lambda case: results(build, case), new)):
                kept["cases"][name_of(case)] = found
    finally:
        with open(path, "w") as file:
            json.dump(kept, file)
    return {name: value for case in wanted for name, value in kept["cases"][name_of(case)].items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2][len("usage: "):])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--filter", default="")
    parser.add_argument("--models")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("before")
    parser.add_argument("after")
    o = parser.parse_args()
    o.before, o.after = os.path.abspath(o.before), os.path.abspath(o.after)
    wanted = [case for case in cases(o) if o.filter in name_of(case)]
    before = kept_results(o, o.before, wanted)
    after = all_results(o, o.after, wanted)
    different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in different:
        print("%s\n  before %s\n  after  %s" % (name, before.get(name), after.get(name)))
    refused = sum(value.startswith("refused") for value in after.values())
    print("%d programs: %d equal, %d different; %d cases refused by both" %
          (len(after) - refused, len(after) - refused - len(different), len(different), refused))
    sys.exit(1 if different or len(after) == refused else 0)


if __name__ == "__main__":
    main()
