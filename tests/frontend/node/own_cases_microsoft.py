"""Cases of own_cases.py: what ONNX Runtime's optimizer fuses, in the domain com.microsoft.

Each group gets a kit: case, graph, rng, f4 and normal as own_cases.py has them.
"""
import numpy as np

MICROSOFT = {"opset": 17, "domain": "com.microsoft"}


def heads(x, count):
    return x.reshape(x.shape[0], x.shape[1], count, -1).swapaxes(1, 2)


def joined(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def attention(q, k, v, mask=0.0, scale=None, sink=None):
    """Of heads [B, N, S, H]; `sink`: a score of each head that is in the sum alone."""
    q, k, v = (a.astype("f8") for a in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5) + mask
    top = scores.max(-1, keepdims=True)
    if sink is not None:
        column = np.broadcast_to(np.asarray(sink, "f8").reshape(1, -1, 1, 1), top.shape)
        top = np.maximum(top, column)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True) + (np.exp(column - top) if sink is not None else 0)
    return e / total @ v


def causal(queries, keys):
    return np.where(np.arange(keys)[None] <= np.arange(queries)[:, None] + keys - queries, 0, -np.inf)


def attentions(kit):
    case, f4, normal = kit.case, kit.f4, kit.normal
    b, s, width, n, h = 2, 5, 11, 3, 4
    x, w, bias = normal(b, s, width), normal(width, 3 * n * h), normal(3 * n * h)
    y = x.astype("f8") @ w + bias
    q, k, v = (heads(p, n) for p in np.split(y, 3, -1))

    def check(name, inputs, mask, wanted=None, constants=(1, 2), **how):
        case("microsoft_attention" + name, "Attention", inputs, [f4(joined(attention(q, k, v, mask)))] if wanted is None else wanted,
             constants=constants, num_heads=n, **MICROSOFT, **how)
    check("", [x, w, bias], 0)
    check("_causal", [x, w, bias], causal(s, s), unidirectional=1)
    flags = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], "i4")
    check("_flags", [x, w, bias, flags], np.where(flags, 0, -10000)[:, None, None])
    check("_flags_causal", [x, w, bias, flags], np.where(flags, 0, -10000)[:, None, None] + causal(s, s), unidirectional=1)
    check("_no_flags", [x, w, bias, np.zeros((b, s), "i4")], 0, mask_filter_value=-16.0)
    check("_filter", [x, w, bias, flags], np.where(flags, 0, -2)[:, None, None], mask_filter_value=-2.0)
    ends, at = np.array([3, 5], "i4"), np.arange(s)
    check("_ends", [x, w, bias, ends], np.where(at < ends[:, None], 0, -10000)[:, None, None])
    bounds = np.array([3, 5, 1, 2], "i4")
    check("_bounds", [x, w, bias, bounds], np.where((at < bounds[:2, None]) & (at >= bounds[2:, None]), 0, -10000)[:, None, None])
    each = kit.rng.integers(0, 2, (b, s, s)).astype("i4")
    check("_each", [x, w, bias, each], np.where(each, 0, -10000)[:, None])
    scores = normal(1, n, s, s)
    check("_bias", [x, w, bias, flags, None, scores], np.where(flags, 0, -10000)[:, None, None] + scores)
    past = normal(2, b, n, 3, h)
    all_k, all_v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    check("_past", [x, w, bias, None, past], 0, [f4(joined(attention(q, all_k, all_v, causal(s, s + 3)))), f4(np.stack([all_k, all_v]))],
          unidirectional=1)
    wide = normal(width, 6 + 6 + 15)
    wq, wk, wv = (heads(p, n) for p in np.split(x.astype("f8") @ wide, [6, 12], -1))
    check("_widths", [x, wide, None], 0, [f4(joined(attention(wq, wk, wv)))], (1,), qkv_hidden_sizes=[6, 6, 15])
    check("_heads", [x, wide, None], 0, [x], (1,), refused="27 columns of weights do not fit 3 heads", qkv_hidden_sizes=[6, 6, 14])
    check("_mask", [x, w, bias, np.ones((b, s + 1), "i4")], 0, [x], refused="the mask i32[2,6] is not supported")
    check("_rotary", [x, w, bias], 0, [x], do_rotary=1, refused='"do_rotary" = 1')


