#!/usr/bin/env python3
"""record.py EXPORTED_DIR [PATTERN]: what PyTorch gets for gradients/*.txt and steps/*.txt, beside this file.

Reads the tensors that test_training_gradients and test_training_steps wrote (TEGULA_TORCH_EXPORT=EXPORTED_DIR) and writes
behind the "---" of each case, all in double precision: of gradients, a line a parameter with its gradient under the mean
squared error against the labels; of steps, the loss of each step and a line for each parameter and running statistic
behind the last. Needs python3-torch. FORMULAS and MODELS say in PyTorch what the cases say in ONNX's operators.
"""
import glob
import itertools
import os
import struct
import sys

import torch
import torch.nn.functional as F


def chain(**p):
    return p['x'] * p['p'] + p['p']


def unary(f):
    return lambda **p: f(chain(**p))


def reduction(f):
    def y(x, p):
        u = x * p
        return f(u, (1,), False) * (f(u, (0, 2), True) * u).sum(1)
    return y


def positive_functions(x, p):
    e = p.exp()
    return e.log() + e.sqrt() + 1 / e + e ** 3 + e ** 0.5 + p ** 2 + e ** -2 + x


def bias_split_gelu(x, p, b):
    left, right = (x * p + b + p + b).chunk(2, -1)
    return left * F.gelu(right)


def binary_broadcast(x, a, b, c, d):
    return ((x * a - b) / d.exp() + c) ** 2


def extrema(x, a, b):
    m, n = torch.maximum(torch.maximum(x, a), b), torch.minimum(a, b)
    return (m + n + b) / 3 * m


def where_and_prelu(x, a, s, b):
    m = x * a
    return torch.where(x < a, torch.where(m < 0, s * m, m), b)


def shared_parameter(x, w):
    h = x @ w
    return h.tanh() @ w.T + h


def matmul_ranks(x, a, b, v, u, w):
    k = x @ a @ b
    return (k @ w) * (k @ v + u @ k).reshape(2, 3, 1)


def gemm(ta, tb):
    def y(x, a, b, c):
        s = x + a
        return 0.5 * (s.T if ta else s) @ (b.T if tb else b) + 2 * c
    return y


def softmax(x, p):
    return F.softmax(x + p, 1) * F.log_softmax(x + p, 2)


def layer_normalization(x, p, s, b, s2):
    return F.layer_norm(F.layer_norm(x + p, (5,), s, b), (2, 5), s2, None, 0.01)


def group_normalization(x, p, s, b, t, c, i, d):
    w = F.instance_norm(F.group_norm(x * p, 2, s, b).tanh(), None, None, i, d, eps=0.01)
    return F.group_norm(w.tanh(), 2, t.repeat_interleave(2), c.repeat_interleave(2), 0.001)


def moves(x, p):
    u = x * p
    return u.permute(2, 0, 1).reshape(4, 6) * u.reshape(4, 6)


def batch_normalization(x, p, s, b, s2, b2, **running):
    t = F.batch_norm(x * p + p, None, None, s, b, training=True).tanh()
    return F.batch_norm(t.reshape(6, 4, 5), None, None, s2, b2, training=True, eps=0.01)


def centred_images(x, w, b, s, o, d, e, s2, o2, v, c, s3, o3, t, **running):
    u = F.batch_norm(F.conv2d(x, w, b), None, None, s, o, training=True).tanh()
    u = F.batch_norm(F.conv2d(u, d, groups=4) + e, None, None, s2, o2, training=True).tanh()
    u = F.conv1d(u.reshape(2, 4, 6), v, c, padding=1)
    return F.batch_norm(u, None, None, s3, o3, training=True) * t.reshape(3, 1)


def centred_rows(x, w, b, s, o, v, c, s2, o2, p, q, s3, o3, t, **running):
    u = F.batch_norm((x @ w + b).permute(0, 2, 1), None, None, s, o, training=True).tanh().permute(0, 2, 1)
    u = F.batch_norm(F.linear(u.reshape(18, 4), v, 0.5 * c), None, None, s2, o2, training=True).tanh()
    return F.batch_norm(u @ p - q, None, None, s3, o3, training=True) * t + u


