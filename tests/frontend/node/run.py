#!/usr/bin/python3
"""Runs ONNX's backend node tests through the command and compares what comes out.

usage: run.py [--sample N] [--jobs N] [--filter TEXT] [--policy PRESET] [--engine NAME] [--json FILE] [--table FILE | --page FILE] [--list] [--all] TEGULA FOLDER...

A FOLDER holds tests as ONNX lays them out: NAME/model.onnx, NAME/test_data_set_0/{input,output}_N.pb (Debian: package
libonnx-testdata). Each is run by `tegula run` on the functional engine and is one of

  pass     every output within tolerance, of the declared type and shape
  refused  exit status 2 with one line; counted by what the line says
  foreign  its inputs or outputs are no tensors of numbers (sequences, optionals, maps, texts)
  random   the operator draws random numbers: nothing to compare with, or other numbers than NumPy's
  mistaken the test is known to be wrong (MISTAKEN)
           (a folder with refused.txt must be refused, and the line hold its text: then it passes)
  wrong    anything else: other values, a crash, a fault, a line too many

Tolerance: integers and bools equal; floats as ONNX's own runner has it, 1e-3 relative and 1e-7 absolute, of FP16 and BF16 a
unit in the last place of theirs. With --policy mp1 to mp4 of each output of floats the error as a whole, its norm over that of what is
expected, is at most COARSE, but for tests that CLOSE names; types, shapes and refusals as without. --engine NAME: another one, on the array tiny. --sample N takes every Nth test; --list prints one line a test. Exits 1 if anything is wrong (with --all: does not pass), 77 if
there is nothing to run or no Python package to read it with. --table FILE writes the page of operators, --page FILE compares it:
wholly after all tests of its suite, else what the tests show must stand in it.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

PAGE = """# ONNX's node tests

Printed by `tests/frontend/node/run.py --table docs/node-tests.md` from a run of the 1,072 tests of Debian's libonnx-testdata (ONNX 1.12) on
the functional engine; do not edit. Tests of one operator whose inputs and outputs are tensors of numbers; what does not pass is refused, none is wrong. What
operators compute, and their gradients: [operators.md](operators.md).

Unit: what ran in the tests that pass: mx multiplies matrices, vx computes elements and rows, AGCU moves; "compile time" where the result is known then.
Datatypes: of operands and results of these tests.
Gradient: yes, by a rule; composed, by those of the operators that it is made of; none, a model that trains through it is refused; -, what it gives has none.

