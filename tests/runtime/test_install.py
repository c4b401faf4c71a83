#!/usr/bin/env python3
"""Installs a build, and uses it as others would: examples built by CMake and by pkg-config, the Python package, and the
symbols that the library shows, which are those that its headers declare.

    tests/runtime/test_install.py BUILD"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHOWN_FOR_OTHERS = {"sc_main", "TEGULA_0.1"}  # libsystemc.so asks for the first, the second names the version


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def declared(prefix):
    """Functions that installed headers declare."""
    names = set()
    for path in glob.glob(prefix + "/include/tegula/**/*.h", recursive=True):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        names |= set(re.findall(r"\b(tg_[a-z0-9_]+)\(", text))
    return names


def check_symbols(library, prefix):
    lines = [line.split() for line in run("nm", "-D", "--defined-only", library).splitlines()]
    shown = {line[-1].split("@")[0] for line in lines if line[-2] not in "tdrb"} - SHOWN_FOR_OTHERS  # those are local
    if len(shown) < 30:
        sys.exit(f"{library} shows {len(shown)} functions only")
    if shown - declared(prefix):
        sys.exit(f"{library} shows what no header declares: {' '.join(sorted(shown - declared(prefix)))}")
    with open(prefix + "/include/tegula/runtime/tegula.h", encoding="utf-8") as file:
        missing = set(re.findall(r"^[a-z].*?\b(tg_[a-z0-9_]+)\(", file.read(), flags=re.M)) - shown
    missing = {name for name in missing if not name.endswith(("_log", "_callback"))}
    if missing:
        sys.exit(f"{library} lacks {' '.join(sorted(missing))}")
    return len(shown)


def check_choice(said, command, model):
    """The example's table is the command's, its comparison that of the rows."""
    decoder = json.JSONDecoder()
    table, at = decoder.raw_decode(said)
    difference = json.loads(said[at:])
    words = ["sweep", model, "--arch", "tiny", "--policy", "mp0", "--policy", "mp1", "--json"]
    wanted = json.loads(run(command, *words))
    if table["rows"] != wanted["rows"]:
        sys.exit(f"the library's sweep is {table}, the command's {wanted}")
    cycles = [row["cycles"] for row in table["rows"] if row["tiling_accum"] == "fp32"]
    if [difference["before"]["cycles"], difference["now"]["cycles"]] != cycles or difference["equal_bits"]:
        sys.exit(f"the comparison says {difference}, the sweep {cycles}")


def main():
    build, folder = os.path.abspath(sys.argv[1]), tempfile.mkdtemp()
    try:
        prefix, model = folder + "/prefix", folder + "/gemm.onnx"
        run("cmake", "--install", build, "--prefix", prefix)
        library = glob.glob(prefix + "/lib/**/libtegula.so", recursive=True)[0]
        count = check_symbols(library, prefix)
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library)}
        run(prefix + "/bin/tegula", "zoo", "gemm", "-q", "--m", "9", "--n", "7", "--k", "5", "-o", model)

        examples = os.path.abspath("docs/examples/c")
        run("cmake", "-S", examples, "-B", folder + "/examples", "-DCMAKE_PREFIX_PATH=" + prefix)
        run("cmake", "--build", folder + "/examples")
        said = run(folder + "/examples/run", model)
        if not re.search(r"\d+ cycles in FP32, \d+ with BF16", said):
            sys.exit(f"run says {said}")
        if '"equal_bits": true' not in run(folder + "/examples/verify", model):
            sys.exit("verify does not find the engines equal")
        check_choice(run(folder + "/examples/choose", model), prefix + "/bin/tegula", model)

        flags = run("pkg-config", "--cflags", "--libs", "tegula",
                    env={**environment, "PKG_CONFIG_PATH": os.path.dirname(library) + "/pkgconfig"}).split()
        run("cc", "-std=c17", "-Wall", "-Werror", examples + "/run.c", *flags, "-lm", "-o", folder + "/by_pkg_config")
        if run(folder + "/by_pkg_config", model, env=environment) != said:
            sys.exit("the example built by pkg-config says otherwise")

        package = os.path.dirname(glob.glob(prefix + "/**/tegula/__init__.py", recursive=True)[0])
        if not subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, check=False).returncode:
            run(sys.executable, "-c", "import sys, tegula; program = tegula.compile(sys.argv[1], arch='tiny'); "
                "program.run(random_inputs=1); tegula.sweep(sys.argv[1], arch='tiny', policy='mp0')", model,
                env={**os.environ, "PYTHONPATH": os.path.dirname(package)})
        print(f"{count} functions shown, all declared; examples and the Python package work")
    finally:
        shutil.rmtree(folder)


main()
