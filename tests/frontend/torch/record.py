# python3 record.py EXPORTED_DIR CASES_DIR
# Computes the outputs of each case in PyTorch from the inputs that test_frontend_recorded wrote
# (TEGULA_RECORD_EXPORT=EXPORTED_DIR), and writes them behind the "---" of the case. A gradient is what autograd makes of
# the forward operator. Needs torch and numpy (Debian: python3-torch).
import glob
import os
import re
import sys

import numpy
import torch
import torch.nn.functional as F

exported, cases = sys.argv[1:3]


def pair(values, rank, initial):
    return values if values else [initial] * rank


def convolve(x, w, a):
    rank = x.dim() - 2
    pads = pair(a.get('pads'), 2 * rank, 0)
    x = F.pad(x, [p for d in reversed(range(rank)) for p in (pads[d], pads[rank + d])])
    f = F.conv1d if rank == 1 else F.conv2d
    return f(x, w, None, pair(a.get('strides'), rank, 1), 0, pair(a.get('dilations'), rank, 1), a.get('group', 1))


def gradient(make, at, dy):
    at = at.detach().double().requires_grad_()
    return torch.autograd.grad(make(at), at, dy.double())[0]


def conv_input_gradient(inputs, a):
    dy, w = inputs[:2]
    shape = [dy.shape[0], w.shape[1] * a.get('group', 1)] + a['output_shape']
    dx = gradient(lambda x: convolve(x, w.double(), a), torch.zeros(shape), dy)
    return dx + inputs[2].double().view([-1] + [1] * (dx.dim() - 2)) if len(inputs) > 2 else dx


def conv_weight_gradient(inputs, a):
    x, dy = inputs
    shape = [dy.shape[1], x.shape[1] // a.get('group', 1)] + a['kernel_shape']
    return gradient(lambda w: convolve(x.double(), w, a), torch.zeros(shape), dy)


# ONNX Runtime takes all of an uneven padding from the front; this is what ONNX says.
def conv_transpose(inputs, a):
    x, w = inputs[:2]
    rank = x.dim() - 2
    f = F.conv_transpose1d if rank == 1 else F.conv_transpose2d
    y = f(x, w, inputs[2] if len(inputs) > 2 else None, pair(a.get('strides'), rank, 1), 0,
          pair(a.get('output_padding'), rank, 0), a.get('group', 1), pair(a.get('dilations'), rank, 1))
    pads = pair(a.get('pads'), 2 * rank, 0)
    for d in range(rank):
        y = y.narrow(2 + d, pads[d], y.shape[2 + d] - pads[d] - pads[rank + d])
    return y


def max_pool_gradient(inputs, a):
    x, dy = inputs
    rank = x.dim() - 2
    f = F.max_pool1d if rank == 1 else F.max_pool2d

    def pool(x):
        pads = pair(a.get('pads'), 2 * rank, 0)
        x = F.pad(x, [p for d in reversed(range(rank)) for p in (pads[d], pads[rank + d])], value=-float('inf'))
        return f(x, a['kernel_shape'], pair(a.get('strides'), rank, 1), 0, pair(a.get('dilations'), rank, 1),
                 bool(a.get('ceil_mode', 0)))

    return gradient(pool, x, dy)


def average_pool_gradient(inputs, a):
    dy = inputs[0]
    rank = dy.dim() - 2
    f = F.avg_pool1d if rank == 1 else F.avg_pool2d
    pads = pair(a.get('pads'), 2 * rank, 0)
    return gradient(lambda x: f(x, a['kernel_shape'], pair(a.get('strides'), rank, 1), pads[:rank],
                                bool(a.get('ceil_mode', 0)), bool(a.get('count_include_pad', 0))),
                    torch.zeros(list(dy.shape[:2]) + a['output_shape']), dy)


operators = {'MaxPoolGradient': max_pool_gradient, 'AveragePoolGradient': average_pool_gradient,
             'ConvTranspose': conv_transpose,
             'ConvInputGradient': conv_input_gradient, 'ConvWeightGradient': conv_weight_gradient}


def attributes(text):
    found = {}
    for name, value in re.findall(r'(\w+)=(\[[^]]*\]|\S+)', text):
        found[name] = [int(v) for v in value[1:-1].split(',') if v] if value[0] == '[' else int(value)
    return found


for file in sorted(glob.glob(os.path.join(cases, '*.txt'))):
    name = os.path.basename(file)[:-4]
    text = open(file).read().split('---\n')[0]
    values, lines = {}, []
    for line in text.splitlines():
        if match := re.match(r'input %(\w+):', line):
            values[match[1]] = torch.from_numpy(numpy.load(os.path.join(exported, f'{name}.{match[1]}.npy')))
        elif match := re.match(r'%(\w+) = (\w+)\(([^)]*)\)(.*)', line):
            inputs = [values[v.strip()[1:]] for v in match[3].split(',')]
            values[match[1]] = operators[match[2]](inputs, attributes(match[4].split('@')[0]))
        elif match := re.match(r'output "\w+" %(\w+)', line):
            lines.append(' '.join(repr(v) for v in values[match[1]].float().flatten().tolist()))
    with open(file, 'w') as out:
        out.write(text + '---\n' + '\n'.join(lines) + '\n')
