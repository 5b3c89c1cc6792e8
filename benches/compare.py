"""Measures `kelvin compare` as a whole process on two large reports.

usage: compare.py [--kelvin PATH] [--cases 1000] [--variants 30] [--samples 5] [--repeats 5]

Makes two seeded reports with every field that a check writes, compares and judges them, and fails
where the median is over 2 s or the memory over 500 MB. The head is worse: its verdict is asserted.
"""

import argparse
import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import run

MOST_SECONDS = 2.0
MOST_BYTES = 500_000_000
TYPES = ("gate_rule", "policy", "evidence", "context", "history", "request", "notes", "cost")


def digest(*words):
    return hashlib.sha256("/".join(map(str, words)).encode()).hexdigest()


def variant(case, at, sensitive):
    kind = "swap" if sensitive else "reorder"
    made = {
        "id": f"{kind}-{at:02}",
        "kind": kind,
        "relation": "sensitivity" if sensitive else "invariance",
        "input": digest("variant", case, at),
        "notes": {"order": random.Random(at).sample(range(len(TYPES)), len(TYPES))},
    }
    if sensitive:
        made["unit_type"] = TYPES[0]
    return made


def report(options, seed, bad):
    """A report in which this share of the samples is bad."""
    chance = random.Random(seed)
    cases, values = {}, {"invariance": {}, "sensitivity": {}}
    for at in range(options.cases):
        name = f"case-{at:05}"
        variants = [variant(at, number, number % 2 == 1) for number in range(options.variants)]
        for made in variants:
            distances = [
                float((chance.random() < bad) != (made["relation"] == "sensitivity"))
                for _ in range(options.samples)
            ]
            made["samples"] = [
                {"decision": "reject" if distance else "approve", "distance": distance}
                for distance in distances
            ]
            cell = {
                "input": digest("pair", at, made["id"]),
                "values": [
                    distance if made["relation"] == "sensitivity" else 1.0 - distance
                    for distance in distances
                ],
            }
            values[made["relation"]].setdefault(name, {})[made["id"]] = cell
        cases[name] = {
            "file": f"cases/{name}.md",
            "folder": name,
            "input": digest("case", at),
            "units": [{"unit_type": kind, "line": 4 * line} for line, kind in enumerate(TYPES)],
            "baseline": [{"decision": "approve"}] * options.samples,
            "variants": variants,
            "invariance": 1.0,
            "invariance_n": 1,
            "sensitivity": 1.0,
            "sensitivity_n": 1,
            "failed": 0,
        }
    same = digest("same")
    return {
        "schema_version": 1,
        "tool": {"name": "kelvin", "version": "0.1.0"},
        "run": {
            "ending": "complete",
            "seed": 0,
            "decision_field": "decision",
            "governing_types": [TYPES[0]],
            "scorer": "exact/v1",
            "repeats": options.samples,
            "fingerprints": {"cases": same, "config": same, "pipeline": None, "command": same},
            "session": {
                "started_at": "2026-01-01T00:00:00Z",
                "seconds": 1.0,
                "commit": None,
                "dirty": False,
                "cost": {
                    "invocations": 0,
                    "cache_hits": 0,
                    "resumed": 0,
                    "retries": 0,
                    "pipeline_seconds": 0.0,
                },
            },
        },
        "metrics": {f"evidence.{name}": metric(cells) for name, cells in values.items()},
        "cases": cases,
        "notices": [],
    }


def metric(cells):
    per_case = {}
    for name, variants in cells.items():
        rounds = list(zip(*(cell["values"] for cell in variants.values())))
        per_case[name] = {
            "value": statistics.fmean(value for row in rounds for value in row),
            "n": len(rounds) * len(variants),
            "repeats": [statistics.fmean(row) for row in rounds],
            "cells": variants,
        }
    value = statistics.fmean(case["value"] for case in per_case.values())
    return {
        "value": value,
        "display": f"{value:.4f}",
        "n": sum(case["n"] for case in per_case.values()),
        "n_failed": 0,
        "direction": "higher",
        "gated": True,
        "per_case": per_case,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kelvin", type=Path, default=run.TARGET / "release/kelvin")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--variants", type=int, default=30)
    parser.add_argument("--samples", type=int, default=5, help="repeats of every invocation")
    parser.add_argument("--repeats", type=int, default=5, help="of the measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch, f"{side}.json") for side in ("base", "head")]
        for path, seed, bad in zip(paths, (1, 2), (0.10, 0.16)):
            path.write_text(json.dumps(report(options, seed, bad)), encoding="utf-8")
        command = [options.kelvin.resolve(), "compare", *paths, "--format", "json"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        assert told["verdict"] == "regression", told["reasons"]
        spent = [run.measure(command, scratch) for _ in range(options.repeats)]
        size = sum(path.stat().st_size for path in paths)
    wall = [each.wall for each in spent]
    memory = max(each.memory for each in spent)
    print(f"{options.cases} cases, {options.variants} variants, {options.samples} repeats a side")
    print(f"two reports of {size / 1e6:.0f} MB in all")
    print(f"kelvin compare: {run.figure(wall)}, {memory / 1e6:.0f} MB")
    if statistics.median(wall) > MOST_SECONDS or memory > MOST_BYTES:
        sys.exit(f"over {MOST_SECONDS} s or {MOST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
