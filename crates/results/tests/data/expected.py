"""Writes expected.tsv: what the files here hold, read without the readers and as plainly as can be.

Each line is a file, a case, and for each metric its values in the order of the file; `!` stands for a sample with an
error. A case that has no name is written by its input. Run it here: python3 expected.py > expected.tsv
"""

import csv
import glob
import gzip
import json
import re
import subprocess
import struct
import xml.etree.ElementTree as ET
import zipfile

lines = []


def put(file, samples):
    """`samples` are pairs of a case and either None, for an error, or its scores by metric."""
    cases = {}
    for case, scores in samples:
        if scores is None:
            cases.setdefault(case, {}).setdefault("!", []).append(1.0)
            continue
        for metric, value in scores.items():
            cases.setdefault(case, {}).setdefault(metric, []).append(float(value))
    for case in sorted(cases):
        metrics = cases[case]
        shown = [f"{m}={' '.join(f'{v:.6f}' for v in metrics[m])}" for m in sorted(metrics)]
        lines.append("\t".join([file, case, *shown]))


def promptfoo(results):
    for r in results:
        case = r["testCase"]["description"]
        if r["failureReason"] == 2:
            yield case, None
            continue
        scores = dict(r["namedScores"], score=r["score"], latency_s=r["latencyMs"] / 1000, cost=r["cost"])
        scores["pass"] = 1 if r["success"] else 0
        scores["tokens"] = r["response"]["tokenUsage"]["total"]
        yield case, scores


for file in ["promptfoo/base.json", "promptfoo/worse.json", "promptfoo/one-error.json"]:
    put(file, promptfoo(json.load(open(file))["results"]["results"]))
for file in ["promptfoo/base.repeat3.json.gz", "promptfoo/worse.repeat3.json.gz"]:
    put(file, promptfoo(json.load(gzip.open(file))["results"]["results"]))
put("promptfoo/base.jsonl", promptfoo(map(json.loads, open("promptfoo/base.jsonl"))))


def unpacked(archive, name):
    """Python's zipfile does not know zstd."""
    data = open(archive, "rb").read()
    info = zipfile.ZipFile(archive).getinfo(name)
    names, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
    start = info.header_offset + 30 + names + extra
    packed = data[start : start + info.compress_size]
    return json.loads(subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True).stdout)


def inspect(samples):
    for s in sorted(samples, key=lambda s: (s["id"], s["epoch"])):
        scores = {n: {"C": 1, "I": 0}.get(v["value"], v["value"]) for n, v in s["scores"].items()}
        scores["latency_s"] = s["working_time"]
        scores["tokens"] = sum(u["total_tokens"] for u in s["model_usage"].values())
        yield s["id"], scores


for file in ["inspect/base.eval", "inspect/worse.eval"]:
    put(file, inspect(unpacked(file, "summaries.json")))
put("inspect/base.json", inspect(json.load(open("inspect/base.json"))["samples"]))

for file in sorted(glob.glob("deepeval/*.json")):
    samples = []
    for c in json.load(open(file))["testCases"]:
        scores = {m["name"]: m["score"] for m in c["metricsData"]}
        scores.update({"pass": c["success"], "latency_s": c["runDuration"]})
        samples.append((c["name"], scores))
    put(file, samples)

for file in sorted(glob.glob("lm-eval/*/samples_*.jsonl")):
    samples = []
    for r in map(json.loads, open(file)):
        samples.append(("doc-" + r["doc_hash"][:16], {f"{m},{r['filter']}": r[m] for m in r["metrics"]}))
    put(file, samples)

for file in sorted(glob.glob("pydantic-evals/*.json")):
    samples = []
    for c in json.load(open(file))["cases"]:
        scores = {n: r["value"] for key in ["scores", "assertions"] for n, r in c[key].items()}
        samples.append((c["metadata"]["id"], dict(scores, latency_s=c["task_duration"])))
    put(file, samples)

for file in sorted(glob.glob("junit/*.xml")):
    samples = []
    for t in ET.parse(file).getroot().iter("testcase"):
        properties = {p.get("name"): p.get("value") for p in t.iter("property")}
        case = re.fullmatch(r"test_answer\[(.*)-\d\]", t.get("name"))[1]
        scores = {"pass": t.find("failure") is None, "brevity": properties.get("brevity"), "latency_s": t.get("time")}
        failure = t.find("failure")
        boom = failure is not None and failure.get("message").startswith("ConnectionError")
        samples.append((f"test_qa::test_answer[{case}]", None if boom else scores))
    put(file, samples)

for file in sorted(glob.glob("evalite/*.json")):
    samples = []
    for e in json.load(open(file))["evals"]:
        for r in e["results"]:
            scores = {s["name"]: s["score"] for s in r["scores"]}
            samples.append((r["input"], dict(scores, latency_s=r["duration"] / 1000)))
    put(file, samples)

for file in sorted(glob.glob("langsmith/*.csv")):
    samples = []
    for r in csv.DictReader(open(file)):
        scores = {"correct": r["feedback.correct"] == "True", "brevity": r["feedback.brevity"]}
        samples.append((r["example_id"], dict(scores, latency_s=r["execution_time"])))
    put(file, samples)

RAGAS = ["string_present", "non_llm_string_similarity", "exact_match"]
for file in sorted(glob.glob("ragas/*.csv")):
    put(file, [(r["user_input"], {m: r[m] for m in RAGAS}) for r in csv.DictReader(open(file))])
put("ragas/base.jsonl", [(r["user_input"], {m: r[m] for m in RAGAS}) for r in map(json.loads, open("ragas/base.jsonl"))])

print("\n".join(lines))