def convolution(x, w, b, d, g):
    h = F.conv2d(F.pad(x, (0, 1, 1, 2)), w, b, stride=(2, 1)).tanh()
    return F.conv2d(F.conv2d(h, d, groups=4, dilation=(1, 2)), g, groups=2, stride=(1, 2))


def convolution_1d(x, w, b, v):
    return F.conv1d(F.conv1d(x, w, b, stride=2, padding=1), v)


def conv_transpose(x, w, b, v):
    h = F.conv_transpose2d(x, w, b, stride=(2, 1), padding=(1, 0), output_padding=(1, 0), groups=2)[..., :-1]
    return F.conv_transpose2d(h.tanh(), v, stride=(1, 2), dilation=(2, 1))


def global_pools(x, p):
    u = x * p
    return u.mean((2, 3), True) + u.amax((2, 3), True)


def slices(x, p):
    u = x * p
    return u[0:3, 1:5, 2:5].flip(2) * u[1:4, [6, 4, 2, 0], 1:4]


def pads(x, p):
    u = F.pad(x * p, (2, 1, 0, 3), 'reflect').tanh()
    u = F.pad(u, (3, 0, 1, 2), 'replicate').tanh()
    return F.pad(F.pad(u, (1, 0, 0, 0), 'reflect'), (0, 0, 1, 1), 'replicate')


def joins(x, p, q):
    u = x * p
    b = F.pad(torch.cat((u, q, u), 1), (0, 0, 1, 0), value=0.5)
    b = F.pad(F.pad(b[:, :, 1:], (0, 2), value=0.5), (0, 0, 0, 0, 0, 1), value=0.5)
    e = q.expand(3, 2, 2, 4).tile(1, 1, 2, 3).sum((0, 2))
    return b[:2].expand(2, 2, 9, 5).mean(2) * e[None, :, :5]


def images(x, p):
    u = x * p
    dcr = u.reshape(2, 2, 2, 2, 2, 3).permute(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6)
    m = dcr * F.pixel_shuffle(u, 2)
    c = m.reshape(2, 2, 2, 2, 3, 2).permute(0, 3, 5, 1, 2, 4).reshape(2, 8, 2, 3)
    return F.interpolate(c, scale_factor=(2, 3), mode='nearest') ** 2


def gather(x, e, w):
    i = torch.tensor([[1, 6, 1, 6], [0, 3, 1, 2]])
    return e[i][:, :3] * w[:, [4, 0, 4]]


def gates(w, order):
    parts = w.chunk(len(order))
    return torch.cat([parts[i] for i in order])


def recurrent(run, order):
    """ONNX's stacks of weights, one of each direction, in PyTorch's order of gates; Y[steps, directions, batch, hidden]."""
    def y(x, w, r, b, **state):
        weights, directions, hidden = [], w.shape[0], r.shape[2]
        for d in range(directions):
            weights += [gates(t, order) for t in (w[d], r[d], *b[d].chunk(2))]
        start = [state.get(s, torch.zeros(directions, x.shape[1], hidden, dtype=x.dtype)) for s in 'hc']
        out = run(x, start, weights, directions == 2)[0]
        return out.reshape(*out.shape[:2], directions, hidden).permute(0, 2, 1, 3)
    return y


lstm = recurrent(lambda x, s, w, both: torch.lstm(x, s, w, True, 1, 0, False, both, False), (0, 2, 3, 1))
gru = recurrent(lambda x, s, w, both: torch.gru(x, s[0], w, True, 1, 0, False, both, False), (1, 0, 2))
rnn = recurrent(lambda x, s, w, both: torch.rnn_tanh(x, s[0], w, True, 1, 0, False, both, False), (0,))

