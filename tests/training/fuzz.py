#!/usr/bin/env python3
"""Random networks trained by PyTorch and by `tegula train`, from the same file, on the same batches.

usage: fuzz.py [--tegula COMMAND] [--seed N] [--count N] [--keep FOLDER] [--policies] [--kind KIND]

Each is drawn from its seed: convolutions of all kinds, normalisations in training mode, attention, recurrent layers, embeddings,
pools, several inputs; exported by PyTorch as users do; some steps in FP32. Compared are the loss of every step and every parameter at the
end, within a multiple of what PyTorch's own FP32 is off its double precision. Under --policies the losses of each
precision policy have to stay near FP32's. Prints a line a network and the differences; exits 1 if there are any. Needs
torch, onnx and numpy (Debian: python3-torch, python3-onnx).
"""
import argparse
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

POLICIES = ["--graphamp-preset mp1", "--amp autocast", "--amp raf", "--amp hmp", "--graphamp-preset mp4 --fp32-params"]


# --- networks


class Add(nn.Module):
    def __init__(self, body, side):
        super().__init__()
        self.body, self.side = body, side

    def forward(self, x):
        return self.body(x) + self.side(x)


class Cat(Add):
    def forward(self, x):
        return torch.cat([self.body(x), self.side(x)], 1)


class Gate(nn.Module):  # squeeze and excite
    def __init__(self, width, inner):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, inner, 1), nn.Conv2d(inner, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.up(torch.relu(self.down(x.mean((2, 3), keepdim=True)))))


