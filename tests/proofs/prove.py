#!/usr/bin/python3
"""Proves the assertions of a harness in this folder for all time, by property-directed reachability (Yosys, then ABC's pdr).

    prove.py HARNESS.sv RTL PACKAGE SCRATCH           proved, or exit status 1
    prove.py --planted HARNESS.sv RTL PACKAGE SCRATCH each planted defect of the harness must be refuted

A harness names the modules that it needs, and its defects:  // modules: NAME...   // planted: FILE.sv: OLD => NEW
and perhaps parameters of the array that are smaller than those of PACKAGE:  // constants: NAME=VALUE...
PACKAGE is the generated tegula_pkg.sv. Exit status 77: Yosys or ABC is missing.
"""
import os
import re
import shutil
import subprocess
import sys

SECONDS = 300  # of one proof, on a machine that does other things beside


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def constants_of(package):
    return dict(re.findall(r"^ *(?:localparam .* )?(\w+) = (\d+(?:'\w+)?)[,; ]", package, re.MULTILINE))


def balanced(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "[") - (text[end] == "]")
        if not depth:
            return end + 1
    return len(text)


def flattened(text):
    """Packed arrays of two and more dimensions become vectors, which is what they are: x[i][j] is x[i*width+j]."""
    dimension = r"\[([^][]*):0\]"
    found = list(re.finditer(rf"logic\s+({dimension}(?:\s*{dimension})+)\s*([\w\s,]+?)\s*(?=[;)=]|//|,\s*(?:input|output|logic)|,\s*$)",
                             text, re.MULTILINE))
    for match in sorted(found, key=lambda one: -len(one.group(1))):  # a longer one may hold a shorter one
        sizes = [f"({high}+1)" for high in re.findall(dimension, match.group(1))]
        text = text.replace(match.group(1), "[" + "*".join(sizes) + "-1:0]")
        for name in re.findall(r"\w+", match.group(match.lastindex)):
            text = indexed(text, name, sizes)
    return text


def indexed(text, name, sizes):
    out, at = "", 0
    for match in re.finditer(rf"(?<![\w.]){name}(?=\[)", text):
        if match.start() < at:
            continue
        out += text[at:match.end()]
        at, base, taken, last = match.end(), "0", 0, None
        while taken < len(sizes) and text[at:at + 1] == "[":
            end = balanced(text, at)
            index = indexed(text[at + 1:end - 1], name, sizes)
            width = "*".join(sizes[taken + 1:]) or "1"
            at, taken = end, taken + 1
            if ":" in index:
                last = index
                break
            base += f"+({index})*{width}"
        if last and "+:" in last:
            low, size = last.split("+:")
            out += f"[{base}+({low})+:{size}]"
        elif last:
            high, low = last.split(":")
            out += f"[{base}+({high}):{base}+({low})]"
        else:
            rest = "*".join(sizes[taken:])
            out += f"[{base}+:{rest}]" if rest else f"[{base}]"
    return out + text[at:]


# What Yosys does not read becomes what it reads; each is a renaming, and a module keeps its meaning.
def prepared(text, constants, arrays=True):
    text = re.sub(r"tegula_pkg::(\w+)", lambda match: constants.get(match.group(1), match.group(0)), text)
    # An array of packed structs at a port: its bits, and its fields by their places.
    text = text.replace("fabric_pkg::lane_request_t [N-1:0] request_i", "logic [N*12-1:0] request_i")
    text = re.sub(r"request_i\[i\]\.farthest", "request_i[i*12+7+:5]", text)
    text = re.sub(r"request_i\[i\]\.len", "request_i[i*12+:7]", text)
    text = text.replace('`include "assert.svh"', "")
    return flattened(text) if arrays else text


def sources(harness, rtl, package, edit):
    text = read(harness)
    constants = constants_of(read(package))
    constants.update(re.findall(r"(\w+)=(\d+)", "".join(re.findall(r"^// constants: (.*)$", text, re.MULTILINE))))
    parts = [read(package), prepared(read(os.path.join(rtl, "fabric_pkg.sv")), constants, False)]
    macros = read(os.path.join(rtl, "assert.svh"))
    for name in re.search(r"^// modules: (.*)$", text, re.MULTILINE).group(1).split():
        module = read(os.path.join(rtl, name + ".sv"))
        if edit and edit[0] == name + ".sv":
            if module.count(edit[1]) < 1:
                sys.exit(f"{harness}: {edit[0]} has no \"{edit[1]}\"")
            module = module.replace(edit[1], edit[2], 1)
        parts.append(prepared(module, constants))
    # Severities are for simulators; labels are to be unique.
    whole = macros.replace(' else $error("%m does not hold")', "") + "\n".join(parts) + prepared(text, constants)
    return re.sub(r"\w+ : assert", "assert", whole)


def prove(name, text, scratch):
    """True: proved; False: refuted; None: neither, in time."""
    os.makedirs(scratch, exist_ok=True)
    stem = os.path.join(scratch, name)
    with open(stem + ".sv", "w", encoding="utf-8") as file:
        file.write(text)
    script = (f"read_verilog -sv -formal -DTEGULA_ASSERT {stem}.sv; hierarchy -check -top {name}; proc; flatten; "
              f"memory_map; async2sync; opt -full; techmap; opt -full; dffunmap; simplemap; opt_clean; aigmap; "
              f"setundef -undriven -anyseq; opt_clean; write_aiger -zinit {stem}.aig")
    done = subprocess.run(["yosys", "-q", "-p", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: Yosys: {done.stdout[-3000:]}")
    try:
        done = subprocess.run(["berkeley-abc", "-c", f"read {stem}.aig; fold; orpos; strash; print_stats; pdr -T {SECONDS}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS + 60, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    outcome = {"Property proved": True, "was asserted in frame": False, "Networks are UNDECIDED": None}
    said = [value for key, value in outcome.items() if key in done.stdout]
    lines = [line for line in done.stdout.splitlines() if "Property" in line or "asserted" in line or "Invariant F" in line]
    return (said[0] if said else None), " ".join(lines)


def main():
    arguments = sys.argv[1:]
    planted = arguments[0] == "--planted"
    harness, rtl, package, scratch = arguments[1:] if planted else arguments
    for tool in ("yosys", "berkeley-abc"):
        if not shutil.which(tool):
            print(f"{tool} is missing: apt install yosys berkeley-abc")
            return 77
    name = os.path.basename(harness).removesuffix(".sv")
    if not planted:
        outcome, said = prove(name, sources(harness, rtl, package, None), scratch)
        print(f"{name}: {'proved' if outcome else 'REFUTED' if outcome is False else 'not decided'}. {said}")
        return 0 if outcome else 1
    bad = 0
    edits = re.findall(r"^// planted: (\S+): (.*?) => (.*)$", read(harness), re.MULTILINE)
    for number, edit in enumerate(edits):
        outcome, said = prove(name, sources(harness, rtl, package, edit), os.path.join(scratch, f"planted{number}"))
        print(f"{name}, {edit[0]} with \"{edit[2]}\": {'refuted' if outcome is False else 'NOT REFUTED'}. {said}")
        bad += outcome is not False
    return 1 if bad or not edits else 0


if __name__ == "__main__":
    sys.exit(main())
