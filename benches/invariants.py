"""Measures what invariants cost beside the commands that they run.

usage: invariants.py [--scenarios 1000] [--repeats 5] [--jobs N] [--binary KELVIN]

Checks that many scenarios, each with five checks of `command_exit: true`, with the release binary (which it
builds, unless another one is named), and starts the same commands directly: for each scenario the pipeline and five times `sh -c true`, by `xargs`,
as many at a time. Both run in turns. Prints the medians with the smallest and the largest, and the ratio of
the times and of the CPU times; ends with 1 where the ratio of the times is above 1.25.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import run

CHECKS = 5
MOST = 1.25


def project(folder, scenarios, jobs):
    lines = [json.dumps({"id": f"s{at:05}", "prompt": f"Do {at}."}) for at in range(scenarios)]
    (folder / "scenarios.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "pipeline").write_text("")
    checks = "".join(
        f"  c{at}: {{description: true is true, check: {{type: command_exit, command: 'true'}}}}\n"
        for at in range(CHECKS)
    )
    (folder / "kelvin.yaml").write_text(
        f"run: sh -c true\njobs: {jobs}\nscenarios: scenarios.jsonl\nfingerprint: [pipeline]\n"
        f"invariants:\n{checks}"
    )


def figure(values):
    middle = statistics.median(values)
    return f"{middle:.2f} s ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--binary", type=Path)
    options = parser.parse_args()
    binary = options.binary
    if binary is None:
        subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=run.ROOT, check=True)
        binary = run.TARGET / "release/kelvin"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        project(folder, options.scenarios, options.jobs)
        commands = options.scenarios * (CHECKS + 1)
        directly = ["sh", "-c", f"seq {commands} | xargs -n 1 -P {options.jobs} sh -c true"]
        check = [binary, "check", "--no-history"]
        ours, bare = [], []
        for _ in range(options.repeats):
            ours.append(run.measure(check, folder))
            bare.append(run.measure(directly, folder))
        report = json.loads((folder / "kelvin/report.json").read_text())
        assert report["metrics"]["checks.composite"]["value"] == 1.0
    ratios = {}
    for what in ("wall", "cpu"):
        one = [getattr(spent, what) for spent in ours]
        other = [getattr(spent, what) for spent in bare]
        ratios[what] = statistics.median(one) / statistics.median(other)
        print(f"{what}: kelvin {figure(one)}, directly {figure(other)}, ratio {ratios[what]:.2f}")
    print("load of the machine:", *(f"{load:.1f}" for load in os.getloadavg()))
    sys.exit(ratios["wall"] > MOST)


if __name__ == "__main__":
    main()
