#!/usr/bin/env python3
"""Single-line faults in the RTL and in the rules of SystemC: which of them do the tests notice?

  tests/rtl/mutate.py BUILD [--seed N] [--share PERCENT | --sample N | --each N] [--file NAME]... [--only NUMBER]... [--together |
                      --alone] [--jobs N] [--list] [--check]

BUILD is a build directory with the tests built that stand below (`make mutation` does that). Takes a sample of all mutants of
each file, or N of each, or of all files together. For each, benches are asked in order, until one notices; those that can stand
in one model are verilated once (mutants_together.py) and asked for one by one, before all others:
  pins     the modules that the file is part of are verilated with the flags of the build, linked to the tests as they are
  chip     so is the whole chip: of the configuration odd, against SystemC, and of tiny, against cycles and faults worked out by hand
  proof    proofs of the block (tests/proofs)
  systemc  the file is compiled, and linked in front of the library to the tests that have cycles worked out by hand, and to
           random programs that compare with the RTL, of two configurations
  rule     the tables of SystemC's rules are printed with the file, and the RTL proved to decide as they say (tests/proofs)
Prints a line a mutant, and what survived; exit status 1 if less than 95 % are killed.
mutants_equivalent.txt names mutants that change nothing that can be seen, with reasons; they are not counted, nor are those
that do not compile. What no bench notices of the RTL is linted with the chip, and of a C file runs again with assertions and
checks of addresses and undefined behaviour: "lint" is killed as well, as by `make test` or `make sanitize`.
"""
import argparse
import concurrent.futures
import functools
import glob
import itertools
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from mutants_together import CHOOSER, NAME, Together

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EQUIVALENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutants_equivalent.txt")
ARITHMETIC = "test_rtl_arithmetic"
VECTORS = {ARITHMETIC: "100000", "test_rtl_mx": "150", "test_rtl_vx": "30"}  # the units' are batches
# Random ones, of each kind, on the whole chip: none of these takes as many cycles.
PROGRAMS = {"*odd*": {"TEGULA_SEED": "8", "TEGULA_RUNS": "16", "TEGULA_CYCLES": "60000"}, "*odd*:*row*": {"TEGULA_RUNS": "8", "TEGULA_CYCLES": "300000"}}

# File: percentage of its mutants that a campaign takes, and the modules at whose pins it is tested, in this order.
LANE = (ARITHMETIC, "lane3", "rtl_fma.*:-*latency_5")
LANE5 = (ARITHMETIC, "lane5", "rtl_fma.*latency_5")
PE = (ARITHMETIC, "pe_bench", "rtl_pe.*:-*without_sharing")
FORMATS = (ARITHMETIC, "formats_bench", "rtl_formats.*")
ALU = (ARITHMETIC, "alu", "rtl_alu.*")
MX = ("test_rtl_mx", "mx_tiny", "*p4*")
MX_ODD = ("test_rtl_mx", "mx_odd", "*p2*")
VX = ("test_rtl_vx", "vx_tiny", "*p4*")
VX_ODD = ("test_rtl_vx", "vx_odd", "*p2*")
CHIP = ("chip", "test_agreement", "*odd*", "odd")
CASES = ("chip", "test_rtl_faults", "*", "tiny")
# Places that the verilator names of what it refuses: of errors, and of assignments of two kinds to one signal.
BLAMED = r"^(?:%%(?:Error[^:]*|Warning-SELRANGE): | +(?=.*Location of (?:non)?blocking))(%s/\w+\.sv):(\d+):"
COMPILED = ("machine", "systemc", "dram", "functional")  # folders of the simulator whose libraries tests link
ARENA, ARENA_OBJECT = "frontend/base/arena.c", "frontend/CMakeFiles/tegula_base.dir/base/arena.c.o"
SANITIZE = " -UNDEBUG -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
PROOF = "proof"
RULE = "rule"
SYSTEMC = [("systemc", "test_systemc_timing", "*"), ("systemc", "test_systemc_parts", "*"),
           ("systemc", "test_fabric_times", "*systemc*"), ("systemc", "test_agreement", "*odd*:*row*")]


def ruled(*blocks):
    """Of a file whose rules proofs of these blocks take as tables."""
    return SYSTEMC[:-1] + [(RULE, block) for block in blocks] + SYSTEMC[-1:]


def machine(*tests):
    """Tests of the machine's C files, which are linked in the same way."""
    return [("systemc", test, "*") for test in tests]


ORDERING = machine("test_ordering", "test_sections", "test_program_check")
DRAM = machine("test_dram", "test_device") + SYSTEMC[:1] + SYSTEMC[2:3]

