#!/usr/bin/env python3
"""Coefficients of mapper/microcode/functions_gelu.c: python3 tests/functions/fit_gelu.py (NumPy and SciPy).

R(a) (a + c) with R(a) = Phi(-a) exp(a^2/2), as a polynomial in t = 1/(a + c) - center, minimax of its relative error on
[0, 14.3]. Where gelu is subnormal the error may grow as its ulp does. Coefficients are rounded to FP32 from the highest
down, and what each rounding leaves is made good by those below it.
"""
import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

POINTS, LAST = 6000, 14.3


def mills(a):
    return erfcx(a / np.sqrt(2)) / 2


def weight(a):
    exponent = np.log2(np.maximum(a, 1e-3) * mills(a)) - a * a / 2 / np.log(2)
    return np.where(exponent < -126, 2.0 ** (np.maximum(exponent, -150) + 126), 1)


def remez(rows, target):
    """Coefficients c that minimise the largest |c rows - target|, and that error: reweighted least squares, then exchanges."""
    q, r = np.linalg.qr(rows.T)
    count, weights = len(rows), np.ones(len(target))
    for _ in range(60):
        root = np.sqrt(weights)
        c = np.linalg.lstsq(q * root[:, None], target * root, rcond=None)[0]
        weights *= np.abs(q @ c - target) + 1e-18
        weights /= weights.sum()
    best, best_c = np.abs(q @ c - target).max(), c
    for _ in range(40):
        error = q @ c - target
        runs = np.split(np.arange(len(target)), np.flatnonzero(np.diff(np.sign(error))) + 1)
        peaks = [run[np.argmax(np.abs(error[run]))] for run in runs]
        while len(peaks) > count + 1:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        if len(peaks) < count + 1:
            break
        signs = np.array([(-1) ** i for i in range(count + 1)])
        c = np.linalg.solve(np.hstack([q[peaks], signs[:, None]]), target[peaks])[:-1]
        largest = np.abs(q @ c - target).max()
        if largest < best:
            best, best_c = largest, c
    return np.linalg.solve(r, best_c), best


def fit(c, degree, factor, center=0.0, trials=0):
    """Coefficients of R(a) (a + c) factor, and the relative error in bits. Trials change two coefficients by up to 3 ulp."""
    low, high = 1 / (LAST + c), 1 / c
    u = np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    t = (low + high) / 2 + (high - low) / 2 * u
    a = np.maximum(1 / t - c, 0)
    target, t = mills(a) * (a + c) * factor, t - center
    scale = weight(a) / target
    rounded = {}
    for power in range(degree, -1, -1):
        rest = (target - sum(v * t ** i for i, v in rounded.items())) * scale
        rows = np.array([chebyshev.chebval(u, np.eye(power + 1)[i]) for i in range(power + 1)]) * scale
        coefficients, _ = remez(rows, rest)
        series = chebyshev.Chebyshev(coefficients, domain=[low - center, high - center])
        rounded[power] = float(np.float32(series.convert(kind=np.polynomial.Polynomial).coef[power]))
    def error(coefficients):
        return np.abs((np.polyval(coefficients[::-1], t) - target) * scale).max()

    best, random = [rounded[i] for i in range(degree + 1)], np.random.default_rng(1)
    for _ in range(trials):
        other = list(best)
        for i in random.choice(min(degree + 1, 7), 2, replace=False):
            other[i] = float(np.float32(other[i]) + np.float32(random.integers(-3, 4)) * np.spacing(np.float32(other[i])))
        best = min(best, other, key=error)
    return best, np.log2(error(best))


def main():
    # 2^-15.1: the middle of what 1 - rest/2 lacks of exp(-rest/2), |rest| <= ln2/32
    middle = 1 + (np.log(2) / 32) ** 2 / 16
    # of 6 million numbers the one whose products with 2^(j/16) are nearest to FP32 numbers: 0.31 * 2^-24
    power = 1.0436941243901707 / np.sqrt(2)
    for name, c, degree, factor, center, trials in [("narrow", 4, 4, middle, 0, 0), ("single", 2.5, 9, 1 / power, 0.16015625, 20000)]:
        coefficients, bits = fit(c, degree, factor, center, trials)
        print(f"{name}: c {c}, 2^{bits:.1f}: " + ", ".join(f"{v:.9e}f" for v in coefficients))
    print("powers: " + ", ".join(float(np.float32(power * 2 ** (j / 16))).hex() for j in range(16)))
    rest = np.linspace(-np.log(2) / 16, np.log(2) / 16, 2000)
    coefficients, error = remez(np.array([rest, rest ** 2, rest ** 3]), np.expm1(-rest / 2))
    print(f"exp(-rest/2) - 1: 2^{np.log2(error):.1f}: " + ", ".join(f"{v:.9e}f" for v in coefficients))


if __name__ == "__main__":
    main()
