#!/usr/bin/python3
"""One network in the encodings that exporters and optimizers give it: each must give NumPy's answer.

usage: encodings.py [--sample N] TEGULA FOLDER

The network: Conv, BatchNormalization, HardSwish, a global mean, a linear layer, LayerNormalization, Gelu, an LSTM over rows, a
linear layer, Softmax. Each part has several forms; the models are one of base forms in each opset, one for each other form, one
of all last forms; then ways to store the same model: typed or raw data, Constant nodes, initializers that are inputs, other
files, float16 and int8 weights that a Cast or DequantizeLinear gives back, a function, an If that is known, open sizes.
Written to FOLDER, run by `tegula run` on the functional engine: outputs within 2e-6 of NumPy's in float64, of every fifth with
--graphamp-preset mp1 within 2e-2. --sample N takes every Nth model. Then two linear layers of three dimensions, whose biases have
leading dimensions of one element or not: equal bits under policies that see a layer as one operator.
Exits 1 if one is not, 77 without a Python package.
"""
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

N, C, H, W, M, D = 2, 3, 6, 5, 4, 6  # batch, channels in, image, channels out, width
rng = np.random.default_rng(11)


def grid(*shape):
    """Weights of few bits: exact in float16, and in int8 by a scale of 1/64."""
    return (rng.integers(-100, 101, shape) / 64).astype("f4")


weights = {"k": grid(M, C, 3, 3), "kb": grid(M), "gain": grid(M), "shift": grid(M), "mean": grid(M), "var": (rng.integers(32, 100, M) / 64).astype("f4"),
           "a": grid(M, D), "ab": grid(D), "scale": grid(D), "bias": grid(D), "w": grid(1, 4 * D, 1), "r": grid(1, 4 * D, D),
           "wb": grid(1, 8 * D), "b": grid(D, 3), "bb": grid(3)}
data = rng.standard_normal((N, C, H, W)).astype("f4")


