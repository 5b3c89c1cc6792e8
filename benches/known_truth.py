"""Whole gates of pipelines whose truth is known: how often each arm is red, open or passes.

usage: known_truth.py [--kelvin PATH] [--trials 20] [--arms WORD ...] [--list] [--seed 0] [--keep FOLDER]

An arm is a rule, what the change does to it, the noise of each call, and how the base is drawn: `1`, `3` or `5` runs
that are kept, or `again`, a base that the gate measures and may run again (`compute`). Each trial has cases and luck
of its own, in a repository of its own: the base is kept by `kelvin baseline save --local`, the change is a branch,
and `kelvin gate` is called without any option. `--arms and broken` runs the arms in whose name both words stand.

One row an arm: red (the job fails for a regression), fails (it fails for anything else), open (`inconclusive`), pass;
of the passes those that name a type that the suite cannot see; how often "may have broken" or "broke" is said; how
often "Nothing to do" is said; and the calls of the gate as multiples of one run of the suite. Where a type is lost,
`telling` counts the trials with ten swaps or more that moved on the base, and `told` those of them that are red. The
last column says what the truth asks for, with an exclamation mark where this many trials contradict it: where
nothing is noisy any trial may, else the rate has to be unlikely (1 %) if what is asked for were true.

The pipeline is one program of awk, and its luck follows from the number of the trial, so that a row is the same
each time.
"""

import argparse
import collections
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "tests/fixtures/pipelines/known.awk"
MODEL = ROOT / "benches/gate_simulation/real_model.txt"
NAMES = ["income", "collateral", "history", "purpose"]
# Nothing that says where this runs.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("GITHUB_", "RUNNER_", "ACTIONS_", "INPUT_", "KELVIN_")) and name != "CI"
}


class Arm:
    """A rule with its cases, a change, and how both are drawn."""

    def __init__(self, name, wants, base, head, **more):
        self.name, self.wants, self.base, self.head = name, wants, base, head
        self.types = more.pop("types", 2)
        self.cases = more.pop("cases", 20)
        self.share = more.pop("share", 0.5)
        self.draws = more.pop("draws", "1")
        self.config = more.pop("config", "")
        self.probe = more.pop("probe", "evidence")
        self.fresh = more.pop("fresh", None)
        self.noisy = self.fresh is not None or any(
            line.split()[0] in ("flip", "crash", "lose") and float(line.split()[1]) > 0
            for line in "\n".join([*base, *head]).splitlines()
            if line
        )
        assert not more, more


def rule(kind, types):
    return f"rule {kind} {' '.join(NAMES[:types])}"


def rules():
    """Every rule with each change that a rule can suffer."""
    for kind in ["and", "or", "majority", "lexicographic"]:
        for types in [2, 3] if kind in ("and", "or") else [3]:
            right = rule(kind, types)
            for share in [0.3, 0.4, 0.5, 0.6, 0.7] if kind == "and" else [0.5]:
                name = f"{kind} {types} types, share {share}"
                more = {"types": types, "share": share}
                lost = f"{right}\nforget {NAMES[types - 1]} 1"
                yield Arm(f"{name}: lost", "red or named", [right], [lost], **more)
                if kind == "and":
                    yield Arm(f"{name}, base 5: lost", "red or named", [right], [lost], draws="5", **more)
                yield Arm(f"{name}: restored", "never red", [lost], [right], **more)
                yield Arm(f"{name}: unchanged", "never red", [right], [right], **more)
            for every in [2, 3, 4]:
                part = f"{right}\nforget {NAMES[types - 1]} {every}"
                name = f"{kind} {types} types: ignored in every {every}."
                yield Arm(name, "no plain pass", [right], [part], types=types)
            part = f"{right}\nnarrow {NAMES[types - 1]} 3"
            name = f"{kind} {types} types: narrow in every 3."
            yield Arm(name, "no plain pass", [right], [part], types=types)
            for flip in [0.05, 0.15]:
                for draws in ["1", "5", "again"]:
                    noise, more = f"flip {flip}", {"types": types, "draws": draws}
                    name = f"{kind} {types} types, noise {flip}, base {draws}"
                    lost = f"{right}\nforget {NAMES[types - 1]} 1"
                    yield Arm(f"{name}: unchanged", "never red", [right, noise], [right, noise], **more)
                    yield Arm(f"{name}: noise removed", "never red", [right, noise], [right], **more)
                    yield Arm(f"{name}: lost", "red or named", [right, noise], [lost, noise], **more)
                    yield Arm(f"{name}: restored", "never red", [lost, noise], [right, noise], **more)
    score = rule("score", 1)
    for flip in [0, 0.05]:
        noise, more = f"flip {flip}", {"types": 1, "draws": "5" if flip else "1"}
        yield Arm(f"score, noise {flip}: constant", "red", [score, noise], ["rule fixed 690", noise], **more)
        yield Arm(f"score, noise {flip}: unchanged", "never red", [score, noise], [score, noise], **more)


