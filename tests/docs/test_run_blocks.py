#!/usr/bin/env python3
"""run_blocks.py lets what is printed pass, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_blocks.py")


def page(*parts):
    return "\n\n".join(parts) + "\n"


def commands(text):
    return f"```sh\n{text}\n```"


def output(text):
    return f"```output\n{text}\n```"


CYCLES = commands("echo '  cycles   120 = 0 us'; echo '  this CPU   34 ms'; echo 'mp1 60 2.00 1.3e-07'; echo 'rms 0.0412'")
TABLE = "| policy | cycles | speed-up | error |\n|---|---|---|---|\n"


class RunBlocks(unittest.TestCase):
    def run_page(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            self.path = os.path.join(folder, "page.md")
            with open(self.path, "w") as file:
                file.write(text)
            done = subprocess.run([sys.executable, RUN, self.path, "--build", folder] + list(options), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            with open(self.path) as file:
                self.after = file.read()
        return done.returncode, done.stdout + done.stderr

    def passes(self, text, *said):
        status, printed = self.run_page(text)
        self.assertEqual(status, 0, printed)
        for words in said:
            self.assertIn(words, printed)

    def fails(self, text, *said):
        status, printed = self.run_page(text)
        self.assertEqual(status, 1, printed)
        for words in said:
            self.assertIn(words, printed)

    def test_what_is_printed_passes(self):
        self.passes(page(CYCLES, output("cycles 120 = 0 us\n...\nrms [...]")), "1 blocks run, 1 outputs compared (2 lines)")

    def test_other_cycles_fail(self):
        self.fails(page(CYCLES, output("cycles 121 = 0 us")), "page.md:6", "shown `cycles 121 = 0 us`, printed `cycles   120 = 0 us`")

    def test_a_line_that_is_not_printed_fails(self):
        self.fails(page(CYCLES, output("...\nstalls 3")), "shown `stalls 3`")

    def test_a_line_left_out_fails(self):
        self.fails(page(CYCLES, output("cycles 120 = 0 us\nmp1 60 2.00 1.3e-07")))

    def test_figures_of_the_host_are_not_compared(self):
        self.passes(page(CYCLES, output("cycles 120 = 0 us\nthis CPU  99 ms\nmp1 60 2.00 1.3e-07")))
        self.fails(page(CYCLES, output("cycles 120 = 0 us\nsimulated in  99 ms")))

    def test_errors_have_a_tolerance(self):
        self.passes(page(CYCLES, output("...\nmp1 60 2.00 2.5e-07\nrms 0.0413")))
        self.fails(page(CYCLES, output("...\nrms 0.0430")))

    def test_rows(self):
        self.passes(page(CYCLES, "<!-- rows -->\n" + TABLE + "| mp1 | 60 | 2.00x | *1.3e-07* |"))
        self.fails(page(CYCLES, "<!-- rows -->\n" + TABLE + "| mp1 | 61 | 2.00x | 1.3e-07 |"), "printed: mp1 60")

    def test_figures_are_in_order(self):
        self.passes(page(CYCLES, "<!-- figures -->\n" + TABLE + "| any 7 | 120 | 60, 2.00x | 0.0412 |"))
        self.fails(page(CYCLES, "<!-- figures -->\n" + TABLE + "| any | 60, 2.00x | 120 | 0.0412 |"), "120 is not printed")
        self.passes(page(CYCLES, "<!-- among -->\n" + TABLE + "| any | 60, 2.00x | 120 | 0.0412 |"))

    def test_a_command_that_fails(self):
        self.fails(page(commands("true\nfalse | cat\ntrue")), "exit status 1")

    def test_a_block_of_commands_says_so(self):
        self.fails(page("```\ntegula zoo lenet\n```"), "begins with ```sh")
        self.fails(page("```text\nbuild/tegula zoo lenet\n```"), "begins with ```sh")

    def test_not_run_has_a_reason(self):
        self.fails(page("<!-- not run -->\n" + commands("false")), "has a reason")
        self.passes(page("<!-- not run: it fails -->\n" + commands("false"), output("no")), "1 not run: it fails", "0 blocks run")

    def test_long_blocks(self):
        text = page("<!-- long -->\n" + commands("echo cycles 5"), output("cycles 6"))
        self.passes(text, "1 not run: long")
        self.assertEqual(self.run_page(text, "--long")[0], 1)

    def test_instead_and_files(self):
        self.passes(page("<!-- file: a.txt -->\n```yaml\nkey: 5\n```", "<!-- instead: cat a.txt -->\n" + commands("make demo"), output("key: 5")))

    def test_lines_for_rtl(self):
        self.passes(page(commands("echo --engine rtl; exit 1")), "no RTL engine in this build")
        self.assertEqual(self.run_page(page(commands("echo --engine rtl; exit 1")), "--rtl")[0], 1)

    def test_update(self):
        self.assertEqual(self.run_page(page(CYCLES, output("cycles 1 = 0 us")), "--update")[0], 0)
        self.assertIn("  cycles   120 = 0 us", self.after)

    def test_update_of_rows(self):
        text = page(commands("echo '| mp1 | sgd | 60 |'"), "<!-- rows -->\n| | | cycles |\n|---|---|---|\n| mp1 | sgd | 70 |")
        self.assertEqual(self.run_page(text)[0], 1)
        self.assertEqual(self.run_page(text, "--update")[0], 0)
        self.assertIn("| mp1 | sgd | 60 |", self.after.split("\n")[6:])

    def test_markers_are_known_and_belong_to_something(self):
        self.fails(page("<!-- skip: no -->\n" + commands("true")), "a marker is one of")
        self.fails(page("<!-- rows -->", "Text."), "belongs to nothing")


if __name__ == "__main__":
    unittest.main()
