"""The Python package used wrongly, at random: no call may end the process by a signal, nor leave a file torn.

    test_misuse.py [RUNS [SEED]]      each run is a process of its own, with a few drawn calls
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

CHILD = r"""
import gc, os, random, sys, threading
import numpy, tegula

draw = random.Random(int(sys.argv[2]))
gemm, tgb = sys.argv[1] + "/gemm.onnx", sys.argv[1] + "/gemm.tgb"
JUNK = [None, 0, -1, 2**31, 2**64, 2**200, 1.5, float("nan"), "", "x", "\udcff", "a\0b", b"", b"\0" * 64, (), [], [[]], {}, {"A": 1}, {1: 2},
        object(), int, numpy.zeros(0), numpy.zeros((2, 3)), numpy.zeros((9, 5), "float32"), numpy.zeros((1,) * 32),
        numpy.array(["a"]), numpy.array([object()]), numpy.array("2020", "M8[D]"), numpy.zeros(3, [("f", "f4"), ("g", "i8")]),
        numpy.zeros((9, 5))[::-1, ::2], numpy.zeros((9, 5), ">f4"), numpy.zeros((9, 5), "complex64"), numpy.broadcast_to(numpy.float32(1), (1 << 20, 1 << 20)),
        lambda *_: None, gemm, tgb, "/dev/null", "/", open(gemm, "rb"), range(3), True]
junk = lambda: draw.choice(JUNK)
OPTIONS = ["arch", "dram", "energy", "preset", "settings", "batch", "shapes", "seed", "k_tile", "opt", "inference", "constants", "cast_callback",
           "verbose", "amp", "amp_dtype", "cast_rules", "tiling_accum", "attention", "disable_graphamp", "example_inputs", "bf16_ops"]
programs = []

def good():
    return tegula.compile(gemm, arch="tiny")

def some():
    if not programs:
        programs.append(good())
    return draw.choice(programs)

def compile_junk():
    given = {name: junk() for name in draw.sample(OPTIONS, draw.randrange(1, 4))}
    programs.append(tegula.compile(draw.choice([gemm, gemm, gemm, tgb, junk()]), **{"arch": "tiny", **given}))

def ends_within():
    program = good()
    run = dict(progress=lambda *_: draw.choice([program.close, program.run, lambda: program.save(sys.argv[1] + "/own"), gc.collect, sys.exit])())
    draw.choice([lambda: program.run(random_inputs=1, **run), lambda: tegula.compile(gemm, arch="tiny", cast_callback=lambda *_: program.close())])()

def threads():
    program, calls = some(), [lambda p: p.run(random_inputs=1), lambda p: p.close(), lambda p: p.report, lambda p: p.outputs, lambda p: p.verify(),
                              lambda p: p.run({"A": numpy.ones((9, 5), "f4")}, engine="functional"), lambda p: p.save(sys.argv[1] + "/own.tgb")]
    def work(call):
        for _ in range(draw.randrange(1, 4)):
            try:
                call(program)
            except Exception as error:
                print(type(error).__name__, error)
    all_of = [threading.Thread(target=work, args=(draw.choice(calls),)) for _ in range(4)]
    [one.start() for one in all_of]
    [one.join() for one in all_of]

def raw():
    program = object.__new__(tegula.Program)
    draw.choice([program.close, program.run, program.save, program.verify, lambda: program.inputs, lambda: program.__init__(junk(), junk())])()

def forked():
    program = some()
    child = os.fork()
    if not child:
        try:
            program.run(random_inputs=1, engine="functional")
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))

CALLS = [compile_junk, compile_junk, compile_junk, ends_within, threads, threads, raw, forked,
         lambda: some().run(junk()), lambda: some().run({"A": junk(), "B": junk()}), lambda: some().run({junk(): junk()}),
         lambda: some().run(**{draw.choice(["engine", "threads", "max_cycles", "trace", "random_inputs", "progress", "timing_only"]): junk()}),
         lambda: some().run(random_inputs=1, engine=draw.choice(["functional", "systemc", "rtl"])), lambda: some().run(random_inputs=1, measure_cpu=True),
         lambda: some().close(), lambda: some().inputs, lambda: some().outputs, lambda: some().report, lambda: some().save(junk()),
         lambda: some().write_report(junk()), lambda: some().verify(engines=junk()), lambda: some().compare(some()), lambda: some().compare(junk()),
         lambda: tegula.Program.load(junk()), lambda: tegula.Program(junk(), junk()), lambda: some()._compile({}, "tiny", {}, None, {}, {}, 1, 0, None, False, None, False),
         lambda: setattr(some(), "_session", draw.choice([None, 0])), lambda: tegula.autocast(junk()).__enter__(), lambda: some().__init__(None, junk()),
         lambda: tegula.sweep(junk(), arch=junk()), lambda: tegula.raf.__dict__, lambda: programs.clear()]
for _ in range(draw.randrange(2, 9)):
    call = draw.choice(CALLS)
    try:
        call()
    except (Exception, SystemExit) as error:
        print(type(error).__name__, str(error)[:200].encode("unicode_escape"))
"""

SAVE = r"""
import sys, tegula
with tegula.compile(sys.argv[1] + "/gemm.onnx", arch="tiny") as program:
    print("ready", flush=True)
    while True:
        program.save(sys.argv[1] + "/saved.tgb")
"""


def misused(folder, seed):
    child = subprocess.run([sys.executable, "-c", CHILD, folder, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False, cwd=folder)
    if child.returncode < 0 or child.returncode not in (0, 1):
        print(f"seed {seed}: status {child.returncode}: {child.stdout.decode(errors='replace')[-1500:]}")
    return child.returncode != 0


def killed_while_saving(folder, whole, seed):
    """The file is the one before or whole, which are the same bytes."""
    with subprocess.Popen([sys.executable, "-c", SAVE, folder], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        time.sleep(random.Random(seed).random() / 5)
        child.send_signal(signal.SIGKILL)
    path = os.path.join(folder, "saved.tgb")
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        torn = file.read() != whole
    if torn:
        print(f"seed {seed}: saved.tgb is torn")
    return torn


def main():
    runs, seed = (int(text) for text in (sys.argv[1:] + ["12", "1"][len(sys.argv) - 1:])[:2])
    import tegula  # pylint: disable=import-outside-toplevel
    from tegula._library import _location  # pylint: disable=import-outside-toplevel
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([_location.COMMAND, "zoo", "gemm", "-q", "-o", folder + "/gemm.onnx", "--m", "9", "--n", "7", "--k", "5"], check=True)
        with tegula.compile(folder + "/gemm.onnx", arch="tiny") as program:
            program.save(folder + "/gemm.tgb")
        with open(folder + "/gemm.tgb", "rb") as file:
            whole = file.read()
        for number in range(seed, seed + runs):
            bad += misused(folder, number)
            if number % 4 == 0:
                bad += killed_while_saving(folder, whole, number)
    print(f"{runs} misuses, seed {seed}: {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
