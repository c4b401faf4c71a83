"""The commands that answer with JSON, run as they are: what they print is what comes back."""

import json
import os
import shutil
import subprocess
import tempfile

import numpy

from tegula import _regions
from tegula._library import Error, _location
from tegula._model import model_bytes


def _command():
    path = os.environ.get("TEGULA_COMMAND") or getattr(_location, "COMMAND", None)
    path = path if path and os.path.exists(path) else shutil.which("tegula")
    if not path:
        raise Error("the command `tegula` is not installed; TEGULA_COMMAND may name it")
    return path


def _flags(options, folder):
    """{"loss_scale": "dynamic", "set": {"rows": 2}, "fp32_params": True} as the command's flags."""
    flags = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, dict):
            for key, each in value.items():
                flags += [flag, f"{key}={_text(each, f'{name}.{key}', folder)}"]
        elif isinstance(value, (list, tuple)) and name in ("policy", "set", "data", "input", "arch"):
            for i, each in enumerate(value):
                flags += [flag, _text(each, f"{name}{i}", folder)]
        else:
            flags += [flag, _text(value, name, folder)]
    return flags


def _text(value, name, folder):
    """Arrays go as files."""
    if isinstance(value, numpy.ndarray):
        path = os.path.join(folder, name.replace("/", "_") + ".npy")
        numpy.save(path, value)
        return path
    if isinstance(value, (list, tuple)):
        return ",".join(str(each) for each in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


_PRECISION = ("graphamp_preset", "amp", "matmul_precision", "conv_precision", "enable_mixed_precision_ops", "cast_rules")


def with_policy(options):
    """The options under the enclosing policy, which holds where they name no precision, as in compile()."""
    given = _regions.policy_options()
    given.pop("verbose", None)  # decisions are compile's to tell
    return options if any(options.get(name) for name in _PRECISION) else {**given, **options}


def run_command(command, model, options, example_inputs=None, allowed=(0,)):
    """`tegula COMMAND MODEL FLAGS --json`; its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        batch = options.get("batch") if command == "train" else 0 if options.get("batch") or options.get("batch_sweep") else None
        data, path, off_limits = model_bytes(model, example_inputs, batch)
        if data is not None:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(data)
        if off_limits and not options.get("disable_graphamp"):
            options = {**options, "disable_graphamp": off_limits}
        done = subprocess.run([_command(), command, path, *_flags(options, folder), "--json"], capture_output=True,
                              text=True, check=False)
    if done.returncode not in allowed:
        lines = done.stderr.strip().splitlines() or [f"tegula {command} ended with {done.returncode}"]
        raise Error(lines[-1].removeprefix("tegula: "), done.returncode)
    return json.loads(done.stdout)


def sweep(model, example_inputs=None, **options):
    """Every precision policy and accumulation: the object of `tegula sweep --json`, with `rows`."""
    return run_command("sweep", model, options, example_inputs)


def verify(model, example_inputs=None, **options):
    """Do the engines agree in every bit and cycle? The object of `tegula verify --json`."""
    return run_command("verify", model, with_policy(options), example_inputs, allowed=(0, 1))


def tune(model, example_inputs=None, **options):
    """The fastest precision of each operator within an error: the object of `tegula tune --json`."""
    return run_command("tune", model, options, example_inputs)


def numerics(model, example_inputs=None, **options):
    """Where values go wrong: the object of `tegula numerics --json`, with `results` and `first_broken`.

    policy=["mp1", "mp4"]: of each, in one list of `results`, and `first_broken` in each of `policies`."""
    return run_command("numerics", model, options if options.get("policy") else with_policy(options), example_inputs)


class GradScaler:
    """The dynamic loss scale of `train`, with the names and defaults of torch.cuda.amp.GradScaler; the command says what it
    refuses. train(..., loss_scale=GradScaler(init_scale=1024.0))."""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self.options = {"init_scale": init_scale, "growth_factor": growth_factor, "backoff_factor": backoff_factor,
                        "growth_interval": growth_interval} if enabled else {}


def train(model, example_inputs=None, *, data=None, labels=None, loss_scale=None, **options):
    """Trains on the array: the report of `tegula train --json`; `loss` has the first and the last one.

    data, labels: arrays or files; of several inputs {name: array}. loss_scale: a number, "dynamic" or a GradScaler. Other
    options are the command's: loss="cross_entropy", optimizer="adam", lr=0.1, batch=32, steps=100, save="trained.onnx",
    arch="tiny"."""
    if isinstance(loss_scale, GradScaler):
        options, loss_scale = {**loss_scale.options, **options}, None
    options = {"data": data, "labels": labels, "loss_scale": loss_scale, **options}
    return run_command("train", model, with_policy(options), example_inputs)
