"""Compares Kelvin with the Python package kelvin-eval 0.3.0 on the shipped cases.

Both tools run the same deterministic pipelines with the same settings over many seeds. Their
perturbations come from different generators, so single runs differ; the means over the seeds must
not. Prints a table and ends with 0 if they agree, 1 if they do not. Where a tool is missing the
comparison is skipped, with the reason, and the script ends with 0.

A comparison agrees if the two means are equal to 1e-9, or differ by at most three combined standard
errors, sqrt(a^2 + b^2), of the means over the seeds.

Two differences are known and set aside:
- kelvin-eval lets pad_content insert governing units, so Kelvin is told to do the same here
  (pad_include_governing).
- kelvin-eval takes "## " inside fenced code for a heading. Those lines are indented by one blank in
  the copies that both tools read.
"""

import argparse
import importlib.util
import json
import math
import os
import re
import shutil
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True  # Loading the examples must leave nothing beside them.

ROOT = Path(__file__).resolve().parents[2]
PEER = "kelvin-eval==0.3.0"
FIGURES = ["invariance", "sensitivity"]
STANDARD_ERRORS = 3.0
CONFIG = """\
run: bash {ask} {port} {pipeline} {{input}} {{output}}
cases: cases
decision_field: decision
governing_types: [release_rule, verification_record]
"""


class Skip(Exception):
    """Why nothing is compared."""


def decide_of(example):
    path = ROOT / "examples" / example / "pipeline.py"
    spec = importlib.util.spec_from_file_location(example.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decide


PIPELINES = {
    "grounded": decide_of("grounded"),
    "position-biased": decide_of("position-biased"),
    "constant": lambda text: "approve",
}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        pipeline, path = self.rfile.readline().decode().rstrip("\n").split(" ", 1)
        decision = PIPELINES[pipeline](Path(path).read_text(encoding="utf-8"))
        self.wfile.write(json.dumps({"decision": decision}).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def kelvin_binary(given):
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    candidates = [Path(given)] if given else [target / "release/kelvin", target / "debug/kelvin"]
    for path in candidates:
        if path.is_file():
            return path.resolve()
    if given:
        sys.exit(f"there is no file `{given}`: name the binary, or leave --kelvin out")
    raise Skip("no kelvin binary; build one with `cargo build --release`, or name it: --kelvin PATH")


def peer_binary(given):
    """The peer's program in a virtual environment, which is made unless it is there."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    venv = Path(given) if given else target / "oracle-venv"
    program = venv / "bin/kelvin"
    if not program.is_file():
        for command in (
            [sys.executable, "-m", "venv", venv],
            [venv / "bin/python", "-m", "pip", "install", "--quiet", PEER],
        ):
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode != 0:
                words = (made.stderr or made.stdout).strip().splitlines() or ["no message"]
                raise Skip(f"{PEER} could not be installed: {words[-1]}")
    return program.absolute()


def tame_fences(text):
    """Indents what looks like a heading inside fenced code."""
    lines, fence = [], None
    for line in text.splitlines(keepends=True):
        mark = re.match(r"(`{3,}|~{3,})", line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = None
        elif fence and line.startswith("## "):
            line = " " + line
        lines.append(line)
    return "".join(lines)


def project(folder, config):
    (folder / "cases").mkdir(parents=True)
    for case in sorted((ROOT / "cases").glob("*.md")):
        text = tame_fences(case.read_text(encoding="utf-8"))
        (folder / "cases" / case.name).write_text(text, encoding="utf-8")
    (folder / "kelvin.yaml").write_text(config, encoding="utf-8")
    return folder


def run(command, folder):
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{command} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
    return json.loads((folder / "kelvin/report.json").read_text(encoding="utf-8"))


def ours(binary, folder, seed):
    metrics = run([binary, "check", "--seed", str(seed)], folder)["metrics"]
    return [metrics[f"evidence.{figure}"]["value"] for figure in FIGURES]


def theirs(binary, folder, seed):
    shutil.rmtree(folder / "kelvin", ignore_errors=True)
    report = run([binary, "check", "--seed", str(seed)], folder)
    return [report[figure] for figure in FIGURES]


def summary(values):
    """The mean over the seeds and its standard error."""
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def compare(arguments):
    if shutil.which("bash") is None:
        raise Skip("no bash")
    tools = {
        "kelvin": (ours, kelvin_binary(arguments.kelvin)),
        "kelvin-eval": (theirs, peer_binary(arguments.venv)),
    }
    agree = True
    print(f"{arguments.seeds} seeds; agreement: at most {STANDARD_ERRORS:g} combined standard errors")
    print(f"{'pipeline':16} {'figure':12} {'kelvin':>17} {'kelvin-eval':>17} {'apart':>8}  verdict")
    with Server(("127.0.0.1", 0), Handler) as server, tempfile.TemporaryDirectory() as temporary:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for pipeline in PIPELINES:
            config = CONFIG.format(
                ask=Path(__file__).with_name("ask.bash"),
                port=server.server_address[1],
                pipeline=pipeline,
            )
            values = {}
            for name, (measure, binary) in tools.items():
                extra = "pad_include_governing: true\njobs: 2\n" if name == "kelvin" else ""
                folder = project(Path(temporary) / f"{pipeline}-{name}", config + extra)
                values[name] = [measure(binary, folder, seed) for seed in range(arguments.seeds)]
            for at, figure in enumerate(FIGURES):
                (one, a), (other, b) = (
                    summary([run[at] for run in values[name]]) for name in tools
                )
                apart, error = abs(one - other), math.hypot(a, b)
                agrees = apart <= max(STANDARD_ERRORS * error, 1e-9)
                agree &= agrees
                in_errors = f"{apart / error:.1f} se" if error > 0 else f"{apart:.4f}"
                print(
                    f"{pipeline:16} {figure:12} {one:8.4f} ± {a:.4f} {other:8.4f} ± {b:.4f} "
                    f"{in_errors:>10}  {'agrees' if agrees else 'DIFFERS'}",
                    flush=True,
                )
        server.shutdown()
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kelvin", metavar="PATH", help="the binary [default: the one under target]")
    parser.add_argument("--venv", metavar="DIR", help=f"a virtual environment with {PEER}")
    parser.add_argument("--seeds", type=int, default=30, metavar="N", help="at least 2 [default: 30]")
    arguments = parser.parse_args()
    started = time.monotonic()
    try:
        agree = compare(arguments)
    except Skip as reason:
        print(f"skipped: {reason}")
        return 0
    print(f"{time.monotonic() - started:.0f} s")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
