"""The C library through ctypes: structures and functions of runtime/tegula.h."""

import ctypes as c
import os

try:
    from tegula import _location
except ImportError:  # a copy of the package alone
    _location = None

STATUS = {1: "mismatch", 2: "invalid", 3: "fault", 4: "cancelled"}


class Error(Exception):
    """One line, as the command prints it. `status` is the command's exit status: 1 a comparison failed, 2 bad usage or
    bad input, 3 the simulated machine faulted, 4 cancelled."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


class Diag(c.Structure):
    _fields_ = [("message", c.c_char * 1024)]


class TensorInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("rank", c.c_int), ("dims", c.c_int64 * 8), ("count", c.c_int64),
                ("dtype", c.c_int), ("integer", c.c_bool), ("rows", c.c_int64), ("limit", c.c_int64)]


LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_bool, c.c_char_p)
CAST = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p, c.c_char_p, c.c_int, c.POINTER(c.c_char_p))
PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_uint32, c.c_uint32)


class CompileOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("arch", c.c_char_p), ("settings", c.POINTER(c.c_char_p)),
                ("setting_count", c.c_size_t)]
    _fields_ += [(name, c.c_char_p) for name in
                 ("dram", "preset", "disable_graphamp", "amp", "amp_dtype", "amp_out_dtype", "hmp_opt_level", "bf16_ops",
                  "fp32_ops", "autocast_device", "matmul_precision", "mixed_precision_ops", "cast_rules")]
    _fields_ += [("cast_callback", CAST), ("cast_user", c.c_void_p), ("log", LOG), ("log_user", c.c_void_p),
                 ("verbose", c.c_bool), ("inference", c.c_bool), ("tiling_accum", c.c_char_p), ("k_tile", c.c_int),
                 ("seed", c.c_uint64), ("any_tiling", c.c_uint64), ("energy", c.c_char_p), ("opt", c.c_char_p),
                 ("conv_precision", c.c_char_p), ("attention", c.c_char_p)]


class RunOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("engine", c.c_char_p), ("threads", c.c_int), ("timing_only", c.c_bool),
                ("record_events", c.c_bool), ("max_cycles", c.c_uint64), ("wave_file", c.c_char_p),
                ("profile", c.c_bool), ("steady", c.c_bool), ("trace_file", c.c_char_p), ("trace_begin", c.c_uint64),
                ("trace_end", c.c_uint64), ("progress", PROGRESS), ("progress_user", c.c_void_p)]


class VerifyOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("engines", c.c_char_p), ("threads", c.c_int), ("max_cycles", c.c_uint64)]


def _open():
    path = os.environ.get("TEGULA_LIBRARY") or getattr(_location, "LIBRARY", None) or "libtegula.so.0"
    try:
        return c.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}; TEGULA_LIBRARY may name libtegula.so") from None


library = _open()
_session, _text, _diag = c.c_void_p, c.c_char_p, c.POINTER(Diag)
_PROTOTYPES = {
    "tg_version": (_text, []),
    "tg_dtype_name": (_text, [c.c_int]),
    "tg_dtype_from_name": (c.c_int, [_text]),
    "tg_session_load": (c.c_int, [_text, c.POINTER(_session), _diag]),
    "tg_session_load_memory": (c.c_int, [c.c_char_p, c.c_size_t, _text, c.POINTER(_session), _diag]),
    "tg_session_close": (None, [_session]),
    "tg_session_bind_dim": (c.c_int, [_session, _text, c.c_int64, _diag]),
    "tg_session_bind_batch": (c.c_int, [_session, c.c_int64, _diag]),
    "tg_session_bind_shape": (c.c_int, [_session, _text, c.c_int, c.POINTER(c.c_int64), _diag]),
    "tg_session_bind_constant": (c.c_int, [_session, _text, c.c_int, c.POINTER(c.c_int64), c.c_int, c.c_void_p, _diag]),
    "tg_session_compile": (c.c_int, [_session, c.POINTER(CompileOptions), _diag]),
    "tg_session_is_compiled": (c.c_bool, [_session]),
    "tg_session_save": (c.c_int, [_session, _text, _diag]),
    "tg_session_input_count": (c.c_int, [_session]),
    "tg_session_output_count": (c.c_int, [_session]),
    "tg_session_input": (c.POINTER(TensorInfo), [_session, c.c_int]),
    "tg_session_output": (c.POINTER(TensorInfo), [_session, c.c_int]),
    "tg_session_set_elements": (c.c_int, [_session, _text, c.c_int, c.POINTER(c.c_int64), c.c_int, c.c_void_p, _diag]),
    "tg_session_random_inputs": (None, [_session, c.c_uint64]),
    "tg_session_run": (c.c_int, [_session, c.POINTER(RunOptions), _diag]),
    "tg_session_output_elements": (c.c_void_p, [_session, c.c_int]),
    "tg_session_measure_cpu": (c.c_int, [_session, c.c_bool, c.c_int, _diag]),
    "tg_session_verify": (c.c_int, [_session, c.POINTER(VerifyOptions), c.POINTER(c.c_void_p), _diag]),
    "tg_session_compare": (c.c_int, [_session, _session, c.POINTER(c.c_void_p), _diag]),
    "tg_session_report_json": (c.c_void_p, [_session]),
    "tg_session_write_report": (c.c_int, [_session, _text, _diag]),
}
for _name, (_result, _arguments) in _PROTOTYPES.items():
    _function = getattr(library, _name)
    _function.restype, _function.argtypes = _result, _arguments
_libc = c.CDLL(None)
_libc.free.argtypes = [c.c_void_p]


def call(name, *arguments):
    """Calls a function whose last parameter is the diag; raises Error."""
    diag = Diag()
    status = getattr(library, name)(*arguments, c.byref(diag))
    if status:
        raise Error(diag.message.decode(errors="replace"), status)


def take_text(pointer):
    """A text that the library allocated."""
    try:
        return c.string_at(pointer).decode()
    finally:
        _libc.free(pointer)


def encode(value):
    return None if value is None else os.fsencode(value)


def version():
    return library.tg_version().decode()
