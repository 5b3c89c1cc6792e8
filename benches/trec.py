"""Measures `kelvin eval` beside pytrec_eval-terrier, as whole processes that read the same files.

usage: trec.py [--python VENV/bin/python] [--shapes 10000x1000,10000x100,7000x30] [--repeats 3] [--write]

For each shape, makes judgements and a run of so many queries with so many hits each in a scratch folder,
which needs 500 MB at most, and lets both compute the same measures: success, recall, precision and ndcg at 1, 3, 5 and
10, the reciprocal rank, and the average precision, for every query and over all of them. The process
of pytrec_eval-terrier is this file with `--theirs`: it reads both files with the functions of the
package, and prints the means. Both are checked to agree before anything is measured. They run in
turns; every figure is the median, with the smallest and the largest beside it.

The table goes to standard output; with --write it replaces the one in docs/performance.md.
"""

import argparse
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PAGE = ROOT / "docs/performance.md"
NAMES = ["success", "recall", "P", "ndcg_cut"]
K = "1,3,5,10"


def theirs(qrels, run):
    """The process that is compared with."""
    import pytrec_eval

    with open(qrels) as file:
        judged = pytrec_eval.parse_qrel(file)
    with open(run) as file:
        found = pytrec_eval.parse_run(file)
    names = {f"{name}.{K}" for name in NAMES} | {"recip_rank", "map"}
    values = pytrec_eval.RelevanceEvaluator(judged, names).evaluate(found)
    one = next(iter(values.values()))
    means = {
        name: pytrec_eval.compute_aggregated_measure(
            name, [query[name] for query in values.values()]
        )
        for name in one
    }
    print(json.dumps(means))


def written(folder, queries, hits):
    """Judgements and a run in which every query has relevant documents, found and not found."""
    dice = random.Random(1)
    with open(folder / "qrels", "w") as qrels, open(folder / "run", "w") as run:
        for q in range(queries):
            ids = [f"doc-{dice.randrange(8_000_000)}-{n}" for n in range(hits)]
            judged = dice.sample(ids, 20) + [f"unseen-{n}" for n in range(5)]
            for n, document in enumerate(judged):
                qrels.write(f"q{q} 0 {document} {n % 4}\n")
            score = 30.0
            for rank, document in enumerate(ids, 1):
                score -= dice.random() * 0.02
                run.write(f"q{q} Q0 {document} {rank} {score:.6f} bench\n")


def measured(command):
    """Seconds, CPU seconds and peak memory in MB of a process, and what it printed."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return (seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), output


def apart(function, *arguments):
    """Calls a function in a process of its own: what it leaves in memory would count as that of what is measured."""
    process = multiprocessing.Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0, function


def shown(values, digits, unit):
    form = f"{{:.{digits}f}}"
    middle, low, high = (form.format(f(values)) for f in (statistics.median, min, max))
    return f"{middle} {unit} ({low} to {high})"


def rows(title, queries, hits, options):
    """The rows of one shape: both programs, then the ratio of their medians."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        apart(written, folder, queries, hits)
        files = [str(folder / "qrels"), str(folder / "run")]
        commands = {
            "kelvin eval": [
                options.kelvin, "eval", "--qrels", files[0], "--run", files[1],
                "--cut-off", "1000000", "--out", str(folder / "out"), "--no-history",
            ],
            "pytrec_eval-terrier": [options.python, __file__, "--theirs", *files],
        }  # fmt: skip
        figures = {name: [] for name in commands}
        for _ in range(options.repeats):
            for name, command in commands.items():
                figure, output = measured(command)
                figures[name].append(figure)
        apart(agree, output, folder / "out/report.json")
    for name, measurements in figures.items():
        seconds, cpu, memory = zip(*measurements)
        columns = shown(seconds, 2, "s"), shown(cpu, 2, "s"), shown(memory, 0, "MB")
        yield f"| {title} | {name} | {' | '.join(columns)} |"
    medians = [
        [statistics.median(column) for column in zip(*measurements)]
        for measurements in figures.values()
    ]
    ratios = " | ".join(f"{theirs / ours:.1f}" for ours, theirs in zip(*medians))
    yield f"| {title} | pytrec_eval-terrier over kelvin | {ratios} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--kelvin", default=str(TARGET / "release" / "kelvin"))
    parser.add_argument("--shapes", default="10000x1000,10000x100,7000x30")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--theirs", nargs=2, metavar=("QRELS", "RUN"))
    options = parser.parse_args()
    if options.theirs:
        return theirs(*options.theirs)
    table = ["| queries × hits | | wall time | CPU time | peak memory |", "|---|---|---|---|---|"]
    for shape in options.shapes.split(","):
        queries, hits = map(int, shape.split("x"))
        table.extend(rows(f"{queries:,} × {hits:,}", queries, hits, options))
    text = "\n".join(table)
    print(text)
    if options.write:
        page = PAGE.read_text()
        begin, end = "<!-- trec -->", "<!-- /trec -->"
        if begin not in page:
            sys.exit(f"{PAGE} has no place for the table")
        page = re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.S)
        PAGE.write_text(page)


def agree(means, report):
    means, report = json.loads(means), json.loads(report.read_text())
    pairs = {"recip_rank": "mrr", "map": "map"}
    others = {"success": "success", "recall": "recall_doc", "P": "precision", "ndcg_cut": "ndcg"}
    for name, ours in others.items():
        pairs.update({f"{name}_{k}": f"{ours}@{k}" for k in K.split(",")})
    for name, ours in pairs.items():
        value = report["metrics"][f"retrieval.{ours}"]["value"]
        assert abs(value - means[name]) < 1e-9, (name, value, means[name])


if __name__ == "__main__":
    main()