class Heads(nn.Module):  # attention, written out
    def __init__(self, width, heads, causal, length, bias):
        super().__init__()
        self.heads, self.all, self.out = heads, nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)
        self.register_buffer("mask", torch.triu(torch.full((length, length), -1e4), 1) if causal else None)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (y.reshape(n, t, self.heads, d // self.heads).transpose(1, 2) for y in self.all(x).chunk(3, -1))
        s = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        s = s if self.mask is None else s + self.mask
        return self.out((torch.softmax(s, -1) @ v).transpose(1, 2).reshape(n, t, d))


class First(nn.Module):  # the sequence of a recurrent layer's results
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Take(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x):
        return {"last": lambda: x[:, -1], "mean": lambda: x.mean(1), "max": lambda: x.max(1)[0],
                "turn": lambda: x.transpose(1, 2)}[self.how]()


class Odd(nn.Module):  # what people write into a forward of [n, t, d]
    def __init__(self, how, t, d):
        super().__init__()
        self.how, self.d = how, d
        self.scale, self.offset = nn.Parameter(torch.rand(d) + 0.5), nn.Parameter(0.1 * torch.randn(t, 1))
        self.mix, self.table = nn.Parameter(torch.randn(t, t) * t**-0.5), nn.Parameter(0.1 * torch.randn(7, d))
        self.index = (torch.arange(t) * 5) % 7

    def forward(self, x):
        half = self.d // 2
        return getattr(self, self.how)(x, half)

    def root_mean_square(self, x, half):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

    def unit(self, x, half):
        return functional.normalize(x, dim=-1) * self.scale + self.offset

    def gated(self, x, half):
        return torch.cat([x[..., :half] * torch.sigmoid(x[..., half : 2 * half]), x[..., half:]], -1)

    def halves(self, x, half):
        a, b = x[..., : 2 * half : 2], x[..., 1 : 2 * half : 2]
        return torch.cat([torch.stack([a * 0.6 - b * 0.8, a * 0.8 + b * 0.6], -1).flatten(-2), x[..., 2 * half :]], -1)

    def mixed(self, x, half):
        return x + torch.tanh(self.mix @ x)

    def einsum(self, x, half):
        return x + torch.einsum("st,ntd->nsd", self.mix, x * self.scale)

    def shifted(self, x, half):
        return x + functional.pad(x[:, :-1], (0, 0, 1, 0)) * self.scale

    def rolled(self, x, half):
        return x - 0.5 * torch.cat([x[:, 1:], x[:, :1]], 1)

    def looked_up(self, x, half):
        return x + self.table[self.index]

    def over_time(self, x, half):
        return x * torch.softmax(x, 1) + self.offset

    def clamped(self, x, half):
        return torch.clamp(x, -1, 1) + torch.where(x > 0.3, x * self.scale, 0.2 * x)

    def smooth(self, x, half):
        return torch.log1p(torch.exp(-x.abs())) + torch.maximum(x, self.scale * 0.1)

    def spread(self, x, half):
        return x + x.mean((0, 1), keepdim=True) - x.std(2, keepdim=True, unbiased=False) * self.offset

    def outer(self, x, half):
        s = x.mean(-1)
        return x + 0.1 * (s[:, :, None] * s[:, None, :]).relu() @ x

    def powers(self, x, half):
        return x.abs().add(0.5).pow(1.5) * self.scale - (x * x + 1).sqrt()

    def folded(self, x, half):
        return x + x.transpose(1, 2).reshape(x.shape)


ODD = [name for name, value in vars(Odd).items() if callable(value) and name not in ("__init__", "forward")]


class Tied(nn.Module):  # scores by the embedding
    def __init__(self, words, width, body):
        super().__init__()
        self.words, self.body = nn.Embedding(words, width), body

    def forward(self, x):
        return self.body(self.words(x)) @ self.words.weight.t()


class Several(nn.Module):  # numbers and categories
    def __init__(self, kinds, width, body):
        super().__init__()
        self.kinds, self.body = nn.Embedding(kinds, width), body

    def forward(self, x, kind):
        return self.body(torch.cat([x, self.kinds(kind).flatten(1)], 1))


class Words(nn.Module):
    def __init__(self, words, width, length, body):
        super().__init__()
        self.words, self.places, self.body = nn.Embedding(words, width), nn.Parameter(0.1 * torch.randn(length, width)), body

    def forward(self, x):
        return self.body(self.words(x) + self.places)


def activation(r):
    return r.choice([nn.ReLU, nn.ReLU, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SiLU, nn.GELU, nn.Hardswish, nn.Softplus, nn.Tanh,
                     nn.Sigmoid, nn.PReLU, nn.Mish, nn.SELU, nn.Hardsigmoid, nn.CELU])()


def norm2d(r, width, h, w):
    divisors = [g for g in range(1, width + 1) if width % g == 0]
    return r.choice([nn.BatchNorm2d(width), nn.BatchNorm2d(width), nn.BatchNorm2d(width, affine=False), nn.Identity(),
                     nn.GroupNorm(r.choice(divisors), width), nn.InstanceNorm2d(width, affine=r.random() < 0.5),
                     nn.LayerNorm([width, h, w])])


def size_after(layer, width, h, w):
    with torch.no_grad():
        return tuple(layer(torch.zeros(2, width, h, w)).shape[1:])


def conv(r, width, h, w):
    out = r.choice([r.randint(3, 24), r.randint(25, 70), 32, 64, r.randint(64, 160)])
    k = r.choice([1, 1, 3, 3, 3, 5, (1, 3), (3, 1), 2])
    groups = r.choice([1, 1, 1, 1, width, 2, 4])
    if groups == width:
        out = width * r.choice([1, 1, 2])
    elif groups > 1:
        groups = groups if width % groups == 0 else 1
        out = (out + groups - 1) // groups * groups
    ks = k if isinstance(k, tuple) else (k, k)
    dilation = r.choice([1, 1, 1, 2]) if min(h, w) > 2 * max(ks) else 1
    pad = tuple(dilation * (s - 1) // 2 for s in ks) if r.random() < 0.7 or min(h, w) <= 2 * max(ks) else 0
    if min(h, w) + 2 * min(pad if pad else (0,)) < dilation * (max(ks) - 1) + 1:
        k, pad, dilation = 1, 0, 1
    return nn.Conv2d(width, out, k, stride=r.choice([1, 1, 1, 2, 2, (2, 1)]), padding=pad, dilation=dilation, groups=groups,
                     bias=r.random() < 0.6, padding_mode="zeros" if r.random() < 0.95 else "reflect" if max(pad or (0,)) < min(h, w) else "zeros")


def resize(r, width, h, w):
    out = r.randint(3, 50)
    up = [nn.ConvTranspose2d(width, out, 2, stride=2, bias=r.random() < 0.5),
          nn.ConvTranspose2d(width, out, 3, stride=2, padding=1, output_padding=r.choice([0, 1])),
          nn.ConvTranspose2d(width, out, 4, stride=2, padding=1),
          nn.Upsample(scale_factor=2, mode="nearest"), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)]
    down = [nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.AvgPool2d(3, 1, 1, count_include_pad=r.random() < 0.5),
            nn.AvgPool2d(3, 2, 1), nn.MaxPool2d(3, 1, 1), nn.MaxPool2d(2, ceil_mode=True)]
    if width % 4 == 0:
        up.append(nn.PixelShuffle(2))
    return r.choice(down if min(h, w) >= 4 and (h * w > 300 or r.random() < 0.6) else up)


def block2d(r, width, h, w):
    kind = r.random()
    if kind < 0.62:
        layer = conv(r, width, h, w)
        inner, hh, ww = size_after(layer, width, h, w)
        return nn.Sequential(layer, norm2d(r, inner, hh, ww), activation(r))
    if kind < 0.8:
        return resize(r, width, h, w)
    same = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), activation(r))
    if kind < 0.9:
        return Add(same, r.choice([nn.Identity(), nn.Conv2d(width, width, 1)]))
    return Cat(same, nn.Identity()) if kind < 0.95 else Gate(width, r.randint(2, 9))