FILES = {
    "fp_pkg.sv": (10, [FORMATS, LANE, PE, ALU]),
    "fp_unpack.sv": (100, [PE]),
    "mul12.sv": (100, [LANE, PE]),
    "fma_add.sv": (15, [LANE, LANE5, PE]),
    "fma_lane.sv": (25, [LANE, LANE5]),
    "pe.sv": (15, [PE]),
    "vx_alu.sv": (10, [ALU]),
    "mx_write.sv": (10, [MX_ODD, MX]),
    "vx.sv": (4, [VX_ODD, VX]),
    "vx_control.sv": (4, [VX_ODD, VX]),
    "vx_rows.sv": (4, [VX_ODD, VX]),
    "vx_words.sv": (4, [VX_ODD, VX]),
    "vx_rounding.sv": (4, [VX_ODD, VX]),
    "mx.sv": (6, [MX_ODD, MX, CHIP]),
    "mx_pkg.sv": (20, [MX_ODD, MX]),
    "mx_control.sv": (4, [(PROOF, "mx_issue"), MX_ODD, MX]),
    "mx_nest.sv": (4, [(PROOF, "mx_nest"), MX_ODD, MX]),
    "mx_stream.sv": (6, [(PROOF, "mx_stream"), MX_ODD, MX]),
    "mx_streamed.sv": (4, [(PROOF, "mx_streamed"), MX_ODD, MX]),
    "mx_stationary.sv": (4, [(PROOF, "mx_stationary"), MX_ODD, MX]),
    "mx_coordinates.sv": (4, [(PROOF, "mx_coordinates"), MX_ODD, MX]),
    "mx_acc_owner.sv": (20, [(PROOF, "mx_acc_owner")]),
    "mx_skew.sv": (20, [(PROOF, "mx_skew"), MX_ODD]),
    "mx_collect.sv": (20, [MX_ODD, MX]),
    "mx_transposer.sv": (6, [MX_ODD, MX]),
    "mx_array.sv": (6, [MX_ODD, MX]),
    "acc_mem.sv": (20, [(PROOF, "acc_mem")]),
    "scratchpad.sv": (6, [(PROOF, "scratchpad")]),
    "scratchpad_bank.sv": (20, [(PROOF, "scratchpad")]),
    "sequencer.sv": (6, [(PROOF, "sequencer"), CHIP]),
    "lane_arbiter.sv": (6, [(PROOF, "lane_decision"), (PROOF, "lane_arbiter"), CHIP]),
    "post_fifo.sv": (20, [(PROOF, "post_fifo")]),
    "post_lane.sv": (6, [(PROOF, "post_lane"), CHIP]),
    "post_source.sv": (6, [(PROOF, "post_source"), CHIP]),
    "post_arbiter.sv": (6, [(PROOF, "post_arbiter"), CHIP]),
    "semaphores.sv": (3, [(PROOF, "semaphores"), CHIP]),
    "control_line.sv": (10, [(PROOF, "control_stop"), CHIP]),
    "control_stop.sv": (4, [(PROOF, "control_stop"), CHIP]),
    "fabric_line.sv": (10, [(PROOF, "fabric_line"), CHIP]),
    "tile.sv": (1, [CHIP]),
    "tile_sequencers.sv": (1, [CHIP]),
    "tile_posts.sv": (1, [CHIP]),
    "chip.sv": (1, [CHIP]),
    "section_control.sv": (15, [(PROOF, "section_control"), CHIP]),
    "row_walk.sv": (20, [(PROOF, "tx"), CHIP]),
    "burst_source.sv": (20, [(PROOF, "burst_source"), CHIP]),
    "agcu_store.sv": (10, [(PROOF, "agcu_store"), CHIP]),
    "agcu.sv": (2, [CHIP]),
    "agcu_context.sv": (2, [CHIP]),
    "agcu_index.sv": (2, [CHIP]),
    "agcu_jobs.sv": (4, [(PROOF, "agcu_jobs"), CHIP]),
    "agcu_load.sv": (2, [(PROOF, "agcu_load"), CHIP]),
    "agcu_places.sv": (2, [CHIP]),
    "agcu_port.sv": (2, [(PROOF, "agcu_port"), CHIP]),
    "agcu_start.sv": (4, [(PROOF, "agcu_start"), CHIP]),
    "agcu_convert.sv": (4, [(PROOF, "agcu_convert"), CHIP]),
    "agcu_piece.sv": (2, [(PROOF, "agcu_walk"), CHIP]),
    "agcu_walk.sv": (1, [(PROOF, "agcu_walk"), CHIP]),
    "fabric_pkg.sv": (2, [CHIP]),
    "row_operand.sv": (10, [CHIP]),
    "delay.sv": (10, [(PROOF, "control_stop"), CHIP]),
    "lane.sv": (4, [(PROOF, "lane"), CHIP]),
    "tx.sv": (5, [(PROOF, "tx"), CHIP]),
    "sim/systemc/agcu.c": (6, ruled("agcu_port")),
    "sim/systemc/bank.c": (10, SYSTEMC),
    "sim/systemc/chip.c": (3, SYSTEMC),
    "sim/systemc/compute.c": (10, SYSTEMC),
    "sim/systemc/device.c": (6, DRAM[1:] + SYSTEMC[-1:]),
    "sim/systemc/lane.c": (6, ruled("lane_decision")),
    "sim/systemc/posts.c": (5, ruled("post_lane", "post_arbiter")),
    "sim/systemc/unit.c": (6, SYSTEMC),
    "sim/machine/sequencer.c": (6, machine("test_accesses") + SYSTEMC),
    "sim/machine/walk.c": (4, machine("test_walk_reach", "test_walk_atoms") + SYSTEMC),
    "sim/machine/walk.h": (6, machine("test_walk_reach", "test_walk_atoms", "test_energy") + SYSTEMC),
    "sim/machine/mx_shape.h": (6, machine("test_accesses", "test_ordering") + SYSTEMC),
    "sim/machine/access.c": (6, machine("test_accesses", "test_program_check", "test_rows_by_index") + SYSTEMC),
    "sim/machine/config.c": (4, machine("test_config") + SYSTEMC),
    "sim/machine/config_share.c": (4, machine("test_config") + SYSTEMC),
    "sim/machine/actions.c": (10, machine("test_energy", "test_energy_counts")),
    "sim/machine/energy.c": (6, machine("test_energy")),
    "sim/machine/energy_sum.c": (10, machine("test_energy")),
    "sim/machine/ucode.c": (6, machine("test_instruction_text", "test_program_check", "test_energy")),
    "sim/machine/program_check.c": (4, machine("test_program_check")),
    "sim/machine/ordering.c": (6, ORDERING),
    "sim/machine/ordering_access.c": (6, ORDERING),
    "sim/machine/ordering_kept.c": (20, ORDERING),
    "sim/machine/ordering_memory.c": (6, ORDERING),
    "sim/machine/ordering_regions.c": (6, ORDERING),
    "sim/machine/ordering_setup.c": (6, ORDERING),
    "sim/machine/dram.c": (6, DRAM),
    "sim/machine/dram_address.c": (10, DRAM),
    "sim/machine/dram_device.c": (6, DRAM),
    "sim/dram/arrivals.c": (20, DRAM),
    "sim/dram/channel.c": (6, DRAM),
    "sim/dram/controller.c": (6, DRAM),
    "sim/dram/crossing.c": (10, DRAM),
    "sim/dram/queue.c": (10, DRAM),
}

