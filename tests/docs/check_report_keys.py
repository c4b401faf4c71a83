#!/usr/bin/env python3
"""Every key of what the command prints as JSON, and of the YAML that it reads, stands in the page that is its reference.

    tests/docs/check_report_keys.py TEGULA

Runs, trainings and suites with all that adds keys; of suites, those that the line about an unknown one lists. A key is looked for in backquotes. Keys that are names of the model, of
parameters or of units are not ours to list."""

import json
import os
import re
import subprocess
import sys
import tempfile

# Objects whose keys are names of something else: tensors, parameters of the array (arrays.md), options, units and causes.
NAMES = {"inputs", "outputs", "arch", "precision", "error_vs_fp32", "error_vs_golden", "units", "training", "by_kind", "actions", "busy", "output_digests"}
MEASURES = {"error_vs_fp32", "error_vs_golden"}  # ... but what lies in these is ours


def keys_of(value, found, inside=""):
    if isinstance(value, list):
        for one in value:
            keys_of(one, found, inside)
    elif isinstance(value, dict):
        for key, one in value.items():
            if inside not in NAMES:
                found.add(key)
            if inside not in NAMES or inside in MEASURES:
                keys_of(one, found, key if inside not in MEASURES else "")
    return found


def words_of(page):
    with open(page, encoding="utf-8") as file:
        quoted = re.findall(r"`([^`]+)`", re.sub(r"^ *```.*?^ *```", "", file.read(), flags=re.S | re.M))
    return {word for text in quoted for word in re.split(r"[^A-Za-z0-9_]+", text)}


def main():
    command, demo = os.path.abspath(sys.argv[1]), os.path.abspath("runtime/demo")
    pages = {}
    with tempfile.TemporaryDirectory() as folder:
        def tegula(*words):
            done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"tegula {' '.join(words)}: {done.stderr}")
            return json.loads(done.stdout) if "--json" in words else None

        def report(*words):
            tegula(*words, "-q", "--arch", "tiny", "--report", "r.json")
            with open(folder + "/r.json", encoding="utf-8") as file:
                return json.load(file)

        tegula("zoo", "gemm", "--m", "8", "--n", "8", "--k", "8", "--constant-b", "-q", "-o", "g.onnx")
        tegula("run", "g.onnx", "--arch", "tiny", "-q", "--no-cpu-reference", "--output-dir", "out")
        out = next(name for name in os.listdir(folder + "/out"))
        run = report("run", "g.onnx", "--graphamp-preset", "mp1", "--profile", "--advise", "--dram", "ddr4-3200",
                     "--golden", f"{out[:-4]}=out/{out}")
        training = report("train", demo + "/digits.onnx", "--data", demo + "/digits.npy", "--labels", demo + "/labels.npy", "--steps", "1",
                          "--eval-data", demo + "/digits.npy", "--eval-labels", demo + "/labels.npy", "--profile")
        numerics = tegula("numerics", "g.onnx", "--json")
        with open(folder + "/s.yaml", "w", encoding="utf-8") as file:
            file.write("models: [g.onnx]\nflags: {tiny: --arch tiny}\ntags: quick\nbounds: {max_abs: 0, engines_equal: [functional, systemc]}\n"
                       "overrides: [{cases: ['*'], bounds: {max_device_bytes: 1}, expected_failure: it needs more}]\n")
        tegula("regress", "s.yaml", "-q", "--json")
        suite = tegula("regress", "s.yaml", "--json", "--timings")
        trends = tegula("regress", "s.yaml", "--json", "--trends")
        pages = {"docs/report.md": keys_of(run, set()), "docs/report.md and docs/training.md": keys_of(training, set()),
                 "docs/precision-errors.md": keys_of(numerics, set()) - keys_of(run, set()),
                 "docs/regression-suites.md and docs/report.md and docs/training.md": keys_of(suite, set()) | {k for k in keys_of(trends, set()) if "/" not in k}}
        pages["docs/instruction-set.md and docs/arrays.md"] = set(run["arch"]) - {"name"}
        pages["docs/energy.md and docs/instruction-set.md"] = set(run["energy"]["actions"]) | set(run["energy"]["by_kind"])
        for text in ("zz: 1", "models: [{zz: 1}]", "models: [g.onnx]\nflags: {a: {zz: 1}}", "models: [g.onnx]\noverrides: [{zz: 1}]", "bounds: {zz: 1}"):
            with open(folder + "/u.yaml", "w", encoding="utf-8") as file:
                file.write(text)
            said = subprocess.run([command, "regress", "u.yaml"], cwd=folder, capture_output=True, text=True, check=False).stderr
            known = re.search(r'unknown key "zz".*?it has ([a-z_, ]+(?: or [a-z_]+)?[a-z_, ]*)$', said.strip())
            pages["docs/regression-suites.md"] = pages.get("docs/regression-suites.md", set()) | set(re.findall("[a-z_]+", known[1])) - {"or"}
    wrong = [f"{names}: {key}" for names, keys in pages.items()
             for key in sorted(keys - set().union(*(words_of(page) for page in names.split(" and "))))]
    if wrong:
        sys.exit("keys that are not documented:\n" + "\n".join(wrong))
    print(f"{sum(len(keys) for keys in pages.values())} keys are documented")


main()
