"""Mixed precision as RAF's documents spell it: raf.autocast(model, args), and custom rules,
`with raf.CustomTypeHint({"raf.op.bias_add": rule}):` around it."""

import collections
import threading

from tegula import _names
from tegula._library import Error
from tegula._program import compile as _compile

PrimType = collections.namedtuple("PrimType", "dtype")
PrimType.__doc__ = """What a rule asks of an operand: "float32", "float16", "bfloat16", or None, which leaves it as it comes."""

_Argument = collections.namedtuple("_Argument", "checked_type")
_state = threading.local()
_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i32": "int32", "i64": "int64"}
_NEEDS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", None: "keep"}


def check_dtype(checked_type, dtype):
    """Is an operand of this type?"""
    return checked_type.dtype == dtype


def gen_hint_helper(checked_type, dtype):
    """PrimType(dtype) for an operand of floats, else PrimType(None)."""
    return PrimType(dtype if (checked_type.dtype or "").startswith(("float", "bfloat")) else None)


class CustomTypeHint:
    """Rules that win over RAF's for the operators that are named, "raf.op.multiply": function(args, ret_type, amp_dtype), which
    gives a PrimType for each operand. args[i].checked_type.dtype: its type as it arrives; None for one that there is not. ret_type:
    None, since the result follows from the rule. Further operands have the last one's. Operators are those of ONNX: what RAF
    calls dense, matmul, batch_matmul or bias_add is a rule for each Gemm, MatMul or Add."""

    def __init__(self, hints):
        self.rules = {}
        for name, rule in hints.items():
            short = name.removeprefix("raf.op.")
            operators = ["Add"] if short == "bias_add" else _names.RAF.get(short)
            if not operators:
                raise Error(f'RAF has no operator "{name}" that a model can have')
            self.rules.update((operator, rule) for operator in operators)

    def __enter__(self):
        _state.hints = getattr(_state, "hints", []) + [self.rules]
        return self

    def __exit__(self, *_):
        _state.hints = _state.hints[:-1]


def _callback(amp_dtype):
    rules = {operator: rule for hints in getattr(_state, "hints", []) for operator, rule in hints.items()}

    def decide(_node, operator, dtypes):
        if operator not in rules:
            return None
        args = [_Argument(PrimType(_TYPES.get(dtype, dtype))) for dtype in dtypes]
        hints = rules[operator](args, None, amp_dtype)
        if not isinstance(hints, (list, tuple)) or not hints:
            raise Error(f"a rule for {operator} gives {hints!r}, which is no list of PrimTypes")
        for hint in hints:
            if not isinstance(hint, PrimType) or hint.dtype not in _NEEDS:
                raise Error(f"a rule for {operator} gives {hint!r}, which is no PrimType of float32, float16, bfloat16 or None")
        return ",".join(_NEEDS[hint.dtype] for hint in hints[:max(len(dtypes), 1)])
    return decide if rules else None


def autocast(model, args=None, amp_dtype="bfloat16", **options):
    """Compiles a model under `--amp raf` and returns a Program. args: example inputs of a torch.nn.Module; amp_dtype: "bfloat16"
    or "float16" (RAF's own default); options: those of tegula.compile."""
    short = {"bfloat16": "bf16", "float16": "fp16"}
    if amp_dtype not in short:
        raise Error(f'amp_dtype "{amp_dtype}" is none of bfloat16, float16')
    return _compile(model, example_inputs=args, amp="raf", amp_dtype=short[amp_dtype], cast_callback=_callback(amp_dtype), **options)
