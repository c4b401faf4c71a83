#!/usr/bin/env python3
"""Waves of the RTL hold the whole chip: the inside of every tile and AGCU, to the end of the run.

usage: waves.py TEGULA

Runs a product on the array tiny with --wave and reads the FST file's header and hierarchy (the format: the blocks of
gtkwave's fstapi.h, a byte of type, eight of length, then the rest).
"""
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

HEADER, HIERARCHY, HIERARCHY_LZ4 = 0, 4, 6
TILES = AGCUS = 4  # of the array tiny
# Scopes in rtl/tile.sv, one a tile, and in rtl/agcu.sv, one an AGCU.
INSIDE = {b"u_mx_sequencer": TILES, b"u_vx_sequencer": TILES, b"u_tx": TILES, b"u_scratchpad": TILES,
          b"u_jobs": AGCUS, b"u_port": AGCUS, b"u_load": AGCUS, b"u_store": AGCUS}


def lz4(data):
    """A block of LZ4: literals and copies in turn."""
    out, at = bytearray(), 0

    def length(short):
        nonlocal at
        total = short
        while short == 15:
            total, at = total + data[at], at + 1
            if data[at - 1] != 255:
                break
        return total

    while at < len(data):
        token, at = data[at], at + 1
        literals = length(token >> 4)
        out += data[at:at + literals]
        at += literals
        if at < len(data):
            back, at = data[at] | data[at + 1] << 8, at + 2
            for _ in range(length(token & 15) + 4):
                out.append(out[-back])
    return bytes(out)


def blocks(data):
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">Q", data, at + 1)
        yield data[at], data[at + 9:at + 1 + size]
        at += 1 + size


def main():
    tegula = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            return subprocess.run([tegula, *words], cwd=folder, check=True, stdout=subprocess.PIPE).stdout

        run("zoo", "gemm", "--m", "5", "--k", "37", "--n", "29", "-o", "gemm.onnx", "-q")
        result = json.loads(run("run", "gemm.onnx", "--arch", "tiny", "--engine", "rtl", "--wave", "gemm.fst", "--json"))
        with open(os.path.join(folder, "gemm.fst"), "rb") as file:
            data = file.read()
    wrong, scopes = [], []
    for kind, body in blocks(data):
        if kind == HEADER:
            begin, end = struct.unpack_from(">QQ", body)
            if end - begin < 2 * result["cycles"]:  # two a cycle
                wrong.append(f"times {begin} to {end}, of {result['cycles']} cycles")
        elif kind in (HIERARCHY, HIERARCHY_LZ4):
            text = gzip.decompress(body[8:]) if kind == HIERARCHY else lz4(body[8:])
            scopes = re.findall(rb"\xfe.([^\0]*)\0", text)  # a tag, the kind of a scope, its name
    for name, count in INSIDE.items():
        if scopes.count(name) != count:
            wrong.append(f"{scopes.count(name)} scopes {name.decode()} in place of {count}")
    print("\n".join(wrong) if wrong else f"{len(scopes)} scopes, {len(data)} bytes")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