def pools(x, p):
    u = x * p
    a = F.max_pool2d(F.pad(u, (0, 1, 1, 0), value=-1e9), (3, 2), (2, 1), dilation=(1, 2))
    ones = F.avg_pool2d(F.pad(torch.ones_like(u), (0, 0, 1, 0)), (3, 2), (2, 1))
    b = F.avg_pool2d(F.pad(u, (0, 0, 1, 0)), (3, 2), (2, 1)) / ones
    return F.max_pool2d(b, 2, 1, padding=1)[:, :, :4, :6] * F.avg_pool2d(a, 2, 1, padding=1)[:, :, :4, :6]


def lstm_states(x, w, r, b, h0):
    """Gates in ONNX's order: input, output, forget, cell."""
    sequences, hs, cs = [], [], []
    for d in range(2):
        h, c, outputs = h0[d], torch.zeros_like(h0[d]), []
        for row in (x.flip(0) if d else x):
            i, o, f, g = (row @ w[d].T + h @ r[d].T + b[d, :16] + b[d, 16:]).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        sequences.append(torch.stack(outputs[::-1] if d else outputs))
        hs.append(h)
        cs.append(c)
    return sum(sequences) * (torch.stack(hs) * torch.stack(cs)).sum(0, True)


def trigonometric(x, a, b, c, d, e, f):
    return (a.sin() + b.cos() + c.tan() + d.asin() + e.acos() + f.atan()) * x


def hyperbolic(x, a, b, c, d, e):
    return (a.sinh() + b.cosh() + c.asinh() + d.acosh() + e.atanh()) * x


def resize(**options):
    return lambda x, p: F.interpolate(x * p, size=(7, 3), **options) ** 2


def gather_elements(x, p):
    u = x * p
    i = torch.tensor([[0, 2, 2, 2], [1, 2, 0, 0]])
    j = torch.tensor([[0, 1, 1], [3, 3, 0], [2, 2, 2]])
    return u.gather(0, i)[:, :3] * u.gather(1, j)[:2]


def gather_nd(x, p):
    u = x * p
    return u[[0, 1, 0], [1, 2, 1]] * torch.stack((u[0][[0, 2, 2]], u[1][[2, 0, 0]]))


def scatter_elements(how, indices):
    def y(x, p, q):
        i = torch.tensor(indices)
        return (x * p).scatter(0, i, q) ** 2 if not how else (x * p).scatter_reduce(0, i, q, how) ** 2
    return y


def scatter_nd(how, rows):
    def y(x, p, q):
        u, i = (x * p).reshape(6, 3), torch.tensor(rows).reshape(2, 1).expand(2, 3)
        u = u.scatter(0, i, q) if not how else u.scatter_reduce(0, i, q, how)
        return u.reshape(3, 2, 3) ** 2
    return y


def attention(x, q, k, v, m):
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    return ((x * q @ k.transpose(2, 3)) * 0.6 + m).softmax(3) @ v * x


def attention_causal(x, q, k, v):
    q, k, v = ((x @ w).reshape(2, 5, 2, 3).transpose(1, 2) for w in (q, k, v))
    scores = 1.5 * torch.tanh(q @ k.transpose(2, 3) / 3 ** 0.5 / 1.5)
    scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -float('inf'))
    return (scores.softmax(3) @ v).transpose(1, 2).reshape(2, 5, 6)


def rms_normalization(x, p, s, t):
    u = x + p
    u = u * torch.rsqrt((u * u).mean(2, True) + 1e-5) * s
    return u * torch.rsqrt((u * u).mean((1, 2), True) + 0.01) * t


def rotary_embedding(x, p, c, s):
    u, i = x * p, torch.tensor([[0, 1, 2], [3, 1, 0]])
    c, s = c[i][:, None], s[i][:, None]

    def turn(a, b):
        return c * a - s * b, s * a + c * b
    halves = torch.cat(turn(u[..., :3], u[..., 3:]), 3)
    return halves * torch.stack(turn(u[..., ::2], u[..., 1::2]), 4).flatten(3)


