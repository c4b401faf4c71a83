"""Models compiled for an array, and their runs."""

import collections
import contextlib
import ctypes as c
import functools
import json
import os
import sys
import threading
import warnings

import numpy

from tegula import _regions
from tegula._library import (CAST, CompileOptions, Error, LOG, PROGRESS, RunOptions, VerifyOptions, call, encode, library,
                             take_text)
from tegula._model import model_bytes

Tensor = collections.namedtuple("Tensor", "name shape dtype")

_PRECISION = ("disable_graphamp", "amp", "amp_dtype", "amp_out_dtype", "hmp_opt_level", "bf16_ops", "fp32_ops",
              "autocast_device", "matmul_precision", "conv_precision", "mixed_precision_ops", "cast_rules", "tiling_accum",
              "attention")
_POLICY = ("amp", "matmul_precision", "conv_precision", "mixed_precision_ops", "cast_rules")  # ... of these, what names one
_NUMPY = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16", "bool": "bool", "i8": "int8",
          "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
          "u64": "uint64", "i4": "int8", "i2": "int8", "u4": "uint8", "u2": "uint8", "f8e4m3fn": "uint8", "f8e4m3fnuz": "uint8",
          "f8e5m2": "uint8", "f8e5m2fnuz": "uint8", "f8e8m0": "uint8", "f4e2m1": "uint8"}


def compile(model, example_inputs=None, *, arch="edge", dram=None, energy=None, preset=None, settings=None, batch=None, shapes=None,
            seed=1, k_tile=0, opt=None, inference=False, constants=None, cast_callback=None, verbose=None, **precision):
    """Compiles a model for an array and returns a Program.

    model: path, bytes, onnx.ModelProto, or a torch.nn.Module with example_inputs (a tensor or a tuple of them).
    arch: "tiny", "edge", "rack" or a YAML file; settings: single parameters of it, {"port_bytes": 32}.
    dram: a memory device, "lpddr5-6400" or a YAML file; None: the array's.
    energy: what actions cost, "7nm" or a YAML file; None: the array's (report["energy"]).
    batch: the first dimension where the model leaves it open, as a module's export then does; shapes: of inputs whose sizes are open, by name.
    constants: arrays, by name of inputs that are constants from here on: what decides shapes or branches, and integers beyond
    2^24, which are exact then.
    opt: "o0" makes a section of each operator, "o1" fuses them, "o3", the default, does all there is; of results no bit depends on it.
    cast_callback(node, op, dtypes): asked about each operator before the policy; a rule as text, "fp32,keep -> bf16", or None,
    which leaves it to the policy. dtypes: of the operands, "f32", "bf16" and so on, None where there is none.
    verbose: each decision of the policy goes to standard error; warnings are Python's in any case.
    preset, and disable_graphamp, amp, amp_dtype, tiling_accum and the like: precision, as the command's options are
    called; None of them: what the enclosing `with tegula.autocast()` says, or FP32."""
    unknown = set(precision) - set(_PRECISION)
    if unknown:
        raise TypeError(f"compile() has no option {', '.join(sorted(unknown))}")
    given = _regions.policy_options()
    talks = given.pop("verbose", False)
    talks = talks if verbose is None else verbose
    if preset is not None or any(precision.get(name) is not None for name in _POLICY):
        given = {}
    options = {"dram": dram, "energy": energy, **given, **{name: value for name, value in precision.items() if value is not None}}
    if preset is not None:
        options["preset"] = preset
    data, name, off_limits = model_bytes(model, example_inputs, None if batch is None else 0)
    if off_limits:  # nodes of regions that keep their precision
        own = options.get("disable_graphamp")
        options["disable_graphamp"] = f"({own})|{off_limits}" if own else off_limits
    program = Program(data, name)
    try:
        program._compile(options, arch, settings or {}, batch, shapes or {}, constants or {}, seed, k_tile, opt, inference, cast_callback, talks)
    except Error:
        program.close()
        raise
    return program


def _say(_user, warning, line):
    """A line of a compilation."""
    line = line.decode(errors="replace")
    if warning:
        warnings.warn(line, stacklevel=5)
    else:
        print(line, file=sys.stderr)