for _, benches in FILES.values():
    if CHIP in benches:
        benches.append(CASES)

BINARY = [
    (r"(?<![+\[(])\+(?![:+])", "-"), (r"(?<=[\w)\]}'] )-(?= ?[\w({'$])", "+"),
    (r"&&", "||"), (r"\|\|", "&&"), (r"(?<!&)&(?!&)", "|"), (r"(?<!\|)\|(?!\|)", "&"), (r"\^", "|"), (r"\^", "&"),
    (r"==", "!="), (r"!=", "=="), (r" < ", " <= "), (r" > ", " >= "), (r" >= ", " > "), (r" <= ", " < "),
    (r"<<", ">>"), (r"(?<!>)>>(?!>)", "<<"), (r">>>", ">>"), (r"\*(?!\*)", "+"),
]
BINARY_C = [(rf" {a} ", f" {b} ") for a, b in (
    (r"\+", "-"), ("-", "+"), (r"\*", "+"), ("/", "*"), ("%", "/"), ("&&", "||"), (r"\|\|", "&&"), ("&", "|"), (r"\|", "&"),
    ("==", "!="), ("!=", "=="), ("<", "<="), (">", ">="), (">=", ">"), ("<=", "<"), (r"\+=", "-="), ("-=", "+="), ("<<", ">>"))]
SKIP_C = re.compile(r"^\s*(.*TG_DEFECT|/\*|\*|#|static\b.*[{,(]$|void\b|return;|[{}]|tg_\w+ \w+\[|assert|struct|typedef|char name\[)")
SKIP = re.compile(r"^\s*(//|input|output|module|endmodule|package|endpackage|endfunction|end\b|\)|`|typedef|import"
                  r"|logic\b[^=]*;|parameter\b|function\b|\.\w+_i, |fp_pkg::\w+_t \w+(, \w+)*;)")


def assignment_at(line):
    """Where a nonblocking assignment's <= stands, or -1."""
    match = re.match(r"^\s*(?:(?:if|else if) \(.*\) |else |for \(.*?\) (?:if \(.*?\) )?)?[\w.\[\]:+*-]+ +<= ", line)
    return match.end() - 4 if match else -1


def literals(line):
    """Sized and plain constants, one more and one less."""
    for match in re.finditer(r"(\d+)'([bdh])([0-9A-Fa-f_]+)", line):
        width, base = int(match[1]), {"b": 2, "d": 10, "h": 16}[match[2]]
        value, largest = int(match[3].replace("_", ""), base), (1 << int(match[1])) - 1
        for other in {(value + 1) & largest, (value - 1) & largest} - {value}:
            yield line[:match.start()] + f"{width}'h{other:x}" + line[match.end():]
    for match in re.finditer(r"(?<![\w'.])\d+(?!['\w])", line):
        for other in (int(match[0]) + 1, int(match[0]) - 1):
            if other >= 0:
                yield line[:match.start()] + str(other) + line[match.end():]


def swapped_names(line):
    """The right side's first two different names exchanged, and each used for the other."""
    match = re.search(r"(?<![<>=!])(<?=)(?!=) ?(.*);", line) or re.search(r"\w+ \w+ (\()(.*)\);", line) \
        or re.search(r"\.\w+ *(\()(.*)\)", line)
    if not match or "(." in line and "=" in line:
        return
    names = [n for n in re.finditer(r"(?<![\w'.:$])[a-z_]\w*(?:\.\w+)*(?![\w(:]|\.)", match[2])]
    for first in names:
        for second in names:
            if first.start() < second.start() and first[0] != second[0]:
                text = match[2]
                at = match.start(2)
                yield line[:at] + text[:first.start()] + second[0] + text[first.end():] + line[match.end(2):]
                yield line[:at] + text[:second.start()] + first[0] + text[second.end():] + line[match.end(2):]


