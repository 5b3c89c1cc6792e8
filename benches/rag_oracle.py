"""Lets the code of Ragas and deepeval compute their figures of recorded verdicts, for the tests of `grading`.

usage: rag_oracle.py [--write]

Both packages are downloaded in the versions below, without what they depend on, and only the functions that turn
verdicts into a figure are run, as they are in the packages: to import these, gigabytes would have to be installed. With
--write the figures replace the file that the test reads; without, the file is compared.
"""

import ast
import json
import logging
import math
import subprocess
import sys
import tempfile
import zipfile
from itertools import product
from pathlib import Path
from types import SimpleNamespace

RAGAS, DEEPEVAL = "ragas==0.4.3", "deepeval==4.3.1"
FILE = Path(__file__).resolve().parents[1] / "crates/run/src/judge/llm/tests/rag_oracle.json"
VERDICT = SimpleNamespace(YES="yes", NO="no", BORDERLINE="borderline")


def function(folder, path, owner, name, names):
    """A function, or a method of a class, of a file in a package, in a world that knows these names alone."""
    tree = ast.parse((folder / path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == owner or owner is None and isinstance(node, ast.Module):
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == name:
                    one.decorator_list, one.returns = [], None
                    for argument in [*one.args.args, *one.args.kwonlyargs]:
                        argument.annotation = None
                    # Annotations within the function name classes that are not there.
                    module = ast.Module([one], [])
                    exec(compile(ast.fix_missing_locations(module), path, "exec"), names)
                    return names[name]
    sys.exit(f"{path} has no {owner or ''} {name}")


def main():
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", made, RAGAS, DEEPEVAL], check=True
        )
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
        known = {"np": SimpleNamespace(nan=math.nan, isnan=math.isnan), "logger": logging.getLogger("ragas")}
        logging.disable()
        ragas = {
            "faithfulness": ("_faithfulness.py", "Faithfulness", "_compute_score"),
            "context_precision": (
                "_context_precision.py",
                "LLMContextPrecisionWithReference",
                "_calculate_average_precision",
            ),
            "context_recall": ("_context_recall.py", "LLMContextRecall", "_compute_score"),
        }
        ragas = {
            key: function(folder, f"ragas/metrics/{path}", owner, name, dict(known))
            for key, (path, owner, name) in ragas.items()
        }
        qag = {"normalize_qag_verdict": lambda verdict, passing: verdict if verdict in passing else None}
        share = function(folder, "deepeval/metrics/utils/qag.py", None, "score_qag_verdicts", qag)
        known = {"score_qag_verdicts": share, "Verdict": VERDICT}
        deepeval = {
            "faithfulness": ("faithfulness", "FaithfulnessMetric"),
            "answer_relevance": ("answer_relevancy", "AnswerRelevancyMetric"),
            "context_precision": ("contextual_precision", "ContextualPrecisionMetric"),
            "context_recall": ("contextual_recall", "ContextualRecallMetric"),
        }
        deepeval = {
            key: function(folder, f"deepeval/metrics/{path}/{path}.py", owner, "_calculate_score", dict(known))
            for key, (path, owner) in deepeval.items()
        }
        recorded = [computed(list(verdicts), ragas, deepeval) for n in range(1, 6) for verdicts in product((True, False), repeat=n)]
    text = json.dumps({"made_by": [RAGAS, DEEPEVAL], "verdicts": recorded}).replace('{"verdicts"', '\n{"verdicts"') + "\n"
    if "--write" in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE} differs from what the packages compute")
    print(f"{len(recorded)} lists of verdicts")


def computed(verdicts, ragas, deepeval):
    entries = [SimpleNamespace(verdict=int(verdict), attributed=int(verdict)) for verdict in verdicts]
    one = {
        "faithfulness": ragas["faithfulness"](None, SimpleNamespace(statements=entries)),
        "context_precision": ragas["context_precision"](None, entries),
        "context_recall": ragas["context_recall"](None, entries),
    }
    said = [SimpleNamespace(verdict="yes" if verdict else "no") for verdict in verdicts]
    metric = SimpleNamespace(verdicts=said, strict_mode=False, threshold=0.5, penalize_ambiguous_claims=False)
    other = {key: compute(metric) for key, compute in deepeval.items()}
    return {"verdicts": verdicts, "ragas": one, "deepeval": other}


if __name__ == "__main__":
    main()