"""
OPERATORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/operators.md")
OLDER = {"Upsample": "Resize"}
SUITE = 1072  # tests of the page
SECONDS = 600  # of a processor, for one command: of the RTL some take more than one minute
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Dropout"}
# Tests that are wrong themselves: what their numbers need is not in their node.
MISTAKEN = {"test_adam_multiple": "its epsilon of 1e-2 is missing from the node",
            "test_dft_inverse": "its zeros are recorded with rounding errors of FP32 above 1e-7",
            "test_dft_inverse_opset19": "its zeros are recorded with rounding errors of FP32 above 1e-7"}
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
         12: "uint32", 13: "uint64", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4",
         22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}
NUMBERS = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8", 16: "V2",
           17: "V1", 18: "V1", 19: "V1", 20: "V1", 21: "u1", 22: "i1", 23: "V1", 24: "V1", 25: "u1", 26: "i1"}
NARROW = {17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2}  # bits of what NumPy has no type for
COARSE = 0.04  # of formats with 8 bits, of which a test goes through a few
# Tests of numbers near 10,000 that 8 bits cannot tell from each other, whose softmax depends on nothing else.
CLOSE = re.compile(r"test_(log)?softmax_large_number(_expanded(_ver18)?)?$")


class Foreign(Exception):
    """What a test holds is no tensor of numbers."""


def narrow(tensor, bits):
    """Codes, a byte each; of int4 and int2 with their sign extended."""
    data = tensor.raw_data or numpy.array(list(tensor.int32_data), "u1").tobytes()
    codes = numpy.frombuffer(data, "u1")[:, None] >> numpy.arange(0, 8, bits, dtype="u1") & ((1 << bits) - 1)
    codes = codes.ravel()[:numpy.prod(list(tensor.dims), dtype=int)].reshape(list(tensor.dims))
    if tensor.data_type in (22, 26):
        codes = numpy.where(codes >> (bits - 1), codes.astype(int) - (1 << bits), codes) & 255
    return codes


def load(path, value_info):
    """A tensor as (array, element type of ONNX); bfloat16 as its bits, 'V2' as the command has it, floats of 8 and 4 bits 'V1'."""
    if value_info.type.WhichOneof("value") != "tensor_type":
        raise Foreign("no tensor")
    tensor = onnx.TensorProto()
    with open(path, "rb") as file:
        tensor.ParseFromString(file.read())
    element_type = value_info.type.tensor_type.elem_type
    if element_type not in NUMBERS:
        raise Foreign("element type %d" % element_type)
    if element_type == 16:  # some suites write its bits as uint16
        bits = tensor.raw_data or numpy.array(list(tensor.int32_data), "u2").tobytes()
        return numpy.frombuffer(bits, "V2").reshape(list(tensor.dims)), 16
    if element_type in NARROW:
        return narrow(tensor, NARROW[element_type]).astype("u1").view(NUMBERS[element_type]), element_type
    return numpy_helper.to_array(tensor), element_type


def widened(array):
    if array.dtype.kind == "V":
        return (array.view("u2").astype("u4") << 16).view("f4")
    return array


def whole_error(got, wanted):
    """Norm of the difference over that of what is expected, where that is finite; what is not must be so in both."""
    finite = numpy.isfinite(wanted)
    if (finite != numpy.isfinite(got)).any():
        return numpy.inf
    norm = numpy.linalg.norm(wanted[finite])
    return numpy.linalg.norm(got[finite] - wanted[finite]) / norm if norm else 0.0


def of_one_nan(codes, element_type):
    """The array has no sign of a NaN, nor its fraction: any is as good."""
    if element_type not in (17, 19):
        return codes
    return numpy.where((codes & 0x7f) > (0x7e if element_type == 17 else 0x7c), 0x7f, codes)


def difference(got, wanted, element_type, policy=None):
    """None, or what is wrong."""
    if got.dtype != numpy.dtype(NUMBERS[element_type]):
        return "element type %s for %s" % (got.dtype, NUMBERS[element_type])
    if got.shape != wanted.shape:
        return "shape %s for %s" % (got.shape, wanted.shape)
    if policy:
        error = whole_error(widened(got).astype("f8"), widened(wanted).astype("f8")) if element_type in (1, 10, 11, 16) else 0
        return "error %g as a whole" % error if error > COARSE else None
    if NUMBERS[element_type] == "V1":
        got, wanted = (of_one_nan(x.view("u1"), element_type) for x in (got, wanted))
    if element_type not in (1, 10, 11, 16):
        return None if (got == wanted).all() else "%d elements differ" % (got != wanted).sum()
    rtol = {10: 2e-3, 16: 1.6e-2}.get(element_type, 1e-3)
    a, b = widened(got).astype("f8"), widened(wanted).astype("f8")
    close = numpy.isclose(a, b, rtol, 1e-7 if element_type in (1, 11) else 1e-4, equal_nan=True)
    if close.all():
        return None
    worst = numpy.argmax(~close.ravel())
    return "%d of %d elements differ, %g for %g" % ((~close).sum(), close.size, a.ravel()[worst], b.ravel()[worst])


def reason_of(line):
    """A refusal without what differs from test to test."""
    line = re.sub(r'^tegula: (/[^:]*: )?', "", line)
    line = re.sub(r'^node ("[^"]*"|\d+) \(([\w.]+)\): ', r"\2: ", line)
    line = re.sub(r'"[^"]*\.npy"', "FILE", line)
    return re.sub(r"(?<![\w.])-?\d+(\.\d+)?", "N", line)


def outputs_written(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def compare(model, data, folder, policy):
    written = outputs_written(folder)
    for i, output in enumerate(model.graph.output):
        wanted, element_type = load(os.path.join(data, "output_%d.pb" % i), output)
        name = output.name + ".npy"
        if name not in written:
            return "no output %s" % name
        wrong = difference(numpy.load(os.path.join(folder, name)), wanted, element_type, policy)
        if wrong:
            return "%s: %s" % (output.name, wrong)
    return None


def operator_rows():
    """Of operators.md: {operator: (unit, gradient)}."""
    rows = {}
    with open(OPERATORS) as file:
        for line in file:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) >= 3 and re.match(r"([a-z]+\.)*[A-Z]\w*$", cells[0]):
                rows[cells[0]] = (cells[1], cells[-1] if len(cells) > 3 else "")
    return rows


def gradient_of(rows, operator):
    """Of one that tests pass; import knows operators that the table has not: constants, and older names."""
    name = OLDER.get(operator, operator)
    text = rows[name][1] if name in rows else "-"
    return "composed" if text.startswith("of what") else text if text in ("none", "-") else "yes"


def kernels_of(tegula, model, arguments):
    """Kernels of the program and the names of constants: of `inspect`, with more and more inputs as constants."""
    inputs = arguments[1::2]
    for constants in ([], [i for i in inputs if numpy.load(i.split("=", 1)[1]).dtype.kind in "iub"], inputs[1:], inputs):
        run = subprocess.run([tegula, "inspect", model] + [word for i in constants for word in ("--const", i)],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        if run.returncode == 0 and "on the host, behind the array" not in run.stdout:
            kernels = re.findall(r'^ +(\d+) .* section \d+: (\S+) "(.*)"$', run.stdout, re.M)
            return kernels, set(re.findall(r"^const %(\S+):", run.stdout, re.M))
    return [], set()


def units_of(tegula, model, arguments, rows):
    units = set()
    kernels, constants = kernels_of(tegula, model, arguments)
    for mx_cycles, operators, name in kernels:
        names = operators.split("+")
        if int(mx_cycles):
            units.add("mx")
        if names == ["Copy"]:
            units.add("compile time" if name in constants else "AGCU")
            continue
        own = {rows[n][0] if n in rows else "vx" for n in names}
        units |= {"vx" if unit == "mx" and not int(mx_cycles) else unit for unit in own if unit != "mx" or not int(mx_cycles)}
    return units


def run_in(tegula, test, folder, policy, engine, found=None):
    """(outcome, text) of one test; `found` gets its element types and, of a test that passes, units."""
    model = onnx.load(os.path.join(test, "model.onnx"))
    data = os.path.join(test, "test_data_set_0")
    constants = {tensor.name for tensor in model.graph.initializer}
    arguments, types = [], set()
    files = len([name for name in os.listdir(data) if name.startswith("input_")])
    for i, value in enumerate([v for v in model.graph.input if v.name not in constants or files == len(model.graph.input)]):
        if not os.path.exists(os.path.join(data, "input_%d.pb" % i)):
            continue  # too large to exist: the model is refused
        array, element_type = load(os.path.join(data, "input_%d.pb" % i), value)
        types.add(element_type)
        path = os.path.join(folder, "in_%d.npy" % i)
        numpy.save(path, array)
        arguments += ["--input", "%s=%s" % (value.name, path)]
    for i, value in enumerate(model.graph.output):
        types.add(load(os.path.join(data, "output_%d.pb" % i), value)[1])
    out = os.path.join(folder, "out")
    if policy:
        arguments += ["--graphamp-preset", policy]
    run = subprocess.run([tegula, "run", os.path.join(test, "model.onnx"), *engine, "--threads", "1", "-q", "--no-cpu-reference", "--output-dir", out] + arguments,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    lines = run.stderr.strip().split("\n")
    must_refuse = os.path.join(test, "refused.txt")
    if run.returncode == 2 and len(lines) == 1:
        return ("pass", "") if os.path.exists(must_refuse) and open(must_refuse).read() in lines[0] else ("refused", reason_of(lines[0]))
    if os.path.exists(must_refuse):
        return "wrong", "exit status %d, and not refused" % run.returncode
    if run.returncode == -signal.SIGXCPU:
        return "wrong", "%d seconds of a processor are over" % SECONDS
    if run.returncode:
        return "wrong", "exit status %d: %s" % (run.returncode, lines[0])
    wrong = compare(model, data, out, policy)
    if found is not None and not wrong:
        found["types"] = sorted(TYPES[t] for t in types)
        found["units"] = sorted(units_of(tegula, os.path.join(test, "model.onnx"), arguments, found.pop("rows")))
    return ("wrong", wrong) if wrong else ("pass", "")


def run_test(tegula, test, policy, engine, rows=None):
    model = onnx.load(os.path.join(test, "model.onnx"))
    operators = [node.op_type for node in model.graph.node]
    found = {"rows": rows} if rows and len(operators) == 1 else None
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome, text = run_in(tegula, test, folder, policy, engine, found)
        except Foreign as foreign:
            outcome, text = "foreign", str(foreign)
        except Exception as broken:  # what the test itself holds, but for a command that cannot be started
            failed = isinstance(broken, OSError) and broken.filename == tegula
            outcome, text = ("wrong", str(broken)) if failed else ("foreign", "unreadable: %s" % broken)
    name = os.path.basename(test)
    if outcome == "wrong" and name in MISTAKEN:
        outcome, text = "mistaken", MISTAKEN[name]
    if outcome == "wrong" and policy and CLOSE.match(name):
        outcome, text = "mistaken", "its numbers are too close for the policy"
    if outcome == "wrong" and RANDOM & set(operators):
        outcome = "random"
    found = found or {}
    return {"test": name, "operators": operators, "outcome": outcome, "text": text, "units": found.get("units", []),
            "types": found.get("types", []), "opset": max([o.version for o in model.opset_import if o.domain in ("", "ai.onnx")] or [0])}


def find_tests(folders, text):
    tests = []
    for folder in folders:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            test = os.path.join(folder, name)
            if text in name and os.path.exists(os.path.join(test, "model.onnx")) and os.path.isdir(test + "/test_data_set_0"):
                tests.append(test)
    return tests


def summary(results):
    counts = collections.Counter(r["outcome"] for r in results)
    tensors = len(results) - counts["foreign"]
    print("%d tests: %s; %.1f %% of %d with tensors pass"
          % (len(results), ", ".join("%d %s" % (n, k) for k, n in sorted(counts.items())), 100 * counts["pass"] / max(tensors, 1), tensors))
    reasons = collections.Counter(r["text"] for r in results if r["outcome"] == "refused")
    for reason, count in reasons.most_common():
        print("  %4d refused  %s" % (count, reason))
    for r in results:
        if r["outcome"] == "wrong":
            print("  WRONG %s (%s): %s" % (r["test"], ", ".join(r["operators"]), r["text"]))


def union(tests, key):
    return ", ".join(sorted({item for test in tests for item in test[key]}))


def table(results, operators):
    """By operator: opsets of its tests, how many pass of those with tensors, and with what."""
    rows = collections.defaultdict(list)
    for r in results:
        if r["outcome"] != "foreign" and len(r["operators"]) == 1:
            rows[r["operators"][0]].append(r)
    yield "| operator | opsets | pass | of | unit | datatypes | gradient |"
    yield "|---|---|---|---|---|---|---|"
    for name, tests in sorted(rows.items()):
        yield "| %s | %s | %d | %d | %s | %s | %s |" % (
            name, ", ".join(str(o) for o in sorted({t["opset"] for t in tests})), sum(t["outcome"] == "pass" for t in tests), len(tests),
            union(tests, "units"), union(tests, "types"), gradient_of(operators, name) if any(t["outcome"] == "pass" for t in tests) else "")


def differs_from(page, lines, complete):
    """What the tests found that does not stand in the page, a line each."""
    with open(page) as file:
        text = file.read()
    if complete:
        return [] if text == PAGE + "\n".join(lines) + "\n" else ["%s is not current: run.py --table writes it" % page]
    def cells_of(line):
        return [set(cell.strip(" ").split(", ")) - {""} for cell in line.split("|")[1:-1]]
    rows = {line.split("|")[1].strip(): cells_of(line) for line in text.split("\n") if line.startswith("| ")}
    wrong = []
    for line in lines[2:]:
        cells, row = cells_of(line), rows.get(line.split("|")[1].strip())
        stands = row and all(cells[i] <= row[i] for i in (1, 4, 5, 6)) and int(*cells[2]) <= int(*row[2])
        if not stands:
            wrong.append("%s has no such row: %s" % (page, line))
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][len("usage: "):])
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", default="")
    parser.add_argument("--policy")
    parser.add_argument("--engine")
    parser.add_argument("--json")
    parser.add_argument("--table")
    parser.add_argument("--page")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("tegula")
    parser.add_argument("folder", nargs="+")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))  # of each command, too
    tests = find_tests(options.folder, options.filter)[::options.sample]
    if not tests:
        print("skipped: no node tests in %s (Debian: libonnx-testdata)" % " ".join(options.folder))
        return 77
    engine = ["--engine", options.engine, "--arch", "tiny"] if options.engine else ["--engine", "functional"]
    rows = operator_rows() if options.table or options.page else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda test: run_test(options.tegula, test, options.policy, engine, rows), tests))
    if options.list:
        for r in results:
            print("%-8s %s  %s" % (r["outcome"], r["test"], r["text"]))
    summary(results)
    if options.table:
        with open(options.table, "w") as file:
            file.write(PAGE + "\n".join(table(results, rows)) + "\n")
    stale = []
    if options.page and len(find_tests(options.folder, "")) == SUITE:
        stale = differs_from(options.page, list(table(results, rows)), len(tests) == SUITE)
        print("\n".join(stale[:20]))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    must = {"pass"} if options.all else {"pass", "refused", "foreign", "random", "mistaken"}
    return 0 if {r["outcome"] for r in results} <= must and not stale else 1


if __name__ == "__main__":
    sys.exit(main())
