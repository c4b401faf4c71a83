"""Cases of own_cases.py: operators of the newest opsets, pools, frames, samples of images, sequences.

Each group gets a kit: case, graph, rng, f4 and normal as own_cases.py has them.
"""
import itertools

import numpy as np
from onnx import TensorProto, helper


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
    one = kit.normal(1, 4, 1)  # a block alone has no other a stride away
    case("col2im_alone", "Col2Im", [one, np.array([2, 2]), np.array([2, 2])], [one.reshape(1, 1, 2, 2)], 18, strides=[1 << 20, 1 << 20])
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
    case("max_pool_places_many", "MaxPool", [np.zeros((1, 1, 500, 500), "f4")], [np.zeros((1, 1, 469, 469), "f4"), np.zeros((1, 1, 469, 469), "i8")], 12,
         kernel_shape=[32, 32], refused="(MaxPool): its windows have 225240064 positions")
    case("max_pool_places_nothing", "MaxPool", [np.zeros((0, 1, 5, 5), "f4")], [np.zeros((0, 1, 4, 4), "f4"), np.zeros((0, 1, 4, 4), "i8")], 12,
         kernel_shape=[2, 2], refused="(MaxPool): its data is empty")
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
        case("global_lp_pool_%d_first" % p, "GlobalLpPool", [x], [kit.f4(wide)], 1, p=float(p))
    case("global_lp_pool_part", "GlobalLpPool", [x], [x], 1, p=1.5, refused="is no whole number")
    case("global_lp_pool_order", "GlobalLpPool", [x], [x], 2, p=0, refused="p = 0")


def between(plane, y, x):
    """Bilinear, of the four neighbours, those outside 0."""
    h, w = plane.shape
    low_y, low_x, value = int(np.floor(y)), int(np.floor(x)), 0.0
    for a, b in itertools.product((0, 1), (0, 1)):
        if 0 <= low_y + a < h and 0 <= low_x + b < w:
            value += (1 - abs(y - low_y - a)) * (1 - abs(x - low_x - b)) * float(plane[low_y + a, low_x + b])
    return value


