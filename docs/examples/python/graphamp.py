"""SambaFlow's listings: two products under mp0, mp1 and mp4, and a region that keeps what its author chose.

Prints, for each preset, cycles beside mp0 and the largest error against PyTorch."""
import torch
import torch.nn.functional as F

import tegula


class Model(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        matmul_1 = torch.matmul(a, b)
        act_1 = F.relu(matmul_1)
        matmul_2 = torch.matmul(act_1, c)
        return F.relu(matmul_2)


class Region(torch.nn.Module):
    """The second product, and the relu behind it, in BF16 throughout, whatever the preset."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        matmul_1 = torch.matmul(a, b)
        act_1 = F.relu(matmul_1)
        with tegula.disable_graphamp():
            matmul_2 = torch.matmul(act_1.bfloat16(), c.bfloat16())
            return F.relu(matmul_2)


torch.manual_seed(0)
operands = tuple(torch.randn(256, 256) / 16 for _ in range(3))
inputs = dict(zip("abc", operands))
exact = Model()(*operands).numpy()
first = None
for name, model, preset in (("mp0", Model(), "mp0"), ("mp1", Model(), "mp1"), ("mp4", Model(), "mp4"), ("mp1, region", Region(), "mp1")):
    program = tegula.compile(model, example_inputs=operands, preset=preset)
    (output, result), = program.run(inputs).items()
    if program.outputs[0].dtype == "bf16":  # its bits
        result = (result.astype("uint32") << 16).view("float32")
    cycles = program.report["cycles"]
    first = first or cycles
    print(f"{name:12} {program.outputs[0].dtype:5} {cycles / first:5.2f} of the cycles, error {abs(result - exact).max():.1e}")
