#!/usr/bin/python3
"""What models of the zoo compute, and the gradients of a step of their training, against PyTorch.

usage: zoo_torch.py TEGULA [NAME...]      all models, or those of these names

Each network is written here as its authors' code does it, on the weights of the file that `tegula zoo` makes, found by
name: so names and shapes of the layers are compared, too. Small sizes; float64; outputs and gradients within 1e-4 of the
largest of their tensor, gradients that cancel within 1e-6 of the largest of all. Exits 77 where there is no PyTorch or ONNX.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)


class Network:
    """Layers by name."""

    def __init__(self, weights):
        self.weights, self.used = weights, set()

    def __call__(self, name):
        self.used.add(name)
        return self.weights[name]

    def has(self, name):
        return name in self.weights

    def conv(self, name, x, **options):
        bias = self(name + ".bias") if self.has(name + ".bias") else None
        return F.conv2d(x, self(name + ".weight"), bias, **options)

    def linear(self, name, x):
        return F.linear(x, self(name + ".weight"), self(name + ".bias"))

    def project(self, name, x):
        y = x @ self(name + ".weight")
        return y + self(name + ".bias") if self.has(name + ".bias") else y

    def batch_norm(self, name, x):
        return F.batch_norm(x, self(name + ".running_mean"), self(name + ".running_var"), self(name + ".weight"), self(name + ".bias"))

    def layer_norm(self, name, x, epsilon):
        return F.layer_norm(x, x.shape[-1:], self(name + ".weight"), self(name + ".bias"), epsilon)

    def group_norm(self, name, x, groups):
        return F.group_norm(x, groups, self(name + ".weight").flatten(), self(name + ".bias").flatten())

    def block(self, name, x, stride, groups, act):
        """Conv2dNormActivation of torchvision."""
        kernel = self.weights[name + ".0.weight"].shape[2]
        y = self.batch_norm(name + ".1", self.conv(name + ".0", x, stride=stride, padding=(kernel - 1) // 2, groups=groups))
        return act(y) if act else y

    def attention(self, name, x, memory, heads, parts, causal=False):
        q, k, v = (self.project("%s.%s" % (name, part), t).unflatten(2, (heads, -1)).transpose(1, 2)
                   for part, t in zip(parts, (x, memory, memory)))
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[2:]).triu(1).bool(), -float("inf"))
        return self.project("%s.%s" % (name, parts[3]), (scores.softmax(3) @ v).transpose(1, 2).flatten(2))


def resnet50(n, image):
    x = F.max_pool2d(n.batch_norm("bn1", n.conv("conv1", image, stride=2, padding=3)).relu(), 3, 2, 1)
    for stage, count in enumerate((3, 4, 6, 3), 1):
        for i in range(count):
            name, stride = "layer%d.%d." % (stage, i), 2 if stage > 1 and i == 0 else 1
            y = n.batch_norm(name + "bn1", n.conv(name + "conv1", x)).relu()
            y = n.batch_norm(name + "bn2", n.conv(name + "conv2", y, stride=stride, padding=1)).relu()
            y = n.batch_norm(name + "bn3", n.conv(name + "conv3", y))
            if i == 0:
                x = n.batch_norm(name + "downsample.1", n.conv(name + "downsample.0", x, stride=stride))
            x = (x + y).relu()
    return n.linear("fc", x.mean((2, 3)))


def vgg16(n, image):
    x, index = image, 0
    for count in (2, 2, 3, 3, 3):
        for _ in range(count):
            x = n.conv("features.%d" % index, x, padding=1).relu()
            index += 2
        x, index = F.max_pool2d(x, 2), index + 1
    x = n.linear("classifier.3", n.linear("classifier.0", x.flatten(1)).relu()).relu()
    return n.linear("classifier.6", x)


def inverted_residual(n, name, x, stride, act, gate=None, squeeze_act=None):
    y, part = x, 0
    expands = n.weights[name + ".0.0.weight"].shape[1] != 1
    if expands:
        y, part = n.block(name + ".0", y, 1, 1, act), 1
    y = n.block("%s.%d" % (name, part), y, stride, y.shape[1], act)
    if n.has("%s.%d.fc1.weight" % (name, part + 1)):
        part += 1
        s = squeeze_act(n.conv("%s.%d.fc1" % (name, part), y.mean((2, 3), True)))
        y = y * gate(n.conv("%s.%d.fc2" % (name, part), s))
    y = n.block("%s.%d" % (name, part + 1), y, 1, 1, None)
    return x + y if stride == 1 and x.shape == y.shape else y


def mobilenetv2(n, image):
    x = n.block("features.0", image, 2, 1, F.relu6)
    strides = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
    for i, stride in enumerate(strides, 1):
        x = inverted_residual(n, "features.%d.conv" % i, x, stride, F.relu6)
    return n.linear("classifier.1", n.block("features.18", x, 1, 1, F.relu6).mean((2, 3)))


def mobilenetv3(n, image):
    x = n.block("features.0", image, 2, 1, F.hardswish)
    for i, stride in enumerate((2, 2, 1, 2, 1, 1, 1, 1, 2, 1, 1), 1):
        x = inverted_residual(n, "features.%d.block" % i, x, stride, F.relu if i < 4 else F.hardswish, F.hardsigmoid, F.relu)
    x = n.block("features.12", x, 1, 1, F.hardswish).mean((2, 3))
    return n.linear("classifier.3", F.hardswish(n.linear("classifier.0", x)))


def efficientnet(n, image):
    x = n.block("features.0", image, 2, 1, F.silu)
    for stage, (stride, count) in enumerate(((1, 1), (2, 2), (2, 2), (2, 3), (1, 3), (2, 4), (1, 1)), 1):
        for i in range(count):
            name = "features.%d.%d.block" % (stage, i)
            x = inverted_residual(n, name, x, 1 if i else stride, F.silu, torch.sigmoid, F.silu)
    return n.linear("classifier.1", n.block("features.8", x, 1, 1, F.silu).mean((2, 3)))


def double_conv(n, name, x):
    for i in (0, 3):
        x = n.batch_norm("%s.%d" % (name, i + 1), n.conv("%s.%d" % (name, i), x, padding=1)).relu()
    return x


def unet(n, image):
    kept = [double_conv(n, "inc.double_conv", image)]
    for i in range(1, 5):
        kept.append(double_conv(n, "down%d.maxpool_conv.1.double_conv" % i, F.max_pool2d(kept[-1], 2)))
    x = kept.pop()
    for i in range(1, 5):
        up, skip = "up%d.up" % i, kept.pop()
        x = F.conv_transpose2d(x, n(up + ".weight"), n(up + ".bias"), stride=2)
        dy, dx = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        x = F.pad(x, (dx // 2, dx - dx // 2, dy // 2, dy - dy // 2))
        x = double_conv(n, "up%d.conv.double_conv" % i, torch.cat((skip, x), 1))
    return n.conv("outc.conv", x)


def diffusion_block(n, x, time):
    y = n.conv("conv1", F.silu(n.group_norm("norm1", x, 4)), padding=1)
    y = y + n.linear("time_emb_proj", F.silu(time))[:, :, None, None]
    y = x + n.conv("conv2", F.silu(n.group_norm("norm2", y, 4)), padding=1)
    tokens = n.group_norm("attention.norm", y, 4).flatten(2).transpose(1, 2)
    tokens = n.attention("attention", tokens, tokens, 1, ("to_q", "to_k", "to_v", "to_out"))
    return y + tokens.transpose(1, 2).reshape(y.shape)


def lstm_lm(n, ids):
    """Rows of weights in PyTorch's order: input, forget, cell, output; ONNX has input, output, forget, cell."""
    def gates(w):
        i, o, f, c = w.chunk(4)
        return torch.cat((i, f, c, o))
    x = n("encoder.weight")[ids].transpose(0, 1)
    for layer in range(2):
        name = "rnn.%d" % layer
        weights = [gates(n(name + part)[0]) for part in (".weight_ih", ".weight_hh")]
        weights += [gates(b) for b in n(name + ".bias")[0].chunk(2)]
        zeros = torch.zeros(1, x.shape[1], weights[1].shape[1], dtype=x.dtype)
        x = torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, False, False, False)[0]
    return n.linear("decoder", x.transpose(0, 1).flatten(0, 1))