def conv_3d(x, w, b, v):
    h = F.conv3d(F.pad(x, (1, 0, 0, 1, 1, 0)), w, b, stride=(1, 2, 1), groups=2).tanh()
    return F.conv3d(F.pad(h, (1, 0, 0, 0, 1, 1)), v, dilation=(1, 1, 2))


def conv_transpose_3d(x, w, b, v):
    h = F.conv_transpose3d(x, w, b, stride=(2, 1, 2), padding=(1, 0, 0), output_padding=(1, 0, 1), groups=2)
    return F.conv_transpose3d(h.tanh(), v)


def pools_3d(x, p):
    u = x * p
    pads = (0, 0, 1, 1, 1, 1)
    a = F.max_pool3d(F.pad(u, pads, value=-1e9), (2, 3, 2), (1, 1, 2))
    return a * F.avg_pool3d(F.pad(u, pads), (2, 3, 2), (1, 1, 2))


def lp_pools(x, p, m):
    v = x * p * m
    return F.lp_pool2d(v, 2, 2) + F.lp_pool2d(v.abs(), 3, 2)


def einsum_forms(x, p, q):
    a = torch.einsum('bii,ijk->bjk', x, p)
    return torch.einsum('bjk,bf->fkj', a, torch.diagonal(q, 0, 0, 1).T)


def cumulative(x, p):
    u = x + p
    a = u.cumsum(1)
    return (a.flip(0).cumsum(0).flip(0) - a) * u.flip(1).cumsum(1).flip(1)


def top_k(x, p):
    u = x * p
    return u.topk(3)[0] * u.topk(3, largest=False)[0]


def more_activations(x, p, q, r, s):
    shrunk = torch.where(q < -0.7, q + 0.2, torch.where(q > 0.7, q - 0.2, 0 * q))
    return (p * (1.5 * p).sigmoid() + shrunk + r / r.norm(2, 1, True) + s / s.norm(1, 0, True)) * x


def channel_normalizations(x, p):
    u = x * p
    squares = F.pad((u * u), (0, 0, 0, 0, 1, 1)).unfold(1, 3, 1).sum(4)
    u = u / (1.5 + 0.1 * squares) ** 0.6
    mean = u.mean((0, 2, 3), True)
    return (u - mean) / (((u - mean) ** 2).mean((0, 2, 3), True).sqrt() + 1e-9)


def conv_transpose_far(x, w, b):
    """PyTorch's pads are symmetric: a part of its result."""
    y = F.conv_transpose2d(x, w, b, stride=(1, 2), dilation=(3, 3), output_padding=(2, 2))
    return y[:, :, 1:, :-1]


def triangles(x, p):
    u = x * p
    return (u.tril(-1) + u.triu()) ** 2


def affine_grid(x, t):
    grid = F.affine_grid(t, [1, 2, 3, 4], align_corners=True)
    return F.grid_sample(x, grid, align_corners=True, padding_mode='border')


def fourier(x, p):
    f = torch.fft.rfft((x * p)[..., 0], dim=1)
    return torch.stack((f.real, f.imag), 2) ** 2


def powers(x, a, b, c, d):
    return (a ** b + c ** 3 + d ** torch.tensor([0, 1, 2, 3, 5, 6]).double()) * x


def powers_of_zero(x, a, c, d):
    return (a ** torch.tensor([0, 1, 2, 0, 0, 3]).double() + c ** 0.0 + d ** torch.tensor([0, 1, 2, 0, 4, 3]).double()) * x


def losses_of_pairs(x, p, q, r):
    a, b, c = x * p, x * q, x * r
    s = x.sum(1).sign()
    return torch.stack((F.margin_ranking_loss(a.sum(1), b.sum(1), s, reduction='none'),
                        F.triplet_margin_loss(a, b, c, reduction='none'),
                        F.cosine_embedding_loss(a, b, s, reduction='none')), 1)


