#!/usr/bin/python3
"""Writes node tests of our own into a folder, in ONNX's layout: operators that Debian's suite is too old for, and corners.

usage: own_cases.py FOLDER

What is expected is computed with NumPy from the definitions of the operators, in double precision where they are floats.
"""
import math
import os
import shutil
import sys
import types

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

import own_cases_exact
import own_cases_microsoft
import own_cases_narrow
import own_cases_newest

FOLDER = sys.argv[1]
rng = np.random.default_rng(7)


def info(name, array):
    if isinstance(array, own_cases_narrow.Narrow):
        return helper.make_tensor_value_info(name, array.element_type, array.shape)
    element_type = (helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype")
                    else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype])
    return helper.make_tensor_value_info(name, element_type, array.shape)


def tensor(array, name):
    if isinstance(array, own_cases_narrow.Narrow):
        return TensorProto(name=name, data_type=array.element_type, dims=array.shape, raw_data=array.packed())
    return numpy_helper.from_array(array, name)


def case(name, operator, inputs, outputs, opset=23, constants=(), domain="", refused="", **attributes):
    """inputs, outputs: arrays, None for one that is absent; `constants`: positions of inputs that are initializers.
    `refused`: what the line says that refuses it; the outputs are no more than types then."""
    names = ["x%d" % i if a is not None else "" for i, a in enumerate(inputs)]
    node = helper.make_node(operator, names, ["y%d" % i if a is not None else "" for i, a in enumerate(outputs)],
                            domain=domain, **attributes)
    given = [(n, a) for i, (n, a) in enumerate(zip(names, inputs)) if a is not None and i not in constants]
    wanted = [("y%d" % i, a) for i, a in enumerate(outputs) if a is not None]
    graph(name, [node], given, wanted, opset, [(names[i], inputs[i]) for i in constants], refused)


