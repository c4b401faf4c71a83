#!/usr/bin/python3
"""Writes node tests of our own into a folder, in ONNX's layout: operators that Debian's suite is too old for, and corners.

usage: own_cases.py FOLDER

What is expected is computed with NumPy from the definitions of the operators, in double precision where they are floats.
"""
import os
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

FOLDER = sys.argv[1]
rng = np.random.default_rng(7)


def info(name, array):
    element_type = (helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype")
                    else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype])
    return helper.make_tensor_value_info(name, element_type, array.shape)


def case(name, operator, inputs, outputs, opset=23, constants=(), domain="", refused="", **attributes):
    """inputs, outputs: arrays, None for one that is absent; `constants`: positions of inputs that are initializers.
    `refused`: what the line says that refuses it; the outputs are no more than types then."""
    names = ["x%d" % i if a is not None else "" for i, a in enumerate(inputs)]
    node = helper.make_node(operator, names, ["y%d" % i if a is not None else "" for i, a in enumerate(outputs)],
                            domain=domain, **attributes)
    given = [(n, a) for i, (n, a) in enumerate(zip(names, inputs)) if a is not None and i not in constants]
    wanted = [("y%d" % i, a) for i, a in enumerate(outputs) if a is not None]
    graph(name, [node], given, wanted, opset, [(names[i], inputs[i]) for i in constants], refused)


def graph(name, nodes, given, wanted, opset=23, constants=(), refused="", functions=(), domains=("com.microsoft",)):
    """A model of these nodes; given, wanted, constants: pairs of name and array."""
    made = helper.make_graph(nodes, name, [info(*g) for g in given], [info(*w) for w in wanted],
                             [numpy_helper.from_array(a, n) for n, a in constants])
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
                file.write(numpy_helper.from_array(a, n).SerializeToString())


def normal(*shape):
    return rng.standard_normal(shape).astype("f4")


def f4(a):
    return np.asarray(a, "f4")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, bias=0.0, softcap=0.0):
    q, k, v = (a.astype("f8") for a in (q, k, v))
    k, v = (np.repeat(a, q.shape[1] // a.shape[1], 1) for a in (k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
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
    table = rng.standard_normal((5, 4)).astype("f4")
    table[1, 2], table[3, 0], table[4, 3] = np.inf, -np.inf, np.nan
    for axis in range(2):
        rows = np.array([[0, 3, -1], [2, 1, 0]])
        for constants in ((), (0,)):
            case("gather_beside_infinity_%d_%d" % (axis, len(constants)), "Gather", [table, rows], [np.take(table, rows, axis)], 13,
                 constants=constants, axis=axis)
    case("gather_nd_beside_infinity", "GatherND", [x, np.array([[1, 1], [-1, 3]])], [x[[1, -1], [1, 3]]], 13)


def trigonometry():
    for name, f, low, high in (("Sin", np.sin, -12800, 12800), ("Cos", np.cos, -12800, 12800), ("Tan", np.tan, -1.5, 1.5),
                               ("Asin", np.arcsin, -1, 1), ("Acos", np.arccos, -1, 1), ("Atan", np.arctan, -30, 30),
                               ("Sinh", np.sinh, -89, 89), ("Cosh", np.cosh, -89, 89), ("Asinh", np.arcsinh, -1e4, 1e4),
                               ("Acosh", np.arccosh, 1, 1e4), ("Atanh", np.arctanh, -0.99, 0.99)):
        x = np.concatenate([rng.uniform(low, high, 500), [low, high]]).astype("f4")
        case(name.lower() + "_range", name, [x], [f4(f(x.astype("f8")))], 9)
    case("sin_beyond_is_nan", "Sin", [f4([1e6, np.inf])], [f4([np.nan, np.nan])], 9)


def microsoft():
    a, w, bias, skip, scale = normal(2, 6, 5), normal(2, 7, 6), normal(7), normal(2, 5, 7), normal(7)
    y = 0.5 * a.swapaxes(1, 2).astype("f8") @ w.swapaxes(1, 2)
    case("fused_matmul", "FusedMatMul", [a, w], [f4(y)], 17, domain="com.microsoft", alpha=0.5, transA=1, transB=1)
    s = y + bias
    case("fast_gelu", "FastGelu", [f4(y), bias], [f4(0.5 * s * (1 + np.tanh(np.sqrt(2 / np.pi) * (s + 0.044715 * s ** 3))))], 17,
         domain="com.microsoft")
    case("quick_gelu", "QuickGelu", [f4(y)], [f4(y / (1 + np.exp(-1.702 * y)))], 17, domain="com.microsoft")
    s = y + skip + bias
    rest = s - s.mean(-1, keepdims=True)
    case("skip_layer_normalization", "SkipLayerNormalization", [f4(y), skip, scale, bias, bias],
         [f4(rest / np.sqrt((rest ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias), None, None, f4(s)], 17,
         domain="com.microsoft", epsilon=1e-5)
    case("skip_simplified", "SkipSimplifiedLayerNormalization", [f4(y), skip, scale, bias],
         [f4(s / np.sqrt((s ** 2).mean(-1, keepdims=True) + 1e-5) * scale), None, None, f4(s)], 17, domain="com.microsoft", epsilon=1e-5)
    case("simplified", "SimplifiedLayerNormalization", [f4(y), scale],
         [f4(y / np.sqrt((y ** 2).mean(-1, keepdims=True) + 1e-5) * scale)], 17, epsilon=1e-5)


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
    graph("loop_without_step", [many], [("x", x), ("w", w)], [("y", w), ("z", w)], 16, [("n", np.array(0))],
          refused="it makes no step")
    graph("loop_too_long", [many], [("x", x), ("w", w)], [("y", w), ("z", w)], 16, [("n", np.array(5000))],
          refused="more than 1024 steps")
    graph("loop_unknown", [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["n"], to=TensorProto.INT64), many],
          [("x", x), ("w", w)], [("y", w), ("z", w)], 16, refused="how often it runs is not constant")
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
    forever = function("Forever", ["a"], ["r"], [node("Forever", ["a"], ["r"], domain="own")])
    graph("functions_without_end", [node("Forever", ["x"], ["y"], domain="own")], [("x", x)], [("y", x)], 16, functions=[forever],
          domains=["own"], refused="functions are nested too deeply")


for group in (float64, control, functions, normalisations, rotary, attentions, order, integers, scatter, trigonometry, microsoft):
    group()
