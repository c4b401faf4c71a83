"""Tegula from Python: neural networks on a reconfigurable BF16/FP32 tile array, with real values and exact cycles.

    import tegula
    program = tegula.compile("model.onnx", arch="edge", preset="mp1")
    outputs = program.run({"x": x})            # numpy arrays by name
    program.report["cycles"], program.report["sol"]
    tegula.sweep("model.onnx")                 # every precision policy, as `tegula sweep --json`

A model is a path, the bytes of an ONNX model or of a compiled program, an onnx.ModelProto, or a PyTorch module
with `example_inputs`. Whatever fails raises tegula.Error with the one line that the command prints.
"""

from tegula._batches import batch_sweep
from tegula._library import Error, version
from tegula._commands import GradScaler, numerics, sweep, train, tune, verify
from tegula._program import Program, Tensor, compile
from tegula._regions import autocast, disable_graphamp

__version__ = version()
__all__ = ["Error", "GradScaler", "Program", "Tensor", "autocast", "batch_sweep", "compile", "disable_graphamp", "hmp", "numerics", "raf", "sweep",
           "train", "tune", "verify", "version"]

from tegula import hmp, raf  # noqa: E402  (they use what stands above)
