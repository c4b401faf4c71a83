"""What compile() takes as a model, as bytes of an ONNX file."""

import io
import os
import re

from tegula import _regions
from tegula._library import Error


def model_bytes(model, example_inputs=None, batch=None):
    """(bytes or None for a file, its name, a pattern of the nodes in disable_graphamp regions or None)

    batch: of a module, leaves the first dimension of the inputs open, unless the examples have that size; 0: in any case."""
    if isinstance(model, (str, os.PathLike)):
        return None, os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), "model", None
    if hasattr(model, "SerializeToString"):
        return model.SerializeToString(), "model", None
    if hasattr(model, "forward") and hasattr(model, "state_dict"):
        return _export(model, example_inputs, batch)
    raise TypeError(f"a model is a path, bytes, an onnx.ModelProto or a torch.nn.Module, not {type(model).__name__}")


def _export(module, example_inputs, batch):
    import torch
    if example_inputs is None:
        raise Error("a PyTorch module needs example_inputs, of the shapes that it is compiled for")
    if not isinstance(example_inputs, (tuple, list)):
        example_inputs = (example_inputs,)
    file = io.BytesIO()
    was_training = module.training
    module.eval()
    try:
        names = _names(module, len(example_inputs))
        with torch.no_grad(), _regions.exporting():
            torch.onnx.export(module, tuple(example_inputs), file, opset_version=17, input_names=names,
                              dynamic_axes=_open_batch(names, example_inputs, batch))
    except torch.onnx.errors.OnnxExporterError as error:
        raise Error(f"{type(module).__name__}: {str(error).splitlines()[0]}") from None
    finally:
        module.train(was_training)
    return file.getvalue(), type(module).__name__, _off_limits(file.getvalue())


def _open_batch(names, example_inputs, batch):
    """{name: {0: "batch"}} of the inputs, where the examples have another batch."""
    sizes = {value.shape[0] for value in example_inputs if getattr(value, "ndim", 0)}
    if batch is None or sizes == {batch}:
        return None
    return {name: {0: "batch"} for name, value in zip(names, example_inputs) if getattr(value, "ndim", 0)}


def _names(module, count):
    """The names of forward()'s parameters."""
    import inspect
    names = [name for name, parameter in inspect.signature(module.forward).parameters.items()
             if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return names[:count] if len(names) >= count else [f"input{i}" for i in range(count)]


def _off_limits(data):
    """A pattern of the node names that lie in a region, which the exporter made of scopes."""
    return re.escape(_regions.SCOPE) if _regions.SCOPE.encode() in data else None