def graph(name, nodes, given, wanted, opset=23, constants=(), refused="", functions=(), domains=("com.microsoft",), inputs=()):
    """A model of these nodes; given, wanted, constants: pairs of name and array. A constant that is given, or among `inputs` (of
    onnx.ValueInfoProto), is the default of an input."""
    listed = {i.name: i for i in [info(*g) for g in given] + list(inputs)}
    made = helper.make_graph(nodes, name, list(listed.values()), [info(*w) for w in wanted], [tensor(a, n) for n, a in constants])
    model = helper.make_model(made, functions=list(functions), ir_version=8,
                              opset_imports=[helper.make_operatorsetid("", opset)] + [helper.make_operatorsetid(d, 1) for d in domains])
    data = os.path.join(FOLDER, name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(FOLDER, name, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    if refused:
        with open(os.path.join(FOLDER, name, "refused.txt"), "w") as file:
            file.write(refused)
    for kind, arrays in (("input", given), ("output", wanted)):
        for i, (n, a) in enumerate(arrays):
            with open(os.path.join(data, "%s_%d.pb" % (kind, i)), "wb") as file:
                file.write(tensor(a, n).SerializeToString())


def normal(*shape):
    return rng.standard_normal(shape).astype("f4")


def f4(a):
    return np.asarray(a, "f4")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, bias=0.0, softcap=0.0, scale=None):
    q, k, v = (a.astype("f8") for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // a.shape[1], 1) for a in (k, v))
    scores = q @ k.swapaxes(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    return softmax(scores + bias) @ v


def heads(x, count):
    return x.reshape(x.shape[0], x.shape[1], count, -1).swapaxes(1, 2)


def normalisations():
    x, scale = normal(2, 5, 48), normal(48)
    wide = x.astype("f8")
    case("rms_normalization", "RMSNormalization", [x, scale],
         [f4(wide / np.sqrt((wide ** 2).mean(-1, keepdims=True) + 1e-3) * scale)], epsilon=1e-3)
    case("swish", "Swish", [x], [f4(wide / (1 + np.exp(-1.5 * wide)))], 24, alpha=1.5)


def rotary():
    x, angle = normal(2, 3, 7, 12), rng.uniform(0, 6, (11, 5))
    cos, sin, at = f4(np.cos(angle)), f4(np.sin(angle)), rng.integers(0, 11, (2, 7))
    c, s = (a[at][:, None].astype("f8") for a in (cos, sin))
    a, b = x[..., :5].astype("f8"), x[..., 5:10].astype("f8")
    case("rotary_part", "RotaryEmbedding", [x, cos, sin, at],
         [f4(np.concatenate([c * a - s * b, s * a + c * b, x[..., 10:]], -1))], rotary_embedding_dim=10)
    a, b = x[..., 0:10:2].astype("f8"), x[..., 1:10:2].astype("f8")
    turned = np.stack([c * a - s * b, s * a + c * b], -1).reshape(2, 3, 7, 10)
    case("rotary_interleaved", "RotaryEmbedding", [x[..., :10].copy(), cos, sin, at], [f4(turned)], interleaved=1)


def attentions():
    q, k, v = normal(2, 6, 5, 8), normal(2, 2, 9, 8), normal(2, 2, 9, 10)
    case("attention_groups", "Attention", [q, k, v], [f4(attention(q, k, v))])
    case("attention_softcap", "Attention", [q, k, v], [f4(attention(q, k, v, softcap=2.0))], softcap=2.0)
    for name, scale in ("zero", 0.0), ("negative", -0.5):
        case("attention_scale_" + name, "Attention", [q, k, v], [f4(attention(q, k, v, scale=scale))], scale=scale)
    mask = rng.random((5, 9)) < 0.6
    mask[:, 0] = True
    case("attention_mask", "Attention", [q, k, v, mask], [f4(attention(q, k, v, np.where(mask, 0, -np.inf)))])
    past_k, past_v = normal(2, 2, 4, 8), normal(2, 2, 4, 10)
    all_k, all_v = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    causal = np.where(np.arange(13)[None] <= np.arange(5)[:, None] + 4, 0, -np.inf)
    case("attention_causal_past", "Attention", [q, k, v, None, past_k, past_v],
         [f4(attention(q, all_k, all_v, causal)), all_k, all_v], is_causal=1)
    flat = normal(2, 5, 24), normal(2, 9, 16), normal(2, 9, 16)
    y = attention(heads(flat[0], 3), heads(flat[1], 1)[..., :8], heads(flat[2], 1))
    key = np.ascontiguousarray(flat[1][..., :8])
    case("attention_flat", "Attention", [flat[0], key, flat[2]], [f4(y.swapaxes(1, 2).reshape(2, 5, -1))], q_num_heads=3, kv_num_heads=1)


def order():
    x = np.array([[3, np.nan, 1, 3, -np.inf, 7], [2, 2, -0.0, 0.0, np.inf, 2]], "f4")
    largest = np.array([[1, 5, 0, 3], [4, 0, 1, 5]])
    case("top_k_ties_and_nan", "TopK", [x, np.array([4])], [np.take_along_axis(x, largest, 1), largest], 11)
    half = np.array([[1, 3, 3, -2], [np.nan, 5, np.nan, 7]], "f2")
    case("arg_max_half", "ArgMax", [half], [np.array([[1], [0]])], 13, axis=1)
    case("arg_min_half_last", "ArgMin", [half[:1]], [np.array([3])], 13, axis=1, keepdims=0, select_last_index=1)
    case("hardmax_half", "Hardmax", [half[:1]], [np.array([[0, 1, 0, 0]], "f2")], 13)
    case("top_k_half", "TopK", [half[:1], np.array([2])], [half[:1, 1:3], np.array([[1, 2]])], 11, constants=(1,))
    # Elements of which a sum passes 2^24.
    for kind in ("i4", "i8"):
        wide = np.array([[(1 << 24) - 1, -7, 16777214, 16777214, 3, -16777215], [-16777215, -16777214, 0, -1, -16777215, -9]], kind)
        at = np.argsort(-wide, 1, kind="stable")[:, :4]
        case("top_k_large_" + kind, "TopK", [wide, np.array([4])], [np.take_along_axis(wide, at, 1), at], 11, constants=(1,))
    case("hardmax_of_nothing", "Hardmax", [np.zeros((3, 0, 2), "f4")], [np.zeros((3, 0, 2), "f4")], 13, axis=1)
    case("hardmax_of_nothing_axis", "Hardmax", [np.zeros((3, 0), "f4")], [np.zeros((3, 0), "f4")], 13, axis=2, refused="axis 2 is outside rank 2")
    case("arg_max_nan", "ArgMax", [x], [np.argmax(x, 1)[:, None]], 13, axis=1)
    case("arg_max_last", "ArgMax", [f4([[1, 5, 5, 2]])], [np.array([2])], 13, axis=1, keepdims=0, select_last_index=1)
    whole = rng.integers(-100, 100, (4, 9)).astype("i4")
    case("cum_sum_integers", "CumSum", [whole, np.array(1)], [np.cumsum(whole, 1, dtype="i4")], 14)
    z = rng.uniform(0.5, 1.5, (3, 11)).astype("f4")
    product = np.cumprod(z[:, ::-1].astype("f8"), 1)[:, ::-1]
    case("cum_prod_reverse_exclusive", "CumProd", [z, np.array(1)],
         [f4(np.concatenate([product[:, 1:], np.ones((3, 1))], 1))], 26, reverse=1, exclusive=1)


def integers():
    a = np.concatenate([rng.integers(-(1 << 24) + 1, 1 << 24, 400), [(1 << 24) - 1] * 100]).astype("i4")
    b = np.concatenate([rng.integers(1, 5000, 400) * rng.choice([-1, 1], 400), rng.integers(1, 1 << 24, 100)]).astype("i4")
    quotient = (np.abs(a.astype("i8")) // np.abs(b) * np.sign(a) * np.sign(b)).astype("i4")
    case("div_integers", "Div", [a, b], [quotient], 14)
    a, b = a // 2, (b // 2) | 1  # the sum of remainder and divisor must be exact, too
    case("mod_integers", "Mod", [a, b], [np.mod(a, b)], 13)
    case("fmod_integers", "Mod", [a, b], [np.fmod(a, b)], 13, fmod=1)


def scatter():
    x = normal(5, 4)
    x[2, 1] = np.inf
    at, new = np.array([[4], [0]]), normal(2, 4)
    y = x.copy()
    y[at[:, 0]] = new
    case("scatter_nd_beside_infinity", "ScatterND", [x, at, new], [y], 16)
    y = x.copy()
    np.add.at(y, [1, 1], new)
    case("scatter_nd_add", "ScatterND", [x, np.array([[1], [1]]), new], [y], 16, reduction="add")
    at, new = np.array([[3, 3, 0, 3], [1, 0, 0, 0]]), normal(2, 4)
    y = x[:2].copy()
    for i, j in np.ndindex(2, 4):
        y[i, at[i, j]] = new[i, j]
    case("scatter_elements_last", "ScatterElements", [x[:2].copy(), at, new], [y], 16, axis=1)
    y = x.copy()
    for i, j in enumerate([4, 1, 4]):
        y[j] = np.vstack([new, new])[i]
    case("scatter_nd_last", "ScatterND", [x, np.array([[4], [1], [4]]), np.vstack([new, new])[:3].copy()], [y], 16)
    for kind in ("bool", "i4", "i8"):  # numbers of which a sum passes 2^24
        def draw(*shape):
            return rng.integers(0, 2, shape).astype(bool) if kind == "bool" else rng.integers(-(1 << 24) + 1, 1 << 24, shape).astype(kind)
        data, new, rows = draw(5, 4), draw(4, 4), np.array([[4], [1], [4], [-5]])
        y = data.copy()
        for i, j in enumerate(rows[:, 0]):
            y[j] = new[i]
        case("scatter_nd_" + kind, "ScatterND", [data, rows, new], [y], 16)
        y, at = data.copy(), rng.integers(-5, 5, (4, 3))
        for i, j in np.ndindex(4, 3):
            y[at[i, j], j] = new[i, j]
        case("scatter_elements_" + kind, "ScatterElements", [data, at, new[:, :3].copy()], [y], 16)
    for reduction, join in (("add", np.logical_or), ("mul", np.logical_and), ("max", np.logical_or), ("min", np.logical_and)):
        data, new = rng.integers(0, 2, (2, 5, 4)).astype(bool)
        y = data.copy()
        join.at(y, rows[:, 0], new[:4])
        case("scatter_nd_bool_" + reduction, "ScatterND", [data, rows, new[:4].copy()], [y], 18, reduction=reduction)
    table = rng.standard_normal((5, 4)).astype("f4")
    table[1, 2], table[3, 0], table[4, 3] = np.inf, -np.inf, np.nan
    for axis in range(2):
        rows = np.array([[0, 3, -1], [2, 1, 0]])
        for constants in ((), (0,)):
            case("gather_beside_infinity_%d_%d" % (axis, len(constants)), "Gather", [table, rows], [np.take(table, rows, axis)], 13,
                 constants=constants, axis=axis)
    case("gather_nd_beside_infinity", "GatherND", [x, np.array([[1, 1], [-1, 3]])], [x[[1, -1], [1, 3]]], 13)


def rows_by_index():
    """Rows by numbers that arrive: from both ends, several times, of all sizes, with what is not finite."""
    for name, shape, axis, indices in (("rows", (50, 20), 0, (3, 9)), ("long_rows", (9, 3000), 0, (7,)), ("elements", (300,), 0, (40, 2)),
                                       ("many", (6, 16), 0, (3000,)), ("one_of_one", (1, 5), 0, (4,)), ("of_batches", (3, 7, 12), 1, (2, 5)),
                                       ("of_short_batches", (3, 7, 3), 1, (5,)), ("columns", (4, 5, 31), 2, (11,)), ("no_axis", (8, 9), 0, ())):
        x = rng.standard_normal(shape).astype("f4")
        flat = x.reshape(-1)
        for value in (np.inf, -np.inf, np.nan, -0.0):
            flat[rng.integers(0, flat.size, 1 + flat.size // 30)] = value
        for kind in ("i8", "i4"):
            at = rng.integers(-shape[axis], shape[axis], indices).astype(kind)
            case("gather_%s_%s" % (name, kind), "Gather", [x, np.asarray(at)], [np.take(x, at, axis)], 13, axis=axis)


def slices_by_tuples():
    x = rng.standard_normal((6, 5, 4, 33)).astype("f4")
    x[2, 3, 1, 7], x[0, 0, 0, 0] = np.nan, np.inf
    for depth in (1, 2, 3):
        at = np.stack([rng.integers(-n, n, (3, 7)) for n in x.shape[:depth]], -1)
        case("gather_nd_%d" % depth, "GatherND", [x, at], [x[tuple(np.moveaxis(at, -1, 0))]], 13)
    at = np.stack([rng.integers(-5, 5, (6, 9)), rng.integers(-4, 4, (6, 9))], -1)
    case("gather_nd_batches", "GatherND", [x, at], [np.stack([x[b][tuple(at[b].T)] for b in range(6)])], 13, batch_dims=1)
    table, at = rng.standard_normal((20, 37)).astype("f4"), rng.integers(-20, 20, (60, 1))
    new = rng.standard_normal((60, 37)).astype("f4")
    new[5, 6], new[17, 30], new[40, 2] = np.nan, np.inf, -np.inf
    sums = np.zeros_like(table)
    for n in range(60):
        sums[at[n, 0]] += new[n]
    case("scatter_nd_add_rows", "ScatterND", [table, at, new], [table + sums], 16, reduction="add")


def trigonometry():
    for name, f, low, high in (("Sin", np.sin, -1 << 24, 1 << 24), ("Cos", np.cos, -1 << 24, 1 << 24), ("Tan", np.tan, -1e6, 1e6),
                               ("Asin", np.arcsin, -1, 1), ("Acos", np.arccos, -1, 1), ("Atan", np.arctan, -30, 30),
                               ("Sinh", np.sinh, -89, 89), ("Cosh", np.cosh, -89, 89), ("Asinh", np.arcsinh, -1e4, 1e4),
                               ("Acosh", np.arccosh, 1, 1e4), ("Atanh", np.arctanh, -0.99, 0.99)):
        x = np.concatenate([rng.uniform(low, high, 500), [low, high]]).astype("f4")
        case(name.lower() + "_range", name, [x], [f4(f(x.astype("f8")))], 9)
    case("sin_beyond_is_nan", "Sin", [f4([2e7, np.inf])], [f4([np.nan, np.nan])], 9)


def microsoft():
    a, w, bias, skip, scale = normal(2, 6, 5), normal(2, 7, 6), normal(7), normal(2, 5, 7), normal(7)
    y = 0.5 * a.swapaxes(1, 2).astype("f8") @ w.swapaxes(1, 2)
    case("fused_matmul", "FusedMatMul", [a, w], [f4(y)], 17, domain="com.microsoft", alpha=0.5, transA=1, transB=1)
    s = y + bias
    case("fast_gelu", "FastGelu", [f4(y), bias], [f4(0.5 * s * (1 + np.tanh(np.sqrt(2 / np.pi) * (s + 0.044715 * s ** 3))))], 17,
         domain="com.microsoft")
    case("quick_gelu", "QuickGelu", [f4(y)], [f4(y / (1 + np.exp(-1.702 * y)))], 17, domain="com.microsoft")
    case("bias_add", "BiasAdd", [f4(y), bias, skip], [f4(y + bias + skip)], 17, domain="com.microsoft")
    wide, halves = normal(2, 5, 14), normal(14)
    left, right = np.split(wide.astype("f8") + halves, 2, -1)
    split = f4(left * right * (1 + np.vectorize(math.erf)(right / math.sqrt(2))) / 2)
    case("bias_split_gelu", "BiasSplitGelu", [wide, halves], [split], 17, domain="com.microsoft")
    case("bias_split_gelu_odd", "BiasSplitGelu", [f4(y), bias], [f4(y)], 17, domain="com.microsoft",
         refused="its last dimension has no halves: it is 7")
    case("bias_add_short", "BiasAdd", [f4(y), bias[:6], skip], [f4(y)], 17, domain="com.microsoft",
         refused="the bias does not have the size of the last dimension")
    s = y + skip + bias
    rest = s - s.mean(-1, keepdims=True)
    case("skip_layer_normalization", "SkipLayerNormalization", [f4(y), skip, scale, bias, bias],
         [f4(rest / np.sqrt((rest ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias), None, None, f4(s)], 17,
         domain="com.microsoft", epsilon=1e-5)
    case("skip_simplified", "SkipSimplifiedLayerNormalization", [f4(y), skip, scale, bias],
         [f4(s / np.sqrt((s ** 2).mean(-1, keepdims=True) + 1e-5) * scale), None, None, f4(s)], 17, domain="com.microsoft", epsilon=1e-5)
    case("skip_simplified_standard_epsilon", "SkipSimplifiedLayerNormalization", [f4(y), skip, scale],
         [f4((y + skip) / np.sqrt(((y + skip) ** 2).mean(-1, keepdims=True)) * scale)], 17, domain="com.microsoft")
    case("simplified", "SimplifiedLayerNormalization", [f4(y), scale],
         [f4(y / np.sqrt((y ** 2).mean(-1, keepdims=True) + 1e-5) * scale)], 17, epsilon=1e-5)
    # As ONNX Runtime writes them into models of older opsets.
    case("simplified_of_the_runtime", "SimplifiedLayerNormalization", [f4(y), scale],
         [f4(y / np.sqrt((y ** 2).mean(-1, keepdims=True) + 1e-5) * scale)], 14, axis=-1, epsilon=1e-5, stash_type=1)
    centred = y - y.mean(-1, keepdims=True)
    case("layer_normalization_of_the_runtime", "LayerNormalization", [f4(y), scale, bias],
         [f4(centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias)], 14, axis=-1, epsilon=1e-5,
         stash_type=1)


def float64():
    x, y = rng.standard_normal((3, 5)), rng.standard_normal(5) * 1e6
    case("float64_add", "Add", [x, y], [x + y], 14)
    case("float64_max", "Max", [x, y], [np.maximum(x, y)], 13)
    case("float64_matmul", "MatMul", [x, y[:, None]], [x @ y[:, None]], 13, constants=(1,))
    case("float64_softmax", "Softmax", [x], [softmax(x)], 13)
    case("float64_to_half", "Cast", [x], [x.astype("f2")], 13, to=TensorProto.FLOAT16)
    case("float64_from_half", "Cast", [x.astype("f2")], [x.astype("f2").astype("f8")], 13, to=TensorProto.DOUBLE)
    decides = "decides by numbers in f64"
    case("float64_floor", "Floor", [x], [x], 13, refused=decides)
    case("float64_arg_max", "ArgMax", [x], [np.argmax(x, 0)[None]], 13, refused=decides, axis=0)
    case("float64_less", "Less", [x, y], [x < y], 13, refused=decides)
    case("float64_to_integer", "Cast", [x], [x.astype("i8")], 13, refused=decides, to=TensorProto.INT64)
    case("float64_beyond", "Add", [x, y * 1e40], [x], 14, refused="which FP32 does not hold")
    case("float64_beyond_constant", "Add", [x, y * 1e40], [x], 14, constants=(1,), refused="which FP32 does not")


def body(nodes, inputs, outputs, constants=()):
    def typed(n, element_type=TensorProto.FLOAT):
        return helper.make_tensor_value_info(n, element_type, None)
    return helper.make_graph(nodes, "body", [typed(*n) if isinstance(n, tuple) else typed(n) for n in inputs],
                             [typed(n) for n in outputs], [numpy_helper.from_array(a, n) for n, a in constants])


def control():
    node = helper.make_node
    x, w = normal(3, 4), normal(3, 4)
    # Branches read the graph around; the condition is fixed by what is given, computed of shapes, or not known.
    then, otherwise = body([node("Add", ["x", "w"], ["t"])], [], ["t"]), body([node("Mul", ["x", "w"], ["e"])], [], ["e"])
    choose = node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)
    for value in (True, False):
        graph("if_given_%d" % value, [choose], [("x", x), ("c", np.array(value))], [("y", f4(x + w if value else x * w))],
              constants=[("w", w)])
    sign = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Greater", ["m", "w0"], ["c"])]
    for name, limit in (("if_both_then", -100), ("if_both_else", 100)):
        graph(name, sign + [choose], [("x", x)], [("y", f4(x + w if limit < 0 else x * w))], 13,
              constants=[("w", w), ("w0", f4(limit))])
    wide = body([node("Concat", ["x", "w"], ["e"], axis=0)], [], ["e"])
    graph("if_of_two_shapes", sign + [node("If", ["c"], ["y"], then_branch=then, else_branch=wide)], [("x", x)], [("y", x)], 13,
          constants=[("w", w), ("w0", f4(0))], refused="one type and shape are needed")
    # A loop with a state, a result of each step, and an If inside that reads two graphs out.
    inner_then, inner_else = body([node("Add", ["s", "x"], ["a"])], [], ["a"]), body([node("Sub", ["s", "x"], ["b"])], [], ["b"])
    steps = body([node("Mod", ["i", "two"], ["r"]), node("Equal", ["r", "zero"], ["even"]),
                  node("If", ["even"], ["next"], then_branch=inner_then, else_branch=inner_else),
                  node("Mul", ["next", "next"], ["square"]), node("Less", ["i", "last"], ["more"])],
                 [("i", TensorProto.INT64), ("c", TensorProto.BOOL), "s"], ["more", "next", "square"],
                 [("two", np.array(2)), ("zero", np.array(0)), ("last", np.array(2))])
    s, states = w.astype("f8"), []
    for i in range(4):
        s = s + x if i % 2 == 0 else s - x
        states.append(s)
    loop = node("Loop", ["n", "", "w"], ["y", "z"], body=steps)
    graph("loop_count", [loop], [("x", x), ("n", np.array(2)), ("w", w)], [("y", f4(states[1])), ("z", f4(np.stack(states[:2]) ** 2))], 16)
    loop = node("Loop", ["", "yes", "w"], ["y", "z"], body=steps)
    graph("loop_while", [loop], [("x", x), ("w", w)], [("y", f4(states[2])), ("z", f4(np.stack(states[:3]) ** 2))], 16,
          constants=[("yes", np.array(True))])
    many = node("Loop", ["n", "", "w"], ["y", "z"], body=body(
        [node("Identity", ["c"], ["d"]), node("Add", ["s", "x"], ["a"])], [("i", TensorProto.INT64), ("c", TensorProto.BOOL), "s"],
        ["d", "a", "a"]))
    graph("loop_without_step", [many], [("x", x), ("w", w)], [("y", w), ("z", np.zeros((0,) + np.broadcast_shapes(w.shape, x.shape), "f4"))], 16,
          [("n", np.array(0))])
    wide = body([node("Identity", ["c"], ["d"]), node("Add", ["s", "x"], ["a"])], [("i", TensorProto.INT64), ("c", TensorProto.BOOL), "s"],
                ["d", "a"] + 20 * ["a"])
    graph("loop_of_many_results", [node("Loop", ["n", "", "w"], ["y"] + ["z%d" % i for i in range(20)], body=wide)], [("x", x), ("w", w)], [("y", w)], 16,
          [("n", np.array(1000))], refused="20 results each are too many")
    graph("loop_too_long", [many], [("x", x), ("w", w)], [("y", w), ("z", w)], 16, [("n", np.array(5000))],
          refused="more than 1024 steps")
    graph("loop_unknown", [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["n"], to=TensorProto.INT64), many],
          [("x", normal(600, 4)), ("w", w)], [("y", w), ("z", w)], 16, refused="how often it runs is not constant")
    endless = body([node("ReduceMax", ["s"], ["m"], keepdims=0), node("Less", ["m", "x0"], ["d"]), node("Add", ["s", "s"], ["a"])],
                   [("i", TensorProto.INT64), ("c", TensorProto.BOOL), "s"], ["d", "a"])
    graph("loop_by_values", [node("Loop", ["", "yes", "w"], ["y"], body=endless)], [("w", w)], [("y", w)], 16,
          [("yes", np.array(True)), ("x0", f4(9))], refused="its condition is not known in step 1")
    # A scan over the last dimension of one input and, backwards, the first of another.
    z = normal(4, 3)
    scan = node("Scan", ["b", "x", "z"], ["y", "all"], num_scan_inputs=2, scan_input_axes=[-1, 0], scan_input_directions=[0, 1],
                scan_output_axes=[1], scan_output_directions=[1],
                body=body([node("Mul", ["p", "q"], ["pq"]), node("Add", ["s", "pq"], ["t"]), node("Neg", ["t"], ["u"])],
                          ["s", "p", "q"], ["t", "u"]))
    state, rows = np.zeros(3), []
    for t in range(4):
        state = state + x[:, t].astype("f8") * z[3 - t]
        rows.insert(0, -state)
    graph("scan_axes", [scan], [("b", np.zeros(3, "f4")), ("x", x), ("z", z)], [("y", f4(state)), ("all", f4(np.stack(rows, 1)))], 16)
    # Without a step the state is as it was, and nothing is stacked.
    start, one = normal(3), normal(3, 1)
    graph("scan_without_step", [scan, node("Neg", ["y"], ["w"]), node("Concat", ["all", "one"], ["v"], axis=1)],
          [("b", start), ("x", np.zeros((3, 0), "f4")), ("z", np.zeros((0, 3), "f4")), ("one", one)],
          [("all", np.zeros((3, 0), "f4")), ("w", -start), ("v", one)], 16)


def flexible_attention():
    """Bodies that read the graph around them: a bias on scores, a share of probabilities; one head of keys for two of queries."""
    node = helper.make_node
    q, k, v = normal(1, 4, 3, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 6)
    bias, share = normal(4, 3, 5), f4(0.5)
    wide = [a.astype("f8") for a in (q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))]
    scores = 0.3 * wide[0] @ wide[1].swapaxes(2, 3)
    score_mod = body([node("Add", ["s", "bias"], ["t"])], ["s"], ["t"])
    prob_mod = body([node("Mul", ["p", "share"], ["r"])], ["p"], ["r"])
    given = [("q", q), ("k", k), ("v", v), ("bias", bias), ("share", share)]

    def flex(name, wanted, refused="", used=given, **attributes):
        graph(name, [node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **attributes)], used, [("y", f4(wanted))], 26,
              domains=["ai.onnx.preview"], refused=refused)
    flex("flex_attention", softmax(scores + bias) @ wide[2] * 0.5, scale=0.3, score_mod=score_mod, prob_mod=prob_mod)
    flex("flex_attention_probabilities", softmax(scores) @ wide[2] * 0.5, used=given[:3] + given[4:], scale=0.3, prob_mod=prob_mod)
    flex("flex_attention_flat", np.repeat(wide[2].mean(2, keepdims=True), 3, 2), used=given[:3], scale=0.0)
    flex("flex_attention_scale_below_zero", softmax(scores * (-0.2 / 0.3)) @ wide[2], used=given[:3], scale=-0.2)
    flex("flex_attention_endless_scale", q, "its scale is not finite", given[:3], scale=float("-inf"))
    flex("flex_attention_two", q, "score_mod has other than one input and one output", given[:3],
         score_mod=body([node("Add", ["s", "u"], ["t"])], ["s", "u"], ["t"]))


def functions():
    node = helper.make_node
    def function(name, inputs, outputs, nodes, attributes=()):
        return helper.make_function("own", name, inputs, outputs, nodes, [helper.make_operatorsetid("", 13), helper.make_operatorsetid("own", 1)],
                                    attributes)
    slope = node("LeakyRelu", ["h"], ["r"])
    slope.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    layer = function("Layer", ["a", "b", "c"], ["r"], [node("MatMul", ["a", "b"], ["p"]), node("Add", ["p", "c"], ["h"]), slope], ["slope"])
    clip = function("Least", ["a", "low"], ["r"], [node("Clip", ["a", "low"], ["r"])])
    two = function("Two", ["a", "b", "c"], ["r", "s"], [node("Layer", ["a", "b", "c"], ["s"], domain="own", slope=0.25),
                                                        node("Layer", ["s", "b", "c"], ["t"], domain="own"), node("Least", ["t"], ["r"], domain="own")])
    x, w, c = normal(2, 4), normal(4, 4), normal(4)
    def leaky(a, alpha):
        return np.where(a < 0, alpha * a, a)
    s = leaky(x.astype("f8") @ w + c, 0.25)
    graph("functions", [node("Two", ["x", "w", "c"], ["y", "z"], domain="own")], [("x", x)], [("y", f4(leaky(s @ w + c, 0.01))), ("z", f4(s))],
          16, [("w", w), ("c", c)], functions=[layer, clip, two], domains=["own"])
    same = function("Same", ["a"], ["a"], [])
    graph("functions_that_pass_through", [node("Same", ["x"], ["a"], domain="own"), node("Add", ["a", "x"], ["y"])], [("x", x)], [("y", x + x)], 16,
          functions=[same], domains=["own"])
    twice = [function("F%d" % i, ["a"], ["b"], [node("F%d" % (i + 1), ["a"], ["h"], domain="own"), node("F%d" % (i + 1), ["h"], ["b"], domain="own")])
             for i in range(16)] + [function("F16", ["a"], ["a"], [])]
    graph("functions_by_powers_of_two", [node("F0", ["x"], ["y"], domain="own")], [("x", x)], [("y", x)], 16, functions=twice, domains=["own"],
          refused="are entered more than 16384 times")
    forever = function("Forever", ["a"], ["r"], [node("Forever", ["a"], ["r"], domain="own")])
    graph("functions_without_end", [node("Forever", ["x"], ["y"], domain="own")], [("x", x)], [("y", x)], 16, functions=[forever],
          domains=["own"], refused="functions are nested too deeply")


def bits():
    for name, dtype, high in (("u8", "u1", 256), ("i8", "i1", 128), ("i16", "i2", 1 << 15), ("i32", "i4", 1 << 24), ("u64", "u8", 1 << 24)):
        low = 0 if dtype[0] == "u" else -high + 1
        a, b = rng.integers(low, high, (3, 40)).astype(dtype), rng.integers(low, high, 40).astype(dtype)
        a[0, :2] = low, high - 1
        for operator, f in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
            case("bitwise_%s_%s" % (operator.lower(), name), "Bitwise" + operator, [a, b], [f(a, b)], 18)
    case("bitwise_not_i16", "BitwiseNot", [a.astype("i2")], [~a.astype("i2")], 18)
    case("bitwise_not_u8", "BitwiseNot", [a.astype("u1")], [~a.astype("u1")], 18)
    case("bitwise_not_u32", "BitwiseNot", [a.astype("u4")], [~a.astype("u4")], 18, refused="element type u32 is not supported")
    case("bitwise_beyond_constant", "BitwiseAnd", [a.astype("i8"), np.array(1 << 40, "i8")], [a], 18, constants=(1,),
         refused="whose bits FP32 does not hold")
    case("bitwise_constant", "BitwiseXor", [a.astype("i8"), np.array((1 << 24) - 1, "i8")], [a.astype("i8") ^ ((1 << 24) - 1)], 18, constants=(1,))
    case("bitwise_beyond", "BitwiseAnd", [a + (1 << 24), b], [a + (1 << 24) & b], 18)
    many = rng.integers(0, 1 << 40, (40, 40))
    case("bitwise_beyond_many", "BitwiseAnd", [many, many], [many], 18, refused="outside")
    wide = rng.integers(-2 ** 63, 2 ** 63 - 1, (2, 3, 5))
    for operator, f in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
        case("bitwise_%s_wide" % operator.lower(), "Bitwise" + operator, [wide, wide[::-1, 1:2].copy()], [f(wide, wide[::-1, 1:2])], 18)
    case("bitwise_not_wide", "BitwiseNot", [wide.astype("u4")], [~wide.astype("u4")], 18)
    case("bit_shift_wide", "BitShift", [wide.astype("u8"), np.array([0, 1, 63, 64, 7], "u8")],
         [np.where(np.arange(5) == 3, 0, wide.astype("u8") << np.array([0, 1, 63, 0, 7], "u8"))], 11, direction="LEFT")
    x = rng.standard_normal((3, 7)).astype("f4")
    x[0, :3] = [np.inf, -0.0, 1e-42]
    case("bit_cast_float_integer", "BitCast", [x], [x.view("i4")], 26, to=6)
    case("bit_cast_integer_float", "BitCast", [x.view("u4")], [x], 26, to=1)
    case("bit_cast_double", "BitCast", [x.astype("f8")], [x.astype("f8").view("i8")], 26, to=7)
    case("bit_cast_computed", "BitCast", [normal(60, 60)], [normal(60, 60).view("i4")], 26, refused="the bits of f32 as those of i32", to=6)
    p, q = rng.integers(0, 1 << 20, (4, 50)), rng.integers(1, 900, 50)
    for dtype in ("u1", "u2", "u4", "u8", "i4"):
        case("div_" + dtype, "Div", [p.astype(dtype), np.maximum(q.astype(dtype), 1)], [p.astype(dtype) // np.maximum(q.astype(dtype), 1)], 14)
    for dtype in ("u1", "u2", "u4", "u8"):
        size = 8 * np.dtype(dtype).itemsize
        x = rng.integers(0, min(1 << 24, 1 << size), 200).astype(dtype)
        y = rng.integers(0, size, 200).astype(dtype)
        case("bit_shift_left_" + dtype, "BitShift", [x, y], [x << y], 11, direction="LEFT")
        case("bit_shift_right_" + dtype, "BitShift", [x, y], [x >> y], 11, direction="RIGHT")
    x, least, shift = np.arange(1900, 2100, dtype="u4"), np.array(2000, "u4"), np.array(3, "u4")
    for operator, attributes in (("BitwiseOr", {}), ("BitShift", {"direction": "RIGHT"})):  # of what falls below 0
        below = [helper.make_node("Sub", ["x", "least"], ["d"]), helper.make_node(operator, ["d", "shift"], ["y"], **attributes)]
        graph("below_0_" + operator, below, [("x", x)], [("y", x)], 18, [("least", least), ("shift", shift)], refused="passes what the array computes exactly")
        x = np.arange(2000, 2200, dtype="u4")
        graph("from_0_" + operator, below, [("x", x)], [("y", x - 2000 | 3 if operator == "BitwiseOr" else x - 2000 >> 3)], 18,
              [("least", least), ("shift", shift)])
        x = np.arange(1900, 2100, dtype="u4")
    large = np.array([[2 ** 63 + 5, 7, 2 ** 64 - 1], [3, 2 ** 63 - 1, 9]], "u8")
    last = np.array([1], "i8")
    case("unsigned_reduce_max", "ReduceMax", [large, last], [large.max(1, keepdims=True)], 18, constants=(1,))
    case("unsigned_reduce_min", "ReduceMin", [large, last], [large.min(1, keepdims=True)], 18, constants=(1,))
    case("unsigned_arg_max", "ArgMax", [large], [large.argmax(1)[:, None]], 13, axis=1)
    case("unsigned_arg_min", "ArgMin", [large], [large.argmin(1)[:, None]], 13, axis=1)
    case("unsigned_abs", "Abs", [large], [large], 13)
    case("bit_shift_signed", "BitShift", [x.astype("i4"), y.astype("i4")], [x.astype("i4")], 11, refused="only unsigned", direction="LEFT")


def powers():
    x, y = rng.uniform(-4, 4, (4, 50)).astype("f4"), rng.uniform(-9, 9, 50).astype("f4")
    y[:20] = np.round(y[:20])
    x[0, :9] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2]
    y[:9] = [0, -3, np.nan, np.inf, -2, 3, 0, np.inf, -np.inf]
    many_x, many_y = np.repeat(x, 8, 0), np.tile(y, 8)[:50]
    with np.errstate(all="ignore"):
        case("pow_arriving", "Pow", [many_x, np.broadcast_to(many_y, many_x.shape).copy()[:32]], [f4(many_x.astype("f8") ** many_y)], 13)
        specials = f4([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 0.5, -0.5])
        a, e = (np.tile(specials, 100)[:1100], np.repeat(np.concatenate([specials, [3, -3, 4, 2.5]]).astype("f4"), 11))
        a = np.tile(specials, 15)
        a, e = np.tile(a, 7), np.tile(e, 7)
        case("pow_specials", "Pow", [a, e], [f4(a.astype("f8") ** e)], 13)
    whole = rng.integers(-9, 9, (3, 4)).astype("i4")
    case("pow_integers", "Pow", [whole, np.array([0, 1, 2, 5])], [whole ** np.array([0, 1, 2, 5], "i4")], 15)
    case("pow_integers_by_floats", "Pow", [whole, f4([3])], [whole ** 3], 15)
    case("pow_negative", "Pow", [whole, np.array([-1])], [whole], 15, refused="must be constant, whole")
    case("clip_integers", "Clip", [whole, np.array(-3, "i4"), np.array(4, "i4")], [np.clip(whole, -3, 4)], 13)
    case("relu_integers", "Relu", [whole], [np.maximum(whole, 0)], 14)
    case("relu_bytes", "Relu", [whole.astype("i1")], [np.maximum(whole.astype("i1"), 0)], 14)
    # A bound that is not given is the type's largest number.
    for kind, most in (("f2", 65504), ("f4", np.finfo("f4").max), ("f8", np.inf)):
        ends = np.array([np.inf, -np.inf, np.nan, 3, -5], kind)
        low = np.array(-1, kind)
        case("clip_ends_" + kind, "Clip", [ends], [np.clip(ends, -most, most).astype(kind)], 13)
        case("clip_low_" + kind, "Clip", [ends, low], [np.clip(ends, -1, most).astype(kind)], 13, constants=(1,))
        case("clip_high_" + kind, "Clip", [ends, None, low], [np.clip(ends, -most, -1).astype(kind)], 13, constants=(2,))
        graph("clip_arriving_" + kind, [helper.make_node("ReduceSum", ["l"], ["low"], keepdims=0), helper.make_node("Clip", ["x", "low"], ["y"])],
              [("x", ends), ("l", np.full(2, -0.5, kind))], [("y", np.clip(ends, -1, most).astype(kind))], 13)
    case("clip_integers_high", "Clip", [whole, None, np.array(4, "i4")], [np.minimum(whole, 4)], 13)


def windows_of(x, kernel, stride, dilation, pads, fill):
    """[N, C, places.., kernel..] of x padded with `fill`."""
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pads[:3], pads[3:])), constant_values=fill)
    out = [(x.shape[2 + d] - (kernel[d] - 1) * dilation[d] - 1) // stride[d] + 1 for d in range(3)]
    made = np.empty(x.shape[:2] + tuple(out) + tuple(kernel))
    for at in np.ndindex(*kernel):
        part = tuple(slice(at[d] * dilation[d], at[d] * dilation[d] + (out[d] - 1) * stride[d] + 1, stride[d]) for d in range(3))
        made[(Ellipsis,) + at] = x[(slice(None), slice(None)) + part]
    return made


def volumes():
    x, w, b = normal(2, 4, 7, 6, 9), normal(6, 2, 3, 2, 3), normal(6)
    how = dict(strides=[2, 1, 2], dilations=[1, 2, 1], pads=[1, 0, 2, 0, 1, 1])
    parts = windows_of(x.astype("f8"), (3, 2, 3), how["strides"], how["dilations"], how["pads"], 0)
    y = np.stack([np.tensordot(parts[:, 2 * (o // 3):2 * (o // 3) + 2], w[o].astype("f8"), ([1, 5, 6, 7], [0, 1, 2, 3])) + b[o]
                  for o in range(6)], 1)
    case("conv_3d", "Conv", [x, w, b], [f4(y)], 13, constants=(1, 2), group=2, **how)
    case("conv_3d_arriving", "Conv", [x, w], [f4(y - b[:, None, None, None])], 13, group=2, **how)
    # The transpose of the linear map, by its definition: <conv(x), y> = <x, transposed(y)>.
    v = normal(2, 6, 3, 2, 4)
    z = np.zeros((2, 4, 8, 7, 10))
    for n, c, i, j, k, p, q, r in np.ndindex(2, 6, 3, 2, 4, 3, 2, 3):
        at = (2 * i + p - 1, 3 * j + 2 * q, 2 * k + r)
        if all(0 <= a < s for a, s in zip(at, (6, 6, 9))):
            z[(n, slice(2 * (c // 3), 2 * (c // 3) + 2)) + at] += float(v[n, c, i, j, k]) * w[c, :, p, q, r].astype("f8")
    case("conv_transpose_3d", "ConvTranspose", [v, w, b[:4]], [f4(z[:, :, :6, :6, :9] + b[:4][:, None, None, None])], 13, constants=(1,), group=2,
         strides=[2, 3, 2], dilations=[1, 2, 1], pads=[1, 0, 0, 0, 0, 0], output_padding=[0, 0, 0])
    # The same without pads, of which the modes cut.
    whole = np.zeros((2, 4, 7, 6, 9))
    for n, c, i, j, k, p, q, r in np.ndindex(2, 6, 3, 2, 4, 3, 2, 3):
        whole[n, 2 * (c // 3):2 * (c // 3) + 2, 2 * i + p, 3 * j + 2 * q, 2 * k + r] += float(v[n, c, i, j, k]) * w[c, :, p, q, r].astype("f8")
    how = dict(group=2, strides=[2, 3, 2], dilations=[1, 2, 1])
    case("conv_transpose_3d_upper", "ConvTranspose", [v, w], [f4(whole[:, :, :6, :6, :8])], 13, auto_pad="SAME_UPPER", **how)
    case("conv_transpose_3d_lower", "ConvTranspose", [v, w], [f4(whole[:, :, 1:, :, 1:])], 13, auto_pad="SAME_LOWER", **how)
    case("conv_transpose_3d_valid", "ConvTranspose", [v, w], [f4(whole)], 13, auto_pad="VALID", **how)
    longer = np.pad(whole, [(0, 0)] * 4 + [(0, 1)])
    case("conv_transpose_3d_shape", "ConvTranspose", [v, w], [f4(longer[:, :, 1:6])], 13, output_shape=[5, 6, 10], **how)
    case("conv_transpose_3d_beyond", "ConvTranspose", [v, w], [f4(whole)], 13, output_shape=[5, 6, 11], refused="the windows end at 9", **how)
    pads, fill = [1, 0, 1, 1, 1, 0], -np.inf
    best = windows_of(x.astype("f8"), (2, 3, 2), (2, 2, 1), (1, 1, 1), pads, fill).max((-1, -2, -3))
    case("max_pool_3d", "MaxPool", [x], [f4(best)], 12, kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=pads)
    means = np.nanmean(windows_of(x.astype("f8"), (2, 3, 2), (2, 2, 1), (1, 1, 1), pads, np.nan), (-1, -2, -3))
    case("average_pool_3d", "AveragePool", [x], [f4(means)], 12, kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=pads)
    means = windows_of(x.astype("f8"), (2, 3, 2), (2, 2, 1), (1, 1, 1), pads, 0).mean((-1, -2, -3))
    case("average_pool_3d_with_pads", "AveragePool", [x], [f4(means)], 12, kernel_shape=[2, 3, 2], strides=[2, 2, 1], pads=pads,
         count_include_pad=1)
    case("conv_3d_too_small", "Conv", [x[:, :, :1], w], [x], 13, group=2, refused="does not fit")


def grids():
    def sample(x, grid, corners, mode, padding):
        def place(g, size):
            return (g + 1) / 2 * (size - 1) if corners else ((g + 1) * size - 1) / 2
        def back(p, size):
            low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
            while high > low and not low <= p <= high:
                p = 2 * low - p if p < low else 2 * high - p
            return p
        def element(n, c, at):
            at = list(at)
            for d in range(2):
                size = x.shape[2 + d]
                if padding == "reflection":
                    at[d] = round(back(at[d], size))
                if padding != "zeros":
                    at[d] = min(max(at[d], 0), size - 1)
                elif not 0 <= at[d] < size:
                    return 0.0
            return float(x[(n, c) + tuple(at)])
        def kernel(t):
            t, a = abs(t), -0.75
            if mode == "linear":
                return max(0, 1 - t)
            return (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1 if t <= 1 else a * (t ** 3 - 5 * t ** 2 + 8 * t - 4) if t < 2 else 0
        y = np.zeros(x.shape[:2] + grid.shape[1:3])
        for n, c, i, j in np.ndindex(*y.shape):
            at = [place(float(grid[n, i, j, 1 - d]), x.shape[2 + d]) for d in range(2)]
            if mode != "cubic" and padding != "zeros":
                at = [min(max(back(p, s) if padding == "reflection" else p, 0), s - 1) for p, s in zip(at, x.shape[2:])]
            if mode == "nearest":
                y[n, c, i, j] = element(n, c, [int(np.rint(p)) for p in at])
                continue
            base = [int(np.floor(p)) for p in at]
            for u, v in np.ndindex(4, 4):
                k, l = base[0] + u - 1, base[1] + v - 1
                factor = kernel(at[0] - k) * kernel(at[1] - l)
                if factor:
                    y[n, c, i, j] += factor * element(n, c, (k, l))
        return f4(y)
    x, grid = normal(2, 3, 5, 4), rng.uniform(-1.7, 1.7, (2, 3, 7, 2)).astype("f4")
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                case("grid_sample_%s_%s_%d" % (mode, padding, corners), "GridSample", [x, grid], [sample(x, grid, corners, mode, padding)], 20,
                     mode=mode, padding_mode=padding, align_corners=corners)
    away = grid.copy()  # what lies far outside is 0, and so is what lies nowhere
    away[0, 1, 2, 0] = away[1, 0, 3, 1] = away[1, 2, 5, 0] = 1000
    nowhere = away.copy()
    nowhere[0, 1, 2, 0], nowhere[1, 0, 3, 1], nowhere[1, 2, 5, 0] = np.inf, np.nan, -np.inf
    for mode in ("linear", "nearest", "cubic"):
        case("grid_sample_nowhere_%s" % mode, "GridSample", [x, nowhere], [sample(x, away, 0, mode, "zeros")], 20, mode=mode)
    x[1, 2, 3, 1] = np.inf  # in what lies beside it alone
    for mode in ("linear", "nearest", "cubic"):
        case("grid_sample_infinity_%s" % mode, "GridSample", [x, grid], [sample(x, grid, 0, mode, "zeros")], 20, mode=mode)
    x[1, 2, 3, 1] = 0.5
    case("grid_sample_unknown", "GridSample", [x, grid], [x], 20, mode="spline", refused="is not known")
    def between(a, axis, factor):
        at = np.minimum(np.arange(int(a.shape[axis] * factor)) / factor, a.shape[axis] - 1)
        low, shape = np.floor(at).astype(int), [-1 if d == axis else 1 for d in range(a.ndim)]
        share = (at - low).reshape(shape)
        return a.take(low, axis) * (1 - share) + a.take(np.minimum(low + 1, a.shape[axis] - 1), axis) * share
    wide = f4(between(between(x, 2, 2), 3, 1.5))
    case("upsample_linear_scales_attribute", "Upsample", [x], [wide], 7, mode="linear", scales=[1.0, 1.0, 2.0, 1.5])
    theta = normal(2, 2, 3)
    for corners in (0, 1):
        ys, xs = (np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in (4, 6))
        regular = np.stack([np.broadcast_to(xs, (4, 6)), np.broadcast_to(ys[:, None], (4, 6)), np.ones((4, 6))], -1)
        case("affine_grid_%d" % corners, "AffineGrid", [theta, np.array([2, 9, 4, 6])], [f4(np.einsum("hwk,nik->nhwi", regular, theta))], 20,
             align_corners=corners)


def selected():
    x = np.array([[3, 0, 1], [0, 3, 0]], "f4")
    case("non_zero", "NonZero", [x], [np.stack(np.nonzero(x))], 13)
    many = np.maximum(normal(40, 40), 0)
    case("non_zero_arriving", "NonZero", [many], [np.stack(np.nonzero(many))], 13)
    data = normal(3, 5)
    keep = np.array([True, False, False, True])
    case("compress_axis", "Compress", [data, keep], [np.compress(keep, data, 1)], 11, axis=-1)
    case("compress_flat", "Compress", [data, keep], [np.compress(keep, data)], 11)
    case("compress_beyond", "Compress", [data[:, :2].copy(), keep], [data], 11, axis=1, refused="beyond the 2 slices")
    values = np.array([4, -1, 4, 7, -1, 1 << 60, 7])
    y, first, inverse, counts = np.unique(values, True, True, True)
    case("unique_sorted", "Unique", [values], [y, first, inverse, counts], 11)
    order = np.argsort(first)
    place = np.argsort(order)
    case("unique_unsorted", "Unique", [values], [y[order], first[order], place[inverse], counts[order]], 11, sorted=0)
    rows = np.array([[1, 0, 1], [0, 2, 0], [1, 0, 1], [0, -2, 0]], "f4")
    y, first, inverse, counts = np.unique(rows, True, True, True, axis=0)
    case("unique_rows", "Unique", [rows], [y, first, inverse, counts], 11, axis=-2)
    boxes = f4([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1.1, 0, 0.1], [0, 5, 1, 6], [0, 5.2, 1, 6.2], [9, 9, 10, 10]]])
    scores = f4([[[0.9, 0.95, 0.5, 0.3, 0.8, 0.1], [0.1, 0.2, 0.3, 0.9, 0.05, 0.6]]])
    one = lambda v, t: np.array([v], t)
    case("non_max_suppression", "NonMaxSuppression", [boxes, scores, one(3, "i8"), one(0.5, "f4"), one(0.15, "f4")],
         [np.array([[0, 0, 1], [0, 0, 4], [0, 1, 3], [0, 1, 5], [0, 1, 2]])], 11)
    x = normal(4, 6)
    case("dropout_mask", "Dropout", [x], [x, np.ones((4, 6), bool)], 13)
    case("dropout_mode_given", "Dropout", [x, f4(0.5), np.array(False)], [x], 13)
    case("dropout_trains", "Dropout", [x, f4(0.5), np.array(True)], [x], 13, refused="is for training")


def greedy(boxes, scores, most, overlap, lowest):
    """Rows (batch, class, box) from the best score on, of boxes y1, x1, y2, x2 that overlap none before."""
    rows = []
    for n, c in np.ndindex(scores.shape[:2]):
        chosen = []
        for i in np.argsort(-scores[n, c], kind="stable"):
            if scores[n, c, i] <= lowest or len(chosen) == most:
                break
            a, others = boxes[n, i], boxes[n, chosen]
            sides = np.minimum(a[2:], others[:, 2:]) - np.maximum(a[:2], others[:, :2])
            both = np.prod(np.maximum(sides, 0), 1)
            union = np.prod(a[2:] - a[:2]) + np.prod(others[:, 2:] - others[:, :2], 1) - both
            if not len(chosen) or (both / union <= overlap).all():
                chosen.append(i)
        rows += [(n, c, i) for i in chosen]
    return np.array(rows, "i8").reshape(-1, 3)


def host_parts():
    """What values size, of what the array computes."""
    node = helper.make_node
    x = normal(5, 9)
    places = np.stack(np.nonzero(x > 0))
    graph("host_non_zero", [node("Relu", ["x"], ["y"]), node("NonZero", ["y"], ["at"]), node("Transpose", ["at"], ["rows"]),
                            node("GatherND", ["y", "rows"], ["v"]), node("ReduceSum", ["v"], ["sum"], keepdims=0), node("Neg", ["y"], ["z"])],
          [("x", x)], [("at", places), ("v", x[x > 0]), ("sum", f4(x[x > 0].astype("f8").sum())), ("z", -np.maximum(x, 0))], 13)
    graph("host_nothing", [node("Relu", ["x"], ["y"]), node("NonZero", ["y"], ["at"]), node("Transpose", ["at"], ["rows"])],
          [("x", -np.abs(x))], [("rows", np.zeros((0, 2), "i8"))], 13)
    w = np.round(3 * normal(9, 4)).astype("f4")
    small = np.round(2 * x).astype("f4")
    y = small @ w
    keep = y.max(1) > 4
    graph("host_compress", [node("MatMul", ["x", "w"], ["y"]), node("ReduceMax", ["y"], ["m"], axes=[1], keepdims=0), node("Greater", ["m", "four"], ["k"]),
                            node("Compress", ["y", "k"], ["z"], axis=0), node("MatMul", ["z", "t"], ["o"])],
          [("x", small)], [("z", y[keep]), ("o", y[keep] @ w.T)], 13, [("w", w), ("t", w.T.copy()), ("four", f4(4))])
    u, first, inverse, counts = np.unique(np.floor(x), True, True, True)
    graph("host_unique", [node("Floor", ["x"], ["y"]), node("Unique", ["y"], ["u", "i", "inv", "c"], sorted=1)], [("x", x)],
          [("u", u), ("i", first), ("inv", inverse.ravel()), ("c", counts)], 13)
    graph("host_two", [node("Relu", ["x"], ["y"]), node("NonZero", ["y"], ["a"]), node("Floor", ["x"], ["f"]), node("NonZero", ["f"], ["b"]),
                       node("Concat", ["a", "b"], ["both"], axis=1)], [("x", x)],
          [("a", places), ("both", np.concatenate([places, np.stack(np.nonzero(np.floor(x)))], 1))], 13)
    corner, size, scores = rng.uniform(0, 4, (2, 60, 2)), rng.uniform(0.5, 3, (2, 60, 2)), normal(2, 3, 60)
    p = f4(1 / (1 + np.exp(-scores.astype("f8"))))
    boxes = f4(np.concatenate([corner, corner + size], 2))
    graph("host_detector", [node("Sigmoid", ["s"], ["p"]), node("Add", ["c", "d"], ["far"]), node("Concat", ["c", "far"], ["b"], axis=2),
                            node("NonMaxSuppression", ["b", "p", "most", "overlap", "low"], ["chosen"]), node("Gather", ["chosen", "two"], ["which"], axis=1),
                            node("Gather", ["b", "which"], ["picked"], axis=1)],
          [("s", scores), ("c", f4(corner)), ("d", f4(size))],
          [("chosen", greedy(boxes.astype("f8"), p, 4, 0.3, 0.6)), ("picked", boxes[:, greedy(boxes.astype("f8"), p, 4, 0.3, 0.6)[:, 2]])], 13,
          [("most", np.array(4)), ("overlap", f4(0.3)), ("low", f4(0.6)), ("two", np.array(2))])


def signals():
    def parts(c):
        return f4(np.stack([c.real, c.imag], -1))
    x = normal(2, 9, 4)
    z = x + 1j * normal(2, 9, 4)
    case("dft_real_axis_1", "DFT", [x[..., None]], [parts(np.fft.fft(x, axis=1))], 17, axis=1)
    case("dft_padded", "DFT", [x[..., None], np.array(12), np.array(-2)], [parts(np.fft.fft(x, 12, axis=2))], 20)
    case("dft_cut_onesided", "DFT", [x[..., None], np.array(5)], [parts(np.fft.rfft(x, 5, axis=1))], 17, axis=1, onesided=1)
    case("dft_inverse", "DFT", [parts(z), None, np.array(0)], [parts(np.fft.ifft(z, axis=0))], 20, inverse=1)
    case("dft_inverse_onesided", "DFT", [parts(np.fft.rfft(x, axis=1)), np.array(9), np.array(1)], [x[..., None]], 20, inverse=1, onesided=1)
    case("dft_no_axis", "DFT", [x[..., None], None, np.array(3)], [x], 20, refused="is outside")
    long, window = normal(2, 50), rng.uniform(0, 1, 14).astype("f4")
    at = np.arange(0, 50 - 14 + 1, 5)
    frames = np.stack([long[:, a:a + 14] * window for a in at], 1)
    for constants in ((), (2,)):
        case("stft_window_%d" % len(constants), "STFT", [long[..., None], np.array(5), window, np.array(14)], [parts(np.fft.rfft(frames))], 17,
             constants=constants)
    text = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], "i4")
    def gram(row, *g):
        n, found = len(g), 0
        for skip in range(1, 4 if n > 1 else 2):
            found += sum(all(row[i + j * skip] == g[j] for j in range(n)) for i in range(len(row) - (n - 1) * skip))
        return found
    grams = [(2,), (3,), (5,), (4,), (5, 6), (7, 8), (6, 7)]
    wanted = f4([[gram(row, *g) for g in grams] for row in text])
    how = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=2, ngram_counts=[0, 4], ngram_indexes=list(range(7)),
               pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    case("tf_idf", "TfIdfVectorizer", [text], [wanted], 9, **how)
    case("tf_idf_row", "TfIdfVectorizer", [text[0]], [np.minimum(wanted[0], 1)], 9, **dict(how, mode="IDF"))
    case("tf_idf_no_pool", "TfIdfVectorizer", [text], [wanted], 9, refused="its pool", **dict(how, ngram_counts=[0, 3]))


def recurrent():
    functions = {"Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v)), "Relu": lambda v: np.maximum(v, 0),
                 "Softsign": lambda v: v / (1 + abs(v)), "HardSigmoid": lambda v: np.clip(0.2 * v + 0.5, 0, 1)}
    x, w, r, bias = normal(6, 3, 4), normal(2, 20, 4), normal(2, 20, 5), normal(2, 40)
    h0, c0, p, lengths = normal(2, 3, 5), normal(2, 3, 5), normal(2, 15), np.array([6, 2, 4], "i4")
    names = ["Sigmoid", "Tanh", "Softsign", "HardSigmoid", "Relu", "Tanh"]
    def lstm(peep, lens, acts):
        y, hs, cs = np.zeros((6, 2, 3, 5)), [], []
        for d in range(2):
            f, g, k = (functions[n] for n in acts[3 * d:3 * d + 3])
            h, c = h0[d].astype("f8"), c0[d].astype("f8")
            for t in range(6) if not d else range(5, -1, -1):
                i, o, u, n = np.split(x[t] @ w[d].T.astype("f8") + h @ r[d].T + bias[d, :20] + bias[d, 20:], 4, 1)
                pi, po, pf = np.split(p[d].astype("f8") * peep, 3)
                new_c = f(u + pf * c) * c + f(i + pi * c) * g(n)
                new_h = f(o + po * new_c) * k(new_c)
                lives = (lens > t)[:, None]
                y[t, d] = np.where(lives, new_h, 0)
                h, c = np.where(lives, new_h, h), np.where(lives, new_c, c)
            hs.append(h)
            cs.append(c)
        return [f4(y), f4(np.stack(hs)), f4(np.stack(cs))]
    plain = ["Sigmoid", "Tanh", "Tanh"] * 2
    how = dict(hidden_size=5, direction="bidirectional")
    case("lstm_peepholes", "LSTM", [x, w, r, bias, None, h0, c0, p], lstm(1, np.full(3, 6), plain), 14, constants=(1, 2, 3, 7), **how)
    case("lstm_lengths", "LSTM", [x, w, r, bias, lengths, h0, c0], lstm(0, lengths, plain), 14, constants=(1, 2, 3), **how)
    case("lstm_lengths_known", "LSTM", [x, w, r, bias, lengths, h0, c0, p], lstm(1, lengths, names), 14, constants=(1, 2, 3, 4),
         activations=names, **how)
    case("lstm_unknown_function", "LSTM", [x, w, r], [x], 14, activations=["Sigmoid", "Tanh", "Swish"] * 2, refused="are not supported", **how)
    y, h = np.zeros((6, 1, 3, 5)), np.zeros((3, 5))
    for t in range(6):
        lives = (lengths > t)[:, None]
        h = np.where(lives, np.maximum(x[t] @ w[0, :5].T.astype("f8") + h @ r[0, :5].T, 0), h)
        y[t, 0] = np.where(lives, h, 0)
    case("rnn_lengths", "RNN", [x, w[:1, :5].copy(), r[:1, :5].copy(), None, lengths], [f4(y), f4(h[None])], 14, hidden_size=5, activations=["Relu"])


def decoders():
    x = normal(2, 3, 40)
    for bits in (2, 4, 8):
        blocks = 3  # of 16, the last not full
        codes = rng.integers(0, 1 << bits, (7, blocks * 16))
        def packed(a):
            a = np.pad(a, ((0, 0), (0, -a.shape[1] % (8 // bits)))).reshape(a.shape[0], -1, 8 // bits)
            return (a << (np.arange(8 // bits) * bits)).sum(-1).astype("u1")
        scales, zeros, bias = rng.uniform(0.1, 1, (7, blocks)).astype("f4"), rng.integers(0, 1 << bits, (7, blocks)), normal(7)
        weights = packed(codes).reshape(7, blocks, -1)
        how = dict(domain="com.microsoft", K=40, N=7, bits=bits, block_size=16)
        def wanted(zero):
            return x.astype("f8") @ ((codes - np.repeat(zero, 16, 1)) * np.repeat(scales, 16, 1))[:, :40].T
        case("matmul_%d_bits" % bits, "MatMulNBits", [x, weights, scales], [f4(wanted(np.full((7, blocks), 1 << (bits - 1))))], 17,
             constants=(1, 2), **how)
        case("matmul_%d_bits_zero_points" % bits, "MatMulNBits", [x, weights, scales.ravel(), packed(zeros).ravel(), None, bias],
             [f4(wanted(zeros) + bias)], 17, constants=(1, 2, 3, 5), **how)
    case("matmul_bits_float_zero_points", "MatMulNBits", [x, weights, scales, f4(zeros)], [f4(wanted(zeros))], 17, constants=(1, 2, 3), **how)
    case("matmul_bits_arriving", "MatMulNBits", [x, np.tile(weights, (200, 1, 1)), scales], [f4(wanted(zeros))], 17, refused="do not fit", **how)
    angle = rng.uniform(0, 6, (12, 4))
    cos, sin = f4(np.cos(angle)), f4(np.sin(angle))
    def turned(v, at):  # [B, S, heads, 8]
        c, s = (a[at][:, :, None].astype("f8") for a in (cos, sin))
        a, b = v[..., :4], v[..., 4:]
        return np.concatenate([a * c - b * s, a * s + b * c], -1)
    v, at = normal(2, 3, 16), np.array([[4, 0, 11], [1, 2, 3]])
    whole = turned(v.reshape(2, 3, 2, 8).astype("f8"), at)
    case("microsoft_rotary", "RotaryEmbedding", [v, at, cos, sin], [f4(whole.reshape(2, 3, 16))], 17, constants=(2, 3), domain="com.microsoft")
    whole = turned(v.reshape(2, 3, 2, 8).astype("f8"), np.array([[5, 6, 7]] * 2))
    case("microsoft_rotary_offset", "RotaryEmbedding", [v, np.array([5]), cos, sin], [f4(whole.reshape(2, 3, 16))], 17, domain="com.microsoft",
         num_heads=2)
    q, k, w = normal(2, 3, 32), normal(2, 3, 16), normal(2, 3, 16)
    past_k, past_v = normal(2, 2, 5, 8), normal(2, 2, 5, 8)
    at = np.array([[5, 6, 7]] * 2)
    rq, rk = (turned(heads(a, n).swapaxes(1, 2).astype("f8"), at).swapaxes(1, 2) for a, n in ((q, 4), (k, 2)))
    all_k, all_v = np.concatenate([past_k, rk], 2), np.concatenate([past_v, heads(w, 2)], 2)
    distance = np.arange(3)[:, None] + 5 - np.arange(8)[None]
    lengths, total = np.array([7, 7], "i4"), np.array(8, "i4")
    for name, window in (("", -1), ("_window", 4)):
        mask = np.where((distance >= 0) & ((window < 0) | (distance < window)), 0, -np.inf)
        y = attention(rq, all_k, all_v, mask).swapaxes(1, 2).reshape(2, 3, 32)
        case("group_query" + name, "GroupQueryAttention", [q, k, w, past_k, past_v, lengths, total, cos, sin], [f4(y), f4(all_k), f4(all_v)], 17,
             domain="com.microsoft", num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=window)
    packed_rows = np.concatenate([q, k, w], -1)
    y = attention(heads(q, 4), heads(k, 2), heads(w, 2), np.where(np.arange(3)[None] <= np.arange(3)[:, None], 0, -np.inf))
    how = dict(domain="com.microsoft", num_heads=4, kv_num_heads=2)
    case("group_query_packed", "GroupQueryAttention", [packed_rows, None, None, None, None, np.array([2, 2], "i4"), np.array(3, "i4")],
         [f4(y.swapaxes(1, 2).reshape(2, 3, 32)), heads(k, 2).copy(), heads(w, 2).copy()], 17, **how)
    case("group_query_lengths", "GroupQueryAttention", [packed_rows, None, None, None, None, np.array([2, 1], "i4"), np.array(3, "i4")], [q], 17,
         refused="sequence 1 has 2 keys", **how)


def einsums():
    shapes = {"bij->b": [(2, 3, 4)], "...ij,...jk->...ik": [(2, 7, 3, 4), (2, 7, 4, 5)], "...ii->...i": [(3, 4, 4)], "ii": [(5, 5)],
              "...ij,jk": [(2, 3, 4), (4, 5)], "ij,jk,kl->il": [(3, 4), (4, 5), (5, 2)], "bij,bjk->ik": [(2, 3, 4), (2, 4, 5)],
              "ab...,b...->a...": [(2, 3, 1, 5), (3, 4, 1)], "i,j,i->": [(4,), (3,), (4,)], "iji,jk->k": [(3, 4, 3), (4, 2)], "ij->": [(3, 4)],
              "aab,b->a": [(3, 3, 4), (4,)], "i,i": [(6,), (6,)], "b a": [(3, 4)]}
    for i, (equation, sizes) in enumerate(shapes.items()):
        operands = [normal(*s) for s in sizes]
        case("einsum_any_%d" % i, "Einsum", operands, [f4(np.einsum(equation.replace(" ", ""), *[a.astype("f8") for a in operands]))], 12,
             equation=equation)
    for i, (equation, sizes) in enumerate(shapes.items()):
        operands = [rng.integers(-9, 9, s).astype(("i4", "i8")[i % 2]) for s in sizes]
        case("einsum_integers_%d" % i, "Einsum", operands, [np.einsum(equation.replace(" ", ""), *operands)], 12, equation=equation)
    case("einsum_integers_wide", "Einsum", [rng.integers(0, 2, (5000, 1)), rng.integers(0, 2, (1, 5000))], [np.zeros((1, 1), "i8")], 12,
         equation="ij,jk->ik", refused="25000000 products of integers are more than 16777216")
    x, y = normal(3, 4), normal(5, 2)
    case("einsum_sizes", "Einsum", [x, y], [x], 12, equation="ij,jk->ik", refused="dimension j has two sizes")
    case("einsum_letter", "Einsum", [x], [x], 12, equation="ij->ijk", refused="is in no operand")
    case("einsum_rank", "Einsum", [x], [x], 12, equation="ijk->i", refused="has rank 2")


shutil.rmtree(FOLDER, ignore_errors=True)  # cases that are no more
for group in (einsums, decoders, recurrent, float64, control, functions, bits, powers, volumes, grids, selected, host_parts, signals, normalisations, rotary, attentions, flexible_attention, order, integers, scatter, rows_by_index, slices_by_tuples, trigonometry, microsoft):
    rng = np.random.default_rng(7)  # a group's numbers do not depend on those before it
    group()
for group in own_cases_newest.GROUPS + own_cases_exact.GROUPS + own_cases_microsoft.GROUPS + own_cases_narrow.GROUPS:
    rng = np.random.default_rng(7)
    group(types.SimpleNamespace(case=case, graph=graph, rng=rng, f4=f4, normal=normal, node=helper.make_node, tensor=numpy_helper.from_array))
