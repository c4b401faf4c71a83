#!/usr/bin/env python3
"""What PyTorch makes of biases in front of batch normalisations, whose gradients are zero (docs/decisions/029): the
largest gradient of the first step, and how far ten steps of each optimizer move them, in learning rates. Needs python3-torch."""
import torch
from torch import nn, optim

torch.set_num_threads(1)
for make, lr in ((optim.Adam, 1e-3), (optim.Adagrad, 1e-2), (optim.SGD, 1e-2)):
    torch.manual_seed(1)
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
              nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1)]
    model = nn.Sequential(*layers)
    x, y = torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32)
    biases = [layers[0].bias, layers[3].bias]
    before = [b.detach().clone() for b in biases]
    optimizer = make(model.parameters(), lr)
    for step in range(10):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        if not step:
            noise = [b.grad.abs().max().item() for b in biases + [layers[6].bias]]
        optimizer.step()
    moved = [(b.detach() - a).abs() / lr for b, a in zip(biases, before)]
    print('%-8s gradients %s; the last layer\'s %.1e; moved %s learning rates, at most %s' % (
        make.__name__, ', '.join('%.1e' % g for g in noise[:2]), noise[2],
        ', '.join('%.2g' % m.mean().item() for m in moved), ', '.join('%.2g' % m.max().item() for m in moved)))