def mutants_of_line(line, in_c=False):
    """Texts of the line with one fault each. How many zeros extend a number is not varied: the context decides."""
    code = re.sub(r"/\*.*?\*/", "", line.split("//")[0]).rstrip()
    keep = -1 if in_c else assignment_at(code)
    for pattern, other in BINARY_C if in_c else BINARY:
        for match in re.finditer(pattern, code):
            if keep >= 0 and match.start() - 1 <= keep + 1 and match.end() > keep:
                continue
            yield code[:match.start()] + other + code[match.end():]
    yield from literals(code)
    for match in re.finditer(r"[!~](?=[\w({])", code):  # a negation dropped
        yield code[:match.start()] + code[match.end():]
    for match in re.finditer(r"\bif \(", code):  # a condition negated, and always true
        depth, end = 1, match.end()
        while depth and end < len(code):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if not depth:
            yield code[:match.end()] + "!(" + code[match.end():end - 1] + ")" + code[end - 1:]
            yield code[:match.end()] + ("1" if in_c else "1'b1") + code[end - 1:]
    for match in re.finditer(r"(?<=[=(?:,{] )([^?=,;:({]+) \?", code):
        yield code[:match.start()] + "!(" + match[1] + ") ?" + code[match.end():]
    for match in re.finditer(r" (?:&&|\|\||\+|-|\^|\|) (?:[~!]?[\w.]+(?:\[[^\]]*\])?|\{[^{}]*\})(?=[ ;,)}])", code):  # a term dropped
        yield code[:match.start()] + code[match.end():]
    if not in_c:
        yield from swapped_names(code)
    if re.match(r"^\s*(?!assign|localparam|return)[\w.\[\]:+*-]+(?: [<+-]?= .*;|\+\+;|\(.*\);)$", code):  # a statement dropped
        yield ""


@functools.cache
def includers(name):
    """The C files of the simulator that include a header, by others, too."""
    files = glob.glob(os.path.join(ROOT, "sim/**/*.[ch]"), recursive=True)
    texts = {os.path.relpath(path, ROOT): open(path).read() for path in files if os.path.relpath(path, ROOT).split("/")[1] in COMPILED}
    found, more = set(), {name}
    while more:
        found |= more
        more = {path for path, text in texts.items() if any(f'#include "{one}"' in text for one in more)} - found
    return sorted(path for path in found if path.endswith(".c") and "/gen_" not in path)  # generators are no part of a library