def broken():
    """One broken item of a suite, and none."""
    right = rule("and", 2)
    quality = (
        "quality: {contract: {decision: string, reasons: array}, required_outputs: [/decision], live_runs: 1, "
        "usage: {input: /usage/input, output: /usage/output}}\n"
    )
    for cases in [1, 12, 40, 200]:
        for flip in [0, 0.05, 0.15]:
            noise = f"flip {flip}"
            # A score is lost, or a contract broken, without noise in it: the decision has it.
            kinds = [("crash", "", "evidence"), ("lose", quality, "evidence"), ("contract", quality, "evidence")]
            for kind, config, probe in [*kinds, ("check", "", "checks"), ("crash", "", "checks")]:
                if cases == 1 and probe == "evidence":
                    continue
                name = f"broken {probe} {kind} 1 of {cases}, noise {flip}"
                more = {"cases": cases, "draws": "5" if flip else "1", "config": config, "probe": probe}
                at = cases // 2
                head = [right, noise, f"broken {at} {kind}"]
                # A contract bounds a score and is not a declared check, so that an open verdict does for it.
                wants = "no plain pass" if kind == "contract" else "red"
                yield Arm(name, wants, [right, noise], head, **more)
                yield Arm(f"{name}: unchanged", "not accused", [right, noise], [right, noise], **more)
                if not flip:
                    yield Arm(f"{name}: mended", "never red", head, [right, noise], **more)
    for crash in [0.03, 0.1]:
        for draws in ["1", "5", "again"]:
            sides = [[right, f"crash {crash}"]] * 2
            yield Arm(f"crashing {crash}, base {draws}: unchanged", "not accused", *sides, draws=draws)
    sides = [right], [right, "lose .4"]
    yield Arm("2 of 5 lose their score", "no plain pass", *sides, config=quality + "repeats: 5\n", draws="5")


def answers():
    """Answers that are others, which no figure sees and only labels judge."""
    right = rule("and", 2)
    yield Arm("answers inverted", "told", [right], [right, "invert"])
    yield Arm("answers exchanged", "told", [right], [right, "exchange"])
    yield Arm("payouts halved", "told", [rule("payout", 1)], [rule("payout", 1), "halve"], types=1)


def model():
    """The real model, its calls drawn by the probabilities that were kept of it."""
    for fresh in [False, True]:
        for draws in ["1", "5", "again"]:
            for change in ["base", "section_dropped", "first_only", "temperature"]:
                for size in [16, 48] if fresh else [16]:
                    cases = f"{size} fresh" if fresh else "kept"
                    name = f"model {cases} cases, base {draws}: {change.replace('base', 'unchanged')}"
                    wants = {"base": "never red", "temperature": "any"}.get(change, "red")
                    more = {"types": 1, "cases": size, "draws": draws, "fresh": fresh}
                    yield Arm(name, wants, ["rule model base"], [f"rule model {change}"], **more)


def write_cases(folder, arm, chance):
    """The requests; so many of them hold for each type as the share says."""
    names = ["rule"] if arm.fresh is not None else NAMES[: arm.types]
    holds = {}
    for name in names:
        wanted = round(arm.share * arm.cases)
        holds[name] = [at < wanted for at in range(arm.cases)]
        chance.shuffle(holds[name])
    for at in range(arm.cases):
        units = [("Summary", f"Request {at} came in on day {at}.")]
        for name in names:
            grade = chance.randrange(500, 1000) if holds[name][at] else chance.randrange(500)
            units.append((name.title(), f"Grade {grade} of file {at}"))
        units.append(("Cost", f"It costs {100 + at} a day."))
        units.append(("History" if "history" not in names else "Contact", f"Last year it was number {at + 40}."))
        text = "".join(f"\n## {title}\n\n{body}\n" for title, body in units)
        (folder / f"request-{at:03}.md").write_text(f"# Request {at}\n{text}")


