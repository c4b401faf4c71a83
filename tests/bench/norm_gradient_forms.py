#!/usr/bin/env python3
"""Forms of a batch normalisation's input gradient in FP32 against double precision (docs/decisions/030): what of 4096
elements a channel each of them loses beside exact sums, with the statistics rounded to FP32. Needs python3-numpy."""
import numpy as np

f32, f64, rows, channels = np.float32, np.float64, 4096, 16


def mean(a):
    return a.astype(f64).mean(0).astype(f32)


def forms(x, dy, m, r, scale):
    """In the order of operations; factors and terms of a channel are computed once, in FP32, too."""
    d, g, first = x - m, scale * r, mean(dy)
    z = d * r
    slope = r * (r * mean(dy * d))
    from_zero = first - m * slope
    return {
        'g (dy - (mean dy + z mean(dy z))), z = d r: 6': g * (dy - (first + z * mean(dy * z))),
        'g (dy - (mean dy + d slope)): 5': g * (dy - (first + d * slope)),
        '((dy - mean dy) - d slope) g: 5': ((dy - first) - d * slope) * g,
        'g dy - (d g slope + g mean dy): 5': g * dy - (d * (g * slope) + g * first),
        'g (dy - (x slope + c)): 4': g * (dy - (x * slope + from_zero)),
    }


for about, deviation, dy_about in ((0.5, 1, 0), (30, 1, 0), (1000, 0.01, 0), (1000, 0.01, 10), (0, 1e4, 0.1)):
    random = np.random.default_rng(1)
    x = (about + deviation * random.standard_normal((rows, channels))).astype(f32)
    z = (x - x.astype(f64).mean(0)) / x.astype(f64).std(0)
    dy = (dy_about + random.standard_normal((rows, channels)) + 0.3 * z).astype(f32)
    scale = random.uniform(0.5, 1.5, channels).astype(f32)
    m, r = mean(x), (1 / np.sqrt(x.astype(f64).var(0) + 1e-5)).astype(f32)
    z = (x - m.astype(f64)) * r
    want = scale * r.astype(f64) * (dy - (dy.astype(f64).mean(0) + z * (dy * z).mean(0)))
    print('x about %g, deviation %g, dy about %g' % (about, deviation, dy_about))
    for name, got in forms(x, dy, m, r, scale).items():
        print('  %-50s %.1e of dx, at most %.1e' % (name, np.sqrt(((got - want) ** 2).mean() / (want ** 2).mean()),
                                                    np.abs(got - want).max() / np.abs(want).max()))