def multi_head_attentions(kit):
    case, f4, normal = kit.case, kit.f4, kit.normal
    b, s, t, n, h, hv = 2, 3, 5, 2, 4, 6
    q, k, v, bias = normal(b, s, n * h), normal(b, t, n * h), normal(b, t, n * hv), normal(n * (h + h + hv))
    biases = np.split(bias, [n * h, 2 * n * h])
    qb, kb, vb = (heads(p + c, n) for p, c in zip((q, k, v), biases))

    def check(name, inputs, wanted, **how):
        case("multi_head" + name, "MultiHeadAttention", inputs, wanted, num_heads=n, **MICROSOFT, **how)
    check("", [q, k, v], [f4(joined(attention(*(heads(p, n) for p in (q, k, v)))))])
    check("_bias", [q, k, v, bias], [f4(joined(attention(qb, kb, vb)))])
    flags = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], "i4")
    check("_flags", [q, k, v, bias, flags], [f4(joined(attention(qb, kb, vb, np.where(flags, 0, -10000)[:, None, None])))])
    ends = np.array([4, 2], "i4")
    check("_ends", [q, k, v, bias, ends], [f4(joined(attention(qb, kb, vb, np.where(np.arange(t) < ends[:, None], 0, -10000)[:, None, None])))])
    scores = normal(b, n, s, t)
    check("_scores", [q, k, v, None, None, scores], [f4(joined(attention(*(heads(p, n) for p in (q, k, v)), scores)))])
    for name, scale in ("", 0.3), ("_negative", -0.3), ("_zero", 0.0):  # 0: not given
        check("_scale" + name, [q, k, v], [f4(joined(attention(*(heads(p, n) for p in (q, k, v)), scale=scale or None)))], scale=scale)
    packed = normal(b, s, n, 3, h)
    own = [packed[:, :, :, i].swapaxes(1, 2) for i in range(3)]
    check("_packed", [packed], [f4(joined(attention(*own)))])
    pair = normal(b, t, n, 2, h)
    check("_packed_keys", [q, pair], [f4(joined(attention(heads(q, n), pair[:, :, :, 0].swapaxes(1, 2), pair[:, :, :, 1].swapaxes(1, 2))))])
    ck, cv = normal(b, n, t, h), normal(b, n, t, hv)
    check("_of_caches", [q, ck, cv], [f4(joined(attention(heads(q, n), ck, cv)))])
    x = [normal(b, s, n * h) for _ in range(3)]
    past_k, past_v = normal(b, n, 4, h), normal(b, n, 4, h)
    all_k, all_v = np.concatenate([past_k, heads(x[1], n)], 2), np.concatenate([past_v, heads(x[2], n)], 2)
    check("_past", x + [None, None, None, past_k, past_v], [f4(joined(attention(heads(x[0], n), all_k, all_v, causal(s, s + 4)))), all_k, all_v],
          unidirectional=1)
    check("_last", [q[:, :1].copy(), k, v], [f4(joined(attention(*(heads(p, n) for p in (q[:, :1], k, v)))))], unidirectional=1)
    check("_no_order", [q, k, v], [q], refused="3 queries of 5 keys have no order", unidirectional=1)
    check("_odd_heads", [q, k, v[..., :7].copy()], [q], refused="do not fit 2 heads")
    check("_alone", [q], [q], refused="queries, keys and values do not fit")


def embeddings(kit):
    case, f4, rng = kit.case, kit.f4, kit.rng
    words, places, segments, scale, shift = kit.normal(9, 12), kit.normal(7, 12), kit.normal(2, 12), kit.normal(12), kit.normal(12)
    ids, kinds = rng.integers(0, 9, (2, 5)).astype("i4"), rng.integers(0, 2, (2, 5)).astype("i4")
    mask, at = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "i4"), rng.integers(0, 7, (2, 5)).astype("i4")
    tables = [words, places, segments, scale, shift]

    def normalized(x):
        x = x - x.mean(-1, keepdims=True)
        return f4(x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * scale + shift)
    both = words[ids].astype("f8") + places[None, :5]
    case("embed_norm", "EmbedLayerNormalization", [ids, kinds] + tables + [mask], [normalized(both + segments[kinds]), np.array([3, 5], "i4")],
         epsilon=1e-5, **MICROSOFT)
    case("embed_norm_words", "EmbedLayerNormalization", [ids, None, words, places, None, scale, shift], [normalized(both), np.array([0, 0], "i4"), f4(both)],
         epsilon=1e-5, constants=(2, 3, 5, 6), **MICROSOFT)
    placed = words[ids].astype("f8") + places[at] + segments[kinds]
    case("embed_norm_places", "EmbedLayerNormalization", [ids, kinds] + tables + [mask, at], [normalized(placed), np.array([3, 5], "i4"), f4(placed)],
         epsilon=1e-5, **MICROSOFT)
    case("embed_norm_short", "EmbedLayerNormalization", [ids, None, words, places[:4].copy(), None, scale, shift], [kit.normal(2, 5, 12)],
         refused="its indices and tables do not fit", **MICROSOFT)


