"""Measures a pipeline that stays in memory beside one that is started for every call.

usage: workers.py [--kelvin PATH] [--peer VENV/bin/kelvin] [--slow 19] [--cases 182] [--trivial 1820] [--jobs 2]

Makes cases in a scratch folder, eleven invocations each (the baseline and ten variants), and a Python module that computes
for about a second while it is imported, as a module with a large library does. Measures with it

- `kelvin check` with a command, a process for every call (--slow cases, about 200 calls),
- kelvin-eval with the same command and cases (with --peer),
- `kelvin check` with the same function as `run: {python: ...}` (--cases, about 2,000 calls),

and then, with a function that does next to nothing (--trivial cases, about 20,000 calls),

- `kelvin check` with one worker, and with --jobs of them,
- the same with 32 calls of an `async def` at once, and with lists of 64 inputs, in each of --jobs workers,
- the runner of Kelvin alone: a loop that sends it the same messages and reads its answers, and writes no file.

The program is the debug build unless another one is named. Prints tables; nothing is written.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corpus
import run

SLOW = """\
import time

# What an import computes: parsing, tables, classes.
end = time.process_time() + 1.0
while time.process_time() < end:
    sum(range(1000))
"""
DECIDE = """\
{imports}
def decide(text):
    units = text.split("\\n## ")
    return " ".join(unit for unit in units if unit.startswith("Release Rule"))
"""
TOGETHER = "\nasync def together(text):\n    return decide(text)\n"
LISTS = "\ndef lists(texts):\n    return [decide(text) for text in texts]\n"
COMMAND = """\
import json, sys
import app

with open(sys.argv[1], encoding="utf-8") as given:
    decision = app.decide(given.read())
with open(sys.argv[2], "w", encoding="utf-8") as written:
    json.dump({"decision": decision}, written)
"""


def project(scratch, name, cases, way, imports, jobs):
    folder = scratch / name
    corpus.write(cases, folder / "cases")
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    (folder / "app.py").write_text(DECIDE.format(imports=imports) + TOGETHER + LISTS, encoding="utf-8")
    (folder / "command.py").write_text(COMMAND, encoding="utf-8")
    (folder / "kelvin.yaml").write_text(
        f"run: {way}\ncases: cases\ndecision_field: decision\ngoverning_types: [release_rule]\n"
        + ("" if name == "peer" else f'variants: {{swap: 1}}\nfingerprint: ["*.py"]\njobs: {jobs}\n'),
        encoding="utf-8",
    )
    return folder


def calls_of(folder):
    report = json.loads((folder / "kelvin/report.json").read_text(encoding="utf-8"))
    return report["run"]["session"]["cost"]["invocations"]


def row(name, calls, spent):
    return (
        f"| {name} | {calls:,} | {spent.wall:.2f} s | {1000 * spent.wall / calls:.2f} ms | "
        f"{1000 * spent.cpu / calls:.2f} ms | {calls / spent.wall:,.0f} |"
    )


HEAD = ["| | calls | wall time | wall time per call | CPU time per call | calls per second |", "|---|---|---|---|---|---|"]


def alone(folder, texts, count):
    """The runner without Kelvin: one message after the other, on pipes."""
    source = (run.ROOT / "crates/run/src/targets/python/runner.py").read_text(encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-c", source, str(folder), "app:decide"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def ask(method, params):
        message = {"jsonrpc": "2.0", "id": "x", "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    ask("initialize", {"protocol": 1})
    started = time.perf_counter()
    for at in range(count):
        answer = ask("assess", {"call": "x", "input": texts[at % len(texts)], "input_path": "/dev/null"})
        assert "result" in answer, answer
    wall = time.perf_counter() - started
    process.stdin.close()
    process.wait()
    return run.Spent(wall, 0.0, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kelvin", type=Path, default=run.TARGET / "debug/kelvin")
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--slow", type=int, default=19)
    parser.add_argument("--cases", type=int, default=182)
    parser.add_argument("--trivial", type=int, default=1820)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    kelvin = options.kelvin.resolve()
    with tempfile.TemporaryDirectory(prefix="kelvin-workers-") as name:
        scratch = Path(name)
        python = shutil.which("python3") or sys.executable
        command = f"{python} command.py {{input}} {{output}}"
        imported = "import slow\n"
        rows = []
        folder = project(scratch, "command", options.slow, command, imported, options.jobs)
        spent = run.check(kelvin, folder, "--no-history")
        calls = calls_of(folder)
        slow = spent.wall / calls
        rows.append(row("a process for each call", calls, spent))
        if options.peer:
            folder = project(scratch, "peer", options.slow, command, imported, options.jobs)
            spent = run.check(options.peer.resolve(), folder)
            made = sum(1 for _ in (folder / "kelvin").rglob("output.json"))
            rows.append(row("kelvin-eval, a process for each call", made, spent))
        folder = project(scratch, "python", options.cases, '{python: "app:decide"}', imported, options.jobs)
        spent = run.check(kelvin, folder, "--no-history")
        calls = calls_of(folder)
        rows.append(row("`run: {python: ...}`", calls, spent))
        print("\n".join([*HEAD, *rows]))
        print(f"\na process for each call over the worker, per call: {slow / (spent.wall / calls):.1f}\n")

        rows = []
        for jobs in sorted({1, options.jobs}):
            folder = project(scratch, f"trivial-{jobs}", options.trivial, '{python: "app:decide"}', "", jobs)
            spent = run.check(kelvin, folder, "--no-history")
            calls = calls_of(folder)
            rows.append(row(f"`kelvin check`, workers: {jobs}", calls, spent))
        for name, way in [("together", "concurrency: 32"), ("lists", "batch: 64")]:
            function = f'{{python: {{function: "app:{name}", {way}}}}}'
            folder = project(scratch, name, options.trivial, function, "", options.jobs)
            spent = run.check(kelvin, folder, "--no-history")
            calls = calls_of(folder)
            rows.append(row(f"the same, `{way}`", calls, spent))
        texts = [path.read_text(encoding="utf-8") for path in sorted((folder / "cases").glob("*.md"))]
        rows.append(row("the runner alone, asked by a loop in Python", calls, alone(folder, texts, calls)))
        print("\n".join([*HEAD, *rows]))


if __name__ == "__main__":
    os.chdir(run.ROOT)
    main()
