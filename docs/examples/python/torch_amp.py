"""PyTorch's listings, as NVIDIA's and AMD's documents have them: which operators autocast casts, TF32, and a training loop with
a dynamic loss scale.

Prints the types of a product and a sum, errors of products by precision, and losses with and without AMP."""
import numpy
import torch

import tegula


class Test(torch.nn.Module):
    """Test type casting of torch.autocast"""

    def forward(self, x, y):
        return x @ y.T, x + y  # eligible for autocast, not eligible


torch.manual_seed(0)
x, y = torch.rand(1024, 1), torch.rand(1024, 1)
program = tegula.compile(Test(), example_inputs=(x, y), amp="autocast", amp_dtype="fp16", amp_out_dtype="fp16")
program.run({"x": x.numpy(), "y": y.numpy()}, engine="functional")
print("Multiplication: %s, addition: %s" % tuple(tensor.dtype for tensor in program.outputs))

# Full FP32, TensorFloat32 (of convolutions apart: conv_precision), BF16 operands.
a, b = torch.randn(64, 256), torch.randn(256, 64)
product = type("Product", (torch.nn.Module,), {"forward": lambda self, a, b: a @ b})()
for precision in ("highest", "high", "medium"):
    program = tegula.compile(product, example_inputs=(a, b), matmul_precision=precision)
    result, = program.run({"a": a.numpy(), "b": b.numpy()}).values()
    exact = a.double().numpy() @ b.double().numpy()
    print(f"{precision:8} error {numpy.abs(result - exact).max():.0e}")

# for data, label in data_iter: the loop, with autocast around the forward pass and a scaler around the backward pass.
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
data = torch.randn(256, 16)
label = data[:, :4].argmax(1)
for name, how in (("FP32", {}), ("AMP", {"amp": "autocast", "amp_dtype": "fp16", "loss_scale": tegula.GradScaler()})):
    report = tegula.train(model, example_inputs=data[:32], data=data.numpy(), labels=label.numpy(), batch=32, steps=200, lr=0.1,
                          loss="cross_entropy", **how)
    print(f"{name}: loss {report['loss']['first']:.3f} to {report['loss']['last']:.3f}")
