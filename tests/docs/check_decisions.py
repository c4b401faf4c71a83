#!/usr/bin/env python3
"""Every decision has the form of docs/decisions/README.md, and stands there with its title and status.

usage: check_decisions.py FOLDER
"""
import os
import re
import sys

MOST_LINES = 30
STATUS = re.compile(r"Status: (proposed|accepted|(?:amended|superseded) by .+); decided \d{4}-\d\d-\d\d\.")
LINK = re.compile(r"\[(\d{3})\]\(([^)]*)\)")


def decision(folder, name, wrong):
    """(title, status, numbers of the decisions that changed it) of a file."""
    with open(os.path.join(folder, name)) as file:
        lines = file.read().rstrip("\n").split("\n")
    title = re.fullmatch(r"# (\d{3}): (.+)", lines[0])
    status = STATUS.fullmatch(lines[2]) if len(lines) > 2 else None
    if not title or title.group(1) != name[:3]:
        wrong.append(f"{name}: the first line is `# {name[:3]}: TITLE`")
    if not status:
        wrong.append(f"{name}: the third line is `Status: proposed|accepted|amended by NNN|superseded by NNN; decided YYYY-MM-DD.`")
    if len(lines) > MOST_LINES:
        wrong.append(f"{name}: {len(lines)} lines, at most {MOST_LINES}")
    parts = [line for line in lines if re.fullmatch(r"\*\*\w+\.\*\*", line)]
    if parts != ["**Context.**", "**Decision.**", "**Cost.**"]:
        wrong.append(f"{name}: its parts are **Context.**, **Decision.** and **Cost.**, each on a line")
    return (title.group(2) if title else "", status.group(1) if status else "",
            {number for number, _ in LINK.findall(status.group(1))} if status else set())


def check(folder):
    """What is wrong, a line each."""
    wrong = []
    names = sorted(name for name in os.listdir(folder) if re.match(r"\d{3}-", name))
    if len({name[:3] for name in names}) != len(names):
        wrong.append("two decisions have the same number")
    decisions = {name[:3]: decision(folder, name, wrong) for name in names}
    with open(os.path.join(folder, "README.md")) as file:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file if re.match(r"\| \[\d{3}\]", line)]
    if [row[0] for row in rows] != [f"[{name[:3]}]({name})" for name in names]:
        wrong.append("README.md: its rows are not the decisions, in order")
        return wrong, len(names)
    for name, (_, title, status, changed) in zip(names, rows):
        number = name[:3]
        if (title, status) != decisions[number][:2]:
            wrong.append(f"README.md: the row of {number} has another title or status than {name}")
        earlier = {other for other in decisions if number in decisions[other][2]}
        if {other for other, _ in LINK.findall(changed)} != earlier:
            wrong.append(f"README.md: {number} amends or supersedes {', '.join(sorted(earlier)) or 'nothing'}, as the statuses of those say")
    return wrong, len(names)


def main():
    wrong, count = check(sys.argv[1])
    if count < 10:
        wrong.append(f"only {count} decisions found in {sys.argv[1]}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{count} decisions stand in the index")


if __name__ == "__main__":
    main()