def write_model(path, arm, chance):
    """The table of the model. Fresh cases are those that were kept, drawn anew and moved a little."""
    rows = [line.split() for line in MODEL.read_text().splitlines() if line and not line.startswith("#")]
    by_arm = collections.defaultdict(list)
    for name, *figures in rows:
        by_arm[name].append([float(figure) for figure in figures])
    count = len(by_arm["base"])
    chosen = [chance.randrange(count) if arm.fresh else at for at in range(arm.cases)]
    # One movement for each case and input, alike in all arms: another case, and the same change.
    width = len(by_arm["base"][0])
    moves = [[chance.gauss(0, 0.3) if arm.fresh else 0.0 for _ in range(width)] for _ in chosen]
    with path.open("w") as table:
        for name, figures in by_arm.items():
            for at, row in enumerate(chosen):
                moved = [moved_by(figure, move) for figure, move in zip(figures[row], moves[at])]
                table.write(f"{name} {at} {' '.join(f'{figure:.6f}' for figure in moved)}\n")


def moved_by(share, move):
    """A share, moved on the scale of logits."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-math.log(share / (1 - share)) - move))


class Trial:
    """A repository, its base kept, and its change judged."""

    def __init__(self, folder, kelvin, arm, seed):
        self.folder, self.kelvin, self.arm = folder / "work", kelvin, arm
        self.luck = folder / "luck"
        chance = random.Random(f"{arm.name}/{seed}")
        (self.folder / "cases").mkdir(parents=True)
        self.luck.write_text(f"{arm.name}/{seed}")
        write_cases(self.folder / "cases", arm, chance)
        if arm.fresh is not None:
            write_model(folder / "luck.model", arm, chance)
        shutil.copy(PIPELINE, self.folder / "known.awk")
        (self.folder / ".gitignore").write_text("/kelvin/\n")
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "gc.auto=0"]
        command = ["git", *name, *arguments]
        done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")

    def run(self, *command):
        done = subprocess.run(
            [self.kelvin, *command], cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True
        )
        if done.returncode not in (0, 3):
            sys.exit(f"{self.folder}: {command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def commit(self, name, lines):
        (self.folder / "rule.txt").write_text("\n".join([*lines, f"salt {name}", ""]))
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", name)

    def configure(self):
        arm = self.arm
        again = arm.draws == "again"
        baseline = "compute: true" if again else f"repeats: {arm.draws}"
        awk = f"awk -v luck={self.luck} -f {{root}}/known.awk"
        if arm.probe == "checks":
            text = (
                f"run: {awk} {{root}}/rule.txt {{input}}\ncases: cases\n"
                "invariants:\n"
                "  answers: {description: It answers, gate: true, check: {type: contains, value: decision}}\n"
                "  allowed: {description: It says nothing forbidden, gate: true, "
                "check: {type: contains, value: FORBIDDEN, not: true}}\n"
                "  approves: {description: It approves, check: {type: contains, value: approve}}\n"
            )
        else:
            types = ["rule"] if arm.fresh is not None else NAMES[: arm.types]
            text = (
                f"run: {awk} -v out={{output}} {{root}}/rule.txt {{input}}\ncases: cases\n"
                f"decision_field: decision\ngoverning_types: [{', '.join(types)}]\n"
            )
        text += f"jobs: 2\nbaseline: {{{baseline}}}\n{arm.config}"
        (self.folder / "kelvin.yaml").write_text(text)

    def judged(self):
        self.configure()
        self.commit("base", self.arm.base)
        if self.arm.draws != "again":
            self.run("check", "--repeats", self.arm.draws)
            self.run("baseline", "save", "--local")
        telling = self.telling()
        self.git("checkout", "--quiet", "-b", "change")
        self.commit("head", self.arm.head)
        done = self.run("gate")
        judgement = json.loads((self.folder / "kelvin/gate.json").read_text())
        report = json.loads((self.folder / "kelvin/report.json").read_text())
        assert judgement["passed"] == (done.returncode == 0), judgement
        page = (self.folder / "kelvin/gate.md").read_text()
        return Seen(judgement, done.stdout + page, report, telling)


    def telling(self):
        """How many swaps of the type that the change forgets moved the answer of the base."""
        lost = [line.split()[1] for line in "\n".join(self.arm.head).splitlines() if line.startswith("forget")]
        report = self.folder / "kelvin/report.json"
        if not lost or not report.exists():
            return 0
        items = json.loads(report.read_text())["probes"]["evidence"]["items"].values()
        swaps = [
            variant["samples"]
            for item in items
            for variant in item["variants"]
            if variant["id"].startswith(f"swap-{lost[0]}-")
        ]
        return sum(2 * sum(one["distance"] > 0 for one in samples) > len(samples) for samples in swaps)


class Seen:
    """What one gate said."""

    def __init__(self, judgement, shown, report, telling):
        words = " ".join(reason["text"] for reason in judgement["reasons"]) + " " + shown
        verdict, passed = judgement["verdict"], judgement["passed"]
        self.red = verdict == "regression" and not passed
        self.fails = not passed and not self.red
        self.open = verdict == "inconclusive"
        self.passes = verdict == "pass"
        # A type is named where the pass says that its loss could not be seen.
        self.blind = self.passes and "cannot see" in words
        self.broken = any(said in words for said in ("may have broken", "` broke", "is broken"))
        self.nothing = "nothing to do" in words.lower()
        self.counted = bool(judgement.get("answers")) and not self.nothing
        self.telling = telling >= ENOUGH
        self.told = self.telling and self.red
        calls = report["run"]["session"]["cost"]["invocations"]
        # The calls of the report count those that were made again for the head.
        self.calls = (calls + judgement.get("base_reruns", 0)) / max(calls - judgement["reruns"], 1)
        self.text = f"{verdict}: " + " | ".join(reason["text"] for reason in judgement["reasons"])[:400]


def contradicted(arm, seen):
    """Whether the trials contradict what the truth asks for, at the rates of the acceptance points."""
    plain = [one.passes and not one.blind for one in seen]
    red = [one.red for one in seen]
    quiet = [not one.red for one in seen]
    often = lambda happened, rate: too_often(happened, rate if arm.noisy else 0.0)
    return {
        "red": often(quiet, 0.05),
        "red or named": often(plain, 0.02) or often([one.telling and not one.red for one in seen], 0.05),
        "never red": often(red, 0.02) or often([one.fails for one in seen], 0.02),
        "no plain pass": often(plain, 0.02),
        "not accused": often([one.red or one.fails for one in seen], 0.02)
        or often([one.broken for one in seen], 0.05),
        "told": not all(one.counted for one in seen),
        "any": False,
    }[arm.wants]


def too_often(happened, rate):
    """Whether something happened more often than a rate explains. Many trials are taken as they are."""
    count, times = len(happened), sum(happened)
    if rate == 0 or count >= 100:
        return times > rate * count
    tail = (math.comb(count, at) * rate**at * (1 - rate) ** (count - at) for at in range(times, count + 1))
    return sum(tail) <= 0.01


def run_arm(arm, options, folder):
    def one(seed):
        place = folder / f"{abs(hash(arm.name))}-{seed}"
        try:
            return Trial(place, options.kelvin, arm, seed).judged()
        finally:
            if not options.keep:
                shutil.rmtree(place, ignore_errors=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(one, range(options.seed, options.seed + options.trials)))


# Where so many swaps tell, a loss has to be red.
ENOUGH = 10
COLUMNS = ["red", "fails", "open", "passes", "blind", "broken", "nothing", "telling", "told"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kelvin", default=ROOT / "target/release/kelvin", type=Path)
    parser.add_argument("--trials", default=20, type=int)
    parser.add_argument("--arms", default=[], nargs="+", metavar="WORD")
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--jobs", default=1, type=int)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leaves every repository in this folder")
    parser.add_argument("--list", action="store_true", help="names the arms and runs nothing")
    parser.add_argument("--say", action="store_true", help="shows the reasons of every trial")
    options = parser.parse_args()
    options.kelvin = options.kelvin.resolve()
    arms = [*rules(), *broken(), *answers(), *model()]
    arms = [arm for arm in arms if all(word in arm.name for word in options.arms)]
    if options.list:
        print("\n".join(f"{arm.name} ({arm.wants})" for arm in arms))
        return
    width = max(len(arm.name) for arm in arms)
    print(f"{'':{width}} " + " ".join(f"{name:>7}" for name in [*COLUMNS, "calls"]) + "  asked for", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        wanting = [arm for arm in arms if not row(arm, options, options.keep or Path(folder), width)]
    if wanting:
        sys.exit(f"{len(wanting)} of {len(arms)} arms fall short")


def row(arm, options, folder, width):
    """Runs an arm and prints its row; gives whether the trials agree with the truth."""
    seen = run_arm(arm, options, folder)
    figures = [f"{sum(getattr(one, name) for one in seen):7}" for name in COLUMNS]
    calls = sum(one.calls for one in seen) / len(seen)
    short = contradicted(arm, seen)
    print(f"{arm.name:{width}} {' '.join(figures)} {calls:7.2f}  {arm.wants}{' !' if short else ''}", flush=True)
    if options.say:
        for at, one in enumerate(seen):
            print(f"    {options.seed + at}: {one.text}")
    return not short


if __name__ == "__main__":
    main()
