#!/usr/bin/python3
"""Proves the assertions of a harness in this folder for all time, by property-directed reachability (Yosys, then ABC's pdr).

    prove.py HARNESS.sv RTL GENERATED SCRATCH           proved, or exit status 1
    prove.py --planted HARNESS.sv RTL GENERATED SCRATCH each planted defect of the harness must be refuted
    prove.py --first   HARNESS.sv RTL GENERATED SCRATCH the first of them must
    prove.py --cases   HARNESS.sv RTL GENERATED SCRATCH proved in every case, where it has cases

A harness names the modules that it needs, and its defects:  // modules: NAME...   // planted: FILE.sv: OLD => NEW
and perhaps parameters of the array that are smaller than those of the preset:  // constants: NAME=VALUE...
"// products: narrow" has factors cut to the bits that they have; "// initial: zero" begins with zeros in every register.
"// bounded: N cycles" has it proved of the first N cycles only, where reachability decides nothing.
A harness that is proved case by case gives parameters of its module values:  // cases: NAME=VALUE,LOW..HIGH NAME=...
"// sample: ..." has those that are proved without --cases, and of which one has to refute each defect.
GENERATED has tegula_pkg.sv and decisions.sv. Exit status 77: Yosys or ABC is missing.
"""
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys

SECONDS = 300  # of processor time, of one proof: no verdict may come from what the machine does beside


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


def struct_fields(text):
    """Of the structs of a package: {"package::name": (bits, {field: (lowest bit, bits, its own struct or None)})}."""
    structs = {}
    package = re.search(r"package (\w+);", text).group(1)
    for body, name in re.findall(r"typedef struct packed \{(.*?)\} (\w+);", text, re.DOTALL):
        bits, fields = 0, {}
        for kind, dimensions, names in reversed(re.findall(r"^ *(\w+)(?: signed)? *((?:\[\d+:0\])*) *([\w, ]+);", body, re.MULTILINE)):
            size = 1 if kind == "logic" else structs[f"{package}::{kind}"][0]
            for high in re.findall(r"\[(\d+):0\]", dimensions):
                size *= int(high) + 1
            for field in reversed(re.findall(r"\w+", names)):
                fields[field] = (bits, size, None if kind == "logic" or dimensions else f"{package}::{kind}")
                bits += size
        structs[f"{package}::{name}"] = bits, fields
    return structs


def slices(text, name, low, kind, structs, indexed_by):
    """Fields of the variable `name`, a struct or a packed array of it (indexed_by its width, or 0), as slices of a vector."""
    out, at = "", 0
    follows = r"(?=\[)" if indexed_by else r"(?=\.)"
    for match in re.finditer(rf"(?<![\w.]){name}{follows}", text):
        if match.start() < at:
            continue
        end, base, size, inside = match.end(), low, indexed_by, kind
        if indexed_by:
            end = balanced(text, match.end())
            base = f"({text[match.end() + 1:end - 1]})*{indexed_by}"
        while inside and (field := re.match(r"\.(\w+)", text[end:])):
            first, size, inside = structs[inside][1][field.group(1)]
            base, end = f"{base}+{first}", end + field.end()
        if size != indexed_by and text[end:end + 1] == "[":  # a bit of the field
            bit_end = balanced(text, end)
            base, size, end = f"{base}+({text[end + 1:bit_end - 1]})", 1, bit_end
        out, at = out + text[at:match.end()] + f"[{base}+:{size}]", end
    return out + text[at:]


def without_struct_grids(text, structs):
    """Packed arrays of two and more dimensions of structs become arrays of vectors, and fields of their elements slices of these."""
    grids = r"(\w+::\w+_t) ((?:\[[^][]*:0\]){2,}) *([\w, ]+?)(?= *(?:;|\)|//|$|, *(?:input|output)))"
    for kind, dimensions, names in re.findall(grids, text, re.MULTILINE):
        text = text.replace(f"{kind} {dimensions}", f"logic {dimensions}[{structs[kind][0] - 1}:0]")
        for name in re.findall(r"\w+", names):
            index = r"\[[^][]*(?:\[[^][]*\][^][]*)*\]"
            for match in set(re.findall(rf"(?<![\w.])({name}(?:{index}){{{dimensions.count('[')}}})\.(\w+)", text)):
                low, size, _ = structs[kind][1][match[1]]
                text = re.sub(re.escape(f"{match[0]}.{match[1]}") + r"\b", lambda _, at=match[0], cut=f"[{low}+:{size}]": at + cut, text)
    return text