def products_with_activations(kit):
    case, f4 = kit.case, kit.f4
    x, w, bias = kit.normal(2, 3, 6, 7), kit.normal(4, 3, 3, 3), kit.normal(4)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype("f8")
    y = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + 6, j:j + 7], w[:, :, i, j]) for i in range(3) for j in range(3)) + bias[:, None, None]
    z = kit.normal(*y.shape)
    how = dict(pads=[1, 1, 1, 1], kernel_shape=[3, 3], **MICROSOFT)
    case("fused_conv_relu", "FusedConv", [x, w, bias], [f4(np.maximum(y, 0))], constants=(1, 2), activation="Relu", **how)
    case("fused_conv_sum", "FusedConv", [x, w, bias, z], [f4(np.maximum(y + z, 0))], activation="Relu", **how)
    case("fused_conv_leaky", "FusedConv", [x, w, bias], [f4(np.where(y < 0, 0.2 * y, y))], activation="LeakyRelu", activation_params=[0.2], **how)
    case("fused_conv_clip", "FusedConv", [x, w, bias], [f4(np.clip(y, -1, 2))], activation="Clip", activation_params=[-1.0, 2.0], **how)
    case("fused_conv_hard", "FusedConv", [x, w, bias], [f4(np.clip(0.3 * y + 0.4, 0, 1))], activation="HardSigmoid", activation_params=[0.3, 0.4], **how)
    case("fused_conv_tanh", "FusedConv", [x, w, bias], [f4(np.tanh(y))], activation="Tanh", **how)
    case("fused_conv_activation", "FusedConv", [x, w, bias], [f4(y)], activation="Softsign", refused='activation "Softsign"', **how)
    case("fused_conv_parameters", "FusedConv", [x, w, bias], [f4(y)], activation="Clip", activation_params=[1.0], refused="has 2 parameters", **how)
    a, b, c = kit.normal(4, 5), kit.normal(6, 4), kit.normal(6)
    wide = 0.5 * a.astype("f8").T @ b.T + 2 * c
    how = dict(alpha=0.5, beta=2.0, transA=1, transB=1, **MICROSOFT)
    case("fused_gemm", "FusedGemm", [a, b, c], [f4(np.maximum(wide, 0))], activation="Relu", **how)
    case("fused_gemm_leaky", "FusedGemm", [a, b, c], [f4(np.where(wide < 0, 0.3 * wide, wide))], activation="LeakyRelu", activation_alpha=0.3, **how)
    case("fused_gemm_unused_parameter", "FusedGemm", [a, b, c], [f4(np.maximum(wide, 0))], activation="Relu", activation_alpha=0.3, **how)
    scale, zero = np.array(0.05, "f4"), np.array(1000, "u2")
    codes = np.clip(np.rint(x.astype("f8") / scale) + 1000, 0, 65535).astype("u2")
    case("microsoft_quantize", "QuantizeLinear", [x, scale, zero], [codes], **MICROSOFT)
    case("microsoft_dequantize", "DequantizeLinear", [codes, scale, zero], [f4((codes.astype("f8") - 1000) * scale)], **MICROSOFT)


def other_names(kit):
    """Operators that are those of ONNX, or of com.microsoft by a later name."""
    case, f4 = kit.case, kit.f4
    x, w = kit.normal(3, 4, 5), kit.normal(3, 4, 6)
    case("microsoft_trilu", "Trilu", [x, np.array(1, "i8")], [np.tril(x, 1)], constants=(1,), upper=0, **MICROSOFT)
    case("microsoft_trilu_above", "Trilu", [x], [np.triu(x)], **MICROSOFT)
    case("expand_dims", "ExpandDims", [x, np.array(1, "i4")], [x[:, None]], constants=(1,), **MICROSOFT)
    case("expand_dims_last", "ExpandDims", [x, np.array(-1, "i4")], [x[..., None]], constants=(1,), **MICROSOFT)
    case("expand_dims_outside", "ExpandDims", [x, np.array(4, "i4")], [x[..., None]], constants=(1,), refused="axis", **MICROSOFT)
    case("transpose_matmul", "TransposeMatMul", [x, w], [f4(0.5 * x.swapaxes(1, 2).astype("f8") @ w)], alpha=0.5, transA=1, **MICROSOFT)


