"""Decides like the grounded example, and now and then at random.

usage: pipeline.py INPUT.md OUTPUT.json

With the probability in FLIP_PROBABILITY (0.1 unless set) the decision is replaced by another one,
each as likely as the next. The chance is the operating system's: no two runs are the same.
"""

import json
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "grounded"))
import pipeline as grounded

CHANCE = random.SystemRandom()


def flipped(decision, probability):
    if CHANCE.random() >= probability:
        return decision
    return CHANCE.choice([other for other in grounded.CAUTION if other not in (decision, "hold")])


def main():
    source, target = sys.argv[1:]
    probability = float(os.environ.get("FLIP_PROBABILITY", "0.1"))
    with open(source, encoding="utf-8", errors="replace") as file:
        decision = flipped(grounded.decide(file.read()), probability)
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"decision": decision}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
