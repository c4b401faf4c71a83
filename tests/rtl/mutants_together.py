"""Many single-line faults of one RTL file in one model: mutate.py verilates it once, and each run chooses a fault.

What differs between a line and its mutants is made a choice by a number that the module asks for when it begins: expressions of
`assign`, of inputs of instances and of conditions, and whole statements. Mutants that are of another form (parameters, generate
loops, declarations, outputs) are left to be verilated alone.
"""
import re

NAME = "tegula_mutant"
CHOOSER = '#include <stdlib.h>\nint tegula_mutant(void) {\n  const char *text = getenv("TEGULA_MUTANT");\n  return text ? atoi(text) : 0;\n}\n'
DECLARED = f' import "DPI-C" function int {NAME}(); int {NAME}_q; initial {NAME}_q = {NAME}();'
ENDS = re.compile(r"(;|\bbegin(\s*:\s*\w+)?|\bend(\s*:\s*\w+)?|\belse|\bendcase|\bendfunction|\bendmodule)$")
HEADS = re.compile(r"(if|for|case|unique case|always\w*)\b.*\)$|always_comb$|[\w', :]+:$|`")
OTHERS = re.compile(r"(for \(genvar|localparam|parameter|typedef|import|int |logic |automatic |genvar|function|\.|\)|module|initial|case|unique)")


def code_of(line):
    return line.split("//")[0].strip()


def is_head(code):
    return HEADS.match(code) and code.count("(") == code.count(")")


def region(lines, number):
    """First and last line of the statement, or of the head of a block, that the line is part of."""
    first = number
    while first and (before := code_of(lines[first - 1])) and not ENDS.search(before) and not is_head(before):
        first -= 1
    last = number
    while last + 1 < len(lines) and not re.search(r"(;|\bbegin(\s*:\s*\w+)?)$", code_of(lines[last])):
        last += 1
    return first, last


def closing(text, at):
    """Behind the bracket that closes the one at `at`, or -1."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return end + 1
    return -1


def parsed(text):
    """("assign", what it begins with, expression, ""), or ("block", prefix, condition or None, statement or begin), or None."""
    if text.startswith("assign "):
        left, equals, right = text.partition(" = ")
        return ("assign", left, right[:-1], "") if equals and right.endswith(";") else None
    prefix = re.match(r"(end )?(else )?", text).group(0)
    rest = text[len(prefix):]
    label = re.match(r"(?:[\w']+(?:::\w+)?(?:, )?)+: (?=\w)", rest)
    if label and not prefix:
        prefix, rest = label.group(0), rest[label.end():]
    condition = None
    if rest.startswith("if ("):
        end = closing(rest, 3)
        if end < 0:
            return None
        condition, rest = rest[4:end - 1], rest[end:].strip()
    if re.fullmatch(r"begin(\s*:\s*\w+)?", rest):
        return ("block", prefix, condition, rest) if condition is not None else None
    if prefix.startswith("end") or OTHERS.match(rest) or not rest.endswith(";") or re.search(r"\b(begin|end|else)\b", rest):
        return None
    return ("block", prefix, condition, rest) if re.search(r"[^=!<>]<?=[^=]|\+\+", rest) or rest.startswith("return") else None


def connection(line):
    """An input of an instance on a line of its own: what stands before its expression, that, and what follows."""
    match = re.match(r"\s*\.\w+_i *(?=\()", line)
    end = closing(line, match.end()) if match else -1
    return (line[:match.end() + 1], line[match.end() + 1:end - 1], line[end - 1:]) if end > 0 and line[end:].strip() in ("", ",") else None


def chosen(number, mutant, original):
    return f"{NAME}_q == {number} ? ({mutant}) :\n({original})"


class Together:
    """A file whose mutants can be chosen by number, from 1 on, and which of them those are."""

    def __init__(self, lines, mutants):
        """mutants: {number of the mutant: (line, text)}."""
        self.lines, self.mutants, self.regions, self.ports, self.alone = lines, mutants, {}, {}, []
        asks = any(line.startswith("module ") for line in lines)  # a package has nothing that begins
        for key, (line, other) in mutants.items():
            if not asks or not self.placed(key, line, other):
                self.alone.append(key)

    def placed(self, key, line, other):
        original = self.lines[line].split("//")[0].rstrip()
        before = connection(original)
        if before:
            after = connection(other)
            if not after or after[0] != before[0]:
                return False
            self.ports.setdefault(line, []).append((key, after[1]))
            return True
        first, last = region(self.lines, line)
        texts = [code_of(one) for one in self.lines[first:last + 1]]
        before = parsed(" ".join(texts))
        texts[line - first] = other.strip()
        if not before:
            return False
        if not other.strip():
            if first != last or before[0] != "block" or before[2] is not None or before[1]:
                return False
            after = before[:3] + (";",)
        else:
            after = parsed(" ".join(texts))
        if not after or after[:2] != before[:2] or (after[2] is None) != (before[2] is None) or \
                (after[3] != before[3] and before[3].startswith("begin")):
            return False
        self.regions.setdefault((first, last), []).append((key, before, after))
        return True

    def text(self, without):
        """The file, and of each of its lines the mutant that stands there, but those that are left out."""
        out, owners = [], []

        def put(text, owner=None):
            for one in text.split("\n"):
                out.append(one)
                owners.append(owner)

        def choice(original, variants):
            for key, other in variants:
                put(f"{NAME}_q == {key} ? ({other}) :", key)
            put(f"({original})")

        at = 0
        starts = {first: (last, all_of) for (first, last), all_of in self.regions.items()}
        while at < len(self.lines):
            if at in starts and (variants := [one for one in starts[at][1] if one[0] not in without]):
                before = variants[0][1]
                if before[0] == "assign":
                    put(f"{before[1]} =")
                    choice(before[2], [(key, after[2]) for key, _, after in variants])
                    put(";")
                else:
                    self.block(before, variants, put, choice)
                at = starts[at][0] + 1
            elif at in self.ports and (variants := [one for one in self.ports[at] if one[0] not in without]):
                before = connection(self.lines[at].split("//")[0].rstrip())
                put(before[0])
                choice(before[1], variants)
                put(before[2])
                at += 1
            else:
                line = self.lines[at]
                put(line + DECLARED if line.rstrip() == ");" and not any(DECLARED in one for one in out[self.module(out):]) else line)
                at += 1
        return "\n".join(out), owners

    @staticmethod
    def module(out):
        return max((at for at, one in enumerate(out) if one.startswith("module ")), default=0)

    @staticmethod
    def block(before, variants, put, choice):
        _, prefix, condition, tail = before
        put(prefix)
        if condition is not None:
            put("if (")
            choice(condition, [(key, after[2]) for key, _, after in variants if after[2] != condition])
            put(")")
        if tail.startswith("begin"):
            put(tail)
            return
        put("begin")
        for key, _, after in variants:
            if after[3] != tail:
                put(f"if ({NAME}_q == {key}) begin {after[3]} end else", key)
        put(f"begin {tail} end")
        put("end")