def erf(x):
    """By its series; |x| stays below 4."""
    term, total = x.copy(), x.copy()
    for n in range(1, 90):
        term = term * -x * x / n
        total = total + term / (2 * n + 1)
    return total * 2 / np.sqrt(np.pi)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def answer():
    v = {n: x.astype("f8") for n, x in weights.items()}
    framed = np.pad(data.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), (2, 3))
    x = np.einsum("ncyxij,ocij->noyx", windows, v["k"]) + v["kb"][:, None, None]
    x = (x - v["mean"][:, None, None]) / np.sqrt(v["var"] + 1e-5)[:, None, None] * v["gain"][:, None, None] + v["shift"][:, None, None]
    x = (x * np.clip(x / 6 + 0.5, 0, 1)).mean((2, 3)) @ v["a"] + v["ab"]
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * v["scale"] + v["bias"]
    x = x * 0.5 * (1 + erf(x / np.sqrt(2)))
    h = c = np.zeros((N, D))
    for t in range(D):
        i, o, f, g = np.split(x[:, t:t + 1] @ v["w"][0].T + h @ v["r"][0].T + v["wb"][0, :4 * D] + v["wb"][0, 4 * D:], 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    y = np.exp(h @ v["b"] + v["bb"])
    return y / y.sum(1, keepdims=True)


class Model:
    """Nodes of one encoding; constants are initializers until `save` stores them otherwise."""

    def __init__(self, opset):
        self.opset, self.nodes, self.constants, self.count = opset, [], dict(weights), 0

    def put(self, operator, *inputs, outputs=1, **attributes):
        self.count += 1
        names = ["t%d_%d" % (self.count, i) for i in range(outputs)]
        names = [""] * (outputs - 1) + names[-1:] if operator == "LSTM" else names
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[-1] if outputs == 1 or operator == "LSTM" else names

    def const(self, value):
        self.count += 1
        self.constants["c%d" % self.count] = np.asarray(value)
        return "c%d" % self.count

    def ints(self, *values):
        return self.const(np.array(values, "i8"))

    def number(self, value):
        return self.const(np.float32(value))

    def reduce(self, operator, x, axes, keepdims=1):
        late = self.opset >= 18 or (operator == "ReduceSum" and self.opset >= 13)
        return self.put(operator, x, self.ints(*axes), keepdims=keepdims) if late else self.put(operator, x, axes=list(axes), keepdims=keepdims)

    def squeeze(self, x, axis, operator="Squeeze"):
        return self.put(operator, x, self.ints(axis)) if self.opset >= 13 else self.put(operator, x, axes=[axis])

    def slice(self, x, begin, end, axis):
        if self.opset >= 10:
            return self.put("Slice", x, self.ints(begin), self.ints(end), self.ints(axis))
        return self.put("Slice", x, starts=[begin], ends=[end], axes=[axis])


def by_pad(m, x):
    frame = [0, 0, 1, 1, 0, 0, 1, 1]
    x = m.put("Pad", x, m.ints(*frame)) if m.opset >= 11 else m.put("Pad", x, pads=frame)
    return m.put("Conv", x, "k", "kb")


def by_columns(m, x):
    """im2col: nine slices of the frame, a product."""
    x = m.put("Pad", x, m.ints(0, 0, 1, 1, 0, 0, 1, 1)) if m.opset >= 11 else m.put("Pad", x, pads=[0, 0, 1, 1, 0, 0, 1, 1])
    parts = [m.slice(m.slice(x, i, i + H, 2), j, j + W, 3) for i in range(3) for j in range(3)]
    columns = m.put("Reshape", m.put("Concat", *[m.squeeze(p, 1, "Unsqueeze") for p in parts], axis=1), m.ints(0, 9 * C, H * W))
    matrix = m.const(weights["k"].transpose(0, 2, 3, 1).reshape(M, 9 * C))
    y = m.put("Add", m.put("MatMul", matrix, columns), m.const(weights["kb"][:, None]))
    return m.put("Reshape", y, m.ints(-1, M, H, W))


def norm_by_hand(m, x):
    def column(name):
        return m.const(weights[name].reshape(M, 1, 1))
    x = m.put("Div", m.put("Sub", x, column("mean")), m.put("Sqrt", m.put("Add", column("var"), m.number(1e-5))))
    return m.put("Add", m.put("Mul", x, column("gain")), column("shift"))


def norm_folded(m, x):
    v = {n: weights[n].astype("f8").reshape(M, 1, 1) for n in ("mean", "var", "gain", "shift")}
    factor = v["gain"] / np.sqrt(v["var"] + 1e-5)
    return m.put("Add", m.put("Mul", x, m.const(factor.astype("f4"))), m.const((v["shift"] - v["mean"] * factor).astype("f4")))


def swish_by_clip(m, x):
    six = m.put("Add", x, m.number(3))
    six = m.put("Clip", six, m.number(0), m.number(6)) if m.opset >= 11 else m.put("Clip", six, min=0.0, max=6.0)
    return m.put("Div", m.put("Mul", x, six), m.number(6))


def linear_by_shape(m, x, weight, bias):
    """Flattened to what the shape says, as torch's view does."""
    size = m.put("Gather", m.put("Shape", x), m.const(np.array(0)), axis=0)
    x = m.put("Reshape", x, m.put("Concat", m.squeeze(size, 0, "Unsqueeze"), m.ints(-1), axis=0))
    return m.put("Add", m.put("MatMul", x, weight), bias)


def moments(m, x):
    centred = m.put("Sub", x, m.reduce("ReduceMean", x, [-1]))
    return centred, m.reduce("ReduceMean", m.put("Pow", centred, m.number(2)), [-1])


def layer_norm_by_hand(m, x):
    centred, variance = moments(m, x)
    x = m.put("Div", centred, m.put("Sqrt", m.put("Add", variance, m.number(1e-5))))
    return m.put("Add", m.put("Mul", x, "scale"), "bias")


def layer_norm_by_instances(m, x):
    x = m.put("InstanceNormalization", m.squeeze(x, 1, "Unsqueeze"), m.const(np.ones(1, "f4")), m.const(np.zeros(1, "f4")), epsilon=1e-5)
    return m.put("Add", m.put("Mul", m.squeeze(x, 1), "scale"), "bias")


def gelu_by_erf(m, x):
    y = m.put("Add", m.put("Erf", m.put("Div", x, m.number(np.sqrt(2)))), m.number(1))
    return m.put("Mul", m.put("Mul", x, y), m.number(0.5))


def steps_of(m, x):
    """[N, D] as D steps of one number: [D, N, 1]."""
    return m.put("Transpose", m.squeeze(x, 2, "Unsqueeze"), perm=[1, 0, 2])


def lstm(m, x):
    return m.squeeze(m.put("LSTM", steps_of(m, x), "w", "r", "wb", outputs=2, hidden_size=D), 0)


def step(m, x, h, c):
    both = weights["wb"][0].astype("f8")
    gates = m.put("Add", m.put("Add", m.put("MatMul", x, m.const(weights["w"][0].T.copy())), m.put("MatMul", h, m.const(weights["r"][0].T.copy()))),
                  m.const((both[:4 * D] + both[4 * D:]).astype("f4")))
    i, o, f, g = (m.slice(gates, n * D, (n + 1) * D, 1) for n in range(4))
    c = m.put("Add", m.put("Mul", m.put("Sigmoid", f), c), m.put("Mul", m.put("Sigmoid", i), m.put("Tanh", g)))
    return m.put("Mul", m.put("Sigmoid", o), m.put("Tanh", c)), c


def lstm_unrolled(m, x):
    h = c = m.const(np.zeros((N, D), "f4"))
    for t in range(D):
        h, c = step(m, m.slice(x, t, t + 1, 1), h, c)
    return h


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def lstm_by_scan(m, x):
    body = Model(m.opset)
    body.count, before = 1000, set(body.constants)
    h, c = step(body, "step", "h", "c")
    m.constants.update({n: v for n, v in body.constants.items() if n not in before})
    graph = helper.make_graph(body.nodes, "body", [value("h", N, D), value("c", N, D), value("step", N, 1)], [value(h, N, D), value(c, N, D)])
    zeros = m.const(np.zeros((N, D), "f4"))
    return m.put("Scan", zeros, zeros, steps_of(m, x), outputs=2, num_scan_inputs=1, body=graph)[0]


def softmax_by_hand(m, x):
    e = m.put("Exp", m.put("Sub", x, m.reduce("ReduceMax", x, [1])))
    return m.put("Div", e, m.reduce("ReduceSum", e, [1]))


def average_whole(m, x):
    return m.put("AveragePool", x, kernel_shape=[H, W])


# By part: forms and the opset from which on they stand; the first is the base form.
PARTS = (
    ("conv", (("pads", 1, lambda m, x: m.put("Conv", x, "k", "kb", pads=[1, 1, 1, 1])), ("same", 1, lambda m, x: m.put("Conv", x, "k", "kb", auto_pad="SAME_UPPER")),
              ("pad", 2, by_pad), ("columns", 5, by_columns))),
    ("norm", (("op", 9, lambda m, x: m.put("BatchNormalization", x, "gain", "shift", "mean", "var")), ("hand", 7, norm_by_hand), ("folded", 7, norm_folded))),
    ("swish", (("clip", 7, swish_by_clip), ("sigmoid", 7, lambda m, x: m.put("Mul", x, m.put("HardSigmoid", x, alpha=1 / 6))),
               ("op", 14, lambda m, x: m.put("HardSwish", x)))),
    ("pool", (("global", 1, lambda m, x: m.put("GlobalAveragePool", x)), ("mean", 1, lambda m, x: m.reduce("ReduceMean", x, [-2, -1])), ("whole", 1, average_whole))),
    ("linear", (("gemm", 7, lambda m, x: m.put("Gemm", m.put("Flatten", x), "a", "ab")),
                ("transposed", 7, lambda m, x: m.put("Gemm", m.put("Flatten", x, axis=1), m.const(weights["a"].T.copy()), "ab", transB=1)),
                ("view", 7, lambda m, x: linear_by_shape(m, x, "a", "ab")),
                ("einsum", 12, lambda m, x: m.put("Add", m.put("Einsum", x, "a", equation="nmhw,md->nd"), "ab")),
                ("conv", 7, lambda m, x: m.put("Flatten", m.put("Conv", x, m.const(weights["a"].T.reshape(D, M, 1, 1).copy()), "ab"))))),
    ("layer_norm", (("hand", 7, layer_norm_by_hand), ("instances", 7, layer_norm_by_instances),
                    ("op", 17, lambda m, x: m.put("LayerNormalization", x, "scale", "bias")))),
    ("gelu", (("erf", 9, gelu_by_erf), ("op", 20, lambda m, x: m.put("Gelu", x)))),
    ("lstm", (("op", 7, lstm), ("unrolled", 7, lstm_unrolled), ("scan", 9, lstm_by_scan))),
    ("head", (("gemm", 7, lambda m, x: m.put("Gemm", x, "b", "bb")), ("matmul", 7, lambda m, x: m.put("Add", m.put("MatMul", x, "b"), "bb")))),
    ("softmax", (("op", 1, lambda m, x: m.put("Softmax", x, axis=1)), ("hand", 7, softmax_by_hand),
                 ("log", 1, lambda m, x: m.put("Exp", m.put("LogSoftmax", x, axis=1))))),
)


def network(opset, chosen):
    """`chosen`: form by part; others are the first."""
    m, x = Model(opset), "x"
    for part, forms in PARTS:
        x = forms[chosen.get(part, 0)][2](m, x)
    m.nodes.append(helper.make_node("Identity", [x], ["y"]))
    return m


def stored(m, how, folder):
    """The model as a file: how its constants are stored and its nodes are wrapped."""
    used = {n for node in m.nodes for n in node.input} | {n for node in m.nodes for a in node.attribute for inner in a.g.node for n in inner.input}
    tensors = {n: numpy_helper.from_array(v, n) for n, v in m.constants.items() if n in used}
    inputs, nodes, initializers, functions = [value("x", N, C, H, W)], [], [], []
    imports = [helper.make_operatorsetid("", m.opset)]
    floats = [n for n, t in tensors.items() if t.data_type == TensorProto.FLOAT]
    if how == "open":
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", C, "h", "w"])]
    if how == "typed":
        for n in floats:
            tensors[n] = helper.make_tensor(n, TensorProto.FLOAT, m.constants[n].shape, m.constants[n].ravel().tolist())
    if how == "half":
        for n in set(floats) & set(weights):
            tensors[n] = numpy_helper.from_array(m.constants[n].astype("f2"), n + ".half")
            nodes.append(helper.make_node("Cast", [n + ".half"], [n], to=TensorProto.FLOAT))
    if how == "int8":
        for n in set(floats) & set(weights):
            tensors[n] = numpy_helper.from_array(np.rint(m.constants[n] * 64).clip(-128, 127).astype("i1"), n + ".codes")
            nodes.append(helper.make_node("DequantizeLinear", [n + ".codes", "step"], [n]))
        tensors["step"] = numpy_helper.from_array(np.float32(1 / 64), "step")
    if how == "nodes":
        nodes = [helper.make_node("Constant", [], [n], value=t) for n, t in tensors.items()]
    else:
        initializers = list(tensors.values())
    if how == "inputs":  # as IR version 3 wants them
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in initializers]
    body = m.nodes
    if how == "function":
        functions = [helper.make_function("own", "Network", ["x"] + sorted(tensors), ["y"], m.nodes, imports)]
        body = [helper.make_node("Network", ["x"] + sorted(tensors), ["y"], domain="own")]
        imports = imports + [helper.make_operatorsetid("own", 1)]
    if how == "if":
        branch = helper.make_graph(m.nodes, "then", [], [value("y", N, 3)])
        other = helper.make_graph([helper.make_node("Identity", ["zeros"], ["z"])], "else", [], [value("z", N, 3)])
        initializers += [numpy_helper.from_array(np.array(True), "yes"), numpy_helper.from_array(np.zeros((N, 3), "f4"), "zeros")]
        body = [helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=other)]
        body[0].output[0] = "y_"
        body.append(helper.make_node("Identity", ["y_"], ["y"]))
    graph = helper.make_graph(nodes + body, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3] if how == "open" else [N, 3])], initializers)
    model = helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=3 if how == "inputs" else 8)
    path = os.path.join(folder, "model.onnx")
    if how == "files":
        onnx.save(model, path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=64)
    else:
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
    return path


