#!/usr/bin/python3
"""The training run of ROCm's document: a model of 1 x 1 convolutions learns a quantized two-dimensional cosine, in FP32 and with
automatic mixed precision (autocast in FP16 with a dynamic loss scale), and what each of them then draws.

usage: convmodel_training.py [--tegula COMMAND] [--size N] [--hidden N] [--epochs N] [--arch NAME] [--picture FILE.svg] [--max-loss X]

Prints a table in Markdown: the loss before the last step, milliseconds of a step at the array's clock, peak memory. FILE.svg:
the target, and what the two trained models give in inference. With --max-loss it exits 1 where a loss is above X, or AMP's is
more than a fifth from FP32's. The document's size, 512 x 512 with 256 channels, takes days with values. Needs numpy.
"""
import argparse
import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

POLICIES = [("Standard", []), ("AMP", ["--amp", "autocast", "--amp-dtype", "fp16", "--loss-scale", "dynamic"])]


def grid(size):
    """Coordinates in [0, 1] as [1, 2, size, size], and the target, of four levels, as [1, 1, size, size]."""
    line = numpy.arange(size) / (size - 1)
    x, y = numpy.meshgrid(line, line)
    wave = numpy.cos(x * 4 * 2 * numpy.pi) + numpy.cos(y * 2 * 2 * numpy.pi)
    levels = numpy.digitize(wave, numpy.linspace(wave.min(), wave.max(), 5)[:4])
    target = (levels - levels.min()) / (levels.max() - levels.min())
    return numpy.stack([x, y])[None].astype("f4"), target[None, None].astype("f4")


def train(o, folder, flags):
    """(losses, report, what the trained model gives) of one run."""
    path = {name: os.path.join(folder, name) for name in ("model.onnx", "x.npy", "y.npy", "losses.npy", "trained.onnx", "out")}
    done = subprocess.run([o.tegula, "train", path["model.onnx"], "--data", path["x.npy"], "--labels", path["y.npy"], "--batch", "1", "--loss", "mse",
                           "--optimizer", "adam", "--lr", "0.001", "--steps", str(o.epochs), "--losses", path["losses.npy"], "--save", path["trained.onnx"],
                           "--arch", o.arch, "--json"] + flags, stdout=subprocess.PIPE, check=True)
    subprocess.run([o.tegula, "run", path["trained.onnx"], "--engine", "functional", "--no-cpu-reference", "-q", "--input", "x=" + path["x.npy"],
                    "--output-dir", path["out"], "--arch", o.arch], check=True)
    output, = os.listdir(path["out"])
    return numpy.load(path["losses.npy"]), json.loads(done.stdout), numpy.load(os.path.join(path["out"], output))[0, 0]


def png(image):
    """Values of [0, 1] as the bytes of a gray PNG."""
    rows = (numpy.clip(image, 0, 1) * 255 + 0.5).astype("u1")
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    data = b"".join(b"\0" + row.tobytes() for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def write_picture(path, images):
    """Pairs of title and image, side by side."""
    side, gap = 200, 12
    parts = []
    for i, (title, image) in enumerate(images):
        at = i * (side + gap)
        parts.append('<text x="%d" y="14">%s</text>' % (at + side // 2, title))
        parts.append('<image x="%d" y="22" width="%d" height="%d" href="data:image/png;base64,%s"/>'
                     % (at, side, side, base64.b64encode(png(image)).decode()))
    with open(path, "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13" text-anchor="middle">\n'
                   '<rect width="100%%" height="100%%" fill="white"/>\n%s\n</svg>\n' % (3 * side + 2 * gap, side + 24, "\n".join(parts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tegula", default="build/tegula")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=512)
    parser.add_argument("--arch", default="edge")
    parser.add_argument("--picture")
    parser.add_argument("--max-loss", type=float)
    o = parser.parse_args()
    inputs, target = grid(o.size)
    images, last = [("Target", target[0, 0])], []
    print("| training | loss | ms a step | peak MB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([o.tegula, "zoo", "convmodel", "--size", str(o.size), "--hidden", str(o.hidden), "-q", "-o", os.path.join(folder, "model.onnx")],
                       check=True)
        numpy.save(os.path.join(folder, "x.npy"), inputs)
        numpy.save(os.path.join(folder, "y.npy"), target)
        for title, flags in POLICIES:
            losses, report, output = train(o, folder, flags)
            images.append((title, output))
            last.append(losses[-1])
            print("| %s | %.4g | %.3f | %.1f |" % (title, losses[-1], 1e3 * report["seconds"], report["peak_device_bytes"] / 1e6), flush=True)
    if o.picture:
        write_picture(o.picture, images)
    apart = abs(last[1] - last[0]) > 0.2 * last[0]
    return 1 if o.max_loss is not None and (max(last) > o.max_loss or apart) else 0


if __name__ == "__main__":
    sys.exit(main())
