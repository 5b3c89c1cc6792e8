"""The gate on the shipped cases: what it must fail, and how often it may cry wolf.

usage: noisy_trials.py [--kelvin PATH] [--trials 100] [--base-repeats 5] [--flip 0.1] [--jobs 1]

The grounded example is replaced by the position-biased one, which has to fail for invariance; by the
constant one, which has to fail for sensitivity; and by itself with its code said otherwise, which has
to pass. Then the noisy example is gated against itself, with a seed for each trial: at least 95 of
100 have to pass. Every run is a whole process of the real binary. In the trials the decisions of the
grounded example come from a table that its own answers were written to, and the chance has a seed.
With one job at a time a seed decides everything; with more, which repeat gets which answer is open.
"""

import argparse
import collections
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = """\
run: {run}
cases: cases
decision_field: decision
governing_types: [release_rule, verification_record]
env: [TRIAL, FLIP_PROBABILITY]
jobs: {jobs}
repeats: {repeats}
baseline: {{ file: base/report.json }}
"""
# Writes each answer of the grounded example under the hash of its input, as the program reads it.
RECORD = """\
import json, shutil, subprocess, sys
table, pipeline, source, target = sys.argv[1:]
subprocess.run([sys.executable, pipeline, source, target], check=True)
mark = 0xCBF29CE484222325
for byte in open(source, "rb").read():
    mark = ((mark ^ byte) * 0x100000001B3) % 2**64
with open(f"{table}/{mark:016x}", "w") as file:
    file.write(json.load(open(target))["decision"])
"""
LEAST_SHARE = 0.95
# Nothing that says where this runs.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}


class Project:
    def __init__(self, folder, kelvin):
        self.folder, self.kelvin = folder, kelvin
        shutil.copytree(ROOT / "cases", folder / "cases")

    def run(self, command, pipeline, repeats=1, env=None, jobs=None):
        """Runs the binary; gives its exit code."""
        config = CONFIG.format(run=pipeline, jobs=jobs or os.cpu_count() or 2, repeats=repeats)
        (self.folder / "kelvin.yaml").write_text(config)
        done = subprocess.run(
            [self.kelvin, *command],
            cwd=self.folder,
            env={**ENVIRONMENT, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 3):
            sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.returncode

    def judgement(self):
        return json.loads((self.folder / "kelvin/gate.json").read_text())


def pair(project):
    """The replacements of the grounded example that must fail, and the one that must not."""
    examples = project.folder / "examples"
    shutil.copytree(ROOT / "examples", examples)
    code = (examples / "grounded/pipeline.py").read_text()
    otherwise = "# The same.\n" + code.replace("\n\n\n", "\n\n\n\n")
    (examples / "grounded/said_otherwise.py").write_text(otherwise)
    grounded = "python3 examples/grounded/pipeline.py {input} {output}"
    assert project.run(["check", "--out", "base"], grounded) == 0
    wanted = [
        ("python3 examples/position-biased/pipeline.py {input} {output}", "evidence.invariance"),
        ("sh examples/constant/pipeline.sh {input} {output}", "evidence.sensitivity"),
        ("python3 examples/grounded/said_otherwise.py {input} {output}", None),
    ]
    for pipeline, metric in wanted:
        code = project.run(["gate", "--rerun"], pipeline)
        judged = project.judgement()
        if metric is None:
            assert (code, judged["verdict"]) == (0, "pass"), judged
        else:
            assert (code, judged["verdict"]) == (3, "regression"), judged
            assert judged["metrics"][metric]["verdict"] == "regression", judged
        print(f"{pipeline.split()[1]}: {judged['verdict']}" + (f" of {metric}" if metric else ""))


def record(project):
    """Writes the grounded answers to a table and compiles the program that reads it."""
    table = project.folder / "table"
    table.mkdir()
    (project.folder / "record.py").write_text(RECORD)
    pipeline = project.folder / "examples/grounded/pipeline.py"
    run = f"python3 record.py {table} {pipeline} {{input}} {{output}}"
    assert project.run(["check"], run) == 0
    program = project.folder / "noisy_pipeline"
    source = ROOT / "benches/programs/noisy_pipeline.rs"
    subprocess.run(["rustc", "-O", "--edition", "2024", "-o", program, source], check=True)
    return program, table


def trial(project, program, table, seed, options):
    """One trial; gives its judgement."""
    runs = project.folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir()
    run = f"{program} {table} {runs} {{input}} {{output}}"
    env = {"TRIAL": str(seed), "FLIP_PROBABILITY": str(options.flip)}
    assert project.run(["check", "--out", "base"], run, options.base_repeats, env, options.jobs) == 0
    code = project.run(["gate", "--rerun"], run, 1, env, options.jobs)
    judged = project.judgement()
    assert judged["passed"] == (code == 0), judged
    return judged


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kelvin", default=ROOT / "target/release/kelvin", type=Path)
    parser.add_argument("--trials", default=100, type=int)
    parser.add_argument("--base-repeats", default=5, type=int)
    parser.add_argument("--flip", default=0.1, type=float)
    parser.add_argument("--jobs", default=1, type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), options.kelvin.resolve())
        pair(project)
        program, table = record(project)
        words, passed, start = collections.Counter(), 0, time.monotonic()
        for seed in range(options.trials):
            judged = trial(project, program, table, seed, options)
            words[judged["verdict"]] += 1
            passed += judged["passed"]
            if not judged["passed"]:
                print(f"trial {seed}: {[reason['text'] for reason in judged['reasons']]}")
        seconds = time.monotonic() - start
        print(f"{passed} of {options.trials} trials passed, {dict(words)}, {seconds:.0f} s")
        if passed < least(options.trials):
            sys.exit("too many false alarms")


def least(trials):
    """How many have to pass: 95 of 100. Fewer trials can only contradict that rate, so there it is
    the smallest number that a gate with that rate falls short of in at most 1 % of all tries."""
    if trials >= 100:
        return LEAST_SHARE * trials
    below = 0.0
    for passed in range(trials + 1):
        below += (
            math.comb(trials, passed)
            * LEAST_SHARE**passed
            * (1 - LEAST_SHARE) ** (trials - passed)
        )
        if below > 0.01:
            return passed
    return trials


if __name__ == "__main__":
    main()