def reversed_sequences(x, p):
    u = x * p
    parts = [torch.cat((u[:n, i].flip(0), u[n:, i])) for i, n in enumerate((4, 1, 3))]
    return torch.stack(parts, 1) * u


def determinants(x, p):
    """Of matrices of rank 3 to 0 and of one whose first columns are 0: Leibniz' sum, a polynomial."""
    u, total = p.reshape(6, 3, 3), 0
    for order in itertools.permutations(range(3)):
        sign = torch.linalg.det(torch.eye(3).double()[list(order)])
        total = total + sign * u[:, 0, order[0]] * u[:, 1, order[1]] * u[:, 2, order[2]]
    return total * x


def lstm_peepholes(x, w, r, b, o):
    """Gates in ONNX's order: input, output, forget, cell; peepholes: input, output, forget."""
    h, c, outputs = torch.zeros(2, 4).double(), torch.zeros(2, 4).double(), []
    pi, po, pf = o[0].chunk(3)
    for row in x:
        i, out, f, g = (row @ w[0].T + h @ r[0].T + b[0, :16] + b[0, 16:]).chunk(4, 1)
        c = (f + pf * c).sigmoid() * c + (i + pi * c).sigmoid() * g.tanh()
        h = (out + po * c).sigmoid() * c.tanh()
        outputs.append(h)
    return torch.stack(outputs)[:, None] ** 2