def transformer_layer(n, name, x, names, epsilon, heads, parts, memory=None, causal=False):
    norm, attention, inner, first, second = ("%s.%s" % (name, part) for part in names)
    y = n.layer_norm(norm, x, epsilon)
    x = x + n.attention(attention, y, y, heads, parts, causal)
    if memory is not None:
        y = n.layer_norm(name + ".encoder_attn_layer_norm", x, epsilon)
        x = x + n.attention(name + ".encoder_attn", y, memory, heads, parts)
    return x + n.project(second, F.gelu(n.project(first, n.layer_norm(inner, x, epsilon))))


def vit_tiny(n, image):
    x = n.conv("patch_embeddings.projection", image, stride=16).flatten(2).transpose(1, 2)
    x = torch.cat((n("cls_token").expand(x.shape[0], -1, -1), x), 1) + n("position_embeddings")
    names = ("layernorm_before", "attention", "layernorm_after", "intermediate.dense", "output.dense")
    for i in range(2):
        x = transformer_layer(n, "encoder.layer.%d" % i, x, names, 1e-6, 3, ("query", "key", "value", "output.dense"))
    return n.linear("classifier", n.layer_norm("layernorm", x, 1e-6)[:, 0])


WHISPER = ("self_attn_layer_norm", "self_attn", "final_layer_norm", "fc1", "fc2"), 1e-5, 3, ("q_proj", "k_proj", "v_proj", "out_proj")


def whisper_encoder(n, mel):
    x = F.gelu(F.conv1d(mel, n("conv1.weight"), n("conv1.bias"), padding=1))
    x = F.gelu(F.conv1d(x, n("conv2.weight"), n("conv2.bias"), stride=2, padding=1)).transpose(1, 2)
    x = x + n("embed_positions.weight")
    for i in range(2):
        x = transformer_layer(n, "layers.%d" % i, x, *WHISPER)
    return n.layer_norm("layer_norm", x, 1e-5)


