#!/usr/bin/env python3
"""reflow.py puts a sentence on a line and leaves alone what is not a sentence."""
import unittest

from reflow import reflow


class Reflow(unittest.TestCase):
    def becomes(self, before, after):
        self.assertEqual(reflow(before), after)
        self.assertEqual(reflow(after), after)

    def test_sentences(self):
        self.becomes("One is\nhere. Two (it\nis. So) is. dX\nis three.\n", "One is here.\nTwo (it is. So) is.\ndX is three.\n")

    def test_what_does_not_end_a_sentence(self):
        text = "Of 0, 1, .. C-1 and `a. B` and [a. B](x.md) and e.g. Conv and 3.5 V.\n"
        self.becomes(text, text)

    def test_items(self):
        self.becomes("- One. Two\n  goes on.\n- Three.\n1. Four. Five.\n2. Six.\n", "- One.\n  Two goes on.\n- Three.\n1. Four.\n   Five.\n2. Six.\n")

    def test_no_line_becomes_an_item(self):
        text = "Times 3. 4. comes next.\n"
        self.becomes(text, text)

    def test_code_tables_and_comments_stay(self):
        text = "```sh\na. B\n  c\n```\n\n    x. Y\n    z\n\n| a. B | C |\n|---|---|\n<!-- not run: it. So -->\n# A. B\n"
        self.becomes(text, text)


if __name__ == "__main__":
    unittest.main()