FORMULAS = {
    'trigonometric': trigonometric, 'hyperbolic': hyperbolic, 'resize_nearest': resize(mode='nearest'),
    'resize_linear': resize(mode='bilinear'), 'resize_linear_corners': resize(mode='bilinear', align_corners=True),
    'resize_cubic': resize(mode='bicubic'), 'resize_antialias': resize(mode='bilinear', antialias=True),
    'gather_elements': gather_elements, 'gather_nd': gather_nd,
    'scatter_elements_none': scatter_elements(None, [[0, 3, 1], [2, 2, 0]]),
    'scatter_elements_add': scatter_elements('sum', [[0, 3, 1], [0, 3, 1]]),
    'scatter_elements_mul': scatter_elements('prod', [[0, 3, 1], [2, 2, 0]]),
    'scatter_elements_max': scatter_elements('amax', [[0, 3, 1], [2, 2, 0]]),
    'scatter_nd_none': scatter_nd(None, [1, 4]), 'scatter_nd_add': scatter_nd('sum', [1, 1]),
    'scatter_nd_mul': scatter_nd('prod', [1, 4]), 'scatter_nd_max': scatter_nd('amax', [1, 4]),
    'attention': attention, 'attention_causal': attention_causal, 'rms_normalization': rms_normalization,
    'rotary_embedding': rotary_embedding, 'conv_3d': conv_3d, 'conv_transpose_3d': conv_transpose_3d,
    'pools_3d': pools_3d, 'lp_pools': lp_pools, 'einsum_forms': einsum_forms, 'cumulative': cumulative, 'top_k': top_k,
    'more_activations': more_activations, 'channel_normalizations': channel_normalizations,
    'conv_transpose_far': conv_transpose_far, 'determinants': determinants, 'triangles': triangles,
    'grid_sample': lambda x, p, g: F.grid_sample(x * p, g, align_corners=False), 'affine_grid': affine_grid,
    'fourier': fourier, 'powers': powers, 'powers_of_zero': powers_of_zero, 'losses_of_pairs': losses_of_pairs, 'reversed_sequences': reversed_sequences, 'lstm_peepholes': lstm_peepholes,
    'lstm': lstm, 'gru': gru, 'rnn': rnn, 'einsum': lambda x, p: torch.einsum('bqd,dbk->kbq', x, p),
    'neg': unary(torch.neg), 'abs': unary(torch.abs), 'relu': unary(F.relu),
    'leaky_relu': unary(lambda u: F.leaky_relu(u, 0.2)), 'thresholded_relu': unary(lambda u: F.threshold(u, 0.5, 0)),
    'elu': unary(lambda u: F.elu(u, 0.7)), 'selu': unary(F.selu), 'celu': unary(lambda u: F.celu(u, 0.6)),
    'clip': unary(lambda u: u.clamp(-0.75, 0.5)), 'hard_sigmoid': unary(lambda u: (0.2 * u + 0.5).clamp(0, 1)),
    'hard_swish': unary(F.hardswish), 'sigmoid': unary(torch.sigmoid), 'tanh': unary(torch.tanh),
    'softplus': unary(F.softplus), 'softsign': unary(F.softsign), 'mish': unary(F.mish), 'gelu': unary(F.gelu),
    'gelu_tanh': unary(lambda u: F.gelu(u, approximate='tanh')), 'exp': unary(torch.exp), 'erf': unary(torch.erf),
    'positive_functions': positive_functions, 'bias_split_gelu': bias_split_gelu, 'binary_broadcast': binary_broadcast, 'extrema': extrema,
    'where_and_prelu': where_and_prelu, 'shared_parameter': shared_parameter, 'matmul_ranks': matmul_ranks,
    'matmul_left_broadcast': lambda x, a: a @ x, 'gemm_00': gemm(0, 0), 'gemm_01': gemm(0, 1), 'gemm_10': gemm(1, 0),
    'gemm_11': gemm(1, 1), 'softmax': softmax, 'layer_normalization': layer_normalization, 'moves': moves,
    'conv_transpose': conv_transpose, 'lstm_states': lstm_states, 'pools': pools, 'slices': slices, 'joins': joins, 'pads': pads,
    'images': images, 'gather': gather,
    'batch_normalization': batch_normalization, 'centred_images': centred_images, 'centred_rows': centred_rows,
    'group_normalization': group_normalization,
    'reduce_sum': reduction(lambda u, d, k: u.sum(d, k)), 'reduce_mean': reduction(lambda u, d, k: u.mean(d, k)),
    'reduce_max': reduction(lambda u, d, k: u.amax(d, k)), 'reduce_min': reduction(lambda u, d, k: u.amin(d, k)),
    'reduce_l1': reduction(lambda u, d, k: u.abs().sum(d, k)),
    'reduce_l2': reduction(lambda u, d, k: torch.linalg.vector_norm(u, 2, d, k)),
    'reduce_sum_square': reduction(lambda u, d, k: (u * u).sum(d, k)),
    'reduce_log_sum_exp': reduction(lambda u, d, k: u.logsumexp(d, k)),
    'reduce_log_sum': reduction(lambda u, d, k: u.exp().sum(d, k).log()),
    'reduce_prod': reduction(lambda u, d, k: u.prod(2, True).prod(0, True) if len(d) == 2 else u.prod(d[0], k)),
    'convolution': convolution, 'convolution_1d': convolution_1d, 'global_pools': global_pools,
}


