#!/usr/bin/python3
"""What the command says and does where a part of a model runs on the host, behind the array: NonMaxSuppression of boxes that the array
computes. Its answers are compared in tests/frontend/node/own_cases.py.

usage: test_host_part.py TEGULA
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

TEGULA = sys.argv[1]


def run(*words):
    return subprocess.run([TEGULA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)


def detector(path):
    nodes = [helper.make_node("Sigmoid", ["s"], ["p"]), helper.make_node("Relu", ["b"], ["at"]),
             helper.make_node("NonMaxSuppression", ["at", "p", "most", "overlap"], ["chosen"], name="nms"),
             helper.make_node("Shape", ["chosen"], ["count"])]
    constants = [numpy_helper.from_array(np.array(v, t), n) for n, v, t in (("most", 3, "i8"), ("overlap", 0.5, "f4"))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "detector", [info("s", TensorProto.FLOAT, [1, 2, 9]), info("b", TensorProto.FLOAT, [1, 9, 4])],
                              [info("p", TensorProto.FLOAT, [1, 2, 9]), info("chosen", TensorProto.INT64, ["n", 3]), info("count", TensorProto.INT64, [2])],
                              constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 13)], ir_version=8), path)


def named_like_ours(path):
    """An output has the name that what the host reads would have."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["x"], ["r.host"]), helper.make_node("NonZero", ["r"], ["n"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "names", [info("x", TensorProto.FLOAT, [2, 3])],
                              [info("n", TensorProto.INT64, [2, "k"]), info("r.host", TensorProto.FLOAT, [2, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 13)], ir_version=8), path)


def check(holds, what):
    if not holds:
        sys.exit("wrong: %s" % (what,))


with tempfile.TemporaryDirectory() as folder:
    model, report = os.path.join(folder, "m.onnx"), os.path.join(folder, "r.json")
    detector(model)
    ran = run("run", model, "--engine", "functional", "--no-cpu-reference", "--report", report, "--output-dir", folder)
    check(ran.returncode == 0, ran.stderr)
    check("on the host    2 nodes from node \"nms\" (NonMaxSuppression) on, in " in ran.stdout, ran.stdout)
    with open(report) as file:
        said = json.load(file)
    after = said["host"]["after_array"]
    check(after["first"] == 'node "nms" (NonMaxSuppression)' and after["nodes"] == 2 and after["seconds"] > 0, after)
    chosen = np.load(os.path.join(folder, "chosen.npy"))
    check(list(said["model"]["outputs"]) == ["p", "chosen", "count"], said["model"])
    check(said["model"]["outputs"]["chosen"] == list(chosen.shape) == list(np.load(os.path.join(folder, "count.npy"))), chosen.shape)
    check(list(said["output_digests"]) == ["p", "chosen", "count"], said["output_digests"])
    compiled = run("compile", model, "-o", os.path.join(folder, "m.tgb"))
    check(compiled.returncode == 2 and compiled.stderr.count("\n") == 1 and 'node "nms" (NonMaxSuppression) runs on the host' in compiled.stderr,
          compiled.stderr)
    inspected = run("inspect", model)
    check('on the host, behind the array: 2 of the model\'s nodes, from node "nms" (NonMaxSuppression) on' in inspected.stdout, inspected.stderr)
    timed = run("run", model, "--timing-only", "--no-cpu-reference", "--arch", "tiny")
    check(timed.returncode == 0, timed.stderr)
    check("2 nodes from node \"nms\" (NonMaxSuppression) on, not run" in timed.stdout, timed.stdout)
    named_like_ours(model)
    x = np.array([[1, -2, 0], [-3, 4, -5]], "f4")
    np.save(os.path.join(folder, "x.npy"), x)
    ran = run("run", model, "--engine", "functional", "--no-cpu-reference", "--input", "x=" + os.path.join(folder, "x.npy"), "--output-dir", folder)
    check(ran.returncode == 0, ran.stderr)
    check(np.array_equal(np.load(os.path.join(folder, "n.npy")), np.nonzero(x > 0)), "values of another output")
    check(np.array_equal(np.load(os.path.join(folder, "r.host.npy")), -x), "the model's own output")
print("1 passed, 0 failed")