def copy_of(name, folder):
    """Where a file stands in the folder of a mutant: headers as they are included."""
    path = os.path.join(folder, name if name.endswith(".h") else os.path.basename(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def path_of(name):
    return os.path.join(ROOT, name if "/" in name else os.path.join("rtl", name))


def mutants_of_file(name):
    with open(path_of(name)) as file:
        lines = file.read().split("\n")
    skip = SKIP_C if name.endswith((".c", ".h")) else SKIP
    zeros = re.compile(r"\{\(?[^{}]*\)? ?\{1'b0\}\}")
    for number, line in enumerate(lines):
        if skip.match(line) or not line.strip():
            continue
        for other in dict.fromkeys(mutants_of_line(line, name.endswith((".c", ".h")))):
            if zeros.sub("0", other).strip() != zeros.sub("0", line.split("//")[0]).strip():
                yield number, line, other, lines


def equivalents():
    """{(file, line, mutated line)}: three lines each, and reasons as comments."""
    entries = []
    with open(EQUIVALENT) as file:
        for line in file:
            if line.startswith(("#", "reason: ")) or not line.strip():
                continue
            entries.append(line.rstrip("\n"))
    result = set()
    for i in range(0, len(entries), 3):
        if not (entries[i + 1].startswith("- ") and entries[i + 2].startswith("+ ")):
            sys.exit(f"{EQUIVALENT}: three lines a mutant: file, - line, + mutated line; not {entries[i:i + 3]}")
        result.add((entries[i], entries[i + 1][2:].strip(), entries[i + 2][2:].strip()))
    return result


def read_only(verilate):
    """The command that reads what that one verilates, and makes nothing of it."""
    return re.sub(r" --hierarchical \S+", "", verilate.split(" && env ")[0]).replace(" --cc ", " --lint-only ").replace(" -O3 ", " -O0 ")


def place_of(bench):
    """Of a bench that verilates: its test, and where in the build which model is."""
    if bench[0] == "chip":
        return bench[1], f"sim/rtl/{bench[3]}", f"Vrtl_{bench[3]}"
    return bench[0], f"tests/rtl/{bench[1]}", f"V{bench[1]}"


def children_seconds():
    """Of processor time, of all that has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limit_of(seconds):
    """Processor time for what takes so many seconds without a fault: ten times as many, and some for a busy machine."""
    return 5 + round(10 * seconds)


def limited(seconds):
    """Lets a process about to begin have so many seconds of processor time; what goes on for longer is ended."""
    return lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


class Bench:
    """The build's own commands, with one file and one directory exchanged."""

    def __init__(self, build, jobs=1, only_together=False):
        self.build, self.jobs, self.only_together = os.path.abspath(build), jobs, only_together
        self.commands = {}
        self.malformed = set()  # numbers of mutants that no model can have together with others
        self.sound = set()
        self.limits = {}

    def command(self, target):
        if target not in self.commands:
            out = subprocess.run(["ninja", "-t", "commands", target], cwd=self.build, capture_output=True, text=True)
            if out.returncode:
                sys.exit(f"mutate: {self.build} does not know {target}: {out.stderr.strip()}")
            self.commands[target] = out.stdout.strip().split("\n")[-1]
        return self.commands[target]

    def run(self, folder, name, mutated, bench):
        """'killed', 'survived' or 'invalid'."""
        if bench[0] == PROOF:
            return self.prove(folder, name, mutated, bench[1])
        if bench[0] == RULE:
            return self.rule(folder, name, mutated, bench[1])
        if bench[0] == "systemc":
            return self.systemc(folder, name, mutated, *bench[1:])
        return self.rtl(folder, name, mutated, *place_of(bench), bench[2])

    def limit(self, test, tests):
        """Seconds of processor time that the tests may take with a mutant: a multiple of what the build's own take."""
        if (test, tests) not in self.limits:
            before = children_seconds()
            if self.tested(os.path.join(self.build, "tests", test), tests, test, seconds=300) != "survived":
                sys.exit(f"mutate: {test} {tests} fails without a fault: nothing can be said of faults there")
            self.limits[test, tests] = limit_of(children_seconds() - before)
        return self.limits[test, tests]

    def tested(self, program, tests, test, mutant=0, seconds=None):
        """The mutant: which of those that are in the program together; 0 is none. Seconds are of processor time; a run that
        waits for nothing takes none, and ends by the clock."""
        seconds = seconds or self.limit(test, tests)
        env = dict(os.environ, TEGULA_RTL_VECTORS=VECTORS.get(test, ""), TEGULA_MUTANT=str(mutant), **PROGRAMS.get(tests, {}))
        try:
            result = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], cwd=ROOT, env=env, capture_output=True,
                                    timeout=60 + 10 * seconds, preexec_fn=limited(seconds))
        except subprocess.TimeoutExpired:
            return "killed"
        return "killed" if result.returncode else "survived"

    def prove(self, folder, name, mutated, block):
        rtl = os.path.join(folder, "rtl")
        if not os.path.exists(rtl):
            shutil.copytree(os.path.join(ROOT, "rtl"), rtl)
            shutil.copy(mutated, os.path.join(rtl, name))
        harness = os.path.join(ROOT, "tests/proofs", f"prove_{block}.sv")
        out = subprocess.run([os.path.join(ROOT, "tests/proofs/prove.py"), harness, rtl, os.path.join(self.build, "tests/proofs"),
                              os.path.join(folder, block)], capture_output=True, text=True)
        return "killed" if "REFUTED" in out.stdout else "invalid" if "Yosys:" in out.stderr else "survived"

    def rule(self, folder, name, mutated, block):
        """truth_tables.c includes the file by its path in the tree, which stands in front of the tree itself here."""
        tables = os.path.join(folder, "tables")
        if not os.path.exists(tables):
            path = os.path.join(folder, "include", name)
            os.makedirs(os.path.dirname(path))
            shutil.copy(mutated, path)
            os.makedirs(tables)
            target = "tests/proofs/CMakeFiles/truth_tables.dir/truth_tables.c.o"
            compiled = self.command(target).replace(f"-o {target}", f"-o {folder}/tables.o -iquote {folder}/include")
            compiled = re.sub(r"-MD -MT \S+ -MF \S+", "", compiled)
            if subprocess.run(compiled, shell=True, cwd=self.build, capture_output=True).returncode:
                return "invalid"
            link = self.command("truth_tables").replace(target, f"{folder}/tables.o")
            link = link.replace("-o truth_tables ", f"-o {folder}/truth_tables ")
            subprocess.run(link, shell=True, cwd=self.build, check=True, capture_output=True)
            with open(os.path.join(tables, "decisions.sv"), "w") as file:
                if subprocess.run([os.path.join(folder, "truth_tables")], stdout=file, stderr=subprocess.DEVNULL,
                                  preexec_fn=limited(limit_of(0))).returncode:  # they take no second
                    return "killed"
            shutil.copy(os.path.join(self.build, "tests/proofs/tegula_pkg.sv"), tables)
        harness = os.path.join(ROOT, "tests/proofs", f"prove_{block}.sv")
        out = subprocess.run([os.path.join(ROOT, "tests/proofs/prove.py"), harness, os.path.join(ROOT, "rtl"), tables,
                              os.path.join(folder, block)], capture_output=True, text=True)
        return "killed" if "REFUTED" in out.stdout else "survived"

    def compiled(self, name, folder, more, source=None):
        """The object of a C file, with a text in its place, or with headers that are first looked for in the folder; None: there is none."""
        where = os.path.dirname(name)
        target = ARENA_OBJECT if name == ARENA else f"{where}/CMakeFiles/tegula_{os.path.basename(where)}.dir/{os.path.basename(name)}.o"
        out = os.path.join(folder, name.replace("/", "_") + ".o")
        command = self.command(target).replace(f"-o {target}", f"-o {out}").replace(" -I", f" -I{folder} -I", 1)
        if source:
            command = command.replace(os.path.join(ROOT, name), source)
        command = re.sub(r"-MD -MT \S+ -MF \S+", "", command) + more
        return None if subprocess.run(command, shell=True, cwd=self.build, capture_output=True).returncode else out

    def systemc(self, folder, name, mutated, test, tests, more=""):
        """Of a header all C files are compiled that include it, of the libraries that the test has. More: options of compiler and linker."""
        link = self.command(f"tests/{test}")
        if name.endswith(".h"):
            mine = [self.compiled(one, folder, more) for one in includers(name) if f"libtegula_{one.split('/')[1]}.a" in link]
        else:
            mine = [self.compiled(name, folder, more, mutated)]
        if more:  # what is allocated in arenas is checked, too
            mine.append(self.compiled(ARENA, folder, more))
        if None in mine:
            return "invalid"
        program = os.path.join(folder, test)
        link = link.replace(f"-o tests/{test} ", f"{' '.join(mine)} -o {program} {more} ")
        subprocess.run(link, shell=True, cwd=self.build, check=True, capture_output=True)
        return self.tested(program, tests, test)

    def sanitized(self, folder, name, mutated, benches):
        """Whether assertions and checks of addresses and of undefined behaviour pass in the file, as in `make sanitize`."""
        for one in benches:
            if one[0] == "systemc" and self.systemc(folder, name, mutated, *one[1:], SANITIZE) == "killed":
                same = shutil.copy(path_of(name), copy_of(name, folder))
                if self.systemc(folder, name, same, *one[1:], SANITIZE) != "survived":
                    sys.exit(f"mutate: {name} without a fault does not pass {' '.join(one)} with its checks")
                return False
        return True

    def verilation(self, folder, files, test, place, model, cached=False):
        """Commands that verilate the bench with mutated files, {name: path}, and link its test, in the build directory, and the test."""
        usual = os.path.join(self.build, place)
        mine = os.path.join(folder, os.path.basename(place))
        os.makedirs(mine)
        for file in os.listdir(usual):  # the package; of a chip whose tiles are verilated once, their names and wrappers, too
            if file.endswith((".sv", "hierarchy.vlt")):
                shutil.copy(os.path.join(usual, file), mine)
        verilate = self.command(f"{place}/{model}__ALL.a").replace(usual, mine)
        for name, mutated in files.items():
            verilate = verilate.replace(os.path.join(ROOT, "rtl", name), mutated)
        # One compilation of all of a module's files takes a quarter of the time of one each: they are mostly headers.
        verilate = verilate.replace("OPT_FAST=-O2", "OPT_FAST=-O1 VM_PARALLEL_BUILDS=0")
        if not cached:
            verilate = re.sub(r"OBJCACHE=\S*", "OBJCACHE=", verilate)
        program = os.path.join(mine, "test")
        link = self.command(f"tests/{test}").replace(f" {place}/", f" {mine}/").replace(f"-o tests/{test}", f"-o {program}")
        return verilate, link, program

    def rtl(self, folder, name, mutated, test, place, model, tests):
        verilate, link, program = self.verilation(folder, {name: mutated}, test, place, model)
        if subprocess.run(verilate, shell=True, cwd=self.build, capture_output=True).returncode:
            return "invalid"
        subprocess.run(link, shell=True, cwd=self.build, check=True, capture_output=True)
        return self.tested(program, tests, test)

    def together(self, groups, one):
        """Number and result of each mutant of the groups, {file: Together}, that can be in one model of the bench."""
        wrong = self.malformed | {key for group in groups.values() for key in group.alone}
        folder = os.path.join(self.build, "mutants", os.path.basename(place_of(one)[1]))  # always the same, for ccache
        os.makedirs(folder, exist_ok=True)
        files = {name: os.path.join(folder, name) for name in groups}
        built = False
        while not built:
            texts = {name: group.text(wrong) for name, group in groups.items()}
            for name, path in files.items():
                with open(path, "w") as file:
                    file.write(texts[name][0])
            shutil.rmtree(os.path.join(folder, os.path.basename(place_of(one)[1])), ignore_errors=True)
            verilate, link, program = self.verilation(folder, files, *place_of(one), cached=True)
            # What cannot stand there is mostly found by a look at the whole, in seconds.
            for command in (read_only(verilate), verilate):
                done = subprocess.run(command, shell=True, cwd=self.build, capture_output=True, text=True)
                found = {texts[os.path.basename(path)][1][int(at) - 1] for path, at in
                         re.findall(BLAMED % re.escape(folder), done.stderr, re.MULTILINE)} - wrong - {None}
                found |= misread(folder, done.stderr)
                for text, owners in texts.values():
                    found |= in_constants(text, owners, done.stderr) - wrong - {None}
                wrong |= found
                if found:
                    break
            built = not found and not done.returncode
            if not found and not built:
                sys.exit(f"mutate: {', '.join(groups)} with many faults: {re.sub(r'(?m)^(%Warning| ).*$', '', done.stderr)[-3000:]}")
        self.malformed |= wrong
        chooser = os.path.join(folder, "chooser")
        with open(chooser + ".c", "w") as file:
            file.write(CHOOSER)
        subprocess.run(["cc", "-c", chooser + ".c", "-o", chooser + ".o"], check=True)
        subprocess.run(link.replace(" -o ", f" {chooser}.o -o ", 1), shell=True, cwd=self.build, check=True, capture_output=True)
        before = children_seconds()
        if self.tested(program, one[2], place_of(one)[0], seconds=300) != "survived":
            sys.exit(f"mutate: {', '.join(groups)} without a fault: killed by {' '.join(one)}, so nothing can be said of faults there")
        seconds = limit_of(children_seconds() - before)
        keys = [key for group in groups.values() for key in group.mutants if key not in wrong]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            yield from zip(keys, pool.map(lambda key: self.tested(program, one[2], place_of(one)[0], key, seconds), keys))

    def lint(self, name, mutated):
        """Whether the chip with the mutant passes `verilator -Wall` with the waivers."""
        package = os.path.join(self.build, "tests/rtl/mx_tiny/tegula_pkg.sv")
        rtl = os.path.join(ROOT, "rtl")
        first = ["fp_pkg.sv", "fabric_pkg.sv", "mx_pkg.sv"]
        files = first + sorted(f for f in os.listdir(rtl) if f.endswith(".sv") and f not in first)
        paths = [mutated if f == name else os.path.join(rtl, f) for f in files]
        return subprocess.run(["verilator", "--lint-only", "-Wall", "--assert", "-DTEGULA_ASSERT", "-I" + rtl, "--top-module", "chip", os.path.join(rtl, "lint.vlt"),
                               package, *paths], capture_output=True).returncode == 0


