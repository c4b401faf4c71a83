#!/usr/bin/env python3
"""The convolutional model of ROCm's document on a grid of 128 x 128, 64 channels, trained for 60 epochs under each policy.

usage: loss_curves.py [--tegula COMMAND] [--recorded FOLDER] [--seeds N] [--arch NAME]

Prints a table in Markdown: the last loss under each policy against FP32's, mean of the seeds, ours and PyTorch's. FOLDER
(build/tests/data/precision/convmodel, where a build unpacks it) has data, the initial weights of seeds 0 and 1, and PyTorch's curves for them; those of other
seeds are drawn here, as PyTorch would. Needs numpy and onnx (Debian: python3-onnx).
"""
import argparse
import csv
import os
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

EPOCHS, SIDE, WIDTHS = 60, 128, [2, 64, 64, 64, 1]

# title, flags, the recorded curve that is meant to be like it
POLICIES = [
    ("FP32", [], "fp32"),
    ("mp1", ["--graphamp-preset", "mp1"], "bf16_gemm_only"),
    ("autocast", ["--amp", "autocast"], "bf16_autocast"),
    ("mp3", ["--graphamp-preset", "mp3"], None),
    ("mp4 --fp32-params", ["--graphamp-preset", "mp4", "--fp32-params"], "bf16w_fp32master"),
    ("mp4, stochastic", ["--graphamp-preset", "mp4", "--param-rounding", "sr"], "bf16w_sr"),
    ("mp4, nearest", ["--graphamp-preset", "mp4", "--param-rounding", "nearest"], "bf16w_rne"),
]


def weights_of(folder, seed):
    if seed == 1:
        return dict(numpy.load(os.path.join(folder, "init_seed1.npz")))
    if seed == 0:
        names = [name for name in os.listdir(folder) if name.startswith("init_model.")]
        return {name[len("init_"):-len(".npy")]: numpy.load(os.path.join(folder, name)) for name in names}
    draw, weights = numpy.random.RandomState(seed), {}
    for i, (fan_in, out) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        for name, shape in (("weight", (out, fan_in, 1, 1)), ("bias", (out,))):
            weights["model.%d.%s" % (3 * i, name)] = draw.uniform(-fan_in**-0.5, fan_in**-0.5, shape)
        for name, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            weights["model.%d.%s" % (3 * i + 1, name)] = numpy.full(out, value)
    return weights


def write_model(path, weights):
    nodes, last, used = [], "x", []
    for i in range(len(WIDTHS) - 1):
        def add(op, layer, names, **attributes):
            nonlocal last
            operands = ["model.%d.%s" % (layer, name) for name in names]
            used.extend(operands)
            result = "y" if layer == 3 * (len(WIDTHS) - 2) else "h%d" % len(nodes)
            nodes.append(helper.make_node(op, [last] + operands, [result], **attributes))
            last = result
        add("Conv", 3 * i, ["weight", "bias"], kernel_shape=[1, 1])
        if i + 2 < len(WIDTHS):
            add("BatchNormalization", 3 * i + 1, ["weight", "bias", "running_mean", "running_var"])
            add("Relu", 3 * i + 2, [])
    shape = lambda channels: [1, channels, SIDE, SIDE]
    graph = helper.make_graph(
        nodes, "convmodel", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape(WIDTHS[0]))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape(WIDTHS[-1]))],
        [numpy_helper.from_array(weights[name].astype(numpy.float32), name) for name in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def train(o, scratch, seed, flags):
    losses = os.path.join(scratch, "losses.npy")
    subprocess.run([o.tegula, "train", os.path.join(scratch, "model.onnx"), "--arch", o.arch, "--seed", str(seed),
                    "--data", os.path.join(o.recorded, "inputs.npy"), "--labels", os.path.join(o.recorded, "targets.npy"),
                    "--loss", "mse", "--optimizer", "adam", "--lr", "0.001", "--batch", "1", "--steps", str(EPOCHS),
                    "--losses", losses, "-q"] + flags, check=True)
    return numpy.load(losses)


def recorded_curves(folder):
    curves = {}
    with open(os.path.join(folder, "loss_curves_seed0_1.csv")) as file:
        for row in csv.DictReader(file):
            curves.setdefault((int(row["seed"]), row["mode"]), {})[int(row["epoch"])] = float(row["loss"])
    return curves


def against(last, first):
    return "%.5f" % numpy.mean(last), "%+.1f %%" % (100 * (numpy.mean(last) / numpy.mean(first) - 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tegula", default="build/tegula")
    parser.add_argument("--recorded", default="build/tests/data/precision/convmodel")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--arch", default="edge")
    o = parser.parse_args()
    ours = {title: [] for title, _, _ in POLICIES}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(o.seeds):
            write_model(os.path.join(scratch, "model.onnx"), weights_of(o.recorded, seed))
            for title, flags, _ in POLICIES:
                ours[title].append(train(o, scratch, seed, flags))
    curves = recorded_curves(o.recorded)
    theirs = lambda mode: [curves[seed, mode][EPOCHS - 1] for seed in (0, 1)]
    last = lambda title, seeds: [losses[-1] for losses in ours[title][:seeds]]
    print("| policy | loss, %d seeds | against FP32 | loss, seeds 0 and 1 | against FP32 | PyTorch's | against FP32 |" % o.seeds)
    print("|---|---|---|---|---|---|---|")
    for title, _, mode in POLICIES:
        cells = against(last(title, o.seeds), last("FP32", o.seeds)) + against(last(title, 2), last("FP32", 2))
        cells += against(theirs(mode), theirs("fp32")) if mode else ("", "")
        print("| %s | %s |" % (title, " | ".join(cells)))
    worst = max(abs(losses[epoch] / curves[seed, "fp32"][epoch] - 1)
                for seed, losses in enumerate(ours["FP32"][:2]) for epoch in range(EPOCHS))
    print("\nFP32, seeds 0 and 1: every loss is within %.1e of PyTorch's." % worst)


if __name__ == "__main__":
    main()
