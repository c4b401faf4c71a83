#!/usr/bin/python3
"""Proves bounds of vector functions: Gappa what the roundings of their operations lose, Sollya what their polynomials do, of the
scripts that prove_functions makes of the microprograms. The sum must be within the bound of tests/functions/functions.def; of narrow
results, with the rounding of the store, within 1 ulp.

    prove_functions.py PROVE_FUNCTIONS FUNCTION...             prints what is proved, or exit status 1
    prove_functions.py --planted PROVE_FUNCTIONS FUNCTION...   a coefficient that is another by 2^-10, and a multiply-add that gives its
                                                               addend, must not be proved, in FP32, where a function has them

Exit status 77: Sollya or Gappa is missing.
"""
import math
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from fractions import Fraction

Piece = namedtuple("Piece", "kind function accuracy bound scaled ulp truth text gappa sollya")
Worst = namedtuple("Worst", "error lost missed text")  # in ulp of FP32: of both, of roundings, of the polynomial
HALF = Fraction(1, 2)
NARROW = {"bf16": 16, "fp16": 13}  # log2 of an ulp, in ulp of FP32


class Unproved(Exception):
    pass


def run(tool, script):
    done = subprocess.run([tool], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Unproved(f"{tool}: {done.stdout[-1000:]}\nof\n{script[-3000:]}")
    return done.stdout


def dyadic(text):
    whole, _, exponent = text.partition("b")
    return Fraction(int(whole)) * Fraction(2) ** int(exponent or 0)


def rounding(script):
    """The largest difference that Gappa proves."""
    said = run("gappa", script)
    found = re.search(r"^Results:\n  .* in \[(-?\d+(?:b-?\d+)?)(?: \{[^}]*\})?, (-?\d+(?:b-?\d+)?)[ \]]", said, re.MULTILINE)
    if not found:
        raise Unproved(f"gappa: {said}\nof\n{script}")
    return max(abs(dyadic(found.group(1))), abs(dyadic(found.group(2))))


def suprema(scripts):
    """Of each script, what Sollya certifies."""
    whole = "verbosity = 0!;\ndisplay = dyadic!;\nprec = 200!;\n" + "".join(script + "print(found);\n" for script in scripts) + "quit;\n"
    said = run("sollya", whole).split()
    if len(said) != len(scripts) or not all(re.fullmatch(r"\d+(b-?\d+)?", word) for word in said):
        raise Unproved(f"sollya: {' '.join(said)[-1000:]}")
    return [dyadic(word) for word in said]


def pieces(command):
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    for block in re.findall(r"^(?:piece|relative) .*\n(?:(?!piece|relative).*\n)*", text, re.MULTILINE):
        head, _, rest = block.partition("\n")
        kind, function, accuracy, bound, scaled, ulp, truth, where = head.split(maxsplit=7)
        scripts = re.findall(r"^(gappa|sollya)\n(.*?)^end\n", rest, re.MULTILINE | re.DOTALL)
        yield Piece(kind, function, accuracy, Fraction(float.fromhex(bound)), scaled == "1", Fraction(2) ** int(ulp),
                    Fraction(float.fromhex(truth)), where, [script for tool, script in scripts if tool == "gappa"],
                    [script for tool, script in scripts if tool == "sollya"])


def proved(listed):
    """Of the pieces of one function with one accuracy: the worst, and whether a result may be rounded once more."""
    found = iter(suprema([script for piece in listed for script in piece.sollya]))
    worst, relative = Worst(-1, 0, 0, ""), Fraction(0)
    for piece in listed:
        missed = max((next(found) for _ in piece.sollya), default=Fraction(0))
        if piece.kind == "relative":
            relative = missed
            continue
        missed = (missed + relative * piece.truth) / piece.ulp
        lost = max(map(rounding, piece.gappa)) / piece.ulp
        worst = max(worst, Worst(lost + missed, lost, missed, piece.text))
    return worst


def results(listed):
    """Bounds by format of the result."""
    worst = proved(listed)
    error = worst.error
    if listed[0].accuracy == "fp32":
        # A result that becomes subnormal has half that error at most, and a rounding.
        yield "fp32", max(error, error / 2 + HALF) if listed[0].scaled else error, listed[0].bound, worst
    else:
        for kind, bits in NARROW.items():
            yield kind, HALF + error / 2**bits, Fraction(1), worst


def groups(command):
    found = {}
    for piece in pieces(command):
        found.setdefault((piece.function, piece.accuracy), []).append(piece)
    return found


def planted(command):
    """Each defect must be noticed, and each function have one."""
    sound, bad, count = groups(command), 0, {}
    for defect in ("--other-constant", "--dropped-term"):
        for (function, accuracy), listed in groups(command + [defect]).items():
            if accuracy != "fp32" or listed == sound[function, accuracy]:
                continue
            count[function] = count.get(function, 0) + 1
            try:
                _, error, bound, worst = next(results(listed))
                refuted, said = error > bound, f"{float(error):.3f} ulp at {worst.text}"
            except Unproved as why:
                refuted, said = True, str(why).split("\nof\n", maxsplit=1)[0].strip().replace("\n", " ")[-100:]
            print(f"{function}, {defect[2:]}: {'refuted' if refuted else 'NOT REFUTED'}. {said}")
            bad += not refuted
    return bad or len(count) != len({function for function, _ in sound})


def main():
    arguments = sys.argv[1:]
    is_planted = arguments[0] == "--planted"
    command = arguments[is_planted:]
    missing = [tool for tool in ("sollya", "gappa") if not shutil.which(tool)]
    if missing:
        print(f"{' and '.join(missing)} missing: apt install sollya gappa")
        return 77
    if is_planted:
        return 1 if planted(command) else 0
    bad, found = False, groups(command)
    for (function, _), listed in found.items():
        try:
            for kind, error, bound, worst in results(listed):
                bad |= error > bound
                print(f"{function} {kind} {math.ceil(error * 1000) / 1000:.3f} of {float(bound):g} ulp{': TOO MUCH' if error > bound else ''}; in ulp of FP32 "
                      f"roundings {float(worst.lost):.3f}, polynomial {float(worst.missed):.3f}, at {worst.text}; {len(listed)} pieces")
        except Unproved as why:
            print(f"{function}: not proved. {why}")
            bad = True
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