def without_struct_arrays(text, structs):
    """Packed arrays of structs, and structs that a block of a generate declares, become vectors."""
    arrays = r"(\w+::\w+_t) \[([^][]*):0\] *([\w, ]+?)(?= *(?:;|\)|//|$|, *(?:input|output)))"
    for kind, high, names in re.findall(arrays, text, re.MULTILINE):
        text = text.replace(f"{kind} [{high}:0]", f"logic [({high}+1)*{structs[kind][0]}-1:0]")
        for name in re.findall(r"\w+", names):
            text = slices(text, name, "0", kind, structs, structs[kind][0])
    for kind, names in re.findall(r"^ {4,}(\w+::\w+_t) ([\w, ]+);", text, re.MULTILINE):
        text = text.replace(f"    {kind} {names};", f"    logic [{structs[kind][0] - 1}:0] {names};")
        for name in re.findall(r"\w+", names):
            text = slices(text, name, "0", kind, structs, 0)
    return text


def without_structs(text):
    """Of a package: variables of its functions that are structs become vectors, and their fields slices."""
    for body, kind in re.findall(r"typedef struct packed \{(.*?)\} (\w+);", text, re.DOTALL):
        fields, low = {}, 0
        for high, name in reversed(re.findall(r"logic *(?:\[(\d+):0\])? *(\w+);", body)):
            fields[name] = (low, int(high or 0) + 1)
            low += fields[name][1]

        def slice_of(match, fields=fields):
            low, width = fields[match.group(2)]
            high, end = match.group(3), match.group(4)
            if high is None:
                return f"{match.group(1)}[{low + width - 1}:{low}]"
            return f"{match.group(1)}[{low + int(high)}" + (f":{low + int(end)}]" if end else "]")

        head, rest = text.split(f"}} {kind};", 1)
        variables = set(re.findall(r"\w+", " ".join(re.findall(rf"\b{kind} ([\w, ]+?)(?=;|\)|, *input)", rest))))
        for variable in variables - {"automatic", "input"}:
            rest = re.sub(rf"\b({variable})\.(\w+)(?:\[(\d+)(?::(\d+))?\])?", slice_of, rest)
        text = head + f"}} {kind};" + re.sub(rf"\b{kind}\b", f"logic [{low - 1}:0]", rest)
    return text


def block_end(text, at):
    """Behind the `end` of the `begin` at `at`."""
    depth = 0
    for match in re.finditer(r"\b(begin|end)\b", text[at:]):
        depth += 1 if match.group(1) == "begin" else -1
        if not depth:
            return at + match.end()
    return len(text)


def hoisted(text):
    """Variables of a struct type that a block declares become the module's, named after the block."""
    declaration = r"\n\s*(\w+::\w+_t) (\w+);"
    while match := re.search(rf"begin : (\w+)(?:\n[^=\n]*;)*?{declaration}", text):
        block, kind, name = match.groups()
        end = block_end(text, match.start())
        body = text[match.start():match.start(2)] + text[match.end():end]
        body = re.sub(rf"(?<![\w.]){name}\b", f"{block}_{name}", body)
        before = text[:match.start()]
        module = max(re.finditer(r"^\s*always_\w+", before, re.MULTILINE), key=lambda one: one.start()).start()
        text = before[:module] + f"\n{kind} {block}_{name};" + before[module:] + body + text[end:]
    return text