def images(r):
    width, h, w = r.choice([1, 2, 3, 4, 6, 16]), r.randint(8, 40), r.randint(8, 40)
    batch = r.randint(2, 9)
    if r.random() < 0.35:
        h, w, batch = r.randint(40, 128), r.randint(40, 128), r.randint(1, 2)
    shape, layers = (width, h, w), []
    for _ in range(r.randint(2, 5)):
        layer = block2d(r, width, h, w)
        after = size_after(layer, width, h, w)
        if after[0] * after[1] * after[2] * batch > 1200000 or after[1] * after[2] * batch < 5:
            continue
        layers.append(layer)
        width, h, w = after
    if r.random() < 0.4:  # a map
        layers.append(nn.Conv2d(width, r.randint(1, 5), 1))
        return nn.Sequential(*layers), [("x", shape, 0)], batch, "map"
    if r.random() < 0.6 or width * h * w > 6000:
        layers.append(r.choice([nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool2d(1)]))
        h = w = 1
    layers += [nn.Flatten(), nn.Linear(width * h * w, r.randint(2, 40))]
    return nn.Sequential(*layers), [("x", shape, 0)], batch, "classes"


def signals(r):
    width, length = r.randint(1, 12), r.randint(30, 600)
    shape, layers = (width, length), []
    for _ in range(r.randint(1, 4)):
        out, k = r.randint(4, 90), r.choice([1, 3, 5, 7])
        layers += [nn.Conv1d(width, out, k, stride=r.choice([1, 1, 2]), padding=k // 2, dilation=r.choice([1, 1, 2]), bias=r.random() < 0.5),
                   r.choice([nn.BatchNorm1d(out), nn.GroupNorm(1, out), nn.Identity()]), activation(r)]
        if r.random() < 0.3:
            layers.append(r.choice([nn.MaxPool1d(2), nn.AvgPool1d(2)]))
        width = out
    layers += [nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, r.randint(2, 20))]
    return nn.Sequential(*layers), [("x", shape, 0)], r.randint(2, 16), "classes"


def dense(r, width, layers):
    out = []
    for _ in range(layers):
        after = r.choice([r.randint(3, 40), r.randint(41, 300), r.randint(41, 300), 128])
        out += [nn.Linear(width, after, r.random() < 0.8),
                r.choice([nn.Identity(), nn.BatchNorm1d(after), nn.LayerNorm(after)]), activation(r)]
        width = after
    return out, width


def tables(r):
    width, kinds, columns, inner = r.randint(3, 300), r.randint(3, 900), r.randint(1, 4), r.randint(2, 40)
    several = r.random() < 0.5
    layers, last = dense(r, width + (columns * inner if several else 0), r.randint(1, 4))
    layers.append(nn.Linear(last, r.randint(1, 60)))
    body, batch = nn.Sequential(*layers), r.choice([r.randint(2, 64), r.randint(65, 900), r.randint(900, 3000)])
    if several:
        return Several(kinds, inner, body), [("x", (width,), 0), ("kind", (columns,), kinds)], batch, "classes"
    return body, [("x", (width,), 0)], batch, "classes"


