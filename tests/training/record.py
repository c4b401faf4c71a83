#!/usr/bin/env python3
# Records tests/training/recorded.def: losses of PyTorch's optimizers on the network and the digits of support.c, in FP32.
# Run in the root of the tree; needs torch and numpy. A row: name, options of `tegula train`, losses of the steps.
import numpy as np
import torch

STEPS, BATCH = 24, 16
MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def seeded(seed, scale, *shape):  # frontend/seeded.c
    key, count = mix(seed), int(np.prod(shape))
    unit = np.array([(mix((key + i) & MASK) >> 40) * 2.0**-23 - 1 for i in range(count)], np.float32)
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
    numbers = [f"{loss:.9g}" for loss in losses]
    lines = [", ".join(numbers[i : i + 8]) for i in range(0, STEPS, 8)]
    print(f'RECORDED({name}, "{options}",\n         ' + ",\n         ".join(lines) + ")")


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
