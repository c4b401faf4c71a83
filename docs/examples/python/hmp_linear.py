"""Habana's listing: a linear layer of 1024 to 512 on 64 rows, trained for 500 steps with mixed precision.

Prints the loss before the first step and before the last, in FP32 and under HMP."""
import torch

import tegula
from tegula import hmp

N, D_in, D_out = 64, 1024, 512
torch.manual_seed(0)
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)
model = torch.nn.Linear(D_in, D_out)


def train():
    # The update runs in FP32 under every policy: what `with hmp.disable_casts():` around optimizer.step() asks for.
    return tegula.train(model, example_inputs=x, data=x.numpy(), labels=y.numpy(), batch=N, steps=500, loss="mse", optimizer="sgd", lr=1e-3)


plain = train()
hmp.convert(bf16_file_path="", fp32_file_path="", isVerbose=False)
mixed = train()
for name, report in (("FP32", plain), ("HMP", mixed)):
    print(f"{name:4} loss {report['loss']['first']:.4f} to {report['loss']['last']:.4f}, "
          f"{report['cycles'] / plain['cycles']:.2f} of the cycles, {report['peak_device_bytes'] / plain['peak_device_bytes']:.2f} of the memory")
