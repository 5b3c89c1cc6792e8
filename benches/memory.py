"""Measures the memory of a check and of a gate over many queries, and the size of what they write.

usage: memory.py [--kelvin PATH] [--queries 5000] [--hits 10] [--words 100]

Makes a golden set of 5,000 queries in a scratch folder, whose pipeline gives each of them the same ten hits and the
same answer of 100 words from a file. `kelvin check` measures the base; then the file is exchanged for one with other
hits and another answer, so that every answer has changed, and `kelvin gate` compares both. Prints the largest resident
size of each, the CPU time of its own process, and the sizes of the files. Memory is that of the program itself; what it
starts is `cat`. The program is the debug build unless another one is named.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import run

CONFIG = """\
fingerprint: [ask.sh, answer.json]
jobs: 2
retrieval:
  run: sh ask.sh {input} {output}
  golden: golden.yaml
  chunker_version: "1"
"""


def answer(side, hits, words):
    """An output; nothing of it but its form is the same on the two sides."""
    found = [
        {
            "doc_id": f"{side}-document-{n}",
            "chunk_id": f"{side}-document-{n}#1",
            "title": f"Title {n} of a document of the {side} that somebody may look for",
            "rank": n,
            "score": 1.0 / n,
        }
        for n in range(1, hits + 1)
    ]
    text = " ".join(f"{side}{n % 100}" for n in range(words))
    cited = [{"doc_id": found[0]["doc_id"], "chunk_id": found[0]["chunk_id"]}]
    return {"hits": found, "answer": {"text": text, "grounded": True, "citations": cited}}


def project(folder, options):
    golden = [
        {
            "id": f"query-{n:05}",
            "query": f"What does the rule number {n} of the house say, and since when?",
            "expected_doc_ids": ["base-document-2"],
        }
        for n in range(options.queries)
    ]
    # JSON is YAML, and quick to write.
    (folder / "golden.yaml").write_text(json.dumps(golden), encoding="utf-8")
    (folder / "kelvin.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "ask.sh").write_text('exec cat answer.json > "$2"\n', encoding="utf-8")


def measure(kelvin, folder, *arguments):
    """Runs the program; its codes for a gate that does not hold are results too."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [str(kelvin), *arguments, "--no-history"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 3):
            errors.seek(0)
            sys.exit(f"{arguments} ended with {process.returncode}: {errors.read()[-2000:]}")
    memory = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return memory, used.ru_utime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kelvin", type=Path, default=run.TARGET / "debug/kelvin")
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--hits", type=int, default=10)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="a new folder for the project, which stays")
    options = parser.parse_args()
    kelvin = options.kelvin.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "project"
        folder.mkdir()
        project(folder, options)
        tried = {}
        for side, command in [
            ("base", ["check"]),
            ("head", ["gate", "--baseline", "base.json", "--no-rerun"]),
        ]:
            output = answer(side, options.hits, options.words)
            (folder / "answer.json").write_text(json.dumps(output), encoding="utf-8")
            tried[command[0]] = measure(kelvin, folder, *command)
            if side == "base":
                shutil.copyfile(folder / "kelvin/report.json", folder / "base.json")
        judged = json.loads((folder / "kelvin/gate.json").read_text())
        changed = judged["answers"]["retrieval"]["other"]
        assert changed == options.queries, f"{changed} answers have changed"
        for command, (memory, seconds) in tried.items():
            print(f"kelvin {command}: {memory / 1e6:.0f} MB, {seconds:.1f} s of user time")
        print(f"gate over check: {tried['gate'][0] / tried['check'][0]:.2f}")
        for name in ["report.json", "report.html", "report.md", "gate.json", "gate.md"]:
            print(f"{name}: {(folder / 'kelvin' / name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
