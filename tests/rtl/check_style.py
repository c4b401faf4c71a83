#!/usr/bin/env python3
"""Is the RTL in one style (rtl/README.md)? 100 columns, two spaces, `unique case`, constants and parameters in UpperCamelCase, ports
that end in _i or _o, one module of its file's name a file.

usage: check_style.py FILE.sv...    prints offences; exits 1 if there are any

Before that the check checks itself: it must find each kind of offence.
"""
import os
import re
import sys

RULES = (
    ("longer than 100 columns", re.compile(r".{101}")),
    ("a tab, or blanks at the end", re.compile(r"\t|\s$")),
    ("indented by an odd number of blanks", re.compile(r"^(  )* (?:always|assign|if|else|begin|end|unique|localparam|for|endcase)")),
    ("case without unique", re.compile(r"(?<!unique )\bcase[xz]?\b(?! *//)")),
    ("a constant that is not in UpperCamelCase", re.compile(r"\b(?:localparam|parameter)\b(?! type)[^=;]*?\b(?:[a-z]\w*|[A-Z0-9_]*_\w*)\s*=(?!=)")),
)


def offences(name, text):
    in_function = False
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0].rstrip()
        in_function |= bool(re.search(r"\b(function|task)\b", code))
        for what, rule in RULES:
            if rule.search(code if "case" in what or "constant" in what else line):
                yield "%s:%d: %s" % (name, number, what)
        port = re.match(r"\s*(?:input|output|inout)\b[^()]*?(\w+)\s*,?$", code)
        if port and not in_function and not port.group(1).endswith(("_i", "_ni", "_o", "_io")):
            yield "%s:%d: port %s without _i or _o" % (name, number, port.group(1))
        in_function &= not re.search(r"\);|\bend(function|task)\b", code)
    module = re.findall(r"^(?:module|package) (\w+)", text, re.M)
    if module != [os.path.splitext(os.path.basename(name))[0]]:
        yield "%s: holds %s" % (name, ", ".join(module) or "no module")


def check_itself():
    good = "module a (\n  input  logic x_i,  // a port\n  output logic y_o\n);\n  localparam int unsigned Few = 3;\n  unique case (x_i)\n  endcase\nendmodule\n"
    assert list(offences("a.sv", good)) == []
    for old, new in (("// a port", "// " + "a" * 100), ("  unique", "\tunique"), ("  unique", "   unique"), ("unique ", ""), ("Few", "few"),
                     ("Few", "FEW_OF"), ("y_o", "y"), ("module a", "module b")):
        assert len(list(offences("a.sv", good.replace(old, new)))) >= 1, (old, new)


def main():
    check_itself()
    found = []
    for name in sys.argv[1:]:
        with open(name) as file:
            found += offences(name, file.read())
    print("\n".join(found + ["%d files, %d offences" % (len(sys.argv) - 1, len(found))]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