def encodings():
    """(name, model, how it is stored)"""
    for opset in (9, 10, 11, 12, 13, 15, 17, 18, 20, 23):
        yield "opset%d" % opset, network(opset, {}), "raw"
    for part, forms in PARTS:
        for i, (name, since, _) in enumerate(forms[1:], 1):
            yield "%s_%s" % (part, name), network(max(since, 13), {part: i}), "raw"
    yield "last_forms", network(20, {part: len(forms) - 1 for part, forms in PARTS}), "raw"
    for how in ("typed", "half", "int8", "nodes", "inputs", "files", "function", "if", "open"):
        yield how, network(13, {}), how


def layers(ones):
    """Linear, Tanh, linear, over rows, and their sum; before the size of a bias stand `ones` dimensions."""
    def layer(x, weight, bias, first):
        product = m.put("MatMul", x, weight)
        bias = m.const(weights[bias].reshape((1,) * ones + (-1,)))
        return m.put("Add", *([bias, product] if first else [product, bias]))
    m = Model(17)
    x = m.put("Reshape", m.put("Transpose", "x", perm=[0, 2, 3, 1]), m.ints(N, H * W, C))
    x = m.put("Concat", x, m.put("Neg", x), axis=2)
    x = layer(m.slice(x, 0, M, 2), "a", "ab", True)
    x = layer(m.put("Tanh", x), "b", "bb", False)
    m.nodes.append(helper.make_node("Identity", [m.reduce("ReduceSum", x, [1], 0)], ["y"]))
    return m


