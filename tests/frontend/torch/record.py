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


def class_loss(inputs, a, loss):
    x, labels = inputs[0].double(), inputs[1].long()
    weights = inputs[2].detach().double() if len(inputs) > 2 else None
    return loss(x, labels, weights, reduction=a.get('reduction', 'mean'), ignore_index=a.get('ignore_index', -100))


def softmax_cross_entropy(inputs, a):
    return class_loss(inputs, a, F.cross_entropy), F.log_softmax(inputs[0].double(), 1)


# The training domain's operators as ONNX describes them: inputs R, T, then the tensors' X, G and states.
def each_tensor(inputs, states, a, update):
    r, t, tensors = inputs[0].double(), int(inputs[1]), [v.double() for v in inputs[2:]]
    count = len(tensors) // (2 + states)
    results = []
    for i in range(count):
        x, g, *state = tensors[i::count]
        results.append(update(r, t, x, a.get('norm_coefficient', 0) * x + g, state))
    return [results[i][k] for k in range(1 + states) for i in range(count)]


def adam(inputs, a):
    def update(r, t, x, g, state):
        alpha, beta = a.get('alpha', 0.9), a.get('beta', 0.999)
        v, h = alpha * state[0] + (1 - alpha) * g, beta * state[1] + (1 - beta) * g * g
        r = r * (1 - beta**t)**0.5 / (1 - alpha**t) if t > 0 else r
        x = x - r * v / (h.sqrt() + a.get('epsilon', 1e-6))
        return (1 - a.get('norm_coefficient_post', 0)) * x, v, h
    return each_tensor(inputs, 2, a, update)


def adagrad(inputs, a):
    def update(r, t, x, g, state):
        h = state[0] + g * g
        return x - r / (1 + t * a.get('decay_factor', 0)) * g / (h.sqrt() + a.get('epsilon', 1e-6)), h
    return each_tensor(inputs, 1, a, update)


def momentum(inputs, a):
    def update(r, t, x, g, state):
        v = a['alpha'] * state[0] + (a['beta'] if t > 0 else 1) * g
        return x - r * (g + a['alpha'] * v if a['mode'] == 'nesterov' else v), v
    return each_tensor(inputs, 1, a, update)


def multiply(inputs, a):
    return inputs[0] * inputs[1]


def add(inputs, a):
    return inputs[0] + inputs[1]


def gradient_of(inputs, a):
    return torch.autograd.grad(inputs[-1].sum(), inputs[:-1], retain_graph=True)


def gather_elements(inputs, a):
    x, i = inputs[0], inputs[1].long()
    return torch.gather(x, a['axis'], torch.where(i < 0, i + x.shape[a['axis']], i))


def group_norm(x, scale, bias, groups, epsilon):
    scale, bias = (t.repeat_interleave(x.shape[1] // len(t)) for t in (scale, bias))
    return F.group_norm(x, groups, scale, bias, epsilon)


def batch_norm(inputs, a):
    x, scale, bias, mean, variance = inputs
    return F.batch_norm(x, mean.clone(), variance.clone(), scale, bias, bool(a.get('training_mode', 0)), 0.1, a.get('epsilon', 1e-5))


operators = {'BatchNormalization': batch_norm,
             'InstanceNormalization': lambda inputs, a: group_norm(*inputs, inputs[0].shape[1], a.get('epsilon', 1e-5)),
             'GroupNormalization': lambda inputs, a: group_norm(*inputs, a['num_groups'], a.get('epsilon', 1e-5)),
             'GatherElements': gather_elements, 'SoftmaxCrossEntropyLoss': softmax_cross_entropy,
             'NegativeLogLikelihoodLoss': lambda inputs, a: class_loss(inputs, a, F.nll_loss),
             'Adam': adam, 'Adagrad': adagrad, 'Momentum': momentum, 'Gradient': gradient_of, 'Mul': multiply, 'Add': add,
             'MaxPoolGradient': max_pool_gradient, 'AveragePoolGradient': average_pool_gradient,
             'ConvTranspose': conv_transpose,
             'ConvInputGradient': conv_input_gradient, 'ConvWeightGradient': conv_weight_gradient}


def attributes(text):
    found = {}
    for name, value in re.findall(r'(\w+)=(\[[^]]*\]|\S+)', text):
        if value[0] == '[':
            found[name] = [int(v) for v in value[1:-1].split(',') if v]
        elif value[0] == '"':
            found[name] = value[1:-1]
        else:
            found[name] = float(value) if re.search('[.e]', value) else int(value)
    return found


for file in sorted(glob.glob(os.path.join(cases, '*.txt'))):
    name = os.path.basename(file)[:-4]
    text = open(file).read().split('---\n')[0]
    values, lines = {}, []
    for line in text.splitlines():
        if match := re.match(r'input %(\w+):', line):
            data = torch.from_numpy(numpy.load(os.path.join(exported, f'{name}.{match[1]}.npy')))
            values[match[1]] = data.requires_grad_(data.is_floating_point())
        elif match := re.match(r'const %(\w+): (\w+)\[([0-9,]*)\] = \[(.*)\]', line):
            kind = torch.float32 if match[2] == 'f32' else torch.int64
            shape = [int(v) for v in match[3].split(',') if v]
            values[match[1]] = torch.tensor([float(v) for v in match[4].split(',')]).to(kind).reshape(shape)
        elif match := re.match(r'%([\w, %]+) = (\w+)\(([^)]*)\)(.*)', line):
            inputs = [values[v.strip()[1:]] for v in match[3].split(',')]
            results = operators[match[2]](inputs, attributes(match[4].split('@')[0]))
            for result, value in zip(match[1].split(', %'), [results] if torch.is_tensor(results) else results):
                values[result] = value
        elif match := re.match(r'output "\w+" %(\w+)', line):
            lines.append(' '.join(repr(v) for v in values[match[1]].detach().float().flatten().tolist()))
    with open(file, 'w') as out:
        out.write(text + '---\n' + '\n'.join(lines) + '\n')