def attention(r, width, length):
    heads = r.choice([h for h in (1, 2, 3, 4, 6, 8) if width % h == 0])
    if r.random() < 0.4:
        return nn.TransformerEncoderLayer(width, heads, r.randint(20, 300), 0.0, r.choice(["relu", "gelu"]), batch_first=True,
                                          norm_first=r.random() < 0.5)
    inner = r.randint(20, 300)
    attend = nn.Sequential(nn.LayerNorm(width), Heads(width, heads, r.random() < 0.5, length, r.random() < 0.7))
    feed = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, inner), activation(r), nn.Linear(inner, width))
    return nn.Sequential(Add(attend, nn.Identity()), Add(feed, nn.Identity()))


def texts(r):
    length, width, words = r.randint(5, 200), r.choice([24, 48, 60, 96, 120, 136, 192]), r.randint(20, 800)
    batch = max(1, min(r.randint(1, 20), 2000 // length))
    layers = [attention(r, width, length) for _ in range(r.randint(1, 2))]
    layers.append(nn.Linear(width, words))
    kind = "tokens"
    if r.random() < 0.3:
        layers[-1:], kind = [Take(r.choice(["mean", "max", "last"])), nn.Linear(width, r.randint(2, 30))], "classes"
    elif r.random() < 0.4:
        layers.append(Take("turn"))
        kind = "turned"
    if r.random() < 0.75:
        return Words(words, width, length, nn.Sequential(*layers)), [("x", (length,), words)], batch, kind
    return nn.Sequential(nn.Linear(9, width), *layers), [("x", (length, 9), 0)], batch, kind


def sequences(r):
    length, width, hidden = r.randint(3, 24), r.randint(2, 90), r.randint(5, 150)
    both, layers = r.random() < 0.4, r.choice([1, 1, 2])
    make = r.choice([nn.LSTM, nn.GRU, nn.RNN])
    body = [First(make(width, hidden, layers, batch_first=True, bidirectional=both, bias=r.random() < 0.9))]
    out, kind = hidden * (1 + both), "tokens"
    if r.random() < 0.6:
        body.append(Take(r.choice(["last", "mean", "max"])))
        kind = "classes"
    body.append(nn.Linear(out, r.randint(2, 60)))
    return nn.Sequential(*body), [("x", (length, width), 0)], r.randint(1, 70), kind


def odds(r):
    length, width, words = r.randint(1, 130), r.choice([r.randint(2, 20), r.randint(20, 140), 64]), r.randint(3, 300)
    batch = max(1, min(r.randint(1, 30), 2500 // length))
    layers = []
    for _ in range(r.randint(1, 4)):
        layers.append(Odd(r.choice(ODD), length, width))
        if r.random() < 0.6:
            layers.append(nn.Linear(width, width, r.random() < 0.7))
        if r.random() < 0.3:
            layers.append(nn.LayerNorm(width))
    if r.random() < 0.2:
        return Tied(words, width, nn.Sequential(*layers)), [("x", (length,), words)], batch, "tokens"
    kind = "tokens"
    if r.random() < 0.6:
        layers.append(Take(r.choice(["mean", "max", "last"])))
        kind = "classes"
    layers.append(nn.Linear(width, r.choice([1, r.randint(2, 20), words])))
    return nn.Sequential(nn.Linear(5, width), *layers), [("x", (length, 5), 0)], batch, kind


def narrow(r):  # sizes of one, everywhere
    few = lambda: r.choice([1, 1, 2, r.randint(3, 60)])
    if r.random() < 0.5:
        width, layers = few(), []
        first = width
        for _ in range(r.randint(1, 4)):
            after = few()
            layers += [nn.Linear(width, after, r.random() < 0.7), nn.LayerNorm(after) if after > 2 and r.random() < 0.5 else nn.Identity(), activation(r)]
            width = after
        layers.append(nn.Linear(width, few()))
        return nn.Sequential(*layers), [("x", (first,), 0)], r.choice([1, r.randint(2, 300), r.randint(300, 3000)]), "classes"
    first, h, w = few(), r.choice([1, r.randint(2, 40)]), r.randint(1, 60)
    width, layers, shape = first, [], (first, h, w)
    for _ in range(r.randint(1, 4)):
        after, k = few(), r.choice([(1, 1), (3, 3), (1, 3), (3, 1)])
        layers += [nn.Conv2d(width, after, k, padding=(k[0] // 2, k[1] // 2), bias=r.random() < 0.7),
                   r.choice([nn.Identity(), nn.BatchNorm2d(after) if h * w > 1 else nn.Identity()]), activation(r)]
        width = after
    if r.random() < 0.4:
        layers += [nn.Conv2d(width, few(), 1)]
        return nn.Sequential(*layers), [("x", shape, 0)], r.randint(1, 40), "map"
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, few())]
    return nn.Sequential(*layers), [("x", shape, 0)], r.randint(1, 40), "classes"


def blocks(r):  # products of many rows, many columns and a long k
    few = lambda: r.choice([64, 96, r.randint(60, 300), r.randint(60, 300)])
    if r.random() < 0.5:
        side, batch, first = r.randint(30, 100), r.randint(1, 3), r.randint(1, 20)
        width, layers = few(), [nn.Conv2d(first, few(), 1)]
        width = layers[0].out_channels
        for _ in range(r.randint(1, 2)):
            after = few()
            layers += [r.choice([nn.BatchNorm2d(width), nn.Identity(), nn.GroupNorm(1, width)]), activation(r),
                       nn.Conv2d(width, after, r.choice([1, 1, 3]), padding=0, bias=r.random() < 0.5)]
            width = after
        return nn.Sequential(*layers, nn.ReLU(), nn.Conv2d(width, r.randint(1, 4), 1)), [("x", (first, side, side), 0)], batch, "map"
    width, layers = few(), []
    first = width
    for _ in range(r.randint(1, 3)):
        after = few()
        layers += [nn.Linear(width, after), r.choice([nn.LayerNorm(after), nn.BatchNorm1d(after), nn.Identity()]), activation(r)]
        width = after
    return nn.Sequential(*layers, nn.Linear(width, r.choice([1, 10, few()]))), [("x", (first,), 0)], r.randint(500, 6000), "classes"


KINDS = {"odds": odds, "narrow": narrow, "blocks": blocks,
         "images": images, "signals": signals, "tables": tables, "texts": texts, "sequences": sequences}


# --- data, losses, optimizers


def draw_inputs(r, inputs, rows):
    g = np.random.RandomState(r.randint(0, 2**31 - 1))
    return {name: g.randint(0, limit, (rows,) + shape) if limit else g.standard_normal((rows,) + shape).astype(np.float32)
            for name, shape, limit in inputs}


def loss_of(r, kind, y, rows):
    """Labels, options, and the loss, for outputs of the shape of y, in which classes are dimension 1 but for tokens."""
    g = np.random.RandomState(r.randint(0, 2**31 - 1))
    shape = (rows,) + tuple(y.shape[1:])
    axis = len(shape) - 1 if kind == "tokens" else 1
    if shape[axis] > 1 and r.random() < 0.65:
        labels = g.randint(0, shape[axis], shape[:axis] + shape[axis + 1:])
        flat = lambda y: y if axis == 1 else y.movedim(-1, 1)
        return labels, "--loss cross_entropy" + (" --classes-last" if axis > 1 else ""), lambda y, t: functional.cross_entropy(flat(y), t)
    if r.random() < 0.5:
        return (g.standard_normal(shape).astype(np.float32), "--loss mse", functional.mse_loss)
    return ((g.random_sample(shape) < 0.4).astype(np.float32), "--loss bce_with_logits", functional.binary_cross_entropy_with_logits)


def optimizer_of(r):
    decay = r.choice([0, 0, 0.01])
    options = f" --weight-decay {decay}" if decay else ""
    o = torch.optim
    name, options, make = r.choice([
        ("sgd", "--lr 0.05" + options, lambda p: o.SGD(p, 0.05, weight_decay=decay)),
        ("sgd", "--lr 0.02" + options, lambda p: o.SGD(p, 0.02, weight_decay=decay)),
        ("momentum", "--lr 0.02" + options, lambda p: o.SGD(p, 0.02, momentum=0.9, weight_decay=decay)),
        ("nesterov", "--lr 0.02" + options, lambda p: o.SGD(p, 0.02, momentum=0.9, nesterov=True, weight_decay=decay)),
        ("adam", "--lr 0.001" + options, lambda p: o.Adam(p, 0.001, weight_decay=decay)),
        ("adamw", "--lr 0.001 --weight-decay 0.05", lambda p: o.AdamW(p, 0.001, weight_decay=0.05)),
        ("adagrad", "--lr 0.005" + options, lambda p: o.Adagrad(p, 0.005, weight_decay=decay))])
    clip = r.choice([0, 0, 0, 0.5])
    return f"--optimizer {name} {options}" + (f" --clip-norm {clip}" if clip else ""), make, clip


def train(model, inputs, labels, loss, make, clip, batch, steps, dtype):
    cast = lambda t: t.to(dtype) if t.is_floating_point() else t
    model = copy.deepcopy(model).to(dtype).train()
    optimizer, losses, rows = make(model.parameters()), [], len(labels)
    for step in range(steps):
        first = step % (rows // batch) * batch
        optimizer.zero_grad()
        value = loss(model(*(cast(t[first : first + batch]) for t in inputs)), cast(labels[first : first + batch]))
        losses.append(value.item())
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return np.array(losses), {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


# --- one network


class Case:
    def __init__(self, seed, folder, kind=None):
        r = random.Random(seed)
        torch.manual_seed(seed)
        self.folder, self.kind = folder, kind or r.choice(list(KINDS))
        self.model, inputs, self.batch, kind = KINDS[self.kind](r)
        self.steps, rows = r.randint(4, 8), self.batch * r.randint(1, 3) + r.randint(0, 1)
        data = draw_inputs(r, inputs, rows)
        self.inputs = [torch.tensor(value) for value in data.values()]
        with torch.no_grad():
            y = copy.deepcopy(self.model).train()(*(t[: self.batch] for t in self.inputs))
        labels, loss_options, self.loss = loss_of(r, kind, y, rows)
        self.labels = torch.tensor(labels)
        optimizer_options, self.make, self.clip = optimizer_of(r)
        self.arch = r.choice(["edge", "edge", "edge", "tiny", "rack"])
        for name, value in list(data.items()) + [("labels", labels)]:
            np.save(os.path.join(folder, name + ".npy"), value)
        self.options = " ".join(f"--data {name}={name}.npy" for name in data) + (
            f" --labels labels.npy --batch {self.batch} --steps {self.steps} {loss_options} {optimizer_options} --arch {self.arch}")
        if r.random() < 0.2:
            self.options += f" --data-parallel {r.choice([1, self.batch])}" if self.batch < 20 else " --data-parallel 1"
        self.options += r.choice([""] * 6 + [" --recompute"])
        has_batch_norm = any(isinstance(m, nn.modules.batchnorm._NormBase) for m in self.model.modules())
        mode = torch.onnx.TrainingMode.TRAINING if has_batch_norm or r.random() < 0.5 else torch.onnx.TrainingMode.EVAL
        self.opset = r.choice([13, 14, 15, 16])
        axes = {name: {0: "N"} for name in list(data) + ["y"]} if r.random() < 0.6 else None
        torch.onnx.export(copy.deepcopy(self.model), tuple(t[: self.batch] for t in self.inputs), os.path.join(folder, "model.onnx"),
                          opset_version=self.opset, training=mode, input_names=list(data), output_names=["y"], dynamic_axes=axes,
                          do_constant_folding=mode == torch.onnx.TrainingMode.EVAL and self.kind != "odds")  # which makes numbers of parameters
        self.load(os.path.join(folder, "model.onnx"))

    def load(self, path):  # running statistics: the exporter runs the model before it writes them
        state = self.model.state_dict()
        for tensor in onnx.load(path).graph.initializer:
            if "running" in tensor.name:
                state[tensor.name].copy_(torch.tensor(numpy_helper.to_array(tensor)))

    def describe(self):
        sizes = "x".join(str(s) for s in self.inputs[0].shape[1:])
        return f"{self.kind} {self.batch}x{sizes} {self.options.split('labels.npy ')[1]}"

    def pytorch(self, dtype):
        return train(self.model, self.inputs, self.labels, self.loss, self.make, self.clip, self.batch, self.steps, dtype)

    def tegula(self, command, flags, timeout=300):
        """Losses and parameters, or None and what it said."""
        for name in ("losses.npy", "saved.onnx"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))
        line = [command, "train", "model.onnx"] + self.options.split() + flags.split()
        try:
            done = subprocess.run(line + ["--losses", "losses.npy", "--save", "saved.onnx", "-q"], cwd=self.folder, capture_output=True,
                                  text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, "timeout"
        if done.returncode:
            return None, f"exit {done.returncode}: {done.stderr.strip()}"
        saved = {t.name: numpy_helper.to_array(t).astype(float) for t in onnx.load(os.path.join(self.folder, "saved.onnx")).graph.initializer}
        return (np.load(os.path.join(self.folder, "losses.npy")).astype(float), saved), done.stderr.strip()


def parameter_differences(case, ours, single, double):
    """Parameters that are farther from PyTorch's in double precision than its own in single explain."""
    found, start = [], {name: value.detach().double().numpy() for name, value in case.model.state_dict().items()}
    norm = lambda t: float(np.sqrt((t * t).sum()))
    for name, value in ours.items():
        if name not in double or double[name].shape != value.shape or "num_batches" in name:
            continue
        off, noise, moved = norm(value - double[name]), norm(single[name] - double[name]), norm(double[name] - start[name])
        if not off <= 30 * noise + 1e-3 * moved + 1e-6 * (norm(start[name]) + 1):
            found.append(f"{name}: off by {off:.2e}, PyTorch's FP32 {noise:.2e}, moved {moved:.2e}")
    return found


def differences(case, ours, single, double):
    noise = np.maximum.accumulate(np.abs(single[0] - double[0]))
    found = parameter_differences(case, ours[1], single[1], double[1])
    if not (np.abs(ours[0] - double[0]) <= 30 * noise + 1e-5 * (1 + np.abs(double[0]))).all():
        found.insert(0, f"losses {ours[0]}, PyTorch {double[0]}, its FP32 off by {noise[-1]:.1e}")
    return found


def is_near_tie(case, ours, single):
    """Does PyTorch get ours from weights an ulp or two away? Then two elements of a pool, say, are about equal."""
    for seed in range(6):
        torch.manual_seed(seed)
        near = copy.copy(case)
        near.model = copy.deepcopy(case.model).double()
        with torch.no_grad():
            for p in near.model.parameters():
                p.mul_(1 + 3e-7 * torch.randn_like(p))
        if not differences(case, ours, single, near.pytorch(torch.float64)):
            return True
    return False


def check(case, command, policies):
    single, double = case.pytorch(torch.float32), case.pytorch(torch.float64)
    ours, said = case.tegula(command, "")
    if ours is None or not np.isfinite(double[0]).all():  # it diverges
        return [said] if ours is None else []
    found = differences(case, ours, single, double)
    if found and is_near_tie(case, ours, single):
        found = []
    if said:
        found.append(said)
    for flags in POLICIES if policies else []:
        ours, said = case.tegula(command, flags)
        if ours is None:
            found.append(f"{flags}: {said}")
        elif not (np.abs(ours[0] - double[0]) <= 0.03 * (np.abs(double[0]) + 0.5 * np.ptp(double[0]))).all():
            found.append(f"{flags}: losses {ours[0]}, FP32 {double[0]}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tegula", default="build/tegula")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--keep")
    parser.add_argument("--policies", action="store_true")
    parser.add_argument("--kind", choices=list(KINDS))
    o = parser.parse_args()
    o.tegula = os.path.abspath(o.tegula) if os.path.exists(o.tegula) else o.tegula
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    wrong = 0
    for seed in range(o.seed, o.seed + o.count):
        folder = tempfile.mkdtemp()
        try:
            case = Case(seed, folder, o.kind)
            found = check(case, o.tegula, o.policies)
            print(seed, case.describe(), "different" if found else "ok", flush=True)
        except Exception as e:  # what PyTorch does not export or draw
            print(seed, "not drawn:", type(e).__name__, str(e).split("\n")[0], flush=True)
            found = []
        for line in found:
            print("   ", line, flush=True)
        wrong += bool(found)
        if found and o.keep:
            shutil.copytree(folder, os.path.join(o.keep, str(seed)), dirs_exist_ok=True)
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
