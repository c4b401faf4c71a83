#!/usr/bin/env python3
"""Runs the command blocks of a page and compares what they print with what the page shows.

usage: run_blocks.py PAGE.md --build FOLDER [--rtl] [--long] [--update] [-v]

Blocks run in their order, in one scratch folder that looks like the root of the tree (its folders are links, except for `docs`,
which is empty) with the build as `build` and its command on the path. --rtl: the build has the RTL engine; lines with
`--engine rtl` are left out without it. --long: blocks that are marked as long are run, too. --update rewrites lines
of outputs, and rows that are printed as rows, whose figures are not what was printed. tests/README.md has the conventions for pages and what is compared.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

MARKERS = {"not run", "instead", "long", "file", "rows", "figures", "among"}
TABLES = {"rows", "figures", "among"}
# Lines whose figures are those of the host, not of the array; only what they begin with is compared.
HOST = re.compile(r"(this CPU|the array|simulated in|on this host)  ")
# A block that has such a line is one of commands, and must say so.
COMMAND = re.compile(r"\$? ?(sudo |/usr/bin/)?(tegula|make|cmake|ctest|ninja|git|python3|apt-get|npm|build/\S+|tests/\S+)( |$)")
NEEDS_RTL = re.compile(r"--engine rtl|tegula_demo|check_fma|tegula verify (?!.*--engines)")
NO_RTL = "no RTL engine in this build"
PUNCTUATION = "*`(),;:x%"

Block = collections.namedtuple("Block", "kind line marker note lines first")
# kind: "sh", "output", "shown", "table"; line: its number in the page; first: the index of the first of `lines` in the page


class Wrong(Exception):
    """What the page says is not so; the text names page and line."""


def parse(page, text):
    """The blocks of a page, and its tables with a marker, in order."""
    blocks, marker, note, at = [], None, "", 0
    lines = text.split("\n")
    while at < len(lines):
        line = lines[at].strip()
        comment = re.fullmatch(r"<!-- ([a-z ]+?)(?:: (.+))? -->", line)
        if comment:
            marker, note = comment.group(1), comment.group(2) or ""
            if marker not in MARKERS or not note and marker in ("not run", "instead", "file"):
                raise Wrong(f"{page}:{at + 1}: a marker is one of {', '.join(sorted(MARKERS))}; `not run` has a reason")
        elif line.startswith("```"):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == "```"), None)
            if end is None:
                raise Wrong(f"{page}:{at + 1}: a block without an end")
            info = line[3:].strip()
            kind = info if info in ("sh", "output") else "shown"
            if kind == "shown" and any(COMMAND.match(text.strip()) for text in lines[at + 1:end]):
                raise Wrong(f"{page}:{at + 1}: a block of commands begins with ```sh, what they print with ```output")
            blocks.append(Block(kind, at + 1, marker, note, lines[at + 1:end], at + 1))
            marker, at = None, end
        elif line.startswith("|") and marker in TABLES:
            end = next((i for i in range(at, len(lines)) if not lines[i].strip().startswith("|")), len(lines))
            blocks.append(Block("table", at + 1, marker, note, lines[at + 2:end], at + 2))
            marker, at = None, end - 1
        elif line and marker:
            raise Wrong(f"{page}:{at + 1}: the marker above belongs to nothing")
        at += 1
    return blocks


def bare(word):
    return re.sub(r"^\+(?=[A-Za-z])", "", word.strip(PUNCTUATION))  # `*+mp0`: a mark of sweep, no sign


def number(word):
    """The value of a word, or None: `3.41x`, `50`, `(160` and `*0.00466*` are numbers, `bf16` and `4x4` are not."""
    word = bare(word)
    return float(word) if re.fullmatch(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", word) else None


def same(shown, printed):
    """Equal words; small numbers are errors against oneDNN, whose own roundings differ from CPU to CPU."""
    a, b = number(shown), number(printed)
    if a is None or b is None:
        return shown == printed
    if max(abs(a), abs(b)) < 1e-6:
        return True
    return abs(a - b) <= 0.02 * abs(a) if abs(a) < 0.1 else a == b


def alike(shown, printed):
    """The same line but for its figures."""
    shown, printed = (["#" if number(w) is not None else w for w in line.split()] for line in (shown, printed))
    if shown[-1] == "[...]":  # the rest of the line is not shown
        shown, printed = shown[:-1], printed[:len(shown) - 1]
    return shown == printed


def is_host(line):
    return HOST.match(line.strip())


def compare_output(page, block, printed, updated):
    """Every line shown is printed, one after the other; a line of dots stands for any lines. Returns the number of lines."""
    at, skip, compared = 0, False, 0
    printed = [line.rstrip() for line in printed if line.strip()]
    for offset, line in enumerate(block.lines):
        where, shown = f"{page}:{block.first + offset + 1}", line.strip()
        if shown == "...":
            skip = True
        if not shown or shown == "...":
            continue
        host = is_host(line)
        found = (i for i in range(at, len(printed) if skip else at + 1) if i < len(printed) and
                 (is_host(printed[i]) and is_host(printed[i]).group() == host.group() if host else alike(line, printed[i])))
        match = next(found, None)
        if match is None:
            raise Wrong(f"{where}: shown `{shown}`, printed `{printed[at].strip() if at < len(printed) else 'nothing more'}`")
        if not host and not all(same(a, b) or a == "[...]" for a, b in zip(line.split(), printed[match].split())):
            if updated is None:
                raise Wrong(f"{where}: shown `{shown}`, printed `{printed[match].strip()}`")
            updated[block.first + offset] = printed[match]
        at, skip, compared = match + 1, False, compared + 1
    return compared


def words_of_cell(cell):
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
    return [bare(w) for w in cell.split() if bare(w)]


def in_order(words, line):
    """Are `words` words of `line`, in this order?"""
    rest = iter(line.split())
    return all(any(same(word, bare(other)) for other in rest) for word in words)


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def compare_rows(page, block, printed, updated):
    """The cells of each row are words of one printed line, in order."""
    for offset, line in enumerate(block.lines):
        words = [w for cell in cells_of(line) for w in words_of_cell(cell)]
        if not any(in_order(words, other) for other in printed):
            rows = [p for p in printed if p.startswith("|") and cells_of(p)[:2] == cells_of(line)[:2]]
            if updated is not None and len(rows) == 1:
                updated[block.first + offset] = rows[0]
                continue
            named = [p.strip() for p in printed if p.split()[:1] == words[:1] or words[0] in p.split()]
            raise Wrong(f"{page}:{block.first + offset + 1}: no line is printed that has {' '.join(words)}"
                        + "".join(f"\n  printed: {p}" for p in named[:3]))
    return len(block.lines)


def compare_figures(page, block, printed):
    """The figures of the cells behind the first of each row are printed; marker `figures`: in the order of the table. Names all
    that are not."""
    figures = [bare(w) for line in printed for w in line.replace("|", " ").split() if number(w) is not None]
    rest, missing = iter(figures), []
    for offset, line in enumerate(block.lines):
        for cell in cells_of(line)[1:]:
            for word in (w for w in words_of_cell(cell) if number(w) is not None):
                if not any(same(word, other) for other in (rest if block.marker == "figures" else figures)):
                    missing.append(f"{page}:{block.first + offset + 1}: {word} is not printed"
                                   + (", or not behind what stands before it" if block.marker == "figures" else ""))
    if missing:
        raise Wrong("\n".join(missing[:1] if block.marker == "figures" else missing))
    return len(block.lines)


def scratch_folder(root, build, folder):
    for name in os.listdir(root):
        if os.path.isdir(os.path.join(root, name)) and not name.startswith((".", "build")) and name != "docs":
            os.symlink(os.path.join(root, name), os.path.join(folder, name))
    os.mkdir(os.path.join(folder, "docs"))
    os.symlink(build, os.path.join(folder, "build"))


def run_block(page, block, folder, environment, rtl):
    """Runs the commands of a block; returns the lines that they print, or None, and how many need an RTL engine that is not there."""
    commands = [block.note] if block.marker == "instead" else re.sub(r"\\\n", "", "\n".join(block.lines)).split("\n")
    kept = [c for c in commands if rtl or not NEEDS_RTL.search(c)]
    if not kept:
        return None, len(commands)
    script = "set -euo pipefail\ntrap 'echo \"exit status $? of: $BASH_COMMAND\" >&2' ERR\n" + "\n".join(kept)
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        raise Wrong(f"{page}:{block.line}: exit status {done.returncode}\n" + done.stderr[-2000:])
    return done.stdout.split("\n"), len(commands) - len(kept)


def compare_files(page, root, folder):
    """Files that commands write to docs/ are those of the tree."""
    names = sorted(os.listdir(os.path.join(folder, "docs")))
    for name in names:
        with open(os.path.join(folder, "docs", name), "rb") as ours, open(os.path.join(root, "docs", name), "rb") as theirs:
            if ours.read() != theirs.read():
                raise Wrong(f"{page}: docs/{name} is not what its command writes")
    return len(names)


def check(o):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    page = os.path.relpath(os.path.abspath(o.page), root)
    with open(o.page) as file:
        text = file.read()
    blocks = parse(page, text)
    updated, left = {} if o.update else None, []  # what --update can't write is told at the end, when the rest is written
    count, reasons = collections.Counter(), collections.Counter()
    printed = None  # by the last commands; None: they were not run
    with tempfile.TemporaryDirectory(prefix="tegula-docs-") as folder:
        scratch_folder(root, os.path.abspath(o.build), folder)
        environment = dict(os.environ, PATH=os.path.abspath(o.build) + os.pathsep + os.environ["PATH"], LC_ALL="C")
        for block in blocks:
            if block.marker == "file":
                with open(os.path.join(folder, block.note), "w") as file:
                    file.write("\n".join(block.lines) + "\n")
            if block.kind == "sh":
                printed, reason = None, None
                if block.marker == "not run":
                    reason = block.note
                elif block.marker == "long" and not o.long:
                    reason = "long: `make test-long` runs it"
                if reason:
                    reasons[reason] += 1
                    continue
                printed, left_out = run_block(page, block, folder, environment, o.rtl)
                count["run"] += printed is not None
                if left_out:
                    reasons[NO_RTL if printed is None else "a line of a block that was run: " + NO_RTL] += 1
                if o.verbose:
                    print("\n".join(printed or []))
            elif block.kind in ("output", "table") and block.marker != "not run":
                if not any(b.kind == "sh" and b.line < block.line for b in blocks):
                    raise Wrong(f"{page}:{block.line}: no commands above that could print this")
                if printed is None:
                    continue
                try:
                    lines = (compare_output(page, block, printed, updated) if block.kind == "output" else
                             compare_rows(page, block, printed, updated) if block.marker == "rows" else
                             compare_figures(page, block, printed))
                except Wrong as wrong:
                    if updated is None:
                        raise
                    left.append(str(wrong))
                    continue
                count["compared"] += 1
                count["lines"] += lines
        count["files"] = compare_files(page, root, folder)
    if updated:
        lines = text.split("\n")
        for at, line in updated.items():
            lines[at] = line
        with open(o.page, "w") as file:
            file.write("\n".join(lines))
    print(f"{page}: {count['run']} blocks run, {count['compared']} outputs compared ({count['lines']} lines), "
          f"{count['files']} files compared, {sum(reasons.values())} not run"
          + (f", {len(updated)} lines updated" if updated else ""))
    for reason, times in reasons.most_common():
        print(f"  {times} not run: {reason}")
    if left:
        raise Wrong("\n".join(left))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("page")
    parser.add_argument("--build", required=True)
    parser.add_argument("--rtl", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    try:
        check(parser.parse_args())
    except Wrong as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