def biases(tegula, root):
    """What failed, and how many runs there were."""
    failed, count = [], 0
    for policy in ("autocast", "hmp"):
        bits = []
        for ones in range(3):
            folder = os.path.join(root, "layers%d" % ones)
            os.makedirs(folder, exist_ok=True)
            run = subprocess.run([tegula, "run", stored(layers(ones), "raw", folder), "--engine", "functional", "--arch", "tiny", "--threads", "1", "-q", "--no-cpu-reference",
                                  "--amp", policy, "--input", "x=" + os.path.join(root, "x.npy"), "--output-dir", folder],
                                 stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
            bits.append(np.load(os.path.join(folder, "y.npy")).tobytes() if not run.returncode else run.stderr)
            count += 1
            if bits[-1] != bits[0]:
                failed.append("biases behind %d dimensions under %s: other bits than without" % (ones, policy))
    return failed, count


def main():
    sample = int(sys.argv[2]) if sys.argv[1] == "--sample" else 1
    tegula, root = sys.argv[-2:]
    os.makedirs(root, exist_ok=True)
    np.save(os.path.join(root, "x.npy"), data)
    wanted, failed, count = answer(), [], 0
    for number, (name, model, how) in enumerate(list(encodings())[::sample]):
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        path = stored(model, how, folder)
        for policy, bound in (("mp0", 2e-6), ("mp1", 2e-2))[:1 if number % 5 else 2]:
            count += 1
            run = subprocess.run([tegula, "run", path, "--engine", "functional", "--arch", "tiny", "--threads", "1", "-q", "--no-cpu-reference", "--graphamp-preset", policy,
                                  "--input", "x=" + os.path.join(root, "x.npy"), "--output-dir", folder], stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
            error = np.abs(np.load(os.path.join(folder, "y.npy")) - wanted).max() if not run.returncode else np.inf
            if not error <= bound:
                failed.append("%s under %s: %s" % (name, policy, run.stderr.strip() or "off by %g" % error))
    more, runs = biases(tegula, root)
    failed, count = failed + more, count + runs
    print("%d runs, %d failed" % (count, len(failed)))
    print("\n".join(failed))
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