class _CastRules:
    """A callback of Python as one of C; what it raises is raised by check()."""

    def __init__(self, callback):
        self.callback, self.failure, self.text = callback, None, None
        self.function = CAST(self._ask)

    def _ask(self, _user, node, name, count, dtypes):
        if self.failure:
            return None
        try:
            rule = self.callback(node.decode(errors="surrogateescape"), name.decode(), [d and d.decode() for d in dtypes[:count]])
            if rule is not None and not isinstance(rule, str):
                raise Error(f"cast_callback gives {rule!r} for {name.decode()}, which is no text")
            self.text = c.create_string_buffer(rule.encode()) if rule is not None else None
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure, self.text = failure, None
        return c.addressof(self.text) if self.text else None

    def check(self):
        if self.failure:
            raise self.failure


def _alone(method):
    """A method that holds its program: a session belongs to one thread at a time, so others wait. What a callback calls is in the
    thread that runs, and the library says what it thinks of it."""

    @functools.wraps(method)
    def held(self, *arguments, **options):
        with self._lock:
            return method(self, *arguments, **options)
    return held


class Program:
    """A model compiled for an array. Made by tegula.compile; of a program's file by Program.load. Threads may share it: a call waits
    until that of another thread has ended."""

    def __new__(cls, *_, **__):
        self = super().__new__(cls)
        self._lock = threading.RLock()
        return self

    def __init__(self, data, name):
        self._session = c.c_void_p()
        self._has_cpu = False
        if data is None:
            call("tg_session_load", encode(name), c.byref(self._session))
        else:
            call("tg_session_load_memory", data, len(data), encode(name), c.byref(self._session))

    @classmethod
    def load(cls, path):
        """A program that was saved."""
        program = cls(None, os.fspath(path))
        if not library.tg_session_is_compiled(program._session):
            program.close()
            raise Error(f"{path}: is a model, not a program: tegula.compile takes it")
        return program

    @_alone
    def close(self):
        """Gives its memory back; also done when it is collected."""
        if getattr(self, "_session", None):
            library.tg_session_close(self._session)
            self._session = None

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @_alone
    def _compile(self, options, arch, settings, batch, shapes, constants, seed, k_tile, opt, inference, cast_callback, verbose):
        if library.tg_session_is_compiled(self._session):
            raise Error("a compiled program cannot be compiled again")
        if batch is not None:
            call("tg_session_bind_batch", self._session, batch)
        for name, shape in shapes.items():
            call("tg_session_bind_shape", self._session, encode(name), len(shape), (c.c_int64 * len(shape))(*shape))
        for name, value in constants.items():
            self._give("tg_session_bind_constant", name, value)
        texts = [f"{key}={value}".encode() for key, value in settings.items()]
        chosen = CompileOptions(size=c.sizeof(CompileOptions), arch=encode(arch), setting_count=len(texts), seed=seed,
                                k_tile=k_tile, opt=encode(opt), inference=inference, verbose=verbose, log=LOG(_say))
        chosen.settings = (c.c_char_p * len(texts))(*texts)
        for name, value in options.items():
            setattr(chosen, name, encode(value))
        rules = _CastRules(cast_callback)
        if cast_callback:
            chosen.cast_callback = rules.function
        try:
            call("tg_session_compile", self._session, c.byref(chosen))
        finally:
            rules.check()

    @_alone
    def _tensors(self, kind):
        count = getattr(library, f"tg_session_{kind}_count")(self._session)
        infos = [getattr(library, f"tg_session_{kind}")(self._session, i).contents for i in range(count)]
        return [Tensor(info.name.decode(errors="surrogateescape"), tuple(info.dims[:info.rank]),
                       library.tg_dtype_name(info.dtype).decode()) for info in infos]

    @property
    def inputs(self):
        """Name, shape and element type of each."""
        return self._tensors("input")

    @property
    def outputs(self):
        return self._tensors("output")

    def _give(self, function, name, value):
        """Elements of an input, in the type that they have."""
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            if str(value.dtype) == "torch.bfloat16":  # which numpy has not; the same numbers
                value = value.float()
        data = numpy.asarray(value, order="C")
        data = data.astype(data.dtype.newbyteorder("="), copy=False)
        dtype = next((ours for ours, theirs in _NUMPY.items() if theirs == data.dtype.name and ours != "bf16"), None)
        if dtype is None:  # long doubles, objects
            data, dtype = data.astype("float64"), "f64"
        shape = (c.c_int64 * data.ndim)(*data.shape)
        call(function, self._session, encode(name), data.ndim, shape, library.tg_dtype_from_name(dtype.encode()), data.ctypes.data)

    def _by_name(self, inputs):
        """An array is the first input, a tuple or list of them the inputs in their order, as a module takes them."""
        if inputs is None or hasattr(inputs, "items"):
            return inputs or {}
        given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        names = [tensor.name for tensor in self.inputs]
        if len(given) > len(names):
            raise Error(f"{len(given)} inputs are given, the program has {len(names)}: {', '.join(names)}")
        return dict(zip(names, given))

    def _set_inputs(self, inputs, random_inputs):
        for name, value in self._by_name(inputs).items():
            self._give("tg_session_set_elements", name, value)
        if random_inputs is not None:
            library.tg_session_random_inputs(self._session, random_inputs)

    @_alone
    def run(self, inputs=None, *, engine="systemc", threads=0, timing_only=False, max_cycles=0, profile=False,
            trace=None, random_inputs=None, measure_cpu=False, progress=None):
        """Runs once and returns the outputs by name, as numpy arrays of the model's types (bfloat16 as uint16).

        inputs: arrays or PyTorch tensors by name, or in the inputs' order, one or a tuple; those of the last run stay. random_inputs: a seed, for inputs that are not set.
        engine: "functional", "systemc" or "rtl". timing_only: cycles without values; the result is then empty.
        measure_cpu: also FP32 on this host's CPU, and the errors against it, for the report.
        progress(section, count): called before each section; an exception that it raises, or Ctrl-C, ends the run."""
        raised = []

        def proceed(_, section, count):
            try:
                if progress:
                    progress(section, count)
                return True
            except BaseException as error:  # pylint: disable=broad-except
                raised.append(error)
                return False

        self._set_inputs(inputs, random_inputs)
        options = RunOptions(size=c.sizeof(RunOptions), engine=encode(engine), threads=threads,
                             timing_only=timing_only, max_cycles=max_cycles, profile=profile, trace_file=encode(trace),
                             progress=PROGRESS(proceed))
        try:
            call("tg_session_run", self._session, c.byref(options))
        except Error:
            if raised:
                raise raised[0] from None
            raise
        if measure_cpu:
            call("tg_session_measure_cpu", self._session, True, threads)
        return {} if timing_only else self._read_outputs()

    def _read_outputs(self):
        values = {}
        for i, tensor in enumerate(self.outputs):
            dtype = numpy.dtype(_NUMPY[tensor.dtype])
            count = int(numpy.prod(tensor.shape, dtype=numpy.int64))
            at = library.tg_session_output_elements(self._session, i)
            raw = c.string_at(at, count * dtype.itemsize) if at and count else b""
            values[tensor.name] = numpy.frombuffer(raw, dtype).reshape(tensor.shape).copy()
        return values

    @property
    @_alone
    def report(self):
        """The report of the last run: the keys of docs/report.md."""
        text = library.tg_session_report_json(self._session)
        if not text:
            raise Error("there is no report before a run")
        return json.loads(take_text(text))

    @_alone
    def write_report(self, path):
        """As .json or .html."""
        call("tg_session_write_report", self._session, encode(path))

    @_alone
    def save(self, path):
        """As a .tgb file, for Program.load and the command."""
        call("tg_session_save", self._session, encode(path))

    @_alone
    def verify(self, *, engines=None, threads=0, max_cycles=0):
        """Do the engines agree in every bit and cycle, with the inputs that are set? What `tegula verify --json`
        prints; `first_difference` is None if all are equal."""
        text, options = c.c_void_p(), VerifyOptions(size=c.sizeof(VerifyOptions), engines=encode(engines),
                                                    threads=threads, max_cycles=max_cycles)
        try:
            call("tg_session_verify", self._session, c.byref(options), c.byref(text))
        except Error as error:
            if error.status != 1:
                raise
        return json.loads(take_text(text))

    def compare(self, before):
        """The last run beside that of another program, of this model or of another version of it: where the cycles went
        ("text", "sections", "speedup") and what the outputs differ by ("equal_bits", "outputs"), as tg_session_compare."""
        text = c.c_void_p()
        with contextlib.ExitStack() as held:
            for program in sorted((before, self), key=id):  # in one order, whoever compares with whom
                held.enter_context(program._lock)
            call("tg_session_compare", before._session, self._session, c.byref(text))
            return json.loads(take_text(text))
