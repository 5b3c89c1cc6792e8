"""Measures Kelvin as a whole process, side by side with what it is compared to.

usage: run.py [--peer VENV/bin/kelvin] [--repeats 5] [--write]

Builds the release binary and two small programs, makes projects in a scratch folder, and measures

- a check of 1,000 cases against the bare cost of starting the same program on the same inputs,
- the same against kelvin-eval, two invocations at a time (with --peer),
- making all variants of 2,000 cases, against kelvin-eval: in memory, and written to files, there
  beside `cp -R`,
- the time per invocation from 10 to 5,000 cases, and the peak memory,
- a second check of 10,000 invocations that the cache answers,
- `kelvin --version`.

What is compared runs in turns, so that a slow minute of the machine meets all of them. Every figure
is the median of the repeats, with the smallest and the largest beside it. CPU time is user plus
system time of the process and of all the processes it started and waited for.

The tables go to standard output; with --write they replace the figures in docs/performance.md.
"""

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import corpus

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
# One governing type and one swap: eleven invocations a case, as kelvin-eval makes them.
CONFIG = """\
run: ./trivial_pipeline {input} {output}
cases: cases
decision_field: decision
governing_types: [release_rule]
"""
OURS = "variants: {swap: 1}\nfingerprint: [trivial_pipeline]\n"


@dataclass
class Spent:
    """What one process took, its descendants included."""

    wall: float
    cpu: float
    memory: int


def measure(command, folder):
    # What earlier runs left to be written would be paid for by this one.
    os.sync()
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            words = errors.read().decode(errors="replace")[-2000:]
            sys.exit(f"{command} ended with {process.returncode}\n{words}")
    # Kilobytes on Linux, bytes on macOS.
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Spent(wall, used.ru_utime + used.ru_stime, memory)


def project(scratch, name, cases, extra=""):
    folder = scratch / name
    corpus.write(cases, folder / "cases")
    shutil.copy2(TARGET / "release/examples/trivial_pipeline", folder)
    (folder / "kelvin.yaml").write_text(CONFIG + extra, encoding="utf-8")
    return folder


def aside(path):
    """Moves what a run left out of the way of the next one.

    Nothing is deleted before the end: for minutes after it, ext4 passes over the places of deleted
    files one by one when it looks for the place of a new one, and whoever makes files pays.
    """
    if path.exists():
        at = next(at for at in range(1_000_000) if not path.with_name(f"{path.name}-{at}").exists())
        path.rename(path.with_name(f"{path.name}-{at}"))
    return path


def emptied(folder):
    aside(folder / "kelvin")
    return folder


def check(binary, folder, *arguments):
    return measure([binary, "check", *arguments], emptied(folder))


def bare(folder, inputs, threads):
    """Starts the pipeline on every input and does nothing else."""
    outputs = folder / "bare"
    aside(outputs).mkdir()
    program = TARGET / "release/examples/bare_spawn"
    return measure([program, threads, folder / "trivial_pipeline", inputs, outputs], folder)


def inputs_of(folder):
    """A file that lists every input that a check of this folder has written."""
    inputs = sorted(str(path) for path in (folder / "kelvin").rglob("input.md"))
    # Beside the inputs of the check, which the next one moves.
    copies = folder / "inputs"
    aside(copies).mkdir()
    listed = []
    for at, path in enumerate(inputs):
        listed.append(shutil.copyfile(path, copies / f"{at}.md"))
    (folder / "inputs.txt").write_text("".join(f"{path}\n" for path in listed), encoding="utf-8")
    return folder / "inputs.txt", len(listed)


def figure(values, digits=2, unit="s"):
    middle = statistics.median(values)
    return f"{middle:.{digits}f} {unit} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def ratio(ones, others):
    """The median of the ratios of what ran in the same turn."""
    return f"{statistics.median(one / other for one, other in zip(ones, others)):.2f}"


def column(spent, name):
    return [getattr(each, name) for each in spent]


def against_bare(options, scratch):
    folder = project(scratch, "bare", options.cases, OURS + f"jobs: {options.jobs}\n")
    check(options.kelvin, folder)
    inputs, count = inputs_of(folder)
    ours, floor = [], []
    for _ in range(options.repeats):
        ours.append(check(options.kelvin, folder))
        floor.append(bare(folder, inputs, options.jobs))
    rows = [
        f"### Against the bare cost of starting the pipeline: {options.cases:,} cases, {count:,} "
        f"invocations, {options.jobs} at a time",
        "",
        "| | wall time | CPU time |",
        "|---|---|---|",
    ]
    for name, spent in (("`kelvin check`", ours), ("bare", floor)):
        rows.append(f"| {name} | {figure(column(spent, 'wall'))} | {figure(column(spent, 'cpu'))} |")
    walls = ratio(column(ours, "wall"), column(floor, "wall"))
    rows.append(f"| ratio | {walls} | {ratio(column(ours, 'cpu'), column(floor, 'cpu'))} |")
    return rows


