"""Precision by context: `with tegula.autocast():` around compile() chooses the policy, `with
tegula.disable_graphamp():` in a module's forward marks what keeps its precision. Both are decorators, too."""

import contextlib
import threading

SCOPE = "tegula_disable_graphamp"
_state = threading.local()


def _stack():
    if not hasattr(_state, "policies"):
        _state.policies = []
    return _state.policies


def policy_options():
    """Options of the innermost enclosing policy, {} without one."""
    stack = _stack()
    return dict(stack[-1]) if stack else {}


class _Policy(contextlib.ContextDecorator):
    def __init__(self, **options):
        self.options = options

    def __enter__(self):
        _stack().append(self.options)
        return self

    def __exit__(self, *_):
        _stack().pop()


class autocast(_Policy):  # pylint: disable=invalid-name
    """What is compiled inside runs under PyTorch's autocast lists: `--amp autocast`.

    device_type: "cuda", "cpu" or "hpu", whose lists differ; dtype: "bf16" or "fp16", or torch's; enabled=False: FP32."""

    def __init__(self, device_type="cuda", dtype="bf16", enabled=True):
        named = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "bfloat16": "bf16", "float16": "fp16"}
        dtype = named.get(str(dtype), str(dtype))
        super().__init__(**({"amp": "autocast", "autocast_device": device_type, "amp_dtype": dtype} if enabled else {}))


class disable_graphamp(contextlib.ContextDecorator):  # pylint: disable=invalid-name
    """Operators of a forward() inside keep the precision that the model gives them, whatever the policy: the nodes of
    the export carry the region in their names, and compile() sees it. Outside of an export it does nothing."""

    def __enter__(self):
        self._tracing = None
        if getattr(_state, "exporting", False):
            import torch
            self._tracing = torch._C._get_tracing_state()
            if self._tracing is not None:
                self._tracing.push_scope(f"{SCOPE}::{SCOPE}")
        return self

    def __exit__(self, *_):
        if self._tracing is not None:
            self._tracing.pop_scope()


@contextlib.contextmanager
def exporting():
    _state.exporting = True
    try:
        yield
    finally:
        _state.exporting = False