def regions(kit):
    case, x = kit.case, kit.normal(2, 3, 9, 12)
    rois = kit.f4([[0, 0, 8, 6], [3.3, 1.2, 15.5, 11.7], [-9, -4, 4.5, 3.2], [5, 5, 5.1, 5.2]])
    batch = np.array([1, 0, 1, 1])

    def terms(plane, y, x):
        h, w = plane.shape
        if y < -1 or y > h or x < -1 or x > w:
            return [0.0] * 4
        y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
        j, i = int(y), int(x)
        weights = {(a, b): (1 - abs(y - j - a)) * (1 - abs(x - i - b)) for a, b in itertools.product((0, 1), (0, 1))}
        return [weight * float(plane[min(j + a, h - 1), min(i + b, w - 1)]) if weight else 0.0 for (a, b), weight in weights.items()]

    def wanted(scale, out, samples, half, maximum):
        y = np.zeros((4, 3) + out)
        for r, c in itertools.product(range(4), range(3)):
            x1, y1, x2, y2 = rois[r].astype("f8") * scale - (0.5 if half else 0)
            size = [y2 - y1, x2 - x1] if half else [max(y2 - y1, 1), max(x2 - x1, 1)]
            counts = [samples or int(np.ceil(size[d] / out[d])) for d in range(2)]
            for p, q in itertools.product(*map(range, out)):
                all_terms = [terms(x[batch[r], c], y1 + size[0] / out[0] * (p + (i + 0.5) / counts[0]), x1 + size[1] / out[1] * (q + (j + 0.5) / counts[1]))
                             for i, j in itertools.product(*map(range, counts))]
                y[r, c, p, q] = np.max(all_terms) if maximum else np.sum(all_terms) / len(all_terms)
        return kit.f4(y)
    for i, (scale, out, samples, half, maximum) in enumerate(((1.0, (3, 4), 2, True, False), (0.5, (2, 2), 3, False, False), (0.7, (3, 2), 2, True, True))):
        case("roi_align_%d" % i, "RoiAlign", [x, rois, batch], [wanted(scale, out, samples, half, maximum)], 16, output_height=out[0], output_width=out[1],
             sampling_ratio=samples, spatial_scale=scale, mode="max" if maximum else "avg",
             coordinate_transformation_mode="half_pixel" if half else "output_half_pixel")
    case("roi_align_opset_10", "RoiAlign", [x, rois, batch], [wanted(1.0, (2, 2), 2, False, False)], 10, output_height=2, output_width=2, sampling_ratio=2)
    case("roi_align_adaptive", "RoiAlign", [x, rois, batch], [wanted(1.0, (2, 3), 0, True, False)], 16, output_height=2, output_width=3)
    case("roi_align_adaptive_old", "RoiAlign", [x, rois, batch], [wanted(0.5, (1, 2), 0, False, False)], 16, constants=(1,), output_height=1, output_width=2,
         spatial_scale=0.5, coordinate_transformation_mode="output_half_pixel")
    case("roi_align_adaptive_max", "RoiAlign", [x, rois, batch], [wanted(1.0, (2, 2), 0, True, True)], 16, output_height=2, output_width=2, mode="max")
    x[1, 1, 4, 5] = np.inf  # in the results that have it among their neighbours
    for name, samples in (("", 2), ("_adaptive", 0)):
        with np.errstate(invalid="ignore"):
            case("roi_align_infinity" + name, "RoiAlign", [x, rois, batch], [wanted(1.0, (2, 3), samples, True, False)], 16, output_height=2, output_width=3,
                 sampling_ratio=samples)
    x[1, 1, 4, 5] = 0.5
    image = np.array([[0], [1], [0], [0]]) % x.shape[0]
    for name, scale, out in ("", 1.0, (2, 3)), ("_scaled", 0.7, (3, 2)), ("_fine", 0.5, (9, 8)):
        largest = np.zeros((4, x.shape[1]) + out, "f4")
        for r, i, k in np.ndindex(4, *out):
            at = [np.trunc(a + np.copysign(np.float32(0.5), a)) for a in rois[r] * np.float32(scale)]
            cut = []
            for d, number in ((1, i), (0, k)):
                part = np.float32(max(at[2 + d] - at[d] + 1, 1)) / np.float32(out[1 - d])
                ends = np.floor(np.float32(number) * part) + at[d], np.ceil(np.float32(number + 1) * part) + at[d]
                cut.append(slice(*(int(np.clip(e, 0, x.shape[3 - d])) for e in ends)))
            inside = x[image[r, 0], :, cut[0], cut[1]]
            if inside.size:
                largest[r, :, i, k] = inside.max((1, 2))
        case("max_roi_pool" + name, "MaxRoiPool", [x, np.concatenate([image.astype("f4"), rois], 1)], [largest], 1, pooled_shape=list(out),
             spatial_scale=scale)
    case("max_roi_pool_shape", "MaxRoiPool", [x, np.concatenate([image.astype("f4"), rois], 1)], [x], 1, pooled_shape=[2],
         refused="pooled_shape is not two numbers")
    kit.graph("roi_align_adaptive_computed", [kit.node("Sigmoid", ["r"], ["s"]), kit.node("RoiAlign", ["x", "s", "b"], ["y"])],
              [("x", x), ("r", rois), ("b", batch)], [("y", x)], 16, refused="sampling_ratio = 0 needs rois that are constant")