def group_queries(kit):
    """GroupQueryAttention with scores that count in the sum alone, and positions of its own."""
    f4, n, h, s = kit.f4, 4, 16, 3
    q, k, v = kit.normal(2, s, n * h), kit.normal(2, s, 2 * h), kit.normal(2, s, 2 * h)
    each = [heads(q, n)] + [np.repeat(heads(p, 2), 2, 1) for p in (k, v)]
    operands = [q, k, v, None, None, np.array([s - 1] * 2, "i4"), np.array(s, "i4")]
    how = dict(num_heads=n, kv_num_heads=2, **MICROSOFT)

    def check(name, operands, y, **more):
        kit.case("group_query" + name, "GroupQueryAttention", operands, [y, heads(k, 2).copy(), heads(v, 2).copy()], **how, **more)
    check("_smooth", operands, f4(joined(attention(*each, causal(s, s), sink=np.zeros(n)))), smooth_softmax=1)
    sink = kit.normal(n)
    check("_sink", operands + [None] * 4 + [sink], f4(joined(attention(*each, causal(s, s), sink=sink))))
    check("_scales", operands + [None] * 5 + [sink], q, refused="operand 12")
    check("_sink_size", operands + [None] * 4 + [sink[:3].copy()], q, refused="not one number for each head")
    angle = kit.rng.uniform(0, 6, (12, h // 2))
    cos, sin = f4(np.cos(angle)), f4(np.sin(angle))

    def turned(x, at):
        c, d, x = cos[at][:, None].astype("f8"), sin[at][:, None].astype("f8"), x.astype("f8")
        return np.concatenate([x[..., :8] * c - x[..., 8:] * d, x[..., 8:] * c + x[..., :8] * d], -1)
    for name, count, before, given, at in (("_positions", s, 0, [[4, 5, 6], [1, 7, 2]], [[4, 5, 6]] * 2), ("_position", 1, 5, [[9], [3]], [[9], [3]]),
                                           ("_first_position", 1, 0, [[9], [3]], [[9], [9]])):
        past_k, past_v = kit.normal(2, 2, before, h), kit.normal(2, 2, before, h)
        rows, at = [np.ascontiguousarray(p[:, :count]) for p in (q, k, v)], np.array(at)
        all_k, all_v = np.concatenate([past_k, turned(heads(rows[1], 2), at)], 2), np.concatenate([past_v, heads(rows[2], 2)], 2)
        keys = all_k.shape[2]
        y = attention(turned(heads(rows[0], n), at), np.repeat(all_k, 2, 1), np.repeat(all_v, 2, 1), causal(count, keys))
        past = [past_k, past_v] if before else [None, None]
        kit.case("group_query" + name, "GroupQueryAttention",
                 rows + past + [np.array([keys - 1] * 2, "i4"), np.array(keys, "i4"), cos, sin, np.array(given)],
                 [f4(joined(y)), f4(all_k), f4(all_v)], do_rotary=1, **how)


def groups_of_weights(kit):
    """MatMulNBits whose rows have groups in any order."""
    k, n, block = 48, 7, 16
    x, codes = kit.normal(3, k), kit.rng.integers(0, 16, (n, 48))
    scales, groups = kit.f4(kit.rng.uniform(0.1, 1, (n, 3))), kit.rng.integers(0, 3, k).astype("i4")
    weights = (codes[:, ::2] + 16 * codes[:, 1::2]).astype("u1").reshape(n, 3, -1)
    how = dict(K=k, N=n, bits=4, block_size=block, **MICROSOFT)
    wanted = x.astype("f8") @ ((codes[:, :k] - 8) * scales[:, groups].astype("f8")).T
    kit.case("matmul_groups", "MatMulNBits", [x, weights, scales.ravel(), None, groups], [kit.f4(wanted)], constants=(1, 2, 4), **how)
    kit.case("matmul_groups_beyond", "MatMulNBits", [x, weights, scales.ravel(), None, groups + 1], [kit.f4(wanted)], constants=(1, 2, 4),
             refused="g_idx has group 3 of 3", **how)
    kit.case("matmul_groups_zero_points", "MatMulNBits", [x, weights, scales.ravel(), np.zeros(14, "u1"), groups], [kit.f4(wanted)],
             constants=(1, 2, 3, 4), refused="g_idx beside zero points", **how)


GROUPS = (attentions, multi_head_attentions, embeddings, products_with_activations, other_names, group_queries, groups_of_weights)
