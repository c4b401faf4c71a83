"""RAF's listings: a BERT layer with and without AutoCast, and a rule of one's own for the bias.

Prints milliseconds and peak MB of a run at the array's clock, and how the custom rule changes the result."""
import numpy
import torch

import tegula
from tegula import raf


class Layer(torch.nn.TransformerEncoderLayer):
    """A layer of BERT. Its fused form of inference has no ONNX, so it stays in training, without dropout."""

    def __init__(self, width=768, heads=12):
        super().__init__(width, heads, 4 * width, dropout=0, activation="gelu", batch_first=True)

    def train(self, mode=True):
        return super().train(True)


torch.manual_seed(0)
layer = Layer()
x = torch.randn(1, 128, 768)
plain = tegula.compile(layer, example_inputs=x)
amp = raf.autocast(layer, x)
for name, program in (("FP32", plain), ("AMP", amp)):
    program.run(random_inputs=1, timing_only=True)
    print(f"{name} (ms): {1e3 * program.report['seconds']:.3f}, (MBs): {program.report['peak_device_bytes'] / 1e6:.1f}")


def never_cast_bias_add(args, ret_type, amp_dtype):
    """Custom bias add casting rule."""
    return [raf.PrimType("float32"), raf.PrimType("float32")]


linear, rows = torch.nn.Sequential(torch.nn.Linear(64, 32)), torch.randn(4, 8, 64)
exact = linear(rows).detach().numpy()
followed = raf.autocast(linear, rows)
with raf.CustomTypeHint({"raf.op.bias_add": never_cast_bias_add}):
    kept = raf.autocast(linear, rows)
for name, program in (("bias as RAF casts it", followed), ("bias in FP32", kept)):
    result, = program.run({program.inputs[0].name: rows.numpy()}).values()
    print(f"{name}: error {numpy.sqrt(((result - exact) ** 2).mean()):.1e}")
