"""Compares `kelvin eval` with pytrec_eval-terrier on generated judgements and runs.

Ties, graded relevance, several levels, queries without a relevant document, queries that are only
on one side. Every value of every query must agree to 1e-9.

    tests/oracle/trec/run [--kelvin PATH] [--sets N]
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import venv

VERSION = "0.5.11"
K = (1, 3, 5, 10, 100)
# The names of the same measure, where k is given.
AT_K = {
    "success": "success",
    "recall_doc": "recall",
    "precision": "P",
    "ndcg": "ndcg_cut",
}
ROOT = pathlib.Path(__file__).resolve().parents[3]


def module():
    """pytrec_eval, from here or from an environment of its own; none where there is no way."""
    try:
        import pytrec_eval

        return pytrec_eval
    except ImportError:
        pass
    home = ROOT / "target" / f"oracle-trec-{VERSION}"
    try:
        if not (home / "bin" / "python").exists():
            venv.create(home, with_pip=True)
        subprocess.run(
            [home / "bin" / "pip", "install", "-q", f"pytrec_eval-terrier=={VERSION}"],
            check=True,
            capture_output=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"skipped: pytrec_eval-terrier {VERSION} cannot be installed: {error}")
        return None
    sys.path[:0] = [str(path) for path in home.glob("lib/python3*/site-packages")]
    import pytrec_eval

    return pytrec_eval


def generated(dice):
    """Judgements and a run: {query: {document: grade}} and {query: {document: score}}."""
    documents = [f"d{dice.randrange(10**6)}-{n}" for n in range(dice.randint(3, 250))]
    grades = dice.choice([[0, 1], [0, 0, 0, 1], [0, 1, 2, 3], [-1, 0, 1, 2, 4]])
    # Few distinct scores make many ties; the last differ by less than single precision tells.
    score = dice.choice(
        [
            lambda: float(dice.randint(0, 3)),
            lambda: dice.random(),
            lambda: round(dice.random(), 1),
            lambda: 16777216.0 + dice.randint(0, 4),
            lambda: 1.0 + dice.random() * 1e-7,
            lambda: -dice.random() * 1e-3,
        ]
    )
    qrels, run = {}, {}
    for number in range(dice.randint(1, 8)):
        query = f"q{number}"
        judged = dice.sample(documents, dice.randint(1, min(40, len(documents))))
        found = dice.sample(documents, dice.randint(1, len(documents)))
        if dice.random() < 0.95:
            qrels[query] = {document: dice.choice(grades) for document in judged}
        if dice.random() < 0.9:
            run[query] = {document: score() for document in found}
    qrels.setdefault("q0", {documents[0]: 1})
    run.setdefault("q0", {documents[-1]: 1.0})
    return qrels, run


def written(qrels, run, folder, dice):
    """Writes both, the run with its lines as they come or shuffled."""
    lines = [f"{q} 0 {d} {g}" for q, judged in qrels.items() for d, g in judged.items()]
    (folder / "qrels").write_text("\n".join(lines) + "\n")
    lines = [
        f"{q}\tQ0 {d} {dice.randint(1, 99)}  {s!r} tag"
        for q, found in run.items()
        for d, s in found.items()
    ]
    if dice.random() < 0.3:
        dice.shuffle(lines)
    (folder / "run").write_text("\n".join(lines) + ("\n" if dice.random() < 0.8 else ""))


def ours(kelvin, folder, level):
    command = [
        kelvin, "eval", "--qrels", folder / "qrels", "--run", folder / "run",
        "--k", ",".join(map(str, K)), "--cut-off", "1000000",
        "--relevance-level", str(level), "--out", folder / "out",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return json.loads((folder / "out" / "report.json").read_text())["metrics"]


def theirs(pytrec_eval, qrels, run, level):
    names = {"recip_rank", "map"}
    for name in AT_K.values():
        names.add(name + "." + ",".join(map(str, K)))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level)
    return evaluator.evaluate(run)


def compared(metrics, reference, qrels, level):
    """Yields (metric, query, our value, their value)."""
    pairs = {"mrr": "recip_rank", "map": "map"}
    for name, other in AT_K.items():
        pairs.update({f"{name}@{k}": f"{other}_{k}" for k in K})
    for name, other in pairs.items():
        values = metrics[f"retrieval.{name}"].get("per_case", {})
        for query, judged in qrels.items():
            relevant = any(grade >= level for grade in judged.values())
            value = values.get(query, {}).get("value")
            needs_relevant = name.startswith(("success", "mrr", "recall"))
            if not relevant and needs_relevant:
                # Nothing is expected: no denominator with us, 0 with them.
                assert value is None, (name, query, value)
                continue
            # A query that the run lacks is none with them and 0 with us.
            yield name, query, value, reference.get(query, {}).get(other, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kelvin", default=str(ROOT / "target" / "debug" / "kelvin"))
    parser.add_argument("--sets", type=int, default=250)
    options = parser.parse_args()
    if not pathlib.Path(options.kelvin).exists():
        print(f"skipped: no {options.kelvin}; build it, or name it with --kelvin")
        return 0
    pytrec_eval = module()
    if pytrec_eval is None:
        return 0
    count, worst = 0, 0.0
    for seed in range(options.sets):
        dice = random.Random(seed)
        qrels, run = generated(dice)
        level = dice.choice([1, 1, 1, 2, 3])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            written(qrels, run, folder, dice)
            metrics = ours(options.kelvin, folder, level)
        reference = theirs(pytrec_eval, qrels, run, level)
        for metric, query, value, other in compared(metrics, reference, qrels, level):
            assert value is not None, (seed, metric, query)
            difference = abs(value - other)
            if difference > 1e-9:
                print(f"data set {seed}, {metric} of {query}: {value!r}, they have {other!r}")
                return 1
            worst = max(worst, difference)
            count += 1
    print(f"{options.sets} data sets, {count} values agree; largest difference {worst:.2e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