def read_npy(path):
    with open(path, 'rb') as file:
        data = file.read()
    length = struct.unpack('<H', data[8:10])[0]
    header = eval(data[10:10 + length])
    values = struct.unpack('<%df' % ((len(data) - 10 - length) // 4), data[10 + length:])
    return torch.tensor(values, dtype=torch.float64).reshape(header['shape'])


def mlp(x, w1, b1, w2, b2):
    return F.linear(x, w1, b1).tanh() @ w2 + b2


def batch_statistics(x, w1, s, b, mean, variance):
    return F.batch_norm(F.linear(x, w1), mean, variance, s, b, training=True, momentum=1 - 0.7)


MODELS = {
    'loss_cross_entropy_sequence': lambda x, w1: (x @ w1).permute(0, 2, 1),
    'loss_nll': lambda **t: F.log_softmax(mlp(**t), 1),
    'loss_bce': lambda **t: mlp(**t).sigmoid(),
    'loss_kl_div': lambda **t: F.log_softmax(mlp(**t), 1),
    'batch_statistics': batch_statistics,
}


def loss_of(options, y, labels):
    name = options['loss']
    if name in ('cross_entropy', 'nll'):
        f = F.cross_entropy if name == 'cross_entropy' else F.nll_loss
        return f(y, labels.long(), ignore_index=int(options.get('ignore_index', -100)))
    if name == 'smooth_l1':
        return F.smooth_l1_loss(y, labels, beta=float(options['loss_beta']))
    if name == 'huber':
        return F.huber_loss(y, labels, delta=float(options['loss_beta']))
    if name in ('multi_margin', 'multilabel_margin'):
        return getattr(F, name + '_loss')(y, labels.long())
    if name in ('bce', 'bce_with_logits'):
        return getattr(F, name.replace('bce', 'binary_cross_entropy'))(y, labels)
    return F.kl_div(y, labels) if name == 'kl_div' else getattr(F, name + '_loss')(y, labels)


def optimizer_of(options, parameters):
    given = {'lr': float(options['lr'])}
    for ours, theirs in (('weight_decay', 'weight_decay'), ('epsilon', 'eps')):
        if ours in options:
            given[theirs] = float(options[ours])
    name = options['optimizer']
    if name in ('adam', 'adamw'):
        given['betas'] = (float(options.get('beta1', 0.9)), float(options.get('beta2', 0.999)))
        return (torch.optim.Adam if name == 'adam' else torch.optim.AdamW)(parameters, **given)
    if name == 'adagrad':
        return torch.optim.Adagrad(parameters, **given)
    if name != 'sgd':
        given.update(momentum=float(options.get('momentum', 0.9)), nesterov=name == 'nesterov')
    return torch.optim.SGD(parameters, **given)


def write(path, lines):
    text = open(path).read().split('---\n')[0]
    open(path, 'w').write(text + '---\n' + '\n'.join(lines) + '\n')


def numbers(name, tensor):
    return name + ''.join(' %.8g' % v for v in tensor.flatten().tolist())


def read_case(exported, name):
    tensors = {}
    for kind in ('input', 'parameter', 'statistic', 'constant'):
        for file in sorted(glob.glob(os.path.join(exported, '%s.%s.*.npy' % (name, kind)))):
            tensor = os.path.basename(file)[len(name) + len(kind) + 2:-4]
            tensors[tensor] = read_npy(file).requires_grad_(kind == 'parameter')
    return tensors, read_npy(os.path.join(exported, name + '.labels.npy'))


def record_gradients(exported, path):
    name, text = os.path.basename(path)[:-4], open(path).read()
    tensors, labels = read_case(exported, name)
    tensors = {n: t for n, t in tensors.items() if ' %%%s: ' % n in text}  # compositions have constants of their own
    y = FORMULAS[name](**tensors)
    assert y.shape == labels.shape, (name, y.shape, labels.shape)
    F.mse_loss(y, labels).backward()
    write(path, [numbers(n, t.grad) for n, t in tensors.items() if t.requires_grad])


def record_steps(exported, path):
    name = os.path.basename(path)[:-4]
    options = dict(o.split('=') for o in open(path).readline()[2:].split())
    tensors, labels = read_case(exported, name)
    parameters = [t for t in tensors.values() if t.requires_grad]
    optimizer, losses = optimizer_of(options, parameters), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(options, MODELS.get(name, mlp)(**tensors), labels)
        loss.backward()
        if 'clip_norm' in options:
            torch.nn.utils.clip_grad_norm_(parameters, float(options['clip_norm']))
        if 'clip_value' in options:
            torch.nn.utils.clip_grad_value_(parameters, float(options['clip_value']))
        optimizer.step()
        losses.append(loss.detach())
    write(path, [numbers('loss', torch.stack(losses))] + [numbers(n, t) for n, t in tensors.items() if n != 'x'])


STEPS = 5


def main(exported, pattern='*'):
    here = os.path.dirname(os.path.abspath(__file__))
    for folder, record in (('gradients', record_gradients), ('steps', record_steps)):
        for path in sorted(glob.glob(os.path.join(here, folder, pattern + '.txt'))):
            record(exported, path)


main(*sys.argv[1:])
