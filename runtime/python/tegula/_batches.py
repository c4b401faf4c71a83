"""What batch fits, and what it gains."""

from tegula._commands import run_command
from tegula._library import Error


def batch_sweep(model, *, memory=None, policies=("mp0", "mp1", "mp4"), most=1024, example_inputs=None, **options):
    """Batches of 1, 2, 4 and so on under each policy, up to the largest that fits: rows of {policy, batch, cycles,
    samples_per_second, peak_device_bytes, largest}, where `largest` marks the last one of a policy. None under a policy: not even a
    batch of 1 fits.

    model: as of tegula.compile, with a first dimension that it leaves open. memory: bytes of device memory that a run may have
    at its peak, inputs, outputs and weights included; None: as many as the array's. most: no larger batch is tried. policies:
    presets. Other options are those of `tegula run`. Runs are timed without values."""
    if most < 1:
        raise Error(f"most: {most} is no batch")
    rows = []
    for policy in policies:
        def row(batch, policy=policy):
            """None: it does not fit."""
            chosen = {**options, "graphamp_preset": policy, "batch": batch, "timing_only": True, "no_cpu_reference": True}
            try:
                report = run_command("run", model, chosen, example_inputs)
            except Error as error:
                if batch > 1 and "does not fit in the device memory" in str(error):
                    return None
                raise
            if memory is not None and report["peak_device_bytes"] > memory:
                return None
            return {"policy": policy, "batch": batch, **{key: report[key] for key in ("cycles", "samples_per_second", "peak_device_bytes")}}
        found, batch, over = [], 1, most + 1
        while batch <= most:
            fits = row(batch)
            if not fits:
                over = batch
                break
            found.append(fits)
            batch *= 2
        while found and over - found[-1]["batch"] > 1:  # between the last that fits and the first that does not
            middle = (over + found[-1]["batch"]) // 2
            fits = row(middle)
            if fits:
                found.append(fits)
            else:
                over = middle
        rows += [{**each, "largest": each is found[-1]} for each in found]
    return rows
