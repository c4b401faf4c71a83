#!/usr/bin/env python3
# python3 tests/training/record.py > tests/training/recorded.def
# Losses of PyTorch in FP32, on the digits and the table of support.c: of its optimizers on the network made there
# (RECORDED), of models that it writes to models/ in the form that its exporter gives them (EXPORTED), and of models of
# models/NAME.txt (WRITTEN) whose programs are like those of real size. Run in the root of the tree; needs torch, onnx and numpy
# (Debian: python3-torch, python3-onnx). A row: name, options of `tegula train`, losses of the steps; of WRITTEN ones, the
# model and the relative tolerance, too.
import re
import warnings

import numpy as np
import torch
from torch import nn

STEPS, BATCH = 24, 16


def mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def seeded(seed, scale, *shape):  # frontend/seeded.c
    key, count = mix(np.array([seed], np.uint64)), int(np.prod(shape))
    unit = ((mix(key + np.arange(count, dtype=np.uint64)) >> np.uint64(40)) * 2.0**-23 - 1).astype(np.float32)
    return torch.tensor((unit * np.float32(scale)).reshape(shape))


pixels = np.load("runtime/demo/digits.npy").reshape(160, 784).astype(np.float32) / np.float32(255)
x, y = torch.tensor(pixels), torch.tensor(np.load("runtime/demo/labels.npy").astype(np.int64))


def run(name, options, make, clip_norm=None, clip_value=None, schedule=None):
    w1, b1 = seeded(1, 0.06, 784, 24), seeded(2, 0.06, 24)
    w2, b2 = seeded(3, 0.3, 24, 10), seeded(4, 0.3, 10)
    parameters = [p.requires_grad_() for p in (w1, b1, w2, b2)]
    optimizer = make(parameters)
    scheduler = schedule(optimizer) if schedule else None
    losses = []
    for step in range(STEPS):
        first = step % (160 // BATCH) * BATCH
        rows = slice(first, first + BATCH)
        optimizer.zero_grad()
        scores = torch.relu(x[rows] @ w1 + b1) @ w2 + b2
        loss = torch.nn.functional.cross_entropy(scores, y[rows])
        losses.append(loss.item())
        loss.backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(parameters, clip_norm)
        if clip_value:
            torch.nn.utils.clip_grad_value_(parameters, clip_value)
        optimizer.step()
        if scheduler:
            scheduler.step()
    write_row("RECORDED", name, options, losses)


def write_row(kind, name, options, losses):
    numbers = [f"{loss:.9g}" for loss in losses]
    lines = [", ".join(numbers[i : i + 8]) for i in range(0, len(losses), 8)]
    print(f'{kind}({name}, "{options}",\n         ' + ",\n         ".join(lines) + ")")


optim, rates = torch.optim, torch.optim.lr_scheduler
print(f"/* Losses of {STEPS} steps of {BATCH} rows, by record.py with PyTorch {torch.__version__}. */")
run("sgd", "--lr 0.1", lambda p: optim.SGD(p, 0.1))
run("sgd_weight_decay", "--lr 0.1 --weight-decay 0.05", lambda p: optim.SGD(p, 0.1, weight_decay=0.05))
run("momentum", "--optimizer momentum --lr 0.03 --momentum 0.8",
    lambda p: optim.SGD(p, 0.03, momentum=0.8))
run("nesterov", "--optimizer nesterov --lr 0.03", lambda p: optim.SGD(p, 0.03, momentum=0.9, nesterov=True))
run("adam", "--optimizer adam --lr 0.003", lambda p: optim.Adam(p, 0.003))
run("adam_numbers", "--optimizer adam --lr 0.003 --betas 0.8,0.99 --eps 1e-4 --weight-decay 0.1",
    lambda p: optim.Adam(p, 0.003, betas=(0.8, 0.99), eps=1e-4, weight_decay=0.1))
run("adamw", "--optimizer adamw --lr 0.003 --weight-decay 0.5",
    lambda p: optim.AdamW(p, 0.003, weight_decay=0.5))
run("adagrad", "--optimizer adagrad --lr 0.02", lambda p: optim.Adagrad(p, 0.02))
run("clip_norm", "--lr 0.1 --clip-norm 0.5", lambda p: optim.SGD(p, 0.1), clip_norm=0.5)
run("clip_value", "--lr 0.1 --clip-value 0.02", lambda p: optim.SGD(p, 0.1), clip_value=0.02)
run("cosine", "--lr 0.1 --lr-schedule cosine", lambda p: optim.SGD(p, 0.1),
    schedule=lambda o: rates.CosineAnnealingLR(o, STEPS))
run("step", "--lr 0.1 --lr-schedule step --lr-every 5 --lr-gamma 0.5", lambda p: optim.SGD(p, 0.1),
    schedule=lambda o: rates.StepLR(o, 5, 0.5))


# --- models as PyTorch exports them

TRAINING, EVAL = torch.onnx.TrainingMode.TRAINING, torch.onnx.TrainingMode.EVAL
DIGITS = "--data digits_x.npy --labels digits_y.npy"
table = seeded(31, 1.0, 96, 6)  # support.c, make_table
kinds = torch.tensor((np.arange(96) * 7 % 5).astype(np.int64)).reshape(96, 1)
prices = (table[:, :1] * table[:, 1:2] + 0.5 * kinds)
sold = (prices > 1).float()


def export(name, options, model, inputs, labels, loss, make, mode, batch=BATCH, opset=14, clip_norm=None):
    torch.manual_seed(0)
    model, rows = model(), len(labels)
    torch.onnx.export(model, tuple(t[:batch] for t in inputs), f"tests/training/models/{name}.onnx",
                      opset_version=opset, training=mode, input_names=["x", "kind"][: len(inputs)],
                      dynamic_axes={"x": {0: "N"}, "kind": {0: "N"}, "y": {0: "N"}}, output_names=["y"])
    model.train()
    optimizer, losses = make(model.parameters()), []
    for step in range(STEPS):
        first = step % (rows // batch) * batch
        optimizer.zero_grad()
        value = loss(model(*(t[first : first + batch] for t in inputs)), labels[first : first + batch])
        losses.append(value.item())
        value.backward()
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
    write_row("EXPORTED", name, options, losses)


def image(x):
    return nn.functional.avg_pool2d(x.view(-1, 1, 28, 28), 2)


class Recurrent(nn.Module):  # a row of the image a step
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(14, 12, batch_first=True), nn.Linear(12, 10)

    def forward(self, x):
        return self.out(self.lstm(image(x).view(-1, 14, 14))[0][:, -1])


class Attention(nn.Module):  # biases and scales that begin equal are one initializer in the file; no dropout
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Linear(14, 16), nn.Linear(16, 10)
        layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        angles = torch.arange(14.0)[:, None] * torch.exp(torch.arange(0, 16, 2) * -0.5)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], 2).reshape(14, 16))

    def forward(self, x):
        return self.out(self.layers(self.embed(image(x).view(-1, 14, 14)) + self.positions).mean(1))


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, bias=False), nn.BatchNorm2d(6), nn.ReLU6(),
            nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False), nn.BatchNorm2d(6), nn.ReLU6(),
            nn.Conv2d(6, 12, 1, bias=False), nn.BatchNorm2d(12), nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10))

    def forward(self, x):
        return self.layers(image(x))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.Tanh(),
                                    nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.Tanh())
        self.decode = nn.Sequential(nn.ConvTranspose2d(6, 4, 2, stride=2), nn.ELU(),
                                    nn.ConvTranspose2d(4, 1, 2, stride=2), nn.Sigmoid())

    def forward(self, x):
        return self.decode(self.encode(x.view(-1, 1, 28, 28))).flatten(1)


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 13), nn.BatchNorm1d(13), nn.SiLU(), nn.Dropout(0.0),
                                    nn.Linear(13, 7), nn.LayerNorm(7), nn.LeakyReLU(), nn.Linear(7, 1))

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):  # numbers and a category, wide and deep
    def __init__(self):
        super().__init__()
        self.kinds, self.wide = nn.Embedding(5, 3), nn.Linear(9, 1)
        self.deep = nn.Sequential(nn.Linear(9, 11), nn.GELU(), nn.Linear(11, 1))

    def forward(self, x, kind):
        x = torch.cat([x, self.kinds(kind[:, 0])], 1)
        return self.wide(x) + self.deep(x)