# What Yosys does not read becomes what it reads; each is a renaming, and a module keeps its meaning.
def prepared(text, constants, structs=None):
    text = re.sub(r"tegula_pkg::(\w+)", lambda match: constants.get(match.group(1), match.group(0)), text)
    text = text.replace('`include "assert.svh"', "").replace("int'(", "32'(")
    if structs is None:  # the package itself
        return text
    # A memory of structs is one of words.
    if re.search(r"^package", text, re.MULTILINE):
        return without_structs(text)
    text = re.sub(r"(\w+::\w+_t) (\w+) (\[[^]]*\];)", lambda match: f"logic [{structs[match.group(1)][0] - 1}:0] {match.group(2)} {match.group(3)}", text)
    return flattened(without_struct_arrays(without_struct_grids(hoisted(text), structs), structs))


def sources(harness, rtl, generated, edit):
    text = read(harness)
    package = read(os.path.join(generated, "tegula_pkg.sv"))
    constants = constants_of(package)
    constants.update(re.findall(r"(\w+)=(\d+)", "".join(re.findall(r"^// constants: (.*)$", text, re.MULTILINE))))
    fabric = prepared(read(os.path.join(rtl, "fabric_pkg.sv")), constants)
    structs = struct_fields(fabric) | struct_fields(prepared(read(os.path.join(rtl, "fp_pkg.sv")), constants))
    parts = [package, fabric]
    if "decisions::" in text:
        tables = read(os.path.join(generated, "decisions.sv"))
        used = set(re.findall(r"decisions::(\w+)", text))
        functions = re.findall(r"  function automatic logic \[\d+:0\] (\w+).*?endfunction\n", tables, re.DOTALL)
        for function in functions:
            if function not in used:
                tables = re.sub(rf"  function automatic logic \[\d+:0\] {function}\(.*?endfunction\n", "", tables, flags=re.DOTALL)
        parts.append(tables)
    macros = read(os.path.join(rtl, "assert.svh"))
    for name in re.search(r"^// modules: (.*)$", text, re.MULTILINE).group(1).split():
        module = read(os.path.join(rtl, name + ".sv"))
        if edit and edit[0] == name + ".sv":
            if module.count(edit[1]) < 1:
                sys.exit(f"{harness}: {edit[0]} has no \"{edit[1]}\"")
            module = module.replace(edit[1], edit[2], 1)
        parts.append(prepared(module, constants, structs))
    # Severities are for simulators; labels are to be unique.
    whole = macros.replace(' else $error("%m does not hold")', "") + "\n".join(parts) + prepared(text, constants, structs)
    for lost in re.findall(r"~\s*\(*\s*\w+'\([^\n]*", whole):
        sys.exit(f"{harness}: Yosys 0.23 reads ~26'(x) of a constant as 26'(x); write 26'(~(x)): {lost}")
    return re.sub(r"\w+ : assert", "assert", whole)


def cases_of(text, kind):
    """Of lines "// KIND: NAME=VALUES...", each way to choose values, as (name, value) pairs; without such a line one way, of none."""
    found = []
    for line in re.findall(rf"^// {kind}: (.*)$", text, re.MULTILINE):
        choices = []
        for name, values in re.findall(r"(\w+)=(\S+)", line):
            numbers = []
            for value in values.split(","):
                low, _, high = value.partition("..")
                numbers += range(int(low), int(high or low) + 1)
            choices.append([(name, number) for number in numbers])
        found += itertools.product(*choices)
    return found or [()]


def with_parameters(text, module, case):
    """The text, in which parameters of the harness have other values."""
    before, at, rest = text.rpartition(f"module {module} ")
    for name, value in case:
        rest, count = re.subn(rf"(parameter int {name} =) -?\d+", rf"\1 {value}", rest, count=1)
        if not count:
            sys.exit(f"{module} has no parameter int {name}")
    return before + at + rest