def in_constants(text, owners, said):
    """Mutants within functions that have to be constant, and are not where a fault is chosen when the model begins."""
    found, inside = set(), None
    names = set(re.findall(r"can't determine constant for FUNCREF '(\w+)'", said))
    for line, owner in zip(text.split("\n"), owners):
        head = re.match(r"\s*function\b.*?(\w+) *[(;]", line)
        inside = head.group(1) if head else None if line.strip().startswith("endfunction") else inside
        if inside in names:
            found.add(owner)
    return found


def misread(folder, said):
    """Mutants of which the verilator made C++ that is none: those chosen in front of the places of the compiler's errors."""
    found = set()
    for name, at in re.findall(r"(\w+\.cpp):(\d+):\d+: error:", said):
        for path in glob.glob(os.path.join(folder, "*", "**", name), recursive=True):
            with open(path) as file:
                before = "".join(itertools.islice(file, int(at)))
            chosen = re.findall(rf"\((0x[0-9a-f]+|\d+)U == [\w>.\[\]-]*{NAME}_q\)", before[-20000:])
            found |= {int(number, 0) for number in chosen[-1:]}
    return found


def fate(bench, name, number, other, lines, passed=()):
    """What becomes of a mutant that some benches let pass."""
    with tempfile.TemporaryDirectory() as folder:
        mutated = copy_of(name, folder)
        with open(mutated, "w") as file:
            file.write("\n".join(lines[:number] + [other] + lines[number + 1:]))
        for one in [one for one in FILES[name][1] if one not in passed]:
            result = bench.run(folder, name, mutated, one)
            if result != "survived":
                check_control(bench, name, lines, one)
                return result
        passes = bench.sanitized(folder, name, mutated, FILES[name][1]) if name.endswith((".c", ".h")) else bench.lint(name, mutated)
        return "survived" if passes else "lint"


