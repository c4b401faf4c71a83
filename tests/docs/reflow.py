#!/usr/bin/env python3
"""Puts each sentence of a page on a line of its own. Tables, code, headings and words stay as they are.

usage: reflow.py PAGE.md...
"""
import re
import sys

NO_END = re.compile(r"(\b(e\.g|i\.e|etc|vs|cf)\.|\.\.\.?|^\d+\.|\b[A-Z]\.)$")
ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
KEPT = ("|", "#", "<", "![")


def sentences(words):
    """The lines of a paragraph. A sentence does not end within backquotes, brackets or parentheses."""
    lines, line, depth, quoted = [], [], 0, False
    for word, following in zip(words, words[1:] + [None]):
        line.append(word)
        for character in word:
            if character == "`":
                quoted = not quoted
            elif not quoted and character in "([":
                depth += 1
            elif not quoted and character in ")]":
                depth = max(0, depth - 1)
        ended = re.search(r"[.!?]['\")\]*_]*$", word) and not quoted and not depth and not NO_END.search(word.rstrip("*)\"'"))
        # A line must not begin with what Markdown takes for an item of a list.
        if following is None or ended and re.match(r"[*(\"'\[]*[A-Za-z0-9`_-]", following) and not re.match(r"(\d+[.)]|[-+*#>]+)$", following):
            lines.append(" ".join(line))
            line = []
    return lines


def reflow(text):
    out, words, first, indent, fenced = [], [], "", "", False

    def flush():
        for i, line in enumerate(sentences(words) if words else []):
            out.append((indent if i else first) + line)
        words.clear()

    for line in text.split("\n"):
        stripped = line.strip()
        fence = stripped.startswith("```")
        item = ITEM.match(line)
        if fence or fenced or not stripped or stripped.startswith(KEPT) or line.startswith("    ") and not words and not item:
            flush()
            out.append(line)
            fenced ^= fence
        elif item:
            flush()
            first, indent = item.group(), " " * len(item.group())
            words += line[len(first):].split()
        else:
            if not words:
                first = indent = line[:len(line) - len(line.lstrip())]
            words += stripped.split()
    flush()
    return "\n".join(out)


def main():
    for path in sys.argv[1:]:
        with open(path) as file:
            text = file.read()
        changed = reflow(text)
        if changed.split() != text.split():
            sys.exit(f"{path}: other words")
        if changed != text:
            with open(path, "w") as file:
                file.write(changed)


if __name__ == "__main__":
    main()