class Temperature(nn.Module):  # a parameter of rank 0
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 12), nn.Linear(12, 1)
        self.temperature = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.last(torch.tanh(self.first(x) / self.temperature))


class Narrow(nn.Module):  # weights of one row or column
    def __init__(self):
        super().__init__()
        self.blur, self.spread, self.gather = nn.Conv2d(1, 1, (1, 3)), nn.Linear(1, 13), nn.Linear(13, 1)

    def forward(self, x):
        return self.gather(torch.tanh(self.spread(self.blur(x.view(-1, 1, 1, 6)).mean((2, 3)))))


functional = nn.functional
warnings.filterwarnings("ignore")
export("lstm_momentum", DIGITS + " --batch 16 --optimizer momentum --lr 0.1", Recurrent, [x], y, functional.cross_entropy,
       lambda p: optim.SGD(p, 0.1, momentum=0.9), TRAINING)
export("attention_adamw", DIGITS + " --batch 16 --optimizer adamw --lr 0.003 --weight-decay 0.1", Attention, [x], y,
       functional.cross_entropy, lambda p: optim.AdamW(p, 0.003, weight_decay=0.1), EVAL)
export("depthwise_adagrad", DIGITS + " --batch 16 --optimizer adagrad --lr 0.02", Depthwise, [x], y,
       functional.cross_entropy, lambda p: optim.Adagrad(p, 0.02), TRAINING)
export("autoencoder_adam", "--data digits_x.npy --labels digits_x.npy --batch 12 --loss bce --optimizer adam --lr 0.005",
       Autoencoder, [x], x, functional.binary_cross_entropy, lambda p: optim.Adam(p, 0.005), EVAL, batch=12)