def prove(name, text, scratch, drawn=False):
    """True: proved; False: refuted; None: neither, in time. Where a defect is looked for, short runs and drawn inputs are tried first."""
    os.makedirs(scratch, exist_ok=True)
    stem = os.path.join(scratch, name)
    with open(stem + ".sv", "w", encoding="utf-8") as file:
        file.write(text)
    initial = "setundef -init -zero; " if "// initial: zero" in text else ""
    reduced = "wreduce; opt -full; " if "// products: narrow" in text else ""
    script = (f"read_verilog -sv -formal -DTEGULA_ASSERT {stem}.sv; hierarchy -check -top {name}; proc; flatten; "
              f"memory_map; async2sync; opt -full; {reduced}techmap; opt_clean; dffunmap; simplemap; opt_clean; aigmap; "
              f"setundef -undriven -anyseq; {initial}opt_clean; write_aiger -zinit {stem}.aig")
    # What Yosys only warns of would be left out of the proof.
    done = subprocess.run(["yosys", "-q", "-e", "implicitly declared|out of bounds|Resizing cell port", "-p", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: Yosys: {done.stdout[-3000:]}")
    outcome = None, ""
    if drawn:
        outcome = asked(stem, "bmc3 -F 16 -T 10", SECONDS)
        if outcome[0] is not False:
            outcome = asked(stem, "sim3 -F 32 -W 8 -R 40 -T 2", SECONDS)
    if outcome[0] is False:
        return outcome
    bounded = re.search(r"^// bounded: (\d+) cycles", text, re.MULTILINE)
    if not bounded:
        return asked(stem, "lcorr; scorr; pdr", SECONDS)
    outcome, said = asked(stem, f"lcorr; scorr; bmc3 -F {bounded.group(1)}", SECONDS)
    return (outcome if outcome is False or f"in {bounded.group(1)} frames" in said else None), said


def asked(stem, commands, seconds):
    """What ABC says of the graph, in so many seconds of processor time."""
    limit = (seconds, seconds)
    done = subprocess.run(["berkeley-abc", "-c", f"read {stem}.aig; fold; orpos; strash; {commands}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
    outcome = {"Property proved": True, "No output asserted in": True, "was asserted in frame": False, "Networks are UNDECIDED": None}
    said = [value for key, value in outcome.items() if key in done.stdout]
    lines = [line for line in done.stdout.splitlines() if "Property" in line or "asserted" in line or "Invariant F" in line]
    return (said[0] if said else None), " ".join(lines)


def proved_in(name, text, scratch, cases, drawn=False):
    """What comes of the cases together: the first that is not proved, else proved; and of a case, where there is one, its values."""
    outcome, said = None, ""
    for case in cases:
        outcome, said = prove(name, with_parameters(text, name, case), scratch, drawn)
        values = ", ".join(f"{parameter} {value}" for parameter, value in case)
        said = f"{values}: {said}" if values else said
        if not outcome:
            return outcome, said
    return outcome, said if len(cases) == 1 else f"{len(cases)} cases"


def main():
    arguments = sys.argv[1:]
    option = arguments.pop(0) if arguments[0] in ("--planted", "--first", "--cases") else None
    harness, rtl, generated, scratch = arguments
    for tool in ("yosys", "berkeley-abc"):
        if not shutil.which(tool):
            print(f"{tool} is missing: apt install yosys berkeley-abc")
            return 77
    name = os.path.basename(harness).removesuffix(".sv")
    text = read(harness)
    sample = cases_of(text, "sample" if option != "--cases" and "// sample: " in text else "cases")
    if option in (None, "--cases"):
        outcome, said = proved_in(name, sources(harness, rtl, generated, None), scratch, sample)
        print(f"{name}: {'proved' if outcome else 'REFUTED' if outcome is False else 'not decided'}. {said}")
        return 0 if outcome else 1
    bad = 0
    edits = re.findall(r"^// planted: (\S+): (.*?) => (.*)$", text, re.MULTILINE)
    for number, edit in enumerate(edits[:1] if option == "--first" else edits):
        planted = sources(harness, rtl, generated, edit)
        outcome, said = proved_in(name, planted, os.path.join(scratch, f"planted{number}"), sample, True)
        print(f"{name}, {edit[0]} with \"{edit[2]}\": {'refuted' if outcome is False else 'NOT REFUTED'}. {said}")
        bad += outcome is not False
    return 1 if bad or not edits else 0


if __name__ == "__main__":
    sys.exit(main())
