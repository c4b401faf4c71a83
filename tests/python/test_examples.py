"""The listings of docs/examples/python, run as they are: what they print says what their documents say. Needs PyTorch."""

import os
import re
import subprocess
import sys
import unittest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples/python")


def printed(name):
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name + ".py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return done.stdout


def numbers(text):
    return [float(number) for number in re.findall(r"(?<![\w.])\d+\.?\d*(?:e-?\d+)?", text)]


class Examples(unittest.TestCase):
    def test_presets_and_a_region(self):
        text = printed("graphamp")
        rows = [line.split() for line in text.splitlines()]
        share, error = [float(row[row.index("of") - 1]) for row in rows], [float(row[-1]) for row in rows]
        self.assertEqual(share[0], 1)
        self.assertLess(max(share[1:]), 0.7)
        self.assertLess(error[0], 1e-6)
        self.assertTrue(all(1e-5 < e < 5e-3 for e in error[1:]), error)
        self.assertIn("region  bf16", text)  # what the region gives

    def test_casts_formats_and_a_scaler(self):
        lines = printed("torch_amp").splitlines()
        self.assertEqual(lines[0], "Multiplication: f16, addition: f32")
        highest, high, medium = (float(line.split()[-1]) for line in lines[1:4])
        self.assertTrue(highest < high / 50 and high < medium / 3)
        (first, last), (amp_first, amp_last) = map(numbers, lines[4:])
        self.assertLess(last, first / 3)
        self.assertAlmostEqual(amp_last, last, delta=0.02)
        self.assertAlmostEqual(amp_first, first, delta=0.02)

    def test_autocast_of_a_layer_and_a_rule(self):
        plain, amp, followed, kept = (numbers(line) for line in printed("raf_autocast").splitlines())
        self.assertLess(amp[0], plain[0] / 1.8)
        self.assertLess(amp[1], plain[1])
        self.assertLess(kept[-1], followed[-1])

    def test_a_linear_layer_is_trained(self):
        plain, mixed = (numbers(line) for line in printed("hmp_linear").splitlines())
        first, last = plain[-4:-2]
        self.assertLess(last, first)
        self.assertAlmostEqual(mixed[-3], last, delta=1e-3)
        self.assertLess(mixed[-1], 1)  # of the memory


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit(77)
    unittest.main()
