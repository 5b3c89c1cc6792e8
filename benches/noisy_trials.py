"""The gate on the shipped cases: what it must fail, and how often it may cry wolf.

usage: noisy_trials.py [--kelvin PATH] [--trials 100] [--base-repeats 1] [--flip 0.05 0.15] [--jobs 1]
                       [--keep-answers SECONDS] [--copies N] [--answers-only]

Everything happens in a repository with a remote: the base is saved with `kelvin baseline save`, the
change is a branch, and `kelvin gate` is called without any option. The grounded example is replaced by the position-biased one, which has to fail for invariance; by the
constant one, which has to fail for sensitivity; and by itself with its code said otherwise, which has
to pass. Then the noisy example is gated against itself at each noise, with a seed for each trial: at
least 95 of 100 have to pass. It is the same pipeline, so no gate may say that its answers are others, only that some
runs answer otherwise: the trials are counted by what the gate says of the answers. Every run is a whole process of the real binary. In the trials the decisions of the
grounded example come from a table that its own answers were written to, and the chance has a seed.
With one job at a time a seed decides everything; with more, which repeat gets which answer is open.

With `--copies 2` there are twice as many cases, each with another title. With `--answers-only` no replacement is gated,
and each case has one variant: enough for what is said of the answers, in a tenth of the time.

With `--keep-answers` the noisy example has a cache of its own by input, empty on either side: the first
call takes so many seconds, later ones take none and give the same answer. Both sides have `repeats: 5`.
"""