def fates(bench, mutants, lines):
    """Each of the mutants, {(file, number): (line, text)}, and its result: first of those that one model may have together."""
    passed = {key: [] for key in mutants}
    ids = {key: number for number, key in enumerate(mutants, 1)}
    benches = {one: None for name, _ in mutants for one in FILES[name][1] if one[0] not in (PROOF, RULE, "systemc")}
    for one in sorted(benches, key=lambda one: (one != CHIP, one != CASES)):  # the second one's model takes long
        groups = {}
        for key in passed:
            if one in FILES[key[0]][1]:
                groups.setdefault(key[0], {})[ids[key]] = mutants[key]
        if sum(map(len, groups.values())) < 2:
            continue
        keys = {number: key for key, number in ids.items()}
        for number, result in bench.together({name: Together(lines[name], group) for name, group in groups.items()}, one):
            if result == "survived":
                passed[keys[number]].append(one)
            else:
                del passed[keys[number]]
                yield keys[number], result
    for key, benches in passed.items():
        yield key, "left" if bench.only_together and not benches else fate(bench, key[0], *mutants[key], lines[key[0]], benches)


def check_benches(bench):
    """Whether each bench that verilates reads all of its files from the folder of the mutant, the mutated one among them."""
    first = {}
    for name, (_, benches) in FILES.items():
        for one in benches:
            if one[0] not in (PROOF, RULE, "systemc"):
                first.setdefault(place_of(one), name)
    failed = 0
    for place, name in first.items():
        with tempfile.TemporaryDirectory() as folder:
            mutated = os.path.join(folder, name)
            shutil.copy(path_of(name), mutated)
            verilate, link, _ = bench.verilation(folder, {name: mutated}, *place)
            read = subprocess.run(read_only(verilate), shell=True, cwd=bench.build, capture_output=True, text=True)
            sound = read.returncode == 0 and mutated in verilate and folder in link and f" {place[1]}/" not in link
            print(f"{'ok' if sound else 'FAILED':7} {' '.join(place)}, {name}\n{'' if sound else read.stderr}", end="")
            failed += not sound
    return 1 if failed or not first else 0


