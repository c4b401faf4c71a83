"""What batch fits, and what it gains."""

from tegula._commands import run_command

_KEPT = ("policy", "batch", "cycles", "samples_per_second", "peak_device_bytes", "largest")


def batch_sweep(model, example_inputs=None, *, memory=None, policies=("mp0", "mp1", "mp4"), most=1024, **options):
    """Batches of 1, 2, 4 and so on under each policy, up to the largest that fits: rows of {policy, batch, cycles,
    samples_per_second, peak_device_bytes, largest}, where `largest` marks the last one of a policy. None under a policy: not even a
    batch of 1 fits.

    model: as of tegula.compile, with a first dimension that it leaves open. memory: bytes of device memory that a run may have
    at its peak, inputs, outputs and weights included, or a text as "64M"; None: as many as the array's. most: no larger batch is
    tried. policies: names of `tegula sweep`. Other options are those of `tegula sweep --batch-sweep`. Runs are timed without
    values."""
    memory = memory if memory is None or isinstance(memory, str) else str(int(memory))
    chosen = {**options, "batch_sweep": True, "memory": memory, "max_batch": most, "policy": list(policies)}
    rows = run_command("sweep", model, chosen, example_inputs)["rows"]
    return [{key: row[key] for key in _KEPT} for row in rows if "refused" not in row]
