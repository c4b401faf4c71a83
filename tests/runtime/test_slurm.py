#!/usr/bin/env python3
"""`--launcher slurm` on a real Slurm of its own: the same results as here, also where a node dies and a job is killed.

    tests/runtime/test_slurm.py TEGULA PART...

PART is others, starter_ends or node_dies. Skipped (status 77) without Debian's slurmctld, slurmd, slurm-client and munge."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import slurm_cluster

SUITE = """models:
  - {zoo: gemm, sizes: {m: [16, 17, 18], n: 24, k: 33}}
flags: {mp0: "--arch tiny", mp1: "--arch tiny --graphamp-preset mp1"}
"""

# Notes each run with its node. On a cluster the first job of one case never ends, and that of another kills whoever started it.
WRAPPER = """#!/bin/sh
here=$(dirname "$0")
if [ "$1" = run ]; then
  echo "${SLURMD_NODENAME:-here} $*" >> "$here/runs"
  case "$SLURMD_NODENAME:$*" in
  :*) ;;
  *-m17-*mp1*) if mkdir "$here/hanging" 2>/dev/null; then echo "$SLURMD_NODENAME $$" > "$here/victim.part"
                 mv "$here/victim.part" "$here/victim"; exec sleep 600; fi ;;
  *-m18-*mp1*) if mkdir "$here/killed" 2>/dev/null; then kill -9 $PPID; sleep 1; fi ;;
  esac
fi
exec %s "$@"
"""


def check(condition, what):
    if not condition:
        sys.exit(what)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, what + " does not come")
        time.sleep(0.05)


class Test:
    def __init__(self, tegula, folder, cluster):
        self.tegula, self.folder, self.cluster = tegula, folder, cluster

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, status=0):
        done = subprocess.run([self.tegula, *words], cwd=self.folder, env=self.cluster.environment, capture_output=True,
                              encoding="utf-8", check=False)
        check(done.returncode == status, f"{words}: status {done.returncode}, not {status}: {done.stderr}")
        return done

    def regress(self, results):
        return [self.tegula, "regress", "suite.yaml", "--command", "./wrapper", "--results", results, "--launcher", "slurm"]

    def nodes_of(self, case):
        model, flags = case.split("/")[:2]
        flags = "graphamp-preset mp1" if flags == "mp1" else "--arch tiny"
        wanted = lambda line: model in line and flags in line and ("mp1" in line) == ("mp1" in case)
        return [line.split()[0] for line in read(self.path("runs")).splitlines() if wanted(line)]

    def node_dies(self):
        """A node is killed with its job, another job is killed alone: their cases run on other nodes, all others once."""
        with subprocess.Popen(self.regress("there"), cwd=self.folder, env=self.cluster.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, encoding="utf-8") as running:
            wait_for("the job that hangs", lambda: os.path.exists(self.path("victim")))
            node, pid = read(self.path("victim")).split()
            self.cluster.kill_node(node, int(pid))
            said = running.communicate(timeout=200)[1]
        check(running.returncode == 0, f"regress: status {running.returncode}: {said}")
        check(read(self.path("there/results.json")) == read(self.path("here/results.json")), "other results than here")
        for case in [one["case"] for one in json.loads(read(self.path("there/results.json")))["cases"]]:
            nodes = self.nodes_of(case)
            twice = "mp1" in case and ("-m17-" in case or "-m18-" in case)
            check(len(nodes) == 1 + twice, f"{case} ran on {nodes}")
            check(len(set(nodes)) == len(nodes), f"{case} was tried again on the node where it was lost: {nodes}")
            check((case + ": lost on " + nodes[0] in said) == twice, f"{case}: not told that it was lost: {said}")
        check(node in self.nodes_of("gemm-m17-n24-k33/mp1"), "not the killed node's case")
        self.nothing_left("there")

    def nothing_left(self, folder):
        left = [name for name in os.listdir(self.path(folder)) if name.startswith("launch-")]
        check(not left, f"left behind: {left}")
        wait_for("the end of all jobs", lambda: not self.cluster.ask("squeue", "-h").strip())

    def starter_ends(self):
        """Ended by a signal, it cancels its jobs; killed, the next one does, and keeps what was finished."""
        for number in [signal.SIGTERM, signal.SIGKILL]:
            for name in ["hanging", "victim"]:
                if os.path.exists(self.path(name)):
                    (os.rmdir if name == "hanging" else os.remove)(self.path(name))
            with subprocess.Popen(self.regress("ended") + ["--resume"], cwd=self.folder, env=self.cluster.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                wait_for("the job that hangs", lambda: os.path.exists(self.path("victim")))
                running.send_signal(number)
                running.wait(60)
            check(running.returncode == -number, f"signal {number}: status {running.returncode}")
            if number == signal.SIGTERM:
                self.nothing_left("ended")
        check([name for name in os.listdir(self.path("ended")) if name.startswith("launch-")], "the kill left no folder to clear")
        subprocess.run(self.regress("ended") + ["--resume"], cwd=self.folder, env=self.cluster.environment, check=True,
                       stdout=subprocess.DEVNULL)
        check(read(self.path("ended/results.json")) == read(self.path("here/results.json")), "other results after --resume")
        self.nothing_left("ended")

    def others(self):
        """sweep and tune give what they give here."""
        sweep = ["sweep", "gemm.onnx", "--arch", "tiny", "--set", "port_bytes=16,32", "--policy", "mp1", "--json"]
        tune = ["tune", "gemm.onnx", "--arch", "tiny", "--max-error", "0.01", "--max-runs", "12", "--json", "-o"]
        there = ["--launcher", "slurm", "-j", "2", "--launcher-options", "--comment='two words' --nice=5"]
        check(self.run(*sweep).stdout == self.run(*sweep, *there).stdout, "sweep: other rows than here")
        check(self.run(*tune, "a.rules").stdout == self.run(*tune, "b.rules", *there).stdout, "tune: another table than here")
        check(read(self.path("a.rules")) == read(self.path("b.rules")), "tune: other rules than here")
        said = self.run(*sweep, "--launcher", "slurm", "--launcher-options", "--partition=nowhere", status=2).stderr
        check("sbatch failed" in said and "partition" in said and said.count("\n") == 1, f"no line of what is wrong: {said}")
        said = self.run("sweep", "gemm.onnx", "--set", "port_bytes=7", "--policy", "mp1", "--launcher", "slurm", status=2).stderr
        check("port_bytes" in said and said.count("\n") == 1, f"not the job's own line: {said}")
        self.nothing_left(".")


def main():
    missing = [name for name in slurm_cluster.PROGRAMS if not slurm_cluster.program(name)]
    if missing:
        print("skipped: not here: " + ", ".join(missing) + " (Debian's slurmctld, slurmd, slurm-client and munge)")
        sys.exit(77)
    tegula = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, slurm_cluster.Cluster(nodes=3) as cluster:
        test = Test(tegula, folder, cluster)
        with open(test.path("suite.yaml"), "w", encoding="utf-8") as file:
            file.write(SUITE)
        with open(test.path("wrapper"), "w", encoding="utf-8") as file:
            file.write(WRAPPER % tegula)
        os.chmod(test.path("wrapper"), 0o755)
        test.run("zoo", "gemm", "--m", "20", "--n", "16", "--k", "33", "-q", "-o", "gemm.onnx")
        test.run("regress", "suite.yaml", "--command", "./wrapper", "--results", "here")
        os.remove(test.path("runs"))
        for part in sys.argv[2:]:
            begin = time.monotonic()
            getattr(test, part)()
            print(f"{part}: {time.monotonic() - begin:.1f} s")


main()
