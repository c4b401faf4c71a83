#!/usr/bin/env python3
"""What CI systems and containers read: the steps of the GitHub Action run, the workflows name jobs, options and files that
there are, and the Containerfile has stages and paths that fit.

    tests/docs/test_ci.py TEGULA

Skipped (status 77) without Debian's python3-yaml."""

import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: there is no python3-yaml here")
    sys.exit(77)

EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


def check(condition, what):
    if not condition:
        sys.exit(what)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- the action

def run_action(action, given, environment, folder):
    """The exit status of each step that runs, as GitHub would: inputs are put into `env`, a failure ends all but `always()`."""
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()} | given
    failed, statuses = False, []
    for step in action["runs"]["steps"]:
        condition = step.get("if", "")
        if (failed and condition != "always()") or (condition == "inputs.package == ''" and inputs["package"]):
            continue
        own = {name: EXPRESSION.sub(lambda match: inputs[match.group(1).removeprefix("inputs.")], value) for name, value in step.get("env", {}).items()}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder, env=environment | own,
                              capture_output=True, text=True, check=False)
        statuses.append(done.returncode)
        failed |= done.returncode != 0
    return statuses


def check_action(command):
    action = yaml.safe_load(read("docs/ci/action/action.yml"))
    check(action["runs"]["using"] == "composite" and action["name"] and action["description"], "the action is no composite action")
    steps = action["runs"]["steps"]
    for step in steps:
        check(set(step) <= {"if", "shell", "run", "name", "env"} and step["shell"] == "bash", f"a step has {set(step)}")
        check(step.get("if", "always()") in ("always()", "inputs.package == ''"), f"a step runs if {step.get('if')}")
        check("${{" not in step["run"], f"text of others is put into a script: {step['run']}")
    used = set(EXPRESSION.findall("\n".join(value for step in steps for value in step.get("env", {}).values())))
    check(used == {"inputs." + name for name in action["inputs"]}, f"the action uses {used}, and has {set(action['inputs'])}")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        os.symlink(command, folder + "/bin/tegula")
        with open(folder + "/bin/apt-get", "w", encoding="utf-8") as file:  # installs what is a file, by a name that apt takes for one
            file.write('#!/bin/sh\necho "$*" >> "$APT"\nfor last; do :; done\n'
                       '[ "$1" = update ] || case "$last" in */*.deb) [ -f "$last" ] ;; *) exit 100 ;; esac\n')
        os.chmod(folder + "/bin/apt-get", 0o755)
        environment = {**os.environ, "PATH": folder + "/bin:" + os.environ["PATH"], "APT": folder + "/apt", "GITHUB_STEP_SUMMARY": folder + "/summary",
                       "GITHUB_ACTION_PATH": os.path.abspath("docs/ci/action")}
        with open(folder + "/tegula.deb", "w", encoding="utf-8"):
            pass
        with open(folder + "/my suite.yaml", "w", encoding="utf-8") as file:
            file.write("models: [{zoo: gemm, sizes: {m: 8, n: 8, k: 8}}]\nflags: {tiny: --arch tiny}\n")
        given = {"suite": "my suite.yaml", "package": "tegula.deb", "options": "--require-baseline"}
        said = run_action(action, given, environment, folder)
        check(said == [0, 1, 0], f"{said}: a suite without a baseline is to fail and be summed up")
        check("no baseline" in read(folder + "/summary"), f"the summary says {read(folder + '/summary')}")
        check(run_action(action, given | {"options": "--update-baseline"}, environment, folder) == [0, 0, 0], "the suite is to pass")
        check(json.loads(read(folder + "/tegula-results/results.json"))["summary"]["passed"] == 1, "one case is to pass")
        check(run_action(action, given | {"options": "--label 'a b'"}, environment, folder) == [0, 0, 0], "a label in quotes is one word")
        shell = '"; touch done; $(touch done) `touch done` #'  # none of it is to run
        for name in action["inputs"]:
            run_action(action, given | {name: shell}, environment, folder)
            check(not os.path.exists(folder + "/done"), f"{name} is run by the shell")


# --- workflows

def options_of(command):
    text = subprocess.run([command, "regress", "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(--[a-z][a-z-]*)", text))


def check_commands(text, known):
    commands = re.findall(r"tegula regress .*", text)
    check(commands, "no suite is run")
    for line in commands:
        unknown = set(re.findall(r"(?<=\s)--[a-z-]+", line)) - known
        check(not unknown, f"{line}: there is no {unknown}")
    for path in re.findall(r"\btegula/([\w./-]+)", text):
        check(path.startswith("build/") or os.path.exists(path), f"{path} is no file of ours")


def check_workflows(known):
    text = read("docs/ci/github-actions.yml")
    jobs = yaml.safe_load(text)["jobs"]
    for name, job in jobs.items():
        check(job["runs-on"] and all(("run" in step) != ("uses" in step) for step in job["steps"]), f"{name}: a step neither runs nor uses")
        check(job.get("needs", name) in jobs, f"{name} needs {job.get('needs')}")
    made, taken = ({step["with"].get("name", step["with"].get("pattern")).split("${{")[0].rstrip("*") for job in jobs.values() for step in job["steps"]
                    if step.get("uses", "").startswith(f"actions/{what}-artifact@")} for what in ("upload", "download"))
    check(taken and taken <= made, f"artifacts {taken} are taken, {made} made")
    check_commands(text, known)
    text = read("docs/ci/gitlab-ci.yml")
    pipeline = yaml.safe_load(text)
    jobs = {name: job for name, job in pipeline.items() if isinstance(job, dict) and "script" in job}
    check([job["stage"] for job in jobs.values()] == pipeline["stages"], f"stages are {pipeline['stages']}")
    check_commands(text, known)


# --- the container

INSTRUCTIONS = {"FROM", "RUN", "COPY", "WORKDIR", "ENTRYPOINT", "CMD", "ENV", "ARG", "LABEL", "USER", "VOLUME", "EXPOSE"}


def check_container():
    lines = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", read("cmake/Containerfile"), flags=re.M)).splitlines()
    instructions = [line.split(None, 1) for line in lines if line.strip()]
    check(instructions[0][0] == "FROM" and {one[0] for one in instructions} <= INSTRUCTIONS, f"instructions are {instructions}")
    stages = {match.group(1) for one in instructions if one[0] == "FROM" and (match := re.search(r" AS (\w+)$", one[1]))}
    check(set(re.findall(r"--from=(\w+)", "\n".join(lines))) == stages and stages, f"stages are {stages}")
    for one in instructions:
        if one[0] == "RUN":
            subprocess.run(["sh", "-n", "-c", one[1]], check=True)
        if one[0] in ("ENTRYPOINT", "CMD"):
            check(json.loads(one[1])[0] == "tegula", f"it starts {one[1]}")
    build = re.search(r"\bBUILD=(\S+)", "\n".join(lines)).group(1)
    check(re.search(r"^BUILD \?=", read("Makefile"), flags=re.M), "the Makefile has no BUILD")
    packed = re.search(r"CPACK_PACKAGE_DIRECTORY \$\{CMAKE_BINARY_DIR\}(\S+)\)", read("cmake/package.cmake")).group(1)
    check(f"{build}{packed}/*.deb" in "\n".join(lines), "the package is elsewhere")
    check(f"/tmp/tegula-build{packed}/*.deb" in read("docs/ci/action/action.yml"), "the package of the action is elsewhere")


def main():
    command = os.path.abspath(sys.argv[1])
    check_action(command)
    check_workflows(options_of(command))
    check_container()
    print("the action runs, two workflows and a Containerfile are in order")


main()