import argparse
import collections
import json
import math
import os
import re
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
env: [TRIAL, FLIP_PROBABILITY, KEEP_ANSWERS, WAIT_SECONDS]
jobs: {jobs}
repeats: {repeats}
{more}"""
# One variant of each case, which tells as much of its answer as the case itself.
ANSWERS_ONLY = "variants: {reorder: 1, pad_length: 0, pad_content: 0, swap: 0}\n"
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
KEPT_REPEATS = 5
# Nothing that says where this runs.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}


class Project:
    def __init__(self, folder, kelvin, copies=1, more=""):
        self.more = more
        self.folder, self.kelvin = folder / "work", kelvin
        self.folder.mkdir()
        shutil.copytree(ROOT / "cases", self.folder / "cases")
        for copy in range(2, copies + 1):
            for case in sorted((ROOT / "cases").iterdir()):
                text = case.read_text().replace("\n", f", request {copy}\n", 1)
                (self.folder / "cases" / f"{case.stem}-{copy}.md").write_text(text)
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(folder / "remote"))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("remote", "add", "origin", f"file://{folder}/remote")
        # What the pipelines leave behind is none of their code.
        (self.folder / ".gitignore").write_text("/kelvin/\n/table/\n/runs/\n/kept/\n/noisy_pipeline\n")

    def git(self, *arguments):
        name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "gc.auto=0"]
        done = subprocess.run(
            ["git", *name, *arguments], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"git {' '.join(arguments)}: {done.stderr}")

    def commit(self, branch, pipeline, repeats=1, jobs=None):
        """Commits a configuration: the base on `main`, anything else on a branch that begins there."""
        self.git("checkout", "--quiet", *(["-B", branch] if branch != "main" else [branch, "--"]))
        config = CONFIG.format(
            run=pipeline, jobs=jobs or os.cpu_count() or 2, repeats=repeats, more=self.more
        )
        (self.folder / "kelvin.yaml").write_text(config)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", branch)

    def save(self, env=None):
        """Measures what is checked out and keeps its report as the baseline."""
        assert self.run(["check"], env) == 0
        assert self.run(["baseline", "save"], env) == 0

    def run(self, command, env=None):
        """Runs the binary; gives its exit code."""
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
        self.said = done.stdout
        return done.returncode

    def judgement(self):
        return json.loads((self.folder / "kelvin/gate.json").read_text())


def pair(project):
    """The replacements of the grounded example that must fail, and the one that must not."""
    examples = project.folder / "examples"
    code = (examples / "grounded/pipeline.py").read_text()
    otherwise = "# The same.\n" + code.replace("\n\n\n", "\n\n\n\n")
    (examples / "grounded/said_otherwise.py").write_text(otherwise)
    project.git("commit", "--quiet", "--allow-empty", "-m", "empty")
    project.commit("main", "python3 examples/grounded/pipeline.py {input} {output}")
    project.save()
    wanted = [
        ("python3 examples/position-biased/pipeline.py {input} {output}", "evidence.invariance"),
        ("sh examples/constant/pipeline.sh {input} {output}", "evidence.following."),
        ("python3 examples/grounded/said_otherwise.py {input} {output}", None),
    ]
    for pipeline, metric in wanted:
        project.git("checkout", "--quiet", "main")
        project.commit("change", pipeline)
        code = project.run(["gate"])
        judged = project.judgement()
        if metric is None:
            assert (code, judged["verdict"], judged["reruns"]) == (0, "pass", 0), judged
        else:
            assert (code, judged["verdict"]) == (3, "regression"), judged
            red = [name for name, one in judged["metrics"].items() if one["verdict"] == "regression"]
            assert any(name.startswith(metric) for name in red), judged
        print(f"{pipeline.split()[1]}: {judged['verdict']}" + (f" of {metric}" if metric else ""))


def record(project):
    """Writes the grounded answers to a table and compiles the program that reads it."""
    table = project.folder / "table"
    table.mkdir()
    (project.folder / "record.py").write_text(RECORD)
    pipeline = project.folder / "examples/grounded/pipeline.py"
    run = f"python3 record.py {table} {pipeline} {{input}} {{output}}"
    project.git("checkout", "--quiet", "main")
    project.commit("record", run)
    assert project.run(["check"]) == 0
    program = project.folder / "noisy_pipeline"
    source = ROOT / "benches/programs/noisy_pipeline.rs"
    subprocess.run(["rustc", "-O", "--edition", "2024", "-o", program, source], check=True)
    return program, table


def trial(project, program, table, seed, flip, options):
    """One trial; gives its judgement."""
    runs = project.folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir()
    run = f"{program} {table} {runs} {{input}} {{output}}"
    env = {"TRIAL": str(seed), "FLIP_PROBABILITY": str(flip)}
    keeps = options.keep_answers is not None
    base_repeats, repeats = (KEPT_REPEATS,) * 2 if keeps else (options.base_repeats, 1)
    project.git("checkout", "--quiet", "main")
    project.commit("main", run, base_repeats, options.jobs)
    project.save(env | empty_cache(project, options))
    project.commit("change", run, repeats, options.jobs)
    code = project.run(["gate"], env | empty_cache(project, options))
    judged = project.judgement()
    assert judged["passed"] == (code == 0), judged
    told = " ".join(judged["differences"])
    if keeps and told.count("count as one run") < 2:
        print(f"trial {seed}: answers that were kept were taken for new ones; was the machine busy?")
    return judged


def empty_cache(project, options):
    """The environment of a pipeline that keeps its answers, and has none yet."""
    if options.keep_answers is None:
        return {}
    kept = project.folder / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    return {"KEEP_ANSWERS": str(kept), "WAIT_SECONDS": str(options.keep_answers)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kelvin", default=ROOT / "target/release/kelvin", type=Path)
    parser.add_argument("--trials", default=100, type=int)
    parser.add_argument("--base-repeats", default=1, type=int)
    parser.add_argument("--flip", default=[0.05, 0.15], type=float, nargs="+")
    parser.add_argument("--jobs", default=1, type=int)
    parser.add_argument("--answers-only", action="store_true")
    parser.add_argument("--copies", default=1, type=int, metavar="N")
    parser.add_argument("--keep-answers", type=float, metavar="SECONDS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        more = ANSWERS_ONLY if options.answers_only else ""
        project = Project(Path(folder), options.kelvin.resolve(), options.copies, more)
        if options.answers_only:
            project.git("commit", "--quiet", "--allow-empty", "-m", "empty")
            project.commit("main", "python3 examples/grounded/pipeline.py {input} {output}")
        else:
            pair(project)
        program, table = record(project)
        # Every noise is tried before the verdict on all of them.
        wanting = [flip for flip in options.flip if not noise(project, program, table, flip, options)]
    if wanting:
        sys.exit(f"too many false alarms at noise {wanting}")


def noise(project, program, table, flip, options):
    """The trials at one noise; gives whether enough of them passed."""
    words, answers = collections.Counter(), collections.Counter()
    passed, runs, start = 0, 0.0, time.monotonic()
    for seed in range(options.trials):
        judged = trial(project, program, table, seed, flip, options)
        words[judged["verdict"]] += 1
        answers[of_answers(project, judged)] += 1
        passed += judged["passed"]
        report = json.loads((project.folder / "kelvin/report.json").read_text())
        calls = report["run"]["session"]["cost"]["invocations"]
        runs += calls / (calls - judged["reruns"])
        if not judged["passed"]:
            print(f"trial {seed}: {[reason['text'] for reason in judged['reasons']]}")
    seconds = time.monotonic() - start
    print(
        f"noise {flip}: {passed} of {options.trials} trials passed, {dict(words)}, "
        f"{runs / options.trials:.1f} runs of the suite each, {seconds:.0f} s; answers: {dict(answers)}"
    )
    return passed >= least(options.trials)


def of_answers(project, judged):
    """What the gate has said of the answers, in a few words."""
    counts = judged["answers"]["evidence"]
    said = " ".join(project.said[project.said.index("Gate ") :].split())
    # What a headline, a reason or a list says of answers that changed begins with these words.
    changed = re.search(r"\d+ of \d+ cases (is|are) answered otherwise(?! in some runs)", said)
    varied = re.search(r"\d+ (?:more )?of \d+ cases (is|are) answered otherwise in some runs( or rewrites)?(, as \w+)?", said)
    assert bool(changed) == (counts["other"] > 0), (counts, said)
    assert bool(varied) == (counts["varied"] > 0), (counts, said)
    if changed:
        return "changed"
    if not varied:
        return "nothing said"
    return "vary, as on the base" if varied.group(3) else "vary, unlike the base"


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