export("regression_nesterov", "--data table_x.npy --labels table_price.npy --batch 20 --loss mse --optimizer nesterov --lr 0.02",
       Regression, [table], prices, functional.mse_loss,
       lambda p: optim.SGD(p, 0.02, momentum=0.9, nesterov=True), TRAINING, batch=20, opset=15)
export("narrow_momentum", "--data table_x.npy --labels table_price.npy --batch 16 --loss mse --optimizer momentum --lr 0.02 "
       "--weight-decay 0.1", Narrow, [table], prices, functional.mse_loss,
       lambda p: optim.SGD(p, 0.02, momentum=0.9, weight_decay=0.1), EVAL)
export("temperature_adam", "--data table_x.npy --labels table_price.npy --batch 16 --loss mse --optimizer adam --lr 0.02 "
       "--trained ^temperature$", Temperature, [table], prices, functional.mse_loss, lambda p: optim.Adam(p, 0.02), EVAL)
export("classifier_clipped", "--data x=table_x.npy --data kind=table_kind.npy --labels table_sold.npy --batch 16 "
       "--loss bce_with_logits --optimizer momentum --lr 0.1 --weight-decay 0.01 --clip-norm 0.3", Classifier, [table, kinds],
       sold, functional.binary_cross_entropy_with_logits,
       lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01), EVAL, clip_norm=0.3)


# --- models of models/NAME.txt, of larger sizes

def written(model):  # its parameters
    def value(shape, text):
        seed, _, scale = text.removeprefix("seeded(").removesuffix(")").partition(", ")
        if text.startswith("seeded("):
            return seeded(int(seed), float(scale), *shape)
        return torch.full(shape, float(text.removeprefix("splat(").removesuffix(")")))

    lines = re.findall(r"^const %(\w+): f32\[(.+)\] = (s.*)$", open(f"tests/training/models/{model}.txt").read(), re.M)
    return {name: value(tuple(map(int, shape.split(","))), text) for name, shape, text in lines}


def convmodel(p, x):
    for i in "123":
        x = functional.conv2d(x, p["w" + i], p["b" + i])
        x = torch.relu(functional.batch_norm(x, None, None, p["scale" + i], p["offset" + i], training=True))
    return functional.conv2d(x, p["w4"], p["b4"])


def encoder(p, ids):
    split = lambda t: t.view(-1, 128, 4, 34).transpose(1, 2)
    x = p["words"][ids] + p["places"]
    q, k, v = (split(x @ p["w" + n] + p["b" + n]) for n in "qkv")
    a = torch.softmax(q @ k.transpose(2, 3) * 34**-0.5, -1) @ v
    x = x + a.transpose(1, 2).reshape(x.shape) @ p["wo"] + p["bo"]
    x = functional.layer_norm(x, (136,), p["scale1"], p["offset1"])
    x = x + functional.gelu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
    return functional.layer_norm(x, (136,), p["scale2"], p["offset2"]) @ p["wy"] + p["by"]


def train(model, forward, x, y, loss, make, batch, steps):
    parameters = {name: value.requires_grad_() for name, value in written(model).items() if not re.match("mean|variance", name)}
    optimizer, losses = make(list(parameters.values())), []
    for step in range(steps):
        rows = slice(step * batch % len(x), step * batch % len(x) + batch)
        optimizer.zero_grad()
        value = loss(forward(parameters, x[rows]), y[rows])
        losses.append(value.item())
        value.backward()
        optimizer.step()
    return losses


def write_policies(model, options, losses, policies):
    for policy, flags, tolerance in policies:
        write_row("WRITTEN", f"{model}_{policy}, {model}, {tolerance}", options + flags, losses)


image = seeded(41, 1, 2, 2, 128, 128)
write_policies("convmodel", "--data image_x.npy --labels image_y.npy --batch 1 --loss mse --optimizer adam --lr 0.0005",
               train("convmodel", convmodel, image, image[:, :1] * image[:, 1:], functional.mse_loss,
                     lambda p: optim.Adam(p, 0.0005), 1, 10),
               [("fp32", "", 1e-5), ("mp1", " --graphamp-preset mp1", 0.01), ("autocast", " --amp autocast", 0.01)])
index = np.arange(16 * 128)
words = torch.tensor((index * index // 3 + 5 * index) % 700).view(16, 128)
write_policies("encoder", "--data words_x.npy --labels words_y.npy --batch 4 --classes-last --optimizer adam --lr 0.001",
               train("encoder", encoder, words, words * 11 % 700,
                     lambda y, t: functional.cross_entropy(y.flatten(0, 1), t.flatten()), lambda p: optim.Adam(p, 0.001), 4, 8),
               [("fp32", "", 1e-5), ("mp1", " --graphamp-preset mp1", 0.01), ("autocast", " --amp autocast", 0.01),
                ("blocks", " --attention blocked:64", 1e-5),
                ("blocks_mp1", " --attention blocked:64 --graphamp-preset mp1", 0.01)])