def whisper_decoder(n, ids, audio):
    x = n("embed_tokens.weight")[ids] + n("embed_positions.weight")[:ids.shape[1]]
    for i in range(2):
        x = transformer_layer(n, "layers.%d" % i, x, *WHISPER, memory=audio, causal=True)
    return n.layer_norm("layer_norm", x, 1e-5) @ n("embed_tokens.weight").T


MODELS = [("resnet50", resnet50), ("vgg16", vgg16), ("mobilenetv2", mobilenetv2), ("mobilenetv3-small", mobilenetv3),
          ("efficientnet-b0", efficientnet), ("unet", unet), ("diffusion-block", diffusion_block), ("lstm-lm", lstm_lm),
          ("vit-tiny", vit_tiny), ("whisper-encoder", whisper_encoder), ("whisper-decoder", whisper_decoder)]
SIZES = "--size 33 --hidden 12 --heads 3 --seq 7 --layers 2 --vocabulary 43 --batch 2".split()
STATISTICS = (".running_mean", ".running_var")
BUFFERS = (".one", ".zero", ".mask", ".scale", ".least", ".most")


def make(tegula, folder, name):
    """Graph, weights in float64, inputs as tensors and as (name, file)."""
    path = os.path.join(folder, name + ".onnx")
    subprocess.run([tegula, "zoo", name, "-q", "-o", path] + SIZES, check=True)
    graph = onnx.load(path).graph
    weights = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer}
    weights = {k: v.double() if v.dtype == torch.float32 else v for k, v in weights.items()}
    draw, inputs, files = np.random.RandomState(1), [], []
    for value in graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        ids = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
        array = draw.randint(0, 43, shape) if ids else draw.standard_normal(shape).astype("f4")
        files.append("%s=%s/%s.npy" % (value.name, folder, value.name))
        np.save(os.path.join(folder, value.name + ".npy"), array)
        inputs.append(torch.from_numpy(array) if ids else torch.from_numpy(array).double())
    return path, graph, weights, inputs, files


def compare_output(tegula, path, folder, graph, files, wanted):
    out = os.path.join(folder, "out")
    subprocess.run([tegula, "run", path, "-q", "--engine", "functional", "--no-cpu-reference", "--threads", "1", "--output-dir", out]
                   + [word for file in files for word in ("--input", file)], check=True, stdout=subprocess.DEVNULL)
    got = np.load(os.path.join(out, graph.output[0].name + ".npy"))
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    return np.abs(got - wanted).max() / np.abs(wanted).max()


def compare_gradients(tegula, path, folder, files, weights, wanted):
    """The worst tensor's, under the mean squared error against zeros."""
    labels, gradients = os.path.join(folder, "labels.npy"), os.path.join(folder, "gradients")
    np.save(labels, np.zeros(wanted.shape, "f4").reshape(2, -1))
    os.makedirs(gradients, exist_ok=True)
    subprocess.run([tegula, "train", path, "-q", "--engine", "functional", "--threads", "1", "--loss", "mse", "--steps", "1",
                    "--batch", "2", "--lr", "1e-30", "--frozen-norms", "--trained", ".", "--labels", labels, "--save-grads", gradients]
                   + [word for file in files for word in ("--data", file)], check=True, stdout=subprocess.DEVNULL)
    expected = {k: v.grad.numpy() for k, v in weights.items() if v.grad is not None}
    all_largest, worst = max(np.abs(g).max() for g in expected.values()), (0, "")
    for name, gradient in expected.items():
        got = np.load(os.path.join(gradients, name + ".npy")).reshape(gradient.shape)
        worst = max(worst, (np.abs(got - gradient).max() / max(np.abs(gradient).max(), 1e-2 * all_largest), name))
    return worst + (len(expected),)


def check(tegula, folder, name, formula):
    path, graph, weights, inputs, files = make(tegula, folder, name)
    network = Network(weights)
    for key, weight in weights.items():
        weight.requires_grad_(weight.dtype == torch.float64 and not key.endswith(STATISTICS))
    result = formula(network, *inputs)
    (result ** 2).mean().backward()
    wanted = result.detach().numpy()
    error = compare_output(tegula, path, folder, graph, files, wanted)
    worst, tensor, count = compare_gradients(tegula, path, folder, files, weights, wanted)
    left = sorted(k for k, v in weights.items() if v.dim() and v.requires_grad and k not in network.used and not k.endswith(BUFFERS))
    print("%-18s output %.1e, %d gradients %.1e (%s)" % (name, error, count, worst, tensor), *left, flush=True)
    return error < 1e-4 and worst < 1e-4 and np.abs(wanted).max() > 1e-3 and not left


def main(tegula, *names):
    with tempfile.TemporaryDirectory() as folder:
        results = [check(tegula, folder, name, formula) for name, formula in MODELS if not names or name in names]
    assert len(results) == len(names or MODELS), "no such model"
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
