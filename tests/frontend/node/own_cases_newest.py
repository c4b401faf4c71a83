"""Cases of own_cases.py: operators of the newest opsets, pools, frames, samples of images, sequences.

Each group gets a kit: case, graph, rng, f4 and normal as own_cases.py has them.
"""
import itertools

import numpy as np


def linear_attention(kit):
    case, f4, normal = kit.case, kit.f4, kit.normal
    b, t, hq, hk, dk, dv = 2, 5, 4, 2, 3, 6
    q, k, v, past = normal(b, t, hq * dk), normal(b, t, hk * dk), normal(b, t, hk * dv), normal(b, hk, dk, dv)
    decay, beta = f4(-kit.rng.random((b, t, hk * dk))), f4(kit.rng.random((b, t, hk)))

    def wanted(past, decay, beta, scale):
        state = np.zeros((b, hk, dk, dv)) if past is None else past.astype("f8")
        out = np.zeros((b, t, hq, dv))
        for n, i in itertools.product(range(b), range(t)):
            for h in range(hk):
                key, value = (x[n, i].reshape(hk, -1)[h].astype("f8") for x in (k, v))
                if decay is not None:
                    state[n, h] *= np.exp(decay[n, i].reshape(hk, -1)[h])[:, None]
                if beta is not None:
                    value = beta[n, i].reshape(-1)[h % beta.shape[2]] * (value - state[n, h].T @ key)
                state[n, h] += np.outer(key, value)
                for g in range(hq // hk):
                    at = h * (hq // hk) + g
                    out[n, i, at] = scale * q[n, i].reshape(hq, dk)[at].astype("f8") @ state[n, h]
        return f4(out.reshape(b, t, -1)), f4(state)
    how = dict(q_num_heads=hq, kv_num_heads=hk)
    case("linear_attention", "LinearAttention", [q, k, v], list(wanted(None, None, None, dk ** -0.5)), 26, update_rule="linear", **how)
    case("linear_attention_gated", "LinearAttention", [q, k, v, past, decay], list(wanted(past, decay, None, 0.3)), 26, update_rule="gated", scale=0.3,
         **how)
    case("linear_attention_delta", "LinearAttention", [q, k, v, past, None, beta[..., :1].copy()], list(wanted(past, None, beta[..., :1], dk ** -0.5)), 26,
         update_rule="delta", **how)
    per_head = decay[..., :hk].copy()
    case("linear_attention_gated_delta", "LinearAttention", [q, k, v, past, per_head, beta], list(wanted(past, per_head, beta, dk ** -0.5)), 26, **how)
    case("linear_attention_rule", "LinearAttention", [q, k, v], [q], 26, refused='input "decay"', **how)
    case("linear_attention_heads", "LinearAttention", [q, k, v], [q], 26, refused="heads of queries", q_num_heads=3, kv_num_heads=2, update_rule="linear")


def causal_convolutions(kit):
    case, f4, normal = kit.case, kit.f4, kit.normal
    x, w, bias, past = normal(2, 3, 7), normal(3, 1, 4), normal(3), normal(2, 3, 3)
    for name, before in (("", np.zeros((2, 3, 3))), ("_past", past)):
        both = np.concatenate([before, x], 2).astype("f8")
        y = sum(both[:, :, k:k + 7] * w[None, :, 0, k, None] for k in range(4)) + bias[:, None]
        case("causal_conv" + name, "CausalConvWithState", [x, w, bias] + ([past] if name else []), [f4(y), f4(both[:, :, -3:])], 26)
        case("causal_conv_silu" + name, "CausalConvWithState", [x, w, bias] + ([past] if name else []), [f4(y / (1 + np.exp(-y)))], 26, activation="silu")
    case("causal_conv_dense", "CausalConvWithState", [x, normal(3, 3, 4)], [x], 26, refused="does not fit")
    case("causal_conv_tanh", "CausalConvWithState", [x, w], [x], 26, activation="tanh", refused='activation "tanh" is not known')


def caches(kit):
    case = kit.case
    cache, update, at = kit.normal(3, 2, 8, 5), kit.normal(3, 2, 3, 5), np.array([0, 5, 2])
    wanted = cache.copy()
    for n in range(3):
        wanted[n, :, at[n]:at[n] + 3] = update[n]
    case("tensor_scatter", "TensorScatter", [cache, update, at], [wanted], 24)
    case("tensor_scatter_begin", "TensorScatter", [cache, update], [np.concatenate([update, cache[:, :, 3:]], 2)], 24, axis=2)
    wanted, at = cache.copy(), np.array([6, 15, -1])
    for n, p in itertools.product(range(3), range(3)):
        wanted[n, :, (at[n] + p) % 8] = update[n, :, p]
    case("tensor_scatter_circular", "TensorScatter", [cache, update, at], [wanted], 24, mode="circular")
    whole, rows = kit.rng.integers(-9, 9, (2, 6, 4)), kit.rng.integers(-9, 9, (2, 1, 4))
    wanted = whole.copy()
    wanted[0, 5], wanted[1, 0] = rows[0, 0], rows[1, 0]
    case("tensor_scatter_integers", "TensorScatter", [whole, rows, np.array([5, 0])], [wanted], 24)
    case("tensor_scatter_batch", "TensorScatter", [cache, update, at], [cache], 24, axis=0, refused="does not fit")
    a, b = kit.normal(3, 4), kit.normal(3, 4)
    case("swiglu", "SwiGLU", [a, b], [kit.f4(a.astype("f8") / (1 + np.exp(-1.7 * a.astype("f8"))) * b)], 28, alpha=1.7)
    case("swiglu_shapes", "SwiGLU", [a, b[:1].copy()], [a], 28, refused="differ in shape")


def frames(kit):
    case, x = kit.case, kit.normal(2, 5, 7)
    case("center_crop_pad_odd", "CenterCropPad", [x, np.array([4, 10])], [np.pad(x[:, 0:4], ((0, 0), (0, 0), (1, 2)))], 18, axes=[1, -1])
    case("center_crop_pad_arrives", "CenterCropPad", [x, np.array([2, 2, 2])], [np.ascontiguousarray(x[:, 1:3, 2:4])], 18)
    case("center_crop_pad_twice", "CenterCropPad", [x, np.array([4, 10])], [x], 18, axes=[1, -2], refused="axis 1")
    far = x
    for axis, begin, end in ((0, 0, 1), (1, 12, 0), (2, 3, 9)):  # numpy.pad repeats other elements before NumPy 1.25
        far = np.take(far, np.arange(-begin, x.shape[axis] + end) % x.shape[axis], axis)
    case("pad_wrap_far", "Pad", [x, np.array([0, 12, 3, 1, 0, 9])], [far], 19, mode="wrap")
    case("pad_wrap_axes", "Pad", [x, np.array([2, 1]), None, np.array([-1])], [np.pad(x, ((0, 0), (0, 0), (2, 1)), mode="wrap")], 19, mode="wrap")
    case("pad_wrap_negative", "Pad", [x, np.array([0, -1, 0, 0, 0, 0])], [x], 19, mode="wrap", refused="is not supported")


def col2im(kit):
    case = kit.case

    def folded(x, image, block, dilation, stride, pads):
        dims = len(image)
        count = [(image[i] + pads[i] + pads[dims + i] - dilation[i] * (block[i] - 1) - 1) // stride[i] + 1 for i in range(dims)]
        each = int(np.prod(block))
        x = x.astype("f8").reshape(x.shape[0], -1, each, *count)
        wide = np.zeros(x.shape[:2] + tuple(image[i] + pads[i] + pads[dims + i] for i in range(dims)))
        for k, at in enumerate(itertools.product(*map(range, block))):
            place = tuple(slice(at[i] * dilation[i], at[i] * dilation[i] + (count[i] - 1) * stride[i] + 1, stride[i]) for i in range(dims))
            wide[(slice(None), slice(None)) + place] += x[:, :, k]
        inner = tuple(slice(pads[i], pads[i] + image[i]) for i in range(dims))
        return kit.f4(wide[(slice(None), slice(None)) + inner])
    for i, (c, image, block, dilation, stride, pads) in enumerate((
            (3, (7, 9), (3, 2), (1, 2), (2, 3), (1, 0, 2, 1)), (2, (11,), (4,), (2,), (3,), (1, 2)),
            (1, (4, 5, 6), (2, 2, 3), (1, 1, 1), (1, 2, 2), (0, 1, 0, 1, 0, 0)), (2, (6, 6), (2, 2), (1, 1), (3, 3), (0,) * 4))):
        n = 1
        for d in range(len(image)):
            n *= (image[d] + pads[d] + pads[len(image) + d] - dilation[d] * (block[d] - 1) - 1) // stride[d] + 1
        x = kit.normal(2, c * int(np.prod(block)), n)
        case("col2im_%d" % i, "Col2Im", [x, np.array(image), np.array(block)], [folded(x, image, block, dilation, stride, pads)], 18,
             dilations=list(dilation), strides=list(stride), pads=list(pads))
    case("col2im_size", "Col2Im", [x, np.array([6, 6]), np.array([3, 3])], [x], 18, refused="does not hold")


def windows_of(x, kernel, stride, dilation, pads, ceil=False):
    """For each window its elements and their positions (y, x ..): output sizes, and a generator of (place, [(at, ..)])."""
    dims, size = len(kernel), x.shape[2:]
    out = []
    for i in range(dims):
        span = size[i] + pads[i] + pads[dims + i] - dilation[i] * (kernel[i] - 1) - 1
        n = (span + (stride[i] - 1 if ceil else 0)) // stride[i] + 1
        out.append(n - (1 if ceil and (n - 1) * stride[i] >= size[i] + pads[i] else 0))

    def each():
        for place in itertools.product(*map(range, out)):
            spots = []
            for at in itertools.product(*map(range, kernel)):
                p = tuple(place[i] * stride[i] - pads[i] + at[i] * dilation[i] for i in range(dims))
                if all(0 <= p[i] < size[i] for i in range(dims)):
                    spots.append(p)
            yield place, spots
    return tuple(out), each


def pools_with_places(kit):
    case = kit.case

    def wanted(x, kernel, stride, dilation, pads, ceil=False, columns=False):
        out, each = windows_of(x, kernel, stride, dilation, pads, ceil)
        y, places = np.zeros(x.shape[:2] + out, x.dtype), np.zeros(x.shape[:2] + out, "i8")
        strides = np.cumprod((1,) + (x.shape[2:-1] if columns else x.shape[:2:-1]))
        strides = strides if columns else strides[::-1]
        for n, c in itertools.product(range(x.shape[0]), range(x.shape[1])):
            for place, spots in each():
                best = spots[0]
                for p in spots[1:]:
                    if x[(n, c) + p] > x[(n, c) + best] or np.isnan(x[(n, c) + p]):
                        best = p
                y[(n, c) + place] = x[(n, c) + best]
                places[(n, c) + place] = (n * x.shape[1] + c) * int(np.prod(x.shape[2:])) + int(np.dot(best, strides))
        return [y, places]
    x = kit.normal(2, 3, 7, 6)
    ties = np.round(x)
    ties[0, 0] = -np.inf
    ties[1, 2, 3, 3] = ties[1, 2, 3, 4] = np.nan
    for i, (data, kernel, stride, dilation, pads, ceil, columns) in enumerate((
            (x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), False, False), (ties, (3, 2), (1, 2), (2, 1), (2, 0, 1, 1), False, False),
            (ties, (2, 2), (2, 4), (1, 1), (0, 0, 0, 0), True, False), (x, (2, 3), (2, 2), (1, 2), (0, 1, 1, 0), False, True),
            (kit.normal(2, 2, 9), (4,), (3,), (1,), (1, 1), True, False), (kit.normal(1, 2, 3, 4, 5), (2, 2, 2), (1, 2, 2), (1, 1, 1), (0, 0, 1, 0, 0, 0), False, False),
            (kit.rng.integers(0, 256, (1, 2, 5, 5)).astype("u1"), (2, 2), (1, 1), (1, 1), (1, 0, 0, 0), False, False))):
        case("max_pool_places_%d" % i, "MaxPool", [data], wanted(data, kernel, stride, dilation, pads, ceil, columns), 12, kernel_shape=list(kernel),
             strides=list(stride), dilations=list(dilation), pads=list(pads), ceil_mode=int(ceil), storage_order=int(columns))
    small = kit.rng.integers(-128, 128, (2, 2, 6, 5)).astype("i1")
    case("max_pool_integers", "MaxPool", [small], wanted(small, (3, 3), (1, 2), (1, 1), (1, 1, 1, 1))[:1], 12, kernel_shape=[3, 3], strides=[1, 2],
         pads=[1, 1, 1, 1])
    y, places = wanted(x, (2, 2), (2, 2), (1, 1), (0,) * 4)
    flat = np.zeros((2, 3, 6, 6), "f4")
    inside = places - np.arange(6).reshape(2, 3, 1, 1) * 42  # positions of the odd image are none of the even one's
    plane = np.arange(6).reshape(2, 3, 1, 1) * 36 + inside // 6 * 6 + inside % 6
    flat.ravel()[plane.ravel()] = y.ravel()
    case("max_unpool", "MaxUnpool", [y, plane], [flat], 11, kernel_shape=[2, 2], strides=[2, 2])
    case("max_unpool_larger", "MaxUnpool", [y, plane, np.array([2, 3, 7, 9])], [np.pad(flat, ((0, 0), (0, 0), (0, 1), (0, 3)))], 11, kernel_shape=[2, 2],
         strides=[2, 2])
    case("max_unpool_smaller", "MaxUnpool", [y, plane, np.array([2, 3, 5, 9])], [y], 11, kernel_shape=[2, 2], strides=[2, 2], refused="output_shape has 5")
    case("max_unpool_rank", "MaxUnpool", [y.reshape(6, 9), plane.reshape(6, 9)], [y], 11, kernel_shape=[2, 2], refused="rank 2")


def norms_of_windows(kit):
    case = kit.case
    for i, (shape, p, kernel, stride, dilation, pads, ceil) in enumerate((
            ((2, 3, 7, 6), 2, (3, 2), (2, 1), (1, 2), (1, 0, 1, 1), False), ((2, 2, 9), 1, (4,), (3,), (1,), (2, 1), True),
            ((1, 2, 4, 5, 4), 3, (2, 2, 3), (2, 1, 1), (1, 1, 1), (0, 0, 1, 0, 0, 1), False), ((1, 2, 5, 5), 4, (2, 2), (2, 2), (1, 1), (0,) * 4, True))):
        x = kit.normal(*shape)
        out, each = windows_of(x, kernel, stride, dilation, pads, ceil)
        y = np.zeros(shape[:2] + out)
        for n, c in itertools.product(range(shape[0]), range(shape[1])):
            for place, spots in each():
                y[(n, c) + place] = sum(abs(float(x[(n, c) + s])) ** p for s in spots) ** (1 / p)
        case("lp_pool_%d" % i, "LpPool", [x], [kit.f4(y)], 18, p=p, kernel_shape=list(kernel), strides=list(stride), dilations=list(dilation),
             pads=list(pads), ceil_mode=int(ceil))
    x = kit.normal(2, 3, 4, 5)
    for p in (1, 2, 5):
        wide = (np.abs(x.astype("f8")) ** p).sum((2, 3), keepdims=True) ** (1 / p)
        case("global_lp_pool_%d" % p, "GlobalLpPool", [x], [kit.f4(wide)], 2, p=p)
    case("global_lp_pool_order", "GlobalLpPool", [x], [x], 2, p=0, refused="p = 0")


GROUPS = (linear_attention, causal_convolutions, caches, frames, col2im, pools_with_places, norms_of_windows)
