"""More cases of our own, which own_cases.py writes: what must come out exactly, integers above all, and what is nearly always right."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


def quotients(kit):
    """Quantization: elements that lie on, or next to, the middle between two integers."""
    scale = kit.rng.uniform(0.001, 0.3, 60).astype("f4")
    middle = (scale[:, None] * (np.arange(-130, 130) + 0.5).astype("f4")).astype("f4")
    x = np.concatenate([middle, np.nextafter(middle, np.float32(9e9)), np.nextafter(middle, np.float32(-9e9))], 1)
    zero = np.full(60, 128, "u1")
    wanted = np.clip(np.rint(x / scale[:, None]) + 128, 0, 255).astype("u1")
    for constants in ((), (1, 2)):
        kit.case("quantize_middles_%d" % len(constants), "QuantizeLinear", [x, scale, zero], [wanted], 13, constants=constants, axis=0)
    wide = np.clip(np.rint(x * np.float32(99) / scale[:, None]), -32768, 32767).astype("i2")
    kit.case("quantize_middles_16", "QuantizeLinear", [x * np.float32(99), scale, np.zeros(60, "i2")], [wide], 21, axis=0)
    extremes = kit.f4([np.inf, -np.inf, 3e38, -3e38, 1e-40, 0, -0.0])
    kit.case("quantize_extremes", "QuantizeLinear", [extremes, kit.f4(1e-3), np.array(7, "u1")], [np.array([255, 0, 255, 0, 7, 7, 7], "u1")], 13)
    steps = kit.f4(np.arange(-93, 96) * np.float32(-0.42769546))
    high, low = max(steps.max(), np.float32(0)), min(steps.min(), np.float32(0))
    s = (high - low) / np.float32(255)
    z = np.rint(-low / s)
    kit.case("dynamic_quantize_middles", "DynamicQuantizeLinear", [steps],
           [np.clip(np.rint(steps / s) + z, 0, 255).astype("u1"), np.float32(s), np.array(z, "u1")], 11)


def wide_products(kit):
    """Sums of products that pass 2^24: in parts, and rounded once where they become floats."""
    a, w = kit.rng.integers(0, 256, (3, 3000)).astype("u1"), kit.rng.integers(-128, 128, (3000, 5)).astype("i1")
    a[0], w[:, 0] = 255, 127
    sums = (a.astype("i8") - 0) @ w.astype("i8")
    for constants in ((), (1,)):
        nodes = [kit.node("MatMulInteger", ["a", "w"], ["i"]), kit.node("Cast", ["i"], ["f"], to=1)]
        given = [("a", a)] + ([] if constants else [("w", w)])
        kit.graph("matmul_integer_wide_%d" % len(constants), nodes, given, [("f", sums.astype("i4").astype("f4"))], 13,
                [("w", w)] if constants else [])
    za, zw = np.array(100, "u1"), np.array([3, -4, 0, 9, 100], "i1")
    sums = (a.astype("i8") - 100) @ (w.astype("i8") - zw)
    kit.graph("matmul_integer_wide_zeros", [kit.node("MatMulInteger", ["a", "w", "za", "zw"], ["i"]), kit.node("Cast", ["i"], ["f"], to=1)], [("a", a)],
            [("f", sums.astype("f4"))], 13, [("w", w), ("za", za), ("zw", zw)])
    small = kit.rng.integers(-3, 4, (3000, 5)).astype("i1")  # known weights: sums stay below 2^24 in one part
    kit.case("matmul_integer_small_weights", "MatMulInteger", [a, small], [(a.astype("i8") @ small.astype("i8")).astype("i4")], 13, constants=(1,))
    nodes = [kit.node("MatMulInteger", ["a", "w"], ["i"]), kit.node("Cast", ["i"], ["f"], to=1), kit.node("Sub", ["i", "i"], ["j"])]
    kit.graph("matmul_integer_twice", nodes, [("a", a[1:])], [("f", (a[1:].astype("i8") @ small).astype("f4")), ("j", np.zeros((2, 5), "i4"))], 13,
              [("w", small)])
    kit.case("matmul_integer_beyond", "MatMulInteger", [a, w], [sums.astype("i4")], 13, constants=(1,), refused="passes what the array computes exactly")
    x, k = kit.rng.integers(0, 256, (1, 200, 4, 5)).astype("u1"), kit.rng.integers(0, 256, (3, 200, 3, 3)).astype("u1")
    padded = np.pad(x.astype("i8") - 7, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    y = np.einsum("ncyxij,ocij->noyx", windows, k.astype("i8") - 5)
    zero = [np.array(7, "u1"), np.array(5, "u1")]
    kit.graph("conv_integer_wide", [kit.node("ConvInteger", ["x", "k", "zx", "zk"], ["i"], pads=[1, 1, 1, 1]), kit.node("Cast", ["i"], ["f"], to=1)],
            [("x", x), ("k", k)], [("f", y.astype("f4"))], 13, [("zx", zero[0]), ("zk", zero[1])])
    k = kit.rng.integers(0, 256, (4, 100, 3, 3)).astype("u1")  # two groups
    halves = np.split(windows, 2, 1), np.split(k.astype("i8") - 5, 2)
    grouped = np.concatenate([np.einsum("ncyxij,ocij->noyx", a, b) for a, b in zip(*halves)], 1)
    assert np.abs(grouped).max() > 1 << 20
    kit.graph("conv_integer_wide_groups", [kit.node("ConvInteger", ["x", "k", "zx", "zk"], ["i"], pads=[1, 1, 1, 1], group=2),
                                           kit.node("Cast", ["i"], ["f"], to=1)],
              [("x", x), ("k", k)], [("f", grouped.astype("f4"))], 13, [("zx", zero[0]), ("zk", zero[1])])
    k = kit.rng.integers(0, 256, (3, 200, 3, 3)).astype("u1")
    y = np.einsum("ncyxij,ocij->noyx", windows, k.astype("i8") - 5)
    sx, sk, sy = kit.f4(0.02), kit.f4(0.01), kit.f4(900)
    wanted = np.clip(np.rint(y.astype("f4") * (sx * sk / sy)) + 3, 0, 255).astype("u1")
    kit.case("qlinear_conv_wide", "QLinearConv", [x, sx, zero[0], k, sk, zero[1], sy, np.array(3, "u1")], [wanted], 13,
           constants=(1, 2, 3, 4, 5, 6, 7), pads=[1, 1, 1, 1])


def large_fills(kit):
    """Numbers that are attributes inside: as exact as those of operands."""
    x, shape, ends = np.arange(100), np.array([2, 3]), np.array([1, 2])
    for name, fill in (("i64", np.array([(1 << 63) - 1])), ("negative", np.array([-(1 << 60) - 1])), ("u64", np.array([(1 << 64) - 1025], "u8"))):
        kit.case("constant_of_shape_large_" + name, "ConstantOfShape", [shape], [np.full((2, 3), fill[0])], 13, constants=(0,),
                 value=numpy_helper.from_array(fill, "fill"))
    for fill, refused in ((1 << 30, ""), ((1 << 24) + 3, "is no number of FP32"), ((1 << 53) + 1, "which no double holds")):
        kit.case("pad_large_%d" % fill, "Pad", [x, ends, np.array(fill)], [np.pad(x, (1, 2), constant_values=fill)], 13, constants=(1, 2),
                 refused=refused)


def gradients_of_given_statistics(kit):
    """Statistics that are operands are no function of X, whether they are constants or not; they have no gradient."""
    x, scale, bias, centre, spread, g = kit.normal(4, 3, 5), kit.normal(3), kit.normal(3), kit.normal(3), abs(kit.normal(3)), kit.normal(4, 3, 5)
    r = 1 / np.sqrt(spread.astype("f8") + 1e-5)[:, None]
    wide = g.astype("f8")
    wanted = [kit.f4(wide * scale[:, None] * r), kit.f4((wide * (x - centre[:, None]) * r).sum((0, 2))), kit.f4(wide.sum((0, 2)))]
    names, statistics = ["x", "s", "b"], [("m", centre), ("v", spread)]
    for name, more, refused in (("inputs", [], ""), ("constants", [], ""), ("wanted", ["v"], "statistics that are given have no gradient")):
        nodes = [kit.node("BatchNormalization", names + ["m", "v"], ["y"]), kit.node("Mul", ["y", "g"], ["p"]),
                 helper.make_node("Gradient", names + more, ["d" + n for n in names + more], domain="ai.onnx.preview.training", xs=names + more, y="p")]
        given = [("x", x), ("s", scale), ("b", bias), ("g", g)]
        results = [("d" + n, a) for n, a in zip(names, wanted)] + [("d" + n, spread) for n in more]
        constants = statistics if name == "constants" else []
        kit.graph("gradient_batch_normalization_" + name, nodes, given + ([] if constants else statistics), results, 17, constants, refused,
                  domains=("ai.onnx.preview.training",))


def quantized(kit):
    """Operators of com.microsoft on quantized tensors."""
    def to(y, scale, zero):
        low, high = (0, 255) if zero.dtype == np.uint8 else (-128, 127)
        return np.clip(np.rint(y / scale) + zero, low, high).astype(zero.dtype)
    for dtype, low in (("u1", 0), ("i1", -128)):
        a, b = (kit.rng.integers(low, low + 256, (2, 3, 5, 4)).astype(dtype) for _ in range(2))
        (sa, sb, sy), (za, zb, zy) = kit.f4([0.0213, 0.0471, 0.0893]), np.array([low + 120, low + 133, low + 101], dtype)
        x, y = (a.astype("f8") - za) * sa, (b.astype("f8") - zb) * sb
        def case(name, inputs, wanted, label="", **how):
            kit.graph("%s_%s%s" % (name.lower(), dtype, label), [kit.node(name, ["x%d" % i for i in range(len(inputs))], ["y"], domain="com.microsoft", **how)],
                      [("x%d" % i, np.asarray(a)) for i, a in enumerate(inputs)], [("y", wanted)], 17)
        case("QLinearAdd", [a, sa, za, b, sb, zb, sy, zy], to(x + y, sy, zy))
        case("QLinearMul", [a, sa, za, b[:1, :, :1], sb, zb, sy, zy], to(x * y[:1, :, :1], sy, zy))
        chosen = kit.rng.random((3, 1, 4)) < 0.5
        case("QLinearWhere", [chosen, a, sa, za, b, sb, zb, sy, zy], to(np.where(chosen, x, y), sy, zy))
        case("QLinearSigmoid", [a, sa, za, kit.f4(1 / 200), zy], to(1 / (1 + np.exp(-x)), 1 / 200, zy))
        shares = np.exp(x - x.max())
        for axis, opset, summed in ((-1, 13, 3), (1, 13, 1), (2, 12, (2, 3))):
            case("QLinearSoftmax", [a, sa, za, kit.f4(1 / 256), np.array(low, dtype)], to(shares / shares.sum(summed, keepdims=True), 1 / 256, np.array(low, dtype)),
                 label="_%d" % axis, axis=axis, opset=opset)
        case("QLinearLeakyRelu", [a, sa, za, sy, zy], to(np.where(x < 0, 0.2 * x, x), sy, zy), alpha=0.2)
        case("QLinearGlobalAveragePool", [a, sa, za, kit.f4(0.011), zy], to(x.mean((2, 3), keepdims=True), 0.011, zy))
        pooled = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3)).mean((4, 5))
        case("QLinearAveragePool", [a, sa, za, kit.f4(0.0137), zy], to(pooled, 0.0137, zy), kernel_shape=[2, 3])
        case("QLinearConcat", [sy, zy, a, sa, za, b, sb, zb], to(np.concatenate([x, y], 1), sy, zy), axis=-3)
        m, w, columns = a[0, 0], b[0, :, 0].copy(), kit.f4([0.01, 0.02, 0.03, 0.04])
        product = (m.astype("f8") - za) @ (w.astype("f8")[:, :4].T - zb)
        bias, whole = kit.normal(3), kit.rng.integers(-400, 400, 3).astype("i4")
        case("MatMulIntegerToFloat", [m, w.T.copy(), sa, columns[:3], za, zb, bias], kit.f4(product * sa * columns[:3] + bias))
        case("QGemm", [m, sa, za, w, sb, zb, whole, sy, zy], to((product + whole) * sa * sb, sy, zy), transB=1)
        rows = kit.normal(5, 3)
        high, least = max(rows.max(), 0), min(rows.min(), 0)
        s = (high - least) / np.float32(255)
        z = np.rint(-least / s)
        codes = np.clip(np.rint(rows / s) + z, 0, 255) - z
        case("DynamicQuantizeMatMul", [rows, w, sb, zb, kit.f4([1, 2, 3, 4])],
             kit.f4(codes @ (w.astype("f8") - zb) * s * sb + [1, 2, 3, 4]))
    kit.case("qlinear_add_beyond", "QLinearAdd", [a, sa, za, b, sb.reshape(1) * np.ones(2, "f4"), zb, sy, zy], [a], 17, domain="com.microsoft",
             refused="operand 4 is no scale")


def reductions(kit):
    x = kit.normal(3, 4)
    wide = x.astype("f8")
    for name, f in (("L1", abs(wide)), ("L2", abs(wide)), ("SumSquare", wide ** 2), ("LogSumExp", wide), ("Sum", wide), ("Mean", wide), ("Max", wide)):
        kit.case("reduce_%s_of_nothing" % name.lower(), "Reduce" + name, [x], [kit.f4(f)], 18, noop_with_empty_axes=1)
    kit.case("reduce_log_sum_of_nothing", "ReduceLogSum", [abs(x), np.zeros(0, "i8")], [kit.f4(np.log(abs(wide)))], 18, constants=(1,),
           noop_with_empty_axes=1, keepdims=0)
    for dtype in ("i4", "i8"):
        whole = kit.rng.integers(-90, 90, (4, 5, 6)).astype(dtype)
        kit.case("reduce_l1_" + dtype, "ReduceL1", [whole], [abs(whole).sum((0, 2)).astype(dtype)], 13, axes=[0, 2], keepdims=0)
        kit.case("reduce_sum_square_" + dtype, "ReduceSumSquare", [whole], [(whole ** 2).sum(1, keepdims=True).astype(dtype)], 13, axes=[1])
        kit.case("reduce_mean_" + dtype, "ReduceMean", [whole], [np.trunc(whole.mean(2)).astype(dtype)], 13, axes=[-1], keepdims=0)


def of_nothing(kit):
    """What has no elements: a place along an axis that has some, a size of 0 by a scale below 1."""
    nothing, x = np.zeros((2, 0), "f4"), kit.normal(1, 1, 4, 4)
    for op in "ArgMax", "ArgMin":
        kit.case(op.lower() + "_for_nothing", op, [nothing], [np.zeros((1, 0), "i8")], 13, axis=0)
        kit.case(op.lower() + "_for_nothing_dropped", op, [nothing], [np.zeros(0, "i8")], 13, axis=-2, keepdims=0)
        kit.case(op.lower() + "_of_nothing", op, [nothing], [np.zeros((2, 1), "i8")], 13, axis=1, refused="its data is empty")
    for mode in "nearest", "linear":
        kit.case("resize_%s_to_nothing" % mode, "Resize", [x, None, kit.f4([1, 1, 0.1, 1])], [x[:, :, :0].copy()], 19, constants=(2,), mode=mode)
        kit.case("resize_%s_of_nothing" % mode, "Resize", [x[:0].copy(), None, kit.f4([1, 1, 2, 3])], [np.zeros((0, 1, 8, 12), "f4")], 19,
                 constants=(2,), mode=mode)
    kit.case("resize_to_size_0", "Resize", [x, None, None, np.array([1, 1, 0, 4])], [x[:, :, :0].copy()], 19, constants=(3,), mode="nearest",
             refused="dimension 2 of 4 to 0")


def slopes(kit):
    for dtype in "i4", "i8", "u4", "u8":
        x, slope = kit.rng.integers(0 if dtype[0] == "u" else -50, 50, (3, 4)).astype(dtype), np.array([2, 3, 1, 0], dtype)
        kit.case("prelu_" + dtype, "PRelu", [x, slope], [np.where(x < 0, slope * x, x)], 16)
    kit.case("prelu_wide_slope", "PRelu", [x, np.ones((2, 3, 4), dtype)], [x], 16, refused="slope does not fit")


def remainders(kit):
    x, y = kit.rng.uniform(-90, 90, (40, 50)).astype("f4"), kit.rng.uniform(-9, 9, 50).astype("f4")
    x[0] = np.float32(0.1) * np.arange(50, dtype="f4")
    y[:12] = [0.1, 0.3, 1e-3, np.inf, -np.inf, 1e30, 7, -7, 2.5, 1 / 3, 1e-30, 3]
    x[:, 10] = 0
    x[3, 20:23] = np.inf, -np.inf, np.nan
    with np.errstate(all="ignore"):
        kit.case("fmod", "Mod", [x, y], [np.fmod(x, y)], 13, fmod=1)
        halves = x.astype("f2")
        kit.case("fmod_half", "Mod", [halves, np.full(1, 0.75, "f2")], [np.fmod(halves, np.float16(0.75))], 13, fmod=1)
    kit.case("fmod_beyond_is_nan", "Mod", [kit.f4([1e9]), kit.f4([0.5])], [kit.f4([np.nan])], 13, fmod=1)
    kit.case("mod_of_floats", "Mod", [x, y], [x], 13, refused="only integers and, with fmod, floats")


def decisions(kit):
    """What decides by integers of floats is exact, or an error of the run where an integer passed 2^24 on the way."""
    far, few = kit.f4([3.7, 1e5, -7e3, 2.5]), kit.f4([3.7, 200.2, -7, 2.5])
    square = [kit.node("Cast", ["x"], ["i"], to=7), kit.node("Mul", ["i", "i"], ["j"]), kit.node("Add", ["j", "i"], ["k"]),
              kit.node("Cast", ["k"], ["f"], to=1)]
    for name, x in (("far", far), ("few", few)):
        whole = np.trunc(x).astype("i8")
        sums = whole * whole + whole
        how = dict(refused="an integer that passes what the array computes exactly") if name == "far" else {}
        kit.graph("integers_of_floats_cast_twice_" + name, square + [kit.node("Cast", ["f"], ["y"], to=7)], [("x", x)], [("y", sums)], 13, **how)
        kit.graph("integers_of_floats_compared_" + name, square + [kit.node("Greater", ["k", "c"], ["y"])], [("x", x)], [("y", sums > 10)], 13,
                  [("c", np.array(10))], **how)
        kit.graph("integers_of_floats_compared_as_floats_" + name, square + [kit.node("Greater", ["f", "c"], ["g"]), kit.node("Where", ["g", "x", "c"], ["y"])],
                  [("x", x)], [("y", np.where(sums > 10, x, np.float32(10)))], 13, [("c", kit.f4(10))], **how)
        kit.graph("integers_of_floats_as_floats_" + name, square, [("x", x)], [("f", kit.f4(sums))], 13, **how)
        kit.graph("integers_of_floats_sorted_" + name, square + [kit.node("TopK", ["k", "two"], ["v", "y"])], [("x", x)],
                  [("v", np.sort(sums)[:1:-1]), ("y", np.argsort(-sums, kind="stable")[:2])], 13, [("two", np.array([2]))], **how)
        table = kit.normal(7, 3)
        rows = [kit.node("Mod", ["k", "seven"], ["m"]), kit.node("Gather", ["table", "m"], ["y"])]
        kit.graph("integers_of_floats_as_rows_" + name, square + rows, [("x", x)], [("y", table[sums % 7])], 13, [("seven", np.array(7)), ("table", table)], **how)
    i = np.array([5000, -16000000, 3, 16777215])
    kit.graph("product_as_float", [kit.node("Mul", ["i", "i"], ["j"]), kit.node("Cast", ["j"], ["y"], to=1)], [("i", i)], [("y", (i * i).astype("f4"))], 13)
    i = np.array([46079, -46000, 3], "i4")  # what int32 holds; its products beyond that wrap
    kit.graph("product_as_float_int32", [kit.node("Mul", ["i", "i"], ["j"]), kit.node("Cast", ["j"], ["y"], to=1)], [("i", i)], [("y", (i * i).astype("f4"))], 13)
    bits = [kit.node("Cast", ["a"], ["i"], to=6), kit.node("BitwiseAnd", ["i", "m"], ["j"]), kit.node("Equal", ["j", "c"], ["y"])]
    constants = [("m", np.array(5, "i4")), ("c", np.array(1, "i4"))]
    for name, first, low in (("clip", kit.node("Clip", ["x", "low", "high"], ["a"]), -100), ("min", kit.node("Min", ["x", "high"], ["b"]), None),
                             ("sigmoid", kit.node("Sigmoid", ["x"], ["b"]), 0)):
        given = few if low is None else np.clip(few, low, 255) if low else 1 / (1 + np.exp(-few)) * 250
        nodes = [first] if low == -100 else [first, kit.node("Max", ["b", "low"], ["a"]) if low is None else kit.node("Mul", ["b", "high"], ["a"])]
        kit.graph("bits_of_floats_" + name, nodes + bits, [("x", few)], [("y", (np.trunc(given).astype("i4") & 5) == 1)], 18,
                  constants + [("low", kit.f4(-100)), ("high", kit.f4(250 if low == 0 else 255))])
    kit.graph("bits_of_any_floats", [kit.node("Identity", ["x"], ["a"])] + bits, [("x", few)], [("y", (np.trunc(few).astype("i4") & 5) == 1)], 18, constants)
    kit.graph("bits_of_any_floats_far", [kit.node("Identity", ["x"], ["a"])] + bits, [("x", few * 1e7)], [("y", few > 0)], 18, constants,
              refused="an integer that passes what the array computes exactly")


def whole_products(kit):
    """Matrices of integers."""
    for name, left, right in (("batches", (2, 1, 3, 4), (3, 4, 2)), ("row", (4,), (3, 4, 2)), ("column", (2, 3, 4), (4,)), ("dot", (4,), (4,)), ("nothing", (3, 0), (0, 2))):
        for dtype in ("i4", "u8"):
            a, b = (kit.rng.integers(0 if dtype[0] == "u" else -900, 900, s).astype(dtype) for s in (left, right))
            kit.case("matmul_whole_%s_%s" % (name, dtype), "MatMul", [a, b], [np.matmul(a, b)], 13)
    a, b, c = kit.rng.integers(-9, 9, (4, 3)), kit.rng.integers(-9, 9, (2, 4)), np.array([[1], [-2], [3]])
    kit.case("gemm_whole", "Gemm", [a, b, c], [2 * a.T @ b.T + 3 * c], 13, transA=1, transB=1, alpha=2.0, beta=3.0)
    kit.case("gemm_whole_halves", "Gemm", [a, b, c], [a], 13, transA=1, transB=1, alpha=0.5, refused="alpha 0.5")
    kit.case("matmul_whole_beyond", "MatMul", [np.full((1, 9), 1900), np.full((9, 1), 1900)], [np.array([[9 * 1900 ** 2]])], 13, refused="outside [-")
    x = kit.normal(2, 3)
    kit.case("gemm_beta_0", "Gemm", [x, x.T.copy(), kit.f4([np.nan, np.inf])], [x @ x.T], 13, beta=0.0)


def empties(kit):
    """Nothing to do, and nothing chosen."""
    x, none = kit.normal(3, 4), np.zeros((0, 1), "i8")
    kit.case("cumsum_of_nothing", "CumSum", [np.zeros((2, 0), "f4"), np.array(1)], [np.zeros((2, 0), "f4")], 14, constants=(1,))
    kit.case("topk_of_none", "TopK", [x, np.array([0])], [np.zeros((3, 0), "f4"), np.zeros((3, 0), "i8")], 11, constants=(1,))
    kit.case("scatter_nd_of_nothing", "ScatterND", [x, none, np.zeros((0, 4), "f4")], [x], 18)
    kit.case("scatter_elements_of_nothing", "ScatterElements", [x, np.zeros((0, 4), "i8"), np.zeros((0, 4), "f4")], [x], 18)
    kit.case("gather_nd_of_nothing", "GatherND", [x, none], [np.zeros((0, 4), "f4")], 13)
    kit.case("gather_nd_in_nothing", "GatherND", [x[:0], np.zeros((1, 1), "i8")], [np.zeros((1, 4), "f4")], 13, refused="in empty data")
    zeros = np.zeros(5, "f4")
    kit.case("dynamic_quantize_zeros", "DynamicQuantizeLinear", [zeros], [np.zeros(5, "u1"), np.float32(1), np.uint8(0)], 11)


def numbers_that_are_none(kit):
    """NaN that the model itself computes of integers of floats is an answer; that of an integer that passed 2^24 is none."""
    node = kit.node
    x, far = kit.f4([-3.5, 2.5, 0, 7]), kit.f4([-3.5, 2.5, 0, 1e5])
    cast = [node("Cast", ["x"], ["i"], to=7), node("Mul", ["i", "i"], ["j"]), node("Sub", ["j", "ten"], ["k"]), node("Cast", ["k"], ["f"], to=1)]
    ten = ("ten", np.array(10))
    whole = np.trunc(x.astype("f8")) ** 2 - 10
    with np.errstate(all="ignore"):
        logarithm = kit.f4(np.log(whole))
        roots = kit.f4(np.sqrt(whole))
    error = "computed of an integer that passes what the array computes exactly"
    for name, value, how in (("near", x, {}), ("far", far, dict(refused=error))):
        kit.graph("none_log_" + name, cast + [node("Log", ["f"], ["y"])], [("x", value)], [("y", logarithm)], 13, [ten], **how)
        kit.graph("none_two_" + name, cast + [node("Log", ["f"], ["y"]), node("Sqrt", ["f"], ["z"])], [("x", value)],
                  [("y", logarithm), ("z", roots)], 13, [ten], **how)
        kit.graph("none_of_all_" + name, cast + [node("Log", ["f"], ["g"]), node("ReduceSum", ["g"], ["y"], keepdims=0)],
                  [("x", value)], [("y", kit.f4(np.nan))], 13, [ten], **how)
        half = cast + [node("Log", ["f"], ["g"]), node("Cast", ["g"], ["y"], to=10)]
        kit.graph("none_half_" + name, half, [("x", value)], [("y", logarithm.astype("f2"))], 13, [ten], **how)
        decided = cast + [node("Log", ["f"], ["g"]), node("Less", ["g", "two"], ["y"])]
        kit.graph("none_decides_" + name, decided, [("x", value)], [("y", logarithm < 2)], 13, [ten, ("two", kit.f4(2))],
                  **(dict(refused="passes what the array computes exactly") if how else {}))
    unread = cast + [node("Where", ["c", "f", "x"], ["y"])]
    kit.graph("none_chosen", unread, [("x", far), ("c", far < 5)], [("y", kit.f4(np.where(far < 5, np.trunc(far) ** 2 - 10, far)))], 13, [ten])


def gathers(kit):
    at = kit.rng.integers(-5, 5, (3, 7))
    for dtype in ("i1", "u1", "i2", "i4", "i8"):
        x = kit.rng.integers(0 if dtype[0] == "u" else -100, 100, (3, 5)).astype(dtype)
        kit.case("gather_elements_" + dtype, "GatherElements", [x, at], [np.take_along_axis(x, at % 5, 1)], 13, axis=1)
    large = np.array([[(1 << 24) - 1, 1 - (1 << 24), 0, 5, -5]] * 3)
    kit.case("gather_elements_large", "GatherElements", [large, at], [np.take_along_axis(large, at % 5, 1)], 13, axis=1)
    known = x > 0
    kit.case("gather_elements_bool", "GatherElements", [known, at], [np.take_along_axis(known, at % 5, 1)], 13, axis=1)
    kit.case("gather_nd_bool", "GatherND", [known, np.array([[0, 1], [-1, -1], [2, 3]])], [known[[0, -1, 2], [1, -1, 3]]], 13)


def activations(kit):
    """Functions of recurrent layers with parameters, which take them in the order of the functions that have some."""
    x, w, r = kit.normal(5, 2, 3), kit.normal(2, 16, 3), kit.normal(2, 16, 4)
    def hard(v, a, b):
        return np.clip(a * v + b, 0, 1)
    def lstm(functions):
        y = np.zeros((5, 2, 2, 4))
        for d in range(2):
            f, g, k = functions[3 * d:3 * d + 3]
            h = c = np.zeros((2, 4))
            for step in range(5) if not d else range(4, -1, -1):
                i, o, u, n = np.split(x[step] @ w[d].T.astype("f8") + h @ r[d].T, 4, 1)
                c = f(u) * c + f(i) * g(n)
                h = f(o) * k(c)
                y[step, d] = h
        return [kit.f4(y)]
    names = ["HardSigmoid", "Tanh", "ScaledTanh", "Sigmoid", "LeakyRelu", "Affine"]
    functions = [lambda v: hard(v, 0.3, 0.4), np.tanh, lambda v: 0.7 * np.tanh(1.3 * v), lambda v: 1 / (1 + np.exp(-v)),
                 lambda v: np.where(v < 0, 0.25 * v, v), lambda v: 0.9 * v - 0.1]
    kit.case("lstm_parameters", "LSTM", [x, w, r], lstm(functions), 14, constants=(1, 2), hidden_size=4, direction="bidirectional", activations=names,
           activation_alpha=[0.3, 0.7, 0.25, 0.9], activation_beta=[0.4, 1.3, -0.1])
    functions[0] = lambda v: hard(v, 0.2, 0.5)
    functions[2], functions[4], functions[5] = np.tanh, lambda v: np.where(v < 0, 0.01 * v, v), lambda v: v
    kit.case("lstm_standard_parameters", "LSTM", [x, w, r], lstm(functions), 14, constants=(1, 2), hidden_size=4, direction="bidirectional",
           activations=names)


def sizes_of_one(kit):
    x = kit.normal(1, 2, 3, 4)
    kit.case("resize_cubic_to_one", "Resize", [x, None, None, np.array([1, 2, 1, 4])], [x[:, :, :1].copy()], 13, constants=(3,), mode="cubic",
           coordinate_transformation_mode="pytorch_half_pixel", exclude_outside=1)


def resized_by_scales(kit):
    """Scales are FP32 numbers, and so is what is computed with them: 10 by 0.7 are 7 elements, 3 / 0.6 is element 5."""
    for scale in (0.1, 0.3, 0.6, 0.7, 1.2, 4 / 3):
        for size in (10, 55):
            x = kit.normal(1, 1, size)
            to, s = int(np.float32(scale) * np.float32(size)), np.float32(scale)
            for mode, less in (("asymmetric", None), ("half_pixel", np.float32(0.5))):
                at = np.arange(to, dtype="f4")
                at = np.floor(at / s if less is None else (at + less) / s - less).astype(int)
                kit.case("resize_scale_%d_of_%d_%s" % (round(100 * scale), size, mode), "Resize", [x, None, kit.f4([1, 1, scale])],
                         [x[:, :, np.clip(at, 0, size - 1)].copy()], 19, constants=(2,), mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode=mode)
    for scale, at in ((1.3, [0, 1, 1]), (1.1, [0, 1, 1]), (1.2, [0, 1, 1])):  # the middle of three elements is that of three elements
        x = kit.normal(1, 5, 3)
        kit.case("resize_symmetric_middle_%d" % round(100 * scale), "Resize", [x, None, kit.f4([1, 1, scale])], [x[:, :, at].copy()], 21, constants=(2,),
                 mode="nearest", nearest_mode="floor", coordinate_transformation_mode="half_pixel_symmetric")


def interpolated(x, axis, to, place):
    """x along an axis of `to` elements, of which element i lies at place(i): of its two neighbours, or its only one."""
    last, parts = x.shape[axis] - 1, []
    for i in range(to):
        first = int(np.floor(place(i)))
        part = place(i) - first
        ends = [np.take(x, min(max(first + k, 0), last), axis) for k in (0, 1)]
        same = min(max(first, 0), last) == min(max(first + 1, 0), last)
        parts.append(ends[0] if same or part == 0 else ends[0] * (1 - part) + ends[1] * part)
    return np.stack(parts, axis)


def infinities_of_images(kit):
    """An infinity is in the places beside it alone: of images of many channels and of few, of scales that are whole, and others."""
    for name, shape, to, mode in (("twice", (1, 9, 6, 7), (12, 14), "half_pixel"), ("thrice", (1, 2, 4, 5), (12, 15), "half_pixel"),
                                  ("corners", (1, 8, 5, 6), (10, 12), "align_corners"),
                                  ("corners_by_steps", (1, 9, 5, 6), (9, 16), "align_corners"), ("corners_of_few", (2, 2, 4, 5), (13, 9), "align_corners"),
                                  ("corners_uneven", (1, 12, 5, 6), (17, 8), "align_corners"), ("up", (1, 3, 5, 6), (8, 7), "half_pixel"),
                                  ("down", (2, 10, 9, 8), (5, 3), "half_pixel"), ("asymmetric", (1, 16, 3, 4), (12, 8), "asymmetric")):
        x = kit.normal(*shape)
        x[0, 1, 2, 3] = np.inf
        y = x.astype("f8")
        for axis, size in zip((2, 3), to):
            old = shape[axis]
            places = {"half_pixel": lambda i: (i + 0.5) * old / size - 0.5, "align_corners": lambda i: i * (old - 1) / (size - 1),
                      "asymmetric": lambda i: i * old / size}
            y = interpolated(y, axis, size, places[mode])
        kit.case("resize_infinity_%s" % name, "Resize", [x, None, None, np.array(shape[:2] + to)], [kit.f4(y)], 19, constants=(3,), mode="linear",
                 coordinate_transformation_mode=mode)


def transposed_depthwise(kit):
    """A channel a group: windows that overlap, with and without results that no window reaches, and of one row."""
    for name, shape, kernel, strides, pads, more in (("overlap", (2, 5, 4, 3), (4, 4), (2, 2), (1, 1, 1, 1), (0, 0)),
                                                     ("gaps", (1, 3, 3, 4), (2, 1), (3, 2), (0, 0, 0, 0), (1, 1)),
                                                     ("uneven", (1, 40, 3, 5), (3, 5), (2, 3), (0, 1, 1, 2), (1, 0)),
                                                     ("row", (1, 4, 1, 6), (1, 4), (1, 2), (0, 1, 0, 1), (0, 0))):
        x, w, bias = kit.normal(*shape), kit.normal(shape[1], 1, *kernel), kit.normal(shape[1])
        whole = [(shape[2 + d] - 1) * strides[d] + kernel[d] + more[d] for d in (0, 1)]
        y = np.zeros((*shape[:2], *whole))
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                y[:, :, i:i + (shape[2] - 1) * strides[0] + 1:strides[0], j:j + (shape[3] - 1) * strides[1] + 1:strides[1]] += (
                    x.astype("f8") * w[None, :, 0, i, j, None, None])
        y = y[:, :, pads[0]:whole[0] - pads[2], pads[1]:whole[1] - pads[3]] + bias[None, :, None, None]
        kit.case("conv_transpose_depthwise_%s" % name, "ConvTranspose", [x, w, bias], [kit.f4(y)], 13, constants=(1, 2), kernel_shape=kernel,
                 strides=strides, pads=pads, output_padding=more, group=shape[1])


def convolved(x, w, bias, strides, dilations, pads, group):
    """A convolution of any number of dimensions, position by position of its window."""
    dims, each = w.ndim - 2, x.shape[1] // group
    wide = np.pad(x.astype("f8"), [(0, 0), (0, 0)] + list(zip(pads[:dims], pads[dims:])))
    out = [(wide.shape[2 + d] - (w.shape[2 + d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(dims)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    for o in range(w.shape[0]):
        first = o // (w.shape[0] // group) * each
        for at in np.ndindex(*w.shape[2:]):
            part = tuple(slice(at[d] * dilations[d], at[d] * dilations[d] + (out[d] - 1) * strides[d] + 1, strides[d]) for d in range(dims))
            for c in range(each):
                y[:, o] += wide[(slice(None), first + c) + part] * w[(o, c) + at]
    return y + bias.reshape(-1, *(1,) * dims)


def convolutions_of_each_channel(kit):
    """Several results a channel, of one dimension and two; and volumes of a channel a group."""
    for name, shape, out, kernel, strides, dilations, pads in (
            ("multiplied", (2, 5, 6, 7), 15, (3, 2), (1, 2), (1, 2), (1, 0, 1, 1)), ("multiplied_1d", (1, 3, 11), 6, (4,), (2,), (1,), (1, 2)),
            ("volume", (2, 4, 5, 6, 5), 4, (3, 3, 2), (1, 2, 1), (1, 1, 2), (1, 1, 0, 1, 1, 1)),
            ("volume_strided", (1, 3, 7, 4, 5), 3, (2, 1, 3), (2, 1, 1), (2, 1, 1), (0, 0, 1, 1, 0, 1))):
        x, w, bias = kit.normal(*shape), kit.normal(out, 1, *kernel), kit.normal(out)
        y = convolved(x, w, bias, strides, dilations, pads, shape[1])
        kit.case("conv_of_each_channel_%s" % name, "Conv", [x, w, bias], [kit.f4(y)], 13, constants=(1, 2), kernel_shape=kernel, strides=strides,
                 dilations=dilations, pads=pads, group=shape[1])


def transposed(x, w, bias, strides, dilations, pads, more, group):
    """A transposed convolution of any number of dimensions: what each element adds to the results that it reaches."""
    dims, each, out = w.ndim - 2, x.shape[1] // group, w.shape[1]
    whole = [(x.shape[2 + d] - 1) * strides[d] + (w.shape[2 + d] - 1) * dilations[d] + 1 + more[d] for d in range(dims)]
    y = np.zeros((x.shape[0], out * group, *whole))
    for c in range(x.shape[1]):
        first = c // each * out
        for at in np.ndindex(*w.shape[2:]):
            part = tuple(slice(at[d] * dilations[d], at[d] * dilations[d] + (x.shape[2 + d] - 1) * strides[d] + 1, strides[d]) for d in range(dims))
            for o in range(out):
                y[(slice(None), first + o) + part] += x[:, c].astype("f8") * w[(c, o) + at]
    kept = tuple(slice(pads[d], whole[d] - pads[dims + d]) for d in range(dims))
    return y[(slice(None), slice(None)) + kept] + bias.reshape(-1, *(1,) * dims)


def volumes(kit):
    """Windows over the depth alone, over planes alone, and over both; transposed ones by remainders of the depth, of which some reach
    fewer planes."""
    for name, shape, out, group, kernel, strides, dilations, pads in (
            ("of_depth", (2, 6, 7, 3, 5), 4, 2, (3, 1, 1), (2, 1, 1), (2, 1, 1), (2, 0, 0, 1, 0, 0)),
            ("of_planes", (2, 4, 5, 6, 4), 6, 2, (1, 3, 2), (2, 1, 2), (1, 1, 1), (0, 1, 0, 0, 1, 1)),
            ("of_groups", (1, 6, 4, 5, 5), 9, 3, (3, 2, 3), (1, 2, 1), (1, 1, 1), (1, 0, 1, 1, 1, 1))):
        x, w, bias = kit.normal(*shape), kit.normal(out, shape[1] // group, *kernel), kit.normal(out)
        x[0, 1, 2, 1, 3] = np.inf
        y = convolved(x, w, bias, strides, dilations, pads, group)
        kit.case("conv_3d_%s" % name, "Conv", [x, w, bias], [kit.f4(y)], 13, constants=(1, 2), kernel_shape=kernel, strides=strides,
                 dilations=dilations, pads=pads, group=group)
    for name, shape, out, group, kernel, strides, dilations, pads, more in (
            ("twice", (1, 5, 4, 3, 3), 3, 1, (2, 2, 2), (2, 2, 2), (1, 1, 1), (0, 0, 0, 0, 0, 0), (0, 0, 0)),
            ("overlap", (2, 6, 3, 4, 3), 2, 2, (5, 3, 3), (3, 2, 1), (1, 1, 1), (1, 1, 0, 2, 1, 1), (2, 1, 0)),
            ("gaps", (1, 4, 3, 3, 2), 2, 1, (2, 2, 1), (3, 2, 2), (1, 1, 1), (0, 0, 0, 0, 0, 0), (1, 0, 1)),
            ("dilated", (1, 4, 3, 3, 2), 2, 1, (2, 2, 1), (2, 2, 2), (3, 1, 1), (1, 0, 0, 1, 0, 0), (1, 0, 1))):
        x, w, bias = kit.normal(*shape), kit.normal(shape[1], out, *kernel), kit.normal(out * group)
        y = transposed(x, w, bias, strides, dilations, pads, more, group)
        kit.case("conv_transpose_3d_%s" % name, "ConvTranspose", [x, w, bias], [kit.f4(y)], 13, constants=(1, 2), kernel_shape=kernel,
                 strides=strides, dilations=dilations, pads=pads, output_padding=more, group=group)


def running_statistics(kit):
    x, scale, bias, centre, spread = kit.normal(4, 3, 5, 2), kit.normal(3), kit.normal(3), kit.normal(3), abs(kit.normal(3))
    wide, axes = x.astype("f8"), (0, 2, 3)
    def column(a):
        return np.asarray(a)[:, None, None]
    m, v = wide.mean(axes), wide.var(axes)
    y = (wide - column(m)) / np.sqrt(column(v) + 1e-3) * column(scale) + column(bias)
    wanted = [kit.f4(y), kit.f4(0.8 * centre + 0.2 * m), kit.f4(0.8 * spread + 0.2 * v)]
    how = dict(epsilon=1e-3, momentum=0.8)
    kit.case("batch_normalization_statistics", "BatchNormalization", [x, scale, bias, centre, spread], wanted, 15, training_mode=1, **how)
    kit.case("batch_normalization_variance", "BatchNormalization", [x, scale, bias, centre, spread], [wanted[0], None, wanted[2]], 15,
             constants=(1, 2, 3, 4), training_mode=1, **how)
    kit.case("batch_normalization_no_statistics", "BatchNormalization", [x, scale, bias, centre, spread], wanted, 15,
             refused="with training_mode = 1 alone", **how)


def collecting(kit):
    """A Loop whose state is a sequence, as scripted PyTorch writes lists that grow."""
    x, node = kit.normal(5, 2, 3), kit.node
    def typed(name, element_type, shape=()):
        return helper.make_tensor_value_info(name, element_type, shape)
    def sequence(name):
        return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)
    body = helper.make_graph([node("Gather", ["x", "i"], ["a"], axis=0), node("Mul", ["a", "h"], ["g"]), node("SequenceInsert", ["s", "g"], ["t"]),
                              node("Identity", ["c"], ["d"])], "body",
                             [typed("i", TensorProto.INT64), typed("c", TensorProto.BOOL), sequence("s"), typed("h", TensorProto.FLOAT, [2, 3])],
                             [typed("d", TensorProto.BOOL), sequence("t"), typed("g", TensorProto.FLOAT, [2, 3])])
    ends = {"stacked": node("ConcatFromSequence", ["all"], ["y"], axis=0, new_axis=1), "at": node("SequenceAt", ["all", "two"], ["y"])}
    products = np.cumprod(x.astype("f8"), 0)
    for name, wanted in (("stacked", products), ("at", products[2])):
        nodes = [node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "", "none", "one"], ["all", "last"], body=body), ends[name]]
        kit.graph("loop_of_a_sequence_" + name, nodes, [("x", x)], [("y", kit.f4(wanted)), ("last", kit.f4(products[4]))], 13,
                  [("n", np.array(5)), ("one", np.ones((2, 3), "f4")), ("two", np.array(2))])
    kit.graph("loop_gives_a_sequence", nodes[:2] + [node("SequenceLength", ["all"], ["y"])], [("x", x)], [("y", np.array(5))], 13,
              [("n", np.array(5)), ("one", np.ones((2, 3), "f4"))])


def defaults(kit):
    """An initializer that is listed as an input is that input's default."""
    x, w, other = kit.normal(3, 4), kit.normal(4, 2), kit.normal(4, 2)
    nodes = [kit.node("MatMul", ["x", "w"], ["y"])]
    def wanted(a):
        return [("y", kit.f4(x.astype("f8") @ a))]
    def typed(name, element_type, *shape):
        return helper.make_tensor_value_info(name, element_type, shape)
    inputs = [typed("x", 1, 3, 4), typed("w", 1, 4, 2)]
    kit.graph("default_taken", nodes, [("x", x)], wanted(w), 13, [("w", w)], inputs=inputs)
    kit.graph("default_replaced", nodes, [("x", x), ("w", other)], wanted(other), 13, [("w", w)], inputs=inputs)
    wide = kit.normal(4, 5)
    kit.graph("default_of_another_shape", nodes, [("x", x), ("w", wide)], wanted(wide), 13, [("w", w)], refused='input "w" is f32[4,2], which',
              inputs=inputs)
    kit.graph("default_of_open_shape", nodes, [("x", x), ("w", wide)], wanted(wide), 13, [("w", w)], inputs=[inputs[0], typed("w", 1, 4, "n")])
    large, shift = kit.normal(600, 40), kit.normal(600, 40)
    kit.graph("default_large", [kit.node("Add", ["w", "x"], ["y"])], [("x", large), ("w", shift)], [("y", large + shift)], 13, [("w", large)],
              inputs=[typed("x", 1, 600, 40), typed("w", 1, 600, 40)])
    shape = np.array([2, 6])
    kit.graph("default_decides", [kit.node("Reshape", ["x", "s"], ["y"])], [("x", x), ("s", shape)], [("y", x.reshape(2, 6))], 13,
              [("s", np.array([4, 3]))], inputs=[inputs[0], typed("s", 7, 2)])
    drop = [kit.node("Dropout", ["x", "ratio", "mode"], ["y"])]
    off, on = np.array(False), np.array(True)
    listed = [inputs[0], typed("ratio", 1), typed("mode", 9)]
    kit.graph("default_settled", drop, [("x", x)], [("y", x)], 13, [("ratio", kit.f4(0.5)), ("mode", off)], inputs=listed)
    kit.graph("default_settled_given", drop, [("x", x), ("ratio", kit.f4(0.5)), ("mode", on)], [("y", x)], 13,
              [("ratio", kit.f4(0.5)), ("mode", off)], inputs=listed, refused='has no input "ratio"')


GROUPS = (defaults, quotients, wide_products, quantized, reductions, remainders, whole_products, empties, decisions, numbers_that_are_none, gathers, activations, sizes_of_one, resized_by_scales, infinities_of_images, transposed_depthwise, convolutions_of_each_channel, volumes, running_statistics, collecting, of_nothing, slopes, large_fills, gradients_of_given_statistics)