def check_control(bench, name, lines, one):
    """Ends the campaign if a bench finds fault with the file as it is; proofs and tables of rules have tests of their own."""
    if one[0] in (PROOF, RULE) or one in bench.sound:
        return
    with tempfile.TemporaryDirectory() as folder:
        same = copy_of(name, folder)
        with open(same, "w") as file:
            file.write("\n".join(lines))
        result = bench.run(folder, name, same, one)
    if result != "survived":
        sys.exit(f"mutate: {name} without a fault is {result} by {' '.join(one)}: nothing can be said of faults there")
    bench.sound.add(one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, help="per cent of the mutants of each file (each file has its own)")
    parser.add_argument("--sample", type=int, help="so many mutants, of all files together")
    parser.add_argument("--each", type=int, help="so many mutants of each file")
    parser.add_argument("--file", action="append", choices=FILES)
    parser.add_argument("--only", action="append", type=int, help="numbers of mutants, with --file")
    parser.add_argument("--together", action="store_true", help="leave out mutants that need a model of their own")
    parser.add_argument("--alone", action="store_true", help="ask only those, of what is drawn")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs of one model at once")
    parser.add_argument("--list", action="store_true", help="print all mutants and stop")
    parser.add_argument("--check", action="store_true", help="whether the benches that verilate read the mutated file, and stop")
    options = parser.parse_args()
    if options.check:
        return check_benches(Bench(options.build))
    known, bench = equivalents(), Bench(options.build, options.jobs, options.together)
    totals, survivors = {}, []
    sample = {}
    if options.sample:
        all_of_them = [(name, number) for name in options.file or FILES for number, _ in enumerate(mutants_of_file(name))]
        for name, number in random.Random(options.seed).sample(all_of_them, min(options.sample, len(all_of_them))):
            sample.setdefault(name, []).append(number)
    every, tried, results = {}, {}, []
    for name in [one for one in options.file or FILES if not sample or one in sample]:
        every[name] = list(mutants_of_file(name))
        share = options.share if options.share is not None else FILES[name][0]
        count = options.each or max(1, round(len(every[name]) * share / 100))
        chosen = sample.get(name) or \
            random.Random(f"{options.seed} {name}").sample(range(len(every[name])), min(count, len(every[name])))
        for index in sorted(options.only or (range(len(every[name])) if options.list else chosen)):
            number, line, other, _ = every[name][index]
            if options.list:
                results.append(((name, index), "listed"))
            elif (name, line.split("//")[0].strip(), other.strip()) in known:
                results.append(((name, index), "equivalent"))
            else:
                tried[name, index] = number, other
        if options.alone:
            own = Together(every[name][0][3], {index: tried[name, index] for of, index in tried if of == name}).alone
            tried = {(of, index): mutant for (of, index), mutant in tried.items() if of != name or index in own}
    lines = {name: all_of[0][3] for name, all_of in every.items()}
    asked = ((key, fate(bench, key[0], *tried[key], lines[key[0]])) for key in tried) if options.alone else fates(bench, tried, lines)
    for (name, index), result in itertools.chain(results, asked):
        number, line, other, _ = every[name][index]
        original, changed = line.split("//")[0].strip(), other.strip()
        count = totals.setdefault(name, {})
        count[result] = count.get(result, 0) + 1
        print(f"{result:10} {name} {index} line {number + 1}: {original}  ==>  {changed or '(nothing)'}", flush=True)
        if result == "survived":
            survivors.append(f"{name}\n- {original}\n+ {changed}")
    if options.list:
        return 0
    print(f"\n{'file':22}{'mutants':>9}{'killed':>8}{'lint':>6}{'survived':>10}{'equivalent':>12}{'invalid':>9}{'left':>6}")
    sums = {}
    for name, count in [*totals.items(), ("all", sums)]:
        row = [count.get(k, 0) for k in ("killed", "lint", "survived", "equivalent", "invalid", "left")]
        print(f"{name:22}{sum(row):9}{row[0]:8}{row[1]:6}{row[2]:10}{row[3]:12}{row[4]:9}{row[5]:6}")
        for key, value in count.items() if name != "all" else ():
            sums[key] = sums.get(key, 0) + value
    killed, alive = sums.get("killed", 0) + sums.get("lint", 0), sums.get("survived", 0)
    print(f"\nkilled {killed} of {killed + alive}: {100 * killed / max(1, killed + alive):.1f} % (seed {options.seed})")
    for text in survivors:
        print(f"\n{text}")
    return 0 if killed >= 0.95 * (killed + alive) else 1


if __name__ == "__main__":
    sys.exit(main())