def against_peer(options, scratch):
    mine = project(scratch, "peer-mine", options.cases, OURS + "jobs: 2\n")
    other = project(scratch, "peer-other", options.cases)
    check(options.kelvin, mine)
    inputs, count = inputs_of(mine)
    ours, theirs, floor = [], [], []
    for _ in range(options.repeats):
        ours.append(check(options.kelvin, mine))
        theirs.append(check(options.peer, other))
        floor.append(bare(mine, inputs, 2))
    made = sum(1 for _ in (other / "kelvin").rglob("output.json"))
    rows = [
        f"### Against kelvin-eval: {options.cases:,} cases, two invocations at a time",
        "",
        "| | invocations | wall time | CPU time | CPU time of its own |",
        "|---|---|---|---|---|",
    ]
    base = column(floor, "cpu")
    for name, spent, calls in (("`kelvin check`", ours, count), ("kelvin-eval", theirs, made)):
        own = [one - other for one, other in zip(column(spent, "cpu"), base)]
        rows.append(
            f"| {name} | {calls:,} | {figure(column(spent, 'wall'))} | "
            f"{figure(column(spent, 'cpu'))} | {figure(own)} |"
        )
    rows.append(f"| bare | {count:,} | {figure(column(floor, 'wall'))} | {figure(base)} | |")
    walls = ratio(column(theirs, "wall"), column(ours, "wall"))
    cpus = ratio(
        [one - other for one, other in zip(column(theirs, "cpu"), base)],
        [max(one - other, 0.001) for one, other in zip(column(ours, "cpu"), base)],
    )
    rows.append(f"| kelvin-eval over kelvin | | {walls} | | {cpus} |")
    return rows


def generation(options, scratch):
    mine = project(scratch, "dry-mine", options.dry_cases, OURS)
    tools = {"`kelvin check --dry-run`": (options.kelvin, mine)}
    if options.peer:
        other = project(scratch, "dry-other", options.dry_cases)
        tools["kelvin-eval `check --dry-run`"] = (options.peer, other)
    spent = {name: [] for name in [*tools, "`cp -R` of what was written"]}
    for _ in range(options.repeats):
        for name, (binary, folder) in tools.items():
            spent[name].append(check(binary, folder, "--dry-run"))
        aside(mine / "copy")
        spent["`cp -R` of what was written"].append(measure(["cp", "-R", "kelvin", "copy"], mine))
    rows = [
        f"### All variants of {options.dry_cases:,} cases, written and not run",
        "",
        "| | wall time | CPU time |",
        "|---|---|---|",
    ]
    for name, each in spent.items():
        rows.append(f"| {name} | {figure(column(each, 'wall'))} | {figure(column(each, 'cpu'))} |")
    return rows


def in_memory(options, scratch):
    """What `generation` measures without the files, which cost both sides the same."""
    mine = project(scratch, "made-mine", options.dry_cases, OURS)
    commands = {"`kelvin check --list`": [options.kelvin, "check", "--list"]}
    if options.peer:
        other = project(scratch, "made-other", options.dry_cases)
        script = Path(__file__).with_name("peer_generation.py")
        python = options.peer.with_name("python")
        commands["the generators of kelvin-eval"] = [python, script, other]
    os.sync()
    spent = {name: [] for name in commands}
    for _ in range(options.repeats):
        for name, command in commands.items():
            # Not measured, so that neither side is measured cold.
            measure(command, mine)
            spent[name].append(measure(command, mine))
    rows = [
        f"### All variants of {options.dry_cases:,} cases, made and not written",
        "",
        "| | wall time | CPU time |",
        "|---|---|---|",
    ]
    for name, each in spent.items():
        rows.append(f"| {name} | {figure(column(each, 'wall'))} | {figure(column(each, 'cpu'))} |")
    if options.peer:
        ours, theirs = spent.values()
        walls = ratio(column(theirs, "wall"), column(ours, "wall"))
        rows.append(f"| ratio | {walls} | {ratio(column(theirs, 'cpu'), column(ours, 'cpu'))} |")
    return rows