def deformed(kit):
    case, normal = kit.case, kit.normal

    def wanted(x, w, offset, bias, mask, stride, pads, dilation, group, offset_group):
        n, c, o, (kh, kw) = x.shape[0], x.shape[1], w.shape[0], w.shape[2:]
        oh, ow = offset.shape[2:]
        offset = offset.reshape(n, offset_group, kh, kw, 2, oh, ow)
        mask = np.ones((n, offset_group, kh, kw, oh, ow)) if mask is None else mask.reshape(n, offset_group, kh, kw, oh, ow)
        y = np.zeros((n, o, oh, ow))
        for b, ch, i, j, p, q in itertools.product(range(n), range(c), range(kh), range(kw), range(oh), range(ow)):
            g = ch // (c // offset_group)
            value = mask[b, g, i, j, p, q] * between(x[b, ch], p * stride[0] - pads[0] + i * dilation[0] + float(offset[b, g, i, j, 0, p, q]),
                                                     q * stride[1] - pads[1] + j * dilation[1] + float(offset[b, g, i, j, 1, p, q]))
            mine = ch // (c // group)
            for k in range(o // group):
                y[b, mine * (o // group) + k, p, q] += value * float(w[mine * (o // group) + k, ch % (c // group), i, j])
        return kit.f4(y if bias is None else y + bias[:, None, None])
    x = normal(2, 4, 6, 7)
    w, offset, mask, bias = normal(6, 2, 3, 2), normal(2, 2 * 12, 3, 5) * 2, kit.f4(kit.rng.random((2, 2 * 6, 3, 5))), normal(6)
    how = dict(strides=[2, 1], pads=[1, 0, 1, 0], dilations=[1, 2], group=2, offset_group=2)
    args = ((2, 1), (1, 0, 1, 0), (1, 2), 2, 2)
    case("deform_conv_groups", "DeformConv", [x, w, offset, bias, mask], [wanted(x, w, offset, bias, mask, *args)], 19, **how)
    case("deform_conv_no_mask", "DeformConv", [x, w, offset], [wanted(x, w, offset, None, None, *args)], 22, **how)
    w, offset = normal(3, 4, 3, 3), normal(2, 18, 4, 5)
    case("deform_conv", "DeformConv", [x, w, offset, normal(3) * 0], [wanted(x, w, offset, None, None, (1, 1), (0,) * 4, (1, 1), 1, 1)], 19)
    away = offset.copy()  # what lies far outside is 0, and so is what lies nowhere
    away[0, 3, 1, 2] = away[1, 8, 0, 0] = 1000
    far = wanted(x, w, away, None, None, (1, 1), (0,) * 4, (1, 1), 1, 1)
    away[0, 3, 1, 2], away[1, 8, 0, 0] = np.inf, np.nan
    case("deform_conv_nowhere", "DeformConv", [x, w, away], [far], 19)
    case("deform_conv_offsets", "DeformConv", [x, w, normal(2, 9, 4, 5)], [x], 19, refused="do not fit")


def determinants(kit):
    case, x = kit.case, kit.normal(3, 2, 7, 7)
    x[0, 0, 0, 0] = 0
    x[0, 1, 3] = x[0, 1, 5] * 2  # singular
    wide = np.linalg.det(x.astype("f8"))
    wide[0, 1] = 0
    singular = np.array([[0, 1, 2], [0, 3, 4], [0, 5, 7]], "f4")
    case("det", "Det", [x[1:].copy()], [kit.f4(wide[1:])], 11)
    case("det_pivot", "Det", [x[0, 0].copy()], [kit.f4(wide[0, 0])], 11)
    case("det_singular", "Det", [singular], [np.float32(0).reshape(())], 11)
    case("det_nan", "Det", [np.array([[1, 2], [np.nan, 3]], "f4")], [np.float32(np.nan).reshape(())], 11)
    case("det_one", "Det", [kit.f4([[[2]], [[-3]]])], [kit.f4([2, -3])], 22)
    case("det_not_square", "Det", [kit.normal(2, 3)], [x], 11, refused="no square matrices")


def mel_bands(kit):
    bands, length, rate, low, high = 12, 256, 8000, 125.0, 3600.0
    mel = lambda f: 2595 * np.log10(1 + f / 700)
    edges = np.floor((length + 1) * 700 * (10 ** ((mel(low) + np.arange(bands + 2) * (mel(high) - mel(low)) / (bands + 2)) / 2595) - 1) / rate).astype(int)
    weights = np.zeros((length // 2 + 1, bands))
    for i in range(bands):
        a, b, c = edges[i:i + 3]
        weights[a:b, i] = (np.arange(a, b) - a) / max(b - a, 1)
        weights[b:c, i] = (c - np.arange(b, c)) / max(c - b, 1)
        weights[b, i] = 1
    operands = [np.array(v, t) for v, t in ((bands, "i8"), (length, "i8"), (rate, "i8"), (low, "f4"), (high, "f4"))]
    kit.case("mel_weights", "MelWeightMatrix", operands, [kit.f4(weights)], 17)
    operands[4] = np.array(9000.0, "f4")
    kit.case("mel_weights_beyond", "MelWeightMatrix", operands, [kit.f4(weights)], 17, refused="beyond the spectrum")


def extremes(kit):
    case, x = kit.case, kit.rng.random((3, 4, 5)) < 0.2
    axes, nothing = np.array([1]), np.zeros((2, 0, 3), "f4")
    case("reduce_max_bools", "ReduceMax", [x, axes], [x.any(1)], 20, keepdims=0)
    case("reduce_min_bools", "ReduceMin", [~x, np.array([0, -1])], [(~x).all((0, 2), keepdims=True)], 20)
    case("reduce_max_nothing", "ReduceMax", [nothing, axes], [np.full((2, 1, 3), -np.inf, "f4")], 20)
    case("reduce_min_nothing", "ReduceMin", [nothing.astype("i4"), axes], [np.full((2, 3), 2 ** 31 - 1, "i4")], 20, keepdims=0)
    case("reduce_min_nothing_bool", "ReduceMin", [nothing > 0, axes], [np.ones((2, 3), bool)], 20, keepdims=0)


def random_numbers(kit):
    """Moments and quartiles of 2^16 numbers within five deviations of theirs; one seed gives the same numbers."""
    def check(name, nodes, y, low, high):
        made = [kit.node(*n[:3], **n[3]) for n in nodes]
        made += [kit.node("ReduceMean", [y], ["mean"], keepdims=0), kit.node("Greater", ["mean", "low"], ["above"]),
                 kit.node("Less", ["mean", "high"], ["below"]), kit.node("And", ["above", "below"], ["ok"])]
        kit.graph("random_" + name, made, [("low", np.float32(low).reshape(()))], [("ok", np.array(True))], 17, [("high", np.float32(high).reshape(()))])
    n = 1 << 16
    normal = ("RandomNormal", [], ["r"], dict(shape=[256, 256], mean=2.0, scale=3.0, seed=5.0))
    uniform = ("RandomUniform", [], ["r"], dict(shape=[n], low=-1.0, high=3.0))
    error = 5 / np.sqrt(n)
    check("normal_mean", [normal], "r", 2 - 3 * error, 2 + 3 * error)
    square = [("Sub", ["r", "two"], ["d"], {}), ("Mul", ["d", "d"], ["s"], {})]
    two = ("Constant", [], ["two"], dict(value_float=2.0))
    check("normal_variance", [normal, two] + square, "s", 9 * (1 - np.sqrt(2) * error), 9 * (1 + np.sqrt(2) * error))
    below = [("Less", ["r", "two"], ["l"], {}), ("Cast", ["l"], ["f"], dict(to=1))]
    check("normal_half", [normal, two] + below, "f", 0.5 - 0.5 * error, 0.5 + 0.5 * error)
    check("uniform_quarter", [uniform, two] + below, "f", 0.75 - 0.5 * error, 0.75 + 0.5 * error)
    check("uniform_mean", [uniform], "r", 1 - 1.2 * error, 1 + 1.2 * error)
    share = ("ConstantOfShape", ["n"], ["p"], dict(value=kit.tensor(np.array([0.3], "f4"))))
    check("bernoulli", [("Constant", [], ["n"], dict(value_ints=[n])), share, ("Bernoulli", ["p"], ["r"], dict(seed=1.0))], "r",
          0.3 - 0.46 * error, 0.3 + 0.46 * error)
    # Of weights 1, 2 and 5 an eighth, a quarter, five eighths; of no weight but one always that.
    shares, of_row = np.log(np.array([[1, 2, 5]], "f4")), np.sqrt(0.25 / n)
    for label, share in enumerate((0.125, 0.25, 0.625)):
        nodes = [("Constant", [], ["p"], dict(value=kit.tensor(shares))), ("Multinomial", ["p"], ["r"], dict(sample_size=n, seed=2.0)),
                 ("Constant", [], ["label"], dict(value=kit.tensor(np.array(label, "i4")))), ("Equal", ["r", "label"], ["e"], {}), ("Cast", ["e"], ["f"], dict(to=1))]
        check("multinomial_%d" % label, nodes, "f", share - 5 * of_row, share + 5 * of_row)
    only = np.full((3, 4), -np.inf, "f4")
    only[[0, 1, 2], [2, 0, 3]] = 0.5
    kit.case("multinomial_one", "Multinomial", [only], [np.repeat([[2], [0], [3]], 5, 1)], 17, sample_size=5, dtype=7)
    kit.case("multinomial_rank", "Multinomial", [only[0]], [np.zeros(1, "i4")], 17, refused="are not supported")
    for seed, same in ((5.0, True), (6.0, False)):
        nodes = [normal, ("RandomNormalLike", ["r"], ["q"], dict(mean=2.0, scale=3.0, seed=seed)), ("Equal", ["r", "q"], ["e"], {}), ("Cast", ["e"], ["f"], dict(to=1))]
        check("seed_%d" % seed, nodes, "f", 0.999 if same else -0.001, 1.001 if same else 0.01)
    for kind, (low, high), dtype in (("fp32", (2.0 ** 20, 2.0 ** 20 + 1), 1), ("fp16", (0.0, 1.0), 10), ("bf16", (-1.0, 0.0), 16)):
        nodes = [("RandomUniform", [], ["q"], dict(shape=[n], low=low, high=high, dtype=dtype, seed=1.0)), ("Cast", ["q"], ["r"], dict(to=1)),
                 ("ReduceMax", ["r"], ["s"], dict(keepdims=0))]  # of so many some are nearer to the end than to the number before it
        check("uniform_end_" + kind, nodes, "s", low, high)
    for name, shape, text in (("wide", [0, 2 ** 62, 2 ** 62], "its shape is not of"), ("shapeless", None, "shape is missing")):
        kit.case("random_" + name, "RandomNormal", [], [kit.f4(0)], 17, refused=text, **({} if shape is None else dict(shape=shape)))
    nodes = [kit.node("RandomNormal", [], ["r%d" % i], shape=[2 ** 24]) for i in range(5)]
    nodes += [kit.node("ReduceMax", ["r%d" % i], ["m%d" % i], keepdims=0) for i in range(5)] + [kit.node("Max", ["m%d" % i for i in range(5)], ["y"])]
    kit.graph("random_many", nodes, [], [("y", kit.f4(0))], 17, (), "a constant of 16777216 elements is made")
    kit.case("random_integers", "RandomUniformLike", [np.arange(3)], [np.arange(3)], 17, refused="element type i64")


def sequences(kit):
    """Sequences between tensors, as exporters write chunk, unbind, stack and lists that grow."""
    node, x = kit.node, kit.normal(5, 3, 4)
    def check(name, nodes, wanted, constants=(), refused="", opset=17):
        kit.graph("sequence_" + name, nodes, [("x", x)], [("y", wanted)], opset, [(n, np.array(a)) for n, a in constants], refused)
    split = node("SplitToSequence", ["x", "two"], ["s"], axis=0)
    at = node("SequenceAt", ["s", "at"], ["y"])
    check("chunk", [split, at], x[4:], [("two", 2), ("at", -1)])
    check("sizes", [split, at], x[1:4], [("two", [1, 3, 1]), ("at", 1)])
    check("outside", [split, at], x, [("two", 2), ("at", 3)], "its position is outside of 3")
    check("sizes_short", [split, at], x, [("two", [1, 3]), ("at", 1)], "does not fit a dimension of 5")
    unbind = node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0)
    check("unbind", [unbind, node("ConcatFromSequence", ["s"], ["y"], axis=-1)], np.concatenate([x[:, i] for i in range(3)], -1))
    check("stack", [unbind, node("ConcatFromSequence", ["s"], ["y"], axis=2, new_axis=1)], np.stack([x[:, i] for i in range(3)], 2))
    check("length", [unbind, node("SequenceLength", ["s"], ["y"])], np.array(3))
    grown = [unbind, node("SequenceAt", ["s", "zero"], ["a"]), node("Neg", ["a"], ["n"]), node("SequenceInsert", ["s", "n", "one"], ["t"]),
             node("SequenceErase", ["t"], ["u"]), node("SequenceInsert", ["u", "a"], ["v"]), node("ConcatFromSequence", ["v"], ["y"], axis=0, new_axis=1)]
    a, b = x[:, 0], x[:, 1]
    check("insert_and_erase", grown, np.stack([a, -a, b, a]), [("zero", 0), ("one", 1)])
    stacked = node("ConcatFromSequence", ["t"], ["y"], axis=0, new_axis=1)
    for place, wanted in ((-1, [0, 1, 0, 2]), (-3, [0, 0, 1, 2]), (3, [0, 1, 2, 0])):
        nodes = [unbind, node("SequenceAt", ["s", "zero"], ["a"]), node("SequenceInsert", ["s", "a", "at"], ["t"]), stacked]
        check("insert_at_%d" % place, nodes, np.stack([x[:, i] for i in wanted]), [("zero", 0), ("at", place)])
    check("insert_outside", nodes, x, [("zero", 0), ("at", -4)], "its position is outside of 3")
    check("erase_from_end", [unbind, node("SequenceErase", ["s", "at"], ["t"]), stacked], np.stack([x[:, 0], x[:, 2]]), [("at", -2)])
    made = [node("Relu", ["x"], ["r"]), node("SequenceConstruct", ["x", "r"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=1)]
    check("construct", made, np.concatenate([x, np.maximum(x, 0)], 1))
    check("as_tensor", made[:2] + [node("Relu", ["s"], ["y"])], x, refused="input 0 is a sequence")
    check("of_sequences", made[:2] + [node("SequenceConstruct", ["s", "s"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)], x,
          refused="input 0 is a sequence")
    check("of_tensor", [node("SequenceLength", ["x"], ["y"])], np.array(3), refused="no sequence")
    check("as_output", [node("SequenceConstruct", ["x"], ["y"])], x, refused='"y" is a sequence')
    length = node("SequenceLength", ["s"], ["y"])
    for size, refused in ((4096, ""), (4097, "more than 4096 elements")):
        kit.graph("sequence_of_%d" % size, [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1), length], [("x", np.zeros((size, 1), "f4"))],
                  [("y", np.array(size))], 17, (), refused)
    nodes = [node("SplitToSequence", ["x"], ["s%d" % i], axis=0) for i in range(40)] + [node("SequenceLength", ["s39"], ["y"])]
    nodes[-1:-1] = [node("SequenceAt", ["s%d" % i, "zero"], ["a%d" % i]) for i in range(40)]
    kit.graph("sequence_nodes", nodes, [("x", np.zeros((4000, 1), "f4"))], [("y", np.array(4000))] + [("a%d" % i, np.zeros((1, 1), "f4")) for i in range(40)],
              17, [("zero", np.array(0))], "more than 131072 nodes")
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=0)] + [node("SequenceInsert", ["s", "x"], ["t%d" % i]) for i in range(1100)]
    nodes += [node("SequenceLength", ["t%d" % i], ["l%d" % i]) for i in range(1100)] + [node("Sum", ["l%d" % i for i in range(1100)], ["y"])]
    kit.graph("sequence_lists", nodes, [("x", np.zeros((4000, 1), "f4"))], [("y", np.array(4001 * 1100))], 17, (), "more than 4194304 elements together")


def clipped_layers(kit):
    """Gates within clip; an LSTM's cell goes into its last function as it is, as in ONNX Runtime."""
    t, b, i, h, clip = 5, 2, 3, 4, 0.4
    x, hold = kit.normal(t, b, i) * 2, lambda v: np.clip(v, -clip, clip)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    for operator, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        w, r, bias = kit.normal(1, gates * h, i), kit.normal(1, gates * h, h), kit.normal(1, 2 * gates * h)
        state, cell, y = np.zeros((b, h)), np.zeros((b, h)), []
        for step in x.astype("f8"):
            of_x, of_h = step @ w[0].T + bias[0, :gates * h], state @ r[0].T + bias[0, gates * h:]
            a, c = (np.split(v, gates, 1) for v in (of_x, of_h))
            if operator == "RNN":
                state = np.tanh(hold(of_x + of_h))
            elif operator == "GRU":
                z, reset = (sigmoid(hold(a[k] + c[k])) for k in (0, 1))
                fresh = np.tanh(hold(a[2] + (reset * state) @ r[0, 2 * h:].T + bias[0, 5 * h:]))
                state = (1 - z) * fresh + z * state
            else:
                into, out, keep = (sigmoid(hold(a[k] + c[k])) for k in (0, 1, 2))
                cell = keep * cell + into * np.tanh(hold(a[3] + c[3]))
                state = out * np.tanh(cell)
            y.append(state)
        kit.case("clip_" + operator, operator, [x, w, r, bias], [kit.f4(np.stack(y)[:, None])], 14, constants=(1, 2, 3), hidden_size=h, clip=clip)
    kit.case("clip_negative", operator, [x, w, r, bias], [x], 14, hidden_size=h, clip=-1.0, refused="clip is negative")


def coupled_gates(kit):
    """An LSTM with input_forget keeps of its cell what the input's gate leaves, whatever the forget gate says."""
    t, b, i, h = 5, 2, 3, 4
    sigmoid = lambda v: 1 / (1 + np.exp(-v))

    def layer(x, w, r, bias, state, cell, peep, clip):
        hold = (lambda v: np.clip(v, -clip, clip)) if clip else lambda v: v
        y = []
        for step in x:
            gate = np.split(step @ w.T + bias[:4 * h] + state @ r.T + bias[4 * h:], 4, 1)
            into = sigmoid(hold(gate[0] + peep[:h] * cell))
            cell = (1 - into) * cell + into * np.tanh(hold(gate[3]))
            state = sigmoid(hold(gate[1] + peep[h:2 * h] * cell)) * np.tanh(cell)
            y.append(state)
        return np.stack(y), state, cell

    for direction, d, clip in (("forward", 1, 0), ("reverse", 1, 0.8), ("bidirectional", 2, 0)):
        sizes = ((t, b, i), (d, 4 * h, i), (d, 4 * h, h), (d, 8 * h), (d, b, h), (d, b, h), (d, 3 * h))
        given = [kit.normal(*s) for s in sizes]
        ends = []
        for k in range(d):
            back = direction == "reverse" or k == 1
            x, *rest = (a.astype("f8") if n == 0 else a[k].astype("f8") for n, a in enumerate(given))
            y, state, cell = layer(x[::-1] if back else x, *rest, clip)
            ends.append((y[::-1] if back else y, state, cell))
        outputs = [kit.f4(np.stack([e[n] for e in ends], 1 if n == 0 else 0)) for n in range(3)]
        kit.case("lstm_coupled_" + direction, "LSTM", given[:4] + [None] + given[4:], outputs, 14, constants=(1, 2, 3, 7), hidden_size=h, direction=direction,
                 input_forget=1, **({"clip": clip} if clip else {}))


def shapes(kit):
    """A shape that is split into its numbers is still known when the model is compiled."""
    x, node = kit.normal(2, 3, 4, 5), kit.node
    nodes = [node("Shape", ["x"], ["s"]), node("Split", ["s"], ["n", "c", "h", "w"], axis=0), node("Mul", ["h", "w"], ["hw"]),
             node("Concat", ["n", "hw", "c"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    kit.graph("split_shape", nodes, [("x", x)], [("y", x.reshape(2, 20, 3))], 13)


def mapped_sequences(kit):
    """SequenceMap: its body of each element, of another sequence's, of a tensor, and of what it captures; its results are sequences."""
    x, w, node = kit.normal(4, 3), kit.normal(3), kit.node

    def value(name):
        return helper.make_value_info(name, helper.make_tensor_type_proto(1, None))
    body = helper.make_graph([node("Mul", ["e", "t"], ["m"]), node("Sub", ["m", "f"], ["d"]), node("Add", ["e", "c"], ["a"])], "body",
                                  [value(n) for n in "eft"], [value(n) for n in "da"])
    both = [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("Neg", ["x"], ["n"]), node("SplitToSequence", ["n"], ["q"], axis=0, keepdims=0),
            node("Sigmoid", ["w"], ["c"])]
    join = [node("ConcatFromSequence", ["r"], ["y"], axis=1, new_axis=1), node("SequenceAt", ["k", "two"], ["z"]), node("SequenceLength", ["k"], ["l"])]
    wide, c = x.astype("f8"), 1 / (1 + np.exp(-w.astype("f8")))
    kit.graph("sequence_map", both + [node("SequenceMap", ["s", "q", "w"], ["r", "k"], body=body)] + join, [("x", x), ("w", w)],
              [("y", kit.f4((wide * w + wide).T)), ("z", kit.f4(wide[2] + c)), ("l", np.array(4))], 17, [("two", np.array(2))])
    kit.graph("sequence_map_lengths", both + [node("SequenceErase", ["q"], ["p"]), node("SequenceMap", ["s", "p", "w"], ["r", "k"], body=body)] + join,
              [("x", x), ("w", w)], [("y", x), ("z", w), ("l", np.array(4))], 17, [("two", np.array(2))], "sequences of 4 and 3 elements")
    kit.graph("sequence_map_of_tensor", both + [node("SequenceMap", ["x", "s", "w"], ["r", "k"], body=body)] + join,
              [("x", x), ("w", w)], [("y", x), ("z", w), ("l", np.array(4))], 17, [("two", np.array(2))], "input 0 is no sequence")
    kit.graph("sequence_map_operands", both + [node("SequenceMap", ["s", "w"], ["r", "k"], body=body)] + join,
              [("x", x), ("w", w)], [("y", x), ("z", w), ("l", np.array(4))], 17, [("two", np.array(2))], "its body does not fit")
    nothing = [node("SequenceEmpty", [], ["s"]), node("SequenceEmpty", [], ["q"]), node("Sigmoid", ["w"], ["c"]),
               node("SequenceMap", ["s", "q", "w"], ["r", "k"], body=body), node("SequenceLength", ["k"], ["l"])]
    kit.graph("sequence_map_of_nothing", nothing, [("w", w)], [("l", np.array(0))], 17)


def optionals(kit):
    """An optional is its element, or an operand that is left out."""
    x = kit.normal(2, 3)
    kit.graph("optional_of_tensor", [kit.node("Optional", ["x"], ["o"]), kit.node("OptionalHasElement", ["o"], ["has"]),
                                     kit.node("OptionalGetElement", ["o"], ["e"]), kit.node("Neg", ["e"], ["y"])], [("x", x)],
              [("has", np.array(True)), ("y", -x)], 18)
    kit.graph("optional_passed_on", [kit.node("OptionalGetElement", ["x"], ["y"])], [("x", x)], [("y", x)], 18)
    kit.graph("optional_of_nothing", [kit.node("OptionalHasElement", [], ["has"]), kit.node("Neg", ["x"], ["y"])], [("x", x)],
              [("has", np.array(False)), ("y", -x)], 18)
    kit.graph("optional_sequence", [kit.node("SequenceConstruct", ["x", "x"], ["s"]), kit.node("Optional", ["s"], ["o"]),
                                    kit.node("OptionalGetElement", ["o"], ["e"]), kit.node("ConcatFromSequence", ["e"], ["y"], axis=0)], [("x", x)],
              [("y", np.concatenate([x, x]))], 18)
    kit.graph("optional_without_element", [kit.node("OptionalGetElement", [], ["y"])], [("x", x)], [("y", x)], 18, refused="has no element")


def sizes_without_end(kit):
    """Few bytes that name large sizes, of more than a constant: each is refused before memory is taken for it."""
    def refused(name, text, operator, inputs, constants=(), opset=17, outputs=1, **attributes):
        shapes = [helper.make_tensor_value_info(n, TensorProto.INT64 if n == "i" else TensorProto.FLOAT, s) for n, s in inputs]
        wanted = ["y%d" % i for i in range(outputs)]
        nodes = [kit.node(operator, [n for n, _ in inputs] + [n for n, _ in constants], wanted, **attributes)]
        kit.graph("endless_" + name, nodes, [], [(n, kit.f4(0)) for n in wanted], opset, constants, text, inputs=shapes)
    refused("products", "4294967296 products of matrices are more than", "MatMul", [("a", [2 ** 32, 1, 1]), ("b", [2 ** 32, 1, 1])])
    refused("groups", "1048576 groups are more than", "ConvTranspose", [("a", [1, 2 ** 20, 2, 2]), ("w", [2 ** 20, 1, 2, 2])], group=2 ** 20)
    refused("no_channels", "its data has no channels", "Conv", [("a", [1, 0, 2 ** 16, 2 ** 16]), ("w", [1, 0, 1, 1])])
    refused("sum", "a constant of 8589934592 elements is made", "ReduceSum", [("a", [0, 2 ** 33])], [("axes", np.array([0]))])
    refused("state", "a constant of 8589934591 elements is made", "CausalConvWithState", [("a", [1, 1, 4]), ("w", [1, 1, 2 ** 33])], opset=24, outputs=2)
    nodes = [kit.node("LSTM", ["x", "w", "r"], ["y%d" % i], hidden_size=1) for i in range(6)]
    shapes = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [4096, 1, 1]), ("w", [1, 4, 1]), ("r", [1, 4, 1]))]
    rows = [helper.make_tensor_value_info("a", TensorProto.FLOAT, [2 ** 33, 2]), helper.make_tensor_value_info("i", TensorProto.INT64, [1])]
    kit.graph("endless_rows", [kit.node("Gather", ["a", "i"], ["g"], axis=1), kit.node("ReduceMax", ["g"], ["y"], keepdims=0)], [], [("y", kit.f4(0))],
              17, (), "does not fit", inputs=rows)
    kit.graph("endless_steps", nodes, [], [("y%d" % i, kit.f4(0)) for i in range(6)], 17, (), "there are more than 131072 nodes", inputs=shapes)


GROUPS = (optionals, linear_attention, causal_convolutions, caches, frames, col2im, pools_with_places, norms_of_windows, regions, deformed, determinants, mel_bands, extremes,
          random_numbers, sequences, mapped_sequences, clipped_layers, coupled_gates, shapes, sizes_without_end)
