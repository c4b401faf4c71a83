"""Cases of own_cases.py: floats of 8 and 4 bits, integers of 4 and 2 bits.

What is expected comes from a table of all numbers of a format, written from its definition: the nearest one, of two the one with
the even code. ONNX of Debian knows no such types: tensors are made of their bytes.
"""
import numpy as np

# Element type of ONNX: bits, exponent bits, fraction bits, bias, code that is NaN (None: as IEEE 754 has them), has infinity
FLOATS = {17: (8, 4, 3, 7, 0x7f, False), 18: (8, 4, 3, 8, 0x80, False), 19: (8, 5, 2, 15, None, True), 20: (8, 5, 2, 16, 0x80, False),
          23: (4, 2, 1, 1, -1, False)}
NAMES = {17: "e4m3fn", 18: "e4m3fnuz", 19: "e5m2", 20: "e5m2fnuz", 23: "e2m1", 24: "e8m0", 21: "uint4", 22: "int4", 25: "uint2", 26: "int2"}


class Narrow:
    """A tensor of an element type that NumPy has not: its codes, a byte each."""
    def __init__(self, element_type, codes):
        self.element_type, self.codes = element_type, np.asarray(codes, "u1")
        self.shape = self.codes.shape

    def packed(self):
        bits = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}.get(self.element_type, 8)
        flat = self.codes.ravel() & ((1 << bits) - 1)
        flat = np.concatenate([flat, np.zeros(-len(flat) % (8 // bits), "u1")]).reshape(-1, 8 // bits).astype("u4")
        return (flat << (bits * np.arange(8 // bits))).sum(1).astype("u1").tobytes()


def values_of(element_type):
    """Of each code its number."""
    bits, exponents, fractions, bias, nan, infinity = FLOATS[element_type]
    values = []
    for code in range(1 << bits):
        sign = -1.0 if code >> (bits - 1) else 1.0
        exponent, fraction = code >> fractions & ((1 << exponents) - 1), code & ((1 << fractions) - 1)
        top = exponent == (1 << exponents) - 1
        value = sign * (fraction / 2 ** fractions + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
        if nan is None and top:
            value = sign * np.inf if not fraction else np.nan
        if nan is not None and code in ((nan, nan | 0x80) if nan == 0x7f else (nan,)):
            value = np.nan
        values.append(value)
    return np.array(values)


def encoded(x, element_type, saturate=True):
    """Codes of x: rounded first, then held to the largest number, or what passes it made infinity or NaN."""
    values = values_of(element_type)
    bits = FLOATS[element_type][0]
    half = 1 << (bits - 1)
    positive = np.where(np.isfinite(values[:half]), values[:half], -1)
    most = int(np.argmax(positive))
    step = positive[most] - positive[most - 1]
    nan = {17: 0x7f, 18: 0x80, 19: 0x7e, 20: 0x80, 23: 8}[element_type]
    codes = []
    for number in np.asarray(x, "f8").ravel():
        if np.isnan(number):
            codes.append(nan)
            continue
        a = abs(number)
        far = np.abs(np.where(positive < 0, 1e300, positive) - min(a, 1e6))
        near = np.flatnonzero(far == far.min())
        code = int(near[0] if len(near) == 1 or near[0] % 2 == 0 else near[1])
        over = a > positive[most] + step / 2 or (a == positive[most] + step / 2 and most % 2 == 1)
        if over and not saturate and element_type != 23:
            code = 0x7c if element_type == 19 else nan
        is_nan = over and not saturate and element_type in (17, 18, 20)
        negative = np.signbit(number) and not is_nan and not (element_type in (18, 20) and not code)
        codes.append(code | (half if negative else 0))
    return Narrow(element_type, np.array(codes, "u1").reshape(np.shape(x)))


def interesting(kit, element_type):
    """Numbers of the format, middles between neighbours, numbers next to both, and special ones."""
    values = values_of(element_type)
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([finite, middles, np.nextafter(middles.astype("f4"), np.float32(np.inf)), np.nextafter(middles.astype("f4"), np.float32(-np.inf)),
                        finite[-1] * np.array([1.01, 1.0625, 1.07, 1.2, 1.25, 1.5, 2, -1.07, -1.5, -4]), [1e6, -1e6, 3e38, -3e38, 1e-7, -1e-7, 1e-42, 0.0, -0.0],
                        [np.nan, np.inf, -np.inf], kit.rng.standard_normal(50) * finite[-1] / 3])
    return x.astype("f4")


def floats(kit):
    case = kit.case
    for t in FLOATS:
        name, x = NAMES[t], interesting(kit, t)
        if t == 23:
            x = x[~np.isnan(x)]  # which this format has not
        case("cast_to_" + name, "Cast", [x], [encoded(x, t)], 25, to=t)
        if t != 23:
            case("cast_to_%s_no_saturate" % name, "Cast", [x], [encoded(x, t, False)], 25, to=t, saturate=0)
        with np.errstate(over="ignore"):
            half = x.astype("f2")
        case("cast_half_to_" + name, "Cast", [half], [encoded(half, t)], 25, to=t)
        codes = Narrow(t, np.arange(1 << FLOATS[t][0]).reshape(2, -1))
        numbers = values_of(t).reshape(2, -1)
        case("cast_of_" + name, "Cast", [codes], [numbers.astype("f4")], 25, to=1)
        case("cast_constant_of_" + name, "Cast", [codes], [numbers.astype("f4")], 25, constants=(0,), to=1)
        case("cast_like_" + name, "CastLike", [x, codes], [encoded(x, t)], 25)
        whole = np.where(np.isnan(numbers), 0, codes.codes)  # one NaN of several may become another
        case("transpose_" + name, "Transpose", [Narrow(t, whole)], [Narrow(t, whole.T)], 25)
        case("identity_constant_" + name, "Identity", [codes], [codes], 25, constants=(0,))
        y, scale = kit.normal(3, 8), np.array([0.25, 0.5, 2], "f4")
        zero = Narrow(t, np.zeros(3, "u1"))
        wanted = encoded(y / scale[:, None], t)
        case("quantize_" + name, "QuantizeLinear", [y, scale, zero], [wanted], 25, axis=0)
        case("quantize_dtype_" + name, "QuantizeLinear", [y, scale], [wanted], 25, axis=0, output_dtype=t)
        case("dequantize_" + name, "DequantizeLinear", [wanted, scale, zero], [(values_of(t)[wanted.codes] * scale[:, None]).astype("f4")], 25, axis=0)
    case("narrow_add", "Add", [codes, codes], [codes], 25, refused="element type f4e2m1, which is not supported here")


def powers(kit):
    """f8e8m0: 2^(code - 127), 255 is NaN."""
    case = kit.case
    exponents = np.concatenate([np.arange(-126.0, 128, 5), [0, 1, 127, -126]])
    x = (2.0 ** exponents[:, None] * np.array([1, 1.25, 1.5, 1.75])).astype("f4")
    x = np.concatenate([x[np.isfinite(x)], -x[:5, 1], np.array([np.inf, np.nan, 0], "f4")])
    a = np.abs(x.astype("f8"))
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.floor(np.log2(a))
        share = a / 2.0 ** low
    for mode in ("up", "down", "nearest"):
        more = {"up": share > 1, "down": share < 0, "nearest": share >= 1.5}[mode]
        code = np.where(a == 0, 0, np.clip(np.where(np.isfinite(low), low, 0) + more + 127, 0, 254))
        case("cast_to_e8m0_" + mode, "Cast", [x], [Narrow(24, np.where(np.isfinite(a), code, 255))], 25, to=24, round_mode=mode)
    codes = Narrow(24, np.arange(256))
    numbers = np.where(np.arange(256) == 255, np.nan, 2.0 ** (np.arange(256) - 127.0))
    case("cast_of_e8m0", "Cast", [codes], [numbers.astype("f4")], 25, to=1)
    case("cast_to_e8m0_mode", "Cast", [x], [codes], 25, to=24, round_mode="even", refused='round_mode "even" is not known')


def integers(kit):
    case = kit.case
    for t, bits in ((21, 4), (22, 4), (25, 2), (26, 2)):
        name, signed = NAMES[t], t in (22, 26)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        every = np.arange(low, high + 1)
        codes = Narrow(t, every & 255)
        odd = Narrow(t, codes.codes[:3])
        case("cast_to_" + name, "Cast", [(every + 0.25 * np.sign(every)).astype("f4")], [codes], 25, to=t)
        case("cast_integers_to_" + name, "Cast", [np.arange(-40, 40, dtype="i4")],
             [Narrow(t, [(i - low) % (1 << bits) + low & 255 for i in range(-40, 40)])], 25, to=t)
        case("cast_of_" + name, "Cast", [codes], [every.astype("f4")], 25, to=1)
        case("cast_constant_of_" + name, "Cast", [odd], [every[:3].astype("i1" if signed else "u1")], 25, constants=(0,), to=3 if signed else 2)
        case("identity_constant_" + name, "Identity", [odd], [odd], 25, constants=(0,))
        x, scale = kit.normal(2, 12), np.array([[0.25, 0.5, 1], [2, 0.125, 0.5]], "f4")
        wide = np.repeat(scale, 4, 1)
        zero = Narrow(t, np.array([[1, 0, 1], [0, 1, 1]]))
        wanted = np.clip(np.rint(x / wide) + np.repeat(zero.codes, 4, 1), low, high).astype("i4")
        case("quantize_blocks_" + name, "QuantizeLinear", [x, scale, zero], [Narrow(t, wanted & 255)], 25, axis=1, block_size=4)
        back = ((wanted - np.repeat(zero.codes, 4, 1)) * wide).astype("f4")
        case("dequantize_blocks_" + name, "DequantizeLinear", [Narrow(t, wanted & 255), scale, zero], [back], 25, axis=1, block_size=4)
        case("dequantize_weights_" + name, "DequantizeLinear", [Narrow(t, wanted & 255), scale, zero], [back], 25, constants=(0, 1, 2), axis=1, block_size=4)


def quantized_tables(kit):
    """GatherBlockQuantized: uint8 that holds 4 or 8 bits, whose zero points are 8 and 128 where none are given, and int4, uint4 along any axis."""
    def wide(blocks, block, axis, size):
        return np.take(np.repeat(blocks, block, axis), np.arange(size), axis)

    def check(name, data, codes, scales, zeros, wanted_zeros, rows, axis=1, gather=0, **more):
        y = (codes - wide(wanted_zeros.astype("f8"), 16, axis, codes.shape[axis])) * wide(scales.astype("f8"), 16, axis, codes.shape[axis])
        operands = [data, rows, scales] + ([] if zeros is None else [zeros])
        kit.case("gather_blocks_" + name, "GatherBlockQuantized", operands, [np.take(y, rows, gather).astype(scales.dtype)], 21, constants=(0, 2, 3)[:len(operands) - 1],
                 domain="com.microsoft", block_size=16, gather_axis=gather, quantize_axis=axis, **more)
    rows, codes = np.array([[2, -1], [0, 4]]), kit.rng.integers(0, 256, (5, 40)).astype("u1")
    scales, zeros = kit.f4(kit.rng.uniform(0.1, 1, (5, 3))), kit.rng.integers(0, 256, (5, 3)).astype("u1")
    pairs = codes & 15
    packed = pairs[:, ::2] + 16 * pairs[:, 1::2]
    nibbles = np.stack([(zeros[:, 0] & 15) + 16 * (zeros[:, 1] & 15), zeros[:, 2] & 15], 1)
    check("4", packed, pairs, scales, None, np.full((5, 3), 8), rows)
    check("4_zeros", packed, pairs, scales.astype("f2"), nibbles, zeros & 15, rows)
    check("8", codes, codes, scales, None, np.full((5, 3), 128), rows, bits=8)
    check("8_zeros", codes, codes, scales, zeros, zeros, rows, bits=8)
    for name, given, axis, refused in (("scales", scales[:, :2].copy(), 1, "do not fit"), ("first_axis", scales, 0, "blocks of 16 along axis 0")):
        kit.case("gather_blocks_" + name, "GatherBlockQuantized", [packed, rows, given], [kit.f4(pairs)], 21, constants=(0, 2), domain="com.microsoft",
                 block_size=16, quantize_axis=axis, refused=refused)
    for t in (21, 22):
        signed = (lambda c: c.astype("i4") - 16 * (c >> 3)) if t == 22 else (lambda c: c.astype("i4"))
        for axis, gather, shape in ((1, 0, (5, 40)), (0, 1, (40, 5)), (1, 2, (3, 24, 5))):
            codes = kit.rng.integers(0, 16, shape).astype("u1")
            beside = [-(-s // 16) if d == axis else s for d, s in enumerate(shape)]
            scales, zeros = kit.f4(kit.rng.uniform(0.1, 1, beside)), kit.rng.integers(0, 16, beside).astype("u1")
            name = "%s_%d_%d" % (NAMES[t], axis, gather)
            check(name, Narrow(t, codes), signed(codes), scales, Narrow(t, zeros), signed(zeros), rows, axis, gather)
            check(name + "_alone", Narrow(t, codes), signed(codes), scales, None, np.zeros(beside), rows, axis, gather)


GROUPS = (floats, powers, integers, quantized_tables)