def growth(options, scratch):
    rows = [
        f"### Growth, {options.jobs} invocations at a time",
        "",
        "| cases | invocations | wall time | per invocation | bare, per invocation | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for cases in options.sizes:
        folder = project(scratch, f"grow-{cases}", cases, OURS + f"jobs: {options.jobs}\n")
        check(options.kelvin, folder)
        inputs, count = inputs_of(folder)
        ours, floor = [], []
        for _ in range(options.repeats):
            ours.append(check(options.kelvin, folder))
            floor.append(bare(folder, inputs, options.jobs))
        each, least = (
            [1000 * wall / count for wall in column(spent, "wall")] for spent in (ours, floor)
        )
        memory = statistics.median(column(ours, "memory")) / 1e6
        rows.append(
            f"| {cases:,} | {count:,} | {figure(column(ours, 'wall'))} | {figure(each, 3, 'ms')} | "
            f"{figure(least, 3, 'ms')} | {memory:.0f} MB |"
        )
    return rows


def cached(options, scratch):
    extra = OURS + f"cache: true\njobs: {options.jobs}\n"
    folder = project(scratch, "cached", options.cached_cases, extra)
    check(options.kelvin, folder)
    _, count = inputs_of(folder)
    # As a second check finds it: the folder of the first one is there.
    again = [options.kelvin, "check"]
    spent = [measure(again, folder) for _ in range(options.repeats)]
    return [
        f"### A second check, all {count:,} invocations answered by the cache",
        "",
        "| wall time | CPU time |",
        "|---|---|",
        f"| {figure(column(spent, 'wall'))} | {figure(column(spent, 'cpu'))} |",
    ]


def version(options, scratch):
    walls = [1000 * measure([options.kelvin, "--version"], scratch).wall for _ in range(21)]
    return ["### `kelvin --version`", "", "| wall time |", "|---|", f"| {figure(walls, 1, 'ms')} |"]


def machine(options):
    names = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores"]
    try:
        model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        names[1:1] = [model[1]] if model else []
    except OSError:
        pass
    said = subprocess.run([options.kelvin, "--version"], capture_output=True, text=True).stdout
    names.append(said.strip())
    return (
        f"Measured on {date.today()} on {', '.join(names)}; medians of {options.repeats}, with the "
        "smallest and the largest."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kelvin", type=Path, help="the binary [default: a release build]")
    parser.add_argument("--peer", type=Path, help="the program of kelvin-eval 0.3.0")
    parser.add_argument("--repeats", type=int, default=5, help="[default: 5]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="[default: the cores]")
    parser.add_argument("--cases", type=int, default=1000, help="for the comparisons [default: 1000]")
    parser.add_argument("--dry-cases", type=int, default=2000, help="for the dry run [default: 2000]")
    parser.add_argument("--cached-cases", type=int, default=910, help="for the cache [default: 910]")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100, 1000, 5000])
    parser.add_argument("--only", nargs="*", help="some of: bare peer made dry growth cached version")
    parser.add_argument("--write", action="store_true", help="put the tables into the document")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write replaces all tables: it goes without --only")

    build = ["cargo", "build", "--release", "--quiet"]
    programs = ["--example", "trivial_pipeline", "--example", "bare_spawn"]
    subprocess.run([*build, *programs, *([] if options.kelvin else ["--bins"])], cwd=ROOT, check=True)
    options.kelvin = (options.kelvin or TARGET / "release/kelvin").resolve()
    options.peer = options.peer and options.peer.absolute()

    parts = {
        "bare": against_bare,
        "peer": against_peer if options.peer else None,
        "made": in_memory,
        "dry": generation,
        "growth": growth,
        "cached": cached,
        "version": version,
    }
    sections = [[machine(options)]]
    with tempfile.TemporaryDirectory() as scratch:
        for name, part in parts.items():
            if part and (not options.only or name in options.only):
                # What the part before it has written is on the disk, and disturbs nothing here.
                os.sync()
                sections.append(part(options, Path(scratch)))
                print("\n".join(sections[-1]) + "\n", flush=True)
        if options.write:
            page = PAGE.read_text(encoding="utf-8")
            before, rest = page.split(BEGIN)
            after = rest.split(END)[1]
            text = "\n\n".join("\n".join(rows) for rows in sections)
            PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
        print("All is measured; what was written is being deleted, which may take minutes.", flush=True)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
